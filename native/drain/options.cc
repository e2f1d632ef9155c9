// The command line of the drainer: the options, and the meaning of several together.
#include "options.h"

#include "../common/json.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

namespace dt {
namespace {

const char* const USAGE =
    "usage: drawtap-drain --socket PATH --output FILE.dtap [--status FD|PATH] [--ready-fd N]\n"
    "  [--timing both|entry|none] [--inline-limit BYTES] [--pool-limit BYTES] [--chunk-bytes N] [--level N]\n"
    "  [--workers N] [--annotation JSON ...] [--signatures PATH] [--adopt-fd N] [--exit-when-idle SECONDS]\n"
    "  [--watch-pid PID] [--control PATH|auto|none] [--paused yes|no] [--keep-existing yes|no]\n"
    "  [--to ADDRESS] [--serve ADDRESS] [--wait SECONDS] [--stall SECONDS] [--token-file FILE] [--remote yes|no]\n"
    "  [--stopped SECONDS] [--sync SECONDS] [--end-it yes|no] [--count yes|no] [--window-fd N]\n"
    "  [--spill FILE] [--identity full|none] [--when-full block|drop-frames] [--process NAME] [--buffer BYTES]\n"
    "  [--ring 10s|500M [--ring-limit BYTES] [--ring-keep CALLS] [--ring-take CALLS] [--ring-least CALLS] [--before "
    "S] [--after S]\n"
    "  [--on-error] [--on-mark TEXT ...] [--frame-over MS[:N]] [--fps-below FPS[:N]] [--at-exit] [--not-at-crash]\n"
    "  [--most-saves N] [--save-gap S] [--frame-end RULE]]\n"
    "Lines on standard input are JSON objects; \"do\" is annotate (annotation), watch (pid), exit or signal (value), "
    "peek,\n"
    "or save (reason, detail, limited). SIGUSR1 and SIGUSR2 save, too.\n";

}  // namespace

void usage(const std::string& wrong) {
  fprintf(stderr, "drawtap-drain: %s\n%s", wrong.c_str(), USAGE);
  exit(2);
}

namespace {

// An option and its value.
struct Given {
  const std::string& name;
  const std::string& value;

