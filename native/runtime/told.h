// Calls that the trace gets and the driver does not: the tap makes them itself, and the wrappers record them as any
// other.
#pragma once
#include "driver.h"
#include "gl_state.h"
#include "tap.h"

namespace dt {
namespace hook {

// By the name of a function. Types must match the command's parameters.
template <class... A> void tell_named(Thread* t, const char* name, A... arguments) {
  const int id = find_function(name);
  if (id < 0) return;
  char* const frame = t->frame;
  t->special = SPECIAL_TOLD | SPECIAL_USER;
  ((void (*)(A...))recording_entry((unsigned)id))(arguments...);
  t->frame = frame;
  t->special = SPECIAL_BUSY;
}
template <class T> struct Same {
  using Type = T;
};
template <class R, class... A>
void tell(Thread* t, const driver::Function<R(A...)>& function, typename Same<A>::Type... arguments) {
  if (function.id < g_function_count) tell_named<A...>(t, g_names[function.id], arguments...);
}
// The same for a command that returns something.
template <class R, class... A>
void tell_result(Thread* t, uint64_t result, const driver::Function<R(A...)>& function,
                 typename Same<A>::Type... arguments) {
  t->told_result = result;
  tell(t, function, arguments...);
  t->told_result = 0;
}

}  // namespace hook
}  // namespace dt
