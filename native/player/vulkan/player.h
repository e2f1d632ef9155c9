// Plays a recording of Vulkan: what all its parts share.
//
// Each call is made again in the recorded order on one thread. Objects get the handles of the driver here. Windows are
// images of the player's own. The player repeats the program's stores in mapped memory, each before its call in the
// recording. It does not repeat the device's stores: the device does so itself, and `verify` compares.
#pragma once
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "../../common/json.h"
#include "../../state/feed.h"
#include "../findings.h"
#include "../options.h"
#include "arguments.h"
#include "question.h"
#include "late.h"
#include "running.h"
#include "snapshots.h"

namespace dt::play::vk {

struct Memory {
  Device* device = nullptr;
  uint64_t bytes = 0;
  uint32_t type = 0, properties = 0;
  uint8_t* at = nullptr;  // all of it, from the first time on that the program maps it
};

struct Swapchain {
  Device* device = nullptr;
  VkSwapchainCreateInfoKHR info{};
  std::vector<VkImage> images;
  std::vector<VkDeviceMemory> memory;
  std::vector<uint64_t> recorded;  // handles of the images
};

struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;  // RGBA, the lowest row first
};

class Meter;
template <class Of> struct Handlers;

class Player final : Arguments, Snapshots::Host {
 public:
  // `meter` is shown what is played; nullptr: nothing is measured.
  Player(const Trace& trace, const Options& options, Meter* meter);
  ~Player();
  int run();
  Heartbeat* heartbeat() { return heartbeat_; }

 private:
  template <class> friend struct Handlers;
  using Handler = void (Player::*)(Call&);

  void choose_handlers();

  // ---- calls (play.cc)
  void play(Decoded* chunk, uint32_t record);
  void tap_record(Decoded* chunk, uint32_t record);
  void refuse_recording() const;
  void call(Call& c);
  void generic(Call& c);
  void build(Call& c);
  uint64_t invoke(Call& c);
  void made(Call& c);
  void check(Call& c, VkResult now);
  void destroy(Call& c);
  void free_objects(Call& c);
  void reset_pool(Call& c);
  void skip(Call&) {}

  // ---- what relocation asks
  void unknown(int32_t stype) override;

  // ---- instances and devices (setup.cc)
  void create_instance(Call& c);
  void destroy_instance(Call& c);
  void enumerate_devices(Call& c);
  void enumerate_groups(Call& c);
  void create_device(Call& c);
  void destroy_device(Call& c);
  void get_queue(Call& c);
  void choose_physical(Call& c, VkDeviceCreateInfo& info);
  void supported_features(Call& c, VkDeviceCreateInfo& info);
  uint32_t supported(std::vector<const char*>& kept, const char* const* names, uint32_t count,
                     const std::unordered_set<std::string>& here, const char* what);
  void secondary_buffers(Call& c);
  void create_template(Call& c);
  void create_pipeline_cache(Call& c);

  // ---- memory (memory.cc)
  void allocate_memory(Call& c);
  void free_memory(Call& c);
  void enlarge(Device& device, VkMemoryAllocateInfo& info);
  VkDeviceMemory allocate(Device& device, const VkMemoryRequirements& needs, VkMemoryPropertyFlags properties,
                          const char* without);  // fails with "there is no memory", and what lacks it
  VkDeviceMemory own_memory(Table& table, uint64_t image, const VkMemoryRequirements& needs);
  void free_own_memory(Table& table, uint64_t image);
  void map_memory(Call& c);
  void flush_memory(Call& c);
  void memory_write(const FunctionColumns& c, uint32_t row, bool device);
  uint8_t* mapped(Memory& memory, VkDeviceMemory handle);
  uint32_t memory_type(const Device& device, uint32_t bits, uint32_t wanted) const;

  void take(Memory& memory, VkDeviceMemory handle, uint64_t offset, std::string_view bytes);
  void compare(Device& device, const uint8_t* now, uint64_t offset, std::string_view bytes);

  // ---- where the device may store (stores.cc)
  void watch_stores();
  void bind_memory(Call& c);
  void bind(Table& table, uint64_t resource, VkDeviceMemory& memory, uint64_t& offset, bool image);
  void watch_image(Call& c);

  // ---- windows (swapchain.cc)
  void create_surface(Call& c);
  void forget_surface(Call& c);
  void create_swapchain(Call& c);
  void destroy_swapchain(Call& c);
  void swapchain_images(Call& c);
  void acquire(Call& c);
  void acquire2(Call& c);
  void hand_on(Device& device, VkQueue queue, uint32_t waits, const VkSemaphore* wait, VkSemaphore signal,
               VkFence fence);
  void acquired(Call& c, VkSemaphore semaphore, VkFence fence);
  void present(Call& c);
  void make_images(Swapchain& chain, size_t count);
  void drop_images(Swapchain& chain);
  bool read_shown(Picture& picture);

