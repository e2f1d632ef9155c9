/* C ABI of the reader of kernel traces (libdrawtap-system.so): what Python (ctypes) sees.
 * Functions return 0, or a DT_E_* code (core.h) with a message in dt_kernel_last_error() (thread-local). Nothing throws
 * out.
 *
 * Python parses metadata (TSDL, JSON, format files) and hands over a plan: how streams are cut into events and what
 * fields events have. A plan is a sequence of items: 8-byte little-endian integers, and strings (an integer, the number
 * of bytes, then the bytes). The source that reads a format describes its plan. */
#ifndef DRAWTAP_SYSTEM_H
#define DRAWTAP_SYSTEM_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#ifndef DT_API
#define DT_API __attribute__((visibility("default")))
#endif

typedef struct dt_kernel dt_kernel;
struct ArrowArrayStream;

DT_API const char* dt_kernel_last_error(void);

/* `format`: ctf, ring, perf, lines, perfetto. */
DT_API int dt_kernel_open(const char* format, const uint8_t* plan, uint64_t length, dt_kernel** out);
DT_API void dt_kernel_close(dt_kernel* trace);

/* {"events": [{"name", "count", "fields": [[name, duckdb type], ...]}], "begin", "end"}; with `scan` all events are
 * counted (once in the life of the trace), else counts are 0 and begin and end null. */
DT_API int dt_kernel_describe(dt_kernel* trace, int scan, const char** json, uint64_t* length, void** owner);
/* [{"kind", "where", "text", "count", "begin", "end"}]; scans. */
DT_API int dt_kernel_problems(dt_kernel* trace, const char** json, uint64_t* length, void** owner);

/* Events in order of time. The request is a plan: whether all names are meant (else 0), number of names, names; whether
 * all fields are meant, number of columns, for each its name, the number of fields that it may come from, these; first
 * time, time before which (both as they are). Columns: t, event (if several names), then the request's columns. */
DT_API int dt_kernel_columns(dt_kernel* trace, const uint8_t* request, uint64_t bytes, const char** json,
                             uint64_t* length, void** owner);
DT_API int dt_kernel_events(dt_kernel* trace, const uint8_t* request, uint64_t bytes, struct ArrowArrayStream* out);

/* Write tables, which come as streams that are used up. `format`: perfetto, chrome (spans, counters, arrows; see
 * export.h) or ctf (events of one kind). `bytes`: how much was written. */
DT_API int dt_kernel_write(const char* format, const uint8_t* plan, uint64_t length, struct ArrowArrayStream** tables,
                           uint64_t count, const char* path, uint64_t* bytes);

/* Decompress metadata of known size. `method`: 1 zstd, 2 zlib. */
DT_API int dt_kernel_decompress(int method, const uint8_t* data, uint64_t length, uint8_t* out, uint64_t room,
                                uint64_t* written);

/* The row of each interval, so that those of one row of a track do not overlap. In order of track, then of begin. */
DT_API void dt_kernel_lanes(const int64_t* track, const int64_t* begin, const int64_t* end, uint64_t count,
                            int32_t* lane);
/* The same of a table, which is used up (lanes.h). */
DT_API int dt_kernel_lane_table(struct ArrowArrayStream* intervals, struct ArrowArrayStream* out);

/* Spans of threads (thread_spans.h has the plan). `wakes` may be NULL; both streams are used up. The facts are complete
 * when `out` has ended. */
typedef struct dt_kernel_facts dt_kernel_facts;
DT_API int dt_kernel_facts_new(dt_kernel_facts** out);
DT_API void dt_kernel_facts_close(dt_kernel_facts* facts);
DT_API int dt_kernel_facts_text(dt_kernel_facts* facts, const char** json, uint64_t* length, void** owner);
DT_API int dt_kernel_thread_spans(const uint8_t* plan, uint64_t length, struct ArrowArrayStream* switches,
                                  struct ArrowArrayStream* wakes, dt_kernel_facts* facts, struct ArrowArrayStream* out);
/* All spans in order of time (span_order.h). The plan: the lists of texts, each a number and then the texts. */
DT_API int dt_kernel_span_order(const uint8_t* plan, uint64_t length, struct ArrowArrayStream* threads,
                                struct ArrowArrayStream* requests, struct ArrowArrayStream* others,
                                struct ArrowArrayStream* owners, struct ArrowArrayStream* out);

DT_API struct ArrowArrayStream* dt_kernel_new_stream(void);
DT_API void dt_kernel_free_stream(struct ArrowArrayStream* stream);
/* Destructor of the Python capsule "arrow_array_stream" around one. */
DT_API void dt_kernel_release_capsule(void* capsule);
DT_API void dt_kernel_free(void* owner);

/* Ask all running work on this trace to stop (any thread); it then fails with DT_E_CANCELLED. */
DT_API void dt_kernel_cancel(dt_kernel* trace);
DT_API void dt_kernel_progress(dt_kernel* trace, uint64_t* done, uint64_t* total);
#ifdef __cplusplus
}
#endif
#endif
