// The reachable part of the graph: the calls that other calls need, and the stores through mappings for them.
#include <algorithm>

#include "bits.h"
#include "graph.h"

namespace dt::extract {

// Returns whether nodes cannot be there, with calls left out: because an object that they use is not made.
class Graph::Fates {
 public:
  Fates(const Graph& graph, const uint8_t* without)
      : graph_(graph), without_(without), fate_(without ? graph.calls_ : 0) {}

  bool gone(uint32_t node) {
    if (!without_) return false;
    if (node < graph_.calls_) return removed(node);
    if (const uint32_t owner = graph_.gatherings_[node - graph_.calls_].owner) return removed(owner - 1);
    bool is = false;
    graph_.each_edge(node, [&](uint32_t kind, uint32_t to, uint32_t) {
      if (kind == OBJECT) is = is || removed(maker_of(to));
    });
    return is;
  }

 private:
  static constexpr uint32_t NOBODY = ~0u;
  uint32_t maker_of(uint32_t node) const {
    return node < graph_.calls_ ? node : graph_.gatherings_[node - graph_.calls_].owner - 1;
  }
  bool removed(uint32_t call) {
    if (call == NOBODY) return false;
    ask_.assign(1, call);
    while (!ask_.empty()) {
      const uint32_t c = ask_.back();
      if (fate_[c]) {
        ask_.pop_back();
        continue;
      }
      uint8_t is = get(without_, c) ? GONE : THERE;
      bool wait = false;
      if (is == THERE)
        graph_.each_edge(c, [&](uint32_t kind, uint32_t to, uint32_t) {
          const uint32_t maker = kind == OBJECT ? maker_of(to) : NOBODY;
          if (maker == NOBODY || maker == c || wait) return;
          if (!fate_[maker]) {
            ask_.push_back(maker);
            wait = true;
          } else if (fate_[maker] == GONE) {
            is = GONE;
          }
        });
      if (wait) continue;
      fate_[c] = is;
      ask_.pop_back();
    }
    return fate_[call] == GONE;
  }

  enum : uint8_t { THERE = 1, GONE = 2 };
  const Graph& graph_;
  const uint8_t* without_;
  std::vector<uint8_t> fate_;
  std::vector<uint32_t> ask_;
};

// One closure while it grows.
class Graph::Closer {
 public:
  Closer(const Graph& graph, const Closing& how, uint8_t* keep)
      : graph_(graph), how_(how), keep_(keep), fates_(graph, how.without), seen_(graph.calls_),
        seen_gatherings_(graph.gatherings_.size()), calls_left_(graph.calls_),
        gatherings_left_(graph.gatherings_.size()) {
    for (auto& f : how.fresh) {
      if (f.location == Fresh::EVERYWHERE)
        everywhere_ = &f;
      else
        guesses_[f.location] = f.from;
    }
    if (how.stores == Stores::with_calls)
      for (auto& s : graph.stores_)
        if (s.node != NOWHERE && s.before < graph.calls_) before_[s.node] = static_cast<uint32_t>(s.before);
  }

  void visit(uint32_t node) {
    const uint64_t calls = graph_.calls_;
    if (node < calls ? !seen_.add(node) : !seen_gatherings_.add(node - calls)) return;
    if (node < calls ? node >= calls_left_ : node - calls >= gatherings_left_) stack_.push_back(node);
  }
  void close() {
    run();
    for (bool more = true; more;) {
      more = lives();
      more = brackets() || more;
      more = flushes() || more;
    }
    if (auto* crossed = how_.crossed) {
      std::sort(crossed->begin(), crossed->end());
      crossed->erase(std::unique(crossed->begin(), crossed->end()), crossed->end());
    }
  }
  bool seen(uint32_t node) const {
    return node < graph_.calls_ ? seen_.has(node) : seen_gatherings_.has(node - graph_.calls_);
  }

