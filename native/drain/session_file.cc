// The file of a session: its parts, its directory, its end.
#include "session.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>

namespace dt {

namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return {};
}

}  // namespace

std::string Session::append(std::span<const char> chunk) {
  std::string error = file_.append(chunk);
  // Writes that the receiver did not take, this chunk with them, go into the file.
  if (!error.empty() && stream_) error = spill(error);
  totals_.bytes_file = file_.size();
  if (settings_.sync_seconds > 0 && file_.descriptor() >= 0) {
    if (sync_fd_.load() < 0) sync_fd_.store(fcntl(file_.descriptor(), F_DUPFD_CLOEXEC, 3));
    appended_++;
  }
  return error;
}

std::string Session::append_json(const std::string& json) {
  return append(text_chunk(small_, DT_TYPE_ANNOTATION, json));
}

std::string Session::append_remarks() {
  std::string error;
  for (const std::string& json : remarks_.annotations_from(remarks_written_)) {
    if (error = append_json(json); !error.empty()) break;
    remarks_written_++;
  }
  return error;
}

std::string Session::trace() {
  std::lock_guard guard(trace_lock_);
  return trace_;
}

void Session::trace_is(const std::string& name) {
  {
    std::lock_guard guard(trace_lock_);
    trace_ = name;
  }
  if (!name.empty()) say_named();
}

void Session::say_named() {
  std::call_once(named_once_, [this] { named_.set_value(); });
}

std::string Session::stream_status() {
  dt_pool_header* pool = pool_->header();
  JsonObject json;
  json.put("calls", totals_.calls)
      .put("frames", pool->frames.load())
      .put("frames_dropped", pool->frames_dropped.load());
  return json.str();
}

std::string Session::open_stream() {
  const std::string& to = settings_.receivers->settings().to;
  trace_is(to);
  snprintf(pool_->origin()->trace, sizeof pool_->origin()->trace, "%s", to.c_str());
  std::string error;
  const int fd = settings_.receivers->take(&error);
  if (fd < 0) return spill(error);
  JsonObject about;
  about.put("pid", process_.pid).put("program", path_as_recorded(process_.program)).put("continues", adopted_);
  auto sink = std::make_unique<StreamSink>(fd, settings_.receivers->settings(), about.str(),
                                           [this] { return stream_status(); });
  stream_ = sink.get();
  error = file_.create_on(std::move(sink), to);
  if (error.empty()) error = begin_file();
  if (error.empty() && adopted_ && stream_) {
    JsonObject before;
    error =
        append_json(before.put("kind", "continues").put("of", to).put("why", "the drainer before this one died").str());
  }
  return error.empty() || !stream_ ? error : spill(error);
}

std::string Session::all_signatures() const {
  std::string text, groups;
  for (const auto& function : signatures_->set.functions())
    if (known_functions_[function.id]) text += function.text;
  for (const auto& group : signatures_->set.groups())
    if (known_groups_.count(group.name)) groups += group.text;
  return groups + text;
}

// There is no receiver, or not any more: go on in a file, with what it has not taken.
std::string Session::spill(const std::string& why) {
  stream_error_ = why;
  std::deque<std::vector<char>> untaken;
  if (stream_) {
    stream_taken_ = stream_->taken();
    untaken = stream_->untaken();
    stream_ = nullptr;
  }
  if (settings_.spill.empty()) return why;
  status_.error("stream", why + "; recording goes on in a file", process_.pid);
  file_.leave();
  std::string error = create_file();
  const bool whole = !stream_taken_ && !adopted_;  // the receiver has nothing: what it did not take is all there is
  if (!whole || untaken.empty()) {
    remarks_written_ = 0;  // a trace of its own says everything
    if (error.empty()) error = begin_file();
  }
  if (!whole) {
    JsonObject before;
    before.put("kind", "continues")
        .put("of", settings_.receivers->settings().to)
        .put("why", why)
        .put("bytes", stream_taken_);
    if (error.empty()) error = append_json(before.str());
    const std::string known = all_signatures();
    ChunkBuffer chunk;  // small_ may be what is being written
    if (error.empty() && !known.empty()) error = append(text_chunk(chunk, DT_TYPE_SIGNATURES, known));
  }
  for (const std::vector<char>& bytes : untaken) {
    dt_chunk_header header{};
    if (bytes.size() >= sizeof header) memcpy(&header, bytes.data(), sizeof header);
    // The file's header, and the footer of a trace that was nearly there: this file has its own.
    if (header.magic != DT_CHUNK_MAGIC || header.type == DT_TYPE_FOOTER) continue;
    if (error.empty()) error = append(bytes);
  }
  return error;
}

std::string Session::open_file() {
  if (earlier_.valid()) earlier_.wait();
  if (settings_.receivers) return open_stream();
  const std::string error = create_file();
  return error.empty() ? begin_file() : error;
}

