"""Write kernel traces from the texts of their formats alone: CTF, trace.dat 6 and 7, perf.data, Perfetto."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# ---- CTF ---------------------------------------------------------------------------------------------------------


class Bits:
    """Bits one behind the other, as CTF lays them out in both byte orders."""

    def __init__(self, *, big: bool = False) -> None:
        self.big = big
        self.bits: list[int] = []  # in the order of the stream: for little-endian the lowest of a byte first

    def align(self, bits: int) -> Bits:
        while len(self.bits) % bits:
            self.bits.append(0)
        return self

    def put(self, value: int, size: int, align: int = 1) -> Bits:
        self.align(align)
        digits = [value >> i & 1 for i in range(size)]
        self.bits += reversed(digits) if self.big else digits
        return self

    def raw(self, data: bytes) -> Bits:
        self.align(8)
        for byte in data:
            digits = [byte >> i & 1 for i in range(8)]
            self.bits += reversed(digits) if self.big else digits
        return self

    def string(self, text: str) -> Bits:
        return self.raw(text.encode() + b"\0")

    def bytes(self) -> bytes:
        self.align(8)
        out = bytearray()
        for at in range(0, len(self.bits), 8):
            digits = self.bits[at : at + 8]
            out.append(sum(d << (7 - i if self.big else i) for i, d in enumerate(digits)))
        return bytes(out)


LTTNG_METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 5; align = 1; signed = false; } := uint5_t;
trace {
  major = 1; minor = 8; byte_order = le;
  packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; };
};
env { hostname = "here"; domain = "kernel"; tracer_name = "lttng-modules"; };
clock { name = "monotonic"; description = "Monotonic Clock"; freq = 1000000000; offset = 1700000000000000000; };
typealias integer { size = 27; align = 1; signed = false; map = clock.monotonic.value; } := uint27_clock_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := uint64_clock_t;
struct event_header_compact {
  enum : uint5_t { compact = 0 ... 30, extended = 31 } id;
  variant <id> {
    struct { uint27_clock_t timestamp; } compact;
    struct { uint32_t id; uint64_clock_t timestamp; } extended;
  } v;
} align(8);
stream {
  id = 0;
  packet.context := struct {
    uint64_clock_t timestamp_begin; uint64_clock_t timestamp_end; uint64_t content_size; uint64_t packet_size;
    uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id;
  };
  event.header := struct event_header_compact;
  event.context := struct { integer { size = 32; align = 8; signed = 1; } _tid; };
};
event { name = "gpu_job"; id = 0; stream_id = 0; fields := struct { uint64_t _seqno; string _ring; }; };
event { name = "gpu_done"; id = 1; stream_id = 0; fields := struct { uint64_t _seqno; }; };
"""


def lttng_packet(
    events: Sequence[tuple[int, int, bytes]],
    *,
    cpu: int = 0,
    sequence: int = 0,
    discarded: int = 0,
    tid: int = 7,
    size: int = 4096,
    extended: bool = False,
) -> bytes:
    """A packet of `LTTNG_METADATA`: events are (time, id, payload)."""
    body = b""
    for t, number, payload in events:
        if extended:
            body += struct.pack("<BIQ", 31, number, t)
        else:
            body += struct.pack("<I", (t << 5 & 0xFFFFFFFF) | number)
        body += struct.pack("<i", tid) + payload
    begin, end = (events[0][0], events[-1][0]) if events else (0, 0)
    content = 24 + 52 + len(body)
    header = struct.pack("<I16sI", 0xC1FC1FC1, bytes(16), 0)
    header += struct.pack("<QQQQQQI", begin, end, content * 8, size * 8, sequence, discarded, cpu)
    assert content <= size
    return (header + body).ljust(size, b"\0")


