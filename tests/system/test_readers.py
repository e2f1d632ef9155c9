"""Every format of kernel traces: files written by the tests from the text of the format, and what is read of them."""

# ruff: noqa: E501 - metadata and expected rows are easier to read in one line

from __future__ import annotations

import gzip
import json
import struct
import zlib

import duckdb
import pytest

from drawtap.errors import InputError, QueryError, UsageError
from drawtap.system import reader
from drawtap.system.model import build
from kernel_files import (
    JOB_FORMAT,
    LTTNG_METADATA,
    RICH_METADATA,
    PerfData,
    ctf2_trace,
    gpu_packets,
    job_record,
    lttng_packet,
    lttng_trace,
    message,
    packed,
    print_record,
    rich_stream,
    ring_page,
    tracedat6,
    tracedat7,
)


def rows(trace, names=None, fields=None, **limits):
    connection = duckdb.connect()
    connection.register("e", trace.events(names, fields, **limits))
    return connection.execute("SELECT * FROM e").fetchall()


def problems(trace):
    return [(p.kind, p.where, p.count) for p in trace.problems]


# ---- what all of them have in common ----------------------------------------------------------------------------


@pytest.fixture
def ctf(tmp_path):
    return lttng_trace(tmp_path / "trace")


def test_events_of_all_streams_in_order_of_time(ctf):
    with reader.open(ctf) as trace:
        found = rows(trace, ["gpu_job", "gpu_done"], ["cpu", "tid", "seqno", "ring"])
        assert [r[0] for r in found] == sorted(1000 + 10 * i + c for i in range(60) for c in range(2))
        assert found[0] == (1000, "gpu_job", 0, 7, 0, "rcs0")
        assert found[5] == (1021, "gpu_done", 1, 7, 2, None)
        assert {n: t.count for n, t in trace.event_names().items()} == {"gpu_job": 80, "gpu_done": 40}
        assert trace.bounds() == (1000, 1591)
        assert trace.clock.monotonic
        assert trace.clock.epoch_offset_ns == 1700000000000000000
        assert trace.environment["hostname"] == "here"
        assert trace.problems == ()


def test_one_name_has_no_column_of_names(ctf):
    with reader.open(ctf) as trace:
        events = trace.events("gpu_done")
        assert list(events.columns.items()) == [
            ("t", "BIGINT"), ("cpu", "INTEGER"), ("tid", "INTEGER"), ("comm", "VARCHAR"), ("seqno", "UBIGINT"),
        ]  # fmt: skip
        assert rows(trace, "gpu_done", ["event", "t", "seqno"])[0] == (1020, "gpu_done", 2)


def test_fields_by_other_names(ctf):
    with reader.open(ctf) as trace:
        events = trace.events(
            ["gpu_job", "gpu_done"], ["engine=ring|class", "nothing", "who=missing|tid", "a=seqno", "b=seqno"]
        )
        assert dict(events.columns) == {
            "t": "BIGINT", "event": "VARCHAR", "engine": "VARCHAR", "nothing": "BIGINT", "who": "INTEGER", "a": "UBIGINT",
            "b": "UBIGINT",
        }  # fmt: skip
        found = rows(
            trace, ["gpu_job", "gpu_done"], ["engine=ring|class", "nothing", "who=missing|tid", "a=seqno", "b=seqno"]
        )
        assert found[4] == (1020, "gpu_done", None, None, 7, 2, 2)


def test_limits_of_time(ctf):
    with reader.open(ctf) as trace:
        found = rows(trace, None, ["cpu"], begin=1100, end=1120)
        assert [r[0] for r in found] == [1100, 1101, 1110, 1111]
        assert rows(trace, "gpu_job", begin=10_000) == []


def test_names_that_do_not_occur(ctf):
    with reader.open(ctf) as trace:
        assert rows(trace, "sched_switch", ["prev_tid"]) == []
        assert not trace.knows("sched_switch")
        assert trace.knows("gpu_job")
        with pytest.raises(UsageError, match="gpu_job"):
            trace.fields("gpu_jobs")
        with pytest.raises(QueryError, match="two columns"):
            trace.events("gpu_job", ["seqno", "seqno"])
        with pytest.raises(QueryError, match="no field"):
            trace.events("gpu_job", ["x="])


def test_a_closed_trace(ctf):
    trace = reader.open(ctf)
    trace.close()
    with pytest.raises(InputError, match="closed"):
        trace.events("gpu_job")


