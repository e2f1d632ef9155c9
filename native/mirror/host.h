// The mirror's demands on its keeper, the tap (native/runtime) or the player: threads, notes, functions by name.
//
// Files of this room live inside the program, too: no file-scope C++ objects with constructors, no exceptions, no
// standard library containers, no locks on the call path.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "../common/ring.h"

#define DT_LIKELY(x) __builtin_expect(!!(x), 1)
#define DT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define DT_EXPORT extern "C" __attribute__((visibility("default")))
#define DT_INNER extern "C" __attribute__((visibility("hidden")))  // between the module's own files
#define DT_COLD __attribute__((cold, noinline))

namespace dt {

// A list to loop over: braces alone take <initializer_list>, a header of the C++ library.
template <class T> using Each = const T[];

struct GlContext;  // gl_state.h: what capture must know of a context
struct Keep;       // keep.h: calls that are kept in the program's memory while nothing is recorded

// One per application thread, in initial-exec TLS, all zero at first.
struct Thread {
  char* cursor;      // where the next record goes
  char* limit;       // a record must end at or before this
  uint32_t* commit;  // &chunk->commit: gets the low 32 bits of cursor after each record
  uint32_t special;  // SPECIAL_*; anything but 0 leaves the fast path
  uint32_t variant;  // set by the entry of a variant: which real function this call is for
  dt_ring_chunk* chunk;
  uint64_t calls;      // application calls recorded so far on this thread
  GlContext* context;  // current on this thread, nullptr: none
  uint32_t index;      // number of this thread in the process
  uint32_t tid;
  uint64_t serial;       // chunks taken so far
  uint64_t generation;   // session this thread is registered with (a fork starts a new one)
  void* real;            // the driver's function for the wrapper that is about to record
  uint32_t epoch;        // of recording: what was kept of this thread before belongs to an earlier one
  uint32_t in_list;      // while frames are left out: a display list is being made, whose draws are no draws
  uint32_t no_content;   // while frames are left out: the content of this call's arrays is left out
  uint32_t missed;       // there was no room for this call: it is counted once, however often it asks
  uint32_t handed_over;  // value of hand_over at which this thread sealed its chunk last
  Keep* keep;            // records go there and not to the recorder; nullptr: they do not
  uint64_t told_result;  // what a call that the tap only tells returns
  uint32_t telling;      // calls that make contexts go out as notes: they are known
  // a place on the stack in the wrapper of the call that goes on; nullptr: there is none, or it has just begun
  char* frame;
  uint32_t waits;  // for a chunk
};
extern __thread Thread tls __attribute__((tls_model("initial-exec"), visibility("hidden")));

// ---- sizes of what a program hands over ---------------------------------------------------------

// Where content begins of which some lies in front of the pointer.
static inline void* ahead(const void* pointer, int64_t bytes) { return pointer ? (char*)pointer - bytes : nullptr; }
// Nothing is mapped there: a small offset that was meant for a buffer which is not bound.
static inline bool no_address(const void* pointer) { return (uintptr_t)pointer - 1 < 65535; }
// Nothing that a program hands over is larger than this; a count beyond it is a mistake of the program's.
constexpr int64_t MOST_BYTES = (int64_t)1 << 40;
// The recording has nothing of such an array. A player must not take that for an array that may be empty.
#ifdef DT_PLAYER
constexpr int64_t TOO_MANY = INT64_MAX;
#else
constexpr int64_t TOO_MANY = 0;
#endif
static inline int64_t bytes_of(int64_t count, int64_t width) {
  return count <= 0 ? 0 : count > MOST_BYTES / width ? TOO_MANY : count * width;
}
static inline int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t string_bytes(const char* s, int64_t length) {
  return !s ? 0 : length >= 0 ? length : (int64_t)strlen(s);
}
static inline int64_t string_within(const char* s, int64_t most) {
  return s && most > 0 ? (int64_t)strnlen(s, (size_t)most) : 0;
}
// Bytes of an attribute list with its terminator; names for which `alone` holds have no value beside them.
template <class T, class Alone>
static inline int64_t attribute_bytes(const void* list, int64_t terminator, Alone alone) {
  const T* at = (const T*)list;
  if (!at) return 0;
  int64_t n = 0;
  while (n < 4096 && (int64_t)at[n] != terminator) n += alone((int64_t)at[n]) ? 1 : 2;
  return (n + 1) * (int64_t)sizeof(T);
}
template <class T> static inline int64_t attribute_bytes(const void* list, int64_t terminator) {
  return attribute_bytes<T>(list, terminator, [](int64_t) { return false; });
}

struct Data;  // tap.h: content of an array

// ---- records that the tap adds, before or after the application's own (payload.cc) --------------
// All of them attach to the next application call of the thread unless the name says otherwise.

DT_COLD void emit_order(Thread* t);
// `id` 0: none current. `api`: 0 unknown, 1 GL, 2 GL ES, 3 OpenVG.
DT_COLD void emit_context(Thread* t, uint32_t id, uint32_t share_group, uint32_t api, uint64_t handle, uint64_t draw,
                          uint64_t read);
// Application memory at `address` as the next call reads it; content once per hash.
DT_COLD void emit_memory(Thread* t, const void* address, uint64_t bytes);
// Content of something that is no memory of the application, under its handle: with the next call.
DT_COLD void emit_content(Thread* t, uint64_t handle, const Data& content);
// Bytes stored through a mapping of `buffer` (object name in `share_group`) at `offset` of the buffer.
DT_COLD void emit_map_write(Thread* t, uint32_t target, uint32_t buffer, uint64_t offset, const void* data,
                            uint64_t bytes);
// Portable attributes of a native object as "key=value;..." text. `kind`: "config", "window", "surface", "display",
// "visual".
DT_COLD void emit_native(Thread* t, const char* kind, uint64_t handle, const char* text);
// A library in which functions were found, as the loader names it, and where it is mapped.
DT_COLD void emit_library(Thread* t, const char* path, uint64_t base);
// A remark: short machine word and a sentence. Said once per code and process.
DT_COLD void emit_note(Thread* t, const char* code, const char* text);
// Emits a value of a hook of a user's module.
DT_COLD void emit_metric(Thread* t, const char* name, double value);
DT_COLD void emit_mark(Thread* t, const char* text);

// ---- functions by number -------------------------------------------------------------------------

constexpr unsigned VARIANTS = 6;  // real functions of one name that have variants of their own
// Generated: tables indexed by function id.
extern const unsigned g_function_count __attribute__((visibility("hidden")));
extern const bool g_module_records __attribute__((visibility("hidden")));  // the recorder is among the module's hooks
extern const char* const g_names[] __attribute__((visibility("hidden")));
// [id][0] is the main one; nullptr: not resolved yet
extern void* g_real[][VARIANTS] __attribute__((visibility("hidden")));
// Function id by name, -1: not one of ours. Hashed.
int find_function(const char* name);
// The main real function, resolved as the dynamic linker would have for the program; nullptr where no library has it.
DT_COLD void* resolve(unsigned id);
// The unwrapped functions of the C library, for the runtime's own use (never our own hooks).
void* real_dlsym(void* handle, const char* name);
void* real_dlopen(const char* file, int flags);

}  // namespace dt
