// Text, one event a line: ftrace's `trace` file, trace-cmd report, systrace, QEMU's trace log.
//
// The plan: dialect (0 ftrace, 1 QEMU), path.
//
// Nothing describes the fields: names are what stands in front of `=`, `:` or a number, types what all lines agree on.
#include "indexed.h"

namespace dt::kernel {
namespace {

using View = std::string_view;

struct Line {
  View comm, name, args;
  int64_t t = 0, tid = -1, pid = -1;
  int cpu = -1;
};

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool word_char(char c) { return letter(c) || digit(c); }
View trim(View s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}
bool whole(View s, int64_t* out) {
  if (s.empty() || s.size() > 18) return false;
  int64_t v = 0;
  for (char c : s) {
    if (!digit(c)) return false;
    v = v * 10 + (c - '0');
  }
  *out = v;
  return true;
}

// Seconds with a fraction as ns; whole numbers are what a counting clock says.
bool time_of(View s, int64_t* out) {
  size_t dot = s.find('.');
  if (dot == View::npos) return whole(s, out);
  int64_t seconds, fraction;
  View after = s.substr(dot + 1);
  if (after.size() > 9 || !whole(s.substr(0, dot), &seconds) || !whole(after, &fraction) || seconds > 9000000000)
    return false;
  for (size_t i = after.size(); i < 9; ++i) fraction *= 10;
  *out = seconds * 1000000000 + fraction;
  return true;
}

// `   comm with spaces-123  (  120) [001] d..2.  1234.567890: sched_switch: args`
bool ftrace_line(View line, Line* out) {
  for (size_t at = 0; (at = line.find('[', at)) != View::npos; ++at) {
    if (!at || line[at - 1] != ' ') continue;
    size_t close = line.find(']', at);
    int64_t cpu;
    if (close == View::npos || !whole(line.substr(at + 1, close - at - 1), &cpu) || cpu > 1 << 20) continue;
    View left = trim(line.substr(0, at)), right = trim(line.substr(close + 1));
    // Flags are optional.
    size_t colon = right.find(": ");
    if (colon == View::npos) return false;
    View before = right.substr(0, colon);
    size_t space = before.rfind(' ');
    View stamp = space == View::npos ? before : before.substr(space + 1);
    if (!time_of(stamp, &out->t)) continue;
    if (!left.empty() && left.back() == ')') {  // the process
      size_t open = left.rfind('(');
      if (open == View::npos) continue;
      int64_t pid;
      if (whole(trim(left.substr(open + 1, left.size() - open - 2)), &pid)) out->pid = pid;
      left = trim(left.substr(0, open));
    }
    size_t dash = left.rfind('-');
    if (dash == View::npos || !whole(left.substr(dash + 1), &out->tid)) continue;
    out->comm = trim(left.substr(0, dash));
    out->cpu = static_cast<int>(cpu);
    View rest = trim(right.substr(colon + 1));
    size_t end = 0;
    while (end < rest.size() && (word_char(rest[end]) || rest[end] == '-' || rest[end] == '.')) ++end;
    if (!end || end >= rest.size() || rest[end] != ':') {
      // The function tracer has no event: `func <-caller`.
      if (rest.find("<-") == View::npos) return false;
      out->name = "function";
      out->args = rest;
      return true;
    }
    out->name = rest.substr(0, end);
    out->args = trim(rest.substr(end + 1));
    return true;
  }
  return false;
}

// `5272@1795174720.790766:virtio_gpu_features virgl 0`
bool qemu_line(View line, Line* out) {
  size_t at = line.find('@');
  size_t colon = at == View::npos ? View::npos : line.find(':', at);
  if (colon == View::npos || !whole(line.substr(0, at), &out->tid) ||
      !time_of(line.substr(at + 1, colon - at - 1), &out->t))
    return false;
  View rest = line.substr(colon + 1);
  size_t end = 0;
  while (end < rest.size() && word_char(rest[end])) ++end;
  if (!end) return false;
  out->name = rest.substr(0, end);
  out->args = trim(rest.substr(end));
  return true;
}

bool hex(View s) {
  if (s.empty()) return false;
  for (char c : s)
    if (!digit(c) && !(c >= 'a' && c <= 'f') && !(c >= 'A' && c <= 'F')) return false;
  return true;
}

// Returns whether all of it is an integer: decimal, 0x..., or the kernel's 16 digits of a pointer.
bool integer_of(View s, uint64_t* bits, bool* negative) {
  *negative = false;
  bool base16 = false;
  if (s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
    s.remove_prefix(2);
    base16 = true;
  } else if (s.size() == 16 && hex(s)) {
    base16 = true;
  }
  if (base16) {
    if (!hex(s) || s.size() > 16) return false;
    uint64_t v = 0;
    for (char c : s) v = v << 4 | static_cast<uint64_t>(digit(c) ? c - '0' : (c | 32) - 'a' + 10);
    *bits = v;
    return true;
  }
  if (!s.empty() && s[0] == '-') {
    *negative = true;
    s.remove_prefix(1);
  }
  if (s.empty() || s.size() > 20) return false;
  unsigned __int128 v = 0;
  for (char c : s) {
    if (!digit(c)) return false;
    v = v * 10 + static_cast<unsigned>(c - '0');
  }
  if (v > (*negative ? static_cast<unsigned __int128>(INT64_MAX) + 1 : UINT64_MAX)) return false;
  *bits = *negative ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  return true;
}

struct Pair {
  View key, value;
};

// The value without what a format says behind a number: `fence=0x12 signaled`.
View first_number(View key, View value) {
  size_t space = value.find(' ');
  if (space == View::npos || key.ends_with("comm")) return value;
  uint64_t bits;
  bool negative;
  View first = value.substr(0, space);
  if (!first.empty() && first.back() == ',') first.remove_suffix(1);
  return integer_of(first, &bits, &negative) ? first : value;
}

View clean(View value) {
  value = trim(value);
  while (!value.empty() && (value.back() == ',' || value.back() == ' ')) value.remove_suffix(1);
  if (value.ends_with("==>")) value = trim(value.substr(0, value.size() - 3));
  return value;
}

// `name:pid [prio] state`, as trace-cmd prints the scheduler's events.
bool thread_of(View s, View* comm, View* tid, View* prio, View* state) {
  size_t open = s.find(" [");
  size_t close = open == View::npos ? View::npos : s.find(']', open);
  if (close == View::npos) return false;
  size_t colon = s.rfind(':', open);
  int64_t v;
  if (colon == View::npos || !whole(s.substr(colon + 1, open - colon - 1), &v)) return false;
  *comm = s.substr(0, colon);
  *tid = s.substr(colon + 1, open - colon - 1);
  *prio = s.substr(open + 2, close - open - 2);
  *state = trim(s.substr(close + 1));
  return true;
}

bool scheduler_pairs(View name, View args, std::vector<Pair>& out) {
  View comm, tid, prio, state;
  if (name == "sched_switch") {
    size_t arrow = args.find(" ==> ");
    View next_comm, next_tid, next_prio, none;
    if (arrow == View::npos || !thread_of(args.substr(0, arrow), &comm, &tid, &prio, &state) ||
        !thread_of(args.substr(arrow + 5), &next_comm, &next_tid, &next_prio, &none))
      return false;
    out = {{"prev_comm", comm},      {"prev_pid", tid},      {"prev_prio", prio},     {"prev_state", state},
           {"next_comm", next_comm}, {"next_pid", next_tid}, {"next_prio", next_prio}};
    return true;
  }
  if (!name.starts_with("sched_wak") || !thread_of(args, &comm, &tid, &prio, &state)) return false;
  out = {{"comm", comm}, {"pid", tid}, {"prio", prio}};
  size_t cpu = state.find("CPU:");
  if (cpu != View::npos) out.push_back({"target_cpu", state.substr(cpu + 4)});
  return true;
}

// `fence=34:5 depends on fence=30:2`: the events have context and number as fields of their own; the first fence is the
// job's, the second what it waits for.
void split_fences(std::vector<Pair>& out) {
  const View names[2][2] = {{"fence_context", "fence_seqno"}, {"ctx", "seqno"}};
  size_t pairs = 0;
  for (size_t i = 0; i < out.size() && pairs < 2; ++i) {
    if (out[i].key != "fence") continue;
    View value = out[i].value.substr(0, out[i].value.find(' '));
    size_t colon = value.find(':');
    uint64_t bits;
    bool negative;
    if (colon == View::npos || !integer_of(value.substr(0, colon), &bits, &negative) ||
        !integer_of(value.substr(colon + 1), &bits, &negative))
      continue;
    out[i] = {names[pairs][0], value.substr(0, colon)};
    out.push_back({names[pairs][1], value.substr(colon + 1)});
    ++pairs;
  }
}

void pairs_of(View name, View args, std::vector<Pair>& out) {
  out.clear();
  if (name == "print" || name == "function" || name == "tracing_mark_write") return out.push_back({"buf", args});
  // `key=value`: a value goes on until the next key.
  size_t key_at = View::npos, equals = View::npos;
  auto close_pair = [&](size_t end) {
    View key = args.substr(key_at, equals - key_at - (args[equals - 1] == '?')),
         value = clean(args.substr(equals + 1, end - equals - 1));
    // `ring=rcs0, job count:0, hw job count:0`
    size_t comma = value.find(", ");
    View more;
    if (comma != View::npos && value.find(':', comma) != View::npos) {
      more = value.substr(comma + 2);
      value = value.substr(0, comma);
    }
    out.push_back({key, first_number(key, value)});
    while (!more.empty()) {
      comma = more.find(", ");
      View piece = more.substr(0, comma);
      size_t colon = piece.find(':');
      if (colon != View::npos) out.push_back({trim(piece.substr(0, colon)), trim(piece.substr(colon + 1))});
      more = comma == View::npos ? View() : more.substr(comma + 2);
    }
  };
  for (size_t at = 0; at < args.size();) {
    bool start = !at || args[at - 1] == ' ' || args[at - 1] == ',' || args[at - 1] == '{' || args[at - 1] == '(';
    if (!start || !letter(args[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < args.size() && word_char(args[end])) ++end;
    if (end + 1 < args.size() && args[end] == '?' && args[end + 1] == '=') ++end;  // `completed?=1`
    if (end < args.size() && args[end] == '=' && !(end + 1 < args.size() && args[end + 1] == '=')) {
      if (equals != View::npos) close_pair(at);
      key_at = at;
      equals = end;
    }
    at = end + 1;
  }
  if (equals != View::npos) {
    close_pair(args.size());
    if (name.starts_with("drm_sched_job")) split_fences(out);
    return;
  }
  if (scheduler_pairs(name, args, out)) return;
  // `res 0x2, fmt 0x2, w 1280` and `vcpu 0 reason HLT rip 0x12`: a word, then what it says.
  size_t at = 0;
  auto token = [&]() -> View {
    while (at < args.size() && (args[at] == ' ' || args[at] == ',' || args[at] == ';')) ++at;
    size_t from = at;
    while (at < args.size() && args[at] != ' ' && args[at] != ',' && args[at] != ';') ++at;
    return args.substr(from, at - from);
  };
  for (View key = token(); !key.empty(); key = token()) {
    if (!key.empty() && (key.back() == ':' || key.back() == '=')) key.remove_suffix(1);
    uint64_t bits;
    bool negative;
    if (key.empty() || !letter(key[0]) || integer_of(key, &bits, &negative)) continue;
    size_t colon = key.find(':');
    if (colon != View::npos) {
      out.push_back({key.substr(0, colon), key.substr(colon + 1)});
      continue;
    }
    View value = token();
    if (value.empty()) break;
    out.push_back({key, value});
  }
}

class Lines : public IndexedTrace {
 public:
  Lines(bool qemu, const std::string& path) : qemu_(qemu), file_(path) { find(); }

  void emit_at(Output& out, const Place& place) override {
    View rest = file_.view().substr(place.at);
    View line = rest.substr(0, rest.find('\n'));
    Line l;
    if (!parse(line, &l)) return;
    if (l.cpu >= 0) out.base(base_cpu, l.cpu);
    if (l.tid >= 0) out.base(base_tid, l.tid);
    if (l.pid >= 0) out.base(base_pid, l.pid);
    if (!l.comm.empty() && l.comm != "<...>") out.comm(l.comm);
    auto& plan = out.current();
    bool any = false;
    for (int c : plan.target) any |= c >= 0;
    if (!any) return;
    std::vector<Pair> pairs;
    pairs_of(l.name, l.args, pairs);
    auto& fields = classes[place.cls].fields;
    auto& key_of = keys_[place.cls];
    size_t hint = 0;
    for (auto& pair : pairs) {
      for (size_t k = 0; k < fields.size(); ++k) {
        size_t f = (hint + k) % fields.size();
        if (key_of[f] != pair.key) continue;
        hint = f + 1;
        if (int c = plan.target[f]; c >= 0) put(out, c, fields[f].type.type, pair.value);
        break;
      }
    }
  }

 private:
  bool parse(View line, Line* l) const { return qemu_ ? qemu_line(line, l) : ftrace_line(line, l); }

  static void put(Output& out, int column, Type type, View value) {
    uint64_t bits;
    bool negative;
    if (type == Type::text)
      out.text(column, value);
    else if (integer_of(value, &bits, &negative))
      out.integer(column, bits, type == Type::i64);
  }

  struct Seen {
    bool text = false, negative = false, large = false;
  };

  void find() {
    View all = file_.view();
    std::map<std::string, uint32_t, std::less<>> class_of;
    std::vector<std::vector<Seen>> seen;
    std::vector<Pair> pairs;
    uint64_t other = 0, lines = 0, first_other = 0;
    bool html = all.substr(0, 4096).find("<html") != View::npos;
    int64_t before = k_first;
    places.emplace_back();
    for (size_t at = 0; at < all.size();) {
      size_t end = all.find('\n', at);
      if (end == View::npos) end = all.size();
      View line = all.substr(at, end - at);
      ++lines;
      Line l;
      if (!parse(line, &l)) {
        if (!other_line(line, before) && !html && !other++) first_other = lines;
      } else {
        auto it = class_of.find(l.name);
        if (it == class_of.end()) {
          it = class_of.emplace(std::string(l.name), add_class(valid_utf8(l.name))).first;
          seen.emplace_back();
          keys_.emplace_back();
        }
        uint32_t cls = it->second;
        places[0].push_back({l.t, at, cls, l.cpu});
        before = l.t;
        pairs_of(l.name, l.args, pairs);
        for (auto& pair : pairs) {
          auto& keys = keys_[cls];
          size_t f = 0;
          while (f < keys.size() && keys[f] != pair.key) ++f;
          if (f == keys.size()) {
            if (f >= 256) continue;  // free text looks like ever new fields
            keys.emplace_back(pair.key);
            seen[cls].emplace_back();
          }
          auto& s = seen[cls][f];
          uint64_t bits;
          bool negative;
          if (!integer_of(pair.value, &bits, &negative))
            s.text = true;
          else if (negative)
            s.negative = true;
          else if (bits > INT64_MAX)
            s.large = true;
        }
      }
      at = end + 1;
    }
    for (size_t cls = 0; cls < classes.size(); ++cls)
      for (size_t f = 0; f < keys_[cls].size(); ++f) {
        auto& s = seen[cls][f];
        std::string name;
        for (char c : keys_[cls][f]) name += word_char(c) ? c : '_';
        classes[cls].fields.push_back({name,
                                       {s.text                   ? Type::text
                                        : s.large && !s.negative ? Type::u64
                                                                 : Type::i64,
                                        Type::u64}});
      }
    index_names();
    sort_places();
    if (other)
      note({"unknown", "text",
            std::to_string(other) + " lines are no events, the first is line " + std::to_string(first_other)});
  }

  // Lines that are no events and yet mean something; whether it is one.
  bool other_line(View line, int64_t before) {
    line = trim(line);
    if (line.empty()) return true;
    if (line[0] == '#') {
      // `# entries-in-buffer/entries-written: 205/1024   #P:2`
      size_t at = line.find("entries-written:");
      if (at == View::npos) return true;
      View numbers = trim(line.substr(at + 16));
      size_t slash = numbers.find('/'), space = numbers.find(' ');
      int64_t kept, written;
      if (slash != View::npos && whole(numbers.substr(0, slash), &kept) &&
          whole(numbers.substr(slash + 1, space == View::npos ? space : space - slash - 1), &written) && written > kept)
        note({"lost", "buffer", std::to_string(written - kept) + " older events were overwritten",
              static_cast<uint64_t>(written - kept)});
      return true;
    }
    if (line.starts_with("cpus=") || line.starts_with("version =") || line.starts_with("trace.dat")) return true;
    if (line.starts_with("CPU")) {
      size_t lost = line.find("[LOST ");
      if (lost != View::npos) {
        View number = line.substr(lost + 6);
        int64_t n = 0;
        whole(number.substr(0, number.find(' ')), &n);
        note({"lost", std::string(line.substr(0, line.find(' '))), std::to_string(n) + " events were lost",
              static_cast<uint64_t>(n), before, k_last});
        return true;
      }
      if (line.find("DROPPED") != View::npos) {
        note({"lost", std::string(line.substr(0, line.find(' '))), "events were dropped, nobody knows how many", 0,
              before, k_last});
        return true;
      }
      return line.find("is empty") != View::npos;
    }
    return false;
  }

  bool qemu_;
  File file_;
  std::vector<std::vector<std::string>> keys_;  // by class and field, as they stand in the text
};

}  // namespace

std::shared_ptr<Trace> open_lines(Plan& plan) {
  bool qemu = plan.number() != 0;
  return std::make_shared<Lines>(qemu, plan.text());
}

}  // namespace dt::kernel
