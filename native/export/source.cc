#include "source.h"

#include <cerrno>
#include <cstring>
#include <set>

#define XXH_INLINE_ALL
#include "../third_party/xxhash.h"

namespace dt::c {

Hash128 hash_of(std::string_view content) {
  XXH128_hash_t h = XXH3_128bits(content.data(), content.size());
  return {h.low64, h.high64};
}

File::File(const std::string& path) : path_(path), file_(fopen(path.c_str(), "wb")) {
  if (!file_) throw Error(DT_E_IO, path + " cannot be written: " + strerror(errno));
}
File::~File() {
  if (file_) fclose(file_);
}
void File::put(std::string_view text) {
  if (fwrite(text.data(), 1, text.size(), file_) != text.size())
    throw Error(DT_E_IO, path_ + " cannot be written: " + strerror(errno));
}
void File::close() {
  FILE* file = file_;
  file_ = nullptr;
  if (file && fclose(file)) throw Error(DT_E_IO, path_ + " cannot be written: " + strerror(errno));
}

// ---- content ------------------------------------------------------------------------------------

Data::Data(const std::string& folder) : file_(folder + "/data.bin"), header_(folder + "/data.h") {
  header_.put(
      "/* Content of arrays, in data.bin. */\n#ifndef PLAY_DATA_H\n#define PLAY_DATA_H\n#include \"play.h\"\n\n");
}

std::string Data::store(std::string_view content, const Hash128& hash, const std::string& what) {
  auto number = static_cast<uint32_t>(known_.size());
  known_.emplace(hash, number);
  std::string name = "data_" + std::to_string(number);
  header_.put("#define " + name + " (play_data + " + std::to_string(at_) + ") /* " + std::to_string(content.size()) +
              " bytes: " + what + " */\n");
  file_.put(content);
  static const char zeros[16] = {};
  size_t pad = (16 - content.size() % 16) % 16;
  file_.put({zeros, pad});
  at_ += content.size() + pad;
  return name;
}

std::string Data::add(std::string_view content, const std::string& what) {
  Hash128 hash = hash_of(content);
  auto it = known_.find(hash);
  if (it != known_.end()) return "data_" + std::to_string(it->second);
  return store(content, hash, what);
}

std::string Data::add(const Hash128& hash, const Trace& trace, const std::string& what) {
  auto it = known_.find(hash);
  if (it != known_.end()) return "data_" + std::to_string(it->second);
  auto content = trace.blob(hash);
  return store({reinterpret_cast<const char*>(content.data()), content.size()}, hash, what);
}

void Data::close() {
  // The assembler refuses to make an object of an empty file.
  if (!at_) file_.put({"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16});
  header_.put("\n#endif\n");
  header_.close();
  file_.close();
}

// ---- texts --------------------------------------------------------------------------------------

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      case '?': out += i && text[i - 1] == '?' ? "\\?" : "?"; break;  // no trigraphs
      default:
        if (c >= 0x20 && c < 0x7f) {
          out += static_cast<char>(c);
        } else {
          char octal[8];
          snprintf(octal, sizeof octal, "\\%03o", c);
          out += octal;
        }
    }
  }
  return out + "\"";
}

std::string literal(std::string_view text, std::string_view indent) {
  std::string out;
  while (!text.empty()) {
    size_t end = text.find('\n');
    size_t n = end == text.npos ? text.size() : end + 1;
    if (!out.empty()) out += "\n";
    out += std::string(indent) + quoted(text.substr(0, n));
    text.remove_prefix(n);
  }
  return out.empty() ? std::string(indent) + "\"\"" : out;
}

std::string Texts::add(std::string_view text) {
  auto [it, fresh] = known_.try_emplace(std::string(text), static_cast<uint32_t>(known_.size()));
  std::string name = "source_" + std::to_string(it->second);
  if (fresh) {
    declarations_ += "extern const char " + name + "[];\n";
    body_ += "\nconst char " + name + "[] =\n" + literal(text, "  ") + ";\n";
  }
  return name;
}

void Texts::close() {
  File header(folder_ + "/sources.h"), body(folder_ + "/sources.c");
  header.put("/* Shader sources. */\n#ifndef PLAY_SOURCES_H\n#define PLAY_SOURCES_H\n" + declarations_ + "#endif\n");
  body.put("/* Shader sources, as the program handed them over. */\n#include \"sources.h\"\n" +
           (known_.empty()
                ? "\nextern const char sources_none;\nconst char sources_none = 0; /* no file without anything */\n"
                : body_));
  header.close();
  body.close();
}

// ---- frames -------------------------------------------------------------------------------------

bool Frames::begin(uint64_t call) {
  if (open_) return false;
  open_ = true;
  in_setup_ = frame_ < options_.first_frame;
  name_ = in_setup_                                ? "setup_" + std::to_string(frame_)
          : frame_ < ends_.size() || ends_.empty() ? "frame_" + std::to_string(frame_)
                                                   : "after_frames";
  comment_ = "recorded calls from " + std::to_string(call) + " on";
  part_.clear();
  parts_.clear();
  part_lines_ = pending_lines_ = parts_done_ = 0;
  return true;
}

