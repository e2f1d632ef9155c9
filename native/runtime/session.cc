// The tap's side of the shared-memory pool: connecting, chunks, threads, fork, clocks.
//
// Nothing here runs on the fast path. Everything can run inside any call of the application, on any of its threads. So
// errno is kept, no signal is touched, and failure means: do not record, never: do not work.
//
// In one file: threads, forks and signals may meet a session half-way, and its state is visible nowhere else.
#include "tap.h"
#include "targets.h"

#include "../common/descriptor.h"
#include "../common/losses.h"
#include "../common/unreached.h"
#include "base.h"
#include "gl_state.h"
#include "live.h"
#include "moment.h"
#include "objects.h"
#include "own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

extern char** environ;

namespace dt {

__thread Thread tls __attribute__((tls_model("initial-exec")));
uint32_t g_mode = MODE_RECORD;
uint32_t g_slow_clock = 1;
uint64_t g_inline_limit = 1024;

void forget_blobs();             // payload.cc: a new session knows no content yet
void forget_notes();             // payload.cc: nor the earlier notes
uint64_t nap_ns(unsigned naps);  // payload.cc: for a chunk, while the drainer may wait for what this thread sends
void leave_sending();
void say_unreached(int error);  // unreached.cc: to drawtap record
namespace gl {
void forget_natives();           // natives.cc: nor any object
void reread_context(Thread* t);  // gl_state.cc: what is current on this thread now, and its state
void forget_maps();              // maps.cc
}  // namespace gl
// by function id: 1 a draw, 2 begins, 3 ends a list
extern const uint8_t g_draws[] __attribute__((visibility("hidden")));

static_assert(offsetof(Thread, special) == 24 && offsetof(Thread, variant) == 28, "entry.inc has these offsets");

namespace {

enum State : uint32_t { UNCONNECTED, CONNECTED, REFUSED };

struct Session {
  uint32_t state;
  uint32_t lock;        // 0 free, 1 taken: held while connecting only
  uint64_t generation;  // counts sessions of this address space; a fork begins a new one
  OwnFd socket;
  OwnFd memfd;
  pid_t drainer;  // as this process sees it; 0: it does not
  uint64_t drainer_start;
  dt_pool_header* pool;
  char* base;  // of the mapping; chunk i stands at base + (i + 1) * chunk_bytes
  size_t mapped;
  uint32_t chunk_bytes;
  uint8_t touched[8192 / 8];  // chunks whose pages this process has mapped already
  pthread_key_t key;
  uint32_t key_made, atfork_made;
  uint32_t left_before;   // calls that the program left while there was no pool yet
  uint32_t only;          // the drainer keeps everything in memory: nobody can take its place
  uint32_t on_demand;     // a manager asked for this session: when it is over there may be another
  uint64_t off_since_ns;  // when that one was first seen to have stopped
  char trace[1024];
};
Session s;

// The parts of g_mode. MODE_OFF hides the rest, which holds again when recording starts.
uint32_t g_flags, g_flags_lock, g_epoch, g_keepers;

void change_mode(uint32_t add, uint32_t remove) {
  while (__atomic_exchange_n(&g_flags_lock, 1u, __ATOMIC_ACQUIRE)) sched_yield();
  g_flags = (g_flags | add) & ~remove;
  const uint32_t mode = !(g_flags & MODE_OFF) ? g_flags : g_keepers ? (uint32_t)MODE_KEEPING : (uint32_t)MODE_OFF;
  const uint32_t before = __atomic_exchange_n(&g_mode, mode, __ATOMIC_SEQ_CST);
  if ((before == MODE_OFF) != (mode == MODE_OFF)) lead_all();
  __atomic_store_n(&g_flags_lock, 0u, __ATOMIC_RELEASE);
}
}  // namespace

bool is_off() { return g_flags & (MODE_OFF | MODE_LOST); }
uint32_t recording_epoch() { return __atomic_load_n(&g_epoch, __ATOMIC_ACQUIRE); }
uint64_t session_number() { return s.generation; }
void change_keepers(int by) {
  __atomic_fetch_add(&g_keepers, (uint32_t)by, __ATOMIC_ACQ_REL);
  change_mode(0, 0);
}

namespace {

void switch_off() {
  change_mode(MODE_OFF, 0);
  if (s.pool) s.pool->recording.store(0, std::memory_order_relaxed);
}

// Calls are counted from here on, not recorded: nobody takes them, for good (STOP, no recorder) or for a while.
void count_only() {
  change_mode(MODE_LOST, 0);
  s.pool->recording.store(0, std::memory_order_relaxed);
}
// Ends recording for good. A session of a manager's is over then, and its program goes at full speed again.
void end_recording() {
  if (s.on_demand)
    switch_off();
  else
    count_only();
}
// There was no room for the call that this thread is in.
void miss(Thread* t) {
  if (t->missed || !(t->special & SPECIAL_BUSY)) return;
  t->missed = 1;
  s.pool->calls_unrecorded.fetch_add(1, std::memory_order_relaxed);
}

long futex(void* word, int op, uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, word, op, value, timeout, nullptr, 0);
}

void lock() {
  while (__atomic_exchange_n(&s.lock, 1, __ATOMIC_ACQUIRE)) {
    struct timespec nap = {0, 200000};
    nanosleep(&nap, nullptr);
  }
}
void unlock() { __atomic_store_n(&s.lock, 0, __ATOMIC_RELEASE); }

void complain(const char* text, const char* detail) {
  // The one line that is allowed, at most once per process.
  static uint32_t said;
  if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED) || getenv("DRAWTAP_QUIET")) return;
  char line[1400];
  int n = snprintf(line, sizeof line, "drawtap: %s%s%s; not recording\n", text, detail && *detail ? ": " : "",
                   detail ? detail : "");
  if (n > 0) {
    ssize_t ignored = write(2, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    (void)ignored;
  }
}

uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool tsc_usable() {
  const char* wanted = getenv("DRAWTAP_CLOCK");
  if (wanted && !strcmp(wanted, "monotonic")) return false;
#if defined(__x86_64__)
  unsigned a, b, c, d;
  if (!__get_cpuid(0x80000007, &a, &b, &c, &d)) return false;
  return d & (1u << 8);  // invariant TSC
#else
  return true;  // the generic timer is invariant by architecture
#endif
}
uint32_t g_clock = DT_CLOCK_MONOTONIC_NS;
uint32_t g_timing = DT_TIMING_BOTH;

