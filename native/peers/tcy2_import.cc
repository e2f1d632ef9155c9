// From a trace of the Graphics Quality Analysis Toolkit (file version TCY2) to one of ours: its events by name, arrays
// from its phrases, objects as handles. The layout of such files was published with the toolkit: little-endian tokens,
// big ones `u8 id, u32 length, body`, small ones (bit 7 of the id) `u8 id, u32 value`.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "../common/json.h"
#include "../core/error.h"
#include "import.h"
#include "trace_writer.h"

namespace dt::peers {
namespace {

enum : uint8_t {
  DEFINE = 1,
  EVENT = 2,
  VALUE = 3,
  BEGIN_OBJECT = 4,
  API = 0x80,
  DURATION = 0x81,
  END_OBJECT = 0x82,
  SMALL = 0x80
};
enum : uint8_t {
  VOID = 0,
  BYTE = 1,
  SHORT = 2,
  INTEGER = 3,
  LONG = 4,
  FLOAT = 5,
  DOUBLE = 6,
  OBJECT = 7,
  PHRASE = 0x80
};
constexpr uint32_t MOST_PHRASE = 1u << 28;
constexpr uint64_t MOST_HELD = UINT64_C(1) << 31;  // such traces are of devices with less
// of memory that arrays had
constexpr uint64_t FIRST_ADDRESS = UINT64_C(0x100000000), ADDRESS_STEP = UINT64_C(0x10000000);

struct Phrase {
  uint8_t type = VOID;
  uint32_t class_name = 0, space = 0;
  std::string data;
  uint64_t address = 0;
};
struct Value {
  uint32_t name = 0;
  uint8_t type = VOID;
  std::string data;
};
struct Event {
  bool there = false;
  uint32_t name = 0, seq = 0, time = 0, duration = 0;
  std::vector<Value> values;
};

template <class T> T load(std::string_view s, size_t at = 0) {
  T v{};
  if (s.size() >= at + sizeof v) memcpy(&v, s.data() + at, sizeof v);
  return v;
}

class Import {
 public:
  explicit Import(const dt_import& options) : options_(options), writer_(options.level, DT_TIMING_BOTH) {
    file_.open(options.input, std::ios::binary);
    char magic[4] = {};
    if (!file_ || !file_.read(magic, 4))
      throw Error(DT_E_IO, "it cannot be read, or is shorter than its first four bytes");
    if (memcmp(magic, "TCY2", 4)) throw Error(DT_E_FORMAT, "it does not begin with TCY2");
    writer_.read_signatures(options.signatures);
    for (const FunctionSignature& f : writer_.signatures().functions())
      if (f.id < DT_FN_FIRST_TAP) by_name_.emplace(f.name, &f);
    memory_ = writer_.signatures().function(DT_FN_MEMORY);
    JsonObject about;
    about.put("kind", "recording").put("imported_from", "TCY2").put("program", options.input);
    const std::string error = writer_.create(options.output, about.str());
    if (!error.empty()) throw Error(DT_E_IO, error);
  }

  std::string run() {
    std::string damage;
    try {
      while (token()) {}
    } catch (const Error& e) {
      damage = e.what();
    }
    emit();
    JsonObject end;
    end.put("kind", "end").put("reason", "imported").put("calls", calls_);
    writer_.finish_import(end.str(), options_.output);
    std::vector<std::string> notes;
    for (auto& [text, count] : notes_) notes.push_back(count > 1 ? text + " (" + std::to_string(count) + ")" : text);
    JsonObject answer;
    answer.put("calls", calls_).put("tap_records", memories_).put("unknown_functions", unknown_.size());
    answer.values("notes", notes).put("damage", damage.empty() ? nullptr : damage.c_str());
    return answer.str();
  }

