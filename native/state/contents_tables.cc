// Tables of the index about contents: revisions, passes, pass_links.
#include <algorithm>

#include "../core/rows.h"
#include "gl.h"
#include "index.h"

namespace dt::state {

const Block& Index::block_at(uint32_t location) const {
  return *(
      std::upper_bound(blocks.begin(), blocks.end(), location, [](uint32_t l, const Block& b) { return l < b.base; }) -
      1);
}

std::string Index::content_path(uint32_t location, bool without_group) const {
  const Block& block = block_at(location);
  std::string path(path_of(block));
  if (size_t dot = path.find('.'); without_group && dot != path.npos)
    path.erase(0, path.starts_with("shares[") || path.starts_with("contexts[") || path.starts_with("vg_shares[")
                      ? dot + 1
                      : 0);
  if (block.cls != class_surface) return path;
  auto *first = fields(block), *end = first + g_classes[block.cls].field_count;
  auto* field = std::upper_bound(first, end, location - block.base,
                                 [](unsigned at, const FieldInfo& f) { return at < f.location; }) -
                1;
  return path + "." + field->name;
}

uint64_t Index::frame_of(uint64_t seq) const {
  auto& ends = trace->frames()->ends;
  return static_cast<uint64_t>(std::lower_bound(ends.begin(), ends.end(), seq) - ends.begin());
}

namespace {

constexpr int64_t ROWS = 65536;  // of a batch
constexpr const char* CHANGES[] = {"draw", "clear", "dispatch", "copy", "readback", "upload", "store", "other"};
constexpr const char* PASSES[] = {"draw", "dispatch", "copy", "readback", "show"};

// The object that a content is of, as `resources` names it; of a surface its handle.
struct Holder {
  const char* cls;
  uint64_t name;
  uint32_t created;
  Cell<uint32_t> context, share_group;
};

Holder holder_of(const Index& index, uint32_t location) {
  const Block* block = &index.block_at(location);
  while (!is_resource(block->cls) && block->cls != class_surface && block->parent < index.blocks.size() &&
         &index.blocks[block->parent] != block)
    block = &index.blocks[block->parent];
  const bool named = index.path_of(*block).find("default_textures") == std::string_view::npos;
  Holder holder{g_classes[block->cls].name, named ? block->key : 0, block->created, {}, {}};
  if (block->cls == class_surface || block->parent >= index.blocks.size()) return holder;
  const Block& owner = index.blocks[block->parent];
  (owner.cls == class_context ? holder.context : holder.share_group) = static_cast<uint32_t>(owner.key);
  return holder;
}

// Batches of rows, one for each element of a list of the index; `add` writes it.
template <class Row, auto list, auto add> class ListSource : public BatchSource {
 public:
  explicit ListSource(std::shared_ptr<const Index> index) : index_(std::move(index)) {}
  bool next(Batch& batch) override {
    const auto& all = (*index_).*list;
    if (at_ >= all.size()) return false;
    RowWriter<Row> w(batch);
    for (; at_ < all.size() && batch.rows < ROWS; ++at_) add(w, *index_, all[at_]);
    return true;
  }
  static void stream(const std::shared_ptr<const Index>& index, ArrowArrayStream* out) {
    export_stream(columns_of<Row>(), std::make_unique<ListSource>(index), out);
  }

 private:
  std::shared_ptr<const Index> index_;
  size_t at_ = 0;
};

void add_revision(RowWriter<rows::Revisions>& w, const Index& i, const Revision& r) {
  const Holder holder = holder_of(i, r.location);
  const std::string path = i.content_path(r.location, false), hash = hash_text({r.hash_low, r.hash_high});
  rows::Revisions row{.class_ = holder.cls,
                      .name = holder.name,
                      .context = holder.context,
                      .share_group = holder.share_group,
                      .created_seq = holder.created,
                      .path = path,
                      .kind = CHANGES[r.kind],
                      .seq = r.first,
                      .last_seq = r.last,
                      .frame = i.frame_of(r.first),
                      .calls = r.calls};
  if (r.pass != NEVER) row.pass_number = r.pass;
  if (r.bytes) row.bytes = r.bytes;
  if (r.hash_low || r.hash_high) row.content_hash = hash;
  w.add(row);
}

void add_pass(RowWriter<rows::Passes>& w, const Index& i, const Pass& p) {
  rows::Passes row{.pass_number = p.number,
                   .frame = i.frame_of(p.first),
                   .context = p.context,
                   .kind = PASSES[p.kind],
                   .first_seq = p.first,
                   .last_seq = p.last,
                   .calls = p.calls,
                   .draws = p.draws,
                   .clears = p.clears,
                   .dispatches = p.dispatches};
  if (p.framebuffer != NEVER) row.framebuffer = p.framebuffer;
  if (p.width) row.width = p.width, row.height = p.height;
  row.targets = std::vector<std::string>();
  const uint32_t n = p.targets < i.numbers.size() ? i.numbers[p.targets] : 0;
  for (uint32_t t = 0; t < n && p.targets + 1 + t < i.numbers.size(); ++t)
    row.targets.value.push_back(i.content_path(i.numbers[p.targets + 1 + t], false));
  w.add(row);
}

void add_link(RowWriter<rows::PassLinks>& w, const Index& i, const Link& l) {
  const Holder holder = holder_of(i, l.location);
  const std::string path = i.content_path(l.location, false);
  w.add({.from_pass = l.from,
         .to_pass = l.to,
         .frame = i.frame_of(l.seq),
         .kind = l.use == LINK_READ ? "read" : "kept",
         .class_ = holder.cls,
         .name = holder.name,
         .path = path,
         .seq = l.seq});
}

}  // namespace

bool stream_contents(const std::shared_ptr<const Index>& index, const std::string& table, ArrowArrayStream* out) {
  if (table == "revisions")
    ListSource<rows::Revisions, &Index::revisions, add_revision>::stream(index, out);
  else if (table == "passes")
    ListSource<rows::Passes, &Index::passes, add_pass>::stream(index, out);
  else if (table == "pass_links")
    ListSource<rows::PassLinks, &Index::links, add_link>::stream(index, out);
  else
    return false;
  return true;
}

}  // namespace dt::state
