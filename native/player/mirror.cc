// The surroundings of the tap's mirror of GL state (native/mirror) in the player: functions by name, and nothing at all
// in place of records. But memory that a draw reads must be memory that the trace has.
#include <dlfcn.h>

#include <cstdlib>
#include <string_view>
#include <unordered_map>

#include "../mirror/losses.h"
#include "play.h"
#include "gl_enums.h"

namespace dt {

__thread Thread tls;

namespace play {
Player* g_player;
}  // namespace play
using play::g_player;

int find_function(const char* name) {
  static const auto* ids = [] {
    auto* made = new std::unordered_map<std::string_view, int>;
    for (unsigned i = 0; i < play::g_known_count; ++i) made->emplace(play::g_known[i].name, static_cast<int>(i));
    return made;
  }();
  auto it = ids->find(name);
  return it == ids->end() ? -1 : it->second;
}

void* resolve(unsigned id) {
  if (g_real[id][0]) return g_real[id][0];
  const char* name = play::g_known[id].name;
  void* address = nullptr;
  if (name[0] == 'e') address = dlsym(RTLD_DEFAULT, name);
  if (!address) {
    static const auto lookup = reinterpret_cast<void* (*)(const char*)>(dlsym(RTLD_DEFAULT, "eglGetProcAddress"));
    if (lookup) address = lookup(name);
  }
  if (!address) address = dlsym(RTLD_DEFAULT, name);
  return g_real[id][0] = address;
}

namespace driver {
void* find(unsigned id) { return id == g_function_count ? nullptr : resolve(id); }
void is_missing(unsigned id) {
  g_player->report("lacks", g_player->seq, id == g_function_count ? "" : play::g_known[id].name,
                   "the driver here does not have it, and the player needed it");
}
}  // namespace driver

void want_exact_order() {}
void context_is_made(GlContext*) {}
void context_is_current(Thread*) {}
void program_is_new(Thread*, uint32_t) {}
void emit_context(Thread*, uint32_t, uint32_t, uint32_t, uint64_t, uint64_t, uint64_t) {}
void emit_note(Thread*, const char* code, const char*) {
  std::string_view what = code;
  // A draw's reads are not known then: nobody knows that they are there, either.
  if (what == "indirect-client-arrays" || (what == "index-buffer-unread" && g_player->spans.empty()))
    gl::memory_is_missing();
}
void emit_loss(Thread* t, const char* code, const char* text) { emit_note(t, code, text); }
void emit_memory(Thread*, const void* address, uint64_t bytes) {
  auto begin = reinterpret_cast<uint64_t>(address);
  for (auto& span : g_player->spans)
    if (begin >= span.begin && begin <= span.end && bytes <= span.end - begin) return;
  // Index lists of multi-draws are already where their content is now.
  for (auto& span : g_player->spans) {
    auto data = reinterpret_cast<uint64_t>(span.data), length = span.end - span.begin;
    if (begin >= data && begin <= data + length && bytes <= data + length - begin) return;
  }
  g_player->missing_memory = true;
  g_player->needed_begin = begin;
  g_player->needed_end = begin + bytes;
}

namespace gl {
void array_is_read(uint64_t pointer, __int128 begin, __int128 end) {
  if (DT_LIKELY(g_player->shadow.holds(pointer, begin, end))) return;
  g_player->missing_memory = true;
  g_player->needed_begin = static_cast<uint64_t>(begin);
  g_player->needed_end = static_cast<uint64_t>(end);
}
void memory_is_missing() {
  g_player->missing_memory = true;
  g_player->needed_begin = g_player->needed_end = 0;
}
bool memory_is_there() { return !g_player->missing_memory; }
void describe_driver(Thread*, GlContext*) {}
void describe_surface(Thread*, void*, void*, const char*) {}
void describe_drawable(Thread*, void*, unsigned long) {}
void describe_egl_config(Thread*, void*, void*) {}
}  // namespace gl

namespace hook {
using play::Mapped;

void viewport_changed(Thread* t, int32_t width, int32_t height) {
  t->context->viewport_width = width;
  t->context->viewport_height = height;
}
void check_size_before_swap(Thread*, void*, uint64_t, uint32_t) {}

uint32_t g_maps_alive;
uint64_t g_watch_bytes;
void before_gpu_reads(Thread*) {}

namespace {

void drop(uint32_t buffer) {
  if (g_player->context && !g_player->context->group->maps.empty()) g_player->context->group->maps.erase(buffer);
}

uint32_t bound_to(Thread* t, uint32_t target) { return t->context ? gl::bound_buffer(t->context, target) : 0; }

void mapped(uint32_t buffer, int64_t offset, int64_t bytes, void* at) {
  if (!at || !buffer || bytes <= 0 || !g_player->context) return;
  g_player->context->group->maps[buffer] = Mapped{static_cast<uint8_t*>(at), offset, bytes};
}

int64_t size_of_bound(uint32_t target) {
  int32_t bytes = 0;
  if (driver::glGetBufferParameteriv) driver::glGetBufferParameteriv(target, GL_BUFFER_SIZE, &bytes);
  return bytes;
}
int64_t size_of_named(uint32_t buffer) {
  int32_t bytes = 0;
  if (driver::glGetNamedBufferParameteriv) driver::glGetNamedBufferParameteriv(buffer, GL_BUFFER_SIZE, &bytes);
  return bytes;
}

}  // namespace

void after_glMapBuffer(Thread* t, uint32_t target, uint32_t, void* at) {
  mapped(bound_to(t, target), 0, size_of_bound(target), at);
}
void after_glMapBufferRange(Thread* t, uint32_t target, intptr_t offset, intptr_t length, uint32_t, void* at) {
  mapped(bound_to(t, target), offset, length, at);
}
void after_glMapNamedBuffer(Thread*, uint32_t buffer, uint32_t, void* at) {
  mapped(buffer, 0, size_of_named(buffer), at);
}
void after_glMapNamedBufferEXT(Thread*, uint32_t buffer, uint32_t, void* at) {
  mapped(buffer, 0, size_of_named(buffer), at);
}
void after_glMapNamedBufferRange(Thread*, uint32_t buffer, intptr_t offset, intptr_t length, uint32_t, void* at) {
  mapped(buffer, offset, length, at);
}
void after_glMapNamedBufferRangeEXT(Thread*, uint32_t buffer, intptr_t offset, intptr_t length, uint32_t, void* at) {
  mapped(buffer, offset, length, at);
}
void before_glFlushMappedBufferRange(Thread*, uint32_t, intptr_t, intptr_t) {}
void before_glFlushMappedNamedBufferRange(Thread*, uint32_t, intptr_t, intptr_t) {}
void before_glFlushMappedNamedBufferRangeEXT(Thread*, uint32_t, intptr_t, intptr_t) {}
void before_glUnmapBuffer(Thread* t, uint32_t target) { drop(bound_to(t, target)); }
void before_glUnmapNamedBuffer(Thread*, uint32_t buffer) { drop(buffer); }
void before_glUnmapNamedBufferEXT(Thread*, uint32_t buffer) { drop(buffer); }
void before_glBufferData(Thread* t, uint32_t target, intptr_t, const void*, uint32_t) {
  if (g_player->context && !g_player->context->group->maps.empty()) drop(bound_to(t, target));
}
void before_glNamedBufferData(Thread*, uint32_t buffer, intptr_t, const void*, uint32_t) { drop(buffer); }
void before_glNamedBufferDataEXT(Thread*, uint32_t buffer, intptr_t, const void*, uint32_t) { drop(buffer); }
// New storage for a buffer that has immutable storage is refused: a mapping of it stays.
void before_glBufferStorage(Thread*, uint32_t, intptr_t, const void*, uint32_t) {}
void before_glNamedBufferStorage(Thread*, uint32_t, intptr_t, const void*, uint32_t) {}
void before_glDeleteBuffers(Thread*, int32_t n, const uint32_t* buffers) {
  for (int32_t i = 0; i < n && buffers; ++i) drop(buffers[i]);
}
void before_glInvalidateBufferData(Thread*, uint32_t) {}
void before_glInvalidateBufferSubData(Thread*, uint32_t, intptr_t, intptr_t) {}

}  // namespace hook
}  // namespace dt
