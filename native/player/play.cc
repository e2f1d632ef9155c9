#include "play.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "../core/text.h"
#include "../runtime/frame_image.h"
#include "../runtime/sizes.h"
#include "attachments.h"
#include "buffers.h"
#include "image.h"
#include "lists.h"
#include "metrics/session.h"
#include "objects.h"
#include "query.h"
#include "watched.h"
#include "windows.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dt::play {

extern Player* g_player;

bool g_again;
Lists g_lists;

namespace {

using metrics::g_session;

constexpr size_t SCRATCH = 1 << 20;
constexpr int64_t LARGEST_OUTPUT = 1ll << 30;
constexpr int64_t MOST_UNKNOWN_NAMES = 1 << 16, MOST_RANGE = 1 << 20;  // of names
constexpr size_t SLACK = 4096;  // drivers have been seen to write a little more than asked
constexpr uint64_t BLOB_CACHE = 256ull << 20;
constexpr size_t MOST_FINDINGS = 500;

const char* error_name(uint32_t error) {
  switch (error) {
    case 0: return "no error";
    case 0x0500: return "GL_INVALID_ENUM";
    case 0x0501: return "GL_INVALID_VALUE";
    case 0x0502: return "GL_INVALID_OPERATION";
    case 0x0503: return "GL_STACK_OVERFLOW";
    case 0x0504: return "GL_STACK_UNDERFLOW";
    case 0x0505: return "GL_OUT_OF_MEMORY";
    case 0x0506: return "GL_INVALID_FRAMEBUFFER_OPERATION";
    case 0x0507: return "GL_CONTEXT_LOST";
    case 0x1000: return "VG_BAD_HANDLE_ERROR";
    case 0x1001: return "VG_ILLEGAL_ARGUMENT_ERROR";
    case 0x1002: return "VG_OUT_OF_MEMORY_ERROR";
    case 0x1003: return "VG_PATH_CAPABILITY_ERROR";
    case 0x1004: return "VG_UNSUPPORTED_IMAGE_FORMAT_ERROR";
    case 0x1005: return "VG_UNSUPPORTED_PATH_FORMAT_ERROR";
    case 0x1006: return "VG_IMAGE_IN_USE_ERROR";
    case 0x1007: return "VG_NO_CONTEXT_ERROR";
    default: return "an unknown error";
  }
}

std::vector<uint16_t> g_kinds;                                 // of the trace's functions, where something is measured
std::unordered_map<uint32_t, std::vector<Waiting>> g_waiting;  // by recorded thread
const std::vector<Waiting>* g_ended;                           // those that are played now
}  // namespace

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// ---- names --------------------------------------------------------------------------------------

// The recording began in the middle of the program (a note of the tap's says so).
static bool g_began_late = false;

void Names::set(uint32_t recorded, uint32_t real) {
  if (!recorded) return;
  identity_ = identity_ && recorded == real;
  if (recorded < 1u << 20) {
    if (recorded >= direct_.size()) direct_.resize(std::max<size_t>(recorded + 1ull, direct_.size() * 2));
    direct_[recorded] = real;
  } else {
    far_[recorded] = real;
  }
}
bool Names::has(uint32_t recorded) const {
  return recorded < direct_.size() ? direct_[recorded] != 0 : far_.contains(recorded);
}
bool Names::is_taken(uint32_t real) const {
  for (uint32_t r : direct_)
    if (r == real) return true;
  for (auto& [recorded, r] : far_)
    if (r == real) return true;
  return false;
}
uint32_t Names::slow(uint32_t name) {
  auto it = far_.find(name);
  if (it != far_.end()) return it->second;
  // A name that was generated before the recording, and is an object only from now on, is to be one that exists here.
  const bool generated = g_began_late;
  if (identity_ && !generated) {
    if (name < 1u << 20) set(name, name);  // known from now on
    return name;
  }
  uint32_t real = name;
  if (generated || is_taken(name)) {
    static const char* const makers[CLASS_COUNT] = {"glGenTextures",
                                                    "glGenBuffers",
                                                    "glGenFramebuffers",
                                                    "glGenRenderbuffers",
                                                    "glGenVertexArrays",
                                                    "glGenSamplers",
                                                    "glGenQueries",
                                                    nullptr,
                                                    "glGenProgramPipelines",
                                                    "glGenTransformFeedbacks",
                                                    nullptr,
                                                    "glGenProgramsARB"};
    const char* maker = object_class >= 0 ? makers[object_class] : nullptr;
    auto make = maker ? g_player->gl<void (*)(int32_t, uint32_t*)>(maker) : nullptr;
    if (make) make(1, &real);
  }
  set(name, real);
  return real;
}

const uint32_t* Player::names(int c, const uint32_t* recorded, uint64_t count) {
  Names& table = names_of(c);
  if (!recorded || table.identity()) return recorded;
  auto* out = static_cast<uint32_t*>(scratch(count * 4));
  for (uint64_t i = 0; i < count; ++i) out[i] = table.of(recorded[i]);
  return out;
}

const void* const* Player::pointers(const uint64_t* recorded, uint64_t count) {
  if (!recorded) return nullptr;
  auto* out = static_cast<const void**>(scratch(count * sizeof(void*)));
  for (uint64_t i = 0; i < count; ++i) out[i] = pointer(recorded[i]);
  return out;
}

void* Player::sync(uint64_t recorded) {
  auto it = syncs_.find(recorded);
  return it == syncs_.end() ? nullptr : it->second;
}
void Player::made_sync(uint64_t recorded, void* now) {
  if (recorded) syncs_[recorded] = now;
}
void* Player::image(uint64_t recorded) { return windows_->image(recorded); }
void Player::shares_images() { windows_->shares_images(); }
void Player::made_vg(const Row& w, uint32_t recorded, uint32_t now, const char* function) {
  if (recorded && now && vg_objects()) vg_objects()->set(recorded, now);
  if (recorded && !now)
    report("object", w.seq, function, "nothing was made here, and something was where it was recorded");
}

int32_t Player::location(uint32_t named, int32_t recorded) {
  if (recorded < 0) return recorded;
  Program* p = nullptr;
  if (named == ~0u) {
    p = context->current;
    if (!p) p = context->current = &program(context->program ? context->program : context->pipeline_program);
  } else {
    p = &program(named);
  }
  if (DT_LIKELY(p->locations.empty())) return recorded;
  auto it = p->locations.find(recorded);
  return it == p->locations.end() ? recorded : it->second;
}

uint32_t Player::block(uint32_t named, uint32_t recorded, int kind) {
  auto& blocks = program(named).blocks[kind];
  auto it = blocks.find(recorded);
  return it == blocks.end() ? recorded : it->second;
}

void Player::made(int c, const In& recorded, const uint32_t* now) {
  if (!now || (recorded.kind != DT_DATA_INLINE && recorded.kind != DT_DATA_BLOB)) return;
  Names& table = names_of(c);
  for (uint64_t i = 0; i < recorded.bytes / 4; ++i) {
    uint32_t was;
    memcpy(&was, recorded.data + i * 4, 4);
    if (now[i]) table.set(was, now[i]);
  }
}
void Player::made_one(int c, uint32_t recorded, uint32_t now) {
  if (!recorded || !now) return;
  names_of(c).set(recorded, now);
  if (c == PROGRAM) {
    context->group->programs[now] = {};
    context->current = nullptr;
  }
}
void Player::made_range(int c, uint32_t recorded, uint32_t now, int64_t count) {
  if (!recorded || !now) return;
  for (int64_t i = 0; i < count && i < 1 << 20; ++i)
    names_of(c).set(recorded + static_cast<uint32_t>(i), now + static_cast<uint32_t>(i));
}

// ---- arrays -------------------------------------------------------------------------------------

void* Player::scratch(size_t bytes) {
  size_t at = (scratch_used_ + 15) & ~size_t{15};
  if (scratch_.empty()) scratch_.resize(SCRATCH);
  if (bytes <= scratch_.size() && at <= scratch_.size() - bytes) {
    scratch_used_ = at + bytes;
    return scratch_.data() + at;
  }
  return more_scratch_.emplace_back(bytes + 16).data();
}

