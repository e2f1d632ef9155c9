/* Writing other tools' traces: part of the reader core's C ABI (libdrawtap-core.so). */
#ifndef DRAWTAP_PEERS_EXPORT_H
#define DRAWTAP_PEERS_EXPORT_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Calls first..end-1 (end 0: to the end), or frames where `frames` is 1. */
typedef struct dt_export_range {
  uint64_t first, end;
  uint32_t frames, reserved;
} dt_export_range;

/* Write calls of a .dtap file as a trace of apitrace (format 6, snappy). No ranges: all calls. Returns 0, or a DT_E_* code
 * with a message in dt_export_last_error() (thread-local). */
__attribute__((visibility("default"))) int dt_export_apitrace(const char* path, const char* output, const dt_export_range* ranges,
                                                              uint32_t count);
__attribute__((visibility("default"))) const char* dt_export_last_error(void);
#ifdef __cplusplus
}
#endif
#endif
