// Looks at pixels, fragments and vertices of some draws, for whoever asks while a recording is played.
#pragma once
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "../../common/json.h"
#include "source.h"

namespace dt::play::metrics {

// The orders, about the calls from `first` to `last`: "find" of an object of JSON. An answer is a line of JSON, and
// bare data behind it. history (x y buffer) the events of a pixel of the image that is drawn to behind `last`, at a
// draw buffer
//   masks                fragments of the draw `last` by pixel, a byte each: planes as FragmentSource::Masks has them
//   overdraw             fragments of all draws to the image that is drawn to behind `last`, four bytes a pixel
//   mesh                 the vertices of the draw `last`, see write_mesh()
// Nothing happens without an order, but that programs are remembered as they are linked.
class Look : public Source {
 public:
  Look() : Source({}) {}
  ~Look() override = default;
  // False: the request makes no sense.
  virtual bool ask(uint64_t first, uint64_t last, const Json& request) = 0;
  // Writes what was found, behind the call `last`; false: there was no order.
  virtual bool tell(FILE* to) = 0;
};

std::unique_ptr<Look> make_look();

}  // namespace dt::play::metrics
