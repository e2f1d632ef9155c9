// The ways in which programs are taken in: connections, hellos, pools that another drainer had.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../common/descriptor.h"
#include "../common/foreign.h"
#include "drainer.h"

namespace dt {
namespace {

constexpr size_t MOST_CONNECTIONS = 4096;
constexpr uint32_t LOOK_MS = 50;  // between looks at a program that another drainer may take

// Returns whether a trace has its footer: then its writer was done.
bool is_finished(const std::string& path) {
  char end[8] = {};
  const int fd = path.empty() || is_address(path) ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const off_t size = lseek(fd, 0, SEEK_END);
  const bool whole = size > 8 && pread(fd, end, 8, size - 8) == 8 && !memcmp(end, DT_END_MAGIC, 8);
  close(fd);
  return whole;
}

void send_welcome(int fd, dt_welcome welcome, int memfd) {
  welcome.magic = DT_HELLO_MAGIC;
  welcome.version = DT_RING_VERSION;
  // 1 KB into an empty socket: it fits, or the other side is gone and will be noticed as such.
  send_with_descriptor(fd, &welcome, sizeof welcome, memfd, 0);
}

}  // namespace

bool Drainer::accept_one() {
  int fd = accept4(listen_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    const bool out = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
    if (out && !out_of_descriptors_)
      say_refused(0, "", "descriptors", std::string("programs that come now are not recorded: ") + strerror(errno));
    out_of_descriptors_ |= out;
    return false;
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  if (!known) say_refused(0, "", "peer", std::string("a process came whose user is unknown: ") + strerror(errno));
  if (stopping_ || !known || peer.uid != geteuid()) {
    close(fd);
    return true;
  }
  if (waiting_.size() + recorded_.size() >= MOST_CONNECTIONS) {
    Connection c;
    c.fd = fd;
    c.pid = static_cast<uint32_t>(peer.pid);
    refuse(c, "connections", std::to_string(MOST_CONNECTIONS) + " processes are recorded already");
    close(fd);
    return true;
  }
  waiting_.emplace_back();
  waiting_.back().fd = fd;
  waiting_.back().pid = static_cast<uint32_t>(peer.pid);
  waiting_.back().since = last_activity_ = seconds_now();
  return true;
}

bool Drainer::read_hello(Connection& c) {
  while (c.got < sizeof c.hello) {
    iovec in = {reinterpret_cast<char*>(&c.hello) + c.got, sizeof c.hello - c.got};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int) * 4)];
    msghdr message{};
    message.msg_iov = &in;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    const ssize_t n = recvmsg(c.fd, &message, MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (n < 0 && errno != ECONNRESET) refuse(c, "hello", std::string("it cannot be heard: ") + strerror(errno));
    if (n <= 0) return false;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
      if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
      for (size_t i = 0; i < (part->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
        if (c.memfd >= 0) close(c.memfd);
        c.memfd = fd;
      }
    }
    c.got += static_cast<size_t>(n);
  }
  greet(c);
  return false;
}

void Drainer::say_refused(uint32_t pid, const std::string& program, const std::string& code, const std::string& why) {
  JsonObject line;
  line.put("event", "error")
      .put("code", code)
      .put("text", why)
      .put("refused", true)
      .put("pid", pid)
      .put("program", program);
  status_.say(line);
}

void Drainer::refuse(const Connection& c, const std::string& code, const std::string& why) {
  say_refused(c.pid, c.hello.program, code, why);
  send_welcome(c.fd, {}, -1);
}