void* Player::lasting(int64_t bytes) {
  if (bytes < 0 || bytes > LARGEST_OUTPUT) bytes = 0;
  return context->lasting.emplace_back(static_cast<size_t>(bytes) + SLACK).data();
}

std::shared_ptr<const std::vector<uint8_t>> Player::blob(const Hash128& hash) {
  auto it = blobs_.find(hash);
  if (it != blobs_.end()) {
    blob_order_.splice(blob_order_.begin(), blob_order_, it->second.place);
    return it->second.bytes;
  }
  std::shared_ptr<const std::vector<uint8_t>> bytes;
  try {
    bytes = std::make_shared<const std::vector<uint8_t>>(trace.blob(hash));
  } catch (const std::exception& error) {
    report("content", seq, "", error.what());
    return nullptr;
  }
  blob_bytes_ += bytes->size();
  blob_order_.push_front(hash);
  blobs_[hash] = {bytes, blob_order_.begin()};
  while (blob_bytes_ > BLOB_CACHE && blobs_.size() > 8) {
    auto oldest = blobs_.find(blob_order_.back());
    blob_bytes_ -= oldest->second.bytes->size();
    blobs_.erase(oldest);
    blob_order_.pop_back();
  }
  return bytes;
}

const void* Player::translate(uint64_t recorded) {
  for (auto& s : spans)
    if (recorded >= s.begin && recorded < s.end) return s.data + (recorded - s.begin);
  return reinterpret_cast<const void*>(recorded);
}

In Player::in(const Row& w, int payload, int descriptor, uint64_t value) {
  uint64_t d = w.w8(descriptor);
  In in;
  in.kind = DT_DATA_KIND(d);
  const uint64_t* starts = w.columns->starts[static_cast<size_t>(payload)];
  switch (in.kind) {
    case DT_DATA_INLINE: {
      in.bytes = DT_DATA_LENGTH(d);
      in.data = w.columns->decoded->payload_base + starts[w.i];
      // Content stands unpadded in its column; a driver may expect the alignment that the program's memory had.
      if (reinterpret_cast<uintptr_t>(in.data) & 7 && in.bytes >= 2) {
        void* aligned = scratch(in.bytes + 1);
        memcpy(aligned, in.data, in.bytes);
        in.data = static_cast<uint8_t*>(aligned);
      }
      break;
    }
    case DT_DATA_BLOB: {
      Hash128 hash;
      memcpy(&hash, w.columns->decoded->payload_base + starts[w.i], 16);
      auto bytes = blob(hash);
      if (bytes) {
        in.data = bytes->data();
        in.bytes = bytes->size();
      } else {
        in.kind = DT_DATA_FAULT;
      }
      break;
    }
    case DT_DATA_OFFSET:
      in.data = static_cast<const uint8_t*>(pointer(value));
      if (!spans.empty())
        for (auto& s : spans)
          if (value >= s.begin && value < s.end) {
            in.kind = DT_DATA_INLINE;
            in.bytes = s.end - value;
          }
      break;
    // there is none here, but it is known how much there was
    case DT_DATA_UNKNOWN: in.bytes = DT_DATA_LENGTH(d); break;
    default: break;
  }
  return in;
}

const char* Player::text(const In& in) {
  if (!in.data || (in.kind != DT_DATA_INLINE && in.kind != DT_DATA_BLOB)) return nullptr;
  auto* copy = static_cast<char*>(scratch(in.bytes + 1));
  memcpy(copy, in.data, in.bytes);
  copy[in.bytes] = 0;
  return copy;
}

const char* const* Player::strings(const In& in) {
  if (!in.data || (in.kind != DT_DATA_INLINE && in.kind != DT_DATA_BLOB)) return nullptr;
  size_t n = 0;
  for (uint64_t at = 0; at + 4 <= in.bytes; ++n) {
    uint32_t length;
    memcpy(&length, in.data + at, 4);
    if (length > in.bytes - at - 4) break;
    at += 4ull + length;
  }
  auto** list = static_cast<const char**>(scratch((n + 1) * sizeof(char*)));
  uint64_t at = 0;
  for (size_t i = 0; i < n; ++i) {
    uint32_t length;
    memcpy(&length, in.data + at, 4);
    auto* copy = static_cast<char*>(scratch(length + 1ull));
    memcpy(copy, in.data + at + 4, length);
    copy[length] = 0;
    list[i] = copy;
    at += 4ull + length;
  }
  list[n] = nullptr;
  return list;
}

bool Player::enough_strings(const Row& w, const In& in, int64_t count, const char* name) {
  if (count <= 0) return true;
  int64_t n = 0;
  if (in.data && (in.kind == DT_DATA_INLINE || in.kind == DT_DATA_BLOB))
    for (uint64_t at = 0; at + 4 <= in.bytes; ++n) {
      uint32_t length;
      memcpy(&length, in.data + at, 4);
      if (length > in.bytes - at - 4) break;
      at += 4ull + length;
    }
  if (n >= count) return true;
  report(
      "argument", w.seq, w.columns->function->name,
      std::string(name) + " has " + std::to_string(n) + " strings, " + std::to_string(count) + " are needed; left out");
  ++skipped;
  return false;
}

bool Player::enough_slow(const Row& w, const In& in, int64_t need, int allowed, const char* name) {
  if (in.kind == DT_DATA_NONE && (allowed & NULL_ALLOWED || need <= 0)) return true;
  // An upload whose content was left out has a length; where NULL is allowed, it still makes what it was to fill.
  const bool left_out = in.kind == DT_DATA_UNKNOWN && in.bytes;
  if (left_out && allowed & NULL_ALLOWED) {
    report("argument", w.seq, w.columns->function->name,
           std::string(name) + " was not recorded: the content is undefined");
    return true;
  }
  std::string why;
  if (in.kind == DT_DATA_NONE)
    why = " is NULL";
  else if (left_out)
    why = " was not recorded";
  else if (in.kind == DT_DATA_UNKNOWN)
    why = " was not recorded: no rule said how long it is";
  else if (in.kind == DT_DATA_OFFSET)
    why = " is an offset or an opaque address, which this function does not take";
  else if (in.kind == DT_DATA_FAULT)
    why = " is not in the recording";
  else if (in.kind == DT_DATA_PENDING)
    why = " was not filled when the recording ended";
  else
    why = " has " + std::to_string(in.bytes) + " bytes, " + std::to_string(need) + " are needed";
  report("argument", w.seq, w.columns->function->name, name + why + "; left out");
  ++skipped;
  return false;
}

bool Player::offset_ok(const Row& w, const In&, int64_t bound, const char* name) {
  if (bound) return true;
  report("argument", w.seq, w.columns->function->name,
         std::string(name) + " is an offset, but no buffer is bound; left out");
  ++skipped;
  return false;
}

bool Player::indices_there(const Row& w) {
  constexpr uint32_t TARGET = 0x8893, SIZE = 0x8764;  // GL_ELEMENT_ARRAY_BUFFER, GL_BUFFER_SIZE
  if (!size::bound(TARGET) || in_begin()) return true;
  static const auto get = gl<void (*)(uint32_t, uint32_t, int32_t*)>("glGetBufferParameteriv");
  int32_t bytes = 1;
  if (get) get(TARGET, SIZE, &bytes);
  if (bytes > 0) return true;
  report("argument", w.seq, w.columns->function->name, "the buffer of indices is empty; left out");
  ++skipped;
  return false;
}

// A call that makes names wrote as many as its count says: a count that is larger than what was written is none.
bool Player::names_recorded(const Row& w, const In& in, int64_t bytes, const char* name) {
  bool known = in.kind == DT_DATA_INLINE || in.kind == DT_DATA_BLOB;
  int64_t most = known ? static_cast<int64_t>(in.bytes) : MOST_UNKNOWN_NAMES * 4;
  if (bytes <= most) return true;
  report("argument", w.seq, w.columns->function->name,
         std::to_string(bytes / 4) + " names are asked for in " + name + ", " +
             (known ? std::to_string(most / 4) + " are in the recording" : "none is in the recording") + "; left out");
  ++skipped;
  return false;
}

int64_t Player::names_range(const Row& w, int64_t range) {
  if (range <= MOST_RANGE) return range;
  report("argument", w.seq, w.columns->function->name,
         std::to_string(range) + " names at once are beyond measure; the first " + std::to_string(MOST_RANGE) +
             " are taken");
  return MOST_RANGE;
}

