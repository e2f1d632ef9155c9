// From an apitrace trace to one of ours: calls into records of the functions that drawtap knows, by name; the others
// get a signature made of what their values are.
#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <unordered_map>

#include "../core/error.h"
#include "apitrace_reader.h"
#include "import.h"
#include "interleaved.h"
#include "trace_writer.h"
#include "egl_enums.h"
#include "gl_enums.h"

namespace dt::peers {
namespace {

constexpr uint64_t LOWEST_ADDRESS = 65536;  // below are offsets into buffers
constexpr size_t MOST_UNKNOWN_FUNCTIONS = 4096;
constexpr uint32_t MOST_THREADS = 1024;

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); i++) {
    const auto c = static_cast<uint8_t>(text[i]);
    if (c == '"' || c == '\\')
      out += '\\', out += text[i];
    else if (c < 0x20 || c >= 0x7f) {
      // What is not ASCII may be no UTF-8 either.
      char escaped[8];
      snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else
      out += text[i];
  }
  return out + '"';
}

// A word for the signature text, in which a tab or line end would be structure.
std::string word(std::string_view text) {
  std::string out(text.substr(0, 512));
  for (char& c : out)
    if (static_cast<uint8_t>(c) < 0x21) c = '_';
  return out.empty() ? "_" : out;
}

enum class Kind : uint8_t { integer, f32, f64, boolean };
enum class Element : uint8_t { none, i8, i16, i32, i64, f32, f64, chars, strings, bytes, structure };

Kind kind_of(std::string_view kind) {
  return kind == "f32" ? Kind::f32 : kind == "f64" ? Kind::f64 : kind == "bool" ? Kind::boolean : Kind::integer;
}

Element element_of(std::string_view element) {
  if (element == "u8" || element == "i8") return Element::i8;
  if (element == "u16" || element == "i16") return Element::i16;
  if (element == "u32" || element == "i32" || element == "attribs32") return Element::i32;
  if (element == "u64" || element == "i64" || element == "attribs64" || element == "ptr") return Element::i64;
  if (element == "f32") return Element::f32;
  if (element == "f64") return Element::f64;
  if (element == "char") return Element::chars;
  if (element == "strings") return Element::strings;
  if (element.starts_with("struct:")) return Element::structure;
  return Element::bytes;
}

// Where a value goes.
struct Place {
  Slot slot;
  Kind kind = Kind::integer;
  bool pointer = false;
  int content = -1;  // w8 field of the descriptor
  Element element = Element::none;
};

enum class Special : uint8_t {
  none,
  bind_buffer,
  bind_vertex_array,
  map,
  map_named,
  map_range,
  map_named_range,
  bind_api,
  create_context_egl,
  create_context_glx,
  create_context_glx_new,
  make_current_egl,
  make_current_glx,
  make_current_glx_read,
  pointer,
  memory_copy,
  memory,
  viewport,
  scissor,
  attribute_location,
  client_texture,
  interleaved,
  unmap,
  unmap_named,
  push_client,
  pop_client
};

struct Plan {
  const FunctionSignature* function = nullptr;
  std::vector<Place> arguments;  // per argument of the trace's function
  Place result;
  bool has_result = false;
  bool made = false;  // the function is not one of ours
  Special special = Special::none;
};

bool is_number(Type type) {
  return type <= Type::f64 || type == Type::enumerant || type == Type::bitmask || type == Type::opaque;
}

double to_double(const Node& node) {
  switch (node.type) {
    case Type::f32: {
      float v;
      memcpy(&v, &node.value, 4);
      return static_cast<double>(v);
    }
    case Type::f64: {
      double v;
      memcpy(&v, &node.value, 8);
      return v;
    }
    case Type::sint:
    case Type::enumerant: return static_cast<double>(static_cast<int64_t>(node.value));
    default: return static_cast<double>(node.value);
  }
}

uint64_t to_integer(const Node& node) {
  if (!is_number(node.type)) return 0;
  if (node.type != Type::f32 && node.type != Type::f64) return node.value;
  const double v = to_double(node);
  if (!(v > -9.2e18 && v < 9.2e18)) return 0;
  return static_cast<uint64_t>(static_cast<int64_t>(v));
}

class Import {
 public:
  Import(const dt_import& options);
  std::string run();

 private:
  struct Thread;
  void recording(const std::string& path);
  Plan& plan(const Call& call);
  void plan_known(Plan& plan, const FunctionSignature& function, const FunctionSig& sig);
  void plan_made(Plan& plan, const Call& call, const FunctionSig& sig);
  std::string made_value(const Call& call, int32_t node, uint16_t* w8, uint16_t* w4, const char* start,
                         std::string* groups);
  std::string group(const EnumSig& sig, bool bitmask, std::string* groups);
  void one(const Call& call);
  void fill(const Plan& plan, const Call& call);
  void put(const Place& place, const Call& call, uint32_t node);
  std::string_view content(Element element, const Call& call, uint32_t node);
  void scalars(Element element, const Call& call, uint32_t node, std::string* out);
  void describe(const Call& call, uint32_t node, std::string* out);
  void write(const Call& call, uint16_t extra);
  uint64_t argument(const Call& call, size_t index) const {
    return index < call.arguments.size() && call.arguments[index] >= 0
               ? to_integer(call.nodes[static_cast<size_t>(call.arguments[index])])
               : 0;
  }
  uint64_t result(const Call& call) const {
    return call.result >= 0 ? to_integer(call.nodes[static_cast<size_t>(call.result)]) : 0;
  }
  bool special_fake(const Plan& plan, const Call& call);
  void follow(const Plan& plan, const Call& call);
  void array_pointer(const Plan& plan, const Call& call);
  void made_current(const Call& call, uint64_t draw, uint64_t read, uint64_t context);
  void created(const Call& call, uint64_t share, uint32_t api);
  void map_write(const Call& call);
  void unmapped(uint64_t buffer);
  void tap(const Call& call, uint32_t function);
  void emit_memory(const Call& call);
  void flush_memory(const Call& call);
  void catch_up(Thread& thread);
  void note(const std::string& text) { notes_[text]++; }
  uint32_t lane(uint32_t thread);

