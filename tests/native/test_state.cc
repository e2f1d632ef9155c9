// Tests of the tap's GL knowledge against plain references, with a driver of our own behind it.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../../native/runtime/base.h"
#include "../../native/mirror/gl_state.h"
#include "../../native/runtime/keep.h"
#include "../../native/mirror/sizes.h"
#include "../../native/runtime/tap.h"
#include "../../native/runtime/watch.h"

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) {                                              \
      printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                       \
    }                                                                \
  } while (0)

// ---- what session, payload and resolve do, for the test -----------------------------------------

struct Write {
  uint32_t buffer;
  uint64_t offset;
  std::string bytes;
};
static std::vector<std::pair<uintptr_t, uint64_t>> g_memory;
static std::vector<Write> g_writes;
static std::vector<std::string> g_notes, g_natives;
static int g_exact, g_contexts_said;
static std::map<uint32_t, int32_t> g_ints;
static std::vector<uint8_t> g_element_data;
static std::string g_version;
static uint32_t g_error;

static const uint8_t* fake_get_string(uint32_t name) {
  return (const uint8_t*)(name == 0x1F02 ? g_version.c_str() : name == 0x1F03 ? "" : "fake");
}
static void fake_get_integer(uint32_t name, int32_t* value) {
  auto found = g_ints.find(name);
  if (found == g_ints.end())
    g_error = 0x500;
  else
    *value = found->second;
}
static uint8_t fake_yes(uint32_t) { return 1; }
static uint8_t fake_is(uint32_t name) { return name < 1000; }
static uint8_t fake_is_enabled(uint32_t capability) { return (uint8_t)g_ints[capability]; }
static void fake_buffer_parameter(uint32_t, uint32_t name, int32_t* v) {
  *v = name == 0x8764 ? (int32_t)g_element_data.size() : 0;
}
static void fake_get_sub_data(uint32_t, intptr_t offset, intptr_t bytes, void* to) {
  memcpy(to, g_element_data.data() + offset, (size_t)bytes);
}
static const std::pair<const char*, void*> g_fakes[] = {
    {"glGetString", (void*)fake_get_string},
    {"glGetIntegerv", (void*)fake_get_integer},
    {"glIsVertexArray", (void*)fake_is},
    {"glIsBuffer", (void*)fake_yes},
    {"glIsEnabled", (void*)fake_is_enabled},
    {"glGetBufferParameteriv", (void*)fake_buffer_parameter},
    {"glGetBufferSubData", (void*)fake_get_sub_data},
};
constexpr int FAKES = sizeof g_fakes / sizeof *g_fakes;

namespace dt {
thread_local Thread tls;
uint32_t g_mode = MODE_RECORD, g_slow_clock = 0;
uint64_t g_inline_limit = 1024;
const unsigned g_function_count = FAKES;
void* g_real[FAKES + 1][VARIANTS];
int find_function(const char* name) {
  for (int i = 0; i < FAKES; i++)
    if (!strcmp(g_fakes[i].first, name)) return i;
  return -1;
}
void* resolve(unsigned id) { return g_real[id][0] = g_fakes[id].second; }
namespace driver {
static unsigned number(const char* name) {
  const int id = find_function(name);
  return id < 0 ? g_function_count : (unsigned)id;
}
#define DT_FUNCTION(NAME, ...) const Function<__VA_ARGS__> NAME{number(#NAME)};
#include "driver_functions.h"
#undef DT_FUNCTION
void* find(unsigned id) { return id == g_function_count ? nullptr : resolve(id); }
void is_missing(unsigned) { g_notes.push_back("driver-lacks"); }
}  // namespace driver
void* real_dlsym(void*, const char*) { return nullptr; }
void* real_dlopen(const char*, int) { return nullptr; }
void want_exact_order() { g_exact++; }
Data prepare_blob(Thread*, const void*, uint64_t) { return Data{}; }
void emit_context(Thread*, uint32_t, uint32_t, uint32_t, uint64_t, uint64_t, uint64_t) { g_contexts_said++; }
void emit_memory(Thread*, const void* address, uint64_t bytes) { g_memory.emplace_back((uintptr_t)address, bytes); }
void emit_content(Thread*, uint64_t, const Data&) {}
void emit_map_write(Thread*, uint32_t, uint32_t buffer, uint64_t offset, const void* data, uint64_t bytes) {
  g_writes.push_back({buffer, offset, std::string((const char*)data, bytes)});
}
void emit_memory_write(Thread*, bool, uint64_t, uint64_t, const void*, uint64_t) {}
void emit_native(Thread*, const char*, uint64_t, const char* text) { g_natives.push_back(text); }
void emit_note(Thread*, const char* code, const char*) { g_notes.push_back(code); }
void emit_loss(Thread* t, const char* code, const char* text) { emit_note(t, code, text); }
// Recorded from the start: there is no state to take, and nothing is kept.
void context_is_made(GlContext*) {}
void context_is_current(Thread*) {}
void program_is_new(Thread*, uint32_t) {}
uint32_t recording_epoch() { return 1; }
uint64_t session_number() { return 1; }
bool is_off() { return false; }
void keep_drop(KeepKind, uint32_t, uint32_t, uint32_t) {}
namespace hook {
void take_base(Thread*, Moment) {}
void surface_is_recorded(uint64_t) {}
}  // namespace hook
}  // namespace dt

