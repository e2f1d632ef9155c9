// The fate of primitives and vertices. Every draw is made once more with its positions captured by transform feedback
// and nothing rasterised, and the processor classifies the positions.
//
// The positions come from a twin of the program: the same shaders, linked with gl_Position captured. Fixed-function
// vertices have a twin that says ftransform(). OpenGL ES 1 has no transform feedback: its arrays are read and
// transformed here, in double precision.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <unordered_map>

#include "../../core/signature.h"
#include "geometry_draws.h"
#include "geometry_twins.h"
#include "mesh.h"
#include "source.h"
#include "table_backend.h"
#include "call_shapes.h"
#include "gl_enums.h"

namespace dt::play::metrics {
namespace {

using namespace geometry;

// ---- what there is ------------------------------------------------------------------------------

enum Part : uint8_t { PRIMITIVES, VERTICES, CALLS, PARTS };
// The row of a metric; those before the first are members of Classes.
enum GeometryFigure : uint8_t {
  AREA = 9,
  AVERAGE,
  SIZES,
  VERTICES_SUBMITTED = SIZES + Classes::SIZES,
  DISTINCT,
  TRANSFORMED,
  LIT,
  ACCESSES,
  HITS_16,
  HITS_32,
  RENDER,
  MATRIX,
  MATRIX_UNIFORMS,
  TEXELS,
  WHATS
};
struct GeometryMetric {
  const char *group, *spec;
  Part part;
  uint64_t Classes::* counted = nullptr;
  const char *type = "sum", *unit = "count";
};
constexpr GeometryMetric GEOMETRY_METRICS[WHATS] = {
    {"primitives", "submitted", PRIMITIVES, &Classes::submitted},
    {"primitives", "degenerate", PRIMITIVES, &Classes::degenerate},
    {"primitives", "frustum_culled", PRIMITIVES, &Classes::outside},
    {"primitives", "backface_culled", PRIMITIVES, &Classes::backface},
    {"primitives", "culling_in_doubt", PRIMITIVES, &Classes::in_doubt},
    {"primitives", "discarded", PRIMITIVES, &Classes::discarded},
    {"primitives", "rasterised", PRIMITIVES, &Classes::rasterised},
    {"primitives", "clipped", PRIMITIVES, &Classes::clipped},
    {"vertices", "viewport_transformed", PRIMITIVES, &Classes::corners},
    {"triangles", "area", PRIMITIVES},
    {"triangles", "average_area", PRIMITIVES},
    {"triangles", "area_below_1", PRIMITIVES},
    {"triangles", "area_1_to_4", PRIMITIVES},
    {"triangles", "area_4_to_16", PRIMITIVES},
    {"triangles", "area_16_to_64", PRIMITIVES},
    {"triangles", "area_64_to_256", PRIMITIVES},
    {"triangles", "area_256_to_1024", PRIMITIVES},
    {"triangles", "area_from_1024", PRIMITIVES},
    {"vertices", "vertices_submitted", VERTICES},
    {"vertices", "distinct", VERTICES},
    {"vertices", "transformed_fifo_32", VERTICES},
    {"vertices", "lit", VERTICES},
    {"vertices", "cache_accesses", VERTICES},
    {"vertices", "cache_hits_fifo_16", VERTICES},
    {"vertices", "cache_hits_fifo_32", VERTICES},
    {"calls", "render", CALLS},
    {"calls", "matrix", CALLS},
    {"calls", "matrix_uniforms", CALLS},
    {"calls", "texels_uploaded", CALLS},
};
static_assert(GEOMETRY_METRICS[AREA].spec == std::string_view("area"));

// ---- a source -----------------------------------------------------------------------------------

double distance(const Position& plane, const Position& at) {
  return plane[0] * at[0] + plane[1] * at[1] + plane[2] * at[2] + plane[3] * at[3];
}

struct Result {
  uint64_t segment = 0;
  Classes classes;
  uint64_t counts[WHATS] = {};
  const char* why[PARTS] = {};
};

class GeometrySource : public Source {
 public:
  GeometrySource(const std::vector<int>& numbers, std::vector<GeometryFigure> whats)
      : Source(numbers), whats_(std::move(whats)) {
    for (GeometryFigure w : whats_) needs_[GEOMETRY_METRICS[w].part] = true;
  }
  bool per_context() const override { return false; }  // what is counted here is not the driver's
  unsigned watches() const override {
    unsigned w = WATCH_CALLS;
    if (needs_[PRIMITIVES] || needs_[VERTICES]) w |= WATCH_DRAWS;
    if (needs_[PRIMITIVES]) w |= WATCH_LINKS;
    return w;
  }
  bool begin(uint64_t segment, std::string& why) override {
    (void)why;
    Result fresh = std::move(learnt_);
    learnt_ = {};
    fresh.segment = segment;
    results_.push_back(fresh);
    runs_ = true;
    return true;
  }
  void end() override { runs_ = false; }
  void collect(Sink& to, bool) override {
    while (!results_.empty() && !(runs_ && results_.size() == 1)) {
      deliver(to, results_.front());
      results_.pop_front();
    }
  }
  bool disturbs(uint32_t target) const override {
    // Counts of primitives and of what shaders ran: our draws would be among them.
    bool counts = target == GL_PRIMITIVES_GENERATED || target == GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN ||
                  target == GL_TRANSFORM_FEEDBACK_OVERFLOW || target == GL_TRANSFORM_FEEDBACK_STREAM_OVERFLOW ||
                  (target >= GL_VERTICES_SUBMITTED && target <= GL_CLIPPING_OUTPUT_PRIMITIVES) ||
                  target == GL_GEOMETRY_SHADER_INVOCATIONS;
    return counts && needs_[PRIMITIVES];
  }
  void forget(const void* context) override {
    auto it = captures_.find(context);
    if (it == captures_.end()) return;
    if (context == current_context() && it->second.feedback) {
      driver::glDeleteTransformFeedbacks(1, &it->second.feedback);
      driver::glDeleteBuffers(1, &it->second.buffer);
      driver::glDeleteQueries(2, it->second.queries);
    }
    captures_.erase(it);
  }

