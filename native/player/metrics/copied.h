// The parts of the program's programs that copies have, too: shaders, places of attributes, values of uniforms.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dt::play::metrics {

bool is_image(uint32_t type);  // of uniforms
// A shader's text; "": there is none, it is a binary.
std::string shader_source(uint32_t shader);
// A new shader of that text.
uint32_t compiled(uint32_t stage, const std::string& text);
// Gives the copy's attributes the places that they have in the program; `renamed`: RENAMED ones, too.
void bind_attributes(uint32_t program, uint32_t copy, bool renamed);

using UniformValues = std::vector<std::array<uint32_t, 16>>;
class CopiedUniforms {
 public:
  // The uniforms and blocks of the copy that a linked program has, too; 0: none has. Returns why they cannot be copied,
  // "": they can. `images` are left out.
  std::string find(uint32_t program, uint32_t copy, bool images);
  UniformValues values(uint32_t program) const;
  // To the copy, which is current.
  void write(uint32_t program, uint32_t copy, const UniformValues& values);

 private:
  struct Uniform {
    uint32_t type;
    int from, to;                       // locations, of the program and of the copy
    UniformValues::value_type holds{};  // what the copy's is
    bool known = false;
  };
  static UniformValues::value_type value_of(const Uniform& uniform, uint32_t program);
  std::vector<Uniform> uniforms_;
  std::vector<std::pair<uint32_t, uint32_t>> blocks_;  // of the program, of the copy
};

}  // namespace dt::play::metrics
