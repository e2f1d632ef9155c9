// The tap's side of the manager: finding it, the page of statistics, the limiter.
#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/memfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../common/descriptor.h"
#include "gl_state.h"
#include "moment.h"
#include "own_fd.h"
#include "egl_enums.h"

#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_GET_SEALS 1034
#define F_SEAL_SEAL 1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW 4
#endif

namespace dt {
namespace live {

uint32_t g_frames = 1;

// The limiter's and the page's facts about one surface. Written by the thread that shows it.
struct Slot {
  uint64_t key;
  uint64_t last_ns;      // when it was shown last: the one unused for longest makes room for a new one
  uint64_t due_ns;       // of the frame before
  uint64_t interval_ns;  // that due_ns was made with
  uint64_t wait_ns;      // waited since the frame before
  uint64_t sized_ns;     // when the size was looked at
  uint64_t told_at;      // which page and which word of it the three below are of
  uint64_t told_interval_ns;
  uint32_t told_pacing, told_spin_ns;
};

namespace {

constexpr uint64_t SECOND = 1000000000u;
constexpr uint64_t RETRY_NS = SECOND;         // between attempts to find a manager
constexpr uint64_t PATIENCE_NS = 5 * SECOND;  // for its answer
// between looks whether it is still there: its lease need not run out first
constexpr uint64_t LOOK_NS = SECOND / 4;
constexpr uint64_t MOST_SPIN_NS = 2000000;

enum State : uint32_t { UNASKED, ALONE, GREETED, MANAGED };

struct Live {
  uint32_t state;
  uint32_t lock;  // held while connecting, reading packets, giving out slots
  OwnFd socket;
  OwnFd stats_fd;
  dt_live_stats* stats;
  dt_live_control* control;  // an empty page while there is no manager: reading it is always allowed
  uint32_t pages;            // control pages that stood there so far
  uint64_t next_try_ns, greeted_ns;
  uint32_t letters;
  uint32_t fork_handled;
  uint64_t own_interval_ns;  // DRAWTAP_LIMIT: without a manager we see to it, and a manager gets it
  uint32_t own_pacing;
  uint32_t trace_letter;  // by which the manager asked for the recording that goes on
  const char* path;       // at which the manager was reached
  uint32_t path_count;
  char paths[4][108];
};
Live g;
Slot g_slots[DT_LIVE_SURFACES];
__thread Swap* t_inside __attribute__((tls_model("initial-exec")));  // the frame that is being shown
__thread int32_t t_interval __attribute__((tls_model("initial-exec"))) = -1;

bool try_lock() { return !__atomic_exchange_n(&g.lock, 1, __ATOMIC_ACQUIRE); }
void unlock() { __atomic_store_n(&g.lock, 0, __ATOMIC_RELEASE); }

dt_live_surface* page_of(const Slot* slot) {
  return (dt_live_surface*)((char*)g.stats + DT_LIVE_STATS_HEADER + (size_t)(slot - g_slots) * DT_LIVE_SURFACE_BYTES);
}

// ---- the manager --------------------------------------------------------------------------------

void add_path(const char* format, const char* folder, unsigned uid) {
  char* at = g.paths[g.path_count];
  int n = snprintf(at, sizeof g.paths[0], format, folder, uid);
  if (n > 0 && (size_t)n < sizeof g.paths[0]) g.path_count++;
}

// At the first frame. False: nothing is wanted here, ever.
bool look_around() {
  g.socket.number = g.stats_fd.number = -1;
  const char* named = secure_getenv("DRAWTAP_MANAGER");
  if (getauxval(AT_SECURE)) return false;
  if (const char* limit = secure_getenv("DRAWTAP_LIMIT")) {
    char* end;
    double fps = strtod(limit, &end);
    if (fps >= 1 && fps < 1e6) g.own_interval_ns = (uint64_t)(1e9 / fps + 0.5);
    g.own_pacing = !strcmp(end, ",late") ? DT_LIVE_LATE : DT_LIVE_EARLY;
  }
  if (named && !strcmp(named, "off")) return g.own_interval_ns != 0;
  if (named && *named) {
    add_path("%s", named, 0);
  } else {
    const char* folder = secure_getenv("XDG_RUNTIME_DIR");
    if (folder && *folder == '/')
      add_path("%s/drawtap/manager.sock", folder, 0);
    else
      add_path("%s/%u/drawtap/manager.sock", "/run/user", (unsigned)geteuid());
    add_path("%s-%u/manager.sock", "/tmp/drawtap", (unsigned)geteuid());
    add_path("%s/manager.sock", "/run/drawtap", 0);
  }
  return true;
}

// With the lock held: no manager any more. Its settings no longer hold.
void leave(uint64_t now) {
  g.socket.drop();
  g.letters = 0;
  if (g.control) mmap(g.control, DT_LIVE_CONTROL_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  g.next_try_ns = now + RETRY_NS;
  __atomic_store_n(&g.state, (uint32_t)ALONE, __ATOMIC_RELEASE);
}

void forget_parent() {
  KeepErrno keep;
  // The pages belong to the process that was forked.
  g.socket.drop();
  if (g.stats) munmap(g.stats, DT_LIVE_STATS_BYTES);
  g.stats_fd.drop();
  g.stats = nullptr;
  g.lock = g.trace_letter = 0;
  memset(g_slots, 0, sizeof g_slots);
  t_inside = nullptr;
  if (g.state > ALONE) leave(0);
}

bool make_stats() {
  if (g.stats) return true;
  int fd = (int)syscall(SYS_memfd_create, "drawtap-stats", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return false;
  void* at = MAP_FAILED;
  if (ftruncate(fd, DT_LIVE_STATS_BYTES) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    at = mmap(nullptr, DT_LIVE_STATS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) {
    close(fd);
    return false;
  }
  dt_live_stats* stats = (dt_live_stats*)at;
  stats->magic = DT_LIVE_STATS_MAGIC;
  stats->version = DT_LIVE_VERSION;
  stats->pid = (uint32_t)getpid();
  stats->own_interval_ns = g.own_interval_ns;
  stats->own_pacing = g.own_pacing;
  g.stats_fd.keep(fd);
  memset(g_slots, 0, sizeof g_slots);
  if (!g.control) {
    at = mmap(nullptr, DT_LIVE_CONTROL_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return false;
    g.control = (dt_live_control*)at;
  }
  if (!g.fork_handled) g.fork_handled = pthread_atfork(nullptr, nullptr, forget_parent) == 0;
  __atomic_store_n(&g.stats, stats, __ATOMIC_RELEASE);
  return true;
}

// Whom the socket belongs to: what another user's manager says is nothing to us, but for the system's.
bool is_trusted(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size)) return false;
  return peer.uid == geteuid() || peer.uid == 0;
}

int connect_to(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (connect(fd, (sockaddr*)&address, sizeof address) == 0 && is_trusted(fd)) return fd;
  close(fd);
  return -1;
}

bool say_hello(uint32_t kind) {
  static dt_live_hello hello;  // kept off the program's stack
  memset(&hello, 0, sizeof hello);
  hello.magic = DT_LIVE_MAGIC;
  hello.version = DT_LIVE_VERSION;
  hello.pid = (uint32_t)getpid();
  const char* managed = secure_getenv("DRAWTAP_MANAGED");
  hello.flags = managed && *managed == '1' ? 0 : DT_LIVE_RECORDING;
  ssize_t n = readlink("/proc/self/exe", hello.program, sizeof hello.program - 1);
  if (n < 0) hello.program[0] = 0;
  snprintf(hello.api, sizeof hello.api, "%s", kind == DT_LIVE_EGL ? "egl" : kind == DT_LIVE_GLX ? "glx" : "other");
  return send_with_descriptor(g.socket.number, &hello, sizeof hello, g.stats_fd.number, MSG_DONTWAIT);
}

// With the lock held.
void look_for_manager(uint64_t now, uint32_t kind) {
  g.next_try_ns = now + RETRY_NS;
  int fd = -1;
  for (uint32_t i = 0; i < g.path_count && fd < 0; i++) fd = connect_to(g.path = g.paths[i]);
  if (fd < 0) return;
  g.socket.keep(fd);
  if (!make_stats() || !g.stats_fd.is_ours() || !say_hello(kind)) return leave(now);
  g.greeted_ns = now;
  __atomic_store_n(&g.state, (uint32_t)GREETED, __ATOMIC_RELEASE);
}

bool take_control(int fd) {
  struct stat about;
  int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || !(seals & F_SEAL_SHRINK) || !(seals & F_SEAL_SEAL)) return false;
  if (fstat(fd, &about) || about.st_size != DT_LIVE_CONTROL_BYTES) return false;
  dt_live_control* page = (dt_live_control*)mmap(nullptr, DT_LIVE_CONTROL_BYTES, PROT_READ, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return false;
  bool good = page->magic == DT_LIVE_CONTROL_MAGIC && page->version == DT_LIVE_VERSION;
  munmap(page, DT_LIVE_CONTROL_BYTES);
  // In the place of the empty page: other threads read through this pointer all the time.
  if (!good || mmap(g.control, DT_LIVE_CONTROL_BYTES, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
    return false;
  __atomic_fetch_add(&g.pages, 1u, __ATOMIC_RELEASE);  // what was read of the page before says nothing of this one
  return true;
}

// One packet, with a descriptor if one came. Bytes, 0: the end, -1: none now.
ssize_t receive(void* to, size_t size, int* fd) {
  iovec io = {to, size};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int) * 4)];
  msghdr message = {};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  ssize_t n;
  do n = recvmsg(g.socket.number, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n < 0) return errno == EAGAIN ? -1 : 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int got;
      memcpy(&got, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      if (*fd < 0)
        *fd = got;
      else
        close(got);
    }
  }
  return n;
}

// With the lock held: has the answer to our hello come?
void hear_welcome(uint64_t now) {
  if (!g.socket.is_ours()) return leave(now);
  dt_live_welcome welcome{};
  int fd = -1;
  ssize_t n = receive(&welcome, sizeof welcome, &fd);
  if (n < 0) {
    if (now - g.greeted_ns > PATIENCE_NS) leave(now);
    return;
  }
  bool good = n == (ssize_t)sizeof welcome && welcome.magic == DT_LIVE_MAGIC && welcome.version == DT_LIVE_VERSION &&
              welcome.accepted && fd >= 0 && take_control(fd);
  if (fd >= 0) close(fd);
  if (!good) {
    leave(now);
    g.next_try_ns = now + 10 * RETRY_NS;
    return;
  }
  __atomic_store_n(&g.state, (uint32_t)MANAGED, __ATOMIC_RELEASE);
}

void answer(uint32_t kind, uint32_t number, const char* text) {
  dt_live_letter letter{};
  letter.magic = DT_LIVE_MAGIC;
  letter.kind = kind;
  letter.number = number;
  snprintf(letter.text, sizeof letter.text, "%s", text);
  ssize_t ignored = send(g.socket.number, &letter, sizeof letter, MSG_NOSIGNAL | MSG_DONTWAIT);
  (void)ignored;
}

// Beside the manager's socket, in a folder that the manager made: the letter has only its name.
bool session_path(const char* token, char* out, size_t size) {
  for (const char* c = token; *c; c++)
    if (!((*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'f'))) return false;
  if (!*token || !g.path) return false;
  // As this process reached it: the manager may see that folder under another name.
  const char* slash = strrchr(g.path, '/');
  int n = slash ? snprintf(out, size, "%.*s/trace-%s/socket", (int)(slash - g.path), g.path, token) : -1;
  return n > 0 && (size_t)n < size;
}

void obey(Thread* t, const dt_live_letter& letter) {
  if (letter.kind == DT_LIVE_TRACE) {
    char path[108];
    const char* why =
        session_path(letter.text, path, sizeof path) ? open_session(path, letter.frames) : "its name makes no sense";
    if (!why) g.trace_letter = letter.number;
    answer(why ? DT_LIVE_REFUSED : DT_LIVE_BEGUN, letter.number, why ? why : "");
  } else if (letter.kind == DT_LIVE_MARK) {
    if (!is_recording()) return answer(DT_LIVE_REFUSED, letter.number, "it is not recorded");
    Inside inside(t);
    emit_mark(t, letter.text);
    answer(DT_LIVE_BEGUN, letter.number, "");
  } else if (letter.kind == DT_LIVE_STOP) {
    stop_session(t);
    answer(DT_LIVE_BEGUN, letter.number, "");
  } else {
    answer(DT_LIVE_REFUSED, letter.number, "not known here");
  }
}

// With the lock held: packets, and whether the manager is still there.
void read_letters(Thread* t, uint64_t now) {
  if (!g.socket.is_ours()) return leave(now);
  for (;;) {
    dt_live_letter letter{};
    int fd = -1;
    ssize_t n = receive(&letter, sizeof letter, &fd);
    if (fd >= 0) close(fd);
    if (n < 0) break;
    if (n != (ssize_t)sizeof letter || letter.magic != DT_LIVE_MAGIC) return leave(now);
    letter.text[sizeof letter.text - 1] = 0;
    g.letters++;
    g.stats->letters.store(g.letters, std::memory_order_relaxed);
    obey(t, letter);
  }
}

// Everything that is not the common case: once a second without a manager, seldom with one.
DT_COLD void attend(Thread* t, uint64_t now, uint32_t kind) {
  HeldSignals held;  // a handler that jumps away must not keep the lock
  if (!try_lock()) return;
  KeepErrno keep;
  if (g.state == UNASKED) {
    if (look_around())
      g.state = ALONE;
    else
      g_frames = 0;
  }
  if (g.state == ALONE && g.path_count && now >= g.next_try_ns) look_for_manager(now, kind);
  if (g.state == GREETED) hear_welcome(now);
  if (g.trace_letter && session_is_over()) {
    close_session(t);
    if (g.state == MANAGED) answer(DT_LIVE_OVER, g.trace_letter, "");
    g.trace_letter = 0;
  }
  if (g.state == MANAGED) {
    if (g.control->letters.load(std::memory_order_acquire) != g.letters || now >= g.next_try_ns) {
      g.next_try_ns = now + LOOK_NS;
      read_letters(t, now);
    }
  }
  unlock();
}

// ---- surfaces -----------------------------------------------------------------------------------

uint64_t key_of(uint32_t kind, uint64_t display, uint64_t handle) {
  uint64_t key = (handle * 0x9e3779b97f4a7c15ull) ^ (display * 0xc2b2ae3d27d4eb4full) ^ ((uint64_t)kind << 62);
  key ^= key >> 29;
  return key ? key : 1;
}

DT_COLD Slot* take_slot(uint64_t key, uint64_t now, uint32_t kind, uint64_t display, uint64_t handle) {
  if (!try_lock()) return nullptr;  // the next frame counts
  Slot* slot = &g_slots[0];
  for (Slot& each : g_slots) {
    if (!each.key) {
      slot = &each;
      break;
    }
    if (each.last_ns < slot->last_ns) slot = &each;
  }
  *slot = Slot{};
  slot->last_ns = now;
  if (g.stats) {
    dt_live_surface* page = page_of(slot);
    page->key.store(0, std::memory_order_relaxed);
    page->frames.store(0, std::memory_order_release);
    page->generation.fetch_add(1, std::memory_order_relaxed);
    page->kind = kind;
    page->display = display;
    page->handle = handle;
    page->tid = (uint32_t)syscall(SYS_gettid);
    page->width.store(0, std::memory_order_relaxed);
    page->height.store(0, std::memory_order_relaxed);
    page->swap_interval.store(-1, std::memory_order_relaxed);
    page->waited.store(0, std::memory_order_relaxed);
    page->wait_ns.store(0, std::memory_order_relaxed);
    page->resyncs.store(0, std::memory_order_relaxed);
    page->key.store(key, std::memory_order_release);
  }
  __atomic_store_n(&slot->key, key, __ATOMIC_RELEASE);
  unlock();
  return slot;
}

Slot* find_slot(uint64_t now, uint32_t kind, uint64_t display, uint64_t handle) {
  uint64_t key = key_of(kind, display, handle);
  for (Slot& slot : g_slots)
    if (__atomic_load_n(&slot.key, __ATOMIC_ACQUIRE) == key) return &slot;
  return take_slot(key, now, kind, display, handle);
}

// Asked before the swap: an error of the question's would be lost in the answer to the swap anyway.
DT_COLD void look_at_size(Thread* t, Slot* slot, uint64_t now, uint32_t kind, uint64_t display, uint64_t handle) {
  slot->sized_ns = now;
  Inside inside(t);
  int32_t width = 0, height = 0;
  if (kind == DT_LIVE_EGL) {
    if (!driver::eglQuerySurface || !driver::eglQuerySurface((void*)display, (void*)handle, EGL_WIDTH, &width) ||
        !driver::eglQuerySurface((void*)display, (void*)handle, EGL_HEIGHT, &height))
      return;
  } else if (t->context && t->context->draw == handle) {
    width = t->context->draw_width;
    height = t->context->draw_height;
  }
  page_of(slot)->width.store(width, std::memory_order_relaxed);
  page_of(slot)->height.store(height, std::memory_order_relaxed);
}

// ---- limiter ------------------------------------------------------------------------------------

struct Rule {
  uint64_t interval_ns;
  uint64_t until_ns;  // when it stops to hold
  uint32_t pacing, spin_ns, word;
};

// The page's word was read before: where the page changes meanwhile, that is seen at the next look.
DT_COLD void read_control(Slot* slot, uint64_t told_at) {
  const dt_live_control* c = g.control;
  uint64_t interval = c->interval_ns.load(std::memory_order_relaxed);
  for (const dt_live_surface_limit& s : c->surfaces)
    if (s.key.load(std::memory_order_relaxed) == slot->key) interval = s.interval_ns.load(std::memory_order_relaxed);
  const uint32_t spin = c->spin_ns.load(std::memory_order_relaxed);
  slot->told_interval_ns = interval < SECOND ? interval : SECOND;
  slot->told_pacing = c->pacing.load(std::memory_order_relaxed);
  slot->told_spin_ns = spin < MOST_SPIN_NS ? spin : (uint32_t)MOST_SPIN_NS;
  slot->told_at = told_at;
}

Rule rule_for(Slot* slot, uint64_t now) {
  if (__atomic_load_n(&g.state, __ATOMIC_ACQUIRE) == MANAGED) {
    dt_live_control* c = g.control;
    const uint64_t page = __atomic_load_n(&g.pages, __ATOMIC_ACQUIRE);
    const uint32_t word = c->word.load(std::memory_order_acquire);
    const uint64_t lease = c->lease_ns.load(std::memory_order_relaxed);
    if (now < lease) {
      if (DT_UNLIKELY(slot->told_at != (page << 32 | word))) read_control(slot, page << 32 | word);
      return {slot->told_interval_ns, lease, slot->told_pacing, slot->told_spin_ns, word};
    }
  }
  return {g.own_interval_ns, ~0ull, g.own_pacing, 0, 0};
}

// Sleeps until `until`, or until the control page's word is no longer `word`.
void doze(uint64_t until, uint32_t word) {
  timespec at = {(time_t)(until / SECOND), (long)(until % SECOND)};
  if (g.control)
    syscall(SYS_futex, &g.control->word, FUTEX_WAIT_BITSET, word, &at, nullptr, FUTEX_BITSET_MATCH_ANY);
  else
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  __asm__ volatile("yield");
#endif
}

// Holds the thread until the surface's next frame is due. Returns the time. The rule may change meanwhile.
DT_COLD uint64_t hold(Slot* slot, uint64_t now, Rule rule) {
  KeepErrno keep;
  uint64_t from = now;
  long slack = -1;
  bool resynced = false;
  for (;;) {
    if (!rule.interval_ns) {
      slot->interval_ns = 0;
      break;
    }
    if (!slot->interval_ns)
      slot->due_ns = slot->last_ns && now - slot->last_ns < rule.interval_ns ? slot->last_ns : now - rule.interval_ns;
    slot->interval_ns = rule.interval_ns;
    uint64_t due = slot->due_ns + rule.interval_ns;
    if (now >= due) {
      // A frame that is a little late shortens the next one; after a stall no burst follows.
      resynced = now - due > rule.interval_ns;
      slot->due_ns = resynced ? now : due;
      break;
    }
    uint64_t wake = due - rule.spin_ns < rule.until_ns ? due - rule.spin_ns : rule.until_ns;
    if (wake > now) {
      if (slack < 0) {
        // The kernel may wake a thread 50 us late to save power: not this one, not now.
        slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
        prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
      }
      doze(wake, rule.word);
    } else {
      relax();
    }
    now = now_ns();
    rule = rule_for(slot, now);
  }
  if (slack > 0) prctl(PR_SET_TIMERSLACK, slack, 0, 0, 0);
  slot->wait_ns += now - from;
  if (g.stats) {
    dt_live_surface* page = page_of(slot);
    if (now > from) {
      page->waited.store(page->waited.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      page->wait_ns.store(page->wait_ns.load(std::memory_order_relaxed) + (now - from), std::memory_order_relaxed);
    }
    if (resynced) page->resyncs.store(page->resyncs.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  return now;
}

uint32_t short_ns(uint64_t ns) { return ns < 0xffffffffu ? (uint32_t)ns : 0xffffffffu; }

}  // namespace

namespace {

bool needs_attention(uint64_t now) {
  const uint32_t state = __atomic_load_n(&g.state, __ATOMIC_ACQUIRE);
  if (DT_LIKELY(state == MANAGED))
    return g.control->letters.load(std::memory_order_relaxed) != g.letters || g.trace_letter || now >= g.next_try_ns;
  return state != ALONE || g.trace_letter || (g.path_count && now >= g.next_try_ns);
}

}  // namespace

void at_pause(Thread* t) {
  if (!g_frames || t_inside || (t->special & SPECIAL_BUSY)) return;
  const uint64_t now = now_ns();
  if (!needs_attention(now)) return;
  const uint32_t system = t->context ? t->context->system : 0;
  attend(t, now, system == 1 ? DT_LIVE_EGL : system == 2 ? DT_LIVE_GLX : DT_LIVE_OTHER);
}

void before_frame(Thread* t, Swap* swap, uint32_t kind, uint64_t display, uint64_t handle) {
  if (t_inside && (Swap*)swap >= t_inside && has_left(t_inside, swap)) t_inside = nullptr;
  if (t_inside || (t->special & SPECIAL_BUSY)) return;  // a library shows a frame inside a call that shows one
  t_inside = swap;
  swap->entered = true;
  swap->slot = nullptr;
  swap->holds_late = false;
  uint64_t now = now_ns();
  if (DT_UNLIKELY(needs_attention(now))) attend(t, now, kind);
  if (!g.stats && !g.own_interval_ns) return;
  Slot* slot = swap->slot = find_slot(now, kind, display, handle);
  if (!slot) return;
  if (g.stats && DT_UNLIKELY(now - slot->sized_ns > 2 * SECOND)) look_at_size(t, slot, now, kind, display, handle);
  Rule rule = rule_for(slot, now);
  if (rule.interval_ns | slot->interval_ns) {
    if (rule.pacing == DT_LIVE_EARLY)
      now = hold(slot, now, rule);
    else
      swap->holds_late = true;
  }
  swap->shown_ns = now;
}

void forget_frame(const void* here) {
  if (t_inside && (!here || has_left(t_inside, here))) t_inside = nullptr;
}

bool is_in_frame() { return t_inside != nullptr; }

void after_frame(Thread*, Swap* swap) {
  t_inside = nullptr;
  Slot* slot = swap->slot;
  if (!slot) return;
  uint64_t now = now_ns();
  slot->last_ns = swap->shown_ns;
  if (g.stats) {
    dt_live_surface* page = page_of(slot);
    uint64_t number = page->frames.load(std::memory_order_relaxed);
    page->ring[number % DT_LIVE_RING] =
        dt_live_frame{swap->shown_ns, short_ns(slot->wait_ns), short_ns(now - swap->shown_ns)};
    page->frames.store(number + 1, std::memory_order_release);
    if (t_interval != -1) page->swap_interval.store(t_interval, std::memory_order_relaxed);
    g.stats->frames.store(g.stats->frames.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    g.stats->recording.store(is_recording(), std::memory_order_relaxed);
    g.stats->seen_word.store(g.control->word.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  slot->wait_ns = 0;
  if (swap->holds_late) {
    Rule rule = rule_for(slot, now);
    if ((rule.interval_ns | slot->interval_ns) && rule.pacing == DT_LIVE_LATE) hold(slot, now, rule);
  }
}

// The place of a name, or the first free one; nullptr: there is none.
static dt_live_value* place_of(dt_live_stats* stats, const char* name) {
  for (dt_live_value& v : stats->values)
    if (!v.set_ns.load(std::memory_order_acquire) || !strncmp(v.name, name, sizeof v.name - 1)) return &v;
  return nullptr;
}

void set_value(const char* name, double value) {
  dt_live_stats* stats = __atomic_load_n(&g.stats, __ATOMIC_ACQUIRE);
  if (!stats || !name || !*name) return;
  KeepErrno keep;
  dt_live_value* v = place_of(stats, name);
  if (!v) return;
  // Two threads may bring a new name at once: who has the lock looks again, who has not leaves it to the next time.
  const bool fresh = !v->set_ns.load(std::memory_order_acquire);
  if (fresh && !try_lock()) return;
  if (fresh) v = place_of(stats, name);
  if (v) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    if (fresh) strncpy(v->name, name, sizeof v->name - 1);
    v->value.store(bits, std::memory_order_relaxed);
    v->sets.fetch_add(1, std::memory_order_relaxed);
    v->set_ns.store(now_ns(), std::memory_order_release);
  }
  if (fresh) unlock();
}

void interval_set(int32_t interval) { t_interval = interval; }

}  // namespace live
}  // namespace dt
