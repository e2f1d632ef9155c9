#include "journal.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "status.h"

namespace dt {

Journal::~Journal() {
  if (own_ && fd_ >= 0) close(fd_);
}

Journal& Journal::operator=(Journal&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(own_, other.own_);
  std::swap(writer_, other.writer_);
  std::swap(serials_, other.serials_);
  return *this;
}

std::string Journal::begin(uint64_t start_clock, uint64_t start_ns, int fd) {
  own_ = fd < 0;
  fd_ = own_ ? memfd_create("drawtap-window", MFD_CLOEXEC) : fd;
  if (fd_ < 0) return std::string("no memory file can be made: ") + strerror(errno);
  writer_ = std::make_unique<ContainerWriter>();
  const std::string error = writer_->create("/proc/self/fd/" + std::to_string(fd_));
  if (!error.empty()) return error;
  JsonObject pair;
  pair.put("kind", "recording").put("start_clock", start_clock).put("start_ns", start_ns);
  return text(pair.str(), DT_TYPE_ANNOTATION);
}

std::string Journal::append(ChunkBuffer& chunk, uint16_t type, uint32_t meta_bytes, uint64_t* at) {
  if (!writer_) return "there is no memory file";
  const uint64_t before = writer_->size();
  if (at) *at = before + sizeof(dt_chunk_header);
  return writer_->append(chunk.seal(type, meta_bytes));
}

std::string Journal::text(std::string_view text, uint16_t type) {
  ChunkBuffer chunk;
  return writer_ ? writer_->append(text_chunk(chunk, type, text)) : "there is no memory file";
}

std::string Journal::blobs(ChunkBuffer& chunk, uint32_t meta_bytes, uint64_t* at) {
  return append(chunk, DT_TYPE_BLOBS, meta_bytes, at);
}

std::string Journal::calls(ChunkBuffer& chunk, uint32_t meta_bytes, uint64_t* at) {
  dt_calls_meta meta;
  memcpy(&meta, chunk.at(0), sizeof meta);
  meta.serial = serials_[meta.thread]++;
  memcpy(chunk.at(0), &meta, sizeof meta);
  return append(chunk, DT_TYPE_CALLS, meta_bytes, at);
}

std::string Journal::read(uint64_t at, void* to, size_t bytes) const {
  for (char* next = static_cast<char*>(to); bytes;) {
    const ssize_t got = pread(fd_, next, bytes, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::string("what is held cannot be read: ") + (got ? strerror(errno) : "it ends");
    next += got;
    at += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return {};
}

}  // namespace dt
