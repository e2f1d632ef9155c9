#include "session.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace dt {
namespace {

constexpr auto BEAT = std::chrono::milliseconds(100), DROP_TICK = std::chrono::milliseconds(10);
constexpr uint64_t RELIEF_NS = 250000000;  // so long draws alone are left out
constexpr int FAST_LEVEL = -5;             // when the application is ahead of us
constexpr uint32_t WAKE_EVERY = 16;        // chunks given back, while more are to come

uint64_t inode_of(int fd) {
  struct stat written{};
  return fd >= 0 && fstat(fd, &written) == 0 ? written.st_ino : 0;
}

// The inode and the time tell the finished file from another one that took its name; inode 0: that happened already.
void put_stamp(JsonObject* line, const std::string& path, uint64_t inode) {
  struct stat there{};
  const bool is_there = stat(path.c_str(), &there) == 0 && there.st_ino == inode;
  const auto s = static_cast<uint64_t>(there.st_mtim.tv_sec), ns = static_cast<uint64_t>(there.st_mtim.tv_nsec);
  line->put("inode", is_there ? inode : 0).put("changed_ns", s * 1000000000u + ns);
}

}  // namespace

uint64_t clock_ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t process_cpu_ns() { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

// ---- a session ----------------------------------------------------------------------------------

Session::Session(SessionSettings settings, ProcessInfo process, std::unique_ptr<Pool> pool,
                 std::shared_ptr<const LoadedSignatures> signatures, FileNames& names, Remarks& remarks, Status& status,
                 int done_fd)
    : settings_(settings), process_(std::move(process)), pool_(std::move(pool)), signatures_(std::move(signatures)),
      names_(names), remarks_(remarks), status_(status), done_fd_(done_fd),
      naming_(*signatures_->layouts, *pool_, blobs_), taken_(pool_->chunk_max()),
      known_functions_(DT_FUNCTION_MASK + 1) {
  if (settings_.ring.on()) make_ring();
}

Session::~Session() {
  for (std::thread& thread : threads_) thread.join();
  if (sync_fd_.load() >= 0) close(sync_fd_.load());
}

std::string Session::adopt_file(const std::string& path) {
  adopted_ = true;
  if (is_address(path)) return {};  // another stream follows what the drainer before us sent
  names_.adopted(path);
  trace_is(path);
  if (path.empty()) return {};
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || static_cast<size_t>(status.st_size) < sizeof(dt_file_header)) {
    // The name was chosen, and then the drainer before us died.
    std::string error = file_.create(path);
    return error.empty() ? begin_file() : error;
  }
  bool begun = false;
  std::string error = file_.adopt(path, [&](const dt_chunk_header& header, std::span<const char> bytes) {
    begun |= header.type == DT_TYPE_CALLS || header.type == DT_TYPE_ANNOTATION;
    if (header.type == DT_TYPE_CALLS && bytes.size() >= sizeof(dt_calls_meta)) {
      dt_calls_meta meta;
      memcpy(&meta, bytes.data(), sizeof meta);
      uint64_t& next = (settings_.window ? part_serial_ : next_serial_)[meta.thread];
      next = std::max(next, meta.serial + 1);
      had_[meta.thread] = std::max(had_[meta.thread], meta.first_call + meta.calls);
      totals_.calls += meta.calls;
      totals_.records += meta.records;
      totals_.chunks++;
    } else if (header.type == DT_TYPE_BLOBS && bytes.size() >= sizeof(dt_blobs_meta)) {
      dt_blobs_meta meta;
      memcpy(&meta, bytes.data(), sizeof meta);
      bytes = bytes.subspan(sizeof meta);
      for (uint32_t i = 0; i < meta.parts && bytes.size() >= sizeof(dt_blob_entry); i++) {
        dt_blob_entry entry;
        memcpy(&entry, bytes.data(), sizeof entry);
        bytes = bytes.subspan(sizeof entry);
        blobs_.claim({entry.hash_low, entry.hash_high}, entry.total, entry.offset, entry.offset + entry.bytes);
      }
    } else if (header.type == DT_TYPE_SIGNATURES && bytes.size() >= sizeof(dt_block)) {
      dt_block block;
      memcpy(&block, bytes.data(), sizeof block);
      std::string text;
      SignatureSet written;
      if (!open_block(block, bytes.subspan(sizeof block), 64 << 20, &text)) return;
      written.add(std::move(text));
      for (const auto& function : written.functions()) known_functions_[function.id] = true;
      for (const auto& group : written.groups()) known_groups_.emplace(group.name);
    }
  });
  totals_.bytes_file = file_.size();
  if (begun) remarks_written_ = remarks_.annotation_count();
  return error.empty() && !begun ? begin_file() : error;
}

