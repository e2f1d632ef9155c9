// Common Trace Format: 1.8 and 2, both byte orders, packets or none.
#include <algorithm>

#include "ctf.h"

namespace dt::kernel {
namespace ctf {
namespace {

// The flat fields of an event that an output takes.
struct Put {
  uint32_t offset;
  uint8_t width;
  bool plain;  // as it stands in memory
  int column;
  const Flat* flat;
};
struct Prepared {
  std::unordered_map<const Event*, std::vector<Put>> puts;
};

unsigned long long bits_little(const uint8_t* data, uint64_t pos, unsigned size) {
  uint64_t v = 0;
  unsigned got = 0;
  while (got < size) {
    unsigned shift = pos & 7, take = std::min(8 - shift, size - got);
    v |= static_cast<uint64_t>(data[pos >> 3] >> shift & ((1u << take) - 1)) << got;
    got += take;
    pos += take;
  }
  return v;
}
unsigned long long bits_big(const uint8_t* data, uint64_t pos, unsigned size) {
  uint64_t v = 0;
  unsigned left = size;
  while (left) {
    unsigned shift = pos & 7, take = std::min(8 - shift, left);
    v = v << take | (data[pos >> 3] >> (8 - shift - take) & ((1u << take) - 1));
    left -= take;
    pos += take;
  }
  return v;
}

struct Broken {
  const char* why;
};

class CtfLane : public Lane {
 public:
  CtfLane(Ctf& trace, const Metadata& metadata, const DataFile& file)
      : trace_(trace), meta_(metadata), file_(file), vars_(metadata.vars) {}

  bool next() override {
    if (pending_) skip();
    for (;;) {
      if (pos_ >= content_ && !open_packet()) return false;
      try {
        if (!header()) continue;
      } catch (const Broken& broken) {
        drop_packet(broken.why);
        continue;
      }
      if (t >= end) return false;
      if (t >= begin && (!wanted || wanted[cls])) {
        pending_ = true;
        return true;
      }
      skip();
    }
  }

  void emit(Output& out) override {
    pending_ = false;
    if (cpu_ >= 0) out.base(base_cpu, cpu_);
    try {
      const Event& e = *event_;
      uint64_t at = pos_;
      if (e.flat_bytes) {
        const uint8_t* from = data_ + need_bytes(e.flat_bytes);
        if (out.prepared.get() != prepared_) puts_of(out);
        for (auto& put : *puts(e)) put_flat(out, put, from);
        if (e.has_vars) flat_vars(e, from);
        pos_ = at + e.flat_bytes * 8;
      }
      if (e.rest < e.ops.end) walk(e.rest, e.ops.end, &out, 0);
    } catch (const Broken& broken) {
      drop_packet(broken.why);
    }
    moved();
  }

 private:
  void skip() {
    pending_ = false;
    try {
      const Event& e = *event_;
      if (e.flat_bytes) {
        const uint8_t* from = data_ + need_bytes(e.flat_bytes);
        if (e.has_vars) flat_vars(e, from);
        pos_ += e.flat_bytes * 8;
      }
      if (e.rest < e.ops.end) walk(e.rest, e.ops.end, nullptr, 0);
    } catch (const Broken& broken) {
      drop_packet(broken.why);
    }
    moved();
  }

  // An event that takes no room would be read for ever.
  void moved() {
    if (pos_ == event_at_) drop_packet("an event of no size");
  }

  void puts_of(Output& out) {
    prepared_ = out.prepared.get();
    ready_ = static_cast<Prepared*>(out.prepared.get());
    last_event_ = nullptr;
  }
  const std::vector<Put>* puts(const Event& e) {
    if (&e != last_event_) {
      static const std::vector<Put> none;
      auto it = ready_->puts.find(&e);
      last_puts_ = it == ready_->puts.end() ? &none : &it->second;
      last_event_ = &e;
    }
    return last_puts_;
  }

