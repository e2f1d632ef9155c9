#include "lists.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "metrics/session.h"
#include "watched.h"
#include "call_shapes.h"
#include "gl_enums.h"

namespace dt::play {
namespace {

constexpr int DEEPEST = 64;  // lists that call lists, as drivers have them

int dimension(int64_t mode) { return mode == 0 ? 0 : mode <= 3 || mode == 0xA || mode == 0xB ? 1 : 2; }

// A call that goes into the list which is being made. A call that changes more than the state of vertices, materials,
// lights, textures and matrices is not made twice.
void listed(List& list, const char* name, uint64_t flags, int64_t mode) {
  const uint32_t shapes = shapes_of(name);
  if (shapes & SHAPE_REPEATABLE) return;
  if (flags & FLAG_VERTICES_END) {
    list.given.vertices += list.vertices;
    list.given.primitives +=
        std::max<int64_t>(metrics::primitives_of(static_cast<uint64_t>(list.present), list.vertices), 0);
    return;
  }
  if (shapes & SHAPE_LIST_MATRIX) {
    list.matrices = true;
    return;
  }
  if (shapes & SHAPE_VERTEX_CALL) {
    ++list.vertices;
    return;
  }
  if (flags & FLAG_VERTICES_BEGIN) {
    list.present = mode;
    list.vertices = 0;
    if (list.mode < 0)
      list.mode = mode;
    else if (dimension(list.mode) != dimension(mode))
      list.refusal = "a display list draws points, lines and triangles together";
    return;
  }
  list.refusal = flags & (FLAG_DRAW | FLAG_LIST_CALL) ? "a display list draws by more than glBegin and glEnd"
                                                      : "a display list changes state";
  if (flags & (FLAG_DRAW | FLAG_LIST_CALL)) list.draws = true;
}

const Function& function_of(const ListedCall& call) {
  return *call.chunk->columns[call.chunk->order[call.record]].function;
}

// Lists that a call calls, by their recorded names.
std::vector<uint32_t> called(Player& player, const Watched& call) {
  if (!strcmp(call.name, "glCallList")) return {static_cast<uint32_t>(call.number("list"))};
  std::vector<uint32_t> names(std::min<uint64_t>(call.number("n"), 1 << 20));
  auto bytes = call.array("lists");
  std::vector<uint8_t> whole(bytes.begin(), bytes.end());
  whole.resize(std::max(whole.size(), names.size() * 4));
  if (!list_numbers(static_cast<uint32_t>(call.number("type")), whole.data(), names.size(), player.context->list_base,
                    names.data()))
    names.clear();
  return names;
}

metrics::Draw::Given given_by(const Watched& call) {
  metrics::Draw::Given sum{0, 0};
  auto add = [&](int64_t n) {
    sum.vertices += std::max<int64_t>(n, 0),
        sum.primitives += std::max<int64_t>(metrics::primitives_of(call.number("mode"), n), 0);
  };
  if (!(shapes_of(call.name) & SHAPE_MULTI_ARRAYS)) {
    add(static_cast<int32_t>(call.number("count")));
    return sum;
  }
  auto counts = call.array("count");
  for (size_t i = 0; i + 4 <= counts.size() && i / 4 < std::max(call.number("drawcount"), call.number("primcount"));
       i += 4) {
    int32_t n = 0;
    memcpy(&n, &counts[i], 4);
    add(n);
  }
  return sum;
}

}  // namespace

bool gives_vertex(const char* name) {
  const uint32_t shapes = shapes_of(name);
  if (shapes & SHAPE_EVALUATOR) {
    const bool surface = strchr(name, '2') != nullptr;  // GL_MAP2_VERTEX_3 and 4, GL_MAP1_VERTEX_3 and 4
    return surface ? driver::glIsEnabled(GL_MAP2_VERTEX_3) || driver::glIsEnabled(GL_MAP2_VERTEX_4)
                   : driver::glIsEnabled(GL_MAP1_VERTEX_3) || driver::glIsEnabled(GL_MAP1_VERTEX_4);
  }
  return shapes & (SHAPE_VERTEX_CALL | SHAPE_ARRAY_VERTEX);
}

List* Lists::find(uint32_t name) {
  auto it = tls.context ? all_.find({tls.context->share_group, name}) : all_.end();
  return it == all_.end() ? nullptr : &it->second;
}

void Lists::begin(uint32_t name, bool runs) {
  open_ = &all_[{tls.context->share_group, name}];
  *open_ = {};
  open_->runs = runs, open_->name = name;
}

bool Lists::add(const Watched& call, ListedCall kept) {
  const uint32_t shapes = shapes_of(call.name);
  if (shapes & SHAPE_IMMEDIATE) return false;
  listed(*open_, call.name, call.flags, static_cast<int64_t>(call.number("mode")));
  if (!(shapes & SHAPE_LISTED)) open_->cannot = "a display list holds a call that cannot be played by itself";
  if (*open_->cannot) return false;
  const bool arrays = shapes & (SHAPE_ARRAYS | SHAPE_MULTI_ARRAYS);
  if (arrays) {
    static uint32_t next = 0x6B000000;  // downwards: no program chooses such names
    kept.piece = next, next -= 2;
    kept.given = given_by(call);
  }
  open_->calls.push_back(std::move(kept));
  return arrays;
}

// The piece calls the list made so far, and another list has the rest.
void Lists::open_piece() {
  const uint32_t piece = open_->calls.back().piece;
  driver::glCallList(piece), driver::glCallList(piece - 1);
  driver::glEndList();
  driver::glNewList(piece, GL_COMPILE);
}
void Lists::close_piece() {
  driver::glEndList();
  driver::glNewList(open_->calls.back().piece - 1, GL_COMPILE);
}

bool Lists::expandable(const List& list, int depth) {
  if (*list.cannot || depth > DEEPEST) return false;
  for (auto& call : list.calls) {
    if (!(function_of(call).flags & FLAG_LIST_CALL)) continue;
    const auto& columns = call.chunk->columns[call.chunk->order[call.record]];
    const Watched inner(*this, *columns.decoded, call.chunk->ordinals[call.record], call.seq);
    for (uint32_t name : called(player, inner))
      if (List* other = find(name); other && !expandable(*other, depth + 1)) return false;
  }
  return true;
}

bool Lists::expands(const Watched& call) {
  const auto names = called(player, call);
  bool needs = names.size() > 1 || strcmp(call.name, "glCallList") != 0;
  for (uint32_t name : names) {
    List* list = find(name);
    if (!list) {
      if (names.size() == 1) return false;
      continue;
    }
    if (!expandable(*list, 1)) return false;
    needs = needs || *list->refusal;
  }
  return needs;
}

void Lists::expand(const Watched& call, int depth) {
  for (uint32_t name : called(player, call))
    if (const List* list = find(name)) expand(*list, depth + 1);
}

void Lists::expand(const List& list, int depth) {
  if (depth > DEEPEST) return;
  for (size_t i = 0; i < list.calls.size(); ++i) {
    const ListedCall& call = list.calls[i];
    const auto& columns = call.chunk->columns[call.chunk->order[call.record]];
    const Function& f = *columns.function;
    const int known = call.chunk->known[call.chunk->order[call.record]];
    if (known < 0 || !g_known[known].play) continue;
    Watched watched(*this, *columns.decoded, call.chunk->ordinals[call.record], call.seq);
    watched.expanded = true;
    const Row row{&columns, call.chunk->ordinals[call.record], call.seq};
    std::vector<Waiting> group;
    bool draws = (f.flags & (FLAG_DRAW | FLAG_CLEAR | FLAG_DISPATCH)) != 0;
    if (f.flags & FLAG_VERTICES_BEGIN) {
      auto ends = [&](const ListedCall& c) { return (function_of(c).flags & FLAG_VERTICES_END) != 0; };
      for (bool over = false; i < list.calls.size() && !over; over = ends(list.calls[i++]))
        group.push_back({list.calls[i].keep, list.calls[i].chunk, list.calls[i].record, list.calls[i].seq, {}});
      --i;
      watched.draws(group);
      draws = true;
    } else if (f.flags & FLAG_LIST_CALL) {
      const List* other = f.name == "glCallList" ? find(static_cast<uint32_t>(watched.number("list"))) : nullptr;
      if (!other || *other->refusal) {
        expand(watched, depth);
        continue;
      }
      watched.plays(g_known[known].play, row);
      watched.draws(*other);
      draws = true;
    } else if (call.piece) {
      watched.draws(call);
    } else {
      watched.plays(g_known[known].play, row);
    }
    session_.within(watched, draws ? &watched : nullptr);
    if (call.piece)
      driver::glCallList(call.piece);
    else if (group.empty())
      player.play_alone(call.chunk, call.record, call.seq);
    for (auto& one : group) player.play_alone(one.chunk, one.record, one.seq);
  }
}

int64_t Lists::vertices(const Watched& call, int depth) {
  int64_t sum = 0;
  for (uint32_t name : called(player, call)) {
    const List* list = find(name);
    if (!list) continue;
    if (*list->cannot || depth > DEEPEST) return -1;
    for (auto& one : list->calls) {
      const Function& f = function_of(one);
      sum += gives_vertex(f.name.c_str());
      if (!(f.flags & FLAG_LIST_CALL)) continue;
      const auto& columns = one.chunk->columns[one.chunk->order[one.record]];
      const int64_t more =
          vertices(Watched(*this, *columns.decoded, one.chunk->ordinals[one.record], one.seq), depth + 1);
      if (more < 0) return -1;
      sum += more;
    }
  }
  return sum;
}

}  // namespace dt::play
