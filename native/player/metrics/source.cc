#include "source.h"
#include "gl_enums.h"

#include <time.h>

#include <map>
#include <mutex>
#include <set>

namespace dt::play::metrics {
namespace {

std::vector<Backend*>& list() {
  static std::vector<Backend*> made;
  return made;
}
const void* g_current = nullptr;

}  // namespace

Backend::Backend(const char* n) : name(n) { list().push_back(this); }
const std::vector<Backend*>& backends() { return list(); }
Backend* backend(std::string_view name) {
  for (Backend* b : list())
    if (name == b->name) return b;
  return nullptr;
}

const void* current_context() { return g_current; }
void set_current_context(const void* context) { g_current = context; }
bool is_es() { return tls.context && tls.context->api == 2; }

uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000ull + static_cast<uint64_t>(t.tv_nsec);
}

std::string& pictures_folder() {
  static std::string folder;
  return folder;
}

ResultsHere::ResultsHere() {
  if (is_es() || !tls.context || tls.context->version < 44) return;
  driver::glGetIntegerv(GL_QUERY_BUFFER_BINDING, &buffer_);
  if (buffer_) driver::glBindBuffer(GL_QUERY_BUFFER, 0);
}
ResultsHere::~ResultsHere() {
  if (buffer_) driver::glBindBuffer(GL_QUERY_BUFFER, static_cast<uint32_t>(buffer_));
}

const char* lasting(const std::string& text) {
  static std::set<std::string> kept;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  return kept.insert(text).first->c_str();
}

bool has_extension(const char* name) {
  static std::map<std::pair<const void*, std::string>, bool> asked;
  auto [it, fresh] = asked.try_emplace({g_current, name}, false);
  if (fresh) it->second = tls.context && gl::has_extension(tls.context, name);
  return it->second;
}

uint32_t take_error() { return driver::glGetError ? driver::glGetError() : 0; }
void drain_errors() {
  for (int i = 0; i < 16 && take_error(); ++i) {}
}

}  // namespace dt::play::metrics
