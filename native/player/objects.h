// The content of a texture, a renderbuffer, a buffer or an image of OpenVG, whole.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "../mirror/gl_state.h"

namespace dt::play {

class Player;

// One image of an object: a level (of a face) of a texture with all its layers, a renderbuffer, an image of OpenVG; or
// a buffer, which needs its name alone.
struct ObjectImage {
  enum What : uint8_t { TEXTURE, RENDERBUFFER, VG_IMAGE, BUFFER, SHADER, PROGRAM };
  What what = TEXTURE;
  uint32_t name = 0;                                    // in the recording; 0: the context's own texture
  uint32_t target = 0;                                  // where it is bound
  uint32_t face = 0;                                    // the target of the level: a face of a cube, else `target`
  int32_t level = 0, width = 0, height = 0, depth = 1;  // as the recording says
  unsigned points = 1;                                  // what is in it: Attachments, and EACH_TEXEL
};
// For a texture: the texels that compressed blocks stand for, as the driver decodes them; for one with several samples
// a pixel each of them, as a layer.
constexpr unsigned EACH_TEXEL = 16;

// For shaders and programs the log of their compilation or linking is read ("log"), `format` is 1 where that worked.
// The content: `type` as numpy spells it, or "compressed" (bytes as the driver keeps them, of `format`), "2_10_10_10"
// and "24_8" (words of 4 bytes), "32f_8" (of 8). `bits` of each channel where they are known.
struct ObjectContent {
  std::string type, channels, lost, why;  // why: there is nothing, and that is the reason
  uint32_t format = 0;                    // the internal format that the driver tells, or OpenVG's
  int32_t width = 0, height = 0, depth = 1, bits[4] = {-1, -1, -1, -1};
  std::vector<uint8_t> bytes;  // the first row is that of t = 0
  uint32_t depth_mode = 0;     // of a texture's depth in a compatibility profile: GL_DEPTH_TEXTURE_MODE
  std::string uses;            // of a buffer: buffers.h
};

// Reads it from the driver with the context that is current. State that the program sees is left as it was.
ObjectContent read_object(Player& player, const ObjectImage& wanted);

// A JSON object with class ("texture", "renderbuffer", "vg_image", "buffer"), name, target, face, level, width, height,
// depth, points; false: it is none.
bool parse_object(const std::string& text, ObjectImage& image);

}  // namespace dt::play
