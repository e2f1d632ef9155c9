// The part of a device's memory that the device may write to (reach.cc).
//
// Where the device shares memory with the program its stores arrive in the pages that the program mapped. Buffers are
// made for more than they are used for: a buffer is in the device's reach from when a call names it as something that
// is written to.
#pragma once
#include <stdint.h>

namespace dt::reach {

enum Kind : uint8_t { BUFFER, LINEAR_IMAGE, OPAQUE_IMAGE };
enum Who : uint8_t {
  PROGRAM,  // the device does not write there
  EITHER,
  IMAGE  // texels in an order of the driver's: a program has no business there
};

// `usage` of a buffer, 0: not known.
void made(uint64_t resource, Kind kind, uint64_t bytes, uint64_t usage);
void has_bytes(uint64_t resource, uint64_t bytes);
// `since`: the number of the next submission.
void bound(uint64_t resource, uint64_t memory, uint64_t offset, uint64_t since);
// A part of a sparse resource.
void bound_part(uint64_t resource, uint64_t memory, uint64_t offset, uint64_t bytes, uint64_t since);
// Resources that the device writes to are in its reach until that is over.
void gone(uint64_t resource, uint64_t submission);
void memory_gone(uint64_t memory);
// A call names the buffer as something that is written to.
void is_target(uint64_t buffer, uint64_t since);
// Submissions up to that number are over, and what they wrote was looked at.
void forget_until(uint64_t submission);
// Returns whether a resource is an opaque image that lies in a memory, and where.
bool is_image(uint64_t resource, uint64_t* memory, uint64_t* from, uint64_t* end);

// The possible writers at `from`, and the end of that part: at `end` or before. `last`: the last submission that may
// have run, 0: none.
Who who(uint64_t memory, uint64_t from, uint64_t end, uint64_t last, uint64_t* until);
// One of the submissions up to that number could write to that memory.
bool is_within(uint64_t memory, uint64_t last);
// The same without images, where a program has no business: who() may be EITHER, and from where to where at most.
bool is_written(uint64_t memory, uint64_t last, uint64_t* from, uint64_t* end);
// From where to where something lies in that memory that a submission may read now, opaque images left out. False:
// nothing does.
bool is_used(uint64_t memory, uint64_t* from, uint64_t* end);

// For a large buffer that calls name for uniforms alone, and with their places, a submission reads those places. After
// any other use it may be read whole from then on.
extern uint64_t g_large;  // a bit by the handle of each large buffer that is not read whole
void are_named_slow(const void* content, uint64_t words);
// Each word of what a call hands over may be the handle of a buffer that the device may read whole.
static inline void are_named(const void* content, uint64_t words) {
  if (__builtin_expect(__atomic_load_n(&g_large, __ATOMIC_RELAXED) != 0, 0) && content) are_named_slow(content, words);
}
// Nobody knows what a call names.
void all_are_named();
// A command buffer begins. `once`: what is recorded into it is submitted once, and then no more.
void begins(uint64_t commands, bool once);
// Commands that are recorded into the command buffer read uniforms there.
void is_read(uint64_t commands, uint64_t buffer, uint64_t offset, uint64_t bytes);
// It is submitted: what it reads was looked at.
void is_submitted(uint64_t commands);

}  // namespace dt::reach
