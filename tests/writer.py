"""Write .dtap files from a short description, with nothing of drawtap's own code.

Made from docs/format.md alone, so that reader and recorder are checked against the text and not against each other::

    w = Writer(SIGNATURES)
    t = w.thread()
    t.call("glEnable", cap=0x0B71, start=1000, duration=50)
    t.tap("dtapOrder", order=1)
    t.call("glUniform4fv", location=2, count=1, value=f32(1, 2, 3, 4))
    w.write(path)

Arrays are `Data`: inline, blob, offset, pending... A call without `duration` is in flight.
"""

from __future__ import annotations

import hashlib
import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path

import xxhash

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAGIC = b"DTAP\r\n\x1a\n"
END = b"DTAPEND\n"
SIGNATURES_TYPE, CALLS, BLOBS, ANNOTATION, FOOTER = 1, 2, 3, 4, 5
STORE, ZSTD = 0, 1
ORDER_BLOCK, ENTRY_BLOCK, DURATION_BLOCK, ARGS_BLOCK = 1, 2, 3, 4
TAP = 0x8000
IN_FLIGHT, LONG, NONE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_M64, _M32 = 2**64 - 1, 2**32 - 1


def table(rows: str) -> str:
    """Return rows of a signature table, which are written here with two spaces where the format has a tab."""
    return "".join(line.replace("  ", "\t") + "\n" for line in rows.splitlines())


