// Arguments of recorded calls: arrays, strings, room for what a driver writes.
#include <algorithm>
#include <cstring>

#include "../mirror/sizes.h"
#include "play.h"
#include "gl_enums.h"

namespace dt::play {
namespace {

constexpr size_t SCRATCH = 1 << 20;
constexpr int64_t LARGEST_OUTPUT = 1ll << 30;
constexpr int64_t MOST_UNKNOWN_NAMES = 1 << 16, MOST_RANGE = 1 << 20;  // of names
constexpr size_t SLACK = 4096;  // drivers have been seen to write a little more than asked

}  // namespace

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

Blobs::Bytes Player::blob(const Hash128& hash) {
  try {
    return blobs_.get(trace, hash);
  } catch (const std::exception& error) {
    report("content", seq, "", error.what());
    return nullptr;
  }
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
  if (!size::bound(GL_ELEMENT_ARRAY_BUFFER) || in_begin()) return true;
  int32_t bytes = 1;
  if (driver::glGetBufferParameteriv) driver::glGetBufferParameteriv(GL_ELEMENT_ARRAY_BUFFER, GL_BUFFER_SIZE, &bytes);
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
         std::to_string(bytes / 4) + " names should be in " + name + ", " +
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
  // Bytes that the driver leaves alone (the gaps between rows) must not look like its writes.
  if (options.verify && in.data && in.bytes)
    for (uint64_t i = 0; i < in.bytes; ++i) to[i] = static_cast<uint8_t>(~in.data[i]);
  *out = to;
  return true;
}

}  // namespace dt::play
