#include "content.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "../common/pixel_size.h"
#include "../common/primitives.h"
#include "gl_enums.h"
#include "vg_enums.h"
#include "vulkan.h"

namespace dt {
namespace {

bool starts(std::string_view text, std::string_view part) { return text.substr(0, part.size()) == part; }

// The deeds of calls on display lists; `drawn` stands for draws between such calls.
enum class List : uint8_t { none, drawn, opened, closed, called, several, base, deleted };

// The counts that a call adds to; worked out once a function, from the flags and names that travel in the trace.
struct Rule {
  std::vector<Count> ones;
  const Function* function = nullptr;
  bool draw = false, mesh = false, begin = false, end = false, vertex = false, texture = false, buffer = false,
       rectangle = false, path = false, shape = false, readback = false, generates = false, deletes = false,
       bind = false;
  const Field *mode = nullptr, *count = nullptr, *instances = nullptr, *many = nullptr, *width = nullptr,
              *height = nullptr, *depth = nullptr, *number = nullptr, *data = nullptr, *target = nullptr,
              *object = nullptr, *result = nullptr, *angle = nullptr;
  uint64_t segments = 0;
  List list = List::none;
  bool wanted() const {
    return draw || mesh || begin || end || vertex || texture || buffer || path || shape || readback || generates ||
           deletes || bind || list != List::none;
  }
};

const Field* param(const Function& f, std::initializer_list<const char*> names) {
  for (auto* name : names)
    for (auto& p : f.params)
      if (p.name == name) return &p;
  return nullptr;
}

// The number of segments that a shape of VGU gives to a path (OpenVG 1.1, 17.1); the arguments of arcs and polygons
// decide theirs.
uint64_t shape_segments(std::string_view n) {
  static const std::pair<const char*, uint64_t> shapes[] = {{"vguLine", 2},       {"vguPolygon", 0}, {"vguRect", 5},
                                                            {"vguRoundRect", 10}, {"vguEllipse", 4}, {"vguArc", 1}};
  for (auto& [name, segments] : shapes)
    if (n == name) return segments;
  return 0;
}

void rule_of_draw(const Function& f, Rule& r) {
  auto one = [&](Count c) { r.ones.push_back(c); };
  r.end = f.flags & FLAG_VERTICES_END, r.begin = f.flags & FLAG_VERTICES_BEGIN, r.vertex = f.flags & FLAG_VERTEX;
  r.rectangle = f.flags & FLAG_RECTANGLE;
  if (f.flags & (FLAG_VERTICES_BEGIN | FLAG_MESH)) r.mode = param(f, {"mode"});
  if (!(f.flags & FLAG_DRAW) || r.end) return;
  if (f.flags & FLAG_INDIRECT) {
    one(Count::draws), one(Count::indirect_draws);
  } else if (f.flags & FLAG_MESH) {
    r.mesh = true;
    one(Count::draws);
  } else if (f.api == "gl") {
    r.draw = true;
    r.mode = param(f, {"mode"});
    r.count = param(f, {"count", "elementCount"});
    r.instances = param(f, {"instancecount", "instanceCount", "primcount", "instances"});
    r.many = r.count && r.count->has_data() ? param(f, {"drawcount", "drawCount", "primcount"}) : nullptr;
    if (r.many) r.instances = nullptr;
  } else {
    one(Count::draws);
  }
}

// Uploads and shapes: what reaches textures, buffers and paths.
void rule_of_content(const Function& f, Rule& r) {
  std::string_view n = f.name;
  auto one = [&](Count c) { r.ones.push_back(c); };
  r.texture = f.flags & FLAG_TEXTURE_UPLOAD, r.buffer = f.flags & FLAG_BUFFER_UPLOAD;
  r.path = f.flags & FLAG_PATH_UPLOAD;
  if (r.texture) {
    one(Count::texture_uploads);
    r.width = param(f, {"width"}), r.height = param(f, {"height"}), r.depth = param(f, {"depth"});
    r.data = param(f, {"pixels", "data", "bits"});
  }
  if (r.buffer) one(Count::buffer_uploads), r.data = param(f, {"data", "pointer"});
  if (r.path) r.number = param(f, {"numSegments"});
  if (starts(n, "vguPolygon") || shape_segments(n)) {
    r.shape = true, r.segments = shape_segments(n), r.result = f.result.get();
    r.number = param(f, {"count"}), r.mode = param(f, {"closed", "arcType"}), r.angle = param(f, {"angleExtent"});
  }
}

void rule_of_list(const Function& f, Rule& r) {
  const bool called = f.flags & FLAG_LIST_CALL;
  if (f.flags & FLAG_LIST_BEGIN) r.list = List::opened, r.object = param(f, {"list"}), r.mode = param(f, {"mode"});
  if (f.flags & FLAG_LIST_END) r.list = List::closed;
  if (called && (r.object = param(f, {"list"}))) r.list = List::called;
  if (called && (r.data = param(f, {"lists"})))
    r.list = List::several, r.number = param(f, {"n"}), r.mode = param(f, {"type"});
  if (f.flags & FLAG_LIST_BASE) r.list = List::base, r.object = param(f, {"base"});
  if (f.flags & FLAG_LIST_DELETE) r.list = List::deleted, r.object = param(f, {"list"}), r.number = param(f, {"range"});
}

void rule_of_objects(const Function& f, Rule& r) {
  if (f.api != "gl" && f.api != "vg") return;  // the window system's functions are none, Vulkan's count by handles
  auto one = [&](Count c) { r.ones.push_back(c); };
  if (f.flags & FLAG_CREATE) {
    r.number = f.api == "gl" ? param(f, {"n", "range"}) : nullptr;
    r.generates = r.number;
    if (!r.number) one(Count::created_objects);
  }
  if (f.flags & FLAG_DELETE) {
    r.number = f.api == "gl" ? param(f, {"n", "range"}) : nullptr;
    r.deletes = r.number;
    if (!r.number) one(Count::deleted_objects);
  }
}

Rule rule_of(const Function& f) {
  static constexpr std::pair<uint64_t, Count> ONES[] = {
      {FLAG_DISPATCH, Count::dispatches},  {FLAG_CLEAR, Count::clears},
      {FLAG_READBACK, Count::readbacks},   {FLAG_FINISH | FLAG_SYNC, Count::waits},
      {FLAG_FLUSH, Count::flushes},        {FLAG_QUERY | FLAG_ERROR_QUERY, Count::queries},
      {FLAG_UNIFORM, Count::uniforms},     {FLAG_MATRIX, Count::matrix_operations},
      {FLAG_COMPILE, Count::compiles},     {FLAG_LINK, Count::links},
      {FLAG_BIND, Count::binds},           {FLAG_FRAMEBUFFER_BIND, Count::framebuffer_binds},
      {FLAG_LIST_CALL, Count::list_calls}, {FLAG_MAKE_CURRENT, Count::context_switches}};
  Rule r;
  r.function = &f;
  if (f.flags & FLAG_RECORDS) return r;  // it counts when it runs
  rule_of_draw(f, r);
  rule_of_content(f, r);
  for (auto& [flags, count] : ONES)
    if (f.flags & flags) r.ones.push_back(count);
  if (f.flags & FLAG_READBACK) r.readback = true, r.data = param(f, {"pixels", "data", "img", "bits"});
  r.bind = f.flags & FLAG_BIND;
  rule_of_list(f, r);
  rule_of_objects(f, r);
  if (f.category == "state" && (f.api == "gl" || f.api == "vg") && !(f.flags & (FLAG_DRAW_SETUP | FLAG_QUERY)))
    r.ones.push_back(Count::state_calls);
  return r;
}

// Immediate mode may go over the end of a chunk.
struct Open {
  bool begun = false;
  uint64_t mode = 0, vertices = 0;
};
// Draws are counted where their calls stand; what was compiled into a list is drawn where the list is called.
constexpr std::array DRAWN = {Count::draws, Count::vertices, Count::primitives, Count::triangles};
using Drawn = std::array<uint64_t, DRAWN.size()>;
struct ListStep {
  uint64_t seq;
  size_t frame;
  uint32_t context;
  List what;
  uint32_t name = 0, mode = 0;  // mode: of glNewList; how many are deleted
  Drawn drawn{};
  std::vector<uint32_t> names{};
};
struct ChunkContent {
  std::vector<ListStep> steps;                        // where the trace has display lists
  std::vector<std::pair<uint32_t, uint32_t>> groups;  // of contexts
  size_t lead_step = SIZE_MAX;                        // of the first glEnd
  std::vector<std::pair<size_t, FrameContent>> frames;
  bool begins = false, ends = false;  // a glBegin or a glEnd stands in it
  uint64_t lead = 0;                  // vertices before the first of them
  bool lead_ended = false;            // the first of them is a glEnd ...
  size_t lead_frame = 0;              // ... in this frame
  Open tail;                          // what is open at its end
};

std::vector<uint32_t> list_names(std::string_view bytes, uint64_t type, uint64_t count) {
  std::vector<uint32_t> out;
  auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const int64_t bytes_of_type = pixels::type_size(static_cast<int64_t>(type));
  const size_t size = bytes_of_type > 0 && bytes_of_type < 4 ? static_cast<size_t>(bytes_of_type) : 4;
  for (uint64_t i = 0; i < count && (i + 1) * size <= bytes.size(); ++i) {
    const size_t at = i * size;
    uint32_t v = 0;
    if (type >= GL_2_BYTES && type <= GL_4_BYTES) {  // GL_2_BYTES to GL_4_BYTES: the highest first
      for (size_t k = 0; k < size; ++k) v = v << 8 | byte(at + k);
    } else {
      for (size_t k = size; k--;) v = v << 8 | byte(at + k);
      if (type == GL_BYTE) v = static_cast<uint32_t>(static_cast<int8_t>(v));
      if (type == GL_SHORT) v = static_cast<uint32_t>(static_cast<int16_t>(v));
      if (type == GL_FLOAT) {
        const auto number = std::bit_cast<float>(v);
        v = number >= 0 && number < 4294967296.f ? static_cast<uint32_t>(number) : 0;
      }
    }
    out.push_back(v);
  }
  return out;
}

// Move what lists draw from where they were made to where they are called. A list inside another counts as it was when
// that one was made.
void move_lists(std::vector<ChunkContent>& parts, std::vector<FrameContent>& out) {
  std::map<uint32_t, uint32_t> groups;
  std::vector<const ListStep*> steps;
  for (auto& part : parts) {
    groups.insert(part.groups.begin(), part.groups.end());
    for (auto& step : part.steps)
      if (step.frame < out.size()) steps.push_back(&step);
  }
  std::stable_sort(steps.begin(), steps.end(), [](auto* a, auto* b) { return a->seq < b->seq; });
  struct Open {
    uint32_t name = 0, mode = 0, base = 0;
    Drawn drawn{};
  };
  std::map<uint32_t, Open> contexts;
  std::map<std::pair<uint32_t, uint32_t>, Drawn> lists;  // by share group and name
  for (auto* step : steps) {
    Open& open = contexts[step->context];
    auto it = groups.find(step->context);
    const uint32_t group = it == groups.end() ? step->context : it->second;
    auto count = [&](size_t k) -> uint64_t& { return out[step->frame].counts[static_cast<size_t>(DRAWN[k])]; };
    auto call = [&](uint32_t name) {
      auto list = lists.find({group, name});
      if (list == lists.end()) return;
      for (size_t k = 0; k < DRAWN.size(); ++k) {
        if (open.name) open.drawn[k] += list->second[k];
        if (!open.name || open.mode != GL_COMPILE) count(k) += list->second[k];
      }
    };
    switch (step->what) {
      case List::drawn:
        if (!open.name) break;
        for (size_t k = 0; k < DRAWN.size(); ++k) {
          open.drawn[k] += step->drawn[k];
          if (open.mode == GL_COMPILE) count(k) -= step->drawn[k];
        }
        break;
      case List::opened:
        if (!open.name) open.name = step->name, open.mode = step->mode, open.drawn = {};
        break;
      case List::closed:
        if (open.name) lists[{group, open.name}] = open.drawn;
        open.name = 0;
        break;
      case List::called: call(step->name); break;
      case List::several:
        for (uint32_t name : step->names) call(open.base + name);
        break;
      case List::base:
        if (!open.name || open.mode != GL_COMPILE) open.base = step->name;
        break;
      case List::deleted:
        if (step->mode <= INT32_MAX)  // of a negative number nothing is deleted
          lists.erase(
              lists.lower_bound({group, step->name}),
              lists.lower_bound({group, step->mode > UINT32_MAX - step->name ? UINT32_MAX : step->name + step->mode}));
        break;
      case List::none: break;
    }
  }
}

// Each vertex of a patch counts as one.
Primitives made_of(uint64_t mode, uint64_t vertices) {
  const Primitives made = primitives_of(mode, vertices);
  return made.known ? made : Primitives{vertices};
}

void add_primitives(FrameContent& frame, uint64_t mode, uint64_t vertices, uint64_t instances) {
  if (vertices > UINT32_MAX) vertices = 0;  // a negative count draws nothing
  const Primitives made = made_of(mode, vertices);
  auto c = [&](Count which) -> uint64_t& { return frame.counts[static_cast<size_t>(which)]; };
  c(Count::vertices) += vertices * instances, c(Count::primitives) += made.count * instances,
      c(Count::triangles) += made.triangles * instances;
}

// The arguments of one call.
class Arguments {
 public:
  Arguments(const Trace& trace, const FunctionColumns& columns, uint32_t i) : trace_(trace), columns_(columns), i_(i) {}
  uint64_t value(const Field* field) const { return field && field->slot >= 0 ? columns_.raw(*field, i_) : 0; }
  // A count: 1 where the call has none, 0 of a negative one.
  uint64_t positive(const Field* field) const {
    if (!field) return 1;
    auto v = static_cast<int32_t>(value(field));
    return v > 0 ? static_cast<uint64_t>(v) : 0;
  }
  // The content of an array; `keep` owns content that comes from a blob.
  std::string_view bytes(const Field& field, std::vector<uint8_t>& keep) const {
    return content_of(trace_, columns_, field, i_, keep).value_or("");
  }
  uint64_t content() const { return content_bytes(columns_, i_); }

