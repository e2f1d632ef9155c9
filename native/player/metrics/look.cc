#include "look.h"

#include <algorithm>
#include <map>

#include "../line.h"
#include "fragment_source.h"
#include "mesh.h"
#include "pixel_history.h"

namespace dt::play::metrics {
namespace {

using fragments::FragmentSource;

// Takes what a source has to say, and keeps only why it has nothing to say.
struct Reasons : Sink {
  const char* why = nullptr;
  void value(uint64_t, int, double) override {}
  void mean(uint64_t, int, double, double) override {}
  void lost(uint64_t, int, const char* because) override { why = because; }
};

// Fragments of all draws to one image.
struct ImageSum {
  Extent size;
  std::vector<uint32_t> counts;
  uint64_t draws = 0, unknown = 0;
  const char* why = nullptr;  // of the last one that is not known
};

class Looking : public Look {
 public:
  Looking() {
    using Entry = FragmentSource::Entry;
    fragments_ = std::make_unique<FragmentSource>(std::vector<int>{0, 1, 2},
                                                  std::vector<Entry>{{0, GENERATED}, {1, DISCARDED}, {2, PASSED}});
    std::string why;
    geometry_ = backend("geometry")->source({{"", "geometry", "submitted", Fold::SUM, AT_FRAME}}, {0}, why);
  }
  int order() const override { return 2; }
  unsigned watches() const override { return WATCH_DRAWS | WATCH_CALLS | WATCH_LINKS | WATCH_PLAYED; }
  bool begin(uint64_t, std::string&) override { return true; }
  void end() override {}
  void collect(Sink&, bool) override {}
  void linked(uint32_t program) override {
    fragments_->linked(program);
    geometry_->linked(program);
  }
  bool disturbs(uint32_t target) const override { return runs_ && fragments_->disturbs(target); }
  void leave() override { fragments_->leave(); }
  bool restore(const Call*) override { return false; }
  void frame(uint64_t number) override { fragments_->frame(number); }
  void forget(const void* context) override {
    fragments_->forget(context);
    geometry_->forget(context);
  }

  void see(const Call& call) override {
    if (!call.expanded) top_ = call.seq;
    if (!wanted(top_) || call.in_list) return;
    if (what_ == "history") history_->see(call);
    if (es1()) fragments_->see(call);
  }
  void around(Draw& draw) override {
    // Those of a display list belong to the call that calls it.
    const uint64_t seq = draw.expanded ? top_ : draw.seq;
    if (!wanted(seq) || !version()) return;
    if (what_ == "history") history_->around(draw, seq);
    const bool primitives = draw.flags & FLAG_DRAW || draw.given().vertices > 0;
    if (what_ == "overdraw" && primitives) add(draw);
    // For a draw from glBegin on, `last` is its glEnd.
    const bool last = primitives && (seq == last_ || draw.flags & FLAG_VERTICES_BEGIN);
    looked_ |= last;
    if (what_ == "mesh" && last) take_mesh(draw);
    if (what_ == "masks" && last)
      add_masks(draw);
    else if (what_ == "masks" && es1())  // its copy of the depth buffer has to follow all draws before
      fragments_->around(draw);
    drain_errors();
  }
  void played(uint64_t seq) override {
    if (!wanted(seq)) return;
    if (what_ == "history" && current_context()) history_->played(seq);
    // The draw from glBegin to another glEnd than `last`
    if (seq != last_) mesh_.reset(), masks_ = {}, looked_ = false;
  }

  bool ask(uint64_t first, uint64_t last, const Json& request) override {
    runs_ = false;
    what_ = request["find"].text();
    first_ = first, last_ = last;
    history_.reset(), mesh_.reset(), masks_ = {}, sums_.clear(), looked_ = false;
    if (what_ == "history") {
      int x = 0, y = 0;
      if (!request["x"].read(x) || !request["y"].read(y) || !request["buffer"].read(buffer_)) return false;
      history_ = std::make_unique<PixelHistory>(x, y);
    } else if (what_ != "masks" && what_ != "overdraw" && what_ != "mesh") {
      return false;
    }
    return runs_ = true;
  }
  bool tell(FILE* to) override {
    if (!runs_) return false;
    runs_ = false;
    if (what_ == "history") history_->write(to, buffer_);
    if (what_ == "masks") write_masks(to);
    if (what_ == "overdraw") write_sum(to);
    if (what_ == "mesh") write_found(to);
    history_.reset(), mesh_.reset(), masks_ = {}, sums_.clear();
    return true;
  }

