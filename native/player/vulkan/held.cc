// The content of an image's level or of a buffer, as bytes in a file: after a call, or behind a command of a
// submission.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "../../core/error.h"
#include "copier.h"
#include "player.h"

namespace dt::play::vk {
namespace {

constexpr uint64_t MOST_HELD = (uint64_t{1} << 31) - (1 << 20);  // at once

uint32_t part_of(uint32_t size, uint32_t level) { return std::max(size >> level, 1u); }

}  // namespace

// ---- contents that somebody wants, and where they go --------------------------------------------------------------

// A list of {"class": "image" or "buffer", "name": its handle, "level", "aspect": of VkImageAspectFlagBits, "block",
// "divide", "file"}. "block" is [width, height, bytes] of the format's blocks, and "divide" is [across, down], the
// divisors of a plane's size.
void Player::parse_held(const Json& json) {
  for (auto& each : json.items()) {
    Held& h = request_.held.emplace_back();
    h.number = request_.held.size() - 1;
    h.file = each["file"].text();
    const std::string kind = each["class"].text();
    h.is_image = kind == "image";
    if (!h.is_image && kind != "buffer") {
      h.why = "there is no " + kind + " in Vulkan";
      continue;
    }
    const auto& block = each["block"].items();
    bool good = each["name"].read(h.name);
    if (h.is_image)
      good = good && each["level"].read(h.level) && each["aspect"].read(h.aspect) && block.size() == 3 &&
             block[0].read(h.block_width) && block[1].read(h.block_height) && block[2].read(h.block_bytes) &&
             h.block_width && h.block_height && h.block_bytes;
    if (const auto& divide = each["divide"].items(); divide.size() == 2)
      good = good && divide[0].read(h.across) && divide[1].read(h.down) && h.across && h.down;
    if (!good) h.why = "the request is incomplete";
  }
}

// The device that has the object; nullptr: `why` says why it has none.
Device* Player::find_held(Held& h) {
  if (!h.why.empty()) return nullptr;
  Object* object = objects_.find(h.is_image ? OF_Image : OF_Buffer, h.name);
  auto* device = object ? dynamic_cast<Device*>(object->owner) : nullptr;
  if (!device)
    h.why = std::string("there is no such ") + (h.is_image ? "image" : "buffer") + " then";
  else if (!device->queue)
    h.why = "the device has protected queues alone";
  else if (h.is_image)
    h.image = reinterpret_cast<VkImage>(object->now);
  else
    h.buffer = reinterpret_cast<VkBuffer>(object->now);
  return h.why.empty() ? device : nullptr;
}

void Player::hold(Taken& taken, const Device& device) {
  if (request_.what != "object") return;
  for (Held& h : request_.held) {
    const Device* of = find_held(h);
    if (of && of != &device) h.why = "it belongs to another device";
    taken.held.push_back(h);
  }
}

void Player::answer_held() {
  if (request_.draw != NO_DRAW) {
    snapshots_->collect();
    for (Held& h : request_.held)
      if (!request_.met) h.why = "the call does not submit this command";
  } else {
    std::map<Device*, Taken> of;
    for (Held& h : request_.held)
      if (Device* device = find_held(h)) of[device].held.push_back(h);
    for (auto& [device, taken] : of) snapshots_->read(*device, std::move(taken));
  }
  for (const Held& h : request_.held) {
    JsonObject line;
    line.put("kind", "object")
        .put("path", h.file)
        .put("why", h.why)
        .put("bytes", h.why.empty() ? h.bytes * h.layers.size() : 0);
    put_line(status_, line.put("width", h.size[0]).put("height", h.size[1]).put("depth", h.size[2]));
  }
}

// Layers follow each other; rows have no gap. Where nothing was stored in one, it is zero.
void Player::save_held(const Taken& taken) {
  for (const Held& h : taken.held) {
    Held& out = request_.held.at(h.number) = h;
    if (!h.why.empty()) continue;
    std::vector<uint8_t> own;
    FILE* to = fopen(h.file.c_str(), "wb");
    bool good = to;
    for (uint32_t i = 0; i < h.layers.size() && good; ++i) {
      const bool here = h.layers[i] < Held::MAPPED;
      if (!here) own.assign(h.bytes, 0);
      if (h.layers[i] == Held::MAPPED && !read_mapped(h, i, own)) out.why = "its memory is not visible to the program";
      good = fwrite(here ? static_cast<const uint8_t*>(taken.room.at) + h.layers[i] : own.data(), 1, h.bytes, to) ==
             h.bytes;
    }
    if (to && fclose(to)) good = false;
    if (!good) out.why = h.file + " cannot be written";
  }
}

// The program's stores in the memory of an image with linear tiling, which no device has used yet.
bool Player::read_mapped(const Held& h, uint32_t layer, std::vector<uint8_t>& bytes) {
  const auto [place, offset] = stores_.place(reinterpret_cast<uint64_t>(h.image));
  const auto handle = reinterpret_cast<VkDeviceMemory>(place);
  auto of = memory_.find(handle);
  if (of == memory_.end() || !(of->second.properties & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)) return false;
  Memory& memory = of->second;
  const VkImageSubresource part{h.aspect, h.level, layer};
  VkSubresourceLayout layout{};
  DT_VK(*memory.device, vkGetImageSubresourceLayout)(memory.device->device, h.image, &part, &layout);
  const size_t row = size_t{(h.size[0] + h.block_width - 1) / h.block_width} * h.block_bytes;
  const size_t rows = (h.size[1] + h.block_height - 1) / h.block_height, slices = h.bytes / (row * rows);
  for (size_t z = 0; z < slices; ++z)
    for (size_t y = 0; y < rows; ++y) {
      const uint64_t from = offset + layout.offset + z * layout.depthPitch + y * layout.rowPitch;
      if (from > memory.bytes || row > memory.bytes - from) return false;
      memcpy(&bytes[(z * rows + y) * row], mapped(memory, handle) + from, row);
    }
  return true;
}

// ---- copies -----------------------------------------------------------------------------------------------------

void Copier::read(VkCommandBuffer to, Taken taken) {
  to_ = to;
  begin_once(device_, to_);
  plan(taken, nullptr);
  copy(taken);
  expect(DT_VK(device_, vkEndCommandBuffer)(to_), "commands that copy");
  submission_.taken.push_back(std::move(taken));
}

void Copier::want_held(size_t at, Taken taken) {
  for (; walked_ <= at; ++walked_) step(place_, walked_);
  Pause pause{at, place_.begin, place_.subpass, {}, true};
  pause.plain = place_.begin == OUTSIDE;
  std::string why;
  if (!pause.plain)
    why = whole_pass(pause, place_);
  else if (stream_[at]->command->flags & FLAG_DRAW)
    why = "the render pass that it draws in does not begin in this command buffer";
  for (Held& h : taken.held)
    if (h.why.empty()) h.why = why;
  plan(taken, &pause);
  submission_.bytes += taken.bytes;
  if (!taken.bytes) return submission_.taken.push_back(std::move(taken));
  pause.taken = std::move(taken);
  pauses_.push_back(std::move(pause));
}

// `pause`: where the commands are interrupted; nullptr: behind all.
void Copier::plan(Taken& taken, const Pause* pause) const {
  for (Held& h : taken.held) {
    if (!h.why.empty()) continue;
    if (h.is_image) {
      h.why = plan_level(h, taken, pause);
      continue;
    }
    auto size = s_.sizes_.find(h.buffer);
    const uint64_t at = (taken.bytes + 15) / 16 * 16;
    if (size == s_.sizes_.end()) {
      h.why = "it is not known how the buffer was made";
    } else if (size->second > MOST_HELD || at > MOST_HELD - size->second) {
      h.why = "there is no room for it: at most 2 GiB are read at once";
    } else {
      h.bytes = size->second, h.layers = {at};
      taken.stored.push_back({"", h.buffer, 0, h.bytes, at});
      taken.bytes = at + h.bytes;
    }
  }
}

// The layout that a layer is in where the render pass is interrupted; returns why it cannot be read there.
std::string Copier::layout_in(const Pause& pause, const Held& h, uint32_t layer, VkImageLayout& layout) const {
  auto is_of = [&](VkImageView of) {
    auto view = s_.views_.find(of);
    if (view == s_.views_.end() || view->second.image != h.image) return false;
    const VkImageSubresourceRange& range = view->second.range;
    const bool solid = s_.images_.at(h.image).type == VK_IMAGE_TYPE_3D;
    return range.baseMipLevel == h.level &&
           (solid || (layer >= range.baseArrayLayer && layer - range.baseArrayLayer < range.layerCount));
  };
  if (!is_rendering(pause.begin)) {
    const std::vector<VkImageView> views = views_of(pause.begin);
    for (uint32_t i = 0; i < views.size(); ++i) {
      if (!is_of(views[i])) continue;
      if (!is_kept(pause, i)) return "the render pass does not preserve it";
      layout = VK_IMAGE_LAYOUT_GENERAL;
    }
    return "";
  }
  const auto* info = stream_[pause.begin]->at<VkRenderingInfo>(1);
  auto look = [&](const VkRenderingAttachmentInfo* a) {
    if (!a) return;
    if (a->imageView && is_of(a->imageView)) layout = a->imageLayout;
    if (a->resolveMode && a->resolveImageView && is_of(a->resolveImageView)) layout = a->resolveImageLayout;
  };
  for (uint32_t i = 0; i < info->colorAttachmentCount; ++i) look(&info->pColorAttachments[i]);
  if (h.aspect != VK_IMAGE_ASPECT_STENCIL_BIT) look(info->pDepthAttachment);
  if (h.aspect != VK_IMAGE_ASPECT_DEPTH_BIT) look(info->pStencilAttachment);
  return "";
}

// Returns why the level cannot be read.
std::string Copier::plan_level(Held& h, Taken& taken, const Pause* pause) const {
  auto it = s_.images_.find(h.image);
  if (it == s_.images_.end()) return "it is not known how the image was made";
  const KeptImage& of = it->second;
  if (!of.readable) return "the image cannot be read";
  if (h.level >= of.levels) return "the image has no such level";
  const bool solid = of.type == VK_IMAGE_TYPE_3D;
  if (of.samples > 1 && h.aspect != VK_IMAGE_ASPECT_COLOR_BIT && cannot_resolve()) return cannot_resolve();
  Shot shot;
  shot.image = h.image, shot.format = of.format, shot.aspect = h.aspect, shot.samples = of.samples;
  shot.level = h.level, shot.raw = true;
  shot.width = (part_of(of.extent.width, h.level) + h.across - 1) / h.across;
  shot.height = (part_of(of.extent.height, h.level) + h.down - 1) / h.down;
  shot.depth = solid ? part_of(of.extent.depth, h.level) : 1;
  const uint32_t layers = solid ? 1 : of.layers;
  h.size[0] = shot.width, h.size[1] = shot.height, h.size[2] = solid ? shot.depth : layers;
  h.bytes = uint64_t{(shot.width + h.block_width - 1) / h.block_width} *
            ((shot.height + h.block_height - 1) / h.block_height) * shot.depth * h.block_bytes;
  const uint64_t step = std::lcm(uint64_t{16}, uint64_t{h.block_bytes});
  uint64_t end = taken.bytes;
  std::vector<Shot> shots;
  for (uint32_t layer = 0; layer < layers; ++layer) {
    shot.layout = of.layout(h.level, layer), shot.layer = layer;
    if (pause && !pause->plain)
      if (std::string why = layout_in(*pause, h, layer, shot.layout); !why.empty()) return why;
    const bool before = shot.layout == VK_IMAGE_LAYOUT_PREINITIALIZED;
    if (before || shot.layout == VK_IMAGE_LAYOUT_UNDEFINED) {
      h.layers.push_back(before && of.linear ? Held::MAPPED : Held::NOWHERE);
      continue;
    }
    shot.at = (end + step - 1) / step * step;
    if (h.bytes > MOST_HELD || shot.at > MOST_HELD - h.bytes)
      return "there is no room for it: at most 2 GiB are read at once";
    end = shot.at + h.bytes;
    h.layers.push_back(shot.at);
    shots.push_back(shot);
  }
  if (std::all_of(h.layers.begin(), h.layers.end(), [](uint64_t at) { return at == Held::NOWHERE; }))
    return "nothing was stored in it";
  taken.bytes = end;
  taken.shots.insert(taken.shots.end(), shots.begin(), shots.end());
  return "";
}

}  // namespace dt::play::vk
