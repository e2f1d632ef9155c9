// The functions of the size rules; sizes.h says what they promise.
#include "sizes.h"

#include <stdio.h>

#include "../common/pixel_size.h"
#include "../common/uniform_type.h"
#include "gl_state.h"
#include "gl_enums.h"

namespace dt {
namespace size {

namespace {

// No driver takes an image that is longer in any direction; larger numbers are errors and read nothing.
constexpr int64_t LONGEST_SIDE = 1 << 20;
constexpr int64_t MOST_BYTES = 1ll << 40;

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

// Components of a value of a uniform's type; everything opaque is one integer.
int64_t uniform_components(uint32_t type) {
  for (uint32_t vectors : Each<uint32_t>{GL_INT64_VEC2_ARB, GL_UNSIGNED_INT64_VEC2_ARB})
    if (type - vectors < 3) return type - vectors + 2;
  return uniform_type(type).values();
}

int texture_dimensions(int64_t target) {
  switch (target) {
    case GL_TEXTURE_1D: return 1;
    case GL_TEXTURE_3D:
    case GL_TEXTURE_2D_ARRAY:
    case GL_TEXTURE_CUBE_MAP_ARRAY:
    case GL_TEXTURE_CUBE_MAP:
    case GL_PROXY_TEXTURE_2D_MULTISAMPLE_ARRAY: return 3;
    default: return 2;
  }
}

Store unpack_store(const GlContext* c) {
  const gl::PixelStore& p = c->unpack;
  return Store{p.row_length, p.image_height, p.skip_rows, p.skip_pixels, p.skip_images, p.alignment};
}
Store pack_store(const GlContext* c) {
  const gl::PixelStore& p = c->pack;
  return Store{p.row_length, p.image_height, p.skip_rows, p.skip_pixels, p.skip_images, p.alignment};
}

}  // namespace

int64_t index_size(int64_t type) {
  return type == GL_UNSIGNED_BYTE ? 1 : type == GL_UNSIGNED_SHORT ? 2 : type == GL_UNSIGNED_INT ? 4 : 0;
}

int64_t type_size(int64_t type) { return pixels::type_size(type); }
int64_t packed_size(int64_t type) { return pixels::packed_size(type); }
int64_t pixel_size(int64_t format, int64_t type) { return pixels::pixel_size(format, type); }

int64_t map_components(int64_t target) {
  static const uint8_t counts[] = {4, 1, 3, 1, 2, 3, 4, 3, 4};
  if (target >= GL_MAP1_COLOR_4 && target <= GL_MAP1_VERTEX_4) return counts[target - GL_MAP1_COLOR_4];
  if (target >= GL_MAP2_COLOR_4 && target <= GL_MAP2_VERTEX_4) return counts[target - GL_MAP2_COLOR_4];
  return target >= GL_MAP1_VERTEX_ATTRIB0_4_NV && target <= GL_MAP2_VERTEX_ATTRIB15_4_NV ? 4 : 0;
}

int64_t map1_size(int64_t target, int64_t stride, int64_t order) {
  int64_t n = map_components(target);
  return n && order >= 1 && order <= 1024 && stride >= n ? (order - 1) * stride + n : 0;
}

int64_t map2_size(int64_t target, int64_t ustride, int64_t uorder, int64_t vstride, int64_t vorder) {
  int64_t n = map_components(target);
  if (!n || uorder < 1 || vorder < 1 || uorder > 1024 || vorder > 1024 || ustride < n || vstride < n) return 0;
  return (uorder - 1) * ustride + (vorder - 1) * vstride + n;
}

int64_t call_lists_size(int64_t type) { return type >= GL_BYTE && type <= GL_4_BYTES ? type_size(type) : 0; }

int64_t get_int(int64_t pname) {
  GlContext* c = tls.context;
  return c ? gl::ask(c, (uint32_t)pname, 0) : 0;
}

int64_t get_count(int64_t pname) {
  GlContext* c = tls.context;
  bool es = c && c->api == 2;
  uint32_t v = c ? c->version : 0;
  switch (pname) {
    case GL_ALIASED_POINT_SIZE_RANGE:
    case GL_ALIASED_LINE_WIDTH_RANGE:
    case GL_POINT_SIZE_RANGE:
    case GL_LINE_WIDTH_RANGE:
    case GL_DEPTH_RANGE:
    case GL_MAX_VIEWPORT_DIMS:
    case GL_POLYGON_MODE:
    case GL_MAP1_GRID_DOMAIN:
    case GL_MAP2_GRID_SEGMENTS:
    case GL_VIEWPORT_BOUNDS_RANGE:
    case GL_DEPTH_BOUNDS_EXT: return 2;
    case GL_CURRENT_NORMAL:
    case GL_POINT_DISTANCE_ATTENUATION:
    case GL_CURRENT_TANGENT_EXT:
    case GL_CURRENT_BINORMAL_EXT: return 3;
    case GL_CURRENT_COLOR:
    case GL_CURRENT_TEXTURE_COORDS:
    case GL_CURRENT_RASTER_COLOR:
    case GL_CURRENT_RASTER_TEXTURE_COORDS:
    case GL_CURRENT_RASTER_POSITION:
    case GL_CURRENT_RASTER_SECONDARY_COLOR:
    case GL_CURRENT_SECONDARY_COLOR:
    case GL_COLOR_CLEAR_VALUE:
    case GL_ACCUM_CLEAR_VALUE:
    case GL_COLOR_WRITEMASK:
    case GL_FOG_COLOR:
    case GL_LIGHT_MODEL_AMBIENT:
    case GL_SCISSOR_BOX:
    case GL_VIEWPORT:
    case GL_BLEND_COLOR:
    case GL_MAP2_GRID_DOMAIN:
    case GL_VBO_FREE_MEMORY_ATI:
    case GL_TEXTURE_FREE_MEMORY_ATI:
    case GL_RENDERBUFFER_FREE_MEMORY_ATI: return 4;
    case GL_PRIMITIVE_BOUNDING_BOX:
    case GL_DEVICE_LUID_EXT: return 8;
    case GL_MODELVIEW_MATRIX:
    case GL_PROJECTION_MATRIX:
    case GL_TEXTURE_MATRIX:
    case GL_COLOR_MATRIX:
    case GL_TRANSPOSE_MODELVIEW_MATRIX:
    case GL_TRANSPOSE_PROJECTION_MATRIX:
    case GL_TRANSPOSE_TEXTURE_MATRIX:
    case GL_TRANSPOSE_COLOR_MATRIX:
    case GL_MODELVIEW1_MATRIX_EXT:
    case GL_CURRENT_MATRIX_ARB:
    case GL_TRANSPOSE_CURRENT_MATRIX_ARB:
    case GL_MODELVIEW_MATRIX_FLOAT_AS_INT_BITS_OES:
    case GL_PROJECTION_MATRIX_FLOAT_AS_INT_BITS_OES:
    case GL_TEXTURE_MATRIX_FLOAT_AS_INT_BITS_OES:
    case GL_DEVICE_UUID_EXT:
    case GL_DRIVER_UUID_EXT: return 16;
    case GL_COMPRESSED_TEXTURE_FORMATS: return es || v >= 13 ? get_int(GL_NUM_COMPRESSED_TEXTURE_FORMATS) : 0;
    case GL_PROGRAM_BINARY_FORMATS:
      return (es && v >= 30) || (!es && v >= 41) ||
                     (c && c->version &&
                      gl::has_extension(c, es ? "GL_OES_get_program_binary" : "GL_ARB_get_program_binary"))
                 ? get_int(GL_NUM_PROGRAM_BINARY_FORMATS)
                 : 0;
    case GL_SHADER_BINARY_FORMATS:
      return (es && v >= 20) || (!es && v >= 41) ? get_int(GL_NUM_SHADER_BINARY_FORMATS) : 0;
    case GL_CURRENT_WEIGHT_ARB:
      return c && c->api == 1 && gl::has_extension(c, "GL_ARB_vertex_blend") ? get_int(GL_ACTIVE_VERTEX_UNITS_ARB) : 1;
    case GL_WINDOW_RECTANGLE_EXT:
    case GL_WINDOW_RECTANGLE_MODE_EXT: return 4;
    default: break;
  }
  // GL_MODELVIEW2..31_ARB's matrices have no glGet name of their own; program matrices do.
  return pname >= GL_MATRIX0_ARB && pname <= GL_MATRIX31_ARB ? 16 : 1;
}

int64_t get_indexed_count(int64_t target) {
  if (target == GL_SAMPLE_POSITION) return 2;
  return get_count(target);
}

int64_t bound(int64_t enumerant) {
  GlContext* c = tls.context;
  return c && gl::bound_buffer(c, (uint32_t)enumerant) != 0;
}

int64_t clear_components(int64_t buffer) {
  return buffer == GL_COLOR ? 4 : buffer == GL_DEPTH || buffer == GL_STENCIL ? 1 : 0;
}

int64_t map_get_count(int64_t target, int64_t query) {
  bool two = (target >= GL_MAP2_COLOR_4 && target <= GL_MAP2_VERTEX_4) ||
             (target >= GL_MAP2_VERTEX_ATTRIB0_4_NV && target <= GL_MAP2_VERTEX_ATTRIB15_4_NV);
  if (!map_components(target)) return 0;
  if (query == GL_ORDER) return two ? 2 : 1;
  if (query == GL_DOMAIN) return two ? 4 : 2;
  if (query != GL_COEFF) return 0;
  GlContext* c = tls.context;
  if (!gl::can_ask(c) || !driver::glGetMapiv || c->core || c->api != 1) return 0;
  int32_t order[2] = {0, 1};
  driver::glGetMapiv((uint32_t)target, GL_ORDER, order);
  return map_components(target) * order[0] * (two ? order[1] : 1);
}

int64_t pixel_map_size(int64_t map) {
  GlContext* c = tls.context;
  if (!c || c->core || c->api != 1 || map < GL_PIXEL_MAP_I_TO_I || map > GL_PIXEL_MAP_A_TO_A || c->buffers[gl::PACK])
    return 0;
  return get_int(GL_PIXEL_MAP_I_TO_I_SIZE + (map - GL_PIXEL_MAP_I_TO_I));
}

int64_t image_bytes(const Store& s, int64_t format, int64_t type, int64_t width, int64_t height, int64_t depth,
                    int dimensions) {
  if (width <= 0 || height <= 0 || depth <= 0) return 0;
  if (width > LONGEST_SIDE || height > LONGEST_SIDE || depth > LONGEST_SIDE) return 0;
  bool bits = type == GL_BITMAP;
  int64_t pixel = bits ? 1 : pixel_size(format, type);
  int64_t alignment = s.alignment > 0 ? s.alignment : 1;
  int64_t length = s.row_length > 0 ? s.row_length : width;
  int64_t row = bits ? round_up((length + 7) / 8, alignment) : round_up(length * pixel, alignment);
  int64_t rows = dimensions == 3 && s.image_height > 0 ? s.image_height : height;
  int64_t images = (dimensions == 3 ? s.skip_images : 0) + depth - 1;
  // Each factor is below 2^31 and pixels have at most 40 bytes, so only the last products can overflow.
  __int128 total = (__int128)images * rows * row + (__int128)(s.skip_rows + height - 1) * row;
  total += bits ? (s.skip_pixels + width + 7) / 8 : (s.skip_pixels + width) * pixel;
  if (!pixel) return 0;
  if (total > MOST_BYTES) return TOO_MANY;
  return (int64_t)total;
}

int64_t image_in(Thread* t, int64_t format, int64_t type, int64_t width, int64_t height, int64_t depth, int dimensions,
                 const void* pixels) {
  const GlContext* c = t->context;
  if (!c) return 0;
  if (c->buffers[gl::UNPACK]) return IS_OFFSET;
  return pixels ? image_bytes(unpack_store(c), format, type, width, height, depth, dimensions) : 0;
}

int64_t image_out(Thread* t, int64_t format, int64_t type, int64_t width, int64_t height, int64_t depth, int dimensions,
                  const void* pixels) {
  const GlContext* c = t->context;
  if (!c) return 0;
  if (c->buffers[gl::PACK]) return IS_OFFSET;
  return pixels ? image_bytes(pack_store(c), format, type, width, height, depth, dimensions) : 0;
}

int64_t compressed_in(Thread* t, int64_t bytes) {
  const GlContext* c = t->context;
  return c && c->buffers[gl::UNPACK] ? IS_OFFSET : bytes;
}

int64_t compressed_in(Thread* t, int64_t bytes, int64_t width, int64_t height, int64_t depth, int dimensions) {
  const GlContext* c = t->context;
  if (!c || c->buffers[gl::UNPACK]) return compressed_in(t, bytes);
  const gl::PixelStore& p = c->unpack;
  // The parameters count only when block width and size (and height, depth as far as there are) are set.
  if (!p.block_size || !p.block_width || (dimensions > 1 && !p.block_height) || (dimensions > 2 && !p.block_depth))
    return bytes;
  if (width <= 0 || height <= 0 || depth <= 0 || width > LONGEST_SIDE || height > LONGEST_SIDE || depth > LONGEST_SIDE)
    return 0;
  auto blocks = [](int64_t n, int64_t block) { return (n + block - 1) / block; };
  int64_t block_height = dimensions > 1 ? p.block_height : 1, block_depth = dimensions > 2 ? p.block_depth : 1;
  int64_t row = blocks(p.row_length > 0 ? p.row_length : width, p.block_width) * p.block_size;
  int64_t rows = blocks(dimensions > 2 && p.image_height > 0 ? p.image_height : height, block_height);
  int64_t images = (dimensions > 2 ? p.skip_images / block_depth : 0) + blocks(depth, block_depth) - 1;
  int64_t skip_rows = dimensions > 1 ? p.skip_rows / block_height : 0;
  __int128 total = (__int128)images * rows * row + (__int128)(skip_rows + blocks(height, block_height) - 1) * row +
                   (p.skip_pixels / p.block_width + blocks(width, p.block_width)) * p.block_size;
  return total > MOST_BYTES ? TOO_MANY : (int64_t)total;
}

int64_t tex_image_size(int64_t target, int64_t level, int64_t format, int64_t type) {
  GlContext* c = tls.context;
  if (!gl::can_ask(c) || !driver::glGetTexLevelParameteriv || c->buffers[gl::PACK] || (c->api == 2 && c->version < 31))
    return 0;
  int32_t width = 0, height = 1, depth = 1;
  bool volumes = c->api == 2 || c->version >= 12;
  driver::glGetTexLevelParameteriv((uint32_t)target, (int32_t)level, GL_TEXTURE_WIDTH, &width);
  driver::glGetTexLevelParameteriv((uint32_t)target, (int32_t)level, GL_TEXTURE_HEIGHT, &height);
  if (volumes) driver::glGetTexLevelParameteriv((uint32_t)target, (int32_t)level, GL_TEXTURE_DEPTH, &depth);
  if (height < 1) height = 1;
  if (depth < 1) depth = 1;
  return image_bytes(pack_store(c), format, type, width, height, depth, texture_dimensions(target));
}

int64_t compressed_image_size(int64_t target, int64_t level) {
  GlContext* c = tls.context;
  if (!gl::can_ask(c) || !driver::glGetTexLevelParameteriv || c->buffers[gl::PACK] || c->api == 2 || c->version < 13)
    return 0;
  int32_t compressed = 0, bytes = 0;
  driver::glGetTexLevelParameteriv((uint32_t)target, (int32_t)level, GL_TEXTURE_COMPRESSED, &compressed);
  if (compressed)
    driver::glGetTexLevelParameteriv((uint32_t)target, (int32_t)level, GL_TEXTURE_COMPRESSED_IMAGE_SIZE, &bytes);
  return bytes;
}

// A texture that queries name, where the version allows it and they read to memory.
struct NamedTexture {
  NamedTexture(int64_t texture, int64_t level) : texture_((uint32_t)texture), level_((int32_t)level) {
    GlContext* c = tls.context;
    ask_ = driver::glGetTextureLevelParameteriv;
    if (!gl::can_ask(c) || !driver::glIsTexture || !ask_ || !driver::glGetTextureParameteriv || c->buffers[gl::PACK] ||
        c->api != 1)
      return;
    if (c->version < 45 && !gl::has_extension(c, "GL_ARB_direct_state_access")) return;
    known = driver::glIsTexture(texture_);
    if (known) driver::glGetTextureParameteriv(texture_, GL_TEXTURE_TARGET, &target);
  }
  int32_t get(uint32_t name, int32_t otherwise = 0) const {
    ask_(texture_, level_, name, &otherwise);
    return otherwise;
  }
  bool known = false;
  int32_t target = 0;

