/* The application's side of the pool, reduced to what tests of the drainer need: no graphics, made-up calls.
 *
 *   drain_app SOCKET SIGNATURES PROGRESS [name=number ...]
 *
 * Every value of call i of thread t follows from t and i alone (container_check.py computes the same), so a
 * trace can be compared value by value. PROGRESS is a file that holds, per thread, how many calls were committed:
 * it is mapped, so it survives kill -9 of this program.
 *
 * threads= calls= (per thread)  blobs= (a call in that many carries a blob, 0: none)  plain=1 (the regular stream
 * of the benchmark; 2: with the jitter of a driver's times)  corrupt=K (scribble over records now and then in way K)
 * hold=MS (sleep before exit) rest=MS (sleep that long half-way) exit=0 return, 1 _exit without sealing, 2 abort
 * unnamed=1 (the drainer finds the hashes of blobs that are sent)
 * again=N (exec this program once more, for N calls)  hello_only=1  pause=US (sleep that long every 1000 calls)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../../native/common/ring.h"

enum { FN_NOTHING = 0, FN_ENABLE = 1, FN_UNIFORM = 2, FN_DATA = 3, FN_GET = 4, FN_POINTER = 5 };
enum { BLOB_KINDS = 24, PART_BYTES = 30000, MOST_PARTS = 24 };

static const char *socket_path, *signature_path;
static uint64_t threads = 1, calls = 1000, blobs = 0, plain = 0, corrupt = 0, hold = 0, leave = 0, hello_only = 0,
                pause_us = 0, again = 0, rest = 0, unnamed = 0;
static int conn = -1, memfd = -1;
static char* base;
static size_t mapped;
static dt_pool_header* pool;
static pthread_mutex_t adopting = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t* progress;
static unsigned char* blob_content[BLOB_KINDS];
static size_t blob_bytes[BLOB_KINDS];
static XXH128_hash_t blob_hash[BLOB_KINDS];

struct recorder {
  char *cursor, *limit;
  dt_ring_chunk* chunk;
  uint64_t serial, calls;
  uint32_t index;
  uint8_t sent[BLOB_KINDS];
  uint64_t number; /* of the content that is being sent, or was sent last; 0: it has its hash */
  unsigned kind, parts;
  char* part[MOST_PARTS];
};

static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

static void die(const char* what) {
  perror(what);
  _exit(3);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int say_hello(int adopt) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, socket_path, sizeof address.sun_path - 1);
  conn = -1;
  for (int i = 0; i < 5000; i++) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr*)&address, sizeof address) == 0) {
      conn = fd;
      break;
    }
    close(fd);
    usleep(2000);
  }
  if (conn < 0) return 0;
  static dt_hello hello;
  memset(&hello, 0, sizeof hello);
  hello.magic = DT_HELLO_MAGIC;
  hello.version = DT_RING_VERSION;
  hello.pid = (uint32_t)getpid();
  hello.flags = adopt ? DT_HELLO_ADOPT : 0;
  hello.clock = DT_CLOCK_MONOTONIC_NS;
  hello.start_clock = hello.start_ns = now_ns();
  strncpy(hello.signatures, signature_path, sizeof hello.signatures - 1);
  strcpy(hello.program, "drain_app");
  struct iovec io = {&hello, sizeof hello};
  char room[CMSG_SPACE(sizeof(int))] = {0};
  struct msghdr message = {.msg_iov = &io, .msg_iovlen = 1};
  if (adopt) {
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    struct cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &memfd, sizeof(int));
  }
  if (sendmsg(conn, &message, MSG_NOSIGNAL) != (ssize_t)sizeof hello) return 0;
  dt_welcome welcome;
  size_t got = 0;
  int received = -1;
  while (got < sizeof welcome) {
    struct iovec in = {(char*)&welcome + got, sizeof welcome - got};
    char back[CMSG_SPACE(sizeof(int))];
    struct msghdr answer = {.msg_iov = &in, .msg_iovlen = 1, .msg_control = back, .msg_controllen = sizeof back};
    ssize_t n = recvmsg(conn, &answer, MSG_CMSG_CLOEXEC);
    if (n <= 0) return 0;
    got += (size_t)n;
    for (struct cmsghdr* c = CMSG_FIRSTHDR(&answer); c; c = CMSG_NXTHDR(&answer, c))
      if (c->cmsg_type == SCM_RIGHTS) memcpy(&received, CMSG_DATA(c), sizeof(int));
  }
  if (welcome.magic != DT_HELLO_MAGIC || !welcome.accepted || received < 0) return 0;
  if (adopt) {
    close(received);
    return 1;
  }
  memfd = received;
  mapped = welcome.pool_bytes;
  dt_pool_header* peek = mmap(NULL, 4096, PROT_READ, MAP_SHARED, memfd, 0);
  if (peek == MAP_FAILED) die("mmap");
  size_t chunk = peek->chunk_bytes;
  munmap(peek, 4096);
  char* area = mmap(NULL, mapped + chunk, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  base = (char*)(((uintptr_t)area + chunk - 1) & ~(uintptr_t)(chunk - 1));
  if (mmap(base, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memfd, 0) == MAP_FAILED) die("mmap");
  pool = (dt_pool_header*)base;
  return 1;
}