def test_a_stream_outlives_its_trace(ctf):
    trace = reader.open(ctf)
    events = trace.events("gpu_done", ["seqno"])
    connection = duckdb.connect()
    stream = events.__arrow_c_stream__()
    trace.close()
    import nanoarrow

    assert sum(len(c) for c in nanoarrow.ArrayStream(stream).iter_chunks()) == 40
    connection.close()


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"\x7fELF" + bytes(100), bytes(5000), b"\n\nabc some text of a letter", b"<html></html>"]
)
def test_files_of_other_kinds(tmp_path, content):
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(InputError, match="no kernel trace"):
        reader.open(path)


def test_folders_and_files_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match="no kernel trace"):
        reader.open(tmp_path)
    with pytest.raises(InputError, match="No such file"):
        reader.open(tmp_path / "none")


def test_every_reader_is_documented():
    for name, entry in reader.READERS.items():
        assert entry.help.strip(), name


# ---- CTF ---------------------------------------------------------------------------------------------------------


def test_large_ids_and_full_times(tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "metadata").write_text(LTTNG_METADATA.replace("id = 1; stream_id", "id = 70000; stream_id"))
    t = 1 << 40
    packet = lttng_packet(
        [(t, 70000, struct.pack("<Q", 5)), (t + (1 << 30), 0, struct.pack("<Q", 6) + b"a\0")], extended=True
    )
    (folder / "c").write_bytes(packet)
    with reader.open(folder) as trace:
        assert [r[:2] for r in rows(trace, None, ["seqno"])] == [(t, "gpu_done"), (t + (1 << 30), "gpu_job")]


def test_short_times_run_over(tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "metadata").write_text(LTTNG_METADATA)
    times = [5, (1 << 27) - 1, (1 << 27) + 3, (1 << 27) + (1 << 26), (1 << 28) + 1]
    (folder / "c").write_bytes(lttng_packet([(t, 1, struct.pack("<Q", t)) for t in times]))
    with reader.open(folder) as trace:
        assert rows(trace, "gpu_done", ["seqno"]) == [(t, t) for t in times]


def test_discarded_events_and_missing_packets(tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "metadata").write_text(LTTNG_METADATA)
    payload = struct.pack("<Q", 1)
    data = lttng_packet([(10, 1, payload)], sequence=0) + lttng_packet([(20, 1, payload)], sequence=1, discarded=5)
    data += lttng_packet([(30, 1, payload)], sequence=4, discarded=7)
    (folder / "c").write_bytes(data)
    with reader.open(folder) as trace:
        assert problems(trace) == [("discarded", "c", 0), ("lost", "c", 5), ("lost", "c", 2)]
        lost = trace.problems[1]
        assert (lost.begin, lost.end) == (10, 20)
        assert len(rows(trace, "gpu_done")) == 3


def test_a_packet_that_is_broken_costs_its_rest(tmp_path):
    folder = lttng_trace(tmp_path / "t", cpus=1)
    data = bytearray((folder / "channel0_0").read_bytes())
    data[4096 + 76 : 4096 + 80] = struct.pack("<I", 29)  # an id that is not described
    (folder / "channel0_0").write_bytes(data)
    with reader.open(folder) as trace:
        assert sum(t.count for t in trace.event_names().values()) == 40
        (problem,) = trace.problems
        assert problem.kind == "corrupt"
        assert "unknown id 29" in problem.text


def test_a_file_that_ends_early(tmp_path):
    folder = lttng_trace(tmp_path / "t", cpus=1)
    data = (folder / "channel0_0").read_bytes()
    (folder / "channel0_0").write_bytes(data[: 2 * 4096 + 300])
    with reader.open(folder) as trace:
        assert 40 < sum(t.count for t in trace.event_names().values()) < 60
        assert {p.kind for p in trace.problems} == {"truncated", "corrupt"}


