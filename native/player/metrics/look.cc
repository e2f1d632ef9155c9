#include "look.h"

#include <sstream>

#include "draw_state.h"
#include "pixel_history.h"
#include "programs.h"

namespace dt::play::metrics {
namespace {

class Looking : public Look {
 public:
  int order() const override { return 2; }
  unsigned watches() const override { return WATCH_DRAWS | WATCH_CALLS | WATCH_LINKS | WATCH_PLAYED; }
  bool begin(uint64_t, std::string&) override { return true; }
  void end() override {}
  void collect(Sink&, bool) override {}
  void linked(uint32_t program) override { program_linked(program); }
  bool disturbs(uint32_t target) const override {
    // Samples, and all that a draw that is made again would count too.
    return runs_ && (target == GL_SAMPLES_PASSED || target == GL_ANY_SAMPLES_PASSED ||
                     target == GL_ANY_SAMPLES_PASSED_CONSERVATIVE || target == GL_PRIMITIVES_GENERATED ||
                     target == GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN ||
                     (target >= GL_TRANSFORM_FEEDBACK_OVERFLOW && target <= GL_CLIPPING_OUTPUT_PRIMITIVES) ||
                     target == GL_GEOMETRY_SHADER_INVOCATIONS);
  }
  void see(const Call& call) override {
    if (history_ && wanted(call.seq) && !call.in_list) history_->see(call);
  }
  void around(Draw& draw) override {
    if (!wanted(draw.seq) || !version()) return;
    if (history_) history_->around(draw);
  }
  void played(uint64_t seq) override {
    if (wanted(seq) && history_ && current_context()) history_->played(seq);
  }

  bool ask(uint64_t first, uint64_t last, const std::string& words) override {
    std::istringstream in(words);
    std::string what;
    in >> what;
    runs_ = false;
    history_.reset();
    first_ = first, last_ = last;
    if (what != "history") return false;
    int x = 0, y = 0;
    if (!(in >> x >> y >> buffer_)) return false;
    history_ = std::make_unique<PixelHistory>(x, y);
    return runs_ = true;
  }
  bool tell(FILE* to) override {
    if (!runs_) return false;
    if (history_) history_->write(to, buffer_);
    runs_ = false;
    history_.reset();
    return true;
  }

 private:
  bool wanted(uint64_t seq) const { return runs_ && seq >= first_ && seq <= last_; }

  bool runs_ = false;
  uint64_t first_ = 0, last_ = 0;
  unsigned buffer_ = 0;
  std::unique_ptr<PixelHistory> history_;
};

}  // namespace

std::unique_ptr<Look> make_look() { return std::make_unique<Looking>(); }

}  // namespace dt::play::metrics
