#include "container.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#define ZSTD_STATIC_LINKING_ONLY  // for the name of a parameter; libzstd has it since 1.4.0
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "hash.h"

static_assert(sizeof(dt_file_header) == 32 && sizeof(dt_chunk_header) == 32 && sizeof(dt_block) == 24);
static_assert(sizeof(dt_calls_function) == 48 && sizeof(dt_calls_meta) == 144);
static_assert(sizeof(dt_blobs_meta) == 8 && sizeof(dt_blob_entry) == 56);
static_assert(sizeof(dt_footer_meta) == 16 && sizeof(dt_footer_entry) == 40);

namespace dt {
namespace {

constexpr uint64_t RESERVE_STEP = 256 * 1024;
constexpr uint64_t RESERVE_SLACK = 64 * 1024;  // for annotations, beside the footer
constexpr int LITTLE_SEARCH = -50;             // a level of zstd, at which bytes without a match stay as they are,
constexpr int CODE_LITERALS = 1;               // were it not for this value of its parameter

std::string system_error(const std::string& what) { return what + ": " + strerror(errno); }

uint32_t header_hash(const dt_chunk_header& header) {
  return static_cast<uint32_t>(hash64(&header, offsetof(dt_chunk_header, header_hash)));
}

bool read_at(int fd, void* out, size_t bytes, uint64_t offset) {
  char* to = static_cast<char*>(out);
  while (bytes) {
    ssize_t got = pread(fd, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

// One for each thread: making one costs more than compressing a small block. A context is fastest with one kind of
// level.
ZSTD_CCtx* context_for(int level) {
  static thread_local std::unique_ptr<ZSTD_CCtx, FreeContext> by_level, by_frequency;
  auto& context = level == FREQUENCY_LEVEL ? by_frequency : by_level;
  if (!context) {
    context.reset(ZSTD_createCCtx());
    if (context && level == FREQUENCY_LEVEL) {
      ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, LITTLE_SEARCH);
      ZSTD_CCtx_setParameter(context.get(), ZSTD_c_literalCompressionMode, CODE_LITERALS);
    }
  }
  return context.get();
}

}  // namespace

void ChunkBuffer::put(const void* data, size_t bytes) {
  memcpy(room(bytes), data, bytes);
  take(bytes);
}

std::span<const char> ChunkBuffer::seal(uint16_t type, uint32_t meta_bytes, uint16_t version) {
  dt_chunk_header header{};
  header.magic = DT_CHUNK_MAGIC;
  header.type = type;
  header.version = version;
  header.payload_bytes = payload_bytes();
  header.payload_hash = hash64(at(0), payload_bytes());
  header.meta_bytes = meta_bytes;
  header.header_hash = header_hash(header);
  memcpy(bytes_.data(), &header, sizeof header);
  return {bytes_.data(), used_};
}

dt_block put_block(ChunkBuffer& out, std::string_view raw, uint16_t kind, int level) {
  ZSTD_CCtx* context = context_for(level);
  dt_block block{kind, DT_CODEC_STORE, 0, raw.size(), raw.size()};
  const size_t bound = ZSTD_compressBound(raw.size());
  char* room = out.room(std::max(bound, raw.size()));
  if (raw.size() > 16 && level != STORE_LEVEL && context) {
    const size_t stored = level == FREQUENCY_LEVEL
                              ? ZSTD_compress2(context, room, bound, raw.data(), raw.size())
                              : ZSTD_compressCCtx(context, room, bound, raw.data(), raw.size(), level);
    if (!ZSTD_isError(stored) && stored < raw.size()) {
      block.codec = DT_CODEC_ZSTD;
      block.stored_bytes = stored;
    }
  }
  if (block.codec == DT_CODEC_STORE) memcpy(room, raw.data(), raw.size());
  out.take(block.stored_bytes);
  return block;
}

std::span<const char> text_chunk(ChunkBuffer& out, uint16_t type, std::string_view text) {
  out.clear();
  dt_block block{};
  out.put(&block, sizeof block);
  block = put_block(out, text, 0, 3);
  memcpy(out.at(0), &block, sizeof block);
  return out.seal(type, sizeof block);
}

std::span<const char> blobs_chunk(ChunkBuffer& out, std::span<const dt_blob_entry> entries, std::string_view stored) {
  out.clear();
  const dt_blobs_meta meta{static_cast<uint32_t>(entries.size()), 0};
  out.put(&meta, sizeof meta);
  out.put(entries.data(), entries.size_bytes());
  const auto meta_bytes = static_cast<uint32_t>(out.payload_bytes());
  out.put(stored.data(), stored.size());
  return out.seal(DT_TYPE_BLOBS, meta_bytes);
}

bool open_block(const dt_block& block, std::span<const char> stored, uint64_t raw_limit, std::string* raw) {
  if (block.stored_bytes != stored.size() || block.raw_bytes > raw_limit) return false;
  if (block.codec == DT_CODEC_STORE) {
    if (block.raw_bytes != stored.size()) return false;
    raw->assign(stored.data(), stored.size());
    return true;
  }
  if (block.codec != DT_CODEC_ZSTD) return false;
  raw->resize(block.raw_bytes);
  return ZSTD_decompress(raw->data(), raw->size(), stored.data(), stored.size()) == block.raw_bytes;
}

uint64_t scan_chunks(int fd, std::string* error, const std::function<bool(uint64_t, const dt_chunk_header&)>& visit) {
  struct stat status;
  dt_file_header file;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    *error = "not a regular file";
    return 0;
  }
  const uint64_t size = static_cast<uint64_t>(status.st_size);
  if (size < sizeof file || !read_at(fd, &file, sizeof file, 0) || memcmp(file.magic, DT_FILE_MAGIC, 8) != 0) {
    *error = "not a drawtap trace";
    return 0;
  }
  if (file.version > DT_FILE_VERSION) {
    *error =
        "format version " + std::to_string(file.version) + ", this program knows " + std::to_string(DT_FILE_VERSION);
    return 0;
  }
  uint64_t at = sizeof file;
  dt_chunk_header header;
  while (size - at >= sizeof header && read_at(fd, &header, sizeof header, at)) {
    if (header.magic != DT_CHUNK_MAGIC || header.header_hash != header_hash(header)) break;
    if (header.payload_bytes > size - at - sizeof header || header.meta_bytes > header.payload_bytes) break;
    if (!visit(at, header)) break;
    at += sizeof header + header.payload_bytes;
  }
  return at;
}

ContainerWriter::~ContainerWriter() {
  if (fd_ >= 0) close(fd_);
  if (reserve_fd_ >= 0) close(reserve_fd_);
}

namespace {

// A file without a name.
bool is_open_already(const std::string& path) { return path.rfind("/proc/self/fd/", 0) == 0; }

int open_beside(const std::string& path) {
  return open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

// A new file of ours: nothing that stands there is written to, and no link that somebody put there is followed.
int open_new(const std::string& path) {
  if (is_open_already(path)) return open(path.c_str(), O_RDWR | O_TRUNC | O_CLOEXEC);
  for (bool again : {true, false}) {
    const int fd = open_beside(path);
    struct stat old;
    if (fd >= 0 || errno != EEXIST || !again || lstat(path.c_str(), &old)) return fd;
    if (!S_ISREG(old.st_mode) && !S_ISLNK(old.st_mode)) {
      errno = EEXIST;
      return -1;
    }
    if (unlink(path.c_str())) return -1;
  }
  return -1;
}

}  // namespace

std::string ContainerWriter::create(const std::string& path) { return begin(open_new(path), path); }

std::string ContainerWriter::create_beside(const std::string& path) { return begin(open_beside(path), path); }

std::string ContainerWriter::begin(int fd, const std::string& path) {
  if (fd < 0) return system_error(path);
  path_ = path;
  fd_ = fd;
  keep_reserve();
  std::string error = write_header();
  if (!error.empty()) {
    // Without its first bytes it is no trace.
    close(fd_);
    unlink(path.c_str());
    fd_ = -1;
    path_.clear();
  }
  return error;
}

std::string ContainerWriter::write_header() {
  dt_file_header header{};
  memcpy(header.magic, DT_FILE_MAGIC, 8);
  header.version = DT_FILE_VERSION;
  if (getrandom(header.uuid, sizeof header.uuid, 0) != sizeof header.uuid) return system_error("getrandom");
  return write_all(&header, sizeof header);
}

std::string ContainerWriter::create_on(std::unique_ptr<ByteSink> sink, const std::string& name) {
  path_ = name;
  sink_ = std::move(sink);
  return write_header();
}

void ContainerWriter::leave() {
  if (fd_ >= 0) close(fd_);
  if (reserve_fd_ >= 0) close(reserve_fd_);
  sink_.reset();
  fd_ = reserve_fd_ = -1;
  reserve_bytes_ = size_ = calls_ = 0;
  limit_ = UINT64_MAX;
  path_.clear();
  entries_.clear();
  calls_metas_.clear();
}

std::string ContainerWriter::adopt(const std::string& path,
                                   const std::function<void(const dt_chunk_header&, std::span<const char>)>& visit) {
  int fd = open(path.c_str(), O_RDWR | (is_open_already(path) ? 0 : O_NOFOLLOW) | O_CLOEXEC);
  if (fd < 0) return system_error(path);
  struct stat about;
  if (fstat(fd, &about) || about.st_uid != geteuid()) {
    close(fd);
    return path + ": it belongs to another user";
  }
  std::string error;
  std::vector<dt_footer_entry> entries;
  uint64_t end = scan_chunks(fd, &error, [&](uint64_t offset, const dt_chunk_header& header) {
    if (header.type == DT_TYPE_FOOTER) return false;
    entries.push_back({offset, header});
    return true;
  });
  std::vector<char> payload;
  if (end && !entries.empty()) {
    // A chunk whose bytes never all arrived can only be the last one.
    const dt_footer_entry& last = entries.back();
    payload.resize(last.header.payload_bytes);
    if (!read_at(fd, payload.data(), payload.size(), last.offset + sizeof last.header) ||
        hash64(payload.data(), payload.size()) != last.header.payload_hash) {
      end = last.offset;
      entries.pop_back();
    }
  }
  if (!end || ftruncate(fd, static_cast<off_t>(end)) != 0 || lseek(fd, static_cast<off_t>(end), SEEK_SET) < 0) {
    error = path + ": " + (error.empty() ? strerror(errno) : error);
    close(fd);
    return error;
  }
  path_ = path;
  fd_ = fd;
  for (const dt_footer_entry& entry : entries) {
    size_ = entry.offset;
    const bool whole = entry.header.type == DT_TYPE_SIGNATURES;
    payload.resize(whole ? entry.header.payload_bytes : entry.header.meta_bytes);
    if (!read_at(fd, payload.data(), payload.size(), entry.offset + sizeof entry.header)) return system_error(path);
    note(entry.header, {payload.data(), entry.header.meta_bytes});
    visit(entry.header, {payload.data(), payload.size()});
  }
  size_ = end;
  keep_reserve();
  return {};
}

void ContainerWriter::note(const dt_chunk_header& header, std::span<const char> meta) {
  entries_.push_back({size_, header});
  if (header.type != DT_TYPE_CALLS) return;
  if (meta.size() >= sizeof(dt_calls_meta)) {
    dt_calls_meta calls;
    memcpy(&calls, meta.data(), sizeof calls);
    calls_ += calls.calls;
  }
  calls_metas_.append(meta.data(), meta.size());
}

std::string ContainerWriter::append(std::span<const char> chunk) {
  if (!is_open()) return "the trace is closed";
  dt_chunk_header header;
  if (chunk.size() < sizeof header) return "no chunk";
  memcpy(&header, chunk.data(), sizeof header);
  if (header.payload_bytes != chunk.size() - sizeof header || header.meta_bytes > header.payload_bytes)
    return "sizes of a chunk do not agree";
  if (size_ + chunk.size() > limit_) {
    errno = EFBIG;
    return system_error(path_);
  }
  const uint64_t start = size_;
  std::string error = write_all(chunk.data(), chunk.size());
  if (!error.empty()) return error;
  const uint64_t end = size_;
  size_ = start;
  note(header, chunk.subspan(sizeof header, header.meta_bytes));
  size_ = end;
  keep_reserve();
  return {};
}

std::string ContainerWriter::write_all(const void* data, size_t bytes) {
  const char* from = static_cast<const char*>(data);
  size_t left = bytes;
  if (sink_) {
    std::string error = sink_->write({from, bytes});
    if (error.empty()) size_ += bytes;
    return error;
  }
  while (left) {
    ssize_t done = write(fd_, from, std::min<size_t>(left, 1u << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      if (done == 0) errno = ENOSPC;
      return cut(system_error(path_));
    }
    from += done;
    left -= static_cast<size_t>(done);
  }
  size_ += bytes;
  return {};
}

std::string ContainerWriter::cut(std::string error) {
  // Nothing better can be done when this fails too: readers drop a torn tail themselves.
  if (ftruncate(fd_, static_cast<off_t>(size_)) == 0) lseek(fd_, static_cast<off_t>(size_), SEEK_SET);
  return error;
}

void ContainerWriter::keep_reserve() {
  if (sink_) return;
  const uint64_t needed = RESERVE_SLACK + calls_metas_.size() + entries_.size() * sizeof(dt_footer_entry);
  if (needed <= reserve_bytes_) return;
  if (reserve_fd_ < 0) {
    const size_t slash = path_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
    reserve_fd_ = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  }
  const uint64_t wanted = (needed / RESERVE_STEP + 1) * RESERVE_STEP;
  if (reserve_fd_ >= 0 && fallocate(reserve_fd_, 0, 0, static_cast<off_t>(wanted)) != 0) {
    // No room for the reserve: then there is none for the trace either, and the next append says so.
    if (errno != ENOSPC && errno != EDQUOT) {
      close(reserve_fd_);
      reserve_fd_ = -1;
    }
  }
  reserve_bytes_ = wanted;
  // A limit on the size of files knows no reserve file: stop early instead.
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    limit_ = limit.rlim_cur > wanted ? limit.rlim_cur - wanted : 0;
}

void ContainerWriter::use_reserve() {
  if (reserve_fd_ >= 0) close(reserve_fd_);
  reserve_fd_ = -1;
  reserve_bytes_ = UINT64_MAX;
  limit_ = UINT64_MAX;
}

std::string ContainerWriter::finish() {
  if (!is_open()) return "the trace is closed";
  use_reserve();
  ChunkBuffer out;
  const dt_footer_meta meta{static_cast<uint32_t>(entries_.size()), 0, calls_};
  out.put(&meta, sizeof meta);
  out.put(entries_.data(), entries_.size() * sizeof(dt_footer_entry));
  out.put(calls_metas_.data(), calls_metas_.size());
  std::string error;
  if (out.payload_bytes() <= UINT32_MAX) {
    const uint64_t offset = size_;
    auto chunk = out.seal(DT_TYPE_FOOTER, static_cast<uint32_t>(out.payload_bytes()));
    std::string whole(chunk.data(), chunk.size());
    whole.append(reinterpret_cast<const char*>(&offset), sizeof offset);
    whole.append(DT_END_MAGIC, 8);
    error = write_all(whole.data(), whole.size());
  }
  if (sink_) {
    if (error.empty()) error = sink_->finish();
    if (error.empty()) sink_.reset();
    return error;
  }
  if (fsync(fd_) != 0 && error.empty() && errno != EINVAL) error = system_error(path_);
  if (close(fd_) != 0 && error.empty()) error = system_error(path_);
  fd_ = -1;
  return error;
}

}  // namespace dt
