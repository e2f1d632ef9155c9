// Calls as text and as JSON.
#pragma once
#include "../common/json.h"
#include "arrow.h"
#include "chunk.h"

namespace dt {

void put_u64(Bytes& out, uint64_t v);
void put_i64(Bytes& out, int64_t v);
void put_hex(Bytes& out, uint64_t v);
void put_unnamed(Bytes& out, uint64_t v);  // an enumerant without a name: small ones decimal
void put_f32(Bytes& out, float v);
void put_f64(Bytes& out, double v);
void put_real(Bytes& out, uint64_t bits, bool wide, bool json);  // of 64 or 32 bits; JSON has no NaN
void put_address(Bytes& out, uint64_t v, bool json);
void put_utf8(Bytes& out, std::string_view text);  // invalid UTF-8 becomes U+FFFD
void put_duration(Bytes& out, int64_t ns);

// Prints the calls of one trace; keeps what it has worked out about each function.
class Printer {
 public:
  // `whole`: nothing is cut short, so that the text can be read back: arrays to their end, blob(HASH), hex(BYTES).
  explicit Printer(const Trace& trace, bool whole = false)
      : trace_(trace), whole_(whole), texts_(trace.signatures.functions.size()) {}
  // name(a = 1, b = GL_X) = result
  void call(Bytes& out, OpenChunk& chunk, uint32_t record);
  void result(Bytes& out, const FunctionColumns& columns, uint32_t i);
  void param(Bytes& out, const FunctionColumns& columns, const Field& field, uint32_t i) {
    value(out, columns, field, i);
  }
  // {"mode": "GL_TRIANGLES", ...}: enums by name, arrays as lists, content as {"blob": hash, "bytes": n}
  void params_json(Bytes& out, const FunctionColumns& columns, uint32_t i);
  void value_json(Bytes& out, const FunctionColumns& columns, const Field& field, uint32_t i);

 private:
  struct Words {
    std::string open;                // name(
    std::vector<std::string> param;  // ", mode = "
  };
  const Words& words(const Function& function);
  void value(Bytes& out, const FunctionColumns& columns, const Field& field, uint32_t i);
  bool words_of_blob(Bytes& out, const FunctionColumns& columns, const Field& field, uint32_t i);
  void scalar(Bytes& out, const Function& function, const Field& field, uint64_t raw, bool json);
  void quoted(Bytes& out, std::string_view s, bool json);
  bool begin_item(Bytes& out, size_t n, bool json);
  void named(Bytes& out, const Field& field, int64_t v, bool json);
  void attributes(Bytes& out, const Field& field, std::string_view s, bool json);
  void array(Bytes& out, const Field& field, std::string_view content, bool json);
  void element(Bytes& out, const Field& field, const char* at, bool json);
  const Trace& trace_;
  const bool whole_;
  std::vector<std::unique_ptr<Words>> texts_;
};

// The value of a field as a signed or unsigned 64-bit number.
int64_t integer_value(const Field& field, uint64_t raw);
// "width=320;height=240": what a recording notes of a native object.
using Attributes = std::map<std::string, std::string, std::less<>>;
Attributes parse_attributes(std::string_view text);
void put_mask(Bytes& out, const EnumGroup* group, uint64_t value, bool json = false);
void put_enumerant(Bytes& out, const Signatures& names, const EnumGroup* group, int64_t value, bool json = false);
// Names alone, as text or as a string of JSON.
void put_word(Bytes& out, std::string_view word, bool json);
// The text of an enumeration's or a bitmask's value.
std::string words_of(const Signatures& names, const Field& field, uint64_t raw);

}  // namespace dt
