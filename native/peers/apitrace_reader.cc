#include "apitrace_reader.h"

#include <algorithm>
#include <cstring>

namespace dt::peers {
namespace {

// Limits that no sound trace reaches: a file that claims more is damaged, and must not cost memory.
constexpr uint64_t MOST_VERSION = 6;
constexpr size_t MOST_CONTENT = 1u << 30;
constexpr size_t MOST_NAME = 1u << 16;
constexpr size_t MOST_SIGNATURES = 1u << 16;
constexpr size_t MOST_FRAMES = 1u << 22;
constexpr uint64_t MOST_SIGNATURE_BYTES = 256u << 20;
constexpr size_t MOST_NODES = 1u << 24;
constexpr uint64_t MOST_ARGUMENTS = 256;
constexpr unsigned MOST_DEPTH = 32;
constexpr size_t MOST_THREADS = 1u << 12;
// Calls of one thread that may wait for the end of an earlier call: a thread that died never ends its call.
constexpr size_t MOST_UNFINISHED = 64;
constexpr size_t KEEP_BYTES = 1u << 20;

enum : uint8_t { DETAIL_END, DETAIL_ARGUMENT, DETAIL_RESULT, DETAIL_THREAD, DETAIL_BACKTRACE, DETAIL_FLAGS };
enum : uint8_t { FRAME_END, FRAME_MODULE, FRAME_FUNCTION, FRAME_FILE, FRAME_LINE, FRAME_OFFSET };
constexpr uint64_t FLAG_FAKE = 1;

}  // namespace

void ApitraceReader::bad(std::string what) const {
  throw Damage{what + " at byte " + std::to_string(offset()) + " of the uncompressed data"};
}

bool ApitraceReader::fill() {
  if (ended_ || !source_->next(&piece_)) {
    ended_ = true;
    return false;
  }
  at_ = piece_.data();
  end_ = at_ + piece_.size();
  consumed_ += piece_.size();
  return true;
}

uint8_t ApitraceReader::need() {
  const int c = byte();
  if (c < 0) bad("the trace ends inside a call");
  return static_cast<uint8_t>(c);
}

uint64_t ApitraceReader::number() {
  if (__builtin_expect(at_ < end_, 1) && !(*at_ & 0x80)) return static_cast<uint8_t>(*at_++);
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    const uint8_t c = need();
    if (shift < 64) value |= static_cast<uint64_t>(c & 0x7f) << shift;
    if (!(c & 0x80)) return value;
  }
  bad("a number is too long");
}

// A number with its type before it, as enums have them.
int64_t ApitraceReader::typed_number() {
  const uint8_t type = need();
  if (type != static_cast<uint8_t>(Type::sint) && type != static_cast<uint8_t>(Type::uint))
    bad("an enum has no number");
  const uint64_t magnitude = number();
  return static_cast<int64_t>(type == static_cast<uint8_t>(Type::sint) ? 0 - magnitude : magnitude);
}

void ApitraceReader::read(char* to, size_t bytes) {
  while (bytes) {
    if (at_ == end_ && !fill()) bad("the trace ends inside a call");
    const size_t n = std::min(bytes, static_cast<size_t>(end_ - at_));
    memcpy(to, at_, n);
    at_ += n;
    to += n;
    bytes -= n;
  }
}

std::string ApitraceReader::text(size_t most) {
  const uint64_t bytes = number();
  if (bytes > most) bad("a name of " + std::to_string(bytes) + " bytes");
  std::string out(bytes, 0);
  read(out.data(), bytes);
  signature_bytes_ += bytes + 32;
  if (signature_bytes_ > MOST_SIGNATURE_BYTES) bad("too many names");
  return out;
}

uint32_t ApitraceReader::id(size_t most) {
  const uint64_t value = number();
  if (value >= most) bad("a signature number of " + std::to_string(value));
  return static_cast<uint32_t>(value);
}

// The number of a signature. Behind the number of a new one stands its text.
template <class Sig, class Read> uint32_t ApitraceReader::signature(Signatures<Sig>& all, Read&& read) {
  const uint32_t number_ = id(MOST_SIGNATURES);
  if (all.size() <= number_) all.resize(number_ + 1);
  if (all[number_]) return number_;
  auto sig = std::make_unique<Sig>();
  read(*sig);
  all[number_] = std::move(sig);
  return number_;
}

uint32_t ApitraceReader::list_sig(Signatures<ListSig>& all, const char* owner, const char* members) {
  return signature(all, [&](ListSig& sig) {
    sig.name = text(MOST_NAME);
    const uint64_t count = number();
    if (count > MOST_ARGUMENTS) bad(owner + (" with " + std::to_string(count)) + members);
    for (uint64_t i = 0; i < count; i++) sig.members.push_back(text(MOST_NAME));
  });
}

