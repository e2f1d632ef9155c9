// An observer of the playing: it sees every call, and may put calls off or play them in another way.
#pragma once
#include <cstdint>
#include <functional>

namespace dt::play {

struct Columns;
struct Context;
struct Decoded;
struct Row;

// A call of the recording that is to be played.
struct Coming {
  Decoded* chunk;
  uint32_t record;
  uint64_t seq;
  const Columns& columns;
  int known;  // its number among the player's functions; negative: none
};

class Observer {
 public:
  virtual ~Observer() = default;
  // True: the call waits. The observer hands it to Player::execute() when its time has come.
  virtual bool keeps(const Coming& call, bool ends_frame) = 0;
  // The call is played between before() and after().
  virtual void before(const Coming& call) = 0;
  virtual void after(const Coming& call) = 0;
  // Plays the call of before() in the player's place; false: the player does.
  virtual bool plays(const Row& row) = 0;
  // A command of OpenGL was played, maybe one that links a program.
  virtual void linked(const Coming& call) = 0;
  // The program asked a query, by the driver's name and `about`: `to` has the answer, of 64 bits where it is `wide`.
  // Where a buffer takes answers, it is the place in that.
  virtual void asked(uint32_t query, uint32_t about, void* to, bool wide) = 0;
  // The same where the call names the buffer that takes the answer, and the place in it.
  virtual void asked_into(uint32_t query, uint32_t about, uint32_t buffer, intptr_t place, bool wide) = 0;
  // A frame has ended with the call `seq`; `next` is the number of the one that begins.
  virtual void frame_end(uint64_t next, uint64_t seq) = 0;
  // Something of the player's own comes that is none of the recording's, and has gone.
  virtual void pause() = 0;
  virtual void resume() = 0;
  // A context is current from now on (nullptr: none), and no longer.
  virtual void enter(const Context* context) = 0;
  virtual void leave() = 0;
  // A context goes away; `visit` makes it current for a moment (true), and puts back what was (false).
  virtual void forget(const Context* context, const std::function<bool(bool)>& visit) = 0;
  // The frames begin again.
  virtual void restart() = 0;
  // It is over after the call `seq`; `frames`: whether the recording says where frames end.
  virtual void finish(uint64_t seq, bool frames) = 0;
  // Nothing more needs to be played.
  virtual bool satisfied() const = 0;
};

}  // namespace dt::play
