// The state of everything at one call, and what calls do to it. Semantics of commands are generated from the overlay
// (src/drawtap/spec/apis/gl_effects.py) where one line says them, and hand-written in gl_*.cc where it takes more.
#pragma once
#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "feed.h"
#include "access.h"
#include "state_tree.h"

namespace dt::state {

constexpr uint64_t MOST_INDEX = 65536;  // elements of an indexed collection

class Node {
 public:
  const ClassInfo* cls = nullptr;
  Location base = 0;  // of its existence; its variables follow
  uint64_t key = 0;   // index, enumerant or name
  Node* parent = nullptr;
  uint16_t collection = 0;
  bool alive = true;
  uint64_t created = 0, gone = UINT64_MAX;  // seqs
  std::unique_ptr<Word[]> words;
  uint32_t cold = 0;  // for whoever owns the class: number of its own data

  struct Collection {
    std::vector<Node*> near;  // by key
    std::unordered_map<uint64_t, Node*> far;
    template <class F> void each(F visit) const {
      for (Node* n : near)
        if (n) visit(n);
      for (auto& [key, n] : far) visit(n);
    }
    std::vector<Access> reads;  // of all of them with all they have; empty: not yet known since one came or went
  };
  std::unique_ptr<Collection[]> children;

  const Word* at(unsigned field, unsigned element = 0) const {
    const FieldInfo& f = cls->fields[field];
    return &words[f.word + element * f.components];
  }
  int64_t get(unsigned field, unsigned element = 0) const { return static_cast<int64_t>(*at(field, element)); }
  double real(unsigned field, unsigned component = 0) const {
    double v;
    memcpy(&v, at(field) + component, 8);
    return v;
  }
  Location location(unsigned field, unsigned element = 0) const { return base + cls->fields[field].location + element; }
};

// The value of a location; `words` are valid during the event.
struct Value {
  const Node* node = nullptr;
  const FieldInfo* field = nullptr;
  const Word* words = nullptr;
  unsigned element = 0;
};

// A number of an argument, with its type: what a field makes of it depends on both.
struct Num {
  int64_t i = 0;
  double f = 0;
  bool real = false;
  Num() = default;
  template <class T> Num(T v) {  // NOLINT: implicit on purpose
    if constexpr (std::is_floating_point_v<T>)
      real = true, f = static_cast<double>(v);
    else
      i = static_cast<int64_t>(v);
  }
  static Num fixed(int64_t v) { return Num(static_cast<double>(v) / 65536.0); }
  static Num normal(double v) { return Num(v); }
  int64_t integer() const {
    return !real          ? i
           : f >= 9.2e18  ? INT64_MAX
           : f <= -9.2e18 ? INT64_MIN
           : f != f       ? 0
                          : static_cast<int64_t>(f < 0 ? f - 0.5 : f + 0.5);
  }
  double floating() const { return real ? f : static_cast<double>(i); }
};

enum class Scalar : uint8_t { u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, fixed, pointer };

// A recorded array. Content larger than what stands in the record is fetched when asked for.
struct Array {
  Scalar scalar = Scalar::u8;
  unsigned kind = DT_DATA_NONE;
  uint64_t address = 0;  // the pointer itself
  uint64_t bytes = 0;
  const uint8_t* data = nullptr;
  Hash128 hash;  // of blobs
  Machine* machine = nullptr;

