// The player's messages: lines of JSON.
#pragma once
#include <cstdio>

#include "../common/json.h"

namespace dt::play {

inline void put_line(FILE* to, const JsonObject& line) { fprintf(to, "%s\n", line.str().c_str()); }

}  // namespace dt::play
