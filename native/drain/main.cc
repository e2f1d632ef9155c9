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
#include "control.h"
#include "options.h"
#include "session.h"

namespace dt {
namespace {

constexpr size_t MOST_CONNECTIONS = 4096;
constexpr int MOST_ACCEPTED_AT_ONCE = 64;  // then others get their turn
constexpr double HELLO_SECONDS = 10;       // to say hello after connecting
constexpr size_t LONGEST_LINE = 1 << 20;
constexpr uint32_t LOOK_MS = 50;  // between looks at a program that another drainer may take
// For a program to come after the one who started this drainer is gone: the first, and another (a fork of the first).
constexpr double ORPHAN_SECONDS = 5, LEFT_SECONDS = 1;

double seconds_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Fields of /proc/PID/stat from the third on (the state); empty: no such process.
std::vector<std::string> stat_fields(uint32_t pid) {
  const std::string line = slurp("/proc/" + std::to_string(pid) + "/stat");
  const size_t paren = line.rfind(')');
  if (paren == std::string::npos) return {};
  std::istringstream rest(line.substr(paren + 1));
  return {std::istream_iterator<std::string>(rest), {}};
}
uint64_t start_time(uint32_t pid) {
  auto fields = stat_fields(pid);
  return fields.size() > 19 ? strtoull(fields[19].c_str(), nullptr, 10) : 0;
}

std::string beside_this_program(const char* leaf) {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  const std::string self(path, n > 0 ? static_cast<size_t>(n) : 0);
  const size_t slash = self.rfind('/');
  return slash == std::string::npos ? leaf : self.substr(0, slash + 1) + leaf;
}

std::string command_line_json(uint32_t pid) {
  std::string json = "[", text = slurp("/proc/" + std::to_string(pid) + "/cmdline");
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\0', at), text.size());
    json += (at ? ", " : "") + json_text(std::string_view(text).substr(at, end - at));
    at = end + 1;
  }
  return json + "]";
}

// Whether a trace has its footer: then whoever wrote it was done.
bool is_finished(const std::string& path) {
  char end[8] = {};
  const int fd = path.empty() || is_address(path) ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const off_t size = lseek(fd, 0, SEEK_END);
  const bool whole = size > 8 && pread(fd, end, 8, size - 8) == 8 && !memcmp(end, DT_END_MAGIC, 8);
  close(fd);
  return whole;
}

// A process that may end at any moment. Where the kernel has no pidfd, it is looked for by pid and start time.
class Watched {
 public:
  // Pid 0: a process of another pid namespace. Only the end of its socket tells.
  explicit Watched(uint32_t pid) : pid_(pid), start_(pid ? start_time(pid) : 0) {
    if (!pid) return;
    fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (fd_ < 0) gone_ = errno == ESRCH;
  }
  ~Watched() {
    if (fd_ >= 0) close(fd_);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  int fd() const { return fd_; }
  uint32_t pid() const { return pid_; }
  uint64_t start() const { return start_; }
  bool gone() {
    if (gone_ || !pid_) return gone_;
    if (fd_ >= 0) {
      pollfd p = {fd_, POLLIN, 0};
      return gone_ = poll(&p, 1, 0) > 0;
    }
    auto fields = stat_fields(pid_);
    return gone_ = fields.empty() || fields[0] == "Z" || fields[0] == "X" || start_time(pid_) != start_;
  }
  void say_gone() { gone_ = true; }
  // How it ended, as far as the kernel still tells: only until its parent has asked.
  bool exit_status(bool* signalled, int* value) const {
    auto fields = stat_fields(pid_);
    if (fields.size() < 50 || fields[0] != "Z" || start_time(pid_) != start_) return false;
    const int status = atoi(fields[49].c_str());
    *signalled = status & 0x7f;
    *value = *signalled ? status & 0x7f : status >> 8 & 0xff;
    return true;
  }

 private:
  uint32_t pid_;
  uint64_t start_;
  int fd_ = -1;
  bool gone_ = false;
};

// A connection: at first it owes us a hello, then its end says that the process is gone, or runs something else.
struct Connection {
  int fd = -1;
  uint32_t pid = 0;
  size_t got = 0;
  dt_hello hello{};
  int memfd = -1;
  double since = 0;
};

struct Recorded {
  std::unique_ptr<Session> session;
  std::unique_ptr<Watched> process;
  int socket = -1;
  ino_t pool_inode = 0;
  bool watch_mapping = false;  // the socket ended but the process lives: does it still have the pool?
};

class Drainer {
 public:
  explicit Drainer(Options options) : o_(std::move(options)), names_(o_.output) {}
  int run();

