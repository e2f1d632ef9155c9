// A recording taken apart into its skeleton (everything but the contents) and its contents, and put together again.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../common/container.h"
#include "../core/trace.h"

namespace dt::edit {

// Writes the skeleton of a trace: the same chunks without those that hold contents, under the same uuid, with a footer
// where the trace has one. The same trace gives the same bytes. Annotations `restored` are left out.
// Returns the JSON that edit.h describes.
std::string write_skeleton(const Trace& trace, const std::string& path);

// One zstd frame of `raw`, and back; `bytes` is what it must hold (ANY_SIZE: what it says).
constexpr uint64_t ANY_SIZE = UINT64_MAX;
std::string pack(std::string_view raw, int level);
std::string unpack(std::string_view frame, uint64_t bytes);

// A recording that is made of a skeleton and contents.
class Restored {
 public:
  Restored(std::shared_ptr<const Trace> skeleton, const std::string& path);
  // A content: what it is, and one zstd frame of it. Throws where `raw` is not what `hash` says.
  void add(const Hash128& hash, std::string_view raw, std::string_view frame);
  // The rest of the skeleton, and the annotation, a JSON object.
  void finish(std::string_view annotation);

 private:
  void copy(size_t first, size_t end);
  void flush();

  std::shared_ptr<const Trace> skeleton_;
  size_t leading_ = 0;  // chunks before the first calls
  ContainerWriter file_;
  std::vector<dt_blob_entry> entries_;
  std::string stored_;
};

}  // namespace dt::edit
