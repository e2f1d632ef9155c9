// Requests that come while a recording is played: pictures after calls (replay/warm.py has their form).
#include <cstdlib>

#include "../../common/json.h"
#include "player.h"

namespace dt::play::vk {

// An object of JSON in a line: the question, its call, the draw that this call submits, the largest width of a picture,
// and the file for the answer. False: there are no more.
bool Player::read_request() {
  char* text = nullptr;
  size_t room = 0;
  const ssize_t n = getline(&text, &room, stdin);
  Json json;
  const bool good = n > 0 && JsonReader::read_object({text, static_cast<size_t>(n)}, json).empty();
  request_ = {};
  const bool asks = good && json["call"].read(request_.seq);
  if (asks) {
    request_.what = json["ask"].text(), request_.file = json["file"].text();
    json["draw"].read(request_.draw);
    json["width"].read(request_.small);
    if (request_.what == "object") parse_held(json["what"]);
    if (request_.what == "look") {
      snapshots_->collect();
      forget_look();
      if (options_.look) question_ = question_of(json);
      request_.draw = NO_DRAW;
    }
  }
  free(text);  // which the values lie in
  return asks;
}

// Returns whether the request can be answered without playing on.
bool Player::stands_at(uint64_t next) const {
  if (!next || request_.seq >= next || request_.what == "look") return false;
  if (request_.draw != NO_DRAW && request_.what == "object") return false;
  if (request_.draw != NO_DRAW) return request_.seq == answered_ && served_.contains(request_.draw);
  return request_.seq >= passed_;
}

void Player::forget_look() {
  snapshots_->look(nullptr);
  if (question_) question_->forget();
  question_.reset();
}

void Player::answer_look() {
  snapshots_->collect();
  FILE* to = fopen(request_.file.c_str(), "wb");
  if (to) question_->write(to);
  if (!to || fclose(to)) report("image", request_.seq, "", request_.file + " cannot be written");
  forget_look();
}

void Player::answer(uint64_t next) {
  auto complain = [&](const std::string& why) {
    JsonObject line;
    line.put("kind", "finding").put("what", "image").put("call", request_.seq).put("function", "");
    put_line(status_, line.put("text", why).put("count", 1));
  };
  const bool picture = request_.what == "image", shown = picture || request_.what == "snapshot";
  if (next == UINT64_MAX && request_.seq > seq_) complain("the recording ends before");
  if (request_.what == "object")
    answer_held();
  else if (request_.what == "look" && question_)
    answer_look();
  else if (!shown && request_.file != "/dev/null")
    complain("the player of Vulkan has no " + request_.what + " yet");
  if (shown && request_.draw == NO_DRAW) {
    Picture frame;
    const std::string path = picture ? request_.file : request_.file + "." + options_.snapshot_format;
    const bool read = shown_ && read_shown(frame);
    if (read && request_.small) shrink(frame.pixels, frame.width, frame.height, request_.small);
    if (!shown_)
      complain("nothing was shown before");
    else if (!read)
      complain("what was shown has a format that is not read back");
    else if (!write_image(path, frame.pixels, frame.width, frame.height))
      complain(path + " cannot be written");
    else
      put_line(status_,
               JsonObject().put("kind", "image").put("frame", frame_).put("call", request_.seq).put("path", path));
  } else if (shown) {
    snapshots_->collect();
    auto it = served_.find(request_.draw);
    if (it == served_.end()) {
      complain("the call does not submit this draw");
    } else if (picture) {
      for (auto& image : it->second.images)
        if (image.name.empty() && !write_image(request_.file, image.pixels, image.width, image.height))
          complain(request_.file + " cannot be written");
      for (auto& why : it->second.taken.why) complain(why);
    } else {
      save(it->second.taken, it->second.images, request_.file);
      for (auto& why : it->second.taken.why) complain(why);
    }
  }
  answered_ = passed_ = request_.seq;
  put_line(status_, JsonObject().put("kind", "done").put("call", request_.seq));
  fflush(status_);
}

// Answers requests before the call `next` (UINT64_MAX: all are played). False: nobody asks any more.
bool Player::serve(uint64_t next) {
  for (;;) {
    if (waits_) {
      if (next <= request_.seq && next != UINT64_MAX) return true;
      waits_ = false;
      answer(next);
    }
    if (!read_request()) return false;
    if (stands_at(next)) {
      answer(next);
    } else if (request_.what == "look" && question_ && next != 0 && question_->first < next) {
      put_line(status_, JsonObject().put("kind", "behind").put("call", next == UINT64_MAX ? seq_ : next));
      fflush(status_);
    } else if (request_.seq < next && next != 0 && next != UINT64_MAX) {
      put_line(status_, JsonObject().put("kind", "behind").put("call", next));
      fflush(status_);
    } else if (next == UINT64_MAX && request_.seq <= seq_) {
      put_line(status_, JsonObject().put("kind", "behind").put("call", seq_));
      fflush(status_);
    } else {
      served_.clear();
      snapshots_->look(question_.get());
      waits_ = true;
    }
  }
}

}  // namespace dt::play::vk
