"""Hostile kernel traces under AddressSanitizer and UndefinedBehaviorSanitizer: cut, flipped, with sizes that lie.

Python makes the plan of a whole file; `fuzz_system.cc` then reads hundreds of damaged ones with it. Damage of
metadata is Python's to bear: `test_damaged_metadata`.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import zlib
from pathlib import Path

import pytest

import sanitized
from drawtap.errors import DrawtapError, InputError
from drawtap.system import native, reader
from kernel_files import (
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
from shared import once, steps

ROOT = Path(__file__).resolve().parents[2]

TEXT = """# tracer: nop
# entries-in-buffer/entries-written: 5/12   #P:2
 my prog [x]-123  (    12) [001] d..2.  1234.567890: sched_switch: prev_comm=x prev_pid=1 ==> next_comm=a=b next_pid=0
          <idle>-0     (-----) [000] .....  1234.567891: i915_request_queue: dev=0, engine=0:1, ctx=5, seqno=77
CPU:1 [LOST 34 EVENTS]
     gl-55      [001]  1234.567900123: drm_sched_job: fence=ffff8881012345, ring=gfx, job count:2, hw job count:1
   a:1-55      [001]  1234.5679: sched_waking: name:7 [120] CPU:001
"""
QEMU = "5272@1795174720.790766:virtio_gpu_features virgl 0\n5@1.2:virtio_gpu_cmd_res_flush res 0x2, w 1280, h 800\n" * 3


@pytest.fixture(scope="session")
def fuzz_system(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = [
        *sorted((ROOT / "native/system").glob("*.cc")),
        ROOT / "native/core/arrow.cc",
        ROOT / "tests/native/fuzz_system.cc",
    ]
    libraries = ("zstd", "z", "dl")
    return once(
        tmp_path_factory,
        "fuzz_system",
        lambda folder: sanitized.build(folder / "fuzz_system", sources, libraries=libraries),
    )


def perfetto() -> bytes:
    compact = message(
        (5, "gl"), (1, packed([4000, 500])), (2, packed([0, 1])), (3, packed([55, 0])), (6, packed([0, 0])),
        (7, packed([3900])), (8, packed([55])), (11, packed([0])),
    )  # fmt: skip
    generic = message((1, "my"), (2, message((1, "a"), (5, 5))))
    descriptor = message((1, 70000), (2, message((1, "own"), (2, message((1, "level"), (3, 1), (5, 5))))))
    job = message((1, 2000), (2, 55), (411, message((1, 5), (4, 9), (6, "gfx"))))
    bundle = message(
        (1, 1), (2, job), (4, compact), (11, descriptor), (2, message((1, 7), (2, 1), (327, generic))),
        (2, message((1, 8), (2, 1), (70000, message((1, 3))))),
    )  # fmt: skip
    clocks = message((1, message((1, 6), (2, 1000))), (1, message((1, 3), (2, 400))))
    packets = message((1, message((6, clocks))), (1, message((1, bundle))))
    return packets + message((1, message((50, zlib.compress(packets)))))


def tiny_lttng(folder: Path) -> Path:
    lttng_trace(folder, packets=1, cpus=1)
    rows = [(1000 + i, i % 2, i.to_bytes(8, "little") + (b"" if i % 2 else b"rcs0\0")) for i in range(6)]
    data = lttng_packet(rows, size=256) + lttng_packet(rows, size=256, extended=True, sequence=3, discarded=2)
    (folder / "channel0_0").write_bytes(data)
    return folder / "channel0_0"


def tiny_rich(folder: Path) -> Path:
    folder.mkdir()
    (folder / "metadata").write_text(RICH_METADATA % {"order": "be"})
    (folder / "stream").write_bytes(rich_stream("be"))
    return folder / "stream"


def small_page() -> bytes:
    events = [(1000, job_record(1)), (1 << 30, print_record("hello")), ((1 << 30) + 9, job_record(2, label="x" * 120))]
    return ring_page(events, missed=3)


def _written(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


MAKERS = {
    "lttng": lambda f: tiny_lttng(f / "t"),
    "rich": lambda f: tiny_rich(f / "t"),
    "ctf2": lambda f: ctf2_trace(f / "t"),
    "tracedat6": lambda f: _written(f / "d", tracedat6([small_page(), ring_page([(5, job_record(3))], absolute=True)])),
    "tracedat7": lambda f: _written(f / "d", tracedat7([small_page()])),
    "perf": lambda f: _written(
        f / "d", PerfData().comm(7, "a").sample(2, job_record(1)).lost(4, 3).sample(1, job_record(3)).bytes()
    ),
    "text": lambda f: _written(f / "d", TEXT),
    "qemu": lambda f: _written(f / "d", QEMU),
    "perfetto": lambda f: _written(f / "d", perfetto()),
    "perfetto-gpu": lambda f: _written(f / "d", gpu_packets()),
}


CTF = ("lttng", "rich", "ctf2")


def prepare(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Path, Path]:
    """Write a trace and the plan that Python makes of it; return format, plan, file."""
    file = MAKERS[kind](folder)
    plans = []
    whole = native.NativeTrace.__init__

    def keep(self: native.NativeTrace, form: str, plan: native.Plan) -> None:
        plans.append((form, plan.bytes()))
        whole(self, form, plan)

    monkeypatch.setattr(native.NativeTrace, "__init__", keep)
    reader.open(file.parent if kind in CTF else file).close()
    form, plan = plans[0]
    (folder / "plan").write_bytes(plan)
    return form, folder / "plan", file


def run(program: Path, made: tuple[str, Path, Path], mode: str, step: int) -> dict[str, int]:
    environment = os.environ | {"ASAN_OPTIONS": sanitized.OPTIONS}
    command = [str(program), *map(str, made), mode, str(step)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-500:]
    words = done.stdout.split()
    return {words[i]: int(words[i + 1]) for i in range(0, len(words), 2)}


def _step(file: Path, runs: int) -> int:
    # An odd number, so that all places of words are met.
    return max(1, file.stat().st_size // runs) | 1


@pytest.mark.parametrize("kind", MAKERS)
def test_damaged_events(fuzz_system: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = prepare(kind, tmp_path, monkeypatch)
    whole = run(fuzz_system, made, "read", 1)
    assert whole["opened"] == 1
    assert whole["rows"] > 0
    for mode, runs in (("truncate", 150), ("flip", 120), ("words", 80)):
        runs = steps(runs // 10, runs)
        seen = run(fuzz_system, made, mode, _step(made[2], runs))
        assert seen["runs"] >= min(runs, steps(8, 40))
        assert seen["opened"] > 0


def _use(path: Path) -> None:
    # What drawtap does with any trace: it opens or says why not, and what it has can be read.
    try:
        trace = reader.open(path)
    except DrawtapError:
        return
    with trace:
        import nanoarrow

        for chunk in nanoarrow.ArrayStream(trace.events()).iter_chunks():
            len(chunk)
        assert isinstance(trace.problems, tuple)


@pytest.mark.parametrize("kind", ["tracedat6", "tracedat7", "perf", *CTF])
def test_damaged_metadata(tmp_path: Path, kind: str) -> None:
    file = MAKERS[kind](tmp_path)
    ctf = kind in CTF
    target = file.parent / "metadata" if ctf else file
    whole = target.read_bytes()
    chance = random.Random(7)
    end = len(whole) if ctf else min(len(whole), 4200)
    for turn in range(150):
        data = bytearray(whole)
        if turn % 3 == 0:
            del data[chance.randrange(end) :]
        elif turn % 3 == 1:
            data[chance.randrange(end)] = chance.choice((0, 1, 127, 128, 255, ord("9"), ord("{"), ord(";")))
        else:
            at = chance.randrange(end)
            data[at : at + chance.choice((1, 4, 8))] = chance.choice(
                (b"\xff" * 8, b"\0" * 8, b"99999999999", b"[n]", b"")
            )
        target.write_bytes(data)
        _use(file.parent if ctf else file)


def _laughs_json() -> str:
    number = {"type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "little-endian"}
    found = [{"type": "preamble", "version": 2}, {"type": "field-class-alias", "name": "a0", "field-class": number}]
    for i in range(1, 30):
        members = [{"name": f"m{j}", "field-class": f"a{i - 1}"} for j in range(10)]
        structure = {"type": "structure", "member-classes": members}
        found.append({"type": "field-class-alias", "name": f"a{i}", "field-class": structure})
    found.append({"type": "data-stream-class", "packet-context-field-class": "a29"})
    return json.dumps(found)


def _laughs_tsdl() -> str:
    lines = ["/* CTF 1.8 */ trace { major = 1; byte_order = le; };", "typealias integer { size = 8; } := a0;"]
    for i in range(1, 30):
        lines.append(f"struct a{i} {{ " + " ".join(f"{'struct ' * (i > 1)}a{i - 1} m{j};" for j in range(10)) + " };")
    return "\n".join([*lines, "stream { packet.context := struct a29; };"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"type": "field-class-alias", "name": "a", "field-class": "a"}]', "alias 'a'"),
        (_laughs_json(), "more fields"),
        (_laughs_tsdl(), "more fields"),
    ],
)
def test_metadata_that_describes_more_than_there_is(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "metadata").write_text(text)
    (tmp_path / "s").write_bytes(bytes(100))
    with pytest.raises(InputError, match=message):
        reader.open(tmp_path)
