#include "vertices.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "../line.h"
#include "../metrics/measure.h"
#include "texels.h"
#include "vertex_plan.h"

namespace dt::play::vk {

using metrics::Mesh;

bool Vertices::ask(const Json& request) {
  if (!Question::ask(request)) return false;
  many_ = request["draws"].items().size() > 0;
  if (!many_) draws_.emplace_back().draw = draw;
  for (const Json& each : request["draws"].items()) {
    Drawn& of = draws_.emplace_back();
    if (!each["draw"].read(of.draw) || !each["again"].read(of.again)) return false;
  }
  left_ = draws_.size();
  return true;
}

std::unique_ptr<Plan> Vertices::plan(const Submitted& of) { return std::make_unique<VertexPlan>(of, *this); }

VkRenderPass Vertices::pass(Device& device) {
  VkSubpassDescription part{};
  VkRenderPassCreateInfo info{};
  info.subpassCount = 1, info.pSubpasses = &part;
  make(device, info, pass_);
  return pass_;
}

// ---- what goes in -----------------------------------------------------------------------------------------------

// The vertices in the order of the draw; false: they are not known.
bool Vertices::Drawn::take_indices(const uint8_t* from) {
  if (indirect.bytes) {
    uint32_t words[5] = {};
    memcpy(words, from + indirect.at, std::min<uint64_t>(indirect.bytes, sizeof words));
    numbers = {words[0], words[1], words[2], indexed ? words[4] : words[3], 0};
    if (indexed) numbers.added = static_cast<int32_t>(words[3]);
  }
  mesh.instances = numbers.instances, mesh.base_instance = numbers.base_instance;
  if (numbers.count > Mesh::MOST) return mesh.more = true, why_in = "it has more vertices than are shown", false;
  const uint64_t begin = (numbers.first - std::min<uint64_t>(numbers.first, indices_begin)) * index_bytes;
  if (indexed && (begin > indices.bytes || uint64_t{numbers.count} * index_bytes > indices.bytes - begin))
    return why_in = "its indices lie beyond the bytes that are read", false;
  const uint32_t end = index_bytes == 1 ? 0xff : index_bytes == 2 ? 0xffff : ~0u;
  for (uint32_t i = 0; i < numbers.count; ++i) {
    uint32_t index = numbers.first + i;
    if (indexed) {
      index = 0;
      memcpy(&index, from + indices.at + begin + uint64_t{i} * index_bytes, index_bytes);
      index = restarts && index == end ? ~0u : index + static_cast<uint32_t>(numbers.added);
    }
    mesh.indices.push_back(index);
  }
  mesh.vertices = mesh.indices;
  std::sort(mesh.vertices.begin(), mesh.vertices.end());
  mesh.vertices.erase(std::unique(mesh.vertices.begin(), mesh.vertices.end()), mesh.vertices.end());
  if (!mesh.vertices.empty() && mesh.vertices.back() == ~0u) mesh.vertices.pop_back();
  return true;
}

void Vertices::Drawn::take_attribute(const Attribute& of, const uint8_t* from) {
  metrics::VertexInput to;
  to.name = of.name;
  const uint32_t bytes = color_bytes(of.format), size = color_channels(of.format);
  to.size = static_cast<int>(std::max(size, 1u));
  std::string why = of.why;
  if (why.empty() && !bytes) why = "its format is not read";
  std::vector<uint32_t> instances;
  if (of.by_instance) {
    const uint64_t rows = of.divisor ? (uint64_t{numbers.instances} + of.divisor - 1) / of.divisor : 1;
    for (uint64_t i = 0; i < std::min<uint64_t>(rows, Mesh::MOST); ++i)
      instances.push_back(numbers.base_instance + static_cast<uint32_t>(i));
    to.divisor = of.divisor, to.constant = !of.divisor;
  }
  for (uint32_t v : of.by_instance ? instances : mesh.vertices) {
    if (!why.empty()) break;
    const uint64_t at = v * of.stride + of.offset;
    if (at > of.of.bytes || bytes > of.of.bytes - at) {
      why = "its vertices lie beyond the bytes that are read";
      break;
    }
    double numbers[4] = {};
    read_numbers(of.format, from + of.of.at + at, numbers);
    to.values.insert(to.values.end(), numbers, numbers + size);
  }
  if (!why.empty()) to.why = metrics::lasting(why), to.values.clear();
  mesh.inputs.push_back(std::move(to));
}

void Vertices::Drawn::take(Device& device, const uint8_t* from) {
  if (why_in.empty() && take_indices(from))
    for (auto& each : attributes) take_attribute(each, from);
  if (queries && why.empty()) take_positions(device);
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
void Vertices::Drawn::place() {
  const size_t all = mesh.fates.size() * mesh.corners;
  if (own_primitives || !why_in.empty() || mesh.more) return;
  for (bool as_gl : {false, true}) {
    std::vector<uint32_t> places;
    size_t begin = 0;
    for (size_t i = 0; i <= mesh.indices.size(); ++i) {
      if (i < mesh.indices.size() && mesh.indices[i] != ~0u) continue;
      each_corner(topology, as_gl, i - begin, [&](size_t k) { places.push_back(static_cast<uint32_t>(begin + k)); });
      begin = i + 1;
    }
    if (places.empty() || places.size() * mesh.instances != all) return;
    std::vector<size_t> known(mesh.indices.size(), SIZE_MAX);
    bool same = true;
    for (size_t i = 0; i < places.size() && same; ++i) {
      size_t& seen = known[places[i]];
      if (seen == SIZE_MAX) seen = i;
      same = !memcmp(&mesh.positions[seen * 4], &mesh.positions[i * 4], 16);
    }
    if (same) return mesh.places = std::move(places), void();
  }
}

void Vertices::Drawn::take_positions(Device& device) {
  uint64_t counts[3] = {};  // written, needed, whether they are there
  const VkResult result =
      DT_VK(device, vkGetQueryPoolResults)(device.device, queries, query, 1, sizeof counts, counts, sizeof counts,
                                           VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
  if (result != VK_SUCCESS || !counts[2]) return why = "the driver has no results of its queries", void();
  mesh.more = counts[1] > counts[0];
  const uint64_t each = mesh.corners * 16, written = std::min(counts[0], room / each);
  metrics::wanted_mesh() = &mesh;
  metrics::Classes sums;
  for (uint64_t i = 0; i < written; ++i) {
    std::array<metrics::Position, 3> at{};
    for (uint64_t k = 0; k < mesh.corners; ++k) {
      float p[4];
      memcpy(p, static_cast<const uint8_t*>(captured) + i * each + k * 16, 16);
      for (size_t c = 0; c < 4; ++c) at[k][c] = static_cast<double>(p[c]);
    }
    metrics::classify_primitive(mesh.corners, at.data(), raster, sums, {});
  }
  metrics::wanted_mesh() = nullptr;
  place();
}

void Vertices::take(Device& device, const std::vector<Tested>&, const std::vector<Taken>& reads) {
  for (auto& read : reads)
    if (read.event < draws_.size()) draws_[read.event].take(device, static_cast<const uint8_t*>(read.room.at));
}

void Vertices::write(FILE* to) const {
  if (many_) put_line(to, JsonObject().put("meshes", draws_.size()));
  for (auto& each : draws_) {
    Mesh mesh = each.mesh;
    if (!each.why.empty()) mesh.why = each.why.c_str();
    if (!each.why_in.empty()) mesh.why_in = each.why_in.c_str();
    metrics::write_mesh(to, mesh);
  }
}

}  // namespace dt::play::vk
