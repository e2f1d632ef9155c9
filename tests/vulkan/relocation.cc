// Contents by chance for the player's relocation, in the memory that they have and no byte more. Compiled with
// sanitizers: python -m pytest tests/vulkan/test_replay.py -k relocation
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "../../native/core/error.h"
#include "relocation.h"

namespace dt::size {
int64_t is_secondary(int64_t buffer) { return buffer & 1; }
int64_t capture_bytes(int64_t) { return 0; }
int64_t instrumentation_bytes(int64_t) { return 0; }
int64_t host_copy_bytes(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) { return 0; }
int64_t tensor_bytes(int64_t) { return 0; }
}  // namespace dt::size

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

}  // namespace

int main(int argc, char** argv) {
  std::mt19937_64 chance(argc > 2 ? strtoul(argv[2], nullptr, 10) : 1);
  const uint16_t types[] = {dt::tree::TYPE_VkGraphicsPipelineCreateInfo,
                            dt::tree::TYPE_VkDeviceCreateInfo,
                            dt::tree::TYPE_VkSubmitInfo,
                            dt::tree::TYPE_VkWriteDescriptorSet,
                            dt::tree::TYPE_VkInstanceCreateInfo,
                            dt::tree::TYPE_VkRenderPassCreateInfo2,
                            dt::tree::TYPE_VkCommandBufferBeginInfo,
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
      Relocation(host, reinterpret_cast<uint8_t*>(content.get()), words * 8).root(types[chance() % 8], 1, outer);
      ++whole;
    } catch (const dt::Error&) {
      ++refused;
    }
  }
  printf("%u %u\n", whole, refused);
  return 0;
}
