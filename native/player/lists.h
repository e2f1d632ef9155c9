// Display lists, kept call by call while something is measured. Where a called list does more than draw, the player
// makes its calls instead: each of its draws is counted with its own state.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "metrics/session.h"
#include "play.h"

namespace dt::play {

// A call from glBegin to glEnd. They wait for the end where somebody wants to draw them again first.
struct Waiting {
  std::shared_ptr<Decoded> keep;
  Decoded* chunk;
  uint32_t record;
  uint64_t seq;
  std::vector<Player::Span> spans;
};

struct ListedCall {
  std::shared_ptr<Decoded> keep;
  Decoded* chunk;
  uint32_t record;
  uint64_t seq;
  // For a draw from arrays, which keep their content from the making of the list: a list of the player's own with
  // nothing else in it, and its draw.
  uint32_t piece = 0;
  metrics::Draw::Given given{};
};

// The seen content of a display list, which decides whether it may be called twice.
struct List {
  uint32_t name = 0;  // the recorded one
  metrics::Draw::Given given{0, 0};
  int64_t mode = -1;                     // of its first primitives
  int64_t present = 0, vertices = 0;     // mode, and how many, since the last glBegin
  bool matrices = false, draws = false;  // by other means
  bool runs = false;                     // while it is made, too
  const char* refusal = "";
  const char* cannot = "";  // why its calls cannot be played instead of it
  std::vector<ListedCall> calls;
};

class Watched;

class Lists {
 public:
  Lists(Player& player, metrics::Session& session) : player(player), session_(session) {}
  List* find(uint32_t name);  // of the current share group, by its recorded name; nullptr: not seen to be made
  bool compiling() const { return open_ != nullptr; }
  void begin(uint32_t name, bool runs);
  // The list that is finished.
  List* end() { return std::exchange(open_, nullptr); }
  // A call while a list is made. True: it is a draw from arrays, to be played between open_piece() and close_piece().
  bool add(const Watched& call, ListedCall listed);
  void open_piece();
  void close_piece();
  // Returns whether a call of one or several lists can be played call by call, and needs to.
  bool expands(const Watched& call);
  void expand(const Watched& call, int depth = 0);
  void expand(const List& list, int depth = 0);
  // Vertices that calls of lists between glBegin and glEnd give; -1: not known.
  int64_t vertices(const Watched& call, int depth = 0);
  Player& player;

 private:
  bool expandable(const List& list, int depth);
  metrics::Session& session_;
  std::map<std::pair<uint32_t, uint32_t>, List> all_;  // by share group and recorded name
  List* open_ = nullptr;
};

// Returns whether a call between glBegin and glEnd gives a vertex.
bool gives_vertex(const char* name);

}  // namespace dt::play
