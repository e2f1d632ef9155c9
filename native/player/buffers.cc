#include "buffers.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace dt::play {
namespace {

enum : uint32_t {
  ARRAY_BUFFER = 0x8892,
  ARRAY_BINDING = 0x8894,
  ELEMENT_BINDING = 0x8895,
  COPY_READ = 0x8F36,
  BUFFER_SIZE = 0x8764,
  BUFFER_MAPPED = 0x88BC,
  ACCESS_FLAGS = 0x911F,
  ATTRIB_ENABLED = 0x8622,
  ATTRIB_BINDING = 0x889F,
  MAX_ATTRIBS = 0x8869,
  UNIFORM_BINDING = 0x8A28,
  MAX_UNIFORM = 0x8A2F,
  STORAGE_BINDING = 0x90D3,
  MAX_STORAGE = 0x90DD,
  INDIRECT_BINDING = 0x8F43,
  COUNTER_BINDING = 0x92C1,
  MAX_COUNTER = 0x92DC,
  MAP_READ = 1,
  MAP_PERSISTENT = 0x40
};

struct Bound {
  std::string use;
  uint32_t name;
};

// Errors here are ours alone: the program's were taken before.
void drain() {
  static const auto get = DT_REAL(uint32_t, glGetError);
  for (int i = 0; i < 8 && get && get(); ++i) {}
}

std::vector<Bound> bound(GlContext* c) {
  std::vector<Bound> found;
  std::set<std::pair<std::string, uint32_t>> seen;
  auto add = [&](const std::string& use, int32_t name) {
    if (name > 0 && seen.emplace(use, static_cast<uint32_t>(name)).second)
      found.push_back({use, static_cast<uint32_t>(name)});
  };
  bool es = c->api == 2, shaders = c->version >= 20;
  if (shaders) {
    auto get = DT_REAL(void, glGetVertexAttribiv, uint32_t, uint32_t, int32_t*);
    for (int32_t i = 0, n = std::clamp(gl::ask(c, MAX_ATTRIBS, 0), 0, 64); i < n; ++i) {
      int32_t on = 0, name = 0;
      get(static_cast<uint32_t>(i), ATTRIB_ENABLED, &on);
      get(static_cast<uint32_t>(i), ATTRIB_BINDING, &name);
      if (on) add("vertex", name);
    }
  }
  if (!c->core && (!es || !shaders)) {
    auto is = DT_REAL(uint8_t, glIsEnabled, uint32_t);
    static const struct {
      uint32_t array, binding;
    } arrays[] = {{0x8074, 0x8896}, {0x8075, 0x8897}, {0x8076, 0x8898}, {0x8078, 0x889A},
                  {0x845E, 0x889C}, {0x8457, 0x889D}, {0x8B9C, 0x8B9F}};
    auto unit = DT_REAL(void, glClientActiveTexture, uint32_t);
    for (auto& a : arrays) {
      if (a.array != 0x8078) {
        if (is(a.array)) add("vertex", gl::ask(c, a.binding, 0));
        continue;
      }
      int32_t active = gl::ask(c, 0x84E1, 0x84C0), units = unit ? std::clamp(gl::ask(c, 0x84E2, 1), 1, 32) : 1;
      for (int32_t i = 0; i < units; ++i) {
        if (unit) unit(0x84C0 + static_cast<uint32_t>(i));
        if (is(a.array)) add("vertex", gl::ask(c, a.binding, 0));
      }
      if (unit) unit(static_cast<uint32_t>(active));
    }
  }
  add("index", gl::ask(c, ELEMENT_BINDING, 0));
  auto indexed = [&](const char* use, uint32_t binding, uint32_t most) {
    auto get = DT_REAL(void, glGetIntegeri_v, uint32_t, uint32_t, int32_t*);
    for (int32_t i = 0, n = get ? std::clamp(gl::ask(c, most, 0), 0, 256) : 0; i < n; ++i) {
      int32_t name = 0;
      get(binding, static_cast<uint32_t>(i), &name);
      add(use + std::to_string(i), name);
    }
  };
  if (c->version >= (es ? 30u : 31u)) indexed("uniform", UNIFORM_BINDING, MAX_UNIFORM);
  if (c->version >= (es ? 31u : 43u))
    indexed("storage", STORAGE_BINDING, MAX_STORAGE), indexed("counter", COUNTER_BINDING, MAX_COUNTER);
  if (c->version >= (es ? 31u : 40u)) add("indirect", gl::ask(c, INDIRECT_BINDING, 0));
  drain();
  return found;
}

}  // namespace

std::vector<BufferContent> read_buffers(GlContext* c, std::vector<std::string>& why) {
  std::vector<BufferContent> found;
  bool es = c && c->api == 2;
  if (!gl::can_ask(c))
    return why.push_back("buffers cannot be read where no context is current, or between glBegin and glEnd"), found;
  if (c->version < (es ? 11u : 15u)) return why.push_back("the context has no buffers"), found;
  auto bind = DT_REAL(void, glBindBuffer, uint32_t, uint32_t);
  auto size_of = DT_REAL(void, glGetBufferParameteriv, uint32_t, uint32_t, int32_t*);
  auto read = DT_REAL(void, glGetBufferSubData, uint32_t, intptr_t, intptr_t, void*);
  bool modern = c->version >= (es ? 30u : 31u);
  auto map = modern ? DT_REAL(void*, glMapBufferRange, uint32_t, intptr_t, intptr_t, uint32_t)
                    : DT_REAL(void*, glMapBufferRangeEXT, uint32_t, intptr_t, intptr_t, uint32_t);
  auto unmap = modern ? DT_REAL(uint8_t, glUnmapBuffer, uint32_t) : DT_REAL(uint8_t, glUnmapBufferOES, uint32_t);
  uint32_t target = modern ? static_cast<uint32_t>(COPY_READ) : static_cast<uint32_t>(ARRAY_BUFFER);
  auto was = static_cast<uint32_t>(
      gl::ask(c, modern ? static_cast<uint32_t>(COPY_READ) : static_cast<uint32_t>(ARRAY_BINDING), 0));
  if (modern)  // what shaders wrote
    if (auto barrier = DT_REAL(void, glMemoryBarrier, uint32_t); barrier && c->version >= (es ? 31u : 42u))
      barrier(0x200 | 0x4000);
  for (auto& b : bound(c)) {
    BufferContent made{b.use, b.name, {}};
    int32_t size = 0, mapped = 0, flags = 0;
    bind(target, b.name);
    size_of(target, BUFFER_SIZE, &size);
    size_of(target, BUFFER_MAPPED, &mapped);
    if (mapped && modern) size_of(target, ACCESS_FLAGS, &flags);
    drain();
    made.bytes.resize(static_cast<size_t>(std::max(size, 0)));
    const char* no = nullptr;
    if (mapped && !(flags & MAP_PERSISTENT && !es)) {
      no = "the program has mapped it";
    } else if (size > 0 && !es && read) {
      read(target, 0, size, made.bytes.data());
    } else if (size > 0) {
      const void* at = map && unmap ? map(target, 0, size, MAP_READ) : nullptr;
      if (at)
        memcpy(made.bytes.data(), at, made.bytes.size()), unmap(target);
      else
        no = "the driver does not let it be read";
    }
    if (no)
      why.push_back("the buffer of " + b.use + " cannot be read: " + no);
    else
      found.push_back(std::move(made));
  }
  bind(target, was);
  drain();
  return found;
}

}  // namespace dt::play
