// The command line of a player.
#pragma once
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "options.h"

namespace dt::play {

// The options of every player; each may have more.
struct Asked {
  Options options;
  bool help = false;
};

template <class W> struct OptionOf {
  const char* name;
  const char* values;  // "": none; words, one a value
  const char* needs;   // said where the values are not what they should be
  bool (*take)(W& w, char** values);
  const char* help;
};

inline bool number(const char* text, uint64_t& out) {
  char* end = nullptr;
  if (!text || *text < '0' || *text > '9') return false;
  errno = 0;
  out = strtoull(text, &end, 10);
  return *end == 0 && !errno;
}

// "5,7@80,9": calls, ascending or not, and what submits them; a file of them as @FILE, blanks and newlines between.
inline bool executions(std::string text, std::vector<std::pair<uint64_t, uint64_t>>& out) {
  if (text.starts_with("@")) {
    std::ifstream file(text.substr(1));
    if (!file) return false;
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  const char* at = text.c_str();
  while (*at) {
    if (*at == ',' || *at == ' ' || *at == '\n') {
      ++at;
      continue;
    }
    if (*at < '0' || *at > '9') return false;
    char* end = nullptr;
    errno = 0;
    auto& [call, by] = out.emplace_back(strtoull(at, &end, 10), 0);
    if (*end == '@') {
      by = strtoull(end + 1, &end, 10);
      if (!by) return false;
    }
    if (errno) return false;
    at = end;
  }
  return !out.empty();
}

inline bool range(const std::string& text, uint64_t& first, uint64_t& end) {
  size_t colon = text.find(':');
  std::string a = text.substr(0, colon), b = colon == text.npos ? "" : text.substr(colon + 1);
  if (!a.empty() && !number(a.c_str(), first)) return false;
  if (colon == text.npos)
    end = first + 1;
  else if (!b.empty() && !number(b.c_str(), end))
    return false;
  return first < end;
}

template <auto Member, class W> bool flag(W& w, char**) { return w.*Member = true; }
template <auto Member, class W> bool option_flag(W& w, char**) { return w.options.*Member = true; }
template <auto Member, class W> bool word(W& w, char** values) {
  w.*Member = values[0];
  return true;
}
template <auto Member, class W> bool option_word(W& w, char** values) {
  w.options.*Member = values[0];
  return true;
}
template <auto Member, class W> bool positive(W& w, char** values) {
  uint64_t n = 0;
  if (!number(values[0], n) || !n) return false;
  w.options.*Member = n;
  return true;
}
template <class W> bool take_range(W& w, char** v) { return range(v[0], w.options.first_frame, w.options.end_frame); }
template <class W> bool take_image(W& w, char** values) {
  w.options.image_at_call = true;
  w.options.snapshot_prefix = values[1];
  return number(values[0], w.options.stop_call);
}
template <class W> bool take_snapshots(W& w, char** values) {
  w.options.snapshots = true;
  w.options.snapshot_prefix = values[0];
  return true;
}
template <class W> bool take_hashes(W& w, char**) { return w.options.snapshots = w.options.hashes = true; }
template <class W> bool take_snapshot_at(W& w, char** values) {
  const std::string text = values[0];
  Options& o = w.options;
  size_t colon = text.find(':');
  std::string word = text.substr(0, colon), rest = colon == text.npos ? "" : text.substr(colon + 1);
  if (word == "calls") {
    o.snapshot_at = Options::AT_CALLS;
    return executions(rest, o.executions);
  }
  if (word == "frames")
    o.snapshot_at = Options::AT_FRAMES;
  else if (word == "draws")
    o.snapshot_at = Options::AT_DRAWS;
  else if (word == "every")
    o.snapshot_at = Options::AT_CALLS;
  else
    return false;
  return colon == text.npos || (number(rest.c_str(), o.snapshot_every) && o.snapshot_every);
}

template <class W> bool take_attachments(W& w, char** values) {
  unsigned& out = w.options.attachments = 0;
  std::string text = values[0];
  for (text += ','; !text.empty(); text.erase(0, text.find(',') + 1)) {
    const std::string word = text.substr(0, text.find(','));
    if (word == "color")
      out |= WANT_COLOR;
    else if (word == "depth")
      out |= WANT_DEPTH;
    else if (word == "stencil")
      out |= WANT_STENCIL;
    else if (word == "buffers")
      out |= WANT_BUFFERS;
    else
      return false;
  }
  return out != 0;
}

template <class W, size_t N> void print_usage(FILE* to, const char* program, const OptionOf<W> (&options)[N]) {
  fprintf(to, "usage: %s [options] TRACE\n", program);
  for (auto& option : options) {
    const std::string left = std::string(option.name) + (*option.values ? " " : "") + option.values;
    fprintf(to, "  %-20s %s\n", left.c_str(), option.help);
  }
  fputs("exit status: 0 played, 1 played and something differs, 2 usage, 3 nothing to play on, 4 trace broken\n", to);
}

// Returns the fault of the command line; "": nothing.
template <class W, size_t N> std::string parse(int argc, char** argv, W& w, const OptionOf<W> (&options)[N]) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      if (!w.options.trace.empty()) return "one trace at a time";
      w.options.trace = word;
      continue;
    }
    if (word == "--help") {
      w.help = true;
      return "";
    }
    const auto option = std::find_if(std::begin(options), std::end(options), [&](auto& o) { return word == o.name; });
    if (option == std::end(options)) return word + " is no option";
    const std::string_view values = option->values;
    const int count = values.empty() ? 0 : 1 + static_cast<int>(std::count(values.begin(), values.end(), ' '));
    if (i + count >= argc && count) return word + " needs " + option->needs;
    if (!option->take(w, argv + i + 1)) return word + " needs " + option->needs;
    i += count;
  }
  return "";
}

}  // namespace dt::play
