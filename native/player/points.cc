// The work between two calls: images, snapshots, states, objects; and requests for them.
#include <cstring>

#include "../core/text.h"
#include "../mirror/frame_image.h"
#include "attachments.h"
#include "buffers.h"
#include "image.h"
#include "line.h"
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

// A line about an image that was written.
static void say_image_to(FILE* to, uint64_t frame, uint64_t call, const std::string& path) {
  JsonObject line;
  if (to) put_line(to, line.put("kind", "image").put("frame", frame).put("call", call).put("path", path));
}

bool Player::save_frame(uint64_t frame, const std::string& path, uint64_t small) {
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
    JsonObject line;
    line.put("kind", "frame")
        .put("frame", frame)
        .put("call", seq)
        .put("width", image.width)
        .put("height", image.height);
    if (status_) put_line(status_, line.put("hash", hash_text({h.low64, h.high64})));
  }
  if (path.empty()) return true;
  if (small) shrink(pixels, image.width, image.height, small);
  if (!write_image(path, pixels, image.width, image.height)) {
    report("image", seq, "", path + " cannot be written");
    return false;
  }
  say_image_to(status_, frame, seq, path);
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
    case Point::IMAGE: save_frame(frame_, point.target, point.small); return;
    case Point::SNAPSHOT: return snapshot(point.target, point.seq, point.small);
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

// The images that are drawn to: the surface of OpenVG, which has colours alone, or the attachments of OpenGL's
// framebuffer.
std::vector<AttachmentImage> Player::drawn_images(unsigned wanted, std::vector<std::string>& why) {
  int width = 0, height = 0;
  if (windows_->shows_vg(width, height)) {
    std::vector<AttachmentImage> images(1, {"", width, height, 4, {}});
    if (!(wanted & (WANT_COLOR | WANT_FIRST)))
      why.emplace_back("OpenVG draws colours alone"), images.clear();
    else if (!shown_image(width, height, images[0].pixels))
      why.emplace_back("there is no image to read back here"), images.clear();
    return images;
  }
  windows_->drawable_size(width, height);
  return read_attachments(tls.context, wanted, width, height, why);
}

// Every wanted attachment as a file: BASE.png, BASE-color1.png, BASE-depth.png, BASE-stencil.png; and what is bound of
// buffers, by the program's names: BASE-index-buffer3.bin.
void Player::snapshot(const std::string& base, uint64_t call, uint64_t small) {
  std::vector<std::string> why;
  keep_errors();
  auto written = [&](const std::string& path) { say_image_to(status_, frame_, call, path); };
  const unsigned wanted = options.attachments | (small ? WANT_FIRST : 0u);
  for (auto& image : drawn_images(wanted, why)) {
    if (small && image.bytes == 4) shrink(image.pixels, image.width, image.height, small);
    std::string path = base + (image.name.empty() ? "" : "-" + image.name) + "." +
                       (image.bytes == 4 ? options.snapshot_format : "png");
    if (!write_image(path, image.pixels, image.width, image.height, image.bytes))
      report("image", call, "", path + " cannot be written");
    else
      written(path);
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
      good ? written(path) : report("image", call, "", path + " cannot be written");
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
  JsonObject line;
  line.put("kind", "object").put("path", point.target).put("why", got.why).put("lost", got.lost).put("type", got.type);
  line.put("channels", got.channels).put("format", got.format).put("width", got.width).put("height", got.height);
  if (!got.uses.empty()) line.json("uses", got.uses);
  put_line(status_, line.put("depth", got.depth).put("depth_mode", got.depth_mode).values("bits", got.bits));
}

// The findings about the watched calls.
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

// The work between two calls, the second of which is `seq`.
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
  for (auto& [key, f] : findings_.all())
    if (status_ && f.call >= passed_seq_ && (f.kind == "image" || f.kind == "state")) {
      JsonObject line;
      line.put("kind", "finding").put("what", f.kind).put("call", f.call).put("function", "");
      put_line(status_, line.put("text", f.text).put("count", 1));
    }
  if (status_) put_line(status_, JsonObject().put("kind", "done").put("call", passed_seq_));
  if (states_) fflush(states_);
  if (status_) fflush(status_);
}

// Asks for what a request wants to look at, from the call `first` on; false: it makes no sense.
bool Player::looks(Point& point, uint64_t& first) {
  Json request;
  JsonReader::read_object(point.path, request);
  return look && request["first"].read(first) && look->ask(first, point.seq, request);
}

namespace {

// A request is a JSON object in a line: the question ("state", "image", "snapshot", "object", "look"), its call, the
// file for the answer, and the `width` of a small picture. False: it makes no sense.
bool read_point(const std::string& line, Point& point) {
  Json request;
  if (!JsonReader::read_object(line, request).empty()) return false;
  const std::string what = request["ask"].text();
  point.what = what == "image"      ? Point::IMAGE
               : what == "snapshot" ? Point::SNAPSHOT
               : what == "object"   ? Point::OBJECT
               : what == "look"     ? Point::LOOK
                                    : Point::STATE;
  if (point.what == Point::STATE && what != "state") return false;
  point.target = request["file"].text();
  point.path = what == "state" ? request["path"].text() : what == "look" ? line : request["what"].raw();
  request["width"].read(point.small);
  return request["call"].read(point.seq);
}

}  // namespace

// Takes requests from standard input until one is for a later call; false: there are no more.
bool Player::serve(bool at_end) {
  char* text = nullptr;
  size_t room = 0;
  bool more = false;
  for (ssize_t n; (n = getline(&text, &room, stdin)) > 0;) {
    Point point;
    if (!read_point({text, static_cast<size_t>(n)}, point)) break;
    const uint64_t call = point.seq;
    uint64_t first = call;
    if (point.what == Point::LOOK && !looks(point, first)) break;
    if (call < passed_seq_ || (point.what == Point::LOOK && started_points_ && (first < seq || at_end))) {
      if (status_) {
        put_line(status_, JsonObject().put("kind", "behind").put("call", passed_seq_));
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
