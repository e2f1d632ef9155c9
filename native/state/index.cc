#include "index.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "contents.h"
#include "gl.h"
#include "spool.h"
#include "gl_enums.h"
#include "vg_enums.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dt::state {

std::atomic<uint64_t> g_cancel{0};

namespace {

constexpr char MAGIC[8] = {'D', 'T', 'S', 'T', 'A', 'T', 'E', '6'};
constexpr uint64_t CACHE_BYTES = 2ull << 30;

struct StoredChange {
  uint32_t location, seq;
  uint64_t value;
};

uint32_t class_of(const Node& n) { return static_cast<uint32_t>(n.cls - g_classes); }

}  // namespace

bool is_resource(uint32_t cls) {
  switch (cls) {
    case class_buffer:
    case class_texture:
    case class_renderbuffer:
    case class_shader:
    case class_program:
    case class_framebuffer:
    case class_vertex_array:
    case class_sampler:
    case class_query:
    case class_list:
    case class_sync:
    case class_transform_feedback:
    case class_pipeline:
    case class_arb_program:
    case class_vg_path:
    case class_vg_paint:
    case class_vg_image:
    case class_vg_font:
    case class_vg_mask_layer: return true;
    default: return false;
  }
}

bool shown(const ClassInfo& cls, const FieldInfo& field) {
  auto c = static_cast<unsigned>(&cls - g_classes);
  if (c == class_saved || c == class_matrix || c == class_handle || c == class_root) return false;
  if (c == class_uniform) return !strcmp(field.name, "value");
  if (c == class_context) {
    if (field.kind == Kind::content) return !strcmp(field.name, "polygon_stipple");
    return strcmp(field.name, "condition") != 0;
  }
  if (c == class_vg_context) return field.kind != Kind::content;
  if (c == class_program && field.kind == Kind::content) return !strcmp(field.name, "linked");
  return true;
}

namespace {

// Gathers what the walk tells.
class Gather : public Visitor {
 public:
  Gather(Machine& m, const std::string& folder)
      : changes(folder), pool(folder), draws(folder), numbers(folder), contents(m, folder, numbers), m_(m),
        cancel_(g_cancel.load()) {}

  void changed(Location location, const Value& v) override {
    const FieldInfo& f = *v.field;
    contents.changed(*v.node);
    if (f.kind == Kind::content && !v.words[1]) {
      // Targets change with every draw: that stands in `draws`.
      auto c = class_of(*v.node);
      if (c == class_surface || c == class_context || c == class_renderbuffer || c == class_handle ||
          c == class_saved || (c != class_buffer && m_.deeds() & (DEED_DRAW | DEED_CLEAR)))
        return;
    }
    if (f.elements > 1 && !f.always_indexed && !split_.contains(location - v.element)) {
      // While all elements are alike only the first is kept.
      if (arrays_.empty() || arrays_.back().first != location - v.element) arrays_.push_back({location - v.element, v});
      if (v.element) return;
    }
    keep(location, f, v.words);
  }
  void created(const Node& n) override {
    if (at_.size() < n.base + 1ull)
      at_.resize(std::max<size_t>(n.base + n.cls->locations + 1ull, at_.size() * 2), NEVER);
    at_[n.base] = static_cast<uint32_t>(nodes_++);
    contents.created(n);
    resource_of_.push_back(NEVER);
    if (is_resource(class_of(n))) {
      resource_of_.back() = static_cast<uint32_t>(resources.size());
      resources.push_back({static_cast<uint32_t>(nodes_ - 1), 0, 0, NEVER, NEVER, 0, 0, 0, 0});
    }
  }
  void upload(Location location, uint64_t bytes, const Hash128& hash) override {
    contents.upload(location, bytes, hash);
    if (Resource* r = resource(m_.owner(location))) {
      ++r->uploads;
      r->uploaded_bytes += bytes;
      r->hash_low = hash.low;
      r->hash_high = hash.high;
    }
  }
  void draw(const CallEvent& e, const Draw& d) override;
  void objects(const CallEvent& e, DrawRow& r);
  void stored(const StoreEvent& e) override { contents.stored(e); }
  void call(const CallEvent& e) override {
    contents.call(e);
    for (auto& [first, v] : arrays_) {
      const FieldInfo& f = *v.field;
      const Word* words = &v.node->words[f.word];
      bool alike = true;
      for (unsigned e = 1; e < f.elements && alike; ++e)
        alike = !memcmp(words, words + e * f.components, f.components * sizeof(Word));
      if (alike || !split_.insert(first).second) continue;
      for (unsigned e = 1; e < f.elements; ++e) keep(first + e, f, words + e * f.components);
    }
    arrays_.clear();
    if ((++calls_ & 0xffff) == 0 && g_cancel.load(std::memory_order_relaxed) != cancel_)
      throw Error(DT_E_CANCELLED, "cancelled");
  }

