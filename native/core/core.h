/* C ABI of the reader core (libdrawtap-core.so): what Python (ctypes) and other programs see.
 * Functions return 0, or a DT_E_* code with a message in dt_last_error() (thread-local). Nothing throws out. */
#ifndef DRAWTAP_CORE_H
#define DRAWTAP_CORE_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define DT_API __attribute__((visibility("default")))

enum { DT_OK = 0, DT_E_IO = 1, DT_E_FORMAT = 2, DT_E_ARGUMENT = 3, DT_E_MEMORY = 4, DT_E_CANCELLED = 5 };

typedef struct dt_trace dt_trace;
struct ArrowArrayStream;

DT_API const char* dt_last_error(void);
DT_API const char* dt_core_version(void);

/* Map a trace and read its chunk headers (footer, or a scan where there is none). Never decodes calls.
 * A damaged file opens with what is whole; the `problems` table says what is missing. */
DT_API int dt_open(const char* path, dt_trace** out);
DT_API void dt_close(dt_trace* trace);

/* One JSON object: what `drawtap info --json` shows. The text lives until the next call on this trace. */
DT_API int dt_info(dt_trace* trace, const char** json);

/* The number of calls; unlike dt_info without looking for the ends of frames. */
DT_API int dt_count(dt_trace* trace, uint64_t* calls);

/* The calls that end a frame: "auto", or function names separated by commas. Default auto. */
DT_API int dt_set_frame_end(dt_trace* trace, const char* rule);

/* A selection of calls. Zero-initialise; fields left 0 / NULL do not restrict. */
typedef struct dt_selection {
  const char* function;            /* name of one function; NULL: all */
  const char* columns;             /* names, comma separated; NULL: the default ones */
  uint64_t first_seq;              /* inclusive */
  uint64_t end_seq;                /* exclusive; 0: to the end */
  uint64_t first_frame, end_frame; /* likewise */
  uint32_t threads;                /* decoders; 0: as many as the machine has */
  uint32_t batch_rows;             /* 0: the default */
} dt_selection;

/* Signature text (docs/format.md) of functions that the trace may not have: they then have tables too, without rows.
 * The trace's own text about a function stays. Only the first text of a trace counts. */
DT_API int dt_know(dt_trace* trace, const char* text, uint64_t bytes);

/* Columns of the calls table, or of one function's: a JSON array of objects. Each has name, type (DuckDB's), shown
 * (part of *), and for names of enumerants twin (the column with their numbers) and group. The text lives until the
 * next call on this trace from this thread. */
DT_API int dt_calls_schema(dt_trace* trace, const char* function, const char** lines);
DT_API int dt_calls(dt_trace* trace, const dt_selection* selection, struct ArrowArrayStream* out);

/* The small tables, whole: functions params enums frames threads contexts blobs markers memory map_writes
 * natives notes libraries metrics marks problems annotations chunks histogram content frame_prints unreadable. */
DT_API int dt_table(dt_trace* trace, const char* name, struct ArrowArrayStream* out);
/* One row for each structure of a type, of calls first_seq to end_seq (0: to the end): seq frame call path, then its
 * members. The table `structures` has the types. */
DT_API int dt_structures(dt_trace* trace, const char* type, uint64_t first_seq, uint64_t end_seq,
                         struct ArrowArrayStream* out);
/* The same as a JSON list of objects. `json` is not terminated; it lives until dt_blob_free(owner). */
DT_API int dt_table_json(dt_trace* trace, const char* name, const char** json, uint64_t* length, void** owner);
/* Calls by seq, a JSON list of objects: seq frame thread tid context name t_start duration; text if "columns" is it. */
DT_API int dt_rows_json(dt_trace* trace, const dt_selection* selection, const char** json, uint64_t* length,
                        void** owner);
