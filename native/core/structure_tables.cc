// Structures wherever they stand: a table for each type, and the chains of all.
#include <algorithm>
#include <set>

#include "../common/json.h"
#include "rows.h"
#include "structures.h"
#include "vulkan_tables.h"

namespace dt::vulkan {
namespace {

using Of = StructMember::Kind;

// A structure in a chain.
struct Link {
  const StructType &base, &type;
  size_t at = 0;
  uint32_t position = 0;
};

// Types from which one of `wanted` can be reached.
std::set<const StructType*> leading_to(const Structures& known, std::set<const StructType*> leading) {
  for (bool more = true; more;) {
    more = false;
    known.each([&](const StructType& type) {
      if (leading.count(&type)) return;
      for (auto& m : type.members) {
        bool leads = m.type && leading.count(m.type);
        if (m.kind == Of::chain)
          for (auto* next : known.extending(type.name)) leads |= leading.count(next) != 0;
        if (!leads) continue;
        leading.insert(&type), more = true;
        return;
      }
    });
  }
  return leading;
}

// Visits the structures of a content that lead to the wanted ones. However they are tied together, the walk ends: a
// content has room for a limited number.
class Walk {
 public:
  using Leads = std::set<const StructType*>;
  Walk(const Structures& known, const Leads& leads, std::string_view content)
      : known_(known), leads_(leads), tree_(content) {}
  std::function<void(const StructPlace&, const std::string& path)> on_structure;
  std::function<void(const Link&, const std::string& path)> on_link;

  void root(const StructType& type, const std::string& param, bool many) {
    path_ = param;
    block(type, tree_.root(type.bytes), many, 0);
  }

 private:
  void block(const StructType& type, Tree::Block block, bool many, unsigned depth) {
    for (uint64_t i = 0; i < (many ? block.count : std::min<uint64_t>(block.count, 1)); ++i)
      step(many ? "[" + std::to_string(i) + "]" : "", [&] { structure({type, block.at + i * type.bytes}, depth); });
  }

  template <class Inside> void step(const std::string& more, Inside&& inside) {
    const size_t length = path_.size();
    path_ += more;
    inside();
    path_.resize(length);
  }

  void structure(const StructPlace& place, unsigned depth) {
    if (!leads_.count(&place.type) || depth >= Structures::DEPTH || !tree_.visit()) return;
    if (on_structure) on_structure(place, path_);
    for (auto& m : place.type.members) {
      if (m.kind == Of::chain) step(".pNext", [&] { chain(place.type, place.at + m.offset, depth); });
      if (!m.type || !leads_.count(m.type)) continue;
      if (place.in && place.type.is_union && !is_chosen(tree_, *place.outer, place.outer_at, *place.in, m)) continue;
      step("." + m.name, [&] { member(place, m, depth + 1); });
    }
  }

  void member(const StructPlace& place, const StructMember& m, unsigned depth) {
    const size_t slot = place.at + m.offset;
    if (m.kind == Of::structure) {
      for (uint32_t i = 0; i < std::max(m.count, 1u); ++i)
        step(m.count ? "[" + std::to_string(i) + "]" : "",
             [&] { structure({*m.type, slot + size_t{i} * m.width, &place.type, place.at, &m}, depth); });
    } else if (m.kind == Of::tree || m.kind == Of::trees) {
      block(*m.type, tree_.follow(slot, m.type->bytes), m.kind == Of::trees, depth);
    } else if (m.kind == Of::each_tree) {
      const Tree::Block each = tree_.follow(slot, 8);
      for (uint64_t i = 0; i < each.count && tree_.visit(); ++i)
        step("[" + std::to_string(i) + "]",
             [&] { block(*m.type, tree_.follow(each.at + i * 8, m.type->bytes), false, depth); });
    }
  }

  void chain(const StructType& base, size_t slot, unsigned depth) {
    for (uint32_t i = 0;; ++i) {
      const Tree::Block node = tree_.follow(slot, 16);
      if (!node.count || !tree_.visit()) return;
      auto* type = known_.by_stype(tree_.load<int32_t>(node.at));
      if (type && tree_.follow(slot, type->bytes).count)
        step("[" + std::to_string(i) + "]", [&] {
          if (on_link) on_link({base, *type, node.at, i}, path_);
          links(*type, node.at, depth + 1);
        });
      slot = node.at + 8;
    }
  }

  // The structures that a structure of a chain leads to, save the rest of the chain.
  void links(const StructType& type, size_t at, unsigned depth) {
    if (!leads_.count(&type) || depth >= Structures::DEPTH) return;
    const StructPlace place{type, at};
    if (on_structure) on_structure(place, path_);
    for (auto& m : type.members)
      if (m.type && leads_.count(m.type)) step("." + m.name, [&] { member(place, m, depth + 1); });
  }

