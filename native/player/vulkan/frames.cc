// Frames, what is saved of them, and the loop over all records.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <sys/mman.h>

#include "../../core/error.h"
#include "../../core/text.h"
#include "../image.h"
#include "../play_clock.h"
#include "handlers.h"
#include "meter.h"
#include "player.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dt::play::vk {
Player::Player(const Trace& trace, const Options& options, Meter* meter)
    : Arguments(trace), options_(options), meter_(meter), mapping_(map_functions(trace)),
      late_(trace.threads.size() > 1) {
  choose_handlers();
  ends_ = trace.frames()->ends;
  if (!ends_.empty()) end_seq_ = ends_.front();
  status_ = options.status_path == "-" ? stdout : fopen(options.status_path.c_str(), "w");
  if (!status_) throw Error(DT_E_IO, options.status_path + " cannot be written");
  if (options.heartbeat) {
    void* shared =
        mmap(nullptr, sizeof(Heartbeat), PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(options.heartbeat), 0);
    if (shared == MAP_FAILED) throw Error(DT_E_ARGUMENT, "--heartbeat is not shared memory");
    heartbeat_ = static_cast<Heartbeat*>(shared);
  }
  refuse_recording();
}

Player::~Player() {
  if (status_ && status_ != stdout) fclose(status_);
}

void Player::choose_handlers() {
  handlers_ = Handlers<Player>::all();
  using namespace number;
  handlers_[vkDestroyInstance] = &Player::destroy_instance;
  handlers_[vkMapMemory] = handlers_[vkMapMemory2] = &Player::map_memory;
  handlers_[vkFlushMappedMemoryRanges] = &Player::flush_memory;
  watch_stores();
  watch_pictures();
}

// A recording with a call that no player can make is refused before its first call.
void Player::refuse_recording() const {
  const std::string text = refused_calls(trace_, mapping_);
  if (!text.empty()) throw Error(DT_E_ARGUMENT, "this cannot be played yet: " + text);
}

bool Player::save_picture(uint64_t frame, const std::string& path) {
  Picture picture;
  if (!read_shown(picture)) return false;
  if (options_.hashes) {
    const XXH128_hash_t h = XXH3_128bits(picture.pixels.data(), picture.pixels.size());
    JsonObject line;
    line.put("kind", "frame").put("frame", frame).put("call", seq_).put("width", picture.width);
    put_line(status_, line.put("height", picture.height).put("hash", hash_text({h.low64, h.high64})));
  }
  if (path.empty()) return true;
  if (!write_image(path, picture.pixels, picture.width, picture.height))
    return report("image", seq_, "", path + " cannot be written"), false;
  JsonObject line;
  put_line(status_, line.put("kind", "image").put("frame", frame).put("call", seq_).put("path", path));
  return true;
}

void Player::progress() {
  const double now = now_seconds();
  if (now - last_progress_ < 0.25) return;
  last_progress_ = now;
  JsonObject line;
  put_line(status_, line.put("kind", "progress").put("calls", seq_).put("total", trace_.calls).put("frames", frames_));
  fflush(status_);
}

void Player::frame_end() {
  const bool wanted = in_range();
  if (snapshots_) snapshots_->collect();
  if (wanted && options_.snapshots && options_.snapshot_at == Options::AT_FRAMES &&
      frame_ % options_.snapshot_every == 0) {
    char name[32];
    snprintf(name, sizeof name, "%06llu", static_cast<unsigned long long>(frame_));
    if (!presented_)
      report("image", seq_, "", "frames that do not end with vkQueuePresentKHR have no image");
    else
      save_picture(frame_, options_.snapshot_prefix.empty()
                               ? ""
                               : options_.snapshot_prefix + name + "." + options_.snapshot_format);
  }
  presented_ = false;
  ++frame_;
  ++frames_;
  ++next_end_;
  end_seq_ = next_end_ < ends_.size() ? ends_[next_end_] : UINT64_MAX;
  const double now = now_seconds();
  if (frame_ == options_.first_frame && !measured_from_) {
    measured_from_ = now;
    calls_at_start_ = calls_;
  } else if (wanted && options_.benchmark) {
    frame_times_.push_back(now);
  }
  if (meter_) meter_->frame_end(frame_, seq_);
  progress();
}

int Player::run() {
  started_ = now_seconds();
  if (!options_.first_frame) measured_from_ = started_;
  feed_ = std::make_unique<Feed>(trace_, mapping_, options_.preload ? 0 : options_.window);
  Decoded* chunk = nullptr;
  uint32_t record = 0;
  bool asked = true;
  auto again = [&](Decoded* of, uint32_t late) { play(of, late); };
  auto ends = [&] { return frame_ >= options_.end_frame || (meter_ && meter_->answered()); };
  while (!ends() && feed_->next(chunk, record, seq_) && seq_ <= options_.stop_call) {
    if (options_.serve && !(asked = serve(seq_))) break;
    if (!late_.empty()) late_.play(chunk->open->entries()[record], chunk->thread, seq_, again);
    if (!late_.keep(*feed_, chunk, record, seq_)) play(chunk, record);
  }
  late_.play(UINT64_MAX, 0, seq_, again);
  if (options_.serve && asked) serve(UINT64_MAX);
  if (snapshots_) snapshots_->collect(), tell_unseen();
  if (options_.image_at_call) save_picture(frame_, options_.snapshot_prefix);
  bool stuck = false;
  objects_.drop([&](unsigned kind, const Object& o) {  // what still runs is part of the time
    if (kind != OF_Device) return false;
    if (work_ends(static_cast<Device&>(*o.owner)))
      DT_VK(*o.owner, vkDeviceWaitIdle)(o.owner->device);
    else
      stuck = true;
    return false;
  });
  if (stuck)
    report("stuck", seq_, "", "submitted work still waits at the end: for a timeline semaphore's value, or an event");
  ended_ = now_seconds();
  if (meter_) meter_->finish(seq_, !ends_.empty());
  finish();
  return different_ ? 1 : 0;
}

void Player::finish() {
  findings_.add_losses(trace_);
  findings_.write(status_);
  put_outcome(status_, {.calls = calls_,
                        .frames = frames_,
                        .measured_calls = calls_ - calls_at_start_,
                        .compared = compared_,
                        .different = different_,
                        .skipped = skipped_,
                        .uncompared = uncompared_,
                        .started = started_,
                        .measured_from = measured_from_,
                        .ended = ended_,
                        .frame_times = frame_times_,
                        .engine = engine_});
}

}  // namespace dt::play::vk
