// The classes of state as the specification has them (src/drawtap/spec/tree.py); their tables are generated.
#pragma once
#include <cstdint>

namespace dt::state {

using Word = uint64_t;  // integers, or the bits of a double; a content has two, a text its number among Machine's texts

enum class Kind : uint8_t { boolean, enumerant, integer, mask, floating, color, real, name, content, text, address };

struct FieldInfo {
  const char* name;   // as in the path: "enabled.GL_BLEND"
  const char* group;  // enum group of its values, nullptr: any
  Kind kind;
  bool always_indexed;  // element 0 has its index in the path too
  uint16_t components;  // words of one element (content: 2)
  uint16_t elements;
  uint16_t word;      // of the first element in the node's words
  uint16_t location;  // of the first element among the node's locations
};

enum class Style : uint8_t { index, enumerant, name };
struct ChildInfo {
  const char* name;
  uint16_t of;  // class
  Style style;
  uint16_t made;         // elements made with the parent
  const uint32_t* keys;  // of enumerants; all are made with the parent
  uint16_t key_count;
};

struct EnumField {
  uint64_t key;  // prefix << 32 | enumerant
  uint16_t field;
};

struct ClassInfo {
  const char* name;
  const FieldInfo* fields;
  uint16_t field_count, words, locations;  // location 0 is the existence
  const Word* initial;
  const ChildInfo* children;
  uint16_t child_count;
  const EnumField* by_enum;  // ascending
  uint16_t by_enum_count;
};

// A group of fields that are read together, as locations of the node.
struct Group {
  uint16_t first, count;
};

struct EnumName {
  uint32_t value;
  const char* name;
};

}  // namespace dt::state
