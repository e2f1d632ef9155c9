// Everything the reader core does, done to hostile files.
//
// With libFuzzer:  clang++ -fsanitize=fuzzer,address,undefined -DFUZZER tests/native/fuzz_core.cc native/core/*.cc ...
// Without: `fuzz_core MODE FILE` does it in one process, deterministically:
//   read      the file as it is
//   truncate  cut at every byte
//   flip      every byte, several values
//   reseal    the same, with all checksums made right again, so that the damage reaches the decoders
//   sizes     every aligned 4 and 8 bytes become hostile numbers, resealed
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../../native/common/format.h"
#include "../../native/core/arrow.h"
#include "../../native/core/core.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

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
  const char* lines = nullptr;
  if (dt_calls_schema(trace, function, &lines)) return;
  std::string columns;
  for (std::string rest = lines; !rest.empty();) {
    size_t end = rest.find('\n');
    columns += (columns.empty() ? "" : ",") + rest.substr(0, rest.find('\t'));
    rest.erase(0, end == rest.npos ? end : end + 1);
  }
  dt_selection selection{};
  selection.function = function;
  selection.columns = columns.c_str();
  selection.threads = threads;
  selection.batch_rows = 64;
  ArrowArrayStream stream{};
  if (!dt_calls(trace, &selection, &stream)) drain(&stream);
}

const char* const g_tables[] = {"functions", "params", "enums", "frames", "threads", "contexts", "blobs", "markers", "memory", "map_writes",
                                "natives", "notes", "libraries", "problems", "annotations", "chunks", "histogram"};

void exercise(const uint8_t* data, size_t size, uint32_t threads) {
  static int fd = memfd_create("trace", MFD_CLOEXEC);
  static FILE* const null = fopen("/dev/null", "w");
  if (ftruncate(fd, 0) || ftruncate(fd, static_cast<off_t>(size)) || pwrite(fd, data, size, 0) != static_cast<ssize_t>(size)) abort();
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
  std::vector<std::string> functions, hashes;
  for (auto* name : g_tables) {
    ArrowArrayStream stream{};
    if (!dt_table(trace, name, &stream)) drain(&stream);
    uint64_t length = 0;
    void* owner = nullptr;
    if (dt_table_json(trace, name, &text, &length, &owner)) continue;
    std::string json(text ? text : "", length);
    dt_blob_free(owner);
    for (size_t at = 0; (!strcmp(name, "histogram") || !strcmp(name, "blobs")) && (at = json.find("{\"", at)) != json.npos; ++at) {
      size_t from = json.find(": \"", at), to = from == json.npos ? from : json.find('"', from + 3);
      if (to != json.npos) (name[0] == 'h' ? functions : hashes).push_back(json.substr(from + 3, to - from - 3));
    }
  }
  calls(trace, nullptr, threads);
  for (size_t i = 0; i < functions.size() && i < 40; ++i) calls(trace, functions[i].c_str(), threads);
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
  if (const char* folder = getenv("FUZZ_EXPORT"))
    if (!dt_export_c(trace, nullptr, folder, nullptr, &text, &length, &owner)) dt_blob_free(owner);
  dt_close(trace);
}

// Make every checksum right again: of the chunks found by walking, and of the footer.
void reseal(std::vector<uint8_t>& file) {
  size_t at = sizeof(dt_file_header);
  while (at + sizeof(dt_chunk_header) <= file.size()) {
    dt_chunk_header h;
    memcpy(&h, file.data() + at, sizeof h);
    if (h.magic != DT_CHUNK_MAGIC || h.payload_bytes > file.size() - at - sizeof h) return;
    if (h.type == DT_TYPE_FOOTER && h.payload_bytes >= sizeof(dt_footer_meta)) {
      // The footer's copies of the headers follow the headers.
      dt_footer_meta meta;
      uint8_t* payload = file.data() + at + sizeof h;
      memcpy(&meta, payload, sizeof meta);
      for (uint32_t i = 0; i < meta.chunks && sizeof meta + (i + 1) * sizeof(dt_footer_entry) <= h.payload_bytes; ++i) {
        dt_footer_entry e;
        memcpy(&e, payload + sizeof meta + i * sizeof e, sizeof e);
        if (e.offset < at && at - e.offset >= sizeof e.header) memcpy(payload + sizeof meta + i * sizeof e + 8, file.data() + e.offset, sizeof e.header);
      }
    }
    h.payload_hash = XXH3_64bits(file.data() + at + sizeof h, h.payload_bytes);
    h.header_hash = static_cast<uint32_t>(XXH3_64bits(&h, 28));
    memcpy(file.data() + at, &h, sizeof h);
    at += sizeof h + h.payload_bytes;
  }
}

}  // namespace

#ifdef FUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> file(data, data + size);
  if (file.size() > sizeof(dt_file_header)) {
    memcpy(file.data(), DT_FILE_MAGIC, 8);
    if (file[31] & 1) reseal(file);
  }
  exercise(file.data(), file.size(), 1);
  return 0;
}
#else
int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::string mode = argv[1];
  FILE* in = fopen(argv[2], "rb");
  if (!in) return 2;
  std::vector<uint8_t> file(1 << 24);
  file.resize(fread(file.data(), 1, file.size(), in));
  fclose(in);
  uint64_t runs = 0;
  auto run = [&](const std::vector<uint8_t>& bytes, uint32_t threads = 1) { exercise(bytes.data(), bytes.size(), threads), ++runs; };
  // `step`: look at every n-th place only.
  size_t step = argc > 3 ? strtoul(argv[3], nullptr, 10) : 1;
  if (mode == "read") {
    run(file), run(file, 3);
  } else if (mode == "truncate") {
    for (size_t n = 0; n < file.size(); n += step) run({file.begin(), file.begin() + static_cast<long>(n)});
  } else if (mode == "flip" || mode == "reseal") {
    for (size_t at = 0; at < file.size(); at += step)
      for (int value : {0x01, 0x80, 0xff}) {
        auto changed = file;
        changed[at] = static_cast<uint8_t>(changed[at] ^ value);
        if (mode == "reseal") reseal(changed);
        run(changed);
      }
  } else if (mode == "sizes") {
    for (size_t at = 0; at + 8 <= file.size(); at += 4 * step)
      for (uint64_t value : {UINT64_MAX, uint64_t(INT64_MAX), uint64_t(1) << 32, uint64_t(0xffffffffu), uint64_t(0x7fffffff), uint64_t(0x01000000)}) {
        auto changed = file;
        memcpy(changed.data() + at, &value, value <= UINT32_MAX && at % 8 ? 4 : 8);
        reseal(changed);
        run(changed);
      }
  } else {
    return 2;
  }
  printf("runs %llu opened %llu rows %llu\n", static_cast<unsigned long long>(runs), static_cast<unsigned long long>(g_opened), static_cast<unsigned long long>(g_rows));
  return g_sum == 1 ? 3 : 0;
}
#endif
