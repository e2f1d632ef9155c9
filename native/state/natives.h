// EGL and GLX: handles, and what is current on a thread.
#pragma once
#include "machine.h"

namespace dt::state {
void natives_call(Machine& m, const Function& function, const FunctionColumns& columns, uint32_t row);
}
