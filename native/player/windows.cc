#include "windows.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>

#include "../common/json.h"
#include "measures.h"
#include "observer.h"
#include "gl_enums.h"
#include "glx_enums.h"

namespace dt::play {

namespace {

bool has_word(const std::string& text, std::string_view word) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    size_t end = at + word.size();
    if ((at == 0 || text[at - 1] == ' ') && (end == text.size() || text[end] == ' ')) return true;
  }
  return false;
}

}  // namespace

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
  auto out = f ? columns.numbers(*f, row) : std::vector<int64_t>();
  if (out.size() % 2) out.pop_back();  // the terminator
  return out;
}

namespace {

bool is_set(const char* variable) {
  const char* value = getenv(variable);
  return value && *value;
}

// The display of an EGL device that is a GPU, initialised. Mesa's surfaceless platform would draw on the processor
// where another vendor has the GPU. The variables that choose one of Mesa's renderers, or a platform, are obeyed.
EGLDisplay display_of_device(const std::string& extensions) {
  const bool asked = is_set("EGL_PLATFORM") && !strcmp(getenv("EGL_PLATFORM"), "device");
  for (const char* chosen : {"LIBGL_ALWAYS_SOFTWARE", "GALLIUM_DRIVER", "MESA_LOADER_DRIVER_OVERRIDE", "EGL_PLATFORM"})
    if (is_set(chosen) && !asked) return EGL_NO_DISPLAY;
  if (!has_word(extensions, "EGL_EXT_platform_device") || !driver::eglGetPlatformDisplayEXT ||
      !driver::eglQueryDevicesEXT || !driver::eglQueryDeviceStringEXT)
    return EGL_NO_DISPLAY;
  std::array<EGLDeviceEXT, 64> devices = {};
  EGLint count = 0;
  if (!driver::eglQueryDevicesEXT(devices.size(), devices.data(), &count)) return EGL_NO_DISPLAY;
  const std::string number = is_set("DRAWTAP_EGL_DEVICE") ? getenv("DRAWTAP_EGL_DEVICE") : "";
  // GPUs come first. A processor counts where the user asks for devices.
  for (const bool software : {false, true})
    for (EGLint n = 0; n < count; n++) {
      const char* has = driver::eglQueryDeviceStringEXT(devices[n], EGL_EXTENSIONS);
      if (software != has_word(has ? has : "", "EGL_MESA_device_software")) continue;
      if (number.empty() ? software && !asked : number != std::to_string(n)) continue;
      EGLDisplay display = driver::eglGetPlatformDisplayEXT(EGL_PLATFORM_DEVICE_EXT, devices[n], nullptr);
      if (display != EGL_NO_DISPLAY && eglInitialize(display, nullptr, nullptr)) return display;
    }
  if (!number.empty())
    throw Error(DT_E_ARGUMENT, "DRAWTAP_EGL_DEVICE is '" + number + "': no device of that number works; EGL lists " +
                                   std::to_string(count) + ", the first is 0");
  return EGL_NO_DISPLAY;
}

}  // namespace

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
    // ANGLE needs the platform that it runs on: type and device. EGL_ANGLE_platform_angle, which the registry of EGL
    // does not have: Vulkan on SwiftShader.
    constexpr EGLint PLATFORM = 0x3202, TYPE = 0x3203, VULKAN = 0x3450, DEVICE = 0x3209, SWIFTSHADER = 0x3487;
    const EGLint on[] = {TYPE, VULKAN, DEVICE, SWIFTSHADER, EGL_NONE};
    display = driver::eglGetPlatformDisplayEXT(PLATFORM, EGL_DEFAULT_DISPLAY, on);
  } else if (display = display_of_device(words); display != EGL_NO_DISPLAY) {
    return display;
  } else if (!getenv("EGL_PLATFORM") && driver::eglGetPlatformDisplayEXT &&
             has_word(words, "EGL_MESA_platform_surfaceless")) {
    display = driver::eglGetPlatformDisplayEXT(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
  }
  if (display == EGL_NO_DISPLAY && !x11) display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
  if (display == EGL_NO_DISPLAY || !eglInitialize(display, nullptr, nullptr))
    throw Error(DT_E_ARGUMENT, "no EGL display here: EGL error " + hex(static_cast<uint64_t>(eglGetError())));
  return display;
}

namespace {

// With those that the driver brought along.
std::set<std::string> loaded_libraries() {
  std::set<std::string> paths;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path != line.npos && line.find(".so", path) != line.npos) paths.insert(line.substr(path));
  }
  return paths;
}

}  // namespace

