#include "trace.h"

#include "structures.h"

#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "../common/hash.h"
#include "../common/json.h"
#include "chunk.h"
#include "text.h"

namespace dt {
namespace {

constexpr uint64_t MAX_TEXT = 512ull << 20;  // raw bytes of one signature or annotation chunk
constexpr size_t MAX_PROBLEMS = 1000;

bool header_ok(const dt_chunk_header& h) {
  return h.magic == DT_CHUNK_MAGIC && static_cast<uint32_t>(hash64(&h, 28)) == h.header_hash;
}

}  // namespace

std::string hash_text(const Hash128& hash) {
  char text[40];
  snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high),
           static_cast<unsigned long long>(hash.low));
  return text;
}

// ---- clock --------------------------------------------------------------------------------------

void Clock::build(std::vector<Pair> pairs, bool nanoseconds, double ticks_per_ns_hint) {
  identity_ = nanoseconds;
  if (nanoseconds) return;
  std::sort(pairs.begin(), pairs.end(), [](auto& a, auto& b) { return a.ticks < b.ticks; });
  std::vector<uint64_t> widths;
  for (auto& p : pairs) widths.push_back(p.width);
  uint64_t limit = UINT64_MAX;
  if (!widths.empty()) {
    std::nth_element(widths.begin(), widths.begin() + static_cast<long>(widths.size() / 2), widths.end());
    limit = widths[widths.size() / 2] * 4 + 200;
  }
  // The narrowest pair of every 10 ms: closer ones add the noise of their reads to the slope.
  std::vector<Pair> kept;
  for (auto& p : pairs) {
    if (p.width > limit || p.ns > INT64_MAX) continue;
    if (!kept.empty() && (p.ticks <= kept.back().ticks || p.ns <= kept.back().ns)) continue;
    if (!kept.empty() && p.ns - kept.back().ns < 10000000) {
      bool keeps_rising = kept.size() < 2 || p.ns > kept[kept.size() - 2].ns;
      if (p.width < kept.back().width && keeps_rising && kept.size() > 1)
        kept.back() = p;
      else if (kept.size() == 1 && &p == &pairs.back())
        kept.push_back(p);  // a short trace: better than nothing
      continue;
    }
    kept.push_back(p);
  }
  if (kept.size() == 1 && pairs.size() > 1 && pairs.back().ticks > kept[0].ticks && pairs.back().ns > kept[0].ns &&
      pairs.back().ns <= INT64_MAX)
    kept.push_back(pairs.back());
  slope_ = 1;
  if (kept.size() >= 2) {
    slope_ = static_cast<double>(kept.back().ns - kept[0].ns) / static_cast<double>(kept.back().ticks - kept[0].ticks);
  } else if (ticks_per_ns_hint > 0) {
    slope_ = 1 / ticks_per_ns_hint;
  } else {
    guessed_ = true;
  }
  if (!(slope_ > 1e-6 && slope_ < 1e6)) slope_ = 1, guessed_ = true;
  if (kept.empty()) kept.push_back({0, 0, 0});
  for (size_t i = 0; i < kept.size(); ++i) {
    double slope = slope_;
    if (i + 1 < kept.size())
      slope = static_cast<double>(kept[i + 1].ns - kept[i].ns) / static_cast<double>(kept[i + 1].ticks - kept[i].ticks);
    points_.push_back({kept[i].ticks, static_cast<int64_t>(kept[i].ns), slope});
  }
}

int64_t Clock::ns(uint64_t ticks, size_t& hint) const {
  if (identity_ || points_.empty()) return ticks > INT64_MAX ? INT64_MAX : static_cast<int64_t>(ticks);
  auto inside = [&](size_t i) {
    return i < points_.size() && (i == 0 || points_[i].ticks <= ticks) &&
           (i + 1 == points_.size() || ticks < points_[i + 1].ticks);
  };
  if (!inside(hint)) {
    if (inside(hint + 1)) {
      ++hint;
    } else {
      auto after = std::upper_bound(points_.begin(), points_.end(), ticks,
                                    [](uint64_t t, const Point& p) { return t < p.ticks; });
      hint = after == points_.begin() ? 0 : static_cast<size_t>(after - points_.begin()) - 1;
    }
  }
  const Point& p = points_[hint];
  double slope = hint == 0 && ticks < p.ticks ? slope_ : p.slope;
  double offset = static_cast<double>(static_cast<int64_t>(ticks - p.ticks)) * slope;
  double sum = static_cast<double>(p.ns) + offset;
  if (sum > 9.2e18) return INT64_MAX;
  if (sum < -9.2e18) return INT64_MIN;
  return p.ns + static_cast<int64_t>(offset >= 0 ? offset + 0.5 : offset - 0.5);
}