def lttng_trace(folder: Path, *, packets: int = 3, events: int = 20, cpus: int = 2) -> Path:
    """A small trace of `LTTNG_METADATA`: CPU c has event i at 1000 + 10 i + c, every third a gpu_done."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metadata").write_text(LTTNG_METADATA)
    for cpu in range(cpus):
        data = b""
        for p in range(packets):
            rows = []
            for k in range(events):
                i = p * events + k
                payload = struct.pack("<Q", i) + (b"" if i % 3 == 2 else b"rcs0\0")
                rows.append((1000 + 10 * i + cpu, int(i % 3 == 2), payload))
            data += lttng_packet(rows, cpu=cpu, sequence=p)
        (folder / f"channel0_{cpu}").write_bytes(data)
    return folder


RICH_METADATA = """/* CTF 1.8 */
typealias integer { size = 16; align = 16; signed = false; byte_order = %(order)s; } := u16;
typealias integer { size = 3; align = 1; signed = true; byte_order = %(order)s; } := s3;
typedef integer { size = 8; align = 8; encoding = UTF8; signed = true; } chars;
trace { major = 1; minor = 8; byte_order = %(order)s; };
clock { name = cycles; freq = 2000000; offset_s = 5; offset = 1000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.cycles.value; } := ts_t;
stream { event.header := struct { ts_t timestamp; u16 id; }; };
event {
  name = "rich"; id = 3;
  fields := struct {
    s3 _a; s3 _b;
    enum : u16 { "low" = 1 ... 3, high, _last = 9 } _level;
    floating_point { exp_dig = 11; mant_dig = 53; align = 8; } _real;
    floating_point { exp_dig = 8; mant_dig = 24; align = 32; } _single;
    struct { u16 x; struct { u16 y; } inner; } _nested;
    u16 _n;
    u16 _list[_n];
    chars _text[5];
    chars _long[_n];
    struct { u16 k; string s; } _items[2];
    enum : u16 { one = 1, two = 2 } _tag;
    variant <_tag> { u16 one; string two; } _choice;
    string _end;
  };
};
event { name = "other:event"; id = 4; fields := struct { integer { size = 64; signed = true; align = 1; } v; }; };
"""


def rich_stream(order: str) -> bytes:
    """The stream of `RICH_METADATA`: two events `rich`, one `other:event`."""
    bits = Bits(big=order == "be")
    for number in (1, 2):
        bits.align(16)  # of the header: its largest field's
        bits.put(2_000_000 * number, 64, 8).put(3, 16, 16)
        bits.align(32)  # of the fields
        bits.put(0b101, 3).put(0b011, 3).put(4, 16, 16)
        real = struct.unpack(">Q", struct.pack(">d", 1.5))[0]
        single = struct.unpack(">I", struct.pack(">f", -0.25))[0]
        bits.put(real, 64, 8).put(single, 32, 32)
        bits.put(11, 16, 16).put(12, 16, 16).put(3, 16, 16)
        for v in (7, 8, 9):
            bits.put(v, 16, 16)
        bits.raw(b"ab\0de").raw(b"xyz")
        for k in (1, 2):
            bits.put(k, 16, 16).string(f"item{k}")
        bits.put(number, 16, 16)
        if number == 1:
            bits.put(500, 16, 16)
        else:
            bits.string("second")
        bits.string("end")
    bits.align(16)
    bits.put(5_000_000, 64, 8).put(4, 16, 16).put(-2 & (1 << 64) - 1, 64)
    return bits.bytes()


# ---- the kernel's ring buffer and trace.dat ----------------------------------------------------------------------

PAGE_FORMAT = """	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:8;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:16;	size:4080;	signed:1;
"""
_COMMON = """format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

"""
JOB_FORMAT = (
    "name: gpu_job\nID: 300\n"
    + _COMMON
    + """	field:u64 seqno;	offset:8;	size:8;	signed:0;
	field:s32 prio;	offset:16;	size:4;	signed:1;
	field:char comm[8];	offset:20;	size:8;	signed:0;
	field:__data_loc char[] ring;	offset:28;	size:4;	signed:0;
	field:__rel_loc char[] label;	offset:32;	size:4;	signed:0;
	field:unsigned int args[2];	offset:36;	size:8;	signed:0;
	field:bool last;	offset:44;	size:1;	signed:0;
	field:__data_loc u8[] blob;	offset:45;	size:4;	signed:0;

