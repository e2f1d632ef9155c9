// The names that hooks of a user's module can use beside the parameters of the function they stand around.
//
// In a hook, where it is mentioned:
//   _result     the function's return value (before the driver ran: zero; what stands in it at the end is returned)
//   _skip       set to true in the before code: the driver is not entered
//   _function   drawtap::Function: the function's model
//   _frame      number of the frame, from 0
//   _call       number of this call among the calls of the thread that the module sees, from 0
//   _thread     the kernel's number of the thread
//   _context    handle of the current context, nullptr: none
//   _arguments  std::string: the arguments as text, enumerants by name
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <string>

namespace drawtap {

enum Flag : uint32_t {
  FRAME_END = 1u << 0,
  DRAW = 1u << 1,
  DISPATCH = 1u << 2,
  CLEAR = 1u << 3,
  UPLOAD = 1u << 4,
  READBACK = 1u << 5,
  SYNC = 1u << 6,
  FINISH = 1u << 7,
  FLUSH = 1u << 8,
  MAKE_CURRENT = 1u << 9,
  CONTEXT = 1u << 10,
  MAP = 1u << 11,
  MARKER = 1u << 12,
};

struct Function {
  const char* name;
  const char* api;  // gl egl glx vg
  uint32_t id;      // in this module
  uint32_t flags;
  bool is(uint32_t wanted) const { return flags & wanted; }
};

// CLOCK_MONOTONIC.
uint64_t now_ns();
// Frames that all threads of the process have shown so far.
uint64_t frame();
// Sleep until CLOCK_MONOTONIC shows `at_ns`; signals do not shorten it.
void sleep_until(uint64_t at_ns);

// A number or a remark. They go into the recording where the module records (tables `metrics` and `marks`), else as
// lines of JSON to the file that DRAWTAP_METRICS names, else nowhere.
void metric(const char* name, double value);
void mark(const char* text);

// A value of the environment, or `otherwise`. Nothing in a program with the rights of somebody else.
const char* setting(const char* name, const char* otherwise);
double setting(const char* name, double otherwise);

namespace detail {

struct Slot {
  const void* context;
  uint64_t generation;
  void* value;
  Slot* next;
};
struct Slots {
  uint32_t lock;
  Slot* first;
};
const void* context();
void* find_or_make(Slots* slots, void* (*make)());
void entered_frame_end();
void made_current(const void* context);
void context_made(const void* context);
uint64_t call();
void count_call();
int thread();

struct Enumerant {
  uint32_t value;
  const char* name;
};
struct Group {
  const Enumerant* values;  // ascending
  uint32_t count;
  bool bitmask;
};
enum Kind : uint8_t { SIGNED, UNSIGNED, FLOAT, POINTER, ENUMERANT };
struct Argument {
  const char* name;
  Kind kind;
  const Group* group;
};
inline uint64_t bits(double value) {
  uint64_t raw;
  __builtin_memcpy(&raw, &value, 8);
  return raw;
}
inline uint64_t bits(float value) { return bits((double)value); }
template <class T> inline uint64_t bits(T* value) { return (uint64_t)(uintptr_t)value; }
template <class T> inline uint64_t bits(T value) { return (uint64_t)(int64_t)value; }
std::string arguments(const Argument* table, const uint64_t* values, size_t count);

}  // namespace detail

// One T for every thread, value-initialised when first used.
template <class T> T& per_thread() {
  static thread_local T value{};
  return value;
}

// One T for every context (and one for calls without a context). It begins anew when the handle is given to a new
// context.
template <class T> T& per_context() {
  static detail::Slots slots;
  return *static_cast<T*>(detail::find_or_make(&slots, []() -> void* { return new T{}; }));
}

}  // namespace drawtap
