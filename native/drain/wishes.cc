// Others' orders to the drainer: through its socket, and in lines of standard input.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../common/descriptor.h"
#include "../common/foreign.h"
#include "drainer.h"

namespace dt {
namespace {

constexpr size_t LONGEST_LINE = 1 << 20;

}  // namespace

std::string Drainer::about(const Recorded& r) const {
  dt_pool_header* pool = r.session->pool().header();
  const Totals& t = r.session->totals();
  const uint32_t control = pool->control.load();
  const char* state = control & DT_CONTROL_STOP ? "stopped" : pool->recording.load() ? "recording" : "paused";
  JsonObject json;
  json.put("pid", r.session->process().pid).put("program", r.session->process().program).put("state", state);
  json.put("wanted", control & DT_CONTROL_RECORD).put("frames", pool->frames.load());
  json.put("frames_left", pool->frames_left.load()).put("frames_dropped", pool->frames_dropped.load());
  json.put("calls", t.calls).put("bytes", t.bytes_file).put("trace", r.session->trace());
  if (Ring* ring = r.session->ring()) {
    JsonObject held;
    ring->totals().put(held);
    json.json("ring", held.str());
  }
  return json.str();
}

// save PID [before=NS] [after=NS] [output=PATH, with %XX for odd bytes]; saved PID NUMBER.
void Drainer::request_save(uint64_t client, const std::vector<std::string>& words) {
  auto refuse = [&](const std::string& why) {
    control_.answer(client, JsonObject().put("ok", false).put("error", why).str());
  };
  if (words.size() < 2) return refuse(words[0] + ": expected the number of a process");
  Ring* ring = nullptr;
  for (Recorded& r : recorded_)
    if (std::to_string(r.session->process().pid) == words[1] && !r.session->ending()) {
      ring = r.session->ring();
      if (!ring) return refuse("this recorder writes a file and keeps nothing: drawtap record --ring does");
    }
  if (!ring) return refuse("process " + words[1] + " is not recorded here");
  if (words[0] == "saved") {
    const std::string said = words.size() == 3 ? ring->result(strtoull(words[2].c_str(), nullptr, 10)) : "";
    if (said.empty()) return refuse("there is no such save");
    return control_.answer(client, JsonObject().put("ok", true).json("result", said).str());
  }
  SaveWish wish;
  wish.reason = "command";
  wish.by_hand = true;
  for (size_t i = 2; i < words.size(); i++) {
    const size_t is = words[i].find('=');
    const std::string name = words[i].substr(0, is), value = is == std::string::npos ? "" : words[i].substr(is + 1);
    if (name == "before")
      wish.before_ns = strtoull(value.c_str(), nullptr, 10);
    else if (name == "after")
      wish.after_ns = strtoull(value.c_str(), nullptr, 10);
    else if (name == "output") {
      for (size_t at = 0; at < value.size(); at++) {
        if (value[at] != '%' || at + 2 >= value.size()) {
          wish.output += value[at];
          continue;
        }
        wish.output += static_cast<char>(strtoul(value.substr(at + 1, 2).c_str(), nullptr, 16));
        at += 2;
      }
      if (wish.output.empty() || wish.output[0] != '/' || wish.output.find('\n') != std::string::npos)
        return refuse("save: the file must be named from the root on");
    } else {
      return refuse("save: not understood: " + words[i].substr(0, 60));
    }
  }
  const uint64_t number = ring->save(wish);
  if (!number) return refuse("too many saves are waiting");
  control_.answer(client, JsonObject().put("ok", true).put("save", number).str());
}

void Drainer::request(uint64_t client, const std::vector<std::string>& words) {
  const std::string& verb = words[0];
  auto refuse = [&](const std::string& why) {
    control_.answer(client, JsonObject().put("ok", false).put("error", why).str());
  };
  if (verb == "status") {
    std::string all;
    for (const Recorded& r : recorded_)
      if (!r.session->ending()) all += (all.empty() ? "" : ", ") + about(r);
    JsonObject json;
    json.put("ok", true).put("version", DRAWTAP_VERSION).put("drainer", static_cast<uint64_t>(getpid()));
    return control_.answer(client, json.json("programs", "[" + all + "]").str());
  }
  if (verb == "save" || verb == "saved") return request_save(client, words);
  if (verb != "start" && verb != "stop" && verb != "frames") return refuse("there is no request " + verb.substr(0, 40));
  uint32_t pid = 0, count = 0;
  auto parse = [&](size_t i, uint32_t* value) {
    if (i >= words.size()) return false;
    auto [end, error] = std::from_chars(words[i].data(), words[i].data() + words[i].size(), *value);
    return error == std::errc() && end == words[i].data() + words[i].size() && *value;
  };
  if (!parse(1, &pid)) return refuse(verb + ": expected the number of a process");
  if (verb == "frames" && !parse(2, &count)) return refuse("frames: expected a number of frames");
  if (words.size() > (verb == "frames" ? 3 : 2)) return refuse(verb + ": too many words");
  for (Recorded& r : recorded_) {
    if (r.session->process().pid != pid || r.session->ending()) continue;
    dt_pool_header* pool = r.session->pool().header();
    if (pool->control.load() & DT_CONTROL_STOP) return refuse("recording of this process has ended for good");
    if (verb == "stop") {
      pool->frames_left.store(0);
      pool->control.fetch_and(~uint32_t{DT_CONTROL_RECORD});
    } else {
      pool->frames_left.store(count);
      pool->control.fetch_or(DT_CONTROL_RECORD);
    }
    return control_.answer(client, JsonObject().put("ok", true).json("program", about(r)).str());
  }
  refuse("process " + words[1] + " is not recorded here");
}

// A line of standard input: an object of JSON, whose member `do` names the wish.
void Drainer::obey(const std::string& line) {
  Json wish;
  const std::string wrong = JsonReader::read_object(line, wish), what = wish["do"].text();
  if (what == "annotate" && wish["annotation"].kind() == Json::OBJECT) {
    remarks_.annotate(std::string(wish["annotation"].raw()));
  } else if (what == "exit" || what == "signal") {
    remarks_.ended(what == "signal", wish["value"].number<int>());
  } else if (const auto pid = wish["pid"].number<uint32_t>(); what == "watch" && pid) {
    watched_ = std::make_unique<Watched>(pid);
    remarks_.watch(pid);
    until_input_ends_ = wish["until_input_ends"].truth();
  } else if (what == "peek") {
    peek();
  } else if (what == "save") {
    SaveWish save_wish;
    save_wish.by_hand = !wish["limited"].truth();
    save_wish.reason = wish["reason"].text();
    // Part of a file's name.
    std::erase_if(save_wish.reason, [](unsigned char c) { return !isalnum(c) && c != '-' && c != '_'; });
    if (save_wish.reason.empty()) save_wish.reason = "command";
    save_wish.detail = wish["detail"].text();
    save(save_wish);
  } else if (!line.empty()) {
    status_.error("input", "not understood: " + line.substr(0, 80) + (wrong.empty() ? "" : ": " + wrong));
  }
}

void Drainer::save(const SaveWish& wish) {
  if (!o_.session.ring.on()) return status_.error("ring", "there is no flight recorder here: --ring starts one");
  bool any = false;
  for (Recorded& r : recorded_) {
    if (r.session->ending() || !r.session->ring()) continue;
    if (wish.by_hand || r.session->ring()->allow()) r.session->ring()->save(wish);
    any = true;
  }
  if (!any) status_.error("ring", "no process is being recorded: there is nothing to save");
}

// Somebody wants to ask the window something: it is there, as a trace, until the next one is.
void Drainer::peek() {
  JsonObject line;
  line.put("event", "peek");
  if (peek_ >= 0) close(peek_);
  peek_ = -1;
  for (Recorded& r : recorded_) {
    if (r.session->ending() || !r.session->ring()) continue;
    peek_ = memfd_create("drawtap-window", MFD_CLOEXEC);
    const std::string error = peek_ < 0 ? strerror(errno) : r.session->ring()->peek(peek_);
    if (error.empty())
      line.put("path", "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(peek_));
    else
      line.put("error", error);
    break;
  }
  status_.say(line);
}

void Drainer::read_lines() {
  char bytes[65536];
  const ssize_t n = read(0, bytes, sizeof bytes);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) {
    stdin_open_ = false;
    last_activity_ = seconds_now();
    remarks_.no_more();
    return;
  }
  line_.append(bytes, static_cast<size_t>(n));
  for (size_t end; (end = line_.find('\n')) != std::string::npos; line_.erase(0, end + 1)) obey(line_.substr(0, end));
  if (line_.size() > LONGEST_LINE) line_.clear();
}

}  // namespace dt
