// The needs of calls of Vulkan that are to stay while others go.
//
// A fact is true from the call that sets it to the call that ends it: an object is there, a pass is begun, a fence is
// signalled. It is followed twice: by all calls, and by those that stay. A call lacks something where a fact that it
// needs is true by all calls and false by the staying ones. Where it needs the end of the fact, the roles change.
// Errors of the recording itself are no concern of this file, and values are not looked at.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <unordered_map>

#include "../core/vulkan_call.h"

namespace dt::edit {

class VulkanChecker {
 public:
  struct Lack {
    uint64_t seq;
    const Function& function;
    uint64_t cause;
    const Function& cause_function;
    uint64_t goes;  // a call that can go instead: the lacking call, or the call that is not ended
    std::string text;
  };
  using Say = std::function<void(Lack)>;
  // `every`: says all calls that lack something; otherwise the first one for each cause.
  VulkanChecker(const Trace& trace, bool every, Say say) : trace_(trace), every_(every), say_(std::move(say)) {}
  void call(vulkan::VulkanCall& call, bool kept);

 private:
  enum Kind : uint32_t {
    OBJECT,
    MEMORY,
    WRITTEN,
    MAPPED,
    RECORDING,
    EXECUTABLE,
    FENCE,
    SEMAPHORE,
    EVENT,
    ACQUIRED,
    RESET,
    DONE,
    // In a command buffer or queue:
    PASS,
    SUBPASS,
    QUERY,
    CONDITIONAL,
    FEEDBACK,
    LABEL,
    // State, which secondary command buffers leave undefined:
    PIPELINE,
    INDEX,
    VERTEX,
    SET,
    PUSHED,
    DYNAMIC
  };
  enum Point : uint64_t { GRAPHICS, COMPUTE, RAYS, POINTS };
  struct Fact {
    uint64_t setter = 0, cause = 0;
    const Function* by = nullptr;  // the function of `cause`: a call that goes and set or ended it
    bool recorded = false, kept = false, said = false;
  };
  struct Key {
    uint32_t kind;
    uint64_t a, b;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& k) const { return (k.kind * 31 + k.a) * 0x9E3779B97F4A7C15u ^ k.b; }
  };
  using Facts = std::unordered_map<Key, Fact, Hash>;
  struct Buffer {
    Facts facts;
    uint64_t subpass = 0, label = 0, pool = 0;
    std::array<uint64_t, POINTS> pipeline{};  // the last one that stays
    bool once = false, once_kept = false;
  };
  struct Layout {
    uint64_t sets = 0;
    bool pushes = false;
  };
  struct Pipeline {
    uint64_t layout = 0;
    std::vector<uint64_t> bindings;
    std::vector<uint32_t> dynamic;
  };
  struct Timeline {
    uint64_t recorded = 0, kept = 0;  // values
    Fact reached;
  };
  using Does = void (VulkanChecker::*)(vulkan::VulkanCall&);
  struct Rule {
    Does does = nullptr;
    bool records = false, outside = false, makes = false, ends = false, uses_memory = false;
    uint32_t dynamic = 0;
  };

  // ---- facts (vulkan_check.cc)
  Fact& fact(Kind kind, uint64_t a, uint64_t b = 0) { return facts_[{kind, a, b}]; }
  void set(Fact& fact);
  void clear(Fact& fact);
  template <class Text> void need(Fact& f, Text&& text) {
    if (kept_ && f.recorded && !f.kept && f.by) lack(f, seq_, text());
  }
  template <class Text> void need_end(Fact& f, Text&& text) {
    if (kept_ && !f.recorded && f.kept && f.by) lack(f, f.setter, text());
  }
  void lack(Fact& fact, uint64_t goes, std::string text);
  const Rule& rule_of(const Function& f);
  static Does choose(std::string_view name, const Function& f);
  static Does choose_command(std::string_view name, const Function& f);

