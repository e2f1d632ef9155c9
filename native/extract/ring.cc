// drawtap-ring: the part of calls that a flight recorder keeps when they leave its window, and the files that it writes
// on order.
//
//   drawtap-ring compact|save JOB
//
// The recorder (native/drain/ring.h) has *base*, a trace in memory of earlier calls that still matter, and chunks that
// it took since, which it hands over as another trace, *raw*. For every thread it gives the number of calls in the
// base.
//
//  compact: everything that what is alive at a cut came from becomes the new base; the cut is the end of the last frame
//  in
//           raw that ended before a time.
//  save:    the same, followed by all calls of raw from the cut to the end of a frame, to a file.
//
// The job is an object of JSON (Job). The answer is a line of JSON on standard output. This is a process of its own, so
// that its memory is given back, its mistakes end nothing else, and the system can make it modest.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <ranges>
#include <set>
#include <tuple>
#include <vector>

#include "../common/ring.h"
#include "../core/chunk.h"
#include "../core/text.h"
#include "../edit/write.h"
#include "bits.h"
#include "graph.h"
#include "gl_enums.h"
#include "vulkan_past.h"

namespace dt {
namespace {

using ThreadKey = std::pair<uint32_t, uint32_t>;
constexpr int TRANSIENT_LEVEL = -5;
constexpr size_t MOST_ASSUMPTIONS = 16;  // that the answer has

// A picture that the recorder can order from the program (dt_target in ../common/ring.h).
struct Target {
  uint64_t kind = 0, share_group = 0, name = 0, target = 0, level = 0, width = 0, height = 0, depth = 0, format = 0;
  uint64_t why = 0;  // DT_REFUSED_*: why the recorder cannot order it
  // In the order in which they travel.
  std::array<uint64_t*, 9> numbers() {
    return {&kind, &share_group, &name, &target, &level, &width, &height, &depth, &format};
  }
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
  std::vector<std::pair<std::string, std::string>> about;  // of the annotation `flight_recorder`: names, JSON
  std::vector<std::string> before, after;                  // other annotations
  int level = 1;
};

Job read_job(const std::string& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file) throw Error(DT_E_ARGUMENT, path + ": cannot be read");
  Json json;
  if (const std::string wrong = JsonReader::read_object(text, json); !wrong.empty())
    throw Error(DT_E_ARGUMENT, "job: " + wrong);
  Job job;
  for (auto [name, to] : {std::pair{"base", &job.base},
                          {"raw", &job.raw},
                          {"out", &job.out},
                          {"frames_in", &job.frames_in},
                          {"frames_out", &job.frames_out},
                          {"frame_end", &job.frame_end}})
    *to = json[name].text(*to);
  for (auto [name, to] : {std::pair{"calls_before", &job.calls_before},
                          {"frames_before", &job.frames_before},
                          {"keep_limit", &job.keep_limit},
                          {"take_limit", &job.take_limit}})
    *to = json[name].number(*to);
  job.cut_ns = json["cut_ns"].number(job.cut_ns);
  job.end_ns = json["end_ns"].number(job.end_ns);
  job.level = json["level"].number(job.level);
  job.assumed = json["assumed"].truth();
  job.patient = json["patient"].truth();
  if (json["assumed_because"]) job.assumed_because = json["assumed_because"].raw();
  for (size_t i = 0; i < json["about"].items().size(); ++i)
    job.about.emplace_back(json["about"].names()[i], json["about"].items()[i].raw());
  for (const Json& annotation : json["before"].items()) job.before.emplace_back(annotation.raw());
  for (const Json& annotation : json["after"].items()) job.after.emplace_back(annotation.raw());
  for (const Json& refused : json["refused"].items()) {
    Target t;
    const auto& numbers = refused["target"].items();
    const auto fields = t.numbers();
    for (size_t i = 0; i < std::min(numbers.size(), fields.size()); ++i) *fields[i] = numbers[i].number();
    t.why = refused["why"].number();
    job.refused[t] = t.why;
  }
  for (const Json& thread : json["consumed"].items())
    if (const auto& numbers = thread.items(); numbers.size() == 3)
      job.consumed[{numbers[0].number<uint32_t>(), numbers[1].number<uint32_t>()}] = numbers[2].number();
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

// The number of calls of each thread that stand before a call in the order of all.
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

// Time of a call, ns; a call without a time has the time of the call before.
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

uint64_t count_bits(const std::vector<uint8_t>& bits) {
  uint64_t n = 0;
  for (uint8_t b : bits) n += static_cast<uint64_t>(__builtin_popcount(b));
  return n;
}

// The picture at a location, if the recorder can order one: kind 0 where not.
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
         face ? GL_TEXTURE_BINDING_CUBE_MAP + face : bound,
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
    for (auto [f, target] : {std::pair{state::f_surface::color, GL_COLOR},
                             {state::f_surface::depth, GL_DEPTH},
                             {state::f_surface::stencil, GL_STENCIL}})
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
    what = t.target == GL_DEPTH ? "a surface's depth" : t.target == GL_STENCIL ? "a surface's stencil" : "a surface";
  return what + ": " + reason;
}

std::vector<uint32_t> read_frames(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<uint32_t> frames(bytes.size() / 4);
  memcpy(frames.data(), bytes.data(), frames.size() * 4);
  return frames;
}

// Puts earlier calls that still matter into a new base, and writes recordings of a window.
class Keeper {
 public:
  explicit Keeper(const Job& job) : job_(job), raw_(std::make_shared<Trace>(job.raw)), assumed_(job.assumed) {
    if (!job.base.empty()) base_ = std::make_shared<Trace>(job.base);
    if (job.frame_end != "auto") raw_->set_frame_end(job.frame_end);
    frames_ = raw_->frames();
    because_ = job.assumed_because;
  }

