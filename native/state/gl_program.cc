// Shaders, programs, uniforms, program pipelines.
#include <algorithm>
#include <set>

#include "gl.h"
#include "gl_enums.h"

namespace dt::state::run {
namespace {

constexpr int64_t MOST_LOCATION = 1 << 16;

Node* program_of(Machine& m, int64_t name) { return m.object(c_share::programs, static_cast<uint64_t>(name)); }
Node* shader_of(Machine& m, int64_t name) { return m.object(c_share::shaders, static_cast<uint64_t>(name)); }
std::vector<int64_t> attached(Machine& m, const Node* p) {
  std::vector<int64_t> names;
  const std::string& text = m.text_of(*p->at(f_program::shaders));
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(' ', at), text.size());
    names.push_back(strtoll(text.substr(at, end - at).c_str(), nullptr, 10));
    at = end + 1;
  }
  return names;
}
void set_attached(Machine& m, Node* p, std::vector<int64_t> list) {
  std::sort(list.begin(), list.end());
  std::string text;
  for (int64_t name : list) text += (text.empty() ? "" : " ") + std::to_string(name);
  m.set_text(p, f_program::shaders, text);
  m.touch_content(p, f_program::attached);
}
bool used_anywhere(Machine& m, Node* p) {
  for (auto& [id, c] : m.contexts)
    if (c->share->node == p->parent && static_cast<uint64_t>(c->node->get(f_context::GL_CURRENT_PROGRAM)) == p->key)
      return true;
  return false;
}
bool attached_anywhere(Machine& m, Node* shader) {
  bool any = false;
  shader->parent->children[c_share::programs].each([&](const Node* p) {
    if (any) return;
    const auto list = attached(m, p);
    any = std::find(list.begin(), list.end(), static_cast<int64_t>(shader->key)) != list.end();
  });
  return any;
}
void end_program(Machine& m, Node* p) {
  auto list = attached(m, p);
  Node* share = p->parent;
  m.remove(p);
  for (int64_t name : list)
    if (Node* s = m.find(share, c_share::shaders, static_cast<uint64_t>(name)))
      if (s->get(f_shader::GL_DELETE_STATUS) && !attached_anywhere(m, s)) m.remove(s);
}
void forget_children(Machine& m, Node* p) {
  for (unsigned k :
       {c_program::uniforms, c_program::uniform_blocks, c_program::storage_blocks, c_program::attributes}) {
    std::vector<Node*> old;
    p->children[k].each([&](Node* n) { old.push_back(n); });
    for (Node* n : old) m.remove(n);
  }
}
Node* uniform_node(Machine& m, Node* p, int64_t location) {
  return p && location >= 0 && location < MOST_LOCATION
             ? m.child(p, c_program::uniforms, static_cast<uint64_t>(location))
             : nullptr;
}

