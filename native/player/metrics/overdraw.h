// The number of times that each pixel of a target is drawn over in a frame.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "draw_state.h"
#include "fragment_figures.h"

namespace dt::play::metrics {

// The draws of each pixel of a target in the frame, lowest row first: a byte a pixel as long as that is enough.
class Picture {
 public:
  Extent size;
  uint32_t framebuffer = 0;
  bool empty() const { return low_.empty() && wide_.empty(); }
  void clear(Extent of) {
    size = of;
    wide_.clear();
    low_.assign(static_cast<size_t>(of.width) * static_cast<size_t>(of.height), 0);
  }
  // Adds a row of counts that begins at a pixel; returns their sum.
  uint64_t add(size_t x, size_t y, const uint8_t* counts, size_t n, Overdraw& sums) {
    const size_t at = y * static_cast<size_t>(size.width) + x;
    uint64_t sum = 0;
    size_t i = 0;
#if defined(__SSE2__)
    const __m128i zero = _mm_setzero_si128(), one = _mm_set1_epi8(1);
    __m128i total = zero, covered = zero, above[4] = {zero, zero, zero, zero}, most = zero;
    for (; i + 16 <= n && wide_.empty(); i += 16) {
      const __m128i more = _mm_loadu_si128(reinterpret_cast<const __m128i*>(counts + i));
      if (_mm_movemask_epi8(_mm_cmpeq_epi8(more, zero)) == 0xFFFF) continue;
      auto* place = reinterpret_cast<__m128i*>(low_.data() + at + i);
      const __m128i before = _mm_loadu_si128(place), after = _mm_adds_epu8(before, more);
      if (_mm_movemask_epi8(_mm_cmpeq_epi8(after, _mm_set1_epi8(-1)))) {
        widen();
        break;
      }
      _mm_storeu_si128(place, after);
      total = _mm_add_epi64(total, _mm_sad_epu8(more, zero));
      // Ones where a pixel had nothing before (no more than the limit) and has now.
      covered = _mm_add_epi64(covered, _mm_sad_epu8(_mm_andnot_si128(_mm_cmpeq_epi8(after, zero),
                                                                     _mm_and_si128(_mm_cmpeq_epi8(before, zero), one)),
                                                    zero));
      for (int k = 0; k < 4; ++k) {
        const __m128i limit = _mm_set1_epi8(static_cast<char>(Overdraw::LIMITS[k]));
        const __m128i was = _mm_cmpeq_epi8(_mm_subs_epu8(before, limit), zero),
                      is = _mm_cmpeq_epi8(_mm_subs_epu8(after, limit), zero);
        above[k] = _mm_add_epi64(above[k], _mm_sad_epu8(_mm_andnot_si128(is, _mm_and_si128(was, one)), zero));
      }
      most = _mm_max_epu8(most, after);
    }
    auto both = [](__m128i v) {
      return static_cast<uint64_t>(_mm_cvtsi128_si64(v)) +
             static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_srli_si128(v, 8)));
    };
    sum = both(total);
    sums.covered += both(covered);
    for (int k = 0; k < 4; ++k) sums.above[k] += both(above[k]);
    most = _mm_max_epu8(most, _mm_srli_si128(most, 8));
    most = _mm_max_epu8(most, _mm_srli_si128(most, 4));
    most = _mm_max_epu8(most, _mm_srli_si128(most, 2));
    most = _mm_max_epu8(most, _mm_srli_si128(most, 1));
    sums.most = std::max(sums.most, static_cast<uint64_t>(_mm_cvtsi128_si32(most) & 0xFF));
#endif
    for (; i < n; ++i) {
      const uint32_t more = counts[i];
      if (!more) continue;
      if (wide_.empty() && low_[at + i] + more >= 255) widen();
      const uint32_t before = wide_.empty() ? low_[at + i] : wide_[at + i], after = before + more;
      if (wide_.empty())
        low_[at + i] = static_cast<uint8_t>(after);
      else
        wide_[at + i] = after;
      sum += more;
      sums.covered += !before;
      sums.most = std::max<uint64_t>(sums.most, after);
      for (int k = 0; k < 4; ++k) sums.above[k] += before <= Overdraw::LIMITS[k] && after > Overdraw::LIMITS[k];
    }
    sums.fragments += sum;
    return sum;
  }
  // Adds one to each of some pixels; they may name one several times.
  void add(const int32_t* pixels, size_t n, Overdraw& sums) {
    for (size_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(pixels[i]);
      if (at >= std::max(low_.size(), wide_.size())) continue;  // beside the smallest of what is attached
      if (wide_.empty() && low_[at] >= 254) widen();
      const uint32_t before = wide_.empty() ? low_[at]++ : wide_[at]++, after = before + 1;
      ++sums.fragments;
      sums.covered += !before;
      sums.most = std::max<uint64_t>(sums.most, after);
      for (int k = 0; k < 4; ++k) sums.above[k] += before == Overdraw::LIMITS[k];
    }
  }
  // The number of integers for two by two pixels each; `odd`: odd rows are the lower ones.
  static size_t cells_of(Extent size, int odd) {
    return static_cast<size_t>(size.width + 1) / 2 * static_cast<size_t>((size.height + odd + 1) / 2);
  }
  // Adds what each of these has in a byte a pixel, lower left, lower right, upper left, upper right; returns their sum.
  uint64_t add_cells(const int32_t* cells, int odd, Overdraw& sums) {
    const size_t columns = static_cast<size_t>(size.width + 1) / 2;
    draw_.resize(std::max(draw_.size(), 4 * columns));
    uint8_t* const rows[2] = {draw_.data(), draw_.data() + 2 * columns};
    uint64_t sum = 0;
    for (int y = -odd; y < size.height; y += 2, cells += columns) {
      int32_t any = 0;
      size_t i = 0;
#if defined(__SSE2__)
      __m128i some = _mm_setzero_si128();
      for (; i + 8 <= columns; i += 8) {
        const __m128i left = _mm_loadu_si128(reinterpret_cast<const __m128i*>(cells + i)),
                      right = _mm_loadu_si128(reinterpret_cast<const __m128i*>(cells + i + 4));
        some = _mm_or_si128(some, _mm_or_si128(left, right));
        auto halves = [](__m128i v) { return _mm_srai_epi32(v, 16); };
        _mm_storeu_si128(reinterpret_cast<__m128i*>(rows[0] + 2 * i),
                         _mm_packs_epi32(halves(_mm_slli_epi32(left, 16)), halves(_mm_slli_epi32(right, 16))));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(rows[1] + 2 * i), _mm_packs_epi32(halves(left), halves(right)));
      }
      any = _mm_movemask_epi8(_mm_cmpeq_epi8(some, _mm_setzero_si128())) != 0xFFFF;
#endif
      for (; i < columns; any |= cells[i++])
        memcpy(rows[0] + 2 * i, cells + i, 2),
            memcpy(rows[1] + 2 * i, reinterpret_cast<const uint8_t*>(cells + i) + 2, 2);
      for (int k = 0; any && k < 2; ++k)
        if (y + k >= 0 && y + k < size.height)
          sum += add(0, static_cast<size_t>(y + k), rows[k], static_cast<size_t>(size.width), sums);
    }
    memset(draw_.data(), 0, 4 * columns);
    return sum;
  }
  // The same of two by two pixels, see ShaderLanguage. Returns how many they are.
  uint64_t add_quads(const int32_t* quads, size_t n, Overdraw& sums) {
    const int32_t width = size.width, pixels = width * size.height;
    const auto [least, most] = std::minmax_element(quads, quads + n);
    // Half of a quad may lie below the lowest row, above the highest one, or beside the smallest of what is attached.
    const int32_t begin = n ? std::max(*least >> 4, -width - 1) : 0,
                  end = n ? std::min(*most >> 4, pixels) + width + 2 : 0;
    if (n < 16 || (end - begin) / 128 > static_cast<int32_t>(n)) return add_few_quads(quads, n, sums);
    const auto guard = static_cast<size_t>(width) + 2;
    draw_.resize(static_cast<size_t>(pixels) + 2 * guard);
    uint8_t* const counts = draw_.data() + guard;
    auto flush = [&] {
      const int32_t from = std::max(begin, 0), to = std::min(end, pixels);
      if (from < to) add(static_cast<size_t>(from), 0, counts + from, static_cast<size_t>(to - from), sums);
      memset(counts + begin, 0, static_cast<size_t>(end - begin));
    };
    uint64_t sum = 0;
    for (size_t i = 0; i < n; ++i) {
      const auto mask = static_cast<uint32_t>(quads[i]) & 15;
      const int32_t first = quads[i] >> 4;
      sum += static_cast<uint64_t>(std::popcount(mask));
      if (first < -width - 1 || first > pixels) continue;
      uint16_t lower, upper;
      uint8_t *const low = counts + first, *const high = low + width;
      memcpy(&lower, low, 2), memcpy(&upper, high, 2);
      lower = static_cast<uint16_t>(lower + (mask & 1) + ((mask & 2) << 7)),
      upper = static_cast<uint16_t>(upper + (mask >> 2 & 1) + ((mask & 8) << 5));
      memcpy(low, &lower, 2), memcpy(high, &upper, 2);
      if ((lower | upper) & 0x8080) flush();  // before a count of 128 and more overflows
    }
    flush();
    return sum;
  }
  std::vector<uint32_t> counts() const {
    return wide_.empty() ? std::vector<uint32_t>(low_.begin(), low_.end()) : wide_;
  }

 private:
  void widen() {
    wide_.assign(low_.begin(), low_.end());
    low_.clear();
  }
  uint64_t add_few_quads(const int32_t* quads, size_t n, Overdraw& sums) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; ++i) {
      const int32_t first = quads[i] >> 4;
      int32_t pixels[4];
      size_t count = 0;
      for (int k = 0; k < 4; ++k)
        if (quads[i] >> k & 1) pixels[count++] = first + k % 2 + k / 2 * size.width;
      add(pixels, count, sums);
      sum += count;
    }
    return sum;
  }
  std::vector<uint8_t> low_;
  std::vector<uint32_t> wide_;
  std::vector<uint8_t> draw_;  // of one draw, between two rows and a bit of zeros
};