 private:
  static bool es1() { return is_es() && version() < 20; }
  bool wanted(uint64_t seq) const { return runs_ && seq >= first_ && seq <= last_; }
  // A display list may make several draws.
  void add_masks(Draw& draw) {
    FragmentSource::Masks one;
    fragments_->masks(draw, one, true);
    for (size_t p = 0; p < FragmentSource::Masks::PLANES; ++p) {
      if (one.why[p]) masks_.why[p] = one.why[p];
      auto &to = masks_.counts[p], &from = one.counts[p];
      if (masks_.why[p] || (!to.empty() && to.size() != from.size())) {
        to.clear();
        continue;
      }
      to.resize(from.size());
      for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<uint8_t>(std::min(to[i] + from[i], 255));
    }
    masks_.size = one.size;
  }

  void take_mesh(Draw& draw) {
    if (!mesh_) mesh_ = std::make_unique<Mesh>();
    mesh_->drawn = true;
    wanted_mesh() = mesh_.get();
    Reasons reasons;
    std::string why;
    geometry_->around(draw);
    wanted_mesh() = nullptr;
    geometry_->begin(1, why), geometry_->end(), geometry_->collect(reasons, true);
    mesh_->why = reasons.why;
    const uint32_t program = version() >= 20 ? static_cast<uint32_t>(integer(GL_CURRENT_PROGRAM)) : 0;
    const ProgramSource* source = program ? program_source(program) : nullptr;
    auto later = [](auto& stage) { return stage.first != GL_VERTEX_SHADER && stage.first != GL_FRAGMENT_SHADER; };
    const size_t corners = mesh_->fates.size() * mesh_->corners;
    // Later stages make primitives of their own.
    if ((source && std::any_of(source->stages.begin(), source->stages.end(), later)) || mesh_->places.empty() ||
        corners % mesh_->places.size())
      mesh_->places.clear();
    mesh_->inputs.clear();
    read_inputs(*mesh_);
  }

  void add(Draw& draw) {
    const PixelValues at = read_pixel(0, 0);
    const std::string image = at.colors.empty() ? at.depth.image : at.colors.front().image;
    FragmentSource::Masks one;
    fragments_->masks(draw, one, false);
    ImageSum& sum = sums_[image];
    ++sum.draws;
    const auto& counts = one.counts[FragmentSource::Masks::GENERATED_];
    const char* why = one.why[FragmentSource::Masks::GENERATED_];
    if (!why && sum.counts.empty()) sum.size = one.size, sum.counts.assign(counts.size(), 0);
    if (!why && sum.counts.size() != counts.size()) why = "the image had two sizes in one frame";
    if (why) return ++sum.unknown, sum.why = why, void();
    for (size_t i = 0; i < counts.size(); ++i) sum.counts[i] += counts[i];
  }

  void write_masks(FILE* to) const {
    int box[4] = {}, view[4] = {};
    JsonObject line;
    line.put("found", looked_).put("width", masks_.size.width).put("height", masks_.size.height);
    if (version() && enabled(GL_SCISSOR_TEST)) {
      driver::glGetIntegerv(GL_SCISSOR_BOX, box);
      line.values("scissor", box);
    } else {
      line.put("scissor", nullptr);
    }
    if (version()) driver::glGetIntegerv(GL_VIEWPORT, view);
    auto& out = line.values("viewport", view).writer().list("planes");
    for (size_t p = 0; p < FragmentSource::Masks::PLANES; ++p) {
      out.object().put("name", FragmentSource::PLANE_NAMES[p]).put("bytes", masks_.counts[p].size());
      out.put("why", masks_.why[p]).end();
    }
    out.end();
    put_line(to, line);
    for (auto& counts : masks_.counts) fwrite(counts.data(), 1, counts.size(), to);
  }

  void write_sum(FILE* to) {
    const PixelValues at = read_pixel(0, 0);
    const ImageSum& sum = sums_[at.colors.empty() ? at.depth.image : at.colors.front().image];
    JsonObject line;
    line.put("width", sum.size.width).put("height", sum.size.height).put("draws", sum.draws);
    put_line(to, line.put("unknown", sum.unknown).put("why", sum.why));
    fwrite(sum.counts.data(), 4, sum.counts.size(), to);
  }

  void write_found(FILE* to) const {
    if (mesh_) return write_mesh(to, *mesh_);
    write_mesh(to, Mesh{});
  }

  std::unique_ptr<FragmentSource> fragments_;
  std::unique_ptr<Source> geometry_;
  bool runs_ = false, looked_ = false;
  std::string what_;
  uint64_t first_ = 0, last_ = 0, top_ = 0;  // top_: the call that is played, not the calls of its display list
  unsigned buffer_ = 0;
  std::unique_ptr<PixelHistory> history_;
  std::unique_ptr<Mesh> mesh_;
  FragmentSource::Masks masks_;
  std::map<std::string, ImageSum> sums_;
};

}  // namespace

std::unique_ptr<Look> make_look() { return std::make_unique<Looking>(); }

}  // namespace dt::play::metrics
