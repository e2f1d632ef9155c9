// The things to play, and the work on the way.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dt::play {

// Something to do after a call, before the next one.
struct Point {
  enum What : uint8_t { STATE, IMAGE, SNAPSHOT, OBJECT, LOOK };
  uint64_t seq = 0;
  What what = STATE;
  std::string target;  // a file, or what snapshots' names begin with
  std::string path;    // the beginning of the wanted state paths; what is wanted of an object (parse_object)
  uint64_t small = 0;  // the largest width of a picture, and of a snapshot, which is of one attachment then; 0: none
};

// Shared memory in which another process sees the player's call, also while a driver is stuck in it. The lower 48 bits
// are the number of the call (seq), the upper 16 the recording's number of its function. It is stored before each call;
// at first, and while the recording is prepared, all bits are set.
using Heartbeat = uint64_t;
constexpr Heartbeat NO_BEAT = UINT64_MAX;

enum Attachments : unsigned { WANT_COLOR = 1, WANT_DEPTH = 2, WANT_STENCIL = 4, WANT_BUFFERS = 8, WANT_FIRST = 16 };

struct Options {
  std::string trace, status_path, snapshot_prefix, frame_end = "auto", snapshot_format = "png";
  uint64_t first_frame = 0, end_frame = UINT64_MAX, stop_call = UINT64_MAX;
  bool verify = false, benchmark = false, single_thread = false, preload = false, snapshots = false, hashes = false;
  bool as_recorded = false, quiet = false, image_at_call = false;
  bool errors = false;  // say which GL errors there are, with the calls that raised them
  // One bit a call, the lowest of a byte first: play only these. Bytes after them: one bit a row of map_writes.
  std::string keep_path;
  std::vector<uint8_t> keep;
  bool shift_names = false;  // make every name of an object differ from the recorded one: for tests
  uint64_t loops = 1;
  size_t window = 16;
  std::vector<Point> points;  // ascending
  unsigned attachments = 1;   // what snapshots are of: Attachments
  enum At : uint8_t { AT_FRAMES, AT_DRAWS, AT_CALLS } snapshot_at = AT_FRAMES;
  uint64_t snapshot_every = 1;
  std::vector<std::pair<uint64_t, uint64_t>> executions;  // of Vulkan: a command, and what submits it; 0: anything
  bool x11 = false;                                       // windows are shown
  bool debug = false;                                     // the driver's messages go out
  std::string config;                                     // red=8,...: asked for instead of the recorded one
  std::string query_file;                                 // of states; "": standard output
  bool serve = false;                                     // take points from standard input
  bool look = false;                                      // these may ask what becomes of pixels and vertices
  uint64_t heartbeat = 0;                                 // descriptor of shared memory for a Heartbeat; 0: none
};

}  // namespace dt::play
