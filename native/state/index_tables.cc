// Tables of the index: state, draws, resources.
#include <algorithm>

#include "../core/rows.h"
#include "gl.h"
#include "gl_enums.h"
#include "index.h"
#include "vg_enums.h"

namespace dt::state {

namespace {

constexpr int64_t BATCH = 65536;

// The name of an enumerant, its number in hexadecimal where it has none.
std::string enum_name(const char* group, uint32_t value) {
  const char* name = enum_text(group, value);
  if (name) return name;
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
  struct ElementOfField {
    uint32_t block;
    uint16_t field, element;
  };
  void one(RowWriter<rows::State>& w, const ElementOfField& x) {
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
      if (words && begin < end_ && end > first_ && end > begin && i.given(b, f, begin))
        w.add({.path = path, .begin_seq = begin, .end_seq = end, .value = i.value_json(b, f, words, begin)});
      if (change >= last || begin >= end_) return;
      begin = end;
    }
  }
  std::shared_ptr<const Index> index_;
  uint64_t first_, end_;
  std::vector<ElementOfField> wanted_;
  size_t at_ = 0;
};

class DrawSource : public BatchSource {
 public:
  explicit DrawSource(std::shared_ptr<const Index> index) : index_(std::move(index)) {}
  bool next(Batch& batch) override {
    const Index& i = *index_;
    if (at_ >= i.draws.size()) return false;
    RowWriter<rows::Draws> w(batch);
    const size_t first = at_;
    for (; at_ < i.draws.size() && batch.rows < BATCH; ++at_) one(w, i.draws[at_]);
    forget(first);
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

  // The draws of a long trace are hundreds of megabytes of the index: those before `at_` have been read.
  void forget(size_t first) const {
    const Index& i = *index_;
    i.forget(&i.draws[first], i.draws.data() + at_);
    const uint32_t begin = i.draws[first].lists, end = i.draws[at_ - 1].lists;
    if (begin < end && end <= i.numbers.size()) i.forget(&i.numbers[begin], i.numbers.data() + end);
  }

  // Textures, buffers and targets, each behind their number.
  void lists(const DrawRow& d, rows::Draws& row) const {
    const Index& i = *index_;
    uint32_t at = d.lists;
    auto list = [&] {
      uint32_t n = at < i.numbers.size() ? i.numbers[at] : 0;
      std::span<const uint32_t> part =
          n <= i.numbers.size() - at - 1 ? i.numbers.subspan(at + 1, n) : std::span<const uint32_t>();
      at += 1 + n;
      return part;
    };
    auto textures = list(), buffers = list(), targets = list();
    row.buffers = std::vector<uint64_t>(buffers.begin(), buffers.end());
    row.textures = std::vector<uint64_t>(textures.begin(), textures.end());
    row.targets = std::vector<std::string>();
    for (uint32_t v : targets) row.targets.value.push_back(i.content_path(v, true));
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

// Bytes by OpenVG's formats; the upper bits are the order of channels.
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
    // The value at the end of its life.
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
        // a child has its parent's bytes
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
  else if (!stream_contents(index, table, out))
    throw Error(DT_E_ARGUMENT, "no table " + table + " of the state");
}

}  // namespace dt::state
