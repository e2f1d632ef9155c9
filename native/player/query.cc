#include "query.h"

#include <algorithm>
#include <cstring>

#include "../common/json.h"
#include "../common/uniform_type.h"
#include "../core/text.h"
#include "../mirror/texture_targets.h"
#include "play.h"
#include "sizes.h"
#include "windows.h"
#include "gl_enums.h"

namespace dt::play {
namespace {

using gl::ask;

constexpr int MOST_VALUES = 4096, MOST_LEVELS = 20;

const char* const FACES[] = {"GL_TEXTURE_CUBE_MAP_POSITIVE_X", "GL_TEXTURE_CUBE_MAP_NEGATIVE_X",
                             "GL_TEXTURE_CUBE_MAP_POSITIVE_Y", "GL_TEXTURE_CUBE_MAP_NEGATIVE_Y",
                             "GL_TEXTURE_CUBE_MAP_POSITIVE_Z", "GL_TEXTURE_CUBE_MAP_NEGATIVE_Z"};

std::string enum_text(int table, uint32_t value) {
  auto name_in = [&](const EnumTable& t) -> const char* {
    auto* end = t.names + t.count;
    auto* at = std::lower_bound(t.names, end, value, [](const EnumName& n, uint32_t v) { return n.value < v; });
    return at != end && at->value == value ? at->name : nullptr;
  };
  const char* name = name_in(g_enum_tables[table]);
  if (name) return json_text(name);
  char text[16];
  snprintf(text, sizeof text, "0x%X", value);
  return json_text(text);
}

class Asker {
 public:
  Asker(Player& p, uint64_t seq, const char* wanted, FILE* to)
      : p_(p), seq_(seq), wanted_(wanted), to_(to), c_(tls.context) {}

  void run() {
    if (!c_ || !p_.context) return line("context", "null");
    if (c_->in_begin) return line("context.in_begin", "true");
    error_ = driver::glGetError;
    if (!error_) return;
    // Errors that the program has not read yet stay there for it.
    for (int i = 0; i < 8; ++i) {
      uint32_t e = error_();
      if (!e) break;
      p_.context->pending_errors.push_back(e);
    }
    legacy_ = c_->api == 1 ? !c_->core : c_->version < 20;
    strings();
    plain();
    indexed();
    // The next queries bind objects, which a display list in the making would take down.
    if (c_->api == 1 && !c_->core && integer(GL_LIST_INDEX)) return;
    units();
    if (legacy_) fixed_function();
    vertex_arrays();
    framebuffers();
    shared();
    ok();
  }

 private:
  void line(const std::string& path, const std::string& value) {
    if (!path.starts_with(wanted_) && *wanted_) return;
    std::string text;
    JsonWriter(text).list().value(seq_).value(path).value(value).end();
    fprintf(to_, "%s\n", text.c_str());
  }
  // Is anything under this path wanted?
  bool wanted(const std::string& path) const {
    size_t n = strlen(wanted_);
    return !n || path.compare(0, std::min(n, path.size()), wanted_, std::min(n, path.size())) == 0;
  }
  bool ok() {
    bool fine = true;
    for (int i = 0; i < 16 && error_(); ++i) fine = false;
    return fine;
  }
  int32_t integer(uint32_t pname, int32_t otherwise = 0) {
    int32_t v[64] = {otherwise};
    driver::glGetIntegerv(pname, v);
    return ok() ? v[0] : otherwise;
  }

  uint32_t recorded(int c, uint32_t real) {
    if (!real) return 0;
    Names& names = p_.names_of(c);
    if (names.identity()) return real;
    auto& back = back_[c];
    if (back.empty()) names.each([&](uint32_t was, uint32_t now) { back.emplace(now, was); });
    auto it = back.find(real);
    return it == back.end() ? real : it->second;
  }

  std::string value_of(const Query& q, const int32_t* v, int n) {
    std::vector<std::string> parts;
    for (int i = 0; i < n; ++i) {
      auto u = static_cast<uint32_t>(v[i]);
      switch (q.kind) {
        case K_BOOLEAN: parts.emplace_back(u ? "true" : "false"); break;
        case K_ENUM: parts.push_back(enum_text(q.table, surface_buffer(q, u))); break;
        case K_NAME: parts.push_back(std::to_string(recorded(q.table, u))); break;
        case K_UNSIGNED: parts.push_back(std::to_string(u)); break;
        default: parts.push_back(std::to_string(v[i])); break;
      }
    }
    return json_values(parts);
  }
  // A pbuffer has only a front buffer: it stands for the back buffer of a window.
  uint32_t surface_buffer(const Query& q, uint32_t value) const {
    bool buffer = (q.pname >= GL_DRAW_BUFFER0 && q.pname <= GL_DRAW_BUFFER15) || q.pname == GL_DRAW_BUFFER ||
                  q.pname == GL_READ_BUFFER;
    return buffer ? window_buffer(value) : value;
  }
  uint32_t window_buffer(uint32_t value) const {
    if (!p_.context->single_buffered) return value;
    return value == GL_FRONT         ? GL_BACK
           : value == GL_FRONT_LEFT  ? GL_BACK_LEFT
           : value == GL_FRONT_RIGHT ? GL_BACK_RIGHT
                                     : value;
  }
  static std::string floats(const float* v, int n) {
    std::vector<std::string> parts;
    for (int i = 0; i < n; ++i) parts.push_back(json_real(v[i]));
    return json_values(parts);
  }

