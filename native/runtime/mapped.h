// Mapped memory of Vulkan, followed as mapped buffers are (maps.cc).
//
// On processors that play the device, and wherever memory is shared, the device's stores arrive in the same pages as
// the program's. So whoever knows what the device writes to records what a look finds.
#pragma once
#include "tap.h"

namespace dt {

// Returns whether stores to the memory at `from` are not recorded. `until`: where that answer ends, at `end` or before.
using Ignored = bool (*)(uint64_t memory, uint64_t from, uint64_t end, uint64_t* until);
// The knowledge about bytes that lie in memory when the tap begins to follow it.
enum class Origin {
  KNOWN,
  UNDEFINED,  // nobody knows what lies there, so all of it is recorded at the first look where bytes are compared
  PROGRAMS    // the program's own pages, imported: all of it is recorded at the first look, and always compared. The
              // kernel's watch would take pages away from a device that has them.
};
void memory_mapped(Thread* t, uint64_t memory, uint64_t offset, uint64_t bytes, void* at, Origin origin,
                   Ignored ignored);
// Records bytes that changed. `still`: no other thread writes to them.
using Stored = void (*)(Thread* t, uint64_t memory, uint64_t offset, const uint8_t* data, uint64_t bytes, bool still);
// The mapping ends: what was stored through it until now is recorded.
void memory_unmapped(Thread* t, uint64_t memory, Stored stored);
// Returns whether to look at a memory; it may narrow the part, from 0 to ~0 when it is called.
using Where = bool (*)(uint64_t memory, uint64_t* from, uint64_t* end);
// Records what was stored in mapped memory since the last look, at least where `at` says.
void look_at_memory(Thread* t, Stored stored, Where at);

// The number of times that recording began. Resources bound to memory before the last time may be unknown.
uint64_t beginnings_of_recording();

// payload.cc. `device`: the device may have stored this, too.
void emit_memory_write(Thread* t, bool device, uint64_t memory, uint64_t offset, const void* data, uint64_t bytes);

}  // namespace dt
