// Recording that begins in the middle of the program: queries get the objects and settings of the program until then.
// The recording has them as calls in front of the first recorded one. Played, they make the same state.
//
// Each context is taken once, on the thread on which it is current: when recording begins, or when it first becomes
// current after that. Facts that no query returns were kept (keep.h), or stand in a note, object by object.
#pragma once
#include "driver.h"
#include "gl_enums.h"
#include "keep.h"
#include "told.h"

namespace dt {
namespace gl {

// The query functions, and the functions that bind their objects.
// clang-format off
#define DT_BASE_FUNCTIONS(F) \
  F(glGetError) F(glGetIntegerv) F(glGetFloatv) F(glGetDoublev) F(glGetBooleanv) F(glGetInteger64v) \
  F(glGetIntegeri_v) F(glGetInteger64i_v) F(glGetBooleani_v) F(glGetFloati_v) F(glIsEnabled) F(glIsEnabledi) \
  F(glEnable) F(glDisable) F(glGetString) F(glClear) F(glUseProgram) F(glIsTexture) F(glIsBuffer) F(glIsRenderbuffer) \
  F(glIsFramebuffer) F(glIsVertexArray) F(glIsSampler) F(glIsProgram) F(glIsShader) F(glIsList) F(glIsQuery) \
  F(glIsProgramPipeline) F(glIsTransformFeedback) F(glIsProgramARB) F(glIsSync) F(glActiveTexture) \
  F(glClientActiveTexture) F(glBindTexture) F(glGetTexParameteriv) F(glGetTexParameterfv) F(glGetTexLevelParameteriv) \
  F(glGetTexImage) F(glGetCompressedTexImage) F(glGetSamplerParameteriv) F(glGetSamplerParameterfv) F(glBindBuffer) \
  F(glGetBufferParameteriv) F(glGetBufferParameteri64v) F(glGetBufferPointerv) F(glGetBufferSubData) \
  F(glMapBufferRange) F(glUnmapBuffer) F(glBindRenderbuffer) F(glGetRenderbufferParameteriv) F(glBindFramebuffer) \
  F(glGetFramebufferAttachmentParameteriv) F(glGetFramebufferParameteriv) F(glBindVertexArray) F(glGetVertexAttribiv) \
  F(glGetVertexAttribfv) F(glGetVertexAttribPointerv) F(glGetVertexAttribIiv) F(glGetPointerv) \
  F(glBindTransformFeedback) F(glGetQueryiv) F(glGetProgramiv) F(glGetShaderiv) F(glGetAttachedShaders) \
  F(glGetShaderSource) F(glGetActiveUniform) F(glGetActiveAttrib) F(glGetUniformLocation) F(glGetAttribLocation) \
  F(glGetUniformfv) F(glGetUniformiv) F(glGetUniformuiv) F(glGetUniformdv) F(glGetActiveUniformBlockName) \
  F(glGetActiveUniformBlockiv) F(glGetTransformFeedbackVarying) F(glGetProgramInterfaceiv) \
  F(glGetProgramResourceName) F(glGetProgramResourceiv) F(glGetProgramStageiv) F(glGetProgramBinary) \
  F(glGetProgramPipelineiv) F(glMatrixMode) F(glPopMatrix) F(glPushMatrix) F(glLoadMatrixf) F(glGetLightfv) \
  F(glGetMaterialfv) F(glGetTexEnviv) F(glGetTexEnvfv) F(glGetTexGeniv) F(glGetTexGenfv) F(glGetClipPlane) \
  F(glGetClipPlanef) F(glGetPolygonStipple) F(glGetPixelMapfv) F(glGetMapfv) F(glGetMapiv)
// clang-format on

struct Driver {
#define DT_MEMBER(NAME) decltype(driver::NAME)::Pointer NAME;
  DT_BASE_FUNCTIONS(DT_MEMBER)
#undef DT_MEMBER
};
// The driver of the current context. It may have entries that the context's version lacks: check the version first.
DT_COLD const Driver& driver_of(const GlContext* c, bool again = false);

}  // namespace gl

namespace hook {

struct Parameter;

// The answer of a query to `about`, which is a number; 0 where there is none.
template <class... A, class... B> int32_t asked(void (*query)(A...), B... about) {
  int32_t value = 0;
  query(about..., &value);
  return value;
}

// One context while it is taken.
class Base {
 public:
  Base(Thread* t, GlContext* c, const gl::Driver& d)
      : t(t), c(c), d(d), es(c->api == 2), old(c->api == 1 ? !c->core : c->version < 20) {}
  Thread* const t;
  GlContext* const c;
  const gl::Driver& d;
  const bool es, old;  // old: with fixed functions

  // Has the context what came with this version of OpenGL and this one of OpenGL ES? 0: never.
  bool has(uint32_t gl, uint32_t gles) const { return es ? gles && c->version >= gles : gl && c->version >= gl; }
  // No error since the last time. Drivers may refuse some queries.
  bool fine();
  int32_t get(uint32_t name, int32_t otherwise = 0);
  bool is(uint32_t capability);
  float number(uint32_t name);
  // Says what could not be had: one note, `not-taken`.
  void lacks(const char* format, ...) __attribute__((format(printf, 2, 3)));
  uint32_t lacking = 0;
  uint64_t bytes = 0;
  // As in told.h.
  template <class F, class... A> void tell(const driver::Function<F>& function, A... arguments) {
    hook::tell(t, function, arguments...);
  }
  template <class F, class... A>
  void tell_result(uint64_t result, const driver::Function<F>& function, A... arguments) {
    hook::tell_result(t, result, function, arguments...);
  }
  // The settings before the queries, which put them aside.
  gl::PixelStore pack{}, unpack{};
  uint32_t pack_buffer = 0;
  bool debug_output = false;