SIGNATURES = table("""\
G  Cap  enum
E  GL_DEPTH_TEST  2929
E  GL_CULL_FACE  2884
G  Mode  enum
E  GL_POINTS  0
E  GL_TRIANGLES  4
G  Bits  bitmask
E  GL_DEPTH_BUFFER_BIT  256
E  GL_COLOR_BUFFER_BIT  16384
G  Error  enum
E  GL_NO_ERROR  0
E  GL_INVALID_ENUM  1280
G  Type  enum
E  GL_UNSIGNED_SHORT  5123
F  1  gl  glEnable  0  1  -  GL_VERSION_1_0
P  cap  GLenum  enum  4:0  Cap  -
F  2  gl  glDrawElements  2  3  draw,gpu_reads  GL_VERSION_1_1
P  mode  GLenum  enum  4:0  Mode  -
P  count  GLsizei  i32  4:1  -  -
P  type  GLenum  enum  4:2  Type  -
P  indices  const void *  ptr  8:0  -  -
D  8:1  bytes  in  -
F  3  gl  glUniform4fv  2  2  upload  GL_VERSION_2_0
P  location  GLint  i32  4:0  -  -
P  count  GLsizei  i32  4:1  -  -
P  value  const GLfloat *  ptr  8:0  -  -
D  8:1  f32  in  -
F  4  egl  eglSwapBuffers  2  1  frame_end  EGL_VERSION_1_0
R  EGLBoolean  bool  4:0  -  -
P  dpy  EGLDisplay  handle  8:0  -  -
P  surface  EGLSurface  handle  8:1  -  -
F  5  gl  glClear  0  1  clear  GL_VERSION_1_0
P  mask  GLbitfield  bitmask  4:0  Bits  -
F  6  gl  glGetError  0  1  error_query  GL_VERSION_1_0
R  GLenum  enum  4:0  Error  -
F  7  gl  glShaderSource  4  2  upload  GL_VERSION_2_0
P  shader  GLuint  u32  4:0  -  shader
P  count  GLsizei  i32  4:1  -  -
P  string  const GLchar *const*  ptr  8:0  -  -
D  8:1  strings  in  -
P  length  const GLint *  ptr  8:2  -  -
D  8:3  i32  in  -
F  8  gl  glFinish  0  0  finish  GL_VERSION_1_0
F  9  gl  glPushDebugGroup  2  3  marker  GL_KHR_debug
P  source  GLenum  enum  4:0  Cap  -
P  id  GLuint  u32  4:1  -  -
P  length  GLsizei  i32  4:2  -  -
P  message  const GLchar *  ptr  8:0  -  -
D  8:1  char  in  -
F  10  gl  glPopDebugGroup  0  0  marker  GL_KHR_debug
F  11  gl  glBindTexture  0  2  -  GL_VERSION_1_0
P  target  GLenum  enum  4:0  Cap  -
P  texture  GLuint  u32  4:1  -  texture
F  12  gl  glGetIntegerv  2  1  -  GL_VERSION_1_0
P  pname  GLenum  enum  4:0  Cap  -
P  data  GLint *  ptr  8:0  -  -
D  8:1  i32  out  -
F  13  gl  glClearDepth  1  0  -  GL_VERSION_1_0
P  depth  GLdouble  f64  8:0  -  -
F  14  toy  toySeq  0  3  -  -
P  seq  int  i32  4:0  -  -
P  Name  int  i32  4:1  -  -
P  flag  int  bool  4:2  -  -
F  16369  drawtap  dtapOrder  1  0  tap  -
P  order  uint64_t  u64  8:0  -  -
F  16370  drawtap  dtapLongDuration  1  0  tap  -
P  ticks  uint64_t  u64  8:0  -  -
F  16371  drawtap  dtapContext  3  3  tap  -
P  handle  uint64_t  u64  8:0  -  -
P  draw  uint64_t  u64  8:1  -  -
P  read  uint64_t  u64  8:2  -  -
P  context  uint32_t  u32  4:0  -  -
P  share_group  uint32_t  u32  4:1  -  -
P  api  uint32_t  u32  4:2  -  -
F  16375  drawtap  dtapNote  2  0  tap  -
P  code  const char *  ptr  8:0  -  -
D  8:0  char  in  -
P  text  const char *  ptr  8:1  -  -
D  8:1  char  in  -
""")
# With more functions, for what small traces do not need.
MANY = SIGNATURES + table("""\
F  20  egl  eglCreateContext  6  0  context  EGL_VERSION_1_0
R  EGLContext  handle  8:0  -  context
P  dpy  EGLDisplay  handle  8:1  -  display
P  config  EGLConfig  handle  8:2  -  config
P  share_context  EGLContext  handle  8:3  -  context
P  attrib_list  const EGLint *  ptr  8:4  -  -
D  8:5  attribs32  in  -
F  21  egl  eglMakeCurrent  4  1  make_current  EGL_VERSION_1_0
R  EGLBoolean  u32  4:0  -  -
P  dpy  EGLDisplay  handle  8:0  -  display
P  draw  EGLSurface  handle  8:1  -  surface
P  read  EGLSurface  handle  8:2  -  surface
P  ctx  EGLContext  handle  8:3  -  context
F  22  gl  glTexImage2D  2  8  upload  GL_VERSION_1_0
P  target  GLenum  enum  4:0  -  -
P  level  GLint  i32  4:1  -  -
P  internalformat  GLint  i32  4:2  -  -
P  width  GLsizei  i32  4:3  -  -
P  height  GLsizei  i32  4:4  -  -
P  border  GLint  i32  4:5  -  -
P  format  GLenum  enum  4:6  -  -
P  type  GLenum  enum  4:7  -  -
P  pixels  const void *  ptr  8:0  -  -
D  8:1  pixels  in  -
F  23  gl  glGenTextures  2  1  -  GL_VERSION_1_1
P  n  GLsizei  i32  4:0  -  -
P  textures  GLuint *  ptr  8:0  -  texture
D  8:1  u32  out  -
F  24  gl  glNobodyKnowsThis  0  1  -  -
P  x  GLint  i32  4:0  -  -
F  25  gl  glBufferData  3  2  upload  GL_VERSION_1_5
P  target  GLenum  enum  4:0  Cap  -
P  size  GLsizeiptr  i64  8:0  -  -
P  data  const void *  ptr  8:1  -  -
D  8:2  bytes  in  -
P  usage  GLenum  enum  4:1  -  -
F  26  gl  glReadPixels  2  6  readback  GL_VERSION_1_0
P  x  GLint  i32  4:0  -  -
P  y  GLint  i32  4:1  -  -
P  width  GLsizei  i32  4:2  -  -
P  height  GLsizei  i32  4:3  -  -
P  format  GLenum  enum  4:4  -  -
P  type  GLenum  enum  4:5  -  -
P  pixels  void *  ptr  8:0  -  -
D  8:1  pixels  out  -
F  27  gl  glDeleteTextures  2  1  -  GL_VERSION_1_1
P  n  GLsizei  i32  4:0  -  -
P  textures  const GLuint *  ptr  8:0  -  texture
D  8:1  u32  in  -
F  28  gl  glVertexAttribPointer  1  5  draw_setup  GL_VERSION_2_0
P  index  GLuint  u32  4:0  -  -
P  size  GLint  i32  4:1  -  -
P  type  GLenum  enum  4:2  -  -
P  normalized  GLboolean  u32  4:3  -  -
P  stride  GLsizei  i32  4:4  -  -
P  pointer  const void *  ptr  8:0  -  -
F  29  gl  glEnableVertexAttribArray  0  1  -  GL_VERSION_2_0
P  index  GLuint  u32  4:0  -  -
F  30  gl  glDrawArrays  0  3  draw  GL_VERSION_1_1
P  mode  GLenum  enum  4:0  Mode  -
P  first  GLint  i32  4:1  -  -
P  count  GLsizei  i32  4:2  -  -
F  31  gl  glGetTexImage  2  4  readback  GL_VERSION_1_0
P  target  GLenum  enum  4:0  -  -
P  level  GLint  i32  4:1  -  -
P  format  GLenum  enum  4:2  -  -
P  type  GLenum  enum  4:3  -  -
P  pixels  void *  ptr  8:0  -  -
D  8:1  pixels  out  -
F  32  egl  eglBindAPI  0  2  -  EGL_VERSION_1_2
R  EGLBoolean  u32  4:0  -  -
P  api  EGLenum  enum  4:1  -  -
F  33  gl  glCompileShader  0  1  -  GL_VERSION_2_0
P  shader  GLuint  u32  4:0  -  shader
F  34  gl  glBindBuffer  0  2  -  GL_VERSION_1_5
P  target  GLenum  enum  4:0  Cap  -
P  buffer  GLuint  u32  4:1  -  buffer
F  35  gl  glDrawArraysInstanced  0  4  draw  -
P  mode  GLenum  enum  4:0  Mode  -
P  first  GLint  i32  4:1  -  -
P  count  GLsizei  i32  4:2  -  -
P  instancecount  GLsizei  i32  4:3  -  -
F  36  gl  glMultiDrawArrays  4  2  draw  -
P  mode  GLenum  enum  4:0  Mode  -
P  first  const GLint *  ptr  8:0  -  -
D  8:1  i32  in  -
P  count  const GLsizei *  ptr  8:2  -  -
D  8:3  i32  in  -
P  drawcount  GLsizei  i32  4:1  -  -
F  37  gl  glBegin  0  1  -  -
P  mode  GLenum  enum  4:0  Mode  -
F  38  gl  glEnd  0  0  draw  -
F  39  gl  glVertex2f  0  2  -  -
P  x  GLfloat  f32  4:0  -  -
P  y  GLfloat  f32  4:1  -  -
F  40  gl  glLoadIdentity  0  0  -  -
F  41  gl  glUseProgram  0  1  -  -
P  program  GLuint  u32  4:0  -  program
F  42  gl  glDrawArraysIndirect  1  1  draw  -
P  mode  GLenum  enum  4:0  Mode  -
P  indirect  const void *  ptr  8:0  -  -
F  43  gl  glNewList  0  2  -  -
P  list  GLuint  u32  4:0  -  -
P  mode  GLenum  enum  4:1  Mode  -
F  44  gl  glEndList  0  0  -  -
F  45  gl  glCallList  0  1  -  -
P  list  GLuint  u32  4:0  -  -
F  46  gl  glCallLists  2  2  -  -
P  n  GLsizei  i32  4:0  -  -
P  type  GLenum  enum  4:1  Mode  -
P  lists  const void *  ptr  8:0  -  -
D  8:1  bytes  in  -
F  47  gl  glListBase  0  1  -  -
P  base  GLuint  u32  4:0  -  -
F  48  gl  glDeleteLists  0  2  -  -
P  list  GLuint  u32  4:0  -  -
P  range  GLsizei  i32  4:1  -  -
F  49  gl  glEvalMesh2  0  5  draw  -
P  mode  GLenum  enum  4:0  Mode  -
P  i1  GLint  i32  4:1  -  -
P  i2  GLint  i32  4:2  -  -
P  j1  GLint  i32  4:3  -  -
P  j2  GLint  i32  4:4  -  -
F  50  gl  glArrayElement  0  1  -  -
P  i  GLint  i32  4:0  -  -
F  16372  drawtap  dtapMemory  2  0  tap  -
P  address  const void *  ptr  8:0  -  -
D  8:1  bytes  in  -
F  16373  drawtap  dtapMapWrite  2  2  tap  -
P  offset  uint64_t  u64  8:0  -  -
P  data  const void *  ptr  8:1  -  -
D  8:1  bytes  in  -
P  target  uint32_t  u32  4:0  -  -
P  buffer  uint32_t  u32  4:1  -  buffer
F  16374  drawtap  dtapNative  3  0  tap  -
P  handle  uint64_t  u64  8:0  -  -
P  kind  const char *  ptr  8:1  -  -
D  8:1  char  in  -
P  text  const char *  ptr  8:2  -  -
D  8:2  char  in  -
""")


