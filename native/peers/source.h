// The bytes of a compressed file, one piece after the other: snappy chunks as apitrace writes them, gzip, zstd, brotli.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace dt::peers {

class Source {
 public:
  virtual ~Source() = default;
  // The next piece (never empty), in `piece`; false: there is no more. `damage` says why a damaged file ended early.
  virtual bool next(std::string* piece) = 0;
  virtual const char* container() const = 0;
  virtual uint64_t position() const = 0;  // bytes of the file that were read

  std::string damage;
};

// Opens a file and tells by its first bytes what it is. Null: `error` says why not.
std::unique_ptr<Source> open_source(const std::string& path, std::string* error);

}  // namespace dt::peers
