#include "status.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "../common/descriptor.h"

namespace dt {

bool Status::open(const std::string& where, std::string* error) {
  if (where.empty()) return true;
  if (where.find_first_not_of("0123456789") == std::string::npos)
    fd_ = atoi(where.c_str());
  else
    fd_ = ::open(where.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0 || fcntl(fd_, F_GETFD) < 0) {
    *error = where + ": " + strerror(errno);
    return false;
  }
  struct stat about;
  socket_ = fstat(fd_, &about) == 0 && S_ISSOCK(about.st_mode);
  return true;
}

void Status::say(const JsonObject& line, int descriptor) {
  std::lock_guard guard(lock_);
  const std::string text = line.str() + "\n";
  // With its first byte; whatever becomes of it, the line follows.
  const bool began = fd_ >= 0 && socket_ && descriptor >= 0 && send_with_descriptor(fd_, text.data(), 1, descriptor, 0);
  put(text, began);
}

bool Status::offer(const JsonObject& line, int descriptor) {
  std::lock_guard guard(lock_);
  const std::string text = line.str() + "\n";
  if (fd_ < 0 || !socket_ || !send_with_descriptor(fd_, text.data(), 1, descriptor, MSG_DONTWAIT)) return false;
  put(text, 1);
  return true;
}

void Status::put(const std::string& text, size_t at) {
  if (fd_ < 0) return;
  int tries = 3;
  while (at < text.size()) {
    ssize_t done = write(fd_, text.data() + at, text.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      const bool gone = done < 0 && (errno == EPIPE || errno == EBADF);
      if (gone) fd_ = -1;
      if (gone || !tries--) return;
      continue;
    }
    at += static_cast<size_t>(done);
  }
}

void Status::error(const std::string& code, const std::string& text, uint32_t pid) {
  JsonObject line;
  line.put("event", "error").put("code", code).put("text", text);
  if (pid) line.put("pid", pid);
  say(line);
}

}  // namespace dt