print fmt: "seqno=%llu", REC->seqno
"""
)
PRINT_FORMAT = (
    "name: print\nID: 5\n"
    + _COMMON
    + """	field:unsigned long ip;	offset:8;	size:8;	signed:0;
	field:char buf[];	offset:16;	size:0;	signed:0;

print fmt: "%s", REC->buf
"""
)


CTF2 = """\x1e{"type": "preamble", "version": 2}
\x1e{"type": "field-class-alias", "name": "u32", "field-class": {"type": "fixed-length-unsigned-integer", "length": 32,
 "byte-order": "little-endian", "alignment": 8}}
\x1e{"type": "trace-class", "environment": {"hostname": "two"}, "packet-header-field-class": {"type": "structure",
 "member-classes": [{"name": "m", "field-class": {"type": "fixed-length-unsigned-integer", "length": 32, "byte-order":
 "little-endian", "alignment": 8, "roles": ["packet-magic-number"]}}]}}
\x1e{"type": "clock-class", "id": "c", "name": "monotonic", "frequency": 1000000000,
 "offset-from-origin": {"seconds": 2}}
\x1e{"type": "data-stream-class", "default-clock-class-id": "c", "packet-context-field-class": {"type": "structure",
 "member-classes": [
 {"name": "size", "field-class": {"type": "fixed-length-unsigned-integer", "length": 32, "byte-order": "little-endian",
 "alignment": 8, "roles": ["packet-total-length"]}},
 {"name": "used", "field-class": {"type": "fixed-length-unsigned-integer", "length": 32, "byte-order": "little-endian",
 "alignment": 8, "roles": ["packet-content-length"]}},
 {"name": "cpu_id", "field-class": "u32"}]},
 "event-record-header-field-class": {"type": "structure", "member-classes": [
 {"name": "id", "field-class": {"type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "little-endian",
 "alignment": 8, "roles": ["event-record-class-id"]}},
 {"name": "t", "field-class": {"type": "fixed-length-unsigned-integer", "length": 64, "byte-order": "little-endian",
 "alignment": 8, "roles": ["default-clock-timestamp"]}}]}}
\x1e{"type": "event-record-class", "id": 7, "name": "two", "payload-field-class": {"type": "structure",
 "member-classes": [
 {"name": "_v", "field-class": {"type": "variable-length-signed-integer"}},
 {"name": "n", "field-class": {"type": "variable-length-unsigned-integer"}},
 {"name": "words", "field-class": {"type": "dynamic-length-array", "element-field-class": "u32",
 "length-field-location": {"origin": "event-record-payload", "path": ["n"]}}},
 {"name": "text", "field-class": {"type": "dynamic-length-string", "length-field-location": {"path": ["n"]}}},
 {"name": "blob", "field-class": {"type": "static-length-blob", "length": 3}},
 {"name": "flag", "field-class": {"type": "fixed-length-boolean", "length": 8, "byte-order": "little-endian",
 "alignment": 8}},
 {"name": "maybe", "field-class": {"type": "optional", "selector-field-location": {"path": ["flag"]},
 "field-class": "u32"}},
 {"name": "wide", "field-class": {"type": "static-length-string", "encoding": "utf-16le", "length": 8}},
 {"name": "either", "field-class": {"type": "variant", "selector-field-location": {"path": ["n"]}, "options": [
 {"name": "few", "selector-field-ranges": [[0, 2]], "field-class": "u32"},
 {"name": "many", "selector-field-ranges": [[3, 9]], "field-class": {"type": "null-terminated-string"}}]}}]}}
