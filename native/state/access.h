// The state machine's report about every call: the locations that it read and wrote, and their values now.
//
//     struct Mine : dt::state::Visitor {
//       void call(const dt::state::CallEvent& e) override {
//         for (auto& a : e.accesses())
//           for (Location l = a.first; l < a.first + a.count; ++l) ...
//       }
//     };
//     dt::state::Machine machine(trace);
//     Mine mine;
//     machine.walk(mine);                       // every call, in order of seq
//     machine.path(location)                    // "contexts[1].GL_DEPTH_FUNC"
//
// A *location* is a dense number, from 0, of one place that can be read and written. The place is a variable of a
// context or of an object (GL_DEPTH_FUNC of context 1, GL_TEXTURE_MIN_FILTER of texture 5), or the existence of an
// object. Or it is a content (a texture level's pixels, a buffer's bytes, a window's colour). All variables of an
// object are neighbours, so that an access is a range. An object that is deleted and whose name is used again gets new
// locations: two lives of one name share none. Locations are given out while walking and keep their meaning for ever.
//
// The meaning of accesses, for "which calls does this call need":
//  - `read`: the call's effect or its pixels depend on what stands there: on the last `write` before it and on every
//    `part` since that one.
//  - `write`: the whole of it is replaced; what stood there before no longer matters.
//  - `part`: it is changed, but what stood there before matters to whoever reads it afterwards (a sub-image, a draw
//    into a colour buffer, the next matrix of a product). A reader needs all parts since the last write, and that
//    write.
// Accesses stand in the order in which they happen: a read behind a write of the same location sees that write.
// A call whose event is not `applied` (it raised a GL error, or has no context) has no accesses at all.
//
// Data that belongs to the call beside its own arguments counts as the call's: application memory that it read is in
// the trace beside it. Bytes that the program stored through a mapping (dtapMapWrite) belong to `stored`.
//
// Existence is a location too (the first of every object): the creating call writes it, every use of the object reads
// it, the deletion writes it. Likewise the current context of a thread: eglMakeCurrent writes it and every GL call of
// the thread reads it; it depends on context, surfaces, configs and display as objects of their own. Calls that only
// ask (glGet*, glIsEnabled) read the location in question where it is known, and write nothing. A replay needs the
// answers of some: glGetUniformLocation writes the location's name, which glUniform* reads.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../core/signature.h"
#include "../core/trace.h"

namespace dt::state {

using Location = uint32_t;
constexpr Location NOWHERE = ~0u;

enum class Touch : uint32_t { read = 0, write = 1, part = 2 };

struct Access {
  Location first;
  uint32_t count : 30;
  uint32_t kind : 2;
  Touch touch() const { return static_cast<Touch>(kind); }
};

// The deeds of a call, beyond setting state. Bits.
enum Deed : uint32_t {
  DEED_DRAW = 1,  // rasterises: draws, glBitmap, glDrawPixels, glCopyPixels, glEnd, lists that contain them
  DEED_CLEAR = 2,
  DEED_DISPATCH = 4,
  DEED_UPLOAD = 8,      // hands content to the API
  DEED_READBACK = 16,   // hands pixels or other content to the program
  DEED_COPY = 32,       // content from content: glCopyTexImage2D, glBlitFramebuffer, glGenerateMipmap
  DEED_FRAME_END = 64,  // the call that ends the frame, by the trace's rule
  DEED_SHOWS = 128,     // a swap: reads the surface's colour
  DEED_QUERY = 256,     // only asks
  DEED_COMPILED = 512,  // went into a display list and did nothing else
};

// A part of a content: bytes of a buffer (the first of the three), texels of an image; `to` is the first outside.
struct Region {
  int64_t from[3] = {0, 0, 0}, to[3] = {1, 1, 1};
};

struct Value;
class Node;
class Machine;

// Accesses [first, end) of a call that have nothing to do with its others. Their writes need their reads, and the call
// itself (images that two APIs share and that one call makes one).
struct Section {
  uint32_t first = 0, end = 0;
};

struct CallEvent {
  uint64_t seq = 0, frame = 0;
  uint32_t thread = 0;   // index among Trace::threads
  uint32_t context = 0;  // id of the context that was current (table `contexts`); 0: none
  uint32_t deeds = 0;
  bool applied = true;                 // false: it had no effect (GL error, no context)
  const Function* function = nullptr;  // nullptr: the trace does not explain it
  const Access* first = nullptr;
  uint32_t count = 0;
  std::span<const Section> sections;  // ascending, apart
  std::span<const Access> accesses() const { return {first, count}; }
};

constexpr uint32_t NO_MODE = ~0u;
// The facts of a draw, a clear or a dispatch; filled for calls with DEED_DRAW, DEED_CLEAR or DEED_DISPATCH.
struct Draw {
  uint32_t mode = NO_MODE;  // primitive type; NO_MODE: none (pixels, bitmaps, meshes, lists)
  uint64_t vertices = 0, instances = 1, primitives = 0;  // vertices: indices for indexed draws
  bool indexed = false, indirect = false;                // indirect: the counts stand in a buffer and are unknown (0)
  uint64_t client_bytes = 0;                             // memory of the program that it read
  // For OpenVG: `mode` are the paint modes, `vertices` segments of paths, `primitives` paths and images that were
  // drawn; how large they are on the surface, by their control points (negative: not known).
  bool vector = false;
  double extent[2] = {-1, -1};
};

// Bytes that the program stored through a mapping, seen before call `seq` of the thread.
struct StoreEvent {
  uint64_t row = 0;  // of the table map_writes
  uint64_t seq = 0;  // the trace's number of calls: the thread made no call after it
  uint32_t thread = 0;
  std::span<const Access> accesses;  // reads: what it cannot be without; a `part` of the buffer's content
};

class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual void call(const CallEvent& event) = 0;
  // Before the call that it names. The earlier upload() and region() since the last call are about these bytes.
  virtual void stored(const StoreEvent&) {}
  // A variable has another value than before, by the call that is being applied (its event follows). Several changes of
  // one location by one call come one after the other.
  virtual void changed(Location, const Value&) {}
  // New locations: [node.base, node.base + its class's count). By the call that is being applied.
  virtual void created(const Node&) {}
  // Its locations are of the past from here on.
  virtual void deleted(const Node&) {}
  // After the accesses of a call that draws, with `event` as call() gets it next.
  virtual void draw(const CallEvent&, const Draw&) {}
  // An upload of `bytes` with content `hash` (zeros: not known) into `location`.
  virtual void upload(Location, uint64_t /*bytes*/, const Hash128& /*hash*/) {}
  // The `part` of a content that the call which is being applied changes. One call for each part; a content without any
  // such call may have changed anywhere.
  virtual void region(Location, const Region&) {}
  virtual bool wanted() { return true; }  // false: stop walking
};

}  // namespace dt::state
