// The content of the framebuffer that is drawn to, attachment by attachment.
#pragma once
#include <string>
#include <vector>

#include "../mirror/gl_state.h"
#include "image.h"
#include "options.h"

namespace dt::play {

// Reads the attachments of `wanted` (Attachments) that there are, with WANT_FIRST the first of them alone; `why` names
// the ones that are there and cannot be read. The caller gives the size of a window. State that the program sees is
// left as it was.
std::vector<AttachmentImage> read_attachments(GlContext* c, unsigned wanted, int window_width, int window_height,
                                              std::vector<std::string>& why);

}  // namespace dt::play
