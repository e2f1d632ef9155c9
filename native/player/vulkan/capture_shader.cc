#include "capture_shader.h"

#include <map>
#include <set>

namespace dt::play::vk {
namespace {

enum CaptureWords : uint32_t {
  SPV_OP_NAME = 5,
  SPV_OP_ENTRY_POINT = 15,
  SPV_OP_EXECUTION_MODE = 16,
  SPV_OP_CAPABILITY = 17,
  SPV_OP_TYPE_POINTER = 32,
  SPV_OP_VARIABLE = 59,
  SPV_OP_DECORATE = 71,
  SPV_OP_MEMBER_DECORATE = 72,
  SPV_CLASS_INPUT = 1,
  SPV_CLASS_OUTPUT = 3,
  SPV_BUILTIN = 11,
  SPV_LOCATION = 30,
  OFFSET = 35,
  XFB_BUFFER = 36,
  XFB_STRIDE = 37,
  TRANSFORM_FEEDBACK = 53,
  MODE_XFB = 11,
  POINT_MODE = 10,
  ISOLINES = 25,
  TRIANGLES = 22,
  QUADS = 24,
  OUTPUT_POINTS = 27,
  OUTPUT_LINES = 28,
  OUTPUT_TRIANGLES = 29,
};
constexpr size_t WORDS_BEFORE = 5;  // words before the instructions
constexpr uint32_t BYTES = 16;

std::string text_of(const uint32_t* words, size_t n) {
  std::string text;
  for (size_t i = 0; i < n; ++i)
    for (uint32_t shift = 0; shift < 32; shift += 8) {
      const char c = static_cast<char>(words[i] >> shift & 255);
      if (!c) return text;
      text += c;
    }
  return text;
}

// Calls `look` with each instruction: its number, its words, how many, where it begins.
template <class F> void each_instruction(const std::vector<uint32_t>& words, F&& look) {
  for (size_t at = WORDS_BEFORE; at < words.size();) {
    const uint32_t n = words[at] >> 16;
    if (!n || n > words.size() - at) return;
    look(words[at] & 0xffff, &words[at], n, at);
    at += n;
  }
}

// The corners of the primitives of a geometry or evaluation shader; 0: the mode says nothing of that.
uint32_t output_corners(uint32_t mode, uint32_t model) {
  if (model == 3) return mode == OUTPUT_POINTS ? 1 : mode == OUTPUT_LINES ? 2 : mode == OUTPUT_TRIANGLES ? 3 : 0;
  return mode == POINT_MODE ? 1 : mode == ISOLINES ? 2 : mode == TRIANGLES || mode == QUADS ? 3 : 0;
}

// The places of the words about positions.
struct Place {
  uint32_t point = 0, type = 0, member = 0, variable = 0;
  size_t behind_points = 0, behind_position = 0;
  bool captures = false;
};

}  // namespace

CaptureShader capture_shader(const std::vector<uint32_t>& words, const std::string& entry, uint32_t model) {
  CaptureShader out;
  Place p;
  std::set<uint32_t> outputs, points;  // types of output variables; interface of the entry point
  std::map<uint32_t, uint32_t> pointed;
  std::map<uint32_t, std::pair<uint32_t, size_t>> blocks;  // by type: the member, and the place behind its decoration
  std::map<uint32_t, size_t> single;                       // variables
  each_instruction(words, [&](uint32_t op, const uint32_t* w, uint32_t n, size_t at) {
    if (op == SPV_OP_CAPABILITY && n > 1) p.captures |= w[1] == TRANSFORM_FEEDBACK;
    if (op == SPV_OP_ENTRY_POINT && n > 3) {
      p.behind_points = at + n;
      if (w[1] == model && text_of(w + 3, n - 3) == entry) {
        p.point = w[2];
        points.insert(w + 3, w + n);
      }
    }
    if (op == SPV_OP_EXECUTION_MODE && n > 2 && w[1] == p.point)
      if (const uint32_t corners = output_corners(w[2], model); corners && out.corners != 1) out.corners = corners;
    if (op == SPV_OP_MEMBER_DECORATE && n > 4 && w[3] == SPV_BUILTIN && !w[4]) blocks[w[1]] = {w[2], at + n};
    if (op == SPV_OP_DECORATE && n > 3 && w[2] == SPV_BUILTIN && !w[3]) single[w[1]] = at + n;
    if (op == SPV_OP_TYPE_POINTER && n > 3 && w[2] == SPV_CLASS_OUTPUT) pointed[w[1]] = w[3];
    if (op != SPV_OP_VARIABLE || n < 4 || w[3] != SPV_CLASS_OUTPUT || !points.contains(w[2])) return;
    if (auto it = single.find(w[2]); it != single.end()) p.variable = w[2], p.behind_position = it->second;
    if (auto it = blocks.find(pointed[w[1]]); it != blocks.end())
      p.type = it->first, p.member = it->second.first, p.behind_position = it->second.second;
  });
  if (p.captures) out.why = "its shader captures vertices itself";
  if (!p.point) out.why = "the entry point of its shader is not there";
  if (p.point && !p.variable && !p.type) out.why = "its last stage before the rasteriser gives no position";
  if (!out.why.empty()) return out;
  out.words.assign(words.begin(), words.begin() + WORDS_BEFORE);
  auto add = [&](std::initializer_list<uint32_t> more) { out.words.insert(out.words.end(), more); };
  auto copy = [&](size_t from, size_t to) {
    out.words.insert(out.words.end(), words.begin() + static_cast<long>(from), words.begin() + static_cast<long>(to));
  };
  add({2 << 16 | SPV_OP_CAPABILITY, TRANSFORM_FEEDBACK});
  copy(WORDS_BEFORE, p.behind_points);
  add({3 << 16 | SPV_OP_EXECUTION_MODE, p.point, MODE_XFB});
  copy(p.behind_points, p.behind_position);
  for (auto [what, value] : {std::pair<uint32_t, uint32_t>{OFFSET, 0}, {XFB_BUFFER, 0}, {XFB_STRIDE, BYTES}}) {
    if (p.variable)
      add({4 << 16 | SPV_OP_DECORATE, p.variable, what, value});
    else
      add({5 << 16 | SPV_OP_MEMBER_DECORATE, p.type, p.member, what, value});
  }
  copy(p.behind_position, words.size());
  return out;
}

std::vector<std::pair<uint32_t, std::string>> input_names(const std::vector<uint32_t>& words) {
  std::map<uint32_t, std::string> names;
  std::map<uint32_t, uint32_t> locations;
  std::vector<std::pair<uint32_t, std::string>> out;
  each_instruction(words, [&](uint32_t op, const uint32_t* w, uint32_t n, size_t) {
    if (op == SPV_OP_NAME && n > 2) names[w[1]] = text_of(w + 2, n - 2);
    if (op == SPV_OP_DECORATE && n > 3 && w[2] == SPV_LOCATION) locations[w[1]] = w[3];
    if (op == SPV_OP_VARIABLE && n > 3 && w[3] == SPV_CLASS_INPUT && locations.contains(w[2]) && !names[w[2]].empty())
      out.emplace_back(locations[w[2]], names[w[2]]);
  });
  return out;
}

}  // namespace dt::play::vk