using namespace dt;
static std::mt19937 g_random(7);
static int64_t roll(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(g_random); }

static int g_handles;
// A fresh context of that version, current on this thread, with the state of a new context.
static GlContext* start(const char* version, std::map<uint32_t, int32_t> more = {}) {
  g_version = version;
  g_ints = {{0x8869, 16}, {0x82E5, 2048}, {0x8871, 8}, {0x84E2, 4}, {0x9126, 2}, {0x821E, 0}, {0x821D, 0}, {0x8895, 0}};
  for (auto [k, v] : more) g_ints[k] = v;
  void* handle = (void*)(intptr_t)(0x1000 + 16 * ++g_handles);
  hook::after_glXCreateContext(&tls, nullptr, nullptr, nullptr, 1, handle);
  hook::after_glXMakeCurrent(&tls, nullptr, 0, handle, 1);
  g_memory.clear();
  g_writes.clear();
  g_notes.clear();
  CHECK(tls.context && tls.context->handle == handle);
  return tls.context;
}

// ---- sizes --------------------------------------------------------------------------------------

// The last byte of an image by the specification's addressing, one pixel at a time.
static int64_t slow_image_bytes(const size::Store& s, int64_t element, int64_t components, bool bits, int64_t w,
                                int64_t h, int64_t d, int dims) {
  int64_t l = s.row_length ? s.row_length : w, a = s.alignment, last = 0;
  int64_t rows = dims == 3 && s.image_height ? s.image_height : h;
  int64_t k;  // bytes from row to row
  if (bits)
    k = a * ((l + 8 * a - 1) / (8 * a));
  else if (element >= a)
    k = components * l * element;
  else
    k = a * ((element * components * l + a - 1) / a);
  for (int64_t z = 0; z < d; z++)
    for (int64_t y = 0; y < h; y++)
      for (int64_t x = 0; x < w; x++) {
        int64_t image = z + (dims == 3 ? s.skip_images : 0), row = y + s.skip_rows, column = x + s.skip_pixels;
        int64_t at = image * rows * k + row * k;
        int64_t end = bits ? at + column / 8 + 1 : at + column * components * element + components * element;
        if (end > last) last = end;
      }
  return last;
}

