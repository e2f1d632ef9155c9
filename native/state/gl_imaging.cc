// The imaging subset: colour tables, convolution filters, histogram, minimum and maximum.
#include "gl.h"
#include "gl_enums.h"

namespace dt::state::run {
namespace {

// Proxies have no node: answers about them are no state.
Node* table_of(Machine& m, int64_t target) {
  return m.child(m.context(), c_context::color_tables, static_cast<uint64_t>(target));
}
Node* filter_of(Machine& m, int64_t target) {
  return m.child(m.context(), c_context::convolutions, static_cast<uint64_t>(target));
}
bool is_proxy_table(int64_t target) {
  return (target >= GL_PROXY_COLOR_TABLE && target <= GL_PROXY_POST_COLOR_MATRIX_COLOR_TABLE) ||
         target == GL_PROXY_TEXTURE_COLOR_TABLE_SGI || target == GL_PROXY_HISTOGRAM;
}

Node* new_table(Machine& m, int64_t target, int64_t format, int64_t width) {
  if (is_proxy_table(target)) return nullptr;
  Node* n = table_of(m, target);
  if (!n || width < 0 || (width & (width - 1))) return m.refuse(), nullptr;
  m.set(n, f_color_table::GL_COLOR_TABLE_FORMAT, Num(format));
  m.set(n, f_color_table::GL_COLOR_TABLE_WIDTH, Num(width));
  // Scale and bias are applied when the table is loaded.
  m.read(n, f_color_table::GL_COLOR_TABLE_SCALE);
  m.read(n, f_color_table::GL_COLOR_TABLE_BIAS);
  return n;
}
Node* new_filter(Machine& m, int64_t target, int64_t format, int64_t width, int64_t height) {
  Node* n = filter_of(m, target);
  if (!n || width < 0 || height < 0) return m.refuse(), nullptr;
  m.set(n, f_convolution::GL_CONVOLUTION_FORMAT, Num(format));
  m.set(n, f_convolution::GL_CONVOLUTION_WIDTH, Num(width));
  m.set(n, f_convolution::GL_CONVOLUTION_HEIGHT, Num(height));
  m.read(n, f_convolution::GL_CONVOLUTION_FILTER_SCALE);
  m.read(n, f_convolution::GL_CONVOLUTION_FILTER_BIAS);
  return n;
}
Node* imaging_node(Machine& m, int64_t target) {
  Node* n = table_of(m, target);
  return n ? n : filter_of(m, target);
}
Node* counts_of(Machine& m, int64_t target, unsigned& content) {
  content = target == GL_HISTOGRAM ? unsigned{f_histogram::counts} : unsigned{f_minmax::values};
  const auto collection = target == GL_HISTOGRAM ? unsigned{c_context::histograms} : unsigned{c_context::minmaxes};
  return m.child(m.context(), collection, static_cast<uint64_t>(target));
}

}  // namespace

void color_table(Machine& m, int64_t target, int64_t format, int64_t width, Array values) {
  Node* n = new_table(m, target, format, width);
  if (!n) return;
  read_unpack(m, values);
  m.set_content(n, f_color_table::content, values.content_hash(), values.bytes);
}
void color_sub_table(Machine& m, int64_t target, int64_t start, int64_t count, Array values) {
  Node* n = table_of(m, target);
  if (!n || start < 0 || count < 0 || start + count > n->get(f_color_table::GL_COLOR_TABLE_WIDTH)) return m.refuse();
  read_unpack(m, values);
  m.read(n, f_color_table::GL_COLOR_TABLE_SCALE);
  m.read(n, f_color_table::GL_COLOR_TABLE_BIAS);
  m.touch_content(n, f_color_table::content);
  m.uploaded(n, f_color_table::content, values.content() ? values.bytes : 0, values.content_hash());
}
void copy_color_table(Machine& m, int64_t target, int64_t format, int64_t width) {
  Node* n = new_table(m, target, format, width);
  if (!n) return;
  read_pixels_of(m, GL_RGBA);
  m.set_content(n, f_color_table::content, Hash128{}, 0);
}
void copy_color_sub_table(Machine& m, int64_t target) {
  Node* n = table_of(m, target);
  if (!n) return m.refuse();
  read_pixels_of(m, GL_RGBA);
  m.touch_content(n, f_color_table::content);
}

void convolution_filter(Machine& m, int64_t target, int64_t format, int64_t width, int64_t height, Array values) {
  Node* n = new_filter(m, target, format, width, height);
  if (!n) return;
  read_unpack(m, values);
  m.set_content(n, f_convolution::content, values.content_hash(), values.bytes);
}
void separable_filter(Machine& m, int64_t target, int64_t format, int64_t width, int64_t height, Array row,
                      Array column) {
  Node* n = new_filter(m, target, format, width, height);
  if (!n) return;
  read_unpack(m, row);
  m.set_content(n, f_convolution::content, row.content_hash(), row.bytes);
  m.touch_content(n, f_convolution::content);  // the column is no part of that hash
  m.uploaded(n, f_convolution::content, column.content() ? column.bytes : 0, column.content_hash());
}
void copy_convolution_filter(Machine& m, int64_t target, int64_t format, int64_t width, int64_t height) {
  Node* n = new_filter(m, target, format, width, height);
  if (!n) return;
  read_pixels_of(m, GL_RGBA);
  m.set_content(n, f_convolution::content, Hash128{}, 0);
}

void imaging_parameter(Machine& m, int64_t target, int64_t pname, Num value) {
  if (Node* n = imaging_node(m, target)) m.set_any(n, prefix_none, static_cast<uint32_t>(pname), 0, {value});
}
void imaging_parameter_v(Machine& m, int64_t target, int64_t pname, Array values) {
  if (Node* n = imaging_node(m, target)) m.set_any(n, prefix_none, static_cast<uint32_t>(pname), 0, values);
}

void histogram(Machine& m, int64_t target, int64_t width, int64_t format, int64_t sink) {
  unsigned content;
  if (is_proxy_table(target)) return;
  if (target != GL_HISTOGRAM || width < 0 || (width & (width - 1))) return m.refuse();
  Node* n = counts_of(m, target, content);
  if (!n) return;
  m.set(n, f_histogram::GL_HISTOGRAM_WIDTH, Num(width));
  m.set(n, f_histogram::GL_HISTOGRAM_FORMAT, Num(format));
  m.set(n, f_histogram::GL_HISTOGRAM_SINK, Num(sink));
  m.set_content(n, content, Hash128{}, 0);
}
void minmax(Machine& m, int64_t target, int64_t format, int64_t sink) {
  unsigned content;
  if (target != GL_MINMAX) return m.refuse();
  Node* n = counts_of(m, target, content);
  if (!n) return;
  m.set(n, f_minmax::GL_MINMAX_FORMAT, Num(format));
  m.set(n, f_minmax::GL_MINMAX_SINK, Num(sink));
  m.set_content(n, content, Hash128{}, 0);
}
void reset_counts(Machine& m, int64_t target) {
  unsigned content;
  if (target != GL_HISTOGRAM && target != GL_MINMAX) return m.refuse();
  if (Node* n = counts_of(m, target, content)) m.set_content(n, content, Hash128{}, 0);
}
void get_counts(Machine& m, int64_t target, int64_t reset) {
  unsigned content;
  if (target != GL_HISTOGRAM && target != GL_MINMAX) return m.refuse();
  Node* n = counts_of(m, target, content);
  if (!n) return;
  m.read_all(n);
  if (reset) m.set_content(n, content, Hash128{}, 0);
}

// The stages that transferred pixels go through, where each is on; histogram and extremes count them.
void read_imaging(Machine& m) {
  Node* c = m.context();
  constexpr struct {
    unsigned on, collection;
    uint64_t key;
  } STEPS[] = {
      {f_context::enabled_GL_COLOR_TABLE, c_context::color_tables, GL_COLOR_TABLE},
      {f_context::enabled_GL_POST_CONVOLUTION_COLOR_TABLE, c_context::color_tables, GL_POST_CONVOLUTION_COLOR_TABLE},
      {f_context::enabled_GL_POST_COLOR_MATRIX_COLOR_TABLE, c_context::color_tables, GL_POST_COLOR_MATRIX_COLOR_TABLE},
      {f_context::enabled_GL_CONVOLUTION_1D, c_context::convolutions, GL_CONVOLUTION_1D},
      {f_context::enabled_GL_CONVOLUTION_2D, c_context::convolutions, GL_CONVOLUTION_2D},
      {f_context::enabled_GL_SEPARABLE_2D, c_context::convolutions, GL_SEPARABLE_2D},
  };
  for (auto& step : STEPS) {
    m.read(c, step.on);
    if (c->get(step.on)) m.read_all(m.find(c, step.collection, step.key));
  }
  for (int64_t target : {GL_HISTOGRAM, GL_MINMAX}) {
    unsigned content;
    const unsigned on = target == GL_HISTOGRAM ? f_context::enabled_GL_HISTOGRAM : f_context::enabled_GL_MINMAX;
    m.read(c, on);
    if (c->get(on))
      if (Node* n = counts_of(m, target, content)) m.touch_content(n, content);
  }
}

}  // namespace dt::state::run
