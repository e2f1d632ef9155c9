// From a trace of ours to one of apitrace. What the tap noted beside the calls becomes what apitrace's own tracer
// writes: array pointers with the memory behind them before a draw, memcpy before an unmap or flush, the size of the
// window.
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "../core/calls.h"
#include "apitrace_writer.h"
#include "export.h"
#include "interleaved.h"
#include "gl_enums.h"

namespace dt::peers {
namespace {

constexpr uint64_t LOWEST_ADDRESS = 65536;  // below are offsets into buffers

enum : uint8_t { EVENT_ENTER, EVENT_LEAVE };
enum : uint8_t { DETAIL_END, DETAIL_ARGUMENT, DETAIL_RESULT, DETAIL_FLAGS = 5 };
enum : uint8_t { TYPE_ENUM = 9, TYPE_BITMASK = 10, TYPE_STRUCT = 12 };

template <class T> T load(const char* from) {
  T value;
  memcpy(&value, from, sizeof value);
  return value;
}

enum class Special : uint8_t {
  none,
  bind_buffer,
  bind_vertex_array,
  client_texture,
  map,
  map_named,
  map_range,
  map_named_range,
  make_current_egl,
  make_current_glx,
  array_pointer,
  interleaved,
  push_client,
  pop_client
};

Special special_of(const Function& f) {
  static const std::unordered_map<std::string_view, Special> names = {
      {"glBindBuffer", Special::bind_buffer},
      {"glBindBufferARB", Special::bind_buffer},
      {"glBindVertexArray", Special::bind_vertex_array},
      {"glBindVertexArrayOES", Special::bind_vertex_array},
      {"glClientActiveTexture", Special::client_texture},
      {"glClientActiveTextureARB", Special::client_texture},
      {"glMapBuffer", Special::map},
      {"glMapBufferARB", Special::map},
      {"glMapBufferOES", Special::map},
      {"glMapNamedBuffer", Special::map_named},
      {"glMapNamedBufferEXT", Special::map_named},
      {"glMapBufferRange", Special::map_range},
      {"glMapBufferRangeEXT", Special::map_range},
      {"glMapNamedBufferRange", Special::map_named_range},
      {"glMapNamedBufferRangeEXT", Special::map_named_range},
      {"eglMakeCurrent", Special::make_current_egl},
      {"glXMakeCurrent", Special::make_current_glx},
      {"glInterleavedArrays", Special::interleaved},
      {"glPushClientAttrib", Special::push_client},
      {"glPopClientAttrib", Special::pop_client},
      {"glXMakeContextCurrent", Special::make_current_glx},
      {"glXMakeCurrentReadSGI", Special::make_current_glx}};
  if (auto it = names.find(f.name); it != names.end()) return it->second;
  if (f.name.starts_with("gl") && f.name.find("Pointer") != std::string::npos)
    for (const Field& p : f.params)
      if (p.kind == Kind::ptr && !p.has_data()) return Special::array_pointer;
  return Special::none;
}

// A call's values, wherever it stands.
struct At {
  const Function& function;
  const FunctionColumns& columns;
  uint32_t i;
  uint64_t value(size_t parameter) const {
    return parameter < function.params.size() ? columns.raw(function.params[parameter], i) : 0;
  }
};

class Export {
 public:
  Export(std::shared_ptr<const Trace> trace, FILE* file) : trace_(std::move(trace)), out_(file) {}
  void run(const std::vector<Selection>& selections);

 private:
  struct Memory {
    uint64_t address = 0;
    std::string bytes;
  };
  struct ArrayCall {
    uint32_t signature = 0;
    uint64_t address = 0, unit = 0;
    uint64_t stride = 0;                 // bytes from one vertex to the next
    size_t pointer = 0;                  // number of the parameter
    std::vector<std::string> arguments;  // as they are written
  };
  struct State {
    std::map<uint32_t, uint64_t> buffers;
    uint64_t vertex_array = 0, unit = GL_TEXTURE0;
    std::map<std::string, ArrayCall> arrays;
    std::vector<std::pair<bool, std::map<std::string, ArrayCall>>> pushed;  // whether the arrays were pushed, and they
  };
  struct Mapping {
    uint64_t address = 0, offset = 0;
  };
  struct Thread {
    std::vector<Memory> memory;  // for the next call
    uint64_t window = 0;         // of which the size is to be said
  };

