#include "plain.h"

namespace dt::plain {
namespace {

// One or two numbers, after the handle. Their place is eight bytes in both cases.
template <class... Number> __attribute__((noinline)) void record(void* handle, Number... numbers, unsigned id) {
  constexpr size_t SIZE = sizeof(dt_record) + 16;
  Thread* const t = &tls;
  const auto real = (void (*)(void*, Number...))t->real;
  mark_frame(t);
  char* const at = reserve_call(t, SIZE);
  if (DT_LIKELY(at != nullptr)) {
    put8(at + sizeof(dt_record), (uint64_t)(uintptr_t)handle);
    size_t place = sizeof(dt_record) + 8;
    ((put4(at + place, numbers), place += 4), ...);
    put_entry_clock((dt_record*)at);
    put_head(at, id, SIZE);
    commit(t, at + SIZE);
    t->calls++;
  }
  real(handle, numbers...);
  if (DT_LIKELY(at != nullptr)) finish(t, (dt_record*)at);
  end_call(t);
}

template <class... Number>
inline __attribute__((always_inline)) void enter_any(void* handle, Number... numbers, unsigned id) {
  Thread* const t = &tls;
  void* const real = g_real[id][0];
  if (DT_UNLIKELY((g_mode | t->special) != 0 || is_late(real)))
    return ((void (*)(void*, Number...))follow(g_paths[id].slow))(handle, numbers...);
  begin_call(t, real);
  record<Number...>(handle, numbers..., id);
}

template <class... Number>
inline __attribute__((always_inline)) void slow_any(void* handle, Number... numbers, unsigned id) {
  Thread* const t = &tls;
  const Slow found = enter_slow(t, id, __builtin_frame_address(0));
  if (!found.real) return;
  if (!found.record) return ((void (*)(void*, Number...))found.real)(handle, numbers...);
  begin_call(t, found.real);
  record<Number...>(handle, numbers..., id);
}

}  // namespace

void enter(void* handle, uint32_t a, unsigned id) { enter_any<uint32_t>(handle, a, id); }
void enter(void* handle, uint32_t a, uint32_t b, unsigned id) { enter_any<uint32_t, uint32_t>(handle, a, b, id); }
void slow(void* handle, uint32_t a, unsigned id) { slow_any<uint32_t>(handle, a, id); }
void slow(void* handle, uint32_t a, uint32_t b, unsigned id) { slow_any<uint32_t, uint32_t>(handle, a, b, id); }

}  // namespace dt::plain