void Frames::line(std::string_view text) {
  part_ += "  ";
  part_ += text;
  part_ += '\n';
  if (++part_lines_ >= options_.calls_per_function) flush_part();
}

void Frames::flush_part() {
  parts_.emplace_back(std::move(part_), part_lines_);
  pending_lines_ += part_lines_;
  part_.clear();
  part_lines_ = 0;
  // A frame of a million calls must not wait in memory, and goes to several files.
  if (pending_lines_ >= options_.calls_per_file) {
    for (auto& [text, lines] : parts_)
      emit("void " + name_ + "_part_" + std::to_string(parts_done_++) + "(void) {\n" + text + "}\n\n", lines);
    parts_.clear();
    pending_lines_ = 0;
  }
}

void Frames::emit(const std::string& text, uint64_t lines, bool same_file) {
  if (!file_ || (in_file_ >= options_.calls_per_file && !same_file)) {
    if (file_) file_->close();
    char name[32];
    snprintf(name, sizeof name, "frames_%03zu.c", files_.size());
    files_.push_back(name);
    file_ = std::make_unique<File>(folder_ + "/" + name);
    file_->put("#include \"calls.h\"\n\n");
    in_file_ = 0;
  }
  file_->put(text);
  in_file_ += lines;
}

std::string Frames::finish() {
  if (parts_done_ == 0 && parts_.empty()) {
    Hash128 hash = hash_of(part_);
    auto [it, fresh] = seen_.try_emplace(hash, name_);
    if (!fresh) {
      ++repeated_;
      return it->second;
    }
    emit("/* " + comment_ + " */\nvoid " + name_ + "(void) {\n" + part_ + "}\n\n", part_lines_);
    return name_;
  }
  if (part_lines_) {
    parts_.emplace_back(std::move(part_), part_lines_);
    part_.clear();
  }
  if (parts_done_ == 0) {
    std::string all;
    for (auto& [text, lines] : parts_) all += text;
    auto [it, fresh] = seen_.try_emplace(hash_of(all), name_);
    if (!fresh) {
      ++repeated_;
      return it->second;
    }
  }
  uint64_t in_other_files = parts_done_;
  bool same_file = false;  // what is static stands in the file of the frame's own function
  for (auto& [text, lines] : parts_) {
    emit("static void " + name_ + "_part_" + std::to_string(parts_done_++) + "(void) {\n" + text + "}\n\n", lines,
         same_file);
    same_file = true;
  }
  std::string function = "/* " + comment_ + " */\n";
  for (uint64_t i = 0; i < in_other_files; ++i)
    function += "void " + name_ + "_part_" + std::to_string(i) + "(void);\n";
  function += "void " + name_ + "(void) {\n";
  for (uint64_t i = 0; i < parts_done_; ++i) function += "  " + name_ + "_part_" + std::to_string(i) + "();\n";
  file_->put(function + "}\n\n");
  return name_;
}

void Frames::close() {
  if (file_) file_->close();
  file_.reset();
}

void Frames::end(bool whole) {
  if (open_) {
    const std::string function = finish();
    if (in_setup_)
      setup_ += "  " + function + "();\n";
    else if (whole)
      functions_.push_back(function);
    else
      rest_ = function;
  }
  open_ = false;
  ++frame_;
}

void Frames::write_list() const {
  std::set<std::string> declared;
  std::string table, declarations;
  for (auto& f : functions_) {
    if (declared.insert(f).second) declarations += "void " + f + "(void);\n";
    table += "  " + f + ",\n";
  }
  if (!rest_.empty() && declared.insert(rest_).second) declarations += "void " + rest_ + "(void);\n";
  for (size_t at = 0; at < setup_.size();) {
    size_t end = setup_.find("();", at);
    if (end == setup_.npos) break;
    std::string name = setup_.substr(at + 2, end - at - 2);
    if (declared.insert(name).second) declarations += "void " + name + "(void);\n";
    at = setup_.find('\n', end) + 1;
  }
  File file(folder_ + "/frame_list.h");
  file.put("/* Which function plays which frame. */\n" + declarations +
           "\nstatic void (*const play_frames[])(void) = {\n" + (table.empty() ? "  0,\n" : table) +
           "};\nenum { PLAY_FRAMES = " + std::to_string(functions_.size()) +
           ", PLAY_FIRST_FRAME = " + std::to_string(options_.first_frame) + " };\n\nstatic void play_setup(void) {\n" +
           setup_ + "}\nstatic void play_rest(void) {\n" + (rest_.empty() ? "" : "  " + rest_ + "();\n") + "}\n");
  file.close();
}

}  // namespace dt::c