  void see(const Call& call) override;
  void linked(uint32_t program) override {
    if (!can_capture().empty()) return;
    drain_errors();
    Twin& twin = twins_[{tls.context->share_group, program}];
    if (twin.program) driver::glDeleteProgram(twin.program);
    twin = make_twin(program);
    drain_errors();
  }
  void around(Draw& draw) override;

 private:
  struct Capture {  // of a context
    uint32_t feedback = 0, buffer = 0, queries[2] = {};
    uint64_t room = 0;  // bytes
    Twin fixed;
    bool fixed_made = false;
  };
  void deliver(Sink& to, const Result& r);
  static std::string can_capture();
  // `expected` primitives are to come; -1: it is not known how many.
  struct Captures {
    uint64_t written, corners;  // primitives, and how many corners each has
    unsigned own_planes;
  };
  Twin* twin_for(uint32_t program, unsigned own_planes, const char*& why);
  static void bind_feedback(Capture& mine);
  static bool draw_captured(Draw& draw, Capture& mine, uint32_t mode, uint64_t each, int64_t expected, bool& drew,
                            uint64_t& generated, uint64_t& written);
  static bool classify(const float* at, Captures size, const Twin& twin, const std::vector<Position>& eyes,
                       const std::vector<Raster>& states, Classes& to, const char*& why);
  bool capture(Draw& draw, int64_t expected, const Raster& state, unsigned own_planes, Classes& to, const char*& why);
  bool transform(const std::vector<DrawPart>& parts, uint32_t mode, const Raster& state, unsigned own_planes,
                 Classes& to, const char*& why);
  void vertices(const std::vector<DrawPart>& parts, bool lights);