 private:
  uint32_t texture_;
  int32_t level_;
  void (*ask_)(uint32_t, int32_t, uint32_t, int32_t*);
};

int64_t named_tex_image_size(int64_t texture, int64_t level, int64_t format, int64_t type) {
  GlContext* c = tls.context;
  NamedTexture t(texture, level);
  if (!t.known) return 0;
  int32_t target = t.target, width = t.get(GL_TEXTURE_WIDTH), height = t.get(GL_TEXTURE_HEIGHT, 1),
          depth = t.get(GL_TEXTURE_DEPTH, 1);
  if (target == GL_TEXTURE_CUBE_MAP) depth = 6;
  return image_bytes(pack_store(c), format, type, width, max(height, 1), max(depth, 1), texture_dimensions(target));
}

int64_t uniform_size(int64_t program, int64_t location) {
  GlContext* c = tls.context;
  if (!gl::can_ask(c) || c->version < 20 || location < 0 || !driver::glIsProgram || !driver::glGetProgramiv ||
      !driver::glGetActiveUniform || !driver::glGetUniformLocation)
    return 1;
  uint32_t p = (uint32_t)program;
  int32_t linked = 0, count = 0;
  if (!driver::glIsProgram(p)) return 1;
  driver::glGetProgramiv(p, GL_LINK_STATUS, &linked);
  if (!linked) return 1;
  driver::glGetProgramiv(p, GL_ACTIVE_UNIFORMS, &count);
  // Elements of an array usually have consecutive locations; where they do not, each driver::glIsProgram asked for.
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t i = 0; i < count; i++) {
      char name[512];
      int32_t length = 0, elements = 0;
      uint32_t type = 0;
      driver::glGetActiveUniform(p, (uint32_t)i, 480, &length, &elements, &type, name);
      if (length <= 0 || length >= 480) continue;
      if (pass == 0) {
        int32_t at = driver::glGetUniformLocation(p, name);
        if (at >= 0 && location >= at && location < at + elements) return uniform_components(type);
        continue;
      }
      if (elements < 2) continue;
      char* bracket = length > 3 && name[length - 1] == ']' ? strrchr(name, '[') : nullptr;
      char* end = bracket ? bracket : name + length;
      for (int32_t e = 1; e < elements; e++) {
        snprintf(end, 24, "[%d]", e);
        if (driver::glGetUniformLocation(p, name) == location) return uniform_components(type);
      }
    }
  }
  return 1;
}

