// Content that could not be recorded is counted, and the first time said in a note, with the call that it is about.
#pragma once
#include "host.h"

namespace dt {

// `code` is a short machine word, one a reason; `text` a sentence.
DT_COLD void emit_loss(Thread* t, const char* code, const char* text);

}  // namespace dt
