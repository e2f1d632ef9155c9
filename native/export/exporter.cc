#include "exporter.h"

#include <algorithm>
#include <cstring>

#include "../common/json.h"
#include "../common/pixel_size.h"
#include "../core/text.h"
#include "gl_enums.h"

namespace dt::c {
namespace {

std::string comment(std::string_view text) {
  std::string out(text);
  for (size_t at; (at = out.find("*/")) != out.npos;) out.replace(at, 2, "* /");
  return out;
}

uint64_t fnv(std::string_view bytes) {
  uint64_t sum = 0xcbf29ce484222325ull;
  for (unsigned char c : bytes) sum = (sum ^ c) * 0x100000001b3ull;
  return sum;
}

// Methods, and the names of the functions that they are for.
template <class Method> using Rows = std::vector<std::pair<Method, std::vector<std::string_view>>>;
template <class Method> Method found(const Rows<Method>& rows, std::string_view name) {
  for (auto& [method, names] : rows)
    if (std::find(names.begin(), names.end(), name) != names.end()) return method;
  return nullptr;
}

}  // namespace

const Field* Call::field(std::string_view name) const {
  for (auto& p : function.params)
    if (p.name == name) return &p;
  return nullptr;
}
uint64_t Call::raw(std::string_view name) const {
  const Field* f = field(name);
  return f ? columns.raw(*f, row) : 0;
}

Exporter::Exporter(const Trace& trace, std::string folder, const Options& options)
    : trace_(trace), folder_(std::move(folder)), infos_(trace.signatures.functions.size()), names_(variables_),
      data_(folder_), texts_(folder_), frames_(folder_, options, trace.frames()->ends) {}

// The needs of a function beyond a new call; nullptr: nothing.
Exporter::Special Exporter::special_of(std::string_view name) {
  static const Rows<Special> specials = {
      {&Exporter::bind_api, {"eglBindAPI"}},
      {&Exporter::create_context,
       {"eglCreateContext", "glXCreateContext", "glXCreateNewContext", "glXCreateContextAttribsARB",
        "glXCreateContextWithConfigSGIX"}},
      {&Exporter::destroy_context, {"eglDestroyContext", "glXDestroyContext"}},
      {&Exporter::create_window,
       {"eglCreateWindowSurface", "eglCreatePlatformWindowSurface", "eglCreatePlatformWindowSurfaceEXT",
        "eglCreatePixmapSurface", "eglCreatePlatformPixmapSurface", "eglCreatePlatformPixmapSurfaceEXT",
        "glXCreateWindow", "glXCreatePbuffer", "glXCreatePixmap", "glXCreateGLXPixmap"}},
      {&Exporter::create_pbuffer, {"eglCreatePbufferSurface"}},
      {&Exporter::create_image_surface, {"eglCreatePbufferFromClientBuffer"}},
      {&Exporter::destroy_surface,
       {"eglDestroySurface", "glXDestroyWindow", "glXDestroyPbuffer", "glXDestroyPixmap", "glXDestroyGLXPixmap"}},
      {&Exporter::make_current,
       {"eglMakeCurrent", "eglReleaseThread", "glXMakeCurrent", "glXMakeContextCurrent", "glXMakeCurrentReadSGI"}},
      {&Exporter::swap,
       {"eglSwapBuffers", "eglSwapBuffersWithDamageEXT", "eglSwapBuffersWithDamageKHR", "glXSwapBuffers"}},
      {&Exporter::create_image, {"eglCreateImage", "eglCreateImageKHR"}},
      {&Exporter::use_handle,
       {"eglDestroyImage", "eglDestroyImageKHR", "eglDestroySync", "eglDestroySyncKHR", "eglClientWaitSync",
        "eglClientWaitSyncKHR", "eglWaitSync", "eglWaitSyncKHR", "eglBindTexImage", "eglReleaseTexImage"}},
      {&Exporter::wait, {"eglWaitClient", "eglWaitGL"}},
      {&Exporter::create_sync, {"eglCreateSync", "eglCreateSyncKHR"}},
      {&Exporter::get_location, {"glGetUniformLocation", "glGetUniformLocationARB", "glGetUniformBlockIndex"}},
      {&Exporter::get_attribute,
       {"glGetAttribLocation", "glGetAttribLocationARB", "glBindAttribLocation", "glBindAttribLocationARB"}},
      {&Exporter::link_program, {"glLinkProgram", "glLinkProgramARB"}},
      {&Exporter::shader_source, {"glShaderSource", "glShaderSourceARB"}},
      {&Exporter::color_buffer, {"glDrawBuffer", "glReadBuffer", "glDrawBuffers"}},
      {&Exporter::gen_lists, {"glGenLists"}},
  };
  return found(specials, name);
}

Exporter::Tracker Exporter::tracker_of(std::string_view name) {
  static const Rows<Tracker> trackers = {
      {&Exporter::track_bind_buffer, {"glBindBuffer", "glBindBufferARB", "glBindBufferBase", "glBindBufferRange"}},
      {&Exporter::track<&State::vertex_array>, {"glBindVertexArray", "glBindVertexArrayOES", "glBindVertexArrayAPPLE"}},
      {&Exporter::track<&State::program>, {"glUseProgram", "glUseProgramObjectARB"}},
      {&Exporter::track<&State::client_texture>, {"glClientActiveTexture", "glClientActiveTextureARB"}},
      {&Exporter::track_create_program, {"glCreateProgram", "glCreateProgramObjectARB"}},
      {&Exporter::track_pack, {"glPixelStorei", "glPixelStoref"}},
  };
  return found(trackers, name);
}

Exporter::Info& Exporter::info(const Function& f) {
  Info& i = infos_[static_cast<size_t>(f.index)];
  if (i.ready) return i;
  i.ready = true;
  // A recording may come from anybody: what becomes C must be names of functions that it can be about.
  auto sane = [](const std::string& text, bool type) {
    return std::all_of(text.begin(), text.end(),
                       [&](unsigned char c) { return isalnum(c) || c == '_' || (type && (c == ' ' || c == '*')); });
  };
  bool whole = sane(f.name, false) &&
               f.name.starts_with(f.api == "gl"    ? "gl"
                                  : f.api == "glx" ? "glX"
                                                   : f.api) &&
               (!f.result || sane(f.result->ctype, true));
  for (auto& p : f.params) whole = whole && sane(p.ctype, true) && sane(p.name, false);
  if (!whole) {
    i.dropped = true;
    return i;
  }
  i.special = special_of(f.name);
  if (!i.special && f.flags & FLAG_MAP) i.special = &Exporter::map_buffer;
  i.track = tracker_of(f.name);
  if (!i.track && f.flags & FLAG_DRAW_SETUP) i.track = &Exporter::track_pointer;
  i.swap = i.special == &Exporter::swap;
  i.vector = f.api == "vg";
  i.plain = f.api == "gl" || i.vector;
  // Texts about the driver are nobody's need, and every driver has its own.
  i.dropped =
      (!i.plain && !i.special) || f.name == "glGetString" || f.name == "glGetStringi" || f.name == "vgGetString";
  // A child image is part of its parent: FLAG_CREATE counts no new image, and yet the call returns a name.
  const bool generates = i.plain && (f.flags & FLAG_CREATE || f.name == "vgChildImage");
  for (auto& p : f.params)
    i.makes_names = i.makes_names || (generates && p.out && object_class(p.object_class, f.name));
  i.makes_result = f.result && !f.result->object_class.empty() && (generates || makes_sync(f));
  return i;
}

// ---- walking ------------------------------------------------------------------------------------

void Exporter::records(OpenChunk& open, uint32_t end) {
  uint32_t& next = next_record_[open.index];
  for (; next < end; ++next)
    if (open.info.functions[open.order()[next]].tap()) tap_record(open, next);
}

void Exporter::tap_record(OpenChunk& open, uint32_t record) {
  uint16_t f = open.order()[record];
  unsigned id = open.info.functions[f].id();
  if (id != DT_FN_MEMORY && id != DT_FN_MAP_WRITE && id != DT_FN_CONTEXT && id != DT_FN_NATIVE) return;
  const FunctionColumns& columns = open.columns(f);
  if (!columns.function) return;
  uint32_t row = open.ordinals()[record];
  Call call{*columns.function, columns, row, open.info.thread, 0, 0, false};
  ThreadState& t = threads_[open.info.thread];
  if (id == DT_FN_MEMORY) {
    const Field* address = call.field("address");
    if (!address) return;
    Span span{take(columns, *address, row), columns.raw(*address, row)};
    if (collecting_) span.text.clear();
    if (span.bytes) t.spans.push_back(std::move(span));
  } else if (id == DT_FN_MAP_WRITE) {
    if (collecting_) return;
    if (const Field* data = call.field("data"))
      t.writes.push_back({take(columns, *data, row), call.raw("offset"), static_cast<uint32_t>(call.raw("buffer"))});
  } else if (id == DT_FN_CONTEXT) {
    const auto context = static_cast<uint32_t>(call.raw("context")), api = static_cast<uint32_t>(call.raw("api"));
    shares_[context] = {static_cast<uint32_t>(call.raw("share_group")), api};
    if (context) (api == 3 ? t.vector_id : t.raster_id) = context;
  } else {
    const Field *kind = call.field("kind"), *text = call.field("text");
    if (!kind || !text || !kind->has_data() || !text->has_data()) return;
    Fact fact;
    fact.kind = columns.payload(*kind, row);
    while (!fact.kind.empty() && !fact.kind.back()) fact.kind.pop_back();
    if (fact.kind != "config" && fact.kind != "visual" && fact.kind != "window" && fact.kind != "surface") return;
    fact.handle = call.raw("handle");
    fact.seq = calls_;
    if (DT_DATA_KIND(columns.descriptor(*text, row)) == DT_DATA_INLINE)
      fact.text = parse_attributes(columns.payload(*text, row));
    if (collecting_) {
      facts_.push_back(std::move(fact));
    } else if (auto it = sizes_.find(fact.handle);
               it != sizes_.end() && (fact.kind == "window" || fact.kind == "surface")) {
      int width = atoi(fact.text["width"].c_str()), height = atoi(fact.text["height"].c_str());
      if (width > 0 && height > 0 && (width != it->second.width || height != it->second.height))
        t.resized[fact.handle] = {width, height};
    }
  }
}

void Exporter::visit(OpenChunk& open, uint32_t number, uint64_t seq) {
  if (failure_) return;
  calls_ = seq;
  uint32_t record = open.record_of(number);
  records(open, record);
  next_record_[open.index] = record + 1;
  uint16_t f = open.order()[record];
  const FunctionColumns& columns = open.columns(f);
  if (columns.function) {
    // Where both APIs have a context, calls were counted to the one that became current last.
    uint32_t context = open.context(record);
    const ThreadState& t = threads_[open.info.thread];
    const bool vector = columns.function->api == "vg";
    if (auto own = vector ? t.vector_id : t.raster_id;
        own && shares_.count(context) && (shares_[context].api == 3) != vector)
      context = own;
    Call call{*columns.function,
              columns,
              open.ordinals()[record],
              open.info.thread,
              context,
              seq,
              open.durations()[record] == DT_IN_FLIGHT};
    if (collecting_ || !frames_.are_done()) {
      if (!collecting_ && frames_.begin(calls_))
        for (auto& r : regions_) r.loaded.clear();  // a frame can be played again
      // Damage in a recording costs one call; a full disk costs everything, and must not pass for damage.
      try {
        perform(call);
      } catch (const Error& e) {
        if (e.code == DT_E_IO || e.code == DT_E_CANCELLED)
          failure_ = std::make_unique<Error>(e);
        else if (!collecting_)
          line("/* " + call.function.name + " is left out: " + comment(e.what()) + " */"),
              ++left_out_[call.function.name];
      }
    }
  }
  threads_[open.info.thread].spans.clear();
  threads_[open.info.thread].writes.clear();
  try {
    if (!collecting_ && frames_.end_at(seq)) frames_.end(true);
  } catch (const Error& e) {
    failure_ = std::make_unique<Error>(e);
  }
  if (number + 1 == open.info.meta.calls) {  // what follows belongs to the thread's next call
    records(open, open.info.meta.records);
    next_record_.erase(open.index);
  }
}

void Exporter::pass(bool collecting) {
  collecting_ = collecting;
  next_record_.clear();
  states_.clear();
  threads_.clear();
  generations_.clear();
  context_apis_.clear();
  context_configs_.clear();
  shares_images_ = false;
  dt_selection all{};
  each_call(trace_, resolve(trace_, &all),
            [this](OpenChunk& open, uint32_t call, uint64_t seq) { visit(open, call, seq); });
  if (failure_) throw Error(*failure_);
}

// The first pass: what must be known before anything is printed.
void Exporter::collect(const Call& call, Info& i) {
  if (!i.plain || i.special == &Exporter::get_attribute) {
    if (i.special) (this->*i.special)(call);
  }
  ThreadState& t = threads_[call.thread];
  if (!t.spans.empty()) {
    // Each span belongs to the array that begins last before it: both must lie in one variable.
    auto& pointers = states_[call.context].pointers;
    for (auto& span : t.spans) {
      uint64_t begin = span.address;
      uint64_t best = 0;
      for (auto& [key, pointer] : pointers)
        if (pointer <= span.address && pointer > best) best = pointer;
      if (best && span.address - best <= 1ull << 26) begin = best;
      intervals_.emplace_back(begin, span.address + span.bytes);
    }
  }
  if (i.track) (this->*i.track)(call);
}

// The argument through which a call gives out names; `generated` declares what it points to, after_ keeps them.
std::string Exporter::made_names(const Call& call, const Field& p, std::string& generated) {
  const std::string content = this->content(call, p);
  size_t count = content.size() / 4;
  auto at = [&](size_t k) {
    uint32_t v;
    memcpy(&v, content.data() + k * 4, 4);
    return name_of(call, p.object_class, v);
  };
  if (count == 1) return "&" + at(0);
  if (!count) return value(call, p);
  generated = "GLuint names[" + std::to_string(count) + "]; ";
  for (size_t k = 0; k < count; ++k)
    after_ += (k % 4 ? " " : "\n    ") + at(k) + " = names[" + std::to_string(k) + "];";
  return "names";
}

// A call that is printed as the program made it.
void Exporter::plain_call(const Call& call, Info& i) {
  const Function& f = call.function;
  skip_.clear();
  after_.clear();
  scratch_used_ = 0;
  std::string text, before;
  if (i.makes_result && call.result()) {
    std::string word = f.result->object_class;
    before =
        (word == "sync" ? names_.handle("sync", "GLsync", call.result(), true) : name_of(call, word, call.result())) +
        " = ";
    if (i.vector) vector_objects_[{shares_[call.context].group, call.result()}] = word;
    if (word == "path") path_types_[{shares_[call.context].group, call.result()}] = call.raw("datatype");
  }
  std::string generated;
  for (size_t n = 0; n < f.params.size(); ++n) {
    const Field& p = f.params[n];
    if (n) text += ", ";
    uint64_t descriptor = p.has_data() ? call.columns.descriptor(p, call.row) : 0;
    if (i.makes_names && p.out && object_class(p.object_class, f.name) && DT_DATA_KIND(descriptor) != DT_DATA_NONE) {
      text += made_names(call, p, generated);
    } else {
      text += value(call, p);
    }
  }
  scratch_ = std::max(scratch_, scratch_used_);
  if (f.name.starts_with("glDebugMessageCallback") && !f.name.ends_with("AMD")) {
    // The program's own function cannot be had: one that prints what the driver says.
    line(f.name + (call.raw("callback") ? "(play_debug_message, NULL);" : "(NULL, NULL);"));
  } else if (!skip_.empty() || f.flags & FLAG_CALLBACK) {
    line("/* " + f.name + " is left out: " + (skip_.empty() ? "it names a function of the program" : skip_) + " */");
    ++left_out_[f.name];
  } else if (!generated.empty()) {
    line("{ " + generated + f.name + "(" + text + ");" + after_ + " }");
  } else {
    line(before + f.name + "(" + text + ");");
    shares_images_ = shares_images_ || f.name == "vgCreateEGLImageTargetKHR";
    after(call);
  }
}

void Exporter::perform(const Call& call) {
  Info& i = info(call.function);
  const Function& f = call.function;
  if (i.dropped) {
    if (!collecting_ && !(f.flags & FLAG_LEAVES_NOTHING)) ++left_out_[f.name];
    return;
  }
  if (collecting_) return collect(call, i);
  if (f.api == "gl" || i.swap) switch_to(call.thread);
  if (i.vector || i.swap) switch_to_vector(call.thread);
  ThreadState& t = threads_[call.thread];
  for (auto& [handle, to] : t.resized) {
    Size& size = sizes_[handle];
    size.width = to.first;
    size.height = to.second;
    line("host_resize(display, " + size.config + ", &" + surface_name(handle) + ", " + std::to_string(size.width) +
         ", " + std::to_string(size.height) + ");");
  }
  t.resized.clear();
  for (auto& w : t.writes) write(call, w);
  for (auto& span : t.spans) load(span);
  bool ends = frames_.end_at(call.seq) && !frames_.in_setup();
  if (ends && i.swap) {
    if (t.current.context && t.vector.context) use_api(t.api);  // whose frame it is
    line("host_frame(play_current);");
  }
  if (i.track && i.track == &Exporter::track_create_program) (this->*i.track)(call);
  bool done = i.special && (this->*i.special)(call);
  if (i.plain) {
    i.used = true;
    if (!done) plain_call(call, i);
  }
  if (i.track && i.track != &Exporter::track_create_program) (this->*i.track)(call);
  if (ends && !i.swap) line("host_frame(play_current);");
}

// A read-back can be compared with what the program got: its bytes and their checksum.
void Exporter::after(const Call& call) {
  const Function& f = call.function;
  bool of_buffer = f.name.starts_with("glGet") && f.name.find("BufferSubData") != f.name.npos;
  if (!(f.flags & FLAG_READBACK) && !of_buffer) return;
  for (auto& p : f.params) {
    if (!p.out || !p.has_data()) continue;
    const std::string content = this->content(call, p);
    if (content.empty()) continue;
    // Bytes between rows are not written by GL; where there may be some, the checksum says nothing.
    auto& pack = states_[call.context].pack;
    bool plain = call.function.api != "vg" || whole_rows(call, content.size());
    for (auto& [name, v] : pack) plain = plain && (v == 0 || name == GL_PACK_ALIGNMENT);
    if (call.field("format")) {
      uint64_t width = call.raw("width"), height = call.raw("height");
      auto it = pack.find(GL_PACK_ALIGNMENT);
      uint64_t alignment = it == pack.end() ? 4 : static_cast<uint64_t>(it->second);
      uint64_t row = width * static_cast<uint64_t>(pixels::pixel_size(static_cast<int64_t>(call.raw("format")),
                                                                      static_cast<int64_t>(call.raw("type"))));
      if (width)
        plain = plain && row && height && alignment && (row % alignment == 0 || height == 1) &&
                content.size() == row * height;
      else
        plain = plain && alignment == 1;
    }
    char text[96];
    snprintf(text, sizeof text, "READ_BACK(%llu, 0x%llxull);", static_cast<unsigned long long>(content.size()),
             plain ? static_cast<unsigned long long>(fnv(content)) : 0ull);
    line(text);
    return;
  }
}

// ---- tables -------------------------------------------------------------------------------------

void Exporter::write_tables() {
  variables_.declare("scratch[" + std::to_string((scratch_ + 7) / 8) + "]", "double", "");
  variables_.declare("client_unused[16]", "double", "");
  variables_.declare("display", "EGLDisplay", "0");
  variables_.write(folder_);
  data_.close();
  texts_.close();
  frames_.close();

  File functions(folder_ + "/functions.h"), loader(folder_ + "/functions.c"), names(folder_ + "/names.h");
  functions.put(
      "/* The functions that the recording calls, and nothing else: found when the program starts. */\n"
      "#ifndef PLAY_FUNCTIONS_H\n#define PLAY_FUNCTIONS_H\n#include \"play.h\"\n\n");
  loader.put("#include \"functions.h\"\n\n");
  std::string load = "\nvoid play_load_functions(void) {\n";
  std::vector<const Function*> used;
  for (auto& f : trace_.signatures.functions)
    if (infos_[static_cast<size_t>(f.index)].used) used.push_back(&f);
  std::sort(used.begin(), used.end(), [](auto* a, auto* b) { return a->name < b->name; });
  if (binds_attributes_ && !trace_.signatures.by_name("glBindAttribLocation")) {
    const char *before = "void (PLAY_CALL *", *after = ")(GLuint, GLuint, const GLchar *)",
               *name = "glBindAttribLocation";
    functions.put(std::string("extern ") + before + "play_" + name + after + ";\n#define " + name + " play_" + name +
                  "\n");
    loader.put(std::string(before) + "play_" + name + after + ";\n");
    load += std::string("  play_") + name + " = (" + before + after + ")host_function(\"" + name + "\");\n";
  }
  for (auto* f : used) {
    functions.put("extern " + prototype(*f, "play_" + f->name) + ";\n#define " + f->name + " play_" + f->name + "\n");
    loader.put(prototype(*f, "play_" + f->name) + ";\n");
    load += "  play_" + f->name + " = (" + prototype(*f, "") + ")host_function(\"" + f->name + "\");\n";
  }
  functions.put("\n#endif\n");
  loader.put(load + "}\n");
  names.put("/* Constants that older headers lack. */\n#ifndef PLAY_NAMES_H\n#define PLAY_NAMES_H\n\n");
  for (auto& [name, v] : enums_) {
    if (!name.starts_with("GL_") && !name.starts_with("EGL_") && !name.starts_with("VG")) continue;
    char text[160];
    snprintf(text, sizeof text, "#ifndef %s\n#define %s 0x%04llX\n#endif\n", name.c_str(), name.c_str(),
             static_cast<unsigned long long>(v) & 0xffffffffull);
    names.put(text);
  }
  names.put("\n#endif\n");
  frames_.write_list();
  for (File* file : {&functions, &loader, &names}) file->close();
}

std::string Exporter::run() {
  trace_.done = 0;
  trace_.total = 2 * trace_.calls;
  pass(true);
  make_regions();
  generations_.clear();
  pass(false);
  if (frames_.is_open() && !frames_.have_ends()) line("host_frame(play_current);");
  if (frames_.is_open()) frames_.end(!frames_.have_ends());
  write_tables();
  std::string text;
  JsonWriter json(text);
  json.object().put("frames", frames_.count()).put("repeated", frames_.repeated());
  json.values("files", frames_.files()).put("data_bytes", data_.bytes()).put("arrays", data_.count());
  json.put("sources", texts_.count())
      .put("gl", uses_gl_)
      .put("es", uses_es_)
      .put("vg", uses_vector_)
      .put("vulkan", false);
  json.object("left_out");
  for (auto& [name, n] : left_out_) json.put(name, n);
  json.end().end();
  return text;
}

}  // namespace dt::c
