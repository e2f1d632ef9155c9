#include "span_order.h"

namespace dt::kernel {
namespace {

constexpr size_t k_ordered_rows = 122880;  // as many as DuckDB puts together

// The words of a column that has few.
class Words {
 public:
  uint32_t number(std::string_view word) {
    if (!words_.empty() && words_[last_] == word) return last_;
    auto [found, is_new] = numbers_.try_emplace(std::string(word), static_cast<uint32_t>(words_.size()));
    if (is_new) words_.emplace_back(word);
    return last_ = found->second;
  }
  // For a batch: those known when it is finished.
  std::shared_ptr<const std::vector<std::string>> shared() {
    if (!shared_ || shared_->size() != words_.size())
      shared_ = std::make_shared<const std::vector<std::string>>(words_);
    return shared_;
  }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::shared_ptr<const std::vector<std::string>> shared_;
  uint32_t last_ = 0;
};

// One of the two tables, at a row.
class Ordered {
 public:
  Ordered(ArrowArrayStream* stream) : table_(stream), begin_(table_.need("begin_ns")), end_(table_.need("end_ns")) {}
  bool next() {
    if (!table_.next()) return there_ = false;
    const int64_t before = begin, before_end = end;
    begin = table_.integer(begin_);
    end = table_.integer(end_);
    if (there_ && (begin < before || (begin == before && end < before_end)))
      throw Error(DT_E_ARGUMENT, "spans are not in order of time");
    return there_ = true;
  }
  bool is_there() const { return there_; }
  const TableReader& table() const { return table_; }
  int64_t begin = 0, end = 0;

 private:
  TableReader table_;
  int begin_, end_;
  bool there_ = false;
};

class SpanOrder : public BatchSource {
 public:
  SpanOrder(std::vector<std::string> names, ArrowArrayStream* threads, ArrowArrayStream* others)
      : names_(std::move(names)), threads_(threads), others_(others) {
    static const char* const of_threads[] = {"tid", "cpu", "kind", "is_open"};
    static const char* const of_others[] = {"track", "name", "kind", "request", "tid",
                                            "cpu",   "vgpu", "lane", "is_open"};
    for (int i = 0; i < 4; ++i) thread_column_[i] = threads_.table().need(of_threads[i]);
    for (int i = 0; i < 9; ++i) other_column_[i] = others_.table().need(of_others[i]);
  }

  static std::vector<NamedType> columns() {
    return {{"id", Type::i64},    {"track", Type::dictionary}, {"begin_ns", Type::i64}, {"end_ns", Type::i64},
            {"name", Type::text}, {"kind", Type::dictionary},  {"request", Type::i64},  {"tid", Type::i32},
            {"cpu", Type::i32},   {"vgpu", Type::i32},         {"lane", Type::i32},     {"is_open", Type::boolean}};
  }

  bool next(Batch& batch) override {
    if (!started_) {
      started_ = true;
      threads_.next();
      others_.next();
    }
    batch.rows = 0;
    batch.columns.clear();
    for (auto& column : columns()) batch.columns.emplace_back(column.type);
    columns_ = batch.columns.data();
    while (batch.rows < static_cast<int64_t>(k_ordered_rows) && (threads_.is_there() || others_.is_there())) {
      columns_[to_id].value(id_++);
      const bool is_thread = threads_.is_there() && (!others_.is_there() || std::pair(threads_.begin, threads_.end) <=
                                                                                std::pair(others_.begin, others_.end));
      Ordered& from = is_thread ? threads_ : others_;
      columns_[to_begin].value(from.begin);
      columns_[to_end].value(from.end);
      is_thread ? put_thread() : put_other();
      from.next();
      ++batch.rows;
    }
    columns_[to_track].words = tracks_.shared();
    columns_[to_kind].words = kinds_.shared();
    return batch.rows > 0;
  }

 private:
  enum To {
    to_id,
    to_track,
    to_begin,
    to_end,
    to_name,
    to_kind,
    to_request,
    to_tid,
    to_cpu,
    to_vgpu,
    to_lane,
    to_open
  };

  void put_thread() {
    const TableReader& table = threads_.table();
    const auto tid = static_cast<int32_t>(table.integer(thread_column_[0]));
    const bool has_cpu = !table.is_null(thread_column_[1]);
    const auto cpu = has_cpu ? static_cast<int32_t>(table.integer(thread_column_[1])) : 0;
    const std::string_view kind = table.text(thread_column_[2]);
    columns_[to_track].value(track_of(tid));
    put_name(kind, has_cpu, cpu);
    columns_[to_kind].value(kinds_.number(kind));
    columns_[to_tid].value(tid);
    has_cpu ? columns_[to_cpu].value(cpu) : columns_[to_cpu].null();
    for (To null : {to_request, to_vgpu, to_lane}) columns_[null].null();
    put_open(table, thread_column_[3]);
  }
  uint32_t track_of(int32_t tid) {
    auto [found, is_new] = track_of_.try_emplace(tid, 0);
    if (is_new) found->second = tracks_.number("thread/" + std::to_string(tid));
    return found->second;
  }
  // Names come in pairs: a kind, its name. The name of the first kind has the number of the CPU behind it.
  void put_name(std::string_view kind, bool has_cpu, int32_t cpu) {
    if (kind == names_[0]) {
      if (!has_cpu) return columns_[to_name].null();
      auto& name = cpu_name_[cpu];
      if (name.empty()) name = names_[1] + std::to_string(cpu);
      return columns_[to_name].text(name);
    }
    for (size_t i = 2; i + 1 < names_.size(); i += 2)
      if (kind == names_[i]) return columns_[to_name].text(names_[i + 1]);
    columns_[to_name].null();
  }
  void put_other() {
    const TableReader& table = others_.table();
    auto word = [&](To to, int column, Words& words) {
      table.is_null(column) ? columns_[to].null() : columns_[to].value(words.number(table.text(column)));
    };
    word(to_track, other_column_[0], tracks_);
    if (table.is_null(other_column_[1]))
      columns_[to_name].null();
    else
      columns_[to_name].text(table.text(other_column_[1]));
    word(to_kind, other_column_[2], kinds_);
    if (table.is_null(other_column_[3]))
      columns_[to_request].null();
    else
      columns_[to_request].value(table.integer(other_column_[3]));
    static const To numbers[] = {to_tid, to_cpu, to_vgpu, to_lane};
    for (int i = 0; i < 4; ++i) {
      const int column = other_column_[4 + i];
      if (table.is_null(column))
        columns_[numbers[i]].null();
      else
        columns_[numbers[i]].value(static_cast<int32_t>(table.integer(column)));
    }
    put_open(table, other_column_[8]);
  }
  void put_open(const TableReader& table, int column) {
    if (table.is_null(column))
      columns_[to_open].null();
    else
      columns_[to_open].boolean(table.integer(column) != 0);
  }

  const std::vector<std::string> names_;
  Ordered threads_, others_;
  int thread_column_[4] = {}, other_column_[9] = {};
  Column* columns_ = nullptr;
  bool started_ = false;
  int64_t id_ = 0;
  Words tracks_, kinds_;
  std::unordered_map<int32_t, uint32_t> track_of_;
  std::unordered_map<int32_t, std::string> cpu_name_;
};

}  // namespace

void export_span_order(std::vector<std::string> names, ArrowArrayStream* threads, ArrowArrayStream* others,
                       ArrowArrayStream* out) {
  auto order = std::make_unique<SpanOrder>(std::move(names), threads, others);
  export_stream(SpanOrder::columns(), std::move(order), out);
}

}  // namespace dt::kernel