  // One answer through functions (..., int*) and (..., float*); false: the context does not know the question.
  template <typename I, typename F> bool answer(const Query& q, const std::string& path, I&& integers, F&& reals) {
    int n = q.count ? q.count : static_cast<int>(std::clamp<int64_t>(size::get_count(q.pname), 0, MOST_VALUES));
    if (n == 0) return false;
    values_.assign(static_cast<size_t>(n) + 64, 0);
    if (q.kind == K_FLOAT) {
      auto* v = reinterpret_cast<float*>(values_.data());
      reals(v);
      if (!ok()) return false;
      line(path, floats(v, n));
    } else {
      integers(values_.data());
      if (!ok()) return false;
      line(path, value_of(q, values_.data(), n));
    }
    return true;
  }

  // Asks each question of this way once more that the context has not refused. `ask` returns false where it refuses
  // one.
  template <class F> void each_query(Way way, F&& ask) {
    auto& list = g_queries[way];
    auto& unknown = p_.unknown_queries[c_->id * WAYS + way];
    unknown.resize(list.count);
    for (unsigned i = 0; i < list.count; ++i)
      if (!unknown[i]) unknown[i] = !ask(list.queries[i]);
  }
  void ask_list(Way way, const std::string& prefix, auto&& integers, auto&& reals) {
    // Objects of these ways differ in the questions that they answer.
    const bool differ = way == ASK_ATTACHMENT || way == ASK_PROGRAM || way == ASK_LEVEL || way == ASK_TEXTURE;
    each_query(way, [&](const Query& q) {
      std::string path = prefix + q.name;
      if (!wanted(path)) return true;
      return answer(q, path, [&](int32_t* v) { integers(q.pname, v); }, [&](float* v) { reals(q.pname, v); }) || differ;
    });
  }
  void ask_list(Way way, const std::string& prefix, auto&& integers) {
    ask_list(way, prefix, integers, [](uint32_t, float*) {});
  }
  // An answer of the current context, by glGet.
  bool answer_current(const Query& q, const std::string& path) {
    return answer(
        q, path, [&](int32_t* v) { driver::glGetIntegerv(q.pname, v); },
        [&](float* v) { driver::glGetFloatv(q.pname, v); });
  }
  bool answer_long(const std::string& path, auto&& longs) {
    int64_t v[4] = {};
    longs(v);
    if (!ok()) return false;
    line(path, std::to_string(v[0]));
    return true;
  }
  // The driver's answer about a capability, which it has just given.
  bool answer_flag(const std::string& path, uint8_t on) {
    if (!ok()) return false;
    line(path, on ? "true" : "false");
    return true;
  }
  static std::string element(const char* list, uint32_t i) {
    return std::string(list) + "[" + std::to_string(i) + "].";
  }
  uint32_t limit(uint32_t pname, int32_t most) { return static_cast<uint32_t>(std::clamp(integer(pname), 0, most)); }

  void strings() {
    static const struct {
      uint32_t name;
      const char* path;
    } names[] = {{GL_VENDOR, "driver.GL_VENDOR"},
                 {GL_RENDERER, "driver.GL_RENDERER"},
                 {GL_VERSION, "driver.GL_VERSION"},
                 {GL_SHADING_LANGUAGE_VERSION, "driver.GL_SHADING_LANGUAGE_VERSION"}};
    for (auto& n : names) {
      const uint8_t* text = driver::glGetString ? driver::glGetString(n.name) : nullptr;
      if (text && ok()) line(n.path, json_text(reinterpret_cast<const char*>(text)));
    }
    ok();
  }

