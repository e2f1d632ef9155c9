#include "natives.h"

#include <algorithm>

#include "gl.h"
#include "vg.h"
#include "egl_enums.h"
#include "glx_enums.h"

namespace dt::state {
namespace {

// Returns whether a field is a handle of the window system's side, and not a pointer to something.
bool is_handle(const Field& f) {
  if (f.has_data() || f.slot < 0) return false;
  if (f.kind == dt::Kind::handle) return true;
  for (const char* type :
       {"EGLDisplay", "EGLContext", "EGLSurface", "EGLConfig", "EGLImage", "EGLSync", "GLXContext", "GLXDrawable",
        "GLXFBConfig", "GLXWindow", "GLXPbuffer", "GLXPixmap", "Window", "Pixmap", "XVisualInfo"})
    if (f.ctype.find(type) != std::string::npos) return true;
  return false;
}

// The parameters and settings of surfaces, contexts and displays: state that no call reads.
class Describe {
 public:
  Describe(Machine& m, const Function& f, uint32_t does, const FunctionColumns& c, uint32_t row)
      : m_(m), f_(f), does_(does), c_(c), row_(row) {}
  void run() {
    const bool egl = f_.api == "egl";
    if (!egl && f_.api != "glx") return;
    uint64_t made = f_.result && f_.result->slot >= 0 ? c_.raw(*f_.result, row_) : 0;
    if (const char* kind = surface_kind()) {
      if (made) surface_made(made, kind);
    } else if (f_.flags & FLAG_CONTEXT && !(f_.flags & FLAG_DELETE)) {
      if (made) context_made(made);
    } else if (does_ & NATIVE_SURFACE_ATTRIBUTE) {
      if (Node* n = m_.surface(handle("surface"), false); n && made)
        attribute(n, static_cast<uint32_t>(value("attribute")), static_cast<int32_t>(value("value")));
    } else if (does_ & NATIVE_EVENTS_SELECTED) {
      if (Node* n = m_.surface(handle("draw"), false))
        attribute(n, GLX_EVENT_MASK, static_cast<int64_t>(value("event_mask")));
    } else if (does_ & NATIVE_TEXTURE_BOUND) {
      if (Node* n = m_.surface(handle(egl ? "surface" : "drawable"), false))
        m_.note(n, f_surface::bound_to_texture, Num(1));
    } else if (does_ & NATIVE_TEXTURE_RELEASED) {
      if (Node* n = m_.surface(handle(egl ? "surface" : "drawable"), false))
        m_.note(n, f_surface::bound_to_texture, Num(0));
    } else if (does_ & NATIVE_DRAWABLE_INTERVAL) {
      if (Node* n = m_.surface(handle("drawable")))
        m_.note(n, f_surface::swap_interval, Num(static_cast<int32_t>(value("interval"))));
    } else if (f_.flags & FLAG_SWAP_INTERVAL) {
      Context* context = m_.current();
      Node* n = context ? context->draw : nullptr;
      if (n) m_.note(n, f_surface::swap_interval, Num(static_cast<int32_t>(value("interval"))));
    } else if (f_.flags & FLAG_DELETE && !(f_.flags & FLAG_CONTEXT)) {
      for (const char* parameter : {"surface", "win", "pixmap", "pbuf"})
        if (Node* n = m_.surface(handle(parameter), false)) {
          m_.note(n, f_surface::destroyed, Num(1));
          run::vg_surface_left(m_, n);
        }
    } else if (f_.flags & FLAG_DELETE) {
      for (const char* parameter : {"ctx", "context"})
        if (Node* n = m_.find(m_.root(), c_root::made_contexts, handle(parameter)))
          m_.note(n, f_creation::destroyed, Num(1));
    } else if (does_ & NATIVE_DISPLAY_INITIALIZED && made) {
      Node* n = display(handle("dpy"));
      m_.note(n, f_display::initialized, Num(1));
      for (auto [parameter, field] : {std::pair{"major", f_display::major}, std::pair{"minor", f_display::minor}})
        if (auto numbers = list(parameter); !numbers.empty()) m_.note(n, field, Num(numbers[0]));
    } else if (does_ & NATIVE_DISPLAY_TERMINATED && made) {
      if (Node* n = m_.find(m_.root(), c_root::displays, handle("dpy"))) m_.note(n, f_display::initialized, Num(0));
    }
  }

  void image() {
    uint64_t made = f_.result && f_.result->slot >= 0 ? c_.raw(*f_.result, row_) : 0;
    if (!made) return;
    m_.images.erase(made);
    int64_t level = 0;
    auto attributes = list("attrib_list");
    for (size_t i = 0; i + 1 < attributes.size() && attributes[i] != EGL_NONE; i += 2)
      if (attributes[i] == EGL_GL_TEXTURE_LEVEL) level = attributes[i + 1];
    if (value("target") == EGL_VG_PARENT_IMAGE_KHR)
      return run::vg_image_shared(m_, m_.find(m_.root(), c_root::handles, made), handle("ctx"),
                                  value("buffer") & 0xffffffffu);
    run::image_made(m_, m_.find(m_.root(), c_root::handles, made), handle("ctx"),
                    static_cast<uint32_t>(value("target")), value("buffer") & 0xffffffffu, level);
  }