  Spool<StoredChange> changes;
  Spool<uint64_t> pool;
  Spool<DrawRow> draws;
  Spool<uint32_t> numbers;
  Contents contents;
  std::vector<Resource> resources;
  std::vector<uint32_t> starts;  // how many changes a location has, behind its place

 private:
  void keep(Location location, const FieldInfo& f, const Word* words) {
    uint64_t value = words[0];
    if (f.components > 1) {
      value = pool.size();
      pool.append(words, f.components);
    }
    if (starts.size() < location + 2ull) starts.resize(std::max<size_t>(location + 2ull, starts.size() * 2), 0);
    ++starts[location + 1ull];
    changes.push_back({location, static_cast<uint32_t>(m_.seq()), value});
  }
  Resource* resource(const Node& node) {
    const Node* n = &node;
    while (n && !is_resource(class_of(*n))) n = n->parent;
    if (!n) return nullptr;
    uint32_t block = at_[n->base];
    return block < resource_of_.size() && resource_of_[block] != NEVER ? &resources[resource_of_[block]] : nullptr;
  }
  Machine& m_;
  std::vector<std::pair<Location, Value>> arrays_;  // of which an element was changed by this call
  std::unordered_set<Location> split_;              // arrays whose elements are not alike any more
  uint64_t nodes_ = 0, calls_ = 0, cancel_;
  std::vector<uint32_t> at_;           // by the location of an existence: number of the node
  std::vector<uint32_t> resource_of_;  // by node
  std::vector<uint32_t> textures_, buffers_, targets_;
};

void Gather::draw(const CallEvent& e, const Draw& d) {
  Context* context = m_.current();
  if (d.vector ? !m_.vg_context() : !context) return;
  Node* c = d.vector ? m_.vg_context() : context->node;
  DrawRow r{};
  r.seq = static_cast<uint32_t>(e.seq);
  r.frame = static_cast<uint32_t>(e.frame);
  r.context = e.context;
  r.function = e.function ? static_cast<uint32_t>(e.function->index) : NEVER;
  r.mode = d.mode;
  r.deeds = e.deeds;
  r.vertices = d.vertices;
  r.instances = d.instances;
  r.primitives = d.primitives;
  r.client_bytes = d.client_bytes;
  auto flag = [&](unsigned field, uint32_t bit) { r.flags |= c->get(field) ? bit : 0; };
  if (d.vector) {
    r.flags |= DRAW_VECTOR;
    for (unsigned i = 0; i < 2; ++i) r.extent[i] = static_cast<float>(d.extent[i]);
    r.blend_src = static_cast<uint32_t>(c->get(f_vg_context::VG_BLEND_MODE));
    if (r.blend_src != VG_BLEND_SRC) r.flags |= DRAW_BLEND;
    flag(f_vg_context::VG_SCISSORING, DRAW_SCISSOR);
    r.color_mask = 15;
    objects(e, r);
    return contents.draw(e, r, m_.vg_surface());
  }
  auto u32 = [&](unsigned f, unsigned element = 0) { return static_cast<uint32_t>(c->get(f, element)); };
  r.program = u32(f_context::GL_CURRENT_PROGRAM);
  r.vertex_array = u32(f_context::GL_VERTEX_ARRAY_BINDING);
  r.framebuffer = u32(f_context::GL_DRAW_FRAMEBUFFER_BINDING);
  if (Node* v = m_.find(c, c_context::vertex_arrays, r.vertex_array))
    r.index_buffer = d.indexed ? static_cast<uint32_t>(v->get(f_vertex_array::GL_ELEMENT_ARRAY_BUFFER_BINDING)) : 0;
  r.depth_func = u32(f_context::GL_DEPTH_FUNC);
  r.blend_src = u32(f_context::GL_BLEND_SRC_RGB);
  r.blend_dst = u32(f_context::GL_BLEND_DST_RGB);
  r.cull_mode = u32(f_context::GL_CULL_FACE_MODE);
  r.front_face = u32(f_context::GL_FRONT_FACE);
  r.polygon_mode = u32(f_context::GL_POLYGON_MODE);
  auto* mask = c->at(f_context::GL_COLOR_WRITEMASK);
  for (unsigned i = 0; i < 4; ++i) r.color_mask |= mask[i] ? 1u << i : 0;
  for (unsigned i = 0; i < 4; ++i)
    r.viewport[i] = static_cast<int32_t>(std::clamp(c->real(f_context::GL_VIEWPORT, i), -2e9, 2e9));
  if (d.indexed) r.flags |= DRAW_INDEXED;
  if (d.indirect) r.flags |= DRAW_INDIRECT;
  flag(f_context::enabled_GL_BLEND, DRAW_BLEND);
  flag(f_context::enabled_GL_DEPTH_TEST, DRAW_DEPTH_TEST);
  flag(f_context::GL_DEPTH_WRITEMASK, DRAW_DEPTH_WRITE);
  flag(f_context::enabled_GL_STENCIL_TEST, DRAW_STENCIL);
  flag(f_context::enabled_GL_CULL_FACE, DRAW_CULL);
  flag(f_context::enabled_GL_SCISSOR_TEST, DRAW_SCISSOR);
  flag(f_context::enabled_GL_ALPHA_TEST, DRAW_ALPHA_TEST);
  flag(f_context::enabled_GL_LIGHTING, DRAW_LIGHTING);
  flag(f_context::enabled_GL_RASTERIZER_DISCARD, DRAW_DISCARD);
  objects(e, r);
  contents.draw(e, r, context->draw);
}

// The objects that it uses and the objects that it draws to.
void Gather::objects(const CallEvent& e, DrawRow& r) {
  textures_.clear(), buffers_.clear(), targets_.clear();
  for (auto& a : e.accesses()) {
    if (a.touch() == Touch::read) {
      uint32_t block = a.first < at_.size() ? at_[a.first] : NEVER;
      if (block == NEVER || resource_of_[block] == NEVER || a.count != 1) continue;
      Resource& used = resources[resource_of_[block]];
      if (used.last_use != r.seq) {
        ++used.uses;
        if (used.first_use == NEVER) used.first_use = r.seq;
        used.last_use = r.seq;
        const Node& n = *m_.nodes()[block];
        if (class_of(n) == class_texture || class_of(n) == class_vg_image)
          textures_.push_back(static_cast<uint32_t>(n.key));
        if (class_of(n) == class_buffer || class_of(n) == class_vg_path)
          buffers_.push_back(static_cast<uint32_t>(n.key));
      }
    } else if (a.count == 1) {
      const Node& n = m_.owner(a.first);
      auto k = class_of(n);
      if (k == class_vg_image && !r.width)
        r.width = static_cast<uint32_t>(n.get(f_vg_image::VG_IMAGE_WIDTH)),
        r.height = static_cast<uint32_t>(n.get(f_vg_image::VG_IMAGE_HEIGHT));
      if (k != class_level && k != class_renderbuffer && k != class_surface && k != class_vg_image) continue;
      if (k == class_level && !r.width)
        r.width = static_cast<uint32_t>(n.get(f_level::GL_TEXTURE_WIDTH)),
        r.height = static_cast<uint32_t>(n.get(f_level::GL_TEXTURE_HEIGHT));
      if (k == class_renderbuffer && !r.width)
        r.width = static_cast<uint32_t>(n.get(f_renderbuffer::GL_RENDERBUFFER_WIDTH)),
        r.height = static_cast<uint32_t>(n.get(f_renderbuffer::GL_RENDERBUFFER_HEIGHT));
      if (k == class_surface && !r.width)
        r.width = static_cast<uint32_t>(n.get(f_surface::width)),
        r.height = static_cast<uint32_t>(n.get(f_surface::height));
      if (std::find(targets_.begin(), targets_.end(), a.first) == targets_.end()) targets_.push_back(a.first);
      if (Resource* w = resource(n)) ++w->writes;
    }
  }
  if (numbers.size() > UINT32_MAX)
    throw Error(DT_E_ARGUMENT, "the draws of the trace use more objects than the state index can number");
  r.lists = static_cast<uint32_t>(numbers.size());
  for (auto* list : {&textures_, &buffers_, &targets_}) {
    numbers.push_back(static_cast<uint32_t>(list->size()));
    numbers.append(list->data(), list->size());
  }
  draws.push_back(r);
}

}  // namespace

