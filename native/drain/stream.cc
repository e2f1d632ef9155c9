#include "stream.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>

#include "../common/stream.h"
#include "proof.h"

static_assert(sizeof(dt_stream_hello) == 24 && sizeof(dt_stream_answer) == 16 && sizeof(dt_stream_message) == 8 &&
              dt::PROOF_BYTES == DT_STREAM_PROOF_BYTES);

namespace dt {
namespace {

constexpr double HANDSHAKE_SECONDS = 5, STATUS_SECONDS = 0.25;
constexpr unsigned MOST_GREETINGS = 16, MOST_READY = 8;

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Wait until `fd` is ready for `events`. False: not before `end`.
bool ready(int fd, short events, double end) {
  for (;;) {
    pollfd p = {fd, events, 0};
    const double left = end - now();
    const int n = poll(&p, 1, left <= 0 ? 0 : static_cast<int>(std::min(left * 1000 + 1, 1e9)));
    if (n > 0) return true;
    if (n == 0 && now() >= end) return false;
    if (n < 0 && errno != EINTR) return true;  // the call that follows says what it is
  }
}

// Moves all bytes by steps that send or receive some. `late`: what the other side did where `end` has come.
template <class Byte, class Step>
std::string move_all(int fd, Byte* at, size_t bytes, short events, const char* late, double end, Step step) {
  while (bytes) {
    const ssize_t n = step(at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!ready(fd, events, end)) return late;
      continue;
    }
    if (n < 0) return strerror(errno);
    if (n == 0) return "it hung up";
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return {};
}

std::string send_all(int fd, const void* data, size_t bytes, double end) {
  return move_all(fd, static_cast<const char*>(data), bytes, POLLOUT, "it takes nothing", end,
                  [fd](const char* at, size_t left) { return send(fd, at, left, MSG_NOSIGNAL | MSG_DONTWAIT); });
}

std::string receive_all(int fd, void* data, size_t bytes, double end) {
  return move_all(fd, static_cast<char*>(data), bytes, POLLIN, "it does not answer", end,
                  [fd](char* at, size_t left) { return recv(fd, at, left, MSG_DONTWAIT); });
}

// The proofs that both ends of a connection show, so that the other knows that they know the token.
std::string proof(const StreamSettings& s, const char* who, const std::string& nonces) {
  return hmac_sha256(s.token, std::string(DT_STREAM_MAGIC " ") + who + nonces);
}

struct Address {
  sockaddr_storage name{};
  socklen_t bytes = 0;
  bool local = false;  // UNIX, or loopback
};

bool loopback(const sockaddr* name) {
  if (name->sa_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in*>(name)->sin_addr.s_addr) >> 24 == 127;
  if (name->sa_family != AF_INET6) return false;
  const in6_addr& a = reinterpret_cast<const sockaddr_in6*>(name)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&a) || (IN6_IS_ADDR_V4MAPPED(&a) && a.s6_addr[12] == 127);
}

std::vector<Address> addresses(const std::string& where, bool passive, std::string* error) {
  std::vector<Address> out;
  if (where.rfind("unix:", 0) == 0) {
    const std::string path = where.substr(5);
    Address a;
    auto* name = reinterpret_cast<sockaddr_un*>(&a.name);
    if (path.empty() || path.size() >= sizeof name->sun_path) {
      *error = "the path is " + std::string(path.empty() ? "missing" : "longer than a socket's may be");
      return out;
    }
    name->sun_family = AF_UNIX;
    memcpy(name->sun_path, path.c_str(), path.size() + 1);
    a.bytes = sizeof(sockaddr_un);
    a.local = true;
    out.push_back(a);
    return out;
  }
  std::string host = where.rfind("tcp://", 0) == 0 ? where.substr(6) : "";
  const size_t colon = host.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == host.size()) {
    *error = "expected tcp://HOST:PORT or unix:PATH";
    return out;
  }
  const std::string port = host.substr(colon + 1);
  host.resize(colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  const int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
  if (code) {
    *error = gai_strerror(code);
    return out;
  }
  for (addrinfo* i = list; i; i = i->ai_next) {
    if (i->ai_addrlen > sizeof(sockaddr_storage)) continue;
    Address a;
    memcpy(&a.name, i->ai_addr, i->ai_addrlen);
    a.bytes = i->ai_addrlen;
    a.local = loopback(i->ai_addr);
    out.push_back(a);
  }
  freeaddrinfo(list);
  return out;
}

bool same_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

void tune(int fd, int family) {
  if (family == AF_UNIX) return;
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
}

std::string hear(int fd, dt_stream_answer* answer, std::string* text, double end) {
  std::string error = receive_all(fd, answer, sizeof *answer, end);
  if (!error.empty()) return error;
  if (memcmp(answer->magic, DT_STREAM_MAGIC, 8) != 0) return "it is no receiver of drawtap";
  if (answer->text_bytes > DT_STREAM_LONGEST_TEXT) return "its answer is too long";
  text->assign(answer->text_bytes, '\0');
  return receive_all(fd, text->data(), text->size(), end);
}

const char* refusal_about(uint16_t code) {
  switch (code) {
    case DT_STREAM_VERSION_REFUSED: return "version";
    case DT_STREAM_TOKEN_REFUSED: return "token";
    case DT_STREAM_ROLE_REFUSED: return "role";
    case DT_STREAM_BUSY: return "busy";
    default: return "other";
  }
}

// The port and whether it is of this machine alone, of an address as /proc/net/tcp has it.
bool is_loopback_text(const char* address) {
  const std::string_view text = address;
  const bool mapped = text.size() == 32 && text.substr(0, 24) == "0000000000000000FFFF0000";
  if (text.size() == 8 || mapped) return text.substr(text.size() - 2) == "7F";
  return text == "00000000000000000000000001000000";
}

uint16_t port_of(const sockaddr_storage& name) {
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(name).sin6_port
                                          : reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

// Returns whether the other end of a TCP connection within this machine is a socket of this user or of root. The kernel
// lists the owner of each; a socket that nobody has accepted yet, or that its process has closed, has no owner.
bool same_user_tcp(int fd) {
  sockaddr_storage own{}, peer{};
  socklen_t own_bytes = sizeof own, peer_bytes = sizeof peer;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_bytes) ||
      getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_bytes))
    return false;
  bool is_own = false;
  for (const char* list : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(list);
    for (std::string line; std::getline(file, line);) {
      char local[33], remote[33];
      unsigned local_port, remote_port, uid;
      unsigned long inode;
      if (sscanf(line.c_str(), " %*d: %32[0-9A-F]:%x %32[0-9A-F]:%x %*x %*x:%*x %*x:%*x %*x %u %*d %lu", local,
                 &local_port, remote, &remote_port, &uid, &inode) != 6)
        continue;
      if (local_port != port_of(peer) || remote_port != port_of(own) || !is_loopback_text(local) ||
          !is_loopback_text(remote))
        continue;
      if (!inode || (uid != geteuid() && uid != 0)) return false;
      is_own = true;
    }
  }
  return is_own;
}

