// Calls: from records to the driver.
#include <algorithm>
#include <cstring>

#include "../../core/error.h"
#include "meter.h"
#include "player.h"

namespace dt::size {

// Command buffers here that are secondary ones, which a rule of the recording's structures asks for.
std::unordered_set<uint64_t> g_secondary;
int64_t is_secondary(int64_t buffer) { return g_secondary.count(static_cast<uint64_t>(buffer)); }

// Sizes of what is refused.
int64_t capture_bytes(int64_t) { return 0; }
int64_t instrumentation_bytes(int64_t) { return 0; }
int64_t host_copy_bytes(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) { return 0; }
int64_t tensor_bytes(int64_t) { return 0; }

}  // namespace dt::size

namespace dt::play::vk {
namespace {

bool is_dispatchable(unsigned kind) {
  return kind == OF_Instance || kind == OF_PhysicalDevice || kind == OF_Device || kind == OF_Queue ||
         kind == OF_CommandBuffer;
}

}  // namespace

void Objects::add(unsigned kind, uint64_t recorded, const Object& object) {
  // These end with others, or never, without a call of their own.
  const bool replaces = is_dispatchable(kind) || kind == OF_DescriptorSet;
  auto [it, fresh] = current_[kind].emplace(recorded, object);
  if (fresh) return;
  if (!replaces) older_[kind].emplace(recorded, it->second);
  it->second = object;
}

bool Objects::take(unsigned kind, uint64_t recorded, Object& out) {
  if (auto old = older_[kind].find(recorded); old != older_[kind].end()) {
    out = old->second;
    older_[kind].erase(old);
    return true;
  }
  auto it = current_[kind].find(recorded);
  if (it == current_[kind].end()) return false;
  out = it->second;
  current_[kind].erase(it);
  return true;
}

std::string Player::where() const {
  return "call " + std::to_string(seq_) + (*running_ ? " " + std::string(running_) : "");
}

void Player::fail(int code, const std::string& what) const { throw Error(code, where() + ": " + what); }

// ---- what relocation asks -----------------------------------------------------------------------

uint64_t Player::handle(unsigned kind, uint64_t recorded, bool any) {
  if (!recorded) return 0;
  if (const Object* object = objects_.find(kind, recorded)) return object->now;
  if (any) return 0;
  char text[120];
  snprintf(text, sizeof text, "%s 0x%llx was not made in this recording", KIND_NAMES[kind],
           static_cast<unsigned long long>(recorded));
  fail(DT_E_FORMAT, text);
}

bool Player::stays(int32_t stype) {
  switch (stype) {
    // call-backs into the program, its other libraries, what others may see of its memory
    case VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT:
    case VK_STRUCTURE_TYPE_DEBUG_REPORT_CALLBACK_CREATE_INFO_EXT:
    case VK_STRUCTURE_TYPE_DEVICE_DEVICE_MEMORY_REPORT_CREATE_INFO_EXT:
    case VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT:
    case VK_STRUCTURE_TYPE_DIRECT_DRIVER_LOADING_LIST_LUNARG:
    case VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO:
    case VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO:
    case VK_STRUCTURE_TYPE_EXPORT_FENCE_CREATE_INFO:
    case VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO:
    case VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO:
    case VK_STRUCTURE_TYPE_MEMORY_OPAQUE_CAPTURE_ADDRESS_ALLOCATE_INFO:
    case VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO:
    case VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO: return false;
    case VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR:
    case VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT:
      fail(DT_E_ARGUMENT, "memory that is not Vulkan's own cannot be played: it is not in the recording");
    case VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR:
    case VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_SWAPCHAIN_INFO_KHR:
      fail(DT_E_ARGUMENT, "images that the program binds to a swapchain itself cannot be played");
    default: return true;
  }
}

void Player::unknown(int32_t stype) {
  report("unknown", seq_, running_, "structure type " + std::to_string(stype) + " is not known here: left out");
}

void* Player::room(size_t bytes) {
  rooms_.push_back(std::make_unique<uint8_t[]>(bytes + 16));
  return rooms_.back().get();
}

void Player::described(uint64_t update, uint8_t* at, size_t bytes) {
  auto known = templates_.find(update);
  if (known == templates_.end()) fail(DT_E_FORMAT, "its descriptor update template was not made in this recording");
  size_t place = 0;
  auto map = [&](size_t inside, unsigned kind) {
    uint64_t recorded;
    memcpy(&recorded, at + place + inside, 8);
    recorded = handle(kind, recorded, kind != OF_Buffer);
    memcpy(at + place + inside, &recorded, 8);
  };
  for (auto& [type, count] : known->second) {
    const bool block = type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
    const int64_t what = table::descriptor_content(type);
    const size_t width = block ? 1 : what == 1 ? 24 : what == 2 ? 24 : 8;
    if (count > (bytes - place) / width) fail(DT_E_FORMAT, "the recording has less than the update reads");
    if (block) {
      place += count;
      continue;
    }
    for (uint32_t i = 0; i < count; ++i, place += width) {
      if (what == 1)
        map(0, OF_Sampler), map(8, OF_ImageView);
      else
        map(0, what == 2 ? OF_Buffer : OF_BufferView);
      VkDescriptorBufferInfo buffer{};
      VkBufferView view{};
      if (what == 2) memcpy(&buffer, at + place, sizeof buffer);
      if (what == 3) memcpy(&view, at + place, sizeof view);
      stored_by(type, what == 2 ? &buffer : nullptr, what == 3 ? &view : nullptr);
    }
  }
}

// ---- arguments ----------------------------------------------------------------------------------

Content Player::content(const Call& c, int i) {
  const Param& p = c.param(i);
  if (p.data < 0) return {};
  const uint64_t d = c.columns.w8[static_cast<size_t>(p.data)][c.row];
  const uint64_t* starts = c.columns.starts[static_cast<size_t>(p.payload)];
  const uint8_t* at = c.columns.decoded->payload_base + starts[c.row];
  switch (DT_DATA_KIND(d)) {
    case DT_DATA_INLINE: return {at, DT_DATA_LENGTH(d)};
    case DT_DATA_BLOB: {
      Hash128 hash;
      memcpy(&hash, at, 16);
      held_.push_back(blobs_.get(trace_, hash));
      return {held_.back()->data(), held_.back()->size()};
    }
    default: return {};
  }
}

template <class T> std::vector<T> Player::recorded_array(const Call& c, int i) {
  const Content in = content(c, i);
  std::vector<T> out(in.bytes / sizeof(T));
  if (!out.empty()) memcpy(out.data(), in.data, out.size() * sizeof(T));
  return out;
}
template std::vector<uint64_t> Player::recorded_array(const Call& c, int i);
template std::vector<uint32_t> Player::recorded_array(const Call& c, int i);

void* Player::structures(Call& c, int i, int64_t need) {
  const Param& p = c.param(i);
  const Content in = content(c, i);
  if (!in) fail(DT_E_FORMAT, "its structures were not recorded");
  auto* copy = static_cast<uint8_t*>(room(in.bytes));
  memcpy(copy, in.data, in.bytes);
  try {
    return Relocation(*this, copy, in.bytes).root(p.type, need, p.element ? c.arguments : nullptr);
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with("call ")) throw;
    fail(error.code, error.what());
  }
}

