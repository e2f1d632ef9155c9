#include "windows.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "metrics/session.h"
#include "observer.h"
#include "gl_enums.h"
#include "glx_enums.h"

namespace dt::play {

extern Player* g_player;

namespace {

constexpr int API_ES = EGL_OPENGL_ES_API, API_GL = EGL_OPENGL_API;
constexpr int MOST_PIXELS_A_SIDE = 16384;

int64_t element(std::string_view bytes, size_t i, size_t width) {
  if (width == 8) {
    int64_t v;
    memcpy(&v, bytes.data() + i * 8, 8);
    return v;
  }
  int32_t v;
  memcpy(&v, bytes.data() + i * 4, 4);
  return v;
}

bool has_word(const std::string& text, std::string_view word) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    size_t end = at + word.size();
    if ((at == 0 || text[at - 1] == ' ') && (end == text.size() || text[end] == ' ')) return true;
  }
  return false;
}

std::string hex(uint64_t v) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

}  // namespace

Text parse_attributes(std::string_view text) {
  Text found;
  while (!text.empty()) {
    size_t end = text.find(';');
    std::string_view part = text.substr(0, end);
    size_t equals = part.find('=');
    if (equals != part.npos) found[std::string(part.substr(0, equals))] = std::string(part.substr(equals + 1));
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
  }
  return found;
}

int NativeFact::number(const char* key, int otherwise) const {
  auto it = text.find(key);
  return it == text.end() || it->second.empty() ? otherwise : atoi(it->second.c_str());
}

uint64_t Call::arg(const char* name) const {
  const Field* f = field_of(function, name);
  return f ? columns.raw(*f, row) : 0;
}
uint64_t Call::result() const { return function.result ? columns.raw(*function.result, row) : 0; }
std::string_view Call::bytes(const char* name) const {
  const Field* f = field_of(function, name);
  if (!f || !f->has_data() || DT_DATA_KIND(columns.descriptor(*f, row)) != DT_DATA_INLINE) return {};
  return columns.payload(*f, row);
}
std::vector<int64_t> Call::list(const char* name) const {
  const Field* f = field_of(function, name);
  std::string_view content = bytes(name);
  std::vector<int64_t> found;
  if (!f) return found;
  size_t width = f->element == Element::attribs64 || f->element == Element::i64 || f->element == Element::u64 ? 8 : 4;
  size_t n = content.size() / width;
  for (size_t i = 0; i < n; ++i) found.push_back(element(content, i, width));
  if (found.size() % 2) found.pop_back();  // the terminator
  return found;
}

EGLDisplay open_display(void* x11) {
  EGLDisplay display = EGL_NO_DISPLAY;
  const char* client = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  std::string words = client ? client : "";
  const char* angle = getenv("DRAWTAP_PLAY_ANGLE");
  if (x11) {
    display = driver::eglGetPlatformDisplayEXT && has_word(words, "EGL_EXT_platform_x11")
                  ? driver::eglGetPlatformDisplayEXT(EGL_PLATFORM_X11_KHR, x11, nullptr)
                  : eglGetDisplay(reinterpret_cast<EGLNativeDisplayType>(x11));
  } else if (angle && driver::eglGetPlatformDisplayEXT) {
    // ANGLE needs to be told what it runs on: type and device.
    // EGL_ANGLE_platform_angle, which the registry of EGL does not have: Vulkan on SwiftShader.
    constexpr EGLint PLATFORM = 0x3202, TYPE = 0x3203, VULKAN = 0x3450, DEVICE = 0x3209, SWIFTSHADER = 0x3487;
    const EGLint on[] = {TYPE, VULKAN, DEVICE, SWIFTSHADER, EGL_NONE};
    display = driver::eglGetPlatformDisplayEXT(PLATFORM, EGL_DEFAULT_DISPLAY, on);
  } else if (!getenv("EGL_PLATFORM") && driver::eglGetPlatformDisplayEXT &&
             has_word(words, "EGL_MESA_platform_surfaceless")) {
    display = driver::eglGetPlatformDisplayEXT(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
  }
  if (display == EGL_NO_DISPLAY && !x11) display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
  if (display == EGL_NO_DISPLAY || !eglInitialize(display, nullptr, nullptr))
    throw Error(DT_E_ARGUMENT, "no EGL display here: EGL error " + hex(static_cast<uint64_t>(eglGetError())));
  return display;
}

std::string probe() {
  EGLDisplay display = open_display();
  std::string text = "{";
  static const struct {
    const char* key;
    EGLenum api;
    EGLint renderable, version;
  } tries[] = {{"es", EGL_OPENGL_ES_API, EGL_OPENGL_ES2_BIT, 2}, {"gl", EGL_OPENGL_API, EGL_OPENGL_BIT, 0}};
  std::string renderer;
  for (auto& t : tries) {
    const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, t.renderable, EGL_NONE};
    const EGLint version[] = {t.version ? EGL_CONTEXT_MAJOR_VERSION : EGL_NONE, t.version, EGL_NONE};
    const EGLint size[] = {EGL_WIDTH, 16, EGL_HEIGHT, 16, EGL_NONE};
    EGLConfig config = nullptr;
    EGLint count = 0;
    if (!eglBindAPI(t.api) || !eglChooseConfig(display, wanted, &config, 1, &count) || count < 1) continue;
    EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
    EGLSurface surface = eglCreatePbufferSurface(display, config, size);
    if (!context || !surface || !eglMakeCurrent(display, surface, surface, context)) continue;
    auto word = [&](uint32_t name) {
      const unsigned char* s = driver::glGetString ? driver::glGetString(name) : nullptr;
      return std::string(s ? reinterpret_cast<const char*>(s) : "");
    };
    renderer = word(GL_RENDERER);
    text += "\"" + std::string(t.key) + "\": " + json_text(word(GL_VERSION)) + ", ";
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  }
  if (text.size() == 1) return "{\"error\": \"the driver makes neither OpenGL ES 2 nor OpenGL contexts for pbuffers\"}";
  return text + "\"renderer\": " + json_text(renderer) + "}";
}

