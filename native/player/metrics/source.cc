#include "source.h"
#include "gl_enums.h"

#include <map>
#include <string>
#include <utility>

namespace dt::play::metrics {
namespace {

const void* g_current = nullptr;

}  // namespace

const void* current_context() { return g_current; }
void set_current_context(const void* context) { g_current = context; }
bool is_es() { return tls.context && tls.context->api == 2; }

ResultsHere::ResultsHere() {
  if (is_es() || !tls.context || tls.context->version < 44) return;
  driver::glGetIntegerv(GL_QUERY_BUFFER_BINDING, &buffer_);
  if (buffer_) driver::glBindBuffer(GL_QUERY_BUFFER, 0);
}
ResultsHere::~ResultsHere() {
  if (buffer_) driver::glBindBuffer(GL_QUERY_BUFFER, static_cast<uint32_t>(buffer_));
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
