// The parts of a buffer that the context reads, and how: arrays of vertices, indices, blocks of the programs in use.
#include <algorithm>

#include "../common/json.h"
#include "buffers.h"
#include "../mirror/fixed_arrays.h"
#include "gl_enums.h"

namespace dt::play {
namespace {

class Uses {
 public:
  Uses(GlContext* c, uint32_t name) : c_(c), name_(name), es_(c->api == 2), json_(text_) { json_.list(); }

  std::string all() {
    if (c_->version >= 20) attributes();
    if (!c_->core && (!es_ || c_->version < 20)) fixed();
    if (is(GL_ELEMENT_ARRAY_BUFFER_BINDING)) one("index", "indices").end();
    if (c_->version >= (es_ ? 30u : 31u)) blocks();
    if (c_->version >= (es_ ? 31u : 40u) && is(GL_DRAW_INDIRECT_BUFFER_BINDING)) one("indirect", "commands").end();
    json_.end();
    return text_;
  }

 private:
  bool is(uint32_t binding) { return static_cast<uint32_t>(gl::ask(c_, binding, 0)) == name_; }
  JsonWriter<std::string>& one(const char* use, const std::string& name) {
    return json_.object().put("use", use).put("name", name);
  }
  void array(const std::string& name, int32_t size, int32_t type, int32_t stride, uint64_t offset, bool normalized) {
    one("vertex", name).put("size", size).put("type", type).put("stride", stride).put("offset", offset);
    json_.put("normalized", normalized);
  }

  // The programs that the next draw or dispatch runs.
  std::vector<uint32_t> programs() {
    std::vector<uint32_t> out;
    if (auto program = static_cast<uint32_t>(gl::ask(c_, GL_CURRENT_PROGRAM, 0))) return {program};
    auto pipeline = c_->version >= (es_ ? 31u : 41u) && driver::glGetProgramPipelineiv
                        ? static_cast<uint32_t>(gl::ask(c_, GL_PROGRAM_PIPELINE_BINDING, 0))
                        : 0u;
    for (uint32_t stage : {GL_VERTEX_SHADER, GL_FRAGMENT_SHADER, GL_GEOMETRY_SHADER, GL_TESS_CONTROL_SHADER,
                           GL_TESS_EVALUATION_SHADER, GL_COMPUTE_SHADER}) {
      int32_t program = 0;
      if (pipeline) driver::glGetProgramPipelineiv(pipeline, stage, &program);
      if (program > 0 && std::find(out.begin(), out.end(), static_cast<uint32_t>(program)) == out.end())
        out.push_back(static_cast<uint32_t>(program));
    }
    return out;
  }

