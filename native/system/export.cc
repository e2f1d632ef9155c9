#include "export.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <queue>

#include "../common/json.h"

namespace dt::kernel {
namespace {

// A file that is written from front to back.
class Out {
 public:
  explicit Out(const std::string& path) : path_(path), file_(fopen(path.c_str(), "wb")) {
    if (!file_) fail();
    setvbuf(file_, nullptr, _IOFBF, 1 << 20);
  }
  ~Out() {
    if (file_) fclose(file_);
  }
  Out(const Out&) = delete;
  void put(std::string_view s) {
    if (fwrite(s.data(), 1, s.size(), file_) != s.size()) fail();
    size_ += s.size();
  }
  uint64_t close() {
    FILE* f = file_;
    file_ = nullptr;
    if (fclose(f)) fail();
    return size_;
  }

 private:
  [[noreturn]] void fail() { throw Error(DT_E_IO, path_ + ": " + strerror(errno)); }
  std::string path_;
  FILE* file_;
  uint64_t size_ = 0;
};

constexpr int64_t k_lanes = 1 << 24;

// A span; those of one track and lane do not overlap.
struct Span {
  int64_t begin, end, id, request;
  bool has_request;
  size_t track;
  uint32_t lane;
  std::string_view name, kind;
};

class Spans {
 public:
  Spans(TableReader& table, size_t tracks) : table_(table), tracks_(tracks) {
    track_ = table.need("track"), begin_ = table.need("begin_ns"), end_ = table.need("end_ns"),
    name_ = table.need("name");
    kind_ = table.need("kind"), id_ = table.need("id"), request_ = table.need("request"), lane_ = table.need("lane");
  }
  bool next(Span* out) {
    while (table_.next()) {
      if (table_.is_null(track_) || table_.is_null(begin_) || table_.is_null(end_)) continue;
      auto track = static_cast<uint64_t>(table_.integer(track_));
      if (track >= tracks_) throw Error(DT_E_ARGUMENT, "a span is on a track that does not exist");
      out->track = track;
      out->begin = table_.integer(begin_);
      out->end = std::max(out->begin, table_.integer(end_));
      out->id = table_.is_null(id_) ? -1 : table_.integer(id_);
      out->has_request = !table_.is_null(request_);
      out->request = out->has_request ? table_.integer(request_) : -1;
      out->name = table_.is_null(name_) ? std::string_view("?") : table_.text(name_);
      out->kind = table_.is_null(kind_) ? std::string_view() : table_.text(kind_);
      int64_t lane = out->begin == out->end || table_.is_null(lane_) ? 0 : table_.integer(lane_);
      out->lane = static_cast<uint32_t>(std::clamp<int64_t>(lane, 0, k_lanes - 1));
      return true;
    }
    return false;
  }

