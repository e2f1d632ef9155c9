// The words of a shader's text.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dt::play::metrics {

struct Token {
  enum Kind : uint8_t { WORD, NUMBER, SIGN, SPACE, LINE_END } kind;
  std::string text;
  int directive = 0;          // line of the preprocessor that it is part of, from 1
  std::string before, after;  // what is put around it
};

std::vector<Token> tokens_of(const std::string& text);
// The name without a vendor's ending.
std::string_view plain(std::string_view word);
// Takes the beginning off, if it is that.
bool take(std::string_view& word, std::string_view with);
// The name of a built-in function that reads a texture, without its dimension ("texture", "textureProjLod"), "" for
// every other word.
std::string reading(std::string_view name, bool old);
// Words of GLSL ES 3.20 that were names in 1.00 or 3.00, and built-in functions that a variable of that name would
// hide.
const std::set<std::string, std::less<>>& new_words();
// The words among these that GLSL ES 3.00 has too.
const std::set<std::string, std::less<>>& words_of_300();

}  // namespace dt::play::metrics
