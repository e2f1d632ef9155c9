// Write a synthetic trace for measurements: make_trace FILE [CALLS]. One thread, frames of 1,000 calls, eight functions
// in the mix of a state-heavy GL program, TSC-like ticks. Uses only format.h, zstd and xxhash.
#include <zstd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../../native/common/format.h"
#include "../../native/common/ring.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace {

const char g_signatures[] =
    "G\tTarget\tenum\nE\tGL_TEXTURE_2D\t3553\nE\tGL_ARRAY_BUFFER\t34962\nE\tGL_ELEMENT_ARRAY_BUFFER\t34963\n"
    "G\tMode\tenum\nE\tGL_POINTS\t0\nE\tGL_TRIANGLES\t4\nG\tCap\tenum\nE\tGL_BLEND\t3042\nE\tGL_DEPTH_TEST\t2929\n"
    "G\tType\tenum\nE\tGL_UNSIGNED_SHORT\t5123\n"
    "F\t0\tgl\tglBindTexture\t0\t2\t-\t-\nP\ttarget\tGLenum\tenum\t4:0\tTarget\t-\nP\ttexture\tGLuint\tu32\t4:1\t-\ttexture\n"
    "F\t1\tgl\tglBindBuffer\t0\t2\t-\t-\nP\ttarget\tGLenum\tenum\t4:0\tTarget\t-\nP\tbuffer\tGLuint\tu32\t4:1\t-\tbuffer\n"
    "F\t2\tgl\tglEnable\t0\t1\t-\t-\nP\tcap\tGLenum\tenum\t4:0\tCap\t-\n"
    "F\t3\tgl\tglUniform1i\t0\t2\tupload\t-\nP\tlocation\tGLint\ti32\t4:0\t-\t-\nP\tv0\tGLint\ti32\t4:1\t-\t-\n"
    "F\t4\tgl\tglUniformMatrix4fv\t2\t3\tupload\t-\nP\tlocation\tGLint\ti32\t4:0\t-\t-\nP\tcount\tGLsizei\ti32\t4:1\t-\t-\n"
    "P\ttranspose\tGLboolean\tbool\t4:2\t-\t-\nP\tvalue\tconst GLfloat *\tptr\t8:0\t-\t-\nD\t8:1\tf32\tin\t-\n"
    "F\t5\tgl\tglUseProgram\t0\t1\t-\t-\nP\tprogram\tGLuint\tu32\t4:0\t-\tprogram\n"
    "F\t6\tgl\tglDrawElements\t1\t3\tdraw\t-\nP\tmode\tGLenum\tenum\t4:0\tMode\t-\nP\tcount\tGLsizei\ti32\t4:1\t-\t-\n"
    "P\ttype\tGLenum\tenum\t4:2\tType\t-\nP\tindices\tconst void *\tptr\t8:0\t-\t-\n"
    "F\t7\tegl\teglSwapBuffers\t2\t1\tframe_end\t-\nR\tEGLBoolean\tbool\t4:0\t-\t-\nP\tdpy\tEGLDisplay\thandle\t8:0\t-\t-\n"
    "P\tsurface\tEGLSurface\thandle\t8:1\t-\t-\n";
constexpr unsigned FUNCTIONS = 8, W8[] = {0, 0, 0, 0, 2, 0, 1, 2}, W4[] = {2, 2, 1, 2, 3, 1, 3, 1};

FILE* g_out;
uint64_t g_random = 88172645463325252ull;
uint32_t random_below(uint32_t n) {
  g_random ^= g_random << 13, g_random ^= g_random >> 7, g_random ^= g_random << 17;
  return static_cast<uint32_t>((g_random >> 33) % n);
}
template <class T> void put(std::string& out, const T& v) { out.append(reinterpret_cast<const char*>(&v), sizeof v); }
void leb(std::string& out, uint64_t v) {
  for (; v >= 0x80; v >>= 7) out.push_back(static_cast<char>(v | 0x80));
  out.push_back(static_cast<char>(v));
}

void chunk(uint16_t type, const std::string& payload, size_t meta) {
  dt_chunk_header h{DT_CHUNK_MAGIC,
                    type,
                    1,
                    payload.size(),
                    XXH3_64bits(payload.data(), payload.size()),
                    static_cast<uint32_t>(meta),
                    0};
  h.header_hash = static_cast<uint32_t>(XXH3_64bits(&h, 28));
  fwrite(&h, sizeof h, 1, g_out);
  fwrite(payload.data(), 1, payload.size(), g_out);
}
std::string pack(const std::string& raw) {
  std::string out(ZSTD_compressBound(raw.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), raw.data(), raw.size(), 1));
  return out;
}