void Drainer::greet(Connection& c) {
  dt_hello& hello = c.hello;
  hello.signatures[sizeof hello.signatures - 1] = hello.program[sizeof hello.program - 1] =
      hello.trace[sizeof hello.trace - 1] = 0;
  if (hello.magic != DT_HELLO_MAGIC || hello.version != DT_RING_VERSION)
    return refuse(c, "version", "the tap speaks another version of the protocol than this drainer");
  if (hello.flags & DT_HELLO_FOREIGN)
    return status_.say(JsonObject().put("event", "foreign").put("pid", c.pid).put("program", hello.program));
  if (!is_wanted(hello, c.pid)) {
    dt_welcome welcome{};
    welcome.quietly = 1;
    send_welcome(c.fd, welcome, -1);
    return status_.say(JsonObject().put("event", "left out").put("pid", c.pid).put("program", hello.program));
  }
  const bool adopt = hello.flags & DT_HELLO_ADOPT;
  std::string error;
  if (!signatures(hello.signatures, &error)) return refuse(c, "signatures", error);
  std::unique_ptr<Pool> pool;
  if (adopt) {
    if (c.memfd < 0) return refuse(c, "adopt", "the pool is missing from the hello");
    pool = std::make_unique<Pool>();
    const int fd = c.memfd;
    c.memfd = -1;
    error = pool->adopt(fd);
    if (error.empty()) error = pool->claim();
    // A program that closes all its descriptors also loses the socket to a drainer that is well: two would be one too
    // many.
    if (!error.empty()) return refuse(c, "adopt", error);
  } else {
    // One address space per process: who says hello again has called exec.
    for (Recorded& r : recorded_)
      if (c.pid && r.process->pid() == c.pid && !r.session->ending()) r.session->end("exec");
    // One is made ahead, and several processes can come at once.
    if (error = prepare_pool(); !error.empty()) return refuse(c, "pool", "no pool could be made: " + error);
    pool = std::move(next_pool_);
  }
  const int memfd = dup(pool->fd());
  dt_welcome welcome{};
  welcome.accepted = 1;
  if (o_.session.ring.on()) welcome.only = 1;
  welcome.pool_bytes = pool->bytes();
  std::string file;
  if (adopt) file.assign(pool->origin()->trace, strnlen(pool->origin()->trace, sizeof pool->origin()->trace));
  snprintf(welcome.trace, sizeof welcome.trace, "%s", file.empty() ? o_.output.c_str() : file.c_str());
  const int socket = c.fd;
  begin(hello, c.pid, std::move(pool), socket, adopt ? &file : nullptr);
  if (recorded_.empty() || recorded_.back().socket != socket) {
    close(memfd);
    return refuse(c, "adopt", "the trace cannot be continued");
  }
  c.fd = -1;
  send_welcome(socket, welcome, memfd);  // the program waits for it, and for nothing that the threads do
  close(memfd);
  recorded_.back().session->start();
}

void Drainer::begin(const dt_hello& hello, uint32_t pid, std::unique_ptr<Pool> pool, int socket,
                    const std::string* trace) {
  std::string error;
  auto loaded = signatures(hello.signatures, &error);
  if (!loaded) return status_.error("signatures", error, pid);
  Recorded r;
  r.process = std::make_unique<Watched>(pid);
  r.socket = socket;
  struct stat memory;
  if (fstat(pool->fd(), &memory) == 0) r.pool_inode = memory.st_ino;
  ProcessInfo info;
  info.pool = r.pool_inode;
  info.pid = pid ? pid : hello.pid;
  info.pid_start = r.process->start();
  info.clock = hello.clock == DT_CLOCK_TSC ? DT_CLOCK_TSC : DT_CLOCK_MONOTONIC_NS;
  info.start_clock = hello.start_clock;
  info.start_ns = hello.start_ns;
  info.program = hello.program;
  info.command_line = command_line_json(pid);
  info.signatures_path = hello.signatures;
  dt_pool_origin* origin = pool->origin();
  if (!trace) {
    pool->header()->clock = info.clock;
    *origin = {};
    origin->pid = pid;
    origin->pid_start = info.pid_start;
    memcpy(origin->signatures, hello.signatures, sizeof origin->signatures);
    memcpy(origin->program, hello.program, sizeof origin->program);
    *pool->run() = {info.start_clock, info.start_ns};
    origin->magic = DT_POOL_ORIGIN_MAGIC;
  }
  info.start_clock = pool->run()->start_clock;
  info.start_ns = pool->run()->start_ns;
  SessionSettings settings = o_.session;
  if (trace) {
    settings.timing = std::min<uint32_t>(pool->header()->timing, DT_TIMING_NONE);
    const uint32_t hold = pool->header()->hold_ms;
    settings.drop_frames |= hold && hold <= DROP_HOLD_MS;
  }
  const int pool_fd = pool->fd();
  r.session = std::make_unique<Session>(settings, info, std::move(pool), loaded, names_, remarks_, status_, done_);
  if (trace) {
    error = r.session->adopt_file(*trace);
    if (!error.empty()) return status_.error("adopt", error, pid);
  }
  for (const Recorded& other : recorded_)
    if (pid && other.process->pid() == pid) r.session->name_after(other.session->named());
  processes_++;
  JsonObject line;
  line.put("event", "process").put("pid", pid).put("program", info.program).put("adopted", trace != nullptr);
  line.put("pool", info.pool);
  status_.say(line, pool_fd);  // whoever started this drainer can have the rest taken out of it, should it be killed
  recorded_.push_back(std::move(r));
}

