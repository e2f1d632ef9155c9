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

#include "../core/rows.h"
#include "gl.h"
#include "spool.h"
#include "gl_enums.h"
#include "vg_enums.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dt::state {

std::atomic<uint64_t> g_cancel{0};

namespace {

constexpr char MAGIC[8] = {'D', 'T', 'S', 'T', 'A', 'T', 'E', '5'};
constexpr uint64_t CACHE_BYTES = 2ull << 30;
constexpr uint32_t NEVER = UINT32_MAX;

struct Found {
  uint32_t location, seq;
  uint64_t value;
};

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
uint32_t class_of(const Node& n) { return static_cast<uint32_t>(n.cls - g_classes); }

}  // namespace

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
      : changes(folder), pool(folder), draws(folder), numbers(folder), m_(m), cancel_(g_cancel.load()) {}

  void changed(Location location, const Value& v) override {
    const FieldInfo& f = *v.field;
    if (f.kind == Kind::content && !v.words[1]) {
      // Targets change with every draw: that stands in `draws`.
      auto c = class_of(*v.node);
      if (c == class_surface || c == class_context || c == class_renderbuffer || c == class_handle ||
          c == class_saved || m_.deeds() & (DEED_DRAW | DEED_CLEAR))
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
    resource_of_.push_back(NEVER);
    if (is_resource(class_of(n))) {
      resource_of_.back() = static_cast<uint32_t>(resources.size());
      resources.push_back({static_cast<uint32_t>(nodes_ - 1), 0, 0, NEVER, NEVER, 0, 0, 0, 0});
    }
  }
  void upload(Location location, uint64_t bytes, const Hash128& hash) override {
    if (Resource* r = resource(m_.owner(location))) {
      ++r->uploads;
      r->uploaded_bytes += bytes;
      r->hash_low = hash.low;
      r->hash_high = hash.high;
    }
  }
  void draw(const CallEvent& e, const Draw& d) override;
  void objects(const CallEvent& e, DrawRow& r);
  void call(const CallEvent&) override {
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

  Spool<Found> changes;
  Spool<uint64_t> pool;
  Spool<DrawRow> draws;
  Spool<uint32_t> numbers;
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
    return objects(e, r);
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
}

// What it uses and what it draws to.
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
  // What the file says, not where it is: the checksums of all its parts, beside its size and when it was written last.
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
constexpr size_t PARTS = 11;  // ten arrays, and the stamp
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
  PART_BY_PATH
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
  // What was written may leave memory: it is in the file.
  void let_go() {
    if (fd_ >= 0) madvise(base, bytes_, MADV_DONTNEED);
  }
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
}  // namespace

namespace {

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

}  // namespace

void Index::walk(const std::string& file, const std::string& folder) {
  Machine m(trace);
  Gather g(m, folder);
  m.walk(g);
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
                                 bytes_of(sorted)};
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
  // By location: a counting sort, the calls stay in order.
  auto* into = reinterpret_cast<Change*>(place.base + parts[PART_ORDERED].offset);
  std::vector<uint32_t> next(std::move(g.starts));
  uint64_t since = 0;
  g.changes.drain([&](const Found* piece, size_t n) {
    for (size_t i = 0; i < n; ++i) into[next[piece[i].location]++] = {piece[i].seq, 0, piece[i].value};
    if ((since += n) > 8 << 20) place.let_go(), since = 0;
  });
  place.let_go();
  bool named = place.named;
  adopt(place.take(), at);
  std::error_code failed;
  if (named) std::filesystem::rename(temporary, file, failed);
  if (named && failed) std::filesystem::remove(temporary, failed);
}

