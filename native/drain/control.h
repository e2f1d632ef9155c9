// The drainer's control socket: what somebody outside may ask while programs are recorded.
//
// A SOCK_SEQPACKET socket in the user's runtime folder, one request a packet, one answer a packet. A request is a line
// of words (the verb first), an answer a JSON object with "ok". docs/stream-protocol.md has both.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

struct pollfd;

namespace dt {

// Makes a socket of the user's own at `path`. Returns an empty string or what went wrong.
std::string listen_on_path(const std::string& path, int type, int most_waiting, int* listening);

class Control {
 public:
  // Words of a request, and the client to answer; a handler answers at once or keeps the number for later.
  using Handler = std::function<void(uint64_t client, const std::vector<std::string>& words)>;

  ~Control();
  // Listens at `path` ("" : nothing). Returns an empty string or what went wrong.
  std::string listen_at(const std::string& path);
  // $XDG_RUNTIME_DIR/drawtap/PID, or a folder of the user's own in /tmp where there is none. Empty: no such folder can
  // be had.
  static std::string default_path();

  const std::string& path() const { return path_; }
  void add_to(std::vector<pollfd>* fds) const;
  // `first`: where add_to began.
  void serve(const std::vector<pollfd>& fds, size_t first, const Handler& handle);
  void answer(uint64_t client, const std::string& json);

 private:
  struct Client {
    int fd;
    uint64_t number;
  };
  std::string path_;
  int listen_ = -1;
  uint64_t last_ = 0;
  std::list<Client> clients_;
};

}  // namespace dt
