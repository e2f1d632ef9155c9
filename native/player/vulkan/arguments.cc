#include "arguments.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_set>

#include "../../core/error.h"
#include "channels.h"

namespace dt::size {

// Command buffers here that are secondary ones, which a rule of the recording's structures asks for.
thread_local std::unordered_set<uint64_t> g_secondary;
int64_t is_secondary(int64_t buffer) { return g_secondary.count(static_cast<uint64_t>(buffer)); }

// Sizes of what is refused.
int64_t capture_bytes(int64_t) { return 0; }
int64_t instrumentation_bytes(int64_t) { return 0; }
int64_t host_copy_bytes(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) { return 0; }
int64_t tensor_bytes(int64_t) { return 0; }

}  // namespace dt::size

namespace dt::play::vk {
namespace {

bool is_dispatchable(unsigned kind) {
  return kind == OF_Instance || kind == OF_PhysicalDevice || kind == OF_Device || kind == OF_Queue ||
         kind == OF_CommandBuffer;
}

}  // namespace

void Objects::add(unsigned kind, uint64_t recorded, const Object& object) {
  // These end with others, or never, without a call of their own.
  const bool replaces = is_dispatchable(kind) || kind == OF_DescriptorSet;
  auto [it, fresh] = current_[kind].emplace(recorded, object);
  if (fresh) return;
  if (!replaces) older_[kind].emplace(recorded, it->second);
  it->second = object;
}

bool Objects::take(unsigned kind, uint64_t recorded, Object& out) {
  if (auto old = older_[kind].find(recorded); old != older_[kind].end()) {
    out = old->second;
    older_[kind].erase(old);
    return true;
  }
  auto it = current_[kind].find(recorded);
  if (it == current_[kind].end()) return false;
  out = it->second;
  current_[kind].erase(it);
  return true;
}

std::string refused_calls(const Trace& trace, const std::vector<Mapping>& mapping) {
  std::map<std::string, std::pair<uint64_t, std::string>> refused;
  for (auto& f : trace.signatures.functions) {
    const int known = mapping[static_cast<size_t>(f.index)].known;
    const uint64_t n = trace.calls_of(f.id);
    if (known < 0 || !n || !COMMANDS[known].refused) continue;
    auto& [count, name] = refused[COMMANDS[known].refused];
    count += n;
    if (name.empty()) name = f.name;
  }
  std::string text;
  for (auto& [why, of] : refused)
    text += (text.empty() ? "" : "; ") + why + " (" + std::to_string(of.first) +
            (of.first == 1 ? " call, " : " calls, ") + of.second + ")";
  return text;
}

std::string Arguments::where() const {
  return "call " + std::to_string(seq_) + (*running_ ? " " + std::string(running_) : "");
}

void Arguments::fail(int code, const std::string& what) const { throw Error(code, where() + ": " + what); }

// ---- what relocation asks -----------------------------------------------------------------------

bool Arguments::stays(int32_t stype) {
  switch (stype) {
    // call-backs into the program, its other libraries, what others may see of its memory
    case VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT:
    case VK_STRUCTURE_TYPE_DEBUG_REPORT_CALLBACK_CREATE_INFO_EXT:
    case VK_STRUCTURE_TYPE_DEVICE_DEVICE_MEMORY_REPORT_CREATE_INFO_EXT:
    case VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT:
    case VK_STRUCTURE_TYPE_DIRECT_DRIVER_LOADING_LIST_LUNARG:
    case VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO:
    case VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO:
    case VK_STRUCTURE_TYPE_EXPORT_FENCE_CREATE_INFO:
    case VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO:
    case VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO:
    case VK_STRUCTURE_TYPE_MEMORY_OPAQUE_CAPTURE_ADDRESS_ALLOCATE_INFO:
    case VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO:
    case VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT:  // the recording has what the program stored in it
    case VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO: return false;
    case VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR:
      fail(DT_E_ARGUMENT, "memory of another process or a device cannot be played: it is not in the recording");
    case VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR:
    case VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_SWAPCHAIN_INFO_KHR:
      fail(DT_E_ARGUMENT, "images that the program binds to a swapchain itself cannot be played");
    default: return true;
  }
}

void* Arguments::room(size_t bytes) {
  rooms_.push_back(std::make_unique<uint8_t[]>(bytes + 16));
  return rooms_.back().get();
}

void Arguments::described(uint64_t update, uint8_t* at, size_t bytes) {
  auto known = templates_.find(update);
  if (known == templates_.end()) fail(DT_E_FORMAT, "its descriptor update template was not made in this recording");
  size_t place = 0;
  auto map = [&](size_t inside, unsigned kind) {
    uint64_t recorded;
    memcpy(&recorded, at + place + inside, 8);
    recorded = handle(kind, recorded, kind != OF_Buffer);
    memcpy(at + place + inside, &recorded, 8);
  };
  for (auto& [type, count] : known->second) {
    const bool block = type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
    const int64_t what = table::descriptor_content(type);
    const size_t width = block ? 1 : what == 1 ? 24 : what == 2 ? 24 : 8;
    if (count > (bytes - place) / width) fail(DT_E_FORMAT, "the recording has less than the update reads");
    if (block) {
      place += count;
      continue;
    }
    for (uint32_t i = 0; i < count; ++i, place += width) {
      if (what == 1)
        map(0, OF_Sampler), map(8, OF_ImageView);
      else
        map(0, what == 2 ? OF_Buffer : OF_BufferView);
      VkDescriptorBufferInfo buffer{};
      VkBufferView view{};
      if (what == 2) memcpy(&buffer, at + place, sizeof buffer);
      if (what == 3) memcpy(&view, at + place, sizeof view);
      stored_by(type, what == 2 ? &buffer : nullptr, what == 3 ? &view : nullptr);
    }
  }
}

uint64_t Arguments::handle(unsigned kind, uint64_t recorded, bool any) {
  if (!recorded) return 0;
  if (const Object* object = objects_.find(kind, recorded)) return object->now;
  if (any) return 0;
  char text[120];
  snprintf(text, sizeof text, "%s 0x%llx was not made in this recording", KIND_NAMES[kind],
           static_cast<unsigned long long>(recorded));
  fail(DT_E_FORMAT, text);
}

// An update reads the content of a recording, where its parts stand one behind the other.
Arguments::TemplateParts Arguments::pack(VkDescriptorUpdateTemplateCreateInfo& info) {
  auto* entries = const_cast<VkDescriptorUpdateTemplateEntry*>(info.pDescriptorUpdateEntries);
  TemplateParts parts;
  uint64_t place = 0;
  for (uint32_t i = 0; entries && i < info.descriptorUpdateEntryCount; ++i) {
    auto& entry = entries[i];
    const bool block = entry.descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
    const int64_t what = table::descriptor_content(entry.descriptorType);
    const uint64_t width = block ? 1 : what == 1 || what == 2 ? 24 : 8;
    entry.offset = place;
    entry.stride = width;
    place += width * entry.descriptorCount;
    parts.emplace_back(entry.descriptorType, entry.descriptorCount);
  }
  return parts;
}

// ---- arguments ----------------------------------------------------------------------------------

Content Arguments::content(const Call& c, int i) {
  const Param& p = c.param(i);
  if (p.data < 0) return {};
  const uint64_t d = c.columns.w8[static_cast<size_t>(p.data)][c.row];
  const uint64_t* starts = c.columns.starts[static_cast<size_t>(p.payload)];
  const uint8_t* at = c.columns.decoded->payload_base + starts[c.row];
  switch (DT_DATA_KIND(d)) {
    case DT_DATA_INLINE: return {at, DT_DATA_LENGTH(d)};
    case DT_DATA_BLOB: {
      Hash128 hash;
      memcpy(&hash, at, 16);
      held_.push_back(blobs_.get(trace_, hash));
      return {held_.back()->data(), held_.back()->size()};
    }
    default: return {};
  }
}

template <class T> std::vector<T> Arguments::recorded_array(const Call& c, int i) {
  const Content in = content(c, i);
  std::vector<T> out(in.bytes / sizeof(T));
  if (!out.empty()) memcpy(out.data(), in.data, out.size() * sizeof(T));
  return out;
}
template std::vector<uint64_t> Arguments::recorded_array(const Call& c, int i);
template std::vector<uint32_t> Arguments::recorded_array(const Call& c, int i);

void Arguments::properties(Call& c) {
  const VkPhysicalDeviceProperties* of = nullptr;
  if (c.number == number::vkGetPhysicalDeviceProperties)
    of = answer_of<VkPhysicalDeviceProperties>(c, 1);
  else if (auto* more = answer_of<VkPhysicalDeviceProperties2>(c, 1))
    of = &more->properties;
  if (!of) return;
  Recorded& known = recorded_[c.recorded(0)];
  known.name.assign(of->deviceName, strnlen(of->deviceName, sizeof of->deviceName));
  known.type = of->deviceType;
}

void Arguments::memory_properties(Call& c) {
  const VkPhysicalDeviceMemoryProperties* of = nullptr;
  if (c.number == number::vkGetPhysicalDeviceMemoryProperties)
    of = answer_of<VkPhysicalDeviceMemoryProperties>(c, 1);
  else if (auto* more = answer_of<VkPhysicalDeviceMemoryProperties2>(c, 1))
    of = &more->memoryProperties;
  if (of) recorded_[c.recorded(0)].memory = *of;
}

void* Arguments::structures(Call& c, int i, int64_t need) {
  const Param& p = c.param(i);
  const Content in = content(c, i);
  if (!in) fail(DT_E_FORMAT, "its structures were not recorded");
  auto* copy = static_cast<uint8_t*>(room(in.bytes));
  memcpy(copy, in.data, in.bytes);
  try {
    return Relocation(*this, copy, in.bytes).root(p.type, need, p.element ? c.arguments : nullptr);
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with("call ")) throw;
    fail(error.code, error.what());
  }
}

