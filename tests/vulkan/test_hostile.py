"""Trees of structures that lie: whatever a content has, reading it ends, and what is whole is shown."""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
from pathlib import Path

import pytest

import sanitized
from drawtap.trace.edit import edit
from native import test_core
from shared import once, run_drawtap, steps
from vulkan.conftest import MODES, Record, environment
from writer import Data, Writer, blob, table

ROOT = Path(__file__).resolve().parents[2]

SIGNATURES = table("""\
T  Leaf  8  -  struct  -
M  a  0  uint32_t  value  u32  -  -  -  -
M  b  4  float  value  f32  -  -  -  -
T  Node  48  7:STYPE_NODE  struct  Node
M  sType  0  VkStructureType  value  i32  -  -  -  -
M  pNext  8  const void *  chain  -  -  -  -  -
M  count  16  uint32_t  value  u32  -  -  -  -
M  leaves  24  const Leaf *  tree[]  Leaf  -  -  -  -
M  name  32  const char *  string  -  -  -  -  -
M  same  40  const Node *  tree  Node  -  -  -  -
F  1  vk  vkMake  2  0  -  -
P  pInfo  const Node *  ptr  8:0  -  -
D  8:1  tree:Node  in  -
""")


def node(chain: int = 0, leaves: int = 0, name: int = 0, same: int = 0, stype: int = 7) -> bytes:
    return struct.pack("<iiQIIQQQ", stype, 0, chain, 1, 0, leaves, name, same)


def shown(tmp_path: Path, content: bytes, *, long: bool = False) -> tuple[str, dict[str, object]]:
    """Return the call as text, and its tree as a row has it."""
    w = Writer(SIGNATURES)
    w.thread().call("vkMake", start=1000, duration=5, pInfo=blob(content) if long else Data(content)).flush()
    path = w.write(tmp_path / "hostile.dtap")
    text, rows = run_drawtap("list", path), run_drawtap("sql", path, 'SELECT pInfo FROM "vkMake"', "--json")
    assert (text.returncode, rows.returncode) == (0, 0), text.stderr + rows.stderr
    return text.stdout, json.loads(rows.stdout)[0]["pInfo"]


def test_a_tree(tmp_path: Path) -> None:
    # one node at 8; leaves at 64; a name at 88; another node in the chain at 104
    content = struct.pack("<Q", 1) + node(chain=104, leaves=64, name=88) + struct.pack("<QIfIf", 2, 5, 0.5, 6, 1.5)
    content += struct.pack("<Q", 3) + b"one\0\0\0\0\0" + struct.pack("<Q", 1) + node(same=1)
    text, tree = shown(tmp_path, content)
    assert 'leaves = {{a = 5, b = 0.5}, {a = 6, b = 1.5}}, name = "one", same = NULL' in text
    assert "pNext = {Node{sType = STYPE_NODE, count = 1, leaves = NULL, name = NULL, same = /* not read */}}" in text
    assert tree["leaves"] == [{"a": 5, "b": 0.5}, {"a": 6, "b": 1.5}]
    assert (tree["sType"], tree["name"], tree["same"]) == ("STYPE_NODE", "one", None)
    chained = {"sType": "STYPE_NODE", "count": 1, "leaves": None, "name": None, "same": None}
    assert json.loads(str(tree["pNext"])) == [chained]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        struct.pack("<Q", 1),
        struct.pack("<Q", 2**63) + node(),
        struct.pack("<Q", 1) + node(chain=8, same=8),  # it leads to itself
        struct.pack("<Q", 1) + node(leaves=40, name=48, same=16),  # into itself
        struct.pack("<Q", 1) + node(leaves=2**64 - 1, name=2**63, same=2**40),
        struct.pack("<Q", 1) + node(leaves=64) + struct.pack("<Q", 2**64 - 1) + bytes(16),
        struct.pack("<Q", 1) + node(chain=64, stype=9) + struct.pack("<QiiQ", 1, 99, 0, 64),
    ],
)  # fmt: skip
def test_contents_that_lie(content: bytes, tmp_path: Path) -> None:
    shown(tmp_path, content)


