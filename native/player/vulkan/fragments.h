// Fragments of all draws of the measured frames, counted in one replay.
//
// Copies of command buffers repeat each draw before it, inside of its render pass. Variants of its pipeline write
// nothing, and each makes more of the tests: occlusion queries count what they let through. A query around the draw
// itself counts what passes all tests. Overdraw is counted as Counts does it, in an image for each one that is drawn
// to.
#pragma once
#include <deque>
#include <optional>
#include <unordered_map>

#include "../metrics/fragment_figures.h"
#include "counts.h"

namespace dt::play::vk {

class Fragments : public Counts {
 public:
  using What = metrics::What;
  using enum metrics::What;
  static const char* const SPECS[NO_FIGURE - GENERATED];  // those of Vulkan: all but fetches
  static What find(const std::string& spec);              // NO_FIGURE: there is no such metric

  // One execution of a draw.
  struct Drawn {
    uint64_t submit = 0, draw = 0;
    int64_t through[metrics::PIXEL_TESTS] = {-1, -1, -1, -1, -1, -1, -1};  // -1: this test was not made apart
    int64_t passed = 0;
    bool many = false;         // its target has several samples a pixel
    bool writes = false;       // a colour
    bool early = false;        // it tests before its shader discards
    bool own_stencil = false;  // its stencil test may see what it stores
    bool read = false;
    const char* why = nullptr;  // nothing of it is known
    // `why`: the reason where there is none.
    double value(What what, const char*& why) const;
  };
  struct Overdraw : metrics::Overdraw {
    uint64_t draws = 0, unknown = 0;
  };

  Fragments(bool draws, bool pictures) : Counts(false), draws_(draws), pictures_(pictures) {}
  // The frame whose calls come next, and whether its draws are counted.
  void enter(uint64_t frame, bool counts) { frame_ = frame, counts_now_ = counts; }
  bool wants(uint64_t) const override { return counts_now_; }
  std::unique_ptr<Plan> plan(const Submitted& of) override;
  void take(Device& device, const std::vector<Tested>& tested, const std::vector<Taken>& reads) override;
  void forget() override;
  using Question::forget;

  // The next execution of a draw in a submission, which has ended.
  Drawn next(uint64_t submit, uint64_t draw);
  // The frame has ended, and all that it submitted: its pictures are written where somebody wants them.
  Overdraw over(uint64_t frame);

 private:
  friend class FragmentPlan;
  // A part of an image; image 0: a window's.
  struct Target {
    uint64_t image = 0;
    uint32_t level = 0, layer = 0;
    VkExtent2D size{};
    bool operator==(const Target& other) const {
      return image == other.image && level == other.level && layer == other.layer && size.width == other.size.width &&
             size.height == other.size.height;
    }
  };
  struct Picture {
    Target target;
    std::vector<uint32_t> counts;  // the lowest row first
  };
  struct Frame {
    std::deque<Picture> pictures;  // by first use
    uint64_t draws = 0, unknown = 0;
    const char* why = nullptr;
  };
  size_t add(uint64_t submit, uint64_t draw);
  Picture& picture(Frame& frame, const Target& of);
  void write(uint64_t number, const Frame& frame) const;
  using Counts::write;

  const bool draws_, pictures_;
  uint64_t frame_ = 0;
  bool counts_now_ = false;
  Snapshots* snapshots_ = nullptr;
  Device* device_ = nullptr;  // whose draws are counted
  std::unordered_map<size_t, Drawn> drawn_;
  std::unordered_map<uint64_t, std::unordered_map<uint64_t, std::deque<size_t>>> order_;  // by submission and draw
  std::unordered_map<size_t, std::pair<uint64_t, std::vector<Target>>> reads_;            // frame, what is read
  size_t events_ = 0;
  std::map<uint64_t, Frame> frames_;
};

}  // namespace dt::play::vk
