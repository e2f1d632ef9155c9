// What the framebuffer that is drawn to holds, attachment by attachment.
#pragma once
#include <string>
#include <vector>

#include "../mirror/gl_state.h"

namespace dt::play {

enum Attachments : unsigned { WANT_COLOR = 1, WANT_DEPTH = 2, WANT_STENCIL = 4, WANT_BUFFERS = 8 };

// Where an image of an attachment goes, and how many bytes a pixel has: 4 colour, 2 depth (most significant first; the
// whole range of depth is 0 to 65535), 1 stencil. Rows from the bottom.
struct AttachmentImage {
  std::string name;  // "" the colour that is drawn to first, "color1", "depth", "stencil"
  int width = 0, height = 0;
  int bytes = 4;
  std::vector<uint8_t> pixels;
};

// Reads those of `wanted` (Attachments) that there are; what there is and cannot be read is said in `why`. The size of
// a window is told by the caller. State that the program sees is left as it was.
std::vector<AttachmentImage> read_attachments(GlContext* c, unsigned wanted, int window_width, int window_height,
                                              std::vector<std::string>& why);

}  // namespace dt::play
