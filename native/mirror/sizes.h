// The number of bytes or values behind a pointer: the functions of the size rules.
//
// Exactly the parameters that the rules write; where a context matters it is the one current on this thread
// (`tls.context`). All arithmetic is 64-bit signed; what is unknown, invalid or would overflow counts as 0. Sizes given
// to a driver that will refuse them read nothing, so they count as 0 here too where we can know that. Functions that
// ask the driver do so only where the context's API and version have the query, and never between glBegin and glEnd.
// They use only names that exist, so that no error arises that the program would not have had.
//
// Images:  image_in(t, format, type, w, h, d, dims, pixels)  -> bytes from `pixels` on that the driver can read
//          image_out(t, ...)                                 -> the same for what it can write
// Both count from the pointer itself, the skipped part included, and return IS_OFFSET while a pixel (un)pack buffer
// is bound. compressed_in/out do the same for compressed images; the long form takes the extent, which matters when
// the compressed block parameters of the pixel store are set. prepare_image/prepare_image_out make the argument.
#pragma once
#include "host.h"

namespace dt {
namespace size {

constexpr int64_t IS_OFFSET = INT64_MIN;

int64_t index_size(int64_t type);
int64_t type_size(int64_t type);
int64_t packed_size(int64_t type);  // bytes of a whole packed pixel or attribute of that type, 0: not packed
int64_t pixel_size(int64_t format, int64_t type);
int64_t map_components(int64_t target);
int64_t map1_size(int64_t target, int64_t stride, int64_t order);
int64_t map2_size(int64_t target, int64_t ustride, int64_t uorder, int64_t vstride, int64_t vorder);
int64_t call_lists_size(int64_t type);
int64_t get_count(int64_t pname);
int64_t get_indexed_count(int64_t target);
int64_t get_int(int64_t pname);
int64_t tex_image_size(int64_t target, int64_t level, int64_t format, int64_t type);
int64_t compressed_image_size(int64_t target, int64_t level);
int64_t named_tex_image_size(int64_t texture, int64_t level, int64_t format, int64_t type);
int64_t uniform_size(int64_t program, int64_t location);
int64_t bound(int64_t enumerant);
int64_t clear_components(int64_t buffer);
int64_t map_get_count(int64_t target, int64_t query);
int64_t pixel_map_size(int64_t map);
int64_t named_compressed_image_size(int64_t texture, int64_t level);
int64_t imaging_width(int64_t target);
int64_t imaging_height(int64_t target);
int64_t uniform_block_uniforms(int64_t program, int64_t block);
int64_t atomic_counters(int64_t program, int64_t buffer);
int64_t compatible_subroutines(int64_t program, int64_t shadertype, int64_t index);
int64_t program_string_size(int64_t target);
int64_t sum(const void* counts, int64_t n);

template <typename T> static inline int64_t deref(const T* pointer) { return pointer ? (int64_t)*pointer : 0; }
static inline int64_t deref(const void*) { return 0; }
static inline int64_t strlen(const void* s) { return s ? (int64_t)__builtin_strlen((const char*)s) : 0; }
static inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }

// Pixel-store parameters of one image; what image_in and image_out use.
struct Store {
  int64_t row_length, image_height, skip_rows, skip_pixels, skip_images, alignment;
};
int64_t image_bytes(const Store& store, int64_t format, int64_t type, int64_t width, int64_t height, int64_t depth,
                    int dimensions);

int64_t image_in(Thread* t, int64_t format, int64_t type, int64_t width, int64_t height, int64_t depth, int dimensions,
                 const void* pixels);
int64_t image_out(Thread* t, int64_t format, int64_t type, int64_t width, int64_t height, int64_t depth, int dimensions,
                  const void* pixels);
int64_t compressed_in(Thread* t, int64_t bytes);
int64_t compressed_in(Thread* t, int64_t bytes, int64_t width, int64_t height, int64_t depth, int dimensions);

}  // namespace size
}  // namespace dt