  std::vector<GeometryFigure> whats_;
  bool needs_[PARTS] = {};
  Result learnt_;  // of draws that no segment has yet
  std::deque<Result> results_;
  bool runs_ = false, list_runs_ = false, list_expands_ = false;
  std::map<const void*, Capture> captures_;
  std::map<std::pair<uint32_t, uint32_t>, Twin> twins_;
};

// Why positions cannot be captured in the current context.
std::string GeometrySource::can_capture() {
  const GlContext* c = tls.context;
  if (!c || !c->version) return "there is no context";
  if (!driver::glBindTransformFeedback || !driver::glBeginTransformFeedback || !driver::glMapBufferRange)
    return "the driver has no transform feedback objects";
  if (c->api == 1) {
    if (c->version < 30 || (c->version < 40 && !has_extension("GL_ARB_transform_feedback2")))
      return "OpenGL 4.0 or GL_ARB_transform_feedback2 has what it needs";
  } else if (c->version < 32 && (c->version < 30 || !(has_extension("GL_EXT_geometry_shader") ||
                                                      has_extension("GL_OES_geometry_shader")))) {
    return c->version < 20 ? "OpenGL ES 1 has no transform feedback"
                           : "OpenGL ES 3.2 or GL_EXT_geometry_shader has what it needs";
  }
  return "";
}

// The program that captures what the current one makes of vertices; nullptr: there is none, and `why`.
Twin* GeometrySource::twin_for(uint32_t program, unsigned own_planes, const char*& why) {
  const GlContext* c = tls.context;
  const bool es = c->api == 2;
  Capture& mine = captures_[current_context()];
  Twin* twin = nullptr;
  if (program) {
    auto it = twins_.find({c->share_group, program});
    if (it == twins_.end()) return why = "its program was not linked from shaders in the recording", nullptr;
    twin = &it->second;
    int deleted = 0;
    driver::glGetProgramiv(program, GL_DELETE_STATUS, &deleted);
    if (deleted) return why = "its program is deleted and lives only as long as it is in use", nullptr;
  }
  bool fixed = !es && !c->core && (!twin || twin->why == "its program has no vertex shader");
  if (!program && c->version >= (es ? 31u : 41u) && integer(GL_PROGRAM_PIPELINE_BINDING))
    return why = "it draws with separate programs", nullptr;
  if (fixed) {
    if (has_extension("GL_ARB_vertex_program") && enabled(GL_VERTEX_PROGRAM_ARB))
      return why = "a program in assembler transforms its vertices", nullptr;
    if (!mine.fixed_made) mine.fixed_made = true, mine.fixed = make_fixed_twin();
    twin = &mine.fixed;
  }
  if (!twin) return why = "it draws without a program", nullptr;
  if (!twin->why.empty()) return why = lasting(twin->why), nullptr;
  if (twin->named[CULL_DISTANCE] && !twin->sizes[CULL_DISTANCE])
    return why = "its shader names gl_CullDistance, which the driver does not hand out", nullptr;
  if (twin->named[VIEWPORT_INDEX] && !twin->sizes[VIEWPORT_INDEX])
    return why = "its shader names gl_ViewportIndex, which the driver does not hand out", nullptr;
  if (own_planes && twin->sizes[CLIP_DISTANCE] ? own_planes >> twin->sizes[CLIP_DISTANCE] != 0
                                               : own_planes && !twin->sizes[CLIP_VERTEX])
    return why = twin->named[CLIP_DISTANCE] || twin->named[CLIP_VERTEX]
                     ? "the driver does not hand out what the program clips by"
                     : "the program clips at planes, and its shader does not say how far away they are",
           nullptr;
  return twin;
}

void GeometrySource::bind_feedback(Capture& mine) {
  bool made = !mine.feedback;
  if (made) {
    driver::glGenTransformFeedbacks(1, &mine.feedback);
    driver::glGenBuffers(1, &mine.buffer);
    driver::glGenQueries(2, mine.queries);
  }
  driver::glBindTransformFeedback(GL_TRANSFORM_FEEDBACK, mine.feedback);
  if (made) driver::glBindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, 0, mine.buffer);
}

// Takes the captured primitives into account.
bool GeometrySource::classify(const float* at, Captures size, const Twin& twin, const std::vector<Position>& eyes,
                              const std::vector<Raster>& states, Classes& to, const char*& why) {
  const uint64_t stride = twin.stride();
  for (uint64_t i = 0; i < size.written; ++i) {
    Position p[3];
    Own own;
    int viewport[3] = {};
    unsigned inside_of_culls = 0;
    for (uint64_t k = 0; k < size.corners; ++k, at += stride) {
      p[k] = {at[0], at[1], at[2], at[3]};
      const float* clip = at + twin.offset(CLIP_DISTANCE);
      own.planes = 0;
      for (int n = 0; n < twin.sizes[CLIP_DISTANCE]; ++n)
        if (size.own_planes >> n & 1)
          own.distances[k][static_cast<size_t>(own.planes++)] = static_cast<double>(clip[n]);
      for (auto& plane : eyes) {
        const float* eye = at + twin.offset(CLIP_VERTEX);
        own.distances[k][static_cast<size_t>(own.planes++)] = distance(plane, {eye[0], eye[1], eye[2], eye[3]});
      }
      for (int n = 0; n < twin.sizes[CULL_DISTANCE]; ++n)
        if (!(at[twin.offset(CULL_DISTANCE) + static_cast<uint64_t>(n)] < 0)) inside_of_culls |= 1u << n;
      if (twin.sizes[VIEWPORT_INDEX]) memcpy(&viewport[k], at + twin.offset(VIEWPORT_INDEX), 4);
    }
    own.culled = inside_of_culls != (1u << twin.sizes[CULL_DISTANCE]) - 1;
    int which = viewport[size.corners - 1];
    for (uint64_t k = 0; k + 1 < size.corners && twin.sizes[VIEWPORT_INDEX]; ++k)
      if (viewport[k] != which) return why = "corners of one primitive are in different viewports", false;
    if (which < 0 || static_cast<size_t>(which) >= states.size())
      return why = "it draws to a viewport that there is not", false;
    classify_primitive(size.corners, p, states[static_cast<size_t>(which)], to, own);
  }
  return true;
}

// Draws with transform feedback on, into a buffer with room for all; `each`: bytes of a primitive. False: it is
// refused.
bool GeometrySource::draw_captured(Draw& draw, Capture& mine, uint32_t mode, uint64_t each, int64_t expected,
                                   bool& drew, uint64_t& generated, uint64_t& written) {
  bool good = true;
  auto make_room = [&](uint64_t bytes) {
    if (mine.room >= bytes) return;
    mine.room = std::max<uint64_t>(1 << 20, bytes * 5 / 4);
    driver::glBufferData(GL_TRANSFORM_FEEDBACK_BUFFER, static_cast<intptr_t>(mine.room), nullptr, GL_STREAM_READ);
    driver::glBindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, 0, mine.buffer);
  };
  auto draw_once = [&] {
    driver::glBeginTransformFeedback(mode);
    good = !take_error();
    drew = good && draw.perform();
    good = good && !take_error();
    driver::glEndTransformFeedback();
    good = good && !take_error();
  };
  driver::glBindBuffer(GL_TRANSFORM_FEEDBACK_BUFFER, mine.buffer);
  // A query gets their number only where it cannot be known before: the driver would finish its pending work. A mark at
  // the end beforehand shows that they did come.
  if (expected > 0) {
    static const uint32_t mark[4] = {0x7FC0DEAD, 0x7FC0DEAD, 0x7FC0DEAD, 0x7FC0DEAD};
    written = generated = static_cast<uint64_t>(expected);
    uint64_t last = written * each - 16;
    make_room(last + 16);
    driver::glBufferSubData(GL_TRANSFORM_FEEDBACK_BUFFER, static_cast<intptr_t>(last), 16, mark);
    draw_once();
    if (good && drew) {
      void* at =
          driver::glMapBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, static_cast<intptr_t>(last), 16, GL_MAP_READ_BIT);
      if (!at || !memcmp(at, mark, sizeof mark)) expected = -1;
      if (at) driver::glUnmapBuffer(GL_TRANSFORM_FEEDBACK_BUFFER);
    }
  }
  for (int round = 0; expected < 0 && round < 3; ++round) {
    make_room(std::max<uint64_t>(1, generated * each));
    driver::glBeginQuery(GL_PRIMITIVES_GENERATED, mine.queries[0]);
    driver::glBeginQuery(GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN, mine.queries[1]);
    draw_once();
    driver::glEndQuery(GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN);
    driver::glEndQuery(GL_PRIMITIVES_GENERATED);
    const ResultsHere here;
    uint32_t counted[2] = {};
    driver::glGetQueryObjectuiv(mine.queries[0], GL_QUERY_RESULT, &counted[0]);
    driver::glGetQueryObjectuiv(mine.queries[1], GL_QUERY_RESULT, &counted[1]);
    generated = counted[0], written = counted[1];
    if (!good || !drew || generated <= written) break;
  }
  return good;
}