// ---- making and keeping -------------------------------------------------------------------------

std::string Index::stamp() const {
  XXH3_state_t* state = XXH3_createState();
  XXH3_64bits_reset(state);
  for (unsigned c = 0; c < CLASS_COUNT; ++c) {
    XXH3_64bits_update(state, g_classes[c].name, strlen(g_classes[c].name));
    for (unsigned f = 0; f < g_classes[c].field_count; ++f) {
      auto& field = g_classes[c].fields[f];
      XXH3_64bits_update(state, field.name, strlen(field.name));
      uint16_t numbers_of[] = {static_cast<uint16_t>(field.kind), field.components, field.elements, field.word};
      XXH3_64bits_update(state, numbers_of, sizeof numbers_of);
    }
  }
  uint64_t layout = XXH3_64bits_digest(state);
  // The file's content, not its place: the checksums of all its parts, beside its size and the time of its last write.
  XXH3_64bits_reset(state);
  for (auto& chunk : trace->chunks) {
    XXH3_64bits_update(state, &chunk.offset, sizeof chunk.offset);
    XXH3_64bits_update(state, &chunk.header, sizeof chunk.header);
  }
  uint64_t content = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  auto& h = trace->header();
  std::string text(reinterpret_cast<const char*>(&h), sizeof h);
  struct stat written{};
  if (!stat(trace->path().c_str(), &written))
    text += " " + std::to_string(written.st_mtim.tv_sec) + "." + std::to_string(written.st_mtim.tv_nsec);
  text += " " + std::to_string(content) + " " + std::to_string(trace->file_bytes()) + " " + std::to_string(layout) +
          " " + frame_end_;
  // Another build may compute something else.
  Dl_info self;
  struct stat about;
  if (dladdr(reinterpret_cast<const void*>(&g_cancel), &self) && self.dli_fname && !stat(self.dli_fname, &about))
    text += " " + std::to_string(about.st_size) + " " + std::to_string(about.st_mtim.tv_sec) + "." +
            std::to_string(about.st_mtim.tv_nsec);
  return text;
}

