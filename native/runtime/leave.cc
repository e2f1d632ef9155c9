// Calls that the program leaves without returning from them: a call-back that the driver called throws an exception or
// jumps out with longjmp, a signal handler jumps out with siglongjmp. The thread must not count as inside of that call
// for ever.
//
// Unwinding tells by a personality in each wrapper's frame, longjmp by standing in front of it: both are exact, and
// cost calls nothing. Other ways out (setcontext, jumps of the compiler's or the program's own) are found at the
// thread's next call, from its place on the stack.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "live.h"
#include "objects.h"

namespace dt {

namespace {

void set_signals(int how, uint64_t wanted, uint64_t* before) {
  const int saved = errno;
  syscall(SYS_rt_sigprocmask, how, &wanted, before, sizeof wanted);
  errno = saved;
}

void hold_signals(uint64_t* before) {
  // Faults cannot wait: they would kill the program.
  uint64_t all = ~0ull;
  for (int fault : Each<int>{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS}) all &= ~(1ull << (fault - 1));
  set_signals(SIG_BLOCK, all, before);
}

}  // namespace

HeldSignals::HeldSignals() { hold_signals(&before); }
HeldSignals::~HeldSignals() { set_signals(SIG_SETMASK, before, nullptr); }

void HeldSignals::nap(void* word, uint32_t seen, uint64_t ns) const {
  const timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
  set_signals(SIG_SETMASK, before, nullptr);
  syscall(SYS_futex, word, FUTEX_WAIT, seen, &time, nullptr, 0);
  hold_signals(nullptr);
}

namespace {

bool lies_in(const stack_t& stack, const void* at) { return (uintptr_t)at - (uintptr_t)stack.ss_sp < stack.ss_size; }

// The next number of a text in base 16, and behind the character that ends it.
uintptr_t take_hex(const char*& at) {
  uintptr_t value = 0;
  for (;; at++) {
    const char c = *at;
    if (c >= '0' && c <= '9')
      value = value << 4 | (uintptr_t)(c - '0');
    else if (c >= 'a' && c <= 'f')
      value = value << 4 | (uintptr_t)(c - 'a' + 10);
    else
      break;
  }
  if (*at) at++;
  return value;
}

// Both are on the stack that this thread was started with, not on one that the program switches to. A thread's control
// block is at the end of its stack, but for the first thread's. No C library function: a signal handler may ask.
bool is_own_stack(const void* a, const void* b) {
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const uintptr_t block = (uintptr_t)__builtin_thread_pointer(),
                  low = (uintptr_t)a < (uintptr_t)b ? (uintptr_t)a : (uintptr_t)b,
                  high = (uintptr_t)a ^ (uintptr_t)b ^ low;
  char text[1024], line[256];
  size_t length = 0;
  bool own = false, there = false;
  for (ssize_t n; !there && (n = read(file, text, sizeof text)) > 0;) {
    for (ssize_t i = 0; i < n && !there; i++) {
      if (text[i] != '\n') {
        if (length + 1 < sizeof line) line[length++] = text[i];
        continue;
      }
      line[length] = 0;
      length = 0;
      const char* at = line;
      const uintptr_t from = take_hex(at), to = take_hex(at);
      if (low < from || low >= to) continue;
      there = true;
      own = high < to && ((block >= from && block < to && high < block) || strstr(line, "[stack]"));
    }
  }
  close(file);
  return own;
}

#if defined(__x86_64__)
// Where on the stack a jump goes on. The C library keeps it disguised.
void* stack_of(const void* environment) {
  uint64_t disguised, guard;
  memcpy(&disguised, (const char*)environment + 6 * 8, 8);
  __asm__("movq %%fs:0x30, %0" : "=r"(guard));
  return (void*)((disguised >> 17 | disguised << 47) ^ guard);
}
#endif

}  // namespace

bool has_left(const void* frame, const void* here) {
  if (!frame) return false;
  const int saved = errno;
  stack_t other;
  bool left = false, known = false;
  if (sigaltstack(nullptr, &other) == 0 && !(other.ss_flags & SS_DISABLE)) {
    const bool was = lies_in(other, frame), is = lies_in(other, here);
    known = was || is;
    left = was && (!is || here >= frame);  // a handler runs on top of what it interrupted
  }
  if (!known) left = here >= frame && is_own_stack(frame, here);
  errno = saved;
  return left;
}

}  // namespace dt

// The unwinder's question about each frame of a wrapper: nothing is caught here. Codes of the unwinder's interface.
DT_INNER __attribute__((used)) int dt_personality(int, int actions, uint64_t, void*, void*) {
  constexpr int CLEANUP_PHASE = 2, CONTINUE_UNWIND = 8;
  dt::Thread* const t = &dt::tls;
  if (actions & CLEANUP_PHASE) {
    dt::live::forget_frame(nullptr);
    if (t->special & (dt::SPECIAL_BUSY | dt::SPECIAL_USER)) dt::abandon_call(t);
  }
  return CONTINUE_UNWIND;
}

#if defined(__x86_64__)
namespace {

using Jump = void (*)(void*, int);

void prepare_jump(const void* environment) {
  dt::Thread* const t = &dt::tls;
  t->special &= ~(uint32_t)dt::SPECIAL_VARIANT;  // of a call that is not made any more
  const bool busy = t->special & (dt::SPECIAL_BUSY | dt::SPECIAL_USER);
  if (DT_LIKELY(!busy && !dt::live::is_in_frame())) return;
  const void* const here = dt::stack_of(environment);
  dt::live::forget_frame(here);
  // A call that has just begun has no frame yet: a signal handler jumps, and most likely out of itself.
  if (busy && (!t->frame || dt::has_left(t->frame, here))) dt::abandon_call(t);
}

// The function that the program would jump with if the tap were not there.
Jump next_jump(const char* name) {
  const dt::Startup& all = dt::startup();
  const uint32_t hash = dt::gnu_hash(name);
  for (unsigned i = all.first_after_tap; i < all.count; i++)
    if (void* const function = dt::find_symbol(all.objects[i], name, hash)) return (Jump)function;
  return (Jump)dt::c_library_function(name);
}

}  // namespace

#define DT_JUMP(name)                                                                           \
  DT_EXPORT __attribute__((noreturn)) void name(struct __jmp_buf_tag* environment, int value) { \
    static Jump next;                                                                           \
    Jump onward = __atomic_load_n(&next, __ATOMIC_RELAXED);                                     \
    if (!onward) __atomic_store_n(&next, onward = next_jump(#name), __ATOMIC_RELAXED);          \
    prepare_jump(environment);                                                                  \
    onward(environment, value);                                                                 \
    __builtin_unreachable();                                                                    \
  }
#undef longjmp
#undef siglongjmp
#undef _longjmp
DT_EXPORT __attribute__((noreturn)) void __longjmp_chk(struct __jmp_buf_tag* environment, int value);
DT_JUMP(longjmp)
DT_JUMP(_longjmp)
DT_JUMP(siglongjmp)
DT_JUMP(__longjmp_chk)
#endif
