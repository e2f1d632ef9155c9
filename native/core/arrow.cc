#include "arrow.h"

#include <cerrno>
#include <cstdlib>
#include <new>
#include <span>

#include "../common/utf8.h"
#include "error.h"

namespace dt {
namespace {

// In the order of Type: its format in Arrow, its name in DuckDB.
struct TypeWords {
  const char *arrow, *duckdb;
};
constexpr TypeWords TYPES[] = {
    {"b", "BOOLEAN"}, {"C", "UTINYINT"}, {"c", "TINYINT"}, {"S", "USMALLINT"}, {"s", "SMALLINT"}, {"I", "UINTEGER"},
    {"i", "INTEGER"}, {"L", "UBIGINT"},  {"l", "BIGINT"},  {"f", "FLOAT"},     {"g", "DOUBLE"},   {"U", "VARCHAR"},
    {"Z", "BLOB"},    {"U", "JSON"},     {"I", "VARCHAR"}, {"+l", "VARCHAR"},  {"+s", "VARCHAR"}};
static_assert(sizeof TYPES / sizeof *TYPES == static_cast<size_t>(Type::structure) + 1);
const TypeWords& type_words(Type type) { return TYPES[static_cast<size_t>(type)]; }
bool is_text(Type type) { return type == Type::text || type == Type::json || type == Type::binary; }

struct SchemaHolder {
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
  ArrowSchema dictionary{};
};

void release_schema(ArrowSchema* schema) {
  auto* holder = static_cast<SchemaHolder*>(schema->private_data);
  for (auto& child : holder->children)
    if (child.release) child.release(&child);
  if (holder->dictionary.release) holder->dictionary.release(&holder->dictionary);
  delete holder;
  schema->release = nullptr;
}

void make_schema(ArrowSchema* out, const char* format, std::string name, size_t children) {
  auto* holder = new SchemaHolder;
  holder->name = std::move(name);
  holder->children.resize(children);
  for (auto& child : holder->children) {
    child = ArrowSchema{};
    holder->pointers.push_back(&child);
  }
  *out = ArrowSchema{format,  holder->name.c_str(), nullptr, 2, static_cast<int64_t>(children), holder->pointers.data(),
                     nullptr, release_schema,       holder};
}

void column_schema(ArrowSchema* out, const std::string& name, const ColumnType& type) {
  // {number of pairs, length, "ARROW:extension:name", length, "arrow.json"}, as Arrow's C data interface lays it out.
  static const char k_json[] = "\1\0\0\0\24\0\0\0ARROW:extension:name\12\0\0\0arrow.json";
  const bool structure = type.type == Type::structure;
  make_schema(out, type_words(type.type).arrow, name,
              structure                 ? type.fields->size()
              : type.type == Type::list ? 1
                                        : 0);
  if (type.type == Type::list) column_schema(out->children[0], "item", {type.item, Type::u64, type.fields});
  for (size_t i = 0; structure && i < type.fields->size(); ++i)
    column_schema(out->children[i], (*type.fields)[i].name, (*type.fields)[i].type);
  if (type.type == Type::json) out->metadata = k_json;
  if (type.type == Type::dictionary) {
    auto* holder = static_cast<SchemaHolder*>(out->private_data);
    make_schema(&holder->dictionary, "u", "", 0);
    out->dictionary = &holder->dictionary;
  }
}

struct ArrayHolder {
  Bytes validity, data, offsets;
  const void* buffers[3] = {nullptr, nullptr, nullptr};
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
  ArrowArray dictionary{};

  void add_children(std::span<Column> columns);
  // Makes the array of it, which owns it from now on.
  void finish(ArrowArray* out, int64_t length, int64_t nulls, int64_t count);
};

void release_array(ArrowArray* array) {
  auto* holder = static_cast<ArrayHolder*>(array->private_data);
  for (auto& child : holder->children)
    if (child.release) child.release(&child);
  if (holder->dictionary.release) holder->dictionary.release(&holder->dictionary);
  delete holder;
  array->release = nullptr;
}

const char g_nothing[8] = {};
const void* address(const Bytes& bytes) { return bytes.data() ? bytes.data() : g_nothing; }

void words_array(ArrowArray* out, const std::vector<std::string>& words) {
  auto* holder = new ArrayHolder;
  holder->offsets.value<int32_t>(0);
  for (auto& word : words) {
    holder->data.put(word);
    holder->offsets.value<int32_t>(static_cast<int32_t>(holder->data.size()));
  }
  holder->buffers[1] = address(holder->offsets);
  holder->buffers[2] = address(holder->data);
  holder->finish(out, static_cast<int64_t>(words.size()), 0, 3);
}

void column_array(ArrowArray* out, Column&& column) {
  const Type type = column.type.type;
  auto* holder = new ArrayHolder;
  holder->validity = std::move(column.validity);
  holder->data = std::move(column.data);
  holder->offsets = std::move(column.offsets);
  holder->buffers[0] = column.nulls ? holder->validity.data() : nullptr;
  if (type != Type::structure)
    holder->buffers[1] = address(is_text(type) || type == Type::list ? holder->offsets : holder->data);
  if (is_text(type)) holder->buffers[2] = address(holder->data);
  if (type == Type::list) holder->add_children({column.child.get(), 1});
  if (type == Type::structure) holder->add_children(column.members);
  holder->finish(out, column.length, column.nulls, is_text(type) ? 3 : type == Type::structure ? 1 : 2);
  if (type == Type::dictionary) {
    static const std::vector<std::string> none;
    words_array(&holder->dictionary, column.words ? *column.words : none);
    out->dictionary = &holder->dictionary;
  }
}

void ArrayHolder::add_children(std::span<Column> columns) {
  children.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    column_array(&children[i], std::move(columns[i]));
    pointers.push_back(&children[i]);
  }
}

void ArrayHolder::finish(ArrowArray* out, int64_t length, int64_t nulls, int64_t count) {
  const auto parts = static_cast<int64_t>(children.size());
  *out = {length, nulls, 0, count, parts, buffers, pointers.data(), nullptr, release_array, this};
}

struct StreamHolder {
  std::vector<NamedType> columns;
  std::unique_ptr<BatchSource> source;
  std::string error;
};

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  auto* holder = static_cast<StreamHolder*>(stream->private_data);
  try {
    make_schema(out, "+s", "", holder->columns.size());
    out->flags = 0;
    for (size_t i = 0; i < holder->columns.size(); ++i)
      column_schema(out->children[i], holder->columns[i].name, holder->columns[i].type);
    return 0;
  } catch (const std::exception& e) {
    holder->error = e.what();
    return ENOMEM;
  }
}

