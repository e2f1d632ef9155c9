// drawtap-play: plays a trace again. `drawtap replay` starts it; it can be started alone.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "../common/json.h"
#include "attachments.h"
#include "command_line.h"
#include "measures.h"
#include "objects.h"
#include "windows.h"

namespace dt::play {
namespace {

// OpenVG is played on drawtap's engine, which lies beside this program. Libraries are searched for from the start of a
// process on, so it starts again where they are not yet found first.
void find_openvg(const Trace& trace, char** arguments) {
  bool needed = false;
  for (auto& f : trace.signatures.functions) needed |= f.api == "vg" && trace.calls_of(f.id) > 0;
  if (!needed || getenv("DRAWTAP_OPENVG")) return;
  std::error_code failed;
  auto own = std::filesystem::read_symlink("/proc/self/exe", failed);
  auto folder = own.parent_path() / "openvg";
  if (failed || !std::filesystem::exists(folder / "libOpenVG.so.1", failed)) return;
  const char* old = getenv("LD_LIBRARY_PATH");
  setenv("LD_LIBRARY_PATH", old && *old ? (folder.string() + ":" + old).c_str() : folder.c_str(), 1);
  setenv("DRAWTAP_OPENVG", "1", 1);
  fflush(nullptr);
  execv(own.c_str(), arguments);
  fprintf(stderr, "drawtap-play: %s: %s\n", own.c_str(), strerror(errno));
}

// The value in the file: the last word on `key` among the annotations of a kind, or "".
std::string annotated(const Trace& trace, std::string_view kind, std::string_view key) {
  std::string last;
  for (auto& a : trace.annotations)
    if (a.kind == kind) last = JsonReader::member(a.json, key).text();
  return last;
}

// {"objects": [{"call": CALL, "what": {...}, "file": FILE}, ...]}: what of an object is saved after a call.
bool objects(const char* path, std::vector<Point>& points) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  Json json;
  if (!file || !JsonReader::read_object(text, json).empty() || !json["objects"]) return false;
  for (const Json& wanted : json["objects"].items()) {
    Point point;
    ObjectImage image;
    point.what = Point::OBJECT;
    point.path = wanted["what"].raw();
    point.target = wanted["file"].text();
    if (!wanted["call"].read(point.seq) || !parse_object(point.path, image)) return false;
    points.push_back(std::move(point));
  }
  return true;
}

bool read_bits(const std::string& path, std::vector<uint8_t>& bits) {
  FILE* file = fopen(path.c_str(), "rb");
  if (!file) return false;
  uint8_t part[1 << 16];
  for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;) bits.insert(bits.end(), part, part + n);
  fclose(file);
  if (bits.empty()) bits.push_back(0);  // nothing is kept
  return true;
}

// The options of the command line.
struct CommandLine : Asked, Wanted {
  bool probe = false;
  std::string query_path;
};

bool take_states(CommandLine& w, char** values) {
  std::vector<std::pair<uint64_t, uint64_t>> calls;
  if (!executions(values[0], calls)) return false;
  for (auto& [call, by] : calls) {
    Point point;
    point.seq = call;
    w.options.points.push_back(std::move(point));
  }
  return true;
}