 private:
  const Trace& trace_;
  const FunctionColumns& columns_;
  uint32_t i_;
};

// Counts the calls of one chunk.
class ChunkWalk {
 public:
  ChunkWalk(const Trace& trace, const std::vector<Rule>& rules, bool lists, size_t index, ChunkContent& part)
      : trace_(trace), ends_held_(trace.frames()), ends_(ends_held_->ends), rules_(rules), lists_(lists), index_(index),
        info_(trace.calls_chunks[index]), chunk_(trace, index), part_(part), of_(info_.functions.size()),
        columns_(info_.functions.size()), tap_(info_.functions.size()), last_bind_(info_.functions.size()) {}

  void run() {
    auto& order = chunk_.order();
    auto& ordinals = chunk_.ordinals();
    durations_ = &chunk_.durations();
    auto& group = trace_.groups[info_.group];
    const bool alone = group.chunks.size() == 1;
    if (!alone) trace_.merge(info_.group);
    choose_columns();
    auto position = ends_.begin();
    if (info_.meta.calls) position = std::lower_bound(ends_.begin(), ends_.end(), trace_.seq_of(index_, 0));
    uint32_t call = 0;
    for (uint32_t r = 0; r < order.size(); ++r) {
      const uint16_t f = order[r];
      if (tap_[f] != Tap::none) {
        note(f, ordinals[r]);
        continue;
      }
      const uint64_t seq = alone ? group.base + call : trace_.seq_of(index_, call);
      ++call;
      bool moved = false;
      while (position != ends_.end() && *position < seq) ++position, moved = true;
      if (part_.frames.empty() || moved)
        close_time(), part_.frames.emplace_back(static_cast<size_t>(position - ends_.begin()), FrameContent{});
      count_call(seq, f, r, ordinals[r]);
    }
    close_time();
    if (part_.frames.empty()) return;
    count(Count::client_bytes) += client_;
    count(Count::mapped_bytes) += mapped_;
  }

