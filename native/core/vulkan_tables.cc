#include "vulkan_tables.h"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "rows.h"
#include "text.h"

namespace dt::vulkan {
namespace {

// Numbers of frames.
class Frames {
 public:
  explicit Frames(const Trace& trace) : held_(trace.frames()) {}
  uint64_t of(uint64_t seq) const {
    auto& ends = held_->ends;
    return static_cast<uint64_t>(std::lower_bound(ends.begin(), ends.end(), seq) - ends.begin());
  }

 private:
  std::shared_ptr<const Trace::Frames> held_;
};

struct Object {
  std::string_view type;
  uint64_t handle = 0, parent = 0, memory = 0, memory_offset = 0, bound_seq = 0, bytes = 0;
  std::string name;
  const Call *made = nullptr, *ended = nullptr;
  uint32_t number = 0;  // among those that the call made
  bool bound = false, asked = false;
};

Cell<uint64_t> unless_zero(uint64_t v) { return v ? Cell<uint64_t>(v) : Cell<uint64_t>(); }

using Key = std::pair<std::string_view, uint64_t>;  // type and handle

// The lives of objects, followed call by call.
class Objects {
 public:
  explicit Objects(const Work& work) : work_(work) {
    for (auto& call : work.calls) switch (call.does) {
        case Does::makes: made(call); break;
        case Does::ends: ended(call); break;
        case Does::resets_pool: reset(call); break;
        case Does::names: named(call); break;
        case Does::binds_memory: bound(call); break;
        case Does::asks_requirements: asked(call); break;
        default: break;
      }
  }

  std::deque<Object> all;  // in the order of their beginning
  // The create info: of a call that makes several, the own one.
  Node info(const Object& object) const {
    for (auto& p : object.made->function->params) {
      if (!is_tree(p) || p.out) continue;
      auto infos = work_.trees(*object.made, p.name);
      if (infos.empty()) return {};
      return infos[has_many(p) && object.number < infos.size() ? object.number : 0];
    }
    return {};
  }
  const Object* live(std::string_view type, uint64_t handle) const {
    auto it = live_.find({type, handle});
    return it == live_.end() ? nullptr : it->second;
  }

 private:
  void made(const Call& call) {
    auto& f = *call.function;
    const bool always = f.flags & FLAG_SYNC;  // others may give out what there is already
    Key parent;
    for (auto& p : f.params) {
      if (p.object_class.starts_with("Vk") && !p.has_data() && !p.object_class.ends_with("Cache"))
        if (const uint64_t own = work_.value(call, p.name)) parent = {p.object_class, own};
      if (!is_tree(p) || p.out) continue;
      const Node info = work_.tree(call, p.name);
      if (const uint64_t own = info.value("commandPool")) parent = {"VkCommandPool", own};
      if (const uint64_t own = info.value("descriptorPool")) parent = {"VkDescriptorPool", own};
    }
    for (auto& p : f.params) {
      if (!p.has_data() || !p.out || !p.object_class.starts_with("Vk")) continue;
      uint32_t number = 0;
      for (uint64_t handle : work_.handles(call, p)) {
        const uint32_t own = number++;
        if (!handle || (!always && live(p.object_class, handle))) continue;
        Object& o = all.emplace_back();
        o.type = p.object_class, o.handle = handle, o.parent = parent.second, o.made = &call, o.number = own;
        live_[{o.type, handle}] = &o;
        children_[parent].push_back(&o);
      }
    }
  }

  void end(Object& o, const Call& call) {
    if (o.ended) return;
    o.ended = &call;
    if (auto it = live_.find({o.type, o.handle}); it != live_.end() && it->second == &o) live_.erase(it);
    end_children({o.type, o.handle}, call);
  }
  void end_children(const Key& parent, const Call& call) {
    auto it = children_.find(parent);
    if (it == children_.end()) return;
    const std::vector<Object*> own = std::move(it->second);
    children_.erase(it);
    for (auto* child : own) end(*child, call);
  }
  void ended(const Call& call) {
    // The last parameter that names objects says which end.
    const Field* last = nullptr;
    for (auto& p : call.function->params)
      if (p.object_class.starts_with("Vk")) last = &p;
    if (!last) return;
    std::vector<uint64_t> handles = {work_.value(call, last->name)};
    if (last->has_data()) handles = work_.handles(call, *last);
    for (uint64_t handle : handles) {
      auto it = live_.find({last->object_class, handle});
      if (it != live_.end())
        end(*it->second, call);
      else
        end_children({last->object_class, handle}, call);  // made before the recording began
    }
  }
  void reset(const Call& call) {
    const uint64_t pool = work_.value(call, "descriptorPool");
    if (pool) end_children({"VkDescriptorPool", pool}, call);
  }

