// Values of apitrace's calls in our records.
#include <bit>
#include <cstring>

#include "apitrace_records.h"
#include "interleaved.h"

namespace dt::peers::from_apitrace {
namespace {

bool is_number(Type type) {
  return type <= Type::f64 || type == Type::enumerant || type == Type::bitmask || type == Type::opaque;
}

double to_double(const Node& node) {
  switch (node.type) {
    case Type::f32: return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(node.value)));
    case Type::f64: return std::bit_cast<double>(node.value);
    case Type::sint:
    case Type::enumerant: return static_cast<double>(static_cast<int64_t>(node.value));
    default: return static_cast<double>(node.value);
  }
}

}  // namespace

uint64_t to_integer(const Node& node) {
  if (!is_number(node.type)) return 0;
  if (node.type != Type::f32 && node.type != Type::f64) return node.value;
  const double v = to_double(node);
  if (!(v > -9.2e18 && v < 9.2e18)) return 0;
  return static_cast<uint64_t>(static_cast<int64_t>(v));
}

void Import::scalars(Element element, const Call& call, uint32_t at, std::string* out) {
  const Node& array = call.nodes[at];
  auto add = [&](auto value) { out->append(reinterpret_cast<const char*>(&value), sizeof value); };
  const bool plain = element == Element::bytes || element == Element::structure;
  for (uint32_t i = at + 1; i < array.end; i = call.nodes[i].end) {
    const Node& node = call.nodes[i];
    switch (element) {
      case Element::i8: add(static_cast<uint8_t>(to_integer(node))); break;
      case Element::i16: add(static_cast<uint16_t>(to_integer(node))); break;
      case Element::i32: add(static_cast<uint32_t>(to_integer(node))); break;
      case Element::i64:
        if (node.type == Type::blob && node.sig) {
          // A pointer in a list of them, and what stands there.
          threads_[call.thread].memory.emplace_back(next_address_, call.content(node));
          add(next_address_);
          next_address_ += 1ull << 30;
        } else {
          add(to_integer(node));
        }
        break;
      case Element::f32: add(static_cast<float>(to_double(node))); break;
      case Element::f64: add(to_double(node)); break;
      case Element::strings: {
        const bool text = node.type == Type::string || node.type == Type::blob;
        const std::string_view content = text ? call.content(node) : std::string_view();
        add(static_cast<uint32_t>(content.size()));
        *out += content;
        break;
      }
      default:
        // Nothing says how wide they are: as C has them by default.
        if (!plain) break;
        if (node.type == Type::f64)
          add(to_double(node));
        else if (node.type == Type::f32)
          add(static_cast<float>(to_double(node)));
        else if (node.type == Type::opaque)
          add(node.value);
        else if (node.type == Type::array || node.type == Type::structure)
          scalars(element, call, i, out);
        else if (node.type == Type::string || node.type == Type::blob)
          *out += call.content(node);
        else
          add(static_cast<uint32_t>(to_integer(node)));
    }
  }
}

// A value as text, for what has no form of ours.
void Import::describe(const Call& call, uint32_t at, std::string* out) {
  const Node& node = call.nodes[at];
  char number[40];
  switch (node.type) {
    case Type::null: *out += "NULL"; break;
    case Type::no: *out += "false"; break;
    case Type::yes: *out += "true"; break;
    case Type::sint: *out += std::to_string(static_cast<int64_t>(node.value)); break;
    case Type::uint: *out += std::to_string(node.value); break;
    case Type::f32:
    case Type::f64:
      snprintf(number, sizeof number, "%.9g", to_double(node));
      *out += number;
      break;
    case Type::string:
    case Type::wstring: (*out += '"').append(call.content(node)) += '"'; break;
    case Type::blob: *out += "blob(" + std::to_string(node.sig) + ")"; break;
    case Type::enumerant:
    case Type::bitmask: {
      const EnumSig& sig = node.type == Type::enumerant ? reader_.enums(node.sig) : reader_.bitmask(node.sig);
      for (const auto& [name, value] : sig.members)
        if (static_cast<uint64_t>(value) == node.value) {
          *out += name;
          return;
        }
      *out += std::to_string(static_cast<int64_t>(node.value));
      break;
    }
    case Type::opaque:
      snprintf(number, sizeof number, "0x%llx", static_cast<unsigned long long>(node.value));
      *out += number;
      break;
    case Type::repr:
      if (at + 1 < node.end) describe(call, at + 1, out);
      break;
    case Type::array:
    case Type::structure: {
      *out += '{';
      size_t member = 0;
      for (uint32_t i = at + 1; i < node.end; i = call.nodes[i].end, member++) {
        if (member) *out += ", ";
        if (node.type == Type::structure) *out += reader_.structure(node.sig).members[member] + " = ";
        describe(call, i, out);
      }
      *out += '}';
      break;
    }
  }
}

