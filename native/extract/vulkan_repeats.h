// Commands of Vulkan that set what a command buffer has already, or what no later command of it reads.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "../core/vulkan_call.h"

namespace dt::extract {

// Each call's kind of useless work, as dt_graph_waste numbers it (extract.h).
enum Waste : uint8_t { SAME_VALUE = 1, UNUSED_UPLOAD = 3, UNSEEN_DRAW = 4, UNREAD_STATE = 5, UNUSED_OBJECT = 6 };

// The state that each command buffer has while it is recorded: pieces, each set by one command. A command that this
// file does not know ends what is known of its command buffer.
class VulkanRepeats {
 public:
  // `kinds`: room for every call.
  explicit VulkanRepeats(uint8_t* kinds) : kinds_(kinds) {}
  void take(vulkan::VulkanCall& call);

 private:
  struct Rule {
    // disturbs: leaves nothing known of descriptor sets and constants; forgets: of anything.
    enum Kind : uint8_t { other, neutral, reads, disturbs, forgets, begins, ends, makes_pipelines, sets } kind = other;
    uint32_t group = 0, name = 0;  // name: of a dynamic state, as pipelines call it
    bool pipeline = false, layout = false, strides = false, input = false, faces = false;
    const Field *point = nullptr, *first = nullptr, *count = nullptr;
  };
  struct Piece {
    uint32_t group = 0, seq = 0;
    uint64_t first = 0, end = UINT64_MAX;
    uint64_t layout = 0, stages = 0;
    uint32_t name = 0;
    bool strides = false, read = false, whole = true;  // whole: the recording has its contents
    std::string value{};
  };
  struct Pipeline {
    std::vector<uint32_t> dynamic;  // names of states
    bool known = false, strides = false;
  };
  using Pieces = std::vector<Piece>;

  const Rule& rule_of(const Function& f);
  void choose(const Function& f, Rule& rule);
  static void parts_of(const Function& f, Rule& rule);
  static Piece piece_of(vulkan::VulkanCall& call, const Rule& rule);
  uint32_t name_of(std::string_view text);
  void describe(vulkan::VulkanCall& call);
  void set(vulkan::VulkanCall& call, const Rule& rule, Pieces& pieces);
  bool same_pipeline(const Pieces& pieces, const Piece& bound, uint64_t pipeline) const;
  void binds_pipeline(Pieces& pieces, uint64_t pipeline) const;
  static bool draws_nothing(vulkan::VulkanCall& call);

  uint8_t* kinds_;
  std::unordered_map<const Function*, Rule> rules_;
  std::unordered_map<std::string, uint32_t> names_;
  std::unordered_map<uint64_t, Pieces> buffers_;
  std::unordered_map<uint64_t, Pipeline> pipelines_;
};

}  // namespace dt::extract