void Arguments::argument(Call& c, int i) {
  const Param& p = c.param(i);
  uint64_t& out = c.arguments[i];
  const uint64_t recorded = c.recorded(i);
  if (p.way == VALUE) return void(out = recorded);
  if (p.way == HANDLE) return void(out = handle(p.type, recorded, false));
  if (!recorded && p.needed && (p.count == tree::ALWAYS || count_of(p.count, c.arguments) > 0))
    fail(DT_E_FORMAT, "an argument that it needs is NULL");
  if (!recorded || p.way == NOTHING) return;
  if (p.way == WORDS || p.way == TEMPLATE_DATA) {
    const Content in = content(c, i);
    if (!in) fail(DT_E_FORMAT, "an argument was not recorded");
    auto* copy = static_cast<uint8_t*>(room(in.bytes + 1));
    memcpy(copy, in.data, in.bytes);
    if (p.way == TEMPLATE_DATA) described(static_cast<uint64_t>(count_of(p.count, c.arguments)), copy, in.bytes);
    return void(out = reinterpret_cast<uint64_t>(copy));
  }
  const int64_t need = p.count == tree::ALWAYS ? 1 : count_of(p.count, c.arguments);
  const int64_t width = p.way == TREE ? tree::TYPES[p.type].size : p.element;
  if (need <= 0) return;
  if (need > MOST_ROOM / width) fail(DT_E_FORMAT, "an argument is larger than any");
  if (p.way == TREE) {
    out = reinterpret_cast<uint64_t>(structures(c, i, need));
    if (p.stride >= 0) c.arguments[p.stride] = static_cast<uint64_t>(width);
    return;
  }
  const auto bytes = static_cast<size_t>(need * width);
  auto* at = static_cast<uint8_t*>(room(bytes));
  out = reinterpret_cast<uint64_t>(at);
  if (p.way == MADE || p.way == ROOM) return;
  const Content in = content(c, i);
  if (!in || in.bytes < bytes) fail(DT_E_FORMAT, "an argument is shorter in the recording than the call needs");
  memcpy(at, in.data, bytes);
  if (p.way != HANDLES) return;
  for (size_t k = 0; k < bytes; k += 8) {
    uint64_t one;
    memcpy(&one, at + k, 8);
    one = handle(p.type, one, false);
    memcpy(at + k, &one, 8);
  }
}

