#include "vulkan.h"

#include <algorithm>

#include "structures.h"
#include "text.h"

namespace dt::vulkan {
namespace {

bool starts(std::string_view text, std::string_view with) { return text.starts_with(with); }

bool is_vulkan_handle(const Field& f) { return starts(f.object_class, "Vk"); }

bool makes(const Function& f) {
  for (auto& p : f.params)
    if (p.has_data() && p.out && is_vulkan_handle(p)) return true;
  return false;
}

const Field* param(const Function& f, std::initializer_list<std::string_view> names) {
  for (auto& p : f.params)
    for (auto name : names)
      if (p.name == name) return &p;
  return nullptr;
}

Does what_it_does(const Function& f) {
  if (f.api != "vk") return Does::nothing;
  if (f.flags & FLAG_RECORDS) return Does::command;
  if (f.flags & FLAG_SUBMITS) return Does::submits;
  if (f.flags & FLAG_MAP) return Does::maps;
  const auto is_about = [&](std::string_view type) { return !f.params.empty() && f.params[0].object_class == type; };
  if (f.flags & FLAG_COMMANDS_BEGIN) return Does::begins;
  if (f.flags & FLAG_RESET) return is_about("VkCommandBuffer") ? Does::resets : Does::resets_pool;
  if (f.flags & FLAG_LABEL && param(f, {"pNameInfo"})) return Does::names;
  if (f.flags & FLAG_MEMORY_BIND) return Does::binds_memory;
  if (f.flags & FLAG_MEMORY_QUERY) return is_about("VkPhysicalDevice") ? Does::asks_memory : Does::asks_requirements;
  if (f.flags & FLAG_DELETE) return Does::ends;
  return makes(f) ? Does::makes : Does::nothing;
}

bool is_about_command_buffers(const Function& f) {
  return std::any_of(f.params.begin(), f.params.end(), [](const Field& p) {
    return p.object_class == "VkCommandBuffer" || p.object_class == "VkCommandPool";
  });
}

// The part of a call's arguments that is kept.
struct Kept {
  const Function* function = nullptr;
  Does does = Does::nothing;
  bool details = false, counted = false;
  const Field *handle = nullptr, *a = nullptr, *b = nullptr, *c = nullptr;
  const Field* many = nullptr;  // of several draws at once: their vertices or indices
};

Kept kept_of(const Function& f, bool objects, bool barriers) {
  Kept k{&f, what_it_does(f)};
  if (k.does == Does::nothing || f.params.empty()) return {};
  k.handle = &f.params[0];
  if (k.does == Does::command) {
    if (f.flags & FLAG_DRAW)
      k.a = param(f, {"vertexCount", "indexCount"}), k.b = param(f, {"instanceCount"});
    else if (f.flags & FLAG_DISPATCH)
      k.a = param(f, {"groupCountX", "width"}), k.b = param(f, {"groupCountY", "height"}),
      k.c = param(f, {"groupCountZ", "depth"});
    else if (f.flags & FLAG_BIND && param(f, {"pipeline"}))
      k.a = param(f, {"pipelineBindPoint"}), k.b = param(f, {"pipeline"});
    else
      k.a = param(f, {"primitiveTopology"});
    k.counted = k.a != nullptr;
    if (f.flags & FLAG_DRAW) k.many = param(f, {"pVertexInfo", "pIndexInfo"});
    k.details = f.flags & FLAG_COMMANDS_CALL || (barriers && f.flags & FLAG_BARRIER);
    return k;
  }
  const bool about_objects = k.does == Does::names || k.does == Does::binds_memory || k.does == Does::maps ||
                             k.does == Does::asks_requirements || k.does == Does::asks_memory;
  if (about_objects && !objects) return {};
  // Pools and command buffers are followed always; of other objects nobody may want to know.
  if (!objects && (k.does == Does::makes || k.does == Does::ends) && !is_about_command_buffers(f)) return {};
  k.details = true;
  return k;
}

}  // namespace

std::string content_of(const Trace& trace, const FunctionColumns& columns, const Field& field, uint32_t i) {
  const uint64_t d = columns.descriptor(field, i);
  if (DT_DATA_KIND(d) == DT_DATA_INLINE) return std::string(columns.payload(field, i));
  if (DT_DATA_KIND(d) == DT_DATA_BLOB) try {
      auto blob = trace.blob(columns.hash(field, i));
      return {blob.begin(), blob.end()};
    } catch (const Error&) {  // the content is lost; the call is not
    }
  return {};
}

bool Work::is_in(const Trace& trace) {
  for (auto& f : trace.signatures.functions)
    if (f.id < DT_FN_FIRST_TAP && f.api == "vk" && trace.calls_of(f.id)) return true;
  return false;
}

Work::Work(const Trace& of, bool objects, bool barriers) : trace(of) {
  if (!is_in(of)) return;
  dt::Work work(of.generation);
  each_calls_chunk(of, work, [&](size_t index) { collect(index, objects, barriers); });
  std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) { return a.seq < b.seq; });
  follow();
}