  static void put_flat(Output& out, const Put& put, const uint8_t* from) {
    const Flat& f = *put.flat;
    from += put.offset;
    if (put.plain) {
      Column* column = out.open(put.column);
      if (!column) return;
      switch (put.width) {
        case 1: column->value(*from); return;
        case 2: column->value(load<uint16_t>(from)); return;
        case 4: column->value(load<uint32_t>(from)); return;
        default: column->value(load<uint64_t>(from)); return;
      }
    }
    if (f.kind == op_text) return out.text(put.column, until_nul(from, f.count));
    uint64_t v = load_bytes(from, f.width, f.flags & flag_big);
    if (f.kind == op_real) return out.real(put.column, real_of(v, f.width));
    if (f.flags & flag_signed) v = extend_sign(v, f.width * 8u);
    out.integer(put.column, v, f.flags & flag_signed);
  }

  void flat_vars(const Event& e, const uint8_t* from) {
    for (auto& f : e.flat) {
      if (f.var < 0) continue;
      uint64_t v = load_bytes(from + f.offset, f.width, f.flags & flag_big);
      vars_[static_cast<size_t>(f.var)] = f.flags & flag_signed ? extend_sign(v, f.width * 8u) : v;
    }
  }

  // ---- packets ----------------------------------------------------------------------------------

  bool open_packet() {
    for (;;) {
      trace_.done.fetch_add(static_cast<uint64_t>(packet_bytes_), std::memory_order_relaxed);
      next_packet_ += static_cast<uint64_t>(packet_bytes_);
      packet_bytes_ = 0;
      const File& f = *file_.file;
      f.forget(forgotten_, next_packet_);
      if (next_packet_ >= f.size()) return false;
      ++packet_;
      data_ = f.data() + next_packet_;
      uint64_t left = f.size() - next_packet_;
      content_ = left * 8;
      pos_ = 0;
      for (auto v : {var_begin, var_end, var_content, var_packet, var_sequence, var_discarded, var_cpu})
        known_[v] = false;
      known_[var_stream] = known_[var_magic] = false;
      cpu_ = -1;
      try {
        if (!start_packet(left)) continue;
      } catch (const Broken& broken) {
        corrupt(std::string("the header of packet ") + std::to_string(packet_) + " cannot be read (" + broken.why +
                "); the rest of the file is left out");
        next_packet_ = f.size();
        return false;
      }
      if (pos_ < content_) return true;
      packet_bytes_ = static_cast<int64_t>(size_);
    }
  }

  // Returns whether the packet may have events. Sets size_, content_, the clock.
  bool start_packet(uint64_t left) {
    walk(meta_.header.begin, meta_.header.end, nullptr, 0);
    if (known_[var_magic] && vars_[var_magic] != 0xC1FC1FC1) throw Broken{"no magic number"};
    stream_ = nullptr;
    uint64_t id = known_[var_stream] ? vars_[var_stream] : 0;
    for (auto& s : meta_.streams)
      if (s.id == id || (!known_[var_stream] && meta_.streams.size() == 1)) stream_ = &s;
    // Without a stream class nobody knows how long the packet is.
    if (!stream_) throw Broken{"its stream class is not described"};
    walk(stream_->context.begin, stream_->context.end, nullptr, 0);
    uint64_t head = pos_;
    uint64_t content = known_[var_content] ? vars_[var_content] : known_[var_packet] ? vars_[var_packet] : left * 8;
    uint64_t packet = known_[var_packet] ? vars_[var_packet] : known_[var_content] ? content : left * 8;
    size_ = (packet + 7) / 8;
    if (packet < head || content < head || content > packet) throw Broken{"its size makes no sense"};
    if (known_[var_begin]) clock_ = vars_[var_begin];
    int64_t begins = known_[var_begin] ? ns(vars_[var_begin]) : k_first;
    int64_t ends = known_[var_end] ? ns(vars_[var_end]) : k_last;
    if (size_ > left) {
      // The file may end inside the padding.
      if (content > left * 8)
        trace_.note({"truncated", file_.name,
                     "the last packet has " + std::to_string(left) + " of its " + std::to_string(size_) + " bytes", 0,
                     begins, ends});
      content = std::min(content, left * 8);
      size_ = left;
    }
    content_ = content;
    if (known_[var_cpu] && vars_[var_cpu] < 1u << 20) cpu_ = static_cast<int32_t>(vars_[var_cpu]);
    lost(begins, ends);
    packet_bytes_ = static_cast<int64_t>(size_);
    // Packets outside of the times asked for need no reading.
    if (known_[var_end] && known_[var_begin] && vars_[var_end] >= vars_[var_begin] && ends < begin) {
      pos_ = content_;
      return false;
    }
    return true;
  }

