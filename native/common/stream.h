/* A trace on its way to somebody else: what recorder and receiver say to each other. docs/stream-protocol.md is
 * normative. All integers little endian, structures packed by construction. */
#ifndef DRAWTAP_COMMON_STREAM_H
#define DRAWTAP_COMMON_STREAM_H
#include <stdint.h>

#define DT_STREAM_MAGIC "DTSTREAM" /* 8 bytes, without the terminator */
#define DT_STREAM_VERSION 2u
#define DT_STREAM_LONGEST_NONCE 1024u /* in the hello of any version */
#define DT_STREAM_PROOF_BYTES 32u
#define DT_STREAM_LONGEST_TEXT 65536u
#define DT_STREAM_LONGEST_MESSAGE (1u << 20)

enum { DT_STREAM_RECORDER = 1, DT_STREAM_RECEIVER = 2 }; /* dt_stream_hello.role */

/* From the side that connects; its nonce and its options (JSON) follow. */
typedef struct dt_stream_hello {
  char magic[8];
  uint16_t version;
  uint8_t role, reserved;
  uint32_t nonce_bytes; /* DT_STREAM_PROOF_BYTES; 0: it has no token */
  uint32_t options_bytes;
  uint32_t reserved2;
} dt_stream_hello; /* 24 bytes */

enum {
  DT_STREAM_OK = 0,
  DT_STREAM_VERSION_REFUSED = 1,
  DT_STREAM_TOKEN_REFUSED = 2,
  DT_STREAM_ROLE_REFUSED = 3,
  DT_STREAM_BUSY = 4,
  DT_STREAM_CHALLENGE = 5
};

/* From the side that was connected to; text follows: its options (JSON) if ok, else the reason, a sentence. A side with
 * a token first challenges: the text is its nonce, and is answered by DT_STREAM_PROOF_BYTES; the text of the answer to
 * that begins with as many if ok. */
typedef struct dt_stream_answer {
  char magic[8];
  uint16_t version;
  uint16_t code;
  uint32_t text_bytes;
} dt_stream_answer; /* 16 bytes */

/* Afterwards, both ways: messages. */
enum {
  DT_STREAM_OPEN = 1,   /* recorder: JSON of the program whose trace begins */
  DT_STREAM_DATA = 2,   /* recorder: bytes of the trace */
  DT_STREAM_STATUS = 3, /* recorder: JSON of how far it is */
  DT_STREAM_END = 4,    /* recorder: u64 bytes of the whole trace, then JSON */
  DT_STREAM_ERROR = 5,  /* either: a sentence; the stream ends here */
  DT_STREAM_TAKEN = 6   /* receiver: u64 bytes of the trace that are safe with it */
};
typedef struct dt_stream_message {
  uint8_t type, reserved[3];
  uint32_t bytes;    /* that follow, at most DT_STREAM_LONGEST_MESSAGE */
} dt_stream_message; /* 8 bytes */

#endif
