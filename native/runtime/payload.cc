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
#include "mapped.h"

namespace dt {

uint64_t next_order();           // session.cc
dt_pool_header* session_pool();  // nullptr: none
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

// Content on its way to the drainer: with its hash, or with a number, and the drainer then finds the hash.
constexpr unsigned MOST_PARTS = 24;
struct Sending {
  const char* data;
  uint64_t bytes, number;
  Digest hash;
  char* parts[MOST_PARTS];  // so far, of what has a number
  unsigned count;
};
__thread Sending* sending __attribute__((tls_model("initial-exec")));

// The drainer takes the parts only when they have a name: it must not wait for a thread that waits for it. The first
// part last: by the first one the drainer sees that all have it.
void name_parts(Sending* what) {
  what->hash = hash128(what->data, what->bytes);
  what->number = 0;
  while (what->count) {
    char* const part = what->parts[--what->count];
    memcpy(part + sizeof(dt_record), &what->hash, sizeof what->hash);
    __atomic_store_n((uint64_t*)(part + offsetof(dt_record, entry)), 0, __ATOMIC_RELEASE);
  }
}

// Hand over content in parts that fit in chunks. False: not recording (any more).
bool send_parts(Thread* t, Sending* what) {
  constexpr size_t FIXED = sizeof(dt_record) + sizeof(dt_blob_part);
  const uint64_t bytes = what->bytes;
  uint64_t done = 0;
  while (done < bytes) {
    // The rest of this chunk, if that is worth a part; otherwise a fresh chunk.
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
    if (what->number && what->count == MOST_PARTS) name_parts(what);
    put_header(at, DT_FN_BLOB | DT_RECORD_TAP, size, what->number);
    const Digest name = what->number ? Digest{what->number, DT_UNNAMED} : what->hash;
    dt_blob_part head = {name.low, name.high, bytes, done, part};
    memcpy(at + sizeof(dt_record), &head, sizeof head);
    memcpy(at + FIXED, what->data + done, part);
    if (what->number) {
      what->parts[what->count++] = at;
      if (!t->chunk->unnamed) t->chunk->unnamed = (uint32_t)(at - (char*)t->chunk);
    }
    commit(t, at + size);
    done += part;
  }
  return true;
}

// The drainer keeps only what is of use to it now (a flight recorder), and may have let go of what we take for known.
void follow_epoch() {
  static uint32_t seen;
  dt_pool_header* const pool = session_pool();
  const uint32_t now = pool ? pool->content_epoch.load(std::memory_order_acquire) : 0;
  if (DT_LIKELY(now == __atomic_load_n(&seen, __ATOMIC_RELAXED))) return;
  __atomic_store_n(&seen, now, __ATOMIC_RELAXED);
  memset(known, 0, sizeof known);
}

bool hand_over(Thread* t, const void* data, uint64_t bytes, Digest hash) {
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
  Sending what = {(const char*)data, bytes, 0, hash, {}, 0};
  if (!send_parts(t, &what)) return false;
  make_known(key);
  return true;
}

// ---- content that the drainer hashes --------------------------------------------------------------

// Hashing is a third of what new content costs, and wasted on it. So content that is probably new goes without: that
// with a sample never seen before, and that whose sample is of something that changes elsewhere. The drainer finds out
// when it was not new, stores nothing twice, and says so; the program then has paid for a copy.
constexpr uint64_t LEAST_UNNAMED = 64 << 10, MOST_UNNAMED = 8 << 20;
constexpr uint32_t LEAST_POOL = 16;  // chunks: the drainer cannot take one before the content in it is whole
constexpr size_t CONTENTS_SEEN = 1u << 13;
constexpr unsigned SAMPLES = 16, SAMPLE_BYTES = 64;

// By sample. In the low byte: how often in a row content with it was new, and (two bits) how often it then was not.
uint64_t seen[CONTENTS_SEEN];
uint32_t repeats_seen[DT_REPEAT_SLOTS];
constexpr uint8_t NEWS = 63, TRUST[4] = {4, 16, 48, NEWS + 1};

struct Guess {
  uint64_t* entry;  // nullptr: the table is full there
  bool is_new;
  uint32_t slot;
};

Guess guess(dt_pool_header* pool, const char* data, uint64_t bytes) {
  char sample[SAMPLES * SAMPLE_BYTES + 8];
  const uint64_t step = (bytes - SAMPLE_BYTES) / (SAMPLES - 1);
  for (unsigned i = 0; i < SAMPLES; i++) memcpy(sample + i * SAMPLE_BYTES, data + i * step, SAMPLE_BYTES);
  memcpy(sample + SAMPLES * SAMPLE_BYTES, &bytes, 8);
  uint64_t key = hash128(sample, sizeof sample).low & ~255ull;
  if (!key) key = 256;
  for (unsigned i = 0; i < 8; i++) {
    const size_t place = ((key >> 8) + i) & (CONTENTS_SEEN - 1);
    Guess g = {&seen[place], true, (uint32_t)(place % DT_REPEAT_SLOTS)};
    uint64_t entry = 0;
    if (__atomic_compare_exchange_n(g.entry, &entry, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return g;
    if ((entry & ~255ull) != key) continue;
    uint64_t doubt = entry >> 6 & 3;
    const uint32_t repeats = pool->repeats[g.slot].load(std::memory_order_relaxed);
    if (__atomic_exchange_n(&repeats_seen[g.slot], repeats, __ATOMIC_RELAXED) != repeats) {
      if (doubt < 3) doubt++;
      __atomic_store_n(g.entry, entry = key | doubt << 6, __ATOMIC_RELAXED);
    }
    g.is_new = (entry & NEWS) >= TRUST[doubt];
    return g;
  }
  return {nullptr, false, 0};
}

void learn(const Guess& g, bool was_new) {
  if (!g.entry) return;
  const uint64_t entry = __atomic_load_n(g.entry, __ATOMIC_RELAXED), news = entry & NEWS;
  __atomic_store_n(g.entry,
                   (entry & ~(uint64_t)NEWS) | (!was_new      ? 0
                                                : news < NEWS ? news + 1
                                                              : news),
                   __ATOMIC_RELAXED);
}

bool send_unnamed(Thread* t, const void* data, uint64_t bytes, uint32_t slot, uint8_t name[16]) {
  static uint64_t last;
  const uint64_t number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED) * DT_REPEAT_SLOTS + slot;
  Sending what = {(const char*)data, bytes, number, {}, {}, 0};
  sending = &what;
  const bool sent = send_parts(t, &what);
  sending = nullptr;
  const Digest hash = what.number ? Digest{what.number, DT_UNNAMED} : what.hash;
  memcpy(name, &hash.low, 8);
  memcpy(name + 8, &hash.high, 8);
  if (sent && !what.number) make_known(hash.low ? hash.low : 1);
  return sent;
}

// Outputs that became blobs wait here until the record's own fields are all written: handing them over may
// seal the chunk that holds the record.
struct Waiting {
  const void* data;
  uint64_t bytes;
  Digest hash;
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
  memset(seen, 0, sizeof seen);
  memset(repeats_seen, 0, sizeof repeats_seen);
  memset(said, 0, sizeof said);
}

bool put_blob(Thread* t, const void* data, uint64_t bytes, uint8_t hash[16]) {
  Digest h = hash128(data, bytes);
  memcpy(hash, &h.low, 8);
  memcpy(hash + 8, &h.high, 8);
  return hand_over(t, data, bytes, h);
}

// In a frame that is left out; counted.
static bool leaves_content_out(Thread* t, uint64_t bytes) {
  if (!t->no_content || !(g_mode & MODE_DROPPING)) return false;
  session_pool()->uploads_dropped.fetch_add(1, std::memory_order_relaxed);
  session_pool()->upload_bytes_dropped.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

Data prepare_blob(Thread* t, const void* data, uint64_t bytes) {
  Data d = {DT_DATA(DT_DATA_BLOB, 2, bytes), nullptr, {}};
  if (DT_UNLIKELY(t->no_content)) {
    // Content that the drainer has already costs nothing.
    const Digest h = hash128(data, bytes);
    follow_epoch();
    if (!is_known(h.low ? h.low : 1) && leaves_content_out(t, bytes))
      return Data{DT_DATA(DT_DATA_UNKNOWN, 0, bytes), nullptr, {}};
  }
  if (!put_blob(t, data, bytes, d.hash)) d.descriptor = DT_DATA(DT_DATA_UNKNOWN, 0, bytes);
  return d;
}

Data prepare_long(Thread* t, const void* data, uint64_t bytes) {
  dt_pool_header* const pool = session_pool();
  const bool fits = pool && pool->names_contents && bytes >= LEAST_UNNAMED && bytes <= MOST_UNNAMED &&
                    bytes / pool->chunk_bytes < LEAST_POOL;
  if (!fits || pool->chunk_max < LEAST_POOL || t->keep || t->no_content) return prepare_blob(t, data, bytes);
  Data d = {DT_DATA(DT_DATA_BLOB, 2, bytes), nullptr, {}};
  const Guess g = guess(pool, (const char*)data, bytes);
  bool sent;
  if (g.is_new) {
    sent = send_unnamed(t, data, bytes, g.slot, d.hash);
  } else {
    const Digest h = hash128(data, bytes);
    memcpy(d.hash, &h.low, 8);
    memcpy(d.hash + 8, &h.high, 8);
    learn(g, !is_known(h.low ? h.low : 1));
    sent = hand_over(t, data, bytes, h);
  }
  if (!sent) d.descriptor = DT_DATA(DT_DATA_UNKNOWN, 0, bytes);
  return d;
}

// Mostly there are chunks before this content's that the drainer can give back. Where a short nap brings none, it may
// be waiting for the rest.
uint64_t nap_ns(unsigned naps) {
  const bool unnamed = sending && sending->number && sending->count;
  if (unnamed && !naps) return 2000000;
  if (unnamed) name_parts(sending);
  return 20000000;
}
void leave_sending() { sending = nullptr; }

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
  Digest h = hash128(data, bytes);
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

void emit_memory_write(Thread* t, bool device, uint64_t memory, uint64_t offset, const void* data, uint64_t bytes) {
  const Data d = prepare(t, data, (int64_t)bytes);
  const uint64_t words[3] = {memory, offset, d.descriptor};
  const Data* all[] = {&d};
  emit(t, device ? DT_FN_DEVICE_WRITE : DT_FN_MEMORY_WRITE, words, 3, nullptr, 0, all, 1);
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
