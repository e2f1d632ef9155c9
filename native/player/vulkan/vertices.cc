#include "vertices.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "../metrics/measure.h"
#include "texels.h"
#include "vertex_plan.h"

namespace dt::play::vk {

using metrics::Mesh;

std::unique_ptr<Plan> Vertices::plan(const Submitted& of) { return std::make_unique<VertexPlan>(of, *this); }

VkRenderPass Vertices::pass(Device& device) {
  VkSubpassDescription part{};
  VkRenderPassCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO;
  info.subpassCount = 1, info.pSubpasses = &part;
  make(device, info, pass_);
  return pass_;
}

// ---- what goes in -----------------------------------------------------------------------------------------------

// The vertices in the order of the draw; false: they are not known.
bool Vertices::take_indices(const uint8_t* room) {
  if (indirect_.bytes) {
    uint32_t words[5] = {};
    memcpy(words, room + indirect_.at, std::min<uint64_t>(indirect_.bytes, sizeof words));
    numbers_ = {words[0], words[1], words[2], indexed_ ? words[4] : words[3], 0};
    if (indexed_) numbers_.added = static_cast<int32_t>(words[3]);
  }
  mesh_.instances = numbers_.instances, mesh_.base_instance = numbers_.base_instance;
  if (numbers_.count > Mesh::MOST) return mesh_.more = true, why_in_ = "it has more vertices than are shown", false;
  const uint64_t from = uint64_t{numbers_.first} * index_bytes_;
  if (indexed_ && (from > indices_.bytes || uint64_t{numbers_.count} * index_bytes_ > indices_.bytes - from))
    return why_in_ = "its indices lie beyond the bytes that are read", false;
  const uint32_t end = index_bytes_ == 1 ? 0xff : index_bytes_ == 2 ? 0xffff : ~0u;
  for (uint32_t i = 0; i < numbers_.count; ++i) {
    uint32_t index = numbers_.first + i;
    if (indexed_) {
      index = 0;
      memcpy(&index, room + indices_.at + from + uint64_t{i} * index_bytes_, index_bytes_);
      index = restarts_ && index == end ? ~0u : index + static_cast<uint32_t>(numbers_.added);
    }
    mesh_.indices.push_back(index);
  }
  mesh_.vertices = mesh_.indices;
  std::sort(mesh_.vertices.begin(), mesh_.vertices.end());
  mesh_.vertices.erase(std::unique(mesh_.vertices.begin(), mesh_.vertices.end()), mesh_.vertices.end());
  if (!mesh_.vertices.empty() && mesh_.vertices.back() == ~0u) mesh_.vertices.pop_back();
  return true;
}

void Vertices::take_attribute(const Attribute& of, const uint8_t* room) {
  metrics::VertexInput to;
  to.name = of.name;
  const uint32_t bytes = color_bytes(of.format), size = color_channels(of.format);
  to.size = static_cast<int>(std::max(size, 1u));
  std::string why = of.why;
  if (why.empty() && !bytes) why = "its format is not read";
  std::vector<uint32_t> instances;
  if (of.by_instance) {
    const uint64_t rows = of.divisor ? (uint64_t{numbers_.instances} + of.divisor - 1) / of.divisor : 1;
    for (uint64_t i = 0; i < std::min<uint64_t>(rows, Mesh::MOST); ++i)
      instances.push_back(numbers_.base_instance + static_cast<uint32_t>(i));
    to.divisor = of.divisor, to.constant = !of.divisor;
  }
  for (uint32_t v : of.by_instance ? instances : mesh_.vertices) {
    if (!why.empty()) break;
    const uint64_t at = v * of.stride + of.offset;
    if (at > of.of.bytes || bytes > of.of.bytes - at) {
      why = "its vertices lie beyond the bytes that are read";
      break;
    }
    double numbers[4] = {};
    read_numbers(of.format, room + of.of.at + at, numbers);
    to.values.insert(to.values.end(), numbers, numbers + size);
  }
  if (!why.empty()) to.why = metrics::lasting(why), to.values.clear();
  mesh_.inputs.push_back(std::move(to));
}

void Vertices::take_inputs(const uint8_t* room) {
  if (!why_in_.empty() || !take_indices(room)) return;
  for (auto& each : attributes_) take_attribute(each, room);
}

// ---- what comes out ---------------------------------------------------------------------------------------------

namespace {

// The corners of a list, strip or fan, as Vulkan numbers them; `as_gl`: as OpenGL does.
template <class F> void each_corner(uint32_t topology, bool as_gl, size_t n, F&& each) {
  switch (topology) {
    case VK_PRIMITIVE_TOPOLOGY_POINT_LIST:
      for (size_t i = 0; i < n; ++i) each(i);
      return;
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST:
      for (size_t i = 0; i + 1 < n; i += 2) each(i), each(i + 1);
      return;
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP:
      for (size_t i = 0; i + 1 < n; ++i) each(i), each(i + 1);
      return;
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST:
      for (size_t i = 0; i + 2 < n; i += 3) each(i), each(i + 1), each(i + 2);
      return;
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP:
      for (size_t i = 0; i + 2 < n; ++i) {
        const size_t odd = i & 1;
        as_gl ? (each(i + odd), each(i + 1 - odd), each(i + 2)) : (each(i), each(i + 1 + odd), each(i + 2 - odd));
      }
      return;
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN:
      for (size_t i = 1; i + 1 < n; ++i)
        as_gl ? (each(size_t{0}), each(i), each(i + 1)) : (each(i), each(i + 1), each(size_t{0}));
      return;
    default: return;
  }
}

}  // namespace

// Says which vertex each corner is of. Drivers begin triangles of strips and fans with another corner: a vertex has one
// position.
void Vertices::place() {
  const size_t all = mesh_.fates.size() * mesh_.corners;
  if (own_primitives_ || !why_in_.empty() || mesh_.more) return;
  for (bool as_gl : {false, true}) {
    std::vector<uint32_t> places;
    size_t begin = 0;
    for (size_t i = 0; i <= mesh_.indices.size(); ++i) {
      if (i < mesh_.indices.size() && mesh_.indices[i] != ~0u) continue;
      each_corner(topology_, as_gl, i - begin, [&](size_t k) { places.push_back(static_cast<uint32_t>(begin + k)); });
      begin = i + 1;
    }
    if (places.empty() || places.size() * mesh_.instances != all) return;
    std::vector<size_t> known(mesh_.indices.size(), SIZE_MAX);
    bool same = true;
    for (size_t i = 0; i < places.size() && same; ++i) {
      size_t& seen = known[places[i]];
      if (seen == SIZE_MAX) seen = i;
      same = !memcmp(&mesh_.positions[seen * 4], &mesh_.positions[i * 4], 16);
    }
    if (same) return mesh_.places = std::move(places), void();
  }
}

void Vertices::take_positions(Device& device) {
  uint64_t counts[3] = {};  // written, needed, whether they are there
  const VkResult result =
      DT_VK(device, vkGetQueryPoolResults)(device.device, queries_, 0, 1, sizeof counts, counts, sizeof counts,
                                           VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
  if (result != VK_SUCCESS || !counts[2]) return why_ = "the driver has no results of its queries", void();
  mesh_.more = counts[1] > counts[0];
  const uint64_t each = mesh_.corners * 16, written = std::min(counts[0], room_ / each);
  metrics::wanted_mesh() = &mesh_;
  metrics::Classes sums;
  for (uint64_t i = 0; i < written; ++i) {
    std::array<metrics::Position, 3> at{};
    for (uint64_t k = 0; k < mesh_.corners; ++k) {
      float p[4];
      memcpy(p, static_cast<const uint8_t*>(captured_) + i * each + k * 16, 16);
      for (size_t c = 0; c < 4; ++c) at[k][c] = static_cast<double>(p[c]);
    }
    metrics::classify_primitive(mesh_.corners, at.data(), raster_, sums, {});
  }
  metrics::wanted_mesh() = nullptr;
  place();
}

void Vertices::take(Device& device, const std::vector<Tested>&, const std::vector<Taken>& reads) {
  for (auto& read : reads)
    if (read.event != Taken::NO_EVENT) {
      take_inputs(static_cast<const uint8_t*>(read.room.at));
      if (queries_ && why_.empty()) take_positions(device);
    }
}

void Vertices::write(FILE* to) const {
  Mesh mesh = mesh_;
  if (!why_.empty()) mesh.why = why_.c_str();
  if (!why_in_.empty()) mesh.why_in = why_in_.c_str();
  metrics::write_mesh(to, mesh);
}

}  // namespace dt::play::vk