void Arguments::arguments(Call& c) {
  for (int pass = 0; pass < 3; ++pass)
    for (int i = 0; i < c.command.params; ++i) {
      const Param& p = c.param(i);
      const int own = p.way == VALUE || p.way == HANDLE ? 0 : p.late ? 2 : 1;
      if (own == pass) argument(c, i);
    }
}

// ---- where the device may store -----------------------------------------------------------------

void Arguments::watch_view(Call& c) {
  stores_.view(*c.at<uint64_t>(3), reinterpret_cast<uint64_t>(c.at<VkBufferViewCreateInfo>(1)->buffer));
}

void Arguments::watch_format(Call& c) { formats_[*c.at<uint64_t>(3)] = c.at<VkImageCreateInfo>(1)->format; }

// The bytes of a buffer from the first to the last that a copy of an image stores.
template <class Region> uint64_t Arguments::copied_bytes(VkImage image, const Region& region) const {
  auto it = formats_.find(reinterpret_cast<uint64_t>(image));
  const uint64_t texel = it == formats_.end() ? 0 : color_bytes(it->second);
  const auto& size = region.imageExtent;
  const uint64_t layers = region.imageSubresource.layerCount, slices = std::max(size.depth, 1u) * layers;
  if (!texel || region.imageSubresource.aspectMask != VK_IMAGE_ASPECT_COLOR_BIT || !size.width || !size.height ||
      !layers || layers > UINT16_MAX || size.depth > UINT16_MAX)
    return Stores::REST;
  const uint64_t row = std::max(region.bufferRowLength, size.width);
  const uint64_t height = std::max(region.bufferImageHeight, size.height);
  if (row > UINT16_MAX || height > UINT16_MAX) return Stores::REST;
  return (((slices - 1) * height + size.height - 1) * row + size.width) * texel;
}