void Work::collect(size_t index, bool objects, bool barriers) {
  auto& info = trace.calls_chunks[index];
  std::vector<Call> own_calls;
  std::vector<Details> more;
  OpenChunk chunk(trace, index);
  if (trace.groups[info.group].chunks.size() > 1) trace.merge(info.group);
  size_t hint = 0;
  for (size_t number = 0; number < info.functions.size(); ++number) {
    auto* f = info.functions[number].tap() ? nullptr : trace.signatures.by_id(info.functions[number].id());
    const Kept kept = f ? kept_of(*f, objects, barriers) : Kept{};
    if (!kept.function) continue;
    auto& records = chunk.records_of(number);
    auto& columns = chunk.columns(number);
    for (uint32_t i = 0; i < records.size(); ++i) {
      Call call;
      call.seq = trace.seq_of(index, chunk.plain() ? records[i] : chunk.record_calls()[records[i]]);
      call.function = f, call.does = kept.does, call.thread = info.thread, call.counted = kept.counted;
      call.handle = columns.raw(*kept.handle, i);
      if (kept.a) call.a = columns.raw(*kept.a, i);
      if (kept.b) call.b = columns.raw(*kept.b, i);
      if (kept.c) call.a *= call.b * columns.raw(*kept.c, i);
      if (kept.many && kept.many->has_data()) {
        const std::string content = content_of(trace, columns, *kept.many, i);
        for (auto& one : Node::all(trace.signatures, *kept.many, content))
          call.counted = true, call.a += one.value("vertexCount") + one.value("indexCount");
      }
      if (kept.details) {
        Details d;
        uint64_t ticks = 0;
        const uint64_t entry = chunk.entries()[records[i]];
        if (entry) d.timed = true, d.start = trace.clock.ns(entry, hint);
        if (chunk.duration(records[i], ticks)) d.done = true, d.duration = trace.clock.duration(ticks);
        if (f->result) d.result = columns.raw(*f->result, i);
        for (auto& p : f->params) {
          d.values.push_back(p.slot >= 0 ? columns.raw(p, i) : 0);
          d.contents.push_back(p.has_data() ? content_of(trace, columns, p, i) : std::string());
        }
        call.details = static_cast<uint32_t>(more.size());
        more.push_back(std::move(d));
      }
      own_calls.push_back(call);
    }
  }
  std::lock_guard lock(mutex_);
  for (auto& call : own_calls)
    if (call.details != UINT32_MAX) call.details += static_cast<uint32_t>(details_.size());
  calls.insert(calls.end(), own_calls.begin(), own_calls.end());
  for (auto& d : more) details_.push_back(std::move(d));
}

const Field* Work::field(const Call& call, std::string_view name) const {
  static const Field none;
  auto* p = param(*call.function, {name});
  return p ? p : &none;
}

uint64_t Work::value(const Call& call, std::string_view name) const {
  auto* d = details(call);
  auto& params = call.function->params;
  for (size_t i = 0; d && i < params.size(); ++i)
    if (params[i].name == name) return d->values[i];
  return 0;
}

