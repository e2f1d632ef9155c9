// drawtap-drain: takes records out of the shared-memory pools of tapped applications and writes their traces.
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <sstream>

#include "../common/descriptor.h"
#include "../common/foreign.h"
#include "../common/unreached.h"
#include "drainer.h"

namespace dt {
namespace {

constexpr int MOST_ACCEPTED_AT_ONCE = 64;  // then others get their turn
constexpr double HELLO_SECONDS = 10;       // to say hello after connecting
// For a program to come after the one who started this drainer is gone: the first, and another (a fork of the first).
constexpr double ORPHAN_SECONDS = 5, LEFT_SECONDS = 1;

std::string beside_this_program(const char* leaf) {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  const std::string self(path, n > 0 ? static_cast<size_t>(n) : 0);
  const size_t slash = self.rfind('/');
  return slash == std::string::npos ? leaf : self.substr(0, slash + 1) + leaf;
}

}  // namespace

double seconds_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

bool Drainer::set_up() {
  std::string error;
  if (!status_.open(o_.status, &error)) usage("--status " + error);
  // The terminal sends these to everybody in the foreground: it is the program's business what they mean.
  for (int number : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGXFSZ, SIGTSTP}) signal(number, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  done_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  for (std::string& json : o_.annotations) remarks_.annotate(std::move(json));
  if (o_.keep_existing) names_.adopted("");
  struct stat input;
  has_parent_ = fstat(0, &input) == 0 && (S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode));
  if (o_.watch_pid) {
    watched_ = std::make_unique<Watched>(o_.watch_pid);
    remarks_.watch(o_.watch_pid);
  }
  // Five descriptors for each process that is recorded: the usual limit of 1024 is for those who call select().
  struct rlimit most;
  if (getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur < most.rlim_max) {
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_NOFILE, &most);
  }
  if (error = prepare_pool(); !error.empty()) {
    status_.error("pool", error);
    return false;
  }
  if (o_.control != "none") {
    // Recording works without: then nobody can ask for anything.
    const std::string path = o_.control == "auto" ? Control::default_path() : o_.control;
    error = path.empty() ? "there is no folder for the control socket" : control_.listen_at(path);
    if (!error.empty()) status_.error("control", error);
  }
  if (!o_.stream.to.empty() && !start_stream()) return false;
  error = o_.socket.empty() ? "" : listen_on_path(o_.socket, SOCK_STREAM, 64, &listen_);
  if (!error.empty()) {
    status_.error("socket", error);
    return false;
  }
  JsonObject line;
  line.put("event", "start").put("version", DRAWTAP_VERSION).put("pid", static_cast<uint64_t>(getpid()));
  line.put("socket", o_.socket).put("output", o_.output).put("control", control_.path());
  status_.say(line);
  if (o_.ready_fd >= 0) {
    [[maybe_unused]] ssize_t ignored = write(o_.ready_fd, "ready\n", 6);
    if (o_.ready_fd > 2) close(o_.ready_fd);
  }
  // Read now what the first program will most likely name: it then need not wait for it.
  const std::string expected = o_.signatures.empty() ? beside_this_program("tap.sig") : o_.signatures;
  if (access(expected.c_str(), R_OK) == 0 && !signatures(expected, &error)) status_.error("signatures", error);
  last_activity_ = seconds_now();
  return true;
}

std::string Drainer::prepare_pool() {
  if (next_pool_) return {};
  auto pool = std::make_unique<Pool>();
  std::string error = pool->create(o_.pool, processes_ ? 1 : o_.session.free_ahead);  // another may never come
  if (!error.empty()) return error;
  if (o_.paused) pool->header()->control.fetch_and(~uint32_t{DT_CONTROL_RECORD});
  if (waiting_for_receiver_.load()) pool->header()->control.fetch_or(DT_CONTROL_WAIT);
  next_pool_ = std::move(pool);
  return {};
}

