#include "text_changes.h"

#include <algorithm>
#include <charconv>

#include "../core/calls.h"

namespace dt::edit {
namespace {

struct Line {
  uint64_t number = 0, seq = UINT64_MAX;
  std::string_view text;  // behind the number of the call
};

std::string_view stripped(std::string_view s) {
  auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

// The lines that are calls. One whose number is out of order was moved or doubled: it becomes a new call.
std::vector<Line> lines_of(std::string_view text, uint64_t first_seq, uint64_t end) {
  std::vector<Line> lines;
  uint64_t number = 0;
  while (!text.empty()) {
    size_t stop = text.find('\n');
    std::string_view line = stripped(text.substr(0, stop));
    text = stop == text.npos ? std::string_view() : text.substr(stop + 1);
    ++number;
    if (line.empty() || line.front() == '#') continue;
    Line l;
    l.number = number;
    auto [at, error] = std::from_chars(line.data(), line.data() + line.size(), l.seq);
    if (error == std::errc() && at < line.data() + line.size() && (*at == ' ' || *at == '\t')) {
      l.text = stripped(line.substr(static_cast<size_t>(at - line.data())));
      if (l.seq < first_seq || l.seq >= end)
        throw Error(DT_E_ARGUMENT, "line " + std::to_string(number) + ": call " + std::to_string(l.seq) +
                                       " is not among the calls " + std::to_string(first_seq) + " to " +
                                       std::to_string(end ? end - 1 : 0) +
                                       " that this text is about; a new call has no number");
    } else {
      l.seq = UINT64_MAX;
      l.text = line;
    }
    lines.push_back(l);
  }
  uint64_t last = 0;
  bool any = false;
  for (auto& l : lines) {
    if (l.seq == UINT64_MAX) continue;
    if (any && l.seq <= last)
      l.seq = UINT64_MAX;
    else
      last = l.seq, any = true;
  }
  return lines;
}

// New calls stand before the next line that has a number.
void put_new_calls(JsonWriter<std::string>& json, const std::vector<Line>& lines, uint64_t end) {
  uint64_t next = end;
  std::vector<std::pair<uint64_t, const Line*>> fresh;
  for (size_t i = lines.size(); i-- > 0;) {
    if (lines[i].seq != UINT64_MAX)
      next = lines[i].seq;
    else
      fresh.emplace_back(next, &lines[i]);
  }
  std::reverse(fresh.begin(), fresh.end());
  json.list("inserted");
  for (auto& [before, line] : fresh)
    json.object().put("before", before).put("line", line->number).put("text", line->text).end();
  json.end();
}

}  // namespace

std::string text_changes(const Trace& trace, uint64_t first_seq, uint64_t end_seq, std::string_view text) {
  uint64_t end = end_seq ? std::min(end_seq, trace.calls) : trace.calls;
  std::vector<Line> lines = lines_of(text, first_seq, end);
  std::string text_of_all, text_of_dropped;
  JsonWriter json(text_of_all), dropped(text_of_dropped);
  json.object();
  put_new_calls(json, lines, end);
  std::erase_if(lines, [](auto& l) { return l.seq == UINT64_MAX; });

  Printer printer(trace, true);
  Bytes now;
  auto line = lines.begin();
  uint64_t gap = UINT64_MAX, gap_end = 0;
  auto close_gap = [&] {
    if (gap == UINT64_MAX) return;
    dropped.list().value(gap).value(gap_end).end();
    gap = UINT64_MAX;
  };
  json.list("changed");
  dropped.list();
  Selection s;
  s.first_seq = first_seq, s.end_seq = end;
  each_call(trace, s, [&](OpenChunk& chunk, uint32_t call, uint64_t seq) {
    while (line != lines.end() && line->seq < seq) ++line;
    if (line == lines.end() || line->seq != seq) {
      if (gap != UINT64_MAX && gap_end != seq) close_gap();
      if (gap == UINT64_MAX) gap = seq;
      gap_end = seq + 1;
      return;
    }
    uint32_t r = chunk.record_of(call);
    now.clear();
    printer.call(now, chunk, r);
    if (chunk.durations()[r] == DT_IN_FLIGHT) now.put("  [in flight]");
    if (now.view() == line->text) return;
    json.object().put("seq", seq).put("line", line->number).put("old", now.view()).put("new", line->text).end();
  });
  close_gap();
  dropped.end();
  json.end().json("dropped", text_of_dropped).end();
  return text_of_all;
}

}  // namespace dt::edit