namespace {
struct Part {
  uint64_t offset, bytes;
};
constexpr size_t PARTS = 14;  // thirteen arrays, and the stamp
enum {
  PART_STAMP,
  PART_BLOCKS,
  PART_STARTS,
  PART_ORDERED,
  PART_POOL,
  PART_DRAWS,
  PART_NUMBERS,
  PART_RESOURCES,
  PART_TEXT,
  PART_TEXTS,
  PART_BY_PATH,
  PART_REVISIONS,
  PART_PASSES,
  PART_LINKS
};

// The bytes of a new index: a file, or memory where there is no room for one.
class Place {
 public:
  Place(const std::string& file, const std::string& folder, uint64_t bytes) : bytes_(bytes) {
    if (!file.empty()) fd_ = open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    named = fd_ >= 0;
    if (fd_ < 0 && bytes > FEW) fd_ = unnamed_file(folder);
    if (fd_ >= 0 && posix_fallocate(fd_, 0, static_cast<off_t>(bytes))) {
      drop();
      if (named) unlink(file.c_str());
      named = false;
    }
    void* at =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, fd_ >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd_, 0);
    if (at == MAP_FAILED) {
      drop();
      if (named) unlink(file.c_str());
      throw std::bad_alloc();
    }
    base = static_cast<char*>(at);
  }
  ~Place() {
    drop();
    if (base) munmap(base, bytes_);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  void put(uint64_t offset, const void* data, size_t bytes) {
    if (bytes && (fd_ < 0 || !write_at(fd_, data, bytes, offset))) memcpy(base + offset, data, bytes);
  }
  // Written parts may leave memory: they are in the file.
  void let_go() {
    if (fd_ >= 0) madvise(base, bytes_, MADV_DONTNEED);
  }
  bool in_file() const { return fd_ >= 0; }
  char* take() {
    drop();
    mprotect(base, bytes_, PROT_READ);
    return std::exchange(base, nullptr);
  }
  char* base = nullptr;
  bool named = false;

 private:
  void drop() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  static constexpr uint64_t FEW = 64 << 20;
  uint64_t bytes_;
  int fd_ = -1;
};

// All nodes as blocks, with the text of their paths and of all text values, and their order by path.
struct Named {
  std::vector<Block> blocks;
  std::vector<char> letters;
  std::vector<uint64_t> texts;  // where each lies in `letters`, and its length in the low 24 bits
  std::vector<uint32_t> by_path;
};

Named named_nodes_of(Machine& m) {
  Named all;
  auto& made = all.blocks;
  auto& letters = all.letters;
  auto& places = all.texts;
  auto& sorted = all.by_path;
  auto put = [&](std::string_view text) {
    auto where = letters.size();
    if (where + text.size() > UINT32_MAX)
      throw Error(DT_E_ARGUMENT, "the trace has more text than the state index can hold");
    letters.insert(letters.end(), text.begin(), text.end());
    return static_cast<uint32_t>(where);
  };
  std::unordered_map<const Node*, uint32_t> number;
  for (const Node* n : m.nodes()) {
    Block b{};
    b.base = n->base;
    b.cls = class_of(*n);
    b.key = n->key;
    b.parent = n->parent ? number[n->parent] : 0;
    b.created = static_cast<uint32_t>(n->created);
    b.gone = n->gone == UINT64_MAX ? NEVER : static_cast<uint32_t>(n->gone);
    std::string path = m.path(*n);
    b.path_length = static_cast<uint32_t>(path.size());
    b.path = put(path);
    number[n] = static_cast<uint32_t>(made.size());
    made.push_back(b);
  }
  for (auto& t : m.all_texts()) {
    uint64_t where = put(t);
    places.push_back(where << 24 | std::min<uint64_t>(t.size(), 0xffffff));
  }
  sorted.resize(made.size());
  for (uint32_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
  auto path_of_made = [&](uint32_t i) { return std::string_view(letters.data() + made[i].path, made[i].path_length); };
  std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) {
    int order = path_of_made(a).compare(path_of_made(b));
    return order ? order < 0 : a < b;
  });
  return all;
}