// ---- opening ------------------------------------------------------------------------------------

Trace::Trace(const std::string& path) : path_(path) {
  try {
    map();
    if (!read_footer()) scan();
    read_signatures();
    read_calls_metas();
    order_chunks();
  } catch (...) {
    if (data_) munmap(const_cast<uint8_t*>(data_), bytes_);
    if (fd_ >= 0) close(fd_);
    throw;
  }
}

Trace::~Trace() {
  Structures::forget(signatures);
  if (uncalled_) Structures::forget(*uncalled_);
  if (data_) munmap(const_cast<uint8_t*>(data_), bytes_);
  if (fd_ >= 0) close(fd_);
}

void Trace::map() {
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) throw Error(DT_E_IO, path_ + ": " + strerror(errno));
  struct stat st;
  if (fstat(fd_, &st)) throw Error(DT_E_IO, path_ + ": " + strerror(errno));
  if (S_ISDIR(st.st_mode)) throw Error(DT_E_IO, path_ + ": is a directory, expected a trace file");
  if (!S_ISREG(st.st_mode))
    throw Error(DT_E_IO, path_ + ": is not a regular file; a trace is read through a memory map");
  bytes_ = static_cast<uint64_t>(st.st_size);
  if (bytes_ < sizeof header_) {
    throw Error(DT_E_FORMAT,
                path_ + ": not a drawtap trace: " + std::to_string(bytes_) + " bytes, a trace has at least 32");
  }
  void* at = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, fd_, 0);
  if (at == MAP_FAILED) throw Error(DT_E_IO, path_ + ": cannot map: " + strerror(errno));
  data_ = static_cast<const uint8_t*>(at);
  memcpy(&header_, data_, sizeof header_);
  if (memcmp(header_.magic, DT_FILE_MAGIC, 8))
    throw Error(DT_E_FORMAT, path_ + ": not a drawtap trace (wrong magic number at its start)");
  if (header_.version > DT_FILE_VERSION) {
    throw Error(DT_E_FORMAT, path_ + ": written in version " + std::to_string(header_.version) +
                                 " of the trace format; this drawtap reads up to version " +
                                 std::to_string(DT_FILE_VERSION) + ". Update drawtap to read it");
  }
}

void Trace::problem(std::string kind, uint64_t offset, uint64_t bytes, std::string text) const {
  std::lock_guard lock(mutex_);
  if (problems_.size() >= MAX_PROBLEMS) return;
  for (auto& p : problems_)
    if (p.offset == offset && p.kind == kind) return;
  problems_.push_back({std::move(kind), offset, bytes, std::move(text)});
}
std::vector<Problem> Trace::problems() const {
  std::lock_guard lock(mutex_);
  return problems_;
}

void Trace::add_chunk(uint64_t offset, const dt_chunk_header& header, const uint8_t* meta) {
  chunks.push_back({offset, header, meta});
}