bool GeometrySource::capture(Draw& draw, int64_t expected, const Raster& state, unsigned own_planes, Classes& to,
                             const char*& why) {
  if (std::string no = can_capture(); !no.empty()) return why = lasting(no), false;
  if (*draw.refusal()) return why = draw.refusal(), false;
  auto program = static_cast<uint32_t>(integer(GL_CURRENT_PROGRAM));
  Capture& mine = captures_[current_context()];
  Twin* twin = twin_for(program, own_planes, why);
  if (!twin) return false;
  std::vector<Raster> states{state};
  if (twin->sizes[VIEWPORT_INDEX]) states = viewports(state);
  std::vector<Position> eyes;
  if (own_planes && !twin->sizes[CLIP_DISTANCE]) eyes = eye_planes(own_planes);
  const uint64_t stride = twin->stride(), size = stride * 4;

  uint32_t asked = primitive_mode(draw), mode = twin->stage_mode;
  if (mode != ~0u) expected = -1;
  if (mode == ~0u) mode = captured_mode(asked);
  if (mode == ~0u) return why = "its primitives are none that are known here", false;
  drain_errors();
  uint64_t corners = mode == 0 ? 1 : mode == 1 ? 2 : 3;
  int own_buffer = integer(GL_TRANSFORM_FEEDBACK_BUFFER_BINDING), own_feedback = integer(GL_TRANSFORM_FEEDBACK_BINDING);
  bool pause = integer(GL_TRANSFORM_FEEDBACK_ACTIVE) && !integer(GL_TRANSFORM_FEEDBACK_PAUSED);
  if (pause) driver::glPauseTransformFeedback();
  bind_feedback(mine);
  driver::glUseProgram(twin->program);
  twin->uniforms.write(program, twin->program, twin->uniforms.values(program));
  bool discards = enabled(GL_RASTERIZER_DISCARD);
  if (!discards) driver::glEnable(GL_RASTERIZER_DISCARD);
  drain_errors();

  bool drew = true;
  uint64_t generated = 0, written = 0;
  bool good = draw_captured(draw, mine, mode, corners * size, expected, drew, generated, written);
  if (good && generated > written)
    good = false, why = "the driver captures fewer primitives than it draws";
  else if (!good)
    why = "the driver refuses to capture this draw";
  if (good && drew && written) {
    uint64_t bytes = written * corners * size;
    const auto* mapped = static_cast<const float*>(
        driver::glMapBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, 0, static_cast<intptr_t>(bytes), GL_MAP_READ_BIT));
    if (!mapped) good = false, why = "the driver does not hand out what it captured";
    good = good && classify(mapped, {written, corners, own_planes}, *twin, eyes, states, to, why);
    if (mapped) driver::glUnmapBuffer(GL_TRANSFORM_FEEDBACK_BUFFER);
  }

  if (!discards) driver::glDisable(GL_RASTERIZER_DISCARD);
  driver::glBindTransformFeedback(GL_TRANSFORM_FEEDBACK, static_cast<uint32_t>(own_feedback));
  driver::glBindBuffer(GL_TRANSFORM_FEEDBACK_BUFFER, static_cast<uint32_t>(own_buffer));
  driver::glUseProgram(program);
  if (pause) driver::glResumeTransformFeedback();
  drain_errors();
  return good;
}

