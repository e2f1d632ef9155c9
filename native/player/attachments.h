// What the framebuffer that is drawn to holds, attachment by attachment.
#pragma once
#include <string>
#include <vector>

#include "../mirror/gl_state.h"
#include "image.h"
#include "options.h"

namespace dt::play {

// Reads those of `wanted` (Attachments) that there are, with WANT_FIRST the first of them alone; what there is and
// cannot be read is said in `why`. The size of a window is told by the caller. State that the program sees is left as
// it was.
std::vector<AttachmentImage> read_attachments(GlContext* c, unsigned wanted, int window_width, int window_height,
                                              std::vector<std::string>& why);

}  // namespace dt::play
