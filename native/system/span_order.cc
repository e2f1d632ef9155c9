#include "span_order.h"

#include <charconv>

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
  const std::string& word(uint32_t number) const { return words_[number]; }
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

// One of the tables, at a row.
class Ordered {
 public:
  Ordered(ArrowArrayStream* stream, std::initializer_list<const char*> columns)
      : table_(stream), begin_(table_.need("begin_ns")), end_(table_.need("end_ns")) {
    for (auto* name : columns) columns_.push_back(table_.need(name));
  }
  bool next() {
    if (!table_.next()) return there_ = false;
    const std::pair before = time;
    time = {table_.integer(begin_), table_.integer(end_)};
    if (there_ && time < before) throw Error(DT_E_ARGUMENT, "spans are not in order of time");
    return there_ = true;
  }
  bool is_before(const Ordered& other) const { return there_ && (!other.there_ || time <= other.time); }
  bool is_there() const { return there_; }
  // By the place of the column in the list.
  bool is_null(size_t column) const { return table_.is_null(columns_[column]); }
  int64_t integer(size_t column) const { return table_.integer(columns_[column]); }
  std::string_view text(size_t column) const { return table_.text(columns_[column]); }
  size_t below(size_t column, size_t limit) const {
    const auto value = static_cast<uint64_t>(integer(column));
    if (is_null(column) || value >= limit) throw Error(DT_E_ARGUMENT, "a number of the spans is out of range");
    return static_cast<size_t>(value);
  }
  std::pair<int64_t, int64_t> time{0, 0};

 private:
  TableReader table_;
  int begin_, end_;
  std::vector<int> columns_;
  bool there_ = false;
};

struct Owner {
  uint64_t seqno = 0;
  uint32_t name = 0;
  int32_t tid = 0, vgpu = 0;
  bool has_seqno = false, has_tid = false, has_vgpu = false;
};

class SpanOrder : public BatchSource {
 public:
  SpanOrder(SpanWords words, const SpanTables& tables)
      : words_(std::move(words)), threads_(tables.threads, {"tid", "cpu", "kind", "is_open"}),
        requests_(tables.requests, {"track", "kind", "request", "lane", "is_open"}),
        others_(tables.others, {"track", "name", "kind", "request", "tid", "cpu", "vgpu", "lane", "is_open"}),
        owners_in_(std::make_unique<TableReader>(tables.owners)) {
    for (auto& kind : words_.thread_kinds) thread_kinds_.push_back(kinds_.number(kind));
    for (auto& kind : words_.request_kinds) request_kinds_.push_back(kinds_.number(kind));
    for (auto& track : words_.request_tracks) request_tracks_.push_back(tracks_.number(track));
  }

  static std::vector<NamedType> columns() {
    return {{"id", Type::i64},    {"track", Type::dictionary}, {"begin_ns", Type::i64}, {"end_ns", Type::i64},
            {"name", Type::text}, {"kind", Type::dictionary},  {"request", Type::i64},  {"tid", Type::i32},
            {"cpu", Type::i32},   {"vgpu", Type::i32},         {"lane", Type::i32},     {"is_open", Type::boolean}};
  }

