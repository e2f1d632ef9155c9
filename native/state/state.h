/* C ABI of the state index (libdrawtap-state.so): what every state variable was at any call of a trace.
 * Functions return 0, or a DT_E_* code (core.h) with a message in dt_state_last_error() (thread-local). Nothing throws
 * out. Paths and values are those of docs/state-paths.md, with contexts and share groups by their numbers in the table
 * `contexts`: "contexts[1].GL_DEPTH_FUNC", "shares[1].textures[5].GL_TEXTURE_MIN_FILTER". */
#ifndef DRAWTAP_STATE_H
#define DRAWTAP_STATE_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#ifndef DT_API
#define DT_API __attribute__((visibility("default")))
#endif

typedef struct dt_state dt_state;
struct ArrowArrayStream;

DT_API const char* dt_state_last_error(void);

/* Open the index of a trace. It is made by walking the whole trace, once: `cache_folder` (NULL: none) keeps it for the
 * next time. `frame_end` as dt_set_frame_end of core.h has it (NULL: auto). */
DT_API int dt_state_open(const char* path, const char* frame_end, const char* cache_folder, dt_state** out);
DT_API void dt_state_close(dt_state* state);
/* Ask a running dt_state_open of this process to stop (any thread); it then fails with DT_E_CANCELLED. */
DT_API void dt_state_cancel(void);

/* The state after call `seq`: a JSON array of [path, value as JSON text], in the order of the tree. `path` restricts to
 * what is below it (NULL: everything); "*" in it matches anything, "?" any one character. The text lives until
 * dt_state_free(owner). */
DT_API int dt_state_at(dt_state* state, uint64_t seq, const char* path, const char** text, uint64_t* length,
                       void** owner);
/* The changes by calls first_seq <= seq < end_seq: [seq, path, value, value before], by seq. */
DT_API int dt_state_changes(dt_state* state, uint64_t first_seq, uint64_t end_seq, const char* path, const char** text,
                            uint64_t* length, void** owner);
/* The remarks of walking: what could not be read, a JSON array of texts. */
DT_API int dt_state_problems(dt_state* state, const char** text, uint64_t* length, void** owner);
DT_API void dt_state_free(void* owner);

/* Tables as Arrow streams: "state" (path, begin_seq, end_seq, value), "resources", "draws",
 * "revisions", "passes", "pass_links". For "state": only intervals that hold after some call of [first_seq, end_seq),
 * of variables that `path` (as above; NULL: all) names. */
DT_API int dt_state_table(dt_state* state, const char* name, const char* path, uint64_t first_seq, uint64_t end_seq,
                          struct ArrowArrayStream* out);
DT_API struct ArrowArrayStream* dt_state_new_stream(void);
DT_API void dt_state_free_stream(struct ArrowArrayStream* stream);
DT_API void dt_state_release_capsule(void* capsule);
#ifdef __cplusplus
}
#endif
#endif