  void plain() {
    each_query(ASK_GET, [&](const Query& q) {
      std::string path = (q.limit ? "limits." : "context.") + std::string(q.name);
      if (!wanted(path)) return true;
      const bool is_long = q.kind == K_LONG && driver::glGetInteger64v && c_->version >= 30;
      const bool known = is_long ? answer_long(path, [&](int64_t* v) { driver::glGetInteger64v(q.pname, v); })
                                 : answer_current(q, path);
      return known || !q.count;  // a count that is 0 now may be another later
    });
    caps(ASK_ENABLED, "context.enabled.", driver::glIsEnabled);
  }

  void caps(Way way, const std::string& prefix, uint8_t (*is)(uint32_t)) {
    each_query(way, [&](const Query& q) {
      std::string path = prefix + q.name;
      return !wanted(path) || answer_flag(path, is(q.pname));
    });
  }

  void indexed() {
    if (!driver::glGetIntegeri_v || c_->version < 30) return;
    std::unordered_map<uint32_t, int32_t> limits;
    std::vector<uint8_t> empty;
    for (unsigned i = 0; i < g_indexed_count; ++i) {
      auto& each = g_indexed[i];
      const Query& q = each.query;
      if (!limits.contains(each.limit)) limits[each.limit] = std::clamp(integer(each.limit), 0, 1024);
      int32_t n = limits[each.limit];
      bool names = each.leader && q.kind == K_NAME;
      if (each.leader) empty.assign(static_cast<size_t>(n), 0);
      for (int32_t k = 0; k < n; ++k) {
        std::string path = std::string("context.") + q.name + "[" + std::to_string(k) + "]";
        if (empty[static_cast<size_t>(k)] || !wanted(path)) continue;
        bool known = true;
        auto index = static_cast<uint32_t>(k);
        if (names) {
          int32_t v[4] = {};
          driver::glGetIntegeri_v(q.pname, index, v);
          known = ok();
          empty[index] = !v[0];
          if (known && v[0]) line(path, value_of(q, v, 1));
        } else if (q.kind == K_LONG && driver::glGetInteger64i_v) {
          known = answer_long(path, [&](int64_t* v) { driver::glGetInteger64i_v(q.pname, index, v); });
        } else {
          known = answer(
              q, path, [&](int32_t* v) { driver::glGetIntegeri_v(q.pname, index, v); },
              [&](float* v) {
                if (driver::glGetFloati_v)
                  driver::glGetFloati_v(q.pname, index, v);
                else
                  driver::glGetIntegeri_v(0xFFFFFFFF, 0, reinterpret_cast<int32_t*>(v));
              });
        }
        if (!known) break;
      }
    }
    for (unsigned i = 0; driver::glIsEnabledi && i < g_indexed_enabled_count; ++i) {
      auto& each = g_indexed_enabled[i];
      for (int32_t k = 0, n = std::clamp(integer(each.limit), 0, 1024); k < n; ++k) {
        uint8_t on = driver::glIsEnabledi(each.query.pname, static_cast<uint32_t>(k));
        if (!answer_flag(std::string("context.enabled.") + each.query.name + "[" + std::to_string(k) + "]", on)) break;
      }
    }
  }

  // ---- texture units ----------------------------------------------------------------------------

