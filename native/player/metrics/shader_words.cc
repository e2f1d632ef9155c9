#include "shader_words.h"

#include <cctype>
#include <iterator>
#include <sstream>

namespace dt::play::metrics {

std::vector<Token> tokens_of(const std::string& text) {
  std::vector<Token> tokens;
  int directive = 0, directives = 0;
  bool line_begins = true;
  for (size_t i = 0, n = text.size(); i < n;) {
    size_t begin = i;
    auto c = static_cast<unsigned char>(text[i]);
    auto goes_on = [&](size_t at) {
      return text[at] == '\\' && (text.compare(at + 1, 1, "\n") == 0 || text.compare(at + 1, 2, "\r\n") == 0);
    };
    Token::Kind kind = Token::SIGN;
    if (text.compare(i, 2, "//") == 0) {
      kind = Token::SPACE;
      while (i < n && text[i] != '\n') i += goes_on(i) ? (text[i + 1] == '\r' ? 3u : 2u) : 1u;
    } else if (text.compare(i, 2, "/*") == 0) {
      kind = Token::SPACE;
      size_t end = text.find("*/", i + 2);
      i = end == text.npos ? n : end + 2;
    } else if (goes_on(i)) {
      kind = Token::SPACE;
      i += text[i + 1] == '\r' ? 3 : 2;
    } else if (c == '\n') {
      kind = Token::LINE_END;
      ++i;
    } else if (isspace(c)) {
      kind = Token::SPACE;
      while (i < n && text[i] != '\n' && isspace(static_cast<unsigned char>(text[i]))) ++i;
    } else if (isalpha(c) || c == '_') {
      kind = Token::WORD;
      while (i < n && (isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_')) ++i;
    } else if (isdigit(c) || (c == '.' && i + 1 < n && isdigit(static_cast<unsigned char>(text[i + 1])))) {
      kind = Token::NUMBER;
      while (i < n && (isalnum(static_cast<unsigned char>(text[i])) || text[i] == '.' || text[i] == '_')) ++i;
    } else {
      ++i;
      if (c == '#' && line_begins) directive = ++directives;
    }
    i = std::min(i, n);
    tokens.push_back({kind, text.substr(begin, i - begin), directive, "", ""});
    if (kind == Token::LINE_END)
      directive = 0, line_begins = true;
    else if (kind != Token::SPACE)
      line_begins = false;
  }
  return tokens;
}

std::string_view plain(std::string_view word) {
  for (std::string_view end : {"ARB", "EXT", "OES", "AMD", "APPLE"})
    if (word.ends_with(end)) return word.substr(0, word.size() - end.size());
  return word;
}
bool take(std::string_view& word, std::string_view with) {
  if (!word.starts_with(with)) return false;
  word.remove_prefix(with.size());
  return true;
}
std::string reading(std::string_view name, bool old) {
  std::string_view word = plain(name);
  std::string_view kind = take(word, "texelFetch") ? "texelFetch"
                          : take(word, "texture")  ? "texture"
                          : take(word, "shadow")   ? "shadow"
                                                   : "";
  if (kind.empty()) return "";
  bool dimension = false;
  for (std::string_view d :
       {"2DRect", "1DArray", "2DArray", "CubeArray", "CubeMapArray", "1D", "2D", "3D", "Cube", "Buffer"})
    if (take(word, d)) {
      dimension = true;
      break;
    }
  std::string what{word};
  take(word, "Proj");
  if (!take(word, "Lod")) take(word, "Grad") || take(word, "Gather");
  if (!take(word, "Offsets")) take(word, "Offset");
  if (!word.empty() || (old && !dimension) || (kind == "shadow" && !dimension)) return "";
  return std::string(kind == "shadow" ? "texture" : kind) + what;
}

// The words of a list with blanks between them.
static std::set<std::string, std::less<>> words_in(const char* list) {
  std::istringstream words(list);
  return {std::istream_iterator<std::string>(words), {}};
}

const std::set<std::string, std::less<>>& new_words() {
  static const std::set<std::string, std::less<>> all = words_in(
      "texture textureProj textureLod textureProjLod textureGrad textureProjGrad texelFetch atomicAdd "
      "sample buffer shared coherent volatile restrict readonly writeonly patch precise subroutine layout "
      "centroid flat smooth noperspective uint uvec2 uvec3 uvec4 mat2x2 mat2x3 mat2x4 mat3x2 mat3x3 mat3x4 "
      "mat4x2 mat4x3 mat4x4 case switch default sampler3D samplerBuffer isamplerBuffer usamplerBuffer "
      "samplerCubeArray samplerCubeShadow sampler2DArray sampler2DArrayShadow isampler2D isampler3D "
      "isamplerCube isampler2DArray usampler2D usampler3D usamplerCube usampler2DArray sampler2DMS "
      "isampler2DMS usampler2DMS sampler2DMSArray image2D iimage2D uimage2D image3D imageCube image2DArray "
      "imageBuffer atomic_uint common partition active filter resource superp");
  return all;
}
const std::set<std::string, std::less<>>& words_of_300() {
  static const std::set<std::string, std::less<>> all = words_in(
      "texture textureProj textureLod textureProjLod textureGrad textureProjGrad texelFetch layout "
      "centroid flat smooth uint uvec2 uvec3 uvec4 mat2x2 mat2x3 mat2x4 mat3x2 mat3x3 mat3x4 mat4x2 mat4x3 "
      "mat4x4 case switch default sampler3D samplerCubeShadow sampler2DArray sampler2DArrayShadow "
      "isampler2D isampler3D isamplerCube isampler2DArray usampler2D usampler3D usamplerCube "
      "usampler2DArray");
  return all;
}

}  // namespace dt::play::metrics