// The product of two matrices, column by column.
void multiply(const float* p, const float* m, double* both) {
  for (size_t column = 0; column < 4; ++column)
    for (size_t row = 0; row < 4; ++row) {
      double sum = 0;
      for (size_t k = 0; k < 4; ++k)
        sum += static_cast<double>(p[k * 4 + row]) * static_cast<double>(m[column * 4 + k]);
      both[column * 4 + row] = sum;
    }
}

// A vertex that is transformed.
struct Seen {
  Position at{};
  std::array<double, Own::MOST> own{};  // distances to the program's planes, which are in front of the eye
};

// 0: none that vertices are known to be of.
uint64_t component_bytes(uint32_t type) {
  return type == GL_BYTE ? 1 : type == GL_SHORT ? 2 : type == GL_FLOAT || type == GL_FIXED ? 4 : 0;
}

// A number of a vertex in an array of that type.
double component_at(uint32_t type, const uint8_t* at) {
  int8_t b;
  int16_t s;
  int32_t i;
  float x;
  switch (type) {
    case GL_BYTE: return memcpy(&b, at, 1), b;
    case GL_SHORT: return memcpy(&s, at, 2), s;
    case GL_FIXED: return memcpy(&i, at, 4), i / 65536.0;
    default: return memcpy(&x, at, 4), static_cast<double>(x);
  }
}

