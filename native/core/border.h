// Where C++ ends and C begins: what is thrown becomes a DT_E_* code and a sentence. The reader core and the importers of
// other tools' traces, which are libraries of their own, have it from here.
#pragma once
#include <new>
#include <stdexcept>
#include <string>

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

}  // namespace dt
