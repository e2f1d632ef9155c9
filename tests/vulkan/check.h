/* Ends a program at the first call of Vulkan that fails. Include it behind vk.h. */
#pragma once
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                           \
  do {                                        \
    VkResult r_ = (call);                     \
    if (r_ != VK_SUCCESS) {                   \
      fprintf(stderr, "%s: %d\n", #call, r_); \
      exit(1);                                \
    }                                         \
  } while (0)