  void lost(int64_t begins, int64_t ends) {
    if (known_[var_sequence]) {
      uint64_t number = vars_[var_sequence];
      if (seen_packet_ && number > sequence_ + 1)
        trace_.note({"discarded", file_.name, std::to_string(number - sequence_ - 1) + " packets are missing", 0,
                     last_end_, begins});
      else if (!seen_packet_ && number > 0)
        trace_.note({"discarded", file_.name, std::to_string(number) + " packets are missing at the start", 0, k_first,
                     begins});
      sequence_ = number;
    }
    if (known_[var_discarded]) {
      uint64_t total = vars_[var_discarded];
      // The count is taken when a packet ends and may be as narrow as 32 bits.
      uint64_t more = total >= discarded_ ? total - discarded_ : total;
      if (more)
        trace_.note({"lost", file_.name, std::to_string(more) + " events were discarded by the tracer", more,
                     seen_packet_ ? last_end_ : begins, ends});
      discarded_ = total;
    }
    seen_packet_ = true;
    last_end_ = ends;
  }

  void drop_packet(const char* why) {
    corrupt("packet " + std::to_string(packet_) + " is broken at byte " + std::to_string(next_packet_ + pos_ / 8) +
            " (" + why + "); " + std::to_string(content_ > pos_ ? (content_ - pos_) / 8 : 0) + " bytes are left out");
    pos_ = content_;
  }
  void corrupt(const std::string& text) { trace_.note({"corrupt", file_.name, text, 0, t ? t : k_first, k_last}); }

  // ---- events -----------------------------------------------------------------------------------

  int64_t ns(uint64_t cycles) const {
    static const Clock none;
    int c = stream_ ? stream_->clock : -1;
    return (c < 0 ? none : trace_.clocks[static_cast<size_t>(c)]).ns(cycles);
  }

  void advance(uint64_t low, unsigned bits) {
    if (bits >= 64) {
      clock_ = low;
      return;
    }
    uint64_t mask = (uint64_t{1} << bits) - 1;
    uint64_t now = (clock_ & ~mask) | low;
    if (low < (clock_ & mask)) now += mask + 1;
    clock_ = now;
  }

  // False where the packet had nothing but padding left.
  bool header() {
    event_at_ = pos_;
    uint64_t id = 0;
    switch (stream_->kind) {
      case header_compact: {
        align(8);
        if (content_ - pos_ < 32) throw Broken{"an event is cut off"};
        uint32_t word = load<uint32_t>(data_ + pos_ / 8);
        id = word & 31;
        if (id == 31) {
          if (content_ - pos_ < 13 * 8) throw Broken{"an event is cut off"};
          id = load<uint32_t>(data_ + pos_ / 8 + 1);
          clock_ = load<uint64_t>(data_ + pos_ / 8 + 5);
          pos_ += 13 * 8;
        } else {
          advance(word >> 5, 27);
          pos_ += 32;
        }
        break;
      }
      case header_large: {
        align(8);
        if (content_ - pos_ < 48) throw Broken{"an event is cut off"};
        const uint8_t* at = data_ + pos_ / 8;
        id = load<uint16_t>(at);
        if (id == 65535) {
          if (content_ - pos_ < 14 * 8) throw Broken{"an event is cut off"};
          id = load<uint32_t>(at + 2);
          clock_ = load<uint64_t>(at + 6);
          pos_ += 14 * 8;
        } else {
          advance(load<uint32_t>(at + 2), 32);
          pos_ += 48;
        }
        break;
      }
      case header_ops:
        known_[var_event] = false;
        walk(stream_->header.begin, stream_->header.end, nullptr, 0);
        id = known_[var_event] ? vars_[var_event] : 0;
        if (!known_[var_event] && stream_->events.size() == 1) {
          event_ = &stream_->events[0];
          cls = event_->cls;
          t = ns(clock_);
          return true;
        }
        break;
    }
    event_ = stream_->find(id);
    if (!event_) {
      unknown_ = "an event with the unknown id " + std::to_string(id);
      throw Broken{unknown_.c_str()};
    }
    cls = event_->cls;
    t = ns(clock_);
    return true;
  }

