// The snappy block format (a length, then literals and copies), as apitrace's traces use it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace dt::peers {

// Put the content into `out` (replaced). False where the block is damaged: `out` then has what came before the damage.
bool snappy_uncompress(std::string_view block, uint64_t limit, std::string* out);
// A block with the content of `raw`.
void snappy_compress(std::string_view raw, std::string* out);

}  // namespace dt::peers