// Another recording may take a name between the look at it and the file: then this one goes on to the next name.
std::string Session::create_file() {
  for (;;) {
    const std::string path = names_.claim(process_.pid);
    // Said before it exists: a successor must find the file, whenever and wherever it starts.
    snprintf(pool_->origin()->trace, sizeof pool_->origin()->trace, "%s", path.c_str());
    trace_is(path);
    const bool beside = names_.keeps_existing();
    const std::string error = beside ? file_.create_beside(path) : file_.create(path);
    if (error.empty() || !beside || errno != EEXIST) return error;
  }
}

std::string Session::begin_file() {
  std::string error = append_json(recording_json());
  if (error.empty()) error = append_json(process_json());
  if (error.empty()) error = append_remarks();
  return error;
}

std::string Session::append_signatures(const Encoded& out) {
  const std::string text = new_signatures(out);
  if (text.empty()) return {};
  return append(text_chunk(small_, DT_TYPE_SIGNATURES, text));
}

std::string Session::new_signatures(const Encoded& out) {
  std::string text, groups;
  const SignatureSet& set = signatures_->set;
  for (uint16_t id : out.functions) {
    if (known_functions_[id]) continue;
    known_functions_[id] = true;
    const FunctionSignature* function = set.function(id);
    text += function->text;
    for (const EnumGroup* group : set.groups_of(*function))
      if (known_groups_.emplace(group->name).second) groups += group->text;
  }
  // Noted by the program before the record that has the structure was committed.
  for (const EnumGroup* structure : set.in_chains()) {
    if (!pool_->was_in_chain(*structure->stype) || known_groups_.count(structure->name)) continue;
    for (const EnumGroup* group : set.groups_of(*structure))
      if (known_groups_.emplace(group->name).second) groups += group->text;
  }
  return groups + text;
}

void Totals::add(const Encoded& chunk) {
  calls += chunk.calls_count;
  records += chunk.records;
  in_flight += chunk.in_flight;
  bytes_raw += chunk.raw_bytes;
  chunks++;
}

void Session::write(const Job& job, Encoded* out) {
  std::string error;
  if (ring_ && !discarding_.load()) {
    if (out->records || out->blobs_meta_bytes) ring_->add(new_signatures(*out), *out);
    return totals_.add(*out);
  }
  if (!discarding_.load()) {
    // A process that made no call leaves no file. A chunk without records still says that none is missing.
    if (!file_.is_open() && !out->records && !out->blobs_meta_bytes) return;
    if (!file_.is_open()) error = open_file();
    if (error.empty() && remarks_.annotation_count() > remarks_written_) error = append_remarks();
    if (error.empty()) error = append_signatures(*out);
    if (error.empty() && out->blobs_meta_bytes) error = append(out->blobs.seal(DT_TYPE_BLOBS, out->blobs_meta_bytes));
    if (error.empty()) error = append(out->calls.seal(DT_TYPE_CALLS, out->calls_meta_bytes));
    if (error.empty()) {
      return totals_.add(*out);
    }
    fail(error);
  }
  totals_.calls_lost += out->calls_count;
  if (job.chunk.end) totals_.chunks_lost++;
}

void Session::fail(const std::string& error) {
  discarding_.store(true);
  write_error_ = error;
  pool_->stop();
  status_.error("write", error, process_.pid);
}

// A path as the trace tells it.
std::string Session::path_as_recorded(const std::string& path) const {
  return settings_.anonymous ? path.substr(path.rfind('/') + 1) : path;
}

std::string Session::recording_json() const {
  utsname system{};
  uname(&system);
  JsonObject machine;
  machine.put("sysname", system.sysname).put("release", system.release).put("version", system.version);
  machine.put("machine", system.machine);
  if (!settings_.anonymous) machine.put("hostname", system.nodename);
  machine.put("cpu", cpu_model());
  machine.put("cores", static_cast<uint64_t>(sysconf(_SC_NPROCESSORS_ONLN)));
  machine.put("memory_bytes",
              static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  static const char* const timings[] = {"both", "entry", "none"};
  JsonObject object;
  object.put("kind", "recording").put("version", DRAWTAP_VERSION).put("program", path_as_recorded(process_.program));
  if (!settings_.anonymous) object.json("command_line", process_.command_line);
  object.put("pid", process_.pid);
  object.put("time_realtime_ns", clock_ns(CLOCK_REALTIME)).put("time_monotonic_ns", clock_ns(CLOCK_MONOTONIC));
  object.put("start_clock", process_.start_clock).put("start_ns", process_.start_ns);
  object.put("clock", process_.clock == DT_CLOCK_TSC ? "tsc" : "monotonic");
  object.put("timing", timings[std::min<uint32_t>(settings_.timing, 2)]);
  object.put("inline_limit", pool_->header()->inline_limit).put("chunk_bytes", pool_->chunk_bytes());
  object.put("pool_bytes", pool_->bytes()).put("level", settings_.level);
  object.json("machine", machine.str());
  return object.str();
}

std::string Session::process_json() const {
  JsonObject object;
  object.put("kind", "process").put("pid", process_.pid).put("program", path_as_recorded(process_.program));
  if (!settings_.anonymous)
    object.json("command_line", process_.command_line).put("signatures", process_.signatures_path);
  return object.str();
}

}  // namespace dt
