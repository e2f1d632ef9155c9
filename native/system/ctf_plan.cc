// Reads the plan of a trace in Common Trace Format.
//
// The plan: classes (Trace::read_classes), then
//   clocks: count; each frequency, nanoseconds to add
//   traces: count; each
//     number of variables
//     operations: count; each kind size align flags variable field a b
//     choices: count; each low high begin end (of a variant: which operations for which tag)
//     packet header: begin end (operations)
//     stream classes: count; each id, packet context begin end, kind of event header, event header begin end, clock
//     (-1:
//       none), events: count; each id, class, begin end
//     files: count; each path, name for people
#include "ctf.h"

namespace dt::kernel {
namespace ctf {
namespace {

// Fields at fixed places from the start of the event's fields on.
void flatten(const Metadata& meta, Event& e) {
  uint32_t at = e.ops.begin, offset = 0;
  for (; at < e.ops.end; ++at) {
    const Op& op = meta.ops[at];
    uint32_t bytes;
    if (op.align > 8 || op.flags & flag_reversed) break;
    // A field that is not on a byte would shift what follows; those stay with the walk.
    if (op.kind == op_integer || op.kind == op_real) {
      if (op.size != 8 && op.size != 16 && op.size != 32 && op.size != 64) break;
      if (op.align < 8) break;
      bytes = op.size / 8u;
    } else if (op.kind == op_text) {
      if (op.size > 1 || op.a > 4096) break;
      bytes = op.a;
    } else if (op.kind == op_align) {
      bytes = 0;
    } else {
      break;
    }
    if (op.kind != op_align) {
      e.flat.push_back(
          {offset, static_cast<uint8_t>(op.kind == op_text ? 0 : bytes), op.flags, op.kind, op.var, op.field, bytes});
      e.has_vars |= op.var >= 0;
    }
    offset += bytes;
  }
  e.rest = at;
  e.flat_bytes = offset;
}

Range read_range(Plan& plan, size_t limit) {
  Range r;
  r.begin = static_cast<uint32_t>(plan.below(limit + 1));
  r.end = static_cast<uint32_t>(plan.below(limit + 1));
  if (r.end < r.begin) throw Error(DT_E_ARGUMENT, "a range of the plan is upside down");
  return r;
}

void read_ops(Plan& plan, Metadata& meta, const std::vector<EventClass>& classes) {
  (void)classes;
  meta.vars = plan.below(1 << 24);
  if (meta.vars < var_first_free) throw Error(DT_E_ARGUMENT, "the plan has too few variables");
  size_t n = plan.count();
  for (size_t i = 0; i < n; ++i) {
    Op op;
    op.kind = static_cast<Kind>(plan.below(op_kinds));
    op.size = static_cast<uint8_t>(plan.below(65));
    op.align = static_cast<uint8_t>(plan.below(129));
    op.flags = static_cast<uint8_t>(plan.below(8));
    op.var = plan.index(op.kind == op_variant ? uint64_t{1} << 31 : meta.vars);
    op.field = plan.index(uint64_t{1} << 31);
    op.a = static_cast<uint32_t>(plan.below(uint64_t{1} << 32));
    op.b = static_cast<uint32_t>(plan.below(uint64_t{1} << 32));
    if (op.kind == op_variant && op.var < 0) throw Error(DT_E_ARGUMENT, "a variant of the plan has no options");
    bool counts = op.kind == op_text_sequence || op.kind == op_list_sequence || op.kind == op_loop_sequence ||
                  op.kind == op_bytes_sequence || op.kind == op_variant;
    if (counts && op.a >= meta.vars) throw Error(DT_E_ARGUMENT, "a number of the plan is out of range");
    if ((op.kind == op_loop || op.kind == op_loop_sequence) && (op.b <= i || op.b > n))
      throw Error(DT_E_ARGUMENT, "a loop of the plan has no end");
    if ((op.kind == op_integer || op.kind == op_time || op.kind == op_real) && !op.size)
      throw Error(DT_E_ARGUMENT, "an integer of the plan has no size");
    meta.ops.push_back(op);
  }
  size_t choices = plan.count();
  for (size_t i = 0; i < choices; ++i) {
    Choice c;
    c.low = plan.number();
    c.high = plan.number();
    auto r = read_range(plan, n);
    c.begin = r.begin;
    c.end = r.end;
    meta.choices.push_back(c);
  }
  for (auto& op : meta.ops)
    if (op.kind == op_variant && (op.b > choices || static_cast<size_t>(op.var) > choices - op.b))
      throw Error(DT_E_ARGUMENT, "a variant of the plan has no options");
}

}  // namespace
}  // namespace ctf

std::shared_ptr<Trace> open_ctf(Plan& plan) {
  using namespace ctf;
  auto trace = std::make_shared<Ctf>();
  trace->read_classes(plan);
  for (size_t n = plan.count(); n; --n) {
    Clock c;
    c.frequency = static_cast<uint64_t>(plan.number());
    c.add = plan.number();
    if (!c.frequency) throw Error(DT_E_FORMAT, "a clock has no frequency");
    trace->clocks.push_back(c);
  }
  for (size_t n = plan.count(); n; --n) {
    trace->traces.emplace_back();
    auto& meta = trace->traces.back();
    read_ops(plan, meta, trace->classes);
    meta.header = read_range(plan, meta.ops.size());
    for (size_t s = plan.count(); s; --s) {
      meta.streams.emplace_back();
      auto& stream = meta.streams.back();
      stream.id = static_cast<uint64_t>(plan.number());
      stream.context = read_range(plan, meta.ops.size());
      stream.kind = static_cast<HeaderKind>(plan.below(3));
      stream.header = read_range(plan, meta.ops.size());
      stream.clock = plan.index(trace->clocks.size());
      for (size_t e = plan.count(); e; --e) {
        Event event;
        auto id = static_cast<uint64_t>(plan.number());
        event.cls = static_cast<uint32_t>(plan.below(trace->classes.size()));
        event.ops = read_range(plan, meta.ops.size());
        size_t fields = trace->classes[event.cls].fields.size();
        for (uint32_t i = event.ops.begin; i < event.ops.end; ++i)
          if (meta.ops[i].field >= static_cast<int>(fields))
            throw Error(DT_E_ARGUMENT, "a number of the plan is out of range");
        flatten(meta, event);
        int index = static_cast<int>(stream.events.size());
        if (id < 65536) {
          if (stream.by_id.size() <= id) stream.by_id.resize(id + 1, -1);
          stream.by_id[id] = index;
        } else {
          stream.by_large_id[id] = index;
        }
        stream.events.push_back(std::move(event));
      }
    }
    for (size_t f = plan.count(); f; --f) {
      DataFile file;
      std::string path = plan.text();
      file.name = valid_utf8(plan.text());
      file.file = std::make_unique<File>(path);
      meta.files.push_back(std::move(file));
    }
  }
  return trace;
}

}  // namespace dt::kernel
