// A recording of Vulkan as C source: each call as the player would make it, printed instead of made.
//
// Objects become variables, structures become compound literals, contents lie in data.bin. device.c has functions for
// the work that the player does besides calls: it maps memory, chooses devices, makes windows of images.
#pragma once
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "../player/vulkan/arguments.h"
#include "../player/vulkan/handlers.h"
#include "../player/vulkan/late.h"
#include "exporter.h"
#include "names.h"
#include "source.h"
#include "vulkan_values.h"

namespace dt::c {

namespace vk = dt::play::vk;

class VulkanExporter final : vk::Arguments, VulkanValues::Host {
 public:
  VulkanExporter(const Trace& trace, std::string folder, const Options& options);
  std::string run();  // a JSON object that says what was written

 private:
  template <class> friend struct vk::Handlers;
  using Call = vk::Call;
  using Handler = void (VulkanExporter::*)(Call&);
  struct Variable {
    std::string name;
    unsigned kind = 0;
  };

  // ---- walking (vulkan.cc)
  void choose_handlers();
  void record(play::Decoded* chunk, uint32_t number);
  void tap_record(play::Decoded* chunk, uint32_t number);
  void memory_write(const FunctionColumns& c, uint32_t row, bool device);
  void call(Call& c);
  void generic(Call& c);
  void print(Call& c, const std::string& function);
  std::string argument_text(Call& c, int i);
  std::string array_text(Call& c, int i, const Field& field);
  std::string template_text(Call& c, int i);
  int64_t count(const Call& c, int i) const;
  void end_frame(bool whole);
  void line(const std::string& text) { frames_.line(text); }
  void write_tables();

  // ---- objects
  uint64_t add(unsigned kind, uint64_t recorded, uint64_t parent);
  void forget(const vk::Object& object);
  std::string made_before(Call& c, int i, std::string& behind);
  void destroy(Call& c);
  void destroy_as(Call& c, const std::string& function);
  void free_objects(Call& c);
  void reset_pool(Call& c);
  void skip(Call&) {}

  // ---- what relocation and printing ask
  void unknown(int32_t stype) override;
  // Members that a call does not look at keep what was recorded: that is no number of a variable.
  std::string variable(uint64_t number) override {
    return number && number <= variables_of_.size() ? variables_of_[number - 1].name : "VK_NULL_HANDLE";
  }
  std::string scratch() override { return "play_scratch"; }
  std::string name(const Call& c, int i) { return variable(c.arguments[i]); }

  // ---- calls that are more than a call (vulkan_special.cc)
  void create_instance(Call& c);
  void enumerate_devices(Call& c);
  void enumerate_groups(Call& c);
  void physical(uint64_t instance, uint64_t recorded, size_t number);
  void create_device(Call& c);
  void destroy_device(Call& c);
  void get_queue(Call& c);
  void secondary_buffers(Call& c);
  void create_template(Call& c);
  void create_pipeline_cache(Call& c);
  void create_buffer(Call& c);
  void requirements(Call& c);
  void allocate_memory(Call& c);
  void free_memory(Call& c);
  void bind_memory(Call& c);
  void bind(const Call& c, uint64_t resource, uint64_t memory, uint64_t offset, bool image);
  void create_surface(Call& c);
  void forget_surface(Call& c);
  void create_swapchain(Call& c);
  void destroy_swapchain(Call& c);
  void swapchain_images(Call& c);
  void acquire(Call& c);
  void acquire2(Call& c);
  void present(Call& c);
  static std::string wait_text(const std::string& device, const std::string& semaphore, uint64_t value, uint64_t ns);
  void wait_fences(Call& c);
  void fence_status(Call& c);
  void wait_semaphores(Call& c);
  void semaphore_value(Call& c);
  void event_status(Call& c);
  void submit(Call& c);
  void queue_idle(Call& c);
  void create_query_pool(Call& c);
  void query_results(Call& c);

  std::string folder_;
  std::vector<play::Mapping> mapping_;
  std::vector<Handler> handlers_;
  Variables variables_;
  Data data_;
  Frames frames_;
  VulkanValues values_;
  std::vector<Variable> variables_of_;                          // by number - 1
  std::map<unsigned, std::vector<uint64_t>> free_;              // numbers that may be used again
  std::map<unsigned, unsigned> counts_;                         // variables of a kind
  std::unordered_map<uint64_t, uint64_t> sizes_;                // of memory, buffers and images
  std::unordered_map<uint64_t, VkQueryType> query_types_;       // of pools
  std::unordered_map<uint64_t, std::vector<uint64_t>> images_;  // recorded ones of swapchains
  vk::LateWaits late_;
  std::set<std::string> used_;  // functions
  std::map<std::string, uint64_t> left_out_;
};

}  // namespace dt::c