void list_metrics(FILE* to) {
  EGLDisplay display = open_display();
  // The newest OpenGL ES, and OpenGL as programs get it that ask for nothing.
  static const struct {
    EGLenum api;
    EGLint renderable, major, minor;
  } tries[] = {{EGL_OPENGL_ES_API, EGL_OPENGL_ES3_BIT, 3, 2},
               {EGL_OPENGL_ES_API, EGL_OPENGL_ES3_BIT, 3, 0},
               {EGL_OPENGL_ES_API, EGL_OPENGL_ES2_BIT, 2, 0},
               {EGL_OPENGL_API, EGL_OPENGL_BIT, 0, 0}};
  EGLenum done = 0;
  for (auto& t : tries) {
    if (done == t.api) continue;
    const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, t.renderable, EGL_NONE};
    const EGLint version[] = {t.major ? EGL_CONTEXT_MAJOR_VERSION : EGL_NONE, t.major, EGL_CONTEXT_MINOR_VERSION,
                              t.minor, EGL_NONE};
    const EGLint size[] = {EGL_WIDTH, 16, EGL_HEIGHT, 16, EGL_NONE};
    EGLConfig config = nullptr;
    EGLint count = 0;
    if (!eglBindAPI(t.api) || !eglChooseConfig(display, wanted, &config, 1, &count) || count < 1) continue;
    EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
    EGLSurface surface = eglCreatePbufferSurface(display, config, size);
    if (!context || !surface || !eglMakeCurrent(display, surface, surface, context)) continue;
    done = t.api;
    hook::after_eglCreateContext(&tls, display, config, EGL_NO_CONTEXT, version, context);
    hook::after_eglMakeCurrent(&tls, display, surface, surface, context, EGL_TRUE);
    const unsigned char* text = driver::glGetString ? driver::glGetString(GL_VERSION) : nullptr;
    metrics::set_current_context(context);
    metrics::list_backends(to, text ? reinterpret_cast<const char*>(text) : "");
    metrics::set_current_context(nullptr);
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    hook::after_eglMakeCurrent(&tls, display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT, EGL_TRUE);
  }
  if (!done) metrics::list_backends(to, "");
}

namespace {

// "red=8,depth=24": attributes of a configuration; throws for what is none.
std::map<std::string, int> config_words(std::string text) {
  std::map<std::string, int> found;
  if (text.empty()) return found;
  for (text += ','; !text.empty(); text.erase(0, text.find(',') + 1)) {
    std::string part = text.substr(0, text.find(','));
    size_t equals = part.find('=');
    std::string key = part.substr(0, equals);
    char* end = nullptr;
    long value = equals == part.npos ? -1 : strtol(part.c_str() + equals + 1, &end, 0);
    static const char* const keys[] = {"red", "green", "blue", "alpha", "depth", "stencil", "samples", "buffer", "id"};
    bool known = std::any_of(std::begin(keys), std::end(keys), [&](const char* k) { return key == k; });
    if (!known || value < 0 || value > 1 << 20 || !end || *end)
      throw Error(DT_E_ARGUMENT,
                  "--config: " + part +
                      " is not one of red, green, blue, alpha, depth, stencil, samples, buffer, id with a number");
    found[key] = static_cast<int>(value);
  }
  return found;
}

}  // namespace

