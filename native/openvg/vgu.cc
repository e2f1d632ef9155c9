// VGU 1.1: shapes as paths, and warps between quadrilaterals.
#include <algorithm>

#include "engine.h"

namespace dt::vg {
namespace {

// The begin of a shape: the path, or the reason why there is none. Errors are returned, never left for vgGetError.
struct PathShape {
  explicit PathShape(VGPath handle) {
    if (!entry) return;
    path = entry->find<Path>(handle);
    error = !path                                                  ? VGU_BAD_HANDLE_ERROR
            : !(path->capabilities & VG_PATH_CAPABILITY_APPEND_TO) ? VGU_PATH_CAPABILITY_ERROR
                                                                   : VGU_NO_ERROR;
  }
  explicit operator bool() const { return error == VGU_NO_ERROR; }
  Path* operator->() const { return path.get(); }

  Entry entry;
  std::shared_ptr<Path> path;
  VGUErrorCode error = VGU_BAD_HANDLE_ERROR;
};

// Maps the unit square to a quadrilateral with corners p00, p10, p01, p11 (Heckbert's thesis, section 2.2).
bool square_to_quad(const Point p[4], Matrix& out) {
  Point d1 = p[1] - p[3], d2 = p[2] - p[3], sum = p[0] - p[1] + p[3] - p[2];
  double det = d1.x * d2.y - d1.y * d2.x;
  if (det == 0) return false;
  double g = 0, h = 0;
  if (sum.x != 0 || sum.y != 0) {
    g = (sum.x * d2.y - sum.y * d2.x) / det;
    h = (d1.x * sum.y - d1.y * sum.x) / det;
  }
  out.m[0][0] = p[1].x - p[0].x + g * p[1].x, out.m[0][1] = p[2].x - p[0].x + h * p[2].x, out.m[0][2] = p[0].x;
  out.m[1][0] = p[1].y - p[0].y + g * p[1].y, out.m[1][1] = p[2].y - p[0].y + h * p[2].y, out.m[1][2] = p[0].y;
  out.m[2][0] = g, out.m[2][1] = h, out.m[2][2] = 1;
  return out.determinant() != 0;
}

void write(const Matrix& matrix, VGfloat* out) {
  for (int column = 0; column < 3; column++)
    for (int row = 0; row < 3; row++) out[column * 3 + row] = (VGfloat)matrix.m[row][column];
}

Point point(VGfloat x, VGfloat y) { return {input(x), input(y)}; }

}  // namespace
}  // namespace dt::vg

using namespace dt::vg;