void Player::argument(Call& c, int i) {
  const Param& p = c.param(i);
  uint64_t& out = c.arguments[i];
  const uint64_t recorded = c.recorded(i);
  if (p.way == VALUE) return void(out = recorded);
  if (p.way == HANDLE) return void(out = handle(p.type, recorded, false));
  if (!recorded || p.way == NOTHING) return;
  if (p.way == WORDS || p.way == TEMPLATE_DATA) {
    const Content in = content(c, i);
    if (!in) fail(DT_E_FORMAT, "an argument was not recorded");
    auto* copy = static_cast<uint8_t*>(room(in.bytes + 1));
    memcpy(copy, in.data, in.bytes);
    if (p.way == TEMPLATE_DATA) described(static_cast<uint64_t>(count_of(p.count, c.arguments)), copy, in.bytes);
    return void(out = reinterpret_cast<uint64_t>(copy));
  }
  const int64_t need = p.count == tree::ALWAYS ? 1 : count_of(p.count, c.arguments);
  const int64_t width = p.way == TREE ? tree::TYPES[p.type].size : p.element;
  if (need <= 0) return;
  if (need > MOST_ROOM / width) fail(DT_E_FORMAT, "an argument is larger than any");
  if (p.way == TREE) {
    out = reinterpret_cast<uint64_t>(structures(c, i, need));
    if (p.stride >= 0) c.arguments[p.stride] = static_cast<uint64_t>(width);
    return;
  }
  const auto bytes = static_cast<size_t>(need * width);
  auto* at = static_cast<uint8_t*>(room(bytes));
  out = reinterpret_cast<uint64_t>(at);
  if (p.way == MADE || p.way == ROOM) return;
  const Content in = content(c, i);
  if (!in || in.bytes < bytes) fail(DT_E_FORMAT, "an argument is shorter in the recording than the call needs");
  memcpy(at, in.data, bytes);
  if (p.way != HANDLES) return;
  for (size_t k = 0; k < bytes; k += 8) {
    uint64_t one;
    memcpy(&one, at + k, 8);
    one = handle(p.type, one, false);
    memcpy(at + k, &one, 8);
  }
}

