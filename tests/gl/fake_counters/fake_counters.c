/* A driver of ours in front of another one: it adds GL_AMD_performance_monitor and GL_INTEL_performance_query as their
 * specifications say, with counters whose values are known because it counts the calls itself. Loaded with LD_PRELOAD.
 *
 * FAKE_ONLY=amd|intel      has one of the two
 * FAKE_MANY=N FAKE_ROOM=M  a third group of N counters, of which M are active at once (4)
 * FAKE_TOTAL=N             so many counters are active at once in all groups together, which no hint tells
 * FAKE_BREAK=WORD          lacks (functions), select (always an error), never (no result comes), garbage (as a result),
 *                          angle (8 bytes for every value, every counter of a group whatever was selected, one
 *                          monitor with the name 0, and counters that go on where they were)
 *                          disjoint (the GPU's clock is not steady)
 * FAKE_VENDOR=NAME         who it says has made it
 * FAKE_LOG=FILE            one line for each thing that no program may do: a counter that runs while its context goes
 * ...
 */
#define _GNU_SOURCE
#include <EGL/egl.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned int uint;
enum { NO_ERROR = 0, INVALID_ENUM = 0x500, INVALID_VALUE = 0x501, INVALID_OPERATION = 0x502 };
enum { CONTEXTS = 64, MONITORS = 20000, MOST_SELECTED = 16384, POLLS = 2 };

typedef struct {
  uint64_t draws, vertices, clears, binds;
} Counts;
typedef struct {
  void* handle;
  Counts counts;
  int active;  /* counters of running monitors */
  int running; /* queries that run */
  uint running_kind;
} Context;
typedef struct {
  void* context;
  int used, active, ended, polls, count;
  struct {
    uint group, counter;
  }* selected;
  Counts from, to;
} Monitor;
typedef struct {
  void* context;
  int used, active, ended, polls;
  uint kind;
  Counts from, to;
} Query;

static Context g_contexts[CONTEXTS];
static Monitor g_monitors[MONITORS];
static Query g_queries[MONITORS];
static uint g_error;
static int g_finished; /* glFinish since: results are there */

static void* next(const char* name) { return dlsym(RTLD_NEXT, name); }
static void* real(const char* name) {
  static void* (*get)(const char*);
  if (!get) get = (void* (*)(const char*))next("eglGetProcAddress");
  return get(name);
}
static const char* setting(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}
static int number(const char* name, int otherwise) { return getenv(name) ? atoi(getenv(name)) : otherwise; }
static int breaks(const char* word) { return !strcmp(setting("FAKE_BREAK"), word); }
static int has(const char* what) { return !*setting("FAKE_ONLY") || !strcmp(setting("FAKE_ONLY"), what); }
static void wrong(const char* what) {
  if (!getenv("FAKE_LOG")) return;
  FILE* file = fopen(getenv("FAKE_LOG"), "a");
  if (!file) return;
  fprintf(file, "%s\n", what);
  fclose(file);
}
static void error(uint code) {
  if (!g_error) g_error = code;
}
static Context* context(void) {
  void* handle = eglGetCurrentContext();
  for (int i = 0; i < CONTEXTS; i++) {
    if (!g_contexts[i].handle) g_contexts[i].handle = handle;
    if (g_contexts[i].handle == handle) return &g_contexts[i];
  }
  return &g_contexts[CONTEXTS - 1];
}

/* For fake_nvperf.c, which counts the same. */
void fake_counters_of_context(uint64_t out[4]) { memcpy(out, &context()->counts, sizeof context()->counts); }

/* ---- what is counted ---- */

