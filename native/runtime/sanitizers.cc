// The tap's words to sanitizers in the program that it is loaded into.
#include "tap.h"

// AddressSanitizer's library ends a program in which another library stands before it, as one might take the place of
// its functions. The tap takes the place of a few, and each goes on to the next of its name.
DT_EXPORT const char* __asan_default_options() { return "verify_asan_link_order=0"; }
