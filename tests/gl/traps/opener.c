/* Opens a library that only its own DT_RUNPATH leads to. */
#include "trap.h"
void* opener_open(const char* name) { return dlopen(name, RTLD_LAZY); }
