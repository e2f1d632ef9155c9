// The one exception of the reader: a DT_E_* code and a sentence.
#pragma once
#include <stdexcept>
#include <string>

#include "core.h"

namespace dt {

struct Error : std::runtime_error {
  int code;
  Error(int c, const std::string& text) : std::runtime_error(text), code(c) {}
};

}  // namespace dt
