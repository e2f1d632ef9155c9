// A trace as C source: walks the calls twice, first to learn what later calls need to know, then to write.
#pragma once
#include <optional>
#include <set>

#include "../core/calls.h"
#include "names.h"
#include "source.h"
#include "egl_enums.h"

namespace dt::c {

// One call and where its arguments stand.
struct Call {
  const Function& function;
  const FunctionColumns& columns;
  uint32_t row = 0, thread = 0, context = 0;
  uint64_t seq = 0;
  bool in_flight = false;
  const Field* field(std::string_view name) const;
  uint64_t raw(std::string_view name) const;
  uint64_t result() const { return function.result ? columns.raw(*function.result, row) : 0; }
};

class Exporter {
 public:
  Exporter(const Trace& trace, std::string folder, const Options& options);
  struct Component {
    const char* type;
    size_t width;
    bool floats;
  };  // of untyped arrays
  std::string run();  // a JSON object that says what was written

 private:
  using Special = bool (Exporter::*)(const Call&);
  using Tracker = void (Exporter::*)(const Call&);
  struct Info {  // what is known about a function of the trace
    Special special = nullptr;
    Tracker track = nullptr;
    bool ready = false, used = false, swap = false, makes_names = false, makes_result = false, dropped = false;
    bool vector = false, plain = false;  // of OpenVG; of an API that draws
  };
  struct Share {
    uint32_t group = 0, api = 0;
  };
  struct Fact {
    std::string kind;
    uint64_t handle = 0, seq = 0;
    Attributes text;
  };
  struct State {                            // of a context, as far as it matters here
    std::map<uint32_t, uint32_t> bound;     // buffers by target
    std::map<uint32_t, uint32_t> elements;  // by vertex array
    std::map<uint64_t, uint64_t> pointers;  // client arrays
    std::map<uint32_t, int64_t> pack;
    uint32_t vertex_array = 0, program = 0, client_texture = 0;
  };
  struct Content {  // of an array
    uint64_t bytes = 0;
    Hash128 hash;
    bool stored = false;  // beside the calls, under its hash
    std::string text;
  };
  struct Span : Content {
    uint64_t address = 0;
  };
  struct Write : Content {
    uint64_t offset = 0;
    uint32_t buffer = 0;
  };
  struct Current {
    uint64_t context = 0, draw = 0, read = 0;
    bool operator==(const Current&) const = default;
  };
  struct ThreadState {
    Current current;
    Current vector;                         // OpenVG's, beside it
    uint32_t raster_id = 0, vector_id = 0;  // the contexts that were current last, by the number that calls have
    uint32_t api = EGL_OPENGL_ES_API;
    std::vector<Span> spans;
    std::vector<Write> writes;
    std::map<uint64_t, std::pair<int, int>> resized;  // windows, before the next call
  };
  struct Size {
    std::string config;
    int width = 0, height = 0;
  };
  struct Region {
    uint64_t begin = 0, end = 0;
    std::map<uint64_t, std::pair<uint64_t, Hash128>> loaded;  // offset -> end, content
  };

  // ---- walking
  void pass(bool collecting);
  void records(OpenChunk& open, uint32_t end);
  void tap_record(OpenChunk& open, uint32_t record);
  void visit(OpenChunk& open, uint32_t call, uint64_t seq);
  void perform(const Call& call);
  void collect(const Call& call, Info& i);
  std::string made_names(const Call& call, const Field& p, std::string& generated);
  void plain_call(const Call& call, Info& i);
  static Special special_of(std::string_view name);
  static Tracker tracker_of(std::string_view name);
  void after(const Call& call);
  Info& info(const Function& function);

  // ---- values (values.cc)
  std::string scalar(const Call& call, const Field& field, uint64_t raw);
  std::string value(const Call& call, const Field& field);
  std::string array(const Call& call, const Field& field, std::string_view content);
  std::string elements(const Call& call, const Field& field, std::string_view content, const std::string& type,
                       size_t width, bool floats);
  std::string content(const Call& call, const Field& field);
  std::string pointer(const Call& call, const Field& field, uint64_t address);
  std::string out(const Call& call, const Field& field, uint64_t descriptor);
  std::string enumerant(const EnumGroup* group, int64_t value);
  std::string mask(const EnumGroup* group, uint64_t value);
  std::string attributes(const Field& field, const std::vector<int64_t>& list, const char* type);
  std::string name_of(const Call& call, std::string_view object, uint64_t name);
  std::string location(const Call& call, const Field& field, uint64_t raw);
  std::string prototype(const Function& function, const std::string& name) const;

