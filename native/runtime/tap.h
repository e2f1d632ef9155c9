// Common parts of generated wrappers and the hand-written runtime of the tap.
//
// The tap lives inside somebody else's program: no file-scope C++ objects with constructors, no exceptions, no
// standard library containers, no locks on the call path, errno preserved, never abort. Everything here is
// compiled with -fno-exceptions -fno-rtti -fvisibility=hidden and linked without libstdc++.
#pragma once
#include "../mirror/host.h"

namespace dt {

// Bits of `special` and values of g_mode are apart, so that one test of both finds the common case.
// MODE_OFF stands alone. The others come together: MODE_RESUMED means that recording began in the middle of the
// program, so every thread must look first at what it has become; MODE_DROPPING that draws are left out; MODE_LOST that
// nobody takes what is recorded, so that calls are counted only. MODE_KEEPING stands alone, too: nothing is recorded,
// but a thread makes a display list, whose calls are kept (keep.h). SPECIAL_TOLD: the tap itself calls, to have the
// call in the trace; the driver does not see it. SPECIAL_USER: a user's hook runs; its own calls reach the driver and
// the recorder, but no user's hook.
enum : uint32_t {
  MODE_RECORD = 0,
  MODE_OFF = 1,
  MODE_ORDERED = 2,
  SPECIAL_BUSY = 4,
  SPECIAL_VARIANT = 8,
  SPECIAL_USER = 16,
  MODE_RESUMED = 32,
  MODE_DROPPING = 64,
  SPECIAL_TOLD = 128,
  MODE_LOST = 256,
  MODE_KEEPING = 512
};

// ---- leave.cc: calls that the program leaves without returning from them ------------------------

// At the start of each wrapper that is busy with a call. The second line makes unwinding tell dt_personality
// (leave.cc): it costs nothing while calls return.
static inline __attribute__((always_inline)) void mark_frame(Thread* t) {
#if defined(__x86_64__)
  __asm__ volatile("movq %%rsp, %0" : "=m"(t->frame)::"memory");
#else
  __asm__ volatile("mov %0, sp" : "=r"(t->frame)::"memory");
#endif
  __asm__ volatile(".cfi_personality 0x1b, dt_personality");
}
// Returns whether a function that had `frame` on its stack is gone for sure, seen from one that has `here` and goes on.
DT_COLD bool has_left(const void* frame, const void* here);
// A signal handler may run between any two instructions, and call what is tapped. Its calls are inside of this one as
// soon as the thread is busy, so that comes before all that they would overwrite.
static inline __attribute__((always_inline)) void stay_in_order() { __asm__ volatile("" ::: "memory"); }
static inline __attribute__((always_inline)) void begin_call(Thread* t, void* real) {
  t->special = SPECIAL_BUSY;  // without a frame: until mark_frame nothing can have been left behind
  stay_in_order();
  t->real = real;
  stay_in_order();
}
static inline __attribute__((always_inline)) void end_call(Thread* t) {
  stay_in_order();
  t->frame = nullptr;
  stay_in_order();
  t->special = 0;
}
// The call that was going on did not return, and never will.
DT_COLD void abandon_call(Thread* t);
// Signal handlers of the program wait, for as long as a jump out of one would leave things half done.
struct HeldSignals {
  uint64_t before = 0;
  HeldSignals();
  ~HeldSignals();
  // Let them run while this thread sleeps: until the futex is no longer `seen`, or for so long.
  void nap(void* word, uint32_t seen, uint64_t ns) const;
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
};

// The runtime's own work: what the driver calls meanwhile is nothing of the program's.
struct Inside {
  Thread* const t;
  const uint32_t special;
  char* const frame;
  explicit Inside(Thread* thread) : t(thread), special(thread->special), frame(thread->frame) {
    t->frame = (char*)__builtin_frame_address(0);
    t->special = SPECIAL_BUSY;
  }
  ~Inside() {
    stay_in_order();
    t->frame = frame;
    stay_in_order();
    t->special = special;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

// MODE_ORDERED: record, with an exact order mark before every call. MODE_OFF: forward only.
extern uint32_t g_mode __attribute__((visibility("hidden")));
extern uint32_t g_slow_clock __attribute__((visibility("hidden")));  // 0: rdtsc at entry and exit
extern uint64_t g_inline_limit __attribute__((visibility("hidden")));

// ---- session.cc: the pool, chunks, threads, fork, exit ------------------------------------------

// Make room for `bytes` (a multiple of 8) in this thread's chunk and return where; nullptr: not recording.
// Registers the thread, connects the process, takes a new chunk, waits for one: whatever is needed.
DT_COLD char* next_chunk(Thread* t, size_t bytes);

// Recording is switched on and off at the boundaries of frames. The wrappers of the few functions that can be one come
// here also while nothing is recorded, after the driver returned.
enum Boundary : uint32_t { FRAME_SHOWN, WAITED_FOR_GPU, FLUSHED };
DT_COLD void at_boundary(Thread* t, Boundary kind);
// From now on, on this and (at its next call) every other thread. The pool must be connected.
// `shown`: a frame of this thread's has just ended.
DT_COLD void start_recording(Thread* t, bool shown);
// The calls of other threads that have begun are still recorded.
DT_COLD void pause_recording(Thread* t);
bool is_recording();
// A recorder that listens at `socket_path` is to have the calls from the end of this frame on, for `frames` frames (0:
// until it is stopped). nullptr, or why not. When it is over, the session must be closed before there can be another.
DT_COLD const char* open_session(const char* socket_path, uint32_t frames);
DT_COLD bool session_is_over();
DT_COLD void stop_session(Thread* t);
DT_COLD void close_session(Thread* t);
static inline char* reserve(Thread* t, size_t bytes) {
  char* at = t->cursor;
  if (DT_UNLIKELY(bytes > (size_t)(t->limit - at))) return next_chunk(t, bytes);
  if (!at) __builtin_unreachable();  // without a chunk there is no room either
  return at;
}

// From here to finish(), functions are for wrappers alone. A wrapper still holds the program's arguments, so its ways
// out keep all registers (cold.S). It calls the driver, so the compiler puts nothing below its stack pointer.
#if defined(__x86_64__)
#define DT_HARDLY(x) __builtin_expect_with_probability(!!(x), 0, 1.0)
#define DT_KEEPING_CALL(name, in_out) __asm__ volatile("call " #name : in_out : : "cc", "memory")
#endif
// reserve() for the record of a call. A record is far smaller than the address space, so the sum cannot overflow.
static inline __attribute__((always_inline)) char* reserve_call(Thread* t, size_t bytes) {
#if defined(__x86_64__)
  char* at = t->cursor;
  if (DT_HARDLY((uintptr_t)at + bytes > (uintptr_t)t->limit)) {
    uint64_t found = bytes;
    DT_KEEPING_CALL(dt_keep_next_chunk, "+a"(found));
    return (char*)found;
  }
  if (!at) __builtin_unreachable();  // as in reserve()
  return at;
#else
  return reserve(t, bytes);
#endif
}

static inline void commit(Thread* t, char* end) {
  t->cursor = end;
  __atomic_store_n(t->commit, (uint32_t)(uintptr_t)end, __ATOMIC_RELEASE);
}

DT_COLD uint64_t slow_entry_clock();
static inline uint64_t read_tsc() {
#if defined(__x86_64__)
  uint64_t lo, hi;  // the instruction clears the upper halves
  __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
  return hi << 32 | lo;
#else
  uint64_t v;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
  return v;
#endif
}
static inline uint64_t entry_clock() { return DT_LIKELY(!g_slow_clock) ? read_tsc() : slow_entry_clock(); }

// Two clock reads around the driver. The first stays in the record alone: wrappers need no register for it while the
// driver runs.
static inline __attribute__((always_inline)) void put_entry_clock(dt_record* r) {
#if defined(__x86_64__)
  if (DT_HARDLY(g_slow_clock)) {
    uint64_t stamp;
    DT_KEEPING_CALL(dt_keep_entry_clock, "=a"(stamp));
    r->entry = stamp;
    return;
  }
  // In halves, as finish() reads them: what the processor has just stored it hands on at once.
  uint32_t low, high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  memcpy((char*)&r->entry, &low, 4);
  memcpy((char*)&r->entry + 4, &high, 4);
#else
  r->entry = entry_clock();
#endif
}

// The call has returned: fill in its duration.
DT_COLD void finish_slow(Thread* t, dt_record* r);
static inline __attribute__((always_inline)) void finish(Thread* t, dt_record* r) {
#if defined(__x86_64__)
  uint32_t low, high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  const uint32_t* entry = (const uint32_t*)(const void*)&r->entry;
  __asm__("subl %2, %0\n\tsbbl %3, %1" : "+&r"(low), "+&r"(high) : "m"(entry[0]), "m"(entry[1]) : "cc");
  if (DT_UNLIKELY((high | g_slow_clock) != 0 || low >= DT_NO_DURATION))
    finish_slow(t, r);
  else
    r->duration = low;
#else
  uint64_t ticks = read_tsc() - r->entry;
  if (DT_UNLIKELY(g_slow_clock || ticks >= DT_NO_DURATION))
    finish_slow(t, r);
  else
    r->duration = (uint32_t)ticks;
#endif
}

// Start of a record. `function` may carry DT_RECORD_TAP.
static inline void put_head(char* at, uint32_t function, size_t bytes) {
  uint64_t first = (uint64_t)DT_IN_FLIGHT << 32 | (uint64_t)(bytes / 8) << 16 | function;
  memcpy(at, &first, 8);
}
static inline void put_header(char* at, uint32_t function, size_t bytes, uint64_t entry) {
  put_head(at, function, bytes);
  memcpy(at + 8, &entry, 8);
}

// ---- payload.cc: content of arrays --------------------------------------------------------------

// Hash `bytes` at `data`, hand them to the drainer once, and store the 16-byte hash at `hash`.
// Returns false when not recording. May take chunks: call before reserve().
DT_COLD bool put_blob(Thread* t, const void* data, uint64_t bytes, uint8_t hash[16]);

// A prepared array argument: what its descriptor says and what stands in the record.
struct Data {
  uint64_t descriptor;
  const void* content;  // to copy into the record; nullptr: nothing
  uint8_t hash[16];
  size_t room() const { return (size_t)DT_DATA_CAPACITY(descriptor) * 8; }
};
// Decide how an input array of `bytes` at `data` is stored (inline or blob); negative or NULL: none.
// (inline fast path here; blobs call put_blob)
DT_COLD Data prepare_blob(Thread* t, const void* data, uint64_t bytes);
// The same where the next record of this thread has the Data: it may then have a number that only the drainer
// understands.
DT_COLD Data prepare_long(Thread* t, const void* data, uint64_t bytes);
static inline Data prepare(Thread* t, const void* data, int64_t bytes) {
  if (!data || bytes <= 0) return Data{DT_DATA(data ? DT_DATA_INLINE : DT_DATA_NONE, 0, 0), nullptr, {}};
  if (DT_UNLIKELY((uint64_t)bytes > g_inline_limit)) return prepare_long(t, data, (uint64_t)bytes);
  return Data{DT_DATA(DT_DATA_INLINE, (bytes + 7) / 8, bytes), data, {}};
}
// The same for an output of at most `bytes`: sets room aside, PENDING.
static inline Data prepare_out(const void* data, int64_t bytes) {
  if (!data || bytes <= 0) return Data{DT_DATA(data ? DT_DATA_INLINE : DT_DATA_NONE, 0, 0), nullptr, {}};
  uint64_t room = (uint64_t)bytes > g_inline_limit ? 2 : ((uint64_t)bytes + 7) / 8;
  return Data{DT_DATA(DT_DATA_PENDING, room, 0), nullptr, {}};
}
static inline char* copy_data(char* at, const Data& d) {
  size_t room = d.room();
  if (!room) return at;
  if (DT_DATA_KIND(d.descriptor) == DT_DATA_BLOB)
    memcpy(at, d.hash, 16);
  else if (d.content)
    memcpy(at, d.content, DT_DATA_LENGTH(d.descriptor));
  return at + room;
}
// After the call: the driver wrote `bytes` at `data`. `descriptor` and `at` are in the record.
// More than fits becomes a blob.
DT_COLD void fill_out_blob(Thread* t, uint64_t* descriptor, char* at, const void* data, uint64_t bytes);
static inline void fill_out(Thread* t, uint64_t* descriptor, char* at, const void* data, int64_t bytes) {
  uint64_t d = *descriptor;
  if (DT_DATA_KIND(d) != DT_DATA_PENDING) return;
  if (bytes < 0) bytes = 0;
  if ((uint64_t)bytes <= (uint64_t)DT_DATA_CAPACITY(d) * 8 && (uint64_t)bytes <= g_inline_limit) {
    memcpy(at, data, (size_t)bytes);
    *descriptor = DT_DATA(DT_DATA_INLINE, DT_DATA_CAPACITY(d), bytes);
  } else {
    fill_out_blob(t, descriptor, at, data, (uint64_t)bytes);
  }
}

// Outputs that became blobs are handed over here, once the record's own fields are all written.
DT_COLD void flush_outs_slow(Thread* t);
extern __thread unsigned outs_waiting __attribute__((tls_model("initial-exec"), visibility("hidden")));
static inline void flush_outs(Thread* t) {
  if (DT_UNLIKELY(outs_waiting)) flush_outs_slow(t);
}
// A pointer that no rule covers: the trace says that something was there.
static inline Data unknown_data(const void* pointer) {
  return Data{DT_DATA(pointer ? DT_DATA_UNKNOWN : DT_DATA_NONE, 0, 0), nullptr, {}};
}
static inline Data offset_data() { return Data{DT_DATA(DT_DATA_OFFSET, 0, 0), nullptr, {}}; }
// Content behind a return value: room for 16 bytes or a hash.
static inline Data returned_data() { return Data{DT_DATA(DT_DATA_PENDING, 2, 0), nullptr, {}}; }
static inline uint64_t nothing(const Data& d) { return DT_DATA(DT_DATA_NONE, DT_DATA_CAPACITY(d.descriptor), 0); }

static inline void put8(char* at, uint64_t v) { memcpy(at, &v, 8); }
static inline void put8(char* at, int64_t v) { memcpy(at, &v, 8); }
static inline void put8(char* at, double v) { memcpy(at, &v, 8); }
static inline void put4(char* at, uint32_t v) { memcpy(at, &v, 4); }
static inline void put4(char* at, int32_t v) { memcpy(at, &v, 4); }
static inline void put4(char* at, float v) { memcpy(at, &v, 4); }

// Strings (glShaderSource) are one array: per string u32 length, then its characters. `lengths` may be NULL.
// The content lives in the thread's scratch memory until the next call of pack_strings on this thread.
DT_COLD Data prepare_strings(Thread* t, int64_t count, const char* const* strings, const int32_t* lengths);

// ---- resolve.cc: finding the real functions -----------------------------------------------------

// Where a call of the application goes now (entry.inc): set by lead() whenever one of the things changes that decide
// it.
extern void* g_entries[] __attribute__((visibility("hidden")));
struct Paths {
  // distances from the field itself; slow and enter are 0 for what is always entered
  int32_t slow, enter, entry[VARIANTS];
};
extern const Paths g_paths[] __attribute__((visibility("hidden")));
static inline void* follow(const int32_t& distance) { return (char*)&distance + distance; }
// The application's entry for variant `k`, and the entry that records a call whatever the mode is.
static inline void* entry_of(unsigned id, unsigned k) { return follow(g_paths[id].entry[k]); }
static inline void* recording_entry(unsigned id) {
  return g_paths[id].enter ? follow(g_paths[id].enter) : entry_of(id, 0);
}
// After a change of g_real[id][0], and after one of g_mode to or from MODE_OFF. On any thread, at any time.
DT_COLD void lead(unsigned id);
DT_COLD void lead_all();
// An entry leads to a wrapper only when the real function is known. Reads on other threads keep that order on x86.
static inline bool is_late(const void* real) {
#if defined(__x86_64__)
  (void)real;
  return false;
#else
  return real == nullptr;
#endif
}
template <class R, class... A> static inline bool is_late(R (*real)(A...)) { return is_late((const void*)real); }
// The real function `real` was found for `id`: the entry to hand out instead. Keeps one pointer per library;
// when the variants are used up returns `real` itself and notes it.
DT_COLD void* entry_for(unsigned id, void* real);
// The same where `real` may be a function of this module.
DT_COLD void* entry_for_own(unsigned id, void* real);
// For wrappers of look-up commands (glXGetProcAddress, eglGetProcAddress): `name`'s real pointer -> what the program
// gets. A GL library that looks functions up for itself (`caller`: return address of the command) gets the real ones;
// an address in the tap itself says nothing.
DT_COLD void* wrap_lookup(const char* name, void* real, const void* caller = __builtin_return_address(0));
// A symbol of a module that was preloaded after this one; nullptr: none has it.
DT_COLD void* next_module_symbol(const char* name);
// Note in the trace the libraries in which functions were found. Each is noted once per session, at the first recorded
// call of the session and whenever a call is recorded after a new one was found.
DT_COLD void report_libraries(Thread* t);

// Out of the fast path: variant calls, nested calls, unresolved functions, recording off, exact order.
// Returns the real function to call (nullptr: no library has it) and whether to record this call. `here` is on the
// stack of the wrapper.
struct Slow {
  void* real;
  bool record;
};
DT_COLD Slow enter_slow(Thread* t, unsigned id, const void* here);

}  // namespace dt