  void units() {
    if (!wanted("context.texture_units[")) return;
    auto active = static_cast<uint32_t>(integer(GL_ACTIVE_TEXTURE, GL_TEXTURE0));
    int fixed = legacy_ ? integer(GL_MAX_TEXTURE_UNITS, 1) : 0,
        coordinates = legacy_ ? integer(GL_MAX_TEXTURE_COORDS, fixed) : 0;
    int n = std::clamp(std::max({integer(GL_MAX_COMBINED_TEXTURE_IMAGE_UNITS, 1), fixed, coordinates}), 1, 512);
    for (int u = 0; u < n; ++u) {
      auto unit = GL_TEXTURE0 + static_cast<uint32_t>(u);
      if (driver::glActiveTexture)
        driver::glActiveTexture(unit);
      else if (u)
        break;
      std::string prefix = element("context.texture_units", static_cast<uint32_t>(u));
      std::vector<std::pair<const Query*, int32_t>> bound;
      bool any = u == 0 || unit == active;
      each_query(ASK_UNIT, [&](const Query& q) {
        if (q.kind != K_NAME) return true;
        int32_t v[4] = {};
        driver::glGetIntegerv(q.pname, v);
        if (!ok()) return false;
        bound.emplace_back(&q, v[0]);
        any = any || v[0];
        return true;
      });
      if (any)
        for (auto& [q, v] : bound) line(prefix + q->name, value_of(*q, &v, 1));
      if (u < coordinates)
        each_query(ASK_UNIT, [&](const Query& q) {
          return q.kind != K_FLOAT || !wanted(prefix + q.name) || answer_current(q, prefix + q.name);
        });
      if (u < fixed) {
        caps(ASK_UNIT_ENABLED, prefix + "enabled.", driver::glIsEnabled);
        if (driver::glGetTexEnviv && driver::glGetTexEnvfv)
          ask_list(
              ASK_ENV, prefix + "env.",
              [&](uint32_t pname, int32_t* v) { driver::glGetTexEnviv(GL_TEXTURE_ENV, pname, v); },
              [&](uint32_t pname, float* v) { driver::glGetTexEnvfv(GL_TEXTURE_ENV, pname, v); });
        static const char* const axes[] = {"GL_S", "GL_T", "GL_R", "GL_Q"};
        for (uint32_t axis = 0; c_->api == 1 && driver::glGetTexGeniv && driver::glGetTexGenfv && axis < 4; ++axis)
          ask_list(
              ASK_GEN, prefix + "gen." + axes[axis] + ".",
              [&](uint32_t pname, int32_t* v) { driver::glGetTexGeniv(GL_S + axis, pname, v); },
              [&](uint32_t pname, float* v) { driver::glGetTexGenfv(GL_S + axis, pname, v); });
      }
    }
    if (driver::glActiveTexture) driver::glActiveTexture(active);
    // Arrays of texture coordinates have a selector of their own.
    if (coordinates && driver::glClientActiveTexture) {
      auto was = static_cast<uint32_t>(integer(GL_CLIENT_ACTIVE_TEXTURE, GL_TEXTURE0));
      for (int u = 0; u < coordinates; ++u) {
        driver::glClientActiveTexture(GL_TEXTURE0 + static_cast<uint32_t>(u));
        std::string prefix = element("context.texture_units", static_cast<uint32_t>(u));
        uint8_t on = driver::glIsEnabled(GL_TEXTURE_COORD_ARRAY);
        answer_flag(prefix + "enabled.GL_TEXTURE_COORD_ARRAY", on);
        ask_list(
            ASK_COORDINATES, prefix, [&](uint32_t pname, int32_t* v) { driver::glGetIntegerv(pname, v); },
            [&](uint32_t pname, float* v) { driver::glGetFloatv(pname, v); });
      }
      driver::glClientActiveTexture(was);
    }
    ok();
  }

  void fixed_function() {
    auto none = [](uint32_t, int32_t*) {};
    for (uint32_t i = 0, n = limit(GL_MAX_LIGHTS, 32); driver::glGetLightfv && i < n; ++i)
      ask_list(ASK_LIGHT, element("context.lights", i), none,
               [&](uint32_t pname, float* v) { driver::glGetLightfv(GL_LIGHT0 + i, pname, v); });
    for (uint32_t face = 0; driver::glGetMaterialfv && face < 2; ++face)
      ask_list(ASK_MATERIAL, std::string("context.materials.") + (face ? "GL_BACK." : "GL_FRONT."), none,
               [&](uint32_t pname, float* v) { driver::glGetMaterialfv(GL_FRONT + face, pname, v); });
    for (uint32_t i = 0, n = limit(GL_MAX_CLIP_DISTANCES, 32); i < n; ++i) {
      double d[4] = {};
      float f[4] = {};
      if (c_->api == 1 && driver::glGetClipPlane) {
        driver::glGetClipPlane(GL_CLIP_DISTANCE0 + i, d);
        for (int k = 0; k < 4; ++k) f[k] = static_cast<float>(d[k]);
      } else if (driver::glGetClipPlanef) {
        driver::glGetClipPlanef(GL_CLIP_DISTANCE0 + i, f);
      }
      if (ok()) line("context.clip_planes[" + std::to_string(i) + "]", floats(f, 4));
    }
  }

  // ---- objects of the context -------------------------------------------------------------------

  std::vector<std::pair<uint32_t, uint32_t>> objects(int c, const driver::Function<uint8_t(uint32_t)>& is,
                                                     std::initializer_list<uint32_t> bound) {
    std::vector<std::pair<uint32_t, uint32_t>> out;
    if (!is) return out;
    std::map<uint32_t, uint32_t> all;
    p_.names_of(c).each([&](uint32_t was, uint32_t now) { all.emplace(was, now); });
    for (uint32_t now : bound)
      if (now) all.emplace(recorded(c, now), now);
    for (auto& [was, now] : all)
      if (is(now) && ok()) out.emplace_back(was, now);
    ok();
    return out;
  }

