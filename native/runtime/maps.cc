// Mapped buffers: what the application stores through a mapping, found before the GPU can read it.
//
// Ordinary mappings are recorded at unmap or flush. Persistent ones are looked at before every call that lets the
// GPU read, in one of two ways, both exact:
//   compare  with a copy, in parts of a page (small mappings, and wherever the other way does not exist);
//   watch    the kernel notes which pages were written since the last look (asynchronous write protection of
//            userfaultfd with PAGEMAP_SCAN, Linux 6.7): no signal handler, no thread, and a system call that writes
//            into the mapping, such as read(), works as without us - which page protection by mprotect would break.
//            Protecting a page costs a fault, and makes every processor forget its addresses. So few pages at a time,
//            and pages that are written again and again, stay unprotected and are compared until they have been left
//            alone for a while. Where few pages are looked at, comparing costs less than asking the kernel.
#include <errno.h>
#include <stdlib.h>

#include "gl_state.h"
#include "losses.h"
#include "gl_enums.h"
#include "mapped.h"
#include "watch.h"

namespace dt {
namespace hook {
uint32_t g_maps_alive;
uint64_t g_watch_bytes = 64 * 1024;
}  // namespace hook

namespace gl {

namespace {

using watch::PAGE;
constexpr uint64_t GAP = 64;                     // changed parts closer than this are one
constexpr uint64_t LARGEST_COPY = 256ull << 20;  // larger ordinary mappings are recorded whole
constexpr uint64_t MOST_SHADOW = 64ull << 20;    // of all mappings that are watched

// A page of a mapping that is watched.
struct Page {
  bool known;       // recorded before, and the shadow has what was
  bool open;        // not protected but compared
  uint8_t written;  // how many looks, one soon after the other, found it written
  uint8_t still;    // how many comparisons in a row found nothing
  uint8_t last;     // the last look that found it written
};
constexpr uint8_t OFTEN = 3, SOON = 2;
// Protecting pages costs as much as comparing a hundred, or more. So pages stay open where at most this number of
// neighbours is found written, and until this number of comparisons found nothing; then others go along that have been
// still for a while.
constexpr uint64_t FEW = 4 * PAGE;
constexpr uint8_t STILL = 32, WHILE = 8;

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
uint64_t g_beginnings;  // of recording
uint32_t g_watched;     // mappings that are watched

bool g_watching;  // with the lock held: they are this process's

watch::Range page_range(const Map* m) {
  const uint64_t at = (uint64_t)(uintptr_t)m->at;
  return {at & ~(PAGE - 1), (at + m->bytes + PAGE - 1) & ~(PAGE - 1)};
}

bool overlaps_watched(const Map* m) {
  const watch::Range r = page_range(m);
  for (const Map* o = g_maps; o; o = o->next) {
    if (o == m || !o->watched) continue;
    const watch::Range q = page_range(o);
    if (r.start < q.end && q.start < r.end) return true;
  }
  return false;
}

bool begin_watch(Map* m) {
  // Two mappings that share a page would take each other's news.
  if (overlaps_watched(m) || !watch::begin(page_range(m))) return false;
  g_watched++;
  return m->watched = true;
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
  g_watched--;
  if (watch::is_on()) watch::end(page_range(m));
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
  m->pages = (Page*)calloc((page_range(m).end - page_range(m).start) / PAGE, sizeof(Page));
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

// Pages that were written to, from `begin` to `end` in the mapping. They are protected again, or `open`.
void emit_written(Thread* t, Map* m, uint64_t begin, uint64_t end, bool open) {
  if (!has_shadow(m)) return emit_living(t, m, begin, end - begin);
  uint64_t fresh = begin;  // from here on pages were not recorded before
  for (uint64_t at = begin; at < end;) {
    const uint64_t next = end_of_page(m, at);
    Page* const page = page_of(m, at);
    const bool soon = !page->still && (uint8_t)(m->looks - page->last) <= SOON;
    page->written = !soon ? 1 : page->written < OFTEN ? page->written + 1 : OFTEN;
    page->last = m->looks, page->still = 0, page->open = open;
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

// A page that is not protected. Where it stays as it is for long, it is protected at a later look.
void compare_page(Thread* t, Map* m, uint64_t begin, uint64_t end) {
  Page* const page = page_of(m, begin);
  page->open = true, page->last = m->looks;
  if (emit_difference(t, m, begin, end))
    page->still = 0;
  else if (page->still < STILL)
    page->still++;
}

enum class Treat : uint8_t { WRITTEN, COMPARE, STILL, IGNORE };

// The treatment of the page at `at`, which is not protected. `part`: the end of the part of the memory that it lies in.
Treat treat(const Map* m, uint64_t at, uint64_t* part, bool* unused) {
  if (m->ignored && at >= *part) {
    *unused = m->ignored(m->memory, m->offset + at, m->offset + m->bytes, part);
    *part -= m->offset;
  }
  if (m->ignored && *unused && *part >= end_of_page(m, at)) return Treat::IGNORE;
  const Page* const page = m->pages ? page_of(m, at) : nullptr;
  if (!page || !page->known || !(page->open || page->written >= OFTEN)) return Treat::WRITTEN;
  return page->still >= STILL ? Treat::STILL : Treat::COMPARE;
}

bool protect_again(Map* m, uint64_t begin, uint64_t end) {
  const uint64_t base = (uint64_t)(uintptr_t)m->at;
  return watch::protect_written({(base + begin) & ~(PAGE - 1), (base + end + PAGE - 1) & ~(PAGE - 1)});
}

// Pages that are not protected, from `begin` to `end` in the mapping.
bool look_at_pages(Thread* t, Map* m, uint64_t begin, uint64_t end) {
  uint64_t part = 0;
  bool unused = false;
  for (uint64_t at = begin; at < end;) {
    const Treat how = treat(m, at, &part, &unused);
    uint64_t next = end_of_page(m, at);
    if (how == Treat::WRITTEN || how == Treat::STILL) {
      for (; next < end; next = end_of_page(m, next)) {
        const Treat other = treat(m, next, &part, &unused);
        if (other != how && !(how == Treat::STILL && other == Treat::COMPARE && page_of(m, next)->still >= WHILE))
          break;
      }
      const bool open = how == Treat::WRITTEN && next - at <= FEW && has_shadow(m);
      if (!open && !protect_again(m, at, next)) return false;
      emit_written(t, m, at, next, open);
    } else if (how == Treat::COMPARE) {
      compare_page(t, m, at, next);
    } else if (m->pages) {
      *page_of(m, at) = {};  // the shadow is no longer what lies there
    }
    at = next;
  }
  return true;
}

// The same for a part in addresses, whose ends may lie outside of what is mapped. Parts that touch are one: `run` is
// what has not been looked at yet.
bool look_at_part(Thread* t, Map* m, uint64_t start, uint64_t end, watch::Range* run) {
  const uint64_t base = (uint64_t)(uintptr_t)m->at;
  if (end <= base || start >= base + m->bytes) return true;
  const uint64_t b = start > base ? start - base : 0, e = end - base < m->bytes ? end - base : m->bytes;
  if (b > run->end || !run->end) {
    if (!look_at_pages(t, m, run->start, run->end)) return false;
    run->start = b;
  }
  run->end = e;
  return true;
}

// Few pages, from `begin` to `end` in the mapping, compared without asking the kernel. False: one of them is protected.
bool look_at_few(Thread* t, Map* m, uint64_t begin, uint64_t end) {
  if (!m->pages) return false;
  for (uint64_t at = begin; at < end; at = end_of_page(m, at))
    if (!page_of(m, at)->known || !page_of(m, at)->open) return false;
  for (uint64_t at = begin, next; at < end; at = next) {
    next = end_of_page(m, at) < end ? end_of_page(m, at) : end;
    compare_page(t, m, at, next);
    page_of(m, at)->still = 0;  // it stays open
  }
  return true;
}

// Few pages that several scans found as they were need no further scan. Stores in between differ from the shadow, for
// the shadow has the pages' content at their protection.
void open_few(Map* m, uint64_t begin, uint64_t end) {
  if (!m->pages) return;
  bool ripe = true;
  for (uint64_t at = begin; at < end; at = end_of_page(m, at)) {
    Page* const page = page_of(m, at);
    if (!page->open && page->still < WHILE) page->still++;
    if (!page->known || (!page->open && page->still < WHILE)) ripe = false;
  }
  const uint64_t base = (uint64_t)(uintptr_t)m->at;
  if (!ripe || !watch::open({(base + begin) & ~(PAGE - 1), (base + end + PAGE - 1) & ~(PAGE - 1)})) return;
  for (uint64_t at = begin; at < end; at = end_of_page(m, at)) page_of(m, at)->open = true, page_of(m, at)->still = 0;
}

// Pages written since the last look, from `first` to `last` in the buffer or memory. False: the kernel no longer
// watches it.
bool look_by_watch(Thread* t, Map* m, uint64_t first, uint64_t last) {
  if (!g_watching) return false;
  first = first > m->offset ? first - m->offset : 0;
  last = last > m->offset ? last - m->offset : 0;
  if (last > m->bytes) last = m->bytes;
  if (first >= last) return true;
  const uint64_t base = (uint64_t)(uintptr_t)m->at, end = (base + last + PAGE - 1) & ~(PAGE - 1);
  const uint64_t start = (base + first) & ~(PAGE - 1);
  const bool few = end - start <= FEW;
  m->looks++;
  if (few && look_at_few(t, m, first, last)) return true;
  watch::Range run = {0, 0};  // in the mapping
  for (uint64_t from = start, until; from < end; from = until) {
    watch::Written parts[64];
    const int pages = watch::scan(from, end, parts, 64, &until);
    if (pages < 0) return false;
    for (int i = 0; i < pages; i++)
      if (!look_at_part(t, m, parts[i].start, parts[i].end, &run)) return false;
    if (until <= from) break;
  }
  if (!look_at_pages(t, m, run.start, run.end)) return false;
  if (few) open_few(m, first, last);
  return true;
}

// With the lock held, before looks.
void begin_looks() { g_watching = g_watched && watch::is_on(); }

void look(Thread* t, Map* m, uint64_t from = 0, uint64_t end = ~0ull) {
  if (m->watched) {
    if (!m->all && look_by_watch(t, m, from, end)) return;
    if (m->all) {
      // Everything is recorded now, so what was noted until here is void.
      drop_shadow(m);
      if (g_watching && watch::protect(page_range(m))) return emit_all(t, m);
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
  g_beginnings++;
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
      if (!(m->bytes > hook::g_watch_bytes && begin_watch(m))) {
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
    begin_looks();
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

// For at most GAP bytes.
static inline bool differ(const uint8_t* before, const uint8_t* now, uint64_t bytes) {
  if (bytes != GAP) return memcmp(before, now, bytes) != 0;
  uint64_t other = 0;
#pragma GCC unroll 8
  for (unsigned i = 0; i < GAP; i += 8) {
    uint64_t a, b;
    memcpy(&a, before + i, 8);
    memcpy(&b, now + i, 8);
    other |= a ^ b;
  }
  return other;
}

void changed_parts(const uint8_t* before, const uint8_t* now, uint64_t bytes,
                   void (*each)(void* user, uint64_t offset, uint64_t length), void* user) {
  uint64_t begin = 0, end = 0;  // of a changed part not handed over yet; end 0: none
  for (uint64_t page = 0; page < bytes; page += PAGE) {
    uint64_t length = bytes - page < PAGE ? bytes - page : PAGE;
    if (memcmp(before + page, now + page, length) == 0) continue;
    for (uint64_t at = page; at < page + length;) {
      uint64_t part = page + length - at < GAP ? page + length - at : GAP;
      if (differ(before + at, now + at, part)) {
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

void memory_mapped(Thread* t, uint64_t memory, uint64_t offset, uint64_t bytes, void* at, Origin origin,
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
    if (origin == Origin::PROGRAMS || m->bytes <= hook::g_watch_bytes || !begin_watch(m)) {
      make_copy(m);
      m->all = origin != Origin::KNOWN;
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
    begin_looks();
    look(t, *at);
    remove_map(at);
    break;
  }
  unlock(&g_maps_lock);
  errno = saved;
}

uint64_t beginnings_of_recording() { return __atomic_load_n(&gl::g_beginnings, __ATOMIC_RELAXED); }

void look_at_memory(Thread* t, Stored stored, Where at) {
  using namespace gl;
  if (!any_map()) return;
  const int saved = errno;
  lock(&g_maps_lock);
  bool begun = false;
  for (Map* m = g_maps; m; m = m->next) {
    uint64_t from = 0, end = ~0ull;
    if (!m->memory || !at(m->memory, &from, &end)) continue;
    if (!begun) begin_looks(), begun = true;
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
  begin_looks();
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
