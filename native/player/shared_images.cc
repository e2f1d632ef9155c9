// Images and syncs of EGL, and pixmaps as textures.
#include "windows.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "observer.h"
#include "gl_enums.h"
#include "glx_enums.h"

namespace dt::play {

void* Windows::image(uint64_t recorded) const {
  auto it = images_.find(recorded);
  return it == images_.end() ? nullptr : it->second;
}

void Windows::create_image(const Call& call) {
  if (!call.result()) return;
  auto target = static_cast<EGLenum>(call.arg("target"));
  std::vector<EGLint> attributes;
  auto list = call.list("attrib_list");
  for (int64_t v : list) attributes.push_back(static_cast<EGLint>(v));
  attributes.push_back(EGL_NONE);
  const auto it = contexts_.find(call.arg("ctx"));
  const auto vg = vg_contexts_.find(call.arg("ctx"));
  const auto buffer = static_cast<uint32_t>(call.arg("buffer"));
  const bool texture = target >= EGL_GL_TEXTURE_2D && target <= EGL_GL_TEXTURE_CUBE_MAP_NEGATIVE_Z,
             image = target == EGL_VG_PARENT_IMAGE_KHR && vg != vg_contexts_.end();
  if (!driver::eglCreateImageKHR || (!image && (it == contexts_.end() || !(texture || target == EGL_GL_RENDERBUFFER))))
    return player_.report("image", call.seq, call.function.name, "images of target " + hex(target) + " are not played");
  const uint32_t name =
      image ? vg->second->objects->of(buffer) : it->second->group->names[texture ? TEXTURE : RENDERBUFFER].of(buffer);
  void* made =
      driver::eglCreateImageKHR(display_, image ? vg->second->real : it->second->real, target,
                                reinterpret_cast<EGLClientBuffer>(static_cast<uintptr_t>(name)), attributes.data());
  if (!made)
    return player_.report("image", call.seq, call.function.name,
                          "EGL error " + hex(static_cast<uint64_t>(eglGetError())));
  images_[call.result()] = made;
  if (image) shares_vg_ = true;
}
void Windows::destroy_image(const Call& call) {
  auto it = images_.find(call.arg("image"));
  if (it == images_.end() || !driver::eglDestroyImageKHR) return;
  driver::eglDestroyImageKHR(display_, it->second);
  images_.erase(it);
}

EGLSyncKHR Windows::sync_of(uint64_t recorded) const {
  auto it = syncs_.find(recorded);
  return it == syncs_.end() ? EGL_NO_SYNC_KHR : it->second;
}
void Windows::create_sync(const Call& call) {
  if (!call.result() || !driver::eglCreateSyncKHR) return;
  auto type = static_cast<EGLenum>(call.arg("type"));
  if (type != EGL_SYNC_FENCE)
    return player_.report("sync", call.seq, call.function.name, "only fence syncs are played");
  if (void* made = driver::eglCreateSyncKHR(display_, type, nullptr)) syncs_[call.result()] = made;
}
void Windows::destroy_sync(const Call& call) {
  EGLSyncKHR sync = sync_of(call.arg("sync"));
  if (!sync || !driver::eglDestroySyncKHR) return;
  driver::eglDestroySyncKHR(display_, sync);
  syncs_.erase(call.arg("sync"));
}
void Windows::wait_sync(const Call& call) {
  EGLSyncKHR sync = sync_of(call.arg("sync"));
  if (sync && driver::eglClientWaitSyncKHR) driver::eglClientWaitSyncKHR(display_, sync, 1, 1000000000ull);
}
void Windows::bind_tex_image(const Call& call) {
  Surface* s = surface(call.arg("surface"));
  if (!s) return;
  if (call.function.name == "eglBindTexImage")
    eglBindTexImage(display_, s->real, static_cast<EGLint>(call.arg("buffer")));
  else
    eglReleaseTexImage(display_, s->real, static_cast<EGLint>(call.arg("buffer")));
}

// The content of the pixmap stands behind the call, as the tap read it from the texture.
void Windows::glx_bind_tex_image(const Call& call) {
  const uint64_t drawable = call.arg("drawable");
  const NativeFact* about = nullptr;
  for (auto& f : facts_)
    if (f.seq > call.seq && f.handle == drawable && f.kind == "pixmap") {
      about = &f;
      break;
    }
  auto number = [&](const char* key) {
    auto it = about->text.find(key);
    return it == about->text.end() ? 0 : strtoll(it->second.c_str(), nullptr, 10);
  };
  std::shared_ptr<const std::vector<uint8_t>> pixels;
  if (about) {
    try {
      pixels = player_.blob({static_cast<uint64_t>(number("hash_low")), static_cast<uint64_t>(number("hash_high"))});
    } catch (const Error&) {}
  }
  const int64_t width = about ? number("width") : 0, height = about ? number("height") : 0;
  if (!pixels || width <= 0 || height <= 0 || width > 16384 || height > 16384 ||
      pixels->size() != static_cast<size_t>(width * height * 4)) {
    player_.report("texture", call.seq, call.function.name,
                   "what the pixmap held is not in the recording: the texture stays as it is");
    return;
  }
  if (!driver::glGetIntegerv || !driver::glPixelStorei || !driver::glTexImage2D) return;
  // GL_UNPACK_ALIGNMENT, ROW_LENGTH, SKIP_*, ...
  static const unsigned names[] = {GL_UNPACK_ALIGNMENT,   GL_UNPACK_ROW_LENGTH, GL_UNPACK_SKIP_ROWS,
                                   GL_UNPACK_SKIP_PIXELS, GL_UNPACK_SWAP_BYTES, GL_UNPACK_LSB_FIRST};
  int kept[6] = {}, buffer = 0;
  driver::glGetIntegerv(GL_PIXEL_UNPACK_BUFFER_BINDING, &buffer);
  if (buffer && driver::glBindBuffer) driver::glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  for (int i = 0; i < 6; ++i) {
    driver::glGetIntegerv(names[i], &kept[i]);
    driver::glPixelStorei(names[i], i ? 0 : 4);
  }
  driver::glTexImage2D(static_cast<unsigned>(number("target")), 0, GL_RGBA8, static_cast<int>(width),
                       static_cast<int>(height), 0, GL_RGBA, GL_UNSIGNED_BYTE, pixels->data());
  for (int i = 0; i < 6; ++i) driver::glPixelStorei(names[i], kept[i]);
  if (buffer && driver::glBindBuffer) driver::glBindBuffer(GL_PIXEL_UNPACK_BUFFER, static_cast<unsigned>(buffer));
}

Windows::Handler Windows::handler(const Function& function, bool& known) const {
  static const std::unordered_map<std::string_view, Handler> handlers = {
      {"eglBindAPI", &Windows::bind_api},
      {"eglCreateContext", &Windows::create_context},
      {"eglDestroyContext", &Windows::destroy_context},
      {"eglCreateWindowSurface", &Windows::create_surface},
      {"eglCreatePlatformWindowSurface", &Windows::create_surface},
      {"eglCreatePlatformWindowSurfaceEXT", &Windows::create_surface},
      {"eglCreatePixmapSurface", &Windows::create_surface},
      {"eglCreatePlatformPixmapSurface", &Windows::create_surface},
      {"eglCreatePlatformPixmapSurfaceEXT", &Windows::create_surface},
      {"eglCreatePbufferSurface", &Windows::create_pbuffer},
      {"eglCreatePbufferFromClientBuffer", &Windows::create_vg_pbuffer},
      {"eglDestroySurface", &Windows::destroy_surface},
      {"eglMakeCurrent", &Windows::make_current},
      {"eglReleaseThread", &Windows::release_thread},
      {"eglWaitClient", &Windows::wait},
      {"eglWaitGL", &Windows::wait},
      {"eglSwapBuffers", &Windows::swap},
      {"eglSwapBuffersWithDamageEXT", &Windows::swap},
      {"eglSwapBuffersWithDamageKHR", &Windows::swap},
      {"eglCreateImage", &Windows::create_image},
      {"eglCreateImageKHR", &Windows::create_image},
      {"eglDestroyImage", &Windows::destroy_image},
      {"eglDestroyImageKHR", &Windows::destroy_image},
      {"eglCreateSync", &Windows::create_sync},
      {"eglCreateSyncKHR", &Windows::create_sync},
      {"eglDestroySync", &Windows::destroy_sync},
      {"eglDestroySyncKHR", &Windows::destroy_sync},
      {"eglClientWaitSync", &Windows::wait_sync},
      {"eglClientWaitSyncKHR", &Windows::wait_sync},
      {"eglBindTexImage", &Windows::bind_tex_image},
      {"eglReleaseTexImage", &Windows::bind_tex_image},
      {"glXCreateContext", &Windows::glx_create_context},
      {"glXCreateNewContext", &Windows::glx_create_context},
      {"glXCreateContextAttribsARB", &Windows::glx_create_context},
      {"glXCreateContextWithConfigSGIX", &Windows::glx_create_context},
      {"glXDestroyContext", &Windows::glx_destroy_context},
      {"glXMakeCurrent", &Windows::glx_make_current},
      {"glXMakeContextCurrent", &Windows::glx_make_current},
      {"glXMakeCurrentReadSGI", &Windows::glx_make_current},
      {"glXCreateWindow", &Windows::glx_create_drawable},
      {"glXCreatePbuffer", &Windows::glx_create_drawable},
      {"glXCreatePixmap", &Windows::glx_create_drawable},
      {"glXCreateGLXPixmap", &Windows::glx_create_drawable},
      {"glXDestroyWindow", &Windows::glx_destroy_drawable},
      {"glXDestroyPbuffer", &Windows::glx_destroy_drawable},
      {"glXDestroyPixmap", &Windows::glx_destroy_drawable},
      {"glXDestroyGLXPixmap", &Windows::glx_destroy_drawable},
      {"glXSwapBuffers", &Windows::swap},
      {"glXBindTexImageEXT", &Windows::glx_bind_tex_image},
  };
  known = true;
  auto it = handlers.find(function.name);
  if (it != handlers.end()) return it->second;
  // Questions, and what only paces the program, leave nothing behind.
  static const char* const harmless[] = {
      "eglGet",         "eglQuery",         "eglChoose",    "eglInitialize",      "eglTerminate",    "eglSwapInterval",
      "eglWait",        "eglSurfaceAttrib", "eglSetDamage", "eglDebugMessage",    "eglLabel",        "glXGet",
      "glXQuery",       "glXChoose",        "glXIsDirect",  "glXReleaseTexImage", "glXSwapInterval", "glXWait",
      "glXSelectEvent", "glXFree",          "eglUnlock",    "eglPresentationTime"};
  for (const char* prefix : harmless)
    if (function.name.starts_with(prefix)) return nullptr;
  known = false;
  return nullptr;
}

}  // namespace dt::play