int64_t named_compressed_image_size(int64_t texture, int64_t level) {
  NamedTexture t(texture, level);
  if (!t.known || !t.get(GL_TEXTURE_COMPRESSED)) return 0;
  return (int64_t)t.get(GL_TEXTURE_COMPRESSED_IMAGE_SIZE) *
         (t.target == GL_TEXTURE_CUBE_MAP ? 6 : 1);  // a cube map: the size of a face
}

// The imaging subset: compatibility profile only, and there where the call itself is allowed.
using AskImaging = driver::Function<void(uint32_t, uint32_t, int32_t*)>;
static int32_t imaging_parameter(const AskImaging& get, int64_t target, uint32_t pname) {
  GlContext* c = tls.context;
  if (!gl::can_ask(c) || !get || c->core || c->api != 1 || !gl::has_extension(c, "GL_ARB_imaging")) return 0;
  int32_t value = 0;
  get((uint32_t)target, pname, &value);
  return value;
}

int64_t imaging_width(int64_t target) {
  if (target == GL_HISTOGRAM || target == GL_PROXY_HISTOGRAM)
    return imaging_parameter(driver::glGetHistogramParameteriv, target, GL_HISTOGRAM_WIDTH);
  if (target >= GL_CONVOLUTION_1D && target <= GL_SEPARABLE_2D)
    return imaging_parameter(driver::glGetConvolutionParameteriv, target, GL_CONVOLUTION_WIDTH);
  return imaging_parameter(driver::glGetColorTableParameteriv, target, GL_COLOR_TABLE_WIDTH);
}

