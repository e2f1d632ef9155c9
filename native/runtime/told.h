// Calls that the trace gets and the driver does not: the tap makes them itself, and the wrappers record them as any
// other.
#pragma once
#include "gl_state.h"
#include "tap.h"

namespace dt {
namespace hook {

// Types must match the command's parameters.
template <class... A> void tell(Thread* t, const char* name, A... arguments) {
  const int id = find_function(name);
  if (id < 0) return;
  char* const frame = t->frame;
  t->special = SPECIAL_TOLD | SPECIAL_USER;
  ((void (*)(A...))recording_entry((unsigned)id))(arguments...);
  t->frame = frame;
  t->special = SPECIAL_BUSY;
}
// The same for a command that returns something.
template <class... A> void tell_result(Thread* t, uint64_t result, const char* name, A... arguments) {
  t->told_result = result;
  tell<A...>(t, name, arguments...);
  t->told_result = 0;
}

}  // namespace hook
}  // namespace dt