 private:
  bool token() {
    uint8_t head[5];
    file_.read(reinterpret_cast<char*>(head), 5);
    if (!file_.gcount()) return false;
    if (file_.gcount() < 5) throw Error(DT_E_FORMAT, "the file ends inside a token");
    uint32_t length = load<uint32_t>({reinterpret_cast<char*>(head), 5}, 1);
    uint8_t id = head[0];
    if (id & SMALL) {
      if (id == DURATION)
        event_.duration = length;
      else if (id == END_OBJECT)
        in_object_ = false;
      else if (id != API)
        ++notes_["tokens of an unknown kind were left out"];
      return true;
    }
    if (length > MOST_PHRASE)
      throw Error(DT_E_FORMAT, "a token of " + std::to_string(length) + " bytes is too large to be true");
    body_.resize(length);
    file_.read(body_.data(), length);
    if (static_cast<uint32_t>(file_.gcount()) < length) throw Error(DT_E_FORMAT, "the file ends inside a token");
    switch (id) {
      case DEFINE: define(); break;
      case EVENT:
        emit();
        event_ = {};
        event_.there = true;
        event_.name = load<uint32_t>(body_), event_.seq = load<uint32_t>(body_, 4),
        event_.time = load<uint32_t>(body_, 8);
        break;
      case VALUE:
        if (in_object_ || !event_.there || length < 5) break;
        event_.values.push_back({load<uint32_t>(body_), load<uint8_t>(body_, 4), body_.substr(5)});
        break;
      case BEGIN_OBJECT: in_object_ = true; break;
      default: ++notes_["tokens of an unknown kind were left out"];
    }
    return true;
  }

  void define() {
    if (body_.size() < 9) throw Error(DT_E_FORMAT, "a definition is cut off");
    uint32_t id = load<uint32_t>(body_), size = load<uint32_t>(body_, 4);
    uint8_t type = load<uint8_t>(body_, 8);
    size_t at = type == OBJECT ? 17 : 9;
    if (body_.size() < at || size > MOST_PHRASE || size < body_.size() - at)
      throw Error(DT_E_FORMAT, "a definition has sizes that make no sense");
    Phrase& p = phrases_[id];
    held_ += size;
    held_ -= p.data.size();
    if (held_ > MOST_HELD) throw Error(DT_E_FORMAT, "its arrays are larger than can be true");
    p.type = type;
    if (type == OBJECT) p.class_name = load<uint32_t>(body_, 9), p.space = load<uint32_t>(body_, 13);
    p.data.assign(body_, at);
    p.data.resize(size);  // zeros at the end may have been cut
  }

  std::string text(uint32_t id) const {
    auto it = phrases_.find(id);
    if (!id || it == phrases_.end()) return "";
    return it->second.data.c_str();
  }

  // Objects of a class as numbers that differ from the numbers of other classes.
  uint64_t handle(uint32_t class_name, uint32_t space, uint32_t id, bool wide) {
    if (!id || !wide) return id;
    auto [it, fresh] = classes_.try_emplace(text(class_name), classes_.size() + 1);
    return static_cast<uint64_t>(it->second) << 40 | static_cast<uint64_t>(space & 0xff) << 32 | id;
  }

  uint64_t address(uint32_t phrase) {
    Phrase& p = phrases_[phrase];
    if (!p.address) p.address = FIRST_ADDRESS + ADDRESS_STEP * addresses_++;
    return p.address;
  }

  static uint64_t number(const Value& v, std::string_view kind) {
    double real = 0;
    bool is_real = false;
    int64_t whole = 0;
    switch (v.type) {
      case BYTE: whole = load<uint8_t>(v.data); break;
      case SHORT: whole = load<int16_t>(v.data); break;
      case INTEGER: whole = load<int32_t>(v.data); break;
      case LONG: whole = load<int64_t>(v.data); break;
      case FLOAT: real = load<float>(v.data), is_real = true; break;
      case DOUBLE: real = load<double>(v.data), is_real = true; break;
      default: break;
    }
    if (kind == "f32" || kind == "f64") {
      if (!is_real) real = static_cast<double>(whole);
      return kind == "f32" ? std::bit_cast<uint32_t>(static_cast<float>(real)) : std::bit_cast<uint64_t>(real);
    }
    return is_real ? static_cast<uint64_t>(static_cast<int64_t>(real)) : static_cast<uint64_t>(whole);
  }

  // The bytes of an array as our signature has its elements.
  std::string content(const Phrase& p, const ContentSignature& c) {
    if (c.element == "strings") {
      std::string one = p.data.c_str();
      auto size = static_cast<uint32_t>(one.size());
      return std::string(reinterpret_cast<char*>(&size), 4) + one;
    }
    if (c.element == "char") return p.data.c_str();
    bool wide = c.element == "ptr" || c.element == "u64" || c.element == "i64" || c.element == "attribs64";
    if (p.type == OBJECT || (wide && p.type == INTEGER)) {
      std::string out;
      for (size_t at = 0; at + 4 <= p.data.size(); at += 4) {
        uint64_t v = p.type == OBJECT ? handle(p.class_name, p.space, load<uint32_t>(p.data, at), wide)
                                      : static_cast<uint64_t>(load<int32_t>(p.data, at));
        out.append(reinterpret_cast<char*>(&v), wide ? 8 : 4);
      }
      return out;
    }
    return p.data;
  }