static void test_images() {
  struct Kind {
    int64_t format, type, element, components;
  };
  static const Kind kinds[] = {
      {0x1907, 0x1401, 1, 3}, {0x1908, 0x1401, 1, 4}, {0x190A, 0x1401, 1, 2}, {0x1906, 0x1401, 1, 1},
      {0x1907, 0x1403, 2, 3}, {0x1908, 0x1406, 4, 4}, {0x1907, 0x1406, 4, 3}, {0x1907, 0x8363, 2, 1},
      {0x1908, 0x8033, 2, 1}, {0x1907, 0x8032, 1, 1}, {0x80E1, 0x8367, 4, 1}, {0x84F9, 0x84FA, 4, 1},
      {0x84F9, 0x8DAD, 8, 1}, {0x1902, 0x1405, 4, 1}, {0x8227, 0x140B, 2, 2}, {0x8D98, 0x1404, 4, 3},
      {0x1900, 0x1A00, 0, 0}, {0x1907, 0x8C3B, 4, 1}, {0x1901, 0x1401, 1, 1},
  };
  static const int64_t alignments[] = {1, 2, 4, 8};
  for (int i = 0; i < 4000; i++) {
    const Kind& kind = kinds[roll(0, sizeof kinds / sizeof *kinds - 1)];
    int dims = (int)roll(1, 3);
    int64_t w = roll(1, 19), h = dims > 1 ? roll(1, 7) : 1, d = dims > 2 ? roll(1, 4) : 1;
    size::Store s{};
    s.alignment = alignments[roll(0, 3)];
    if (roll(0, 1)) s.row_length = roll(1, 40);
    if (roll(0, 1)) s.image_height = roll(1, 12);
    if (roll(0, 1)) s.skip_rows = roll(0, 5), s.skip_pixels = roll(0, 9), s.skip_images = roll(0, 3);
    int64_t expected = slow_image_bytes(s, kind.element, kind.components, kind.type == 0x1A00, w, h, d, dims);
    int64_t given = size::image_bytes(s, kind.format, kind.type, w, h, d, dims);
    // Overlapping rows (a row length shorter than the width) may end later than the last row does.
    bool overlapping = (s.row_length && s.row_length < w) || (s.image_height && dims == 3 && s.image_height < h);
    if (overlapping ? given > expected : given != expected) {
      printf("format %llx type %llx %lldx%lldx%lld: %lld instead of %lld\n", (long long)kind.format,
             (long long)kind.type, (long long)w, (long long)h, (long long)d, (long long)given, (long long)expected);
      exit(1);
    }
  }
  size::Store plain{0, 0, 0, 0, 0, 4};
  CHECK(size::image_bytes(plain, 0x1908, 0x1401, 0, 4, 1, 2) == 0);
  CHECK(size::image_bytes(plain, 0x1908, 0x1401, -1, 4, 1, 2) == 0);
  CHECK(size::image_bytes(plain, 0x1908, 0x1401, INT64_MAX, 2, 2, 3) == 0);
  CHECK(size::image_bytes(plain, 0x1234, 0x1401, 4, 4, 1, 2) == 0);
  size::Store wild{INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, 8};
  CHECK(size::image_bytes(wild, 0x1908, 0x1406, 1 << 20, 1 << 20, 1 << 20, 3) == 0);
}

static void test_small_sizes() {
  CHECK(size::index_size(0x1403) == 2 && size::index_size(0x1406) == 0);
  CHECK(size::pixel_size(0x1907, 0x8363) == 2 && size::pixel_size(0x1908, 0x140B) == 8);
  CHECK(size::map_components(0x0D97) == 3 && size::map_components(0x0DB8) == 4 && size::map_components(1) == 0);
  CHECK(size::map1_size(0x0D97, 5, 4) == 3 * 5 + 3 && size::map1_size(0x0D97, 2, 4) == 0);
  CHECK(size::map2_size(0x0DB7, 12, 4, 3, 4) == 3 * 12 + 3 * 3 + 3);
  CHECK(size::call_lists_size(0x1408) == 3 && size::call_lists_size(0x1409) == 4);
  int32_t counts[] = {3, 4, 5};
  CHECK(size::sum(counts, 3) == 12 && size::sum(nullptr, 3) == 0 && size::sum(counts, -1) == 0);
  start("4.6 (Compatibility Profile)");
  g_ints[0x86A2] = 7;
  CHECK(size::get_count(0x0BA6) == 16 && size::get_count(0x0BA2) == 4 && size::get_count(0x0D33) == 1);
  CHECK(size::get_count(0x86A3) == 7);
  hook::after_glBegin(&tls, 4);
  CHECK(size::get_count(0x86A3) == 0);  // nothing may be asked here
  hook::after_glEnd(&tls);
}

