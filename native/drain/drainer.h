// The drainer: it takes programs in, drains them, and does what others ask of it.
#pragma once
#include <sys/types.h>
#include <time.h>

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control.h"
#include "options.h"
#include "process.h"
#include "session.h"

namespace dt {

double seconds_now();

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
  void loop();
  void take_signals();
  bool accept_one();               // false: nobody is there, or nobody more can be taken
  bool read_hello(Connection& c);  // false: drop the connection
  void greet(Connection& c);
  // The process runs on and is not recorded; the starter of this drainer learns it.
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
  bool until_input_ends_ = false;  // the end of the watched program is not enough
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

}  // namespace dt
