#include "machine.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "../core/text.h"
#include "gl.h"
#include "natives.h"
#include "vg.h"
#include "gl_enums.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dt::state {
namespace {

constexpr uint64_t NEAR = 4096;  // names below this stand in a vector
constexpr Location MOST_LOCATIONS = 1u << 30;
constexpr uint64_t BLOB_CACHE = 64ull << 20;
constexpr uint64_t MOST_INDEX = 65536;  // elements of an indexed collection

Word real_word(double v) {
  Word w;
  memcpy(&w, &v, 8);
  return w;
}

using Text = std::map<std::string, std::string, std::less<>>;

// "width=320;height=240"
Text parse_attributes(std::string_view text) {
  Text found;
  while (!text.empty()) {
    size_t end = std::min(text.find(';'), text.size());
    std::string_view item = text.substr(0, end);
    if (size_t eq = item.find('='); eq != item.npos) found[std::string(item.substr(0, eq))] = item.substr(eq + 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

const Field* field_named(const Function& f, const char* name) {
  for (auto& p : f.params)
    if (p.name == name) return &p;
  return nullptr;
}

}  // namespace

// ---- arrays -------------------------------------------------------------------------------------

namespace {
unsigned scalar_bytes(Scalar s) {
  switch (s) {
    case Scalar::u8:
    case Scalar::i8: return 1;
    case Scalar::u16:
    case Scalar::i16: return 2;
    case Scalar::u64:
    case Scalar::i64:
    case Scalar::f64:
    case Scalar::pointer: return 8;
    default: return 4;
  }
}
template <class T> T load_at(const uint8_t* p) {
  T v;
  memcpy(&v, p, sizeof v);
  return v;
}
}  // namespace

const uint8_t* Array::load() {
  if (data || kind != DT_DATA_BLOB) return data;
  if (auto bytes_of = machine->blob(hash)) {
    data = bytes_of->data();
    bytes = bytes_of->size();
  } else {
    kind = DT_DATA_FAULT;
  }
  return data;
}
uint64_t Array::count() { return load() ? bytes / scalar_bytes(scalar) : 0; }
Num Array::at(uint64_t i) {
  const uint8_t* p = data + i * scalar_bytes(scalar);
  switch (scalar) {
    case Scalar::u8: return Num(*p);
    case Scalar::i8: return Num(static_cast<int8_t>(*p));
    case Scalar::u16: return Num(load_at<uint16_t>(p));
    case Scalar::i16: return Num(load_at<int16_t>(p));
    case Scalar::u32: return Num(load_at<uint32_t>(p));
    case Scalar::i32: return Num(load_at<int32_t>(p));
    case Scalar::u64:
    case Scalar::i64:
    case Scalar::pointer: return Num(load_at<int64_t>(p));
    case Scalar::f32: return Num(load_at<float>(p));
    case Scalar::f64: return Num(load_at<double>(p));
    case Scalar::fixed: return Num::fixed(load_at<int32_t>(p));
  }
  return {};
}
std::string Array::text() {
  if (!load()) return {};
  auto* p = reinterpret_cast<const char*>(data);
  return std::string(p, strnlen(p, static_cast<size_t>(bytes)));
}
Hash128 Array::content_hash() {
  if (kind == DT_DATA_BLOB) return hash;
  if (kind != DT_DATA_INLINE || !data) return {};
  XXH128_hash_t h = XXH3_128bits(data, bytes);
  return {h.low64, h.high64};
}

std::shared_ptr<const std::vector<uint8_t>> Machine::blob(const Hash128& hash) {
  auto it = blobs_.find(hash);
  if (it != blobs_.end()) return it->second;
  std::shared_ptr<const std::vector<uint8_t>> bytes;
  try {
    bytes = std::make_shared<const std::vector<uint8_t>>(trace_->blob(hash, 256ull << 20));
  } catch (const std::exception& error) {
    if (problems.size() < 100) problems.push_back("content " + hash_text(hash) + ": " + error.what());
  }
  if (blob_bytes_ > BLOB_CACHE) blobs_.clear(), blob_bytes_ = 0;
  blob_bytes_ += bytes ? bytes->size() : 0;
  blobs_[hash] = bytes;
  return bytes;
}

Array Machine::array(const Row& w, int payload, int descriptor, int value, Scalar scalar) {
  Array a;
  a.scalar = scalar;
  a.machine = this;
  a.address = w.w8(value);
  if (payload < 0) return a;
  uint64_t d = w.w8(descriptor);
  a.kind = DT_DATA_KIND(d);
  const uint64_t* starts = w.columns->starts[static_cast<size_t>(payload)];
  if (a.kind == DT_DATA_INLINE) {
    a.bytes = starts[w.i + 1] - starts[w.i];
    a.data = w.columns->decoded->payload_base + starts[w.i];
  } else if (a.kind == DT_DATA_BLOB) {
    a.bytes = DT_DATA_LENGTH(d);
    if (starts[w.i + 1] - starts[w.i] == 16)
      memcpy(&a.hash, w.columns->decoded->payload_base + starts[w.i], 16);
    else
      a.kind = DT_DATA_FAULT;
  }
  return a;
}

// ---- nodes --------------------------------------------------------------------------------------

void Machine::place(Node* node) {
  if (MOST_LOCATIONS - next_ < node->cls->locations) throw Error(DT_E_MEMORY, "the trace has too many objects");
  node->base = next_;
  next_ += node->cls->locations;
  blocks_.push_back(node);
}

Node* Machine::add(const ClassInfo& cls, Node* parent, unsigned collection, uint64_t key, bool found) {
  Node& n = pool_.emplace_back();
  n.cls = &cls;
  n.parent = parent;
  n.collection = static_cast<uint16_t>(collection);
  n.key = key;
  n.created = event_.seq;
  n.words = std::make_unique<Word[]>(cls.words + 1u);
  memcpy(n.words.get(), cls.initial, cls.words * sizeof(Word));
  if (cls.child_count) n.children = std::make_unique<Node::Collection[]>(cls.child_count);
  place(&n);
  if (parent) {
    auto& c = parent->children[collection];
    if (key < NEAR) {
      if (c.near.size() <= key) c.near.resize(std::max<size_t>(key + 1, std::min<size_t>(c.near.size() * 2, NEAR)));
      c.near[key] = &n;
    } else {
      c.far[key] = &n;
    }
  }
  // What was there all along, and is looked at for the first time, was not made by this call.
  if (!found) log(n.base, cls.locations, Touch::write);
  if (visitor_) visitor_->created(n);
  for (unsigned i = 0; i < cls.child_count; ++i) {
    const ChildInfo& child = cls.children[i];
    for (unsigned k = 0; k < child.made; ++k) add(g_classes[child.of], &n, i, k, found);
    for (unsigned k = 0; k < child.key_count; ++k) add(g_classes[child.of], &n, i, child.keys[k], found);
  }
  return &n;
}

Node* Machine::find(Node* parent, unsigned collection, uint64_t key) {
  if (!parent || !parent->children) return nullptr;
  auto& c = parent->children[collection];
  if (key < NEAR) return key < c.near.size() ? c.near[key] : nullptr;
  auto it = c.far.find(key);
  return it == c.far.end() ? nullptr : it->second;
}

Node* Machine::child(Node* parent, unsigned collection, uint64_t key, bool make) {
  if (Node* n = find(parent, collection, key)) {
    read(n);
    return n;
  }
  if (!parent || !make) return nullptr;
  const ChildInfo& info = parent->cls->children[collection];
  if (info.style != Style::index || key >= MOST_INDEX) return nullptr;
  return add(g_classes[info.of], parent, collection, key, true);
}

Node* Machine::object(unsigned collection, uint64_t name) {
  Node* n = name ? find(share(), collection, name) : nullptr;
  read(n);
  return n;
}
Node* Machine::own_object(unsigned collection, uint64_t name) {
  Node* n = find(context(), collection, name);
  read(n);
  return n;
}

Node* Machine::make(Node* parent, unsigned collection, uint64_t key) {
  if (Node* old = find(parent, collection, key)) remove(old);
  return add(g_classes[parent->cls->children[collection].of], parent, collection, key);
}

void Machine::remove(Node* node) {
  auto& c = node->parent->children[node->collection];
  if (node->key < NEAR) {
    if (node->key < c.near.size() && c.near[node->key] == node) c.near[node->key] = nullptr;
  } else {
    c.far.erase(node->key);
  }
  log(node->base, 1, Touch::write);
  std::vector<Node*> dead{node};
  for (size_t i = 0; i < dead.size(); ++i) {
    Node* n = dead[i];
    n->alive = false;
    n->gone = event_.seq;
    for (auto it = shared_.lower_bound(n->base); it != shared_.end() && it->first < n->base + n->cls->locations;
         it = shared_.lower_bound(n->base))
      leave(it);
    if (n->children)
      for (unsigned k = 0; k < n->cls->child_count; ++k) {
        for (Node* x : n->children[k].near)
          if (x) dead.push_back(x);
        for (auto& [key, x] : n->children[k].far) dead.push_back(x);
      }
    if (visitor_) visitor_->deleted(*n);
  }
}

bool Machine::usable(const Context& context) const {
  if (std::find(by_thread_.begin(), by_thread_.end(), &context) != by_thread_.end()) return true;
  auto it = context_by_handle.find(context.handle);
  return it != context_by_handle.end() && it->second == &context && !ended_handles.count(context.handle);
}

void Machine::read_children(Node* node, unsigned collection) {
  if (!node || !node->children) return;
  auto& c = node->children[collection];
  Location first = 0, end = 0;
  auto add_range = [&](const Node* n) {
    if (end == n->base && end) {
      end = n->base + n->cls->locations;
      return;
    }
    if (end > first) log(first, end - first, Touch::read);
    first = n->base;
    end = n->base + n->cls->locations;
  };
  for (Node* n : c.near)
    if (n) add_range(n);
  for (auto& [key, n] : c.far) add_range(n);
  if (end > first) log(first, end - first, Touch::read);
}

int Machine::field_of(const Node* node, unsigned prefix, uint32_t enumerant) const {
  if (!node) return -1;
  uint64_t key = static_cast<uint64_t>(prefix) << 32 | enumerant;
  auto *at = node->cls->by_enum, *end = at + node->cls->by_enum_count;
  auto* it = std::lower_bound(at, end, key, [](const EnumField& e, uint64_t k) { return e.key < k; });
  return it != end && it->key == key ? it->field : -1;
}

// ---- values -------------------------------------------------------------------------------------

Word Machine::convert(Kind kind, const Num& n) const {
  switch (kind) {
    case Kind::boolean: return n.real ? n.f != 0 : n.i != 0;
    case Kind::enumerant:
    case Kind::mask:
    case Kind::name: return static_cast<uint32_t>(n.integer());
    case Kind::integer: return static_cast<Word>(n.integer());
    case Kind::floating: return real_word(static_cast<double>(static_cast<float>(n.floating())));
    case Kind::color:
      return real_word(
          n.real ? static_cast<double>(static_cast<float>(n.f))
                 : static_cast<double>(static_cast<float>((2.0 * static_cast<double>(n.i) + 1.0) / 4294967295.0)));
    case Kind::real: return real_word(n.floating());
    default: return static_cast<Word>(n.integer());
  }
}

void Machine::set_words(Node* node, unsigned field, unsigned element, const Word* words) {
  const FieldInfo& f = node->cls->fields[field];
  if (element >= f.elements) return;
  Word* to = &node->words[f.word + element * f.components];
  Location at = node->base + f.location + element;
  log(at, 1, Touch::write);
  if (!memcmp(to, words, f.components * sizeof(Word))) return;
  memcpy(to, words, f.components * sizeof(Word));
  if (visitor_) visitor_->changed(at, {node, &f, to, element});
}

void Machine::set(Node* node, unsigned field, unsigned element, const Num* numbers, unsigned count) {
  if (!node) return;
  const FieldInfo& f = node->cls->fields[field];
  Word words[16];
  unsigned n = std::min<unsigned>(f.components, 16);
  for (unsigned i = 0; i < n; ++i)
    words[i] = i < count ? convert(f.kind, numbers[i])
               : count == 1 && f.components == 2 && f.kind == Kind::enumerant
                   ? words[0]
                   : node->at(field, std::min<unsigned>(element, f.elements - 1u))[i];
  set_words(node, field, element, words);
}
void Machine::set_all(Node* node, unsigned field, std::initializer_list<Num> numbers) {
  if (!node) return;
  const FieldInfo& f = node->cls->fields[field];
  size_t before = log_.size();
  for (unsigned e = 0; e < f.elements; ++e) set(node, field, e, numbers.begin(), static_cast<unsigned>(numbers.size()));
  log_.resize(before);
  log(node->location(field), f.elements, Touch::write);
}
void Machine::set(Node* node, unsigned field, unsigned element, Array array, uint64_t first) {
  if (!node) return;
  const FieldInfo& f = node->cls->fields[field];
  uint64_t n = array.count();
  if (n <= first) return;
  Num numbers[16];
  unsigned count = static_cast<unsigned>(std::min<uint64_t>({n - first, f.components, 16}));
  for (unsigned i = 0; i < count; ++i) numbers[i] = array.at(first + i);
  set(node, field, element, numbers, count);
}
void Machine::set_any(Node* node, unsigned prefix, uint32_t enumerant, unsigned element,
                      std::initializer_list<Num> numbers) {
  int field = field_of(node, prefix, enumerant);
  if (field >= 0) set(node, static_cast<unsigned>(field), element, numbers);
}
void Machine::set_any(Node* node, unsigned prefix, uint32_t enumerant, unsigned element, Array array) {
  int field = field_of(node, prefix, enumerant);
  if (field >= 0) set(node, static_cast<unsigned>(field), element, array);
}
void Machine::set_text(Node* node, unsigned field, std::string_view text) {
  if (!node) return;
  auto [it, made] = text_numbers_.try_emplace(std::string(text), texts_.size());
  if (made) texts_.emplace_back(text);
  Word w = it->second;
  set_words(node, field, 0, &w);
}
void Machine::set_content(Node* node, unsigned field, const Hash128& hash, uint64_t bytes) {
  if (!node) return;
  Word words[2] = {hash.low, hash.high};
  if (!hash.low && !hash.high) words[0] = event_.seq + 1;  // content nobody recorded: when it was made
  set_words(node, field, 0, words);
  if (bytes && visitor_) visitor_->upload(node->location(field), bytes, hash);
}
void Machine::uploaded(Node* node, unsigned field, uint64_t bytes, const Hash128& hash) {
  if (node && visitor_) visitor_->upload(node->location(field), bytes, hash);
}
void Machine::touch_content(Node* node, unsigned field) {
  if (!node) return;
  const FieldInfo& f = node->cls->fields[field];
  Word* to = &node->words[f.word];
  log(node->base + f.location, 1, Touch::part);
  Word words[2] = {event_.seq + 1, 0};
  if (to[0] == words[0] && to[1] == 0) return;
  memcpy(to, words, sizeof words);
  if (visitor_) visitor_->changed(node->base + f.location, {node, &f, to, 0});
}

void Machine::share_content(Node* node, unsigned field, Node* with, unsigned with_field, uint64_t extent,
                            uint64_t with_extent) {
  if (!node || !with || node == with) return;
  own_content(node, field);
  Sharers& all = shared_[with->location(with_field)];
  if (!all) all = std::make_shared<std::vector<Sharer>>(1, Sharer{with, with_field, with_extent});
  all->push_back({node, field, extent});
  shared_[node->location(field)] = all;
  shared_now_.push_back(node->location(field));
}
void Machine::own_content(Node* node, unsigned field) {
  if (shared_.empty() || !node) return;
  if (auto it = shared_.find(node->location(field)); it != shared_.end()) leave(it);
}
bool Machine::one_content(const Node* node, unsigned field, const Node* other, unsigned other_field) const {
  auto one = shared_.find(node->location(field)), two = shared_.find(other->location(other_field));
  return one != shared_.end() && two != shared_.end() && one->second == two->second;
}
void Machine::leave(std::map<Location, Sharers>::iterator at) {
  const Location location = at->first;
  Sharers all = at->second;
  shared_.erase(at);
  std::erase_if(*all, [&](auto& s) { return s.node->location(s.field) == location; });
  if (all->size() == 1) shared_.erase((*all)[0].node->location((*all)[0].field));
}
void Machine::note_vg_writes() {
  if (std::exchange(vg_exchanged, false)) return;
  for (const Access& a : log_) {
    if (a.touch() == Touch::read) continue;
    auto meets = [&](Location l) { return l >= a.first && l < a.first + a.count; };
    for (auto& shared : vg_shared) {
      shared.ours |= meets(shared.image->location(f_vg_image::content));
      shared.theirs |= meets(shared.image->location(f_vg_image::shown));
    }
  }
}
void Machine::begin_section() {
  tell_sharers();
  sections_.push_back({static_cast<uint32_t>(log_.size()), 0});
}
void Machine::end_section() {
  tell_sharers();
  sections_.back().end = static_cast<uint32_t>(log_.size());
  if (sections_.back().end == sections_.back().first) sections_.pop_back();
}
void Machine::tell_sharers() {
  const size_t first = std::exchange(told_, log_.size()), end = told_;
  for (size_t i = first; !shared_.empty() && i < end; ++i) {
    const Access a = log_[i];
    if (a.touch() == Touch::read) continue;
    for (auto it = shared_.lower_bound(a.first); it != shared_.end() && it->first < a.first + a.count; ++it) {
      const Location from = it->first;
      if (std::find(shared_now_.begin(), shared_now_.end(), from) != shared_now_.end()) continue;
      uint64_t extent = 0;
      for (auto& s : *it->second)
        if (s.node->location(s.field) == from) extent = s.extent;
      for (auto& s : *it->second) {
        if (s.node->location(s.field) == from) continue;
        if (a.touch() == Touch::write && s.extent == extent)
          set_content(s.node, s.field, {}, 0);
        else
          touch_content(s.node, s.field);
      }
    }
  }
  told_ = log_.size();
}

// ---- names and text -----------------------------------------------------------------------------

const Node& Machine::owner(Location location) const {
  auto it =
      std::upper_bound(blocks_.begin(), blocks_.end(), location, [](Location l, const Node* n) { return l < n->base; });
  return **(it - 1);
}
const FieldInfo* Machine::field(Location location, unsigned* element) const {
  const Node& n = owner(location);
  unsigned at = location - n.base;
  if (!at) return nullptr;
  auto *fields = n.cls->fields, *end = fields + n.cls->field_count;
  auto* it = std::upper_bound(fields, end, at, [](unsigned a, const FieldInfo& f) { return a < f.location; }) - 1;
  if (element) *element = at - it->location;
  return it;
}
bool Machine::is_content(Location location) const {
  auto* f = field(location);
  return f && f->kind == Kind::content;
}

std::string Machine::path(const Node& node) const {
  if (!node.parent) return {};
  std::string text = path(*node.parent);
  if (!text.empty()) text += '.';
  const ChildInfo& c = node.parent->cls->children[node.collection];
  if (c.style == Style::enumerant) {
    const char* name =
        enum_text(node.cls == &g_classes[class_vg_matrix] ? "VGMatrixMode" : nullptr, static_cast<uint32_t>(node.key));
    bool bare = !strcmp(c.name, "attachments") || !strcmp(c.name, "arrays");
    if (!bare) text += std::string(c.name) + ".";
    if (node.key == GL_FRONT || node.key == GL_BACK) name = node.key == GL_FRONT ? "GL_FRONT" : "GL_BACK";
    if (name)
      text += name;
    else {
      char hex[20];
      snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(node.key));
      text += hex;
    }
    return text;
  }
  if (node.cls == &g_classes[class_level] && node.key >= 64) {  // faces of a cube map
    const char* face = enum_text(nullptr, GL_TEXTURE_CUBE_MAP_POSITIVE_X + static_cast<uint32_t>(node.key / 64 - 1));
    return text + (face ? face : "GL_NONE") + ".levels[" + std::to_string(node.key % 64) + "]";
  }
  bool handle = false;
  for (const char* of : {"handles", "surfaces", "syncs", "configs", "made_contexts", "displays"})
    handle = handle || !strcmp(c.name, of);
  text += c.name;
  if (handle) {
    char hex[24];
    snprintf(hex, sizeof hex, "[0x%llx]", static_cast<unsigned long long>(node.key));
    return text + hex;
  }
  if (node.cls == &g_classes[class_uniform] || node.cls == &g_classes[class_uniform_block] ||
      node.cls == &g_classes[class_storage_block] || node.cls == &g_classes[class_attribute_location]) {
    const std::string* name = run::name_of(*const_cast<Machine*>(this), node);
    return text + "[" + (name ? json_text(*name) : std::to_string(node.key)) + "]";
  }
  return text + "[" + std::to_string(node.key) + "]";
}
std::string Machine::path(const Node& node, const FieldInfo& field, unsigned element) const {
  std::string text = path(node);
  if (node.cls == &g_classes[class_uniform] && !strcmp(field.name, "value")) return text;
  if (node.cls == &g_classes[class_attribute_location]) return text;
  if (node.cls == &g_classes[class_clip_plane]) return text;
  if (!text.empty()) text += '.';
  text += field.name;
  if (field.always_indexed || (element && field.elements > 1)) text += "[" + std::to_string(element) + "]";
  return text;
}
std::string Machine::path(Location location) const {
  if (location >= next_) return {};
  unsigned element = 0;
  const Node& n = owner(location);
  const FieldInfo* f = field(location, &element);
  return f ? path(n, *f, element) : path(n);
}

std::string json_number(double value, bool single) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  char buffer[40];
  auto end = single ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value))
                    : std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end.ptr);
}

