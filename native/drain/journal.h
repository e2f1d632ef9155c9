// A trace in a memory file that grows: whoever has the file as well can go on with it when this process is gone.
#pragma once
#include <map>
#include <string>

#include "../common/container.h"

namespace dt {

class Journal {
 public:
  Journal() = default;
  ~Journal();
  Journal(Journal&& other) noexcept { *this = std::move(other); }
  Journal& operator=(Journal&& other) noexcept;

  // An empty trace of a process whose clock read these two at the same time, in a new memory file, or in `fd`, which
  // stays the caller's. As the others here, returns what went wrong.
  std::string begin(uint64_t start_clock, uint64_t start_ns, int fd = -1);
  std::string text(std::string_view text, uint16_t type);
  // `at`: where in the file the chunk's payload stands.
  std::string blobs(ChunkBuffer& chunk, uint32_t meta_bytes, uint64_t* at);
  // The chunk's serial becomes the next one of its thread.
  std::string calls(ChunkBuffer& chunk, uint32_t meta_bytes, uint64_t* at);
  std::string finish() { return writer_->finish(); }
  std::string read(uint64_t at, void* to, size_t bytes) const;
  int fd() const { return fd_; }
  uint64_t bytes() const { return writer_ ? writer_->size() : 0; }

 private:
  std::string append(ChunkBuffer& chunk, uint16_t type, uint32_t meta_bytes, uint64_t* at);

  int fd_ = -1;
  bool own_ = true;
  std::unique_ptr<ContainerWriter> writer_;
  std::map<uint32_t, uint64_t> serials_;  // of every thread
};

}  // namespace dt
