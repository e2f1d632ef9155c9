// An array that only grows and is then read once from its beginning. Elements beyond some megabytes go to a file
// without a name, so that walking a long trace needs no more memory than a short one.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "../core/error.h"

namespace dt::state {

// A file that nobody else sees, in `folder` or else where temporary files go; -1: there can be none.
inline int unnamed_file(const std::string& folder) {
  const char* temporary = getenv("TMPDIR");
  for (const std::string& where : {folder, std::string(temporary ? temporary : ""), std::string("/tmp")}) {
    if (where.empty()) continue;
    int fd = open(where.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
    std::string name = where + "/drawtap-XXXXXX";
    fd = mkostemp(name.data(), O_CLOEXEC);
    if (fd < 0) continue;
    unlink(name.c_str());
    return fd;
  }
  return -1;
}

// Write all of it; false: there is no room.
inline bool write_at(int fd, const void* data, size_t bytes, uint64_t offset) {
  auto* from = static_cast<const char*>(data);
  while (bytes) {
    ssize_t n = pwrite(fd, from, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n, offset += static_cast<uint64_t>(n), bytes -= static_cast<size_t>(n);
  }
  return true;
}

template <class T> class Spool {
 public:
  explicit Spool(std::string folder) : folder_(std::move(folder)) {}
  ~Spool() {
    if (fd_ >= 0) close(fd_);
  }
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  uint64_t size() const { return stored_ + near_.size(); }
  void push_back(const T& v) {
    near_.push_back(v);
    if (near_.size() >= limit_) put_away();
  }
  void append(const T* from, size_t n) {
    near_.insert(near_.end(), from, from + n);
    if (near_.size() >= limit_) put_away();
  }
  // Call `visit(pointer, count)` with what there is, piece by piece; it is gone then.
  template <class F> void drain(F visit) {
    if (stored_) {
      std::vector<T> piece(1 << 16);
      for (uint64_t at = 0; at < stored_;) {
        size_t n = static_cast<size_t>(std::min<uint64_t>(piece.size(), stored_ - at));
        read_at(piece.data(), n * sizeof(T), at * sizeof(T));
        visit(static_cast<const T*>(piece.data()), n);
        at += n;
      }
    }
    if (!near_.empty()) visit(static_cast<const T*>(near_.data()), near_.size());
    std::vector<T>().swap(near_);
    if (fd_ >= 0) close(fd_);
    fd_ = -1, stored_ = 0;
  }

 private:
  static constexpr size_t MOST = (16u << 20) / sizeof(T);
  void put_away() {
    if (fd_ < 0) fd_ = unnamed_file(folder_);
    if (fd_ < 0 || !write_at(fd_, near_.data(), near_.size() * sizeof(T), stored_ * sizeof(T))) {
      limit_ = SIZE_MAX;  // memory then, as long as there is some
      return;
    }
    stored_ += near_.size();
    near_.clear();
  }
  void read_at(void* to, size_t bytes, uint64_t offset) {
    auto* into = static_cast<char*>(to);
    while (bytes) {
      ssize_t n = pread(fd_, into, bytes, static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) throw Error(DT_E_IO, "a temporary file of the state index cannot be read");
      into += n, offset += static_cast<uint64_t>(n), bytes -= static_cast<size_t>(n);
    }
  }
  std::string folder_;
  std::vector<T> near_;
  size_t limit_ = MOST;
  uint64_t stored_ = 0;
  int fd_ = -1;
};

}  // namespace dt::state
