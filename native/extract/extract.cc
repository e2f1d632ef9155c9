// The C ABI. Nothing throws out of here.
#include "extract.h"

#include <algorithm>

#include "../core/border.h"
#include "../core/rows.h"
#include "graph.h"

struct dt_graph {
  dt::extract::Graph graph;
};

namespace {

using dt::need;

thread_local std::string g_error;

template <class F> int guarded(F&& body) { return dt::at_border(g_error, body); }

class Waste : public dt::BatchSource {
 public:
  Waste(std::vector<uint8_t> kinds, std::vector<dt_program_from> programs)
      : kinds_(std::move(kinds)), programs_(std::move(programs)) {}
  bool next(dt::Batch& batch) override {
    constexpr int64_t MOST = 1 << 16;
    dt::RowWriter<dt::rows::Redundancy> out(batch);
    for (; at_ < kinds_.size() && batch.rows < MOST; ++at_) {
      if (!kinds_[at_]) continue;
      while (next_program_ < programs_.size() && programs_[next_program_].seq <= at_)
        program_ = programs_[next_program_++].program;
      dt::rows::Redundancy row{.seq = at_, .kind = dt::extract::waste_name(kinds_[at_])};
      if (program_) row.program = program_;
      out.add(row);
    }
    return batch.rows > 0;
  }

 private:
  std::vector<uint8_t> kinds_;
  std::vector<dt_program_from> programs_;
  size_t at_ = 0, next_program_ = 0;
  uint64_t program_ = 0;
};

}  // namespace

extern "C" {

const char* dt_graph_last_error(void) { return g_error.c_str(); }

int dt_graph_make(const char* path, const char* frame_end, uint32_t flags, const uint32_t* stop, dt_graph** out) {
  return guarded([&] {
    need(path && out, "path");
    *out = nullptr;
    auto trace = std::make_shared<dt::Trace>(path);
    if (frame_end) trace->set_frame_end(frame_end);
    *out = new dt_graph{{std::move(trace), (flags & DT_GRAPH_LEAN) != 0, stop}};
  });
}

void dt_graph_close(dt_graph* graph) { delete graph; }

int dt_graph_flags(dt_graph* graph, const uint16_t** flags, uint64_t* calls) {
  return guarded([&] {
    need(graph && flags && calls, "graph");
    *flags = graph->graph.flags().data();
    *calls = graph->graph.calls();
  });
}

int dt_graph_frame_roots(dt_graph* graph, uint64_t first_frame, uint64_t end_frame, uint64_t* roots, uint64_t* count) {
  return guarded([&] {
    need(graph && roots && count, "graph");
    std::vector<uint64_t> all;
    graph->graph.frame_roots(first_frame, end_frame, all);
    if (all.size() > *count) throw dt::Error(DT_E_ARGUMENT, "there is not enough room for the roots");
    std::copy(all.begin(), all.end(), roots);
    *count = all.size();
  });
}

int dt_graph_last_draw(dt_graph* graph, uint64_t seq, uint64_t* draw) {
  return graph && draw && graph->graph.last_draw(seq, *draw);
}

int dt_graph_closure(dt_graph* graph, const uint64_t* roots, uint64_t count, const uint8_t* without,
                     const dt_fresh* fresh, uint64_t guesses, uint8_t* keep) {
  return guarded([&] {
    need(graph && keep && (roots || !count) && (fresh || !guesses), "graph");
    std::vector<dt::extract::Fresh> known;
    for (uint64_t i = 0; i < guesses; ++i) known.push_back({fresh[i].location, fresh[i].from});
    graph->graph.closure({roots, count}, without, keep, known);
  });
}

int dt_graph_map_writes(dt_graph* graph, const uint8_t* keep, uint8_t* rows, uint64_t* count) {
  return guarded([&] {
    need(graph && keep && count, "graph");
    const uint64_t room = *count;
    *count = graph->graph.stores() ? graph->graph.stores() / 8 + 1 : 0;
    if (!rows || !*count) return;
    auto writes = graph->graph.map_writes(keep);
    std::copy_n(writes.begin(), std::min<uint64_t>(writes.size(), room), rows);
  });
}

int dt_graph_crossed(dt_graph* graph, const uint64_t* roots, uint64_t count, uint32_t* locations, uint64_t* room) {
  return guarded([&] {
    need(graph && room && (roots || !count), "graph");
    std::vector<uint8_t> keep(graph->graph.calls() / 8 + 1);
    std::vector<uint32_t> crossed;
    graph->graph.closure({roots, count}, nullptr, keep.data(), {}, &crossed);
    if (locations) std::copy_n(crossed.begin(), std::min<uint64_t>(crossed.size(), *room), locations);
    *room = crossed.size();
  });
}

int dt_graph_waste(dt_graph* graph, uint32_t answers, uint8_t* kinds) {
  return guarded([&] {
    need(graph && kinds, "graph");
    graph->graph.waste(answers != 0, kinds);
  });
}

int dt_graph_programs(dt_graph* graph, dt_program_from* programs, uint64_t* count) {
  return guarded([&] {
    need(graph && count, "graph");
    auto& made = graph->graph.programs();
    if (programs) {
      const size_t most = std::min<uint64_t>(made.size(), *count);
      for (size_t i = 0; i < most; ++i) programs[i] = {made[i].from, made[i].name};
    }
    *count = made.size();
  });
}

int dt_graph_waste_table(const uint8_t* kinds, uint64_t calls, const dt_program_from* programs, uint64_t count,
                         struct ArrowArrayStream* out) {
  return guarded([&] {
    need(kinds && out && (programs || !count), "kinds");
    auto rows = std::make_unique<Waste>(std::vector<uint8_t>(kinds, kinds + calls),
                                        std::vector<dt_program_from>(programs, programs + count));
    dt::export_stream(dt::columns_of<dt::rows::Redundancy>(), std::move(rows), out);
  });
}

struct ArrowArrayStream* dt_graph_new_stream(void) { return dt::new_stream(); }
void dt_graph_free_stream(struct ArrowArrayStream* stream) { dt::free_stream(stream); }
void dt_graph_release_capsule(void* capsule) { dt::release_capsule(capsule); }

int dt_graph_needs(dt_graph* graph, uint64_t seq, uint64_t* needed, uint64_t* count) {
  return guarded([&] {
    need(graph && count, "graph");
    std::vector<uint64_t> calls;
    graph->graph.needs(seq, calls);
    if (needed) std::copy_n(calls.begin(), std::min<uint64_t>(calls.size(), *count), needed);
    *count = calls.size();
  });
}

int dt_graph_size(dt_graph* graph, uint64_t numbers[4]) {
  return guarded([&] {
    need(graph && numbers, "graph");
    numbers[0] = graph->graph.edges();
    numbers[1] = graph->graph.gatherings();
    numbers[2] = graph->graph.locations();
    numbers[3] = graph->graph.looks();
  });
}

}  // extern "C"
