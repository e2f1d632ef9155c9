/* The trace container (.dtap), version 1. docs/format.md is normative; this header is its C form.
 * All integers little endian. Structures are packed by construction (no implicit padding). */
#ifndef DRAWTAP_COMMON_FORMAT_H
#define DRAWTAP_COMMON_FORMAT_H
#include <stdint.h>

#define DT_FILE_MAGIC "DTAP\r\n\x1a\n" /* 8 bytes, without the terminator */
#define DT_FILE_VERSION 1u
typedef struct dt_file_header {
  char magic[8];
  uint32_t version; /* readers refuse a larger one */
  uint32_t reserved;
  uint8_t uuid[16]; /* random; names this recording in caches */
} dt_file_header;   /* 32 bytes */

#define DT_CHUNK_MAGIC 0x4b435444u /* "DTCK" */
typedef struct dt_chunk_header {
  uint32_t magic;
  uint16_t type;          /* DT_CHUNK_*; unknown types are skipped */
  uint16_t version;       /* of the type's layout */
  uint64_t payload_bytes; /* that follow this header */
  uint64_t payload_hash;  /* XXH3-64 of them */
  uint32_t meta_bytes;    /* of the payload, from its start: readable without decompressing */
  uint32_t header_hash;   /* low 32 bits of XXH3-64 of the 28 bytes before */
} dt_chunk_header;        /* 32 bytes */

enum {
  DT_TYPE_SIGNATURES = 1, /* text of signature lines; meta: dt_block */
  DT_TYPE_CALLS = 2,      /* meta: dt_calls_meta, dt_calls_function[n], dt_block[n]; then the blocks */
  DT_TYPE_BLOBS = 3,      /* meta: dt_blobs_meta, dt_blob_entry[n]; then the stored bytes */
  DT_TYPE_ANNOTATION = 4, /* JSON object with "kind"; meta: dt_block */
  DT_TYPE_FOOTER = 5      /* meta: dt_footer_meta, dt_footer_entry[n], copies of the CALLS metas */
};

enum { DT_CODEC_STORE = 0, DT_CODEC_ZSTD = 1, DT_CODEC_LZ4 = 2 };

typedef struct dt_block {
  uint16_t kind;  /* DT_BLOCK_* in CALLS; 0 elsewhere */
  uint16_t codec; /* DT_CODEC_* */
  uint32_t reserved;
  uint64_t raw_bytes;
  uint64_t stored_bytes; /* blocks stand one after the other, in the order of this table */
} dt_block;              /* 24 bytes */

enum {
  DT_BLOCK_ORDER = 1, /* per record: index into the function table, u8, or u16 when there are > 256 functions */
  /* per record: LEB128 of zigzag(entry - entry of the record before); before the first: t_first */
  DT_BLOCK_ENTRY = 2,
  /* per record: LEB128 of duration + 3, wrapping u32 add: so 0 none, 1 long, 2 in flight, else ticks + 3 */
  DT_BLOCK_DURATION = 3,
  DT_BLOCK_ARGS = 4, /* arguments of one or several functions; dt_calls_function says where */
  /* per call: LEB128 of zigzag(o - o of the call before); o is 1 + its seq in the trace it was taken from, 0: none */
  DT_BLOCK_ORIGIN = 5
};

typedef struct dt_calls_meta {
  uint32_t pid;
  uint32_t thread; /* index in the process */
  uint32_t tid;
  uint32_t context;         /* current at the first record */
  uint64_t serial;          /* chunk number of the thread; gaps mean loss */
  uint64_t first_call;      /* number of the first call among the thread's calls */
  uint32_t records;         /* all, with the tap's own */
  uint32_t calls;           /* the application's */
  uint64_t t_first, t_last; /* entry ticks of the first and last timed record; 0: none */
  uint64_t t_end;           /* largest entry + duration */
  uint64_t max_duration;    /* of a call, ticks */
  uint64_t calibration_clock, calibration_ns, calibration_width;
  uint32_t clock; /* 0: TSC ticks, 1: ns */
  uint32_t timing;
  uint32_t functions;               /* entries of the function table */
  uint32_t blocks;                  /* entries of the block table */
  uint64_t order_first, order_last; /* smallest and largest exact order number in here; 0: none */
  char thread_name[16];
} dt_calls_meta; /* 144 bytes */

typedef struct dt_calls_function {
  uint16_t function;     /* id, with DT_RECORD_TAP where it is the tap's own */
  uint16_t block;        /* index in the block table of its ARGS block; 0xffff: no arguments at all */
  uint32_t count;        /* records in this chunk */
  uint64_t offset;       /* of its columns in the raw block */
  uint64_t bytes;        /* of its columns in the raw block */
  uint64_t duration_sum; /* ticks */
  uint64_t duration_max;
  uint64_t payload_bytes; /* content bytes its arrays stand for, blobs included */
} dt_calls_function;      /* 48 bytes */

/* Columns of a function in its ARGS block, n = count:
 *   each w8 field: n * u64, each minus the one before (wrapping), the first minus 0;
 *   each w4 field: n * u32, likewise;
 *   each array field (a w8 field that is a descriptor; its column has kind | length << 16, capacity 0):
 *     the payloads of its n records one after the other, unpadded: the content if INLINE, the 16 bytes of
 *     the hash if BLOB, nothing otherwise. */

typedef struct dt_blobs_meta {
  uint32_t parts, reserved;
} dt_blobs_meta;
typedef struct dt_blob_entry {
  uint64_t hash_low, hash_high;  /* XXH3-128 of the whole content */
  uint64_t total, offset, bytes; /* whole content, and this part of it */
  uint64_t stored_bytes;
  uint32_t codec, reserved;
} dt_blob_entry; /* 56 bytes */

typedef struct dt_footer_meta {
  uint32_t chunks, reserved;
  uint64_t calls; /* of the application */
} dt_footer_meta;
typedef struct dt_footer_entry {
  uint64_t offset;
  dt_chunk_header header;
} dt_footer_entry; /* 40 bytes */
/* After the footer's payload, the last 16 bytes of a whole file: u64 offset of the footer chunk, then: */
#define DT_END_MAGIC "DTAPEND\n"

#endif