Windows::Windows(Player& player) : player_(player), wanted_(config_words(player.options.config)) {
  if (player.options.x11) x11_ = std::make_unique<X11>();
  display_ = open_display(x11_ ? x11_->display() : nullptr);
  if (wanted_.contains("id")) {
    EGLint count = 0;
    const EGLint by_id[] = {EGL_CONFIG_ID, wanted_["id"], EGL_NONE};
    EGLConfig config = nullptr;
    if (!eglChooseConfig(display_, by_id, &config, 1, &count) || count < 1) {
      eglGetConfigs(display_, nullptr, 0, &count);
      throw Error(DT_E_ARGUMENT, "--config: there is no configuration " + hex(static_cast<uint64_t>(wanted_["id"])) +
                                     " here; there are " + std::to_string(count));
    }
  }
  // Attributes of native objects stand after the calls that made them: they are all read now.
  auto& trace = player.trace;
  for (size_t i = 0; i < trace.calls_chunks.size(); ++i) {
    auto& info = trace.calls_chunks[i];
    for (size_t f = 0; f < info.functions.size(); ++f)
      if (info.functions[f].function == (DT_FN_NATIVE | DT_RECORD_TAP)) read_facts(i, f);
  }
  std::stable_sort(facts_.begin(), facts_.end(), [](auto& a, auto& b) { return a.seq < b.seq; });
  std::unordered_set<uint64_t> sized;
  for (auto& f : facts_)
    if (f.kind == "window" || f.kind == "surface") sized.insert(f.handle);
  if (sized.size() < 2) return;
  // Several are shown in turn: it matters when each of them was.
  for (size_t i = 0; i < trace.calls_chunks.size(); ++i)
    for (size_t f = 0; f < trace.calls_chunks[i].functions.size(); ++f) {
      auto& entry = trace.calls_chunks[i].functions[f];
      auto* function = entry.tap() ? nullptr : trace.signatures.by_id(entry.id());
      if (function && function->flags & FLAG_FRAME_END) read_swaps(i, f);
    }
  for (auto& [handle, seqs] : swaps_) std::sort(seqs.begin(), seqs.end());
}

void Windows::read_facts(size_t chunk, size_t function) {
  auto& trace = player_.trace;
  auto& info = trace.calls_chunks[chunk];
  try {
    OpenChunk open(trace, chunk);
    auto& columns = open.columns(function);
    if (!columns.function) return;
    const Field *handle = field_of(*columns.function, "handle"), *kind = field_of(*columns.function, "kind"),
                *text = field_of(*columns.function, "text");
    if (!handle || !kind || !text || !kind->has_data() || !text->has_data()) return;
    auto& records = open.records_of(function);
    for (uint32_t r = 0; r < columns.count; ++r) {
      std::string_view name = columns.payload(*kind, r);
      if (name == "frame" || name == "driver" || name == "display") continue;
      NativeFact fact;
      fact.kind = name;
      fact.handle = columns.raw(*handle, r);
      uint32_t call = open.plain() ? records[r] : open.record_calls()[records[r]];
      bool end = call >= info.meta.calls;
      fact.seq = info.meta.calls ? trace.seq_of(chunk, end ? info.meta.calls - 1 : call) + end : info.base;
      if (DT_DATA_KIND(columns.descriptor(*text, r)) == DT_DATA_INLINE)
        fact.text = parse_attributes(columns.payload(*text, r));
      facts_.push_back(std::move(fact));
    }
  } catch (const std::exception&) {  // said when the chunk itself is played
  }
}

void Windows::read_swaps(size_t chunk, size_t function) {
  auto& trace = player_.trace;
  try {
    OpenChunk open(trace, chunk);
    auto& columns = open.columns(function);
    if (!columns.function) return;
    const Field* shown = field_of(*columns.function, "surface");
    if (!shown) shown = field_of(*columns.function, "drawable");
    if (!shown || shown->slot < 0) return;
    auto& records = open.records_of(function);
    for (uint32_t r = 0; r < columns.count; ++r)
      swaps_[columns.raw(*shown, r)].push_back(
          trace.seq_of(chunk, open.plain() ? records[r] : open.record_calls()[records[r]]));
  } catch (const std::exception&) {  // said when the chunk itself is played
  }
}

Windows::~Windows() {
  if (display_ == EGL_NO_DISPLAY) return;
  eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglTerminate(display_);
}

std::string Windows::engine() const {
  return engine_.empty() ? "EGL " + std::string(eglQueryString(display_, EGL_VERSION)) : engine_;
}

// The last fact before `seq` and the first one after it; `after`: which of the two is wanted rather.
const NativeFact* Windows::fact(const char* kind, uint64_t handle, uint64_t seq, bool after) const {
  const NativeFact *before = nullptr, *behind = nullptr;
  for (auto& f : facts_) {
    if (f.handle != handle || (kind ? f.kind != kind : f.kind != "window" && f.kind != "surface")) continue;
    if (f.seq <= seq)
      before = &f;
    else if (!behind)
      behind = &f;
  }
  return after ? (behind ? behind : before) : (before ? before : behind);
}

