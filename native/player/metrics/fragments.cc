// Fragments: how many a draw makes, how many of them the shader or the alpha test discards, how many reach the target,
// and how often each pixel is drawn over.
//
// The player repeats each draw before it plays the draw itself, with every effect switched off. In OpenGL, occlusion
// queries count on the program's own target. Elsewhere the stencil buffer of a private framebuffer of the same size
// counts: each fragment adds one to its pixel, and the pixels are read back.
// Fragments that pass the program's depth test darken their pixel by one step, beside a copy of the program's depth
// buffer. Clears and draws are repeated on the copy; it is copied anew only after other changes of the original. Pixels
// are read back some draws later, when the driver has long drawn them; nothing waits for a draw. If the program tests
// stencil, or its depth buffer cannot be copied, colours are added up instead.
// A change of the framebuffer and back costs llvmpipe more than most draws. There, draws are counted in place: shaders
// put an integer for each two by two pixels into a list in a storage block, or many of them into a plane. Overdraw is
// the sum of such pictures over a frame.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "draw_state.h"
#include "fetches.h"
#include "overdraw.h"
#include "programs.h"
#include "source.h"
#include "gl_enums.h"

namespace dt::play::metrics {
namespace {

constexpr uint32_t AS_TEXTURE = 1;         // instead of the format of a renderbuffer
constexpr uint64_t FEW_VERTICES = 4000;    // that are transformed twice rather than waited for
constexpr size_t SLOTS = 8;                // pictures of a kind that wait for being read back
constexpr uint64_t FEW_FRAGMENTS = 8192;   // that are listed one by one rather than drawn to another framebuffer
constexpr size_t LISTS_SIZE = 1 << 21;     // integers of lists
constexpr uint64_t ROOM = 4096;            // fragments that a list has room for at least
constexpr uint64_t MANY_FRAGMENTS = 2048;  // of a draw
constexpr size_t MOST_PUT_OFF = 4096;      // draws, and calls between them
constexpr size_t MOST_PRIVATE = 16;        // framebuffers of ours a context
constexpr size_t MOST_DRAWS_KEPT = 4096;   // whose results nobody fetched

struct Known {
  const char *spec, *group, *unit;
  What what;
};
const Known KNOWN[] = {
    {"generated", "count", "count", GENERATED},
    {"discarded", "count", "count", DISCARDED},
    {"passed", "count", "count", PASSED},
    {"written", "count", "count", WRITTEN},
    {"samples_generated", "count", "count", SAMPLES_GENERATED},
    {"samples_discarded", "count", "count", SAMPLES_DISCARDED},
    {"samples_passed", "count", "count", SAMPLES_PASSED},
    {"samples_written", "count", "count", SAMPLES_WRITTEN},
    {"fetches", "texture", "count", FETCHES},
    {"vertex_fetches", "texture", "count", EARLIER_FETCHES},
    {"mean", "overdraw", "count", MEAN},
    {"most", "overdraw", "count", MOST},
    {"covered", "overdraw", "count", COVERED},
    {"above_1", "overdraw", "percent", ABOVE_1},
    {"above_2", "overdraw", "percent", ABOVE_2},
    {"above_4", "overdraw", "percent", ABOVE_4},
    {"above_8", "overdraw", "percent", ABOVE_8},
};
const Known* known(const std::string& spec) {
  for (auto& k : KNOWN)
    if (spec == k.spec) return &k;
  return nullptr;
}

// Why there are no occlusion queries that count, "": there are.
std::string no_queries() {
  if (!tls.context || !version()) return "there is no context";
  if (is_es()) return "OpenGL ES tells only whether samples passed";
  return version() >= 15 ? "" : "OpenGL 1.5 has queries";
}
// Why pixels cannot be counted in a private framebuffer.
std::string no_pictures() {
  if (!tls.context || !version()) return "there is no context";
  if (is_es() && version() < 20)
    return has_extension("GL_OES_framebuffer_object") && has_extension("GL_OES_rgb8_rgba8")
               ? ""
               : "the driver has no GL_OES_framebuffer_object";
  if (version() < 30)
    return is_es() ? "it takes OpenGL ES 3.0: a framebuffer with a copy of the depth" : "it takes OpenGL 3.0";
  if (is_es() && !has_extension("GL_NV_read_stencil") && !has_extension("GL_NV_read_depth_stencil"))
    return "the driver has no GL_NV_read_stencil";
  return "";
}
std::string no_metric(What what) {
  bool old = is_es() && version() < 20;
  if (what == FETCHES || what == EARLIER_FETCHES) return old ? no_pictures() : FetchCounter::missing();
  std::string queries = no_queries(), pictures = no_pictures();
  if (what >= MEAN) return pictures;
  return queries.empty() ? "" : pictures;
}

struct Count {
  const char* lost = nullptr;
  uint32_t query = 0;
  uint64_t value = 0;
};
struct Drawn {
  uint64_t key = 0;  // of the draw
  // real: a query runs while it is played; discards: fragments may be
  bool writes = false, real = false, discards = false;
  Count generated, survived, passed;
  // Of a target with several samples a pixel, where fragments are something else.
  bool sampled = false;
  Count samples_generated, samples_survived, samples_passed;
  std::shared_ptr<Piece> own;                                     // instead of that query: a part of the program's own
  Count& queried() { return sampled ? samples_passed : passed; }  // by a query that is `real`
  FetchCounter::Count fetches;
  int reads = -1;                 // of textures by each fragment, where `fetches` need not be counted
  size_t unread = 0;              // pictures of it
  const char* refused = nullptr;  // why it could not be drawn once more, found out late
};

class FragmentSource : public Source {
 public:
  struct Entry {
    int metric;
    What what;
  };
  FragmentSource(const std::vector<int>& numbers, std::vector<Entry> entries)
      : Source(numbers), entries_(std::move(entries)) {
    for (auto& e : entries_) {
      counts_again_ |=
          e.what == GENERATED || e.what == DISCARDED || e.what == SAMPLES_GENERATED || e.what == SAMPLES_DISCARDED;
      discards_ |= e.what == DISCARDED || e.what == SAMPLES_DISCARDED;
      passes_ |= e.what == PASSED || e.what == WRITTEN || e.what == SAMPLES_PASSED || e.what == SAMPLES_WRITTEN;
      fetches_ |= e.what == FETCHES || e.what == EARLIER_FETCHES;
      pictures_ |= e.what >= MEAN;
    }
  }
  int order() const override { return 2; }
  unsigned watches() const override { return WATCH_DRAWS | WATCH_LINKS | WATCH_CALLS; }
  void see(const Call& call) override {
    const Changes changes = changes_of(call.name);
    if (changes.uniforms) uniform_epoch_ = next_epoch();
    if (!call.in_list && changes.depth) ++depth_epoch_;
  }
  void linked(uint32_t program) override { program_linked(program); }

  void around(Draw& draw) override {
    State& s = states_[current_context()];
    abandon(s);
    if (s.in_place && goes_on(s, draw)) {
      ++frame_->draws;
      return;
    }
    restore(nullptr);
    if (s.begun != frames_) {
      s.begun = frames_;
      if (std::any_of(s.jobs.begin(), s.jobs.end(), [](auto& j) { return j.kind == LISTED; })) turn_lists(s);
    }
    const bool queries = no_queries().empty();
    if (!(draw.flags & 8) && !*draw.refusal() && draw.given().vertices <= 0) {  // FLAG_DRAW
      if (passes_ && !queries && !strcmp(draw.name, "glClear")) {
        const auto mask = static_cast<uint32_t>(draw.number("mask"));
        version() < 20 ? clear_mirror(s, mask) : cleared(s, mask);
      }
      return;
    }
    follows_ = false;
    count(s, draw, queries);
    ++s.ordinal;
    if (!alone || draw.in_query) s.kept.end();  // somebody else may want such a query
    // What is drawn without our depth buffers following it leaves them behind.
    if (!follows_ && passes_ && !queries && enabled(GL_DEPTH_TEST) && boolean(GL_DEPTH_WRITEMASK))
      ++depth_epoch_, s.mirror.equal = false;
    drain_errors();
  }
  // Draws were played with a program of ours.
  bool restore(const Call* next) override {
    State& s = states_[current_context()];
    if (!s.in_place) return false;
    const Changes changes = next ? changes_of(next->name) : Changes{};
    if (changes.nothing) return true;
    if (!s.in_place->put_off.empty()) {
      if (changes.inputs && changes.uniforms)
        s.in_place->stale = true;
      else if (!changes.inputs || !stay_put_off(*s.in_place, *next))
        draw_put_off(s);
    }
    if (changes.inputs) {
      // The next draw may be counted like this one. What these change of a program they change of the one that is
      // current.
      if (changes.uniforms && !s.in_place->left) use_program(s.in_place->program), s.in_place->left = true;
      return true;
    }
    if (!s.in_place->left) use_program(s.in_place->program);
    s.storage.give_back();
    s.in_place.reset();
    return false;
  }

  bool begin(uint64_t segment, std::string& why) override {
    State& s = states_[current_context()];
    if (segment == TRIAL || !s.asked) {
      s.asked = true;
      for (auto& e : entries_)
        if (std::string no = no_metric(e.what); !no.empty()) s.why = lasting(no);
    }
    if (s.why) return why = s.why, false;
    Pending p;
    p.segment = segment;
    if (segment == TRIAL && passes_ && no_queries().empty()) {
      // Whether the driver's only query of samples is free beside the others of the pass.
      p.drawn = std::make_shared<Drawn>();
      p.drawn->real = true;
      p.drawn->passed.query = take(s);
      s.kept.end();
      DT_REAL(void, glBeginQuery, uint32_t, uint32_t)(GL_SAMPLES_PASSED, p.drawn->passed.query);
      if (take_error()) {
        give_back(s, *p.drawn);
        return why = "the driver refuses another query of samples beside the one that runs", false;
      }
    } else if (segment != TRIAL && segment != CALIBRATION) {
      p.drawn = std::move(s.drawn);
      if (p.drawn && p.drawn->own && !p.drawn->queried().lost) {
        p.drawn->queried().query = p.drawn->own->name;
        p.drawn->real = false;
      } else if (p.drawn && p.drawn->real && !p.drawn->queried().lost) {
        p.drawn->queried().query = take(s);
        s.kept.end();
        DT_REAL(void, glBeginQuery, uint32_t, uint32_t)(GL_SAMPLES_PASSED, p.drawn->queried().query);
      } else if (p.drawn) {
        p.drawn->real = false;
      }
    }
    s.pending.push_back(std::move(p));
    return true;
  }
  void end() override {
    State& s = states_[current_context()];
    Pending& p = s.pending.back();
    if (p.drawn && p.drawn->real) DT_REAL(void, glEndQuery, uint32_t)(GL_SAMPLES_PASSED);
    p.ended = true;
    if (p.segment == TRIAL) {
      if (p.drawn) give_back(s, *p.drawn);
      s.pending.pop_back();
      return;
    }
    if (!pictures_) return;
    p.overdraw = frame_->sums;
    if (frame_->why) p.overdraw.why = frame_->why;
    // What is drawn so far is known when the last of its pictures is read.
    auto last = std::find_if(s.jobs.rbegin(), s.jobs.rend(), [&](const Job& j) { return j.frame == frame_; });
    if (last != s.jobs.rend()) last->told.push_back(&p), p.unread = true;
  }
  void collect(Sink& to, bool wait) override {
    auto it = states_.find(current_context());
    if (it == states_.end()) return;
    State& s = it->second;
    if (wait) s.kept.end();
    while (!s.pending.empty() && s.pending.front().ended) {
      Pending& p = s.pending.front();
      bool now = wait || s.pending.size() > MOST_DRAWS_KEPT;
      if (!ready(s, p, now) || (p.drawn && !s.fetches.take(p.drawn->fetches, now))) return;
      for (auto& e : entries_) deliver(to, p, e);
      if (p.drawn) give_back(s, *p.drawn);
      s.pending.pop_front();
    }
  }
  void leave() override {
    auto it = states_.find(current_context());
    uniform_epoch_ = next_epoch();  // programs are shared
    if (it == states_.end()) return;
    it->second.kept.end();
    it->second.mirror.equal = false;  // other surfaces may come
    read_back(it->second);
  }
  bool pending(const void* context) const override {
    auto it = states_.find(context);
    return it != states_.end() && !it->second.pending.empty();
  }
  void forget(const void* context) override {
    auto it = states_.find(context);
    if (it == states_.end()) return;
    State& s = it->second;
    if (context == current_context() && context) {
      abandon(s);
      for (auto& p : s.pending)
        if (p.drawn) give_back(s, *p.drawn);
      if (!s.free.empty())
        DT_REAL(void, glDeleteQueries, int, const uint32_t*)(static_cast<int>(s.free.size()), s.free.data());
      drop(s.counting);
      drop(s.adding);
      drop(s.sampled);
      drop_slots(s);
      drop_mirror(s);
      drop_lists(s);
      if (s.empty) DT_REAL(void, glDeleteFramebuffers, int, const uint32_t*)(1, &s.empty);
      s.kept.forget(true);
      s.fetches.forget(true);
    }
    for (auto& job : s.jobs)
      if (job.frame) job.frame->lose_read("the context went before what it drew was read back"), read(*job.frame);
    states_.erase(it);
  }
  bool uses(uint32_t target) const override { return disturbs(target); }
  bool disturbs(uint32_t target) const override {
    // Samples, any samples, and all that a draw that is made again would count too.
    return target == GL_SAMPLES_PASSED || target == GL_ANY_SAMPLES_PASSED ||
           target == GL_ANY_SAMPLES_PASSED_CONSERVATIVE || target == GL_PRIMITIVES_GENERATED ||
           target == GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN ||
           (target >= GL_TRANSFORM_FEEDBACK_OVERFLOW && target <= GL_CLIPPING_OUTPUT_PRIMITIVES) ||
           target == GL_GEOMETRY_SHADER_INVOCATIONS;
  }
  void block(uint32_t /*target*/, bool blocked) override {
    if (auto it = states_.find(current_context()); blocked && it != states_.end()) it->second.kept.end();
  }
  void frame(uint64_t number) override {
    ++depth_epoch_;
    uniform_epoch_ = next_epoch();
    ++frames_;
    for (auto& [context, s] : states_) s.ordinal = 0, s.mirror.equal = false, s.kept.drawn();
    frame_->over = true;
    frame_->number = number;
    if (!frame_->unread) save(*frame_);
    frame_ = std::make_shared<Frame>();
  }

