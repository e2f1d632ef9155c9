// New traces from old ones.
#pragma once
#include <map>
#include <utility>

#include "../core/arrow.h"
#include "../core/trace.h"
#include "edit.h"

namespace dt::edit {

struct Source {
  const Trace* trace = nullptr;
  const uint8_t* keep = nullptr;
  uint64_t first_seq = 0, end_seq = UINT64_MAX;
  const uint8_t* keep_map_writes = nullptr;
  const uint8_t *keep_memory_writes = nullptr, *keep_device_writes = nullptr;
  // of calls: their image is the recording's; nullptr: of every one that is kept
  const uint8_t* keep_images = nullptr;
  std::vector<dt_change> changes;
  // For each thread (pid, number): only its calls from the first of these numbers to before the second, and the tap's
  // notes before each of them. A thread that is not in there has none; empty: all of all threads.
  std::map<std::pair<uint32_t, uint32_t>, std::pair<uint64_t, uint64_t>> spans;
  bool sparse = false;       // without what hooks gave out, and without what the tap had said of a native object before
  int64_t origin_shift = 0;  // a call without an origin comes from seq + this
};

struct Options {
  bool by_time = false, forget = false;
  int level = 1;
  std::string annotation, signatures;
  // Several sources that are parts of one recording, each from where the one before it ends. Times and contexts stay,
  // annotations are these alone, and the file is written in its place (it may be in memory).
  bool parts = false;
  std::vector<std::string> before, after;
};

// Returns the JSON that core.h's neighbour edit.h describes.
std::string write(std::vector<Source> sources, const Options& options, const std::string& path);

}  // namespace dt::edit