bool Drainer::start_stream() {
  o_.stream.options = JsonObject().put("drawtap", DRAWTAP_VERSION).str();
  receivers_ = std::make_unique<Receivers>(o_.stream);
  if (o_.stream.wait >= 0) {
    waiting_for_receiver_.store(true);
    next_pool_->header()->control.fetch_or(DT_CONTROL_WAIT);
  }
  Refusal refusal;
  const auto on_receiver = [this](const std::string& why) {
    // From a thread of its own.
    if (!why.empty())
      status_.error("receiver", why + ", and the program goes on", 0);
    else
      status_.say(JsonObject().put("event", "receiver").put("at", o_.stream.to));
    waiting_for_receiver_.store(false);
    const uint64_t one = 1;
    [[maybe_unused]] ssize_t ignored = write(done_, &one, sizeof one);
  };
  const std::string error = receivers_->start(on_receiver, &refusal);
  if (refusal.about) {
    status_.say(JsonObject()
                    .put("event", "error")
                    .put("code", "refused")
                    .put("text", error)
                    .put("at", o_.stream.to)
                    .put("about", refusal.about)
                    .put("why", refusal.text));
    return false;
  }
  if (!error.empty()) {
    status_.error("receiver", error);
    return false;
  }
  o_.session.receivers = receivers_.get();
  return true;
}

void Drainer::no_longer_wait() {
  if (waiting_for_receiver_.load()) return;
  auto go = [](Pool& pool) {
    if (!(pool.header()->control.load() & DT_CONTROL_WAIT)) return;
    pool.header()->control.fetch_and(~uint32_t{DT_CONTROL_WAIT});
    pool.wake_waiting();
  };
  if (next_pool_) go(*next_pool_);
  for (Recorded& r : recorded_) go(r.session->pool());
}

// By the name of the executable, the name in the command line, or the name of the script that it runs. For ./game.py
// the kernel names the process, in at most 15 letters, after the script.
bool Drainer::is_wanted(const dt_hello& hello, uint32_t pid) const {
  if (o_.process.empty()) return true;
  const std::string folder = "/proc/" + std::to_string(pid), words = slurp(folder + "/cmdline");
  std::string known = slurp(folder + "/comm");
  known = known.substr(0, known.find('\n'));
  auto matches = [this](const std::string& name) { return fnmatch(o_.process.c_str(), name.c_str(), 0) == 0; };
  auto leaf = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  if (matches(leaf(hello.program)) || matches(known)) return true;
  for (size_t at = 0, end; at < words.size(); at = end + 1) {
    end = std::min(words.find('\0', at), words.size());
    const std::string name = leaf(words.substr(at, end - at));
    const bool is_script = !known.empty() && name.compare(0, 15, known) == 0;
    if ((!at || is_script) && matches(name)) return true;
  }
  return false;
}

// Gets all pages of memory that will be written anyway at once. A program waits for its recorder, and a fault for each
// page costs more than the work in the page. Kernels before 5.14 refuse, which does no harm.
static void populate(char* at, size_t bytes) {
  constexpr uintptr_t PAGE = 4096;
  constexpr int POPULATE_WRITE = 23;  // MADV_POPULATE_WRITE, which older headers lack
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(at) + PAGE - 1) & ~(PAGE - 1);
  const uintptr_t end = (reinterpret_cast<uintptr_t>(at) + bytes) & ~(PAGE - 1);
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, POPULATE_WRITE);
}

std::shared_ptr<const LoadedSignatures> Drainer::signatures(const std::string& path, std::string* error) {
  struct stat now;
  if (stat(path.c_str(), &now) != 0 || !S_ISREG(now.st_mode)) {
    *error = "signature file " + path + ": " + (errno ? strerror(errno) : "not a file");
    return nullptr;
  }
  CachedSignatures& cached = signatures_[{now.st_dev, now.st_ino}];
  if (cached.loaded && cached.size == now.st_size && cached.changed.tv_sec == now.st_mtim.tv_sec &&
      cached.changed.tv_nsec == now.st_mtim.tv_nsec)
    return cached.loaded;
  if (now.st_size > (256 << 20)) {
    *error = "signature file " + path + ": larger than 256 MB";
    return nullptr;
  }
  const size_t size = static_cast<size_t>(now.st_size);
  const auto text = std::make_shared_for_overwrite<char[]>(size);
  populate(text.get(), size);
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  size_t got = 0;
  for (ssize_t n; fd >= 0 && got < size && (n = read(fd, text.get() + got, size - got)) > 0;)
    got += static_cast<size_t>(n);
  if (fd >= 0) close(fd);
  if (got < size) {
    *error = "signature file " + path + " cannot be read";
    return nullptr;
  }
  auto loaded = std::make_shared<LoadedSignatures>();
  std::string wrong = loaded->set.add({text.get(), size}, text);
  if (wrong.empty() && loaded->set.functions().empty()) wrong = "no function is described";
  if (!wrong.empty()) {
    *error = path + ": " + wrong;
    return nullptr;
  }
  loaded->layouts = std::make_unique<Layouts>(loaded->set);
  cached = {now.st_mtim, now.st_size, loaded};
  return loaded;
}