 private:
  bool set_up();
  bool listen_on(const std::string& path);
  void loop();
  void take_signals();
  bool accept_one();               // false: nobody is there, or nobody more can be taken
  bool read_hello(Connection& c);  // false: drop the connection
  void greet(Connection& c);
  // The process runs on and is not recorded; whoever started this drainer is told.
  void refuse(const Connection& c, const std::string& code, const std::string& why);
  void say_refused(uint32_t pid, const std::string& program, const std::string& code, const std::string& why);
  void begin(const dt_hello& hello, uint32_t pid, std::unique_ptr<Pool> pool, int socket, const std::string* trace);
  void adopt_own_fd();
  void say_standing(Pool& pool);
  bool wait_while(const std::function<bool()>& condition);
  std::shared_ptr<const LoadedSignatures> signatures(const std::string& path, std::string* error);
  void check_processes();
  bool has_pool(const Recorded& r) const;
  void read_lines();
  void save(const SaveWish& wish);
  void peek();
  void request_save(uint64_t client, const std::vector<std::string>& words);
  void obey(const std::string& line);
  void request(uint64_t client, const std::vector<std::string>& words);
  std::string about(const Recorded& r) const;
  bool start_stream();
  void no_longer_wait();
  bool is_wanted(const dt_hello& hello, uint32_t pid) const;
  std::string prepare_pool();
  void report(bool always);
  bool time_to_leave();
  bool is_orphan() const { return has_parent_ && !stdin_open_ && !watched_ && o_.exit_when_idle < 0; }

