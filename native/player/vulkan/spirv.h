// SPIR-V: the numbers that the player looks for in shaders, and the walk over their instructions.
#pragma once
#include <cstddef>
#include <cstdint>

namespace dt::play::vk::spirv {

enum Op : uint32_t {
  OP_NAME = 5,
  OP_ENTRY_POINT = 15,
  OP_EXECUTION_MODE = 16,
  OP_CAPABILITY = 17,
  OP_TYPE_FLOAT = 22,
  OP_TYPE_VECTOR = 23,
  OP_TYPE_IMAGE = 25,
  OP_TYPE_ARRAY = 28,
  OP_TYPE_POINTER = 32,
  OP_FIRST_WITH_VALUE = 54,  // of those that have a type and a result behind each other
  OP_VARIABLE = 59,
  OP_STORE = 62,
  OP_COPY_MEMORY = 63,
  OP_COPY_MEMORY_SIZED = 64,
  OP_DECORATE = 71,
  OP_MEMBER_DECORATE = 72,
  OP_IMAGE_WRITE = 99,
  OP_ATOMIC_STORE = 228,
  OP_ATOMIC_XOR = 242,
  OP_KILL = 252,
  OP_TERMINATE = 4416,
  OP_DEMOTE = 5380,
  OP_ATOMIC_FMIN = 5614,
  OP_ATOMIC_FMAX = 5615,
  OP_ATOMIC_FADD = 6035,
};
enum Capability : uint32_t { TRANSFORM_FEEDBACK = 53 };
enum Model : uint32_t { VERTEX = 0, EVALUATION = 2, GEOMETRY = 3 };
enum Mode : uint32_t {
  EARLY_TESTS = 9,
  POINT_MODE = 10,
  XFB = 11,
  TRIANGLES = 22,
  QUADS = 24,
  ISOLINES = 25,
  OUTPUT_POINTS = 27,
  OUTPUT_LINES = 28,
  OUTPUT_TRIANGLES = 29,
};
enum StorageClass : uint32_t { INPUT = 1, UNIFORM = 2, OUTPUT = 3, STORAGE = 12, PHYSICAL = 5349 };
enum Decoration : uint32_t {
  BUILTIN = 11,
  LOCATION = 30,
  INDEX = 32,
  OFFSET = 35,
  XFB_BUFFER = 36,
  XFB_STRIDE = 37,
};
enum Builtin : uint32_t { POSITION = 0, SAMPLE_MASK = 20, FRAG_DEPTH = 22, FRAG_STENCIL = 5014 };
enum Dimension : uint32_t { SUBPASS_DATA = 6 };

constexpr size_t HEAD = 5;  // words before the instructions

struct Instruction {
  uint32_t op;
  const uint32_t* words;  // the first one is the number and the count
  uint32_t count;
  size_t at;  // its place in the module, in words
  size_t end() const { return at + count; }
  uint32_t operator[](uint32_t i) const { return i < count ? words[i] : 0; }  // 0 where it has no such word
};

// Calls `look` with each instruction, up to the first that reaches beyond the words.
template <class F> void each_instruction(const uint32_t* code, size_t words, F&& look) {
  for (size_t at = HEAD; at < words;) {
    const uint32_t n = code[at] >> 16;
    if (!n || n > words - at) return;
    look(Instruction{code[at] & 0xffff, code + at, n, at});
    at += n;
  }
}

}  // namespace dt::play::vk::spirv
