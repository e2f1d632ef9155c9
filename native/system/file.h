// A file in memory, and what is compressed in one. Empty files are empty, not errors.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "../core/error.h"

namespace dt::kernel {

class File {
 public:
  explicit File(const std::string& path) {
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) {
      std::string why = strerror(errno);
      if (fd >= 0) close(fd);
      throw Error(DT_E_IO, path + ": " + why);
    }
    size_ = static_cast<size_t>(st.st_size);
    if (size_) {
      at_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
      if (at_ == MAP_FAILED) {
        std::string why = strerror(errno);
        close(fd);
        throw Error(DT_E_IO, path + ": " + why);
      }
      madvise(at_, size_, MADV_SEQUENTIAL);
    }
    close(fd);
  }
  File(const File&) = delete;
  ~File() {
    if (size_) munmap(at_, size_);
  }
  const uint8_t* data() const { return static_cast<const uint8_t*>(at_); }
  size_t size() const { return size_; }
  // Let go of the memory before `to`, which has been read from `from` on: who reads it again gets it from the file.
  void forget(size_t& from, size_t to) const {
    to = std::min(to, size_) / FORGOTTEN_AT_ONCE * FORGOTTEN_AT_ONCE;
    if (to <= from) return;
    madvise(static_cast<char*>(at_) + from, to - from, MADV_DONTNEED);
    from = to;
  }
  std::string_view view() const { return {static_cast<const char*>(at_), size_}; }

 private:
  static constexpr size_t FORGOTTEN_AT_ONCE = 1 << 20;  // a multiple of the size of pages
  void* at_ = nullptr;
  size_t size_ = 0;
};

constexpr size_t MOST_UNPACKED = size_t{1} << 30;

// Appends what a part of a zstd stream holds, up to a limit. Returns why it cannot be read, else nothing.
inline std::string unpack_zstd(ZSTD_DStream* stream, std::string_view part, std::string& to) {
  constexpr size_t STEP = 1 << 16;
  ZSTD_inBuffer in{part.data(), part.size(), 0};
  for (ZSTD_outBuffer out{nullptr, 0, 0}; (in.pos < in.size || out.pos == out.size) && to.size() < MOST_UNPACKED;) {
    const size_t before = to.size();
    to.resize(before + STEP);
    out = {to.data() + before, STEP, 0};
    const size_t code = ZSTD_decompressStream(stream, &out, &in);
    to.resize(before + out.pos);
    if (ZSTD_isError(code)) return ZSTD_getErrorName(code);
  }
  return {};
}

}  // namespace dt::kernel
