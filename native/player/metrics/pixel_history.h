// The history of one pixel: who wrote it in a part of the recording, and why other draws that cover it did not.
//
// The pixel is read before and after each draw, clear and blit, in the format in which it is kept. Before a draw is
// played it is performed with nothing written and a scissor of this one pixel, for each prefix of the tests, under an
// occlusion query. The first prefix that lets nothing through names the test that fails.
#pragma once
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pixel_events.h"
#include "source.h"

namespace dt::play::metrics {

class PixelHistory {
 public:
  PixelHistory(int x, int y) : x_(x), y_(y) {}
  void around(Draw& draw, uint64_t seq);  // `seq`: of the call that it belongs to
  void see(const Call& call);
  void played(uint64_t seq);
  // One JSON object: what was found about the image that is drawn to now, at draw buffer `buffer`.
  void write(FILE* to, unsigned buffer);
  // Gives up what the driver keeps for it, while its context is current.
  void forget();

 private:
  void test(Draw& draw, PixelEvent& e);
  int64_t let_through(Draw& draw, uint32_t program, bool bare, uint32_t query);
  // `kind`: of the call `seq`, which has been played; "between": something has written before it.
  bool compare(uint64_t seq, const PixelValues& now, const char* kind = "between");
  void remember(uint64_t seq, const PixelValues& now);

  int x_, y_;
  std::vector<PixelEvent> events_;
  bool waits_ = false, stale_ = true;  // waits_: the last event has no values from behind it yet
  PixelValues last_;                   // what was read last, good unless stale_
  // By image: its value, and the call behind which that was.
  std::map<std::string, std::pair<PixelValue, uint64_t>> known_;
  // The last call that may write to images, or bind others, without drawing.
  struct {
    uint64_t seq = 0;
    bool reads = false;            // the pixel is read behind it
    const char* kind = "between";  // what it is where it changes the pixel
    bool covers = false;           // a copy to a rectangle that the pixel is in
  } other_;
  std::map<const void*, std::vector<uint32_t>> queries_;  // by context
};

}  // namespace dt::play::metrics
