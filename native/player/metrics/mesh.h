// The vertices of one draw: what goes into the first shader, what comes out of the last one, and what becomes of each
// primitive.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "geometry_classes.h"

namespace dt::play::metrics {

enum Fate : uint8_t {
  DEGENERATE_,
  OUTSIDE_,
  BACKFACE_,
  DISCARDED_,
  RASTERISED_,
  CLIPPED_
};  // CLIPPED_: rasterised too

struct VertexInput {
  std::string name;
  int size = 4;  // numbers of a vertex
  // By vertex, as `vertices` has them; of one vertex where all have the same; with a divisor one for as many instances.
  std::vector<double> values;
  bool constant = false;
  uint32_t divisor = 0;  // instances that share a value; 0: each vertex has its own
  const char* why = nullptr;
};

struct Mesh {
  static constexpr size_t MOST = 1 << 20;  // primitives, and vertices
  uint32_t mode = 0;
  uint64_t corners = 3;  // of a primitive
  uint64_t instances = 1, base_instance = 0;
  uint64_t given = 0;              // vertices that calls give one by one; `vertices` does not have them
  std::vector<float> positions;    // in clip coordinates, four numbers a corner
  std::vector<uint8_t> fates;      // of primitives
  std::vector<float> areas;        // of those that are rasterised, in pixels
  std::vector<uint32_t> indices;   // of vertices in order; ~0 where a primitive ends
  std::vector<uint32_t> places;    // of the corners of one instance in `indices`; empty: not known
  std::vector<uint32_t> vertices;  // all that are named there, ascending
  std::vector<VertexInput> inputs;
  int viewport[4] = {};          // from below; of a negative height where y of the positions points down
  const char* why = nullptr;     // positions are not known
  const char* why_in = nullptr;  // nor are the vertices
  bool more = false;             // there are more than MOST
  bool drawn = false;            // there is such a draw
};

// Where the geometry source puts what it learns of a draw; nullptr: nowhere.
Mesh*& wanted_mesh();
// Classifies a primitive, and keeps it where somebody wants the mesh.
void classify_primitive(uint64_t corners, const Position* at, const Raster& state, Classes& to, const Own& own);
// Keeps the vertices that a draw names in order (all ones: a primitive ends), and the known vertices of each primitive:
// for a call that makes `one` draw.
void keep_vertices(Mesh& mesh, const std::vector<uint64_t>& stream, uint32_t mode, bool one);
// Reads the inputs of its vertices as the current context has them.
void read_inputs(Mesh& mesh);
// One line of JSON, and bare data behind it.
void write_mesh(FILE* to, const Mesh& mesh);

}  // namespace dt::play::metrics
