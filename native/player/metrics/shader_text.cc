#include "shader_text.h"
#include "shader_words.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace dt::play::metrics {
namespace {

// ---- what is put into it ------------------------------------------------------------------------

// The extensions that a shader of desktop GLSL needs for a block to count in; `version` as in #version.
std::string storage_extensions(uint32_t version) {
  std::string text;
  if (version < 430) text += "#extension GL_ARB_shader_storage_buffer_object : require\n";
  if (version < 420) text += "#extension GL_ARB_shading_language_420pack : require\n";
  if (version < 140) text += "#extension GL_ARB_uniform_buffer_object : require\n";
  return text;
}

// The number in a line about the version; 0 without one.
uint32_t version_number(const std::string& line) {
  const size_t digit = line.find_first_of("0123456789");
  return digit == line.npos ? 0 : static_cast<uint32_t>(strtoul(line.c_str() + digit, nullptr, 10));
}

// The line of a shader of desktop GLSL that had another.
std::string new_version(const ShaderLanguage& language, uint32_t number) {
  return "#version " + std::to_string(number) + (language.core ? "" : " compatibility");
}

// The varying that hands on dt_place, `direction` "in" or "out"; and what old shaders of desktop GLSL need for it.
std::string place_varying(const ShaderLanguage& language, uint32_t version, const char* direction) {
  if (!language.es && version < 130) return "flat varying ivec4 dt_at;\n";
  return std::string("flat ") + direction + (language.es ? " highp" : "") + " ivec4 dt_at;\n";
}
std::string place_extension(const ShaderLanguage& language, uint32_t version) {
  return language.placed && !language.es && version < 130 ? "#extension GL_EXT_gpu_shader4 : require\n" : "";
}

// dt_count() counts a fragment, see ShaderLanguage::Counts.
std::string pixel_block(const ShaderLanguage& language, uint32_t version, bool quads) {
  const std::string exact = language.es ? "highp " : "";
  std::string text = "layout(std430, binding = " + std::to_string(language.binding) + ") buffer dt_counts { " + exact +
                     "int dt_pixels[]; };\n";
  text += language.placed ? place_varying(language, version, "in") + "#define dt_place dt_at\n"
                          : "uniform " + exact + "ivec4 dt_place;\n";
  text += "void dt_count() {\n";
  const std::string integer = exact + "int ", real = exact + "float ";
  if (quads) {
    text += "  " + integer +
            "x = int(gl_FragCoord.x), y = int(gl_FragCoord.y), right = x & 1, upper = (y + dt_place.w) & 1, bit = 1 << "
            "(right + 2 * upper);\n";
    // Differences to the neighbours tell what they have.
    text +=
        "  " + real +
        "own = gl_HelperInvocation ? 0.0 : float(bit), across = dFdx(own), row = own + own + (right == 0 ? across : "
        "-across), along = dFdy(row);\n";
    text += "  " + integer +
            "all = int(row + row + (upper == 0 ? along : -along) + 0.5);\n  if ((all & -all) != bit) return;\n";
    if (language.counts == ShaderLanguage::FRAGMENTS)
      return text + "  atomicAdd(dt_pixels[dt_place.x], bitCount(all));\n}\n";
    if (language.counts == ShaderLanguage::PLANE)
      return text + "  " + integer + "cell = ((dt_place.y + 1) >> 1) * ((y - upper + 1) >> 1) + (x >> 1);\n" +
             "  if (cell < dt_place.z) atomicAdd(dt_pixels[dt_place.x + cell], (all & 1) + ((all & 2) << 7) + ((all & "
             "4) << 14) + ((all & 8) << 21));\n}\n";
    return text + "  " + integer +
           "at = atomicAdd(dt_pixels[dt_place.x], 1), first = dt_place.y * (y - upper) + x - right;\n" +
           "  if (at >= dt_place.z) atomicAdd(dt_pixels[dt_place.x + 1], bitCount(all));\n" +
           "  dt_pixels[at < dt_place.z ? dt_place.x + 2 + at : dt_place.y * y + x] = (at < dt_place.z ? first : "
           "dt_place.x) * 16 + all;\n}\n";
  }
  if (language.counts == ShaderLanguage::FRAGMENTS) return text + "  atomicAdd(dt_pixels[dt_place.x], 1);\n}\n";
  if (language.counts == ShaderLanguage::SAMPLES)
    return text +
           "  atomicAdd(dt_pixels[dt_place.x], 1);\n  atomicAdd(dt_pixels[dt_place.x + 1], "
           "bitCount(gl_SampleMaskIn[0]));\n}\n";
  return text + "  " + real + "x = gl_FragCoord.x, y = gl_FragCoord.y;\n  " + integer +
         "at = atomicAdd(dt_pixels[dt_place.x], 1);\n  " + integer + "pixel = dt_place.y * int(y) + int(x);\n" +
         "  dt_pixels[at < dt_place.z ? dt_place.x + 2 + at : pixel] = at < dt_place.z ? pixel : dt_place.x;\n}\n";
}

// ---- what a text says ---------------------------------------------------------------------------

struct Define {
  size_t name = 0, begin = 0, end = 0;  // tokens: its name, its body
  std::vector<std::string> parameters;
  bool function = false, certain = false;  // certain: outside of conditions
};
struct OwnFunction {  // a function of the shader's own
  std::vector<std::string> types;
  size_t at = 0;
};

class Text {
 public:
  Text(const std::string& text, bool fragment, const ShaderLanguage& language)
      : all_(tokens_of(text)), fragment_(fragment), language_(language) {}

