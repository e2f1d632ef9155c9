#include "diff.h"

#include <algorithm>
#include <unordered_map>

#include "../core/calls.h"
#include "align.h"
#include "frame_pairs.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dt::edit {
namespace {

constexpr uint64_t MOST_OFFSET = 1u << 24;  // larger ones are addresses: they differ from run to run

bool is_object(const Field& f) { return !f.object_class.empty(); }

// The rules by which a function's parameters count.
struct Rule {
  std::vector<const Field*> values;    // compared as they are
  std::vector<const Field*> pointers;  // offsets are, addresses are not
  std::vector<const Field*> objects;   // by what they name
  std::vector<const Field*> contents;  // arrays that go in
  bool creates = false;
};

Rule rule_of(const Function& f, bool outputs) {
  Rule r;
  auto add = [&](const Field& p, bool out) {
    if (out && !outputs && !is_object(p)) return;
    if (is_object(p))
      r.objects.push_back(&p);
    else if (p.has_data())
      r.contents.push_back(&p);
    else if (p.kind == Kind::ptr)
      r.pointers.push_back(&p);
    else if (p.kind == Kind::handle)
      return;  // of windows and displays: numbers of this run
    else if (p.slot >= 0)
      r.values.push_back(&p);
  };
  for (auto& p : f.params) add(p, p.has_data() && p.out);
  if (f.result) add(*f.result, true);
  r.creates = f.name.find("Gen") != f.name.npos || f.name.find("Create") != f.name.npos;
  return r;
}

struct Side {
  const Trace& trace;
  std::vector<Rule> rules;
  std::vector<uint64_t> name, full;   // per call: hash of its function, and of all that counts but objects
  std::vector<uint16_t> thread;       // per call; empty: there is only one
  std::vector<uint64_t> frame_first;  // and one behind the last
  explicit Side(const Trace& t) : trace(t) {}
};

uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdull;
}

// A stretch of content by value; unknown content by its kind.
uint64_t content_hash(const FunctionColumns& c, const Field& p, uint32_t i) {
  uint64_t d = c.descriptor(p, i);
  unsigned kind = DT_DATA_KIND(d);
  if (kind == DT_DATA_INLINE) {
    // As blobs are named: content counts the same wherever it is stored.
    auto bytes = c.payload(p, i);
    if (p.element == Element::ptr) {
      uint64_t all = bytes.size();
      for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
        uint64_t v;
        memcpy(&v, bytes.data() + at, 8);
        all = mix(all, v < MOST_OFFSET ? v : MOST_OFFSET);
      }
      return all;
    }
    XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
    return mix(h.low64, h.high64);
  }
  if (kind == DT_DATA_BLOB) {
    Hash128 h = c.hash(p, i);
    return mix(h.low, h.high);
  }
  if (kind == DT_DATA_OFFSET) {
    uint64_t at = c.raw(p, i);
    return mix(3, at < MOST_OFFSET ? at : MOST_OFFSET);
  }
  return kind;
}

uint64_t pointer_value(uint64_t raw) { return raw < MOST_OFFSET ? raw : MOST_OFFSET; }

