// Questions to the index: paths, values at a call, changes.
#include <fnmatch.h>

#include <algorithm>

#include "../common/json.h"
#include "index.h"

namespace dt::state {

std::string_view Index::text_at(uint64_t number) const {
  if (number >= texts.size()) return {};
  uint64_t where = texts[number] >> 24, length = texts[number] & 0xffffff;
  return where + length <= text.size() ? std::string_view(text.data() + where, length) : std::string_view();
}

std::string Index::full_path(const Block& b, const FieldInfo& f, unsigned element) const {
  std::string out(path_of(b));
  if ((b.cls == class_uniform && !strcmp(f.name, "value")) || b.cls == class_attribute_location ||
      b.cls == class_clip_plane)
    return out;
  if (!out.empty()) out += '.';
  out += f.name;
  if (f.always_indexed || (element && f.elements > 1)) out += "[" + std::to_string(element) + "]";
  return out;
}

const Word* Index::words(const Block&, const FieldInfo& f, uint32_t change) const {
  const Change& c = ordered[change];
  if (f.components == 1) return &c.value;
  return c.value + f.components <= pool.size() ? &pool[c.value] : nullptr;
}

const Word* Index::value(const Block& b, const FieldInfo& f, unsigned element, uint64_t seq, uint32_t* since) const {
  if (b.created > seq || b.gone <= seq) return nullptr;
  Location l = b.base + f.location + element;
  if (l + 1 >= starts.size()) return nullptr;
  auto *first = ordered.data() + starts[l], *end = ordered.data() + starts[l + 1];
  auto* it = std::upper_bound(first, end, seq, [](uint64_t s, const Change& c) { return s < c.seq; });
  if (it == first) {
    if (element && !f.always_indexed) return value(b, f, 0, seq, since);
    if (since) *since = b.created;
    return g_classes[b.cls].initial + f.word + element * f.components;
  }
  if (since) *since = (it - 1)->seq;
  return words(b, f, static_cast<uint32_t>(it - 1 - ordered.data()));
}

std::string Index::json(const Block& b, const FieldInfo& f, const Word* words) const {
  return json_value(f, words, [&](Word w) {
    std::string_view t = text_at(w);
    if (b.cls == class_vg_context || b.cls == class_vg_paint) return "[" + std::string(t) + "]";
    if (b.cls != class_program || strcmp(f.name, "shaders") != 0) return json_text(t);
    std::string list(t);
    for (size_t at = 0; (at = list.find(' ', at)) != list.npos; at += 2) list.replace(at, 1, ", ");
    return "[" + list + "]";
  });
}

namespace {

bool below(std::string_view path, std::string_view pattern) {
  return path.size() >= pattern.size() && path.compare(0, pattern.size(), pattern) == 0 &&
         (path.size() == pattern.size() || path[pattern.size()] == '.' || path[pattern.size()] == '[' ||
          pattern.empty());
}
// As far as both go; "?" is any character.
bool alike(std::string_view path, std::string_view pattern) {
  for (size_t i = 0; i < path.size() && i < pattern.size(); ++i)
    if (path[i] != pattern[i] && pattern[i] != '?') return false;
  return true;
}

}  // namespace

std::string Index::value_json(const Block& b, const FieldInfo& f, const Word* words, uint64_t seq) const {
  if (b.cls != class_uniform || strcmp(f.name, "value")) return json(b, f, words);
  const Word* n = value(b, fields(b)[f_uniform::components], 0, seq);
  FieldInfo shorter = f;
  shorter.components = static_cast<uint16_t>(std::clamp<uint64_t>(n ? *n : 1, 1, 16));
  return json(b, shorter, words);
}

bool Index::given(const Block& b, const FieldInfo& f, uint64_t seq) const {
  if (b.cls != class_uniform || strcmp(f.name, "value")) return true;
  const Word* n = value(b, fields(b)[f_uniform::components], 0, seq);
  return n && *n;
}

// A default texture that nobody did anything to.
bool Index::is_dull(const Block& b) const {
  if (path_of(b).find("default_textures") == std::string_view::npos) return false;
  Location end = std::min<Location>(b.base + g_classes[b.cls].locations, static_cast<Location>(starts.size() - 1));
  for (uint32_t i = starts[b.base]; i < starts[end]; ++i)
    if (ordered[i].seq > b.created) return false;
  return true;
}

// The first element stands for one that never was anything else.
bool Index::is_mirror(const Block& b, const FieldInfo& f, unsigned element) const {
  Location l = b.base + f.location + element;
  return element && !f.always_indexed && (l + 1 >= starts.size() || starts[l] == starts[l + 1]);
}

std::vector<uint32_t> Index::near(std::string_view beginning) const {
  std::vector<uint32_t> out;
  auto range = [&](std::string_view path, bool whole) {
    auto it = std::lower_bound(by_path.begin(), by_path.end(), path,
                               [&](uint32_t i, std::string_view p) { return path_of(blocks[i]) < p; });
    for (; it != by_path.end(); ++it) {
      std::string_view here = path_of(blocks[*it]);
      if (whole ? here != path : !here.starts_with(path)) break;
      out.push_back(*it);
    }
  };
  // Nodes on the way have variables whose paths begin so, nodes behind it wholly do.
  if (!beginning.empty()) range({}, true);
  for (size_t dot = beginning.find('.'); dot != beginning.npos; dot = beginning.find('.', dot + 1))
    range(beginning.substr(0, dot), true);
  range(beginning, false);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void Index::each(std::string_view pattern,
                 const std::function<void(const Block&, const FieldInfo&, unsigned)>& visit) const {
  size_t star = pattern.find('*'), wild = pattern.find_first_of("*?");
  bool begins = star != pattern.npos && star + 1 == pattern.size(), glob = wild != pattern.npos && !begins;
  // Brackets are part of paths: a glob takes them as they are.
  std::string quoted;
  for (char c : pattern) {
    if (c == '[' || c == ']' || c == '\\') quoted += '\\';
    quoted += c;
  }
  std::string_view fixed = pattern.substr(0, star);
  auto begun = [&](std::string_view path) { return path.size() >= fixed.size() && alike(path, fixed); };
  bool indexed = pattern.ends_with(']');
  for (uint32_t number : near(pattern.substr(0, wild))) {
    const Block& b = blocks[number];
    std::string_view path = path_of(b);
    if (wild < fixed.size() && !alike(path, fixed)) continue;
    if (b.cls == class_texture && is_dull(b)) continue;
    bool all = pattern.empty() || (begins && begun(path)) || (!glob && !begins && below(path, pattern));
    const ClassInfo& cls = g_classes[b.cls];
    for (unsigned i = 0; i < cls.field_count; ++i) {
      const FieldInfo& f = cls.fields[i];
      if (!shown(cls, f)) continue;
      if (b.cls == class_surface || b.cls == class_creation)
        if ((!egl_ && !strncmp(f.name, "EGL_", 4)) || (!glx_ && !strncmp(f.name, "GLX_", 4))) continue;
      for (unsigned e = 0; e < f.elements; ++e) {
        if (e && is_mirror(b, f, e) && (pattern.empty() || !indexed || full_path(b, f, e) != pattern)) continue;
        if (!all) {
          std::string full = full_path(b, f, e);
          if (begins ? !begun(full)
              : glob ? fnmatch(quoted.c_str(), full.c_str(), 0) && fnmatch((quoted + ".*").c_str(), full.c_str(), 0)
                     : !below(full, pattern))
            continue;
        }
        visit(b, f, e);
      }
    }
  }
}

void Index::at(uint64_t seq, std::string_view path, Bytes& out) const {
  JsonWriter list(out);
  list.list();
  each(path, [&](const Block& b, const FieldInfo& f, unsigned e) {
    const Word* w = value(b, f, e, seq);
    if (!w || !given(b, f, seq)) return;
    if (e && !f.always_indexed) {  // those like the first one go without saying
      const Word* first = value(b, f, 0, seq);
      if (first && !memcmp(first, w, f.components * sizeof(Word)) && full_path(b, f, e) != path) return;
    }
    list.list().value(full_path(b, f, e)).value(value_json(b, f, w, seq)).end();
  });
  list.end();
}

void Index::changes(uint64_t first, uint64_t end, std::string_view path, Bytes& out) const {
  struct Line {
    uint32_t seq;
    std::string path, now, was;
  };
  std::vector<Line> lines;
  each(path, [&](const Block& b, const FieldInfo& f, unsigned e) {
    Location l = b.base + f.location + e;
    if (l + 1 >= starts.size()) return;
    auto *from = ordered.data() + starts[l], *to = ordered.data() + starts[l + 1];
    for (auto *it = std::lower_bound(from, to, first, [](const Change& c, uint64_t s) { return c.seq < s; });
         it != to && it->seq < end; ++it) {
      if (it + 1 != to && (it + 1)->seq == it->seq) continue;  // what the call left in the end
      const Word* now = words(b, f, static_cast<uint32_t>(it - ordered.data()));
      const Word* was = it->seq ? value(b, f, e, it->seq - 1ull) : nullptr;
      Line line{it->seq,
                {},
                now ? value_json(b, f, now, it->seq) : "null",
                was ? value_json(b, f, was, it->seq - 1ull) : "null"};
      if (line.now == line.was) continue;
      line.path = full_path(b, f, e);
      lines.push_back(std::move(line));
    }
  });
  std::stable_sort(lines.begin(), lines.end(), [](auto& a, auto& b) { return a.seq < b.seq; });
  JsonWriter list(out);
  list.list();
  for (auto& line : lines) list.list().value(line.seq).value(line.path).value(line.now).value(line.was).end();
  list.end();
}

}  // namespace dt::state
