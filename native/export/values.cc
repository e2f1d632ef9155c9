// Arguments as C expressions.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "exporter.h"
#include "egl_enums.h"
#include "gl_enums.h"
#include "numbers.h"

namespace dt::c {
namespace {

constexpr size_t MOST_ELEMENTS = 64;  // of an array that is written out
constexpr size_t ELEMENTS_A_LINE = 8;
constexpr uint64_t MOST_SCRATCH = 1ull << 31;
constexpr uint64_t SCRATCH_STEP = 1 << 16;  // between the arrays that one call writes

// Types that headers may lack, by what they are.
const std::pair<const char*, const char*> g_plain_types[] = {
    {"GLhandleARB", "GLuint"},
    {"GLcharARB", "GLchar"},
    {"GLintptrARB", "GLintptr"},
    {"GLsizeiptrARB", "GLsizeiptr"},
    {"GLint64EXT", "GLint64"},
    {"GLuint64EXT", "GLuint64"},
    {"GLfixed", "GLint"},
    {"GLclampx", "GLint"},
    {"GLhalfNV", "GLushort"},
    {"GLhalf", "GLushort"},
    {"GLclampf", "GLfloat"},
    {"GLclampd", "GLdouble"},
    {"GLeglImageOES", "void *"},
    {"GLeglClientBufferEXT", "void *"},
    {"GLvdpauSurfaceNV", "GLintptr"},
};
std::string plain_type(const std::string& word) {
  for (auto& [from, to] : g_plain_types)
    if (word == from) return to;
  if (word.starts_with("GLDEBUGPROC") || word.starts_with("GLVULKANPROC")) return "void *";
  return word;
}
std::string plain_ctype(const std::string& ctype) {
  std::string out;
  for (size_t at = 0; at < ctype.size();) {
    size_t end = at;
    while (end < ctype.size() && (isalnum(static_cast<unsigned char>(ctype[end])) || ctype[end] == '_')) ++end;
    if (end == at) {
      out += ctype[at++];
    } else {
      out += plain_type(ctype.substr(at, end - at));
      at = end;
    }
  }
  return ctype.find("struct ") != ctype.npos ? "void *" : out;
}

using Component = Exporter::Component;
Component component(uint64_t type) {
  switch (type) {
    case GL_BYTE: return {"GLbyte", 1, false};
    case GL_SHORT: return {"GLshort", 2, false};
    case GL_UNSIGNED_SHORT:
    case GL_UNSIGNED_SHORT_4_4_4_4:
    case GL_UNSIGNED_SHORT_5_5_5_1:
    case GL_UNSIGNED_SHORT_5_6_5:
    case GL_UNSIGNED_SHORT_5_6_5_REV:
    case GL_UNSIGNED_SHORT_4_4_4_4_REV:
    case GL_UNSIGNED_SHORT_1_5_5_5_REV:
    case GL_HALF_FLOAT:
    case GL_HALF_FLOAT_OES: return {"GLushort", 2, false};
    case GL_INT: return {"GLint", 4, false};
    case GL_UNSIGNED_INT:
    case GL_UNSIGNED_INT_8_8_8_8:
    case GL_UNSIGNED_INT_10_10_10_2:
    case GL_UNSIGNED_INT_8_8_8_8_REV:
    case GL_UNSIGNED_INT_2_10_10_10_REV:
    case GL_UNSIGNED_INT_24_8:
    case GL_UNSIGNED_INT_10F_11F_11F_REV:
    case GL_UNSIGNED_INT_5_9_9_9_REV: return {"GLuint", 4, false};
    case GL_FLOAT: return {"GLfloat", 4, true};
    default: return {"GLubyte", 1, false};
  }
}

// Returns whether words look like numbers that a program would write.
bool looks_float(std::string_view s) {
  if (s.size() % 4 || s.empty()) return false;
  for (size_t i = 0; i + 4 <= s.size(); i += 4) {
    auto word = bits<uint32_t>(s.data() + i);
    uint32_t exponent = word >> 23 & 0xff;
    if (word != 0 && word != 0x80000000u && (exponent < 127 - 30 || exponent > 127 + 20)) return false;
  }
  return true;
}

}  // namespace

std::string Exporter::enumerant(const EnumGroup* group, int64_t value) {
  if (auto* name = trace_.signatures.enum_name(group, value);
      name && is_name(*name) && (name->starts_with("GL_") || name->starts_with("EGL_") || name->starts_with("VG"))) {
    enums_.emplace(*name, value);
    return *name;
  }
  return value >= 0 && value < 256 ? std::to_string(value) : hex(static_cast<uint64_t>(value) & 0xffffffffu);
}

std::string Exporter::mask(const EnumGroup* group, uint64_t value) {
  if (group)
    for (int64_t whole : {static_cast<int64_t>(value), value == UINT32_MAX ? int64_t{-1} : static_cast<int64_t>(value)})
      if (auto* exact = group->find(whole); exact && is_name(*exact)) {
        enums_.emplace(*exact, static_cast<int64_t>(value));
        return *exact;
      }
  std::string out;
  uint64_t left = value;
  if (group)
    for (auto& [name, bits] : group->members) {
      auto b = static_cast<uint64_t>(bits);
      if (!b || (b & (b - 1)) || !(left & b) || !is_name(name)) continue;
      out += (out.empty() ? "" : " | ") + name;
      enums_.emplace(name, bits);
      left &= ~b;
    }
  if (left || out.empty()) out += (out.empty() ? "" : " | ") + (left ? hex(left) : std::string("0"));
  return out;
}

std::string Exporter::name_of(const Call& call, std::string_view object, uint64_t name) {
  const ObjectClass* c = object_class(object, call.function.name);
  if (!c) return unsigned_text(name);
  return names_.number(*c, group_of(call.context), call.context, name);
}

// Parameters that are plain numbers to the signature and constants to people: what textures and samplers are set to.
static const char* parameter_name(const Call& call, int32_t value) {
  static const Constants named =
      CONSTANTS(GL_TEXTURE_MAG_FILTER, GL_TEXTURE_MIN_FILTER, GL_TEXTURE_WRAP_S, GL_TEXTURE_WRAP_T, GL_TEXTURE_WRAP_R,
                GL_TEXTURE_COMPARE_MODE, GL_TEXTURE_COMPARE_FUNC, GL_TEXTURE_SWIZZLE_R, GL_TEXTURE_SWIZZLE_G,
                GL_TEXTURE_SWIZZLE_B, GL_TEXTURE_SWIZZLE_A, GL_TEXTURE_ENV_MODE, GL_DEPTH_STENCIL_TEXTURE_MODE);
  static const Constants names =
      CONSTANTS(GL_NEAREST, GL_LINEAR, GL_NEAREST_MIPMAP_NEAREST, GL_LINEAR_MIPMAP_NEAREST, GL_NEAREST_MIPMAP_LINEAR,
                GL_LINEAR_MIPMAP_LINEAR, GL_CLAMP, GL_REPEAT, GL_CLAMP_TO_BORDER, GL_CLAMP_TO_EDGE, GL_MIRRORED_REPEAT,
                GL_COMPARE_REF_TO_TEXTURE, GL_NEVER, GL_LESS, GL_EQUAL, GL_LEQUAL, GL_GREATER, GL_NOTEQUAL, GL_GEQUAL,
                GL_ALWAYS, GL_RED, GL_GREEN, GL_BLUE, GL_ALPHA, GL_MODULATE, GL_DECAL, GL_BLEND, GL_REPLACE, GL_ADD,
                GL_COMBINE, GL_DEPTH_COMPONENT, GL_STENCIL_INDEX);
  if (!call.field("pname") || !named.count(static_cast<int64_t>(call.raw("pname")))) return nullptr;
  auto it = names.find(value);
  return it == names.end() ? nullptr : it->second.c_str();
}

std::string Exporter::scalar(const Call& call, const Field& field, uint64_t raw) {
  if (call.function.api == "vg")
    if (std::string text = vector_scalar(call, field, raw); !text.empty()) return text;
  if (!field.object_class.empty()) {
    if (field.object_class == "sync")
      return raw ? names_.handle("sync", call.function.api == "gl" ? "GLsync" : "EGLSync", raw, false) : "NULL";
    if (field.object_class == "image" && call.function.api != "vg")
      return raw ? names_.handle("image", "EGLImage", raw, false) : "NULL";
    if (object_class(field.object_class, call.function.name)) return name_of(call, field.object_class, raw);
  }
  switch (field.kind) {
    case Kind::i32:
      if (field.name == "location" && !field.wide) return location(call, field, raw);
      if (field.name == "param" && !field.wide)
        if (const char* name = parameter_name(call, static_cast<int32_t>(raw))) {
          enums_.emplace(name, static_cast<int32_t>(raw));
          return name;
        }
      return signed_text(field.wide ? static_cast<int64_t>(raw) : static_cast<int32_t>(raw));
    case Kind::i64: return signed_text(static_cast<int64_t>(raw));
    case Kind::u32:
      if (field.name == "uniformBlockIndex" || field.name == "storageBlockIndex") return location(call, field, raw);
      [[fallthrough]];
    case Kind::u64: return unsigned_text(raw);
    case Kind::f32: return f32_text(static_cast<uint32_t>(raw));
    case Kind::f64: return field.wide ? f64_text(raw) : f32_text(static_cast<uint32_t>(raw));
    case Kind::boolean: return raw == 1 ? "GL_TRUE" : raw ? std::to_string(raw) : "GL_FALSE";
    case Kind::enumeration: return enumerant(field.group, static_cast<int64_t>(raw));
    case Kind::bitmask: return mask(field.group, raw);
    case Kind::ptr: return pointer(call, field, raw);
    case Kind::handle:
      if (!raw) return "NULL";
      if (field.ctype == "GLeglImageOES") {
        if (names_.knows("image", raw)) return names_.handle("image", "EGLImage", raw, false);
        skip_ = field.name + " was made of something that is left out";
        return "NULL";
      }
      skip_ = field.name + " is a handle of the program's own";
      return "NULL";
  }
  return "0";
}

std::string Exporter::location(const Call& call, const Field& field, uint64_t raw) {
  uint64_t program = call.field("program") ? call.raw("program") : states_[call.context].program;
  auto it = locations_.find(program_key(call, program) + (field.name == "location" ? "l" : "b") +
                            std::to_string(static_cast<int32_t>(raw)));
  if (it != locations_.end()) return it->second;
  return field.name == "location" ? signed_text(static_cast<int32_t>(raw)) : unsigned_text(raw);
}

std::string Exporter::address_text(uint64_t address, Region& r) {
  std::string name = "client_" + std::to_string(static_cast<size_t>(&r - regions_.data()));
  return address == r.begin ? name : "(char *)" + name + " + " + std::to_string(address - r.begin);
}

std::string Exporter::pointer(const Call& call, const Field& field, uint64_t address) {
  if (!address) return "NULL";
  bool setup = call.function.flags & FLAG_DRAW_SETUP;
  bool memory = setup ? states_[call.context].bound[GL_ARRAY_BUFFER] == 0 : true;
  std::string cast = "(" + plain_ctype(field.ctype) + ")";
  if (memory)
    if (Region* r = region(address))
      return address == r->begin && !setup ? cast + address_text(address, *r) : address_text(address, *r);
  if (!memory || address < 65536) return cast + std::to_string(address);
  if (setup) return "client_unused";  // no recorded draw reads it
  skip_ = field.name + " points to memory that was not recorded";
  return "NULL";
}

std::string Exporter::elements(const Call& call, const Field& field, std::string_view s, const std::string& type,
                               size_t width, bool floats) {
  std::string out = "(const " + type + "[]){";
  bool names = !field.object_class.empty() && object_class(field.object_class, call.function.name) && width == 4;
  bool is_signed = field.element == Element::i8 || field.element == Element::i16 || field.element == Element::i32 ||
                   field.element == Element::i64 || type == "GLbyte" || type == "GLshort" || type == "GLint" ||
                   type == "VGbyte" || type == "VGshort" || type == "VGint";
  size_t n = s.size() / width;
  for (size_t i = 0; i < n; ++i) {
    const char* at = s.data() + i * width;
    if (i)
      out += n > ELEMENTS_A_LINE * 2 && i % ELEMENTS_A_LINE == 0 ? ",\n      " : ", ";
    else if (n > ELEMENTS_A_LINE * 2)
      out += "\n      ";
    if (floats) {
      out += width == 8 ? f64_text(bits<uint64_t>(at)) : f32_text(bits<uint32_t>(at));
      continue;
    }
    uint64_t v = width == 1   ? bits<uint8_t>(at)
                 : width == 2 ? bits<uint16_t>(at)
                 : width == 4 ? bits<uint32_t>(at)
                              : bits<uint64_t>(at);
    int64_t sv = width == 1   ? bits<int8_t>(at)
                 : width == 2 ? bits<int16_t>(at)
                 : width == 4 ? bits<int32_t>(at)
                              : bits<int64_t>(at);
    if (names)
      out += name_of(call, field.object_class, v);
    else if (field.data_group && trace_.signatures.enum_name(field.data_group, static_cast<int64_t>(v)))
      out += enumerant(field.data_group, static_cast<int64_t>(v));
    else
      out += is_signed ? signed_text(sv) : unsigned_text(v);
  }
  return out + "}";
}

std::vector<int64_t> Exporter::list(const Call& call, const char* name) const {
  const Field* f = call.field(name);
  auto out = f ? call.columns.numbers(*f, call.row) : std::vector<int64_t>();
  if (out.size() % 2) out.pop_back();  // the terminator
  return out;
}

std::string Exporter::attributes(const Field& field, const std::vector<int64_t>& list, const char* type) {
  std::string out = std::string("(const ") + type + "[]){";
  for (size_t i = 0; i + 1 < list.size(); i += 2) {
    // Attributes from GLX have no group of EGL's names.
    static const Constants context_names = CONSTANTS(EGL_CONTEXT_MAJOR_VERSION, EGL_CONTEXT_MINOR_VERSION,
                                                     EGL_CONTEXT_FLAGS_KHR, EGL_CONTEXT_OPENGL_PROFILE_MASK);
    auto known = context_names.find(list[i]);
    out += (field.data_group || known == context_names.end() ? enumerant(field.data_group, list[i]) : known->second) +
           ", ";
    const EnumGroup* group = field.value_group(list[i]);
    if (list[i] == EGL_CONTEXT_OPENGL_PROFILE_MASK && (list[i + 1] == 1 || list[i + 1] == 2))
      out += list[i + 1] == 1 ? "EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT" : "EGL_CONTEXT_OPENGL_COMPATIBILITY_PROFILE_BIT";
    else if (group && group->bitmask && list[i + 1] > 0)
      out += mask(group, static_cast<uint64_t>(list[i + 1]));
    else if (group && group->find(list[i + 1]))
      out += enumerant(group, list[i + 1]);
    else
      out += signed_text(list[i + 1]);
    out += ", ";
  }
  return out + "EGL_NONE}";
}

std::string Exporter::array(const Call& call, const Field& field, std::string_view s) {
  size_t width = element_bytes(field.element);
  if (field.element == Element::chars) {
    if (!s.empty() && s.back() == '\0') s.remove_suffix(1);
    return quoted(s);
  }
  if (field.element == Element::strings) {
    std::string out = "(const GLchar *const[]){";
    for (size_t n = 0; s.size() >= 4; ++n) {
      auto length = bits<uint32_t>(s.data());
      s.remove_prefix(4);
      if (length > s.size()) break;
      out += (n ? ", " : "") + quoted(s.substr(0, length));
      s.remove_prefix(length);
    }
    std::string cast = field.ctype.find("const *") == field.ctype.npos ? "(" + plain_ctype(field.ctype) + ")" : "";
    return cast + out + "}";
  }
  if (field.element == Element::ptr) {
    std::string out = "(const void *const[]){";
    for (size_t i = 0; i + 8 <= s.size(); i += 8) {
      auto address = bits<uint64_t>(s.data() + i);
      Region* r = region(address);
      out += (i ? ", " : "") + (r         ? address_text(address, *r)
                                : address ? "(void *)" + std::to_string(address)
                                          : "NULL");
    }
    return "(" + plain_ctype(field.ctype) + ")" + out + "}";
  }
  std::string type = plain_type(base_type(field.ctype));
  bool floats = field.element == Element::f32 || field.element == Element::f64;
  if (!width || is_opaque(field.element) || type.empty()) {
    const Field* typed = call.field("type");
    Component c = typed && typed->kind == Kind::enumeration ? component(call.raw("type"))
                  : looks_float(s)                          ? Component{"GLfloat", 4, true}
                                                            : Component{"GLubyte", 1, false};
    if (call.function.api == "vg") c = vector_component(call, field, s.size());
    if (s.size() % c.width) c = {"GLubyte", 1, false};
    type = c.type;
    width = c.width;
    floats = c.floats;
  } else if (field.element == Element::bytes) {
    width = 1;
  }
  bool named = !field.object_class.empty() && object_class(field.object_class, call.function.name);
  if (s.size() / width <= MOST_ELEMENTS || named) return elements(call, field, s, type, width, floats);
  std::string name = data_.add(s, type + " for " + call.function.name + " (call " + std::to_string(call.seq) + ")");
  return base_type(field.ctype).empty() ? name : "(const " + type + " *)" + name;
}

std::string Exporter::out(const Call& call, const Field& field, uint64_t descriptor) {
  uint64_t raw = call.columns.raw(field, call.row);
  unsigned kind = DT_DATA_KIND(descriptor);
  std::string type = plain_ctype(field.ctype);
  if (kind == DT_DATA_NONE && !raw) return "NULL";
  if (kind == DT_DATA_OFFSET) return "(" + type + ")" + std::to_string(raw);
  if (kind == DT_DATA_UNKNOWN || kind == DT_DATA_FAULT) {
    skip_ = "how much it writes to " + field.name + " is not known";
    return "NULL";
  }
  uint64_t bytes = std::max(DT_DATA_LENGTH(descriptor), SCRATCH_STEP);
  for (auto word : {"bufSize", "maxLength", "bufsize", "maxCount", "bufferSize"})
    if (call.field(word)) bytes = std::max<uint64_t>(bytes, (call.raw(word) & 0x7fffffff) * 8);
  if (bytes > MOST_SCRATCH) {
    skip_ = "it writes more than can be to " + field.name;
    return "NULL";
  }
  uint64_t at = scratch_used_;
  scratch_used_ += (bytes + 15) & ~15ull;
  if (type == "void *") return vector_rows(call, field, at ? "(char *)scratch + " + std::to_string(at) : "scratch");
  return "(" + type + ")" + (at ? "((char *)scratch + " + std::to_string(at) + ")" : "scratch");
}

std::string Exporter::value(const Call& call, const Field& field) {
  uint64_t raw = call.columns.raw(field, call.row);
  if (!field.has_data()) return scalar(call, field, raw);
  uint64_t descriptor = call.columns.descriptor(field, call.row);
  if (field.out) return out(call, field, descriptor);
  switch (DT_DATA_KIND(descriptor)) {
    case DT_DATA_INLINE: return vector_rows(call, field, array(call, field, call.columns.payload(field, call.row)));
    case DT_DATA_BLOB: {
      if (field.element == Element::chars || field.element == Element::strings || field.element == Element::ptr ||
          !field.object_class.empty()) {
        auto content = trace_.blob(call.columns.hash(field, call.row));
        return array(call, field, {reinterpret_cast<const char*>(content.data()), content.size()});
      }
      std::string type = base_type(field.ctype);
      std::string name = data_.add(call.columns.hash(field, call.row), trace_,
                                   (type.empty() ? std::string("") : type + " ") + "for " + call.function.name +
                                       " (call " + std::to_string(call.seq) + ")");
      return type.empty() ? vector_rows(call, field, name) : "(const " + plain_type(type) + " *)" + name;
    }
    case DT_DATA_NONE: return raw ? pointer(call, field, raw) : "NULL";
    case DT_DATA_OFFSET: {
      Region* r = region(raw);
      return "(" + plain_ctype(field.ctype) + ")" +
             (r && raw >= 65536 ? "(" + address_text(raw, *r) + ")" : std::to_string(raw));
    }
    default: return pointer(call, field, raw);
  }
}

std::string Exporter::prototype(const Function& f, const std::string& name) const {
  std::string text = (f.result ? plain_ctype(f.result->ctype) : "void") + " (PLAY_CALL *" + name + ")(";
  for (size_t i = 0; i < f.params.size(); ++i) {
    // Not every header has the types of call-backs.
    bool callback = f.params[i].ctype.starts_with("GLDEBUGPROC") && f.params[i].ctype != "GLDEBUGPROCAMD";
    text += (i ? ", " : "") + (callback ? "play_debug_callback" : plain_ctype(f.params[i].ctype));
  }
  return text + (f.params.empty() ? "void)" : ")");
}

}  // namespace dt::c