// ---- the life of processes ----------------------------------------------------------------------

bool Drainer::has_pool(const Recorded& r) const {
  std::ifstream maps("/proc/" + std::to_string(r.process->pid()) + "/maps");
  const std::string inode = " " + std::to_string(r.pool_inode) + " ";
  bool any = false;
  for (std::string line; std::getline(maps, line); any = true)
    if (line.find("memfd:drawtap-pool") != std::string::npos && line.find(inode) != std::string::npos) return true;
  return !any || !maps.eof();  // unreadable, or empty as in a process that is about to end: cannot tell, so believe it
}

void Drainer::check_processes() {
  const bool look_at_maps = seconds_now() - last_mapping_check_ > 0.5;
  if (look_at_maps) last_mapping_check_ = seconds_now();
  for (Recorded& r : recorded_) {
    if (r.session->ending()) continue;
    if (r.process->gone()) {
      ProcessInfo& info = r.session->process();
      info.exit_known = r.process->exit_status(&info.signalled, &info.exit_value);
      r.session->end("process gone");
    } else if (r.watch_mapping && r.session->pool().header()->finished.load() == 2) {
      r.session->end("detached");
    } else if (r.watch_mapping && look_at_maps && !has_pool(r)) {
      // Between closing its files and mapping its program a process in exec has neither; it has no records either.
      r.session->end("exec");
    }
  }
  for (auto r = recorded_.begin(); r != recorded_.end();) {
    if (!r->session->finished()) {
      ++r;
      continue;
    }
    const Totals& t = r->session->totals();
    done_totals_.calls += t.calls;
    done_totals_.bytes_raw += t.bytes_raw;
    done_totals_.bytes_file += t.bytes_file;
    done_totals_.chunks += t.chunks;
    if (r->socket >= 0) close(r->socket);
    r = recorded_.erase(r);
    out_of_descriptors_ = false;
    last_activity_ = seconds_now();
  }
}

// The facts about one recorded process, as JSON.
void Drainer::report(bool always) {
  const double now = seconds_now();
  if (!always && now - last_report_ < 0.5) return;
  uint64_t calls = done_totals_.calls, raw = done_totals_.bytes_raw, file = done_totals_.bytes_file;
  uint64_t chunks = done_totals_.chunks, pool = 0;
  for (const Recorded& r : recorded_) {
    const Totals& t = r.session->totals();
    calls += t.calls;
    raw += t.bytes_raw;
    file += t.bytes_file;
    chunks += t.chunks;
    pool += t.pool_now * r.session->pool().chunk_bytes();
  }
  JsonObject line;
  line.put("event", always ? "done" : "progress").put("calls", calls).put("bytes_raw", raw);
  line.put("bytes_file", file).put("chunks", chunks).put("pool_bytes", pool);
  line.put("processes", always ? processes_ : recorded_.size());
  if (always) line.put("cpu_ns", process_cpu_ns());
  if (line.str() == last_reported_) return;
  last_report_ = now;
  last_reported_ = line.str();
  status_.say(line);
}

bool Drainer::time_to_leave() {
  if (!recorded_.empty()) return false;
  if (stopping_) return true;
  if (!waiting_.empty()) return false;
  // The other end of standard input may know of children that have called nothing yet.
  if (watched_ && watched_->gone()) return !until_input_ends_ || !stdin_open_;
  if (o_.adopt_fd >= 0 && o_.socket.empty()) return true;
  // Nobody is left who could name a program, and one that was just started had time to come.
  if (is_orphan()) return seconds_now() - last_activity_ >= (processes_ ? LEFT_SECONDS : ORPHAN_SECONDS);
  return o_.exit_when_idle >= 0 && seconds_now() - last_activity_ >= o_.exit_when_idle;
}

void Drainer::take_signals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGTERM) {
      save({"signal", info.ssi_signo == SIGUSR1 ? "SIGUSR1" : "SIGUSR2", {}, 0, 0, true});
      continue;
    }
    stopping_ = true;
    for (Recorded& r : recorded_) {
      r.session->pool().stop();
      r.session->end("stopped");
    }
  }
}

