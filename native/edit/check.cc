#include "check.h"

#include <algorithm>
#include <map>
#include <set>

#include "../core/arrow.h"
#include "../core/calls.h"
#include "../core/text.h"
#include "copy.h"
#include "vulkan_check.h"

namespace dt::edit {
namespace {

// The parameters of a function that name objects, and whether it makes or only uses them.
struct Uses {
  bool creates = false, deletes = false, begin = false, end = false, map = false, unmap = false, make_current = false,
       wanted = false, gl = false;
  std::vector<const Field*> fields;
  const Field* key = nullptr;  // the parameter that names a mapping
};

Uses uses_of(const Function& f) {
  Uses u;
  u.gl = f.api == "gl";
  u.creates = f.flags & FLAG_CREATE || makes_sync(f);
  u.deletes = f.flags & FLAG_DELETE;
  u.begin = f.flags & (FLAG_VERTICES_BEGIN | FLAG_LIST_BEGIN);
  u.end = f.flags & (FLAG_VERTICES_END | FLAG_LIST_END);
  u.map = f.flags & FLAG_MAP, u.unmap = f.flags & FLAG_UNMAP;
  u.make_current = f.flags & FLAG_MAKE_CURRENT;
  auto object = [&](const Field& p) {
    // Configurations and displays are there before any call.
    if (!p.object_class.empty() && p.object_class != "config" && p.object_class != "display") u.fields.push_back(&p);
  };
  for (auto& p : f.params) {
    object(p);
    if (p.name == "target" || p.name == "buffer") u.key = &p;
  }
  // Calls of the window system that leave nothing behind return what is current; queries of OpenGL do no harm.
  if (f.result && (u.creates || !(f.flags & FLAG_LEAVES_NOTHING))) object(*f.result);
  if (u.gl && f.flags & FLAG_QUERY) u.fields.clear();
  u.wanted = !u.fields.empty() || u.begin || u.end || u.map || u.unmap || u.make_current;
  return u;
}

struct Broken {
  uint64_t seq, cause;
  std::string function, cause_function, text;
};

struct Missing {
  uint64_t seq;
  const Function* function;
};

// Goes through the calls and notes what those that stay lack by those that go.
class Checker {
 public:
  Checker(const Trace& trace, const uint8_t* keep)
      : trace_(trace), keep_(keep), vulkan_(trace, false, [this](VulkanChecker::Lack lack) {
          say(lack.seq, lack.function, {lack.cause, &lack.cause_function}, std::move(lack.text));
        }) {
    for (auto& f : trace.signatures.functions) uses_.push_back(f.id < DT_FN_FIRST_TAP ? uses_of(f) : Uses{});
  }
  void call(OpenChunk& chunk, uint32_t number, uint64_t seq) {
    uint32_t r = chunk.record_of(number);
    uint16_t f = chunk.order()[r];
    auto* function = trace_.signatures.by_id(chunk.info.functions[f].id());
    if (!function) return;
    const Uses& u = uses_[static_cast<size_t>(function->index)];
    bool kept = bit(keep_, seq);
    uint32_t thread = chunk.info.thread;
    if (function->api == "vk") {
      vulkan::VulkanCall call(trace_, chunk.columns(f), chunk.ordinals()[r], seq, thread);
      return vulkan_.call(call, kept);
    }
    if (kept && u.gl) end(current_, thread, {seq, function}, kept, "the context it was made in is not made current");
    if (!u.wanted) return;
    auto& columns = chunk.columns(f);
    uint32_t i = chunk.ordinals()[r];
    objects(columns, i, u, seq, *function, kept);
    const Missing here{seq, function};
    if (u.begin) begin(open_begin_, thread, here, kept);
    if (u.end) end(open_begin_, thread, here, kept, "what it ends is not begun");
    if (u.map || u.unmap) {
      const std::pair key{chunk.context(r), u.key && u.key->slot >= 0 ? columns.raw(*u.key, i) : 0};
      if (u.map) begin(maps_, key, here, kept);
      if (u.unmap) end(maps_, key, here, kept, "the buffer is not mapped");
    }
    if (u.make_current) begin(current_, thread, here, kept);
  }
  // The breaks, in the order of the calls, as JSON.
  std::string json();

 private:
  void say(uint64_t seq, const Function& f, const Missing& m, std::string text) {
    if (broken_.size() >= 1000) {
      ++more_;
      return;
    }
    broken_.push_back({seq, m.seq, f.name, m.function->name, std::move(text)});
  }
  // Begins of a call that goes are missing; its ends should not be.
  template <class Map>
  static void begin(Map& missing, const typename Map::key_type& key, const Missing& call, bool kept) {
    if (kept)
      missing.erase(key);
    else
      missing.insert_or_assign(key, call);
  }
  template <class Map>
  void end(Map& missing, const typename Map::key_type& key, const Missing& call, bool kept, const char* text) {
    auto it = missing.find(key);
    if (it == missing.end()) return;
    if (kept) say(call.seq, *call.function, it->second, text);
    missing.erase(it);
  }
  void objects(const FunctionColumns& columns, uint32_t i, const Uses& u, uint64_t seq, const Function& function,
               bool kept);

  const Trace& trace_;
  const uint8_t* keep_;
  std::vector<Uses> uses_;
  std::map<std::pair<std::string, uint64_t>, Missing> missing_;  // class and name of what a dropped call made
  std::map<uint32_t, Missing> open_begin_, current_;             // by thread: a dropped glBegin, a dropped make-current
  std::map<std::pair<uint32_t, uint64_t>, Missing> maps_;
  std::vector<Broken> broken_;
  uint64_t more_ = 0;
  VulkanChecker vulkan_;
};

void Checker::objects(const FunctionColumns& columns, uint32_t i, const Uses& u, uint64_t seq, const Function& function,
                      bool kept) {
  for (const Field* p : u.fields) {
    bool made = u.creates && (p == function.result.get() || (p->has_data() && p->out));
    for (uint64_t name : names_in(trace_, columns, *p, i)) {
      if (!name) continue;
      auto key = std::make_pair(p->object_class, name);
      if (made) {
        begin(missing_, key, {seq, &function}, kept);
      } else if (auto it = missing_.find(key); it != missing_.end()) {
        if (kept && !u.deletes)
          say(seq, function, it->second, p->object_class + " " + std::to_string(name) + " is not made");
        // Once each: what follows has the same cause.
        if (kept || u.deletes) missing_.erase(it);
      }
    }
  }
}

std::string Checker::json() {
  std::stable_sort(broken_.begin(), broken_.end(), [](auto& a, auto& b) { return a.seq < b.seq; });
  std::string text;
  JsonWriter json(text);
  json.object().list("broken");
  for (auto& b : broken_) {
    json.object().put("seq", b.seq).put("function", b.function);
    json.put("cause", b.cause).put("cause_function", b.cause_function).put("text", b.text).end();
  }
  json.end().put("more", more_).end();
  return text;
}

}  // namespace

std::string check(const Trace& trace, const uint8_t* keep) {
  Checker checker(trace, keep);
  Selection all;
  all.end_seq = trace.calls;
  each_call(trace, all, [&](OpenChunk& chunk, uint32_t call, uint64_t seq) { checker.call(chunk, call, seq); });
  return checker.json();
}

}  // namespace dt::edit
