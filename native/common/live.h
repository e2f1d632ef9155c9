/* Shared data of a tapped program and the manager while the program runs: two pages and the packets that carry them.
 *
 * The program connects to the manager's SOCK_SEQPACKET socket at its first frame and sends dt_live_hello with the memfd
 * of its statistics. The program made and sealed this memfd; the manager maps it for reading only. The manager answers
 * with dt_live_welcome and the memfd of the control page, which it made and sealed (also against writing by others) and
 * the program maps for reading only. Neither side maps a memfd that can shrink. Both pages are state, not queues: a
 * late look sees the present values.
 *
 * Nothing on the control page holds after its lease: a manager that died has freed its programs by that time.
 * Times are ns of CLOCK_MONOTONIC.
 */
#ifndef DRAWTAP_COMMON_LIVE_H
#define DRAWTAP_COMMON_LIVE_H

#include "ring.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DT_LIVE_VERSION 1u
#define DT_LIVE_CONTROL_MAGIC 0x314c544350415444ull /* "DTAPCTL1" */
#define DT_LIVE_STATS_MAGIC 0x3154535450415444ull   /* "DTAPSTT1" */
#define DT_LIVE_SURFACES 16u /* surfaces of a program that have entries of their own at one time */
#define DT_LIVE_RING 1024u   /* frames of a surface that are remembered */

/* dt_live_control.pacing: where a frame that is too early waits. */
enum {
  DT_LIVE_EARLY = 0, /* before it is shown: even distances */
  DT_LIVE_LATE = 1   /* after it was shown, before the next begins: its input is fresher */
};

typedef struct dt_live_surface_limit {
  DT_ATOMIC(uint64_t) key;         /* of the surface; 0: unused */
  DT_ATOMIC(uint64_t) interval_ns; /* as below, for this surface in place of the program's */
} dt_live_surface_limit;

/* Written by the manager. Every field is valid by itself. */
#define DT_LIVE_CONTROL_BYTES 4096u
typedef struct dt_live_control {
  uint64_t magic;
  uint32_t version;
  DT_ATOMIC(uint32_t) word;        /* futex: one more after every change (but for a renewed lease), then woken */
  DT_ATOMIC(uint64_t) lease_ns;    /* until when what stands here holds */
  DT_ATOMIC(uint64_t) interval_ns; /* least time between two frames of a surface, at most a second; 0: no limit */
  DT_ATOMIC(uint32_t) pacing;      /* DT_LIVE_EARLY, DT_LIVE_LATE */
  DT_ATOMIC(uint32_t) spin_ns;     /* the end of a wait that is spent without sleeping, at most 2 ms */
  /* packets that the manager has sent after the welcome: the program looks at the next frame */
  DT_ATOMIC(uint32_t) letters;
  uint32_t reserved;
  dt_live_surface_limit surfaces[DT_LIVE_SURFACES];
} dt_live_control;

typedef struct dt_live_frame {
  uint64_t shown_ns; /* when the program gave it to the driver to show */
  uint32_t wait_ns;  /* time spent in the limiter since the frame before */
  uint32_t swap_ns;  /* time that the driver took to show it */
} dt_live_frame;

enum { DT_LIVE_EGL = 1, DT_LIVE_GLX = 2, DT_LIVE_OTHER = 3 }; /* dt_live_surface.kind */

#define DT_LIVE_SURFACE_BYTES (4096u + DT_LIVE_RING * 16u)
typedef struct dt_live_surface {
  DT_ATOMIC(uint64_t) key;        /* names the surface in this process; 0: unused. Stored last when a slot is taken */
  DT_ATOMIC(uint32_t) generation; /* surfaces that had this slot before */
  uint32_t kind;
  uint64_t display, handle;         /* as the program calls them */
  DT_ATOMIC(int32_t) width, height; /* 0: not known */
  DT_ATOMIC(int32_t) swap_interval; /* as last set by the program on the thread that shows it; -1: not set */
  uint32_t tid;                     /* of the thread that showed it first */
  DT_ATOMIC(uint64_t) frames;       /* shown so far: frame i stands at ring[i % DT_LIVE_RING] */
  DT_ATOMIC(uint64_t) waited;       /* frames that the limiter held back */
  DT_ATOMIC(uint64_t) wait_ns;      /* in all */
  DT_ATOMIC(uint64_t) resyncs; /* times that the schedule began anew since a frame was more than an interval late */
  char room[4096 - 80];
  dt_live_frame ring[DT_LIVE_RING];
} dt_live_surface;

#define DT_LIVE_VALUES 32u /* numbers of a program's own that have entries */
typedef struct dt_live_value {
  char name[40];              /* ends with 0; stands there before set_ns is not 0, and stays */
  DT_ATOMIC(uint64_t) set_ns; /* when it was set last; 0: unused */
  DT_ATOMIC(uint64_t) sets;   /* so far */
  DT_ATOMIC(uint64_t) value;  /* the bits of a double */
} dt_live_value;

/* Written by the program. */
#define DT_LIVE_STATS_HEADER 4096u
#define DT_LIVE_STATS_BYTES (DT_LIVE_STATS_HEADER + DT_LIVE_SURFACES * DT_LIVE_SURFACE_BYTES)
typedef struct dt_live_stats {
  uint64_t magic;
  uint32_t version;
  uint32_t pid;                  /* as the program sees itself */
  DT_ATOMIC(uint32_t) recording; /* 1: calls are recorded now */
  DT_ATOMIC(uint32_t) letters;   /* of the manager's packets, those read */
  DT_ATOMIC(uint64_t) frames;    /* of all surfaces */
  DT_ATOMIC(uint32_t) seen_word; /* the control page's word at the last frame */
  uint32_t reserved;
  uint64_t own_interval_ns; /* of the limit that the program was started with; 0: none */
  uint32_t own_pacing;      /* DT_LIVE_EARLY, DT_LIVE_LATE */
  char room[1024 - 52];
  dt_live_value values[DT_LIVE_VALUES]; /* taken in order, never given back */
} dt_live_stats;

#define DT_LIVE_MAGIC 0x4556494cu /* "LIVE" */
enum { DT_LIVE_RECORDING = 1u };  /* dt_live_hello.flags: the program was started to be recorded */
typedef struct dt_live_hello {
  uint32_t magic, version;
  uint32_t pid, flags;
  char program[1024]; /* /proc/self/exe */
  char api[32];       /* of the first frame: egl, glx */
} dt_live_hello;
typedef struct dt_live_welcome {
  uint32_t magic, version;
  uint32_t accepted, reserved; /* 0: not wanted here, and no fd comes; ask again later */
} dt_live_welcome;

/* After the welcome, both ways. */
enum {
  /* to the program: say hello to the drainer at trace-TEXT/socket beside the manager's socket and record */
  DT_LIVE_TRACE = 1,
  DT_LIVE_STOP = 2,    /* to the program: record no more */
  DT_LIVE_BEGUN = 3,   /* from the program: it did the work that the letter `number` ordered */
  DT_LIVE_REFUSED = 4, /* from the program: it was not; `text` says why */
  DT_LIVE_OVER = 5,    /* from the program: what letter `number` began has ended by itself */
  DT_LIVE_MARK = 6     /* to the program: put `text` into its recording, if it is recorded */
};
typedef struct dt_live_letter {
  uint32_t magic, kind;
  uint32_t number; /* of the letter, from 1; in an answer of that which it answers */
  uint32_t frames; /* with DT_LIVE_TRACE: stop after this number of frames, 0: at an order */
  char text[112];
} dt_live_letter;

#ifdef __cplusplus
}
#endif
#endif
