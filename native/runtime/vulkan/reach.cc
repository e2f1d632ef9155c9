// Resources by handle, and where they lie in memory: two lists of nodes. Calls that come here are rare beside draws.
#include "reach.h"

#include <stdlib.h>

#include "gl_state.h"
#include "tap.h"

namespace dt::reach {
using gl::lock, gl::unlock;
namespace {

struct Node {
  Node *next, *next_in_memory;
  uint64_t resource;  // 0: a part of a sparse one, or one that is gone
  uint64_t memory, begin, bytes;
  uint64_t usage, since;  // number of the first submission that can write to it, 0: none can
  uint64_t died;          // number of the last submission that could use it, 0: it lives
  Kind kind;
};
constexpr unsigned RESOURCES = 1024, MEMORIES = 256;
Node* by_resource[RESOURCES];
Node* by_memory[MEMORIES];
uint32_t g_lock;
unsigned g_dead;  // nodes in a memory whose resource is gone

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
  node->memory = memory;
  node->begin = offset;
  if (is_written_unnamed(*node)) node->since = since;
  Node*& head = by_memory[bucket(memory, MEMORIES)];
  node->next_in_memory = head;
  head = node;
}

uint64_t end_of(const Node& n) { return n.bytes && n.bytes < ~n.begin ? n.begin + n.bytes : ~0ull; }

// A node that lies in no memory is whoever's list it stands in: that one frees it.
template <typename Leaves> void leave_memory(Node** at, Leaves leaves) {
  while (Node* n = *at) {
    if (!leaves(*n)) {
      at = &n->next_in_memory;
      continue;
    }
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
  unlock(&g_lock);
}

void has_bytes(uint64_t resource, uint64_t bytes) {
  lock(&g_lock);
  if (Node* n = find(resource)) n->bytes = bytes;
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
  if (n && !n->since) n->since = since;
  unlock(&g_lock);
}

void forget_until(uint64_t submission) {
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

bool is_written(uint64_t memory, uint64_t last, uint64_t* from, uint64_t* end) {
  constexpr unsigned MOST_IMAGES = 16;  // each is compared with all that lies beside it
  unsigned images = 0;
  *from = ~0ull, *end = 0;
  lock(&g_lock);
  const Node* const first = by_memory[bucket(memory, MEMORIES)];
  for (const Node* n = first; n; n = n->next_in_memory) {
    if (n->memory != memory || !n->since || n->since > last) continue;
    bool counts = n->kind != OPAQUE_IMAGE || !n->bytes || ++images > MOST_IMAGES;
    for (const Node* o = first; o && !counts; o = o->next_in_memory)
      counts = o->memory == memory && o->kind != OPAQUE_IMAGE && o->begin < end_of(*n) && n->begin < end_of(*o);
    if (!counts) continue;
    if (n->begin < *from) *from = n->begin;
    if (end_of(*n) > *end) *end = end_of(*n);
  }
  unlock(&g_lock);
  return *from < *end;
}

bool is_used(uint64_t memory, uint64_t* from, uint64_t* end) {
  *from = ~0ull, *end = 0;
  lock(&g_lock);
  for (const Node* n = by_memory[bucket(memory, MEMORIES)]; n; n = n->next_in_memory) {
    if (n->memory != memory || (n->kind == OPAQUE_IMAGE && n->bytes)) continue;
    if (n->begin < *from) *from = n->begin;
    if (end_of(*n) > *end) *end = end_of(*n);
  }
  unlock(&g_lock);
  return *from < *end;
}

}  // namespace dt::reach