static void test_pixel_store() {
  start("4.6 (Compatibility Profile)");
  char pixels[8];
  CHECK(size::image_in(&tls, 0x1907, 0x1401, 3, 2, 1, 2, pixels) == 12 + 9);
  hook::after_glPixelStorei(&tls, 0x0CF5, 3);  // refused
  hook::after_glPixelStorei(&tls, 0x0CF2, -1);
  CHECK(size::image_in(&tls, 0x1907, 0x1401, 3, 2, 1, 2, pixels) == 12 + 9);
  hook::after_glPixelStorei(&tls, 0x0CF5, 1);
  hook::after_glPixelStorei(&tls, 0x0CF2, 10);
  hook::after_glPixelStoref(&tls, 0x0CF4, 1.6f);
  CHECK(size::image_in(&tls, 0x1907, 0x1401, 3, 2, 1, 2, pixels) == 30 + 15);
  CHECK(size::image_out(&tls, 0x1907, 0x1401, 3, 2, 1, 2, pixels) == 12 + 9);
  hook::after_glPushClientAttrib(&tls, 1);
  hook::after_glPixelStorei(&tls, 0x0CF2, 0);
  hook::after_glBindBuffer(&tls, 0x88EC, 5);
  CHECK(size::image_in(&tls, 0x1907, 0x1401, 3, 2, 1, 2, nullptr) == size::IS_OFFSET);
  CHECK(size::bound(0x88EC) == 1 && size::bound(0x88EB) == 0);
  hook::after_glPopClientAttrib(&tls);
  CHECK(size::image_in(&tls, 0x1907, 0x1401, 3, 2, 1, 2, pixels) == 30 + 15);
  for (auto [name, value] : {std::pair{0x9127, 4}, {0x9128, 4}, {0x912A, 8}})
    hook::after_glPixelStorei(&tls, (uint32_t)name, value);
  hook::after_glPixelStorei(&tls, 0x0CF2, 16);
  hook::after_glPixelStorei(&tls, 0x0CF3, 4);
  hook::after_glPixelStorei(&tls, 0x0CF4, 4);
  CHECK(size::compressed_in(&tls, 32, 8, 8, 1, 2) == 2 * 32 + 3 * 8);
  start("OpenGL ES 2.0 fake");
  hook::after_glPixelStorei(&tls, 0x0CF2, 10);  // does not exist there
  hook::after_glBindBuffer(&tls, 0x88EC, 5);
  CHECK(size::image_in(&tls, 0x1907, 0x1401, 3, 2, 1, 2, pixels) == 12 + 9);
}

// ---- client arrays ------------------------------------------------------------------------------

static void test_index_range() {
  for (int i = 0; i < 500; i++) {
    uint32_t type = (uint32_t)(0x1401 + 2 * roll(0, 2));
    int64_t size = size::index_size(type), count = roll(0, 50), restart = roll(0, 1) ? roll(0, 40) : -1;
    std::vector<uint8_t> data((size_t)(size * count) + 1);
    uint64_t low = ~0ull, high = 0;
    bool any = false;
    for (int64_t k = 0; k < count; k++) {
      uint32_t v = (uint32_t)roll(0, 60);
      memcpy(data.data() + k * size, &v, (size_t)size);
      if ((int64_t)v == restart) continue;
      any = true;
      low = v < low ? v : low;
      high = v > high ? v : high;
    }
    gl::IndexRange r = gl::index_range(data.data(), (uint64_t)count, type, restart);
    CHECK(r.any == any && (!any || (r.low == low && r.high == high)));
  }
}

static void test_merge() {
  for (int i = 0; i < 500; i++) {
    gl::Span spans[20];
    uint32_t count = (uint32_t)roll(0, 20);
    std::vector<bool> covered(256);
    for (uint32_t k = 0; k < count; k++) {
      spans[k].begin = (uintptr_t)roll(0, 200);
      spans[k].end = spans[k].begin + (uintptr_t)roll(1, 50);
      for (uintptr_t b = spans[k].begin; b < spans[k].end; b++) covered[b] = true;
    }
    count = gl::merge_spans(spans, count);
    std::vector<bool> merged(256);
    for (uint32_t k = 0; k < count; k++) {
      CHECK(!k || spans[k].begin > spans[k - 1].end);
      for (uintptr_t b = spans[k].begin; b < spans[k].end; b++) merged[b] = true;
    }
    CHECK(covered == merged);
  }
}

