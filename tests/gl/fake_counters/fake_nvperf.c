/* A stand-in for NVIDIA's NvPerf: no GPU of theirs is needed, and no counter is one of theirs. It has the functions
 * that their public headers describe, with the same structs, insists on the order in which they may be called, and
 * counts what fake_counters.c counts: draws, vertices, clears and binds of the context that is current.
 *
 * FAKE_NVPERF=WORD   unsupported (GPU), denied (counters are for administrators), never (no result comes), dropped (of
 *                    the last range), busy (another profiler), old (no SetLibraryLoadPaths, no interface for EGL)
 * FAKE_NVPERF_HOST=FILE  NVIDIA's own libnvperf_host.so answers for what a chip counts and what fits into one pass; the
 *                    chip is $FAKE_CHIP
 * FAKE_LOG=FILE      one line for each thing that no program may do
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  SUCCESS = 0,
  ERROR = 1,
  NOT_INITIALIZED = 3,
  FUNCTION_NOT_FOUND = 5,
  INVALID_ARGUMENT = 8,
  DRIVER_NOT_LOADED = 10,
  UNSUPPORTED = 14,
  PRIVILEGE = 17,
  OBJECT_STATE = 19,
  BUSY = 20
};
enum { MOST_RANGES = 1024, MOST_PASSES = 16, LATE = 2 };

/* What a range or an image of this library holds; images are opaque to whoever calls. */
typedef struct {
  char name[32];
  uint64_t counts[4];
} Range;
typedef struct {
  uint64_t magic;
  uint32_t room, name_length, count;
  Range ranges[];
} Image;

static void *g_session, *g_context_of_session;
static int g_host, g_target, g_driver, g_in_pass, g_level, g_configured;
static size_t g_buffers, g_room;
static Range g_ranges[MOST_RANGES], g_passes[MOST_PASSES][MOST_RANGES];
static uint32_t g_count, g_counts_of[MOST_PASSES], g_done;
static size_t g_waiting;
static int g_polls;

static int is(const char* word) { return getenv("FAKE_NVPERF") && !strcmp(getenv("FAKE_NVPERF"), word); }
static int wrong(const char* what) {
  FILE* file = getenv("FAKE_LOG") ? fopen(getenv("FAKE_LOG"), "a") : NULL;
  if (file) fprintf(file, "%s\n", what), fclose(file);
  return INVALID_ARGUMENT;
}
static void count(uint64_t out[4]) {
  void (*f)(uint64_t*) = (void (*)(uint64_t*))dlsym(RTLD_DEFAULT, "fake_counters_of_context");
  memset(out, 0, 32);
  if (f) f(out);
}
static void* current(void) {
  void* (*f)(void) = (void* (*)(void))dlsym(RTLD_DEFAULT, "eglGetCurrentContext");
  return f ? f() : NULL;
}
static void* real_host(void) {
  static void* handle;
  if (!handle && getenv("FAKE_NVPERF_HOST")) handle = dlopen(getenv("FAKE_NVPERF_HOST"), RTLD_NOW | RTLD_LOCAL);
  return handle;
}

