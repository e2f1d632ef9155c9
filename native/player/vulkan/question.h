// Questions about draws that copies of command buffers answer: the history of a pixel, fragments by pixel, vertices.
#pragma once
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "../../common/json.h"
#include "snapshots.h"

namespace dt::play::vk {

class Copier;

// The commands that a plan is about: those of one command buffer of a submission, and what copies them.
struct Submitted {
  Snapshots& snapshots;
  Device& device;
  Copier& copier;
  const Stream& stream;
  uint64_t submit;
};

// The plan for one command buffer: where its copy does more than it.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual void before(size_t at) = 0;  // while layouts are those before the command
  virtual void behind(size_t at) = 0;
  virtual void end() {}
  bool any() const { return any_; }  // else the command buffer itself is submitted

 protected:
  bool any_ = false;
};

class Question {
 public:
  Question() = default;
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  virtual ~Question() = default;
  // The request's members: first, call (the last submission), draw (its last command), image (the recorded handle),
  // level, layer. False: it makes no sense.
  virtual bool ask(const Json& request);
  virtual bool wants(uint64_t submit) const { return submit >= first && submit <= last && !met; }
  virtual std::unique_ptr<Plan> plan(const Submitted& of) = 0;
  // Takes the results of a submission's queries and reads, in the order of the commands.
  virtual void take(Device& device, const std::vector<Tested>& tested, const std::vector<Taken>& reads) = 0;
  virtual void write(FILE* to) const = 0;

  // A pipeline's variant; nullptr: the driver refuses it.
  VkPipeline variant(Device& device, VkPipeline of, const KeptPipeline& kept, const VariantWish& wish);
  void forget(VkPipeline of);  // it ends, and what was made of it
  void forget(VkRenderPass of);
  virtual void forget();  // all of it, and objects of the question's own
  // Makes an object of the question's own, unless `made` has one. It stays nullptr where the driver refuses.
  void make(Device& device, const VkShaderModuleCreateInfo& info, VkShaderModule& made);
  void make(Device& device, const VkRenderPassCreateInfo& info, VkRenderPass& made);

  uint64_t first = 0, last = 0, draw = 0, image = 0;
  uint32_t level = 0, layer = 0;
  bool met = false;  // the last command ran

 private:
  using Key = std::tuple<VkPipeline, uint8_t, VkRenderPass, uint32_t, uint32_t, bool>;
  template <class F> void drop(F&& which);
  std::map<Key, std::pair<Device*, VkPipeline>> variants_;
  std::vector<std::function<void()>> ends_;  // of objects of its own
};

// nullptr: there is no such question, or it makes no sense.
std::unique_ptr<Question> question_of(const Json& request);

}  // namespace dt::play::vk
