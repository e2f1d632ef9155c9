#include "channels.h"

#include <initializer_list>
#include <utility>

namespace dt::play::vk {
namespace {

Channels packed(uint32_t whole, Meaning meaning, std::initializer_list<std::pair<int8_t, uint8_t>> parts) {
  Channels out;
  out.whole = whole, out.meaning = meaning;
  for (auto& [place, bits] : parts) out.places[out.count] = place, out.bits[out.count++] = bits;
  return out;
}

Channels plain(uint32_t count, uint32_t bytes, uint32_t meaning, bool blue_first = false) {
  Channels out;
  out.count = count, out.bytes = bytes, out.whole = count * bytes, out.blue_first = blue_first;
  out.meaning = static_cast<Meaning>(meaning);
  return out;
}

Channels small_channels(VkFormat f) {
  switch (f) {
    case VK_FORMAT_R4G4_UNORM_PACK8: return packed(1, UNORM, {{1, 4}, {0, 4}});
    case VK_FORMAT_R4G4B4A4_UNORM_PACK16: return packed(2, UNORM, {{3, 4}, {2, 4}, {1, 4}, {0, 4}});
    case VK_FORMAT_B4G4R4A4_UNORM_PACK16: return packed(2, UNORM, {{3, 4}, {0, 4}, {1, 4}, {2, 4}});
    case VK_FORMAT_R5G6B5_UNORM_PACK16: return packed(2, UNORM, {{2, 5}, {1, 6}, {0, 5}});
    case VK_FORMAT_B5G6R5_UNORM_PACK16: return packed(2, UNORM, {{0, 5}, {1, 6}, {2, 5}});
    case VK_FORMAT_R5G5B5A1_UNORM_PACK16: return packed(2, UNORM, {{3, 1}, {2, 5}, {1, 5}, {0, 5}});
    case VK_FORMAT_B5G5R5A1_UNORM_PACK16: return packed(2, UNORM, {{3, 1}, {0, 5}, {1, 5}, {2, 5}});
    case VK_FORMAT_A1R5G5B5_UNORM_PACK16: return packed(2, UNORM, {{2, 5}, {1, 5}, {0, 5}, {3, 1}});
    case VK_FORMAT_B10G11R11_UFLOAT_PACK32: return packed(4, SFLOAT, {{0, 11}, {1, 11}, {2, 10}});
    default: return {};
  }
}

}  // namespace

Channels channels_of(VkFormat f) {
  const auto at = [&](VkFormat first) { return static_cast<uint32_t>(f) - static_cast<uint32_t>(first); };
  if (f >= VK_FORMAT_R8_UNORM && f <= VK_FORMAT_A8B8G8R8_SRGB_PACK32) {
    static constexpr uint32_t COUNTS[] = {1, 2, 3, 3, 4, 4, 4};  // R, RG, RGB, BGR, RGBA, BGRA, ABGR
    const uint32_t of = at(VK_FORMAT_R8_UNORM) / 7;
    return plain(COUNTS[of], 1, at(VK_FORMAT_R8_UNORM) % 7, of == 3 || of == 5);
  }
  if (f >= VK_FORMAT_A2R10G10B10_UNORM_PACK32 && f <= VK_FORMAT_A2B10G10R10_SINT_PACK32) {
    const auto meaning = static_cast<Meaning>(at(VK_FORMAT_A2R10G10B10_UNORM_PACK32) % 6);
    if (f < VK_FORMAT_A2B10G10R10_UNORM_PACK32) return packed(4, meaning, {{2, 10}, {1, 10}, {0, 10}, {3, 2}});
    return packed(4, meaning, {{0, 10}, {1, 10}, {2, 10}, {3, 2}});
  }
  if (f >= VK_FORMAT_R16_UNORM && f <= VK_FORMAT_R16G16B16A16_SFLOAT) {
    const uint32_t kind = at(VK_FORMAT_R16_UNORM) % 7;
    return plain(at(VK_FORMAT_R16_UNORM) / 7 + 1, 2, kind == 6 ? static_cast<uint32_t>(SFLOAT) : kind);
  }
  if (f >= VK_FORMAT_R32_UINT && f <= VK_FORMAT_R32G32B32A32_SFLOAT) {
    static constexpr Meaning KINDS[] = {UINT, SINT, SFLOAT};
    return plain(at(VK_FORMAT_R32_UINT) / 3 + 1, 4, KINDS[at(VK_FORMAT_R32_UINT) % 3]);
  }
  return small_channels(f);
}

uint32_t color_bytes(VkFormat format) { return channels_of(format).whole; }

uint32_t color_channels(VkFormat format) { return channels_of(format).count; }

}  // namespace dt::play::vk
