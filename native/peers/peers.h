/* C ABI of the parts that read other tools' traces into ours (libdrawtap-peers.so). Functions return 0, or a DT_E_*
 * code of native/core/core.h with a message in dt_peers_last_error() (thread-local). Nothing throws out. */
#ifndef DRAWTAP_PEERS_H
#define DRAWTAP_PEERS_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define DT_PEERS_API __attribute__((visibility("default")))

DT_PEERS_API const char* dt_peers_last_error(void);

typedef struct dt_import {
  const char* input;      /* a trace of apitrace */
  const char* output;     /* the .dtap to write; one that stands there is replaced */
  const char* signatures; /* tap.sig: what drawtap knows of the functions */
  int32_t level;          /* of zstd */
  uint32_t reserved;
} dt_import;

/* `json` (until the next call from this thread): {"calls", "calls_in_flight", "tap_records", "threads", "fake",
 * "version", "semantic_version", "container", "properties", "unknown_functions", "notes": [text], "damage": text or
 * null}. */
DT_PEERS_API int dt_import_apitrace(const dt_import* options, const char** json);
/* The same for a trace of the Graphics Quality Analysis Toolkit (TCY2). `json`: {"calls", "tap_records",
 * "unknown_functions", "notes", "damage"}. */
DT_PEERS_API int dt_import_tcy2(const dt_import* options, const char** json);
/* Bytes of the file done and to do of the running import of this process; the other makes one of apitrace stop (it then
 * fails with DT_E_CANCELLED). Both from any thread. */
DT_PEERS_API void dt_import_progress(uint64_t* done, uint64_t* total);
DT_PEERS_API void dt_import_cancel(void);
#ifdef __cplusplus
}
#endif
#endif