uint64_t ticks_now() { return g_clock == DT_CLOCK_TSC ? read_tsc() : monotonic_ns(); }

// A pair of clock ticks and CLOCK_MONOTONIC that belong together: the narrowest of a few tries.
void calibrate(uint64_t* ticks, uint64_t* ns, uint64_t* width) {
  if (g_clock != DT_CLOCK_TSC) {
    *ticks = *ns = monotonic_ns();
    *width = 0;
    return;
  }
  *width = ~0ull;
  for (int i = 0; i < 3; i++) {
    uint64_t before = read_tsc();
    uint64_t at = monotonic_ns();
    uint64_t after = read_tsc();
    if (after - before < *width) {
      *width = after - before;
      *ticks = before + (after - before) / 2;
      *ns = at;
    }
  }
}

// The path of this module; nullptr where the loader does not say.
const char* module_path() {
  static Object object;
  return find_object((void*)&monotonic_ns, &object) && object.path[0] ? object.path : nullptr;
}

bool own_path(const char* leaf, char* out, size_t size) {
  const char* own = module_path();
  if (!own) return false;
  const char* slash = strrchr(own, '/');
  int n = slash ? snprintf(out, size, "%.*s/%s", (int)(slash - own), own, leaf) : snprintf(out, size, "%s", leaf);
  return n > 0 && (size_t)n < size;
}

void signature_path(char* out, size_t size) {
  const char* named = getenv("DRAWTAP_SIGNATURES");
  if (named) {
    snprintf(out, size, "%s", named);
    return;
  }
  // libdrawtap-NAME.so stands beside NAME.sig
  const char* own = module_path();
  out[0] = 0;
  if (!own) return;
  const char* leaf = leaf_of(own);
  if (!strncmp(leaf, "libdrawtap-", 11)) leaf += 11;
  const char* dot = strstr(leaf, ".so");
  int stem = dot ? (int)(dot - leaf) : (int)strlen(leaf);
  char name[256];
  snprintf(name, sizeof name, "%.*s.sig", stem, leaf);
  char path[1024];
  if (own_path(name, path, sizeof path) && !realpath(path, out)) snprintf(out, size, "%s", path);
}

// Functions that newer C libraries have under newer versions: looked up, so that one module serves old ones too.
// On old ones they are in libpthread, which a program without threads does not load: then no thread ends either.
int (*g_key_create)(pthread_key_t*, void (*)(void*));
int (*g_set_specific)(pthread_key_t, const void*);

// A drainer that is stopped does not answer: the first call waits for it so long, and the program goes on without.
constexpr time_t HELLO_PATIENCE_S = 10;

