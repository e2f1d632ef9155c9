// The functions of drivers by name: one table of all that the registries have, in plain types. `driver::glFlush()`
// calls the driver and no wrapper; as a condition it says whether there is such a function. Each is looked up once.
#pragma once
#include "host.h"

namespace dt::driver {

// The real function of that number, looked up; nullptr where no library has it, or the module does not know it.
DT_COLD void* find(unsigned id);
// Somebody called what the driver does not have: it is noted, and the call returns nothing.
DT_COLD void is_missing(unsigned id);

template <class F> class Function;
template <class R, class... A> class Function<R(A...)> {
 public:
  using Pointer = R (*)(A...);
  constexpr explicit Function(unsigned number) : id(number) {}
  operator Pointer() const {
    void* known = g_real[id][0];
    return (Pointer)(DT_LIKELY(known != nullptr) ? known : find(id));
  }
  R operator()(A... arguments) const {
    const Pointer function = *this;
    if (DT_UNLIKELY(!function)) return is_missing(id), R();
    return function(arguments...);
  }
  unsigned id;  // of the module's functions; their count: none of them
};

#pragma GCC visibility push(hidden)
#define DT_FUNCTION(NAME, ...) extern const Function<__VA_ARGS__> NAME;
#include "driver_functions.h"
#undef DT_FUNCTION
#pragma GCC visibility pop

}  // namespace dt::driver