// The content of the program's memory that a call reads, and the stores to mappings before it.
struct Memory {
  uint64_t hash = 0, bytes = 0;
};
// Adds what stands before a record of a chunk; false: a call was met, nothing before it counts.
bool add_memory(Memory& m, OpenChunk& chunk, uint32_t record) {
  auto& order = chunk.order();
  for (uint32_t r = record; r-- > 0;) {
    if (!chunk.info.functions[order[r]].tap()) return false;
    unsigned id = chunk.info.functions[order[r]].id();
    if (id != DT_FN_MEMORY && id != DT_FN_MAP_WRITE) continue;
    auto& columns = chunk.columns(order[r]);
    if (!columns.function) continue;
    for (auto& p : columns.function->params)
      if (p.has_data()) {
        uint32_t i = chunk.ordinals()[r];
        m.hash = mix(m.hash + 1, content_hash(columns, p, i));
        m.bytes += DT_DATA_LENGTH(columns.descriptor(p, i));
      }
  }
  return true;
}
Memory memory_before(OpenChunk& chunk, uint32_t record) {
  Memory m;
  if ((record && chunk.plain()) || !add_memory(m, chunk, record)) return m;
  // Content that a call reads may stand at the end of the thread's chunk before its own.
  const Trace& trace = chunk.trace;
  auto& chunks = trace.threads[chunk.info.thread].chunks;
  for (size_t at = chunk.info.in_thread; at-- > 0;) {
    auto& info = trace.calls_chunks[chunks[at]];
    if (info.meta.records == info.meta.calls) break;
    try {
      OpenChunk before(trace, chunks[at]);
      if (!add_memory(m, before, info.meta.records)) break;
    } catch (const Error&) {  // lost, and said where its calls are read
      break;
    }
  }
  return m;
}

// `which` tells the sides apart.
void read(Side& side, bool outputs, uint64_t which) {
  const Trace& t = side.trace;
  for (auto& f : t.signatures.functions) side.rules.push_back(f.id < DT_FN_FIRST_TAP ? rule_of(f, outputs) : Rule{});
  std::vector<uint64_t> names;
  for (auto& f : t.signatures.functions) names.push_back(XXH3_64bits(f.name.data(), f.name.size()));
  side.name.assign(t.calls, 0);
  side.full.assign(t.calls, 0);
  if (t.threads.size() > 1) side.thread.assign(t.calls, 0);
  Selection all;
  all.end_seq = t.calls;
  each_call(t, all, [&](OpenChunk& chunk, uint32_t call, uint64_t seq) {
    uint32_t record = chunk.record_of(call);
    uint16_t f = chunk.order()[record];
    if (!side.thread.empty()) side.thread[seq] = static_cast<uint16_t>(chunk.info.thread);
    auto* function = t.signatures.by_id(chunk.info.functions[f].id());
    if (!function) {
      side.name[seq] = side.full[seq] = chunk.info.functions[f].id();
      return;
    }
    auto index = static_cast<size_t>(function->index);
    const Rule& rule = side.rules[index];
    uint64_t h = names[index];
    side.name[seq] = h;
    if (!rule.values.empty() || !rule.pointers.empty() || !rule.contents.empty()) {
      auto& columns = chunk.columns(f);
      uint32_t i = chunk.ordinals()[record];
      for (auto* p : rule.values) h = mix(h, columns.raw(*p, i));
      for (auto* p : rule.pointers) h = mix(h, pointer_value(columns.raw(*p, i)));
      for (auto* p : rule.contents) h = mix(h, content_hash(columns, *p, i));
    }
    if (Memory m = memory_before(chunk, record); m.hash) h = mix(h, m.hash);
    side.full[seq] = h;
  });
  for (uint64_t seq = 0; seq < t.calls; ++seq)  // what could not be read is like no other call
    if (!side.name[seq]) side.name[seq] = side.full[seq] = mix(which, seq);
  auto frames = t.frames();
  side.frame_first.push_back(0);
  for (uint64_t end : frames->ends) side.frame_first.push_back(end + 1);
  if (side.frame_first.back() < t.calls) side.frame_first.push_back(t.calls);
}

// One call of a trace, opened; chunks are kept while their calls come one after the other.
class Reader {
 public:
  explicit Reader(const Trace& trace) : trace_(trace) {}
  bool at(uint64_t seq) {
    size_t chunk;
    uint32_t call;
    if (!trace_.locate(seq, chunk, call)) return false;
    if (index_ != chunk) {
      open_.reset();
      index_ = chunk;
      try {
        open_ = std::make_unique<OpenChunk>(trace_, chunk);
      } catch (const Error& e) {
        say_damaged(trace_, chunk, e);
      }
    }
    if (!open_) return false;
    record = open_->record_of(call);
    uint16_t f = open_->order()[record];
    columns = &open_->columns(f);
    function = columns->function;
    i = open_->ordinals()[record];
    return function != nullptr;
  }
  OpenChunk& chunk() { return *open_; }
  uint32_t record = 0, i = 0;
  const FunctionColumns* columns = nullptr;
  const Function* function = nullptr;

