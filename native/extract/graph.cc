#include "graph.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "bits.h"

namespace dt::extract {
namespace {

constexpr uint64_t NONE = UINT64_MAX;
constexpr uint64_t UNKNOWN = 2;  // no hash of a value is even
constexpr size_t BLOCK = 64;
constexpr uint64_t MOST_NODES = 1ull << 30;
constexpr size_t MOST_OPEN = 8;
constexpr size_t MOST_EXTENTS = 64;
// Variables that are zero but between what begins and what ends something.
constexpr std::string_view BEGUN[] = {"GL_LIST_INDEX",    "in_begin",          "GL_BUFFER_MAPPED",
                                      "GL_CURRENT_QUERY", "conditional_query", "active"};

bool covers(const state::Region& a, const state::Region& b) {
  for (int i = 0; i < 3; ++i)
    if (b.from[i] < a.from[i] || b.to[i] > a.to[i]) return false;
  return true;
}
bool meets(const state::Region& a, const state::Region& b) {
  for (int i = 0; i < 3; ++i)
    if (b.to[i] <= a.from[i] || b.from[i] >= a.to[i]) return false;
  return true;
}

// Returns whether boxes cover another all together. False where that is too much to find out.
bool covered(const state::Region& box, std::span<const state::Region> by) {
  constexpr size_t MOST_PIECES = 128;
  std::vector<state::Region> left{box}, next;
  for (auto& b : by) {
    next.clear();
    for (auto piece : left) {
      if (!meets(piece, b)) {
        next.push_back(piece);
        continue;
      }
      for (int i = 0; i < 3; ++i) {  // what stands out on either side
        if (piece.from[i] < b.from[i]) {
          next.push_back(piece);
          next.back().to[i] = b.from[i];
          piece.from[i] = b.from[i];
        }
        if (piece.to[i] > b.to[i]) {
          next.push_back(piece);
          next.back().from[i] = b.to[i];
          piece.to[i] = b.to[i];
        }
      }
    }
    if (next.empty()) return true;
    if (next.size() > MOST_PIECES) return false;
    left.swap(next);
  }
  return false;
}

// Objects of one name, one after the other.
uint64_t name_of(const state::Node& node) {
  struct {
    const void* parent;
    uint64_t collection, key;
  } name{node.parent, node.collection, node.key};
  return XXH3_64bits(&name, sizeof name);
}

}  // namespace

Graph::Graph(std::shared_ptr<const Trace> trace, bool lean, const uint32_t* stop)
    : trace_(std::move(trace)), lean_(lean), calls_(trace_->calls), stop_(stop), machine_(trace_) {
  if (calls_ >= MOST_NODES / 2)
    throw Error(DT_E_ARGUMENT,
                "a trace of more than " + std::to_string(MOST_NODES / 2) + " calls cannot be cut at once");
  flags_.resize(calls_);
  call_edges_.resize(calls_);
  machine_.walk(*this);
  std::stable_sort(brackets_.begin(), brackets_.end(), [](auto& a, auto& b) { return a.context < b.context; });
  seen_ = {};
  met_ = {};
  uploads_.clear();
  names_.clear();
  open_.clear();
}

void Graph::grow(state::Location end) {
  if (end <= heads_.size()) return;
  size_t room = std::max<size_t>(end, heads_.size() * 2);
  heads_.resize(room);
  kinds_.resize(room);
  written_.resize(room);
  values_.resize(room);
  blocks_.resize(room / BLOCK + 1);
}

void Graph::created(const state::Node& node) {
  grow(node.base + node.cls->locations);
  kinds_[node.base] = EXISTENCE;
  const bool listed = std::string_view(node.cls->name) == "list";
  for (unsigned f = 0; f < node.cls->field_count; ++f) {
    auto& field = node.cls->fields[f];
    if (field.kind == state::Kind::content)
      for (unsigned e = 0; e < field.elements; ++e) kinds_[node.base + field.location + e] = listed ? LIST : CONTENT;
  }
  made_.push_back(&node);
  const std::string_view name = node.cls->name;
  if (name == "program") {
    program_places_.push_back({node.base, node.base + node.cls->locations, node.key});
  } else if (name == "context" && !current_program_) {
    const state::FieldInfo *first = node.cls->fields, *end = first + node.cls->field_count;
    const auto* field =
        std::find_if(first, end, [](auto& f) { return std::string_view(f.name) == "GL_CURRENT_PROGRAM"; });
    if (field != end) current_program_ = field;
  }
}

uint64_t Graph::program_of(const state::CallEvent& e) {
  if (used_now_) in_use_[e.context] = *used_now_;
  used_now_.reset();
  for (auto& a : e.accesses()) {
    if (a.touch() == state::Touch::read) continue;
    auto after = std::upper_bound(program_places_.begin(), program_places_.end(), a.first,
                                  [](auto l, auto& p) { return l < p.first; });
    if (after != program_places_.begin() && a.first < std::prev(after)->end) return std::prev(after)->name;
  }
  auto used = in_use_.find(e.context);
  return used == in_use_.end() ? 0 : used->second;
}

void Graph::changed(state::Location l, const state::Value& value) {
  if (value.field == current_program_) used_now_ = *value.words;
  if (kinds_[l] != PLAIN) return;
  auto& field = *value.field;
  auto hash = [&](const state::Word* words) { return XXH3_64bits(words, field.components * sizeof *words) | 1; };
  const state::Word* initial = value.node->cls->initial + field.word + value.element * field.components;
  uint64_t before = values_[l] ? values_[l] : hash(initial);
  const bool known =
      field.kind == state::Kind::floating || field.kind == state::Kind::color || field.kind == state::Kind::real
          ? std::none_of(value.words, value.words + field.components,
                         [](state::Word w) { return std::isnan(std::bit_cast<double>(w)); })
          : true;
  values_[l] = known ? hash(value.words) : UNKNOWN;
  if (std::none_of(changes_.begin(), changes_.end(), [&](auto& c) { return c.location == l; }))
    changes_.push_back({l, before});
  if (field.components != 1) return;
  const std::string_view name = field.name;
  const bool stack = name.ends_with("STACK_DEPTH");
  if (!stack && std::find(std::begin(BEGUN), std::end(BEGUN), name) == std::end(BEGUN)) return;
  auto [depth, fresh] = depths_.try_emplace(l, static_cast<int64_t>(*initial));
  auto now = static_cast<int64_t>(*value.words);
  auto step = std::find_if(steps_.begin(), steps_.end(), [&](auto& s) { return s.location == l; });
  if (step == steps_.end())
    steps_.push_back({l, depth->second, now, stack});
  else
    step->now = now;
  depth->second = now;
}

// Returns whether the call leaves the variable with the value that it found.
bool Graph::stays(state::Location l) const {
  if (kinds_[l] != PLAIN || values_[l] == UNKNOWN) return false;  // unknown: an array's element became current
  for (auto* node : made_)
    if (l >= node->base && l < node->base + node->cls->locations) return false;
  for (auto& c : changes_)
    if (c.location == l) return c.before == values_[l];
  return true;
}

// Remembers the setters of the state that the call reads, or is about to write.
void Graph::remember(const state::CallEvent& e, state::Touch touch, Pushed& p) {
  for (auto& a : e.accesses()) {
    if (a.touch() != touch) continue;
    grow(a.first + a.count);
    for (uint32_t l = a.first; l < a.first + a.count; ++l)
      if (touch == state::Touch::read ? kinds_[l] != EXISTENCE : kinds_[l] == PLAIN) p.heads.emplace_back(l, heads_[l]);
  }
  std::sort(p.heads.begin(), p.heads.end());
}

// Returns whether the call had this access before, and nothing that it finds has changed since.
bool Graph::met(const state::Access& a) {
  return !met_.add(static_cast<uint64_t>(a.first) << 32 | static_cast<uint64_t>(a.count) << 2 | a.kind);
}

// A list draws, and leaves a color or a matrix behind. A reader of the color needs the list, and not the content that
// the list was drawn over.
void Graph::remainder(const state::CallEvent& e) {
  remains_ = 0;
  if (!lean_ || !(e.deeds & state::DEED_DRAW)) return;
  bool leaves = false;
  for (auto& a : e.accesses()) {
    if (a.touch() == state::Touch::read || met(a)) continue;
    grow(a.first + a.count);
    for (uint32_t l = a.first; l < a.first + a.count && !leaves; ++l, ++looks_)
      leaves = kinds_[l] == PLAIN && (a.touch() == state::Touch::part || !stays(l)) &&
               std::none_of(steps_.begin(), steps_.end(), [&](auto& s) { return s.location == l && !s.stack; });
  }
  met_.clear();
  if (!leaves) return;
  std::vector<uint32_t> edges;
  ++stamp_, seen_.clear();
  for (auto& a : e.accesses()) {
    if (met(a)) continue;
    grow(a.first + a.count);
    const bool part = a.touch() == state::Touch::part;
    for (uint32_t l = a.first; l < a.first + a.count; ++l, ++looks_) {
      if (a.touch() == state::Touch::write) {
        written_[l] = stamp_;
        continue;
      }
      if (!heads_[l] || written_[l] == stamp_ || kinds_[l] == CONTENT || (part && kinds_[l] != PLAIN)) continue;
      uint32_t node = heads_[l] - 1;
      if (seen_.add(node)) edges.push_back((kinds_[l] == EXISTENCE ? OBJECT : READ) | node);
    }
  }
  ++stamp_, seen_.clear(), met_.clear();
  remains_ = gathering(edges, e.seq, static_cast<uint32_t>(e.seq) + 1) + 1;
}

// State that goes onto a stack is remembered with its setter; state that comes off the stack gets its setter back.
void Graph::stacks(const state::CallEvent& e) {
  for (auto& step : steps_) {
    auto& stack = pushed_[step.location];
    if (!step.stack) {
      if (!step.before && step.now) {
        Pushed& p = stack.emplace_back(Pushed{e.seq, {}});
        remember(e, state::Touch::write, p);
      } else if (step.before && !step.now && !stack.empty()) {
        brackets_.push_back({stack.back().seq, e.seq, e.context, false});
        popped_ = &stack.back();
      }
    } else if (step.now == step.before + 1) {
      Pushed& p = stack.emplace_back(Pushed{e.seq, {}});
      remember(e, state::Touch::read, p);
    } else if (step.now == step.before - 1 && !stack.empty()) {
      brackets_.push_back({stack.back().seq, e.seq, e.context, true});
      popped_ = &stack.back();
    }
  }
}

void Graph::deleted(const state::Node& node) { ended_.push_back(&node); }

void Graph::upload(state::Location location, uint64_t bytes, const Hash128& hash) {
  pending_.push_back({location, {hash, bytes, 0, 0}});
}

void Graph::region(state::Location location, const state::Region& region) { regions_.emplace_back(location, region); }

void Graph::add(uint32_t kind, uint32_t node) {
  if (node == taking_) return;
  // One edge of a kind is enough; kinds are few, so only reads, of which there are many, are looked up.
  if (kind == READ && !seen_.add(node)) return;
  own_.push_back(kind | node);
}

// A new node with these edges, which is made at a call; `owner`: see Gathering.
uint32_t Graph::gathering(std::span<const uint32_t> edges, uint64_t call, uint32_t owner) {
  const uint64_t id = calls_ + gatherings_.size();
  if (id >= MOST_NODES) throw Error(DT_E_MEMORY, "the graph of this trace is too large");
  const auto node = static_cast<uint32_t>(id);
  gatherings_.push_back({0, static_cast<uint32_t>(call), owner});
  keep_edges(node, edges);
  return node;
}

void Graph::keep_edges(uint32_t node, std::span<const uint32_t> edges) {
  const auto calls = static_cast<uint32_t>(calls_);
  if (node < calls) {
    const uint32_t made = call_edges_.gatherings(node, gatherings_.size());
    call_edges_.set(node, edges_.add(edges, {node, calls + made}, calls));
  } else {
    Gathering& g = gatherings_[node - calls];
    g.edges = edges_.add(edges, {g.call, node}, calls);
  }
}

// The node that stands for the last writers of a whole block of locations.
uint32_t Graph::gathered(size_t block) {
  uint32_t& node = blocks_[block];
  if (node) return node;
  size_t first = block * BLOCK, end = std::min(first + BLOCK, heads_.size());
  uint32_t seen[BLOCK];
  size_t n = 0;
  for (size_t l = first; l < end; ++l) {
    uint32_t h = heads_[l];
    if (h && std::find(seen, seen + n, h) == seen + n) seen[n++] = h;
  }
  if (n == 0) return node = EMPTY;
  if (n == 1) return node = seen[0];
  std::sort(seen, seen + n);
  for (size_t i = 0; i < n; ++i) seen[i] = READ | (seen[i] - 1);
  return node = gathering({seen, n}, taking_) + 1;
}

void Graph::read(state::Location first, state::Location end) {
  grow(end);
  if (kinds_[first] == EXISTENCE && heads_[first]) add(OBJECT, heads_[first] - 1);
  for (state::Location l = first; l < end; ++looks_) {
    if (l % BLOCK == 0 && end - l >= BLOCK) {
      uint32_t node = gathered(l / BLOCK);
      if (node != EMPTY) add(READ, node - 1);
      l += BLOCK;
    } else {
      if (heads_[l]) add(READ, heads_[l] - 1);
      ++l;
    }
  }
}

uint64_t Graph::arguments_of(uint64_t seq) {
  size_t chunk = 0;
  uint32_t call = 0;
  if (!trace_->locate(seq, chunk, call)) return 0;
  auto at = std::find_if(open_.begin(), open_.end(), [&](auto& o) { return o.first == chunk; });
  if (at == open_.end()) {
    if (open_.size() >= MOST_OPEN) open_.erase(open_.begin());
    open_.emplace_back(chunk, std::make_unique<OpenChunk>(*trace_, chunk));
    at = open_.end() - 1;
  }
  OpenChunk& open = *at->second;
  uint32_t record = open.record_of(call);
  auto& columns = open.columns(open.order()[record]);
  if (!columns.function) return 0;
  uint32_t row = open.ordinals()[record];
  std::vector<uint64_t> values{columns.function->id};
  for (auto& p : columns.function->params)
    if (!p.has_data()) values.push_back(columns.raw(p, row));
  return XXH3_64bits(values.data(), values.size() * sizeof values[0]) | 1;
}

// Returns whether all that the call uploads stands there already, brought by the same call.
bool Graph::repeats(uint64_t seq) {
  bool same = !pending_.empty();
  for (auto& [location, now] : pending_) {
    grow(location + 1);
    auto it = uploads_.find(location);
    bool known = it != uploads_.end() && (now.hash.low || now.hash.high) && it->second.hash == now.hash &&
                 it->second.bytes == now.bytes && still_there(location, it->second.seq);
    if (known) {
      if (!it->second.arguments) it->second.arguments = arguments_of(it->second.seq);
      known = it->second.arguments && it->second.arguments == arguments_of(seq);
    }
    same = same && known;
  }
  return same;
}

// A part whose place is known takes the place of what it covers; the rest stays beside it.
bool Graph::write_regions(state::Location l, uint32_t node) {
  bool any = false;
  for (auto& [location, box] : regions_) any = any || location == l;
  if (!any) return false;
  auto& list = extents_[l];
  if (list.empty() && heads_[l]) list.push_back({heads_[l] - 1, true, {}});
  for (auto& [location, box] : regions_) {
    if (location != l) continue;
    std::erase_if(list, [&, &b = box](const Extent& e) { return !e.all && covers(b, e.box); });
    list.push_back({node, false, box});
  }
  bool many = list.size() > MOST_EXTENTS;
  if (many) {
    // Parts that later parts cover together are gone, too: pieces of a buffer that is filled round and round.
    std::vector<state::Region> later;
    std::vector<Extent> seen;
    for (size_t i = list.size(); i-- > 0;) {
      if (!list[i].all && covered(list[i].box, later)) continue;
      if (!list[i].all) later.push_back(list[i].box);
      seen.push_back(list[i]);
    }
    list.assign(seen.rbegin(), seen.rend());
    many = list.size() > MOST_EXTENTS - MOST_EXTENTS / 4;
  }
  if (list.size() == 1) {
    heads_[l] = list[0].node + 1;
  } else {
    std::vector<uint32_t> edges;
    for (auto& e : list) edges.insert(edges.end(), {CHAIN | e.node, l});
    const uint32_t all = gathering(edges, taking_);
    heads_[l] = all + 1;
    if (many) list.assign(1, {all, true, {}});
  }
  blocks_[l / BLOCK] = 0;
  return true;
}

// Returns whether the content that the call wrote stands there untouched.
bool Graph::still_there(state::Location l, uint64_t seq) const {
  if (heads_[l] == seq + 1) return true;
  auto it = extents_.find(l);
  if (it == extents_.end()) return false;
  auto& list = it->second;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].node != seq || list[i].all) continue;
    for (size_t k = i + 1; k < list.size(); ++k)
      if (list[k].all || meets(list[k].box, list[i].box)) return false;
    return true;
  }
  return false;
}

