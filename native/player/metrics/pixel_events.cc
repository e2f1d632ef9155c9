#include "pixel_events.h"

#include <algorithm>
#include <cmath>

namespace dt::play::metrics {
namespace {

constexpr const char* TEST_NAMES[PIXEL_TESTS] = {"covers",   "culling", "scissor", "discard",
                                                 "coverage", "stencil", "depth"};

using Writer = JsonWriter<std::string>;

void write_value(Writer& out, const char* name, const PixelValue& v) {
  if (!v.count) return void(out.put(name, nullptr));
  out.list(name);
  for (int i = 0; i < v.count; ++i) {
    const double n = v.numbers[static_cast<size_t>(i)];
    if (std::isfinite(n))
      out.value(n);
    else
      out.value(std::isnan(n) ? "nan" : n > 0 ? "inf" : "-inf");
  }
  out.end();
}

const PixelValue& color_of(const PixelValues& v, size_t buffer) {
  static const PixelValue none;
  return buffer < v.colors.size() ? v.colors[buffer] : none;
}

}  // namespace

bool changed(const PixelValue& a, const PixelValue& b) { return !a.image.empty() && a.image == b.image && !a.same(b); }
bool any_changed(const PixelEvent& e) {
  for (size_t i = 0; i < std::min(e.before.colors.size(), e.after.colors.size()); ++i)
    if (changed(e.before.colors[i], e.after.colors[i])) return true;
  return changed(e.before.depth, e.after.depth) || changed(e.before.stencil, e.after.stencil);
}

void write_values(Writer& out, const char* name, const PixelValues& v, size_t buffer) {
  out.object(name);
  write_value(out, "color", color_of(v, buffer));
  write_value(out, "depth", v.depth);
  write_value(out, "stencil", v.stencil);
  out.end();
}

void write_event(Writer& out, const PixelEvent& e, size_t buffer) {
  out.object().put("call", e.call);
  for (auto [name, call] : {std::pair{"until", e.until}, {"submit", e.submit}})
    call ? out.put(name, call) : out.put(name, nullptr);
  out.put("kind", e.kind);
  write_values(out, "before", e.before, buffer);
  write_values(out, "after", e.after, buffer);
  out.list("changed");
  if (changed(color_of(e.before, buffer), color_of(e.after, buffer))) out.value("color");
  if (changed(e.before.depth, e.after.depth)) out.value("depth");
  if (changed(e.before.stencil, e.after.stencil)) out.value("stencil");
  out.end().key("tests");
  if (e.tested) {
    out.object();
    for (size_t t = 0; t < PIXEL_TESTS; ++t)
      if (e.through[t] >= 0) out.put(TEST_NAMES[t], e.through[t]);
    out.end();
  } else {
    out.value(nullptr);
  }
  const size_t failed =
      static_cast<size_t>(std::find(std::begin(e.through), std::end(e.through), 0) - std::begin(e.through));
  out.put("any", e.only_any).put("failed", e.tested && failed < PIXEL_TESTS ? TEST_NAMES[failed] : nullptr);
  out.put("masked", e.masked).put("unknown", e.unknown).end();
}

}  // namespace dt::play::metrics
