// Displays, configurations, contexts and surfaces: EGL, whatever the recording had.
#include <algorithm>

#include "exporter.h"
#include "egl_enums.h"
#include "glx_enums.h"

namespace dt::c {
namespace {

int number(const Attributes& text, const char* key, int otherwise = 0) {
  auto it = text.find(key);
  return it == text.end() || it->second.empty() ? otherwise : atoi(it->second.c_str());
}

}  // namespace

// The first fact from `seq` on, else the last one before.
const Exporter::Fact* Exporter::fact(std::string_view kind, uint64_t handle, uint64_t seq) const {
  const Fact *before = nullptr, *after = nullptr;
  for (auto& f : facts_) {
    if (f.handle != handle || (kind.empty() ? f.kind != "window" && f.kind != "surface" : f.kind != kind)) continue;
    if (f.seq <= seq)
      before = &f;
    else if (!after)
      after = &f;
  }
  return after ? after : before;
}

std::string Exporter::config(uint64_t handle, uint64_t seq) {
  std::string name = names_.handle("config", "EGLConfig", handle, false);
  if (!configs_.insert(handle).second) return name;
  const Fact* about = fact("config", handle, seq);
  if (!about) about = fact("visual", handle, seq);
  static const std::pair<const char*, const char*> sizes[] = {
      {"red", "EGL_RED_SIZE"},     {"green", "EGL_GREEN_SIZE"}, {"blue", "EGL_BLUE_SIZE"},
      {"alpha", "EGL_ALPHA_SIZE"}, {"depth", "EGL_DEPTH_SIZE"}, {"stencil", "EGL_STENCIL_SIZE"},
      {"samples", "EGL_SAMPLES"}};
  std::string text;
  for (auto& [key, attribute] : sizes) {
    int otherwise = std::string_view(key) == "depth"                                           ? 24
                    : std::string_view(key) == "stencil" || std::string_view(key) == "samples" ? 0
                                                                                               : 8;
    text += std::string(attribute) + ", " + std::to_string(about ? number(about->text, key) : otherwise) + ", ";
  }
  static const std::pair<uint32_t, const char*> bits[] = {{1, "EGL_OPENGL_ES_BIT"},
                                                          {2, "EGL_OPENVG_BIT"},
                                                          {4, "EGL_OPENGL_ES2_BIT"},
                                                          {0x40, "EGL_OPENGL_ES3_BIT"},
                                                          {8, "EGL_OPENGL_BIT"}};
  std::string renderable;
  auto it = renderable_.find(handle);
  for (auto& [bit, word] : bits)
    if (it != renderable_.end() && it->second & bit) {
      renderable += (renderable.empty() ? "" : " | ") + std::string(word);
      enums_.emplace(word, bit);
    }
  line(name + " = host_config(display, (const EGLint[]){" + text + "EGL_RENDERABLE_TYPE, " +
       (renderable.empty() ? "EGL_OPENGL_ES2_BIT" : renderable) + ", EGL_NONE});");
  return name;
}

std::string Exporter::context_name(uint64_t handle) {
  return handle ? names_.handle("context", "EGLContext", handle, false) : "EGL_NO_CONTEXT";
}
std::string Exporter::surface_name(uint64_t handle) {
  return handle ? names_.handle("surface", "EGLSurface", handle, false) : "EGL_NO_SURFACE";
}

// Calls that let OpenVG and OpenGL see each other's work are not all made in the source, and not where they were.
void Exporter::exchange() {
  if (shares_images_ && !collecting_) line("eglWaitClient();");
}
bool Exporter::wait(const Call&) {
  exchange();
  return true;
}

bool Exporter::bind_api(const Call& call) {
  exchange();
  if (call.result()) threads_[call.thread].api = static_cast<uint32_t>(call.raw("api"));
  return true;
}

bool Exporter::create_context(const Call& call) {
  if (!call.result()) return true;  // it failed there too
  bool glx = call.function.api == "glx";
  uint32_t api = glx ? EGL_OPENGL_API : threads_[call.thread].api;
  auto attributes_there = list(call, "attrib_list");
  std::vector<int64_t> attributes_here;
  static const std::map<int64_t, int64_t> names_of_glx = {
      {GLX_CONTEXT_MAJOR_VERSION_ARB, EGL_CONTEXT_MAJOR_VERSION},
      {GLX_CONTEXT_MINOR_VERSION_ARB, EGL_CONTEXT_MINOR_VERSION},
      {GLX_CONTEXT_FLAGS_ARB, EGL_CONTEXT_FLAGS_KHR},
      {GLX_CONTEXT_PROFILE_MASK_ARB, EGL_CONTEXT_OPENGL_PROFILE_MASK}};
  if (!glx) attributes_here = attributes_there;
  for (size_t i = 0; glx && i + 1 < attributes_there.size(); i += 2) {
    const int64_t v = attributes_there[i + 1];
    if (attributes_there[i] == GLX_CONTEXT_PROFILE_MASK_ARB && v & 4)
      api = EGL_OPENGL_ES_API;
    else if (auto name = names_of_glx.find(attributes_there[i]); name != names_of_glx.end())
      attributes_here.insert(attributes_here.end(), {name->second, v});
  }
  uint64_t there = call.field("config") ? call.raw("config") : call.field("vis") ? call.raw("vis") : 0;
  context_apis_[call.result()] = api;
  context_configs_[call.result()] = there;
  if (collecting_) {
    int64_t version = 1;
    for (size_t i = 0; i + 1 < attributes_here.size(); i += 2)
      if (attributes_here[i] == EGL_CONTEXT_MAJOR_VERSION) version = attributes_here[i + 1];
    renderable_[there] |= api == EGL_OPENVG_API   ? 2
                          : api == EGL_OPENGL_API ? 8
                          : version >= 3          ? 0x40
                          : version == 2          ? 4
                                                  : 1;
    (api == EGL_OPENVG_API ? uses_vector_ : api == EGL_OPENGL_API ? uses_gl_ : uses_es_) = true;
    return true;
  }
  uint64_t share = 0;
  for (const char* name : {"share_context", "shareList", "share_list"})
    if (call.field(name)) share = call.raw(name);
  use_api(api);
  std::string chosen = config(there, call.seq);
  // Attribute names as EGL has them, also for what came from GLX.
  Field as_egl;
  if (const Function* f = trace_.signatures.by_name("eglCreateContext"))
    for (auto& p : f->params)
      if (p.has_data()) as_egl.data_group = p.data_group, as_egl.values = p.values;
  if (!as_egl.data_group) as_egl.data_group = trace_.signatures.group("EGLContextAttribute");
  std::string list_text = attributes_here.empty() ? "NULL" : attributes(as_egl, attributes_here, "EGLint");
  std::string shared = context_name(share);
  std::string name = names_.handle("context", "EGLContext", call.result(), true);
  // One of no configuration fits surfaces of all.
  if (!there) chosen = "host_no_config(display, " + chosen + ")";
  line(name + " = eglCreateContext(display, " + chosen + ", " + shared + ", " + list_text + ");");
  return true;
}

bool Exporter::destroy_context(const Call& call) {
  if (collecting_) return true;
  uint64_t handle = call.raw(call.field("ctx") ? "ctx" : "context");
  line("eglDestroyContext(display, " + context_name(handle) + ");");
  return true;
}

bool Exporter::create_window(const Call& call) {
  if (!call.result() || collecting_) return true;
  uint64_t handle = call.result();
  const Fact* about = fact("", handle, call.seq);
  int width = about ? number(about->text, "width") : 0, height = about ? number(about->text, "height") : 0;
  auto attributes_there = list(call, "attrib_list");
  for (size_t i = 0; call.function.api == "glx" && i + 1 < attributes_there.size(); i += 2) {
    if (attributes_there[i] == GLX_PBUFFER_WIDTH && width < 1) width = static_cast<int>(attributes_there[i + 1]);
    if (attributes_there[i] == GLX_PBUFFER_HEIGHT && height < 1) height = static_cast<int>(attributes_there[i + 1]);
  }
  if (width < 1 || height < 1) {
    if (call.function.api == "glx") return true;  // made when it becomes current
    width = 640;
    height = 480;
  }
  uint64_t there = call.field("config") ? call.raw("config") : call.field("visual") ? call.raw("visual") : 0;
  std::string chosen = config(there, call.seq);
  std::string name = names_.handle("surface", "EGLSurface", handle, true);
  surfaces_.insert(handle);
  bool pixmap = call.function.name.find("Pixmap") != std::string::npos;
  if (!pixmap) sizes_[handle] = {chosen, width, height};
  // OpenVG's demands on its window.
  int64_t space = 0, alpha = 0;
  for (size_t i = 0; call.function.api != "glx" && i + 1 < attributes_there.size(); i += 2) {
    if (attributes_there[i] == EGL_VG_COLORSPACE) space = attributes_there[i + 1];
    if (attributes_there[i] == EGL_VG_ALPHA_FORMAT) alpha = attributes_there[i + 1];
  }
  if (space || alpha) {
    sizes_.erase(handle);
    enums_.insert({{"EGL_VG_COLORSPACE_LINEAR", EGL_VG_COLORSPACE_LINEAR},
                   {"EGL_VG_COLORSPACE_sRGB", EGL_VG_COLORSPACE_sRGB},
                   {"EGL_VG_ALPHA_FORMAT_PRE", EGL_VG_ALPHA_FORMAT_PRE},
                   {"EGL_VG_ALPHA_FORMAT_NONPRE", EGL_VG_ALPHA_FORMAT_NONPRE}});
    return line(name + " = host_vector_window(display, " + chosen + ", " + std::to_string(width) + ", " +
                std::to_string(height) + ", " +
                (space == EGL_VG_COLORSPACE_LINEAR ? "EGL_VG_COLORSPACE_LINEAR" : "EGL_VG_COLORSPACE_sRGB") + ", " +
                (alpha == EGL_VG_ALPHA_FORMAT_PRE ? "EGL_VG_ALPHA_FORMAT_PRE" : "EGL_VG_ALPHA_FORMAT_NONPRE") + ");"),
           true;
  }
  line(name + (pixmap ? " = host_pixmap(display, " : " = host_window(display, ") + chosen + ", " +
       std::to_string(width) + ", " + std::to_string(height) + ");");
  return true;
}

bool Exporter::create_pbuffer(const Call& call) {
  if (!call.result() || collecting_) return true;
  std::string chosen = config(call.raw("config"), call.seq);
  std::string name = names_.handle("surface", "EGLSurface", call.result(), true);
  surfaces_.insert(call.result());
  const Field* f = call.field("attrib_list");
  line(name + " = eglCreatePbufferSurface(display, " + chosen + ", " +
       attributes(*f, list(call, "attrib_list"), "EGLint") + ");");
  return true;
}

bool Exporter::destroy_surface(const Call& call) {
  if (collecting_) return true;
  uint64_t handle = call.columns.raw(call.function.params[1], call.row);
  sizes_.erase(handle);
  if (surfaces_.erase(handle)) line("eglDestroySurface(display, " + surface_name(handle) + ");");
  return true;
}

void Exporter::use_api(uint32_t api) {
  if (emitted_api_ == api) return;
  line(api == EGL_OPENGL_API   ? "eglBindAPI(EGL_OPENGL_API);"
       : api == EGL_OPENVG_API ? "eglBindAPI(EGL_OPENVG_API);"
                               : "eglBindAPI(EGL_OPENGL_ES_API);");
  emitted_api_ = api;
}

void Exporter::emit_current(uint32_t thread, const Current& current) {
  auto api = context_apis_.find(current.context);
  if (current.context && api != context_apis_.end())
    use_api(api->second);
  else if (emitted_api_ == EGL_OPENVG_API)
    use_api(EGL_OPENGL_ES_API);  // OpenVG's stays
  line("eglMakeCurrent(display, " + surface_name(current.draw) + ", " + surface_name(current.read) + ", " +
       context_name(current.context) + ");" +
       (thread != emitted_thread_ ? " /* thread " + std::to_string(thread) + " */" : ""));
  emitted_ = current;
  emitted_thread_ = thread;
}

void Exporter::switch_to(uint32_t thread) {
  if (thread == emitted_thread_) return;
  const Current& current = threads_[thread].current;
  if (current == emitted_) {
    emitted_thread_ = thread;
    return;
  }
  emit_current(thread, current);
}

bool Exporter::make_current(const Call& call) {
  if (!call.result() && call.function.name != "eglReleaseThread") return true;
  exchange();
  Current wanted;
  if (call.function.name != "eglReleaseThread") {
    for (const char* name : {"draw", "drawable"})
      if (call.field(name)) wanted.draw = wanted.read = call.raw(name);
    if (call.field("read")) wanted.read = call.raw("read");
    wanted.context = call.raw("ctx");
  }
  if (!wanted.context) wanted = {};
  if (make_vector_current(call, wanted)) return true;
  threads_[call.thread].current = wanted;
  if (collecting_) return true;
  if (!wanted.context && call.thread != emitted_thread_ && emitted_.context) return true;  // another thread's stays
  if (call.function.api == "glx")
    for (uint64_t handle : {wanted.draw, wanted.read})
      if (handle && surfaces_.insert(handle).second) {
        const Fact* about = fact("", handle, call.seq);
        int width = about ? number(about->text, "width") : 0, height = about ? number(about->text, "height") : 0;
        auto there = context_configs_.find(wanted.context);
        std::string chosen = config(there == context_configs_.end() ? 0 : there->second, call.seq);
        std::string name = names_.handle("surface", "EGLSurface", handle, true);
        sizes_[handle] = {chosen, width > 0 ? width : 640, height > 0 ? height : 480};
        line(name + " = host_window(display, " + chosen + ", " + std::to_string(sizes_[handle].width) + ", " +
             std::to_string(sizes_[handle].height) + ");");
      }
  if (wanted == emitted_ && call.thread == emitted_thread_ && !wanted.context) return true;
  emit_current(call.thread, wanted);
  return true;
}

bool Exporter::swap(const Call& call) {
  if (collecting_) return true;
  uint64_t surface = call.field("surface") ? call.raw("surface") : call.field("drawable") ? call.raw("drawable") : 0;
  line("eglSwapBuffers(display, " + surface_name(surface) + ");");
  return true;
}

// ---- images and syncs ---------------------------------------------------------------------------

bool Exporter::create_image(const Call& call) {
  if (!call.result() || collecting_) return true;
  auto target = static_cast<uint32_t>(call.raw("target"));
  bool texture = target >= EGL_GL_TEXTURE_2D && target <= EGL_GL_TEXTURE_CUBE_MAP_NEGATIVE_Z,
       renderbuffer = target == EGL_GL_RENDERBUFFER, vector = target == EGL_VG_PARENT_IMAGE_KHR;
  if (!texture && !renderbuffer && !vector) {
    line("/* " + call.function.name + ": images of this target are left out */");
    return true;
  }
  std::string name = vector ? vector_image(call)
                            : name_of(call, texture ? "texture" : "renderbuffer", call.raw("buffer") & 0xffffffffu);
  shares_images_ = shares_images_ || vector;
  std::string image = names_.handle("image", "EGLImage", call.result(), true);
  bool wide = call.function.name == "eglCreateImage";
  const Field* f = call.field("attrib_list");
  auto attributes_there = list(call, "attrib_list");
  info(call.function).used = true;
  line(image + " = " + call.function.name + "(display, " + context_name(call.raw("ctx")) + ", " +
       enumerant(trace_.signatures.group("EGLImageTarget"), target) + ", (EGLClientBuffer)(size_t)" + name + ", " +
       (attributes_there.empty() ? "NULL" : attributes(*f, attributes_there, wide ? "EGLAttrib" : "EGLint")) + ");");
  return true;
}

bool Exporter::create_sync(const Call& call) {
  if (!call.result() || collecting_) return true;
  info(call.function).used = true;
  line(names_.handle("sync", "EGLSync", call.result(), true) + " = " + call.function.name +
       "(display, 0x30F9 /* EGL_SYNC_FENCE */, NULL);");
  return true;
}

// Functions of EGL whose second argument is an object of ours and whose others are numbers.
bool Exporter::use_handle(const Call& call) {
  if (collecting_) return true;
  info(call.function).used = true;
  std::string text = call.function.name + "(display";
  for (size_t i = 1; i < call.function.params.size(); ++i) {
    const Field& f = call.function.params[i];
    uint64_t raw = call.columns.raw(f, call.row);
    if (f.object_class == "surface")
      text += ", " + surface_name(raw);
    else
      text += ", " + scalar(call, f, raw);
  }
  line(text + ");");
  return true;
}

}  // namespace dt::c