extern "C" {

VGUErrorCode vguLine(VGPath path, VGfloat x0, VGfloat y0, VGfloat x1, VGfloat y1) {
  PathShape shape(path);
  if (!shape) return shape.error;
  shape->append(VG_MOVE_TO_ABS, {input(x0), input(y0)});
  shape->append(VG_LINE_TO_ABS, {input(x1), input(y1)});
  return VGU_NO_ERROR;
}

VGUErrorCode vguPolygon(VGPath path, const VGfloat* points, VGint count, VGboolean closed) {
  PathShape shape(path);
  if (!shape) return shape.error;
  if (!usable(points) || count <= 0) return VGU_ILLEGAL_ARGUMENT_ERROR;
  for (VGint i = 0; i < count; i++)
    shape->append(i ? VG_LINE_TO_ABS : VG_MOVE_TO_ABS, {input(points[2 * i]), input(points[2 * i + 1])});
  if (closed) shape->append(VG_CLOSE_PATH, {});
  return VGU_NO_ERROR;
}

VGUErrorCode vguRect(VGPath path, VGfloat x, VGfloat y, VGfloat width, VGfloat height) {
  PathShape shape(path);
  if (!shape) return shape.error;
  width = input(width), height = input(height);
  if (width <= 0 || height <= 0) return VGU_ILLEGAL_ARGUMENT_ERROR;
  shape->append(VG_MOVE_TO_ABS, {input(x), input(y)});
  shape->append(VG_HLINE_TO_REL, {width});
  shape->append(VG_VLINE_TO_REL, {height});
  shape->append(VG_HLINE_TO_REL, {-width});
  shape->append(VG_CLOSE_PATH, {});
  return VGU_NO_ERROR;
}

VGUErrorCode vguRoundRect(VGPath path, VGfloat x, VGfloat y, VGfloat width, VGfloat height, VGfloat arc_width,
                          VGfloat arc_height) {
  PathShape shape(path);
  if (!shape) return shape.error;
  width = input(width), height = input(height);
  if (width <= 0 || height <= 0) return VGU_ILLEGAL_ARGUMENT_ERROR;
  double aw = std::clamp(input(arc_width), 0.0f, width), ah = std::clamp(input(arc_height), 0.0f, height);
  double rw = aw / 2, rh = ah / 2, left = input(x), bottom = input(y);
  shape->append(VG_MOVE_TO_ABS, {left + rw, bottom});
  shape->append(VG_HLINE_TO_REL, {width - aw});
  shape->append(VG_SCCWARC_TO_REL, {rw, rh, 0, rw, rh});
  shape->append(VG_VLINE_TO_REL, {height - ah});
  shape->append(VG_SCCWARC_TO_REL, {rw, rh, 0, -rw, rh});
  shape->append(VG_HLINE_TO_REL, {-(width - aw)});
  shape->append(VG_SCCWARC_TO_REL, {rw, rh, 0, -rw, -rh});
  shape->append(VG_VLINE_TO_REL, {-(height - ah)});
  shape->append(VG_SCCWARC_TO_REL, {rw, rh, 0, rw, -rh});
  shape->append(VG_CLOSE_PATH, {});
  return VGU_NO_ERROR;
}

VGUErrorCode vguEllipse(VGPath path, VGfloat cx, VGfloat cy, VGfloat width, VGfloat height) {
  PathShape shape(path);
  if (!shape) return shape.error;
  width = input(width), height = input(height);
  if (width <= 0 || height <= 0) return VGU_ILLEGAL_ARGUMENT_ERROR;
  shape->append(VG_MOVE_TO_ABS, {(double)input(cx) + width / 2, input(cy)});
  shape->append(VG_SCCWARC_TO_REL, {width / 2, height / 2, 0, -width, 0});
  shape->append(VG_SCCWARC_TO_REL, {width / 2, height / 2, 0, width, 0});
  shape->append(VG_CLOSE_PATH, {});
  return VGU_NO_ERROR;
}

VGUErrorCode vguArc(VGPath path, VGfloat x, VGfloat y, VGfloat width, VGfloat height, VGfloat start, VGfloat extent,
                    VGUArcType type) {
  PathShape shape(path);
  if (!shape) return shape.error;
  width = input(width), height = input(height);
  if (width <= 0 || height <= 0 || type < VGU_ARC_OPEN || type > VGU_ARC_PIE) return VGU_ILLEGAL_ARGUMENT_ERROR;
  double begin = input(start), sweep = input(extent), rw = width / 2.0, rh = height / 2.0;
  Point center = point(x, y);
  auto at = [&](double degrees) {
    double radians = degrees * (M_PI / 180);
    return Point{center.x + rw * std::cos(radians), center.y + rh * std::sin(radians)};
  };
  Point first = at(begin);
  shape->append(VG_MOVE_TO_ABS, {first.x, first.y});
  // Pieces below half an ellipse; turns beyond a few hundred cover nothing new.
  sweep = std::clamp(sweep, -360.0 * 512, 360.0 * 512);
  int pieces = std::max(1, (int)std::ceil(std::fabs(sweep) / 180.0));
  if (std::fabs(sweep) / pieces >= 180) pieces++;
  uint8_t command = sweep >= 0 ? VG_SCCWARC_TO_ABS : VG_SCWARC_TO_ABS;
  for (int i = 1; i <= pieces; i++) {
    Point p = at(begin + sweep * i / pieces);
    shape->append(command, {rw, rh, 0, p.x, p.y});
  }
  if (type == VGU_ARC_PIE) shape->append(VG_LINE_TO_ABS, {center.x, center.y});
  if (type != VGU_ARC_OPEN) shape->append(VG_CLOSE_PATH, {});
  return VGU_NO_ERROR;
}

VGUErrorCode vguComputeWarpSquareToQuad(VGfloat x0, VGfloat y0, VGfloat x1, VGfloat y1, VGfloat x2, VGfloat y2,
                                        VGfloat x3, VGfloat y3, VGfloat* matrix) {
  if (!usable(matrix)) return VGU_ILLEGAL_ARGUMENT_ERROR;
  Point corners[] = {point(x0, y0), point(x1, y1), point(x2, y2), point(x3, y3)};
  Matrix result;
  if (!square_to_quad(corners, result)) return VGU_BAD_WARP_ERROR;
  write(result, matrix);
  return VGU_NO_ERROR;
}

VGUErrorCode vguComputeWarpQuadToSquare(VGfloat x0, VGfloat y0, VGfloat x1, VGfloat y1, VGfloat x2, VGfloat y2,
                                        VGfloat x3, VGfloat y3, VGfloat* matrix) {
  if (!usable(matrix)) return VGU_ILLEGAL_ARGUMENT_ERROR;
  Point corners[] = {point(x0, y0), point(x1, y1), point(x2, y2), point(x3, y3)};
  Matrix there, back;
  if (!square_to_quad(corners, there) || !there.inverse(back)) return VGU_BAD_WARP_ERROR;
  double w = back.m[2][2];
  if (w != 0)
    for (auto& row : back.m)
      for (double& value : row) value /= w;
  write(back, matrix);
  return VGU_NO_ERROR;
}

VGUErrorCode vguComputeWarpQuadToQuad(VGfloat dx0, VGfloat dy0, VGfloat dx1, VGfloat dy1, VGfloat dx2, VGfloat dy2,
                                      VGfloat dx3, VGfloat dy3, VGfloat sx0, VGfloat sy0, VGfloat sx1, VGfloat sy1,
                                      VGfloat sx2, VGfloat sy2, VGfloat sx3, VGfloat sy3, VGfloat* matrix) {
  if (!usable(matrix)) return VGU_ILLEGAL_ARGUMENT_ERROR;
  Point to[] = {point(dx0, dy0), point(dx1, dy1), point(dx2, dy2), point(dx3, dy3)};
  Point from[] = {point(sx0, sy0), point(sx1, sy1), point(sx2, sy2), point(sx3, sy3)};
  Matrix source, target, back;
  if (!square_to_quad(from, source) || !square_to_quad(to, target) || !source.inverse(back)) return VGU_BAD_WARP_ERROR;
  write(target * back, matrix);
  return VGU_NO_ERROR;
}

}  // extern "C"
