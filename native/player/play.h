// The player's state, and what generated play functions call.
#pragma once
#include <condition_variable>
#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "../mirror/gl_state.h"
#include "../state/feed.h"
#include "../state/known.h"
#include "blobs.h"
#include "findings.h"
#include "names.h"
#include "options.h"
#include "play_clock.h"
#include "shadow.h"

namespace dt::play {

// One recorded call: where its arguments stand.
struct Row : Cells {
  uint64_t seq;
};

inline const Field* field_of(const Function& f, const char* name) {
  for (auto& p : f.params)
    if (p.name == name) return &p;
  return nullptr;
}

// A recorded array.
struct In {
  const uint8_t* data = nullptr;
  uint64_t bytes = 0;
  unsigned kind = DT_DATA_NONE;
};

struct VgContext {
  uint64_t recorded = 0;
  void* real = nullptr;
  void* config = nullptr;
  std::shared_ptr<Names> objects;  // of its share group, of all kinds
};

struct AttachmentImage;
struct Surface;
struct Context : NameTables {  // the names of what contexts do not share
  uint64_t recorded = 0;
  void* real = nullptr;
  int api = 0;  // EGL_OPENGL_ES_API or EGL_OPENGL_API
  void* config = nullptr;
  std::shared_ptr<Group> group;
  uint32_t program = 0, pipeline_program = 0;  // names here
  Program* current = nullptr;                  // of `program`, nullptr: not looked up
  uint32_t list_base = 0;
  bool single_buffered = false, destroyed = false, was_current = false;
  std::list<std::vector<uint8_t>> lasting;
  std::vector<uint32_t> pending_errors;  // raised by the recording's calls, seen by a question of ours
};
struct Surface {
  uint64_t recorded = 0;
  void* real = nullptr;
  void* config = nullptr;
  int width = 0, height = 0;
  bool window = false, drawn = false;     // drawn: it was current once
  bool wiped = false;                     // its pixels do not depend on old memory
  bool late = false;                      // its pbuffer has another size still
  uint64_t first_seq = 0, first_end = 0;  // the call with which it became current, and the end of that frame
  unsigned long shown = 0;                // the window on the screen
  std::vector<int32_t> attributes;
};

class Observer;
class Windows;
namespace metrics {
class Look;
}
struct Call;
struct Coming;

const char* error_name(uint32_t error);  // of OpenGL or OpenVG

class Player {
 public:
  Player(const Trace& trace, const Options& options);
  ~Player();

  // ---- for generated functions ------------------------------------------------------------------
  void* real(unsigned id) {
    void* p = g_real[id][0];
    return DT_LIKELY(p != nullptr) ? p : resolve(id);
  }
  uint32_t name(int c, uint32_t recorded) { return names_of(c).of(recorded); }
  Names& names_of(int c) { return is_shared(c) ? context->group->names[c] : context->names[c]; }
  const uint32_t* names(int c, const uint32_t* recorded, uint64_t count);
  const void* const* pointers(const uint64_t* recorded, uint64_t count);
  void* sync(uint64_t recorded);
  void* image(uint64_t recorded);
  int32_t location(uint32_t program, int32_t recorded);
  uint32_t block(uint32_t program, uint32_t recorded, int kind);
  // A recorded address: where its content is now, if the tap recorded it for this call; else as it is (an offset).
  const void* pointer(uint64_t recorded) {
    return spans.empty() ? reinterpret_cast<const void*>(recorded) : translate(recorded);
  }
  // Objects of OpenVG in the running thread's context. Without one, names mean nothing and stay.
  uint32_t vg(uint32_t recorded) { return vg_objects() ? vg_objects()->of(recorded) : recorded; }
  Names* vg_objects() const {
    const auto& current = threads_[running_]->vg;
    return current ? current->objects.get() : nullptr;
  }
  void made_vg(const Row& w, uint32_t recorded, uint32_t now, const char* function);
  void shares_images();  // OpenVG and OpenGL see each other's work in the image that was made
  In in(const Row& w, int payload, int descriptor, uint64_t value);
  const char* text(const In& in);
  const char* const* strings(const In& in);
  void* lasting(int64_t bytes);
  enum : int { NULL_ALLOWED = 1, OFFSET_ALLOWED = 2 };
  bool enough(const Row& w, const In& in, int64_t need, int allowed, const char* name) {
    if (DT_LIKELY(in.kind == DT_DATA_INLINE || in.kind == DT_DATA_BLOB) &&
        DT_LIKELY(need <= static_cast<int64_t>(in.bytes)))
      return true;
    if (in.kind == DT_DATA_OFFSET && allowed & OFFSET_ALLOWED) return true;
    return enough_slow(w, in, need, allowed, name);
  }
  bool enough_slow(const Row& w, const In& in, int64_t need, int allowed, const char* name);
  bool enough_strings(const Row& w, const In& in, int64_t count, const char* name);
  // Drivers have been seen to crash where the buffer of indices was never filled.
  bool indices_there(const Row& w);
  bool offset_ok(const Row& w, const In& in, int64_t bound, const char* name);
  bool names_recorded(const Row& w, const In& in, int64_t bytes, const char* name);
  int64_t names_range(const Row& w, int64_t range);
  bool room(const Row& w, const In& in, int64_t bytes, int64_t bound, void** out, const char* name);
  void compare(const Row& w, const In& recorded, const void* now, const char* function);
  // The driver wrote the answer of a query to a buffer.
  void answered_in_buffer(uint32_t query, uint32_t about, uint32_t buffer, intptr_t place, bool wide);
  // An answer of the driver, unlike a read-back: `about` is the question's enumerant, `query` the query object here.
  void compare_answer(const Row& w, const In& recorded, const void* now, uint32_t about, uint32_t query,
                      const char* function);
  void same_result(const Row& w, uint64_t recorded, uint64_t now, const char* function);
  void error_result(const Row& w, uint32_t recorded, uint32_t now);
  void vg_error_result(const Row& w, uint32_t recorded, uint32_t now);
  void made(int c, const In& recorded, const uint32_t* now);
  void made_one(int c, uint32_t recorded, uint32_t now);
  void made_range(int c, uint32_t recorded, uint32_t now, int64_t count);
  void made_sync(uint64_t recorded, void* now);
  void refuse(const Row& w, const char* function, const char* why);

