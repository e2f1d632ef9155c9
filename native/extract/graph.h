// The calls that a call needs: the accesses of a walk (../state/access.h) as a graph, and the reachable part of it.
//
// Nodes are calls, by their seq, and *gatherings*: the last writers of 64 neighbouring locations, shared by all that
// read them until one of them is written. So a draw that depends on a thousand variables has some twenty edges.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "../core/chunk.h"
#include "../state/machine.h"
#include "edges.h"
#include "large.h"
#include "small.h"

namespace dt::extract {

// The facts about each call. Bits.
enum CallFlag : uint16_t {
  CALL_APPLIED = 1,  // it had an effect or asked for something; not set: it raised an error, or there was no context
  CALL_SETS = 2,     // it sets state and does nothing else
  CALL_SAME = 4,     // ... to what it was already
  CALL_DRAWS = 8,    // rasterises, clears or dispatches
  CALL_UPLOADS = 16,
  CALL_REPEATS = 32,  // ... what is there already: the same call with the same content, with nothing in between
  CALL_COPIES = 64,
  CALL_READS_BACK = 128,
  CALL_SHOWS = 256,
  CALL_ENDS_FRAME = 512,
  CALL_ASKS = 1024,
  CALL_MAKES = 2048,     // an object begins with it
  CALL_ENDS = 4096,      // an object ends with it
  CALL_COMPILES = 8192,  // it went into a display list
  CALL_FLUSHES = 16384,  // others see what its context did before it
  CALL_CHANGES = 32768,  // it writes anything at all
};

// The useless work of a call; the first that applies. The table `redundancy` has these names.
enum Waste : uint8_t {
  WASTE_NONE,
  WASTE_SAME_VALUE,
  WASTE_REPEATED_UPLOAD,
  WASTE_UNUSED_UPLOAD,
  WASTE_UNSEEN_DRAW,
  WASTE_UNREAD_STATE
};
const char* waste_name(unsigned waste);

// A guess: what is drawn to `location` (EVERYWHERE: to any content) paints over everything that was there when a frame
// began. `from`: only when the frame that begins with this call began; ALWAYS: at every frame.
struct Fresh {
  static constexpr uint32_t EVERYWHERE = ~0u;
  static constexpr uint64_t ALWAYS = ~0ull;
  uint32_t location = EVERYWHERE;
  uint64_t from = ALWAYS;
};

class Graph final : public state::Visitor {
 public:
  // `lean`: a call that leaves a variable with its value does not count as its writer. A value popped from a stack is
  // the pushed value: it depends on the setter at the push. `stop`: where another thread writes something else than 0,
  // making it ends with DT_E_CANCELLED.
  Graph(std::shared_ptr<const Trace> trace, bool lean, const uint32_t* stop = nullptr);

  uint64_t calls() const { return calls_; }
  const std::vector<uint16_t>& flags() const { return flags_; }
  uint64_t edges() const { return edges_.edges(); }
  uint64_t gatherings() const { return gatherings_.size(); }
  uint64_t stores() const { return stores_.size(); }  // rows of map_writes
  uint64_t locations() const { return heads_.size(); }
  uint64_t looks() const { return looks_; }  // how many locations, or blocks of them, were looked at for the edges

  // The calls that must be the same for a frame to be the same: the call that ends the frame. Where the end shows
  // nothing by itself, also the last call before it that drew in its context.
  void frame_roots(uint64_t first_frame, uint64_t end_frame, std::vector<uint64_t>& roots) const;
  // The last call at or before `seq` that drew in the context that was current there.
  bool last_draw(uint64_t seq, uint64_t& draw) const;

