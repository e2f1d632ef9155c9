// Instances, physical devices, devices, and objects of which the player has to know more than the handle.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "../../core/error.h"
#include "../../core/structures.h"
#include "chain.h"
#include "meter.h"
#include "player.h"

namespace dt::play::vk {
namespace {

std::unordered_set<std::string> names_of(const std::vector<VkExtensionProperties>& properties) {
  std::unordered_set<std::string> names;
  for (auto& each : properties) names.insert(each.extensionName);
  return names;
}

struct AskedLink {
  int32_t stype;
  AskedLink* next;
};

}  // namespace

// Keeps the names that are supported here; returns their number.
uint32_t Player::supported(std::vector<const char*>& kept, const char* const* names, uint32_t count,
                           const std::unordered_set<std::string>& here, const char* what) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!names[i]) fail(DT_E_FORMAT, "a name is missing");
    const std::string_view name = names[i];
    if (here.contains(names[i]))
      kept.push_back(names[i]);
    else if (!name.ends_with("_surface"))  // nothing is shown in windows
      report("extension", seq_, running_, std::string(what) + " " + names[i] + " is not here: left out");
  }
  return static_cast<uint32_t>(kept.size());
}

void Player::create_instance(Call& c) {
  if (!succeeded(c)) return;
  build(c);
  auto* info = c.at<VkInstanceCreateInfo>(0);
  if (!info) fail(DT_E_FORMAT, "its structures were not recorded");
  auto list = DT_VK(global_, vkEnumerateInstanceExtensionProperties);
  uint32_t n = 0;
  list(nullptr, &n, nullptr);
  std::vector<VkExtensionProperties> there(n);
  list(nullptr, &n, there.data());
  there.resize(n);
  std::vector<const char*> kept;
  info->enabledExtensionCount =
      supported(kept, info->ppEnabledExtensionNames, info->enabledExtensionCount, names_of(there), "extension");
  info->ppEnabledExtensionNames = kept.data();
  if (std::find_if(kept.begin(), kept.end(),
                   [](auto* name) { return std::string_view(name) == "VK_KHR_portability_enumeration"; }) == kept.end())
    info->flags &= ~VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
  info->enabledLayerCount = 0;  // the program's layers: layers that the environment names are there still
  c.table = &global_;
  invoke(c);
  auto made_one = std::make_unique<Instance>();
  made_one->instance = *c.at<VkInstance>(2);
  DT_VK(*made_one, vkEnumeratePhysicalDevices)(made_one->instance, &n, nullptr);
  made_one->physical.resize(n);
  DT_VK(*made_one, vkEnumeratePhysicalDevices)(made_one->instance, &n, made_one->physical.data());
  if (!n) fail(DT_E_ARGUMENT, "there is no device for Vulkan here");
  c.table = made_one.get();
  tables_.push_back(std::move(made_one));
  made(c);
}

void Player::destroy_instance(Call& c) {
  if (!c.recorded(0)) return;
  argument(c, 0);
  Table* table = objects_.find(OF_Instance, c.recorded(0))->owner;
  c.table = table;
  invoke(c);
  objects_.drop([&](unsigned, const Object& o) { return o.owner == table; });
}

// The physical devices here stand for the recorded ones in their order. The choice falls when a device is made, by the
// recording's words about its own.
void Player::enumerate_devices(Call& c) {
  if (!succeeded(c)) return;
  argument(c, 0);
  auto* instance = static_cast<Instance*>(objects_.find(OF_Instance, c.recorded(0))->owner);
  size_t i = 0;
  for (uint64_t recorded : recorded_array<uint64_t>(c, 2)) {
    auto* now = instance->physical[std::min(i++, instance->physical.size() - 1)];
    if (recorded) objects_.add(OF_PhysicalDevice, recorded, {reinterpret_cast<uint64_t>(now), instance, 0});
  }
}