bool Trace::read_footer() {
  if (bytes_ < sizeof(dt_file_header) + sizeof(dt_chunk_header) + 16 || memcmp(data_ + bytes_ - 8, DT_END_MAGIC, 8))
    return false;
  uint64_t offset;
  memcpy(&offset, data_ + bytes_ - 16, 8);
  if (offset < sizeof(dt_file_header) || offset > bytes_ - 16 - sizeof(dt_chunk_header)) return false;
  dt_chunk_header h;
  memcpy(&h, data_ + offset, sizeof h);
  if (!header_ok(h) || h.type != DT_TYPE_FOOTER || h.payload_bytes != bytes_ - 16 - offset - sizeof h ||
      h.meta_bytes > h.payload_bytes || h.meta_bytes < sizeof(dt_footer_meta))
    return false;
  const uint8_t* payload = data_ + offset + sizeof h;
  if (hash64(payload, h.payload_bytes) != h.payload_hash) return false;
  dt_footer_meta meta;
  memcpy(&meta, payload, sizeof meta);
  uint64_t entries = meta.chunks * static_cast<uint64_t>(sizeof(dt_footer_entry));
  if (entries > h.payload_bytes - sizeof meta) return false;
  const uint8_t* copies = payload + sizeof meta + entries;
  uint64_t left = h.payload_bytes - sizeof meta - entries;
  std::vector<ChunkInfo> whole;
  for (uint32_t i = 0; i < meta.chunks; ++i) {
    dt_footer_entry e;
    memcpy(&e, payload + sizeof meta + i * sizeof e, sizeof e);
    if (e.header.magic != DT_CHUNK_MAGIC || e.offset < sizeof(dt_file_header) || e.offset > offset ||
        e.header.payload_bytes > offset - e.offset ||
        sizeof(dt_chunk_header) > offset - e.offset - e.header.payload_bytes ||
        e.header.meta_bytes > e.header.payload_bytes)
      return false;
    const uint8_t* at = data_ + e.offset + sizeof(dt_chunk_header);
    if (e.header.type == DT_TYPE_CALLS) {
      if (e.header.meta_bytes > left) return false;
      at = copies;
      copies += e.header.meta_bytes;
      left -= e.header.meta_bytes;
    }
    whole.push_back({e.offset, e.header, at});
  }
  chunks = std::move(whole);
  return has_footer_ = true;
}

void Trace::scan() {
  uint64_t at = sizeof(dt_file_header);
  bool footer_seen = false;
  while (at < bytes_) {
    dt_chunk_header h;
    bool whole = bytes_ - at >= sizeof h;
    if (whole) memcpy(&h, data_ + at, sizeof h);
    if (!whole || !header_ok(h)) {
      // Look for the next header; what lies between is lost.
      uint64_t next = at + 1;
      uint32_t magic = DT_CHUNK_MAGIC;
      for (;;) {
        const void* hit = next < bytes_ ? memmem(data_ + next, bytes_ - next, &magic, 4) : nullptr;
        next = hit ? static_cast<uint64_t>(static_cast<const uint8_t*>(hit) - data_) : bytes_;
        if (bytes_ - next < sizeof h) {
          next = bytes_;
          break;
        }
        memcpy(&h, data_ + next, sizeof h);
        if (header_ok(h)) break;
        ++next;
      }
      if (next == bytes_)
        problem("torn", at, bytes_ - at,
                whole ? "the file ends in bytes that are no chunk" : "the file ends inside a chunk header");
      else
        problem("damaged", at, next - at, "bytes between chunks that are no chunk were skipped");
      at = next;
      continue;
    }
    uint64_t room = bytes_ - at - sizeof h;
    if (h.payload_bytes > room) {
      problem("torn", at, bytes_ - at,
              "the last chunk is cut off: " + std::to_string(room) + " of " + std::to_string(h.payload_bytes) +
                  " bytes; it was dropped");
      break;
    }
    const uint8_t* payload = data_ + at + sizeof h;
    bool check = h.type == DT_TYPE_SIGNATURES || h.type == DT_TYPE_CALLS || h.type == DT_TYPE_ANNOTATION;
    if (h.meta_bytes > h.payload_bytes || (check && hash64(payload, h.payload_bytes) != h.payload_hash)) {
      problem("checksum", at, h.payload_bytes + sizeof h, "a chunk's checksum does not fit; it was skipped");
    } else if (h.type == DT_TYPE_FOOTER) {
      footer_seen = true;
    } else {
      add_chunk(at, h, payload);
    }
    at += sizeof h + h.payload_bytes;
    if (h.type == DT_TYPE_FOOTER && bytes_ - at >= 16 && !memcmp(data_ + at + 8, DT_END_MAGIC, 8)) at += 16;
  }
  if (!footer_seen && problems_.empty())
    problem("no_footer", bytes_, 0, "the recording was not closed; its chunks were found by scanning");
}