 private:
  enum class Tap : uint8_t { none, other, memory, map_write, context };

  uint64_t& count(Count which) { return part_.frames.back().second.counts[static_cast<size_t>(which)]; }
  FrameContent& frame() { return part_.frames.back().second; }

  Tap tap_of(const CallsFunction& f) const {
    if (!f.tap()) return Tap::none;
    if (f.id() == DT_FN_MEMORY) return Tap::memory;
    if (f.id() == DT_FN_MAP_WRITE || f.id() == DT_FN_MEMORY_WRITE) return Tap::map_write;
    return lists_ && f.id() == DT_FN_CONTEXT ? Tap::context : Tap::other;
  }

  void choose_columns() {
    for (size_t f = 0; f < of_.size(); ++f) {
      auto* function = trace_.signatures.by_id(info_.functions[f].id());
      tap_[f] = tap_of(info_.functions[f]);
      if (tap_[f] > Tap::other && function) columns_[f] = &chunk_.columns(static_cast<uint16_t>(f));
      if (tap_[f] != Tap::none || !function) continue;
      of_[f] = &rules_[static_cast<size_t>(function->index)];
      if (of_[f]->wanted()) columns_[f] = &chunk_.columns(static_cast<uint16_t>(f));
    }
  }

  // A record of the tap's own.
  void note(uint16_t f, uint32_t i) {
    if (tap_[f] == Tap::other || !columns_[f] || !columns_[f]->function) return;
    if (tap_[f] == Tap::memory) client_ += content_bytes(*columns_[f], i);
    if (tap_[f] == Tap::map_write) mapped_ += content_bytes(*columns_[f], i);
    if (tap_[f] != Tap::context) return;
    auto number = [&](const char* name) {
      auto* field = param(*columns_[f]->function, {name});
      return field && field->slot >= 0 ? static_cast<uint32_t>(columns_[f]->raw(*field, i)) : 0;
    };
    part_.groups.emplace_back(number("context"), number("share_group"));
  }