 private:
  TableReader& table_;
  size_t tracks_;
  int track_, begin_, end_, name_, kind_, id_, request_, lane_;
};

struct Arrows {
  std::unordered_map<int64_t, std::vector<uint64_t>> out, in;
};
Arrows read_arrows(TableReader& table) {
  Arrows arrows;
  int from = table.need("from_span"), to = table.need("to_span");
  uint64_t number = 0;
  while (table.next()) {
    if (table.is_null(from) || table.is_null(to)) continue;
    ++number;
    arrows.out[table.integer(from)].push_back(number);
    arrows.in[table.integer(to)].push_back(number);
  }
  return arrows;
}

struct End {
  int64_t t;
  uint64_t number;
  size_t track;
  uint32_t lane;
  bool operator>(const End& other) const { return t != other.t ? t > other.t : number > other.number; }
};
using Ends = std::priority_queue<End, std::vector<End>, std::greater<End>>;

// ---- Perfetto -----------------------------------------------------------------------------------

class Message {
 public:
  void varint(uint64_t v) {
    while (v > 127) {
      bytes_ += static_cast<char>(v | 128);
      v >>= 7;
    }
    bytes_ += static_cast<char>(v);
  }
  void number(uint32_t field, uint64_t v) {
    varint(field << 3);
    varint(v);
  }
  void fixed(uint32_t field, uint64_t v) {
    varint(field << 3 | 1);
    bytes_.append(reinterpret_cast<const char*>(&v), 8);
  }
  void real(uint32_t field, double v) { fixed(field, std::bit_cast<uint64_t>(v)); }
  void text(uint32_t field, std::string_view s) {
    varint(field << 3 | 2);
    varint(s.size());
    bytes_ += s;
  }
  void message(uint32_t field, const Message& m) { text(field, m.bytes_); }
  void clear() { bytes_.clear(); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Fields of TracePacket, TrackEvent, TrackDescriptor and others that are written.
enum : uint32_t {
  f_packet = 1,
  f_clock_snapshot = 6,
  f_timestamp = 8,
  f_sequence = 10,
  f_track_event = 11,
  f_interned = 12,
  f_flags = 13,
  f_defaults = 59,
  f_track_descriptor = 60,
  f_clock_id = 58
};
constexpr uint64_t k_monotonic = 3, k_boottime = 6, k_sequence_id = 1;

class PerfettoWriter {
 public:
  PerfettoWriter(const Timeline& timeline, const std::string& path)
      : timeline_(timeline), out_(path), lane_uuids_(timeline.tracks.size()) {}

  uint64_t run(TableReader& spans, TableReader& counters, TableReader& arrows_table) {
    start();
    Arrows arrows = read_arrows(arrows_table);
    Spans source(spans, timeline_.tracks.size());
    int track = counters.need("track"), t = counters.need("t_ns"), value = counters.need("value");
    Span span;
    bool have_span = source.next(&span), have_counter = counters.next();
    Ends ends;
    uint64_t number = 0;
    while (have_span || have_counter || !ends.empty()) {
      int64_t span_at = have_span ? span.begin : k_last, counter_at = have_counter ? counters.integer(t) : k_last;
      // Spans that end make room for spans that begin at the same time.
      if (!ends.empty() && ends.top().t <= std::min(span_at, counter_at)) {
        const End& end = ends.top();
        event(end.t, 2, uuid(end.track, end.lane), nullptr, arrows);
        ends.pop();
      } else if (have_counter && counter_at <= span_at) {
        auto on = static_cast<uint64_t>(counters.integer(track));
        if (on >= timeline_.tracks.size()) throw Error(DT_E_ARGUMENT, "a counter is on a track that does not exist");
        if (!counters.is_null(value)) count(counter_at, on, counters.real(value));
        have_counter = counters.next();
      } else {
        bool mark = span.begin == span.end;
        event(span.begin, mark ? 3 : 1, uuid(span.track, span.lane), &span, arrows);
        if (!mark) ends.push({span.end, number++, span.track, span.lane});
        have_span = source.next(&span);
      }
    }
    return out_.close();
  }

 private:
  static uint64_t uuid_of(size_t track, uint32_t lane) {
    return (uint64_t{0xD7A9} << 48) + (static_cast<uint64_t>(lane) << 24) + track + 1;
  }

  void packet(const Message& p) {
    Message whole;
    whole.message(f_packet, p);
    out_.put(whole.bytes());
  }

  void start() {
    // Times are CLOCK_MONOTONIC; without its offset to CLOCK_BOOTTIME the snapshot gives both the same time.
    Message snapshot, clock, p;
    for (uint64_t id : {k_boottime, k_monotonic}) {
      clock.clear();
      clock.number(1, id);
      clock.number(2, static_cast<uint64_t>(timeline_.begin));
      snapshot.message(1, clock);
    }
    snapshot.number(2, k_monotonic);
    p.number(f_sequence, k_sequence_id);
    p.message(f_clock_snapshot, snapshot);
    packet(p);
    p.clear();
    Message defaults;
    defaults.number(f_clock_id, k_monotonic);
    p.number(f_sequence, k_sequence_id);
    p.number(f_flags, 1);
    p.message(f_defaults, defaults);
    packet(p);
    for (size_t i = 0; i < timeline_.tracks.size(); ++i) {
      auto& track = timeline_.tracks[i];
      Message d;
      d.number(1, uuid_of(i, 0));
      d.text(2, track.name);
      if (track.parent >= 0) d.number(5, uuid_of(static_cast<size_t>(track.parent), 0));
      if (track.counter) {
        Message counter;
        if (track.unit == "ns")
          counter.number(3, 1);
        else if (track.unit == "count")
          counter.number(3, 2);
        else if (track.unit == "bytes")
          counter.number(3, 3);
        else if (!track.unit.empty())
          counter.text(6, track.unit);
        d.message(8, counter);
      }
      describe(d);
      lane_uuids_[i] = 1;
    }
  }

  void describe(const Message& d) {
    Message p;
    p.number(f_sequence, k_sequence_id);
    p.message(f_track_descriptor, d);
    packet(p);
  }

  uint64_t uuid(size_t track, uint32_t lane) {
    if (lane >= lane_uuids_[track]) {
      lane_uuids_[track] = lane + 1;
      auto& info = timeline_.tracks[track];
      Message d;
      d.number(1, uuid_of(track, lane));
      d.text(2, info.name + " (" + std::to_string(lane + 1) + ")");
      d.number(5, info.parent >= 0 ? uuid_of(static_cast<size_t>(info.parent), 0) : uuid_of(track, 0));
      describe(d);
    }
    return uuid_of(track, lane);
  }

  uint64_t intern(std::unordered_map<std::string, uint64_t>& known, std::string_view word, uint32_t field,
                  Message& interned) {
    auto [place, is_new] = known.try_emplace(std::string(word), known.size() + 1);
    if (is_new) {
      Message entry;
      entry.number(1, place->second);
      entry.text(2, word);
      interned.message(field, entry);
    }
    return place->second;
  }

  void event(int64_t t, uint64_t type, uint64_t uuid, const Span* span, Arrows& arrows) {
    Message e, interned;
    e.number(9, type);
    e.number(11, uuid);
    if (span) {
      e.number(10, intern(names_, span->name, 2, interned));
      if (!span->kind.empty()) e.number(3, intern(kinds_, span->kind, 1, interned));
      if (span->has_request) {
        Message note;
        note.number(1, intern(notes_, "request", 3, interned));
        note.number(4, static_cast<uint64_t>(span->request));
        e.message(4, note);
      }
      if (auto it = arrows.out.find(span->id); it != arrows.out.end())
        for (auto id : it->second) e.fixed(47, id);
      if (auto it = arrows.in.find(span->id); it != arrows.in.end())
        for (auto id : it->second) e.fixed(48, id);
    }
    send(t, e, interned);
  }

  void count(int64_t t, size_t track, double value) {
    Message e, none;
    e.number(9, 4);
    e.number(11, uuid_of(track, 0));
    if (std::nearbyint(value) == value && std::fabs(value) < 9e15)
      e.number(30, static_cast<uint64_t>(static_cast<int64_t>(value)));
    else
      e.real(44, value);
    send(t, e, none);
  }

  void send(int64_t t, const Message& e, const Message& interned) {
    Message p;
    p.number(f_timestamp, static_cast<uint64_t>(t));
    p.number(f_sequence, k_sequence_id);
    if (!interned.bytes().empty()) p.message(f_interned, interned);
    p.number(f_flags, 2);
    p.message(f_track_event, e);
    packet(p);
  }

  const Timeline& timeline_;
  Out out_;
  std::vector<uint32_t> lane_uuids_;  // lanes that are described
  std::unordered_map<std::string, uint64_t> names_, kinds_, notes_;
};

// ---- Chrome -------------------------------------------------------------------------------------

// Microseconds with three digits behind the point.
std::string us(int64_t ns) {
  char text[40];
  bool negative = ns < 0;
  uint64_t v = negative ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  snprintf(text, sizeof text, "%s%llu.%03u", negative ? "-" : "", static_cast<unsigned long long>(v / 1000),
           static_cast<unsigned>(v % 1000));
  return text;
}

class ChromeWriter {
 public:
  ChromeWriter(const Timeline& timeline, const std::string& path)
      : timeline_(timeline), out_(path), lanes_seen_(timeline.tracks.size()) {
    for (size_t i = 0; i < timeline.tracks.size(); ++i) {
      // Processes are the roots of the paths, threads the tracks.
      size_t root = i;
      for (int up = timeline.tracks[i].parent; up >= 0; up = timeline.tracks[root].parent)
        root = static_cast<size_t>(up);
      pid_.push_back(root + 1);
      std::string path_name;
      for (size_t at = i; at != root; at = static_cast<size_t>(timeline.tracks[at].parent))
        path_name = path_name.empty() ? timeline.tracks[at].name : timeline.tracks[at].name + "/" + path_name;
      shown_.push_back(path_name.empty() ? timeline.tracks[i].name : path_name);
    }
  }

  uint64_t run(TableReader& spans, TableReader& counters, TableReader& arrows_table) {
    json_.object().put("displayTimeUnit", "ns").list("traceEvents");
    for (size_t i = 0; i < timeline_.tracks.size(); ++i)
      if (timeline_.tracks[i].parent < 0) name_of("process_name", i + 1, 0, timeline_.tracks[i].name);
    Arrows arrows = read_arrows(arrows_table);
    Spans source(spans, timeline_.tracks.size());
    Span span;
    while (source.next(&span)) slice(span, arrows);
    int track = counters.need("track"), t = counters.need("t_ns"), value = counters.need("value");
    while (counters.next()) {
      auto on = static_cast<uint64_t>(counters.integer(track));
      if (on >= timeline_.tracks.size()) throw Error(DT_E_ARGUMENT, "a counter is on a track that does not exist");
      if (!counters.is_null(value)) count(on, counters.integer(t), counters.real(value));
    }
    json_.end().object("otherData").put("clock", timeline_.description).end().end();
    out_.put(text_ += '\n');
    return out_.close();
  }

 private:
  uint64_t tid(size_t track, uint32_t lane) { return (track + 1) * 1000 + std::min<uint32_t>(lane, 999); }

  JsonWriter<std::string>& event(const char* kind) {
    if (text_.size() > k_text) out_.put(text_), text_.clear();
    return json_.line().object().put("ph", kind);
  }
  void name_of(const char* what, uint64_t pid, uint64_t tid, const std::string& name) {
    event("M").put("name", what).put("pid", pid).put("tid", tid).object("args").put("name", name).end().end();
  }
  JsonWriter<std::string>& put_place(size_t track, uint32_t lane, int64_t t) {
    return json_.put("pid", pid_[track]).put("tid", tid(track, lane)).json("ts", us(t));
  }

  void slice(const Span& span, Arrows& arrows) {
    if (span.lane >= lanes_seen_[span.track]) {
      lanes_seen_[span.track] = span.lane + 1;
      std::string more = span.lane ? " (" + std::to_string(span.lane + 1) + ")" : "";
      name_of("thread_name", pid_[span.track], tid(span.track, span.lane), shown_[span.track] + more);
    }
    bool mark = span.begin == span.end;
    if (mark)
      event("i").put("s", "t");
    else
      event("X");
    json_.put("name", span.name).put("cat", span.kind);
    put_place(span.track, span.lane, span.begin);
    if (!mark) json_.json("dur", us(span.end - span.begin));
    if (span.has_request) json_.object("args").put("request", span.request).end();
    json_.end();
    auto way = [&](uint64_t id) {
      json_.put("name", "way").put("cat", "way").put("id", id);
      put_place(span.track, span.lane, span.begin).end();
    };
    for (auto id : ids(arrows.out, span.id)) event("s"), way(id);
    for (auto id : ids(arrows.in, span.id)) event("f").put("bp", "e"), way(id);
  }
  static const std::vector<uint64_t>& ids(const std::unordered_map<int64_t, std::vector<uint64_t>>& map, int64_t id) {
    static const std::vector<uint64_t> none;
    auto it = map.find(id);
    return it == map.end() ? none : it->second;
  }

  void count(size_t track, int64_t t, double value) {
    char number[40];
    if (!std::isfinite(value)) return;
    snprintf(number, sizeof number, "%.17g", value);
    event("C").put("name", shown_[track]).put("pid", pid_[track]).json("ts", us(t));
    const std::string& unit = timeline_.tracks[track].unit;
    json_.object("args").json(unit.empty() ? "value" : unit, number).end().end();
  }

  static constexpr size_t k_text = 1 << 16;
  const Timeline& timeline_;
  Out out_;
  std::vector<uint32_t> lanes_seen_;
  std::vector<uint64_t> pid_;
  std::vector<std::string> shown_;
  std::string text_;
  JsonWriter<std::string> json_{text_};
};

// ---- CTF ----------------------------------------------------------------------------------------

constexpr size_t k_packet = 256 * 1024;

// A data stream: events of one kind on one CPU. Packets are as long as what is in them.
class CtfStream {
 public:
  CtfStream(const std::string& path, uint64_t stream, int64_t cpu) : out_(path), stream_(stream), cpu_(cpu) {}
  std::string& event(int64_t t, uint64_t id) {
    if (body_.size() > k_packet) flush();
    if (body_.empty()) begin_ = t;
    end_ = t;
    put(static_cast<uint32_t>(id));
    put(t);
    return body_;
  }
  template <class T> void put(T v) { body_.append(reinterpret_cast<const char*>(&v), sizeof v); }
  uint64_t close() {
    flush();
    return out_.close();
  }

 private:
  void flush() {
    if (body_.empty()) return;
    std::string head;
    auto add = [&head](auto v) { head.append(reinterpret_cast<const char*>(&v), sizeof v); };
    constexpr uint64_t head_bytes = 4 + 4 + 5 * 8 + 8 + 4;
    uint64_t bits = (head_bytes + body_.size()) * 8;
    add(uint32_t{0xC1FC1FC1});
    add(static_cast<uint32_t>(stream_));
    add(begin_);
    add(end_);
    add(bits);
    add(bits);
    add(number_++);
    add(uint64_t{0});
    add(static_cast<uint32_t>(cpu_));
    out_.put(head);
    out_.put(body_);
    body_.clear();
  }
  Out out_;
  uint64_t stream_, number_ = 0;
  int64_t cpu_, begin_ = 0, end_ = 0;
  std::string body_;
};

}  // namespace

Timeline read_timeline(Plan& plan) {
  Timeline timeline;
  size_t n = plan.count();
  for (size_t i = 0; i < n; ++i) {
    Timeline::Track track;
    track.name = valid_utf8(plan.text());
    track.parent = plan.index(n);
    // Parents come first: there is no way round.
    if (track.parent >= static_cast<int>(i)) throw Error(DT_E_ARGUMENT, "a track stands in front of its parent");
    track.counter = plan.number() != 0;
    track.unit = valid_utf8(plan.text());
    timeline.tracks.push_back(std::move(track));
  }
  timeline.begin = plan.number();
  timeline.description = valid_utf8(plan.text());
  return timeline;
}

uint64_t write_perfetto(const Timeline& timeline, TableReader& spans, TableReader& counters, TableReader& arrows,
                        const std::string& path) {
  return PerfettoWriter(timeline, path).run(spans, counters, arrows);
}

uint64_t write_chrome(const Timeline& timeline, TableReader& spans, TableReader& counters, TableReader& arrows,
                      const std::string& path) {
  return ChromeWriter(timeline, path).run(spans, counters, arrows);
}

// The layout: event header (u32 id, u64 timestamp), context (i32 tid, u8[16] procname), the fields in the order of the
// columns. Integers and reals have their width, text ends with a zero, and lists and bytes follow a u32 with their
// number.
uint64_t write_ctf(Plan& plan, TableReader& events) {
  std::string prefix = plan.text();
  auto id = static_cast<uint64_t>(plan.number()), stream = static_cast<uint64_t>(plan.number());
  int t = events.need("t"), cpu = events.need("cpu"), tid = events.need("tid"), comm = events.need("comm");
  std::map<int64_t, std::unique_ptr<CtfStream>> streams;
  int64_t before = k_first;
  while (events.next()) {
    int64_t at = events.integer(t), on = events.is_null(cpu) ? 0 : events.integer(cpu);
    if (at < before) throw Error(DT_E_ARGUMENT, "events are not in order of time");
    before = at;
    auto& out = streams[on];
    if (!out) out = std::make_unique<CtfStream>(prefix + "_" + std::to_string(on), stream, on);
    std::string& body = out->event(at, id);
    out->put(static_cast<int32_t>(events.is_null(tid) ? -1 : events.integer(tid)));
    char name[16] = {};
    if (!events.is_null(comm)) {
      auto text = events.text(comm);
      memcpy(name, text.data(), std::min<size_t>(15, text.size()));
    }
    body.append(name, 16);
    for (int c = 0; c < static_cast<int>(events.columns()); ++c) {
      if (c == t || c == cpu || c == tid || c == comm) continue;
      bool null = events.is_null(c);
      switch (events.kind(c)) {
        case 's': {
          auto text = null ? std::string_view() : events.text(c);
          body += text.substr(0, text.find('\0'));
          body += '\0';
          break;
        }
        case 'f': out->put(null ? 0.0 : events.real(c)); break;
        case 'l':
        case 'b': {
          size_t count = 0, width = 1;
          const uint8_t* from = null ? nullptr : events.list(c, &count, &width);
          out->put(static_cast<uint32_t>(count));
          if (count) body.append(reinterpret_cast<const char*>(from), count * width);
          break;
        }
        case 'o': out->put(static_cast<uint8_t>(null ? 0 : events.integer(c))); break;
        default: {
          auto v = static_cast<uint64_t>(null ? 0 : events.integer(c));
          char f = events.format(c)[0];
          size_t width = f == 'c' || f == 'C' ? 1 : f == 's' || f == 'S' ? 2 : f == 'i' || f == 'I' ? 4 : 8;
          body.append(reinterpret_cast<const char*>(&v), width);
        }
      }
    }
  }
  uint64_t bytes = 0;
  for (auto& [number, out] : streams) bytes += out->close();
  return bytes;
}

}  // namespace dt::kernel
