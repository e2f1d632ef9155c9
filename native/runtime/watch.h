// The kernel's watch over pages (watch.cc): which were written since they were protected, without a signal handler or
// a thread. There under Linux 6.7 and later.
#pragma once
#include <stdint.h>

namespace dt::watch {

constexpr uint64_t PAGE = 4096;

// Whole pages: two addresses.
struct Range {
  uint64_t start, end;
};
struct Written {
  uint64_t start, end, categories;
};

// Returns whether this process watches something: the child of a fork does not.
bool is_on();
// Protects the pages, and notes from then on which are written.
bool begin(Range pages);
void end(Range pages);
bool protect(Range pages);
bool open(Range pages);  // the contrary: from then on they count as written
// Pages that were written, at most `most` parts. Returns their number, -1: the kernel does not watch this memory.
// `until`: where the scan ended.
int scan(uint64_t from, uint64_t end, Written* parts, unsigned most, uint64_t* until);
// Protects again what was written, and nothing else.
bool protect_written(Range pages);

}  // namespace dt::watch