  const Structures& known_;
  const Leads& leads_;
  Tree tree_;
  std::string path_;
};

struct At {
  uint64_t seq;
  const Function& function;
  const Field& param;
  const StructType& type;  // of the root
  std::string_view content;
};

// Visits the trees of a chunk of calls that lead to one of `leads`, in order.
void each_content(const Trace& trace, size_t index, const std::set<const StructType*>& leads, uint64_t first,
                  uint64_t end, const std::function<void(const At&)>& visit) {
  const Structures& known = Structures::of(trace.signatures);
  auto& info = trace.calls_chunks[index];
  struct One {
    uint64_t seq;
    size_t number;
    uint32_t record;
  };
  std::vector<One> calls;
  OpenChunk chunk(trace, index);
  auto leads_there = [&](const Field& p) {
    return p.has_data() && is_tree(p) && leads.count(known.by_name(tree_name(p)));
  };
  for (size_t number = 0; number < info.functions.size(); ++number) {
    auto* f = info.functions[number].tap() ? nullptr : trace.signatures.by_id(info.functions[number].id());
    if (!f || std::none_of(f->params.begin(), f->params.end(), leads_there)) continue;
    if (trace.groups[info.group].chunks.size() > 1) trace.merge(info.group);
    auto& records = chunk.records_of(number);
    for (uint32_t i = 0; i < records.size(); ++i) {
      const uint64_t seq = trace.seq_of(index, chunk.plain() ? records[i] : chunk.record_calls()[records[i]]);
      if (seq >= first && seq < end) calls.push_back({seq, number, i});
    }
  }
  std::sort(calls.begin(), calls.end(), [](auto& a, auto& b) { return a.seq < b.seq; });
  for (auto& call : calls) {
    auto& f = *trace.signatures.by_id(info.functions[call.number].id());
    auto& columns = chunk.columns(call.number);
    for (auto& p : f.params)
      if (leads_there(p)) {
        const std::string content = content_of(trace, columns, p, call.record);
        if (!content.empty()) visit({call.seq, f, p, *known.by_name(tree_name(p)), content});
      }
  }
}

bool is_text(const StructMember& m) {
  if (m.kind == Of::value) return m.element == Element::chars && m.count;
  return m.kind == Of::text || m.kind == Of::texts;
}

// Returns whether a member is text, bytes, or the code of a shader: an edit may change these in place.
bool is_plain(const StructMember& m) {
  return is_text(m) || (m.kind == Of::array && (m.element == Element::u8 || m.name == "pCode"));
}

struct Plain {
  std::string name;  // STRUCTURE.MEMBER
  size_t at;
  uint64_t bytes;
  bool text;
};
void add_plain(std::vector<Plain>& found, const StructPlace& place, Tree& tree) {
  auto put = [&](const StructMember& m, size_t at, uint64_t bytes) {
    if (at && bytes) found.push_back({place.type.name + "." + m.name, at, bytes, is_text(m)});
  };
  for (auto& m : place.type.members) {
    if (!is_plain(m)) continue;
    const size_t slot = place.at + m.offset;
    if (m.kind == Of::value) {
      const std::string_view all = tree.bytes(slot, m.count);
      put(m, slot, std::min(all.find('\0'), all.size()));
    } else if (m.kind == Of::texts) {
      const Tree::Block each = tree.follow(slot, 8);
      for (uint64_t i = 0; i < each.count && tree.visit(); ++i) {
        const Tree::Block one = tree.follow(each.at + i * 8, 1);
        put(m, one.at, one.count);
      }
    } else {
      const size_t width = m.kind == Of::text ? 1 : std::max(m.width, 1u);
      const Tree::Block one = tree.follow(slot, width);
      put(m, one.at, one.count * width);
    }
  }
}

std::vector<NamedType> columns_of_type(const StructType& type) {
  std::vector<NamedType> columns = {
      {"seq", Type::u64}, {"frame", Type::u64}, {"call", Type::text}, {"path", Type::text}};
  for (auto& member : structure_columns(type)) columns.push_back(member);
  return columns;
}

class TypeRows : public BatchSource {
 public:
  TypeRows(std::shared_ptr<const Trace> trace, const StructType& type, uint64_t first, uint64_t end)
      : trace_(std::move(trace)), type_(type), leads_(leading_to(Structures::of(trace_->signatures), {&type})),
        frames_(trace_->frames()), first_(first), end_(end), work_(trace_->generation) {}