  void vertex_arrays() {
    if (!driver::glGetVertexAttribiv || !driver::glGetVertexAttribfv || !driver::glGetVertexAttribPointerv ||
        c_->version < 20)
      return;
    auto attributes = limit(GL_MAX_VERTEX_ATTRIBS, 256);
    for (uint32_t i = 0; i < attributes; ++i) {
      if (i == 0 && legacy_) continue;  // it is no state there
      float v[4] = {};
      driver::glGetVertexAttribfv(i, GL_CURRENT_VERTEX_ATTRIB, v);
      if (ok()) line("context.attributes[" + std::to_string(i) + "].GL_CURRENT_VERTEX_ATTRIB", floats(v, 4));
    }
    if (!wanted("context.vertex_arrays[")) return;
    auto current = static_cast<uint32_t>(integer(GL_VERTEX_ARRAY_BINDING));
    auto all = objects(VERTEX_ARRAY, driver::glIsVertexArray, {current});
    bool zero = c_->api == 2 || !c_->core;
    if (zero) all.insert(all.begin(), {0, 0});
    auto bound = current;
    for (auto& [was, now] : all) {
      if (now != bound) {
        if (!driver::glBindVertexArray) continue;
        driver::glBindVertexArray(now);
        if (!ok()) continue;
        bound = now;
      }
      std::string prefix = element("context.vertex_arrays", was);
      line(prefix + "GL_ELEMENT_ARRAY_BUFFER_BINDING",
           std::to_string(recorded(BUFFER, static_cast<uint32_t>(integer(GL_ELEMENT_ARRAY_BUFFER_BINDING)))));
      for (uint32_t i = 0; i < attributes; ++i) {
        int32_t enabled = 0, buffer = 0;
        void* at = nullptr;
        driver::glGetVertexAttribiv(i, GL_VERTEX_ATTRIB_ARRAY_ENABLED, &enabled);
        driver::glGetVertexAttribiv(i, GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING, &buffer);
        driver::glGetVertexAttribPointerv(i, GL_VERTEX_ATTRIB_ARRAY_POINTER, &at);
        if (!ok() || (!enabled && !buffer && !at)) continue;  // as it was in the beginning
        std::string path = prefix + element("attributes", i);
        ask_list(
            ASK_ATTRIBUTE, path, [&](uint32_t pname, int32_t* v) { driver::glGetVertexAttribiv(i, pname, v); },
            [&](uint32_t pname, float* v) { driver::glGetVertexAttribfv(i, pname, v); });
        uint64_t address = buffer ? reinterpret_cast<uint64_t>(at) : p_.shadow.recorded(at);
        line(path + "GL_VERTEX_ATTRIB_ARRAY_POINTER", std::to_string(address));
      }
    }
    if (driver::glBindVertexArray &&
        integer(GL_VERTEX_ARRAY_BINDING, static_cast<int32_t>(current)) != static_cast<int32_t>(current))
      driver::glBindVertexArray(current);
    ok();
  }

