// Calls of the recording as those see them who measure.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "lists.h"
#include "metrics/session.h"
#include "play.h"
#include "gl_enums.h"

namespace dt::play {

// A call, for the session that measures.
struct Recorded {
  const FunctionColumns* columns;
  uint32_t row;
  static uint32_t argument(const void* call, const char* name) {
    auto* self = static_cast<const Recorded*>(call);
    const Field* f = self->columns->function ? field_of(*self->columns->function, name) : nullptr;
    return f ? static_cast<uint32_t>(self->columns->raw(*f, self->row)) : 0;
  }
};
// A call of the recording for sources that watch calls or draw them again.
class Watched : public metrics::Draw {
 public:
  Watched(Lists& lists, const FunctionColumns& columns, uint32_t row, uint64_t number)
      : lists_(lists), player_(lists.player), columns_(columns), row_(row) {
    seq = number;
    name = columns.function->name.c_str();
    flags = columns.function->flags;
  }
  uint64_t number(const char* parameter) const override {
    const Field* f = field_of(*columns_.function, parameter);
    if (!f && list_ && !strcmp(parameter, "mode")) return static_cast<uint64_t>(std::max<int64_t>(list_->mode, 0));
    return f ? columns_.raw(*f, row_) : 0;
  }
  double real(const char* parameter) const override {
    const Field* f = field_of(*columns_.function, parameter);
    if (!f) return 0;
    uint64_t raw = columns_.raw(*f, row_);
    float single;
    double twice;
    memcpy(&single, &raw, 4);
    memcpy(&twice, &raw, 8);
    return f->wide ? twice : static_cast<double>(single);
  }
  std::span<const uint8_t> array(const char* parameter) const override {
    const Field* f = field_of(*columns_.function, parameter);
    if (!f || !f->has_data()) return {};
    auto kind = DT_DATA_KIND(columns_.descriptor(*f, row_));
    if (kind == DT_DATA_INLINE) {
      std::string_view bytes = columns_.payload(*f, row_);
      return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
    }
    if (kind == DT_DATA_BLOB) {
      auto bytes = player_.blob(columns_.hash(*f, row_));
      if (!bytes) return {};
      kept_.push_back(bytes);
      return {bytes->data(), bytes->size()};
    }
    uint64_t at = columns_.raw(*f, row_);
    if (kind == DT_DATA_OFFSET)
      for (auto& s : player_.spans)
        if (at >= s.begin && at < s.end) return {s.data + (at - s.begin), s.end - at};
    return {};
  }
  const char* refusal() const override {
    if (*refusal_ || !(immediate_ || list_ || piece_)) return refusal_;
    // Attributes of vertices stay behind after them, and are put back.
    int depth = 0, most = 0, matrices = 0, most_matrices = 1, mode = GL_MODELVIEW;
    driver::glGetIntegerv(GL_ATTRIB_STACK_DEPTH, &depth), driver::glGetIntegerv(GL_MAX_ATTRIB_STACK_DEPTH, &most);
    // of GL_MODELVIEW
    if (list_ && list_->matrices)
      driver::glGetIntegerv(GL_MODELVIEW_STACK_DEPTH, &matrices),
          driver::glGetIntegerv(GL_MAX_MODELVIEW_STACK_DEPTH, &most_matrices),
          driver::glGetIntegerv(GL_MATRIX_MODE, &mode);
    if (mode != GL_MODELVIEW) return "a display list changes a matrix other than GL_MODELVIEW";
    return depth < most && matrices < most_matrices ? "" : "there is no room to save what the draw changes";
  }
  Given given() const override {
    if (piece_) return piece_->given;
    if (list_) return list_->draws ? Given{} : list_->given;
    if (!immediate_) return {};
    int64_t n = 0;
    for (auto& w : *immediate_) {
      const auto& columns = w.chunk->columns[w.chunk->order[w.record]];
      n += gives_vertex(columns.function->name.c_str());
      if (!(columns.function->flags & FLAG_LIST_CALL)) continue;
      const int64_t more = lists_.vertices(Watched(lists_, *columns.decoded, w.chunk->ordinals[w.record], w.seq));
      if (more < 0) return {};
      n += more;
    }
    return {n, metrics::primitives_of(number("mode"), n)};
  }
  bool perform() override {
    if (!play_ && !immediate_ && !piece_) return false;
    bool lasting = immediate_ || list_ || piece_;
    if (lasting) driver::glPushAttrib(0x000FFFFF);  // GL_ALL_ATTRIB_BITS of old
    if (list_ && list_->matrices) driver::glPushMatrix();
    uint64_t skipped = player_.skipped;
    player_.again = true;
    if (immediate_) {
      auto spans = player_.spans;
      for (auto& w : *immediate_) {
        uint32_t f = w.chunk->order[w.record];
        int known = w.chunk->known[f];
        Row row{&w.chunk->columns[f], w.chunk->ordinals[w.record], w.seq};
        player_.spans = w.spans;
        if (known >= 0 && g_known[known].play) g_known[known].play(player_, row);
      }
      player_.spans = spans;
    } else if (piece_) {
      driver::glCallList(piece_->piece);
    } else {
      play_(player_, *drawn_);
    }
    player_.again = false;
    player_.missing_memory = false;
    if (list_ && list_->matrices) driver::glPopMatrix();
    if (lasting) driver::glPopAttrib();
    bool drew = player_.skipped == skipped;
    player_.skipped = skipped;
    return drew;
  }
  std::unique_ptr<metrics::Draw> kept() const override {
    if (!play_ || list_ || immediate_ || piece_ || *refusal_ || !player_.spans.empty()) return nullptr;
    auto same = std::make_unique<Watched>(lists_, columns_, row_, seq);
    same->row_kept_ = *drawn_, same->chunk_ = player_.chunk();
    same->plays(play_, same->row_kept_);
    return same;
  }
  void plays(void (*play)(Player&, const Row&), const Row& row) { play_ = play, drawn_ = &row; }
  void draws(const std::vector<Waiting>& calls) { immediate_ = &calls; }
  void draws(const List& list) { list_ = &list, refusal_ = list.refusal; }
  void draws(const ListedCall& piece) { piece_ = &piece; }
  void refuse(const char* why) { refusal_ = why; }

 private:
  Lists& lists_;
  Player& player_;
  const FunctionColumns& columns_;
  uint32_t row_;
  const char* refusal_ = "";
  void (*play_)(Player&, const Row&) = nullptr;
  const Row* drawn_ = nullptr;
  Row row_kept_{};
  std::shared_ptr<Decoded> chunk_;  // that holds it, where it is kept
  const std::vector<Waiting>* immediate_ = nullptr;
  const List* list_ = nullptr;
  const ListedCall* piece_ = nullptr;
  mutable std::vector<std::shared_ptr<const std::vector<uint8_t>>> kept_;
};

}  // namespace dt::play
