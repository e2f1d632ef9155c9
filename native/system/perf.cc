// perf.data: samples of tracepoints, in files and as perf writes them to a pipe.
//
// The plan: classes (Trace::read_classes), whether big-endian, where the events' fields are (RawEvents::read; its
// threads stay empty). Then items with counts:
// - attributes: count; for each sample_type, read_format, whether all records end with sample ids, class for samples
//   without a record of a tracepoint (-1: none)
// - ids: count, each one
// - path, where the records begin, number of bytes (0: to the end)
#include <deque>
#include <utility>

#include "indexed.h"
#include "raw.h"

namespace dt::kernel {
namespace {

enum : uint64_t {
  s_ip = 1,
  s_tid = 2,
  s_time = 4,
  s_addr = 8,
  s_read = 16,
  s_callchain = 32,
  s_id = 64,
  s_cpu = 128,
  s_period = 256,
  s_stream = 512,
  s_raw = 1024,
  s_identifier = 1 << 16
};
enum : uint32_t {
  r_lost = 2,
  r_comm = 3,
  r_throttle = 5,
  r_sample = 9,
  r_lost_samples = 13,
  r_tracing_data = 66,
  r_auxtrace = 71,
  r_compressed = 81,
  r_compressed2 = 83
};

struct Attribute {
  uint64_t sample_type = 0, read_format = 0;
  bool all_ids = false;
  int cls = -1;
};

struct Sample {
  uint64_t ip = 0, period = 0;
  int64_t t = 0, pid = -1, tid = -1;
  int32_t cpu = -1;
  const uint8_t* raw = nullptr;
  size_t raw_size = 0;
};

class Perf : public IndexedTrace {
 public:
  RawEvents events;

  Perf(Plan& plan) {
    read_classes(plan);
    big_ = plan.number() != 0;
    events.read(plan, classes, big_);
    for (size_t n = plan.count(); n; --n) {
      Attribute a;
      a.sample_type = static_cast<uint64_t>(plan.number());
      a.read_format = static_cast<uint64_t>(plan.number());
      a.all_ids = plan.number() != 0;
      a.cls = plan.index(classes.size());
      for (size_t ids = plan.count(); ids; --ids)
        attribute_of_[static_cast<uint64_t>(plan.number())] = attributes_.size();
      attributes_.push_back(a);
    }
    if (attributes_.empty()) throw Error(DT_E_FORMAT, "no event is described");
    file_ = std::make_unique<File>(plan.text());
    auto begin = static_cast<uint64_t>(plan.number()), size = static_cast<uint64_t>(plan.number());
    find(begin, size);
  }
  ~Perf() override { ZSTD_freeDStream(stream_); }

  void prepare(Output& out) override { events.prepare(out, classes); }

  void emit_at(Output& out, const Place& place) override {
    auto* at = reinterpret_cast<const uint8_t*>(place.at);
    Sample s;
    const Attribute* a = sample(at, &s);
    if (!a) return;
    if (s.cpu >= 0) out.base(base_cpu, s.cpu);
    if (s.tid >= 0) out.base(base_tid, s.tid);  // -1: a thread that is gone already
    if (s.pid >= 0) out.base(base_pid, s.pid);
    if (out.wants(base_comm))
      if (auto name = comm_of(s.tid, place.t); !name.empty()) out.comm(name);
    if (s.raw && static_cast<int>(place.cls) != a->cls) {
      events.emit(out, place.cls, s.raw, s.raw_size);
    } else {
      auto& target = out.current().target;
      if (target.size() > 0) out.integer(target[0], s.ip, false);
      if (target.size() > 1) out.integer(target[1], s.period, false);
    }
  }

 private:
  uint64_t u64(const uint8_t* at) const { return load_bytes(at, 8, big_); }
  uint32_t u32(const uint8_t* at) const { return static_cast<uint32_t>(load_bytes(at, 4, big_)); }
  uint16_t u16(const uint8_t* at) const { return static_cast<uint16_t>(load_bytes(at, 2, big_)); }

  const Attribute* attribute(const uint8_t* at, size_t size) const {
    if (attributes_.size() == 1) return &attributes_[0];
    auto& first = attributes_[0];
    size_t where = 8;
    if (!(first.sample_type & s_identifier)) {
      if (!(first.sample_type & s_id)) return &first;
      for (uint64_t bit : {s_ip, s_tid, s_time, s_addr})
        if (first.sample_type & bit) where += 8;
    }
    if (where + 8 > size) return nullptr;
    auto it = attribute_of_.find(u64(at + where));
    return it == attribute_of_.end() ? nullptr : &attributes_[it->second];
  }

