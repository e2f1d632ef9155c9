#include <algorithm>
#include <cstring>

#include "../common/json.h"
#include "export_c.h"
#include "numbers.h"
#include "vulkan.h"

namespace dt::c {
namespace {

// "descriptor_set" of "VkDescriptorSet": what variables begin with.
std::string variable_word(std::string_view kind) {
  std::string out;
  kind.remove_prefix(2);
  for (size_t i = 0; i < kind.size(); ++i) {
    const bool upper = kind[i] >= 'A' && kind[i] <= 'Z', before = i && kind[i - 1] >= 'a' && kind[i - 1] <= 'z';
    if (upper && before) out += '_';
    out += static_cast<char>(upper ? kind[i] - 'A' + 'a' : kind[i]);
  }
  return out;
}

// Functions that device.c calls itself.
const char* const OWN_FUNCTIONS[] = {"vkAllocateCommandBuffers",
                                     "vkAllocateMemory",
                                     "vkBeginCommandBuffer",
                                     "vkBindBufferMemory",
                                     "vkBindImageMemory",
                                     "vkCmdCopyImageToBuffer",
                                     "vkCmdPipelineBarrier",
                                     "vkCreateBuffer",
                                     "vkCreateCommandPool",
                                     "vkCreateDevice",
                                     "vkCreateImage",
                                     "vkDestroyBuffer",
                                     "vkDestroyCommandPool",
                                     "vkDestroyDevice",
                                     "vkDestroyImage",
                                     "vkDeviceWaitIdle",
                                     "vkEndCommandBuffer",
                                     "vkEnumeratePhysicalDevices",
                                     "vkFlushMappedMemoryRanges",
                                     "vkFreeMemory",
                                     "vkGetBufferMemoryRequirements",
                                     "vkGetDeviceQueue",
                                     "vkGetEventStatus",
                                     "vkGetImageMemoryRequirements",
                                     "vkGetPhysicalDeviceMemoryProperties",
                                     "vkGetPhysicalDeviceProperties",
                                     "vkGetQueryPoolResults",
                                     "vkMapMemory",
                                     "vkQueueSubmit",
                                     "vkQueueWaitIdle"};

}  // namespace

VulkanExporter::VulkanExporter(const Trace& trace, std::string folder, const Options& options)
    : Arguments(trace), folder_(std::move(folder)), mapping_(play::map_functions(trace)), data_(folder_),
      frames_(folder_, options, trace.frames()->ends), values_(*this, trace.signatures, data_),
      late_(trace.threads.size() > 1), used_(std::begin(OWN_FUNCTIONS), std::end(OWN_FUNCTIONS)) {
  size::g_secondary.clear();
  choose_handlers();
}

// ---- walking ------------------------------------------------------------------------------------

void VulkanExporter::end_frame(bool whole) {
  if (whole && !frames_.in_setup()) line("host_frame(play_current);");
  frames_.end(whole);
}

void VulkanExporter::record(play::Decoded* chunk, uint32_t number) {
  const uint32_t f = chunk->order[number];
  const int known = chunk->known[f];
  const play::Columns& columns = chunk->columns[f];
  rooms_.clear();
  held_.clear();
  frames_.begin(seq_);
  if (known == -1) return tap_record(chunk, number);
  if (known < 0) {
    const std::string called = columns.function ? columns.function->name : "a function without a name";
    if (!columns.function || columns.function->api == "vk") fail(DT_E_ARGUMENT, called + " is not known here");
    ++left_out_[called];
  } else {
    Call c{vk::COMMANDS[known], vk::COMMANDS[known].number, columns, chunk->ordinals[number]};
    running_ = c.command.name;
    if (columns.function->params.size() != c.command.params) fail(DT_E_ARGUMENT, "it has other parameters here");
    try {
      call(c);
    } catch (const Error& error) {
      if (error.code != DT_E_FORMAT || std::string_view(error.what()).starts_with("call ")) throw;
      fail(error.code, error.what());
    }
  }
  running_ = "";
  if (frames_.end_at(seq_)) end_frame(true);
}

void VulkanExporter::call(Call& c) {
  if (c.command.refused) fail(DT_E_ARGUMENT, std::string(c.command.refused) + " cannot be written as C");
  if (const Handler handler = handlers_[c.number])
    (this->*handler)(c);
  else if (!c.command.skipped)
    generic(c);
}

void VulkanExporter::tap_record(play::Decoded* chunk, uint32_t number) {
  const uint32_t f = chunk->order[number];
  const unsigned id = chunk->open->info.functions[f].id();
  const FunctionColumns& c = *chunk->columns[f].decoded;
  const uint32_t row = chunk->ordinals[number];
  if (id == DT_FN_MEMORY_WRITE || id == DT_FN_DEVICE_WRITE) return memory_write(c, row, id == DT_FN_DEVICE_WRITE);
  if (id != DT_FN_NOTE || !c.function) return;
  for (auto& p : c.function->params)
    if (p.name == "code" && p.has_data())
      if (const std::string_view word = c.payload(p, row); word == "map-lost" || word == "vulkan-imported-memory" ||
                                                           word == "vulkan-size-unknown" || word == "began-late")
        ++left_out_["what the recording lacks: " + std::string(word)];
}

// Bytes of mapped memory that changed. `device`: while submitted work may have run.
void VulkanExporter::memory_write(const FunctionColumns& c, uint32_t row, bool device) {
  Stored write;
  if (!stored(c, row, write)) return;
  if (write.missing) {
    ++left_out_["bytes that the program stored in mapped memory"];
    return;
  }
  const uint64_t memory = handle(vk::OF_DeviceMemory, write.memory, false);
  if (write.offset > sizes_[memory] || write.bytes.size() > sizes_[memory] - write.offset)
    fail(DT_E_FORMAT, "bytes are stored behind the end of their memory");
  auto put = [&](const char* function, uint64_t from, uint64_t to) {
    const std::string_view part = write.bytes.substr(from - write.offset, to - from);
    line(std::string(function) + "(" + variable(memory) + ", " + unsigned_text(from) + ", " +
         data_.add(part, "mapped memory") + ", " + std::to_string(part.size()) + ");");
  };
  uint64_t at = write.offset;
  const uint64_t end = write.offset + write.bytes.size();
  if (device)
    for (auto& [from, to] : stores_.in(memory, {write.offset, end})) {
      if (at < from) put("play_write", at, from);
      put(work_.may_run() ? "CHECK_UNSURE" : "CHECK_MEMORY", from, to);
      at = to;
    }
  if (at < end) put("play_write", at, end);
}

// ---- arguments ----------------------------------------------------------------------------------

int64_t VulkanExporter::count(const Call& c, int i) const {
  const vk::Param& p = c.param(i);
  return p.count == tree::ALWAYS ? 1 : std::max<int64_t>(vk::count_of(p.count, c.arguments), 0);
}

std::string VulkanExporter::argument_text(Call& c, int i) {
  const vk::Param& p = c.param(i);
  const Field& field = c.columns.function->params[static_cast<size_t>(i)];
  switch (p.way) {
    case vk::VALUE: return values_.scalar(field, c.arguments[i]);
    case vk::HANDLE: return name(c, i);
    case vk::ROOM: return c.arguments[i] ? "play_scratch" : "NULL";
    default: break;
  }
  if (!c.arguments[i]) return "NULL";
  if (p.way == vk::WORDS) return values_.text(c.at<char>(i));
  if (p.way == vk::TEMPLATE_DATA) return template_text(c, i);
  if (p.way != vk::TREE) return array_text(c, i, field);
  const auto* content = c.at<char>(i) - 8;  // behind the number of elements
  return values_.structures(field, {content, this->content(c, i).bytes});
}

std::string VulkanExporter::array_text(Call& c, int i, const Field& field) {
  const auto n = static_cast<size_t>(count(c, i));
  if (c.param(i).way == vk::HANDLES) return values_.handles(pointed_type(field.ctype), c.at<uint64_t>(i), n);
  return values_.elements(field, {c.at<char>(i), n * c.param(i).element});
}

// The content that an update with a template reads: its parts one behind the other, as the template was made here.
std::string VulkanExporter::template_text(Call& c, int i) {
  const auto* at = c.at<uint8_t>(i);
  std::string type, body;
  int number = 0;
  for (auto& [kind, n] : templates_[static_cast<uint64_t>(vk::count_of(c.param(i).count, c.arguments))]) {
    const bool block = kind == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
    const int64_t what = table::descriptor_content(kind);
    const std::string member = "part_" + std::to_string(number++);
    if (block && n % 8) fail(DT_E_ARGUMENT, "updates with a template of odd blocks cannot be written as C");
    const char* element = block       ? "uint8_t"
                          : what == 1 ? "VkDescriptorImageInfo"
                          : what == 2 ? "VkDescriptorBufferInfo"
                                      : "VkBufferView";
    type += std::string(element) + " " + member + "[" + std::to_string(n) + "]; ";
    body += (body.empty() ? "." : ", .") + member + " = {";
    for (uint32_t k = 0; k < n; ++k) {
      if (k) body += ", ";
      uint64_t words[3];
      memcpy(words, at, block ? 1 : what == 1 || what == 2 ? 24 : 8);
      if (block)
        body += std::to_string(*at);
      else if (what == 1)
        body += "{" + variable(words[0]) + ", " + variable(words[1]) + ", (VkImageLayout)" +
                std::to_string(static_cast<uint32_t>(words[2])) + "}";
      else if (what == 2)
        body += "{" + variable(words[0]) + ", " + unsigned_text(words[1]) + ", " + unsigned_text(words[2]) + "}";
      else
        body += variable(words[0]);
      at += block ? 1 : what == 1 || what == 2 ? 24 : 8;
    }
    body += "}";
  }
  return "&(struct { " + type + "}){" + body + "}";
}

// The place that handles of new objects go to. `behind`: what gives several of them their variables.
std::string VulkanExporter::made_before(Call& c, int i, std::string& behind) {
  const vk::Param& p = c.param(i);
  const auto then = recorded_array<uint64_t>(c, i);
  const auto n = static_cast<size_t>(count(c, i));
  if (then.size() < n) fail(DT_E_FORMAT, "the handles that it made were not recorded");
  uint64_t parent = 0;
  if (p.type == vk::OF_DescriptorSet)
    parent = reinterpret_cast<uint64_t>(c.at<VkDescriptorSetAllocateInfo>(1)->descriptorPool);
  if (p.type == vk::OF_CommandBuffer)
    parent = reinterpret_cast<uint64_t>(c.at<VkCommandBufferAllocateInfo>(1)->commandPool);
  if (p.type == vk::OF_Queue) parent = c.arguments[0];
  std::vector<uint64_t> numbers;
  for (size_t k = 0; k < n; ++k) numbers.push_back(then[k] ? add(p.type, then[k], parent) : 0);
  if (numbers.empty()) return "NULL";
  memcpy(c.at<uint64_t>(i), numbers.data(), n * 8);
  if (n == 1 && numbers[0]) return "&" + variable(numbers[0]);
  for (size_t k = 0; k < n; ++k)
    if (numbers[k]) behind += " " + variable(numbers[k]) + " = made[" + std::to_string(k) + "];";
  return "made";
}

// Prints a call whose arguments are built.
void VulkanExporter::print(Call& c, const std::string& function) {
  std::string text = function + "(", behind;
  size_t several = 0;
  const char* kind = "";
  for (int i = 0; i < c.command.params; ++i) {
    const bool makes = c.param(i).way == vk::MADE && c.arguments[i];
    text += (i ? ", " : "") + (makes ? made_before(c, i, behind) : argument_text(c, i));
    if (makes) several = static_cast<size_t>(count(c, i)), kind = vk::KIND_NAMES[c.param(i).type];
  }
  text += ")";
  if (function.starts_with("vk")) used_.insert(function);
  text = c.command.judged ? "VK(" + text + ");" : text + ";";
  if (text.find("made") != text.npos && several && (several > 1 || !behind.empty() || text.find(" made)") != text.npos))
    text = "{ " + std::string(kind) + " made[" + std::to_string(several) + "]; " + text + behind + " }";
  line(text);
}

void VulkanExporter::generic(Call& c) {
  if (!succeeded(c)) return;  // what failed left nothing behind
  arguments(c);
  print(c, c.command.name);
  if (const Watcher watcher = watcher_of(c.number)) (this->*watcher)(c);
}

// ---- objects ------------------------------------------------------------------------------------

uint64_t VulkanExporter::add(unsigned kind, uint64_t recorded, uint64_t parent) {
  if (kind == vk::OF_Queue)  // asked for again
    if (const vk::Object* known = objects_.find(kind, recorded)) return known->now;
  uint64_t number = 0;
  auto& unused = free_[kind];
  if (!unused.empty()) {
    number = unused.back();
    unused.pop_back();
  } else {
    const std::string name = variable_word(vk::KIND_NAMES[kind]) + "_" + std::to_string(++counts_[kind]);
    variables_.declare(name, vk::KIND_NAMES[kind], "");
    variables_of_.push_back({name, kind});
    number = variables_of_.size();
  }
  objects_.add(kind, recorded, {number, nullptr, parent});
  return number;
}

// Its variable may be another object's from here on.
void VulkanExporter::forget(const vk::Object& object) {
  const unsigned kind = variables_of_[object.now - 1].kind;
  if (kind == vk::OF_Buffer || kind == vk::OF_Image) stores_.forget(object.now);
  if (kind == vk::OF_CommandBuffer) size::g_secondary.erase(object.now);
  if (kind == vk::OF_DescriptorUpdateTemplate) templates_.erase(object.now);
  auto& unused = free_[kind];
  if (std::find(unused.begin(), unused.end(), object.now) == unused.end()) unused.push_back(object.now);
}

void VulkanExporter::destroy(Call& c) { destroy_as(c, c.command.name); }

void VulkanExporter::destroy_as(Call& c, const std::string& function) {
  int of = -1;
  for (int i = 0; i < c.command.params; ++i)
    if (c.param(i).way == vk::HANDLE) of = i;
  if (!c.recorded(of)) return;
  vk::Object object;
  const unsigned kind = c.param(of).type;
  for (int i = 0; i < of; ++i) argument(c, i);
  if (!objects_.take(kind, c.recorded(of), object))
    fail(DT_E_FORMAT, std::string(vk::KIND_NAMES[kind]) + " was not made here");
  c.arguments[of] = object.now;
  if (kind == vk::OF_DescriptorPool || kind == vk::OF_CommandPool)
    objects_.drop([&](unsigned each, const vk::Object& o) {
      if (o.parent != object.now || each != (kind == vk::OF_CommandPool ? vk::OF_CommandBuffer : vk::OF_DescriptorSet))
        return false;
      forget(o);
      return true;
    });
  const uint64_t last = kind == vk::OF_Semaphore ? work_.last_signal(object.now) : 0;
  if (last) line(wait_text(name(c, 0), variable(object.now), last, vk::ENOUGH_NS) + ";");
  print(c, function);
  forget(object);
}

void VulkanExporter::free_objects(Call& c) {
  arguments(c);
  print(c, c.command.name);
  const int of = c.command.params - 1;
  for (uint64_t recorded : recorded_array<uint64_t>(c, of)) {
    vk::Object object;
    if (recorded && objects_.take(c.param(of).type, recorded, object)) forget(object);
  }
}

void VulkanExporter::reset_pool(Call& c) {
  generic(c);
  objects_.drop([&](unsigned kind, const vk::Object& o) {
    if (kind != vk::OF_DescriptorSet || o.parent != c.arguments[1]) return false;
    forget(o);
    return true;
  });
}

void VulkanExporter::unknown(int32_t stype) { ++left_out_["structures of type " + std::to_string(stype)]; }

// ---- tables -------------------------------------------------------------------------------------

void VulkanExporter::write_tables() {
  variables_.write(folder_);
  data_.close();
  frames_.close();
  File functions(folder_ + "/functions.h"), loader(folder_ + "/functions.c");
  functions.put(
      "/* The functions that the recording calls, and nothing else: found when there is an instance. */\n"
      "#ifndef PLAY_FUNCTIONS_H\n#define PLAY_FUNCTIONS_H\n#include \"play.h\"\n\n");
  loader.put("#include \"functions.h\"\n\n");
  std::string load;
  for (auto& f : used_) {
    functions.put("extern PFN_" + f + " play_" + f + ";\n#define " + f + " play_" + f + "\n");
    loader.put("PFN_" + f + " play_" + f + ";\n");
    load += "  play_" + f + " = (PFN_" + f + ")vkGetInstanceProcAddr(instance, \"" + f + "\");\n";
  }
  functions.put("\n#endif\n");
  loader.put("\nvoid play_load_functions(VkInstance instance) {\n" + load + "}\n");
  frames_.write_list();
  for (File* file : {&functions, &loader}) file->close();
}

std::string VulkanExporter::run() {
  trace_.done = 0;
  trace_.total = trace_.calls;
  play::Feed feed(trace_, mapping_, 4);
  play::Decoded* chunk = nullptr;
  uint32_t number = 0;
  auto again = [&](play::Decoded* of, uint32_t late) { record(of, late); };
  const Work work(trace_.generation);
  while (feed.next(chunk, number, seq_) && !frames_.are_done()) {
    if (seq_ % 256 == 0) work.check(), trace_.done = seq_;
    if (!late_.empty()) late_.play(chunk->open->entries()[number], chunk->thread, seq_, again);
    if (!late_.keep(feed, chunk, number, seq_)) record(chunk, number);
  }
  late_.play(UINT64_MAX, 0, seq_, again);
  if (frames_.is_open()) end_frame(!frames_.have_ends());
  write_tables();
  for (auto& problem : feed.problems()) ++left_out_[problem];
  std::string text;
  JsonWriter json(text);
  json.object().put("frames", frames_.count()).put("repeated", frames_.repeated());
  json.values("files", frames_.files()).put("data_bytes", data_.bytes()).put("arrays", data_.count());
  json.put("sources", 0).put("gl", false).put("es", false).put("vg", false).put("vulkan", true);
  json.object("left_out");
  for (auto& [name, n] : left_out_) json.put(name, n);
  json.end().object("enumerants");
  for (auto& [name, value] : values_.enumerants()) json.put(name, value);
  json.end().values("types", values_.types());
  for (auto& [handle, of] : recorded_)
    if (!of.name.empty()) {
      json.put("device", of.name);
      break;
    }
  json.end();
  return text;
}

std::string export_vulkan(const Trace& trace, const std::string& folder, const Options& options) {
  const std::string why = vk::refused_calls(trace, play::map_functions(trace));
  if (!why.empty()) throw Error(DT_E_ARGUMENT, "this cannot be written as C: " + why);
  return VulkanExporter(trace, folder, options).run();
}

}  // namespace dt::c