void Graph::write(state::Location l, uint64_t seq, bool part, bool sets) {
  uint32_t& head = heads_[l];
  if (head == seq + 1 || (remains_ && head == remains_)) return;
  met_.clear();
  uint32_t before = head;
  if (popped_ && !part) {
    auto at =
        std::lower_bound(popped_->heads.begin(), popped_->heads.end(), std::pair<state::Location, uint32_t>(l, 0));
    if (at != popped_->heads.end() && at->first == l) {
      head = at->second;
      blocks_[l / BLOCK] = 0;
      return;
    }
    if (stays(l)) return;
  }
  if (part && lean_ && !regions_.empty() && write_regions(l, static_cast<uint32_t>(seq))) return;
  if (kinds_[l] != PLAIN) extents_.erase(l);
  if (remains_ && kinds_[l] == PLAIN) {
    head = remains_;
    blocks_[l / BLOCK] = 0;
    return;
  }
  if (before && part)
    own_chains_.emplace_back(before - 1, l);
  else if (before && sets)
    add(BEFORE, before - 1);
  head = static_cast<uint32_t>(seq) + 1;
  blocks_[l / BLOCK] = 0;
}

// A reader of a section's writes needs the call and the reads of that section, and not the reads of its others.
void Graph::take_section(std::span<const state::Access> accesses, uint64_t seq) {
  const auto node = static_cast<uint32_t>(calls_ + gatherings_.size()) + 1;
  std::vector<uint32_t> edges{READ | static_cast<uint32_t>(seq)};
  for (auto& a : accesses) {
    grow(a.first + a.count);
    for (uint32_t l = a.first; l < a.first + a.count; ++l) {
      const uint32_t before = heads_[l];
      if (before && before != node) {
        if (a.touch() == state::Touch::read) edges.push_back((kinds_[l] == EXISTENCE ? OBJECT : READ) | (before - 1));
        if (a.touch() == state::Touch::part) edges.insert(edges.end(), {CHAIN | (before - 1), l});
      }
      if (a.touch() == state::Touch::read) continue;
      extents_.erase(l);
      heads_[l] = node;
      blocks_[l / BLOCK] = 0;
    }
  }
  gathering(edges, seq, static_cast<uint32_t>(seq) + 1);
}

