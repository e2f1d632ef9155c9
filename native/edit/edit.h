/* C ABI for new traces made of old ones: cut, edited, joined, merged. Part of libdrawtap-core.so; errors as in core.h.
 */
#ifndef DRAWTAP_EDIT_H
#define DRAWTAP_EDIT_H
#include "../core/core.h"
#ifdef __cplusplus
extern "C" {
#endif

/* One change to a call. Several of one call apply in the order of the list. */
enum {
  /* parameter `name` ("result": what was returned) becomes `value`: its bits, as wide as the parameter */
  DT_CHANGE_VALUE = 1,
  DT_CHANGE_CONTENT = 2, /* the array of parameter `name` becomes the `bytes` at `data` */
  DT_CHANGE_NULL = 3,    /* the array of parameter `name` becomes NULL */
  /* the call becomes one of function `name`; parameters of the same name are kept, others are 0 */
  DT_CHANGE_FUNCTION = 4,
  /* a call of function `name` is put before call `seq` (the number of calls: at the end), on that call's
     thread; later changes with `inserted` = the running number of this insertion (from 1) apply to it */
  DT_CHANGE_INSERT = 5,
  DT_CHANGE_BLOB = 6,
  DT_CHANGE_STORED =
      7 /* content of row `seq` of the table `name`, memory_writes or device_writes, of the same length */
};
typedef struct dt_change {
  uint32_t what;
  uint32_t inserted; /* 0: the call `seq` itself */
  uint64_t seq;
  const char* name;
  uint64_t value;
  const uint8_t* data;
  uint64_t bytes;
} dt_change;

typedef struct dt_write_source {
  dt_trace* trace;
  const uint8_t* keep;         /* one bit a call by seq, the lowest of a byte first; NULL: all of them */
  uint64_t first_seq, end_seq; /* and only these; end 0: to the last */
  /* one bit a row of the table map_writes; NULL: all that stand before a call that is kept */
  const uint8_t* keep_map_writes;
  const dt_change* changes; /* in any order */
  uint64_t change_count;
  /* one bit a call: what the program's frame looked like is still said of it; NULL: of every one that is kept */
  const uint8_t* keep_images;
  /* one bit a row of the tables memory_writes and device_writes; NULL: as keep_map_writes */
  const uint8_t *keep_memory_writes, *keep_device_writes;
  uint64_t memory_write_bytes, device_write_bytes; /* lengths of these bits; too few are DT_E_ARGUMENT */
} dt_write_source;

enum { DT_ORDER_JOIN = 0, DT_ORDER_TIME = 1 };
typedef struct dt_write_options {
  uint32_t order;         /* of several sources: one after the other (times follow on), or by time */
  int32_t level;          /* of zstd; 0: the default, 1 */
  const char* annotation; /* a JSON object to add; NULL: none */
  uint32_t forget;        /* 1: calls do not remember where they come from */
  const char* signatures; /* signature text with functions that inserted calls may have; NULL: the sources' own */
} dt_write_options;

/* Write a new, self-contained trace: the kept calls with everything that they refer to (arrays, memory, map writes,
 * natives, contexts, signatures), notes and annotations, and nothing else. Calls are numbered densely; each remembers
 * its seq in the recording it comes from (column `origin`). Times become ns. The file appears under its name when it is
 * whole; it may be the file of a source. No source at all makes an empty trace. Whole sources that are parts of one
 * recording (annotation `continues`) count as one source. `json`: {"calls", "kept", "changed", "inserted", "blobs",
 * "bytes", "lost", "problems": [...]}; until dt_blob_free(owner). */
DT_API int dt_write(const dt_write_source* sources, uint32_t count, const dt_write_options* options, const char* path,
                    const char** json, uint64_t* length, void** owner);

/* Kept calls that need something that only a call without a bit in `keep` made: an object, a current context, a
 * mapping, a beginning. `json`: {"broken": [{"seq", "function", "cause", "cause_function", "text"}], "more"}; until
 * dt_blob_free(owner). */
DT_API int dt_check(dt_trace* trace, const uint8_t* keep, const char** json, uint64_t* length, void** owner);

/* The same bits without the calls of Vulkan that lack something because of others that are gone, until none does:
 * `bits` has as many bytes as `keep` (calls / 8, rounded up). */
DT_API int dt_check_all(dt_trace* trace, const uint8_t* keep, uint8_t* bits);

/* The place of a member in a content of a parameter that leads to structures. `path` goes on behind the parameter:
 * "[0].pRasterizationState.cullMode", ".pNext[0].flags". `json`: {"slot", "at", "count", "kind", "many", "width",
 * "form", "group", "first_bit", "bits"}. "slot": the pointer that leads there, or 0; "at": the first element. "kind":
 * value, array, text, structure or structures; "many": a number may follow. "width": bytes of a value; "form": i, u or
 * f; "group": enumerants; "bits": a bit-field; until dt_blob_free(owner). A path to nowhere is DT_E_ARGUMENT. */
DT_API int dt_place(dt_trace* trace, const char* function, const char* parameter, const uint8_t* content,
                    uint64_t bytes, const char* path, const char** json, uint64_t* length, void** owner);

/* The places that an edit may change in the structures of calls: texts, bytes, code of shaders. A list of JSON, [seq,
 * function, parameter, [[STRUCTURE.MEMBER, place in the content, bytes, is it text?], ...]]; it lives until
 * dt_blob_free(owner). */
DT_API int dt_plain_members(dt_trace* trace, const char** json, uint64_t* length, void** owner);

/* Hold an edited text (dt_text with flags 1 | 32) against the calls first_seq to before end_seq (0: the last). Lines
 * begin with the number of their call; lines without one are new calls, # begins a remark. `json`: {"dropped": [[first,
 * end], ...], "changed": [{"seq", "line", "old", "new"}], "inserted": [{"before", "line", "text"}]}; it lives until
 * dt_blob_free(owner). */
DT_API int dt_text_changes(dt_trace* trace, uint64_t first_seq, uint64_t end_seq, const char* text, uint64_t text_bytes,
                           const char** json, uint64_t* length, void** owner);

/* The differences between the calls of two traces; see diff.h. `flags`: 1 results and outputs of calls count, too.
 * Frames from first to before end (0: the last) of both. `json`: {"calls_a", "calls_b", "frames_a", "frames_b",
 * "equal", "changed", "only_a", "only_b", "different_frames", "frames", "differences"}. "frames" is [{"frame_a",
 * "frame_b", "equal", "changed", "only_a", "only_b"}]. "differences" is [{"kind": changed, only_a or only_b, "frame_a",
 * "frame_b", "a", "b", and "text", or "function" and "params": [{"name", "a", "b"}]}]. `limit` is for both lists. Flag
 * 2 adds "runs", the whole alignment. Each run of calls has seven numbers: its kind (0 equal, 1 changed, 2 only_a, 3
 * only_b), frames of a and b, thread, first calls in a and b, calls; -1 where a side has none. */
DT_API int dt_diff(dt_trace* a, dt_trace* b, uint64_t first_frame, uint64_t end_frame, uint64_t limit, uint32_t flags,
                   const char** json, uint64_t* length, void** owner);

/* Write the skeleton of a recording: the same chunks under the same uuid, without those that hold contents and without
 * annotations `restored`. It is a trace of its own, and the same recording gives the same bytes. `json`: {"contents":
 * [[hash, bytes], ...] in the order of first use, "incomplete": [hash, ...] of those that the recorder did not finish};
 * until dt_blob_free(owner). */
DT_API int dt_skeleton(dt_trace* trace, const char* path, const char** json, uint64_t* length, void** owner);

/* One zstd frame of `raw`; and what a frame holds, which must be `expected` bytes (UINT64_MAX: what it says). Until
 * dt_blob_free(owner). */
DT_API int dt_pack(const uint8_t* raw, uint64_t bytes, int32_t level, const char** frame, uint64_t* length,
                   void** owner);
DT_API int dt_unpack(const uint8_t* frame, uint64_t bytes, uint64_t expected, const char** raw, uint64_t* length,
                     void** owner);

/* A recording from a skeleton: it is opened and gets its contents (32 hex digits, the content and one zstd frame of
 * it). An annotation, a JSON object, finishes it. Closed before that, it is no trace. */
typedef struct dt_restored dt_restored;
DT_API int dt_restore_open(dt_trace* skeleton, const char* path, dt_restored** out);
DT_API int dt_restore_add(dt_restored* restored, const char* hash, const uint8_t* raw, uint64_t bytes,
                          const uint8_t* frame, uint64_t frame_bytes);
DT_API int dt_restore_finish(dt_restored* restored, const char* annotation);
DT_API void dt_restore_close(dt_restored* restored);

/* The least times of a recording's chunks (0: none), and its processes in the order of their new numbers, from 1:
 * `json`: {"ticks", "ns", "pids": [...]}; until dt_blob_free(owner). */
DT_API int dt_redact_origin(dt_trace* trace, const char** json, uint64_t* length, void** owner);

/* Write a recording without what tells who made it, where and when; see redact.h. `ticks` and `ns` are subtracted from
 * times. Annotations are those of `before` and `after` alone: JSON objects, one a line. */
DT_API int dt_redact(dt_trace* trace, const char* path, uint64_t ticks, uint64_t ns, const char* before,
                     const char* after);
#ifdef __cplusplus
}
#endif
#endif
