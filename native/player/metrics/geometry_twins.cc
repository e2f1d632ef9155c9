#include "geometry_twins.h"

#include <algorithm>
#include <cstring>

#include "geometry_draws.h"
#include "gl_enums.h"
#include "programs.h"
#include "shader_text.h"
#include "source.h"

namespace dt::play::metrics::geometry {
namespace {

const char* const CAPTURED_NAMES[CAPTURED] = {"gl_ClipDistance", "gl_CullDistance", "gl_ViewportIndex",
                                              "gl_ClipVertex"};
// Drivers do not hand out gl_CullDistance: in the twin it is an output of another name, which culls nothing.
const char* const OUR_CULL_DISTANCE = "dt_CullDistance";

// Returns whether stages before the rasteriser write to buffers or images: they would write twice.
bool writes_memory(uint32_t program) {
  const GlContext* c = tls.context;
  if (!driver::glGetProgramInterfaceiv || !driver::glGetProgramResourceiv || c->version < (c->api == 2 ? 31u : 43u))
    return false;
  for (uint32_t interface :
       {uint32_t{GL_SHADER_STORAGE_BLOCK}, uint32_t{GL_ATOMIC_COUNTER_BUFFER}, uint32_t{GL_UNIFORM}}) {
    int count = 0;
    driver::glGetProgramInterfaceiv(program, interface, GL_ACTIVE_RESOURCES, &count);
    for (int i = 0; i < count; ++i) {
      static const uint32_t asked[] = {GL_REFERENCED_BY_VERTEX_SHADER, GL_REFERENCED_BY_VERTEX_SHADER + 1,
                                       GL_REFERENCED_BY_VERTEX_SHADER + 2, GL_REFERENCED_BY_VERTEX_SHADER + 3};
      int by[4] = {}, type = 0;
      if (interface == GL_UNIFORM) {
        static const uint32_t type_of = GL_TYPE;
        driver::glGetProgramResourceiv(program, interface, static_cast<uint32_t>(i), 1, &type_of, 1, nullptr, &type);
        if (!is_image(static_cast<uint32_t>(type))) continue;
      }
      // Stages that the context does not know are errors of ours alone.
      for (size_t k = 0; k < 4; ++k)
        driver::glGetProgramResourceiv(program, interface, static_cast<uint32_t>(i), 1, &asked[k], 1, nullptr, &by[k]);
      if (by[0] || by[1] || by[2] || by[3]) return true;
    }
  }
  return false;
}

const char* const POSITION[] = {"gl_Position"};

// The text with an output of ours in place of gl_CullDistance.
std::string with_our_cull_distance(const std::string& text) {
  const std::string theirs = CAPTURED_NAMES[CULL_DISTANCE], ours = OUR_CULL_DISTANCE;
  std::string made = text;
  unsigned size = 1;
  bool declared = false;
  for (size_t at = 0; (at = made.find(theirs, at)) != made.npos; at += ours.size()) {
    size_t line = made.rfind('\n', at), before = made.find("out ", line == made.npos ? 0 : line);
    declared |= before < at && made.find(';', before) > at;
    size_t bracket = made.find_first_not_of(" \t", at + theirs.size());
    if (bracket < made.size() && made[bracket] == '[')
      size = std::max(size, static_cast<unsigned>(strtoul(made.c_str() + bracket + 1, nullptr, 10)) + 1);
    made.replace(at, theirs.size(), ours);
  }
  if (declared) return made;
  size_t place = 0;  // behind the last line about the version or extensions
  for (size_t at = 0; at < made.size();) {
    size_t end = std::min(made.find('\n', at), made.size() - 1) + 1, word = made.find_first_not_of(" \t", at);
    if (word < end && made[word] == '#') {
      word = made.find_first_not_of(" \t", word + 1);
      if (word < end && (!made.compare(word, 7, "version") || !made.compare(word, 9, "extension"))) place = end;
    }
    at = end;
  }
  made.insert(place, std::string("out ") + (tls.context->api == 2 ? "highp " : "") + "float " + ours + "[" +
                         std::to_string(std::min(size, static_cast<unsigned>(Own::MOST))) + "];\n");
  return made;
}

// The names of CAPTURED in the shaders of the last stage before the rasteriser. Where one culls, another comes in its
// place, which the caller deletes.
void look_for_more(uint32_t* shaders, int count, uint32_t stage, Twin& twin, std::vector<uint32_t>& own) {
  const GlContext* c = tls.context;
  for (int i = 0; i < count; ++i) {
    int type = 0;
    driver::glGetShaderiv(shaders[i], GL_SHADER_TYPE, &type);
    if (static_cast<uint32_t>(type) != stage) continue;
    const std::string text = shader_source(shaders[i]);
    bool culls = text.find(CAPTURED_NAMES[CULL_DISTANCE]) != text.npos;
    for (int which = 0; which < CAPTURED; ++which) twin.named[which] |= text.find(CAPTURED_NAMES[which]) != text.npos;
    if (!culls) continue;
    own.push_back(shaders[i] = compiled(stage, with_our_cull_distance(text)));
  }
  if (c->api == 2 || c->core) twin.named[CLIP_VERTEX] = false;
}

// Links it so that it hands out the position, and as much of the rest as the driver does.
int link_capturing(Twin& twin) {
  auto link = [&](const std::vector<int>& more) {
    std::vector<const char*> names{POSITION[0]};
    for (int which : more) names.push_back(which == CULL_DISTANCE ? OUR_CULL_DISTANCE : CAPTURED_NAMES[which]);
    driver::glTransformFeedbackVaryings(twin.program, static_cast<int>(names.size()), names.data(),
                                        GL_INTERLEAVED_ATTRIBS);
    driver::glLinkProgram(twin.program);
    int good = 0;
    driver::glGetProgramiv(twin.program, GL_LINK_STATUS, &good);
    return good;
  };
  std::vector<int> more, each;
  for (int which = 0; which < CAPTURED; ++which)
    if (twin.named[which]) more.push_back(which);
  int good = link(more);
  if (!good && !more.empty()) {
    for (int which : more)
      if (link({which})) each.push_back(which);
    more = each;
    good = link(more);
    if (!good) more.clear(), good = link(more);
  }
  for (size_t i = 0; good && i < more.size(); ++i) {
    char name[64] = "";
    int length = 0, size = 0;
    uint32_t type = 0;
    driver::glGetTransformFeedbackVarying(twin.program, static_cast<uint32_t>(i) + 1, sizeof name, &length, &size,
                                          &type, name);
    twin.sizes[more[i]] = more[i] == CLIP_VERTEX ? 4 : std::clamp(size, 1, Own::MOST);
  }
  return good;
}

}  // namespace

Twin make_twin(uint32_t original) {
  Twin twin;
  int good = 0, separable = 0;
  driver::glGetProgramiv(original, GL_LINK_STATUS, &good);
  if (!good) return twin.why = "its program is not linked", twin;
  const GlContext* c = tls.context;
  if (c->version >= (c->api == 2 ? 31u : 41u)) driver::glGetProgramiv(original, GL_PROGRAM_SEPARABLE, &separable);
  uint32_t shaders[32];
  int count = 0;
  driver::glGetAttachedShaders(original, 32, &count, shaders);
  bool vertex = false, geometry = false, tessellation = false;
  for (int i = 0; i < count; ++i) {
    int type = 0;
    driver::glGetShaderiv(shaders[i], GL_SHADER_TYPE, &type);
    vertex |= type == GL_VERTEX_SHADER, geometry |= type == GL_GEOMETRY_SHADER,
        tessellation |= type == GL_TESS_EVALUATION_SHADER;
  }
  if (!count) return twin.why = "its program has no shaders to link again", twin;
  if (!vertex)
    return twin.why = separable ? "it draws with separate programs" : "its program has no vertex shader", twin;
  if (writes_memory(original)) return twin.why = "its shaders write memory before the rasteriser", twin;
  if (driver::glGetProgramStageiv && c->api == 1 && c->version >= 40) {
    static const uint32_t stages[] = {GL_VERTEX_SHADER, GL_GEOMETRY_SHADER, GL_TESS_EVALUATION_SHADER,
                                      GL_TESS_EVALUATION_SHADER + 1};
    for (uint32_t stage : stages) {
      int subroutines = 0;
      driver::glGetProgramStageiv(original, stage, GL_ACTIVE_SUBROUTINE_UNIFORMS, &subroutines);
      if (subroutines) return twin.why = "it has subroutines", twin;
    }
  }
  twin.program = driver::glCreateProgram();
  std::vector<uint32_t> own;
  look_for_more(shaders, count,
                geometry       ? GL_GEOMETRY_SHADER
                : tessellation ? GL_TESS_EVALUATION_SHADER
                               : GL_VERTEX_SHADER,
                twin, own);
  for (int i = 0; i < count; ++i) driver::glAttachShader(twin.program, shaders[i]);
  bind_attributes(original, twin.program, false);
  good = link_capturing(twin);
  for (int i = 0; i < count; ++i) driver::glDetachShader(twin.program, shaders[i]);
  for (uint32_t shader : own) driver::glDeleteShader(shader);
  if (!good) {
    driver::glDeleteProgram(twin.program);
    twin.program = 0;
    twin.why = "its program writes no gl_Position, or none that can be captured";
    return twin;
  }
  int out = 0;
  if (geometry) {
    driver::glGetProgramiv(original, GL_GEOMETRY_OUTPUT_TYPE, &out);
    twin.stage_mode = out == 0 ? 0u : out == 3 ? 1u : 4u;
  } else if (tessellation) {
    int points = 0;
    driver::glGetProgramiv(original, GL_TESS_GEN_POINT_MODE, &points);
    driver::glGetProgramiv(original, GL_TESS_GEN_MODE, &out);
    twin.stage_mode = points ? 0u : out == GL_ISOLINES ? 1u : 4u;
  }
  twin.why = twin.uniforms.find(original, twin.program, true);
  return twin;
}

// gl_Position as fixed function computes it, and where that is in front of the eye, where planes of the program's own
// cut.
Twin make_fixed_twin() {
  Twin twin;
  const char* source =
      "#version 120\nvarying vec4 dt_eye;\nvoid main() { gl_Position = ftransform(); dt_eye = gl_ModelViewMatrix * "
      "gl_Vertex; }\n";
  const char* const names[] = {POSITION[0], "dt_eye"};
  const uint32_t shader = compiled(GL_VERTEX_SHADER, source);
  twin.program = driver::glCreateProgram();
  driver::glAttachShader(twin.program, shader);
  driver::glTransformFeedbackVaryings(twin.program, 2, names, GL_INTERLEAVED_ATTRIBS);
  driver::glLinkProgram(twin.program);
  driver::glDeleteShader(shader);
  twin.sizes[CLIP_VERTEX] = 4;
  int good = 0;
  driver::glGetProgramiv(twin.program, GL_LINK_STATUS, &good);
  if (!good) twin.why = "the driver does not capture fixed-function positions";
  return twin;
}

}  // namespace dt::play::metrics::geometry