  bool next(Batch& batch) override {
    const Structures& known = Structures::of(trace_->signatures);
    const size_t chunks = trace_->calls_chunks.size();
    batch.rows = 0, batch.columns.clear();
    for (auto& column : columns_of_type(type_)) batch.columns.emplace_back(column.type);
    for (; at_ < chunks && !batch.rows; ++at_) {
      work_.check();
      try {
        each_content(*trace_, at_, leads_, first_, end_, [&](const At& call) {
          Walk walk(known, leads_, call.content);
          Tree tree(call.content);
          walk.on_structure = [&](const StructPlace& place, const std::string& path) {
            if (&place.type == &type_) row(batch, call, place, path, tree);
          };
          walk.root(call.type, call.param.name, has_many(call.param));
        });
      } catch (const Error& e) {
        say_damaged(*trace_, at_, e);
      }
    }
    return batch.rows != 0;
  }

 private:
  void row(Batch& batch, const At& call, const StructPlace& place, const std::string& path, Tree& tree) {
    auto& ends = frames_->ends;
    auto& columns = batch.columns;
    columns[0].value(call.seq);
    columns[1].value(static_cast<uint64_t>(std::lower_bound(ends.begin(), ends.end(), call.seq) - ends.begin()));
    columns[2].text(call.function.name);
    columns[3].text(path);
    fill_structure(std::span(columns).subspan(4), trace_->signatures, place, tree);
    ++batch.rows;
  }

  std::shared_ptr<const Trace> trace_;
  const StructType& type_;
  const std::set<const StructType*> leads_;
  std::shared_ptr<const Trace::Frames> frames_;
  const uint64_t first_, end_;
  dt::Work work_;
  size_t at_ = 0;
};

}  // namespace

void structure_stream(std::shared_ptr<const Trace> trace, const std::string& name, uint64_t first, uint64_t end,
                      ArrowArrayStream* out) {
  const StructType* type = Structures::of(trace->signatures).by_name(name);
  if (!type) throw Error(DT_E_ARGUMENT, "the recording explains no structure " + name);
  export_stream(columns_of_type(*type), std::make_unique<TypeRows>(std::move(trace), *type, first, end), out);
}

std::string plain_members(const Trace& trace) {
  std::string out;
  JsonWriter<std::string> json(out);
  json.list();
  const Structures& known = Structures::of(trace.signatures);
  std::set<const StructType*> plain;
  known.each([&](const StructType& type) {
    if (std::any_of(type.members.begin(), type.members.end(), is_plain)) plain.insert(&type);
  });
  const auto leads = leading_to(known, plain);
  dt::Work work(trace.generation);
  for (size_t index = 0; index < trace.calls_chunks.size(); ++index) {
    work.check();
    each_content(trace, index, leads, 0, UINT64_MAX, [&](const At& call) {
      Walk walk(known, leads, call.content);
      Tree tree(call.content);
      std::vector<Plain> found;
      walk.on_structure = [&](const StructPlace& place, const std::string&) { add_plain(found, place, tree); };
      walk.root(call.type, call.param.name, has_many(call.param));
      if (found.empty()) return;
      json.list().value(call.seq).value(call.function.name).value(call.param.name).list();
      for (auto& each : found) json.list().value(each.name).value(each.at).value(each.bytes).value(each.text).end();
      json.end().end();
    });
  }
  json.end();
  return out;
}

Table structures_table(const Trace& trace) {
  Rows<rows::Structures> t;
  if (Work::is_in(trace))
    Structures::of(trace.signatures).each([&](const StructType& type) {
      rows::Structures row{.name = type.name, .bytes = type.bytes, .members = type.members.size()};
      if (!type.stype_name.empty()) row.stype = type.stype_name;
      t.add(row);
    });
  return t.take();
}

Table chains_table(const Trace& trace) {
  Rows<rows::Chains> t;
  if (!Work::is_in(trace)) return t.take();
  const Structures& known = Structures::of(trace.signatures);
  std::set<const StructType*> extended;
  known.each([&](const StructType& type) {
    if (!known.extending(type.name).empty()) extended.insert(&type);
  });
  const auto leads = leading_to(known, extended);
  auto frames = trace.frames();
  dt::Work work(trace.generation);
  for (size_t index = 0; index < trace.calls_chunks.size(); ++index) try {
      work.check();
      each_content(trace, index, leads, 0, UINT64_MAX, [&](const At& call) {
        Walk walk(known, leads, call.content);
        walk.on_link = [&](const Link& link, const std::string& path) {
          Bytes members;
          structure_json(members, trace.signatures, link.type, call.content, link.at, INFO_ELEMENTS, true);
          auto& ends = frames->ends;
          const auto frame = std::lower_bound(ends.begin(), ends.end(), call.seq) - ends.begin();
          t.add({.seq = call.seq,
                 .frame = static_cast<uint64_t>(frame),
                 .function = call.function.name,
                 .path = path,
                 .base = link.base.name,
                 .position = link.position,
                 .type = link.type.name,
                 .members = members.view()});
        };
        walk.root(call.type, call.param.name, has_many(call.param));
      });
    } catch (const Error& e) {
      say_damaged(trace, index, e);
    }
  return t.take();
}

}  // namespace dt::vulkan
