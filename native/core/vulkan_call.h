// A recorded call of Vulkan with its arguments, and the handles in them.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "chunk.h"
#include "vulkan.h"

namespace dt::vulkan {

// A function's name without the author of its extension.
inline std::string_view plain_name(std::string_view name) {
  for (std::string_view author : {"KHR", "EXT"})
    if (name.ends_with(author)) name.remove_suffix(author.size());
  return name;
}

class VulkanCall {
 public:
  VulkanCall(const Trace& trace, const FunctionColumns& columns, uint32_t row, uint64_t seq, uint32_t thread)
      : trace_(trace), columns_(columns), row_(row), seq_(seq), thread_(thread),
        contents_(columns.function->params.size()) {}

  const Function& function() const { return *columns_.function; }
  std::string_view name() const { return columns_.function->name; }
  uint32_t node() const { return static_cast<uint32_t>(seq_); }
  uint64_t seq() const { return seq_; }
  uint32_t thread() const { return thread_; }
  bool failed() const {
    auto& result = function().result;
    return result && result->ctype == "VkResult" && this->result() < 0;
  }
  int32_t result() const {
    return function().result ? static_cast<int32_t>(columns_.raw(*function().result, row_)) : 0;
  }

  const Field* param(std::string_view name) const;
  uint64_t value(std::string_view param) const;
  uint64_t value(const Field& field) const { return columns_.raw(field, row_); }
  std::string_view content(const Field& field);
  bool is_whole(const Field& field);                    // whether the recording has what the call was given
  std::vector<uint64_t> words(std::string_view param);  // an array of 64-bit values
  std::vector<Node> trees(std::string_view param);
  Node tree(std::string_view param);  // the first one
  Node info();                        // the first structure that the call is given
  std::vector<Node> infos();
  uint32_t image_index();  // that an acquisition answers; UINT32_MAX: it is not known

  // A handle that the call is given, with the kind's name and the name of the parameter or member that has it.
  using Visit = std::function<void(std::string_view kind, uint64_t handle, std::string_view name)>;
  void each_handle(const Visit& visit);

 private:
  void walk(Tree& tree, const StructType& type, size_t at, const Visit& visit, unsigned depth);
  void member(Tree& tree, const StructMember& m, size_t at, const Visit& visit, unsigned depth);
  void chain(Tree& tree, size_t slot, const Visit& visit, unsigned depth);
  const Trace& trace_;
  const FunctionColumns& columns_;
  uint32_t row_;
  uint64_t seq_;
  uint32_t thread_;
  std::vector<std::optional<std::string>> contents_;
};

}  // namespace dt::vulkan