"""


def ctf2_trace(folder: Path) -> Path:
    """Write a trace with two events of every kind of field that CTF 2 has; return its stream."""
    folder.mkdir()
    (folder / "metadata").write_text(CTF2)
    wide = "aé😀".encode("utf-16le").ljust(8, b"\0")
    one = struct.pack("<BQ", 7, 100) + b"\xfc\x7e" + b"\x02" + struct.pack("<II", 10, 20) + b"hi" + b"\1\2\3" + b"\0"
    one += wide + struct.pack("<I", 99)
    two = struct.pack("<BQ", 7, 200) + b"\x05" + b"\x03" + struct.pack("<III", 1, 2, 3) + b"abc" + b"\4\5\6" + b"\1"
    two += struct.pack("<I", 77) + wide + b"many\0"
    body = one + two
    head = struct.pack("<IIII", 0xC1FC1FC1, 2048 * 8, (16 + len(body)) * 8, 3)
    (folder / "s").write_bytes((head + body).ljust(2048, b"\0"))
    return folder / "s"


def job_record(seqno: int, *, tid: int = 7, ring: str = "rcs0", label: str = "draw", order: str = "<") -> bytes:
    """A record of `JOB_FORMAT`."""
    ring_bytes, label_bytes, blob = ring.encode() + b"\0", label.encode() + b"\0", bytes([1, 2, 3])
    at = 49
    ring_at, label_at, blob_at = at, at + len(ring_bytes), at + len(ring_bytes) + len(label_bytes)
    record = struct.pack(order + "HBBi", 300, 0, 0, tid) + struct.pack(order + "Qi", seqno, -5) + b"worker\0\0"
    record += struct.pack(order + "I", len(ring_bytes) << 16 | ring_at)
    record += struct.pack(order + "I", len(label_bytes) << 16 | (label_at - 36))
    record += struct.pack(order + "II", seqno, 2 * seqno) + b"\1"
    record += struct.pack(order + "I", len(blob) << 16 | blob_at)
    return record + ring_bytes + label_bytes + blob


def print_record(text: str, *, tid: int = 7, order: str = "<") -> bytes:
    return struct.pack(order + "HBBi", 5, 0, 0, tid) + struct.pack(order + "Q", 0xFFFF) + text.encode() + b"\0"


def ring_page(
    events: Sequence[tuple[int, bytes]],
    *,
    order: str = "<",
    page: int = 4096,
    missed: int | None = None,
    absolute: bool = False,
) -> bytes:
    """A page of the ring buffer: (time, record); `missed`: events lost before it, 0 for nobody knows how many."""
    start = events[0][0] if events else 0
    out, now = b"", start
    for t, record in events:
        delta = t - now
        if absolute:
            out += struct.pack(order + "II", _head(31, t & 0x7FFFFFF, order), t >> 27)
            delta = 0
        elif delta >= 1 << 27:
            out += struct.pack(order + "II", _head(30, delta & 0x7FFFFFF, order), delta >> 27)
            delta = 0
        now = t
        padded = record.ljust((len(record) + 3) // 4 * 4, b"\0")
        if len(padded) <= 28 * 4:
            out += struct.pack(order + "I", _head(len(padded) // 4, delta, order)) + padded
        else:
            out += struct.pack(order + "II", _head(0, delta, order), len(padded) + 4) + padded
    assert len(out) <= page - 16
    commit = len(out)
    tail = b""
    if missed is not None:
        commit |= 1 << 31
        if missed:
            commit |= 1 << 30
            tail = struct.pack(order + "Q", missed)
    return (struct.pack(order + "QQ", start, commit) + out + tail).ljust(page, b"\0")


def _head(kind: int, delta: int, order: str) -> int:
    return delta << 5 | kind if order == "<" else kind << 27 | delta


def tracedat6(
    cpus: Sequence[bytes],
    *,
    formats: Sequence[str] = (JOB_FORMAT,),
    ftrace: Sequence[str] = (PRINT_FORMAT,),
    options: Sequence[tuple[int, bytes]] = ((4, b"local global [mono] boot\0"),),
    cmdlines: str = "7 worker\n",
    order: str = "<",
) -> bytes:
    """trace.dat version 6."""
    out = b"\x17\x08\x44tracing6\0" + bytes([order == ">", 8]) + struct.pack(order + "I", 4096)
    out += _formats(formats, ftrace, order)
    out += struct.pack(order + "I", 0) * 2
    out += struct.pack(order + "Q", len(cmdlines)) + cmdlines.encode()
    out += struct.pack(order + "I", len(cpus)) + b"options  \0"
    for number, data in options:
        out += struct.pack(order + "HI", number, len(data)) + data
    out += struct.pack(order + "H", 0) + b"flyrecord\0"
    at = (len(out) + 16 * len(cpus) + 4095) // 4096 * 4096
    table, data = b"", b""
    for pages in cpus:
        table += struct.pack(order + "QQ", at + len(data), len(pages))
        data += pages
    return (out + table).ljust(at, b"\0") + data


def _formats(formats: Sequence[str], ftrace: Sequence[str], order: str) -> bytes:
    page = PAGE_FORMAT.encode()
    out = b"header_page\0" + struct.pack(order + "Q", len(page)) + page
    out += b"header_event\0" + struct.pack(order + "Q", 4) + b"none"
    out += struct.pack(order + "I", len(ftrace)) + _sized(ftrace, order)
    return (
        out + struct.pack(order + "I", 1) + b"gpu\0" + struct.pack(order + "I", len(formats)) + _sized(formats, order)
    )


def _sized(texts: Iterable[str], order: str) -> bytes:
    return b"".join(struct.pack(order + "Q", len(t.encode())) + t.encode() for t in texts)


def tracedat7(
    cpus: Sequence[bytes], *, formats: Sequence[str] = (JOB_FORMAT,), unknown: Sequence[tuple[int, bytes]] = ()
) -> bytes:
    """trace.dat version 7, not compressed."""
    out = b"\x17\x08\x44tracing7\0" + bytes([0, 8]) + struct.pack("<I", 4096) + b"none\0\0"
    hole = len(out)
    out += bytes(8)
    places = {}

    def section(number: int, data: bytes) -> None:
        nonlocal out
        places[number] = len(out)
        out += struct.pack("<HHIQ", number, 0, 0, len(data)) + data

    both = _formats(formats, (PRINT_FORMAT,), "<")
    split = both.index(b"none") + 4
    end = split + 4 + 8 + len(PRINT_FORMAT.encode())
    section(16, both[:split])
    section(17, both[split:end])
    section(18, both[end:])
    section(21, struct.pack("<Q", 9) + b"7 worker\n")
    buffer_at = len(out)
    out += struct.pack("<HHIQ", 3, 0, 0, 0)
    at = (len(out) + 4095) // 4096 * 4096
    out = out.ljust(at, b"\0")
    described = struct.pack("<Q", buffer_at) + b"\0mono\0" + struct.pack("<II", 4096, len(cpus))
    for cpu, pages in enumerate(cpus):
        described += struct.pack("<IQQ", cpu, len(out), len(pages))
        out += pages
    options = b""
    for number, data in [*unknown, (3, described), *((n, struct.pack("<Q", p)) for n, p in places.items())]:
        options += struct.pack("<HI", number, len(data)) + data
    options += struct.pack("<HIQ", 0, 8, 0)
    where = len(out)
    out += struct.pack("<HHIQ", 0, 0, 0, len(options)) + options
    return out[:hole] + struct.pack("<Q", where) + out[hole + 8 :]


# ---- perf.data ---------------------------------------------------------------------------------------------------

_SAMPLE_TYPE = 1 | 2 | 4 | 128 | 256 | 1024 | 1 << 16  # ip tid time cpu period raw identifier


@dataclass
class PerfData:
    """A perf.data file with the events of `JOB_FORMAT`."""

    records: bytes = b""
    clock: int | None = 1
    ids: tuple[int, ...] = (501, 502)
    formats: Sequence[str] = (JOB_FORMAT,)
    comms: list[tuple[int, str]] = field(default_factory=list)

    def sample(self, t: int, record: bytes, *, cpu: int = 0, tid: int = 7, pid: int = 6) -> PerfData:
        raw = struct.pack("<I", len(record)) + record
        raw = raw.ljust((len(raw) + 7) // 8 * 8, b"\0")
        raw = struct.pack("<I", len(raw) - 4) + raw[4:]
        body = struct.pack("<QQIIQIIQ", self.ids[0], 0x1234, pid, tid, t, cpu, 0, 1) + raw
        self.records += struct.pack("<IHH", 9, 1, 8 + len(body)) + body
        return self

    def _trailer(self, t: int) -> bytes:
        return struct.pack("<IIQIIQ", 6, 7, t, 0, 0, self.ids[0])

    def comm(self, tid: int, name: str, t: int = 0) -> PerfData:
        body = struct.pack("<II", 6, tid) + name.encode().ljust(16, b"\0") + self._trailer(t)
        self.records += struct.pack("<IHH", 3, 0, 8 + len(body)) + body
        return self

    def lost(self, count: int, t: int) -> PerfData:
        body = struct.pack("<QQ", self.ids[0], count) + self._trailer(t)
        self.records += struct.pack("<IHH", 2, 0, 8 + len(body)) + body
        return self

    def _attribute(self) -> bytes:
        flags = 1 << 18 | (1 << 25 if self.clock is not None else 0)
        head = struct.pack("<IIQQQQQ", 2, 112, 300, 1, _SAMPLE_TYPE, 0, flags)
        return head.ljust(92, b"\0") + struct.pack("<i", self.clock or 0) + bytes(16)

    def _tracing(self) -> bytes:
        head = b"\x17\x08\x44tracing0.6\0\0\x08" + struct.pack("<I", 4096)
        return head + _formats(self.formats, (PRINT_FORMAT,), "<") + bytes(4) * 2

    def bytes(self) -> bytes:
        """The file as perf writes it where it can seek."""
        ids = struct.pack(f"<{len(self.ids)}Q", *self.ids)
        attributes = self._attribute()
        ids_at = 104
        attrs_at = ids_at + len(ids)
        data_at = attrs_at + len(attributes) + 16
        attrs_size = len(attributes) + 16
        head = b"PERFILE2" + struct.pack("<QQQQ", 104, attrs_size, attrs_at, attrs_size)
        head += struct.pack("<QQQQ", data_at, len(self.records), 0, 0)
        head += struct.pack("<QQQQ", 1 << 1 | 1 << 3, 0, 0, 0)
        out = head + ids + attributes + struct.pack("<QQ", ids_at, len(ids)) + self.records
        tracing, host = self._tracing(), struct.pack("<I", 8) + b"machine\0"
        features_at = len(out) + 32
        table = struct.pack("<QQQQ", features_at, len(tracing), features_at + len(tracing), len(host))
        return out + table + tracing + host

    def pipe(self) -> bytes:
        """The stream as perf writes it to a pipe."""
        out = b"PERFILE2" + struct.pack("<Q", 16)
        body = self._attribute() + struct.pack(f"<{len(self.ids)}Q", *self.ids)
        out += struct.pack("<IHH", 64, 0, 8 + len(body)) + body
        tracing = self._tracing()
        out += struct.pack("<IHHI", 66, 0, 12, len(tracing)) + tracing.ljust((len(tracing) + 7) // 8 * 8, b"\0")
        return out + self.records


# ---- protocol buffers --------------------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def message(*fields: tuple[int, int | bytes | str]) -> bytes:
    """A message: numbers become varints, text and bytes what has a length."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def packed(values: Iterable[int]) -> bytes:
    return b"".join(varint(v) for v in values)