void Session::start() {
  working_ = settings_.workers;
  threads_.emplace_back([this] { tend(); });
  for (unsigned i = 0; i < settings_.workers; i++) threads_.emplace_back([this] { work(); });
}

void Session::end(const std::string& reason) {
  if (ending_.load()) return;
  end_reason_ = reason;
  ending_.store(true);
  pool_->wake_drainer();
}

void Session::tend() {
  // A chunk's pages are made here, so that neither the application nor a busy worker has to.
  uint32_t ahead = settings_.free_ahead;
  for (;;) {
    {
      std::unique_lock guard(tend_lock_);
      // A session that leaves out frames must know of the backlog also while all workers wait for the receiver.
      const auto wanted = [&] { return tend_asked_ || tend_stop_; };
      tend_changed_.wait_for(guard, settings_.drop_frames ? DROP_TICK : BEAT, wanted);
      if (tend_stop_) return;
      tend_asked_ = false;
    }
    pool_->beat();
    if (settings_.sync_seconds > 0) sync();
    if (pool_->header()->free_wanted.load()) ahead = std::min(ahead * 2, 32u);
    const Pool::Census census = pool_->survey(taken_, nullptr, nullptr);
    if (settings_.drop_frames) watch_backlog(census.sealed);
    // A frame that has begun is recorded to its end: there must be room for that, whatever the backlog. So it is for
    // the call that a chunk waits for.
    if (census.free < ahead && (settings_.drop_frames || unsettled_.load() || census.sealed < most_backlog()))
      pool_->grow(ahead - census.free);
  }
}

void Session::watch_backlog(uint32_t sealed) {
  auto& control = pool_->header()->control;
  const uint32_t now = control.load();
  if (!(now & DT_CONTROL_DROP)) {
    if (sealed <= most_backlog() / 2) return;
    control.fetch_or(DT_CONTROL_DROP);
    dropping_since_ns_ = clock_ns(CLOCK_MONOTONIC);
  } else if (sealed <= most_backlog() / 8) {
    control.fetch_and(~uint32_t{DT_CONTROL_DROP | DT_CONTROL_DROP_CONTENT});
  } else if (!(now & DT_CONTROL_DROP_CONTENT) &&
             (sealed > most_backlog() * 3 / 4 || clock_ns(CLOCK_MONOTONIC) - dropping_since_ns_ > RELIEF_NS)) {
    // Without the draws it is still too much: then uploads are what is heavy.
    control.fetch_or(DT_CONTROL_DROP_CONTENT);
  }
}

// Half the time for the threads to hand over what they have, half of it until that is on the disk.
void Session::sync() {
  const uint64_t now = clock_ns(CLOCK_MONOTONIC);
  if (static_cast<double>(now - last_sync_ns_) < settings_.sync_seconds * 5e8) return;
  last_sync_ns_ = now;
  const uint64_t appended = appended_.load();
  const int fd = sync_fd_.load();
  if (fd >= 0 && appended != synced_) {
    if (fdatasync(fd) == 0)
      synced_ = appended;
    else if (!sync_failed_)
      status_.error("sync", trace() + ": " + strerror(errno), process_.pid), sync_failed_ = true;
  }
  pool_->header()->hand_over.fetch_add(1);
}

uint32_t Session::most_backlog() {
  const uint64_t chunks = settings_.most_backlog_bytes / pool_->chunk_bytes();
  return static_cast<uint32_t>(std::clamp<uint64_t>(chunks, 1, pool_->chunk_max()));
}

void Session::ask_tend() {
  std::lock_guard guard(tend_lock_);
  tend_asked_ = true;
  tend_changed_.notify_one();
}

