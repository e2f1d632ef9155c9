// drawtap-ring: what a flight recorder keeps of calls that leave its window, and what it writes when it is asked to.
//
//   drawtap-ring compact|save JOB
//
// The recorder (native/drain/ring.h) has *base*, a trace in memory of earlier calls that still matter, and chunks that
// it took since, which it hands over as another trace, *raw*. Of every thread it says how many calls are in the base
// already.
//
//  compact: everything that what is alive at a cut came from becomes the new base; the cut is the end of the last frame
//  in
//           raw that ended before a time.
//  save:    the same, followed by all calls of raw from the cut to the end of a frame, to a file.
//
// The job is a list of "name value" lines (Job). The answer is one line of JSON on standard output. This is a process
// of its own so that what it takes is given back, whatever it does wrong ends nothing else, and it can be asked to be
// modest.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <tuple>
#include <vector>

#include "../common/ring.h"
#include "../core/chunk.h"
#include "../core/text.h"
#include "../edit/write.h"
#include "graph.h"

namespace dt {
namespace {

using ThreadKey = std::pair<uint32_t, uint32_t>;
constexpr int TRANSIENT_LEVEL = -5;
constexpr size_t MOST_ASSUMPTIONS = 16;  // that are told of

// A picture that the program can be asked for (dt_target in ../common/ring.h).
struct Target {
  uint64_t kind = 0, share_group = 0, name = 0, target = 0, level = 0, width = 0, height = 0, depth = 0, format = 0;
  uint64_t why = 0;  // DT_REFUSED_*: why it cannot be asked for
  auto key() const { return std::tuple(kind, share_group, name, target, level, width, height, depth, format); }
  bool operator<(const Target& other) const { return key() < other.key(); }
};

struct Job {
  bool save = false;
  std::string base, raw, out, frames_in, frames_out;  // paths; empty: none
  std::map<ThreadKey, uint64_t> consumed;             // calls of each thread that are in the base
  uint64_t calls_before = 0, frames_before = 0;       // in the base's past, kept or not
  int64_t cut_ns = 0;                                 // frames that ended before this leave
  int64_t end_ns = INT64_MAX;                         // save: frames that begin after this are left out
  uint64_t keep_limit = 500000;
  bool assumed = false;                // the base was made by taking pictures to be painted over
  uint64_t take_limit = 0;             // earlier calls, before pictures are to be read back; 0: never
  bool patient = false;                // some are being read back: until that is here, everything is kept
  std::map<Target, uint64_t> refused;  // those that cannot be: DT_REFUSED_*
  std::string assumed_because = "[]";  // JSON, as it was last
  std::string frame_end = "auto";
  std::string about;                       // JSON members of the annotation `flight_recorder`
  std::vector<std::string> before, after;  // other annotations
  int level = 1;
};

uint64_t number(const std::string& text) { return strtoull(text.c_str(), nullptr, 10); }

Job read_job(const std::string& path) {
  Job job;
  std::ifstream file(path);
  if (!file) throw Error(DT_E_ARGUMENT, path + ": cannot be read");
  for (std::string line; std::getline(file, line);) {
    size_t space = line.find(' ');
    std::string name = line.substr(0, space), value = space == line.npos ? "" : line.substr(space + 1);
    if (name == "base")
      job.base = value;
    else if (name == "raw")
      job.raw = value;
    else if (name == "out")
      job.out = value;
    else if (name == "frames_in")
      job.frames_in = value;
    else if (name == "frames_out")
      job.frames_out = value;
    else if (name == "calls_before")
      job.calls_before = number(value);
    else if (name == "frames_before")
      job.frames_before = number(value);
    else if (name == "cut_ns")
      job.cut_ns = static_cast<int64_t>(number(value));
    else if (name == "end_ns")
      job.end_ns = static_cast<int64_t>(number(value));
    else if (name == "keep_limit")
      job.keep_limit = number(value);
    else if (name == "assumed")
      job.assumed = value == "1";
    else if (name == "take_limit")
      job.take_limit = number(value);
    else if (name == "patient")
      job.patient = value == "1";
    else if (name == "refused") {
      std::istringstream numbers(value);
      Target t;
      numbers >> t.kind >> t.share_group >> t.name >> t.target >> t.level >> t.width >> t.height >> t.depth >>
          t.format >> t.why;
      job.refused[t] = t.why;
    } else if (name == "assumed_because")
      job.assumed_because = value;
    else if (name == "frame_end")
      job.frame_end = value;
    else if (name == "about")
      job.about = value;
    else if (name == "before")
      job.before.push_back(value);
    else if (name == "after")
      job.after.push_back(value);
    else if (name == "level")
      job.level = atoi(value.c_str());
    else if (name == "consumed") {
      std::istringstream numbers(value);
      uint64_t pid = 0, thread = 0, calls = 0;
      numbers >> pid >> thread >> calls;
      job.consumed[{static_cast<uint32_t>(pid), static_cast<uint32_t>(thread)}] = calls;
    } else {
      throw Error(DT_E_ARGUMENT, "job: not understood: " + line.substr(0, 60));
    }
  }
  if (job.raw.empty() || job.out.empty()) throw Error(DT_E_ARGUMENT, "job: raw and out are needed");
  return job;
}

// A file in memory; the path leads to it as long as this process lives.
class Scratch {
 public:
  Scratch() : fd_(memfd_create("drawtap-ring", MFD_CLOEXEC)) {
    if (fd_ < 0) throw Error(DT_E_MEMORY, std::string("memfd_create: ") + strerror(errno));
  }
  ~Scratch() { close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// How many calls of each thread stand before a call in the order of all.
std::map<ThreadKey, uint64_t> counts_before(const Trace& trace, uint64_t seq,
                                            const std::map<ThreadKey, uint64_t>& least) {
  std::map<ThreadKey, uint64_t> counts = least;
  for (size_t i = 0; i < trace.calls_chunks.size(); ++i) {
    auto& chunk = trace.calls_chunks[i];
    auto& group = trace.groups[chunk.group];
    uint64_t before = 0;
    if (group.base + group.calls <= seq) {
      before = chunk.meta.calls;
    } else if (group.base < seq) {
      if (group.chunks.size() == 1)
        before = std::min<uint64_t>(seq - group.base, chunk.meta.calls);
      else {
        auto& offsets = trace.offsets(i);
        before =
            static_cast<uint64_t>(std::lower_bound(offsets.begin(), offsets.end(), seq - group.base) - offsets.begin());
      }
    }
    uint64_t& count = counts[{chunk.meta.pid, chunk.meta.thread}];
    if (before) count = std::max(count, chunk.meta.first_call + before);
  }
  return counts;
}

// Time of a call, ns; of one without a time that of the call before.
int64_t time_of(const Trace& trace, uint64_t seq) {
  size_t chunk = 0;
  uint32_t call = 0;
  if (!trace.locate(seq, chunk, call)) return 0;
  OpenChunk open(trace, chunk);
  auto& entries = open.entries();
  for (uint32_t r = open.record_of(call) + 1; r-- > 0;)
    if (entries[r]) return trace.clock.ns(entries[r]);
  return static_cast<int64_t>(trace.calls_chunks[chunk].meta.calibration_ns);
}

// Which rows of the table map_writes stand before calls that are kept.
std::vector<uint8_t> map_writes_of(const Trace& trace, const uint8_t* keep) {
  constexpr unsigned MAP_WRITE = DT_FN_MAP_WRITE | DT_RECORD_TAP;
  uint64_t rows = 0;
  for (auto& c : trace.calls_chunks)
    if (auto* f = c.find(MAP_WRITE)) rows += f->count;
  std::vector<uint8_t> bits(rows / 8 + 1);
  uint64_t row = 0;
  for (size_t i = 0; i < trace.calls_chunks.size(); ++i) {
    auto& c = trace.calls_chunks[i];
    if (!c.find(MAP_WRITE)) continue;
    OpenChunk open(trace, i);
    auto& order = open.order();
    auto& calls = open.record_calls();
    for (uint32_t r = 0; r < order.size(); ++r) {
      if (c.functions[order[r]].function != MAP_WRITE) continue;
      const uint64_t seq = calls[r] < c.meta.calls ? trace.seq_of(i, calls[r]) : trace.seq_after(i);
      if (seq < trace.calls && keep[seq / 8] >> (seq % 8) & 1)
        bits[row / 8] = static_cast<uint8_t>(bits[row / 8] | 1u << (row % 8));
      ++row;
    }
  }
  return bits;
}

uint64_t count_bits(const std::vector<uint8_t>& bits) {
  uint64_t n = 0;
  for (uint8_t b : bits) n += static_cast<uint64_t>(__builtin_popcount(b));
  return n;
}

// What stands at a location, if it is a picture that can be asked for: kind 0 where not.
Target target_at(const state::Machine& machine, state::Location location) {
  const state::Node& node = machine.owner(location);
  const state::FieldInfo* field = machine.field(location);
  Target t;
  if (!field || !node.alive) return t;
  auto share_of = [](const state::Node* n) {
    while (n && n->cls != &state::g_classes[state::class_share]) n = n->parent;
    return n ? n->key : 0;
  };
  auto number = [&](unsigned f) { return static_cast<uint64_t>(node.get(f)); };
  if (node.cls == &state::g_classes[state::class_level]) {
    using namespace state::f_level;
    const state::Node* texture = node.parent;
    if (!texture || !texture->alive || texture->cls != &state::g_classes[state::class_texture]) return t;
    const uint64_t face = node.key / 64, bound = static_cast<uint64_t>(texture->get(state::f_texture::target));
    t = {DT_TARGET_TEXTURE,
         share_of(texture),
         texture->key,
         face ? 0x8514 + face : bound,
         node.key % 64,
         number(GL_TEXTURE_WIDTH),
         number(GL_TEXTURE_HEIGHT),
         number(GL_TEXTURE_DEPTH),
         number(GL_TEXTURE_INTERNAL_FORMAT)};
    if (number(GL_TEXTURE_SAMPLES)) t.why = DT_REFUSED_SAMPLES;
  } else if (node.cls == &state::g_classes[state::class_renderbuffer]) {
    using namespace state::f_renderbuffer;
    t = {DT_TARGET_RENDERBUFFER,
         share_of(&node),
         node.key,
         0,
         0,
         number(GL_RENDERBUFFER_WIDTH),
         number(GL_RENDERBUFFER_HEIGHT),
         1,
         number(GL_RENDERBUFFER_INTERNAL_FORMAT)};
    if (number(GL_RENDERBUFFER_SAMPLES)) t.why = DT_REFUSED_SAMPLES;
  } else if (node.cls == &state::g_classes[state::class_surface]) {
    t = {DT_TARGET_SURFACE, 0, node.key, 0, 0, 0, 0, 1, 0};
    for (auto [f, target] : {std::pair{state::f_surface::color, 0x1800},
                             {state::f_surface::depth, 0x1801},
                             {state::f_surface::stencil, 0x1802}})
      if (field == &node.cls->fields[f]) t.target = static_cast<uint64_t>(target);
    if (!t.target) t.why = DT_REFUSED_KIND;
    return t;
  }
  if (t.kind && (!t.share_group || !t.name))
    t.why = DT_REFUSED_KIND;  // a default texture
  else if (t.width < 1 || t.height < 1 || t.width > 1 << 16 || t.height > 1 << 16)
    t.why = DT_REFUSED_SIZE;
  t.depth = std::max<uint64_t>(t.depth, 1);
  return t;
}

// A content that is assumed to be painted over, and why it was not read back.
std::string assumption(const Job& job, const Target& t) {
  static const char* const reasons[] = {"what it holds is not a picture",
                                        "several samples a pixel",
                                        "no picture of this kind is read back",
                                        "the driver does not hand its format over, or take it back, bit by bit",
                                        "this version of OpenGL has no call that would write it again",
                                        "no shader could be run beside the program's to read it",
                                        "it was not there any more, or of another size",
                                        "pixel transfer changed values, or a list was being made",
                                        "too large",
                                        "the frame did not end in a call of EGL",
                                        "no frame ended in its context"};
  const auto refused = job.refused.find(t);
  const uint64_t why = t.why || !t.kind ? t.why : refused != job.refused.end() ? refused->second : ~0ull;
  const char* reason = why < std::size(reasons) ? reasons[why]
                       : job.take_limit         ? "reading it back would not have helped"
                                                : "nothing is to be read back";
  auto size = [&] { return " of " + std::to_string(t.width) + "x" + std::to_string(t.height); };
  std::string what = "a content";
  if (t.kind == DT_TARGET_TEXTURE)
    what = "texture " + std::to_string(t.name) + ", level " + std::to_string(t.level) + size();
  if (t.kind == DT_TARGET_RENDERBUFFER) what = "renderbuffer " + std::to_string(t.name) + size();
  if (t.kind == DT_TARGET_SURFACE)
    what = t.target == 0x1801 ? "a surface's depth" : t.target == 0x1802 ? "a surface's stencil" : "a surface";
  return what + ": " + reason;
}

struct Answer {
  std::string text = "{";
  void put(const char* name, const std::string& json) {
    text += (text.size() > 1 ? ", \"" : "\"") + std::string(name) + "\": " + json;
  }
  void put(const char* name, uint64_t n) { put(name, std::to_string(n)); }
};

std::string consumed_json(const std::map<ThreadKey, uint64_t>& counts) {
  std::string text = "[";
  for (auto& [key, calls] : counts)
    text += (text.size() > 1 ? ", [" : "[") + std::to_string(key.first) + ", " + std::to_string(key.second) + ", " +
            std::to_string(calls) + "]";
  return text + "]";
}

std::vector<uint32_t> read_frames(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<uint32_t> frames(bytes.size() / 4);
  memcpy(frames.data(), bytes.data(), frames.size() * 4);
  return frames;
}

std::string run(const Job& job) {
  std::shared_ptr<Trace> base;
  if (!job.base.empty()) base = std::make_shared<Trace>(job.base);
  auto raw = std::make_shared<Trace>(job.raw);
  if (job.frame_end != "auto") raw->set_frame_end(job.frame_end);
  const uint64_t old = base ? base->calls : 0;

  // What of raw is in the base already: the first calls of each thread, and so the first of all.
  uint64_t done = 0;
  for (auto& chunk : raw->calls_chunks) {
    auto it = job.consumed.find({chunk.meta.pid, chunk.meta.thread});
    if (it != job.consumed.end() && it->second > chunk.meta.first_call)
      done += std::min<uint64_t>(chunk.meta.calls, it->second - chunk.meta.first_call);
  }

  // The cut: behind the last frame that ended before the window.
  auto frames = raw->frames();
  auto& ends = frames->ends;
  // frames in the base
  const auto from = static_cast<size_t>(std::lower_bound(ends.begin(), ends.end(), done) - ends.begin());
  uint64_t cut = done;
  size_t cut_frame = from;
  {
    size_t low = from, high = ends.size();
    while (low < high) {
      size_t middle = low + (high - low) / 2;
      if (time_of(*raw, ends[middle]) < job.cut_ns)
        low = middle + 1;
      else
        high = middle;
    }
    if (low > from)
      cut = ends[low - 1] + 1, cut_frame = low;
    else if (ends.empty() && !job.frames_before) {
      // Nothing ends a frame: then time alone cuts.
      uint64_t first = done, last = raw->calls;
      while (first < last) {
        uint64_t middle = first + (last - first) / 2;
        if (time_of(*raw, middle) < job.cut_ns)
          first = middle + 1;
        else
          last = middle;
      }
      cut = first;
    }
  }
  uint64_t end = raw->calls;
  if (job.save) {
    // Whole frames: to the end of the one in which the time was up.
    auto at = std::find_if(ends.begin() + static_cast<long>(cut_frame), ends.end(),
                           [&](uint64_t e) { return time_of(*raw, e) >= job.end_ns; });
    if (at != ends.end()) end = *at + 1;
  }
  const auto until = counts_before(*raw, cut, job.consumed);
  const int64_t shift = static_cast<int64_t>(job.calls_before) - static_cast<int64_t>(done);

  // Everything up to the cut, in one piece.
  edit::Source first, leaving;
  std::map<ThreadKey, std::pair<uint64_t, uint64_t>> spans;
  for (auto& [key, calls] : until) {
    auto it = job.consumed.find(key);
    spans[key] = {it == job.consumed.end() ? 0 : it->second, calls};
  }
  leaving.trace = raw.get();
  leaving.end_seq = cut;
  leaving.spans = spans;
  leaving.origin_shift = shift;
  Scratch scratch;
  edit::Options options;
  options.parts = true;
  options.level = TRANSIENT_LEVEL;
  std::vector<edit::Source> parts;
  if (base) {
    first.trace = base.get();
    parts.push_back(std::move(first));
  }
  parts.push_back(leaving);
  edit::write(std::move(parts), options, scratch.path());
  auto past = std::make_shared<Trace>(scratch.path());
  if (job.frame_end != "auto" && past->signatures.by_name(job.frame_end.substr(0, job.frame_end.find(','))))
    past->set_frame_end(job.frame_end);

  // What of it matters from there on.
  std::vector<uint8_t> keep(past->calls / 8 + 1);
  std::vector<uint32_t> numbers;
  bool assumed = job.assumed;
  std::string because = job.assumed_because;
  uint64_t exact = 0;
  std::vector<Target> wanted;
  if (past->calls) {
    extract::Graph graph(past, true);
    numbers = graph.frame_numbers();
    auto known = job.frames_in.empty() ? std::vector<uint32_t>{} : read_frames(job.frames_in);
    const uint32_t first_number = old < numbers.size() ? numbers[old] : 0;
    for (uint64_t i = 0; i < numbers.size(); ++i)
      numbers[i] = i < known.size() ? known[i]
                   : i < old        ? 0
                                    : static_cast<uint32_t>(job.frames_before) + numbers[i] - first_number;
    graph.number_frames(numbers);
    std::vector<uint32_t> crossed;
    graph.alive(keep.data(), {}, &crossed);
    exact = count_bits(keep);
    if (job.take_limit && exact > job.take_limit && !job.patient) {
      std::vector<extract::Fresh> guesses;
      for (uint32_t location : crossed)
        if (const Target t = target_at(graph.machine(), location);
            t.kind && !t.why && !job.refused.count(t) && wanted.size() < DT_MOST_TARGETS) {
          wanted.push_back(t);
          guesses.push_back({location, extract::Fresh::ALWAYS});
        }
      // Only where it helps: what is kept may be needed for something else.
      std::vector<uint8_t> without(keep.size());
      if (!wanted.empty()) graph.alive(without.data(), guesses);
      if (wanted.empty() || exact - count_bits(without) < job.take_limit / 2) wanted.clear();
    }
    if (exact > job.keep_limit && wanted.empty() && !job.patient) {
      // Pictures that are painted over again and again, and never wiped: nobody can tell for how long they shine
      // through.
      const extract::Fresh guess;
      std::vector<uint8_t> fewer(keep.size());
      graph.alive(fewer.data(), {&guess, 1});
      if (count_bits(fewer) < exact) {
        assumed = true;
        std::set<std::string> texts;
        for (uint32_t location : crossed)
          if (texts.size() < MOST_ASSUMPTIONS)
            texts.insert(json_text(assumption(job, target_at(graph.machine(), location))));
        because = "[";
        for (auto& text : texts) because += (because.size() > 1 ? ", " : "") + text;
        because += "]";
      }
      keep = std::move(fewer);
    }
  }
  const uint64_t kept = count_bits(keep);
  const auto map_writes = map_writes_of(*past, keep.data());

  edit::Source rest;
  rest.trace = past.get();
  rest.keep = keep.data();
  rest.keep_map_writes = map_writes.data();
  rest.sparse = true;
  const std::vector<uint8_t> no_images(keep.size());  // what it is to bring back is the end, not the frames on the way
  rest.keep_images = no_images.data();
  options.level = job.level;
  Answer answer;
  answer.put("calls_past", job.calls_before + (cut - done));
  answer.put("frames_past", job.frames_before + (cut_frame - from));
  answer.put("walked", past->calls);
  answer.put("kept", kept);
  answer.put("exact", exact);
  answer.put("assumed", assumed ? "true" : "false");
  answer.put("assumed_because", because);
  if (!job.save) {
    edit::write({rest}, options, job.out);
    if (!job.frames_out.empty()) {
      std::vector<uint32_t> left;
      for (uint64_t i = 0; i < numbers.size(); ++i)
        if (keep[i / 8] >> (i % 8) & 1) left.push_back(numbers[i]);
      std::ofstream file(job.frames_out, std::ios::binary | std::ios::trunc);
      file.write(reinterpret_cast<const char*>(left.data()), static_cast<std::streamsize>(left.size() * 4));
    }
    answer.put("consumed", consumed_json(until));
    std::string list;
    for (const Target& t : wanted)
      for (uint64_t n : {t.kind, t.share_group, t.name, t.target, t.level, t.width, t.height, t.depth, t.format})
        list += (list.empty() ? "" : ", ") + std::to_string(n);
    answer.put("wanted", "[" + list + "]");
    return answer.text + "}";
  }

  edit::Source window;
  window.trace = raw.get();
  window.first_seq = cut;
  window.end_seq = end;
  window.origin_shift = shift;
  const auto last = counts_before(*raw, end, until);
  for (auto& [key, calls] : last) {
    auto it = until.find(key);
    window.spans[key] = {it == until.end() ? 0 : it->second, calls};
  }
  const auto shown =
      static_cast<uint64_t>(std::count_if(ends.begin(), ends.end(), [&](uint64_t e) { return e >= cut && e < end; }));
  std::string about = "{\"kind\": \"flight_recorder\", " + job.about + (job.about.empty() ? "" : ", ");
  about += "\"first_call\": " + std::to_string(kept) +
           ", \"first_frame\": " + std::to_string(job.frames_before + (cut_frame - from));
  about += ", \"frames\": " + std::to_string(shown) + ", \"calls\": " + std::to_string(end - cut) +
           ", \"kept\": " + std::to_string(kept);
  about += ", \"earlier\": " + std::to_string(job.calls_before + (cut - done)) +
           ", \"assumed\": " + (assumed ? "true" : "false") + ", \"assumed_because\": " + because;
  about += ", \"start_ns\": " + std::to_string(cut < raw->calls ? time_of(*raw, cut) : 0) +
           ", \"end_ns\": " + std::to_string(end ? time_of(*raw, end - 1) : 0) + "}";
  options.before = job.before;
  options.before.push_back(about);
  options.after = job.after;
  const std::string part = job.out + ".part";
  try {
    edit::write({rest, window}, options, part);
    if (rename(part.c_str(), job.out.c_str())) throw Error(DT_E_IO, job.out + ": " + strerror(errno));
  } catch (...) {
    unlink(part.c_str());
    throw;
  }
  answer.put("calls", end - cut);
  answer.put("frames", shown);
  answer.put("first_frame", job.frames_before + (cut_frame - from));
  return answer.text + "}";
}

}  // namespace
}  // namespace dt

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (argc != 3 || (verb != "compact" && verb != "save")) {
    fputs("usage: drawtap-ring compact|save JOB\n", stderr);
    return 2;
  }
  if (verb == "compact") setpriority(PRIO_PROCESS, 0, 10);
  try {
    dt::Job job = dt::read_job(argv[2]);
    job.save = verb == "save";
    puts(dt::run(job).c_str());
    return 0;
  } catch (const std::exception& e) {
    printf("{\"error\": %s}\n", dt::json_text(e.what()).c_str());
    return 1;
  }
}
