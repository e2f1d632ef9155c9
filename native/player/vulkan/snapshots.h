// Pictures of what commands drew, taken while command buffers run.
//
// Commands are kept as they are recorded. Where a submitted command buffer holds a command whose picture is wanted, a
// copy is submitted in its place. In the copy, secondary command buffers are unfolded. Its render pass ends behind the
// command, lets images be copied, and goes on with its stored content. Nothing else is done differently.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../image.h"
#include "objects.h"
#include "variants.h"

namespace dt::play::vk {

class Question;
struct KeptBuffer;
// A command of a command buffer; it can be made again.
struct KeptCommand {
  const Command* command = nullptr;
  uint16_t number = 0;
  uint64_t seq = 0;
  Table* table = nullptr;
  uint64_t arguments[MOST_PARAMS] = {};
  std::vector<std::unique_ptr<uint8_t[]>> rooms;          // what the arguments lead to
  std::vector<std::shared_ptr<const KeptBuffer>> inside;  // of vkCmdExecuteCommands
  template <class T> const T* at(int i) const { return reinterpret_cast<const T*>(arguments[i]); }
};
struct KeptBuffer {
  std::vector<KeptCommand> commands;
};
using Stream = std::vector<const KeptCommand*>;  // what runs, secondary command buffers unfolded

struct KeptImage {
  VkFormat format = 0;
  VkExtent3D extent{};
  VkImageType type = 0;
  uint32_t samples = 1;
  bool readable = true, linear = false;
  uint32_t levels = 1, layers = 1;
  VkImageLayout initial = 0;
  std::vector<VkImageLayout> layouts;  // of levels, and in them of layers; none: all are in the initial one
  bool stored = false;                 // shaders may store to it
  VkImageLayout layout(uint32_t level, uint32_t layer) const;
};
struct KeptView {
  VkImage image = nullptr;
  VkFormat format = 0;
  VkImageSubresourceRange range{};
};
struct Descriptor {
  VkDescriptorType type = 0;
  VkDescriptorBufferInfo buffer{};
  VkDescriptorImageInfo image{};
};
using SetLayout = std::map<uint32_t, std::pair<VkDescriptorType, uint32_t>>;  // by binding: type, count
struct KeptSet {
  std::shared_ptr<const SetLayout> layout;
  std::map<std::pair<uint32_t, uint32_t>, Descriptor> content;  // by binding and element
};
enum Variant : uint8_t { FIRST, MIDDLE, LAST };  // parts of a render pass that is interrupted
// A render pass, whichever commands make and begin it.
struct FlatPass {
  struct Attachment {
    VkImageView view = nullptr;
    VkAttachmentLoadOp load = VK_ATTACHMENT_LOAD_OP_LOAD, stencil_load = VK_ATTACHMENT_LOAD_OP_LOAD;
    VkImageLayout layout = VK_IMAGE_LAYOUT_GENERAL;  // while it runs
    VkImageLayout last = VK_IMAGE_LAYOUT_GENERAL;    // that a render pass leaves it in
  };
  struct Subpass {
    std::vector<uint32_t> colors, resolves;  // numbers of attachments, or VK_ATTACHMENT_UNUSED
    uint32_t depth = VK_ATTACHMENT_UNUSED, stencil = VK_ATTACHMENT_UNUSED;
    std::set<uint32_t> uses;  // attachments that it draws to, reads or preserves
    uint32_t views = 0;       // the mask of several views
  };
  std::vector<Attachment> attachments;
  std::vector<Subpass> subpasses;
  std::vector<VkImageView> resolved;  // images that get resolved samples
  VkRect2D area{};
  bool rendering = false;
  bool is_lost(uint32_t subpass, uint32_t attachment) const;  // the subpasses behind one leave it undefined
};
template <class Info> FlatPass flat_pass(const Info& info);  // without its views
struct KeptPass {
  std::vector<std::unique_ptr<uint8_t[]>> rooms;
  const VkRenderPassCreateInfo* one = nullptr;  // either of them
  const VkRenderPassCreateInfo2* two = nullptr;
  FlatPass flat;
  VkRenderPass variants[3] = {};
};

// A copy out of an image, and its place in the room that it is read from.
struct Shot {
  std::string name;  // "" the colour that is drawn to first, "color1", "depth", "stencil"
  VkImage image = nullptr;
  VkFormat format = 0;
  VkImageLayout layout = 0;
  uint32_t aspect = 0, samples = 1, level = 0, layer = 0, width = 0, height = 0;
  bool slice = false;  // the layer is one of depth
  bool raw = false;    // it is no picture: texels are copied as they are kept, all `depth` slices
  uint32_t depth = 1;
  uint32_t x = 0, y = 0;  // where it begins in the image
  uint64_t at = 0;
};
// A wanted content: of a buffer, or of a level of an image.
struct Held {
  static constexpr uint64_t NOWHERE = ~0ull, MAPPED = ~0ull - 1;
  bool is_image = false;
  uint64_t name = 0;  // the recorded handle
  uint32_t level = 0, aspect = 0, block_width = 1, block_height = 1, block_bytes = 1;
  uint32_t across = 1, down = 1;  // texels of the image for one of the aspect: planes may be smaller
  std::string file, why;          // why there is none
  size_t number = 0;              // among the contents of one request
  VkImage image = nullptr;
  VkBuffer buffer = nullptr;
  uint32_t size[3] = {};         // with layers as depth
  uint64_t bytes = 0;            // of a layer
  std::vector<uint64_t> layers;  // where they lie in the room; NOWHERE: nothing was stored; MAPPED: in mapped memory
};
struct StoredBytes {
  std::string name;
  VkBuffer buffer = nullptr;
  uint64_t from = 0, bytes = 0, at = 0;
};
struct Room {
  VkBuffer buffer = nullptr;
  VkImage image = nullptr;
  VkDeviceMemory memory = nullptr;
  void* at = nullptr;
  VkRenderPass pass = nullptr;  // that resolves samples
  VkFramebuffer framebuffer = nullptr;
  VkImageView views[2] = {};
};
// One execution of a command, of which pictures are taken.
struct Taken {
  uint64_t call = 0, submit = 0;
  uint32_t place = 0;  // among the draws and dispatches of the submission
  std::vector<Shot> shots;
  std::vector<StoredBytes> stored;
  std::vector<Held> held;  // instead of pictures
  std::vector<std::string> why;
  uint64_t bytes = 0;
  Room room;
  static constexpr size_t NO_EVENT = SIZE_MAX;
  size_t event = NO_EVENT, events = 0;  // of a pixel's history: which one it is behind, and how many are before it
};
// Occlusion queries of one draw, for a pixel's history.
struct Tested {
  size_t event = 0;
  uint32_t first = 0, tests = 0;  // its queries in the pool; a bit for each test that has one
  bool outside = false;           // the program's scissor leaves out the pixel
  bool around = false;            // a last one counts what the draw itself lets through; all of them count exactly
  VkQueryPool pool = nullptr;
};

class Snapshots {
 public:
  struct Host {
    virtual uint32_t memory_type_of(const Device& device, uint32_t bits, uint32_t wanted) const = 0;
    // Returns whether this execution is pictured. `bytes`: of the pictures that the submission has already.
    virtual bool wanted(const KeptCommand& command, uint64_t submit, uint64_t bytes) = 0;
    // Says which contents are wanted, where these are no pictures.
    virtual void hold(Taken& taken, const Device& device) = 0;
    virtual void pictured(const Taken& taken, std::vector<AttachmentImage>& images) = 0;
    virtual VkImage image_of(uint64_t recorded) const = 0;      // nullptr: there is none now
    virtual uint64_t name_of(VkImage image) const = 0;          // the recorded handle; 0: a window's
    virtual void wait_idle(Device& device, VkQueue queue) = 0;  // nullptr: for all queues

