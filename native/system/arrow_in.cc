#include "arrow_in.h"

namespace dt::kernel {

namespace {

// Where the text or the list in a place begins and ends.
std::pair<int64_t, int64_t> bounds(const ArrowArray& array, size_t at, bool wide) {
  auto of = [&](auto* offsets) { return std::pair<int64_t, int64_t>(offsets[at], offsets[at + 1]); };
  return wide ? of(static_cast<const int64_t*>(array.buffers[1])) : of(static_cast<const int32_t*>(array.buffers[1]));
}

}  // namespace

TableReader::TableReader(ArrowArrayStream* stream) : stream_(*stream) {
  stream->release = nullptr;
  if (stream_.get_schema(&stream_, &schema_)) {
    const char* why = stream_.get_last_error(&stream_);
    std::string text = why ? why : "the table has no schema";
    stream_.release(&stream_);
    throw Error(DT_E_FORMAT, text);
  }
  for (int64_t i = 0; i < schema_.n_children; ++i) columns_.push_back(describe(*schema_.children[i]));
}

TableReader::~TableReader() {
  release_batch();
  if (schema_.release) schema_.release(&schema_);
  if (stream_.release) stream_.release(&stream_);
}

void TableReader::release_batch() {
  if (batch_.release) batch_.release(&batch_);
  batch_ = {};
}

TableReader::Input TableReader::describe(const ArrowSchema& schema) {
  Input in;
  in.name = schema.name ? schema.name : "";
  in.format = schema.format;
  std::string_view f = in.format;
  in.kind = '?';
  if (schema.dictionary) {
    in.dictionary = true;
    in.width = f == "c" || f == "C" ? 1 : f == "s" || f == "S" ? 2 : f == "l" || f == "L" ? 8 : 4;
    f = schema.dictionary->format;
    in.kind = f == "u" || f == "U" || f == "vu" ? 's' : '?';
    in.wide = f == "U";
    in.view = f == "vu";
    return in;
  }
  if (f.size() == 1) {
    switch (f[0]) {
      case 'b': in.kind = 'o'; break;
      case 'c':
      case 's':
      case 'i':
      case 'l': in.kind = 'i'; break;
      case 'C':
      case 'S':
      case 'I':
      case 'L': in.kind = 'u'; break;
      case 'f':
      case 'g': in.kind = 'f'; break;
      case 'u':
      case 'U': in.kind = 's'; break;
      case 'z':
      case 'Z': in.kind = 'b'; break;
      default: break;
    }
    in.width = f[0] == 'c' || f[0] == 'C'                  ? 1
               : f[0] == 's' || f[0] == 'S'                ? 2
               : f[0] == 'i' || f[0] == 'I' || f[0] == 'f' ? 4
                                                           : 8;
    in.wide = f[0] == 'U' || f[0] == 'Z';
  } else if (f == "vu" || f == "vz") {
    in.kind = f == "vu" ? 's' : 'b';
    in.view = true;
  } else if ((f == "+l" || f == "+L") && schema.n_children == 1) {
    Input item = describe(*schema.children[0]);
    if (item.kind == 'i' || item.kind == 'u' || item.kind == 'f') {
      in.kind = 'l';
      in.wide = f == "+L";
      in.item_width = item.width;
      in.format = std::string(f.substr(0, 2)) + item.format;
    }
  }
  if (in.kind == '?')
    throw Error(DT_E_ARGUMENT, "the column " + in.name + " has the type " + in.format + ", which is not written");
  return in;
}

int TableReader::find(std::string_view name) const {
  for (size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i].name == name) return static_cast<int>(i);
  return -1;
}

int TableReader::need(std::string_view name) const {
  int column = find(name);
  if (column < 0) throw Error(DT_E_ARGUMENT, "the table has no column " + std::string(name));
  return column;
}

bool TableReader::next() {
  if (started_ && ++row_ < rows_) return true;
  for (;;) {
    release_batch();
    if (stream_.get_next(&stream_, &batch_)) {
      const char* why = stream_.get_last_error(&stream_);
      throw Error(DT_E_FORMAT, why ? why : "the table cannot be read");
    }
    if (!batch_.release) return false;
    started_ = true;
    row_ = 0;
    rows_ = static_cast<size_t>(batch_.length);
    if (rows_) return true;
  }
}