// The most that a drainer which does not answer leaves in memory: it may have written some of it.
void Drainer::say_standing(Pool& pool) {
  std::vector<TakenChunk> chunks;
  pool.survey(std::vector<bool>(pool.chunk_max()), &chunks, &chunks);
  uint64_t calls = 0;
  for (TakenChunk& chunk : chunks) {
    chunk.begin = std::max(chunk.begin, pool.noted(chunk));
    if (chunk.end > chunk.begin) calls += count_calls(chunk);
  }
  const dt_pool_origin* at = pool.origin();
  JsonObject line;
  line.put("event", "unfinished").put("pid", at->pid).put("calls", calls);
  line.put("program", std::string(at->program, strnlen(at->program, sizeof at->program)));
  line.put("file", std::string(at->trace, strnlen(at->trace, sizeof at->trace)));
  status_.say(line);
}

// False: SIGTERM came.
bool Drainer::wait_while(const std::function<bool()>& condition) {
  while (condition()) {
    pollfd p = {signals_, POLLIN, 0};
    if (poll(&p, 1, static_cast<int>(LOOK_MS)) > 0) return false;
  }
  return true;
}

void Drainer::adopt_own_fd() {
  auto pool = std::make_unique<Pool>();
  const int fd = o_.adopt_fd;
  std::string error = pool->adopt(fd);
  if (error.empty() && o_.count) return say_standing(*pool);
  if (error.empty() && !o_.end_it) {
    // The program may have started a drainer of its own, or do so while it lives: that one takes what is in the pool.
    const dt_pool_origin* at = pool->origin();
    Watched program(at->pid);
    const auto lives = [&] { return program.pid() && program.start() == at->pid_start && !program.gone(); };
    // One that is stopped may not go on for years.
    uint32_t beat = 0, looks = 0;
    const auto still = [&] {
      looks = pool->header()->beat.load() == std::exchange(beat, pool->header()->beat.load()) ? looks + 1 : 0;
      return looks * LOOK_MS > o_.pool.stopped_ms;
    };
    wait_while([&] { return lives() || (pool->other_drainer_lives() && !still()); });
    const std::string trace(at->trace, strnlen(at->trace, sizeof at->trace));
    if (is_finished(trace)) {
      JsonObject line;
      line.put("event", "file")
          .put("pid", at->pid)
          .put("program", std::string(at->program, strnlen(at->program, sizeof at->program)));
      struct stat memory;
      line.put("pool", fstat(fd, &memory) == 0 ? memory.st_ino : 0)
          .put("file", trace)
          .put("reason", "another drainer went on");
      return status_.say(line);
    }
    error = pool->claim();
  }
  if (error.empty() && pool->origin()->magic != DT_POOL_ORIGIN_MAGIC) error = "no process has used this pool";
  if (!error.empty()) {
    failed_ = true;
    return status_.error("adopt", error);
  }
  dt_pool_origin origin;
  memcpy(&origin, pool->origin(), sizeof origin);
  dt_hello hello{};
  hello.clock = pool->header()->clock;
  snprintf(hello.signatures, sizeof hello.signatures, "%.*s", 1023, origin.signatures);
  snprintf(hello.program, sizeof hello.program, "%.*s", 1023, origin.program);
  std::string trace(origin.trace, strnlen(origin.trace, sizeof origin.trace));
  if (o_.window_fd >= 0) trace = "/proc/self/fd/" + std::to_string(o_.window_fd);
  const size_t before = recorded_.size();
  begin(hello, origin.pid, std::move(pool), -1, &trace);
  if (recorded_.size() == before) {
    failed_ = true;
    return;
  }
  // The pid may belong to somebody else by now.
  Recorded& r = recorded_.back();
  r.session->start();
  if (o_.end_it) r.session->pool().stop();
  if (o_.end_it || r.process->start() != origin.pid_start) r.session->end(o_.end_it ? "stopped" : "process gone");
}

}  // namespace dt