static void fake_glDrawArrays(uint mode, int first, int count) {
  ((void (*)(uint, int, int))real("glDrawArrays"))(mode, first, count);
  context()->counts.draws++;
  context()->counts.vertices += (uint64_t)count;
}
static void fake_glEnd(void) {
  ((void (*)(void))real("glEnd"))();
  context()->counts.draws++;
}
static void fake_glVertex2f(float x, float y) {
  static void (*f)(float, float);
  if (!f) f = (void (*)(float, float))real("glVertex2f");
  f(x, y);
  context()->counts.vertices++;
}
static void fake_glClear(uint mask) {
  ((void (*)(uint))real("glClear"))(mask);
  context()->counts.clears++;
}
static void fake_glBindFramebuffer(uint target, uint name) {
  ((void (*)(uint, uint))real("glBindFramebuffer"))(target, name);
  context()->counts.binds++;
}
static void fake_glFinish(void) {
  ((void (*)(void))real("glFinish"))();
  g_finished = 1;
}

/* ---- the driver's words ---- */

static const char* extension(int i) {
  const char* all[2];
  int n = 0;
  if (has("amd")) all[n++] = "GL_AMD_performance_monitor";
  if (has("intel")) all[n++] = "GL_INTEL_performance_query";
  return i < n ? all[i] : NULL;
}
static void fake_glGetIntegerv(uint name, int* out) {
  ((void (*)(uint, int*))real("glGetIntegerv"))(name, out);
  if (name == 0x8FBB && out && breaks("disjoint")) *out = 1; /* GL_GPU_DISJOINT_EXT */
  if (name == 0x821D && out) *out += !!extension(0) + !!(extension(0) && extension(1));
}
static const unsigned char* fake_glGetStringi(uint name, uint index) {
  int n = 0;
  ((void (*)(uint, int*))real("glGetIntegerv"))(0x821D, &n);
  if (name == 0x1F03 && index >= (uint)n) return (const unsigned char*)extension((int)index - n);
  return ((const unsigned char* (*)(uint, uint))real("glGetStringi"))(name, index);
}
static const unsigned char* fake_glGetString(uint name) {
  const unsigned char* text = ((const unsigned char* (*)(uint))real("glGetString"))(name);
  static char all[65536];
  if (name == 0x1F00 && getenv("FAKE_VENDOR")) return (const unsigned char*)getenv("FAKE_VENDOR");
  if (name != 0x1F03 || !text) return text;
  snprintf(all, sizeof all, "%s %s %s", text, extension(0) ? extension(0) : "", extension(1) ? extension(1) : "");
  return (const unsigned char*)all;
}
static uint fake_glGetError(void) {
  uint code = g_error;
  g_error = 0;
  return code ? code : ((uint (*)(void))real("glGetError"))();
}

/* ---- GL_AMD_performance_monitor ---- */

enum { U32 = 0x1405, F32 = 0x1406, U64 = 0x8BC2, PERCENT = 0x8BC3 };
typedef struct {
  const char* name;
  uint type;
} CounterInfo;
static const CounterInfo PIPE[] = {
    {"draws", U32}, {"vertices", U64}, {"clears", U32}, {"binds", U32}, {"busy", PERCENT}};
static const CounterInfo MEMORY[] = {{"bytes", U64}, {"wraps", U32}, {"mean", F32}};

static int groups(void) { return number("FAKE_MANY", 0) ? 3 : 2; }
static int counters_of(uint group) { return group == 0 ? 5 : group == 1 ? 3 : number("FAKE_MANY", 0); }
static int room_of(uint group) { return group == 0 ? 2 : group == 1 ? 3 : number("FAKE_ROOM", 4); }
static uint type_of(uint group, uint counter) {
  return group == 0 ? PIPE[counter].type : group == 1 ? MEMORY[counter].type : U64;
}
static int is_counter(uint group, uint counter) { return group < (uint)groups() && counter < (uint)counters_of(group); }

static double value_of(uint group, uint counter, const Counts* from, const Counts* to) {
  uint64_t draws = to->draws - from->draws, vertices = to->vertices - from->vertices;
  if (group == 2) return (double)(draws * (counter + 1));
  if (group == 1) return counter == 0 ? (double)(vertices * 16) : counter == 1 ? 4294967295.0 : 1.5;
  switch (counter) {
    case 0: return (double)draws;
    case 1: return (double)vertices;
    case 2: return (double)(to->clears - from->clears);
    case 3: return (double)(to->binds - from->binds);
    default: return 25.0;
  }
}

