// The kernel's ring buffer, page by page, as trace.dat keeps it for each CPU.
//
// The plan: classes (Trace::read_classes), then
// - whether big-endian, size of the kernel's long, size of a page, place of the commit word, begin of the data
// - clock: the factor of a time, the bits by which the product is shifted right, the offset
// - events and threads (RawEvents::read)
// - path; streams: count; each name for people, CPU, offset, size, method of compression of its chunks (0: none)
#include "raw.h"

namespace dt::kernel {
namespace {

struct Stream {
  std::string name;
  int cpu;
  uint64_t offset, size;
  int method;  // of compression, see decompress()
};

class Ring : public Trace {
 public:
  bool big = false;
  unsigned long_size = 8;
  uint64_t page_size = 4096;
  uint32_t commit_at = 8, data_at = 16;
  uint64_t multiply = 1;
  unsigned shift = 0;
  int64_t add = 0;
  RawEvents events;
  std::unique_ptr<File> file;
  std::vector<Stream> streams;

  std::vector<std::unique_ptr<Lane>> lanes() override;
  void prepare(Output& out) override { events.prepare(out, classes); }
  int64_t ns(uint64_t t) const {
    if (multiply != 1 || shift) t = static_cast<uint64_t>(static_cast<unsigned __int128>(t) * multiply >> shift);
    return static_cast<int64_t>(t + static_cast<uint64_t>(add));
  }
};

constexpr uint64_t k_commit_mask = (1 << 27) - 1, k_missed = 1u << 31, k_missed_stored = 1u << 30;
constexpr uint64_t k_largest_chunk = 1u << 28;

class RingLane : public Lane {
 public:
  RingLane(Ring& ring, const Stream& stream) : ring_(ring), stream_(stream) {
    auto view = ring.file->view();
    if (stream.offset < view.size()) {
      at_ = ring.file->data() + stream.offset;
      left_ = std::min<uint64_t>(stream.size, view.size() - stream.offset);
    }
    if (left_ < stream.size)
      ring.note({"truncated", stream.name,
                 "the file has " + std::to_string(left_) + " of its " + std::to_string(stream.size) + " bytes"});
    if (!stream.method) {
      chunk_ = at_;
      chunk_left_ = left_;
      left_ = 0;
    } else if (left_ >= 4) {
      chunks_ = load_bytes(at_, 4, ring.big);
      at_ += 4;
      left_ -= 4;
    }
  }

  bool next() override {
    for (;;) {
      while (data_ < data_end_) {
        if (!event()) continue;
        uint64_t type;
        if (!ring_.events.type_of(record_, size_, &type)) {
          corrupt("a record of " + std::to_string(size_) + " bytes");
          continue;
        }
        int number = ring_.events.class_of(type);
        if (number < 0) {
          ring_.note({"unknown", stream_.name, "events of the type " + std::to_string(type) + " are not described", 0});
          continue;
        }
        cls = static_cast<uint32_t>(number);
        t = ring_.ns(clock_);
        if (t >= end) return false;
        if (t >= begin && (!wanted || wanted[cls])) return true;
      }
      if (!page()) return false;
    }
  }

  void emit(Output& out) override {
    out.base(base_cpu, stream_.cpu);
    ring_.events.emit_thread(out, ring_.events.thread_of(record_, size_));
    ring_.events.emit(out, cls, record_, size_);
  }

 private:
  // One item of a page; whether it is an event.
  bool event() {
    if (data_end_ - data_ < 4) {
      data_ = data_end_;
      return false;
    }
    auto word = static_cast<uint32_t>(load_bytes(data_, 4, ring_.big));
    uint32_t kind = ring_.big ? word >> 27 : word & 31, delta = ring_.big ? word & ((1u << 27) - 1) : word >> 5;
    const uint8_t* at = data_ + 4;
    auto left = static_cast<uint64_t>(data_end_ - at);
    auto first = [&]() -> uint64_t { return left < 4 ? 0 : load_bytes(at, 4, ring_.big); };
    if (kind == 29) {  // padding: of no time means up to the end of the page
      uint64_t n = first();
      if (!delta || left < n || n < 4) {
        data_ = data_end_;
        return false;
      }
      clock_ += delta;
      data_ = at + n;
      return false;
    }
    if (kind >= 30) {
      if (left < 4) return broken("a time is cut off");
      uint64_t high = first() << 27;
      if (kind == 30)
        clock_ += high + delta;
      else  // absolute, without the upper bits
        clock_ = (clock_ & ~((uint64_t{1} << 59) - 1)) | ((high + delta) & ((uint64_t{1} << 59) - 1));
      data_ = at + 4;
      return false;
    }
    clock_ += delta;
    uint64_t n = kind * 4;
    if (!kind) {
      n = first();
      if (n < 4) return broken("a record of no size");
      n -= 4;
      at += 4;
      left -= 4;
    }
    if (n > left) return broken("a record is longer than its page");
    record_ = at;
    size_ = n;
    data_ = at + std::min(left, (n + 3) & ~uint64_t{3});
    return true;
  }