uint32_t ApitraceReader::enum_sig(Signatures<EnumSig>& all) {
  return signature(all, [&](EnumSig& sig) {
    // Before version 3 an enum signature is one name and its value.
    const bool mask = &all == &bitmasks_;
    for (uint64_t n = mask || version >= 3 ? number() : 1; n; n--) {
      std::string name = text(MOST_NAME);
      sig.members.emplace_back(std::move(name), mask ? static_cast<int64_t>(number()) : typed_number());
    }
  });
}

void ApitraceReader::content(Call& call, Node& node) {
  const uint64_t bytes = number();
  if (bytes > MOST_CONTENT - std::min<size_t>(call.bytes.size(), MOST_CONTENT))
    bad("content of " + std::to_string(bytes) + " bytes");
  node.value = call.bytes.size();
  node.sig = static_cast<uint32_t>(bytes);
  // As it comes: a length that is not true costs no memory.
  for (uint64_t done = 0; done < bytes;) {
    if (at_ == end_ && !fill()) bad("the trace ends inside a call");
    const size_t n = std::min<uint64_t>(bytes - done, static_cast<uint64_t>(end_ - at_));
    call.bytes.insert(call.bytes.end(), at_, at_ + n);
    at_ += n;
    done += n;
  }
}

void ApitraceReader::value(Call& call, unsigned depth) {
  if (depth > MOST_DEPTH) bad("values in values in values");
  if (call.nodes.size() >= MOST_NODES) bad("a call with too many values");
  const size_t self = call.nodes.size();
  call.nodes.emplace_back();
  const uint8_t type = need();
  if (type > static_cast<uint8_t>(Type::wstring)) bad("an unknown type of value (" + std::to_string(type) + ")");
  Node node;
  node.type = static_cast<Type>(type);
  uint64_t members = 0;
  switch (node.type) {
    case Type::null:
    case Type::no: break;
    case Type::yes: node.value = 1; break;
    case Type::sint: node.value = 0 - number(); break;
    case Type::uint:
    case Type::opaque: node.value = number(); break;
    case Type::f32: read(reinterpret_cast<char*>(&node.value), 4); break;
    case Type::f64: read(reinterpret_cast<char*>(&node.value), 8); break;
    case Type::string:
    case Type::blob: content(call, node); break;
    case Type::enumerant:
      node.sig = enum_sig(enums_);
      node.value = static_cast<uint64_t>(version >= 3 ? typed_number() : enums_[node.sig]->members[0].second);
      break;
    case Type::bitmask:
      node.sig = enum_sig(bitmasks_);
      node.value = number();
      break;
    case Type::array: members = number(); break;
    case Type::structure:
      node.sig = list_sig(structs_, "a structure", " members");
      members = structs_[node.sig]->members.size();
      break;
    case Type::repr: members = 2; break;
    case Type::wstring: {
      // As UTF-8: nothing here has wide characters of its own.
      node.value = call.bytes.size();
      for (uint64_t n = number(); n; n--) {
        const auto c = static_cast<uint32_t>(number());
        auto put = [&](uint32_t b) { call.bytes.push_back(static_cast<char>(b)); };
        if (c < 0x80)
          put(c);
        else if (c < 0x800)
          put(0xc0 | c >> 6), put(0x80 | (c & 0x3f));
        else if (c < 0x10000)
          put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
        else
          put(0xf0 | (c >> 18 & 7)), put(0x80 | (c >> 12 & 0x3f)), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
        if (call.bytes.size() > MOST_CONTENT) bad("a string that does not end");
      }
      node.sig = static_cast<uint32_t>(call.bytes.size() - node.value);
      break;
    }
  }
  for (uint64_t i = 0; i < members; i++) value(call, depth + 1);
  node.end = static_cast<uint32_t>(call.nodes.size());
  call.nodes[self] = node;
}

void ApitraceReader::backtrace() {
  backtraces++;
  for (uint64_t n = number(); n; n--) {
    const uint32_t frame = id(MOST_FRAMES);
    if (frame < frames_.size() && frames_[frame]) continue;
    if (frames_.size() <= frame) frames_.resize(frame + 1);
    frames_[frame] = true;
    for (uint8_t detail; (detail = need()) != FRAME_END;) {
      if (detail == FRAME_MODULE || detail == FRAME_FUNCTION || detail == FRAME_FILE)
        text(MOST_NAME);
      else if (detail == FRAME_LINE || detail == FRAME_OFFSET)
        number();
      else
        bad("an unknown detail of a stack frame");
    }
  }
}