// We connected: say hello. An empty string, or why the other side does not want us.
std::string greet(int fd, const StreamSettings& s, Refusal* refusal) {
  const double end = now() + HANDSHAKE_SECONDS;
  const std::string nonce = s.token.empty() ? "" : random_nonce();
  if (!s.token.empty() && nonce.empty()) return "this system has no random numbers";
  dt_stream_hello hello{};
  memcpy(hello.magic, DT_STREAM_MAGIC, 8);
  hello.version = DT_STREAM_VERSION;
  hello.role = DT_STREAM_RECORDER;
  hello.nonce_bytes = static_cast<uint32_t>(nonce.size());
  hello.options_bytes = static_cast<uint32_t>(s.options.size());
  std::string out(reinterpret_cast<const char*>(&hello), sizeof hello);
  out += nonce + s.options;
  std::string error = send_all(fd, out.data(), out.size(), end);
  if (!error.empty()) return error;
  dt_stream_answer answer;
  std::string text;
  error = hear(fd, &answer, &text, end);
  if (!error.empty()) return error;
  if (answer.code == DT_STREAM_CHALLENGE) {
    if (nonce.empty() || text.size() != PROOF_BYTES) return "it asks for a token";
    const std::string nonces = nonce + text, shown = proof(s, "connects", nonces);
    error = send_all(fd, shown.data(), shown.size(), end);
    if (error.empty()) error = hear(fd, &answer, &text, end);
    if (!error.empty()) return error;
    if (answer.code == DT_STREAM_OK && !same_bytes(text.substr(0, PROOF_BYTES), proof(s, "accepts", nonces)))
      return "it does not know the token";
  } else if (answer.code == DT_STREAM_OK && !nonce.empty()) {
    return "it does not show that it knows the token";
  }
  if (answer.code == DT_STREAM_OK) return {};
  *refusal = {refusal_about(answer.code), text};
  return "it refuses: " + text;
}

