/* C ABI of the calls of a recording of Vulkan that a part of it needs (vulkan_past.h), in libdrawtap-core.so. Functions
 * return 0, or a DT_E_* code of core.h with a message in dt_past_last_error() (thread-local). */
#ifndef DRAWTAP_PAST_H
#define DRAWTAP_PAST_H
#include "../core/core.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct dt_past dt_past;

DT_API const char* dt_past_last_error(void);
/* Walks the calls before `end`: those from `cut` on are kept, and what they need. */
DT_API int dt_past_make(const char* path, uint64_t cut, uint64_t end, dt_past** out);
/* Walks all calls for those that did nothing. `ends`: the calls that end frames. `kinds`: room for every call; 0
 * nothing known, else as dt_graph_waste numbers it (extract.h), and 6 for an unused object. The past has the other
 * calls. */
DT_API int dt_past_waste(const char* path, const uint64_t* ends, uint64_t count, uint8_t* kinds, dt_past** out);
/* One bit a call (0), a row of memory_writes (1), of device_writes (2); lives as long as the past. */
DT_API int dt_past_bits(dt_past* past, uint32_t which, const uint8_t** bits, uint64_t* bytes);
/* Why all calls are kept; "": they are not. Lives as long as the past. */
DT_API const char* dt_past_whole(dt_past* past);
DT_API void dt_past_close(dt_past* past);

#ifdef __cplusplus
}
#endif
#endif
