// The plan for a function of apitrace's: where its values go, or a signature made of their kinds.
#include "../core/error.h"
#include "apitrace_records.h"

namespace dt::peers::from_apitrace {
namespace {

constexpr size_t MOST_UNKNOWN_FUNCTIONS = 4096;

// A word for the signature text, in which a tab or line end would be structure.
std::string word(std::string_view text) {
  std::string out(text.substr(0, 512));
  for (char& c : out)
    if (static_cast<uint8_t>(c) < 0x21) c = '_';
  return out.empty() ? "_" : out;
}

Kind kind_of(std::string_view kind) {
  return kind == "f32" ? Kind::f32 : kind == "f64" ? Kind::f64 : kind == "bool" ? Kind::boolean : Kind::integer;
}

Element element_of(std::string_view element) {
  if (element == "u8" || element == "i8") return Element::i8;
  if (element == "u16" || element == "i16") return Element::i16;
  if (element == "u32" || element == "i32" || element == "attribs32") return Element::i32;
  if (element == "u64" || element == "i64" || element == "attribs64" || element == "ptr") return Element::i64;
  if (element == "f32") return Element::f32;
  if (element == "f64") return Element::f64;
  if (element == "char") return Element::chars;
  if (element == "strings") return Element::strings;
  if (element.starts_with("struct:")) return Element::structure;
  return Element::bytes;
}

}  // namespace

Place place_of(const ValueSignature& value) {
  Place place;
  place.slot = value.slot;
  place.kind = kind_of(value.kind);
  place.pointer = value.kind == "ptr" || value.kind == "handle";
  if (value.content) {
    place.content = value.content->slot.index;
    place.element = element_of(value.content->element);
    // A list of bytes stays one, whatever they mean.
    if (place.element == Element::bytes && value.ctype.find("byte") != value.ctype.npos) place.element = Element::i8;
  }
  return place;
}

Special special_of(const std::string& name, const Plan& plan) {
  if (const Special known = special_named(name); known != Special::none) return known;
  // A pointer without a descriptor, in a function that sets up an array: client memory that draws will read.
  if (!plan.made && plan.function && name.starts_with("gl") && name.find("Pointer") != std::string::npos)
    for (const Place& place : plan.arguments)
      if (place.pointer && place.content < 0) return Special::array_pointer;
  return Special::none;
}

void Import::plan_known(Plan& plan, const FunctionSignature& function, const ListSig& sig) {
  plan.function = &function;
  plan.has_result = function.result != nullptr;
  if (plan.has_result) plan.result = place_of(*function.result);
  plan.arguments.resize(sig.members.size());
  const bool by_position = sig.members.size() == function.parameters.size();
  for (size_t i = 0; i < sig.members.size(); i++) {
    const ValueSignature* parameter = nullptr;
    if (by_position)
      parameter = &function.parameters[i];
    else
      for (const ValueSignature& p : function.parameters)
        if (p.name == sig.members[i]) parameter = &p;
    if (parameter)
      plan.arguments[i] = place_of(*parameter);
    else
      note("arguments that drawtap's " + std::string(function.name) + " does not have");
  }
}

std::string Import::group(const EnumSig& sig, bool bitmask, std::string* groups) {
  std::string members;
  for (const auto& [name, value] : sig.members) members += "E\t" + word(name) + "\t" + std::to_string(value) + "\n";
  const auto [it, fresh] =
      groups_.emplace((bitmask ? "b" : "e") + members, "apitrace:" + std::to_string(groups_.size()));
  if (fresh) *groups += "G\t" + it->second + "\t" + (bitmask ? "bitmask" : "enum") + "\n" + members;
  return it->second;
}

// The signature line of a value, by what it is in the first call.
std::string Import::made_value(const Call& call, int32_t at, uint16_t* w8, uint16_t* w4, const char* start,
                               std::string* groups) {
  const Node none;
  const Node& node = at >= 0 ? call.nodes[static_cast<size_t>(at)] : none;
  auto wide = [&] { return "8:" + std::to_string((*w8)++); };
  auto scalar = [&](const char* ctype, const char* kind, const std::string& slot, const std::string& group = "-") {
    return std::string(start) + ctype + "\t" + kind + "\t" + slot + "\t" + group + "\t-\n";
  };
  auto pointer = [&](const char* ctype, const std::string& element) {
    std::string line = scalar(ctype, "ptr", wide());
    return line + "D\t" + wide() + "\t" + element + "\tin\t-\n";
  };
  switch (node.type) {
    case Type::no:
    case Type::yes: return scalar("bool", "bool", "4:" + std::to_string((*w4)++));
    case Type::sint:
    case Type::uint: return scalar("int64_t", "i64", wide());
    case Type::f32: return scalar("float", "f32", "4:" + std::to_string((*w4)++));
    case Type::f64: return scalar("double", "f64", wide());
    case Type::enumerant: return scalar("enum", "enum", wide(), group(reader_.enums(node.sig), false, groups));
    case Type::bitmask: return scalar("bitmask", "bitmask", wide(), group(reader_.bitmask(node.sig), true, groups));
    case Type::string:
    case Type::wstring:
    case Type::structure:
    case Type::repr: return pointer("const char *", "char");
    case Type::array: {
      const auto first = static_cast<size_t>(at) + 1;
      const Type type = first < node.end ? call.nodes[first].type : Type::null;
      if (type == Type::string) return pointer("const char * const *", "strings");
      if (type == Type::f32) return pointer("const float *", "f32");
      if (type == Type::f64) return pointer("const double *", "f64");
      if (type == Type::structure || type == Type::array || type == Type::repr) return pointer("const char *", "char");
      return pointer("const int64_t *", "i64");
    }
    default: return pointer("const void *", "bytes");
  }
}

void Import::plan_made(Plan& plan, const Call& call, const ListSig& sig) {
  plan.made = true;
  if (unknown_ >= MOST_UNKNOWN_FUNCTIONS || next_id_ >= DT_FN_FIRST_TAP)
    return note("calls of unknown functions left out: there are more of them than a trace can have");
  unknown_++;
  uint16_t w8 = 0, w4 = 0;
  std::string groups, lines;
  if (call.result >= 0) lines += made_value(call, call.result, &w8, &w4, "R\t", &groups);
  for (size_t i = 0; i < sig.members.size(); i++)
    lines += made_value(call, call.arguments[i], &w8, &w4, ("P\t" + word(sig.members[i]) + "\t").c_str(), &groups);
  const std::string& name = sig.name;
  const char* api = name.starts_with("glX")   ? "glx"
                    : name.starts_with("egl") ? "egl"
                    : name.starts_with("gl")  ? "gl"
                                              : "apitrace";
  const std::string head = "F\t" + std::to_string(next_id_) + "\t" + api + "\t" + word(name) + "\t" +
                           std::to_string(w8) + "\t" + std::to_string(w4) + "\t-\t-\n";
  const std::string error = writer_.add_signatures("V\t1\n" + groups + head + lines);
  if (!error.empty()) throw Error(DT_E_FORMAT, name + ": " + error);
  const FunctionSignature* function = writer_.signatures().function(next_id_++);
  if (!function) return;
  plan_known(plan, *function, sig);
}

Plan& Import::plan(const Call& call) {
  if (plans_.size() <= call.function) plans_.resize(call.function + 1);
  auto& plan = plans_[call.function];
  if (plan) return *plan;
  plan = std::make_unique<Plan>();
  const ListSig& sig = reader_.function(call.function);
  auto it = by_name_.find(sig.name);
  if (it != by_name_.end() && !sig.name.starts_with("dtap"))
    plan_known(*plan, *it->second, sig);
  else
    plan_made(*plan, call, sig);
  plan->special = special_of(sig.name, *plan);
  return *plan;
}

}  // namespace dt::peers::from_apitrace