template <class T, class Key> void sort_rows(char* at, uint64_t bytes, Key key) {
  std::span<T> rows(reinterpret_cast<T*>(at), bytes / sizeof(T));
  std::sort(rows.begin(), rows.end(), [&](const T& a, const T& b) { return key(a) < key(b); });
}

}  // namespace

void Index::walk(const std::string& file, const std::string& folder) {
  Machine m(trace);
  Gather g(m, folder);
  m.walk(g);
  g.contents.finish();
  problems = m.problems;
  if (g.changes.size() > UINT32_MAX)
    throw Error(DT_E_ARGUMENT, "the trace changes more than the state index can number");

  const Named named_nodes = named_nodes_of(m);
  auto& [made, letters, places, sorted] = named_nodes;
  Location locations = m.locations();
  g.starts.resize(locations + 1ull, 0);
  for (size_t i = 1; i < g.starts.size(); ++i) g.starts[i] += g.starts[i - 1];
  std::string mark = stamp();
  auto bytes_of = [](auto& array) { return array.size() * sizeof array[0]; };
  const uint64_t sizes[PARTS] = {mark.size(),
                                 bytes_of(made),
                                 bytes_of(g.starts),
                                 g.changes.size() * sizeof(Change),
                                 g.pool.size() * sizeof(uint64_t),
                                 g.draws.size() * sizeof(DrawRow),
                                 g.numbers.size() * sizeof(uint32_t),
                                 bytes_of(g.resources),
                                 letters.size(),
                                 bytes_of(places),
                                 bytes_of(sorted),
                                 g.contents.revisions.size() * sizeof(Revision),
                                 g.contents.passes.size() * sizeof(Pass),
                                 g.contents.links.size() * sizeof(Link)};
  Part parts[PARTS];
  uint64_t at = sizeof MAGIC + sizeof parts;
  for (size_t i = 0; i < PARTS; ++i) {
    at = (at + 15) & ~15ull;
    parts[i] = {at, sizes[i]};
    at += sizes[i];
  }
  // Another thread or process may be making the same one.
  static std::atomic<unsigned> turn{0};
  std::string temporary = file.empty() ? file : file + "." + std::to_string(getpid()) + "." + std::to_string(++turn);
  Place place(temporary, folder, at);
  place.put(0, MAGIC, sizeof MAGIC);
  place.put(sizeof MAGIC, parts, sizeof parts);
  place.put(parts[PART_STAMP].offset, mark.data(), mark.size());
  place.put(parts[PART_BLOCKS].offset, made.data(), sizes[PART_BLOCKS]);
  place.put(parts[PART_STARTS].offset, g.starts.data(), sizes[PART_STARTS]);
  place.put(parts[PART_RESOURCES].offset, g.resources.data(), sizes[PART_RESOURCES]);
  place.put(parts[PART_TEXT].offset, letters.data(), sizes[PART_TEXT]);
  place.put(parts[PART_TEXTS].offset, places.data(), sizes[PART_TEXTS]);
  place.put(parts[PART_BY_PATH].offset, sorted.data(), sizes[PART_BY_PATH]);
  auto whole = [&](auto& spool, size_t part) {
    uint64_t to = parts[part].offset;
    spool.drain([&](auto* piece, size_t n) {
      place.put(to, piece, n * sizeof *piece);
      to += n * sizeof *piece;
    });
  };
  whole(g.pool, PART_POOL), whole(g.draws, PART_DRAWS), whole(g.numbers, PART_NUMBERS);
  whole(g.contents.revisions, PART_REVISIONS), whole(g.contents.passes, PART_PASSES),
      whole(g.contents.links, PART_LINKS);
  sort_rows<Revision>(place.base + parts[PART_REVISIONS].offset, sizes[PART_REVISIONS],
                      [](const Revision& r) { return uint64_t{r.first} << 32 | r.location; });
  sort_rows<Pass>(place.base + parts[PART_PASSES].offset, sizes[PART_PASSES], [](const Pass& p) { return p.number; });
  // By location: a counting sort, the calls stay in order.
  auto* into = reinterpret_cast<Change*>(place.base + parts[PART_ORDERED].offset);
  std::vector<uint32_t> next(std::move(g.starts));
  uint64_t since = 0;
  g.changes.drain([&](const StoredChange* piece, size_t n) {
    for (size_t i = 0; i < n; ++i) into[next[piece[i].location]++] = {piece[i].seq, 0, piece[i].value};
    if ((since += n) > 8 << 20) place.let_go(), since = 0;
  });
  place.let_go();
  const bool named = place.named, in_file = place.in_file();
  adopt(place.take(), at, in_file);
  std::error_code failed;
  if (named) std::filesystem::rename(temporary, file, failed);
  if (named && failed) std::filesystem::remove(temporary, failed);
}