 private:
  struct Changes {
    // inputs: values of uniforms or where vertices come from, no more; nothing: also whatever is current is the same to
    // it.
    bool depth = false, uniforms = false, inputs = false, nothing = false;
  };
  struct Pending {
    uint64_t segment = 0;
    std::shared_ptr<Drawn> drawn;  // nullptr: nothing
    Overdraw overdraw;
    bool ended = false, unread = false;  // unread: `overdraw` is not known yet
  };
  struct Private {
    uint32_t framebuffer = 0, color = 0, storage = 0, texture = 0;
    bool waits = false;  // for being read back
  };
  // A depth buffer of ours that is kept equal to that of a target of the program's.
  struct Depth {
    uint32_t storage = 0, texture = 0, owner = 0;  // one of the first two; owner: the program's framebuffer
    uint64_t epoch = 0;                            // equal as long as this is depth_epoch_
  };
  // What kind of picture: counts in a stencil buffer, steps down from the brightest colour in 8 or 16 bits, or a list
  // of fragments.
  enum Kind : uint32_t { STENCILS, STEPS_8, STEPS_16, LISTED, KINDS };
  // A picture that was drawn and is to be read back.
  struct Job {
    std::shared_ptr<Drawn> drawn;
    std::shared_ptr<Frame> frame;  // where its stencil counts add to a picture of the frame
    Picture* picture = nullptr;
    Private* slot = nullptr;
    Kind kind = STENCILS;
    int box[4] = {};
    size_t ordinal = 0;              // of the draw in its frame
    uint64_t made_in = 0, draw = 0;  // in which frame, and see draw_key()
    Placed placed = Placed::NUMBER;  // LISTED: as what
    // LISTED: where in the buffer it is counted, and how many integers have room there
    size_t first = 0, room = 0;
    int odd = 0;                                                   // see Place
    int lists = 0;                                                 // in which buffer, or which was in use then
    bool stencil = false;                                          // the stencil buffer counted
    Count Drawn::*counts = nullptr, Drawn::*counts_too = nullptr;  // what the sum of the stencil buffer is
    Count Drawn::* steps = nullptr;                                // and that of the steps
    bool samples_too = false;                                      // these pass, too
    Count Drawn::* samples = nullptr;                              // LISTED as SAMPLES: how many are covered
    std::vector<Pending*> told;  // whose sums of the frame include this picture and none behind it
  };
  struct Target {
    uint32_t draw = 0, read = 0, format = 0;
    Extent size;
    int depth_bits = 0;
    bool depth_is_float = false;
  };
  struct PutOff {
    std::unique_ptr<Draw> call;
    std::shared_ptr<Drawn> drawn;  // nullptr: it draws nothing, but says where vertices come from
    Placed placed = Placed::NUMBER;
    Place place;
    size_t uniforms = 0;  // which of the values
  };
  struct Array {
    int enabled = 0, size = 0, type = 0, normalized = 0, stride = 0, buffer = 0;
    void* pointer = nullptr;
  };
  struct InPlace {
    uint32_t program = 0, target = 0;                        // the program's own
    Extent size;                                             // of the target
    uint64_t few = 0;                                        // fragments
    bool pictured = false, writes = false, repeats = false;  // repeats: nothing but this counts the draw
    int reads = -1;                                          // see Drawn
    bool discards = false;
    // the program's own is current, for a call that changes its uniforms
    bool left = false;
    Job job;
    // Behind tests its own draw does not tell how many are generated: it is drawn once more, without them. That is put
    // off while draws follow with other inputs at most, since llvmpipe copies 33 KB for each change between the two.
    std::optional<Job> all{};
    std::vector<PutOff> put_off{};
    std::vector<std::array<std::optional<UniformValues>, 3>> uniforms{};  // by Placed
    std::map<uint32_t, Array> arrays{};  // as the first of them had those that have been changed since
    bool stale = false;                  // the uniforms are not the last of these any more
  };
  struct State {
    bool asked = false;
    const char* why = nullptr;
    std::vector<uint32_t> free;
    std::deque<Pending> pending;
    std::shared_ptr<Drawn> drawn;
    FetchCounter fetches;
    std::deque<Job> jobs;
    std::map<std::array<uint32_t, 4>, std::deque<Private>> slots;  // by kind, depth format and size
    std::map<std::array<uint32_t, 3>, Depth> depths;               // by format and size
    struct {
      uint64_t epoch = 0;
      uint32_t owner = 0;
      float value = 1;
    } clear;  // what the whole depth buffer of the program's was cleared to last
    struct {
      int here = -1;  // whether draws can be counted in place, -1: not known
      bool broken = false;
      // What a frame lists is read when the next one is drawn, so that nobody waits: they take turns.
      CountBuffer buffers[2];
      size_t used[2] = {};
      int now = 0;
      void* drawn = nullptr;       // a fence behind what was listed in the other one
      size_t size = 0, plane = 0;  // integers of each; plane: one a pixel, in front of all lists
    } lists;
    uint32_t empty = 0;  // a framebuffer without anything
    // copies that count in place: height of the window, -1: of none
    std::map<std::tuple<uint32_t, bool, Placed>, int> drew_to;
    StorageBinding storage;
    std::optional<InPlace> in_place;  // the draw that is being played
    // How many fragments the draws of a frame made when they were counted last, and when that was, by their order.
    struct Made {
      uint64_t frame = 0, draw = 0;                  // draw: what seems to be the same, see draw_key()
      uint64_t fragments = 0, before = 0, seen = 0;  // of the frame, of the one before it, in how many
    };
    std::vector<Made> made;
    size_t ordinal = 0;  // of the next draw in its frame
    uint64_t begun = 0;  // the last frame that something was drawn in
    // targets whose depth a buffer of ours follows, and in which frame it had to last
    std::map<uint32_t, uint64_t> followed;
    KeptDraws kept;
    bool tried[KINDS] = {};  // whether pictures of a kind have been read back without an error
    // OpenGL ES 1: a framebuffer whose depth buffer is equal to the window's, as long as it is.
    struct {
      uint32_t framebuffer = 0, color = 0, storage = 0;
      Extent size;
      bool equal = false;
    } mirror;
    // Private framebuffers by format and size: those that count in a stencil buffer, those that add up colours.
    std::map<std::array<uint32_t, 3>, Private> counting, adding, sampled;
    uint32_t framebuffer = 0;  // the one in use
    std::vector<uint8_t> read;
  };

  // ---- what is given to and taken from the driver -----------------------------------------------

  uint32_t take(State& s) {
    if (s.free.empty()) {
      s.free.resize(32);
      DT_REAL(void, glGenQueries, int, uint32_t*)(32, s.free.data());
    }
    uint32_t name = s.free.back();
    s.free.pop_back();
    return name;
  }
  void give_back(State& s, Drawn& d) {
    for (Count* c :
         {&d.generated, &d.survived, &d.passed, &d.samples_generated, &d.samples_survived, &d.samples_passed})
      if (c->query && !(d.own && d.own->name == c->query)) s.free.push_back(c->query);
    for (Count* c :
         {&d.generated, &d.survived, &d.passed, &d.samples_generated, &d.samples_survived, &d.samples_passed})
      c->query = 0;
  }
  void abandon(State& s) {
    if (s.drawn) give_back(s, *s.drawn);
    s.drawn = nullptr;
  }
  bool ready(State& s, Pending& p, bool wait) {
    if (p.unread || (p.drawn && p.drawn->unread)) {
      if (!wait) return false;
      read_back(s);
    }
    if (!p.drawn) return true;
    static const auto get = DT_REAL(void, glGetQueryObjectuiv, uint32_t, uint32_t, uint32_t*);
    static const auto get64 = DT_REAL(void, glGetQueryObjectui64v, uint32_t, uint32_t, uint64_t*);
    Drawn& d = *p.drawn;
    if (d.own && d.own->runs) {
      if (!wait) return false;
      d.own->settle();
    }
    for (Count* c :
         {&d.passed, &d.survived, &d.generated, &d.samples_passed, &d.samples_survived, &d.samples_generated}) {
      if (!c->query) continue;
      const ResultsHere here;
      uint32_t there = 0;
      if (!wait) get(c->query, GL_QUERY_RESULT_AVAILABLE, &there);
      if (!wait && !there) return false;
      if (get64 && version() >= 33) {
        get64(c->query, GL_QUERY_RESULT, &c->value);
      } else {
        uint32_t v = 0;
        get(c->query, GL_QUERY_RESULT, &v);
        c->value = v;
      }
    }
    return true;
  }
  static void deliver(Sink& to, const Pending& p, const Entry& e) {
    static const Drawn nothing;
    const Drawn& d = p.drawn ? *p.drawn : nothing;
    auto tell = [&](const Count& c, double v) {
      c.lost ? to.lost(p.segment, e.metric, c.lost) : to.value(p.segment, e.metric, v);
    };
    const bool samples = d.sampled && e.what >= SAMPLES_GENERATED && e.what <= SAMPLES_WRITTEN;
    const Count &generated = samples ? d.samples_generated : d.generated,
                &survived = samples ? d.samples_survived : d.survived, &passed = samples ? d.samples_passed : d.passed;
    switch (e.what) {
      case GENERATED:
      case SAMPLES_GENERATED: return tell(generated, static_cast<double>(generated.value));
      case DISCARDED:
      case SAMPLES_DISCARDED:
        if (generated.lost) return to.lost(p.segment, e.metric, generated.lost);
        return tell(survived,
                    d.discards ? static_cast<double>(generated.value) - static_cast<double>(survived.value) : 0);
      case PASSED:
      case SAMPLES_PASSED: return tell(passed, static_cast<double>(passed.value));
      case WRITTEN:
      case SAMPLES_WRITTEN: return tell(passed, d.writes ? static_cast<double>(passed.value) : 0);
      case FETCHES:
      case EARLIER_FETCHES:
        if (d.fetches.lost) return to.lost(p.segment, e.metric, d.fetches.lost);
        if (d.reads >= 0)
          return e.what == FETCHES ? tell(d.generated, static_cast<double>(d.generated.value) * d.reads)
                                   : to.value(p.segment, e.metric, 0);
        return to.value(p.segment, e.metric,
                        static_cast<double>(e.what == FETCHES ? d.fetches.fragment : d.fetches.earlier));
      default:
        if (p.overdraw.why) return to.lost(p.segment, e.metric, p.overdraw.why);
        return to.value(p.segment, e.metric, p.overdraw.value(e.what));
    }
  }

  // ---- what a draw is ---------------------------------------------------------------------------

  void lose(Drawn& d, const char* why, bool passed) {
    d.generated.lost = d.survived.lost = d.fetches.lost = why;
    if (passed) d.passed.lost = why;
    if (pictures_) frame_->lose(why);
  }

  // Counts a draw, or says why not.
  void count(State& s, Draw& draw, bool queries) {
    s.drawn = std::make_shared<Drawn>();
    ++frame_->draws;
    Drawn& d = *s.drawn;
    d.real = queries && passes_;
    if (d.real) d.own = draw.samples;
    if (passes_) d.writes = writes_color();
    const char* why = *draw.refusal() ? draw.refusal() : unrepeatable(draw);
    if (why)
      lose(d, lasting(why), !queries);
    else if (version() >= 30 && enabled(GL_RASTERIZER_DISCARD))
      undrawn(s, d, draw);
    else
      again(s, d, draw, queries);
  }

  // Nothing is rasterised; vertices may read textures.
  void undrawn(State& s, Drawn& d, Draw& draw) {
    follows_ = true;
    if (fetches_) count_fetches(s, d, draw, current_program(), false);
  }

  // What a call may change that is kept track of. Of those that draw nothing only these leave depth buffers as they
  // are, those that are attached too.
  Changes changes_of(const char* function) {
    auto [it, fresh] = changes_.emplace(function, Changes{});
    if (!fresh) return it->second;
    std::string_view name = function;
    it->second.uniforms = name.starts_with("glUniform") || name.starts_with("glProgram") ||
                          name.starts_with("glLink") || name.starts_with("glCallList") || name.starts_with("egl");
    it->second.inputs = name == "glVertexAttribPointer" || name == "glEnableVertexAttribArray" ||
                        name == "glDisableVertexAttribArray" ||
                        (name.starts_with("glUniform") && !name.starts_with("glUniformSub") &&
                         !name.starts_with("glUniformBlock") && name.find("Handle") == name.npos);
    it->second.nothing = name == "glGetUniformLocation" || name == "glGetAttribLocation";
    bool keeps = name == "glClear";  // around() sees to it
    for (std::string_view known : {"glUniform",
                                   "glUseProgram",
                                   "glVertexAttrib",
                                   "glEnable",
                                   "glDisable",
                                   "glBindBuffer",
                                   "glBindVertexArray",
                                   "glBindTexture",
                                   "glBindSampler",
                                   "glActiveTexture",
                                   "glBufferData",
                                   "glBufferSubData",
                                   "glMapBuffer",
                                   "glUnmapBuffer",
                                   "glFlushMapped",
                                   "glBlendColor",
                                   "glBlendEquation",
                                   "glBlendFunc",
                                   "glDepth",
                                   "glCull",
                                   "glFrontFace",
                                   "glViewport",
                                   "glScissor",
                                   "glColorMask",
                                   "glClearColor",
                                   "glClearDepth",
                                   "glClearStencil",
                                   "glStencil",
                                   "glGet",
                                   "glIs",
                                   "glTexParameter",
                                   "glSamplerParameter",
                                   "glPolygonOffset",
                                   "glLineWidth",
                                   "glSampleCoverage",
                                   "glDraw",
                                   "glMultiDraw",
                                   "glPixelStore",
                                   "glHint",
                                   "glCheckFramebufferStatus",
                                   "glCreateShader",
                                   "glCreateProgram",
                                   "glShaderSource",
                                   "glCompileShader",
                                   "glAttachShader",
                                   "glDetachShader",
                                   "glLinkProgram",
                                   "glBindAttribLocation",
                                   "glDeleteShader",
                                   "glDeleteProgram",
                                   "glDeleteBuffers",
                                   "glGenBuffers",
                                   "glGenTextures",
                                   "glPushDebug",
                                   "glPopDebug",
                                   "glPushGroup",
                                   "glPopGroup",
                                   "glObjectLabel",
                                   "eglGet",
                                   "eglQuery"})
      keeps = keeps || name.starts_with(known);
    if (name.starts_with("glDrawBuffers") || name.starts_with("glDrawPixels") || name.starts_with("glDrawTex"))
      keeps = false;
    it->second.depth = !keeps;
    return it->second;
  }

  // The program clears its depth buffer.
  void cleared(State& s, uint32_t mask) {
    static const auto status = DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t);
    static const auto get = DT_REAL(void, glGetFloatv, uint32_t, float*);
    if (version() < 30 || !(mask & GL_DEPTH_BUFFER_BIT) || mask & ~0x4500u || !boolean(GL_DEPTH_WRITEMASK) ||
        enabled(GL_RASTERIZER_DISCARD))
      return;
    ++depth_epoch_;
    if (enabled(GL_SCISSOR_TEST) || status(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) return;
    s.clear.epoch = depth_epoch_;
    s.clear.owner = static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING));
    get(GL_DEPTH_CLEAR_VALUE, &s.clear.value);
  }

