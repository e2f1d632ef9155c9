#include "texels.h"

#include <cmath>
#include <cstring>
#include <utility>

namespace dt::play::vk {
namespace {

// The meaning of a channel's bits, in the order of Vulkan's lists of formats.
enum Meaning : uint8_t { UNORM, SNORM, USCALED, SSCALED, UINT, SINT, SRGB, SFLOAT };
struct Channels {
  uint32_t count = 0, bytes = 0;  // of a channel; 0: `bits` has the widths, from the lowest bit on
  Meaning meaning = UNORM;
  bool blue_first = false;
  uint32_t whole = 0;  // bytes of the texel
  uint8_t bits[4] = {};
  int8_t places[4] = {};  // red is 0; where bits are packed
};

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

// A number with a point, of 5 bits of exponent.
double small_float(uint32_t bits, uint32_t mantissa, bool sign) {
  const uint32_t exponent = bits >> mantissa & 31, rest = bits & ((1u << mantissa) - 1);
  const double part = rest / static_cast<double>(1u << mantissa);
  const double value = exponent == 31  ? (rest ? std::nan("") : HUGE_VAL)
                       : exponent == 0 ? std::ldexp(part, -14)
                                       : std::ldexp(1 + part, static_cast<int>(exponent) - 15);
  return sign && bits >> (mantissa + 5) & 1 ? -value : value;
}

double channel_number(uint32_t raw, uint32_t bits, Meaning meaning) {
  const auto whole = static_cast<int32_t>(raw << (32 - bits)) >> (32 - bits);
  switch (meaning) {
    case UNORM:
    case SRGB: return raw / static_cast<double>((uint64_t{1} << bits) - 1);
    case SNORM: return std::max(whole / static_cast<double>((1u << (bits - 1)) - 1), -1.0);
    case SSCALED:
    case SINT: return whole;
    case SFLOAT:
      if (bits == 32) {
        float real;
        memcpy(&real, &raw, 4);
        return static_cast<double>(real);
      }
      return small_float(raw, bits == 16 ? 10 : bits - 5, bits == 16);
    default: return raw;
  }
}

void read_color(metrics::PixelValue& to, const Channels& of, const uint8_t* from) {
  const bool bytes = of.bytes == 1 && (of.meaning == UNORM || of.meaning == SRGB);
  to.kind = bytes ? "unorm8" : of.meaning == UINT ? "uint" : of.meaning == SINT ? "int" : "float";
  to.count = 4;
  to.numbers = {0, 0, 0, bytes ? 255.0 : 1.0};  // what the image does not have
  uint32_t word = 0;
  if (!of.bytes) memcpy(&word, from, of.whole);
  for (uint32_t i = 0, shift = 0; i < of.count; ++i) {
    uint32_t raw = 0, bits = of.bits[i];
    size_t place = of.bytes ? i : static_cast<size_t>(of.places[i]);
    if (of.bytes)
      memcpy(&raw, from + size_t{i} * of.bytes, of.bytes), bits = of.bytes * 8;
    else
      raw = word >> shift & ((1u << bits) - 1), shift += bits;
    if (of.blue_first && i < 3) place = 2 - i;
    to.numbers[place] = bytes ? raw : channel_number(raw, bits, of.meaning);
  }
}

}  // namespace

uint32_t color_bytes(VkFormat format) { return channels_of(format).whole; }

uint32_t color_channels(VkFormat format) { return channels_of(format).count; }

void read_numbers(VkFormat format, const uint8_t* from, double* to) {
  const Channels of = channels_of(format);
  metrics::PixelValue value;
  read_color(value, of, from);
  const double by = std::string_view(value.kind) == "unorm8" ? 255 : 1;
  for (uint32_t i = 0; i < of.count; ++i) to[i] = value.numbers[i] / by;
}

metrics::PixelValue read_texel(const Shot& shot, const uint8_t* from) {
  metrics::PixelValue to;
  to.image = std::to_string(reinterpret_cast<uint64_t>(shot.image)) + " " + std::to_string(shot.level) + " " +
             std::to_string(shot.layer);
  uint32_t raw = 0;
  switch (shot.aspect) {
    case VK_IMAGE_ASPECT_COLOR_BIT: read_color(to, channels_of(shot.format), from); return to;
    case VK_IMAGE_ASPECT_STENCIL_BIT: to.kind = "stencil", to.count = 1, to.numbers[0] = *from; return to;
    default: break;
  }
  to.kind = "depth", to.count = 1;
  memcpy(&raw, from, texel_bytes(shot.format, VK_IMAGE_ASPECT_DEPTH_BIT));
  if (shot.format == VK_FORMAT_D32_SFLOAT || shot.format == VK_FORMAT_D32_SFLOAT_S8_UINT)
    to.numbers[0] = channel_number(raw, 32, SFLOAT);
  else if (shot.format == VK_FORMAT_D16_UNORM || shot.format == VK_FORMAT_D16_UNORM_S8_UINT)
    to.numbers[0] = raw / 65535.0;
  else
    to.numbers[0] = (raw & 0xffffff) / 16777215.0;
  return to;
}

}  // namespace dt::play::vk
