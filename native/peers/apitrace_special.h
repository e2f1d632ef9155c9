// Functions that both ways of converting traces of apitrace treat in a manner of their own. A converter leaves out the
// kinds that say nothing to it.
#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace dt::peers {

enum class Special : uint8_t {
  none,
  bind_buffer,
  bind_vertex_array,
  map,
  map_named,
  map_range,
  map_named_range,
  bind_api,
  create_context_egl,
  create_context_glx,
  create_context_glx_new,
  make_current_egl,
  make_current_glx,
  make_current_glx_read,
  array_pointer,
  memory_copy,
  memory,
  viewport,
  scissor,
  attribute_location,
  client_texture,
  interleaved,
  unmap,
  unmap_named,
  push_client,
  pop_client
};

inline Special special_named(std::string_view name) {
  static const std::unordered_map<std::string_view, Special> names = {
      {"glBindBuffer", Special::bind_buffer},
      {"glBindBufferARB", Special::bind_buffer},
      {"glBindVertexArray", Special::bind_vertex_array},
      {"glBindVertexArrayOES", Special::bind_vertex_array},
      {"glPushClientAttrib", Special::push_client},
      {"glPopClientAttrib", Special::pop_client},
      {"glUnmapBuffer", Special::unmap},
      {"glUnmapBufferARB", Special::unmap},
      {"glUnmapBufferOES", Special::unmap},
      {"glUnmapNamedBuffer", Special::unmap_named},
      {"glUnmapNamedBufferEXT", Special::unmap_named},
      {"glMapBuffer", Special::map},
      {"glMapBufferARB", Special::map},
      {"glMapBufferOES", Special::map},
      {"glMapNamedBuffer", Special::map_named},
      {"glMapNamedBufferEXT", Special::map_named},
      {"glMapBufferRange", Special::map_range},
      {"glMapBufferRangeEXT", Special::map_range},
      {"glMapNamedBufferRange", Special::map_named_range},
      {"glMapNamedBufferRangeEXT", Special::map_named_range},
      {"eglBindAPI", Special::bind_api},
      {"eglCreateContext", Special::create_context_egl},
      {"glXCreateContext", Special::create_context_glx},
      {"glXCreateContextAttribsARB", Special::create_context_glx},
      {"glXCreateNewContext", Special::create_context_glx_new},
      {"eglMakeCurrent", Special::make_current_egl},
      {"glXMakeCurrent", Special::make_current_glx},
      {"glXMakeContextCurrent", Special::make_current_glx_read},
      {"glXMakeCurrentReadSGI", Special::make_current_glx_read},
      {"memcpy", Special::memory_copy},
      {"malloc", Special::memory},
      {"free", Special::memory},
      {"realloc", Special::memory},
      {"glViewport", Special::viewport},
      {"glScissor", Special::scissor},
      {"glClientActiveTexture", Special::client_texture},
      {"glClientActiveTextureARB", Special::client_texture},
      {"glInterleavedArrays", Special::interleaved},
      {"glBindAttribLocation", Special::attribute_location},
      {"glBindFragDataLocation", Special::attribute_location}};
  auto it = names.find(name);
  return it == names.end() ? Special::none : it->second;
}

}  // namespace dt::peers