  bool reads_client_memory(const Thread* t) const {
    return missing_memory || (t->context && t->context->client_arrays != 0);
  }
  bool client_arrays(Thread* t, const Row& w);
  // The driver's argument for an array at a recorded address: an offset into a buffer as it is.
  const void* array(const Thread* t, const void* pointer) {
    const GlContext* c = t->context;
    // Nothing lies at no address: a draw that would read there is left out (hook array_is_read).
    bool memory = c && c->buffers[gl::ARRAY] == 0 && c->vao == 0 && pointer && !c->core;
    return memory ? shadow.at(reinterpret_cast<uint64_t>(pointer)) : pointer;
  }

  // ---- for hand-written functions ---------------------------------------------------------------
  void report(std::string kind, uint64_t call, std::string function, std::string text);
  // Play no further than the running call.
  void stop() { closed_ = true, pause_seq_ = 0; }
  const char* running = "";     // the function that plays, where somebody may want to know
  void* scratch(size_t bytes);  // 16-aligned, until the next call
  Program& program(uint32_t name) { return context->group->programs[name]; }
  const void* translate(uint64_t recorded);
  std::shared_ptr<const std::vector<uint8_t>> blob(const Hash128& hash);

  // ---- running ----------------------------------------------------------------------------------
  int run();
  void observe(Observer* observer);  // nullptr: nobody
  metrics::Look* look = nullptr;     // whom requests ask about pixels and vertices
  // Plays a record as the next one.
  void execute(Decoded* chunk, uint32_t record);
  bool visit(Context* wanted);  // makes a context current for a moment
  void keep_errors();

  struct Span {
    uint64_t begin, end;
    const uint8_t* data;  // in the shadow
  };
  Shadow shadow;
  std::vector<Span> spans;  // application memory that the next call reads
  // A holder of it may play its calls later; nullptr: it is there for good.
  std::shared_ptr<Decoded> chunk() const;
  // Plays a call that was kept, and nothing around it.
  void play_alone(Decoded* chunk, uint32_t record, uint64_t number);
  Context* context = nullptr;  // current on the running thread
  uint64_t seq = 0;
  const Trace& trace;
  const Options& options;
  std::unordered_map<uint32_t, uint32_t> query_targets;  // of query objects here
  uint64_t uncompared = 0;
  uint64_t unseen = 0;  // pictures of frames whose draws are not in the recording
  std::unordered_map<uint32_t, std::vector<uint8_t>> unknown_queries;  // per context and way: what it does not know
  bool missing_memory = false;
  bool again = false;       // a draw is made once more: the report of its faults comes when it is played
  bool began_late = false;  // the recording began in the middle of the program
  uint64_t needed_begin = 0, needed_end = 0;
  uint64_t compared = 0, different = 0, frames = 0, calls = 0, skipped = 0;

