// One source on its way into a new trace: its calls, edits, and what the tap noted beside them.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "maker.h"
#include "write.h"

namespace dt::edit {

constexpr uint64_t UNSET = UINT64_MAX;

inline bool bit(const uint8_t* bits, uint64_t i) { return bits[i >> 3] >> (i & 7) & 1; }

// The changes at one call.
struct Inserted {
  std::string function;
  std::vector<const dt_change*> changes;
};
struct Edit {
  uint64_t seq = 0;
  std::vector<const dt_change*> changes;
  std::vector<Inserted> before;
};

// A function of a source, and where its slots are in the new trace.
struct Translation {
  const Function* from = nullptr;
  const Function* to = nullptr;
  bool same = true;
  std::vector<int> w8, w4, payloads;  // per slot of `to`: the slot of `from`; -1: it has none
  std::vector<int> handles;           // w8 slots of `to` that name what a process made, beside GL's own names
};

// The slots of a function's names that mean something in one process only: contexts, surfaces, images, drawables. Names
// of GL objects belong to their context; displays are all the same one where they are played.
std::vector<int> handle_slots(const Function& function);

// The calls of a source in their total order.
class Walker {
 public:
  // `whole`: arguments too.
  Walker(const Trace& trace, uint64_t first, uint64_t end, bool whole)
      : trace_(trace), whole_(whole), at_(first), end_(std::min(end, trace.calls)) {}
  size_t chunk = 0;
  uint32_t call = 0;
  uint64_t seq = 0;
  std::vector<std::string> problems;
  uint64_t lost = 0;

  bool next();
  OpenChunk* at(size_t index) { return open(index); }
  // Chunks whose calls have all been walked past may go.
  void forget(size_t index) { open_.erase(index); }

 private:
  void enter();
  OpenChunk* open(size_t index);
  const Trace& trace_;
  const bool whole_;
  uint64_t at_, end_, group_end_ = 0;
  size_t group_ = SIZE_MAX;
  std::vector<uint64_t> order_;
  std::map<size_t, std::unique_ptr<OpenChunk>> open_;
};

// A record of the tap that waits for the next call of its thread that is kept.
struct Waiting {
  const Translation* of = nullptr;
  unsigned id = 0;
  Row row;
  std::deque<std::string> store;  // the payloads' bytes
  std::string hash;               // of content that was changed
  uint64_t entry = 0;
  bool with_next = false;  // it says something about the next call alone
  bool image = false;      // what the frame looked like that the next call ends
};

struct ThreadState {
  size_t lane = SIZE_MAX;
  std::vector<Waiting> waiting;
  size_t chunk_in_thread = 0;  // the next chunk whose records were not looked at
  uint32_t record = 0;
};

class Copy {
 public:
  Copy(Source source, Maker& maker);

  const Trace& trace() const { return trace_; }
  const Source& source() const { return source_; }
  std::unique_ptr<Walker> walk(bool whole) const;
  bool kept(uint64_t seq) const { return !source_.keep || bit(source_.keep, seq); }
  // Returns whether a call of a thread, or the tap's note before it, is to be written.
  bool inside(const CallsChunk& chunk, uint64_t call) const;
  bool kept(const Walker& w) const { return kept(w.seq) && inside(trace_.calls_chunks[w.chunk], w.call); }
  const Edit* edit(uint64_t seq) const;
  Walker& walker() { return *walker_; }

  // Functions that the new trace needs are made known before anything is written.
  void declare(const Signatures* more);

  // Entry in ns of the call the walker stands at.
  uint64_t entry_ns(OpenChunk& chunk, uint32_t record) { return ns(chunk.entries()[record]); }
  uint64_t ns(uint64_t ticks);
  size_t lane(uint32_t thread, const OpenChunk& chunk);

  // Write the call the walker stands at, with what waited for it.
  void put(const Edit* edit, bool keep, const std::vector<uint64_t>& marks);

  // After the last call: insertions at the end, and what the tap noted after its last call.
  void finish();
  size_t last_lane() const { return last_lane_; }
  void note_last(size_t lane, uint64_t entry) { last_lane_ = lane, last_entry = entry; }

  bool forget = false;
  int64_t shift = 0;  // ns to add to all times
  uint32_t context_shift = 0, thread_shift = 0;
  const std::unordered_map<uint64_t, uint64_t>* renamed = nullptr;  // handles that another process has, too
  uint64_t last_entry = 0;
  uint64_t kept_ = 0, changed_ = 0, inserted_ = 0, unexplained_ = 0;

 private:
  void collect_edits();

  const Translation& translate(const Function& f);

  // A record's arguments in the slots of the new trace: into row_.
  void take(const Translation& t, const FunctionColumns& c, uint32_t i);
  void need(const Payload& payload);

  uint32_t duration_ns(OpenChunk& chunk, uint32_t record, uint64_t& long_ns);

  // Take the tap's records up to `end` of a chunk into the thread's queue.
  void look_at_records(OpenChunk& chunk, ThreadState& state, uint32_t end);
  // The records of a thread's chunks before number `to` that were not looked at: chunks without calls, or with none
  // that was walked to.
  void advance(uint32_t thread, size_t to);

  void wait_all(OpenChunk& chunk, ThreadState& state, uint32_t end);
  void wait(OpenChunk& chunk, ThreadState& state, uint32_t record);
  void collect_stored(const dt_change& change);
  // Gives a record the content of a change, where there is one.
  void change_stored(Waiting& record, uint64_t row);
  // Everything that waited goes before the call that is written now.
  void release(ThreadState& state, OpenChunk& chunk, uint32_t record, bool with_call);
  void emit(ThreadState& state);

  void put_inserted(const Inserted& inserted, size_t lane, uint64_t entry);

  // Change row_; returns the function that it now is of.
  const Function* apply(const std::vector<const dt_change*>& changes, const Function* f, const std::string& where);
  // Parameters of the same name go over.
  const Function* become(const Function* from, const Function* to);

  static constexpr size_t INLINE_LIMIT = 1024;
  Source source_;
  const Trace& trace_;
  Maker& maker_;
  size_t hint_ = 0, last_lane_ = 0;
  std::vector<Edit> edits_;
  std::vector<std::unique_ptr<Translation>> translations_;
  std::vector<ThreadState> threads_;
  // By tap function: which rows of its table are wanted, and per chunk its first row.
  std::map<unsigned, std::pair<const uint8_t*, std::vector<uint64_t>>> chosen_rows_;
  // Likewise: which of its rows get other content.
  std::map<unsigned, std::map<uint64_t, const dt_change*>> stored_;
  std::map<unsigned, std::vector<uint64_t>> stored_rows_;
  std::set<std::string> said_;
  std::unique_ptr<Walker> walker_;
  Row row_;
  std::deque<std::string> store_;
};

}  // namespace dt::edit