  // The time of the calls since the last frame ended.
  void close_time() {
    if (!part_.frames.empty())
      count(Count::api_ns) += static_cast<uint64_t>(static_cast<double>(ticks_) * trace_.clock.ns_per_tick() + 0.5);
    ticks_ = 0;
  }

  void count_call(uint64_t seq, uint16_t f, uint32_t r, uint32_t i) {
    ++count(Count::calls);
    count(Count::client_bytes) += client_, count(Count::mapped_bytes) += mapped_;
    client_ = mapped_ = 0;
    uint64_t ticks = 0;
    if (auto duration = (*durations_)[r]; duration < DT_NO_DURATION)
      ticks_ += duration;
    else if (chunk_.duration(r, ticks))
      ticks_ += ticks;
    const Rule* rule = of_[f];
    if (!rule) return;
    Drawn before{};
    if (lists_)
      for (size_t k = 0; k < DRAWN.size(); ++k) before[k] = count(DRAWN[k]);
    for (Count which : rule->ones) ++count(which);
    if (!rule->wanted()) return;
    const Arguments args(trace_, *columns_[f], i);
    count_drawn(*rule, args);
    count_content(*rule, args);
    if (rule->bind) count_bind(*rule, args, f);
    if (lists_) add_step(*rule, args, {seq, part_.frames.back().first, chunk_.context(r), rule->list}, before);
  }

