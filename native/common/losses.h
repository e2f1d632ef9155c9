/* Content that the tap could not take, counted by reason in the pool: the drainer writes it into the recording's end.
 * A note of the same code says what each reason is, and in which call it was met first. */
#ifndef DRAWTAP_COMMON_LOSSES_H
#define DRAWTAP_COMMON_LOSSES_H

#include "ring.h"

#define DT_POOL_LOSSES_OFFSET 16384u
#define DT_MOST_LOSSES 32u
enum { DT_LOSS_FREE = 0, DT_LOSS_NAMED = 2 };
typedef struct dt_loss {
  DT_ATOMIC(uint32_t) state; /* DT_LOSS_*; 1 while it is being named */
  char code[36];
  DT_ATOMIC(uint64_t) count; /* of calls */
} dt_loss;

#endif