int connect_to(const char* path, int tries) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  timeval patience = {HELLO_PATIENCE_S, 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  for (int i = 0;; i++) {
    int connected;
    do connected = connect(fd, (sockaddr*)&address, sizeof address);
    while (connected != 0 && errno == EINTR);  // a local connection is either made or not
    if (connected == 0) return fd;
    if (i >= tries) break;
    timespec nap = {0, 2000000};
    nanosleep(&nap, nullptr);
  }
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

// ---- starting a drainer from inside the application ---------------------------------------------

struct Launch {
  const char* file;
  char* argv[16];
  char** env;
  char* stack;
};

int exec_drainer(void* argument) {
  Launch* l = (Launch*)argument;
  // The application's blocked signals must not outlive it in the drainer.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setsid();
  // The program's input is not the drainer's, and no reader that waits for the end of the program's output must wait
  // for the drainer as well. Descriptors are not shared with the program here.
  int null = open("/dev/null", O_RDWR);
  if (null >= 0) {
    dup2(null, 0);
    dup2(null, 1);
  }
  syscall(SYS_close_range, 3u, ~0u, 0u);
  execve(l->file, l->argv, l->env);
  _exit(127);
}
int launch_between(void* argument) {
  // Second clone: the drainer must not be a child of the application, which may wait for any child.
  Launch* l = (Launch*)argument;
  int pid = clone(exec_drainer, l->stack + 32768, CLONE_VM | CLONE_VFORK, l);
  _exit(pid > 0 ? 0 : 1);
}

// Start drawtap-drain beside this module, listening on `socket_path`. No SIGCHLD, no child left to wait for.
bool start_drainer(const char* socket_path, const char* output) {
  static char file[1024];
  const char* named = getenv("DRAWTAP_DRAIN");
  if (named)
    snprintf(file, sizeof file, "%s", named);
  else if (!own_path("drawtap-drain", file, sizeof file))
    return false;
  if (access(file, X_OK)) return false;
  char pid_text[32];
  snprintf(pid_text, sizeof pid_text, "%d", (int)getpid());
  // The drainer is not to be tapped itself.
  size_t n = 0;
  for (char** e = environ; e && *e; e++) n++;
  char** env = (char**)malloc((n + 1) * sizeof(char*));
  char* stacks = (char*)mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!env || stacks == MAP_FAILED) {
    free(env);
    return false;
  }
  size_t k = 0;
  for (char** e = environ; e && *e; e++)
    if (strncmp(*e, "LD_PRELOAD=", 11)) env[k++] = *e;
  env[k] = nullptr;
  Launch l = {file,
              {file, (char*)"--socket", (char*)socket_path, (char*)"--output", (char*)output, (char*)"--watch-pid",
               pid_text, (char*)"--exit-when-idle", (char*)"10", (char*)"--keep-existing", (char*)"yes", nullptr},
              env,
              stacks};
  int between = clone(launch_between, stacks + 65536, CLONE_VM | CLONE_VFORK, &l);
  int status = 1;
  if (between > 0) waitpid(between, &status, __WALL);
  free(env);
  munmap(stacks, 65536);
  return between > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int connect_own_drainer(const char* output) {
  char path[108];
  const char* folder = getenv("XDG_RUNTIME_DIR");
  if (!folder || strlen(folder) > 60 || access(folder, W_OK)) folder = "/tmp";
  snprintf(path, sizeof path, "%s/drawtap-%d-%llx", folder, (int)getpid(), (unsigned long long)monotonic_ns());
  if (!start_drainer(path, output)) return -1;
  int fd = connect_to(path, 1500);
  unlink(path);
  return fd;
}

// The file that this process's calls go to: known for sure once the first of them was written.
const char* current_trace() {
  const dt_pool_origin* origin = (const dt_pool_origin*)(s.base + DT_POOL_ORIGIN_OFFSET);
  return origin->magic == DT_POOL_ORIGIN_MAGIC && origin->trace[0] ? origin->trace : s.trace;
}

// ---- hello --------------------------------------------------------------------------------------

bool say_hello(int fd, bool adopt) {
  static dt_hello hello;  // 3 KB: kept off the application's stack
  memset(&hello, 0, sizeof hello);
  hello.magic = DT_HELLO_MAGIC;
  hello.version = DT_RING_VERSION;
  hello.pid = (uint32_t)getpid();
  hello.flags = adopt ? DT_HELLO_ADOPT : 0;
  hello.clock = g_clock;
  uint64_t width;
  calibrate(&hello.start_clock, &hello.start_ns, &width);
  signature_path(hello.signatures, sizeof hello.signatures);
  ssize_t n = readlink("/proc/self/exe", hello.program, sizeof hello.program - 1);
  if (n < 0) hello.program[0] = 0;
  if (adopt) snprintf(hello.trace, sizeof hello.trace, "%s", current_trace());

  timeval patience = {HELLO_PATIENCE_S, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  errno = ETIMEDOUT;  // where the kernel takes a part only
  return send_with_descriptor(fd, &hello, sizeof hello, adopt ? s.memfd.number : -1, 0);
}

bool take_welcome(int fd, dt_welcome* welcome, int* memfd) {
  size_t got = 0;
  *memfd = -1;
  while (got < sizeof *welcome) {
    iovec in = {(char*)welcome + got, sizeof *welcome - got};
    msghdr answer = {};
    char back[CMSG_SPACE(sizeof(int))] = {};
    answer.msg_iov = &in;
    answer.msg_iovlen = 1;
    answer.msg_control = back;
    answer.msg_controllen = sizeof back;
    ssize_t k = recvmsg(fd, &answer, MSG_CMSG_CLOEXEC);
    if (k < 0 && errno == EINTR) continue;
    if (k == 0) errno = ECONNRESET;
    if (k < 0 && errno == EAGAIN) errno = ETIMEDOUT;
    if (k <= 0) return false;
    got += (size_t)k;
    for (cmsghdr* c = CMSG_FIRSTHDR(&answer); c; c = CMSG_NXTHDR(&answer, c))
      if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) memcpy(memfd, CMSG_DATA(c), sizeof(int));
  }
  errno = EPROTO;
  return welcome->magic == DT_HELLO_MAGIC && welcome->version == DT_RING_VERSION && welcome->accepted;
}

bool exchange(int fd, bool adopt, dt_welcome* welcome, int* memfd) {
  return say_hello(fd, adopt) && take_welcome(fd, welcome, memfd);
}

bool map_pool(int memfd, uint64_t bytes) {
  dt_pool_header* peek = (dt_pool_header*)mmap(nullptr, DT_POOL_HEADER_BYTES, PROT_READ, MAP_SHARED, memfd, 0);
  if (peek == MAP_FAILED) return false;
  bool sound = peek->magic == DT_RING_MAGIC && peek->version == DT_RING_VERSION;
  uint32_t chunk = peek->chunk_bytes;
  munmap(peek, DT_POOL_HEADER_BYTES);
  errno = EPROTO;
  if (!sound || chunk < 65536 || (chunk & (chunk - 1)) || bytes < chunk) return false;
  // Aligned to the chunk size, so that the low bits of an address are the offset in its chunk.
  size_t whole = (size_t)bytes + chunk;
  char* area = (char*)mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (area == MAP_FAILED) return false;
  char* base = (char*)(((uintptr_t)area + chunk - 1) & ~(uintptr_t)(chunk - 1));
  if (mmap(base, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memfd, 0) == MAP_FAILED) {
    const int error = errno;
    munmap(area, whole);
    errno = error;
    return false;
  }
  if (base > area) munmap(area, (size_t)(base - area));
  char* end = base + bytes;
  if (area + whole > end) munmap(end, (size_t)(area + whole - end));
  s.base = base;
  s.mapped = (size_t)bytes;
  s.chunk_bytes = chunk;
  s.pool = (dt_pool_header*)base;
  hook::g_targets = (dt_pool_targets*)((char*)base + DT_POOL_TARGETS_OFFSET);
  return true;
}

void begin_fork_child() {
  // The parent's pool is not ours: forget it without touching it. The next call says hello again.
  KeepErrno keep;
  s.lock = 0;
  g_flags_lock = 0;
  g_keepers = tls.keep ? 1 : 0;
  lead_all();  // another thread of the parent may have been about it
  Thread* t = &tls;
  t->cursor = t->limit = nullptr;
  t->chunk = nullptr;
  t->commit = nullptr;
  t->calls = t->serial = 0;
  if (s.state != CONNECTED) return;
  s.socket.drop();
  s.memfd.drop();
  munmap(s.base, s.mapped);
  hook::g_targets = nullptr;
  s.pool = nullptr;
  s.state = UNCONNECTED;
  s.on_demand = 0;
  s.generation++;
  forget_blobs();
  forget_notes();
  gl::forget_natives();
  // The child's own recorder decides whether the child is recorded.
  t->epoch = g_epoch;
  change_mode(0, MODE_OFF | MODE_LOST | MODE_DROPPING);
}

void seal(Thread* t) {
  if (!t->chunk) return;
  __atomic_store_n((uint32_t*)&t->chunk->state, (uint32_t)DT_CHUNK_SEALED, __ATOMIC_RELEASE);
  t->chunk = nullptr;
  t->cursor = t->limit = nullptr;
  s.pool->seal_wake.fetch_add(1, std::memory_order_release);
  futex(&s.pool->seal_wake, FUTEX_WAKE, 1, nullptr);
}

void thread_ends(void*) {
  KeepErrno keep;
  Thread* t = &tls;
  if (s.state == CONNECTED && t->generation == s.generation) seal(t);
}

// When a process began, as the kernel counts it; 0: it is gone, or a zombie, or not to be seen.
uint64_t start_of(pid_t pid) {
  char path[32], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  text[n > 0 ? n : 0] = 0;
  const char* at = strrchr(text, ')');  // the name before may hold anything
  if (!at || !at[1] || at[2] == 'Z' || at[2] == 'X') return 0;
  for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
  return at ? strtoull(at, nullptr, 10) : 0;
}

void keep_socket(int fd) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  s.drainer = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
  s.drainer_start = s.drainer > 0 ? start_of(s.drainer) : 0;
  s.socket.keep(fd);
}

