// drawtap-play: plays a trace again. `drawtap replay` starts it; it can be started alone.
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "windows.h"

namespace {

const char USAGE[] =
    "usage: drawtap-play [options] TRACE\n"
    "  --frames A:B         measure and save only these frames; play no further than B\n"
    "  --loop N             play the frames N times (decoded once)\n"
    "  --verify             compare read-backs, GL errors and frame hashes with the recording\n"
    "  --snapshots PREFIX   save each frame as PREFIX000000.png\n"
    "  --format png|ppm|rgba  of them\n"
    "  --hashes             report the hash of each frame\n"
    "  --image CALL FILE    save the image after a call and stop\n"
    "  --frame-end RULE     what ends a frame\n"
    "  --as-recorded        keep the recorded pace\n"
    "  --single-thread      play all threads on one\n"
    "  --preload            decode everything first\n"
    "  --window N           decode at most N chunks ahead\n"
    "  --benchmark          time each frame\n"
    "  --shift-names        give objects other names than the recording's (a test of the player)\n"
    "  --probe              say what there is to play on\n"
    "  --status FILE        JSON lines: progress, findings, result; - for standard output (default)\n"
    "exit status: 0 played, 1 played and something differs, 2 usage, 3 nothing to play on, 4 trace broken\n";

bool number(const char* text, uint64_t& out) {
  char* end = nullptr;
  if (!text || *text < '0' || *text > '9') return false;
  out = strtoull(text, &end, 10);
  return *end == 0;
}

bool range(const std::string& text, uint64_t& first, uint64_t& end) {
  size_t colon = text.find(':');
  std::string a = text.substr(0, colon), b = colon == text.npos ? "" : text.substr(colon + 1);
  if (!a.empty() && !number(a.c_str(), first)) return false;
  if (colon == text.npos) end = first + 1;
  else if (!b.empty() && !number(b.c_str(), end)) return false;
  return first < end;
}

// What `record --frame-end` was given travels in the file.
std::string recorded_rule(const dt::Trace& trace) {
  for (auto& a : trace.annotations) {
    if (a.kind != "command") continue;
    constexpr std::string_view key = "\"frame_end\": \"";
    size_t at = a.json.find(key);
    size_t end = at == a.json.npos ? at : a.json.find('"', at + key.size());
    if (end != a.json.npos) return a.json.substr(at + key.size(), end - at - key.size());
  }
  return "auto";
}

int usage(const char* what) {
  fprintf(stderr, "drawtap-play: %s\n%s", what, USAGE);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  dt::play::Options o;
  o.status_path = "-";
  o.frame_end.clear();
  bool probe = false;
  for (int i = 1; i < argc; ++i) {
    std::string a = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    uint64_t n = 0;
    if (a == "--help") return fputs(USAGE, stdout), 0;
    if (a == "--frames") {
      if (!value || !range(value, o.first_frame, o.end_frame)) return usage("--frames needs A:B with A < B");
      ++i;
    } else if (a == "--loop") {
      if (!number(value, o.loops) || !o.loops) return usage("--loop needs a number");
      ++i;
    } else if (a == "--snapshots") {
      if (!value) return usage("--snapshots needs a prefix");
      o.snapshots = true;
      o.snapshot_prefix = argv[++i];
    } else if (a == "--format") {
      if (!value) return usage("--format needs a word");
      o.snapshot_format = argv[++i];
    } else if (a == "--hashes") {
      o.snapshots = o.hashes = true;
    } else if (a == "--image") {
      if (!number(value, o.stop_call) || i + 2 >= argc) return usage("--image needs a call and a file");
      o.image_at_call = true;
      o.snapshot_prefix = argv[i + 2];
      i += 2;
    } else if (a == "--frame-end") {
      if (!value) return usage("--frame-end needs a rule");
      o.frame_end = argv[++i];
    } else if (a == "--window") {
      if (!number(value, n) || !n) return usage("--window needs a number");
      o.window = n;
      ++i;
    } else if (a == "--status") {
      if (!value) return usage("--status needs a file");
      o.status_path = argv[++i];
    } else if (a == "--verify") o.verify = true;
    else if (a == "--as-recorded") o.as_recorded = true;
    else if (a == "--single-thread") o.single_thread = true;
    else if (a == "--preload") o.preload = true;
    else if (a == "--benchmark") o.benchmark = true;
    else if (a == "--shift-names") o.shift_names = true;
    else if (a == "--probe") probe = true;
    else if (a.starts_with("--")) return usage((a + " is no option").c_str());
    else if (!o.trace.empty()) return usage("one trace at a time");
    else o.trace = a;
  }
  if (o.trace.empty() && !probe) return usage("which trace?");
#if defined(M_MMAP_THRESHOLD)
  // Chunks come and go: their memory is used again instead of being given back to the system each time.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
#endif
  try {
    if (probe) {
      puts(dt::play::probe().c_str());
      fflush(stdout);
      _exit(0);
    }
    auto trace = std::make_shared<dt::Trace>(o.trace);
    trace->set_frame_end(o.frame_end.empty() ? recorded_rule(*trace) : o.frame_end);
    int code = 3;
    {
      dt::play::Player player(*trace, o);
      code = player.run();
    }
    fflush(nullptr);
    _exit(code);  // drivers have been seen to crash in their exit handlers
  } catch (const dt::Error& error) {
    fprintf(stderr, "drawtap-play: %s\n", error.what());
    return error.code == DT_E_ARGUMENT ? 3 : 4;
  } catch (const std::exception& error) {
    fprintf(stderr, "drawtap-play: %s\n", error.what());
    return 4;
  }
}
