// Calls: from records to the driver.
#include <algorithm>
#include <cstring>

#include "../../core/error.h"
#include "meter.h"
#include "player.h"

namespace dt::play::vk {
void Player::unknown(int32_t stype) {
  report("unknown", seq_, running_, "structure type " + std::to_string(stype) + " is not known here: left out");
}

void Player::build(Call& c) {
  arguments(c);
  if (c.table) return;
  c.table = &global_;
  if (c.command.params && c.param(0).way == HANDLE)
    if (const Object* first = objects_.find(c.param(0).type, c.recorded(0))) c.table = first->owner;
}

uint64_t Player::invoke(Call& c) {
  void* function = c.table->get(c.command);
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
  if (watchers_[c.number] == &Player::watch_submit && !work_.waits_end(c)) never_signalled();
  if (meter_) meter_->before(c, seq_, frame_);  // which looks for the program's command buffers, not for copies
  if (snapshots_) snapshots_->prepare(c, seq_);
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
  if (kind == OF_Semaphore) end_timeline(*c.table, c.as<VkDevice>(0), c.as<VkSemaphore>(of));
  if (kind == OF_DescriptorUpdateTemplate) templates_.erase(object.now);
  if (kind == OF_Buffer || kind == OF_Image) stores_.forget(object.now);
  if (!snapshots_ || snapshots_->forget(kind, object.now, *c.table))
    invoke(c);
  else if (meter_)
    meter_->enter(seq_), meter_->leave();  // for whoever measures, the call is made
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
    Call c{COMMANDS[known], COMMANDS[known].number, columns, chunk->ordinals[record]};
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