  bool broken(const char* why) {
    corrupt(std::string(why) + "; " + std::to_string(data_end_ - data_) + " bytes are left out");
    data_ = data_end_;
    return false;
  }
  void corrupt(const std::string& text) {
    ring_.note({"corrupt", stream_.name, "page " + std::to_string(page_) + ": " + text, 0, ring_.ns(clock_), k_last});
  }

  bool page() {
    for (;;) {
      uint64_t size = std::min<uint64_t>(ring_.page_size, chunk_left_);
      if (!size) {
        if (!chunk()) return false;
        continue;
      }
      const uint8_t* at = chunk_;
      chunk_ += size;
      chunk_left_ -= size;
      ring_.done.fetch_add(size, std::memory_order_relaxed);
      ++page_;
      if (size <= ring_.data_at || size < ring_.commit_at + ring_.long_size) continue;
      int64_t before = page_ > 1 ? ring_.ns(clock_) : k_first;
      clock_ = load_bytes(at, 8, ring_.big);
      uint64_t commit = load_bytes(at + ring_.commit_at, ring_.long_size, ring_.big);
      uint64_t used = commit & k_commit_mask;
      if (used > size - ring_.data_at) {
        corrupt("it says that it has " + std::to_string(used) + " bytes");
        used = size - ring_.data_at;
      }
      data_ = at + ring_.data_at;
      data_end_ = data_ + used;
      if (commit & k_missed) missed(commit, size - ring_.data_at - used, before);
      return true;
    }
  }

  void missed(uint64_t commit, uint64_t left, int64_t before) {
    uint64_t count = 0;
    if (commit & k_missed_stored && left >= ring_.long_size) count = load_bytes(data_end_, ring_.long_size, ring_.big);
    std::string many = count ? std::to_string(count) : "an unknown number of";
    ring_.note({"lost", stream_.name, "the kernel dropped " + many + " events", count, before, ring_.ns(clock_)});
  }

  bool chunk() {
    if (!chunks_) return false;
    --chunks_;
    if (left_ < 8) return cut();
    uint64_t packed = load_bytes(at_, 4, ring_.big), plain = load_bytes(at_ + 4, 4, ring_.big);
    at_ += 8;
    left_ -= 8;
    if (packed > left_ || plain > k_largest_chunk) return cut();
    plain_.resize(plain);
    std::string why;
    size_t got = decompress(stream_.method, at_, packed, plain_.data(), plain, &why);
    at_ += packed;
    left_ -= packed;
    if (!why.empty())
      ring_.note(
          {"corrupt", stream_.name, "a chunk of " + std::to_string(plain) + " bytes cannot be decompressed: " + why});
    chunk_ = plain_.data();
    chunk_left_ = got;
    return true;
  }
  bool cut() {
    ring_.note({"truncated", stream_.name, std::to_string(chunks_ + 1) + " compressed chunks are missing"});
    chunks_ = 0;
    return false;
  }

  Ring& ring_;
  const Stream& stream_;
  const uint8_t *at_ = nullptr, *chunk_ = nullptr, *data_ = nullptr, *data_end_ = nullptr, *record_ = nullptr;
  uint64_t left_ = 0, chunk_left_ = 0, chunks_ = 0, size_ = 0, clock_ = 0, page_ = 0;
  std::vector<uint8_t> plain_;
};

std::vector<std::unique_ptr<Lane>> Ring::lanes() {
  std::vector<std::unique_ptr<Lane>> all;
  done = 0;
  uint64_t bytes = 0;
  for (auto& stream : streams) {
    bytes += stream.size;
    all.push_back(std::make_unique<RingLane>(*this, stream));
  }
  total = bytes;
  return all;
}

}  // namespace

std::shared_ptr<Trace> open_ring(Plan& plan) {
  auto ring = std::make_shared<Ring>();
  ring->read_classes(plan);
  ring->big = plan.number() != 0;
  ring->long_size = static_cast<unsigned>(plan.below(9));
  ring->page_size = plan.below(1 << 26);
  ring->commit_at = static_cast<uint32_t>(plan.below(4096));
  ring->data_at = static_cast<uint32_t>(plan.below(4096));
  if ((ring->long_size != 4 && ring->long_size != 8) || ring->page_size < 64 || ring->commit_at < 8 ||
      ring->data_at < ring->commit_at + ring->long_size)
    throw Error(DT_E_FORMAT, "the layout of the ring buffer's pages makes no sense");
  ring->multiply = static_cast<uint64_t>(plan.number());
  ring->shift = static_cast<unsigned>(plan.below(64));
  ring->add = plan.number();
  ring->events.read(plan, ring->classes, ring->big);
  ring->file = std::make_unique<File>(plan.text());
  for (size_t n = plan.count(); n; --n) {
    Stream s;
    s.name = valid_utf8(plan.text());
    s.cpu = static_cast<int>(plan.below(1 << 20));
    s.offset = static_cast<uint64_t>(plan.number());
    s.size = static_cast<uint64_t>(plan.number());
    s.method = static_cast<int>(plan.below(3));
    ring->streams.push_back(std::move(s));
  }
  return ring;
}

}  // namespace dt::kernel
