// Tables of functions, and calls as they are made again.
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "../../state/feed.h"
#include "commands.h"

namespace dt::play::vk {

constexpr uint64_t LONG_NS = 60'000'000'000;   // nothing takes so long that comes to an end
constexpr uint64_t ENOUGH_NS = 1'000'000'000;  // for what a driver does to timelines behind the end of work
uint64_t longest_wait_ns();                    // DRAWTAP_LONGEST_WAIT in seconds, or LONG_NS

// Functions of an instance or of a device, looked up when they are first needed.
struct Table {
  VkInstance instance = nullptr;
  VkDevice device = nullptr;
  std::vector<void*> functions = std::vector<void*>(number::COMMANDS);
  virtual ~Table() = default;
  void* get(uint16_t number);  // by either name; nullptr: the driver does not have it
  void* get(const Command& called) { return get(static_cast<uint16_t>(&called - COMMANDS)); }
};
#define DT_VK(table, name) (reinterpret_cast<type::name>((table).get(number::name)))

struct Instance : Table {
  std::vector<VkPhysicalDevice> physical;
};

// The player's own needs on a device: to hand on semaphores and fences, to read images.
struct Device : Table {
  VkPhysicalDevice physical = nullptr;
  VkPhysicalDeviceMemoryProperties memory{};
  std::vector<uint32_t> memory_types;  // by the recorded number
  VkQueue queue = nullptr;
  uint32_t family = 0;
  bool captures = false;  // it has transform feedback
};

// The reason that a driver's result gives for what it did not do; `what` it is about.
std::string refusal(VkResult result, const std::string& what);
void expect(VkResult result, const std::string& what);  // throws Error with that
template <class Info, class Made>
Made make(Device& device, VkResult (*create)(VkDevice, const Info*, const VkAllocationCallbacks*, Made*),
          const Info& info, const char* what) {
  Made made = nullptr;
  expect(create(device.device, &info, nullptr, &made), what);
  return made;
}
VkFence make_fence(Device& device);
VkCommandPool make_pool(Device& device, uint32_t family, VkCommandPoolCreateFlags flags = 0);
VkCommandBuffer make_commands(Device& device, VkCommandPool pool);
void begin_once(Device& device, VkCommandBuffer commands);
void submit(Device& device, VkQueue queue, VkCommandBuffer commands, VkFence fence);  // commands: nullptr for none

// Waits until the fence is signalled. Throws Error where that takes too long, or the device is lost.
void expect_signal(Device& device, VkFence fence, const char* what);

// A recorded call, and what becomes of it.
struct Call {
  const Command& command;
  uint16_t number;
  const Columns& columns;
  uint32_t row;
  Table* table = nullptr;
  uint64_t arguments[MOST_PARAMS] = {};
  const Param& param(int i) const { return PARAMS[command.first + i]; }
  template <class T> T* at(int i) const { return reinterpret_cast<T*>(arguments[i]); }
  template <class T> T as(int i) const { return reinterpret_cast<T>(arguments[i]); }
  // The recorded value of a parameter.
  uint64_t recorded(int i) const { return value(param(i).width, static_cast<size_t>(param(i).slot)); }
  VkResult result() const { return static_cast<VkResult>(value(command.result_width, command.result_slot)); }
  uint64_t value(unsigned width, size_t slot) const {
    return width == 8 ? columns.w8[slot][row] : columns.w4[slot][row];
  }
};

struct Object {
  uint64_t now = 0;
  Table* owner = nullptr;
  uint64_t parent = 0;  // the pool here
};

// Objects by kind and recorded handle. Drivers give equal objects one handle, and a handle may come again before the
// call that ended the first one returns: the oldest object of a handle ends first.
class Objects {
 public:
  void add(unsigned kind, uint64_t recorded, const Object& object);
  const Object* find(unsigned kind, uint64_t recorded) const {
    auto it = current_[kind].find(recorded);
    return it == current_[kind].end() ? nullptr : &it->second;
  }
  Object* find(unsigned kind, uint64_t recorded) {
    auto it = current_[kind].find(recorded);
    return it == current_[kind].end() ? nullptr : &it->second;
  }
  // The recorded handle of an object here; 0: there is none.
  uint64_t recorded(unsigned kind, uint64_t now) const {
    for (auto& [recorded, object] : current_[kind])
      if (object.now == now) return recorded;
    return 0;
  }
  bool take(unsigned kind, uint64_t recorded, Object& out);
  template <class F> void each(F&& look) const {
    for (unsigned kind = 0; kind < KINDS; ++kind) {
      for (auto& one : current_[kind]) look(kind, one.second);
      for (auto& one : older_[kind]) look(kind, one.second);
    }
  }
  template <class F> void drop(F&& which) {
    for (unsigned kind = 0; kind < KINDS; ++kind) {
      std::erase_if(current_[kind], [&](auto& each) { return which(kind, each.second); });
      std::erase_if(older_[kind], [&](auto& each) { return which(kind, each.second); });
    }
  }

 private:
  std::unordered_map<uint64_t, Object> current_[KINDS];
  std::multimap<uint64_t, Object> older_[KINDS];
};

}  // namespace dt::play::vk
