// Facts about objects that later calls do not repeat, by handle (objects.cc).
#pragma once
#include <stdint.h>

namespace dt {

enum About : uint64_t {
  SECONDARY = 1,
  PIECES = 2,
  BYTES = 3,
  VALUE = 4,
  SIGNAL = 5,
  FENCE = 6,
  FRESH = 7,
  BINDS_SEEN = 8,  // memory: beginnings_of_recording() + 1 when it was allocated, where no bind of it is out of sight
  IMPORTED = 9     // memory: the same, where it is the program's own and followed from then on
};
void learn(uint64_t handle, About about, uint64_t value);
uint64_t known(uint64_t handle, About about);  // 0: nothing is known
// The buffers among the descriptors that an update with a template reads: `storage`, or of uniforms. False: the
// template was made unseen.
struct BufferPart {
  uint64_t buffer, offset, bytes;
};
bool each_buffer(uint64_t update, const void* data, void* user,
                 void (*each)(void* user, const BufferPart& part, bool storage));
// The number that the next submission to a queue will have, from 1.
uint64_t next_submission();

}  // namespace dt