namespace {

constexpr uint64_t PEEK_NS = 50000000;

struct Walked {
  uint32_t end = 0;  // after the last record that is certain to be whole
  uint64_t calls = 0;
  uint32_t context = 0;  // current there
};

// Walk over the records from `begin`, over a limited number of calls. With `busy`, the last call may still be in the
// driver: it is left where it is.
Walked walk(const TakenChunk& chunk, uint32_t begin, uint32_t context, bool busy, uint64_t most = UINT64_MAX) {
  Walked now{begin, 0, context}, before_last = now;
  for (uint32_t at = begin; at + sizeof(dt_record) <= chunk.end && now.calls < most;) {
    const uint64_t head = __atomic_load_n(reinterpret_cast<const uint64_t*>(chunk.base + at), __ATOMIC_RELAXED);
    const uint32_t bytes = DT_RECORD_WORDS(head) * 8;
    if (bytes < sizeof(dt_record) || bytes > chunk.end - at) break;
    if (!(head & DT_RECORD_TAP)) {
      before_last = now;
      now.calls++;
    } else if ((head & DT_FUNCTION_MASK) == DT_FN_CONTEXT && bytes >= sizeof(dt_record) + 28) {
      memcpy(&now.context, chunk.base + at + sizeof(dt_record) + 24, 4);
    }
    at += bytes;
    now.end = at;
  }
  return busy && now.calls ? before_last : now;
}

}  // namespace

// Where to begin with a chunk. One of an adopted window was taken in part: so far as its calls are there, and the notes
// behind them as far as the drainer before us said.
Session::Progress Session::progress_in(const TakenChunk& chunk) {
  Progress p = {chunk.serial, 0, DT_CHUNK_HEADER_BYTES, chunk.context, 0};
  if (!settings_.window) return p;
  const auto move = [&p](const Walked& walked) {
    p.offset = walked.end;
    p.calls += walked.calls;
    p.context = walked.context;
  };
  const uint64_t had = had_[chunk.thread];
  if (had > chunk.first_call) move(walk(chunk, p.offset, p.context, false, had - chunk.first_call));
  TakenChunk noted = chunk;
  noted.end = std::min(pool_->noted(chunk), chunk.end);
  if (noted.end > p.offset) move(walk(noted, p.offset, p.context, false));
  return p;
}

// The part of a chunk that was not taken yet; begin == end: nothing that is certain.
TakenChunk Session::part_of(const TakenChunk& chunk, bool owned) {
  Progress& p = progress_[chunk.index];
  if (p.serial != chunk.serial) p = progress_in(chunk);
  TakenChunk part = chunk;
  part.begin = p.offset;
  part.first_call = chunk.first_call + p.calls;
  part.context = p.context;
  if (part.end < part.begin) part.end = part.begin;
  // Nothing has happened since we looked: then the last call has long returned, unless it is a very long one.
  bool busy = owned && p.commit != chunk.end;
  p.commit = chunk.end;
  Walked walked = walk(part, part.begin, p.context, busy);
  if (owned && !busy && walked.calls) {
    // The last record of a call says itself whether the driver had returned.
    uint32_t last = 0;
    for (uint32_t at = part.begin; at < walked.end;) {
      const uint64_t head = __atomic_load_n(reinterpret_cast<const uint64_t*>(chunk.base + at), __ATOMIC_RELAXED);
      if (!(head & DT_RECORD_TAP)) last = static_cast<uint32_t>(head >> 32);
      at += DT_RECORD_WORDS(head) * 8;
    }
    if (last == DT_IN_FLIGHT) walked = walk(part, part.begin, p.context, true);
  }
  if (owned) part.end = walked.end;
  p.offset = walked.end;
  p.calls += walked.calls;
  p.context = walked.context;
  if (part.end > part.begin || !owned) part.serial = part_serial_[chunk.thread]++;
  return part;
}