def test_many_ways_to_the_same_structure(tmp_path: Path) -> None:
    """Two ways from each of a hundred structures to the next: 2 to the 100th ways through a content of 6 kB."""
    content, at = struct.pack("<Q", 1), 8
    for _ in range(100):
        content += node(chain=at + 56, same=at + 56) + struct.pack("<Q", 1)
        at += 56
    text, _ = shown(tmp_path, content + node(), long=True)
    assert len(text) < 1 << 20


def test_contents_by_chance(tmp_path: Path) -> None:
    chance = random.Random(7)
    for _ in range(20):
        words = [chance.choice([0, 1, 7, 8, 16, 40, 64, 2**31, 2**64 - 1, chance.randrange(200)]) for _ in range(24)]
        shown(tmp_path, struct.pack("<24Q", *words), long=chance.random() < 0.5)


def test_many_ways_to_the_same_text(tmp_path: Path) -> None:
    """A chain of a thousand structures that all lead to the same 64 kB: 64 MB, if each of them were shown."""
    count, size = 1000, 1 << 16
    text_at = 56 * count + 16
    content = b""
    for i in range(count):
        content += struct.pack("<Q", 1) + node(chain=8 + 56 * (i + 1) if i + 1 < count else 0, name=text_at)
    text, tree = shown(tmp_path, content + bytes(8) + struct.pack("<Q", size) + b"x" * size, long=True)
    assert len(text) < 4 << 20
    assert len(str(tree["pNext"])) < 4 << 20


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reader, the writer of C source and the editor's checks, built with AddressSanitizer and UBSan."""
    return once(tmp_path_factory, "fuzz_core", test_core.build)