  void count_drawn(const Rule& rule, const Arguments& args) {
    if (rule.draw) count_draw(rule, args);
    if (rule.mesh) count_mesh(rule, args);
    if (rule.vertex) {
      if (part_.tail.begun)
        ++part_.tail.vertices;
      else if (!part_.begins && !part_.ends)
        ++part_.lead;
    }
    if (rule.begin) part_.begins = true, part_.tail = {true, args.value(rule.mode), 0};
    if (!rule.end) return;
    ++count(Count::draws);
    if (!part_.begins && !part_.ends)
      part_.lead_ended = true, part_.lead_frame = part_.frames.back().first;
    else if (part_.tail.begun)
      add_primitives(frame(), part_.tail.mode, part_.tail.vertices, 1);
    part_.ends = true;
    part_.tail = {};
  }

  void count_draw(const Rule& rule, const Arguments& args) {
    if (rule.many) {
      const uint64_t number = args.positive(rule.many);
      count(Count::draws) += number;
      std::vector<uint8_t> blob;
      std::string_view counts = args.bytes(*rule.count, blob);  // where it is lost its vertices are not known
      for (size_t k = 0; k < number && (k + 1) * 4 <= counts.size(); ++k) {
        int32_t n;
        memcpy(&n, counts.data() + k * 4, 4);
        if (n > 0) add_primitives(frame(), args.value(rule.mode), static_cast<uint64_t>(n), 1);
      }
      return;
    }
    ++count(Count::draws);
    if (rule.count && rule.mode)
      add_primitives(frame(), args.value(rule.mode), args.positive(rule.count),
                     rule.instances ? args.positive(rule.instances) : 1);
    else if (rule.rectangle)
      add_primitives(frame(), 7, 4, 1);
  }