bool finish_connecting(int fd, int memfd, const dt_welcome& welcome) {
  errno = EMFILE;  // without a free number the kernel leaves the descriptor out
  if (memfd < 0 || !map_pool(memfd, welcome.pool_bytes)) {
    const int error = errno;
    if (memfd >= 0) close(memfd);
    errno = error;
    return false;
  }
  keep_socket(fd);
  s.memfd.keep(memfd);
  s.only = welcome.only;
  memset(s.touched, 0, sizeof s.touched);
  snprintf(s.trace, sizeof s.trace, "%s", welcome.trace);
  g_timing = s.pool->timing;
  s.pool->clock = g_clock;
  if (s.pool->inline_limit >= 16 && s.pool->inline_limit <= 16384) g_inline_limit = s.pool->inline_limit;
  g_slow_clock = g_clock != DT_CLOCK_TSC || g_timing != DT_TIMING_BOTH;
  if (!s.key_made) {
    g_key_create = (decltype(g_key_create))c_library_function("pthread_key_create");
    g_set_specific = (decltype(g_set_specific))c_library_function("pthread_setspecific");
    s.key_made = g_key_create && g_set_specific && g_key_create(&s.key, thread_ends) == 0;
  }
  if (!s.atfork_made) s.atfork_made = pthread_atfork(nullptr, nullptr, begin_fork_child) == 0;
  return true;
}

