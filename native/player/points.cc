// What is done between two calls: images, snapshots, states, objects; and requests for them.
#include <cstring>

#include "../core/text.h"
#include "../mirror/frame_image.h"
#include "attachments.h"
#include "buffers.h"
#include "image.h"
#include "metrics/look.h"
#include "objects.h"
#include "play.h"
#include "query.h"
#include "windows.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dt::play {

bool Player::shown_image(int& width, int& height, std::vector<uint8_t>& pixels) {
  constexpr uint32_t ABGR = 0xC1;  // VG_sABGR_8888: bytes R, G, B, A
  if (windows_->shows_vg(width, height)) {
    if (!driver::vgReadPixels) return false;
    pixels.assign(static_cast<size_t>(width) * static_cast<size_t>(height) * 4, 0);
    driver::vgReadPixels(pixels.data(), width * 4, ABGR, 0, 0, width, height);
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
    case Point::LOOK: return save_look(point);
  }
}

void Player::keep_errors() {
  if (!context || in_begin() || !driver::glGetError) return;
  for (int i = 0; i < 8; ++i) {
    uint32_t error = driver::glGetError();
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

// What was found about the calls that were looked at.
void Player::save_look(const Point& point) {
  keep_errors();
  FILE* to = fopen(point.target.c_str(), "wb");
  if (!to) return report("image", point.seq, "", point.target + " cannot be written");
  if (!look || !look->tell(to)) report("image", point.seq, "", "nothing was looked at");
  if (fclose(to)) report("image", point.seq, "", point.target + " cannot be written");
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

// Asks for what a request wants to look at, from the call `first` on; false: it makes no sense.
bool Player::looks(Point& point, uint64_t& first) {
  char* rest = nullptr;
  first = strtoull(point.path.c_str(), &rest, 10);
  return look && rest != point.path.c_str() && look->ask(first, point.seq, rest);
}

// Takes requests from standard input until one is for a later call; false: there are no more.
//   state CALL PATH<TAB>FILE   image CALL FILE   snapshot CALL BASE   object CALL WHAT<TAB>FILE
//   look CALL FIRST WORDS<TAB>FILE   end
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
    if (!strcmp(word, "image") || !strcmp(word, "snapshot")) {
      point.what = *word == 'i' ? Point::IMAGE : Point::SNAPSHOT;
      point.target = rest;
    } else if (!strcmp(word, "state") || !strcmp(word, "object") || !strcmp(word, "look")) {
      point.what = *word == 's' ? Point::STATE : *word == 'o' ? Point::OBJECT : Point::LOOK;
      size_t tab = rest.find('\t');
      point.path = rest.substr(0, tab);
      if (tab != rest.npos) point.target = rest.substr(tab + 1);
    } else {
      break;
    }
    uint64_t first = call;
    if (point.what == Point::LOOK && !looks(point, first)) break;
    if (call < passed_seq_ || (point.what == Point::LOOK && started_points_ && (first < seq || at_end))) {
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

}  // namespace dt::play
