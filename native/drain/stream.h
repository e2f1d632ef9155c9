// The recorder's end of a stream: connections to receivers, and a trace that is written to one of them.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../common/container.h"

#ifndef DRAWTAP_VERSION
#define DRAWTAP_VERSION "0.0"
#endif

namespace dt {

struct StreamSettings {
  std::string to;       // tcp://host:port or unix:path; empty: no stream
  bool serve = false;   // listen there, and receivers connect; else connect
  bool remote = false;  // TCP beyond loopback is allowed
  std::string token;
  double wait = -1;  // seconds to wait for the first receiver while the program waits too; -1: it must be there now
  uint64_t window = 16ull << 20;  // bytes on their way that are kept, to be written elsewhere should they not arrive
  double stall = 60;              // a receiver that takes nothing for so long is gone
  std::string options;            // JSON, for the receiver to see
};

// The answer of a receiver that does not want us.
struct Refusal {
  const char* about = nullptr;  // "version", "token", "role", "busy" or "other"; null: nobody refused
  std::string text;             // its words
};

// Returns whether `where` names a stream and not a file.
bool is_address(const std::string& where);

// Connections to receivers that are through the handshake.
class Receivers {
 public:
  explicit Receivers(StreamSettings settings);
  ~Receivers();
  // Get the first one, or begin to listen. With `wait`, `on_receiver` is called later, from another thread, with "" or
  // with why there is none. An error here is final; `refusal` says whether it is the receiver's own.
  std::string start(std::function<void(const std::string& error)> on_receiver, Refusal* refusal);
  // A connection for one trace; the caller owns it. -1: none, and why.
  int take(std::string* error);
  const StreamSettings& settings() const { return settings_; }

 private:
  struct Shared;
  int connect_once(std::string* error, Refusal* refusal);
  std::string listen_on();
  void serve();
  void look_for_first();
  int from_queue(double seconds);

  StreamSettings settings_;
  std::shared_ptr<Shared> shared_;
  std::function<void(const std::string&)> on_receiver_;
  std::thread thread_;
  int listen_ = -1;
  std::string listening_path_;
};

// One trace on its way. Not for several threads at once.
class StreamSink : public ByteSink {
 public:
  // Takes the connection. `about` is the JSON of DT_STREAM_OPEN, `status` gives that of DT_STREAM_STATUS.
  StreamSink(int fd, const StreamSettings& settings, std::string about, std::function<std::string()> status);
  ~StreamSink() override;
  std::string write(std::span<const char> bytes) override;
  std::string finish() override;
  uint64_t taken() const { return taken_; }
  // The writes that nobody took, write by write.
  std::deque<std::vector<char>> untaken() { return std::move(untaken_); }

 private:
  std::string send_message(uint8_t type, const void* head, size_t head_bytes, const char* data, size_t bytes);
  std::string push(const char* data, size_t bytes);
  std::string listen_to(bool wait, double seconds);
  std::string heard();
  std::string failed(const std::string& error);

  int fd_;
  const double stall_;
  const uint64_t window_;
  std::string about_;
  std::function<std::string()> status_;
  bool opened_ = false, ending_ = false, ended_ = false;
  std::string error_, said_;
  uint64_t written_ = 0, taken_ = 0, untaken_bytes_ = 0;
  double last_status_ = 0;
  std::deque<std::vector<char>> untaken_;
  std::vector<char> in_;
};

}  // namespace dt
