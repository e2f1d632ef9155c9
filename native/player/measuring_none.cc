// A player that plays alone: `make demo` needs no more.
#include "../core/error.h"
#include "measures.h"

namespace dt::play {
namespace {

[[noreturn]] void refuse() {
  throw Error(DT_E_ARGUMENT, "this player was built for playing alone: it measures nothing");
}

}  // namespace

std::unique_ptr<Measures> measures(const Wanted& wanted, Options& options, std::string&) {
  if (wanted.list || !wanted.measure.empty() || !wanted.plan.empty() || options.look) refuse();
  return nullptr;
}

void list_metrics_of(const void*, const char*, FILE*) { refuse(); }

}  // namespace dt::play
