// Finds the earlier calls of a recording of Vulkan that still matter at a call.
//
// One walk over the calls makes a graph. Its nodes are calls, objects and the contents of command buffers and
// descriptor sets. An edge says that one is not kept without the other. A call that only asks, an object that ended,
// commands that were recorded anew and work whose results were overwritten have no edge from what comes later. Calls
// without a rule in this file are kept, as far as their objects are kept.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "../core/chunk.h"
#include "../core/vulkan.h"
#include "vulkan_kinds.h"

namespace dt::extract {

class VulkanPast {
 public:
  // Sees each call before its effects are followed.
  using Watch = std::function<void(VulkanCall&)>;
  // Walks the calls before `end`.
  VulkanPast(const Trace& trace, uint64_t end, Watch watch) : VulkanPast(trace, end, std::move(watch), 0, 0) {}
  // Later calls of `from` give this `cut` or a later call; `alive` needs `end` here. Before the cut the walk forgets
  // edges that no later call can need, whenever there are more than `most_edges`.
  static constexpr size_t MOST_EDGES = 1 << 20;
  VulkanPast(const Trace& trace, uint64_t end, uint64_t cut, size_t most_edges = MOST_EDGES);
  ~VulkanPast();

  struct Kept {  // bits: calls by seq, rows of the tables memory_writes and device_writes
    std::vector<uint8_t> calls, memory_writes, device_writes;
  };
  Kept from(uint64_t cut);  // all calls from there on, and what they need
  // The calls behind what was shown: images after the calls `ends`, and presented ones. The program's own answers count
  // too: results of queries, and bytes that the device stored in mapped memory. Where nothing was presented, all work
  // counts. `kinds` gets the useless work of each other call, beside what is known of it (vulkan_repeats.h).
  Kept shown(const uint64_t* ends, size_t count, uint8_t* kinds);
  // The objects at the end, and their origins. No calls of other APIs are among them.
  Kept alive();
  const std::vector<uint32_t>& others() const { return others_; }  // calls of other APIs
  // Why all earlier calls are kept; empty: they are not.
  const std::string& whole_because() const { return whole_because_; }

 private:
  VulkanPast(const Trace& trace, uint64_t end, Watch watch, uint64_t cut, size_t most_edges);
  struct State {
    virtual ~State() = default;
  };
  struct Object {
    uint32_t kind = 0, node = 0;
    uint64_t handle = 0;
    bool alive = true;
    Object* parent = nullptr;
    std::vector<Object*> children;
    std::unique_ptr<State> state;  // by kind: one of those below
  };
  struct Memory;
  struct Resource;
  struct View;
  struct Framebuffer;
  struct Pass;
  struct SetLayout;
  struct Set;
  struct Template;
  struct Fence;
  struct Semaphore;
  struct Chain;
  struct Queue;
  struct Buffer;
  struct Recording;
  struct Access {
    enum Flag : uint8_t {
      content = 1,         // needs what is there
      layout = 2,          // needs the layout that was left
      writes_content = 4,  // leaves something there
      writes_layout = 8,
      reads = content | layout,
      stores = reads | writes_content,
      changes = stores | writes_layout,
    };
    Object* object;
    uint8_t flags;
  };
  struct Row {
    const Object* memory;
    uint64_t row, before;  // before: the call that it stands before
    uint32_t thread;
    bool device;
    uint64_t offset, bytes;
    std::vector<std::pair<const Object*, uint32_t>> stored;  // resources that the device had written to, and by whom
  };
  using Does = void (VulkanPast::*)(VulkanCall&);

  // ---- the walk (vulkan_past.cc)
  void group(size_t number);
  void tap_record(OpenChunk& chunk, uint32_t record, uint64_t before);
  void take(VulkanCall& call);
  Does choose(const Function& f) const;
  Does choose_object(std::string_view name, const Function& f) const;
  Does choose_queue(std::string_view name) const;
  uint32_t new_node() { return nodes_++; }
  void edge(uint32_t from, uint32_t to) {
    if (from != to && from != NOBODY && to != NOBODY) edges_.emplace_back(from, to);
  }
  void together(uint32_t a, uint32_t b) { edge(a, b), edge(b, a); }
  Kept close(std::vector<uint32_t> roots, uint64_t cut, std::vector<bool>* reached = nullptr);
  std::vector<uint32_t> living();
  void forget();
  std::vector<bool> reach(const std::vector<uint32_t>& roots);
  bool more_roots(const std::vector<bool>& seen, uint64_t cut, std::vector<uint32_t>& roots) const;
  std::vector<bool> written_over(const std::vector<bool>& seen) const;
  Kept everything() const;

  // ---- useless calls (vulkan_waste.cc)
  // The deed of a call, as far as that says why it was useless; `always`: it never is.
  enum class Role : uint8_t { stays, always, works, uploads, waits, updates };
  Role role_of(VulkanCall& call, Does does) const;
  void answers(const VulkanCall& call, Does does);
  bool lacks(uint32_t call, const std::vector<bool>& seen, bool calls) const;