@pytest.mark.parametrize("order", ["le", "be"])
def test_all_of_tsdl(tmp_path, order):
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "metadata").write_text(RICH_METADATA % {"order": order})
    (folder / "stream").write_bytes(rich_stream(order))
    with reader.open(folder) as trace:
        assert trace.problems == ()
        assert not trace.clock.monotonic
        assert trace.clock.epoch_offset_ns == 5_500_000_000
        fields = {f.name: f.type for f in trace.fields("rich")}
        assert fields == {
            "a": "TINYINT", "b": "TINYINT", "level": "USMALLINT", "real": "DOUBLE", "single": "FLOAT", "nested.x": "USMALLINT",
            "nested.inner.y": "USMALLINT", "n": "USMALLINT", "list": "USMALLINT[]", "text": "VARCHAR", "long": "VARCHAR",
            "tag": "USMALLINT", "choice.one": "USMALLINT", "choice.two": "VARCHAR", "end": "VARCHAR",
        }  # fmt: skip
        level = next(f for f in trace.fields("rich") if f.name == "level")
        assert level.labels == {4: "high", 9: "_last"}
        first, second = rows(trace, "rich", list(fields))
        same = (-3, 3, 4, 1.5, -0.25, 11, 12, 3, [7, 8, 9], "ab", "xyz")
        assert first == (1_000_000_000, *same, 1, 500, None, "end")
        assert second == (2_000_000_000, *same, 2, None, "second", "end")
        assert rows(trace, "other:event", ["v"]) == [(2_500_000_000, -2)]


def test_ctf2(tmp_path):
    folder = tmp_path / "t"
    ctf2_trace(folder)
    with reader.open(folder) as trace:
        assert trace.problems == ()
        assert trace.environment["hostname"] == "two"
        assert trace.clock.monotonic
        fields = [f.name for f in trace.fields("two")]
        assert fields == ["_v", "n", "words", "text", "blob", "flag", "maybe", "wide", "either.few", "either.many"]
        first, second = rows(trace, "two", ["cpu", *fields])
        assert first == (100, 3, -132, 2, [10, 20], "hi", b"\1\2\3", False, None, "aé😀", 99, None)
        assert second == (200, 3, 5, 3, [1, 2, 3], "abc", b"\4\5\6", True, 77, "aé😀", None, "many")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/* CTF 1.8 */ trace { major = 1; }; event { name = x; fields := struct { nothing a; }; };", "no type 'nothing'"),
        ("/* CTF 1.8 */ trace { byte_order = le; }; event { fields := struct { integer { size = 999; } a; }; };", "999 bits"),
        ("/* CTF 1.8 */ trace { a = $; };", "not TSDL"),
        ("/* CTF 1.8 */ trace {", "no end"),
        ("/* CTF 1.8 */ trace { }; stream { event.header := struct { integer { size = 8; } id; integer { size = 8; } a[b]; }; };", "refers to 'b'"),
        ("/* CTF 1.8 */ trace {}; " + "struct { " * 60, "nested too deeply"),
        ('{"type": "preamble", "version": 3}', "version 3"),
        ('{"type": "preamble", "version": 2', "broken JSON"),
        ('[{"type": "event-record-class", "id": 1}]', "no data stream class"),
        ('[{"type": "data-stream-class", "packet-context-field-class": {"type": "structure", "member-classes": [{"name": "a", "field-class": "b"}]}}]', "alias 'b'"),
    ],
)  # fmt: skip
def test_broken_metadata(tmp_path, text, message):
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "metadata").write_text(text)
    (folder / "s").write_bytes(bytes(100))
    with pytest.raises(InputError, match=message):
        reader.open(folder)


def test_a_session_of_two_traces(tmp_path):
    lttng_trace(tmp_path / "s" / "kernel", cpus=1)
    lttng_trace(tmp_path / "s" / "ust" / "uid" / "0", cpus=1)
    with reader.open(tmp_path / "s") as trace:
        assert trace.event_names()["gpu_job"].count == 80


# ---- trace.dat ---------------------------------------------------------------------------------------------------


@pytest.fixture
def pages():
    first = ring_page([(1000, job_record(1)), (1500, print_record("hello there"))])
    second = ring_page([((1 << 30) + 5, job_record(2, label="x" * 120)), ((1 << 33), job_record(3))])
    return [first + second, ring_page([(1200, job_record(9, tid=0))], absolute=True)]


EXPECTED_JOB = (1000, 0, 7, "worker", 1, -5, "worker", "rcs0", "draw", [1, 2], True, [1, 2, 3])


@pytest.mark.parametrize("version", [6, 7])
def test_tracedat(tmp_path, pages, version):
    path = tmp_path / "trace.dat"
    path.write_bytes(tracedat6(pages) if version == 6 else tracedat7(pages))
    with reader.open(path) as trace:
        assert trace.problems == ()
        assert trace.clock.monotonic
        fields = ["cpu", "tid", "comm", "seqno", "prio", "event.comm", "ring", "label", "args", "last", "blob"]
        found = rows(trace, "gpu_job", fields)
        assert found[0] == EXPECTED_JOB
        assert [r[0] for r in found] == [1000, 1200, (1 << 30) + 5, 1 << 33]
        assert found[1][1:4] == (1, 0, "<idle>")
        assert found[2][8] == "x" * 120
        assert rows(trace, "print", ["buf"]) == [(1500, "hello there")]