int64_t imaging_height(int64_t target) {
  if (target != GL_CONVOLUTION_2D && target != GL_SEPARABLE_2D) return 1;
  return imaging_parameter(driver::glGetConvolutionParameteriv, target, GL_CONVOLUTION_HEIGHT);
}

// Number of things that a linked program has of a kind, 0 where `program` is none.
static int32_t program_count(GlContext* c, int64_t program, uint32_t pname) {
  if (!gl::can_ask(c) || !driver::glIsProgram || !driver::glGetProgramiv || !driver::glIsProgram((uint32_t)program))
    return 0;
  int32_t count = 0;
  driver::glGetProgramiv((uint32_t)program, pname, &count);
  return count;
}

int64_t uniform_block_uniforms(int64_t program, int64_t block) {
  GlContext* c = tls.context;
  if (!driver::glGetActiveUniformBlockiv || !c || c->version < (c->api == 2 ? 30u : 31u)) return 0;
  if (block < 0 || block >= program_count(c, program, GL_ACTIVE_UNIFORM_BLOCKS)) return 0;
  int32_t count = 0;
  driver::glGetActiveUniformBlockiv((uint32_t)program, (uint32_t)block, GL_UNIFORM_BLOCK_ACTIVE_UNIFORMS, &count);
  return count;
}