  // Points, or lines along both directions, or strips of quads between them (OpenGL 2.1, 5.1).
  void count_mesh(const Rule& rule, const Arguments& args) {
    auto steps = [&](const char* from, const char* to) -> uint64_t {
      auto *a = param(*rule.function, {from}), *b = param(*rule.function, {to});
      if (!a || !b) return 0;
      int64_t n = int64_t{static_cast<int32_t>(args.value(b))} - static_cast<int32_t>(args.value(a)) + 1;
      return n > 0 && n < 1 << 20 ? static_cast<uint64_t>(n) : 0;
    };
    const bool flat = !param(*rule.function, {"j1"});
    const uint64_t across = steps("i1", "i2"), along = flat ? 1 : steps("j1", "j2");
    switch (args.value(rule.mode)) {
      case GL_POINT: add_primitives(frame(), 0, across * along, 1); break;
      case GL_LINE:
        add_primitives(frame(), 3, across, along);
        if (!flat) add_primitives(frame(), 3, along, across);
        break;
      case GL_FILL: add_primitives(frame(), 8, across * 2, along ? along - 1 : 0); break;
    }
  }

  void count_content(const Rule& rule, const Arguments& args) {
    if (rule.texture) {
      count(Count::texels) +=
          (rule.width ? args.positive(rule.width) : 0) * args.positive(rule.height) * args.positive(rule.depth);
      count(Count::texture_bytes) += args.content();
    }
    if (rule.buffer) count(Count::buffer_bytes) += args.content();
    if (rule.path) count(Count::path_segments) += args.positive(rule.number);
    if (rule.shape && args.value(rule.result) == 0)  // VGU_NO_ERROR
      count(Count::path_segments) += segments_of(rule, args);
    if (rule.readback) count(Count::readback_bytes) += args.content();
    if (rule.generates) count(Count::created_objects) += args.positive(rule.number);
    if (rule.deletes) count(Count::deleted_objects) += args.positive(rule.number);
  }

  static uint64_t segments_of(const Rule& rule, const Arguments& args) {
    const uint64_t mode = args.value(rule.mode);
    if (rule.angle) {  // a piece for each half of an ellipse, and what closes a chord or a pie
      const auto extent = std::bit_cast<float>(static_cast<uint32_t>(args.value(rule.angle)));
      const double pieces = std::ceil(std::fabs(static_cast<double>(extent)) / 180);
      return rule.segments + (pieces >= 1 && pieces < 1 << 20 ? static_cast<uint64_t>(pieces) : 1) +
             (mode == VGU_ARC_CHORD ? 1
              : mode == VGU_ARC_PIE ? 2
                                    : 0);
    }
    return rule.number ? args.positive(rule.number) + (mode ? 1 : 0) : rule.segments;
  }

  // A call with the values of this function's call before, nothing of it in between.
  void count_bind(const Rule& rule, const Arguments& args, uint16_t f) {
    std::vector<uint64_t> now;
    for (auto& p : rule.function->params) now.push_back(args.value(&p));
    if (now.size() == 1 && now == last_bind_[f]) ++count(Count::same_binds);
    last_bind_[f] = std::move(now);
  }

  // Where there are display lists: what becomes of them, and what is drawn between.
  void add_step(const Rule& rule, const Arguments& args, ListStep step, const Drawn& before) {
    if (rule.list == List::none) {
      bool any = false;
      for (size_t k = 0; k < DRAWN.size(); ++k) any |= (step.drawn[k] = count(DRAWN[k]) - before[k]) != 0;
      if (!any) return;
      step.what = List::drawn;
      if (rule.end && part_.lead_ended && part_.lead_step == SIZE_MAX) part_.lead_step = part_.steps.size();
      if (joined(step)) return;
    } else if (rule.list == List::several) {
      std::vector<uint8_t> blob;
      if (rule.data)
        step.names = list_names(args.bytes(*rule.data, blob), args.value(rule.mode), args.positive(rule.number));
    } else {
      step.name = static_cast<uint32_t>(args.value(rule.object));
      step.mode = static_cast<uint32_t>(args.value(rule.list == List::deleted ? rule.number : rule.mode));
    }
    part_.steps.push_back(std::move(step));
  }

