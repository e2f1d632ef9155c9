// One recorded process: its pool, the workers that empty it, its file.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../common/container.h"
#include "../common/signatures.h"
#include "../common/encoder.h"
#include "naming.h"
#include "pool.h"
#include "ring.h"
#include "status.h"
#include "stream.h"

namespace dt {

// A signature file and what the encoder makes of it.
struct LoadedSignatures {
  SignatureSet set{false};
  std::unique_ptr<Layouts> layouts;
};

// Names of the files of one recording: the first process that commits a record gets the name asked for.
class FileNames {
 public:
  explicit FileNames(std::string wanted) : wanted_(std::move(wanted)) {}
  std::string claim(uint32_t pid);
  // The same for one of many files: FILE-what.dtap. No file that stands there is taken.
  std::string claim(const std::string& what);
  // A file that another drainer began: never to be replaced, and from now on no existing file is.
  void adopted(const std::string& path);
  const std::string& wanted() const { return wanted_; }
  bool keeps_existing();

 private:
  // The name asked for with words in it, and with a number from the second on.
  std::string variant(const std::string& what, unsigned number) const;
  std::mutex lock_;
  std::string wanted_;
  std::set<std::string> used_;
  bool keep_existing_ = false;
};

// Lines from the parent that concern the traces: annotations, and how the watched program ended.
class Remarks {
 public:
  void annotate(std::string json);
  std::vector<std::string> annotations_from(size_t first);
  size_t annotation_count();
  void watch(uint32_t pid);
  void ended(bool signalled, int value);
  void no_more();
  // Wait until it is known how the watched program ended, if `pid` is it, but not longer than a second.
  bool exit_of(uint32_t pid, bool* signalled, int* value);

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<std::string> annotations_;
  uint32_t watched_ = 0;
  bool known_ = false, signalled_ = false, closed_ = false;
  int value_ = 0;
};

struct SessionSettings {
  int level = 1;
  unsigned workers = 1;
  uint32_t free_ahead = 4;
  // Sealed and not yet in the file. With more waiting, a chunk comes free sooner than the pages of a new one are made.
  uint64_t most_backlog_bytes = 32ull << 20;
  uint32_t timing = DT_TIMING_BOTH;
  Receivers* receivers = nullptr;  // where the trace goes, instead of a file
  std::string spill;               // a file to go on in when the receiver is gone; empty: none
  bool anonymous = false;          // say nothing of host, folder and command line
  bool drop_frames = false;        // leave whole frames out rather than let the program wait
  // calls that were written are on the disk this much later; 0: when the kernel writes it, and at the end
  double sync_seconds = 0;
  bool window = false;  // what is adopted is what another drainer's flight recorder held
  RingSettings ring;    // on: only ordered saves go to a file
};

struct ProcessInfo {
  uint32_t pid = 0, clock = 0;
  uint64_t pid_start = 0;  // ticks after boot, 0: unknown
  uint64_t pool = 0;       // inode of its pool, which tells the lines about it from others
  uint64_t start_clock = 0, start_ns = 0;
  std::string program, command_line, signatures_path;
  bool exit_known = false, signalled = false;
  int exit_value = 0;
};

struct Totals {
  std::atomic<uint64_t> calls{0}, records{0}, bytes_raw{0}, bytes_file{0}, chunks{0}, invalid_records{0},
      invalid_bytes{0}, calls_lost{0}, chunks_lost{0}, in_flight{0}, blobs_bytes{0}, worker_cpu_ns{0}, pool_peak{0},
      pool_now{0};
  void add(const Encoded& chunk);
};

class Session {
 public:
  // `done_fd`: an eventfd that is raised when the file is finished.
  Session(SessionSettings settings, ProcessInfo process, std::unique_ptr<Pool> pool,
          std::shared_ptr<const LoadedSignatures> signatures, FileNames& names, Remarks& remarks, Status& status,
          int done_fd);
  ~Session();

  // Go on with a file (empty: none was begun).
  std::string adopt_file(const std::string& path);
  void start();
  // Ready when this session has taken the name of its file, or has ended without one.
  std::shared_future<void> named() const { return is_named_; }
  // The program that the same process ran before owns the first name, however late its calls arrive.
  void name_after(std::shared_future<void> earlier) { earlier_ = std::move(earlier); }
  // The process is gone, runs another program, or is to be recorded no longer. Drains what is left, finishes the file.
  void end(const std::string& reason);
  bool ending() const { return ending_.load(); }
  bool finished() const { return finished_.load(); }
  ProcessInfo& process() { return process_; }
  Pool& pool() { return *pool_; }
  const Totals& totals() const { return totals_; }
  // Where the trace goes; empty until there is one.
  std::string trace();
  Ring* ring() { return ring_.get(); }