  // The sample that stands at `at` (whole: its size was checked).
  const Attribute* sample(const uint8_t* at, Sample* out) const {
    size_t size = u16(at + 6);
    const Attribute* a = attribute(at, size);
    if (!a) return nullptr;
    const uint8_t *end = at + size, *p = at + 8;
    uint64_t type = a->sample_type;
    auto take = [&](size_t n) -> const uint8_t* {
      if (static_cast<size_t>(end - p) < n) {
        p = end;
        return nullptr;
      }
      const uint8_t* from = p;
      p += n;
      return from;
    };
    for (uint64_t bit : {s_identifier, s_ip, s_tid, s_time, s_addr, s_id, s_stream, s_cpu, s_period}) {
      if (!(type & bit)) continue;
      auto* from = take(8);
      if (!from) return nullptr;
      if (bit == s_ip) out->ip = u64(from);
      if (bit == s_tid) out->pid = static_cast<int32_t>(u32(from)), out->tid = static_cast<int32_t>(u32(from + 4));
      if (bit == s_time) out->t = static_cast<int64_t>(u64(from));
      if (bit == s_cpu) out->cpu = static_cast<int32_t>(u32(from));
      if (bit == s_period) out->period = u64(from);
    }
    if (type & s_read && !skip_read(a->read_format, take)) return nullptr;
    if (type & s_callchain) {
      auto* from = take(8);
      if (!from || u64(from) > static_cast<uint64_t>(end - p) / 8 || !take(u64(from) * 8)) {
        if (!from || u64(from)) return nullptr;
      }
    }
    if (type & s_raw) {
      auto* from = take(4);
      if (!from) return nullptr;
      out->raw_size = u32(from);
      if (out->raw_size > static_cast<size_t>(end - p)) return nullptr;
      out->raw = p;
    }
    return a;
  }

  template <class Take> bool skip_read(uint64_t format, Take& take) const {
    bool group = format & 8;
    size_t each = 8 + (format & 4 ? 8 : 0) + (format & 16 ? 8 : 0);
    size_t times = (format & 1 ? 8 : 0) + (format & 2 ? 8 : 0);
    if (!group) return take(each + times) != nullptr;
    auto* from = take(8);
    if (!from || u64(from) > 65536) return false;
    return take(times + u64(from) * each) != nullptr;
  }

  // ---- finding ----------------------------------------------------------------------------------

  void find(uint64_t begin, uint64_t size) {
    uint64_t all = file_->size();
    if (begin > all) begin = all;
    uint64_t end = size && size < all - begin ? begin + size : all;
    if (size > all - begin)
      note({"truncated", "data",
            "the file has " + std::to_string(all - begin) + " of " + std::to_string(size) + " bytes"});
    total = end - begin;
    records(file_->data() + begin, file_->data() + end, true);
    if (!rest_.empty()) note({"truncated", "data", "compressed records end inside one"});
    sort_places();
    for (auto& [tid, names] : comms_)
      std::stable_sort(names.begin(), names.end(), [](auto& a, auto& b) { return a.first < b.first; });
  }

  // Returns how many bytes at the end are no whole record.
  size_t records(const uint8_t* at, const uint8_t* end, bool outer) {
    while (end - at >= 8) {
      uint32_t type = u32(at);
      size_t size = u16(at + 6);
      if (size < 8) {
        note({"corrupt", "data",
              "a record of " + std::to_string(size) + " bytes; " + std::to_string(end - at) + " bytes are left out"});
        return 0;
      }
      if (size > static_cast<size_t>(end - at)) break;
      const uint8_t* next = at + size;
      switch (type) {
        case r_sample: add_sample(at); break;
        case r_comm: add_comm(at, size); break;
        case r_lost:
          if (size >= 24) lost(u64(at + 16), trailer_time(at, size));
          break;
        case r_lost_samples:
          if (size >= 16) lost(u64(at + 8), trailer_time(at, size));
          break;
        case r_throttle:
          note({"lost", "data", "the kernel throttled sampling", 0, trailer_time(at, size), k_last});
          break;
        case r_tracing_data: next = outside(next, end, size >= 12 ? (u32(at + 8) + 7u) & ~uint64_t{7} : 0); break;
        case r_auxtrace: next = outside(next, end, size >= 16 ? u64(at + 8) : 0); break;
        case r_compressed:
        case r_compressed2:
          if (outer) {
            size_t head = type == r_compressed ? 8 : 16;
            size_t n = type == r_compressed ? size - 8 : size >= 16 ? std::min<uint64_t>(u64(at + 8), size - 16) : 0;
            if (size >= head) unpack(at + head, n);
          }
          break;
        default: break;
      }
      at = next;
    }
    if (outer && at < end)
      note({"truncated", "data", "the last record is cut off: " + std::to_string(end - at) + " bytes"});
    return static_cast<size_t>(end - at);
  }

