// The content of a flight recorder: it comes in, stands in the journal, and is handed on.
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "ring.h"

namespace dt {

bool Ring::add(const std::string& signatures, Encoded& out) {
  std::unique_lock guard(lock_);
  signatures_ += signatures;
  std::string error = signatures.empty() ? "" : journal_.text(signatures, DT_TYPE_SIGNATURES);
  for (uint16_t id : out.functions)
    if (interest_[id] & FRAME_END && ("," + frame_ends_ + ",").find("," + names_[id] + ",") == std::string::npos)
      frame_ends_ += (frame_ends_.empty() ? "" : ",") + names_[id];
  Held held;
  if (out.blobs_meta_bytes) {
    const uint32_t meta_bytes = out.blobs_meta_bytes;
    const char* at = out.blobs.at(0);
    dt_blobs_meta meta;
    memcpy(&meta, at, sizeof meta);
    uint64_t stored = meta_bytes, placed = 0;
    if (error.empty()) error = journal_.blobs(out.blobs, meta_bytes, &placed);
    if (!error.empty()) return lose(out.calls_count, error);
    for (uint32_t i = 0; i < meta.parts; ++i) {
      Part part;
      memcpy(&part.entry, at + sizeof meta + i * sizeof part.entry, sizeof part.entry);
      part.at = placed + stored;
      stored += part.entry.stored_bytes;
      content_bytes_ += part.entry.stored_bytes;
      held.bytes += part.entry.stored_bytes;
      contents_[{part.entry.hash_low, part.entry.hash_high}].push_back(std::move(part));
    }
  }
  held.payload_bytes = out.calls.payload_bytes();
  held.meta_bytes = out.calls_meta_bytes;
  memcpy(&held.meta, out.calls.at(0), sizeof held.meta);
  if (error.empty()) error = journal_.calls(out.calls, held.meta_bytes, &held.at);
  if (!error.empty()) return lose(held.meta.calls, error);
  held.contents = std::move(out.contents);
  held.last_ns = ns_of(held.meta, held.meta.t_last);
  held.bytes += held.payload_bytes;
  chunk_bytes_ += held.memory();
  held_.push_back(std::move(held));
  totals_.held_bytes = held_bytes();
  totals_.held_peak = std::max(totals_.held_peak, totals_.held_bytes);
  bool good = true;
  if (totals_.held_bytes > settings_.limit_bytes) {
    // Older content goes, whatever may need it: a recorder that eats all memory is worse than a gap that it reports.
    good = false;
    while (held_.size() > 1 && held_bytes() > settings_.limit_bytes - settings_.limit_bytes / 8) {
      Held& first = held_.front();
      totals_.lost_calls += first.meta.calls;
      chunk_bytes_ -= first.memory();
      held_.pop_front();
      drop_contents();
    }
    renew_journal();
  }
  if (!good)
    lose(0, "the flight recorder cannot keep up with the program within " +
                std::to_string(settings_.limit_bytes >> 20) + " MiB");
  guard.unlock();
  changed_.notify_one();
  return good;
}

// Under the lock. Said once.
bool Ring::lose(uint64_t calls, const std::string& why) {
  totals_.lost_calls += calls;
  if (!is_loss_reported_)
    status_.error("ring", why + ": calls are lost, and what is saved may not replay", process_.pid);
  is_loss_reported_ = true;
  return false;
}

// Under the lock.
std::string Ring::build(Journal& to, size_t chunks, bool moving) {
  std::string error = signatures_.empty() && moving ? "" : to.text(signatures_, DT_TYPE_SIGNATURES);
  std::unordered_map<Hash, bool, KnownBlobs::HashOf> wanted;
  for (size_t i = 0; i < chunks; ++i)
    for (const Hash& hash : held_[i].contents) wanted[hash] = true;
  std::vector<std::pair<uint64_t*, uint64_t>> places;  // of what moves
  ChunkBuffer buffer;
  for (auto& [hash, parts] : contents_) {
    if (!error.empty()) return error;
    if (!moving && !wanted.count(hash)) continue;
    buffer.clear();
    const dt_blobs_meta meta{static_cast<uint32_t>(parts.size()), 0};
    buffer.put(&meta, sizeof meta);
    for (const Part& part : parts) buffer.put(&part.entry, sizeof part.entry);
    const auto meta_bytes = static_cast<uint32_t>(buffer.payload_bytes());
    const size_t first = places.size();
    for (Part& part : parts) {
      places.emplace_back(&part.at, buffer.payload_bytes());
      const std::string wrong = journal_.read(part.at, buffer.room(part.entry.stored_bytes), part.entry.stored_bytes);
      if (!wrong.empty()) return wrong;
      buffer.take(part.entry.stored_bytes);
    }
    uint64_t placed = 0;
    error = to.blobs(buffer, meta_bytes, &placed);
    for (size_t i = first; i < places.size(); ++i) places[i].second += placed;
  }
  for (size_t i = 0; i < chunks && error.empty(); ++i) {
    Held& held = held_[i];
    buffer.clear();
    error = journal_.read(held.at, buffer.room(held.payload_bytes), held.payload_bytes);
    buffer.take(held.payload_bytes);
    uint64_t placed = 0;
    if (error.empty()) error = to.calls(buffer, held.meta_bytes, &placed);
    places.emplace_back(&held.at, placed);
  }
  if (moving && error.empty())
    for (auto& [at, place] : places) *at = place;
  return error;
}

// Under the lock.
void Ring::renew_journal() {
  Journal next;
  std::string error = next.begin(process_.start_clock, process_.start_ns);
  if (error.empty()) error = build(next, held_.size(), true);
  if (error.empty()) {
    journal_ = std::move(next);
    shown_ = false;
    show();
  } else if (!journal_.bytes()) {
    lose(0, error);
  }
}

static std::string one_line(std::string json) {
  std::replace(json.begin(), json.end(), '\n', ' ');
  return json;
}

// Under the lock. Where nobody reads now, the message comes later; until then the former files hold.
void Ring::show() {
  if (!status_.passes_descriptors()) return;
  const auto part = [&](const char* name, int fd) {
    struct stat file;
    if (fd < 0 || fstat(fd, &file) != 0) return fd < 0;
    JsonObject line;
    line.put("event", "window part").put("pool", process_.pool).put("part", name).put("inode", file.st_ino);
    return status_.offer(line, fd);
  };
  JsonObject line;
  line.put("event", "window").put("pool", process_.pool).put("pid", process_.pid);
  auto& job = line.writer().object("job");
  put_job(job, 0);
  job.list("before");
  for (const std::string& json : owner_.annotations()) job.json(one_line(json));
  job.end().end();
  line.put("calls_lost", totals_.lost_calls);
  shown_ = part("base", base_) && part("frames", frames_) && part("raw", journal_.fd()) && status_.offer(line, -1);
}

}  // namespace dt
