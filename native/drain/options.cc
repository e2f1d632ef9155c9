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

template <typename T> T number(const std::string& option, const std::string& text, T least, T most) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    usage(option + " " + text + ": expected a number from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

double seconds_option(const std::string& option, const std::string& text, double least, double most) {
  char* end = nullptr;
  const double value = strtod(text.c_str(), &end);
  if (end == text.c_str() || *end || !(value >= least && value <= most))
    usage(option + " " + text + ": expected seconds from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

bool yes_or_no(const std::string& option, const std::string& text) {
  if (text != "yes" && text != "no") usage(option + " " + text + ": expected yes or no");
  return text == "yes";
}

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

// Options of the flight recorder. False: `name` is none of them.
bool ring_option(RingSettings& ring, const std::string& name, const std::string& value) {
  if (name == "--ring") {
    if (!parse_window(value, &ring.window_ns, &ring.window_bytes))
      usage("--ring " + value + ": expected a time or a size, as in 10s or 500M");
  } else if (name == "--before" || name == "--after" || name == "--save-gap") {
    uint64_t bytes = 0;
    uint64_t& ns = name == "--before" ? ring.before_ns : name == "--after" ? ring.after_ns : ring.least_gap_ns;
    if (value == "0")
      ns = 0;
    else if (!parse_window(value, &ns, &bytes) || bytes)
      usage(name + " " + value + ": expected a time, as in 5s");
  } else if (name == "--ring-limit")
    ring.limit_bytes = number<uint64_t>(name, value, 1 << 20, 1ull << 40);
  else if (name == "--ring-keep")
    ring.keep_limit = number<uint64_t>(name, value, 1, 1ull << 28);
  else if (name == "--ring-take")
    ring.take_limit = number<uint64_t>(name, value, 0, 1ull << 28);
  else if (name == "--ring-least")
    ring.least_calls = number<uint64_t>(name, value, 1, 1ull << 28);
  else if (name == "--most-saves")
    ring.most_saves = number<uint32_t>(name, value, 0, 1 << 20);
  else if (name == "--on-mark")
    ring.marks.push_back(value);
  else if (name == "--frame-end")
    ring.frame_end = value;
  else if (name == "--frame-over" || name == "--fps-below") {
    const size_t colon = value.find(':');
    char* end = nullptr;
    const double limit = strtod(value.c_str(), &end);
    if (end == value.c_str() || (*end && *end != ':') || !(limit > 0) || limit > 1e9)
      usage(name + " " + value + ": expected a number, and after a colon for how many frames");
    const uint32_t frames =
        colon == std::string::npos ? 1 : number<uint32_t>(name, value.substr(colon + 1), 1, 1 << 20);
    if (name == "--frame-over")
      ring.frame_over_ns = static_cast<uint64_t>(limit * 1e6), ring.over_frames = frames;
    else
      ring.fps_below_milli = static_cast<uint64_t>(limit * 1e3), ring.below_frames = frames;
  } else
    return false;
  return true;
}

// Options about the content of a trace's calls. False: `name` is no such option.
bool content_option(Options& o, const std::string& name, const std::string& value) {
  if (name == "--annotation") {
    if (const std::string wrong = JsonReader::check_object(value); !wrong.empty())
      usage("--annotation: expected a JSON object: " + wrong);
    o.annotations.push_back(value);
  } else if (name == "--timing") {
    if (value == "both")
      o.pool.timing = DT_TIMING_BOTH;
    else if (value == "entry")
      o.pool.timing = DT_TIMING_ENTRY;
    else if (value == "none")
      o.pool.timing = DT_TIMING_NONE;
    else
      usage("--timing: expected both, entry or none");
  } else
    return false;
  return true;
}

// Options of files, pools, streams and programs. False: `name` is none of them.
bool general_option(Options& o, std::string& token_file, const std::string& name, const std::string& value) {
  if (name == "--identity") {
    if (value != "full" && value != "none") usage("--identity: expected full or none");
    o.session.anonymous = value == "none";
  } else if (name == "--socket")
    o.socket = value;
  else if (name == "--output")
    o.output = value;
  else if (name == "--status")
    o.status = value;
  else if (name == "--signatures")
    o.signatures = value;
  else if (name == "--ready-fd")
    o.ready_fd = number<int>(name, value, 0, 1 << 20);
  else if (name == "--adopt-fd")
    o.adopt_fd = number<int>(name, value, 0, 1 << 20);
  else if (name == "--inline-limit")
    o.pool.inline_limit = number<uint64_t>(name, value, 16, 0x1fff * 8);
  else if (name == "--pool-limit")
    o.pool.limit_bytes = number<uint64_t>(name, value, 1 << 17, 1ull << 36);
  else if (name == "--chunk-bytes")
    o.pool.chunk_bytes = number<uint32_t>(name, value, 1 << 16, 1 << 26);
  else if (name == "--level")
    o.session.level = number<int>(name, value, -20, 19);
  else if (name == "--workers")
    o.session.workers = number<unsigned>(name, value, 1, 16);
  else if (name == "--control")
    o.control = value;
  else if (name == "--to" || name == "--serve") {
    o.stream.to = value;
    o.stream.serve = name == "--serve";
  } else if (name == "--wait")
    o.stream.wait = seconds_option(name, value, 0, 1e9);
  else if (name == "--stall")
    o.stream.stall = seconds_option(name, value, 0.1, 1e9);
  else if (name == "--buffer") {
    o.session.most_backlog_bytes = number<uint64_t>(name, value, 1 << 20, 1ull << 34);
    o.stream.window = std::min<uint64_t>(o.session.most_backlog_bytes / 2, 64 << 20);
  } else if (name == "--token-file")
    token_file = value;
  else if (name == "--remote")
    o.stream.remote = yes_or_no(name, value);
  else if (name == "--spill")
    o.session.spill = value;
  else if (name == "--process")
    o.process = value;
  else if (name == "--when-full") {
    if (value != "block" && value != "drop-frames") usage("--when-full: expected block or drop-frames");
    o.session.drop_frames = value == "drop-frames";
  } else if (name == "--stopped")
    o.pool.stopped_ms = static_cast<uint32_t>(seconds_option(name, value, 0.1, 3600) * 1000);
  else if (name == "--sync")
    o.session.sync_seconds = seconds_option(name, value, 0.1, 86400);
  else if (name == "--paused")
    o.paused = yes_or_no(name, value);
  else if (name == "--window-fd")
    o.window_fd = number<int>(name, value, 0, 1 << 20), o.session.window = true;
  else if (name == "--count")
    o.count = yes_or_no(name, value);
  else if (name == "--end-it")
    o.end_it = yes_or_no(name, value);
  else if (name == "--keep-existing")
    o.keep_existing = yes_or_no(name, value);
  else if (name == "--watch-pid")
    o.watch_pid = number<uint32_t>(name, value, 1, 1u << 30);
  else if (name == "--exit-when-idle")
    o.exit_when_idle = seconds_option(name, value, 0, 1e9);
  else
    return false;
  return true;
}

// Settle what options say together.
void settle(Options& o, const std::string& token_file) {
  o.session.timing = o.pool.timing;
  // While disk or receiver take nothing, a program waits as long as a receiver is waited for.
  o.pool.hold_ms = static_cast<uint32_t>(std::min(o.stream.stall, 1e6) * 1000);
  if (is_address(o.output) && o.stream.to.empty()) o.stream.to = o.output;  // a successor learns where the trace went
  if (o.stream.to.empty())
    o.session.spill.clear();
  else
    o.output = o.session.spill.empty() ? "/nonexistent/stream.dtap" : o.session.spill;
  if (!o.stream.to.empty()) {
    o.stream.token = read_token(token_file);
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
  std::string token_file;
  if (const char* named = getenv("DRAWTAP_TOKEN_FILE")) token_file = named;
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
    if (!general_option(o, token_file, name, value) && !ring_option(ring, name, value) &&
        !content_option(o, name, value))
      usage(name + ": unknown");
  }
  settle(o, token_file);
  // A flight recorder takes chunks in part, and before their calls are complete.
  o.pool.names_contents = !o.session.ring.on();
  return o;
}

}  // namespace dt