namespace {
std::string why_given_up(const char* said, size_t bytes) {
  dt_given_up word{};
  if (bytes >= sizeof word) memcpy(&word, said, sizeof word);
  const std::string text = "it could not take the memory that its calls were to go to";
  return word.error ? text + ": " + strerror(word.error) : text;
}
}  // namespace

void Drainer::loop() {
  std::vector<pollfd> fds;
  for (;;) {
    // Ahead of the next program, which then need not wait for it. Should it fail, that program gets the error.
    if (!stopping_ && !failed_) prepare_pool();
    fds.clear();
    auto add = [&](int fd, bool when = true) { fds.push_back({when ? fd : -1, POLLIN, 0}); };
    add(signals_);
    add(done_);
    add(listen_, !stopping_ && !out_of_descriptors_);
    add(0, stdin_open_);
    if (watched_) add(watched_->fd(), !watched_->gone());
    const size_t first_control = fds.size();
    control_.add_to(&fds);
    const size_t first_waiting = fds.size();
    for (Connection& c : waiting_) add(c.fd);
    const size_t first_recorded = fds.size();
    bool poll_by_hand = watched_ && watched_->fd() < 0 && !watched_->gone();
    bool active = false;
    for (Recorded& r : recorded_) {
      fds.push_back({r.watch_mapping ? -1 : r.socket, POLLIN | POLLRDHUP, 0});
      add(r.process->fd(), !r.session->ending());
      poll_by_hand |= r.process->fd() < 0 || r.watch_mapping;
      active |= !r.session->ending();
    }
    const int timeout = poll_by_hand                            ? 200
                        : active || !waiting_.empty()           ? 500
                        : o_.exit_when_idle >= 0 || is_orphan() ? 250
                                                                : -1;
    if (time_to_leave()) {
      // One that came since the last look may be gone already and have had something to say.
      if (stopping_ || !accept_one()) return;
      continue;
    }
    if (poll(fds.data(), fds.size(), timeout) < 0 && errno != EINTR) {
      // Memory is short, which passes: programs must not be left alone for that.
      const timespec nap = {0, 10000000};
      nanosleep(&nap, nullptr);
    }
    uint64_t count;
    if (fds[1].revents) [[maybe_unused]]
      ssize_t n = read(done_, &count, sizeof count);
    no_longer_wait();
    if (fds[3].revents) read_lines();
    control_.serve(fds, first_control, [this](uint64_t client, const auto& words) { request(client, words); });
    size_t at = first_waiting;
    for (auto c = waiting_.begin(); c != waiting_.end(); at++) {
      const bool patient = seconds_now() - c->since < HELLO_SECONDS;
      if (fds[at].revents ? read_hello(*c) : patient) {
        ++c;
        continue;
      }
      if (c->fd >= 0) close(c->fd);
      if (c->memfd >= 0) close(c->memfd);
      c = waiting_.erase(c);
    }
    // Sessions that began just now stand at the end and were not polled.
    at = first_recorded;
    for (auto r = recorded_.begin(); r != recorded_.end() && at + 1 < fds.size(); ++r, at += 2) {
      if (!fds[at].revents) continue;
      char bytes[256];
      const ssize_t n = recv(r->socket, bytes, sizeof bytes, MSG_DONTWAIT);
      if (n > 0 && bytes[0] == DT_GIVEN_UP) {
        const ProcessInfo& info = r->session->process();
        say_refused(info.pid, info.program, "given up", why_given_up(bytes, static_cast<size_t>(n)));
      }
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        r->watch_mapping = true;
        if (!r->process->pid()) r->process->say_gone();
      }
    }
    for (int i = 0; fds[2].revents && i < MOST_ACCEPTED_AT_ONCE && accept_one(); i++) {}
    take_signals();
    check_processes();
    report(false);
  }
}

int Drainer::run() {
  if (!set_up()) return 1;
  if (o_.adopt_fd >= 0) adopt_own_fd();
  loop();
  if (!o_.socket.empty()) unlink(o_.socket.c_str());
  report(true);
  return failed_ ? 1 : 0;
}

}  // namespace dt

int main(int argc, char** argv) { return dt::Drainer(dt::parse_options(argc, argv)).run(); }
