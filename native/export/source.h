// The folder that a trace is written to as C source: functions cut to what compilers like, content stored once.
#pragma once
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "../core/trace.h"

namespace dt::c {

// A file being written; throws dt::Error when the disk does not take it.
class File {
 public:
  explicit File(const std::string& path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  void put(std::string_view text);
  void close();

 private:
  std::string path_;
  FILE* file_ = nullptr;
};

// Content of arrays: one file, each content once, each at a multiple of 16 bytes.
class Data {
 public:
  Data(const std::string& folder);
  // Name of the content, `what` says what it first was for.
  std::string add(std::string_view content, const std::string& what);
  std::string add(const Hash128& hash, const Trace& trace, const std::string& what);
  void close();
  uint64_t bytes() const { return at_; }
  size_t count() const { return known_.size(); }

 private:
  std::string store(std::string_view content, const Hash128& hash, const std::string& what);
  File file_, header_;
  std::map<Hash128, uint32_t> known_;  // their numbers
  uint64_t at_ = 0;
};

// Texts that deserve lines of their own: shader sources.
class Texts {
 public:
  explicit Texts(const std::string& folder) : folder_(folder) {}
  std::string add(std::string_view text);
  void close();
  size_t count() const { return known_.size(); }

 private:
  std::string folder_, body_, declarations_;
  std::unordered_map<std::string, uint32_t> known_;
};
std::string literal(std::string_view text, std::string_view indent);  // lines of a string literal
std::string quoted(std::string_view text);                            // one literal on one line

struct Options {
  uint32_t calls_per_file = 20000, calls_per_function = 1000;
  uint64_t first_frame = 0, end_frame = 0;  // end 0: all
};

// The functions of frames, one after the other. Lines come in; functions of at most `calls_per_function` lines go out,
// to files of about `calls_per_file`. A frame whose text was written before is not written again. Frames before the
// first one that is wanted are its set-up.
class Frames {
 public:
  Frames(std::string folder, const Options& options, std::vector<uint64_t> ends)
      : folder_(std::move(folder)), options_(options), ends_(std::move(ends)) {}
  // Begins the function of the frame that the call is in. False: it has begun.
  bool begin(uint64_t call);
  void line(std::string_view text);
  void end(bool whole);  // `whole`: the recording has the frame's end
  bool are_done() const { return options_.end_frame && frame_ >= options_.end_frame; }
  bool have_ends() const { return !ends_.empty(); }
  bool end_at(uint64_t call) const { return frame_ < ends_.size() && ends_[frame_] == call; }
  bool is_open() const { return open_; }
  bool in_setup() const { return in_setup_; }
  void close();
  void write_list() const;  // frame_list.h: which function plays which frame
  size_t count() const { return functions_.size(); }
  const std::vector<std::string>& files() const { return files_; }
  uint64_t repeated() const { return repeated_; }

 private:
  void flush_part();
  void emit(const std::string& text, uint64_t lines, bool same_file = false);
  // The name of the function that plays the frame: of an earlier one where they are the same.
  std::string finish();
  std::string folder_, name_, comment_, part_;
  Options options_;
  std::vector<uint64_t> ends_;
  uint64_t frame_ = 0;
  bool open_ = false, in_setup_ = false;
  std::vector<std::pair<std::string, uint64_t>> parts_;  // texts of whole functions still to be written, lines
  uint64_t part_lines_ = 0, pending_lines_ = 0, in_file_ = 0, parts_done_ = 0, repeated_ = 0;
  std::unique_ptr<File> file_;
  std::vector<std::string> files_;
  std::map<Hash128, std::string> seen_;
  std::vector<std::string> functions_;  // of frames, in their order
  std::string setup_, rest_;            // lines that call those before; the function of what comes behind
};

Hash128 hash_of(std::string_view content);

}  // namespace dt::c