@dataclass(frozen=True)
class Data:
    """An array argument: `kind` 0 none 1 inline 2 blob 3 offset 4 pending 5 unknown 6 fault."""

    content: bytes = b""
    kind: int = 1
    pointer: int = 0x7000

    @property
    def descriptor(self) -> int:
        length = len(self.content) if self.kind in (1, 2) else 0
        return self.kind | length << 16

    @property
    def payload(self) -> bytes:
        if self.kind == 1:
            return self.content
        return content_hash(self.content) if self.kind == 2 else b""


def content_hash(content: bytes) -> bytes:
    return bytes(reversed(xxhash.xxh3_128_digest(content)))


def hash_text(content: bytes) -> str:
    return content_hash(content)[::-1].hex()


def f32(*values: float) -> Data:
    return Data(struct.pack(f"<{len(values)}f", *values))


def i32(*values: int) -> Data:
    return Data(struct.pack(f"<{len(values)}i", *values))


def text(value: str) -> Data:
    return Data(value.encode())


def strings(*values: str) -> Data:
    return Data(b"".join(struct.pack("<I", len(v.encode())) + v.encode() for v in values))


def blob(content: bytes) -> Data:
    return Data(content, kind=2)


NULL = Data(kind=0, pointer=0)
PENDING = Data(kind=4)