  // ---- fields -----------------------------------------------------------------------------------

  void align(unsigned bits) {
    if (bits > 1) pos_ = (pos_ + bits - 1) / bits * bits;
    if (pos_ > content_) throw Broken{"an event is cut off"};
  }
  uint64_t need(uint64_t bits) {
    if (pos_ > content_ || bits > content_ - pos_) throw Broken{"an event is cut off"};
    return pos_;
  }
  uint64_t need_bytes(uint64_t n) {
    if (pos_ & 7) pos_ = (pos_ + 7) / 8 * 8;
    need(n * 8);
    return pos_ / 8;
  }

  uint64_t integer(const Op& op) {
    align(op.align);
    need(op.size);
    bool big = op.flags & flag_big;
    uint64_t v;
    if (!(pos_ & 7) && !(op.size & 7)) {
      v = load_bytes(data_ + pos_ / 8, op.size / 8u, big);
    } else {
      v = big ? bits_big(data_, pos_, op.size) : bits_little(data_, pos_, op.size);
    }
    if (op.flags & flag_reversed) {
      uint64_t r = 0;
      for (unsigned i = 0; i < op.size; ++i) r |= (v >> i & 1) << (op.size - 1 - i);
      v = r;
    }
    pos_ += op.size;
    return v;
  }

  void keep(const Op& op, uint64_t v) {
    if (op.var < 0) return;
    vars_[static_cast<size_t>(op.var)] = v;
    if (op.var < var_first_free) known_[op.var] = true;
  }

  static int target(const Output* out, const Op& op) {
    return out && op.field >= 0 ? out->target(static_cast<size_t>(op.field)) : -1;
  }

  // The fields of the option that a tag chooses.
  void variant(const Op& op, Output* out, int depth) {
    auto tag = static_cast<int64_t>(vars_[op.a]);
    const Choice* chosen = nullptr;
    for (uint32_t c = op.b; c < op.b + static_cast<uint32_t>(op.var); ++c) {
      const Choice& choice = meta_.choices[c];
      if (tag >= choice.low && tag <= choice.high) {
        chosen = &choice;
        break;
      }
    }
    if (!chosen && !(op.flags & flag_signed)) throw Broken{"a variant has no such option"};
    if (chosen) walk(chosen->begin, chosen->end, out, depth + 1);
  }
  // An integer of as many bytes as it needs.
  void varint(const Op& op, Output* out) {
    align(8);
    uint64_t v = 0;
    unsigned shift = 0;
    for (;;) {
      need(8);
      uint8_t byte = data_[pos_ / 8];
      pos_ += 8;
      if (shift < 64) v |= static_cast<uint64_t>(byte & 127) << shift;
      shift += 7;
      if (!(byte & 128)) break;
      if (shift > 140) throw Broken{"an integer has no end"};
    }
    if (op.flags & flag_signed && shift < 64) v = extend_sign(v, shift);
    keep(op, v);
    out_integer(out, op, v);
  }
  void walk(uint32_t at, uint32_t stop, Output* out, int depth) {
    if (depth > 64) throw Broken{"fields are nested too deeply"};
    const Op* ops = meta_.ops.data();
    while (at < stop) {
      const Op& op = ops[at];
      switch (op.kind) {
        case op_integer: {
          uint64_t v = integer(op);
          if (op.flags & flag_signed) v = extend_sign(v, op.size);
          keep(op, v);
          out_integer(out, op, v);
          break;
        }
        case op_time: {
          uint64_t v = integer(op);
          advance(v, op.size);
          keep(op, clock_);
          out_integer(out, op, v);
          break;
        }
        case op_real: {
          uint64_t v = integer(op);
          if (int c = target(out, op); c >= 0) out->real(c, real_of(v, op.size / 8u));
          break;
        }
        case op_string: {
          align(std::max<unsigned>(op.align, 8));
          string(op, out);
          break;
        }
        case op_text:
        case op_text_sequence: {
          uint64_t n = op.kind == op_text ? op.a : vars_[op.a];
          align(op.align);
          sized_text(op, n, out);
          break;
        }
        case op_bytes:
        case op_bytes_sequence: {
          uint64_t n = op.kind == op_bytes ? op.a : vars_[op.a];
          align(op.align);
          const uint8_t* from = take(n);
          if (int c = target(out, op); c >= 0) out->binary(c, {reinterpret_cast<const char*>(from), n});
          break;
        }
        case op_list:
        case op_list_sequence: {
          uint64_t n = op.kind == op_list ? op.a : vars_[op.a];
          list(op, n, out);
          break;
        }
        case op_loop:
        case op_loop_sequence: {
          uint64_t n = op.kind == op_loop ? op.a : vars_[op.a];
          align(op.align);
          for (uint64_t i = 0; i < n; ++i) {
            uint64_t before = pos_;
            walk(at + 1, op.b, nullptr, depth + 1);
            if (pos_ == before) break;  // elements of no size: all are alike
          }
          at = op.b;
          continue;
        }
        case op_variant: variant(op, out, depth); break;
        case op_align: align(op.align); break;
        case op_varint: varint(op, out); break;
        default: throw Broken{"an operation that does not exist"};
      }
      ++at;
    }
  }