std::string_view Work::content(const Call& call, std::string_view name) const {
  auto* d = details(call);
  auto& params = call.function->params;
  for (size_t i = 0; d && i < params.size(); ++i)
    if (params[i].name == name) return d->contents[i];
  return {};
}

std::vector<uint64_t> Work::handles(const Call& call, const Field& field) const {
  const std::string_view bytes = content(call, field.name);
  std::vector<uint64_t> out(bytes.size() / 8);
  memcpy(out.data(), bytes.data(), out.size() * 8);
  return out;
}

// ---- what command buffers hold ---------------------------------------------------------------------------------

void Work::command(uint32_t index, Recording& into) const {
  const Call& call = calls[index];
  into.calls.push_back(index);
  ++into.commands;
  if (call.function->flags & FLAG_DRAW) {
    ++into.draws;
    if (call.counted)
      into.vertices += call.a * call.b;
    else
      ++into.indirect;
  }
  if (call.function->flags & FLAG_DISPATCH) ++into.dispatches;
  if (call.function->flags & FLAG_CLEAR) ++into.clears;
  if (!(call.function->flags & FLAG_COMMANDS_CALL)) return;
  auto& inside = into.inside[index];
  for (uint64_t secondary : handles(call, *field(call, "pCommandBuffers"))) {
    auto it = open_.find(secondary);
    if (it == open_.end() || it->second.get() == &into) continue;
    auto& s = *it->second;
    into.commands += s.commands, into.draws += s.draws, into.dispatches += s.dispatches, into.clears += s.clears;
    into.indirect += s.indirect, into.vertices += s.vertices;
    inside.push_back(it->second);
  }
}

void Work::submit(uint32_t index) {
  const Call& call = calls[index];
  auto& f = *call.function;
  const Field* tree = nullptr;
  for (auto& p : f.params)
    if (is_tree(p) && !tree) tree = &p;
  if (!tree) return;
  uint32_t batch = 0;
  // Batches of a damaged file may all lead to one long list.
  size_t left = content(call, tree->name).size() / 8;
  const Details* made = details(call);
  const bool failed = made && static_cast<int32_t>(made->result) < 0;
  for (auto& one : Node::all(trace.signatures, *tree, content(call, tree->name))) {
    Submit s;
    s.call = index, s.batch = batch++, s.fence = value(call, "fence"), s.failed = failed;
    s.command_buffers = one.values("pCommandBuffers");
    s.waits = one.values("pWaitSemaphores"), s.signals = one.values("pSignalSemaphores");
    for (auto& info : one.each("pCommandBufferInfos")) s.command_buffers.push_back(info.value("commandBuffer"));
    for (auto& info : one.each("pWaitSemaphoreInfos")) s.waits.push_back(info.value("semaphore"));
    for (auto& info : one.each("pSignalSemaphoreInfos")) s.signals.push_back(info.value("semaphore"));
    const size_t handles = s.command_buffers.size() + s.waits.size() + s.signals.size();
    if (handles > left) break;
    left -= handles;
    for (uint64_t buffer : s.command_buffers) {
      auto it = open_.find(buffer);
      s.recordings.push_back(it == open_.end() ? nullptr : it->second);
    }
    submits.push_back(std::move(s));
  }
}

