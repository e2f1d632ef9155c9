/* C ABI of the graph of which calls need which (graph.h), in libdrawtap-state.so. Functions return 0, or a DT_E_* code
 * of core.h with a message in dt_graph_last_error() (thread-local). Sets of calls are one bit a call by seq, the lowest
 * of a byte first. */
#ifndef DRAWTAP_EXTRACT_H
#define DRAWTAP_EXTRACT_H
#include "../core/core.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct dt_graph dt_graph;
enum { DT_GRAPH_LEAN = 1 }; /* calls that set, or upload, what was there already are nobody's need */

DT_API const char* dt_graph_last_error(void);
/* Walks the whole trace. `frame_end`: what ends a frame, as for dt_set_frame_end. `stop`: NULL, or a number that any
 * thread may set to something else than 0; then this fails with DT_E_CANCELLED. */
DT_API int dt_graph_make(const char* path, const char* frame_end, uint32_t flags, const uint32_t* stop, dt_graph** out);
DT_API void dt_graph_close(dt_graph* graph);
/* The facts about each call (graph.h, CallFlag); lives as long as the graph. */
DT_API int dt_graph_flags(dt_graph* graph, const uint16_t** flags, uint64_t* calls);
/* The calls that make the images of these frames. `count`: room at `roots` (two a frame are enough), then how many. */
DT_API int dt_graph_frame_roots(dt_graph* graph, uint64_t first_frame, uint64_t end_frame, uint64_t* roots,
                                uint64_t* count);
/* 1 and the last call at or before `seq` that drew in its context, or 0. */
DT_API int dt_graph_last_draw(dt_graph* graph, uint64_t seq, uint64_t* draw);
/* A guess: draws to a content (UINT32_MAX: to any) paint over its content at the begin of the frame that begins with
 * call `from` (UINT64_MAX: any frame). Between two about one content the later one holds. */
typedef struct dt_fresh {
  uint64_t from;
  uint32_t location, reserved;
} dt_fresh;
/* Everything that the roots need goes into `keep` (zeroed by the caller); `without`: NULL or calls to do without. */
DT_API int dt_graph_closure(dt_graph* graph, const uint64_t* roots, uint64_t count, const uint8_t* without,
                            const dt_fresh* fresh, uint64_t guesses, uint8_t* keep);
/* The rows of the table map_writes in a trace of the calls of `keep`: one bit a row into `rows` (NULL: none).
 * `count`: room at `rows` in bytes, then the number of bytes; 0: nothing was stored through mappings. */
DT_API int dt_graph_map_writes(dt_graph* graph, const uint8_t* keep, uint8_t* rows, uint64_t* count);
/* The contents that are drawn over from frame to frame among what the roots need. `count`: room at `locations`, then
 * how many. */
DT_API int dt_graph_crossed(dt_graph* graph, const uint64_t* roots, uint64_t count, uint32_t* locations,
                            uint64_t* room);
/* The useless work of each call: 0 nothing known, 1 same value, 2 repeated upload, 3 unused upload, 4 unseen draw, 5
 * unread state. `answers`: answers to the program count as needed. `kinds`: room for every call. */
DT_API int dt_graph_waste(dt_graph* graph, uint32_t answers, uint8_t* kinds);
/* From call `seq` on calls are about `program` (0: none): the one that they set something of, else the one in use. */
typedef struct dt_program_from {
  uint64_t seq, program;
} dt_program_from;
/* `count`: room at `programs` (NULL: none), then how many there are. */
DT_API int dt_graph_programs(dt_graph* graph, dt_program_from* programs, uint64_t* count);
/* The findings of dt_graph_waste as the table `redundancy`: seq, kind and program of each call that did nothing. Both
 * are copied. */
DT_API int dt_graph_waste_table(const uint8_t* kinds, uint64_t calls, const dt_program_from* programs, uint64_t count,
                                struct ArrowArrayStream* out);
DT_API struct ArrowArrayStream* dt_graph_new_stream(void);
DT_API void dt_graph_free_stream(struct ArrowArrayStream* stream);
DT_API void dt_graph_release_capsule(void* capsule);
/* The calls that `seq` needs directly. `needed` NULL: how many there are. */
DT_API int dt_graph_needs(dt_graph* graph, uint64_t seq, uint64_t* needed, uint64_t* count);
/* Edges, gatherings, locations, and how many locations were looked at (again) for the edges. */
DT_API int dt_graph_size(dt_graph* graph, uint64_t numbers[4]);

#ifdef __cplusplus
}
#endif
#endif
