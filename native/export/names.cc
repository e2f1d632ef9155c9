#include "names.h"

#include <algorithm>

#include "source.h"

namespace dt::c {
namespace {

// Shaders and programs share their numbers, so they share their place here; the variable says what it is.
const ObjectClass g_classes[] = {
    {"texture", "texture", "GLuint", true},
    {"buffer", "buffer", "GLuint", true},
    {"framebuffer", "framebuffer", "GLuint", false},
    {"renderbuffer", "renderbuffer", "GLuint", true},
    {"vertex array", "vertex_array", "GLuint", false},
    {"sampler", "sampler", "GLuint", true},
    {"query", "query", "GLuint", false},
    {"program", "program", "GLuint", true},
    {"shader", "shader", "GLuint", true},
    {"program pipeline", "pipeline", "GLuint", false},
    {"transform feedback", "feedback", "GLuint", false},
    {"display list", "list", "GLuint", true},
    {"assembly program", "assembly_program", "GLuint", true},
    {"path", "path", "VGPath", true},
    {"paint", "paint", "VGPaint", true},
    {"vector image", "picture", "VGImage", true},
    {"font", "font", "VGFont", true},
    {"mask layer", "mask_layer", "VGMaskLayer", true},
};
static_assert(std::size(g_classes) <= Names::MOST_CLASSES);

bool is_assembly(std::string_view function) {
  for (auto name : {"glBindProgram", "glGenPrograms", "glDeletePrograms", "glIsProgram", "glAreProgramsResident",
                    "glRequestResidentPrograms"})
    if (function.starts_with(name) && (function.ends_with("ARB") || function.ends_with("NV"))) return true;
  return false;
}

}  // namespace

const ObjectClass* object_class(std::string_view word, std::string_view function) {
  if (word.empty()) return nullptr;
  if (word == "program" && is_assembly(function)) word = "assembly program";
  if (word == "image" && function.starts_with("vg")) word = "vector image";  // the other ones are EGL's
  for (auto& c : g_classes)
    if (word == c.word) return &c;
  return nullptr;
}

std::string identifier(std::string_view text) {
  std::string out;
  for (char c : text) {
    bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (good)
      out += c;
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.substr(0, 48);
}

bool is_name(std::string_view text) {
  return !text.empty() && !isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return isalnum(c) || c == '_'; });
}

std::string base_type(std::string_view ctype) {
  std::string out;
  while (!ctype.empty()) {
    const size_t end = ctype.find_first_of(" *");
    const std::string_view word = ctype.substr(0, end);
    ctype.remove_prefix(end == ctype.npos ? ctype.size() : end + 1);
    if (!word.empty() && word != "const" && word != "struct") out = word;
  }
  return out == "void" ? "" : out;
}

const std::string& Variables::declare(const std::string& name, const std::string& type, const std::string& initial) {
  auto [it, fresh] = declared_.try_emplace(name, Declared{type, initial});
  if (fresh) order_.push_back(&it->first);
  return it->first;
}

void Variables::write(const std::string& folder) const {
  File header(folder + "/objects.h"), body(folder + "/objects.c");
  header.put(
      "/* Objects of the recording. A name that the program chose itself keeps its number. */\n"
      "#ifndef PLAY_OBJECTS_H\n#define PLAY_OBJECTS_H\n#include \"play.h\"\n\n");
  body.put("#include \"objects.h\"\n\n");
  for (auto* name : order_) {
    auto& d = declared_.at(*name);
    std::string gap = d.type.back() == '*' ? "" : " ";
    size_t bracket = name->find('[');
    header.put("extern " + d.type + gap + *name + ";\n");
    body.put(d.type + gap + *name + (d.initial.empty() || bracket != name->npos ? "" : " = " + d.initial) + ";\n");
  }
  header.put("\n#endif\n");
  header.close();
  body.close();
}

std::string Names::number(const ObjectClass& c, uint32_t group, uint32_t context, uint64_t name) {
  if (!name) return "0";
  uint32_t owner = c.shared ? group : context | 0x80000000u;
  auto index = static_cast<size_t>(&c - g_classes);
  uint64_t key = static_cast<uint64_t>(owner) << 32 | (name & 0xffffffffu);
  // Either word may stand for a name of the other kind (glDeleteObjectARB).
  size_t other = std::string_view(c.word) == "program"  ? index + 1
                 : std::string_view(c.word) == "shader" ? index - 1
                                                        : index;
  if (auto it = known_[index].find(key); it != known_[index].end()) return it->second;
  if (auto it = known_[other].find(key); it != known_[other].end()) return it->second;
  if (std::string_view(c.word) == "display list") {
    auto& ranges = lists_[group];
    auto it = ranges.upper_bound(static_cast<uint32_t>(name));
    if (it != ranges.begin()) {
      --it;
      auto offset = static_cast<uint32_t>(name) - it->first;
      if (offset < it->second.count)
        return offset ? it->second.variable + " + " + std::to_string(offset) : it->second.variable;
    }
  }
  if (!first_group_) first_group_ = group ? group : 1;
  std::string text = std::string(c.variable) + "_" + std::to_string(name);
  if (c.shared ? group > first_group_ : context > 1)
    text += (c.shared ? "_of_group_" : "_of_context_") + std::to_string(c.shared ? group : context);
  variables_.declare(text, c.type, std::to_string(name));
  return known_[index][key] = text;
}

void Names::lists(uint32_t group, uint32_t base, uint32_t count, const std::string& variable) {
  lists_[group][base] = {count, variable};
}

bool Names::knows(const char* variable, uint64_t handle) const { return handles_.count({variable, handle}) != 0; }
std::string Names::handle(const char* variable, const char* type, uint64_t handle, bool fresh) {
  auto key = std::make_pair(std::string(variable), handle);
  auto it = handles_.find(key);
  if (it != handles_.end() && !fresh) return it->second;
  std::string name = std::string(variable) + "_" + std::to_string(++numbers_[variable]);
  variables_.declare(name, type, "0");
  return handles_[key] = name;
}

}  // namespace dt::c
