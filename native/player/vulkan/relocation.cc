#include "relocation.h"

#include <string>

#include "../../core/error.h"

namespace dt::play::vk {
namespace {

constexpr uint64_t NOT_CAPTURED = 1;
constexpr unsigned MOST_DEPTH = 32;
constexpr size_t HEAD = 16;  // of a structure in a chain: its type, and the next one

[[noreturn]] void broken(const char* what) { throw Error(DT_E_FORMAT, std::string("a structure ") + what); }

// A type by the number that structures of it begin with; -1: not known.
int type_of(int32_t stype) {
  for (uint32_t place = dt_chain_place(stype);; place = (place + 1) & ((1u << tree::STYPE_BITS) - 1)) {
    const uint16_t number = tree::BY_STYPE[place];
    if (!number) return -1;
    if (tree::STYPES[number - 1] == stype) return number - 1;
  }
}

int64_t needed(const tree::Member& m, const void* self, const void* outer) {
  if (m.count == tree::ALWAYS) return 1;
  const int64_t n = tree::rule(m.count, self, outer);
  return n < 0 ? 0 : n;
}

size_t width_of(const tree::Member& m) {
  switch (m.kind) {
    case tree::TREE: return tree::TYPES[m.type].size;
    case tree::ARRAY: return m.element;
    case tree::STRING:
    case tree::TEMPLATE: return 1;
    default: return 8;
  }
}

}  // namespace

uint64_t Relocation::load(size_t at) const {
  uint64_t v = 0;
  if (at > bytes_ || bytes_ - at < 8) broken("goes over the end of its content");
  memcpy(&v, base_ + at, 8);
  return v;
}

void Relocation::put(size_t at, uint64_t value) { memcpy(base_ + at, &value, 8); }

size_t Relocation::block(size_t slot, int64_t need, size_t width) const {
  const uint64_t at = load(slot);
  if (at <= slot || at % 8 || at < 16 || at > bytes_) broken("has a pointer that leads nowhere");
  const uint64_t there = (bytes_ - at) / width;
  if (static_cast<uint64_t>(need) > there || static_cast<uint64_t>(need) > load(at - 8))
    broken("points to fewer elements than it counts");
  return at;
}

void* Relocation::root(uint16_t type, int64_t need, const uint64_t* outer) {
  const size_t width = tree::TYPES[type].size;
  if (bytes_ < 8 || need < 0 || static_cast<uint64_t>(need) > (bytes_ - 8) / width ||
      static_cast<uint64_t>(need) > load(0))
    broken("is shorter in the recording than the call needs");
  structures(type, 8, need, outer);
  return base_ + 8;
}

void Relocation::structures(uint16_t number, size_t at, int64_t count, const void* outer) {
  const tree::Type& type = tree::TYPES[number];
  if (!type.members) return;
  for (int64_t i = 0; i < count; ++i) members(type, at + static_cast<size_t>(i) * type.size, outer, false);
}

void Relocation::handles(size_t at, int64_t count, unsigned kind, bool any) {
  for (int64_t i = 0; i < count; ++i) {
    const size_t own = at + static_cast<size_t>(i) * 8;
    if (const uint64_t recorded = load(own)) put(own, host_.handle(kind, recorded, any));
  }
}

void Relocation::members(const tree::Type& type, size_t at, const void* outer, bool in_chain) {
  // A structure takes at least 8 bytes, and each is met once.
  if (depth_ >= MOST_DEPTH || ++visits_ > bytes_ / 8) broken("is deeper or larger than any");
  if (at > bytes_ || bytes_ - at < type.size) broken("goes over the end of its content");
  ++depth_;
  const uint8_t* self = base_ + at;
  for (uint16_t i = 0; i < type.members; ++i) {
    const tree::Member& m = tree::MEMBERS[type.first + i];
    const size_t slot = at + m.offset;
    const bool counts = m.when == tree::ALWAYS || tree::rule(m.when, self, outer);
    if (m.kind == tree::EMBEDDED || m.kind == tree::HANDLE) {
      if (!counts) continue;
      if (m.kind == tree::HANDLE)
        handles(slot, m.count, m.type, m.flags & tree::PROBE);
      else
        for (uint16_t k = 0; k < m.count; ++k)
          members(tree::TYPES[m.type], slot + size_t{k} * tree::TYPES[m.type].size, self, false);
    } else if (m.kind == tree::CHAIN) {
      if (!in_chain) chain(slot);
    } else if (!counts) {
      put(slot, uint64_t{0});
    } else {
      member(m, slot, self, outer);
    }
  }
  --depth_;
}

void Relocation::member(const tree::Member& m, size_t slot, const void* self, const void* outer) {
  const uint64_t at = load(slot);
  if (!at && !(m.flags & tree::NEEDED)) return;
  const int64_t need = needed(m, self, outer);
  if (!at && need) broken("has NULL in place of elements that it counts");
  if (!at) return;
  if (at != NOT_CAPTURED) return followed(m, slot, need, self);
  if (m.flags & tree::OUT) {
    const auto width = static_cast<int64_t>(width_of(m));
    if (need > MOST_ROOM / width) broken("asks for an answer that is larger than any");
    return put(slot, host_.room(static_cast<size_t>(need * width)));
  }
  if (!(m.flags & tree::PROBE) && need) broken("points to memory that was not recorded");
  put(slot, uint64_t{0});
}

void Relocation::followed(const tree::Member& m, size_t slot, int64_t need, const void* self) {
  if (m.kind == tree::STRING || m.kind == tree::STRINGS) {
    if (m.kind == tree::STRINGS) return each(m, slot, need, self);
    const size_t at = block(slot, m.count == tree::ALWAYS ? 0 : need, 1);
    const uint64_t length = load(at - 8);
    if (length >= bytes_ - at) broken("points to text without an end");
    base_[at + length] = 0;
    return put(slot, base_ + at);
  }
  if (m.kind == tree::TREES || m.kind == tree::ARRAYS) return each(m, slot, need, self);
  if (m.kind == tree::TEMPLATE) {
    const size_t at = block(slot, 0, 1);
    const uint64_t n = load(at - 8);
    if (n > bytes_ - at) broken("points to fewer elements than it counts");
    host_.described(static_cast<uint64_t>(need), base_ + at, n);
    return put(slot, base_ + at);
  }
  const size_t at = block(slot, need, width_of(m));
  if (m.kind == tree::TREE)
    structures(m.type, at, need, self);
  else if (m.flags & tree::HANDLES)
    handles(at, need, m.type, m.flags & tree::PROBE);
  put(slot, base_ + at);
}

// An array of pointers, with what each leads to.
void Relocation::each(const tree::Member& m, size_t slot, int64_t need, const void* self) {
  const size_t at = block(slot, need, 8);
  tree::Member one = m;
  one.kind = m.kind == tree::STRINGS ? tree::STRING : m.kind == tree::TREES ? tree::TREE : tree::ARRAY;
  one.count = tree::ALWAYS;
  one.flags = 0;
  for (int64_t i = 0; i < need; ++i) {
    const size_t own = at + static_cast<size_t>(i) * 8;
    if (load(own) == NOT_CAPTURED) broken("points to memory that was not recorded");
    if (load(own)) followed(one, own, 1, self);
  }
  put(slot, base_ + at);
}

void Relocation::chain(size_t slot) {
  for (uint64_t at = load(slot); at > NOT_CAPTURED;) {
    if (at <= slot || at % 8 || at > bytes_ || bytes_ - at < HEAD || ++visits_ > bytes_ / 8)
      broken("has a chain that leads nowhere");
    int32_t stype;
    memcpy(&stype, base_ + at, 4);
    const int type = type_of(stype);
    if (type < 0) host_.unknown(stype);
    if (type < 0 || !host_.stays(stype)) {
      const uint64_t next = load(at + 8);
      if (next > NOT_CAPTURED && next <= at) broken("has a chain that leads nowhere");
      at = next;
      continue;
    }
    members(tree::TYPES[type], at, nullptr, true);  // no structure of a chain asks what leads to it
    put(slot, base_ + at);
    slot = at + 8;
    at = load(slot);
  }
  put(slot, uint64_t{0});
}

}  // namespace dt::play::vk