static void fake_glGetPerfMonitorGroupsAMD(int* count, int size, uint* list) {
  if (count) *count = groups();
  for (int i = 0; list && i < size && i < groups(); i++) list[i] = (uint)i;
}
static void fake_glGetPerfMonitorCountersAMD(uint group, int* count, int* room, int size, uint* list) {
  if (group >= (uint)groups()) return error(INVALID_VALUE);
  if (count) *count = counters_of(group);
  if (room) *room = room_of(group);
  for (int i = 0; list && i < size && i < counters_of(group); i++) list[i] = (uint)i;
}
static void put(const char* text, int size, int* length, char* out) {
  int n = (int)strlen(text);
  if (size == 0) { /* how long it is */
    if (length) *length = n;
    return;
  }
  if (n > size) n = size;
  if (out) memcpy(out, text, (size_t)n); /* no zero behind it, as Mesa does where there is no room */
  if (out && n < size) out[n] = 0;
  if (length) *length = n;
}
static void fake_glGetPerfMonitorGroupStringAMD(uint group, int size, int* length, char* out) {
  static const char* const names[] = {"Fake pipe", "Fake memory", "Many"};
  if (group >= (uint)groups()) return error(INVALID_VALUE);
  put(names[group], size, length, out);
}
static void fake_glGetPerfMonitorCounterStringAMD(uint group, uint counter, int size, int* length, char* out) {
  char name[32];
  if (!is_counter(group, counter)) return error(INVALID_VALUE);
  snprintf(name, sizeof name, "c%u", counter);
  put(group == 0 ? PIPE[counter].name : group == 1 ? MEMORY[counter].name : name, size, length, out);
}
static void fake_glGetPerfMonitorCounterInfoAMD(uint group, uint counter, uint name, void* out) {
  if (!is_counter(group, counter)) return error(INVALID_VALUE);
  uint type = type_of(group, counter);
  if (name == 0x8BC0) {
    memcpy(out, &type, 4);
  } else if (name == 0x8BC1) {
    uint32_t r32[2] = {0, UINT32_MAX};
    uint64_t r64[2] = {0, UINT64_MAX};
    float rf[2] = {0, 100};
    memcpy(out, type == U32 ? (void*)r32 : type == U64 ? (void*)r64 : (void*)rf, type == U64 ? 16 : 8);
  } else {
    error(INVALID_ENUM);
  }
}
static Monitor* only_monitor(void) { return &g_monitors[1 + (context() - g_contexts)]; }
static void fake_glGenPerfMonitorsAMD(int n, uint* out) {
  for (int i = 0; i < n; i++) {
    uint id = 1;
    if (breaks("angle")) {
      out[i] = 0;
      only_monitor()->used = 1;
      only_monitor()->context = eglGetCurrentContext();
      continue;
    }
    while (id < MONITORS && g_monitors[id].used) id++;
    if (id == MONITORS) return error(INVALID_OPERATION);
    free(g_monitors[id].selected);
    memset(&g_monitors[id], 0, sizeof g_monitors[id]);
    g_monitors[id].used = 1;
    g_monitors[id].context = eglGetCurrentContext();
    out[i] = id;
  }
}
static Monitor* monitor(uint id) {
  if (breaks("angle") && id == 0 && only_monitor()->used) return only_monitor();
  if (!id || id >= MONITORS || !g_monitors[id].used) return error(INVALID_VALUE), NULL;
  if (g_monitors[id].context != eglGetCurrentContext()) {
    wrong("a monitor of another context");
    return error(INVALID_VALUE), NULL;
  }
  return &g_monitors[id];
}
static void fake_glDeletePerfMonitorsAMD(int n, uint* list) {
  for (int i = 0; i < n; i++) {
    Monitor* m = monitor(list[i]);
    if (!m) continue;
    if (m->active) context()->active -= m->count;
    m->used = 0;
  }
}
static void fake_glSelectPerfMonitorCountersAMD(uint id, uint8_t enable, uint group, int n, uint* list) {
  Monitor* m = monitor(id);
  if (!m) return;
  if (breaks("select")) return error(INVALID_OPERATION);
  if (group >= (uint)groups() || n < 0) return error(INVALID_VALUE);
  for (int i = 0; i < n; i++)
    if (!is_counter(group, list[i])) return error(INVALID_VALUE);
  if (!m->selected) m->selected = malloc(sizeof *m->selected * MOST_SELECTED);
  for (int i = 0; i < n; i++) {
    int at = 0;
    while (at < m->count && !(m->selected[at].group == group && m->selected[at].counter == list[i])) at++;
    if (enable && at == m->count && m->count < MOST_SELECTED) {
      m->selected[m->count].group = group;
      m->selected[m->count++].counter = list[i];
    } else if (!enable && at < m->count) {
      m->selected[at] = m->selected[--m->count];
    }
  }
  m->ended = 0; /* results that were there are gone */
}
static void fake_glBeginPerfMonitorAMD(uint id) {
  Monitor* m = monitor(id);
  if (!m) return;
  int by_group[3] = {0, 0, 0};
  for (int i = 0; i < m->count; i++) by_group[m->selected[i].group]++;
  int total = number("FAKE_TOTAL", 1 << 30);
  if (m->active || context()->active || m->count > total) return error(INVALID_OPERATION);
  for (int g = 0; g < groups(); g++)
    if (by_group[g] > room_of((uint)g)) return error(INVALID_OPERATION);
  m->active = 1;
  m->ended = m->polls = 0;
  m->from = breaks("angle") ? (Counts){0} : context()->counts;
  context()->active += m->count;
}
static void fake_glEndPerfMonitorAMD(uint id) {
  Monitor* m = monitor(id);
  if (!m) return;
  if (!m->active) return error(INVALID_OPERATION);
  m->active = 0;
  m->ended = 1;
  g_finished = 0;
  m->to = context()->counts;
  context()->active -= m->count;
}
static uint8_t* record(uint8_t* out, const Monitor* m, uint group, uint counter) {
  double value = value_of(group, counter, &m->from, &m->to);
  uint type = type_of(group, counter);
  memcpy(out, &group, 4);
  memcpy(out + 4, &counter, 4);
  uint32_t u32 = (uint32_t)value;
  uint64_t u64 = (uint64_t)value;
  float f32 = (float)value;
  if (breaks("angle")) {
    memcpy(out + 8, &u64, 8);
    return out + 16;
  }
  memcpy(out + 8, type == U64 ? (void*)&u64 : type == U32 ? (void*)&u32 : (void*)&f32, type == U64 ? 8 : 4);
  return out + (type == U64 ? 16 : 12);
}
static void fake_glGetPerfMonitorCounterDataAMD(uint id, uint name, int size, uint* out, int* written) {
  static uint8_t all[MOST_SELECTED * 16];
  Monitor* m = monitor(id);
  if (!m) return;
  int there = m->ended && !breaks("never") && (m->polls++ >= POLLS || g_finished);
  uint8_t* end = all;
  if (breaks("angle")) {
    for (uint g = 0; g < (uint)groups(); g++)
      for (uint c = 0; c < (uint)counters_of(g) && there; c++)
        if (type_of(g, c) == U32 || type_of(g, c) == U64) end = record(end, m, g, c);
  } else {
    for (int i = 0; i < m->count && there; i++) end = record(end, m, m->selected[i].group, m->selected[i].counter);
  }
  int bytes = (int)(end - all);
  if (breaks("garbage")) memset(all, 0xA5, (size_t)bytes);
  uint answer = name == 0x8BC4 ? (uint)there : (uint)bytes;
  if (name == 0x8BC4 || name == 0x8BC5) {
    if (size >= 4) memcpy(out, &answer, 4);
    if (written) *written = 4;
  } else if (name == 0x8BC6) {
    if (bytes > size) bytes = size;
    memcpy(out, all, (size_t)bytes);
    if (written) *written = bytes;
  } else {
    error(INVALID_ENUM);
  }
}