const OptionOf<CommandLine> OPTIONS[] = {
    {"--frames", "A:B", "A:B with A < B", take_range, "measure and save only these frames; play no further than B"},
    {"--loop", "N", "a number", positive<&Options::loops>, "play the frames N times (decoded once)"},
    {"--verify", "", "", option_flag<&Options::verify>,
     "compare read-backs, GL errors and frame hashes with the recording"},
    {"--snapshots", "PREFIX", "a prefix", take_snapshots, "save each frame as PREFIX000000.png"},
    {"--snapshot-at", "WHAT", "frames, draws or every (:N), or calls:A,B,C", take_snapshot_at,
     "frames, draws, every (call), each with :N for each Nth; calls:A,B,C"},
    {"--attachments", "LIST", "some of color,depth,stencil,buffers", take_attachments,
     "color,depth,stencil,buffers: what snapshots are of (color)"},
    {"--format", "WORD", "a word", option_word<&Options::snapshot_format>, "of snapshots: png, ppm or rgba"},
    {"--x11", "", "", option_flag<&Options::x11>, "show windows on $DISPLAY"},
    {"--config", "LIST", "a list", option_word<&Options::config>,
     "ask for red=8,green=8,blue=8,alpha=8,depth=24,stencil=8,samples=4,buffer=32 or id=0x1c"},
    {"--debug", "", "", option_flag<&Options::debug>, "tell the driver's messages, with the calls that they are about"},
    {"--hashes", "", "", take_hashes, "report the hash of each frame"},
    {"--image", "CALL FILE", "a call and a file", take_image, "save the image after a call and stop"},
    {"--stop-at", "CALL", "a call", [](CommandLine& w, char** v) { return number(v[0], w.options.stop_call); },
     "play no further than this call"},
    {"--query-state", "CALLS", "numbers of calls", take_states,
     "after these calls (A,B,C) ask the driver for its state: lines of JSON, [SEQ, PATH, VALUE]"},
    {"--query-path", "PATH", "a word", word<&CommandLine::query_path>, "only paths that begin so"},
    {"--query-file", "FILE", "a word", option_word<&Options::query_file>, "of these lines; else standard output"},
    {"--objects", "FILE", "a file of JSON (objects.h)",
     [](CommandLine& w, char** v) { return objects(v[0], w.options.points); },
     "save what objects hold: {\"objects\": [{\"call\", \"what\" (objects.h), \"file\"}, ...]}"},
    {"--serve", "", "", option_flag<&Options::serve>, "answer requests from standard input, lines of JSON (points.cc)"},
    {"--look", "", "", option_flag<&Options::look>,
     "with --serve: answer requests to look (native/player/metrics/look.h), too"},
    {"--frame-end", "RULE", "a rule", option_word<&Options::frame_end>, "what ends a frame"},
    {"--as-recorded", "", "", option_flag<&Options::as_recorded>, "keep the recorded pace"},
    {"--single-thread", "", "", option_flag<&Options::single_thread>, "play all threads on one"},
    {"--preload", "", "", option_flag<&Options::preload>, "decode everything first"},
    {"--window", "N", "a number", positive<&Options::window>, "decode at most N chunks ahead"},
    {"--benchmark", "", "", option_flag<&Options::benchmark>, "time each frame"},
    {"--keep", "FILE", "a file", option_word<&Options::keep_path>,
     "play only the calls whose bits are set in FILE: one bit a call, the lowest of a byte first; bytes behind them: "
     "one "
     "bit a row of the table map_writes (none: each stays with its call)"},
    {"--errors", "", "", option_flag<&Options::errors>,
     "say which GL errors there are, with the calls that raise them"},
    {"--shift-names", "", "", option_flag<&Options::shift_names>,
     "give objects other names than the recording's (a test of the player)"},
    {"--probe", "", "", flag<&CommandLine::probe>, "say what there is to play on"},
    {"--metrics", "", "", flag<&CommandLine::list>, "say what can be measured: here, or in the recording's contexts"},
    {"--measure", "FILE", "a file", word<&CommandLine::measure>,
     "measure what FILE says (JSON of native/player/metrics/measure.h) ..."},
    {"--measured", "FILE", "a file", word<&CommandLine::measured>,
     "... into FILE; of several passes, one a loop, into FILE.0, FILE.1 ..."},
    {"--plan", "FILE", "a file", word<&CommandLine::plan>, "say in which passes what FILE says can be measured"},
    {"--heartbeat", "FD", "a descriptor", positive<&Options::heartbeat>,
     "store the call that comes next in this shared memory, 8 bytes (options.h)"},
    {"--status", "FILE", "a file", option_word<&Options::status_path>,
     "JSON lines: progress, findings, result; - for standard output (default)"},
};

int usage(const std::string& what) {
  fprintf(stderr, "drawtap-play: %s\n", what.c_str());
  print_usage(stderr, "drawtap-play", OPTIONS);
  return 2;
}

