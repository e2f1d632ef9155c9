#include "image.h"

#include <algorithm>
#include <cstdio>
#include <memory>

namespace dt::play {
namespace {

uint32_t crc(uint32_t c, const uint8_t* data, size_t n) {
  static const auto* table = [] {
    auto* t = new uint32_t[256];
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t v = i;
      for (int k = 0; k < 8; ++k) v = v & 1 ? 0xedb88320u ^ v >> 1 : v >> 1;
      t[i] = v;
    }
    return t;
  }();
  c = ~c;
  for (size_t i = 0; i < n; ++i) c = table[(c ^ data[i]) & 0xff] ^ c >> 8;
  return ~c;
}

void big(std::vector<uint8_t>& out, uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<uint8_t>(v >> shift));
}

void chunk(std::vector<uint8_t>& out, const char* type, const std::vector<uint8_t>& data) {
  big(out, static_cast<uint32_t>(data.size()));
  size_t from = out.size();
  out.insert(out.end(), type, type + 4);
  out.insert(out.end(), data.begin(), data.end());
  big(out, crc(0, out.data() + from, out.size() - from));
}

// `bytes` a pixel: 4 RGBA, 2 grey of 16 bits, 1 grey.
std::vector<uint8_t> png(const std::vector<uint8_t>& pixels, int width, int height, int bytes) {
  size_t row = static_cast<size_t>(width) * static_cast<size_t>(bytes);
  std::vector<uint8_t> raw;
  raw.reserve((row + 1) * static_cast<size_t>(height));
  for (int y = height - 1; y >= 0; --y) {
    raw.push_back(0);
    raw.insert(raw.end(), pixels.begin() + static_cast<long>(row * static_cast<size_t>(y)),
               pixels.begin() + static_cast<long>(row * (static_cast<size_t>(y) + 1)));
  }
  std::vector<uint8_t> z = {0x78, 0x01};
  uint32_t a = 1, b = 0;
  for (size_t at = 0; at < raw.size();) {
    size_t n = raw.size() - at < 65535 ? raw.size() - at : 65535;
    z.push_back(at + n == raw.size());
    for (unsigned v : {static_cast<unsigned>(n), static_cast<unsigned>(~n & 0xffff)}) {
      z.push_back(static_cast<uint8_t>(v));
      z.push_back(static_cast<uint8_t>(v >> 8));
    }
    z.insert(z.end(), raw.begin() + static_cast<long>(at), raw.begin() + static_cast<long>(at + n));
    for (size_t i = 0; i < n; ++i) {
      a = (a + raw[at + i]) % 65521;
      b = (b + a) % 65521;
    }
    at += n;
  }
  big(z, b << 16 | a);
  std::vector<uint8_t> out = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, head;
  big(head, static_cast<uint32_t>(width));
  big(head, static_cast<uint32_t>(height));
  head.insert(head.end(),
              {static_cast<uint8_t>(bytes == 2 ? 16 : 8), static_cast<uint8_t>(bytes == 4 ? 6 : 0), 0, 0, 0});
  chunk(out, "IHDR", head);
  chunk(out, "IDAT", z);
  chunk(out, "IEND", {});
  return out;
}

std::vector<uint8_t> ppm(const std::vector<uint8_t>& pixels, int width, int height) {
  char head[64];
  int n = snprintf(head, sizeof head, "P6\n%d %d\n255\n", width, height);
  std::vector<uint8_t> out(head, head + n);
  for (int y = height - 1; y >= 0; --y)
    for (int x = 0; x < width; ++x) {
      const uint8_t* p = &pixels[(static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) * 4];
      out.insert(out.end(), p, p + 3);
    }
  return out;
}

}  // namespace

bool write_image(const std::string& path, const std::vector<uint8_t>& pixels, int width, int height, int pixel) {
  std::vector<uint8_t> bytes = path.ends_with(".ppm")    ? ppm(pixels, width, height)
                               : path.ends_with(".rgba") ? pixels
                                                         : png(pixels, width, height, pixel);
  std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "wb"), fclose);
  return file && fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
}

void shrink(std::vector<uint8_t>& pixels, int& width, int& height, uint64_t most) {
  const auto w = static_cast<size_t>(width), h = static_cast<size_t>(height);
  most = std::clamp<uint64_t>(most, 1, 1 << 20);
  const size_t step = std::max({(w + most - 1) / most, (h + 4 * most - 1) / (4 * most), size_t{1}});
  if (step == 1 || w < step || h < step) return;
  const size_t columns = w / step, rows = h / step, row = w * 4;
  std::vector<uint32_t> sums(columns * step * 4);
  const uint8_t* from = pixels.data() + (h - rows * step) * row;  // the lowest rows are left over
  uint8_t* to = pixels.data();                                    // never beyond what was read
  for (size_t y = 0; y < rows; ++y) {
    std::fill(sums.begin(), sums.end(), 0);
    for (size_t k = 0; k < step; ++k, from += row)
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += from[i];
    for (size_t x = 0; x < columns; ++x)
      for (size_t channel = 0; channel < 4; ++channel) {
        uint32_t sum = 0;
        for (size_t k = 0; k < step; ++k) sum += sums[(x * step + k) * 4 + channel];
        *to++ = static_cast<uint8_t>(sum / (step * step));
      }
  }
  pixels.resize(columns * rows * 4);
  width = static_cast<int>(columns);
  height = static_cast<int>(rows);
}

}  // namespace dt::play