// A program's store through a mapping is needed by itself: a reader of the buffer needs it, and not the effects of the
// call behind it.
void Graph::stored(const state::StoreEvent& e) {
  const uint32_t node = gathering({}, e.seq);
  ++stamp_, seen_.clear();
  std::vector<uint32_t> edges;
  std::vector<state::Location> contents;
  for (auto& a : e.accesses) {
    grow(a.first + a.count);
    for (uint32_t l = a.first; l < a.first + a.count; ++l) {
      if (a.touch() != state::Touch::read) {
        contents.push_back(l);
      } else if (const uint32_t h = heads_[l]; h && seen_.add(h - 1)) {
        edges.push_back(OBJECT | (h - 1));
      }
      if (trace_->threads.size() < 2 || std::string_view(machine_.owner(l).cls->name) != "buffer") continue;
      auto& by = stored_by_[l];
      std::erase_if(by, [&](auto& s) { return s.thread == e.thread; });
      by.push_back({e.thread, e.seq});
    }
  }
  for (state::Location l : contents)
    if (const uint32_t h = heads_[l]; h && !(lean_ && !regions_.empty()))
      edges.insert(edges.end(), {CHAIN | (h - 1), l});
  keep_edges(node, edges);
  for (state::Location l : contents) {
    if (lean_ && !regions_.empty() && write_regions(l, node)) continue;
    extents_.erase(l);
    heads_[l] = node + 1;
    blocks_[l / BLOCK] = 0;
  }
  if (stores_.size() <= e.row) stores_.resize(e.row + 1, {NOWHERE, NONE});
  stores_[e.row] = {node, e.seq};
  regions_.clear();
  pending_.clear();
}

