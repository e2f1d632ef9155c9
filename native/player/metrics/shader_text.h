// A shader's text, changed so that it counts its own reads of textures, or its runs.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace dt::play::metrics {

// The block that counts them: integers in this order. `carry` is how often the one before it ran over.
enum FetchCount : uint8_t {
  FRAGMENT_FETCH_COUNT,
  FRAGMENT_FETCH_CARRY,
  VERTEX_FETCH_COUNT,
  VERTEX_FETCH_CARRY,
  FETCH_COUNTS
};

struct ShaderLanguage {
  bool es = false;       // of the context
  uint32_t version = 0;  // of the context, 10 times
  uint32_t binding = 0;  // of the block
  // The sums that main adds to the block. FRAGMENTS: one to the integer dt_place.x. PIXELS: also, from the second
  // behind that on, the pixel; rows have dt_place.y. Without room, after dt_place.z of them, the pixel's own integer
  // becomes dt_place.x, and with `quads` the fragments without room add to the integer behind dt_place.x. PLANE, with
  // `quads` only: an integer of the dt_place.z from dt_place.x on stands for two by two pixels, row by row, with a
  // byte for each of them. SAMPLES, never with `quads`: as FRAGMENTS, and to the integer behind dt_place.x the covered
  // samples of each.
  // Only fragments that pass the tests run it. A shader that may discard some runs it for all that it keeps.
  enum Counts : uint8_t { FETCHES, FRAGMENTS, PIXELS, PLANE, SAMPLES } counts = FETCHES;
  std::function<bool(const char*)> has_extension;
  bool core = false;  // of the context
  // One fragment of each two by two counts for all, where none is discarded: FRAGMENTS adds their number, PIXELS one;
  // an entry is 16 times the lower left pixel, or 16 times dt_place.x, and a bit for each present fragment (1 lower
  // left, 2 lower right, 4 and 8 above). Lower rows are even ones, or odd ones where dt_place.w is 1.
  bool quads = false;
  // dt_place comes from the vertex shader, see placed_text(): llvmpipe copies 33 KB of state for a uniform of
  // fragments.
  bool placed = false;
};

struct CountingText {
  std::string text;
  bool fetches = false;  // it reads textures: what main runs is added to the block
  int per_run = -1;      // how many reads each run of a fragment shader makes; -1: it may depend, or was not found out
  std::string why;       // the reads of the shader are not known
};

// `text` is a whole shader, with main or without. A built-in function that reads a texture counts where it is called,
// in functions and in macros, once for each time that it runs; textureSize and other questions do not. In OpenGL ES the
// text becomes one of 3.10 or 3.20 whether it reads textures or not, since all stages must be of one version. Names
// that are words there begin with RENAMED.
CountingText counting_text(const std::string& text, bool fragment, const ShaderLanguage& language);
inline constexpr std::string_view RENAMED = "dtk_";
// The name that a uniform, an attribute or a block of a counting text has in the original.
std::string original_name(std::string name);

// The line of a shader that says which GLSL it is, "" where none does.
std::string version_line(const std::string& text);

// A vertex shader that also hands on the uniform dt_place, to fragment shaders of such a ShaderLanguage.
std::string placed_text(const std::string& text, const ShaderLanguage& language);

// A fragment shader that does nothing else than counting itself. `version`: the line that says which GLSL it is, as in
// the other stages.
std::string pixel_counting_text(const std::string& version, const ShaderLanguage& language);

// A fragment shader that adds its uniform dt_units to the block, for fixed function that reads this number of textures.
std::string fixed_counting_text(const ShaderLanguage& language);

}  // namespace dt::play::metrics
