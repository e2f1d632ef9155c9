// USDT probes for modules: DRAWTAP_PROBE(name, value, ...) is a probe of the provider drawtap with up to six values,
// for bpftrace, perf and bcc. A probe that nobody listens to is one test of its semaphore. Needs no package: notes are
// laid out as systemtap's sdt.h does (.note.stapsdt, version 3), around a one-byte nop; some kernels patch longer ones
// in a way that writes below the stack pointer.
//
// DRAWTAP_VALUE(name, number) is such a probe and more: a drawtap manager sees the number, and a recording has it. It
// is for programs as well as for modules, in C and C++. A program that is not under drawtap pays for one look at a
// pointer. Before the first frame, a manager sees nothing. Where dlsym is in a library of its own, link with -ldl.
#ifndef DRAWTAP_PROBE_H
#define DRAWTAP_PROBE_H
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#ifdef __cplusplus
#include <type_traits>
#endif

#ifndef RTLD_DEFAULT  // a C library may show it to GNU C alone
#define RTLD_DEFAULT ((void*)0)
#endif

#define DT_PROBE_BASE                                                     \
  ".ifndef _.stapsdt.base\n"                                              \
  ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
  ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"                        \
  "_.stapsdt.base: .space 1\n.size _.stapsdt.base,1\n"                    \
  ".popsection\n.endif\n"
#define DT_PROBE_NOTE(name, arguments)                                            \
  "990: nop\n"                                                                    \
  ".pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n"                        \
  ".4byte 992f-991f, 994f-993f, 3\n"                                              \
  "991: .asciz \"stapsdt\"\n992: .balign 4\n"                                     \
  "993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte drawtap_" #name "_semaphore\n" \
  ".asciz \"drawtap\"\n.asciz \"" #name "\"\n.asciz \"" arguments "\"\n"          \
  "994: .balign 4\n.popsection\n" DT_PROBE_BASE
#define DT_SEMAPHORE(name)                                                  \
  extern "C" {                                                              \
  __attribute__((section(".probes"), visibility("hidden"), used,            \
                 weak)) volatile unsigned short drawtap_##name##_semaphore; \
  }

// The semaphore of a probe inside of a function, which cannot define a variable that the linker sees.
#define DT_PROBE_SEMAPHORE(name)                                                        \
  ".ifndef drawtap_" #name "_semaphore\n.pushsection .probes,\"aw\",\"progbits\"\n"     \
  ".balign 2\n.weak drawtap_" #name "_semaphore\n.hidden drawtap_" #name "_semaphore\n" \
  "drawtap_" #name "_semaphore: .2byte 0\n.popsection\n.endif\n"

#ifdef __cplusplus
namespace drawtap::detail {
inline int64_t probed(float value) {
  uint32_t raw;
  memcpy(&raw, &value, 4);
  return raw;
}
inline int64_t probed(double value) {
  int64_t raw;
  memcpy(&raw, &value, 8);
  return raw;
}
inline int64_t probed(const volatile void* value) { return reinterpret_cast<int64_t>(value); }
template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>)
inline int64_t probed(T value) {
  return static_cast<int64_t>(value);
}
}  // namespace drawtap::detail
#define DT_PROBED(n, value) [a##n] "nor"(drawtap::detail::probed(value))
#else
#define DT_PROBED(n, value) [a##n] "nor"((int64_t)(value))
#endif

#define DT_PROBE_0(name) DT_PROBE_NOTE(name, "")::
#define DT_PROBE_1(name, a) DT_PROBE_NOTE(name, "-8@%[a0]")::DT_PROBED(0, a)
#define DT_PROBE_2(name, a, b) DT_PROBE_NOTE(name, "-8@%[a0] -8@%[a1]")::DT_PROBED(0, a), DT_PROBED(1, b)
#define DT_PROBE_3(name, a, b, c) \
  DT_PROBE_NOTE(name, "-8@%[a0] -8@%[a1] -8@%[a2]")::DT_PROBED(0, a), DT_PROBED(1, b), DT_PROBED(2, c)
#define DT_PROBE_4(name, a, b, c, d)                                                                             \
  DT_PROBE_NOTE(name, "-8@%[a0] -8@%[a1] -8@%[a2] -8@%[a3]")::DT_PROBED(0, a), DT_PROBED(1, b), DT_PROBED(2, c), \
      DT_PROBED(3, d)
#define DT_PROBE_5(name, a, b, c, d, e)                                                                  \
  DT_PROBE_NOTE(name, "-8@%[a0] -8@%[a1] -8@%[a2] -8@%[a3] -8@%[a4]")::DT_PROBED(0, a), DT_PROBED(1, b), \
      DT_PROBED(2, c), DT_PROBED(3, d), DT_PROBED(4, e)
#define DT_PROBE_6(name, a, b, c, d, e, f)                                                                        \
  DT_PROBE_NOTE(name, "-8@%[a0] -8@%[a1] -8@%[a2] -8@%[a3] -8@%[a4] -8@%[a5]")::DT_PROBED(0, a), DT_PROBED(1, b), \
      DT_PROBED(2, c), DT_PROBED(3, d), DT_PROBED(4, e), DT_PROBED(5, f)
#define DT_PROBE_CHOSEN(_1, _2, _3, _4, _5, _6, n, ...) DT_PROBE_##n
#define DT_PROBE_COUNTED(...) DT_PROBE_CHOSEN(__VA_ARGS__ __VA_OPT__(, ) 6, 5, 4, 3, 2, 1, 0, 0)

// Somebody listens if this is true, read in assembly: C++ cannot name, inside of a function, a variable of assembly.
#ifdef __x86_64__
#define DT_PROBE_LISTENS(name, to) \
  __asm__ volatile(DT_PROBE_SEMAPHORE(name) "movw drawtap_" #name "_semaphore(%%rip), %0" : "=r"(to))
#else
#define DT_PROBE_LISTENS(name, to) __asm__ volatile(DT_PROBE_SEMAPHORE(name)), to = 1
#endif

#define DRAWTAP_PROBE(name, ...)                                                        \
  do {                                                                                  \
    uint16_t dt_listens;                                                                \
    DT_PROBE_LISTENS(name, dt_listens);                                                 \
    if (__builtin_expect(dt_listens, 0))                                                \
      __asm__ volatile(DT_PROBE_COUNTED(__VA_ARGS__)(name __VA_OPT__(, ) __VA_ARGS__)); \
  } while (0)

// The taker of numbers in this process: the tap, where there is one.
static inline void drawtap_give(const char* name, double value) {
  static int (*take)(const char*, double);
  static char looked;
  if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
    void* function = dlsym(RTLD_DEFAULT, "drawtap_metric");
    memcpy(&take, &function, sizeof take);
    __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
  }
  if (take) take(name, value);
}
#define DRAWTAP_VALUE(name, number)                                                             \
  do {                                                                                          \
    const double dt_value = (double)(number);                                                   \
    uint16_t dt_listens;                                                                        \
    DT_PROBE_LISTENS(name, dt_listens);                                                         \
    if (__builtin_expect(dt_listens, 0)) __asm__ volatile(DT_PROBE_1(name, (int64_t)dt_value)); \
    drawtap_give(#name, dt_value);                                                              \
  } while (0)
#endif
