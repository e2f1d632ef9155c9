// Everything the reader of kernel traces does, done to hostile files.
//
// `fuzz_system FORMAT PLAN FILE MODE STEP`: PLAN is what Python made of the metadata; it names FILE, which is written
// anew for every run:
//   read      as it is
//   truncate  cut at every STEP-th byte
//   flip      every STEP-th byte, several values
//   words     every STEP-th place, 4 and 8 bytes of large and small numbers
// It prints how many runs there were, how many opened, how many rows and problems were seen.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../../native/core/arrow.h"
#include "../../native/system/system.h"

namespace {

std::vector<char> read_file(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_file(const char* path, const char* data, size_t size) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(data, static_cast<std::streamsize>(size));
}

uint64_t g_runs, g_opened, g_rows, g_problems, g_sum;

// Reads every byte that an array says it has.
void touch(const ArrowSchema& schema, const ArrowArray& array) {
  for (int64_t i = 0; i < array.n_children; ++i) touch(*schema.children[i], *array.children[i]);
  if (array.dictionary) touch(*schema.dictionary, *array.dictionary);
  if (!array.length) return;
  char format = schema.format[0];
  auto* validity = static_cast<const uint8_t*>(array.buffers[0]);
  if (validity) g_sum += validity[(array.length - 1) / 8];
  if (format == 'U' || format == 'Z') {
    auto* offsets = static_cast<const int64_t*>(array.buffers[1]);
    auto* text = static_cast<const char*>(array.buffers[2]);
    for (int64_t i = offsets[0]; i < offsets[array.length]; ++i) g_sum += static_cast<uint8_t>(text[i]);
  } else if (format == '+') {
    if (schema.format[1] == 'l')
      g_sum += static_cast<uint64_t>(static_cast<const int32_t*>(array.buffers[1])[array.length]);
  } else if (format != 'u') {
    int64_t width = format == 'l' || format == 'L' || format == 'g'   ? 8
                    : format == 'i' || format == 'I' || format == 'f' ? 4
                    : format == 's' || format == 'S'                  ? 2
                                                                      : 1;
    if (format == 'b')
      g_sum += static_cast<const uint8_t*>(array.buffers[1])[(array.length - 1) / 8];
    else
      for (int64_t i = 0; i < array.length * width; ++i) g_sum += static_cast<const uint8_t*>(array.buffers[1])[i];
  }
}

void put(std::string& out, uint64_t v) { out.append(reinterpret_cast<char*>(&v), 8); }

void once(const char* format, const std::vector<char>& plan) {
  ++g_runs;
  dt_kernel* trace = nullptr;
  if (dt_kernel_open(format, reinterpret_cast<const uint8_t*>(plan.data()), plan.size(), &trace)) return;
  ++g_opened;
  const char* json;
  uint64_t length;
  void* owner;
  if (!dt_kernel_describe(trace, 1, &json, &length, &owner)) dt_kernel_free(owner);
  if (!dt_kernel_problems(trace, &json, &length, &owner)) {
    for (uint64_t i = 0; i + 6 < length; ++i) g_problems += !memcmp(json + i, "\"kind\"", 6);
    dt_kernel_free(owner);
  }
  std::string request;
  put(request, 1), put(request, 0), put(request, 1), put(request, 0);
  put(request, 1ull << 63), put(request, ~(1ull << 63));
  ArrowArrayStream* stream = dt_kernel_new_stream();
  if (!dt_kernel_events(trace, reinterpret_cast<const uint8_t*>(request.data()), request.size(), stream)) {
    ArrowSchema schema;
    if (!stream->get_schema(stream, &schema)) {
      for (;;) {
        ArrowArray array;
        if (stream->get_next(stream, &array) || !array.release) break;
        g_rows += static_cast<uint64_t>(array.length);
        touch(schema, array);
        array.release(&array);
      }
      schema.release(&schema);
    }
  }
  dt_kernel_free_stream(stream);
  dt_kernel_close(trace);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return fprintf(stderr, "fuzz_system FORMAT PLAN FILE MODE STEP\n"), 2;
  const char *format = argv[1], *path = argv[3];
  auto plan = read_file(argv[2]), whole = read_file(path);
  std::string mode = argv[4];
  size_t step = strtoull(argv[5], nullptr, 0);
  auto run = [&](const std::vector<char>& data, size_t size) {
    write_file(path, data.data(), size);
    once(format, plan);
  };
  if (mode == "read") run(whole, whole.size());
  if (mode == "truncate")
    for (size_t n = 0; n < whole.size(); n += step) run(whole, n);
  if (mode == "flip")
    for (size_t at = 0; at < whole.size(); at += step)
      for (int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
        auto data = whole;
        if (data[at] == static_cast<char>(value)) continue;
        data[at] = static_cast<char>(value);
        run(data, data.size());
      }
  if (mode == "words")
    for (size_t at = 0; at + 8 <= whole.size(); at += step)
      for (uint64_t value : {0ull, 1ull, 0xffffffffull, 0x7fffffffull, 0x8000000000000000ull, 0xfffffffffffffff0ull}) {
        auto data = whole;
        memcpy(&data[at], &value, at & 1 ? 8 : 4);
        run(data, data.size());
      }
  write_file(path, whole.data(), whole.size());
  printf("runs %llu opened %llu rows %llu problems %llu\n", static_cast<unsigned long long>(g_runs),
         static_cast<unsigned long long>(g_opened), static_cast<unsigned long long>(g_rows),
         static_cast<unsigned long long>(g_problems));
  return 0;
}