void Work::follow() {
  for (uint32_t index = 0; index < calls.size(); ++index) {
    const Call& call = calls[index];
    const Field* buffers = param(*call.function, {"pCommandBuffers"});
    switch (call.does) {
      case Does::command: {
        auto it = open_.find(call.handle);
        // Commands of a buffer whose beginning was not recorded run as well.
        if (it == open_.end()) {
          it = open_.emplace(call.handle, std::make_shared<Recording>()).first;
          it->second->command_buffer = call.handle, it->second->begin_seq = call.seq;
        }
        command(index, *it->second);
        break;
      }
      case Does::begins: {
        auto fresh = std::make_shared<Recording>();
        fresh->command_buffer = call.handle, fresh->begin_seq = call.seq;
        open_[call.handle] = std::move(fresh);
        break;
      }
      case Does::resets: open_.erase(call.handle); break;
      case Does::submits: submit(index); break;
      case Does::makes:
        if (buffers)
          for (uint64_t buffer : handles(call, *buffers))
            pools_[buffer] = tree(call, "pAllocateInfo").value("commandPool"), open_.erase(buffer);
        break;
      case Does::ends:
        if (buffers)
          for (uint64_t buffer : handles(call, *buffers)) open_.erase(buffer);
        [[fallthrough]];
      case Does::resets_pool:
        if (const uint64_t pool = buffers ? 0 : value(call, "commandPool"))
          std::erase_if(open_, [&](auto& one) {
            auto of = pools_.find(one.first);
            return of != pools_.end() && of->second == pool;
          });
        break;
      default: break;
    }
  }
  open_.clear();
}

// ---- what ran --------------------------------------------------------------------------------------------------

struct Work::Running {
  const std::function<void(const Executed&)>& visit;
  const Submit* submit = nullptr;
  uint64_t primary = 0, passes = 0, pass = 0, left = MOST;
};

void Work::run(Running& running, const Recording& recording, unsigned depth) const {
  int64_t topology = -1;
  std::map<uint64_t, uint64_t> bound;  // pipelines by bind point; a secondary command buffer begins without any
  for (uint32_t index : recording.calls) {
    if (!running.left) return;
    --running.left;
    const Call& call = calls[index];
    const uint64_t flags = call.function->flags;
    if (flags & FLAG_PASS_BEGIN) running.pass = ++running.passes;
    uint64_t pipeline = 0;
    if (flags & FLAG_DRAW)
      pipeline = bound[0];  // VK_PIPELINE_BIND_POINT_GRAPHICS
    else if (flags & FLAG_DISPATCH)
      pipeline = bound[starts(call.function->name, "vkCmdTraceRays") ? 1000165000 : 1];
    else if (flags & FLAG_BIND && call.counted)
      bound[call.a] = call.b;
    else if (call.counted)
      topology = static_cast<int64_t>(call.a);
    running.visit({*running.submit, recording, call, index, depth, running.primary, running.pass, pipeline, topology});
    if (flags & FLAG_PASS_END) running.pass = 0;
    if (auto inside = recording.inside.find(index); inside != recording.inside.end()) {
      bound.clear(), topology = -1;
      for (auto& secondary : inside->second)
        if (depth + 1 < DEPTH) run(running, *secondary, depth + 1);
    }
  }
}

void Work::execute(const std::function<void(const Executed&)>& visit) const {
  Running running{visit};
  dt::Work work(trace.generation);
  for (auto& s : submits) {
    work.check();
    if (s.failed) continue;
    running.submit = &s;
    for (auto& recording : s.recordings) {
      if (!recording) continue;
      running.primary = recording->command_buffer;
      run(running, *recording, 0);
      running.pass = 0;
    }
  }
  if (!running.left)
    trace.problem("executed", 0, 0, "more than " + std::to_string(MOST) + " commands ran: those behind are not shown");
}

// ---- structures ------------------------------------------------------------------------------------------------

using Of = StructMember::Kind;

Node::Node(const Signatures& names, const Field& field, std::string_view content) {
  auto nodes = all(names, field, content);
  if (!nodes.empty()) *this = nodes.front();
}

std::vector<Node> Node::all(const Signatures& names, const Field& field, std::string_view content) {
  std::vector<Node> out;
  auto* type = is_tree(field) ? Structures::of(names).by_name(tree_name(field)) : nullptr;
  if (!type || content.empty()) return out;
  const Tree::Block block = Tree(content).root(type->bytes);
  for (uint64_t i = 0; i < block.count; ++i) out.push_back({&names, type, content, block.at + i * type->bytes});
  return out;
}

uint64_t Node::value(std::string_view member, size_t index) const {
  auto* m = type_ ? type_->member(member) : nullptr;
  return m && m->kind == Of::value ? Tree(content_).value(*m, at_ + m->offset, index) : 0;
}