std::string json_value(const FieldInfo& f, const Word* words, const std::function<std::string(Word)>& text) {
  auto one = [&](Word w) -> std::string {
    double v;
    memcpy(&v, &w, 8);
    char hex[28];
    switch (f.kind) {
      case Kind::boolean: return w ? "true" : "false";
      case Kind::enumerant: {
        const char* name = enum_text(f.group, static_cast<uint32_t>(w));
        if (name) return std::string("\"") + name + "\"";
        if (!w) return "\"GL_NONE\"";
        snprintf(hex, sizeof hex, "\"0x%04llx\"", static_cast<unsigned long long>(w));
        return hex;
      }
      case Kind::floating:
      case Kind::color:
      case Kind::real: return json_number(v, true);
      case Kind::integer: return std::to_string(static_cast<int64_t>(w));
      case Kind::text: return text(w);
      case Kind::address:
        if (!w) return "0";
        snprintf(hex, sizeof hex, "\"0x%llx\"", static_cast<unsigned long long>(w));
        return hex;
      default: return std::to_string(w);
    }
  };
  if (f.kind == Kind::content) {
    if (!words[0] && !words[1]) return "null";
    if (!words[1]) return "\"call " + std::to_string(words[0] - 1) + "\"";
    return "\"" + hash_text({words[0], words[1]}) + "\"";
  }
  if (f.components == 1) return one(words[0]);
  std::string list = "[";
  for (unsigned i = 0; i < f.components; ++i) list += (i ? ", " : "") + one(words[i]);
  return list + "]";
}