static void test_client_arrays() {
  GlContext* c = start("OpenGL ES 3.0 fake");
  static float interleaved[64 * 5], separate[64 * 4];
  hook::after_glVertexAttribPointer(&tls, 0, 3, 0x1406, 0, 20, interleaved);
  hook::after_glVertexAttribPointer(&tls, 1, 2, 0x1406, 0, 20, interleaved + 3);
  hook::after_glEnableVertexAttribArray(&tls, 0);
  hook::after_glEnableVertexAttribArray(&tls, 1);
  hook::before_glDrawArrays(&tls, 4, 2, 6);
  CHECK(g_memory.size() == 1 && g_memory[0].first == (uintptr_t)interleaved + 40 && g_memory[0].second == 120);
  g_memory.clear();
  // A third array elsewhere, advancing once per two instances.
  hook::after_glVertexAttribPointer(&tls, 2, 4, 0x1406, 0, 0, separate);
  hook::after_glVertexAttribDivisor(&tls, 2, 2);
  hook::after_glEnableVertexAttribArray(&tls, 2);
  const uint16_t list[] = {7, 3, 5, 0xffff, 4, 3};
  hook::before_glDrawElementsInstanced(&tls, 5, 3, 0x1403, list, 5);
  CHECK(g_memory.size() == 2);
  uint64_t of_separate = 0, of_interleaved = 0;
  for (auto [at, bytes] : g_memory) (at == (uintptr_t)separate ? of_separate : of_interleaved) = bytes;
  CHECK(of_separate == 3 * 16 && of_interleaved == 100);
  g_memory.clear();
  // Primitive restart takes the greatest index out of the range.
  g_ints[0x8D69] = 1;
  hook::after_glDisableVertexAttribArray(&tls, 2);
  hook::before_glDrawElements(&tls, 5, 6, 0x1403, list);
  CHECK(g_memory.size() == 1 && g_memory[0].first == (uintptr_t)interleaved + 60 && g_memory[0].second == 100);
  g_memory.clear();
  // A base vertex moves it.
  hook::before_glDrawElementsBaseVertex(&tls, 5, 2, 0x1403, list, -3);
  CHECK(g_memory.size() == 1 && g_memory[0].first == (uintptr_t)interleaved && g_memory[0].second == 100);
  g_memory.clear();
  // Arrays in buffers, another vertex array object, refused calls: nothing to read.
  hook::after_glBindVertexArray(&tls, 5000);  // no such name
  CHECK(c->vao == 0 && c->client_arrays == 3);
  hook::after_glBindVertexArray(&tls, 5);
  hook::before_glDrawArrays(&tls, 4, 0, 6);
  CHECK(g_memory.empty() && !c->client_arrays);
  hook::after_glBindVertexArray(&tls, 0);
  hook::after_glVertexAttribPointer(&tls, 0, 5, 0x1406, 0, 20, separate);   // size 5
  hook::after_glVertexAttribPointer(&tls, 0, 3, 0x1406, 0, -20, separate);  // stride below 0
  hook::after_glVertexAttribPointer(&tls, 99, 3, 0x1406, 0, 20, separate);
  hook::before_glDrawArrays(&tls, 4, 0, 1);
  CHECK(g_memory.size() == 1 && g_memory[0].first == (uintptr_t)interleaved && g_memory[0].second == 20);
  g_memory.clear();
  hook::after_glBindBuffer(&tls, 0x8892, 9);
  hook::after_glVertexAttribPointer(&tls, 0, 3, 0x1406, 0, 20, (void*)16);
  hook::before_glDrawArrays(&tls, 4, 0, 2);
  CHECK(g_memory.size() == 1 && g_memory[0].first == (uintptr_t)(interleaved + 3) && g_memory[0].second == 28);
  g_memory.clear();
  hook::after_glVertexAttribPointer(&tls, 1, 3, 0x1406, 0, 20, (void*)16);
  CHECK(!c->client_arrays);
}