  void out_integer(Output* out, const Op& op, uint64_t v) {
    if (int c = target(out, op); c >= 0) out->integer(c, v, op.flags & flag_signed);
  }

  const uint8_t* take(uint64_t bytes) {
    if (pos_ & 7) align(8);
    if (pos_ > content_ || bytes > (content_ - pos_) / 8) throw Broken{"an event is cut off"};
    const uint8_t* from = data_ + pos_ / 8;
    pos_ += bytes * 8;
    return from;
  }

  void string(const Op& op, Output* out) {
    uint64_t left = (content_ - pos_) / 8;
    const uint8_t* from = data_ + pos_ / 8;
    if (op.size <= 1) {
      const void* end = left ? memchr(from, 0, left) : nullptr;
      if (!end) throw Broken{"a string has no end"};
      auto n = static_cast<size_t>(static_cast<const uint8_t*>(end) - from);
      pos_ += (n + 1) * 8;
      if (int c = target(out, op); c >= 0) out->text(c, {reinterpret_cast<const char*>(from), n});
      return;
    }
    uint64_t n = 0;
    for (;; n += op.size) {
      if (left - n < op.size) throw Broken{"a string has no end"};
      if (!load_bytes(from + n, op.size, false)) break;
    }
    pos_ += (n + op.size) * 8;
    if (int c = target(out, op); c >= 0) out->text(c, wide(from, n, op));
  }

  void sized_text(const Op& op, uint64_t n, Output* out) {
    const uint8_t* from = take(n);
    int c = target(out, op);
    if (c < 0) return;
    if (op.size <= 1)
      out->text(c, until_nul(from, n));
    else
      out->text(c, wide(from, n / op.size * op.size, op));
  }

  static std::string wide(const uint8_t* from, uint64_t bytes, const Op& op) {
    std::string s;
    auto put = [&](uint32_t code) {
      if (code < 0x80) {
        s += static_cast<char>(code);
      } else if (code < 0x800) {
        s += {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
      } else if (code < 0x10000) {
        s += {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 63)),
              static_cast<char>(0x80 | (code & 63))};
      } else {
        s += {static_cast<char>(0xF0 | (code >> 18 & 7)), static_cast<char>(0x80 | (code >> 12 & 63)),
              static_cast<char>(0x80 | (code >> 6 & 63)), static_cast<char>(0x80 | (code & 63))};
      }
    };
    for (uint64_t i = 0; i + op.size <= bytes; i += op.size) {
      auto code = static_cast<uint32_t>(load_bytes(from + i, op.size, op.flags & flag_big));
      if (!code) break;
      if (op.size == 2 && code >= 0xD800 && code < 0xDC00 && i + 4 <= bytes) {
        auto low = static_cast<uint32_t>(load_bytes(from + i + 2, 2, op.flags & flag_big));
        if (low >= 0xDC00 && low < 0xE000) {
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
          i += 2;
        }
      }
      put(code);
    }
    return s;
  }

