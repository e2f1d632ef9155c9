#include "keep.h"

#include <errno.h>
#include <stdlib.h>

#include "base.h"
#include "told.h"
#include "gl_enums.h"

namespace dt {

namespace {

constexpr size_t LEAST_BLOCK = 4096, MOST_BLOCK = 1 << 20;
constexpr size_t MOST_KEPT = (size_t)256 << 20;  // of the program's memory, all together
constexpr uint32_t MANY_PROGRAMS = 512;          // from here on it is looked which of them are gone

struct Block {
  Block* next;
  size_t used, size;
  char* bytes() { return (char*)(this + 1); }
};
struct Content {
  Content* next;
  uint64_t bytes;
  uint8_t hash[16];
  char* data() { return (char*)(this + 1); }
};

}  // namespace

struct Keep {
  Keep* next;
  KeepKind kind;
  uint32_t share_group, name, lost;
  Block *first, *last;
  Content* contents;
  size_t bytes;
  // The thread's former values.
  char *cursor, *limit;
  uint32_t *commit, nowhere;
  uint64_t calls;
};

namespace {

uint32_t g_lock;
Keep* g_kept;
size_t g_kept_bytes;
uint32_t g_programs;

bool take_room(Keep* k, size_t bytes) {
  if (__atomic_add_fetch(&g_kept_bytes, bytes, __ATOMIC_RELAXED) > MOST_KEPT) {
    __atomic_fetch_sub(&g_kept_bytes, bytes, __ATOMIC_RELAXED);
    k->lost = 1;
    return false;
  }
  k->bytes += bytes;
  return true;
}

void let_go(Keep* k) {
  for (Block *b = k->first, *next; b; b = next) next = b->next, free(b);
  for (Content *c = k->contents, *next; c; c = next) next = c->next, free(c);
  __atomic_fetch_sub(&g_kept_bytes, k->bytes, __ATOMIC_RELAXED);
  free(k);
}

// With the lock held.
Keep* find(KeepKind kind, uint32_t share_group, uint32_t name) {
  for (Keep* k = g_kept; k; k = k->next)
    if (k->kind == kind && k->share_group == share_group && k->name == name) return k;
  return nullptr;
}
void remove(Keep* k) {
  for (Keep** at = &g_kept; *at; at = &(*at)->next) {
    if (*at != k) continue;
    *at = k->next;
    if (k->kind == KEEP_PROGRAM) g_programs--;
    let_go(k);
    return;
  }
}

void close_block(Thread* t) {
  Keep* k = t->keep;
  if (k->last) k->last->used = (size_t)(t->cursor - k->last->bytes());
}

// A record as it was kept, said now.
void tell_record(Thread* t, const dt_record* kept) {
  const uint32_t function = kept->function & DT_FUNCTION_MASK;
  const bool own = kept->function & DT_RECORD_TAP;
  if (own && (function == DT_FN_ORDER || function == DT_FN_LONG_DURATION || function == DT_FN_BLOB)) return;
  if (!own && (g_mode & MODE_ORDERED) && g_mode != MODE_OFF) emit_order(t);
  const size_t bytes = (size_t)kept->words * 8;
  char* at = reserve(t, bytes);
  if (!at) return;
  memcpy(at, kept, bytes);
  dt_record* r = (dt_record*)at;
  r->duration = DT_NO_DURATION;
  r->entry = entry_clock();
  commit(t, at + bytes);
  if (!own) t->calls++;
}

}  // namespace

bool keep_begin(Thread* t, KeepKind kind, uint32_t share_group, uint32_t name) {
  Keep* k = (Keep*)calloc(1, sizeof(Keep));
  if (!k) return false;
  k->kind = kind, k->share_group = share_group, k->name = name;
  k->cursor = t->cursor, k->limit = t->limit, k->commit = t->commit, k->calls = t->calls;
  t->keep = k;
  t->cursor = t->limit = nullptr;
  t->commit = &k->nowhere;
  return true;
}

void keep_end(Thread* t) {
  Keep* k = t->keep;
  if (!k) return;
  close_block(t);
  t->cursor = k->cursor, t->limit = k->limit, t->commit = k->commit, t->calls = k->calls;
  t->keep = nullptr;
  gl::lock(&g_lock);
  if (Keep* old = find(k->kind, k->share_group, k->name)) remove(old);
  k->next = g_kept;
  g_kept = k;
  if (k->kind == KEEP_PROGRAM) g_programs++;
  gl::unlock(&g_lock);
}

char* keep_room(Thread* t, size_t bytes) {
  Keep* k = t->keep;
  close_block(t);
  size_t size = k->last ? k->last->size * 2 : LEAST_BLOCK;
  if (size > MOST_BLOCK) size = MOST_BLOCK;
  if (size < bytes) size = bytes;
  t->cursor = t->limit = nullptr;
  Block* b = !k->lost && take_room(k, size) ? (Block*)malloc(sizeof(Block) + size) : nullptr;
  if (!b) {
    k->lost = 1;
    k->last = nullptr;  // what was kept stays in `first`, though nothing is added to it any more
    return nullptr;
  }
  *b = Block{nullptr, 0, size};
  (k->last ? k->last->next : k->first) = b;
  k->last = b;
  t->cursor = b->bytes();
  t->limit = t->cursor + size;
  return t->cursor;
}

bool keep_content(Thread* t, const void* data, uint64_t bytes, const uint8_t hash[16]) {
  Keep* k = t->keep;
  for (Content* c = k->contents; c; c = c->next)
    if (!memcmp(c->hash, hash, 16)) return true;
  Content* c = !k->lost && take_room(k, bytes) ? (Content*)malloc(sizeof(Content) + bytes) : nullptr;
  if (!c) {
    k->lost = 1;
    return false;
  }
  c->next = k->contents;
  c->bytes = bytes;
  memcpy(c->hash, hash, 16);
  memcpy(c->data(), data, bytes);
  k->contents = c;
  return true;
}

void keep_lose(KeepKind kind, uint32_t share_group, uint32_t name) {
  gl::lock(&g_lock);
  if (Keep* old = find(kind, share_group, name)) remove(old);
  if (Keep* k = (Keep*)calloc(1, sizeof(Keep))) {
    *k = Keep{};
    k->kind = kind, k->share_group = share_group, k->name = name, k->lost = 1;
    k->next = g_kept;
    g_kept = k;
  }
  gl::unlock(&g_lock);
}

Kept keep_state(KeepKind kind, uint32_t share_group, uint32_t name) {
  gl::lock(&g_lock);
  const Keep* k = find(kind, share_group, name);
  const Kept state = !k ? Kept::NONE : k->lost ? Kept::LOST : Kept::WHOLE;
  gl::unlock(&g_lock);
  return state;
}

Kept keep_tell(Thread* t, KeepKind kind, uint32_t share_group, uint32_t name) {
  // Taken out for the time of the report: the recorder may be waited for.
  gl::lock(&g_lock);
  Keep* k = find(kind, share_group, name);
  const bool whole = k && !k->lost;
  if (whole)
    for (Keep** at = &g_kept; *at; at = &(*at)->next)
      if (*at == k) {
        *at = k->next;
        break;
      }
  gl::unlock(&g_lock);
  if (!whole) return k ? Kept::LOST : Kept::NONE;
  for (Content* c = k->contents; c; c = c->next) {
    uint8_t hash[16];
    put_blob(t, c->data(), c->bytes, hash);
  }
  for (Block* b = k->first; b; b = b->next)
    for (size_t at = 0; at + sizeof(dt_record) <= b->used;) {
      const dt_record* r = (const dt_record*)(b->bytes() + at);
      if (!r->words) break;
      tell_record(t, r);
      at += (size_t)r->words * 8;
    }
  gl::lock(&g_lock);
  if (find(kind, share_group, name)) {
    let_go(k);  // made anew meanwhile
  } else {
    k->next = g_kept;
    g_kept = k;
  }
  gl::unlock(&g_lock);
  return Kept::WHOLE;
}

void keep_drop(KeepKind kind, uint32_t share_group, uint32_t name, uint32_t count) {
  gl::lock(&g_lock);
  for (Keep *k = g_kept, *next; k; k = next) {
    next = k->next;
    if (k->kind == kind && k->share_group == share_group && k->name - name < count) remove(k);
  }
  gl::unlock(&g_lock);
}

bool keep_next(KeepKind kind, uint32_t share_group, uint32_t least, uint32_t* name) {
  bool any = false;
  gl::lock(&g_lock);
  for (Keep* k = g_kept; k; k = k->next)
    if (k->kind == kind && k->share_group == share_group && k->name >= least && (!any || k->name < *name))
      any = true, *name = k->name;
  gl::unlock(&g_lock);
  return any;
}

// ---- sync objects: no driver lists them ---------------------------------------------------------

namespace {
constexpr uint32_t MOST_SYNCS = 4096;  // a program that never deletes them: the oldest are forgotten
void* g_syncs[MOST_SYNCS];             // a ring; nullptr: forgotten
uint32_t g_next_sync;
}  // namespace

uint32_t keep_syncs(void** list, uint32_t most) {
  uint32_t count = 0;
  gl::lock(&g_lock);
  for (uint32_t i = 0; i < MOST_SYNCS && count < most; i++)
    if (void* const sync = g_syncs[(g_next_sync + i) % MOST_SYNCS]) list[count++] = sync;
  gl::unlock(&g_lock);
  return count;
}

void keep_forget_sync(void* sync) {
  gl::lock(&g_lock);
  for (void*& at : g_syncs)
    if (at == sync) at = nullptr;
  gl::unlock(&g_lock);
}

namespace hook {

using namespace gl;

namespace {

// Does work at a call that nobody records, unless a library makes it inside of another call.
template <class F> void while_off(Thread* t, F work) {
  if (!g_module_records || !is_off() || t->keep || (t->special & SPECIAL_BUSY)) return;
  const int saved = errno;
  {
    HeldSignals held;
    Inside inside(t);
    work();
  }
  errno = saved;
}

void keep_program(Thread* t, uint32_t program) {
  refresh_context(t);
  GlContext* c = t->context;
  if (!can_ask(c) || c->version < 20) return;
  if (g_programs > MANY_PROGRAMS) {
    for (uint32_t name = 0; driver::glIsProgram && keep_next(KEEP_PROGRAM, c->share_group, name, &name); name++)
      if (!driver::glIsProgram(name)) keep_drop(KEEP_PROGRAM, c->share_group, name, 1);
  }
  if (!keep_begin(t, KEEP_PROGRAM, c->share_group, program)) return;
  tell_linked_program(t, program);
  keep_end(t);
}

}  // namespace

void unrecorded_glFenceSync(Thread* t, uint32_t, uint32_t, void* _result) {
  if (!_result) return;
  while_off(t, [&] {
    gl::lock(&g_lock);
    g_syncs[g_next_sync++ % MOST_SYNCS] = _result;
    gl::unlock(&g_lock);
  });
}

void unrecorded_glDeleteSync(Thread* t, void* sync) {
  if (sync) while_off(t, [&] { keep_forget_sync(sync); });
}

void unrecorded_glNewList(Thread* t, uint32_t list, uint32_t) {
  while_off(t, [&] {
    refresh_context(t);
    GlContext* c = t->context;
    if (!can_ask(c) || (uint32_t)ask(c, GL_LIST_INDEX, 0) != list) return;  // it was refused
    if (!keep_begin(t, KEEP_LIST, c->share_group, list)) return;
    tell(t, driver::glNewList, list, GL_COMPILE);  // executed it was already
    change_keepers(1);
  });
}

void list_ends(Thread* t) {
  keep_end(t);
  change_keepers(-1);
}

// A later recording, into another file, has to do without.
void list_is_recorded(Thread* t, uint32_t list) {
  if (t->keep || !t->context || (t->special & SPECIAL_TOLD)) return;
  keep_lose(KEEP_LIST, t->context->share_group, list);
}

void unrecorded_glDeleteLists(Thread* t, uint32_t list, int32_t range) {
  while_off(t, [&] {
    if (t->context && range > 0) keep_drop(KEEP_LIST, t->context->share_group, list, (uint32_t)range);
  });
}

void unrecorded_glLinkProgram(Thread* t, uint32_t program) {
  while_off(t, [&] { keep_program(t, program); });
}
void unrecorded_glProgramBinary(Thread* t, uint32_t program, uint32_t, const void*, int32_t) {
  while_off(t, [&] {
    if (t->context) keep_drop(KEEP_PROGRAM, t->context->share_group, program, 1);
  });
}
void unrecorded_glCreateShaderProgramv(Thread* t, uint32_t type, int32_t count, const char* const* strings,
                                       uint32_t _result) {
  while_off(t, [&] {
    refresh_context(t);
    if (!_result || !can_ask(t->context) || !keep_begin(t, KEEP_PROGRAM, t->context->share_group, _result)) return;
    tell_result(t, _result, driver::glCreateShaderProgramv, type, count, strings);
    tell_program_names(t, _result);
    keep_end(t);
  });
}

// ---- contexts and what they draw to: the hooks of recorded calls do it all ----------------------

void unrecorded_eglCreateContext(Thread* t, void* dpy, void* config, void* share_context, const int32_t* attrib_list,
                                 void* _result) {
  while_off(t, [&] { after_eglCreateContext(t, dpy, config, share_context, attrib_list, _result); });
}
void unrecorded_eglDestroyContext(Thread* t, void* dpy, void* ctx, uint32_t _result) {
  while_off(t, [&] { after_eglDestroyContext(t, dpy, ctx, _result); });
}
void unrecorded_eglTerminate(Thread* t, void* dpy, uint32_t _result) {
  while_off(t, [&] { after_eglTerminate(t, dpy, _result); });
}
void unrecorded_glXCreateContext(Thread* t, void* dpy, void* vis, void* shareList, int direct, void* _result) {
  while_off(t, [&] { after_glXCreateContext(t, dpy, vis, shareList, direct, _result); });
}
void unrecorded_glXCreateNewContext(Thread* t, void* dpy, void* config, int render_type, void* share_list, int direct,
                                    void* _result) {
  while_off(t, [&] { after_glXCreateNewContext(t, dpy, config, render_type, share_list, direct, _result); });
}
void unrecorded_glXCreateContextAttribsARB(Thread* t, void* dpy, void* config, void* share_context, int direct,
                                           const int* attrib_list, void* _result) {
  while_off(t, [&] { after_glXCreateContextAttribsARB(t, dpy, config, share_context, direct, attrib_list, _result); });
}
void unrecorded_glXCreateContextWithConfigSGIX(Thread* t, void* dpy, void* config, int render_type, void* share_list,
                                               int direct, void* _result) {
  while_off(t, [&] { after_glXCreateContextWithConfigSGIX(t, dpy, config, render_type, share_list, direct, _result); });
}
void unrecorded_glXDestroyContext(Thread* t, void* dpy, void* ctx) {
  while_off(t, [&] { after_glXDestroyContext(t, dpy, ctx); });
}
void unrecorded_glXCreateWindow(Thread* t, void* dpy, void* config, unsigned long win, const int* attrib_list,
                                unsigned long _result) {
  while_off(t, [&] { after_glXCreateWindow(t, dpy, config, win, attrib_list, _result); });
}
void unrecorded_glXCreatePbuffer(Thread* t, void* dpy, void* config, const int* attrib_list, unsigned long _result) {
  while_off(t, [&] { after_glXCreatePbuffer(t, dpy, config, attrib_list, _result); });
}
void unrecorded_glXCreatePixmap(Thread* t, void* dpy, void* config, unsigned long pixmap, const int* attrib_list,
                                unsigned long _result) {
  while_off(t, [&] { after_glXCreatePixmap(t, dpy, config, pixmap, attrib_list, _result); });
}
void unrecorded_glXCreateGLXPixmap(Thread* t, void* dpy, void* visual, unsigned long pixmap, unsigned long _result) {
  while_off(t, [&] { after_glXCreateGLXPixmap(t, dpy, visual, pixmap, _result); });
}

}  // namespace hook
}  // namespace dt
