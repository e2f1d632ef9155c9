// Files made hostile from a good one: what the fuzzers of the core and of the player share.
//
//     PROGRAM MODE FILE [STEP] [SEED]
//
//   truncate  every STEP-th length, from SEED on
//   flip      bytes flipped, every STEP-th
//   reseal    the same, with all checksums made right again, so that the damage reaches the decoders
//   sizes     aligned 4 and 8 bytes become hostile numbers, resealed
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../../native/common/format.h"

namespace hostile {

using File = std::vector<uint8_t>;

// Make every checksum right again: of the chunks found by walking, and of the footer.
inline void reseal(File& file) {
  size_t at = sizeof(dt_file_header);
  while (at + sizeof(dt_chunk_header) <= file.size()) {
    dt_chunk_header h;
    memcpy(&h, file.data() + at, sizeof h);
    if (h.magic != DT_CHUNK_MAGIC || h.payload_bytes > file.size() - at - sizeof h) return;
    if (h.type == DT_TYPE_FOOTER && h.payload_bytes >= sizeof(dt_footer_meta)) {
      // The footer's copies of the headers follow the headers.
      dt_footer_meta meta;
      uint8_t* payload = file.data() + at + sizeof h;
      memcpy(&meta, payload, sizeof meta);
      for (uint32_t i = 0; i < meta.chunks && sizeof meta + (i + 1) * sizeof(dt_footer_entry) <= h.payload_bytes; ++i) {
        dt_footer_entry e;
        memcpy(&e, payload + sizeof meta + i * sizeof e, sizeof e);
        if (e.offset < at && at - e.offset >= sizeof e.header)
          memcpy(payload + sizeof meta + i * sizeof e + 8, file.data() + e.offset, sizeof e.header);
      }
    }
    h.payload_hash = XXH3_64bits(file.data() + at + sizeof h, h.payload_bytes);
    h.header_hash = static_cast<uint32_t>(XXH3_64bits(&h, 28));
    memcpy(file.data() + at, &h, sizeof h);
    at += sizeof h + h.payload_bytes;
  }
}

// Gives `run` every file that the arguments ask for, and `whole` the good one where the mode is `own`; returns the exit
// code.
template <class Whole, class Run> int files(int argc, char** argv, const char* own, Whole whole, Run run) {
  if (argc < 3) return 2;
  const std::string mode = argv[1];
  FILE* in = fopen(argv[2], "rb");
  if (!in) return 2;
  File file(1 << 26);
  file.resize(fread(file.data(), 1, file.size(), in));
  fclose(in);
  const size_t step = argc > 3 ? strtoul(argv[3], nullptr, 10) : 1,
               from = argc > 4 ? strtoul(argv[4], nullptr, 10) % step : 0;
  if (mode == own) {
    whole(file);
  } else if (mode == "truncate") {
    for (size_t n = from; n < file.size(); n += step) run(File(file.begin(), file.begin() + static_cast<long>(n)));
  } else if (mode == "flip" || mode == "reseal") {
    for (size_t at = from; at < file.size(); at += step)
      for (int value : {0x01, 0x80, 0xff}) {
        File changed = file;
        changed[at] = static_cast<uint8_t>(changed[at] ^ value);
        if (mode == "reseal") reseal(changed);
        run(changed);
      }
  } else if (mode == "sizes") {
    for (size_t at = from * 4; at + 8 <= file.size(); at += 4 * step)
      for (uint64_t value : {UINT64_MAX, uint64_t(INT64_MAX), uint64_t(1) << 32, uint64_t(0xffffffffu),
                             uint64_t(0x7fffffff), uint64_t(0x01000000)}) {
        File changed = file;
        memcpy(changed.data() + at, &value, value <= UINT32_MAX && at % 8 ? 4 : 8);
        reseal(changed);
        run(changed);
      }
  } else {
    return 2;
  }
  return 0;
}

}  // namespace hostile