  // ---- special functions (windows.cc, special.cc)
  bool bind_api(const Call&);
  bool create_context(const Call&);
  bool destroy_context(const Call&);
  bool create_window(const Call&);
  bool create_pbuffer(const Call&);
  bool destroy_surface(const Call&);
  bool make_current(const Call&);
  bool swap(const Call&);
  bool create_image(const Call&);
  bool create_sync(const Call&);
  bool wait(const Call&);
  bool use_handle(const Call&);
  bool get_location(const Call&);
  bool get_attribute(const Call&);
  bool link_program(const Call&);
  bool shader_source(const Call&);
  bool color_buffer(const Call&);
  bool map_buffer(const Call&);
  bool gen_lists(const Call&);
  bool create_image_surface(const Call&);
  void track_bind_buffer(const Call&);
  template <uint32_t State::* of> void track(const Call& call) {
    states_[call.context].*of = static_cast<uint32_t>(call.columns.raw(call.function.params[0], call.row));
  }
  void track_create_program(const Call&);
  void track_pack(const Call&);
  void track_pointer(const Call&);

  const Fact* fact(std::string_view kind, uint64_t handle, uint64_t seq) const;
  std::string config(uint64_t handle, uint64_t seq);
  std::string context_name(uint64_t handle);
  std::string surface_name(uint64_t handle);
  void switch_to(uint32_t thread);
  void emit_current(uint32_t thread, const Current& current);
  void use_api(uint32_t api);
  void exchange();

  // ---- OpenVG (vector.cc)
  void switch_to_vector(uint32_t thread);
  std::string vector_image(const Call& call);  // that its buffer names
  bool make_vector_current(const Call& call, const Current& wanted);
  std::string vector_scalar(const Call& call, const Field& field, uint64_t raw);  // "": as for any other
  std::string vector_rows(const Call& call, const Field& field, std::string text);
  Component vector_component(const Call& call, const Field& field, size_t bytes) const;
  bool whole_rows(const Call& call, uint64_t bytes) const;
  std::vector<int64_t> list(const Call& call, const char* name) const;
  std::string program_key(const Call& call, uint64_t program) const;
  // The share group of a context; `otherwise`: nothing is known of the context.
  uint32_t group_of(uint32_t context, uint32_t otherwise = 1) const {
    auto it = shares_.find(context);
    return it == shares_.end() ? otherwise : it->second.group;
  }
  uint64_t buffer_of(const Call& call);
  void load(const Span& span);
  void write(const Call& call, const Write& write);
  std::string stored(const Content& content, const std::string& what);
  Content take(const FunctionColumns& columns, const Field& field, uint32_t row) const;
  void make_regions();
  Region* region(uint64_t address);
  std::string address_text(uint64_t address, Region& region);
  void line(const std::string& text) { frames_.line(text); }
  void write_tables();

  const Trace& trace_;
  std::string folder_;
  bool collecting_ = false;
  std::vector<Info> infos_;
  std::unordered_map<size_t, uint32_t> next_record_;
  Variables variables_;
  Names names_;
  Data data_;
  Texts texts_;
  Frames frames_;
  std::map<uint32_t, Share> shares_;
  std::map<uint32_t, State> states_;
  std::map<uint32_t, ThreadState> threads_;
  std::vector<Fact> facts_;
  std::vector<std::pair<uint64_t, uint64_t>> intervals_;
  std::vector<Region> regions_;
  std::map<std::string, std::vector<std::pair<std::string, int64_t>>> attributes_;  // by program_key
  std::set<std::string> bound_attributes_;
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> generations_;  // of program names
  std::map<std::string, std::string> locations_;                   // program_key + kind + number -> variable
  std::map<std::string, int64_t> mapped_;                          // variable -> offset of the mapping
  std::map<uint64_t, uint32_t> renderable_;                        // bits by config
  std::map<uint64_t, uint32_t> context_apis_;
  std::map<uint64_t, uint64_t> context_configs_;
  std::set<uint64_t> configs_, surfaces_;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> path_types_;         // VGPathDatatype, by share group and path
  std::map<std::pair<uint32_t, uint64_t>, std::string> vector_objects_;  // what handles of OpenVG are, by share group
  std::map<uint64_t, Size> sizes_;                                       // of windows
  std::unique_ptr<Error> failure_;
  std::map<std::string, int64_t> enums_;
  std::map<std::string, uint64_t> left_out_;
  std::string skip_;   // why the call being printed cannot be
  std::string after_;  // statements behind it
  uint64_t scratch_used_ = 0, scratch_ = 1 << 20;
  uint32_t emitted_thread_ = 0, emitted_api_ = 0;
  Current emitted_, emitted_vector_;
  bool shares_images_ = false;  // OpenVG and OpenGL see the same
  bool uses_gl_ = false, uses_es_ = false, uses_vector_ = false, binds_attributes_ = false;
  uint64_t calls_ = 0;
};

}  // namespace dt::c
