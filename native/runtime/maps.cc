// Mapped buffers: what the application stores through a mapping, found before the GPU can read it.
//
// Ordinary mappings are recorded at unmap or flush. Persistent ones are looked at before every call that lets the
// GPU read, in one of two ways, both exact:
//   compare  with a copy, in parts of a page (small mappings, and wherever the other way does not exist);
//   watch    the kernel notes which pages were written since the last look (asynchronous write protection of
//            userfaultfd with PAGEMAP_SCAN, Linux 6.7): no signal handler, no thread, and a system call that writes
//            into the mapping, such as read(), works as without us - which page protection by mprotect would break.
//            Protecting a page costs a fault, and makes every processor forget its addresses. So pages that are written
//            again and again stay unprotected and are compared.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gl_state.h"
#include "losses.h"
#include "gl_enums.h"
#include "mapped.h"

namespace dt {
namespace hook {
uint32_t g_maps_alive;
uint64_t g_watch_bytes = 64 * 1024;
}  // namespace hook

namespace gl {

namespace {

constexpr uint64_t PAGE = 4096;
constexpr uint64_t GAP = 64;                     // changed parts closer than this are one
constexpr uint64_t LARGEST_COPY = 256ull << 20;  // larger ordinary mappings are recorded whole
constexpr uint64_t MOST_SHADOW = 64ull << 20;    // of all mappings that are watched
constexpr int HIGH_FD = 700;                     // out of the way of the application's numbers

// A page of a mapping that is watched.
struct Page {
  bool known;       // recorded before, and the shadow has what was
  uint8_t written;  // how many looks, one soon after the other, found it written
  uint8_t still;    // how many comparisons in a row found nothing
  uint8_t last;     // the last look that found it written
};
constexpr uint8_t OFTEN = 3, SOON = 2, STILL = 8;

struct Map {
  Map* next;
  uint32_t share_group, buffer, target, access;
  uint8_t* at;
  uint64_t offset, bytes;
  uint64_t memory;  // Vulkan's; 0: a buffer of OpenGL
  Stored stored;    // records what changed in Vulkan's
  uint8_t* copy;    // what the mapping held when last looked at, or nullptr
  bool watched;     // its pages are watched by the kernel
  uint8_t* shadow;  // of one that is watched: what was recorded of the pages that are `known`, or nullptr
  Page* pages;      // there with the shadow
  uint8_t looks;
  Ignored ignored;  // which parts of Vulkan's need no look
  bool all;         // record everything at the next look
};

uint32_t g_maps_lock;
Map* g_maps;
uint32_t g_map_count;
uint64_t g_shadow_left = MOST_SHADOW;

// ---- the kernel's watch -------------------------------------------------------------------------
// Structures of linux/userfaultfd.h and linux/fs.h, here because older headers lack half of them.

struct UffdApi {
  uint64_t api, features, ioctls;
};
struct UffdRange {
  uint64_t start, length;
};
struct UffdRegister {
  UffdRange range;
  uint64_t mode, ioctls;
};
struct UffdProtect {
  UffdRange range;
  uint64_t mode;
};
struct PageRegion {
  uint64_t start, end, categories;
};
struct ScanArguments {
  uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask,
      category_anyof_mask, return_mask;
};
constexpr unsigned long UFFDIO_API_ = _IOWR(0xAA, 0x3F, UffdApi);
constexpr unsigned long UFFDIO_REGISTER_ = _IOWR(0xAA, 0x00, UffdRegister);
constexpr unsigned long UFFDIO_UNREGISTER_ = _IOR(0xAA, 0x01, UffdRange);
constexpr unsigned long UFFDIO_WRITEPROTECT_ = _IOWR(0xAA, 0x06, UffdProtect);
constexpr unsigned long PAGEMAP_SCAN_ = _IOWR('f', 16, ScanArguments);
constexpr uint64_t FEATURE_WP = 1ull << 0, FEATURE_WP_SHMEM = 1ull << 12, FEATURE_WP_UNPOPULATED = 1ull << 13,
                   FEATURE_WP_ASYNC = 1ull << 15;
constexpr uint64_t REGISTER_WP = 1ull << 1, PROTECT_WP = 1ull << 0;
constexpr uint64_t SCAN_PROTECT_AGAIN = 1, SCAN_CHECK = 2, PAGE_WRITTEN = 1ull << 1;

int g_watch_fd = -1, g_pagemap_fd = -1;
pid_t g_watch_pid;
bool g_watch_failed;

int move_high(int fd) {
  if (fd < 0) return fd;
  int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
  if (high < 0) return fd;
  close(fd);
  return high;
}

void close_watch() {
  if (g_watch_fd >= 0) close(g_watch_fd);
  if (g_pagemap_fd >= 0) close(g_pagemap_fd);
  g_watch_fd = g_pagemap_fd = -1;
}

bool open_watch() {
  pid_t pid = getpid();
  if (g_watch_pid == pid) return !g_watch_failed;
  // First use, or the child of a fork: descriptors from before belong to the parent's memory.
  close_watch();
  g_watch_pid = pid;
  g_watch_failed = true;
#ifdef SYS_userfaultfd
  constexpr int USER_MODE_ONLY = 1;  // enough, and allowed without privilege: asynchronous faults never reach us
  g_watch_fd = move_high((int)syscall(SYS_userfaultfd, O_CLOEXEC | USER_MODE_ONLY));
  g_pagemap_fd = move_high(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  UffdApi api{0xAA, FEATURE_WP | FEATURE_WP_SHMEM | FEATURE_WP_UNPOPULATED | FEATURE_WP_ASYNC, 0};
  if (g_watch_fd < 0 || g_pagemap_fd < 0 || ioctl(g_watch_fd, UFFDIO_API_, &api) != 0)
    close_watch();
  else
    g_watch_failed = false;
#endif
  return !g_watch_failed;
}

bool is_watching() { return g_watch_fd >= 0 && g_watch_pid == getpid(); }

UffdRange page_range(const Map* m) {
  uint64_t begin = (uint64_t)(uintptr_t)m->at & ~(PAGE - 1);
  uint64_t end = ((uint64_t)(uintptr_t)m->at + m->bytes + PAGE - 1) & ~(PAGE - 1);
  return UffdRange{begin, end - begin};
}

bool overlaps_watched(const Map* m) {
  UffdRange r = page_range(m);
  for (const Map* o = g_maps; o; o = o->next) {
    if (o == m || !o->watched) continue;
    UffdRange q = page_range(o);
    if (r.start < q.start + q.length && q.start < r.start + r.length) return true;
  }
  return false;
}

bool watch(Map* m) {
  // Two mappings that share a page would take each other's news.
  if (overlaps_watched(m) || !open_watch()) return false;
  UffdRegister reg{page_range(m), REGISTER_WP, 0};
  if (ioctl(g_watch_fd, UFFDIO_REGISTER_, &reg) != 0) return false;
  UffdProtect protect{page_range(m), PROTECT_WP};
  if (ioctl(g_watch_fd, UFFDIO_WRITEPROTECT_, &protect) == 0) return m->watched = true;
  UffdRange range = page_range(m);
  ioctl(g_watch_fd, UFFDIO_UNREGISTER_, &range);
  return false;
}

void drop_shadow(Map* m) {
  if (m->shadow) g_shadow_left += m->bytes;
  free(m->shadow);
  free(m->pages);
  m->shadow = nullptr, m->pages = nullptr;
}

void unwatch(Map* m) {
  drop_shadow(m);
  if (!m->watched) return;
  m->watched = false;
  if (!is_watching()) return;
  UffdRange range = page_range(m);
  ioctl(g_watch_fd, UFFDIO_UNREGISTER_, &range);
}

void make_copy(Map* m) {
  m->copy = (uint8_t*)malloc(m->bytes);
  if (m->copy) memcpy(m->copy, m->at, m->bytes);
}

// ---- recording ----------------------------------------------------------------------------------

struct Emit {
  Thread* t;
  Map* map;
};

void emit_part(Thread* t, const Map* m, const uint8_t* from, uint64_t offset, uint64_t bytes) {
  if (!bytes) return;
  if (m->memory)
    m->stored(t, m->memory, m->offset + offset, from + offset, bytes, true);
  else
    emit_map_write(t, m->target, m->buffer, m->offset + offset, from + offset, bytes);
}

// From memory that other threads may be writing: what is hashed and what is stored must be the same bytes.
void emit_living(Thread* t, const Map* m, uint64_t offset, uint64_t bytes) {
  if (!bytes) return;
  if (m->memory) return m->stored(t, m->memory, m->offset + offset, m->at + offset, bytes, false);
  uint8_t* still = (uint8_t*)malloc(bytes);
  if (still) memcpy(still, m->at + offset, bytes);
  emit_part(t, m, still ? still - offset : m->at, offset, bytes);
  free(still);
}

void emit_changed(void* user, uint64_t offset, uint64_t bytes) {
  Emit* e = (Emit*)user;
  // From the copy, so that what is recorded and what is compared with next time are the same bytes.
  memcpy(e->map->copy + offset, e->map->at + offset, bytes);
  emit_part(e->t, e->map, e->map->copy, offset, bytes);
}

void emit_all(Thread* t, Map* m) {
  m->all = false;
  if (!m->copy) return emit_living(t, m, 0, m->bytes);
  memcpy(m->copy, m->at, m->bytes);
  emit_part(t, m, m->copy, 0, m->bytes);
}

void look_by_copy(Thread* t, Map* m) {
  if (m->all || !m->copy) return emit_all(t, m);
  Emit e{t, m};
  changed_parts(m->copy, m->at, m->bytes, emit_changed, &e);
}

bool has_shadow(Map* m) {
  if (m->shadow || m->bytes > g_shadow_left) return m->shadow;
  m->shadow = (uint8_t*)malloc(m->bytes);  // pages that nobody touches cost nothing
  m->pages = (Page*)calloc(page_range(m).length / PAGE, sizeof(Page));
  if (m->shadow && m->pages) {
    g_shadow_left -= m->bytes;
    return true;
  }
  free(m->shadow);
  free(m->pages);
  m->shadow = nullptr, m->pages = nullptr;
  return false;
}

Page* page_of(const Map* m, uint64_t at) {
  return &m->pages[((uint64_t)(uintptr_t)m->at + at - page_range(m).start) / PAGE];
}
uint64_t end_of_page(const Map* m, uint64_t at) {
  const uint64_t base = (uint64_t)(uintptr_t)m->at, end = ((base + at) & ~(PAGE - 1)) + PAGE - base;
  return end < m->bytes ? end : m->bytes;
}

// Parts of a page that was recorded before differ from then in few bytes, as uniforms among others do. Returns whether
// some do.
bool emit_difference(Thread* t, Map* m, uint64_t begin, uint64_t end) {
  struct Place {
    Thread* t;
    Map* map;
    uint64_t begin;
    bool any;
  } place = {t, m, begin, false};
  changed_parts(
      m->shadow + begin, m->at + begin, end - begin,
      [](void* user, uint64_t offset, uint64_t length) {
        Place* p = (Place*)user;
        const uint64_t from = p->begin + offset;
        p->any = true;
        memcpy(p->map->shadow + from, p->map->at + from, length);
        emit_part(p->t, p->map, p->map->shadow, from, length);
      },
      &place);
  return place.any;
}

// Pages that were written to and are protected again, from `begin` to `end` in the mapping.
void emit_written(Thread* t, Map* m, uint64_t begin, uint64_t end) {
  if (!has_shadow(m)) return emit_living(t, m, begin, end - begin);
  uint64_t fresh = begin;  // from here on pages were not recorded before
  for (uint64_t at = begin; at < end;) {
    const uint64_t next = end_of_page(m, at);
    Page* const page = page_of(m, at);
    const bool soon = (uint8_t)(m->looks - page->last) <= SOON;
    page->written = !soon ? 1 : page->written < OFTEN ? page->written + 1 : OFTEN;
    page->last = m->looks, page->still = 0;
    if (page->known) {
      emit_part(t, m, m->shadow, fresh, at - fresh);
      emit_difference(t, m, at, next);
      fresh = next;
    } else {
      memcpy(m->shadow + at, m->at + at, next - at);
      page->known = true;
    }
    at = next;
  }
  emit_part(t, m, m->shadow, fresh, end - fresh);
}

// A page that is written often and therefore not protected. Where it stays as it is, it is protected at the next look.
void compare_page(Thread* t, Map* m, uint64_t begin, uint64_t end) {
  Page* const page = page_of(m, begin);
  page->last = m->looks;
  if (emit_difference(t, m, begin, end))
    page->still = 0;
  else if (++page->still >= STILL)
    page->written = 0;
}

enum class Treat : uint8_t { PROTECT, COMPARE, IGNORE };

// What becomes of the page at `at`, which was written. `part`: the end of the part of the memory that it lies in.
Treat treat(const Map* m, uint64_t at, uint64_t* part, bool* unused) {
  if (m->ignored && at >= *part) {
    *unused = m->ignored(m->memory, m->offset + at, m->offset + m->bytes, part);
    *part -= m->offset;
  }
  if (m->ignored && *unused && *part >= end_of_page(m, at)) return Treat::IGNORE;
  return m->pages && page_of(m, at)->known && page_of(m, at)->written >= OFTEN ? Treat::COMPARE : Treat::PROTECT;
}

// The kernel notes what is written from now on. `regions`: where it puts which pages were written, nullptr: these are
// protected again. Returns how many regions, -1: the kernel does not watch this memory.
int scan(uint64_t from, uint64_t end, PageRegion* regions, uint64_t most, uint64_t* until) {
  PageRegion none;
  ScanArguments scan{};
  scan.size = sizeof scan;
  scan.flags = SCAN_CHECK | (regions ? 0 : SCAN_PROTECT_AGAIN);
  scan.start = from;
  scan.end = end;
  scan.vec = (uint64_t)(uintptr_t)(regions ? regions : &none);
  scan.vec_len = regions ? most : 1;
  scan.category_mask = scan.return_mask = PAGE_WRITTEN;
  const int found = ioctl(g_pagemap_fd, PAGEMAP_SCAN_, &scan);
  *until = scan.walk_end;
  return found;
}

bool protect_again(const Map* m, uint64_t begin, uint64_t end) {
  const uint64_t base = (uint64_t)(uintptr_t)m->at, stop = (base + end + PAGE - 1) & ~(PAGE - 1);
  for (uint64_t from = (base + begin) & ~(PAGE - 1), until; from < stop; from = until)
    if (scan(from, stop, nullptr, 1, &until) < 0 || until <= from) return false;
  return true;
}

// Pages that were written, from `begin` to `end` in the mapping.
bool look_at_pages(Thread* t, Map* m, uint64_t begin, uint64_t end) {
  uint64_t part = 0;
  bool unused = false;
  for (uint64_t at = begin; at < end;) {
    const Treat how = treat(m, at, &part, &unused);
    uint64_t next = end_of_page(m, at);
    if (how == Treat::PROTECT) {
      while (next < end && treat(m, next, &part, &unused) == how) next = end_of_page(m, next);
      if (!protect_again(m, at, next)) return false;
      emit_written(t, m, at, next);
    } else if (how == Treat::COMPARE) {
      compare_page(t, m, at, next);
    } else if (m->pages) {
      page_of(m, at)->known = false;  // the shadow is no longer what lies there
    }
    at = next;
  }
  return true;
}

// Pages written since the last look, from `first` to `last` in the buffer or memory. False: the kernel no longer
// watches it.
bool look_by_watch(Thread* t, Map* m, uint64_t first, uint64_t last) {
  if (!is_watching()) return false;
  first = first > m->offset ? first - m->offset : 0;
  last = last > m->offset ? last - m->offset : 0;
  if (last > m->bytes) last = m->bytes;
  if (first >= last) return true;
  const uint64_t base = (uint64_t)(uintptr_t)m->at, end = (base + last + PAGE - 1) & ~(PAGE - 1);
  uint64_t begin_run = 0, end_run = 0;  // of bytes in the mapping, not looked at yet
  m->looks++;
  for (uint64_t from = (base + first) & ~(PAGE - 1), until; from < end; from = until) {
    PageRegion regions[64];
    const int found = scan(from, end, regions, 64, &until);
    if (found < 0) return false;
    for (int i = 0; i < found; i++) {
      const uint64_t b = regions[i].start > base ? regions[i].start - base : 0;
      const uint64_t e = regions[i].end - base < m->bytes ? regions[i].end - base : m->bytes;
      if (regions[i].end <= base || b >= e) continue;
      if (b > end_run || !end_run) {
        if (!look_at_pages(t, m, begin_run, end_run)) return false;
        begin_run = b;
      }
      end_run = e;
    }
    if (until <= from) break;
  }
  return look_at_pages(t, m, begin_run, end_run);
}

void look(Thread* t, Map* m, uint64_t from = 0, uint64_t end = ~0ull) {
  if (m->watched) {
    if (!m->all && look_by_watch(t, m, from, end)) return;
    if (m->all) {
      // Everything is recorded now, so what was noted until here is void.
      UffdProtect protect{page_range(m), PROTECT_WP};
      drop_shadow(m);
      if (is_watching() && ioctl(g_watch_fd, UFFDIO_WRITEPROTECT_, &protect) == 0) return emit_all(t, m);
    }
    unwatch(m);
    make_copy(m);
    m->all = true;
  }
  look_by_copy(t, m);
}

// ---- the list of mappings -----------------------------------------------------------------------

bool looked_at(const Map* m) {
  return (m->access & GL_MAP_PERSISTENT_BIT) && (m->access & GL_MAP_WRITE_BIT) &&
         !(m->access & GL_MAP_FLUSH_EXPLICIT_BIT);
}

// With the lock held.
Map** find_map(uint32_t share_group, uint32_t buffer) {
  for (Map** at = &g_maps; *at; at = &(*at)->next)
    if ((*at)->buffer == buffer && (*at)->share_group == share_group) return at;
  return nullptr;
}

void remove_map(Map** at) {
  Map* m = *at;
  *at = m->next;
  if (looked_at(m)) __atomic_fetch_sub(&hook::g_maps_alive, 1u, __ATOMIC_RELAXED);
  __atomic_fetch_sub(&g_map_count, 1u, __ATOMIC_RELAXED);
  unwatch(m);
  free(m->copy);
  free(m);
}

// Recording begins again: what was mapped before may have been unmapped meanwhile, unseen.
}  // namespace
void forget_maps() {
  lock(&g_maps_lock);
  while (g_maps) remove_map(&g_maps);
  unlock(&g_maps_lock);
}
namespace {

// Storage that a program made without data: nobody knows what it holds. A comparison would miss what the program stores
// where the same bytes happen to lie, as zeros often do.
struct Undefined {
  uint32_t share_group, buffer;  // buffer 0: none
  int64_t bytes;
};
constexpr unsigned MOST_UNDEFINED = 1024;
Undefined g_undefined[MOST_UNDEFINED];  // by buffer; a newer one takes the place

void storage_is_undefined(Thread* t, uint32_t buffer, int64_t bytes) {
  if (!t->context || !buffer || bytes <= 0) return;
  lock(&g_maps_lock);
  g_undefined[buffer % MOST_UNDEFINED] = {t->context->share_group, buffer, bytes};
  unlock(&g_maps_lock);
}

// With the lock held. A mapping of the whole buffer defines all of it.
bool is_undefined(const Map& m) {
  Undefined& u = g_undefined[m.buffer % MOST_UNDEFINED];
  if (u.buffer != m.buffer || u.share_group != m.share_group) return false;
  if (!m.offset && (int64_t)m.bytes >= u.bytes) u = {};
  return true;
}

void mapped(Thread* t, uint32_t target, uint32_t buffer, int64_t offset, int64_t bytes, uint32_t access, void* at) {
  GlContext* c = t->context;
  if (!c || !at || !buffer || bytes <= 0 || offset < 0 || !(access & GL_MAP_WRITE_BIT)) return;
  int saved = errno;
  Map* m = (Map*)calloc(1, sizeof *m);
  if (m) {
    m->share_group = c->share_group;
    m->buffer = buffer;
    m->target = target;
    m->access = access;
    m->at = (uint8_t*)at;
    m->offset = (uint64_t)offset;
    m->bytes = (uint64_t)bytes;
    lock(&g_maps_lock);
    Map** old = find_map(c->share_group, buffer);
    if (old) remove_map(old);
    if (looked_at(m)) {
      if (!(m->bytes > hook::g_watch_bytes && watch(m))) {
        make_copy(m);
        m->all = is_undefined(*m);
      }
      __atomic_fetch_add(&hook::g_maps_alive, 1u, __ATOMIC_RELAXED);
    } else if (!(access & (GL_MAP_INVALIDATE_RANGE_BIT | GL_MAP_INVALIDATE_BUFFER_BIT | GL_MAP_FLUSH_EXPLICIT_BIT |
                           GL_MAP_UNSYNCHRONIZED_BIT)) &&
               m->bytes <= LARGEST_COPY && !is_undefined(*m)) {
      make_copy(m);
    }
    m->next = g_maps;
    g_maps = m;
    __atomic_fetch_add(&g_map_count, 1u, __ATOMIC_RELAXED);
    unlock(&g_maps_lock);
  } else {
    emit_loss(t, "map-lost", "no memory to follow a mapped buffer: what is stored through it is not recorded");
  }
  errno = saved;
}

uint32_t access_of(uint32_t access) {
  return access == GL_READ_ONLY    ? GL_MAP_READ_BIT
         : access == GL_WRITE_ONLY ? GL_MAP_WRITE_BIT
         : access == GL_READ_WRITE ? GL_MAP_READ_BIT | GL_MAP_WRITE_BIT
                                   : 0;
}

int64_t buffer_bytes(GlContext* c, uint32_t target) {
  if (!can_ask(c)) return 0;
  if (c->version >= (c->api == 2 ? 30u : 32u)) {
    int64_t bytes = 0;
    if (driver::glGetBufferParameteri64v) driver::glGetBufferParameteri64v(target, GL_BUFFER_SIZE, &bytes);
    return bytes;
  }
  int32_t bytes = 0;
  if (driver::glGetBufferParameteriv) driver::glGetBufferParameteriv(target, GL_BUFFER_SIZE, &bytes);
  return bytes;
}

int64_t named_bytes(GlContext* c, uint32_t buffer, bool ext) {
  if (!can_ask(c)) return 0;
  int64_t bytes = 0;
  int32_t small = 0;
  if (!ext) {
    if (driver::glGetNamedBufferParameteri64v) driver::glGetNamedBufferParameteri64v(buffer, GL_BUFFER_SIZE, &bytes);
    return bytes;
  }
  if (driver::glGetNamedBufferParameterivEXT) driver::glGetNamedBufferParameterivEXT(buffer, GL_BUFFER_SIZE, &small);
  return small;
}

void flushed(Thread* t, uint32_t buffer, int64_t offset, int64_t length) {
  GlContext* c = t->context;
  if (!c || !buffer || offset < 0 || length <= 0) return;
  int saved = errno;
  lock(&g_maps_lock);
  Map** at = find_map(c->share_group, buffer);
  if (at && ((*at)->access & GL_MAP_FLUSH_EXPLICIT_BIT) && (uint64_t)offset <= (*at)->bytes &&
      (uint64_t)length <= (*at)->bytes - (uint64_t)offset)
    emit_part(t, *at, (*at)->at, (uint64_t)offset, (uint64_t)length);
  unlock(&g_maps_lock);
  errno = saved;
}

// Why a mapping ends. New storage is refused for a buffer that is mapped persistently: its storage is immutable.
enum class End { UNMAP, NEW_STORAGE, DELETE };

void unmapped(Thread* t, uint32_t buffer, End end) {
  GlContext* c = t->context;
  if (!c || !buffer) return;
  int saved = errno;
  lock(&g_maps_lock);
  Map** at = find_map(c->share_group, buffer);
  if (at && !(end == End::NEW_STORAGE && ((*at)->access & GL_MAP_PERSISTENT_BIT))) {
    if (end == End::UNMAP && !((*at)->access & GL_MAP_FLUSH_EXPLICIT_BIT)) look(t, *at);
    remove_map(at);
  }
  unlock(&g_maps_lock);
  errno = saved;
}

inline bool any_map() { return DT_UNLIKELY(__atomic_load_n(&g_map_count, __ATOMIC_RELAXED) != 0); }

void invalidated(Thread* t, uint32_t buffer) {
  if (!any_map() || !t->context) return;
  lock(&g_maps_lock);
  Map** at = find_map(t->context->share_group, buffer);
  if (at && looked_at(*at)) (*at)->all = true;
  unlock(&g_maps_lock);
}

}  // namespace

void changed_parts(const uint8_t* before, const uint8_t* now, uint64_t bytes,
                   void (*each)(void* user, uint64_t offset, uint64_t length), void* user) {
  uint64_t begin = 0, end = 0;  // of a changed part not handed over yet; end 0: none
  for (uint64_t page = 0; page < bytes; page += PAGE) {
    uint64_t length = bytes - page < PAGE ? bytes - page : PAGE;
    if (memcmp(before + page, now + page, length) == 0) continue;
    for (uint64_t at = page; at < page + length;) {
      uint64_t part = page + length - at < GAP ? page + length - at : GAP;
      if (memcmp(before + at, now + at, part) != 0) {
        uint64_t first = at, last = at + part;
        while (before[first] == now[first] && first + 1 < last) first++;
        while (last > first + 1 && before[last - 1] == now[last - 1]) last--;
        if (end && first - end <= GAP) {
          end = last;
        } else {
          if (end) each(user, begin, end - begin);
          begin = first;
          end = last;
        }
      }
      at += part;
    }
  }
  if (end) each(user, begin, end - begin);
}

}  // namespace gl

// ---- memory of Vulkan ---------------------------------------------------------------------------

void memory_mapped(Thread* t, uint64_t memory, uint64_t offset, uint64_t bytes, void* at, bool undefined,
                   Ignored ignored) {
  using namespace gl;
  const int saved = errno;
  Map* m = (Map*)calloc(1, sizeof *m);
  if (m) {
    m->share_group = ~0u;  // no context's
    m->access = GL_MAP_PERSISTENT_BIT | GL_MAP_WRITE_BIT;
    m->memory = memory;
    m->ignored = ignored;
    m->at = (uint8_t*)at;
    m->offset = offset;
    m->bytes = bytes;
    lock(&g_maps_lock);
    if (!(m->bytes > hook::g_watch_bytes && watch(m))) {
      make_copy(m);
      m->all = undefined;
    }
    m->next = g_maps;
    g_maps = m;
    __atomic_fetch_add(&hook::g_maps_alive, 1u, __ATOMIC_RELAXED);
    __atomic_fetch_add(&g_map_count, 1u, __ATOMIC_RELAXED);
    unlock(&g_maps_lock);
  } else {
    emit_loss(t, "map-lost", "no memory to follow mapped memory: what is stored through it is not recorded");
  }
  errno = saved;
}

void memory_unmapped(Thread* t, uint64_t memory, Stored stored) {
  using namespace gl;
  if (!any_map()) return;
  const int saved = errno;
  lock(&g_maps_lock);
  for (Map** at = &g_maps; *at; at = &(*at)->next) {
    if ((*at)->memory != memory) continue;
    (*at)->stored = stored;
    look(t, *at);
    remove_map(at);
    break;
  }
  unlock(&g_maps_lock);
  errno = saved;
}

void look_at_memory(Thread* t, Stored stored, Where at) {
  using namespace gl;
  if (!any_map()) return;
  const int saved = errno;
  lock(&g_maps_lock);
  for (Map* m = g_maps; m; m = m->next) {
    uint64_t from = 0, end = ~0ull;
    if (!m->memory || !at(m->memory, &from, &end)) continue;
    m->stored = stored;
    look(t, m, from, end);
  }
  unlock(&g_maps_lock);
  errno = saved;
}

namespace hook {
using namespace gl;

void before_gpu_reads(Thread* t) {
  GlContext* c = t->context;
  if (!c) return;
  int saved = errno;
  lock(&g_maps_lock);
  for (Map* m = g_maps; m; m = m->next)
    if (m->share_group == c->share_group && looked_at(m)) look(t, m);
  unlock(&g_maps_lock);
  errno = saved;
}

void after_glMapBuffer(Thread* t, uint32_t target, uint32_t access, void* _result) {
  GlContext* c = t->context;
  if (_result && c && access != GL_READ_ONLY)
    mapped(t, target, bound_buffer(c, target), 0, buffer_bytes(c, target), access_of(access), _result);
}
void after_glMapBufferRange(Thread* t, uint32_t target, intptr_t offset, intptr_t length, uint32_t access,
                            void* _result) {
  if (_result && t->context && (access & GL_MAP_WRITE_BIT))
    mapped(t, target, bound_buffer(t->context, target), offset, length, access, _result);
}
void after_glMapNamedBuffer(Thread* t, uint32_t buffer, uint32_t access, void* _result) {
  if (_result && t->context)
    mapped(t, 0, buffer, 0, named_bytes(t->context, buffer, false), access_of(access), _result);
}
void after_glMapNamedBufferEXT(Thread* t, uint32_t buffer, uint32_t access, void* _result) {
  if (_result && t->context) mapped(t, 0, buffer, 0, named_bytes(t->context, buffer, true), access_of(access), _result);
}
void after_glMapNamedBufferRange(Thread* t, uint32_t buffer, intptr_t offset, intptr_t length, uint32_t access,
                                 void* _result) {
  mapped(t, 0, buffer, offset, length, access, _result);
}
void after_glMapNamedBufferRangeEXT(Thread* t, uint32_t buffer, intptr_t offset, intptr_t length, uint32_t access,
                                    void* _result) {
  mapped(t, 0, buffer, offset, length, access, _result);
}

void before_glFlushMappedBufferRange(Thread* t, uint32_t target, intptr_t offset, intptr_t length) {
  if (any_map() && t->context) flushed(t, bound_buffer(t->context, target), offset, length);
}
void before_glFlushMappedNamedBufferRange(Thread* t, uint32_t buffer, intptr_t offset, intptr_t length) {
  if (any_map()) flushed(t, buffer, offset, length);
}
void before_glFlushMappedNamedBufferRangeEXT(Thread* t, uint32_t buffer, intptr_t offset, intptr_t length) {
  if (any_map()) flushed(t, buffer, offset, length);
}

void before_glUnmapBuffer(Thread* t, uint32_t target) {
  if (any_map() && t->context) unmapped(t, bound_buffer(t->context, target), End::UNMAP);
}
void before_glUnmapNamedBuffer(Thread* t, uint32_t buffer) {
  if (any_map()) unmapped(t, buffer, End::UNMAP);
}
void before_glUnmapNamedBufferEXT(Thread* t, uint32_t buffer) {
  if (any_map()) unmapped(t, buffer, End::UNMAP);
}

// New storage and deletion end a mapping; what was stored through it is lost with the old storage.
void before_glBufferData(Thread* t, uint32_t target, intptr_t size, const void* data, uint32_t) {
  if (!t->context || size < 0 || (data && !any_map())) return;
  const uint32_t buffer = bound_buffer(t->context, target);
  if (any_map()) unmapped(t, buffer, End::NEW_STORAGE);
  if (!data) storage_is_undefined(t, buffer, size);
}
void before_glNamedBufferData(Thread* t, uint32_t buffer, intptr_t size, const void* data, uint32_t) {
  if (any_map() && size >= 0) unmapped(t, buffer, End::NEW_STORAGE);
  if (!data) storage_is_undefined(t, buffer, size);
}
void before_glNamedBufferDataEXT(Thread* t, uint32_t buffer, intptr_t size, const void* data, uint32_t) {
  if (any_map() && size >= 0) unmapped(t, buffer, End::NEW_STORAGE);
  if (!data) storage_is_undefined(t, buffer, size);
}
void before_glBufferStorage(Thread* t, uint32_t target, intptr_t size, const void* data, uint32_t) {
  if (!t->context || size <= 0 || (data && !any_map())) return;
  const uint32_t buffer = bound_buffer(t->context, target);
  if (any_map()) unmapped(t, buffer, End::NEW_STORAGE);
  if (!data) storage_is_undefined(t, buffer, size);
}
void before_glNamedBufferStorage(Thread* t, uint32_t buffer, intptr_t size, const void* data, uint32_t) {
  if (any_map() && size > 0) unmapped(t, buffer, End::NEW_STORAGE);
  if (!data) storage_is_undefined(t, buffer, size);
}
void before_glDeleteBuffers(Thread* t, int32_t n, const uint32_t* buffers) {
  if (!any_map() || !buffers) return;
  for (int32_t i = 0; i < n; i++) unmapped(t, buffers[i], End::DELETE);
}
void before_glInvalidateBufferData(Thread* t, uint32_t buffer) { invalidated(t, buffer); }
void before_glInvalidateBufferSubData(Thread* t, uint32_t buffer, intptr_t, intptr_t) { invalidated(t, buffer); }

}  // namespace hook
}  // namespace dt