 private:
  const char* surface_kind() const {
    return does_ & NATIVE_WINDOW_SURFACE    ? "window"
           : does_ & NATIVE_PIXMAP_SURFACE  ? "pixmap"
           : does_ & NATIVE_PBUFFER_SURFACE ? "pbuffer"
                                            : nullptr;
  }
  const Field* field(const char* name) const {
    for (auto& p : f_.params)
      if (p.name == name) return &p;
    return nullptr;
  }
  uint64_t value(const char* name) const {
    const Field* p = field(name);
    return p && p->slot >= 0 ? c_.raw(*p, row_) : 0;
  }
  uint64_t handle(const char* name) const { return value(name); }
  // The numbers of an array that was recorded with the call.
  std::vector<int64_t> list(const char* name) const {
    const Field* p = field(name);
    return p ? c_.numbers(*p, row_) : std::vector<int64_t>();
  }
  void attribute(Node* n, uint32_t name, int64_t number) {
    int at = m_.field_of(n, prefix_none, name);
    if (n->cls == &g_classes[class_surface] && (name == EGL_WIDTH || name == GLX_PBUFFER_WIDTH)) at = f_surface::width;
    if (n->cls == &g_classes[class_surface] && (name == EGL_HEIGHT || name == GLX_PBUFFER_HEIGHT))
      at = f_surface::height;
    if (at >= 0) m_.note(n, static_cast<unsigned>(at), Num(number));
  }
  void attributes(Node* n) {
    for (const char* parameter : {"attrib_list", "attribList"}) {
      auto numbers = list(parameter);
      for (size_t i = 0; i + 1 < numbers.size() && numbers[i] != EGL_NONE && numbers[i]; i += 2)
        attribute(n, static_cast<uint32_t>(numbers[i]), numbers[i + 1]);
    }
  }
  void surface_made(uint64_t made, const char* kind) {
    Node* n = m_.surface(made, false);
    if (n && n->get(f_surface::destroyed)) n = nullptr, m_.make(m_.root(), c_root::surfaces, made);
    if (!n) n = m_.surface(made);
    m_.note_text(n, f_surface::kind, kind);
    m_.note(n, f_surface::config, Num(static_cast<int64_t>(value("config"))));
    attributes(n);
    if (does_ & NATIVE_CLIENT_BUFFER && value("buftype") == EGL_OPENVG_IMAGE)
      run::vg_surface_made(m_, n, static_cast<int64_t>(value("buffer")));
  }
  void context_made(uint64_t made) {
    Node* n = m_.find(m_.root(), c_root::made_contexts, made);
    if (n && n->get(f_creation::destroyed)) n = nullptr;
    if (!n) n = m_.make(m_.root(), c_root::made_contexts, made);
    m_.note_text(n, f_creation::made_by, f_.name);
    m_.note(n, f_creation::config, Num(static_cast<int64_t>(value("config"))));
    for (const char* parameter : {"share_context", "share_list", "shareList"})
      if (uint64_t of = value(parameter)) m_.note(n, f_creation::shared_with, Num(static_cast<int64_t>(of)));
    attributes(n);
    if (field("render_type")) m_.note(n, f_creation::GLX_RENDER_TYPE, Num(static_cast<int64_t>(value("render_type"))));
  }
  Node* display(uint64_t of) {
    Node* n = m_.find(m_.root(), c_root::displays, of);
    return n ? n : m_.make(m_.root(), c_root::displays, of);
  }
  Machine& m_;
  const Function& f_;
  const uint32_t does_;
  const FunctionColumns& c_;
  uint32_t row_;
};

// OpenVG and OpenGL see each other's work from these on: the EGL in front of the system's makes it so, first of all.
bool exchanges(const Function& f) { return f.flags & FLAG_EXCHANGE; }

Node* handle_of(Machine& m, uint64_t value) {
  if (!value) return nullptr;
  Node* n = m.find(m.root(), c_root::handles, value);
  return n ? n : m.make(m.root(), c_root::handles, value);
}

// The handles that a call gives out.
void make_handles(Machine& m, const Function& f, const FunctionColumns& c, uint32_t row) {
  using enum Touch;
  auto made = [&](uint64_t value) {
    if (!value) return;
    m.ended_handles.erase(value);
    // A display or a config is given out again and again: it stays what it is.
    bool again = !(f.flags & FLAG_CREATE);
    Node* n = again ? handle_of(m, value) : m.make(m.root(), c_root::handles, value);
    if (again) m.log(n->base, 1, write);
    m.set_text(n, f_handle::kind, f.name);
  };
  if (f.result && f.result->slot >= 0 && (is_handle(*f.result) || f.result->kind == dt::Kind::ptr))
    made(c.raw(*f.result, row));
  for (auto& p : f.params)
    if (p.out && p.element == Element::ptr && DT_DATA_KIND(c.descriptor(p, row)) == DT_DATA_INLINE) {
      auto bytes = c.payload(p, row);
      for (size_t i = 0; i + 8 <= bytes.size() && i < 8 * 1024; i += 8) {
        uint64_t value;
        memcpy(&value, bytes.data() + i, 8);
        made(value);
      }
    }
}

// A frame is shown.
void show(Machine& m, const Function& f, const FunctionColumns& c, uint32_t row, Node* thread) {
  // Shown is what stands in the surface.
  for (auto& p : f.params)
    if (is_handle(p))
      if (Node* s = m.surface(c.raw(p, row), false)) m.read(s, f_surface::color);
  m.read(thread, f_thread::swap_interval);
  if (m.vg_context()) {  // where both APIs draw, the one that is bound is what ends the frame
    if (m.current()) m.read(thread, f_thread::bound_api);
    m.read(thread, f_thread::vg_context);
    m.read(m.vg_context());
    run::vg_read_surface(m);
  }
  if (m.current()) {
    m.read(m.context());
    if (Node* s = m.current()->draw) m.read(s, f_surface::color);
  }
}

}  // namespace

void natives_call(Machine& m, const Function& f, uint32_t does, const FunctionColumns& c, uint32_t row) {
  using enum Touch;
  Node* root = m.root();
  auto handle = [&](uint64_t value) { return handle_of(m, value); };
  if (!m.vg_shared.empty() && exchanges(f)) run::vg_exchange(m);
  Describe description(m, f, does, c, row);
  description.run();
  bool ends = f.flags & FLAG_DELETE;
  const bool egl = f.api == "egl";
  const bool makes = f.flags & FLAG_CREATE || does & NATIVE_HANDLES_RETURNED;
  const bool changes = f.flags & FLAG_SWAP_INTERVAL || does & NATIVE_HANDLE_CHANGED;
  for (auto& p : f.params)
    if (is_handle(p))
      if (Node* n = handle(c.raw(p, row))) m.read_all(n);
  Node* thread = m.thread_ < m.threads_.size() ? m.threads_[m.thread_] : nullptr;
  auto number = [&](const char* name) -> int64_t {
    for (auto& p : f.params)
      if (p.name == name) return static_cast<int32_t>(c.raw(p, row));
    return 0;
  };
  if (does & NATIVE_API_BOUND) m.set(thread, f_thread::bound_api, Num(number("api")));
  if (f.flags & FLAG_SWAP_INTERVAL) m.set(thread, f_thread::swap_interval, Num(number("interval")));
  if (makes || changes) m.read(root, f_root::display_settings);
  if (thread && egl && f.flags & FLAG_CONTEXT && f.flags & FLAG_CREATE) {
    m.read(thread, f_thread::bound_api);
    if (uint64_t made = f.result && f.result->slot >= 0 ? c.raw(*f.result, row) : 0) {
      if (thread->get(f_thread::bound_api) == EGL_OPENVG_API)
        m.vg_handles.insert(made);
      else
        m.vg_handles.erase(made);
    }
  }
  if (changes)
    for (auto& p : f.params)
      if (is_handle(p))
        if (Node* n = handle(c.raw(p, row))) m.touch_content(n, f_handle::parameters);
  if (makes) make_handles(m, f, c, row);
  if (does & NATIVE_IMAGE_CREATED && f.result && f.result->slot >= 0) description.image();
  if (ends) {
    for (auto& p : f.params)
      if (is_handle(p) && p.ctype.find("Display") == p.ctype.npos)
        if (Node* n = m.find(root, c_root::handles, c.raw(p, row))) {
          m.remove(n);
          m.ended_handles.insert(n->key);
        }
    return;
  }
  if (f.flags & FLAG_MAKE_CURRENT && thread) {
    // OpenVG has a current context of its own. The bound API says which of the two is let go.
    uint64_t context = 0;
    for (auto& p : f.params)
      if (p.name == "ctx") context = c.raw(p, row);
    const bool bound = egl && thread->get(f_thread::bound_api) == EGL_OPENVG_API;
    const bool vector = context ? m.vg_handles.count(context) > 0 : bound;
    const auto current = static_cast<unsigned>(vector ? f_thread::vg_context : f_thread::context);
    if (context) {
      // Another thread must have let go of it: by the last that it made current.
      auto [it, first] = m.holders_.try_emplace(context, m.thread_);
      if (!first && it->second != m.thread_ && it->second < m.threads_.size()) m.read(m.threads_[it->second], current);
      it->second = m.thread_;
    } else if (egl) {
      m.read(thread, f_thread::bound_api);
    }
    m.log(thread->location(current), vector ? 2 : 4, write);
  }
  if (f.flags & FLAG_FRAME_END) show(m, f, c, row, thread);
}

}  // namespace dt::state
