// drawtap-play-vk: plays a recording of Vulkan again. drawtap-play starts it; it can be started alone.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>

#include "../../common/json.h"
#include "../../core/error.h"
#include "../command_line.h"
#include "meter.h"
#include "player.h"

namespace dt::play::vk {
namespace {

struct CommandLine : Asked {
  std::string measure, measured, plan;
  bool list = false;
};

bool ignore(CommandLine&, char**) { return true; }

const OptionOf<CommandLine> OPTIONS[] = {
    {"--frames", "A:B", "A:B with A < B", take_range, "measure and save only these frames; play no further than B"},
    {"--verify", "", "", option_flag<&Options::verify>,
     "compare what the device stored in mapped memory, and answers to queries, with the recording"},
    {"--snapshots", "PREFIX", "a prefix", take_snapshots, "save each frame as PREFIX000000.png"},
    {"--snapshot-at", "WHAT", "frames or draws (:N), or calls:A,B@S,C", take_snapshot_at,
     "frames or draws, with :N each Nth of them, or calls:A,B@S: after these, B as call S submits it"},
    {"--attachments", "LIST", "some of color,depth,stencil,buffers", take_attachments,
     "what snapshots are of: color,depth,stencil after draws, color,buffers after dispatches"},
    {"--format", "WORD", "a word", option_word<&Options::snapshot_format>, "of snapshots: png, ppm or rgba"},
    {"--hashes", "", "", take_hashes, "report the hash of each frame"},
    {"--image", "CALL FILE", "a call and a file", take_image, "save what was shown last before a call, and stop"},
    {"--stop-at", "CALL", "a call",
     [](CommandLine& w, char** v) { return dt::play::number(v[0], w.options.stop_call); },
     "play no further than this call"},
    {"--frame-end", "RULE", "a rule", option_word<&Options::frame_end>, "what ends a frame"},
    {"--single-thread", "", "", ignore, "as always: the calls of all threads are played on one"},
    {"--preload", "", "", option_flag<&Options::preload>, "decode everything first"},
    {"--window", "N", "a number", positive<&Options::window>, "decode at most N chunks ahead"},
    {"--metrics", "", "", flag<&CommandLine::list>, "say what can be measured by the recording's first device"},
    {"--measure", "FILE", "a file", word<&CommandLine::measure>,
     "measure what FILE says (JSON of native/player/metrics/measure.h) ..."},
    {"--measured", "FILE", "a file", word<&CommandLine::measured>, "... into this file (CSV)"},
    {"--plan", "FILE", "a file", word<&CommandLine::plan>, "say in which passes what FILE says can be measured"},
    {"--benchmark", "", "", option_flag<&Options::benchmark>, "time each frame"},
    {"--heartbeat", "FD", "a descriptor", positive<&Options::heartbeat>,
     "store the call that comes next in this shared memory, 8 bytes (options.h)"},
    {"--serve", "", "", option_flag<&Options::serve>, "take requests from standard input, JSON lines"},
    {"--look", "", "", option_flag<&Options::look>, "those of --serve may ask for the history of a pixel"},
    {"--status", "FILE", "a file", option_word<&Options::status_path>,
     "JSON lines: progress, findings, result; - for standard output (default)"},
};

// The abilities of the player of the other APIs besides.
std::string elsewhere(int argc, char** argv) {
  static const std::set<std::string_view> known = {"--loop",        "--x11",        "--config",     "--debug",
                                                   "--query-state", "--query-path", "--query-file", "--objects",
                                                   "--as-recorded", "--keep",       "--errors",     "--shift-names"};
  for (int i = 1; i < argc; ++i)
    if (known.contains(argv[i])) return argv[i];
  return "";
}

// A crash is most often one of the driver; which call led to it is worth a line.
Heartbeat* g_beat;
void crashed(int signal) {
  char text[120];
  const Heartbeat beat = *g_beat;
  const int n = snprintf(text, sizeof text, "drawtap-play: the driver crashed (signal %d) at call %llu\n", signal,
                         static_cast<unsigned long long>(beat & 0xffffffffffff));
  if (n > 0 && write(2, text, static_cast<size_t>(n)) < 0) _exit(3);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

// The meter, where something is to be measured; `why`: the fault of the request.
std::unique_ptr<Meter> meter_of(const CommandLine& w, std::string& why) {
  if (!w.list && w.plan.empty() && w.measure.empty()) return nullptr;
  metrics::Request request;
  if (!w.list && !request.read(w.plan.empty() ? w.measure : w.plan, why)) return nullptr;
  const auto mode = w.list ? Meter::LIST : w.plan.empty() ? Meter::MEASURE : Meter::PLAN;
  const Options& o = w.options;
  return std::make_unique<Meter>(std::move(request), mode, w.measured, stdout, o.first_frame, o.end_frame);
}

int play(CommandLine& w) {
  Options& o = w.options;
  const auto trace = std::make_shared<Trace>(o.trace);
  if (o.frame_end.empty())
    for (auto& a : trace->annotations)
      if (a.kind == "command") o.frame_end = JsonReader::member(a.json, "frame_end").text();  // `record --frame-end`
  trace->set_frame_end(o.frame_end.empty() ? "auto" : o.frame_end);
  std::string why;
  const auto meter = meter_of(w, why);
  if (!why.empty()) throw Error(DT_E_FORMAT, why);
  int code = 3;
  {
    Player player(*trace, o, meter.get());
    g_beat = player.heartbeat();
    for (int each : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) signal(each, crashed);
    code = player.run();
  }
  fflush(nullptr);
  _exit(code);  // drivers have been seen to crash in their exit handlers
}

int usage(const std::string& what) {
  fprintf(stderr, "drawtap-play: %s\n", what.c_str());
  print_usage(stderr, "drawtap-play-vk", OPTIONS);
  return 2;
}

}  // namespace
}  // namespace dt::play::vk

int main(int argc, char** argv) {
  using namespace dt::play;
  using namespace dt::play::vk;
  CommandLine w;
  w.options.status_path = "-";
  w.options.frame_end.clear();
  if (const std::string name = elsewhere(argc, argv); !name.empty()) {
    fprintf(stderr, "drawtap-play: recordings of Vulkan are played without %s yet\n", name.c_str());
    return 3;
  }
  if (const char* engine = getenv("DRAWTAP_PLAY_OPENGL")) {
    fprintf(stderr, "drawtap-play: %s is a driver of OpenGL, and the recording is of Vulkan\n", engine);
    return 3;
  }
  const std::string wrong = parse(argc, argv, w, OPTIONS);
  if (w.help) return print_usage(stdout, "drawtap-play-vk", OPTIONS), 0;
  if (!wrong.empty()) return usage(wrong);
  if (w.options.trace.empty()) return usage("which trace?");
  if (w.measure.empty() != w.measured.empty()) return usage("--measure and --measured belong together");
  if (w.options.snapshot_at == Options::AT_CALLS && w.options.executions.empty()) {
    fputs("drawtap-play: calls of Vulkan draw when they are submitted: snapshots are of frames, draws or calls\n",
          stderr);
    return 3;
  }
  if (!w.options.serve && w.options.attachments != WANT_COLOR && w.options.snapshot_at == Options::AT_FRAMES) {
    fputs("drawtap-play: frames of Vulkan have a color alone; --snapshot-at draws has the other attachments\n", stderr);
    return 3;
  }
  try {
    return play(w);
  } catch (const dt::Error& error) {
    fprintf(stderr, "drawtap-play: %s\n", error.what());
    fflush(nullptr);
    _exit(error.code == DT_E_ARGUMENT ? 3 : 4);
  } catch (const std::exception& error) {
    fprintf(stderr, "drawtap-play: %s\n", error.what());
    fflush(nullptr);
    _exit(4);
  }
}