  // Bytes behind a record that are no part of it.
  const uint8_t* outside(const uint8_t* next, const uint8_t* end, uint64_t size) {
    if (size > static_cast<uint64_t>(end - next)) return end;
    return next + size;
  }

  void lost(uint64_t count, int64_t t) {
    note({"lost", "data", std::to_string(count) + " events were lost", count, k_first, t});
  }

  int64_t trailer_time(const uint8_t* at, size_t size) const {
    auto& a = attributes_[0];
    if (!a.all_ids || !(a.sample_type & s_time)) return k_last;
    size_t behind = 8;
    for (uint64_t bit : {s_id, s_stream, s_cpu, s_identifier})
      if (a.sample_type & bit) behind += 8;
    return size >= 8 + behind ? static_cast<int64_t>(u64(at + size - behind)) : k_last;
  }

  void add_comm(const uint8_t* at, size_t size) {
    if (size < 24) return;
    auto tid = static_cast<int32_t>(u32(at + 12));
    auto name = until_nul(at + 16, std::min<size_t>(size - 16, 16));
    int64_t t = trailer_time(at, size);
    // Names of threads that were there before have no time.
    comms_[tid].push_back({t == k_last || t == 0 ? k_first : t, std::string(name)});
  }

  std::string_view comm_of(int64_t tid, int64_t t) const {
    if (!tid) return "swapper";
    auto it = comms_.find(tid);
    if (it == comms_.end()) return {};
    const std::string* name = &it->second.front().second;
    for (auto& [since, text] : it->second) {
      if (since > t) break;
      name = &text;
    }
    return *name;
  }

  void add_sample(const uint8_t* at) {
    Sample s;
    const Attribute* a = sample(at, &s);
    if (!a) return note({"corrupt", "data", "a sample cannot be read"});
    int cls = a->cls;
    uint64_t type;
    if (cls < 0) {
      if (!s.raw || !events.type_of(s.raw, s.raw_size, &type))
        return note({"corrupt", "data", "a sample of a tracepoint has no record"});
      cls = events.class_of(type);
      if (cls < 0)
        return note({"unknown", "data", "events of the type " + std::to_string(type) + " are not described"});
    }
    size_t lane = s.cpu >= 0 && s.cpu < 65536 ? static_cast<size_t>(s.cpu) : 0;
    if (places.size() <= lane) places.resize(lane + 1);
    places[lane].push_back({s.t, reinterpret_cast<uint64_t>(at), static_cast<uint32_t>(cls), s.cpu});
  }

  void unpack(const uint8_t* from, size_t n) {
    if (!stream_) {
      stream_ = ZSTD_createDStream();
      ZSTD_initDStream(stream_);
    }
    std::string plain = std::exchange(rest_, {});
    const std::string why = unpack_zstd(stream_, {reinterpret_cast<const char*>(from), n}, plain);
    if (!why.empty()) {
      note({"corrupt", "data", "a compressed record cannot be decompressed: " + why});
      ZSTD_initDStream(stream_);
    }
    plain_.push_back(std::move(plain));
    auto* begin = reinterpret_cast<const uint8_t*>(plain_.back().data());
    size_t left = records(begin, begin + plain_.back().size(), false);
    rest_ = plain_.back().substr(plain_.back().size() - left);
  }

  bool big_ = false;
  std::vector<Attribute> attributes_;
  std::unordered_map<uint64_t, size_t> attribute_of_;
  std::unique_ptr<File> file_;
  std::unordered_map<int64_t, std::vector<std::pair<int64_t, std::string>>> comms_;
  ZSTD_DStream* stream_ = nullptr;
  std::string rest_;
  std::deque<std::string> plain_;
};

}  // namespace

std::shared_ptr<Trace> open_perf(Plan& plan) { return std::make_shared<Perf>(plan); }

}  // namespace dt::kernel
