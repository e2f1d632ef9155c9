// From an apitrace trace to one of ours: calls into records of the functions that drawtap knows, by name; the others
// get a signature made of what their values are.
#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>
#include <unordered_map>

#include "../common/json.h"
#include "../core/error.h"
#include "apitrace_records.h"
#include "import.h"
#include "interleaved.h"
#include "trace_writer.h"
#include "egl_enums.h"
#include "gl_enums.h"

namespace dt::peers {
namespace from_apitrace {
namespace {

constexpr uint32_t MOST_THREADS = 1024;

}  // namespace

Import::Import(const dt_import& options)
    : output_(options.output), reader_([&] {
        std::string error;
        auto source = open_source(options.input, &error);
        if (!source) throw Error(DT_E_IO, error);
        return source;
      }()),
      writer_(options.level, DT_TIMING_NONE) {
  if (!reader_.open()) throw Error(DT_E_FORMAT, "it is no trace of apitrace: " + reader_.damage);
  writer_.read_signatures(options.signatures);
  for (const FunctionSignature& function : writer_.signatures().functions()) {
    by_name_.emplace(function.name, &function);
    if (function.id < DT_FN_FIRST_TAP) next_id_ = std::max(next_id_, function.id + 1);
  }
  recording(options.input);
}

void Import::recording(const std::string& path) {
  std::string program;
  for (const auto& [name, value] : reader_.properties)
    if (name == "process.name") program = value;
  JsonObject json;
  json.put("kind", "recording").put("program", program);
  json.put("timing", "none").put("clock", "monotonic");
  auto& out = json.writer();
  out.object("imported").put("from", "apitrace").put("file", path);
  source(out);
  out.end();
  const std::string error = writer_.create(output_, json.str());
  if (!error.empty()) throw Error(DT_E_IO, output_ + ": " + error);
}

// Writes the file's words about itself.
void Import::source(JsonWriter<std::string>& out) const {
  out.put("container", reader_.container()).put("version", reader_.version);
  out.put("semantic_version", reader_.semantic_version).object("properties");
  for (const auto& [name, value] : reader_.properties) out.put(name, value);
  out.end();
}

uint32_t Import::lane(uint32_t thread) {
  // The trace's own numbers, where they are numbers of threads and not something larger.
  const uint32_t number = thread < MOST_THREADS ? thread : MOST_THREADS + static_cast<uint32_t>(lanes_.size());
  const auto [it, fresh] = lanes_.emplace(thread, number);
  if (fresh) writer_.set_tid(it->second, thread);
  return it->second;
}

void Import::write(const Call& call, uint16_t extra) {
  writer_.write(lane(call.thread), record_, call.number + 1ull, call.left ? DT_NO_DURATION : DT_IN_FLIGHT, extra);
  if (extra)
    tap_records_++;
  else
    calls_++, in_flight_ += !call.left;
}

// A record of the tap's own, in extra_.
void Import::tap(const Call& call) {
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
  tap(call);
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
  tap(call);
}

void Import::flush_memory(const Call& call) {
  Thread& thread = threads_[call.thread];
  const FunctionSignature* function = writer_.signatures().function(DT_FN_MEMORY);
  for (const auto& [address, bytes] : thread.memory) {
    if (!function || function->w8 < 2) break;
    extra_.begin(*function);
    extra_.w8[0] = address;
    extra_.set_content(1, bytes);
    tap(call);
  }
  thread.memory.clear();
}

// gl...Pointer with what stands there: apitrace writes it before a draw that reads client memory.
void Import::array_pointer(const Plan& plan, const Call& call) {
  const ListSig& sig = reader_.function(call.function);
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
  if (sig.members[0] == "index" && !shape.empty()) key += ":" + std::to_string(shape[0]);
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
      // The size of the window that was just made current.
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
        tap(call);
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
  if (how.special == Special::array_pointer) return array_pointer(how, call);
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
  std::vector<std::string> notes;
  for (const auto& [text, count] : notes_)
    notes.push_back(count > 1 ? text + " (" + std::to_string(count) + ")" : text);
  // The notes stand in the trace too, as the recorder's own do.
  const FunctionSignature* function = writer_.signatures().function(DT_FN_NOTE);
  if (function && function->w8 >= 2 && writer_.threads())
    for (const std::string& said : notes) {
      extra_.begin(*function);
      extra_.set_content(0, "import");
      extra_.set_content(1, said);
      writer_.write(0, extra_, UINT64_C(1) << 40, DT_NO_DURATION, DT_RECORD_TAP);
      tap_records_++;
    }
  JsonObject end;
  end.put("kind", "end").put("reason", "imported").put("calls", calls_).put("calls_in_flight", in_flight_);
  writer_.finish_import(end.str(), output_);
  JsonObject answer;
  answer.put("calls", calls_).put("calls_in_flight", in_flight_).put("tap_records", tap_records_);
  answer.put("threads", lanes_.size()).put("fake", fake_).put("unknown_functions", unknown_).values("notes", notes);
  source(answer.writer());
  return answer.put("damage", reader_.damage.empty() ? nullptr : reader_.damage.c_str()).str();
}

}  // namespace from_apitrace

std::string import_apitrace(const dt_import& options) { return from_apitrace::Import(options).run(); }

}  // namespace dt::peers