// OpenGL ES 1: the array of vertices, times the matrices.
bool GeometrySource::transform(const std::vector<DrawPart>& parts, uint32_t mode, const Raster& state,
                               unsigned own_planes, Classes& to, const char*& why) {
  std::vector<Position> eyes = eye_planes(own_planes);
  if (has_extension("GL_OES_matrix_palette") && enabled(GL_MATRIX_PALETTE_ARB))
    return why = "a palette of matrices transforms its vertices", false;
  if (!enabled(GL_VERTEX_ARRAY)) return true;
  float m[16], p[16];
  driver::glGetFloatv(GL_MODELVIEW_MATRIX, m);
  driver::glGetFloatv(GL_PROJECTION_MATRIX, p);
  double both[16];
  multiply(p, m, both);
  auto size = static_cast<uint64_t>(integer(GL_VERTEX_ARRAY_SIZE));
  auto type = static_cast<uint32_t>(integer(GL_VERTEX_ARRAY_TYPE));
  auto stride = static_cast<uint64_t>(integer(GL_VERTEX_ARRAY_STRIDE));
  auto buffer = static_cast<uint32_t>(integer(GL_VERTEX_ARRAY_BUFFER_BINDING));
  const uint64_t each = component_bytes(type);
  if (!each) return why = "its vertices are of a type that is not known here", false;
  if (!stride) stride = size * each;
  void* pointer = nullptr;
  driver::glGetPointerv(GL_VERTEX_ARRAY_POINTER, &pointer);
  std::vector<uint8_t> content;
  const auto* base = static_cast<const uint8_t*>(pointer);
  uint64_t bytes = ~0ull;
  if (buffer) {
    int old = integer(GL_ARRAY_BUFFER_BINDING);
    driver::glBindBuffer(GL_ARRAY_BUFFER, buffer);
    bool read = read_buffer(GL_ARRAY_BUFFER, reinterpret_cast<uint64_t>(pointer), ~0ull >> 1, content, why);
    driver::glBindBuffer(GL_ARRAY_BUFFER, static_cast<uint32_t>(old));
    if (!read) return false;
    base = content.data(), bytes = content.size();
  } else {
    // The player's copy of the program's memory goes at least so far behind any address.
    bytes = 1ull << 28;
    if (!base) return why = "its vertices are not in the recording", false;
  }
  auto position = [&](uint64_t index) {
    double v[4] = {0, 0, 0, 1};
    for (uint64_t k = 0; k < size && k < 4; ++k) {
      uint64_t at = index * stride + k * each;
      if (at + each > bytes) continue;
      v[k] = component_at(type, base + at);
    }
    Seen out;
    Position eye{};
    for (size_t row = 0; row < 4; ++row)
      for (size_t k = 0; k < 4; ++k) {
        out.at[row] += both[k * 4 + row] * v[k];
        eye[row] += static_cast<double>(m[k * 4 + row]) * v[k];
      }
    for (size_t i = 0; i < eyes.size(); ++i) out.own[i] = distance(eyes[i], eye);
    return out;
  };
  std::vector<uint64_t> stream;
  for (auto& part : parts) {
    if (!vertices_of(part, -1, stream, why)) return false;
    std::unordered_map<uint64_t, Seen> known;
    auto at = [&](size_t n) -> const Seen& {
      auto [it, fresh] = known.try_emplace(stream[n]);
      if (fresh) it->second = position(stream[n]);
      return it->second;
    };
    bool some = assemble(mode, stream.size(), [&](int corners, size_t a, size_t b, size_t c) {
      Own own;
      own.planes = static_cast<int>(eyes.size());
      own.distances = {at(a).own, at(b).own, at(c).own};
      const Position p[3] = {at(a).at, at(b).at, at(c).at};
      classify_primitive(static_cast<uint64_t>(corners), p, state, to, own);
    });
    if (!some) return why = "its primitives are none that are known here", false;
  }
  return true;
}

