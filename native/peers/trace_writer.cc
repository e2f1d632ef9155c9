#include "trace_writer.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dt::peers {
namespace {

constexpr uint64_t INLINE_LIMIT = 1024;
constexpr size_t MOST_QUEUED = 8;
constexpr size_t BLOB_PART = 96 * 1024;

size_t padded(size_t bytes) { return (bytes + 7) & ~size_t{7}; }

}  // namespace

void Record::begin(const FunctionSignature& of) {
  function = &of;
  w8.assign(of.w8, 0);
  w4.assign(of.w4, 0);
  contents.clear();
}

void Record::set_content(uint16_t slot, std::string_view content) {
  w8[slot] = DT_DATA(DT_DATA_INLINE, 0, content.size());
  contents.push_back({slot, content});
}

TraceWriter::TraceWriter(int level, uint32_t timing)
    : layouts_(signatures_), level_(level), timing_(timing), written_functions_(DT_FUNCTION_MASK + 1),
      encoder_(layouts_, blobs_, DT_CHUNK_BYTES), worker_(MOST_QUEUED) {}

std::string TraceWriter::create(const std::string& path, std::string_view recording_json) {
  std::string error = file_.create(path);
  if (!error.empty()) return error;
  ChunkBuffer chunk;
  error = file_.append(text_chunk(chunk, DT_TYPE_ANNOTATION, recording_json));
  if (error.empty()) worker_.start([this](Sealed& sealed) { return encode(sealed); });
  return error;
}

std::string TraceWriter::add_signatures(std::string text) {
  worker_.settle();  // it reads what is about to change
  std::string error = signatures_.add(std::move(text));
  layouts_ = Layouts(signatures_);
  return error;
}

void TraceWriter::read_signatures(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw Error(DT_E_IO, "cannot read " + path);
  const std::string error = add_signatures(text.str());
  if (!error.empty()) throw Error(DT_E_FORMAT, path + ": " + error);
}

void TraceWriter::finish_import(std::string_view end, const std::string& path) {
  const std::string error = finish({std::string(end)});
  if (!error.empty()) throw Error(DT_E_IO, path + ": " + error);
  if (invalid_) throw Error(DT_E_FORMAT, "records that the encoder refused: " + std::to_string(invalid_));
}

TraceWriter::Lane& TraceWriter::lane(uint32_t thread) {
  while (lanes_.size() <= thread) lanes_.push_back(std::make_unique<Lane>());
  return *lanes_[thread];
}

