// The state of a whole trace, kept so that a question can name any moment of it.
#pragma once
#include <map>

#include "../core/arrow.h"
#include "machine.h"

namespace dt::state {

constexpr uint32_t NEVER = UINT32_MAX;  // Block::gone of what is there in the end

// Plain arrays, so that a file of them can be mapped as it is.
struct Block {                       // a node
  uint32_t base, cls, parent, path;  // path: offset in the text
  uint64_t key;
  uint32_t created, gone;      // seqs; gone: UINT32_MAX while it lives
  uint32_t path_length, name;  // name: offset of a uniform's name and the like, 0: none
};
struct Change {
  uint32_t seq, next;  // next: unused
  uint64_t value;      // the word, or where the words stand in the pool
};
struct DrawRow {
  uint32_t seq, frame, context, function;
  uint32_t mode, deeds, flags;  // flags: see DRAW_*
  uint32_t program, vertex_array, index_buffer, framebuffer;
  uint32_t width, height;
  uint32_t depth_func, blend_src, blend_dst, cull_mode, front_face, polygon_mode, color_mask;
  int32_t viewport[4];
  float extent[2];  // of what OpenVG draws, on the surface; negative: not known
  uint32_t lists;   // offset in the pool of numbers: textures, buffers, targets, each with its count before it
  uint64_t vertices, instances, primitives, client_bytes;
};
enum : uint32_t {
  DRAW_INDEXED = 1,
  DRAW_INDIRECT = 2,
  DRAW_BLEND = 4,
  DRAW_DEPTH_TEST = 8,
  DRAW_DEPTH_WRITE = 16,
  DRAW_STENCIL = 32,
  DRAW_CULL = 64,
  DRAW_SCISSOR = 128,
  DRAW_ALPHA_TEST = 256,
  DRAW_LIGHTING = 512,
  DRAW_DISCARD = 1024,
  DRAW_VECTOR = 2048
};
struct Resource {
  uint32_t block;
  uint32_t uploads, uses, first_use, last_use;  // first_use: UINT32_MAX: never
  uint32_t writes;                              // as a target, or by copies
  uint64_t uploaded_bytes;
  uint64_t hash_low, hash_high;  // of what was uploaded last
};

// The way in which a call changed a content. `other`: it got new storage, or the way is not known.
enum class ChangeKind : uint32_t { draw, clear, dispatch, copy, readback, upload, store, other };
enum class PassKind : uint32_t { draw, dispatch, copy, readback, show };
struct Revision {
  uint32_t location = 0, first = 0, last = 0, calls = 0;
  uint32_t pass = NEVER, kind = 0;  // pass: UINT32_MAX: of none
  uint64_t bytes = 0;               // uploaded
  uint64_t hash_low = 0, hash_high = 0;
};
struct Pass {
  uint32_t number, first, last, calls, context, kind;
  uint32_t framebuffer;  // UINT32_MAX: it draws to none
  uint32_t draws, clears, dispatches, width, height;
  uint32_t targets;  // offset in the pool of numbers
};
enum : uint32_t { LINK_READ = 1, LINK_KEPT = 2 };
struct Link {
  uint32_t from, to, location, use, seq;
};

class Index {
 public:
  // Walks the trace, or maps what an earlier walk left in `folder` (empty: nowhere).
  Index(const std::string& path, const std::string& frame_end, const std::string& folder);
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  void at(uint64_t seq, std::string_view path, Bytes& out) const;
  void changes(uint64_t first, uint64_t end, std::string_view path, Bytes& out) const;
  static void stream(std::shared_ptr<const Index> index, const std::string& table, const std::string& path,
                     uint64_t first, uint64_t end, ArrowArrayStream* out);
  // Lets go of the memory of the mapped part between two addresses; who reads it again gets it from the file.
  void forget(const void* from, const void* to) const;

  std::shared_ptr<Trace> trace;
  std::vector<std::string> problems;

  std::span<const Block> blocks;
  std::span<const uint32_t> starts;  // per location: its first change; one more at the end
  std::span<const Change> ordered;   // by location, then seq
  std::span<const uint64_t> pool;
  std::span<const DrawRow> draws;
  std::span<const uint32_t> numbers;  // lists of draws and passes
  std::span<const Resource> resources;
  std::span<const Revision> revisions;  // by call, then location
  std::span<const Pass> passes;         // by number
  std::span<const Link> links;          // by call
  std::span<const char> text;           // paths; texts as values
  std::span<const uint64_t> texts;      // offset << 24 | length of every text
  std::span<const uint32_t> by_path;    // blocks by their paths
  uint64_t calls = 0;

  std::string_view path_of(const Block& b) const { return {text.data() + b.path, b.path_length}; }
  std::string_view text_at(uint64_t number) const;
  const FieldInfo* fields(const Block& b) const { return g_classes[b.cls].fields; }
  const Block& block_at(uint32_t location) const;
  // The path of the image or buffer whose content a location is; `without_group`: as `draws` has it.
  std::string content_path(uint32_t location, bool without_group) const;
  uint64_t frame_of(uint64_t seq) const;
  std::string full_path(const Block& b, const FieldInfo& f, unsigned element) const;
  // The words of a variable after call `seq`, and since when; nullptr: its node was not there.
  const Word* value(const Block& b, const FieldInfo& f, unsigned element, uint64_t seq,
                    uint32_t* since = nullptr) const;
  const Word* words(const Block& b, const FieldInfo& f, uint32_t change) const;
  bool is_mirror(const Block& b, const FieldInfo& f, unsigned element) const;
  bool is_dull(const Block& b) const;
  std::string json(const Block& b, const FieldInfo& f, const Word* words) const;
  // The same at a call: uniforms are as long as what was given to them, and not there before.
  std::string value_json(const Block& b, const FieldInfo& f, const Word* words, uint64_t seq) const;
  bool given(const Block& b, const FieldInfo& f, uint64_t seq) const;
  // Locations that a pattern names, in order.
  void each(std::string_view pattern,
            const std::function<void(const Block&, const FieldInfo&, unsigned element)>& visit) const;

 private:
  void walk(const std::string& file, const std::string& folder);  // file: where it is kept, empty: nowhere
  bool load(const std::string& file);
  void adopt(void* at, size_t bytes, bool in_file);
  std::string stamp() const;
  void find_window_systems();
  std::vector<uint32_t> near(std::string_view beginning) const;  // nodes that may have variables whose paths begin so

  void* mapped_ = nullptr;
  size_t mapped_bytes_ = 0;
  bool in_file_ = false;  // what is mapped
  std::string frame_end_;
  bool egl_ = true, glx_ = true;  // whether contexts or surfaces are theirs
};

bool shown(const ClassInfo& cls, const FieldInfo& field);  // false: of the machine's own
// Export revisions, passes or pass_links; false: another table.
bool stream_contents(const std::shared_ptr<const Index>& index, const std::string& table, ArrowArrayStream* out);
bool is_resource(uint32_t cls);
extern std::atomic<uint64_t> g_cancel;

}  // namespace dt::state
