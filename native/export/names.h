// Names of the trace's objects as C variables.
#pragma once
#include <array>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "../core/chunk.h"

namespace dt::c {

// The C form of an object class.
struct ObjectClass {
  const char* word;      // in signatures
  const char* variable;  // what its variables begin with
  const char* type;
  bool shared;  // by the contexts of a share group
};
const ObjectClass* object_class(std::string_view word, std::string_view function);

// Variables: declared once, named after what the trace calls the object.
class Variables {
 public:
  // Declare (once) and return. `initial`: C text of the value at start, "" for none.
  const std::string& declare(const std::string& name, const std::string& type, const std::string& initial);
  void write(const std::string& folder) const;
  size_t count() const { return order_.size(); }

 private:
  struct Declared {
    std::string type, initial;
  };
  std::map<std::string, Declared> declared_;
  std::vector<const std::string*> order_;
};

// Names of objects with numbers: per share group (or context) and class.
class Names {
 public:
  static constexpr size_t MOST_CLASSES = 24;
  explicit Names(Variables& variables) : variables_(variables) {}
  std::string number(const ObjectClass& c, uint32_t group, uint32_t context, uint64_t name);
  // A handle's variable; made at first sight, `fresh` makes another one: the address was given out again.
  bool knows(const char* variable, uint64_t handle) const;
  std::string handle(const char* variable, const char* type, uint64_t handle, bool fresh);
  // A range of display lists: base + offset.
  void lists(uint32_t group, uint32_t base, uint32_t count, const std::string& variable);

 private:
  struct Range {
    uint32_t count;
    std::string variable;
  };
  Variables& variables_;
  std::map<std::pair<std::string, uint64_t>, std::string> handles_;
  std::map<std::string, unsigned> numbers_;
  std::unordered_map<uint64_t, std::string> known_[MOST_CLASSES];
  std::map<uint32_t, std::map<uint32_t, Range>> lists_;
  uint32_t first_group_ = 0;
};

std::string identifier(std::string_view text);
bool is_name(std::string_view text);            // in C
std::string base_type(std::string_view ctype);  // the element type of "const GLfloat *"; void: ""

}  // namespace dt::c