  void named(const Call& call) {
    const Node info = work_.tree(call, "pNameInfo");
    const uint64_t handle = info.value("objectHandle") ? info.value("objectHandle") : info.value("object");
    const std::string kind = info.word("objectType");
    for (auto& [key, o] : live_)
      if (key.second == handle && is_of_kind(key.first, kind)) o->name = info.text("pObjectName");
  }
  // VkDeviceMemory is VK_OBJECT_TYPE_DEVICE_MEMORY, and VK_DEBUG_REPORT_OBJECT_TYPE_DEVICE_MEMORY_EXT.
  static bool is_of_kind(std::string_view type, std::string_view kind) {
    std::string letters;
    for (char c : kind.substr(std::min(kind.size(), kind.find("_TYPE_") + 6)))
      if (c != '_') letters += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    std::string own;
    for (char c : type.substr(2)) own += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return letters == own || letters == own + "ext";
  }

  void bound(const Call& call) {
    auto bind = [&](uint64_t handle, std::string_view type, uint64_t memory, uint64_t offset) {
      auto it = live_.find({type, handle});
      if (it != live_.end())
        it->second->memory = memory, it->second->memory_offset = offset, it->second->bound = true,
        it->second->bound_seq = call.seq;
    };
    const bool image = call.function->name.find("Image") != std::string::npos;
    const char *type = image ? "VkImage" : "VkBuffer", *member = image ? "image" : "buffer";
    if (uint64_t handle = work_.value(call, member))
      return bind(handle, type, work_.value(call, "memory"), work_.value(call, "memoryOffset"));
    for (auto& info : work_.trees(call, "pBindInfos"))
      bind(info.value(member), type, info.value("memory"), info.value("memoryOffset"));
  }

  void asked(const Call& call) {
    const bool image = call.function->name.find("Image") != std::string::npos;
    const char *type = image ? "VkImage" : "VkBuffer", *member = image ? "image" : "buffer";
    uint64_t handle = work_.value(call, member);
    if (!handle) handle = work_.tree(call, "pInfo").value(member);
    auto it = live_.find({type, handle});
    if (it == live_.end()) return;
    const Node needs = work_.tree(call, "pMemoryRequirements");
    const Node inner = needs.in("memoryRequirements");
    it->second->bytes = inner ? inner.value("size") : needs.value("size");
    it->second->asked = it->second->bytes != 0;
  }

