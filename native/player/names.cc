// Names of objects: the recording's and those here.
#include "names.h"

#include <algorithm>
#include <cstring>

#include "play.h"
#include "windows.h"
#include "gl_enums.h"

namespace dt::play {

extern Player* g_player;

void Names::set(uint32_t recorded, uint32_t real) {
  if (!recorded) return;
  identity_ = identity_ && recorded == real;
  if (recorded < 1u << 20) {
    if (recorded >= direct_.size()) direct_.resize(std::max<size_t>(recorded + 1ull, direct_.size() * 2));
    direct_[recorded] = real;
  } else {
    far_[recorded] = real;
  }
}
bool Names::has(uint32_t recorded) const {
  return recorded < direct_.size() ? direct_[recorded] != 0 : far_.contains(recorded);
}
bool Names::is_taken(uint32_t real) const {
  for (uint32_t r : direct_)
    if (r == real) return true;
  for (auto& [recorded, r] : far_)
    if (r == real) return true;
  return false;
}
uint32_t Names::slow(uint32_t name) {
  auto it = far_.find(name);
  if (it != far_.end()) return it->second;
  // A name that was generated before the recording, and is an object only from now on, is to be one that exists here.
  const bool generated = g_player->began_late;
  if (identity_ && !generated) {
    if (name < 1u << 20) set(name, name);  // known from now on
    return name;
  }
  uint32_t real = name;
  if (generated || is_taken(name)) {
    using Make = driver::Function<void(int32_t, uint32_t*)>;
    static const Make* const makers[CLASS_COUNT] = {&driver::glGenTextures,
                                                    &driver::glGenBuffers,
                                                    &driver::glGenFramebuffers,
                                                    &driver::glGenRenderbuffers,
                                                    &driver::glGenVertexArrays,
                                                    &driver::glGenSamplers,
                                                    &driver::glGenQueries,
                                                    nullptr,
                                                    &driver::glGenProgramPipelines,
                                                    &driver::glGenTransformFeedbacks,
                                                    nullptr,
                                                    &driver::glGenProgramsARB};
    const Make* make = object_class >= 0 ? makers[object_class] : nullptr;
    if (make && *make) (*make)(1, &real);
  }
  set(name, real);
  return real;
}

const uint32_t* Player::names(int c, const uint32_t* recorded, uint64_t count) {
  Names& table = names_of(c);
  if (!recorded || table.identity()) return recorded;
  auto* out = static_cast<uint32_t*>(scratch(count * 4));
  for (uint64_t i = 0; i < count; ++i) out[i] = table.of(recorded[i]);
  return out;
}

const void* const* Player::pointers(const uint64_t* recorded, uint64_t count) {
  if (!recorded) return nullptr;
  auto* out = static_cast<const void**>(scratch(count * sizeof(void*)));
  for (uint64_t i = 0; i < count; ++i) out[i] = pointer(recorded[i]);
  return out;
}

void* Player::sync(uint64_t recorded) {
  auto it = syncs_.find(recorded);
  return it == syncs_.end() ? nullptr : it->second;
}
void Player::made_sync(uint64_t recorded, void* now) {
  if (recorded) syncs_[recorded] = now;
}
void* Player::image(uint64_t recorded) { return windows_->image(recorded); }
void Player::shares_images() { windows_->shares_images(); }
void Player::made_vg(const Row& w, uint32_t recorded, uint32_t now, const char* function) {
  if (recorded && now && vg_objects()) vg_objects()->set(recorded, now);
  if (recorded && !now)
    report("object", w.seq, function, "nothing was made here, and something was where it was recorded");
}

int32_t Player::location(uint32_t named, int32_t recorded) {
  if (recorded < 0) return recorded;
  Program* p = nullptr;
  if (named == ~0u) {
    p = context->current;
    if (!p) p = context->current = &program(context->program ? context->program : context->pipeline_program);
  } else {
    p = &program(named);
  }
  if (DT_LIKELY(p->locations.empty())) return recorded;
  auto it = p->locations.find(recorded);
  return it == p->locations.end() ? recorded : it->second;
}

uint32_t Player::block(uint32_t named, uint32_t recorded, int kind) {
  auto& blocks = program(named).blocks[kind];
  auto it = blocks.find(recorded);
  return it == blocks.end() ? recorded : it->second;
}

void Player::made(int c, const In& recorded, const uint32_t* now) {
  if (!now || (recorded.kind != DT_DATA_INLINE && recorded.kind != DT_DATA_BLOB)) return;
  Names& table = names_of(c);
  for (uint64_t i = 0; i < recorded.bytes / 4; ++i) {
    uint32_t was;
    memcpy(&was, recorded.data + i * 4, 4);
    if (now[i]) table.set(was, now[i]);
  }
}
void Player::made_one(int c, uint32_t recorded, uint32_t now) {
  if (!recorded || !now) return;
  names_of(c).set(recorded, now);
  if (c == PROGRAM) {
    context->group->programs[now] = {};
    context->current = nullptr;
  }
}
void Player::made_range(int c, uint32_t recorded, uint32_t now, int64_t count) {
  if (!recorded || !now) return;
  for (int64_t i = 0; i < count && i < 1 << 20; ++i)
    names_of(c).set(recorded + static_cast<uint32_t>(i), now + static_cast<uint32_t>(i));
}

template <class T> static T nth(const uint8_t* numbers, size_t i) {
  T v;
  memcpy(&v, numbers + i * sizeof v, sizeof v);
  return v;
}

bool list_numbers(uint32_t type, const void* lists, size_t n, uint32_t base, uint32_t* to) {
  auto* at = static_cast<const uint8_t*>(lists);
  for (size_t i = 0; i < n; ++i) {
    int64_t v = 0;
    switch (type) {
      case GL_BYTE: v = reinterpret_cast<const int8_t*>(at)[i]; break;
      case GL_UNSIGNED_BYTE: v = at[i]; break;
      case GL_SHORT: v = nth<int16_t>(at, i); break;
      case GL_UNSIGNED_SHORT: v = nth<uint16_t>(at, i); break;
      case GL_INT: v = nth<int32_t>(at, i); break;
      case GL_UNSIGNED_INT: v = nth<uint32_t>(at, i); break;
      case GL_FLOAT: {
        const auto s = nth<float>(at, i);
        v = s > -2e9f && s < 4e9f ? static_cast<int64_t>(s) : 0;
        break;
      }
      case GL_2_BYTES: v = at[i * 2] << 8 | at[i * 2 + 1]; break;
      case GL_3_BYTES: v = at[i * 3] << 16 | at[i * 3 + 1] << 8 | at[i * 3 + 2]; break;
      case GL_4_BYTES:
        v = static_cast<int64_t>(at[i * 4]) << 24 | at[i * 4 + 1] << 16 | at[i * 4 + 2] << 8 | at[i * 4 + 3];
        break;
      default: return false;
    }
    to[i] = static_cast<uint32_t>(v + base);
  }
  return true;
}

}  // namespace dt::play