void Player::enumerate_groups(Call& c) {
  if (!succeeded(c)) return;
  argument(c, 0);
  auto* instance = static_cast<Instance*>(objects_.find(OF_Instance, c.recorded(0))->owner);
  size_t i = 0;
  for (size_t k = 0; const auto* group = answer_of<VkPhysicalDeviceGroupProperties>(c, 2, k); ++k)
    for (uint32_t d = 0; d < group->physicalDeviceCount && d < 32; ++d) {
      auto* now = instance->physical[std::min(i++, instance->physical.size() - 1)];
      const auto recorded = reinterpret_cast<uint64_t>(group->physicalDevices[d]);
      if (recorded) objects_.add(OF_PhysicalDevice, recorded, {reinterpret_cast<uint64_t>(now), instance, 0});
    }
}

// The physical device: the one that $DRAWTAP_VULKAN_DEVICE names, else of the recorded name, else of the recorded kind.
void Player::choose_physical(Call& c, VkDeviceCreateInfo& info) {
  Object* object = objects_.find(OF_PhysicalDevice, c.recorded(0));
  auto* instance = static_cast<Instance*>(object->owner);
  const Recorded& then = recorded_[c.recorded(0)];
  const char* const wanted = getenv("DRAWTAP_VULKAN_DEVICE");
  int best = -1;
  for (auto* each : instance->physical) {
    VkPhysicalDeviceProperties now{};
    DT_VK(*instance, vkGetPhysicalDeviceProperties)(each, &now);
    const bool current = reinterpret_cast<uint64_t>(each) == object->now;
    const int fits = (wanted && strstr(now.deviceName, wanted) ? 8 : 0) + (then.name == now.deviceName ? 4 : 0) +
                     (then.type == now.deviceType ? 2 : 0) + current;
    if (fits <= best) continue;
    best = fits;
    c.arguments[0] = reinterpret_cast<uint64_t>(each);
    engine_ = now.deviceName;
  }
  if (wanted && *wanted && best < 8) fail(DT_E_ARGUMENT, std::string("there is no device named ") + wanted + " here");
  object->now = c.arguments[0];
  uint32_t n = 0;
  DT_VK(*instance, vkGetPhysicalDeviceQueueFamilyProperties)(c.as<VkPhysicalDevice>(0), &n, nullptr);
  std::vector<VkQueueFamilyProperties> families(n);
  DT_VK(*instance, vkGetPhysicalDeviceQueueFamilyProperties)(c.as<VkPhysicalDevice>(0), &n, families.data());
  for (uint32_t i = 0; i < info.queueCreateInfoCount; ++i)
    if (auto& of = info.pQueueCreateInfos[i];
        of.queueFamilyIndex >= n || of.queueCount > families[of.queueFamilyIndex].queueCount)
      fail(DT_E_ARGUMENT, "the device here (" + engine_ + ") does not have the queues of the recording's");
}

