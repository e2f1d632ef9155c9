// Counts of fragments: the source, in parts by the way in which it counts.
//
// fragment_source.cc        what the session asks, and which way a draw is counted
// fragments_by_queries.cc   occlusion queries, targets with several samples a pixel, fetches of textures
// fragments_in_place.cc     lists in a storage block, without going to another framebuffer
// fragments_in_pictures.cc  private framebuffers: stencil counts, steps of a colour, colours that add up
// fragments_read_back.cc    pictures and lists that are read later
// fragments_targets.cc      the private framebuffers
// fragments_es1.cc          OpenGL ES 1
// fragments_masks.cc        counts by pixel of one draw
#pragma once
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "draw_state.h"
#include "fetches.h"
#include "gl_enums.h"
#include "overdraw.h"
#include "programs.h"
#include "source.h"

namespace dt::play::metrics::fragments {

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

// Why there are no occlusion queries that count, "": there are.
std::string no_queries();
// Why something cannot be counted here, "": it can.
std::string no_metric(What what);

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
  // For a target with several samples a pixel, where fragments are something else.
  bool sampled = false;
  Count samples_generated, samples_survived, samples_passed;
  std::shared_ptr<Piece> own;                                     // instead of that query: a part of the program's own
  Count& queried() { return sampled ? samples_passed : passed; }  // by a query that is `real`
  FetchCounter::Count fetches;
  int reads = -1;                 // of textures by each fragment, where `fetches` need not be counted
  size_t unread = 0;              // pictures of it
  const char* refused = nullptr;  // why it could not be drawn once more, found out late
};