  std::string run() {
    find_cut();
    until_ = counts_before(*raw_, cut_, job_.consumed);
    Scratch scratch;
    put_together(scratch.path());
    choose();
    edit::Source rest;
    rest.trace = past_.get();
    rest.keep = keep_.data();
    rest.keep_map_writes = map_writes_.data();
    if (!memory_writes_.empty()) rest.keep_memory_writes = memory_writes_.data();
    if (!device_writes_.empty()) rest.keep_device_writes = device_writes_.data();
    rest.sparse = true;
    // The end of the past is what matters, not the frames on the way.
    const std::vector<uint8_t> no_images(keep_.size());
    rest.keep_images = no_images.data();
    edit::Options options;
    options.parts = true;
    options.level = job_.level;
    answer_.put("calls_past", job_.calls_before + (cut_ - done_));
    answer_.put("frames_past", job_.frames_before + (cut_frame_ - from_));
    answer_.put("walked", past_->calls);
    answer_.put("kept", count_bits(keep_));
    answer_.put("exact", exact_);
    answer_.put("assumed", assumed_);
    answer_.json("assumed_because", because_);
    answer_.put("whole_because", whole_because_);
    if (job_.save)
      save(rest, options);
    else
      compact(rest, options);
    return answer_.str();
  }

 private:
  // Where the window begins (behind the last frame that ended before its time), and where it ends.
  void find_cut() {
    // The part of raw that is in the base already: the first calls of each thread, and so the first of all.
    for (auto& chunk : raw_->calls_chunks) {
      auto it = job_.consumed.find({chunk.meta.pid, chunk.meta.thread});
      if (it != job_.consumed.end() && it->second > chunk.meta.first_call)
        done_ += std::min<uint64_t>(chunk.meta.calls, it->second - chunk.meta.first_call);
    }
    auto& ends = frames_->ends;
    from_ = static_cast<size_t>(std::lower_bound(ends.begin(), ends.end(), done_) - ends.begin());
    auto early = [&](uint64_t seq) { return time_of(*raw_, seq) < job_.cut_ns; };
    cut_ = done_;
    cut_frame_ = static_cast<size_t>(std::partition_point(ends.begin() + static_cast<long>(from_), ends.end(), early) -
                                     ends.begin());
    if (cut_frame_ > from_) {
      cut_ = ends[cut_frame_ - 1] + 1;
    } else if (ends.empty() && !job_.frames_before) {
      // Nothing ends a frame: then time alone cuts.
      cut_ = *std::ranges::partition_point(std::views::iota(cut_, std::max(cut_, raw_->calls)), early);
    }
    end_ = raw_->calls;
    if (!job_.save) return;
    // Whole frames: to the end of the one in which the time was up.
    auto at = std::find_if(ends.begin() + static_cast<long>(cut_frame_), ends.end(),
                           [&](uint64_t e) { return time_of(*raw_, e) >= job_.end_ns; });
    if (at != ends.end()) end_ = *at + 1;
  }

  int64_t shift() const { return static_cast<int64_t>(job_.calls_before) - static_cast<int64_t>(done_); }

