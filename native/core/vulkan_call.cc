#include "vulkan_call.h"

#include "structures.h"

namespace dt::vulkan {

const Field* VulkanCall::param(std::string_view name) const {
  for (auto& p : function().params)
    if (p.name == name) return &p;
  return nullptr;
}

uint64_t VulkanCall::value(std::string_view name) const {
  const Field* field = param(name);
  return field ? columns_.raw(*field, row_) : 0;
}

std::string_view VulkanCall::content(const Field& field) {
  if (!field.has_data()) return {};
  auto& held = contents_[static_cast<size_t>(&field - function().params.data())];
  if (!held) held = content_of(trace_, columns_, field, row_);
  return *held;
}

bool VulkanCall::is_whole(const Field& field) {
  if (!field.has_data()) return true;
  const uint64_t descriptor = columns_.descriptor(field, row_);
  const unsigned kind = DT_DATA_KIND(descriptor);
  if (kind == DT_DATA_BLOB) return !DT_DATA_LENGTH(descriptor) || !content(field).empty();
  return kind == DT_DATA_NONE || kind == DT_DATA_INLINE;
}

std::vector<uint64_t> VulkanCall::words(std::string_view name) {
  const Field* field = param(name);
  const std::string_view bytes = field ? content(*field) : std::string_view();
  std::vector<uint64_t> out(bytes.size() / 8);
  if (!out.empty()) memcpy(out.data(), bytes.data(), out.size() * 8);
  return out;
}

std::vector<Node> VulkanCall::trees(std::string_view name) {
  const Field* field = param(name);
  return field ? Node::all(trace_.signatures, *field, content(*field)) : std::vector<Node>();
}

Node VulkanCall::tree(std::string_view name) {
  auto nodes = trees(name);
  return nodes.empty() ? Node() : nodes.front();
}

uint32_t VulkanCall::image_index() {
  uint32_t number = UINT32_MAX;
  const Field* field = param("pImageIndex");
  const std::string_view bytes = field ? content(*field) : std::string_view();
  if (bytes.size() >= sizeof number) memcpy(&number, bytes.data(), sizeof number);
  return number;
}

std::vector<Node> VulkanCall::infos() {
  for (auto& p : function().params)
    if (is_tree(p) && !p.out) return trees(p.name);
  return {};
}

Node VulkanCall::info() {
  auto all = infos();
  return all.empty() ? Node() : all.front();
}

void VulkanCall::each_handle(const Visit& visit) {
  auto& structures = Structures::of(trace_.signatures);
  for (auto& p : function().params) {
    if (p.out) continue;
    if (is_tree(p)) {
      auto* type = structures.by_name(tree_name(p));
      if (!type) continue;
      Tree tree(content(p));
      const Tree::Block block = tree.root(type->bytes);
      for (uint64_t i = 0; i < block.count; ++i) walk(tree, *type, block.at + i * type->bytes, visit, 0);
    } else if (p.object_class.starts_with("Vk")) {
      if (!p.has_data()) {
        if (const uint64_t handle = columns_.raw(p, row_)) visit(p.object_class, handle, p.name);
        continue;
      }
      for (uint64_t handle : words(p.name))
        if (handle) visit(p.object_class, handle, p.name);
    }
  }
}

void VulkanCall::walk(Tree& tree, const StructType& type, size_t at, const Visit& visit, unsigned depth) {
  if (depth > Structures::DEPTH || !tree.visit()) return;
  for (auto& m : type.members) {
    if (m.kind != StructMember::Kind::structure || !m.type || !m.type->is_union) {
      member(tree, m, at, visit, depth);
      continue;
    }
    for (auto& choice : m.type->members)
      if (is_chosen(tree, type, at, m, choice)) member(tree, choice, at + m.offset, visit, depth + 1);
  }
}

void VulkanCall::member(Tree& tree, const StructMember& m, size_t at, const Visit& visit, unsigned depth) {
  using Of = StructMember::Kind;
  const size_t slot = at + m.offset;
  const bool handle = m.meaning == StructMember::Meaning::handle;
  auto all = [&](Tree::Block block) {
    if (m.kind != Of::value && !tree.spend(block.count * 8)) return;
    for (uint64_t i = 0; i < block.count; ++i)
      if (const uint64_t value = tree.value(m, block.at, i)) visit(m.object_class, value, m.name);
  };
  auto structures = [&](Tree::Block block) {
    for (uint64_t i = 0; i < block.count; ++i) walk(tree, *m.type, block.at + i * m.type->bytes, visit, depth + 1);
  };
  if (m.kind == Of::chain) return chain(tree, slot, visit, depth);
  if (handle && m.kind == Of::value) return all({slot, std::max(m.count, 1u)});
  if (handle && m.kind == Of::array) return all(tree.follow(slot, 8));
  if (!m.type) return;
  if (m.kind == Of::structure) return structures({slot, std::max(m.count, 1u)});
  if (m.kind == Of::tree || m.kind == Of::trees) return structures(tree.follow(slot, m.type->bytes));
  if (m.kind != Of::each_tree) return;
  const Tree::Block each = tree.follow(slot, 8);
  for (uint64_t i = 0; i < each.count; ++i) structures(tree.follow(each.at + i * 8, m.type->bytes));
}

void VulkanCall::chain(Tree& tree, size_t slot, const Visit& visit, unsigned depth) {
  for (;;) {
    const Tree::Block block = tree.follow(slot, 16);
    if (!block.count || !tree.visit()) return;
    auto* type = Structures::of(trace_.signatures).by_stype(tree.load<int32_t>(block.at));
    if (type && tree.follow(slot, type->bytes).count) {
      for (auto& m : type->members)
        if (m.kind != StructMember::Kind::chain) member(tree, m, block.at, visit, depth + 1);
    }
    slot = block.at + 8;
  }
}

}  // namespace dt::vulkan