  CountingText made() {
    CountingText result;
    said_version();
    read_directives();
    if (why_.empty()) read_code();
    if (why_.empty()) find_aliases();
    if (why_.empty()) count_calls();
    if (why_.empty() && fragment_) result.per_run = reads_of_a_run();
    if (why_.empty() && language_.es) translate();
    if (why_.empty()) put_in();
    result.why = why_;
    result.fetches = fetches_;
    if (!why_.empty()) return result;
    for (auto& t : all_) result.text += t.before + t.text + t.after;
    return result;
  }

 private:
  static bool solid(const Token& t) { return t.kind != Token::SPACE && t.kind != Token::LINE_END; }
  bool is(size_t i, std::string_view text) const { return i < all_.size() && all_[i].text == text; }
  // The next token behind `i` that is no space, in the same directive or in the code; the end where there is none.
  size_t next(size_t i, size_t end) const {
    int directive = all_[i].directive;
    for (++i; i < end; ++i)
      if (solid(all_[i]) && all_[i].directive == directive) return i;
    return end;
  }
  size_t previous(size_t i) const {
    int directive = all_[i].directive;
    while (i-- > 0)
      if (solid(all_[i]) && all_[i].directive == directive) return i;
    return all_.size();
  }

  void said_version() {
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!all_[i].directive || !is(i, "version")) continue;
      size_t number = next(i, all_.size());
      if (number >= all_.size()) break;
      version_ = static_cast<uint32_t>(strtoul(all_[number].text.c_str(), nullptr, 10));
      version_begin_ = previous(i), version_end_ = number;
      for (size_t k = number; k < all_.size() && all_[k].directive == all_[i].directive; ++k) version_end_ = k;
      break;
    }
    if (!version_) version_ = language_.es ? 100 : 110;
    old_ = language_.es ? version_ < 300 : version_ < 130;
  }

  // Macros, and which parts of the code stand under conditions.
  void read_directives() {
    int depth = 0;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!all_[i].directive || all_[i].text != "#" || (i && all_[i - 1].directive == all_[i].directive)) continue;
      size_t end = i;
      while (end < all_.size() && all_[end].directive == all_[i].directive) ++end;
      size_t word = next(i, end);
      if (word >= end) continue;
      const std::string& name = all_[word].text;
      if (name.starts_with("if")) ++depth;
      if (name == "endif") --depth;
      if (name == "extension") last_extension_ = end;
      if (name == "include") why_ = "its shader includes another text";
      if (size_t what = next(word, end); name == "undef" && what < end) undefined_.insert(all_[what].text);
      if (name != "define") continue;
      Define d;
      d.name = next(word, end);
      if (d.name >= end) continue;
      d.begin = d.name + 1;
      d.end = end;
      d.certain = depth == 0;
      if (d.begin < end && all_[d.begin].text == "(") {
        d.function = true;
        while (d.begin < end && all_[d.begin].text != ")") {
          if (all_[d.begin].kind == Token::WORD) d.parameters.push_back(all_[d.begin].text);
          ++d.begin;
        }
        if (d.begin < end) ++d.begin;
      }
      for (size_t k = d.begin; k + 1 < end; ++k)
        if (all_[k].text == "#" && all_[k + 1].text == "#") why_ = "a macro of its shader pastes words together";
      defines_.push_back(std::move(d));
    }
  }

  // Functions of the shader's own, and where code of ours can stand.
  void read_code() {
    struct Level {
      int braces, parens;
    };
    std::vector<Level> conditions;
    int braces = 0, parens = 0;
    size_t before = all_.size();
    bool of_function = false;
    if (!version_end_.has_value()) places_.push_back(0);
    for (size_t i = 0; i < all_.size(); ++i) {
      const Token& t = all_[i];
      if (t.directive) {
        if (t.text == "#" && !(i && all_[i - 1].directive == t.directive)) {
          size_t word = next(i, all_.size());
          std::string_view name = word < all_.size() ? all_[word].text : "";
          if (name.starts_with("if")) {
            conditions.push_back({braces, parens});
          } else if (name == "else" || name == "elif") {
            if (!conditions.empty()) braces = conditions.back().braces, parens = conditions.back().parens;
          } else if (name == "endif" && !conditions.empty()) {
            conditions.pop_back();
          }
          if (before == all_.size() && conditions.empty() && name != "version" && name != "endif") places_.push_back(i);
        }
        continue;
      }
      if (!solid(t)) continue;
      if (before == all_.size() && conditions.empty()) places_.push_back(i);
      if (t.text == "{") {
        if (!braces)
          of_function = before < all_.size() && all_[before].text == ")", first_body_ = std::min(first_body_, i);
        ++braces;
      } else if (t.text == "}") {
        if (--braces == 0 && of_function && conditions.empty()) places_.push_back(i + 1);
      } else if (t.text == "(") {
        bool named = !braces && !parens && before < all_.size() && all_[before].kind == Token::WORD;
        size_t type = named ? previous(before) : all_.size();
        static const std::set<std::string, std::less<>> none{"layout", "subroutine", "return", "else"};
        if (named && !none.contains(all_[before].text) && type < all_.size() &&
            (all_[type].kind == Token::WORD || is(type, "]")))
          declared(before, i);
        ++parens;
      } else if (t.text == ")") {
        --parens;
      } else if (t.text == ";" && !braces && !parens && conditions.empty()) {
        places_.push_back(i + 1);
      }
      before = i;
    }
  }

  void declared(size_t name, size_t open) {
    OwnFunction own;
    own.at = name;
    if (auto parts = arguments(open, all_.size()))
      for (auto& [begin, end] : *parts) {
        static const std::set<std::string, std::less<>> before_types{"const", "in",      "out",  "inout",
                                                                     "highp", "mediump", "lowp", "precise"};
        size_t k = begin;
        while (k < end && (!solid(all_[k]) || before_types.contains(all_[k].text))) ++k;
        if (k < end && all_[k].text != "void") own.types.push_back(all_[k].text);
      }
    own_[all_[name].text].push_back(std::move(own));
  }

  // The parts between the commas of a bracket that opens at `open`, as tokens; nothing where it does not close, or a
  // line of the preprocessor stands between.
  std::optional<std::vector<std::pair<size_t, size_t>>> arguments(size_t open, size_t end) const {
    std::vector<std::pair<size_t, size_t>> between;
    int depth = 0;
    size_t begin = open + 1;
    for (size_t i = open; i < end; ++i) {
      const Token& t = all_[i];
      if (t.directive != all_[open].directive) {
        if (t.text == "#") {
          size_t word = next(i, end);
          if (word < end && all_[word].text != "line" && all_[word].text != "pragma") return std::nullopt;
        }
        continue;
      }
      if (t.text == "(" || t.text == "[" || t.text == "{")
        ++depth;
      else if ((t.text == ")" || t.text == "]" || t.text == "}") && --depth == 0)
        return between.emplace_back(begin, i), between;
      else if (t.text == "," && depth == 1)
        between.emplace_back(begin, i), begin = i + 1;
    }
    return std::nullopt;
  }

  bool built_in(const std::string& word) const { return !reading(word, old_).empty(); }
  // Macros that are another name of a function that reads textures.
  void find_aliases() {
    for (bool more = true; more;) {
      more = false;
      for (auto& d : defines_) {
        if (d.function || aliases_.contains(all_[d.name].text)) continue;
        size_t only = d.begin;
        while (only < d.end && !solid(all_[only])) ++only;
        if (only >= d.end || next(only, d.end) < d.end) continue;
        const std::string& word = all_[only].text;
        if (word == all_[d.name].text || !(built_in(word) || aliases_.contains(word)) || own_.contains(word)) continue;
        aliases_.insert(all_[d.name].text);
        more = true;
      }
    }
    for (auto& d : defines_) {
      const std::string& name = all_[d.name].text;
      size_t only = d.begin;
      while (only < d.end && !solid(all_[only])) ++only;
      bool alias = !d.function && only < d.end && next(only, d.end) >= d.end &&
                   (built_in(all_[only].text) || aliases_.contains(all_[only].text));
      if (alias && all_[only].text == name) continue;
      if (aliases_.contains(name) && !alias)
        why_ = "a macro of its shader, " + name + ", is a texture function here and something else there";
      else if (built_in(name) && !alias && (!d.certain || undefined_.contains(name)))
        why_ = "whether " + name + " is a macro of its shader depends on conditions";
      else if (!alias && built_in(name))
        hidden_.emplace(name, d.name);
      if (alias) alias_bodies_.insert(only);
      macros_[name] |= d.function;
    }
  }

  // Returns whether a call of `word`, whose bracket opens at `open`, reads a texture.
  bool reads(size_t word, size_t open, size_t end) {
    const std::string& name = all_[word].text;
    if (!aliases_.contains(name)) {
      if (!built_in(name)) return false;
      // Within its own body a macro's name is what it was before.
      if (auto macro = hidden_.find(name);
          macro != hidden_.end() && word > macro->second && all_[word].directive != all_[macro->second].directive)
        return false;
    }
    auto mine = own_.find(name);
    if (mine == own_.end()) return true;
    if (all_[word].directive)
      return why_ = "a macro of its shader calls " + name + ", which is a function of its own too", false;
    for (auto& own : mine->second)
      if (own.at == word) return false;  // it is declared here
    if (word < mine->second.front().at) return true;
    if (!language_.es) return false;  // hides all that are built in
    auto parts = arguments(open, end);
    for (auto& own : mine->second) {
      if (!parts || own.types.size() != parts->size()) continue;
      static const std::map<std::string, std::vector<std::string>> only{
          {"texture2D", {"sampler2D", "vec2", "float"}},
          {"textureCube", {"samplerCube", "vec3", "float"}},
          {"texture2DLod", {"sampler2D", "vec2", "float"}},
          {"textureCubeLod", {"samplerCube", "vec3", "float"}}};
      if (own.types.size() > (name.find("Grad") != name.npos ? 4u : 3u)) return false;  // there is no such built-in one
      auto known = only.find(name);
      if (known == only.end() || !std::equal(own.types.begin(), own.types.end(), known->second.begin()))
        return why_ = name + " is a function of its shader's own beside the built-in one", false;
      return false;
    }
    return true;
  }

  void count_calls() {
    // Names that stand in the brackets of a macro may become calls there.
    std::vector<bool> brackets;
    auto part = [&](size_t begin, size_t end, const Define* define) {
      brackets.clear();
      for (size_t i = begin; i < end && why_.empty(); ++i) {
        const Token& t = all_[i];
        if (!solid(t) || (!define && t.directive)) continue;
        if (t.text == "(") {
          size_t before = previous(i);
          auto macro = before < all_.size() ? macros_.find(all_[before].text) : macros_.end();
          brackets.push_back((macro != macros_.end() && macro->second) || (!brackets.empty() && brackets.back()));
        } else if (t.text == ")" && !brackets.empty()) {
          brackets.pop_back();
        }
        if (t.kind != Token::WORD) continue;
        if (fragment_ && (t.text == "discard" || t.text == "demote")) {
          size_t before = previous(i);
          if (before < all_.size() && is(before, ".")) continue;
          discards_.push_back(i);
          continue;
        }
        if (language_.counts && fragment_ && t.text == "gl_SampleMask") why_ = "its shader leaves out samples";
        if (t.text.starts_with("sparseTex")) why_ = "its shader reads sparse textures";
        if (!built_in(t.text) && !aliases_.contains(t.text)) continue;
        if (define &&
            std::find(define->parameters.begin(), define->parameters.end(), t.text) != define->parameters.end())
          continue;
        if (alias_bodies_.contains(i)) continue;
        size_t before = previous(i), open = next(i, end);
        if (before < all_.size() && is(before, ".")) continue;
        if (open >= end || !is(open, "(")) {
          if (define || (!brackets.empty() && brackets.back())) {
            if (!define || built_in(t.text)) why_ = "a macro of its shader makes up calls of " + t.text + " from parts";
          }
          continue;  // a variable
        }
        if (!reads(i, open, end)) continue;
        auto parts = arguments(open, end);
        if (!parts) {
          why_ = define ? "a macro of its shader holds a part of a call of " + t.text
                        : "a condition of the preprocessor stands within a call of " + t.text;
          continue;
        }
        called_.insert(i);
        if (language_.counts) continue;
        all_[i].before = "(dt_fetches++, " + all_[i].before;
        all_[parts->back().second].after += ")";
        fetches_ = true;
      }
    };
    for (auto& d : defines_) part(d.begin, d.end, &d);
    part(0, all_.size(), nullptr);
  }

  // A text of GLSL ES 1.00 or 3.00 as one of the context's.
  void translate() {
    uint32_t target = language_.version >= 32 ? 320 : 310;
    if (version_ >= 310) return;
    bool old = version_ < 300;
    for (size_t i = 0; i < all_.size(); ++i) {
      Token& t = all_[i];
      if (version_end_ && i >= *version_begin_ && i <= *version_end_) {
        t.text = t.kind == Token::LINE_END ? "\n" : "";
        continue;
      }
      if (t.kind != Token::WORD) continue;
      size_t before = previous(i);
      bool member = before < all_.size() && is(before, ".") && !t.directive;
      if (t.directive && t.text == "extension" && is(before, "#") && old) {
        size_t name = next(i, all_.size());
        static const std::set<std::string, std::less<>> core{"GL_OES_standard_derivatives", "GL_EXT_shader_texture_lod",
                                                             "GL_EXT_frag_depth", "GL_EXT_draw_buffers",
                                                             "GL_OES_texture_3D"};
        if (name < all_.size() && core.contains(all_[name].text))
          t.text = "pragma", all_[name].text = "dt_core";
        else if (name < all_.size() && all_[name].text == "GL_OES_EGL_image_external")
          all_[name].text += "_essl3";
        continue;
      }
      if (t.text == "__VERSION__") t.text = std::to_string(version_);
      if (old && t.directive &&
          (t.text == "GL_OES_standard_derivatives" || t.text == "GL_EXT_shader_texture_lod" ||
           t.text == "GL_EXT_frag_depth" || t.text == "GL_EXT_draw_buffers")) {
        t.text = "dt" + t.text.substr(2);
        continue;
      }
      const bool called =
          (called_.contains(i) || alias_bodies_.contains(i)) && built_in(t.text) && !aliases_.contains(t.text);
      if (called && old) {
        t.text = reading(t.text, true);
        continue;
      }
      const auto& words = new_words();
      bool own_function = own_.contains(t.text) && t.text != "main" && !macros_.contains(t.text);
      bool is_new = words.contains(t.text) && (old || !words_of_300().contains(t.text));
      // A word that 1.00 has reserved cannot be a name there.
      if (!called && (is_new || own_function) && !(member && own_function)) {
        t.text = std::string(RENAMED) + t.text;
        continue;
      }
      if (!old) continue;
      if (t.text == "attribute")
        t.text = "in";
      else if (t.text == "varying")
        t.text = fragment_ ? "in" : "out";
      else if (t.text == "invariant" && fragment_)
        t.text = "";
      else if (t.text == "gl_FragColor")
        t.text = "dt_color", color_ = true;
      else if (t.text == "gl_FragData")
        t.text = "dt_data", data_ = true;
      else if (t.text == "gl_FragDepthEXT")
        t.text = "gl_FragDepth";
    }
    std::string head = "#version " + std::to_string(target) + " es\n";
    if (old)
      for (const char* name :
           {"GL_OES_standard_derivatives", "GL_EXT_shader_texture_lod", "GL_EXT_frag_depth", "GL_EXT_draw_buffers"})
        if (language_.has_extension && language_.has_extension(name))
          head += std::string("#define dt") + (name + 2) + " 1\n";
    head_ = head;
    replaced_ = true;
  }

  // The number of reads of each run, where nothing in the text could make some runs differ; else -1.
  int reads_of_a_run() const {
    const auto main = own_.find("main");
    if (own_.size() != 1 || main == own_.end() || main->second.size() != 1 || !alias_bodies_.empty()) return -1;
    static const std::set<std::string, std::less<>> turns{"if",     "for",     "while",  "do", "switch",
                                                          "return", "discard", "demote", "?"};
    auto may_turn = [](const Token& t) {
      return turns.contains(t.text) || t.text.find_first_of("&|") != std::string::npos;
    };
    for (auto& d : defines_)
      for (size_t i = d.begin; i < d.end; ++i)
        if (may_turn(all_[i]) || called_.contains(i)) return -1;
    int conditions = 0;
    // Text behind the last of them, an early end too, changes nothing.
    const size_t end = called_.empty() ? 0 : *called_.rbegin() + 1;
    for (size_t i = 0; i < end; ++i) {
      const Token& t = all_[i];
      if (t.directive) {
        if (t.text != "#" || (i && all_[i - 1].directive == t.directive)) continue;
        const size_t word = next(i, all_.size());
        const std::string_view name = word < all_.size() ? all_[word].text : "";
        conditions += name.starts_with("if") ? 1 : name == "endif" ? -1 : 0;
      } else if (solid(t) && (may_turn(t) || (conditions && called_.contains(i)))) {
        return -1;
      }
    }
    return static_cast<int>(called_.size());
  }

  // The counting text, before the first function, and the adding text, behind all.
  void put_in() {
    bool es = language_.es;
    const char* exact = es ? "highp " : "";
    std::string start, end;
    const bool pixels = language_.counts && fragment_ && own_.contains("main");
    for (size_t i = 0; i < all_.size(); ++i) {
      Token& t = all_[i];
      if (t.kind != Token::WORD || t.text != "main") continue;
      size_t before = previous(i);
      if (before < all_.size() && is(before, ".")) continue;
      if (fetches_ || pixels) t.text = "dt_main";
    }
    const bool quads = language_.quads && discards_.empty();
    if (pixels && language_.quads != quads && language_.counts >= ShaderLanguage::PIXELS)
      why_ = "its shader discards fragments";
    const bool samples = language_.counts == ShaderLanguage::SAMPLES;
    if (pixels && !es && (discards_.empty() || samples) && version_ < (quads ? 450 : 420)) {
      // Mesa takes the qualifier of an extension in older shaders, but tests late all the same.
      if (language_.version < 43) why_ = "GLSL 4.30 has shaders that run behind the tests";
      for (size_t i = version_end_ ? *version_begin_ : 0, stop = version_end_ ? *version_end_ + 1 : 0; i < stop; ++i)
        all_[i].text.clear();
      version_ = quads ? 450 : 430;
      head_ = new_version(language_, version_) + "\n" + head_;
      replaced_ = true;
    }
    if (pixels) {
      // Text that discards has to run before the depth is written.
      start +=
          (discards_.empty() ? "layout(early_fragment_tests) in;\n" : "") + pixel_block(language_, version_, quads);
      end += "\nvoid main() { dt_main(); dt_count(); }\n";
    }
    for (size_t i : discards_)
      if (fetches_) all_[i].text = "dt_" + all_[i].text + "()";
    const bool main = own_.contains("main");
    if (fetches_) {
      start += "layout(std430, binding = " + std::to_string(language_.binding) + ") buffer dt_counts { " + exact +
               "int dt_count[" + std::to_string(FETCH_COUNTS) + "]; };\n";
      start += std::string(exact) + "int dt_fetches = 0;\n";
      int at = fragment_ ? FRAGMENT_FETCH_COUNT : VERTEX_FETCH_COUNT;
      std::string sum = "{ " + std::string(exact) + "int was = atomicAdd(dt_count[" + std::to_string(at) +
                        "], dt_fetches); if (was < 0 && was + dt_fetches >= 0) atomicAdd(dt_count[" +
                        std::to_string(at + 1) + "], 1); dt_fetches = 0; }";
      start += "void dt_done();\n";
      bool discards = false, demotes = false;
      for (size_t i : discards_) (all_[i].text.starts_with("dt_discard") ? discards : demotes) = true;
      if (discards) start += "void dt_discard();\n";
      if (demotes) start += "void dt_demote();\n";
      // Units without main leave that to the one that has it.
      if (main) {
        end += "\nvoid dt_done() " + sum + "\n";
        if (fragment_) end += "void dt_discard() { dt_done(); discard; }\n";
        if (demotes) end += "void dt_demote() { dt_done(); demote; }\n";
        end += "void main() { dt_main(); dt_done(); }\n";
      }
    }
    if (color_) start += "layout(location = 0) out mediump vec4 dt_color;\n";
    if (data_) start += "layout(location = 0) out mediump vec4 dt_data[gl_MaxDrawBuffers];\n";
    if (!es && (fetches_ || pixels)) head_ += storage_extensions(version_);
    if (pixels) head_ += place_extension(language_, version_);
    // Lines about extensions have to stand before any code.
    size_t place = all_.size();
    for (size_t p : places_)
      if (p >= last_extension_ && p <= first_body_) {
        place = p;
        break;
      }
    if (place == all_.size() && !places_.empty()) place = places_.front();
    put(start, place);
    if (replaced_ || !version_end_) {
      if (!all_.empty()) all_.front().before = head_ + all_.front().before;
    } else if (!head_.empty()) {
      put(head_, *version_end_ + 1);
    }
    if (!all_.empty()) all_.back().after += end;
  }
  void put(const std::string& text, size_t before) {
    if (text.empty()) return;
    if (before < all_.size())
      all_[before].before = "\n" + text + all_[before].before;
    else if (!all_.empty())
      all_.back().after = "\n" + text + all_.back().after;
  }

  std::vector<Token> all_;
  const bool fragment_;
  const ShaderLanguage& language_;
  uint32_t version_ = 0;
  bool old_ = false;  // texture functions have their dimension in their names
  std::optional<size_t> version_begin_, version_end_;
  size_t last_extension_ = 0, first_body_ = SIZE_MAX;
  std::vector<Define> defines_;
  std::set<std::string> undefined_, aliases_;
  std::map<std::string, size_t> hidden_;  // built-in names that are macros, from which token on
  std::map<std::string, bool> macros_;    // whether they take arguments
  std::set<size_t> alias_bodies_, called_;
  std::map<std::string, std::vector<OwnFunction>> own_;
  std::vector<size_t> places_, discards_;
  bool fetches_ = false, color_ = false, data_ = false, replaced_ = false;
  std::string why_, head_;
};

}  // namespace

