#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

extern "C" int drawtap_metric(const char* name, double value);
extern "C" int drawtap_mark(const char* text);

namespace drawtap {

namespace {

uint64_t g_frames;
thread_local const void* t_context;

// The contexts that have had a handle before: a driver may give the address of a destroyed one to the next.
struct Born {
  const void* handle;
  uint64_t generation;
};
constexpr uint32_t MOST_CONTEXTS = 1024;
Born g_born[MOST_CONTEXTS];

void lock(uint32_t* at) {
  while (__atomic_exchange_n(at, 1, __ATOMIC_ACQUIRE)) {
    timespec nap = {0, 20000};
    nanosleep(&nap, nullptr);
  }
}
void unlock(uint32_t* at) { __atomic_store_n(at, 0, __ATOMIC_RELEASE); }

uint64_t generation_of(const void* context) {
  for (auto& born : g_born) {
    const void* handle = __atomic_load_n(&born.handle, __ATOMIC_ACQUIRE);
    if (handle == context) return __atomic_load_n(&born.generation, __ATOMIC_RELAXED);
    if (!handle) break;
  }
  return 0;
}

// Opened once, by the first line; -1: there is no such file.
int lines_file() {
  static int file = [] {
    const char* path = setting("DRAWTAP_METRICS", (const char*)nullptr);
    return path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  }();
  return file;
}

void quoted(const char* text, char* out, size_t size) {
  size_t n = 0;
  out[n++] = '"';
  for (; *text && n + 8 < size; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      out[n++] = '\\', out[n++] = (char)c;
    else if (c < 32)
      n += (size_t)snprintf(out + n, size - n, "\\u%04x", c);
    else
      out[n++] = (char)c;
  }
  out[n++] = '"';
  out[n] = 0;
}

void write_line(const char* kind, const char* name, const double* value) {
  int saved = errno;
  int file = lines_file();
  if (file >= 0) {
    char text[600], line[800];
    quoted(name, text, sizeof text);
    int n = snprintf(line, sizeof line, "{\"t\": %llu, \"frame\": %llu, \"thread\": %d, \"%s\": %s",
                     (unsigned long long)now_ns(), (unsigned long long)frame(), (int)gettid(), kind, text);
    if (value) n += snprintf(line + n, sizeof line - (size_t)n, ", \"value\": %.17g", *value);
    n += snprintf(line + n, sizeof line - (size_t)n, "}\n");
    ssize_t ignored = write(file, line, (size_t)n);  // one write: lines of several threads do not mix
    (void)ignored;
  }
  errno = saved;
}

}  // namespace

uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t frame() { return __atomic_load_n(&g_frames, __ATOMIC_RELAXED); }

void sleep_until(uint64_t at_ns) {
  timespec at = {(time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {}
}

void metric(const char* name, double value) {
  if (!drawtap_metric(name, value)) write_line("metric", name, &value);
}

void mark(const char* text) {
  if (!drawtap_mark(text)) write_line("mark", text, nullptr);
}

const char* setting(const char* name, const char* otherwise) {
  const char* value = secure_getenv(name);
  return value && *value ? value : otherwise;
}

double setting(const char* name, double otherwise) {
  const char* text = setting(name, (const char*)nullptr);
  if (!text) return otherwise;
  char* end;
  double value = strtod(text, &end);
  return *end ? otherwise : value;
}

namespace detail {

const void* context() { return t_context; }

void* find_or_make(Slots* slots, void* (*make)()) {
  const void* handle = t_context;
  uint64_t generation = generation_of(handle);
  for (Slot* slot = __atomic_load_n(&slots->first, __ATOMIC_ACQUIRE); slot; slot = slot->next)
    if (slot->context == handle && slot->generation == generation) return slot->value;
  lock(&slots->lock);
  Slot* slot = slots->first;
  while (slot && !(slot->context == handle && slot->generation == generation)) slot = slot->next;
  if (!slot) {
    slot = new Slot{handle, generation, make(), slots->first};
    __atomic_store_n(&slots->first, slot, __ATOMIC_RELEASE);
  }
  unlock(&slots->lock);
  return slot->value;
}

void entered_frame_end() { __atomic_fetch_add(&g_frames, 1, __ATOMIC_RELAXED); }

void made_current(const void* context) { t_context = context; }

void context_made(const void* context) {
  static uint32_t busy;
  if (!context) return;
  lock(&busy);
  for (auto& born : g_born) {
    if (born.handle && born.handle != context) continue;
    __atomic_fetch_add(&born.generation, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&born.handle, context, __ATOMIC_RELEASE);
    break;
  }
  unlock(&busy);
}

static thread_local uint64_t t_calls;
uint64_t call() { return t_calls - 1; }
void count_call() { t_calls++; }

int thread() {
  static thread_local int id = (int)gettid();
  return id;
}

namespace {
std::string enumerant(const Group& group, uint32_t value) {
  char text[16];
  if (group.bitmask) {
    std::string all;
    uint32_t rest = value;
    for (uint32_t i = 0; i < group.count; i++) {
      uint32_t bit = group.values[i].value;
      if (!bit || (bit & (bit - 1)) || !(rest & bit)) continue;
      all += (all.empty() ? "" : " | ") + std::string(group.values[i].name);
      rest &= ~bit;
    }
    if (!rest && !all.empty()) return all;
    snprintf(text, sizeof text, "0x%x", rest);
    return all.empty() ? text : all + " | " + text;
  }
  uint32_t low = 0, high = group.count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (group.values[middle].value < value)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < group.count && group.values[low].value == value && group.values[low].name) return group.values[low].name;
  snprintf(text, sizeof text, "0x%04x", value);
  return text;
}

}  // namespace

std::string arguments(const Argument* table, const uint64_t* values, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; i++) {
    char text[40];
    double real;
    memcpy(&real, &values[i], 8);
    switch (table[i].kind) {
      case SIGNED: snprintf(text, sizeof text, "%lld", (long long)values[i]); break;
      case UNSIGNED: snprintf(text, sizeof text, "%llu", (unsigned long long)values[i]); break;
      case FLOAT: snprintf(text, sizeof text, "%.9g", real); break;
      case POINTER: snprintf(text, sizeof text, values[i] ? "0x%llx" : "NULL", (unsigned long long)values[i]); break;
      case ENUMERANT: text[0] = 0; break;
    }
    all += (i ? ", " : "") + std::string(table[i].name) + " = " +
           (table[i].kind == ENUMERANT ? enumerant(*table[i].group, (uint32_t)values[i]) : text);
  }
  return all;
}

}  // namespace detail
}  // namespace drawtap
