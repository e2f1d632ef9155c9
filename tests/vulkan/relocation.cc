// Contents by chance for the player's relocation, in the memory that they have and no byte more. Compiled with
// sanitizers: python -m pytest tests/vulkan/test_replay.py -k relocation
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>
#include <vector>

#include "../../native/core/error.h"
#include "no_sizes.h"
#include "relocation.h"

namespace {

using namespace dt::play::vk;

struct Host final : Relocation::Host {
  std::vector<std::unique_ptr<uint8_t[]>> rooms;
  uint64_t handle(unsigned, uint64_t recorded, bool) override { return recorded + 1; }
  bool stays(int32_t stype) override { return stype % 3; }
  void unknown(int32_t) override {}
  void* room(size_t bytes) override {
    if (bytes > 1 << 20) throw dt::Error(DT_E_FORMAT, "too large for this test");
    rooms.push_back(std::make_unique<uint8_t[]>(bytes));
    return rooms.back().get();
  }
  void described(uint64_t, uint8_t* at, size_t bytes) override {
    for (size_t i = 0; i < bytes; ++i) at[i] ^= 1;
  }
};

// Whether a structure is refused, which stands alone in its content.
template <class T> bool is_refused(uint16_t type, const T& structure) {
  const size_t words = 1 + sizeof(T) / 8;
  const std::unique_ptr<uint64_t[]> content(new uint64_t[words]);
  content[0] = 1;
  memcpy(&content[1], &structure, sizeof structure);
  Host host;
  try {
    Relocation(host, reinterpret_cast<uint8_t*>(content.get()), words * 8).root(type, 1, nullptr);
    return false;
  } catch (const dt::Error&) {
    return true;
  }
}

// NULL in place of elements is refused where the specification has no such case. Returns the number of what goes wrong.
int null_members() {
  VkSemaphoreWaitInfo waits{};
  waits.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  int wrong = is_refused(dt::tree::TYPE_VkSemaphoreWaitInfo, waits);  // of no semaphores
  waits.semaphoreCount = 1;
  wrong += !is_refused(dt::tree::TYPE_VkSemaphoreWaitInfo, waits);
  VkSubmitInfo submit{};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, submit.commandBufferCount = 2;
  wrong += !is_refused(dt::tree::TYPE_VkSubmitInfo, submit);
  VkPipelineViewportStateCreateInfo views{};  // whose boxes may be dynamic
  views.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO;
  views.viewportCount = views.scissorCount = 1;
  wrong += is_refused(dt::tree::TYPE_VkPipelineViewportStateCreateInfo, views);
  VkApplicationInfo about{};  // whose names may be missing
  about.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  return wrong + is_refused(dt::tree::TYPE_VkApplicationInfo, about);
}

}  // namespace

int main(int argc, char** argv) {
  if (const int wrong = null_members()) return fprintf(stderr, "%d members that are NULL\n", wrong), 1;
  std::mt19937_64 chance(argc > 2 ? strtoul(argv[2], nullptr, 10) : 1);
  const uint16_t types[] = {dt::tree::TYPE_VkGraphicsPipelineCreateInfo,
                            dt::tree::TYPE_VkDeviceCreateInfo,
                            dt::tree::TYPE_VkSubmitInfo,
                            dt::tree::TYPE_VkWriteDescriptorSet,
                            dt::tree::TYPE_VkInstanceCreateInfo,
                            dt::tree::TYPE_VkRenderPassCreateInfo2,
                            dt::tree::TYPE_VkCommandBufferBeginInfo,
                            dt::tree::TYPE_VkSemaphoreWaitInfo,
                            dt::tree::TYPE_VkPushDescriptorSetWithTemplateInfo};
  unsigned whole = 0, refused = 0;
  for (unsigned long n = strtoul(argc > 1 ? argv[1] : "1000", nullptr, 10); n-- > 0;) {
    const size_t words = 2 + chance() % 96;
    const std::unique_ptr<uint64_t[]> content(new uint64_t[words]);
    for (size_t i = 0; i < words; ++i) {
      const uint64_t small = chance() % 4, offset = 8 * (chance() % (words + 2)), any = chance();
      const uint64_t stype = static_cast<uint32_t>(dt::tree::STYPES[chance() % 900]);
      const uint64_t choices[] = {0, 1, small, offset, offset, stype, small << 32 | small, any, stype};
      content[i] = choices[chance() % 9];
    }
    if (chance() % 2) content[0] = 1 + chance() % 3;
    const uint64_t outer[16] = {chance() % 2};
    Host host;
    try {
      Relocation(host, reinterpret_cast<uint8_t*>(content.get()), words * 8)
          .root(types[chance() % std::size(types)], 1, outer);
      ++whole;
    } catch (const dt::Error&) {
      ++refused;
    }
  }
  printf("%u %u\n", whole, refused);
  return 0;
}
