// Reading other tools' traces: each function writes a recording, throws Error, and returns the JSON that peers.h
// describes.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include "peers.h"

namespace dt::peers {

// For the running import: whether it shall stop, and how much of its file is read (bytes).
extern std::atomic<bool> g_cancel;
extern std::atomic<uint64_t> g_done;

std::string import_apitrace(const dt_import& options);
std::string import_tcy2(const dt_import& options);

}  // namespace dt::peers
