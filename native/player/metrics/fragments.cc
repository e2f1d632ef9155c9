// Fragments: how many a draw makes, how many of them the shader or the alpha test discards, how many reach the target,
// and how often each pixel is drawn over.
//
// The player repeats each draw before it plays the draw itself, with every effect switched off. In OpenGL, occlusion
// queries count on the program's own target. Elsewhere the stencil buffer of a private framebuffer of the same size
// counts: each fragment adds one to its pixel, and the pixels are read back.
// Fragments that pass the program's depth test darken their pixel by one step, beside a copy of the program's depth
// buffer. Clears and draws are repeated on the copy; it is copied anew only after other changes of the original. Pixels
// are read back some draws later, when the driver has long drawn them; nothing waits for a draw. If the program tests
// stencil, or its depth buffer cannot be copied, colours are added up instead.
// A change of the framebuffer and back costs llvmpipe more than most draws. There, draws are counted in place: shaders
// put an integer for each two by two pixels into a list in a storage block, or many of them into a plane. Overdraw is
// the sum of such pictures over a frame.
#include "fragment_source.h"
#include "table_backend.h"

namespace dt::play::metrics {
namespace fragments {

// Why there are no occlusion queries that count, "": there are.
std::string no_queries() {
  if (!tls.context || !version()) return "there is no context";
  if (is_es()) return "OpenGL ES tells only whether samples passed";
  return version() >= 15 ? "" : "OpenGL 1.5 has queries";
}
// Why pixels cannot be counted in a private framebuffer.
std::string no_pictures() {
  if (!tls.context || !version()) return "there is no context";
  if (is_es() && version() < 20)
    return has_extension("GL_OES_framebuffer_object") && has_extension("GL_OES_rgb8_rgba8")
               ? ""
               : "the driver has no GL_OES_framebuffer_object";
  if (version() < 30)
    return is_es() ? "it takes OpenGL ES 3.0: a framebuffer with a copy of the depth" : "it takes OpenGL 3.0";
  if (is_es() && !has_extension("GL_NV_read_stencil") && !has_extension("GL_NV_read_depth_stencil"))
    return "the driver has no GL_NV_read_stencil";
  return "";
}
std::string no_metric(What what) {
  bool old = is_es() && version() < 20;
  if (what == FETCHES || what == EARLIER_FETCHES) return old ? no_pictures() : FetchCounter::missing();
  std::string queries = no_queries(), pictures = no_pictures();
  if (what >= MEAN) return pictures;
  return queries.empty() ? "" : pictures;
}

}  // namespace fragments

namespace {

using namespace fragments;

struct FragmentMetric {
  const char *spec, *group, *unit;
  What what;
  const char* type = "";
};
const FragmentMetric FRAGMENT_METRICS[] = {
    {"generated", "count", "count", GENERATED},
    {"discarded", "count", "count", DISCARDED},
    {"passed", "count", "count", PASSED},
    {"written", "count", "count", WRITTEN},
    {"samples_generated", "count", "count", SAMPLES_GENERATED},
    {"samples_discarded", "count", "count", SAMPLES_DISCARDED},
    {"samples_passed", "count", "count", SAMPLES_PASSED},
    {"samples_written", "count", "count", SAMPLES_WRITTEN},
    {"fetches", "texture", "count", FETCHES},
    {"vertex_fetches", "texture", "count", EARLIER_FETCHES},
    {"mean", "overdraw", "count", MEAN},
    {"most", "overdraw", "count", MOST},
    {"covered", "overdraw", "count", COVERED},
    {"above_1", "overdraw", "percent", ABOVE_1},
    {"above_2", "overdraw", "percent", ABOVE_2},
    {"above_4", "overdraw", "percent", ABOVE_4},
    {"above_8", "overdraw", "percent", ABOVE_8},
};

class Fragments : public TableBackend<FRAGMENT_METRICS> {
 public:
  Fragments() : TableBackend("fragments") {}
  std::string reason() override { return current_context() ? "" : "there is no context"; }
  std::vector<std::pair<std::string, std::string>> refusals() override {
    auto out = TableBackend::refusals();
    for (auto* spec : {"culled", "failed_stencil", "failed_depth"})
      out.emplace_back(spec, "draws of OpenGL have it one by one: drawtap image FILE CALL --overlay");
    return out;
  }

 private:
  std::string refusal(const FragmentMetric& metric) override { return no_metric(metric.what); }
  std::unique_ptr<Source> measuring(const std::vector<int>& numbers, const std::vector<const FragmentMetric*>& metrics,
                                    std::string&) override {
    std::vector<FragmentSource::Entry> entries;
    for (size_t i = 0; i < numbers.size(); ++i) entries.push_back({numbers[i], metrics[i]->what});
    return std::make_unique<FragmentSource>(numbers, std::move(entries));
  }
} g_fragments;

}  // namespace
}  // namespace dt::play::metrics
