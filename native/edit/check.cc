#include "check.h"

#include <algorithm>
#include <map>
#include <set>

#include "../core/arrow.h"
#include "../core/calls.h"
#include "../core/text.h"

namespace dt::edit {
namespace {

bool bit(const uint8_t* bits, uint64_t i) { return bits[i >> 3] >> (i & 7) & 1; }
bool starts(std::string_view text, std::string_view part) { return text.substr(0, part.size()) == part; }

// Which of a function's parameters name objects, and whether it makes or only uses them.
struct Uses {
  bool creates = false, deletes = false, begin = false, end = false, map = false, unmap = false, make_current = false,
       wanted = false, gl = false;
  std::vector<const Field*> fields;
  const Field* key = nullptr;  // what a mapping is told apart by
};

Uses uses_of(const Function& f) {
  Uses u;
  std::string_view n = f.name;
  u.gl = f.api == "gl";
  u.creates = n.find("Gen") != n.npos ? starts(n, "glGen") && !starts(n, "glGenerate")
                                      : n.find("Create") != n.npos || n.find("FenceSync") != n.npos;
  u.deletes = n.find("Delete") != n.npos || n.find("Destroy") != n.npos;
  u.begin = n == "glBegin" || n == "glNewList";
  u.end = n == "glEnd" || n == "glEndList";
  u.map = f.flags & FLAG_MAP, u.unmap = f.flags & FLAG_UNMAP;
  u.make_current = f.flags & FLAG_MAKE_CURRENT;
  auto object = [&](const Field& p) {
    // Configurations and displays are found, not made; what is current is asked for.
    if (!p.object_class.empty() && p.object_class != "config" && p.object_class != "display") u.fields.push_back(&p);
  };
  for (auto& p : f.params) {
    object(p);
    if (p.name == "target" || p.name == "buffer") u.key = &p;
  }
  if (f.result) object(*f.result);
  if (!u.creates && !u.deletes &&
      (starts(n, "glGet") || starts(n, "eglGetCurrent") || starts(n, "glXGetCurrent") || starts(n, "glIs")))
    u.fields.clear();
  u.wanted = !u.fields.empty() || u.begin || u.end || u.map || u.unmap || u.make_current;
  return u;
}

struct Broken {
  uint64_t seq, cause;
  std::string function, cause_function, text;
};

}  // namespace

std::string check(const Trace& trace, const uint8_t* keep) {
  std::vector<Uses> uses;
  for (auto& f : trace.signatures.functions) uses.push_back(f.id < DT_FN_FIRST_TAP ? uses_of(f) : Uses{});
  struct Missing {
    uint64_t seq;
    const Function* function;
  };
  std::map<std::pair<std::string, uint64_t>, Missing> missing;  // class and name of what a dropped call made
  std::map<uint32_t, Missing> open_begin, current;              // by thread: a dropped glBegin, a dropped make-current
  std::map<std::pair<uint32_t, uint64_t>, Missing> maps;
  std::vector<Broken> found;
  uint64_t more = 0;
  auto say = [&](uint64_t seq, const Function& f, const Missing& m, std::string text) {
    if (found.size() >= 1000) {
      ++more;
      return;
    }
    found.push_back({seq, m.seq, f.name, m.function->name, std::move(text)});
  };
  Selection all;
  all.end_seq = trace.calls;
  each_call(trace, all, [&](OpenChunk& chunk, uint32_t call, uint64_t seq) {
    uint32_t r = chunk.record_of(call);
    uint16_t f = chunk.order()[r];
    auto* function = trace.signatures.by_id(chunk.info.functions[f].id());
    if (!function) return;
    const Uses& u = uses[static_cast<size_t>(function->index)];
    bool kept = bit(keep, seq);
    uint32_t thread = chunk.info.thread;
    if (kept && u.gl && !current.empty()) {
      if (auto it = current.find(thread); it != current.end()) {
        say(seq, *function, it->second, "the context it was made in is not made current");
        current.erase(it);
      }
    }
    if (!u.wanted) return;
    auto& columns = chunk.columns(f);
    uint32_t i = chunk.ordinals()[r];
    for (const Field* p : u.fields) {
      std::vector<uint64_t> names;
      if (p->has_data() && element_bytes(p->element)) {
        uint64_t d = columns.descriptor(*p, i);
        std::vector<uint8_t> blob;
        std::string_view content;
        if (DT_DATA_KIND(d) == DT_DATA_INLINE) content = columns.payload(*p, i);
        if (DT_DATA_KIND(d) == DT_DATA_BLOB) {
          try {
            blob = trace.blob(columns.hash(*p, i), 1u << 24);
            content = {reinterpret_cast<const char*>(blob.data()), blob.size()};
          } catch (const Error&) {  // lost: nothing can be said
          }
        }
        size_t width = element_bytes(p->element);
        for (size_t at = 0; at + width <= content.size(); at += width) {
          uint64_t v = 0;
          memcpy(&v, content.data() + at, width);
          names.push_back(v);
        }
      } else if (p->slot >= 0) {
        names.push_back(columns.raw(*p, i));
      }
      bool made = u.creates && (p == function->result.get() || (p->has_data() && p->out));
      for (uint64_t name : names) {
        if (!name) continue;
        auto key = std::make_pair(p->object_class, name);
        if (made) {
          if (kept)
            missing.erase(key);
          else
            missing.insert_or_assign(key, Missing{seq, function});
        } else if (auto it = missing.find(key); it != missing.end()) {
          if (kept && !u.deletes)
            say(seq, *function, it->second, p->object_class + " " + std::to_string(name) + " is not made");
          // Once each: what follows has the same cause.
          if (kept || u.deletes) missing.erase(it);
        }
      }
    }
    if (u.begin) {
      if (kept)
        open_begin.erase(thread);
      else
        open_begin[thread] = {seq, function};
    }
    if (u.end) {
      if (auto it = open_begin.find(thread); it != open_begin.end()) {
        if (kept) say(seq, *function, it->second, "what it ends is not begun");
        open_begin.erase(it);
      }
    }
    if (u.map || u.unmap) {
      auto key = std::make_pair(chunk.context(r), u.key && u.key->slot >= 0 ? columns.raw(*u.key, i) : 0);
      if (u.map && !kept) maps[key] = {seq, function};
      if (u.map && kept) maps.erase(key);
      if (u.unmap) {
        if (auto it = maps.find(key); it != maps.end()) {
          if (kept) say(seq, *function, it->second, "the buffer is not mapped");
          maps.erase(it);
        }
      }
    }
    if (u.make_current) {
      if (kept)
        current.erase(thread);
      else
        current[thread] = {seq, function};
    }
  });
  std::stable_sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.seq < b.seq; });
  Bytes out;
  out.put("{\"broken\": [");
  bool comma = false;
  for (auto& b : found) {
    out.put(comma ? ",\n{\"seq\": " : "{\"seq\": ");
    comma = true;
    put_u64(out, b.seq);
    out.put(", \"function\": ");
    put_json(out, b.function);
    out.put(", \"cause\": ");
    put_u64(out, b.cause);
    out.put(", \"cause_function\": ");
    put_json(out, b.cause_function);
    out.put(", \"text\": ");
    put_json(out, b.text);
    out.put('}');
  }
  out.put("], \"more\": ");
  put_u64(out, more);
  out.put('}');
  return std::string(out.view());
}

}  // namespace dt::edit
