// Shows the session that measures what is played: draws that it may repeat, calls between glBegin and glEnd, display
// lists call by call.
#pragma once
#include <unordered_map>
#include <vector>

#include "lists.h"
#include "metrics/session.h"
#include "observer.h"
#include "watched.h"

namespace dt::play {

class Measuring : public Observer {
 public:
  // The player tells it what happens from now on.
  Measuring(Player& player, metrics::Session& session);
  ~Measuring() override;
  Measuring(const Measuring&) = delete;
  Measuring& operator=(const Measuring&) = delete;

  bool keeps(const Coming& call, bool ends_frame) override;
  void before(const Coming& call) override;
  void after(const Coming& call) override;
  bool plays(const Row& row) override;
  void linked(const Coming& call) override;
  void asked(uint32_t query, uint32_t about, void* to, bool wide) override;
  void asked_into(uint32_t query, uint32_t about, uint32_t buffer, intptr_t place, bool wide) override;
  void frame_end(uint64_t next, uint64_t seq) override { session_.frame_end(next, seq); }
  void pause() override { session_.pause(); }
  void resume() override { session_.resume(); }
  void enter(const Context* context) override { session_.enter(context); }
  void leave() override { session_.leave(); }
  void forget(const Context* context, const std::function<bool(bool)>& visit) override {
    session_.forget(context, visit);
  }
  void restart() override { session_.restart(); }
  void finish(uint64_t seq, bool frames) override { session_.finish(seq, frames); }
  bool satisfied() const override { return session_.only_asks() && session_.answered(); }

 private:
  uint16_t kind(const Coming& call) const;
  void show(const Coming& call, Watched& watched, const Row& row);
  void show_draw(const Coming& call, Watched& watched);
  void list_made(const List& list, Watched& call);

  Player& player_;
  metrics::Session& session_;
  Lists lists_;
  std::vector<uint16_t> kinds_;                                 // of the trace's functions
  std::unordered_map<uint32_t, std::vector<Waiting>> waiting_;  // from glBegin on, by recorded thread
  const std::vector<Waiting>* ended_ = nullptr;                 // those that are played now
  // For the call between before() and after().
  Recorded recorded_{};
  metrics::Session::Happening happening_{};
  bool piece_ = false, expands_ = false, runs_ = false;  // of display lists, see lists.h
};

}  // namespace dt::play