  void emit() {
    if (!event_.there) return;
    event_.there = false;
    std::string name = text(event_.name);
    auto it = by_name_.find(name);
    if (it == by_name_.end()) {
      unknown_.insert(name.empty() ? "?" : name);
      ++notes_["calls of functions that are not known here were left out, among them " + (name.empty() ? "?" : name)];
      return;
    }
    const FunctionSignature& f = *it->second;
    record_.begin(f);
    kept_.clear();
    bool draws = f.flags.find("draw") != f.flags.npos && f.flags.find("draw_setup") == f.flags.npos;
    bool sets_up = f.flags.find("draw_setup") != f.flags.npos;
    std::string unit;
    size_t position = 0;
    for (const Value& v : event_.values) {
      std::string called = text(v.name);
      const ValueSignature* p = nullptr;
      if (called.empty()) {
        p = f.result ? &*f.result : nullptr;
      } else {
        for (auto& q : f.parameters)
          if (q.name == called) p = &q;
        if (!p && position < f.parameters.size()) p = &f.parameters[position];  // older headers had other names
        ++position;
      }
      if (!p) continue;
      if (v.type & PHRASE) {
        uint32_t id = load<uint32_t>(v.data);
        if (!id) {
          if (sets_up && p->kind == "ptr") arrays_.erase(std::string(f.name) + unit);
          continue;
        }
        uint64_t at = address(id);
        record_.set(p->slot, at);
        const Phrase& phrase = phrases_[id];
        if (p->content && !phrase.data.empty()) {
          kept_.push_back(content(phrase, *p->content));
          record_.set_content(p->content->slot.index, kept_.back());
        } else if (p->content) {
          record_.set_kind(p->content->slot.index, DT_DATA_OFFSET);
        }
        if (sets_up && p->kind == "ptr") arrays_[std::string(f.name) + unit] = id;
        continue;
      }
      if (v.type == OBJECT) {
        record_.set(p->slot, handle(load<uint32_t>(v.data), load<uint32_t>(v.data, 4), load<uint32_t>(v.data, 8),
                                    p->slot.width == 8));
        continue;
      }
      uint64_t n = number(v, p->kind);
      record_.set(p->slot, n);
      if (p->content && n) record_.set_kind(p->content->slot.index, DT_DATA_OFFSET);
      if (sets_up && (called == "index" || called == "indx")) unit = std::to_string(n);
      if (sets_up && p->kind == "ptr") arrays_.erase(std::string(f.name) + unit);
    }
    // Clocks of 32 bits go round after 71 minutes.
    if (calls_ && event_.time + UINT32_C(0x80000000) < last_time_) rounds_ += UINT64_C(1) << 32;
    last_time_ = event_.time;
    uint64_t entry = (rounds_ + event_.time) * 1000 + 1;
    if (draws && memory_ && !memory_->parameters.empty() && memory_->parameters[0].content)
      for (auto& [of, id] : arrays_) {
        const Phrase& phrase = phrases_[id];
        if (phrase.data.empty()) continue;
        extra_.begin(*memory_);
        extra_.set(memory_->parameters[0].slot, address(id));
        extra_.set_content(memory_->parameters[0].content->slot.index, phrase.data);
        writer_.write(0, extra_, entry, DT_NO_DURATION, DT_RECORD_TAP);
        ++memories_;
      }
    uint64_t ns = event_.duration * UINT64_C(1000);
    writer_.write(0, record_, entry, ns < DT_NO_DURATION ? static_cast<uint32_t>(ns) : DT_NO_DURATION, 0);
    ++calls_;
  }

  const dt_import& options_;
  std::ifstream file_;
  TraceWriter writer_;
  std::unordered_map<std::string_view, const FunctionSignature*> by_name_;
  const FunctionSignature* memory_ = nullptr;
  std::unordered_map<uint32_t, Phrase> phrases_;
  std::map<std::string, uint64_t> classes_, notes_;
  std::map<std::string, uint32_t> arrays_;  // of the program's memory that draws read: the phrase, by what set it
  std::set<std::string> unknown_;
  std::deque<std::string> kept_;
  std::string body_;
  Event event_;
  Record record_, extra_;
  bool in_object_ = false;
  uint64_t held_ = 0, calls_ = 0, memories_ = 0, rounds_ = 0, addresses_ = 0;
  uint32_t last_time_ = 0;
};

}  // namespace

std::string import_tcy2(const dt_import& options) { return Import(options).run(); }

}  // namespace dt::peers
