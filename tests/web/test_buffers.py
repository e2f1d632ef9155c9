"""Buffers at a call: the bytes are those of the player's snapshots, fields those that programs declare."""

from __future__ import annotations

import json
import re
import struct

import numpy as np
import pytest

import drawtap
from drawtap.errors import UsageError
from drawtap.replay import player
from drawtap.web.recording import Recording
from shared import BROWSER
from web.conftest import Server


@pytest.fixture(scope="module", params=["modern", "pipeline"])
def viewed(request, recordings):
    recording = Recording(recordings / f"{request.param}.dtap")
    yield recording
    recording.close()


def asked(recording, seq, name, **more):
    said = {"form": "", "against": None, "first": 0, "count": 100, **more}
    answer = recording.buffers.window(seq, 1, name, **said)
    length = struct.unpack_from("<I", answer)[0]
    return json.loads(answer[4 : 4 + length]), answer[4 + length :]


def test_bytes_are_those_of_snapshots(viewed, tmp_path):
    snapshots = ["--snapshots", f"{tmp_path}/s", "--snapshot-at", "draws", "--attachments", "buffers"]
    player.play(viewed.path, snapshots)
    found = {}
    for path in sorted(tmp_path.glob("*.bin")):
        seq, name = re.search(r"call0*(\d+)-.*-buffer(\d+)\.bin$", path.name).groups()
        found[int(seq), int(name)] = path.read_bytes()
    assert len(found) > 6
    for (seq, name), content in found.items():
        assert viewed.buffers.content(seq, 1, name) == content


def test_changed_bytes_are_marked_against_the_write_before_and_a_pin(recordings):
    recording = Recording(recordings / "modern.dtap")
    try:
        with drawtap.open(recording.path) as trace:
            writes = [seq for (seq,) in trace.sql("SELECT seq FROM glNamedBufferSubData ORDER BY seq")]
            captured = [s for (s,) in trace.sql("SELECT seq FROM draws WHERE discard ORDER BY seq")]
        head, data = asked(recording, writes[2] + 1, 7, count=1024)
        assert set(writes[:3]) <= set(head["writes"])
        assert head["against"] == writes[2] - 1
        old, new = (np.frombuffer(recording.buffers.content(s, 1, 7), "u1") for s in (writes[2] - 1, writes[2] + 1))
        assert data[:1024] == new.tobytes()
        assert np.array_equal(np.frombuffer(data[1024:], "u1") != 0, old != new)
        assert head["differs"] == int((old != new).sum()) > 0
        assert sum(end - begin for begin, end in head["ranges"]) == head["differs"]
        head, _ = asked(recording, writes[2] + 1, 7, against=writes[0])
        old = np.frombuffer(recording.buffers.content(writes[0], 1, 7), "u1")
        assert head["differs"] == int((old != new).sum())
        # Vertices that a draw captured are a write of that draw.
        captures = [seq for seq in asked(recording, captured[-1], 2)[0]["writes"] if seq in captured]
        assert len(captures) >= 2
    finally:
        recording.close()


def test_fields_are_those_that_the_program_declares(recordings):
    recording = Recording(recordings / "pipeline.dtap")
    try:
        with drawtap.open(recording.path) as trace:
            dispatch, indexed = (
                trace.sql(f"SELECT min(seq) FROM draws WHERE {which}").fetchall()[0][0]
                for which in ("kind = 'dispatch'", "indexed")
            )
        uses = dict(asked(recording, indexed, 1)[0]["uses"])
        assert uses == {"vertices: p": "at 0 every 8\nfloat2 p @0"}
        head, _ = asked(recording, indexed, 1, form=uses["vertices: p"], first=3, count=2)
        assert (head["all"], head["rows"]) == (19, [[[-1, -1]], [[0, -1]]])
        assert dict(asked(recording, indexed, 2)[0]["uses"]) == {"indices (ushort)": "every 2\nushort index"}
        text = recording.buffers.csv(indexed, 1, 2, "every 2\nushort index").decode()
        assert text.split() == ["row,index", *(f"{i},{v}" for i, v in enumerate((0, 1, 2, 2, 1, 3)))]
        head, _ = asked(recording, dispatch, 3)
        (form,) = dict(head["uses"]).values()
        assert form == "at 0 every 4\nuint n @0"
        head, _ = asked(recording, dispatch, 3, form=form)
        assert head["rows"] == [[1]] * 32
        assert [row for row, _ in head["changed"]] == list(range(32))
        with pytest.raises(UsageError, match="there is no buffer 77"):
            asked(recording, dispatch, 77)
        head, _ = asked(recording, dispatch, 3, form="at 120 once; float4 far")
        assert "needs 136 bytes" in head["why"]
    finally:
        recording.close()


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_the_panel_shows_fields_bytes_and_changes_by_keys(opened, recordings):
    running = Server(recordings / "modern.dtap")
    try:
        with drawtap.open(recordings / "modern.dtap") as trace:
            writes = [seq for (seq,) in trace.sql("SELECT seq FROM glNamedBufferSubData ORDER BY seq")]
            draw = trace.sql(f"SELECT min(seq) FROM draws WHERE seq > {writes[1]}").fetchall()[0][0]
        page = opened(f"call={draw}", of=running, viewport={"width": 900, "height": 800}, color_scheme="dark")
        page.press("5")
        page.reads("Objects of the run")
        page.page.locator("tr", has_text="buffer").filter(has_text="1 KiB").get_by_role("link").first.click()
        page.wait("place.tab === 'buffer' && place.object === 'buffer/1/7'")
        page.reads("tint")
        assert "vec4" in page.text("#panel table")
        page.page.get_by_role("button", name="bytes", exact=True).click()
        page.wait("place.fields === 'bytes'")
        page.until("document.querySelectorAll('.hex b').length > 0")
        marked = page.page.locator(".hex b").count()
        assert f"{marked} bytes differ" in page.text("#panel")
        page.page.locator("summary", has_text="format").click()
        page.page.fill("#panel textarea", "at 0 every 256; hex32 first")
        page.press("Control+Enter")
        page.reads("0x3f")
        page.page.fill("#panel textarea", "flot x")
        page.press("Control+Enter")
        page.reads("there is no type 'flot'")
        page.press("u")
        assert page.fits()
    finally:
        running.close()
