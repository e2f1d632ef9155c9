// Pixel formats and colour spaces (OpenVG 1.1, sections 3.4 and 10.2).
#include <algorithm>

#include "engine.h"

namespace dt::vg {

namespace {

// The transfer functions of section 3.4.2.
float gamma(float value) { return value <= 0.00304f ? 12.92f * value : 1.0556f * std::pow(value, 1 / 2.4f) - 0.0556f; }
float linear(float value) { return value <= 0.03928f ? value / 12.92f : std::pow((value + 0.0556f) / 1.0556f, 2.4f); }

// One byte is the commonest input by far.
const std::array<float, 256>& linear_of_bytes() {
  static const auto table = [] {
    std::array<float, 256> values{};
    for (size_t i = 0; i < values.size(); i++) values[i] = linear((float)i / 255.0f);
    return values;
  }();
  return table;
}
float to_linear(float value) {
  float scaled = value * 255.0f;
  auto byte = (int)(scaled + 0.5f);
  return (float)byte == scaled ? linear_of_bytes()[(size_t)byte] : linear(value);
}

}  // namespace

Color convert(Color color, Space from, Space to) {
  if (from == to) return color;
  if (from.premultiplied) {
    color.r = clamp01(color.r), color.g = clamp01(color.g), color.b = clamp01(color.b), color.a = clamp01(color.a);
    float factor = color.a > 0 ? 1 / color.a : 0;
    color.r = std::min(color.r * factor, 1.0f), color.g = std::min(color.g * factor, 1.0f);
    color.b = std::min(color.b * factor, 1.0f);
  }
  // Luminance is taken from linear light.
  bool luminance = to.luminance && !from.luminance, now_linear = from.linear;
  if ((luminance || to.linear) && !now_linear) {
    color.r = to_linear(clamp01(color.r)), color.g = to_linear(clamp01(color.g)), color.b = to_linear(clamp01(color.b));
    now_linear = true;
  }
  if (luminance) color.r = color.g = color.b = 0.2126f * color.r + 0.7152f * color.g + 0.0722f * color.b;
  if (now_linear && !to.linear) {
    color.r = gamma(clamp01(color.r)), color.g = gamma(clamp01(color.g)), color.b = gamma(clamp01(color.b));
  }
  if (to.premultiplied) color.r *= color.a, color.g *= color.a, color.b *= color.a;
  return color;
}

Format format(VGImageFormat name) {
  Format f;
  f.name = name;
  unsigned base = name & 0x3f, order = name & 0xc0;
  if (name & ~0xffu) return f;
  auto channels = [&](int bits, int r, int g, int b, int a) {
    f.bits = bits;
    // Most significant first, as the name says: RGBA; bit 6 puts A first, bit 7 turns RGB into BGR.
    bool alpha_first = order & 0x40, blue_first = order & 0x80;
    int shift = bits;
    auto put = [&](Format::Channel& channel, int width) {
      shift -= width;
      channel = {(uint8_t)width, (uint8_t)shift};
    };
    if (alpha_first) put(f.a, a);
    if (blue_first) {
      put(f.b, b), put(f.g, g), put(f.r, r);
    } else {
      put(f.r, r), put(f.g, g), put(f.b, b);
    }
    if (!alpha_first) put(f.a, a);
    f.valid = true;
  };
  auto single = [&](int bits, bool alpha, bool linear_light) {
    f.bits = bits;
    (alpha ? f.a : f.r) = {(uint8_t)bits, 0};
    f.space.luminance = !alpha;
    f.space.linear = linear_light;
    f.valid = order == 0;
  };
  // Formats without alpha have no order ARGB, but their X may come first.
  switch (base) {
    case VG_sRGBX_8888:
    case VG_lRGBX_8888:
      channels(32, 8, 8, 8, 8);
      f.a = {0, 0};
      break;
    case VG_sRGBA_8888:
    case VG_lRGBA_8888: channels(32, 8, 8, 8, 8); break;
    case VG_sRGBA_8888_PRE:
    case VG_lRGBA_8888_PRE:
      channels(32, 8, 8, 8, 8);
      f.space.premultiplied = true;
      break;
    case VG_sRGB_565:
      channels(16, 5, 6, 5, 0);
      f.valid = !(order & 0x40);
      break;
    case VG_sRGBA_5551: channels(16, 5, 5, 5, 1); break;
    case VG_sRGBA_4444: channels(16, 4, 4, 4, 4); break;
    case VG_sL_8: single(8, false, false); break;
    case VG_lL_8: single(8, false, true); break;
    case VG_A_8: single(8, true, true); break;
    case VG_BW_1: single(1, false, true); break;
    case VG_A_1: single(1, true, true); break;
    case VG_A_4: single(4, true, true); break;
    default: break;
  }
  if (base >= VG_lRGBX_8888 && base <= VG_lRGBA_8888_PRE) f.space.linear = true;
  return f;
}

Color Format::unpack(uint32_t pixel) const {
  auto channel = [pixel](Channel c) {
    uint32_t most = c.bits >= 32 ? 0xffffffffu : (1u << c.bits) - 1;
    return (float)((pixel >> c.shift) & most) / (float)most;
  };
  Color color;
  color.a = a.bits ? channel(a) : 1;
  if (!r.bits) {
    color.r = color.g = color.b = 1;  // alpha only: white
  } else if (space.luminance) {
    color.r = color.g = color.b = channel(r);
  } else {
    color.r = channel(r), color.g = channel(g), color.b = channel(b);
  }
  if (space.premultiplied) {
    color.r = std::min(color.r, color.a), color.g = std::min(color.g, color.a), color.b = std::min(color.b, color.a);
  }
  return color;
}

uint32_t Format::pack(Color color) const {
  auto channel = [](Channel c, float value) {
    uint32_t most = (1u << c.bits) - 1;
    return c.bits ? (uint32_t)(clamp01(value) * (float)most + 0.5f) << c.shift : 0u;
  };
  if (space.premultiplied) {
    color.a = clamp01(color.a);
    color.r = std::min(color.r, color.a), color.g = std::min(color.g, color.a), color.b = std::min(color.b, color.a);
  }
  if (!r.bits || space.luminance) return channel(r, color.r) | channel(a, color.a);
  return channel(r, color.r) | channel(g, color.g) | channel(b, color.b) | channel(a, color.a);
}

uint32_t load(const uint8_t* row, int x, int bits) {
  switch (bits) {
    case 32: {
      uint32_t value;
      __builtin_memcpy(&value, row + (size_t)x * 4, 4);
      return value;
    }
    case 16: {
      uint16_t value;
      __builtin_memcpy(&value, row + (size_t)x * 2, 2);
      return value;
    }
    case 8: return row[x];
    case 4: return row[x >> 1] >> ((x & 1) * 4) & 15;
    default: return row[x >> 3] >> (x & 7) & 1;  // the leftmost pixel lies in the lowest bit
  }
}

void store(uint8_t* row, int x, int bits, uint32_t value) {
  switch (bits) {
    case 32: __builtin_memcpy(row + (size_t)x * 4, &value, 4); break;
    case 16: {
      auto half = (uint16_t)value;
      __builtin_memcpy(row + (size_t)x * 2, &half, 2);
      break;
    }
    case 8: row[x] = (uint8_t)value; break;
    case 4: {
      int shift = (x & 1) * 4;
      row[x >> 1] = (uint8_t)((row[x >> 1] & ~(15 << shift)) | (value & 15) << shift);
      break;
    }
    default: row[x >> 3] = (uint8_t)((row[x >> 3] & ~(1 << (x & 7))) | (value & 1) << (x & 7)); break;
  }
}

}  // namespace dt::vg
