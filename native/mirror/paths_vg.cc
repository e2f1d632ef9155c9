// The segments that a path of OpenVG gets from calls that do not name them: the shapes of VGU, and paths made of
// others. The specifications name them; where an implementation may choose, its own counts show the choice.
#include "gl_state.h"
#include "sizes_vg.h"
#include "vg_enums.h"

namespace dt {
namespace hook {

namespace vg = size::vg;

namespace {

// The changes to a segment of another path at appending, in ways that differ between implementations.
enum Way : int { AS_IT_IS, LINES, LONG_FORMS, WAYS };
uint8_t turned(uint8_t type, int way) {
  if (way >= LINES && (type == vg::HLINE || type == vg::VLINE)) return vg::LINE;
  if (way >= LONG_FORMS && type == vg::SQUAD) return vg::QUAD;
  if (way >= LONG_FORMS && type == vg::SCUBIC) return vg::CUBIC;
  return type;
}

// `count` segments came to a path. Nothing is kept where the driver counts otherwise.
void came(uint32_t handle, const uint8_t* types, uint32_t count, int way = AS_IT_IS) {
  vg::Path* path = vg::slot(handle);
  if (!path || !count || vg::agrees(path, handle)) return;  // nothing came
  const int64_t segments = vg::parameter(handle, vg::PATH_NUM_SEGMENTS),
                all = vg::parameter(handle, vg::PATH_NUM_COORDS);
  if (segments == count) path->segments = 0, path->coordinates = 0;  // it was empty
  if (segments != (int64_t)path->segments + count) return;
  uint64_t added = 0;
  for (uint32_t i = 0; i < count; i++) added += (uint64_t)vg::COORDINATES[turned(types[i], way)];
  if (all != (int64_t)(path->coordinates + added) || !vg::room(path, (size_t)path->segments + count)) return;
  for (uint32_t i = 0; i < count; i++) path->types[path->segments + i] = turned(types[i], way);
  path->segments += count;
  path->coordinates += added;
}

template <size_t N> void shape(uint32_t error, uint32_t handle, const uint8_t (&types)[N]) {
  if (!error) came(handle, types, N);
}

// All segments of a path that are known to come to another, or to itself.
void copied(uint32_t to, uint32_t from) {
  const vg::Path* source = vg::slot(from);
  const uint32_t count = source ? source->segments : 0;
  if (!count || (to != from && !vg::agrees(source, from))) return;
  // A slot may serve several paths, and memory move as it grows.
  void* const copy = mmap(nullptr, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return;
  memcpy(copy, source->types, count);
  for (int way = AS_IT_IS; way < WAYS; way++) {
    came(to, (const uint8_t*)copy, count, way);
    const vg::Path* target = vg::slot(to);
    if (target && vg::agrees(target, to)) break;
  }
  munmap(copy, count);
}

// A first segment, as many of one type as the driver counts, and the last ones.
void repeated(uint32_t handle, uint8_t type, const uint8_t* last, uint32_t last_count) {
  vg::Path* path = vg::slot(handle);
  if (!path || vg::agrees(path, handle)) return;
  const int64_t segments = vg::parameter(handle, vg::PATH_NUM_SEGMENTS);
  int64_t before = path->segments;
  if (before >= segments) before = 0;  // cleared since
  const int64_t count = segments - before;
  if (count < 1 + (int64_t)last_count || count > (int64_t)vg::MAX_SEGMENTS) return;
  uint8_t* const types =
      (uint8_t*)mmap(nullptr, (size_t)count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (types == (uint8_t*)MAP_FAILED) return;
  memset(types, type, (size_t)count);
  types[0] = vg::MOVE;
  for (uint32_t i = 0; i < last_count; i++) types[count - last_count + i] = last[i];
  came(handle, types, (uint32_t)count);
  munmap(types, (size_t)count);
}

constexpr uint8_t A_LINE[] = {vg::MOVE, vg::LINE};
constexpr uint8_t A_RECTANGLE[] = {vg::MOVE, vg::HLINE, vg::VLINE, vg::HLINE, vg::CLOSE};
constexpr uint8_t A_ROUND_RECTANGLE[] = {vg::MOVE,  vg::HLINE, vg::ARC,   vg::VLINE, vg::ARC,
                                         vg::HLINE, vg::ARC,   vg::VLINE, vg::ARC,   vg::CLOSE};
constexpr uint8_t AN_ELLIPSE[] = {vg::MOVE, vg::ARC, vg::ARC, vg::CLOSE};
constexpr uint8_t A_CHORD[] = {vg::CLOSE};
constexpr uint8_t A_PIE[] = {vg::LINE, vg::CLOSE};

}  // namespace

void after_vguLine(Thread*, uint32_t path, float, float, float, float, uint32_t error) { shape(error, path, A_LINE); }
void after_vguRect(Thread*, uint32_t path, float, float, float, float, uint32_t error) {
  shape(error, path, A_RECTANGLE);
}
void after_vguRoundRect(Thread*, uint32_t path, float, float, float, float, float, float, uint32_t error) {
  shape(error, path, A_ROUND_RECTANGLE);
}
void after_vguEllipse(Thread*, uint32_t path, float, float, float, float, uint32_t error) {
  shape(error, path, AN_ELLIPSE);
}
void after_vguPolygon(Thread*, uint32_t path, const void*, int32_t, uint32_t closed, uint32_t error) {
  if (error) return;
  repeated(path, vg::LINE, A_CHORD, closed ? 1 : 0);
}
void after_vguArc(Thread*, uint32_t path, float, float, float, float, float, float, uint32_t type, uint32_t error) {
  if (error) return;
  if (type == VGU_ARC_PIE)
    repeated(path, vg::ARC, A_PIE, 2);
  else
    repeated(path, vg::ARC, A_CHORD, type == VGU_ARC_CHORD ? 1 : 0);
}
void after_vgAppendPath(Thread*, uint32_t to, uint32_t from) { copied(to, from); }
void after_vgTransformPath(Thread*, uint32_t to, uint32_t from) { copied(to, from); }
void after_vgInterpolatePath(Thread*, uint32_t to, uint32_t from, uint32_t, float, uint32_t done) {
  if (done) copied(to, from);
}

}  // namespace hook
}  // namespace dt
