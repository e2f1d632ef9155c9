// Surfaces, and the windows that show them.
#include "windows.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "beside.h"
#include "observer.h"
#include "gl_enums.h"
#include "glx_enums.h"

namespace dt::play {

constexpr int MOST_PIXELS_A_SIDE = 16384;

void Windows::destroy(Surface& s) {
  eglDestroySurface(display_, s.real);
  if (s.shown) x11_->close(s.shown);
}

bool Windows::build(Surface& s) {
  s.wiped = false;
  if (x11_ && s.window) {
    EGLint visual = 0;
    eglGetConfigAttrib(display_, s.config, EGL_NATIVE_VISUAL_ID, &visual);
    s.shown = x11_->open(s.width, s.height, static_cast<unsigned long>(visual), player_.options.trace);
    s.real = s.shown ? eglCreateWindowSurface(display_, s.config, static_cast<EGLNativeWindowType>(s.shown), nullptr)
                     : EGL_NO_SURFACE;
    return s.real != EGL_NO_SURFACE;
  }
  std::vector<EGLint> attributes = {EGL_WIDTH, s.width, EGL_HEIGHT, s.height};
  attributes.insert(attributes.end(), s.attributes.begin(), s.attributes.end());
  attributes.push_back(EGL_NONE);
  s.real = eglCreatePbufferSurface(display_, s.config, attributes.data());
  if (!s.real && !s.attributes.empty()) {
    attributes.resize(4);
    attributes.push_back(EGL_NONE);
    s.real = eglCreatePbufferSurface(display_, s.config, attributes.data());
  }
  return s.real != EGL_NO_SURFACE;
}

// Nobody says what a new surface holds. Drivers leave old memory there, and images of pixels that no call draws would
// differ each time.
void Windows::wipe(Surface& s, bool fresh_context, int api) {
  if (s.wiped || !driver::glClear) return;
  s.wiped = true;
  std::unique_ptr<Beside> beside;
  if (!fresh_context) {
    beside = std::make_unique<Beside>(static_cast<EGLenum>(api));
    if (!beside->there()) return;
  }
  driver::glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT);
}

Surface* Windows::add_surface(uint64_t recorded, EGLConfig config, int width, int height, bool window,
                              std::vector<EGLint> attributes, const Call& call) {
  if (!recorded) return nullptr;
  if (width < 1 || height < 1 || width > MOST_PIXELS_A_SIDE || height > MOST_PIXELS_A_SIDE) {
    player_.report(
        "surface", call.seq, call.function.name,
        "the size " + std::to_string(width) + " x " + std::to_string(height) + " cannot be; 640 x 480 is taken");
    width = 640;
    height = 480;
  }
  auto s = std::make_unique<Surface>();
  s->recorded = recorded;
  s->config = config;
  s->width = width;
  s->height = height;
  s->window = window;
  s->attributes = std::move(attributes);
  if (!build(*s)) {
    player_.report("surface", call.seq, call.function.name,
                   "no pbuffer of " + std::to_string(width) + " x " + std::to_string(height) + ": EGL error " +
                       hex(static_cast<uint64_t>(eglGetError())));
    return nullptr;
  }
  Surface* made = s.get();
  surfaces_[recorded] = std::move(s);
  return made;
}

void Windows::create_surface(const Call& call) {
  uint64_t recorded = call.result();
  if (!recorded) return;
  const NativeFact* about = fact(nullptr, recorded, call.seq, true);
  uint64_t config = call.arg("config");
  auto it = apis_.find(player_.running_);
  int renderable = it != apis_.end() && it->second == API_GL ? EGL_OPENGL_BIT : EGL_OPENGL_ES2_BIT;
  // The configuration that a context was made with, so that both fit together.
  EGLConfig chosen = nullptr;
  for (auto& [key, value] : configs_)
    if (key.first == config && config) chosen = value;
  if (!chosen) chosen = choose(fact("config", config, call.seq, false), renderable, call.seq);
  // OpenVG's demands on a surface hold for the pbuffer that takes the window's place.
  std::vector<EGLint> attributes;
  auto list = call.list("attrib_list");
  for (size_t i = 0; i + 1 < list.size(); i += 2)
    if (list[i] == EGL_VG_COLORSPACE || list[i] == EGL_VG_ALPHA_FORMAT)
      attributes.insert(attributes.end(), {static_cast<EGLint>(list[i]), static_cast<EGLint>(list[i + 1])});
  add_surface(recorded, chosen, about ? about->number("width") : 0, about ? about->number("height") : 0, true,
              std::move(attributes), call);
}

void Windows::create_pbuffer(const Call& call) {
  uint64_t recorded = call.result();
  if (!recorded) return;
  int width = 0, height = 0;
  std::vector<EGLint> attributes;
  auto list = call.list("attrib_list");
  for (size_t i = 0; i + 1 < list.size(); i += 2) {
    auto name = static_cast<EGLint>(list[i]), v = static_cast<EGLint>(list[i + 1]);
    if (name == EGL_WIDTH)
      width = v;
    else if (name == EGL_HEIGHT)
      height = v;
    else
      attributes.insert(attributes.end(), {name, v});
  }
  if (const NativeFact* about = fact(nullptr, recorded, call.seq, true)) {
    width = about->number("width", width);
    height = about->number("height", height);
  }
  uint64_t config = call.arg("config");
  EGLConfig chosen = nullptr;
  for (auto& [key, value] : configs_)
    if (key.first == config && config) chosen = value;
  auto it = apis_.find(player_.running_);
  int renderable = it != apis_.end() && it->second == API_GL ? EGL_OPENGL_BIT : EGL_OPENGL_ES2_BIT;
  if (!chosen) chosen = choose(fact("config", config, call.seq, false), renderable, call.seq);
  add_surface(recorded, chosen, width, height, false, std::move(attributes), call);
}

