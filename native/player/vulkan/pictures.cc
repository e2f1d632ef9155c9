// The choice of pictured draws, and the fate of the pictures.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "meter.h"
#include "player.h"

namespace dt::play::vk {

void Player::watch_pictures() {
  Question* counted = meter_ ? meter_->fragments() : nullptr;
  if (!options_.serve && !counted && (!options_.snapshots || options_.snapshot_at == Options::AT_FRAMES)) return;
  Snapshots::Host& host = *this;
  snapshots_ = std::make_unique<Snapshots>(host, options_.attachments, options_.serve, options_.look || counted);
  if (counted) snapshots_->look(counted);
  executions_seen_.resize(options_.executions.size());
}

constexpr uint64_t MOST_KEPT = 192 << 20;  // of pictures that nobody has asked for yet

bool Player::wanted(const KeptCommand& command, uint64_t submit, uint64_t bytes) {
  if (options_.serve) {
    if (!waits_ || request_.draw == NO_DRAW || submit != request_.seq) return false;
    if (request_.what == "object")
      return command.seq == request_.draw && !std::exchange(request_.met, true);  // where it runs first
    return command.seq == request_.draw || (command.command->flags & FLAG_DRAW && bytes < MOST_KEPT);
  }
  if (options_.snapshot_at == Options::AT_DRAWS)
    return command.command->flags & (options_.attachments & WANT_BUFFERS ? FLAG_DRAW | FLAG_DISPATCH : FLAG_DRAW) &&
           in_range() && draws_seen_++ % options_.snapshot_every == 0;
  bool fresh = false;
  for (size_t i = 0; i < options_.executions.size(); ++i) {
    auto& [call, by] = options_.executions[i];
    if (call != command.seq || (by ? by != submit : !in_range() || executions_seen_[i])) continue;
    executions_seen_[i] = true;
    fresh = true;
  }
  return fresh;
}

void Player::pictured(const Taken& taken, std::vector<AttachmentImage>& images) {
  if (picture_) {
    picture_->width = images[0].width, picture_->height = images[0].height;
    picture_->pixels = std::move(images[0].pixels);
    return;
  }
  if (!taken.held.empty()) return save_held(taken);
  if (options_.serve) {
    Served& kept = served_.emplace(taken.call, Served{taken, std::move(images)}).first->second;  // where it runs first
    kept.taken.stored.clear();                                                                   // whose bytes go
    return;
  }
  char name[80];
  snprintf(name, sizeof name, "submit%09llu-%05u-call%09llu", static_cast<unsigned long long>(taken.submit),
           taken.place, static_cast<unsigned long long>(taken.call));
  save(taken, images, options_.snapshot_prefix + name);
}

VkImage Player::image_of(uint64_t recorded) const {
  const Object* object = objects_.find(OF_Image, recorded);
  return object ? reinterpret_cast<VkImage>(object->now) : nullptr;
}

uint64_t Player::name_of(VkImage image) const {
  for (auto& chain : swapchains_)
    if (std::find(chain->images.begin(), chain->images.end(), image) != chain->images.end()) return 0;
  return objects_.recorded(OF_Image, reinterpret_cast<uint64_t>(image));
}

// Saves what BASE.png, BASE-color1.png, BASE-depth.png ... are of, and says why others are missing.
void Player::save(const Taken& taken, const std::vector<AttachmentImage>& images, const std::string& base) {
  for (auto& image : images) {
    const std::string path = base + (image.name.empty() ? "" : "-" + image.name) + "." +
                             (image.bytes == 4 ? options_.snapshot_format : "png");
    if (!write_image(path, image.pixels, image.width, image.height, image.bytes)) {
      report("image", taken.call, "", path + " cannot be written");
      continue;
    }
    JsonObject line;
    line.put("kind", "image").put("frame", frame_).put("call", taken.call).put("submit", taken.submit);
    put_line(status_, line.put("path", path));
  }
  for (auto& each : taken.stored) {
    const std::string path = base + "-" + each.name + ".bin";
    FILE* to = fopen(path.c_str(), "wb");
    const auto* bytes = static_cast<const uint8_t*>(taken.room.at) + each.at;
    bool good = to && fwrite(bytes, 1, each.bytes, to) == each.bytes;
    if (to && fclose(to)) good = false;
    if (!good) {
      report("image", taken.call, "", path + " cannot be written");
      continue;
    }
    JsonObject line;
    line.put("kind", "image").put("frame", frame_).put("call", taken.call).put("submit", taken.submit);
    put_line(status_, line.put("path", path));
  }
  for (auto& why : taken.why) report("image", taken.call, "", why);
}

// Wanted commands that did not run.
void Player::tell_unseen() {
  for (size_t i = 0; i < executions_seen_.size(); ++i) {
    auto& [call, by] = options_.executions[i];
    if (executions_seen_[i]) continue;
    report("image", call, "",
           by ? "call " + std::to_string(by) + " does not submit it" : "no command buffer that holds it was submitted");
  }
}

}  // namespace dt::play::vk
