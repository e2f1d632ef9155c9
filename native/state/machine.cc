#include "machine.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "../common/json.h"
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

Word real_word(double v) {
  Word w;
  memcpy(&w, &v, 8);
  return w;
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

Node* Machine::add(const ClassInfo& cls, Node* parent, unsigned collection, uint64_t key, bool old) {
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
    c.reads.clear();
    if (key < NEAR) {
      if (c.near.size() <= key) c.near.resize(std::max<size_t>(key + 1, std::min<size_t>(c.near.size() * 2, NEAR)));
      c.near[key] = &n;
    } else {
      c.far[key] = &n;
    }
  }
  // An object that was there all along, and is looked at for the first time, was not made by this call.
  if (!old) log(n.base, cls.locations, Touch::write);
  if (visitor_) visitor_->created(n);
  for (unsigned i = 0; i < cls.child_count; ++i) {
    const ChildInfo& child = cls.children[i];
    for (unsigned k = 0; k < child.made; ++k) add(g_classes[child.of], &n, i, k, old);
    for (unsigned k = 0; k < child.key_count; ++k) add(g_classes[child.of], &n, i, child.keys[k], old);
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
  c.reads.clear();
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
      for (unsigned k = 0; k < n->cls->child_count; ++k) n->children[k].each([&](Node* x) { dead.push_back(x); });
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
  if (c.reads.empty()) {  // every vertex of a list asks
    Location first = 0, end = 0;
    auto keep_range = [&] {
      if (end > first) c.reads.push_back({first, end - first, static_cast<uint32_t>(Touch::read)});
    };
    c.each([&](const Node* n) {
      if (end == n->base && end) {
        end = n->base + n->cls->locations;
        return;
      }
      keep_range();
      first = n->base;
      end = n->base + n->cls->locations;
    });
    keep_range();
  }
  log_.insert(log_.end(), c.reads.begin(), c.reads.end());
}

int Machine::field_of(const ClassInfo& of, unsigned prefix, uint32_t enumerant) {
  uint64_t key = static_cast<uint64_t>(prefix) << 32 | enumerant;
  auto *at = of.by_enum, *end = at + of.by_enum_count;
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

std::string json_value(const FieldInfo& f, const Word* words, const std::function<std::string(Word)>& text) {
  auto one = [&](Word w) -> std::string {
    double v;
    memcpy(&v, &w, 8);
    char hex[28];
    switch (f.kind) {
      case Kind::boolean: return w ? "true" : "false";
      case Kind::enumerant: {
        const char* name = enum_text(f.group, static_cast<uint32_t>(w));
        if (name || !w) return json_text(name ? name : "GL_NONE");
        snprintf(hex, sizeof hex, "0x%04llx", static_cast<unsigned long long>(w));
        return json_text(hex);
      }
      case Kind::floating:
      case Kind::color:
      case Kind::real: return json_real(static_cast<float>(v));
      case Kind::integer: return std::to_string(static_cast<int64_t>(w));
      case Kind::text: return text(w);
      case Kind::address:
        if (!w) return "0";
        snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(w));
        return json_text(hex);
      default: return std::to_string(w);
    }
  };
  if (f.kind == Kind::content) {
    if (!words[0] && !words[1]) return "null";
    return json_text(words[1] ? hash_text({words[0], words[1]}) : "call " + std::to_string(words[0] - 1));
  }
  std::vector<std::string> values;
  for (unsigned i = 0; i < f.components; ++i) values.push_back(one(words[i]));
  return json_values(values);
}

std::string Machine::text(const FieldInfo& f, const Word* words) const {
  return json_value(f, words, [&](Word w) { return w < texts_.size() ? json_text(texts_[w]) : json_text(""); });
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

}  // namespace dt::state