// The draws of a frame. It is over when the frame is, and whole when all its pictures are read back.
struct Frame {
  std::map<std::pair<const void*, uint32_t>, Picture> pictures;
  Overdraw sums;  // of the pictures that are read back
  const char* why = nullptr;
  size_t unread = 0;
  bool over = false;
  uint64_t number = 0;
  uint64_t draws = 0, unknown = 0;  // draws, and how many of them are in no picture, or not wholly
  void lose(const char* because) {
    why = because;
    ++unknown;
  }
  void lose_read(const char* because) {
    sums.why = because;
    ++unknown;
  }
};

inline uint64_t sum_of(const uint8_t* bytes, size_t n) {
  uint64_t sum = 0;
  size_t i = 0;
#if defined(__SSE2__)
  const __m128i zero = _mm_setzero_si128();
  __m128i parts = zero;
  for (; i + 16 <= n; i += 16)
    parts = _mm_add_epi64(parts, _mm_sad_epu8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i)), zero));
  sum = static_cast<uint64_t>(_mm_cvtsi128_si64(parts)) +
        static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_srli_si128(parts, 8)));
#endif
  for (; i < n; ++i) sum += bytes[i];
  return sum;
}

// The same of 16-bit numbers, and the least of them.
inline uint64_t sum_of(const uint16_t* numbers, size_t n, uint16_t& least) {
  uint64_t sum = 0;
  size_t i = 0;
#if defined(__SSE2__)
  const __m128i zero = _mm_setzero_si128(), low = _mm_set1_epi16(0xFF), flip = _mm_set1_epi16(INT16_MIN);
  __m128i lows = zero, highs = zero, smallest = _mm_set1_epi16(INT16_MAX);
  for (; i + 8 <= n; i += 8) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(numbers + i));
    lows = _mm_add_epi64(lows, _mm_sad_epu8(_mm_and_si128(v, low), zero));
    highs = _mm_add_epi64(highs, _mm_sad_epu8(_mm_srli_epi16(v, 8), zero));
    smallest = _mm_min_epi16(smallest, _mm_xor_si128(v, flip));
  }
  auto both = [](__m128i v) {
    return static_cast<uint64_t>(_mm_cvtsi128_si64(v)) + static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_srli_si128(v, 8)));
  };
  sum = both(lows) + 256 * both(highs);
  alignas(16) uint16_t smallest_of[8];
  _mm_store_si128(reinterpret_cast<__m128i*>(smallest_of), _mm_xor_si128(smallest, flip));
  for (uint16_t v : smallest_of) least = std::min(least, v);
#endif
  for (; i < n; ++i) sum += numbers[i], least = std::min(least, numbers[i]);
  return sum;
}

}  // namespace dt::play::metrics
