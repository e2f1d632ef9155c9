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

#include "attachments.h"
#include "metrics/session.h"
#include "objects.h"
#include "windows.h"

namespace {

const char USAGE[] =
    "usage: drawtap-play [options] TRACE\n"
    "  --frames A:B         measure and save only these frames; play no further than B\n"
    "  --loop N             play the frames N times (decoded once)\n"
    "  --verify             compare read-backs, GL errors and frame hashes with the recording\n"
    "  --snapshots PREFIX   save each frame as PREFIX000000.png\n"
    "  --snapshot-at WHAT   frames, draws, every (call), each with :N for each Nth; calls:A,B,C\n"
    "  --attachments LIST   color,depth,stencil,buffers: what snapshots are of (color)\n"
    "  --format png|ppm|rgba  of them\n"
    "  --x11                show windows on $DISPLAY\n"
    "  --config LIST        ask for red=8,green=8,blue=8,alpha=8,depth=24,stencil=8,samples=4,buffer=32 or id=0x1c\n"
    "  --debug              tell the driver's messages, with the calls that they are about\n"
    "  --hashes             report the hash of each frame\n"
    "  --image CALL FILE    save the image after a call and stop\n"
    "  --stop-at CALL       play no further than this call\n"
    "  --query-state CALLS  after these calls (A,B,C) ask the driver for its state: lines SEQ<TAB>PATH<TAB>VALUE\n"
    "  --query-path PATH    only paths that begin so\n"
    "  --query-file FILE    of these lines; else standard output\n"
    "  --objects FILE       save what objects hold: lines CALL<TAB>WHAT<TAB>FILE (objects.h)\n"
    "  --serve              answer requests from standard input: state CALL PATH<TAB>FILE, image CALL FILE\n"
    "  --frame-end RULE     what ends a frame\n"
    "  --as-recorded        keep the recorded pace\n"
    "  --single-thread      play all threads on one\n"
    "  --preload            decode everything first\n"
    "  --window N           decode at most N chunks ahead\n"
    "  --benchmark          time each frame\n"
    "  --keep FILE          play only the calls whose bits are set in FILE: one bit a call, the lowest of a byte first\n"
    "  --errors             say which GL errors there are, with the calls that raise them\n"
    "  --shift-names        give objects other names than the recording's (a test of the player)\n"
    "  --probe              say what there is to play on\n"
    "  --metrics            say what can be measured: here, or in the recording's contexts\n"
    "  --measure FILE       measure what FILE says (lines of native/player/metrics/session.h) ...\n"
    "  --measured FILE      ... into FILE; of several passes, one a loop, into FILE.0, FILE.1 ...\n"
    "  --plan FILE          say in which passes what FILE says can be measured\n"
    "  --status FILE        JSON lines: progress, findings, result; - for standard output (default)\n"
    "exit status: 0 played, 1 played and something differs, 2 usage, 3 nothing to play on, 4 trace broken\n";

// OpenVG is played on drawtap's engine, which lies beside this program: libraries are searched for from the start of a
// process on, so it starts again where they are not yet found first.
void find_openvg(const dt::Trace& trace, char** arguments) {
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

bool number(const char* text, uint64_t& out) {
  char* end = nullptr;
  if (!text || *text < '0' || *text > '9') return false;
  out = strtoull(text, &end, 10);
  return *end == 0;
}

// "5,7,9": ascending or not; a file of them as @FILE, blanks and newlines between.
bool numbers(std::string text, std::vector<uint64_t>& out) {
  if (text.starts_with("@")) {
    std::ifstream file(text.substr(1));
    if (!file) return false;
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  const char* at = text.c_str();
  while (*at) {
    if (*at == ',' || *at == ' ' || *at == '\n') {
      ++at;
      continue;
    }
    if (*at < '0' || *at > '9') return false;
    char* end = nullptr;
    out.push_back(strtoull(at, &end, 10));
    at = end;
  }
  return !out.empty();
}

bool attachments(std::string text, unsigned& out) {
  out = 0;
  for (text += ','; !text.empty(); text.erase(0, text.find(',') + 1)) {
    std::string word = text.substr(0, text.find(','));
    if (word == "color")
      out |= dt::play::WANT_COLOR;
    else if (word == "depth")
      out |= dt::play::WANT_DEPTH;
    else if (word == "stencil")
      out |= dt::play::WANT_STENCIL;
    else if (word == "buffers")
      out |= dt::play::WANT_BUFFERS;
    else
      return false;
  }
  return out != 0;
}

bool snapshot_at(const std::string& text, dt::play::Options& o, std::vector<uint64_t>& calls) {
  size_t colon = text.find(':');
  std::string word = text.substr(0, colon), rest = colon == text.npos ? "" : text.substr(colon + 1);
  if (word == "calls") return numbers(rest, calls);
  if (word == "frames")
    o.snapshot_at = dt::play::Options::AT_FRAMES;
  else if (word == "draws")
    o.snapshot_at = dt::play::Options::AT_DRAWS;
  else if (word == "every")
    o.snapshot_at = dt::play::Options::AT_CALLS;
  else
    return false;
  return colon == text.npos || (number(rest.c_str(), o.snapshot_every) && o.snapshot_every);
}

bool range(const std::string& text, uint64_t& first, uint64_t& end) {
  size_t colon = text.find(':');
  std::string a = text.substr(0, colon), b = colon == text.npos ? "" : text.substr(colon + 1);
  if (!a.empty() && !number(a.c_str(), first)) return false;
  if (colon == text.npos)
    end = first + 1;
  else if (!b.empty() && !number(b.c_str(), end))
    return false;
  return first < end;
}

// What travels in the file: the last word on `key` among the annotations of a kind, or "".
std::string annotated(const dt::Trace& trace, std::string_view kind, std::string_view key) {
  std::string found;
  for (auto& a : trace.annotations)
    if (a.kind == kind) found = dt::json_string(a.json, key);
  return found;
}

// Lines CALL<TAB>WHAT<TAB>FILE: what of an object is saved after a call.
bool objects(const char* path, std::vector<dt::play::Point>& points) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    dt::play::Point point;
    dt::play::ObjectImage image;
    size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (first == line.npos || second == line.npos || !number(line.substr(0, first).c_str(), point.seq)) return false;
    point.what = dt::play::Point::OBJECT;
    point.path = line.substr(first + 1, second - first - 1);
    point.target = line.substr(second + 1);
    if (!dt::play::parse_object(point.path, image)) return false;
    points.push_back(std::move(point));
  }
  return file.eof();
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

int usage(const char* what) {
  fprintf(stderr, "drawtap-play: %s\n%s", what, USAGE);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  dt::play::Options o;
  o.status_path = "-";
  o.frame_end.clear();
  bool probe = false, list = false;
  std::string measure, measured, plan;
  std::string query_path;
  std::vector<uint64_t> snapshot_calls;
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
    } else if (a == "--snapshot-at") {
      if (!value || !snapshot_at(value, o, snapshot_calls))
        return usage("--snapshot-at needs frames, draws or every (:N), or calls:A,B,C");
      ++i;
    } else if (a == "--attachments") {
      if (!value || !attachments(value, o.attachments))
        return usage("--attachments needs some of color,depth,stencil,buffers");
      ++i;
    } else if (a == "--config") {
      if (!value) return usage("--config needs a list");
      o.config = argv[++i];
    } else if (a == "--x11") {
      o.x11 = true;
    } else if (a == "--debug") {
      o.debug = true;
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
    } else if (a == "--stop-at") {
      if (!number(value, o.stop_call)) return usage("--stop-at needs a call");
      ++i;
    } else if (a == "--query-state") {
      std::vector<uint64_t> calls;
      if (!value || !numbers(value, calls)) return usage("--query-state needs numbers of calls");
      for (uint64_t call : calls) {
        dt::play::Point point;
        point.seq = call;
        o.points.push_back(std::move(point));
      }
      ++i;
    } else if (a == "--query-path" || a == "--query-file") {
      if (!value) return usage((a + " needs a word").c_str());
      (a == "--query-path" ? query_path : o.query_file) = argv[++i];
    } else if (a == "--objects") {
      if (!value || !objects(value, o.points)) return usage("--objects needs a file of lines CALL<TAB>WHAT<TAB>FILE");
      ++i;
    } else if (a == "--serve") {
      o.serve = true;
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
    } else if (a == "--keep") {
      if (!value) return usage("--keep needs a file");
      o.keep_path = argv[++i];
    } else if (a == "--measure" || a == "--measured" || a == "--plan") {
      if (!value) return usage((a + " needs a file").c_str());
      (a == "--measure" ? measure : a == "--plan" ? plan : measured) = argv[++i];
    } else if (a == "--metrics")
      list = true;
    else if (a == "--errors")
      o.errors = true;
    else if (a == "--verify")
      o.verify = true;
    else if (a == "--as-recorded")
      o.as_recorded = true;
    else if (a == "--single-thread")
      o.single_thread = true;
    else if (a == "--preload")
      o.preload = true;
    else if (a == "--benchmark")
      o.benchmark = true;
    else if (a == "--shift-names")
      o.shift_names = true;
    else if (a == "--probe")
      probe = true;
    else if (a.starts_with("--"))
      return usage((a + " is no option").c_str());
    else if (!o.trace.empty())
      return usage("one trace at a time");
    else
      o.trace = a;
  }
  if (measure.empty() != measured.empty()) return usage("--measure and --measured belong together");
  if (o.trace.empty() && !probe && !list) return usage("which trace?");
  if (!o.keep_path.empty() && !read_bits(o.keep_path, o.keep)) return usage((o.keep_path + " cannot be read").c_str());
  for (auto& point : o.points)
    if (point.what == dt::play::Point::STATE) point.path = query_path;
  if (!snapshot_calls.empty()) {
    if (!o.snapshots) return usage("--snapshot-at needs --snapshots");
    o.snapshots = false;
    for (uint64_t call : snapshot_calls) {
      dt::play::Point point;
      char name[40];
      snprintf(name, sizeof name, "call%09llu", static_cast<unsigned long long>(call));
      point.seq = call;
      point.what = dt::play::Point::SNAPSHOT;
      point.target = o.snapshot_prefix + name;
      o.points.push_back(std::move(point));
    }
  }
  std::stable_sort(o.points.begin(), o.points.end(), [](auto& x, auto& y) { return x.seq < y.seq; });
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
    if (list && o.trace.empty()) {
      dt::play::list_metrics(stdout);
      fflush(stdout);
      _exit(0);
    }
    auto trace = std::make_shared<dt::Trace>(o.trace);
    find_openvg(*trace, argv);  // before anything asks what can be measured
    std::unique_ptr<dt::play::metrics::Session> session;
    if (list || !plan.empty() || !measure.empty()) {
      dt::play::metrics::Request request;
      std::string why;
      std::string file = plan.empty() ? measure : plan;
      if (!file.empty() && !request.read(file, why)) return usage(why.c_str());
      auto mode = list ? dt::play::metrics::LIST : plan.empty() ? dt::play::metrics::MEASURE : dt::play::metrics::PLAN;
      if (mode == dt::play::metrics::MEASURE) o.loops = std::max<uint64_t>(o.loops, request.passes.size());
      session = std::make_unique<dt::play::metrics::Session>(std::move(request), mode, measured, stdout, o.first_frame,
                                                             o.end_frame);
    }
    if (o.frame_end.empty()) o.frame_end = annotated(*trace, "command", "frame_end");  // `record --frame-end`
    trace->set_frame_end(o.frame_end.empty() ? "auto" : o.frame_end);
    if (o.config.empty()) o.config = annotated(*trace, "player", "config");  // `set-egl-config`
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