  bool content() const { return kind == DT_DATA_INLINE || kind == DT_DATA_BLOB; }
  const uint8_t* load();  // nullptr: there is none
  uint64_t count();       // elements
  Num at(uint64_t i);     // after count() said that it is there
  int64_t integer(uint64_t i) { return at(i).integer(); }
  std::string text();
  Hash128 content_hash();  // zeros: no content
};

// One recorded call: where its arguments stand.
using Row = play::Cells;

// A command that the machine was generated for; numbers are those of play::g_known.
enum : uint32_t {
  CMD_DRAW = 1,
  CMD_CLEAR = 2,
  CMD_DISPATCH = 4,
  CMD_UPLOAD = 8,
  CMD_READBACK = 16,
  CMD_COPY = 32,
  CMD_QUERY = 64,
  CMD_NOT_LISTED = 128,  // executes at once even while a display list is made
  CMD_IN_BEGIN = 256,    // allowed between glBegin and glEnd
  CMD_GL = 512,
  CMD_GET_ERROR = 1024,
  CMD_SHOWS = 2048,
  CMD_MODELLED = 4096,
  CMD_MANY = 8192,     // an error leaves only the wrong one of several things undone
  CMD_ARRAYS = 16384,  // takes elements of vertex arrays
  CMD_VG = 32768
};
struct Command {
  void (*apply)(Machine&, const Row&);  // nullptr: no effect on state
  uint32_t flags;
};
extern const Command g_commands[];

// A call kept in a display list.
struct Listed {
  std::shared_ptr<play::Decoded> chunk;
  const play::Columns* columns;
  uint32_t row, known;
  uint32_t arrays;  // that it took elements of: lists leave the last ones current, as glArrayElement does
};
struct DisplayList {
  std::vector<Listed> calls;
};

struct Share {
  Node* node = nullptr;
  uint32_t id = 0;
  std::unordered_map<uint32_t, std::shared_ptr<DisplayList>> lists;
};

struct Saved {  // by glPushAttrib, glPushClientAttrib
  uint32_t mask = 0;
  uint64_t seq = 0;
  Node* vao = nullptr;     // of client attributes: whose arrays
  size_t arrays_from = 0;  // where they begin among the items
  struct Item {
    Node* node;
    uint16_t field, element;
    std::vector<Word> words;
  };
  std::vector<Item> items;
};

struct Context {
  Node* node = nullptr;
  Share* share = nullptr;
  uint32_t id = 0, api = 0;
  uint64_t handle = 0;
  Node *draw = nullptr, *read = nullptr;  // surfaces
  bool started = false;                   // was current with a surface: viewport and scissor have their size
  bool in_begin = false;
  uint32_t begin_mode = 0;
  uint64_t begin_vertices = 0;
  uint32_t list = 0, list_mode = 0;
  std::shared_ptr<DisplayList> compiling;
  std::vector<Saved> attribs, clients;
  struct MatrixStack {
    std::vector<std::array<double, 16>> below;
  };
  std::unordered_map<uint32_t, MatrixStack> stacks;  // by glMatrixMode, texture units: 0x10000 + unit
  Node* vao = nullptr;
};

// The number of segments and coordinates of a path, and its extent: control points and the radii of arcs count.
struct VgOutline {
  int64_t segments = 0, coordinates = 0;
  // The number of coordinates that it gains when it is transformed. Horizontal and vertical lines are any lines then,
  // and smooth curves have all of their control points.
  int64_t short_ = 0;
  double at[2] = {0, 0}, start[2] = {0, 0};  // where the pen is, where the part began
  double low[2] = {0, 0}, high[2] = {0, 0};
  bool any = false;
  bool known = true;  // false: coordinates were changed, or are those of another path
};

inline constexpr Hash128 NONE{};  // of content that is not known

class Machine {
 public:
  explicit Machine(std::shared_ptr<const Trace> trace);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Apply all calls in order of seq, from the beginning; once. Throws Error (cancelled, out of memory for locations).
  void walk(Visitor& visitor);

  // ---- what locations mean ----------------------------------------------------------------------
  Location locations() const { return next_; }
  const Node& owner(Location location) const;                                    // its node
  const FieldInfo* field(Location location, unsigned* element = nullptr) const;  // nullptr: the node's existence
  bool is_content(Location location) const;                                      // pixels, bytes, lists, sources
  std::string path(Location location) const;                                     // "contexts[1].GL_DEPTH_FUNC"
  std::string path(const Node& node) const;
  std::string path(const Node& node, const FieldInfo& field, unsigned element) const;
  std::string text(const Value& value) const;  // JSON in one line, docs/state-paths.md
  std::string text(const FieldInfo& field, const Word* words) const;
  const std::deque<std::string>& all_texts() const { return texts_; }
  const std::string& text_of(Word text) const { return texts_[static_cast<size_t>(text)]; }
  std::vector<std::string> problems;  // of reading the trace

  const Trace& trace() const { return *trace_; }
  Node* root() const { return root_; }
  const std::vector<Node*>& nodes() const { return blocks_; }  // in the order of their locations

  // ---- for the semantics of commands ------------------------------------------------------------
  Context* current() { return context_; }
  Node* vg_context() { return vg_ ? vg_->node : nullptr; }  // OpenVG's, on the thread of the call
  Node* vg_share() { return vg_ ? vg_->share : nullptr; }
  Node* vg_surface() { return thread_ < vg_surface_by_thread_.size() ? vg_surface_by_thread_[thread_] : nullptr; }
  // The objects behind variables of OpenVG's objects: a paint that is set, the outline of a glyph. Each stays there
  // when its name is gone, or means something else.
  std::map<std::pair<const Node*, unsigned>, Node*> vg_refers;
  std::unordered_map<const Node*, VgOutline> vg_outlines;  // by path
  std::unordered_set<uint64_t> vg_handles;                 // contexts of OpenVG
  // Images that OpenGL sees, too, and who wrote to them since the last call that makes both sides one.
  struct VgShared {
    Node* image;
    bool ours = false, theirs = false;
  };
  std::vector<VgShared> vg_shared;                         // an EGLImage of one refers to it
  bool vg_exchanged = false;                               // by this call
  std::unordered_map<uint64_t, Node*> vg_share_by_handle;  // of contexts that were current
  bool vg_draws_to(const Node* surface) const {
    return std::find(vg_surface_by_thread_.begin(), vg_surface_by_thread_.end(), surface) !=
           vg_surface_by_thread_.end();
  }
  // All that OpenVG keeps though its name is gone.
  std::unordered_set<const Node*> vg_held() const;
  Node* context() { return context_->node; }
  Node* share() { return context_->share->node; }
  uint64_t seq() const { return event_.seq; }