  void header();
  void visit(OpenChunk& chunk, uint32_t call);
  void taps(OpenChunk& chunk, uint32_t from, uint32_t to);
  void tap(OpenChunk& chunk, uint32_t record);
  void before(uint32_t thread, uint32_t context, const At& at);
  void follow(uint32_t thread, uint32_t context, const At& at);
  void interleaved(State& s, const At& at);
  void call(uint32_t thread, const At& at, bool fake, bool returned);
  void begin(uint32_t thread, uint32_t signature, bool fake);
  void leave();
  void fake(uint32_t thread, const char* name, std::initializer_list<const char*> names,
            std::initializer_list<uint64_t> values);
  uint32_t signature(const std::string& name, const std::vector<std::string>& arguments);
  uint32_t signature(const Function& function);
  void enter_signature(uint32_t id);
  void value(const At& at, const Field& field, uint32_t thread);
  void scalar(const Field& field, const std::string& function, uint64_t raw);
  void content(const Function& function, const Field& field, std::string_view bytes, uint32_t thread);
  void elements(const Field& field, std::string_view bytes, uint32_t thread);
  void attributes(const Field& field, std::string_view bytes);
  void enumerant(const EnumGroup* group, int64_t value);
  void mask(const EnumGroup* group, uint64_t value);
  void truth(const std::string& ctype, bool value);
  void visual(std::string_view bytes);
  std::string_view bytes_of(const FunctionColumns& columns, const Field& field, uint32_t i);
  const Memory* find(uint32_t thread, uint64_t address) const;
  bool behind(const std::vector<Memory>& memory, const ArrayCall& array, int64_t first, std::string* bytes) const;
  State& state(uint32_t context) { return states_[context]; }

  std::shared_ptr<const Trace> trace_;
  ApitraceWriter out_;
  struct Signature {
    uint32_t id;
    std::string name;
    std::vector<std::string> arguments;
    bool said = false;
  };
  std::map<std::string, uint32_t> by_name_;
  std::vector<Signature> signatures_;
  std::vector<uint32_t> of_function_;
  std::vector<Special> special_;
  std::map<const EnumGroup*, uint32_t> enums_, masks_;
  std::map<std::string, uint32_t> truths_;
  std::map<int64_t, uint32_t> single_;
  uint32_t enum_count_ = 0;
  bool visual_said_ = false;
  uint32_t next_call_ = 0;
  std::vector<uint8_t> blob_;
  Hash128 blob_hash_{};