std::string version_line(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    size_t word = text.find_first_not_of(" \t\r", at);
    if (word < end && text[word] == '#') {
      size_t next = text.find_first_not_of(" \t", word + 1);
      if (next < end && text.compare(next, 7, "version") == 0) return text.substr(word, end - word);
    }
    at = end + 1;
  }
  return "";
}

std::string pixel_counting_text(const std::string& version, const ShaderLanguage& language) {
  const bool newer = (language.quads || language.counts == ShaderLanguage::SAMPLES) && !language.es;
  const uint32_t number = newer ? std::min(language.version * 10, 450u) : version_number(version);
  const char* early = language.counts == ShaderLanguage::SAMPLES ? "layout(early_fragment_tests) in;\n" : "";
  const std::string extensions = language.es ? "" : storage_extensions(number) + place_extension(language, number);
  return (newer ? new_version(language, number) : version) + "\n" + extensions + early +
         pixel_block(language, number, language.quads) + "void main() { dt_count(); }\n";
}

std::string placed_text(const std::string& text, const ShaderLanguage& language) {
  const std::string version = version_line(text);
  const uint32_t number = version_number(version);
  const size_t body = version.empty() ? 0 : text.find(version) + version.size();
  return text.substr(0, body) + "\n" + place_extension(language, number) + "#define main dt_main\n" +
         text.substr(body) + "\n#undef main\nuniform " + (language.es ? "highp " : "") + "ivec4 dt_place;\n" +
         place_varying(language, number, "out") + "void main() {\n  dt_main();\n  dt_at = dt_place;\n}\n";
}

CountingText counting_text(const std::string& text, bool fragment, const ShaderLanguage& language) {
  return Text(text, fragment, language).made();
}

std::string original_name(std::string name) {
  for (size_t at = name.find(RENAMED); at != name.npos; at = name.find(RENAMED, at)) name.erase(at, RENAMED.size());
  return name;
}

std::string fixed_counting_text(const ShaderLanguage& language) {
  std::string text = "#version 120\n" + storage_extensions(120) +
                     "uniform int dt_units;\nlayout(std430, binding = " + std::to_string(language.binding) +
                     ") buffer dt_counts { int dt_count[" + std::to_string(FETCH_COUNTS) + "]; };\n";
  return text +
         "void main() { int was = atomicAdd(dt_count[0], dt_units); if (was < 0 && was + dt_units >= 0) "
         "atomicAdd(dt_count[1], 1); }\n";
}

}  // namespace dt::play::metrics
