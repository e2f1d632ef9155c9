#include "ring.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

extern char** environ;

namespace dt {
namespace {

constexpr uint64_t SECOND = 1000000000;
constexpr uint64_t LEAST_BYTES = 4 << 20;
constexpr uint64_t STANDSTILL_NS = SECOND;
constexpr uint64_t SETTLE_NS = 250000000;      // for what the program did to arrive here
constexpr uint64_t MOST_LATE_NS = 5 * SECOND;  // after that it will not arrive
constexpr uint64_t UNLOOKED_FRAMES = 10;       // a program that starts is slow
constexpr size_t MOST_PENDING = 8;
constexpr size_t MOST_RESULTS = 64;
constexpr int FIRST_FD = 20;
constexpr uint64_t MOST_FRAMES_FOR_PICTURES = 120;  // in one of them their context shows something, or never
constexpr size_t MOST_REFUSED = 256;
constexpr uint64_t WORTH_A_TRIM = 32 << 20;
constexpr uint64_t MOST_FOR_LAST_FRAME = 64 << 20;  // bytes that are held although the window is over
constexpr uint64_t CLOCK_SLACK_NS = 1000000;        // between two ways to get at the same moment

uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * SECOND + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t load_relaxed(const char* from) {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(from), __ATOMIC_RELAXED);
}

class Memory {
 public:
  Memory() : fd_(memfd_create("drawtap-ring", MFD_CLOEXEC)) {}
  ~Memory() {
    if (fd_ >= 0) close(fd_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  int fd() const { return fd_; }
  int take() {
    int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

std::string helper_path() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  const std::string self(path, n > 0 ? static_cast<size_t>(n) : 0);
  return self.substr(0, self.rfind('/') + 1) + "drawtap-ring";
}

}  // namespace

bool parse_window(const std::string& text, uint64_t* ns, uint64_t* bytes) {
  *ns = *bytes = 0;
  char* end = nullptr;
  const double value = strtod(text.c_str(), &end);
  if (end == text.c_str() || !(value > 0) || value > 1e15) return false;
  const std::string unit = end;
  static const std::pair<const char*, double> times[] = {{"ms", 1e6}, {"s", 1e9}, {"min", 6e10}, {"h", 3.6e12}};
  static const std::pair<const char*, double> sizes[] = {{"K", 1024.0}, {"M", 1048576.0}, {"G", 1073741824.0}};
  for (auto& [name, factor] : times)
    if (unit == name && value * factor < 9e18) return *ns = static_cast<uint64_t>(value * factor), true;
  for (auto& [name, factor] : sizes)
    if ((unit == name || unit == std::string(name) + "B" || unit == std::string(name) + "iB") && value * factor < 9e18)
      return *bytes = static_cast<uint64_t>(value * factor), true;
  return false;
}

Ring::Ring(const RingSettings& settings, const RingProcess& process, const SignatureSet& signatures, KnownBlobs& blobs,
           Status& status, Owner owner)
    : settings_(settings), process_(process), blobs_(blobs), status_(status), owner_(std::move(owner)),
      interest_(DT_FUNCTION_MASK + 1), error_slot_(DT_FUNCTION_MASK + 1), names_(DT_FUNCTION_MASK + 1) {
  for (const FunctionSignature& f : signatures.functions()) {
    const std::string flags = "," + std::string(f.flags) + ",", rule = "," + settings_.frame_end + ",";
    const bool ends = settings_.frame_end == "auto" ? flags.find(",frame_end,") != flags.npos
                                                    : rule.find("," + std::string(f.name) + ",") != rule.npos;
    if (ends) interest_[f.id] |= FRAME_END;
    if (f.id == DT_FN_MARK && (!settings_.marks.empty() || settings_.on_error)) interest_[f.id] |= MARK;
    if (flags.find(",error_query,") != flags.npos && settings_.on_error && f.result_slot.width) {
      interest_[f.id] |= ASKS_ERROR;
      error_slot_[f.id] =
          static_cast<uint16_t>(sizeof(dt_record) + (f.result_slot.width == 8 ? 8u * f.result_slot.index
                                                                              : 8u * f.w8 + 4u * f.result_slot.index));
    }
    names_[f.id] = f.name;
  }
  renew_journal();
  thread_ = std::thread([this] { keep(); });
}

Ring::~Ring() {
  finish(nullptr);
  if (base_ >= 0) close(base_);
  if (frames_ >= 0) close(frames_);
}

uint64_t Ring::ns_of(const dt_calls_meta& meta, uint64_t ticks) const {
  if (!ticks) return now_ns();
  if (process_.clock == DT_CLOCK_MONOTONIC_NS) return ticks;
  const double since = static_cast<double>(static_cast<int64_t>(ticks - meta.calibration_clock));
  return meta.calibration_ns + static_cast<uint64_t>(std::max(0.0, since / ticks_per_ns_));
}

// A moment in a chunk that is not encoded yet; before the clock's speed is known, when the chunk began.
uint64_t Ring::frame_ns(const TakenChunk& chunk, uint64_t ticks) const {
  if (process_.clock == DT_CLOCK_MONOTONIC_NS) return ticks;
  if (ticks_per_ns_ == 1 || ticks < chunk.calibration_clock) return chunk.calibration_ns;
  return chunk.calibration_ns +
         static_cast<uint64_t>(static_cast<double>(ticks - chunk.calibration_clock) / ticks_per_ns_);
}

// ---- what asks for a save by itself -------------------------------------------------------------

bool Ring::allow() {
  std::lock_guard guard(lock_);
  const uint64_t now = now_ns();
  if (auto_saves_ >= settings_.most_saves || (last_auto_ns_ && now - last_auto_ns_ < settings_.least_gap_ns))
    return false;
  last_auto_ns_ = now;
  auto_saves_++;
  return true;
}

// Starts the save that a trigger wants, if it may.
void Ring::ask(const std::string& reason, const std::string& detail) {
  if (!allow()) return;
  {
    std::lock_guard own(lock_);
    totals_.frames = frames_seen_;
  }
  save({reason, detail, {}, 0, 0, false});
}

// Judges whether a frame of that length is one too many.
void Ring::judge(double ns) {
  char text[120];
  if (settings_.frame_over_ns) {
    over_ = ns > static_cast<double>(settings_.frame_over_ns) ? over_ + 1 : 0;
    if (over_ >= settings_.over_frames) {
      snprintf(text, sizeof text, "frame %llu took %.3f ms; %u in a row over %.3f ms",
               static_cast<unsigned long long>(frames_seen_ - 1), ns / 1e6, over_,
               static_cast<double>(settings_.frame_over_ns) / 1e6);
      ask("frame-time", text);
      over_ = 0;
    }
  }
  if (settings_.fps_below_milli) {
    const double fps = ns > 0 ? 1e9 / ns : 1e9;
    below_ = fps * 1000 < static_cast<double>(settings_.fps_below_milli) ? below_ + 1 : 0;
    if (below_ >= settings_.below_frames) {
      snprintf(text, sizeof text, "%u frames in a row below %.3f FPS, the last at %.1f", below_,
               static_cast<double>(settings_.fps_below_milli) / 1e3, fps);
      ask("fps", text);
      below_ = 0;
    }
  }
}

void Ring::look(const TakenChunk& chunk) {
  std::lock_guard guard(look_lock_);
  if (process_.clock != DT_CLOCK_MONOTONIC_NS && chunk.calibration_clock > process_.start_clock &&
      chunk.calibration_ns > process_.start_ns + 1000000)
    ticks_per_ns_ = static_cast<double>(chunk.calibration_clock - process_.start_clock) /
                    static_cast<double>(chunk.calibration_ns - process_.start_ns);
  for (uint32_t at = chunk.begin; at + sizeof(dt_record) <= chunk.end;) {
    const char* record = chunk.base + at;
    const uint64_t head = load_relaxed(record);
    const uint32_t bytes = DT_RECORD_WORDS(head) * 8, id = head & DT_FUNCTION_MASK;
    if (bytes < sizeof(dt_record) || bytes > chunk.end - at) break;
    at += bytes;
    const uint8_t interest = interest_[id];
    if (__builtin_expect(!interest, 1)) continue;
    if (interest & FRAME_END && !(head & DT_RECORD_TAP)) {
      const uint64_t ticks = load_relaxed(record + 8), before = last_frame_ticks_;
      last_frame_ticks_ = ticks;
      frames_seen_++;
      if (ticks) {
        std::lock_guard own(lock_);
        last_frames_ns_[0] = last_frames_ns_[1];
        last_frames_ns_[1] = frame_ns(chunk, ticks);
      }
      if (!ticks || !before || ticks < before || frames_seen_ <= UNLOOKED_FRAMES) continue;
      const double ns =
          static_cast<double>(ticks - before) / (process_.clock == DT_CLOCK_MONOTONIC_NS ? 1 : ticks_per_ns_);
      {
        std::lock_guard own(lock_);
        totals_.worst_ns = std::max(totals_.worst_ns, static_cast<uint64_t>(ns));
      }
      judge(ns);
    } else if (interest & ASKS_ERROR) {
      if (error_slot_[id] + 4u > bytes) continue;
      uint32_t error;
      memcpy(&error, record + error_slot_[id], 4);
      // eglGetError says EGL_SUCCESS where there was none.
      if (!error || error == 0x3000) continue;
      char text[120];
      snprintf(text, sizeof text, "%s returned 0x%04x", names_[id].c_str(), error);
      ask("gl-error", text);
    } else if (interest & MARK) {
      const uint64_t descriptor = load_relaxed(record + sizeof(dt_record));
      const uint64_t length = DT_DATA_LENGTH(descriptor);
      if (DT_DATA_KIND(descriptor) != DT_DATA_INLINE || sizeof(dt_record) + 8 + length > bytes) continue;
      const std::string text(record + sizeof(dt_record) + 8, length);
      // The message of the module gl-errors about a call.
      if (settings_.on_error && text.rfind("GL error ", 0) == 0) ask("gl-error", text.substr(0, 200));
      for (const std::string& mark : settings_.marks)
        if (text == mark || (text.rfind(mark, 0) == 0 && !isalnum(static_cast<unsigned char>(text[mark.size()])))) {
          ask("mark", text.substr(0, 200));
          break;
        }
    }
  }
  std::lock_guard own(lock_);
  totals_.frames = frames_seen_;
}

// ---- what comes in ------------------------------------------------------------------------------

uint64_t Ring::held_bytes() const { return chunk_bytes_ + content_bytes_ + totals_.base_bytes; }

uint64_t Ring::save(SaveWish wish) {
  std::lock_guard guard(lock_);
  if (pending_.size() >= MOST_PENDING) {
    status_.error("ring", "too many saves at once: one for " + wish.reason + " is left out", process_.pid);
    return 0;
  }
  Pending p;
  p.at_ns = now_ns();
  p.frame = totals_.frames;
  p.frames_shown = owner_.frames();
  p.due_ns = p.at_ns + (wish.after_ns ? wish.after_ns : settings_.after_ns) + SETTLE_NS;
  p.wish = std::move(wish);
  p.number = ++last_number_;
  results_[p.number] = JsonObject().put("done", false).str();
  if (results_.size() > MOST_RESULTS) results_.erase(results_.begin());
  pending_.push_back(std::move(p));
  changed_.notify_one();
  return last_number_;
}

std::string Ring::result(uint64_t number) {
  std::lock_guard guard(lock_);
  auto it = results_.find(number);
  return it == results_.end() ? "" : it->second;
}

std::string Ring::peek(int fd) {
  std::lock_guard guard(lock_);
  Journal window;
  std::string error = window.begin(process_.start_clock, process_.start_ns, fd);
  if (error.empty()) error = build(window, held_.size());
  return error.empty() ? window.finish() : error;
}

void Ring::finish(const SaveWish* wish) {
  if (!thread_.joinable()) return;
  if (wish) save(*wish);
  {
    std::lock_guard guard(lock_);
    finishing_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

void RingTotals::put(JsonObject& to) const {
  to.put("held_bytes", held_bytes).put("held_peak", held_peak).put("base_bytes", base_bytes);
  to.put("compactions", compactions).put("kept", kept).put("exact", exact).put("assumed", assumed);
  to.put("whole_because", whole_because);
  to.put("takes", takes).put("pictures", pictures).put("picture_bytes", picture_bytes).put("refused", refused);
}

RingTotals Ring::totals() {
  std::lock_guard guard(lock_);
  return totals_;
}

// ---- the thread that keeps little ---------------------------------------------------------------

void Ring::keep() {
  std::unique_lock guard(lock_);
  for (;;) {
    changed_.wait_for(guard, std::chrono::milliseconds(100));
    const uint64_t now = now_ns();
    if (!pending_.empty() && (finishing_ || is_due(pending_.front(), now))) {
      Pending p = std::move(pending_.front());
      pending_.pop_front();
      guard.unlock();
      write(p);
      guard.lock();
      continue;
    }
    if (finishing_) return;
    look_at_pictures(now);
    if (!shown_) show();
    uint64_t cut = 0;
    size_t chunks = 0;
    if (now >= next_try_ns_ && leaving(now, &cut, &chunks)) {
      guard.unlock();
      compact(cut, chunks);
      guard.lock();
    }
  }
}

// On a busy machine what the program has shown arrives late.
bool Ring::is_due(const Pending& p, uint64_t now) const {
  if (now < p.due_ns) return false;
  return settings_.frame_end != "auto" || totals_.frames >= p.frames_shown || now >= p.due_ns + MOST_LATE_NS;
}

// The begin of a window of a number of bytes that ends at a time: with whole chunks, of which the last is always in it.
// 0: everything is.
uint64_t Ring::cut_by_size(uint64_t end_ns) const {
  uint64_t bytes = 0;
  for (size_t i = held_.size(); i-- > 0;) {
    if (i && held_[i - 1].last_ns > end_ns) continue;  // began later
    bytes += held_[i].bytes;
    if (bytes > settings_.window_bytes && bytes > held_[i].bytes) return held_[i].last_ns;
  }
  return 0;
}

// A program that shows nothing for longer than the window still has a last frame: what led to the standstill.
uint64_t Ring::spare_last_frame(uint64_t cut) const {
  if (!last_frames_ns_[0] || held_bytes() > std::max(settings_.window_bytes, MOST_FOR_LAST_FRAME)) return cut;
  return std::min(cut, last_frames_ns_[0] - std::min(last_frames_ns_[0], CLOCK_SLACK_NS));
}

// Pictures that the recorder wants of the program: it comes by at the end of a frame, in the context that has them.
void Ring::look_at_pictures(uint64_t now) {
  if (asked_.empty()) return;
  uint64_t bytes = 0;
  const bool late = owner_.frames() > asked_frames_ + MOST_FRAMES_FOR_PICTURES;
  std::vector<uint32_t> why;
  const std::vector<uint32_t> states = owner_.asked(late, &bytes, &why);
  if (states.empty()) return;
  for (size_t i = 0; i < asked_.size() && i < states.size(); ++i) {
    if (states[i] == DT_TARGET_TAKEN)
      totals_.pictures++;
    else
      refused_.push_back(asked_[i]), refused_.back().why = why[i];
  }
  // A program that makes such pictures again and again: the list must not grow with it.
  if (refused_.size() > MOST_REFUSED) refused_.erase(refused_.begin(), refused_.end() - MOST_REFUSED);
  totals_.refused = refused_.size();
  totals_.takes++;
  totals_.picture_bytes = bytes;
  asked_.clear();
  taken_ns_ = now;
}

// Returns whether enough has left the window to be worth a look: the first `chunks`, before a time.
bool Ring::leaving(uint64_t now, uint64_t* cut_ns, size_t* chunks) {
  uint64_t cut = settings_.window_ns ? now - std::min(now, settings_.window_ns) : 0;
  if (settings_.window_bytes) cut = cut_by_size(UINT64_MAX);
  cut = spare_last_frame(cut);
  // A save that waits still wants what it asked for.
  for (const Pending& p : pending_) {
    const uint64_t before = p.wish.before_ns      ? p.wish.before_ns
                            : settings_.before_ns ? settings_.before_ns
                                                  : settings_.window_ns;
    cut = std::min(cut, before ? p.at_ns - std::min(p.at_ns, before) : cut_by_size(p.at_ns));
  }
  // Rather a shorter window than lost calls: of the memory that the base leaves, a quarter is for what comes while we
  // look.
  const uint64_t room = settings_.limit_bytes - std::min(settings_.limit_bytes, totals_.base_bytes),
                 most = room - room / 4;
  const bool tight = chunk_bytes_ + content_bytes_ > most;
  if (tight) {
    // Content counts with the chunk that brought it, and may have outlived that.
    uint64_t newest = chunk_bytes_ + content_bytes_;
    for (const Held& held : held_) newest -= std::min(newest, held.bytes);
    for (size_t i = held_.size(); i-- > 0;)
      if ((newest += held_[i].bytes) > most / 2) {
        cut = std::max(cut, held_[i].last_ns);
        break;
      }
  }
  uint64_t calls = 0, bytes = 0;
  size_t n = 0;
  for (size_t i = 0; i < held_.size(); ++i) {
    if (held_[i].last_ns >= cut) continue;
    auto it = consumed_.find({held_[i].meta.pid, held_[i].meta.thread});
    const uint64_t first = it == consumed_.end() ? 0 : it->second;
    const uint64_t end = held_[i].meta.first_call + held_[i].meta.calls;
    if (end > first) calls += std::min<uint64_t>(held_[i].meta.calls, end - first);
    bytes += held_[i].bytes;
    n = i + 1;
  }
  *cut_ns = cut;
  *chunks = n;
  if (tight && calls) return true;
  // A program that stands still makes no more calls, and what has left its window since the last look waits for none.
  if (calls && now > held_.back().last_ns + STANDSTILL_NS && held_[n - 1].last_ns > looked_ns_) return true;
  return calls >= std::max({settings_.least_calls, base_calls_, least_calls_}) ||
         (calls > least_calls_ && bytes >= std::max(LEAST_BYTES, totals_.base_bytes));
}

// The part of a job that is the same for both verbs of drawtap-ring (native/extract/ring.cc).
void Ring::put_job(JsonWriter<std::string>& job, uint64_t cut_ns) const {
  job.put("cut_ns", cut_ns).put("calls_before", calls_past_).put("frames_before", frames_past_);
  job.put("keep_limit", settings_.keep_limit);
  if (!frame_ends_.empty()) job.put("frame_end", frame_ends_);
  if (totals_.assumed) job.put("assumed", true).json("assumed_because", totals_.assumed_because);
  if (settings_.take_limit) {
    job.put("take_limit", settings_.take_limit);
    // Until what was read back has left the window itself, and only where there is room to wait for it.
    const bool room = held_bytes() < settings_.limit_bytes - settings_.limit_bytes / 4;
    job.put("patient", room && (!asked_.empty() || taken_ns_ > cut_past_ns_)).list("refused");
    for (const RingTarget& target : refused_)
      job.object().values("target", target.numbers).put("why", target.why).end();
    job.end();
  }
  job.list("consumed");
  for (auto& [key, calls] : consumed_) job.list().value(key.first).value(key.second).value(calls).end();
  job.end();
}

// Run drawtap-ring. `files` stand at FIRST_FD + 1 and on; -1: none. Returns what went wrong.
std::string Ring::helper(const char* verb, const std::string& job, const std::vector<int>& files,
                         HelperAnswer* answer) {
  Memory text;
  if (text.fd() < 0 || ::write(text.fd(), job.data(), job.size()) != static_cast<ssize_t>(job.size()))
    return "no memory for a job";
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return std::string("pipe: ") + strerror(errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  // First out of the way of the numbers that are to be theirs.
  std::vector<int> all{text.fd()};
  all.insert(all.end(), files.begin(), files.end());
  std::vector<int> high;
  for (int fd : all) high.push_back(fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 100));
  for (size_t i = 0; i < high.size(); ++i)
    if (high[i] >= 0) posix_spawn_file_actions_adddup2(&actions, high[i], FIRST_FD + static_cast<int>(i));
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const std::string path = helper_path(), job_path = "/proc/self/fd/" + std::to_string(FIRST_FD);
  char* const arguments[] = {const_cast<char*>(path.c_str()), const_cast<char*>(verb),
                             const_cast<char*>(job_path.c_str()), nullptr};
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, path.c_str(), &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  for (int fd : high)
    if (fd >= 0) close(fd);
  close(out[1]);
  answer->text.clear();
  if (failed) {
    close(out[0]);
    return path + ": " + strerror(failed);
  }
  char bytes[4096];
  for (ssize_t n; (n = read(out[0], bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR);)
    if (n > 0) answer->text.append(bytes, static_cast<size_t>(n));
  close(out[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  const std::string wrong = JsonReader::read_object(answer->text, answer->json);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return wrong.empty() ? "" : "drawtap-ring: " + wrong;
  const std::string said = answer->json["error"].text();
  if (!said.empty()) return said;
  return "drawtap-ring ended with " + std::string(WIFSIGNALED(status) ? "signal " : "status ") +
         std::to_string(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

void Ring::drop_contents() {
  std::unordered_map<Hash, bool, KnownBlobs::HashOf> used;
  for (const Held& held : held_)
    for (const Hash& hash : held.contents) used[hash] = true;
  for (auto it = contents_.begin(); it != contents_.end();) {
    if (used.count(it->first) || !blobs_.forget(it->first)) {
      ++it;
      continue;
    }
    for (const Part& part : it->second) content_bytes_ -= part.entry.stored_bytes;
    it = contents_.erase(it);
  }
}

void Ring::compact(uint64_t cut_ns, size_t chunks) {
  const uint64_t started = now_ns();
  Memory base, frames;
  Journal raw;
  JsonObject job;
  std::string error;
  {
    std::lock_guard guard(lock_);
    error = base.fd() < 0 || frames.fd() < 0 ? "no memory file can be made" : "";
    if (error.empty()) error = raw.begin(process_.start_clock, process_.start_ns);
    if (error.empty()) error = build(raw, chunks);
    put_job(job.writer(), cut_ns);
    looked_ns_ = held_[chunks - 1].last_ns;
  }
  auto at = [](int i) { return "/proc/self/fd/" + std::to_string(FIRST_FD + i); };
  if (base_ >= 0) job.put("base", at(1)).put("frames_in", at(2));
  job.put("raw", at(3)).put("out", at(4)).put("frames_out", at(5));
  HelperAnswer answer;
  if (error.empty()) error = helper("compact", job.str(), {base_, frames_, raw.fd(), base.fd(), frames.fd()}, &answer);
  if (!error.empty()) {
    status_.error("ring", "calls that left the window could not be looked through: " + error, process_.pid);
    std::lock_guard guard(lock_);
    totals_.failed++;
    next_try_ns_ = now_ns() + 5 * SECOND;
    return;
  }
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> consumed;
  for (const Json& thread : answer.json["consumed"].items())
    if (auto& numbers = thread.items(); numbers.size() == 3)
      consumed[{numbers[0].number<uint32_t>(), numbers[1].number<uint32_t>()}] = numbers[2].number();
  std::vector<RingTarget> wanted;
  for (const Json& target : answer.json["wanted"].items())
    std::transform(target.items().begin(),
                   target.items().begin() + std::min(target.items().size(), RingTarget::NUMBERS),
                   wanted.emplace_back().numbers, [](const Json& n) { return n.number(); });
  struct stat size{};
  fstat(base.fd(), &size);
  std::lock_guard guard(lock_);
  if (!wanted.empty() && asked_.empty() && owner_.ask(wanted)) {
    asked_ = std::move(wanted);
    asked_frames_ = owner_.frames();
  }
  const uint64_t before_bytes = chunk_bytes_ + content_bytes_;
  const uint64_t past = answer.count("calls_past");
  // Nothing could be cut off: a frame is longer than all that has left. Try again when there is twice as much.
  least_calls_ = past == calls_past_ ? std::max(least_calls_, settings_.least_calls) * 2 : 0;
  if (past == calls_past_) next_try_ns_ = now_ns() + SECOND / 2;
  calls_past_ = past;
  frames_past_ = answer.count("frames_past");
  base_calls_ = answer.count("kept");
  consumed_ = std::move(consumed);
  if (base_ >= 0) close(base_);
  if (frames_ >= 0) close(frames_);
  base_ = base.take();
  frames_ = frames.take();
  std::erase_if(held_, [&](const Held& held) {
    auto it = consumed_.find({held.meta.pid, held.meta.thread});
    // The tap's notes after the last call belong to the next one.
    if (it == consumed_.end() || held.meta.first_call + held.meta.calls >= it->second) return false;
    chunk_bytes_ -= held.memory();
    return true;
  });
  drop_contents();
  // Many small pieces: the C library would keep the memory for the next ones.
  if (before_bytes - (chunk_bytes_ + content_bytes_) > WORTH_A_TRIM) malloc_trim(0);
  cut_past_ns_ = cut_ns;
  totals_.compactions++;
  totals_.walked += answer.count("walked");
  totals_.kept = base_calls_;
  totals_.exact = answer.count("exact");
  totals_.assumed |= answer.json["assumed"].truth();
  totals_.assumed_because = std::string(answer.json["assumed_because"].raw());
  totals_.whole_because = answer.json["whole_because"].text();
  totals_.base_bytes = static_cast<uint64_t>(size.st_size);
  totals_.held_bytes = held_bytes();
  renew_journal();
  totals_.helper_ns += now_ns() - started;
  blobs_.next_epoch();
  owner_.let_go();
}

void Ring::write(const Pending& p) {
  const uint64_t started = now_ns();
  const uint64_t before = p.wish.before_ns      ? p.wish.before_ns
                          : settings_.before_ns ? settings_.before_ns
                                                : settings_.window_ns;
  const uint64_t after = p.wish.after_ns ? p.wish.after_ns : settings_.after_ns;
  Journal raw;
  JsonObject job;
  std::string error;
  uint64_t lost = 0, missing = 0;
  {
    std::lock_guard guard(lock_);
    error = raw.begin(process_.start_clock, process_.start_ns);
    if (error.empty()) error = build(raw, held_.size());
    uint64_t cut = before ? p.at_ns - std::min(p.at_ns, before) : 0;
    if (settings_.window_bytes && !before) cut = cut_by_size(p.at_ns);
    put_job(job.writer(), spare_last_frame(cut));
    lost = totals_.lost_calls;
    if (before && cut_past_ns_ > cut) missing = cut_past_ns_ - cut;
  }
  const std::string output = p.wish.output.empty() ? owner_.name(p.frame, p.wish.reason) : p.wish.output;
  auto& about = job.put("end_ns", p.at_ns + after).writer().object("about").put("reason", p.wish.reason);
  if (!p.wish.detail.empty()) about.put("detail", p.wish.detail);
  about.put("frame", p.frame).put("time_monotonic_ns", p.at_ns).put("before_ns", before).put("after_ns", after);
  about.put("calls_lost", lost);
  if (missing) about.put("missing_ns", missing);
  about.end().list("before");
  for (const std::string& json : owner_.annotations()) about.json(json);
  about.end().list("after").json(owner_.end_annotation(p.wish.reason)).end();
  auto at = [](int i) { return "/proc/self/fd/" + std::to_string(FIRST_FD + i); };
  if (base_ >= 0) job.put("base", at(1)).put("frames_in", at(2));
  job.put("raw", at(3)).put("out", output);
  HelperAnswer answer;
  if (error.empty()) error = helper("save", job.str(), {base_, frames_, raw.fd()}, &answer);
  std::lock_guard guard(lock_);
  if (!error.empty()) {
    totals_.failed++;
    results_[p.number] = JsonObject().put("done", true).put("error", error).str();
    status_.error("ring", output + " could not be written: " + error, process_.pid);
    return;
  }
  totals_.saves++;
  struct stat size{};
  stat(output.c_str(), &size);
  JsonObject line;
  line.put("event", "saved")
      .put("file", output)
      .put("reason", p.wish.reason)
      .put("detail", p.wish.detail)
      .put("frame", p.frame);
  line.put("calls", answer.count("calls"))
      .put("frames", answer.count("frames"))
      .put("first_frame", answer.count("first_frame"));
  line.put("kept", answer.count("kept"))
      .put("earlier", answer.count("calls_past"))
      .put("assumed", answer.json["assumed"].truth());
  line.json("assumed_because", std::string(answer.json["assumed_because"].raw()));
  line.put("whole_because", answer.json["whole_because"].text());
  line.put("bytes", static_cast<uint64_t>(size.st_size))
      .put("calls_lost", lost)
      .put("missing_ns", missing)
      .put("took_ns", now_ns() - started);
  status_.say(line);
  line.put("done", true);
  results_[p.number] = line.str();
}

}  // namespace dt
