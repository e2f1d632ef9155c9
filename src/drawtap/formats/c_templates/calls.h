/* What the generated calls need. */
#ifndef PLAY_CALLS_H
#define PLAY_CALLS_H

#include "play.h"
#include "names.h"
#include "objects.h"
#include "functions.h"
#include "sources.h"

/* The content of data.bin. */
#ifdef PLAY_DATA_FILE
extern const unsigned char* play_data;
#else
extern const unsigned char play_data[];
#endif
#include "data.h"

#ifdef PLAY_CHECK
#define READ_BACK(bytes, checksum) host_read_back(scratch, bytes, checksum)
#else
#define READ_BACK(bytes, checksum) ((void)0)
#endif

/* Stands for the program's own call-backs: prints what the driver says. */
void PLAY_CALL play_debug_message(GLenum source, GLenum type, GLuint id, GLenum severity, GLsizei length,
                                  const GLchar* message, const void* user);

/* Numbers that C has no literals for: infinities and what is not a number. */
static inline GLfloat float_of(uint32_t bits) {
  GLfloat value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline double double_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

#endif