// A small pbuffer with a context that is current, on a display and for an API; false: the driver makes none.
struct Tried {
  EGLConfig config = nullptr;
  EGLSurface surface = nullptr;
  EGLContext context = nullptr;
};
static bool make_current(EGLDisplay display, EGLenum api, EGLint renderable, const EGLint* version, Tried& to) {
  const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, renderable, EGL_NONE};
  const EGLint size[] = {EGL_WIDTH, 16, EGL_HEIGHT, 16, EGL_NONE};
  EGLint count = 0;
  if (!eglBindAPI(api) || !eglChooseConfig(display, wanted, &to.config, 1, &count) || count < 1) return false;
  to.context = eglCreateContext(display, to.config, EGL_NO_CONTEXT, version);
  to.surface = eglCreatePbufferSurface(display, to.config, size);
  return to.context && to.surface && eglMakeCurrent(display, to.surface, to.surface, to.context);
}

std::string probe() {
  EGLDisplay display = open_display();
  JsonObject answer;
  bool any = false;
  static const struct {
    const char* key;
    EGLenum api;
    EGLint renderable, version;
  } tries[] = {{"es", EGL_OPENGL_ES_API, EGL_OPENGL_ES2_BIT, 2}, {"gl", EGL_OPENGL_API, EGL_OPENGL_BIT, 0}};
  std::string renderer;
  for (auto& t : tries) {
    const EGLint version[] = {t.version ? EGL_CONTEXT_MAJOR_VERSION : EGL_NONE, t.version, EGL_NONE};
    Tried tried;
    if (!make_current(display, t.api, t.renderable, version, tried)) continue;
    auto word = [&](uint32_t name) {
      const unsigned char* s = driver::glGetString ? driver::glGetString(name) : nullptr;
      return std::string(s ? reinterpret_cast<const char*>(s) : "");
    };
    renderer = word(GL_RENDERER);
    answer.put(t.key, word(GL_VERSION));
    any = true;
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  }
  if (any)
    answer.put("renderer", renderer);
  else
    answer.put("error", "the driver makes neither OpenGL ES 2 nor OpenGL contexts for pbuffers");
  return answer.values("libraries", loaded_libraries()).str();
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
    const EGLint version[] = {t.major ? EGL_CONTEXT_MAJOR_VERSION : EGL_NONE, t.major, EGL_CONTEXT_MINOR_VERSION,
                              t.minor, EGL_NONE};
    Tried tried;
    if (!make_current(display, t.api, t.renderable, version, tried)) continue;
    done = t.api;
    hook::after_eglCreateContext(&tls, display, tried.config, EGL_NO_CONTEXT, version, tried.context);
    hook::after_eglMakeCurrent(&tls, display, tried.surface, tried.surface, tried.context, EGL_TRUE);
    const unsigned char* text = driver::glGetString ? driver::glGetString(GL_VERSION) : nullptr;
    list_metrics_of(tried.context, text ? reinterpret_cast<const char*>(text) : "", to);
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    hook::after_eglMakeCurrent(&tls, display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT, EGL_TRUE);
  }
  if (!done) list_metrics_of(nullptr, "", to);
}

namespace {

// "red=8,depth=24": attributes of a configuration; throws for what is none.
std::map<std::string, int> config_words(std::string text) {
  std::map<std::string, int> sizes;
  if (text.empty()) return sizes;
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
    sizes[key] = static_cast<int>(value);
  }
  return sizes;
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
      if (name == "frame" || name == "front" || name == "driver" || name == "display") continue;
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
  // A forced value counts, then the recorded one; a query gets the size of the whole only where it is forced.
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
  // An observer wants to know of a reset: most contexts are made without that.
  const auto strategy = std::find(attributes.begin(), attributes.end(), EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY);
  if (player_.options.heartbeat && !context->real && strategy == attributes.end()) {
    std::vector<EGLint> with_reset = attributes;
    with_reset.pop_back();
    with_reset.insert(with_reset.end(),
                      {EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY, EGL_LOSE_CONTEXT_ON_RESET, EGL_NONE});
    context->real = eglCreateContext(display_, of, with, with_reset.data());
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

// Where the EGL in front of the system's lets OpenVG and OpenGL see each other's work. The calls that do this are not
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
  if (context && draw) wipe(*draw, !context->was_current, context->api);
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
  // The program's own messages (groups, markers) are in the recording.
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
        "context and surface do not fit together here: the surface gets the context's configuration, and may show "
        "other colors");
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

}  // namespace dt::play