  // base_objects.cc. `shared`: what the contexts of the group have in common is to be taken as well.
  void names(bool shared);
  void shared_objects();
  void own_objects();
  // base_programs.cc
  void programs();
  void pipelines();
  // base_state.cc
  void state();
  void fixed_state();

  // Names of the objects of each kind that there are, in ascending order.
  enum Kind : uint32_t {
    TEXTURES,
    BUFFERS,
    RENDERBUFFERS,
    SAMPLERS,
    PROGRAMS,
    SHADERS,
    LISTS,
    FRAMEBUFFERS,
    VERTEX_ARRAYS,
    PIPELINES,
    FEEDBACKS,
    QUERIES,
    KINDS
  };
  struct Names {
    uint32_t* list;
    uint32_t count, room;
    void add(uint32_t name);
  };
  Names names_by_kind[KINDS] = {};
  ~Base();
  Base(const Base&) = delete;
  Base& operator=(const Base&) = delete;

 private:
  void ask(uint32_t name, int32_t* values) { d.glGetIntegerv(name, values); }
  void ask(uint32_t name, float* values) { d.glGetFloatv(name, values); }
  void ask(uint32_t name, double* values) { d.glGetDoublev(name, values); }
  void ask(uint32_t name, uint8_t* values) { d.glGetBooleanv(name, values); }
  // Asks for values of the type and number that the command takes, and tells it.
  template <class T, class... Rest> void take(const driver::Function<void(T, Rest...)>& sets, uint32_t name) {
    T v[16] = {};  // room, should a driver return more
    ask(name, v);
    if constexpr (sizeof...(Rest) == 0) tell(sets, v[0]);
    if constexpr (sizeof...(Rest) == 1) tell(sets, v[0], v[1]);
    if constexpr (sizeof...(Rest) == 2) tell(sets, v[0], v[1], v[2]);
    if constexpr (sizeof...(Rest) == 3) tell(sets, v[0], v[1], v[2], v[3]);
  }
  // Goes over the texture units, which are active in turn, also in the recording where it is `told`.
  template <class F> void each_unit(uint32_t units, bool told, F&& at) {
    const bool many = has(13, 10);
    auto choose = [&](uint32_t unit) {
      if (many) d.glActiveTexture(unit);
      if (many && told) tell(driver::glActiveTexture, unit);
    };
    const uint32_t active = many ? (uint32_t)get(GL_ACTIVE_TEXTURE, GL_TEXTURE0) : GL_TEXTURE0;
    for (uint32_t u = 0; u < units; u++) choose(GL_TEXTURE0 + u), at(u);
    choose(active);
  }
  void find(Kind kind, uint8_t (*is_one)(uint32_t));
  void take_buffer(uint32_t name);
  void take_map(uint32_t name, uint32_t target);
  void take_texture(uint32_t name);
  void take_levels(uint32_t name, uint32_t target);
  bool take_level(uint32_t name, uint32_t target, uint32_t face, int32_t level, bool immutable);
  void take_compressed(uint32_t name, uint32_t face, int32_t level, bool three, bool immutable, int32_t width,
                       int32_t height, int32_t depth, uint32_t internal);
  void take_renderbuffer(uint32_t name);
  void take_sampler(uint32_t name);
  using GetIntegers = void (*)(uint32_t, uint32_t, int32_t*);
  using GetFloats = void (*)(uint32_t, uint32_t, float*);
  void take_parameter(const Parameter& p, uint32_t of, GetIntegers integers, GetFloats floats,
                      const char* const (&tellers)[3]);
  void take_lists();
  void take_syncs();
  void take_vertex_array(uint32_t name);
  void take_attribute(uint32_t index, uint32_t vao);
  void take_fixed_arrays();
  void take_framebuffer(uint32_t name);
  void take_attachment(uint32_t target, uint32_t point);
  void take_program(uint32_t name);
  void take_units();
  void take_switch(uint32_t capability);
  void take_capabilities();
  void take_raster();
  void take_stencil();
  void take_hints();
  void take_primitives();
  void take_viewports();
  void take_blending();
  void take_bindings();
  void take_indexed_buffers();
  void take_pixel_store();
  void take_matrices();
  void take_lights();
  void take_texture_environment();
  void take_current();
  void take_old_rest();
  void take_evaluators();
};

// The sources that the program was linked from, and its variables' names: to the recorder, or where calls are kept.
DT_COLD void tell_linked_program(Thread* t, uint32_t program);
DT_COLD void tell_program_names(Thread* t, uint32_t program);

// Recording has begun in the middle: takes the context that is current on this thread, once. When a frame was just
// shown, nothing is drawn yet.
enum class Moment { FRAME_SHOWN, MADE_CURRENT, ANY };
DT_COLD void take_base(Thread* t, Moment moment);

}  // namespace hook
}  // namespace dt
