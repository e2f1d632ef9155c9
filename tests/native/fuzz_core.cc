// Everything the reader core does, done to hostile files.
//
// With libFuzzer:  clang++ -fsanitize=fuzzer,address,undefined -DFUZZER tests/native/fuzz_core.cc native/core/*.cc ...
// Without: `fuzz_core MODE FILE [STEP [SEED]]` does it in one process, deterministically: MODE is read (the file as it
// is), chance (STEP files of hostile_chance.h, as C source and cut by chance), or one of hostile.h.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../../native/common/format.h"
#include "../../native/common/json.h"
#include "../../native/core/arrow.h"
#include "../../native/core/core.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../../native/core/border.h"
#include "../../native/edit/check.h"
#include "../../native/edit/vulkan_check.h"
#include "../../native/export/export_c.h"
#include "hostile_chance.h"

namespace {

uint64_t g_rows = 0, g_opened = 0;
uint64_t g_sum = 0;

// Touch everything that an array says it has.
void touch(const ArrowSchema& schema, const ArrowArray& array) {
  char kind = schema.format[0];
  auto bytes = [](const void* at, size_t n) {
    for (size_t i = 0; i < n; i += 64) g_sum += static_cast<const uint8_t*>(at)[i];
    if (n) g_sum += static_cast<const uint8_t*>(at)[n - 1];
  };
  auto n = static_cast<size_t>(array.length);
  if (array.null_count && array.buffers[0]) bytes(array.buffers[0], (n + 7) / 8);
  if (schema.dictionary) {
    auto* index = static_cast<const uint32_t*>(array.buffers[1]);
    for (size_t i = 0; i < n; ++i) {
      bool valid = !array.null_count || (static_cast<const uint8_t*>(array.buffers[0])[i >> 3] >> (i & 7) & 1);
      if (valid && index[i] >= static_cast<uint64_t>(array.dictionary->length)) abort();
    }
    touch(*schema.dictionary, *array.dictionary);
  } else if (kind == 'U' || kind == 'Z') {
    auto* offsets = static_cast<const int64_t*>(array.buffers[1]);
    bytes(array.buffers[2], static_cast<size_t>(offsets[n]));
  } else if (kind == 'u') {
    auto* offsets = static_cast<const int32_t*>(array.buffers[1]);
    bytes(array.buffers[2], static_cast<size_t>(offsets[n]));
  } else if (kind == '+' && schema.format[1] == 'l') {
    auto* offsets = static_cast<const int32_t*>(array.buffers[1]);
    if (offsets[n] != array.children[0]->length) abort();
    touch(*schema.children[0], *array.children[0]);
  } else if (kind == '+') {
    for (int64_t i = 0; i < array.n_children; ++i) {
      if (array.children[i]->length != array.length) abort();
      touch(*schema.children[i], *array.children[i]);
    }
  } else {
    size_t width = kind == 'b' ? 0 : strchr("cC", kind) ? 1 : strchr("sS", kind) ? 2 : strchr("iIf", kind) ? 4 : 8;
    bytes(array.buffers[1], width ? n * width : (n + 7) / 8);
  }
}

void drain(ArrowArrayStream* stream) {
  ArrowSchema schema{};
  if (stream->get_schema(stream, &schema)) abort();
  for (;;) {
    ArrowArray array{};
    if (stream->get_next(stream, &array) || !array.release) break;
    g_rows += static_cast<uint64_t>(array.length);
    touch(schema, array);
    array.release(&array);
  }
  schema.release(&schema);
  stream->release(stream);
}

void calls(dt_trace* trace, const char* function, uint32_t threads) {
  const char* schema = nullptr;
  if (dt_calls_schema(trace, function, &schema)) return;
  const std::string text = std::string("{\"columns\": ") + schema + "}";
  dt::Json read;
  if (!dt::JsonReader::read_object(text, read).empty()) abort();
  std::string columns;
  for (auto& column : read["columns"].items()) columns += (columns.empty() ? "" : ",") + column["name"].text();
  dt_selection selection{};
  selection.function = function;
  selection.columns = columns.c_str();
  selection.threads = threads;
  selection.batch_rows = 64;
  ArrowArrayStream stream{};
  if (!dt_calls(trace, &selection, &stream)) drain(&stream);
}

const char* const g_tables[] = {"functions", "params",  "enums",      "frames",     "threads",       "contexts",
                                "blobs",     "markers", "memory",     "map_writes", "memory_writes", "device_writes",
                                "natives",   "notes",   "libraries",  "problems",   "annotations",   "chunks",
                                "histogram", "objects", "submits",    "executed",   "allocations",   "barriers",
                                "pipelines", "shaders", "structures", "chains"};

void exercise(const uint8_t* data, size_t size, uint32_t threads) {
  static int fd = memfd_create("trace", MFD_CLOEXEC);
  static FILE* const null = fopen("/dev/null", "w");
  if (ftruncate(fd, 0) || ftruncate(fd, static_cast<off_t>(size)) ||
      pwrite(fd, data, size, 0) != static_cast<ssize_t>(size))
    abort();
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  dt_trace* trace = nullptr;
  if (dt_open(path, &trace)) {
    if (!*dt_last_error()) abort();  // every refusal says why
    return;
  }
  ++g_opened;
  const char* text = nullptr;
  dt_info(trace, &text);
  std::vector<std::string> functions, hashes, types;
  for (auto* name : g_tables) {
    ArrowArrayStream stream{};
    if (!dt_table(trace, name, &stream)) drain(&stream);
    uint64_t length = 0;
    void* owner = nullptr;
    if (dt_table_json(trace, name, &text, &length, &owner)) continue;
    std::string json(text ? text : "", length);
    dt_blob_free(owner);
    auto* names = !strcmp(name, "histogram")    ? &functions
                  : !strcmp(name, "blobs")      ? &hashes
                  : !strcmp(name, "structures") ? &types
                                                : nullptr;
    for (size_t at = 0; names && (at = json.find("{\"", at)) != json.npos; ++at) {
      size_t from = json.find(": \"", at), to = from == json.npos ? from : json.find('"', from + 3);
      if (to != json.npos) names->push_back(json.substr(from + 3, to - from - 3));
    }
  }
  calls(trace, nullptr, threads);
  for (size_t i = 0; i < functions.size() && i < 40; ++i) calls(trace, functions[i].c_str(), threads);
  for (size_t i = 0; i < types.size() && i < 40; ++i) {
    ArrowArrayStream stream{};
    if (!dt_structures(trace, types[i].c_str(), 0, 0, &stream)) drain(&stream);
  }
  for (size_t i = 0; i < hashes.size() && i < 10; ++i) {
    const uint8_t* bytes;
    uint64_t length;
    void* owner;
    if (dt_blob(trace, hashes[i].c_str(), &bytes, &length, &owner)) continue;
    for (uint64_t k = 0; k < length; k += 64) g_sum += bytes[k];
    dt_blob_free(owner);
  }
  dt_text(trace, nullptr, fileno(null), 2 | 4 | 8);
  for (uint64_t seq : {0, 1, 5, 1000000}) {
    uint64_t length, data_length;
    const uint8_t* bytes;
    void* owner;
    if (!dt_call(trace, seq, &text, &length, &bytes, &data_length, &owner)) dt_blob_free(owner);
  }
  dt_selection some{};
  some.first_frame = 1, some.end_frame = 2;
  uint64_t length;
  void* owner;
  if (!dt_rows_json(trace, &some, &text, &length, &owner)) dt_blob_free(owner);
  // Writing source takes long for a fuzzer: only where a folder is named.
  if (const char* folder = getenv("FUZZ_EXPORT")) {
    if (!dt_export_c(trace, nullptr, folder, nullptr, &text, &length, &owner)) dt_blob_free(owner);
    if (dt_export_apitrace(trace, nullptr, 0, (std::string(folder) + "/theirs.trace").c_str()) && !*dt_last_error())
      abort();
  }
  dt_close(trace);
}

// What reads structures of Vulkan: the writer of C source, and the editor's search for what a cut would break.
void exercise_vulkan(const hostile::File& file, const char* folder, uint64_t run) {
  static int fd = memfd_create("vulkan", MFD_CLOEXEC);
  if (ftruncate(fd, 0) || pwrite(fd, file.data(), file.size(), 0) != static_cast<ssize_t>(file.size())) abort();
  std::string said;
  const int code = dt::at_border(said, [&] {
    const dt::Trace trace("/proc/self/fd/" + std::to_string(fd));
    ++g_opened;
    const int written = dt::at_border(said, [&] { dt::c::export_vulkan(trace, folder, {}); });
    g_rows += !written;
    if (written && said.empty()) abort();
    std::vector<uint8_t> keep(trace.calls / 8 + 1);
    std::mt19937_64 rng(run);
    for (uint8_t& bits : keep) bits = static_cast<uint8_t>(rng() | rng() | rng());
    dt::edit::check(trace, keep.data());
    dt::edit::close_vulkan(trace, keep);
  });
  if (code && said.empty()) abort();
}

}  // namespace