void GeometrySource::vertices(const std::vector<DrawPart>& parts, bool lights) {
  const char*& why = learnt_.why[VERTICES];
  std::vector<uint64_t> stream;
  std::vector<uint32_t> indices;
  for (auto& part : parts) {
    uint64_t submitted = part.count, distinct = part.count, transformed = part.count;
    if (part.indexed && part.count) {
      if (!vertices_of(part, restart_index(part.type), stream, why)) return;
      indices.clear();
      for (uint64_t v : stream)
        if (v != RESTART) indices.push_back(static_cast<uint32_t>(v));
      CacheUse use = cache_use(indices);
      submitted = use.accesses, distinct = use.distinct, transformed = use.accesses - use.hits_32;
      learnt_.counts[ACCESSES] += use.accesses * part.instances;
      learnt_.counts[HITS_16] += use.hits_16 * part.instances;
      learnt_.counts[HITS_32] += use.hits_32 * part.instances;
    }
    learnt_.counts[VERTICES_SUBMITTED] += submitted * part.instances;
    learnt_.counts[DISTINCT] += distinct * part.instances;
    learnt_.counts[TRANSFORMED] += transformed * part.instances;
    if (lights) learnt_.counts[LIT] += transformed * part.instances;
  }
}

// Pixels that are copied are no primitives.
bool draws_primitives(const Call& call) {
  if (!(call.flags & (FLAG_DRAW | FLAG_LIST_CALL | FLAG_VERTICES_BEGIN)) || call.flags & FLAG_VERTICES_END)
    return false;
  return !(shapes_of(call.name) & SHAPE_PIXELS);
}

void GeometrySource::around(Draw& draw) {
  if (!draws_primitives(draw)) return;
  const GlContext* c = tls.context;
  if (!c || !c->version) return;
  drain_errors();
  std::vector<DrawPart> parts;
  const char* why = nullptr;
  Draw::Given given = draw.given();
  if (given.vertices == 0) return;  // a list that only sets state
  if (given.vertices > 0) {
    DrawPart p;
    p.count = static_cast<uint64_t>(given.vertices);
    parts.push_back(p);
  }
  bool known = *draw.refusal() ? (why = draw.refusal(), false) : !parts.empty() || parts_of(draw, parts, why);
  bool es1 = c->api == 2 && c->version < 20;
  if (Mesh* mesh = wanted_mesh()) {
    const char* no = !known ? why : given.vertices > 0 ? "its vertices are given one by one" : nullptr;
    mesh->why_in = no;
    if (given.vertices > 0) mesh->given += static_cast<uint64_t>(given.vertices);
    if (parts.size() == 1) mesh->instances = parts[0].instances, mesh->base_instance = parts[0].base_instance;
    std::vector<uint64_t> stream;
    for (auto& part : parts)
      if (!mesh->why_in && vertices_of(part, part.indexed ? restart_index(part.type) : -1, stream, mesh->why_in))
        keep_vertices(*mesh, stream, primitive_mode(draw), parts.size() == 1);
  }
  if (needs_[VERTICES]) {
    if (!known) {
      learnt_.why[VERTICES] = why;
    } else {
      bool fixed = es1 || (c->api == 1 && !c->core && !(c->version >= 20 && integer(GL_CURRENT_PROGRAM)));
      vertices(parts, fixed && enabled(GL_LIGHTING));
    }
  }
  if (needs_[PRIMITIVES]) {
    Raster state;
    unsigned own_planes = 0;
    const char*& lost = learnt_.why[PRIMITIVES];
    Classes classes;
    raster_state(state, own_planes);
    bool good = true;
    if (es1) {
      if (!known)
        lost = why, good = false;
      else
        good = transform(parts, static_cast<uint32_t>(draw.number("mode")), state, own_planes, classes, lost);
    } else {
      int64_t expected = !known               ? -1
                         : given.vertices > 0 ? given.primitives
                                              : count_primitives(parts, primitive_mode(draw));
      good = capture(draw, expected, state, own_planes, classes, lost);
    }
    if (good) learnt_.classes.add(classes);
  }
  drain_errors();
}

