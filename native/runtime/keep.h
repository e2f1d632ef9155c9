// The things that a tap keeps while it is loaded but does not record, since no driver returns them later. They are the
// calls of display lists, the sources that programs were linked from, and the making of contexts. Kept are records as
// the recorder gets them, in the program's own memory; where recording begins they are handed over (base.h).
#pragma once
#include "gl_state.h"

namespace dt {

struct Keep;

// Calls of this thread go into the program's memory from here on, under a name; keep_end() lets the old one of that
// name go.
enum KeepKind : uint32_t { KEEP_LIST, KEEP_PROGRAM };
DT_COLD bool keep_begin(Thread* t, KeepKind kind, uint32_t share_group, uint32_t name);
DT_COLD void keep_end(Thread* t);
// For next_chunk() and put_blob() while calls are kept.
DT_COLD char* keep_room(Thread* t, size_t bytes);
DT_COLD bool keep_content(Thread* t, const void* data, uint64_t bytes, const uint8_t hash[16]);

enum class Kept { NONE, WHOLE, LOST };  // LOST: there was no room for all of it
// Hands the calls of one name to the recorder.
DT_COLD Kept keep_tell(Thread* t, KeepKind kind, uint32_t share_group, uint32_t name);
// The kept records of a name do not hold any more, and nothing new is there: it is made while a recorder has its calls.
DT_COLD void keep_lose(KeepKind kind, uint32_t share_group, uint32_t name);
DT_COLD Kept keep_state(KeepKind kind, uint32_t share_group, uint32_t name);
DT_COLD void keep_drop(KeepKind kind, uint32_t share_group, uint32_t name, uint32_t count);
// Names of one kind in ascending order, from `least` on. False: there is none.
DT_COLD bool keep_next(KeepKind kind, uint32_t share_group, uint32_t least, uint32_t* name);

// Sync objects that were made while nothing was recorded, and may be gone: up to `most`. Returns how many.
DT_COLD uint32_t keep_syncs(void** list, uint32_t most);
DT_COLD void keep_forget_sync(void* sync);

// session.cc: whether calls are to be recorded, whatever becomes of lists; one thread more or less keeps calls.
bool is_off();
DT_COLD void change_keepers(int by);

namespace hook {

// The generator finds these by their names: `unrecorded_C` is called after the driver returned from a call of C that is
// not recorded, with the result where C has one.
DT_COLD void unrecorded_glNewList(Thread* t, uint32_t list, uint32_t mode);
DT_COLD void unrecorded_glDeleteLists(Thread* t, uint32_t list, int32_t range);
DT_COLD void unrecorded_glFenceSync(Thread* t, uint32_t condition, uint32_t flags, void* _result);
DT_COLD void unrecorded_glDeleteSync(Thread* t, void* sync);
DT_COLD void unrecorded_glLinkProgram(Thread* t, uint32_t program);
DT_COLD void unrecorded_glProgramBinary(Thread* t, uint32_t program, uint32_t binaryFormat, const void* binary,
                                        int32_t length);
DT_COLD void unrecorded_glCreateShaderProgramv(Thread* t, uint32_t type, int32_t count, const char* const* strings,
                                               uint32_t _result);

DT_COLD void unrecorded_eglCreateContext(Thread* t, void* dpy, void* config, void* share_context,
                                         const int32_t* attrib_list, void* _result);
DT_COLD void unrecorded_eglDestroyContext(Thread* t, void* dpy, void* ctx, uint32_t _result);
DT_COLD void unrecorded_eglTerminate(Thread* t, void* dpy, uint32_t _result);
DT_COLD void unrecorded_glXCreateContext(Thread* t, void* dpy, void* vis, void* shareList, int direct, void* _result);
DT_COLD void unrecorded_glXCreateNewContext(Thread* t, void* dpy, void* config, int render_type, void* share_list,
                                            int direct, void* _result);
DT_COLD void unrecorded_glXCreateContextAttribsARB(Thread* t, void* dpy, void* config, void* share_context, int direct,
                                                   const int* attrib_list, void* _result);
DT_COLD void unrecorded_glXCreateContextWithConfigSGIX(Thread* t, void* dpy, void* config, int render_type,
                                                       void* share_list, int direct, void* _result);
DT_COLD void unrecorded_glXDestroyContext(Thread* t, void* dpy, void* ctx);
DT_COLD void unrecorded_glXCreateWindow(Thread* t, void* dpy, void* config, unsigned long win, const int* attrib_list,
                                        unsigned long _result);
DT_COLD void unrecorded_glXCreatePbuffer(Thread* t, void* dpy, void* config, const int* attrib_list,
                                         unsigned long _result);
DT_COLD void unrecorded_glXCreatePixmap(Thread* t, void* dpy, void* config, unsigned long pixmap,
                                        const int* attrib_list, unsigned long _result);
DT_COLD void unrecorded_glXCreateGLXPixmap(Thread* t, void* dpy, void* visual, unsigned long pixmap,
                                           unsigned long _result);

}  // namespace hook
}  // namespace dt