void Session::collect(bool ending) {
  std::vector<TakenChunk> sealed, owned;
  Pool::Census census;
  const bool peek = ring_ && !ending && clock_ns(CLOCK_MONOTONIC) - last_peek_ns_ >= PEEK_NS;
  {
    std::lock_guard guard(states_);
    census = pool_->survey(taken_, &sealed, ending || peek ? &owned : nullptr);
    const size_t sealed_count = sealed.size();
    if (ending)
      for (TakenChunk& chunk : owned)
        if (chunk.end) sealed.push_back(chunk);
    // Each thread's in the order of its chunks; between threads as they began, roughly.
    std::vector<uint32_t> owned_indices;
    for (size_t i = sealed_count; i < sealed.size(); i++) owned_indices.push_back(sealed[i].index);
    std::sort(sealed.begin(), sealed.end(), [](const TakenChunk& a, const TakenChunk& b) {
      return a.thread == b.thread ? a.serial < b.serial : a.calibration_ns < b.calibration_ns;
    });
    std::set<uint32_t> waiting;  // threads of which an earlier chunk is missing, or not to be taken yet
    unsettled_ = false;
    if (peek) last_peek_ns_ = clock_ns(CLOCK_MONOTONIC);
    for (const TakenChunk& chunk : sealed) {
      uint64_t& next = next_serial_[chunk.thread];
      if (adopted_ && !settings_.window && chunk.serial < next) {
        // Written by the drainer before us, which died before it could say so.
        pool_->give_back(chunk.index);
        continue;
      }
      if (chunk.serial > next && !ending) {
        // The survey may have passed the earlier chunk just before it was sealed: look once more.
        if (waiting.count(chunk.thread) || held_back_.emplace(chunk.index, chunk.serial).second) {
          waiting.insert(chunk.thread);
          continue;
        }
      }
      held_back_.erase({chunk.index, chunk.serial});
      if (!naming_.settle(chunk, ending)) {
        unsettled_ = true;
        waiting.insert(chunk.thread);
        continue;
      }
      // Earlier calls went over another stream, or are in the window.
      const bool follows = adopted_ && (settings_.receivers || settings_.window) && !next;
      if (chunk.serial > next && !follows) totals_.chunks_lost += chunk.serial - next;
      next = chunk.serial + 1;
      taken_[chunk.index] = true;
      Job job;
      job.chunk = chunk;
      job.owned = std::find(owned_indices.begin(), owned_indices.end(), chunk.index) != owned_indices.end();
      if (ring_ || settings_.window) job.chunk = part_of(chunk, false);
      queue_.push_back(job);
    }
    for (const TakenChunk& chunk : owned) {
      // One of a thread whose earlier chunk waits for its turn has to wait, too.
      if (!peek || !chunk.end || chunk.serial != next_serial_[chunk.thread]) continue;
      Job job;
      job.chunk = part_of(chunk, true);
      job.owned = true;
      if (job.chunk.end > job.chunk.begin) queue_.push_back(job);
    }
  }
  const uint32_t busy = census.owned + census.sealed;
  totals_.pool_now = busy;
  if (busy > totals_.pool_peak) totals_.pool_peak = busy;
  const int level = census.sealed > most_backlog() / 2 ? std::min(settings_.level, FAST_LEVEL) : settings_.level;
  for (Job& job : queue_) job.level = level;
  if (!ending && (census.free < settings_.free_ahead || pool_->header()->free_wanted.load())) ask_tend();
  idle_rounds_ = queue_.empty() && held_back_.empty() ? idle_rounds_ + 1 : 0;
  if (idle_rounds_ == 20 && census.free > 4 * settings_.free_ahead)
    pool_->shrink(census.free, 2 * settings_.free_ahead);
}

bool Session::next_job(Job* job) {
  std::lock_guard guard(leader_);
  while (queue_.empty()) {
    if (drained_) return false;
    const bool ending = ending_.load();
    const uint32_t seen = pool_->header()->seal_wake.load();
    collect(ending);
    if (!queue_.empty()) break;
    if (ending) {
      drained_ = true;
      return false;
    }
    pool_->wait_seal(seen, !held_back_.empty() ? 1 : unsettled_ ? 10 : 100);
  }
  // While there is much to do nobody surveys the pool; the application may be running out of chunks meanwhile.
  if (pool_->header()->free_wanted.load() || turns_given_ % 8 == 7) ask_tend();
  *job = queue_.front();
  queue_.pop_front();
  queued_ = queue_.size();
  job->turn = turns_given_++;
  return true;
}

