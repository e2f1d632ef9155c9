// Recordings that went on in another file: their parts put together again.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "write.h"

namespace dt::edit {

// The name of a program's run that a recording is of, the same in all files of that run; empty: nothing says it.
std::string run_of(const Trace& trace);

// Sources in which the parts of one recording are one source, as if the recording had never been interrupted. The parts
// are the file of a receiver, and the recorder's file for the time when the receiver was gone. Temporary files stand
// beside `path` while this lives.
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
