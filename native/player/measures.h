// Measuring, as the player sees it. measuring.cc has it; a player that plays alone has measuring_none.cc instead.
#pragma once
#include <cstdio>
#include <memory>
#include <string>

#include "observer.h"
#include "options.h"

namespace dt::play {

class Player;

// The metrics that the command line wants.
struct Wanted {
  bool list = false;                    // what can be measured in the recording's contexts
  std::string measure, measured, plan;  // files: the request and its answers, or the request to plan for
};

class Measures {
 public:
  virtual ~Measures() = default;
  // The player tells the observer what happens from now on, until that goes.
  virtual std::unique_ptr<Observer> watch(Player& player) = 0;
};

// nullptr: nothing is to be measured, or the request is wrong, and `why` says how. `options` get the loops that it
// takes. Throws where this player cannot measure.
std::unique_ptr<Measures> measures(const Wanted& wanted, Options& options, std::string& why);
// Lists the metrics that are possible in a context, the current one, or in none, as JSON lines. Throws where this
// player cannot measure.
void list_metrics_of(const void* context, const char* version, FILE* to);

}  // namespace dt::play
