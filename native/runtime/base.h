// Recording that begins in the middle of the program: what the program had made and set until then is asked of the
// driver, and told as calls in front of the first one that is recorded. Played, they make the same state.
//
// Each context is taken once, on the thread on which it is current: when recording begins, or when it first becomes
// current after that. What a driver does not tell was kept (keep.h), or is said in a note, object by object.
#pragma once
#include "keep.h"

namespace dt {
namespace gl {

// Functions that are asked, and that bind what is asked about.
// clang-format off
#define DT_BASE_FUNCTIONS(F)                                                                                            \
  F(uint32_t, glGetError) F(void, glGetIntegerv, uint32_t, int32_t*) F(void, glGetFloatv, uint32_t, float*)            \
  F(void, glGetDoublev, uint32_t, double*) F(void, glGetBooleanv, uint32_t, uint8_t*)                                  \
  F(void, glGetInteger64v, uint32_t, int64_t*) F(void, glGetIntegeri_v, uint32_t, uint32_t, int32_t*)                  \
  F(void, glGetInteger64i_v, uint32_t, uint32_t, int64_t*) F(void, glGetBooleani_v, uint32_t, uint32_t, uint8_t*)      \
  F(void, glGetFloati_v, uint32_t, uint32_t, float*) F(uint8_t, glIsEnabled, uint32_t)                                 \
  F(uint8_t, glIsEnabledi, uint32_t, uint32_t) F(void, glEnable, uint32_t) F(void, glDisable, uint32_t)                \
  F(const uint8_t*, glGetString, uint32_t) F(void, glClear, uint32_t) F(void, glUseProgram, uint32_t)                  \
  F(uint8_t, glIsTexture, uint32_t) F(uint8_t, glIsBuffer, uint32_t) F(uint8_t, glIsRenderbuffer, uint32_t)            \
  F(uint8_t, glIsFramebuffer, uint32_t) F(uint8_t, glIsVertexArray, uint32_t) F(uint8_t, glIsSampler, uint32_t)        \
  F(uint8_t, glIsProgram, uint32_t) F(uint8_t, glIsShader, uint32_t) F(uint8_t, glIsList, uint32_t)                    \
  F(uint8_t, glIsQuery, uint32_t) F(uint8_t, glIsProgramPipeline, uint32_t) F(uint8_t, glIsTransformFeedback, uint32_t) \
  F(uint8_t, glIsProgramARB, uint32_t) F(uint8_t, glIsSync, void*)                                                                                  \
  F(void, glActiveTexture, uint32_t) F(void, glClientActiveTexture, uint32_t) F(void, glBindTexture, uint32_t, uint32_t) \
  F(void, glGetTexParameteriv, uint32_t, uint32_t, int32_t*) F(void, glGetTexParameterfv, uint32_t, uint32_t, float*)  \
  F(void, glGetTexLevelParameteriv, uint32_t, int32_t, uint32_t, int32_t*)                                             \
  F(void, glGetTexImage, uint32_t, int32_t, uint32_t, uint32_t, void*)                                                 \
  F(void, glGetCompressedTexImage, uint32_t, int32_t, void*)                                                            \
  F(void, glGetSamplerParameteriv, uint32_t, uint32_t, int32_t*) F(void, glGetSamplerParameterfv, uint32_t, uint32_t, float*) \
  F(void, glBindBuffer, uint32_t, uint32_t) F(void, glGetBufferParameteriv, uint32_t, uint32_t, int32_t*)              \
  F(void, glGetBufferParameteri64v, uint32_t, uint32_t, int64_t*) F(void, glGetBufferPointerv, uint32_t, uint32_t, void**) \
  F(void, glGetBufferSubData, uint32_t, intptr_t, intptr_t, void*)                                                     \
  F(void*, glMapBufferRange, uint32_t, intptr_t, intptr_t, uint32_t) F(uint8_t, glUnmapBuffer, uint32_t)               \
  F(void, glBindRenderbuffer, uint32_t, uint32_t) F(void, glGetRenderbufferParameteriv, uint32_t, uint32_t, int32_t*)  \
  F(void, glBindFramebuffer, uint32_t, uint32_t)                                                                        \
  F(void, glGetFramebufferAttachmentParameteriv, uint32_t, uint32_t, uint32_t, int32_t*)                               \
  F(void, glGetFramebufferParameteriv, uint32_t, uint32_t, int32_t*)                                                    \
  F(void, glBindVertexArray, uint32_t) F(void, glGetVertexAttribiv, uint32_t, uint32_t, int32_t*)                      \
  F(void, glGetVertexAttribfv, uint32_t, uint32_t, float*) F(void, glGetVertexAttribPointerv, uint32_t, uint32_t, void**) \
  F(void, glGetVertexAttribIiv, uint32_t, uint32_t, int32_t*) F(void, glGetPointerv, uint32_t, void**)                 \
  F(void, glBindTransformFeedback, uint32_t, uint32_t) F(void, glGetQueryiv, uint32_t, uint32_t, int32_t*)             \
  F(void, glGetProgramiv, uint32_t, uint32_t, int32_t*) F(void, glGetShaderiv, uint32_t, uint32_t, int32_t*)           \
  F(void, glGetAttachedShaders, uint32_t, int32_t, int32_t*, uint32_t*)                                                \
  F(void, glGetShaderSource, uint32_t, int32_t, int32_t*, char*)                                                        \
  F(void, glGetActiveUniform, uint32_t, uint32_t, int32_t, int32_t*, int32_t*, uint32_t*, char*)                       \
  F(void, glGetActiveAttrib, uint32_t, uint32_t, int32_t, int32_t*, int32_t*, uint32_t*, char*)                        \
  F(int32_t, glGetUniformLocation, uint32_t, const char*) F(int32_t, glGetAttribLocation, uint32_t, const char*)       \
  F(void, glGetUniformfv, uint32_t, int32_t, float*) F(void, glGetUniformiv, uint32_t, int32_t, int32_t*)              \
  F(void, glGetUniformuiv, uint32_t, int32_t, uint32_t*) F(void, glGetUniformdv, uint32_t, int32_t, double*)           \
  F(void, glGetActiveUniformBlockName, uint32_t, uint32_t, int32_t, int32_t*, char*)                                   \
  F(void, glGetActiveUniformBlockiv, uint32_t, uint32_t, uint32_t, int32_t*)                                           \
  F(void, glGetTransformFeedbackVarying, uint32_t, uint32_t, int32_t, int32_t*, int32_t*, uint32_t*, char*)            \
  F(void, glGetProgramInterfaceiv, uint32_t, uint32_t, uint32_t, int32_t*)                                             \
  F(void, glGetProgramResourceName, uint32_t, uint32_t, uint32_t, int32_t, int32_t*, char*)                            \
  F(void, glGetProgramResourceiv, uint32_t, uint32_t, uint32_t, int32_t, const uint32_t*, int32_t, int32_t*, int32_t*) \
  F(void, glGetProgramStageiv, uint32_t, uint32_t, uint32_t, int32_t*)                                                  \
  F(void, glGetProgramBinary, uint32_t, int32_t, int32_t*, uint32_t*, void*)                                           \
  F(void, glGetProgramPipelineiv, uint32_t, uint32_t, int32_t*)                                                        \
  F(void, glMatrixMode, uint32_t) F(void, glPopMatrix) F(void, glPushMatrix) F(void, glLoadMatrixf, const float*)      \
  F(void, glGetLightfv, uint32_t, uint32_t, float*) F(void, glGetMaterialfv, uint32_t, uint32_t, float*)               \
  F(void, glGetTexEnviv, uint32_t, uint32_t, int32_t*) F(void, glGetTexEnvfv, uint32_t, uint32_t, float*)              \
  F(void, glGetTexGeniv, uint32_t, uint32_t, int32_t*) F(void, glGetTexGenfv, uint32_t, uint32_t, float*)              \
  F(void, glGetClipPlane, uint32_t, double*) F(void, glGetClipPlanef, uint32_t, float*)                                \
  F(void, glGetPolygonStipple, uint8_t*) F(void, glGetPixelMapfv, uint32_t, float*)                                    \
  F(void, glGetMapfv, uint32_t, uint32_t, float*) F(void, glGetMapiv, uint32_t, uint32_t, int32_t*)
// clang-format on

struct Driver {
#define DT_MEMBER(RESULT, NAME, ...) RESULT (*NAME)(__VA_ARGS__);
  DT_BASE_FUNCTIONS(DT_MEMBER)
#undef DT_MEMBER
};
// The driver of the current context. What a context's version does not have may be there all the same: ask that first.
DT_COLD const Driver& driver_of(const GlContext* c, bool again = false);

}  // namespace gl

namespace hook {

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
  // No error since the last time. Drivers are asked some things that they may refuse.
  bool fine();
  int32_t get(uint32_t name, int32_t otherwise = 0);
  bool is(uint32_t capability);
  // Says what could not be had: one note, `not-taken`.
  void lacks(const char* format, ...) __attribute__((format(printf, 2, 3)));
  uint32_t lacking = 0;
  uint64_t bytes = 0;
  // As they were before anything was asked, for which they are put aside.
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
  Names found[KINDS] = {};
  ~Base();
  Base(const Base&) = delete;
  Base& operator=(const Base&) = delete;

 private:
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
  void take_lists();
  void take_syncs();
  void take_vertex_array(uint32_t name);
  void take_attribute(uint32_t index, uint32_t vao);
  void take_fixed_arrays();
  void take_framebuffer(uint32_t name);
  void take_attachment(uint32_t target, uint32_t point);
  void take_program(uint32_t name);
  void take_units();
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

// What the program was linked from, and what its variables are called: to the recorder, or where calls are kept.
DT_COLD void tell_linked_program(Thread* t, uint32_t program);
DT_COLD void tell_program_names(Thread* t, uint32_t program);

// Recording has begun in the middle: takes the context that is current on this thread, once. When a frame was just
// shown, nothing is drawn yet.
enum class Moment { FRAME_SHOWN, MADE_CURRENT, ANY };
DT_COLD void take_base(Thread* t, Moment moment);

}  // namespace hook
}  // namespace dt