 private:
  const Trace& trace_;
  std::unique_ptr<OpenChunk> open_;  // nullptr: that chunk cannot be read
  size_t index_ = SIZE_MAX;
};

// Pairs objects of a with objects of b.
class Objects {
 public:
  // Returns whether they are the same; new ones become so. `made`: by these very calls.
  bool same(const std::string& kind, uint64_t a, uint64_t b, bool made) {
    if (!a || !b) return a == b;
    auto& forward = to_b_[kind];
    auto& backward = to_a_[kind];
    auto f = forward.find(a);
    auto r = backward.find(b);
    if (made || (f == forward.end() && r == backward.end())) {
      if (f != forward.end()) backward.erase(f->second);
      if (r != backward.end()) forward.erase(r->second);
      forward[a] = b;
      backward[b] = a;
      return true;
    }
    return f != forward.end() && f->second == b;
  }

 private:
  std::unordered_map<std::string, std::unordered_map<uint64_t, uint64_t>> to_b_, to_a_;
};

// Calls of one thread in one frame.
struct Sequence {
  std::vector<uint64_t> seq, full, name;
};

Sequence sequence_of(const Side& s, uint64_t first, uint64_t end, size_t thread) {
  Sequence out;
  for (uint64_t c = first; c < end; ++c)
    if ((s.thread.empty() ? 0 : s.thread[c]) == thread)
      out.seq.push_back(c), out.full.push_back(s.full[c]), out.name.push_back(s.name[c]);
  return out;
}

// A hash of each frame. Threads run as they like: each is a sequence of its own.
std::vector<uint64_t> frame_hashes(const Side& s, size_t threads) {
  std::vector<uint64_t> out, of(threads);
  for (size_t f = 0; f + 1 < s.frame_first.size(); ++f) {
    std::fill(of.begin(), of.end(), 1);
    for (uint64_t c = s.frame_first[f]; c < s.frame_first[f + 1]; ++c) {
      uint64_t& h = of[s.thread.empty() ? 0 : s.thread[c]];
      h = mix(h, s.full[c]);
    }
    out.push_back(XXH3_64bits(of.data(), of.size() * 8));
  }
  return out;
}

// Keeps the frames from options.first_frame to options.end_frame; returns how many were dropped at the start.
size_t narrow(std::vector<uint64_t>& frames, const DiffOptions& options) {
  size_t first = std::min<size_t>(options.first_frame, frames.size());
  size_t end = std::min<size_t>(options.end_frame, frames.size());
  frames = std::vector<uint64_t>(frames.begin() + static_cast<long>(first),
                                 frames.begin() + static_cast<long>(std::max(first, end)));
  return first;
}

const Field* partner(const std::vector<const Field*>& fields, const Field& p) {
  for (auto* q : fields)
    if (q->name == p.name) return q;
  return nullptr;
}

void put_number(JsonWriter<std::string>& json, uint64_t n) { n == NONE ? json.value(nullptr) : json.value(n); }

struct Counts {
  uint64_t equal = 0, changed = 0, only_a = 0, only_b = 0;
  void put(JsonWriter<std::string>& json) const {
    json.put("equal", equal).put("changed", changed).put("only_a", only_a).put("only_b", only_b);
  }
  bool same_calls(const Counts& o) const { return changed == o.changed && only_a == o.only_a && only_b == o.only_b; }
};

