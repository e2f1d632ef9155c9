// Names of objects: the recording's and those here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace dt::play {

// Recorded names of one class -> names here. Names that the program chose itself, without asking for one, stay as they
// are unless they have come to mean something else here.
class Names {
 public:
  int object_class = -1;
  uint32_t of(uint32_t name) {
    if (name < direct_.size() && direct_[name]) return direct_[name];
    return name == 0 ? 0 : slow(name);
  }
  void set(uint32_t recorded, uint32_t real);
  bool has(uint32_t recorded) const;
  template <typename F> void each(F&& f) const {
    for (uint32_t i = 0; i < direct_.size(); ++i)
      if (direct_[i]) f(i, direct_[i]);
    for (auto& [recorded, real] : far_) f(recorded, real);
  }
  bool identity() const { return identity_; }

 private:
  uint32_t slow(uint32_t name);
  bool is_taken(uint32_t real) const;
  std::vector<uint32_t> direct_;
  std::unordered_map<uint32_t, uint32_t> far_;
  bool identity_ = true;
};

// The numbers of n display lists in one of the types of glCallLists; false: there is no such type.
bool list_numbers(uint32_t type, const void* lists, size_t n, uint32_t base, uint32_t* to);

struct Program {
  std::unordered_map<int32_t, int32_t> locations;  // only those that differ
  std::unordered_map<uint32_t, uint32_t> blocks[2];
  std::map<std::string, uint32_t> attributes;  // recorded locations
};

constexpr size_t CLASS_COUNT = 12;
enum Class : int {
  TEXTURE,
  BUFFER,
  FRAMEBUFFER,
  RENDERBUFFER,
  VERTEX_ARRAY,
  SAMPLER,
  QUERY,
  PROGRAM,
  PIPELINE,
  FEEDBACK,
  LIST,
  ARB_PROGRAM
};
inline bool is_shared(int c) {
  return c != FRAMEBUFFER && c != VERTEX_ARRAY && c != QUERY && c != PIPELINE && c != FEEDBACK;
}

struct Mapped {
  uint8_t* at = nullptr;
  int64_t offset = 0, bytes = 0;
};

struct NameTables {
  NameTables() {
    for (size_t c = 0; c < CLASS_COUNT; ++c) names[c].object_class = static_cast<int>(c);
  }
  Names names[CLASS_COUNT];
};

struct Group : NameTables {                        // of contexts that share their objects
  std::unordered_map<uint32_t, Program> programs;  // by name here
  std::unordered_map<uint32_t, Mapped> maps;       // by name of the buffer here
};

}  // namespace dt::play
