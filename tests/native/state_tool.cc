// The state machine by itself, for tests: `walk` prints what it tells of every call, `fuzz` does everything the state
// index can do to files that may be hostile, `choose` finds earlier calls of Vulkan that matter in such files.
#include <cstdio>
#include <cstring>

#include "../../native/extract/vulkan_past.h"
#include "../../native/extract/vulkan_repeats.h"
#include "../../native/state/index.h"

using namespace dt;
using namespace dt::state;

namespace {

struct Print : Visitor {
  explicit Print(Machine& m) : machine(m) {}
  void call(const CallEvent& e) override {
    printf("%llu %s%s", static_cast<unsigned long long>(e.seq), e.function ? e.function->name.c_str() : "?",
           e.applied ? "" : " refused");
    if (e.deeds & DEED_COMPILED) printf(" compiled");
    for (auto& a : e.accesses()) {
      if (a.first + a.count > machine.locations()) abort();
      printf(" %c:%s", "rwp"[a.kind], machine.path(a.first).c_str());
      if (a.count > 1) printf("+%u", a.count);
    }
    printf("\n");
  }
  void stored(const StoreEvent& e) override {
    printf("stored before %llu, row %llu", static_cast<unsigned long long>(e.seq),
           static_cast<unsigned long long>(e.row));
    for (auto& a : e.accesses) printf(" %c:%s", "rwp"[a.kind], machine.path(a.first).c_str());
    printf("\n");
  }
  Machine& machine;
};

// Touches every access, as whoever follows dependencies does.
struct Touchy : Visitor {
  explicit Touchy(Machine& m) : machine(m) {}
  void call(const CallEvent& e) override {
    for (auto& a : e.accesses()) {
      if (!a.count || a.first + a.count > machine.locations()) abort();
      sum += machine.path(a.first).size() + machine.is_content(a.first);
    }
  }
  void stored(const StoreEvent& e) override {
    for (auto& a : e.accesses) sum += machine.path(a.first).size();
  }
  void changed(Location l, const Value& v) override { sum += machine.text(v).size() + machine.path(l).size(); }
  void draw(const CallEvent&, const Draw& d) override { sum += d.primitives; }
  Machine& machine;
  size_t sum = 0;
};

size_t drain(ArrowArrayStream& stream) {
  size_t rows = 0;
  for (;;) {
    ArrowArray array{};
    if (stream.get_next(&stream, &array)) abort();
    if (!array.release) break;
    rows += static_cast<size_t>(array.length);
    array.release(&array);
  }
  stream.release(&stream);
  return rows;
}

void exercise(const char* path) {
  try {
    auto trace = std::make_shared<Trace>(path);
    Machine machine(trace);
    Touchy touchy(machine);
    machine.walk(touchy);
    auto index = std::make_shared<Index>(path, "auto", "");
    Bytes out;
    uint64_t calls = index->calls;
    for (uint64_t seq : {uint64_t{0}, calls / 2, calls, UINT64_MAX}) index->at(seq, "", out);
    index->at(calls / 2, "contexts[1].*GL_BLEND*", out);
    index->changes(0, UINT64_MAX, "", out);
    for (const char* table : {"state", "draws", "resources", "revisions", "passes", "pass_links"}) {
      ArrowArrayStream stream{};
      Index::stream(index, table, "", 0, UINT64_MAX, &stream);
      printf("%s %zu ", table, drain(stream));
    }
    printf("changes %zu\n", touchy.sum);
  } catch (const Error& e) {
    if (!*e.what()) abort();  // every refusal says why
    printf("refused %s\n", e.what());
  }
}

void same(const extract::VulkanPast::Kept& one, const extract::VulkanPast::Kept& other) {
  if (one.calls != other.calls || one.memory_writes != other.memory_writes || one.device_writes != other.device_writes)
    abort();  // what was forgotten mattered
}

// Which earlier calls of Vulkan matter.
void choose(const char* path) {
  try {
    const Trace trace(path);
    extract::VulkanPast first(trace, trace.calls, 0);
    const auto alive = first.alive();
    size_t bytes = alive.calls.size();
    extract::VulkanPast short_of_memory(trace, trace.calls, trace.calls, 16);
    same(alive, short_of_memory.alive());
    for (uint64_t cut : {uint64_t{0}, trace.calls / 2, trace.calls}) {
      extract::VulkanPast second(trace, trace.calls, 0), forgets(trace, trace.calls, cut, 16);
      const auto kept = second.from(cut);
      bytes += kept.memory_writes.size();
      same(kept, forgets.from(cut));
    }
    std::vector<uint8_t> kinds(trace.calls);
    extract::VulkanRepeats repeats(kinds.data());
    extract::VulkanPast third(trace, trace.calls, [&](auto& call) { repeats.take(call); });
    const uint64_t ends[] = {trace.calls / 2, trace.calls};
    bytes += third.shown(ends, 2, kinds.data()).calls.size();
    printf("chosen %zu %s\n", bytes, first.whole_because().c_str());
  } catch (const Error& e) {
    if (!*e.what()) abort();
    printf("refused %s\n", e.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (!strcmp(argv[1], "walk")) {
    auto trace = std::make_shared<Trace>(argv[2]);
    Machine machine(trace);
    Print print(machine);
    machine.walk(print);
  } else if (!strcmp(argv[1], "choose")) {
    for (int i = 2; i < argc; ++i) choose(argv[i]);
  } else {
    for (int i = 2; i < argc; ++i) exercise(argv[i]);
  }
  return 0;
}