  // Whether any colour buffer is written.
  static bool writes_color() {
    static const auto get = DT_REAL(void, glGetBooleanv, uint32_t, uint8_t*);
    static const auto get_indexed = DT_REAL(void, glGetBooleani_v, uint32_t, uint32_t, uint8_t*);
    static const auto attachment =
        DT_REAL(void, glGetFramebufferAttachmentParameteriv, uint32_t, uint32_t, uint32_t, int*);
    uint8_t mask[4] = {};
    if (version() < 30) {
      get(GL_COLOR_WRITEMASK, mask);
      return mask[0] | mask[1] | mask[2] | mask[3];
    }
    uint32_t framebuffer = static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING));
    bool indexed = get_indexed && version() >= (is_es() ? 32u : 30u);
    for (uint32_t i = 0, n = static_cast<uint32_t>(std::clamp(integer(GL_MAX_DRAW_BUFFERS), 1, 16)); i < n; ++i) {
      int buffer = integer(GL_DRAW_BUFFER0 + i), type = 1;
      if (!buffer) continue;
      if (framebuffer)
        attachment(GL_DRAW_FRAMEBUFFER, static_cast<uint32_t>(buffer), GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE, &type);
      indexed ? get_indexed(GL_COLOR_WRITEMASK, i, mask) : get(GL_COLOR_WRITEMASK, mask);
      if (type && (mask[0] | mask[1] | mask[2] | mask[3])) return true;
    }
    return false;
  }

  static uint32_t current_program() { return version() >= 20 ? static_cast<uint32_t>(integer(GL_CURRENT_PROGRAM)) : 0; }

  // Why a draw may not be made once more, nullptr: it may.
  static const char* unrepeatable(const Draw& draw) {
    if (!strcmp(draw.name, "glBitmap")) return "glBitmap moves the raster position";
    uint32_t program = current_program();
    if (!program) {
      if (version() >= (is_es() ? 31u : 41u) && integer(GL_PROGRAM_PIPELINE_BINDING))
        return "a pipeline of separate programs draws it";
      if (!fixed_function()) return "no program draws it";
      if (!is_es() && has_extension("GL_ARB_fragment_program") && enabled(GL_FRAGMENT_PROGRAM_ARB))
        return "an ARB fragment program draws it";
      if (!is_es() && has_extension("GL_ATI_fragment_shader") && enabled(GL_FRAGMENT_SHADER_ATI))
        return "an ATI fragment shader draws it";
      return nullptr;
    }
    const ProgramSource* source = program_source(program);
    if (!source) return "the text of its shaders is not known";
    if (source->writes_memory) return "its shaders write memory: drawn again, they would do so again";
    return nullptr;
  }

  // ---- drawing it again -------------------------------------------------------------------------

  void again(State& s, Drawn& d, Draw& draw, bool queries) {
    static const auto pause = DT_REAL(void, glPauseTransformFeedback);
    static const auto resume = DT_REAL(void, glResumeTransformFeedback);
    bool feedback = version() >= (is_es() ? 30u : 40u) && pause && resume && boolean(GL_TRANSFORM_FEEDBACK_ACTIVE) &&
                    !boolean(GL_TRANSFORM_FEEDBACK_PAUSED);
    if (feedback) pause();
    uint32_t program = current_program();
    const ProgramSource* source = program ? program_source(program) : nullptr;
    bool samples = version() >= 13 && integer(GL_SAMPLE_BUFFERS) > 0;
    bool alpha = fixed_function() && enabled(GL_ALPHA_TEST);
    bool coverage = samples && (enabled(GL_SAMPLE_ALPHA_TO_COVERAGE) || enabled(GL_SAMPLE_COVERAGE) ||
                                (version() >= (is_es() ? 31u : 32u) && enabled(GL_SAMPLE_MASK)));
    bool shader = source && source->discards;
    d.key = draw_key(program, version() >= 30 ? static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING)) : 0, draw);
    d.discards = alpha || coverage || shader;
    if (is_es() && version() < 20) return count_plain(s, d, draw, alpha);
    // Where all can be counted in place, a query for each draw would only cost more.
    if (samples) {
      count_sampled(s, d, draw, program, shader, alpha || coverage, queries, !feedback && !draw.in_query);
      if (fetches_) count_fetches(s, d, draw, program, samples);
      if (feedback) resume();
      if (s.in_place) play_in_place(s, d, draw);
      return;
    }
    const bool here = !feedback && !alpha && !draw.in_query,
               all_here = here && count_in_place(s, d, draw, program, source, queries, true);
    if (all_here || (here && queries && count_in_place(s, d, draw, program, source, queries, false))) {
      if (!all_here && counts_again_) count_by_queries(s, d, draw, program, shader, false);
      if (fetches_) count_fetches(s, d, draw, program, samples);
      if (s.in_place) play_in_place(s, d, draw);
      return;
    }
    // Where there is an exact picture of what is generated, no query has to count it too.
    bool counted = queries && pictures_ && counts_again_ && most_fragments(draw, source) <= 254 &&
                   (integer(GL_DRAW_FRAMEBUFFER_BINDING) || can_turn());
    if (pictures_ || (!queries && (counts_again_ || passes_)))
      counted = !count_by_pictures(s, d, draw, program, source, shader, !queries, counted) && counted;
    if (queries && counts_again_) count_by_queries(s, d, draw, program, shader, !counted);
    if (fetches_) count_fetches(s, d, draw, program, samples);
    if (feedback) resume();
  }

  // Performs it; with `bare` with a fragment shader that leaves nothing out. nullptr: done, else why not.
  static const char* perform(Draw& draw, uint32_t program, bool bare) {
    std::string why;
    bool drew = false;
    if (bare && !use_bare_copy(program, why)) {
      use_program(program);
      return lasting(why);
    }
    drew = draw.perform();
    if (bare) use_program(program);
    return drew ? nullptr : "the player left it out";
  }

  // No pixel has more fragments of a draw than this.
  static uint64_t most_fragments(const Draw& draw, const ProgramSource* source) {
    if (source)
      for (auto& [stage, text] : source->stages)
        if (stage != GL_FRAGMENT_SHADER && stage != GL_VERTEX_SHADER) return UINT64_MAX;  // it may make more of them
    const uint64_t vertices = vertices_of(draw);
    return vertices > UINT32_MAX ? UINT64_MAX : is_es() ? vertices : 3 * vertices;  // outlines of triangles
  }
  // How many vertices a draw gives at most, as often as it gives them.
  static uint64_t vertices_of(const Draw& draw) {
    if (int64_t given = draw.given().vertices; given >= 0) return static_cast<uint64_t>(given);
    std::string_view name = draw.name;
    if (!(name.starts_with("glDrawArrays") || name.starts_with("glDrawElements") ||
          name.starts_with("glDrawRangeElements")) ||
        name.find("Indirect") != name.npos)
      return UINT64_MAX;
    const uint64_t count = draw.number("count"),
                   instances = name.find("Instanced") == name.npos
                                   ? 1
                                   : std::max(draw.number("instancecount"), draw.number("primcount"));
    return count > INT32_MAX || instances > INT32_MAX || !instances ? UINT64_MAX : count * instances;
  }

  // ---- counting where it is drawn ---------------------------------------------------------------

  // Whether the framebuffer need not be left: it pays where that costs much, and takes storage blocks in fragment
  // shaders.
  static bool counts_in_place(State& s) {
    if (s.lists.here < 0) {
      const auto* renderer = DT_REAL(const unsigned char*, glGetString, uint32_t)(GL_RENDERER);
      const bool pays = renderer && !strncmp(reinterpret_cast<const char*>(renderer), "llvmpipe", 8);
      s.lists.here = pays && version() >= 31u && FetchCounter::missing().empty();
      drain_errors();
    }
    return s.lists.here > 0;
  }

  // Counts with shaders that count in a storage block, without going to another framebuffer. What passes all tests is
  // counted by the program's own draw, with a copy of its program that runs behind them, and so is what its shader
  // keeps; what is generated too where there are no tests and nothing is discarded, else it is drawn once more. Not all
  // that is asked for but only pictures where `counts` is false. False: nothing was done, it has to be counted
  // otherwise.
  bool count_in_place(State& s, Drawn& d, Draw& draw, uint32_t program, const ProgramSource* source, bool queries,
                      bool counts) {
    static const auto status = DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t);
    if (!(pictures_ || (counts && (counts_again_ || passes_))) || !program || !counts_in_place(s)) return false;
    // FLAG_DRAW
    if (source->reads_target || source->writes_depth || draw.given().vertices >= 0 || !(draw.flags & 8) ||
        !strcmp(draw.name, "glCallList"))
      return false;
    Target t;
    t.draw = static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING));
    const char* why = nullptr;
    if (!target_size(t.draw, t.size, why)) return false;
    const bool stencil = enabled(GL_STENCIL_TEST), depth_test = enabled(GL_DEPTH_TEST);
    const bool writes = passes_ && !queries && depth_test && boolean(GL_DEPTH_WRITEMASK);
    const uint64_t last = last_made(s, d.key),
                   few = std::max(FEW_FRAGMENTS,
                                  static_cast<uint64_t>(t.size.width) * static_cast<uint64_t>(t.size.height) * 4);
    if (last > few || (stencil && passes_ && counts)) {
      if (writes && last != UINT64_MAX) s.followed[t.draw] = frames_;
      return false;
    }
    // Where larger draws have a depth buffer of ours follow the program's, it follows all.
    if (writes)
      if (auto it = s.followed.find(t.draw); it != s.followed.end() && it->second + 1 >= frames_) return false;
    if (status(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) return false;
    bool depth = passes_ && counts && depth_test;
    if (depth) {
      int type = 0;
      depth_format(t.draw, t.depth_bits, type);
      depth = t.depth_bits > 0;
    }
    std::string no;
    const bool plain = passes_ && counts && !depth,
               makes = pictures_ || (counts && (counts_again_ || (plain && !d.discards)));
    const bool survives = counts && d.discards && (discards_ || plain);
    const bool bounds = !is_es() && has_extension("GL_EXT_depth_bounds_test") && enabled(GL_DEPTH_BOUNDS_TEST_EXT);
    const bool untested = alone && !stencil && !bounds && (!depth_test || (counts && passes_ && !depth));
    const bool once = makes && untested && !d.discards && has_placing_copy(program, false, listed(), no);
    if (depth && (!alone || d.discards)) return false;
    if ((depth || survives) && !has_placing_copy(program, false, Placed::NUMBER, no)) return false;
    if (makes && !once && !has_placing_copy(program, true, listed(), no)) return false;
    if (!make_lists(s, t.size)) return false;
    if (counts) d.real = false;
    s.kept.begin();
    if (once) {
      Job job = new_job(s, t, true);
      job.counts = &Drawn::generated;
      if (plain) job.counts_too = &Drawn::passed;
      s.in_place = {.program = program,
                    .target = t.draw,
                    .size = t.size,
                    .few = few,
                    .pictured = pictures_,
                    .writes = d.writes,
                    .repeats = !d.real,
                    .job = std::move(job)};
      return true;
    }
    std::optional<Job> all{};
    if (makes) {
      Job job = new_job(s, t, true);
      job.counts = &Drawn::generated;
      if (plain && !d.discards) job.counts_too = &Drawn::passed;
      if ((depth || (survives && untested)) && s.tried[LISTED] && draw.kept())
        all = std::move(job);
      else
        list(s, t, draw, program, true, last, std::move(job));
    }
    if (!depth && !survives) return true;
    Job job = new_job(s, t, false);
    job.counts = depth ? &Drawn::passed : &Drawn::survived;
    if (survives && plain) job.counts_too = &Drawn::passed;
    if (survives && !untested)
      list(s, t, draw, program, false, last, std::move(job));
    else
      s.in_place = {.program = program,
                    .target = t.draw,
                    .size = t.size,
                    .few = few,
                    .writes = d.writes,
                    .repeats = !makes || all,
                    .job = std::move(job),
                    .all = std::move(all)};
    return true;
  }
  // How many fragments the next draw made when it was counted last; UINT64_MAX: not known.
  static uint64_t last_made(const State& s, uint64_t draw) {
    if (s.ordinal >= s.made.size()) return UINT64_MAX;
    const auto& made = s.made[s.ordinal];
    // A single frame tells little: first ones are often empty, or set up what later ones draw.
    return made.seen > 1 && made.draw == draw ? std::max(made.fragments, made.before) : UINT64_MAX;
  }
  static uint64_t draw_key(uint32_t program, uint32_t target, const Draw& draw) {
    return ((static_cast<uint64_t>(program) << 32) + target) * 0x9E3779B97F4A7C15 + draw.number("count");
  }
  // Draws it once more, with nothing but its fragments' counts written.
  void list(State& s, const Target& t, Draw& draw, uint32_t program, bool bare, uint64_t last, Job job) {
    place(s, job, draw, program, bare, bare && pictures_, last);
    take_storage(s);
    const char* why = nullptr;
    {
      Masked masked;
      Off tests;
      tests_off(tests);
      use_copy(s, program, bare, job.placed, place_of(job, t.size), t.draw, t.size);
      why = draw.perform() ? nullptr : "the player left it out";
      use_program(program);
    }
    s.storage.give_back();
    queue(s, std::move(job), why);
  }
  // Makes the copy of a program current that lists in that place.
  void use_copy(State& s, uint32_t program, bool bare, Placed as, const Place& place, uint32_t target, Extent size,
                const UniformValues* values = nullptr) {
    static const auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
    if (values)
      use_placing_copy(program, bare, as, place, *values);
    else
      use_placing_copy(program, bare, as, place, uniform_epoch_);
    // Mesa turns gl_FragCoord in windows, by what it notes for the program that is current when the target changes. For
    // a copy that drew to another kind of target last it would not note that again: the target changes once more.
    int& drew_to = s.drew_to[{program, bare, as}];
    const int now = target ? -1 : size.height;
    if (drew_to && drew_to != now) {
      if (s.empty)
        bind(GL_DRAW_FRAMEBUFFER, s.empty);
      else
        s.empty = bind_new(GL_DRAW_FRAMEBUFFER, bind, "glGenFramebuffers");
      bind(GL_DRAW_FRAMEBUFFER, target);
    }
    drew_to = now;
  }
  static void take_storage(State& s) {
    s.storage.take();
    DT_REAL(void, glBindBufferBase, uint32_t, uint32_t, uint32_t)(GL_SHADER_STORAGE_BUFFER, fetch_binding(),
                                                                  s.lists.buffers[s.lists.now].name());
  }
  // The draw is played with a copy of its program, and whatever follows it without a call between them.
  void play_in_place(State& s, Drawn& d, const Draw& draw) {
    InPlace& p = *s.in_place;
    const uint64_t last = last_made(s, d.key);
    p.repeats = p.repeats && !d.fetches.ticket && !d.fetches.lost;
    p.reads = d.reads, p.discards = d.discards;
    take_storage(s);
    if (p.all) put_off(s, draw.kept(), last);
    count_played(s, draw, last, true);
  }
  void put_off(State& s, std::unique_ptr<Draw> draw, uint64_t last) {
    InPlace& p = *s.in_place;
    Job job = *p.all;
    job.drawn = s.drawn;
    job.ordinal = s.ordinal;
    place(s, job, *draw, p.program, true, pictures_, last);
    if (p.stale || p.uniforms.empty()) p.uniforms.emplace_back(), p.stale = false;
    auto& values = p.uniforms.back()[static_cast<size_t>(job.placed)];
    if (!values) values = uniform_values(p.program, true, job.placed);
    p.put_off.push_back({std::move(draw), s.drawn, job.placed, place_of(job, p.size), p.uniforms.size() - 1});
    ++s.drawn->unread;
    keep(s, std::move(job));
  }
  // Draws are put off while this call changes where vertices come from. False: they cannot be.
  bool stay_put_off(InPlace& p, const Call& call) {
    static const auto get = DT_REAL(void, glGetVertexAttribiv, uint32_t, uint32_t, int*);
    static const auto pointer = DT_REAL(void, glGetVertexAttribPointerv, uint32_t, uint32_t, void**);
    const auto index = static_cast<uint32_t>(call.number("index"));
    if (p.put_off.size() >= MOST_PUT_OFF ||
        (!tls.context->buffers[gl::ARRAY] && !strcmp(call.name, "glVertexAttribPointer")))
      return false;
    auto same = call.kept();
    if (!same) return false;
    if (!p.arrays.contains(index)) {
      Array a;
      int integer = 0, binding = static_cast<int>(index), offset = 0;
      get(index, GL_VERTEX_ATTRIB_ARRAY_ENABLED, &a.enabled), get(index, GL_VERTEX_ATTRIB_ARRAY_SIZE, &a.size),
          get(index, GL_VERTEX_ATTRIB_ARRAY_STRIDE, &a.stride), get(index, GL_VERTEX_ATTRIB_ARRAY_TYPE, &a.type),
          get(index, GL_VERTEX_ATTRIB_ARRAY_NORMALIZED, &a.normalized),
          get(index, GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING, &a.buffer);
      get(index, GL_VERTEX_ATTRIB_ARRAY_INTEGER, &integer);
      if (version() >= (is_es() ? 31u : 43u))
        get(index, GL_VERTEX_ATTRIB_BINDING, &binding), get(index, GL_VERTEX_ATTRIB_RELATIVE_OFFSET, &offset);
      pointer(index, GL_VERTEX_ATTRIB_ARRAY_POINTER, &a.pointer);
      if (take_error() || integer || binding != static_cast<int>(index) || offset || (a.enabled && !a.buffer))
        return false;
      p.arrays[index] = a;
    }
    p.put_off.push_back({std::move(same), nullptr, Placed::NUMBER, {}, 0});
    return true;
  }
  static void give_arrays(const InPlace& p) {
    static const auto bind = DT_REAL(void, glBindBuffer, uint32_t, uint32_t);
    static const auto pointer =
        DT_REAL(void, glVertexAttribPointer, uint32_t, int, uint32_t, uint8_t, int, const void*);
    static const auto enable = DT_REAL(void, glEnableVertexAttribArray, uint32_t),
                      disable = DT_REAL(void, glDisableVertexAttribArray, uint32_t);
    for (auto& [index, a] : p.arrays) {
      bind(GL_ARRAY_BUFFER, static_cast<uint32_t>(a.buffer));
      if (a.buffer)
        pointer(index, a.size, static_cast<uint32_t>(a.type), static_cast<uint8_t>(a.normalized), a.stride, a.pointer);
      (a.enabled ? enable : disable)(index);
    }
    if (!p.arrays.empty()) bind(GL_ARRAY_BUFFER, tls.context->buffers[gl::ARRAY]);
  }
  void draw_put_off(State& s) {
    if (!s.in_place || s.in_place->put_off.empty()) return;
    InPlace& p = *s.in_place;
    {
      s.kept.begin();
      Masked masked;
      Off tests;
      tests_off(tests);
      give_arrays(p);
      const PutOff* before = nullptr;
      for (auto& one : p.put_off) {
        if (one.drawn && before && before->uniforms == one.uniforms && before->placed == one.placed)
          move_placing_copy(p.program, true, one.placed, one.place);
        else if (one.drawn)
          use_copy(s, p.program, true, one.placed, one.place, p.target, p.size,
                   &*p.uniforms[one.uniforms][static_cast<size_t>(one.placed)]);
        if (one.drawn) before = &one;
        if (!one.call->perform() && one.drawn) one.drawn->refused = "the player left it out";
      }
    }
    p.put_off.clear(), p.uniforms.clear(), p.arrays.clear();
    use_program(p.program);
    p.left = true;
    drain_errors();
  }
  void count_played(State& s, const Draw& draw, uint64_t last, bool first) {
    InPlace& p = *s.in_place;
    Job job = p.job;
    job.drawn = s.drawn;
    job.ordinal = s.ordinal;
    place(s, job, draw, p.program, false, p.pictured, last);
    const Place at = place_of(job, p.size);
    if (first || p.left || p.job.placed != job.placed)
      use_copy(s, p.program, false, job.placed, at, p.target, p.size);
    else
      move_placing_copy(p.program, false, job.placed, at);
    p.job.placed = job.placed;
    p.left = false;
    ++s.drawn->unread;
    keep(s, std::move(job));
  }
  // Whether the draw is counted as the one before it, with which it has all state in common.
  bool goes_on(State& s, Draw& draw) {
    InPlace& p = *s.in_place;
    const uint64_t key = draw_key(p.program, p.target, draw), last = last_made(s, key);
    if (!p.repeats || last > p.few || draw.in_query || !(draw.flags & 8) || draw.given().vertices >= 0 ||
        *draw.refusal() || !strcmp(draw.name, "glCallList"))
      return false;
    std::unique_ptr<Draw> later = p.all ? draw.kept() : nullptr;
    if (p.all && !later) return false;
    s.drawn = std::make_shared<Drawn>();
    s.drawn->writes = p.writes;
    s.drawn->reads = p.reads, s.drawn->discards = p.discards;
    p.job.draw = key;
    if (p.put_off.size() >= MOST_PUT_OFF) draw_put_off(s);
    if (later) p.all->draw = key, put_off(s, std::move(later), last);
    count_played(s, draw, last, false);
    ++s.ordinal;
    return true;
  }

  // The buffer of all lists, which is of zeros where none is. What has no room in its list says so at its pixel in a
  // plane before them.
  bool make_lists(State& s, Extent size) {
    auto& l = s.lists;
    const size_t plane = static_cast<size_t>(size.width) * static_cast<size_t>(size.height);
    if (l.size && l.plane >= plane) return true;
    if ((LISTS_SIZE + plane) * 16 > INT32_MAX) return false;  // places and pixels are stored so
    read_back(s);
    drop_lists(s);
    l.size = LISTS_SIZE + plane;
    for (auto& buffer : l.buffers) buffer.make(l.size * sizeof(int32_t));
    l.plane = l.used[0] = l.used[1] = plane;
    if (take_error()) l.here = 0, l.broken = true;
    return !l.broken;
  }
  static void drop_lists(State& s) {
    for (auto& buffer : s.lists.buffers) buffer.drop();
    drop_fence(s);
  }
  static void drop_fence(State& s) {
    if (s.lists.drawn) DT_REAL(void, glDeleteSync, void*)(s.lists.drawn);
    s.lists.drawn = nullptr;
  }
  // A frame begins, of which nothing is drawn yet.
  void turn_lists(State& s) {
    auto& l = s.lists;
    if (!s.jobs.empty() && s.jobs.front().lists != l.now) {
      static const auto wait = DT_REAL(uint32_t, glClientWaitSync, void*, uint32_t, uint64_t);
      const uint32_t said = l.drawn ? wait(l.drawn, 0, 10'000'000'000) : GL_WAIT_FAILED;
      read_back(s, said == GL_ALREADY_SIGNALED || said == GL_CONDITION_SATISFIED);
    }
    drop_fence(s);
    if (s.jobs.empty()) return;
    l.drawn = DT_REAL(void*, glFenceSync, uint32_t, uint32_t)(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    l.now = 1 - l.now;
  }
  Placed listed() const { return pictures_ ? Placed::LIST : Placed::NUMBER; }
  // Gives a draw's counts their place in the buffer, with room for some more pixels than it had the `last` time where
  // they make a picture. Where there are many, a count for each is cheaper than a list.
  void place(State& s, Job& job, const Draw& draw, uint32_t program, bool bare, bool pictured, uint64_t last) {
    auto& l = s.lists;
    std::string no;
    if (job.placed == Placed::SAMPLES)
      pictured = false;
    else
      job.placed = pictured ? Placed::LIST : Placed::NUMBER;
    job.room = pictured ? static_cast<size_t>(std::min<uint64_t>(std::max(16 * last, ROOM), LISTS_SIZE / 2)) : 0;
    if (pictured && last >= MANY_FRAGMENTS && places_quads() && most_fragments(draw, program_source(program)) <= 254 &&
        has_placing_copy(program, bare, Placed::PLANE, no)) {
      job.placed = Placed::PLANE;
      job.room = Picture::cells_of(job.picture->size, job.odd);
    }
    if (l.used[l.now] + job.room + 2 > l.size) read_back(s);
    job.kind = LISTED;
    job.stencil = false;
    job.first = l.used[l.now];
    l.used[l.now] += job.room + 2;
  }
  // Mesa draws to windows upside down: there the rows of two by two pixels are counted from above.
  static Place place_of(const Job& job, Extent size) {
    return {static_cast<int>(job.first), size.width, static_cast<int>(job.room), job.odd};
  }

  void count_by_queries(State& s, Drawn& d, Draw& draw, uint32_t program, bool shader, bool generated) {
    if (!generated && !(discards_ && d.discards)) return;
    static const auto begin = DT_REAL(void, glBeginQuery, uint32_t, uint32_t);
    static const auto end = DT_REAL(void, glEndQuery, uint32_t);
    s.kept.end();
    Masked masked;
    Off tests;
    tests_off(tests);
    auto count = [&](Count& c, bool bare) {
      if (c.lost) return;
      c.query = take(s);
      begin(GL_SAMPLES_PASSED, c.query);
      c.lost = perform(draw, program, bare);
      end(GL_SAMPLES_PASSED);
    };
    if (generated) {
      Off off;
      coverage_off(off);
      count(d.sampled ? d.samples_generated : d.generated, shader);
    }
    if (discards_ && d.discards) count(d.sampled ? d.samples_survived : d.survived, false);
  }

  // Of a target with several samples a pixel: shaders count fragments, each once however many of its samples there are.
  // `leaves_out`: the alpha test or coverage may leave out samples, behind the shader.
  void count_sampled(State& s, Drawn& d, Draw& draw, uint32_t program, bool shader, bool leaves_out, bool queries,
                     bool here) {
    static const auto status = DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t);
    d.sampled = true;
    if (queries && counts_again_) count_by_queries(s, d, draw, program, shader, true);
    drain_errors();
    if (status(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) return;  // nothing is drawn
    Target t;
    t.draw = static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING)),
    t.read = static_cast<uint32_t>(integer(GL_READ_FRAMEBUFFER_BINDING));
    std::string no = FetchCounter::missing();
    const char* why = no.empty() ? nullptr : lasting(no);
    if (!why && (draw.given().vertices < 0 && !(draw.flags & 8))) why = "it is no draw of primitives";  // FLAG_DRAW
    if (!why && program && !has_placing_copy(program, true, Placed::SAMPLES, no)) why = lasting(no);
    if (!why && !program && !has_placing_copy(0, true, Placed::SAMPLES, no)) why = lasting(no);
    if (!why) target_size(t.draw, t.size, why);
    if (!why && !make_lists(s, t.size)) why = "the driver does not give back the counts";
    if (why) {
      for (Count* c : {&d.generated, &d.survived, &d.passed}) c->lost = why;
      if (!queries) d.samples_generated.lost = d.samples_survived.lost = d.samples_passed.lost = why;
      if (pictures_) frame_->lose(why);
      return;
    }
    const uint64_t last = last_made(s, d.key);
    const bool tests = enabled(GL_DEPTH_TEST) || enabled(GL_STENCIL_TEST), plain = passes_ && !tests;
    Off each;
    coverage_off(each);
    if (version() >= (is_es() ? 32u : 40u)) each(GL_SAMPLE_SHADING);
    auto counted = [&](bool pictured, Count Drawn::* fragments, Count Drawn::* samples) {
      Job job = new_job(s, t, pictured);
      job.counts = fragments;
      if (!pictured) job.placed = Placed::SAMPLES, job.samples = queries ? nullptr : samples;
      return job;
    };
    s.kept.begin();
    if (pictures_) list(s, t, draw, program, true, last, counted(true, nullptr, nullptr));
    if (counts_again_ || (plain && !d.discards)) {
      Job job = counted(false, &Drawn::generated, &Drawn::samples_generated);
      if (plain && !d.discards) job.counts_too = &Drawn::passed, job.samples_too = !queries;
      list(s, t, draw, program, true, last, std::move(job));
    }
    if (d.discards && (discards_ || plain)) {
      if (leaves_out || !program)
        why = "the alpha test or coverage leaves out samples: see samples_discarded and samples_passed";
      else if (!has_placing_copy(program, false, Placed::SAMPLES, no))
        why = lasting(no);
      if (!why) {
        Job job = counted(false, &Drawn::survived, &Drawn::samples_survived);
        if (plain) job.counts_too = &Drawn::passed, job.samples_too = !queries;
        list(s, t, draw, program, false, last, std::move(job));
      } else {
        d.survived.lost = why;
        if (plain) d.passed.lost = why;
        if (!queries) d.samples_survived.lost = why;
        if (!queries && plain) d.samples_passed.lost = why;
      }
    }
    if (!passes_ || !tests) return;
    if (!queries) d.samples_passed.lost = "OpenGL ES does not tell which samples pass the tests";
    Job job = counted(false, &Drawn::passed, nullptr);
    if (d.discards) {
      d.passed.lost = "what is neither discarded nor fails a test is told in samples only: see samples_passed";
    } else if (!is_es()) {
      d.passed.lost = list_behind(s, t, draw, program, std::move(job));
    } else if (here && alone && program && !program_source(program)->writes_depth &&
               !program_source(program)->reads_target && has_placing_copy(program, false, Placed::SAMPLES, no)) {
      // OpenGL ES copies no depth of several samples: the program's own draw counts.
      s.in_place = {
          .program = program, .target = t.draw, .size = t.size, .few = 0, .writes = d.writes, .job = std::move(job)};
    } else {
      d.passed.lost =
          draw.in_query
              ? "OpenGL ES copies no depth buffer with several samples, and the program's own query counts the draw"
              : "OpenGL ES copies no depth buffer with several samples; in a pass with nothing but fragments:* they are counted";
    }
  }
  // Counts fragments of which a sample passes the tests, in a framebuffer with as many samples and a copy of the depth
  // and stencil buffer. nullptr, or why it cannot.
  const char* list_behind(State& s, Target t, Draw& draw, uint32_t program, Job job) {
    static const auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
    static const auto blit =
        DT_REAL(void, glBlitFramebuffer, int, int, int, int, int, int, int, int, uint32_t, uint32_t);
    static const auto status = DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t);
    int depth = 0, type = 0, stencil = 0;
    depth_format(t.draw, depth, type);
    stencil_format(t.draw, stencil);
    if (depth && depth != 16 && depth != 24 && (depth != 32 || type != GL_FLOAT))
      return lasting("a depth buffer of " + std::to_string(depth) + " bits and several samples cannot be copied");
    t.format = depth == 16 && !stencil ? GL_DEPTH_COMPONENT16
               : depth == 32           ? GL_DEPTH32F_STENCIL8
                                       : GL_DEPTH24_STENCIL8;
    drain_errors();
    const uint32_t framebuffer = sampled_target(s, t, integer(GL_SAMPLES));
    const char* why = take_error() ? "the driver takes no framebuffer with such a depth buffer" : nullptr;
    place(s, job, draw, program, true, false, 0);
    bind(GL_DRAW_FRAMEBUFFER, framebuffer);
    if (!why && status(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
      why = "the driver takes no framebuffer with such a depth buffer";
    if (!why) {
      Off off;
      off(GL_SCISSOR_TEST);
      bind(GL_READ_FRAMEBUFFER, t.draw);
      if (depth || stencil)
        blit(0, 0, t.size.width, t.size.height, 0, 0, t.size.width, t.size.height,
             (depth ? GL_DEPTH_BUFFER_BIT : 0u) | (stencil ? 0x400u : 0u), GL_NEAREST);
      bind(GL_READ_FRAMEBUFFER, t.read);
      if (take_error()) why = "the driver does not copy this depth buffer";
    }
    if (!why) {
      Off missing;
      if (!depth) missing(GL_DEPTH_TEST);
      if (!stencil) missing(GL_STENCIL_TEST);
      take_storage(s);
      use_copy(s, program, true, job.placed, place_of(job, t.size), framebuffer, t.size);
      why = draw.perform() ? nullptr : "the player left it out";
      use_program(program);
      s.storage.give_back();
    }
    bind(GL_DRAW_FRAMEBUFFER, t.draw);
    return queue(s, std::move(job), why);
  }
  // A framebuffer of depth and stencil with so many samples a pixel.
  static uint32_t sampled_target(State& s, const Target& t, int samples) {
    static const auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
    static const auto bind_storage = DT_REAL(void, glBindRenderbuffer, uint32_t, uint32_t);
    static const auto allocate = DT_REAL(void, glRenderbufferStorageMultisample, uint32_t, int, uint32_t, int, int);
    static const auto attach = DT_REAL(void, glFramebufferRenderbuffer, uint32_t, uint32_t, uint32_t, uint32_t);
    if (s.sampled.size() > MOST_PRIVATE) drop(s.sampled);
    Private& p = s.sampled[{t.format + (static_cast<uint32_t>(samples) << 17) + (is_turned(t) ? 1u << 16 : 0u),
                            static_cast<uint32_t>(t.size.width), static_cast<uint32_t>(t.size.height)}];
    if (p.framebuffer) return p.framebuffer;
    static const uint32_t none = 0;
    const int was = integer(GL_RENDERBUFFER_BINDING);
    p.framebuffer = bind_new(GL_DRAW_FRAMEBUFFER, bind, "glGenFramebuffers");
    turn(t);
    DT_REAL(void, glDrawBuffers, int, const uint32_t*)(1, &none);
    p.storage = bind_new(GL_RENDERBUFFER, bind_storage, "glGenRenderbuffers");
    allocate(GL_RENDERBUFFER, samples, t.format, t.size.width, t.size.height);
    attach(GL_DRAW_FRAMEBUFFER, t.format == GL_DEPTH_COMPONENT16 ? GL_DEPTH_ATTACHMENT : GL_DEPTH_STENCIL_ATTACHMENT,
           GL_RENDERBUFFER, p.storage);
    bind_storage(GL_RENDERBUFFER, static_cast<uint32_t>(was));
    bind(GL_DRAW_FRAMEBUFFER, t.draw);
    return p.framebuffer;
  }

  // What it reads of textures, of all fragments that are generated.
  void count_fetches(State& s, Drawn& d, Draw& draw, uint32_t program, bool samples) {
    if (program && program_source(program)->reads_target) {
      d.fetches.lost = "the fragment shader reads the target";
      return;
    }
    // Where each fragment reads as often, it is enough to know how many there are.
    if (program && counts_again_ && !samples && (d.reads = reads_of_each_fragment(program)) >= 0) return;
    drain_errors();
    if (!s.fetches.begin(program, d.fetches)) return;
    {
      Masked masked;
      Off tests;
      tests_off(tests);
      if (const char* why = perform(draw, program, false)) d.fetches.lost = why;
    }
    s.fetches.end();
    use_program(program);
    if (take_error()) d.fetches.lost = "the driver refuses to draw it with shaders that count";
  }

  // Counts in private framebuffers what queries do not: everything (`counts`), or only a picture of what is generated,
  // which may stand for its number (`generated`). nullptr, or why there is no such picture.
  const char* count_by_pictures(State& s, Drawn& d, Draw& draw, uint32_t program, const ProgramSource* source,
                                bool shader, bool counts, bool generated) {
    static const auto status = DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t);
    const char* why = nullptr;
    Target t;
    t.draw = static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING));
    t.read = static_cast<uint32_t>(integer(GL_READ_FRAMEBUFFER_BINDING));
    if (integer(GL_SAMPLE_BUFFERS) > 0)
      why = "the target has several samples a pixel";
    else if (status(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
      return nullptr;  // nothing is drawn
    else if (program && source->reads_target)
      why = "the fragment shader reads the target";
    else if (fixed_function() && !is_es() &&
             (integer(GL_INDEX_SHIFT) || integer(GL_INDEX_OFFSET) || boolean(GL_MAP_STENCIL)))
      why = "what is read back of a stencil buffer is changed by glPixelTransfer";
    else
      target_size(t.draw, t.size, why);
    if (why) {
      if (counts)
        lose(d, why, true);
      else
        frame_->lose(why);
      return why;
    }
    bool depth = passes_ && counts && enabled(GL_DEPTH_TEST), stencil = passes_ && counts && enabled(GL_STENCIL_TEST);
    uint32_t storage = 0;  // of a copy of the depth
    if (depth) {
      int bits = 0, type = 0;
      depth_format(t.draw, bits, type);
      if (!bits)
        depth = false;  // without a buffer the test passes
      else if (bits == 24 && type != GL_FLOAT)
        t.format = GL_DEPTH24_STENCIL8;
      else if (bits == 32 && type == GL_FLOAT)
        t.format = GL_DEPTH32F_STENCIL8;
      t.depth_bits = bits, t.depth_is_float = type == GL_FLOAT;
      storage = t.format     ? t.format
                : bits == 16 ? GL_DEPTH_COMPONENT16
                : bits == 32 ? static_cast<uint32_t>(AS_TEXTURE)
                             : 0u;
    }
    bool odd = depth && !t.format;  // no copy of it can have a stencil buffer beside it
    if (!t.format) t.format = GL_DEPTH24_STENCIL8;
    const uint64_t most = most_fragments(draw, source);
    bool steps = depth && !stencil && storage && program && !source->other_outputs && (most <= 126 || has_16_bits());
    Kind kind = most <= 126 ? STEPS_8 : STEPS_16;
    // With one draw less: the stencil buffer beside the depth counts what is not discarded, whatever the depth test
    // says.
    bool both = steps && !odd && vertices_of(draw) > FEW_VERTICES;

    bool plain = passes_ && counts && !depth && !stencil;  // nothing but the program takes fragments away
    bool makes = pictures_ || (counts && (counts_again_ || (plain && !d.discards))),
         survives = counts && d.discards && (discards_ || plain);
    auto passes = plain ? &Drawn::passed : nullptr;
    if (makes && !(both && !d.discards)) {
      Job job = new_job(s, t, true);
      if (counts || generated) job.counts = &Drawn::generated;
      if (!d.discards) job.counts_too = passes;
      why = count_in_stencil(s, t, draw, program, shader, true, std::move(job));
    }
    if (survives && !both) {
      Job job = new_job(s, t, false);
      job.counts = &Drawn::survived;
      job.counts_too = passes;
      count_in_stencil(s, t, draw, program, false, false, std::move(job));
    }
    if (!depth && !stencil) return why;
    auto add = [&](size_t, size_t, const uint8_t* row, size_t n) { d.passed.value += sum_of(row, n); };
    if (stencil || (odd && !steps)) {
      d.passed.lost = draw_colors(s, t, draw, program, depth, stencil, add);
    } else if (!steps) {
      d.passed.lost = draw_picture(s, t, draw, program, add);
    } else {
      Job job = new_job(s, t, both && makes && !d.discards);
      job.steps = &Drawn::passed;
      if (both && (d.discards ? survives : makes))
        job.stencil = true, job.counts = d.discards ? &Drawn::survived : &Drawn::generated;
      const char* no = count_in_steps(s, t, draw, program, storage, kind, std::move(job));
      if (both && !d.discards) why = no;
    }
    return why;
  }
  static bool has_16_bits() { return !is_es() || (version() >= 31 && has_extension("GL_EXT_texture_norm16")); }

  // Of the draw that is counted; with a picture of the frame where there is one.
  Job new_job(State& s, const Target& t, bool pictured) {
    Job job;
    job.drawn = s.drawn;
    job.ordinal = s.ordinal, job.made_in = frames_, job.draw = s.drawn->key;
    job.box[2] = t.size.width, job.box[3] = t.size.height;
    job.odd = !t.draw && t.size.height % 2;
    job.lists = s.lists.now;
    if (enabled(GL_SCISSOR_TEST)) scissored(job.box);
    if (!pictured || !pictures_) return job;
    Picture& picture = frame_->pictures[{current_context(), t.draw}];
    if (picture.size.width != t.size.width || picture.size.height != t.size.height) {
      if (!picture.empty()) {
        read_back(s);
        frame_->lose("a target had two sizes in one frame");
      }
      picture.clear(t.size);
      picture.framebuffer = t.draw;
    }
    job.picture = &picture;
    job.frame = frame_;
    return job;
  }

  static void depth_format(uint32_t framebuffer, int& bits, int& type) {
    static const auto get = DT_REAL(void, glGetFramebufferAttachmentParameteriv, uint32_t, uint32_t, uint32_t, int*);
    int object = 0;
    uint32_t point = framebuffer ? GL_DEPTH_ATTACHMENT : GL_DEPTH;
    get(GL_DRAW_FRAMEBUFFER, point, GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE, &object);
    if (take_error() || !object) return;
    get(GL_DRAW_FRAMEBUFFER, point, GL_FRAMEBUFFER_ATTACHMENT_DEPTH_SIZE, &bits);
    get(GL_DRAW_FRAMEBUFFER, point, GL_FRAMEBUFFER_ATTACHMENT_COMPONENT_TYPE, &type);
    drain_errors();
  }

  // Draws into a private framebuffer without depth, where each fragment adds one to the stencil buffer. `whole`:
  // nothing but the shader may leave fragments out, and with `bare` not even that. nullptr, or why it cannot be told.
  const char* count_in_stencil(State& s, const Target& t, Draw& draw, uint32_t program, bool bare, bool whole,
                               Job job) {
    static const auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
    static const auto clear = DT_REAL(void, glClearBufferiv, uint32_t, int, const int*);
    static const int zero = 0;
    drain_errors();
    const char* why = nullptr;
    job.kind = STENCILS;
    job.stencil = true;
    job.slot = slot(s, STENCILS, t, 0, why);
    if (!why) {
      bind(GL_DRAW_FRAMEBUFFER, job.slot->framebuffer);
      StencilState saved;
      {
        Off off;
        off(GL_SCISSOR_TEST);
        StencilState::count();
        clear(GL_STENCIL, 0, &zero);
      }
      Off off;
      tests_off(off);
      why = counting_stencil([&] {
        Off coverage;
        if (whole) coverage_off(coverage);
        return perform(draw, program, bare);
      });
    }
    bind(GL_DRAW_FRAMEBUFFER, t.draw);
    return queue(s, std::move(job), why);
  }
  // Draws with the stencil test on, and as it was afterwards.
  template <typename F> static const char* counting_stencil(F draw) {
    static const auto enable = DT_REAL(void, glEnable, uint32_t);
    static const auto disable = DT_REAL(void, glDisable, uint32_t);
    const bool was = enabled(GL_STENCIL_TEST);
    Off off;
    if (!is_es() && has_extension("GL_EXT_stencil_two_side")) off(GL_STENCIL_TEST_TWO_SIDE_EXT);
    enable(GL_STENCIL_TEST);
    const char* why = draw();
    if (!was) disable(GL_STENCIL_TEST);
    return why;
  }

  // Draws beside a depth buffer that is equal to the program's, with the program as it is: each fragment that passes
  // takes one step from its pixel's colour. With `job.stencil` the stencil buffer counts those that fail the depth test
  // too.
  const char* count_in_steps(State& s, const Target& t, Draw& draw, uint32_t program, uint32_t storage, Kind kind,
                             Job job) {
    static const auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
    static const auto clear = DT_REAL(void, glClearBufferfv, uint32_t, int, const float*);
    static const auto clear_stencil = DT_REAL(void, glClearBufferiv, uint32_t, int, const int*);
    static const float white[4] = {1, 1, 1, 1};
    static const int zero = 0;
    drain_errors();
    const char* why = nullptr;
    job.kind = kind;
    job.slot = slot(s, kind, t, storage, why);
    // There is one stencil buffer beside the depth: what it counted before has to be read.
    if (job.stencil)
      for (auto& other : s.jobs)
        if (other.stencil && other.kind != STENCILS) {
          read_back(s);
          break;
        }
    if (!why) {
      Depth& depth = s.depths[{storage, static_cast<uint32_t>(t.size.width), static_cast<uint32_t>(t.size.height)}];
      bind(GL_DRAW_FRAMEBUFFER, job.slot->framebuffer);
      Added steps(1 / (kind == STEPS_8 ? 255.f : 65535.f));
      std::optional<StencilState> saved;
      if (job.stencil) saved.emplace(), StencilState::count(true);
      {
        Off off;
        off(GL_SCISSOR_TEST);
        why = follow(s, t, depth);
        clear(GL_COLOR, 0, white);
        if (job.stencil) clear_stencil(GL_STENCIL, 0, &zero);
      }
      Off dither;
      dither(GL_DITHER);
      auto drawn = [&] { return perform(draw, program, false); };
      if (!why) why = job.stencil ? counting_stencil(drawn) : drawn();
      if (why)
        depth.epoch = 0;
      else
        follows_ = true;
    }
    bind(GL_DRAW_FRAMEBUFFER, t.draw);
    return queue(s, std::move(job), why);
  }
  // Makes the depth buffer of the framebuffer that is bound equal to the program's; scissor is off.
  const char* follow(State& s, const Target& t, Depth& depth) {
    static const auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
    static const auto blit =
        DT_REAL(void, glBlitFramebuffer, int, int, int, int, int, int, int, int, uint32_t, uint32_t);
    static const auto clear = DT_REAL(void, glClearBufferfv, uint32_t, int, const float*);
    static const auto mask = DT_REAL(void, glDepthMask, uint8_t);
    if (depth.epoch == depth_epoch_ && depth.owner == t.draw) return nullptr;
    if (s.clear.epoch == depth_epoch_ && s.clear.owner == t.draw) {
      const bool writes = boolean(GL_DEPTH_WRITEMASK);
      if (!writes) mask(1);
      clear(GL_DEPTH, 0, &s.clear.value);
      if (!writes) mask(0);
    } else {
      bind(GL_READ_FRAMEBUFFER, t.draw);
      blit(0, 0, t.size.width, t.size.height, 0, 0, t.size.width, t.size.height, GL_DEPTH_BUFFER_BIT, GL_NEAREST);
      bind(GL_READ_FRAMEBUFFER, t.read);
      if (take_error()) return "the driver does not copy this depth buffer";
    }
    depth.epoch = depth_epoch_;
    depth.owner = t.draw;
    return nullptr;
  }

  // Mesa draws to windows upside down, which rounds edges and depths the other way at a few pixels. What stands for a
  // window has to be drawn to like one.
  static bool can_turn() { return has_extension("GL_MESA_framebuffer_flip_y") && (is_es() || version() >= 43); }
  static bool is_turned(const Target& t) { return !t.draw && can_turn(); }
  static void turn(const Target& t) {
    if (!is_turned(t)) return;
    // Mesa's compatibility profile has the extension, but an error for its function.
    if (is_es())
      DT_REAL(void, glFramebufferParameteriMESA, uint32_t, uint32_t, int)(GL_DRAW_FRAMEBUFFER,
                                                                          GL_FRAMEBUFFER_FLIP_Y_MESA, 1);
    else
      DT_REAL(void, glFramebufferParameteri, uint32_t, uint32_t, int)(GL_DRAW_FRAMEBUFFER, GL_FRAMEBUFFER_FLIP_Y_MESA,
                                                                      1);
  }

  // ---- pictures that are read back later --------------------------------------------------------

  // Keeps a picture that was drawn until it is read; `why` it was not.
  const char* queue(State& s, Job job, const char* why) {
    drain_errors();
    if (why) {
      for (auto member : {job.counts, job.counts_too, job.steps, job.samples})
        if (member) (*job.drawn).*member = {why, 0, 0};
      if (job.frame) frame_->lose(why);
      return why;
    }
    const Kind kind = job.kind;
    const auto drawn = job.drawn;
    const std::shared_ptr<Frame> frame = job.frame;
    const std::array<Count Drawn::*, 4> members{job.counts, job.counts_too, job.steps, job.samples};
    ++job.drawn->unread;
    keep(s, std::move(job));
    if (s.tried[kind]) return nullptr;
    // Whether the driver does it is found out here, where its errors are not the program's.
    read_back(s);
    if (!take_error()) {
      s.tried[kind] = true;
      return nullptr;
    }
    why = "the driver does not give back the counts";
    for (auto member : members)
      if (member) (*drawn).*member = {why, 0, 0};
    if (frame) frame->why = why;
    return why;
  }

  void keep(State& s, Job job) {
    if (job.slot) job.slot->waits = true;
    if (job.frame) ++job.frame->unread;
    s.jobs.push_back(std::move(job));
  }

  // A free framebuffer to draw a picture in; `storage`: with a depth buffer of that format.
  Private* slot(State& s, Kind kind, const Target& t, uint32_t storage, const char*& why) {
    static const auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
    static const auto status = DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t);
    static const auto bind_storage = DT_REAL(void, glBindRenderbuffer, uint32_t, uint32_t);
    static const auto allocate = DT_REAL(void, glRenderbufferStorage, uint32_t, uint32_t, int, int);
    static const auto attach = DT_REAL(void, glFramebufferRenderbuffer, uint32_t, uint32_t, uint32_t, uint32_t);
    static const auto attach_texture =
        DT_REAL(void, glFramebufferTexture2D, uint32_t, uint32_t, uint32_t, uint32_t, int);
    static const auto draw_buffers = DT_REAL(void, glDrawBuffers, int, const uint32_t*);
    static const auto read_buffer = DT_REAL(void, glReadBuffer, uint32_t);
    static const uint32_t none = 0;
    const std::array<uint32_t, 4> key{kind + (is_turned(t) ? KINDS : 0u), storage, static_cast<uint32_t>(t.size.width),
                                      static_cast<uint32_t>(t.size.height)};
    if (s.slots.size() > MOST_PRIVATE && !s.slots.contains(key)) {
      read_back(s);
      drop_slots(s);
    }
    auto& all = s.slots[key];
    for (auto& p : all)
      if (!p.waits) return &p;
    if (all.size() >= SLOTS) {
      read_back(s);
      return &all.front();
    }
    Private made;
    const int was = integer(GL_RENDERBUFFER_BINDING);
    made.framebuffer = bind_new(GL_DRAW_FRAMEBUFFER, bind, "glGenFramebuffers");
    turn(t);
    auto add = [&](uint32_t& name, uint32_t format, uint32_t point) {
      name = bind_new(GL_RENDERBUFFER, bind_storage, "glGenRenderbuffers");
      allocate(GL_RENDERBUFFER, format, t.size.width, t.size.height);
      attach(GL_DRAW_FRAMEBUFFER, point, GL_RENDERBUFFER, name);
    };
    if (kind == STENCILS) {
      draw_buffers(1, &none);
      bind(GL_READ_FRAMEBUFFER, made.framebuffer);
      read_buffer(none);
      bind(GL_READ_FRAMEBUFFER, t.read);
      add(made.storage, GL_STENCIL_INDEX8, GL_STENCIL_ATTACHMENT);
      if (take_error() || status(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
        attach(GL_DRAW_FRAMEBUFFER, GL_STENCIL_ATTACHMENT, GL_RENDERBUFFER, 0);
        allocate(GL_RENDERBUFFER, GL_DEPTH24_STENCIL8, t.size.width, t.size.height);
        attach(GL_DRAW_FRAMEBUFFER, GL_DEPTH_STENCIL_ATTACHMENT, GL_RENDERBUFFER, made.storage);
      }
    } else {
      add(made.color, kind == STEPS_8 ? GL_R8 : GL_R16, GL_COLOR_ATTACHMENT0);
      Depth& depth = s.depths[{storage, key[2], key[3]}];
      const uint32_t point = storage == GL_DEPTH_COMPONENT16 ? GL_DEPTH_ATTACHMENT : GL_DEPTH_STENCIL_ATTACHMENT;
      if (storage == AS_TEXTURE) {
        if (!depth.texture) depth.texture = new_depth_texture(t);
        attach_texture(GL_DRAW_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, depth.texture, 0);
      } else if (depth.storage) {
        attach(GL_DRAW_FRAMEBUFFER, point, GL_RENDERBUFFER, depth.storage);
      } else {
        add(depth.storage, storage, point);
      }
    }
    bind_storage(GL_RENDERBUFFER, static_cast<uint32_t>(was));
    if (take_error() || status(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
      why = kind == STENCILS ? "the driver takes no framebuffer of stencil alone"
                             : "the driver takes no framebuffer with such a depth buffer";
    bind(GL_DRAW_FRAMEBUFFER, t.draw);
    all.push_back(made);
    return &all.back();
  }
  // A depth buffer of 32 bits that are no floats: OpenGL ES has such textures, but no such renderbuffers.
  static uint32_t new_depth_texture(const Target& t) {
    static const auto bind = DT_REAL(void, glBindTexture, uint32_t, uint32_t);
    static const auto bind_buffer = DT_REAL(void, glBindBuffer, uint32_t, uint32_t);
    static const auto image =
        DT_REAL(void, glTexImage2D, uint32_t, int, int, int, int, int, uint32_t, uint32_t, const void*);
    const auto bound = static_cast<uint32_t>(integer(GL_TEXTURE_BINDING_2D));
    const uint32_t unpack = tls.context->buffers[gl::UNPACK];
    if (unpack) bind_buffer(GL_PIXEL_UNPACK_BUFFER, 0);
    const uint32_t name = bind_new(GL_TEXTURE_2D, bind, "glGenTextures");
    image(GL_TEXTURE_2D, 0, GL_DEPTH_COMPONENT, t.size.width, t.size.height, 0, GL_DEPTH_COMPONENT, GL_UNSIGNED_INT,
          nullptr);
    bind(GL_TEXTURE_2D, bound);
    if (unpack) bind_buffer(GL_PIXEL_UNPACK_BUFFER, unpack);
    return name;
  }
  static void drop_slots(State& s) {
    for (auto& [key, all] : s.slots) {
      std::map<std::array<uint32_t, 3>, Private> one;
      for (auto& p : all) one[{static_cast<uint32_t>(one.size()), 0, 0}] = p;
      drop(one);
    }
    s.slots.clear();
    for (auto& [key, depth] : s.depths) {
      if (depth.storage) DT_REAL(void, glDeleteRenderbuffers, int, const uint32_t*)(1, &depth.storage);
      if (depth.texture) DT_REAL(void, glDeleteTextures, int, const uint32_t*)(1, &depth.texture);
    }
    s.depths.clear();
  }

  // Reads all pictures that were drawn in the current context. No errors are asked for: there may be some of the
  // program's. With `older` those alone of the buffer of lists that is not in use, which are drawn.
  void read_back(State& s, bool older = false) {
    static const auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
    static const auto transfer = DT_REAL(void, glPixelTransferi, uint32_t, int);
    if (s.jobs.empty()) return;
    if (!older) draw_put_off(s);
    const auto was = static_cast<uint32_t>(integer(GL_READ_FRAMEBUFFER_BINDING));
    int shift = 0, offset = 0;
    bool mapped = false;
    if (!is_es() && !tls.context->core && transfer) {
      shift = integer(GL_INDEX_SHIFT), offset = integer(GL_INDEX_OFFSET), mapped = boolean(GL_MAP_STENCIL);
      if (shift || offset || mapped)
        transfer(GL_INDEX_SHIFT, 0), transfer(GL_INDEX_OFFSET, 0), transfer(GL_MAP_STENCIL, 0);
    }
    int32_t* lists[2] = {};
    for (int i = 0; i < 2; ++i)
      if ((!older || i != s.lists.now) &&
          std::any_of(s.jobs.begin(), s.jobs.end(), [i](auto& j) { return j.kind == LISTED && j.lists == i; }))
        lists[i] = static_cast<int32_t*>(s.lists.buffers[i].map(s.lists.used[i] * sizeof(int32_t), !older));
    while (!s.jobs.empty() && (!older || s.jobs.front().lists != s.lists.now)) {
      Job job = std::move(s.jobs.front());
      s.jobs.pop_front();
      Drawn& d = *job.drawn;
      uint64_t most = 0;
      if (job.slot) bind(GL_READ_FRAMEBUFFER, job.slot->framebuffer);
      if (job.kind == LISTED) {
        const int32_t* const list = lists[job.lists];
        const uint32_t covered = list && job.placed == Placed::SAMPLES ? static_cast<uint32_t>(list[job.first + 1]) : 0;
        Count made = read_list(s, job, lists[job.lists]);
        if (d.refused) made.lost = d.refused;
        most = made.lost ? UINT64_MAX : made.value;
        if (job.counts) d.*job.counts = made;
        if (job.counts_too) d.*job.counts_too = made;
        if (job.samples) d.*job.samples = {made.lost, 0, covered};
        if (job.samples_too) d.samples_passed = {made.lost, 0, covered};
        if (job.frame && made.lost) job.frame->lose_read(made.lost);
      } else if (job.stencil) {
        Count made;
        made.lost = read_counts(s, job.box, [&](size_t x, size_t y, const uint8_t* counts, size_t n) {
          made.value += job.picture ? job.picture->add(x, y, counts, n, job.frame->sums) : sum_of(counts, n);
        });
        if (job.counts) d.*job.counts = made;
        if (job.counts_too) d.*job.counts_too = made;
        if (job.frame && made.lost) job.frame->lose_read(made.lost);
        most = made.lost ? UINT64_MAX : made.value;
      }
      if (job.steps) {
        Count& c = d.*job.steps = {};
        c.lost = read_steps(s, job, c.value);
        most = c.lost ? UINT64_MAX : std::max(most, c.value);
      }
      learn(s, job, most);
      if (job.slot) job.slot->waits = false;
      --d.unread;
      for (Pending* p : job.told) {
        const char* why = p->overdraw.why;
        p->overdraw = job.frame->sums;
        if (why) p->overdraw.why = why;
        p->unread = false;
      }
      if (job.frame) read(*job.frame);
    }
    for (int i = 0; i < 2; ++i)
      if (lists[i]) s.lists.buffers[i].unmap(), s.lists.used[i] = s.lists.plane;
    bind(GL_READ_FRAMEBUFFER, was);
    if (shift || offset || mapped)
      transfer(GL_INDEX_SHIFT, shift), transfer(GL_INDEX_OFFSET, offset), transfer(GL_MAP_STENCIL, mapped);
  }
  static Count read_list(State& s, const Job& job, int32_t* lists) {
    if (!lists) return {"the driver does not give back the counts", 0, 0};
    Count made;
    int32_t* const list = lists + job.first;
    if (job.placed == Placed::PLANE) {
      made.value = job.picture->add_cells(list, job.odd, job.frame->sums);
      memset(list, 0, job.room * sizeof *list);
      return made;
    }
    const auto all = static_cast<uint32_t>(list[0]);
    const size_t listed = std::min<size_t>(all, job.room);
    const bool quads = places_quads();
    made.value = all;
    if (job.picture && quads)
      made.value = job.picture->add_quads(list + 2, listed, job.frame->sums) + static_cast<uint32_t>(list[1]);
    else if (job.picture)
      job.picture->add(list + 2, listed, job.frame->sums);
    memset(list, 0, (listed + 2) * sizeof *list);
    if (!job.picture || all == listed) return made;
    size_t others = 0;
    const int32_t width = job.picture->size.width, first = static_cast<int32_t>(job.first);
    for (size_t i = 0; i < s.lists.plane; ++i) {
      const auto pixel = static_cast<int32_t>(i);
      if (!quads && lists[i] == first) {
        job.picture->add(&pixel, 1, job.frame->sums);
      } else if (quads && lists[i] > 0 && lists[i] / 16 == first) {
        const int32_t x = pixel % width, y = pixel / width, lower = y - ((y + job.odd) & 1);
        const int32_t quad = (lower * width + (x & ~1)) * 16 + lists[i] % 16;
        job.picture->add_quads(&quad, 1, job.frame->sums);
      } else {
        continue;
      }
      lists[i] = 0, ++others;
    }
    if (listed + others != all)
      job.frame->lose_read("a draw made many more fragments than the same one of the frame before");
    return made;
  }
  // Keeps how many fragments a draw made.
  static void learn(State& s, const Job& job, uint64_t most) {
    if (s.made.size() <= job.ordinal) s.made.resize(job.ordinal + 1);
    auto& made = s.made[job.ordinal];
    if (made.draw != job.draw || made.frame > job.made_in) made = {0, job.draw};
    if (made.frame != job.made_in) made = {job.made_in, job.draw, 0, made.fragments, made.seen + 1};
    made.fragments = std::max(made.fragments, most);
  }
  // One more picture of a frame is read.
  void read(Frame& f) {
    if (!--f.unread && f.over) save(f);
  }
  const char* read_steps(State& s, const Job& job, uint64_t& sum) {
    const size_t bytes = job.kind == STEPS_8 ? 1 : 2,
                 n = static_cast<size_t>(job.box[2]) * static_cast<size_t>(job.box[3]);
    if (!n) return nullptr;
    s.read.assign(n * bytes + 8, 0);
    read_pixels(job.box, GL_RED, bytes == 1 ? GL_UNSIGNED_BYTE : GL_UNSIGNED_SHORT, s.read.data());
    if (bytes == 1) {
      // Not more than there are primitives: see most_fragments().
      sum = 255 * n - sum_of(s.read.data(), n);
      return nullptr;
    }
    uint16_t least = 0xFFFF;
    sum = 0xFFFF * n - sum_of(reinterpret_cast<const uint16_t*>(s.read.data()), n, least);
    return 0xFFFF - least > 32000 ? "more than 32,000 fragments of one draw lie on a pixel" : nullptr;
  }

  // Draws into the private framebuffer, with a copy of the program's depth, where each fragment that passes adds one to
  // its pixel, and tells `row` of those that are not zero: where they begin, and how many. nullptr, or why it cannot be
  // told.
  template <typename F> const char* draw_picture(State& s, const Target& t, Draw& draw, uint32_t program, F row) {
    static const auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
    static const auto blit =
        DT_REAL(void, glBlitFramebuffer, int, int, int, int, int, int, int, int, uint32_t, uint32_t);
    static const auto clear = DT_REAL(void, glClearBufferiv, uint32_t, int, const int*);
    static const auto is_whole = DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t);
    static const int zero = 0;
    const char* why = nullptr;
    drain_errors();
    make_target(s, t);
    bind(GL_DRAW_FRAMEBUFFER, s.framebuffer);
    if (is_whole(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
      why = "the driver takes no framebuffer of depth and stencil alone";
    if (!why) {
      StencilState saved;
      StencilState::count();
      {
        Off off;
        off(GL_SCISSOR_TEST);
        bind(GL_READ_FRAMEBUFFER, t.draw);
        blit(0, 0, t.size.width, t.size.height, 0, 0, t.size.width, t.size.height, GL_DEPTH_BUFFER_BIT, GL_NEAREST);
        if (take_error()) why = "the driver does not copy this depth buffer";
        // After the copy: drivers have been seen to lose what was cleared before it.
        clear(GL_STENCIL, 0, &zero);
      }
      if (!why) why = counting_stencil([&] { return perform(draw, program, false); });
      int box[4] = {0, 0, t.size.width, t.size.height};
      if (enabled(GL_SCISSOR_TEST)) scissored(box);
      bind(GL_READ_FRAMEBUFFER, s.framebuffer);
      if (!why) why = read_counts(s, box, row);
      if (!why && take_error()) why = "the driver does not give back the counts";
    }
    bind(GL_DRAW_FRAMEBUFFER, t.draw);
    bind(GL_READ_FRAMEBUFFER, t.read);
    drain_errors();
    return why;
  }

  // The same with colours that add up, for depth buffers that cannot have a stencil buffer beside them, and where the
  // stencil test is the program's: a copy of the program writes 1/255 wherever the program writes a colour.
  template <typename F>
  const char* draw_colors(State& s, const Target& t, Draw& draw, uint32_t program, bool depth, bool stencil, F row) {
    static const auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
    static const auto blit =
        DT_REAL(void, glBlitFramebuffer, int, int, int, int, int, int, int, int, uint32_t, uint32_t);
    static const auto clear = DT_REAL(void, glClearBufferfv, uint32_t, int, const float*);
    static const auto is_whole = DT_REAL(uint32_t, glCheckFramebufferStatus, uint32_t);
    static const float zero[4] = {};
    if (!program) return "no program draws it";
    int stencil_bits = 0;
    if (stencil) {
      stencil_format(t.draw, stencil_bits);
      if (stencil_bits && stencil_bits != 8) return "the stencil buffer has not 8 bits";
    }
    drain_errors();
    const char* why = make_colored(s, t, depth, stencil_bits);
    if (!why) {
      bind(GL_DRAW_FRAMEBUFFER, s.framebuffer);
      if (is_whole(GL_DRAW_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
        why = "the driver takes no framebuffer with such a depth buffer";
    }
    if (!why) {
      Added added;
      {
        Off off;
        off(GL_SCISSOR_TEST);
        clear(GL_COLOR, 0, zero);
        bind(GL_READ_FRAMEBUFFER, t.draw);
        uint32_t bits = (depth ? GL_DEPTH_BUFFER_BIT : 0u) | (stencil_bits ? 0x400u : 0u);
        if (bits) blit(0, 0, t.size.width, t.size.height, 0, 0, t.size.width, t.size.height, bits, GL_NEAREST);
        if (take_error()) why = "the driver does not copy this depth buffer";
      }
      if (!why) {
        Off off;
        if (!depth) off(GL_DEPTH_TEST);
        if (!stencil_bits) off(GL_STENCIL_TEST);
        std::string no;
        if (!use_counting_copy(program, no))
          why = lasting(no);
        else if (!draw.perform())
          why = "the player left it out";
        use_program(program);
      }
      int box[4] = {0, 0, t.size.width, t.size.height};
      if (enabled(GL_SCISSOR_TEST)) scissored(box);
      bind(GL_READ_FRAMEBUFFER, s.framebuffer);
      if (!why) why = read_counts(s, box, row, 4);
      if (!why && take_error()) why = "the driver does not give back the counts";
    }
    bind(GL_DRAW_FRAMEBUFFER, t.draw);
    bind(GL_READ_FRAMEBUFFER, t.read);
    drain_errors();
    return why;
  }

  // ---- OpenGL ES 1 ------------------------------------------------------------------------------

  // Why tests cannot be followed in a framebuffer beside the window, nullptr: they can.
  static const char* no_mirror(bool depth) {
    if (!has_extension("GL_OES_packed_depth_stencil"))
      return "OpenGL ES 1: the driver has no GL_OES_packed_depth_stencil";
    if (enabled(GL_STENCIL_TEST)) return "OpenGL ES 1: what the stencil test lets through cannot be counted";
    if (depth && integer(GL_DEPTH_BITS) != 24) return "OpenGL ES 1: the depth buffer has not 24 bits";
    return nullptr;
  }
  // Binds the mirror, of the window's size. False: the driver does not take it.
  static bool bind_mirror(State& s, Extent size) {
    static const auto bind = DT_REAL(void, glBindFramebufferOES, uint32_t, uint32_t);
    static const auto bind_storage = DT_REAL(void, glBindRenderbufferOES, uint32_t, uint32_t);
    static const auto allocate = DT_REAL(void, glRenderbufferStorageOES, uint32_t, uint32_t, int, int);
    static const auto attach = DT_REAL(void, glFramebufferRenderbufferOES, uint32_t, uint32_t, uint32_t, uint32_t);
    static const auto status = DT_REAL(uint32_t, glCheckFramebufferStatusOES, uint32_t);
    auto& m = s.mirror;
    if (m.framebuffer && (m.size.width != size.width || m.size.height != size.height)) drop_mirror(s);
    if (m.framebuffer) return bind(GL_FRAMEBUFFER, m.framebuffer), status(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
    static uint32_t next = 0x6C000000;  // downwards: names that no program chooses
    m.framebuffer = m.color = next--;
    m.storage = next--;
    m.size = size;
    const auto was = static_cast<uint32_t>(integer(GL_RENDERBUFFER_BINDING));
    bind(GL_FRAMEBUFFER, m.framebuffer);
    bind_storage(GL_RENDERBUFFER, m.color);
    allocate(GL_RENDERBUFFER, GL_RGBA8, size.width, size.height);
    attach(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, m.color);
    bind_storage(GL_RENDERBUFFER, m.storage);
    allocate(GL_RENDERBUFFER, GL_DEPTH24_STENCIL8, size.width, size.height);
    attach(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, m.storage);
    attach(GL_FRAMEBUFFER, GL_STENCIL_ATTACHMENT, GL_RENDERBUFFER, m.storage);
    bind_storage(GL_RENDERBUFFER, was);
    return status(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
  }
  static void drop_mirror(State& s) {
    auto& m = s.mirror;
    if (m.framebuffer) {
      DT_REAL(void, glDeleteFramebuffersOES, int, const uint32_t*)(1, &m.framebuffer);
      for (uint32_t* name : {&m.color, &m.storage})
        DT_REAL(void, glDeleteRenderbuffersOES, int, const uint32_t*)(1, name);
    }
    m = {};
  }
  // The program clears its depth buffer: so is the mirror's, as scissor and mask have it.
  static void clear_mirror(State& s, uint32_t mask) {
    static const auto bind = DT_REAL(void, glBindFramebufferOES, uint32_t, uint32_t);
    const char* why = nullptr;
    Extent size;
    if (!(mask & GL_DEPTH_BUFFER_BIT) || !boolean(GL_DEPTH_WRITEMASK) || integer(GL_DRAW_FRAMEBUFFER_BINDING) ||
        integer(GL_SAMPLE_BUFFERS) > 0 || !has_extension("GL_OES_packed_depth_stencil"))
      return;
    const bool whole = !enabled(GL_SCISSOR_TEST);
    if (!whole && !s.mirror.equal) return;
    if (!target_size(0, size, why) || !bind_mirror(s, size))
      s.mirror.equal = false;
    else
      DT_REAL(void, glClear, uint32_t)(GL_DEPTH_BUFFER_BIT), s.mirror.equal = true;
    bind(GL_FRAMEBUFFER, 0);
    drain_errors();
  }

  // Counts in the mirror's stencil buffer what the tests let through: the alpha test, and with `depth` the depth test,
  // whose buffer the draw changes as it does the window's.
  const char* count_behind(State& s, Draw& draw, Extent size, bool depth, Count& to) {
    static const auto bind = DT_REAL(void, glBindFramebufferOES, uint32_t, uint32_t);
    static const auto mask = DT_REAL(void, glColorMask, uint8_t, uint8_t, uint8_t, uint8_t);
    static const auto clear = DT_REAL(void, glClear, uint32_t);
    static const auto clear_value = DT_REAL(void, glClearStencil, int);
    static const auto func = DT_REAL(void, glStencilFunc, uint32_t, int, uint32_t);
    static const auto op = DT_REAL(void, glStencilOp, uint32_t, uint32_t, uint32_t);
    static const auto write = DT_REAL(void, glStencilMask, uint32_t);
    if (const char* no = no_mirror(depth)) return no;
    if (depth && !s.mirror.equal) return "OpenGL ES 1: the depth buffer was not cleared in this frame";
    const char* why = nullptr;
    if (!bind_mirror(s, size)) {
      bind(GL_FRAMEBUFFER, 0);
      s.mirror.equal = false;
      return "the driver takes no framebuffer with such a depth buffer";
    }
    const int was[] = {integer(GL_STENCIL_FUNC),
                       integer(GL_STENCIL_REF),
                       integer(GL_STENCIL_VALUE_MASK),
                       integer(GL_STENCIL_FAIL),
                       integer(GL_STENCIL_PASS_DEPTH_FAIL),
                       integer(GL_STENCIL_PASS_DEPTH_PASS),
                       integer(GL_STENCIL_WRITEMASK),
                       integer(GL_STENCIL_CLEAR_VALUE)};
    uint8_t colors[4] = {};
    DT_REAL(void, glGetBooleanv, uint32_t, uint8_t*)(GL_COLOR_WRITEMASK, colors);
    clear_value(0);
    write(0xFF);
    {
      Off whole;
      whole(GL_SCISSOR_TEST);
      clear(0x400);
    }
    func(GL_ALWAYS, 0, 0xFF);
    op(GL_KEEP, GL_KEEP, GL_INCR);
    mask(0, 0, 0, 0);
    DT_REAL(void, glEnable, uint32_t)(GL_STENCIL_TEST);
    {
      Off off;
      if (!depth) off(GL_DEPTH_TEST);
      if (!draw.perform()) why = "the player left it out";
    }
    op(GL_KEEP, GL_KEEP, GL_KEEP);
    mask(1, 1, 1, 1);
    int box[4] = {0, 0, size.width, size.height};
    if (enabled(GL_SCISSOR_TEST)) scissored(box);
    colors_of_counts(size);
    if (!why)
      why = read_counts(s, box, [&](size_t, size_t, const uint8_t* row, size_t n) { to.value += sum_of(row, n); }, 4);
    DT_REAL(void, glDisable, uint32_t)(GL_STENCIL_TEST);
    mask(colors[0], colors[1], colors[2], colors[3]);
    func(static_cast<uint32_t>(was[0]), was[1], static_cast<uint32_t>(was[2]));
    op(static_cast<uint32_t>(was[3]), static_cast<uint32_t>(was[4]), static_cast<uint32_t>(was[5]));
    write(static_cast<uint32_t>(was[6]));
    clear_value(was[7]);
    bind(GL_FRAMEBUFFER, 0);
    if (!why && take_error()) why = "the driver does not give back the counts";
    if (why && depth) s.mirror.equal = false;
    return why;
  }
  // A strip of four vertices covers all pixels for a while, in fixed function.
  class Everywhere {
   public:
    explicit Everywhere(Extent size) {
      static constexpr float corners[] = {-1, -1, 1, -1, -1, 1, 1, 1};
      for (uint32_t cap : {GL_CULL_FACE, GL_MATRIX_PALETTE_ARB, GL_CLIP_PLANE0, GL_CLIP_PLANE1, GL_CLIP_PLANE2,
                           GL_CLIP_PLANE3, GL_CLIP_PLANE4, GL_CLIP_PLANE5}) {
        off_(cap);  // culling, a palette of matrices, planes
        drain_errors();
      }
      DT_REAL(void, glGetIntegerv, uint32_t, int*)(GL_VIEWPORT, viewport_);
      get(GL_MODELVIEW_MATRIX, matrices_[0]), get(GL_PROJECTION_MATRIX, matrices_[1]);
      for (uint32_t m : {GL_MODELVIEW, GL_PROJECTION}) mode(m), DT_REAL(void, glLoadIdentity)();
      DT_REAL(void, glViewport, int, int, int, int)(0, 0, size.width, size.height);
      DT_REAL(void, glGetPointerv, uint32_t, void**)(GL_VERTEX_ARRAY_POINTER, &pointer_);
      if (colored_) client(false, GL_COLOR_ARRAY);
      client(true, GL_VERTEX_ARRAY);
      bind(0);
      vertices(2, GL_FLOAT, 0, corners);
    }
    Everywhere(const Everywhere&) = delete;
    Everywhere& operator=(const Everywhere&) = delete;
    ~Everywhere() {
      bind(static_cast<uint32_t>(buffer_));
      vertices(size_, static_cast<uint32_t>(type_), stride_, pointer_);
      bind(tls.context->buffers[gl::ARRAY]);
      if (!shaped_) client(false, GL_VERTEX_ARRAY);
      if (colored_) client(true, GL_COLOR_ARRAY);
      const int* v = viewport_;
      DT_REAL(void, glViewport, int, int, int, int)(v[0], v[1], v[2], v[3]);
      for (uint32_t i = 0; i < 2; ++i) mode(GL_MODELVIEW + i), DT_REAL(void, glLoadMatrixf, const float*)(matrices_[i]);
      mode(mode_);
    }

   private:
    static void get(uint32_t name, float* to) { DT_REAL(void, glGetFloatv, uint32_t, float*)(name, to); }
    static void mode(uint32_t m) { DT_REAL(void, glMatrixMode, uint32_t)(m); }
    static void bind(uint32_t buffer) { DT_REAL(void, glBindBuffer, uint32_t, uint32_t)(GL_ARRAY_BUFFER, buffer); }
    static void client(bool on, uint32_t array) {
      on ? DT_REAL(void, glEnableClientState, uint32_t)(array) : DT_REAL(void, glDisableClientState, uint32_t)(array);
    }
    static void vertices(int size, uint32_t type, int stride, const void* at) {
      DT_REAL(void, glVertexPointer, int, uint32_t, int, const void*)(size, type, stride, at);
    }
    Off off_;
    int viewport_[4] = {};
    float matrices_[2][16] = {};
    void* pointer_ = nullptr;
    const uint32_t mode_ = static_cast<uint32_t>(integer(GL_MATRIX_MODE));
    const int size_ = integer(GL_VERTEX_ARRAY_SIZE), type_ = integer(GL_VERTEX_ARRAY_TYPE),
              stride_ = integer(GL_VERTEX_ARRAY_STRIDE), buffer_ = integer(GL_VERTEX_ARRAY_BUFFER_BINDING);
    const bool shaped_ = enabled(GL_VERTEX_ARRAY), colored_ = enabled(GL_COLOR_ARRAY);
  };

  // Stencil buffers cannot be read: colours become what they count, a bit at a time.
  static void colors_of_counts(Extent size) {
    static const auto get_float = DT_REAL(void, glGetFloatv, uint32_t, float*);
    static const auto color = DT_REAL(void, glColor4f, float, float, float, float);
    static const auto clear_color = DT_REAL(void, glClearColor, float, float, float, float);
    static const auto factors = DT_REAL(void, glBlendFunc, uint32_t, uint32_t);
    static const auto unit = DT_REAL(void, glActiveTexture, uint32_t);
    static const auto func = DT_REAL(void, glStencilFunc, uint32_t, int, uint32_t);
    static const auto arrays = DT_REAL(void, glDrawArrays, uint32_t, int, int);
    static const auto on = DT_REAL(void, glEnable, uint32_t), off_now = DT_REAL(void, glDisable, uint32_t);
    float background[4] = {}, current[4] = {};
    get_float(GL_COLOR_CLEAR_VALUE, background);
    get_float(GL_CURRENT_COLOR, current);
    const auto from = static_cast<uint32_t>(integer(GL_BLEND_SRC)), to = static_cast<uint32_t>(integer(GL_BLEND_DST));
    const auto active = static_cast<uint32_t>(integer(GL_ACTIVE_TEXTURE));
    const bool blends = enabled(GL_BLEND);
    Off off;
    // Lights, fog, logic operation, dither.
    for (uint32_t cap : {GL_DEPTH_TEST, GL_ALPHA_TEST, GL_LIGHTING, GL_FOG, GL_COLOR_LOGIC_OP, GL_DITHER}) off(cap);
    std::vector<uint32_t> textured;
    for (uint32_t i = GL_TEXTURE0;
         i < GL_TEXTURE0 + static_cast<uint32_t>(std::clamp(integer(GL_MAX_TEXTURE_UNITS), 1, 8)); ++i) {
      unit(i);
      if (enabled(GL_TEXTURE_2D)) off_now(GL_TEXTURE_2D), textured.push_back(i);
    }
    clear_color(0, 0, 0, 0);
    {
      Off whole;
      whole(GL_SCISSOR_TEST);
      DT_REAL(void, glClear, uint32_t)(GL_COLOR_BUFFER_BIT);
    }
    on(GL_BLEND);
    factors(1, 1);
    const Everywhere everywhere(size);
    for (int bit = 1; bit < 256; bit *= 2) {
      const float value = static_cast<float>(bit) / 255.f;
      color(value, value, value, value);
      func(GL_EQUAL, bit, static_cast<uint32_t>(bit));
      arrays(5, 0, 4);
    }
    if (!blends) off_now(GL_BLEND);
    factors(from, to);
    for (uint32_t i : textured) unit(i), on(GL_TEXTURE_2D);
    unit(active);
    color(current[0], current[1], current[2], current[3]);
    clear_color(background[0], background[1], background[2], background[3]);
  }

  // What is generated: a colour of 1/255, nothing but the primitives' shape left of the program's state, adds up in a
  // private framebuffer. What tests let through: see count_behind().
  void count_plain(State& s, Drawn& d, Draw& draw, bool alpha) {
    static const auto get = DT_REAL(void, glGetIntegerv, uint32_t, int*);
    static const auto get_float = DT_REAL(void, glGetFloatv, uint32_t, float*);
    static const auto get_mask = DT_REAL(void, glGetBooleanv, uint32_t, uint8_t*);
    static const auto bind = DT_REAL(void, glBindFramebufferOES, uint32_t, uint32_t);
    static const auto bind_storage = DT_REAL(void, glBindRenderbufferOES, uint32_t, uint32_t);
    static const auto allocate = DT_REAL(void, glRenderbufferStorageOES, uint32_t, uint32_t, int, int);
    static const auto attach = DT_REAL(void, glFramebufferRenderbufferOES, uint32_t, uint32_t, uint32_t, uint32_t);
    static const auto status = DT_REAL(uint32_t, glCheckFramebufferStatusOES, uint32_t);
    static const auto clear = DT_REAL(void, glClear, uint32_t);
    static const auto clear_color = DT_REAL(void, glClearColor, float, float, float, float);
    static const auto mask = DT_REAL(void, glColorMask, uint8_t, uint8_t, uint8_t, uint8_t);
    static const auto factors = DT_REAL(void, glBlendFunc, uint32_t, uint32_t);
    static const auto color = DT_REAL(void, glColor4f, float, float, float, float);
    static const auto unit = DT_REAL(void, glActiveTexture, uint32_t);
    static const auto client_on = DT_REAL(void, glEnableClientState, uint32_t);
    static const auto client_off = DT_REAL(void, glDisableClientState, uint32_t);
    static const auto on = DT_REAL(void, glEnable, uint32_t);
    static const auto off_ = DT_REAL(void, glDisable, uint32_t);
    auto was = static_cast<uint32_t>(integer(GL_DRAW_FRAMEBUFFER_BINDING));
    const char* why = nullptr;
    Target t;
    if (was)
      why = "a framebuffer object of OpenGL ES 1: its size cannot be asked";
    else if (integer(GL_SAMPLE_BUFFERS) > 0)
      why = "the target has several samples a pixel";
    else if (!strcmp(draw.name, "glCallList"))
      why = draw.refusal();
    else
      target_size(0, t.size, why);
    if (why) return lose(d, why, true);
    const bool depth = enabled(GL_DEPTH_TEST) && integer(GL_DEPTH_BITS) > 0, stencil = enabled(GL_STENCIL_TEST);
    if (alpha && (discards_ || (passes_ && !depth && !stencil)))
      d.survived.lost = count_behind(s, draw, t.size, false, d.survived);
    if (passes_ && (depth || stencil)) {
      d.passed.lost = count_behind(s, draw, t.size, depth, d.passed);
      follows_ = !d.passed.lost;
    } else {
      follows_ = !depth;  // the mirror stays equal
    }
    int storage = integer(GL_RENDERBUFFER_BINDING), units = std::clamp(integer(GL_MAX_TEXTURE_UNITS), 1, 8),
        active = integer(GL_ACTIVE_TEXTURE);
    Private& p = s.adding[{0u, static_cast<uint32_t>(t.size.width), static_cast<uint32_t>(t.size.height)}];
    bool fresh = !p.framebuffer;
    if (fresh) {
      static uint32_t next = 0x6F000000;  // downwards, as in make_target
      p.framebuffer = p.color = next--;
    }
    bind(GL_FRAMEBUFFER, p.framebuffer);
    if (fresh) {
      bind_storage(GL_RENDERBUFFER, p.color);
      allocate(GL_RENDERBUFFER, GL_RGBA8, t.size.width, t.size.height);
      attach(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, p.color);
      bind_storage(GL_RENDERBUFFER, static_cast<uint32_t>(storage));
    }
    if (status(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) why = "the driver takes no framebuffer of colours alone";
    if (!why) {
      uint8_t masks[4] = {};
      float background[4] = {}, current[4] = {};
      int from = 0, to = 0;
      get_mask(GL_COLOR_WRITEMASK, masks);
      get_float(GL_COLOR_CLEAR_VALUE, background);
      get_float(GL_CURRENT_COLOR, current);
      get(GL_BLEND_SRC, &from);
      get(GL_BLEND_DST, &to);
      bool array = enabled(GL_COLOR_ARRAY), blends = enabled(GL_BLEND);
      Off off;
      for (uint32_t cap :
           {GL_DEPTH_TEST, GL_STENCIL_TEST, GL_ALPHA_TEST, GL_SAMPLE_ALPHA_TO_COVERAGE, GL_SAMPLE_COVERAGE})
        off(cap);
      for (uint32_t cap : {GL_LIGHTING, GL_FOG, GL_COLOR_LOGIC_OP, GL_DITHER})
        off(cap);  // lights, fog, logic operation, dither
      std::vector<int> textured;
      for (int i = 0; i < units; ++i) {
        unit(GL_TEXTURE0 + static_cast<uint32_t>(i));
        if (enabled(GL_TEXTURE_2D)) off_(GL_TEXTURE_2D), textured.push_back(i);
      }
      unit(static_cast<uint32_t>(active));
      mask(1, 1, 1, 1);
      clear_color(0, 0, 0, 0);
      {
        Off whole;
        whole(GL_SCISSOR_TEST);
        clear(GL_COLOR_BUFFER_BIT);
      }
      clear_color(background[0], background[1], background[2], background[3]);
      if (array) client_off(GL_COLOR_ARRAY);
      color(1 / 255.f, 1 / 255.f, 1 / 255.f, 1 / 255.f);
      on(GL_BLEND);
      factors(1, 1);
      if (!draw.perform()) why = "the player left it out";
      if (!blends) off_(GL_BLEND);
      factors(static_cast<uint32_t>(from), static_cast<uint32_t>(to));
      color(current[0], current[1], current[2], current[3]);
      if (array) client_on(GL_COLOR_ARRAY);
      mask(masks[0], masks[1], masks[2], masks[3]);
      for (int i : textured) unit(GL_TEXTURE0 + static_cast<uint32_t>(i)), on(GL_TEXTURE_2D);
      unit(static_cast<uint32_t>(active));
      int box[4] = {0, 0, t.size.width, t.size.height};
      if (enabled(GL_SCISSOR_TEST)) scissored(box);
      Picture* picture = nullptr;
      if (pictures_) {
        picture = &frame_->pictures[{current_context(), 0}];
        if (picture->empty()) {
          picture->clear(t.size);
        } else if (picture->size.width != t.size.width || picture->size.height != t.size.height) {
          frame_->lose("a target had two sizes in one frame");
          picture = nullptr;
        }
      }
      if (!why)
        why = read_counts(
            s, box,
            [&](size_t x, size_t y, const uint8_t* counts, size_t n) {
              d.generated.value += picture ? picture->add(x, y, counts, n, frame_->sums) : sum_of(counts, n);
            },
            4);
      if (!why && take_error()) why = "the driver does not give back the counts";
    }
    bind(GL_FRAMEBUFFER, was);
    if (why) return lose(d, why, true);
    if (fetches_) d.fetches.fragment = d.generated.value * textured_units();
    if (!depth && !stencil) d.passed = alpha ? d.survived : d.generated;
  }

  static void stencil_format(uint32_t framebuffer, int& bits) {
    static const auto get = DT_REAL(void, glGetFramebufferAttachmentParameteriv, uint32_t, uint32_t, uint32_t, int*);
    int object = 0;
    uint32_t point = framebuffer ? GL_STENCIL_ATTACHMENT : GL_STENCIL;
    get(GL_DRAW_FRAMEBUFFER, point, GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE, &object);
    if (take_error() || !object) return;
    get(GL_DRAW_FRAMEBUFFER, point, GL_FRAMEBUFFER_ATTACHMENT_STENCIL_SIZE, &bits);
    drain_errors();
  }

  // Whether it is there, for a copy of this depth and stencil buffer; else why not.
  const char* make_colored(State& s, const Target& t, bool depth, int stencil_bits) {
    static const auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
    static const auto gen = DT_REAL(void, glGenFramebuffers, int, uint32_t*);
    static const auto gen_storage = DT_REAL(void, glGenRenderbuffers, int, uint32_t*);
    static const auto gen_texture = DT_REAL(void, glGenTextures, int, uint32_t*);
    static const auto bind_storage = DT_REAL(void, glBindRenderbuffer, uint32_t, uint32_t);
    static const auto bind_texture = DT_REAL(void, glBindTexture, uint32_t, uint32_t);
    static const auto bind_buffer = DT_REAL(void, glBindBuffer, uint32_t, uint32_t);
    static const auto allocate = DT_REAL(void, glRenderbufferStorage, uint32_t, uint32_t, int, int);
    static const auto image =
        DT_REAL(void, glTexImage2D, uint32_t, int, int, int, int, int, uint32_t, uint32_t, const void*);
    static const auto attach = DT_REAL(void, glFramebufferRenderbuffer, uint32_t, uint32_t, uint32_t, uint32_t);
    static const auto attach_texture =
        DT_REAL(void, glFramebufferTexture2D, uint32_t, uint32_t, uint32_t, uint32_t, int);
    uint32_t kind = 0;
    if (stencil_bits)
      kind = !depth || (t.depth_bits == 24 && !t.depth_is_float) ? GL_DEPTH24_STENCIL8
             : t.depth_is_float                                  ? GL_DEPTH32F_STENCIL8
                                                                 : 0u;
    else if (!depth)
      kind = 2;  // colours alone
    else
      kind = t.depth_is_float     ? GL_DEPTH_COMPONENT32F
             : t.depth_bits == 16 ? GL_DEPTH_COMPONENT16
             : t.depth_bits == 24 ? GL_DEPTH24_STENCIL8
             : t.depth_bits == 32 ? AS_TEXTURE
                                  : 0;
    if (!kind) return lasting("a depth buffer of " + std::to_string(t.depth_bits) + " bits cannot be copied");
    if (s.adding.size() > MOST_PRIVATE) drop(s.adding);
    const std::array<uint32_t, 3> which{kind + (is_turned(t) ? 1u << 16 : 0u), static_cast<uint32_t>(t.size.width),
                                        static_cast<uint32_t>(t.size.height)};
    Private& c = s.adding[which];
    if (c.framebuffer) {
      s.framebuffer = c.framebuffer;
      return nullptr;
    }
    int was = integer(GL_RENDERBUFFER_BINDING);
    static uint32_t next = 0x6E000000;  // downwards, as in make_target
    c.framebuffer = c.color = next--;   // names that no program chooses
    bool chosen = true;
    bind(GL_DRAW_FRAMEBUFFER, c.framebuffer);
    bind_storage(GL_RENDERBUFFER, c.color);
    if (take_error()) {
      chosen = false;
      gen(1, &c.framebuffer), gen_storage(1, &c.color);
      bind(GL_DRAW_FRAMEBUFFER, c.framebuffer);
      bind_storage(GL_RENDERBUFFER, c.color);
    }
    turn(t);
    allocate(GL_RENDERBUFFER, GL_RGBA8, t.size.width, t.size.height);
    attach(GL_DRAW_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, c.color);
    if (kind == AS_TEXTURE) {
      int bound = integer(GL_TEXTURE_BINDING_2D);
      uint32_t unpack = tls.context->buffers[gl::UNPACK];
      if (unpack) bind_buffer(GL_PIXEL_UNPACK_BUFFER, 0);
      chosen ? void(c.texture = next--) : gen_texture(1, &c.texture);
      bind_texture(GL_TEXTURE_2D, c.texture);
      image(GL_TEXTURE_2D, 0, GL_DEPTH_COMPONENT, t.size.width, t.size.height, 0, GL_DEPTH_COMPONENT, GL_UNSIGNED_INT,
            nullptr);
      attach_texture(GL_DRAW_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, c.texture, 0);
      bind_texture(GL_TEXTURE_2D, static_cast<uint32_t>(bound));
      if (unpack) bind_buffer(GL_PIXEL_UNPACK_BUFFER, unpack);
    } else if (kind != 2) {
      chosen ? void(c.storage = next--) : gen_storage(1, &c.storage);
      bind_storage(GL_RENDERBUFFER, c.storage);
      allocate(GL_RENDERBUFFER, kind, t.size.width, t.size.height);
      attach(GL_DRAW_FRAMEBUFFER,
             kind == GL_DEPTH24_STENCIL8 || kind == GL_DEPTH32F_STENCIL8 ? GL_DEPTH_STENCIL_ATTACHMENT
                                                                         : GL_DEPTH_ATTACHMENT,
             GL_RENDERBUFFER, c.storage);
    }
    bind_storage(GL_RENDERBUFFER, static_cast<uint32_t>(was));
    bind(GL_DRAW_FRAMEBUFFER, t.draw);
    s.framebuffer = c.framebuffer;
    return take_error() ? "the driver takes no framebuffer with such a depth buffer" : nullptr;
  }
  static void scissored(int* box) {
    static const auto get = DT_REAL(void, glGetIntegerv, uint32_t, int*);
    int v[4] = {};
    get(GL_SCISSOR_BOX, v);
    int right = std::min(box[2], v[0] + v[2]), top = std::min(box[3], v[1] + v[3]);
    box[0] = std::clamp(v[0], 0, box[2]), box[1] = std::clamp(v[1], 0, box[3]);
    box[2] = std::max(right - box[0], 0), box[3] = std::max(top - box[1], 0);
  }

  // Tells `row` of each row of counts: where it begins, and how many.
  template <typename F> static const char* read_counts(State& s, const int* box, F row, size_t channels = 1) {
    auto width = static_cast<size_t>(box[2]), height = static_cast<size_t>(box[3]);
    if (!width || !height) return nullptr;
    s.read.assign(width * height * channels + 8, 0);
    read_pixels(box, channels == 4 ? GL_RGBA : GL_STENCIL_INDEX, GL_UNSIGNED_BYTE, s.read.data());
    if (channels == 4)
      for (size_t i = 0; i < width * height; ++i) s.read[i] = s.read[i * 4];
    if (memchr(s.read.data(), 255, width * height)) return "more than 254 fragments of one draw lie on a pixel";
    for (size_t y = 0; y < height; ++y)
      row(static_cast<size_t>(box[0]), y + static_cast<size_t>(box[1]), s.read.data() + y * width, width);
    return nullptr;
  }
  // Of the framebuffer that is bound for it, without gaps.
  static void read_pixels(const int* box, uint32_t format, uint32_t type, void* to) {
    static const auto bind_buffer = DT_REAL(void, glBindBuffer, uint32_t, uint32_t);
    static const auto store = DT_REAL(void, glPixelStorei, uint32_t, int);
    static const auto read = DT_REAL(void, glReadPixels, int, int, int, int, uint32_t, uint32_t, void*);
    const GlContext* c = tls.context;
    uint32_t pack = c->buffers[gl::PACK];
    if (pack) bind_buffer(GL_PIXEL_PACK_BUFFER, 0);
    const gl::PixelStore& p = c->pack;
    const struct {
      uint32_t name;
      int value, plain;
    } values[] = {{GL_PACK_ALIGNMENT, p.alignment, 1},   {GL_PACK_ROW_LENGTH, p.row_length, 0},
                  {GL_PACK_SKIP_ROWS, p.skip_rows, 0},   {GL_PACK_SKIP_PIXELS, p.skip_pixels, 0},
                  {GL_PACK_SWAP_BYTES, p.swap_bytes, 0}, {GL_PACK_LSB_FIRST, p.lsb_first, 0}};
    for (auto& v : values)
      if (v.value != v.plain) store(v.name, v.plain);
    read(box[0], box[1], box[2], box[3], format, type, to);
    for (auto& v : values)
      if (v.value != v.plain) store(v.name, v.value);
    if (pack) bind_buffer(GL_PIXEL_PACK_BUFFER, pack);
  }

  // A framebuffer of that size and format, in use. Names are such as no program chooses where a program may choose
  // names itself.
  void make_target(State& s, const Target& t) {
    static const auto bind = DT_REAL(void, glBindFramebuffer, uint32_t, uint32_t);
    static const auto gen = DT_REAL(void, glGenFramebuffers, int, uint32_t*);
    static const auto gen_storage = DT_REAL(void, glGenRenderbuffers, int, uint32_t*);
    static const auto bind_storage = DT_REAL(void, glBindRenderbuffer, uint32_t, uint32_t);
    static const auto allocate = DT_REAL(void, glRenderbufferStorage, uint32_t, uint32_t, int, int);
    static const auto attach = DT_REAL(void, glFramebufferRenderbuffer, uint32_t, uint32_t, uint32_t, uint32_t);
    static const auto draw_buffers = DT_REAL(void, glDrawBuffers, int, const uint32_t*);
    static const auto read_buffer = DT_REAL(void, glReadBuffer, uint32_t);
    static const uint32_t none = 0;
    if (s.counting.size() > MOST_PRIVATE) drop(s.counting);
    Private& p = s.counting[{t.format + (is_turned(t) ? 1u << 16 : 0u), static_cast<uint32_t>(t.size.width),
                             static_cast<uint32_t>(t.size.height)}];
    if (p.framebuffer) {
      s.framebuffer = p.framebuffer;
      return;
    }
    int was = integer(GL_RENDERBUFFER_BINDING);
    {
      bool chosen = !tls.context->core;
      static uint32_t next = 0x6D000000;  // downwards
      p.framebuffer = p.storage = chosen ? next-- : 0;
      if (chosen) {
        bind(GL_DRAW_FRAMEBUFFER, p.framebuffer);
        bind_storage(GL_RENDERBUFFER, p.storage);
        chosen = !take_error();
      }
      if (!chosen) {
        gen(1, &p.framebuffer);
        gen_storage(1, &p.storage);
        bind(GL_DRAW_FRAMEBUFFER, p.framebuffer);
      }
      draw_buffers(1, &none);
      bind(GL_READ_FRAMEBUFFER, p.framebuffer);
      read_buffer(none);
    }
    bind(GL_DRAW_FRAMEBUFFER, p.framebuffer);
    turn(t);
    bind_storage(GL_RENDERBUFFER, p.storage);
    allocate(GL_RENDERBUFFER, t.format, t.size.width, t.size.height);
    attach(GL_DRAW_FRAMEBUFFER, GL_DEPTH_STENCIL_ATTACHMENT, GL_RENDERBUFFER, p.storage);
    bind_storage(GL_RENDERBUFFER, static_cast<uint32_t>(was));
    bind(GL_READ_FRAMEBUFFER, t.read);
    s.framebuffer = p.framebuffer;
  }
  static void drop(std::map<std::array<uint32_t, 3>, Private>& all) {
    static const auto remove = DT_REAL(void, glDeleteFramebuffers, int, const uint32_t*);
    static const auto remove_storage = DT_REAL(void, glDeleteRenderbuffers, int, const uint32_t*);
    static const auto remove_texture = DT_REAL(void, glDeleteTextures, int, const uint32_t*);
    for (auto& [key, p] : all) {
      if (p.framebuffer) remove(1, &p.framebuffer);
      for (uint32_t* name : {&p.color, &p.storage})
        if (*name) remove_storage(1, name);
      if (p.texture) remove_texture(1, &p.texture);
    }
    all.clear();
  }

  // One file a target: a line of text, then 32-bit counts, lowest row first.
  void save(const Frame& f) {
    if (pictures_folder().empty()) return;
    const char* why = f.why ? f.why : f.sums.why ? f.sums.why : "";
    size_t saved = 0;
    for (auto& [key, p] : f.pictures) {
      if (p.empty()) continue;
      char name[64];
      snprintf(name, sizeof name, "/%06llu-%zu.counts", static_cast<unsigned long long>(f.number), saved++);
      FILE* to = fopen((pictures_folder() + name).c_str(), "wb");
      if (!to) return;
      fprintf(to, "%d %d %u %llu %llu %s\n", p.size.width, p.size.height, p.framebuffer,
              static_cast<unsigned long long>(f.draws), static_cast<unsigned long long>(std::min(f.unknown, f.draws)),
              why);
      const std::vector<uint32_t> counts = p.counts();
      fwrite(counts.data(), 4, counts.size(), to);
      fclose(to);
    }
  }

  static uint64_t next_epoch() {
    static uint64_t last = 0;
    return ++last;
  }

  std::vector<Entry> entries_;
  bool counts_again_ = false, discards_ = false, passes_ = false, fetches_ = false, pictures_ = false;
  std::unordered_map<const void*, State> states_;
  std::shared_ptr<Frame> frame_ = std::make_shared<Frame>();
  // Counts what may have changed the program's depth buffers without ours following.
  uint64_t depth_epoch_ = 1;
  bool follows_ = false;  // ours followed the draw
  // Counts what may have changed the values of uniforms.
  uint64_t uniform_epoch_ = next_epoch(), frames_ = 1;  // uniform_epoch_: copies outlive this
  std::unordered_map<const char*, Changes> changes_;    // by name of function
};

class Fragments : public Backend {
 public:
  Fragments() : Backend("fragments") {}
  std::string reason() override { return current_context() ? "" : "there is no context"; }
  std::vector<Offer> offers() override {
    std::vector<Offer> found;
    for (auto& k : KNOWN)
      if (no_metric(k.what).empty()) found.push_back({k.spec, k.group, k.spec, "", k.unit, ""});
    return found;
  }
  std::vector<std::pair<std::string, std::string>> refusals() override {
    std::vector<std::pair<std::string, std::string>> found;
    for (auto& k : KNOWN)
      if (std::string why = no_metric(k.what); !why.empty()) found.emplace_back(k.spec, why);
    return found;
  }
  std::unique_ptr<Source> source(const std::vector<Wanted>& all, const std::vector<int>& numbers,
                                 std::string& why) override {
    std::vector<FragmentSource::Entry> entries;
    for (int n : numbers) {
      const Known* k = known(all[static_cast<size_t>(n)].spec);
      if (!k) return why = "there is no " + all[static_cast<size_t>(n)].spec, nullptr;
      entries.push_back({n, k->what});
    }
    return std::make_unique<FragmentSource>(numbers, std::move(entries));
  }
} g_fragments;

}  // namespace
}  // namespace dt::play::metrics
