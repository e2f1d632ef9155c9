/* The shared-memory pool between a tapped application and the drainer.
 *
 * Both sides map the same memfd. The application's threads own chunks and append records to them; the
 * drainer takes sealed chunks, writes them to the trace and gives them back. Everything here is plain C
 * and position independent: the two processes map the pool at different addresses.
 *
 * Nothing on the per-call path takes a lock or an atomic read-modify-write: only taking and sealing a
 * chunk does.
 *
 * Where things stand: chunk i starts at file offset (i + 1) * chunk_bytes; the first chunk_bytes hold the
 * header (and at DT_POOL_ORIGIN_OFFSET what a new drainer must know to go on). chunk_bytes is a power of two, and the
 * application maps the pool at an address that is a multiple of it. So the low bits of a pointer into a chunk are the
 * offset in that chunk. `commit` can hold the low 32 bits of the pointer itself. A chunk is never filled to its last 8
 * bytes.
 */
#ifndef DRAWTAP_COMMON_RING_H
#define DRAWTAP_COMMON_RING_H

#include <stdint.h>

#ifdef __cplusplus
#include <atomic>
#define DT_ATOMIC(T) std::atomic<T>
extern "C" {
#else
#include <stdatomic.h>
#define DT_ATOMIC(T) _Atomic(T)
#endif

#define DT_RING_MAGIC 0x31474e5250415444ull /* "DTAPRNG1", little endian */
#define DT_RING_VERSION 1u
#define DT_CHUNK_BYTES (512u * 1024u) /* default; the pool header says what is in force */
#define DT_POOL_HEADER_BYTES 4096u

/* Chunk states. Only the owner moves OWNED -> SEALED, only the drainer moves SEALED -> FREE. */
enum { DT_CHUNK_FREE = 0, DT_CHUNK_OWNED = 1, DT_CHUNK_SEALED = 2 };

/* dt_pool_header.control: what the application may do now (the control page's word). */
enum {
  DT_CONTROL_RECORD = 1u << 0, /* record calls */
  DT_CONTROL_STOP = 1u << 1,   /* the drainer takes no more: stop for good (disk full, receiver gone) */
  /* the first call waits, on free_wake, until this is taken away: nobody takes the trace yet */
  DT_CONTROL_WAIT = 1u << 2,
  DT_CONTROL_DROP = 1u << 3, /* the drainer is behind: whole frames are to be left out, from the next frame end on */
  DT_CONTROL_DROP_CONTENT = 1u << 4 /* beside DROP: that was not enough, the content of uploads is left out as well */
};

/* dt_pool_header.timing */
enum { DT_TIMING_BOTH = 0, DT_TIMING_ENTRY = 1, DT_TIMING_NONE = 2 };

/* dt_pool_header.clock */
enum { DT_CLOCK_TSC = 0, DT_CLOCK_MONOTONIC_NS = 1 };

#define DT_REPEAT_SLOTS 64u
typedef struct dt_pool_header {
  uint64_t magic;
  uint32_t version;
  uint32_t chunk_bytes;
  uint32_t chunk_max;               /* chunks that the mapping reserves address space for */
  DT_ATOMIC(uint32_t) chunk_count;  /* chunks usable now; the drainer raises it after pre-faulting */
  DT_ATOMIC(uint64_t) free_head;    /* Treiber stack: tag << 32 | (chunk index + 1); 0 in the low half: empty */
  DT_ATOMIC(uint32_t) free_wake;    /* futex: the drainer increments and wakes when it frees or adds chunks */
  DT_ATOMIC(uint32_t) seal_wake;    /* futex: an application thread increments and wakes when it seals a chunk */
  DT_ATOMIC(uint32_t) free_wanted;  /* application threads now waiting for a free chunk */
  DT_ATOMIC(uint32_t) control;      /* DT_CONTROL_* */
  uint32_t timing;                  /* DT_TIMING_*, set by the drainer before the application sees the pool */
  uint32_t clock;                   /* DT_CLOCK_*, set by the application at hello */
  DT_ATOMIC(uint64_t) order;        /* last exact order number given out */
  DT_ATOMIC(uint32_t) thread_count; /* recording threads registered so far */
  /* 1: the application left by exit and sealed what it could; 2: it goes on without a recorder */
  DT_ATOMIC(uint32_t) finished;
  DT_ATOMIC(uint64_t) calls_dropped; /* application calls not recorded: nested, after STOP, re-entered from a signal */
  DT_ATOMIC(uint64_t) drainer_pid;
  DT_ATOMIC(uint64_t) wait_ns;      /* time that application threads spent waiting for chunks */
  uint64_t inline_limit;            /* arrays up to this many bytes stand in the record, longer ones become blobs */
  DT_ATOMIC(uint64_t) calls_nested; /* calls that a library made inside another call: forwarded, not recorded */
  /* The tap looks at these at the end of a frame. RECORD that was taken away or given again holds from there on. */
  /* recorded so far: those that the program ends by showing them, else by waiting for the GPU */
  DT_ATOMIC(uint64_t) frames;
  DT_ATOMIC(uint64_t) frames_unseen; /* that ended while nothing was recorded */
  /* 0: no limit; else the tap takes RECORD away when this number of frames more has been recorded */
  DT_ATOMIC(uint32_t) frames_left;
  DT_ATOMIC(uint32_t) recording;      /* 1: the tap records; 0: it forwards only, or has not begun */
  DT_ATOMIC(uint64_t) frames_dropped; /* of which draws were left out, DT_CONTROL_DROP */
  DT_ATOMIC(uint64_t) draws_dropped;
  /* raised by a drainer that lets go of content: what is used from here on is sent again */
  DT_ATOMIC(uint32_t) content_epoch;
  /* The longest time that a program is held. A thread that needs a chunk waits until none came free, for any thread,
   * for hold_ms; or for stopped_ms where `beat` stands still as well. From then on calls are counted and not recorded,
   * until chunks are free. */
  uint32_t hold_ms, stopped_ms;
  DT_ATOMIC(uint32_t) beat;             /* raised by the drainer at least ten times a second, whatever the disk does */
  DT_ATOMIC(uint32_t) hand_over;        /* raised by a drainer: at the end of its frame each thread seals its chunk */
  DT_ATOMIC(uint64_t) calls_unrecorded; /* application calls after STOP, or after a thread had waited for that long */
  DT_ATOMIC(uint64_t) uploads_dropped;  /* uploads whose content was left out, DT_CONTROL_DROP_CONTENT */
  DT_ATOMIC(uint64_t) upload_bytes_dropped;
  /* calls that the program left by longjmp or an exception: recorded, without an end */
  DT_ATOMIC(uint64_t) calls_left;
  uint32_t names_contents, reserved; /* 1: the drainer takes content without a hash, see dt_blob_part */
  /* by the low bits of a content's number: how many contents without a hash the trace had already */
  DT_ATOMIC(uint32_t) repeats[DT_REPEAT_SLOTS];
} dt_pool_header;

/* The drainer's notes in the pool for a successor (adoption, also after the application's death). */
#define DT_POOL_ORIGIN_OFFSET 4096u
#define DT_POOL_ORIGIN_MAGIC 0x4749524fu
typedef struct dt_pool_origin {
  uint32_t magic; /* 0: no process has said hello yet */
  uint32_t pid;
  uint64_t pid_start; /* field 22 of /proc/PID/stat: tells whether PID still is that process */
  char signatures[1024];
  char program[1024];
  char trace[1024]; /* empty until the file exists: it does from the first committed record on */
} dt_pool_origin;

/* Pictures that a flight recorder wants, since too many calls stand behind them. At the end of a frame the tap reads
 * each back and records calls that put the same content there again (native/runtime/targets.cc). They reach the trace
 * alone, not the driver. The drainer fills the list while `open` is 0, then stores how many there are; the tap counts
 * down. */
#define DT_POOL_TARGETS_OFFSET 8192u
#define DT_MOST_TARGETS 64u
enum { DT_TARGET_TEXTURE = 1, DT_TARGET_RENDERBUFFER = 2, DT_TARGET_SURFACE = 3 };
/* Why a picture is not read back. DT_REFUSED_SAMPLES and DT_REFUSED_KIND are known before the read. */
enum {
  DT_REFUSED_SAMPLES = 1,  /* several samples a pixel */
  DT_REFUSED_KIND = 2,     /* front buffers, textures of one dimension, ... */
  DT_REFUSED_FORMAT = 3,   /* the driver does not hand it over, or take it back, bit by bit */
  DT_REFUSED_VERSION = 4,  /* this version of OpenGL has no call that would write it */
  DT_REFUSED_SHADER = 5,   /* there is no OpenGL ES 3 beside the program's context, or no shader in it, to read it */
  DT_REFUSED_CHANGED = 6,  /* it is not there any more, or of another size */
  DT_REFUSED_TRANSFER = 7, /* pixel transfer changes values, or a list is being made */
  DT_REFUSED_SIZE = 8,     /* too large */
  DT_REFUSED_CALL = 9,     /* the frame did not end in a call of EGL */
  DT_REFUSED_NOBODY = 10   /* no frame ended in its context */
};
enum {
  DT_TARGET_ASKED = 0,
  DT_TARGET_BUSY = 1,
  DT_TARGET_TAKEN = 2,
  DT_TARGET_REFUSED = 3,  /* this picture cannot be read back exactly, or not written again: not now, not later */
  DT_TARGET_WITHDRAWN = 4 /* by the drainer: nobody came by */
};
typedef struct dt_target {
  uint64_t name;          /* of the object, or the surface's handle */
  uint32_t kind;          /* DT_TARGET_* */
  uint32_t share_group;   /* of textures and renderbuffers */
  uint32_t target, level; /* of a texture: what it is bound to (a cube map's face: the face); of a surface target is
                             GL_COLOR, GL_DEPTH or GL_STENCIL */
  uint32_t width, height, depth;
  uint32_t format;           /* internal format, as the program passed it */
  DT_ATOMIC(uint32_t) state; /* DT_TARGET_ASKED ... */
  uint32_t why;              /* of one that was refused: DT_REFUSED_* */
} dt_target;
typedef struct dt_pool_targets {
  DT_ATOMIC(uint32_t) open; /* how many the tap has not looked at */
  uint32_t count;
  DT_ATOMIC(uint64_t) bytes; /* read back so far */
  dt_target list[DT_MOST_TARGETS];
} dt_pool_targets;

/* At the start of every chunk; records follow at DT_CHUNK_HEADER_BYTES. */
#define DT_CHUNK_HEADER_BYTES 128u
typedef struct dt_ring_chunk {
  DT_ATOMIC(uint32_t) state;
  DT_ATOMIC(uint32_t) next_free; /* chunk index + 1, while free */
  DT_ATOMIC(uint32_t)
  commit;                     /* low 32 bits of the address after the last whole record, stored after each one;
                                 commit & (chunk_bytes - 1) is its offset in the chunk; 0: none yet (the
                                 drainer hands chunks out with 0) */
  uint32_t thread;            /* index of the thread in this process, from 0 in order of registration */
  uint32_t tid;               /* kernel thread id */
  uint32_t context;           /* id of the context current on the thread when the chunk was taken, 0: none */
  uint64_t serial;            /* number of this chunk among the thread's, from 0 */
  uint64_t first_call;        /* number of the first call record here among the thread's calls, from 0 */
  uint64_t calibration_clock; /* a pair read together when the chunk was taken: clock ticks ... */
  uint64_t calibration_ns;    /* ... and CLOCK_MONOTONIC in ns */
  uint64_t calibration_width; /* ticks between the reads before and after: how good the pair is */
  char thread_name[16];       /* as the kernel has it, when the chunk was taken */
  uint32_t unnamed, reserved; /* offset of the first part in here of content without a hash; 0: there is none */
} dt_ring_chunk;

/* One call, or one note that the tap itself adds.
 *
 * Layout: this header | w8 fields (8 bytes each) | w4 fields (4 bytes each) | padding to 8 | payloads of the array
 * fields. Payloads have the order of their descriptors, each padded to 8 bytes. The place of each field is fixed per
 * function and written in its signature (format.md).
 */
typedef struct dt_record {
  uint16_t function; /* low 14 bits: function id; bit 15: DT_RECORD_TAP */
  uint16_t words;    /* size of the whole record in units of 8 bytes */
  uint32_t duration; /* ticks from entry to exit; DT_IN_FLIGHT until the driver returned */
  uint64_t entry;    /* ticks at entry; 0: not timed */
} dt_record;

#define DT_FUNCTION_MASK 0x3fffu
/* Ids are below. */
#define DT_FUNCTIONS 0x4000u
/* Words have 8 bytes, the head counts too. */
#define DT_RECORD_WORDS(head) ((uint32_t)((head) >> 16) & 0xffffu)
#define DT_RECORD_TAP 0x8000u        /* made by the tap, not by the application */
#define DT_IN_FLIGHT 0xffffffffu     /* the driver had not returned when this was read */
#define DT_LONG_DURATION 0xfffffffeu /* did not fit: a dtapLongDuration record of this thread follows */
#define DT_NO_DURATION 0xfffffffdu   /* finished, but exit was not timed */

/* Array descriptor: a w8 field beside each captured array. */
#define DT_DATA_KIND(d) ((unsigned)((d) & 7u))
#define DT_DATA_CAPACITY(d)                                                                            \
  ((uint32_t)(((d) >> 3) & 0x1fffu))            /* payload units of 8 bytes that the record sets aside \
                                                 */
#define DT_DATA_LENGTH(d) ((uint64_t)(d) >> 16) /* bytes of content */
#define DT_DATA(kind, capacity, length) ((uint64_t)(kind) | ((uint64_t)(capacity) << 3) | ((uint64_t)(length) << 16))
enum {
  DT_DATA_NONE = 0,    /* NULL pointer, or nothing to capture */
  DT_DATA_INLINE = 1,  /* content stands in the record */
  DT_DATA_BLOB = 2,    /* the record has the 16-byte content hash (XXH3-128, low 8 bytes first) */
  DT_DATA_OFFSET = 3,  /* the pointer is an offset into a bound buffer object, or an opaque address */
  DT_DATA_PENDING = 4, /* an output that the driver had not written when this was read */
  DT_DATA_UNKNOWN = 5, /* there is content, but no rule says how much: not captured */
  DT_DATA_FAULT = 6    /* the address could not be read */
};

/* Function ids of the tap's own records; their signatures are in every trace like any other. */
enum {
  DT_FN_BLOB = 0x3ff0,          /* content: see dt_blob_part; never a row, goes to blob chunks */
  DT_FN_ORDER = 0x3ff1,         /* dtapOrder(uint64 order): exact order number of the next call of this thread */
  DT_FN_LONG_DURATION = 0x3ff2, /* dtapLongDuration(uint64 ticks) of the call before */
  DT_FN_CONTEXT = 0x3ff3,       /* dtapContext: from here on this context is current on this thread */
  DT_FN_MEMORY = 0x3ff4,        /* dtapMemory: bytes of application memory that the next call reads */
  DT_FN_MAP_WRITE = 0x3ff5,     /* dtapMapWrite: bytes the application stored in a mapped buffer before the next call */
  DT_FN_NATIVE = 0x3ff6,        /* dtapNative: portable attributes of a display, window, config, surface */
  DT_FN_NOTE = 0x3ff7,          /* dtapNote: a remark of the recorder, with a code */
  DT_FN_LIBRARY = 0x3ff8,       /* dtapLibrary: a library in which a function was found */
  DT_FN_METRIC = 0x3ff9,        /* dtapMetric: a number that a user's hook gave out */
  DT_FN_MARK = 0x3ffa,          /* dtapMark: a remark of a user's hook */
  DT_FN_MEMORY_WRITE = 0x3ffb,  /* dtapMemoryWrite: bytes that the program stored in mapped memory of Vulkan */
  DT_FN_DEVICE_WRITE = 0x3ffc,  /* dtapDeviceWrite: bytes that the device stored there */
  DT_FN_FIRST_TAP = 0x3ff0
};

/* Body of a DT_FN_BLOB record, after dt_record. Content longer than fits is split over records.
 *
 * Where the pool's names_contents is set, the application may leave the hash of long content to the drainer. The parts
 * then have a number, other than 0, in place of the entry time, and the call that follows refers to the content by
 * that number and DT_UNNAMED. The drainer takes no chunk before it has the hash of all contents in it, stores the hash
 * in parts and call, and adds DT_NAMED to the number. The application sets the number of all parts to 0 where it stores
 * the hash itself after all. It does so where it has waited for a chunk for some milliseconds. */
#define DT_UNNAMED 0x64656d616e6e7521ull
#define DT_NAMED (1ull << 63)
typedef struct dt_blob_part {
  uint64_t hash_low, hash_high;
  uint64_t total;  /* bytes of the whole content */
  uint64_t offset; /* of this part */
  uint64_t bytes;  /* of this part; they follow, padded to 8 */
} dt_blob_part;

/* Hello on the UNIX stream socket named by DRAWTAP_SOCKET. The application sends dt_hello, the drainer
 * answers with dt_welcome and, by SCM_RIGHTS, the pool's memfd. The socket then stays open: its end tells
 * either side that the other is gone.
 * An application that lost its drainer starts a new one. It sends dt_hello with flag DT_HELLO_ADOPT and its memfd by
 * SCM_RIGHTS, with the trace path of the first welcome. The drainer then goes on with this pool and appends to this
 * file. */
#define DT_HELLO_MAGIC 0x4f4c4548u
/* One byte to the drainer in place of all else: the application was welcomed and could not take the pool. It is not
 * recorded. */
#define DT_GIVEN_UP 'N'
enum { DT_HELLO_ADOPT = 1u };
typedef struct dt_hello {
  uint32_t magic, version;
  uint32_t pid, flags;
  uint32_t clock, reserved;
  uint64_t start_clock, start_ns; /* calibration pair */
  char signatures[1024];          /* path of the signature file that belongs to the module */
  char program[1024];             /* /proc/self/exe */
  char trace[1024];               /* with ADOPT: the file to go on with */
} dt_hello;
typedef struct dt_welcome {
  uint32_t magic, version;
  uint32_t accepted, quietly; /* accepted 0: not this process (the fd is then absent); quietly: that is no fault */
  uint64_t pool_bytes;        /* of address space to map */
  char trace[1024];           /* the file asked for; of several processes the first to commit a record gets it,
                                 the others FILE-PID.dtap: dt_pool_origin.trace says which it became */
  uint32_t only, reserved;    /* only 1: what this drainer has goes with it; when it is gone, record no longer */
} dt_welcome;

#ifdef __cplusplus
}
#endif
#endif