// Switches features off that the device here does not have.
void Player::supported_features(Call& c, VkDeviceCreateInfo& info) {
  auto& instance = *objects_.find(OF_PhysicalDevice, c.recorded(0))->owner;
  const Structures& names = Structures::of(trace_.signatures);
  auto limit = [&](uint8_t* wanted, const uint8_t* here, size_t from, size_t bytes, const StructType* type) {
    for (size_t at = from; at + 4 <= bytes; at += 4) {
      uint32_t on, can;
      memcpy(&on, wanted + at, 4), memcpy(&can, here + at, 4);
      if (!on || can) continue;
      memset(wanted + at, 0, 4);
      std::string name = "a feature";
      if (type)
        for (auto& m : type->members)
          if (m.offset == at) name = type->name + "." + m.name;
      report("feature", seq_, running_, name + " is not here: switched off");
    }
  };
  auto ask = DT_VK(instance, vkGetPhysicalDeviceFeatures2);
  if (info.pEnabledFeatures) {
    VkPhysicalDeviceFeatures here{};
    DT_VK(instance, vkGetPhysicalDeviceFeatures)(c.as<VkPhysicalDevice>(0), &here);
    auto* own = static_cast<VkPhysicalDeviceFeatures*>(room(sizeof here));
    *own = *info.pEnabledFeatures;
    info.pEnabledFeatures = own;
    limit(reinterpret_cast<uint8_t*>(own), reinterpret_cast<const uint8_t*>(&here), 0, sizeof here,
          names.by_name("VkPhysicalDeviceFeatures"));
  }
  for (auto* at = static_cast<AskedLink*>(const_cast<void*>(info.pNext)); at && ask; at = at->next) {
    const size_t bytes = features_bytes(at->stype);
    if (!bytes) continue;
    VkPhysicalDeviceFeatures2 here{};
    std::vector<uint64_t> more(bytes / 8 + 1);
    auto* asked = reinterpret_cast<AskedLink*>(more.data());
    const bool root = at->stype == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    asked->stype = at->stype;
    if (!root) here.pNext = asked;
    ask(c.as<VkPhysicalDevice>(0), root ? reinterpret_cast<VkPhysicalDeviceFeatures2*>(asked) : &here);
    limit(reinterpret_cast<uint8_t*>(at), reinterpret_cast<const uint8_t*>(asked), sizeof(AskedLink), bytes,
          names.by_stype(at->stype));
  }
}

// Questions about vertices need transform feedback, whether the program asked for it or not. Returns whether it is on.
static bool add_capture(Table& instance, VkPhysicalDevice physical, VkDeviceCreateInfo& info,
                        std::vector<const char*>& extensions, const std::vector<VkExtensionProperties>& there,
                        VkPhysicalDeviceTransformFeedbackFeaturesEXT& own) {
  const std::string_view name = "VK_EXT_transform_feedback";
  if (std::none_of(there.begin(), there.end(), [&](auto& each) { return each.extensionName == name; })) return false;
  auto ask = DT_VK(instance, vkGetPhysicalDeviceFeatures2);
  if (!ask) return false;
  VkPhysicalDeviceFeatures2 all{};
  all.pNext = &own;
  ask(physical, &all);
  if (!own.transformFeedback) return false;
  if (std::none_of(extensions.begin(), extensions.end(), [&](const char* each) { return each == name; }))
    extensions.push_back(name.data());
  own.geometryStreams = 0;
  if (auto* given = chained<VkPhysicalDeviceTransformFeedbackFeaturesEXT>(info.pNext))
    return const_cast<VkPhysicalDeviceTransformFeedbackFeaturesEXT*>(given)->transformFeedback = 1, true;
  own.pNext = const_cast<void*>(info.pNext);
  info.pNext = &own;
  return true;
}