char* TraceWriter::reserve(Lane& lane, uint32_t thread, size_t bytes) {
  if (lane.used && lane.used + bytes > DT_CHUNK_BYTES - 8) seal(lane, thread);
  if (!lane.used) {
    {
      std::lock_guard guard(spare_lock_);
      if (!spare_.empty()) {
        lane.memory = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    lane.memory.resize(DT_CHUNK_BYTES);
    lane.used = DT_CHUNK_HEADER_BYTES;
    lane.first_context = lane.context;
    lane.first_call = lane.calls;
  }
  return lane.memory.data() + lane.used;
}

void TraceWriter::seal(Lane& lane, uint32_t thread) {
  Sealed sealed;
  sealed.memory = std::move(lane.memory);
  sealed.taken.base = sealed.memory.data();
  sealed.taken.end = lane.used;
  sealed.taken.thread = thread;
  sealed.taken.tid = lane.tid;
  sealed.taken.context = lane.first_context;
  sealed.taken.serial = lane.serial++;
  sealed.taken.first_call = lane.first_call;
  lane.used = 0;
  lane.memory.clear();
  worker_.give(std::move(sealed));
}

void TraceWriter::put_blob(Lane& lane, uint32_t thread, std::string_view content, uint64_t low, uint64_t high) {
  if (!written_blobs_.insert({low, high}).second) return;
  for (size_t offset = 0; offset < content.size() || !offset;) {
    const size_t bytes = std::min(BLOB_PART, content.size() - offset);
    const size_t size = sizeof(dt_record) + sizeof(dt_blob_part) + padded(bytes);
    char* at = reserve(lane, thread, size);
    const dt_record record{DT_FN_BLOB | DT_RECORD_TAP, static_cast<uint16_t>(size / 8), 0, 0};
    const dt_blob_part part{low, high, content.size(), offset, bytes};
    memcpy(at, &record, sizeof record);
    memcpy(at + sizeof record, &part, sizeof part);
    memcpy(at + sizeof record + sizeof part, content.data() + offset, bytes);
    memset(at + sizeof record + sizeof part + bytes, 0, padded(bytes) - bytes);
    lane.used += static_cast<uint32_t>(size);
    offset += bytes;
    if (!bytes) break;
  }
}

void TraceWriter::write(uint32_t thread, const Record& record, uint64_t entry, uint32_t duration, uint16_t extra) {
  Lane& to = lane(thread);
  const FunctionSignature& function = *record.function;
  size_t payload = 0;
  bool large = false;
  for (const Record::Content& content : record.contents) {
    large |= content.bytes.size() > INLINE_LIMIT;
    payload += content.bytes.size() > INLINE_LIMIT ? 16 : padded(content.bytes.size());
  }
  std::vector<XXH128_hash_t> blobs;
  if (large)
    for (const Record::Content& content : record.contents) {
      if (content.bytes.size() <= INLINE_LIMIT) continue;
      blobs.push_back(XXH3_128bits(content.bytes.data(), content.bytes.size()));
      put_blob(to, thread, content.bytes, blobs.back().low64, blobs.back().high64);
    }
  const size_t fixed = function.fixed_bytes(), size = fixed + payload;
  char* const at = reserve(to, thread, size);
  const dt_record head{static_cast<uint16_t>(function.id | extra), static_cast<uint16_t>(size / 8), duration, entry};
  memcpy(at, &head, sizeof head);
  char* words = at + sizeof head;
  if (!record.w8.empty()) memcpy(words, record.w8.data(), record.w8.size() * 8);
  char* halves = words + record.w8.size() * 8;
  if (!record.w4.empty()) memcpy(halves, record.w4.data(), record.w4.size() * 4);
  if (record.w4.size() & 1) memset(halves + record.w4.size() * 4, 0, 4);
  char* tail = at + fixed;
  // Payloads stand in the order of their descriptors.
  for (const uint16_t slot : function.arrays) {
    size_t blob = 0;
    for (const Record::Content& content : record.contents) {
      const bool is_blob = content.bytes.size() > INLINE_LIMIT;
      if (content.slot != slot) {
        blob += is_blob;
        continue;
      }
      uint64_t descriptor;
      size_t room = 16;
      if (is_blob) {
        memcpy(tail, &blobs[blob].low64, 8);
        memcpy(tail + 8, &blobs[blob].high64, 8);
        descriptor = DT_DATA(DT_DATA_BLOB, 2, content.bytes.size());
      } else {
        room = padded(content.bytes.size());
        if (!content.bytes.empty()) memcpy(tail, content.bytes.data(), content.bytes.size());
        memset(tail + content.bytes.size(), 0, room - content.bytes.size());
        descriptor = DT_DATA(DT_DATA_INLINE, room / 8, content.bytes.size());
      }
      memcpy(words + 8u * slot, &descriptor, 8);
      tail += room;
      break;
    }
  }
  to.used += static_cast<uint32_t>(size);
  if (!(extra & DT_RECORD_TAP)) to.calls++;
}

std::string TraceWriter::append() {
  std::string text;
  for (const uint16_t id : encoded_.functions) {
    if (written_functions_[id]) continue;
    written_functions_[id] = true;
    const FunctionSignature* function = signatures_.function(id);
    if (!function) continue;
    for (const EnumGroup* group : signatures_.groups_of(*function))
      if (written_groups_.insert(std::string(group->name)).second) text += group->text;
    text += function->text;
  }
  std::string error;
  ChunkBuffer chunk;
  if (!text.empty()) error = file_.append(text_chunk(chunk, DT_TYPE_SIGNATURES, "V\t1\n" + text));
  if (error.empty() && encoded_.blobs_meta_bytes)
    error = file_.append(encoded_.blobs.seal(DT_TYPE_BLOBS, encoded_.blobs_meta_bytes));
  if (error.empty()) error = file_.append(encoded_.calls.seal(DT_TYPE_CALLS, encoded_.calls_meta_bytes));
  return error;
}

std::string TraceWriter::encode(Sealed& sealed) {
  encoder_.encode(sealed.taken, 1, DT_CLOCK_MONOTONIC_NS, timing_, level_, &encoded_);
  invalid_ += encoded_.invalid_records + (encoded_.invalid_bytes != 0);
  std::string error = append();
  std::lock_guard guard(spare_lock_);
  spare_.push_back(std::move(sealed.memory));
  return error;
}

std::string TraceWriter::finish(const std::vector<std::string>& annotations) {
  for (uint32_t i = 0; i < lanes_.size(); i++)
    if (lanes_[i]->used) seal(*lanes_[i], i);
  std::string error = worker_.settle();
  if (!error.empty()) file_.use_reserve();
  ChunkBuffer chunk;
  for (const std::string& json : annotations) {
    const std::string said = file_.append(text_chunk(chunk, DT_TYPE_ANNOTATION, json));
    if (error.empty()) error = said;
  }
  const std::string said = file_.finish();
  return error.empty() ? said : error;
}

}  // namespace dt::peers
