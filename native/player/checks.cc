// The comparisons with the recording, and other findings on the way.
#include <algorithm>
#include <cstring>

#include "../core/text.h"
#include "observer.h"
#include "play.h"
#include "query.h"
#include "windows.h"
#include "gl_enums.h"
#include "vg_enums.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dt::play {

const char* error_name(uint32_t error) {
  switch (error) {
    case 0: return "no error";
    case GL_INVALID_ENUM: return "GL_INVALID_ENUM";
    case GL_INVALID_VALUE: return "GL_INVALID_VALUE";
    case GL_INVALID_OPERATION: return "GL_INVALID_OPERATION";
    case GL_STACK_OVERFLOW: return "GL_STACK_OVERFLOW";
    case GL_STACK_UNDERFLOW: return "GL_STACK_UNDERFLOW";
    case GL_OUT_OF_MEMORY: return "GL_OUT_OF_MEMORY";
    case GL_INVALID_FRAMEBUFFER_OPERATION: return "GL_INVALID_FRAMEBUFFER_OPERATION";
    case GL_CONTEXT_LOST: return "GL_CONTEXT_LOST";
    case VG_BAD_HANDLE_ERROR: return "VG_BAD_HANDLE_ERROR";
    case VG_ILLEGAL_ARGUMENT_ERROR: return "VG_ILLEGAL_ARGUMENT_ERROR";
    case VG_OUT_OF_MEMORY_ERROR: return "VG_OUT_OF_MEMORY_ERROR";
    case VG_PATH_CAPABILITY_ERROR: return "VG_PATH_CAPABILITY_ERROR";
    case VG_UNSUPPORTED_IMAGE_FORMAT_ERROR: return "VG_UNSUPPORTED_IMAGE_FORMAT_ERROR";
    case VG_UNSUPPORTED_PATH_FORMAT_ERROR: return "VG_UNSUPPORTED_PATH_FORMAT_ERROR";
    case VG_IMAGE_IN_USE_ERROR: return "VG_IMAGE_IN_USE_ERROR";
    case VG_NO_CONTEXT_ERROR: return "VG_NO_CONTEXT_ERROR";
    default: return "an unknown error";
  }
}

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

// Returns whether the call that was just played raised an error here, which is kept until the program asks.
bool Player::failed(uint64_t call, const char* function) {
  if (!strncmp(function, "vg", 2)) {
    auto& vg = threads_[running_]->vg;
    uint32_t error = vg ? driver::vgGetError() : 0;
    if (error) errors_.push_back({vg.get(), error, call, function});
    return error;
  }
  if (!context || in_begin() || !context->pending_errors.empty()) return false;
  uint32_t error = driver::glGetError();
  if (error) errors_.push_back({context, error, call, function});
  return error;
}

void Player::answered_in_buffer(uint32_t query, uint32_t about, uint32_t buffer, intptr_t place, bool wide) {
  if (DT_UNLIKELY(observer_ != nullptr)) observer_->asked_into(query, about, buffer, place, wide);
}

void Player::compare_answer(const Row& w, const In& recorded, const void* now, uint32_t about, uint32_t query,
                            const char* function) {
  if (DT_UNLIKELY(observer_ != nullptr) && query)
    observer_->asked(query, about, const_cast<void*>(now), strstr(function, "64") != nullptr);
  if (!options.verify || !now || !recorded.data || (recorded.kind != DT_DATA_INLINE && recorded.kind != DT_DATA_BLOB))
    return;
  auto* end = g_answers + g_answers_count;
  auto* answer = std::lower_bound(g_answers, end, about, [](const Answer& a, uint32_t v) { return a.pname < v; });
  int32_t what = answer != end && answer->pname == about ? answer->what : -2;
  if (query && what == -2) {
    auto it = query_targets.find(query);
    if (it == query_targets.end() || it->second == GL_TIME_ELAPSED || it->second == GL_TIMESTAMP) what = -1;  // a time
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
  auto it = std::find_if(errors_.begin(), errors_.end(), own);
  if (it == errors_.end()) return false;
  first = *it;
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
  uint32_t error = driver::glGetError();
  if (error == GL_CONTEXT_LOST) ask_reset();
  if (error) errors_.push_back({context, error, seq, function});
}

// An observer wants to know whose fault a reset of the device was. At other times a context may not know the question,
// and would answer with an error that the program never had.
void Player::ask_reset() {
  if (!options.heartbeat || !reset_.empty() || !context || in_begin()) return;
  for (auto* ask : {&driver::glGetGraphicsResetStatus, &driver::glGetGraphicsResetStatusKHR,
                    &driver::glGetGraphicsResetStatusEXT, &driver::glGetGraphicsResetStatusARB})
    if (*ask) {
      const uint32_t status = (*ask)();
      if (status == GL_GUILTY_CONTEXT_RESET) reset_ = "guilty";
      if (status == GL_INNOCENT_CONTEXT_RESET) reset_ = "innocent";
      if (status == GL_UNKNOWN_CONTEXT_RESET) reset_ = "unknown";
      return;
    }
}

void Player::refuse(const Row& w, const char* function, const char* why) {
  report("skipped", w.seq, function, why);
  ++skipped;
}

void Player::report(std::string kind, uint64_t call, std::string function, std::string text) {
  if (!again) findings_.add(std::move(kind), call, std::move(function), std::move(text));
}

// Finds the frames without draws where the recorder could not keep up: each has a note behind the call that ends it.
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

// This frame's recorded pictures cannot be seen here.
bool Player::draws_are_missing() const { return std::binary_search(gaps_.begin(), gaps_.end(), frame_); }

std::string Player::after_gap() const {
  return gaps_.empty() || gaps_.front() > frame_ ? "" : "; draws of frames before it were not recorded";
}

void Player::hash_frame(std::string_view text) {
  Attributes about = parse_attributes(text);
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

}  // namespace dt::play