void Player::create_device(Call& c) {
  if (!succeeded(c)) return;
  build(c);
  auto* info = c.at<VkDeviceCreateInfo>(1);
  if (!info || !info->queueCreateInfoCount) fail(DT_E_FORMAT, "a device without queues");
  choose_physical(c, *info);
  auto& instance = *c.table;
  auto list = DT_VK(instance, vkEnumerateDeviceExtensionProperties);
  uint32_t n = 0;
  list(c.as<VkPhysicalDevice>(0), nullptr, &n, nullptr);
  std::vector<VkExtensionProperties> there(n);
  list(c.as<VkPhysicalDevice>(0), nullptr, &n, there.data());
  there.resize(n);
  std::vector<const char*> kept;
  supported(kept, info->ppEnabledExtensionNames, info->enabledExtensionCount, names_of(there), "extension");
  info->enabledLayerCount = 0;
  supported_features(c, *info);
  if (meter_) meter_->device(instance, c.as<VkPhysicalDevice>(0), *info, kept);
  VkPhysicalDeviceTransformFeedbackFeaturesEXT capture{};
  const bool captures = options_.look && add_capture(instance, c.as<VkPhysicalDevice>(0), *info, kept, there, capture);
  info->enabledExtensionCount = static_cast<uint32_t>(kept.size());
  info->ppEnabledExtensionNames = kept.data();
  invoke(c);
  auto device = std::make_unique<Device>();
  device->instance = instance.instance;
  device->captures = captures;
  // The instance's function returns the functions of devices, once the device is known.
  device->functions[number::vkGetDeviceProcAddr] = instance.get(number::vkGetDeviceProcAddr);
  device->device = *c.at<VkDevice>(3);
  device->physical = c.as<VkPhysicalDevice>(0);
  DT_VK(instance, vkGetPhysicalDeviceMemoryProperties)(device->physical, &device->memory);
  device->family = info->pQueueCreateInfos[0].queueFamilyIndex;
  if (!info->pQueueCreateInfos[0].flags)
    DT_VK(*device, vkGetDeviceQueue)(device->device, device->family, 0, &device->queue);
  const VkPhysicalDeviceMemoryProperties& then = recorded_[c.recorded(0)].memory;
  const uint32_t types = then.memoryTypeCount ? std::min(then.memoryTypeCount, 32u) : device->memory.memoryTypeCount;
  for (uint32_t i = 0; i < types; ++i) {
    const uint32_t flags = then.memoryTypeCount ? then.memoryTypes[i].propertyFlags : 0;
    const bool same = !then.memoryTypeCount ||
                      (i < device->memory.memoryTypeCount && device->memory.memoryTypes[i].propertyFlags == flags);
    device->memory_types.push_back(same ? i : memory_type(*device, ~0u, flags));
  }
  c.table = device.get();
  if (meter_) meter_->made(*device);
  tables_.push_back(std::move(device));
  made(c);
}

void Player::destroy_device(Call& c) {
  if (!c.recorded(0)) return;
  argument(c, 0);
  auto* device = static_cast<Device*>(objects_.find(OF_Device, c.recorded(0))->owner);
  c.table = device;
  wait_idle(*device);
  if (meter_) meter_->gone(*device);
  if (snapshots_) snapshots_->end(*device);
  for (auto& chain : swapchains_)
    if (chain->device == device) drop_images(*chain), chain->device = nullptr;
  if (shown_ && !shown_->device) shown_ = nullptr;
  objects_.each([&](unsigned kind, const Object& o) {
    if (kind == OF_Image && o.owner == device) free_own_memory(*device, o.now);
  });
  std::erase_if(memory_, [&](auto& each) { return each.second.device == device; });
  invoke(c);
  objects_.drop([&](unsigned, const Object& o) { return o.owner == device; });
}

void Player::get_queue(Call& c) {
  build(c);
  c.table->get(c.number) ? static_cast<void>(invoke(c)) : fail(DT_E_ARGUMENT, "the driver here does not have it");
  made(c);
  if (!snapshots_) return;
  const bool first = c.number == number::vkGetDeviceQueue;
  snapshots_->add_queue(*c.at<VkQueue>(first ? 3 : 2),
                        first ? static_cast<uint32_t>(c.arguments[1]) : c.at<VkDeviceQueueInfo2>(1)->queueFamilyIndex);
}

void Player::secondary_buffers(Call& c) {
  generic(c);
  if (succeeded(c)) note_levels(c);
}

void Player::create_template(Call& c) {
  if (!succeeded(c)) return;
  build(c);
  TemplateParts parts = pack(*c.at<VkDescriptorUpdateTemplateCreateInfo>(1));
  invoke(c);
  made(c);
  templates_[*c.at<uint64_t>(3)] = std::move(parts);
  if (snapshots_) snapshots_->keep(c, seq_, rooms_);
}

// The content of a cache is a driver's own: pipelines are compiled here.
void Player::create_pipeline_cache(Call& c) {
  if (!succeeded(c)) return;
  build(c);
  c.at<VkPipelineCacheCreateInfo>(1)->initialDataSize = 0;
  c.at<VkPipelineCacheCreateInfo>(1)->pInitialData = nullptr;
  invoke(c);
  made(c);
}

}  // namespace dt::play::vk