// The same for what belongs together; files that options name are read.
std::string complete(CommandLine& w) {
  Options& o = w.options;
  if (w.measure.empty() != w.measured.empty()) return "--measure and --measured belong together";
  if (o.trace.empty() && !w.probe && !w.list) return "which trace?";
  if (!o.keep_path.empty() && !read_bits(o.keep_path, o.keep)) return o.keep_path + " cannot be read";
  for (auto& point : o.points)
    if (point.what == Point::STATE) point.path = w.query_path;
  if (!o.executions.empty()) {
    if (!o.snapshots) return "--snapshot-at needs --snapshots";
    o.snapshots = false;
  }
  for (auto& [call, by] : o.executions) {
    Point point;
    char name[40];
    snprintf(name, sizeof name, "call%09llu", static_cast<unsigned long long>(call));
    point.seq = call;
    point.what = Point::SNAPSHOT;
    point.target = o.snapshot_prefix + name;
    o.points.push_back(std::move(point));
  }
  std::stable_sort(o.points.begin(), o.points.end(), [](auto& x, auto& y) { return x.seq < y.seq; });
  return "";
}

// Recordings of Vulkan have a player of their own beside this one, which is given the same command line. Programs that
// draw with Vulkan may ask OpenGL for what it has, and draw nothing with it.
void hand_over_vulkan(const Trace& trace, char** arguments) {
  constexpr uint64_t DRAWS =
      FLAG_DRAW | FLAG_STATEFUL_DRAW | FLAG_DISPATCH | FLAG_CLEAR | FLAG_FRAME_END | FLAG_READBACK;
  uint64_t vulkan = 0, others = 0;
  for (auto& f : trace.signatures.functions) {
    if (f.id >= DT_FN_FIRST_TAP) continue;
    if (f.api == "vk") vulkan += trace.calls_of(f.id);
    if (f.api != "vk" && f.flags & DRAWS) others += trace.calls_of(f.id);
  }
  if (!vulkan || others) return;
  std::error_code failed;
  const auto other = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path() / "drawtap-play-vk";
  fflush(nullptr);
  if (!failed) execv(other.c_str(), arguments);
  throw Error(DT_E_ARGUMENT, "the recording is of Vulkan, and its player cannot be started: " + other.string() + ": " +
                                 strerror(errno));
}

int play(CommandLine& w, char** argv) {
  Options& o = w.options;
  const auto trace = std::make_shared<Trace>(o.trace);
  hand_over_vulkan(*trace, argv);
  for (auto& [call, by] : o.executions)
    if (by) throw Error(DT_E_ARGUMENT, "calls of this recording draw when they are made: A@B is for Vulkan");
  find_openvg(*trace, argv);  // before anything asks what can be measured
  std::string why;
  const auto measuring = measures(w, o, why);
  if (!why.empty()) return usage(why);
  if (o.frame_end.empty()) o.frame_end = annotated(*trace, "command", "frame_end");  // `record --frame-end`
  trace->set_frame_end(o.frame_end.empty() ? "auto" : o.frame_end);
  if (o.config.empty()) o.config = annotated(*trace, "player", "config");  // `set-egl-config`
  int code = 3;
  {
    Player player(*trace, o);
    const auto observer = measuring ? measuring->watch(player) : nullptr;
    code = player.run();
  }
  fflush(nullptr);
  _exit(code);  // drivers have been seen to crash in their exit handlers
}

}  // namespace
}  // namespace dt::play

int main(int argc, char** argv) {
  using namespace dt::play;
  CommandLine w;
  w.options.status_path = "-";
  w.options.frame_end.clear();
  std::string wrong = parse(argc, argv, w, OPTIONS);
  if (w.help) return print_usage(stdout, "drawtap-play", OPTIONS), 0;
  if (wrong.empty()) wrong = complete(w);
  if (!wrong.empty()) return usage(wrong);
#if defined(M_MMAP_THRESHOLD)
  // Chunks come and go: their memory is used again instead of being given back to the system each time.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
#endif
  try {
    if (w.probe || (w.list && w.options.trace.empty())) {
      if (w.probe)
        puts(probe().c_str());
      else
        list_metrics(stdout);
      fflush(stdout);
      _exit(0);
    }
    return play(w, argv);
  } catch (const dt::Error& error) {
    fprintf(stderr, "drawtap-play: %s\n", error.what());
    return error.code == DT_E_ARGUMENT ? 3 : 4;
  } catch (const std::exception& error) {
    fprintf(stderr, "drawtap-play: %s\n", error.what());
    return 4;
  }
}
