// Displays, configurations, contexts and surfaces of the replay: EGL pbuffers, whatever the recording had.
#pragma once
#include <EGL/egl.h>
#include <EGL/eglext.h>

#include "../core/text.h"
#include "play.h"
#include "x11.h"

namespace dt::play {

extern Player* g_player;
inline constexpr int API_ES = EGL_OPENGL_ES_API, API_GL = EGL_OPENGL_API;

inline std::string hex(uint64_t v) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

struct NativeFact {
  std::string kind;
  uint64_t handle = 0, seq = 0;
  Attributes text;
  int number(const char* key, int otherwise = 0) const;
};

// A recorded call, read by names.
struct Call {
  const Function& function;
  const FunctionColumns& columns;
  uint32_t row;
  uint64_t seq;
  uint64_t arg(const char* name) const;
  uint64_t result() const;
  std::vector<int64_t> list(const char* name) const;  // an attribute list or an array, without a terminator's pair
  std::string_view bytes(const char* name) const;
};

class Windows {
 public:
  explicit Windows(Player& player);
  ~Windows();

  using Handler = void (Windows::*)(const Call&);
  // The player of that function: nullptr where there is nothing to do; `known` false where it cannot be played.
  Handler handler(const Function& function, bool& known) const;

  void size_noted(uint64_t handle, const Attributes& text);  // by the recorder, where the player is now
  // A frame begins that ends with the call `end`: what is drawn to gets the size that it is found to have at its end.
  void frame_begins(uint64_t begin, uint64_t end);
  // Make what a recorded thread has current current on the running one (players of one thread).
  void switch_to(Player::PlayerThread& thread);
  // Makes a context current that is not, to take what it still has; false: it cannot be.
  bool visit(Context* context);
  void* image(uint64_t recorded) const;
  void shares_images() { shares_vg_ = true; }
  Surface* surface(uint64_t recorded);
  // Size of what the running thread draws to by default; false: nothing.
  bool drawable_size(int& width, int& height);
  // Returns whether that is a size which the window got after its first frame was begun.
  bool got_late_size();
  // Returns whether the running thread shows OpenVG's picture, and its size.
  bool shows_vg(int& width, int& height);
  std::string engine() const;  // what plays, once something does

 private:
  void exchange();
  void wait(const Call&);
  void bind_api(const Call&);
  void create_context(const Call&);
  void destroy_context(const Call&);
  void create_surface(const Call&);
  void create_pbuffer(const Call&);
  void destroy_surface(const Call&);
  void make_current(const Call&);
  void release_thread(const Call&);
  void vg_create_context(const Call&);
  bool vg_make_current(const Call&);
  bool vg_bind(Player::PlayerThread& thread);
  void create_vg_pbuffer(const Call&);
  void swap(const Call&);
  void create_image(const Call&);
  void destroy_image(const Call&);
  void create_sync(const Call&);
  void destroy_sync(const Call&);
  void wait_sync(const Call&);
  void bind_tex_image(const Call&);
  void glx_bind_tex_image(const Call&);
  void glx_create_context(const Call&);
  void glx_destroy_context(const Call&);
  void glx_create_drawable(const Call&);
  void glx_destroy_drawable(const Call&);
  void glx_make_current(const Call&);

  void read_facts(size_t chunk, size_t function);
  void read_swaps(size_t chunk, size_t function);
  const NativeFact* fact(const char* kind, uint64_t handle, uint64_t seq, bool after) const;
  void resized(uint64_t handle, const Attributes& text);
  void rebuild(Surface& surface);
  const Attributes* size_until(uint64_t handle, uint64_t begin, uint64_t end) const;
  EGLConfig choose(const NativeFact* recorded, int renderable, uint64_t seq);
  void add_context(uint64_t recorded, uint64_t share, uint64_t config, int api, std::vector<EGLint> attributes,
                   const Call& call);
  Surface* add_surface(uint64_t recorded, EGLConfig config, int width, int height, bool window,
                       std::vector<EGLint> attributes, const Call& call);
  bool build(Surface& surface);
  void wipe(Surface& s, bool fresh_context, int api);
  void current(uint64_t context, uint64_t draw, uint64_t read, const Call& call);
  bool bind(Context* context, Surface* draw, Surface* read);
  bool bind_now(Context* context, Surface* draw, Surface* read);
  void destroy(Surface& surface);
  void listen();
  static void message(unsigned source, unsigned type, unsigned id, unsigned severity, int length, const char* text,
                      const void* user);
  void shift_names();
  EGLSyncKHR sync_of(uint64_t recorded) const;

  Player& player_;
  std::unique_ptr<X11> x11_;
  std::map<std::string, int> wanted_;  // of --config
  EGLDisplay display_ = EGL_NO_DISPLAY;
  std::vector<NativeFact> facts_;
  std::unordered_map<uint64_t, std::vector<uint64_t>> swaps_;  // by recorded surface: the calls that show it
  std::unordered_map<uint64_t, std::shared_ptr<Context>> contexts_;
  std::vector<std::shared_ptr<Context>> gone_;
  std::unordered_map<uint64_t, std::shared_ptr<VgContext>> vg_contexts_;
  std::unordered_map<uint64_t, std::unique_ptr<Surface>> surfaces_;
  std::unordered_map<uint64_t, void*> images_, syncs_;
  bool shares_vg_ = false;  // OpenGL and OpenVG see the same image
  std::map<std::pair<uint64_t, int>, EGLConfig> configs_;
  std::unordered_map<uint32_t, int> apis_;            // by recorded thread
  std::unordered_map<Context*, uint64_t> last_draw_;  // what a context drew to last
  std::string engine_;                                // of the first context
};

EGLDisplay open_display(void* x11 = nullptr);  // initialised; throws where there is none
void list_metrics(FILE* to);                   // what can be measured here, as JSON lines
std::string probe();                           // what this would play on, as a JSON object

}  // namespace dt::play