// The alignment as runs of calls of one kind; see edit.h.
class Runs {
 public:
  enum Kind : uint64_t { EQUAL, CHANGED, ONLY_A, ONLY_B };
  explicit Runs(bool wanted) : wanted_(wanted) { json_.list(); }
  void within(uint64_t frame_a, uint64_t frame_b, uint64_t thread) {
    put();
    frame_a_ = frame_a, frame_b_ = frame_b, thread_ = thread;
  }
  void add(Kind kind, uint64_t a, uint64_t b) {
    if (!wanted_) return;
    if (calls_ && kind == kind_ && follows(a, a_) && follows(b, b_)) {
      ++calls_;
      return;
    }
    put();
    kind_ = kind, a_ = a, b_ = b, calls_ = 1;
  }
  // A list of seven numbers for each run.
  std::string_view text() {
    put();
    json_.end();
    return text_;
  }

 private:
  bool follows(uint64_t seq, uint64_t first) const { return first == NONE ? seq == NONE : seq == first + calls_; }
  void put() {
    if (!calls_) return;
    for (uint64_t n : {static_cast<uint64_t>(kind_), frame_a_, frame_b_, thread_, a_, b_, calls_})
      n == NONE ? json_.value(-1) : json_.value(n);
    calls_ = 0;
  }
  bool wanted_;
  Kind kind_ = EQUAL;
  uint64_t frame_a_ = NONE, frame_b_ = NONE, thread_ = 0, a_ = NONE, b_ = NONE, calls_ = 0;
  std::string text_;
  JsonWriter<std::string> json_{text_};
};

// Two recordings, call by call: counts them, and lists the first differences as JSON.
class Comparison {
 public:
  Comparison(const Trace& ta, const Trace& tb, const DiffOptions& options)
      : ta_(ta), tb_(tb), options_(options), a_(ta), b_(tb), ra_(ta), rb_(tb), pa_(ta), pb_(tb), runs_(options.runs) {
    read(a_, options.outputs, 1);
    read(b_, options.outputs, 2);
    threads_ = a_.thread.empty() && b_.thread.empty() ? 1 : std::max(ta.threads.size(), tb.threads.size());
    rows_.list(), summary_.list();
    // Functions without objects need no look where their hashes agree.
    for (auto& f : ta.signatures.functions)
      looks_[XXH3_64bits(f.name.data(), f.name.size())] = !a_.rules[static_cast<size_t>(f.index)].objects.empty();
  }

  std::string run() {
    std::vector<uint64_t> fa = frame_hashes(a_, threads_), fb = frame_hashes(b_, threads_);
    from_a_ = narrow(fa, options_), from_b_ = narrow(fb, options_);
    Work work(ta_.generation);
    const size_t frames_a = fa.size(), frames_b = fb.size();
    const Frames one{a_.frame_first.data() + from_a_, frames_a, a_.name, a_.full, std::move(fa)};
    const Frames two{b_.frame_first.data() + from_b_, frames_b, b_.name, b_.full, std::move(fb)};
    for (auto& [i, j] : paired_frames(one, two)) {
      work.check();
      const Counts before = counts_;
      frame_a_ = i, frame_b_ = j;
      compare_frames();
      if (counts_.same_calls(before)) continue;
      if (++different_frames_ <= options_.limit) summarize(before);
    }
    return result(frames_a, frames_b);
  }

 private:
  void compare_frames() {
    const uint64_t i = frame_a_, j = frame_b_;
    uint64_t a0 = i == NONE ? 0 : a_.frame_first[i + from_a_], a1 = i == NONE ? 0 : a_.frame_first[i + from_a_ + 1];
    uint64_t b0 = j == NONE ? 0 : b_.frame_first[j + from_b_], b1 = j == NONE ? 0 : b_.frame_first[j + from_b_ + 1];
    for (size_t thread = 0; thread < threads_; ++thread) {
      runs_.within(i == NONE ? NONE : i + from_a_, j == NONE ? NONE : j + from_b_, thread);
      compare_sequences(sequence_of(a_, a0, a1, thread), sequence_of(b_, b0, b1, thread));
    }
  }