  // Everything that the roots need, as bits by seq (lowest first). Calls of `without` (bits, or nullptr) are left out,
  // and with them everything that needs an object that they make; who read what they wrote then depends on who had
  // written it before.
  // `fresh`: guesses to go by. `crossed`, if given: the contents that are drawn over from frame to frame.
  void closure(std::span<const uint64_t> roots, const uint8_t* without, uint8_t* keep,
               std::span<const Fresh> fresh = {}, std::vector<uint32_t>* crossed = nullptr) const;
  // The origins of everything that is there at the end of the trace: the values of all variables, the contents of
  // living objects, the entries of stacks, the current objects. A call after the end can need nothing else. With the
  // ends of objects that had to be kept though they are gone. `fresh` and `crossed` as for closure.
  void alive(uint8_t* keep, std::span<const Fresh> fresh = {}, std::vector<uint32_t>* crossed = nullptr) const;
  // As it is at the end of the trace.
  const state::Machine& machine() const { return machine_; }
  // Frames count as these for `fresh`: one number a call (of a trace that was cut, frames are no longer what they
  // were).
  void number_frames(std::span<const uint32_t> frames) {
    frames_ = {};
    for (uint64_t seq = 0; seq < frames.size(); ++seq) frames_.add(seq, frames[seq]);
  }
  uint32_t frame_of(uint64_t seq) const { return frames_[seq]; }
  // The ends of objects that `keep` makes, so that a trace that goes on does not pile them up.
  void add_ends(uint8_t* keep) const;
  // Writes a Waste for every call to `kinds`, seen from everything that came out. This is frames that ended, content
  // that was shown or read back, and with `answers` also answers to the program.
  void waste(bool answers, uint8_t* kinds) const;
  // From which call on calls are about which program: the one that they set something of, else the one in use; 0: none.
  struct Program {
    uint64_t from;
    uint64_t name;
  };
  const std::vector<Program>& programs() const { return programs_; }
  // The calls that `seq` needs directly.
  void needs(uint64_t seq, std::vector<uint64_t>& out) const;

  // The rows of the table map_writes in a trace of the calls of `keep`: rows that its calls need, and earlier rows
  // whose buffer is mapped in the trace.
  std::vector<uint8_t> map_writes(const uint8_t* keep) const;
  void call(const state::CallEvent& event) override;
  void stored(const state::StoreEvent& event) override;
  void changed(state::Location location, const state::Value& value) override;
  void created(const state::Node& node) override;
  void deleted(const state::Node& node) override;
  void upload(state::Location location, uint64_t bytes, const Hash128& hash) override;
  void region(state::Location location, const state::Region& region) override;

 private:
  static constexpr uint32_t EMPTY = ~0u, NOWHERE = ~0u;
  struct Gathering {
    uint32_t edges = 0;  // where they are kept
    uint32_t call = 0;   // at which it was made
    uint32_t owner = 0;  // the call that is kept with it, + 1; the rest of what that needs is not
  };
  struct Upload {
    Hash128 hash;
    uint64_t bytes = 0, seq = 0, arguments = 0;
  };
  struct Life {  // of an object under a name that had been used before
    uint64_t made, ended_before, made_before;
  };
  struct Death {
    uint64_t ended, made;
  };
  struct Store {    // of bytes through a mapping
    uint32_t node;  // its gathering (NOWHERE: this row touched nothing); its edges of kind OBJECT are what it cannot be
                    // without
    uint64_t before;  // the call of its thread that it is written before
  };
  struct StoredBy {
    uint32_t thread;
    uint64_t before;
  };
  // The stores that close_over keeps beside calls.
  enum class Stores { alone, with_calls };
  struct Pushed {
    uint64_t seq;
    std::vector<std::pair<state::Location, uint32_t>> heads;  // of what it saved, ascending
  };
  // one end is not kept without the other; `inside`: both are where something between them changes state
  struct Bracket {
    uint64_t push, pop;
    uint32_t context;
    bool inside;
  };
  struct Change {
    state::Location location;
    uint64_t before;
  };
  struct Extent {  // who wrote which part of a content last
    uint32_t node;
    bool all;
    state::Region box;
  };
  struct Step {  // of the depth of a stack, or of what can be begun and ended
    state::Location location;
    int64_t before, now;
    bool stack;
  };
  uint32_t setting(const state::CallEvent& event);
  void take_in(const state::CallEvent& event, bool parts, bool sets);
  void end_edges(uint64_t seq);
  void live_and_die(uint64_t seq);
  void end_frame(const state::CallEvent& event, uint32_t flags);
  void grow(state::Location end);
  uint64_t program_of(const state::CallEvent& event);
  void add(uint32_t kind, uint32_t node);
  template <class Visit> void each_edge(uint32_t node, Visit visit) const {  // (kind, node, location)
    const auto calls = static_cast<uint32_t>(calls_);
    if (node < calls) {
      const auto place = call_edges_[node];
      edges_.each(place.where, {node, calls + place.gatherings}, visit);
    } else {
      const Gathering& g = gatherings_[node - calls];
      edges_.each(g.edges, {g.call, node}, visit);
    }
  }
  uint32_t gathering(std::span<const uint32_t> edges, uint64_t call, uint32_t owner = 0);
  void keep_edges(uint32_t node, std::span<const uint32_t> edges);
  void read(state::Location first, state::Location end);
  uint32_t gathered(size_t block);
  bool stays(state::Location location) const;
  void write(state::Location location, uint64_t seq, bool part, bool sets);
  void take_section(std::span<const state::Access> accesses, uint64_t seq);
  bool write_regions(state::Location location, uint32_t node);
  bool still_there(state::Location location, uint64_t seq) const;
  void remainder(const state::CallEvent& event);
  void remember(const state::CallEvent& event, state::Touch touch, Pushed& pushed);
  void stacks(const state::CallEvent& event);
  bool met(const state::Access& access);
  bool repeats(uint64_t seq);
  uint64_t arguments_of(uint64_t seq);

