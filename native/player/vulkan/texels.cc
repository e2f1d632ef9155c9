#include "texels.h"

#include <cmath>
#include <cstring>

#include "channels.h"

namespace dt::play::vk {
namespace {

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