// Commands that store to a buffer which they name.
void Arguments::watch_transfer(Call& c) {
  using namespace number;
  auto copies = [&](auto buffer, const auto* regions, uint64_t count) {
    for (uint64_t i = 0; regions && i < count; ++i)
      stores_.store(reinterpret_cast<uint64_t>(buffer), regions[i].dstOffset, regions[i].size);
  };
  auto images = [&](VkImage image, auto buffer, const auto* regions, uint64_t count) {
    for (uint64_t i = 0; regions && i < count; ++i)
      stores_.store(reinterpret_cast<uint64_t>(buffer), regions[i].bufferOffset, copied_bytes(image, regions[i]));
  };
  auto rest = [&](auto buffer, uint64_t offset) {
    stores_.store(reinterpret_cast<uint64_t>(buffer), offset, Stores::REST);
  };
  switch (c.number) {
    case vkCmdFillBuffer:
    case vkCmdUpdateBuffer: return stores_.store(c.arguments[1], c.arguments[2], c.arguments[3]);
    case vkCmdCopyBuffer: return copies(c.as<VkBuffer>(2), c.at<VkBufferCopy>(4), c.arguments[3]);
    case vkCmdCopyBuffer2: {
      const auto* info = c.at<VkCopyBufferInfo2>(1);
      return copies(info->dstBuffer, info->pRegions, info->regionCount);
    }
    case vkCmdCopyImageToBuffer:
      return images(c.as<VkImage>(1), c.as<VkBuffer>(3), c.at<VkBufferImageCopy>(5), c.arguments[4]);
    case vkCmdCopyImageToBuffer2: {
      const auto* info = c.at<VkCopyImageToBufferInfo2>(1);
      return images(info->srcImage, info->dstBuffer, info->pRegions, info->regionCount);
    }
    case vkCmdCopyQueryPoolResults: return rest(c.as<VkBuffer>(4), c.arguments[5]);
    case vkCmdBindTransformFeedbackBuffersEXT:
      for (uint64_t i = 0; i < c.arguments[2]; ++i) rest(c.at<VkBuffer>(3)[i], c.at<uint64_t>(4)[i]);
      return;
    default:  // counters of transform feedback; other commands that store to a buffer
      for (int i = 1; i < c.command.params; ++i) {
        if (c.param(i).type != OF_Buffer) continue;
        if (c.param(i).way == HANDLE) rest(c.as<VkBuffer>(i), 0);
        for (uint64_t k = 0; c.param(i).way == HANDLES && c.arguments[i] && k < c.arguments[i - 1]; ++k)
          rest(c.at<VkBuffer>(i)[k], 0);
      }
  }
}