// ---- calls --------------------------------------------------------------------------------------

void GeometrySource::see(const Call& call) {
  const char* name = call.name;
  if (call.expanded && !(call.flags & FLAG_LIST_BEGIN)) return;  // it was counted when it was compiled
  // GL_COMPILE_AND_EXECUTE
  if (call.flags & FLAG_LIST_BEGIN)
    list_runs_ = call.number("mode") == GL_COMPILE_AND_EXECUTE, list_expands_ = call.expanded;
  Result* to = runs_ && !results_.empty() ? &results_.back() : nullptr;
  if (!to) return;
  bool draws = draws_primitives(call);
  if (call.in_list && draws && list_runs_ && !list_expands_)
    to->why[PRIMITIVES] = to->why[VERTICES] = "a display list is compiled and executed";
  if (draws && (!call.in_list || list_runs_)) ++to->counts[RENDER];
  if (call.in_list && !list_runs_) return;
  if (call.flags & FLAG_MATRIX)
    ++to->counts[MATRIX];
  else if (call.flags & FLAG_UNIFORM && contains(name, "Matrix"))
    ++to->counts[MATRIX_UNIFORMS];
  else if (call.flags & FLAG_TEXTURE_UPLOAD) {
    bool content = call.number("pixels") || call.number("data") || (tls.context && tls.context->buffers[gl::UNPACK]);
    if (!content) return;
    auto extent = [&](const char* parameter, bool has) {
      return has ? static_cast<uint64_t>(std::max<int32_t>(static_cast<int32_t>(call.number(parameter)), 0)) : 1;
    };
    to->counts[TEXELS] +=
        extent("width", true) * extent("height", !contains(name, "1D")) * extent("depth", contains(name, "3D"));
  }
}

void GeometrySource::deliver(Sink& to, const Result& r) {
  const Classes& c = r.classes;
  for (size_t i = 0; i < whats_.size(); ++i) {
    GeometryFigure w = whats_[i];
    if (const char* why = r.why[GEOMETRY_METRICS[w].part]) {
      to.lost(r.segment, metrics[i], why);
      continue;
    }
    const auto counted = GEOMETRY_METRICS[w].counted;
    double v = static_cast<double>(counted ? c.*counted : r.counts[w]);
    if (w == AREA) v = c.area;
    if (w >= SIZES && w < VERTICES_SUBMITTED) v = static_cast<double>(c.sizes[static_cast<size_t>(w - SIZES)]);
    if (w == AVERAGE) {
      to.mean(r.segment, metrics[i], c.area, static_cast<double>(c.triangles));
      continue;
    }
    to.value(r.segment, metrics[i], v);
  }
}

class Geometry : public TableBackend<GEOMETRY_METRICS> {
 public:
  Geometry() : TableBackend("geometry") {}
  std::string reason() override { return current_context() ? "" : "there is no context"; }
  std::string group_of(const std::string&) override { return "geometry"; }

 private:
  std::unique_ptr<Source> measuring(const std::vector<int>& numbers, const std::vector<const GeometryMetric*>& rows,
                                    std::string&) override {
    std::vector<GeometryFigure> whats;
    for (auto* row : rows) whats.push_back(static_cast<GeometryFigure>(row - GEOMETRY_METRICS));
    return std::make_unique<GeometrySource>(numbers, std::move(whats));
  }
} g_geometry;

}  // namespace
}  // namespace dt::play::metrics