std::string Node::name_of(const StructMember& m, uint64_t value) const {
  if (m.meaning == StructMember::Meaning::bitmask) {
    Bytes text;
    put_mask(text, m.group, value);
    return std::string(text.view());
  }
  auto* known = m.group ? m.group->find(static_cast<int64_t>(value)) : nullptr;
  return known ? *known : std::to_string(static_cast<int64_t>(value));
}

std::string Node::word(std::string_view member) const {
  auto* m = type_ ? type_->member(member) : nullptr;
  return m && m->kind == Of::value ? name_of(*m, Tree(content_).value(*m, at_ + m->offset)) : std::string();
}

std::string Node::text(std::string_view member) const {
  auto* m = type_ ? type_->member(member) : nullptr;
  if (!m || m->kind != Of::text) return {};
  Tree tree(content_);
  const Tree::Block block = tree.follow(at_ + m->offset, 1);
  const std::string_view text = tree.bytes(block.at, block.count);
  return std::string(text.substr(0, text.find('\0')));
}

std::vector<Node> Node::each(std::string_view member) const {
  std::vector<Node> out;
  auto* m = type_ ? type_->member(member) : nullptr;
  if (!m || !m->type) return out;
  Tree tree(content_);
  if (m->kind == Of::structure) {
    for (uint32_t i = 0; i < std::max(m->count, 1u); ++i)
      out.push_back({names_, m->type, content_, at_ + m->offset + size_t{i} * m->type->bytes});
  } else if (m->kind == Of::tree || m->kind == Of::trees) {
    const Tree::Block block = tree.follow(at_ + m->offset, m->type->bytes);
    for (uint64_t i = 0; i < block.count; ++i)
      out.push_back({names_, m->type, content_, block.at + i * m->type->bytes});
  }
  return out;
}

Node Node::in(std::string_view member) const {
  auto nodes = each(member);
  return nodes.empty() ? Node() : nodes.front();
}

std::vector<uint64_t> Node::values(std::string_view member) const {
  std::vector<uint64_t> out;
  auto* m = type_ ? type_->member(member) : nullptr;
  if (!m || (m->kind != Of::value && m->kind != Of::array)) return out;
  Tree tree(content_);
  Tree::Block block{at_ + m->offset, std::max(m->count, 1u)};
  if (m->kind == Of::array) block = tree.follow(at_ + m->offset, m->width);
  for (uint64_t i = 0; i < block.count; ++i) out.push_back(tree.value(*m, block.at, i));
  return out;
}

std::vector<std::string> Node::words(std::string_view member) const {
  std::vector<std::string> out;
  auto* m = type_ ? type_->member(member) : nullptr;
  for (uint64_t value : values(member)) out.push_back(name_of(*m, value));
  return out;
}

std::string_view Node::bytes(std::string_view member) const {
  auto* m = type_ ? type_->member(member) : nullptr;
  if (!m || m->kind != Of::array) return {};
  Tree tree(content_);
  const Tree::Block block = tree.follow(at_ + m->offset, m->width);
  return block ? tree.bytes(block.at, block.count * m->width) : std::string_view();
}

Node Node::chained(std::string_view wanted) const {
  auto* m = type_ ? type_->member("pNext") : nullptr;
  if (!m || m->kind != Of::chain) return {};
  Tree tree(content_);
  for (size_t slot = at_ + m->offset;;) {
    const Tree::Block block = tree.follow(slot, 16);
    if (!block.count || !tree.visit()) return {};
    auto* type = Structures::of(*names_).by_stype(tree.load<int32_t>(block.at));
    if (type && type->name == wanted && tree.follow(slot, type->bytes).count) return {names_, type, content_, block.at};
    slot = block.at + 8;
  }
}

void Node::json(Bytes& out, size_t most_elements) const {
  if (type_)
    structure_json(out, *names_, *type_, content_, at_, most_elements);
  else
    out.put("null");
}

}  // namespace dt::vulkan