 private:
  // Returns whether an earlier frame's draw to a content shines through, as far as is known.
  bool shines(uint32_t later, uint32_t earlier, uint32_t location) {
    const auto calls = graph_.calls_;
    auto& frames = graph_.frames_;
    if (later >= calls || earlier >= calls || !(graph_.flags_[later] & (CALL_DRAWS | CALL_COPIES))) return true;
    if (frames[later] == frames[earlier]) return true;
    if (how_.crossed) how_.crossed->push_back(location);
    if (how_.fresh.empty()) return true;
    auto it = guesses_.find(location);
    const uint64_t from = it != guesses_.end() ? it->second : everywhere_ ? everywhere_->from : 0;
    return from != Fresh::ALWAYS && !(later >= from && earlier < from);
  }
  // Nearly every edge leads to an earlier node, so one walk from the last node to the first meets all seen nodes. It
  // needs no list of nodes to come, which would be as long as the trace. Only what is seen behind the walk waits.
  void run() {
    for (;;) {
      while (!stack_.empty()) {
        const uint32_t node = stack_.back();
        stack_.pop_back();
        take(node);
      }
      const uint64_t call = seen_.largest_below(calls_left_), g = seen_gatherings_.largest_below(gatherings_left_);
      if (g != Marks::NONE && (call == Marks::NONE || graph_.gatherings_[g].call > call)) {
        gatherings_left_ = g;
        take(static_cast<uint32_t>(graph_.calls_ + g));
      } else if (call != Marks::NONE) {
        calls_left_ = call;
        take(static_cast<uint32_t>(call));
      } else {
        return;
      }
    }
  }
  void take(uint32_t node) {
    const auto calls = graph_.calls_;
    const bool gone = fates_.gone(node);
    const uint32_t owner = node < calls ? node + 1 : graph_.gatherings_[node - calls].owner;
    if (owner && !gone) put(keep_, owner - 1);
    if (auto it = before_.find(node); it != before_.end() && !gone) visit(it->second);
    graph_.each_edge(node, [&](uint32_t kind, uint32_t to, uint32_t location) {
      if (kind == CHAIN && !shines(node, to, location)) return;
      if (gone ? kind == CHAIN || kind == BEFORE : kind != BEFORE) visit(to);
    });
  }
  // A name that is used again means another object only if the first one has ended.
  bool lives() {
    bool more = false;
    for (auto& life : graph_.lives_)
      if (get(keep_, life.made) && get(keep_, life.made_before) && !get(keep_, life.ended_before) &&
          !seen_.has(life.ended_before)) {
        visit(static_cast<uint32_t>(life.ended_before));
        more = true;
      }
    run();
    return more;
  }
  // State between a push and its pop must not last longer than it did.
  bool brackets() {
    bool more = false;
    uint32_t of = ~0u;
    Marks changing(0);
    for (auto& b : graph_.brackets_) {
      const bool push = seen_.has(b.push), pop = seen_.has(b.pop);
      if (b.pop > how_.last || (push && pop)) continue;
      if (b.context != of) {
        of = b.context;
        changing = Marks(graph_.calls_);
        for (uint64_t c = 0; c < graph_.calls_; ++c)
          if (get(keep_, c) && graph_.flags_[c] & CALL_CHANGES && !(graph_.flags_[c] & CALL_DRAWS) &&
              graph_.contexts_[c] == of)
            changing.add(c);
      }
      if (!push && !pop) {
        const uint64_t last = b.inside ? changing.largest_below(b.pop) : Marks::NONE;
        if (last == Marks::NONE || last <= b.push) continue;
      }
      visit(static_cast<uint32_t>(b.push));
      visit(static_cast<uint32_t>(b.pop));
      more = true;
    }
    run();
    return more;
  }
  // Contexts see each other's work when it has been flushed: up to the last call that looks.
  bool flushes() {
    bool more = false, several = false;
    uint32_t one = 0;
    std::unordered_map<uint32_t, bool> waiting;
    auto& contexts = graph_.contexts_;
    for (uint64_t c = 0; c < graph_.calls_ && !several; ++c)
      if (const uint32_t context = get(keep_, c) ? contexts[c] : 0) {
        several = one && one != context;
        one = context;
      }
    if (!several) return false;
    for (uint64_t c = 0; c <= how_.last && c < graph_.calls_; ++c) {
      if (graph_.flags_[c] & CALL_FLUSHES) {
        bool& pending = waiting[contexts[c]];
        if (pending && !seen_.has(c)) {
          visit(static_cast<uint32_t>(c));
          more = true;
        }
        pending = false;
      } else if (get(keep_, c) && graph_.flags_[c] & CALL_CHANGES) {
        waiting[contexts[c]] = true;
      }
    }
    run();
    return more;
  }

