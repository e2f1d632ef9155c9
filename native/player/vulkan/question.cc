#include "question.h"

#include <utility>

#include "counts.h"
#include "history.h"
#include "vertices.h"

namespace dt::play::vk {

std::unique_ptr<Question> question_of(const Json& request) {
  const std::string what = request["find"].text();
  std::unique_ptr<Question> made;
  if (what == "history") made = std::make_unique<History>();
  if (what == "mesh") made = std::make_unique<Vertices>();
  if (what == "masks" || what == "overdraw") made = std::make_unique<Counts>(what == "masks");
  return made && made->ask(request) ? std::move(made) : nullptr;
}

bool Question::ask(const Json& request) {
  constexpr uint32_t MOST_LEVELS = 32;  // sizes have 32 bits
  return request["first"].read(first) && request["call"].read(last) && request["draw"].read(draw) &&
         request["image"].read(image) && request["level"].read(level) && request["layer"].read(layer) &&
         level < MOST_LEVELS;
}

// ---- variants of pipelines --------------------------------------------------------------------------------------

VkPipeline Question::variant(Device& device, VkPipeline of, const KeptPipeline& kept, const VariantWish& wish) {
  auto [it, fresh] =
      variants_.try_emplace({of, wish.last, wish.pass, wish.subpass, wish.scissors, wish.counts}, &device, nullptr);
  if (fresh) it->second.second = make_variant(device, kept, wish);
  return it->second.second;
}

template <class F> void Question::drop(F&& which) {
  std::erase_if(variants_, [&](auto& each) {
    if (!which(each.first)) return false;
    auto& [device, pipeline] = each.second;
    if (pipeline) DT_VK(*device, vkDestroyPipeline)(device->device, pipeline, nullptr);
    return true;
  });
}

void Question::forget(VkPipeline of) {
  drop([&](const Key& key) { return std::get<0>(key) == of; });
}
void Question::forget(VkRenderPass of) {
  drop([&](const Key& key) { return std::get<2>(key) == of; });
}
void Question::forget() {
  drop([](const Key&) { return true; });
  for (auto& end : std::exchange(ends_, {})) end();
}

void Question::make(Device& device, const VkShaderModuleCreateInfo& info, VkShaderModule& made) {
  if (made || DT_VK(device, vkCreateShaderModule)(device.device, &info, nullptr, &made) != VK_SUCCESS) return;
  ends_.emplace_back(
      [&] { DT_VK(device, vkDestroyShaderModule)(device.device, std::exchange(made, nullptr), nullptr); });
}

void Question::make(Device& device, const VkRenderPassCreateInfo& info, VkRenderPass& made) {
  if (made || DT_VK(device, vkCreateRenderPass)(device.device, &info, nullptr, &made) != VK_SUCCESS) return;
  ends_.emplace_back([&] { DT_VK(device, vkDestroyRenderPass)(device.device, std::exchange(made, nullptr), nullptr); });
}

}  // namespace dt::play::vk
