#include "skeleton.h"

#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "../common/hash.h"
#include "../common/json.h"
#include "stored.h"

namespace dt::edit {
namespace {

constexpr size_t BLOBS_BYTES = 4 * 1024 * 1024;  // stored bytes of contents, before a chunk is closed

// A file that goes on under the name of another one.
void create_as(ContainerWriter& file, const std::string& path, const uint8_t (&uuid)[16]) {
  must(file.create(path));
  if (pwrite(file.descriptor(), uuid, sizeof uuid, offsetof(dt_file_header, uuid)) != sizeof uuid)
    throw Error(DT_E_IO, path + ": " + strerror(errno));
}

void copy_chunk(ContainerWriter& to, const Trace& trace, const ChunkInfo& chunk, std::vector<char>& room) {
  room.resize(sizeof chunk.header + chunk.header.payload_bytes);
  memcpy(room.data(), &chunk.header, sizeof chunk.header);
  memcpy(room.data() + sizeof chunk.header, trace.at(chunk.offset + sizeof chunk.header), chunk.header.payload_bytes);
  must(to.append(room));
}

// A trace that was not closed stays not closed: readers go on saying so.
void close_like(ContainerWriter& file, const Trace& trace) {
  if (trace.has_footer()) return must(file.finish());
  if (fsync(file.descriptor())) throw Error(DT_E_IO, file.path() + ": " + strerror(errno));
  file.leave();
}

struct Content {
  const Hash128* hash;
  const std::vector<BlobPart>* parts;
  bool whole() const {
    uint64_t covered = 0;
    for (auto& part : *parts) covered += part.entry.bytes;
    return covered >= parts->front().entry.total;
  }
};

// In the order in which they came, which is that of their first use.
std::vector<Content> contents_of(const Trace& trace) {
  std::vector<Content> contents;
  for (auto& [hash, parts] : trace.blobs()) contents.push_back({&hash, &parts});
  std::sort(contents.begin(), contents.end(),
            [](auto& a, auto& b) { return a.parts->front().stored < b.parts->front().stored; });
  return contents;
}

}  // namespace

std::string write_skeleton(const Trace& trace, const std::string& path) {
  std::set<uint64_t> left_out;
  for (auto& a : trace.annotations)
    if (a.kind == "restored") left_out.insert(a.offset);
  ContainerWriter file;
  create_as(file, path, trace.header().uuid);
  std::vector<char> room;
  for (auto& chunk : trace.chunks)
    if (chunk.header.type != DT_TYPE_BLOBS && !left_out.contains(chunk.offset)) copy_chunk(file, trace, chunk, room);
  close_like(file, trace);
  std::string text;
  JsonWriter json(text);
  std::vector<std::string> torn;
  json.object().list("contents");
  for (auto& content : contents_of(trace)) {
    if (content.whole())
      json.list().value(hash_text(*content.hash)).value(content.parts->front().entry.total).end();
    else
      torn.push_back(hash_text(*content.hash));
  }
  json.end().values("incomplete", torn).end();
  return text;
}

std::string pack(std::string_view raw, int level) {
  std::string frame(ZSTD_compressBound(raw.size()), '\0');
  const size_t bytes = ZSTD_compress(frame.data(), frame.size(), raw.data(), raw.size(), level);
  if (ZSTD_isError(bytes)) throw Error(DT_E_MEMORY, std::string("cannot compress: ") + ZSTD_getErrorName(bytes));
  frame.resize(bytes);
  return frame;
}

std::string unpack(std::string_view frame, uint64_t bytes) {
  const uint64_t size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (bytes == ANY_SIZE) bytes = size;
  if (size >= ZSTD_CONTENTSIZE_ERROR || size != bytes ||
      ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size())
    throw Error(DT_E_FORMAT, "the content is not one zstd frame of its size");
  // A frame of that size cannot hold more: nobody makes room for what is not there.
  if (bytes > (frame.size() << 16) + 4096) throw Error(DT_E_FORMAT, "the content claims more bytes than it can hold");
  std::string raw(bytes, '\0');
  if (ZSTD_decompress(raw.data(), raw.size(), frame.data(), frame.size()) != bytes)
    throw Error(DT_E_FORMAT, "the content is damaged: it does not decompress");
  return raw;
}

Restored::Restored(std::shared_ptr<const Trace> skeleton, const std::string& path) : skeleton_(std::move(skeleton)) {
  auto& chunks = skeleton_->chunks;
  const auto calls = [](auto& chunk) { return chunk.header.type == DT_TYPE_CALLS; };
  leading_ = static_cast<size_t>(std::find_if(chunks.begin(), chunks.end(), calls) - chunks.begin());
  create_as(file_, path, skeleton_->header().uuid);
  copy(0, leading_);
}

void Restored::copy(size_t first, size_t end) {
  std::vector<char> room;
  for (size_t i = first; i < end; ++i) copy_chunk(file_, *skeleton_, skeleton_->chunks[i], room);
}

void Restored::add(const Hash128& hash, std::string_view raw, std::string_view frame) {
  const Digest now = hash128(raw.data(), raw.size());
  if (now.low != hash.low || now.high != hash.high)
    throw Error(DT_E_FORMAT, "a content is not the one with the hash " + hash_text(hash));
  const bool packed = frame.size() < raw.size();
  const std::string_view stored = packed ? frame : raw;
  const uint32_t codec = packed ? DT_CODEC_ZSTD : DT_CODEC_STORE;
  entries_.push_back({hash.low, hash.high, raw.size(), 0, raw.size(), stored.size(), codec, 0});
  stored_.append(stored);
  if (stored_.size() >= BLOBS_BYTES) flush();
}

void Restored::flush() {
  if (entries_.empty()) return;
  ChunkBuffer chunk;
  must(file_.append(blobs_chunk(chunk, entries_, stored_)));
  entries_.clear();
  stored_.clear();
}

void Restored::finish(std::string_view annotation) {
  flush();
  copy(leading_, skeleton_->chunks.size());
  ChunkBuffer chunk;
  must(file_.append(text_chunk(chunk, DT_TYPE_ANNOTATION, annotation)));
  close_like(file_, *skeleton_);
}

}  // namespace dt::edit