std::string answer_with(int fd, uint16_t code, const std::string& text, double end) {
  dt_stream_answer answer{};
  memcpy(answer.magic, DT_STREAM_MAGIC, 8);
  answer.version = DT_STREAM_VERSION;
  answer.code = code;
  answer.text_bytes = static_cast<uint32_t>(text.size());
  const std::string out = std::string(reinterpret_cast<const char*>(&answer), sizeof answer) + text;
  return send_all(fd, out.data(), out.size(), end);
}

// Somebody connected: listen to the hello and answer.
std::string admit(int fd, const StreamSettings& s) {
  const double end = now() + HANDSHAKE_SECONDS;
  dt_stream_hello hello;
  std::string error = receive_all(fd, &hello, sizeof hello, end);
  if (!error.empty()) return error;
  if (memcmp(hello.magic, DT_STREAM_MAGIC, 8) != 0) return "not a hello";
  if (hello.nonce_bytes > DT_STREAM_LONGEST_NONCE || hello.options_bytes > DT_STREAM_LONGEST_TEXT)
    return "its hello is too long";
  std::string nonce(hello.nonce_bytes, '\0'), options(hello.options_bytes, '\0'), shown;
  error = receive_all(fd, nonce.data(), nonce.size(), end);
  if (error.empty()) error = receive_all(fd, options.data(), options.size(), end);
  if (!error.empty()) return error;
  uint16_t code = DT_STREAM_OK;
  std::string text;
  if (hello.version != DT_STREAM_VERSION) {
    code = DT_STREAM_VERSION_REFUSED;
    text = "this recorder (drawtap " DRAWTAP_VERSION ") speaks version " + std::to_string(DT_STREAM_VERSION) +
           " of the protocol, not " + std::to_string(hello.version);
  } else if (!s.token.empty()) {
    bool knows = nonce.size() == PROOF_BYTES;
    if (knows) {
      const std::string own = random_nonce();
      if (own.empty()) return "this system has no random numbers";
      error = answer_with(fd, DT_STREAM_CHALLENGE, own, end);
      std::string given(PROOF_BYTES, '\0');
      if (error.empty()) error = receive_all(fd, given.data(), given.size(), end);
      if (!error.empty()) return error;
      knows = same_bytes(given, proof(s, "connects", nonce + own));
      shown = proof(s, "accepts", nonce + own);
    }
    if (!knows) {
      code = DT_STREAM_TOKEN_REFUSED;
      text = "the token is not the recorder's";
    }
  }
  if (code == DT_STREAM_OK && hello.role != DT_STREAM_RECEIVER) {
    code = DT_STREAM_ROLE_REFUSED;
    text = "this is a recorder: receivers may connect to it";
  }
  error = answer_with(fd, code, code == DT_STREAM_OK ? shown + s.options : text, end);
  if (!error.empty()) return error;
  return text;
}

}  // namespace

bool is_address(const std::string& where) { return where.rfind("tcp://", 0) == 0 || where.rfind("unix:", 0) == 0; }

// ---- receivers ----------------------------------------------------------------------------------

// The data that the greeting threads share with us: they may outlive us by the length of a handshake.
struct Receivers::Shared {
  std::mutex lock;
  std::condition_variable changed;
  std::deque<int> ready;
  unsigned greeting = 0;
  bool stop = false;
  ~Shared() {
    for (int fd : ready) close(fd);
  }
};