bool Player::room(const Row& w, const In& in, int64_t bytes, int64_t bound, void** out, const char* name) {
  // Where the program gave no address a driver of OpenGL may use ours: not every one of them looks. OpenVG's functions
  // say what NULL means: an error, or an answer that is not wanted and needs no capability.
  if (in.kind == DT_DATA_NONE && (bound || bytes <= 0 || w.columns->function->name.starts_with("vg"))) return true;
  if (in.kind == DT_DATA_OFFSET || bound) {
    if (in.kind == DT_DATA_OFFSET && bound) {
      *out = const_cast<uint8_t*>(in.data);
      return true;
    }
    report("argument", w.seq, w.columns->function->name,
           std::string(name) + (bound ? " is an address, but a buffer is bound; left out"
                                      : " is an offset, but no buffer is bound; left out"));
    ++skipped;
    return false;
  }
  int64_t need = std::max<int64_t>(bytes, static_cast<int64_t>(in.bytes));
  if (need < 0 || need > LARGEST_OUTPUT) {
    report("argument", w.seq, w.columns->function->name,
           std::string(name) + " would take " + std::to_string(need) + " bytes; left out");
    ++skipped;
    return false;
  }
  auto* to = static_cast<uint8_t*>(scratch(static_cast<size_t>(need) + SLACK));
  // What the driver leaves alone (the gaps between rows) must not look like what it wrote.
  if (options.verify && in.data && in.bytes)
    for (uint64_t i = 0; i < in.bytes; ++i) to[i] = static_cast<uint8_t>(~in.data[i]);
  *out = to;
  return true;
}

// ---- checking -----------------------------------------------------------------------------------

void Player::compare(const Row& w, const In& recorded, const void* now, const char* function) {
  if (!options.verify || !now || !recorded.data || (recorded.kind != DT_DATA_INLINE && recorded.kind != DT_DATA_BLOB))
    return;
  auto* is = static_cast<const uint8_t*>(now);
  uint64_t differ = 0, first = 0, same = 0;
  for (uint64_t i = 0; i < recorded.bytes; ++i) {
    if (is[i] == recorded.data[i])
      ++same;
    else if (is[i] != static_cast<uint8_t>(~recorded.data[i])) {
      if (!differ++) first = i;
    }
  }
  // A call that raises an error writes nothing. So it was in the recording, as far as is known: nobody asked.
  if (!differ && !same && recorded.bytes && failed(w.seq, function)) {
    ++uncompared;
    return;
  }
  if (w.columns->function->flags & FLAG_READBACK && draws_are_missing()) {
    ++unseen;
    return;
  }
  ++compared;
  if (!differ && (same || !recorded.bytes)) return;
  ++different;
  if (!differ) return report("read-back", w.seq, function, "nothing was written");
  report("read-back", w.seq, function,
         std::to_string(differ) + " of " + std::to_string(recorded.bytes) + " bytes differ, the first at " +
             std::to_string(first) + after_gap());
}

// Whether the call that was just played raised an error here, which is kept for when the program asks.
bool Player::failed(uint64_t call, const char* function) {
  if (!strncmp(function, "vg", 2)) {
    auto& vg = threads_[running_]->vg;
    uint32_t error = vg ? gl<uint32_t (*)()>("vgGetError")() : 0;
    if (error) errors_.push_back({vg.get(), error, call, function});
    return error;
  }
  if (!context || in_begin() || !context->pending_errors.empty()) return false;
  uint32_t error = gl<uint32_t (*)()>("glGetError")();
  if (error) errors_.push_back({context, error, call, function});
  return error;
}

void Player::compare_answer(const Row& w, const In& recorded, const void* now, uint32_t about, uint32_t query,
                            const char* function) {
  if (!options.verify || !now || !recorded.data || (recorded.kind != DT_DATA_INLINE && recorded.kind != DT_DATA_BLOB))
    return;
  auto* end = g_answers + g_answers_count;
  auto* answer = std::lower_bound(g_answers, end, about, [](const Answer& a, uint32_t v) { return a.pname < v; });
  int32_t what = answer != end && answer->pname == about ? answer->what : -2;
  if (query && what == -2) {
    auto it = query_targets.find(query);
    if (it == query_targets.end() || it->second == 0x88BF || it->second == 0x8E28) what = -1;  // a time
  }
  if (what == -1) {
    ++uncompared;
    return;
  }
  if (what < 0) return compare(w, recorded, now, function);
  // Names of objects are compared as what they are called here.
  std::vector<uint8_t> here(recorded.data, recorded.data + recorded.bytes);
  for (uint64_t i = 0; i + 4 <= here.size(); i += 4) {
    uint32_t name;
    memcpy(&name, &here[i], 4);
    name = names_of(what).of(name);
    memcpy(&here[i], &name, 4);
  }
  if (here.size() % 4) {
    ++uncompared;
    return;
  }
  ++compared;
  if (here.empty() || !memcmp(here.data(), now, here.size())) return;
  ++different;
  report("read-back", w.seq, function, "another object than in the recording");
}

void Player::same_result(const Row& w, uint64_t recorded, uint64_t now, const char* function) {
  if (recorded == now) return;
  char text[80];
  snprintf(text, sizeof text, "0x%llx, in the recording 0x%llx", static_cast<unsigned long long>(now),
           static_cast<unsigned long long>(recorded));
  report("result", w.seq, function, text);
}

// The first error of a context that a question of ours took, where there is one: the context keeps none after it.
bool Player::taken(const void* of, GlError& first) {
  auto own = [&](const GlError& e) { return e.context == of; };
  auto found = std::find_if(errors_.begin(), errors_.end(), own);
  if (found == errors_.end()) return false;
  first = *found;
  std::erase_if(errors_, own);
  return true;
}

void Player::error_result(const Row& w, uint32_t recorded, uint32_t now) {
  if (options.errors && !options.verify) {  // they are all told at the end
    if (now) errors_.push_back({context, now, w.seq, "glGetError"});
    return;
  }
  if (options.verify) {
    if (GlError first; taken(context, first)) {
      now = first.error;
      if (now != recorded)
        report("gl-error", first.call, first.function,
               std::string(error_name(now)) + ", in the recording " + error_name(recorded));
      return;
    }
  }
  if (auto& pending = context->pending_errors; !pending.empty() && !now) {
    now = pending.front();
    pending.erase(pending.begin());
  }
  if (now != recorded)
    report("gl-error", w.seq, "glGetError",
           std::string(error_name(now)) + ", in the recording " + error_name(recorded));
}

void Player::vg_error_result(const Row& w, uint32_t recorded, uint32_t now) {
  GlError first{nullptr, now, w.seq, "vgGetError"};
  taken(threads_[running_]->vg.get(), first);
  if (first.error != recorded)
    report("vg-error", first.call, first.function,
           std::string(error_name(first.error)) + ", in the recording " + error_name(recorded));
}

void Player::check_error(const char* function) {
  if (in_begin() || !context) return;
  static const auto get = gl<uint32_t (*)()>("glGetError");
  uint32_t error = get();
  if (error) errors_.push_back({context, error, seq, function});
}

void Player::refuse(const Row& w, const char* function, const char* why) {
  report("skipped", w.seq, function, why);
  ++skipped;
}

void Player::report(std::string kind, uint64_t call, std::string function, std::string text) {
  if (g_again) return;
  auto key = std::make_tuple(kind, function, text);
  auto it = findings_.find(key);
  if (it != findings_.end()) {
    ++it->second.count;
    return;
  }
  if (findings_.size() >= MOST_FINDINGS) {
    if (findings_.size() > MOST_FINDINGS) return;
    kind = "more";
    text = "there are more than these";
    function.clear();
    key = std::make_tuple(kind, function, text);
  }
  findings_[key] = Finding{kind, function, text, call, 1};
}

// ---- client memory ------------------------------------------------------------------------------

Shadow::~Shadow() {
  for (auto& [number, at] : regions_) munmap(at, 2 * REGION);
}