struct Columns {
  std::vector<uint64_t> w8[2];
  std::vector<uint32_t> w4[3];
  std::string payload;
  uint32_t count = 0;
  uint64_t sum = 0, max = 0, bytes = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || !(g_out = fopen(argv[1], "wb"))) return 2;
  const uint64_t calls = argc > 2 ? strtoull(argv[2], nullptr, 10) : 5000000;
  dt_file_header header{};
  memcpy(header.magic, DT_FILE_MAGIC, 8);
  header.version = DT_FILE_VERSION;
  memcpy(header.uuid, "synthetic trace", 15);
  fwrite(&header, sizeof header, 1, g_out);
  std::string text, stored = pack(g_signatures);
  put(text, dt_block{0, DT_CODEC_ZSTD, 0, strlen(g_signatures), stored.size()});
  chunk(DT_TYPE_SIGNATURES, text + stored, sizeof(dt_block));
  uint64_t clock = 1000000000, done = 0;
  for (uint64_t serial = 0; done < calls; ++serial) {
    const uint32_t n = static_cast<uint32_t>(calls - done < 16384 ? calls - done : 16384);
    Columns columns[FUNCTIONS];
    std::string order, entry, duration;
    dt_calls_meta m{};
    m.pid = m.tid = 4242, m.context = 1, m.serial = serial, m.first_call = done, m.records = m.calls = n;
    m.t_first = m.calibration_clock = clock, m.calibration_ns = clock / 3, m.calibration_width = 60;
    m.functions = FUNCTIONS, m.blocks = 4;
    strcpy(m.thread_name, "synthetic");
    for (uint32_t i = 0; i < n; ++i) {
      const uint64_t at = (done + i) % 1000;
      unsigned f = at == 999 ? 7 : at % 12 == 11 ? 6 : at % 12 == 5 ? 4 : at % 97 == 0 ? 5 : random_below(4);
      Columns& c = columns[f];
      const uint64_t took = 30 + random_below(200) + (random_below(5000) == 0 ? 90000 : 0);
      order.push_back(static_cast<char>(f));
      leb(entry, i ? 2 * (took / 2 + 40) : 0);
      if (i) clock += took / 2 + 40;
      leb(duration, took + 3);
      ++c.count, c.sum += took, c.max = c.max < took ? took : c.max;
      const uint32_t values[FUNCTIONS][3] = {{3553, random_below(16), 0},
                                             {34962u + random_below(2), random_below(40), 0},
                                             {random_below(2) ? 3042u : 2929u, 0, 0},
                                             {random_below(20), random_below(4), 0},
                                             {random_below(8), 1, 0},
                                             {random_below(6), 0, 0},
                                             {4, 36 * (1 + random_below(9)), 5123},
                                             {1, 0, 0}};
      for (unsigned k = 0; k < W4[f]; ++k) c.w4[k].push_back(values[f][k]);
      if (f == 4) {
        c.w8[0].push_back(0x7ffc0000 + random_below(4) * 64);
        c.w8[1].push_back(DT_DATA(DT_DATA_INLINE, 0, 64));
        for (int k = 0; k < 16; ++k) put(c.payload, static_cast<float>(k % 5 == 0 ? 1 : random_below(3)));
        c.bytes += 64;
      } else {
        for (unsigned k = 0; k < W8[f]; ++k) c.w8[k].push_back(f == 7 ? 0x5500 + k : random_below(64) * 72);
      }
    }
    m.t_last = clock, m.t_end = clock + 100;
    std::string args, table;
    for (unsigned f = 0; f < FUNCTIONS; ++f) {
      Columns& c = columns[f];
      dt_calls_function entry_of{static_cast<uint16_t>(f), 3, c.count, args.size(), 0, c.sum, c.max, c.bytes};
      for (unsigned k = 0; k < W8[f]; ++k)
        for (size_t i = 0; i < c.w8[k].size(); ++i) put(args, c.w8[k][i] - (i ? c.w8[k][i - 1] : 0));
      for (unsigned k = 0; k < W4[f]; ++k)
        for (size_t i = 0; i < c.w4[k].size(); ++i) put(args, c.w4[k][i] - (i ? c.w4[k][i - 1] : 0));
      args += c.payload;
      entry_of.bytes = args.size() - entry_of.offset;
      put(table, entry_of);
      m.max_duration = m.max_duration < c.max ? c.max : m.max_duration;
    }
    std::string payload, blocks, body;
    const std::string* raw[] = {&order, &entry, &duration, &args};
    for (uint16_t k = 0; k < 4; ++k) {
      std::string packed = pack(*raw[k]);
      put(blocks, dt_block{static_cast<uint16_t>(DT_BLOCK_ORDER + k), DT_CODEC_ZSTD, 0, raw[k]->size(), packed.size()});
      body += packed;
    }
    put(payload, m);
    payload += table + blocks;
    chunk(DT_TYPE_CALLS, payload + body, payload.size());
    done += n;
    clock += 50;
  }
  return fclose(g_out) ? 1 : 0;  // no footer: readers scan, which is the slower way to open
}
