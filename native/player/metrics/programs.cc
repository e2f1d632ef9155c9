#include "programs.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include "draw_state.h"
#include "shader_text.h"
#include "source.h"
#include "gl_enums.h"

namespace dt::play::metrics {
namespace {

using Key = std::pair<uint32_t, uint32_t>;  // share group, program

struct Copy {
  uint32_t name = 0;
  std::string why;  // there is none
  CopiedUniforms uniforms;
  Reading reads;
  int units = -1;      // where fixed function takes their number
  int place = -1;      // the place of the pixels
  uint64_t epoch = 0;  // when it was given the values of the uniforms
};

std::map<Key, ProgramSource>& sources() {
  static std::map<Key, ProgramSource> all;
  return all;
}
enum Variant : uint8_t {
  BARE,
  COUNTING,
  FETCHING,
  PLACING,
  PLACING_BARE,
  LISTING,
  LISTING_BARE,
  MAPPING,
  MAPPING_BARE,
  SAMPLING,
  SAMPLING_BARE,
  VARIANTS
};
std::map<Key, Copy>& copies(int variant) {
  static std::map<Key, Copy> all[VARIANTS];
  return all[variant];
}
Key key(uint32_t program) { return {tls.context ? tls.context->share_group : 0, program}; }

// The words and signs of a shader, without comments; lines of the preprocessor only where `directives`.
std::vector<std::string> tokens(const std::string& text, bool directives = false) {
  std::vector<std::string> out;
  bool line_begins = true;
  for (size_t i = 0; i < text.size();) {
    auto c = static_cast<unsigned char>(text[i]);
    if (text.compare(i, 2, "//") == 0 || (c == '#' && line_begins && !directives)) {
      while (i < text.size() && (text[i] != '\n' || text[i - 1] == '\\')) ++i;
    } else if (text.compare(i, 2, "/*") == 0) {
      size_t end = text.find("*/", i + 2);
      i = end == text.npos ? text.size() : end + 2;
    } else if (isalpha(c) || c == '_') {
      size_t begin = i;
      while (i < text.size() && (isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_')) ++i;
      out.push_back(text.substr(begin, i - begin));
      line_begins = false;
    } else {
      if (c == '\n')
        line_begins = true;
      else if (!isspace(c))
        out.emplace_back(1, text[i]), line_begins = false;
      ++i;
    }
  }
  return out;
}

std::set<std::string, std::less<>> words(const std::string& text) {
  std::set<std::string, std::less<>> out;
  for (auto& token : tokens(text, true))
    if (isalpha(static_cast<unsigned char>(token[0])) || token[0] == '_') out.insert(token);
  return out;
}

// Where the types of a fragment shader's outputs stand among its tokens; the name follows.
std::vector<size_t> outputs_of(const std::vector<std::string>& all) {
  std::vector<size_t> out;
  int depth = 0;
  for (size_t i = 0; i + 2 < all.size(); ++i) {
    if (all[i] == "{" || all[i] == "(")
      ++depth;
    else if (all[i] == "}" || all[i] == ")")
      --depth;
    if (depth || all[i] != "out") continue;
    size_t type = i + 1;
    while (type + 2 < all.size() && (all[type] == "highp" || all[type] == "mediump" || all[type] == "lowp")) ++type;
    out.push_back(type);
  }
  return out;
}

// Returns whether the first output of a fragment shader may be no colour: integers, or nothing.
bool has_other_outputs(const std::string& text) {
  const auto all = tokens(text);
  const auto outputs = outputs_of(all);
  for (size_t type : outputs)
    if (all[type] != "float" && !all[type].starts_with("vec")) return true;
  return outputs.empty() && std::none_of(all.begin(), all.end(),
                                         [](auto& token) { return token == "gl_FragColor" || token == "gl_FragData"; });
}

void look(ProgramSource& s, uint32_t stage, const std::string& text) {
  if (stage == GL_FRAGMENT_SHADER && has_other_outputs(text)) s.other_outputs = true;
  for (auto& word : words(text)) {
    auto begins = [&](std::string_view with) { return word.starts_with(with); };
    if (stage == GL_FRAGMENT_SHADER && (word == "discard" || word == "demote" || word == "gl_SampleMask"))
      s.discards = true;
    if (begins("imageStore") || begins("imageAtomic") || begins("atomic") || word == "buffer" ||
        begins("beginInvocationInterlock"))
      s.writes_memory = true;
    if (stage == GL_FRAGMENT_SHADER && word == "gl_FragDepth") s.writes_depth = true;
    if (begins("gl_LastFrag") ||
        (stage == GL_FRAGMENT_SHADER && word == "inout" && text.find("framebuffer_fetch") != text.npos))
      s.reads_target = true;
    if (word == "subroutine") s.subroutines = true;
    if (begins("image") || begins("iimage") || begins("uimage")) s.images = true;
  }
}

// A fragment shader for COUNTING, "" where none can be made.
std::string counting_shader(const ProgramSource& source, const std::string& text, std::string& why) {
  std::string version = version_line(text);
  bool old = version.empty() || version.find("100") != version.npos;
  constexpr const char* one = "vec4(0.003921569)";
  if (!source.discards && !source.writes_depth) {
    if (old) return version + "\nprecision mediump float;\nvoid main() { gl_FragColor = " + one + "; }\n";
    return version + "\nprecision mediump float;\nout vec4 dt_one;\nvoid main() { dt_one = " + one + "; }\n";
  }
  std::string output;
  if (old) {
    output = words(text).contains("gl_FragData") ? "gl_FragData[0]" : "gl_FragColor";
  } else {
    const auto all = tokens(text);
    const auto outputs = outputs_of(all);
    for (size_t type : outputs)
      if (all[type] != "vec4" || type + 2 >= all.size() || all[type + 2] != ";")
        return why = "its fragment shader has outputs of other kinds than vec4", "";
    if (outputs.size() != 1) return why = "its fragment shader has " + std::to_string(outputs.size()) + " outputs", "";
    output = all[outputs[0] + 1];
  }
  size_t body = version.empty() ? 0 : text.find(version) + version.size();
  return version + "\n#define main dt_main\n" + text.substr(body) + "\n#undef main\nvoid main() { dt_main(); " +
         output + " = " + one + "; }\n";
}

ShaderLanguage language(ShaderLanguage::Counts counts = ShaderLanguage::FETCHES) {
  return {is_es(),
          tls.context->version,
          fetch_binding(),
          counts,
          [](const char* name) { return has_extension(name); },
          tls.context->core != 0,
          false,
          false};
}

// The stages of a program as they count their fragments in pixels, `bare` with nothing else in the last; false: `why`
// they cannot.
bool placing_stages(const ProgramSource& source, bool bare, Placed as,
                    std::vector<std::pair<uint32_t, std::string>>& stages, std::string& why) {
  static constexpr ShaderLanguage::Counts COUNTS[] = {ShaderLanguage::FRAGMENTS, ShaderLanguage::PIXELS,
                                                      ShaderLanguage::PLANE, ShaderLanguage::SAMPLES};
  ShaderLanguage spoken = language(COUNTS[static_cast<int>(as)]);
  if (as == Placed::SAMPLES && is_es() && tls.context->version < 32)
    return why = "OpenGL ES 3.2 tells which samples are covered", false;
  const auto vertex =
      std::count_if(source.stages.begin(), source.stages.end(), [](auto& s) { return s.first == GL_VERTEX_SHADER; });
  const bool others = std::any_of(source.stages.begin(), source.stages.end(),
                                  [](auto& s) { return s.first != GL_VERTEX_SHADER && s.first != GL_FRAGMENT_SHADER; });
  spoken.quads = places_quads() && as != Placed::SAMPLES;
  spoken.placed = vertex == 1 && !others && (is_es() || tls.context->core || has_extension("GL_EXT_gpu_shader4"));
  std::string version;
  for (auto& [stage, text] : source.stages) {
    if (bare && stage == GL_FRAGMENT_SHADER) continue;
    CountingText made;
    if (is_es() || stage == GL_FRAGMENT_SHADER)
      made = counting_text(text, stage == GL_FRAGMENT_SHADER, spoken);
    else
      made.text = text;
    if (!made.why.empty()) return why = made.why, false;
    if (stage == GL_VERTEX_SHADER) version = version_line(made.text);
    if (stage == GL_VERTEX_SHADER && spoken.placed) made.text = placed_text(made.text, spoken);
    stages.emplace_back(stage, std::move(made.text));
  }
  if (bare) stages.emplace_back(GL_FRAGMENT_SHADER, pixel_counting_text(version, spoken));
  return true;
}

// Returns whether the outputs of the fragment shaders go to the same colour buffers.
bool same_outputs(const ProgramSource& source, uint32_t original, uint32_t copy) {
  const auto index = is_es() ? driver::glGetFragDataIndexEXT : driver::glGetFragDataIndex;
  const bool indexed = index && (is_es() ? has_extension("GL_EXT_blend_func_extended") : tls.context->version >= 33);
  for (auto& [stage, text] : source.stages) {
    if (stage != GL_FRAGMENT_SHADER) continue;
    for (auto& word : words(text)) {
      const int at = driver::glGetFragDataLocation(original, word.c_str());
      if (at >= 0 && (driver::glGetFragDataLocation(copy, word.c_str()) != at ||
                      (indexed && index(original, word.c_str()) != index(copy, word.c_str()))))
        return false;
    }
  }
  return true;
}

// The stages of a program as they count what they read of textures, and which do; false: `why` they cannot.
bool counting_stages(const ProgramSource& source, std::vector<std::pair<uint32_t, std::string>>& stages, Reading& reads,
                     std::string& why) {
  ShaderLanguage spoken = language();
  bool fragment = false;
  for (auto& [stage, text] : source.stages) {
    bool last = stage == GL_FRAGMENT_SHADER;
    CountingText made = counting_text(text, last, spoken);
    if (!made.why.empty()) return why = made.why, false;
    if (last) reads.per_run = fragment ? -1 : made.per_run;
    fragment = fragment || last;
    (last ? reads.fragment : reads.earlier) |= made.fetches;
    stages.emplace_back(stage, made.text);
  }
  if (!fragment && !is_es() && !tls.context->core) {
    stages.emplace_back(GL_FRAGMENT_SHADER, fixed_counting_text(spoken));
    reads.fragment = true;
  }
  if (!reads.earlier) return true;
  int blocks = 0;
  driver::glGetIntegerv(GL_MAX_VERTEX_SHADER_STORAGE_BLOCKS, &blocks);
  return blocks > 0 ? true
                    : (why = "the driver has no storage blocks in vertex shaders, and these read textures", false);
}

Copy make(uint32_t program, const ProgramSource& source, Variant variant) {
  Copy made;
  auto fail = [&](const std::string& why) {
    if (made.name) driver::glDeleteProgram(made.name);
    made.name = 0;
    made.why = why;
    return made;
  };
  if (source.subroutines) return fail("its shaders have subroutines");
  std::vector<std::pair<uint32_t, std::string>> counting;
  if (std::string why; variant == FETCHING && !counting_stages(source, counting, made.reads, why)) return fail(why);
  if (variant == FETCHING && !made.reads.fragment && !made.reads.earlier) return made;
  const bool placing = variant >= PLACING, whole = placing || variant == FETCHING;
  const bool bare = placing && (variant - PLACING) % 2;
  const Placed as = placing ? static_cast<Placed>((variant - PLACING) / 2) : Placed::NUMBER;
  if (std::string why; placing && !placing_stages(source, bare, as, counting, why)) return fail(why);
  made.name = driver::glCreateProgram();
  std::string version;
  bool vertex = false;
  auto add = [&](uint32_t stage, const std::string& text) {
    const uint32_t shader = compiled(stage, text);
    driver::glAttachShader(made.name, shader);
    driver::glDeleteShader(shader);
  };
  for (auto& [stage, text] : counting) {
    vertex |= stage == GL_VERTEX_SHADER;
    add(stage, text);
  }
  for (auto& [stage, text] : source.stages) {
    if (stage == GL_FRAGMENT_SHADER || whole) continue;
    if (stage == GL_VERTEX_SHADER) vertex = true, version = version_line(text);
    add(stage, text);
  }
  if (!vertex && ((variant != FETCHING && (program || !bare)) || is_es() || tls.context->core))
    return fail("it has no vertex shader");
  if (whole) {
    // As they are.
  } else if (variant == BARE) {
    add(GL_FRAGMENT_SHADER, version + "\nvoid main() {}\n");
  } else {
    for (auto& [stage, text] : source.stages) {
      if (stage != GL_FRAGMENT_SHADER) continue;
      std::string why, counting = counting_shader(source, text, why);
      if (counting.empty()) return fail(why);
      add(GL_FRAGMENT_SHADER, counting);
    }
  }
  bind_attributes(program, made.name, whole);
  driver::glLinkProgram(made.name);
  int linked = 0;
  driver::glGetProgramiv(made.name, GL_LINK_STATUS, &linked);
  if (!linked)
    return fail(whole ? "its copy with shaders that count does not link"
                      : "its copy with another fragment shader does not link");
  if (std::string why = made.uniforms.find(program, made.name, false); !why.empty()) return fail(why);
  if (variant == FETCHING) made.units = driver::glGetUniformLocation(made.name, "dt_units");
  if (placing) made.place = driver::glGetUniformLocation(made.name, "dt_place");
  if (placing && !bare && !same_outputs(source, program, made.name))
    return fail("the copy's colours would go to other buffers");
  return made;
}

}  // namespace

void program_linked(uint32_t program) {
  for (int variant = 0; variant < VARIANTS; ++variant) {
    auto it = copies(variant).find(key(program));
    if (it == copies(variant).end()) continue;
    if (it->second.name) driver::glDeleteProgram(it->second.name);
    copies(variant).erase(it);
  }
  sources().erase(key(program));
  if (!driver::glGetAttachedShaders || !driver::glGetShaderiv || !driver::glGetShaderSource) return;
  uint32_t shaders[64];
  int count = 0;
  driver::glGetAttachedShaders(program, 64, &count, shaders);
  ProgramSource made;
  for (int i = 0; i < count; ++i) {
    int stage = 0;
    driver::glGetShaderiv(shaders[i], GL_SHADER_TYPE, &stage);
    std::string whole = shader_source(shaders[i]);
    if (whole.empty()) return;  // a binary
    look(made, static_cast<uint32_t>(stage), whole);
    made.stages.emplace_back(static_cast<uint32_t>(stage), std::move(whole));
  }
  if (!made.stages.empty()) sources()[key(program)] = std::move(made);
}

const ProgramSource* program_source(uint32_t program) {
  auto it = sources().find(key(program));
  return it == sources().end() ? nullptr : &it->second;
}

const char* unrepeatable(const Draw& draw, uint32_t program) {
  if (*draw.refusal()) return draw.refusal();
  if (!strcmp(draw.name, "glBitmap")) return "glBitmap moves the raster position";
  if (!program) {
    if (version() >= (is_es() ? 31u : 41u) && integer(GL_PROGRAM_PIPELINE_BINDING))
      return "a pipeline of separate programs draws it";
    return fixed_function() ? nullptr : "no program draws it";
  }
  const ProgramSource* source = program_source(program);
  if (!source) return "the text of its shaders is not known";
  return source->writes_memory ? "its shaders write memory: drawn again, they would do so again" : nullptr;
}

void use_program(uint32_t program) { driver::glUseProgram(program); }

namespace {
// nullptr: the text of its shaders is not known.
Copy* copy_of(uint32_t program, Variant variant) {
  static const ProgramSource fixed;
  const ProgramSource* source = program ? program_source(program) : &fixed;
  if (!source) return nullptr;
  auto it = copies(variant).find(key(program));
  if (it == copies(variant).end()) it = copies(variant).emplace(key(program), make(program, *source, variant)).first;
  return &it->second;
}
bool use_copy(uint32_t program, Variant variant, std::string& why, Reading* reads = nullptr, uint32_t units = 0) {
  Copy* copy = copy_of(program, variant);
  if (!copy) return why = "the text of its shaders is not known", false;
  if (reads) *reads = copy->reads;
  if (!copy->name) return why = copy->why, variant == FETCHING && why.empty();
  use_program(copy->name);
  if (copy->units >= 0) driver::glUniform1i(copy->units, static_cast<int>(units));
  copy->uniforms.write(program, copy->name, copy->uniforms.values(program));
  return true;
}
Variant placing(bool bare, Placed as) { return static_cast<Variant>(PLACING + 2 * static_cast<int>(as) + bare); }
void write_place(const Copy& copy, const Place& place) {
  driver::glUniform4i(copy.place, place.first, place.row, place.room, place.odd);
}
}  // namespace

bool places_quads() { return is_es() ? tls.context->version >= 31 : tls.context->version >= 45; }
bool has_placing_copy(uint32_t program, bool bare, Placed as, std::string& why) {
  Copy* copy = copy_of(program, placing(bare, as));
  if (!copy) return why = "the text of its shaders is not known", false;
  return copy->name && copy->place >= 0 ? true : (why = copy->why, false);
}
void move_placing_copy(uint32_t program, bool bare, Placed as, const Place& place) {
  write_place(*copy_of(program, placing(bare, as)), place);
}
void use_placing_copy(uint32_t program, bool bare, Placed as, const Place& place, uint64_t epoch) {
  Copy& copy = *copy_of(program, placing(bare, as));
  use_program(copy.name);
  write_place(copy, place);
  if (copy.epoch == epoch) return;
  copy.uniforms.write(program, copy.name, copy.uniforms.values(program));
  copy.epoch = epoch;
}
void use_placing_copy(uint32_t program, bool bare, Placed as, const Place& place, const UniformValues& values) {
  Copy& copy = *copy_of(program, placing(bare, as));
  use_program(copy.name);
  write_place(copy, place);
  copy.uniforms.write(program, copy.name, values);
  copy.epoch = 0;  // none
}
UniformValues uniform_values(uint32_t program, bool bare, Placed as) {
  return copy_of(program, placing(bare, as))->uniforms.values(program);
}

bool use_bare_copy(uint32_t program, std::string& why) { return use_copy(program, BARE, why); }
bool use_counting_copy(uint32_t program, std::string& why) { return use_copy(program, COUNTING, why); }
bool use_fetching_copy(uint32_t program, uint32_t units, Reading& stages, std::string& why) {
  return use_copy(program, FETCHING, why, &stages, units);
}

int reads_of_each_fragment(uint32_t program) {
  const Copy* copy = copy_of(program, FETCHING);
  const bool certain = copy && !copy->reads.earlier && (copy->name || copy->why.empty());
  return certain ? copy->reads.per_run : -1;
}

bool use_fixed_fetching(uint32_t units, std::string& why) {
  static std::map<uint32_t, std::pair<uint32_t, int>> programs;  // by share group: the program, where its number is
  auto [it, fresh] = programs.try_emplace(tls.context->share_group);
  auto& [program, at] = it->second;
  if (fresh) {
    const uint32_t shader = compiled(GL_FRAGMENT_SHADER, fixed_counting_text(language()));
    program = driver::glCreateProgram();
    driver::glAttachShader(program, shader);
    driver::glLinkProgram(program);
    driver::glDeleteShader(shader);
    int linked = 0;
    driver::glGetProgramiv(program, GL_LINK_STATUS, &linked);
    if (!linked)
      driver::glDeleteProgram(program), program = 0;
    else
      at = driver::glGetUniformLocation(program, "dt_units");
  }
  if (!program) return why = "the driver links no fragment shader behind fixed function", false;
  use_program(program);
  driver::glUniform1i(at, static_cast<int>(units));
  return true;
}

// The last binding: programs begin with the first.
uint32_t fetch_binding() {
  int most = 0;
  driver::glGetIntegerv(GL_MAX_SHADER_STORAGE_BUFFER_BINDINGS, &most);
  return most > 0 ? static_cast<uint32_t>(most) - 1 : 0;
}

}  // namespace dt::play::metrics
