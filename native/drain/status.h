// What the drainer tells: JSON lines to its parent, and JSON objects inside the trace.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace dt {

// A JSON object, built field by field. Bytes that are not UTF-8 become U+FFFD.
class JsonObject {
 public:
  JsonObject& text(std::string_view key, std::string_view value);
  JsonObject& number(std::string_view key, uint64_t value);
  JsonObject& signed_number(std::string_view key, int64_t value);
  JsonObject& flag(std::string_view key, bool value);
  JsonObject& json(std::string_view key, std::string_view value);  // `value` is JSON already
  std::string str() const { return "{" + body_ + "}"; }

 private:
  JsonObject& raw(std::string_view key, std::string_view value);
  std::string body_;
};
std::string json_text(std::string_view text);

// The --status stream. Nobody listening is no reason to stop.
class Status {
 public:
  bool open(const std::string& where, std::string* error);  // a descriptor number or a path; empty: silent
  // `descriptor` goes along where the lines go over a socket.
  void say(const JsonObject& line, int descriptor = -1);
  // The same where that can be done without waiting. False: nothing was said.
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
