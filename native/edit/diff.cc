#include "diff.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "../core/calls.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dt::edit {
namespace {

constexpr uint64_t MOST_OFFSET = 1u << 24;  // larger ones are addresses: they differ from run to run
constexpr size_t MOST_STEPS = 3000;         // of one alignment, before it makes do with less
constexpr size_t WINDOW = 64;

bool is_object(const Field& f) { return !f.object_class.empty(); }

// How a function's parameters count.
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

// What the program's memory held that a call reads, and what was stored in mappings before it.
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
  // What a call reads may stand at the end of the thread's chunk before its own.
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

void read(Side& side, bool outputs) {
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
  auto frames = t.frames();
  side.frame_first.push_back(0);
  for (uint64_t end : frames->ends) side.frame_first.push_back(end + 1);
  if (side.frame_first.back() < t.calls) side.frame_first.push_back(t.calls);
}

// Pairs of indices of a longest common subsequence (Myers 1986), offset by `a0`, `b0`. Beyond MOST_STEPS differences:
// runs that agree within a window, which is not the longest but long.
using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;
bool anchored(const uint64_t* a, size_t n, const uint64_t* b, size_t m, uint64_t a0, uint64_t b0, Pairs& out);
void align(const uint64_t* a, size_t n, const uint64_t* b, size_t m, uint64_t a0, uint64_t b0, Pairs& out) {
  size_t head = 0;
  while (head < n && head < m && a[head] == b[head]) out.emplace_back(a0 + head, b0 + head), ++head;
  a += head, b += head, n -= head, m -= head, a0 += head, b0 += head;
  size_t tail = 0;
  while (tail < n && tail < m && a[n - 1 - tail] == b[m - 1 - tail]) ++tail;
  n -= tail, m -= tail;
  if (n && m) {
    auto most = static_cast<long>(std::min(n + m, MOST_STEPS));
    std::vector<std::vector<long>> trace;
    std::vector<long> v(static_cast<size_t>(2 * most + 3), 0);
    long found = -1;
    for (long d = 0; d <= most && found < 0; ++d) {
      trace.emplace_back(v.begin() + (most + 1 - d - 1), v.begin() + (most + 1 + d + 2));
      for (long k = -d; k <= d; k += 2) {
        auto at = [&](long q) -> long& { return v[static_cast<size_t>(q + most + 1)]; };
        long x = k == -d || (k != d && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1;
        long y = x - k;
        while (x >= 0 && y >= 0 && x < static_cast<long>(n) && y < static_cast<long>(m) && a[x] == b[y]) ++x, ++y;
        at(k) = x;
        if (x >= static_cast<long>(n) && y >= static_cast<long>(m)) {
          found = d;
          break;
        }
      }
    }
    if (found >= 0) {
      Pairs back;
      long x = static_cast<long>(n), y = static_cast<long>(m);
      for (long d = found; d > 0 || x > 0 || y > 0; --d) {
        if (d < 0) break;
        auto& old = trace[static_cast<size_t>(d)];  // v before step d, from k = -d - 1 on
        auto at = [&](long q) { return old[static_cast<size_t>(q + d + 1)]; };
        long k = x - y, before = 0;
        if (d > 0) before = k == -d || (k != d && at(k - 1) < at(k + 1)) ? k + 1 : k - 1;
        long px = d > 0 ? at(before) : 0, py = d > 0 ? px - before : 0;
        while (x > px && y > py) {
          --x, --y;
          back.emplace_back(a0 + static_cast<uint64_t>(x), b0 + static_cast<uint64_t>(y));
        }
        if (d == 0) break;
        x = px, y = py;
      }
      out.insert(out.end(), back.rbegin(), back.rend());
    } else if (!anchored(a, n, b, m, a0, b0, out)) {
      size_t i = 0, j = 0;
      while (i < n && j < m) {
        if (a[i] == b[j]) {
          out.emplace_back(a0 + i++, b0 + j++);
          continue;
        }
        // The nearest place where they agree again.
        bool met = false;
        for (size_t sum = 1; sum <= 2 * WINDOW && !met; ++sum)
          for (size_t di = 0; di <= sum; ++di) {
            size_t dj = sum - di;
            if (i + di < n && j + dj < m && a[i + di] == b[j + dj]) {
              i += di, j += dj, met = true;
              break;
            }
          }
        if (!met) ++i, ++j;
      }
    }
  }
  for (size_t k = tail; k-- > 0;) out.emplace_back(a0 + n + tail - 1 - k, b0 + m + tail - 1 - k);
}

// What stands once on either side holds the two together (patience diff): the longest rising run of such pairs, and
// between them alignments of their own. False: there are none.
bool anchored(const uint64_t* a, size_t n, const uint64_t* b, size_t m, uint64_t a0, uint64_t b0, Pairs& out) {
  struct Seen {
    uint32_t in_a = 0, in_b = 0;
    size_t at = 0;
  };
  std::unordered_map<uint64_t, Seen> seen;
  for (size_t i = 0; i < n; ++i) ++seen[a[i]].in_a;
  for (size_t j = 0; j < m; ++j)
    if (auto it = seen.find(b[j]); it != seen.end()) ++it->second.in_b, it->second.at = j;
  std::vector<std::pair<size_t, size_t>> unique;
  for (size_t i = 0; i < n; ++i) {
    auto& s = seen[a[i]];
    if (s.in_a == 1 && s.in_b == 1) unique.emplace_back(i, s.at);
  }
  if (unique.empty()) return false;
  std::vector<size_t> ends, before(unique.size(), SIZE_MAX);  // the run that ends lowest, by its length
  for (size_t k = 0; k < unique.size(); ++k) {
    auto it = std::lower_bound(ends.begin(), ends.end(), unique[k].second,
                               [&](size_t e, size_t v) { return unique[e].second < v; });
    if (it != ends.begin()) before[k] = *(it - 1);
    if (it == ends.end())
      ends.push_back(k);
    else
      *it = k;
  }
  std::vector<std::pair<size_t, size_t>> run;
  for (size_t k = ends.back(); k != SIZE_MAX; k = before[k]) run.push_back(unique[k]);
  std::reverse(run.begin(), run.end());
  size_t i = 0, j = 0;
  for (auto& [x, y] : run) {
    align(a + i, x - i, b + j, y - j, a0 + i, b0 + j, out);
    out.emplace_back(a0 + x, b0 + y);
    i = x + 1, j = y + 1;
  }
  align(a + i, n - i, b + j, m - j, a0 + i, b0 + j, out);
  return true;
}

// One call of a trace, opened; chunks are kept while their calls come one after the other.
class Reader {
 public:
  explicit Reader(const Trace& trace) : trace_(trace) {}
  bool at(uint64_t seq) {
    size_t chunk;
    uint32_t call;
    if (!trace_.locate(seq, chunk, call)) return false;
    if (!open_ || index_ != chunk) {
      open_ = std::make_unique<OpenChunk>(trace_, chunk);
      index_ = chunk;
    }
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
  std::unique_ptr<OpenChunk> open_;
  size_t index_ = 0;
};

// Which object of a is which of b.
class Objects {
 public:
  // Whether they are the same; those not seen before become so. `made`: by these very calls.
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

std::vector<uint64_t> names_in(const Trace& trace, const FunctionColumns& c, const Field& p, uint32_t i) {
  if (!p.has_data() || !element_bytes(p.element))
    return p.slot >= 0 ? std::vector<uint64_t>{c.raw(p, i)} : std::vector<uint64_t>{};
  uint64_t d = c.descriptor(p, i);
  std::vector<uint8_t> blob;
  std::string_view bytes;
  if (DT_DATA_KIND(d) == DT_DATA_INLINE)
    bytes = c.payload(p, i);
  else if (DT_DATA_KIND(d) == DT_DATA_BLOB) {
    try {
      blob = trace.blob(c.hash(p, i), 1u << 24);
      bytes = {reinterpret_cast<const char*>(blob.data()), blob.size()};
    } catch (const Error&) {  // lost
    }
  }
  size_t width = element_bytes(p.element);
  std::vector<uint64_t> out;
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    uint64_t v = 0;
    memcpy(&v, bytes.data() + at, width);
    out.push_back(v);
  }
  return out;
}

}  // namespace

std::string diff(const Trace& ta, const Trace& tb, const DiffOptions& options) {
  Side a(ta), b(tb);
  read(a, options.outputs);
  read(b, options.outputs);
  // Threads run as they like: each is a sequence of its own.
  size_t threads = a.thread.empty() && b.thread.empty() ? 1 : std::max(ta.threads.size(), tb.threads.size());
  auto frame_hashes = [&](const Side& s) {
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
  };
  struct Sequence {
    std::vector<uint64_t> seq, full, name;
  };
  auto sequence = [&](const Side& s, uint64_t first, uint64_t end, size_t thread) {
    Sequence out;
    for (uint64_t c = first; c < end; ++c)
      if ((s.thread.empty() ? 0 : s.thread[c]) == thread)
        out.seq.push_back(c), out.full.push_back(s.full[c]), out.name.push_back(s.name[c]);
    return out;
  };
  std::vector<uint64_t> fa = frame_hashes(a), fb = frame_hashes(b);
  auto narrowed = [&](std::vector<uint64_t>& f) {
    size_t first = std::min<size_t>(options.first_frame, f.size()), end = std::min<size_t>(options.end_frame, f.size());
    f = std::vector<uint64_t>(f.begin() + static_cast<long>(first),
                              f.begin() + static_cast<long>(std::max(first, end)));
    return first;
  };
  size_t from_a = narrowed(fa), from_b = narrowed(fb);
  // Frames that are equal are anchors; those between two anchors go together in order.
  Pairs anchors, frames;
  align(fa.data(), fa.size(), fb.data(), fb.size(), 0, 0, anchors);
  anchors.emplace_back(fa.size(), fb.size());
  constexpr uint64_t NONE = UINT64_MAX;
  uint64_t x = 0, y = 0;
  for (auto& [i, j] : anchors) {
    for (; x < i && y < j; ++x, ++y) frames.emplace_back(x, y);
    for (; x < i; ++x) frames.emplace_back(x, NONE);
    for (; y < j; ++y) frames.emplace_back(NONE, y);
    if (i < fa.size()) frames.emplace_back(i, j), x = i + 1, y = j + 1;
  }

  Objects objects;
  Reader ra(ta), rb(tb);
  Printer pa(ta), pb(tb);
  uint64_t equal = 0, changed = 0, only_a = 0, only_b = 0, listed = 0;
  Bytes rows, summary;
  bool comma = false, summary_comma = false;
  auto frame_number = [&](Bytes& out, const char* name, uint64_t f, size_t from) {
    out.put(name);
    if (f == NONE)
      out.put("null");
    else
      put_u64(out, f + from);
  };
  auto row = [&](const char* kind, uint64_t frame_a, uint64_t frame_b) {
    rows.put(comma ? ",\n{\"kind\": \"" : "{\"kind\": \"");
    comma = true;
    rows.put(kind);
    rows.put('"');
    frame_number(rows, ", \"frame_a\": ", frame_a, from_a);
    frame_number(rows, ", \"frame_b\": ", frame_b, from_b);
  };
  auto text_of = [&](Reader& reader, Printer& printer, uint64_t seq) {
    Bytes text;
    if (reader.at(seq)) printer.call(text, reader.chunk(), reader.record);
    return std::string(text.view());
  };
  auto alone = [&](const char* kind, uint64_t seq, uint64_t frame_a, uint64_t frame_b, bool first) {
    if (listed >= options.limit) return;
    ++listed;
    row(kind, frame_a, frame_b);
    rows.put(first ? ", \"a\": " : ", \"a\": null, \"b\": ");
    put_u64(rows, seq);
    if (first) rows.put(", \"b\": null");
    rows.put(", \"text\": ");
    put_json(rows, first ? text_of(ra, pa, seq) : text_of(rb, pb, seq));
    rows.put('}');
  };
  // Two calls of the same function: what differs between them.
  auto compare = [&](uint64_t sa, uint64_t sb, uint64_t frame_a, uint64_t frame_b, bool same_hash) {
    auto* function = [&]() -> const Function* {
      if (same_hash) {  // nothing to look at but objects
        size_t chunk;
        uint32_t call;
        if (!ta.locate(sa, chunk, call)) return nullptr;
      }
      return ra.at(sa) && rb.at(sb) ? ra.function : nullptr;
    }();
    if (!function) {
      ++equal;
      return;
    }
    const Rule& rule = a.rules[static_cast<size_t>(function->index)];
    const Rule& other = b.rules[static_cast<size_t>(rb.function->index)];
    std::vector<std::pair<const Field*, const Field*>> differing;
    auto partner = [](const std::vector<const Field*>& fields, const Field& p) -> const Field* {
      for (auto* q : fields)
        if (q->name == p.name) return q;
      return nullptr;
    };
    if (!same_hash) {
      for (auto* p : rule.values)
        if (auto* q = partner(other.values, *p); !q || ra.columns->raw(*p, ra.i) != rb.columns->raw(*q, rb.i))
          differing.emplace_back(p, q);
      for (auto* p : rule.pointers)
        if (auto* q = partner(other.pointers, *p);
            !q || pointer_value(ra.columns->raw(*p, ra.i)) != pointer_value(rb.columns->raw(*q, rb.i)))
          differing.emplace_back(p, q);
      for (auto* p : rule.contents)
        if (auto* q = partner(other.contents, *p);
            !q || content_hash(*ra.columns, *p, ra.i) != content_hash(*rb.columns, *q, rb.i))
          differing.emplace_back(p, q);
    }
    for (auto* p : rule.objects) {
      auto* q = partner(other.objects, *p);
      if (!q) continue;
      auto one = names_in(ta, *ra.columns, *p, ra.i), two = names_in(tb, *rb.columns, *q, rb.i);
      bool made = rule.creates && (p == function->result.get() || p->out), same = one.size() == two.size();
      for (size_t k = 0; k < std::min(one.size(), two.size()); ++k)
        same = objects.same(p->object_class, one[k], two[k], made) && same;
      if (!same) differing.emplace_back(p, q);
    }
    Memory ma, mb;
    if (!same_hash) ma = memory_before(ra.chunk(), ra.record), mb = memory_before(rb.chunk(), rb.record);
    if (differing.empty() && ma.hash == mb.hash) {
      ++equal;
      return;
    }
    ++changed;
    if (listed >= options.limit) return;
    ++listed;
    row("changed", frame_a, frame_b);
    rows.put(", \"a\": ");
    put_u64(rows, sa);
    rows.put(", \"b\": ");
    put_u64(rows, sb);
    rows.put(", \"function\": ");
    put_json(rows, function->name);
    rows.put(", \"params\": [");
    bool more = false;
    for (auto& [p, q] : differing) {
      if (more) rows.put(", ");
      more = true;
      Bytes was, is;
      pa.param(was, *ra.columns, *p, ra.i);
      if (q) pb.param(is, *rb.columns, *q, rb.i);
      rows.put("{\"name\": ");
      put_json(rows, p->name);
      rows.put(", \"a\": ");
      put_json(rows, was.view());
      rows.put(", \"b\": ");
      put_json(rows, is.view());
      rows.put('}');
    }
    if (ma.hash != mb.hash) {
      char text[200];
      snprintf(text, sizeof text,
               "%s{\"name\": \"memory\", \"a\": \"%llu bytes, %016llx\", \"b\": \"%llu bytes, %016llx\"}",
               more ? ", " : "", static_cast<unsigned long long>(ma.bytes), static_cast<unsigned long long>(ma.hash),
               static_cast<unsigned long long>(mb.bytes), static_cast<unsigned long long>(mb.hash));
      rows.put(text);
    }
    rows.put("]}");
  };
  std::vector<uint8_t> has_objects_a;
  for (auto& rule : a.rules) has_objects_a.push_back(!rule.objects.empty());
  // Functions without objects need no look where their hashes agree.
  std::unordered_map<uint64_t, bool> looks;
  for (auto& f : ta.signatures.functions)
    looks[XXH3_64bits(f.name.data(), f.name.size())] = has_objects_a[static_cast<size_t>(f.index)];

  Work work(ta.generation);
  uint64_t different_frames = 0;
  for (auto& [i, j] : frames) {
    work.check();
    uint64_t before[4] = {equal, changed, only_a, only_b};
    uint64_t a0 = i == NONE ? 0 : a.frame_first[i + from_a], a1 = i == NONE ? 0 : a.frame_first[i + from_a + 1];
    uint64_t b0 = j == NONE ? 0 : b.frame_first[j + from_b], b1 = j == NONE ? 0 : b.frame_first[j + from_b + 1];
    for (size_t thread = 0; thread < threads; ++thread) {
      Sequence one = sequence(a, a0, a1, thread), two = sequence(b, b0, b1, thread);
      size_t n = one.seq.size(), m = two.seq.size();
      Pairs same;
      if (i != NONE && j != NONE) align(one.full.data(), n, two.full.data(), m, 0, 0, same);
      same.emplace_back(n, m);
      uint64_t p = 0, q = 0;
      for (auto& [sa, sb] : same) {
        if (p < sa || q < sb) {
          Pairs named;
          align(one.name.data() + p, sa - p, two.name.data() + q, sb - q, p, q, named);
          named.emplace_back(sa, sb);
          for (auto& [na, nb] : named) {
            for (; p < na; ++p) ++only_a, alone("only_a", one.seq[p], i, j, true);
            for (; q < nb; ++q) ++only_b, alone("only_b", two.seq[q], i, j, false);
            if (na < sa && nb < sb) {
              compare(one.seq[na], two.seq[nb], i, j, false);
              p = na + 1, q = nb + 1;
            }
          }
        }
        if (sa < n && sb < m) {
          auto it = looks.find(one.name[sa]);
          if (it != looks.end() && !it->second)
            ++equal;
          else
            compare(one.seq[sa], two.seq[sb], i, j, true);
          p = sa + 1, q = sb + 1;
        }
      }
    }
    if (changed == before[1] && only_a == before[2] && only_b == before[3]) continue;
    ++different_frames;
    if (different_frames > options.limit) continue;
    summary.put(summary_comma ? ",\n{" : "{");
    summary_comma = true;
    frame_number(summary, "\"frame_a\": ", i, from_a);
    frame_number(summary, ", \"frame_b\": ", j, from_b);
    auto count = [&](const char* name, uint64_t n) {
      summary.put(name);
      put_u64(summary, n);
    };
    count(", \"equal\": ", equal - before[0]);
    count(", \"changed\": ", changed - before[1]);
    count(", \"only_a\": ", only_a - before[2]);
    count(", \"only_b\": ", only_b - before[3]);
    summary.put('}');
  }
  Bytes out;
  auto count = [&](const char* name, uint64_t n) {
    out.put(name);
    put_u64(out, n);
  };
  count("{\"calls_a\": ", ta.calls);
  count(", \"calls_b\": ", tb.calls);
  count(", \"frames_a\": ", fa.size());
  count(", \"frames_b\": ", fb.size());
  count(", \"equal\": ", equal);
  count(", \"changed\": ", changed);
  count(", \"only_a\": ", only_a);
  count(", \"only_b\": ", only_b);
  count(", \"different_frames\": ", different_frames);
  out.put(", \"frames\": [");
  out.put(summary.view());
  out.put("], \"differences\": [");
  out.put(rows.view());
  out.put("]}");
  return std::string(out.view());
}

}  // namespace dt::edit