void Index::adopt(void* at, size_t bytes, bool in_file) {
  mapped_ = at;
  mapped_bytes_ = bytes;
  in_file_ = in_file;
  auto* base = static_cast<const char*>(at);
  Part parts[PARTS];
  memcpy(parts, base + sizeof MAGIC, sizeof parts);
  auto take = [&]<class T>(std::span<const T>& to, size_t i) {
    to = {reinterpret_cast<const T*>(base + parts[i].offset), parts[i].bytes / sizeof(T)};
  };
  take(blocks, PART_BLOCKS), take(starts, PART_STARTS), take(ordered, PART_ORDERED), take(pool, PART_POOL),
      take(draws, PART_DRAWS), take(numbers, PART_NUMBERS), take(resources, PART_RESOURCES), take(text, PART_TEXT);
  take(texts, PART_TEXTS), take(by_path, PART_BY_PATH);
  take(revisions, PART_REVISIONS), take(passes, PART_PASSES), take(links, PART_LINKS);
}

bool Index::load(const std::string& file) {
  int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat about;
  if (fstat(fd, &about) || static_cast<uint64_t>(about.st_size) < sizeof MAGIC + PARTS * sizeof(Part)) {
    close(fd);
    return false;
  }
  auto bytes = static_cast<size_t>(about.st_size);
  void* at = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (at == MAP_FAILED) return false;
  auto* base = static_cast<const char*>(at);
  Part parts[PARTS];
  memcpy(parts, base + sizeof MAGIC, sizeof parts);
  bool good = !memcmp(base, MAGIC, sizeof MAGIC);
  for (auto& p : parts) good = good && p.offset <= bytes && p.bytes <= bytes - p.offset;
  good = good && std::string_view(base + parts[PART_STAMP].offset, parts[PART_STAMP].bytes) == stamp();
  if (!good) {
    munmap(at, bytes);
    return false;
  }
  adopt(at, bytes, true);
  return true;
}

