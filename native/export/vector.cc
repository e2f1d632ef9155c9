// OpenVG: its contexts and surfaces, what its handles are, and rows of pixels that run backwards.
#include <cstring>

#include "exporter.h"
#include "egl_enums.h"
#include "numbers.h"
#include "vg_enums.h"

namespace dt::c {
namespace {

// Bits of a pixel in a VGImageFormat; the upper bits are the order of channels.
uint64_t pixel_bits(uint64_t format) {
  switch (format & 0x3f) {
    case 3:
    case 4:
    case 5: return 16;
    case 6:
    case 10:
    case 11: return 8;
    case 12:
    case 13: return 1;
    case 14: return 4;
    default: return 32;
  }
}

// Values of vgSeti and vgSetParameteri that are plain numbers to the signature and constants to people.
const char* value_name(uint64_t type, uint64_t value) {
  static const Constants names = CONSTANTS(
      VG_MATRIX_PATH_USER_TO_SURFACE, VG_MATRIX_IMAGE_USER_TO_SURFACE, VG_MATRIX_FILL_PAINT_TO_USER,
      VG_MATRIX_STROKE_PAINT_TO_USER, VG_MATRIX_GLYPH_USER_TO_SURFACE, VG_EVEN_ODD, VG_NON_ZERO,
      VG_RENDERING_QUALITY_NONANTIALIASED, VG_RENDERING_QUALITY_FASTER, VG_RENDERING_QUALITY_BETTER, VG_BLEND_SRC,
      VG_BLEND_SRC_OVER, VG_BLEND_DST_OVER, VG_BLEND_SRC_IN, VG_BLEND_DST_IN, VG_BLEND_MULTIPLY, VG_BLEND_SCREEN,
      VG_BLEND_DARKEN, VG_BLEND_LIGHTEN, VG_BLEND_ADDITIVE, VG_DRAW_IMAGE_NORMAL, VG_DRAW_IMAGE_MULTIPLY,
      VG_DRAW_IMAGE_STENCIL, VG_CAP_BUTT, VG_CAP_ROUND, VG_CAP_SQUARE, VG_JOIN_MITER, VG_JOIN_ROUND, VG_JOIN_BEVEL,
      VG_PAINT_TYPE_COLOR, VG_PAINT_TYPE_LINEAR_GRADIENT, VG_PAINT_TYPE_RADIAL_GRADIENT, VG_PAINT_TYPE_PATTERN,
      VG_COLOR_RAMP_SPREAD_PAD, VG_COLOR_RAMP_SPREAD_REPEAT, VG_COLOR_RAMP_SPREAD_REFLECT, VG_TILE_FILL, VG_TILE_PAD,
      VG_TILE_REPEAT, VG_TILE_REFLECT);
  // Lengths are numbers, switches are on or off.
  if (type == VG_STROKE_LINE_WIDTH || type == VG_STROKE_MITER_LIMIT || type == VG_STROKE_DASH_PHASE ||
      type == VG_FILTER_CHANNEL_MASK)
    return nullptr;
  for (uint64_t name : {VG_STROKE_DASH_PHASE_RESET, VG_MASKING, VG_SCISSORING, VG_FILTER_FORMAT_LINEAR,
                        VG_FILTER_FORMAT_PREMULTIPLIED, VG_COLOR_TRANSFORM, VG_PAINT_COLOR_RAMP_PREMULTIPLIED})
    if (type == name) return value == 0 ? "VG_FALSE" : value == 1 ? "VG_TRUE" : nullptr;
  auto it = names.find(static_cast<int64_t>(value));
  return it == names.end() ? nullptr : it->second.c_str();
}

}  // namespace

void Exporter::switch_to_vector(uint32_t thread) {
  const Current& wanted = threads_[thread].vector;
  if (wanted == emitted_vector_ || !wanted.context) return;
  use_api(EGL_OPENVG_API);
  line("eglMakeCurrent(display, " + surface_name(wanted.draw) + ", " + surface_name(wanted.draw) + ", " +
       context_name(wanted.context) + "); /* thread " + std::to_string(thread) + " */");
  emitted_vector_ = wanted;
}

// OpenVG has a current context of its own. The bound API says which of the two is let go.
bool Exporter::make_vector_current(const Call& call, const Current& wanted) {
  ThreadState& t = threads_[call.thread];
  if (call.function.name == "eglReleaseThread") {
    t.vector = {};
    return false;
  }
  auto api = context_apis_.find(wanted.context);
  const bool ours =
      call.function.api == "egl" &&
      (wanted.context ? api != context_apis_.end() && api->second == EGL_OPENVG_API : t.api == EGL_OPENVG_API);
  if (!ours) return false;
  t.vector = wanted;
  if (collecting_ || wanted == emitted_vector_) return true;
  use_api(EGL_OPENVG_API);
  line("eglMakeCurrent(display, " + surface_name(wanted.draw) + ", " + surface_name(wanted.draw) + ", " +
       context_name(wanted.context) + ");");
  emitted_vector_ = wanted;
  return true;
}

std::string Exporter::vector_image(const Call& call) {
  return names_.number(*object_class("vector image", ""), group_of(threads_[call.thread].vector_id), 0,
                       call.raw("buffer") & 0xffffffffu);
}

bool Exporter::create_image_surface(const Call& call) {
  if (!call.result() || collecting_) return true;
  if (call.raw("buftype") != EGL_OPENVG_IMAGE) {
    line("/* " + call.function.name + ": other buffers than images of OpenVG are left out */");
    ++left_out_[call.function.name];
    return true;
  }
  switch_to_vector(call.thread);
  std::string chosen = config(call.raw("config"), call.seq);
  std::string image = vector_image(call), name = names_.handle("surface", "EGLSurface", call.result(), true);
  surfaces_.insert(call.result());
  line(name + " = eglCreatePbufferFromClientBuffer(display, EGL_OPENVG_IMAGE, (EGLClientBuffer)(size_t)" + image +
       ", " + chosen + ", NULL);");
  return true;
}

std::string Exporter::vector_scalar(const Call& call, const Field& field, uint64_t raw) {
  if (field.kind == Kind::boolean) return raw == 1 ? "VG_TRUE" : raw ? std::to_string(raw) : "VG_FALSE";
  if (field.ctype == "VGeglImageKHR") {
    if (names_.knows("image", raw)) return names_.handle("image", "EGLImage", raw, false);
    if (raw) skip_ = field.name + " was made of something that is left out";
    return "NULL";
  }
  // Handles of any kind are what they were made as.
  if (field.ctype == "VGHandle" && field.object_class.empty()) {
    auto it = vector_objects_.find({group_of(call.context, 0), raw & 0xffffffffu});
    return it == vector_objects_.end() ? "" : name_of(call, it->second, raw & 0xffffffffu);
  }
  const Field* type = call.field("type") ? call.field("type") : call.field("paramType");
  if (field.name == "value" && field.kind == Kind::i32 && type) {
    const char* name = value_name(call.columns.raw(*type, call.row) & 0xffffffffu, raw & 0xffffffffu);
    if (name && strncmp(name, "VG_TRUE", 7) && strncmp(name, "VG_FALSE", 8))
      enums_.emplace(name, static_cast<int64_t>(raw & 0xffffffffu));
    return name ? name : "";
  }
  return "";
}

// Engines want arrays where their elements can stand: coordinates by the type of the path, pixels by words.
Exporter::Component Exporter::vector_component(const Call& call, const Field& field, size_t bytes) const {
  constexpr Component WORDS{"VGuint", 4, false}, HALVES{"VGushort", 2, false}, BYTES{"VGubyte", 1, false};
  if (field.name == "pathData") {
    constexpr Component TYPES[] = {
        {"VGbyte", 1, false}, {"VGshort", 2, false}, {"VGint", 4, false}, {"VGfloat", 4, true}};
    auto it = path_types_.find({group_of(call.context, 0), call.raw("dstPath") & 0xffffffffu});
    if (it != path_types_.end() && it->second < std::size(TYPES)) return TYPES[it->second];
  }
  return bytes % 4 == 0 ? WORDS : bytes % 2 == 0 ? HALVES : BYTES;
}

// All rows but the first lie in front of the pointer where the stride is negative.
std::string Exporter::vector_rows(const Call& call, const Field& field, std::string text) {
  if (field.name != "data" || !call.field("dataStride")) return text;
  auto stride = static_cast<int32_t>(call.raw("dataStride")), height = static_cast<int32_t>(call.raw("height"));
  if (stride >= 0 || height <= 1) return text;
  return "(char *)" + text + " + " + std::to_string(static_cast<int64_t>(height - 1) * -static_cast<int64_t>(stride));
}

// Returns whether all bytes of the read content are pixels: bytes between rows are the program's.
bool Exporter::whole_rows(const Call& call, uint64_t bytes) const {
  if (!call.field("dataStride")) return true;
  auto stride = static_cast<int32_t>(call.raw("dataStride")), width = static_cast<int32_t>(call.raw("width")),
       height = static_cast<int32_t>(call.raw("height"));
  if (width <= 0 || height <= 0) return false;
  const uint64_t bits = static_cast<uint64_t>(width) * pixel_bits(call.raw("dataFormat"));
  const uint64_t step = static_cast<uint64_t>(stride < 0 ? -static_cast<int64_t>(stride) : stride);
  return bits % 8 == 0 && (step == bits / 8 || height == 1) && bytes == bits / 8 * static_cast<uint64_t>(height);
}

}  // namespace dt::c
