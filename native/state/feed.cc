#include "feed.h"

#include <algorithm>

#include "known.h"

namespace dt::play {
namespace {

std::vector<std::string> words(const char* text) {
  std::vector<std::string> out;
  for (const char* at = text; *at;) {
    const char* end = at;
    while (*end && *end != ' ') ++end;
    out.emplace_back(at, end);
    at = *end ? end + 1 : end;
  }
  return out;
}

int slot_of(const Function& f, const std::string& word, bool wide) {
  bool data = word.back() == '#';
  std::string name = data ? word.substr(0, word.size() - 1) : word;
  const Field* field = nullptr;
  if (name == "=" || name.empty())
    field = f.result.get();
  else
    for (auto& p : f.params)
      if (p.name == name) field = &p;
  if (!field) return -1;
  if (data) return field->data_slot;
  return field->wide == wide ? field->slot : -1;
}

}  // namespace

std::vector<Mapping> map_functions(const Trace& trace) {
  std::unordered_map<std::string_view, int> known;
  for (unsigned i = 0; i < g_known_count; ++i) known.emplace(g_known[i].name, static_cast<int>(i));
  std::vector<Mapping> out(trace.signatures.functions.size());
  for (auto& f : trace.signatures.functions) {
    Mapping& m = out[static_cast<size_t>(f.index)];
    m.function = &f;
    if (f.id >= DT_FN_FIRST_TAP) {
      m.known = -1;
      continue;
    }
    auto it = known.find(f.name);
    if (it == known.end()) continue;
    m.known = it->second;
    const Known& k = g_known[it->second];
    for (auto& word : words(k.w8)) {
      int slot = slot_of(f, word, true);
      m.w8.push_back(slot);
      if (word.back() == '#') {
        auto at = std::find(f.descriptors.begin(), f.descriptors.end(), slot);
        m.payloads.push_back(slot < 0 || at == f.descriptors.end() ? -1 : static_cast<int>(at - f.descriptors.begin()));
      }
    }
    for (auto& word : words(k.w4)) m.w4.push_back(slot_of(f, word, false));
    // A value that the player passes on must be there; an array's descriptor may be missing (its content then is
    // unknown).
    size_t n = 0;
    bool whole = true;
    for (auto& word : words(k.w8)) whole = whole && (m.w8[n++] >= 0 || word.back() == '#' || word == "=");
    n = 0;
    for (auto& word : words(k.w4)) whole = whole && (m.w4[n++] >= 0 || word == "=");
    if (!whole) m.known = -2;
  }
  return out;
}

Feed::Feed(const Trace& trace, const std::vector<Mapping>& mapping, size_t window)
    : trace_(trace), mapping_(mapping), window_(window), worker_([this] { work(); }) {
  if (!window_) {  // preloaded: wait for everything
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return done_; });
  }
}

Feed::~Feed() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  emptied_.notify_all();
  worker_.join();
}

std::vector<std::string> Feed::problems() {
  std::lock_guard lock(mutex_);
  return problems_;
}

std::shared_ptr<Decoded> Feed::decode(size_t index) {
  auto d = std::make_shared<Decoded>();
  d->open = std::make_unique<OpenChunk>(trace_, index);
  OpenChunk& open = *d->open;
  d->records = open.info.meta.records;
  d->call_count = open.info.meta.calls;
  d->thread = open.info.thread;
  d->base = open.info.base;
  d->order = open.order().data();
  d->ordinals = open.ordinals().data();
  if (!open.plain()) {
    d->calls = open.record_calls();
    if (d->records && d->calls.back() == d->call_count && open.info.functions[d->order[d->records - 1]].tap()) {
      try {
        d->after = trace_.seq_after(index);
      } catch (const Error&) {  // said where that chunk itself is read
        d->after = trace_.calls;
      }
    }
  }
  if (trace_.groups[open.info.group].chunks.size() > 1) {
    d->offsets = &trace_.offsets(index);
    d->base = trace_.groups[open.info.group].base;
  }
  uint32_t most = 0;
  for (auto& f : open.info.functions) most = std::max(most, f.count);
  d->none.resize(most + 1ull);
  for (size_t f = 0; f < open.info.functions.size(); ++f) {
    Columns c;
    const CallsFunction& entry = open.info.functions[f];
    c.decoded = &open.columns(f);
    c.function = c.decoded->function;
    int known = -2;
    if (entry.tap())
      known = -1;
    else if (c.function) {
      const Mapping& m = mapping_[static_cast<size_t>(c.function->index)];
      known = m.known;
      if (known >= 0) {
        c.play = g_known[known].play;
        auto& none = d->none;
        for (int slot : m.w8) c.w8.push_back(slot < 0 ? none.data() : c.decoded->w8[static_cast<size_t>(slot)].data());
        for (int slot : m.w4)
          c.w4.push_back(slot < 0 ? reinterpret_cast<const uint32_t*>(none.data())
                                  : c.decoded->w4[static_cast<size_t>(slot)].data());
        for (int p : m.payloads)
          c.starts.push_back(p < 0 ? none.data() : c.decoded->payloads[static_cast<size_t>(p)].data());
      }
    }
    d->known.push_back(known);
    d->columns.push_back(std::move(c));
  }
  d->first_seq = d->seq(0);
  return d;
}

