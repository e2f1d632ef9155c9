// Common parts of sources of OpenGL: contexts, calls and draws that they see. measure.h has parts for all players.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../../common/primitives.h"
#include "../../core/signature.h"
#include "../../mirror/gl_state.h"
#include "gl_enums.h"
#include "measure.h"

namespace dt::play::metrics {

// A call of the recording, as it comes to be played.
class Call {
 public:
  virtual ~Call() = default;
  uint64_t seq = 0;
  const char* name = "";
  uint64_t flags = 0;    // of the trace's function: FLAG_DRAW, FLAG_CLEAR, FLAG_DISPATCH ...
  bool in_list = false;  // it is compiled into a display list
  // it is played instead of a display list that it is part of; glNewList: that runs by itself later
  bool expanded = false;
  // A parameter as it was recorded, 0 where there is none of that name. Names of objects are the recording's.
  virtual uint64_t number(const char* parameter) const = 0;
  // The same as a number with a fraction, of a float or double parameter.
  virtual double real(const char* parameter) const = 0;
  // The content of an array that the program handed over (indices in its memory, a matrix); empty where it is an offset
  // into a buffer, or not there. Good until the call is over.
  virtual std::span<const uint8_t> array(const char* parameter) const = 0;
  // The same call, to be given to the driver (once more) when it is over; nullptr: it cannot be, since it reads the
  // program's memory or is more than one call.
  virtual std::unique_ptr<Draw> kept() const { return nullptr; }
};

// Results of queries come to the asking code while this is there, and not to a buffer of the program's.
class ResultsHere {
 public:
  ResultsHere();
  ResultsHere(const ResultsHere&) = delete;
  ResultsHere& operator=(const ResultsHere&) = delete;
  ~ResultsHere();

 private:
  int buffer_ = 0;
};

// A part of what a query of the program's counts, in a query of its own. See own_queries.h.
class Piece {
 public:
  Piece(uint32_t its_name, uint32_t its_target) : name(its_name), target(its_target) {}
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;
  virtual ~Piece() = default;
  virtual void settle() = 0;  // ends it where it still runs, so that its result is there
  const uint32_t name, target;
  bool runs = false;
};

// A call that draws (also: clears, dispatches; see flags), and the means to do it once more.
class Draw : public Call {
 public:
  // Why perform() is not safe to be called; "": it is. A display list may be performed all the same where the state
  // that it may change is saved around it; what vertices leave behind (colours, normals, materials) perform() saves
  // itself.
  virtual const char* refusal() const { return ""; }
  // The number of vertices between glBegin and glEnd or in a display list, and the points, lines or triangles that they
  // make up; -1: it is drawn by other means, or not known. number("mode") is the mode of the (first) glBegin.
  struct Given {
    int64_t vertices = -1, primitives = -1;
  };
  virtual Given given() const { return {}; }
  // Gives the driver exactly this call, or all from glBegin to glEnd, with whatever state is set then. False: the
  // player leaves the call out, nothing was drawn (and nothing will be). May be called any number of times.
  virtual bool perform() = 0;
  // A query of the program's counts the draw and stands still during around(); what is drawn later would be counted.
  bool in_query = false;
  // Where that counts samples: how many of the draw pass, of this draw alone.
  std::shared_ptr<Piece> samples;
};

inline bool is_occlusion(uint32_t target) {
  return target == GL_SAMPLES_PASSED || target == GL_ANY_SAMPLES_PASSED || target == GL_ANY_SAMPLES_PASSED_CONSERVATIVE;
}

// The number of points, lines or triangles that a mode of glBegin makes of n vertices (quads and polygons as
// triangles); -1: patches.
inline int64_t primitives_of(uint64_t mode, int64_t n) {
  const Primitives made = dt::primitives_of(mode, n > 0 ? static_cast<uint64_t>(n) : 0);
  return !made.known ? -1 : static_cast<int64_t>(made.triangles ? made.triangles : made.count);
}

// The current context (its address means nothing else), nullptr: none.
const void* current_context();
void set_current_context(const void* context);
bool is_es();
// For the current context; one query of the driver.
bool has_extension(const char* name);
void drain_errors();
uint32_t take_error();

}  // namespace dt::play::metrics