void ApitraceReader::details(Call& call) {
  for (uint8_t detail; (detail = need()) != DETAIL_END;) {
    switch (detail) {
      case DETAIL_ARGUMENT: {
        const uint64_t index = number();
        if (index >= MOST_ARGUMENTS) bad("argument number " + std::to_string(index));
        if (call.arguments.size() <= index) call.arguments.resize(index + 1, -1);
        call.arguments[index] = static_cast<int32_t>(call.nodes.size());
        value(call, 0);
        break;
      }
      case DETAIL_RESULT:
        call.result = static_cast<int32_t>(call.nodes.size());
        value(call, 0);
        break;
      case DETAIL_THREAD: call.thread = static_cast<uint32_t>(number()); break;
      case DETAIL_BACKTRACE: backtrace(); break;
      case DETAIL_FLAGS: call.fake = number() & FLAG_FAKE; break;
      default: bad("an unknown detail of a call (" + std::to_string(detail) + ")");
    }
  }
}

std::unique_ptr<Call> ApitraceReader::fresh() {
  if (spare_.empty()) return std::make_unique<Call>();
  auto call = std::move(spare_.back());
  spare_.pop_back();
  call->fake = call->left = false;
  call->result = -1;
  call->arguments.clear();
  call->nodes.clear();
  call->bytes.clear();
  if (call->bytes.capacity() > KEEP_BYTES) call->bytes.shrink_to_fit();
  if (call->nodes.capacity() * sizeof(Node) > KEEP_BYTES) call->nodes.shrink_to_fit();
  return call;
}

ApitraceReader::Thread& ApitraceReader::thread(uint32_t id) {
  for (auto& thread : threads_)
    if (thread->id == id) return *thread;
  if (threads_.size() >= MOST_THREADS) bad("too many threads");
  threads_.push_back(std::make_unique<Thread>());
  threads_.back()->id = id;
  return *threads_.back();
}

void ApitraceReader::enter() {
  auto call = fresh();
  call->number = next_number_++;
  call->thread = version >= 4 ? static_cast<uint32_t>(number()) : 0;
  call->function = list_sig(functions_, "a function", " arguments");
  call->arguments.assign(functions_[call->function]->members.size(), -1);
  details(*call);
  Thread& in = thread(call->thread);
  in.calls.push_back(std::move(call));
  if (in.calls.size() > MOST_UNFINISHED) ready_ = &in;
}

void ApitraceReader::leave() {
  const uint64_t number_ = number();
  for (auto& thread : threads_)
    for (auto& call : thread->calls)
      if (call->number == number_ && !call->left) {
        details(*call);
        call->left = true;
        if (thread->calls.front()->left) ready_ = thread.get();
        return;
      }
  // The call was given away unfinished: its end is read over.
  auto call = fresh();
  details(*call);
  spare_.push_back(std::move(call));
}

const Call* ApitraceReader::give() {
  given_ = std::move(ready_->calls.front());
  ready_->calls.pop_front();
  if (ready_->calls.empty() || !(ready_->calls.front()->left || ready_->calls.size() > MOST_UNFINISHED))
    ready_ = nullptr;
  return given_.get();
}

bool ApitraceReader::open() {
  try {
    version = number();
    if (version > MOST_VERSION) bad("version " + std::to_string(version) + " of the format is not known");
    semantic_version = version >= 6 ? number() : version;
    if (version >= 6)
      while (true) {
        std::string name = text(MOST_NAME);
        if (name.empty()) break;
        std::string value = text(1u << 20);
        properties.emplace_back(std::move(name), std::move(value));
      }
    return true;
  } catch (const Damage& d) {
    damage = source_->damage.empty() ? d.what : source_->damage;
    return false;
  }
}

const Call* ApitraceReader::next() {
  if (given_) spare_.push_back(std::move(given_));
  if (ready_) return give();
  try {
    for (int event; damage.empty() && (event = byte()) >= 0;) {
      if (event == 0)
        enter();
      else if (event == 1)
        leave();
      else
        bad("an unknown event (" + std::to_string(event) + ")");
      if (ready_) return give();
    }
  } catch (const Damage& d) {
    if (source_->damage.empty()) damage = d.what;
    // Values of a call that were cut short must not be read.
    for (auto& thread : threads_)
      for (auto& call : thread->calls) {
        auto whole = [&](int32_t node) {
          return node >= 0 && static_cast<size_t>(node) < call->nodes.size() &&
                 call->nodes[static_cast<size_t>(node)].end > static_cast<uint32_t>(node);
        };
        for (int32_t& argument : call->arguments)
          if (!whole(argument)) argument = -1;
        if (!whole(call->result)) call->result = -1;
      }
  }
  if (!source_->damage.empty() && damage.empty()) damage = source_->damage;
  ended_ = true;
  at_ = end_;
  // The calls that are left, in order of their numbers: entered, and never seen to return.
  Thread* first = nullptr;
  for (auto& thread : threads_)
    if (!thread->calls.empty() && (!first || thread->calls.front()->number < first->calls.front()->number))
      first = thread.get();
  if (!first) return nullptr;
  ready_ = first;
  return give();
}

}  // namespace dt::peers
