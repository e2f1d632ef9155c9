// The facts about objects of Vulkan during a walk over calls. Part of VulkanPast.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "vulkan_past.h"

namespace dt::extract {

constexpr uint64_t NO_SIZE = UINT64_MAX;

struct VulkanPast::Memory : State {
  std::vector<Object*> bound;
  uint32_t map = NOBODY;  // among mapped_
};

// An image, a buffer, an event, a query pool: what holds what work of the device leaves behind.
struct VulkanPast::Resource : State {
  uint32_t content = NOBODY, layout = NOBODY;  // who left them there
  Object* memory = nullptr;
  uint64_t offset = 0, bytes = NO_SIZE;
  bool linear = false, shares = false;  // whether other resources in the same memory may see its contents
  std::vector<Object*> aliases;
  uint64_t width = 0, height = 0, depth = 1, levels = 1, layers = 1, format = 0;  // of an image
  uint64_t size = 0;                                                              // of a buffer
  uint64_t queries = 0;                                                           // of a query pool
};

struct VulkanPast::View : State {  // of an image or a buffer
  Object* of = nullptr;
  bool whole = false;
};

struct VulkanPast::Framebuffer : State {
  std::vector<Object*> views;
  uint64_t layers = 1;
};

struct VulkanPast::Pass : State {
  struct Attachment {
    bool used = false, fresh = false, undefined = false, stays = false;
    // fresh: nothing of its content is loaded; undefined: nor of its layout; stays: its layout is the same afterwards
  };
  std::vector<Attachment> attachments;
};

struct VulkanPast::SetLayout : State {
  std::map<uint32_t, uint32_t> counts;  // of descriptors, by binding
};

struct VulkanPast::Set : State {
  struct Entry {
    std::vector<Described> what;
    uint32_t by = NOBODY;  // the call that wrote it
  };
  const SetLayout* layout = nullptr;
  std::map<std::pair<uint32_t, uint32_t>, Entry> entries;  // by binding and element
  std::vector<uint32_t> always;                            // calls that wrote parts of which nothing more is known
  uint32_t node = NOBODY;                                  // all of it, as it is
  // Descriptors that are used: entries with resources.
  uint32_t whole(VulkanPast& past) {
    if (node != NOBODY) return node;
    node = past.new_node();
    for (auto& [place, entry] : entries) past.edge(node, entry.by);
    for (uint32_t call : always) past.edge(node, call);
    return node;
  }
};

struct VulkanPast::Template : State {
  struct Entry {
    uint32_t binding, element, count, type;
  };
  std::vector<Entry> entries;
};

struct VulkanPast::Fence : State {
  uint32_t signaller = NOBODY, reset = NOBODY;
  Object* queue = nullptr;
};

struct VulkanPast::Semaphore : State {
  bool timeline = false;
  uint64_t initial = 0;
  uint32_t pending = NOBODY;  // who signals it, until somebody waits
  struct Signal {
    uint64_t value;
    uint32_t by;
    Object* queue;
  };
  std::vector<Signal> signals;
  std::vector<std::pair<uint64_t, uint32_t>> waiting;  // for signals that come later
};

struct VulkanPast::Chain : State {
  uint64_t width = 0, height = 0, layers = 1;
  std::vector<Object*> images;
  std::map<uint32_t, uint32_t> acquired;  // calls by index
};

struct VulkanPast::Queue : State {
  std::vector<uint32_t> unwaited;  // what it was given since the program last waited for it
};

struct VulkanPast::Recording {
  uint32_t node = NOBODY;
  std::vector<Access> accesses;
  uint64_t executed = 0;                          // of them those of secondary command buffers
  std::vector<std::pair<Object*, uint8_t>> seen;  // small: of the last accesses
};

struct VulkanPast::Buffer : State {
  std::shared_ptr<Recording> recording;  // what it holds
};

template <class T> T& VulkanPast::state(Object& object) {
  if (!object.state) object.state = std::make_unique<T>();
  return static_cast<T&>(*object.state);
}

template <class T> T* VulkanPast::state_of(uint32_t kind, uint64_t handle) {
  Object* object = find(kind, handle);
  return object ? &state<T>(*object) : nullptr;
}

}  // namespace dt::extract
