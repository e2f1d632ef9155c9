// Kept vertices of a draw, for all players.
#include "../line.h"
#include "mesh.h"

namespace dt::play::metrics {

Mesh*& wanted_mesh() {
  static Mesh* wanted = nullptr;
  return wanted;
}

void classify_primitive(uint64_t corners, const Position* at, const Raster& state, Classes& to, const Own& own) {
  Classes one;
  if (corners == 1)
    classify_point(at[0], state, one, own);
  else if (corners == 2)
    classify_line(at[0], at[1], state, one, own);
  else
    classify_triangle(at[0], at[1], at[2], state, one, own);
  to.add(one);
  if (!wanted_mesh()) return;
  Mesh& mesh = *wanted_mesh();
  mesh.corners = corners;
  if (mesh.fates.size() >= Mesh::MOST) return mesh.more = true, void();
  for (uint64_t k = 0; k < corners; ++k)
    for (double v : at[k]) mesh.positions.push_back(static_cast<float>(v));
  mesh.fates.push_back(one.degenerate  ? DEGENERATE_
                       : one.outside   ? OUTSIDE_
                       : one.backface  ? BACKFACE_
                       : one.discarded ? DISCARDED_
                       : one.clipped   ? CLIPPED_
                                       : RASTERISED_);
  mesh.areas.push_back(static_cast<float>(one.area));
}

void keep_vertices(Mesh& mesh, const std::vector<uint64_t>& stream, uint32_t mode, bool one) {
  mesh.mode = mode;
  if (mesh.indices.size() + stream.size() > Mesh::MOST) return mesh.more = true, void();
  size_t begin = mesh.indices.size();
  for (uint64_t v : stream) mesh.indices.push_back(static_cast<uint32_t>(v));
  // Quads and polygons are split as the driver likes.
  if (!one || mode > 6) return;
  mesh.indices.push_back(~0u);
  for (size_t i = begin; i < mesh.indices.size(); ++i) {
    if (mesh.indices[i] != ~0u) continue;
    assemble(mode, i - begin, [&](int corners, size_t a, size_t b, size_t c) {
      const size_t all[3] = {a, b, c};
      for (int k = 0; k < corners; ++k) mesh.places.push_back(static_cast<uint32_t>(begin + all[k]));
    });
    begin = i + 1;
  }
  mesh.indices.pop_back();
}

void write_mesh(FILE* to, const Mesh& m) {
  JsonObject line;
  line.put("found", m.drawn).put("why", m.why).put("why_in", m.why_in).put("mode", m.mode).put("corners", m.corners);
  line.put("more", m.more).values("viewport", m.viewport).put("primitives", m.fates.size());
  line.put("instances", m.instances).put("base_instance", m.base_instance).put("given", m.given);
  line.put("indices", m.indices.size()).put("places", m.places.size()).put("vertices", m.vertices.size());
  auto& out = line.writer().list("inputs");
  for (auto& input : m.inputs) {
    out.object().put("name", input.name).put("size", input.size).put("values", input.values.size());
    out.put("constant", input.constant).put("divisor", input.divisor).put("why", input.why).end();
  }
  out.end();
  put_line(to, line);
  auto data = [&](auto& numbers) { fwrite(numbers.data(), sizeof numbers[0], numbers.size(), to); };
  for (auto& input : m.inputs) data(input.values);
  data(m.positions), data(m.areas), data(m.indices), data(m.places), data(m.vertices), data(m.fates);
}

}  // namespace dt::play::metrics