@dataclass
class _Field:
    name: str
    slot: tuple[int, int]
    data: int = -1  # w8 slot of the descriptor
    kind: str = ""


@dataclass
class _Function:
    id: int
    name: str
    w8: int
    w4: int
    fields: list[_Field] = field(default_factory=list)


@dataclass
class _Record:
    function: _Function
    tap: bool
    values: dict[str, object]
    start: int
    duration: int


def parse(signatures: str) -> dict[str, _Function]:
    functions: dict[str, _Function] = {}
    current: _Function | None = None
    for line in signatures.splitlines():
        part = line.split("\t")
        if part[0] == "F":
            current = functions[part[3]] = _Function(int(part[1]), part[3], int(part[4]), int(part[5]))
        elif part[0] == "P" and current:
            wide, number = part[4].split(":")
            current.fields.append(_Field(part[1], (int(wide), int(number)), kind=part[3]))
        elif part[0] == "R" and current:
            wide, number = part[3].split(":")
            current.fields.append(_Field("result", (int(wide), int(number)), kind=part[2]))
        elif part[0] == "D" and current:
            current.fields[-1].data = int(part[1].split(":")[1])
    return functions


class Thread:
    """Records of one thread, in chunks."""

    def __init__(self, writer: Writer, index: int, context: int) -> None:
        self._writer = writer
        self.index = index
        self.context = context
        self.serial = 0
        self.calls = 0
        self.clock = 1000
        self.records: list[_Record] = []

    def call(self, name: str, /, *, start: int | None = None, duration: int = IN_FLIGHT, **values: object) -> Thread:
        self._add(name, tap=False, start=start, duration=duration, values=values)
        return self

    def tap(self, name: str, **values: object) -> Thread:
        self._add(name, tap=True, start=self.clock, duration=NONE, values=values)
        return self

    def _add(self, name: str, *, tap: bool, start: int | None, duration: int, values: dict[str, object]) -> None:
        if start is None:
            start = self.clock + 100
        self.clock = max(self.clock, start)
        self.records.append(_Record(self._writer.functions[name], tap, values, start, duration))

    def flush(self) -> Thread:
        """End the chunk."""
        if self.records:
            self._writer.add_calls(self, self.records)
            self.serial += 1
            self.calls += sum(not r.tap for r in self.records)
            self.records = []
        return self


