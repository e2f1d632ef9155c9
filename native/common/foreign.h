/* dt_hello.flags: a process that the tap cannot be loaded into says so, and wants no answer. */
#ifndef DRAWTAP_COMMON_FOREIGN_H
#define DRAWTAP_COMMON_FOREIGN_H
#define DT_HELLO_FOREIGN 2u
#endif