std::string_view Import::content(Element element, const Call& call, uint32_t at) {
  const Node& node = call.nodes[at];
  if ((node.type == Type::string || node.type == Type::blob || node.type == Type::wstring) &&
      element != Element::strings)
    return call.content(node);
  if (pieces_used_ == pieces_.size()) pieces_.emplace_back();
  std::string& out = pieces_[pieces_used_++];
  out.clear();
  if (element == Element::chars) {
    describe(call, at, &out);
  } else if (node.type == Type::array || node.type == Type::structure) {
    // XVisualInfo, the one structure with padding and 8-byte numbers: as C lays it out on 64-bit machines.
    if (node.type == Type::structure && reader_.structure(node.sig).name == "XVisualInfo" && node.end - at == 11) {
      const int widths[] = {8, 8, 4, 4, 4, 4 /* padding */, 8, 8, 8, 4, 4};
      uint32_t i = at + 1;
      for (size_t field = 0; field < 11; field++) {
        const uint64_t value = field == 5 ? 0 : call.nodes[i++].value;
        out.append(reinterpret_cast<const char*>(&value), static_cast<size_t>(widths[field]));
      }
    } else {
      scalars(element, call, at, &out);
    }
  } else if (element == Element::strings) {
    const std::string_view text = node.type == Type::string ? call.content(node) : std::string_view();
    const auto bytes = static_cast<uint32_t>(text.size());
    out.append(reinterpret_cast<const char*>(&bytes), 4).append(text);
  }
  return out;
}

void Import::put(const Place& place, const Call& call, uint32_t at) {
  const Node& node = call.nodes[at];
  if (place.content < 0 && !place.slot.width) return;
  if (place.content >= 0) {
    const auto slot = static_cast<uint16_t>(place.content);
    if (is_number(node.type) && !(place.element == Element::chars && node.type >= Type::no && node.type <= Type::f64)) {
      record_.set(place.slot, to_integer(node));
      // An address of memory that apitrace did not write down, or an offset into a buffer.
      if (node.type != Type::null)
        record_.set_kind(slot, to_integer(node) < LOWEST_ADDRESS ? DT_DATA_OFFSET : DT_DATA_UNKNOWN);
      return;
    }
    if (node.type == Type::repr && at + 2 <= node.end) {
      // The second of the two is what the machine sees.
      const uint32_t machine = call.nodes[at + 1].end;
      if (machine < node.end && place.element != Element::chars) return put(place, call, machine);
    }
    record_.set_content(slot, content(place.element, call, at));
    return;
  }
  const Node* number = &node;
  if (node.type == Type::array || node.type == Type::structure) {
    if (at + 1 >= node.end) return;
    number = &call.nodes[at + 1];
  }
  if (!is_number(number->type)) {
    if (place.pointer) return;  // an address that apitrace replaced by what stands there
    note("values of a type that does not fit");
    return;
  }
  switch (place.kind) {
    case Kind::f32: record_.set(place.slot, std::bit_cast<uint32_t>(static_cast<float>(to_double(*number)))); break;
    case Kind::f64: record_.set(place.slot, std::bit_cast<uint64_t>(to_double(*number))); break;
    default: record_.set(place.slot, to_integer(*number));
  }
}

void Import::fill(const Plan& plan, const Call& call) {
  pieces_used_ = 0;
  record_.begin(*plan.function);
  const size_t n = std::min(plan.arguments.size(), call.arguments.size());
  for (size_t i = 0; i < n; i++)
    if (call.arguments[i] >= 0) put(plan.arguments[i], call, static_cast<uint32_t>(call.arguments[i]));
  if (call.arguments.size() > plan.arguments.size()) note("arguments that the function's signature does not have");
  if (plan.has_result && call.result >= 0)
    put(plan.result, call, static_cast<uint32_t>(call.result));
  else if (call.result >= 0 && !plan.has_result)
    note("results of functions that have none");
  // An output that never came.
  if (!call.left)
    for (const ValueSignature& parameter : plan.function->parameters)
      if (parameter.content && parameter.content->direction == "out" && !record_.w8[parameter.content->slot.index])
        record_.set_kind(parameter.content->slot.index, DT_DATA_PENDING);
}

}  // namespace dt::peers::from_apitrace