int stream_next(ArrowArrayStream* stream, ArrowArray* out) {
  auto* holder = static_cast<StreamHolder*>(stream->private_data);
  try {
    Batch batch;
    if (!holder->source->next(batch)) {
      *out = ArrowArray{};
      return 0;
    }
    auto* top = new ArrayHolder;
    top->add_children(batch.columns);
    top->finish(out, batch.rows, 0, 1);
    return 0;
  } catch (const Error& e) {
    holder->error = e.what();
    return e.code == 5 ? ECANCELED : EIO;
  } catch (const std::exception& e) {
    holder->error = e.what();
    return ENOMEM;
  }
}

const char* stream_error(ArrowArrayStream* stream) {
  return static_cast<StreamHolder*>(stream->private_data)->error.c_str();
}

void stream_release(ArrowArrayStream* stream) {
  delete static_cast<StreamHolder*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

const char* duckdb_type(Type type) { return type_words(type).duckdb; }
std::string duckdb_type(const ColumnType& type) {
  if (type.type == Type::list) return duckdb_type(ColumnType{type.item, Type::u64, type.fields}) + "[]";
  if (type.type != Type::structure) return duckdb_type(type.type);
  std::string text = "STRUCT(";
  for (auto& field : *type.fields)
    text += (text.back() == '(' ? "\"" : ", \"") + field.name + "\" " + duckdb_type(field.type);
  return text + ")";
}

void Bytes::grow(size_t more) {
  size_t room = room_ * 2 > size_ + more ? room_ * 2 : size_ + more + 64;
  void* at = realloc(at_, room);
  if (!at) throw std::bad_alloc();
  at_ = static_cast<char*>(at);
  room_ = room;
}

Column::Column(ColumnType t) : type(t) {
  if (is_text(type.type)) offsets.value<int64_t>(0);
  if (type.type == Type::list) {
    offsets.value<int32_t>(0);
    child = std::make_unique<Column>(ColumnType{type.item, Type::u64, type.fields});
  }
  if (type.type == Type::structure)
    for (auto& field : *type.fields) members.emplace_back(field.type);
}

void Column::mark(bool ok) {
  size_t byte = static_cast<size_t>(length) >> 3;
  if (validity.size() <= byte) *validity.extend(1) = 0;
  if (ok) validity.data()[byte] = static_cast<char>(validity.data()[byte] | 1 << (length & 7));
}

void Column::null() {
  if (!validity.size()) {  // the first one: all before it were valid
    size_t bytes = static_cast<size_t>(length) / 8 + 1;
    memset(validity.extend(bytes), 0xff, bytes);
    validity.data()[bytes - 1] = static_cast<char>((1 << (length & 7)) - 1);
  }
  mark(false);
  ++nulls;
  switch (type.type) {
    case Type::json:
    case Type::text:
    case Type::binary: offsets.value<int64_t>(static_cast<int64_t>(data.size())); break;
    case Type::list: offsets.value<int32_t>(static_cast<int32_t>(child->length)); break;
    case Type::structure:
      for (auto& member : members) member.null();
      break;
    case Type::boolean:
      if (static_cast<size_t>(length) / 8 >= data.size()) data.put('\0');
      break;
    case Type::u8:
    case Type::i8: data.value<uint8_t>(0); break;
    case Type::u16:
    case Type::i16: data.value<uint16_t>(0); break;
    case Type::u32:
    case Type::i32:
    case Type::f32:
    case Type::dictionary: data.value<uint32_t>(0); break;
    case Type::u64:
    case Type::i64:
    case Type::f64: data.value<uint64_t>(0); break;
  }
  ++length;
}

void Column::boolean(bool v) {
  size_t byte = static_cast<size_t>(length) >> 3;
  if (byte >= data.size()) data.put('\0');
  if (v) data.data()[byte] = static_cast<char>(data.data()[byte] | 1 << (length & 7));
  valid();
}

void Column::text(std::string_view v) {
  // A program may name things in any bytes: DuckDB takes a table with one bad byte in it for damaged.
  if (type.type == Type::text)
    each_valid_utf8(v, [this](std::string_view piece) { data.put(piece); });
  else
    data.put(v);
  end_text();
}

void Column::valid_many(size_t n) {
  if (!validity.size()) {
    length += static_cast<int64_t>(n);
    return;
  }
  for (size_t i = 0; i < n; ++i) valid();
}

void Column::values(const void* from, size_t n, size_t width) {
  if (!n) return;
  memcpy(data.extend(n * width), from, n * width);
  valid_many(n);
}

void export_stream(std::vector<NamedType> columns, std::unique_ptr<BatchSource> source, ArrowArrayStream* out) {
  auto* holder = new StreamHolder{std::move(columns), std::move(source), {}};
  *out = ArrowArrayStream{stream_schema, stream_next, stream_error, stream_release, holder};
}

}  // namespace dt