// A trace of other calls has what a thread stored before that thread's next call. A reader on another thread needs the
// store there.
void Graph::after_stores(const state::CallEvent& e) {
  for (auto& a : e.accesses())
    for (auto it = stored_by_.lower_bound(a.first); it != stored_by_.end() && it->first < a.first + a.count; ++it)
      for (auto& by : it->second)
        if (by.thread != e.thread && by.before < e.seq) add(READ, static_cast<uint32_t>(by.before));
}

namespace {

struct Touched {
  bool writes = false, parts = false;
};
Touched touched(std::span<const state::Access> accesses) {
  Touched t;
  for (auto& a : accesses) {
    t.writes = t.writes || a.touch() == state::Touch::write;
    t.parts = t.parts || a.touch() == state::Touch::part;
  }
  return t;
}

// The flags of a call that follow from an event alone.
uint32_t flags_of(const state::CallEvent& e) {
  static constexpr std::pair<uint32_t, uint32_t> deeds[] = {
      {state::DEED_DRAW | state::DEED_CLEAR | state::DEED_DISPATCH, CALL_DRAWS},
      {state::DEED_UPLOAD, CALL_UPLOADS},
      {state::DEED_COPY, CALL_COPIES},
      {state::DEED_READBACK, CALL_READS_BACK},
      {state::DEED_SHOWS, CALL_SHOWS},
      {state::DEED_FRAME_END, CALL_ENDS_FRAME},
      {state::DEED_QUERY, CALL_ASKS},
      {state::DEED_COMPILED, CALL_COMPILES}};
  uint32_t flags = e.applied ? CALL_APPLIED : 0;
  for (auto [deed, flag] : deeds)
    if (e.deeds & deed) flags |= flag;
  // A context that is no longer current has been flushed.
  if (e.function && e.function->flags & (FLAG_FINISH | FLAG_FLUSH | FLAG_SYNC | FLAG_MAKE_CURRENT))
    flags |= CALL_FLUSHES;
  return flags;
}

}  // namespace