  void compare_sequences(const Sequence& one, const Sequence& two) {
    size_t n = one.seq.size(), m = two.seq.size();
    Pairs same;
    if (frame_a_ != NONE && frame_b_ != NONE) align(one.full.data(), n, two.full.data(), m, 0, 0, same);
    same.emplace_back(n, m);
    uint64_t p = 0, q = 0;
    for (auto& [sa, sb] : same) {
      if (p < sa || q < sb) compare_stretch(one, two, p, sa, q, sb);
      p = sa, q = sb;
      if (sa >= n || sb >= m) continue;
      auto it = looks_.find(one.name[sa]);
      if (it != looks_.end() && !it->second)
        count(Runs::EQUAL, one.seq[sa], two.seq[sb]);
      else
        compare(one.seq[sa], two.seq[sb], true);
      ++p, ++q;
    }
  }

  // Between two calls that are the same: calls of the same function go together.
  void compare_stretch(const Sequence& one, const Sequence& two, uint64_t p, uint64_t sa, uint64_t q, uint64_t sb) {
    Pairs named;
    align(one.name.data() + p, sa - p, two.name.data() + q, sb - q, p, q, named);
    named.emplace_back(sa, sb);
    for (auto& [na, nb] : named) {
      for (; p < na; ++p) count(Runs::ONLY_A, one.seq[p], NONE), alone("only_a", one.seq[p], true);
      for (; q < nb; ++q) count(Runs::ONLY_B, NONE, two.seq[q]), alone("only_b", two.seq[q], false);
      if (na < sa && nb < sb) {
        compare(one.seq[na], two.seq[nb], false);
        p = na + 1, q = nb + 1;
      }
    }
  }

  void count(Runs::Kind kind, uint64_t sa, uint64_t sb) {
    uint64_t* const counts[] = {&counts_.equal, &counts_.changed, &counts_.only_a, &counts_.only_b};
    ++*counts[kind];
    runs_.add(kind, sa, sb);
  }

  // Two calls of the same function: what differs between them.
  void compare(uint64_t sa, uint64_t sb, bool same_hash) {
    if (!ra_.at(sa) || !rb_.at(sb)) return count(Runs::EQUAL, sa, sb);
    const Function* function = ra_.function;
    const Rule& rule = a_.rules[static_cast<size_t>(function->index)];
    const Rule& other = b_.rules[static_cast<size_t>(rb_.function->index)];
    Differing differing;
    if (!same_hash) compare_values(rule, other, differing);
    compare_objects(rule, other, differing);
    Memory ma, mb;
    if (!same_hash) ma = memory_before(ra_.chunk(), ra_.record), mb = memory_before(rb_.chunk(), rb_.record);
    if (differing.empty() && ma.hash == mb.hash) return count(Runs::EQUAL, sa, sb);
    count(Runs::CHANGED, sa, sb);
    if (listed_ >= options_.limit) return;
    ++listed_;
    row("changed", sa, sb);
    rows_.put("function", function->name);
    put_parameters(differing, ma, mb);
    rows_.end();
  }

  using Differing = std::vector<std::pair<const Field*, const Field*>>;

  void compare_values(const Rule& rule, const Rule& other, Differing& differing) {
    for (auto* p : rule.values)
      if (auto* q = partner(other.values, *p); !q || ra_.columns->raw(*p, ra_.i) != rb_.columns->raw(*q, rb_.i))
        differing.emplace_back(p, q);
    for (auto* p : rule.pointers)
      if (auto* q = partner(other.pointers, *p);
          !q || pointer_value(ra_.columns->raw(*p, ra_.i)) != pointer_value(rb_.columns->raw(*q, rb_.i)))
        differing.emplace_back(p, q);
    for (auto* p : rule.contents)
      if (auto* q = partner(other.contents, *p);
          !q || content_hash(*ra_.columns, *p, ra_.i) != content_hash(*rb_.columns, *q, rb_.i))
        differing.emplace_back(p, q);
  }

