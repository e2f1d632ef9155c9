// From a trace of ours to one of apitrace. The tap's notes beside the calls become the calls of apitrace's own tracer.
// They are array pointers with the memory behind them before a draw, memcpy before an unmap or flush, and the size of
// the window.
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "../common/json.h"
#include "apitrace_calls.h"
#include "export.h"
#include "interleaved.h"
#include "gl_enums.h"

namespace dt::peers {
namespace to_apitrace {
namespace {

// Calls that are written in a way of their own.
Special special_of(const Function& f) {
  if (const Special known = special_named(f.name); known != Special::none) return known;
  if (f.name.starts_with("gl") && f.name.find("Pointer") != std::string::npos)
    for (const Field& p : f.params)
      if (p.kind == Kind::ptr && !p.has_data()) return Special::array_pointer;
  return Special::none;
}

}  // namespace

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
  auto each = [&](bool out, auto&& put) {
    for (size_t p = 0; p < f.params.size(); p++)
      if ((f.params[p].has_data() && f.params[p].out) == out) argument(p), put(f.params[p]);
  };
  auto whole = [&](const Field& field) { value(at, field, thread); };
  each(false, whole);
  if (!returned) {
    // Entered and never left: as apitrace's own trace of a program that died has it.
    each(true, [&](const Field& field) { out_.pointer(at.columns.raw(field, at.i)); });
    out_.byte(DETAIL_END);
    next_call_++;
    return;
  }
  leave();
  each(true, whole);
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
    argument(p);
    if (p++ == 0 && v >= 0x100)
      enumerant(nullptr, static_cast<int64_t>(v));
    else
      out_.uint(v);
  }
  leave();
  out_.byte(DETAIL_END);
}

// Takes a note of the tap before a call.
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
      argument(0), out_.pointer(it->second.address + (offset - it->second.offset));
      argument(1), out_.blob(bytes);
      argument(2), out_.uint(bytes.size());
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

namespace {

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

}  // namespace

// Bytes from one vertex to the next of an array that a gl...Pointer call describes.
namespace {

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

}  // namespace

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
    // Nobody knows the first vertex: everything that may belong to it.
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
      argument(p);
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

namespace {

std::string plain_number(int64_t v) {
  std::string bytes(1, static_cast<char>(v < 0 ? 3 : 4));
  uint64_t n = v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  for (; n >= 0x80; n >>= 7) bytes.push_back(static_cast<char>(n | 0x80));
  bytes.push_back(static_cast<char>(n));
  return bytes;
}

}  // namespace

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
    case Special::make_current_glx_read:
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

void Export::header() {
  out_.number(6);
  out_.number(6);
  for (const Annotation& a : trace_->annotations)
    if (a.kind == "recording") {
      Json json;
      JsonReader::read_object(a.json, json);
      const std::string program = json["program"].text();
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

namespace {

struct Close {
  void operator()(FILE* file) const { fclose(file); }
};

}  // namespace
}  // namespace to_apitrace

void export_apitrace(std::shared_ptr<const Trace> trace, const std::string& output, std::vector<Selection> selections) {
  uint64_t calls = 0;
  for (Selection& s : selections) {
    s.end_seq = std::min(s.end_seq, trace->calls);
    calls += s.end_seq - std::min(s.first_seq, s.end_seq);
  }
  trace->done = 0;
  trace->total = calls;
  std::unique_ptr<FILE, to_apitrace::Close> file(fopen(output.c_str(), "wb"));
  if (!file) throw Error(DT_E_IO, output + ": " + strerror(errno));
  to_apitrace::Export(trace, file.get()).run(selections);
  errno = 0;
  if (fflush(file.get()) || ferror(file.get())) throw Error(DT_E_IO, output + ": " + strerror(errno));
}

}  // namespace dt::peers