static void test_fixed_arrays() {
  GlContext* c = start("2.1 fake");
  static char data[4096];
  hook::after_glInterleavedArrays(&tls, 0x2A29, 0, data);  // T2F_C4UB_V3F
  hook::before_glDrawArrays(&tls, 4, 1, 3);
  CHECK(g_memory.size() == 1 && g_memory[0].first == (uintptr_t)data + 24 && g_memory[0].second == 72);
  g_memory.clear();
  hook::after_glClientActiveTexture(&tls, 0x84C0 + 3);
  hook::after_glEnableClientState(&tls, 0x8078);
  hook::after_glTexCoordPointer(&tls, 2, 0x1402, 0, data + 2048);
  hook::after_glPushClientAttrib(&tls, 2);
  hook::after_glDisableClientState(&tls, 0x8074);
  hook::after_glClientActiveTexture(&tls, 0x84C0 + 99);  // refused
  hook::before_glArrayElement(&tls, 7);
  CHECK(g_memory.size() == 2 && g_memory[1].first == (uintptr_t)data + 2048 + 28 && g_memory[1].second == 4);
  g_memory.clear();
  hook::after_glPopClientAttrib(&tls);
  CHECK(c->vertex.enabled & 1ull << gl::VERTEX);
  // Ranges far apart stay apart, close ones become one.
  const int32_t first[] = {0, 2, 100}, count[] = {2, 2, 2};
  hook::after_glDisableClientState(&tls, 0x8078);
  hook::before_glMultiDrawArrays(&tls, 4, first, count, 2);
  CHECK(g_memory.size() == 1 && g_memory[0].second == 4 * 24);
  g_memory.clear();
  hook::before_glMultiDrawArrays(&tls, 4, first, count, 3);
  CHECK(g_memory.size() == 3);
  g_memory.clear();
  // Indices in a buffer are read back.
  const uint32_t stored[] = {9, 4, 6, 5};
  g_element_data.assign((const uint8_t*)stored, (const uint8_t*)stored + sizeof stored);
  hook::after_glBindBuffer(&tls, 0x8893, 3);
  hook::before_glDrawElements(&tls, 4, 3, 0x1405, (void*)4);
  CHECK(g_memory.size() == 1 && g_memory[0].first == (uintptr_t)data + 4 * 24 && g_memory[0].second == 3 * 24);
  g_memory.clear();
  const void* lists[] = {stored, stored + 2};
  const int32_t counts[] = {2, 2};
  hook::after_glDeleteBuffers(&tls, 1, (const uint32_t[]){3});
  hook::before_glMultiDrawElements(&tls, 4, counts, 0x1405, lists, 2);
  CHECK(g_memory.size() == 4 && g_memory[0].second == 8 && g_memory[1].second == 8);
  // An enabled array whose memory is gone is left out as well.
  g_memory.clear();
  void* gone = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(gone, 4096);
  hook::after_glNormalPointer(&tls, 0x1406, 0, gone);
  hook::after_glEnableClientState(&tls, 0x8075);
  hook::before_glDrawArrays(&tls, 4, 0, 3);
  CHECK(g_memory.size() == 1 && g_notes.size() == 1 && g_notes[0] == "client-array-unreadable");
  hook::after_glDisableClientState(&tls, 0x8075);
  g_notes.clear();
  // An index gone wild is left out, not read.
  g_memory.clear();
  const uint32_t wild[] = {0, 0xfffffff0u};
  hook::before_glDrawElements(&tls, 4, 2, 0x1405, wild);
  CHECK(g_memory.empty() && !g_notes.empty() && g_notes[0] == "client-array-wild");
}

// ---- maps ---------------------------------------------------------------------------------------

static void test_changed_parts() {
  for (int i = 0; i < 300; i++) {
    size_t bytes = (size_t)roll(1, 20000);
    std::vector<uint8_t> before(bytes), now;
    for (auto& b : before) b = (uint8_t)roll(0, 3);
    now = before;
    for (int64_t k = roll(0, 20); k > 0; k--) {
      size_t at = (size_t)roll(0, (int64_t)bytes - 1), end = at + (size_t)roll(1, 300);
      for (; at < end && at < bytes; at++) now[at] = (uint8_t)roll(0, 3);
    }
    struct Apply {
      std::vector<uint8_t>*before, *now;
      uint64_t last;
    } apply{&before, &now, 0};
    gl::changed_parts(
        before.data(), now.data(), bytes,
        [](void* user, uint64_t offset, uint64_t length) {
          Apply* a = (Apply*)user;
          CHECK(length && offset >= a->last && offset + length <= a->now->size());
          CHECK((*a->before)[offset] != (*a->now)[offset]);
          CHECK((*a->before)[offset + length - 1] != (*a->now)[offset + length - 1]);
          memcpy(a->before->data() + offset, a->now->data() + offset, length);
          a->last = offset + length;
        },
        &apply);
    CHECK(before == now);
  }
}

static void apply_writes(std::vector<uint8_t>& replica, uint64_t base) {
  for (const Write& w : g_writes) {
    CHECK(w.buffer == 11 && w.offset >= base && w.offset - base + w.bytes.size() <= replica.size());
    memcpy(replica.data() + (w.offset - base), w.bytes.data(), w.bytes.size());
  }
  g_writes.clear();
}