void Player::build(Call& c) {
  for (int pass = 0; pass < 3; ++pass)
    for (int i = 0; i < c.command.params; ++i) {
      const Param& p = c.param(i);
      const int own = p.way == VALUE || p.way == HANDLE ? 0 : p.late ? 2 : 1;
      if (own == pass) argument(c, i);
    }
  if (c.table) return;
  c.table = &global_;
  if (c.command.params && c.param(0).way == HANDLE)
    if (const Object* first = objects_.find(c.param(0).type, c.recorded(0))) c.table = first->owner;
}

uint64_t Player::invoke(Call& c) {
  void* function = c.table->get(c.number);
  if (!function && c.command.alias != number::COMMANDS) function = c.table->get(c.command.alias);
  if (!function) fail(DT_E_ARGUMENT, "the driver here does not have it");
  if (meter_) meter_->enter(seq_);
  const uint64_t result = c.command.shape(function, c.arguments);
  if (meter_) meter_->leave();
  if (c.command.judged) check(c, static_cast<VkResult>(result));
  return result;
}

void Player::check(Call& c, VkResult now) {
  const VkResult then = c.result();
  if (now == then || (now >= 0 && then >= 0)) return;
  const std::string text = "the result is " + std::to_string(now) + ", in the recording " + std::to_string(then);
  bool makes = now == VK_ERROR_DEVICE_LOST;
  for (int i = 0; i < c.command.params; ++i) makes |= c.param(i).way == MADE;
  if (makes && now < 0) fail(DT_E_ARGUMENT, text);
  report("result", seq_, c.command.name, text);
}

// New objects get the names that the recording has for them.
void Player::made(Call& c) {
  for (int i = 0; i < c.command.params; ++i) {
    const Param& p = c.param(i);
    if (p.way != MADE || !c.arguments[i]) continue;
    const auto then = recorded_array<uint64_t>(c, i);
    const auto count =
        static_cast<size_t>(std::max<int64_t>(p.count == tree::ALWAYS ? 1 : count_of(p.count, c.arguments), 0));
    if (then.size() < count) fail(DT_E_FORMAT, "the handles that it made were not recorded");
    Object object;
    object.owner = c.table;
    if (p.type == OF_DescriptorSet) object.parent = (uint64_t)c.at<VkDescriptorSetAllocateInfo>(1)->descriptorPool;
    if (p.type == OF_CommandBuffer) object.parent = (uint64_t)c.at<VkCommandBufferAllocateInfo>(1)->commandPool;
    for (size_t k = 0; k < count; ++k) {
      object.now = c.at<uint64_t>(i)[k];
      if (then[k]) objects_.add(p.type, then[k], object);
    }
  }
}

void Player::generic(Call& c) {
  if (!succeeded(c)) return;  // what failed left nothing behind
  build(c);
  if (snapshots_) snapshots_->prepare(c, seq_);
  if (meter_) meter_->before(c, seq_, frame_);
  invoke(c);
  made(c);
  if (meter_) meter_->after(c);
  if (const Handler watcher = watchers_[c.number]) (this->*watcher)(c);
  if (snapshots_) snapshots_->keep(c, seq_, rooms_);
}

