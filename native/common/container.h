// Writing a trace (.dtap): append-only, one whole chunk at a time, so that a writer that dies leaves a file that
// is good up to its last whole chunk. docs/format.md says what the bytes mean.
#pragma once
#include <sys/types.h>

#include <climits>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format.h"

namespace dt {

// A chunk under construction: room for the header, then the payload. Reused from chunk to chunk.
class ChunkBuffer {
 public:
  ChunkBuffer() { clear(); }
  void clear() {
    used_ = sizeof(dt_chunk_header);
    if (bytes_.size() < 4096) bytes_.resize(4096);
  }
  // Room for `bytes` more at the end; the pointer holds until the next call. `take` makes them part of the chunk.
  char* room(size_t bytes) {
    if (bytes_.size() - used_ < bytes) bytes_.resize((used_ + bytes) + (used_ + bytes) / 2);
    return bytes_.data() + used_;
  }
  void take(size_t bytes) { used_ += bytes; }
  void put(const void* data, size_t bytes);
  char* at(size_t payload_offset) { return bytes_.data() + sizeof(dt_chunk_header) + payload_offset; }
  size_t payload_bytes() const { return used_ - sizeof(dt_chunk_header); }
  // Fills in the header and returns the whole chunk.
  std::span<const char> seal(uint16_t type, uint32_t meta_bytes, uint16_t version = 1);

 private:
  std::vector<char> bytes_;
  size_t used_ = 0;
};

// Instead of a zstd level: store, or code bytes by how often each comes, with a short look for repetitions alone. Times
// hardly repeat: FREQUENCY_LEVEL makes them as small as level 1 does, in half the time.
constexpr int STORE_LEVEL = INT_MIN, FREQUENCY_LEVEL = INT_MIN + 1;

// Puts `raw` as one block at the end of `out`: compressed where that gains anything. Returns what it became.
dt_block put_block(ChunkBuffer& out, std::string_view raw, uint16_t kind, int level);

// A whole chunk of one block: dt_block, then the (compressed) text. For signatures and annotations.
std::span<const char> text_chunk(ChunkBuffer& out, uint16_t type, std::string_view text);

// A whole chunk of contents, with their stored bytes one behind the other.
std::span<const char> blobs_chunk(ChunkBuffer& out, std::span<const dt_blob_entry> entries, std::string_view stored);

// Decompress one block; false when the bytes are not what the block says. `raw_limit`: largest raw size accepted.
bool open_block(const dt_block& block, std::span<const char> stored, uint64_t raw_limit, std::string* raw);

// Call `visit` for every whole chunk of a file from the file header on: its offset and header. Headers are checked,
// payloads only for lying inside the file. Returns where the last whole chunk ends (0: no drawtap file; `error`
// says why). A false from `visit` stops before that chunk.
uint64_t scan_chunks(int fd, std::string* error, const std::function<bool(uint64_t, const dt_chunk_header&)>& visit);

// Where the bytes of a trace go that becomes no file here.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  // All of `bytes`: at first the file's header, then one whole chunk at a time, at last the footer with the end mark.
  // An empty string, or what went wrong; after that nothing more is written.
  virtual std::string write(std::span<const char> bytes) = 0;
  // Everything was written.
  virtual std::string finish() = 0;
};

class ContainerWriter {
 public:
  ContainerWriter() = default;
  ~ContainerWriter();
  ContainerWriter(const ContainerWriter&) = delete;
  ContainerWriter& operator=(const ContainerWriter&) = delete;

  // Start a new file that only its user reads; one that stood there is replaced, a link too. Returns an empty string or
  // what went wrong.
  std::string create(const std::string& path);
  // The same, but what stands there is left alone: then errno is EEXIST and the writer has no file.
  std::string create_beside(const std::string& path);
  // The same bytes to a sink; `name` is what path() says.
  std::string create_on(std::unique_ptr<ByteSink> sink, const std::string& name);
  // Forget what was written, as it stands: a new file or sink can follow.
  void leave();
  // Go on with a file that a writer left behind. A torn tail, a bad last chunk and a footer are cut off. Then `visit`
  // gets header and payload of SIGNATURES, and header and meta of the other chunks.
  std::string adopt(const std::string& path,
                    const std::function<void(const dt_chunk_header&, std::span<const char>)>& visit);
  int descriptor() const { return fd_; }  // of the file; -1: there is none
  bool is_open() const { return fd_ >= 0 || sink_; }
  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  uint64_t chunks() const { return entries_.size(); }

  // Append a sealed chunk. On failure the file is cut back to its last whole chunk, and the error is returned;
  // after that only `use_reserve` and `finish` make sense.
  std::string append(std::span<const char> chunk);
  // Disk space was set aside for the last words of a trace: give it back to the file system, so that an annotation
  // and the footer have a chance.
  void use_reserve();
  // Write footer and end mark, bring everything to the disk, close. An empty string, or what went wrong: the file is
  // then whole, but without a footer.
  std::string finish();

 private:
  std::string write_all(const void* data, size_t bytes);
  void note(const dt_chunk_header& header, std::span<const char> meta);
  void keep_reserve();
  std::string cut(std::string error);

  std::string begin(int fd, const std::string& path);
  std::string write_header();

  std::unique_ptr<ByteSink> sink_;
  int fd_ = -1;
  int reserve_fd_ = -1;
  uint64_t reserve_bytes_ = 0;
  uint64_t limit_ = UINT64_MAX;  // largest size before the reserve is touched
  uint64_t size_ = 0;
  uint64_t calls_ = 0;
  std::string path_;
  std::vector<dt_footer_entry> entries_;
  std::string calls_metas_;
};

}  // namespace dt