/* Each function checks the size that its struct begins with: that up to the last field, as the headers define it. */
#define FUNCTION(name, last, ...)                                                                \
  typedef struct {                                                                               \
    size_t size;                                                                                 \
    void* priv;                                                                                  \
    __VA_ARGS__                                                                                  \
  } name##_Params;                                                                               \
  static int name##_(name##_Params* p);                                                          \
  int name(name##_Params* p) {                                                                   \
    if (p->size != offsetof(name##_Params, last) + sizeof p->last) return wrong(#name ": size"); \
    if (p->priv) return wrong(#name ": pPriv");                                                  \
    return name##_(p);                                                                           \
  }                                                                                              \
  static int name##_(name##_Params* p)
/* Those that the real library answers where it is asked to. */
#define HOST_FUNCTION(name, last, ...)                           \
  static int name##_own(void*);                                  \
  FUNCTION(name, last, __VA_ARGS__) {                            \
    if (!real_host()) return name##_own(p);                      \
    int (*f)(void*) = (int (*)(void*))dlsym(real_host(), #name); \
    return f ? f(p) : FUNCTION_NOT_FOUND;                        \
  }                                                              \
  static int name##_own(void* params)

/* ---- the host: what there is to count, on a chip of one kind ---- */

typedef struct {
  size_t index;
  uint8_t type, rollup;
  uint16_t submetric;
} Request;
enum { REQUEST_SIZE = offsetof(Request, submetric) + 2, AVG = 0, SUM = 3, PCT_ELAPSED = 16, PCT = 20 };
static const char COUNTERS[] = "fe__draws\0vaf__vertices\0fe__clears\0fe__binds\0FE_A.Triage.fe__draws";
static const size_t COUNTER_AT[] = {0, 10, 24, 35, 45};
static const char RATIOS[] = "fe__clears_of_all";
static const char THROUGHPUTS[] = "gpu__throughput";
static const size_t FIRST[] = {0};
static const char* const RAW[] = {"raw_draws", "raw_vertices", "raw_clears", "raw_binds"};

HOST_FUNCTION(NVPW_InitializeHost, priv, ) { return (void)params, g_host = 1, SUCCESS; }

#define EVALUATOR(face)                                                                                              \
  HOST_FUNCTION(NVPW_##face##_MetricsEvaluator_CalculateScratchBufferSize, bytes, const char* chip; size_t bytes;) { \
    NVPW_##face##_MetricsEvaluator_CalculateScratchBufferSize_Params* p = params;                                    \
    if (!g_host) return NOT_INITIALIZED;                                                                             \
    return p->bytes = 64, strcmp(p->chip, "FAKE1") ? UNSUPPORTED : SUCCESS;                                          \
  }                                                                                                                  \
  HOST_FUNCTION(NVPW_##face##_MetricsEvaluator_Initialize, evaluator, uint8_t* scratch; size_t scratch_size;         \
                const char* chip; const uint8_t* image; size_t image_size; void* evaluator;) {                       \
    NVPW_##face##_MetricsEvaluator_Initialize_Params* p = params;                                                    \
    if (p->scratch_size < 64) return INVALID_ARGUMENT;                                                               \
    return p->evaluator = p->scratch, SUCCESS;                                                                       \
  }                                                                                                                  \
  HOST_FUNCTION(NVPW_##face##_RawMetricsConfig_Create, config, int activity; const char* chip; void* config;) {      \
    NVPW_##face##_RawMetricsConfig_Create_Params* p = params;                                                        \
    if (p->activity != 1) return wrong("activity");                                                                  \
    return p->config = calloc(1, sizeof(Config)), SUCCESS;                                                           \
  }
typedef struct {
  unsigned raw;
  size_t passes;
  int open, whole;
} Config;
EVALUATOR(EGL)
EVALUATOR(OpenGL)

HOST_FUNCTION(NVPW_MetricsEvaluator_GetMetricNames, count, void* evaluator; uint8_t type; const char* names;
              const size_t* begins; size_t count;) {
  NVPW_MetricsEvaluator_GetMetricNames_Params* p = params;
  p->names = p->type == 0 ? COUNTERS : p->type == 1 ? RATIOS : THROUGHPUTS;
  p->begins = p->type == 0 ? COUNTER_AT : FIRST;
  p->count = p->type == 0 ? 5 : 1;
  return p->type > 2 ? INVALID_ARGUMENT : SUCCESS;
}
HOST_FUNCTION(NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest, request_size, void* evaluator;
              const char* name; Request * request; size_t request_size;) {
  NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest_Params* p = params;
  if (p->request_size != REQUEST_SIZE) return wrong("size of a request");
  char base[64];
  const char* dot = strrchr(p->name, '.');
  if (!strcmp(p->name, "gpu__throughput.avg.pct_of_peak_sustained_elapsed"))
    return *p->request = (Request){0, 2, AVG, PCT_ELAPSED}, SUCCESS;
  if (!strcmp(p->name, "fe__clears_of_all.pct")) return *p->request = (Request){0, 1, 4, PCT}, SUCCESS;
  if (!dot || (strcmp(dot, ".sum") && strcmp(dot, ".avg"))) return INVALID_ARGUMENT;
  snprintf(base, sizeof base, "%.*s", (int)(dot - p->name), p->name);
  for (size_t i = 0; i < 5; i++)
    if (!strcmp(base, COUNTERS + COUNTER_AT[i]))
      return *p->request = (Request){i, 0, strcmp(dot, ".sum") ? AVG : SUM, 0}, SUCCESS;
  return INVALID_ARGUMENT;
}
static unsigned raw_of(const Request* r) { return r->type == 0 ? 1u << r->index % 4 : r->type == 1 ? 1u | 4u : 15u; }
HOST_FUNCTION(NVPW_MetricsEvaluator_GetMetricRawDependencies, optional_count, void* evaluator; const Request* requests;
              size_t count, request_size, stride; const char** raw; size_t raw_count; const char** optional;
              size_t optional_count;) {
  NVPW_MetricsEvaluator_GetMetricRawDependencies_Params* p = params;
  if (p->request_size != REQUEST_SIZE || p->stride != sizeof(Request)) return wrong("size of a request");
  unsigned all = 0;
  for (size_t i = 0; i < p->count; i++) all |= raw_of(&p->requests[i]);
  size_t n = 0;
  for (size_t i = 0; i < 4; i++)
    if (all >> i & 1) {
      if (p->raw && n < p->raw_count) p->raw[n] = RAW[i];
      n++;
    }
  p->raw_count = n;
  p->optional_count = 0;
  return SUCCESS;
}
HOST_FUNCTION(NVPW_MetricsEvaluator_GetCounterProperties, unit, void* evaluator; size_t index; const char* text;
              uint32_t unit;) {
  NVPW_MetricsEvaluator_GetCounterProperties_Params* p = params;
  return p->text = "Something that a stand-in counts.", SUCCESS;
}
HOST_FUNCTION(NVPW_MetricsEvaluator_GetRatioMetricProperties, unit, void* evaluator; size_t index; const char* text;
              uint64_t unit;) {
  NVPW_MetricsEvaluator_GetRatioMetricProperties_Params* p = params;
  return p->text = "A share that a stand-in computes.", SUCCESS;
}
HOST_FUNCTION(NVPW_MetricsEvaluator_GetThroughputMetricProperties, parts, void* evaluator; size_t index;
              const char* text; uint32_t unit; size_t counter_count; const size_t* counters; size_t part_count;
              const size_t* parts;) {
  NVPW_MetricsEvaluator_GetThroughputMetricProperties_Params* p = params;
  return p->text = "", SUCCESS;
}
typedef struct {
  uint32_t unit;
  int8_t exponent;
} Factor;
HOST_FUNCTION(NVPW_MetricsEvaluator_GetMetricDimUnits, factor_size, void* evaluator; const Request* request;
              size_t request_size; Factor * factors; size_t count, factor_size;) {
  NVPW_MetricsEvaluator_GetMetricDimUnits_Params* p = params;
  if (p->factor_size != 5) return wrong("size of a factor");
  if (p->factors && p->count) p->factors[0] = (Factor){p->request->index == 1 ? 1873662209u : 2126137902u, 1};
  return p->count = 1, SUCCESS;
}
HOST_FUNCTION(NVPW_MetricsEvaluator_DimUnitToString, plural, void* evaluator; uint32_t unit;
              const char* singular, *plural;) {
  NVPW_MetricsEvaluator_DimUnitToString_Params* p = params;
  return p->plural = p->unit == 1873662209u ? "vertices" : "count", SUCCESS;
}

HOST_FUNCTION(NVPW_RawMetricsConfig_BeginPassGroup, passes, Config* config; size_t passes;) {
  NVPW_RawMetricsConfig_BeginPassGroup_Params* p = params;
  return p->config->passes = p->passes, p->config->open = 1, SUCCESS;
}
typedef struct {
  size_t size;
  void* priv;
  const char* name;
  uint8_t isolated, keep_instances;
} RawRequest;
static unsigned number_of(const RawRequest* requests, size_t n) {
  unsigned all = 0;
  for (size_t i = 0; i < n; i++)
    for (unsigned r = 0; r < 4; r++)
      if (requests[i].size == offsetof(RawRequest, keep_instances) + 1 && requests[i].isolated &&
          !strcmp(requests[i].name, RAW[r]))
        all |= 1u << r;
  return all;
}
/* Two raw counters fit into one pass. */
HOST_FUNCTION(NVPW_RawMetricsConfig_AddMetrics, count, Config* config; const RawRequest* requests; size_t count;) {
  NVPW_RawMetricsConfig_AddMetrics_Params* p = params;
  unsigned all = p->config->raw | number_of(p->requests, p->count);
  if (!p->config->open || (size_t)__builtin_popcount(number_of(p->requests, p->count)) != p->count)
    return wrong("raw metrics");
  if (p->config->passes == 1 && __builtin_popcount(all) > 2) return ERROR;
  return p->config->raw = all, SUCCESS;
}
HOST_FUNCTION(NVPW_RawMetricsConfig_EndPassGroup, config, Config* config;) {
  NVPW_RawMetricsConfig_EndPassGroup_Params* p = params;
  return p->config->open = 0, SUCCESS;
}
HOST_FUNCTION(NVPW_RawMetricsConfig_GenerateConfigImage, merge, Config* config; uint8_t merge;) {
  NVPW_RawMetricsConfig_GenerateConfigImage_Params* p = params;
  if (p->config->open) return wrong("an image of a group that is open");
  return p->config->whole = 1, SUCCESS;
}
HOST_FUNCTION(NVPW_RawMetricsConfig_GetConfigImage, copied, const Config* config; size_t room; uint8_t* bytes;
              size_t copied;) {
  NVPW_RawMetricsConfig_GetConfigImage_Params* p = params;
  if (!p->config->whole) return OBJECT_STATE;
  if (p->bytes && p->room >= 16) memcpy(p->bytes, "fake config", 12), p->bytes[15] = (uint8_t)p->config->raw;
  return p->copied = 16, SUCCESS;
}
HOST_FUNCTION(NVPW_RawMetricsConfig_Destroy, config, Config* config;) {
  NVPW_RawMetricsConfig_Destroy_Params* p = params;
  return free(p->config), SUCCESS;
}
HOST_FUNCTION(NVPW_CounterDataBuilder_Create, chip, unsigned* builder; const char* chip;) {
  NVPW_CounterDataBuilder_Create_Params* p = params;
  return p->builder = calloc(1, sizeof(unsigned)), SUCCESS;
}
HOST_FUNCTION(NVPW_CounterDataBuilder_AddMetrics, count, unsigned* builder; const RawRequest* requests; size_t count;) {
  NVPW_CounterDataBuilder_AddMetrics_Params* p = params;
  return *p->builder |= number_of(p->requests, p->count), SUCCESS;
}
HOST_FUNCTION(NVPW_CounterDataBuilder_GetCounterDataPrefix, copied, unsigned* builder; size_t room; uint8_t* bytes;
              size_t copied;) {
  NVPW_CounterDataBuilder_GetCounterDataPrefix_Params* p = params;
  if (p->bytes && p->room >= 16) memcpy(p->bytes, "fake prefix", 12), p->bytes[15] = (uint8_t)*p->builder;
  return p->copied = 16, SUCCESS;
}
HOST_FUNCTION(NVPW_CounterDataBuilder_Destroy, builder, unsigned* builder;) {
  NVPW_CounterDataBuilder_Destroy_Params* p = params;
  return free(p->builder), SUCCESS;
}

/* ---- images of results: always those of this library ---- */

static const Image* image_of(const uint8_t* bytes) {
  const Image* image = (const void*)bytes;
  return image->magic == 0xFA4E ? image : NULL;
}
FUNCTION(NVPW_MetricsEvaluator_SetDeviceAttributes, image_size, void* evaluator; const uint8_t* image;
         size_t image_size;) {
  return image_of(p->image) ? SUCCESS : wrong("an image that is none");
}
FUNCTION(NVPW_CounterData_GetNumRanges, count, const uint8_t* image; size_t count;) {
  return p->count = image_of(p->image)->count, SUCCESS;
}
FUNCTION(NVPW_Profiler_CounterData_GetRangeDescriptions, names, const uint8_t* image; size_t range, count;
         const char** names;) {
  if (p->names && p->count) p->names[0] = image_of(p->image)->ranges[p->range].name;
  return p->count = 1, SUCCESS;
}
FUNCTION(NVPW_MetricsEvaluator_EvaluateToGpuValues, values, void* evaluator; const Request* requests;
         size_t count, request_size, stride; const uint8_t* image; size_t image_size, range; uint8_t isolated;
         double* values;) {
  const uint64_t* c = image_of(p->image)->ranges[p->range].counts;
  for (size_t i = 0; i < p->count; i++) {
    const Request* r = &p->requests[i];
    double all = (double)(c[0] + c[2]);
    p->values[i] = r->type == 0 ? (double)c[r->index % 4] / (r->rollup == AVG ? 2 : 1)
                   : all > 0    ? 100.0 * (double)c[2] / all
                                : 0;
  }
  return p->isolated ? SUCCESS : wrong("values that are not isolated");
}

/* ---- the GPU ---- */

FUNCTION(NVPW_SetLibraryLoadPaths, paths, size_t count; const char** paths;) {
  if (is("old")) return FUNCTION_NOT_FOUND;
  return p->count == 1 && p->paths[0] ? SUCCESS : wrong("no paths");
}
FUNCTION(NVPW_InitializeTarget, priv, ) { return (void)p, g_target = 1, SUCCESS; }
FUNCTION(NVPW_Device_GetNames, chip, size_t device; const char* name; const char* chip;) {
  p->name = "Fake GPU of a test";
  p->chip = getenv("FAKE_CHIP") ? getenv("FAKE_CHIP") : "FAKE1";
  return p->device == 3 ? SUCCESS : INVALID_ARGUMENT;
}

typedef struct {
  size_t size;
  const uint8_t* prefix;
  size_t prefix_size;
  uint32_t ranges, nodes, name_length;
} Options;
enum { OPTIONS_SIZE = offsetof(Options, name_length) + 4 };
static int good(size_t size, const Options* o) {
  return size == OPTIONS_SIZE && o->size == OPTIONS_SIZE && o->prefix && !((uintptr_t)o->prefix & 7) && o->ranges &&
         o->nodes >= o->ranges && o->ranges <= MOST_RANGES;
}
static int session(const char* what) {
  if (!g_session) return wrong(what), OBJECT_STATE;
  if (g_context_of_session != current()) return wrong("the session of another context"), OBJECT_STATE;
  return SUCCESS;
}
static int begin_session(size_t buffers, size_t bytes, size_t ranges) {
  if (is("denied")) return PRIVILEGE;
  if (is("busy")) return BUSY;
  if (g_session) return wrong("a second session"), OBJECT_STATE;
  if (!buffers || !ranges || bytes != ranges * 100) return wrong("room for a session");
  g_session = g_context_of_session = current();
  g_buffers = buffers;
  g_room = ranges;
  g_waiting = g_done = 0;
  return g_configured = 0, SUCCESS;
}
static int end_session(void) {
  if (g_in_pass) return wrong("a session that ends in a pass");
  int status = session("no session to end");
  return g_session = NULL, status;
}
static int set_config(const uint8_t* config, size_t bytes, uint16_t least, uint16_t levels, size_t pass,
                      uint16_t target) {
  if (!config || (uintptr_t)config & 7 || !bytes || least != 1 || levels != 1 || pass || target != 1)
    return wrong("a config");
  if (g_in_pass) return wrong("a config in a pass");
  return g_configured = 1, session("a config without a session");
}
static int begin_pass(void) {
  if (!g_configured || g_in_pass) return wrong("a pass without a config");
  if (g_waiting >= g_buffers) return wrong("more passes than buffers");
  g_in_pass = 1;
  g_count = 0;
  return session("a pass without a session");
}
static int end_pass(void) {
  if (!g_in_pass || g_level) return wrong("the end of a pass");
  memcpy(g_passes[g_waiting], g_ranges, sizeof g_ranges);
  g_counts_of[g_waiting++] = g_count;
  g_in_pass = g_configured = g_polls = 0;
  return session("the end of a pass without a session");
}
static int push(const char* name, size_t length) {
  if (!g_in_pass || g_level) return wrong("a range outside of a pass, or in another one");
  if (g_count >= g_room || (length && length != strlen(name)) || strlen(name) >= 16)
    return wrong("a range beyond the room");
  Range* r = &g_ranges[g_count];
  snprintf(r->name, sizeof r->name, "%s", name);
  count(r->counts);
  g_level = 1;
  return session("a range without a session");
}
static int pop(void) {
  if (!g_level) return wrong("the end of no range");
  uint64_t now[4];
  count(now);
  for (int i = 0; i < 4; i++) g_ranges[g_count].counts[i] = now[i] - g_ranges[g_count].counts[i];
  g_level = 0;
  g_count++;
  return session("the end of a range without a session");
}
static int decode(const void* context, uint8_t* bytes, size_t scratch, size_t* dropped, uint8_t* one, uint8_t* all) {
  Image* image = (void*)bytes;
  *one = *all = 0;
  if (context != g_context_of_session || !image_of(bytes) || scratch != 8) return wrong("what is decoded");
  if (!g_waiting || is("never") || g_polls++ < LATE) return SUCCESS;
  if (image->count || g_counts_of[0] > image->room) return wrong("an image that is used twice, or too small");
  image->count = g_counts_of[0] - (is("dropped") && g_counts_of[0] ? 1 : 0);
  *dropped = is("dropped");
  memcpy(image->ranges, g_passes[0], image->count * sizeof(Range));
  g_waiting--;
  memmove(g_passes[0], g_passes[1], g_waiting * sizeof g_passes[0]);
  memmove(g_counts_of, g_counts_of + 1, g_waiting * sizeof *g_counts_of);
  g_polls = 0;
  return *one = *all = 1, SUCCESS;
}

#define GPU(face, there)                                                                                               \
  FUNCTION(NVPW_##face##_LoadDriver, priv, ) {                                                                         \
    return (void)p, !(there) ? ERROR : g_target ? (g_driver = 1, SUCCESS) : NOT_INITIALIZED;                           \
  }                                                                                                                    \
  FUNCTION(NVPW_##face##_GetCurrentGraphicsContext, context, void* context;) {                                         \
    return p->context = current(), g_driver ? SUCCESS : DRIVER_NOT_LOADED;                                             \
  }                                                                                                                    \
  FUNCTION(NVPW_##face##_GraphicsContext_GetDeviceIndex, device, size_t sli, device;) {                                \
    return p->device = 3, g_driver && !p->sli ? SUCCESS : DRIVER_NOT_LOADED;                                           \
  }                                                                                                                    \
  FUNCTION(NVPW_##face##_Profiler_IsGpuSupported, wsl, size_t device; uint8_t yes; int architecture, sli, cmp, wsl;) { \
    p->yes = !is("unsupported");                                                                                       \
    p->architecture = is("unsupported") ? 1 : 2;                                                                       \
    return p->device == 3 ? SUCCESS : INVALID_ARGUMENT;                                                                \
  }                                                                                                                    \
  FUNCTION(NVPW_##face##_Profiler_CounterDataImage_CalculateSize, bytes, size_t options_size; const Options* options;  \
           size_t bytes;) {                                                                                            \
    if (!good(p->options_size, p->options)) return wrong("options of an image");                                       \
    return p->bytes = sizeof(Image) + p->options->ranges * sizeof(Range), SUCCESS;                                     \
  }                                                                                                                    \
  FUNCTION(NVPW_##face##_Profiler_CounterDataImage_Initialize, image, size_t options_size; const Options* options;     \
           size_t bytes; uint8_t* image;) {                                                                            \
    if (!good(p->options_size, p->options) || p->bytes != sizeof(Image) + p->options->ranges * sizeof(Range))          \
      return wrong("options of an image");                                                                             \
    *(Image*)(void*)p->image = (Image){0xFA4E, p->options->ranges, p->options->name_length, 0};                        \
    return SUCCESS;                                                                                                    \
  }                                                                                                                    \
  FUNCTION(NVPW_##face##_Profiler_CounterDataImage_CalculateScratchBufferSize, scratch_size, size_t bytes;             \
           uint8_t* image; size_t scratch_size;) {                                                                     \
    return p->scratch_size = 8, image_of(p->image) ? SUCCESS : wrong("an image that is none");                         \
  }                                                                                                                    \
  FUNCTION(NVPW_##face##_Profiler_CounterDataImage_InitializeScratchBuffer, scratch, size_t bytes; uint8_t* image;     \
           size_t scratch_size; uint8_t* scratch;) {                                                                   \
    return memset(p->scratch, 0, p->scratch_size), p->scratch_size == 8 ? SUCCESS : wrong("room for scratch");         \
  }                                                                                                                    \
  FUNCTION(NVPW_##face##_Profiler_CalcTraceBufferSize, bytes, size_t ranges, name_length, bytes;) {                    \
    return p->bytes = p->ranges * 100, SUCCESS;                                                                        \
  }                                                                                                                    \
  FUNCTION(NVPW_##face##_Profiler_GraphicsContext_BeginSession, launches, size_t buffers, bytes, ranges, launches;) {  \
    return begin_session(p->buffers, p->bytes, p->ranges);                                                             \
  }                                                                                                                    \
  FUNCTION(NVPW_##face##_Profiler_GraphicsContext_EndSession, priv, ) { return (void)p, end_session(); }               \
  FUNCTION(NVPW_##face##_Profiler_GraphicsContext_SetConfig, target, const uint8_t* config; size_t bytes;              \
           uint16_t least, levels; size_t pass; uint16_t target;) {                                                    \
    return set_config(p->config, p->bytes, p->least, p->levels, p->pass, p->target);                                   \
  }                                                                                                                    \
  FUNCTION(NVPW_##face##_Profiler_GraphicsContext_BeginPass, priv, ) { return (void)p, begin_pass(); }                 \
  FUNCTION(NVPW_##face##_Profiler_GraphicsContext_EndPass, priv, ) { return (void)p, end_pass(); }                     \
  FUNCTION(NVPW_##face##_Profiler_GraphicsContext_PushRange, length, const char* name; size_t length;) {               \
    return push(p->name, p->length);                                                                                   \
  }                                                                                                                    \
  FUNCTION(NVPW_##face##_Profiler_GraphicsContext_PopRange, priv, ) { return (void)p, pop(); }                         \
  FUNCTION(NVPW_##face##_Profiler_GraphicsContext_DecodeCounters, pass, void* context; size_t image_size;              \
           uint8_t* image; size_t scratch_size; uint8_t* scratch; size_t dropped, bytes_dropped; uint8_t one, all;     \
           const uint8_t* config; size_t pass;) {                                                                      \
    return decode(p->context, p->image, p->scratch_size, &p->dropped, &p->one, &p->all);                               \
  }
GPU(EGL, !is("old"))
GPU(OpenGL, 1)