static int drainer_gone(void) {
  char byte;
  ssize_t n = recv(conn, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void look_after_drainer(void) {
  if (!drainer_gone()) return;
  pthread_mutex_lock(&adopting);
  if (drainer_gone()) {
    // The next one may be killed, too, before it has answered.
    int found = 0;
    for (int i = 0; i < 20 && !found; i++) {
      if (conn >= 0) close(conn);
      found = say_hello(1);
    }
    if (!found) {
      fprintf(stderr, "drain_app: no new drainer\n");
      _exit(4);
    }
  }
  pthread_mutex_unlock(&adopting);
}

static void seal(struct recorder* r) {
  if (!r->chunk) return;
  atomic_store_explicit(&r->chunk->state, DT_CHUNK_SEALED, memory_order_release);
  r->chunk = NULL;
  r->cursor = r->limit = NULL;
  atomic_fetch_add(&pool->seal_wake, 1);
  syscall(SYS_futex, &pool->seal_wake, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static dt_ring_chunk* pop_free(void) {
  uint64_t head = atomic_load(&pool->free_head), next;
  dt_ring_chunk* chunk;
  do {
    if (!(uint32_t)head) return NULL;
    chunk = (dt_ring_chunk*)(base + (uint64_t)(uint32_t)head * pool->chunk_bytes);
    next = ((head >> 32) + 1) << 32 | atomic_load(&chunk->next_free);
  } while (!atomic_compare_exchange_weak(&pool->free_head, &head, next));
  return chunk;
}

/* The drainer must not wait for a thread that waits for it. */
static void name_content(struct recorder* r) {
  r->number = 0;
  while (r->parts) {
    char* part = r->part[--r->parts];
    memcpy(part + 16, &blob_hash[r->kind], 16);
    __atomic_store_n((uint64_t*)(part + 8), 0, __ATOMIC_RELEASE);
  }
}

/* 0: told to stop. */
static int take(struct recorder* r) {
  seal(r);
  dt_ring_chunk* chunk;
  for (;;) {
    if (atomic_load(&pool->control) & DT_CONTROL_STOP) return 0;
    look_after_drainer();
    uint32_t seen = atomic_load(&pool->free_wake);
    if ((chunk = pop_free())) break;
    if (r->parts) name_content(r);
    uint64_t from = now_ns();
    atomic_fetch_add(&pool->free_wanted, 1);
    struct timespec nap = {0, 20000000};
    syscall(SYS_futex, &pool->free_wake, FUTEX_WAIT, seen, &nap, NULL, 0);
    atomic_fetch_sub(&pool->free_wanted, 1);
    atomic_fetch_add(&pool->wait_ns, now_ns() - from);
  }
  atomic_store(&chunk->commit, 0);
  chunk->thread = r->index;
  chunk->tid = (uint32_t)syscall(SYS_gettid);
  chunk->context = r->index + 1;
  chunk->serial = r->serial++;
  chunk->first_call = r->calls;
  chunk->unnamed = 0;
  chunk->calibration_ns = chunk->calibration_clock = now_ns();
  chunk->calibration_width = 0;
  strcpy(chunk->thread_name, "drain_app");
  atomic_store_explicit(&chunk->state, DT_CHUNK_OWNED, memory_order_release);
  r->chunk = chunk;
  r->cursor = (char*)chunk + DT_CHUNK_HEADER_BYTES;
  r->limit = (char*)chunk + pool->chunk_bytes - 8;
  return 1;
}

static char* reserve(struct recorder* r, size_t bytes) {
  if (bytes > (size_t)(r->limit - r->cursor) && !take(r)) return NULL;
  return r->cursor;
}

static void commit(struct recorder* r, char* end) {
  r->cursor = end;
  atomic_store_explicit(&r->chunk->commit, (uint32_t)(uintptr_t)end, memory_order_release);
}

static void head(char* at, unsigned function, size_t bytes, uint32_t duration, uint64_t entry) {
  uint64_t first = (uint64_t)duration << 32 | (uint64_t)(bytes / 8) << 16 | function;
  memcpy(at, &first, 8);
  memcpy(at + 8, &entry, 8);
}

static int send_blob(struct recorder* r, unsigned kind) {
  static _Atomic uint64_t numbers;
  r->number = r->parts = 0;
  if (r->sent[kind]) return 1;
  r->sent[kind] = 1;
  r->kind = kind;
  if (unnamed && pool->names_contents) r->number = atomic_fetch_add(&numbers, 1) + 1;
  for (uint64_t offset = 0; offset < blob_bytes[kind];) {
    uint64_t bytes = blob_bytes[kind] - offset;
    if (bytes > PART_BYTES) bytes = PART_BYTES;
    size_t size = 16 + sizeof(dt_blob_part) + ((bytes + 7) & ~7ull);
    char* at = reserve(r, size);
    if (!at) return 0;
    head(at, DT_FN_BLOB | DT_RECORD_TAP, size, DT_NO_DURATION, r->number);
    dt_blob_part part = {blob_hash[kind].low64, blob_hash[kind].high64, blob_bytes[kind], offset, bytes};
    if (r->number) {
      part.hash_low = r->number;
      part.hash_high = DT_UNNAMED;
      r->part[r->parts++] = at;
      if (!r->chunk->unnamed) r->chunk->unnamed = (uint32_t)(at - (char*)r->chunk);
    }
    memcpy(at + 16, &part, sizeof part);
    memcpy(at + 16 + sizeof part, blob_content[kind] + offset, bytes);
    commit(r, at + size);
    offset += bytes;
  }
  r->parts = 0; /* whole */
  return 1;
}

static void make_blobs(void) {
  for (unsigned kind = 0; kind < BLOB_KINDS; kind++) {
    size_t bytes = kind == 0 ? 700001 : 1500 + 977 * kind;
    blob_bytes[kind] = bytes;
    blob_content[kind] = malloc(bytes);
    /* odd kinds compress, even ones do not */
    for (size_t i = 0; i < bytes; i++)
      blob_content[kind][i] = (unsigned char)(kind & 1 ? (i / 64 + kind) : mix(kind * 1000003ull + i));
    blob_hash[kind] = XXH3_128bits(blob_content[kind], bytes);
  }
}

/* The regular stream of the benchmark: twelve calls, two of them with other functions, times as they are. */
static uint64_t ticks(void) {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return now_ns();
#endif
}

static int plain_call(struct recorder* r, uint64_t i) {
  unsigned step = (unsigned)(i % 12);
  uint64_t frame = i / 12 / 100, draw = i / 12 % 100;
  static _Thread_local uint64_t clock;
  const uint64_t jitter = plain == 2 ? mix(i) : 0;
  uint64_t entry = plain == 2 ? (clock += 70 + (jitter & 31) + ((jitter >> 8 & 1023) == 0) * 20000) : ticks();
  char* at;
  if (step < 3) { /* glBindTexture-like: two enums */
    if (!(at = reserve(r, 24))) return 0;
    uint32_t v[2] = {0xde1, (uint32_t)(draw + step)};
    head(at, FN_ENABLE + 8, 24, DT_IN_FLIGHT, entry);
    memcpy(at + 16, v, 8);
    commit(r, at + 24);
  } else if (step < 8) { /* glUniform4f-like */
    if (!(at = reserve(r, 40))) return 0;
    float f[4] = {(float)draw * 0.25f, (float)step, 0.5f, (float)frame};
    uint32_t v[6] = {step, 0, 0, 0, 0, 0};
    memcpy(v + 1, f, 16);
    head(at, FN_UNIFORM, 40, DT_IN_FLIGHT, entry);
    memcpy(at + 16, v, 24);
    commit(r, at + 40);
  } else if (step < 11) { /* glEnable-like */
    if (!(at = reserve(r, 24))) return 0;
    uint32_t v[2] = {0x0b40u + step, 0};
    head(at, FN_ENABLE, 24, DT_IN_FLIGHT, entry);
    memcpy(at + 16, v, 8);
    commit(r, at + 24);
  } else { /* glVertexAttribPointer-like */
    if (!(at = reserve(r, 48))) return 0;
    uint64_t w8 = draw * 4096;
    uint32_t v[6] = {3, 4, 0x1406, 0, 16, 0};
    head(at, FN_POINTER, 48, DT_IN_FLIGHT, entry);
    memcpy(at + 16, &w8, 8);
    memcpy(at + 24, v, 24);
    commit(r, at + 48);
  }
  ((dt_record*)at)->duration = plain == 2 ? 25 + step * 3 + (uint32_t)(jitter >> 20 & 15) : (uint32_t)(ticks() - entry);
  return 1;
}

static int made_call(struct recorder* r, uint64_t i) {
  const uint64_t m = mix((uint64_t)r->index << 40 ^ i);
  uint64_t entry = 1000000 + i * 100 + m % 90 + (m % 1000 == 0) * (1ull << 33) * (i % 3);
  uint32_t duration = m % 501 == 0 ? DT_NO_DURATION : (uint32_t)(m >> 32) % 50000;
  unsigned kind = (unsigned)(i % 16);
  char* at;
  if (blobs && i % blobs == 5) {
    kind = (unsigned)((m >> 8) % BLOB_KINDS);
    if (!send_blob(r, kind)) return 0;
    size_t size = 16 + 24 + 8 + 16;
    if (!(at = reserve(r, size))) return 0;
    head(at, FN_DATA, size, duration, entry);
    uint64_t w8[3] = {m, blob_bytes[kind], DT_DATA(DT_DATA_BLOB, 2, blob_bytes[kind])};
    uint32_t w4[2] = {(uint32_t)i, 0};
    memcpy(at + 16, w8, 24);
    memcpy(at + 40, w4, 8);
    const uint64_t by_number[2] = {r->number, DT_UNNAMED};
    memcpy(at + 48, r->number ? (const void*)by_number : &blob_hash[kind], 16);
    commit(r, at + size);
  } else if (kind < 6) {
    if (!(at = reserve(r, 40))) return 0;
    uint32_t w4[6] = {(uint32_t)(i % 7), (uint32_t)m, (uint32_t)(m >> 8), 0x3f800000, (uint32_t)i, 0};
    head(at, FN_UNIFORM, 40, duration, entry);
    memcpy(at + 16, w4, 24);
    commit(r, at + 40);
  } else if (kind < 10) {
    if (!(at = reserve(r, 24))) return 0;
    uint32_t w4[2] = {(uint32_t)(m % 5), 0};
    head(at, FN_ENABLE | (kind == 9 ? DT_RECORD_TAP : 0), 24, duration, entry);
    memcpy(at + 16, w4, 8);
    commit(r, at + 24);
  } else if (kind < 12) {
    uint64_t bytes = m % 100;
    size_t size = 16 + 24 + 8 + ((bytes + 7) & ~7ull);
    if (!(at = reserve(r, size))) return 0;
    uint64_t w8[3] = {m, bytes, DT_DATA(DT_DATA_INLINE, (bytes + 7) / 8, bytes)};
    uint32_t w4[2] = {(uint32_t)i, 0};
    head(at, FN_DATA, size, duration, entry);
    memcpy(at + 16, w8, 24);
    memcpy(at + 40, w4, 8);
    for (uint64_t k = 0; k < bytes; k++) at[48 + k] = (char)(m + k);
    commit(r, at + size);
  } else if (kind < 14) {
    if (!(at = reserve(r, 16))) return 0;
    head(at, FN_NOTHING, 16, duration, entry);
    commit(r, at + 16);
  } else {
    /* two arrays: an input of 8 bytes, and an output that was never written or came back shorter than its room */
    size_t size = 16 + 24 + 8 + 32;
    if (!(at = reserve(r, size))) return 0;
    uint64_t out = kind == 14 ? DT_DATA(DT_DATA_PENDING, 4 - 1, 0) : DT_DATA(DT_DATA_INLINE, 4 - 1, 11);
    uint64_t w8[3] = {DT_DATA(DT_DATA_INLINE, 1, 8), i, out};
    head(at, FN_GET, size, duration, entry);
    memcpy(at + 16, w8, 24);
    memset(at + 40, 0, 8);
    memcpy(at + 48, &m, 8);
    memset(at + 56, (int)(i & 0xff), 24);
    commit(r, at + size);
  }
  if (corrupt && i % 5000 == 4999) {
    uint64_t junk = mix(i);
    dt_record* record = (dt_record*)at;
    switch (corrupt) {
      case 1: record->function = 0x1234; break;           /* unknown function */
      case 2: record->words = 0xfff0; break;              /* beyond the chunk */
      case 3: record->words = 0; break;                   /* endless */
      case 4: memcpy(at + 32, &junk, 8); break;           /* perhaps a descriptor */
      case 5: r->chunk->commit = (uint32_t)junk; break;   /* perhaps not even aligned */
      case 6: memset(r->chunk, (int)junk | 1, 24); break; /* the chunk's header; its state is lost for good */
      case 7: pool->free_head = junk; break;
      case 8:
        for (int k = 0; k < 4096; k++)
          ((char*)r->chunk)[128 + (mix(junk + (uint64_t)k) % 4000)] = (char)mix((uint64_t)k ^ junk);
        break;
    }
    if (corrupt == 7)
      for (;;) sleep(1);
    if (corrupt == 6) {
      r->chunk = NULL;
      r->cursor = r->limit = NULL;
    }
  }
  return 1;
}

static void* record(void* argument) {
  struct recorder r = {.index = (uint32_t)(uintptr_t)argument};
  for (uint64_t i = 0; i < calls; i++) {
    if (!(plain ? plain_call(&r, i) : made_call(&r, i))) break;
    /* a tap's record has no number */
    if (plain || i % 16 != 9 || (blobs && i % blobs == 5)) r.calls++;
    progress[r.index] = i + 1;
    if (rest && i == calls / 2) usleep((useconds_t)rest * 1000);
    if (pause_us && i % 1000 == 999) usleep((useconds_t)pause_us);
  }
  if (leave == 0) seal(&r);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  socket_path = argv[1];
  signature_path = argv[2];
  struct {
    const char* name;
    uint64_t* value;
  } settings[] = {{"threads", &threads}, {"calls", &calls}, {"blobs", &blobs}, {"plain", &plain},
                  {"corrupt", &corrupt}, {"hold", &hold},   {"exit", &leave},  {"hello_only", &hello_only},
                  {"pause", &pause_us},  {"again", &again}, {"rest", &rest},   {"unnamed", &unnamed}};
  for (int i = 4; i < argc; i++) {
    char* equals = strchr(argv[i], '=');
    for (size_t k = 0; equals && k < sizeof settings / sizeof *settings; k++)
      if (strlen(settings[k].name) == (size_t)(equals - argv[i]) &&
          !strncmp(argv[i], settings[k].name, (size_t)(equals - argv[i])))
        *settings[k].value = strtoull(equals + 1, NULL, 0);
  }
  int fd = open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (fd < 0 || ftruncate(fd, 4096)) die(argv[3]);
  progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  make_blobs();
  if (!say_hello(0)) {
    fprintf(stderr, "drain_app: refused\n");
    return 5;
  }
  if (!hello_only) {
    pthread_t ids[64];
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (uint64_t t = 1; t < threads && t < 64; t++) pthread_create(&ids[t], NULL, record, (void*)(uintptr_t)t);
    record((void*)0);
    for (uint64_t t = 1; t < threads && t < 64; t++) pthread_join(ids[t], NULL);
    clock_gettime(CLOCK_MONOTONIC, &b);
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    printf("{\"seconds\": %.6f, \"cpu\": %.6f, \"wait_ns\": %llu}\n",
           (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9,
           (double)cpu.tv_sec + (double)cpu.tv_nsec * 1e-9, (unsigned long long)atomic_load(&pool->wait_ns));
    fflush(stdout);
  }
  for (uint64_t waited = 0; waited < hold; waited += 5) {
    if (!hello_only) look_after_drainer();
    usleep(5000);
  }
  if (again) {
    char setting[40];
    snprintf(setting, sizeof setting, "calls=%llu", (unsigned long long)again);
    execl(argv[0], argv[0], argv[1], argv[2], argv[3], setting, (char*)NULL);
    die(argv[0]);
  }
  if (leave == 2) abort();
  if (leave == 1) _exit(7);
  atomic_store(&pool->finished, 1);
  return 0;
}