// The configuration here that is nearest to the recorded one. Fewer bits than wanted weigh more than too many.
EGLConfig Windows::choose(const NativeFact* recorded, int renderable, uint64_t seq) {
  static const struct {
    const char* key;
    EGLint name;
    int weight;
  } wanted[] = {{"red", EGL_RED_SIZE, 100},    {"green", EGL_GREEN_SIZE, 100}, {"blue", EGL_BLUE_SIZE, 100},
                {"alpha", EGL_ALPHA_SIZE, 60}, {"depth", EGL_DEPTH_SIZE, 20},  {"stencil", EGL_STENCIL_SIZE, 20},
                {"samples", EGL_SAMPLES, 40},  {"buffer", EGL_BUFFER_SIZE, 10}};
  auto key = std::make_pair(recorded ? recorded->handle : 0, renderable);
  if (auto it = configs_.find(key); it != configs_.end()) return it->second;
  EGLint count = 0;
  eglGetConfigs(display_, nullptr, 0, &count);
  std::vector<EGLConfig> all(static_cast<size_t>(count));
  eglGetConfigs(display_, all.data(), count, &count);
  // What was forced counts, then what was recorded; the size of the whole is asked for only where it is forced.
  auto wants = [&](const char* what, int otherwise, int have) {
    if (auto it = wanted_.find(what); it != wanted_.end()) return it->second;
    if (!strcmp(what, "buffer")) return have;
    return recorded ? recorded->number(what) : otherwise;
  };
  EGLConfig best = nullptr;
  long least = -1;
  for (EGLint i = 0; i < count; ++i) {
    auto get = [&](EGLint name) {
      EGLint v = 0;
      eglGetConfigAttrib(display_, all[static_cast<size_t>(i)], name, &v);
      return v;
    };
    if (wanted_.contains("id") ? get(EGL_CONFIG_ID) != wanted_["id"]
                               : !(get(EGL_SURFACE_TYPE) & EGL_PBUFFER_BIT) || !(get(EGL_RENDERABLE_TYPE) & renderable))
      continue;
    if (x11_ && !(get(EGL_SURFACE_TYPE) & EGL_WINDOW_BIT)) continue;
    if (get(EGL_COLOR_BUFFER_TYPE) != EGL_RGB_BUFFER) continue;
    long penalty = get(EGL_CONFIG_CAVEAT) == EGL_NONE ? 0 : 5;
    for (auto& w : wanted) {
      int otherwise =
          !strcmp(w.key, "red") || !strcmp(w.key, "green") || !strcmp(w.key, "blue") || !strcmp(w.key, "alpha") ? 8
          : !strcmp(w.key, "depth")                                                                             ? 24
                                                                                                                : 0;
      int have = get(w.name), want = wants(w.key, otherwise, have);
      penalty += (have < want ? 10L * (want - have) : have - want) * w.weight;
    }
    if (least < 0 || penalty < least) {
      least = penalty;
      best = all[static_cast<size_t>(i)];
    }
  }
  if (best && (recorded || !wanted_.empty())) {
    std::string differs;
    EGLint id = 0;
    eglGetConfigAttrib(display_, best, EGL_CONFIG_ID, &id);
    for (auto& w : wanted) {
      EGLint have = 0;
      eglGetConfigAttrib(display_, best, w.name, &have);
      int want = wants(w.key, have, have);
      if (have != want)
        differs += (differs.empty() ? "" : ", ") + std::string(w.key) + " " + std::to_string(have) + " for " +
                   std::to_string(want);
    }
    if (!differs.empty())
      player_.report("config", seq, "",
                     "the nearest configuration here" +
                         (wanted_.empty() ? "" : " (" + hex(static_cast<uint64_t>(id)) + ")") + " has " + differs);
    else if (!wanted_.empty())
      player_.report("config", seq, "", "the forced configuration " + hex(static_cast<uint64_t>(id)) + " is taken");
  }
  if (!best)
    player_.report("config", seq, "",
                   wanted_.empty() ? "no configuration here fits"
                                   : "the forced configuration does not fit the context's API" +
                                         std::string(x11_ ? " and a window" : ""));
  return configs_[key] = best;
}

// ---- contexts -----------------------------------------------------------------------------------

