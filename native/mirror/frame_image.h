// The image that a frame ends with, read back without a trace in the state of GL. Used by the tap (hashes of frames)
// and by the player, so that both look at the same pixels.
#pragma once
#include "gl_state.h"

namespace dt {
namespace gl {

struct FrameImage {
  int32_t width, height;  // in: of the default framebuffer; out: of what was read
  uint32_t framebuffer;   // out: its name, 0: the default one
};
// While it lives, pixels come out of GL without gaps, into memory: pixel store as at first, no buffer to read into.
// Rows begin at multiples of `alignment` bytes.
class PlainPack {
 public:
  explicit PlainPack(GlContext* c, int32_t alignment = 4) : c_(c), alignment_(alignment) { set(true); }
  ~PlainPack() { set(false); }
  PlainPack(const PlainPack&) = delete;
  PlainPack& operator=(const PlainPack&) = delete;

 private:
  void set(bool plain);
  GlContext* c_;
  const int32_t alignment_;
};
// Tells what would be read: the framebuffer that is drawn to. False: nothing that can be read as RGBA of 8 bits.
bool frame_extent(GlContext* c, FrameImage* image);
// Reads width * height * 4 bytes, bottom row first.
void read_frame(GlContext* c, const FrameImage& image, void* pixels);

}  // namespace gl

namespace hook {
// Frames are hashed where this is true: where DRAWTAP_HASH_FRAMES is set in the environment, which the first frame's
// end finds out.
extern uint32_t g_hash_frames __attribute__((visibility("hidden")));
// Called before a frame is shown.
DT_COLD void before_frame_end(Thread* t);
}  // namespace hook
}  // namespace dt
