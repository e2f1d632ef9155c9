// Sizes of OpenVG path data; see spec/apis/vg.py.
//
// vgAppendPathData says in its segment commands how many coordinates follow. vgModifyPathCoords does not, and no query
// of OpenVG returns the commands of a path. So each thread remembers the commands that its calls add (a path belongs to
// the thread's context; paths_vg.cc has the calls that name no commands). They count only while the driver's own counts
// agree with them. Where they do not, more is recorded than the call reads, never less.
#pragma once
#include <errno.h>
#include <sys/mman.h>
#include "driver.h"

namespace dt::size {
namespace vg {

enum : int32_t { PATH_DATATYPE = 0x1601, PATH_NUM_SEGMENTS = 0x1604, PATH_NUM_COORDS = 0x1605 };
constexpr unsigned PATHS = 1024;              // remembered at once; a power of two
constexpr size_t MAX_SEGMENTS = 1u << 20;     // of one path
constexpr size_t MAX_REMEMBERED = 32u << 20;  // bytes a thread

struct Path {
  uint32_t handle;
  uint32_t segments;
  uint64_t coordinates;
  uint8_t* types;  // of each segment: its command without the bit that says how it counts
  size_t capacity;
};
struct Paths {
  Path slots[PATHS];
  size_t bytes;
};
inline Paths*& remembered() {
  static __thread Paths* paths;
  return paths;
}

// A parameter of a path from the driver. A bad handle raises the error that the application's call raises anyway.
inline int64_t parameter(int64_t path, int32_t name) {
  return driver::vgGetParameteri ? driver::vgGetParameteri((uint32_t)path, name) : 0;
}

inline int64_t coordinate_size(int64_t path) {
  switch (parameter(path, PATH_DATATYPE)) {
    case 0: return 1;
    case 1: return 2;
    case 2:
    case 3: return 4;
    default: return 0;
  }
}

enum : uint8_t { CLOSE, MOVE, LINE, HLINE, VLINE, QUAD, CUBIC, SQUAD, SCUBIC, ARC, TYPES = 15 };
constexpr int MOST_COORDINATES = 8;
constexpr int8_t COORDINATES[TYPES] = {0, 2, 2, 1, 1, 4, 6, 2, 4, 5, 5, 5, 5, 5, MOST_COORDINATES};

// Coordinates of a segment command; -1: the driver refuses it, and with it the call.
inline int coordinates(uint8_t command) { return command >> 1 < TYPES ? COORDINATES[command >> 1] : -1; }

inline Path* slot(uint32_t handle) {
  Paths*& paths = remembered();
  if (!paths) {
    void* memory = mmap(nullptr, sizeof(Paths), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    paths = (Paths*)memory;
  }
  Path* path = &paths->slots[(handle * 2654435761u) >> 22 & (PATHS - 1)];
  if (path->handle != handle) {  // another path of the same slot is forgotten; its memory serves on
    path->handle = handle;
    path->segments = 0;
    path->coordinates = 0;
  }
  return path;
}

inline bool room(Path* path, size_t segments) {
  if (segments <= path->capacity) return true;
  size_t capacity = path->capacity ? path->capacity : 4096;
  while (capacity < segments) capacity *= 2;
  if (segments > MAX_SEGMENTS || remembered()->bytes + capacity - path->capacity > MAX_REMEMBERED) return false;
  void* memory = path->types ? mremap(path->types, path->capacity, capacity, MREMAP_MAYMOVE)
                             : mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  remembered()->bytes += capacity - path->capacity;
  path->types = (uint8_t*)memory;
  path->capacity = capacity;
  return true;
}

inline bool agrees(const Path* path, int64_t handle) {
  return path->segments == parameter(handle, PATH_NUM_SEGMENTS) &&
         (int64_t)path->coordinates == parameter(handle, PATH_NUM_COORDS);
}

inline void remember(int64_t handle, int64_t count, const uint8_t* commands) {
  Path* path = slot((uint32_t)handle);
  if (!path) return;
  if (!parameter(handle, PATH_NUM_SEGMENTS))
    path->segments = 0, path->coordinates = 0;
  else if (!agrees(path, handle))
    return;  // built in another way: stays in disagreement
  if (!room(path, (size_t)path->segments + (size_t)count)) return;
  for (int64_t i = 0; i < count; ++i) {
    path->types[path->segments++] = commands[i] >> 1;
    path->coordinates += (uint64_t)coordinates(commands[i]);
  }
}

// Bytes from `data` on that can be read, as far as whole pages tell, `most` at most.
inline int64_t readable(int64_t data, int64_t most) {
  constexpr uintptr_t PAGE = 4096;
  constexpr int POPULATE_READ = 22;  // MADV_POPULATE_READ, Linux 5.14
  const uintptr_t begin = (uintptr_t)data, end = begin + (uintptr_t)most;
  const int saved = errno;
  uintptr_t at = begin & ~(PAGE - 1);
  while (at < end) {
    bool there = madvise((void*)at, PAGE, POPULATE_READ) == 0;
    if (!there && errno == EINVAL) there = msync((void*)at, PAGE, MS_ASYNC) == 0;
    if (!there) break;
    at += PAGE;
  }
  errno = saved;
  return at >= end ? most : at > begin ? (int64_t)(at - begin) : 0;
}

}  // namespace vg

// Bytes of path data that vgAppendPathData reads for these segment commands.
inline int64_t vg_path_data_size(int64_t path, int64_t segments, int64_t commands) {
  const uint8_t* command = (const uint8_t*)(intptr_t)commands;
  int64_t bytes = vg::coordinate_size(path);
  if (!command || segments <= 0 || !bytes) return 0;
  int64_t count = 0;
  for (int64_t i = 0; i < segments; ++i) {
    int each = vg::coordinates(command[i]);
    if (each < 0) return 0;
    count += each;
  }
  vg::remember(path, segments, command);
  return count * bytes;
}

// Bytes that vgModifyPathCoords reads of `data`; more where the segments of the path are not known.
inline int64_t vg_path_part_size(int64_t handle, int64_t start, int64_t segments, int64_t data) {
  int64_t bytes = vg::coordinate_size(handle);
  int64_t total = vg::parameter(handle, vg::PATH_NUM_SEGMENTS);
  if (!bytes || start < 0 || segments <= 0 || start > total || segments > total - start) return 0;
  const int64_t all = vg::parameter(handle, vg::PATH_NUM_COORDS);
  if (segments == total) return all * bytes;
  vg::Path* path = vg::slot((uint32_t)handle);
  if (!path || !vg::agrees(path, handle)) {
#ifdef DT_PLAYER
    (void)data;
    return 0;  // whatever was recorded is played
#else
    if (!data) return 0;
    emit_note(
        &tls, "vg-path-part",
        "vgModifyPathCoords changed part of a path whose segments are not known: its array may be longer than what it "
        "reads");
    return vg::readable(data, at_most(all, segments * vg::MOST_COORDINATES) * bytes);
#endif
  }
  int64_t count = 0;
  for (int64_t i = start; i < start + segments; ++i) count += vg::COORDINATES[path->types[i]];
  return count * bytes;
}

}  // namespace dt::size