void Graph::call(const state::CallEvent& e) {
  const uint64_t seq = e.seq;
  if (seq >= calls_) return;
  if (stop_ && __atomic_load_n(stop_, __ATOMIC_RELAXED)) throw Error(DT_E_CANCELLED, "cancelled");
  ++stamp_, seen_.clear(), met_.clear();
  own_.clear();
  taking_ = static_cast<uint32_t>(seq);
  const Touched touch = touched(e.accesses());
  uint32_t flags = flags_of(e);
  if (touch.writes || touch.parts) flags |= CALL_CHANGES;
  if (!made_.empty()) flags |= CALL_MAKES;
  if (!ended_.empty()) flags |= CALL_ENDS;
  if (e.applied && e.function && e.function->flags & (FLAG_MAP | FLAG_UNMAP))
    maps_.push_back(static_cast<uint32_t>(seq));
  contexts_.add(seq, e.context);
  frames_.add(seq, static_cast<uint32_t>(e.frame));
  if (const uint64_t program = program_of(e); program != (programs_.empty() ? 0 : programs_.back().name))
    programs_.push_back({seq, program});
  if (touch.writes && !touch.parts) flags |= setting(e);
  if (flags & CALL_UPLOADS && made_.empty() && repeats(seq)) flags |= CALL_REPEATS;
  flags_[seq] = static_cast<uint16_t>(flags);

  if (e.applied && !(lean_ && flags & (CALL_SAME | CALL_REPEATS))) {
    take_in(e, touch.parts, flags & CALL_SETS);
    end_edges(seq);
    for (auto& [location, now] : pending_) uploads_[location] = {now.hash, now.bytes, seq, 0};
  }
  live_and_die(seq);
  if (flags & (CALL_DRAWS | CALL_COPIES) && e.applied) draws_[e.context].push_back(static_cast<uint32_t>(seq));
  if (flags & CALL_ENDS_FRAME) end_frame(e, flags);
  changes_.clear();
  steps_.clear();
  regions_.clear();
  made_.clear();
  ended_.clear();
  pending_.clear();
}