/* One call with decoded arguments: {"args": [{"name", "kind", "value", "text", "data", "element", "at", "bytes",
 * "blob"}], "result": the same or null, "text"}; a float's value is its bits; inline arrays stand at "at" behind the
 * JSON text: `json` has `length` bytes, `data` has `data_length`. Structures of Vulkan are JSON at "tree" too. */
DT_API int dt_call(dt_trace* trace, uint64_t seq, const char** json, uint64_t* length, const uint8_t** data,
                   uint64_t* data_length, void** owner);

/* A zeroed stream to pass to dt_calls or dt_table, and what ends it. `dt_release_capsule` is the destructor of the
 * Python capsule "arrow_array_stream" around one: it may run on any thread that has the interpreter, without calling
 * Python code. */
DT_API struct ArrowArrayStream* dt_new_stream(void);
DT_API void dt_free_stream(struct ArrowArrayStream* stream);
DT_API void dt_release_capsule(void* capsule);

/* Content by hash (32 hex digits). The bytes live until dt_blob_free. */
DT_API int dt_blob(dt_trace* trace, const char* hash, const uint8_t** bytes, uint64_t* length, void** owner);
DT_API void dt_blob_free(void* owner);

/* Text of calls, one a line, as `drawtap list` prints it, to a file descriptor.
 * `flags`: 1 no times, 2 with thread and context, 4 with durations, 8 with entry times in ns, 16 without seq. 32 cuts
 * nothing short: for an edit that is read back (dt_text_changes). */
DT_API int dt_text(dt_trace* trace, const dt_selection* selection, int fd, uint32_t flags);

/* Write the trace as C source into an existing folder. The selection's frames are the ones to play, calls before them
 * become set-up. `json`: one object that says what was written; it lives until dt_blob_free(owner). */
typedef struct dt_export_c_options {
  uint32_t calls_per_file;     /* about; 0: the default */
  uint32_t calls_per_function; /* 0: the default */
} dt_export_c_options;
DT_API int dt_export_c(dt_trace* trace, const dt_selection* selection, const char* folder,
                       const dt_export_c_options* options, const char** json, uint64_t* length, void** owner);

/* Write calls as a trace of apitrace (format 6, snappy): of each range the calls first..end-1 (end 0: to the end), or
 * the frames where `frames` is 1. No ranges: all calls. */
typedef struct dt_export_range {
  uint64_t first, end;
  uint32_t frames, reserved;
} dt_export_range;
DT_API int dt_export_apitrace(dt_trace* trace, const dt_export_range* ranges, uint32_t count, const char* path);

/* ---- running programs ---- */

/* The part of one surface on a program's page (dt_live_surface in native/common/live.h) that was read so far. Its last
 * frames stand in the columns [begin, end) of three rows: shown, wait and swap, in ns. Columns that were filled are not
 * written again. */
typedef struct dt_live_seen {
  uint64_t frames; /* read so far */
  uint64_t lost;   /* of these, those that were overwritten before they were read */
  uint64_t begin, end;
} dt_live_seen;
enum { DT_LIVE_MOST_FRAMES = (1ull << 62) - 1 }; /* a count beyond it is nonsense */

/* Read the frames that were shown since the last time into `rows` (3 x `room`), and let go of those before `oldest_ns`.
 * Nothing on the page is believed: what was shown before that or after now is left out, times that go back do not.
 * Returns 0, or how many columns are needed behind `end` where there is less room: nothing was read then. */
DT_API uint64_t dt_live_frames(const void* surface, dt_live_seen* seen, int64_t* rows, uint64_t room, int64_t now_ns,
                               int64_t oldest_ns);

/* Ask all running work on this trace to stop (any thread); it then fails with DT_E_CANCELLED. */
DT_API void dt_cancel(dt_trace* trace);
/* Work done and to do, in a unit of its own, of the running operation: for progress bars. */
DT_API void dt_progress(dt_trace* trace, uint64_t* done, uint64_t* total);
#ifdef __cplusplus
}
#endif
#endif