@pytest.mark.sample(2)
@pytest.mark.parametrize("mode", MODES)
def test_recordings_with_words_changed_by_chance(
    reader: Path, draws: Path, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C source and the checks of an edit: a count, an offset, a handle or a type that lies is refused or written."""
    monkeypatch.setenv("FUZZ_EXPORT", str(tmp_path))
    count = steps(150, 3000)
    counts = test_core.run(reader, "chance", draws / f"{mode}.dtap", count, seed=MODES.index(mode))
    assert counts["runs"] == counts["opened"] == count
    assert count // 5 < counts["rows"] < count  # recordings that became C source: not all, and not none
    assert (tmp_path / "frame_list.h").exists()


PLANNER = (
    *(
        "channels",
        "copier",
        "copies",
        "counting",
        "descriptors",
        "device",
        "dispatches",
        "history",
        "layouts",
        "pixel_plan",
        "pixels",
    ),
    *("passes", "pixels_read", "question", "resolves", "snapshots", "texels", "variants", "walk"),
)


@pytest.mark.exhaustive
def test_plans_of_a_pixels_history_by_chance(tmp_path: Path) -> None:
    """Whatever a program's passes, views, pipelines and commands have, the plan reads no byte outside of them."""
    native, generated = ROOT / "native/player", ROOT / "build/native/native/player/play-vk"
    sources = (
        *(native / f"vulkan/{name}.cc" for name in PLANNER),
        *(native / f"metrics/{name}.cc" for name in ("measure", "pixel_events")),
        generated / "vulkan_commands.cc",
        ROOT / "tests/vulkan/planner.cc",
    )
    # The linker leaves out what no plan calls, and so the needs of that.
    program = sanitized.build(
        tmp_path / "planner", sources, own=("-ffunction-sections", "-fno-sanitize=vptr"), link=("-Wl,--gc-sections",),
        includes=(generated, native / "vulkan", ROOT / "native/mirror"),
    )  # fmt: skip
    count = steps(4000, 200_000)
    done = subprocess.run(
        [program, str(count)], capture_output=True, text=True, env=os.environ | {"ASAN_OPTIONS": sanitized.OPTIONS}
    )
    assert done.returncode == 0, done.stderr[-6000:]
    plans, events = map(int, done.stdout.split())
    assert count // 20 < plans < count  # submissions that would be copied: not all, and not none
    assert events > plans


def test_recordings_that_are_cut_off(
    reader: Path, draws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUZZ_EXPORT", str(tmp_path))
    path, step = draws / "pass.dtap", steps(1999, 97)
    counts = test_core.run(reader, "truncate", path, step)
    assert counts["runs"] == len(range(0, path.stat().st_size, step))
    assert counts["opened"] > counts["runs"] * 0.9


@pytest.mark.parametrize(
    ("presents", "refusal"),
    [
        (True, "vkQueuePresentKHR: it waits for a semaphore that no call before it signals"),
        (False, "submitted work waits for a timeline semaphore's value that no call before this one signals"),
    ],
)
def test_a_wait_for_a_value_that_nobody_signals_is_refused(
    presents: bool, refusal: str, past: Path, tmp_path: Path
) -> None:
    """A submission of each frame signals the frame's value of a timeline. The next one waits for it before it draws."""
    with edit(past / "fresh.dtap") as editor:
        last = editor.trace.sql('SELECT seq FROM "vkQueueSubmit" ORDER BY seq DESC LIMIT 2').fetchall()
        [presented] = editor.trace.sql('SELECT max(seq) FROM "vkQueuePresentKHR"').fetchone()
        editor.drop([last[1][0]] if presents else [last[1][0], presented])
        editor.save(tmp_path / "cut.dtap")
    played = run_drawtap("replay", tmp_path / "cut.dtap", environment={**environment(), "DISPLAY": ""})
    assert played.returncode == 4, played.stderr
    assert refusal in played.stderr


def _without(recording: Path, name: str, cut: Path) -> Path:
    """Write the recording without the first call of this function."""
    with edit(recording) as editor:
        editor.drop([*editor.trace.sql(f'SELECT min(seq) FROM "{name}"').fetchone()])
        editor.save(cut)
    return cut


def test_a_value_of_work_that_does_not_begin_ends_no_wait(record: Record, tmp_path: Path) -> None:
    """Work waits for 1, which the host signals, and then gives 2, which is more."""
    cut = _without(record("timeline") / "timeline.dtap", "vkSignalSemaphore", tmp_path / "cut.dtap")
    played = run_drawtap("replay", cut, environment=environment())
    assert played.returncode == 4, played.stderr
    assert "waits for a timeline semaphore's value that no call before this one signals" in played.stderr


def test_a_wait_for_an_event_that_nobody_sets_ends(record: Record, tmp_path: Path) -> None:
    recording = record("events") / "events.dtap"
    assert run_drawtap("replay", recording, environment=environment()).returncode == 0
    cut = _without(recording, "vkSetEvent", tmp_path / "cut.dtap")
    played = run_drawtap("replay", cut, environment={**environment(), "DRAWTAP_LONGEST_WAIT": "1"})
    assert played.returncode == 3, played.stderr
    assert "submitted work that waits for an event has not ended after 1 s" in played.stderr


def test_values_that_the_host_signals_end_waits(record: Record) -> None:
    played = run_drawtap("replay", record("timeline") / "timeline.dtap", environment=environment())
    assert played.returncode == 0, played.stderr


@pytest.mark.parametrize(
    ("dropped", "waiting"), [("vkAcquireNextImageKHR", "vkQueueSubmit"), ("vkQueueSubmit", "vkQueuePresentKHR")]
)
def test_a_wait_for_a_semaphore_that_nobody_signals_is_refused(
    dropped: str, waiting: str, past: Path, tmp_path: Path
) -> None:
    """Present waits for what the submission signals, and that one for the window's image: each needs the other."""
    with edit(past / "fresh.dtap") as editor:
        [presented] = editor.trace.sql('SELECT max(seq) FROM "vkQueuePresentKHR"').fetchone()
        [seq] = editor.trace.sql(f'SELECT max(seq) FROM "{dropped}" WHERE seq < {presented}').fetchone()
        editor.drop([seq])
        editor.save(tmp_path / "cut.dtap")
    played = run_drawtap("replay", tmp_path / "cut.dtap", environment={**environment(), "DISPLAY": ""})
    assert played.returncode == 4, played.stderr
    assert f"{waiting}: it waits for a semaphore that no call before it signals" in played.stderr
