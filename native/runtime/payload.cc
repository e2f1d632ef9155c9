// Content: hashing, handing blobs to the drainer once, string lists, and the tap's own records.
#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "hash.h"
#include "keep.h"
#include "live.h"
#include "losses.h"

namespace dt {

uint64_t next_order();  // session.cc
uint32_t content_epoch();
bool leaves_content_out(Thread* t, uint64_t bytes);  // and counts it
void count_loss(const char* code);
__thread unsigned outs_waiting __attribute__((tls_model("initial-exec")));

namespace {

// Content that the drainer has, by the low 64 bits of its hash. Open addressing, insert only: the worst that a
// full table can do is to send content again, which the drainer then recognises.
constexpr size_t KNOWN = 1u << 18;
uint64_t known[KNOWN];

// Notes that this process has made already, by hash.
uint64_t said[64];

bool is_known(uint64_t key) {
  for (size_t i = 0; i < 16; i++) {
    uint64_t entry = __atomic_load_n(&known[(key + i) & (KNOWN - 1)], __ATOMIC_RELAXED);
    if (entry == key) return true;
    if (!entry) return false;
  }
  return false;
}

void make_known(uint64_t key) {
  for (size_t i = 0; i < 16; i++) {
    uint64_t none = 0;
    if (__atomic_compare_exchange_n(&known[(key + i) & (KNOWN - 1)], &none, key, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED) ||
        none == key)
      return;
  }
}

// Hand over content in parts that fit in chunks. False: not recording (any more).
bool send_parts(Thread* t, const char* data, uint64_t bytes, Hash128 hash) {
  constexpr size_t FIXED = sizeof(dt_record) + sizeof(dt_blob_part);
  uint64_t done = 0;
  while (done < bytes) {
    // Whatever this chunk still holds, if that is worth a part; otherwise a fresh chunk.
    size_t free_here = (size_t)(t->limit - t->cursor);
    size_t room = free_here > FIXED + 4096 ? free_here : 0;
    if (!room) {
      if (!next_chunk(t, FIXED + 4096)) return false;
      room = (size_t)(t->limit - t->cursor);
    }
    uint64_t part = bytes - done;
    if (part > room - FIXED) part = (room - FIXED) & ~7ull;
    if (part > 0xffff * 8ull - FIXED) part = 0xffff * 8ull - FIXED;
    size_t size = FIXED + ((part + 7) & ~7ull);
    char* at = t->cursor;
    put_header(at, DT_FN_BLOB | DT_RECORD_TAP, size, 0);
    dt_blob_part head = {hash.low, hash.high, bytes, done, part};
    memcpy(at + sizeof(dt_record), &head, sizeof head);
    memcpy(at + FIXED, data + done, part);
    commit(t, at + size);
    done += part;
  }
  return true;
}

// The drainer keeps only what is of use to it now (a flight recorder), and may have let go of what we take for known.
void follow_epoch() {
  static uint32_t seen;
  const uint32_t now = content_epoch();
  if (DT_LIKELY(now == __atomic_load_n(&seen, __ATOMIC_RELAXED))) return;
  __atomic_store_n(&seen, now, __ATOMIC_RELAXED);
  memset(known, 0, sizeof known);
}

bool hand_over(Thread* t, const void* data, uint64_t bytes, Hash128 hash) {
  if (DT_UNLIKELY(t->keep != nullptr)) {
    uint8_t name[16];
    memcpy(name, &hash.low, 8);
    memcpy(name + 8, &hash.high, 8);
    return keep_content(t, data, bytes, name);
  }
  follow_epoch();
  uint64_t key = hash.low ? hash.low : 1;
  if (is_known(key)) return true;
  // Only after the content is committed may other records count on it.
  if (!send_parts(t, (const char*)data, bytes, hash)) return false;
  make_known(key);
  return true;
}

// Outputs that became blobs wait here until the record's own fields are all written: handing them over may
// seal the chunk that holds the record.
struct Waiting {
  const void* data;
  uint64_t bytes;
  Hash128 hash;
};
constexpr unsigned MOST_WAITING = 8;
__thread Waiting waiting[MOST_WAITING] __attribute__((tls_model("initial-exec")));
__thread char* scratch __attribute__((tls_model("initial-exec")));
__thread size_t scratch_size __attribute__((tls_model("initial-exec")));

char* scratch_of(size_t bytes) {
  if (bytes > scratch_size) {
    size_t size = bytes < 65536 ? 65536 : bytes * 2;
    char* grown = (char*)mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (grown == MAP_FAILED) return nullptr;
    if (scratch) munmap(scratch, scratch_size);
    scratch = grown;
    scratch_size = size;
  }
  return scratch;
}

// A tap record with `words` 8-byte fields, `halves` 4-byte fields and the payload of `data` (descriptor at `slot`).
void emit(Thread* t, unsigned function, const uint64_t* words, unsigned n_words, const uint32_t* halves,
          unsigned n_halves, const Data* const* data, unsigned n_data) {
  size_t fixed = sizeof(dt_record) + n_words * 8 + ((n_halves * 4 + 7) & ~7u);
  size_t size = fixed;
  for (unsigned i = 0; i < n_data; i++) size += data[i]->room();
  char* at = reserve(t, size);
  if (!at) return;
  memcpy(at + sizeof(dt_record), words, n_words * 8);
  if (n_halves) {
    if (n_halves & 1) memset(at + fixed - 8, 0, 8);
    memcpy(at + sizeof(dt_record) + n_words * 8, halves, n_halves * 4);
  }
  char* tail = at + fixed;
  for (unsigned i = 0; i < n_data; i++) tail = copy_data(tail, *data[i]);
  put_header(at, function | DT_RECORD_TAP, size, entry_clock());
  ((dt_record*)at)->duration = DT_NO_DURATION;
  commit(t, at + size);
}

}  // namespace

void forget_blobs() {
  memset(known, 0, sizeof known);
  memset(said, 0, sizeof said);
}

bool put_blob(Thread* t, const void* data, uint64_t bytes, uint8_t hash[16]) {
  Hash128 h = hash128(data, bytes);
  memcpy(hash, &h.low, 8);
  memcpy(hash + 8, &h.high, 8);
  return hand_over(t, data, bytes, h);
}

Data prepare_blob(Thread* t, const void* data, uint64_t bytes) {
  Data d = {DT_DATA(DT_DATA_BLOB, 2, bytes), nullptr, {}};
  if (DT_UNLIKELY(t->no_content)) {
    // What the drainer has already costs nothing.
    const Hash128 h = hash128(data, bytes);
    follow_epoch();
    if (!is_known(h.low ? h.low : 1) && leaves_content_out(t, bytes))
      return Data{DT_DATA(DT_DATA_UNKNOWN, 0, bytes), nullptr, {}};
  }
  if (!put_blob(t, data, bytes, d.hash)) d.descriptor = DT_DATA(DT_DATA_UNKNOWN, 0, bytes);
  return d;
}

void fill_out_blob(Thread*, uint64_t* descriptor, char* at, const void* data, uint64_t bytes) {
  uint64_t room = DT_DATA_CAPACITY(*descriptor);
  if (bytes <= room * 8) {
    memcpy(at, data, bytes);
    *descriptor = DT_DATA(DT_DATA_INLINE, room, bytes);
    return;
  }
  if (room < 2 || outs_waiting >= MOST_WAITING) {
    count_loss("results-without-room");  // a note could move the chunk that the record is in
    *descriptor = DT_DATA(DT_DATA_UNKNOWN, room, bytes);
    return;
  }
  Hash128 h = hash128(data, bytes);
  memcpy(at, &h.low, 8);
  memcpy(at + 8, &h.high, 8);
  *descriptor = DT_DATA(DT_DATA_BLOB, room, bytes);
  waiting[outs_waiting++] = Waiting{data, bytes, h};
}

void flush_outs_slow(Thread* t) {
  for (unsigned i = 0; i < outs_waiting; i++) hand_over(t, waiting[i].data, waiting[i].bytes, waiting[i].hash);
  outs_waiting = 0;
}

Data prepare_strings(Thread* t, int64_t count, const char* const* strings, const int32_t* lengths) {
  Data none = {DT_DATA(strings ? DT_DATA_INLINE : DT_DATA_NONE, 0, 0), nullptr, {}};
  if (!strings || count <= 0) return none;
  size_t total = 0;
  for (int64_t i = 0; i < count; i++) {
    size_t n = !strings[i] ? 0 : lengths && lengths[i] >= 0 ? (size_t)lengths[i] : strlen(strings[i]);
    total += 4 + n;
    if (total > (1u << 30)) {
      emit_loss(t, "strings-too-long", "strings of more than 1 GiB in one call were not recorded");
      return Data{DT_DATA(DT_DATA_UNKNOWN, 0, 0), nullptr, {}};
    }
  }
  char* buffer = scratch_of(total);
  if (!buffer) {
    emit_loss(t, "strings-without-memory", "there was no memory to put a call's strings together: not recorded");
    return Data{DT_DATA(DT_DATA_UNKNOWN, 0, total), nullptr, {}};
  }
  char* at = buffer;
  for (int64_t i = 0; i < count; i++) {
    uint32_t n = !strings[i] ? 0 : lengths && lengths[i] >= 0 ? (uint32_t)lengths[i] : (uint32_t)strlen(strings[i]);
    memcpy(at, &n, 4);
    if (n) memcpy(at + 4, strings[i], n);
    at += 4 + n;
  }
  return prepare(t, buffer, (int64_t)total);
}

void emit_order(Thread* t) {
  // The chunk first: waiting for one must not stand between taking the number and the call.
  if (!reserve(t, 24)) return;
  uint64_t order = next_order();
  emit(t, DT_FN_ORDER, &order, 1, nullptr, 0, nullptr, 0);
}

void emit_context(Thread* t, uint32_t id, uint32_t share_group, uint32_t api, uint64_t handle, uint64_t draw,
                  uint64_t read) {
  uint64_t words[3] = {handle, draw, read};
  uint32_t halves[3] = {id, share_group, api};
  emit(t, DT_FN_CONTEXT, words, 3, halves, 3, nullptr, 0);
}

void emit_content(Thread* t, uint64_t handle, const Data& content) {
  uint64_t words[2] = {handle, content.descriptor};
  const Data* all[] = {&content};
  emit(t, DT_FN_MEMORY, words, 2, nullptr, 0, all, 1);
}

void emit_memory(Thread* t, const void* address, uint64_t bytes) {
  emit_content(t, (uint64_t)(uintptr_t)address, prepare(t, address, (int64_t)bytes));
}

void emit_map_write(Thread* t, uint32_t target, uint32_t buffer, uint64_t offset, const void* data, uint64_t bytes) {
  Data d = prepare(t, data, (int64_t)bytes);
  uint64_t words[2] = {offset, d.descriptor};
  uint32_t halves[2] = {target, buffer};
  const Data* all[] = {&d};
  emit(t, DT_FN_MAP_WRITE, words, 2, halves, 2, all, 1);
}

void emit_native(Thread* t, const char* kind, uint64_t handle, const char* text) {
  Data k = prepare(t, kind, (int64_t)strlen(kind)), x = prepare(t, text, (int64_t)strlen(text));
  uint64_t words[3] = {handle, k.descriptor, x.descriptor};
  const Data* all[] = {&k, &x};
  emit(t, DT_FN_NATIVE, words, 3, nullptr, 0, all, 2);
}

void emit_library(Thread* t, const char* path, uint64_t base) {
  Data p = prepare(t, path, (int64_t)strlen(path));
  uint64_t words[2] = {p.descriptor, base};
  const Data* all[] = {&p};
  emit(t, DT_FN_LIBRARY, words, 2, nullptr, 0, all, 1);
}

void forget_notes() { memset(said, 0, sizeof said); }

void emit_note(Thread* t, const char* code, const char* text) {
  uint64_t key = hash128(text, strlen(text)).low ^ hash128(code, strlen(code)).low;
  if (!key) key = 1;
  for (uint64_t& entry : said) {
    uint64_t none = 0;
    if (__atomic_compare_exchange_n(&entry, &none, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) break;
    if (none == key) return;
  }
  Data c = prepare(t, code, (int64_t)strlen(code)), x = prepare(t, text, (int64_t)strlen(text));
  uint64_t words[2] = {c.descriptor, x.descriptor};
  const Data* all[] = {&c, &x};
  emit(t, DT_FN_NOTE, words, 2, nullptr, 0, all, 2);
}

void emit_loss(Thread* t, const char* code, const char* text) {
  count_loss(code);
  emit_note(t, code, text);
}

void emit_metric(Thread* t, const char* name, double value) {
  Data n = prepare(t, name, (int64_t)strlen(name));
  uint64_t words[2] = {n.descriptor, 0};
  memcpy(&words[1], &value, 8);
  const Data* all[] = {&n};
  emit(t, DT_FN_METRIC, words, 2, nullptr, 0, all, 1);
}

void emit_mark(Thread* t, const char* text) {
  Data x = prepare(t, text, (int64_t)strlen(text));
  uint64_t words[1] = {x.descriptor};
  const Data* all[] = {&x};
  emit(t, DT_FN_MARK, words, 1, nullptr, 0, all, 1);
}

}  // namespace dt

// A user's module that is preloaded in front of the tap hands its numbers and remarks to it; a module that does not
// record hands them on. 0: nobody took it.
DT_EXPORT int drawtap_metric(const char* name, double value) {
  if (!dt::g_module_records) {
    static auto next = (int (*)(const char*, double))dt::next_module_symbol("drawtap_metric");
    return next ? next(name, value) : 0;
  }
  dt::live::set_value(name, value);
  if (!(dt::g_mode & (dt::MODE_OFF | dt::MODE_LOST))) dt::emit_metric(&dt::tls, name, value);
  return 1;
}
DT_EXPORT int drawtap_mark(const char* text) {
  if (!dt::g_module_records) {
    static auto next = (int (*)(const char*))dt::next_module_symbol("drawtap_mark");
    return next ? next(text) : 0;
  }
  if (!(dt::g_mode & (dt::MODE_OFF | dt::MODE_LOST))) dt::emit_mark(&dt::tls, text);
  return 1;
}
