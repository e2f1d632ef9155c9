// The border between C++ and C, for every library with a C ABI. An exception becomes a DT_E_* code and a sentence,
// memory that goes out gets an owner, and streams live in memory of C.
#pragma once
#include <dlfcn.h>

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "arrow.h"
#include "core.h"
#include "error.h"

namespace dt {

template <class F> int at_border(std::string& said, F&& body) {
  try {
    body();
    return DT_OK;
  } catch (const Error& e) {
    said = e.what();
    return e.code;
  } catch (const std::bad_alloc&) {
    said = "out of memory";
    return DT_E_MEMORY;
  } catch (const std::length_error&) {
    said = "out of memory";
    return DT_E_MEMORY;
  } catch (const std::exception& e) {
    said = e.what();
    return DT_E_FORMAT;
  } catch (...) {
    said = "unknown failure";
    return DT_E_FORMAT;
  }
}

inline void need(bool given, const char* what) {
  if (!given) throw Error(DT_E_ARGUMENT, std::string(what) + " is missing");
}

// Text (a string, Bytes) that lives until its owner is deleted, as the type that it is here.
template <class Text> void hand_out(Text text, const char** at, uint64_t* length, void** owner) {
  auto* kept = new Text(std::move(text));
  *at = kept->data();
  *length = kept->size();
  *owner = kept;
}

inline ArrowArrayStream* new_stream() { return static_cast<ArrowArrayStream*>(calloc(1, sizeof(ArrowArrayStream))); }
inline void free_stream(ArrowArrayStream* stream) {
  if (!stream) return;
  if (stream->release) stream->release(stream);
  free(stream);
}
// The destructor of a Python capsule "arrow_array_stream" around a stream.
inline void release_capsule(void* capsule) {
  // The interpreter's own function, wherever it lives: no library of ours is linked with it.
  static auto* const pointer_of =
      reinterpret_cast<void* (*)(void*, const char*)>(dlsym(RTLD_DEFAULT, "PyCapsule_GetPointer"));
  if (pointer_of) free_stream(static_cast<ArrowArrayStream*>(pointer_of(capsule, "arrow_array_stream")));
}

}  // namespace dt
