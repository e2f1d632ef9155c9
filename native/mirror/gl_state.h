// The knowledge that capture needs of a context's state, and the hooks that keep it.
//
// The mirror holds only the state that recording needs on the spot. It knows where client memory may be read (the
// default vertex array object: any other cannot hold client pointers). It has the pixel-store parameters, and the few
// buffer bindings that turn a pointer into an offset. Queries get everything else from the driver when it is needed.
//
// The generator finds hooks by their names in this file: `before_C` is called with the command's parameters before
// the record of C is reserved, `after_C` after the driver returned (with the result where C has one). An alias uses
// the hook of the command that it is an alias of. Handles and X types are written as void* and unsigned long, so
// that no GL or X header is needed.
#pragma once
#include "driver.h"

namespace dt {

// session.cc: from now on an exact order mark before every call.
void want_exact_order();

// The mirror's news for its keeper. A context was made: called with the registry locked.
void context_is_made(GlContext* c);
// A context of this thread's may have become current for the first time since recording began.
void context_is_current(Thread* t);
// A program was linked anew.
void program_is_new(Thread* t, uint32_t program);

namespace gl {

// Bindings that decide whether a pointer is an address. NO_SLOT: one that does not matter here.
enum Slot : uint32_t { ARRAY, ELEMENT, PACK, UNPACK, INDIRECT, QUERY, PARAMETER, SLOTS, NO_SLOT = SLOTS };

// Arrays of the default vertex array object: generic attributes, then the fixed ones.
enum : uint32_t {
  GENERIC = 32,
  VERTEX = GENERIC,
  NORMAL,
  COLOR,
  SECONDARY_COLOR,
  FOG_COORD,
  INDEX,
  EDGE_FLAG,
  POINT_SIZE,
  MATRIX_INDEX,
  WEIGHT,
  TEX_COORD,
  ARRAYS = 64
};
constexpr uint32_t TEX_UNITS = ARRAYS - TEX_COORD;
constexpr uint32_t CLIENT_STACK = 16;
constexpr uint32_t VAO_CACHE = 64;
constexpr uint32_t PROGRAM_CACHE = 16;
constexpr uint32_t NAME_CACHE = 256;
constexpr uint32_t VISUAL_WORDS = 8;
constexpr uint32_t MOST_ATTRIBUTES = 33;  // numbers in the list that a context is made with

struct Array {
  uint32_t bytes;     // of one element
  uint32_t relative;  // offset from the binding
  uint32_t binding;   // index of the binding it reads from
};
struct Binding {
  uintptr_t pointer;  // address, or offset where `buffer` is not 0
  uint32_t stride;    // effective: never 0 by default
  uint32_t buffer;
  uint32_t divisor;
};
struct VertexState {
  Array arrays[ARRAYS];
  Binding bindings[ARRAYS];
  uint64_t enabled;  // a bit per array
  uint64_t client;   // a bit per array whose binding has no buffer
  uint32_t client_texture;
  uint32_t shared_bindings;  // 1: some array reads another's binding
};
struct PixelStore {  // in the order of the names, see PIXEL_NAMES
  int32_t swap_bytes, lsb_first, row_length, skip_rows, skip_pixels, alignment, skip_images, image_height;
  int32_t block_width, block_height, block_depth, block_size;
};
struct Span {
  uintptr_t begin, end;
};
constexpr uint32_t PROBED = 8;
constexpr uint32_t SEEN_VIEWPORTS = 16;
struct SavedClient {
  uint32_t mask, vao;
  VertexState vertex;
  PixelStore pack, unpack;
  uint32_t buffers[SLOTS];
};

struct VaoElement {
  uint32_t vao, buffer;
  bool known;
};
struct ProgramArrays {
  uint32_t program;
  uint64_t arrays;  // the arrays that it can read
};

}  // namespace gl

struct GlContext {
  // The first look of draws: arrays both enabled and in client memory, 0 while another vertex array object is bound.
  uint64_t client_arrays;
  uint32_t in_begin;              // between glBegin and glEnd: no query is allowed
  uint32_t id, share_group, api;  // api: 1 GL, 2 GL ES, 3 OpenVG
  uint32_t version;               // major * 10 + minor, 0 until first current
  uint32_t core;                  // core profile: no client arrays at all
  uint32_t vao;
  uint32_t buffers[gl::SLOTS];
  uint32_t element_known;
  uint32_t default_element, default_element_known;  // of vertex array object 0 while another is bound
  uint32_t max_stride;
  uint32_t has_pixel_buffers, has_indirect, has_query_buffers, has_parameter_buffers;
  uint32_t has_restart, has_divisor, can_map_range;
  uint32_t max_attribs, max_tex_units;
  uint32_t restart_index, restart_index_set;
  uint32_t program;
  uint32_t client_depth;
  gl::VertexState vertex;
  gl::PixelStore pack, unpack;
  gl::SavedClient* saved[gl::CLIENT_STACK];
  gl::VaoElement vaos[gl::VAO_CACHE];
  gl::ProgramArrays programs[gl::PROGRAM_CACHE];
  uint32_t buffer_names[gl::NAME_CACHE];  // that the driver is known to take
  gl::Span probed[gl::PROBED];            // memory found readable lately
  uint32_t probes, draws_since_probe;
  // registry
  GlContext* next;
  void* handle;
  void* display;
  uint32_t system;       // 1 EGL, 2 GLX
  uint32_t thread;       // index + 1 of the thread it is current on, 0: none
  uint32_t last_thread;  // index + 1 of the thread it was last current on
  uint32_t destroyed;
  // The making of the context, and the recording that has it: the number of the session with its making. Two times say
  // when recording began at the last note of it and when all of it was taken (base.h).
  void* config;
  uint64_t visual[gl::VISUAL_WORDS];  // a copy of the XVisualInfo of those that GLX makes without a configuration
  uint32_t has_visual;
  int32_t attributes[gl::MOST_ATTRIBUTES];
  uint32_t attribute_count;
  uint64_t recorded_in;
  uint32_t told_epoch, base_epoch, in_recording;
  uint64_t draw, read;  // as emitted last
  int32_t draw_width, draw_height;
  uint64_t size_due_ns;  // when the next query of the window's size is due, after a frame
  // Viewports that were seen with the window's present size: another one is a hint that the window has another size
  // now.
  int32_t viewport_width, viewport_height, seen_viewports[gl::SEEN_VIEWPORTS][2];
  uint32_t seen_count, size_hint;
};

namespace gl {

// Programs may have a context before any library with the functions of OpenGL is there. Then the driver of the current
// context looks up `name`, as it will for the program itself. Only functions that every context has in which they are
// called: some drivers have an address for any name. nullptr: no context, or another function.
DT_COLD void* ask_driver_for(const char* name);
// The address that the driver of that context gives for a name, by eglGetProcAddress or glXGetProcAddress.
DT_COLD void* driver_address(const GlContext* c, const char* name);

// Is a query allowed now, without an error that the program could see?
static inline bool can_ask(const GlContext* c) { return c && !c->in_begin && c->version; }
// glGetIntegerv of one value that this context is known to have; `otherwise` where no query is allowed.
int32_t ask(GlContext* c, uint32_t pname, int32_t otherwise);
// Name of the buffer that is bound to any target; asks the driver where the mirror does not hold it.
uint32_t bound_buffer(GlContext* c, uint32_t target);
uint32_t element_buffer(GlContext* c);
bool has_extension(const GlContext* c, const char* name);
Slot slot_of(const GlContext* c, uint32_t target);

static inline void update_client(GlContext* c) {
  c->client_arrays = c->vao || c->core ? 0 : c->vertex.enabled & c->vertex.client;
}

// Reads everything again from the driver: for contexts whose past was not seen.
DT_COLD void read_state(GlContext* c);
// Asks which context is current on this thread now, and for its state: recording begins in the middle of the program.
DT_COLD void reread_context(Thread* t);

// The same, where it may be the one that was current the last time, and only arrays and pixel store matter.
DT_COLD void refresh_context(Thread* t);
// Gives the mirror of a context, for a moment, the state of a new one.
DT_COLD void as_new(GlContext* c);
DT_COLD GlContext* context_of(uint32_t system, void* handle);
// A context that shares objects with this one, and whose making stands in the recording of that number; nullptr: none.
DT_COLD void* recorded_peer(const GlContext* c, uint64_t session);
// Returns whether the objects of the context's group were taken since recording began that time.
DT_COLD bool group_is_taken(const GlContext* c, uint32_t epoch);

// A lock for rare calls. Never taken on the path of an ordinary call.
void lock(uint32_t* word);
void unlock(uint32_t* word);

// Vertices [first, first + count) and instances that a draw reads. client_arrays.cc
struct DrawRange {
  int64_t first, count;
  uint64_t base_instance, instances;
};
struct IndexRange {
  uint64_t low, high;
  bool any;
};
// Least and greatest of `count` indices of `type` at `data`, leaving out `restart` where that is not negative.
IndexRange index_range(const void* data, uint64_t count, uint32_t type, int64_t restart);
// Sorts and merges overlapping or touching spans; returns how many are left.
uint32_t merge_spans(Span* spans, uint32_t count);
DT_COLD void emit_client_arrays(Thread* t, const DrawRange& range);
// A player's memory is not the program's: these tell it the reads of every draw, and whether all of them are there (its
// mirror.cc). In a recorder both are nothing.
#ifdef DT_PLAYER
constexpr uintptr_t NO_ADDRESS = 1ull << 62;  // of an array that was never given one: what reads it is not played
void array_is_read(uint64_t pointer, __int128 begin, __int128 end);
void memory_is_missing();
bool memory_is_there();
#else
constexpr uintptr_t NO_ADDRESS = 0;
inline void array_is_read(uint64_t, __int128, __int128) {}
inline void memory_is_missing() {}
inline bool memory_is_there() { return true; }
#endif

// Calls `each` for every changed part of `now` against `before`, merging parts less than a gap apart. maps.cc
void changed_parts(const uint8_t* before, const uint8_t* now, uint64_t bytes,
                   void (*each)(void* user, uint64_t offset, uint64_t length), void* user);

// natives.cc
DT_COLD void describe_driver(Thread* t, GlContext* c);
DT_COLD void describe_surface(Thread* t, void* display, void* surface, const char* kind);
DT_COLD void describe_drawable(Thread* t, void* display, unsigned long drawable);
DT_COLD void describe_egl_config(Thread* t, void* display, void* config);

}  // namespace gl

namespace hook {

// Mappings whose writes must be looked for before the GPU reads.
extern uint32_t g_maps_alive __attribute__((visibility("hidden")));
// Larger persistent mappings are watched through page protection where the kernel can do it unseen.
extern uint64_t g_watch_bytes __attribute__((visibility("hidden")));
DT_COLD void before_gpu_reads(Thread* t);

// ---- contexts (gl_state.cc), natives (natives.cc) -----------------------------------------------

// Where recording began in the middle, contexts and surfaces are made in the recording before they become current
// (base.h).
#ifdef DT_PLAYER
inline void before_current(Thread*, uint32_t, void*, uint64_t, uint64_t, void*) {}
inline void surface_is_recorded(uint64_t) {}
inline void list_ends(Thread*) {}
inline void list_is_recorded(Thread*, uint32_t) {}
#else
DT_COLD void before_current(Thread* t, uint32_t system, void* display, uint64_t draw, uint64_t read, void* handle);
DT_COLD void surface_is_recorded(uint64_t handle);
DT_COLD void list_ends(Thread* t);  // keep.cc
DT_COLD void list_is_recorded(Thread* t, uint32_t list);
#endif
extern uint32_t g_began_late __attribute__((visibility("hidden")));
static inline void before_eglMakeCurrent(Thread* t, void* dpy, void* draw, void* read, void* ctx) {
  if (DT_UNLIKELY(g_began_late)) before_current(t, 1, dpy, (uint64_t)(uintptr_t)draw, (uint64_t)(uintptr_t)read, ctx);
}
static inline void before_glXMakeCurrent(Thread* t, void* dpy, unsigned long drawable, void* ctx) {
  if (DT_UNLIKELY(g_began_late)) before_current(t, 2, dpy, drawable, drawable, ctx);
}
static inline void before_glXMakeContextCurrent(Thread* t, void* dpy, unsigned long draw, unsigned long read,
                                                void* ctx) {
  if (DT_UNLIKELY(g_began_late)) before_current(t, 2, dpy, draw, read, ctx);
}
static inline void before_glXMakeCurrentReadSGI(Thread* t, void* dpy, unsigned long draw, unsigned long read,
                                                void* ctx) {
  before_glXMakeContextCurrent(t, dpy, draw, read, ctx);
}
static inline void after_glNewList(Thread* t, uint32_t list, uint32_t mode) {
  (void)mode;
  list_is_recorded(t, list);
}
static inline void after_glEndList(Thread* t) {
  if (DT_UNLIKELY(t->keep)) list_ends(t);
}
void before_eglCreateContext(Thread* t, void* dpy, void* config, void* share_context, const int32_t* attrib_list);
void after_eglCreateContext(Thread* t, void* dpy, void* config, void* share_context, const int32_t* attrib_list,
                            void* _result);
void after_eglMakeCurrent(Thread* t, void* dpy, void* draw, void* read, void* ctx, uint32_t _result);
void after_eglDestroyContext(Thread* t, void* dpy, void* ctx, uint32_t _result);
void after_eglReleaseThread(Thread* t, uint32_t _result);
void after_eglTerminate(Thread* t, void* dpy, uint32_t _result);
void display_found(Thread* t, void* display, uint32_t platform);
template <typename Native> static inline void after_eglGetDisplay(Thread* t, Native, void* _result) {
  display_found(t, _result, 0);
}
void after_eglGetPlatformDisplay(Thread* t, uint32_t platform, void* native_display, const intptr_t* attrib_list,
                                 void* _result);
void after_eglGetPlatformDisplayEXT(Thread* t, uint32_t platform, void* native_display, const int32_t* attrib_list,
                                    void* _result);
void after_eglInitialize(Thread* t, void* dpy, int32_t* major, int32_t* minor, uint32_t _result);

// A native window or pixmap is a pointer on one system and a number on another.
DT_COLD void surface_created(Thread* t, void* dpy, void* config, void* surface, const char* kind);
template <typename Window>
static inline void after_eglCreateWindowSurface(Thread* t, void* dpy, void* config, Window, const int32_t* attrib_list,
                                                void* _result) {
  (void)attrib_list;
  surface_created(t, dpy, config, _result, "window");
}
template <typename Pixmap>
static inline void after_eglCreatePixmapSurface(Thread* t, void* dpy, void* config, Pixmap, const int32_t* attrib_list,
                                                void* _result) {
  (void)attrib_list;
  surface_created(t, dpy, config, _result, "surface");
}
static inline void after_eglCreatePbufferSurface(Thread* t, void* dpy, void* config, const int32_t* attrib_list,
                                                 void* _result) {
  (void)attrib_list;
  surface_created(t, dpy, config, _result, "surface");
}
static inline void after_eglCreatePlatformWindowSurface(Thread* t, void* dpy, void* config, void* native_window,
                                                        const intptr_t* attrib_list, void* _result) {
  (void)native_window, (void)attrib_list;
  surface_created(t, dpy, config, _result, "window");
}
static inline void after_eglCreatePlatformPixmapSurface(Thread* t, void* dpy, void* config, void* native_pixmap,
                                                        const intptr_t* attrib_list, void* _result) {
  (void)native_pixmap, (void)attrib_list;
  surface_created(t, dpy, config, _result, "surface");
}
static inline void after_eglCreatePlatformWindowSurfaceEXT(Thread* t, void* dpy, void* config, void* native_window,
                                                           const int32_t* attrib_list, void* _result) {
  (void)native_window, (void)attrib_list;
  surface_created(t, dpy, config, _result, "window");
}
static inline void after_eglCreatePlatformPixmapSurfaceEXT(Thread* t, void* dpy, void* config, void* native_pixmap,
                                                           const int32_t* attrib_list, void* _result) {
  (void)native_pixmap, (void)attrib_list;
  surface_created(t, dpy, config, _result, "surface");
}
static inline void after_eglCreatePbufferFromClientBuffer(Thread* t, void* dpy, uint32_t buftype, void* buffer,
                                                          void* config, const int32_t* attrib_list, void* _result) {
  (void)buftype, (void)buffer, (void)attrib_list;
  surface_created(t, dpy, config, _result, "surface");
}
// Checks whether the frame that ends was drawn to a window of another size than before (natives.cc).
DT_COLD void check_size_before_swap(Thread* t, void* dpy, uint64_t drawable, uint32_t system);
static inline void before_eglSwapBuffers(Thread* t, void* dpy, void* surface) {
  if (DT_UNLIKELY(t->context && t->context->size_hint)) check_size_before_swap(t, dpy, (uint64_t)(uintptr_t)surface, 1);
}
static inline void before_eglSwapBuffersWithDamageEXT(Thread* t, void* dpy, void* surface, const int32_t*, int32_t) {
  before_eglSwapBuffers(t, dpy, surface);
}
static inline void before_eglSwapBuffersWithDamageKHR(Thread* t, void* dpy, void* surface, const int32_t*, int32_t) {
  before_eglSwapBuffers(t, dpy, surface);
}
static inline void before_glXSwapBuffers(Thread* t, void* dpy, unsigned long drawable) {
  if (DT_UNLIKELY(t->context && t->context->size_hint)) check_size_before_swap(t, dpy, drawable, 2);
}
DT_COLD void viewport_changed(Thread* t, int32_t width, int32_t height);
static inline void after_glViewport(Thread* t, int32_t, int32_t, int32_t width, int32_t height) {
  GlContext* c = t->context;
  if (DT_UNLIKELY(c && (width != c->viewport_width || height != c->viewport_height)))
    viewport_changed(t, width, height);
}
void after_glXSwapBuffers(Thread* t, void* dpy, unsigned long drawable);
// A pixmap that becomes a texture has pixels of the X server and of other programs: they are not recorded, and a note
// says so.
DT_COLD void after_glXBindTexImageEXT(Thread* t, void* dpy, unsigned long drawable, int buffer, const int* attrib_list);
void after_eglSwapBuffers(Thread* t, void* dpy, void* surface, uint32_t _result);
void after_eglSwapBuffersWithDamageEXT(Thread* t, void* dpy, void* surface, const int32_t* rects, int32_t n_rects,
                                       uint32_t _result);
void after_eglSwapBuffersWithDamageKHR(Thread* t, void* dpy, void* surface, const int32_t* rects, int32_t n_rects,
                                       uint32_t _result);

void before_glXCreateContext(Thread* t, void* dpy, void* vis, void* shareList, int direct);
void after_glXCreateContext(Thread* t, void* dpy, void* vis, void* shareList, int direct, void* _result);
void before_glXCreateNewContext(Thread* t, void* dpy, void* config, int render_type, void* share_list, int direct);
void after_glXCreateNewContext(Thread* t, void* dpy, void* config, int render_type, void* share_list, int direct,
                               void* _result);
void before_glXCreateContextAttribsARB(Thread* t, void* dpy, void* config, void* share_context, int direct,
                                       const int* attrib_list);
void after_glXCreateContextAttribsARB(Thread* t, void* dpy, void* config, void* share_context, int direct,
                                      const int* attrib_list, void* _result);
void after_glXCreateContextWithConfigSGIX(Thread* t, void* dpy, void* config, int render_type, void* share_list,
                                          int direct, void* _result);
void after_glXImportContextEXT(Thread* t, void* dpy, unsigned long contextID, void* _result);
void after_glXMakeCurrent(Thread* t, void* dpy, unsigned long drawable, void* ctx, int _result);
void after_glXMakeContextCurrent(Thread* t, void* dpy, unsigned long draw, unsigned long read, void* ctx, int _result);
void after_glXMakeCurrentReadSGI(Thread* t, void* dpy, unsigned long draw, unsigned long read, void* ctx, int _result);
void after_glXDestroyContext(Thread* t, void* dpy, void* ctx);
void after_glXFreeContextEXT(Thread* t, void* dpy, void* context);
void after_glXCreateWindow(Thread* t, void* dpy, void* config, unsigned long win, const int* attrib_list,
                           unsigned long _result);
void after_glXCreatePbuffer(Thread* t, void* dpy, void* config, const int* attrib_list, unsigned long _result);
void after_glXCreatePixmap(Thread* t, void* dpy, void* config, unsigned long pixmap, const int* attrib_list,
                           unsigned long _result);
void after_glXCreateGLXPixmap(Thread* t, void* dpy, void* visual, unsigned long pixmap, unsigned long _result);

// ---- buffers, vertex arrays, pixel store (gl_state.cc) ------------------------------------------

void after_glBindBuffer(Thread* t, uint32_t target, uint32_t buffer);
void before_glDeleteBuffers(Thread* t, int32_t n, const uint32_t* buffers);
void after_glDeleteBuffers(Thread* t, int32_t n, const uint32_t* buffers);
void after_glBindVertexArray(Thread* t, uint32_t array);
void after_glBindVertexArrayAPPLE(Thread* t, uint32_t array);
void after_glDeleteVertexArrays(Thread* t, int32_t n, const uint32_t* arrays);
void after_glVertexArrayElementBuffer(Thread* t, uint32_t vaobj, uint32_t buffer);

void after_glVertexAttribPointer(Thread* t, uint32_t index, int32_t size, uint32_t type, uint8_t normalized,
                                 int32_t stride, const void* pointer);
void after_glVertexAttribIPointer(Thread* t, uint32_t index, int32_t size, uint32_t type, int32_t stride,
                                  const void* pointer);
void after_glVertexAttribLPointer(Thread* t, uint32_t index, int32_t size, uint32_t type, int32_t stride,
                                  const void* pointer);
void after_glEnableVertexAttribArray(Thread* t, uint32_t index);
void after_glDisableVertexAttribArray(Thread* t, uint32_t index);
void after_glVertexAttribDivisor(Thread* t, uint32_t index, uint32_t divisor);
void after_glVertexBindingDivisor(Thread* t, uint32_t bindingindex, uint32_t divisor);
void after_glVertexAttribFormat(Thread* t, uint32_t attribindex, int32_t size, uint32_t type, uint8_t normalized,
                                uint32_t relativeoffset);
void after_glVertexAttribIFormat(Thread* t, uint32_t attribindex, int32_t size, uint32_t type, uint32_t relativeoffset);
void after_glVertexAttribLFormat(Thread* t, uint32_t attribindex, int32_t size, uint32_t type, uint32_t relativeoffset);
void after_glVertexAttribBinding(Thread* t, uint32_t attribindex, uint32_t bindingindex);
void after_glBindVertexBuffer(Thread* t, uint32_t bindingindex, uint32_t buffer, intptr_t offset, int32_t stride);
void after_glBindVertexBuffers(Thread* t, uint32_t first, int32_t count, const uint32_t* buffers,
                               const intptr_t* offsets, const int32_t* strides);

void after_glVertexPointer(Thread* t, int32_t size, uint32_t type, int32_t stride, const void* pointer);
void after_glVertexPointerEXT(Thread* t, int32_t size, uint32_t type, int32_t stride, int32_t count,
                              const void* pointer);
void after_glNormalPointer(Thread* t, uint32_t type, int32_t stride, const void* pointer);
void after_glNormalPointerEXT(Thread* t, uint32_t type, int32_t stride, int32_t count, const void* pointer);
void after_glColorPointer(Thread* t, int32_t size, uint32_t type, int32_t stride, const void* pointer);
void after_glColorPointerEXT(Thread* t, int32_t size, uint32_t type, int32_t stride, int32_t count,
                             const void* pointer);
void after_glSecondaryColorPointer(Thread* t, int32_t size, uint32_t type, int32_t stride, const void* pointer);
void after_glFogCoordPointer(Thread* t, uint32_t type, int32_t stride, const void* pointer);
void after_glIndexPointer(Thread* t, uint32_t type, int32_t stride, const void* pointer);
void after_glIndexPointerEXT(Thread* t, uint32_t type, int32_t stride, int32_t count, const void* pointer);
void after_glEdgeFlagPointer(Thread* t, int32_t stride, const void* pointer);
void after_glEdgeFlagPointerEXT(Thread* t, int32_t stride, int32_t count, const uint8_t* pointer);
void after_glTexCoordPointer(Thread* t, int32_t size, uint32_t type, int32_t stride, const void* pointer);
void after_glTexCoordPointerEXT(Thread* t, int32_t size, uint32_t type, int32_t stride, int32_t count,
                                const void* pointer);
void after_glMultiTexCoordPointerEXT(Thread* t, uint32_t texunit, int32_t size, uint32_t type, int32_t stride,
                                     const void* pointer);
void after_glPointSizePointerOES(Thread* t, uint32_t type, int32_t stride, const void* pointer);
void after_glMatrixIndexPointerARB(Thread* t, int32_t size, uint32_t type, int32_t stride, const void* pointer);
void after_glMatrixIndexPointerOES(Thread* t, int32_t size, uint32_t type, int32_t stride, const void* pointer);
void after_glWeightPointerARB(Thread* t, int32_t size, uint32_t type, int32_t stride, const void* pointer);
void after_glWeightPointerOES(Thread* t, int32_t size, uint32_t type, int32_t stride, const void* pointer);
void after_glInterleavedArrays(Thread* t, uint32_t format, int32_t stride, const void* pointer);
void after_glEnableClientState(Thread* t, uint32_t array);
void after_glDisableClientState(Thread* t, uint32_t array);
void after_glEnableClientStateIndexedEXT(Thread* t, uint32_t array, uint32_t index);
void after_glDisableClientStateIndexedEXT(Thread* t, uint32_t array, uint32_t index);
void after_glEnableClientStateiEXT(Thread* t, uint32_t array, uint32_t index);
void after_glDisableClientStateiEXT(Thread* t, uint32_t array, uint32_t index);
void after_glClientActiveTexture(Thread* t, uint32_t texture);
void after_glPushClientAttrib(Thread* t, uint32_t mask);
void after_glPushClientAttribDefaultEXT(Thread* t, uint32_t mask);
void after_glClientAttribDefaultEXT(Thread* t, uint32_t mask);
void after_glPopClientAttrib(Thread* t);

void after_glPixelStorei(Thread* t, uint32_t pname, int32_t param);
void after_glPixelStoref(Thread* t, uint32_t pname, float param);
void after_glPixelStorex(Thread* t, uint32_t pname, int32_t param);

void after_glPrimitiveRestartIndex(Thread* t, uint32_t index);
void after_glPrimitiveRestartIndexNV(Thread* t, uint32_t index);
void after_glUseProgram(Thread* t, uint32_t program);
void after_glLinkProgram(Thread* t, uint32_t program);
void after_glProgramBinary(Thread* t, uint32_t program, uint32_t binaryFormat, const void* binary, int32_t length);
static inline void after_glBegin(Thread* t, uint32_t mode) {
  (void)mode;
  if (t->context) t->context->in_begin = 1;
}
static inline void after_glEnd(Thread* t) {
  if (t->context) t->context->in_begin = 0;
}

// ---- draws that may read client memory (client_arrays.cc) ---------------------------------------

DT_COLD void client_draw_arrays(Thread* t, int64_t first, int64_t count, uint64_t base_instance, uint64_t instances);
DT_COLD void client_draw_elements(Thread* t, int64_t count, uint32_t type, const void* indices, int64_t base_vertex,
                                  uint64_t base_instance, uint64_t instances);
static inline bool client_draw(const Thread* t) { return t->context && DT_UNLIKELY(t->context->client_arrays != 0); }

static inline void before_glDrawArrays(Thread* t, uint32_t mode, int32_t first, int32_t count) {
  (void)mode;
  if (client_draw(t)) client_draw_arrays(t, first, count, 0, 1);
}
static inline void before_glDrawArraysInstanced(Thread* t, uint32_t mode, int32_t first, int32_t count,
                                                int32_t instancecount) {
  (void)mode;
  if (client_draw(t)) client_draw_arrays(t, first, count, 0, instancecount > 0 ? (uint64_t)instancecount : 0);
}
static inline void before_glDrawArraysInstancedBaseInstance(Thread* t, uint32_t mode, int32_t first, int32_t count,
                                                            int32_t instancecount, uint32_t baseinstance) {
  (void)mode;
  if (client_draw(t))
    client_draw_arrays(t, first, count, baseinstance, instancecount > 0 ? (uint64_t)instancecount : 0);
}
static inline void before_glDrawElements(Thread* t, uint32_t mode, int32_t count, uint32_t type, const void* indices) {
  (void)mode;
  if (client_draw(t)) client_draw_elements(t, count, type, indices, 0, 0, 1);
}
static inline void before_glDrawRangeElements(Thread* t, uint32_t mode, uint32_t start, uint32_t end, int32_t count,
                                              uint32_t type, const void* indices) {
  (void)mode, (void)start, (void)end;
  if (client_draw(t)) client_draw_elements(t, count, type, indices, 0, 0, 1);
}
static inline void before_glDrawElementsBaseVertex(Thread* t, uint32_t mode, int32_t count, uint32_t type,
                                                   const void* indices, int32_t basevertex) {
  (void)mode;
  if (client_draw(t)) client_draw_elements(t, count, type, indices, basevertex, 0, 1);
}
static inline void before_glDrawRangeElementsBaseVertex(Thread* t, uint32_t mode, uint32_t start, uint32_t end,
                                                        int32_t count, uint32_t type, const void* indices,
                                                        int32_t basevertex) {
  (void)mode, (void)start, (void)end;
  if (client_draw(t)) client_draw_elements(t, count, type, indices, basevertex, 0, 1);
}
static inline void before_glDrawElementsInstanced(Thread* t, uint32_t mode, int32_t count, uint32_t type,
                                                  const void* indices, int32_t instancecount) {
  (void)mode;
  if (client_draw(t))
    client_draw_elements(t, count, type, indices, 0, 0, instancecount > 0 ? (uint64_t)instancecount : 0);
}
static inline void before_glDrawElementsInstancedBaseInstance(Thread* t, uint32_t mode, int32_t count, uint32_t type,
                                                              const void* indices, int32_t instancecount,
                                                              uint32_t baseinstance) {
  (void)mode;
  if (client_draw(t))
    client_draw_elements(t, count, type, indices, 0, baseinstance, instancecount > 0 ? (uint64_t)instancecount : 0);
}
static inline void before_glDrawElementsInstancedBaseVertex(Thread* t, uint32_t mode, int32_t count, uint32_t type,
                                                            const void* indices, int32_t instancecount,
                                                            int32_t basevertex) {
  (void)mode;
  if (client_draw(t))
    client_draw_elements(t, count, type, indices, basevertex, 0, instancecount > 0 ? (uint64_t)instancecount : 0);
}
static inline void before_glDrawElementsInstancedBaseVertexBaseInstance(Thread* t, uint32_t mode, int32_t count,
                                                                        uint32_t type, const void* indices,
                                                                        int32_t instancecount, int32_t basevertex,
                                                                        uint32_t baseinstance) {
  (void)mode;
  if (client_draw(t))
    client_draw_elements(t, count, type, indices, basevertex, baseinstance,
                         instancecount > 0 ? (uint64_t)instancecount : 0);
}
DT_COLD void before_glMultiDrawArrays(Thread* t, uint32_t mode, const int32_t* first, const int32_t* count,
                                      int32_t drawcount);
DT_COLD void before_glMultiDrawElements(Thread* t, uint32_t mode, const int32_t* count, uint32_t type,
                                        const void* const* indices, int32_t drawcount);
DT_COLD void before_glMultiDrawElementsBaseVertex(Thread* t, uint32_t mode, const int32_t* count, uint32_t type,
                                                  const void* const* indices, int32_t drawcount,
                                                  const int32_t* basevertex);
DT_COLD void before_glMultiModeDrawArraysIBM(Thread* t, const uint32_t* mode, const int32_t* first,
                                             const int32_t* count, int32_t primcount, int32_t modestride);
DT_COLD void before_glMultiModeDrawElementsIBM(Thread* t, const uint32_t* mode, const int32_t* count, uint32_t type,
                                               const void* const* indices, int32_t primcount, int32_t modestride);
static inline void before_glArrayElement(Thread* t, int32_t i) {
  if (client_draw(t)) client_draw_arrays(t, i, 1, 0, 1);
}
DT_COLD void before_glDrawArraysIndirect(Thread* t, uint32_t mode, const void* indirect);
DT_COLD void before_glDrawElementsIndirect(Thread* t, uint32_t mode, uint32_t type, const void* indirect);
DT_COLD void before_glMultiDrawArraysIndirect(Thread* t, uint32_t mode, const void* indirect, int32_t drawcount,
                                              int32_t stride);
DT_COLD void before_glMultiDrawElementsIndirect(Thread* t, uint32_t mode, uint32_t type, const void* indirect,
                                                int32_t drawcount, int32_t stride);

// ---- mapped buffers (maps.cc) -------------------------------------------------------------------

void after_glMapBuffer(Thread* t, uint32_t target, uint32_t access, void* _result);
void after_glMapBufferRange(Thread* t, uint32_t target, intptr_t offset, intptr_t length, uint32_t access,
                            void* _result);
void after_glMapNamedBuffer(Thread* t, uint32_t buffer, uint32_t access, void* _result);
void after_glMapNamedBufferEXT(Thread* t, uint32_t buffer, uint32_t access, void* _result);
void after_glMapNamedBufferRange(Thread* t, uint32_t buffer, intptr_t offset, intptr_t length, uint32_t access,
                                 void* _result);
void after_glMapNamedBufferRangeEXT(Thread* t, uint32_t buffer, intptr_t offset, intptr_t length, uint32_t access,
                                    void* _result);
void before_glFlushMappedBufferRange(Thread* t, uint32_t target, intptr_t offset, intptr_t length);
void before_glFlushMappedNamedBufferRange(Thread* t, uint32_t buffer, intptr_t offset, intptr_t length);
void before_glFlushMappedNamedBufferRangeEXT(Thread* t, uint32_t buffer, intptr_t offset, intptr_t length);
void before_glUnmapBuffer(Thread* t, uint32_t target);
void before_glUnmapNamedBuffer(Thread* t, uint32_t buffer);
void before_glUnmapNamedBufferEXT(Thread* t, uint32_t buffer);
void before_glBufferData(Thread* t, uint32_t target, intptr_t size, const void* data, uint32_t usage);
void before_glNamedBufferData(Thread* t, uint32_t buffer, intptr_t size, const void* data, uint32_t usage);
void before_glNamedBufferDataEXT(Thread* t, uint32_t buffer, intptr_t size, const void* data, uint32_t usage);
void before_glBufferStorage(Thread* t, uint32_t target, intptr_t size, const void* data, uint32_t flags);
void before_glNamedBufferStorage(Thread* t, uint32_t buffer, intptr_t size, const void* data, uint32_t flags);
void before_glInvalidateBufferData(Thread* t, uint32_t buffer);
void before_glInvalidateBufferSubData(Thread* t, uint32_t buffer, intptr_t offset, intptr_t length);

// ---- OpenVG: which segments paths have (paths_vg.cc)
void after_vguLine(Thread* t, uint32_t path, float x0, float y0, float x1, float y1, uint32_t _result);
void after_vguRect(Thread* t, uint32_t path, float x, float y, float width, float height, uint32_t _result);
void after_vguRoundRect(Thread* t, uint32_t path, float x, float y, float width, float height, float arcWidth,
                        float arcHeight, uint32_t _result);
void after_vguEllipse(Thread* t, uint32_t path, float cx, float cy, float width, float height, uint32_t _result);
void after_vguPolygon(Thread* t, uint32_t path, const void* points, int32_t count, uint32_t closed, uint32_t _result);
void after_vguArc(Thread* t, uint32_t path, float x, float y, float width, float height, float startAngle,
                  float angleExtent, uint32_t arcType, uint32_t _result);
void after_vgAppendPath(Thread* t, uint32_t dstPath, uint32_t srcPath);
void after_vgTransformPath(Thread* t, uint32_t dstPath, uint32_t srcPath);
void after_vgInterpolatePath(Thread* t, uint32_t dstPath, uint32_t startPath, uint32_t endPath, float amount,
                             uint32_t _result);

}  // namespace hook
// Vertices, indices and draw parameters can only come from buffers here: a core profile.
static inline bool refuses_client_memory(const Thread* t) { return t->context && t->context->core; }

}  // namespace dt