  // ---- objects and queues (vulkan_check.cc)
  void objects(vulkan::VulkanCall& call, const Rule& rule);
  void makes(vulkan::VulkanCall& call);
  void ends(vulkan::VulkanCall& call);
  void describe(vulkan::VulkanCall& call, const Field& made);
  void binds(vulkan::VulkanCall& call);
  void maps(vulkan::VulkanCall& call);
  void unmaps(vulkan::VulkanCall& call);
  void flushes(vulkan::VulkanCall& call);
  void updates(vulkan::VulkanCall& call);
  void updates_by_template(vulkan::VulkanCall& call);
  void written(uint64_t set, uint64_t binding);
  void submits(vulkan::VulkanCall& call);
  void batch(const vulkan::Node& one);
  void runs(uint64_t buffer);
  void signal(uint64_t semaphore, uint64_t value);
  void wait(uint64_t semaphore, uint64_t value);
  void signal_fence(uint64_t fence);
  void presents(vulkan::VulkanCall& call);
  void acquires(vulkan::VulkanCall& call);
  void waits_fences(vulkan::VulkanCall& call);
  void asks_fence(vulkan::VulkanCall& call);
  void resets_fences(vulkan::VulkanCall& call);
  void waits_semaphores(vulkan::VulkanCall& call);
  void signals_semaphore(vulkan::VulkanCall& call);
  void asks_queries(vulkan::VulkanCall& call);
  void resets_buffer(vulkan::VulkanCall& call);
  void resets_pool(vulkan::VulkanCall& call);

  // ---- commands (vulkan_check_commands.cc)
  Buffer& buffer(vulkan::VulkanCall& call);
  void begins(vulkan::VulkanCall& call);
  void finishes(vulkan::VulkanCall& call);
  void begins_pass(vulkan::VulkanCall& call);
  void next_subpass(vulkan::VulkanCall& call);
  void ends_pass(vulkan::VulkanCall& call);
  void inside(Buffer& in);
  void begins_query(vulkan::VulkanCall& call);
  void ends_query(vulkan::VulkanCall& call);
  void writes_query(vulkan::VulkanCall& call);
  void resets_queries(vulkan::VulkanCall& call);
  void copies_queries(vulkan::VulkanCall& call);
  void query_results(vulkan::VulkanCall& call);
  void begins_label(vulkan::VulkanCall& call);
  void ends_label(vulkan::VulkanCall& call);
  template <Kind of> void opens(vulkan::VulkanCall& call);  // what a command buffer has from there on
  template <Kind of> void closes(vulkan::VulkanCall& call);
  void binds_pipeline(vulkan::VulkanCall& call);
  void binds_shaders(vulkan::VulkanCall& call);
  void binds_vertices(vulkan::VulkanCall& call);
  void binds_sets(vulkan::VulkanCall& call);
  void binds_sets_2(vulkan::VulkanCall& call);
  void bind_sets(Buffer& into, uint64_t point, uint64_t first, const std::vector<uint64_t>& sets);
  void pushes_sets(vulkan::VulkanCall& call);
  void draws(vulkan::VulkanCall& call);
  void dispatches(vulkan::VulkanCall& call);
  void traces_rays(vulkan::VulkanCall& call);
  void uses(Buffer& in, Point point);
  void clears_attachments(vulkan::VulkanCall& call);
  void executes(vulkan::VulkanCall& call);
  void sets_event(vulkan::VulkanCall& call);
  void resets_event(vulkan::VulkanCall& call);
  void waits_events(vulkan::VulkanCall& call);
  uint32_t name_of(std::string_view text);  // a number for each text, from 1
  static std::string hex(uint64_t handle);
  void describe_pipeline(const vulkan::Node& info, uint64_t pipeline);

  const Trace& trace_;
  const bool every_;
  Say say_;
  uint64_t seq_ = 0;
  const Function* function_ = nullptr;
  bool kept_ = false;
  Facts facts_;
  std::unordered_map<uint64_t, Buffer> buffers_;                  // by command buffer or queue
  std::unordered_map<uint64_t, std::vector<uint64_t>> bindings_;  // of descriptor sets, which were written
  std::unordered_map<uint64_t, Layout> layouts_;
  std::unordered_map<uint64_t, Pipeline> pipelines_;
  std::unordered_map<uint64_t, Timeline> timelines_;
  std::map<std::string, uint32_t, std::less<>> names_;
  std::unordered_map<const Function*, Rule> rules_;
};

// Take calls of Vulkan from `keep`, one bit a call, until none lacks anything because of those that are gone.
void close_vulkan(const Trace& trace, std::vector<uint8_t>& keep);

}  // namespace dt::edit