#ifdef FUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> file(data, data + size);
  if (file.size() > sizeof(dt_file_header)) {
    memcpy(file.data(), DT_FILE_MAGIC, 8);
    if (file[31] & 1) hostile::reseal(file);
  }
  exercise(file.data(), file.size(), 1);
  return 0;
}
#else
int main(int argc, char** argv) {
  uint64_t runs = 0;
  auto run = [&](const hostile::File& bytes, uint32_t threads = 1) {
    exercise(bytes.data(), bytes.size(), threads), ++runs;
  };
  auto whole = [&](const hostile::File& file) { run(file), run(file, 3); };
  auto changed = [&](const hostile::File& file) {
    const size_t count = argc > 3 ? strtoul(argv[3], nullptr, 10) : 1;
    const uint64_t seed = argc > 4 ? strtoul(argv[4], nullptr, 10) : 0;
    const char* folder = getenv("FUZZ_EXPORT");
    if (!folder) exit(2);
    hostile::by_chance(file, count, seed, [&](const hostile::File& each) { exercise_vulkan(each, folder, runs++); });
  };
  const bool chance = argc > 1 && !strcmp(argv[1], "chance");
  const int code =
      chance ? hostile::files(argc, argv, "chance", changed, run) : hostile::files(argc, argv, "read", whole, run);
  if (code) return code;
  printf("runs %llu opened %llu rows %llu\n", static_cast<unsigned long long>(runs),
         static_cast<unsigned long long>(g_opened), static_cast<unsigned long long>(g_rows));
  return g_sum == 1 ? 3 : 0;
}
#endif