def fixed64(number: int, value: int | float) -> bytes:
    """A field of a message with eight bytes: an integer, or a double."""
    return varint(number << 3 | 1) + struct.pack("<d" if isinstance(value, float) else "<Q", value)


GPU_CLOCK = 200  # a clock of a producer: 1,000,000 at CLOCK_BOOTTIME 500,000


def gpu_packets() -> bytes:
    """A trace of Perfetto that holds what producers tell of a GPU, and nothing of the kernel.

    CLOCK_BOOTTIME is CLOCK_MONOTONIC and 1,000. The clock of render stages has a snapshot of its own. Two submissions
    of the process `game` (50, thread 51): the first has a render pass with two stages inside, the second one stage. A
    queue and a stage of the older form have their names in a packet that comes after them.
    """

    def packet(*fields: tuple[int, int | bytes]) -> bytes:
        return message((1, message(*fields)))

    def clocks(*pairs: tuple[int, int]) -> bytes:
        return packet((6, message(*((1, message((1, number), (2, t))) for number, t in pairs))))

    def stage(t: int, number: int, duration: int, name: int, submission: int, *more: tuple[int, int | str]) -> bytes:
        event = message(
            (1, number), *([(2, duration)] if duration else []), (13, 1), (14, name), (5, 0x77), (10, submission), *more
        )
        return packet((8, t), (10, 1), (58, GPU_CLOCK), (13, 2), (53, event))

    def submit(t: int, submission: int) -> bytes:
        return packet((8, t), (65, message((2, message((1, 30), (2, 50), (3, 51), (4, 9), (5, 7), (6, submission))))))

    def counter(t: int, *values: bytes) -> bytes:
        return packet((8, t), (52, message(*((2, value) for value in values))))

    def allocation(t: int, operation: int, size: int, handle: int) -> bytes:
        return packet(
            (8, t), (10, 1), (62, message((1, 3), (2, operation), (4, 50), (6, size), (7, 4)) + fixed64(17, handle))
        )

    specifications = message(
        (24, message((1, 1), (2, "gfx"))), (24, message((1, 2), (2, "pass"))), (24, message((1, 3), (2, "binning"))),
        (23, message((1, 0x77), (2, 50), (3, 2))), (5, message((1, 4), (2, "vkAllocateMemory"))),
    )  # fmt: skip
    older = message((1, 90), (2, 400), (3, 0), (4, 1), (11, 1))
    named = message((7, message((2, message((1, "copy"))), (3, message((1, "?"))), (3, message((1, "blit"))))))
    specs = message(
        (1, message((1, 1), (2, "busy"), (7, 37))),
        (1, message((1, 2), (2, "read"), (7, 7), (8, 22))),
        (1, message((1, 3), (2, "clock"), (7, 15))),
    )
    object_name = message((1, message((1, 50), (2, 0x77), (3, 19), (4, 5), (5, "shadows"))))
    return b"".join(
        (
            clocks((6, 401_000), (3, 400_000)),
            clocks((GPU_CLOCK, 1_000_000), (6, 500_000)),
            packet((2, message((1, message((1, 50), (3, "/usr/bin/game")))))),
            packet((10, 1), (13, 1), (12, specifications)),
            submit(511_000, 1),
            stage(1_020_000, 10, 10_000, 2, 1, (9, 0x55)),
            stage(1_021_000, 11, 2_000, 3, 1),
            stage(1_024_000, 12, 5_000, 3, 1, (17, "shading")),
            submit(521_000, 2),
            stage(1_030_000, 13, 20_000, 2, 2),
            stage(1_035_000, 14, 0, 3, 2),
            packet((8, 541_000), (53, older)),
            packet((8, 541_000), (53, named)),
            packet((8, 500_000), (52, message((1, specs)))),
            counter(501_000, message((1, 1), (2, 0)), message((1, 2), (2, 0)), message((1, 3), (2, 500))),
            counter(511_000, message((1, 1), (2, 40)), message((1, 2)) + fixed64(3, 2.5), message((1, 3), (2, 600))),
            counter(521_000, message((1, 1), (2, 60)), message((1, 2), (2, 7)), message((1, 3), (2, 700))),
            allocation(502_000, 1, 4096, 0xA0),
            allocation(503_000, 1, 1000, 0xA1),
            allocation(504_000, 2, 0, 0xA0),
            packet((8, 505_000), (65, object_name)),
            packet((8, 506_000), (63, message((1, 3), (2, "gpu"), (3, "too hot")))),
            packet((8, 507_000), (71, message((1, 0), (2, 50), (3, 8192)))),
        )
    )