  std::shared_ptr<const Trace> trace_;
  const bool lean_;
  uint64_t calls_ = 0;
  std::vector<uint16_t> flags_;
  CallEdges call_edges_;
  Large<Gathering> gatherings_;
  EdgeLists edges_;
  std::vector<uint32_t> heads_;  // per location: last writer + 1
  // per 64 locations: its gathering's (or only writer's) node + 1; 0: to be made; EMPTY
  std::vector<uint32_t> blocks_;
  enum : uint8_t { PLAIN, EXISTENCE, CONTENT, LIST };
  std::vector<uint8_t> kinds_;     // per location
  std::vector<uint32_t> written_;  // per location: the last call that left something behind there and wrote it wholly
  std::vector<uint64_t> values_;   // per location: a hash of what stands there; 0: what stood there at first
  std::vector<uint32_t> own_;      // of the call that is being taken in
  std::vector<std::pair<uint32_t, uint32_t>> own_chains_;
  Seen<uint32_t> seen_;  // nodes to which what is taken in has an edge
  // Accesses of the call that is being taken in, since it last became a writer: the same access finds the same again.
  // A list of vertices reads a thousand variables at each vertex.
  Seen<uint64_t> met_;
  uint64_t looks_ = 0;
  const uint32_t* const stop_;
  uint32_t stamp_ = 0, taking_ = ~0u;
  std::vector<Change> changes_;  // by the call that is being taken in
  std::vector<Step> steps_;
  std::unordered_map<state::Location, int64_t> depths_;
  std::unordered_map<state::Location, std::vector<Pushed>> pushed_;  // by the location of the stack's depth
  std::vector<Bracket> brackets_;
  std::vector<std::pair<state::Location, state::Region>> regions_;
  // of contents that were written in parts; ascending
  std::unordered_map<state::Location, std::vector<Extent>> extents_;
  uint32_t remains_ = 0;                          // the node for the variables that a draw (a list) leaves behind, + 1
  const Pushed* popped_ = nullptr;                // what the call that is being taken in restores
  std::vector<const state::Node*> made_, ended_;  // by the call that is being taken in

  std::vector<uint64_t> frame_ends_, frame_draws_;             // by frame; NONE: none
  std::unordered_map<uint32_t, std::vector<uint32_t>> draws_;  // per context, ascending
  Runs contexts_, frames_;
  std::vector<Program> programs_;
  struct ProgramPlace {
    state::Location first, end;
    uint64_t name;
  };
  std::vector<ProgramPlace> program_places_;           // ascending
  std::unordered_map<uint32_t, uint64_t> in_use_;      // by context
  const state::FieldInfo* current_program_ = nullptr;  // the field of contexts
  std::optional<uint64_t> used_now_;                   // by the call that is being taken in
  std::unordered_map<state::Location, Upload> uploads_;
  std::vector<std::pair<state::Location, Upload>> pending_;
  std::vector<Store> stores_;  // by row of map_writes
  // By the content of a buffer and whether it is mapped: what threads stored there last. Empty where one thread is all.
  std::map<state::Location, std::vector<StoredBy>> stored_by_;
  void after_stores(const state::CallEvent& event);
  struct Closing {
    uint64_t last = 0;
    const uint8_t* without = nullptr;
    std::span<const Fresh> fresh;
    std::vector<uint32_t>* crossed = nullptr;
    Stores stores = Stores::alone;
  };
  void close_over(std::span<const uint32_t> nodes, const Closing& how, uint8_t* keep) const;
  class Fates;
  class Closer;
  std::unordered_map<uint64_t, Death> names_;  // kind and name of objects: the last death
  std::vector<Life> lives_;
  std::vector<Death> deaths_;
  std::vector<uint32_t> maps_;                                       // calls that map memory, flush it, or end that
  std::vector<std::pair<size_t, std::unique_ptr<OpenChunk>>> open_;  // chunks that were looked into last
  state::Machine machine_;
};

}  // namespace dt::extract