  // Returns whether draws could be added to the step before.
  bool joined(const ListStep& step) {
    if (part_.steps.empty() || part_.lead_step == part_.steps.size()) return false;
    ListStep& last = part_.steps.back();
    if (last.what != List::drawn || last.frame != step.frame || last.context != step.context ||
        part_.steps.size() - 1 == part_.lead_step)
      return false;
    for (size_t k = 0; k < DRAWN.size(); ++k) last.drawn[k] += step.drawn[k];
    return true;
  }

  const Trace& trace_;
  std::shared_ptr<const Trace::Frames> ends_held_;
  const std::vector<uint64_t>& ends_;
  const std::vector<Rule>& rules_;
  const bool lists_;
  const size_t index_;
  const CallsChunk& info_;
  OpenChunk chunk_;
  ChunkContent& part_;
  std::vector<const Rule*> of_;  // by function of the chunk, as the next four are
  std::vector<const FunctionColumns*> columns_;
  std::vector<Tap> tap_;
  std::vector<std::vector<uint64_t>> last_bind_;
  const std::vector<uint32_t>* durations_ = nullptr;
  uint64_t client_ = 0, mapped_ = 0, ticks_ = 0;  // since the last call, since the last frame
};

// Immediate mode that goes over the end of a chunk.
void join_immediate(const Trace& trace, std::vector<ChunkContent>& parts, std::vector<FrameContent>& out) {
  for (auto& thread : trace.threads) {
    Open open;
    for (size_t index : thread.chunks) {
      ChunkContent& part = parts[index];
      if (open.begun) open.vertices += part.lead;
      if (part.lead_ended && open.begun && part.lead_frame < out.size()) {
        const Primitives made = made_of(open.mode, open.vertices);
        auto& f = out[part.lead_frame].counts;
        f[static_cast<size_t>(Count::vertices)] += open.vertices,
            f[static_cast<size_t>(Count::primitives)] += made.count,
            f[static_cast<size_t>(Count::triangles)] += made.triangles;
        if (part.lead_step < part.steps.size()) {
          Drawn& drawn = part.steps[part.lead_step].drawn;
          drawn[1] += open.vertices, drawn[2] += made.count, drawn[3] += made.triangles;
        }
      }
      if (part.begins || part.ends) open = part.tail;
    }
  }
}

// Kinds of primitives of pipelines, by handle and the call that made them; with them whether commands choose another.
class Topologies {
 public:
  explicit Topologies(const vulkan::Work& work) {
    for (auto& call : work.calls) {
      if (!call.function->name.starts_with("vkCreateGraphicsPipelines")) continue;
      auto handles = work.handles(call, *work.field(call, "pPipelines"));
      auto infos = work.trees(call, "pCreateInfos");
      for (size_t i = 0; i < std::min(handles.size(), infos.size()); ++i) {
        Of& of = by_handle_[handles[i]][call.seq];
        if (const vulkan::Node state = infos[i].in("pInputAssemblyState"))
          of.topology = static_cast<int64_t>(state.value("topology"));
        for (uint64_t dynamic : infos[i].in("pDynamicState").values("pDynamicStates"))
          if (dynamic == 1000267002) of.dynamic = true;  // VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY
      }
    }
  }
  // GL's number of it; -1: not known.
  int64_t of(const vulkan::Executed& draw) const {
    static constexpr int64_t MODES[] = {GL_POINTS,
                                        GL_LINES,
                                        GL_LINE_STRIP,
                                        GL_TRIANGLES,
                                        GL_TRIANGLE_STRIP,
                                        GL_TRIANGLE_FAN,
                                        GL_LINES_ADJACENCY,
                                        GL_LINE_STRIP_ADJACENCY,
                                        GL_TRIANGLES_ADJACENCY,
                                        GL_TRIANGLE_STRIP_ADJACENCY,
                                        GL_PATCHES};
    int64_t topology = draw.topology;
    if (auto own = by_handle_.find(draw.pipeline); own != by_handle_.end()) {
      auto it = own->second.lower_bound(draw.call.seq);
      if (it != own->second.begin() && !((--it)->second.dynamic && topology >= 0)) topology = it->second.topology;
    }
    return topology >= 0 && static_cast<size_t>(topology) < std::size(MODES) ? MODES[topology] : -1;
  }