  static std::string attribute_at(const std::vector<uint32_t>& programs, int32_t location) {
    for (uint32_t program : programs) {
      int32_t count = 0;
      driver::glGetProgramiv(program, GL_ACTIVE_ATTRIBUTES, &count);
      for (int32_t i = 0; i < count; ++i) {
        char name[256] = "";
        int32_t length = 0, size = 0;
        uint32_t type = 0;
        driver::glGetActiveAttrib(program, static_cast<uint32_t>(i), sizeof name, &length, &size, &type, name);
        if (driver::glGetAttribLocation(program, name) == location) return name;
      }
    }
    return "attribute" + std::to_string(location);
  }
  void attributes() {
    const auto used = programs();
    for (int32_t i = 0, n = std::clamp(gl::ask(c_, GL_MAX_VERTEX_ATTRIBS, 0), 0, 64); i < n; ++i) {
      auto about = [&](uint32_t what) {
        int32_t value = 0;
        driver::glGetVertexAttribiv(static_cast<uint32_t>(i), what, &value);
        return value;
      };
      if (!about(GL_VERTEX_ATTRIB_ARRAY_ENABLED) ||
          static_cast<uint32_t>(about(GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING)) != name_)
        continue;
      void* at = nullptr;
      driver::glGetVertexAttribPointerv(static_cast<uint32_t>(i), GL_VERTEX_ATTRIB_ARRAY_POINTER, &at);
      auto offset = reinterpret_cast<uint64_t>(at);
      int32_t stride = about(GL_VERTEX_ATTRIB_ARRAY_STRIDE);
      if (c_->version >= (es_ ? 31u : 43u) && driver::glGetIntegeri_v) separate(about, offset, stride);
      array(attribute_at(used, i), about(GL_VERTEX_ATTRIB_ARRAY_SIZE), about(GL_VERTEX_ATTRIB_ARRAY_TYPE), stride,
            offset, about(GL_VERTEX_ATTRIB_ARRAY_NORMALIZED));
      if (c_->version >= (es_ ? 30u : 33u)) json_.put("divisor", about(GL_VERTEX_ATTRIB_ARRAY_DIVISOR));
      json_.end();
    }
  }
  // Where attributes and what they are read from are set apart, the binding has place and distance.
  template <class About> void separate(About about, uint64_t& offset, int32_t& stride) {
    auto binding = static_cast<uint32_t>(about(GL_VERTEX_ATTRIB_BINDING));
    int32_t begin = 0;
    driver::glGetIntegeri_v(GL_VERTEX_BINDING_OFFSET, binding, &begin);
    driver::glGetIntegeri_v(GL_VERTEX_BINDING_STRIDE, binding, &stride);
    offset = static_cast<uint64_t>(begin) + static_cast<uint64_t>(about(GL_VERTEX_ATTRIB_RELATIVE_OFFSET));
  }

  void fixed() {
    for (const FixedArray& a : FIXED_ARRAYS) {
      if (!a.shown || !driver::glIsEnabled(a.array) || !is(a.buffer) || !driver::glGetPointerv) continue;
      void* at = nullptr;
      driver::glGetPointerv(a.pointer, &at);
      array(a.shown, a.size ? gl::ask(c_, a.size, 4) : a.components, gl::ask(c_, a.type, 0), gl::ask(c_, a.stride, 0),
            reinterpret_cast<uint64_t>(at), false);
      json_.end();
    }
  }