// Names of GLSL that stand for state of fixed function: matrices, lights, materials, fog, planes.
bool names_fixed(std::string_view word) {
  static constexpr std::string_view kinds[] = {"gl_ModelView",  "gl_Projection",    "gl_Normal",       "gl_Texture",
                                               "gl_Light",      "gl_FrontMaterial", "gl_BackMaterial", "gl_FrontLight",
                                               "gl_BackLight",  "gl_ClipPlane",     "gl_ClipVertex",   "gl_EyePlane",
                                               "gl_ObjectPlane"};
  if (word == "ftransform" || word == "gl_Fog" || word == "gl_Point") return true;
  return std::any_of(std::begin(kinds), std::end(kinds), [&](auto kind) { return word.starts_with(kind); });
}
bool identifier(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

Node* uniform_program(Machine& m) {
  if (Node* p = used_program(m)) return p;
  // Without one the active program of the bound pipeline takes uniforms.
  Node* c = m.context();
  m.read(c, f_context::GL_PROGRAM_PIPELINE_BINDING);
  Node* pipeline =
      m.own_object(c_context::pipelines, static_cast<uint64_t>(c->get(f_context::GL_PROGRAM_PIPELINE_BINDING)));
  if (!pipeline) return nullptr;
  m.read(pipeline, f_pipeline::GL_ACTIVE_PROGRAM);
  return program_of(m, pipeline->get(f_pipeline::GL_ACTIVE_PROGRAM));
}
const std::string* name_of(Machine& m, const Node& node) { return node.cold ? &m.text_of(node.cold) : nullptr; }
void set_name(Machine& m, Node* n, const std::string& name) {
  if (!n || name.size() > 4096) return;
  n->cold = static_cast<uint32_t>(m.text_number(name));
}

// Names of samplers and images in a shader's source; too many of them (parameters of functions) do no harm. Beside them
// what else decides what a draw touches: ":3" for a layout's binding, "!" where it may write to buffers or images, "@"
// where it may read or write storage buffers or counters, "{" where it may have blocks of uniforms. A "~" stands for
// state of fixed function.
void sampler_names(const std::string& source, std::set<std::string>& names) {
  size_t at = 0;
  bool only_read = false;  // of the declaration that is being read
  while (at < source.size()) {
    if (source.compare(at, 2, "//") == 0) {
      at = std::min(source.find('\n', at), source.size());
      continue;
    }
    if (source.compare(at, 2, "/*") == 0) {
      size_t end = source.find("*/", at + 2);
      at = end == source.npos ? source.size() : end + 2;
      continue;
    }
    if (!identifier(source[at])) {
      if (source[at] == ';' || source[at] == '{' || source[at] == '}') only_read = false;
      ++at;
      continue;
    }
    size_t end = at;
    while (end < source.size() && identifier(source[end])) ++end;
    std::string_view word(source.data() + at, end - at);
    at = end;
    if (word == "readonly") only_read = true;
    if (names_fixed(word)) names.insert("~");
    if (word == "buffer" || word.starts_with("atomic")) names.insert("@");
    if (word == "include") names.insert({"!", "@", "{"});
    if (word == "uniform") {  // a block, or inside of a macro
      size_t next = source.find_first_of(";{", at), line = source.rfind('\n', at);
      if (next == source.npos || source[next] == '{' || source.substr(line + 1, at - line - 1).find('#') != source.npos)
        names.insert("{");
    }
    if ((word == "buffer" && !only_read) || word.starts_with("imageStore") || word.starts_with("imageAtomic") ||
        word.starts_with("atomic"))
      names.insert("!");
    if (word == "binding") {  // layout(binding = N): the unit of a sampler that is never told another one
      while (at < source.size() && (isspace(static_cast<unsigned char>(source[at])) || source[at] == '=')) ++at;
      size_t digits = at;
      while (digits < source.size() && isdigit(static_cast<unsigned char>(source[digits]))) ++digits;
      names.insert(digits > at && digits - at < 3 ? ":" + source.substr(at, digits - at) : std::string(":"));
      continue;
    }
    if (word.size() > 1 && (word[0] == 'i' || word[0] == 'u')) {
      auto rest = word.substr(1);
      if (rest.rfind("sampler", 0) == 0 || rest.rfind("image", 0) == 0) word = rest;
    }
    if (word.rfind("sampler", 0) != 0 && word.rfind("image", 0) != 0) continue;
    if (word.rfind("imageLoad", 0) == 0 || word.rfind("imageStore", 0) == 0 || word.rfind("imageAtomic", 0) == 0)
      continue;
    // The declared names follow, up to the end of the declaration.
    for (int limit = 0; limit < 64; ++limit) {
      while (at < source.size() && (isspace(static_cast<unsigned char>(source[at])))) ++at;
      size_t stop = at;
      while (stop < source.size() && identifier(source[stop])) ++stop;
      if (stop == at) break;
      names.emplace(source.substr(at, stop - at));
      at = stop;
      while (at < source.size() && (isspace(static_cast<unsigned char>(source[at])) || source[at] == '[' ||
                                    source[at] == ']' || isdigit(static_cast<unsigned char>(source[at]))))
        ++at;
      if (at >= source.size() || source[at] != ',') break;
      ++at;
    }
  }
}

void create_shader(Machine& m, int64_t type, int64_t name) {
  if (!name) return;
  Node* n = m.make(m.share(), c_share::shaders, static_cast<uint64_t>(name));
  m.set(n, f_shader::GL_SHADER_TYPE, Num(type));
}
void delete_shader(Machine& m, int64_t name) {
  Node* n = shader_of(m, name);
  if (!n) return;
  if (attached_anywhere(m, n))
    m.set(n, f_shader::GL_DELETE_STATUS, Num(1));
  else
    m.remove(n);
}
void shader_source(Machine& m, int64_t name, Array source) {
  Node* n = shader_of(m, name);
  if (!n) return m.refuse();
  m.set_content(n, f_shader::source, source.content_hash(), source.content() ? source.bytes : 0);
  // Strings of the source: a length and the characters, again and again.
  std::set<std::string> names;
  std::string text;
  if (source.load())
    for (uint64_t at = 0; at + 4 <= source.bytes;) {
      uint32_t length;
      memcpy(&length, source.data + at, 4);
      if (length > source.bytes - at - 4) break;
      text.append(reinterpret_cast<const char*>(source.data) + at + 4, length);
      at += 4ull + length;
    }
  sampler_names(text, names);
  if (text.empty())
    m.shader_samplers.erase(n);  // not recorded
  else
    m.shader_samplers[n] = std::move(names);
  m.set(n, f_shader::GL_SHADER_SOURCE_LENGTH, Num(text.empty() ? 0 : text.size() + 1));
}
void compile_shader(Machine& m, int64_t name) {
  Node* n = shader_of(m, name);
  if (!n) return m.refuse();
  m.read(n, f_shader::source);
  m.set(n, f_shader::GL_COMPILE_STATUS, Num(1));
  m.set_content(n, f_shader::compiled, {n->at(f_shader::source)[0], n->at(f_shader::source)[1]}, 0);
}
void shader_binary(Machine& m, int64_t, Array shaders, Array binary) {
  for (uint64_t i = 0, n = std::min<uint64_t>(shaders.count(), 64); i < n; ++i)
    if (Node* s = shader_of(m, shaders.integer(i))) {
      m.set_content(s, f_shader::source, binary.content_hash(), binary.bytes);
      m.shader_samplers.erase(s);
      m.set(s, f_shader::GL_COMPILE_STATUS, Num(1));
    }
}
void create_program(Machine& m, int64_t name) {
  if (name) m.make(m.share(), c_share::programs, static_cast<uint64_t>(name));
}
void create_shader_program(Machine& m, int64_t, Array strings, int64_t name) {
  if (!name) return;
  Node* p = m.make(m.share(), c_share::programs, static_cast<uint64_t>(name));
  m.set(p, f_program::GL_PROGRAM_SEPARABLE, Num(1));
  m.set(p, f_program::GL_LINK_STATUS, Num(1));
  m.set_content(p, f_program::linked, strings.content_hash(), strings.bytes);
  std::set<std::string> names;
  if (strings.load()) sampler_names(std::string(reinterpret_cast<const char*>(strings.data), strings.bytes), names);
  m.program_samplers[p] = std::move(names);
}
void delete_program(Machine& m, int64_t name) {
  Node* p = program_of(m, name);
  if (!p) return;
  if (used_anywhere(m, p))
    m.set(p, f_program::GL_DELETE_STATUS, Num(1));
  else
    end_program(m, p);
}
void delete_object(Machine& m, int64_t name) {
  if (m.find(m.share(), c_share::programs, static_cast<uint64_t>(name)))
    delete_program(m, name);
  else
    delete_shader(m, name);
}
void attach_shader(Machine& m, int64_t program, int64_t shader) {
  Node *p = program_of(m, program), *s = shader_of(m, shader);
  if (!p || !s) return m.refuse();
  auto list = attached(m, p);
  if (std::find(list.begin(), list.end(), shader) != list.end()) return m.refuse();
  list.push_back(shader);
  set_attached(m, p, list);
}
void detach_shader(Machine& m, int64_t program, int64_t shader) {
  Node *p = program_of(m, program), *s = shader_of(m, shader);
  if (!p) return m.refuse();
  auto list = attached(m, p);
  std::erase(list, shader);
  set_attached(m, p, list);
  if (s && s->get(f_shader::GL_DELETE_STATUS) && !attached_anywhere(m, s)) m.remove(s);
}
void bind_attrib_location(Machine& m, int64_t program) {
  m.touch_content(program_of(m, program), f_program::bound_attributes);
}
void feedback_varyings(Machine& m, int64_t program) {
  Node* p = program_of(m, program);
  if (p) m.set_content(p, f_program::varyings, NONE, 0);
}
void program_parameter(Machine& m, int64_t program, int64_t pname, int64_t value) {
  Node* p = program_of(m, program);
  if (pname == GL_PROGRAM_SEPARABLE) m.set(p, f_program::GL_PROGRAM_SEPARABLE, Num(value));
  if (pname == GL_PROGRAM_BINARY_RETRIEVABLE_HINT) m.set(p, f_program::GL_PROGRAM_BINARY_RETRIEVABLE_HINT, Num(value));
}
void link_program(Machine& m, int64_t program) {
  Node* p = program_of(m, program);
  if (!p) return m.refuse();
  m.read(p, f_program::attached);
  m.read(p, f_program::bound_attributes);
  m.read(p, f_program::varyings);
  m.read(p, f_program::GL_PROGRAM_SEPARABLE);
  bool ok = false, bad = false, known = true, only_fragments = true;
  std::set<std::string> names;
  for (int64_t name : attached(m, p)) {
    Node* s = shader_of(m, name);
    if (!s) continue;
    m.read(s, f_shader::compiled);
    ok = true;
    bad = bad || !s->get(f_shader::GL_COMPILE_STATUS);
    only_fragments = only_fragments && s->get(f_shader::GL_SHADER_TYPE) == GL_FRAGMENT_SHADER;
    if (auto it = m.shader_samplers.find(s); it != m.shader_samplers.end())
      names.insert(it->second.begin(), it->second.end());
    else
      known = false;
  }
  // Fixed function makes the vertices then.
  if (only_fragments && !p->get(f_program::GL_PROGRAM_SEPARABLE)) names.insert("~");
  if (known)
    m.program_samplers[p] = std::move(names);
  else
    m.program_samplers.erase(p);
  forget_children(m, p);
  m.set(p, f_program::GL_LINK_STATUS, Num(ok && !bad));
  m.set_content(p, f_program::linked, NONE, 0);
}
void program_binary(Machine& m, int64_t program, Array binary) {
  Node* p = program_of(m, program);
  if (!p) return m.refuse();
  forget_children(m, p);
  m.set(p, f_program::GL_LINK_STATUS, Num(1));
  m.set_content(p, f_program::linked, binary.content_hash(), binary.bytes);
  m.program_samplers.erase(p);
}
void use_program(Machine& m, int64_t program) {
  Node* c = m.context();
  if (program) {
    Node* p = program_of(m, program);
    if (!p || !p->get(f_program::GL_LINK_STATUS)) return m.refuse();
    m.read(p, f_program::linked);
  }
  Node* old = m.find(m.share(), c_share::programs, static_cast<uint64_t>(c->get(f_context::GL_CURRENT_PROGRAM)));
  m.set(c, f_context::GL_CURRENT_PROGRAM, Num(program));
  if (old && static_cast<int64_t>(old->key) != program && old->get(f_program::GL_DELETE_STATUS) &&
      !used_anywhere(m, old))
    end_program(m, old);
}

// Answers of the driver that the recording has.
void get_program(Machine& m, int64_t program, int64_t pname, Array params) {
  Node* p = program_of(m, program);
  if (!p || !params.count()) return;
  m.read(p, f_program::linked);
  if (pname == GL_LINK_STATUS && !params.integer(0)) m.set(p, f_program::GL_LINK_STATUS, Num(0));
}
void get_shader(Machine& m, int64_t shader, int64_t pname, Array params) {
  Node* s = shader_of(m, shader);
  if (!s || !params.count()) return;
  m.read(s, f_shader::compiled);
  if (pname == GL_COMPILE_STATUS && !params.integer(0)) m.set(s, f_shader::GL_COMPILE_STATUS, Num(0));
}
void get_object(Machine& m, int64_t object, int64_t pname, Array params) {
  if (m.find(m.share(), c_share::programs, static_cast<uint64_t>(object)))
    get_program(m, object, pname, params);
  else
    get_shader(m, object, pname, params);
}
void uniform_location(Machine& m, int64_t program, Array name, int64_t location) {
  Node* p = program_of(m, program);
  if (!p) return;
  m.read(p, f_program::linked);
  Node* n = uniform_node(m, p, location);
  if (!n) return;
  std::string text = name.text();
  // Taken for an element of the array before it until now: what was written past that array's end was dropped.
  auto stem = [](std::string_view whole) {
    return whole.substr(0, whole.ends_with(']') ? whole.rfind('[') : whole.npos);
  };
  if (const std::string* before = name_of(m, *n); before && stem(*before) != stem(text))
    m.set(n, f_uniform::components, Num(0));
  set_name(m, n, text);
  m.set(n, f_uniform::location, Num(location));
}
void attrib_location(Machine& m, int64_t program, Array name, int64_t location) {
  Node* p = program_of(m, program);
  if (!p || location < 0) return;
  m.read(p, f_program::linked);
  Node* n = m.child(p, c_program::attributes, static_cast<uint64_t>(location));
  if (!n) return;
  set_name(m, n, name.text());
  m.set(n, f_attribute_location::location, Num(location));
}
void active_uniform(Machine& m, int64_t program, Array, Array, Array) {
  Node* p = program_of(m, program);
  if (p) m.read(p, f_program::linked);
}
void uniform_block_index(Machine& m, int64_t program, Array name, int64_t index) {
  Node* p = program_of(m, program);
  if (!p || index < 0 || index >= MOST_LOCATION) return;
  m.read(p, f_program::linked);
  Node* n = m.child(p, c_program::uniform_blocks, static_cast<uint64_t>(index));
  if (!n) return;
  set_name(m, n, name.text());
  m.set(n, f_uniform_block::index, Num(index));
}
void resource_index(Machine& m, int64_t program, int64_t interface, Array name, int64_t index) {
  if (interface == GL_UNIFORM_BLOCK) return uniform_block_index(m, program, name, index);
  Node* p = program_of(m, program);
  if (!p || interface != GL_SHADER_STORAGE_BLOCK || index < 0 || index >= MOST_LOCATION) return;
  Node* n = m.child(p, c_program::storage_blocks, static_cast<uint64_t>(index));
  if (!n) return;
  set_name(m, n, name.text());
  m.set(n, f_storage_block::index, Num(index));
}
void resource_location(Machine& m, int64_t program, int64_t interface, Array name, int64_t location) {
  if (interface == GL_UNIFORM) return uniform_location(m, program, name, location);
  if (interface == GL_PROGRAM_INPUT) attrib_location(m, program, name, location);
}
void uniform_block_binding(Machine& m, int64_t program, int64_t index, int64_t binding) {
  Node* p = program_of(m, program);
  if (!p || index < 0 || index >= MOST_LOCATION) return m.refuse();
  if (Node* n = m.child(p, c_program::uniform_blocks, static_cast<uint64_t>(index))) {
    m.read(n, f_uniform_block::index);
    m.set(n, f_uniform_block::GL_UNIFORM_BLOCK_BINDING, Num(binding));
  }
}
void storage_block_binding(Machine& m, int64_t program, int64_t index, int64_t binding) {
  Node* p = program_of(m, program);
  if (!p || index < 0 || index >= MOST_LOCATION) return m.refuse();
  if (Node* n = m.child(p, c_program::storage_blocks, static_cast<uint64_t>(index))) {
    m.read(n, f_storage_block::index);
    m.set(n, f_storage_block::binding, Num(binding));
  }
}

// ---- uniforms -----------------------------------------------------------------------------------

namespace {
// The elements of an array follow each other; the name of the first gives the names of the others.
void named_after(Machine& m, Node* p, Node* n, int64_t location, int64_t first) {
  if (n->cold || location == first) return;
  Node* base = m.find(p, c_program::uniforms, static_cast<uint64_t>(first));
  const std::string* name = base ? name_of(m, *base) : nullptr;
  if (!name) return;
  std::string stem = *name;
  int64_t at = 0;
  if (!stem.empty() && stem.back() == ']') {
    size_t open = stem.rfind('[');
    if (open != stem.npos) {
      at = strtoll(stem.c_str() + open + 1, nullptr, 10);
      stem.resize(open);
    }
  }
  set_name(m, n, stem + "[" + std::to_string(at + location - first) + "]");
}
std::string_view stem_of(const std::string& name) {
  return std::string_view(name).substr(0, name.empty() || name.back() != ']' ? name.size() : name.rfind('['));
}
// A location that is known as another uniform is no element of the array that begins before it: values past an array's
// end are dropped.
bool is_other(Machine& m, Node* p, int64_t location, int64_t first) {
  Node *here = m.find(p, c_program::uniforms, static_cast<uint64_t>(location)),
       *base = m.find(p, c_program::uniforms, static_cast<uint64_t>(first));
  const std::string *name = here ? name_of(m, *here) : nullptr, *of = base ? name_of(m, *base) : nullptr;
  return name && of && stem_of(*name) != stem_of(*of);
}
void store_uniform(Machine& m, Node* p, int64_t location, int64_t first, const Num* values, unsigned n) {
  Node* u = uniform_node(m, p, location);
  if (!u) return;
  if (location != first) {
    Node* base = m.find(p, c_program::uniforms, static_cast<uint64_t>(first));
    if (base) m.read(base, f_uniform::location);
  }
  named_after(m, p, u, location, first);
  m.read(u, f_uniform::location);
  // The number of components first: the value is shown by it.
  m.set(u, f_uniform::components, Num(n));
  m.set(u, f_uniform::value, 0, values, n);
}
void values(Machine& m, Node* p, int64_t location, unsigned n, int64_t count, Array v, bool transpose = false,
            unsigned columns = 1, unsigned rows = 0) {
  if (!p || location < 0 || count < 0) return;
  m.read(p, f_program::linked);
  uint64_t known = v.count() / n;
  for (int64_t i = 0; i < std::min<int64_t>(count, static_cast<int64_t>(std::min<uint64_t>(known, 4096))); ++i) {
    if (i && is_other(m, p, location + i, location)) break;
    Num numbers[16];
    for (unsigned k = 0; k < n; ++k) {
      unsigned from = transpose ? (k % rows) * columns + k / rows : k;
      numbers[k] = v.at(static_cast<uint64_t>(i) * n + from);
    }
    store_uniform(m, p, location + i, location, numbers, n);
  }
}
}  // namespace
void uniform(Machine& m, Node* p, int64_t location, int64_t n, Num a, Num b, Num c, Num d) {
  if (!p || location < 0) return;
  m.read(p, f_program::linked);
  Num numbers[] = {a, b, c, d};
  store_uniform(m, p, location, location, numbers, static_cast<unsigned>(n));
}
void uniform_v(Machine& m, Node* p, int64_t location, int64_t n, int64_t count, Array v) {
  values(m, p, location, static_cast<unsigned>(n), count, v);
}
void uniform_matrix(Machine& m, Node* p, int64_t location, int64_t columns, int64_t rows, int64_t count,
                    int64_t transpose, Array v) {
  values(m, p, location, static_cast<unsigned>(columns * rows), count, v, transpose != 0,
         static_cast<unsigned>(columns), static_cast<unsigned>(rows));
}

// ---- pipelines, assembly programs ---------------------------------------------------------------

void bind_pipeline(Machine& m, int64_t name) {
  auto key = static_cast<uint64_t>(name);
  if (key && !m.find(m.context(), c_context::pipelines, key)) m.make(m.context(), c_context::pipelines, key);
  if (key) m.own_object(c_context::pipelines, key);
  m.set(m.context(), f_context::GL_PROGRAM_PIPELINE_BINDING, Num(name));
}
void use_program_stages(Machine& m, int64_t pipeline, int64_t stages, int64_t program) {
  Node* n = m.own_object(c_context::pipelines, static_cast<uint64_t>(pipeline));
  if (!n) return m.refuse();
  if (program) program_of(m, program);
  static const std::pair<int64_t, unsigned> bits[] = {
      {1, f_pipeline::GL_VERTEX_SHADER},           {2, f_pipeline::GL_FRAGMENT_SHADER},
      {4, f_pipeline::GL_GEOMETRY_SHADER},         {8, f_pipeline::GL_TESS_CONTROL_SHADER},
      {16, f_pipeline::GL_TESS_EVALUATION_SHADER}, {32, f_pipeline::GL_COMPUTE_SHADER}};
  for (auto& [bit, field] : bits)
    if (stages & bit) m.set(n, field, Num(program));
}
namespace {
int arb_binding(int64_t target) {
  return target == GL_VERTEX_PROGRAM_ARB     ? f_context::GL_VERTEX_PROGRAM_BINDING_NV
         : target == GL_FRAGMENT_PROGRAM_ARB ? f_context::GL_FRAGMENT_PROGRAM_BINDING_NV
                                             : -1;
}
Node* arb_program(Machine& m, int64_t target) {
  int field = arb_binding(target);
  if (field < 0) return nullptr;
  m.read(m.context(), static_cast<unsigned>(field));
  return m.object(c_share::arb_programs, static_cast<uint64_t>(m.context()->get(static_cast<unsigned>(field))));
}
}  // namespace
void bind_arb_program(Machine& m, int64_t target, int64_t name) {
  int field = arb_binding(target);
  if (field < 0) return m.refuse();
  if (name && !m.find(m.share(), c_share::arb_programs, static_cast<uint64_t>(name)))
    m.make(m.share(), c_share::arb_programs, static_cast<uint64_t>(name));
  if (Node* n = m.object(c_share::arb_programs, static_cast<uint64_t>(name)))
    m.set(n, f_arb_program::target, Num(target));
  m.set(m.context(), static_cast<unsigned>(field), Num(name));
}
void arb_program_string(Machine& m, int64_t target, Array text) {
  if (Node* n = arb_program(m, target)) m.set_content(n, f_arb_program::source, text.content_hash(), text.bytes);
}
void arb_local(Machine& m, int64_t target) {
  if (Node* n = arb_program(m, target)) m.touch_content(n, f_arb_program::locals);
}
void arb_environment(Machine& m, int64_t) { m.touch_content(m.context(), f_context::arb_environment); }

}  // namespace dt::state::run
