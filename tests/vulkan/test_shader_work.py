"""The estimated shader work of draws and dispatches of Vulkan: instructions of a run times runs."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path

from drawtap.analysis.spirv import Entry, entries
from drawtap.trace.trace import open_trace
from shared import run_drawtap
from vulkan.conftest import environment

_INSTRUCTIONS = "SELECT entry_points[1], code FROM shaders ORDER BY seq"


def asked(trace: Path, count: int = 100) -> list[dict[str, object]]:
    done = run_drawtap("shaders", trace, "--draws", str(count), "--json")
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, object]] = json.loads(done.stdout)
    return rows


def test_dispatches_are_known_from_their_calls(draws: Path) -> None:
    """draws.c dispatches one workgroup of 8 invocations, twice in each of two submissions."""
    with open_trace(draws / "dispatch.dtap") as trace:
        [(_, code)] = trace.sql(_INSTRUCTIONS).fetchall()
    expected = entries(code)["compute", "main"].instructions * 8
    rows = asked(draws / "dispatch.dtap")
    assert [(row["compute"], row["total"], row["share"], row["note"]) for row in rows] == [
        (expected, expected, 25, None)
    ] * 4


def test_draws_need_a_measurement(fates: Path, tmp_path: Path) -> None:
    """Each draw of fates.c has three vertices; its fragments are those that the device counts."""
    trace_file = shutil.copyfile(fates / "pass.dtap", tmp_path / "t.dtap")
    with open_trace(trace_file) as trace:
        each = {bytes(code): stage.split()[0] for stage, code in trace.sql(_INSTRUCTIONS).fetchall()}
        [vertex] = [entries(code)["vertex", "main"].instructions for code, stage in each.items() if stage == "vertex"]
        fragment = {entries(code)["fragment", "main"].instructions for code, stage in each.items() if stage != "vertex"}
    before = asked(trace_file)
    assert len(before) == 14
    assert {(row["vertex"], row["fragment"], row["total"]) for row in before} == {(3 * vertex, None, None)}
    assert all("vk:pipeline" in str(row["note"]) for row in before)
    done = run_drawtap("profile", trace_file, "-m", "vk:pipeline/*", "--per", "draw", environment=environment())
    assert done.returncode == 0, done.stderr
    after = asked(trace_file)
    with open_trace(trace_file) as trace:
        counted = {
            (seq, submit): int(value) for seq, submit, value in trace.sql(
                "SELECT seq, submit_seq, value FROM executed_metrics WHERE metric LIKE '%/fragment_shader_invocations'"
            ).fetchall()
        }  # fmt: skip
    assert len(after) == 14  # clears of attachments are counted too
    for row in after:
        runs = counted[row["seq"], row["submit_seq"]]
        assert row["fragment"] in {runs * instructions for instructions in fragment}
        assert (row["vertex"], row["total"], row["note"]) == (3 * vertex, 3 * vertex + int(str(row["fragment"])), None)
    assert [row["total"] for row in asked(trace_file, 3)] == [row["total"] for row in after[:3]]
    assert sum(float(str(row["share"])) for row in after) > 99.9


def test_entry_points_count_what_they_call() -> None:
    """Two entry points of one module: one calls a function twice, the other not at all."""
    words = [0x07230203, 0x10000, 0, 90, 0]

    def put(operation: int, *operands: int | str) -> None:
        body: list[int] = []
        for one in operands:
            text = one.encode() if isinstance(one, str) else b""
            body += struct.unpack(f"<{len(text) // 4 + 1}I", text + bytes(4 - len(text) % 4)) if text else [int(one)]
        words.extend([(len(body) + 1) << 16 | operation, *body])

    put(15, 0, 10, "first")
    put(15, 1, 20, "second")
    put(16, 20, 26, 4)  # OutputVertices
    put(54, 1, 10, 0, 2), put(248, 11), put(57, 1, 12, 30), put(57, 1, 13, 30), put(253), put(56)
    put(54, 1, 20, 0, 2), put(248, 21), put(253), put(56)
    put(54, 1, 30, 0, 2), put(55, 1, 31), put(248, 32), put(129, 1, 33, 31, 31), put(254, 33), put(56)
    code = struct.pack(f"<{len(words)}I", *words)
    # The called function has an addition and a return: two instructions, twice, beside two calls and a return.
    assert entries(code) == {("vertex", "first"): Entry(7), ("tess_control", "second"): Entry(1, 4)}
    assert entries(code[:-4]) and entries(b"no SPIR-V") == {} == entries(b"")
