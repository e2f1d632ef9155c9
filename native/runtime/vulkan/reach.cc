// Resources by handle, and where they lie in memory: two lists of nodes. Calls that come here are rare beside draws.
#include "reach.h"

#include <stdlib.h>

#include "gl_state.h"
#include "mapped.h"
#include "tap.h"

namespace dt::reach {
using gl::lock, gl::unlock;
uint64_t g_large;
namespace {

// The ways in which calls named a buffer so far. For a small buffer they make no difference.
enum class Named : uint8_t { WHOLE, IN_PARTS, NEVER };
struct Node {
  Node *next, *next_in_memory;
  uint64_t resource;  // 0: a part of a sparse one, or one that is gone
  uint64_t memory, begin, bytes;
  uint64_t usage, since;  // number of the first submission that can write to it, 0: none can
  uint64_t died;          // number of the last submission that could use it, 0: it lives
  uint64_t beginning;     // of recording: calls before another one were not seen
  Kind kind;
  Named named;
};
constexpr unsigned RESOURCES = 1024, MEMORIES = 256;
Node* by_resource[RESOURCES];
Node* by_memory[MEMORIES];
uint32_t g_lock;
unsigned g_dead;  // nodes in a memory whose resource is gone

// The answers of is_used() and is_written() as far as nodes alone decide them. Every submission asks, and hardly ever
// has a node changed. Reading a kept answer takes no lock: a lock waits for all stores before it, those of records too.
struct Answer {
  uint64_t memory, changes, beginning;
  uint64_t from, end;
  uint64_t latest;  // number of the last submission that makes a difference
};
constexpr unsigned ANSWERS = 16;
struct Kept {
  uint64_t version;  // odd while the answer is written
  Answer answer;
} used_of[ANSWERS], written_of[ANSWERS];
uint64_t g_changes;  // of nodes

// Buffers that are not read whole, as far as calls named them.
constexpr unsigned MOST_LARGE = 16;
constexpr uint64_t LEAST_LARGE = 64 << 10;
struct Large {
  uint64_t buffer;  // 0: none
  Node* node;
} large[MOST_LARGE];

// The reads of command buffers that are submitted once and have not been submitted yet.
struct Part {
  uint64_t memory, begin, end;
};
constexpr unsigned COMMANDS = 64, PROBES = 8, MOST_PARTS = 10;
struct Commands {
  uint64_t handle;     // 0: none
  bool begun;          // and not submitted yet; if not, another command buffer may take the place
  uint64_t beginning;  // of recording
  unsigned parts;
  Part part[MOST_PARTS];
} commands_of[COMMANDS];
uint64_t g_reading;  // a bit for each of them that has parts

unsigned bucket(uint64_t handle, unsigned of) { return (unsigned)(handle * 0x9e3779b97f4a7c15ull >> 40) % of; }

// Usages that make a buffer written to when a call says so, and those that never do.
constexpr uint64_t NAMED = 0x2 | 0x8 | 0x20 | 0x800 | 0x1000 | 0x20000 | 0x100000,
                   READ = 0x1 | 0x4 | 0x10 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x80000;
bool is_written_unnamed(const Node& n) { return n.kind != BUFFER || !n.usage || n.usage & ~(NAMED | READ); }

Node* find(uint64_t resource) {
  for (Node* n = by_resource[bucket(resource, RESOURCES)]; n; n = n->next)
    if (n->resource == resource) return n;
  return nullptr;
}

void unlink_resource(Node* node) {
  for (Node** at = &by_resource[bucket(node->resource, RESOURCES)]; *at; at = &(*at)->next)
    if (*at == node) {
      *at = node->next;
      return;
    }
}

void put_in_memory(Node* node, uint64_t memory, uint64_t offset, uint64_t since) {
  g_changes++;
  node->memory = memory;
  node->begin = offset;
  if (is_written_unnamed(*node)) node->since = since;
  Node*& head = by_memory[bucket(memory, MEMORIES)];
  node->next_in_memory = head;
  head = node;
}

uint64_t end_of(const Node& n) { return n.bytes && n.bytes < ~n.begin ? n.begin + n.bytes : ~0ull; }

bool is_whole(const Node& n) {
  if (n.named == Named::WHOLE || n.beginning != beginnings_of_recording()) return true;
  if (n.named == Named::IN_PARTS) return false;
  // Another name of the same bytes, which nobody used.
  for (const Node* o = by_memory[bucket(n.memory, MEMORIES)]; o; o = o->next_in_memory)
    if (o->memory == n.memory && o->begin == n.begin && o->bytes == n.bytes && o->named == Named::IN_PARTS)
      return false;
  return true;
}

uint64_t bit_of(uint64_t handle) { return 1ull << (handle * 0x9e3779b97f4a7c15ull >> 58); }

// With the lock held.
void forget_large(Large* of) {
  of->buffer = 0;
  uint64_t all = 0;
  for (const Large& each : large)
    if (each.buffer) all |= bit_of(each.buffer);
  __atomic_store_n(&g_large, all, __ATOMIC_RELAXED);
}
void becomes_whole(Large* of) {
  g_changes++;
  of->node->named = Named::WHOLE;
  forget_large(of);
}
Large* large_of(uint64_t buffer) {
  for (Large& each : large)
    if (__atomic_load_n(&each.buffer, __ATOMIC_RELAXED) == buffer) return &each;
  return nullptr;
}
Commands* find_commands(uint64_t handle) {
  const unsigned first = bucket(handle, COMMANDS);
  for (unsigned i = 0; i < PROBES; i++)
    if (Commands& each = commands_of[(first + i) % COMMANDS]; __atomic_load_n(&each.handle, __ATOMIC_ACQUIRE) == handle)
      return &each;
  return nullptr;
}
Commands* find_free(uint64_t handle) {
  const unsigned first = bucket(handle, COMMANDS);
  for (unsigned i = 0; i < PROBES; i++)
    if (Commands& each = commands_of[(first + i) % COMMANDS]; !each.begun) return &each;
  return nullptr;
}
void drop_parts(Commands* of) {
  of->parts = 0;
  g_reading &= ~(1ull << (of - commands_of));
}
// False: there is no room.
bool add_part(Commands* of, const Part& part) {
  for (unsigned i = 0; i < of->parts; i++)
    if (Part& p = of->part[i]; p.memory == part.memory && part.begin <= p.end + 4096 && p.begin <= part.end + 4096) {
      if (part.begin < p.begin) p.begin = part.begin;
      if (part.end > p.end) p.end = part.end;
      return true;
    }
  if (of->parts == MOST_PARTS) return false;
  of->part[of->parts++] = part;
  g_reading |= 1ull << (of - commands_of);
  return true;
}

bool take(Kept* kept, uint64_t memory, uint64_t beginning, uint64_t last, Answer* answer) {
  const uint64_t version = __atomic_load_n(&kept->version, __ATOMIC_ACQUIRE);
  const Answer& a = kept->answer;
  answer->from = __atomic_load_n(&a.from, __ATOMIC_RELAXED);
  answer->end = __atomic_load_n(&a.end, __ATOMIC_RELAXED);
  const bool fits = __atomic_load_n(&a.memory, __ATOMIC_RELAXED) == memory &&
                    __atomic_load_n(&a.beginning, __ATOMIC_RELAXED) == beginning &&
                    __atomic_load_n(&a.latest, __ATOMIC_RELAXED) <= last &&
                    __atomic_load_n(&a.changes, __ATOMIC_RELAXED) == __atomic_load_n(&g_changes, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return fits && !(version & 1) && __atomic_load_n(&kept->version, __ATOMIC_RELAXED) == version;
}
// With the lock held.
void keep(Kept* kept, const Answer& answer) {
  const uint64_t version = kept->version;
  __atomic_store_n(&kept->version, version + 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  kept->answer = answer;
  __atomic_store_n(&kept->version, version + 2, __ATOMIC_RELEASE);
}

// A list owns a node that lies in no memory: this list frees it.
template <typename Leaves> void leave_memory(Node** at, Leaves leaves) {
  while (Node* n = *at) {
    if (!leaves(*n)) {
      at = &n->next_in_memory;
      continue;
    }
    g_changes++;
    *at = n->next_in_memory;
    n->memory = 0;
    if (n->died) g_dead--;
    if (!n->resource) free(n);
  }
}

}  // namespace

void made(uint64_t resource, Kind kind, uint64_t bytes, uint64_t usage) {
  if (!resource) return;
  gone(resource, 0);  // its destruction was not seen
  Node* node = (Node*)calloc(1, sizeof *node);
  if (!node) return;
  node->resource = resource, node->kind = kind, node->bytes = bytes, node->usage = usage;
  lock(&g_lock);
  Node*& head = by_resource[bucket(resource, RESOURCES)];
  node->next = head;
  head = node;
  if (Large* free_one = kind == BUFFER && bytes >= LEAST_LARGE ? large_of(0) : nullptr) {
    node->named = Named::NEVER, node->beginning = beginnings_of_recording();
    free_one->node = node;
    free_one->buffer = resource;
    __atomic_fetch_or(&g_large, bit_of(resource), __ATOMIC_RELAXED);
  }
  unlock(&g_lock);
}

void has_bytes(uint64_t resource, uint64_t bytes) {
  lock(&g_lock);
  if (Node* n = find(resource)) n->bytes = bytes, g_changes++;
  unlock(&g_lock);
}

void bound(uint64_t resource, uint64_t memory, uint64_t offset, uint64_t since) {
  if (!memory) return;
  lock(&g_lock);
  Node* n = find(resource);
  if (n && !n->memory) put_in_memory(n, memory, offset, since);
  unlock(&g_lock);
  if (!n) bound_part(resource, memory, offset, 0, since);  // made unseen: all that follows may be its
}

void bound_part(uint64_t resource, uint64_t memory, uint64_t offset, uint64_t bytes, uint64_t since) {
  Node* part = memory ? (Node*)calloc(1, sizeof *part) : nullptr;
  if (!part) return;
  lock(&g_lock);
  const Node* n = find(resource);
  part->kind = n ? n->kind : BUFFER;  // of no known usage
  part->bytes = bytes;
  put_in_memory(part, memory, offset, since);
  unlock(&g_lock);
}

void gone(uint64_t resource, uint64_t submission) {
  lock(&g_lock);
  if (Node* n = find(resource)) {
    unlink_resource(n);
    if (Large* of = large_of(resource)) forget_large(of);
    n->resource = 0;
    n->died = submission + 1;
    if (n->memory)
      g_dead++;
    else
      free(n);
  }
  unlock(&g_lock);
}

void memory_gone(uint64_t memory) {
  lock(&g_lock);
  leave_memory(&by_memory[bucket(memory, MEMORIES)], [=](const Node& n) { return n.memory == memory; });
  unlock(&g_lock);
}

void is_target(uint64_t buffer, uint64_t since) {
  lock(&g_lock);
  Node* n = find(buffer);
  if (n && !n->since) n->since = since, g_changes++;
  unlock(&g_lock);
}

void forget_until(uint64_t submission) {
  if (!__atomic_load_n(&g_dead, __ATOMIC_RELAXED)) return;
  lock(&g_lock);
  if (g_dead)
    for (Node*& head : by_memory)
      leave_memory(&head, [=](const Node& n) { return n.died && n.died - 1 <= submission; });
  unlock(&g_lock);
}

bool is_image(uint64_t resource, uint64_t* memory, uint64_t* from, uint64_t* end) {
  lock(&g_lock);
  const Node* n = find(resource);
  const bool is = n && n->kind == OPAQUE_IMAGE && n->memory;
  if (is) *memory = n->memory, *from = n->begin, *end = end_of(*n);
  unlock(&g_lock);
  return is;
}

Who who(uint64_t memory, uint64_t from, uint64_t end, uint64_t last, uint64_t* until) {
  bool either = false, image = false, buffer = false;
  lock(&g_lock);
  for (const Node* n = by_memory[bucket(memory, MEMORIES)]; n; n = n->next_in_memory) {
    if (n->memory != memory || end_of(*n) <= from || n->begin >= end) continue;
    if (n->begin > from) {
      end = n->begin;
      continue;
    }
    if (end_of(*n) < end) end = end_of(*n);
    if (n->kind == OPAQUE_IMAGE && n->bytes)
      image = true;
    else if (n->since && n->since <= last)
      either = true;
    else
      buffer = true;
  }
  unlock(&g_lock);
  *until = end;
  return either ? EITHER : image && !buffer ? IMAGE : image ? EITHER : PROGRAM;
}

bool is_within(uint64_t memory, uint64_t last) {
  bool within = false;
  lock(&g_lock);
  for (const Node* n = by_memory[bucket(memory, MEMORIES)]; n; n = n->next_in_memory)
    within = within || (n->memory == memory && n->since && n->since <= last);
  unlock(&g_lock);
  return within;
}

// With the lock held: from where to where the device may write, whatever the submission.
static Answer find_written(uint64_t memory, uint64_t last) {
  constexpr unsigned MOST_IMAGES = 16;  // each is compared with all that lies beside it
  unsigned images = 0;
  Answer found = {memory, g_changes, 0, ~0ull, 0, 0};
  const Node* const first = by_memory[bucket(memory, MEMORIES)];
  for (const Node* n = first; n; n = n->next_in_memory) {
    if (n->memory != memory || !n->since) continue;
    if (n->since > found.latest) found.latest = n->since;
    if (n->since > last) continue;
    bool counts = n->kind != OPAQUE_IMAGE || !n->bytes || ++images > MOST_IMAGES;
    for (const Node* o = first; o && !counts; o = o->next_in_memory)
      counts = o->memory == memory && o->kind != OPAQUE_IMAGE && o->begin < end_of(*n) && n->begin < end_of(*o);
    if (!counts) continue;
    if (n->begin < found.from) found.from = n->begin;
    if (end_of(*n) > found.end) found.end = end_of(*n);
  }
  return found;
}

bool is_written(uint64_t memory, uint64_t last, uint64_t* from, uint64_t* end) {
  Kept* const kept = &written_of[bucket(memory, ANSWERS)];
  Answer found;
  if (!take(kept, memory, 0, last, &found)) {
    lock(&g_lock);
    found = find_written(memory, last);
    if (last >= found.latest) keep(kept, found);
    unlock(&g_lock);
  }
  *from = found.from, *end = found.end;
  return *from < *end;
}

// With the lock held.
static Answer find_used(uint64_t memory, uint64_t beginning) {
  Answer found = {memory, g_changes, beginning, ~0ull, 0, 0};
  for (const Node* n = by_memory[bucket(memory, MEMORIES)]; n; n = n->next_in_memory) {
    if (n->memory != memory || (n->kind == OPAQUE_IMAGE && n->bytes) || !is_whole(*n)) continue;
    if (n->begin < found.from) found.from = n->begin;
    if (end_of(*n) > found.end) found.end = end_of(*n);
  }
  return found;
}

bool is_used(uint64_t memory, uint64_t* from, uint64_t* end) {
  const uint64_t beginning = beginnings_of_recording();
  Kept* const kept = &used_of[bucket(memory, ANSWERS)];
  Answer found;
  if (!take(kept, memory, beginning, 0, &found)) {
    lock(&g_lock);
    keep(kept, found = find_used(memory, beginning));
    unlock(&g_lock);
  }
  *from = found.from, *end = found.end;
  // Other threads may record other command buffers meanwhile. A look then compares more, never less.
  for (uint64_t left = __atomic_load_n(&g_reading, __ATOMIC_RELAXED); left; left &= left - 1) {
    const Commands& of = commands_of[__builtin_ctzll(left)];
    const unsigned parts = __atomic_load_n(&of.parts, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < parts && i < MOST_PARTS; i++) {
      if (of.part[i].memory != memory) continue;
      if (of.part[i].begin < *from) *from = of.part[i].begin;
      if (of.part[i].end > *end) *end = of.part[i].end;
    }
  }
  return *from < *end;
}

void are_named_slow(const void* content, uint64_t words) {
  const uint64_t bits = __atomic_load_n(&g_large, __ATOMIC_RELAXED);
  for (uint64_t i = 0; i < words; i++) {
    uint64_t word;
    memcpy(&word, (const char*)content + i * 8, 8);
    if (!word || !(bits & bit_of(word)) || !large_of(word)) continue;
    lock(&g_lock);
    if (Large* of = large_of(word)) becomes_whole(of);
    unlock(&g_lock);
  }
}

void all_are_named() {
  lock(&g_lock);
  for (Large& each : large)
    if (each.buffer) becomes_whole(&each);
  unlock(&g_lock);
}

// A program hands a command buffer to one thread at a time: that thread needs no lock for what belongs to it alone.
void begins(uint64_t handle, bool once) {
  if (!handle) return;
  Commands* of = find_commands(handle);
  if (!of && !once) return;
  if (!of || !once || of->parts) {
    lock(&g_lock);
    of = find_commands(handle);
    if (of) drop_parts(of);
    if (!of && once && (of = find_free(handle))) __atomic_store_n(&of->handle, handle, __ATOMIC_RELEASE);
    if (of) of->begun = once;
    unlock(&g_lock);
  }
  if (of) of->begun = once, of->beginning = beginnings_of_recording();
}

void is_read(uint64_t handle, uint64_t buffer, uint64_t offset, uint64_t bytes) {
  if (!buffer || !(__atomic_load_n(&g_large, __ATOMIC_RELAXED) & bit_of(buffer))) return;
  lock(&g_lock);
  if (Large* of = large_of(buffer)) {
    Node* const n = of->node;
    Commands* const by = find_commands(handle);
    if (!n->memory || !by || !by->begun || by->beginning != beginnings_of_recording() || offset > n->bytes ||
        !add_part(by, {n->memory, n->begin + offset,
                       n->begin + offset + (bytes < n->bytes - offset ? bytes : n->bytes - offset)}))
      becomes_whole(of);
    else if (n->named != Named::IN_PARTS)
      n->named = Named::IN_PARTS, g_changes++;
  }
  unlock(&g_lock);
}

void is_submitted(uint64_t handle) {
  Commands* const of = find_commands(handle);
  if (!of || !of->begun) return;
  if (of->parts) {
    lock(&g_lock);
    drop_parts(of);
    unlock(&g_lock);
  }
  of->begun = false;
}

}  // namespace dt::reach