class Writer:
    """A trace file under construction."""

    def __init__(
        self, signatures: str = SIGNATURES, *, clock: int = 1, codec: int = ZSTD, timing: int = 0, pid: int = 4000
    ) -> None:
        self.functions = parse(signatures)
        self.clock, self.codec, self.timing, self.pid = clock, codec, timing, pid
        self.threads: list[Thread] = []
        self.chunks: list[tuple[int, bytes, int]] = []  # type, payload, meta bytes
        self._blobs: dict[bytes, bytes] = {}
        self.calls = 0
        self.uuid = hashlib.md5(signatures.encode()).digest()
        self.text_chunk(SIGNATURES_TYPE, signatures)

    def thread(self, *, context: int = 0) -> Thread:
        self.threads.append(Thread(self, len(self.threads), context))
        return self.threads[-1]

    def annotate(self, json: str) -> None:
        self.text_chunk(ANNOTATION, json)

    def text_chunk(self, kind: int, content: str) -> None:
        raw = content.encode()
        stored = self._pack(raw)
        self.chunks.append((kind, struct.pack("<HHIQQ", 0, self.codec, 0, len(raw), len(stored)) + stored, 24))

    def _pack(self, raw: bytes) -> bytes:
        return zstd.compress(raw, 1) if self.codec == ZSTD else raw

    def add_calls(self, thread: Thread, records: list[_Record]) -> None:
        order: list[tuple[int, bool]] = []
        for r in records:
            if (r.function.id, r.tap) not in order:
                order.append((r.function.id, r.tap))
        index = {key: i for i, key in enumerate(order)}
        args, entries = b"", []
        for number, tap in order:
            own = [r for r in records if (r.function.id, r.tap) == (number, tap)]
            columns = self._columns(own)
            payload = sum(
                len(v.content) for r in own for v in r.values.values() if isinstance(v, Data) and v.kind in (1, 2)
            )
            durations = [r.duration for r in own if r.duration < NONE]
            entries.append(
                struct.pack(
                    "<HHIQQQQQ",
                    number | (TAP if tap else 0),
                    3,
                    len(own),
                    len(args),
                    len(columns),
                    sum(durations),
                    max(durations, default=0),
                    payload,
                )
            )
            args += columns
            for r in own:
                for value in r.values.values():
                    if isinstance(value, Data) and value.kind == 2:
                        self._blobs[content_hash(value.content)] = value.content
        wide = len(order) > 256
        times = [r.start for r in records]
        raw = [
            (
                ORDER_BLOCK,
                struct.pack(
                    f"<{len(records)}{'H' if wide else 'B'}", *(index[(r.function.id, r.tap)] for r in records)
                ),
            ),
            (ENTRY_BLOCK, b"".join(leb(zigzag(b - a)) for a, b in zip([times[0], *times], times, strict=False))),
            (DURATION_BLOCK, b"".join(leb((r.duration + 3) & _M32) for r in records)),
            (ARGS_BLOCK, args),
        ]
        stored = [(kind, content, self._pack(content)) for kind, content in raw]
        blocks = b"".join(struct.pack("<HHIQQ", kind, self.codec, 0, len(c), len(s)) for kind, c, s in stored)
        own_calls = sum(not r.tap for r in records)
        marks = [int(r.values["order"]) for r in records if r.function.name == "dtapOrder"]  # type: ignore[call-overload]
        timed = [t for t in times if t]
        meta = struct.pack(
            "<IIIIQQIIQQQQQQQIIIIQQ16s",
            self.pid,
            thread.index,
            self.pid + thread.index,
            thread.context,
            thread.serial,
            thread.calls,
            len(records),
            own_calls,
            timed[0] if timed else 0,
            timed[-1] if timed else 0,
            max((r.start + (r.duration if r.duration < NONE else 0) for r in records), default=0),
            max((r.duration for r in records if r.duration < NONE and not r.tap), default=0),
            times[0],
            times[0],
            10,
            self.clock,
            self.timing,
            len(order),
            len(stored),
            min(marks, default=0),
            max(marks, default=0),
            f"thread{thread.index}".encode(),
        )
        assert len(meta) == 144
        meta += b"".join(entries) + blocks
        self.chunks.append((CALLS, meta + b"".join(s for _, _, s in stored), len(meta)))
        self.calls += own_calls

    def _columns(self, records: list[_Record]) -> bytes:
        function = records[0].function
        w8 = [[0] * len(records) for _ in range(function.w8)]
        w4 = [[0] * len(records) for _ in range(function.w4)]
        payloads: dict[int, bytes] = {f.data: b"" for f in function.fields if f.data >= 0}
        for i, record in enumerate(records):
            for f in function.fields:
                value = record.values.get(f.name, 0)
                if isinstance(value, Data):
                    w8[f.slot[1]][i] = value.pointer
                    w8[f.data][i] = value.descriptor
                    payloads[f.data] += value.payload
                    continue
                if isinstance(value, float):
                    (value,) = (
                        struct.unpack("<Q", struct.pack("<d", value))
                        if f.kind == "f64"
                        else struct.unpack("<I", struct.pack("<f", value))
                    )
                (w8 if f.slot[0] == 8 else w4)[f.slot[1]][i] = int(value) & (_M64 if f.slot[0] == 8 else _M32)  # type: ignore[call-overload]
        out = b""
        for column in w8:
            out += b"".join(struct.pack("<Q", (b - a) & _M64) for a, b in zip([0, *column], column, strict=False))
        for column in w4:
            out += b"".join(struct.pack("<I", (b - a) & _M32) for a, b in zip([0, *column], column, strict=False))
        return out + b"".join(payloads[slot] for slot in sorted(payloads))

    def add_blobs(self, contents: list[bytes], *, part: int = 1 << 30) -> None:
        entries, stored = b"", b""
        count = 0
        for content in contents:
            for offset in range(0, max(len(content), 1), part):
                piece = content[offset : offset + part]
                packed = self._pack(piece)
                entries += content_hash(content) + struct.pack(
                    "<QQQQII", len(content), offset, len(piece), len(packed), self.codec, 0
                )
                stored += packed
                count += 1
        meta = struct.pack("<II", count, 0) + entries
        self.chunks.append((BLOBS, meta + stored, len(meta)))

    def bytes(self, *, footer: bool = True, version: int = 1) -> bytes:
        """Return the whole file."""
        for thread in self.threads:
            thread.flush()
        if self._blobs:
            self.add_blobs(list(self._blobs.values()))
            self._blobs = {}
        out = MAGIC + struct.pack("<II", version, 0) + self.uuid
        index, metas = b"", b""
        for kind, payload, meta_bytes in self.chunks:
            header = chunk_header(kind, payload, meta_bytes)
            index += struct.pack("<Q", len(out)) + header
            if kind == CALLS:
                metas += payload[:meta_bytes]
            out += header + payload
        if footer:
            payload = struct.pack("<IIQ", len(self.chunks), 0, self.calls) + index + metas
            at = len(out)
            out += chunk_header(FOOTER, payload, len(payload)) + payload + struct.pack("<Q", at) + END
        return out

    def write(self, path: Path, *, footer: bool = True) -> Path:
        path.write_bytes(self.bytes(footer=footer))
        return path