  void framebuffers() {
    if (!wanted("context.framebuffers[")) return;
    bool two = c_->version >= 30;
    auto draw = static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING)),
         read = two ? static_cast<uint32_t>(integer(GL_READ_FRAMEBUFFER_BINDING)) : draw;
    auto all = objects(FRAMEBUFFER, driver::glIsFramebuffer, {draw, read});
    all.insert(all.begin(), {0, 0});
    uint32_t target = two ? GL_DRAW_FRAMEBUFFER : GL_FRAMEBUFFER;
    int colors = two || c_->api == 1 ? std::clamp(integer(GL_MAX_COLOR_ATTACHMENTS, 1), 1, 32) : 1,
        draws = c_->version >= 30 || c_->api == 1 ? std::clamp(integer(GL_MAX_DRAW_BUFFERS), 0, 32) : 0;
    for (auto& [was, now] : all) {
      if (driver::glBindFramebuffer) {
        driver::glBindFramebuffer(GL_FRAMEBUFFER, now);
        if (!ok()) continue;
      } else if (now != draw) {
        continue;
      }
      std::string prefix = element("context.framebuffers", was);
      // Without a surface there is no default framebuffer: the driver answers of none.
      if (draws && (now || driver::eglGetCurrentSurface(EGL_READ)))
        buffer_of(prefix + "GL_READ_BUFFER", GL_READ_BUFFER);
      if (now || driver::eglGetCurrentSurface(EGL_DRAW)) {
        for (int i = 0; i < draws; ++i)
          buffer_of(prefix + "GL_DRAW_BUFFER" + std::to_string(i), GL_DRAW_BUFFER0 + static_cast<uint32_t>(i));
      }
      if (!now || !driver::glGetFramebufferAttachmentParameteriv) continue;  // a window's attachments are no state
      for (int i = 0; i < colors + 2; ++i) {
        uint32_t point = i < colors    ? GL_COLOR_ATTACHMENT0 + static_cast<uint32_t>(i)
                         : i == colors ? GL_DEPTH_ATTACHMENT
                                       : GL_STENCIL_ATTACHMENT;
        std::string path = prefix +
                           (i < colors    ? "GL_COLOR_ATTACHMENT" + std::to_string(i)
                            : i == colors ? "GL_DEPTH_ATTACHMENT"
                                          : "GL_STENCIL_ATTACHMENT") +
                           ".";
        int32_t type = 0, name = 0;
        driver::glGetFramebufferAttachmentParameteriv(target, point, GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE, &type);
        if (!ok() || (!type && i && i < colors)) continue;
        line(path + "GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE", json_text(type == GL_TEXTURE        ? "GL_TEXTURE"
                                                                       : type == GL_RENDERBUFFER ? "GL_RENDERBUFFER"
                                                                                                 : "GL_NONE"));
        if (!type) continue;
        driver::glGetFramebufferAttachmentParameteriv(target, point, GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME, &name);
        if (ok())
          line(path + "GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME",
               std::to_string(recorded(type == GL_TEXTURE ? TEXTURE : RENDERBUFFER, static_cast<uint32_t>(name))));
        each_query(ASK_ATTACHMENT, [&](const Query& q) {
          if (q.pname == GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME) return true;
          int32_t v[4] = {};
          driver::glGetFramebufferAttachmentParameteriv(target, point, q.pname, v);
          if (ok() && !(q.kind == K_ENUM && !v[0])) line(path + q.name, value_of(q, v, 1));
          return true;
        });
      }
    }
    if (driver::glBindFramebuffer) {
      driver::glBindFramebuffer(two ? GL_DRAW_FRAMEBUFFER : GL_FRAMEBUFFER, draw);
      if (two) driver::glBindFramebuffer(GL_READ_FRAMEBUFFER, read);
    }
    ok();
  }
  void buffer_of(const std::string& path, uint32_t pname) {
    int32_t v[4] = {};
    driver::glGetIntegerv(pname, v);
    if (!ok()) return;
    const uint32_t value = window_buffer(static_cast<uint32_t>(v[0]));
    line(path, value ? enum_text(g_draw_buffers, value) : json_text("GL_NONE"));
  }

  // ---- objects of the share group ---------------------------------------------------------------

  void shared() {
    if (wanted("share.buffers[")) buffers();
    if (wanted("share.textures[")) textures();
    if (wanted("share.renderbuffers[")) renderbuffers();
    if (driver::glGetSamplerParameteriv && driver::glGetSamplerParameterfv && c_->version >= 30)
      for (auto& [was, now] : objects(SAMPLER, driver::glIsSampler, {}))
        ask_list(
            ASK_SAMPLER, element("share.samplers", was),
            [&, s = now](uint32_t pname, int32_t* v) { driver::glGetSamplerParameteriv(s, pname, v); },
            [&, s = now](uint32_t pname, float* v) { driver::glGetSamplerParameterfv(s, pname, v); });
    if (driver::glGetProgramPipelineiv && c_->version >= 31)
      for (auto& [was, now] : objects(PIPELINE, driver::glIsProgramPipeline, {}))
        ask_list(ASK_PIPELINE, element("context.pipelines", was),
                 [&, o = now](uint32_t pname, int32_t* v) { driver::glGetProgramPipelineiv(o, pname, v); });
    if (c_->version >= 20) programs();
  }

  void buffers() {
    if (!driver::glBindBuffer || !driver::glGetBufferParameteriv) return;
    uint32_t target = c_->version >= 31 || (c_->api == 2 && c_->version >= 30) ? GL_COPY_READ_BUFFER : GL_ARRAY_BUFFER,
             name = target == GL_COPY_READ_BUFFER ? GL_COPY_READ_BUFFER_BINDING : GL_ARRAY_BUFFER_BINDING;
    auto bound = static_cast<uint32_t>(integer(name));
    for (auto& [was, now] :
         objects(BUFFER, driver::glIsBuffer, {bound, static_cast<uint32_t>(integer(GL_ARRAY_BUFFER_BINDING))})) {
      driver::glBindBuffer(target, now);
      if (!ok()) continue;
      std::string prefix = element("share.buffers", was);
      ask_list(ASK_BUFFER, prefix, [&](uint32_t pname, int32_t* v) {
        if (driver::glGetBufferParameteri64v && c_->version >= 32) {
          int64_t l = 0;
          driver::glGetBufferParameteri64v(target, pname, &l);
          v[0] = static_cast<int32_t>(l);
        } else {
          driver::glGetBufferParameteriv(target, pname, v);
        }
      });
    }
    driver::glBindBuffer(target, bound);
    ok();
  }

