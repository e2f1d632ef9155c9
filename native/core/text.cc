#include "text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "../common/utf8.h"
#include "structures.h"

namespace dt {
namespace {

constexpr size_t TEXT_ELEMENTS = 16;     // of an array in text
constexpr size_t TEXT_CHARS = 120;       // of a string in text
constexpr uint64_t TEXT_BLOB = 1 << 20;  // longest stored content that is looked up for text
constexpr uint64_t TREE_BLOB = 256 << 20;
constexpr size_t JSON_ELEMENTS = 1024;

template <class T> void put_number(Bytes& out, T v) {
  char* at = out.reserve(32);
  out.advance(static_cast<size_t>(std::to_chars(at, at + 32, v).ptr - at));
}

bool tree_of_blob(Bytes& out, const Trace& trace, const FunctionColumns& columns, const Field& field, uint32_t i,
                  bool json) {
  std::vector<uint8_t> keep;
  const auto content = content_of(trace, columns, field, i, keep, TREE_BLOB);
  if (content) put_tree(out, trace.signatures, field, *content, json, json ? JSON_ELEMENTS : TEXT_ELEMENTS);
  return content.has_value();
}

// Returns the words of an API for true and false.
const char* truth(std::string_view api, bool value) {
  static const struct {
    std::string_view api;
    const char* words[2];
  } spellings[] = {{"gl", {"GL_FALSE", "GL_TRUE"}},
                   {"egl", {"EGL_FALSE", "EGL_TRUE"}},
                   {"glx", {"False", "True"}},
                   {"vg", {"VG_FALSE", "VG_TRUE"}},
                   {"vk", {"VK_FALSE", "VK_TRUE"}}};
  for (auto& spelling : spellings)
    if (spelling.api == api) return spelling.words[value];
  return value ? "true" : "false";
}

template <class T> T load(const char* at) {
  T v;
  memcpy(&v, at, sizeof v);
  return v;
}

}  // namespace

void put_u64(Bytes& out, uint64_t v) { put_number(out, v); }
void put_i64(Bytes& out, int64_t v) { put_number(out, v); }
void put_hex(Bytes& out, uint64_t v) {
  char* at = out.reserve(24);
  at[0] = '0', at[1] = 'x';
  out.advance(static_cast<size_t>(std::to_chars(at + 2, at + 24, v, 16).ptr - at));
}
void put_unnamed(Bytes& out, uint64_t v) {
  if (v < 0x100) return put_u64(out, v);
  char text[24];
  snprintf(text, sizeof text, "0x%04llX", static_cast<unsigned long long>(v));
  out.put(text);
}
void put_f32(Bytes& out, float v) {
  if (v == static_cast<float>(static_cast<int32_t>(std::fabs(v) < 1e6f ? v : 0)) && !std::signbit(v))
    return put_i64(out, static_cast<int32_t>(v));
  put_number(out, v);
}
void put_f64(Bytes& out, double v) {
  if (v == static_cast<double>(static_cast<int32_t>(std::fabs(v) < 1e6 ? v : 0)) && !std::signbit(v))
    return put_i64(out, static_cast<int32_t>(v));
  put_number(out, v);
}
void put_real(Bytes& out, uint64_t bits, bool wide, bool json) {
  const double d = std::bit_cast<double>(bits);
  const float f = std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (json && !(wide ? std::isfinite(d) : std::isfinite(f))) return out.put("null");
  wide ? put_f64(out, d) : put_f32(out, f);
}
void put_address(Bytes& out, uint64_t v, bool json) {
  if (json) return put_u64(out, v);
  v ? put_hex(out, v) : out.put("NULL");
}
void put_utf8(Bytes& out, std::string_view s) {
  each_valid_utf8(s, [&](std::string_view piece) { out.put(piece); });
}
void put_duration(Bytes& out, int64_t ns) {
  char text[48];
  if (ns < 1000)
    snprintf(text, sizeof text, "%lld ns", static_cast<long long>(ns));
  else if (ns < 1000000)
    snprintf(text, sizeof text, "%.2f us", static_cast<double>(ns) / 1e3);
  else if (ns < 1000000000)
    snprintf(text, sizeof text, "%.2f ms", static_cast<double>(ns) / 1e6);
  else
    snprintf(text, sizeof text, "%.2f s", static_cast<double>(ns) / 1e9);
  out.put(text);
}

int64_t integer_value(const Field& field, uint64_t raw) {
  if (!field.wide && field.kind == Kind::i32) return static_cast<int32_t>(raw);
  return static_cast<int64_t>(raw);
}

void put_word(Bytes& out, std::string_view word, bool json) { json ? put_json(out, word) : out.put(word); }

void put_enumerant(Bytes& out, const Signatures& names, const EnumGroup* group, int64_t value, bool json) {
  if (auto* name = names.enum_name(group, value))
    put_word(out, *name, json);
  else
    json ? put_i64(out, value) : put_unnamed(out, static_cast<uint64_t>(value));
}

std::string words_of(const Signatures& names, const Field& field, uint64_t raw) {
  Bytes text;
  if (field.kind == Kind::bitmask)
    put_mask(text, field.group, raw);
  else
    put_enumerant(text, names, field.group, static_cast<int64_t>(raw));
  return std::string(text.view());
}

void put_mask(Bytes& out, const EnumGroup* group, uint64_t value, bool json) {
  if (json) {
    out.put('"');
    put_mask(out, group, value);
    return out.put('"');
  }
  const std::string* exact = group ? group->find(static_cast<int64_t>(value)) : nullptr;
  if (group && !exact && value == UINT32_MAX) exact = group->find(-1);
  if (exact) return out.put(*exact);
  if (!value) return out.put('0');
  bool first = true;
  uint64_t left = value;
  auto part = [&](auto&& put) {
    if (!first) out.put(" | ");
    put();
    first = false;
  };
  if (group)
    for (auto& [name, bits] : group->members) {
      auto b = static_cast<uint64_t>(bits);
      if (!b || (b & (b - 1)) || !(left & b)) continue;
      part([&] { out.put(name); });
      left &= ~b;
    }
  if (left) part([&] { put_hex(out, left); });
}

const Printer::Words& Printer::words(const Function& function) {
  auto& slot = texts_[static_cast<size_t>(function.index)];
  if (!slot) {
    slot = std::make_unique<Words>();
    slot->open = function.name + "(";
    for (size_t i = 0; i < function.params.size(); ++i)
      slot->param.push_back((i ? ", " : "") + function.params[i].name + " = ");
  }
  return *slot;
}

void Printer::scalar(Bytes& out, const Function& function, const Field& field, uint64_t raw, bool json) {
  switch (field.kind) {
    case Kind::i32: put_i64(out, field.wide ? static_cast<int64_t>(raw) : static_cast<int32_t>(raw)); break;
    case Kind::i64: put_i64(out, static_cast<int64_t>(raw)); break;
    case Kind::u32:
    case Kind::u64: put_u64(out, raw); break;
    case Kind::f32:
    case Kind::f64: put_real(out, raw, field.wide, json); break;
    case Kind::boolean: out.put(truth(json ? "" : function.api, raw != 0)); break;
    case Kind::enumeration: put_enumerant(out, trace_.signatures, field.group, static_cast<int64_t>(raw), json); break;
    case Kind::bitmask: put_mask(out, field.group, raw, json); break;
    case Kind::ptr:
    case Kind::handle: put_address(out, raw, json); break;
  }
}

// Puts what stands before item `n` of a list. False: the list ends here, for it is too long.
bool Printer::begin_item(Bytes& out, size_t n, bool json) {
  if (n) out.put(", ");
  if (n != (whole_ ? SIZE_MAX : json ? JSON_ELEMENTS : TEXT_ELEMENTS)) return true;
  out.put(json ? "null" : "…");
  return false;
}

// An integer of a list, by name where it has one.
void Printer::named(Bytes& out, const Field& field, int64_t v, bool json) {
  if (field.data_group && trace_.signatures.enum_name(field.data_group, v))
    put_enumerant(out, trace_.signatures, field.data_group, v, json);
  else
    put_i64(out, v);
}

// An attribute list: names with their values, names that stand alone, and the terminator, which text leaves out.
void Printer::attributes(Bytes& out, const Field& field, std::string_view s, bool json) {
  size_t width = element_bytes(field.element), n = 0;
  auto next = [&] {
    int64_t v = width == 4 ? load<int32_t>(s.data()) : load<int64_t>(s.data());
    s.remove_prefix(width);
    return v;
  };
  out.put(json ? '[' : '{');
  for (; s.size() >= width; ++n) {
    int64_t key = next();
    bool last = s.size() < width;
    if (last && !json) break;
    if (!begin_item(out, n, json)) break;
    named(out, field, key, json);
    if (last || std::find(field.valueless.begin(), field.valueless.end(), key) != field.valueless.end()) continue;
    out.put(json ? ", " : " = ");
    const int64_t v = next();
    const EnumGroup* group = field.value_group(key);
    if (!group)
      put_i64(out, v);
    else if (group->bitmask)
      put_mask(out, group, width == 4 ? static_cast<uint32_t>(v) : static_cast<uint64_t>(v), json);
    else if (group->find(v))
      put_enumerant(out, trace_.signatures, group, v, json);
    else if (width == 4 && group->find(static_cast<uint32_t>(v)))
      put_enumerant(out, trace_.signatures, group, static_cast<uint32_t>(v), json);
    else
      put_i64(out, v);
  }
  out.put(json ? ']' : '}');
}

// One element of an array of numbers or addresses.
void Printer::element(Bytes& out, const Field& field, const char* at, bool json) {
  auto integer = [&](int64_t v) { named(out, field, v, json); };
  switch (field.element) {
    case Element::u8: integer(load<uint8_t>(at)); break;
    case Element::i8: integer(load<int8_t>(at)); break;
    case Element::u16: integer(load<uint16_t>(at)); break;
    case Element::i16: integer(load<int16_t>(at)); break;
    case Element::u32: integer(load<uint32_t>(at)); break;
    case Element::i32: integer(load<int32_t>(at)); break;
    case Element::i64: integer(load<int64_t>(at)); break;
    case Element::u64: put_u64(out, load<uint64_t>(at)); break;
    case Element::ptr: put_address(out, load<uint64_t>(at), json); break;
    case Element::f32: put_real(out, load<uint32_t>(at), false, json); break;
    case Element::f64: put_real(out, load<uint64_t>(at), true, json); break;
    default: break;
  }
}

void Printer::quoted(Bytes& out, std::string_view s, bool json) {
  const bool cut = !json && !whole_ && s.size() > TEXT_CHARS;
  out.put('"');
  put_escaped(out, cut ? s.substr(0, TEXT_CHARS) : s, json);
  out.put(cut ? "…\"" : "\"");
}

void Printer::array(Bytes& out, const Field& field, std::string_view s, bool json) {
  size_t width = element_bytes(field.element);
  if (field.element == Element::attribs32 || field.element == Element::attribs64)
    return attributes(out, field, s, json);
  if (field.element == Element::chars) {
    if (!s.empty() && s.back() == '\0') s.remove_suffix(1);
    return quoted(out, s, json);
  }
  out.put(json ? '[' : '{');
  size_t n = 0;
  if (field.element == Element::strings) {
    for (; s.size() >= 4; ++n) {
      uint32_t length = load<uint32_t>(s.data());
      s.remove_prefix(4);
      if (length > s.size()) break;
      if (!begin_item(out, n, json)) break;
      quoted(out, s.substr(0, length), json);
      s.remove_prefix(length);
    }
  } else if (width) {
    for (; s.size() >= width; s.remove_prefix(width), ++n) {
      if (!begin_item(out, n, json)) break;
      element(out, field, s.data(), json);
    }
  }
  out.put(json ? ']' : '}');
}

// Text is shown as text wherever it is stored; numbers and images beyond the inline limit are shown by their hash.
bool Printer::words_of_blob(Bytes& out, const FunctionColumns& columns, const Field& field, uint32_t i) {
  if (is_tree(field) && !whole_) return tree_of_blob(out, trace_, columns, field, i, false);
  if (field.element != Element::chars && field.element != Element::strings) return false;
  std::vector<uint8_t> keep;
  const auto content = content_of(trace_, columns, field, i, keep, TEXT_BLOB);
  if (content) array(out, field, *content, false);
  return content.has_value();
}

void Printer::value(Bytes& out, const FunctionColumns& columns, const Field& field, uint32_t i) {
  uint64_t raw = columns.raw(field, i);
  if (!field.has_data()) return scalar(out, *columns.function, field, raw, false);
  uint64_t descriptor = columns.descriptor(field, i);
  bool pointer = field.kind == Kind::ptr || field.kind == Kind::handle;
  switch (DT_DATA_KIND(descriptor)) {
    case DT_DATA_INLINE:
      if (is_tree(field) && !whole_) {
        put_tree(out, trace_.signatures, field, columns.payload(field, i), false, TEXT_ELEMENTS);
      } else if (is_opaque(field.element) && whole_) {
        out.put("hex(");
        for (unsigned char byte : columns.payload(field, i))
          out.put("0123456789abcdef"[byte >> 4]), out.put("0123456789abcdef"[byte & 15]);
        out.put(')');
      } else if (is_opaque(field.element)) {
        out.put("blob(");
        put_u64(out, DT_DATA_LENGTH(descriptor));
        out.put(" bytes)");
      } else {
        array(out, field, columns.payload(field, i), false);
      }
      break;
    case DT_DATA_BLOB:
      if (words_of_blob(out, columns, field, i)) break;
      out.put("blob(");
      if (whole_) {
        out.put(hash_text(columns.hash(field, i)));
        out.put(')');
        break;
      }
      put_u64(out, DT_DATA_LENGTH(descriptor));
      out.put(" bytes, ");
      out.put(std::string_view(hash_text(columns.hash(field, i))).substr(0, 8));
      out.put("…)");
      break;
    case DT_DATA_PENDING: out.put('?'); break;
    case DT_DATA_FAULT:
      put_hex(out, raw);
      out.put(" /* unreadable */");
      break;
    default: pointer ? scalar(out, *columns.function, field, raw, false) : put_hex(out, raw);
  }
}

void Printer::result(Bytes& out, const FunctionColumns& columns, uint32_t i) {
  if (columns.function && columns.function->result) value(out, columns, *columns.function->result, i);
}

void Printer::call(Bytes& out, OpenChunk& chunk, uint32_t record) {
  uint16_t f = chunk.order()[record];
  const FunctionColumns& columns = chunk.columns(f);
  if (!columns.function) {
    out.put("function");
    put_u64(out, chunk.info.functions[f].id());
    out.put("(?)");
    return;
  }
  auto& w = words(*columns.function);
  uint32_t i = chunk.ordinals()[record];
  out.put(w.open);
  for (size_t p = 0; p < w.param.size(); ++p) {
    out.put(w.param[p]);
    value(out, columns, columns.function->params[p], i);
  }
  out.put(')');
  if (columns.function->result) {
    out.put(" = ");
    if (chunk.durations()[record] == DT_IN_FLIGHT)
      out.put('?');
    else
      value(out, columns, *columns.function->result, i);
  }
}

void Printer::value_json(Bytes& out, const FunctionColumns& columns, const Field& field, uint32_t i) {
  uint64_t raw = columns.raw(field, i);
  if (!field.has_data()) return scalar(out, *columns.function, field, raw, true);
  uint64_t descriptor = columns.descriptor(field, i);
  switch (DT_DATA_KIND(descriptor)) {
    case DT_DATA_INLINE:
      if (is_tree(field)) {
        put_tree(out, trace_.signatures, field, columns.payload(field, i), true, JSON_ELEMENTS);
      } else if (!is_opaque(field.element) &&
                 (field.element == Element::chars || columns.payload(field, i).size() <= JSON_ELEMENTS * 8)) {
        array(out, field, columns.payload(field, i), true);
      } else {
        JsonWriter(out).object().put("bytes", DT_DATA_LENGTH(descriptor)).end();
      }
      break;
    case DT_DATA_BLOB:
      if (is_tree(field) && tree_of_blob(out, trace_, columns, field, i, true)) break;
      JsonWriter(out)
          .object()
          .put("blob", hash_text(columns.hash(field, i)))
          .put("bytes", DT_DATA_LENGTH(descriptor))
          .end();
      break;
    case DT_DATA_PENDING: out.put("null"); break;
    default: raw ? put_u64(out, raw) : out.put("null");
  }
}

void Printer::params_json(Bytes& out, const FunctionColumns& columns, uint32_t i) {
  JsonWriter json(out);
  json.object();
  if (columns.function)
    for (auto& param : columns.function->params)
      json.key(param.name).by([&](Bytes&) { value_json(out, columns, param, i); });
  json.end();
}

Attributes parse_attributes(std::string_view text) {
  Attributes words;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(';'));
    if (const size_t equals = part.find('='); equals != part.npos)
      words[std::string(part.substr(0, equals))] = part.substr(equals + 1);
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  return words;
}

}  // namespace dt
