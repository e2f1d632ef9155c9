// Records of the kernel's tracepoints, as their format files describe them: fields at fixed places, some of which say
// where the rest is. trace.dat and perf.data hold the same records.
#pragma once
#include "kernel.h"

namespace dt::kernel {

class RawEvents {
 public:
  enum Kind { integer, chars, list, located_text, relative_text, located_list, relative_list, bytes, rest_text, kinds };
  // The places of a record's type and of its thread.
  struct Common {
    uint32_t type_offset = 0, type_size = 2, pid_offset = 4, pid_size = 4;
  };

  // type offset, size, thread offset, size; number of events; each id, class, number of fields; each kind, offset,
  // size, size of an element, whether signed. Then threads: count; each tid, name, process or -1.
  void read(Plan& plan, const std::vector<EventClass>& classes, bool big);
  bool type_of(const uint8_t* record, size_t size, uint64_t* type) const {
    if (common_.type_offset + common_.type_size > size) return false;
    *type = load_bytes(record + common_.type_offset, common_.type_size, big_);
    return true;
  }
  int64_t thread_of(const uint8_t* record, size_t size) const {
    if (common_.pid_offset + common_.pid_size > size) return -1;
    return static_cast<int64_t>(
        extend_sign(load_bytes(record + common_.pid_offset, common_.pid_size, big_), common_.pid_size * 8));
  }
  // The class of a type; -1: not described.
  int class_of(uint64_t type) const {
    if (type < by_id_.size()) return by_id_[type];
    return -1;
  }
  void prepare(Output& out, const std::vector<EventClass>& classes) const;
  void emit(Output& out, uint32_t cls, const uint8_t* record, size_t size) const;
  // The columns that every event has, from a thread.
  void emit_thread(Output& out, int64_t tid) const;

 private:
  struct Field {
    Kind kind;
    bool is_signed;
    int index;
    uint32_t offset, size, element;
  };
  using FieldColumns = std::vector<std::vector<std::pair<const Field*, int>>>;  // by class: field, column
  std::string_view located(const Field& f, const uint8_t* record, size_t size, bool relative) const;

  bool big_ = false;
  Common common_;
  std::vector<int> by_id_;
  std::vector<std::vector<Field>> fields_;  // by class
  struct Thread {
    std::string name;
    int64_t process;
  };
  std::unordered_map<int64_t, Thread> threads_;
};

}  // namespace dt::kernel
