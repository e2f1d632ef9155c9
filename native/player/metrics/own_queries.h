// The program's own queries, where drawtap's extra draws would be counted in them: each is ended before such draws and
// goes on behind them in a query of ours. The program learns the sum of these pieces.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "source.h"

namespace dt::play::metrics {

class OwnQueries {
 public:
  // The program has begun a query; `name` is the driver's. It is about to end one. `index` belongs to its stream.
  void begun(uint32_t target, uint32_t index, uint32_t name);
  void ending(uint32_t target, uint32_t index);
  // Ends those whose target `counts` until they are resumed. False: none runs.
  bool suspend(const std::function<bool(uint32_t)>& counts);
  void resume();
  // For a suspended query of samples: the piece in which it is going to go on. nullptr: there is none, or it does not
  // tell how many samples pass.
  std::shared_ptr<Piece> samples() const { return samples_; }
  // The count of the program's query, where it is in pieces and has ended. False: ask the driver.
  bool result(uint32_t name, uint64_t& value);
  // A query that has a result other than 0 if and only if the program's has. Waits where that is in pieces.
  uint32_t stand_in(uint32_t name);
  // The context goes; it may be current.
  void forget(const void* context);

 private:
  struct Own {
    uint32_t target = 0, index = 0, name = 0;
    std::vector<std::shared_ptr<Piece>> pieces;
    bool active = false, suspended = false;
  };
  using Names = std::shared_ptr<std::vector<uint32_t>>;
  struct Context {
    std::map<uint32_t, Own> all;  // by name
    size_t active = 0;
    std::map<uint32_t, Names> free;  // by target: a query keeps the one that it had first
  };
  class Part;
  static uint32_t runs_as(const Own& own) { return own.pieces.empty() ? own.target : own.pieces.back()->target; }
  void go_on(Context& context, Own& own, uint32_t target);
  std::shared_ptr<Piece> make(Context& context, uint32_t target);
  void split(const Piece& piece);

  std::map<const void*, Context> contexts_;
  std::shared_ptr<Piece> samples_;
};

}  // namespace dt::play::metrics