namespace {
// `newest` stays, however large.
void keep_small(const std::string& folder, const std::string& newest) {
  std::error_code ignored;
  std::vector<std::pair<std::filesystem::file_time_type, std::filesystem::path>> files;
  uint64_t total = 0;
  for (auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() != ".state") continue;
    total += entry.file_size(ignored);
    if (entry.path() != newest) files.emplace_back(entry.last_write_time(ignored), entry.path());
  }
  std::sort(files.begin(), files.end());
  for (auto& [time, path] : files) {
    if (total <= CACHE_BYTES) break;
    total -= std::filesystem::file_size(path, ignored);
    std::filesystem::remove(path, ignored);
  }
}
}  // namespace

Index::Index(const std::string& path, const std::string& frame_end, const std::string& folder)
    : trace(std::make_shared<Trace>(path)), frame_end_(frame_end) {
  if (frame_end != "auto") trace->set_frame_end(frame_end);
  calls = trace->calls;
  find_window_systems();
  if (calls > UINT32_MAX - 2) throw Error(DT_E_ARGUMENT, "the trace has more calls than the state index can number");
  std::string file;
  if (!folder.empty()) {
    std::string mark = stamp();
    char name[40];
    snprintf(name, sizeof name, "%016llx.state",
             static_cast<unsigned long long>(XXH3_64bits(mark.data(), mark.size())));
    file = folder + "/" + name;
    if (load(file)) return;
  }
  std::error_code failed;
  if (!file.empty()) std::filesystem::create_directories(folder, failed);
  if (failed) file.clear();
  walk(file, folder);
  if (!file.empty()) keep_small(folder, file);
}

// Attributes of the window system that a program did not use would all be what they are at first.
void Index::find_window_systems() {
  bool egl = false, glx = false;
  for (auto& chunk : trace->calls_chunks)
    for (auto& called : chunk.functions) {
      const Function* f = called.tap() ? nullptr : trace->signatures.by_id(called.id());
      if (!f) continue;
      auto begins = [&](const char* with) { return f->name.starts_with(with); };
      egl |= begins("eglMake") || begins("eglCreate");
      glx |= begins("glXMake") || begins("glXCreate");
    }
  if (egl || glx) egl_ = egl, glx_ = glx;
}

void Index::forget(const void* from, const void* to) const {
  if (!in_file_) return;  // it is nowhere else
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = (reinterpret_cast<uintptr_t>(from) + page - 1) / page * page,
                  end = reinterpret_cast<uintptr_t>(to) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

Index::~Index() {
  if (mapped_) munmap(mapped_, mapped_bytes_);
}

}  // namespace dt::state