  const Work& work_;
  std::map<Key, Object*> live_;
  std::map<Key, std::vector<Object*>> children_;
};

std::string json_of(const Node& info) {
  Bytes text;
  if (info) info.json(text, INFO_ELEMENTS);
  return std::string(text.view());
}

Cell<int64_t> duration_of(const Work& work, const Call& call) {
  auto* d = work.details(call);
  return d && d->done ? Cell<int64_t>(d->duration) : Cell<int64_t>();
}

Cell<uint64_t> end_of(const Object& o) { return o.ended ? Cell<uint64_t>(o.ended->seq) : Cell<uint64_t>(); }

const char* kind_of(const Function& f) {
  static constexpr std::pair<uint64_t, const char*> KINDS[] = {{FLAG_DRAW, "draw"},
                                                               {FLAG_DISPATCH, "dispatch"},
                                                               {FLAG_CLEAR, "clear"},
                                                               {FLAG_UPLOAD, "upload"},
                                                               {FLAG_MARKER, "marker"}};
  for (auto& [flag, kind] : KINDS)
    if (f.flags & flag) return kind;
  return "command";
}

}  // namespace

Table objects_table(const Trace& trace) {
  const Work work(trace, true, false);
  const Objects objects(work);
  const Frames frames(trace);
  Rows<rows::Objects> t;
  for (auto& o : objects.all) {
    const std::string info = json_of(objects.info(o));
    rows::Objects row{.type = o.type,
                      .handle = o.handle,
                      .parent = o.parent,
                      .name = unless_empty(o.name),
                      .created_seq = o.made->seq,
                      .created_by = o.made->function->name,
                      .frame = frames.of(o.made->seq),
                      .create_ns = duration_of(work, *o.made),
                      .destroyed_seq = end_of(o),
                      .info = unless_empty(info)};
    if (o.ended) row.destroyed_by = o.ended->function->name;
    if (o.bound) row.memory = o.memory, row.memory_offset = o.memory_offset;
    if (o.asked) row.bytes = o.bytes;
    t.add(row);
  }
  return t.take();
}

Table submits_table(const Trace& trace) {
  const Work work(trace, false, false);
  const Frames frames(trace);
  Rows<rows::Submits> t;
  for (auto& s : work.submits) {
    auto& call = work.calls[s.call];
    rows::Submits row{.seq = call.seq,
                      .frame = frames.of(call.seq),
                      .thread = call.thread,
                      .function = call.function->name,
                      .queue = call.handle,
                      .batch = s.batch,
                      .command_buffers = s.command_buffers,
                      .waits = s.waits,
                      .signals = s.signals,
                      .fence = s.fence};
    uint64_t commands = 0, draws = 0, dispatches = 0;
    uint32_t unknown = 0;
    for (auto& r : s.recordings) {
      if (s.failed) break;
      if (!r)
        ++unknown;
      else
        commands += r->commands, draws += r->draws, dispatches += r->dispatches;
    }
    row.commands = commands, row.draws = draws, row.dispatches = dispatches, row.unrecorded = unknown;
    row.failed = s.failed;
    if (auto* d = work.details(call); d && d->timed) row.t_start = d->start;
    row.duration = duration_of(work, call);
    t.add(row);
  }
  return t.take();
}

Table executed_table(const Trace& trace) {
  const Work work(trace, false, false);
  const Frames frames(trace);
  Rows<rows::Executed> t;
  uint64_t number = 0;
  work.execute([&](const Executed& e) {
    auto& submit = work.calls[e.submit.call];
    auto& f = *e.call.function;
    rows::Executed row{.number = number++,
                       .seq = e.call.seq,
                       .submit_seq = submit.seq,
                       .batch = e.submit.batch,
                       .frame = frames.of(submit.seq),
                       .queue = submit.handle,
                       .primary_buffer = e.primary,
                       .command_buffer = e.recording.command_buffer,
                       .depth = e.depth,
                       .name = f.name,
                       .kind = kind_of(f),
                       .pass_number = unless_zero(e.pass),
                       .pipeline = unless_zero(e.pipeline)};
    if (e.call.counted && f.flags & FLAG_DRAW) row.vertices = e.call.a, row.instances = e.call.b;
    if (e.call.counted && f.flags & FLAG_DISPATCH) row.groups = e.call.a;
    t.add(row);
  });
  return t.take();
}

std::map<size_t, uint64_t> draws_by_frame(const Trace& trace, const std::vector<uint64_t>& ends) {
  std::map<size_t, uint64_t> draws;
  const Work work(trace, false, false);
  for (auto& s : work.submits) {
    const auto at = std::lower_bound(ends.begin(), ends.end(), work.calls[s.call].seq) - ends.begin();
    for (auto& r : s.recordings)
      if (r && !s.failed) draws[static_cast<size_t>(at)] += r->draws;
  }
  return draws;
}

Table allocations_table(const Trace& trace) {
  const Work work(trace, true, false);
  const Objects objects(work);
  const Frames frames(trace);
  struct Use {
    uint64_t resources = 0, bytes = 0, maps = 0, written = 0;
  };
  // Handles are used again: whatever is about memory belongs to the last allocation before it.
  std::map<uint64_t, std::map<uint64_t, Use>> uses;  // by handle and the call that made it
  for (auto& o : objects.all)
    if (o.type == "VkDeviceMemory") uses[o.handle][o.made->seq];
  auto use = [&](uint64_t memory, uint64_t seq) -> Use* {
    auto& own = uses[memory];
    auto it = own.upper_bound(seq);
    return it == own.begin() ? nullptr : &std::prev(it)->second;
  };
  for (auto& o : objects.all)
    if (o.bound)
      if (Use* u = use(o.memory, o.bound_seq)) ++u->resources, u->bytes += o.bytes;
  std::vector<std::pair<uint32_t, std::string>> types;
  for (auto& call : work.calls) {
    if (call.does == Does::maps) {
      uint64_t memory = work.value(call, "memory");
      if (!memory) memory = work.tree(call, "pMemoryMapInfo").value("memory");
      if (Use* u = use(memory, call.seq)) ++u->maps;
    }
    if (call.does != Does::asks_memory) continue;
    const Node asked = work.tree(call, "pMemoryProperties"), inner = asked.in("memoryProperties");
    const Node& of = inner ? inner : asked;
    types.clear();
    auto of_device = of.each("memoryTypes");
    for (uint64_t i = 0; i < std::min<uint64_t>(of.value("memoryTypeCount"), of_device.size()); ++i)
      types.emplace_back(of_device[i].value("heapIndex"), of_device[i].word("propertyFlags"));
  }
  auto* stored = trace.signatures.by_id(DT_FN_MEMORY_WRITE);
  const Field* memory = stored && !stored->params.empty() ? &stored->params[0] : nullptr;
  auto store = [&](OpenChunk&, const FunctionColumns& columns, uint32_t i, uint32_t, uint64_t seq) {
    Use* u = use(columns.raw(*memory, i), seq);
    for (auto& p : stored->params)
      if (u && p.has_data()) u->written += DT_DATA_LENGTH(columns.descriptor(p, i));
  };
  if (memory) each_tap_record(trace, DT_FN_MEMORY_WRITE, store);
  Rows<rows::Allocations> t;
  for (auto& o : objects.all) {
    if (o.type != "VkDeviceMemory") continue;
    const Node info = objects.info(o);
    const Use& u = uses[o.handle][o.made->seq];
    const auto type = static_cast<uint32_t>(info.value("memoryTypeIndex"));
    rows::Allocations row{
        .memory = o.handle,
        .name = unless_empty(o.name),
        .device = o.parent,
        .seq = o.made->seq,
        .frame = frames.of(o.made->seq),
        .freed_seq = end_of(o),
        .bytes = info.value("allocationSize"),
        .type_index = type,
        .dedicated = static_cast<bool>(info.chained("VkMemoryDedicatedAllocateInfo")),
        .imported = info.chained("VkImportMemoryFdInfoKHR") || info.chained("VkImportMemoryHostPointerInfoEXT"),
        .resources = u.resources,
        .resource_bytes = u.bytes,
        .maps = u.maps,
        .written_bytes = u.written};
    if (type < types.size()) row.heap = types[type].first, row.properties = types[type].second;
    t.add(row);
  }
  return t.take();
}

namespace {

// The rows of one call that is a barrier, without the number of its executions.
class Barriers {
 public:
  Barriers(const Work& work, const Call& call, uint64_t frame, uint64_t executed, Rows<rows::Barriers>& out)
      : work_(work), call_(call), frame_(frame), executed_(executed), out_(out) {}