  void compare_objects(const Rule& rule, const Rule& other, Differing& differing) {
    for (auto* p : rule.objects) {
      auto* q = partner(other.objects, *p);
      if (!q) continue;
      auto one = names_in(ta_, *ra_.columns, *p, ra_.i), two = names_in(tb_, *rb_.columns, *q, rb_.i);
      bool made = rule.creates && (p == ra_.function->result.get() || p->out), same = one.size() == two.size();
      for (size_t k = 0; k < std::min(one.size(), two.size()); ++k)
        same = objects_.same(p->object_class, one[k], two[k], made) && same;
      if (!same) differing.emplace_back(p, q);
    }
  }

  void put_parameters(const Differing& differing, const Memory& ma, const Memory& mb) {
    rows_.list("params");
    for (auto& [p, q] : differing) {
      Bytes was, is;
      pa_.param(was, *ra_.columns, *p, ra_.i);
      if (q) pb_.param(is, *rb_.columns, *q, rb_.i);
      rows_.object().put("name", p->name).put("a", was.view()).put("b", is.view()).end();
    }
    if (ma.hash != mb.hash) rows_.object().put("name", "memory").put("a", text_of(ma)).put("b", text_of(mb)).end();
    rows_.end();
  }

  // A call that only one of them has.
  void alone(const char* kind, uint64_t seq, bool first) {
    if (listed_ >= options_.limit) return;
    ++listed_;
    row(kind, first ? seq : NONE, first ? NONE : seq);
    rows_.put("text", first ? text_of(ra_, pa_, seq) : text_of(rb_, pb_, seq)).end();
  }

  static std::string text_of(const Memory& m) {
    char text[60];
    snprintf(text, sizeof text, "%llu bytes, %016llx", static_cast<unsigned long long>(m.bytes),
             static_cast<unsigned long long>(m.hash));
    return text;
  }
  static std::string text_of(Reader& reader, Printer& printer, uint64_t seq) {
    Bytes text;
    if (!reader.at(seq)) return "a call that cannot be read";
    printer.call(text, reader.chunk(), reader.record);
    return std::string(text.view());
  }

  void row(const char* kind, uint64_t a, uint64_t b) {
    rows_.object().put("kind", kind);
    put_frames(rows_);
    put_number(rows_.key("a"), a);
    put_number(rows_.key("b"), b);
  }

  void put_frames(JsonWriter<std::string>& json) const {
    put_number(json.key("frame_a"), frame_a_ == NONE ? NONE : frame_a_ + from_a_);
    put_number(json.key("frame_b"), frame_b_ == NONE ? NONE : frame_b_ + from_b_);
  }

  void summarize(const Counts& before) {
    put_frames(summary_.object());
    Counts{counts_.equal - before.equal, counts_.changed - before.changed, counts_.only_a - before.only_a,
           counts_.only_b - before.only_b}
        .put(summary_);
    summary_.end();
  }

  std::string result(size_t frames_a, size_t frames_b) {
    std::string text;
    JsonWriter json(text);
    json.object().put("calls_a", ta_.calls).put("calls_b", tb_.calls);
    json.put("frames_a", frames_a).put("frames_b", frames_b);
    counts_.put(json);
    rows_.end(), summary_.end();
    json.put("different_frames", different_frames_).json("frames", summary_text_).json("differences", rows_text_);
    if (options_.runs) json.json("runs", runs_.text());
    json.end();
    return text;
  }

  const Trace &ta_, &tb_;
  const DiffOptions& options_;
  Side a_, b_;
  Reader ra_, rb_;
  Printer pa_, pb_;
  Objects objects_;
  std::unordered_map<uint64_t, bool> looks_;  // by hash of a function's name: whether it has objects
  size_t threads_ = 1, from_a_ = 0, from_b_ = 0;
  uint64_t frame_a_ = NONE, frame_b_ = NONE;  // that are compared now
  Counts counts_;
  uint64_t listed_ = 0, different_frames_ = 0;
  std::string rows_text_, summary_text_;
  JsonWriter<std::string> rows_{rows_text_}, summary_{summary_text_};
  Runs runs_;
};

}  // namespace

std::string diff(const Trace& a, const Trace& b, const DiffOptions& options) { return Comparison(a, b, options).run(); }

}  // namespace dt::edit