  // Integers of op.size bits, each aligned by op.align.
  void list(const Op& op, uint64_t n, Output* out) {
    align(op.align);
    int c = target(out, op);
    unsigned step = std::max<unsigned>(op.size, 1);
    if (op.align > 1) step = (step + op.align - 1) / op.align * op.align;
    if (n > (content_ - pos_) / std::max<unsigned>(op.size, 1) + 1)
      throw Broken{"a sequence is longer than its packet"};
    if (!(pos_ & 7) && step == op.size && (op.size == 8 || op.size == 16 || op.size == 32 || op.size == 64)) {
      const uint8_t* from = take(n * (op.size / 8u));
      if (c >= 0) out->list(c, from, n, op.size / 8u, op.flags & flag_signed, op.flags & flag_big);
      return;
    }
    std::vector<uint64_t> values;
    for (uint64_t i = 0; i < n; ++i) {
      uint64_t v = integer(op);
      if (c >= 0) values.push_back(op.flags & flag_signed ? extend_sign(v, op.size) : v);
    }
    if (c >= 0) out->list(c, reinterpret_cast<const uint8_t*>(values.data()), values.size(), 8, false, false);
  }

  Ctf& trace_;
  const Metadata& meta_;
  const DataFile& file_;
  std::vector<uint64_t> vars_;
  bool known_[var_first_free] = {};
  const uint8_t* data_ = nullptr;  // of the packet
  uint64_t next_packet_ = 0, pos_ = 0, content_ = 0, size_ = 0, event_at_ = 0, clock_ = 0;
  int64_t packet_bytes_ = 0;
  size_t forgotten_ = 0;
  uint64_t packet_ = 0, sequence_ = 0, discarded_ = 0;
  int64_t last_end_ = k_first;
  bool seen_packet_ = false, pending_ = false;
  int32_t cpu_ = -1;
  const StreamClass* stream_ = nullptr;
  const Event* event_ = nullptr;
  std::string unknown_;
  const void* prepared_ = nullptr;
  Prepared* ready_ = nullptr;
  const Event* last_event_ = nullptr;
  const std::vector<Put>* last_puts_ = nullptr;
};

}  // namespace

std::vector<std::unique_ptr<Lane>> Ctf::lanes() {
  std::vector<std::unique_ptr<Lane>> all;
  done = 0;
  uint64_t bytes = 0;
  for (auto& meta : traces)
    for (auto& file : meta.files) {
      bytes += file.file->size();
      all.push_back(std::make_unique<CtfLane>(*this, meta, file));
    }
  total = bytes;
  return all;
}

void Ctf::prepare(Output& out) {
  auto ready = std::make_shared<Prepared>();
  for (auto& meta : traces)
    for (auto& stream : meta.streams)
      for (auto& e : stream.events) {
        if (!out.wanted[e.cls]) continue;
        auto& plan = out.classes[e.cls];
        auto& puts = ready->puts[&e];
        for (auto& f : e.flat) {
          if (f.field < 0) continue;
          for (int c = plan.target[static_cast<size_t>(f.field)]; c >= 0; c = plan.next[static_cast<size_t>(c)]) {
            Type type = out.schema[static_cast<size_t>(c)].type.type;
            size_t width = type == Type::u8 || type == Type::i8     ? 1
                           : type == Type::u16 || type == Type::i16 ? 2
                           : type == Type::u32 || type == Type::i32 ? 4
                           : type == Type::u64 || type == Type::i64 ? 8
                                                                    : 0;
            bool plain = f.kind == op_integer && width == f.width && !(f.flags & (flag_big | flag_reversed));
            puts.push_back({f.offset, f.width, plain, c, &f});
          }
        }
      }
  out.prepared = std::move(ready);
}

}  // namespace ctf
}  // namespace dt::kernel
