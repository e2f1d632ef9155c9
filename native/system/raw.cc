#include "raw.h"

namespace dt::kernel {

void RawEvents::read(Plan& plan, const std::vector<EventClass>& classes, bool big) {
  big_ = big;
  common_.type_offset = static_cast<uint32_t>(plan.below(4096));
  common_.type_size = static_cast<uint32_t>(plan.below(9));
  common_.pid_offset = static_cast<uint32_t>(plan.below(4096));
  common_.pid_size = static_cast<uint32_t>(plan.below(9));
  fields_.resize(classes.size());
  for (size_t n = plan.count(); n; --n) {
    size_t id = plan.below(1 << 20), cls = plan.below(classes.size());
    if (by_id_.size() <= id) by_id_.resize(id + 1, -1);
    by_id_[id] = static_cast<int>(cls);
    size_t fields = plan.count();
    if (fields > classes[cls].fields.size()) throw Error(DT_E_ARGUMENT, "a number of the plan is out of range");
    auto& list = fields_[cls];
    list.clear();
    for (size_t i = 0; i < fields; ++i) {
      Field f;
      f.kind = static_cast<Kind>(plan.below(kinds));
      f.offset = static_cast<uint32_t>(plan.below(1 << 20));
      f.size = static_cast<uint32_t>(plan.below(1 << 20));
      f.element = static_cast<uint32_t>(plan.below(1 << 20));
      f.is_signed = plan.number() != 0;
      f.index = static_cast<int>(i);
      if (f.kind == integer && (f.size < 1 || f.size > 8))
        throw Error(DT_E_ARGUMENT, "an integer of the plan has no size");
      if ((f.kind == RawEvents::list || f.kind == located_list || f.kind == relative_list) &&
          (f.element < 1 || f.element > 8))
        throw Error(DT_E_ARGUMENT, "a list of the plan has no elements");
      list.push_back(f);
    }
  }
  for (size_t n = plan.count(); n; --n) {
    int64_t tid = plan.number();
    std::string name = plan.text();
    threads_[tid] = {std::move(name), plan.number()};
  }
}

void RawEvents::prepare(Output& out, const std::vector<EventClass>& classes) const {
  auto wanted = std::make_shared<FieldColumns>(classes.size());
  for (size_t cls = 0; cls < classes.size(); ++cls) {
    if (!out.wanted[cls]) continue;
    for (auto& f : fields_[cls])
      if (int c = out.classes[cls].target[static_cast<size_t>(f.index)]; c >= 0) (*wanted)[cls].push_back({&f, c});
  }
  out.prepared = std::move(wanted);
}

std::string_view RawEvents::located(const Field& f, const uint8_t* record, size_t size, bool relative) const {
  if (f.offset + 4 > size) return {};
  auto word = static_cast<uint32_t>(load_bytes(record + f.offset, 4, big_));
  size_t at = word & 0xffff, n = word >> 16;
  if (relative) at += f.offset + 4;
  if (at > size) return {};
  return {reinterpret_cast<const char*>(record) + at, std::min(n, size - at)};
}

void RawEvents::emit(Output& out, uint32_t cls, const uint8_t* record, size_t size) const {
  for (auto& [field, column] : (*static_cast<const FieldColumns*>(out.prepared.get()))[cls]) {
    const Field& f = *field;
    // Fields beyond the end of a short record stay NULL.
    switch (f.kind) {
      case integer: {
        if (f.offset + f.size > size) break;
        uint64_t v = load_bytes(record + f.offset, f.size, big_);
        out.integer(column, f.is_signed ? extend_sign(v, f.size * 8) : v, f.is_signed);
        break;
      }
      case chars:
        if (f.offset + f.size <= size) out.text(column, until_nul(record + f.offset, f.size));
        break;
      case rest_text:
        if (f.offset <= size) out.text(column, until_nul(record + f.offset, size - f.offset));
        break;
      case bytes:
        if (f.offset + f.size <= size) out.binary(column, {reinterpret_cast<const char*>(record) + f.offset, f.size});
        break;
      case list:
        if (f.offset + f.size <= size)
          out.list(column, record + f.offset, f.size / f.element, f.element, f.is_signed, big_);
        break;
      case located_text:
      case relative_text: {
        auto s = located(f, record, size, f.kind == relative_text);
        if (s.data()) out.text(column, until_nul(reinterpret_cast<const uint8_t*>(s.data()), s.size()));
        break;
      }
      case located_list:
      case relative_list: {
        auto s = located(f, record, size, f.kind == relative_list);
        if (s.data())
          out.list(column, reinterpret_cast<const uint8_t*>(s.data()), s.size() / f.element, f.element, f.is_signed,
                   big_);
        break;
      }
      case kinds: break;
    }
  }
}

void RawEvents::emit_thread(Output& out, int64_t tid) const {
  if (tid < 0) return;
  out.base(base_tid, tid);
  if (!out.wants(base_comm) && !out.wants(base_pid)) return;
  if (!tid) {
    out.comm("<idle>");
    out.base(base_pid, 0);
    return;
  }
  auto it = threads_.find(tid);
  if (it == threads_.end()) return;
  if (!it->second.name.empty()) out.comm(it->second.name);
  if (it->second.process >= 0) out.base(base_pid, it->second.process);
}

}  // namespace dt::kernel