  // ---- objects (vulkan_objects.cc)
  uint32_t kind_of(std::string_view name);
  Object* find(uint32_t kind, uint64_t handle);
  template <class T> T& state(Object& object);
  template <class T> T* state_of(uint32_t kind, uint64_t handle);
  void refer(VulkanCall& call);
  void makes(VulkanCall& call);
  Object& made(VulkanCall& call, uint32_t kind, uint64_t handle, Object* parent, size_t number);
  void describe(VulkanCall& call, Object& object, size_t number);
  void describe_image(Object& object, const vulkan::Node& info);
  void describe_view(Object& object, const vulkan::Node& info);
  void describe_pass(Object& object, const vulkan::Node& info);
  void describe_template(Object& object, const vulkan::Node& info);
  void describe_swapchain(Object& object, const vulkan::Node& info);
  void ends(VulkanCall& call);
  void resets_sets(VulkanCall& call);
  void end(Object& object, uint32_t call);
  void die(Object& object);
  void attaches(VulkanCall& call);
  void asks_of_instance(VulkanCall& call);
  void asks(VulkanCall&) {}
  void always(VulkanCall& call) { always_.push_back(call.node()); }
  void keeps_all(VulkanCall& call);
  void names(VulkanCall& call);
  void binds(VulkanCall& call);
  void bind(Object* object, Object* memory, uint64_t offset, uint32_t call);
  void requirements(VulkanCall& call);
  void maps(VulkanCall& call);
  void unmaps(VulkanCall& call);
  void label_begins(VulkanCall& call);
  void label_ends(VulkanCall& call);

  // ---- descriptor sets (vulkan_sets.cc)
  struct Described {
    Object* object = nullptr;
    uint32_t type = 0;
  };
  void updates(VulkanCall& call);
  void updates_by_template(VulkanCall& call);
  void write_set(uint32_t call, Object& set, const vulkan::Node& write);
  void copy_set(uint32_t call, const vulkan::Node& copy);
  std::vector<Described> described(const vulkan::Node& write);
  std::vector<Described> described(VulkanCall& call, const Template& by, std::string_view data);
  Object* described_object(uint32_t type, uint64_t handle);
  void put_in(Set& set, uint32_t binding, uint32_t element, std::vector<Described>&& what, uint32_t call);
  static uint8_t access_of(uint32_t type);
  void use_set(uint32_t call, Object& set);

  // ---- command buffers (vulkan_commands.cc)
  void begins(VulkanCall& call);
  void command(VulkanCall& call);
  void resets_buffer(VulkanCall& call);
  void resets_buffers(VulkanCall& call);
  Recording& recording(Object& buffer);
  void access(Recording& into, Object* object, uint8_t flags);
  void begin_pass(VulkanCall& call, Recording& into);
  void begin_rendering(VulkanCall& call, Recording& into);
  void barriers(VulkanCall& call, Recording& into);
  void execute(VulkanCall& call, Recording& into);
  void push(VulkanCall& call, Recording& into);
  void plain(VulkanCall& call, Recording& into, uint8_t flags);
  void resets_queries_here(VulkanCall& call, Recording& into);
  void apply(uint32_t call, Object& object, uint8_t flags);
  bool overwrites(VulkanCall& call, const Object& object) const;
  bool covers(const Object* view, const vulkan::Node& area, uint64_t layers) const;

  // ---- queues (vulkan_queues.cc)
  void submits(VulkanCall& call);
  void batch(VulkanCall& call, const vulkan::Node& one, Object* queue);
  void run(VulkanCall& call, uint64_t command_buffer);
  void presents(VulkanCall& call);
  void acquires(VulkanCall& call);
  void signal_fence(uint32_t call, uint64_t fence, Object* queue);
  void signal(uint32_t call, uint64_t semaphore, uint64_t value, Object* queue);
  void wait(uint32_t call, uint64_t semaphore, uint64_t value);
  void waits_fences(VulkanCall& call);
  void asks_fence(VulkanCall& call);
  void waited(uint32_t call, Object& fence, bool alone);
  void resets_fences(VulkanCall& call);
  void waits_semaphores(VulkanCall& call);
  void asks_counter(VulkanCall& call);
  void reached(uint32_t call, uint64_t semaphore, uint64_t value, bool alone);
  void signals_semaphore(VulkanCall& call);
  void waits_idle(VulkanCall& call);
  void sets_event(VulkanCall& call);
  void asks_event(VulkanCall& call);
  void resets_queries(VulkanCall& call);
  void asks_queries(VulkanCall& call);
  void finished(uint32_t wait, Object* queue, uint32_t last);

  const Trace& trace_;
  const uint64_t end_, cut_;
  size_t most_edges_;
  const Watch watch_;
  uint32_t nodes_;
  static constexpr uint64_t MOST_EXECUTED = 1 << 22;
  uint64_t executed_ = 0;  // accesses that the recordings that are held have from secondary command buffers
  std::vector<std::pair<uint32_t, uint32_t>> edges_;
  std::vector<size_t> starts_;             // of the edges of each node, once they are sorted
  std::vector<uint32_t> always_, others_;  // calls that are kept always; calls of other APIs
  std::vector<uint32_t> answers_;          // calls that present, or ask for results of work
  bool presents_ = false;                  // whether any does
  std::vector<Role> roles_;                // of each call, where somebody watches
  std::vector<uint32_t> threads_;          // of each call
  std::vector<bool> submits_;              // of each call: whether it hands work to a queue
  std::vector<Row> rows_;
  std::vector<uint64_t> memory_rows_, device_rows_;  // per chunk: the first row of its table
  uint64_t memory_row_count_ = 0, device_row_count_ = 0;
  std::map<std::string, uint32_t, std::less<>> kinds_;
  std::deque<Object> objects_;
  std::unordered_map<uint64_t, std::vector<Object*>> live_[64];  // by kind and handle, the oldest first
  std::unordered_map<const Function*, Does> chosen_;
  struct Span {
    const Object* of;
    uint32_t begin, end;  // NOBODY: it has not ended
  };
  std::vector<Span> mapped_, labels_;
  std::vector<Object*> addressed_;  // buffers whose address the program knows
  std::string whole_because_;
};

}  // namespace dt::extract