void Index::adopt(void* at, size_t bytes) {
  mapped_ = at;
  mapped_bytes_ = bytes;
  auto* base = static_cast<const char*>(at);
  Part parts[PARTS];
  memcpy(parts, base + sizeof MAGIC, sizeof parts);
  auto take = [&]<class T>(std::span<const T>& to, size_t i) {
    to = {reinterpret_cast<const T*>(base + parts[i].offset), parts[i].bytes / sizeof(T)};
  };
  take(blocks, PART_BLOCKS), take(starts, PART_STARTS), take(ordered, PART_ORDERED), take(pool, PART_POOL),
      take(draws, PART_DRAWS), take(numbers, PART_NUMBERS), take(resources, PART_RESOURCES), take(text, PART_TEXT);
  take(texts, PART_TEXTS), take(by_path, PART_BY_PATH);
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
  adopt(at, bytes);
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

Index::~Index() {
  if (mapped_) munmap(mapped_, mapped_bytes_);
}

// ---- asking -------------------------------------------------------------------------------------

std::string_view Index::text_at(uint64_t number) const {
  if (number >= texts.size()) return {};
  uint64_t where = texts[number] >> 24, length = texts[number] & 0xffffff;
  return where + length <= text.size() ? std::string_view(text.data() + where, length) : std::string_view();
}

std::string Index::full_path(const Block& b, const FieldInfo& f, unsigned element) const {
  std::string out(path_of(b));
  if ((b.cls == class_uniform && !strcmp(f.name, "value")) || b.cls == class_attribute_location ||
      b.cls == class_clip_plane)
    return out;
  if (!out.empty()) out += '.';
  out += f.name;
  if (f.always_indexed || (element && f.elements > 1)) out += "[" + std::to_string(element) + "]";
  return out;
}

const Word* Index::words(const Block&, const FieldInfo& f, uint32_t change) const {
  const Change& c = ordered[change];
  if (f.components == 1) return &c.value;
  return c.value + f.components <= pool.size() ? &pool[c.value] : nullptr;
}

const Word* Index::value(const Block& b, const FieldInfo& f, unsigned element, uint64_t seq, uint32_t* since) const {
  if (b.created > seq || b.gone <= seq) return nullptr;
  Location l = b.base + f.location + element;
  if (l + 1 >= starts.size()) return nullptr;
  auto *first = ordered.data() + starts[l], *end = ordered.data() + starts[l + 1];
  auto* it = std::upper_bound(first, end, seq, [](uint64_t s, const Change& c) { return s < c.seq; });
  if (it == first) {
    if (element && !f.always_indexed) return value(b, f, 0, seq, since);
    if (since) *since = b.created;
    return g_classes[b.cls].initial + f.word + element * f.components;
  }
  if (since) *since = (it - 1)->seq;
  return words(b, f, static_cast<uint32_t>(it - 1 - ordered.data()));
}

std::string Index::json(const Block& b, const FieldInfo& f, const Word* words) const {
  return json_value(f, words, [&](Word w) {
    std::string_view t = text_at(w);
    if (b.cls == class_vg_context || b.cls == class_vg_paint) return "[" + std::string(t) + "]";
    if (b.cls != class_program || strcmp(f.name, "shaders") != 0) return json_text(t);
    std::string list(t);
    for (size_t at = 0; (at = list.find(' ', at)) != list.npos; at += 2) list.replace(at, 1, ", ");
    return "[" + list + "]";
  });
}

namespace {
bool below(std::string_view path, std::string_view pattern) {
  return path.size() >= pattern.size() && path.compare(0, pattern.size(), pattern) == 0 &&
         (path.size() == pattern.size() || path[pattern.size()] == '.' || path[pattern.size()] == '[' ||
          pattern.empty());
}
// As far as both go; "?" is any character.
bool alike(std::string_view path, std::string_view pattern) {
  for (size_t i = 0; i < path.size() && i < pattern.size(); ++i)
    if (path[i] != pattern[i] && pattern[i] != '?') return false;
  return true;
}
// Uniforms are as long as what was given to them.
std::string value_json(const Index& index, const Block& b, const FieldInfo& f, const Word* words, uint64_t seq) {
  if (b.cls != class_uniform || strcmp(f.name, "value")) return index.json(b, f, words);
  const Word* n = index.value(b, index.fields(b)[f_uniform::components], 0, seq);
  FieldInfo shorter = f;
  shorter.components = static_cast<uint16_t>(std::clamp<uint64_t>(n ? *n : 1, 1, 16));
  return index.json(b, shorter, words);
}
bool given(const Index& index, const Block& b, const FieldInfo& f, uint64_t seq) {
  if (b.cls != class_uniform || strcmp(f.name, "value")) return true;
  const Word* n = index.value(b, index.fields(b)[f_uniform::components], 0, seq);
  return n && *n;
}
}  // namespace

// A default texture that nobody did anything to.
bool Index::is_dull(const Block& b) const {
  if (path_of(b).find("default_textures") == std::string_view::npos) return false;
  Location end = std::min<Location>(b.base + g_classes[b.cls].locations, static_cast<Location>(starts.size() - 1));
  for (uint32_t i = starts[b.base]; i < starts[end]; ++i)
    if (ordered[i].seq > b.created) return false;
  return true;
}

// The first element stands for one that never was anything else.
bool Index::is_mirror(const Block& b, const FieldInfo& f, unsigned element) const {
  Location l = b.base + f.location + element;
  return element && !f.always_indexed && (l + 1 >= starts.size() || starts[l] == starts[l + 1]);
}

std::vector<uint32_t> Index::near(std::string_view beginning) const {
  std::vector<uint32_t> found;
  auto range = [&](std::string_view path, bool whole) {
    auto it = std::lower_bound(by_path.begin(), by_path.end(), path,
                               [&](uint32_t i, std::string_view p) { return path_of(blocks[i]) < p; });
    for (; it != by_path.end(); ++it) {
      std::string_view here = path_of(blocks[*it]);
      if (whole ? here != path : !here.starts_with(path)) break;
      found.push_back(*it);
    }
  };
  // Nodes on the way have variables whose paths begin so, nodes behind it wholly do.
  if (!beginning.empty()) range({}, true);
  for (size_t dot = beginning.find('.'); dot != beginning.npos; dot = beginning.find('.', dot + 1))
    range(beginning.substr(0, dot), true);
  range(beginning, false);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void Index::each(std::string_view pattern,
                 const std::function<void(const Block&, const FieldInfo&, unsigned)>& visit) const {
  size_t star = pattern.find('*'), wild = pattern.find_first_of("*?");
  bool begins = star != pattern.npos && star + 1 == pattern.size(), glob = wild != pattern.npos && !begins;
  // Brackets are part of paths: a glob takes them as they are.
  std::string quoted;
  for (char c : pattern) {
    if (c == '[' || c == ']' || c == '\\') quoted += '\\';
    quoted += c;
  }
  std::string_view fixed = pattern.substr(0, star);
  auto begun = [&](std::string_view path) { return path.size() >= fixed.size() && alike(path, fixed); };
  bool indexed = pattern.ends_with(']');
  for (uint32_t number : near(pattern.substr(0, wild))) {
    const Block& b = blocks[number];
    std::string_view path = path_of(b);
    if (wild < fixed.size() && !alike(path, fixed)) continue;
    if (b.cls == class_texture && is_dull(b)) continue;
    bool all = pattern.empty() || (begins && begun(path)) || (!glob && !begins && below(path, pattern));
    const ClassInfo& cls = g_classes[b.cls];
    for (unsigned i = 0; i < cls.field_count; ++i) {
      const FieldInfo& f = cls.fields[i];
      if (!shown(cls, f)) continue;
      if (b.cls == class_surface || b.cls == class_creation)
        if ((!egl_ && !strncmp(f.name, "EGL_", 4)) || (!glx_ && !strncmp(f.name, "GLX_", 4))) continue;
      for (unsigned e = 0; e < f.elements; ++e) {
        if (e && is_mirror(b, f, e) && (pattern.empty() || !indexed || full_path(b, f, e) != pattern)) continue;
        if (!all) {
          std::string full = full_path(b, f, e);
          if (begins ? !begun(full)
              : glob ? fnmatch(quoted.c_str(), full.c_str(), 0) && fnmatch((quoted + ".*").c_str(), full.c_str(), 0)
                     : !below(full, pattern))
            continue;
        }
        visit(b, f, e);
      }
    }
  }
}

void Index::at(uint64_t seq, std::string_view path, Bytes& out) const {
  each(path, [&](const Block& b, const FieldInfo& f, unsigned e) {
    const Word* w = value(b, f, e, seq);
    if (!w || !given(*this, b, f, seq)) return;
    if (e && !f.always_indexed) {  // those like the first one go without saying
      const Word* first = value(b, f, 0, seq);
      if (first && !memcmp(first, w, f.components * sizeof(Word)) && full_path(b, f, e) != path) return;
    }
    out.put(full_path(b, f, e));
    out.put('\t');
    out.put(value_json(*this, b, f, w, seq));
    out.put('\n');
  });
}

void Index::changes(uint64_t first, uint64_t end, std::string_view path, Bytes& out) const {
  struct Line {
    uint32_t seq;
    std::string text;
  };
  std::vector<Line> lines;
  each(path, [&](const Block& b, const FieldInfo& f, unsigned e) {
    Location l = b.base + f.location + e;
    if (l + 1 >= starts.size()) return;
    auto *from = ordered.data() + starts[l], *to = ordered.data() + starts[l + 1];
    for (auto *it = std::lower_bound(from, to, first, [](const Change& c, uint64_t s) { return c.seq < s; });
         it != to && it->seq < end; ++it) {
      if (it + 1 != to && (it + 1)->seq == it->seq) continue;  // what the call left in the end
      const Word* now = words(b, f, static_cast<uint32_t>(it - ordered.data()));
      const Word* was = it->seq ? value(b, f, e, it->seq - 1ull) : nullptr;
      std::string value_now = now ? value_json(*this, b, f, now, it->seq) : "null",
                  value_was = was ? value_json(*this, b, f, was, it->seq - 1ull) : "null";
      if (value_now == value_was) continue;
      lines.push_back({it->seq, full_path(b, f, e) + "\t" + value_now + "\t" + value_was});
    }
  });
  std::stable_sort(lines.begin(), lines.end(), [](auto& a, auto& b) { return a.seq < b.seq; });
  for (auto& line : lines) {
    out.put(std::to_string(line.seq));
    out.put('\t');
    out.put(line.text);
    out.put('\n');
  }
}

// ---- tables -------------------------------------------------------------------------------------

namespace {

constexpr int64_t BATCH = 65536;

// The name of an enumerant, its number in hexadecimal where it has none.
std::string enum_name(const char* group, uint32_t value) {
  const char* found = enum_text(group, value);
  if (found) return found;
  char hex[16];
  snprintf(hex, sizeof hex, "0x%x", value);
  return hex;
}

class StateSource : public BatchSource {
 public:
  StateSource(std::shared_ptr<const Index> index, std::string path, uint64_t first, uint64_t end)
      : index_(std::move(index)), first_(first), end_(end) {
    index_->each(path, [&](const Block& b, const FieldInfo& f, unsigned e) {
      // Lives outside of the asked-for calls need not be looked at.
      if (b.created >= end_ || b.gone <= first_) return;
      wanted_.push_back({static_cast<uint32_t>(&b - index_->blocks.data()),
                         static_cast<uint16_t>(&f - index_->fields(b)), static_cast<uint16_t>(e)});
    });
  }
  bool next(Batch& batch) override {
    if (at_ >= wanted_.size()) return false;
    RowWriter<rows::State> w(batch);
    for (; at_ < wanted_.size() && batch.rows < BATCH; ++at_) one(w, wanted_[at_]);
    return true;
  }

 private:
  struct Wanted {
    uint32_t block;
    uint16_t field, element;
  };
  void one(RowWriter<rows::State>& w, const Wanted& x) {
    const Index& i = *index_;
    const Block& b = i.blocks[x.block];
    const FieldInfo& f = i.fields(b)[x.field];
    // An element has the values of the first one until it gets one of its own.
    bool mirror = i.is_mirror(b, f, x.element);
    Location l = b.base + f.location + (mirror ? 0 : x.element);
    if (l + 1 >= i.starts.size()) return;
    uint64_t gone = b.gone == NEVER ? i.calls : b.gone, begin = b.created;
    uint32_t change = i.starts[l], last = i.starts[l + 1];
    if (!mirror && x.element && !f.always_indexed) begin = i.ordered[change].seq;
    std::string path = i.full_path(b, f, x.element);
    const Word* words = g_classes[b.cls].initial + f.word + x.element * f.components;
    for (;;) {
      // what the call left in the end
      while (change < last && i.ordered[change].seq <= begin) words = i.words(b, f, change++);
      uint64_t end = change < last ? i.ordered[change].seq : gone;
      if (words && begin < end_ && end > first_ && end > begin && given(i, b, f, begin))
        w.add({.path = path, .begin_seq = begin, .end_seq = end, .value = value_json(i, b, f, words, begin)});
      if (change >= last || begin >= end_) return;
      begin = end;
    }
  }
  std::shared_ptr<const Index> index_;
  uint64_t first_, end_;
  std::vector<Wanted> wanted_;
  size_t at_ = 0;
};

std::string target_text(const Index& index, uint32_t location) {
  auto it = std::upper_bound(index.blocks.begin(), index.blocks.end(), location,
                             [](uint32_t l, const Block& b) { return l < b.base; }) -
            1;
  auto *fields = index.fields(*it), *end = fields + g_classes[it->cls].field_count;
  auto* f = std::upper_bound(fields, end, location - it->base,
                             [](unsigned a, const FieldInfo& x) { return a < x.location; }) -
            1;
  std::string path(index.path_of(*it));
  if (size_t dot = path.find('.'); dot != path.npos)
    path.erase(0, path.compare(0, 7, "shares[") == 0 || path.compare(0, 9, "contexts[") == 0 ||
                          path.compare(0, 10, "vg_shares[") == 0
                      ? dot + 1
                      : 0);
  if (it->cls == class_surface) path += std::string(".") + f->name;
  return path;
}

class DrawSource : public BatchSource {
 public:
  explicit DrawSource(std::shared_ptr<const Index> index) : index_(std::move(index)) {}
  bool next(Batch& batch) override {
    const Index& i = *index_;
    if (at_ >= i.draws.size()) return false;
    RowWriter<rows::Draws> w(batch);
    for (; at_ < i.draws.size() && batch.rows < BATCH; ++at_) one(w, i.draws[at_]);
    return true;
  }

 private:
  void one(RowWriter<rows::Draws>& w, const DrawRow& d) const {
    const Index& i = *index_;
    auto& functions = i.trace->signatures.functions;
    const bool draws = d.deeds & DEED_DRAW, vector = d.flags & DRAW_VECTOR;
    auto flag = [&](uint32_t bit) { return (d.flags & bit) != 0; };
    rows::Draws row{.seq = d.seq,
                    .frame = d.frame,
                    .context = d.context,
                    .kind = draws                  ? "draw"
                            : d.deeds & DEED_CLEAR ? "clear"
                                                   : "dispatch",
                    .indexed = flag(DRAW_INDEXED),
                    .indirect = flag(DRAW_INDIRECT),
                    .vertices = d.vertices,
                    .instances = d.instances,
                    .primitives = d.primitives,
                    .client_bytes = d.client_bytes,
                    .program = d.program,
                    .vertex_array = d.vertex_array,
                    .index_buffer = d.index_buffer,
                    .framebuffer = d.framebuffer,
                    .width = d.width,
                    .height = d.height,
                    .blend = flag(DRAW_BLEND),
                    .depth_test = flag(DRAW_DEPTH_TEST),
                    .depth_write = flag(DRAW_DEPTH_WRITE),
                    .stencil_test = flag(DRAW_STENCIL),
                    .cull_face = flag(DRAW_CULL),
                    .scissor_test = flag(DRAW_SCISSOR),
                    .alpha_test = flag(DRAW_ALPHA_TEST),
                    .lighting = flag(DRAW_LIGHTING),
                    .discard = flag(DRAW_DISCARD)};
    if (d.function < functions.size()) row.function = functions[d.function].name;
    lists(d, row);
    std::string mask;
    for (unsigned k = 0; k < 4; ++k)
      if (d.color_mask >> k & 1) mask += "rgba"[k];
    row.color_mask = mask;
    // Names live until the row is written.
    const std::string mode = d.mode != NO_MODE && !vector ? enum_name("PrimitiveType", d.mode) : "",
                      source = enum_name(vector ? "VGBlendMode" : "BlendingFactor", d.blend_src);
    row.blend_src = source;
    if (vector) {
      constexpr const char* MODES[] = {nullptr, "VG_STROKE_PATH", "VG_FILL_PATH", "VG_FILL_PATH|VG_STROKE_PATH"};
      if (d.mode != NO_MODE && d.mode & 3) row.mode = MODES[d.mode & 3];
      if (d.extent[0] >= 0) row.drawn_width = d.extent[0];
      if (d.extent[1] >= 0) row.drawn_height = d.extent[1];
      w.add(row);
      return;
    }
    if (draws && d.mode != NO_MODE) row.mode = mode;
    row.viewport_x = d.viewport[0], row.viewport_y = d.viewport[1];
    row.viewport_width = d.viewport[2], row.viewport_height = d.viewport[3];
    const std::string destination = enum_name("BlendingFactor", d.blend_dst),
                      depth = enum_name("DepthFunction", d.depth_func), cull = enum_name("TriangleFace", d.cull_mode),
                      polygon = enum_name("PolygonMode", d.polygon_mode);
    row.blend_dst = destination, row.depth_func = depth, row.cull_mode = cull, row.polygon_mode = polygon;
    w.add(row);
  }

  // Textures, buffers and targets, each behind their number.
  void lists(const DrawRow& d, rows::Draws& row) const {
    const Index& i = *index_;
    uint32_t at = d.lists;
    auto list = [&] {
      uint32_t n = at < i.numbers.size() ? i.numbers[at] : 0;
      std::span<const uint32_t> found =
          n <= i.numbers.size() - at - 1 ? i.numbers.subspan(at + 1, n) : std::span<const uint32_t>();
      at += 1 + n;
      return found;
    };
    auto textures = list(), buffers = list(), targets = list();
    row.buffers = std::vector<uint64_t>(buffers.begin(), buffers.end());
    row.textures = std::vector<uint64_t>(textures.begin(), textures.end());
    row.targets = std::vector<std::string>();
    for (uint32_t v : targets) row.targets.value.push_back(target_text(i, v));
  }

  std::shared_ptr<const Index> index_;
  size_t at_ = 0;
};

// Bytes of a texel in an uncompressed format, roughly where the driver may choose; 0: not known.
uint64_t texel_bytes(uint32_t format) {
  switch (format) {
    case GL_RED:
    case GL_ALPHA:
    case GL_LUMINANCE:
    case GL_R8:
    case GL_R8_SNORM:
    case GL_R8I:
    case GL_R8UI:
    case GL_STENCIL_INDEX:
    case GL_STENCIL_INDEX8:
    case GL_ALPHA8:
    case GL_LUMINANCE8: return 1;
    case GL_RG:
    case GL_RG8:
    case GL_LUMINANCE_ALPHA:
    case GL_RGBA4:
    case GL_RGB5_A1:
    case GL_RGB565:
    case GL_DEPTH_COMPONENT16:
    case GL_R16:
    case GL_R16F:
    case GL_R16I:
    case GL_R16UI: return 2;
    case GL_RGB:
    case GL_RGB8:
    case GL_SRGB8:
    case 3: return 3;
    case GL_RGBA16F:
    case GL_UNSIGNED_NORMALIZED:
    case GL_RGBA16UI:
    case GL_RGBA16I:
    case GL_RGBA16:
    case GL_RG32F:
    case GL_RG32I:
    case GL_RG32UI:
    case GL_DEPTH32F_STENCIL8: return 8;
    case GL_RGB16F: return 6;
    case GL_RGB32F:
    case GL_RGB16UI:
    case GL_RGB16I: return 12;
    case GL_RGBA32F:
    case GL_RGBA32I:
    case GL_RGBA32UI: return 16;
    default: return format ? 4 : 0;
  }
}

// Of OpenVG's formats; the upper bits are the order of channels.
uint64_t vg_bytes(uint64_t format, uint64_t width, uint64_t height) {
  uint64_t bits = 32;
  switch (format & 0x3f) {
    case 3:
    case 4:
    case 5: bits = 16; break;
    case 6:
    case 10:
    case 11: bits = 8; break;
    case 12:
    case 13: bits = 1; break;
    case 14: bits = 4; break;
    default: break;
  }
  return width < 1 << 20 && height < 1 << 20 ? (width * bits + 7) / 8 * height : 0;
}

class ResourceSource : public BatchSource {
 public:
  explicit ResourceSource(std::shared_ptr<const Index> index) : index_(std::move(index)) {
    for (auto& b : index_->blocks)
      if (b.cls == class_level) levels_[b.parent].push_back(&b);
  }
  bool next(Batch& batch) override {
    const Index& i = *index_;
    if (at_ >= i.resources.size()) return false;
    RowWriter<rows::Resources> w(batch);
    for (; at_ < i.resources.size() && batch.rows < BATCH; ++at_) {
      const Resource& r = i.resources[at_];
      const Block& b = i.blocks[r.block];
      // Default objects count where they were used.
      bool own = b.key != 0 && i.path_of(b).find("default_textures") == std::string_view::npos;
      if (own || (b.cls == class_texture && (r.uses || r.uploads || r.writes))) one(w, r);
    }
    return true;
  }

 private:
  void one(RowWriter<rows::Resources>& w, const Resource& r) const {
    const Index& i = *index_;
    const Block& b = i.blocks[r.block];
    // What it was at the end of its life.
    uint64_t last = b.gone == NEVER ? UINT32_MAX - 1ull : b.gone ? b.gone - 1ull : 0;
    bool named = i.path_of(b).find("default_textures") == std::string_view::npos;
    const Block& owner = i.blocks[b.parent];
    const std::string hash = hash_text({r.hash_low, r.hash_high});
    rows::Resources row{.class_ = g_classes[b.cls].name,
                        .name = named ? b.key : 0,
                        .created_seq = b.created,
                        .label = label_of(b, last),
                        .uploads = r.uploads,
                        .uploaded_bytes = r.uploaded_bytes,
                        .uses = r.uses,
                        .writes = r.writes,
                        .path = i.path_of(b)};
    (owner.cls == class_context ? row.context : row.share_group) = static_cast<uint32_t>(owner.key);
    if (b.gone != NEVER) row.deleted_seq = b.gone;
    if (r.hash_low || r.hash_high) row.content_hash = hash;
    if (r.first_use != NEVER) row.first_use_seq = r.first_use, row.last_use_seq = r.last_use;
    const Measures m = measures(r.block, last);
    const std::string target = enum_name(nullptr, static_cast<uint32_t>(m.target)),
                      format = enum_name(b.cls == class_vg_image ? "VGImageFormat" : "InternalFormat",
                                         static_cast<uint32_t>(m.format));
    if (m.target) row.target = target;
    if (m.format || b.cls == class_vg_image) row.format = format;
    if (m.sized) row.width = m.width, row.height = m.height, row.depth = m.depth, row.levels = m.levels;
    if (m.sized || b.cls == class_buffer) row.bytes = m.bytes;
    w.add(row);
  }
  struct Measures {
    uint64_t width = 0, height = 0, depth = 0, levels = 0, bytes = 0, format = 0, target = 0;
    bool sized = false;
  };
  uint64_t number(const Block& of, unsigned field, uint64_t seq) const {
    const Word* v = index_->value(of, index_->fields(of)[field], 0, seq);
    return v ? *v : 0;
  }
  Measures measures(uint32_t block, uint64_t last) const {
    Measures m;
    const Block& b = index_->blocks[block];
    switch (b.cls) {
      case class_buffer: m.bytes = number(b, f_buffer::GL_BUFFER_SIZE, last); break;
      case class_texture: {
        m.target = number(b, f_texture::target, last);
        auto it = levels_.find(block);
        if (it != levels_.end())
          for (const Block* l : it->second) {
            m.sized = true;
            ++m.levels;
            uint64_t lw = number(*l, f_level::GL_TEXTURE_WIDTH, last),
                     lh = number(*l, f_level::GL_TEXTURE_HEIGHT, last),
                     ld = number(*l, f_level::GL_TEXTURE_DEPTH, last),
                     packed = number(*l, f_level::GL_TEXTURE_COMPRESSED_IMAGE_SIZE, last);
            if (l->key % 64 == 0) m.width = lw, m.height = lh, m.depth = ld;
            if (lw * lh > m.width * m.height) m.width = lw, m.height = lh, m.depth = ld;
            m.format = number(*l, f_level::GL_TEXTURE_INTERNAL_FORMAT, last);
            uint64_t samples = std::max<uint64_t>(number(*l, f_level::GL_TEXTURE_SAMPLES, last), 1), each = lw * lh;
            m.bytes += packed ? packed
                       : lw && lh && each / lw == lh && each < 1ull << 40
                           ? each * std::min<uint64_t>(ld, 1 << 16) * texel_bytes(static_cast<uint32_t>(m.format)) *
                                 std::min<uint64_t>(samples, 64)
                           : 0;
          }
        break;
      }
      case class_renderbuffer:
        m.sized = true;
        m.width = number(b, f_renderbuffer::GL_RENDERBUFFER_WIDTH, last),
        m.height = number(b, f_renderbuffer::GL_RENDERBUFFER_HEIGHT, last), m.depth = m.levels = 1;
        m.format = number(b, f_renderbuffer::GL_RENDERBUFFER_INTERNAL_FORMAT, last);
        if (m.width < 1 << 20 && m.height < 1 << 20)
          m.bytes = m.width * m.height * texel_bytes(static_cast<uint32_t>(m.format)) *
                    std::clamp<uint64_t>(number(b, f_renderbuffer::GL_RENDERBUFFER_SAMPLES, last), 1, 64);
        break;
      case class_shader: m.target = number(b, f_shader::GL_SHADER_TYPE, last); break;
      case class_query: m.target = number(b, f_query::target, last); break;
      case class_vg_image:
        m.sized = true;
        m.width = number(b, f_vg_image::VG_IMAGE_WIDTH, last), m.height = number(b, f_vg_image::VG_IMAGE_HEIGHT, last),
        m.depth = m.levels = 1;
        m.format = number(b, f_vg_image::VG_IMAGE_FORMAT, last);
        // those of a child are its parent's
        m.bytes = number(b, f_vg_image::parent, last) ? 0 : vg_bytes(m.format, m.width, m.height);
        break;
      case class_list: m.bytes = 0; break;
      default: break;
    }
    return m;
  }
  Cell<std::string_view> label_of(const Block& b, uint64_t last) const {
    const ClassInfo& cls = g_classes[b.cls];
    for (unsigned f = 0; f < cls.field_count; ++f)
      if (!strcmp(cls.fields[f].name, "label")) {
        const Word* v = index_->value(b, cls.fields[f], 0, last);
        if (v && *v) return index_->text_at(*v);
      }
    return {};
  }
  std::shared_ptr<const Index> index_;
  std::unordered_map<uint32_t, std::vector<const Block*>> levels_;
  size_t at_ = 0;
};

}  // namespace

void Index::stream(std::shared_ptr<const Index> index, const std::string& table, const std::string& path,
                   uint64_t first, uint64_t end, ArrowArrayStream* out) {
  if (table == "state")
    export_stream(columns_of<rows::State>(), std::make_unique<StateSource>(index, path, first, end), out);
  else if (table == "draws")
    export_stream(columns_of<rows::Draws>(), std::make_unique<DrawSource>(index), out);
  else if (table == "resources")
    export_stream(columns_of<rows::Resources>(), std::make_unique<ResourceSource>(index), out);
  else
    throw Error(DT_E_ARGUMENT, "no table " + table + " of the state");
}

}  // namespace dt::state
