// The common parts of the sessions of a drainer: names of files, lines from the parent.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "session.h"

namespace dt {

std::string FileNames::variant(const std::string& what, unsigned i) const {
  size_t dot = wanted_.rfind('.');
  if (dot == std::string::npos || wanted_.find('/', dot) != std::string::npos) dot = wanted_.size();
  return wanted_.substr(0, dot) + "-" + what + (i > 1 ? "-" + std::to_string(i) : "") + wanted_.substr(dot);
}

std::string FileNames::claim(uint32_t pid) {
  std::lock_guard guard(lock_);
  std::string name = wanted_;
  for (unsigned i = 1; used_.count(name) || (keep_existing_ && access(name.c_str(), F_OK) == 0); i++)
    name = variant(std::to_string(pid), i);
  used_.insert(name);
  return name;
}

std::string FileNames::claim(const std::string& what) {
  std::lock_guard guard(lock_);
  std::string name = variant(what, 1);
  for (unsigned i = 2; used_.count(name) || access(name.c_str(), F_OK) == 0; i++) name = variant(what, i);
  used_.insert(name);
  return name;
}

void FileNames::adopted(const std::string& path) {
  std::lock_guard guard(lock_);
  if (!path.empty()) used_.insert(path);
  keep_existing_ = true;
}

bool FileNames::keeps_existing() {
  std::lock_guard guard(lock_);
  return keep_existing_;
}

void Remarks::annotate(std::string json) {
  std::lock_guard guard(lock_);
  annotations_.push_back(std::move(json));
}
std::vector<std::string> Remarks::annotations_from(size_t first) {
  std::lock_guard guard(lock_);
  return {annotations_.begin() + static_cast<ptrdiff_t>(std::min(first, annotations_.size())), annotations_.end()};
}
size_t Remarks::annotation_count() {
  std::lock_guard guard(lock_);
  return annotations_.size();
}
void Remarks::watch(uint32_t pid) {
  std::lock_guard guard(lock_);
  watched_ = pid;
}
void Remarks::ended(bool signalled, int value) {
  std::lock_guard guard(lock_);
  known_ = true;
  signalled_ = signalled;
  value_ = value;
  changed_.notify_all();
}
void Remarks::no_more() {
  std::lock_guard guard(lock_);
  closed_ = true;
  changed_.notify_all();
}
bool Remarks::exit_of(uint32_t pid, bool* signalled, int* value) {
  std::unique_lock guard(lock_);
  if (!watched_ || pid != watched_) return false;
  changed_.wait_for(guard, std::chrono::seconds(1), [&] { return known_ || closed_; });
  *signalled = signalled_;
  *value = value_;
  return known_;
}

}  // namespace dt