void Session::work() {
  Encoder encoder(*signatures_->layouts, blobs_, pool_->chunk_bytes());
  encoder.list_contents = ring_ != nullptr;
  Encoded out;
  Job job;
  while (next_job(&job)) run(job, encoder, &out);
  totals_.worker_cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID);
  if (--working_ == 0) finish();
}

void Session::run(const Job& job, Encoder& encoder, Encoded* out) {
  const TakenChunk& chunk = job.chunk;
  bool write_it = false;
  if (chunk.end && (chunk.end < DT_CHUNK_HEADER_BYTES || chunk.end % 8)) {
    totals_.invalid_bytes += pool_->chunk_bytes();
  } else if (discarding_.load()) {
    totals_.calls_lost += count_calls(chunk);
    totals_.chunks_lost++;
  } else {
    encoder.encode(chunk, process_.pid, process_.clock, settings_.timing, job.level, out);
    totals_.invalid_records += out->invalid_records;
    totals_.invalid_bytes += out->invalid_bytes;
    write_it = true;
  }
  {
    std::unique_lock guard(turn_lock_);
    turn_changed_.wait(guard, [&] { return turn_ == job.turn; });
  }
  if (ring_ && write_it) ring_->look(chunk);
  if (write_it) write(job, out);
  if ((ring_ || settings_.window) && write_it && job.owned) pool_->note_taken(chunk);
  {
    std::lock_guard guard(turn_lock_);
    turn_++;
    turn_changed_.notify_all();
  }
  release(job);
}

void Session::release(const Job& job) {
  // Not before its records are in the file. One that a living thread still owns stays what it is.
  if (job.owned) return;
  std::lock_guard guard(states_);
  // A thread that is woken for each chunk sleeps again after it, and that costs it more than filling the chunk.
  given_back_++;
  pool_->give_back(job.chunk.index, queued_.load() == 0 || given_back_ % WAKE_EVERY == 0);
  taken_[job.chunk.index] = false;
}

// ---- a flight recorder --------------------------------------------------------------------------

void Session::make_ring() {
  Ring::Owner owner;
  owner.annotations = [this] {
    std::vector<std::string> all{recording_json(), process_json()};
    for (std::string& json : remarks_.annotations_from(0)) all.push_back(std::move(json));
    return all;
  };
  owner.end_annotation = [this](const std::string& reason) {
    if (end_reason_.empty() || !ending_.load()) {
      JsonObject object;
      object.put("kind", "end").put("reason", "saved: " + reason).put("calls", totals_.calls).put("calls_in_flight", 0);
      object.put("calls_dropped", pool_->header()->calls_dropped.load())
          .put("calls_nested", pool_->header()->calls_nested.load());
      object.put("calls_left", pool_->header()->calls_left.load());
      object.put("calls_lost", ring_->totals().lost_calls).put("time_monotonic_ns", clock_ns(CLOCK_MONOTONIC));
      return object.str();
    }
    return end_json(false);
  };
  owner.let_go = [this] { pool_->header()->content_epoch.fetch_add(1); };
  owner.name = [this](uint64_t frame, const std::string& reason) {
    return names_.claim("f" + std::to_string(frame) + "-" + reason);
  };
  owner.frames = [this] { return pool_->header()->frames.load(); };
  owner.ask = [this](const std::vector<RingTarget>& wanted) {
    dt_pool_targets* all = pool_->targets();
    if (all->open.load()) return false;
    uint32_t count = 0;
    for (const RingTarget& w : wanted) {
      if (count == DT_MOST_TARGETS) break;
      auto n = [&](size_t i) { return static_cast<uint32_t>(w.numbers[i]); };
      dt_target& t = all->list[count++];
      t.name = w.numbers[2];
      t.kind = n(0), t.share_group = n(1), t.target = n(3), t.level = n(4), t.width = n(5), t.height = n(6),
      t.depth = n(7), t.format = n(8);
      t.state.store(DT_TARGET_ASKED);
    }
    all->count = count;
    all->open.store(count);
    return true;
  };
  owner.asked = [this](bool withdraw, uint64_t* bytes, std::vector<uint32_t>* why) {
    dt_pool_targets* all = pool_->targets();
    const uint32_t count = std::min<uint32_t>(all->count, DT_MOST_TARGETS);
    if (withdraw)
      for (uint32_t i = 0; i < count; ++i) {
        uint32_t asked = DT_TARGET_ASKED;
        if (all->list[i].state.compare_exchange_strong(asked, DT_TARGET_WITHDRAWN)) all->open.fetch_sub(1);
      }
    std::vector<uint32_t> states;
    *bytes = all->bytes.load();
    if (all->open.load()) return states;
    for (uint32_t i = 0; i < count; ++i) {
      states.push_back(all->list[i].state.load());
      why->push_back(states.back() == DT_TARGET_REFUSED ? all->list[i].why : +DT_REFUSED_NOBODY);
    }
    return states;
  };
  RingProcess process{process_.pid, process_.clock, process_.pool, process_.start_clock, process_.start_ns};
  RingSettings settings = settings_.ring;
  if (settings.take_limit) settings.least_calls = std::min(settings.least_calls, settings.take_limit);
  ring_ = std::make_unique<Ring>(settings, process, signatures_->set, blobs_, status_, std::move(owner));
}

