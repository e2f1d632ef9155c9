// The sources that programs were linked from, and copies of them whose fragments nothing discards.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "copied.h"

namespace dt::play::metrics {

class Draw;

struct ProgramSource {
  std::vector<std::pair<uint32_t, std::string>> stages;  // kind of shader, text
  bool discards = false;                                 // a fragment shader may leave samples out
  bool writes_depth = false;                             // it says itself how deep they are
  bool writes_memory = false;                            // drawing again would do something again
  bool reads_target = false;                             // framebuffer fetch
  bool subroutines = false;                              // whose choice is lost when another program comes
  bool images = false;
  bool other_outputs = false;  // its fragment shader has outputs that are integers, or none
};

// Remembers what a program of the current share group was linked from: it may detach its shaders right after.
void program_linked(uint32_t program);
// nullptr: not known (a binary, SPIR-V, a pipeline of programs).
const ProgramSource* program_source(uint32_t program);
// Why a draw with a program, 0: fixed function, may not be performed once more; nullptr: it may.
const char* unrepeatable(const Draw& draw, uint32_t program);
// A program with the same stages up to rasterisation, the same attributes and the uniforms' values of now, and a
// fragment shader that does nothing; made current. False: `why`. use_program(original) gives it back.
bool use_bare_copy(uint32_t program, std::string& why);
// The same with a fragment shader that discards what the original does, and writes 1/255 to the first colour buffer
// instead of a colour. For OpenGL ES.
bool use_counting_copy(uint32_t program, std::string& why);
// The same with shaders that count their texture reads in a storage block at fetch_binding(). Nothing is made current
// where none of them reads any, but for programs without a fragment shader: there fixed function reads `units`
// textures.
struct Reading {
  bool fragment = false, earlier = false;  // which stages read textures
  int per_run = -1;                        // how many reads each run of the fragment shader makes, -1: it may depend
};
// The texture reads of each fragment, where fragments alone read textures, and each as often. -1: not so, or unknown.
int reads_of_each_fragment(uint32_t program);
bool use_fetching_copy(uint32_t program, uint32_t units, Reading& stages, std::string& why);
// The same for fixed function.
bool use_fixed_fetching(uint32_t units, std::string& why);
uint32_t fetch_binding();
// The same with a fragment shader that adds one to the integer `first` of a storage block at fetch_binding(). It is the
// original, behind the tests where it does not discard (for OpenGL ES); or `bare` one that does nothing else. As a LIST
// pixels are put behind that integer as far as there is `room`, then each pixel's own integer becomes `first`; as a
// PLANE each is counted in a byte of `room` integers from `first` on. `row`: pixels of a row. The uniforms have the
// values that they had the last time where `epoch` is the same. SAMPLES, of targets with several samples a pixel: the
// integer behind it counts those that are covered, whatever the tests say. Fixed function, program 0, has bare copies
// for OpenGL alone.
enum class Placed : uint8_t { NUMBER, LIST, PLANE, SAMPLES };
struct Place {
  int first = 0, row = 0, room = 0, odd = 0;  // odd: 1 where odd rows are the lower ones of two by two pixels
};
// Returns whether the copies count two by two fragments at once, see ShaderLanguage.
bool places_quads();
bool has_placing_copy(uint32_t program, bool bare, Placed as, std::string& why);
void use_placing_copy(uint32_t program, bool bare, Placed as, const Place& place, uint64_t epoch);
// With the values of a moment instead of the program's own.
void use_placing_copy(uint32_t program, bool bare, Placed as, const Place& place, const UniformValues& values);
// The program's values of those uniforms that a copy has.
UniformValues uniform_values(uint32_t program, bool bare, Placed as);
// That copy of it is current: it counts elsewhere from now on.
void move_placing_copy(uint32_t program, bool bare, Placed as, const Place& place);
void use_program(uint32_t program);

}  // namespace dt::play::metrics
