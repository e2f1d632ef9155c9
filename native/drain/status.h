// The drainer's messages: JSON lines to its parent, and JSON objects inside the trace.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>

#include "../common/json.h"

namespace dt {

// The --status stream. Nobody listening is no reason to stop.
class Status {
 public:
  bool open(const std::string& where, std::string* error);  // a descriptor number or a path; empty: silent
  // `descriptor` goes along where the lines go over a socket.
  void say(const JsonObject& line, int descriptor = -1);
  // The same where that can be done without waiting. False: nothing was sent.
  bool offer(const JsonObject& line, int descriptor);
  bool passes_descriptors() const { return socket_; }
  void error(const std::string& code, const std::string& text, uint32_t pid = 0);

 private:
  void put(const std::string& text, size_t at);  // the rest of a line
  std::mutex lock_;
  int fd_ = -1;
  bool socket_ = false;
};

}  // namespace dt