void Feed::work() {
  for (size_t g = 0; g < trace_.groups.size(); ++g) {
    auto& group = trace_.groups[g];
    std::vector<std::pair<uint64_t, size_t>> order;
    try {
      if (group.chunks.size() > 1) trace_.merge(g);
    } catch (const std::exception& error) {
      std::lock_guard lock(mutex_);
      problems_.emplace_back(error.what());
      trace_.problem("damaged", 0, 0, error.what());
      continue;
    }
    for (size_t chunk : group.chunks) {
      uint64_t first = group.base;
      if (group.chunks.size() > 1) {
        auto& offsets = trace_.offsets(chunk);
        if (!offsets.empty()) first += offsets[0];
      } else {
        first = trace_.calls_chunks[chunk].base;
      }
      order.emplace_back(first, chunk);
    }
    std::stable_sort(order.begin(), order.end(), [](auto& a, auto& b) { return a.first < b.first; });
    for (auto& [first, chunk] : order) {
      if (!trace_.calls_chunks[chunk].meta.records) continue;
      std::shared_ptr<Decoded> d;
      std::string problem;
      try {
        d = decode(chunk);
        d->first_seq = first;
      } catch (const std::exception& error) {
        problem = note_damaged(trace_, chunk, error);
      }
      std::unique_lock lock(mutex_);
      if (!problem.empty()) problems_.push_back(problem);
      if (window_) emptied_.wait(lock, [&] { return stop_ || queue_.size() < window_; });
      if (stop_) return;
      if (d) queue_.push_back(std::move(d));
      if (window_) filled_.notify_one();
    }
  }
  std::lock_guard lock(mutex_);
  done_ = true;
  filled_.notify_all();
}

// The seq of the first call of the chunk that comes next; false: there is none.
bool Feed::peek(uint64_t& first_seq) {
  std::unique_lock lock(mutex_);
  filled_.wait(lock, [&] { return done_ || !queue_.empty(); });
  if (queue_.empty()) return false;
  first_seq = queue_.front()->first_seq;
  return true;
}

bool Feed::pick(Decoded*& chunk, uint32_t& record, uint64_t& seq) {
  std::erase_if(active_, [](auto& a) { return a->at >= a->chunk->records; });
  current_ = nullptr;
  for (;;) {
    uint64_t best = UINT64_MAX, second = UINT64_MAX;
    Active* least = nullptr;
    for (auto& a : active_) {
      uint64_t s = a->seq();
      if (!least || s < best) {
        second = best;
        best = s;
        least = a.get();
      } else if (s < second) {
        second = s;
      }
    }
    uint64_t coming = UINT64_MAX;
    bool more = peek(coming);
    if (more && (!least || coming <= best)) {
      auto a = std::make_unique<Active>();
      {
        std::lock_guard lock(mutex_);
        a->chunk = std::move(queue_.front());
        queue_.pop_front();
      }
      emptied_.notify_one();
      active_.push_back(std::move(a));
      continue;
    }
    if (!least) return false;
    current_ = least;
    // Records of one thread may share a seq (the tap's own stand before the call): they stay together.
    limit_ = std::min(second, more ? coming : UINT64_MAX);
    if (limit_ <= best) limit_ = best + 1;
    chunk = least->chunk.get();
    seq = best;
    record = least->at++;
    return true;
  }
}

}  // namespace dt::play
