/* Preloaded: makes one of the system calls fail that one module makes (or all of the process's requests for memory),
 * ends the process there, or jumps out of it as a signal handler would.
 *
 * FAULT_IN: part of the module's path, "" for the program. FAULT_AT: which call, from 1 on. FAULT_DO: an errno, "kill"
 * or "jump" (SIGUSR1 is raised before the call). FAULT_LOG: a file that gets the number of calls, and the name of that
 * one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void* __libc_malloc(size_t);

static uintptr_t begin, end;
static long at, seen;
static int action;
static const char *met = "-", *log_path;
static long (*real_syscall)(long, ...);
enum { KILL = -1, JUMP = -2 };

static int find(struct dl_phdr_info* info, size_t size, void* wanted) {
  (void)size;
  const char* name = wanted;
  if (*name ? !strstr(info->dlpi_name, name) : info->dlpi_name[0] != 0) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, to = from + info->dlpi_phdr[i].p_memsz;
    if (!begin || from < begin) begin = from;
    if (to > end) end = to;
  }
  return 1;
}

__attribute__((constructor)) static void start(void) {
  const char *module = getenv("FAULT_IN"), *what = getenv("FAULT_DO"), *where = getenv("FAULT_AT");
  real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  log_path = getenv("FAULT_LOG");
  if (!module || !what || !where) return;
  action = !strcmp(what, "kill") ? KILL : !strcmp(what, "jump") ? JUMP : atoi(what);
  dl_iterate_phdr(find, (void*)module);
  at = atol(where);
}

__attribute__((destructor)) static void stop(void) {
  if (!log_path || !end) return;
  char line[64];
  int n = snprintf(line, sizeof line, "%ld %s\n", seen, met);
  int file = (int)real_syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file >= 0 && real_syscall(SYS_write, file, line, n)) real_syscall(SYS_close, file);
}

/* Whether this call is the one that fails. */
static int fails(const char* name, const void* caller) {
  if ((uintptr_t)caller < begin || (uintptr_t)caller >= end) return 0;
  if (__atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED) != at) return 0;
  met = name;
  if (action == KILL) kill(getpid(), SIGKILL);
  if (action == JUMP) return raise(SIGUSR1), 0;
  errno = action;
  return 1;
}
#define FAILS(name) fails(name, __builtin_return_address(0))
#define CALL(type, name, parameters, ...)               \
  type name parameters {                                \
    if (FAILS(#name)) return (type) - 1;                \
    return (type)real_syscall(SYS_##name, __VA_ARGS__); \
  }

void* malloc(size_t size) { return FAILS("malloc") ? NULL : __libc_malloc(size); }
CALL(void*, mmap, (void* a, size_t n, int p, int f, int fd, off_t o), a, n, p, f, fd, o)
CALL(int, ftruncate, (int fd, off_t n), fd, n)
CALL(int, fallocate, (int fd, int mode, off_t o, off_t n), fd, mode, o, n)
CALL(int, memfd_create, (const char* name, unsigned flags), name, flags)
CALL(ssize_t, write, (int fd, const void* data, size_t n), fd, data, n)
CALL(ssize_t, sendmsg, (int fd, const struct msghdr* m, int f), fd, m, f)
CALL(ssize_t, recvmsg, (int fd, struct msghdr* m, int f), fd, m, f)
CALL(int, socket, (int d, int t, int p), d, t, p)
CALL(int, setsockopt, (int fd, int l, int o, const void* v, socklen_t n), fd, l, o, v, n)
CALL(int, getsockopt, (int fd, int l, int o, void* v, socklen_t* n), fd, l, o, v, n)
CALL(int, madvise, (void* a, size_t n, int how), a, n, how)
CALL(int, poll, (struct pollfd * fds, nfds_t n, int ms), fds, n, ms)
CALL(int, fsync, (int fd), fd)
int connect(int fd, const struct sockaddr* to, socklen_t n) {
  return FAILS("connect") ? -1 : (int)real_syscall(SYS_connect, fd, to, n);
}
int accept4(int fd, struct sockaddr* from, socklen_t* n, int f) {
  return FAILS("accept4") ? -1 : (int)real_syscall(SYS_accept4, fd, from, n, f);
}
ssize_t recv(int fd, void* to, size_t n, int f) {
  return FAILS("recv") ? -1 : real_syscall(SYS_recvfrom, fd, to, n, f, NULL, NULL);
}
int fstat(int fd, struct stat* to) { return FAILS("fstat") ? -1 : (int)real_syscall(SYS_fstat, fd, to); }
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;
  va_end(rest);
  return FAILS("open") ? -1 : (int)real_syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int fcntl(int fd, int what, ...) {
  va_list rest;
  va_start(rest, what);
  const long value = va_arg(rest, long);
  va_end(rest);
  return FAILS("fcntl") ? -1 : (int)real_syscall(SYS_fcntl, fd, what, value);
}
long syscall(long number, ...) {
  va_list rest;
  long a[6];
  va_start(rest, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(rest, long);
  va_end(rest);
  return FAILS("syscall") ? -1 : real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