// For a call that writes whole variables: CALL_SETS where it does nothing else, and CALL_SAME where they stay.
uint32_t Graph::setting(const state::CallEvent& e) {
  const bool gl = e.function && ((e.function->api.starts_with("gl") && e.function->api != "glx") ||
                                 e.function->api.starts_with("vg"));
  // what is in use ends later
  const bool deletes = gl && e.function->flags & FLAG_DELETE;
  if (e.deeds || !gl || deletes || !made_.empty() || !ended_.empty() || !steps_.empty()) return 0;
  bool same = true;  // contents are not compared: programs, lists, images
  for (auto& a : e.accesses()) {
    if (a.touch() != state::Touch::write) continue;
    grow(a.first + a.count);
    for (uint32_t l = a.first; l < a.first + a.count && same; ++l) same = stays(l);
  }
  return CALL_SETS | (same ? CALL_SAME : 0);
}

// The edges of a call that counts, from what it read and wrote.
void Graph::take_in(const state::CallEvent& e, bool parts, bool sets) {
  const uint64_t seq = e.seq;
  auto accesses = e.accesses();
  popped_ = nullptr;
  if (!stored_by_.empty()) after_stores(e);
  remainder(e);
  if (lean_ && !steps_.empty()) stacks(e);
  // Lists and stacks write much and change little of it. Writes of other calls stand together: one writer of all of it
  // is better than several of parts.
  const bool each = lean_ && (e.deeds & state::DEED_DRAW || !steps_.empty() || (parts && !e.deeds));
  // In the order in which they happened: a list reads what it has written before.
  size_t section = 0;
  for (size_t i = 0; i < accesses.size(); ++i) {
    if (section < e.sections.size() && i == e.sections[section].first) {
      const state::Section& alone = e.sections[section++];
      take_section(accesses.subspan(alone.first, alone.end - alone.first), seq);
      met_.clear();
      i = alone.end - 1;
      continue;
    }
    auto& a = accesses[i];
    if (met(a)) continue;
    if (a.touch() == state::Touch::read) {
      read(a.first, a.first + a.count);
      continue;
    }
    grow(a.first + a.count);
    const bool part = a.touch() == state::Touch::part;
    for (uint32_t l = a.first; l < a.first + a.count; ++l, ++looks_)
      if (part || !each || popped_ || !stays(l)) write(l, seq, part, sets);
  }
  if (!popped_) return;
  for (auto& step : steps_)  // the stack that has grown shorter
    if (auto& stack = pushed_[step.location]; !stack.empty() && popped_ == &stack.back()) stack.pop_back();
}

