// The toy API: twelve commands that together need every kind of argument the tap can record.
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int8_t ToyByte;
typedef uint16_t ToyUshort;
typedef int32_t ToyInt;
typedef uint32_t ToyUint;
typedef int64_t ToyLong;
typedef uint64_t ToyUlong;
typedef float ToyFloat;
typedef double ToyDouble;
typedef unsigned char ToyBoolean;
typedef unsigned int ToyEnum;
typedef unsigned int ToyBitfield;
typedef struct ToyContext_T* ToyHandle;
typedef void (*ToyFunction)(void);
typedef void (*ToyNotifyFunc)(ToyHandle handle, ToyUint frame, void* user);
typedef struct ToyRect {
  ToyInt x, y;
  ToyInt width, height;
  ToyFloat depth;
} ToyRect;

// flags of toyOpen
#define TOY_READ 0x1
#define TOY_WRITE 0x2
#define TOY_FAST 0x4
// names for toySet and toyGet
#define TOY_STRIDE 0x101  // components of a point that toyPoints reads, 1 to 4
#define TOY_LEVEL 0x102
#define TOY_HISTORY 0x103  // get only: the last values set with TOY_LEVEL
#define TOY_FRAME 0x104    // get only: frames shown
#define TOY_CRASH 0x1FF    // set only: writes through a null pointer inside the library
// modes of toyDraw
#define TOY_OUTLINE 0x201
#define TOY_SOLID 0x202
// attributes of toyDraw; TOY_NONE ends the list, TOY_FILLED stands alone
#define TOY_NONE 0
#define TOY_COLOR 0x301
#define TOY_LAYER 0x302
#define TOY_FILLED 0x303
// errors
#define TOY_NO_ERROR 0
#define TOY_BAD_HANDLE 0x401
#define TOY_BAD_NAME 0x402
#define TOY_BAD_VALUE 0x403

ToyHandle toyOpen(const char* name, ToyBitfield flags);
void toyClose(ToyHandle handle);
// The sum of all arguments.
ToyDouble toyMix(ToyByte tiny, ToyUshort small, ToyInt number, ToyUint natural, ToyLong wide, ToyUlong big,
                 ToyFloat ratio, ToyDouble precise, ToyBoolean negate);
void toySet(ToyHandle handle, ToyEnum name, ToyInt value);
// How many values there were; at most `capacity` of them are written.
ToyInt toyGet(ToyHandle handle, ToyEnum name, ToyInt capacity, ToyInt* values);
// `count` points of TOY_STRIDE components each, and a weight a point (or NULL).
void toyPoints(ToyHandle handle, ToyInt count, const int16_t* points, const ToyFloat* weights);
// `lengths` NULL or negative entries: labels end at their terminator; so does the title if `titleLength` < 0.
// Returns the number of characters seen.
ToyInt toyLabels(ToyHandle handle, ToyInt count, const char* const* labels, const ToyInt* lengths, const char* title,
                 ToyInt titleLength);
void toyNotify(ToyHandle handle, ToyNotifyFunc function, void* user);
ToyBoolean toyDraw(ToyHandle handle, ToyEnum mode, const ToyRect* rect, const ToyInt* attributes);
// Show a frame and notify.
void toySwap(ToyHandle handle);
// This thread's first error since the last call.
ToyEnum toyGetError(void);
ToyFunction toyGetProcAddress(const char* name);

#ifdef __cplusplus
}
#endif
