// Pixels to files.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace dt::play {

// Writes RGBA pixels, bottom row first, as PNG (stored, not compressed) or PPM, by the file's ending. False: it cannot.
bool write_image(const std::string& path, const std::vector<uint8_t>& pixels, int width, int height, int pixel = 4);

}  // namespace dt::play
