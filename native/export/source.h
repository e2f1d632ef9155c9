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

// The functions of frames. Lines come in; functions of at most `calls_per_function` lines go out, to files of about
// `calls_per_file`. A frame whose text was written before is not written again.
class Frames {
 public:
  Frames(std::string folder, uint32_t calls_per_file, uint32_t calls_per_function);
  void begin(std::string name, std::string comment);
  void line(std::string_view text);
  // The name of the function that plays it: of an earlier one where they are the same.
  std::string end();
  void close();
  const std::vector<std::string>& files() const { return files_; }
  uint64_t repeated() const { return repeated_; }

 private:
  void flush_part();
  void emit(const std::string& text, uint64_t lines, bool same_file = false);
  std::string folder_, name_, comment_, part_;
  uint32_t calls_per_file_, calls_per_function_;
  std::vector<std::pair<std::string, uint64_t>> parts_;  // texts of whole functions still to be written, lines
  uint64_t part_lines_ = 0, pending_lines_ = 0, in_file_ = 0, parts_done_ = 0, repeated_ = 0;
  std::unique_ptr<File> file_;
  std::vector<std::string> files_;
  std::map<Hash128, std::string> seen_;
};

// Functions of frames in their order, lines that call those before the first one, the function of what comes behind.
struct FrameList {
  std::vector<std::string> functions;
  std::string setup, rest;
  // Takes a function that `Frames::end` names; `whole`: the recording has the frame's end.
  void add(const std::string& function, bool in_setup, bool whole);
};
void write_frame_list(File& file, const FrameList& list, uint64_t first_frame);

Hash128 hash_of(std::string_view content);

}  // namespace dt::c