 private:
  friend class Windows;
  struct PlayerThread {
    std::thread thread;
    uint64_t current = 0, draw = 0, read = 0;  // recorded handles
    Context* context = nullptr;
    // OpenVG's context is current beside that of GL.
    std::shared_ptr<VgContext> vg;
    uint64_t vg_draw = 0;  // recorded surface
  };
  // The picture that the running thread shows, RGBA, bottom row first; false: there is nothing to show.
  bool shown_image(int& width, int& height, std::vector<uint8_t>& pixels);
  void find_gaps();
  bool draws_are_missing() const;
  std::string after_gap() const;
  void play_call(const Coming& call);
  void play_command(const Coming& call);
  void tap_record(Decoded* chunk, uint32_t record, unsigned function);
  void map_write(const FunctionColumns& c, uint32_t row);
  void memory(const FunctionColumns& c, uint32_t row);
  void native(const FunctionColumns& c, uint32_t row);
  void note(const FunctionColumns& c, uint32_t row);
  void frame_end(bool before);
  void check_error(const char* function);
  void ask_reset();
  bool failed(uint64_t call, const char* function);
  void step_until(uint32_t thread);
  void baton_loop(uint32_t self);
  bool advance();
  bool advance_any();
  bool is_left_out();
  void finish();
  bool save_frame(uint64_t frame, const std::string& path, uint64_t small = 0);
  std::vector<AttachmentImage> drawn_images(unsigned wanted, std::vector<std::string>& why);
  void snapshot(const std::string& base, uint64_t call, uint64_t small = 0);
  void snapshot_call();
  void save_object(const Point& point);
  void save_look(const Point& point);
  bool looks(Point& point, uint64_t& first);
  void pause(bool at_end);
  void do_point(const Point& point);
  bool serve(bool at_end);
  void answered();
  FILE* states();
  void hash_frame(std::string_view text);

  std::vector<Mapping> mapping_;
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<Windows> windows_;
  Observer* observer_ = nullptr;
  Findings findings_;
  std::map<std::string, uint64_t> skipped_functions_;
  std::unordered_map<uint64_t, void*> syncs_;
  std::vector<uint8_t> scratch_;
  std::list<std::vector<uint8_t>> more_scratch_;
  size_t scratch_used_ = 0;
  // Between glBegin and glEnd no query of the driver is allowed.
  static bool in_begin() { return tls.context && tls.context->in_begin; }
  bool straight_ = false, plain_call_ = true;
  struct GlError {
    const void* context;  // OpenGL's or OpenVG's
    uint32_t error;
    uint64_t call;
    std::string function;
  };
  bool taken(const void* of, GlError& first);
  std::string reset_;                                     // a context was lost, and whose fault that was
  std::vector<GlError> errors_;                           // raised here and not asked for by the recording yet
  std::vector<void (Windows::*)(const Call&)> handlers_;  // per function of the trace that is not GL
  std::vector<uint8_t> unplayable_;

  Blobs blobs_;

  std::vector<std::unique_ptr<PlayerThread>> threads_;
  uint32_t running_ = 0;  // recorded thread that plays now
  std::mutex baton_;
  std::condition_variable handed_;
  bool over_ = false;
  Decoded* next_chunk_ = nullptr;
  uint32_t next_record_ = 0;
  std::vector<uint64_t> ends_, gaps_;  // seq of calls; numbers of frames without draws, ascending
  size_t next_end_ = 0;
  // After the call pause_seq_ there is something to do; those up to passed_seq_ are done.
  uint64_t pause_seq_ = UINT64_MAX, passed_seq_ = 0;
  size_t next_point_ = 0;
  Point served_;
  bool waits_ = false, left_ = false;  // a served point waits for its call; whoever asks has left
  bool started_points_ = false, closed_ = false;
  uint64_t snapshots_seen_ = 0;
  FILE* states_ = nullptr;
  uint64_t end_seq_ = UINT64_MAX;  // of the call that ends the running frame
  uint64_t frame_ = 0;
  std::vector<std::string> frame_hashes_;
  std::vector<Item> kept_;
  std::vector<uint64_t> stored_rows_;  // per chunk: its first row of the table map_writes, where `keep` has rows
  uint64_t loops_done_ = 0;
  size_t kept_at_ = 0;
  double started_ = 0, measured_from_ = 0, ended_ = 0;
  uint64_t measured_calls_ = 0, measured_frames_ = 0, calls_at_start_ = 0;
  std::vector<double> frame_times_;
  int64_t first_time_ns_ = -1;
  FILE* status_ = nullptr;
  double last_progress_ = 0;
  Heartbeat no_beat_ = NO_BEAT;
  Heartbeat* heartbeat_ = &no_beat_;  // shared memory, where somebody watches
};

}  // namespace dt::play
