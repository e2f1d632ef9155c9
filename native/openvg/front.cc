// libEGL.so.1 in front of the system's: what it adds is OpenVG.
//
// No EGL of today makes OpenVG contexts, and GLVND's refuses EGL_OPENVG_API before it asks a vendor; so they are made
// here. A program finds this library by LD_LIBRARY_PATH. Calls that are not OpenVG's go on to the system's EGL. Most
// entry points are a jump there (egl_forwards.inc), and the others below only look at OpenVG's part.
//
// An OpenVG context has an OpenGL ES 2 context beneath that is current during eglSwapBuffers alone, to put the pixels
// on the surface: window systems need nothing here. Pbuffers are not put anywhere: their pixels are the engine's.
//
// In one file: the build reads from it which entry points of EGL are more than a jump.
#define EGL_EGLEXT_PROTOTYPES
#include "gl_enums.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <VG/openvg.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "border.h"

#define DT_EGL extern "C" __attribute__((visibility("default")))

namespace {

// ---- the system's EGL and the engine

void* g_system;  // the EGL behind this one
using Lookup = __eglMustCastToProperFunctionPointerType (*)(const char*);
Lookup g_lookup;

std::string own_path() {
  Dl_info info;
  char real[PATH_MAX];
  if (dladdr((void*)&own_path, &info) && realpath(info.dli_fname, real)) return real;
  return "";
}

void* open_system() {
  if (const char* named = getenv("DRAWTAP_SYSTEM_EGL")) return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  std::string own = own_path();
  std::vector<std::string> folders;
  Dl_serinfo size;
  if (void* self = dlopen(own.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
    if (dlinfo(self, RTLD_DI_SERINFOSIZE, &size) == 0) {
      std::vector<char> memory(size.dls_size);
      auto* paths = (Dl_serinfo*)memory.data();
      if (dlinfo(self, RTLD_DI_SERINFOSIZE, paths) == 0 && dlinfo(self, RTLD_DI_SERINFO, paths) == 0)
        for (unsigned i = 0; i < paths->dls_cnt; i++) folders.push_back(paths->dls_serpath[i].dls_name);
    }
    dlclose(self);
  }
  // Folders of ld.so.conf are not told; these are where the distributions put it.
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"})
    folders.push_back(folder);
  for (const std::string& folder : folders) {
    char real[PATH_MAX];
    if (!realpath((folder + "/libEGL.so.1").c_str(), real) || own == real) continue;
    if (void* library = dlopen(real, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

void* system_function(const char* name) {
  void* own = g_system ? dlsym(g_system, name) : nullptr;
  return !own && g_lookup ? (void*)g_lookup(name) : own;
}

// The function for a name that the system's EGL lacks: every one of them may answer 0.
extern "C" void* drawtap_egl_missing() { return nullptr; }

}  // namespace

// ---- entry points that are a jump

#define FORWARD(name) extern "C" __attribute__((visibility("hidden"))) void* drawtap_real_##name;
#include "egl_forwards.inc"
#undef FORWARD
#define FORWARD(name) void* drawtap_real_##name = (void*)&drawtap_egl_missing;
#include "egl_forwards.inc"
#undef FORWARD

#if defined(__x86_64__)
#define JUMP(name) "jmp *drawtap_real_" #name "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(name) "adrp x16, drawtap_real_" #name "\nldr x16, [x16, #:lo12:drawtap_real_" #name "]\nbr x16\n"
#else
#error "write the jump for this processor"
#endif
#define FORWARD(name) \
  asm(".text\n.globl " #name "\n.type " #name ", %function\n" #name ":\n" JUMP(name) ".size " #name ", .-" #name "\n");
#include "egl_forwards.inc"
#undef FORWARD

namespace {

template <class Function> Function real(const char* name) {
  void* address = system_function(name);
  return (Function)(address ? address : (void*)&drawtap_egl_missing);
}
#define REAL(name)                                         \
  ([] {                                                    \
    static auto function = real<decltype(&::name)>(#name); \
    return function;                                       \
  }())

void* open_engine() {
  std::string path = own_path();
  path.resize(path.rfind('/') + 1);
  void* library = dlopen((path + "libOpenVG.so.1").c_str(), RTLD_NOW | RTLD_GLOBAL);
  return library ? library : dlopen("libOpenVG.so.1", RTLD_NOW | RTLD_GLOBAL);
}

// The engine: a library, and what border.h says of its functions.
struct Engine {
  template <class Function> Function find(const char* name) {
    void* address = library ? dlsym(library, name) : nullptr;
    whole &= address != nullptr;
    return (Function)address;
  }
  void* library = open_engine();
  bool whole = true;
#define FUNCTION(name) decltype(&drawtap_vg_##name) name = find<decltype(&drawtap_vg_##name)>("drawtap_vg_" #name)
  FUNCTION(create_context);
  FUNCTION(destroy_context);
  FUNCTION(make_current);
  FUNCTION(create_surface);
  FUNCTION(image_surface);
  FUNCTION(destroy_surface);
  FUNCTION(resize_surface);
  FUNCTION(surface_bytes);
  FUNCTION(sensor_count);
  FUNCTION(sensor_name);
  FUNCTION(sensor_description);
  FUNCTION(sensor_is_mean);
  FUNCTION(sensor_value);
  FUNCTION(reset_sensors);
  FUNCTION(share_image);
  FUNCTION(unshare_image);
  FUNCTION(forget_image);
  FUNCTION(shared_alive);
  FUNCTION(same_image);
  FUNCTION(shared_read);
  FUNCTION(shared_write);
  FUNCTION(at_flush);
  FUNCTION(at_image_target);
  FUNCTION(target_image);
  FUNCTION(join_image);
#undef FUNCTION
};
const Engine& engine() {
  static const Engine loaded;
  return loaded;
}
bool has_engine() { return engine().whole; }

// ---- what is known of surfaces and contexts

struct SurfaceInfo {
  bool linear = false, premultiplied = false;
  bool window = false;
  void* pixels = nullptr;  // the engine's; made when a context of OpenVG draws there first
};

struct ContextInfo {
  void* vg = nullptr;
  EGLContext gles = EGL_NO_CONTEXT;  // beneath; none: nothing can be shown in a window
  bool destroyed = false;            // while it was current
  int current = 0;
};

struct Current {
  EGLDisplay display = EGL_NO_DISPLAY;
  EGLContext context = EGL_NO_CONTEXT;
  EGLSurface surface = EGL_NO_SURFACE;
};

std::mutex g_lock;
std::map<std::pair<EGLDisplay, EGLSurface>, SurfaceInfo>& surfaces() {
  static auto* map = new std::map<std::pair<EGLDisplay, EGLSurface>, SurfaceInfo>;
  return *map;
}
std::map<EGLContext, ContextInfo>& contexts() {
  static auto* map = new std::map<EGLContext, ContextInfo>;
  return *map;
}

// EGLImages that there are: the system's EGL may follow any other handle wherever that leads.
std::set<std::pair<EGLDisplay, EGLImage>>& images() {
  static auto* set = new std::set<std::pair<EGLDisplay, EGLImage>>;
  return *set;
}

thread_local bool t_vg;          // eglBindAPI(EGL_OPENVG_API)
thread_local EGLint t_error;     // of what was answered here; 0: ask the system's EGL
thread_local Current t_current;  // OpenVG's

template <class T> T fail(EGLint error, T value) {
  t_error = error;
  return value;
}
template <class T> T ok(T value) {
  t_error = EGL_SUCCESS;
  return value;
}
// An answer of the system's EGL has its error there.
template <class T> T theirs(T value) {
  t_error = 0;
  return value;
}

ContextInfo* context_of(EGLContext context) {
  auto it = contexts().find(context);
  return it == contexts().end() ? nullptr : &it->second;
}

void let_go(EGLContext handle) {
  ContextInfo* info = context_of(handle);
  if (!info || !info->destroyed || info->current) return;
  engine().destroy_context(info->vg);
  contexts().erase(handle);
}

// Attributes without those that only OpenVG has.
template <class Attribute> std::vector<Attribute> without_vg(const Attribute* list, SurfaceInfo& info) {
  std::vector<Attribute> kept;
  for (; list && *list != (Attribute)EGL_NONE; list += 2) {
    if (list[0] == (Attribute)EGL_VG_COLORSPACE) {
      info.linear = list[1] == (Attribute)EGL_VG_COLORSPACE_LINEAR;
    } else if (list[0] == (Attribute)EGL_VG_ALPHA_FORMAT) {
      info.premultiplied = list[1] == (Attribute)EGL_VG_ALPHA_FORMAT_PRE;
    } else {
      kept.insert(kept.end(), {list[0], list[1]});
    }
  }
  kept.push_back((Attribute)EGL_NONE);
  return kept;
}

EGLSurface keep(EGLDisplay display, EGLSurface surface, const SurfaceInfo& info) {
  if (surface != EGL_NO_SURFACE) {
    std::lock_guard guard(g_lock);
    surfaces()[{display, surface}] = info;
  }
  return theirs(surface);
}

// A surface that `create` makes of the attributes that the system's EGL knows.
template <class Attribute, class Create>
EGLSurface create_surface(EGLDisplay display, bool window, const Attribute* attributes, Create&& create) {
  SurfaceInfo info;
  info.window = window;
  auto kept = without_vg(attributes, info);
  return keep(display, create(attributes ? kept.data() : nullptr), info);
}

// The engine's pixels of a surface, as large as the surface is now; null: no memory, or no such surface.
void* pixels_of(EGLDisplay display, EGLSurface surface) {
  EGLint width = 0, height = 0;
  auto query = REAL(eglQuerySurface);
  if (!query(display, surface, EGL_WIDTH, &width) || !query(display, surface, EGL_HEIGHT, &height)) return nullptr;
  std::lock_guard guard(g_lock);
  SurfaceInfo& info = surfaces()[{display, surface}];
  width = width > 0 ? width : 1, height = height > 0 ? height : 1;
  if (!info.pixels)
    info.pixels = engine().create_surface(width, height, info.linear, info.premultiplied);
  else if (info.window && !engine().resize_surface(info.pixels, width, height))
    return nullptr;
  return info.pixels;
}

// ---- showing pixels in a window

// The few functions of OpenGL ES 2 that it takes.
struct Gles {
  template <class Function> Function find(const char* name, bool& all) {
    void* address = g_lookup ? (void*)g_lookup(name) : nullptr;
    if (!address && library) address = dlsym(library, name);
    all &= address != nullptr;
    return (Function)address;
  }
  void* library = dlopen("libGLESv2.so.2", RTLD_NOW | RTLD_LOCAL);
  bool whole = true, targets = true;
#define FUNCTION(all, result, name, ...) result (*name)(__VA_ARGS__) = find<result (*)(__VA_ARGS__)>("gl" #name, all)
  FUNCTION(whole, unsigned, CreateShader, unsigned);
  FUNCTION(whole, void, ShaderSource, unsigned, int, const char* const*, const int*);
  FUNCTION(whole, void, CompileShader, unsigned);
  FUNCTION(whole, unsigned, CreateProgram);
  FUNCTION(whole, void, AttachShader, unsigned, unsigned);
  FUNCTION(whole, void, BindAttribLocation, unsigned, unsigned, const char*);
  FUNCTION(whole, void, LinkProgram, unsigned);
  FUNCTION(whole, void, UseProgram, unsigned);
  FUNCTION(whole, void, GenTextures, int, unsigned*);
  FUNCTION(whole, void, BindTexture, unsigned, unsigned);
  FUNCTION(whole, void, TexParameteri, unsigned, unsigned, int);
  FUNCTION(whole, void, TexImage2D, unsigned, int, int, int, int, int, unsigned, unsigned, const void*);
  FUNCTION(whole, void, VertexAttribPointer, unsigned, int, unsigned, unsigned char, int, const void*);
  FUNCTION(whole, void, EnableVertexAttribArray, unsigned);
  FUNCTION(whole, void, Viewport, int, int, int, int);
  FUNCTION(whole, void, DrawArrays, unsigned, int, int);
  FUNCTION(whole, void, GetIntegerv, unsigned, int*);
  FUNCTION(whole, void, PixelStorei, unsigned, int);
  FUNCTION(whole, void, DeleteTextures, int, const unsigned*);
  FUNCTION(whole, void, TexSubImage2D, unsigned, int, int, int, int, int, unsigned, unsigned, const void*);
  FUNCTION(whole, void, GenFramebuffers, int, unsigned*);
  FUNCTION(whole, void, BindFramebuffer, unsigned, unsigned);
  FUNCTION(whole, void, FramebufferTexture2D, unsigned, unsigned, unsigned, unsigned, int);
  FUNCTION(whole, void, ReadPixels, int, int, int, int, unsigned, unsigned, void*);
  FUNCTION(whole, void, Finish);
  // For textures made of EGLImages, in OpenGL ES 3.1.
  FUNCTION(targets, void, EGLImageTargetTexture2DOES, unsigned, void*);
  FUNCTION(targets, void, GetTexLevelParameteriv, unsigned, int, unsigned, int*);
  FUNCTION(targets, unsigned, CheckFramebufferStatus, unsigned);
  FUNCTION(targets, unsigned, GetError);
#undef FUNCTION
};

const Gles& gles() {
  static const Gles functions;
  return functions;
}

// A texture of ours, bound.
unsigned new_texture() {
  const Gles& gl = gles();
  unsigned texture = 0;
  gl.GenTextures(1, &texture);
  gl.BindTexture(GL_TEXTURE_2D, texture);
  for (auto [parameter, value] : {std::pair{GL_TEXTURE_MAG_FILTER, GL_NEAREST},
                                  {GL_TEXTURE_MIN_FILTER, GL_NEAREST},
                                  {GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE},
                                  {GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE}})
    gl.TexParameteri(GL_TEXTURE_2D, parameter, value);
  return texture;
}

void draw_pixels(const void* pixels, int width, int height) {
  const Gles& gl = gles();
  int program = 0;
  gl.GetIntegerv(GL_CURRENT_PROGRAM, &program);  // set up once a context
  if (!program) {
    static const char* vertex =
        "attribute vec2 p; varying vec2 t; void main() { t = p * 0.5 + 0.5; gl_Position = vec4(p, 0.0, 1.0); }";
    static const char* fragment =
        "precision mediump float; varying vec2 t; uniform sampler2D s; void main() { gl_FragColor = texture2D(s, t); }";
    unsigned made = gl.CreateProgram();
    for (auto [type, source] : {std::pair{GL_VERTEX_SHADER, vertex}, std::pair{GL_FRAGMENT_SHADER, fragment}}) {
      unsigned shader = gl.CreateShader(type);
      gl.ShaderSource(shader, 1, &source, nullptr);
      gl.CompileShader(shader);
      gl.AttachShader(made, shader);
    }
    gl.BindAttribLocation(made, 0, "p");
    gl.LinkProgram(made);
    gl.UseProgram(made);
    new_texture();
    gl.EnableVertexAttribArray(0);
  }
  static const float corners[] = {-1, -1, 1, -1, -1, 1, 1, 1};
  gl.VertexAttribPointer(0, 2, GL_FLOAT, 0, 0, corners);
  gl.TexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  gl.Viewport(0, 0, width, height);
  gl.DrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

// The system's swap, with the pixels of OpenVG put onto the surface before.
EGLBoolean swap_vg(EGLDisplay display, EGLSurface surface) {
  EGLContext beneath = EGL_NO_CONTEXT;
  void* pixels = nullptr;
  {
    std::lock_guard guard(g_lock);
    if (ContextInfo* info = context_of(t_current.context)) beneath = info->gles;
    auto it = surfaces().find({display, surface});
    if (it != surfaces().end()) pixels = it->second.pixels;
  }
  auto swap = REAL(eglSwapBuffers);
  if (beneath == EGL_NO_CONTEXT || !pixels || !gles().whole) return fail(EGL_BAD_ALLOC, (EGLBoolean)EGL_FALSE);
  auto api = REAL(eglQueryAPI)();
  REAL(eglBindAPI)(EGL_OPENGL_ES_API);
  EGLDisplay old_display = REAL(eglGetCurrentDisplay)();
  EGLContext old = REAL(eglGetCurrentContext)();
  EGLSurface old_draw = REAL(eglGetCurrentSurface)(EGL_DRAW), old_read = REAL(eglGetCurrentSurface)(EGL_READ);
  EGLBoolean shown = REAL(eglMakeCurrent)(display, surface, surface, beneath);
  EGLint error = shown ? 0 : REAL(eglGetError)();
  if (shown) {
    int width, height, stride;
    void* bytes = engine().surface_bytes(pixels, 0, &width, &height, &stride);
    draw_pixels(bytes, width, height);
    shown = swap(display, surface);
    error = shown ? 0 : REAL(eglGetError)();
    if (old != EGL_NO_CONTEXT)
      REAL(eglMakeCurrent)(old_display, old_draw, old_read, old);
    else
      REAL(eglMakeCurrent)(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  }
  REAL(eglBindAPI)(api);
  if (!shown) return fail(error, (EGLBoolean)EGL_FALSE);
  pixels_of(display, surface);  // the window may have another size from now on
  return ok((EGLBoolean)EGL_TRUE);
}

// ---- EGL_KHR_vg_parent_image, VG_KHR_EGL_image: images that OpenVG and OpenGL see
//
// Such an image of OpenVG has a texture beside it, in a context of OpenGL ES of ours. An image that the program shares
// has a texture of ours, and the EGLImage is the texture's; an image made of an EGLImage has a texture made of the
// EGLImage, too. Certain calls make OpenVG's pixels and the texture's one (`exchange`): writes of either side since the
// last of them go over. Where both wrote a pixel, OpenVG's stays. The system's EGL answers other questions about an
// EGLImage.

struct SharedImage {
  EGLDisplay display = EGL_NO_DISPLAY;
  EGLImage image = EGL_NO_IMAGE;  // none: it was destroyed, but what was made of it may be there
  void* pixels = nullptr;         // the engine's
  int width = 0, height = 0;
  unsigned texture = 0;
  bool made_of_it = false;            // the image of OpenVG is made of the EGLImage, not the other way round
  bool opaque = false;                // the texture has no alpha
  bool forgotten = false;             // nobody on OpenVG's side can reach it any more
  std::vector<uint8_t> ours, theirs;  // what either side had when the last exchange was done: formats may differ
};

std::mutex g_exchange;              // taken before g_lock and the engine's locks
std::atomic<bool> g_shares{false};  // whether an image was ever shared: most programs have none
std::vector<SharedImage>& shared_images() {
  static auto* list = new std::vector<SharedImage>;
  return *list;
}

// A context of ours on a display, in which the textures are; no context: there can be none.
struct Carrier {
  EGLContext context = EGL_NO_CONTEXT;
  EGLSurface surface = EGL_NO_SURFACE;
  unsigned framebuffer = 0;
};
std::map<EGLDisplay, Carrier>& carriers() {
  static auto* map = new std::map<EGLDisplay, Carrier>;
  return *map;
}
Carrier& carrier(EGLDisplay display) {
  auto [at, made] = carriers().try_emplace(display);
  if (!made) return at->second;
  static const EGLint version[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
  static const EGLint size[] = {EGL_WIDTH, 1, EGL_HEIGHT, 1, EGL_NONE};
  const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_ES2_BIT, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_NONE};
  EGLConfig config;
  EGLint count = 0;
  if (!REAL(eglChooseConfig)(display, wanted, &config, 1, &count) || !count) return at->second;
  auto api = REAL(eglQueryAPI)();
  REAL(eglBindAPI)(EGL_OPENGL_ES_API);
  at->second.surface = REAL(eglCreatePbufferSurface)(display, config, size);
  at->second.context = REAL(eglCreateContext)(display, config, EGL_NO_CONTEXT, version);
  REAL(eglBindAPI)(api);
  return at->second;
}

// Our context is current as long as this lives, whatever was current before comes back after it.
class Borrowed {
 public:
  explicit Borrowed(EGLDisplay display) : display_(display), carrier_(carrier(display)) {
    if (carrier_.context == EGL_NO_CONTEXT || !gles().whole) return;
    api_ = REAL(eglQueryAPI)();
    REAL(eglBindAPI)(EGL_OPENGL_ES_API);
    old_display_ = REAL(eglGetCurrentDisplay)();
    old_ = REAL(eglGetCurrentContext)();
    draw_ = REAL(eglGetCurrentSurface)(EGL_DRAW), read_ = REAL(eglGetCurrentSurface)(EGL_READ);
    // Objects that were destroyed while they are current could not be made current again.
    if (old_ != EGL_NO_CONTEXT && !(context_lives() && lives(draw_) && lives(read_))) {
      restore_api();
      return;
    }
    there_ = REAL(eglMakeCurrent)(display, carrier_.surface, carrier_.surface, carrier_.context);
    if (!there_) restore_api();
    if (there_ && !carrier_.framebuffer) {
      gles().PixelStorei(GL_UNPACK_ALIGNMENT, 1);
      gles().GenFramebuffers(1, &carrier_.framebuffer);
      gles().BindFramebuffer(GL_FRAMEBUFFER, carrier_.framebuffer);
    }
  }
  ~Borrowed() {
    if (!there_) return;
    if (old_ == EGL_NO_CONTEXT || !REAL(eglMakeCurrent)(old_display_, draw_, read_, old_))
      REAL(eglMakeCurrent)(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    restore_api();
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  explicit operator bool() const { return there_; }
  EGLContext context() const { return carrier_.context; }

 private:
  void restore_api() { REAL(eglBindAPI)(api_); }
  bool context_lives() const {
    EGLint any;
    return REAL(eglQueryContext)(old_display_, old_, EGL_CONFIG_ID, &any);
  }
  bool lives(EGLSurface surface) const {
    EGLint any;
    return surface == EGL_NO_SURFACE || REAL(eglQuerySurface)(old_display_, surface, EGL_CONFIG_ID, &any);
  }
  EGLDisplay display_, old_display_ = EGL_NO_DISPLAY;
  Carrier& carrier_;
  EGLenum api_ = EGL_OPENGL_ES_API;
  EGLContext old_ = EGL_NO_CONTEXT;
  EGLSurface draw_ = EGL_NO_SURFACE, read_ = EGL_NO_SURFACE;
  EGLBoolean there_ = EGL_FALSE;
};

// All that is done to textures: our context is current.
std::vector<uint8_t> texture_pixels(const SharedImage& shared) {
  const Gles& gl = gles();
  std::vector<uint8_t> pixels((size_t)shared.width * (size_t)shared.height * 4);
  gl.FramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, shared.texture, 0);
  gl.ReadPixels(0, 0, shared.width, shared.height, GL_RGBA, GL_UNSIGNED_BYTE, pixels.data());
  gl.FramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, 0, 0);
  return pixels;
}
void set_texture_pixels(const SharedImage& shared, const std::vector<uint8_t>& pixels) {
  const Gles& gl = gles();
  std::vector<uint8_t> packed;
  if (shared.opaque) {  // OpenGL ES takes as many channels as there are
    packed.reserve(pixels.size() / 4 * 3);
    for (size_t i = 0; i < pixels.size(); i += 4) packed.insert(packed.end(), &pixels[i], &pixels[i] + 3);
  }
  gl.BindTexture(GL_TEXTURE_2D, shared.texture);
  gl.TexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, shared.width, shared.height, shared.opaque ? GL_RGB : GL_RGBA,
                   GL_UNSIGNED_BYTE, shared.opaque ? packed.data() : pixels.data());
}

// Both sides of an image become one. False: they were.
bool exchange_one(SharedImage& shared) {
  std::vector<uint8_t> ours(shared.ours.size()), theirs = texture_pixels(shared);
  engine().shared_read(shared.pixels, ours.data());
  if (ours == shared.ours && theirs == shared.theirs) return false;
  if (theirs != shared.theirs) {
    std::vector<uint8_t> merged = ours;
    for (size_t i = 0; i < ours.size(); i += 4)
      if (!memcmp(&ours[i], &shared.ours[i], 4) && memcmp(&theirs[i], &shared.theirs[i], 4))
        memcpy(&merged[i], &theirs[i], 4);
    engine().shared_write(shared.pixels, merged.data(), ours.data());
    engine().shared_read(shared.pixels, ours.data());  // as its format could hold them
  }
  if (ours != theirs) {
    set_texture_pixels(shared, ours);
    // The texture may hold less of them than OpenVG has.
    theirs = shared.made_of_it ? texture_pixels(shared) : ours;
  }
  shared.ours = std::move(ours), shared.theirs = std::move(theirs);
  return true;
}

// Writes of OpenVG and of OpenGL to shared images go to the other side. g_exchange is held.
void exchange_all() {
  auto& all = shared_images();
  std::map<EGLDisplay, bool> displays;  // whether there are images that are made of EGLImages
  for (auto& shared : all) displays[shared.display] |= shared.made_of_it;
  for (auto& [display, made] : displays) {
    Borrowed borrowed(display);
    if (!borrowed) continue;
    bool changed = false;
    for (auto& shared : all)
      if (shared.display == display) {
        shared.forgotten = (shared.made_of_it || shared.image == EGL_NO_IMAGE) && !engine().shared_alive(shared.pixels);
        changed |= exchange_one(shared);
      }
    // Textures may be one under several names: what a later image wrote goes to those before it, too.
    for (auto& shared : all)
      if (changed && made && shared.display == display) exchange_one(shared);
    std::erase_if(all, [display](SharedImage& shared) {
      if (shared.display != display || !shared.forgotten) return false;
      gles().DeleteTextures(1, &shared.texture);  // what OpenGL has of it keeps the pixels
      engine().forget_image(shared.pixels);
      return true;
    });
    gles().Finish();
  }
}
void exchange() {
  if (!g_shares) return;
  std::lock_guard guard(g_exchange);
  exchange_all();
}
void is_shared(SharedImage&& shared) {
  shared_images().push_back(std::move(shared));
  g_shares = true;
  engine().at_flush(&exchange);
}

// The EGLImage of an image of OpenVG; `error` where there is none.
EGLImage share_image(EGLDisplay display, void* vg, uint32_t name, EGLint& error) {
  std::lock_guard guard(g_exchange);
  SharedImage shared;
  shared.display = display;
  shared.pixels = engine().share_image(vg, name, &shared.width, &shared.height, &error);
  if (!shared.pixels) return EGL_NO_IMAGE;
  error = EGL_BAD_ALLOC;
  auto& all = shared_images();
  SharedImage* known = nullptr;  // it had one that was destroyed: what OpenGL made of that is the same image
  for (auto& other : all)
    if (other.display == display && engine().same_image(other.pixels, shared.pixels)) known = &other;
  Borrowed borrowed(display);
  if (!borrowed) {
    engine().unshare_image(shared.pixels);
    engine().forget_image(shared.pixels);
    return EGL_NO_IMAGE;
  }
  const Gles& gl = gles();
  SharedImage& used = known ? *known : shared;
  if (!known) {
    shared.ours.resize((size_t)shared.width * (size_t)shared.height * 4);
    engine().shared_read(shared.pixels, shared.ours.data());
    shared.theirs = shared.ours;
    shared.texture = new_texture();
    gl.TexImage2D(GL_TEXTURE_2D, 0, (int)GL_RGBA, shared.width, shared.height, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                  shared.ours.data());
  } else {
    exchange_one(*known);
  }
  auto make = (PFNEGLCREATEIMAGEKHRPROC)system_function("eglCreateImageKHR");
  static const EGLint preserved[] = {EGL_IMAGE_PRESERVED_KHR, EGL_TRUE, EGL_NONE};
  auto source = (EGLClientBuffer)(uintptr_t)used.texture;
  used.image = make ? make(display, borrowed.context(), EGL_GL_TEXTURE_2D_KHR, source, preserved) : EGL_NO_IMAGE;
  gl.Finish();
  EGLImage made = used.image;
  if (made == EGL_NO_IMAGE) engine().unshare_image(shared.pixels);
  if (known || made == EGL_NO_IMAGE) engine().forget_image(shared.pixels);
  if (!known && made == EGL_NO_IMAGE) gl.DeleteTextures(1, &shared.texture);
  if (!known && made != EGL_NO_IMAGE) is_shared(std::move(shared));
  return made;
}

// The format in which OpenVG has what the bound texture holds; 0: it has none. Channels lie as OpenGL's bytes do.
int image_format() {
  auto level = [](unsigned name) {
    int value = 0;
    gles().GetTexLevelParameteriv(GL_TEXTURE_2D, 0, name, &value);
    return value;
  };
  const int red = level(GL_TEXTURE_RED_SIZE), green = level(GL_TEXTURE_GREEN_SIZE), blue = level(GL_TEXTURE_BLUE_SIZE),
            alpha = level(GL_TEXTURE_ALPHA_SIZE);
  if (level(GL_TEXTURE_RED_TYPE) != GL_UNSIGNED_NORMALIZED || !red || !green || !blue)
    return 0;  // the type of red: GL_UNSIGNED_NORMALIZED
  if (red == 5 && green == 6 && blue == 5 && !alpha) return VG_sRGB_565;
  if (red == 5 && green == 5 && blue == 5 && alpha == 1) return VG_sRGBA_5551;
  if (red == 4 && green == 4 && blue == 4 && alpha == 4) return VG_sRGBA_4444;
  if (red > 8 || green > 8 || blue > 8 || alpha > 8) return 0;
  return alpha ? VG_sABGR_8888 : VG_sXBGR_8888;
}

// The texture of an EGLImage, and how large it is; the format of an image for it, or 0 and an error.
int made_of(SharedImage& shared, int* error) {
  const Gles& gl = gles();
  for (int i = 0; i < 16 && gl.GetError(); i++) {}
  shared.made_of_it = true;
  shared.texture = new_texture();
  gl.EGLImageTargetTexture2DOES(GL_TEXTURE_2D, shared.image);
  const unsigned refused = gl.GetError();
  if (refused == GL_INVALID_VALUE) *error = VG_ILLEGAL_ARGUMENT_ERROR;  // it is none
  if (refused == GL_OUT_OF_MEMORY) *error = VG_OUT_OF_MEMORY_ERROR;
  if (refused) return 0;
  gl.GetTexLevelParameteriv(GL_TEXTURE_2D, 0, GL_TEXTURE_WIDTH, &shared.width);
  gl.GetTexLevelParameteriv(GL_TEXTURE_2D, 0, GL_TEXTURE_HEIGHT, &shared.height);
  const int format = image_format();
  shared.opaque = format == VG_sXBGR_8888 || format == VG_sRGB_565;
  gl.FramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, shared.texture, 0);
  const bool readable = gl.CheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
  gl.FramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, 0, 0);
  return readable && shared.width > 0 && shared.height > 0 ? format : 0;
}

// vgCreateEGLImageTargetKHR.
uint32_t image_target(void* egl_image, int* error) try {
  std::lock_guard guard(g_exchange);
  SharedImage shared;
  shared.display = t_current.display, shared.image = (EGLImage)egl_image;
  void* vg = nullptr;
  {
    std::lock_guard known(g_lock);
    ContextInfo* info = context_of(t_current.context);
    if (info && images().count({shared.display, shared.image})) vg = info->vg;
  }
  if (!vg) return VG_INVALID_HANDLE;
  exchange_all();
  for (auto& other : shared_images())
    if (other.display == shared.display && other.image == shared.image)
      if (uint32_t joined = engine().join_image(vg, other.pixels)) return joined;
  *error = VG_UNSUPPORTED_IMAGE_FORMAT_ERROR;
  Borrowed borrowed(shared.display);
  if (!borrowed || !gles().targets) return VG_INVALID_HANDLE;
  uint32_t name = VG_INVALID_HANDLE;
  if (int format = made_of(shared, error)) {
    shared.theirs = texture_pixels(shared);
    shared.ours.resize(shared.theirs.size());
    *error = VG_OUT_OF_MEMORY_ERROR;
    name = engine().target_image(vg, format, shared.width, shared.height, shared.theirs.data(), &shared.pixels);
  }
  if (name == VG_INVALID_HANDLE) {
    gles().DeleteTextures(1, &shared.texture);
    return name;
  }
  engine().shared_read(shared.pixels, shared.ours.data());
  is_shared(std::move(shared));
  return name;
} catch (const std::bad_alloc&) {
  *error = VG_OUT_OF_MEMORY_ERROR;
  return VG_INVALID_HANDLE;
}
// Returns whether EGL can make images of textures there.
bool images_of_textures(EGLDisplay display) {
  const char* text = REAL(eglQueryString)(display, EGL_EXTENSIONS);
  return text && strstr(text, "EGL_KHR_image_base") && strstr(text, "EGL_KHR_gl_texture_2D_image");
}

__attribute__((constructor)) void load() {
  g_system = open_system();
  if (!g_system) {
    fprintf(stderr, "drawtap: no EGL behind the one with OpenVG (DRAWTAP_SYSTEM_EGL=FILE names one)\n");
    return;
  }
  g_lookup = (Lookup)dlsym(g_system, "eglGetProcAddress");
#define FORWARD(name) \
  if (void* address = system_function(#name)) drawtap_real_##name = address;
#include "egl_forwards.inc"
#undef FORWARD
}

}  // namespace

// ---- entry points that OpenVG concerns

DT_EGL EGLBoolean eglBindAPI(EGLenum api) {
  exchange();
  if (api == EGL_OPENVG_API) {
    if (!has_engine()) return fail(EGL_BAD_PARAMETER, (EGLBoolean)EGL_FALSE);
    t_vg = true;
    return ok((EGLBoolean)EGL_TRUE);
  }
  EGLBoolean bound = REAL(eglBindAPI)(api);
  if (bound) t_vg = false;
  return theirs(bound);
}

DT_EGL EGLenum eglQueryAPI(void) { return t_vg ? ok((EGLenum)EGL_OPENVG_API) : theirs(REAL(eglQueryAPI)()); }

DT_EGL EGLint eglGetError(void) {
  // Entry points that only jump leave no word here: a success of ours may be older than an error of theirs.
  EGLint error = t_error;
  t_error = 0;
  return error && error != EGL_SUCCESS ? error : REAL(eglGetError)();
}

DT_EGL const char* eglQueryString(EGLDisplay display, EGLint name) {
  const char* text = REAL(eglQueryString)(display, name);
  std::string more;
  if (name == EGL_CLIENT_APIS) more = " OpenVG";
  if (name == EGL_EXTENSIONS && display != EGL_NO_DISPLAY) {
    more = " EGL_DRAWTAP_sensors";
    if (images_of_textures(display)) more += " EGL_KHR_vg_parent_image";
  }
  if (!text || more.empty() || !has_engine()) return theirs(text);
  static std::map<std::pair<EGLDisplay, EGLint>, std::string> texts;  // they must stay
  std::lock_guard guard(g_lock);
  std::string& whole = texts[{display, name}];
  if (whole.empty()) {
    whole = text;
    while (!whole.empty() && whole.back() == ' ') whole.pop_back();
    whole += more;
  }
  return ok(whole.c_str());
}

DT_EGL EGLBoolean eglChooseConfig(EGLDisplay display, const EGLint* attributes, EGLConfig* configs, EGLint size,
                                  EGLint* count) {
  std::vector<EGLint> asked;
  bool es2 = false;
  for (const EGLint* a = attributes; a && *a != EGL_NONE; a += 2) {
    EGLint value = a[1];
    if (a[0] == EGL_ALPHA_MASK_SIZE) continue;  // every surface of OpenVG has a mask of 8 bits
    if (value != EGL_DONT_CARE && (a[0] == EGL_RENDERABLE_TYPE || a[0] == EGL_CONFORMANT) && value & EGL_OPENVG_BIT) {
      value = (value & ~EGL_OPENVG_BIT) | EGL_OPENGL_ES2_BIT;
      es2 = true;
    }
    if (value != EGL_DONT_CARE && a[0] == EGL_SURFACE_TYPE)
      value &= ~(EGL_VG_COLORSPACE_LINEAR_BIT | EGL_VG_ALPHA_FORMAT_PRE_BIT);
    asked.insert(asked.end(), {a[0], value});
  }
  asked.push_back(EGL_NONE);
  if (es2 && !has_engine()) {
    if (count) *count = 0;
    return ok((EGLBoolean)EGL_TRUE);
  }
  return theirs(REAL(eglChooseConfig)(display, attributes ? asked.data() : nullptr, configs, size, count));
}

DT_EGL EGLBoolean eglGetConfigAttrib(EGLDisplay display, EGLConfig config, EGLint attribute, EGLint* value) {
  EGLBoolean answered = REAL(eglGetConfigAttrib)(display, config, attribute, value);
  if (!answered || !value || !has_engine()) return theirs(answered);
  if ((attribute == EGL_RENDERABLE_TYPE || attribute == EGL_CONFORMANT) && *value & EGL_OPENGL_ES2_BIT)
    *value |= EGL_OPENVG_BIT;
  if (attribute == EGL_ALPHA_MASK_SIZE) *value = 8;
  if (attribute == EGL_SURFACE_TYPE) *value |= EGL_VG_COLORSPACE_LINEAR_BIT | EGL_VG_ALPHA_FORMAT_PRE_BIT;
  return theirs(answered);
}

DT_EGL EGLContext eglCreateContext(EGLDisplay display, EGLConfig config, EGLContext share, const EGLint* attributes) {
  if (!t_vg) return theirs(REAL(eglCreateContext)(display, config, share, attributes));
  if (attributes && *attributes != EGL_NONE) return fail(EGL_BAD_ATTRIBUTE, EGL_NO_CONTEXT);
  void* shared = nullptr;
  if (share != EGL_NO_CONTEXT) {
    std::lock_guard guard(g_lock);
    ContextInfo* info = context_of(share);
    if (!info || info->destroyed) return fail(EGL_BAD_CONTEXT, EGL_NO_CONTEXT);
    shared = info->vg;
  }
  static const EGLint es2[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
  auto api = REAL(eglQueryAPI)();
  REAL(eglBindAPI)(EGL_OPENGL_ES_API);
  EGLContext beneath = REAL(eglCreateContext)(display, config, EGL_NO_CONTEXT, es2);
  EGLint error = beneath == EGL_NO_CONTEXT ? REAL(eglGetError)() : EGL_SUCCESS;
  REAL(eglBindAPI)(api);
  if (beneath == EGL_NO_CONTEXT) return fail(error, EGL_NO_CONTEXT);
  std::lock_guard guard(g_lock);
  void* vg = engine().create_context(shared);
  if (!vg) {
    REAL(eglDestroyContext)(display, beneath);
    return fail(EGL_BAD_ALLOC, EGL_NO_CONTEXT);
  }
  contexts()[beneath] = {vg, beneath};
  if (images_of_textures(display)) engine().at_image_target(&image_target);
  return ok(beneath);
}

DT_EGL EGLBoolean eglDestroyContext(EGLDisplay display, EGLContext context) {
  {
    std::lock_guard guard(g_lock);
    if (ContextInfo* info = context_of(context)) {
      if (info->destroyed) return fail(EGL_BAD_CONTEXT, (EGLBoolean)EGL_FALSE);
      info->destroyed = true;
      info->gles = EGL_NO_CONTEXT;
      let_go(context);
    }
  }
  return theirs(REAL(eglDestroyContext)(display, context));
}

DT_EGL EGLBoolean eglMakeCurrent(EGLDisplay display, EGLSurface draw, EGLSurface read, EGLContext context) {
  exchange();
  bool ours;
  {
    std::lock_guard guard(g_lock);
    ContextInfo* info = context_of(context);
    ours = info != nullptr;
    if (info && info->destroyed) return fail(EGL_BAD_CONTEXT, (EGLBoolean)EGL_FALSE);
    if (info && info->current && context != t_current.context) return fail(EGL_BAD_ACCESS, (EGLBoolean)EGL_FALSE);
  }
  if (!ours && (context != EGL_NO_CONTEXT || !t_vg)) return theirs(REAL(eglMakeCurrent)(display, draw, read, context));
  void* pixels = nullptr;
  if (ours && draw != read) return fail(EGL_BAD_MATCH, (EGLBoolean)EGL_FALSE);
  if (ours && draw != EGL_NO_SURFACE && !(pixels = pixels_of(display, draw)))
    return fail(EGL_BAD_SURFACE, (EGLBoolean)EGL_FALSE);
  std::lock_guard guard(g_lock);
  if (ContextInfo* old = context_of(t_current.context)) {
    old->current = 0;
    engine().make_current(nullptr, nullptr);
    if (t_current.context != context) let_go(t_current.context);
  }
  t_current = {};
  if (ours) {
    ContextInfo* info = context_of(context);
    info->current = 1;
    t_current = {display, context, draw};
    engine().make_current(info->vg, pixels);
  }
  return ok((EGLBoolean)EGL_TRUE);
}

DT_EGL EGLContext eglGetCurrentContext(void) {
  return t_vg ? ok(t_current.context) : theirs(REAL(eglGetCurrentContext)());
}
DT_EGL EGLDisplay eglGetCurrentDisplay(void) {
  return t_vg ? ok(t_current.display) : theirs(REAL(eglGetCurrentDisplay)());
}
DT_EGL EGLSurface eglGetCurrentSurface(EGLint which) {
  return t_vg ? ok(t_current.surface) : theirs(REAL(eglGetCurrentSurface)(which));
}

DT_EGL EGLBoolean eglQueryContext(EGLDisplay display, EGLContext context, EGLint attribute, EGLint* value) {
  EGLBoolean answered = REAL(eglQueryContext)(display, context, attribute, value);
  std::lock_guard guard(g_lock);
  if (!answered || !value || !context_of(context)) return theirs(answered);
  if (attribute == EGL_CONTEXT_CLIENT_TYPE) *value = EGL_OPENVG_API;
  if (attribute == EGL_CONTEXT_CLIENT_VERSION) *value = 1;
  if (attribute == EGL_RENDER_BUFFER) *value = EGL_BACK_BUFFER;
  return ok(answered);
}

DT_EGL EGLSurface eglCreateWindowSurface(EGLDisplay display, EGLConfig config, EGLNativeWindowType window,
                                         const EGLint* attributes) {
  return create_surface(display, true, attributes, [&](const EGLint* kept) {
    return REAL(eglCreateWindowSurface)(display, config, window, kept);
  });
}

DT_EGL EGLSurface eglCreatePlatformWindowSurface(EGLDisplay display, EGLConfig config, void* window,
                                                 const EGLAttrib* attributes) {
  return create_surface(display, true, attributes, [&](const EGLAttrib* kept) {
    return REAL(eglCreatePlatformWindowSurface)(display, config, window, kept);
  });
}

DT_EGL EGLSurface eglCreatePlatformWindowSurfaceEXT(EGLDisplay display, EGLConfig config, void* window,
                                                    const EGLint* attributes) {
  return create_surface(display, true, attributes, [&](const EGLint* kept) {
    return REAL(eglCreatePlatformWindowSurfaceEXT)(display, config, window, kept);
  });
}

DT_EGL EGLSurface eglCreatePbufferSurface(EGLDisplay display, EGLConfig config, const EGLint* attributes) {
  return create_surface(display, false, attributes,
                        [&](const EGLint* kept) { return REAL(eglCreatePbufferSurface)(display, config, kept); });
}

DT_EGL EGLSurface eglCreatePixmapSurface(EGLDisplay display, EGLConfig config, EGLNativePixmapType pixmap,
                                         const EGLint* attributes) {
  return create_surface(display, false, attributes, [&](const EGLint* kept) {
    return REAL(eglCreatePixmapSurface)(display, config, pixmap, kept);
  });
}

DT_EGL EGLSurface eglCreatePbufferFromClientBuffer(EGLDisplay display, EGLenum type, EGLClientBuffer buffer,
                                                   EGLConfig config, const EGLint* attributes) {
  if (type != EGL_OPENVG_IMAGE)
    return theirs(REAL(eglCreatePbufferFromClientBuffer)(display, type, buffer, config, attributes));
  void* vg = nullptr;
  {
    std::lock_guard guard(g_lock);
    if (ContextInfo* info = context_of(t_current.context)) vg = info->vg;
  }
  if (!vg) return fail(EGL_BAD_ACCESS, EGL_NO_SURFACE);  // an image is one of the current context's
  int width = 0, height = 0, error = EGL_BAD_PARAMETER;
  void* pixels = engine().image_surface(vg, (uint32_t)(uintptr_t)buffer, &width, &height, &error);
  if (!pixels) return fail((EGLint)error, EGL_NO_SURFACE);
  // The system's pbuffer of the same size is the handle; nothing is drawn there.
  EGLint asked[] = {EGL_WIDTH, width, EGL_HEIGHT, height, EGL_NONE};
  EGLSurface surface = REAL(eglCreatePbufferSurface)(display, config, asked);
  SurfaceInfo info;
  info.pixels = pixels;
  if (surface == EGL_NO_SURFACE) engine().destroy_surface(pixels);
  return keep(display, surface, info);
}

namespace {

// Makes an EGLImage of an image of OpenVG; attributes come in either form of the call. False: that target is none of
// ours.
template <class Attribute>
bool create_vg_image(EGLDisplay display, EGLContext context, EGLenum target, EGLClientBuffer buffer,
                     const Attribute* list, EGLImage& image) {
  image = EGL_NO_IMAGE;
  void* vg = nullptr;
  {
    std::lock_guard guard(g_lock);
    ContextInfo* info = context_of(context);
    if (info && !info->destroyed) vg = info->vg;
  }
  if (target != EGL_VG_PARENT_IMAGE_KHR) {
    if (!vg) return false;
    t_error = EGL_BAD_MATCH;  // the context is OpenVG's, what it is to have is not
    return true;
  }
  EGLint value = 0;
  if (!has_engine()) return false;
  if (!REAL(eglQueryString)(display, EGL_VENDOR)) return t_error = 0, true;
  if (!vg) {
    const bool other = context != EGL_NO_CONTEXT && REAL(eglQueryContext)(display, context, EGL_CONFIG_ID, &value);
    t_error = other ? EGL_BAD_MATCH : EGL_BAD_CONTEXT;
    return true;
  }
  for (; list && *list != (Attribute)EGL_NONE; list += 2)
    if (list[0] != (Attribute)EGL_IMAGE_PRESERVED_KHR) return t_error = EGL_BAD_PARAMETER, true;
  EGLint error = EGL_BAD_PARAMETER;
  image = share_image(display, vg, (uint32_t)(uintptr_t)buffer, error);
  t_error = image == EGL_NO_IMAGE ? error : EGL_SUCCESS;
  return true;
}

// With a display go its contexts and images.
void display_ended(EGLDisplay display) {
  std::lock_guard guard(g_exchange);
  std::erase_if(shared_images(), [&](SharedImage& shared) {
    if (shared.display != display) return false;
    if (shared.image != EGL_NO_IMAGE) engine().unshare_image(shared.pixels);
    engine().forget_image(shared.pixels);
    return true;
  });
  carriers().erase(display);
}

// Held while an image is destroyed, so that nobody is given its handle before it is forgotten.
std::unique_lock<decltype(g_exchange)> shares_guard() {
  std::unique_lock guard(g_exchange, std::defer_lock);
  if (g_shares) guard.lock();
  return guard;
}

EGLImage keep(EGLDisplay display, EGLImage image) {
  std::lock_guard guard(g_lock);
  if (image != EGL_NO_IMAGE) images().insert({display, image});
  return image;
}

void image_destroyed(EGLDisplay display, EGLImage image) {
  for (auto& shared : shared_images())
    if (shared.display == display && shared.image == image) {
      shared.image = EGL_NO_IMAGE;
      engine().unshare_image(shared.pixels);
    }
}

EGLBoolean destroy_image(EGLDisplay display, EGLImage image, EGLBoolean (*destroy)(EGLDisplay, EGLImage)) {
  auto guard = shares_guard();
  bool known;
  {
    std::lock_guard held(g_lock);
    known = images().erase({display, image}) > 0;  // first: somebody may be given its handle at once
  }
  EGLBoolean destroyed = destroy(display, image);
  if (!destroyed && known) keep(display, image);
  if (destroyed && guard) image_destroyed(display, image);
  return theirs(destroyed);
}

}  // namespace

DT_EGL EGLBoolean eglTerminate(EGLDisplay display) {
  EGLBoolean ended = REAL(eglTerminate)(display);
  if (ended) {
    std::lock_guard guard(g_lock);
    std::erase_if(images(), [display](auto& known) { return known.first == display; });
  }
  if (ended && g_shares) display_ended(display);
  return theirs(ended);
}

DT_EGL EGLImage eglCreateImage(EGLDisplay display, EGLContext context, EGLenum target, EGLClientBuffer buffer,
                               const EGLAttrib* attributes) {
  EGLImage image;
  if (create_vg_image(display, context, target, buffer, attributes, image)) return keep(display, image);
  return theirs(keep(display, REAL(eglCreateImage)(display, context, target, buffer, attributes)));
}

DT_EGL EGLImageKHR eglCreateImageKHR(EGLDisplay display, EGLContext context, EGLenum target, EGLClientBuffer buffer,
                                     const EGLint* attributes) {
  EGLImage image;
  if (create_vg_image(display, context, target, buffer, attributes, image)) return keep(display, image);
  return theirs(keep(display, REAL(eglCreateImageKHR)(display, context, target, buffer, attributes)));
}

DT_EGL EGLImageKHR eglCreateDRMImageMESA(EGLDisplay display, const EGLint* attributes) {
  return theirs(keep(display, REAL(eglCreateDRMImageMESA)(display, attributes)));
}

DT_EGL EGLBoolean eglDestroyImage(EGLDisplay display, EGLImage image) {
  return destroy_image(display, image, REAL(eglDestroyImage));
}

DT_EGL EGLBoolean eglDestroyImageKHR(EGLDisplay display, EGLImageKHR image) {
  return destroy_image(display, image, REAL(eglDestroyImageKHR));
}

DT_EGL EGLBoolean eglDestroySurface(EGLDisplay display, EGLSurface surface) {
  EGLBoolean destroyed = REAL(eglDestroySurface)(display, surface);
  std::lock_guard guard(g_lock);
  auto it = surfaces().find({display, surface});
  if (destroyed && it != surfaces().end()) {
    if (it->second.pixels) engine().destroy_surface(it->second.pixels);
    surfaces().erase(it);
  }
  return theirs(destroyed);
}

DT_EGL EGLBoolean eglQuerySurface(EGLDisplay display, EGLSurface surface, EGLint attribute, EGLint* value) {
  if (attribute != EGL_VG_COLORSPACE && attribute != EGL_VG_ALPHA_FORMAT)
    return theirs(REAL(eglQuerySurface)(display, surface, attribute, value));
  std::lock_guard guard(g_lock);
  auto it = surfaces().find({display, surface});
  if (it == surfaces().end() || !value) return fail(EGL_BAD_SURFACE, (EGLBoolean)EGL_FALSE);
  if (attribute == EGL_VG_COLORSPACE)
    *value = it->second.linear ? EGL_VG_COLORSPACE_LINEAR : EGL_VG_COLORSPACE_sRGB;
  else
    *value = it->second.premultiplied ? EGL_VG_ALPHA_FORMAT_PRE : EGL_VG_ALPHA_FORMAT_NONPRE;
  return ok((EGLBoolean)EGL_TRUE);
}

DT_EGL EGLBoolean eglSwapBuffers(EGLDisplay display, EGLSurface surface) {
  exchange();
  if (!t_vg || t_current.context == EGL_NO_CONTEXT || t_current.surface != surface || t_current.display != display)
    return theirs(REAL(eglSwapBuffers)(display, surface));
  bool window = false;
  {
    std::lock_guard guard(g_lock);
    auto it = surfaces().find({display, surface});
    window = it != surfaces().end() && it->second.window;
  }
  return window ? swap_vg(display, surface) : ok((EGLBoolean)EGL_TRUE);  // pbuffers and pixmaps have nothing to swap
}

DT_EGL EGLBoolean eglSwapBuffersWithDamageKHR(EGLDisplay display, EGLSurface surface, const EGLint* rects,
                                              EGLint count) {
  if (t_vg && t_current.context != EGL_NO_CONTEXT) return eglSwapBuffers(display, surface);
  exchange();
  return theirs(REAL(eglSwapBuffersWithDamageKHR)(display, surface, rects, count));
}
DT_EGL EGLBoolean eglSwapBuffersWithDamageEXT(EGLDisplay display, EGLSurface surface, const EGLint* rects,
                                              EGLint count) {
  if (t_vg && t_current.context != EGL_NO_CONTEXT) return eglSwapBuffers(display, surface);
  exchange();
  return theirs(REAL(eglSwapBuffersWithDamageEXT)(display, surface, rects, count));
}

DT_EGL EGLBoolean eglWaitClient(void) {
  exchange();
  return t_vg ? ok((EGLBoolean)EGL_TRUE) : theirs(REAL(eglWaitClient)());  // OpenVG's calls are complete at once
}

DT_EGL EGLBoolean eglWaitGL(void) {
  EGLBoolean waited = REAL(eglWaitGL)();
  exchange();
  return theirs(waited);
}

DT_EGL EGLBoolean eglReleaseThread(void) {
  exchange();
  {
    std::lock_guard guard(g_lock);
    if (ContextInfo* old = context_of(t_current.context)) {
      old->current = 0;
      engine().make_current(nullptr, nullptr);
      let_go(t_current.context);
    }
    t_current = {};
    t_vg = false;
  }
  return theirs(REAL(eglReleaseThread)());
}

// ---- EGL_DRAWTAP_sensors: what the engine counted; after the instrumentation extension of Kyostila's thesis

DT_EGL EGLint eglGetSensorCountDRAWTAP(void) { return has_engine() ? engine().sensor_count() : 0; }
DT_EGL const char* eglGetSensorNameDRAWTAP(EGLint index) {
  return has_engine() ? engine().sensor_name(index) : nullptr;
}
DT_EGL const char* eglGetSensorDescriptionDRAWTAP(EGLint index) {
  return has_engine() ? engine().sensor_description(index) : nullptr;
}
// EGL_TRUE: a mean, to be read as a float.
DT_EGL EGLBoolean eglIsSensorMeanDRAWTAP(EGLint index) {
  return has_engine() && engine().sensor_is_mean(index) ? EGL_TRUE : EGL_FALSE;
}
DT_EGL EGLBoolean eglGetSensorFloatDRAWTAP(EGLint index, double* value) {
  std::lock_guard guard(g_lock);
  ContextInfo* info = context_of(t_current.context);
  if (!info) return fail(EGL_BAD_CONTEXT, (EGLBoolean)EGL_FALSE);
  if (!value || index < 0 || index >= engine().sensor_count()) return fail(EGL_BAD_PARAMETER, (EGLBoolean)EGL_FALSE);
  *value = engine().sensor_value(info->vg, index);
  return ok((EGLBoolean)EGL_TRUE);
}
DT_EGL EGLBoolean eglGetSensorIntegerDRAWTAP(EGLint index, int64_t* value) {
  double mean;
  if (!value) return fail(EGL_BAD_PARAMETER, (EGLBoolean)EGL_FALSE);
  if (!eglGetSensorFloatDRAWTAP(index, &mean)) return EGL_FALSE;
  *value = (int64_t)mean;
  return EGL_TRUE;
}
DT_EGL EGLBoolean eglResetSensorsDRAWTAP(void) {
  std::lock_guard guard(g_lock);
  ContextInfo* info = context_of(t_current.context);
  if (!info) return fail(EGL_BAD_CONTEXT, (EGLBoolean)EGL_FALSE);
  engine().reset_sensors(info->vg);
  return ok((EGLBoolean)EGL_TRUE);
}
// `what`: 0 colour (RGBA bytes), 1 mask (bytes). Bottom row first; good until the surface changes its size.
DT_EGL EGLBoolean eglGetSurfaceBytesDRAWTAP(EGLDisplay display, EGLSurface surface, EGLint what, void** bytes,
                                            EGLint* width, EGLint* height, EGLint* stride) {
  std::lock_guard guard(g_lock);
  auto it = surfaces().find({display, surface});
  if (it == surfaces().end() || !it->second.pixels) return fail(EGL_BAD_SURFACE, (EGLBoolean)EGL_FALSE);
  if (!bytes || !width || !height || !stride || what < 0 || what > 1)
    return fail(EGL_BAD_PARAMETER, (EGLBoolean)EGL_FALSE);
  *bytes = engine().surface_bytes(it->second.pixels, what, width, height, stride);
  return ok((EGLBoolean)EGL_TRUE);
}

DT_EGL __eglMustCastToProperFunctionPointerType eglGetProcAddress(const char* name) {
  using Function = __eglMustCastToProperFunctionPointerType;
  if (!name) return nullptr;
  if (!strncmp(name, "vg", 2) && has_engine())
    if (void* address = dlsym(engine().library, name)) return (Function)address;
  if (!strncmp(name, "egl", 3)) {
    static void* self = dlopen(own_path().c_str(), RTLD_LAZY | RTLD_NOLOAD);
    // Ours, unless it only jumps to a function that the system's EGL does not have.
    void* address = self ? dlsym(self, name) : nullptr;
    bool sensors = strlen(name) > 7 && !strcmp(name + strlen(name) - 7, "DRAWTAP");
    if (address && (sensors || (g_lookup && g_lookup(name)) || (g_system && dlsym(g_system, name))))
      return (Function)address;
  }
  return g_lookup ? g_lookup(name) : nullptr;
}
