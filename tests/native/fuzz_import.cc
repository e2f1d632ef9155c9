// The importer of apitrace's traces against damage: takes whole traces and damages them, or traces as they are.
// fuzz_import SIGNATURES OUTPUT ROUNDS TRACE...
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "../../native/peers/peers.h"
#include "../../native/peers/snappy.h"

namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What is inside the chunks, so that damage meets the parser and not only the decompressor.
std::string unpacked(const std::string& trace) {
  std::string out, piece;
  for (size_t at = 2; at + 4 <= trace.size();) {
    const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(trace[at + i])); };
    const size_t n = byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
    if (n > trace.size() - at - 4) break;
    dt::peers::snappy_uncompress(std::string_view(trace).substr(at + 4, n), 64u << 20, &piece);
    out += piece;
    at += 4 + n;
  }
  return out;
}

std::string packed(const std::string& raw) {
  std::string out = "at", piece;
  for (size_t at = 0; at < raw.size(); at += 1 << 20) {
    dt::peers::snappy_compress(std::string_view(raw).substr(at, 1 << 20), &piece);
    for (int i = 0; i < 4; i++) out.push_back(static_cast<char>(piece.size() >> (8 * i)));
    out += piece;
  }
  return out;
}

void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const std::string signatures = argv[1], output = argv[2], input = output + ".trace";
  std::mt19937 random(7);
  unsigned imports = 0, good = 0;
  auto import = [&](const std::string& path) {
    const dt_import options{path.c_str(), output.c_str(), signatures.c_str(), 1, 0};
    const char* json = nullptr;
    imports++;
    const int code = dt_import_apitrace(&options, &json);
    good += code == 0;
    if (code != 0 && !*dt_peers_last_error()) abort();
  };
  for (int i = 4; i < argc; i++) {
    const std::string whole = read(argv[i]), inside = unpacked(whole);
    import(argv[i]);
    std::string again;
    for (const std::string& part : {inside, whole}) {
      std::string block;
      dt::peers::snappy_compress(std::string_view(part).substr(0, 1 << 20), &block);
      if (!dt::peers::snappy_uncompress(block, 64u << 20, &again) || again != part.substr(0, 1 << 20)) abort();
    }
  }
  for (int round = 0; round < atoi(argv[3]); round++) {
    const std::string whole = read(argv[4 + random() % static_cast<unsigned>(argc - 4)]);
    const bool inner = random() % 4;
    std::string bytes = inner ? unpacked(whole) : whole;
    if (random() % 3 == 0) bytes.resize(random() % (bytes.size() + 1));
    for (unsigned n = random() % 8; n && !bytes.empty(); n--) {
      const size_t at = random() % bytes.size();
      if (random() % 4)
        bytes[at] = static_cast<char>(random());
      else
        bytes.erase(at, random() % 64);
    }
    write(input, inner ? packed(bytes) : bytes);
    import(input);
  }
  printf("%u imports, %u of them gave a trace\n", imports, good);
  return good ? 0 : 1;
}
