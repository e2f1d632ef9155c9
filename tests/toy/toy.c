#include "toy.h"
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { HISTORY = 8 };

struct ToyContext_T {
  ToyBitfield flags;
  ToyInt stride, level;
  ToyInt history[HISTORY];
  ToyInt set;  // values of TOY_LEVEL so far
  ToyUint frame;
  ToyNotifyFunc notify;
  void* user;
  ToyLong point_sum;
};

static _Thread_local ToyEnum error;

static void fail(ToyEnum code) {
  if (!error) error = code;
}

static int valid(ToyHandle handle) {
  if (!handle) fail(TOY_BAD_HANDLE);
  return handle != NULL;
}

EXPORT ToyHandle toyOpen(const char* name, ToyBitfield flags) {
  if (!name || !*name) {
    fail(TOY_BAD_VALUE);
    return NULL;
  }
  ToyHandle handle = calloc(1, sizeof *handle);
  if (handle) {
    handle->flags = flags;
    handle->stride = 2;
  }
  return handle;
}

EXPORT void toyClose(ToyHandle handle) { free(handle); }

EXPORT ToyDouble toyMix(ToyByte tiny, ToyUshort small, ToyInt number, ToyUint natural, ToyLong wide, ToyUlong big,
                        ToyFloat ratio, ToyDouble precise, ToyBoolean negate) {
  ToyDouble sum = (ToyDouble)tiny + small + number + natural + (ToyDouble)wide + (ToyDouble)big + ratio + precise;
  return negate ? -sum : sum;
}

EXPORT void toySet(ToyHandle handle, ToyEnum name, ToyInt value) {
  if (!valid(handle)) return;
  switch (name) {
    case TOY_STRIDE:
      if (value < 1 || value > 4)
        fail(TOY_BAD_VALUE);
      else
        handle->stride = value;
      break;
    case TOY_LEVEL:
      handle->level = value;
      handle->history[handle->set++ % HISTORY] = value;
      break;
    case TOY_CRASH: *(volatile ToyInt*)NULL = value; break;
    default: fail(TOY_BAD_NAME);
  }
}

EXPORT ToyInt toyGet(ToyHandle handle, ToyEnum name, ToyInt capacity, ToyInt* values) {
  if (!valid(handle)) return 0;
  ToyInt one;
  switch (name) {
    case TOY_STRIDE: one = handle->stride; break;
    case TOY_LEVEL: one = handle->level; break;
    case TOY_FRAME: one = (ToyInt)handle->frame; break;
    case TOY_HISTORY: {
      ToyInt count = handle->set < HISTORY ? handle->set : HISTORY;
      for (ToyInt i = 0; i < count && i < capacity; ++i)
        values[i] = handle->history[(handle->set - count + i) % HISTORY];
      return count;
    }
    default: fail(TOY_BAD_NAME); return 0;
  }
  if (capacity > 0) *values = one;
  return 1;
}

EXPORT void toyPoints(ToyHandle handle, ToyInt count, const int16_t* points, const ToyFloat* weights) {
  if (!valid(handle)) return;
  if (count < 0 || !points) {
    fail(TOY_BAD_VALUE);
    return;
  }
  for (ToyInt i = 0; i < count * handle->stride; ++i)
    handle->point_sum += weights ? (ToyLong)(weights[i / handle->stride] * points[i]) : points[i];
}

EXPORT ToyInt toyLabels(ToyHandle handle, ToyInt count, const char* const* labels, const ToyInt* lengths,
                        const char* title, ToyInt titleLength) {
  if (!valid(handle)) return 0;
  ToyInt seen = 0;
  for (ToyInt i = 0; i < count; ++i) seen += lengths && lengths[i] >= 0 ? lengths[i] : (ToyInt)strlen(labels[i]);
  if (title) seen += titleLength >= 0 ? titleLength : (ToyInt)strlen(title);
  return seen;
}

EXPORT void toyNotify(ToyHandle handle, ToyNotifyFunc function, void* user) {
  if (!valid(handle)) return;
  handle->notify = function;
  handle->user = user;
}

EXPORT ToyBoolean toyDraw(ToyHandle handle, ToyEnum mode, const ToyRect* rect, const ToyInt* attributes) {
  if (!valid(handle)) return 0;
  if (mode != TOY_OUTLINE && mode != TOY_SOLID) {
    fail(TOY_BAD_NAME);
    return 0;
  }
  for (const ToyInt* a = attributes; a && *a != TOY_NONE; a += *a == TOY_FILLED ? 1 : 2) {
    if (*a != TOY_COLOR && *a != TOY_LAYER && *a != TOY_FILLED) {
      fail(TOY_BAD_NAME);
      return 0;
    }
  }
  return rect && rect->width > 0 && rect->height > 0;
}

EXPORT void toySwap(ToyHandle handle) {
  if (!valid(handle)) return;
  ++handle->frame;
  if (handle->notify) handle->notify(handle, handle->frame, handle->user);
}

EXPORT ToyEnum toyGetError(void) {
  ToyEnum first = error;
  error = TOY_NO_ERROR;
  return first;
}

EXPORT ToyFunction toyGetProcAddress(const char* name) {
  static const struct {
    const char* name;
    ToyFunction function;
  } table[] = {
#define ENTRY(f) {#f, (ToyFunction)f}
      ENTRY(toyOpen),   ENTRY(toyClose),  ENTRY(toyMix),  ENTRY(toySet),  ENTRY(toyGet),      ENTRY(toyPoints),
      ENTRY(toyLabels), ENTRY(toyNotify), ENTRY(toyDraw), ENTRY(toySwap), ENTRY(toyGetError),
#undef ENTRY
  };
  for (size_t i = 0; name && i < sizeof table / sizeof *table; ++i)
    if (!strcmp(table[i].name, name)) return table[i].function;
  return NULL;
}