  bool next(Batch& batch) override {
    if (owners_in_) {
      read_owners();
      for (Ordered* table : {&threads_, &requests_, &others_}) table->next();
    }
    batch.start(columns());
    columns_ = batch.columns.data();
    while (batch.rows < static_cast<int64_t>(k_ordered_rows) && put_next()) ++batch.rows;
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

  void read_owners() {
    const auto in = std::move(owners_in_);
    const int name = in->need("name"), seqno = in->need("seqno"), tid = in->need("tid"), vgpu = in->need("vgpu");
    while (in->next()) {
      Owner owner;
      owner.name = names_.number(in->text(name));
      owner.has_seqno = !in->is_null(seqno);
      owner.has_tid = !in->is_null(tid);
      owner.has_vgpu = !in->is_null(vgpu);
      if (owner.has_seqno) owner.seqno = static_cast<uint64_t>(in->integer(seqno));
      if (owner.has_tid) owner.tid = static_cast<int32_t>(in->integer(tid));
      if (owner.has_vgpu) owner.vgpu = static_cast<int32_t>(in->integer(vgpu));
      owners_.push_back(owner);
    }
  }

  bool put_next() {
    if (threads_.is_before(requests_) && threads_.is_before(others_)) {
      begin_row(threads_);
      put_thread();
      threads_.next();
    } else if (requests_.is_before(others_)) {
      begin_row(requests_);
      put_request();
      requests_.next();
    } else if (others_.is_there()) {
      begin_row(others_);
      put_other();
      others_.next();
    } else {
      return false;
    }
    return true;
  }
  void begin_row(const Ordered& from) {
    columns_[to_id].value(id_++);
    columns_[to_begin].value(from.time.first);
    columns_[to_end].value(from.time.second);
  }
  void put(To to, bool there, int32_t value) { there ? columns_[to].value(value) : columns_[to].null(); }
  void put(To to, const Ordered& from, size_t column) {
    const bool there = !from.is_null(column);
    put(to, there, there ? static_cast<int32_t>(from.integer(column)) : 0);
  }
  void put_request_number(const Ordered& from, size_t column) {
    Column& to = columns_[to_request];
    from.is_null(column) ? to.null() : to.value(from.integer(column));
  }
  void put_open(const Ordered& from, size_t column) {
    Column& to = columns_[to_open];
    from.is_null(column) ? to.null() : to.boolean(from.integer(column) != 0);
  }

  void put_thread() {
    const auto tid = static_cast<int32_t>(threads_.integer(0));
    const bool has_cpu = !threads_.is_null(1);
    const auto cpu = has_cpu ? static_cast<int32_t>(threads_.integer(1)) : 0;
    const size_t kind = threads_.below(2, thread_kinds_.size());
    auto [track, is_new] = track_of_.try_emplace(tid, 0);
    if (is_new) track->second = tracks_.number("thread/" + std::to_string(tid));
    columns_[to_track].value(track->second);
    if (kind) {
      columns_[to_name].text(words_.thread_names[kind]);
    } else if (has_cpu) {
      auto& name = cpu_name_[cpu];
      if (name.empty()) name = words_.thread_names[0] + std::to_string(cpu);
      columns_[to_name].text(name);
    } else {
      columns_[to_name].null();
    }
    columns_[to_kind].value(thread_kinds_[kind]);
    columns_[to_tid].value(tid);
    put(to_cpu, has_cpu, cpu);
    for (To null : {to_request, to_vgpu, to_lane}) columns_[null].null();
    put_open(threads_, 3);
  }
  void put_request() {
    const size_t request = requests_.below(2, owners_.size());
    const Owner& owner = owners_[request];
    columns_[to_track].value(request_tracks_[requests_.below(0, request_tracks_.size())]);
    columns_[to_kind].value(request_kinds_[requests_.below(1, request_kinds_.size())]);
    columns_[to_request].value(static_cast<int64_t>(request));
    Column& name = columns_[to_name];
    name.data.put(names_.word(owner.name));
    if (owner.has_seqno) {
      char number[24];
      const auto end = std::to_chars(number, number + sizeof number, owner.seqno).ptr;
      name.data.put(" #");
      name.data.put(std::string_view(number, static_cast<size_t>(end - number)));
    }
    name.end_text();
    put(to_tid, owner.has_tid, owner.tid);
    put(to_vgpu, owner.has_vgpu, owner.vgpu);
    columns_[to_cpu].null();
    put(to_lane, requests_, 3);
    put_open(requests_, 4);
  }
  void put_other() {
    auto word = [&](To to, size_t column, Words& words) {
      others_.is_null(column) ? columns_[to].null() : columns_[to].value(words.number(others_.text(column)));
    };
    word(to_track, 0, tracks_);
    others_.is_null(1) ? columns_[to_name].null() : columns_[to_name].text(others_.text(1));
    word(to_kind, 2, kinds_);
    put_request_number(others_, 3);
    put(to_tid, others_, 4);
    put(to_cpu, others_, 5);
    put(to_vgpu, others_, 6);
    put(to_lane, others_, 7);
    put_open(others_, 8);
  }

  const SpanWords words_;
  Ordered threads_, requests_, others_;
  std::unique_ptr<TableReader> owners_in_;  // until the first row
  std::vector<Owner> owners_;
  std::vector<uint32_t> thread_kinds_, request_kinds_, request_tracks_;
  Column* columns_ = nullptr;
  int64_t id_ = 0;
  Words tracks_, kinds_, names_;
  std::unordered_map<int32_t, uint32_t> track_of_;
  std::unordered_map<int32_t, std::string> cpu_name_;
};

}  // namespace

void export_span_order(SpanWords words, const SpanTables& tables, ArrowArrayStream* out) {
  if (words.thread_names.size() != words.thread_kinds.size())
    throw Error(DT_E_ARGUMENT, "each kind of threads' spans has a name");
  export_stream(SpanOrder::columns(), std::make_unique<SpanOrder>(std::move(words), tables), out);
}

}  // namespace dt::kernel
