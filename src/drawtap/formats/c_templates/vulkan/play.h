/* @{ title }@: what plays, and what the generated calls are given. */
#ifndef PLAY_H
#define PLAY_H

#ifndef VK_ENABLE_BETA_EXTENSIONS
#define VK_ENABLE_BETA_EXTENSIONS
#endif
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <vulkan/vulkan.h>

/* ---- what plays (play.c) ------------------------------------------------------------------------------------- */

int play_frame_count(void);
int play_first_frame(void); /* number that the recording gives the first of them */
void play_start(void);      /* before the first frame */
void play_frame(int frame); /* 0 to play_frame_count() - 1, in this order */
void play_end(void);        /* after the last frame */
extern int play_current;    /* number, in the recording, of the frame that plays */
void host_frame(int frame); /* a frame is drawn and was shown */

/* ---- what calls need besides (device.c) ---------------------------------------------------------------------- */

/* Ends the program: a call fails that did not fail when it was recorded. */
void play_failed(VkResult result, const char* file, int line);
/* Room for answers that nobody reads. */
extern uint64_t play_scratch[];

VkResult play_create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator,
                              VkInstance* instance);
/* The device of a number, or the last one. */
VkPhysicalDevice play_physical_device(VkInstance instance, uint32_t number);
/* The device that $PLAY_DEVICE names, else the recorded one's equal, and the recorded kinds of memory. */
VkPhysicalDevice play_choose_device(VkPhysicalDevice otherwise, const char* name, int type, uint32_t memory_types,
                                    const uint32_t* memory_flags);
VkResult play_create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                            const VkAllocationCallbacks* allocator, VkDevice* device);
void play_destroy_device(VkDevice device, const VkAllocationCallbacks* allocator);

VkResult play_allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* allocator,
                              VkDeviceMemory* memory);
void play_free_memory(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* allocator);
/* Ends the program where this driver wants another place in memory than the recording's. */
void play_fits_buffer(VkDevice device, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset);
void play_fits_image(VkDevice device, VkImage image, VkDeviceMemory memory, VkDeviceSize offset);
/* The program stored bytes in mapped memory. */
void play_write(VkDeviceMemory memory, VkDeviceSize offset, const void* bytes, size_t size);
/* The device stored them; `sure`: it was done with that. */
void play_check_memory(VkDeviceMemory memory, VkDeviceSize offset, const void* bytes, size_t size, int sure);
void play_check_queries(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count, VkDeviceSize stride,
                        VkQueryResultFlags flags, const void* bytes, size_t size);
void play_wait_event(VkDevice device, VkEvent event);
/* Waits until a timeline semaphore has the value. */
VkResult play_wait_value(VkDevice device, VkSemaphore semaphore, uint64_t value, uint64_t most_ns);

/* Windows: swapchains whose images are the program's own. */
VkResult play_create_swapchain(VkDevice device, const VkSwapchainCreateInfoKHR* info,
                               const VkAllocationCallbacks* allocator, VkSwapchainKHR* swapchain);
void play_destroy_swapchain(VkDevice device, VkSwapchainKHR swapchain, const VkAllocationCallbacks* allocator);
VkImage play_swapchain_image(VkSwapchainKHR swapchain, uint32_t number);
void play_acquire(VkDevice device, VkSemaphore semaphore, VkFence fence);
VkResult play_present(VkQueue queue, const VkPresentInfoKHR* info);
/* What was shown last, as RGBA, the lowest row first: malloc(), NULL where there is none. */
unsigned char* play_shown(uint32_t* width, uint32_t* height);

/* What was compared with the recording, under PLAY_CHECK. */
extern unsigned play_compared, play_different;

#endif