void Session::end_ring() {
  bool signalled = process_.signalled;
  int value = process_.exit_value;
  const bool known = remarks_.exit_of(process_.pid, &signalled, &value) || process_.exit_known;
  if (known) process_.exit_known = true, process_.signalled = signalled, process_.exit_value = value;
  // A process that is gone without a word was killed, even where nobody could report how.
  const bool crashed = end_reason_ == "process gone" && (known ? signalled : !pool_->header()->finished.load());
  SaveWish wish;
  wish.by_hand = true;
  if (crashed && settings_.ring.at_crash) {
    wish.reason = "crash";
    wish.detail = known ? "signal " + std::to_string(value) : "the process is gone without having ended by itself";
    ring_->finish(&wish);
  } else if (settings_.ring.at_exit) {
    wish.reason = "exit";
    wish.detail = known ? (signalled ? "signal " : "exit code ") + std::to_string(value) : end_reason_;
    ring_->finish(&wish);
  } else {
    ring_->finish(nullptr);
  }
  const RingTotals t = ring_->totals();
  JsonObject line;
  line.put("event", "ring")
      .put("pid", process_.pid)
      .put("program", process_.program)
      .put("saves", t.saves)
      .put("failed", t.failed);
  line.put("crashed", crashed).put("calls", totals_.calls).put("frames", t.frames).put("worst_frame_ns", t.worst_ns);
  line.put("walked", t.walked).put("calls_lost", t.lost_calls).put("helper_ns", t.helper_ns);
  t.put(line);
  status_.say(line);
}

uint64_t Session::in_flight() const {
  // The calls that the program left, among the calls without an end, will never have one.
  return totals_.in_flight - std::min<uint64_t>(totals_.in_flight, pool_->header()->calls_left.load());
}

std::string Session::content_lost() const {
  const dt_loss* all = pool_->losses();
  JsonObject counts;
  for (const dt_loss* loss = all; loss < all + DT_MOST_LOSSES; ++loss) {
    const std::string code(loss->code, strnlen(loss->code, sizeof loss->code));
    if (loss->state.load() != DT_LOSS_NAMED || !loss->count.load()) continue;
    // The program may have written there.
    if (code.empty() || code.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos) continue;
    counts.put(code, loss->count.load());
  }
  return counts.str();
}