  static auto spans_between(const std::map<ThreadKey, uint64_t>& first, const std::map<ThreadKey, uint64_t>& last) {
    std::map<ThreadKey, std::pair<uint64_t, uint64_t>> spans;
    for (auto& [key, calls] : last) {
      auto it = first.find(key);
      spans[key] = {it == first.end() ? 0 : it->second, calls};
    }
    return spans;
  }

  // Everything up to the cut, in one piece.
  void put_together(const std::string& path) {
    std::vector<edit::Source> parts;
    if (base_) {
      edit::Source first;
      first.trace = base_.get();
      parts.push_back(std::move(first));
    }
    edit::Source leaving;
    leaving.trace = raw_.get();
    leaving.end_seq = cut_;
    leaving.spans = spans_between(job_.consumed, until_);
    leaving.origin_shift = shift();
    parts.push_back(std::move(leaving));
    edit::Options options;
    options.parts = true;
    options.level = TRANSIENT_LEVEL;
    edit::write(std::move(parts), options, path);
    past_ = std::make_shared<Trace>(path);
    if (job_.frame_end != "auto" && past_->signatures.by_name(job_.frame_end.substr(0, job_.frame_end.find(','))))
      past_->set_frame_end(job_.frame_end);
  }

  // Chooses the part of the past that matters from the cut on.
  void choose() {
    keep_.assign(past_->calls / 8 + 1, 0);
    if (!past_->calls) return;
    extract::Graph graph(past_, true);
    number_frames(graph);
    std::vector<uint32_t> crossed;
    graph.alive(keep_.data(), {}, &crossed);
    exact_ = count_bits(keep_);
    if (job_.take_limit && exact_ > job_.take_limit && !job_.patient) choose_pictures(graph, crossed);
    if (exact_ > job_.keep_limit && wanted_.empty() && !job_.patient) assume(graph, crossed);
    map_writes_ = graph.map_writes(keep_.data());
    if (vulkan::Work::is_in(*past_)) choose_vulkan();
  }

  void choose_vulkan() {
    extract::VulkanPast chooser(*past_, past_->calls, past_->calls);
    auto kept = chooser.alive();
    whole_because_ = chooser.whole_because();
    // The state machine says nothing of Vulkan: what it keeps of other APIs comes on top.
    for (uint32_t seq : chooser.others())
      if (extract::get(keep_.data(), seq)) extract::put(kept.calls.data(), seq);
    keep_ = std::move(kept.calls);
    memory_writes_ = std::move(kept.memory_writes);
    device_writes_ = std::move(kept.device_writes);
    exact_ = count_bits(keep_);
  }

  void number_frames(extract::Graph& graph) {
    const uint64_t old = base_ ? base_->calls : 0;
    numbers_.resize(past_->calls);
    for (uint64_t i = 0; i < numbers_.size(); ++i) numbers_[i] = graph.frame_of(i);
    auto known = job_.frames_in.empty() ? std::vector<uint32_t>{} : read_frames(job_.frames_in);
    const uint32_t first_number = old < numbers_.size() ? numbers_[old] : 0;
    for (uint64_t i = 0; i < numbers_.size(); ++i)
      numbers_[i] = i < known.size() ? known[i]
                    : i < old        ? 0
                                     : static_cast<uint32_t>(job_.frames_before) + numbers_[i] - first_number;
    graph.number_frames(numbers_);
  }

  // Pictures that the recorder orders from the program, where they make the past much shorter.
  void choose_pictures(extract::Graph& graph, const std::vector<uint32_t>& crossed) {
    std::vector<extract::Fresh> guesses;
    for (uint32_t location : crossed)
      if (const Target t = target_at(graph.machine(), location);
          t.kind && !t.why && !job_.refused.count(t) && wanted_.size() < DT_MOST_TARGETS) {
        wanted_.push_back(t);
        guesses.push_back({location, extract::Fresh::ALWAYS});
      }
    // Only where it helps: what is kept may be needed for something else.
    std::vector<uint8_t> without(keep_.size());
    if (!wanted_.empty()) graph.alive(without.data(), guesses);
    if (wanted_.empty() || exact_ - count_bits(without) < job_.take_limit / 2) wanted_.clear();
  }

