// The bytes of an apitrace trace: format 6 in snappy chunks of 1 MiB.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace dt::peers {

class ApitraceWriter {
 public:
  explicit ApitraceWriter(FILE* file) : file_(file) { fwrite("at", 1, 2, file_); }

  void byte(uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<uint8_t>(value | 0x80));
    byte(static_cast<uint8_t>(value));
  }
  void text(std::string_view value) {
    number(value.size());
    out_ += value;
  }
  void raw(const void* data, size_t bytes) { out_.append(static_cast<const char*>(data), bytes); }

  // Values.
  void null() { byte(0); }
  void sint(int64_t value) {
    if (value >= 0) return uint(static_cast<uint64_t>(value));
    byte(3);
    number(0 - static_cast<uint64_t>(value));
  }
  void uint(uint64_t value) {
    byte(4);
    number(value);
  }
  void f32(const void* value) {
    byte(5);
    raw(value, 4);
  }
  void f64(const void* value) {
    byte(6);
    raw(value, 8);
  }
  void string(std::string_view value) {
    byte(7);
    text(value);
  }
  void blob(std::string_view value) {
    byte(8);
    text(value);
  }
  void array(uint64_t count) {
    byte(11);
    number(count);
  }
  void pointer(uint64_t address) {
    if (!address) return null();
    byte(13);
    number(address);
  }

  // Between calls: what is full goes to the file.
  void flush(bool all);
  bool failed() const { return ferror(file_) != 0; }

 private:
  FILE* file_;
  std::string out_, packed_;
};

}  // namespace dt::peers