  std::map<uint32_t, State> states_;
  std::map<uint32_t, Thread> threads_;
  std::map<uint64_t, Mapping> mappings_;  // by buffer
  std::map<uint64_t, std::pair<uint32_t, uint32_t>> sizes_;
  std::set<uint64_t> sized_;
};

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

// ---- calls --------------------------------------------------------------------------------------

void Export::begin(uint32_t thread, uint32_t id, bool fake) {
  out_.byte(EVENT_ENTER);
  out_.number(thread);
  enter_signature(id);
  if (fake) {
    out_.byte(DETAIL_FLAGS);
    out_.number(1);
  }
}

void Export::leave() {
  out_.byte(DETAIL_END);
  out_.byte(EVENT_LEAVE);
  out_.number(next_call_++);
}

void Export::call(uint32_t thread, const At& at, bool fake, bool returned) {
  const Function& f = at.function;
  begin(thread, signature(f), fake);
  for (size_t p = 0; p < f.params.size(); p++) {
    if (f.params[p].has_data() && f.params[p].out) continue;
    out_.byte(DETAIL_ARGUMENT);
    out_.number(p);
    value(at, f.params[p], thread);
  }
  if (!returned) {
    // Entered and never left: as apitrace's own trace of a program that died has it.
    for (size_t p = 0; p < f.params.size(); p++) {
      if (!f.params[p].has_data() || !f.params[p].out) continue;
      out_.byte(DETAIL_ARGUMENT);
      out_.number(p);
      out_.pointer(at.columns.raw(f.params[p], at.i));
    }
    out_.byte(DETAIL_END);
    next_call_++;
    return;
  }
  leave();
  for (size_t p = 0; p < f.params.size(); p++) {
    if (!f.params[p].has_data() || !f.params[p].out) continue;
    out_.byte(DETAIL_ARGUMENT);
    out_.number(p);
    value(at, f.params[p], thread);
  }
  if (f.result) {
    out_.byte(DETAIL_RESULT);
    value(at, *f.result, thread);
  }
  out_.byte(DETAIL_END);
}

void Export::fake(uint32_t thread, const char* name, std::initializer_list<const char*> names,
                  std::initializer_list<uint64_t> values) {
  begin(thread, signature(name, {names.begin(), names.end()}), true);
  size_t p = 0;
  for (const uint64_t v : values) {
    out_.byte(DETAIL_ARGUMENT);
    out_.number(p);
    if (p++ == 0 && v >= 0x100)
      enumerant(nullptr, static_cast<int64_t>(v));
    else
      out_.uint(v);
  }
  leave();
  out_.byte(DETAIL_END);
}

// What the tap noted before a call.
void Export::tap(OpenChunk& chunk, uint32_t record) {
  const size_t index = chunk.order()[record];
  const CallsFunction& entry = chunk.info.functions[index];
  if (!entry.tap()) return;
  const uint32_t thread = chunk.info.thread;
  const FunctionColumns& columns = chunk.columns(index);
  const uint32_t i = chunk.ordinals()[record];
  if (!columns.function) return;
  const Function& f = *columns.function;
  const At at{f, columns, i};
  if (entry.id() < DT_FN_FIRST_TAP) {
    // Calls that an importer found to be another tracer's own.
    if (f.name == "glViewport") threads_[thread].window = 0;
    call(thread, at, true, true);
    return;
  }
  auto content_of = [&](size_t p) -> std::string_view {
    if (p >= f.params.size() || !f.params[p].has_data()) return {};
    const unsigned kind = DT_DATA_KIND(columns.descriptor(f.params[p], i));
    return kind == DT_DATA_INLINE || kind == DT_DATA_BLOB ? bytes_of(columns, f.params[p], i) : std::string_view();
  };
  switch (entry.id()) {
    case DT_FN_MEMORY: threads_[thread].memory.push_back({at.value(0), std::string(content_of(0))}); break;
    case DT_FN_MAP_WRITE: {
      const auto it = mappings_.find(at.value(3));
      if (it == mappings_.end()) break;
      const std::string_view bytes = content_of(1);
      const uint64_t offset = at.value(0);
      if (offset < it->second.offset || bytes.empty()) break;
      begin(thread, signature("memcpy", {"dest", "src", "n"}), true);
      out_.byte(DETAIL_ARGUMENT), out_.number(0), out_.pointer(it->second.address + (offset - it->second.offset));
      out_.byte(DETAIL_ARGUMENT), out_.number(1), out_.blob(bytes);
      out_.byte(DETAIL_ARGUMENT), out_.number(2), out_.uint(bytes.size());
      leave();
      out_.byte(DETAIL_END);
      break;
    }
    case DT_FN_NATIVE: {
      const std::string text = ";" + std::string(content_of(2));
      const size_t width = text.find(";width="), height = text.find(";height=");
      if (width == text.npos || height == text.npos) break;
      sizes_[at.value(0)] = {static_cast<uint32_t>(strtoul(text.c_str() + width + 7, nullptr, 10)),
                             static_cast<uint32_t>(strtoul(text.c_str() + height + 8, nullptr, 10))};
      break;
    }
    default: break;
  }
}

void Export::taps(OpenChunk& chunk, uint32_t from, uint32_t to) {
  for (uint32_t r = from; r < to; r++) tap(chunk, r);
}

uint64_t bytes_of_type(uint64_t type) {
  switch (type) {
    case GL_BYTE:
    case GL_UNSIGNED_BYTE: return 1;  // GL_BYTE
    case GL_SHORT:
    case GL_UNSIGNED_SHORT:
    case GL_HALF_FLOAT:
    case GL_HALF_FLOAT_OES: return 2;  // shorts and halves
    case GL_DOUBLE: return 8;
    default: return 4;
  }
}

// Bytes from one vertex to the next of an array that a gl...Pointer call describes.
uint64_t stride_of(const At& at) {
  uint64_t stride = 0, size = 0, type = GL_UNSIGNED_BYTE;
  for (size_t p = 0; p < at.function.params.size(); p++) {
    const std::string& name = at.function.params[p].name;
    if (name == "stride")
      stride = at.value(p);
    else if (name == "size")
      size = at.value(p);
    else if (name == "type")
      type = at.value(p);
  }
  if (stride) return stride;
  if (!size)
    size = at.function.name.find("Normal") != std::string::npos ||
                   at.function.name.find("SecondaryColor") != std::string::npos
               ? 3
               : 1;
  if (type == GL_UNSIGNED_INT_2_10_10_10_REV || type == GL_INT_2_10_10_10_REV ||
      type == GL_UNSIGNED_INT_10F_11F_11F_REV)
    return 4;                                          // packed: all components in 4 bytes
  return (size > 4 ? 4 : size) * bytes_of_type(type);  // GL_BGRA stands for four
}

// The memory from the pointer of an array on, as far as the draw reads it: the tap noted what is read only, which
// begins at the first vertex. False: the draw does not read this array.
bool Export::behind(const std::vector<Memory>& memory, const ArrayCall& array, int64_t first,
                    std::string* bytes) const {
  constexpr uint64_t FARTHEST = 64u << 20;
  bytes->clear();
  uint64_t end = 0;
  if (first >= 0) {
    const uint64_t from = array.address + static_cast<uint64_t>(first) * array.stride;
    for (const Memory& m : memory)
      if (from >= m.address && from - m.address < m.bytes.size()) end = m.address + m.bytes.size();
  } else {
    // Which vertex is the first one cannot be told: everything that may belong to it.
    for (const Memory& m : memory) {
      const uint64_t last = m.address + m.bytes.size();
      if (last > array.address && (m.address < array.address || m.address - array.address < FARTHEST))
        end = std::max(end, last);
    }
  }
  if (end <= array.address ||
      end - array.address > 4 * FARTHEST + (first > 0 ? static_cast<uint64_t>(first) * array.stride : 0))
    return false;
  bytes->resize(end - array.address);
  for (const Memory& m : memory) {
    if (m.address >= end || m.address + m.bytes.size() <= array.address) continue;
    const uint64_t skip = m.address < array.address ? array.address - m.address : 0;
    const uint64_t to = m.address + skip - array.address;
    const uint64_t n = std::min<uint64_t>(m.bytes.size() - skip, bytes->size() - to);
    memcpy(bytes->data() + to, m.bytes.data() + skip, n);
  }
  return true;
}

// Array pointers with the memory behind them, as apitrace writes them before a draw.
void Export::before(uint32_t thread, uint32_t context, const At& at) {
  Thread& t = threads_[thread];
  if (t.window) {
    const auto size = sizes_.find(t.window);
    if (size != sizes_.end() && size->second.first) {
      sized_.insert(t.window);
      fake(thread, "glViewport", {"x", "y", "width", "height"}, {0, 0, size->second.first, size->second.second});
      fake(thread, "glScissor", {"x", "y", "width", "height"}, {0, 0, size->second.first, size->second.second});
    }
    t.window = 0;
  }
  if (t.memory.empty() || !(at.function.flags & FLAG_DRAW)) return;
  State& s = state(context);
  bool unbound = false;
  uint64_t unit = s.unit;
  int64_t first = -1;
  for (size_t p = 0; p < at.function.params.size(); p++)
    if (at.function.params[p].name == "first" && at.function.params[p].kind == Kind::i32)
      first = static_cast<int32_t>(at.value(p));
  std::string bytes;
  for (const auto& [key, array] : s.arrays) {
    if (!behind(t.memory, array, first, &bytes)) continue;
    if (!unbound && s.buffers[GL_ARRAY_BUFFER]) {
      fake(thread, "glBindBuffer", {"target", "buffer"}, {GL_ARRAY_BUFFER, 0});
      unbound = true;
    }
    if (array.unit && array.unit != unit) {
      fake(thread, "glClientActiveTexture", {"texture"}, {array.unit});
      unit = array.unit;
    }
    begin(thread, array.signature, true);
    for (size_t p = 0; p < array.arguments.size(); p++) {
      out_.byte(DETAIL_ARGUMENT);
      out_.number(p);
      if (p == array.pointer)
        out_.blob(bytes);
      else
        out_.raw(array.arguments[p].data(), array.arguments[p].size());
    }
    leave();
    out_.byte(DETAIL_END);
  }
  if (unit != s.unit) fake(thread, "glClientActiveTexture", {"texture"}, {s.unit});
  if (unbound) fake(thread, "glBindBuffer", {"target", "buffer"}, {GL_ARRAY_BUFFER, s.buffers[GL_ARRAY_BUFFER]});
}

std::string plain_number(int64_t v) {
  std::string bytes(1, static_cast<char>(v < 0 ? 3 : 4));
  uint64_t n = v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  for (; n >= 0x80; n >>= 7) bytes.push_back(static_cast<char>(n | 0x80));
  bytes.push_back(static_cast<char>(n));
  return bytes;
}

// One call that sets several pointers.
void Export::interleaved(State& s, const At& at) {
  const uint64_t address = at.value(2);
  if (s.buffers[GL_ARRAY_BUFFER] || address < LOWEST_ADDRESS) return;
  interleaved_arrays(at.value(0), at.value(1), [&](const InterleavedArray& set) {
    ArrayCall array;
    array.stride = set.stride;
    array.address = address + set.offset;
    if (set.sized) array.arguments.push_back(plain_number(set.size));
    array.arguments.push_back(plain_number(set.type));
    array.arguments.push_back(plain_number(set.stride));
    array.pointer = array.arguments.size();
    array.arguments.emplace_back();
    std::string key = set.name;
    if (key.find("TexCoord") != key.npos) {
      array.unit = s.unit;
      key += ":" + std::to_string(s.unit);
    }
    array.signature = set.sized ? signature(set.name, {"size", "type", "stride", "pointer"})
                                : signature(set.name, {"type", "stride", "pointer"});
    s.arrays[std::move(key)] = std::move(array);
  });
}

void Export::follow(uint32_t thread, uint32_t context, const At& at) {
  const auto index = static_cast<size_t>(at.function.index);
  if (special_.size() <= index) {
    const size_t from = special_.size();
    special_.resize(trace_->signatures.functions.size());
    for (size_t i = from; i < special_.size(); i++) special_[i] = special_of(trace_->signatures.functions[i]);
  }
  const Special special = special_[index];
  if (special == Special::none) return;
  State& s = state(context);
  const uint64_t result = at.function.result ? at.columns.raw(*at.function.result, at.i) : 0;
  switch (special) {
    case Special::bind_buffer: s.buffers[static_cast<uint32_t>(at.value(0))] = at.value(1); break;
    case Special::bind_vertex_array: s.vertex_array = at.value(0); break;
    case Special::client_texture: s.unit = at.value(0); break;
    case Special::map:
    case Special::map_range:
      if (result)
        mappings_[s.buffers[static_cast<uint32_t>(at.value(0))]] = {result,
                                                                    special == Special::map_range ? at.value(1) : 0};
      break;
    case Special::map_named:
    case Special::map_named_range:
      if (result) mappings_[at.value(0)] = {result, special == Special::map_named_range ? at.value(1) : 0};
      break;
    case Special::make_current_egl:
    case Special::make_current_glx:
      if (at.value(1) && result && !sized_.count(at.value(1))) threads_[thread].window = at.value(1);
      break;
    case Special::interleaved: interleaved(s, at); break;
    case Special::push_client:
      if (s.pushed.size() < 64) s.pushed.emplace_back((at.value(0) & GL_CLIENT_VERTEX_ARRAY_BIT) != 0, s.arrays);
      break;
    case Special::pop_client:
      if (s.pushed.empty()) break;
      if (s.pushed.back().first) s.arrays = std::move(s.pushed.back().second);
      s.pushed.pop_back();
      break;
    case Special::array_pointer: {
      const Function& f = at.function;
      ArrayCall array;
      std::string key = f.name;
      for (size_t p = 0; p < f.params.size(); p++)
        if (f.params[p].kind == Kind::ptr && !f.params[p].has_data()) array.pointer = p;
      if (f.params[0].name == "index") key += ":" + std::to_string(at.value(0));
      if (f.name.find("TexCoord") != f.name.npos) {
        array.unit = s.unit;
        key += ":" + std::to_string(s.unit);
      }
      array.address = at.value(array.pointer);
      array.stride = stride_of(at);
      if (s.vertex_array || s.buffers[GL_ARRAY_BUFFER] || array.address < LOWEST_ADDRESS) {
        s.arrays.erase(key);
        break;
      }
      array.signature = signature(f);
      // Enumerants as plain numbers: their signatures must stand where they are first written.
      for (const Field& p : f.params) {
        const uint64_t raw = at.columns.raw(p, at.i);
        const bool is_signed = p.kind == Kind::i32 || p.kind == Kind::i64 || p.kind == Kind::enumeration;
        array.arguments.push_back(plain_number(is_signed ? integer_value(p, raw) : static_cast<int64_t>(raw)));
      }
      s.arrays[key] = std::move(array);
      break;
    }
    default: break;
  }
}

void Export::visit(OpenChunk& chunk, uint32_t number) {
  const uint32_t thread = chunk.info.thread;
  const uint32_t record = chunk.record_of(number);
  const uint32_t from = number ? chunk.record_of(number - 1) + 1 : 0;
  if (!number && chunk.info.in_thread) {
    // Chunks before this one in which nothing but notes stand.
    const auto& chunks = trace_->threads[thread].chunks;
    size_t first = chunk.info.in_thread;
    while (first && !trace_->calls_chunks[chunks[first - 1]].meta.calls) first--;
    for (size_t n = first; n < chunk.info.in_thread; n++) {
      OpenChunk notes(*trace_, chunks[n]);
      taps(notes, 0, notes.info.meta.records);
    }
  }
  if (record > from) taps(chunk, from, record);
  const size_t index = chunk.order()[record];
  const FunctionColumns& columns = chunk.columns(index);
  if (columns.function) {
    const At at{*columns.function, columns, chunk.ordinals()[record]};
    const uint32_t context = chunk.context(record);
    before(thread, context, at);
    const bool returned = chunk.durations()[record] != DT_IN_FLIGHT;
    call(thread, at, false, returned);
    if (returned) follow(thread, context, at);
    threads_[thread].memory.clear();
  }
  if (number + 1 == chunk.info.meta.calls) taps(chunk, record + 1, chunk.info.meta.records);
  out_.flush(false);
}

// The value of a text member of a JSON object that a recorder wrote.
std::string member(const std::string& json, const std::string& name) {
  size_t at = json.find("\"" + name + "\"");
  if (at == json.npos) return {};
  at = json.find('"', json.find(':', at));
  std::string out;
  for (at = at == json.npos ? json.size() : at + 1; at < json.size() && json[at] != '"'; at++) {
    if (json[at] == '\\' && at + 1 < json.size()) at++;
    out += json[at];
  }
  return out;
}

void Export::header() {
  out_.number(6);
  out_.number(6);
  for (const Annotation& a : trace_->annotations)
    if (a.kind == "recording") {
      const std::string program = member(a.json, "program");
      if (!program.empty()) out_.text("process.name"), out_.text(program);
      break;
    }
  out_.text("");
}

void Export::run(const std::vector<Selection>& selections) {
  header();
  for (const Selection& selection : selections)
    each_call(*trace_, selection, [&](OpenChunk& chunk, uint32_t number, uint64_t) { visit(chunk, number); });
  out_.flush(true);
}

struct Close {
  void operator()(FILE* file) const { fclose(file); }
};

}  // namespace

void export_apitrace(std::shared_ptr<const Trace> trace, const std::string& output, std::vector<Selection> selections) {
  uint64_t calls = 0;
  for (Selection& s : selections) {
    s.end_seq = std::min(s.end_seq, trace->calls);
    calls += s.end_seq - std::min(s.first_seq, s.end_seq);
  }
  trace->done = 0;
  trace->total = calls;
  std::unique_ptr<FILE, Close> file(fopen(output.c_str(), "wb"));
  if (!file) throw Error(DT_E_IO, output + ": " + strerror(errno));
  Export(trace, file.get()).run(selections);
  errno = 0;
  if (fflush(file.get()) || ferror(file.get())) throw Error(DT_E_IO, output + ": " + strerror(errno));
}

}  // namespace dt::peers