// Counts the draws of every context.
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
  void see(const Call& call) override;
  void linked(uint32_t program) override { program_linked(program); }
  void around(Draw& draw) override;
  // Draws were played with a program of ours.
  bool restore(const Call* next) override;
  bool begin(uint64_t segment, std::string& why) override;
  void end() override;
  void collect(Sink& to, bool wait) override;
  void leave() override;
  bool pending(const void* context) const override;
  void forget(const void* context) override;
  // The number of a draw's fragments in each pixel of its target, lowest row first, behind one test after the other.
  struct Masks {
    enum Plane : uint8_t { FACING_ANY, GENERATED_, KEPT, STENCILLED, PASSED_, PLANES };
    Extent size;
    std::array<std::vector<uint8_t>, PLANES> counts;  // empty: not known, `why`
    std::array<const char*, PLANES> why{};
  };
  static constexpr const char* PLANE_NAMES[Masks::PLANES] = {"any_face", "generated", "kept", "stencilled", "passed"};
  // `all`: else those alone that are generated. Rules are those of around().
  void masks(Draw& draw, Masks& to, bool all);
  bool uses(uint32_t target) const override { return disturbs(target); }
  bool disturbs(uint32_t target) const override;
  void block(uint32_t /*target*/, bool blocked) override;
  void frame(uint64_t number) override;

 private:
  // Told of a row of counts: where it begins, the counts, how many.
  using Row = std::function<void(size_t, size_t, const uint8_t*, size_t)>;
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
  // A depth buffer of ours that is kept equal to the depth buffer of a target of the program's.
  struct Depth {
    uint32_t storage = 0, texture = 0, owner = 0;  // one of the first two; owner: the program's framebuffer
    uint64_t epoch = 0;                            // equal as long as this is depth_epoch_
  };
  // The kind of picture: counts in a stencil buffer, steps down from the brightest colour in 8 or 16 bits, or a list of
  // fragments.
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
    Count Drawn::* steps = nullptr;                                // and the count of the steps
    bool samples_too = false;                                      // these pass, too
    Count Drawn::* samples = nullptr;                              // LISTED as SAMPLES: how many are covered
    std::vector<Pending*> dependents;  // whose sums of the frame include this picture and none behind it
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
      // The lists of a frame are read when the next one is drawn, so that nobody waits: they take turns.
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
    // The fragments that the draws of a frame made at their last count, and the time of that count, by their order.
    struct DrawHistory {
      uint64_t frame = 0, draw = 0;                  // draw: what seems to be the same, see draw_key()
      uint64_t fragments = 0, before = 0, seen = 0;  // of the frame, of the one before it, in how many
    };
    std::vector<DrawHistory> made;
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
  uint32_t take(State& s);
  void give_back(State& s, Drawn& d);
  void abandon(State& s);
  bool ready(State& s, Pending& p, bool wait);
  static void deliver(Sink& to, const Pending& p, const Entry& e);
  void lose(Drawn& d, const char* why, bool passed);
  // Counts a draw, or says why not.
  void count(State& s, Draw& draw, bool queries);
  // Nothing is rasterised; vertices may read textures.
  void undrawn(State& s, Drawn& d, Draw& draw, const char* why);
  // The tracked state that a call may change. Among calls that draw nothing, only these leave depth buffers as they
  // are, attached ones too.
  Changes changes_of(const Call& call);
  // The program clears its depth buffer.
  void cleared(State& s, uint32_t mask);
  // Returns whether any colour buffer is written.
  static bool writes_color();
  static uint32_t current_program() { return version() >= 20 ? static_cast<uint32_t>(integer(GL_CURRENT_PROGRAM)) : 0; }
  // Why a draw may not be made once more, nullptr: it may.
  static const char* unrepeatable(const Draw& draw);
  void again(State& s, Drawn& d, Draw& draw, bool queries);
  // Performs it; with `bare` with a fragment shader that leaves nothing out. nullptr: done, else why not.
  static const char* perform(Draw& draw, uint32_t program, bool bare);
  // No pixel has more fragments of a draw than this.
  static uint64_t most_fragments(const Draw& draw, const ProgramSource* source);
  // The most vertices that a draw gives, as often as it gives them.
  static uint64_t vertices_of(const Draw& draw);
  // Returns whether the framebuffer need not be left: it pays where that costs much, and takes storage blocks in
  // fragment shaders.
  static bool counts_in_place(State& s);
  bool can_count_in_place(State& s, const Draw& draw, uint32_t program, const ProgramSource* source, bool counts) const;
  // Counts with shaders that count in a storage block, without going to another framebuffer. The program's own draw
  // counts the fragments that pass all tests, with a copy of its program that runs behind them. The fragments that its
  // shader keeps count in the same way; generated fragments do too where there are no tests and nothing is discarded,
  // else a second draw counts them. Only pictures, not all wanted counts, where `counts` is false. False: nothing was
  // done, it has to be counted otherwise.
  bool count_in_place(State& s, Drawn& d, Draw& draw, uint32_t program, const ProgramSource* source, bool queries,
                      bool counts);
  // The number of fragments that the next draw made when it was counted last; UINT64_MAX: not known.
  static uint64_t last_made(const State& s, uint64_t draw);
  static uint64_t draw_key(uint32_t program, uint32_t target, const Draw& draw) {
    return ((static_cast<uint64_t>(program) << 32) + target) * 0x9E3779B97F4A7C15 + draw.number("count");
  }
  // Draws it once more, with nothing but its fragments' counts written.
  void list(State& s, const Target& t, Draw& draw, uint32_t program, bool bare, uint64_t last, Job job);
  // Makes the copy of a program current that lists in that place.
  void use_copy(State& s, uint32_t program, bool bare, Placed as, const Place& place, uint32_t target, Extent size,
                const UniformValues* values = nullptr);
  static void take_storage(State& s);
  // The draw is played with a copy of its program, and whatever follows it without a call between them.
  void play_in_place(State& s, Drawn& d, const Draw& draw);
  void put_off(State& s, std::unique_ptr<Draw> draw, uint64_t last);
  // Draws are put off while this call changes where vertices come from. False: they cannot be.
  bool stay_put_off(InPlace& p, const Call& call);
  static void give_arrays(const InPlace& p);
  void draw_put_off(State& s);
  void count_played(State& s, const Draw& draw, uint64_t last, bool first);
  // Returns whether the draw is counted as the one before it, with which it has all state in common.
  bool goes_on(State& s, Draw& draw);
  // The buffer of all lists, which is of zeros where none is. A fragment without room in its list sets its pixel in a
  // plane before the lists.
  bool make_lists(State& s, Extent size);
  static void drop_lists(State& s);
  static void drop_fence(State& s);
  // A frame begins, of which nothing is drawn yet.
  void turn_lists(State& s);
  Placed listed() const { return pictures_ ? Placed::LIST : Placed::NUMBER; }
  // Gives a draw's counts their place in the buffer, with room for some more pixels than it had the `last` time where
  // they make a picture. Where there are many, a count for each is cheaper than a list.
  void place(State& s, Job& job, const Draw& draw, uint32_t program, bool bare, bool pictured, uint64_t last);
  // Mesa draws to windows upside down: there the rows of two by two pixels are counted from above.
  static Place place_of(const Job& job, Extent size) {
    return {static_cast<int>(job.first), size.width, static_cast<int>(job.room), job.odd};
  }
  void count_by_queries(State& s, Drawn& d, Draw& draw, uint32_t program, bool shader, bool generated);
  // For a target with several samples a pixel: shaders count fragments, each once however many of its samples there
  // are. `leaves_out`: the alpha test or coverage may leave out samples, behind the shader.
  void count_sampled(State& s, Drawn& d, Draw& draw, uint32_t program, bool shader, bool leaves_out, bool queries,
                     bool here);
  // Counts fragments of which a sample passes the tests, in a framebuffer with as many samples and a copy of the depth
  // and stencil buffer. nullptr, or why it cannot.
  const char* list_behind(State& s, Target t, Draw& draw, uint32_t program, Job job);
  // A framebuffer of depth and stencil with this number of samples a pixel.
  static uint32_t sampled_target(State& s, const Target& t, int samples);
  // The texture reads of all fragments that are generated.
  void count_fetches(State& s, Drawn& d, Draw& draw, uint32_t program, bool samples);
  // Counts in private framebuffers what queries do not: everything (`counts`), or only a picture of what is generated,
  // which may stand for its number (`generated`). nullptr, or why there is no such picture.
  const char* count_by_pictures(State& s, Drawn& d, Draw& draw, uint32_t program, const ProgramSource* source,
                                bool shader, bool counts, bool generated);
  // The format of a copy of the target's depth, which it notes; 0: there can be none.
  static uint32_t storage_for(Target& t);
  static bool has_16_bits() { return !is_es() || (version() >= 31 && has_extension("GL_EXT_texture_norm16")); }
  // For the draw that is counted; with a picture of the frame where there is one.
  Job new_job(State& s, const Target& t, bool pictured);
  static void depth_format(uint32_t framebuffer, int& bits, int& type);
  // Draws into a private framebuffer without depth, where each fragment adds one to the stencil buffer. `whole`:
  // nothing but the shader may leave fragments out, and with `bare` not even that. nullptr, or why it cannot be
  // dependents.
  const char* count_in_stencil(State& s, const Target& t, Draw& draw, uint32_t program, bool bare, bool whole, Job job);
  // Draws into a stencil buffer, which is cleared first; see count_in_stencil().
  static const char* count_untested(Draw& draw, uint32_t program, bool bare, bool whole);
  // Draws with the stencil test on, and as it was afterwards.
  static const char* counting_stencil(const std::function<const char*()>& draw);
  // Draws beside a depth buffer that is equal to the program's, with the program as it is: each fragment that passes
  // takes one step from its pixel's colour. With `job.stencil` the stencil buffer counts those that fail the depth test
  // too.
  const char* count_in_steps(State& s, const Target& t, Draw& draw, uint32_t program, uint32_t storage, Kind kind,
                             Job job);
  // Copies buffers of the program's to the framebuffer that is drawn to. nullptr: done, else why not.
  static const char* copy_tested(const Target& t, uint32_t bits);
  // Makes the depth buffer of the framebuffer that is bound equal to the program's; scissor is off.
  const char* follow(State& s, const Target& t, Depth& depth);
  // Mesa draws to windows upside down, which rounds edges and depths the other way at a few pixels. A picture that
  // stands for a window has to be drawn to like one.
  static bool can_turn() { return has_extension("GL_MESA_framebuffer_flip_y") && (is_es() || version() >= 43); }
  static bool is_turned(const Target& t) { return !t.draw && can_turn(); }
  static void turn(const Target& t);
  // Keeps a picture that was drawn until it is read; `why` it was not.
  const char* queue(State& s, Job job, const char* why);
  void keep(State& s, Job job);
  // A free framebuffer to draw a picture in; `storage`: with a depth buffer of that format.
  Private* slot(State& s, Kind kind, const Target& t, uint32_t storage, const char*& why);
  // A depth buffer as a texture, made where there is none yet. OpenGL ES has textures of 32 bits that are no floats,
  // but no such renderbuffers.
  static void attach_texture(uint32_t& name, const Target& t);
  // That of this size; too many of them are dropped first.
  static Private& private_of(std::map<std::array<uint32_t, 3>, Private>& all, uint32_t kind, const Target& t);
  // Makes it, turned as the target is, and binds it to be drawn to.
  static uint32_t new_framebuffer(Private& p, const Target& t);
  // It has no colour buffer, to be drawn to or read.
  static void no_colors(const Target& t, uint32_t framebuffer);
  static void drop_slots(State& s);
  // Reads all pictures that were drawn in the current context. It makes no query of errors: there may be some of the
  // program's. With `older` those alone of the buffer of lists that is not in use, which are drawn.
  void read_back(State& s, bool older = false);
  static Count read_list(State& s, const Job& job, int32_t* lists);
  // Keeps how many fragments a draw made.
  static void learn(State& s, const Job& job, uint64_t most);
  // One more picture of a frame is read.
  void read(Frame& f) {
    if (!--f.unread && f.over) save(f);
  }
  const char* read_steps(State& s, const Job& job, uint64_t& sum);
  // Reads the counts that `draw` leaves in the framebuffer of ours in use: a stencil buffer, or (4 channels) colours.
  // Returns nullptr, or why it cannot be.
  static const char* counted_beside(State& s, const Target& t, const Row& row, size_t channels,
                                    const std::function<const char*()>& draw);
  // Leaves the stencil of a draw into `t` in a framebuffer like `made`. It has a copy of the program's depth, and each
  // fragment that passes adds one to its pixel. `draw` clears and draws. `row` gets the pixels that are not zero: where
  // they begin, and how many.
  // Returns nullptr, or why it cannot be.
  const char* counted_in_stencil(State& s, const Target& made, const Target& t, const Row& row,
                                 const std::function<const char*()>& draw);
  const char* draw_picture(State& s, const Target& t, Draw& draw, uint32_t program, const Row& row);
  // The same with colours that add up, for depth buffers that cannot have a stencil buffer beside them, and where the
  // stencil test is the program's. A copy of the program writes 1/255 wherever the program writes a colour.
  const char* draw_colors(State& s, const Target& t, Draw& draw, uint32_t program, bool depth, bool stencil,
                          const Row& row);
  // Why tests cannot be followed in a framebuffer beside the window, nullptr: they can.
  static const char* no_mirror(bool depth);
  // Binds the mirror, of the window's size. False: the driver does not take it.
  static bool bind_mirror(State& s, Extent size);
  static void drop_mirror(State& s);
  // The program clears its depth buffer: so is the mirror's, as scissor and mask have it.
  static void clear_mirror(State& s, uint32_t mask);
  // Counts in the mirror's stencil buffer what the tests let through: the alpha test, and with `depth` the depth test,
  // whose buffer the draw changes as it does the window's.
  const char* count_behind(State& s, Draw& draw, Extent size, bool depth, Count& to);
  // Stencil buffers cannot be read: colours become what they count, a bit at a time.
  static void colors_of_counts(Extent size);
  // A framebuffer of colours alone. False: the driver does not take it.
  static bool bind_plain(State& s, Extent size);
  static const char* draw_plain(Draw& draw);
  const char* read_plain(State& s, Drawn& d, const Target& t);
  // The generated fragments: a colour of 1/255, nothing but the primitives' shape left of the program's state, adds up
  // in a private framebuffer. For fragments that tests let through see count_behind().
  void count_plain(State& s, Drawn& d, Draw& draw, bool alpha);
  static void stencil_format(uint32_t framebuffer, int& bits);
  // Makes it, for a copy of this depth and stencil buffer; returns nullptr, or why it is not there.
  const char* make_colored(State& s, const Target& t, bool depth, int stencil_bits);
  static void scissored(int* box);
  void masks_es1(State& s, Draw& draw, Masks& to);
  static void masks_without_rasteriser(Masks& to, bool all);
  // The fragments that the tests let through, one after the other.
  void mask_tests(State& s, Target t, Draw& draw, uint32_t program, bool shader, bool discards, Masks& to,
                  const std::function<Row(Masks::Plane)>& into,
                  const std::function<void(Masks::Plane, const char*)>& settle);
  // The same counts as count_in_stencil() has, row by row.
  const char* mask_in_stencil(State& s, const Target& t, Draw& draw, uint32_t program, bool bare, bool whole,
                              const Row& row);
  static Row& also_counted();  // is dependents of rows, too
  // Tells `row` of each row of counts: where it begins, and how many.
  static const char* read_counts(State& s, const int* box, const Row& row, size_t channels = 1);
  // From the bound framebuffer, without gaps.
  static void read_pixels(const int* box, uint32_t format, uint32_t type, void* to);
  // A framebuffer of that size and format, in use. Names are such as no program chooses where a program may choose
  // names itself.
  void make_target(State& s, const Target& t);
  static void drop(std::map<std::array<uint32_t, 3>, Private>& all);
  // One file a target: a line of text, then 32-bit counts, lowest row first.
  void save(const Frame& f);
  static uint64_t next_epoch();

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

}  // namespace dt::play::metrics::fragments