  void blocks() {
    for (uint32_t program : programs()) {
      int32_t count = 0;
      driver::glGetProgramiv(program, GL_ACTIVE_UNIFORM_BLOCKS, &count);
      for (int32_t i = 0; i < count && driver::glGetActiveUniformBlockiv; ++i)
        uniform_block(program, static_cast<uint32_t>(i));
      if (c_->version < (es_ ? 31u : 43u) || !driver::glGetProgramResourceiv) continue;
      driver::glGetProgramInterfaceiv(program, GL_SHADER_STORAGE_BLOCK, GL_ACTIVE_RESOURCES, &count);
      for (int32_t i = 0; i < count; ++i) storage_block(program, static_cast<uint32_t>(i));
    }
  }
  // Opens a block that is read from the buffer at a binding; false: it is another buffer's.
  bool block(const char* use, const char* name, int32_t binding, uint32_t bound, uint32_t start, int32_t bytes) {
    int32_t buffer = 0, offset = 0;
    driver::glGetIntegeri_v(bound, static_cast<uint32_t>(binding), &buffer);
    if (static_cast<uint32_t>(buffer) != name_) return false;
    driver::glGetIntegeri_v(start, static_cast<uint32_t>(binding), &offset);
    one(use, name).put("binding", binding).put("offset", offset).put("bytes", bytes).list("members");
    return true;
  }
  void uniform_block(uint32_t program, uint32_t index) {
    int32_t binding = 0, bytes = 0, count = 0;
    char name[256] = "";
    driver::glGetActiveUniformBlockiv(program, index, GL_UNIFORM_BLOCK_BINDING, &binding);
    driver::glGetActiveUniformBlockiv(program, index, GL_UNIFORM_BLOCK_DATA_SIZE, &bytes);
    driver::glGetActiveUniformBlockiv(program, index, GL_UNIFORM_BLOCK_ACTIVE_UNIFORMS, &count);
    driver::glGetActiveUniformBlockName(program, index, sizeof name, nullptr, name);
    if (!block("uniform", name, binding, GL_UNIFORM_BUFFER_BINDING, GL_UNIFORM_BUFFER_START, bytes)) return;
    std::vector<int32_t> members(static_cast<size_t>(std::max(count, 0)));
    if (count > 0)
      driver::glGetActiveUniformBlockiv(program, index, GL_UNIFORM_BLOCK_ACTIVE_UNIFORM_INDICES, members.data());
    for (int32_t member : members) {
      auto number = static_cast<uint32_t>(member);
      auto about = [&](uint32_t what) {
        int32_t value = 0;
        driver::glGetActiveUniformsiv(program, 1, &number, what, &value);
        return value;
      };
      uint32_t type = 0;
      int32_t size = 0;
      driver::glGetActiveUniform(program, number, sizeof name, nullptr, &size, &type, name);
      json_.object().put("name", name).put("type", type).put("count", size);
      json_.put("offset", about(GL_UNIFORM_OFFSET)).put("stride", about(GL_UNIFORM_ARRAY_STRIDE));
      json_.put("matrix_stride", about(GL_UNIFORM_MATRIX_STRIDE)).put("rows", about(GL_UNIFORM_IS_ROW_MAJOR) != 0);
      json_.end();
    }
    json_.end().end();
  }
  void storage_block(uint32_t program, uint32_t index) {
    auto about = [&](uint32_t interface, uint32_t of, uint32_t what) {
      int32_t value = 0;
      driver::glGetProgramResourceiv(program, interface, of, 1, &what, 1, nullptr, &value);
      return value;
    };
    char name[256] = "";
    driver::glGetProgramResourceName(program, GL_SHADER_STORAGE_BLOCK, index, sizeof name, nullptr, name);
    if (!block("storage", name, about(GL_SHADER_STORAGE_BLOCK, index, GL_BUFFER_BINDING),
               GL_SHADER_STORAGE_BUFFER_BINDING, GL_SHADER_STORAGE_BUFFER_START,
               about(GL_SHADER_STORAGE_BLOCK, index, GL_BUFFER_DATA_SIZE)))
      return;
    int32_t count = about(GL_SHADER_STORAGE_BLOCK, index, GL_NUM_ACTIVE_VARIABLES);
    std::vector<int32_t> members(static_cast<size_t>(std::max(count, 0)));
    const uint32_t variables = GL_ACTIVE_VARIABLES;
    if (count > 0)
      driver::glGetProgramResourceiv(program, GL_SHADER_STORAGE_BLOCK, index, 1, &variables, count, nullptr,
                                     members.data());
    for (int32_t member : members) {
      auto of = [&](uint32_t what) { return about(GL_BUFFER_VARIABLE, static_cast<uint32_t>(member), what); };
      driver::glGetProgramResourceName(program, GL_BUFFER_VARIABLE, static_cast<uint32_t>(member), sizeof name, nullptr,
                                       name);
      json_.object().put("name", name).put("type", of(GL_TYPE)).put("count", of(GL_ARRAY_SIZE));
      json_.put("offset", of(GL_OFFSET)).put("stride", of(GL_ARRAY_STRIDE));
      json_.put("matrix_stride", of(GL_MATRIX_STRIDE)).put("rows", of(GL_IS_ROW_MAJOR) != 0);
      json_.put("outer_count", of(GL_TOP_LEVEL_ARRAY_SIZE)).put("outer_stride", of(GL_TOP_LEVEL_ARRAY_STRIDE)).end();
    }
    json_.end().end();
  }

  GlContext* c_;
  uint32_t name_;
  bool es_;
  std::string text_;
  JsonWriter<std::string> json_;
};

}  // namespace

std::string buffer_uses(GlContext* c, uint32_t name) {
  std::string uses = Uses(c, name).all();
  for (int i = 0; i < 64 && driver::glGetError && driver::glGetError(); ++i) {}  // ours alone
  return uses;
}

}  // namespace dt::play