  const Graph& graph_;
  const Closing& how_;
  uint8_t* keep_;
  Fates fates_;
  Marks seen_, seen_gatherings_;           // calls; gatherings
  uint64_t calls_left_, gatherings_left_;  // those below them are still to be met by the walk
  std::vector<uint32_t> stack_;            // seen behind the walk
  std::unordered_map<uint32_t, uint64_t> guesses_;
  const Fresh* everywhere_ = nullptr;
  std::unordered_map<uint32_t, uint32_t> before_;  // of stores that keep a call: it
};

void Graph::close_over(std::span<const uint32_t> nodes, const Closing& how, uint8_t* keep) const {
  Closer closer(*this, how, keep);
  for (uint32_t node : nodes) closer.visit(node);
  closer.close();
}

void Graph::closure(std::span<const uint64_t> roots, const uint8_t* without, uint8_t* keep,
                    std::span<const Fresh> fresh, std::vector<uint32_t>* crossed) const {
  std::vector<uint32_t> nodes;
  uint64_t last = 0;
  for (uint64_t r : roots)
    if (r < calls_) {
      nodes.push_back(static_cast<uint32_t>(r));
      last = std::max(last, r);
    }
  close_over(nodes, {last, without, fresh, crossed, Stores::alone}, keep);
}

std::vector<uint8_t> Graph::map_writes(const uint8_t* keep) const {
  std::vector<uint8_t> rows(stores_.size() / 8 + 1);
  if (stores_.empty()) return rows;
  std::vector<uint8_t> without(calls_ / 8 + 1), scratch(calls_ / 8 + 1);
  std::vector<uint32_t> nodes;
  for (uint64_t c = 0; c < calls_; ++c) {
    if (get(keep, c))
      nodes.push_back(static_cast<uint32_t>(c));
    else
      put(without.data(), c);
  }
  const Closing how{nodes.empty() ? 0 : nodes.back(), without.data(), {}, nullptr, Stores::alone};
  Closer closer(*this, how, scratch.data());
  for (uint32_t node : nodes) closer.visit(node);
  closer.close();
  Fates fates(*this, without.data());
  for (size_t row = 0; row < stores_.size(); ++row) {
    auto& s = stores_[row];
    if (s.node == NOWHERE || fates.gone(s.node)) continue;
    if (closer.seen(s.node) || (s.before < calls_ && get(keep, s.before))) put(rows.data(), row);
  }
  return rows;
}

void Graph::alive(uint8_t* keep, std::span<const Fresh> fresh, std::vector<uint32_t>* crossed) const {
  std::vector<uint32_t> nodes;
  auto head = [&](uint32_t h) {
    if (h) nodes.push_back(h - 1);
  };
  // Contexts that were destroyed, and what only they could reach. The machine lets them be: their names may still
  // appear.
  std::unordered_map<const state::Node*, bool> reachable;  // contexts and share groups
  for (auto& [id, context] : machine_.contexts) {
    const bool usable = machine_.usable(*context);
    reachable[context->node] |= usable;
    if (context->share) reachable[context->share->node] |= usable;
  }
  std::unordered_map<uint64_t, bool> shown;  // surfaces that were destroyed, but are still drawn to
  for (auto& [id, context] : machine_.contexts)
    if (machine_.usable(*context))
      for (auto* surface : {context->draw, context->read})
        if (surface) shown[surface->key] = true;
  const auto held = machine_.vg_held();
  for (auto* node : machine_.nodes()) {
    bool there = node->alive || held.count(node);
    if (there && machine_.ended_handles.count(node->key) && std::string_view(node->cls->name) == "surface")
      there = shown.count(node->key);
    for (const state::Node* n = node; n && there; n = n->parent)
      if (auto it = reachable.find(n); it != reachable.end()) there = it->second;
    if (!there) continue;
    const state::Location end =
        std::min<state::Location>(node->base + node->cls->locations, static_cast<state::Location>(heads_.size()));
    for (state::Location l = node->base; l < end; ++l) head(heads_[l]);
  }
  for (auto& [location, stack] : pushed_)
    for (auto& pushed : stack) {
      nodes.push_back(static_cast<uint32_t>(pushed.seq));
      for (auto& [l, h] : pushed.heads) head(h);
    }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  // Stores through mappings before the last calls have to stand before a call that is there.
  close_over(nodes, {calls_ ? calls_ - 1 : 0, nullptr, fresh, crossed, Stores::with_calls}, keep);
  add_ends(keep);
}

void Graph::add_ends(uint8_t* keep) const {
  for (auto& d : deaths_)
    if (get(keep, d.made)) put(keep, d.ended);
}

}  // namespace dt::extract