// The new call's edges go behind the edges of the others.
void Graph::end_edges(uint64_t seq) {
  std::sort(own_.begin(), own_.end());
  own_.erase(std::unique(own_.begin(), own_.end()), own_.end());
  for (auto& [node, location] : own_chains_) own_.insert(own_.end(), {CHAIN | node, location});
  keep_edges(static_cast<uint32_t>(seq), own_);
  own_chains_.clear();
}

// Notes which objects ended with the call, and which were made under a name that another one had.
void Graph::live_and_die(uint64_t seq) {
  for (auto* node : ended_) {
    Death death{seq, node->created};
    if (deaths_.empty() || deaths_.back().ended != death.ended || deaths_.back().made != death.made)
      deaths_.push_back(death);
    names_[name_of(*node)] = death;
  }
  for (auto* node : made_) {
    auto it = names_.find(name_of(*node));
    if (it != names_.end() && it->second.ended != seq) lives_.push_back({seq, it->second.ended, it->second.made});
  }
}

void Graph::end_frame(const state::CallEvent& e, uint32_t flags) {
  if (frame_ends_.size() <= e.frame) {
    frame_ends_.resize(e.frame + 1, NONE);
    frame_draws_.resize(e.frame + 1, NONE);
  }
  frame_ends_[e.frame] = e.seq;
  uint64_t draw = 0;
  if (!(flags & CALL_SHOWS) && last_draw(e.seq, draw)) frame_draws_[e.frame] = draw;
}