def test_tracedat_of_a_big_endian_machine(tmp_path):
    path = tmp_path / "trace.dat"
    page = ring_page([(1000, job_record(1, order=">")), (1 << 31, job_record(2, order=">"))], order=">")
    path.write_bytes(tracedat6([page], order=">"))
    with reader.open(path) as trace:
        fields = ["cpu", "tid", "comm", "seqno", "prio", "event.comm", "ring", "label", "args", "last", "blob"]
        found = rows(trace, "gpu_job", fields)
        assert found[0] == EXPECTED_JOB
        assert found[1][0] == 1 << 31


def test_options_that_nobody_knows(tmp_path, pages):
    path = tmp_path / "trace.dat"
    # 8 is the number of CPUs, and in Valve's files the processes of threads.
    options = [(4, b"[mono]\0"), (999, b"what" * 9), (8, b"7 6\n0 0\n"), (64, b""), (9, b"3.2\0")]
    path.write_bytes(tracedat6(pages, options=options))
    with reader.open(path) as trace:
        assert rows(trace, "gpu_job", ["pid", "seqno"])[0] == (1000, 6, 1)
    path.write_bytes(tracedat7(pages, unknown=[(77, b"later"), (8, struct.pack("<I", 2))]))
    with reader.open(path) as trace:
        assert trace.event_names()["gpu_job"].count == 4


@pytest.mark.parametrize(("missed", "count"), [(0, 0), (42, 42)])
def test_events_that_the_kernel_dropped(tmp_path, missed, count):
    path = tmp_path / "trace.dat"
    data = ring_page([(1000, job_record(1))]) + ring_page([(9000, job_record(2))], missed=missed)
    path.write_bytes(tracedat6([data]))
    with reader.open(path) as trace:
        (problem,) = trace.problems
        assert (problem.kind, problem.where, problem.count) == ("lost", "CPU 0", count)
        assert (problem.begin, problem.end) == (1000, 9000)


def test_events_without_description_are_skipped_by_their_length(tmp_path):
    path = tmp_path / "trace.dat"
    strange = struct.pack("<HBBi", 999, 0, 0, 7) + bytes(40)
    path.write_bytes(tracedat6([ring_page([(1, strange), (2, job_record(1)), (3, strange)])]))
    with reader.open(path) as trace:
        assert [r[0] for r in rows(trace, "gpu_job")] == [2]
        assert [p.kind for p in trace.problems] == ["unknown"]


def test_tracedat_cut_off(tmp_path, pages):
    path = tmp_path / "trace.dat"
    whole = tracedat6(pages)
    path.write_bytes(whole[: len(whole) - 4096])
    with reader.open(path) as trace:
        assert trace.event_names()["gpu_job"].count == 3
        assert [p.kind for p in trace.problems] == ["truncated"]
    path.write_bytes(whole[:300])
    with pytest.raises(InputError, match="no events"):
        reader.open(path)
    path.write_bytes(b"\x17\x08\x44tracing9\0" + bytes(50))
    with pytest.raises(InputError, match="version 9"):
        reader.open(path)