std::string Machine::text(const FieldInfo& f, const Word* words) const {
  return json_value(f, words, [&](Word w) { return w < texts_.size() ? json_text(texts_[w]) : std::string("\"\""); });
}

std::string Machine::text(const Value& value) const {
  // A uniform has as many components as were given.
  if (value.node->cls == &g_classes[class_uniform] && value.field == &value.node->cls->fields[f_uniform::value]) {
    auto n = static_cast<unsigned>(std::clamp<int64_t>(value.node->get(f_uniform::components), 1, 16));
    FieldInfo f = *value.field;
    f.components = static_cast<uint16_t>(n);
    return text(f, value.words);
  }
  return text(*value.field, value.words);
}

// ---- walking ------------------------------------------------------------------------------------

Machine::Machine(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {
  texts_.emplace_back();
  text_numbers_[""] = 0;
  root_ = add(g_classes[class_root], nullptr, 0, 0);
  mapping_ = play::map_functions(*trace_);
  by_thread_.resize(trace_->threads.size());
  vg_by_thread_.resize(trace_->threads.size());
  vg_surface_by_thread_.resize(trace_->threads.size());
  errors_.resize(trace_->threads.size());
  for (size_t i = 0; i < trace_->threads.size() && i < MOST_INDEX; ++i)
    threads_.push_back(add(g_classes[class_thread], root_, c_root::threads, i));
  log_.clear();
}
Machine::~Machine() = default;

Node* Machine::surface(uint64_t handle, bool make_it) {
  if (!handle) return nullptr;
  Node* n = find(root_, c_root::surfaces, handle);
  if (!n && make_it) n = add(g_classes[class_surface], root_, c_root::surfaces, handle);
  return n;
}

void Machine::make_current(uint32_t thread, uint64_t handle, uint64_t draw, uint64_t read_surface, uint32_t id,
                           uint32_t group, uint32_t api) {
  if (thread >= by_thread_.size()) return;
  for (Node* made = id ? find(root_, c_root::made_contexts, handle) : nullptr; made; made = nullptr)
    note(made, f_creation::number, Num(id));
  if (api == 3) return vg_make_current(thread, handle, draw, id, group);  // OpenVG has a current context of its own
  Node* t = thread < threads_.size() ? threads_[thread] : nullptr;
  if (t) {
    log(t->location(f_thread::context), 4, Touch::write);
    Word words[] = {id, draw, read_surface, api};
    for (unsigned i = 0; i < 4; ++i) set_words(t, i, 0, &words[i]);
  }
  if (!id) {
    by_thread_[thread] = nullptr;
    return;
  }
  auto& c = contexts[id];
  if (!c) {
    auto& s = shares[group];
    if (!s) {
      s = std::make_unique<Share>();
      s->id = group;
      s->node = add(g_classes[class_share], root_, c_root::shares, group);
    }
    c = std::make_unique<Context>();
    c->id = id;
    c->share = s.get();
    c->api = api;
    c->handle = handle;
    context_by_handle[handle] = c.get();
    c->node = add(g_classes[class_context], root_, c_root::contexts, id);
    run::context_made(*this, *c);
  }
  by_thread_[thread] = c.get();
  c->draw = surface(draw);
  c->read = surface(read_surface);
  if (Node* s = c->draw) read(s);
  run::context_current(*this, *c);
}

void Machine::vg_make_current(uint32_t thread, uint64_t handle, uint64_t draw, uint32_t id, uint32_t group) {
  if (Node* t = thread < threads_.size() ? threads_[thread] : nullptr) {
    set(t, f_thread::vg_context, Num(id));
    set(t, f_thread::vg_draw, Num(static_cast<int64_t>(draw)));
  }
  VgContext* c = nullptr;
  Node* to = nullptr;
  if (id) {
    vg_handles.insert(handle);
    c = &vg_contexts_[id];
    if (!c->node) {
      c->id = id;
      c->share = find(root_, c_root::vg_shares, group);
      if (!c->share) c->share = add(g_classes[class_vg_share], root_, c_root::vg_shares, group);
      c->node = add(g_classes[class_vg_context], root_, c_root::vg_contexts, id);
    }
    to = surface(draw);
    read(to);
    vg_share_by_handle[handle] = c->share;
  }
  vg_by_thread_[thread] = c;
  Node* before = std::exchange(vg_surface_by_thread_[thread], to);
  if (before && before != to) run::vg_surface_left(*this, before);
}

std::unordered_set<const Node*> Machine::vg_held() const {
  std::unordered_set<const Node*> held;
  // What refers to something is there itself: by its name, or because something that is there refers to it.
  for (bool more = true; more;) {
    more = false;
    for (auto& [from, to] : vg_refers)
      if (to && (from.first->alive || held.count(from.first)) && held.insert(to).second) more = true;
  }
  return held;
}

void Machine::note(Node* node, unsigned field, Num number) {
  size_t before = log_.size();
  set(node, field, number);
  log_.resize(before);
}
void Machine::note_text(Node* node, unsigned field, std::string_view text) {
  size_t before = log_.size();
  set_text(node, field, text);
  log_.resize(before);
}

// Whether the program learned, right after this call, that it had raised an error: then it did nothing else.
bool Machine::had_error(const play::Decoded& chunk, uint32_t record) const {
  if (errors_[thread_]) return false;
  for (uint32_t next = record + 1; next < chunk.records; ++next) {
    int known = chunk.known[chunk.order[next]];
    if (known == -1) continue;  // the tap's own
    if (known < 0 || !(g_commands[known].flags & CMD_GET_ERROR)) return false;
    auto& columns = chunk.columns[chunk.order[next]];
    return !columns.w4.empty() && columns.w4[0][chunk.ordinals[next]] != 0;
  }
  return false;
}

void Machine::run(const Listed& listed, unsigned depth) {
  const Command& command = g_commands[listed.known];
  if (!command.apply || depth > 64) return;
  event_.deeds |= command.flags & 63;
  if (context_->in_begin && !(command.flags & CMD_IN_BEGIN)) return;
  direct_unit = direct_texture = nullptr;
  command.apply(*this, Row{listed.columns, listed.row});
  if (listed.arrays) run::forget_current(*this, listed.arrays);
}

// What the log says from `first` on is what a store through a mapping touched.
void Machine::tell_stored(const play::Decoded& chunk, uint32_t record, size_t first) {
  tell_sharers();
  if (map_rows_.empty()) map_rows_ = trace_->tap_rows(DT_FN_MAP_WRITE);
  StoreEvent event;
  event.row = map_rows_[chunk.open->index] + chunk.ordinals[record];
  event.seq = std::min(event_.seq, trace_->calls);
  event.thread = thread_;
  event.accesses = std::span(log_).subspan(first);
  visitor_->stored(event);
  log_.resize(first);
  told_ = first;
}

void Machine::tap_record(play::Decoded* chunk, uint32_t record, unsigned function) {
  const play::Columns& columns = chunk->columns[chunk->order[record]];
  const FunctionColumns& c = *columns.decoded;
  if (!c.function) return;
  uint32_t row = chunk->ordinals[record];
  auto value = [&](const char* name) {
    const Field* f = field_named(*c.function, name);
    return f ? c.raw(*f, row) : 0;
  };
  switch (function) {
    case DT_FN_CONTEXT:
      return make_current(chunk->thread, value("handle"), value("draw"), value("read"),
                          static_cast<uint32_t>(value("context")), static_cast<uint32_t>(value("share_group")),
                          static_cast<uint32_t>(value("api")));
    case DT_FN_MAP_WRITE: {
      if (!context_) return;
      const size_t first = log_.size();
      if (thread_ < threads_.size()) read(threads_[thread_], f_thread::context);
      read(context_->node);
      Node* n = object(c_share::buffers, value("buffer"));
      read(n, f_buffer::GL_BUFFER_MAPPED);
      auto offset = static_cast<int64_t>(value("offset"));
      if (const Field* f = field_named(*c.function, "data"); f && f->has_data()) {
        auto bytes = static_cast<int64_t>(DT_DATA_LENGTH(c.descriptor(*f, row)));
        touch_content(n, f_buffer::content, {{offset, 0, 0}, {offset + bytes, 1, 1}});
        uploaded(n, f_buffer::content, static_cast<uint64_t>(bytes), {});
      }
      tell_stored(*chunk, record, first);
      return;
    }
    case DT_FN_MEMORY: {
      if (const Field* f = field_named(*c.function, "address"); f && f->has_data())
        client_bytes_ += DT_DATA_LENGTH(c.descriptor(*f, row));
      return;
    }
    case DT_FN_NATIVE: {
      const Field *kind = field_named(*c.function, "kind"), *text = field_named(*c.function, "text");
      if (!kind || !text || !kind->has_data() || !text->has_data()) return;
      if (DT_DATA_KIND(c.descriptor(*kind, row)) != DT_DATA_INLINE ||
          DT_DATA_KIND(c.descriptor(*text, row)) != DT_DATA_INLINE)
        return;
      std::string_view name = c.payload(*kind, row);
      if (name == "config") {
        Node* n = find(root_, c_root::configs, value("handle"));
        if (!n) n = add(g_classes[class_config], root_, c_root::configs, value("handle"), true);
        for (auto& [key, number] : parse_attributes(c.payload(*text, row)))
          for (unsigned f = 0; f < n->cls->field_count; ++f)
            if (key == n->cls->fields[f].name)
              note(n, f, Num(static_cast<int64_t>(strtoll(number.c_str(), nullptr, 10))));
      }
      if (name == "surface" || name == "window") {
        Text about = parse_attributes(c.payload(*text, row));
        if (Node* n = surface(value("handle"))) {
          // What GLX draws to without having made it: no call says what it is.
          if (name == "window") note_text(n, f_surface::kind, name);
          auto number = [&](const char* key) {
            return Num(static_cast<int64_t>(strtoll(about[key].c_str(), nullptr, 10)));
          };
          if (about.count("width")) set(n, f_surface::width, number("width"));
          if (about.count("height")) set(n, f_surface::height, number("height"));
          // The surface that a context draws to first gives its viewport a size.
          for (auto& [id, c] : contexts)
            if (c->draw == n && !c->started) run::context_current(*this, *c);
        }
      }
      return;
    }
    default: return;
  }
}

void Machine::vg_apply(const Command& command, const play::Decoded& chunk, const play::Columns& columns,
                       uint32_t record) {
  if (command.flags & CMD_GET_ERROR) {
    if (!columns.w4.empty() && columns.w4[0][chunk.ordinals[record]]) errors_[thread_] = 0;
    event_.deeds |= DEED_QUERY;
    return;
  }
  if (!vg_) {
    event_.applied = false;
    return;
  }
  event_.context = vg_->id;
  if (thread_ < threads_.size()) {
    read(threads_[thread_], f_thread::vg_context);
    read(threads_[thread_], f_thread::vg_draw);
  }
  read(vg_->node);
  if (had_error(chunk, record)) {
    event_.applied = false;
    return;
  }
  if (command.apply)
    command.apply(*this, Row{&columns, chunk.ordinals[record]});
  else if (command.flags & (CMD_DRAW | CMD_CLEAR))
    run::vg_draw_unknown(*this);
}

void Machine::apply(play::Decoded* chunk, uint32_t record) {
  uint32_t f = chunk->order[record];
  int known = chunk->known[f];
  const play::Columns& columns = chunk->columns[f];
  event_.function = columns.function;
  if (known < 0) {
    if (columns.function && columns.function->api != "gl")
      natives_call(*this, *columns.function, *columns.decoded, chunk->ordinals[record]);
    return;
  }
  const Command& command = g_commands[known];
  uint32_t flags = command.flags;
  static_assert(+CMD_DRAW == +DEED_DRAW && +CMD_CLEAR == +DEED_CLEAR && +CMD_DISPATCH == +DEED_DISPATCH &&
                +CMD_UPLOAD == +DEED_UPLOAD && +CMD_READBACK == +DEED_READBACK && +CMD_COPY == +DEED_COPY);
  event_.deeds |= flags & 63;
  if (flags & CMD_QUERY) event_.deeds |= DEED_QUERY;
  if (flags & CMD_VG) {
    return vg_apply(command, *chunk, columns, record);
  }
  if (!(flags & CMD_GL)) {
    natives_call(*this, *columns.function, *columns.decoded, chunk->ordinals[record]);
    if (flags & CMD_SHOWS) event_.deeds |= DEED_SHOWS;
    return;
  }
  if (flags & CMD_GET_ERROR) {
    if (!columns.w4.empty() && columns.w4[0][chunk->ordinals[record]]) errors_[thread_] = 0;
    event_.deeds |= DEED_QUERY;
    return;
  }
  if (!context_) {
    event_.applied = false;
    return;
  }
  if (thread_ < threads_.size()) read(threads_[thread_], f_thread::context);
  read(context_->node);
  if (!(flags & CMD_MANY) && had_error(*chunk, record)) {
    event_.applied = false;
    return;
  }
  if (context_->list && !(flags & CMD_NOT_LISTED)) {
    if (command.apply) {
      if (context_->compiling && context_->compiling->calls.size() < 1u << 24)
        context_->compiling->calls.push_back({feed_->shared(), &columns, chunk->ordinals[record],
                                              static_cast<uint32_t>(known),
                                              flags & CMD_ARRAYS ? run::arrays_on(*this) : 0});
      run::listed(*this);
    }
    if (context_->list_mode == GL_COMPILE) {
      event_.deeds = DEED_COMPILED;
      return;
    }
  }
  if (context_->in_begin && !(flags & CMD_IN_BEGIN) && !(flags & CMD_QUERY)) {
    event_.applied = false;  // GL_INVALID_OPERATION
    return;
  }
  direct_unit = direct_texture = nullptr;
  if (command.apply)
    command.apply(*this, Row{&columns, chunk->ordinals[record]});
  else if (flags & (CMD_DRAW | CMD_CLEAR))
    run::draw_unknown(*this);
  if (context_->list && flags & CMD_ARRAYS) run::forget_current(*this, run::arrays_on(*this));
  if (context_->in_begin && !(flags & CMD_QUERY)) event_.deeds &= ~static_cast<uint32_t>(DEED_DRAW);
}

void Machine::walk(Visitor& visitor) {
  visitor_ = &visitor;
  feed_ = std::make_unique<play::Feed>(*trace_, mapping_, 8);
  auto frames = trace_->frames();
  size_t frame = 0;
  for (Node* n : blocks_) visitor.created(*n);
  play::Decoded* chunk = nullptr;
  uint32_t record = 0;
  // per thread: up to which record of its chunk the tap's were taken in
  std::vector<uint32_t> ahead(by_thread_.size());
  uint64_t seq = 0, started = trace_->generation.load(), done = 0;
  while (feed_->next(chunk, record, seq)) {
    event_.seq = seq;
    thread_ = chunk->thread;
    if (thread_ >= by_thread_.size()) continue;
    context_ = by_thread_[thread_];
    vg_ = vg_by_thread_[thread_];
    if (record == 0) ahead[thread_] = 0;
    if (chunk->known[chunk->order[record]] == -1) {
      if (record < ahead[thread_]) continue;
      tap_record(chunk, record, chunk->open->info.functions[chunk->order[record]].id());
      continue;
    }
    if (!context_ && chunk->columns[chunk->order[record]].function &&
        chunk->columns[chunk->order[record]].function->api == "gl") {
      if (uint32_t id = chunk->open->context(record)) {
        make_current(thread_, 0, 0, 0, id, contexts.count(id) ? contexts[id]->share->id : id, 0);
        context_ = by_thread_[thread_];
      }
    }
    event_.frame = frame;
    event_.thread = thread_;
    event_.context = context_ ? context_->id : 0;
    event_.deeds = 0;
    event_.applied = true;
    draw_ = Draw{};
    draw_.client_bytes = client_bytes_;
    client_bytes_ = 0;
    list_calls = 0;
    apply(chunk, record);
    if (event_.function && event_.function->flags & FLAG_MAKE_CURRENT) {
      // What the tap noted right after it belongs to it, unless it is about the call behind.
      uint32_t& next = ahead[thread_];
      for (next = record + 1; next < chunk->records && chunk->known[chunk->order[next]] == -1; ++next) {
        const unsigned id = chunk->open->info.functions[chunk->order[next]].id();
        if (id == DT_FN_MAP_WRITE || id == DT_FN_MEMORY) break;
        tap_record(chunk, next, id);
      }
    }
    if (frame < frames->ends.size() && seq == frames->ends[frame]) {
      event_.deeds |= DEED_FRAME_END;
      ++frame;
    }
    if (!event_.applied) log_.clear(), sections_.clear(), told_ = 0;
    tell_sharers();
    shared_now_.clear();
    if (!vg_shared.empty()) note_vg_writes();
    event_.first = log_.data();
    event_.count = static_cast<uint32_t>(log_.size());
    event_.sections = sections_;
    if (event_.applied && event_.deeds & (DEED_DRAW | DEED_CLEAR | DEED_DISPATCH)) visitor.draw(event_, draw_);
    visitor.call(event_);
    log_.clear();
    sections_.clear();
    told_ = 0;
    if (!visitor.wanted()) break;
    if ((++done & 0xfff) == 0 && trace_->generation.load(std::memory_order_relaxed) != started)
      throw Error(DT_E_CANCELLED, "cancelled");
  }
  for (auto& p : feed_->problems()) problems.push_back(p);
  feed_.reset();
  visitor_ = nullptr;
}

}  // namespace dt::state