  void run() {
    uint32_t added = 0;
    auto of = [&](const Node& outer) {
      const bool newer = static_cast<bool>(outer);
      for (auto& [param, kind] : KINDS) {
        uint32_t index = 0;
        for (auto& one : newer ? outer.each(param) : work_.trees(call_, param)) add(kind, index++, one), ++added;
      }
    };
    for (const char* param : {"pDependencyInfo", "pDependencyInfos"})
      for (auto& info : work_.trees(call_, param)) of(info);
    of({});
    if (!added) add("execution", 0, {});
  }

 private:
  static constexpr std::pair<const char*, const char*> KINDS[] = {
      {"pMemoryBarriers", "memory"}, {"pBufferMemoryBarriers", "buffer"}, {"pImageMemoryBarriers", "image"}};
  std::string stages(const Node& one, const char* member) const {
    if (one.has(member)) return one.word(member);
    const Field* field = work_.field(call_, member);
    Bytes text;
    put_mask(text, field->group, work_.value(call_, member));
    return std::string(text.view());
  }
  void add(const char* kind, uint32_t index, const Node& one) {
    const std::string from = stages(one, "srcStageMask"), to = stages(one, "dstStageMask");
    const std::string made = one.word("srcAccessMask"), seen = one.word("dstAccessMask");
    const std::string before = one.word("oldLayout"), behind = one.word("newLayout");
    rows::Barriers row{.seq = call_.seq,
                       .frame = frame_,
                       .function = call_.function->name,
                       .command_buffer = call_.handle,
                       .kind = kind,
                       .index = index,
                       .src_stages = from,
                       .dst_stages = to,
                       .old_layout = unless_empty(before),
                       .new_layout = unless_empty(behind),
                       .executed = executed_};
    if (one) row.src_access = made, row.dst_access = seen;
    if (one.has("image")) row.object = one.value("image");
    if (one.has("buffer")) row.object = one.value("buffer");
    if (one.has("srcQueueFamilyIndex"))
      row.src_queue_family = one.value("srcQueueFamilyIndex"), row.dst_queue_family = one.value("dstQueueFamilyIndex");
    out_.add(row);
  }
  const Work& work_;
  const Call& call_;
  const uint64_t frame_, executed_;
  Rows<rows::Barriers>& out_;
};

}  // namespace

Table barriers_table(const Trace& trace) {
  const Work work(trace, false, true);
  const Frames frames(trace);
  std::map<uint32_t, uint64_t> times;
  work.execute([&](const Executed& e) {
    if (e.call.details != UINT32_MAX) ++times[e.index];
  });
  Rows<rows::Barriers> t;
  for (uint32_t i = 0; i < work.calls.size(); ++i) {
    const Call& call = work.calls[i];
    if (call.does != Does::command || !work.details(call) || call.function->flags & FLAG_COMMANDS_CALL) continue;
    Barriers(work, call, frames.of(call.seq), times[i], t).run();
  }
  return t.take();
}

namespace {

// Handles live again: of several lives the last one before a call.
class Lives {
 public:
  Lives(const Objects& objects, std::string_view type) {
    for (auto& o : objects.all)
      if (o.type == type) by_handle_[o.handle][o.made->seq] = &o;
  }
  const Object* at(uint64_t handle, uint64_t seq) const {
    auto own = by_handle_.find(handle);
    if (own == by_handle_.end()) return nullptr;
    auto it = own->second.lower_bound(seq);
    return it == own->second.begin() ? nullptr : std::prev(it)->second;
  }