  Node* child(Node* parent, unsigned collection, uint64_t key, bool make = true);  // nullptr: not there, or no such key
  Node* find(Node* parent, unsigned collection, uint64_t key);                     // no access, never makes
  Node* object(unsigned collection, uint64_t name);      // of the share group; reads its existence; nullptr: none
  Node* own_object(unsigned collection, uint64_t name);  // of the context
  Node* make(Node* parent, unsigned collection, uint64_t key);  // a new life of that name
  void remove(Node* node);

  static int field_of(const ClassInfo& of, unsigned prefix, uint32_t enumerant);  // -1: not one of its variables
  static int field_of(const Node* node, unsigned prefix, uint32_t enumerant) {
    return node ? field_of(*node->cls, prefix, enumerant) : -1;
  }

  void set(Node* node, unsigned field, unsigned element, const Num* numbers, unsigned count);
  void set(Node* node, unsigned field, unsigned element, std::initializer_list<Num> numbers) {
    set(node, field, element, numbers.begin(), static_cast<unsigned>(numbers.size()));
  }
  void set(Node* node, unsigned field, Num number) { set(node, field, 0, &number, 1); }
  void set(Node* node, unsigned field, unsigned element, Array array, uint64_t first = 0);
  void set_all(Node* node, unsigned field, std::initializer_list<Num> numbers);  // every element
  void set_any(Node* node, unsigned prefix, uint32_t enumerant, unsigned element, std::initializer_list<Num> numbers);
  void set_any(Node* node, unsigned prefix, uint32_t enumerant, unsigned element, Array array);
  void set_words(Node* node, unsigned field, unsigned element, const Word* words);
  void set_text(Node* node, unsigned field, std::string_view text);
  void set_content(Node* node, unsigned field, const Hash128& hash, uint64_t bytes);  // wholly new
  void touch_content(Node* node, unsigned field);                                     // changed in part
  void touch_content(Node* node, unsigned field, const Region& region) {              // ... in this one
    touch_content(node, field);
    if (node && visitor_) visitor_->region(node->location(field), region);
  }

  // Contents that are one from now on: EGLImages and their siblings, textures and their views. A write to one is a
  // write to all. `extent`: the part of it that each shows; an object that shows all of the written part has its
  // content wholly anew.
  void share_content(Node* node, unsigned field, Node* with, unsigned with_field, uint64_t extent,
                     uint64_t with_extent);
  void own_content(Node* node, unsigned field);  // it got other memory
  bool one_content(const Node* node, unsigned field, const Node* other, unsigned other_field) const;

  // Between the two, the call does something that has nothing to do with what else it does.
  void begin_section();
  void end_section();

  // Set a variable that nobody reads: no access is reported.
  void note(Node* node, unsigned field, Num number);
  void note_text(Node* node, unsigned field, std::string_view text);

  void log(Location first, uint32_t count, Touch touch) {
    if (count) log_.push_back({first, count, static_cast<uint32_t>(touch)});
  }
  void read(const Node* node) {
    if (node) log(node->base, 1, Touch::read);
  }
  void read(const Node* node, unsigned field, unsigned element = 0) {
    if (node) log(node->location(field, element), 1, Touch::read);
  }
  void read(const Node* node, Group group) {
    if (node) log(node->base + group.first, group.count, Touch::read);
  }
  void read_all(const Node* node) {
    if (node) log(node->base, node->cls->locations, Touch::read);
  }
  void read_children(Node* node, unsigned collection);  // all there are, with all they have
  void part(const Node* node, unsigned field) {
    if (node) log(node->location(field), 1, Touch::part);
  }

