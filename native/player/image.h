// Pixels to files.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace dt::play {

// Where an image of an attachment goes, and how many bytes a pixel has: 4 colour, 2 depth (most significant first; the
// whole range of depth is 0 to 65535), 1 stencil. Rows from the bottom.
struct AttachmentImage {
  std::string name;  // "" the colour that is drawn to first, "color1", "depth", "stencil"
  int width = 0, height = 0;
  int bytes = 4;
  std::vector<uint8_t> pixels;
};

// Writes RGBA pixels, bottom row first, as PNG (stored, not compressed) or PPM, by the file's ending. False: it cannot.
bool write_image(const std::string& path, const std::vector<uint8_t>& pixels, int width, int height, int pixel = 4);

// Shrinks RGBA pixels, bottom row first, until they are at most `most` wide and four times as high. Each pixel is the
// mean, rounded down, of those that it covers, as `shrunk` of analysis/pictures.py has it. Images that are thinner than
// what a pixel would cover stay as they are.
void shrink(std::vector<uint8_t>& pixels, int& width, int& height, uint64_t most);

}  // namespace dt::play