Receivers::Receivers(StreamSettings settings) : settings_(std::move(settings)), shared_(std::make_shared<Shared>()) {}

Receivers::~Receivers() {
  {
    std::lock_guard guard(shared_->lock);
    shared_->stop = true;
    shared_->changed.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (listen_ >= 0) close(listen_);
  if (!listening_path_.empty()) unlink(listening_path_.c_str());
}

int Receivers::connect_once(std::string* error, Refusal* refusal) {
  std::string why;
  std::vector<Address> all = addresses(settings_.to, false, &why);
  bool forbidden = false;
  for (const Address& a : all) {
    if (!a.local && (!settings_.remote || settings_.token.empty())) {
      forbidden = true;
      continue;
    }
    const int fd = socket(a.name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) continue;
    *refusal = {};
    int code = connect(fd, reinterpret_cast<const sockaddr*>(&a.name), a.bytes) == 0 ? 0 : errno;
    if (code == EINPROGRESS || code == EAGAIN) {
      socklen_t size = sizeof code;
      if (!ready(fd, POLLOUT, now() + HANDSHAKE_SECONDS))
        code = ETIMEDOUT;
      else
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size);
    }
    const bool local = a.name.ss_family == AF_UNIX;
    why = code                      ? strerror(code)
          : local && !same_user(fd) ? "it belongs to another user"
                                    : greet(fd, settings_, refusal);
    // A peer that has shown that it knows the token may be anybody. It has answered: its end has an owner.
    if (why.empty() && !local && settings_.token.empty() && !same_user_tcp(fd))
      why = "it belongs to another user: a token lets it be";
    if (why.empty()) {
      tune(fd, a.name.ss_family);
      return fd;
    }
    close(fd);
  }
  if (forbidden && why.empty()) why = "it is not on this machine: that needs to be allowed, and a token";
  *error = settings_.to + ": " + (why.empty() ? "no address" : why);
  return -1;
}

std::string Receivers::listen_on() {
  std::string why;
  for (const Address& a : addresses(settings_.to, true, &why)) {
    if (!a.local && (!settings_.remote || settings_.token.empty())) {
      why = "it is not on this machine alone: that needs to be allowed, and a token";
      continue;
    }
    const bool local = a.name.ss_family == AF_UNIX;
    const std::string path = local ? settings_.to.substr(5) : "";
    struct stat old;
    if (local && lstat(path.c_str(), &old) == 0 && S_ISSOCK(old.st_mode) && old.st_uid == geteuid())
      unlink(path.c_str());
    const int fd = socket(a.name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) continue;
    const int one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    const mode_t before = umask(0177);
    const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&a.name), a.bytes) == 0;
    why = bound ? "" : strerror(errno);
    umask(before);
    if (bound && listen(fd, 16) == 0) {
      listen_ = fd;
      listening_path_ = path;
      return {};
    }
    close(fd);
  }
  return settings_.to + ": " + (why.empty() ? "no address" : why);
}

// Greets whoever connects, each in a thread of its own: one that says nothing holds nobody up.
void Receivers::serve() {
  for (;;) {
    const bool any = ready(listen_, POLLIN, now() + 0.1);
    std::unique_lock guard(shared_->lock);
    if (shared_->stop) return;
    if (!any || shared_->greeting >= MOST_GREETINGS) {
      if (any) shared_->changed.wait_for(guard, std::chrono::milliseconds(50));
      continue;
    }
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    const int fd = accept4(listen_, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) continue;
    if (!listening_path_.empty() && !same_user(fd)) {
      close(fd);
      continue;
    }
    tune(fd, listening_path_.empty() ? AF_INET : AF_UNIX);
    shared_->greeting++;
    const bool asks_owner = listening_path_.empty() && settings_.token.empty();
    std::thread([fd, asks_owner, shared = shared_, settings = settings_] {
      const bool good = (!asks_owner || same_user_tcp(fd)) && admit(fd, settings).empty();
      std::lock_guard inner(shared->lock);
      shared->greeting--;
      if (good && !shared->stop && shared->ready.size() < MOST_READY)
        shared->ready.push_back(fd);
      else
        close(fd);
      shared->changed.notify_all();
    }).detach();
  }
}

