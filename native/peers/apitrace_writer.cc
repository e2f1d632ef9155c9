#include "apitrace_writer.h"

#include <algorithm>

#include "snappy.h"

namespace dt::peers {

void ApitraceWriter::flush(bool all) {
  constexpr size_t CHUNK = 1 << 20;
  size_t done = 0;
  while (out_.size() - done >= CHUNK || (all && done < out_.size())) {
    const size_t n = std::min(CHUNK, out_.size() - done);
    snappy_compress(std::string_view(out_).substr(done, n), &packed_);
    const auto bytes = static_cast<uint32_t>(packed_.size());
    const uint8_t head[] = {static_cast<uint8_t>(bytes), static_cast<uint8_t>(bytes >> 8),
                            static_cast<uint8_t>(bytes >> 16), static_cast<uint8_t>(bytes >> 24)};
    fwrite(head, 1, 4, file_);
    fwrite(packed_.data(), 1, packed_.size(), file_);
    done += n;
  }
  out_.erase(0, done);
}

}  // namespace dt::peers
