// The C ABI. Nothing throws out of here.
#include "peers.h"

#include <filesystem>

#include "../core/border.h"
#include "import.h"

namespace dt::peers {

std::atomic<bool> g_cancel{false};
std::atomic<uint64_t> g_done{0};

namespace {

thread_local std::string g_error, g_json;
std::atomic<uint64_t> g_total{0};

// Between two imports there is no progress: the next one does not begin with the figures of the last.
struct Progress {
  explicit Progress(uint64_t bytes) { g_total = bytes; }
  ~Progress() { g_done = 0, g_total = 0; }
};

int run(std::string (*import)(const dt_import&), const dt_import* options, const char** json) {
  return at_border(g_error, [&] {
    need(options && options->input && options->output && options->signatures && json, "a path");
    std::error_code unknown;
    const auto bytes = std::filesystem::file_size(options->input, unknown);
    g_cancel = false;
    const Progress progress(unknown ? 0 : bytes);
    g_json = import(*options);
    *json = g_json.c_str();
  });
}

}  // namespace
}  // namespace dt::peers

extern "C" {

const char* dt_peers_last_error(void) { return dt::peers::g_error.c_str(); }
void dt_import_cancel(void) { dt::peers::g_cancel = true; }
void dt_import_progress(uint64_t* done, uint64_t* total) {
  if (done) *done = dt::peers::g_done;
  if (total) *total = dt::peers::g_total;
}

int dt_import_apitrace(const dt_import* options, const char** json) {
  return dt::peers::run(dt::peers::import_apitrace, options, json);
}
int dt_import_tcy2(const dt_import* options, const char** json) {
  return dt::peers::run(dt::peers::import_tcy2, options, json);
}

}  // extern "C"