void Arguments::stored_by(VkDescriptorType type, const VkDescriptorBufferInfo* buffer, const VkBufferView* view) {
  if (view && type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER) stores_.store_view(reinterpret_cast<uint64_t>(*view));
  if (!buffer || !buffer->buffer) return;
  const auto of = reinterpret_cast<uint64_t>(buffer->buffer);
  if (type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER) stores_.store(of, buffer->offset, buffer->range);
  if (type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC) stores_.store(of, 0, Stores::REST);
}

void Arguments::watch_descriptors(Call& c) {
  const bool push = c.number != number::vkUpdateDescriptorSets;
  const auto* writes = c.at<VkWriteDescriptorSet>(push ? 5 : 2);
  const uint64_t count = c.arguments[push ? 4 : 1];
  for (uint64_t i = 0; writes && i < count; ++i)
    for (uint32_t k = 0; k < writes[i].descriptorCount; ++k) {
      const int64_t what = table::descriptor_content(writes[i].descriptorType);
      stored_by(writes[i].descriptorType, what == 2 && writes[i].pBufferInfo ? &writes[i].pBufferInfo[k] : nullptr,
                what == 3 && writes[i].pTexelBufferView ? &writes[i].pTexelBufferView[k] : nullptr);
    }
}

void Arguments::note_levels(const Call& c) {
  const auto* info = c.at<VkCommandBufferAllocateInfo>(1);
  for (uint32_t i = 0; i < info->commandBufferCount; ++i)
    if (info->level == VK_COMMAND_BUFFER_LEVEL_SECONDARY)
      size::g_secondary.insert(c.at<uint64_t>(2)[i]);
    else
      size::g_secondary.erase(c.at<uint64_t>(2)[i]);
}

bool Arguments::stored(const FunctionColumns& c, uint32_t row, Stored& out) {
  const Field *of = nullptr, *offset = nullptr, *data = nullptr;
  if (!c.function) return false;
  for (auto& p : c.function->params) (p.name == "memory" ? of : p.name == "offset" ? offset : data) = &p;
  if (!of || !offset || !data || !data->has_data()) return false;
  const uint64_t d = c.descriptor(*data, row);
  out.memory = c.raw(*of, row), out.offset = c.raw(*offset, row);
  if (DT_DATA_KIND(d) == DT_DATA_INLINE) {
    out.bytes = c.payload(*data, row);
  } else if (DT_DATA_KIND(d) == DT_DATA_BLOB) {
    held_.push_back(blobs_.get(trace_, c.hash(*data, row)));
    out.bytes = {reinterpret_cast<const char*>(held_.back()->data()), held_.back()->size()};
  } else {
    out.missing = true;
  }
  return true;
}

Arguments::Watcher Arguments::watcher_of(uint16_t of) {
  using namespace number;
  switch (of) {
    case vkCmdFillBuffer:
    case vkCmdUpdateBuffer:
    case vkCmdCopyBuffer:
    case vkCmdCopyBuffer2:
    case vkCmdCopyImageToBuffer:
    case vkCmdCopyImageToBuffer2:
    case vkCmdCopyQueryPoolResults:
    case vkCmdBindTransformFeedbackBuffersEXT:
    case vkCmdBeginTransformFeedbackEXT:
    case vkCmdEndTransformFeedbackEXT:
    case vkCmdWriteBufferMarkerAMD:
    case vkCmdWriteBufferMarker2AMD: return &Arguments::watch_transfer;
    case vkUpdateDescriptorSets:
    case vkCmdPushDescriptorSet: return &Arguments::watch_descriptors;
    case vkCreateBufferView: return &Arguments::watch_view;
    case vkCreateImage: return &Arguments::watch_format;
    case vkCreateSemaphore: return &Arguments::watch_semaphore;
    case vkImportSemaphoreFdKHR: return &Arguments::watch_import;
    case vkSignalSemaphore: return &Arguments::watch_signal;
    default: return nullptr;
  }
}

}  // namespace dt::play::vk
