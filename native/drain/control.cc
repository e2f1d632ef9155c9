#include "control.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace dt {
namespace {

constexpr size_t MOST_CLIENTS = 32, LONGEST_REQUEST = 65536;

// A folder that nobody else can put anything into.
bool own_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return false;
  struct stat status;
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         !(status.st_mode & 022);
}

}  // namespace

Control::~Control() {
  for (Client& client : clients_) close(client.fd);
  if (listen_ >= 0) close(listen_);
  if (!path_.empty()) unlink(path_.c_str());
}

std::string Control::default_path() {
  const char* runtime = getenv("XDG_RUNTIME_DIR");
  std::string folder;
  if (runtime && runtime[0] == '/' && access(runtime, W_OK) == 0)
    folder = std::string(runtime) + "/drawtap";
  else
    folder = "/tmp/drawtap-" + std::to_string(geteuid());
  return own_folder(folder) ? folder + "/" + std::to_string(getpid()) : "";
}

std::string listen_on_path(const std::string& path, int type, int most_waiting, int* listening) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return path + ": longer than a socket's name may be";
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  struct stat old;  // of a drainer that was killed, and had this number
  if (lstat(path.c_str(), &old) == 0 && S_ISSOCK(old.st_mode)) unlink(path.c_str());
  *listening = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const mode_t before = umask(0177);
  const bool bound = *listening >= 0 && bind(*listening, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  umask(before);
  return bound && listen(*listening, most_waiting) == 0 ? "" : path + ": " + strerror(errno);
}

std::string Control::listen_at(const std::string& path) {
  if (path.empty()) return {};
  std::string error = listen_on_path(path, SOCK_SEQPACKET, 16, &listen_);
  if (error.empty()) path_ = path;
  return error;
}

void Control::add_to(std::vector<pollfd>* fds) const {
  fds->push_back({listen_, POLLIN, 0});
  for (const Client& client : clients_) fds->push_back({client.fd, POLLIN, 0});
}

void Control::serve(const std::vector<pollfd>& fds, size_t first, const Handler& handle) {
  size_t at = first + 1;
  for (auto client = clients_.begin(); client != clients_.end() && at < fds.size(); at++) {
    if (fds[at].fd != client->fd || !fds[at].revents) {
      ++client;
      continue;
    }
    std::string request(LONGEST_REQUEST, '\0');
    iovec in = {request.data(), request.size()};
    msghdr message{};
    message.msg_iov = &in;
    message.msg_iovlen = 1;
    // Descriptors that somebody sends along are dropped by the kernel: there is no room for them.
    const ssize_t n = recvmsg(client->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
      ++client;
      continue;
    }
    if (n <= 0) {
      close(client->fd);
      client = clients_.erase(client);
      continue;
    }
    const uint64_t number = client->number;
    ++client;
    request.resize(static_cast<size_t>(n));
    std::vector<std::string> words;
    std::istringstream stream(request);
    for (std::string word; stream >> word;) words.push_back(word);
    if (message.msg_flags & MSG_TRUNC)
      answer(number, R"({"ok": false, "error": "the request is longer than 64 KB"})");
    else if (words.empty())
      answer(number, R"({"ok": false, "error": "the request is empty"})");
    else
      handle(number, words);
  }
  if (!fds[first].revents) return;
  const int fd = accept4(listen_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || (peer.uid != geteuid() && peer.uid != 0)) {
    close(fd);
    return;
  }
  if (clients_.size() >= MOST_CLIENTS) {
    // The one that has been quiet for longest makes room.
    close(clients_.front().fd);
    clients_.pop_front();
  }
  clients_.push_back({fd, ++last_});
}

void Control::answer(uint64_t client, const std::string& json) {
  for (const Client& c : clients_) {
    if (c.number != client) continue;
    // A client that does not read its answers loses them.
    [[maybe_unused]] ssize_t sent = send(c.fd, json.data(), json.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
}

}  // namespace dt