  void renderbuffers() {
    if (!driver::glBindRenderbuffer || !driver::glGetRenderbufferParameteriv) return;
    auto bound = static_cast<uint32_t>(integer(GL_RENDERBUFFER_BINDING));
    for (auto& [was, now] : objects(RENDERBUFFER, driver::glIsRenderbuffer, {bound})) {
      driver::glBindRenderbuffer(GL_RENDERBUFFER, now);
      if (!ok()) continue;
      ask_list(ASK_RENDERBUFFER, element("share.renderbuffers", was),
               [&](uint32_t pname, int32_t* v) { driver::glGetRenderbufferParameteriv(GL_RENDERBUFFER, pname, v); });
    }
    driver::glBindRenderbuffer(GL_RENDERBUFFER, bound);
    ok();
  }

  void textures() {
    if (!driver::glBindTexture || !driver::glGetTexParameteriv || !driver::glGetTexParameterfv) return;
    bool levels = driver::glGetTexLevelParameteriv && (c_->api == 1 || c_->version >= 31);
    std::map<const gl::TextureTarget*, uint32_t> before;
    for (auto& t : gl::TEXTURE_TARGETS) {
      auto v = static_cast<uint32_t>(integer(t.binding, -1));
      if (v != ~0u) before[&t] = v;
    }
    std::vector<std::pair<uint32_t, uint32_t>> all = objects(TEXTURE, driver::glIsTexture, {});
    for (auto& [t, name] : before)
      if (name && std::none_of(all.begin(), all.end(), [n = name](auto& o) { return o.second == n; }))
        all.emplace_back(recorded(TEXTURE, name), name);
    for (auto& [was, now] : all) {
      const gl::TextureTarget* target = nullptr;
      for (auto& t : gl::TEXTURE_TARGETS) {
        if (!before.contains(&t)) continue;
        driver::glBindTexture(t.target, now);
        if (ok()) {
          target = &t;
          break;
        }
      }
      if (!target) continue;
      std::string prefix = element("share.textures", was);
      line(prefix + "target", json_text(target->name));
      bool sampled = target->target != GL_TEXTURE_BUFFER;
      if (sampled)
        ask_list(
            ASK_TEXTURE, prefix,
            [&](uint32_t pname, int32_t* v) { driver::glGetTexParameteriv(target->target, pname, v); },
            [&](uint32_t pname, float* v) { driver::glGetTexParameterfv(target->target, pname, v); });
      bool cube = target->target == GL_TEXTURE_CUBE_MAP;
      for (uint32_t face = 0; levels && face < (cube ? 6u : 1u); ++face) {
        uint32_t at = cube ? GL_TEXTURE_CUBE_MAP_POSITIVE_X + face : target->target;
        for (int l = 0; l < MOST_LEVELS; ++l) {
          int32_t width = 0;
          driver::glGetTexLevelParameteriv(at, l, GL_TEXTURE_WIDTH, &width);
          if (!ok() || !width) break;
          std::string path =
              prefix + (cube ? std::string(FACES[face]) + "." : "") + "levels[" + std::to_string(l) + "].";
          ask_list(ASK_LEVEL, path,
                   [&](uint32_t pname, int32_t* v) { driver::glGetTexLevelParameteriv(at, l, pname, v); });
          if (target->target == GL_TEXTURE_2D_MULTISAMPLE || target->target == GL_TEXTURE_2D_MULTISAMPLE_ARRAY ||
              !sampled)
            break;
        }
      }
      driver::glBindTexture(target->target, before[target]);
    }
    ok();
  }

  void programs() {
    if (!driver::glGetShaderiv || !driver::glGetProgramiv || !driver::glGetAttachedShaders) return;
    if (wanted("share.shaders["))
      for (auto& [was, now] : objects(PROGRAM, driver::glIsShader, {}))
        ask_list(ASK_SHADER, element("share.shaders", was),
                 [&, o = now](uint32_t pname, int32_t* v) { driver::glGetShaderiv(o, pname, v); });
    if (!wanted("share.programs[")) return;
    for (auto& [was, now] :
         objects(PROGRAM, driver::glIsProgram, {static_cast<uint32_t>(integer(GL_CURRENT_PROGRAM))})) {
      std::string prefix = element("share.programs", was);
      if (!wanted(prefix)) continue;
      ask_list(ASK_PROGRAM, prefix, [&, o = now](uint32_t pname, int32_t* v) { driver::glGetProgramiv(o, pname, v); });
      uint32_t names[32];
      int32_t count = 0;
      driver::glGetAttachedShaders(now, 32, &count, names);
      if (ok()) {
        std::vector<uint32_t> list;
        for (int32_t i = 0; i < count; ++i) list.push_back(recorded(PROGRAM, names[i]));
        std::sort(list.begin(), list.end());
        std::string text;
        JsonWriter(text).values(list);
        line(prefix + "shaders", text);
      }
      int32_t linked = 0;
      driver::glGetProgramiv(now, GL_LINK_STATUS, &linked);
      if (linked) interface(now, prefix);
      ok();
    }
  }

