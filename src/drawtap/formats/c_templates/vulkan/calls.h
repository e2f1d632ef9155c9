/* What the generated calls need. */
#ifndef PLAY_CALLS_H
#define PLAY_CALLS_H

#include "play.h"
#include "names.h"
#include "objects.h"
#include "functions.h"

/* The content of data.bin. */
#ifdef PLAY_DATA_FILE
extern const unsigned char* play_data;
#else
extern const unsigned char play_data[];
#endif
#include "data.h"

#define VK(call)                                                                        \
  do {                                                                                  \
    VkResult result_ = (call);                                                          \
    if (result_ < 0 || result_ == VK_TIMEOUT) play_failed(result_, __FILE__, __LINE__); \
  } while (0)

#ifdef PLAY_CHECK
#define CHECK_MEMORY(memory, offset, bytes, size) play_check_memory(memory, offset, bytes, size, 1)
#define CHECK_UNSURE(memory, offset, bytes, size) play_check_memory(memory, offset, bytes, size, 0)
#define CHECK_QUERIES(...) play_check_queries(__VA_ARGS__)
#else
#define CHECK_MEMORY(memory, offset, bytes, size) ((void)0)
#define CHECK_UNSURE(memory, offset, bytes, size) ((void)0)
#define CHECK_QUERIES(...) ((void)0)
#endif

/* Numbers that C has no literals for: infinities and what is not a number. */
static inline float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline double double_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

#endif