bool drainer_gone() {
  // The program may have closed the socket. The drainer then watches the process in another way, and so do we.
  if (!s.socket.is_ours()) return s.drainer_start && start_of(s.drainer) != s.drainer_start;
  char byte;
  ssize_t n = recv(s.socket.number, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

// Bounds how long a thread waits for the drainer: until nothing came free for hold_ms, or for stopped_ms without a
// beat.
struct Patience {
  uint64_t progress_ns = monotonic_ns(), life_ns = progress_ns;
  uint32_t wake = s.pool->free_wake.load(std::memory_order_relaxed),
           beat = s.pool->beat.load(std::memory_order_relaxed);
  bool is_over(uint32_t hold_ms) {
    const uint64_t now = monotonic_ns();
    const uint32_t wake_now = s.pool->free_wake.load(std::memory_order_relaxed);
    const uint32_t beat_now = s.pool->beat.load(std::memory_order_relaxed);
    if (wake_now != wake) progress_ns = life_ns = now;
    if (beat_now != beat) life_ns = now;
    wake = wake_now;
    beat = beat_now;
    return (hold_ms && now - progress_ns >= hold_ms * 1000000ull) ||
           (s.pool->stopped_ms && now - life_ns >= s.pool->stopped_ms * 1000000ull);
  }
};

// The reason for which a thread waits while signal handlers may run.
enum Waits : uint32_t { FOR_NOTHING, FOR_CHUNK, FOR_CONSUMER };

// With the lock held, once everything is there.
void begin_session() {
  s.generation++;
  s.pool->calls_left.fetch_add(__atomic_exchange_n(&s.left_before, 0u, __ATOMIC_RELAXED));
  __atomic_store_n(&s.state, (uint32_t)CONNECTED, __ATOMIC_RELEASE);
  if (s.pool->control.load() & DT_CONTROL_RECORD)
    s.pool->recording.store(1);
  else
    switch_off();
}

// Nobody takes the trace yet, and the user wants nothing to be drawn before. The drainer knows how long.
void wait_for_consumer(const HeldSignals& held) {
  for (Patience patience;;) {
    const uint32_t seen = s.pool->free_wake.load(std::memory_order_acquire);
    const bool waits = s.pool->control.load(std::memory_order_acquire) & DT_CONTROL_WAIT;
    if (!waits || drainer_gone() || patience.is_over(0)) return;
    held.nap(&s.pool->free_wake, seen, 100000000);
  }
}

// The program was started for a manager to look after: nothing is recorded unless that asks for it.
bool is_managed_only() {
  const char* value = getenv("DRAWTAP_MANAGED");
  return value && *value == '1';
}

// Says why this process is not recorded: to the recorder, or in the page where that has not `heard` the hello.
void give_up(int fd, bool heard, int error) {
  const dt_given_up word = {DT_GIVEN_UP, {}, error};
  if (!heard || send(fd, &word, sizeof word, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof word) say_unreached(error);
  complain("this process cannot take what the recorder gives", strerror(error));
}

bool connect_session(const HeldSignals& held) {
  lock();
  if (s.state == UNCONNECTED && is_managed_only()) {
    s.state = REFUSED;
    switch_off();
  }
  if (s.state == UNCONNECTED) {
    g_clock = tsc_usable() ? DT_CLOCK_TSC : DT_CLOCK_MONOTONIC_NS;
    const char* path = getenv("DRAWTAP_SOCKET");
    const char* output = getenv("DRAWTAP_OUTPUT");
    int fd = -1;
    if (path && *path) {
      fd = connect_to(path, 0);
      if (fd < 0) {
        say_unreached(errno);
        complain("cannot reach the recorder at", path);
      }
    } else if (output && *output) {
      fd = connect_own_drainer(output);
      if (fd < 0) complain("cannot start drawtap-drain", "is it beside the module?");
    } else {
      // Preloaded by hand, or left over in an environment: nobody has said that files are wanted.
      complain("neither DRAWTAP_SOCKET nor DRAWTAP_OUTPUT says where calls go", "");
    }
    dt_welcome welcome = {};
    int memfd = -1;
    bool good = false;
    if (fd >= 0) {
      const bool heard = say_hello(fd, false);
      good = heard && take_welcome(fd, &welcome, &memfd);
      const bool refused = !good && welcome.magic == DT_HELLO_MAGIC && !welcome.accepted;
      if (good)
        good = finish_connecting(fd, memfd, welcome);
      else if (memfd >= 0)
        close(memfd);
      if (!good && !refused)
        give_up(fd, heard, errno);
      else if (refused && !welcome.quietly)
        complain("the recorder refused this process", "");
      if (!good) close(fd);
    }
    if (good) {
      tls.waits = FOR_CONSUMER;
      wait_for_consumer(held);
      tls.waits = FOR_NOTHING;
      begin_session();
    } else {
      s.state = REFUSED;
      switch_off();
    }
  }
  bool connected = s.state == CONNECTED;
  unlock();
  return connected;
}

// The drainer died: a new one goes on with the same pool and file, so that nothing already committed is lost.
bool adopt_drainer() {
  lock();
  bool good = true;
  if (drainer_gone()) {
    const bool lost = !s.memfd.is_ours();  // a successor could not reach the pool
    int fd = s.only || lost ? -1 : connect_own_drainer(current_trace());
    dt_welcome welcome;
    int memfd = -1;
    good = fd >= 0 && exchange(fd, true, &welcome, &memfd);
    if (memfd >= 0) close(memfd);
    if (good) {
      s.socket.drop();
      keep_socket(fd);
    } else {
      if (fd >= 0) close(fd);
      complain(lost     ? "the recorder is gone, and the program has closed the descriptors that another would need"
               : s.only ? "the recorder is gone: the program goes on without it"
                        : "the recorder is gone and could not be started again",
               "");
      end_recording();  // whoever still has the pool's memory can read how many calls that were
      s.state = REFUSED;
    }
  }
  unlock();
  return good;
}

dt_ring_chunk* chunk_at(uint32_t index) { return (dt_ring_chunk*)(s.base + (size_t)(index + 1) * s.chunk_bytes); }

dt_ring_chunk* pop_free() {
  uint64_t head = s.pool->free_head.load(std::memory_order_acquire);
  for (;;) {
    uint32_t plus_one = (uint32_t)head;
    if (!plus_one || (size_t)(plus_one + 1) * s.chunk_bytes > s.mapped) return nullptr;
    dt_ring_chunk* chunk = chunk_at(plus_one - 1);
    // Reading next_free of a chunk that another thread just took is harmless: the tag makes the exchange fail.
    uint64_t next = ((head >> 32) + 1) << 32 | chunk->next_free.load(std::memory_order_relaxed);
    if (s.pool->free_head.compare_exchange_weak(head, next, std::memory_order_acquire)) return chunk;
  }
}

// nullptr: recording has ended, or none came free for as long as the program may be held. With signals held; but for
// while it waits, and a handler may not come back then.
dt_ring_chunk* take_chunk(Thread* t, const HeldSignals& held) {
  dt_ring_chunk* chunk = pop_free();
  if (chunk) return chunk;
  unsigned naps = 0;
  uint64_t from = monotonic_ns();
  s.pool->free_wanted.fetch_add(1);
  t->waits = FOR_CHUNK;
  for (Patience patience;;) {
    uint32_t seen = s.pool->free_wake.load(std::memory_order_acquire);
    chunk = pop_free();
    if (chunk || (s.pool->control.load(std::memory_order_relaxed) & DT_CONTROL_STOP)) break;
    if (patience.is_over(s.pool->hold_ms)) break;
    held.nap(&s.pool->free_wake, seen, nap_ns(naps++));
    if (drainer_gone()) {
      if (!adopt_drainer()) break;
      patience = {};
    }
  }
  t->waits = FOR_NOTHING;
  s.pool->free_wanted.fetch_sub(1);
  s.pool->wait_ns.fetch_add(monotonic_ns() - from, std::memory_order_relaxed);
  return chunk;
}

void register_thread(Thread* t) {
  t->generation = s.generation;
  t->index = s.pool->thread_count.fetch_add(1);
  t->tid = (uint32_t)syscall(SYS_gettid);
  t->serial = 0;
  t->calls = 0;
  // An earlier session leaves nothing but memory that nobody reads.
  t->chunk = nullptr;
  t->cursor = t->limit = nullptr;
}

}  // namespace

char* next_chunk(Thread* t, size_t bytes) {
  if (!g_module_records) return nullptr;  // remarks of the runtime have nowhere to go
  if (DT_UNLIKELY(t->keep != nullptr)) return keep_room(t, bytes);
  KeepErrno keep;
  HeldSignals held;
  if (s.state != CONNECTED && !connect_session(held)) return nullptr;
  if (t->generation != s.generation) register_thread(t);
  if (s.key_made) g_set_specific(s.key, t);
  seal(t);
  if (bytes > s.chunk_bytes - DT_CHUNK_HEADER_BYTES - 8) {
    miss(t);
    return nullptr;
  }
  if (!s.pool->recording.load(std::memory_order_relaxed)) {
    if (g_flags & MODE_LOST) miss(t);  // paused is not lost
    return nullptr;
  }
  const bool over = s.pool->control.load(std::memory_order_relaxed) & DT_CONTROL_STOP;
  const bool nobody = !over && drainer_gone() && !adopt_drainer();
  dt_ring_chunk* chunk = over || nobody ? nullptr : take_chunk(t, held);
  if (!chunk) {
    if (s.pool->control.load(std::memory_order_relaxed) & DT_CONTROL_STOP)
      end_recording();
    else if (s.state == CONNECTED)
      count_only();
    miss(t);
    return nullptr;
  }
  uint32_t index = (uint32_t)(((char*)chunk - s.base) / s.chunk_bytes) - 1;
  if (index / 8 < sizeof s.touched && !(s.touched[index / 8] & (1u << index % 8))) {
    // The pages are there, made by the drainer; only this process's page table lacks them. A read fault brings the 64
    // KB around it, writable: a sixteenth of the faults, and 0.18 us a page where MADV_POPULATE_WRITE takes 0.96.
    for (uint32_t at = 0; at < s.chunk_bytes; at += 65536) (void)*((volatile char*)chunk + at);
    __atomic_fetch_or(&s.touched[index / 8], (uint8_t)(1u << index % 8), __ATOMIC_RELAXED);
  }
  chunk->commit.store(0, std::memory_order_relaxed);
  chunk->thread = t->index;
  chunk->tid = t->tid;
  chunk->context = t->context ? t->context->id : 0;
  chunk->serial = t->serial++;
  chunk->first_call = t->calls;
  chunk->unnamed = 0;
  calibrate(&chunk->calibration_clock, &chunk->calibration_ns, &chunk->calibration_width);
  prctl(PR_GET_NAME, chunk->thread_name);
  __atomic_store_n((uint32_t*)&chunk->state, (uint32_t)DT_CHUNK_OWNED, __ATOMIC_RELEASE);
  t->chunk = chunk;
  t->commit = (uint32_t*)&chunk->commit;
  t->cursor = (char*)chunk + DT_CHUNK_HEADER_BYTES;
  t->limit = (char*)chunk + s.chunk_bytes - 8;
  return t->cursor;
}

void abandon_call(Thread* t) {
  outs_waiting = 0;
  leave_sending();
  t->special &= (uint32_t)SPECIAL_VARIANT;  // of the call that comes
  const uint32_t waited = t->waits;
  t->waits = FOR_NOTHING;
  t->missed = t->no_content = 0;
  if (waited == FOR_CONSUMER) {
    begin_session();
    unlock();
  }
  if (!s.pool) {
    __atomic_fetch_add(&s.left_before, 1u, __ATOMIC_RELAXED);
    return;
  }
  if (waited == FOR_CHUNK) s.pool->free_wanted.fetch_sub(1);
  s.pool->calls_left.fetch_add(1, std::memory_order_relaxed);
  if (!t->chunk || t->keep) return;
  // The jump may have come between a record and its number.
  uint64_t calls = t->chunk->first_call;
  for (const char* at = (const char*)t->chunk + DT_CHUNK_HEADER_BYTES; at < t->cursor;) {
    const dt_record* r = (const dt_record*)at;
    if (!(r->function & DT_RECORD_TAP)) calls++;
    at += (size_t)r->words * 8;
  }
  t->calls = calls;
}

// The recorder may have died since the last chunk was taken, and nobody would come for what is in the pool.
__attribute__((destructor)) static void program_ends() {
  if (s.state == CONNECTED) s.pool->finished.store(1);
  if (s.state == CONNECTED && g_mode != MODE_OFF && drainer_gone()) adopt_drainer();
}

uint64_t slow_entry_clock() { return g_timing == DT_TIMING_NONE ? 0 : ticks_now(); }

namespace {

void long_duration(Thread* t, dt_record* r, uint64_t ticks) {
  // Must not change the chunk: outputs of the call may still have to be written into it.
  if ((size_t)(t->limit - t->cursor) < 24) {
    r->duration = DT_NO_DURATION - 1;
    return;
  }
  r->duration = DT_LONG_DURATION;
  char* at = t->cursor;
  put_header(at, DT_FN_LONG_DURATION | DT_RECORD_TAP, 24, r->entry);
  memcpy(at + 16, &ticks, 8);
  commit(t, at + 24);
}

}  // namespace

void finish_slow(Thread* t, dt_record* r) {
  if (g_timing != DT_TIMING_BOTH) {
    r->duration = DT_NO_DURATION;
    return;
  }
  const uint64_t ticks = (g_slow_clock ? ticks_now() : read_tsc()) - r->entry;
  if (ticks < DT_NO_DURATION)
    r->duration = (uint32_t)ticks;
  else
    long_duration(t, r, ticks);
}

dt_pool_header* session_pool() { return s.pool; }
// ---- recordings that a manager asks for in the middle of the program ----------------------------

const char* open_session(const char* socket_path, uint32_t frames) {
  KeepErrno keep;
  if (!g_module_records) return "this module does not record";
  lock();
  const char* why = nullptr;
  if (s.state == CONNECTED) {
    why = "a recorder has it already";
  } else {
    change_mode(MODE_OFF, MODE_LOST);
    g_clock = tsc_usable() ? DT_CLOCK_TSC : DT_CLOCK_MONOTONIC_NS;
    const int fd = connect_to(socket_path, 0);
    dt_welcome welcome;
    int memfd = -1;
    if (fd < 0) {
      why = "the recorder cannot be reached";
    } else if (!exchange(fd, false, &welcome, &memfd) || !finish_connecting(fd, memfd, welcome)) {
      close(fd);
      why = "the recorder refused the program";
    }
  }
  if (!why) {
    forget_blobs();
    forget_notes();
    gl::forget_natives();
    s.generation++;
    s.on_demand = s.only = 1;  // where its recorder dies, that is the end of it
    s.off_since_ns = 0;
    s.pool->frames_left.store(frames);
    __atomic_store_n(&s.state, (uint32_t)CONNECTED, __ATOMIC_RELEASE);  // the end of this frame begins to record
  }
  unlock();
  return why;
}

bool session_is_over() {
  if (!s.on_demand) return false;
  if (s.state != CONNECTED) return true;  // its recorder has died
  const bool stopped = !(s.pool->control.load(std::memory_order_relaxed) & DT_CONTROL_RECORD) ||
                       (s.pool->control.load(std::memory_order_relaxed) & DT_CONTROL_STOP);
  if (!(g_flags & MODE_OFF)) return false;
  if (!stopped && s.pool->recording.load(std::memory_order_relaxed)) return false;
  // Calls of other threads that had begun when recording stopped get a while to end.
  const uint64_t now = monotonic_ns();
  if (!s.off_since_ns) s.off_since_ns = now;
  return now - s.off_since_ns > 50000000 && (stopped || drainer_gone());
}

void stop_session(Thread* t) {
  if (!s.on_demand || s.state != CONNECTED) return;
  s.pool->control.fetch_and(~(uint32_t)DT_CONTROL_RECORD);
  pause_recording(t);
}

void close_session(Thread* t) {
  KeepErrno keep;
  lock();
  if (s.on_demand) {
    if (t->generation == s.generation) seal(t);
    s.pool->recording.store(0, std::memory_order_relaxed);
    s.pool->finished.store(2, std::memory_order_release);
    __atomic_store_n(&s.state, (uint32_t)REFUSED, __ATOMIC_RELEASE);
    // A thread may sit in the driver for long yet, and write its duration into its record when it comes back. There is
    // memory at that place for good, but it is nobody's.
    mmap(s.base, s.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    s.memfd.drop();
    s.socket.drop();
    s.on_demand = 0;
  }
  unlock();
}

bool is_recording() { return s.state == CONNECTED && !(g_flags & MODE_OFF); }

void count_loss(const char* code) {
  if (s.state != CONNECTED) return;
  dt_loss* const all = (dt_loss*)(s.base + DT_POOL_LOSSES_OFFSET);
  for (dt_loss* loss = all; loss < all + DT_MOST_LOSSES; loss++) {
    uint32_t state = DT_LOSS_FREE;
    if (loss->state.compare_exchange_strong(state, 1)) {
      snprintf(loss->code, sizeof loss->code, "%s", code);
      loss->state.store(state = DT_LOSS_NAMED);
    }
    for (int i = 0; state == 1 && i < 1000; i++) state = loss->state.load();  // another thread is about to name it
    if (strcmp(loss->code, code)) continue;
    loss->count.fetch_add(1, std::memory_order_relaxed);
    return;
  }
}

uint64_t next_order() { return s.pool ? s.pool->order.fetch_add(1, std::memory_order_seq_cst) + 1 : 0; }

void want_exact_order() {
  if (!(g_flags & MODE_ORDERED)) change_mode(MODE_ORDERED, 0);
}

namespace {

// A thread's first call since recording started in the middle of the program.
void look_around(Thread* t) {
  t->epoch = __atomic_load_n(&g_epoch, __ATOMIC_ACQUIRE);
  Inside inside(t);
  if (t->generation != s.generation) register_thread(t);
  gl::reread_context(t);
  hook::take_base(t, hook::Moment::ANY);
}

// In frames that are left out: whether the content of uploads is left out too, and the number at the begin of the
// frame.
uint32_t g_no_uploads;
uint64_t g_uploads_dropped_before;

// Says once a frame that is left out, and how many there were when it is over.
void note_dropped(Thread* t, const char* code, uint64_t number, const char* what) {
  char text[160];
  snprintf(text, sizeof text, "%llu %s", (unsigned long long)number, what);
  emit_note(t, code, text);
}

void count_frame(Thread* t) {
  const uint64_t done = s.pool->frames.fetch_add(1, std::memory_order_relaxed) + 1;
  const bool dropping = g_flags & MODE_DROPPING;
  const bool behind = s.pool->control.load(std::memory_order_relaxed) & DT_CONTROL_DROP;
  if (dropping) {
    s.pool->frames_dropped.fetch_add(1, std::memory_order_relaxed);
    note_dropped(t, "frame-dropped", done,
                 "is the number of a frame whose draws were not recorded: the recorder could not keep up");
    const uint64_t uploads = s.pool->uploads_dropped.load(std::memory_order_relaxed);
    if (uploads != g_uploads_dropped_before)
      note_dropped(t, "uploads-dropped", done,
                   "is the number of a frame of which uploads were recorded without their content");
    g_uploads_dropped_before = uploads;
  }
  __atomic_store_n(&g_no_uploads, behind && (s.pool->control.load(std::memory_order_relaxed) & DT_CONTROL_DROP_CONTENT),
                   __ATOMIC_RELAXED);
  if (behind != dropping) change_mode(behind ? (uint32_t)MODE_DROPPING : 0, behind ? 0 : (uint32_t)MODE_DROPPING);
  uint32_t left = s.pool->frames_left.load(std::memory_order_relaxed);
  while (left && !s.pool->frames_left.compare_exchange_weak(left, left - 1)) {}
  if (left == 1) s.pool->control.fetch_and(~(uint32_t)DT_CONTROL_RECORD);
}

// Waits that a session counted as ends of frames: they were none, once a frame is shown.
struct FalseEnds {
  uint64_t generation;
  uint32_t count;
};
FalseEnds g_waits;

void count_wait() {
  if (__atomic_exchange_n(&g_waits.generation, s.generation, __ATOMIC_RELAXED) != s.generation)
    __atomic_store_n(&g_waits.count, 0u, __ATOMIC_RELAXED);
  __atomic_fetch_add(&g_waits.count, 1u, __ATOMIC_RELAXED);
}
void uncount_waits() {
  if (g_waits.generation != s.generation) return;
  const uint32_t waits = __atomic_exchange_n(&g_waits.count, 0u, __ATOMIC_RELAXED);
  s.pool->frames.fetch_sub(waits, std::memory_order_relaxed);
  uint32_t left = s.pool->frames_left.load(std::memory_order_relaxed);
  while (left && !s.pool->frames_left.compare_exchange_weak(left, left + waits)) {}
}

// A drainer that is to bring calls to the disk asks for what a thread has, full or not.
void hand_chunk_over(Thread* t) {
  const uint32_t asked = s.pool->hand_over.load(std::memory_order_relaxed);
  if (DT_LIKELY(asked == t->handed_over)) return;
  t->handed_over = asked;
  if (t->generation == s.generation) seal(t);
}

// Returns whether there is room again after a thread had waited in vain.
bool takes_again() {
  if (drainer_gone() && !adopt_drainer()) return false;
  return (uint32_t)s.pool->free_head.load(std::memory_order_acquire) != 0;
}

}  // namespace

void start_recording(Thread* t, bool shown) {
  HeldSignals held;
  lock();
  const bool off = s.state == CONNECTED && (g_flags & (MODE_OFF | MODE_LOST));
  const bool lost = g_flags & MODE_LOST;
  if (off) {
    __atomic_fetch_add(&g_epoch, 1u, __ATOMIC_ACQ_REL);
    gl::forget_maps();
    if (!lost) gl::forget_natives(), hook::g_began_late = 1;
    s.pool->recording.store(1, std::memory_order_relaxed);
  }
  unlock();
  if (!off) return;
  // This thread's remarks come first: the others are still off.
  t->epoch = g_epoch;
  Inside inside(t);
  if (t->generation != s.generation) register_thread(t);
  t->missed = 1;  // what is noted here is no call
  char text[240];
  if (lost)
    snprintf(text, sizeof text,
             "calls before this one are missing: the recorder took none for too long (%llu missing in the whole run so "
             "far). Objects and state may differ from the trace",
             (unsigned long long)s.pool->calls_unrecorded.load(std::memory_order_relaxed));
  else
    snprintf(
        text, sizeof text,
        "recording began in the middle of the program: %llu frames before are missing. Objects and state of OpenGL "
        "come from the driver; objects of Vulkan are missing",
        (unsigned long long)s.pool->frames_unseen.exchange(0, std::memory_order_relaxed));
  report_libraries(t);
  emit_note(t, lost ? "calls-lost" : "began-late", text);
  gl::reread_context(t);
  // A recorder that could not keep up is not given more still.
  if (!lost) hook::take_base(t, shown ? hook::Moment::FRAME_SHOWN : hook::Moment::ANY);
  t->missed = 0;
  // There may have been no room even for what is noted here: then calls are counted, until there is.
  if (!s.pool->recording.load(std::memory_order_relaxed))
    change_mode(MODE_LOST, MODE_OFF);
  else
    change_mode(MODE_RESUMED, MODE_OFF | MODE_LOST | MODE_DROPPING);
}

void pause_recording(Thread* t) {
  if (s.state != CONNECTED || (g_flags & MODE_OFF)) return;
  HeldSignals held;
  switch_off();
  seal(t);
}

void at_boundary(Thread* t, Boundary kind) {
  if (g_module_records && kind != FRAME_SHOWN) live::at_pause(t);
  if ((t->special & SPECIAL_BUSY) || s.state != CONNECTED) return;
  KeepErrno keep;
  static uint32_t shows;  // the program ends its frames by showing them: nothing else is the end of one
  if (kind == FRAME_SHOWN) {
    if (!__atomic_exchange_n(&shows, 1u, __ATOMIC_RELAXED)) uncount_waits();
  } else if (__atomic_load_n(&shows, __ATOMIC_RELAXED)) {
    return;
  }
  const bool lost = g_flags & MODE_LOST;
  const bool off = lost || (g_flags & MODE_OFF);
  const bool frame = kind != FLUSHED;
  if (!off && frame) {
    if (kind == WAITED_FOR_GPU) count_wait();
    count_frame(t);
    hand_chunk_over(t);
  }
  if (off && frame) s.pool->frames_unseen.fetch_add(1, std::memory_order_relaxed);
  const uint32_t control = s.pool->control.load(std::memory_order_acquire);
  const bool wanted = (control & DT_CONTROL_RECORD) && !(control & DT_CONTROL_STOP);
  if (lost) {
    if (wanted && frame && takes_again())
      start_recording(t, kind == FRAME_SHOWN);
    else if (!wanted && !(control & DT_CONTROL_STOP))
      change_mode(MODE_OFF, MODE_LOST);  // paused meanwhile
  } else if (!off && (control & DT_CONTROL_STOP)) {
    seal(t);
    end_recording();
  } else if (off && wanted)
    start_recording(t, kind == FRAME_SHOWN);
  else if (!off && !wanted)
    pause_recording(t);
}

// Stands for the driver where a call is only told (targets.cc).
static void* do_nothing() { return (void*)(uintptr_t)tls.told_result; }

namespace {
__attribute__((noinline)) Slow enter_unusual(Thread* t, unsigned id, const void* here) {
  KeepErrno keep;
  void* real;
  if ((t->special & (SPECIAL_BUSY | SPECIAL_USER)) && here >= t->frame && has_left(t->frame, here)) abandon_call(t);
  if (t->special & SPECIAL_TOLD) {
    if (g_mode & MODE_ORDERED) emit_order(t);
    return {(void*)do_nothing, true};
  }
  // A signal handler has come between the entry of a variant and here: it leaves that call what it said.
  const bool another = (t->special & SPECIAL_VARIANT) && t->variant >> 8 != id;
  if ((t->special & SPECIAL_VARIANT) && !another) {
    real = g_real[id][t->variant & 255];
    t->special &= ~(uint32_t)SPECIAL_VARIANT;
  } else if (!(real = g_real[id][0])) {
    real = resolve(id);
  }
  if (!real) {
    if (s.pool) s.pool->calls_dropped.fetch_add(1, std::memory_order_relaxed);
    return {nullptr, false};
  }
  if (another || (t->special & SPECIAL_BUSY)) {
    if (s.pool) s.pool->calls_nested.fetch_add(1, std::memory_order_relaxed);
    return {real, false};
  }
  if (t->keep || is_left_out(id)) return {real, t->keep != nullptr};
  if (g_mode == MODE_OFF || g_mode == MODE_KEEPING) {
    // Paused is not lost: the trace says from where to where.
    if (s.pool && (s.state != CONNECTED || (s.pool->control.load(std::memory_order_relaxed) & DT_CONTROL_STOP)))
      s.pool->calls_dropped.fetch_add(1, std::memory_order_relaxed);
    return {real, false};
  }
  const uint32_t mode = g_mode;
  if (mode & MODE_LOST) {
    t->missed = 0;
    s.pool->calls_unrecorded.fetch_add(1, std::memory_order_relaxed);
    return {real, false};
  }
  if ((mode & MODE_RESUMED) && t->epoch != __atomic_load_n(&g_epoch, __ATOMIC_ACQUIRE)) look_around(t);
  if (mode & MODE_DROPPING) {
    const uint8_t kind = g_draws[id];
    t->no_content = kind == 4 && __atomic_load_n(&g_no_uploads, __ATOMIC_RELAXED);
    if (kind == 2 || kind == 3) t->in_list = kind == 2;
    if (kind == 1 && !t->in_list) {
      s.pool->draws_dropped.fetch_add(1, std::memory_order_relaxed);
      return {real, false};
    }
  }
  if (mode & MODE_ORDERED) {
    t->special |= SPECIAL_BUSY;
    emit_order(t);
  }
  return {real, true};
}
}  // namespace

Slow enter_slow(Thread* t, unsigned id, const void* here) {
  // Where recording began in the middle of the program, every call comes here, and after each thread's first one
  // nothing is out of the ordinary any more.
  if (g_mode == MODE_RESUMED && !t->special && t->epoch == __atomic_load_n(&g_epoch, __ATOMIC_ACQUIRE))
    if (void* const main = g_real[id][0]) return {main, true};
  return enter_unusual(t, id, here);
}

}  // namespace dt