  [[noreturn]] void refuse(const std::string& expected) const { usage(name + " " + value + ": expected " + expected); }
  template <typename T> T number(T least, T most) const {
    T result{};
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || end != value.data() + value.size() || result < least || result > most)
      refuse("a number from " + std::to_string(least) + " to " + std::to_string(most));
    return result;
  }
  double seconds(double least, double most) const {
    char* end = nullptr;
    const double result = strtod(value.c_str(), &end);
    if (end == value.c_str() || *end || !(result >= least && result <= most))
      refuse("seconds from " + std::to_string(least) + " to " + std::to_string(most));
    return result;
  }
  bool yes() const {
    if (value != "yes" && value != "no") refuse("yes or no");
    return value == "yes";
  }
  // The place of the value among `words`.
  size_t among(std::initializer_list<const char*> words, const char* expected) const {
    const auto at = std::find(words.begin(), words.end(), value);
    if (at == words.end()) usage(name + ": expected " + expected);
    return static_cast<size_t>(at - words.begin());
  }
  uint64_t time_ns() const {
    uint64_t ns = 0, bytes = 0;
    if (value != "0" && (!parse_window(value, &ns, &bytes) || bytes)) refuse("a time, as in 5s");
    return ns;
  }
};

// The token of a stream: of a file, or of the environment, never an argument that everybody can see.
std::string read_token(const std::string& path) {
  std::string token;
  if (path.empty()) {
    const char* value = getenv("DRAWTAP_TOKEN");
    token = value ? value : "";
  } else {
    std::ifstream file(path);
    if (!file || !std::getline(file, token)) usage("--token-file " + path + ": cannot be read, or is empty");
  }
  while (!token.empty() && isspace(static_cast<unsigned char>(token.back()))) token.pop_back();
  if (token.size() > 1024) usage("the token is longer than 1024 bytes");
  return token;
}

// A limit, and after a colon for how many frames.
std::pair<double, uint32_t> frame_limit(const Given& g) {
  const size_t colon = g.value.find(':');
  char* end = nullptr;
  const double limit = strtod(g.value.c_str(), &end);
  if (end == g.value.c_str() || (*end && *end != ':') || !(limit > 0) || limit > 1e9)
    g.refuse("a number, and after a colon for how many frames");
  if (colon == std::string::npos) return {limit, 1};
  return {limit, Given{g.name, g.value.substr(colon + 1)}.number<uint32_t>(1, 1 << 20)};
}

void annotation(Options& o, const Given& g) {
  if (const std::string wrong = JsonReader::check_object(g.value); !wrong.empty())
    usage("--annotation: expected a JSON object: " + wrong);
  o.annotations.push_back(g.value);
}

void timing(Options& o, const Given& g) {
  static const uint32_t timings[] = {DT_TIMING_BOTH, DT_TIMING_ENTRY, DT_TIMING_NONE};
  o.pool.timing = timings[g.among({"both", "entry", "none"}, "both, entry or none")];
}

void buffer(Options& o, const Given& g) {
  o.session.most_backlog_bytes = g.number<uint64_t>(1 << 20, 1ull << 34);
  o.stream.window = std::min<uint64_t>(o.session.most_backlog_bytes / 2, 64 << 20);
}

void ring(Options& o, const Given& g) {
  RingSettings& ring = o.session.ring;
  if (!parse_window(g.value, &ring.window_ns, &ring.window_bytes)) g.refuse("a time or a size, as in 10s or 500M");
}

void frame_over(Options& o, const Given& g) {
  const auto [limit, frames] = frame_limit(g);
  o.session.ring.frame_over_ns = static_cast<uint64_t>(limit * 1e6), o.session.ring.over_frames = frames;
}

void fps_below(Options& o, const Given& g) {
  const auto [limit, frames] = frame_limit(g);
  o.session.ring.fps_below_milli = static_cast<uint64_t>(limit * 1e3), o.session.ring.below_frames = frames;
}

struct Option {
  std::string_view name;
  void (*take)(Options& o, const Given& g);
};

const Option OPTIONS[] = {
    {"--annotation", annotation},
    {"--timing", timing},
    // of files, pools, streams and programs
    {"--identity", [](Options& o, const Given& g) { o.session.anonymous = g.among({"full", "none"}, "full or none"); }},
    {"--socket", [](Options& o, const Given& g) { o.socket = g.value; }},
    {"--output", [](Options& o, const Given& g) { o.output = g.value; }},
    {"--status", [](Options& o, const Given& g) { o.status = g.value; }},
    {"--signatures", [](Options& o, const Given& g) { o.signatures = g.value; }},
    {"--ready-fd", [](Options& o, const Given& g) { o.ready_fd = g.number<int>(0, 1 << 20); }},
    {"--adopt-fd", [](Options& o, const Given& g) { o.adopt_fd = g.number<int>(0, 1 << 20); }},
    {"--inline-limit", [](Options& o, const Given& g) { o.pool.inline_limit = g.number<uint64_t>(16, 0x1fff * 8); }},
    {"--pool-limit", [](Options& o, const Given& g) { o.pool.limit_bytes = g.number<uint64_t>(1 << 17, 1ull << 36); }},
    {"--chunk-bytes", [](Options& o, const Given& g) { o.pool.chunk_bytes = g.number<uint32_t>(1 << 16, 1 << 26); }},
    {"--level", [](Options& o, const Given& g) { o.session.level = g.number<int>(-20, 19); }},
    {"--workers", [](Options& o, const Given& g) { o.session.workers = g.number<unsigned>(1, 16); }},
    {"--control", [](Options& o, const Given& g) { o.control = g.value; }},
    {"--to", [](Options& o, const Given& g) { o.stream.to = g.value, o.stream.serve = false; }},
    {"--serve", [](Options& o, const Given& g) { o.stream.to = g.value, o.stream.serve = true; }},
    {"--wait", [](Options& o, const Given& g) { o.stream.wait = g.seconds(0, 1e9); }},
    {"--stall", [](Options& o, const Given& g) { o.stream.stall = g.seconds(0.1, 1e9); }},
    {"--buffer", buffer},
    {"--token-file", [](Options& o, const Given& g) { o.token_file = g.value; }},
    {"--remote", [](Options& o, const Given& g) { o.stream.remote = g.yes(); }},
    {"--spill", [](Options& o, const Given& g) { o.session.spill = g.value; }},
    {"--process", [](Options& o, const Given& g) { o.process = g.value; }},
    {"--when-full",
     [](Options& o, const Given& g) {
       o.session.drop_frames = g.among({"block", "drop-frames"}, "block or drop-frames");
     }},
    {"--stopped",
     [](Options& o, const Given& g) { o.pool.stopped_ms = static_cast<uint32_t>(g.seconds(0.1, 3600) * 1000); }},
    {"--sync", [](Options& o, const Given& g) { o.session.sync_seconds = g.seconds(0.1, 86400); }},
    {"--paused", [](Options& o, const Given& g) { o.paused = g.yes(); }},
    {"--window-fd",
     [](Options& o, const Given& g) { o.window_fd = g.number<int>(0, 1 << 20), o.session.window = true; }},
    {"--count", [](Options& o, const Given& g) { o.count = g.yes(); }},
    {"--end-it", [](Options& o, const Given& g) { o.end_it = g.yes(); }},
    {"--keep-existing", [](Options& o, const Given& g) { o.keep_existing = g.yes(); }},
    {"--watch-pid", [](Options& o, const Given& g) { o.watch_pid = g.number<uint32_t>(1, 1u << 30); }},
    {"--exit-when-idle", [](Options& o, const Given& g) { o.exit_when_idle = g.seconds(0, 1e9); }},
    // of the flight recorder
    {"--ring", ring},
    {"--before", [](Options& o, const Given& g) { o.session.ring.before_ns = g.time_ns(); }},
    {"--after", [](Options& o, const Given& g) { o.session.ring.after_ns = g.time_ns(); }},
    {"--save-gap", [](Options& o, const Given& g) { o.session.ring.least_gap_ns = g.time_ns(); }},
    {"--ring-limit",
     [](Options& o, const Given& g) { o.session.ring.limit_bytes = g.number<uint64_t>(1 << 20, 1ull << 40); }},
    {"--ring-keep", [](Options& o, const Given& g) { o.session.ring.keep_limit = g.number<uint64_t>(1, 1ull << 28); }},
    {"--ring-take", [](Options& o, const Given& g) { o.session.ring.take_limit = g.number<uint64_t>(0, 1ull << 28); }},
    {"--ring-least",
     [](Options& o, const Given& g) { o.session.ring.least_calls = g.number<uint64_t>(1, 1ull << 28); }},
    {"--most-saves", [](Options& o, const Given& g) { o.session.ring.most_saves = g.number<uint32_t>(0, 1 << 20); }},
    {"--on-mark", [](Options& o, const Given& g) { o.session.ring.marks.push_back(g.value); }},
    {"--frame-end", [](Options& o, const Given& g) { o.session.ring.frame_end = g.value; }},
    {"--frame-over", frame_over},
    {"--fps-below", fps_below}};

// Settle what options say together.
void settle(Options& o) {
  o.session.timing = o.pool.timing;
  // While disk or receiver take nothing, a program waits as long as a receiver is waited for.
  o.pool.hold_ms = static_cast<uint32_t>(std::min(o.stream.stall, 1e6) * 1000);
  if (is_address(o.output) && o.stream.to.empty()) o.stream.to = o.output;  // a successor learns where the trace went
  if (o.stream.to.empty())
    o.session.spill.clear();
  else
    o.output = o.session.spill.empty() ? "/nonexistent/stream.dtap" : o.session.spill;
  if (!o.stream.to.empty()) {
    o.stream.token = read_token(o.token_file);
    o.pool.hold_ms += 5000;  // the drainer gives the receiver up before
  }
  if (o.session.drop_frames) o.pool.hold_ms = o.pool.stopped_ms = std::min(DROP_HOLD_MS, o.pool.stopped_ms);
  if (o.output.empty()) usage("--output is missing");
  if (o.output[0] != '/') {
    // The tap hands this name to a successor, which may start in another folder.
    if (char* folder = getcwd(nullptr, 0)) {
      o.output = std::string(folder) + "/" + o.output;
      free(folder);
    }
  }
  if (o.socket.empty() && o.adopt_fd < 0) usage("--socket is missing");
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options o;
  if (const char* named = getenv("DRAWTAP_TOKEN_FILE")) o.token_file = named;
  if (const char* remote = getenv("DRAWTAP_ALLOW_REMOTE")) o.stream.remote = !strcmp(remote, "1");
  if (const char* identity = getenv("DRAWTAP_IDENTITY")) o.session.anonymous = !strcmp(identity, "none");
  o.session.workers = sysconf(_SC_NPROCESSORS_ONLN) >= 4 ? 2 : 1;
  for (int i = 1; i < argc; i++) {
    const std::string name = argv[i];
    if (name == "--help") {
      fputs(USAGE, stdout);
      exit(0);
    }
    RingSettings& ring = o.session.ring;
    if (name == "--on-error" || name == "--at-exit" || name == "--not-at-crash") {
      if (name == "--on-error")
        ring.on_error = true;
      else if (name == "--at-exit")
        ring.at_exit = true;
      else
        ring.at_crash = false;
      continue;
    }
    if (name == "--version") {
      puts("drawtap-drain " DRAWTAP_VERSION);
      exit(0);
    }
    if (i + 1 >= argc) usage(name + ": unknown, or its value is missing");
    const std::string value = argv[++i];
    const Option* option =
        std::find_if(std::begin(OPTIONS), std::end(OPTIONS), [&](auto& o) { return o.name == name; });
    if (option == std::end(OPTIONS)) usage(name + ": unknown");
    option->take(o, {name, value});
  }
  settle(o);
  // A flight recorder takes chunks in part, and before their calls are complete.
  o.pool.names_contents = !o.session.ring.on();
  return o;
}

}  // namespace dt
