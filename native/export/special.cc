// GL functions whose C text is more than their arguments, and the little state of contexts that text depends on.
#include <algorithm>
#include <cstring>

#include "exporter.h"
#include "gl_enums.h"

namespace dt::c {

std::string Exporter::program_key(const Call& call, uint64_t program) const {
  uint32_t group = group_of(call.context);
  auto g = generations_.find({group, program});
  return std::to_string(group) + ":" + std::to_string(program) + ":" +
         std::to_string(g == generations_.end() ? 0 : g->second) + ":";
}

bool Exporter::get_location(const Call& call) {
  auto was = static_cast<int32_t>(call.result());
  const Field* text = call.field("name") ? call.field("name") : call.field("uniformBlockName");
  const Field* object = call.field("program") ? call.field("program") : call.field("programObj");
  if (!text || !object || was < 0 || DT_DATA_KIND(call.columns.descriptor(*text, call.row)) != DT_DATA_INLINE)
    return false;
  uint64_t program = call.columns.raw(*object, call.row);
  std::string name(call.columns.payload(*text, call.row).data(), call.columns.payload(*text, call.row).size());
  name = name.c_str();
  bool block = call.function.name == "glGetUniformBlockIndex";
  std::string known = name_of(call, "program", program);
  std::string variable = (block ? "block_" : "loc_") + known + "_" + identifier(name);
  variables_.declare(variable, block ? "GLuint" : "GLint", std::to_string(was));
  locations_[program_key(call, program) + (block ? "b" : "l") + std::to_string(was)] = variable;
  line(variable + " = " + call.function.name + "(" + known + ", " + quoted(name) + ");");
  return true;
}

// The numbers of attributes are written out in the calls that use them: programs are linked with these numbers.
bool Exporter::get_attribute(const Call& call) {
  const Field* text = call.field("name");
  const Field* object = call.field("program") ? call.field("program") : call.field("programObj");
  if (!text || !object || DT_DATA_KIND(call.columns.descriptor(*text, call.row)) != DT_DATA_INLINE) return collecting_;
  std::string name(call.columns.payload(*text, call.row));
  name = name.c_str();
  std::string key = program_key(call, call.columns.raw(*object, call.row));
  if (!collecting_) return false;
  if (call.function.name.starts_with("glBindAttrib")) {
    bound_attributes_.insert(key + name);
  } else if (auto at = static_cast<int32_t>(call.result()); at >= 0) {
    auto& attributes = attributes_[key];
    if (std::none_of(attributes.begin(), attributes.end(), [&](auto& a) { return a.first == name; }))
      attributes.emplace_back(name, at);
  }
  return true;
}

bool Exporter::link_program(const Call& call) {
  const Field* object = call.field("program") ? call.field("program") : call.field("programObj");
  if (!object) return false;
  uint64_t program = call.columns.raw(*object, call.row);
  std::string key = program_key(call, program);
  auto it = attributes_.find(key);
  if (it != attributes_.end())
    for (auto& [name, at] : it->second)
      if (!bound_attributes_.count(key + name)) {
        binds_attributes_ = true;
        if (const Function* bind = trace_.signatures.by_name("glBindAttribLocation")) info(*bind).used = true;
        line("glBindAttribLocation(" + name_of(call, "program", program) + ", " + std::to_string(at) + ", " +
             quoted(name) + "); /* as in the recording */");
      }
  return false;
}

bool Exporter::shader_source(const Call& call) {
  const Field* text = call.field("string");
  const Field* object = call.field("shader") ? call.field("shader") : call.field("shaderObj");
  if (!text || !object) return false;
  const std::string content = this->content(call, *text);
  std::string names;
  size_t n = 0;
  for (std::string_view s = content; s.size() >= 4; ++n) {
    uint32_t length;
    memcpy(&length, s.data(), 4);
    s.remove_prefix(4);
    if (length > s.size()) break;
    names += (n ? ", " : "") + texts_.add(s.substr(0, length));
    s.remove_prefix(length);
  }
  if (!n) return false;
  std::string cast = call.function.name == "glShaderSourceARB" ? "(const GLchar **)" : "";
  line(call.function.name + "(" + name_of(call, "shader", call.columns.raw(*object, call.row)) + ", " +
       std::to_string(n) + ", " + cast + "(const GLchar *const[]){" + names + "}, NULL);");
  return true;
}

// A window's back buffer may be the only buffer of what stands for the window.
bool Exporter::color_buffer(const Call& call) {
  auto text = [&](int64_t v) {
    std::string name = enumerant(trace_.signatures.group("DrawBufferMode"), v);
    return v == 0x405 || v == 0x402 || v == 0x403 ? "host_color_buffer(" + name + ")" : name;
  };
  auto it = shares_.find(call.context);
  if (it != shares_.end() && it->second.api == 2) return false;  // ES has its own rules
  if (call.function.name == "glDrawBuffers") {
    const Field* f = call.field("bufs");
    if (!f || DT_DATA_KIND(call.columns.descriptor(*f, call.row)) != DT_DATA_INLINE) return false;
    std::string_view s = call.columns.payload(*f, call.row);
    std::string all;
    for (size_t i = 0; i + 4 <= s.size(); i += 4) {
      uint32_t v;
      memcpy(&v, s.data() + i, 4);
      all += (i ? ", " : "") + text(v);
    }
    line("glDrawBuffers(" + std::to_string(s.size() / 4) + ", (const GLenum[]){" + all + "});");
    return true;
  }
  const Field& f = call.function.params[0];
  line(call.function.name + "(" + text(static_cast<int64_t>(call.columns.raw(f, call.row))) + ");");
  return true;
}

bool Exporter::gen_lists(const Call& call) {
  auto base = static_cast<uint32_t>(call.result());
  if (!base) return false;
  std::string variable = name_of(call, "display list", base);
  names_.lists(group_of(call.context), base, static_cast<uint32_t>(call.raw("range")), variable);
  line(variable + " = glGenLists(" + std::to_string(call.raw("range")) + ");");
  return true;
}

// ---- mapped buffers -----------------------------------------------------------------------------

uint64_t Exporter::buffer_of(const Call& call) {
  if (call.field("buffer")) return call.raw("buffer");
  State& s = states_[call.context];
  auto target = static_cast<uint32_t>(call.raw("target"));
  return target == GL_ELEMENT_ARRAY_BUFFER ? s.elements[s.vertex_array] : s.bound[target];
}

bool Exporter::map_buffer(const Call& call) {
  if (!call.function.result || call.function.result->kind != Kind::ptr || !call.result()) return false;
  uint64_t buffer = buffer_of(call);
  if (!buffer) return false;
  std::string variable = "mapped_" + name_of(call, "buffer", buffer);
  variables_.declare(variable, "char *", "0");
  mapped_[variable] = call.field("offset") ? static_cast<int64_t>(call.raw("offset")) : 0;
  std::string text = variable + " = " + call.function.name + "(";
  for (size_t i = 0; i < call.function.params.size(); ++i)
    text += (i ? ", " : "") + value(call, call.function.params[i]);
  line(text + ");");
  return true;
}

void Exporter::write(const Call& call, const Write& w) {
  uint64_t buffer = w.buffer;
  std::string variable = "mapped_" + name_of(call, "buffer", buffer);
  auto it = mapped_.find(variable);
  if (it == mapped_.end() || !w.bytes) return;
  auto offset = static_cast<int64_t>(w.offset) - it->second;
  std::string name = stored(w, "stored through " + variable + " (before call " + std::to_string(call.seq) + ")");
  line("memcpy(" + variable + (offset ? " + " + std::to_string(offset) : "") + ", " + name + ", " +
       std::to_string(w.bytes) + ");");
}

// ---- application memory -------------------------------------------------------------------------

std::string Exporter::stored(const Content& content, const std::string& what) {
  return content.stored ? data_.add(content.hash, trace_, what) : data_.add(content.text, what);
}

Exporter::Content Exporter::take(const FunctionColumns& columns, const Field& field, uint32_t row) const {
  Content out;
  if (!field.has_data()) return out;
  uint64_t descriptor = columns.descriptor(field, row);
  if (DT_DATA_KIND(descriptor) == DT_DATA_INLINE) {
    out.text = columns.payload(field, row);
    out.bytes = out.text.size();
    if (!collecting_) out.hash = hash_of(out.text);
  } else if (DT_DATA_KIND(descriptor) == DT_DATA_BLOB) {
    out = {DT_DATA_LENGTH(descriptor), columns.hash(field, row), true, {}};
  }
  return out;
}

// All bytes of an array.
std::string Exporter::content(const Call& call, const Field& field) {
  Content out = take(call.columns, field, call.row);
  if (!out.stored) return std::move(out.text);
  auto blob = trace_.blob(out.hash);
  return {reinterpret_cast<const char*>(blob.data()), blob.size()};
}

Exporter::Region* Exporter::region(uint64_t address) {
  auto it = std::upper_bound(regions_.begin(), regions_.end(), address,
                             [](uint64_t a, const Region& r) { return a < r.begin; });
  if (it == regions_.begin()) return nullptr;
  --it;
  return address < it->end ? &*it : nullptr;
}

// The memory that draws read, joined where it overlaps: each region gets a variable of its own.
void Exporter::make_regions() {
  std::sort(intervals_.begin(), intervals_.end());
  for (auto& [begin, end] : intervals_) {
    if (!regions_.empty() && begin <= regions_.back().end)
      regions_.back().end = std::max(regions_.back().end, end);
    else
      regions_.push_back({begin & ~15ull, end, {}});
  }
  intervals_.clear();
  for (size_t i = 0; i < regions_.size(); ++i)
    variables_.declare(
        "client_" + std::to_string(i) + "[" + std::to_string((regions_[i].end - regions_[i].begin + 7) / 8) + "]",
        "double", "");
}

void Exporter::load(const Span& span) {
  Region* r = region(span.address);
  if (!r || !span.bytes || span.address + span.bytes > r->end) return;
  uint64_t begin = span.address - r->begin, end = begin + span.bytes;
  auto it = r->loaded.find(begin);
  if (it != r->loaded.end() && it->second.first == end && it->second.second == span.hash) return;
  for (it = r->loaded.begin(); it != r->loaded.end();)
    it = it->first < end && it->second.first > begin ? r->loaded.erase(it) : std::next(it);
  r->loaded[begin] = {end, span.hash};
  std::string name = stored(span, "memory of the program");
  line("memcpy(" + address_text(span.address, *r) + ", " + name + ", " + std::to_string(span.bytes) + ");");
}

// ---- state --------------------------------------------------------------------------------------

void Exporter::track_bind_buffer(const Call& call) {
  State& s = states_[call.context];
  auto target = static_cast<uint32_t>(call.raw("target")), buffer = static_cast<uint32_t>(call.raw("buffer"));
  if (target == GL_ELEMENT_ARRAY_BUFFER)
    s.elements[s.vertex_array] = buffer;
  else
    s.bound[target] = buffer;
}
void Exporter::track_create_program(const Call& call) {
  if (call.result()) ++generations_[{group_of(call.context), call.result()}];
}
void Exporter::track_pack(const Call& call) {
  auto name = static_cast<uint32_t>(call.raw("pname"));
  if ((name >= GL_PACK_SWAP_BYTES && name <= GL_PACK_ALIGNMENT) || name == GL_PACK_SKIP_IMAGES ||
      name == GL_PACK_IMAGE_HEIGHT)
    states_[call.context].pack[name] = static_cast<int32_t>(call.raw("param"));
}

void Exporter::track_pointer(const Call& call) {
  State& s = states_[call.context];
  for (auto& p : call.function.params) {
    if (p.kind != Kind::ptr || p.has_data()) continue;
    uint64_t place = call.field("index") ? call.raw("index") : s.client_texture;
    uint64_t key = static_cast<uint64_t>(call.function.id) << 32 | (place & 0xffffffff);
    // All generic attributes share their places, whichever function set them.
    if (call.function.name.starts_with("glVertexAttrib")) key = place & 0xffffffff;
    uint64_t address = call.columns.raw(p, call.row);
    if (s.bound[GL_ARRAY_BUFFER] == 0 && address >= 65536)
      s.pointers[key] = address;
    else
      s.pointers.erase(key);
  }
}

}  // namespace dt::c