  const std::string output_;
  ApitraceReader reader_;
  TraceWriter writer_;
  Record record_, extra_;
  std::unordered_map<std::string_view, const FunctionSignature*> by_name_;
  std::vector<std::unique_ptr<Plan>> plans_;
  std::map<uint32_t, uint32_t> lanes_;
  std::deque<std::string> pieces_;  // converted contents of the record in the making
  size_t pieces_used_ = 0;
  std::unordered_map<std::string, std::string> groups_;  // text of members -> name
  uint32_t next_id_ = 0;
  size_t unknown_ = 0;

  struct Context {
    uint32_t id = 0, share_group = 0, api = 0;
  };
  struct State {
    uint64_t vertex_array = 0;
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> buffers;  // (target, vertex array or 0) -> buffer
  };
  struct Mapping {
    uint64_t bytes = 0, offset = 0;
    uint32_t buffer = 0, target = 0;
  };
  struct Array {
    uint64_t address = 0;
    std::vector<uint64_t> shape;  // the other arguments
  };
  // State that apitrace changes around array pointers and sets back: the fake call is written only where a pointer is.
  struct Deferred {
    uint64_t written = 0, wanted = 0;
    std::unique_ptr<Call> call;
  };
  struct Thread {
    uint32_t api = 2, context = 0;
    uint64_t draw = 0;
    std::vector<std::pair<uint64_t, std::string>> memory;  // for the next call
    Deferred array_buffer, client_texture{GL_TEXTURE0, GL_TEXTURE0, nullptr};
  };
  std::map<uint64_t, Context> contexts_;
  std::map<uint32_t, State> states_;
  std::map<uint64_t, Mapping> mappings_;
  std::map<std::pair<uint32_t, std::string>, Array> arrays_;
  // with the client's attributes
  std::vector<std::pair<bool, std::map<std::pair<uint32_t, std::string>, Array>>> pushed_;
  std::map<uint32_t, Thread> threads_;
  std::map<uint64_t, std::string> windows_;
  uint32_t context_count_ = 0;
  uint64_t next_address_ = 0x100000000000ull;
  State& state(const Call& call) { return states_[threads_[call.thread].context]; }

  uint64_t calls_ = 0, in_flight_ = 0, tap_records_ = 0, fake_ = 0;
  std::map<std::string, uint64_t> notes_;
};