// Persistent: whatever is stored is in what was recorded before the GPU could read it, and little else.
static void test_persistent(uint64_t watch_bytes, size_t bytes, size_t skew) {
  start("4.6 (Core Profile)", {{0x9126, 1}});
  hook::g_watch_bytes = watch_bytes;
  uint8_t* memory = (uint8_t*)mmap(nullptr, bytes + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint8_t* at = memory + skew;
  hook::after_glBindBuffer(&tls, 0x8892, 11);
  hook::after_glMapBufferRange(&tls, 0x8892, 256, (intptr_t)bytes, 0x2 | 0x40 | 0x80, at);
  CHECK(hook::g_maps_alive == 1);
  std::vector<uint8_t> replica(bytes);
  hook::before_gpu_reads(&tls);
  CHECK(g_writes.empty());
  for (int i = 0; i < 100; i++) {
    uint64_t stored = 0;
    for (int64_t k = roll(0, 5); k > 0; k--) {
      size_t offset = (size_t)roll(0, (int64_t)bytes - 1), length = (size_t)roll(1, 5000);
      if (length > bytes - offset) length = bytes - offset;
      for (size_t b = 0; b < length; b++) at[offset + b] = (uint8_t)roll(0, 255);
      stored += length + 3 * 4096;
    }
    if (i == 50) hook::before_glInvalidateBufferData(&tls, 11), stored += bytes;
    hook::before_gpu_reads(&tls);
    uint64_t recorded = 0;
    for (const Write& w : g_writes) recorded += w.bytes.size();
    CHECK(recorded <= stored);
    apply_writes(replica, 256);
    CHECK(!memcmp(replica.data(), at, bytes));
  }
  at[bytes - 1] ^= 1;
  hook::before_glBufferData(&tls, 0x8892, 4, nullptr, 0);  // refused: immutable
  CHECK(hook::g_maps_alive == 1);
  hook::before_glUnmapBuffer(&tls, 0x8892);
  apply_writes(replica, 256);
  CHECK(!memcmp(replica.data(), at, bytes) && hook::g_maps_alive == 0);
  munmap(memory, bytes + 8192);
}

// Whoever watched before a fork watches in the parent alone, until the child begins for itself.
static void test_watched_by_parent_alone() {
  uint8_t* at = (uint8_t*)mmap(nullptr, 2 * watch::PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const watch::Range first = {(uint64_t)at, (uint64_t)at + watch::PAGE};
  const bool watched = watch::begin(first);
  CHECK(watch::is_on() == watched);
  const pid_t child = fork();
  if (!child) {
    const bool was_on = watch::is_on();
    const watch::Range second = {first.end, first.end + watch::PAGE};
    _exit(!was_on && watch::begin(second) == watched && watch::is_on() == watched ? 0 : 1);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0 && watch::is_on() == watched);
  munmap(at, 2 * watch::PAGE);
}

static void test_ordinary_maps() {
  start("4.6 (Core Profile)", {{0x9126, 1}});
  std::vector<uint8_t> memory(10000, 1), replica(10000, 1);
  hook::after_glBindBuffer(&tls, 0x8892, 11);
  // Write without invalidation: only what changed.
  hook::after_glMapBufferRange(&tls, 0x8892, 0, 10000, 0x2, memory.data());
  memory[5000] = 9;
  memory[9999] = 8;
  hook::before_glUnmapBuffer(&tls, 0x8892);
  CHECK(g_writes.size() == 2 && g_writes[0].bytes.size() == 1 && g_writes[0].offset == 5000);
  g_writes.clear();
  // Invalidated: all of it.
  hook::after_glMapBufferRange(&tls, 0x8892, 100, 50, 0x2 | 0x4, memory.data());
  hook::before_glUnmapBuffer(&tls, 0x8892);
  CHECK(g_writes.size() == 1 && g_writes[0].offset == 100 && g_writes[0].bytes.size() == 50);
  g_writes.clear();
  // Flushed explicitly: what was flushed.
  hook::after_glMapBufferRange(&tls, 0x8892, 100, 50, 0x2 | 0x10, memory.data());
  hook::before_glFlushMappedBufferRange(&tls, 0x8892, 10, 20);
  hook::before_glFlushMappedBufferRange(&tls, 0x8892, 40, 20);  // beyond the end: refused
  hook::before_glUnmapBuffer(&tls, 0x8892);
  CHECK(g_writes.size() == 1 && g_writes[0].offset == 110 && g_writes[0].bytes.size() == 20);
  g_writes.clear();
  // Read only; new storage; deletion.
  hook::after_glMapBufferRange(&tls, 0x8892, 0, 50, 0x1, memory.data());
  hook::before_glUnmapBuffer(&tls, 0x8892);
  hook::after_glMapBufferRange(&tls, 0x8892, 0, 50, 0x2, memory.data());
  hook::before_glBufferData(&tls, 0x8892, 4, nullptr, 0);
  hook::before_glUnmapBuffer(&tls, 0x8892);
  hook::after_glMapBufferRange(&tls, 0x8892, 0, 50, 0x2 | 0x40, memory.data());
  hook::before_glDeleteBuffers(&tls, 1, (const uint32_t[]){11});
  CHECK(g_writes.empty() && hook::g_maps_alive == 0);
}

// Storage that was made without data: what is stored there is recorded, whatever happened to lie there.
static void test_undefined_storage() {
  start("4.6 (Core Profile)", {{0x9126, 1}});
  std::vector<uint8_t> memory(100, 0);
  hook::after_glBindBuffer(&tls, 0x8892, 11);
  auto recorded = [&](intptr_t offset, intptr_t bytes, uint32_t access) {
    hook::after_glMapBufferRange(&tls, 0x8892, offset, bytes, access, memory.data() + offset);
    memset(memory.data() + offset, 0, (size_t)bytes);
    hook::before_gpu_reads(&tls);
    hook::before_glUnmapBuffer(&tls, 0x8892);
    size_t all = 0;
    for (const Write& w : g_writes) all += w.bytes.size();
    g_writes.clear();
    return all;
  };
  CHECK(recorded(0, 100, 0x2) == 0);
  hook::before_glBufferData(&tls, 0x8892, 100, nullptr, 0);
  CHECK(recorded(20, 10, 0x2) == 10);  // the rest stays undefined
  CHECK(recorded(0, 100, 0x2) == 100);
  CHECK(recorded(0, 100, 0x2) == 0);
  hook::before_glBufferData(&tls, 0x8892, 100, memory.data(), 0);
  CHECK(recorded(0, 100, 0x2) == 0);
  hook::before_glNamedBufferStorage(&tls, 11, 100, nullptr, 0x2 | 0x40);
  CHECK(recorded(0, 100, 0x2 | 0x40) == 100);
  CHECK(recorded(0, 100, 0x2 | 0x40) == 0);
}

// ---- contexts -----------------------------------------------------------------------------------

static void test_contexts() {
  GlContext* a = start("OpenGL ES 3.0 fake");
  void* shared = (void*)0x5550;
  hook::after_glXCreateContext(&tls, nullptr, nullptr, a->handle, 1, shared);
  int said = g_contexts_said;
  hook::after_glXMakeCurrent(&tls, nullptr, 0, shared, 0);  // failed
  CHECK(tls.context == a && g_contexts_said == said);
  hook::after_glXMakeCurrent(&tls, nullptr, 0, shared, 1);
  CHECK(tls.context != a && tls.context->share_group == a->share_group && tls.context->id != a->id);
  CHECK(g_contexts_said == said + 1 && g_exact == 0);
  Thread other{};
  other.index = 1;
  hook::after_glXMakeCurrent(&other, nullptr, 0, a->handle, 1);
  CHECK(g_exact == 1);  // moved, and its group is current elsewhere
  hook::after_glXDestroyContext(&other, nullptr, a->handle);
  CHECK(other.context == a);  // lives while it is current
  hook::after_glXMakeCurrent(&other, nullptr, 0, nullptr, 1);
  CHECK(!other.context);
}

int main() {
  test_images();
  test_small_sizes();
  test_pixel_store();
  test_index_range();
  test_merge();
  test_client_arrays();
  test_fixed_arrays();
  test_changed_parts();
  test_ordinary_maps();
  test_undefined_storage();
  test_persistent(~0ull, 300000, 64);
  test_persistent(~0ull, 100, 0);
  test_persistent(0, 300000, 64);
  test_persistent(0, 1 << 20, 0);
  test_watched_by_parent_alone();
  test_contexts();
  CHECK(g_error == 0);  // no question was asked that the driver does not know
  printf("ok\n");
  return 0;
}