void Windows::add_context(uint64_t recorded, uint64_t share, uint64_t config, int api, std::vector<EGLint> attributes,
                          const Call& call) {
  if (!recorded) return;  // it failed there too
  int version = 1;
  for (size_t i = 0; i + 1 < attributes.size(); i += 2)
    if (attributes[i] == EGL_CONTEXT_MAJOR_VERSION) version = attributes[i + 1];
  int renderable = api == API_GL  ? EGL_OPENGL_BIT
                   : version >= 3 ? EGL_OPENGL_ES3_BIT
                   : version == 2 ? EGL_OPENGL_ES2_BIT
                                  : EGL_OPENGL_ES_BIT;
  auto context = std::make_shared<Context>();
  context->recorded = recorded;
  context->api = api;
  const NativeFact* about = config ? fact("config", config, call.seq, false) : nullptr;
  if (!about && config) about = fact("visual", config, call.seq, false);
  context->config = choose(about, renderable, call.seq);
  std::shared_ptr<Context> shared;
  if (auto it = contexts_.find(share); share && it != contexts_.end()) shared = it->second;
  if (share && !shared)
    player_.report("context", call.seq, call.function.name, "the context to share with is not known");
  context->group = shared ? shared->group : std::make_shared<Group>();
  eglBindAPI(static_cast<EGLenum>(api));
  attributes.push_back(EGL_NONE);
  std::vector<EGLint> plain;
  for (size_t i = 0; i + 1 < attributes.size(); i += 2)
    if (attributes[i] == EGL_CONTEXT_MAJOR_VERSION || attributes[i] == EGL_CONTEXT_MINOR_VERSION ||
        attributes[i] == EGL_CONTEXT_OPENGL_PROFILE_MASK)
      plain.insert(plain.end(), {attributes[i], attributes[i + 1]});
  plain.push_back(EGL_NONE);
  std::vector<EGLint> least;
  if (api == API_ES) least = {EGL_CONTEXT_MAJOR_VERSION, version};
  least.push_back(EGL_NONE);
  EGLContext with = shared ? shared->real : EGL_NO_CONTEXT;
  // A context of no configuration fits surfaces of all: with one of its own their surfaces would have to take that one.
  const char* extensions = config || !wanted_.empty() ? nullptr : eglQueryString(display_, EGL_EXTENSIONS);
  const EGLConfig of =
      extensions && strstr(extensions, "EGL_KHR_no_config_context") ? EGL_NO_CONFIG_KHR : context->config;
  const std::vector<EGLint>* tries[] = {&attributes, &plain, &least};
  std::vector<EGLint> debug = attributes;
  if (player_.options.debug) {
    // Drivers say more in a debug context. The flags of a recorded one have the bit already, or get it.
    debug.pop_back();
    bool has = false;
    for (size_t i = 0; i + 1 < debug.size(); i += 2)
      if (debug[i] == EGL_CONTEXT_FLAGS_KHR) has = true, debug[i + 1] |= 1;
    if (!has) debug.insert(debug.end(), {EGL_CONTEXT_OPENGL_DEBUG, EGL_TRUE});
    debug.push_back(EGL_NONE);
    context->real = eglCreateContext(display_, of, with, debug.data());
    if (!context->real)
      player_.report("context", call.seq, call.function.name,
                     "there are no debug contexts here: the driver may say less");
  }
  for (int i = 0; i < 3 && !context->real; ++i) {
    context->real = eglCreateContext(display_, of, with, tries[i]->data());
    if (context->real && i)
      player_.report("context", call.seq, call.function.name,
                     "some of the context's attributes do not exist here: left out");
  }
  if (!context->real) {
    player_.report("context", call.seq, call.function.name,
                   "the context cannot be made here: EGL error " + hex(static_cast<uint64_t>(eglGetError())) +
                       "; its calls are left out");
    return;
  }
  if (auto it = contexts_.find(recorded); it != contexts_.end()) gone_.push_back(it->second);
  hook::after_eglCreateContext(&tls, display_, of, with, attributes.data(), context->real);
  contexts_[recorded] = context;
}

// Where the EGL in front of the system's lets OpenVG and OpenGL see each other's work: the calls that do this are not
// all made here, and not where they were.
void Windows::exchange() {
  if (shares_vg_) eglWaitClient();
}
void Windows::wait(const Call&) { exchange(); }

void Windows::bind_api(const Call& call) {
  exchange();
  if (call.result()) apis_[player_.running_] = static_cast<int>(call.arg("api"));
}

void Windows::create_context(const Call& call) {
  std::vector<EGLint> attributes;
  auto list = call.list("attrib_list");
  for (int64_t v : list) attributes.push_back(static_cast<EGLint>(v));
  auto it = apis_.find(player_.running_);
  int api = it == apis_.end() ? API_ES : it->second;
  if (api == EGL_OPENVG_API) return vg_create_context(call);
  add_context(call.result(), call.arg("share_context"), call.arg("config"), api, std::move(attributes), call);
}

void Windows::glx_create_context(const Call& call) {
  std::vector<EGLint> attributes;
  int api = API_GL;
  auto list = call.list("attrib_list");
  for (size_t i = 0; i + 1 < list.size(); i += 2) {
    auto v = static_cast<EGLint>(list[i + 1]);
    switch (list[i]) {
      case GLX_CONTEXT_MAJOR_VERSION_ARB: attributes.insert(attributes.end(), {EGL_CONTEXT_MAJOR_VERSION, v}); break;
      case GLX_CONTEXT_MINOR_VERSION_ARB: attributes.insert(attributes.end(), {EGL_CONTEXT_MINOR_VERSION, v}); break;
      case GLX_CONTEXT_FLAGS_ARB: attributes.insert(attributes.end(), {EGL_CONTEXT_FLAGS_KHR, v}); break;
      case GLX_CONTEXT_PROFILE_MASK_ARB:
        if (v & 4)
          api = API_ES;
        else
          attributes.insert(attributes.end(), {EGL_CONTEXT_OPENGL_PROFILE_MASK, v});
        break;
      default: break;
    }
  }
  uint64_t share = 0;
  for (const char* name : {"shareList", "share_list", "share_context"})
    if (field_of(call.function, name)) share = call.arg(name);
  uint64_t config = field_of(call.function, "config") ? call.arg("config") : call.arg("vis");
  add_context(call.result(), share, config, api, std::move(attributes), call);
}

