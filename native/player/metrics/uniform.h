// Setting a uniform of any type in the program that is current.
#pragma once
#include "driver.h"

namespace dt::play::metrics {

// `kind`: 'f', 'i' or 'u'; a matrix has several columns of `rows` components, a vector only `rows` components.
inline void set_uniform(char kind, unsigned columns, unsigned rows, int location, const void* value) {
  static const driver::Function<void(int32_t, int32_t, uint8_t, const float*)> matrices[3][3] = {
      {driver::glUniformMatrix2fv, driver::glUniformMatrix2x3fv, driver::glUniformMatrix2x4fv},
      {driver::glUniformMatrix3x2fv, driver::glUniformMatrix3fv, driver::glUniformMatrix3x4fv},
      {driver::glUniformMatrix4x2fv, driver::glUniformMatrix4x3fv, driver::glUniformMatrix4fv}};
  static const driver::Function<void(int32_t, int32_t, const float*)> floats[4] = {
      driver::glUniform1fv, driver::glUniform2fv, driver::glUniform3fv, driver::glUniform4fv};
  static const driver::Function<void(int32_t, int32_t, const int32_t*)> integers[4] = {
      driver::glUniform1iv, driver::glUniform2iv, driver::glUniform3iv, driver::glUniform4iv};
  static const driver::Function<void(int32_t, int32_t, const uint32_t*)> unsigneds[4] = {
      driver::glUniform1uiv, driver::glUniform2uiv, driver::glUniform3uiv, driver::glUniform4uiv};
  if (columns > 1)
    matrices[columns - 2][rows - 2](location, 1, 0, static_cast<const float*>(value));
  else if (kind == 'f')
    floats[rows - 1](location, 1, static_cast<const float*>(value));
  else if (kind == 'i')
    integers[rows - 1](location, 1, static_cast<const int32_t*>(value));
  else
    unsigneds[rows - 1](location, 1, static_cast<const uint32_t*>(value));
}

}  // namespace dt::play::metrics
