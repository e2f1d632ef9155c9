// Functions of the loader and of drivers.
#include <dlfcn.h>

#include "../../core/error.h"
#include "player.h"

namespace dt::play::vk {
namespace {

type::vkGetInstanceProcAddr loader() {
  static const auto function = [] {
    void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) throw Error(DT_E_ARGUMENT, "there is no Vulkan here: libvulkan.so.1 cannot be loaded");
    return reinterpret_cast<type::vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  }();
  return function;
}

}  // namespace

void* Table::get(uint16_t wanted) {
  void*& function = functions[wanted];
  for (const uint16_t each : {wanted, COMMANDS[wanted].alias}) {
    if (function || each == number::COMMANDS) break;
    const char* name = COMMANDS[each].name;
    if (device) {
      auto of_device = DT_VK(*this, vkGetDeviceProcAddr);
      function = of_device ? reinterpret_cast<void*>(of_device(device, name)) : nullptr;
    } else {
      function = reinterpret_cast<void*>(loader()(instance, name));
    }
  }
  return function;
}

}  // namespace dt::play::vk