 private:
  std::map<uint64_t, std::map<uint64_t, const Object*>> by_handle_;
};

std::string_view pipeline_kind(const Object& o) {
  const std::string_view by = o.made->function->name;
  return by.find("Graphics") != by.npos     ? "graphics"
         : by.find("Compute") != by.npos    ? "compute"
         : by.find("RayTracing") != by.npos ? "ray tracing"
                                            : "another";
}

std::vector<Node> stages_of(const Node& info) {
  auto stages = info.each("pStages");
  return stages.empty() ? info.each("stage") : stages;
}

}  // namespace

Table pipelines_table(const Trace& trace) {
  const Work work(trace, true, false);
  const Objects objects(work);
  const Frames frames(trace);
  const Lives lives(objects, "VkPipeline");
  struct Use {
    uint64_t uses = 0, vertices = 0;
  };
  std::map<const Object*, Use> uses;
  work.execute([&](const Executed& e) {
    if (!e.pipeline) return;
    auto& use = uses[lives.at(e.pipeline, e.call.seq)];
    ++use.uses;
    if (e.call.counted && e.call.function->flags & FLAG_DRAW) use.vertices += e.call.a * e.call.b;
  });
  Rows<rows::Pipelines> t;
  for (auto& o : objects.all) {
    if (o.type != "VkPipeline") continue;
    const Node info = objects.info(o);
    std::vector<std::string> stages;
    std::vector<uint64_t> shaders;
    for (auto& stage : stages_of(info)) {
      stages.push_back(stage.word("stage"));
      if (const uint64_t module = stage.value("module")) shaders.push_back(module);
    }
    const std::string topology = info.in("pInputAssemblyState").word("topology"), json = json_of(info);
    uint64_t together = 0;
    for (auto& p : o.made->function->params)
      if (p.out && p.object_class == "VkPipeline") together = work.handles(*o.made, p).size();
    t.add({.pipeline = o.handle,
           .name = unless_empty(o.name),
           .kind = pipeline_kind(o),
           .seq = o.made->seq,
           .frame = frames.of(o.made->seq),
           .destroyed_seq = end_of(o),
           .duration = duration_of(work, *o.made),
           .made_with = together,
           .cache = work.value(*o.made, "pipelineCache"),
           .layout = info.value("layout"),
           .render_pass = info.value("renderPass"),
           .stages = stages,
           .shaders = shaders,
           .dynamic_states = info.in("pDynamicState").words("pDynamicStates"),
           .topology = unless_empty(topology),
           .uses = uses[&o].uses,
           .vertices = uses[&o].vertices,
           .info = unless_empty(json)});
  }
  return t.take();
}

namespace {

// SPIR-V's words about itself: entry points, and the size of a workgroup (SPIR-V specification, 2.3 and 3.52).
struct Code {
  std::vector<std::string> entry_points;
  std::vector<uint64_t> workgroup;
};

Code code_of(std::string_view bytes) {
  static constexpr const char* MODELS[] = {
      "vertex", "tessellation control", "tessellation evaluation", "geometry", "fragment", "compute", "kernel"};
  constexpr uint32_t MAGIC = 0x07230203, ENTRY_POINT = 15, EXECUTION_MODE = 16, LOCAL_SIZE = 17, FUNCTION = 54;
  Code code;
  const size_t words = bytes.size() / 4;
  auto word = [&](size_t i) {
    uint32_t v = 0;
    if (i < words) memcpy(&v, bytes.data() + i * 4, 4);
    return v;
  };
  if (words < 5 || word(0) != MAGIC) return code;
  for (size_t at = 5; at < words;) {
    const uint32_t length = word(at) >> 16, what = word(at) & 0xFFFF;
    if (!length || what == FUNCTION || at + length > words) break;
    if (what == ENTRY_POINT && length > 3) {
      const std::string_view rest = bytes.substr((at + 3) * 4, (length - 3) * 4);
      const uint32_t model = word(at + 1);
      code.entry_points.push_back((model < std::size(MODELS) ? MODELS[model] : "model " + std::to_string(model)) +
                                  (" " + std::string(rest.substr(0, rest.find('\0')))));
    }
    if (what == EXECUTION_MODE && length >= 6 && word(at + 2) == LOCAL_SIZE)
      code.workgroup = {word(at + 3), word(at + 4), word(at + 5)};
    at += length;
  }
  return code;
}

}  // namespace

Table shaders_table(const Trace& trace) {
  const Work work(trace, true, false);
  const Objects objects(work);
  const Frames frames(trace);
  const Lives modules(objects, "VkShaderModule");
  std::map<const Object*, uint64_t> pipelines;
  for (auto& o : objects.all) {
    if (o.type != "VkPipeline") continue;
    for (auto& stage : stages_of(objects.info(o)))
      if (auto* module = modules.at(stage.value("module"), o.made->seq)) ++pipelines[module];
  }
  Rows<rows::Shaders> t;
  for (auto& o : objects.all) {
    if (o.type != "VkShaderModule" && o.type != "VkShaderEXT") continue;
    const Node info = objects.info(o);
    const std::string_view bytes = info.bytes("pCode");
    Code code = code_of(bytes);
    std::string hash;
    if (!bytes.empty()) {
      const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
      hash = hash_text({h.low64, h.high64});
    }
    rows::Shaders row{.shader = o.handle,
                      .name = unless_empty(o.name),
                      .seq = o.made->seq,
                      .frame = frames.of(o.made->seq),
                      .destroyed_seq = end_of(o),
                      .duration = duration_of(work, *o.made),
                      .bytes = info.value("codeSize"),
                      .hash = unless_empty(hash),
                      .entry_points = code.entry_points,
                      .workgroup = code.workgroup,
                      .pipelines = pipelines[&o]};
    if (!bytes.empty()) row.code = bytes;
    t.add(row);
  }
  return t.take();
}

}  // namespace dt::vulkan
