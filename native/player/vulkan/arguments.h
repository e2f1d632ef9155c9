// Arguments of recorded calls as a driver takes them: what the player and the writer of C source share.
#pragma once
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "../blobs.h"
#include "objects.h"
#include "relocation.h"
#include "running.h"
#include "stores.h"

namespace dt::size {
// Command buffers of this thread's recording that are secondary ones.
extern thread_local std::unordered_set<uint64_t> g_secondary;
}  // namespace dt::size

namespace dt::play::vk {

struct Content {
  const uint8_t* data = nullptr;
  uint64_t bytes = 0;
  explicit operator bool() const { return data; }
};

// Why a recording cannot be played, by kinds of calls; "": it can.
std::string refused_calls(const Trace& trace, const std::vector<Mapping>& mapping);

class Arguments : public Relocation::Host {
 protected:
  explicit Arguments(const Trace& trace) : trace_(trace) {}
  ~Arguments() = default;
  using Watcher = void (Arguments::*)(Call&);
  // The function that notes where the device stores by this command, or how a semaphore is; nullptr: there is none.
  static Watcher watcher_of(uint16_t of);

  using TemplateParts = std::vector<std::pair<VkDescriptorType, uint32_t>>;
  static TemplateParts pack(VkDescriptorUpdateTemplateCreateInfo& info);

  void argument(Call& c, int i);
  void arguments(Call& c);  // all of them
  void* structures(Call& c, int i, int64_t need);
  Content content(const Call& c, int i);
  template <class T> std::vector<T> recorded_array(const Call& c, int i);
  // The plain structure that a query answered with; nullptr: it was not recorded.
  template <class T> const T* answer_of(const Call& c, int i, size_t inside = 0) {
    const Content in = content(c, i);
    if (!in || in.bytes < 8 || inside >= (in.bytes - 8) / sizeof(T)) return nullptr;
    auto* copy = static_cast<T*>(room(sizeof(T)));
    memcpy(copy, in.data + 8 + inside * sizeof(T), sizeof(T));
    return copy;
  }
  void properties(Call& c);  // of a physical device: it notes the recorded ones
  void memory_properties(Call& c);
  // A call can be made where the recorded one succeeded, or where nothing depends on its result.
  static bool succeeded(const Call& c) { return !c.command.judged || c.result() >= 0; }
  void note_levels(const Call& c);  // which of the new command buffers are secondary
  // Bytes of mapped memory that changed: the recorded memory, the offset in it, the bytes (`missing`: they are not
  // recorded). False: the record says nothing.
  struct Stored {
    uint64_t memory = 0, offset = 0;
    std::string_view bytes;
    bool missing = false;
  };
  bool stored(const FunctionColumns& c, uint32_t row, Stored& out);
  [[noreturn]] void fail(int code, const std::string& what) const;
  std::string where() const;

  // ---- what relocation asks
  uint64_t handle(unsigned kind, uint64_t recorded, bool any) override;
  bool stays(int32_t stype) override;
  void* room(size_t bytes) override;
  void described(uint64_t update, uint8_t* at, size_t bytes) override;

  // ---- semaphores
  void watch_semaphore(Call& c) { work_.made(*c.at<uint64_t>(3), *c.at<VkSemaphoreCreateInfo>(1)); }
  void watch_import(Call& c) { work_.imported((uint64_t)c.at<VkImportSemaphoreFdInfoKHR>(1)->semaphore); }
  void watch_signal(Call& c) {
    const auto* info = c.at<VkSemaphoreSignalInfo>(1);
    work_.gets((uint64_t)info->semaphore, info->value);
  }

  // ---- where the device may store
  void watch_view(Call& c);
  void watch_format(Call& c);  // of an image
  void watch_transfer(Call& c);
  template <class Region> uint64_t copied_bytes(VkImage image, const Region& region) const;
  void watch_descriptors(Call& c);
  void stored_by(VkDescriptorType type, const VkDescriptorBufferInfo* buffer, const VkBufferView* view);

  struct Recorded {  // what the recording says of a physical device
    std::string name;
    VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
    VkPhysicalDeviceMemoryProperties memory{};
  };

  const Trace& trace_;
  std::unordered_map<uint64_t, Recorded> recorded_;  // by recorded handle
  Stores stores_;
  Running work_;
  std::unordered_map<uint64_t, VkFormat> formats_;  // of images
  Blobs blobs_;
  std::vector<Blobs::Bytes> held_;  // contents of the running call
  std::vector<std::unique_ptr<uint8_t[]>> rooms_;
  Objects objects_;
  std::unordered_map<uint64_t, TemplateParts> templates_;
  const char* running_ = "";
  uint64_t seq_ = 0;
};

}  // namespace dt::play::vk