bool TableReader::is_null(int column) const {
  const ArrowArray& a = *batch_.children[column];
  if (!a.null_count || !a.buffers[0]) return false;
  size_t at = row_ + static_cast<size_t>(a.offset) + static_cast<size_t>(batch_.offset);
  return !(static_cast<const uint8_t*>(a.buffers[0])[at / 8] >> (at & 7) & 1);
}

int64_t TableReader::integer(int column) const {
  const ArrowArray& a = *batch_.children[column];
  const Input& in = columns_[static_cast<size_t>(column)];
  size_t at = row_ + static_cast<size_t>(a.offset) + static_cast<size_t>(batch_.offset);
  auto* data = static_cast<const uint8_t*>(a.buffers[1]);
  if (in.kind == 'o') return data[at / 8] >> (at & 7) & 1;
  if (in.kind == 'f') return static_cast<int64_t>(real(column));
  uint64_t v = load_bytes(data + at * in.width, in.width, false);
  return static_cast<int64_t>(in.kind == 'i' ? extend_sign(v, static_cast<unsigned>(in.width * 8)) : v);
}

double TableReader::real(int column) const {
  const ArrowArray& a = *batch_.children[column];
  const Input& in = columns_[static_cast<size_t>(column)];
  if (in.kind != 'f')
    return in.kind == 'u' ? static_cast<double>(static_cast<uint64_t>(integer(column)))
                          : static_cast<double>(integer(column));
  size_t at = row_ + static_cast<size_t>(a.offset) + static_cast<size_t>(batch_.offset);
  auto* data = static_cast<const uint8_t*>(a.buffers[1]) + at * in.width;
  return in.width == 4 ? static_cast<double>(load<float>(data)) : load<double>(data);
}

std::string_view TableReader::text_of(const ArrowArray& array, size_t row, bool wide, bool view) {
  size_t at = row + static_cast<size_t>(array.offset);
  if (view) {
    auto* v = static_cast<const uint8_t*>(array.buffers[1]) + at * 16;
    auto n = load<uint32_t>(v);
    if (n <= 12) return {reinterpret_cast<const char*>(v + 4), n};
    auto buffer = load<uint32_t>(v + 8), offset = load<uint32_t>(v + 12);
    return {static_cast<const char*>(array.buffers[2 + buffer]) + offset, n};
  }
  const auto [from, to] = bounds(array, at, wide);
  return {static_cast<const char*>(array.buffers[2]) + from, static_cast<size_t>(to - from)};
}

std::string_view TableReader::text(int column) const {
  const ArrowArray& a = *batch_.children[column];
  const Input& in = columns_[static_cast<size_t>(column)];
  size_t row = row_ + static_cast<size_t>(batch_.offset);
  if (!in.dictionary) return text_of(a, row, in.wide, in.view);
  size_t at = row + static_cast<size_t>(a.offset);
  auto index = load_bytes(static_cast<const uint8_t*>(a.buffers[1]) + at * in.width, in.width, false);
  if (index >= static_cast<uint64_t>(a.dictionary->length)) return {};
  return text_of(*a.dictionary, index, in.wide, in.view);
}

const uint8_t* TableReader::list(int column, size_t* count, size_t* width) const {
  const ArrowArray& a = *batch_.children[column];
  const Input& in = columns_[static_cast<size_t>(column)];
  if (in.kind == 'b') {
    auto s = text_of(a, row_ + static_cast<size_t>(batch_.offset), in.wide, in.view);
    *count = s.size();
    *width = 1;
    return reinterpret_cast<const uint8_t*>(s.data());
  }
  size_t at = row_ + static_cast<size_t>(a.offset) + static_cast<size_t>(batch_.offset);
  const auto [from, to] = bounds(a, at, in.wide);
  const ArrowArray& item = *a.children[0];
  *count = static_cast<size_t>(to - from);
  *width = in.item_width;
  return static_cast<const uint8_t*>(item.buffers[1]) +
         (static_cast<size_t>(from) + static_cast<size_t>(item.offset)) * in.item_width;
}

}  // namespace dt::kernel
