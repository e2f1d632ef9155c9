// Structures of Vulkan as C: compound literals with designated initialisers, by what a recording says of its types.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>

#include "../core/structures.h"
#include "source.h"

namespace dt::c {

class VulkanValues {
 public:
  struct Host {
    virtual std::string variable(uint64_t number) = 0;  // of an object; 0: none
    // A room that an answer goes to.
    virtual std::string scratch() = 0;

   protected:
    ~Host() = default;
  };
  VulkanValues(Host& host, const Signatures& names, Data& data)
      : host_(host), structures_(Structures::of(names)), data_(data) {}

  // The structures of a content, as the address of one, or as an array. Handles in it are numbers of variables, and
  // addresses lead to where the content lies in memory.
  std::string structures(const Field& field, std::string_view content);
  // Elements that a parameter leads to; `bytes`: all of them.
  std::string elements(const Field& field, std::string_view bytes);
  std::string handles(const std::string& type, const uint64_t* numbers, size_t count);
  std::string scalar(const Field& field, uint64_t raw);
  std::string text(std::string_view characters);
  std::string enumerant(const EnumGroup* group, int64_t value, const std::string& ctype);
  std::string mask(const EnumGroup* group, uint64_t value);

  const std::map<std::string, int64_t>& enumerants() const { return enumerants_; }
  const std::set<std::string>& types() const { return types_; }

 private:
  std::string body(const StructType& type, size_t at);
  std::string member(const StructType& outer, size_t outer_at, const StructMember& m, size_t slot);
  std::string in_place(const StructType& outer, size_t outer_at, const StructMember& m, size_t slot);
  using Choice = std::function<bool(const StructMember&)>;
  std::string union_body(const StructType& type, size_t at, const Choice& is_one);
  std::string pointed(const StructMember& m, size_t slot);
  std::string each(const StructMember& m, Tree::Block block);
  std::string many(const StructType& type, Tree::Block block);
  std::string values(const StructMember& m, Tree::Block block);
  std::string fixed(const StructMember& m, size_t slot);
  std::string value(const StructMember& m, size_t at, size_t index);
  std::string chain(size_t slot);
  std::string literal_of(const StructType& type, size_t at);
  Tree::Block follow(size_t slot, size_t width);
  bool is_plain(const StructType& type, unsigned depth = 0);
  const std::string& type_name(const StructType& type);
  std::string stored(std::string_view bytes, const std::string& type, const std::string& what);
  std::string words(std::string_view bytes, const std::string& what);
  void named(const std::string& name, int64_t value);
  std::string_view slice(size_t at, size_t bytes) const { return Tree(content_).bytes(at, bytes); }
  // Many addresses may lead to the same: there are no more structures and texts than the content has room for.
  void spend(uint64_t n) {
    if (n > left_) throw Error(DT_E_FORMAT, "a structure is deeper or larger than any");
    left_ -= n;
  }

  Host& host_;
  const Structures& structures_;
  Data& data_;
  std::string_view content_;
  std::map<std::string, int64_t> enumerants_;
  std::set<std::string> types_;
  std::map<const StructType*, bool> plain_;
  uint64_t left_ = 0;
  unsigned depth_ = 0;
};

// "VkBuffer" of "const VkBuffer *"; void: "".
std::string pointed_type(std::string_view ctype);

}  // namespace dt::c
