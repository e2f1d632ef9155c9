// The contents of images and buffers over a trace: which calls changed them (revisions), the passes that its frames are
// made of, and what one pass has from another (links).
//
// A pass: neighbouring calls of a context that draw to the same attachments; dispatches; copies; what reads back;
// what shows a surface. A revision: one call, or all draws of a pass between which nobody looked at the content.
#pragma once
#include <unordered_map>
#include <vector>

#include "index.h"
#include "spool.h"

namespace dt::state {

class Contents {
 public:
  // `lists` takes what passes write to, each list behind its length.
  Contents(const Machine& machine, const std::string& folder, Spool<uint32_t>& lists)
      : revisions(folder), passes(folder), links(folder), machine_(machine), lists_(lists) {}

  // The machine's events, handed on.
  void created(const Node& node);
  void changed(const Node& node);  // a variable of it
  void upload(Location location, uint64_t bytes, const Hash128& hash) { uploads_.push_back({location, bytes, hash}); }
  void draw(const CallEvent& event, const DrawRow& row, const Node* surface);
  void call(const CallEvent& event);
  void stored(const StoreEvent& event);
  void finish();

  Spool<Revision> revisions;  // in no order
  Spool<Pass> passes;         // in no order
  Spool<Link> links;          // by call

 private:
  struct Content {
    Revision last{.first = NEVER};  // as long as further calls may belong to it
    uint32_t writer = NEVER;        // the pass that wrote it last
    uint32_t read_by = NEVER;       // the call that read it last
    uint32_t linked = NEVER;        // the pass that knows of its writer, and how it uses it
    uint32_t uses = 0;
    bool seen = false;  // another call has read the last revision
  };
  struct Upload {
    Location location;
    uint64_t bytes;
    Hash128 hash;
  };
  struct Open {
    Pass row{};
    const Node* surface = nullptr;
    std::vector<Location> targets;
  };
  // Visit the contents among locations.
  template <class F> void each(const Access& access, F visit);
  bool reads_a_pass(const CallEvent& event);
  Open* pass_of(uint32_t context, uint32_t kind, uint32_t framebuffer, const Node* surface, uint64_t seq);
  void close(Open& pass);
  void touch(Content& content, Location location, Touch touch, uint64_t seq, ChangeKind kind, Open* pass);
  void link(Content& content, Location location, const Open* pass, uint32_t use, uint64_t seq);
  void add(Content& content, Location location, uint64_t seq, ChangeKind kind, const Open* pass);

  const Machine& machine_;
  Spool<uint32_t>& lists_;
  std::vector<uint64_t> bits_;     // by location: whether it is a content
  std::vector<uint32_t> numbers_;  // by location: number among `contents_`
  std::vector<Content> contents_;
  std::vector<Upload> uploads_;              // of the call that is being applied
  std::unordered_map<uint32_t, Open> open_;  // by context
  Open* drawn_ = nullptr;                    // the pass of the call that is being applied, where it draws
  uint32_t next_ = 0;
};

}  // namespace dt::state