std::string Session::end_json(bool wait) {
  bool signalled = process_.signalled;
  int value = process_.exit_value;
  bool known = (wait && remarks_.exit_of(process_.pid, &signalled, &value)) || process_.exit_known;
  dt_pool_header* pool = pool_->header();
  JsonObject object;
  object.put("kind", "end").put("reason", end_reason_).put("sealed_by_exit", pool->finished.load() == 1);
  if (known) object.put(signalled ? "signal" : "exit_code", value);
  object.put("calls", totals_.calls).put("calls_in_flight", in_flight());
  object.put("calls_dropped", pool->calls_dropped.load()).put("calls_nested", pool->calls_nested.load());
  object.put("calls_left", pool->calls_left.load());
  object.put("calls_lost", totals_.calls_lost).put("chunks_lost", totals_.chunks_lost);
  object.put("calls_unrecorded", pool->calls_unrecorded.load());
  object.put("invalid_records", totals_.invalid_records).put("invalid_bytes", totals_.invalid_bytes);
  object.json("content_lost", content_lost());
  if (!write_error_.empty()) object.put("write_error", write_error_);
  if (!stream_error_.empty()) object.put("stream_error", stream_error_);
  object.put("wait_ns", pool->wait_ns.load()).put("drainer_cpu_ns", process_cpu_ns());
  object.put("bytes_raw", totals_.bytes_raw).put("bytes_file", file_.size());
  object.put("pool_peak_bytes", totals_.pool_peak * pool_->chunk_bytes());
  object.put("frames_recorded", pool->frames.load()).put("frames_unrecorded", pool->frames_unseen.load());
  object.put("frames_dropped", pool->frames_dropped.load()).put("draws_dropped", pool->draws_dropped.load());
  object.put("uploads_dropped", pool->uploads_dropped.load())
      .put("upload_bytes_dropped", pool->upload_bytes_dropped.load());
  object.put("threads", pool->thread_count.load()).put("adopted", adopted_);
  object.put("time_monotonic_ns", clock_ns(CLOCK_MONOTONIC));
  return object.str();
}

void Session::finish() {
  if (ring_) end_ring();
  std::string error;
  uint64_t inode = 0;
  if (file_.is_open()) {
    const std::string last = end_json();
    file_.use_reserve();
    error = append_remarks();
    std::string second = append_json(last);
    inode = inode_of(file_.descriptor());
    if (error.empty()) error = second;
    second = file_.finish();
    if (!second.empty() && stream_) {
      second = spill(second);
      inode = inode_of(file_.descriptor());
      if (second.empty()) second = file_.finish();
    } else if (stream_) {
      stream_taken_ = file_.size();
    }
    if (error.empty()) error = second;
    totals_.bytes_file = file_.size();
    if (!error.empty() && write_error_.empty()) status_.error("write", error, process_.pid);
  }
  JsonObject line;
  line.put("event", "file").put("pid", process_.pid).put("program", process_.program).put("pool", process_.pool);
  const std::string place = trace();
  if (place.empty() || is_address(place))
    line.json("file", "null");
  else
    put_stamp(&line.put("file", place), place, inode);
  if (settings_.receivers) {
    line.put("stream", settings_.receivers->settings().to).put("taken", stream_taken_);
    line.put("stream_error", stream_error_);
  }
  line.put("frames", pool_->header()->frames.load()).put("frames_dropped", pool_->header()->frames_dropped.load());
  line.put("reason", end_reason_).put("calls", totals_.calls).put("records", totals_.records);
  line.put("bytes_raw", totals_.bytes_raw).put("bytes_file", totals_.bytes_file).put("chunks", totals_.chunks);
  line.put("calls_in_flight", in_flight()).put("calls_dropped", pool_->header()->calls_dropped.load());
  const uint64_t unrecorded = pool_->header()->calls_unrecorded.load();
  line.put("calls_nested", pool_->header()->calls_nested.load()).put("calls_lost", totals_.calls_lost);
  line.put("calls_unrecorded", unrecorded).put("write_error", write_error_);
  line.put("chunks_lost", totals_.chunks_lost).put("invalid_records", totals_.invalid_records);
  line.put("invalid_bytes", totals_.invalid_bytes).put("wait_ns", pool_->header()->wait_ns.load());
  line.put("worker_cpu_ns", totals_.worker_cpu_ns).put("pool_peak_bytes", totals_.pool_peak * pool_->chunk_bytes());
  line.put("complete", write_error_.empty() && error.empty() && !totals_.chunks_lost && !totals_.invalid_records &&
                           !totals_.invalid_bytes && !totals_.calls_lost && !unrecorded);
  {
    // Not before: whoever holds the pool's memory sees by the beat that somebody is still at work.
    std::lock_guard guard(tend_lock_);
    tend_stop_ = true;
    tend_changed_.notify_one();
  }
  status_.say(line);
  say_named();
  finished_.store(true);
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t ignored = ::write(done_fd_, &one, sizeof one);
}

}  // namespace dt
