#include "buffers.h"
#include "gl_enums.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace dt::play {
namespace {

struct Bound {
  std::string use;
  uint32_t name;
};

// Errors here are ours alone: the program's were taken before.
void drain() {
  for (int i = 0; i < 8 && driver::glGetError && driver::glGetError(); ++i) {}
}

std::vector<Bound> bound(GlContext* c) {
  std::vector<Bound> out;
  std::set<std::pair<std::string, uint32_t>> seen;
  auto add = [&](const std::string& use, int32_t name) {
    if (name > 0 && seen.emplace(use, static_cast<uint32_t>(name)).second)
      out.push_back({use, static_cast<uint32_t>(name)});
  };
  bool es = c->api == 2, shaders = c->version >= 20;
  if (shaders) {
    for (int32_t i = 0, n = std::clamp(gl::ask(c, GL_MAX_VERTEX_ATTRIBS, 0), 0, 64); i < n; ++i) {
      int32_t on = 0, name = 0;
      driver::glGetVertexAttribiv(static_cast<uint32_t>(i), GL_VERTEX_ATTRIB_ARRAY_ENABLED, &on);
      driver::glGetVertexAttribiv(static_cast<uint32_t>(i), GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING, &name);
      if (on) add("vertex", name);
    }
  }
  if (!c->core && (!es || !shaders)) {
    static const struct {
      uint32_t array, binding;
    } arrays[] = {{GL_VERTEX_ARRAY, GL_VERTEX_ARRAY_BUFFER_BINDING},
                  {GL_NORMAL_ARRAY, GL_NORMAL_ARRAY_BUFFER_BINDING},
                  {GL_COLOR_ARRAY, GL_COLOR_ARRAY_BUFFER_BINDING},
                  {GL_TEXTURE_COORD_ARRAY, GL_TEXTURE_COORD_ARRAY_BUFFER_BINDING},
                  {GL_SECONDARY_COLOR_ARRAY, GL_SECONDARY_COLOR_ARRAY_BUFFER_BINDING},
                  {GL_FOG_COORD_ARRAY, GL_FOG_COORD_ARRAY_BUFFER_BINDING},
                  {GL_POINT_SIZE_ARRAY_OES, GL_POINT_SIZE_ARRAY_BUFFER_BINDING_OES}};
    for (auto& a : arrays) {
      if (a.array != GL_TEXTURE_COORD_ARRAY) {
        if (driver::glIsEnabled(a.array)) add("vertex", gl::ask(c, a.binding, 0));
        continue;
      }
      int32_t active = gl::ask(c, GL_CLIENT_ACTIVE_TEXTURE, GL_TEXTURE0),
              units = driver::glClientActiveTexture ? std::clamp(gl::ask(c, GL_MAX_TEXTURE_UNITS, 1), 1, 32) : 1;
      for (int32_t i = 0; i < units; ++i) {
        if (driver::glClientActiveTexture) driver::glClientActiveTexture(GL_TEXTURE0 + static_cast<uint32_t>(i));
        if (driver::glIsEnabled(a.array)) add("vertex", gl::ask(c, a.binding, 0));
      }
      if (driver::glClientActiveTexture) driver::glClientActiveTexture(static_cast<uint32_t>(active));
    }
  }
  add("index", gl::ask(c, GL_ELEMENT_ARRAY_BUFFER_BINDING, 0));
  auto indexed = [&](const char* use, uint32_t binding, uint32_t most) {
    for (int32_t i = 0, n = driver::glGetIntegeri_v ? std::clamp(gl::ask(c, most, 0), 0, 256) : 0; i < n; ++i) {
      int32_t name = 0;
      driver::glGetIntegeri_v(binding, static_cast<uint32_t>(i), &name);
      add(use + std::to_string(i), name);
    }
  };
  if (c->version >= (es ? 30u : 31u)) indexed("uniform", GL_UNIFORM_BUFFER_BINDING, GL_MAX_UNIFORM_BUFFER_BINDINGS);
  if (c->version >= (es ? 31u : 43u))
    indexed("storage", GL_SHADER_STORAGE_BUFFER_BINDING, GL_MAX_SHADER_STORAGE_BUFFER_BINDINGS),
        indexed("counter", GL_ATOMIC_COUNTER_BUFFER_BINDING, GL_MAX_ATOMIC_COUNTER_BUFFER_BINDINGS);
  if (c->version >= (es ? 31u : 40u)) add("indirect", gl::ask(c, GL_DRAW_INDIRECT_BUFFER_BINDING, 0));
  drain();
  return out;
}

// While it lives, buffers are read through a target that the program does not see.
class Reading {
 public:
  explicit Reading(GlContext* c) : es_(c->api == 2), modern_(c->version >= (es_ ? 30u : 31u)) {
    target_ = modern_ ? GL_COPY_READ_BUFFER : GL_ARRAY_BUFFER;
    was_ = static_cast<uint32_t>(gl::ask(c, modern_ ? GL_COPY_READ_BUFFER_BINDING : GL_ARRAY_BUFFER_BINDING, 0));
    if (modern_ && driver::glMemoryBarrier && c->version >= (es_ ? 31u : 42u))  // what shaders wrote
      driver::glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT | GL_CLIENT_MAPPED_BUFFER_BARRIER_BIT);
  }
  ~Reading() {
    driver::glBindBuffer(target_, was_);
    drain();
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  const char* read(uint32_t name, std::vector<uint8_t>& bytes) {
    auto map = modern_ ? driver::glMapBufferRange : driver::glMapBufferRangeEXT;
    auto unmap = modern_ ? driver::glUnmapBuffer : driver::glUnmapBufferOES;
    int32_t size = 0, mapped = 0, flags = 0;
    driver::glBindBuffer(target_, name);
    driver::glGetBufferParameteriv(target_, GL_BUFFER_SIZE, &size);
    driver::glGetBufferParameteriv(target_, GL_BUFFER_MAPPED, &mapped);
    if (mapped && modern_) driver::glGetBufferParameteriv(target_, GL_BUFFER_ACCESS_FLAGS, &flags);
    drain();
    bytes.resize(static_cast<size_t>(std::max(size, 0)));
    if (mapped && !(flags & GL_MAP_PERSISTENT_BIT && !es_)) return "the program has mapped it";
    if (size <= 0) return nullptr;
    if (!es_ && driver::glGetBufferSubData) {
      driver::glGetBufferSubData(target_, 0, size, bytes.data());
      return nullptr;
    }
    const void* at = map && unmap ? map(target_, 0, size, GL_MAP_READ_BIT) : nullptr;
    if (!at) return "the driver does not let it be read";
    memcpy(bytes.data(), at, bytes.size());
    unmap(target_);
    return nullptr;
  }

 private:
  bool es_, modern_;
  uint32_t target_ = 0, was_ = 0;
};

const char* no_buffers(GlContext* c) {
  if (!gl::can_ask(c)) return "buffers cannot be read where no context is current, or between glBegin and glEnd";
  return c->version < (c->api == 2 ? 11u : 15u) ? "the context has no buffers" : nullptr;
}

}  // namespace

std::vector<BufferContent> read_buffers(GlContext* c, std::vector<std::string>& why) {
  std::vector<BufferContent> contents;
  if (const char* no = no_buffers(c)) return why.push_back(no), contents;
  Reading reading(c);
  for (auto& b : bound(c)) {
    BufferContent made{b.use, b.name, {}};
    if (const char* no = reading.read(b.name, made.bytes))
      why.push_back("the buffer of " + b.use + " cannot be read: " + no);
    else
      contents.push_back(std::move(made));
  }
  return contents;
}

std::string read_buffer(GlContext* c, uint32_t name, std::vector<uint8_t>& bytes) {
  if (const char* no = no_buffers(c)) return no;
  if (!driver::glIsBuffer || !driver::glIsBuffer(name)) return "the driver has no such buffer there";
  const char* no = Reading(c).read(name, bytes);
  return no ? no : "";
}

}  // namespace dt::play