 private:
  struct Of {
    int64_t topology = -1;
    bool dynamic = false;
  };
  std::map<uint64_t, std::map<uint64_t, Of>> by_handle_;
};

// Commands count where they were submitted.
void add_vulkan(const Trace& trace, const std::vector<uint64_t>& ends, std::vector<FrameContent>& out) {
  const vulkan::Work work(trace, true, false);
  auto frame_of = [&](uint64_t seq) -> FrameContent* {
    const auto number = static_cast<size_t>(std::lower_bound(ends.begin(), ends.end(), seq) - ends.begin());
    return number < out.size() ? &out[number] : nullptr;
  };
  const Topologies topologies(work);
  work.execute([&](const vulkan::Executed& e) {
    FrameContent* frame = frame_of(work.calls[e.submit.call].seq);
    if (!frame) return;
    auto count = [&](Count which) -> uint64_t& { return frame->counts[static_cast<size_t>(which)]; };
    const uint64_t flags = e.call.function->flags;
    if (flags & FLAG_DISPATCH) ++count(Count::dispatches);
    if (flags & FLAG_CLEAR) ++count(Count::clears);
    if (flags & FLAG_BIND) ++count(Count::binds);
    if (e.call.function->name.starts_with("vkCmdSet")) ++count(Count::state_calls);
    if (!(flags & FLAG_DRAW)) return;
    ++count(Count::draws);
    if (!e.call.counted)
      ++count(Count::indirect_draws);
    else if (const int64_t mode = topologies.of(e); mode >= 0)
      add_primitives(*frame, static_cast<uint64_t>(mode), e.call.a, e.call.b);
    else
      count(Count::vertices) += e.call.a * e.call.b;
  });
  for (auto& call : work.calls) {
    FrameContent* frame = frame_of(call.seq);
    if (!frame || !(call.function->flags & FLAG_SYNC)) continue;
    if (call.does == vulkan::Does::ends) ++frame->counts[static_cast<size_t>(Count::deleted_objects)];
    if (call.does != vulkan::Does::makes) continue;
    for (auto& p : call.function->params)
      if (p.has_data() && p.out && p.object_class.starts_with("Vk"))
        frame->counts[static_cast<size_t>(Count::created_objects)] += work.handles(call, p).size();
  }
}

}  // namespace

std::vector<FrameContent> frame_content(const Trace& trace) {
  auto frames = trace.frames();
  auto& ends = frames->ends;
  bool rest = trace.calls && (ends.empty() || ends.back() + 1 < trace.calls);
  std::vector<FrameContent> out(ends.size() + rest);
  std::vector<Rule> rules(trace.signatures.functions.size());
  for (auto& f : trace.signatures.functions)
    if (f.id < DT_FN_FIRST_TAP && trace.calls_of(f.id)) rules[static_cast<size_t>(f.index)] = rule_of(f);
  if (std::any_of(rules.begin(), rules.end(), [](const Rule& r) { return r.begin; }))
    for (auto& rule : rules)  // where vertices are given one by one, what they are made of sets no state
      if (rule.function && rule.function->flags & FLAG_VERTEX_PART) std::erase(rule.ones, Count::state_calls);
  const bool lists = std::any_of(rules.begin(), rules.end(), [](const Rule& r) { return r.list == List::opened; });
  std::vector<ChunkContent> parts(trace.calls_chunks.size());
  Work work(trace.generation);
  each_calls_chunk(trace, work, [&](size_t index) { ChunkWalk(trace, rules, lists, index, parts[index]).run(); });
  for (auto& part : parts)
    for (auto& [number, frame] : part.frames)
      if (number < out.size())
        for (size_t k = 0; k < COUNTS; ++k) out[number].counts[k] += frame.counts[k];
  join_immediate(trace, parts, out);
  if (lists) move_lists(parts, out);
  if (vulkan::Work::is_in(trace)) add_vulkan(trace, ends, out);
  return out;
}

}  // namespace dt