void Trace::read_signatures() {
  for (auto& chunk : chunks) {
    if (chunk.header.type != DT_TYPE_SIGNATURES && chunk.header.type != DT_TYPE_ANNOTATION) continue;
    const uint8_t* payload = data_ + chunk.offset + sizeof(dt_chunk_header);
    bool signature = chunk.header.type == DT_TYPE_SIGNATURES;
    try {
      dt_block block;
      if (chunk.header.meta_bytes < sizeof block) throw Error(DT_E_FORMAT, "its description is cut off");
      if (has_footer_ && hash64(payload, chunk.header.payload_bytes) != chunk.header.payload_hash)
        throw Error(DT_E_FORMAT, "its checksum does not fit");
      memcpy(&block, payload, sizeof block);
      uint64_t room = chunk.header.payload_bytes - chunk.header.meta_bytes;
      if (block.stored_bytes > room || !sane_sizes(block.codec, block.stored_bytes, block.raw_bytes, MAX_TEXT))
        throw Error(DT_E_FORMAT, "its sizes make no sense");
      std::string text(block.raw_bytes, '\0');
      decompress(block.codec, payload + chunk.header.meta_bytes, block.stored_bytes,
                 reinterpret_cast<uint8_t*>(text.data()), text.size());
      Bytes clean;  // names go into tables and JSON: make sure that they are UTF-8
      put_utf8(clean, text);
      if (clean.size() != text.size()) text = clean.view();
      std::replace(text.begin(), text.end(), '\0', ' ');  // and good as C strings
      if (signature) {
        if (size_t wrong = signatures.parse(text))
          problem("signatures", chunk.offset, 0,
                  std::to_string(wrong) + " signature lines made no sense or were too many");
      } else {
        read_annotation(chunk.offset, std::move(text));
      }
    } catch (const Error& e) {
      problem(signature ? "signatures" : "annotation", chunk.offset, chunk.header.payload_bytes,
              std::string(signature ? "signatures" : "an annotation") + " could not be read: " + e.what());
    }
  }
  signatures.link();
}

namespace {

// The losses that the recorder names. `info_json` takes a recording with these kinds of lost calls for incomplete.
std::vector<Problem> losses(std::string_view end) {
  constexpr std::array<std::string_view, 6> names = {"write_error", "calls_lost",      "calls_unrecorded",
                                                     "chunks_lost", "invalid_records", "uploads_dropped"};
  std::array<Json, 6> members;
  JsonReader::read_members(end, names, members);
  const std::string error = members[0].text(), why = error.empty() ? "" : " (" + error + ")";
  const std::string could_not = error.empty() ? "read any more" : "written" + why;
  const std::string when = error.empty() ? "while the recorder took none" : "after recording had ended" + why;
  const std::string texts[] = {
      "calls were recorded and could not be " + could_not,
      "calls were made " + when + ": they were counted, not recorded", "chunks of calls were lost",
      "records made no sense and were left out",
      "uploads were recorded without their content, in frames that were left out: what uses it may look different "
      "until "
      "the program uploads it again"};
  std::vector<Problem> out;
  for (size_t i = 1; i < names.size(); ++i)
    if (const auto count = members[i].number<uint64_t>())
      out.push_back({std::string(names[i]), 0, 0, std::to_string(count) + " " + texts[i - 1]});
  return out;
}

}  // namespace

void Trace::read_annotation(uint64_t offset, std::string text) {
  constexpr std::array<std::string_view, 6> names = {"kind",      "start_clock", "start_ns",
                                                     "end_clock", "end_ns",      "ticks_per_second"};
  std::array<Json, 6> members;
  if (const std::string wrong = JsonReader::read_members(text, names, members); !wrong.empty())
    return problem("annotation", offset, 0, "an annotation is not read, since it is no JSON: " + wrong);
  const auto& [kind, start_clock, start_ns, end_clock, end_ns, ticks_per_second] = members;
  for (auto [clock, time] : {std::pair(&start_clock, &start_ns), std::pair(&end_clock, &end_ns)})
    if (uint64_t ticks = clock->number<uint64_t>(), ns = time->number<uint64_t>(); ticks && ns)
      clock_pairs_.push_back({ticks, ns, 0});
  if (const auto rate = ticks_per_second.number<double>(); rate > 0) clock_hint_ = rate / 1e9;
  if (kind.text() == "end")
    for (Problem& loss : losses(text)) problem(std::move(loss.kind), offset, 0, std::move(loss.text));
  std::string name = kind.text();
  annotations.push_back({offset, std::move(name), std::move(text)});
}