   protected:
    ~Host() = default;
  };
  // `whole`: of all images and buffers, not of those alone that are drawn or stored to.
  // `looks`: pipelines are kept, for questions about draws.
  Snapshots(Host& host, unsigned attachments, bool whole, bool looks)
      : host_(host), attachments_(attachments), whole_(whole), looks_(looks) {}
  void look(Question* question) { question_ = question; }  // from now on; nullptr: no more

  void prepare(Call& c, uint64_t seq);  // before a call is made: with what images are to be used for; other buffers
  void keep(Call& c, uint64_t seq, std::vector<std::unique_ptr<uint8_t[]>>& rooms);  // after it
  // An object ends. False: the driver's stays until `end`, for command buffers are copied that need it.
  bool forget(unsigned kind, uint64_t now, Table& table);
  void add_image(VkImage image, const KeptImage& about) { images_[image] = about; }
  const KeptImage* image(VkImage image) const {
    auto it = images_.find(image);
    return it == images_.end() ? nullptr : &it->second;
  }
  void add_queue(VkQueue queue, uint32_t family) { families_[queue] = family; }
  void read(Device& device, Taken taken);  // as it is now: all that was submitted ends first
  void collect();                          // waits for pictures that are under way, and hands them on
  void collect(uint64_t submit);           // pictures of one submission alone
  void end(Table& device);                 // before it is destroyed