  uint32_t deeds() const { return event_.deeds; }
  bool applied() const { return event_.applied; }
  Word text_number(const std::string& text) {
    auto [it, made] = text_numbers_.try_emplace(text, texts_.size());
    if (made) texts_.emplace_back(text);
    return it->second;
  }
  // names of sampler variables
  std::unordered_map<const Node*, std::set<std::string>> shader_samplers, program_samplers;
  // The call raises an error: nothing happens. A display list's other commands happen all the same.
  void refuse() {
    if (!list_depth) event_.applied = false;
  }
  Draw& drawing() { return draw_; }
  void uploaded(Node* node, unsigned field, uint64_t bytes, const Hash128& hash);
  Array array(const Row& row, int payload, int descriptor, int value, Scalar scalar);
  std::shared_ptr<const std::vector<uint8_t>> blob(const Hash128& hash);
  void run(const Listed& listed, unsigned depth);
  unsigned list_depth = 0;
  // that the call names, instead of the active and the bound one
  Node *direct_unit = nullptr, *direct_texture = nullptr;
  uint64_t list_calls = 0;
  // The part of the front buffer that the next call of this thread reads is recorded with the call.
  uint32_t front_told = UINT32_MAX;
  bool front_is_told() const { return front_told == thread_; }

  Node* surface(uint64_t handle, bool make = true);
  // Returns whether the program can still use a context: it is current somewhere, or was not destroyed.
  bool usable(const Context& context) const;
  std::unordered_set<uint64_t> ended_handles;  // destroyed, and not made again
  struct ImageSize {
    int64_t width = 0, height = 0, depth = 0, format = 0;
  };
  std::unordered_map<uint64_t, ImageSize> images;  // EGLImages, by handle
  std::unordered_map<uint64_t, Context*> context_by_handle;
  std::unordered_map<uint32_t, std::unique_ptr<Context>> contexts;
  std::unordered_map<uint32_t, std::unique_ptr<Share>> shares;

 private:
  friend void natives_call(Machine&, const Function&, uint32_t, const FunctionColumns&, uint32_t);
  Node* add(const ClassInfo& cls, Node* parent, unsigned collection, uint64_t key, bool old = false);
  void place(Node* node);
  void apply(play::Decoded* chunk, uint32_t record);
  struct VgContext {
    Node *node, *share;
    uint32_t id;
  };
  void vg_make_current(uint32_t thread, uint64_t handle, uint64_t draw, uint32_t id, uint32_t group);
  void vg_apply(const Command& command, const play::Decoded& chunk, const play::Columns& columns, uint32_t record);
  void tell_stored(const play::Decoded& chunk, uint32_t record, size_t first);
  void tap_record(play::Decoded* chunk, uint32_t record, unsigned function);
  void make_current(uint32_t thread, uint64_t handle, uint64_t draw, uint64_t read, uint32_t id, uint32_t share_group,
                    uint32_t api);
  bool had_error(const play::Decoded& chunk, uint32_t record) const;
  Word convert(Kind kind, const Num& n) const;
  struct Sharer {
    Node* node;
    unsigned field;
    uint64_t extent;
  };
  using Sharers = std::shared_ptr<std::vector<Sharer>>;
  void leave(std::map<Location, Sharers>::iterator at);
  void tell_sharers();
  void note_vg_writes();

  std::shared_ptr<const Trace> trace_;
  std::vector<play::Mapping> mapping_;
  std::unique_ptr<play::Feed> feed_;
  std::deque<Node> pool_;
  std::vector<Node*> blocks_;
  Location next_ = 0;
  Node* root_ = nullptr;
  Context* context_ = nullptr;
  std::vector<Context*> by_thread_;
  VgContext* vg_ = nullptr;
  std::vector<VgContext*> vg_by_thread_;
  std::vector<Node*> vg_surface_by_thread_;
  std::unordered_map<uint32_t, VgContext> vg_contexts_;
  std::vector<Node*> threads_;
  std::unordered_map<uint64_t, uint32_t> holders_;  // on which thread a context was made current last, by handle
  uint32_t thread_ = 0;
  Visitor* visitor_ = nullptr;
  CallEvent event_;
  Draw draw_;
  std::vector<Access> log_;
  size_t told_ = 0;  // of the log: the part that others with the same content know
  std::vector<Section> sections_;
  std::vector<uint64_t> map_rows_;      // per chunk: the first row of the table map_writes
  std::map<Location, Sharers> shared_;  // contents that are one
  std::vector<Location> shared_now_;    // since this call: it wrote them alone
  std::vector<uint64_t> errors_;        // per thread: errors not asked for yet
  std::deque<std::string> texts_;
  std::unordered_map<std::string, Word> text_numbers_;
  std::map<Hash128, std::shared_ptr<const std::vector<uint8_t>>> blobs_;
  uint64_t blob_bytes_ = 0;
  uint64_t client_bytes_ = 0;
  std::deque<std::vector<uint8_t>> keep_;
};

// A value as JSON in one line, docs/state-paths.md. `text` says what a text is called that `words` has by number.
std::string json_value(const FieldInfo& field, const Word* words, const std::function<std::string(Word)>& text);

}  // namespace dt::state
