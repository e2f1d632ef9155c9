#include "capture_shader.h"

#include <map>
#include <set>

#include "spirv.h"

namespace dt::play::vk {
namespace {

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

// The corners of the primitives of a geometry or evaluation shader; 0: the mode says nothing of that.
uint32_t output_corners(uint32_t mode, uint32_t model) {
  using namespace spirv;
  if (model == GEOMETRY) return mode == OUTPUT_POINTS ? 1 : mode == OUTPUT_LINES ? 2 : mode == OUTPUT_TRIANGLES ? 3 : 0;
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
  using namespace spirv;
  CaptureShader out;
  Place p;
  std::set<uint32_t> points;  // interface of the entry point
  std::map<uint32_t, uint32_t> pointed;
  std::map<uint32_t, std::pair<uint32_t, size_t>> blocks;  // by type: the member, and the place behind its decoration
  std::map<uint32_t, size_t> single;                       // variables
  each_instruction(words.data(), words.size(), [&](const Instruction& i) {
    p.captures |= i.op == OP_CAPABILITY && i[1] == TRANSFORM_FEEDBACK;
    if (i.op == OP_ENTRY_POINT && i.count > 3) {
      p.behind_points = i.end();
      if (i[1] == model && text_of(i.words + 3, i.count - 3) == entry) {
        p.point = i[2];
        points.insert(i.words + 3, i.words + i.count);
      }
    }
    if (i.op == OP_EXECUTION_MODE && i.count > 2 && i[1] == p.point)
      if (const uint32_t corners = output_corners(i[2], model); corners && out.corners != 1) out.corners = corners;
    if (i.op == OP_MEMBER_DECORATE && i.count > 4 && i[3] == BUILTIN && i[4] == POSITION)
      blocks[i[1]] = {i[2], i.end()};
    if (i.op == OP_DECORATE && i.count > 3 && i[2] == BUILTIN && i[3] == POSITION) single[i[1]] = i.end();
    if (i.op == OP_TYPE_POINTER && i.count > 3 && i[2] == OUTPUT) pointed[i[1]] = i[3];
    if (i.op != OP_VARIABLE || i[3] != OUTPUT || !points.contains(i[2])) return;
    if (auto it = single.find(i[2]); it != single.end()) p.variable = i[2], p.behind_position = it->second;
    if (auto it = blocks.find(pointed[i[1]]); it != blocks.end())
      p.type = it->first, p.member = it->second.first, p.behind_position = it->second.second;
  });
  if (p.captures) out.why = "its shader captures vertices itself";
  if (!p.point) out.why = "the entry point of its shader is not there";
  if (p.point && !p.variable && !p.type) out.why = "its last stage before the rasteriser gives no position";
  if (!out.why.empty()) return out;
  out.words.assign(words.begin(), words.begin() + static_cast<long>(HEAD));
  auto add = [&](std::initializer_list<uint32_t> more) { out.words.insert(out.words.end(), more); };
  auto copy = [&](size_t from, size_t to) {
    out.words.insert(out.words.end(), words.begin() + static_cast<long>(from), words.begin() + static_cast<long>(to));
  };
  add({2 << 16 | OP_CAPABILITY, TRANSFORM_FEEDBACK});
  copy(HEAD, p.behind_points);
  add({3 << 16 | OP_EXECUTION_MODE, p.point, XFB});
  copy(p.behind_points, p.behind_position);
  for (auto [what, value] : {std::pair<uint32_t, uint32_t>{OFFSET, 0}, {XFB_BUFFER, 0}, {XFB_STRIDE, BYTES}}) {
    if (p.variable)
      add({4 << 16 | OP_DECORATE, p.variable, what, value});
    else
      add({5 << 16 | OP_MEMBER_DECORATE, p.type, p.member, what, value});
  }
  copy(p.behind_position, words.size());
  return out;
}

std::vector<std::pair<uint32_t, std::string>> input_names(const std::vector<uint32_t>& words) {
  using namespace spirv;
  std::map<uint32_t, std::string> names;
  std::map<uint32_t, uint32_t> locations;
  std::vector<std::pair<uint32_t, std::string>> out;
  each_instruction(words.data(), words.size(), [&](const Instruction& i) {
    if (i.op == OP_NAME && i.count > 2) names[i[1]] = text_of(i.words + 2, i.count - 2);
    if (i.op == OP_DECORATE && i.count > 3 && i[2] == LOCATION) locations[i[1]] = i[3];
    if (i.op == OP_VARIABLE && i[3] == INPUT && locations.contains(i[2]) && !names[i[2]].empty())
      out.emplace_back(locations[i[2]], names[i[2]]);
  });
  return out;
}

}  // namespace dt::play::vk
