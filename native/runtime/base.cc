#include "base.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "frame_image.h"
#include "targets.h"
#include "told.h"
#include "egl_enums.h"
#include "glx_enums.h"
#include "moment.h"

namespace dt {

uint32_t recording_epoch();  // session.cc
uint64_t session_number();

// All of it is in the recording where one is under way.
void context_is_made(GlContext* c) {
  if (!is_off()) c->recorded_in = session_number(), c->told_epoch = c->base_epoch = recording_epoch();
}
void context_is_current(Thread* t) {
  if (DT_UNLIKELY(hook::g_began_late) && t->context && !is_off()) hook::take_base(t, hook::Moment::MADE_CURRENT);
}
void program_is_new(Thread* t, uint32_t program) {
  if (!t->keep && t->context) keep_drop(KEEP_PROGRAM, t->context->share_group, program, 1);
}

namespace gl {

namespace {

template <class F> auto function_of(const GlContext* c, const char* name, const F& function) {
  void* known = g_real[function.id][0];
  if (!known) known = driver_address(c, name);
  return known ? (typename F::Pointer)known : function;
}

// Where a driver lacks one, the output stays as it was: an answer of nothing.
void answers_nothing() {}

}  // namespace

const Driver& driver_of(const GlContext* c, bool again) {
  static Driver drivers[3];
  static uint32_t known[3];
  Driver& d = drivers[c->system];
  if (again || !__atomic_load_n(&known[c->system], __ATOMIC_ACQUIRE)) {
    Driver functions;
#define DT_LOOK_UP(NAME)                                \
  functions.NAME = function_of(c, #NAME, driver::NAME); \
  if (!functions.NAME) functions.NAME = (decltype(functions.NAME))answers_nothing;
    DT_BASE_FUNCTIONS(DT_LOOK_UP)
#undef DT_LOOK_UP
    memcpy((void*)&d, &functions, sizeof d);
    __atomic_store_n(&known[c->system], 1u, __ATOMIC_RELEASE);
  }
  return d;
}

}  // namespace gl

namespace hook {

using namespace gl;

namespace {

constexpr uint32_t MOST_SURFACES = 1024;

uint32_t g_lock;  // one thread after the other takes what it has
struct KnownSurface {
  uint64_t handle;
  uint32_t epoch;
} g_surfaces[MOST_SURFACES];

KnownSurface* place_of(uint64_t handle) {
  const uint64_t start = handle * 0x9e3779b97f4a7c15ull >> 40;
  for (uint64_t i = 0; i < MOST_SURFACES; i++) {
    KnownSurface* s = &g_surfaces[(start + i) % MOST_SURFACES];
    if (s->handle == handle || !s->handle) return s;
  }
  return &g_surfaces[start % MOST_SURFACES];
}

// ---- EGL ----------------------------------------------------------------------------------------

void* egl_config(void* display, int32_t id) {
  const int32_t wanted[] = {EGL_CONFIG_ID, id, (int32_t)EGL_NONE};
  void* config = nullptr;
  int32_t count = 0;
  return id && driver::eglChooseConfig && driver::eglChooseConfig(display, wanted, &config, 1, &count) && count > 0
             ? config
             : nullptr;
}

void tell_surface(Thread* t, void* display, uint64_t handle) {
  KnownSurface* known = place_of(handle);
  const uint32_t epoch = recording_epoch();
  if (!handle || (known->handle == handle && known->epoch == epoch)) return;
  *known = {handle, epoch};
  void* const surface = (void*)(uintptr_t)handle;
  int32_t id = 0, width = 0, height = 0, largest = -1;
  if (!driver::eglQuerySurface || !driver::eglQuerySurface(display, surface, EGL_CONFIG_ID, &id)) return;
  driver::eglQuerySurface(display, surface, EGL_WIDTH, &width);
  driver::eglQuerySurface(display, surface, EGL_HEIGHT, &height);
  driver::eglQuerySurface(display, surface, EGL_LARGEST_PBUFFER, &largest);  // of pbuffers alone
  void* const config = egl_config(display, id);
  const int32_t size[] = {EGL_WIDTH, width, EGL_HEIGHT, height, (int32_t)EGL_NONE};
  if (largest >= 0)
    tell_result(t, handle, driver::eglCreatePbufferSurface, display, config, size);
  else
    tell_result(t, handle, driver::eglCreateWindowSurface, display, config, 0, nullptr);
}

void tell_egl_context(Thread* t, GlContext* c, void* share) {
  int32_t id = 0;
  void* config = c->config;
  if (!config && driver::eglQueryContext && driver::eglQueryContext(c->display, c->handle, EGL_CONFIG_ID, &id))
    config = egl_config(c->display, id);
  const int32_t major = (int32_t)c->version / 10, minor = (int32_t)c->version % 10;
  // Where nobody saw how it was made, by what it is; a list without anything is the usual one otherwise.
  const int32_t none = (int32_t)EGL_NONE,
                profile = c->api == 1 && c->version >= 32 ? EGL_CONTEXT_OPENGL_PROFILE_MASK : none;
  const int32_t asked[] = {
      EGL_CONTEXT_MAJOR_VERSION, major ? major : 2, EGL_CONTEXT_MINOR_VERSION, minor, profile, c->core ? 1 : 2, none};
  const int32_t* const made = c->config ? c->attributes : asked;
  tell_result(t, (uint64_t)(uintptr_t)c->display, driver::eglGetDisplay, nullptr);
  tell_result(t, 1, driver::eglInitialize, c->display, nullptr, nullptr);
  tell_result(t, 1, driver::eglBindAPI, c->api == 1 ? EGL_OPENGL_API : EGL_OPENGL_ES_API);
  tell_result(t, (uint64_t)(uintptr_t)c->handle, driver::eglCreateContext, c->display, config, share, made);
}

// ---- GLX ----------------------------------------------------------------------------------------

void* glx_config(GlContext* c) {
  int id = 0, screen = 0, count = 0;
  if (!driver::glXQueryContext || !driver::glXChooseFBConfig ||
      driver::glXQueryContext(c->display, c->handle, GLX_FBCONFIG_ID, &id) ||
      driver::glXQueryContext(c->display, c->handle, GLX_SCREEN, &screen))
    return nullptr;
  const int wanted[] = {GLX_FBCONFIG_ID, id, 0};
  void** const configs = driver::glXChooseFBConfig(c->display, screen, wanted, &count);
  void* const config = configs && count > 0 ? configs[0] : nullptr;
  using Free = int (*)(void*);
  if (configs)
    if (auto x_free = (Free)real_dlsym(nullptr, "XFree")) x_free(configs);
  return config;
}

void tell_glx_context(Thread* t, GlContext* c, void* share) {
  const uint64_t handle = (uint64_t)(uintptr_t)c->handle;
  if (c->has_visual) return tell_result(t, handle, driver::glXCreateContext, c->display, c->visual, share, 1);
  void* const config = c->config ? c->config : glx_config(c);
  const int made[] = {GLX_CONTEXT_MAJOR_VERSION_ARB,
                      (int)c->version / 10,
                      GLX_CONTEXT_MINOR_VERSION_ARB,
                      (int)c->version % 10,
                      GLX_CONTEXT_PROFILE_MASK_ARB,
                      1,
                      0};
  if (c->attribute_count || c->core)
    tell_result(t, handle, driver::glXCreateContextAttribsARB, c->display, config, share, 1,
                c->attribute_count ? c->attributes : made);
  else
    tell_result(t, handle, driver::glXCreateNewContext, c->display, config, GLX_RGBA_TYPE, share, 1);
}

// ---- what a context is --------------------------------------------------------------------------

// That it is made, where the recording does not have it.
void tell_context(Thread* t, GlContext* c) {
  if (c->recorded_in == session_number()) return;
  void* const share = recorded_peer(c, session_number());
  c->recorded_in = session_number();
  c->told_epoch = recording_epoch();
  t->telling = 1;
  if (c->system == 1)
    tell_egl_context(t, c, share);
  else
    tell_glx_context(t, c, share);
  t->telling = 0;
}

void tell_current(Thread* t, GlContext* c) {
  t->telling = 1;
  if (c->system == 1) {
    tell_surface(t, c->display, c->draw);
    if (c->read != c->draw) tell_surface(t, c->display, c->read);
    tell_result(t, 1, driver::eglMakeCurrent, c->display, (void*)(uintptr_t)c->draw, (void*)(uintptr_t)c->read,
                c->handle);
  } else if (c->draw == c->read) {
    tell_result(t, 1, driver::glXMakeCurrent, c->display, c->draw, c->handle);
  } else {
    tell_result(t, 1, driver::glXMakeContextCurrent, c->display, c->draw, c->read, c->handle);
  }
  t->telling = 0;
}

// An error that the program has not asked for yet is there again.
void raise_again(Base& b, uint32_t error) {
  if (!error) return;
  if (error == GL_INVALID_ENUM)
    b.d.glEnable(0);
  else if (error == GL_INVALID_VALUE)
    b.d.glClear(0xFFFFFFFF);
  else if (error == GL_INVALID_OPERATION && b.has(15, 30)) {
    const auto was = (uint32_t)b.get(GL_ARRAY_BUFFER_BINDING);
    b.d.glBindBuffer(GL_ARRAY_BUFFER, 0);
    b.d.glUnmapBuffer(GL_ARRAY_BUFFER);
    b.d.glBindBuffer(GL_ARRAY_BUFFER, was);
  } else {
    b.lacks("an error 0x%X that the program had not asked for yet is not there any more", error);
  }
}

// The content of the surface that is not shown yet; after a frame was shown there is something to keep only for
// programs that draw over it.
void take_surface(Base& b, Moment moment) {
  GlContext* c = b.c;
  const bool shown = moment == Moment::FRAME_SHOWN;
  if (!c->draw) return;
  const struct {
    uint32_t what, bits;
    const char* name;
  } parts[] = {{GL_COLOR, GL_ALPHA_BITS, "colours"},
               {GL_DEPTH, GL_DEPTH_BITS, "depth"},
               {GL_STENCIL, GL_STENCIL_BITS, "stencil"}};
  for (auto& p : parts) {
    if (shown && p.what != GL_COLOR) continue;  // EGL and GLX leave nothing of these behind
    if (p.what != GL_COLOR && !c->core && !b.get(p.bits)) continue;
    dt_target picture{};
    picture.kind = DT_TARGET_SURFACE;
    picture.name = c->draw;
    picture.target = p.what;
    const uint32_t why = take_picture(b.t, picture, c->system == 1 && moment == Moment::MADE_CURRENT, &b.bytes);
    if ((why || !b.fine()) && !shown && (p.what == GL_COLOR || why != DT_REFUSED_FORMAT))
      b.lacks("what is drawn to the window and not shown yet: its %s", p.name);
  }
}

}  // namespace

bool Base::fine() {
  bool none = true;
  for (int i = 0; i < 16 && d.glGetError(); i++) none = false;
  return none;
}
int32_t Base::get(uint32_t name, int32_t otherwise) {
  int32_t values[64] = {otherwise};  // room, should a driver return more than one
  d.glGetIntegerv(name, values);
  return fine() ? values[0] : otherwise;
}
float Base::number(uint32_t name) {
  float values[16] = {};
  d.glGetFloatv(name, values);
  return values[0];
}
bool Base::is(uint32_t capability) {
  const bool on = d.glIsEnabled(capability);
  return fine() && on;
}
void Base::lacks(const char* format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  char whole[320];
  snprintf(whole, sizeof whole, "context %u: %s", c->id, text);
  emit_note(t, "not-taken", whole);
  lacking++;
}

void surface_is_recorded(uint64_t handle) {
  if (!recording_epoch()) return;
  lock(&g_lock);
  *place_of(handle) = {handle, recording_epoch()};
  unlock(&g_lock);
}

void before_current(Thread* t, uint32_t system, void* display, uint64_t draw, uint64_t read, void* handle) {
  if (!handle || t->telling) return;
  const int saved = errno;
  lock(&g_lock);
  GlContext* c = context_of(system, handle);
  if (c && c->api <= 2) {
    tell_context(t, c);
    t->telling = 1;
    if (system == 1) tell_surface(t, display, draw), tell_surface(t, display, read);
    t->telling = 0;
  }
  unlock(&g_lock);
  errno = saved;
}

void take_base(Thread* t, Moment moment) {
  GlContext* c = t->context;
  const uint32_t epoch = recording_epoch();
  if (!g_module_records || !g_began_late || !can_ask(c) || c->base_epoch == epoch || !c->api || c->api > 2 ||
      t->telling)
    return;
  const int saved = errno;
  lock(&g_lock);
  const uint64_t from = now_ns(), calls = t->calls;
  Base b(t, c, driver_of(c, true));
  const uint32_t error = b.d.glGetError();
  b.fine();
  c->base_epoch = epoch;
  char text[256];
  snprintf(
      text, sizeof text,
      "context %u: calls that the program did not make; they make what it had made and set before recording began (%u)",
      c->id, epoch);
  emit_note(t, "base-begins", text);
  c->in_recording = c->recorded_in == session_number() && c->told_epoch != epoch;
  int32_t answer = -1;
  b.d.glGetIntegerv(GL_MAX_TEXTURE_SIZE, &answer);  // there is no answer between glBegin and glEnd
  tell_context(t, c);
  tell_current(t, c);
  if (answer == -1 || (b.old && !b.es && (b.get(GL_LIST_INDEX) || b.get(GL_RENDER_MODE, GL_RENDER) != GL_RENDER))) {
    b.lacks(
        "everything, since recording began between glBegin and glEnd, or in a display list, or what is drawn was "
        "selected or fed back");
  } else {
    const bool shared = !group_is_taken(c, epoch);
    b.debug_output = b.has(43, 32) && b.is(GL_DEBUG_OUTPUT);
    if (b.debug_output) b.d.glDisable(GL_DEBUG_OUTPUT);  // nobody gets messages about these queries
    b.pack = c->pack, b.unpack = c->unpack, b.pack_buffer = c->buffers[PACK];
    {
      PlainPack plain(c);
      as_new(c);
      b.names(shared);
      if (shared) b.shared_objects();
      b.own_objects();
      b.state();
      take_surface(b, moment);
      c->pack = b.pack, c->buffers[PACK] = b.pack_buffer;  // what `plain` puts back
    }
    read_state(c);
    if (b.debug_output) b.d.glEnable(GL_DEBUG_OUTPUT);
  }
  b.fine();
  raise_again(b, error);
  snprintf(text, sizeof text,
           "context %u: %llu calls and %llu bytes of content, taken in %.1f ms; %u things could not be had (%u)", c->id,
           (unsigned long long)(t->calls - calls), (unsigned long long)b.bytes, (double)(now_ns() - from) / 1e6,
           b.lacking, epoch);
  emit_note(t, "base-ends", text);
  unlock(&g_lock);
  t->special |= SPECIAL_BUSY;
  errno = saved;
}

}  // namespace hook
}  // namespace dt