def chunk_header(kind: int, payload: bytes, meta_bytes: int) -> bytes:
    head = struct.pack("<IHHQQI", 0x4B435444, kind, 1, len(payload), xxhash.xxh3_64_intdigest(payload), meta_bytes)
    return head + struct.pack("<I", xxhash.xxh3_64_intdigest(head) & _M32)


def zigzag(value: int) -> int:
    return (value << 1) & _M64 if value >= 0 else ((-value << 1) - 1) & _M64


def leb(value: int) -> bytes:
    out = bytearray()
    while True:
        byte = value & 0x7F
        value >>= 7
        out.append(byte | (0x80 if value else 0))
        if not value:
            return bytes(out)


def small_trace(*, codec: int = ZSTD, clock: int = 1) -> Writer:
    """A trace with one of everything: two threads, frames, arrays, blobs, strings, marks, markers, a call in flight."""
    w = Writer(codec=codec, clock=clock)
    w.annotate('{"kind": "recording", "program": "/bin/true"}')
    a, b = w.thread(), w.thread(context=7)
    a.tap("dtapContext", handle=0xABC, context=3, share_group=1, api=2)
    a.call("glEnable", cap=2929, start=1000, duration=50)
    a.call("glUniform4fv", location=2, count=1, value=f32(1, 0.5, -3, 4), start=1100, duration=60)
    a.call("glUniform4fv", location=3, count=32, value=blob(bytes(range(256)) * 2), start=1200, duration=61)
    a.call(
        "glShaderSource", shader=5, count=2, string=strings("void main()\n", "{}"), length=NULL, start=1300, duration=70
    )
    a.call("glPushDebugGroup", source=1, id=1, length=5, message=text("shadow"), start=1350, duration=5)
    a.call("glDrawElements", mode=4, count=36, type=5123, indices=Data(kind=3, pointer=0), start=1400, duration=5000)
    a.call("glPopDebugGroup", start=6450, duration=5)
    a.call("eglSwapBuffers", dpy=0x10, surface=0x20, result=1, start=6500, duration=900)
    a.flush()
    b.tap("dtapNote", code=text("nested"), text=text("a call inside a call"))
    b.call("glClear", mask=256 | 16384, start=1150, duration=10)
    b.call("glGetIntegerv", pname=2884, data=i32(42), start=1250, duration=12)
    b.tap("dtapOrder", order=1)
    b.call("glBindTexture", target=2884, texture=9, start=7000, duration=LONG)
    b.tap("dtapLongDuration", ticks=6_000_000_000)
    a.call("glClearDepth", depth=0.25, start=8000, duration=20)
    a.call("toySeq", seq=1, Name=2, flag=1, start=8100, duration=20)
    a.tap("dtapOrder", order=2)
    a.call("glGetError", result=1280, start=6000, duration=7)
    a.call("glFinish", start=9000)
    return w
