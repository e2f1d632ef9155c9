// Signatures and values as apitrace writes them.
#include "apitrace_calls.h"
#include "gl_enums.h"
#include "interleaved.h"

namespace dt::peers::to_apitrace {

// ---- signatures ---------------------------------------------------------------------------------

uint32_t Export::signature(const std::string& name, const std::vector<std::string>& arguments) {
  const auto [it, fresh] = by_name_.emplace(name, static_cast<uint32_t>(signatures_.size()));
  if (fresh) signatures_.push_back({it->second, name, arguments});
  return it->second;
}

uint32_t Export::signature(const Function& function) {
  const auto index = static_cast<size_t>(function.index);
  if (of_function_.size() <= index) of_function_.resize(index + 1, UINT32_MAX);
  if (of_function_[index] == UINT32_MAX) {
    std::vector<std::string> names;
    for (const Field& p : function.params) names.push_back(p.name);
    of_function_[index] = signature(function.name, names);
  }
  return of_function_[index];
}

void Export::enter_signature(uint32_t id) {
  Signature& s = signatures_[id];
  out_.number(id);
  if (s.said) return;
  s.said = true;
  out_.text(s.name);
  out_.number(s.arguments.size());
  for (const std::string& name : s.arguments) out_.text(name);
}

void Export::enumerant(const EnumGroup* group, int64_t value) {
  const std::string* name = group ? group->find(value) : nullptr;
  if (!name) {
    name = group || value >= 0x100 ? trace_->signatures.enum_name(nullptr, value) : nullptr;
    if (!name) return out_.sint(value);
    // A signature of its own: the group does not have this one.
    out_.byte(TYPE_ENUM);
    const auto [it, fresh] = single_.emplace(value, enum_count_);
    out_.number(it->second);
    if (fresh) {
      enum_count_++;
      out_.number(1);
      out_.text(*name);
      out_.sint(value);
    }
    return out_.sint(value);
  }
  out_.byte(TYPE_ENUM);
  const auto [it, fresh] = enums_.emplace(group, enum_count_);
  out_.number(it->second);
  if (fresh) {
    enum_count_++;
    out_.number(group->members.size());
    for (const auto& [member, number] : group->members) {
      out_.text(member);
      out_.sint(number);
    }
  }
  out_.sint(value);
}

void Export::mask(const EnumGroup* group, uint64_t value) {
  if (!group) return out_.uint(value);
  out_.byte(TYPE_BITMASK);
  const auto [it, fresh] = masks_.emplace(group, static_cast<uint32_t>(masks_.size()));
  out_.number(it->second);
  if (fresh) {
    size_t count = 0;
    for (const auto& member : group->members) count += member.second != 0;
    out_.number(count);
    for (const auto& [member, number] : group->members) {
      if (!number) continue;  // apitrace takes a zero for the first flag only
      out_.text(member);
      out_.number(static_cast<uint64_t>(number) & 0xffffffffull);
    }
  }
  out_.number(value);
}

void Export::truth(const std::string& ctype, bool value) {
  const char* no = ctype.find("EGL") != ctype.npos  ? "EGL_FALSE"
                   : ctype.find("GL") != ctype.npos ? "GL_FALSE"
                                                    : "False";
  const char* yes = ctype.find("EGL") != ctype.npos ? "EGL_TRUE" : ctype.find("GL") != ctype.npos ? "GL_TRUE" : "True";
  out_.byte(TYPE_ENUM);
  const auto [it, fresh] = truths_.emplace(no, enum_count_);
  out_.number(it->second);
  if (fresh) {
    enum_count_++;
    out_.number(2);
    out_.text(no), out_.uint(0);
    out_.text(yes), out_.uint(1);
  }
  out_.uint(value);
}

// ---- values -------------------------------------------------------------------------------------

void Export::scalar(const Field& field, const std::string& function, uint64_t raw) {
  (void)function;
  switch (field.kind) {
    case Kind::i32:
    case Kind::i64: return out_.sint(integer_value(field, raw));
    case Kind::u32:
    case Kind::u64: return out_.uint(raw);
    case Kind::f32: {
      const auto bits = static_cast<uint32_t>(raw);
      return out_.f32(&bits);
    }
    case Kind::f64: return out_.f64(&raw);
    case Kind::boolean:
      if (raw > 1) return out_.uint(raw);
      return truth(field.ctype, raw != 0);
    case Kind::enumeration: return enumerant(field.group, integer_value(field, raw));
    case Kind::bitmask: return mask(field.group, raw);
    case Kind::ptr:
    case Kind::handle: return out_.pointer(raw);
  }
}

std::string_view Export::bytes_of(const FunctionColumns& columns, const Field& field, uint32_t i) {
  const uint64_t descriptor = columns.descriptor(field, i);
  if (DT_DATA_KIND(descriptor) != DT_DATA_BLOB) return columns.payload(field, i);
  const Hash128 hash = columns.hash(field, i);
  if (!(hash == blob_hash_) || blob_.empty()) {
    blob_hash_ = hash;
    try {
      blob_ = trace_->blob(hash);
    } catch (const Error&) {
      blob_.clear();  // not in the trace: its writer was killed
    }
  }
  return {reinterpret_cast<const char*>(blob_.data()), blob_.size()};
}

const Export::Memory* Export::find(uint32_t thread, uint64_t address) const {
  auto it = threads_.find(thread);
  if (it == threads_.end() || address < LOWEST_ADDRESS) return nullptr;
  for (const Memory& m : it->second.memory)
    if (address >= m.address && address - m.address < m.bytes.size()) return &m;
  return nullptr;
}

void Export::elements(const Field& field, std::string_view bytes, uint32_t thread) {
  const size_t width = element_bytes(field.element);
  const size_t count = width ? bytes.size() / width : 0;
  out_.array(count);
  for (size_t i = 0; i < count; i++) {
    const char* at = bytes.data() + i * width;
    switch (field.element) {
      case Element::u8: out_.uint(load<uint8_t>(at)); break;
      case Element::i8: out_.sint(load<int8_t>(at)); break;
      case Element::u16: out_.uint(load<uint16_t>(at)); break;
      case Element::i16: out_.sint(load<int16_t>(at)); break;
      case Element::u32:
        if (field.data_group)
          enumerant(field.data_group, load<uint32_t>(at));
        else
          out_.uint(load<uint32_t>(at));
        break;
      case Element::i32: out_.sint(load<int32_t>(at)); break;
      case Element::u64: out_.uint(load<uint64_t>(at)); break;
      case Element::i64: out_.sint(load<int64_t>(at)); break;
      case Element::f32: out_.f32(at); break;
      case Element::f64: out_.f64(at); break;
      default: {
        const auto address = load<uint64_t>(at);
        // Client memory that the call reads.
        if (const Memory* m = find(thread, address))
          out_.blob(std::string_view(m->bytes).substr(address - m->address));
        else
          out_.pointer(address);
      }
    }
  }
}

void Export::attributes(const Field& field, std::string_view bytes) {
  const bool wide = field.element == Element::attribs64;
  const size_t width = wide ? 8 : 4, count = bytes.size() / width;
  out_.array(count);
  bool name = true;
  const EnumGroup* group = nullptr;  // of the value that comes next
  for (size_t i = 0; i < count; i++) {
    const char* at = bytes.data() + i * width;
    const int64_t value = wide ? load<int64_t>(at) : load<int32_t>(at);
    if (!name) {
      if (group && group->bitmask && value > 0)
        mask(group, static_cast<uint64_t>(value));
      else if (group && group->find(value))
        enumerant(group, value);
      else
        out_.sint(value);
      name = true;
      continue;
    }
    group = field.value_group(value);
    const bool alone = std::find(field.valueless.begin(), field.valueless.end(), value) != field.valueless.end();
    if (field.data_group && field.data_group->find(value))
      enumerant(field.data_group, value);
    else
      out_.sint(value);
    name = alone;
  }
}

// The structure as apitrace writes it: its members by name.
void Export::visual(std::string_view bytes) {
  static const struct {
    const char* name;
    size_t offset, width;
  } members[] = {{"visual", 0, 8},         {"visualid", 8, 8},     {"screen", 16, 4},     {"depth", 20, 4},
                 {"c_class", 24, 4},       {"red_mask", 32, 8},    {"green_mask", 40, 8}, {"blue_mask", 48, 8},
                 {"colormap_size", 56, 4}, {"bits_per_rgb", 60, 4}};
  out_.array(1);
  out_.byte(TYPE_STRUCT);
  out_.number(0);
  if (!visual_said_) {
    visual_said_ = true;
    out_.text("XVisualInfo");
    out_.number(std::size(members));
    for (const auto& m : members) out_.text(m.name);
  }
  for (const auto& m : members) {
    if (m.width == 4)
      out_.sint(load<int32_t>(bytes.data() + m.offset));
    else if (m.offset == 0)
      out_.pointer(load<uint64_t>(bytes.data()));
    else
      out_.uint(load<uint64_t>(bytes.data() + m.offset));
  }
}

void Export::content(const Function& function, const Field& field, std::string_view bytes, uint32_t thread) {
  switch (field.element) {
    case Element::chars: return out_.string(bytes);
    case Element::strings: {
      std::vector<std::string_view> strings;
      for (size_t at = 0; at + 4 <= bytes.size();) {
        const size_t n = std::min<size_t>(load<uint32_t>(bytes.data() + at), bytes.size() - at - 4);
        strings.push_back(bytes.substr(at + 4, n));
        at += 4 + n;
      }
      out_.array(strings.size());
      for (std::string_view s : strings) out_.string(s);
      return;
    }
    case Element::attribs32:
    case Element::attribs64: return attributes(field, bytes);
    case Element::structure:
      if (field.element_name == "struct:XVisualInfo" && bytes.size() == 64) return visual(bytes);
      return out_.blob(bytes);
    case Element::bytes:
    case Element::pixels:
    case Element::none:
      if (function.name != "glPolygonStipple") return out_.blob(bytes);
      out_.array(bytes.size());
      for (const char c : bytes) out_.uint(static_cast<uint8_t>(c));
      return;
    case Element::u8:
    case Element::i8:
      // Vectors of bytes are lists to apitrace, other bytes are content.
      if (!field.out && function.name.find("bv") == function.name.npos) return out_.blob(bytes);
      return elements(field, bytes, thread);
    default:
      // apitrace replays these into memory of its own, of which it takes no list.
      if (field.out && function.name.starts_with("glGetPixelMap")) return out_.blob(bytes);
      if (field.ctype.find("void *") != field.ctype.npos && field.ctype.find("**") == field.ctype.npos &&
          field.element != Element::ptr)
        return out_.blob(bytes);
      return elements(field, bytes, thread);
  }
}

void Export::value(const At& at, const Field& field, uint32_t thread) {
  const uint64_t raw = at.columns.raw(field, at.i);
  if (!field.has_data()) {
    if (field.kind == Kind::ptr)
      if (const Memory* m = find(thread, raw); m && (at.function.flags & FLAG_DRAW))
        return out_.blob(std::string_view(m->bytes).substr(raw - m->address));
    return scalar(field, at.function.name, raw);
  }
  const unsigned kind = DT_DATA_KIND(at.columns.descriptor(field, at.i));
  if (kind == DT_DATA_INLINE || kind == DT_DATA_BLOB)
    return content(at.function, field, bytes_of(at.columns, field, at.i), thread);
  if (kind == DT_DATA_OFFSET || kind == DT_DATA_UNKNOWN)
    if (const Memory* m = find(thread, raw); m && (at.function.flags & FLAG_DRAW))
      return out_.blob(std::string_view(m->bytes).substr(raw - m->address));
  out_.pointer(raw);
}

}  // namespace dt::peers::to_apitrace