  // Pictures that are painted over again and again, and never wiped: nobody can tell for how long they shine through.
  void assume(extract::Graph& graph, const std::vector<uint32_t>& crossed) {
    const extract::Fresh guess;
    std::vector<uint8_t> fewer(keep_.size());
    graph.alive(fewer.data(), {&guess, 1});
    if (count_bits(fewer) < exact_) {
      assumed_ = true;
      std::set<std::string> texts;
      for (uint32_t location : crossed)
        if (texts.size() < MOST_ASSUMPTIONS) texts.insert(assumption(job_, target_at(graph.machine(), location)));
      because_.clear();
      JsonWriter(because_).values(texts);
    }
    keep_ = std::move(fewer);
  }

  void compact(const edit::Source& rest, const edit::Options& options) {
    edit::write({rest}, options, job_.out);
    if (!job_.frames_out.empty()) {
      std::vector<uint32_t> left;
      for (uint64_t i = 0; i < numbers_.size(); ++i)
        if (keep_[i / 8] >> (i % 8) & 1) left.push_back(numbers_[i]);
      std::ofstream file(job_.frames_out, std::ios::binary | std::ios::trunc);
      file.write(reinterpret_cast<const char*>(left.data()), static_cast<std::streamsize>(left.size() * 4));
    }
    auto& out = answer_.writer().list("consumed");
    for (auto& [key, calls] : until_) out.list().value(key.first).value(key.second).value(calls).end();
    out.end().list("wanted");
    for (Target& t : wanted_) {
      out.list();
      for (const uint64_t* n : t.numbers()) out.value(*n);
      out.end();
    }
    out.end();
  }

  void save(const edit::Source& rest, edit::Options options) {
    edit::Source window;
    window.trace = raw_.get();
    window.first_seq = cut_;
    window.end_seq = end_;
    window.origin_shift = shift();
    window.spans = spans_between(until_, counts_before(*raw_, end_, until_));
    auto& ends = frames_->ends;
    const auto shown = static_cast<uint64_t>(
        std::count_if(ends.begin(), ends.end(), [&](uint64_t e) { return e >= cut_ && e < end_; }));
    options.before = job_.before;
    options.before.push_back(annotation(shown));
    options.after = job_.after;
    const std::string part = job_.out + ".part";
    try {
      edit::write({rest, window}, options, part);
      if (rename(part.c_str(), job_.out.c_str())) throw Error(DT_E_IO, job_.out + ": " + strerror(errno));
    } catch (...) {
      unlink(part.c_str());
      throw;
    }
    answer_.put("calls", end_ - cut_);
    answer_.put("frames", shown);
    answer_.put("first_frame", job_.frames_before + (cut_frame_ - from_));
  }

  std::string annotation(uint64_t shown) const {
    const uint64_t kept = count_bits(keep_);
    JsonObject about;
    about.put("kind", "flight_recorder");
    for (auto& [name, json] : job_.about) about.json(name, json);
    about.put("first_call", kept).put("first_frame", job_.frames_before + (cut_frame_ - from_)).put("frames", shown);
    about.put("calls", end_ - cut_).put("kept", kept).put("earlier", job_.calls_before + (cut_ - done_));
    about.put("assumed", assumed_).json("assumed_because", because_);
    if (!whole_because_.empty()) about.put("whole_because", whole_because_);
    about.put("start_ns", cut_ < raw_->calls ? time_of(*raw_, cut_) : 0);
    return about.put("end_ns", end_ ? time_of(*raw_, end_ - 1) : 0).str();
  }

  const Job& job_;
  std::shared_ptr<Trace> base_, raw_, past_;  // past: base, and raw up to the cut
  std::shared_ptr<const Trace::Frames> frames_;
  uint64_t done_ = 0, cut_ = 0, end_ = 0;  // calls of raw: in the base already; before the window; before its end
  size_t from_ = 0, cut_frame_ = 0;        // frames of raw: in the base already; before the window
  std::map<ThreadKey, uint64_t> until_;    // calls of each thread before the cut
  std::vector<uint8_t> keep_;              // bits: the calls of the past that matter
  std::vector<uint8_t> map_writes_ = {0};  // bits: rows of its table map_writes
  std::vector<uint8_t> memory_writes_, device_writes_;  // bits: rows of these tables, where there is Vulkan
  std::vector<uint32_t> numbers_;                       // frame of each call of the past
  std::vector<Target> wanted_;
  uint64_t exact_ = 0;
  bool assumed_;
  std::string because_;
  std::string whole_because_;  // why all earlier calls are kept; empty: they are not
  JsonObject answer_;
};

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
    puts(dt::Keeper(job).run().c_str());
    return 0;
  } catch (const std::exception& e) {
    puts(dt::JsonObject().put("error", e.what()).str().c_str());
    return 1;
  }
}