// ---- OpenVG -------------------------------------------------------------------------------------

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

// Whether the call was about OpenVG's context: by its handle, or by the API that is bound where it lets go.
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

// ---- surfaces -----------------------------------------------------------------------------------

void Windows::destroy(Surface& s) {
  eglDestroySurface(display_, s.real);
  if (s.shown) x11_->close(s.shown);
}

bool Windows::build(Surface& s) {
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
  // What OpenVG wants of a surface holds for the pbuffer that takes the window's place.
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

void Windows::resized(uint64_t handle, const Text& text) {
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
const Text* Windows::size_until(uint64_t handle, uint64_t begin, uint64_t end) const {
  // Where several windows are shown in turn, frames of one go on while those of another end.
  if (auto it = swaps_.find(handle); it != swaps_.end())
    if (auto swap = std::upper_bound(it->second.begin(), it->second.end(), begin); swap != it->second.end())
      end = *swap;
  const Text* found = nullptr;
  auto next = std::upper_bound(facts_.begin(), facts_.end(), begin,
                               [](uint64_t seq, const NativeFact& f) { return seq < f.seq; });
  for (; next != facts_.end() && next->seq <= end; ++next)
    if (next->handle == handle && (next->kind == "window" || next->kind == "surface")) found = &next->text;
  return found;
}

// A frame is drawn for the size that its window has when it ends; a new one that was noted late counts from here on.
void Windows::frame_begins(uint64_t begin, uint64_t end) {
  for (auto& thread : player_.threads_) {
    if (!thread->draw) continue;
    if (const Text* size = size_until(thread->draw, begin, end)) resized(thread->draw, *size);
    if (Surface* s = surface(thread->draw); s && s->late) rebuild(*s);
  }
}

// Drivers give a window its buffers when it becomes current, and ask for its size again when a frame has ended: what
// has another size at the end of its first frame was drawn with the one that it had before.
void Windows::size_noted(uint64_t handle, const Text& text) {
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

// ---- current ------------------------------------------------------------------------------------

bool Windows::visit(Context* context) {
  if (context->destroyed) return false;
  auto it = last_draw_.find(context);
  Surface* where = it == last_draw_.end() ? nullptr : surface(it->second);
  eglBindAPI(static_cast<EGLenum>(context->api));
  EGLSurface d = where ? where->real : EGL_NO_SURFACE;
  if (!eglMakeCurrent(display_, d, d, context->real)) return false;
  hook::after_eglMakeCurrent(&tls, display_, d, d, context->real, EGL_TRUE);
  return true;
}

bool Windows::bind(Context* context, Surface* draw, Surface* read) {
  Observer* observer = player_.observer_;
  if (observer) observer->leave();
  bool ok = bind_now(context, draw, read);
  if (ok && context && draw) last_draw_[context] = draw->recorded;
  if (observer) observer->enter(player_.context);
  return ok;
}

bool Windows::bind_now(Context* context, Surface* draw, Surface* read) {
  eglBindAPI(static_cast<EGLenum>(context ? context->api : API_ES));
  EGLSurface d = draw ? draw->real : EGL_NO_SURFACE, r = read ? read->real : d;
  EGLContext c = context ? context->real : EGL_NO_CONTEXT;
  if (!context) d = r = EGL_NO_SURFACE;
  EGLBoolean ok = eglMakeCurrent(display_, d, r, c);
  if (!ok) return false;
  hook::after_eglMakeCurrent(&tls, display_, d, r, c, ok);
  player_.context = context;
  if (context && !context->was_current) {
    context->was_current = true;
    if (player_.options.shift_names) shift_names();
    if (player_.options.debug) listen();
    if (x11_ && !player_.options.as_recorded) eglSwapInterval(display_, 0);
    if (engine_.empty() && driver::glGetString) {
      auto* renderer = reinterpret_cast<const char*>(driver::glGetString(GL_RENDERER));
      auto* version = reinterpret_cast<const char*>(driver::glGetString(GL_VERSION));
      if (renderer && version) engine_ = std::string(renderer) + ", " + version;
    }
    if (context->api == API_GL) {
      uint8_t value = 1;
      driver::glGetBooleanv(GL_DOUBLEBUFFER, &value);
      context->single_buffered = !value;
    }
  }
  return true;
}

// ---- what the driver says -----------------------------------------------------------------------

void Windows::listen() {
  bool es = player_.context->api == API_ES;
  GlContext* c = tls.context;
  bool has = c && (gl::has_extension(c, "GL_KHR_debug") || c->version >= (es ? 32u : 43u));
  auto& install = es ? driver::glDebugMessageCallbackKHR : driver::glDebugMessageCallback;
  auto& control = es ? driver::glDebugMessageControlKHR : driver::glDebugMessageControl;
  if (!has || !install || !control || !driver::glEnable)
    return player_.report("debug", player_.seq, "", "the driver has no GL_KHR_debug: it says nothing");
  install(reinterpret_cast<void*>(&Windows::message), this);
  control(GL_DONT_CARE, GL_DONT_CARE, GL_DONT_CARE, 0, nullptr, 1);
  driver::glEnable(GL_DEBUG_OUTPUT);
  driver::glEnable(GL_DEBUG_OUTPUT_SYNCHRONOUS);  // synchronous: in the call that it is about
}

void Windows::message(unsigned source, unsigned type, unsigned, unsigned severity, int length, const char* text,
                      const void* user) {
  // What the program itself says (groups, markers) is in the recording.
  if (source == GL_DEBUG_SOURCE_APPLICATION || source == GL_DEBUG_SOURCE_THIRD_PARTY || !text) return;
  auto& self = *static_cast<const Windows*>(user);
  static const char* const types[] = {"error",       "deprecated",  "undefined behaviour",
                                      "portability", "performance", "other"};
  static const char* const severities[] = {"high", "medium", "low"};
  std::string said =
      type >= GL_DEBUG_TYPE_ERROR && type <= GL_DEBUG_TYPE_OTHER ? types[type - GL_DEBUG_TYPE_ERROR] : "message";
  said += severity >= GL_DEBUG_SEVERITY_HIGH && severity <= GL_DEBUG_SEVERITY_LOW
              ? std::string(", ") + severities[severity - GL_DEBUG_SEVERITY_HIGH]
          : severity == GL_DEBUG_SEVERITY_NOTIFICATION ? ", notification"
                                                       : "";
  std::string words(text, length >= 0 ? static_cast<size_t>(length) : strlen(text));
  while (!words.empty() && (words.back() == '\n' || words.back() == 0)) words.pop_back();
  self.player_.report("debug", self.player_.seq, self.player_.running, said + ": " + words);
}

// Takes the first names of every kind away, so that the recording's are all different ones.
void Windows::shift_names() {
  using Make = driver::Function<void(int32_t, uint32_t*)>;
  static const Make makers[] = {
      driver::glGenTextures,        driver::glGenBuffers,          driver::glGenFramebuffers,
      driver::glGenRenderbuffers,   driver::glGenVertexArrays,     driver::glGenSamplers,
      driver::glGenQueries,         driver::glGenProgramPipelines, driver::glGenTransformFeedbacks,
      driver::glGenFramebuffersOES, driver::glGenRenderbuffersOES};
  uint32_t names[16];
  int count = 3;
  for (const Make& make : makers)
    if (make) make(count++, names);
  for (int i = 0; driver::glCreateShader && i < 5; ++i) driver::glCreateShader(GL_VERTEX_SHADER);
  if (driver::glGenLists && player_.context->api == API_GL) driver::glGenLists(9);
  // Not every context has all of these; its errors are ours alone.
  for (int i = 0; driver::glGetError && i < 16 && driver::glGetError(); ++i) {}
}

void Windows::current(uint64_t recorded, uint64_t draw, uint64_t read, const Call& call) {
  auto& thread = *player_.threads_[player_.running_];
  Context* context = nullptr;
  if (recorded) {
    auto it = contexts_.find(recorded);
    if (it != contexts_.end())
      context = it->second.get();
    else
      player_.report("context", call.seq, call.function.name, "the context " + hex(recorded) + " is not known");
  }
  Surface *d = surface(draw), *r = surface(read);
  if (context && d && !bind(context, d, r ? r : d) && eglGetError() == EGL_BAD_MATCH) {
    // The window was made for another configuration.
    player_.report(
        "config", call.seq, call.function.name,
        "context and surface do not fit together here: the surface gets the context's configuration, and may show other colors");
    d->config = context->config;
    Surface old = *d;
    if (build(*d)) destroy(old);
  }
  if (!bind(context, d, r ? r : d)) {
    player_.report("context", call.seq, call.function.name,
                   "the context cannot be made current: EGL error " + hex(static_cast<uint64_t>(eglGetError())));
    bind(nullptr, nullptr, nullptr);
    context = nullptr;
  }
  thread.context = context;
  thread.current = recorded;
  thread.draw = draw;
  thread.read = read;
  if (d && !d->drawn) d->drawn = true, d->first_seq = call.seq, d->first_end = player_.end_seq_;
}

void Windows::make_current(const Call& call) {
  exchange();
  if (call.result() && !vg_make_current(call)) current(call.arg("ctx"), call.arg("draw"), call.arg("read"), call);
}
void Windows::release_thread(const Call& call) {
  exchange();
  auto& thread = *player_.threads_[player_.running_];
  if (thread.vg) {
    thread.vg = nullptr;
    vg_bind(thread);
  }
  apis_.erase(player_.running_);
  current(0, 0, 0, call);
}

void Windows::glx_make_current(const Call& call) {
  if (!call.result()) return;
  uint64_t context = call.arg("ctx");
  bool one = field_of(call.function, "drawable") != nullptr;
  uint64_t draw = call.arg(one ? "drawable" : "draw"), read = one ? draw : call.arg("read");
  auto it = contexts_.find(context);
  for (uint64_t drawable : {draw, read}) {
    if (!drawable || surface(drawable) || it == contexts_.end()) continue;
    const NativeFact* about = fact(nullptr, drawable, call.seq, true);
    add_surface(drawable, it->second->config, about ? about->number("width") : 0, about ? about->number("height") : 0,
                true, {}, call);
  }
  current(context, draw, read, call);
}

void Windows::switch_to(Player::PlayerThread& thread) {
  if (!vg_contexts_.empty()) vg_bind(thread);
  if (!bind(thread.context, surface(thread.draw), surface(thread.read))) bind(nullptr, nullptr, nullptr);
}

void Windows::swap(const Call& call) {
  exchange();
  int width, height;
  if (shows_vg(width, height)) {
    Surface* window = x11_ ? surface(player_.threads_[player_.running_]->vg_draw) : nullptr;
    eglBindAPI(EGL_OPENVG_API);
    if (window && window->shown) eglSwapBuffers(display_, window->real);
    return;  // every call of OpenVG is complete: a pbuffer has nothing to swap
  }
  if (!player_.context) return;
  Surface* shown = x11_ ? surface(player_.threads_[player_.running_]->draw) : nullptr;
  if (shown && shown->shown) {
    eglSwapBuffers(display_, shown->real);
    if (x11_->close_wanted()) {
      player_.report("window", call.seq, call.function.name,
                     "the window was closed: the calls after this one were not played");
      player_.stop();
    }
    return;
  }
  // A pbuffer has nothing to swap; the driver is handed the frame all the same.
  if (driver::glFlush) driver::glFlush();
}

// ---- images and syncs ---------------------------------------------------------------------------

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
  auto it = contexts_.find(call.arg("ctx"));
  if (auto vg = vg_contexts_.find(call.arg("ctx"));
      target == EGL_VG_PARENT_IMAGE_KHR && vg != vg_contexts_.end() && driver::eglCreateImageKHR) {
    const uint32_t name = vg->second->objects->of(static_cast<uint32_t>(call.arg("buffer")));
    void* made =
        driver::eglCreateImageKHR(display_, vg->second->real, target,
                                  reinterpret_cast<EGLClientBuffer>(static_cast<uintptr_t>(name)), attributes.data());
    if (!made)
      return player_.report("image", call.seq, call.function.name,
                            "EGL error " + hex(static_cast<uint64_t>(eglGetError())));
    images_[call.result()] = made;
    shares_vg_ = true;
    return;
  }
  bool texture = target >= EGL_GL_TEXTURE_2D && target <= EGL_GL_TEXTURE_CUBE_MAP_NEGATIVE_Z,
       renderbuffer = target == EGL_GL_RENDERBUFFER;
  if (it == contexts_.end() || !driver::eglCreateImageKHR || !(texture || renderbuffer))
    return player_.report("image", call.seq, call.function.name, "images of target " + hex(target) + " are not played");
  uint32_t name =
      it->second->group->names[texture ? TEXTURE : RENDERBUFFER].of(static_cast<uint32_t>(call.arg("buffer")));
  void* made =
      driver::eglCreateImageKHR(display_, it->second->real, target,
                                reinterpret_cast<EGLClientBuffer>(static_cast<uintptr_t>(name)), attributes.data());
  if (!made)
    return player_.report("image", call.seq, call.function.name,
                          "EGL error " + hex(static_cast<uint64_t>(eglGetError())));
  images_[call.result()] = made;
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

// What the pixmap held stands behind the call, as the tap read it from the texture.
void Windows::glx_bind_tex_image(const Call& call) {
  const uint64_t drawable = call.arg("drawable");
  const NativeFact* about = nullptr;
  for (auto& f : facts_)
    if (f.seq > call.seq && f.handle == drawable && f.kind == "pixmap") {
      about = &f;
      break;
    }
  auto number = [&](const char* key) {
    auto found = about->text.find(key);
    return found == about->text.end() ? 0 : strtoll(found->second.c_str(), nullptr, 10);
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