bool Graph::last_draw(uint64_t seq, uint64_t& draw) const {
  if (seq >= calls_) return false;
  auto it = draws_.find(contexts_[seq]);
  if (it == draws_.end()) return false;
  auto at = std::upper_bound(it->second.begin(), it->second.end(), seq);
  if (at == it->second.begin()) return false;
  draw = *(at - 1);
  return true;
}

void Graph::frame_roots(uint64_t first, uint64_t end, std::vector<uint64_t>& roots) const {
  for (uint64_t f = first; f < std::min<uint64_t>(end, frame_ends_.size()); ++f) {
    if (frame_ends_[f] != NONE) roots.push_back(frame_ends_[f]);
    if (frame_draws_[f] != NONE) roots.push_back(frame_draws_[f]);
  }
}

const char* waste_name(unsigned waste) {
  static const char* const names[] = {
      "", "same value", "repeated upload", "unused upload", "unseen draw", "unread state", "unused object"};
  return names[waste < sizeof names / sizeof *names ? waste : 0];
}

void Graph::waste(bool answers, uint8_t* kinds) const {
  std::vector<uint64_t> roots;
  frame_roots(0, NONE, roots);
  for (uint64_t c = 0; c < calls_; ++c)
    if (flags_[c] & (CALL_SHOWS | CALL_READS_BACK | CALL_ENDS_FRAME | (answers ? CALL_ASKS : 0))) roots.push_back(c);
  std::vector<uint8_t> keep(calls_ / 8 + 1);
  closure(roots, nullptr, keep.data());
  std::fill_n(kinds, calls_, static_cast<uint8_t>(WASTE_NONE));
  for (uint64_t c = 0; c < calls_; ++c) {
    const uint32_t f = flags_[c];
    const bool needed = get(keep.data(), c);
    if (!(f & CALL_APPLIED)) continue;
    if (f & CALL_SAME)
      kinds[c] = WASTE_SAME_VALUE;
    else if (f & CALL_REPEATS)
      kinds[c] = WASTE_REPEATED_UPLOAD;
    else if (needed || f & CALL_READS_BACK)
      continue;
    else if (f & CALL_UPLOADS)
      kinds[c] = WASTE_UNUSED_UPLOAD;
    else if (f & (CALL_DRAWS | CALL_COPIES))
      kinds[c] = WASTE_UNSEEN_DRAW;
    else if (f & CALL_SETS)
      kinds[c] = WASTE_UNREAD_STATE;
  }
  // Mapping is what a program waits for, not what it brings: such calls stay, and so does what they cannot do without.
  std::vector<uint32_t> stay;
  for (uint32_t c : maps_)
    if (!get(keep.data(), c) && !kinds[c]) stay.push_back(c);
  std::vector<bool> seen(stay.empty() ? 0 : calls_ + gatherings_.size());
  while (!stay.empty()) {
    const uint32_t node = stay.back();
    stay.pop_back();
    each_edge(node, [&](uint32_t kind, uint32_t to, uint32_t) {
      if (kind == CHAIN || kind == BEFORE || seen[to]) return;
      seen[to] = true;
      if (to < calls_) {
        if (!kinds[to]) return;
        kinds[to] = WASTE_NONE;
      }
      stay.push_back(to);
    });
  }
}

void Graph::needs(uint64_t seq, std::vector<uint64_t>& out) const {
  if (seq >= calls_) return;
  std::vector<uint32_t> nodes{static_cast<uint32_t>(seq)};
  std::set<uint32_t> seen;
  while (!nodes.empty()) {
    const uint32_t from = nodes.back();
    nodes.pop_back();
    each_edge(from, [&](uint32_t kind, uint32_t node, uint32_t) {
      if (kind == BEFORE) return;
      if (node < calls_)
        out.push_back(node);
      else if (seen.insert(node).second)
        nodes.push_back(node);
    });
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

}  // namespace dt::extract
