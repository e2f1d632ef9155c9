/* A file of drawtap record's, mapped by its programs at their start: a process that cannot reach the recorder says so
 * there. src/drawtap/capture/unreached.py reads it. */
#ifndef DRAWTAP_COMMON_UNREACHED_H
#define DRAWTAP_COMMON_UNREACHED_H

#include "ring.h"

#define DT_MOST_UNREACHED 127u
typedef struct dt_unreached {
  int32_t pid;   /* as the process sees itself */
  int32_t error; /* errno; stored last, 0 until then */
  char name[24]; /* of the program, with a 0 at the end */
} dt_unreached;
typedef struct dt_unreached_file {
  DT_ATOMIC(uint32_t) count; /* may be more than there is room for */
  uint32_t reserved[7];
  dt_unreached entries[DT_MOST_UNREACHED];
} dt_unreached_file;

/* To the drainer, begun by DT_GIVEN_UP: the process said hello and could not take the answer. */
typedef struct dt_given_up {
  uint8_t letter, reserved[3];
  int32_t error; /* errno */
} dt_given_up;

#endif
