// The history of one pixel in the submissions of a frame: what wrote it, and which test kept draws from it.
//
// Copies of command buffers read the pixel behind each command that may write the image. Before a draw they draw
// variants of its pipeline under occlusion queries: the variants write nothing, and their scissor is this pixel. Each
// variant makes one more test, and the first one that lets nothing through names the test that fails.
#pragma once
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../../common/json.h"
#include "../metrics/pixel_events.h"
#include "snapshots.h"

namespace dt::play::vk {

class History {
 public:
  // The request's members: first, call (the last submission), draw (its last command), image (the recorded handle),
  // level, layer, x and y from the lower left corner. False: it makes no sense.
  bool ask(const Json& request);
  bool wants(uint64_t submit) const { return submit >= first && submit <= last && !met; }
  uint64_t first = 0, last = 0, draw = 0, image = 0;
  uint32_t level = 0, layer = 0;
  int x = 0, y = 0;
  bool met = false;  // the last command ran

  std::vector<metrics::PixelEvent>& events() { return events_; }
  // An event that the values of a later read end. `only_changed`: it is one where they differ.
  size_t add(const char* kind, uint64_t call, uint64_t submit, bool only_changed = false);
  // A pipeline's variant; nullptr: the driver refuses it.
  VkPipeline variant(Device& device, VkPipeline of, const KeptPipeline& kept, const VariantWish& wish);
  void forget(VkPipeline of);  // it ends, and what was made of it
  void forget(VkRenderPass of);
  void forget();
  // Takes the results of a submission's queries and reads, in the order of the commands.
  void take(Device& device, const std::vector<Tested>& tested, const std::vector<Taken>& reads);
  void set_why(const std::string& why) { why_ = why; }
  void write(FILE* to) const;

 private:
  using Key = std::tuple<VkPipeline, uint8_t, VkRenderPass, uint32_t, uint32_t>;
  template <class F> void drop(F&& which);
  void take_read(const Taken& read, const uint8_t* room);
  void compare(const Taken& read, const metrics::PixelValues& now);
  bool is_seen(size_t event) const;

  std::vector<metrics::PixelEvent> events_;
  std::vector<bool> only_changed_;
  std::vector<std::pair<size_t, metrics::PixelEvent>> between_;  // before which event
  metrics::PixelValues last_;
  // By image and kind: its value, and the call behind which that was.
  std::map<std::string, std::pair<metrics::PixelValue, uint64_t>> known_;
  std::map<Key, std::pair<Device*, VkPipeline>> variants_;
  std::string why_;
};

}  // namespace dt::play::vk
