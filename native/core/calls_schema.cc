// The columns of the calls table and of the tables of functions.
#include <set>

#include "calls.h"
#include "structures.h"

namespace dt {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (auto& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return out;
}

Type item_type(Element element, const EnumGroup* group) {
  (void)group;
  switch (element) {
    case Element::u8: return Type::u8;
    case Element::i8: return Type::i8;
    case Element::u16: return Type::u16;
    case Element::i16: return Type::i16;
    case Element::u32: return Type::u32;
    case Element::i32:
    case Element::attribs32: return Type::i32;
    case Element::u64:
    case Element::ptr: return Type::u64;
    case Element::i64:
    case Element::attribs64: return Type::i64;
    case Element::f32: return Type::f32;
    case Element::f64: return Type::f64;
    default: return Type::text;
  }
}

ColumnType value_type(const Field& f) {
  switch (f.kind) {
    case Kind::i32: return {f.wide ? Type::i64 : Type::i32, Type::u64};
    case Kind::u32: return {f.wide ? Type::u64 : Type::u32, Type::u64};
    case Kind::i64: return {f.wide ? Type::i64 : Type::i32, Type::u64};
    case Kind::u64:
    case Kind::ptr:
    case Kind::handle: return {f.wide ? Type::u64 : Type::u32, Type::u64};
    case Kind::f32:
    case Kind::f64: return {f.wide ? Type::f64 : Type::f32, Type::u64};
    case Kind::boolean: return {Type::boolean, Type::u64};
    case Kind::enumeration: return {Type::dictionary, Type::u64};
    case Kind::bitmask: return {Type::text, Type::u64};
  }
  return {Type::u64, Type::u64};
}

// The columns of a function's parameters and result: shown ones first, then what comes on request.
class ParameterColumns {
 public:
  ParameterColumns(const Signatures& names, std::vector<ColumnSpec>& out, std::set<std::string>& used)
      : names_(names), out_(out), used_(used) {}
  void add(const Function& function) {
    // By name; one that is called as a column before gets "_" behind.
    std::vector<std::pair<const Field*, std::string>> named;
    for (auto& p : function.params) named.emplace_back(&p, unused(p.name));
    if (function.result) named.emplace_back(function.result.get(), unused(function.result->name));
    for (auto& [f, name] : named)
      if (f->has_data() && (!is_opaque(f->element) || is_tree(*f)))
        array(*f, name);
      else
        scalar(*f, name);
    for (auto& m : more_) out_.push_back(std::move(m));
  }

 private:
  std::string unused(std::string name) {
    while (!used_.insert(lower(name)).second) name += "_";
    return name;
  }
  // One more column about a field, on request; its name.
  std::string extra(const std::string& base, const char* suffix, ColumnType type, Part part, const Field& f) {
    more_.push_back({unused(base + suffix), type, Source::count_, part, &f, false, {}, {}});
    return more_.back().name;
  }
  void scalar(const Field& f, const std::string& name) {
    out_.push_back({name, value_type(f), Source::count_, Part::value, &f, true, {}, {}});
    if (f.kind == Kind::enumeration || f.kind == Kind::bitmask) {
      const Type type = f.wide ? Type::u64 : f.kind == Kind::enumeration ? Type::i64 : Type::u32;
      const std::string twin = extra(name, "_value", {type, Type::u64}, Part::number, f);
      out_.back().twin = twin, out_.back().group = f.group_name;
    }
    if (f.has_data()) {
      extra(name, "_bytes", {Type::u64, Type::u64}, Part::bytes, f);
      extra(name, "_data", {Type::binary, Type::u64}, Part::data, f);
      extra(name, "_blob", {Type::text, Type::u64}, Part::blob, f);
    }
  }
  void array(const Field& f, const std::string& name) {
    const ColumnType type = is_tree(f)                    ? tree_type(names_, f)
                            : f.element == Element::chars ? ColumnType{Type::text}
                                                          : ColumnType{Type::list, item_type(f.element, f.data_group)};
    out_.push_back({name, type, Source::count_, Part::list, &f, true, {}, {}});
    if (f.slot >= 0) extra(name, "_pointer", {f.wide ? Type::u64 : Type::u32, Type::u64}, Part::pointer, f);
    extra(name, "_bytes", {Type::u64, Type::u64}, Part::bytes, f);
    extra(name, "_blob", {Type::text, Type::u64}, Part::blob, f);
    extra(name, "_data", {Type::binary, Type::u64}, Part::data, f);
  }

  const Signatures& names_;
  std::vector<ColumnSpec>& out_;
  std::set<std::string>& used_;
  std::vector<ColumnSpec> more_;
};

}  // namespace

std::vector<ColumnSpec> calls_schema(const Trace& trace, const Function* function) {
  using enum rows::Calls::At;
  static const std::set<Source> hidden = {tid, t_end, api, fn, payload_bytes, call, origin},
                                words = {name, category, api}, own = {name, category, result, api, fn};
  std::vector<ColumnSpec> out;
  std::set<std::string> used;
  auto add = [&](Source source, bool shown) {
    auto& declared = rows::Calls::COLUMNS[static_cast<size_t>(source)];
    if (!used.insert(lower(declared.name)).second) return;
    const ColumnType type = words.count(source) ? ColumnType{Type::dictionary, Type::u64} : declared.type;
    out.push_back({declared.name, type, source, Part::none, nullptr, shown, {}, {}});
  };
  auto each = [&](bool shown_alone) {
    for (size_t i = 0; i < static_cast<size_t>(count_); ++i) {
      const auto source = static_cast<Source>(i);
      if (!function)
        add(source, !hidden.count(source));
      else if (!own.count(source) && shown_alone == !(hidden.count(source) || source == params))
        add(source, shown_alone);
    }
  };
  each(true);
  if (!function) return out;
  // Before its parameters what every table of a function shows, behind them what there is beside.
  ParameterColumns(trace.signatures_of(*function), out, used).add(*function);
  each(false);
  return out;
}

}  // namespace dt