def test_a_tail_that_is_cut_off_is_said(tmp_path, drm_sched_trace):
    path = tmp_path / "trace.dat"
    whole = drm_sched_trace.read_bytes()
    path.write_bytes(whole)
    with reader.open(path) as trace:
        assert trace.problems == ()
    for cut in (1, 64):  # inside the last section, which has only names
        path.write_bytes(whole[:-cut])
        with reader.open(path) as trace:
            assert [p.kind for p in trace.problems] == ["truncated"]
            assert sum(t.count for t in trace.event_names().values()) == 5656
    for cut in (500, len(whole) // 2):  # where everything stands is behind the end
        path.write_bytes(whole[:-cut])
        with pytest.raises(InputError, match="cut off"):
            reader.open(path)


def test_clocks_of_ftrace(tmp_path, pages):
    path = tmp_path / "trace.dat"
    for option, monotonic in ((b"[local] mono\0", False), (b"local [mono]\0", True), (b"[boot]\0", False)):
        path.write_bytes(tracedat6(pages, options=[(4, option)]))
        with reader.open(path) as trace:
            assert trace.clock.monotonic is monotonic


# ---- perf.data ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["bytes", "pipe"])
def test_perf(tmp_path, form):
    data = PerfData().comm(7, "old").comm(7, "new", 2500)
    data.sample(2000, job_record(1)).sample(3000, job_record(2), cpu=1).sample(1000, job_record(3)).lost(4, 3500)
    path = tmp_path / "perf.data"
    path.write_bytes(getattr(data, form)())
    with reader.open(path) as trace:
        assert trace.clock.monotonic
        found = rows(trace, "gpu_job", ["cpu", "tid", "pid", "comm", "seqno", "ring", "label"])
        assert found == [
            (1000, 0, 7, 6, "old", 3, "rcs0", "draw"),
            (2000, 0, 7, 6, "old", 1, "rcs0", "draw"),
            (3000, 1, 7, 6, "new", 2, "rcs0", "draw"),
        ]
        assert problems(trace) == [("lost", "data", 4)]
        assert form == "pipe" or trace.environment["hostname"] == "machine"


def test_perf_with_a_clock_of_its_own(tmp_path):
    path = tmp_path / "perf.data"
    path.write_bytes(PerfData(clock=None).sample(1, job_record(1)).bytes())
    with reader.open(path) as trace:
        assert not trace.clock.monotonic
        assert "-k CLOCK_MONOTONIC" in trace.clock.note


def test_perf_cut_off(tmp_path):
    path = tmp_path / "perf.data"
    data = PerfData().sample(1, job_record(1)).sample(2, job_record(2))
    path.write_bytes(data.pipe()[:-20])
    with reader.open(path) as trace:
        assert trace.event_names()["gpu_job"].count == 1
        assert [p.kind for p in trace.problems] == ["truncated"]
    path.write_bytes(data.bytes()[:60])
    with pytest.raises(InputError):
        reader.open(path)


# ---- text --------------------------------------------------------------------------------------------------------

TRACE = """# tracer: nop
#
# entries-in-buffer/entries-written: 5/12   #P:2
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
 my prog [x]-123  (    12) [001] d..2.  1234.567890: sched_switch: prev_comm=my prog [x] prev_pid=123 prev_prio=120 prev_state=S ==> next_comm=a=b next_pid=0 next_prio=120
          <idle>-0     (-----) [000] .....  1234.567891: i915_request_queue: dev=0, engine=0:1, ctx=5, seqno=77, flags=0x1
          <...>-55      [000] .....  1234.567892: drm_sched_job: entity=00000000deadbeef, id=3, fence=ffff888101234567, ring=gfx, job count:2, hw job count:1
CPU:1 [LOST 34 EVENTS]
             gl-55      [001]  1234.567900123: kvm_exit: vcpu 0 reason HLT rip 0xfff info1 0x10 info2 0x0
             gl-55      [001]  1234.567901: tracing_mark_write: B|55|frame 3
"""


@pytest.mark.parametrize("html", [False, True])
def test_text_of_ftrace(tmp_path, html):
    path = tmp_path / "trace"
    viewer = "<script>" + "x();\n" * 2000 + "</script>"
    text = (
        f'<!DOCTYPE html>\n<html>\n{viewer}<script class="trace-data">\n{TRACE}</script>\n</html>\n' if html else TRACE
    )
    path.write_text(text)
    with reader.open(path) as trace:
        assert trace.format == "ftrace-text"
        switch = rows(
            trace, "sched_switch", ["cpu", "tid", "pid", "comm", "prev_comm", "prev_pid", "prev_state", "next_comm"]
        )
        assert switch == [(1234567890000, 1, 123, 12, "my prog [x]", "my prog [x]", 123, "S", "a=b")]
        assert rows(trace, "i915_request_queue", ["engine", "ctx", "seqno", "flags"])[0][1:] == ("0:1", 5, 77, 1)
        job = rows(trace, "drm_sched_job", ["comm", "entity", "id", "fence", "ring", "job_count", "hw_job_count"])
        assert job[0][1:] == (None, 0xDEADBEEF, 3, 0xFFFF888101234567, "gfx", 2, 1)
        assert rows(trace, "kvm_exit", ["vcpu", "reason", "rip"]) == [(1234567900123, 0, "HLT", 0xFFF)]
        assert rows(trace, "tracing_mark_write", ["buf"])[0][1] == "B|55|frame 3"
        assert sorted((p.kind, p.count) for p in trace.problems) == [("lost", 7), ("lost", 34)]


def test_lines_that_are_no_events_are_counted(tmp_path):
    path = tmp_path / "trace"
    path.write_text(TRACE + "what is this\nand this\n")
    with reader.open(path) as trace:
        assert "2 lines are no events" in next(p.text for p in trace.problems if p.kind == "unknown")


def test_qemu_log(qemu_log):
    with reader.open(qemu_log) as trace:
        assert trace.event_names()["virtio_gpu_cmd_res_flush"].count == 458
        first = rows(trace, "virtio_gpu_cmd_res_flush", ["tid", "res", "w", "h", "x", "y"])[0]
        assert first == (1795174728192968000, 5272, 2, 1280, 800, 0, 0)
        assert trace.problems == ()


# ---- Perfetto ----------------------------------------------------------------------------------------------------

_BOOT, _MONO = 6, 3


def _snapshot(boot: int, mono: int) -> tuple[int, bytes]:
    clocks = [(1, message((1, _BOOT), (2, boot))), (1, message((1, _MONO), (2, mono)))]
    return 1, message((6, message(*clocks)))


def _perfetto(*packets: tuple[int, bytes]) -> bytes:
    return message(*packets)


def _event(t: int, tid: int, number: int, *fields: tuple[int, int | bytes | str]) -> tuple[int, bytes]:
    return 2, message((1, t), (2, tid), (number, message(*fields)))


@pytest.fixture
def perfetto_packets():
    threads = message((2, message((1, 55), (2, "gl"), (3, 50))))
    job = (1, 0xFFFF888000000010), (2, 0xFFFF888101234567), (3, -1), (4, 9), (5, 2), (6, "gfx")
    generic = message((1, "my_event"), (2, message((1, "a"), (5, 5))), (2, message((1, "s"), (3, "text"))))
    compact = message(
        (5, "gl"), (5, "swapper"), (1, packed([4000, 500])), (2, packed([0, 1])), (3, packed([55, 0])),
        (4, packed([120, 120])), (6, packed([0, 1])), (7, packed([3900])), (8, packed([55])), (9, packed([1])),
        (10, packed([120])), (11, packed([0])),
    )  # fmt: skip
    field = message((1, "level"), (3, 1), (5, 5))
    descriptor = message((1, 70000), (2, message((1, "own_event"), (2, field))), (3, "group"))
    bundle = message(
        (1, 1), _event(2000, 55, 411, *job), _event(2100, 55, 327, (1, "x")), (4, compact), (11, descriptor),
        _event(5000, 0, 70000, (1, -7)),
    )  # fmt: skip
    other = message((1, 0), (2, message((1, 1500), (2, 55), (327, generic))), (3, 1))
    return [_snapshot(1000, 400), (1, message((2, threads))), (1, message((1, bundle))), (1, message((1, other)))]


def test_perfetto(tmp_path, perfetto_packets):
    path = tmp_path / "x.pftrace"
    path.write_bytes(_perfetto(*perfetto_packets))
    with reader.open(path) as trace:
        assert trace.format == "perfetto"
        assert trace.clock.monotonic
        job = rows(trace, "drm_sched_job", ["cpu", "tid", "pid", "comm", "entity", "fence", "hw_job_count", "name"])
        assert job == [(1400, 1, 55, 50, "gl", 0xFFFF888000000010, 0xFFFF888101234567, -1, "gfx")]
        switches = rows(trace, "sched_switch", ["tid", "prev_pid", "prev_comm", "prev_state", "next_pid", "next_comm"])
        assert switches == [(3400, None, None, None, 0, 55, "gl"), (3900, 55, 55, "gl", 1, 0, "swapper")]
        assert rows(trace, "sched_waking", ["woken=event.pid", "comm=event.comm", "target_cpu"]) == [
            (3300, 55, "gl", 1)
        ]
        assert rows(trace, "my_event", ["a", "s"]) == [(900, 5, "text")]
        assert rows(trace, "own_event", ["level"]) == [(4400, -7)]
        assert [(p.kind, p.where) for p in trace.problems] == [("lost", "CPU 0")]


@pytest.fixture
def gpu_trace(tmp_path):
    path = tmp_path / "gpu.pftrace"
    path.write_bytes(gpu_packets())
    return path


def test_perfetto_packets_of_a_gpu_are_events(gpu_trace):
    with reader.open(gpu_trace) as trace:
        assert trace.clock.monotonic
        assert trace.problems == ()
        assert {n: t.count for n, t in trace.event_names().items()} == {
            "gpu_counter": 9, "gpu_log": 1, "gpu_mem_total": 1, "gpu_render_stage": 6, "vulkan_memory": 3,
            "vulkan_object_name": 1, "vulkan_queue_submit": 2,
        }  # fmt: skip
        fields = ["gpu_id", "queue", "stage", "duration_ns", "context", "pid=event.pid", "process", "submission_id"]
        own = (0x77, 50, "game")
        assert rows(trace, "gpu_render_stage", fields) == [
            (519_000, None, "gfx", "pass", 10_000, *own, 1),
            (520_000, None, "gfx", "binning", 2_000, *own, 1),
            (523_000, None, "gfx", "shading", 5_000, *own, 1),
            (529_000, None, "gfx", "pass", 20_000, *own, 2),
            (534_000, None, "gfx", "binning", None, *own, 2),
            (540_000, 1, "copy", "blit", 400, None, None, None, None),
        ]
        assert rows(trace, "gpu_counter", ["name", "value", "unit"])[3:6] == [
            (510_000, "busy", 40.0, "percent"), (510_000, "read", 2.5, "byte/second"), (510_000, "clock", 600.0, "megahertz"),
        ]  # fmt: skip
        assert rows(trace, "vulkan_memory", ["source", "operation", "size", "device_memory", "caller"])[::2] == [
            (501_000, "device memory", "create", 4096, 0xA0, "vkAllocateMemory"),
            (503_000, "device memory", "destroy", 0, 0xA0, "vkAllocateMemory"),
        ]
        assert rows(trace, "vulkan_queue_submit", ["tid=event.tid", "queue", "submission_id", "command_buffers"]) == [
            (510_000, 51, 9, 1, "7"), (520_000, 51, 9, 2, "7")
        ]  # fmt: skip
        assert rows(trace, "vulkan_object_name", ["object_type", "object", "name"]) == [(504_000, 19, 5, "shadows")]
        assert rows(trace, "gpu_log", ["severity", "tag", "message"]) == [(505_000, "warning", "gpu", "too hot")]


def test_what_cannot_be_read_of_a_gpu_is_counted(tmp_path):
    path = tmp_path / "t.pftrace"
    unknown_clock = message((8, 5), (58, 99), (10, 3), (53, message((1, 1), (2, 5))))
    interned = message((8, 5), (52, message((4, 1), (2, message((1, 1), (2, 5))))))
    path.write_bytes(gpu_packets() + message((1, unknown_clock), (1, unknown_clock), (1, interned)))
    with reader.open(path) as trace:
        assert trace.event_names()["gpu_render_stage"].count == 6
        assert [(p.kind, p.count) for p in trace.problems] == [("unread", 2), ("unread", 1)]


def test_interned_names_are_those_of_their_sequence(tmp_path):
    path = tmp_path / "t.pftrace"
    event = message((1, 1), (2, 5), (13, 1))

    def names(name):
        return message((24, message((1, 1), (2, name))))

    packets = [
        message((8, 10), (10, 1), (12, names("a")), (53, event)),
        message((8, 20), (10, 2), (12, names("b")), (53, event)),
        message((8, 30), (10, 1), (53, event)),
        message((8, 40), (10, 1), (13, 1), (53, event)),  # what was interned is forgotten
    ]
    path.write_bytes(message(*((1, p) for p in packets)))
    with reader.open(path) as trace:
        assert [r[1] for r in rows(trace, "gpu_render_stage", ["queue"])] == ["a", "b", "a", None]


def test_render_stages_are_requests(gpu_trace):
    with reader.open(gpu_trace) as trace, build(trace) as model:
        assert model.drivers == ("gpu_memory", "perfetto_gpu")
        assert model.query(
            "SELECT device, engine, label, client, seqno, tid, queued_ns, begin_ns, end_ns, wait_ns FROM requests"
        ).fetchall() == [
            ("gpu0", "gfx", "pass", "game (50)", 1, 51, 510_000, 519_000, 529_000, 9_000),
            ("gpu0", "gfx", "pass", "game (50)", 2, 51, 520_000, 529_000, 549_000, 9_000),
            ("gpu1", "copy", "blit", None, None, None, None, 540_000, 540_400, None),
        ]
        assert model.window == (500_000, 549_000)  # to the end of what lasts longest
        assert model.query("SELECT begin_ns, end_ns, begin_from FROM executions ORDER BY 1").fetchall()[:2] == [
            (519_000, 529_000, "event"), (529_000, 549_000, "event")
        ]  # fmt: skip
        assert model.query("SELECT name, kind, begin_ns, end_ns FROM spans WHERE track = 'gpu0/gfx/stages'").fetchall() == [
            ("binning", "stage", 520_000, 522_000), ("shading", "stage", 523_000, 528_000), ("binning", "mark", 534_000, 534_000)
        ]  # fmt: skip
        counted = "SELECT t_ns, value, unit FROM counters WHERE track = '{}'"
        assert model.query(counted.format("gpu0/busy")).fetchall() == [
            (500_000, 40.0, "percent"), (510_000, 60.0, "percent")
        ]  # fmt: skip
        assert model.query(counted.format("gpu0/clock")).fetchall()[0] == (500_000, 6e8, "Hz")
        assert model.query(counted.format("gpu0/read")).fetchall()[0] == (500_000, 2.5, "byte/second")
        assert model.query(counted.format("process/50/vulkan device memory")).fetchall() == [
            (501_000, 4096.0, "bytes"), (502_000, 5096.0, "bytes"), (503_000, 1000.0, "bytes")
        ]  # fmt: skip
        assert model.query(counted.format("process/50/gpu 0 memory")).fetchall() == [(506_000, 8192.0, "bytes")]
        assert model.query(
            "SELECT device, basis, client, t_ns, bytes FROM memory_use ORDER BY device DESC, t_ns"
        ).fetchall() == [
            ("vulkan", "made", "game (50)", 501_000, 4096),
            ("vulkan", "made", "game (50)", 502_000, 5096),
            ("vulkan", "made", "game (50)", 503_000, 1000),
            ("gpu 0", "total", "game (50)", 506_000, 8192),
        ]
        lacking = dict(model.query("SELECT event, count FROM unmatched WHERE driver = 'perfetto_gpu'").fetchall())
        assert lacking["gpu_counter"] == 3
        assert lacking["gpu_render_stage"] == 1


def test_perfetto_compressed(tmp_path, perfetto_packets):
    path = tmp_path / "x.pftrace"
    plain = _perfetto(*perfetto_packets)
    path.write_bytes(message((1, message((50, zlib.compress(plain))))))
    with reader.open(path) as trace:
        assert trace.event_names()["sched_switch"].count == 2
    path.write_bytes(message((1, message((50, zlib.compress(plain)[:-30])))))
    with reader.open(path) as trace:
        assert "corrupt" in {p.kind for p in trace.problems}


def test_perfetto_without_snapshots(tmp_path, perfetto_packets):
    path = tmp_path / "x.pftrace"
    path.write_bytes(_perfetto(*perfetto_packets[1:])[:-3])
    with reader.open(path) as trace:
        assert not trace.clock.monotonic
        assert {p.kind for p in trace.problems} >= {"truncated", "unknown"}


# ---- the command -------------------------------------------------------------------------------------------------


def test_info(drawtap, ctf):
    answer = drawtap("info", ctf)
    assert answer.code == 0
    assert "gpu_job" in answer.out
    assert "monotonic" in answer.out


def test_a_trace_of_a_gpu_alone_is_shown(drawtap, gpu_trace, tmp_path):
    info = drawtap("info", gpu_trace, "--json")
    assert info.code == 0
    assert json.loads(info.out)["events"] == 23
    figures = drawtap("system", "metrics", gpu_trace, "--json")
    assert figures.code == 0
    engine = next(e for e in json.loads(figures.out)["engines"] if e["engine"] == "gfx")
    assert (engine["jobs"], engine["busy_ns"], engine["mean_wait_ns"]) == (2, 30_000, 9_000)
    page = tmp_path / "gpu.html"
    assert drawtap("report", gpu_trace, "-o", page).code == 0
    assert all(name in page.read_text() for name in ("gfx", "game (50)", "vulkan device memory", "gpu0/busy"))


def test_info_of_something_else(drawtap, tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(b"\0\1\2 no trace of anything")
    answer = drawtap("info", path)
    assert answer.code == 4
    assert "no trace of the kernel of a known kind" in answer.err
    assert "tracedat" in answer.err
    path.write_bytes(gzip.compress(b"no"))
    assert "gunzip" in drawtap("info", path).err
    assert drawtap("info", tmp_path / "none").code == 4


def test_formats_are_read():
    from drawtap.system import eventformat

    found = eventformat.parse(JOB_FORMAT)
    assert found.name == "gpu_job"
    assert found.id == 300
    assert [f.name for f in found.fields] == ["seqno", "prio", "comm", "ring", "label", "args", "last", "blob"]
    assert found.place("common_pid") == (4, 4)
    assert eventformat.parse("nothing") is None