  void interface(uint32_t program, const std::string& prefix) {
    auto active = driver::glGetActiveUniform;
    auto input = driver::glGetActiveAttrib;
    if (!active || !input || !driver::glGetUniformLocation || !driver::glGetAttribLocation) return;
    int32_t count = 0, length = 0, size = 0;
    uint32_t type = 0;
    char name[1024];
    driver::glGetProgramiv(program, GL_ACTIVE_UNIFORMS, &count);
    for (int32_t i = 0; i < count; ++i) {
      active(program, static_cast<uint32_t>(i), sizeof name, &length, &size, &type, name);
      if (!ok()) continue;
      std::string base = name;
      bool array = base.ends_with("[0]");
      if (array) base.resize(base.size() - 3);
      for (int32_t k = 0; k < std::max(size, 1) && k < 65536; ++k) {
        std::string each = array || size > 1 ? base + "[" + std::to_string(k) + "]" : base;
        int32_t at = driver::glGetUniformLocation(program, each.c_str());
        if (!ok() || at < 0) break;  // in a block, or the driver's own
        uniform(program, at, type, prefix + "uniforms[" + json_text(each) + "]");
      }
    }
    count = 0;
    driver::glGetProgramiv(program, GL_ACTIVE_ATTRIBUTES, &count);
    for (int32_t i = 0; i < count; ++i) {
      input(program, static_cast<uint32_t>(i), sizeof name, &length, &size, &type, name);
      if (!ok()) continue;
      int32_t at = driver::glGetAttribLocation(program, name);
      if (ok() && at >= 0) line(prefix + "attributes[" + json_text(name) + "]", std::to_string(at));
    }
    count = 0;
    if (c_->version >= 30 && driver::glGetActiveUniformBlockName && driver::glGetActiveUniformBlockiv)
      driver::glGetProgramiv(program, GL_ACTIVE_UNIFORM_BLOCKS, &count);
    if (!ok()) count = 0;
    for (int32_t i = 0; i < count; ++i) {
      auto index = static_cast<uint32_t>(i);
      driver::glGetActiveUniformBlockName(program, index, sizeof name, &length, name);
      if (!ok()) continue;
      ask_list(ASK_BLOCK, prefix + "uniform_blocks[" + json_text(name) + "].",
               [&](uint32_t pname, int32_t* v) { driver::glGetActiveUniformBlockiv(program, index, pname, v); });
    }
  }

  void uniform(uint32_t program, int32_t at, uint32_t type, const std::string& path) {
    if (!wanted(path)) return;
    const UniformType t = uniform_type(type);
    std::vector<std::string> parts;
    if (t.of == 'f') {
      float v[16] = {};
      if (driver::glGetUniformfv) driver::glGetUniformfv(program, at, v);
      for (int i = 0; i < t.values(); ++i) parts.push_back(json_real(v[i]));
    } else if (t.of == 'd') {
      double v[16] = {};
      if (driver::glGetUniformdv) driver::glGetUniformdv(program, at, v);
      for (int i = 0; i < t.values(); ++i) parts.push_back(json_real(v[i]));
    } else {
      int32_t v[16] = {};
      if (driver::glGetUniformiv) driver::glGetUniformiv(program, at, v);
      for (int i = 0; i < t.values(); ++i)
        parts.push_back(t.of == 'b'   ? (v[i] ? "true" : "false")
                        : t.of == 'u' ? std::to_string(static_cast<uint32_t>(v[i]))
                                      : std::to_string(v[i]));
    }
    if (ok()) line(path, json_values(parts));
  }

  Player& p_;
  uint64_t seq_;
  const char* wanted_;
  FILE* to_;
  GlContext* c_;
  bool legacy_ = false;
  uint32_t (*error_)() = nullptr;
  std::unordered_map<uint32_t, uint32_t> back_[CLASS_COUNT];
  std::vector<int32_t> values_;
};

}  // namespace

void query_state(Player& player, uint64_t seq, const char* wanted, FILE* to) { Asker(player, seq, wanted, to).run(); }

}  // namespace dt::play