void Player::destroy(Call& c) {
  int of = -1;
  for (int i = 0; i < c.command.params; ++i)
    if (c.param(i).way == HANDLE) of = i;
  const uint64_t recorded = c.recorded(of);
  if (!recorded) return;
  Object object;
  const unsigned kind = c.param(of).type;
  for (int i = 0; i < of; ++i) argument(c, i);
  if (!objects_.take(kind, recorded, object)) fail(DT_E_FORMAT, std::string(KIND_NAMES[kind]) + " was not made here");
  c.arguments[of] = object.now;
  c.table = object.owner;
  if (kind == OF_DescriptorPool || kind == OF_CommandPool)
    objects_.drop([&](unsigned each, const Object& o) {
      if (o.parent != object.now || each != (kind == OF_CommandPool ? OF_CommandBuffer : OF_DescriptorSet))
        return false;
      if (snapshots_) snapshots_->forget(each, o.now, *c.table);
      return true;
    });
  if (kind == OF_DescriptorUpdateTemplate) templates_.erase(object.now);
  if (kind == OF_Buffer || kind == OF_Image) stores_.forget(object.now);
  if (!snapshots_ || snapshots_->forget(kind, object.now, *c.table)) invoke(c);
  if (kind == OF_Image) free_own_memory(*c.table, object.now);
}

void Player::free_objects(Call& c) {
  build(c);
  const int of = c.command.params - 1;
  for (uint64_t recorded : recorded_array<uint64_t>(c, of)) {
    Object object;
    if (!recorded || !objects_.take(c.param(of).type, recorded, object)) continue;
    if (snapshots_) snapshots_->forget(c.param(of).type, object.now, *c.table);
    if (c.param(of).type == OF_CommandBuffer) size::g_secondary.erase(object.now);
  }
  invoke(c);
}

void Player::reset_pool(Call& c) {
  build(c);
  invoke(c);
  objects_.drop([&](unsigned kind, const Object& o) { return kind == OF_DescriptorSet && o.parent == c.arguments[1]; });
}

void Player::call(Call& c) {
  running_ = c.command.name;
  if (c.command.refused) fail(DT_E_ARGUMENT, std::string(c.command.refused) + " cannot be played yet");
  const Handler handler = handlers_[c.number];
  if (handler)
    (this->*handler)(c);
  else if (c.command.skipped)
    return;
  else
    generic(c);
}

void Player::play(Decoded* chunk, uint32_t record) {
  const uint32_t f = chunk->order[record];
  const int known = chunk->known[f];
  if (known == -1) return tap_record(chunk, record);
  const Columns& columns = chunk->columns[f];
  const uint64_t beat = columns.function ? columns.function->id : 0xffff;
  __atomic_store_n(heartbeat_, (seq_ & 0xffffffffffff) | beat << 48, __ATOMIC_RELAXED);
  rooms_.clear();
  held_.clear();
  if (known < 0) {
    const std::string name = columns.function ? columns.function->name : "a function without a name";
    if (!columns.function || columns.function->api == "vk") fail(DT_E_ARGUMENT, name + " is not known here");
    ++skipped_;
    report("skipped", seq_, name, "not played");
  } else {
    Call c{COMMANDS[known], static_cast<uint16_t>(known), columns, chunk->ordinals[record]};
    call(c);
    ++calls_;
  }
  if (seq_ == end_seq_) frame_end();
  running_ = "";
}

void Player::tap_record(Decoded* chunk, uint32_t record) {
  const uint32_t f = chunk->order[record];
  const unsigned id = chunk->open->info.functions[f].id();
  const FunctionColumns& c = *chunk->columns[f].decoded;
  const uint32_t row = chunk->ordinals[record];
  rooms_.clear();
  held_.clear();
  if (id == DT_FN_MEMORY_WRITE || id == DT_FN_DEVICE_WRITE) return memory_write(c, row, id == DT_FN_DEVICE_WRITE);
  if (id != DT_FN_NOTE || !c.function) return;
  const Field *code = nullptr, *text = nullptr;
  for (auto& p : c.function->params) (p.name == "code" ? code : text) = &p;
  if (!code || !text || !code->has_data() || !text->has_data()) return;
  const std::string_view word = c.payload(*code, row);
  if (word == "map-lost" || word == "vulkan-imported-memory" || word == "vulkan-size-unknown" || word == "began-late")
    report("recording", seq_, "", std::string(c.payload(*text, row)));
}

}  // namespace dt::play::vk