/* ---- GL_INTEL_performance_query: "Fake pipeline" (1) and "Fake raster" (2), one kind at a time ---- */

typedef struct {
  const char *name, *text;
  uint offset, bytes, type, data;
  uint64_t most;
} IntelCounter;
static const IntelCounter FIRST[] = {{"draws", "Draw calls.", 0, 4, 0x94F0, 0x94F8, 0},
                                     {"vertices", "Vertices.", 8, 8, 0x94F4, 0x94F9, 1000000},
                                     {"share", "A share of something.", 16, 4, 0x94F1, 0x94FA, 0}};
static const IntelCounter SECOND[] = {{"clears", "Clears.", 0, 4, 0x94F0, 0x94F8, 0},
                                      {"binds", "Framebuffers that were bound.", 8, 8, 0x94F0, 0x94F9, 0},
                                      {"full", "Always as large as it can get.", 16, 4, 0x94F4, 0x94F8, 77}};

static void fake_glGetFirstPerfQueryIdINTEL(uint* out) { *out = 1; }
static void fake_glGetNextPerfQueryIdINTEL(uint id, uint* out) {
  *out = id == 1 ? 2 : 0;
  if (id < 1 || id > 2) error(INVALID_VALUE);
}
static void copy(const char* text, uint size, char* out) {
  if (!out || !size) return;
  strncpy(out, text, size);
  out[size - 1] = 0;
}
static void fake_glGetPerfQueryInfoINTEL(uint id, uint size, char* name, uint* bytes, uint* counters, uint* instances,
                                         uint* caps) {
  if (id < 1 || id > 2) return error(INVALID_VALUE);
  copy(id == 1 ? "Fake pipeline" : "Fake raster", size, name);
  *bytes = 24;
  *counters = 3;
  *instances = 0;
  *caps = 1;
}
static void fake_glGetPerfCounterInfoINTEL(uint id, uint counter, uint name_size, char* name, uint text_size,
                                           char* text, uint* offset, uint* bytes, uint* type, uint* data,
                                           uint64_t* most) {
  if (id < 1 || id > 2 || counter < 1 || counter > 3) return error(INVALID_VALUE);
  const IntelCounter* c = id == 1 ? &FIRST[counter - 1] : &SECOND[counter - 1];
  copy(c->name, name_size, name);
  copy(c->text, text_size, text);
  *offset = c->offset;
  *bytes = c->bytes;
  *type = c->type;
  *data = c->data;
  *most = c->most;
}
static void fake_glCreatePerfQueryINTEL(uint kind, uint* out) {
  *out = 0;
  if (kind < 1 || kind > 2) return error(INVALID_VALUE);
  uint id = 1;
  while (id < MONITORS && g_queries[id].used) id++;
  if (id == MONITORS) return error(INVALID_OPERATION);
  memset(&g_queries[id], 0, sizeof g_queries[id]);
  g_queries[id].used = 1;
  g_queries[id].kind = kind;
  g_queries[id].context = eglGetCurrentContext();
  *out = id;
}
static Query* query(uint id) {
  if (!id || id >= MONITORS || !g_queries[id].used) return error(INVALID_VALUE), NULL;
  if (g_queries[id].context != eglGetCurrentContext()) {
    wrong("a query of another context");
    return error(INVALID_VALUE), NULL;
  }
  return &g_queries[id];
}
static void fake_glDeletePerfQueryINTEL(uint id) {
  Query* q = query(id);
  if (!q) return;
  if (q->active) context()->running--;
  q->used = 0;
}
static void fake_glBeginPerfQueryINTEL(uint id) {
  Query* q = query(id);
  if (!q) return;
  if (q->active || context()->running) return error(INVALID_OPERATION);
  q->active = 1;
  q->ended = q->polls = 0;
  q->from = context()->counts;
  context()->running++;
}
static void fake_glEndPerfQueryINTEL(uint id) {
  Query* q = query(id);
  if (!q) return;
  if (!q->active) return error(INVALID_OPERATION);
  q->active = 0;
  q->ended = 1;
  q->to = context()->counts;
  context()->running--;
}
static void fake_glGetPerfQueryDataINTEL(uint id, uint flags, int size, void* out, uint* written) {
  Query* q = query(id);
  *written = 0;
  if (!q) return;
  if (q->active || !q->ended) return error(INVALID_OPERATION);
  if (size < 24 || breaks("never") || (flags != 0x83FB && q->polls++ < POLLS)) return;
  uint8_t data[24] = {0};
  uint32_t u32 = (uint32_t)(q->kind == 1 ? q->to.draws - q->from.draws : q->to.clears - q->from.clears), full = 77;
  uint64_t u64 = q->kind == 1 ? q->to.vertices - q->from.vertices : q->to.binds - q->from.binds;
  float share = 0.5f;
  memcpy(data, &u32, 4);
  memcpy(data + 8, &u64, 8);
  memcpy(data + 16, q->kind == 1 ? (void*)&share : (void*)&full, 4);
  memcpy(out, data, 24);
  *written = 24;
}

