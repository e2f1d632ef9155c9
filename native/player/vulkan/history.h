// The history of one pixel in the submissions of a frame: what wrote it, and which test kept draws from it.
//
// Copies of command buffers read the pixel behind each command that may write the image. Before a draw they draw
// variants of its pipeline under occlusion queries: the variants write nothing, and their scissor is this pixel. Each
// variant makes one more test, and the first one that lets nothing through names the test that fails.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../metrics/pixel_events.h"
#include "question.h"

namespace dt::play::vk {

class History : public Question {
 public:
  // The request has x and y too, from the lower left corner.
  bool ask(const Json& request) override;
  std::unique_ptr<Plan> plan(const Submitted& of) override;
  int x = 0, y = 0;

  std::vector<metrics::PixelEvent>& events() { return events_; }
  // An event that the values of a later read end. `only_changed`: it is one where they differ.
  size_t add(const char* kind, uint64_t call, uint64_t submit, bool only_changed = false);
  void take(Device& device, const std::vector<Tested>& tested, const std::vector<Taken>& reads) override;
  void set_why(const std::string& why) { why_ = why; }
  void write(FILE* to) const override;

 private:
  void take_read(const Taken& read, const uint8_t* room);
  void compare(const Taken& read, const metrics::PixelValues& now);
  bool is_seen(size_t event) const;

  std::vector<metrics::PixelEvent> events_;
  std::vector<bool> only_changed_;
  std::vector<std::pair<size_t, metrics::PixelEvent>> between_;  // before which event
  metrics::PixelValues last_;
  // By image and kind: its value, and the call behind which that was.
  std::map<std::string, std::pair<metrics::PixelValue, uint64_t>> known_;
  std::string why_;
};

}  // namespace dt::play::vk