void Trace::read_calls_metas() {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> thread_of;
  std::map<uint32_t, uint64_t> clocks;
  counts_.assign(DT_FUNCTIONS, 0);
  // Threads are numbered as the tap numbered them, process after process.
  for (auto& chunk : chunks) {
    dt_calls_meta m;
    if (chunk.header.type != DT_TYPE_CALLS || chunk.header.meta_bytes < sizeof m) continue;
    memcpy(&m, chunk.meta, sizeof m);
    thread_of.try_emplace({m.pid, m.thread}, 0);
  }
  for (auto& [key, index] : thread_of) {
    index = static_cast<uint32_t>(threads.size());
    threads.emplace_back();
    threads.back().pid = key.first, threads.back().thread = key.second;
  }
  for (size_t i = 0; i < chunks.size(); ++i) {
    auto& chunk = chunks[i];
    if (chunk.header.type == DT_TYPE_CALLS) {
      CallsChunk c;
      c.chunk = i;
      auto skip = [&](const char* why) {
        problem("damaged", chunk.offset, chunk.header.payload_bytes, std::string("a calls chunk was skipped: ") + why);
      };
      if (chunk.header.meta_bytes < sizeof c.meta) {
        skip("its description is cut off");
        continue;
      }
      memcpy(&c.meta, chunk.meta, sizeof c.meta);
      auto& m = c.meta;
      uint64_t table = m.functions * static_cast<uint64_t>(sizeof(dt_calls_function)) +
                       m.blocks * static_cast<uint64_t>(sizeof(dt_block));
      if (chunk.header.meta_bytes - sizeof m < table || m.functions > 0x10000) {
        skip("its tables are cut off");
        continue;
      }
      uint64_t records = 0, own = 0;
      c.functions.resize(m.functions);
      for (size_t f = 0; f < c.functions.size(); ++f) {
        dt_calls_function& entry = c.functions[f];
        memcpy(&entry, chunk.meta + sizeof m + f * sizeof entry, sizeof entry);
        records += entry.count;
        if (!c.functions[f].tap()) own += entry.count;
      }
      if (records != m.records || own != m.calls) {
        skip("its counts disagree");
        continue;
      }
      if (records > 256 * (chunk.header.payload_bytes + 4096)) {
        skip("it claims more calls than it can hold");
        continue;
      }
      c.thread = thread_of[{m.pid, m.thread}];
      auto& t = threads[c.thread];
      t.tid = m.tid;
      t.name.assign(m.thread_name, strnlen(m.thread_name, sizeof m.thread_name));
      t.calls += m.calls;
      calls += m.calls;
      timing = m.timing;
      clocks[m.clock] += 1;
      if (m.clock == 0 && m.calibration_clock)
        clock_pairs_.push_back({m.calibration_clock, m.calibration_ns, m.calibration_width});
      for (auto& f : c.functions)
        if (!f.tap()) counts_[f.id()] += f.count;
      calls_chunks.push_back(std::move(c));
    }
  }
  bool nanoseconds = !clocks.count(0);
  clock.build(std::move(clock_pairs_), nanoseconds, clock_hint_);
  if (clocks.size() > 1)
    problem("clock", 0, 0, "parts of the trace use different clocks; times of some calls are wrong");
  if (!nanoseconds && clock.guessed() && calls)
    problem("clock", 0, 0, "the clock was read only once: times are in ticks, not in ns");
}

// ---- frames -------------------------------------------------------------------------------------

size_t Trace::know(std::string_view text) {
  std::lock_guard lock(uncalled_mutex_);
  if (uncalled_) return 0;
  auto known = std::make_unique<Signatures>();
  const size_t senseless = known->parse(text);
  known->link();
  uncalled_ = std::move(known);
  return senseless;
}

const Function* Trace::function_named(std::string_view name) const {
  if (const Function* function = signatures.by_name(name)) return function;
  std::lock_guard lock(uncalled_mutex_);
  return uncalled_ ? uncalled_->by_name(name) : nullptr;
}

const Signatures& Trace::signatures_of(const Function& function) const {
  if (signatures.by_name(function.name) == &function) return signatures;
  std::lock_guard lock(uncalled_mutex_);
  return uncalled_ ? *uncalled_ : signatures;
}

// ---- blobs --------------------------------------------------------------------------------------

