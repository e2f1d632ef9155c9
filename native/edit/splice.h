// Recordings that went on in another file: their parts put together again.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "write.h"

namespace dt::edit {

// What names the run of a program that a recording is of, the same in all files of that run; empty: nothing says it.
std::string run_of(const Trace& trace);

// Sources in which the parts of one recording (the file of a receiver, and what the recorder wrote elsewhere when that
// was gone) are one source, as if the recording had never been interrupted. Temporary files stand beside `path` while
// this lives.
class Splices {
 public:
  Splices(const std::vector<Source>& sources, const std::string& path);
  ~Splices();
  Splices(const Splices&) = delete;
  Splices& operator=(const Splices&) = delete;

  const std::vector<Source>& sources() const { return sources_; }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void splice(const std::vector<const Trace*>& parts, const std::string& path);
  std::vector<Source> sources_;
  std::vector<std::shared_ptr<Trace>> made_;
  std::vector<std::string> files_, problems_;
};

}  // namespace dt::edit