uint8_t* Shadow::region(uint64_t number, bool make) {
  if (number == last_) return last_at_;
  auto it = regions_.find(number);
  if (it == regions_.end()) {
    if (!make || regions_.size() >= MOST_REGIONS) return nullptr;
    void* at = mmap(nullptr, 2 * REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return nullptr;
    it = regions_.emplace(number, static_cast<uint8_t*>(at)).first;
  }
  last_ = number;
  return last_at_ = it->second;
}

uint8_t* Shadow::at(uint64_t address) {
  uint8_t* base = region(address / REGION, true);
  return base ? base + address % REGION : nullptr;
}

bool Shadow::write(uint64_t address, const void* data, uint64_t bytes) {
  uint64_t number = address / REGION, offset = address % REGION;
  if (bytes > REGION) return false;
  uint8_t* base = region(number, true);
  if (!base) return false;
  memcpy(base + offset, data, bytes);
  // An array that begins in the region before sees it behind its end; one that begins in the next one sees the rest
  // there.
  if (number)
    if (uint8_t* before = region(number - 1, false))
      memcpy(before + REGION + offset, data, std::min(bytes, REGION - offset));
  if (offset + bytes > REGION)
    if (uint8_t* next = region(number + 1, true))
      memcpy(next, static_cast<const uint8_t*>(data) + (REGION - offset), offset + bytes - REGION);
  return true;
}

bool Shadow::holds(uint64_t pointer, __int128 begin, __int128 end) {
  __int128 base = static_cast<__int128>(pointer / REGION * REGION);
  return begin >= base && end <= base + 2 * REGION && region(pointer / REGION, false);
}

uint64_t Shadow::recorded(const void* at) const {
  auto* p = static_cast<const uint8_t*>(at);
  for (auto& [number, base] : regions_)
    if (p >= base && p < base + 2 * REGION) return number * REGION + static_cast<uint64_t>(p - base);
  return reinterpret_cast<uint64_t>(at);
}

// False: the draw would read memory that the recording does not have.
bool Player::client_arrays(Thread*, const Row& w) {
  if (DT_LIKELY(!missing_memory)) return true;
  missing_memory = false;
  if (!needed_begin && !needed_end) {
    report("argument", w.seq, w.columns->function->name, "it is not known what the draw reads; left out");
    ++skipped;
    return false;
  }
  char text[128];
  snprintf(text, sizeof text, "vertices at 0x%llx-0x%llx are not in the recording; left out",
           static_cast<unsigned long long>(needed_begin), static_cast<unsigned long long>(needed_end));
  report("argument", w.seq, w.columns->function->name, text);
  ++skipped;
  return false;
}

void Player::memory(const FunctionColumns& c, uint32_t row) {
  const Field* f = c.function ? field_of(*c.function, "address") : nullptr;
  if (!f || !f->has_data()) return;
  uint64_t address = c.raw(*f, row), d = c.descriptor(*f, row);
  std::shared_ptr<const std::vector<uint8_t>> keep;
  std::string_view bytes;
  if (DT_DATA_KIND(d) == DT_DATA_INLINE)
    bytes = c.payload(*f, row);
  else if (DT_DATA_KIND(d) == DT_DATA_BLOB && (keep = blob(c.hash(*f, row))))
    bytes = {reinterpret_cast<const char*>(keep->data()), keep->size()};
  if (bytes.empty() || address + bytes.size() < address) return;
  if (!shadow.write(address, bytes.data(), bytes.size()))
    return report("memory", seq, "dtapMemory", "there is no room for memory of the program");
  spans.push_back({address, address + bytes.size(), shadow.at(address)});
}

void Player::map_write(const FunctionColumns& c, uint32_t row) {
  const Function* f = c.function;
  const Field *offset = f ? field_of(*f, "offset") : nullptr, *data = f ? field_of(*f, "data") : nullptr,
              *buffer = f ? field_of(*f, "buffer") : nullptr;
  if (!offset || !data || !buffer || !data->has_data() || !context) return;
  uint64_t d = c.descriptor(*data, row);
  std::shared_ptr<const std::vector<uint8_t>> keep;
  std::string_view bytes;
  if (DT_DATA_KIND(d) == DT_DATA_INLINE)
    bytes = c.payload(*data, row);
  else if (DT_DATA_KIND(d) == DT_DATA_BLOB && (keep = blob(c.hash(*data, row))))
    bytes = {reinterpret_cast<const char*>(keep->data()), keep->size()};
  uint32_t name = this->name(BUFFER, static_cast<uint32_t>(c.raw(*buffer, row)));
  auto it = context->group->maps.find(name);
  if (it == context->group->maps.end()) return report("map", seq, "dtapMapWrite", "the buffer is not mapped here");
  auto from = static_cast<int64_t>(c.raw(*offset, row));
  int64_t at = from < it->second.offset ? -1 : from - it->second.offset;
  if (at < 0 || at > it->second.bytes || static_cast<int64_t>(bytes.size()) > it->second.bytes - at)
    return report("map", seq, "dtapMapWrite", "bytes outside of the mapping");
  memcpy(it->second.at + at, bytes.data(), bytes.size());
}

// ---- frames -------------------------------------------------------------------------------------

// Which frames have no draws because the recorder could not keep up: each has a note behind the call that ends it.
void Player::find_gaps() {
  for (size_t i = 0; i < trace.calls_chunks.size(); ++i) {
    auto& functions = trace.calls_chunks[i].functions;
    const auto f =
        static_cast<size_t>(std::find_if(functions.begin(), functions.end(),
                                         [](auto& e) { return e.function == (DT_FN_NOTE | DT_RECORD_TAP); }) -
                            functions.begin());
    if (f == functions.size()) continue;
    try {
      OpenChunk open(trace, i);
      const FunctionColumns& c = open.columns(f);
      const Field* code = c.function ? field_of(*c.function, "code") : nullptr;
      if (!code || !code->has_data()) continue;
      auto& records = open.records_of(f);
      for (uint32_t row = 0; row < records.size(); ++row) {
        if (DT_DATA_KIND(c.descriptor(*code, row)) != DT_DATA_INLINE || c.payload(*code, row) != "frame-dropped")
          continue;
        const uint32_t call = open.record_calls()[records[row]];
        const auto at =
            std::lower_bound(ends_.begin(), ends_.end(), call ? trace.seq_of(i, call - 1) : trace.seq_before(i));
        gaps_.push_back(static_cast<uint64_t>(at - ends_.begin()));
      }
    } catch (const std::exception&) {  // said when the chunk itself is played
    }
  }
  std::sort(gaps_.begin(), gaps_.end());
}

// What is recorded of this frame's pictures cannot be seen here.
bool Player::draws_are_missing() const { return std::binary_search(gaps_.begin(), gaps_.end(), frame_); }

std::string Player::after_gap() const {
  return gaps_.empty() || gaps_.front() > frame_ ? "" : "; draws of frames before it were not recorded";
}

// What the recorder said of its recording that decides how much of the picture can be right.
void Player::note(const FunctionColumns& c, uint32_t row) {
  const Field *code = c.function ? field_of(*c.function, "code") : nullptr,
              *text = c.function ? field_of(*c.function, "text") : nullptr;
  if (!code || !text || !code->has_data() || !text->has_data()) return;
  if (DT_DATA_KIND(c.descriptor(*code, row)) != DT_DATA_INLINE ||
      DT_DATA_KIND(c.descriptor(*text, row)) != DT_DATA_INLINE)
    return;
  const std::string_view word = c.payload(*code, row);
  if (word == "began-late")
    g_began_late = true, report("recording", seq, "", std::string(c.payload(*text, row)));
  else if (word == "not-taken")
    report("recording", seq, "", "not in the recording: " + std::string(c.payload(*text, row)));
  else if (word == "frame-dropped")
    report("recording", seq, "", "the draws of a frame were not recorded, since the recorder could not keep up");
}

void Player::native(const FunctionColumns& c, uint32_t row) {
  if (!c.function) return;
  const Field *handle = field_of(*c.function, "handle"), *kind = field_of(*c.function, "kind"),
              *text = field_of(*c.function, "text");
  if (!handle || !kind || !text || !kind->has_data() || !text->has_data()) return;
  std::string_view name = c.payload(*kind, row);
  if (DT_DATA_KIND(c.descriptor(*text, row)) != DT_DATA_INLINE) return;
  if (name == "frame") {
    if (options.verify) hash_frame(c.payload(*text, row));
  } else if (name == "surface" || name == "window") {
    windows_->size_noted(c.raw(*handle, row), parse_attributes(c.payload(*text, row)));
  }
}

bool Player::shown_image(int& width, int& height, std::vector<uint8_t>& pixels) {
  constexpr uint32_t ABGR = 0xC1;  // VG_sABGR_8888: bytes R, G, B, A
  if (windows_->shows_vg(width, height)) {
    auto read = gl<void (*)(void*, int32_t, uint32_t, int32_t, int32_t, int32_t, int32_t)>("vgReadPixels");
    if (!read) return false;
    pixels.assign(static_cast<size_t>(width) * static_cast<size_t>(height) * 4, 0);
    read(pixels.data(), width * 4, ABGR, 0, 0, width, height);
    return true;
  }
  GlContext* c = tls.context;
  gl::FrameImage image{0, 0, 0};
  if (c) windows_->drawable_size(image.width, image.height);
  if (!c || !context || !gl::frame_extent(c, &image)) return false;
  width = image.width, height = image.height;
  pixels.resize(static_cast<size_t>(width) * static_cast<size_t>(height) * 4);
  gl::read_frame(c, image, pixels.data());
  return true;
}

void Player::hash_frame(std::string_view text) {
  Text about = parse_attributes(text);
  int vg_width, vg_height;
  if (!((tls.context && context) || windows_->shows_vg(vg_width, vg_height)) || about["format"] != "rgba8") return;
  if (draws_are_missing()) {
    ++unseen;
    return;
  }
  struct {
    int width = 0, height = 0;
  } image;
  std::vector<uint8_t> pixels;
  ++compared;
  if (!shown_image(image.width, image.height, pixels)) {
    ++different;
    return report("frame", seq, "", "there is no image to compare with the frame's");
  }
  XXH128_hash_t h = XXH3_128bits(pixels.data(), pixels.size());
  std::string hash = hash_text({h.low64, h.high64});
  bool same = std::to_string(image.width) == about["width"] && std::to_string(image.height) == about["height"] &&
              hash == about["hash"];
  if (same) return;
  ++different;
  report("frame", seq, "",
         "frame " + std::to_string(frame_) + " is another image than the program showed (" +
             std::to_string(image.width) + " x " + std::to_string(image.height) + ", recorded " + about["width"] +
             " x " + about["height"] + ")" +
             (windows_->got_late_size() ? "; the window got this size while the frame was drawn" : "") + after_gap());
}

bool Player::save_frame(uint64_t frame, const std::string& path) {
  struct {
    int width = 0, height = 0;
  } image;
  std::vector<uint8_t> pixels;
  if (!shown_image(image.width, image.height, pixels)) {
    report("image", seq, "", "there is no image to read back here");
    return false;
  }
  if (options.hashes) {
    XXH128_hash_t h = XXH3_128bits(pixels.data(), pixels.size());
    if (status_)
      fprintf(
          status_,
          "{\"kind\": \"frame\", \"frame\": %llu, \"call\": %llu, \"width\": %d, \"height\": %d, \"hash\": \"%s\"}\n",
          static_cast<unsigned long long>(frame), static_cast<unsigned long long>(seq), image.width, image.height,
          hash_text({h.low64, h.high64}).c_str());
  }
  if (path.empty()) return true;
  if (!write_image(path, pixels, image.width, image.height)) {
    report("image", seq, "", path + " cannot be written");
    return false;
  }
  if (status_)
    fprintf(status_, "{\"kind\": \"image\", \"frame\": %llu, \"call\": %llu, \"path\": %s}\n",
            static_cast<unsigned long long>(frame), static_cast<unsigned long long>(seq), json_text(path).c_str());
  return true;
}

// ---- points -------------------------------------------------------------------------------------

FILE* Player::states() {
  if (!states_)
    states_ = options.query_file.empty() || options.query_file == "-" ? stdout : fopen(options.query_file.c_str(), "w");
  if (!states_) {
    report("state", seq, "", options.query_file + " cannot be written");
    states_ = stdout;
  }
  return states_;
}

void Player::do_point(const Point& point) {
  switch (point.what) {
    case Point::STATE: {
      FILE* to = point.target.empty() ? states() : fopen(point.target.c_str(), "w");
      if (!to) return report("state", point.seq, "", point.target + " cannot be written");
      query_state(*this, point.seq, point.path.c_str(), to);
      if (to != states_) fclose(to);
      return;
    }
    case Point::IMAGE: save_frame(frame_, point.target); return;
    case Point::SNAPSHOT: return snapshot(point.target, point.seq);
    case Point::OBJECT: return save_object(point);
  }
}

void Player::keep_errors() {
  static const auto get = gl<uint32_t (*)()>("glGetError");
  if (!context || in_begin() || !get) return;
  for (int i = 0; i < 8; ++i) {
    uint32_t error = get();
    if (!error) return;
    context->pending_errors.push_back(error);
  }
}

// Every wanted attachment as a file: BASE.png, BASE-color1.png, BASE-depth.png, BASE-stencil.png; and what is bound of
// buffers, by the program's names: BASE-index-buffer3.bin.
void Player::snapshot(const std::string& base, uint64_t call) {
  int width = 0, height = 0;
  std::vector<std::string> why;
  keep_errors();
  windows_->drawable_size(width, height);
  auto told = [&](const std::string& path) {
    if (status_)
      fprintf(status_, "{\"kind\": \"image\", \"frame\": %llu, \"call\": %llu, \"path\": %s}\n",
              static_cast<unsigned long long>(frame_), static_cast<unsigned long long>(call), json_text(path).c_str());
  };
  for (auto& image : read_attachments(tls.context, options.attachments, width, height, why)) {
    std::string path = base + (image.name.empty() ? "" : "-" + image.name) + "." +
                       (image.bytes == 4 ? options.snapshot_format : "png");
    if (!write_image(path, image.pixels, image.width, image.height, image.bytes))
      report("image", call, "", path + " cannot be written");
    else
      told(path);
  }
  if (options.attachments & WANT_BUFFERS) {
    std::unordered_map<uint32_t, uint32_t> recorded;
    if (context && !names_of(BUFFER).identity())
      names_of(BUFFER).each([&](uint32_t then, uint32_t now) { recorded.emplace(now, then); });
    for (auto& buffer : read_buffers(tls.context, why)) {
      auto it = recorded.find(buffer.name);
      std::string path = base + "-" + buffer.use + "-buffer" +
                         std::to_string(it == recorded.end() ? buffer.name : it->second) + ".bin";
      FILE* to = fopen(path.c_str(), "wb");
      bool good = to && fwrite(buffer.bytes.data(), 1, buffer.bytes.size(), to) == buffer.bytes.size();
      if (to && fclose(to)) good = false;
      good ? told(path) : report("image", call, "", path + " cannot be written");
    }
  }
  for (auto& text : why) report("image", call, "", text);
}

// One image of an object as a file of bare pixels, and a line that says what they are.
void Player::save_object(const Point& point) {
  ObjectImage wanted;
  parse_object(point.path, wanted);
  keep_errors();
  ObjectContent got = read_object(*this, wanted);
  if (got.why.empty()) {
    FILE* to = fopen(point.target.c_str(), "wb");
    bool good = to && fwrite(got.bytes.data(), 1, got.bytes.size(), to) == got.bytes.size();
    if (to && fclose(to)) good = false;
    if (!good) got.why = point.target + " cannot be written";
  }
  if (!status_) return;
  auto words = [&](const char* name, const std::string& value) {
    fprintf(status_, "\"%s\": %s, ", name, json_text(value).c_str());
  };
  fprintf(status_, "{\"kind\": \"object\", ");
  words("path", point.target);
  words("why", got.why);
  words("lost", got.lost);
  words("type", got.type);
  words("channels", got.channels);
  fprintf(status_, "\"format\": %u, \"width\": %d, \"height\": %d, \"depth\": %d, ", got.format, got.width, got.height,
          got.depth);
  fprintf(status_, "\"bits\": [%d, %d, %d, %d]}\n", got.bits[0], got.bits[1], got.bits[2], got.bits[3]);
}

void Player::snapshot_call() {
  if (snapshots_seen_++ % options.snapshot_every) return;
  if (frame_ < options.first_frame || frame_ >= options.end_frame || loops_done_) return;
  char number[40];
  snprintf(number, sizeof number, "call%09llu", static_cast<unsigned long long>(seq));
  snapshot(options.snapshot_prefix + number, seq);
}

// What is to be done between two calls, the second of which is `seq`.
void Player::pause(bool at_end) {
  if (closed_) {
    left_ = true;
    return;
  }
  if (options.serve) {
    if (waits_ && (at_end || seq > served_.seq)) {
      waits_ = false;
      passed_seq_ = served_.seq;
      do_point(served_);
      if (at_end && passed_seq_ > seq) report("state", served_.seq, "", "the recording ends before");
      answered();
    }
    if (!waits_ && !left_) left_ = !serve(at_end);
    pause_seq_ = waits_ ? served_.seq : UINT64_MAX;
    return;
  }
  auto& points = options.points;
  while (next_point_ < points.size() && (at_end || points[next_point_].seq < seq)) {
    const Point& point = points[next_point_++];
    if (at_end && point.seq > seq)
      report("state", point.seq, "", "the recording ends before");
    else
      do_point(point);
  }
  pause_seq_ = next_point_ < points.size() ? points[next_point_].seq : UINT64_MAX;
  if (at_end && states_) fflush(states_);
}

void Player::answered() {
  for (auto& [key, f] : findings_)
    if (status_ && f.call >= passed_seq_ && (f.kind == "image" || f.kind == "state"))
      fprintf(status_,
              "{\"kind\": \"finding\", \"what\": %s, \"call\": %llu, \"function\": \"\", \"text\": %s, \"count\": 1}\n",
              json_text(f.kind).c_str(), static_cast<unsigned long long>(f.call), json_text(f.text).c_str());
  if (status_) fprintf(status_, "{\"kind\": \"done\", \"call\": %llu}\n", static_cast<unsigned long long>(passed_seq_));
  if (states_) fflush(states_);
  if (status_) fflush(status_);
}

// Takes requests from standard input until one is for a later call; false: there are no more.
//   state CALL PATH<TAB>FILE   image CALL FILE   end
bool Player::serve(bool at_end) {
  char* text = nullptr;
  size_t room = 0;
  bool more = false;
  for (;;) {
    ssize_t n = getline(&text, &room, stdin);
    if (n <= 0) break;
    std::string request(text, static_cast<size_t>(n));
    while (!request.empty() && (request.back() == '\n' || request.back() == '\r')) request.pop_back();
    char word[16] = {};
    unsigned long long call = 0;
    int at = 0;
    if (sscanf(request.c_str(), "%15s %llu%n", word, &call, &at) != 2) break;
    std::string rest = static_cast<size_t>(at) < request.size() ? request.substr(static_cast<size_t>(at) + 1) : "";
    Point point;
    point.seq = call;
    if (!strcmp(word, "image")) {
      point.what = Point::IMAGE;
      point.target = rest;
    } else if (!strcmp(word, "state")) {
      size_t tab = rest.find('\t');
      point.path = rest.substr(0, tab);
      if (tab != rest.npos) point.target = rest.substr(tab + 1);
    } else {
      break;
    }
    if (call < passed_seq_) {
      if (status_) {
        fprintf(status_, "{\"kind\": \"behind\", \"call\": %llu}\n", static_cast<unsigned long long>(passed_seq_));
        fflush(status_);
      }
      continue;
    }
    if (started_points_ && (call < seq || at_end)) {  // where it stands
      passed_seq_ = call;
      do_point(point);
      if (at_end && call > seq) report("state", call, "", "the recording ends before");
      answered();
      continue;
    }
    served_ = point;
    waits_ = more = true;
    break;
  }
  free(text);
  return more;
}

// ---- frames -------------------------------------------------------------------------------------

void Player::frame_end(bool before) {
  bool wanted = frame_ >= options.first_frame && frame_ < options.end_frame;
  if (before) {
    if (wanted && options.snapshots && options.snapshot_at == Options::AT_FRAMES &&
        frame_ % options.snapshot_every == 0) {
      char number[32];
      snprintf(number, sizeof number, "%06llu", static_cast<unsigned long long>(frame_));
      if (g_session) g_session->pause();
      if (options.attachments != WANT_COLOR)
        snapshot(options.snapshot_prefix + number, seq);
      else
        save_frame(frame_, options.snapshot_prefix.empty()
                               ? ""
                               : options.snapshot_prefix + number + "." + options.snapshot_format);
      if (g_session) g_session->resume();
    }
    return;
  }
  ++frame_;
  if (DT_UNLIKELY(g_session != nullptr)) g_session->frame_end(frame_, seq);
  ++frames;
  ++next_end_;
  end_seq_ = next_end_ < ends_.size() ? ends_[next_end_] : UINT64_MAX;
  if (DT_LIKELY(end_seq_ != UINT64_MAX)) windows_->frame_begins(seq, end_seq_);
  double now = now_seconds();
  if (frame_ == options.first_frame && !measured_from_) {
    measured_from_ = now;
    calls_at_start_ = calls;
  } else if (wanted && options.benchmark) {
    frame_times_.push_back(now);
  }
  if (status_ && now - last_progress_ > 0.25) {
    last_progress_ = now;
    fprintf(status_, "{\"kind\": \"progress\", \"calls\": %llu, \"total\": %llu, \"frames\": %llu}\n",
            static_cast<unsigned long long>(seq), static_cast<unsigned long long>(trace.calls),
            static_cast<unsigned long long>(frames));
    fflush(status_);
  }
}

// ---- running ------------------------------------------------------------------------------------

std::shared_ptr<Decoded> Player::chunk() const { return loops_done_ ? nullptr : feed_->shared(); }

void Player::tap_record(Decoded* chunk, uint32_t record, unsigned function) {
  const Columns& c = chunk->columns[chunk->order[record]];
  uint32_t row = chunk->ordinals[record];
  switch (function) {
    case DT_FN_MEMORY: return memory(*c.decoded, row);
    case DT_FN_MAP_WRITE: return map_write(*c.decoded, row);
    case DT_FN_NATIVE: return native(*c.decoded, row);
    case DT_FN_NOTE: return note(*c.decoded, row);
    default: return;
  }
}

// A display list is made that runs at once, too: its calls were only compiled so far.
void Player::list_made(const List& list, Watched& call) {
  if (!list.runs) return;
  if (!*list.cannot) return g_lists.expand(*this, list);
  call.name = "glCallList", call.expanded = true;
  call.refuse(list.cannot);
  g_session->within(call, &call);
  gl<void (*)(uint32_t)>("glCallList")(name(LIST, list.name));
}

void Player::play_alone(Decoded* chunk, uint32_t record, uint64_t number) {
  const uint32_t f = chunk->order[record];
  const uint64_t was = std::exchange(seq, number);
  scratch_used_ = 0;
  more_scratch_.clear();
  g_known[chunk->known[f]].play(*this, {&chunk->columns[f], chunk->ordinals[record], number});
  missing_memory = false;
  seq = was;
}

void Player::execute(Decoded* chunk, uint32_t record) {
  uint32_t f = chunk->order[record];
  int known = chunk->known[f];
  const Columns& columns = chunk->columns[f];
  if (DT_UNLIKELY(known == -1)) return tap_record(chunk, record, chunk->open->info.functions[f].id());
  if (DT_UNLIKELY(g_session != nullptr) && columns.function && context && !g_ended) {
    auto& waiting = g_waiting[chunk->thread];
    uint16_t kind = g_kinds[static_cast<size_t>(columns.function->index)];
    bool begins =
        kind & metrics::Session::BEGIN && g_session->watches() & metrics::Source::WATCH_DRAWS && !g_lists.compiling();
    if (begins || !waiting.empty()) {
      waiting.push_back({Player::chunk(), chunk, record, seq, std::move(spans)});
      spans.clear();
      // What cannot stand there at all comes at least when it should.
      bool over = kind & metrics::Session::END || seq == end_seq_ || known < 0 || !g_known[known].play ||
                  waiting.size() > 1 << 22;
      if (!over) return;
      auto calls = std::move(waiting);
      waiting.clear();
      g_ended = &calls;
      for (auto& w : calls) {
        seq = w.seq;
        spans = w.spans;
        execute(w.chunk, w.record);
      }
      g_ended = nullptr;
      return;
    }
  }
  scratch_used_ = 0;
  if (DT_UNLIKELY(!more_scratch_.empty())) more_scratch_.clear();
  bool ends = seq == end_seq_;
  bool shows = ends && known >= 0 && g_known[known].flags & KNOWN_FRAME_END;
  if (DT_UNLIKELY(!columns.function)) {
    ++skipped_functions_["function " + std::to_string(chunk->open->info.functions[f].id())];
  } else {
    if (ends && columns.function->flags & FLAG_FRAME_END) shows = true;
    if (shows) frame_end(true);
    Recorded recorded{columns.decoded, chunk->ordinals[record]};
    metrics::Session::Happening happening{seq, 0, &Recorded::argument, &recorded};
    auto play = known >= 0 ? g_known[known].play : nullptr;
    bool piece = false, expands = false, runs = false;  // of display lists, see lists.h
    if (DT_UNLIKELY(g_session != nullptr)) {
      happening.kind = g_kinds[static_cast<size_t>(columns.function->index)];
      if (g_session->watches() || g_session->keeps_lists()) {
        Watched watched(*this, *columns.decoded, chunk->ordinals[record], seq);
        Row row{&columns, chunk->ordinals[record], seq};
        happening.seen = &watched;
        if (DT_UNLIKELY(g_lists.compiling()) && !(happening.kind & metrics::Session::LIST_END))
          piece = g_lists.add(watched, {Player::chunk(), chunk, record, seq});
        if (happening.kind & metrics::Session::LIST_BEGIN && context && tls.context) {
          runs = g_session->measures() && watched.number("mode") == 0x1301;  // GL_COMPILE_AND_EXECUTE
          happening.expanded = watched.expanded = runs;
          g_lists.begin(static_cast<uint32_t>(watched.number("list")), runs);
        }
        if (play && context && !(g_known[known].flags & KNOWN_VG) &&
            happening.kind & (metrics::Session::DRAW | metrics::Session::BEGIN)) {
          happening.draw = &watched;
          if (happening.kind & metrics::Session::BEGIN) {
            if (g_ended)
              watched.draws(*g_ended);
            else
              watched.refuse("it does not end");
          } else if (columns.function->name == "glCallList" || columns.function->name == "glCallLists") {
            const List* list = columns.function->name == "glCallList"
                                   ? g_lists.find(static_cast<uint32_t>(watched.number("list")))
                                   : nullptr;
            watched.plays(play, row);
            expands = g_session->measures() && !g_lists.compiling() && g_lists.expands(*this, watched);
            if (expands)
              happening.draw = nullptr, happening.expanded = true;
            else if (list)
              watched.draws(*list);
            else
              watched.refuse(columns.function->name == "glCallList"
                                 ? "a display list draws it that was not seen to be made"
                                 : "several display lists draw it, and one cannot be played call by call");
          } else {
            watched.plays(play, row);
          }
        } else if (play && context && !(g_known[known].flags & KNOWN_VG)) {
          watched.plays(play, row);
        }
        g_session->before(happening);
        if (expands) g_lists.expand(*this, watched);
        happening.seen = nullptr, happening.draw = nullptr;
      } else {
        g_session->before(happening);
      }
    }
    if (DT_LIKELY(play != nullptr)) {
      bool vg = g_known[known].flags & KNOWN_VG;
      if (DT_LIKELY(context != nullptr) || vg) {
        Row row{&columns, chunk->ordinals[record], seq};
        running = g_known[known].name;
        if (DT_UNLIKELY(piece)) g_lists.open_piece(*this);
        if (DT_UNLIKELY(runs))
          gl<void (*)(uint32_t, uint32_t)>("glNewList")(name(LIST, Recorded::argument(&recorded, "list")), 0x1300);
        else if (DT_LIKELY(!expands))
          play(*this, row);
        if (DT_UNLIKELY(piece)) g_lists.close_piece(*this);
        missing_memory = false;
        if (options.snapshots && options.snapshot_at != Options::AT_FRAMES) {
          uint32_t flags = g_known[known].flags;
          if (options.snapshot_at == Options::AT_CALLS || flags & KNOWN_DRAW) snapshot_call();
        }
        if ((options.verify || options.errors) && context && !vg) check_error(g_known[known].name);
        if (DT_UNLIKELY(happening.kind & metrics::Session::LINKS) && !vg) {
          uint32_t program = Recorded::argument(&recorded, "program");
          g_session->linked(name(PROGRAM, program ? program : Recorded::argument(&recorded, "programObj")));
        }
      } else {
        ++skipped;
        ++skipped_functions_["calls without a context"];
      }
    } else if (auto handler = handlers_[static_cast<size_t>(columns.function->index)]) {
      Call call{*columns.function, *columns.decoded, chunk->ordinals[record], seq};
      (windows_.get()->*handler)(call);
    } else if (unplayable_[static_cast<size_t>(columns.function->index)]) {
      ++skipped;
      ++skipped_functions_[columns.function->name];
    }
    if (DT_UNLIKELY(g_session != nullptr)) {
      g_session->after(happening);
      if (happening.kind & metrics::Session::LIST_END && g_lists.compiling()) {
        Watched watched(*this, *columns.decoded, chunk->ordinals[record], seq);
        list_made(*g_lists.end(), watched);
      }
    }
  }
  if (DT_UNLIKELY(!spans.empty())) spans.clear();
  ++calls;
  if (DT_UNLIKELY(ends)) {
    if (!shows) frame_end(true);
    frame_end(false);
  }
}

Player::Player(const Trace& t, const Options& o) : trace(t), options(o) {
  g_player = this;
  if (!options.status_path.empty()) {
    status_ = options.status_path == "-" ? stdout : fopen(options.status_path.c_str(), "a");
    if (!status_) throw Error(DT_E_IO, options.status_path + " cannot be written");
    setvbuf(status_, nullptr, _IOLBF, 0);
  }
  mapping_ = map_functions(trace);
  windows_ = std::make_unique<Windows>(*this);
  for (auto& f : trace.signatures.functions) {
    bool known = true;
    const Mapping& m = mapping_[static_cast<size_t>(f.index)];
    bool generated = m.known >= 0 && g_known[m.known].play;
    handlers_.push_back(generated || m.known == -1 ? nullptr : windows_->handler(f, known));
    unplayable_.push_back(!known);
  }
  ends_ = trace.frames()->ends;
  if (!ends_.empty()) end_seq_ = ends_.front();
  if (options.verify) find_gaps();
  if (g_session) {
    g_session->visit = [this](const void* wanted) {
      return windows_->visit(static_cast<Context*>(const_cast<void*>(wanted)));
    };
    g_session->query_name = [this](uint32_t recorded) { return name(QUERY, recorded); };
    g_session->keep_errors = [this] { keep_errors(); };
    g_kinds.resize(trace.signatures.functions.size());
    for (auto& f : trace.signatures.functions)
      g_kinds[static_cast<size_t>(f.index)] = metrics::Session::kind(f.name, f.flags);
  }
  plain_call_ = !g_session && !options.verify && !options.errors && !options.debug &&
                (!options.snapshots || options.snapshot_at == Options::AT_FRAMES);
  for (size_t i = 0; i < trace.threads.size(); ++i) threads_.push_back(std::make_unique<PlayerThread>());
}

Player::~Player() {
  if (status_ && status_ != stdout) fclose(status_);
  if (states_ && states_ != stdout) fclose(states_);
}

// Whether the record that comes next is not to be played. What belongs to a call is left out with it; what windows are
// like, and where frames end, is known all the same.
bool Player::is_left_out() {
  if (seq / 8 < options.keep.size() && options.keep[seq / 8] >> (seq % 8) & 1) return false;
  uint16_t f = next_chunk_->order[next_record_];
  if (next_chunk_->known[f] == -1) return next_chunk_->open->info.functions[f].id() != DT_FN_NATIVE;
  if (seq == end_seq_) frame_end(false);
  return true;
}

// Fetches the next record into next_chunk_ and next_record_; false: it is over.
bool Player::advance() {
  while (advance_any())
    if (DT_LIKELY(options.keep.empty()) || !is_left_out()) return true;
  return false;
}

bool Player::advance_any() {
  if (DT_UNLIKELY(frame_ >= options.end_frame || seq > options.stop_call)) {
    if (loops_done_ + 1 >= options.loops || kept_.empty()) return false;
  } else if (DT_LIKELY(kept_at_ == 0 && loops_done_ == 0)) {
    if (DT_LIKELY(feed_->next(next_chunk_, next_record_, seq))) {
      if (DT_UNLIKELY(options.loops > 1) && frame_ >= options.first_frame)
        kept_.push_back({feed_->shared(), next_record_, seq});
      return seq <= options.stop_call;
    }
    if (loops_done_ + 1 >= options.loops || kept_.empty()) return false;
  }
  if (loops_done_ == 0 || kept_at_ >= kept_.size() || frame_ >= options.end_frame) {
    if (++loops_done_ >= options.loops) return false;
    if (g_session) g_session->restart();
    kept_at_ = 0;
    frame_ = options.first_frame;
    next_end_ = static_cast<size_t>(options.first_frame);
    end_seq_ = next_end_ < ends_.size() ? ends_[next_end_] : UINT64_MAX;
  }
  Item& item = kept_[kept_at_++];
  next_chunk_ = item.chunk.get();
  next_record_ = item.record;
  seq = item.seq;
  return true;
}

void Player::step_until(uint32_t self) {
  do {
    if (DT_UNLIKELY(options.as_recorded) && next_chunk_->known[next_chunk_->order[next_record_]] != -1) {
      uint64_t ticks = next_chunk_->open->entries()[next_record_];
      if (ticks) {
        int64_t at = trace.clock.ns(ticks);
        if (first_time_ns_ < 0) first_time_ns_ = at;
        double wait = static_cast<double>(at - first_time_ns_) * 1e-9 - (now_seconds() - started_);
        if (wait > 0.0005) std::this_thread::sleep_for(std::chrono::duration<double>(wait));
      }
    }
    const Columns& columns = next_chunk_->columns[next_chunk_->order[next_record_]];
    if (DT_LIKELY(columns.play != nullptr) && DT_LIKELY(seq != end_seq_) && DT_LIKELY(plain_call_) &&
        DT_LIKELY(context != nullptr)) {
      scratch_used_ = 0;
      Row row{&columns, next_chunk_->ordinals[next_record_], seq};
      columns.play(*this, row);
      ++calls;
      missing_memory = false;
      if (DT_UNLIKELY(!spans.empty())) spans.clear();
      if (DT_UNLIKELY(!more_scratch_.empty())) more_scratch_.clear();
    } else {
      execute(next_chunk_, next_record_);
    }
    if (DT_UNLIKELY(g_session != nullptr) && g_session->only_asks() && g_session->answered()) {
      over_ = true;
      return;
    }
    // The whole of it once: nothing to watch for.
    if (DT_LIKELY(straight_) ? DT_UNLIKELY(!feed_->next(next_chunk_, next_record_, seq)) : DT_UNLIKELY(!advance())) {
      over_ = true;
      if (DT_UNLIKELY(pause_seq_ != UINT64_MAX || options.serve)) pause(true);
      return;
    }
    if (DT_UNLIKELY(seq > pause_seq_)) {
      pause(false);
      if (left_) {
        over_ = true;
        return;
      }
    }
  } while (DT_LIKELY(next_chunk_->thread == self));
}

void Player::baton_loop(uint32_t self) {
  std::unique_lock lock(baton_);
  for (;;) {
    handed_.wait(lock, [&] { return over_ || running_ == self; });
    if (over_) break;
    context = threads_[self]->context;
    if (g_session) g_session->enter(context);
    step_until(self);
    if (g_session) g_session->leave();
    if (!over_) {
      running_ = next_chunk_->thread;
      // A recorded thread gets one here when it first has something to play.
      if (running_ != 0 && !threads_[running_]->thread.joinable() && running_ != self)
        threads_[running_]->thread = std::thread([this, to = running_] { baton_loop(to); });
    }
    handed_.notify_all();
    if (over_) break;
  }
  // A context that is still current would be lost with its thread.
  if (tls.context && self != 0) eglReleaseThread();
}

int Player::run() {
  if (trace.threads.empty()) {
    finish();
    return 0;
  }
  feed_ = std::make_unique<Feed>(trace, mapping_, options.preload ? 0 : options.window);
  straight_ =
      options.keep.empty() && options.loops == 1 && options.end_frame == UINT64_MAX && options.stop_call == UINT64_MAX;
  started_ = now_seconds();
  if (!options.first_frame) measured_from_ = started_;
  bool some = advance();
  if (options.serve)
    left_ = !serve(false);
  else if (!options.points.empty())
    pause_seq_ = options.points.front().seq;
  if (waits_) pause_seq_ = served_.seq;
  started_points_ = true;
  if (left_) some = false;
  if (some) {
    if (g_session) g_session->enter(nullptr);
    if (options.single_thread || trace.threads.size() == 1) {
      while (!over_) {
        uint32_t self = next_chunk_->thread;
        if (self != running_) {
          running_ = self;
          windows_->switch_to(*threads_[self]);
        }
        step_until(self);
      }
    } else {
      running_ = next_chunk_->thread;
      if (running_ != 0) threads_[running_]->thread = std::thread([this, to = running_] { baton_loop(to); });
      baton_loop(0);
      for (auto& t : threads_)
        if (t->thread.joinable()) t->thread.join();
      context = nullptr;
    }
  }
  if (options.image_at_call) save_frame(frame_, options.snapshot_prefix);
  if (g_session) g_session->finish(seq, !ends_.empty());
  if (context)
    if (auto wait = gl<void (*)()>("glFinish")) wait();
  ended_ = now_seconds();
  finish();
  return different ? 1 : 0;
}

void Player::finish() {
  for (auto& e : errors_)
    report(e.function.starts_with("vg") ? "vg-error" : "gl-error", e.call, e.function,
           std::string(error_name(e.error)) + "; the program did not ask for errors");
  for (auto& [name, count] : skipped_functions_) {
    report("skipped", 0, name, "not played");
    findings_[std::make_tuple(std::string("skipped"), name, std::string("not played"))].count = count;
  }
  if (feed_)
    for (auto& problem : feed_->problems()) report("damaged", 0, "", problem);
  std::vector<const Finding*> list;
  for (auto& [key, finding] : findings_) list.push_back(&finding);
  std::sort(list.begin(), list.end(), [](auto* a, auto* b) { return a->call < b->call; });
  FILE* to = status_;
  if (!to) return;
  for (auto* f : list)
    fprintf(to,
            "{\"kind\": \"finding\", \"what\": %s, \"call\": %llu, \"function\": %s, \"text\": %s, \"count\": %llu}\n",
            json_text(f->kind).c_str(), static_cast<unsigned long long>(f->call), json_text(f->function).c_str(),
            json_text(f->text).c_str(), static_cast<unsigned long long>(f->count));
  double seconds = ended_ - started_, measured = ended_ - (measured_from_ ? measured_from_ : started_);
  std::string times;
  if (options.benchmark) {
    double last = measured_from_;
    for (double t : frame_times_) {
      char text[32];
      snprintf(text, sizeof text, "%s%.0f", times.empty() ? "" : ", ", (t - last) * 1e9);
      times += text;
      last = t;
    }
  }
  fprintf(
      to,
      "{\"kind\": \"result\", \"calls\": %llu, \"frames\": %llu, \"seconds\": %.6f, \"measured_seconds\": %.6f, \"measured_calls\": %llu, "
      "\"compared\": %llu, \"different\": %llu, \"skipped\": %llu, \"uncompared\": %llu, \"unseen\": %llu, \"loops\": %llu, \"engine\": %s, \"frame_times_ns\": [%s]}\n",
      static_cast<unsigned long long>(calls), static_cast<unsigned long long>(frames), seconds, measured,
      static_cast<unsigned long long>(calls - calls_at_start_), static_cast<unsigned long long>(compared),
      static_cast<unsigned long long>(different), static_cast<unsigned long long>(skipped),
      static_cast<unsigned long long>(uncompared), static_cast<unsigned long long>(unseen),
      static_cast<unsigned long long>(loops_done_ + 1), json_text(windows_ ? windows_->engine() : "").c_str(),
      times.c_str());
  fflush(to);
}

}  // namespace dt::play