int Receivers::from_queue(double seconds) {
  std::unique_lock guard(shared_->lock);
  shared_->changed.wait_for(guard, std::chrono::duration<double>(seconds),
                            [&] { return !shared_->ready.empty() || shared_->stop; });
  while (!shared_->ready.empty()) {
    const int fd = shared_->ready.front();
    shared_->ready.pop_front();
    // It may have gone while it waited.
    char byte;
    const ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return fd;
    close(fd);
  }
  return -1;
}

void Receivers::look_for_first() {
  const double end = now() + settings_.wait;
  std::string error = settings_.to + ": nobody came";
  Refusal refusal;  // the error tells it
  for (;;) {
    int fd = settings_.serve ? -1 : connect_once(&error, &refusal);
    std::unique_lock guard(shared_->lock);
    if (fd >= 0) shared_->ready.push_back(fd);
    if (!shared_->ready.empty()) {
      guard.unlock();
      return on_receiver_("");
    }
    if (shared_->stop) return;
    if (now() >= end) break;
    shared_->changed.wait_for(guard, std::chrono::milliseconds(100));
  }
  on_receiver_(error);
}

std::string Receivers::start(std::function<void(const std::string&)> on_receiver, Refusal* refusal) {
  on_receiver_ = std::move(on_receiver);
  std::string error;
  if (settings_.serve) {
    error = listen_on();
    if (!error.empty()) return error;
    thread_ = std::thread([this] {
      std::thread first;
      if (settings_.wait >= 0) first = std::thread([this] { look_for_first(); });
      serve();
      if (first.joinable()) first.join();
    });
    return {};
  }
  if (settings_.wait >= 0) {
    if (addresses(settings_.to, false, &error).empty()) return settings_.to + ": " + error;
    thread_ = std::thread([this] { look_for_first(); });
    return {};
  }
  const int fd = connect_once(&error, refusal);
  if (fd < 0) return error;
  std::lock_guard guard(shared_->lock);
  shared_->ready.push_back(fd);
  return {};
}

int Receivers::take(std::string* error) {
  const int fd = from_queue(settings_.serve ? HANDSHAKE_SECONDS : 0);
  if (fd >= 0) return fd;
  Refusal refusal;  // the error tells it
  if (!settings_.serve) return connect_once(error, &refusal);
  *error = settings_.to + ": no receiver is connected";
  return -1;
}

// ---- one trace ----------------------------------------------------------------------------------

StreamSink::StreamSink(int fd, const StreamSettings& settings, std::string about, std::function<std::string()> status)
    : fd_(fd), stall_(settings.stall), window_(settings.window), about_(std::move(about)), status_(std::move(status)) {}

StreamSink::~StreamSink() {
  if (error_.empty() && opened_ && !ended_) {
    static const char text[] = "the recorder left before the trace was whole";
    const dt_stream_message message = {DT_STREAM_ERROR, {}, sizeof text - 1};
    std::string out(reinterpret_cast<const char*>(&message), sizeof message);
    send_all(fd_, (out + text).data(), out.size() + sizeof text - 1, now() + 0.2);
  }
  close(fd_);
}

std::string StreamSink::failed(const std::string& error) {
  if (error_.empty()) error_ = said_.empty() ? "the receiver is gone: " + error : "the receiver says: " + said_;
  return error_;
}

// Reads what the receiver has said by now: how much it has, or that it wants no more.
std::string StreamSink::heard() {
  for (;;) {
    char bytes[4096];
    const ssize_t n = recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
    // A receiver that has all may hang up.
    if (n <= 0 && ending_ && taken_ == written_) return {};
    if (n <= 0) return failed(n == 0 ? "it hung up" : strerror(errno));
    in_.insert(in_.end(), bytes, bytes + n);
    size_t at = 0;
    while (in_.size() - at >= sizeof(dt_stream_message)) {
      dt_stream_message message;
      memcpy(&message, in_.data() + at, sizeof message);
      if (message.bytes > DT_STREAM_LONGEST_TEXT) return failed("it says something too long");
      if (in_.size() - at - sizeof message < message.bytes) break;
      const char* content = in_.data() + at + sizeof message;
      at += sizeof message + message.bytes;
      if (message.type == DT_STREAM_ERROR) {
        said_.assign(content, std::min<size_t>(message.bytes, 500));
        return failed("");
      }
      if (message.type != DT_STREAM_TAKEN || message.bytes != 8) continue;  // for later versions
      uint64_t taken;
      memcpy(&taken, content, 8);
      if (taken < taken_ || taken > written_) return failed("it claims to have what was not sent");
      taken_ = taken;
      // Whole writes only: what is half taken would be torn elsewhere.
      while (!untaken_.empty() && written_ - untaken_bytes_ + untaken_.front().size() <= taken_) {
        untaken_bytes_ -= untaken_.front().size();
        untaken_.pop_front();
      }
    }
    in_.erase(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(at));
  }
}

