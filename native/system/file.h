// A file in memory. Empty files are empty, not errors.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
  std::string_view view() const { return {static_cast<const char*>(at_), size_}; }

 private:
  void* at_ = nullptr;
  size_t size_ = 0;
};

}  // namespace dt::kernel