/* ---- in front of EGL ---- */

#define ENTRY(name) {#name, (void*)fake_##name}
static const struct {
  const char* name;
  void* function;
} TABLE[] = {ENTRY(glDrawArrays),
             ENTRY(glEnd),
             ENTRY(glVertex2f),
             ENTRY(glClear),
             ENTRY(glBindFramebuffer),
             ENTRY(glFinish),
             ENTRY(glGetIntegerv),
             ENTRY(glGetStringi),
             ENTRY(glGetString),
             ENTRY(glGetError),
             ENTRY(glGetPerfMonitorGroupsAMD),
             ENTRY(glGetPerfMonitorCountersAMD),
             ENTRY(glGetPerfMonitorGroupStringAMD),
             ENTRY(glGetPerfMonitorCounterStringAMD),
             ENTRY(glGetPerfMonitorCounterInfoAMD),
             ENTRY(glGenPerfMonitorsAMD),
             ENTRY(glDeletePerfMonitorsAMD),
             ENTRY(glSelectPerfMonitorCountersAMD),
             ENTRY(glBeginPerfMonitorAMD),
             ENTRY(glEndPerfMonitorAMD),
             ENTRY(glGetPerfMonitorCounterDataAMD),
             ENTRY(glGetFirstPerfQueryIdINTEL),
             ENTRY(glGetNextPerfQueryIdINTEL),
             ENTRY(glGetPerfQueryInfoINTEL),
             ENTRY(glGetPerfCounterInfoINTEL),
             ENTRY(glCreatePerfQueryINTEL),
             ENTRY(glDeletePerfQueryINTEL),
             ENTRY(glBeginPerfQueryINTEL),
             ENTRY(glEndPerfQueryINTEL),
             ENTRY(glGetPerfQueryDataINTEL)};

__eglMustCastToProperFunctionPointerType eglGetProcAddress(const char* name) {
  if (breaks("lacks") && strstr(name, "Perf")) return NULL;
  for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++)
    if (!strcmp(name, TABLE[i].name)) return (__eglMustCastToProperFunctionPointerType)TABLE[i].function;
  return (__eglMustCastToProperFunctionPointerType)real(name);
}

EGLBoolean eglMakeCurrent(EGLDisplay display, EGLSurface draw, EGLSurface read, EGLContext to) {
  static EGLBoolean (*f)(EGLDisplay, EGLSurface, EGLSurface, EGLContext);
  if (!f) f = (EGLBoolean (*)(EGLDisplay, EGLSurface, EGLSurface, EGLContext))next("eglMakeCurrent");
  if (eglGetCurrentContext() && eglGetCurrentContext() != to) {
    if (context()->active) wrong("counters ran while their context went");
    if (context()->running) wrong("a query ran while its context went");
  }
  return f(display, draw, read, to);
}