Import::Import(const dt_import& options)
    : output_(options.output), reader_([&] {
        std::string error;
        auto source = open_source(options.input, &error);
        if (!source) throw Error(DT_E_IO, error);
        return source;
      }()),
      writer_(options.level, DT_TIMING_NONE) {
  if (!reader_.open()) throw Error(DT_E_FORMAT, "it is no trace of apitrace: " + reader_.damage);
  std::ifstream file(options.signatures, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw Error(DT_E_IO, std::string("cannot read ") + options.signatures);
  const std::string error = writer_.add_signatures(text.str());
  if (!error.empty()) throw Error(DT_E_FORMAT, std::string(options.signatures) + ": " + error);
  for (const FunctionSignature& function : writer_.signatures().functions()) {
    by_name_.emplace(function.name, &function);
    if (function.id < DT_FN_FIRST_TAP) next_id_ = std::max(next_id_, function.id + 1);
  }
  recording(options.input);
}

void Import::recording(const std::string& path) {
  std::string program, properties = "{";
  for (const auto& [name, value] : reader_.properties) {
    if (name == "process.name") program = value;
    if (properties.size() > 1) properties += ", ";
    properties += json_text(name) + ": " + json_text(value);
  }
  properties += "}";
  std::string json = "{\"kind\": \"recording\", \"program\": " + json_text(program) +
                     ", \"timing\": \"none\", \"clock\": \"monotonic\"";
  json += ", \"imported\": {\"from\": \"apitrace\", \"file\": " + json_text(path) +
          ", \"container\": " + json_text(reader_.container());
  json += ", \"version\": " + std::to_string(reader_.version) +
          ", \"semantic_version\": " + std::to_string(reader_.semantic_version);
  json += ", \"properties\": " + properties + "}}";
  const std::string error = writer_.create(output_, json);
  if (!error.empty()) throw Error(DT_E_IO, output_ + ": " + error);
}

uint32_t Import::lane(uint32_t thread) {
  // The trace's own numbers, where they are numbers of threads and not something larger.
  const uint32_t number = thread < MOST_THREADS ? thread : MOST_THREADS + static_cast<uint32_t>(lanes_.size());
  const auto [it, fresh] = lanes_.emplace(thread, number);
  if (fresh) writer_.set_tid(it->second, thread);
  return it->second;
}

// ---- what goes where ----------------------------------------------------------------------------

Place place_of(const ValueSignature& value) {
  Place place;
  place.slot = value.slot;
  place.kind = kind_of(value.kind);
  place.pointer = value.kind == "ptr" || value.kind == "handle";
  if (value.content) {
    place.content = value.content->slot.index;
    place.element = element_of(value.content->element);
    // A list of bytes stays one, whatever they mean.
    if (place.element == Element::bytes && value.ctype.find("byte") != value.ctype.npos) place.element = Element::i8;
  }
  return place;
}

Special special_of(const std::string& name, const Plan& plan) {
  static const std::unordered_map<std::string_view, Special> names = {
      {"glBindBuffer", Special::bind_buffer},
      {"glBindBufferARB", Special::bind_buffer},
      {"glBindVertexArray", Special::bind_vertex_array},
      {"glBindVertexArrayOES", Special::bind_vertex_array},
      {"glPushClientAttrib", Special::push_client},
      {"glPopClientAttrib", Special::pop_client},
      {"glUnmapBuffer", Special::unmap},
      {"glUnmapBufferARB", Special::unmap},
      {"glUnmapBufferOES", Special::unmap},
      {"glUnmapNamedBuffer", Special::unmap_named},
      {"glUnmapNamedBufferEXT", Special::unmap_named},
      {"glMapBuffer", Special::map},
      {"glMapBufferARB", Special::map},
      {"glMapBufferOES", Special::map},
      {"glMapNamedBuffer", Special::map_named},
      {"glMapNamedBufferEXT", Special::map_named},
      {"glMapBufferRange", Special::map_range},
      {"glMapBufferRangeEXT", Special::map_range},
      {"glMapNamedBufferRange", Special::map_named_range},
      {"glMapNamedBufferRangeEXT", Special::map_named_range},
      {"eglBindAPI", Special::bind_api},
      {"eglCreateContext", Special::create_context_egl},
      {"glXCreateContext", Special::create_context_glx},
      {"glXCreateContextAttribsARB", Special::create_context_glx},
      {"glXCreateNewContext", Special::create_context_glx_new},
      {"eglMakeCurrent", Special::make_current_egl},
      {"glXMakeCurrent", Special::make_current_glx},
      {"glXMakeContextCurrent", Special::make_current_glx_read},
      {"glXMakeCurrentReadSGI", Special::make_current_glx_read},
      {"memcpy", Special::memory_copy},
      {"malloc", Special::memory},
      {"free", Special::memory},
      {"realloc", Special::memory},
      {"glViewport", Special::viewport},
      {"glScissor", Special::scissor},
      {"glClientActiveTexture", Special::client_texture},
      {"glClientActiveTextureARB", Special::client_texture},
      {"glInterleavedArrays", Special::interleaved},
      {"glBindAttribLocation", Special::attribute_location},
      {"glBindFragDataLocation", Special::attribute_location}};
  if (auto it = names.find(name); it != names.end()) return it->second;
  // A pointer without a descriptor, in a function that sets up an array: client memory that draws will read.
  if (!plan.made && plan.function && name.starts_with("gl") && name.find("Pointer") != std::string::npos)
    for (const Place& place : plan.arguments)
      if (place.pointer && place.content < 0) return Special::pointer;
  return Special::none;
}

void Import::plan_known(Plan& plan, const FunctionSignature& function, const FunctionSig& sig) {
  plan.function = &function;
  plan.has_result = function.result.has_value();
  if (plan.has_result) plan.result = place_of(*function.result);
  plan.arguments.resize(sig.arguments.size());
  const bool by_position = sig.arguments.size() == function.parameters.size();
  for (size_t i = 0; i < sig.arguments.size(); i++) {
    const ValueSignature* parameter = nullptr;
    if (by_position)
      parameter = &function.parameters[i];
    else
      for (const ValueSignature& p : function.parameters)
        if (p.name == sig.arguments[i]) parameter = &p;
    if (parameter)
      plan.arguments[i] = place_of(*parameter);
    else
      note("arguments that drawtap's " + std::string(function.name) + " does not have");
  }
}

std::string Import::group(const EnumSig& sig, bool bitmask, std::string* groups) {
  std::string members;
  for (const auto& [name, value] : sig.members) members += "E\t" + word(name) + "\t" + std::to_string(value) + "\n";
  const auto [it, fresh] =
      groups_.emplace((bitmask ? "b" : "e") + members, "apitrace:" + std::to_string(groups_.size()));
  if (fresh) *groups += "G\t" + it->second + "\t" + (bitmask ? "bitmask" : "enum") + "\n" + members;
  return it->second;
}

// The signature line of a value, by what it is in the first call.
std::string Import::made_value(const Call& call, int32_t at, uint16_t* w8, uint16_t* w4, const char* start,
                               std::string* groups) {
  const Node none;
  const Node& node = at >= 0 ? call.nodes[static_cast<size_t>(at)] : none;
  auto wide = [&] { return "8:" + std::to_string((*w8)++); };
  auto scalar = [&](const char* ctype, const char* kind, const std::string& slot, const std::string& group = "-") {
    return std::string(start) + ctype + "\t" + kind + "\t" + slot + "\t" + group + "\t-\n";
  };
  auto pointer = [&](const char* ctype, const std::string& element) {
    std::string line = scalar(ctype, "ptr", wide());
    return line + "D\t" + wide() + "\t" + element + "\tin\t-\n";
  };
  switch (node.type) {
    case Type::no:
    case Type::yes: return scalar("bool", "bool", "4:" + std::to_string((*w4)++));
    case Type::sint:
    case Type::uint: return scalar("int64_t", "i64", wide());
    case Type::f32: return scalar("float", "f32", "4:" + std::to_string((*w4)++));
    case Type::f64: return scalar("double", "f64", wide());
    case Type::enumerant: return scalar("enum", "enum", wide(), group(reader_.enums(node.sig), false, groups));
    case Type::bitmask: return scalar("bitmask", "bitmask", wide(), group(reader_.bitmask(node.sig), true, groups));
    case Type::string:
    case Type::wstring:
    case Type::structure:
    case Type::repr: return pointer("const char *", "char");
    case Type::array: {
      const auto first = static_cast<size_t>(at) + 1;
      const Type type = first < node.end ? call.nodes[first].type : Type::null;
      if (type == Type::string) return pointer("const char * const *", "strings");
      if (type == Type::f32) return pointer("const float *", "f32");
      if (type == Type::f64) return pointer("const double *", "f64");
      if (type == Type::structure || type == Type::array || type == Type::repr) return pointer("const char *", "char");
      return pointer("const int64_t *", "i64");
    }
    default: return pointer("const void *", "bytes");
  }
}

void Import::plan_made(Plan& plan, const Call& call, const FunctionSig& sig) {
  plan.made = true;
  if (unknown_ >= MOST_UNKNOWN_FUNCTIONS || next_id_ >= DT_FN_FIRST_TAP) {
    note("calls of unknown functions left out: there are more of them than a trace can have");
    return;
  }
  unknown_++;
  uint16_t w8 = 0, w4 = 0;
  std::string groups, lines;
  if (call.result >= 0) lines += made_value(call, call.result, &w8, &w4, "R\t", &groups);
  for (size_t i = 0; i < sig.arguments.size(); i++)
    lines += made_value(call, call.arguments[i], &w8, &w4, ("P\t" + word(sig.arguments[i]) + "\t").c_str(), &groups);
  const std::string& name = sig.name;
  const char* api = name.starts_with("glX")   ? "glx"
                    : name.starts_with("egl") ? "egl"
                    : name.starts_with("gl")  ? "gl"
                                              : "apitrace";
  const std::string head = "F\t" + std::to_string(next_id_) + "\t" + api + "\t" + word(name) + "\t" +
                           std::to_string(w8) + "\t" + std::to_string(w4) + "\t-\t-\n";
  const std::string error = writer_.add_signatures("V\t1\n" + groups + head + lines);
  if (!error.empty()) throw Error(DT_E_FORMAT, name + ": " + error);
  const FunctionSignature* function = writer_.signatures().function(next_id_++);
  if (!function) return;
  plan_known(plan, *function, sig);
}

Plan& Import::plan(const Call& call) {
  if (plans_.size() <= call.function) plans_.resize(call.function + 1);
  auto& found = plans_[call.function];
  if (found) return *found;
  found = std::make_unique<Plan>();
  const FunctionSig& sig = reader_.function(call.function);
  auto it = by_name_.find(sig.name);
  if (it != by_name_.end() && !sig.name.starts_with("dtap"))
    plan_known(*found, *it->second, sig);
  else
    plan_made(*found, call, sig);
  found->special = special_of(sig.name, *found);
  return *found;
}

// ---- values -------------------------------------------------------------------------------------

void Import::scalars(Element element, const Call& call, uint32_t at, std::string* out) {
  const Node& array = call.nodes[at];
  auto add = [&](auto value) { out->append(reinterpret_cast<const char*>(&value), sizeof value); };
  const bool plain = element == Element::bytes || element == Element::structure;
  for (uint32_t i = at + 1; i < array.end; i = call.nodes[i].end) {
    const Node& node = call.nodes[i];
    switch (element) {
      case Element::i8: add(static_cast<uint8_t>(to_integer(node))); break;
      case Element::i16: add(static_cast<uint16_t>(to_integer(node))); break;
      case Element::i32: add(static_cast<uint32_t>(to_integer(node))); break;
      case Element::i64:
        if (node.type == Type::blob && node.sig) {
          // A pointer in a list of them, and what stands there.
          threads_[call.thread].memory.emplace_back(next_address_, call.content(node));
          add(next_address_);
          next_address_ += 1ull << 30;
        } else {
          add(to_integer(node));
        }
        break;
      case Element::f32: add(static_cast<float>(to_double(node))); break;
      case Element::f64: add(to_double(node)); break;
      case Element::strings: {
        const bool text = node.type == Type::string || node.type == Type::blob;
        const std::string_view content = text ? call.content(node) : std::string_view();
        add(static_cast<uint32_t>(content.size()));
        *out += content;
        break;
      }
      default:
        // Nothing says how wide they are: as C has them by default.
        if (!plain) break;
        if (node.type == Type::f64)
          add(to_double(node));
        else if (node.type == Type::f32)
          add(static_cast<float>(to_double(node)));
        else if (node.type == Type::opaque)
          add(node.value);
        else if (node.type == Type::array || node.type == Type::structure)
          scalars(element, call, i, out);
        else if (node.type == Type::string || node.type == Type::blob)
          *out += call.content(node);
        else
          add(static_cast<uint32_t>(to_integer(node)));
    }
  }
}

// A value as text, for what has no form of ours.
void Import::describe(const Call& call, uint32_t at, std::string* out) {
  const Node& node = call.nodes[at];
  char number[40];
  switch (node.type) {
    case Type::null: *out += "NULL"; break;
    case Type::no: *out += "false"; break;
    case Type::yes: *out += "true"; break;
    case Type::sint: *out += std::to_string(static_cast<int64_t>(node.value)); break;
    case Type::uint: *out += std::to_string(node.value); break;
    case Type::f32:
    case Type::f64:
      snprintf(number, sizeof number, "%.9g", to_double(node));
      *out += number;
      break;
    case Type::string:
    case Type::wstring: (*out += '"').append(call.content(node)) += '"'; break;
    case Type::blob: *out += "blob(" + std::to_string(node.sig) + ")"; break;
    case Type::enumerant:
    case Type::bitmask: {
      const EnumSig& sig = node.type == Type::enumerant ? reader_.enums(node.sig) : reader_.bitmask(node.sig);
      for (const auto& [name, value] : sig.members)
        if (static_cast<uint64_t>(value) == node.value) {
          *out += name;
          return;
        }
      *out += std::to_string(static_cast<int64_t>(node.value));
      break;
    }
    case Type::opaque:
      snprintf(number, sizeof number, "0x%llx", static_cast<unsigned long long>(node.value));
      *out += number;
      break;
    case Type::repr:
      if (at + 1 < node.end) describe(call, at + 1, out);
      break;
    case Type::array:
    case Type::structure: {
      *out += '{';
      size_t member = 0;
      for (uint32_t i = at + 1; i < node.end; i = call.nodes[i].end, member++) {
        if (member) *out += ", ";
        if (node.type == Type::structure) *out += reader_.structure(node.sig).members[member] + " = ";
        describe(call, i, out);
      }
      *out += '}';
      break;
    }
  }
}

std::string_view Import::content(Element element, const Call& call, uint32_t at) {
  const Node& node = call.nodes[at];
  if ((node.type == Type::string || node.type == Type::blob || node.type == Type::wstring) &&
      element != Element::strings)
    return call.content(node);
  if (pieces_used_ == pieces_.size()) pieces_.emplace_back();
  std::string& out = pieces_[pieces_used_++];
  out.clear();
  if (element == Element::chars) {
    describe(call, at, &out);
  } else if (node.type == Type::array || node.type == Type::structure) {
    // XVisualInfo, the one structure with padding and 8-byte numbers: as C lays it out on 64-bit machines.
    if (node.type == Type::structure && reader_.structure(node.sig).name == "XVisualInfo" && node.end - at == 11) {
      const int widths[] = {8, 8, 4, 4, 4, 4 /* padding */, 8, 8, 8, 4, 4};
      uint32_t i = at + 1;
      for (size_t field = 0; field < 11; field++) {
        const uint64_t value = field == 5 ? 0 : call.nodes[i++].value;
        out.append(reinterpret_cast<const char*>(&value), static_cast<size_t>(widths[field]));
      }
    } else {
      scalars(element, call, at, &out);
    }
  } else if (element == Element::strings) {
    const std::string_view text = node.type == Type::string ? call.content(node) : std::string_view();
    const auto bytes = static_cast<uint32_t>(text.size());
    out.append(reinterpret_cast<const char*>(&bytes), 4).append(text);
  }
  return out;
}

void Import::put(const Place& place, const Call& call, uint32_t at) {
  const Node& node = call.nodes[at];
  if (place.content < 0 && !place.slot.width) return;
  if (place.content >= 0) {
    const auto slot = static_cast<uint16_t>(place.content);
    if (is_number(node.type) && !(place.element == Element::chars && node.type >= Type::no && node.type <= Type::f64)) {
      record_.set(place.slot, to_integer(node));
      // An address of memory that apitrace did not write down, or an offset into a buffer.
      if (node.type != Type::null)
        record_.set_kind(slot, to_integer(node) < LOWEST_ADDRESS ? DT_DATA_OFFSET : DT_DATA_UNKNOWN);
      return;
    }
    if (node.type == Type::repr && at + 2 <= node.end) {
      // The second of the two is what the machine sees.
      const uint32_t machine = call.nodes[at + 1].end;
      if (machine < node.end && place.element != Element::chars) return put(place, call, machine);
    }
    record_.set_content(slot, content(place.element, call, at));
    return;
  }
  const Node* number = &node;
  if (node.type == Type::array || node.type == Type::structure) {
    if (at + 1 >= node.end) return;
    number = &call.nodes[at + 1];
  }
  if (!is_number(number->type)) {
    if (place.pointer) return;  // an address that apitrace replaced by what stands there
    note("values of a type that does not fit");
    return;
  }
  switch (place.kind) {
    case Kind::f32: {
      const auto v = static_cast<float>(to_double(*number));
      uint32_t bits;
      memcpy(&bits, &v, 4);
      record_.set(place.slot, bits);
      break;
    }
    case Kind::f64: {
      const double v = to_double(*number);
      uint64_t bits;
      memcpy(&bits, &v, 8);
      record_.set(place.slot, bits);
      break;
    }
    default: record_.set(place.slot, to_integer(*number));
  }
}

void Import::fill(const Plan& plan, const Call& call) {
  pieces_used_ = 0;
  record_.begin(*plan.function);
  const size_t n = std::min(plan.arguments.size(), call.arguments.size());
  for (size_t i = 0; i < n; i++)
    if (call.arguments[i] >= 0) put(plan.arguments[i], call, static_cast<uint32_t>(call.arguments[i]));
  if (call.arguments.size() > plan.arguments.size()) note("arguments that the function's signature does not have");
  if (plan.has_result && call.result >= 0)
    put(plan.result, call, static_cast<uint32_t>(call.result));
  else if (call.result >= 0 && !plan.has_result)
    note("results of functions that have none");
  // An output that never came.
  if (!call.left)
    for (const ValueSignature& parameter : plan.function->parameters)
      if (parameter.content && parameter.content->direction == "out" && !record_.w8[parameter.content->slot.index])
        record_.set_kind(parameter.content->slot.index, DT_DATA_PENDING);
}

void Import::write(const Call& call, uint16_t extra) {
  writer_.write(lane(call.thread), record_, call.number + 1ull, call.left ? DT_NO_DURATION : DT_IN_FLIGHT, extra);
  if (extra)
    tap_records_++;
  else
    calls_++, in_flight_ += !call.left;
}

// A record of the tap's own, in extra_.
void Import::tap(const Call& call, uint32_t function) {
  (void)function;
  writer_.write(lane(call.thread), extra_, call.number + 1ull, DT_NO_DURATION, DT_RECORD_TAP);
  tap_records_++;
}

// ---- what calls stand for -----------------------------------------------------------------------

void Import::created(const Call& call, uint64_t share, uint32_t api) {
  const uint64_t handle = result(call);
  if (!handle) return;
  Context& context = contexts_[handle];
  context.id = ++context_count_;
  context.api = api;
  auto it = contexts_.find(share);
  context.share_group = share && it != contexts_.end() ? it->second.share_group : context.id;
}

void Import::made_current(const Call& call, uint64_t draw, uint64_t read, uint64_t handle) {
  if (!call.left || (call.result >= 0 && !result(call))) return;
  Thread& thread = threads_[call.thread];
  Context none;
  Context* context = &none;
  if (handle) {
    const auto [it, fresh] = contexts_.try_emplace(handle);
    context = &it->second;
    if (fresh) context->id = context->share_group = ++context_count_;
  }
  thread.context = context->id;
  thread.draw = draw;
  const FunctionSignature* function = writer_.signatures().function(DT_FN_CONTEXT);
  if (!function || function->w8 < 3 || function->w4 < 3) return;
  extra_.begin(*function);
  extra_.w8 = {handle, draw, read};
  extra_.w4 = {context->id, context->share_group, context->api};
  extra_.w8.resize(function->w8), extra_.w4.resize(function->w4);
  tap(call, DT_FN_CONTEXT);
  writer_.set_context(lane(call.thread), context->id);
}

void Import::follow(const Plan& plan, const Call& call) {
  if (!call.left) return;
  switch (plan.special) {
    case Special::bind_buffer: {
      State& s = state(call);
      const uint64_t target = argument(call, 0);
      if (target == GL_ARRAY_BUFFER) threads_[call.thread].array_buffer.written = argument(call, 1);
      s.buffers[{target, target == GL_ELEMENT_ARRAY_BUFFER ? s.vertex_array : 0}] = argument(call, 1);
      break;
    }
    case Special::interleaved:
      interleaved_arrays(argument(call, 0), argument(call, 1), [&](const InterleavedArray& set) {
        std::string key = set.name;
        if (key.find("TexCoord") != key.npos) key += ":" + std::to_string(threads_[call.thread].client_texture.written);
        Array& array = arrays_[{threads_[call.thread].context, key}];
        array.address = argument(call, 2) + set.offset;
        array.shape = {set.type, set.stride};
        if (set.sized) array.shape.insert(array.shape.begin(), set.size);
      });
      break;
    case Special::client_texture: threads_[call.thread].client_texture.written = argument(call, 0); break;
    case Special::bind_vertex_array: state(call).vertex_array = argument(call, 0); break;
    case Special::map:
    case Special::map_range:
    case Special::map_named:
    case Special::map_named_range: {
      const uint64_t at = result(call);
      if (!at) break;
      const bool range = plan.special == Special::map_range || plan.special == Special::map_named_range;
      const bool named = plan.special == Special::map_named || plan.special == Special::map_named_range;
      Mapping m;
      if (range)
        m.offset = argument(call, 1), m.bytes = argument(call, 2);
      else
        m.bytes = UINT64_MAX;  // the whole buffer, however long it is
      if (named) {
        m.buffer = static_cast<uint32_t>(argument(call, 0));
      } else {
        State& s = state(call);
        m.target = static_cast<uint32_t>(argument(call, 0));
        m.buffer =
            static_cast<uint32_t>(s.buffers[{m.target, m.target == GL_ELEMENT_ARRAY_BUFFER ? s.vertex_array : 0}]);
      }
      unmapped(m.buffer);
      if (mappings_.size() > 65536) mappings_.clear();
      mappings_[at] = m;
      break;
    }
    case Special::push_client:
      if (pushed_.size() < 64) pushed_.emplace_back((argument(call, 0) & GL_CLIENT_VERTEX_ARRAY_BIT) != 0, arrays_);
      break;
    case Special::pop_client:
      if (pushed_.empty()) break;
      if (pushed_.back().first) arrays_ = std::move(pushed_.back().second);
      pushed_.pop_back();
      break;
    case Special::unmap: {
      State& s = state(call);
      const uint64_t target = argument(call, 0);
      unmapped(s.buffers[{target, target == GL_ELEMENT_ARRAY_BUFFER ? s.vertex_array : 0}]);
      break;
    }
    case Special::unmap_named: unmapped(argument(call, 0)); break;
    case Special::bind_api:
      threads_[call.thread].api = argument(call, 0) == EGL_OPENGL_API ? 1 : argument(call, 0) == EGL_OPENVG_API ? 3 : 2;
      break;
    case Special::create_context_egl: created(call, argument(call, 2), threads_[call.thread].api); break;
    case Special::create_context_glx: created(call, argument(call, 2), 1); break;
    case Special::create_context_glx_new: created(call, argument(call, 3), 1); break;
    case Special::make_current_egl: made_current(call, argument(call, 1), argument(call, 2), argument(call, 3)); break;
    case Special::make_current_glx: made_current(call, argument(call, 1), argument(call, 1), argument(call, 2)); break;
    case Special::make_current_glx_read:
      made_current(call, argument(call, 1), argument(call, 2), argument(call, 3));
      break;
    default: break;
  }
}

void Import::unmapped(uint64_t buffer) {
  std::erase_if(mappings_, [&](const auto& entry) { return entry.second.buffer == buffer; });
}

// The fake memcpy before an unmap or a flush: what the application stored in the mapped buffer.
void Import::map_write(const Call& call) {
  const uint64_t to = argument(call, 0);
  const FunctionSignature* function = writer_.signatures().function(DT_FN_MAP_WRITE);
  auto it = mappings_.upper_bound(to);
  const Node* source = call.arguments.size() > 1 && call.arguments[1] >= 0
                           ? &call.nodes[static_cast<size_t>(call.arguments[1])]
                           : nullptr;
  if (it == mappings_.begin() || !source || source->type != Type::blob || !function || function->w8 < 2 ||
      function->w4 < 2)
    return note("memcpy records that belong to no mapped buffer");
  // Mappings that ended with their buffer may still stand between.
  do --it;
  while (to - it->first >= it->second.bytes && it != mappings_.begin());
  const Mapping& m = it->second;
  if (to - it->first >= m.bytes) return note("memcpy records that belong to no mapped buffer");
  extra_.begin(*function);
  extra_.w8[0] = m.offset + (to - it->first);
  extra_.set_content(1, call.content(*source));
  extra_.w4[0] = m.target;
  extra_.w4[1] = m.buffer;
  tap(call, DT_FN_MAP_WRITE);
}

void Import::flush_memory(const Call& call) {
  Thread& thread = threads_[call.thread];
  const FunctionSignature* function = writer_.signatures().function(DT_FN_MEMORY);
  for (const auto& [address, bytes] : thread.memory) {
    if (!function || function->w8 < 2) break;
    extra_.begin(*function);
    extra_.w8[0] = address;
    extra_.set_content(1, bytes);
    tap(call, DT_FN_MEMORY);
  }
  thread.memory.clear();
}

// gl...Pointer with what stands there: apitrace writes it before a draw that reads client memory.
void Import::array_pointer(const Plan& plan, const Call& call) {
  const FunctionSig& sig = reader_.function(call.function);
  int pointer = -1;
  std::vector<uint64_t> shape;
  std::string key = sig.name;
  for (size_t i = 0; i < call.arguments.size(); i++) {
    if (i < plan.arguments.size() && plan.arguments[i].pointer && plan.arguments[i].content < 0)
      pointer = static_cast<int>(i);
    else
      shape.push_back(argument(call, i));
  }
  if (pointer < 0 || call.arguments[static_cast<size_t>(pointer)] < 0) return write(call, 0);
  if (sig.arguments[0] == "index" && !shape.empty()) key += ":" + std::to_string(shape[0]);
  Thread& thread = threads_[call.thread];
  if (sig.name.find("TexCoord") != std::string::npos)
    key +=
        ":" + std::to_string(thread.client_texture.call ? thread.client_texture.wanted : thread.client_texture.written);
  Array& array = arrays_[{thread.context, key}];
  const Node& node = call.nodes[static_cast<size_t>(call.arguments[static_cast<size_t>(pointer)])];
  if (node.type != Type::blob) {
    array.address = to_integer(node);
    array.shape = shape;
    return write(call, 0);
  }
  const bool same = call.fake && array.address >= LOWEST_ADDRESS && array.shape == shape;
  if (!same) {
    // An address that nothing else has; the pages behind it stay free.
    array.address = next_address_;
    array.shape = shape;
    next_address_ += 1ull << 30;
    catch_up(thread);
    fill(plan, call);
    record_.set(plan.arguments[static_cast<size_t>(pointer)].slot, array.address);
    write(call, 0);
  }
  thread.memory.emplace_back(array.address, call.content(node));
}

// Write the fake calls that turned out to count.
void Import::catch_up(Thread& thread) {
  for (Deferred* deferred : {&thread.array_buffer, &thread.client_texture}) {
    if (!deferred->call || deferred->written == deferred->wanted) continue;
    const std::unique_ptr<Call> call = std::move(deferred->call);
    deferred->written = deferred->wanted;
    fill(plan(*call), *call);
    write(*call, 0);
  }
}

// True: the call became something else than a call.
bool Import::special_fake(const Plan& plan, const Call& call) {
  Thread& thread = threads_[call.thread];
  switch (plan.special) {
    case Special::viewport: {
      // How large the window is that was just made current.
      const std::string text =
          "width=" + std::to_string(argument(call, 2)) + ";height=" + std::to_string(argument(call, 3));
      std::string& said = windows_[thread.draw];
      const FunctionSignature* function = writer_.signatures().function(DT_FN_NATIVE);
      if (thread.draw && said != text && function && function->w8 >= 3) {
        said = text;
        extra_.begin(*function);
        extra_.w8[0] = thread.draw;
        extra_.set_content(1, "window");
        extra_.set_content(2, text);
        tap(call, DT_FN_NATIVE);
      }
      write(call, DT_RECORD_TAP);
      return true;
    }
    case Special::scissor: write(call, DT_RECORD_TAP); return true;
    case Special::attribute_location: write(call, DT_RECORD_TAP); return true;
    case Special::bind_buffer:
      if (argument(call, 0) != GL_ARRAY_BUFFER) return false;
      thread.array_buffer.wanted = argument(call, 1);
      thread.array_buffer.call = std::make_unique<Call>(call);
      return true;
    case Special::client_texture:
      thread.client_texture.wanted = argument(call, 0);
      thread.client_texture.call = std::make_unique<Call>(call);
      return true;
    default: return false;
  }
}

void Import::one(const Call& call) {
  if (call.fake) fake_++;
  Plan& how = plan(call);
  if (how.special == Special::memory_copy && call.arguments.size() > 1 && call.arguments[1] >= 0 &&
      call.nodes[static_cast<size_t>(call.arguments[1])].type == Type::blob)
    return map_write(call);
  if (!how.function) return;
  if (how.special == Special::memory || how.special == Special::memory_copy) {
    fill(how, call);
    return write(call, DT_RECORD_TAP);
  }
  if (call.fake) {
    fill(how, call);
    if (special_fake(how, call)) return;
  } else {
    Thread& thread = threads_[call.thread];
    if (thread.array_buffer.call || thread.client_texture.call) {
      catch_up(thread);
      thread.array_buffer.call.reset();
      thread.client_texture.call.reset();
    }
    fill(how, call);
    if (!thread.memory.empty()) flush_memory(call);
  }
  if (how.special == Special::pointer) return array_pointer(how, call);
  write(call, 0);
  if (how.special != Special::none) follow(how, call);
}

std::string Import::run() {
  while (const Call* call = reader_.next()) {
    one(*call);
    if (!(call->number & 0xfff)) {
      g_done = reader_.position();
      if (g_cancel) throw Error(DT_E_CANCELLED, "cancelled");
      if (writer_.failed()) break;
    }
  }
  if (!reader_.damage.empty()) note("the file is damaged: " + reader_.damage);
  if (reader_.backtraces) notes_["stack backtraces left out"] = reader_.backtraces;
  std::string notes;
  for (const auto& [text, count] : notes_) {
    if (!notes.empty()) notes += ", ";
    notes += json_text(count > 1 ? text + " (" + std::to_string(count) + ")" : text);
  }
  // The notes stand in the trace too, as the recorder's own do.
  const FunctionSignature* function = writer_.signatures().function(DT_FN_NOTE);
  if (function && function->w8 >= 2 && writer_.threads())
    for (const auto& [text, count] : notes_) {
      extra_.begin(*function);
      const std::string said = count > 1 ? text + " (" + std::to_string(count) + ")" : text;
      extra_.set_content(0, "import");
      extra_.set_content(1, said);
      writer_.write(0, extra_, UINT64_C(1) << 40, DT_NO_DURATION, DT_RECORD_TAP);
      tap_records_++;
    }
  std::string counts = "\"calls\": " + std::to_string(calls_) + ", \"calls_in_flight\": " + std::to_string(in_flight_);
  std::string end = "{\"kind\": \"end\", \"reason\": \"imported\", " + counts + "}";
  const std::string error = writer_.finish({end});
  if (!error.empty()) throw Error(DT_E_IO, output_ + ": " + error);
  if (writer_.invalid_records())
    throw Error(DT_E_FORMAT, "records that the encoder refused: " + std::to_string(writer_.invalid_records()));
  std::string properties;
  for (const auto& [name, value] : reader_.properties)
    properties += (properties.empty() ? "" : ", ") + json_text(name) + ": " + json_text(value);
  return "{" + counts + ", \"tap_records\": " + std::to_string(tap_records_) +
         ", \"threads\": " + std::to_string(lanes_.size()) + ", \"fake\": " + std::to_string(fake_) +
         ", \"version\": " + std::to_string(reader_.version) +
         ", \"semantic_version\": " + std::to_string(reader_.semantic_version) +
         ", \"container\": " + json_text(reader_.container()) + ", \"properties\": {" + properties +
         "}, \"unknown_functions\": " + std::to_string(unknown_) + ", \"notes\": [" + notes +
         "], \"damage\": " + (reader_.damage.empty() ? "null" : json_text(reader_.damage)) + "}";
}

}  // namespace

std::string import_apitrace(const dt_import& options) { return Import(options).run(); }

}  // namespace dt::peers