int64_t atomic_counters(int64_t program, int64_t buffer) {
  GlContext* c = tls.context;
  if (!driver::glGetActiveAtomicCounterBufferiv || !c || c->api != 1 || c->version < 42) return 0;
  if (buffer < 0 || buffer >= program_count(c, program, GL_ACTIVE_ATOMIC_COUNTER_BUFFERS)) return 0;
  int32_t count = 0;
  driver::glGetActiveAtomicCounterBufferiv((uint32_t)program, (uint32_t)buffer,
                                           GL_ATOMIC_COUNTER_BUFFER_ACTIVE_ATOMIC_COUNTERS, &count);
  return count;
}

int64_t compatible_subroutines(int64_t program, int64_t shadertype, int64_t index) {
  GlContext* c = tls.context;
  if (!driver::glGetProgramStageiv || !driver::glGetActiveSubroutineUniformiv || !c || c->api != 1 || c->version < 40 ||
      !program_count(c, program, GL_LINK_STATUS))
    return 0;
  int32_t uniforms = 0, count = 0;
  driver::glGetProgramStageiv((uint32_t)program, (uint32_t)shadertype, GL_ACTIVE_SUBROUTINE_UNIFORMS, &uniforms);
  if (index < 0 || index >= uniforms) return 0;
  driver::glGetActiveSubroutineUniformiv((uint32_t)program, (uint32_t)shadertype, (uint32_t)index,
                                         GL_NUM_COMPATIBLE_SUBROUTINES, &count);
  return count;
}

int64_t program_string_size(int64_t target) {
  GlContext* c = tls.context;
  bool vertex = target == GL_VERTEX_PROGRAM_ARB, fragment = target == GL_FRAGMENT_PROGRAM_ARB;
  if (!gl::can_ask(c) || !driver::glGetProgramivARB || c->core || c->api != 1 || !(vertex || fragment)) return 0;
  if (!gl::has_extension(c, vertex ? "GL_ARB_vertex_program" : "GL_ARB_fragment_program")) return 0;
  int32_t length = 0;
  driver::glGetProgramivARB((uint32_t)target, GL_PROGRAM_LENGTH_ARB, &length);
  return length;
}

int64_t sum(const void* counts, int64_t n) {
  if (!counts) return 0;
  int64_t total = 0;
  for (int64_t i = 0; i < n; i++) {
    int32_t v;
    memcpy(&v, (const char*)counts + 4 * i, 4);
    total += v;
  }
  return total;
}

}  // namespace size
}  // namespace dt
