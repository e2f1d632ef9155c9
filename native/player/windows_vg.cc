// Contexts of OpenVG as the player has them.
#include "windows.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "observer.h"
#include "gl_enums.h"
#include "glx_enums.h"

namespace dt::play {

void Windows::vg_create_context(const Call& call) {
  uint64_t recorded = call.result(), share = call.arg("share_context"), config = call.arg("config");
  if (!recorded) return;  // it failed there too
  auto made = std::make_shared<VgContext>();
  made->recorded = recorded;
  made->config = choose(config ? fact("config", config, call.seq, false) : nullptr, EGL_OPENGL_ES2_BIT, call.seq);
  std::shared_ptr<VgContext> shared;
  if (auto it = vg_contexts_.find(share); share && it != vg_contexts_.end()) shared = it->second;
  if (share && !shared)
    player_.report("context", call.seq, call.function.name, "the context to share with is not known");
  made->objects = shared ? shared->objects : std::make_shared<Names>();
  EGLBoolean has = eglBindAPI(EGL_OPENVG_API);
  if (has) made->real = eglCreateContext(display_, made->config, shared ? shared->real : EGL_NO_CONTEXT, nullptr);
  if (!made->real)
    return player_.report("context", call.seq, call.function.name,
                          has ? "the context cannot be made here: EGL error " +
                                    hex(static_cast<uint64_t>(eglGetError())) + "; its calls are left out"
                              : "there is no OpenVG here: drawtap's engine was not built; its calls do nothing");
  if (engine_.empty()) engine_ = "drawtap OpenVG 1.1";
  vg_contexts_[recorded] = made;
}

bool Windows::vg_bind(Player::PlayerThread& thread) {
  Surface* where = surface(thread.vg_draw);
  EGLSurface s = thread.vg && where ? where->real : EGL_NO_SURFACE;
  if (player_.observer_) player_.observer_->pause();  // engines count by context
  eglBindAPI(EGL_OPENVG_API);
  const EGLBoolean bound = eglMakeCurrent(display_, s, s, thread.vg ? thread.vg->real : EGL_NO_CONTEXT);
  if (player_.observer_) player_.observer_->resume();
  return bound;
}

// Returns whether the call was about OpenVG's context: by its handle, or by the API that is bound where it lets go.
bool Windows::vg_make_current(const Call& call) {
  uint64_t recorded = call.arg("ctx");
  auto it = vg_contexts_.find(recorded);
  auto api = apis_.find(player_.running_);
  if (recorded ? it == vg_contexts_.end() : api == apis_.end() || api->second != EGL_OPENVG_API) return false;
  auto& thread = *player_.threads_[player_.running_];
  thread.vg = recorded ? it->second : nullptr;
  thread.vg_draw = recorded ? call.arg("draw") : 0;
  if (vg_bind(thread)) return true;
  player_.report("context", call.seq, call.function.name,
                 "the OpenVG context cannot be made current: EGL error " + hex(static_cast<uint64_t>(eglGetError())));
  thread.vg = nullptr;
  return true;
}

void Windows::create_vg_pbuffer(const Call& call) {
  uint64_t recorded = call.result(), config = call.arg("config");
  if (!recorded) return;
  if (call.arg("buftype") != EGL_OPENVG_IMAGE)
    return player_.report("surface", call.seq, call.function.name,
                          "surfaces of other client buffers than OpenVG's images are not made");
  auto chosen = choose(config ? fact("config", config, call.seq, false) : nullptr, EGL_OPENGL_ES2_BIT, call.seq);
  auto image = player_.vg(static_cast<uint32_t>(call.arg("buffer")));
  auto s = std::make_unique<Surface>();
  s->recorded = recorded;
  s->config = chosen;
  eglBindAPI(EGL_OPENVG_API);
  s->real = eglCreatePbufferFromClientBuffer(
      display_, EGL_OPENVG_IMAGE, reinterpret_cast<EGLClientBuffer>(static_cast<uintptr_t>(image)), chosen, nullptr);
  if (!s->real)
    return player_.report("surface", call.seq, call.function.name,
                          "no surface of the image: EGL error " + hex(static_cast<uint64_t>(eglGetError())));
  EGLint width = 0, height = 0;
  eglQuerySurface(display_, s->real, EGL_WIDTH, &width);
  eglQuerySurface(display_, s->real, EGL_HEIGHT, &height);
  s->width = width;
  s->height = height;
  surfaces_[recorded] = std::move(s);
}

bool Windows::shows_vg(int& width, int& height) {
  auto& thread = *player_.threads_[player_.running_];
  auto api = apis_.find(player_.running_);
  Surface* where = thread.vg ? surface(thread.vg_draw) : nullptr;
  // Where both draw, what is bound is what ends the frame.
  if (!where || (player_.context && (api == apis_.end() || api->second != EGL_OPENVG_API))) return false;
  width = where->width;
  height = where->height;
  return true;
}

void Windows::destroy_context(const Call& call) {
  if (auto vg = vg_contexts_.find(call.arg(field_of(call.function, "ctx") ? "ctx" : "context"));
      vg != vg_contexts_.end()) {
    eglDestroyContext(display_, vg->second->real);
    vg_contexts_.erase(vg);
    return;
  }
  auto it = contexts_.find(call.arg(field_of(call.function, "ctx") ? "ctx" : "context"));
  if (it == contexts_.end()) return;
  std::shared_ptr<Context> context = it->second;
  EGLContext real = context->real;
  if (player_.observer_) {
    auto& thread = *player_.threads_[player_.running_];
    player_.observer_->forget(context.get(), [&](bool there) {
      if (there) return visit(context.get());
      return bind_now(thread.context, surface(thread.draw), surface(thread.read));
    });
    last_draw_.erase(context.get());
  }
  context->destroyed = true;
  gone_.push_back(context);
  contexts_.erase(it);
  EGLBoolean ok = eglDestroyContext(display_, real);
  hook::after_eglDestroyContext(&tls, display_, real, ok);
}
void Windows::glx_destroy_context(const Call& call) { destroy_context(call); }

}  // namespace dt::play