std::string StreamSink::push(const char* data, size_t bytes) {
  double end = now() + stall_;
  while (bytes) {
    const ssize_t n = send(fd_, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      data += n;
      bytes -= static_cast<size_t>(n);
      end = now() + stall_;
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
      const int code = errno;
      std::string last = heard();  // it may have said why, and how much it has
      return last.empty() ? failed(strerror(code)) : last;
    }
    // A receiver that answers while it takes nothing must be listened to: otherwise both would wait.
    pollfd p = {fd_, POLLOUT | POLLIN, 0};
    poll(&p, 1, 200);
    std::string error = p.revents & (POLLIN | POLLHUP | POLLERR) ? heard() : "";
    if (!error.empty()) return error;
    if (now() >= end) return failed("it takes nothing");
  }
  return {};
}

std::string StreamSink::send_message(uint8_t type, const void* head, size_t head_bytes, const char* data,
                                     size_t bytes) {
  dt_stream_message message{};
  message.type = type;
  message.bytes = static_cast<uint32_t>(head_bytes + bytes);
  std::string start(reinterpret_cast<const char*>(&message), sizeof message);
  if (head_bytes) start.append(static_cast<const char*>(head), head_bytes);
  if (bytes < 4096) {
    start.append(data, bytes);
    return push(start.data(), start.size());
  }
  std::string error = push(start.data(), start.size());
  return error.empty() ? push(data, bytes) : error;
}

std::string StreamSink::write(std::span<const char> bytes) {
  untaken_.emplace_back(bytes.begin(), bytes.end());
  untaken_bytes_ += bytes.size();
  written_ += bytes.size();
  if (!error_.empty()) return error_;
  std::string error;
  if (!opened_) {
    error = send_message(DT_STREAM_OPEN, nullptr, 0, about_.data(), about_.size());
    opened_ = true;
  }
  for (size_t at = 0; error.empty() && at < bytes.size();) {
    const size_t part = std::min<size_t>(bytes.size() - at, DT_STREAM_LONGEST_MESSAGE);
    error = send_message(DT_STREAM_DATA, nullptr, 0, bytes.data() + at, part);
    at += part;
  }
  if (error.empty() && now() - last_status_ > STATUS_SECONDS) {
    last_status_ = now();
    const std::string status = status_();
    error = send_message(DT_STREAM_STATUS, nullptr, 0, status.data(), status.size());
  }
  if (error.empty()) error = heard();
  return error.empty() && untaken_bytes_ > window_ ? listen_to(false, stall_) : error;
}

// Wait until the window has room (or, with `all`, until everything was taken).
std::string StreamSink::listen_to(bool all, double seconds) {
  double end = now() + seconds;
  while (all ? taken_ < written_ : untaken_bytes_ > window_) {
    const uint64_t before = taken_;
    if (!ready(fd_, POLLIN, end)) return failed("it takes nothing");
    std::string error = heard();
    if (!error.empty()) return error;
    if (taken_ > before) end = now() + seconds;
  }
  return {};
}

std::string StreamSink::finish() {
  if (!error_.empty()) return error_;
  ending_ = true;
  const std::string status = status_();
  const uint64_t total = written_;
  std::string error = send_message(DT_STREAM_END, &total, sizeof total, status.data(), status.size());
  if (error.empty()) error = listen_to(true, stall_);
  ended_ = error.empty();
  return error;
}

}  // namespace dt