  // ---- waits (waits.cc)
  void wait_fences(Call& c);
  void fence_status(Call& c);
  void wait_semaphores(Call& c);
  void semaphore_value(Call& c);
  void end_timeline(Table& table, VkDevice device, VkSemaphore semaphore);  // before it is destroyed
  void event_status(Call& c);
  void query_results(Call& c);
  void create_query_pool(Call& c);
  void watch_submit(Call& c);
  [[noreturn]] void never_signalled() const;
  void watch_events(Call& c);
  bool work_ends(Device& device);
  void expect_end(Device& device);
  void wait_idle(Device& device, VkQueue queue = nullptr) override;
  void queue_idle(Call& c);

  // ---- pictures of what commands drew (pictures.cc)
  void watch_pictures();
  bool wanted(const KeptCommand& command, uint64_t submit, uint64_t bytes) override;
  void pictured(const Taken& taken, std::vector<AttachmentImage>& images) override;
  uint32_t memory_type_of(const Device& device, uint32_t bits, uint32_t wanted) const override {
    return memory_type(device, bits, wanted);
  }
  VkImage image_of(uint64_t recorded) const override;
  uint64_t name_of(VkImage image) const override;
  void save(const Taken& taken, const std::vector<AttachmentImage>& images, const std::string& base);
  void tell_unseen();

  // ---- requests (serving.cc)
  bool serve(uint64_t next);
  bool read_request();
  bool stands_at(uint64_t next) const;
  void answer(uint64_t next);
  void answer_look();
  void forget_look();

  // ---- contents of images and buffers (held.cc)
  void parse_held(const Json& json);
  void answer_held();
  Device* find_held(Held& held);
  void hold(Taken& taken, const Device& device) override;
  void save_held(const Taken& taken);
  bool read_mapped(const Held& held, uint32_t layer, std::vector<uint8_t>& bytes);

  // ---- frames (frames.cc)
  void frame_end();
  bool save_picture(uint64_t frame, const std::string& path);
  void report(std::string kind, uint64_t call, std::string function, std::string text) {
    findings_.add(std::move(kind), call, std::move(function), std::move(text));
  }
  void progress();
  void finish();

  bool in_range() const { return frame_ >= options_.first_frame && frame_ < options_.end_frame; }

  const Options& options_;
  Meter* const meter_;
  std::vector<Mapping> mapping_;
  std::vector<Handler> handlers_, watchers_;  // instead of what is generic; after that
  std::unique_ptr<Snapshots> snapshots_;      // where pictures of what commands drew are wanted
  Picture* picture_ = nullptr;                // of what was shown, while that is read
  uint64_t draws_seen_ = 0;
  std::vector<bool> executions_seen_;  // of options_.executions
  struct Request {
    uint64_t seq = 0, draw = NO_DRAW, small = 0;  // how wide a picture may be; 0: as it is
    std::string what, file;
    std::vector<Held> held;
    bool met = false;  // the request's command ran
  };
  std::unique_ptr<Question> question_;  // of the last request that looks
  struct Served {
    Taken taken;
    std::vector<AttachmentImage> images;
  };
  static constexpr uint64_t NO_DRAW = UINT64_MAX;
  Request request_;
  bool waits_ = false;                  // for the request's call
  std::map<uint64_t, Served> served_;   // by draw: pictures of the last request's submission
  uint64_t answered_ = 0, passed_ = 0;  // the call of the last answer; calls before this one are behind
  std::unique_ptr<Feed> feed_;
  std::vector<std::unique_ptr<Table>> tables_;
  Table global_;
  std::unordered_map<VkDeviceMemory, Memory> memory_;
  std::unordered_set<uint64_t> opaque_;                      // images whose bytes have a meaning for the driver alone
  std::unordered_map<uint64_t, VkDeviceMemory> own_memory_;  // by image: in place of the recorded one
  std::vector<std::unique_ptr<Swapchain>> swapchains_;
  Swapchain* shown_ = nullptr;  // presented last
  uint32_t shown_index_ = 0;
  uint64_t fakes_ = 0;
  std::unordered_map<uint64_t, VkQueryType> query_types_;
  bool awaits_events_ = false;
  std::string engine_;
  LateWaits late_;

  uint64_t end_seq_ = UINT64_MAX, frame_ = 0, frames_ = 0, calls_ = 0, skipped_ = 0;
  uint64_t compared_ = 0, different_ = 0, uncompared_ = 0;
  std::vector<uint64_t> ends_;
  size_t next_end_ = 0;
  bool presented_ = false;  // since the last frame's end
  Findings findings_;
  FILE* status_ = nullptr;
  double started_ = 0, measured_from_ = 0, ended_ = 0, last_progress_ = 0;
  uint64_t calls_at_start_ = 0;
  std::vector<double> frame_times_;
  Heartbeat no_beat_ = NO_BEAT;
  Heartbeat* heartbeat_ = &no_beat_;
};

}  // namespace dt::play::vk