 private:
  // A flight recorder takes what stands in chunks that their threads still write to: how far, by chunk.
  struct Progress {
    uint64_t serial = UINT64_MAX, calls = 0;
    uint32_t offset = 0, context = 0;
    uint32_t commit = 0;  // at the look before
  };
  struct Job {
    TakenChunk chunk;
    uint64_t turn = 0;
    int level = 1;
    bool owned = false;
  };
  void work();
  void tend();              // the thread that keeps free chunks ahead
  uint32_t most_backlog();  // chunks
  void ask_tend();
  bool next_job(Job* job);
  void collect(bool ending);
  void run(const Job& job, Encoder& encoder, Encoded* out);
  void release(const Job& job);
  void write(const Job& job, Encoded* out);
  std::string append(std::span<const char> chunk);
  std::string open_file();
  std::string create_file();
  std::string open_stream();
  std::string spill(const std::string& why);
  std::string all_signatures() const;
  std::string stream_status();
  void watch_backlog(uint32_t sealed);
  void sync();
  void trace_is(const std::string& name);
  void say_named();
  std::string begin_file();
  std::string append_json(const std::string& json);
  std::string append_signatures(const Encoded& out);
  std::string new_signatures(const Encoded& out);
  void make_ring();
  void end_ring();
  TakenChunk part_of(const TakenChunk& chunk, bool owned);
  Progress progress_in(const TakenChunk& chunk);
  std::string append_remarks();
  void fail(const std::string& error);
  void finish();
  std::string path_as_recorded(const std::string& path) const;
  std::string recording_json() const;
  std::string process_json() const;
  uint64_t in_flight() const;
  std::string content_lost() const;
  std::string end_json(bool wait = true);

  const SessionSettings settings_;
  ProcessInfo process_;
  std::unique_ptr<Pool> pool_;
  std::shared_ptr<const LoadedSignatures> signatures_;
  FileNames& names_;
  Remarks& remarks_;
  Status& status_;
  const int done_fd_;
  KnownBlobs blobs_;
  Naming naming_;
  Totals totals_;

  std::mutex leader_;  // held by the worker that looks for sealed chunks
  std::deque<Job> queue_;
  std::atomic<size_t> queued_{0};  // its size
  uint64_t turns_given_ = 0;
  bool drained_ = false;
  unsigned idle_rounds_ = 0;
  std::atomic<bool> unsettled_{false};        // a chunk waits for the rest of a content, or for its call
  std::map<uint32_t, uint64_t> next_serial_;  // of every thread
  std::set<std::pair<uint32_t, uint64_t>> held_back_;
  std::map<uint32_t, Progress> progress_;
  std::map<uint32_t, uint64_t> had_;          // calls of every thread that stand in an adopted window
  std::map<uint32_t, uint64_t> part_serial_;  // of every thread
  uint64_t last_peek_ns_ = 0;
  bool adopted_ = false;

  std::mutex states_;  // states of chunks as the drainer changes them, and `taken_`
  std::vector<bool> taken_;
  uint32_t given_back_ = 0;

  std::mutex turn_lock_;
  std::condition_variable turn_changed_;
  uint64_t turn_ = 0;

  std::mutex trace_lock_;
  std::string trace_;
  std::promise<void> named_;
  std::once_flag named_once_;
  const std::shared_future<void> is_named_ = named_.get_future().share();
  std::shared_future<void> earlier_;

  // Only the worker whose turn it is touches these.
  ContainerWriter file_;
  std::vector<bool> known_functions_;
  std::set<std::string, std::less<>> known_groups_;
  size_t remarks_written_ = 0;
  StreamSink* stream_ = nullptr;  // in file_
  std::string stream_error_;
  uint64_t stream_taken_ = 0;
  ChunkBuffer small_;
  std::string write_error_;
  std::unique_ptr<Ring> ring_;

  std::atomic<bool> discarding_{false}, ending_{false}, finished_{false};
  std::string end_reason_;
  std::atomic<unsigned> working_{0};
  std::vector<std::thread> threads_;

  // For the thread that tends.
  uint64_t dropping_since_ns_ = 0, last_sync_ns_ = 0;
  uint64_t synced_ = 0;  // appends that are on the disk
  bool sync_failed_ = false;
  std::atomic<uint64_t> appended_{0};
  std::atomic<int> sync_fd_{-1};  // another descriptor of the file: it may be closed at any time

  std::mutex tend_lock_;
  std::condition_variable tend_changed_;
  bool tend_asked_ = false, tend_stop_ = false;
};

// CPU time of this process, ns.
uint64_t clock_ns(clockid_t clock);
uint64_t process_cpu_ns();

}  // namespace dt