  Options o_;
  FileNames names_;
  Remarks remarks_;
  Status status_;
  int listen_ = -1, signals_ = -1, done_ = -1;
  bool stdin_open_ = true, stopping_ = false;
  bool has_parent_ = false;  // somebody holds the other end of standard input, and its end means that they are gone
  std::string line_;
  std::list<Connection> waiting_;
  std::list<Recorded> recorded_;
  std::unique_ptr<Pool> next_pool_;
  std::unique_ptr<Watched> watched_;
  struct CachedSignatures {
    timespec changed{};
    off_t size = 0;
    std::shared_ptr<const LoadedSignatures> loaded;
  };
  std::map<std::pair<dev_t, ino_t>, CachedSignatures> signatures_;  // by file
  double last_activity_ = 0, last_report_ = 0, last_mapping_check_ = 0;
  std::string last_reported_;
  unsigned processes_ = 0;
  bool failed_ = false, out_of_descriptors_ = false;
  int peek_ = -1;  // the memory file that was shown last
  Totals done_totals_;
  Control control_;
  std::unique_ptr<Receivers> receivers_;
  std::atomic<bool> waiting_for_receiver_{false};
};

bool Drainer::listen_on(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    status_.error("socket", path + ": longer than a socket's name may be");
    return false;
  }
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  struct stat old;
  if (lstat(path.c_str(), &old) == 0 && S_ISSOCK(old.st_mode)) unlink(path.c_str());
  listen_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const mode_t before = umask(0177);
  const bool bound = listen_ >= 0 && bind(listen_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  umask(before);
  if (!bound || listen(listen_, 64) != 0) {
    status_.error("socket", path + ": " + strerror(errno));
    return false;
  }
  return true;
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
  if (!o_.socket.empty() && !listen_on(o_.socket)) return false;
  JsonObject line;
  line.text("event", "start").text("version", DRAWTAP_VERSION).number("pid", static_cast<uint64_t>(getpid()));
  line.text("socket", o_.socket).text("output", o_.output).text("control", control_.path());
  status_.say(line);
  if (o_.ready_fd >= 0) {
    [[maybe_unused]] ssize_t told = write(o_.ready_fd, "ready\n", 6);
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
  o_.stream.options = JsonObject().text("drawtap", DRAWTAP_VERSION).str();
  receivers_ = std::make_unique<Receivers>(o_.stream);
  if (o_.stream.wait >= 0) {
    waiting_for_receiver_.store(true);
    next_pool_->header()->control.fetch_or(DT_CONTROL_WAIT);
  }
  Refusal refusal;
  const auto found = [this](const std::string& why) {
    // From a thread of its own.
    if (!why.empty())
      status_.error("receiver", why + ", and the program goes on", 0);
    else
      status_.say(JsonObject().text("event", "receiver").text("at", o_.stream.to));
    waiting_for_receiver_.store(false);
    const uint64_t one = 1;
    [[maybe_unused]] ssize_t told = write(done_, &one, sizeof one);
  };
  const std::string error = receivers_->start(found, &refusal);
  if (refusal.about) {
    status_.say(JsonObject()
                    .text("event", "error")
                    .text("code", "refused")
                    .text("text", error)
                    .text("at", o_.stream.to)
                    .text("about", refusal.about)
                    .text("why", refusal.text));
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

// By the name of the executable, the one it was called by, or that of the script that it runs: for ./game.py the kernel
// names the process, in at most 15 letters, after the script.
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
  std::string text(static_cast<size_t>(now.st_size), '\0');
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  size_t got = 0;
  for (ssize_t n; fd >= 0 && got < text.size() && (n = read(fd, text.data() + got, text.size() - got)) > 0;)
    got += static_cast<size_t>(n);
  if (fd >= 0) close(fd);
  if (got < text.size()) {
    *error = "signature file " + path + " cannot be read";
    return nullptr;
  }
  auto loaded = std::make_shared<LoadedSignatures>();
  std::string wrong = loaded->set.add(std::move(text));
  if (wrong.empty() && loaded->set.functions().empty()) wrong = "no function is described";
  if (!wrong.empty()) {
    *error = path + ": " + wrong;
    return nullptr;
  }
  loaded->layouts = std::make_unique<Layouts>(loaded->set);
  cached = {now.st_mtim, now.st_size, loaded};
  return loaded;
}

// ---- hello --------------------------------------------------------------------------------------

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
  if (!known)
    say_refused(0, "", "peer", std::string("a process came, and who it is cannot be asked: ") + strerror(errno));
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

void send_welcome(int fd, const dt_welcome& welcome, int memfd) {
  // 1 KB into an empty socket: it fits, or the other side is gone and will be noticed as such.
  send_with_descriptor(fd, &welcome, sizeof welcome, memfd, 0);
}

void Drainer::say_refused(uint32_t pid, const std::string& program, const std::string& code, const std::string& why) {
  JsonObject line;
  line.text("event", "error")
      .text("code", code)
      .text("text", why)
      .flag("refused", true)
      .number("pid", pid)
      .text("program", program);
  status_.say(line);
}

void Drainer::refuse(const Connection& c, const std::string& code, const std::string& why) {
  say_refused(c.pid, c.hello.program, code, why);
  dt_welcome welcome{};
  welcome.magic = DT_HELLO_MAGIC;
  welcome.version = DT_RING_VERSION;
  send_welcome(c.fd, welcome, -1);
}

void Drainer::greet(Connection& c) {
  dt_hello& hello = c.hello;
  hello.signatures[sizeof hello.signatures - 1] = hello.program[sizeof hello.program - 1] =
      hello.trace[sizeof hello.trace - 1] = 0;
  if (hello.magic != DT_HELLO_MAGIC || hello.version != DT_RING_VERSION)
    return refuse(c, "version", "the tap speaks another version of the protocol than this drainer");
  if (hello.flags & DT_HELLO_FOREIGN)
    return status_.say(JsonObject().text("event", "foreign").number("pid", c.pid).text("program", hello.program));
  if (!is_wanted(hello, c.pid)) {
    dt_welcome welcome{};
    welcome.magic = DT_HELLO_MAGIC;
    welcome.version = DT_RING_VERSION;
    welcome.quietly = 1;
    send_welcome(c.fd, welcome, -1);
    return status_.say(JsonObject().text("event", "left out").number("pid", c.pid).text("program", hello.program));
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
  welcome.magic = DT_HELLO_MAGIC;
  welcome.version = DT_RING_VERSION;
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
  line.text("event", "process").number("pid", pid).text("program", info.program).flag("adopted", trace != nullptr);
  line.number("pool", info.pool);
  status_.say(line, pool_fd);  // whoever started this drainer can have the rest taken out of it, should it be killed
  recorded_.push_back(std::move(r));
}

// What a drainer that does not answer leaves in memory, at most: it may have written some of it.
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
  line.text("event", "unfinished").number("pid", at->pid).number("calls", calls);
  line.text("program", std::string(at->program, strnlen(at->program, sizeof at->program)));
  line.text("file", std::string(at->trace, strnlen(at->trace, sizeof at->trace)));
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
      line.text("event", "file")
          .number("pid", at->pid)
          .text("program", std::string(at->program, strnlen(at->program, sizeof at->program)));
      struct stat memory;
      line.number("pool", fstat(fd, &memory) == 0 ? memory.st_ino : 0)
          .text("file", trace)
          .text("reason", "another drainer went on");
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

// What is known of one recorded process, as JSON.
std::string Drainer::about(const Recorded& r) const {
  dt_pool_header* pool = r.session->pool().header();
  const Totals& t = r.session->totals();
  const uint32_t control = pool->control.load();
  const char* state = control & DT_CONTROL_STOP ? "stopped" : pool->recording.load() ? "recording" : "paused";
  JsonObject json;
  json.number("pid", r.session->process().pid).text("program", r.session->process().program).text("state", state);
  json.flag("wanted", control & DT_CONTROL_RECORD).number("frames", pool->frames.load());
  json.number("frames_left", pool->frames_left.load()).number("frames_dropped", pool->frames_dropped.load());
  json.number("calls", t.calls).number("bytes", t.bytes_file).text("trace", r.session->trace());
  if (Ring* ring = r.session->ring()) {
    const RingTotals held = ring->totals();
    JsonObject about_ring;
    about_ring.number("held_bytes", held.held_bytes)
        .number("held_peak", held.held_peak)
        .number("base_bytes", held.base_bytes);
    about_ring.number("kept", held.kept)
        .number("exact", held.exact)
        .number("compactions", held.compactions)
        .flag("assumed", held.assumed);
    about_ring.number("takes", held.takes)
        .number("pictures", held.pictures)
        .number("picture_bytes", held.picture_bytes)
        .number("refused", held.refused);
    json.json("ring", about_ring.str());
  }
  return json.str();
}

// save PID [before=NS] [after=NS] [output=PATH, with %XX for odd bytes]; saved PID NUMBER.
void Drainer::request_save(uint64_t client, const std::vector<std::string>& words) {
  auto refuse = [&](const std::string& why) {
    control_.answer(client, JsonObject().flag("ok", false).text("error", why).str());
  };
  if (words.size() < 2) return refuse(words[0] + ": expected the number of a process");
  Ring* ring = nullptr;
  for (Recorded& r : recorded_)
    if (std::to_string(r.session->process().pid) == words[1] && !r.session->ending()) {
      ring = r.session->ring();
      if (!ring) return refuse("this recorder writes a file and keeps nothing: drawtap record --ring does");
    }
  if (!ring) return refuse("process " + words[1] + " is not recorded here");
  if (words[0] == "saved") {
    const std::string said = words.size() == 3 ? ring->result(strtoull(words[2].c_str(), nullptr, 10)) : "";
    if (said.empty()) return refuse("there is no such save");
    return control_.answer(client, JsonObject().flag("ok", true).json("result", said).str());
  }
  SaveWish wish;
  wish.reason = "command";
  wish.by_hand = true;
  for (size_t i = 2; i < words.size(); i++) {
    const size_t is = words[i].find('=');
    const std::string name = words[i].substr(0, is), value = is == std::string::npos ? "" : words[i].substr(is + 1);
    if (name == "before")
      wish.before_ns = strtoull(value.c_str(), nullptr, 10);
    else if (name == "after")
      wish.after_ns = strtoull(value.c_str(), nullptr, 10);
    else if (name == "output") {
      for (size_t at = 0; at < value.size(); at++) {
        if (value[at] != '%' || at + 2 >= value.size()) {
          wish.output += value[at];
          continue;
        }
        wish.output += static_cast<char>(strtoul(value.substr(at + 1, 2).c_str(), nullptr, 16));
        at += 2;
      }
      if (wish.output.empty() || wish.output[0] != '/' || wish.output.find('\n') != std::string::npos)
        return refuse("save: the file must be named from the root on");
    } else {
      return refuse("save: not understood: " + words[i].substr(0, 60));
    }
  }
  const uint64_t number = ring->save(wish);
  if (!number) return refuse("too many saves are waiting");
  control_.answer(client, JsonObject().flag("ok", true).number("save", number).str());
}

void Drainer::request(uint64_t client, const std::vector<std::string>& words) {
  const std::string& verb = words[0];
  auto refuse = [&](const std::string& why) {
    control_.answer(client, JsonObject().flag("ok", false).text("error", why).str());
  };
  if (verb == "status") {
    std::string all;
    for (const Recorded& r : recorded_)
      if (!r.session->ending()) all += (all.empty() ? "" : ", ") + about(r);
    JsonObject json;
    json.flag("ok", true).text("version", DRAWTAP_VERSION).number("drainer", static_cast<uint64_t>(getpid()));
    return control_.answer(client, json.json("programs", "[" + all + "]").str());
  }
  if (verb == "save" || verb == "saved") return request_save(client, words);
  if (verb != "start" && verb != "stop" && verb != "frames") return refuse("there is no request " + verb.substr(0, 40));
  uint32_t pid = 0, count = 0;
  auto parse = [&](size_t i, uint32_t* value) {
    if (i >= words.size()) return false;
    auto [end, error] = std::from_chars(words[i].data(), words[i].data() + words[i].size(), *value);
    return error == std::errc() && end == words[i].data() + words[i].size() && *value;
  };
  if (!parse(1, &pid)) return refuse(verb + ": expected the number of a process");
  if (verb == "frames" && !parse(2, &count)) return refuse("frames: expected a number of frames");
  if (words.size() > (verb == "frames" ? 3 : 2)) return refuse(verb + ": too many words");
  for (Recorded& r : recorded_) {
    if (r.session->process().pid != pid || r.session->ending()) continue;
    dt_pool_header* pool = r.session->pool().header();
    if (pool->control.load() & DT_CONTROL_STOP) return refuse("recording of this process has ended for good");
    if (verb == "stop") {
      pool->frames_left.store(0);
      pool->control.fetch_and(~uint32_t{DT_CONTROL_RECORD});
    } else {
      pool->frames_left.store(count);
      pool->control.fetch_or(DT_CONTROL_RECORD);
    }
    return control_.answer(client, JsonObject().flag("ok", true).json("program", about(r)).str());
  }
  refuse("process " + words[1] + " is not recorded here");
}

void Drainer::obey(const std::string& line) {
  const size_t space = line.find(' ');
  const std::string word = line.substr(0, space), rest = space == std::string::npos ? "" : line.substr(space + 1);
  if (word == "annotate" && looks_like_object(rest)) {
    remarks_.annotate(rest);
  } else if (word == "exit" || word == "signal") {
    remarks_.ended(word == "signal", atoi(rest.c_str()));
  } else if (word == "watch" && atoi(rest.c_str()) > 0) {
    const uint32_t pid = static_cast<uint32_t>(atoi(rest.c_str()));
    watched_ = std::make_unique<Watched>(pid);
    remarks_.watch(pid);
  } else if (word == "peek") {
    peek();
  } else if (word == "save") {
    SaveWish wish;
    wish.by_hand = true;
    std::istringstream fields(rest);
    std::getline(fields, wish.reason, '\t');
    // Part of a file's name.
    std::erase_if(wish.reason, [](unsigned char c) { return !isalnum(c) && c != '-' && c != '_'; });
    if (wish.reason.empty()) wish.reason = "command";
    for (std::string field; std::getline(fields, field, '\t');) {
      const size_t is = field.find('=');
      const std::string name = field.substr(0, is), value = is == std::string::npos ? "" : field.substr(is + 1);
      if (name == "before")
        wish.before_ns = strtoull(value.c_str(), nullptr, 10);
      else if (name == "after")
        wish.after_ns = strtoull(value.c_str(), nullptr, 10);
      else if (name == "output")
        wish.output = value;
      else if (name == "detail")
        wish.detail = value;
      else if (name == "auto")
        wish.by_hand = false;
    }
    save(wish);
  } else if (!word.empty()) {
    status_.error("input", "not understood: " + line.substr(0, 80));
  }
}

void Drainer::save(const SaveWish& wish) {
  if (!o_.session.ring.on()) return status_.error("ring", "there is no flight recorder here: --ring starts one");
  bool any = false;
  for (Recorded& r : recorded_) {
    if (r.session->ending() || !r.session->ring()) continue;
    if (wish.by_hand || r.session->ring()->allow()) r.session->ring()->save(wish);
    any = true;
  }
  if (!any) status_.error("ring", "no process is being recorded: there is nothing to save");
}

// Somebody wants to ask the window something: it is there, as a trace, until the next one is.
void Drainer::peek() {
  JsonObject line;
  line.text("event", "peek");
  if (peek_ >= 0) close(peek_);
  peek_ = -1;
  for (Recorded& r : recorded_) {
    if (r.session->ending() || !r.session->ring()) continue;
    peek_ = memfd_create("drawtap-window", MFD_CLOEXEC);
    const std::string error = peek_ < 0 ? strerror(errno) : r.session->ring()->peek(peek_);
    if (error.empty())
      line.text("path", "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(peek_));
    else
      line.text("error", error);
    break;
  }
  status_.say(line);
}

void Drainer::read_lines() {
  char bytes[65536];
  const ssize_t n = read(0, bytes, sizeof bytes);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) {
    stdin_open_ = false;
    last_activity_ = seconds_now();
    remarks_.no_more();
    return;
  }
  line_.append(bytes, static_cast<size_t>(n));
  for (size_t end; (end = line_.find('\n')) != std::string::npos; line_.erase(0, end + 1)) obey(line_.substr(0, end));
  if (line_.size() > LONGEST_LINE) line_.clear();
}

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
  line.text("event", always ? "done" : "progress").number("calls", calls).number("bytes_raw", raw);
  line.number("bytes_file", file).number("chunks", chunks).number("pool_bytes", pool);
  line.number("processes", always ? processes_ : recorded_.size());
  if (always) line.number("cpu_ns", process_cpu_ns());
  if (line.str() == last_reported_) return;
  last_report_ = now;
  last_reported_ = line.str();
  status_.say(line);
}

bool Drainer::time_to_leave() {
  if (!recorded_.empty()) return false;
  if (stopping_) return true;
  if (!waiting_.empty()) return false;
  if (watched_ && watched_->gone()) return true;
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

void Drainer::loop() {
  std::vector<pollfd> fds;
  for (;;) {
    // Ahead of the next program, which then need not wait for it. Should it fail, that program is told.
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
    if (time_to_leave()) return;
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
        say_refused(info.pid, info.program, "given up", "it could not take the memory that its calls were to go to");
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

}  // namespace
}  // namespace dt

int main(int argc, char** argv) { return dt::Drainer(dt::parse_options(argc, argv)).run(); }
