// Structures with all that they point to, as one content (docs/format.md, "Trees").
#pragma once
#include "tap.h"
#include "trees.h"

namespace dt::tree {

// Begin the contents of a call: those of the last one go away.
DT_COLD void begin();
// `count` structures of a type, `stride` bytes apart, as a content to store. `outer`: see rule().
DT_COLD Data prepare(Thread* t, const void* at, int64_t count, uint16_t type, int64_t stride, const void* outer);
// The same for what the driver fills in: sets room aside before the call, and fills it after it.
DT_COLD Data prepare_out(const void* at, int64_t count, uint16_t type);
DT_COLD void fill(Thread* t, uint64_t* descriptor, char* room, const void* at, int64_t count, uint16_t type,
                  int64_t stride, const void* outer);

// Whether memory can be read. Asks the kernel only where it goes over the end of a page.
DT_COLD bool is_readable(const void* at, uint64_t bytes);

// What an update of descriptors with a template reads at `data`, one behind the other.
struct Gathered {
  uint64_t bytes;  // 0: the template is not known
  void (*copy)(uint64_t update, const void* data, char* to);
};
DT_COLD Gathered gathered(uint64_t update);

}  // namespace dt::tree

namespace dt {
DT_COLD Data prepare_template(Thread* t, const void* data, int64_t update);
}  // namespace dt