 private:
  friend class Copier;
  friend class Question;
  friend class PixelPlan;
  friend class CountPlan;
  friend class FragmentPlan;
  friend class VertexPlan;
  friend class Walk;
  struct Submission {
    Device* device = nullptr;
    VkFence fence = nullptr;
    VkCommandPool pool = nullptr;
    std::vector<Taken> taken;
    std::vector<Room> rooms;
    std::vector<Taken> reads;  // of one pixel; their room is one of `rooms`
    std::vector<Tested> tested;
    std::vector<VkQueryPool> queries;
    uint64_t bytes = 0, seq = 0;
  };
  void keep_command(Call& c, uint64_t seq, std::vector<std::unique_ptr<uint8_t[]>>& rooms);
  void more_use(Call& c);
  void keep_descriptors(const Call& c);
  void keep_template(const Call& c);
  void put(VkDescriptorSet set, uint32_t binding, uint32_t element, const Descriptor& what);
  void submit(Call& c, uint64_t seq);
  void follow(const KeptCommand& command);
  void follow_pass(const KeptCommand& begin);
  void turn(VkImage image, const VkImageSubresourceRange& range, VkImageLayout to);
  std::vector<VkImageView> views_of(const KeptCommand& begin) const;  // of a render pass
  FlatPass flat(const KeptCommand& begin) const;
  VkCommandBuffer copied(Submission& s, VkCommandBuffer of, VkQueue queue, uint64_t seq, uint32_t& place);
  VkCommandBuffer looked_at(Submission& s, VkCommandBuffer of, VkQueue queue, uint64_t seq);
  void keep_pipelines(const Call& c, std::vector<std::unique_ptr<uint8_t[]>>& rooms);
  VkRenderPass variant(Table& table, VkRenderPass of, Variant which);
  VkCommandBuffer commands(Submission& s, VkQueue queue);
  void take(Submission& s);
  void free_room(Device& device, Room& room);

  Host& host_;
  unsigned attachments_;
  bool whole_, looks_;
  Question* question_ = nullptr;
  std::unordered_map<VkPipeline, KeptPipeline> pipelines_;
  std::unordered_map<VkShaderModule, ShaderUse> modules_;
  std::unordered_map<VkCommandBuffer, std::shared_ptr<KeptBuffer>> buffers_;
  std::unordered_map<VkImage, KeptImage> images_;
  std::unordered_map<VkImageView, KeptView> views_;
  std::unordered_map<VkRenderPass, KeptPass> passes_;
  std::unordered_map<VkFramebuffer, std::vector<VkImageView>> framebuffers_;
  std::unordered_map<VkQueue, uint32_t> families_;
  std::unordered_map<VkBuffer, uint64_t> sizes_;
  std::unordered_map<VkDescriptorSetLayout, std::shared_ptr<const SetLayout>> layouts_;
  std::unordered_map<VkDescriptorSet, KeptSet> sets_;
  std::unordered_map<VkDescriptorUpdateTemplate, std::vector<VkDescriptorUpdateTemplateEntry>> templates_;
  std::vector<Submission> under_way_;
  std::vector<std::pair<unsigned, uint64_t>> ended_;  // kinds and objects that live as long as their device
  bool submitted_ = false;                            // by the running call
};

// Bytes of a texel in a room; and the pixels of the picture, the lowest row first.
uint32_t texel_bytes(VkFormat format, uint32_t aspect);
bool reads_plainly(VkFormat format);  // as a colour; others are converted by the device
// Integers, which are copied as they are; no channels: others.
struct Integers {
  uint32_t channels = 0, bytes = 0;  // bytes of a channel; 0: ten bits and two of alpha
  bool negative = false, blue_first = false;
};
Integers integers_of(VkFormat format);
// Why a picture of such a colour cannot be made; nullptr: it can.
const char* unreadable(Device& device, VkFormat format);
AttachmentImage read_shot(const Shot& shot, const void* room);
bool has_depth(VkFormat format);
bool has_stencil(VkFormat format);
uint32_t aspects_of(VkFormat format);
bool begins_rendering(const KeptCommand& command);
bool goes_on(uint16_t number);  // to the next subpass
void follow_open(std::vector<std::string>& open, std::string_view name);
void unfold(const KeptBuffer& buffer, Stream& stream, unsigned depth = 0);

}  // namespace dt::play::vk