void Windows::destroy_surface(const Call& call) {
  auto it = surfaces_.find(call.arg("surface"));
  if (it == surfaces_.end()) return;
  destroy(*it->second);
  surfaces_.erase(it);
}

void Windows::glx_create_drawable(const Call& call) {
  uint64_t recorded = call.result();
  if (!recorded) return;
  int width = 0, height = 0;
  auto list = call.list("attrib_list");
  for (size_t i = 0; i + 1 < list.size(); i += 2) {
    if (list[i] == GLX_PBUFFER_WIDTH) width = static_cast<int>(list[i + 1]);
    if (list[i] == GLX_PBUFFER_HEIGHT) height = static_cast<int>(list[i + 1]);
  }
  if (const NativeFact* about = fact(nullptr, recorded, call.seq, true)) {
    width = about->number("width", width);
    height = about->number("height", height);
  }
  if (width < 1 || height < 1) return;  // made when it becomes current
  uint64_t config = field_of(call.function, "config") ? call.arg("config") : call.arg("visual");
  const NativeFact* about = fact("config", config, call.seq, false);
  if (!about) about = fact("visual", config, call.seq, false);
  add_surface(recorded, choose(about, EGL_OPENGL_BIT, call.seq), width, height, true, {}, call);
}

void Windows::glx_destroy_drawable(const Call& call) {
  for (const char* name : {"win", "pbuf", "pixmap"}) {
    if (!field_of(call.function, name)) continue;
    auto it = surfaces_.find(call.arg(name));
    if (it == surfaces_.end()) continue;
    destroy(*it->second);
    surfaces_.erase(it);
  }
}

Surface* Windows::surface(uint64_t recorded) {
  auto it = surfaces_.find(recorded);
  return it == surfaces_.end() ? nullptr : it->second.get();
}

bool Windows::drawable_size(int& width, int& height) {
  auto& thread = *player_.threads_[player_.running_];
  Surface* s = surface(thread.draw);
  if (!s) return false;
  width = s->width;
  height = s->height;
  return true;
}

void Windows::resized(uint64_t handle, const Attributes& text) {
  Surface* s = surface(handle);
  NativeFact about;
  about.text = text;
  int width = about.number("width"), height = about.number("height");
  if (!s || (width == s->width && height == s->height && !s->late)) return;
  if (width < 1 || height < 1 || width > MOST_PIXELS_A_SIDE || height > MOST_PIXELS_A_SIDE) return;
  s->width = width;
  s->height = height;
  if (s->shown) return x11_->resize(s->shown, width, height);
  rebuild(*s);
}

// Gives a surface's pbuffer the size that the surface has.
void Windows::rebuild(Surface& s) {
  EGLSurface old = s.real;
  s.late = false;
  if (!build(s)) {
    s.real = old;
    return player_.report("surface", player_.seq, "", "the window cannot be made larger");
  }
  auto& thread = *player_.threads_[player_.running_];
  if (thread.context && (thread.draw == s.recorded || thread.read == s.recorded))
    bind(thread.context, surface(thread.draw), surface(thread.read));
  eglDestroySurface(display_, old);
}

// The last size of a drawable that was noted behind `begin` and up to the end of the frame that it is drawn in.
const Attributes* Windows::size_until(uint64_t handle, uint64_t begin, uint64_t end) const {
  // Where several windows are shown in turn, frames of one go on while those of another end.
  if (auto it = swaps_.find(handle); it != swaps_.end())
    if (auto swap = std::upper_bound(it->second.begin(), it->second.end(), begin); swap != it->second.end())
      end = *swap;
  const Attributes* last = nullptr;
  auto next = std::upper_bound(facts_.begin(), facts_.end(), begin,
                               [](uint64_t seq, const NativeFact& f) { return seq < f.seq; });
  for (; next != facts_.end() && next->seq <= end; ++next)
    if (next->handle == handle && (next->kind == "window" || next->kind == "surface")) last = &next->text;
  return last;
}

// A frame is drawn for the size that its window has when it ends; a new one that was noted late counts from here on.
void Windows::frame_begins(uint64_t begin, uint64_t end) {
  for (auto& thread : player_.threads_) {
    if (!thread->draw) continue;
    if (const Attributes* size = size_until(thread->draw, begin, end)) resized(thread->draw, *size);
    if (Surface* s = surface(thread->draw); s && s->late) rebuild(*s);
  }
}

// Drivers give a window its buffers when it becomes current, and read its size again when a frame has ended. A window
// with another size at the end of its first frame was drawn with its former size.
void Windows::size_noted(uint64_t handle, const Attributes& text) {
  Surface* s = surface(handle);
  const bool first = s && s->drawn && s->first_end == player_.end_seq_ && player_.end_seq_ != UINT64_MAX;
  // right behind that call: its size then
  if (!first || s->shown || player_.seq <= s->first_seq + 1) return resized(handle, text);
  NativeFact about;
  about.text = text;
  const int width = about.number("width"), height = about.number("height");
  if ((width == s->width && height == s->height) || width < 1 || height < 1 || width > MOST_PIXELS_A_SIDE ||
      height > MOST_PIXELS_A_SIDE)
    return;
  s->width = width;
  s->height = height;
  s->late = true;
}

bool Windows::got_late_size() {
  Surface* s = surface(player_.threads_[player_.running_]->draw);
  return s && s->late;
}

}  // namespace dt::play