const std::map<Hash128, std::vector<BlobPart>>& Trace::blobs() const {
  std::lock_guard lock(mutex_);
  if (blobs_) return *blobs_;
  auto index = std::make_unique<std::map<Hash128, std::vector<BlobPart>>>();
  auto bad = [&](const ChunkInfo& chunk, const char* why) {
    if (problems_.size() < MAX_PROBLEMS)
      problems_.push_back(
          {"damaged", chunk.offset, chunk.header.payload_bytes, std::string("content was skipped: ") + why});
  };
  for (auto& chunk : chunks) {
    if (chunk.header.type != DT_TYPE_BLOBS) continue;
    dt_blobs_meta meta;
    if (chunk.header.meta_bytes < sizeof meta) {
      bad(chunk, "its description is cut off");
      continue;
    }
    memcpy(&meta, chunk.meta, sizeof meta);
    if (meta.parts > (chunk.header.meta_bytes - sizeof meta) / sizeof(dt_blob_entry)) {
      bad(chunk, "its table is cut off");
      continue;
    }
    uint64_t at = chunk.header.meta_bytes;
    for (uint32_t i = 0; i < meta.parts; ++i) {
      BlobPart part;
      memcpy(&part.entry, chunk.meta + sizeof meta + i * sizeof part.entry, sizeof part.entry);
      auto& e = part.entry;
      if (e.stored_bytes > chunk.header.payload_bytes - at) {
        bad(chunk, "a part is cut off");
        break;
      }
      part.stored = data_ + chunk.offset + sizeof(dt_chunk_header) + at;
      at += e.stored_bytes;
      if (e.bytes > e.total || e.offset > e.total - e.bytes || e.codec > 0xffff ||
          !sane_sizes(static_cast<uint16_t>(e.codec), e.stored_bytes, e.bytes, 1ull << 40)) {
        bad(chunk, "a part's sizes make no sense");
        continue;
      }
      (*index)[{e.hash_low, e.hash_high}].push_back(part);
    }
  }
  blobs_ = std::move(index);
  return *blobs_;
}

std::vector<uint8_t> Trace::blob(const Hash128& hash, uint64_t limit) const {
  auto& index = blobs();
  auto it = index.find(hash);
  if (it == index.end()) throw Error(DT_E_ARGUMENT, "no content with hash " + hash_text(hash) + " in this trace");
  uint64_t total = it->second[0].entry.total, covered = 0;
  if (total > limit) throw Error(DT_E_ARGUMENT, "content " + hash_text(hash) + " is longer than asked for");
  for (auto& part : it->second) covered += std::min(part.entry.bytes, total);
  if (covered < total)
    throw Error(DT_E_FORMAT, "content " + hash_text(hash) + " is incomplete: " + std::to_string(covered) + " of " +
                                 std::to_string(total) + " bytes");
  std::vector<uint8_t> content(total);
  for (auto& part : it->second) {
    auto& e = part.entry;
    if (e.total != total) throw Error(DT_E_FORMAT, "parts of content " + hash_text(hash) + " disagree on its size");
    decompress(static_cast<uint16_t>(e.codec), part.stored, e.stored_bytes, content.data() + e.offset, e.bytes);
  }
  const Digest now = hash128(content.data(), content.size());
  if (now.low != hash.low || now.high != hash.high)
    throw Error(DT_E_FORMAT, "content " + hash_text(hash) + " is damaged: its hash does not fit");
  return content;
}

void say_damaged(const Trace& trace, size_t chunk, const Error& e) {
  if (e.code != DT_E_FORMAT) throw e;
  note_damaged(trace, chunk, e);
}

std::string note_damaged(const Trace& trace, size_t chunk, const std::exception& e) {
  auto& info = trace.chunks[trace.calls_chunks[chunk].chunk];
  std::string problem = std::string("a calls chunk could not be read: ") + e.what();
  trace.problem("damaged", info.offset, info.header.payload_bytes, problem);
  return problem;
}

void each_calls_chunk(const Trace& trace, const Work& work, const std::function<void(size_t)>& one) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failed;
  auto run = [&] {
    for (;;) {
      size_t index = next++;
      if (index >= trace.calls_chunks.size()) return;
      try {
        work.check();
        one(index);
      } catch (const Error& e) {
        if (e.code == DT_E_FORMAT) {
          say_damaged(trace, index, e);
          continue;
        }
        std::lock_guard lock(mutex);
        failed = std::current_exception();
        return;
      } catch (...) {
        std::lock_guard lock(mutex);
        failed = std::current_exception();
        return;
      }
    }
  };
  size_t workers = std::min<size_t>({std::max(1u, std::thread::hardware_concurrency()), 16, trace.calls_chunks.size()});
  if (workers < 2) {
    run();
  } else {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < workers; ++i) threads.emplace_back(run);
    for (auto& t : threads) t.join();
  }
  if (failed) std::rethrow_exception(failed);
}

}  // namespace dt
