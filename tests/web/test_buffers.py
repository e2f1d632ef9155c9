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


def touched(recording, seq, name, first, end):
    """Return writers and readers as tuples of call, function, way, first and last byte, certain."""
    answer = recording.buffers.touched(seq, 1, name, first, end)
    return [tuple(row) for row in answer["writers"]["rows"]], [tuple(row) for row in answer["readers"]["rows"]]


def listed(recording, sql):
    with drawtap.open(recording.path) as trace:
        return [row[0] for row in trace.sql(sql).fetchall()]


def test_a_range_has_the_uploads_that_reach_it_and_the_draws_whose_block_is_there(recordings):
    recording = Recording(recordings / "modern.dtap")
    try:
        last = listed(recording, "SELECT max(seq) FROM calls")[0] - 3
        storage = listed(recording, "SELECT seq FROM glNamedBufferData WHERE size = 1024")
        uploads = listed(recording, 'SELECT seq FROM glNamedBufferSubData WHERE "offset" = 256 ORDER BY seq DESC')
        assert len(uploads) > 3
        wrote, _ = touched(recording, last, 7, 256, 257)
        assert [row[0] for row in wrote] == uploads + storage
        assert {row[2:] for row in wrote} == {("upload", 256, 271, "yes"), ("new storage", 0, 1023, "yes")}
        assert [row[0] for row in touched(recording, last, 7, 272, 512)[0]] == storage
        assert [row[0] for row in touched(recording, uploads[1] - 1, 7, 256, 257)[0]] == uploads[2:] + storage
        # The block is bound to these bytes by the call behind the upload; the next frame binds others.
        draws = listed(recording, f"SELECT seq FROM glDrawTransformFeedback WHERE seq > {uploads[1]} ORDER BY seq")
        _, read = touched(recording, uploads[1], 7, 256, 257)
        assert read == [(draws[0], "glDrawTransformFeedback", "uniform block 1", 256, 271, "maybe")]
        with pytest.raises(UsageError, match="are no range"):
            touched(recording, last, 7, 5, 5)
    finally:
        recording.close()


def test_a_range_has_captures_and_stores_of_shaders_as_what_may_be(recordings):
    recording = Recording(recordings / "modern.dtap")
    try:
        moved = listed(recording, "SELECT seq FROM draws WHERE discard ORDER BY seq")  # into buffers 2 and 1, in turns
        wrote, _ = touched(recording, moved[2], 2, 24, 32)
        assert [row[0] for row in wrote if row[2] == "transform feedback 0"] == [moved[2], moved[0]]
        assert {row[5] for row in wrote if row[0] in moved} == {"maybe"}
        _, read = touched(recording, moved[2], 1, 24, 32)
        assert (moved[2], "glDrawArrays", "attribute 0, vertices 3", 24, 31, "yes") in read
    finally:
        recording.close()
    recording = Recording(recordings / "pipeline.dtap")
    try:
        dispatches = listed(recording, "SELECT seq FROM draws WHERE kind = 'dispatch' ORDER BY seq")
        wrote, _ = touched(recording, dispatches[0], 3, 0, 4)
        assert wrote[0][0] == dispatches[0]
        assert wrote[0][2:] == ("stored by a shader, storage block 0", 0, None, "maybe")
        assert wrote[-1][2] == "new storage"
    finally:
        recording.close()


def test_a_range_has_the_vertices_and_indices_of_draws(recordings):
    recording = Recording(recordings / "pipeline.dtap")
    try:
        at = listed(recording, "SELECT min(seq) FROM draws")[0]
        far, indexed = "SELECT seq FROM glDrawArrays WHERE first = 10", "SELECT seq FROM glDrawElementsBaseVertex"
        _, read = touched(recording, at, 1, 88, 96)  # vertex 11
        assert [row for row in read if row[5] == "yes"] == [
            (seq, "glDrawArrays", "attribute 0, vertices 11", 88, 95, "yes") for seq in listed(recording, far)
        ]
        # Indices choose vertices: the call does not tell which.
        assert [row[0] for row in read if row[5] == "maybe"] == listed(recording, indexed)
        _, read = touched(recording, at, 2, 4, 6)
        assert read == [
            (seq, "glDrawElementsBaseVertex", "indices", 0, 11, "yes") for seq in listed(recording, indexed)
        ]
    finally:
        recording.close()


def test_a_range_has_stores_through_mappings_and_copies(recordings):
    recording = Recording(recordings / "transfers.dtap")
    try:
        last = listed(recording, "SELECT max(seq) FROM calls")[0] - 3
        wrote, _ = touched(recording, last, 2, 64, 68)
        where = 'buffer = 2 AND "offset" < 68 AND "offset" + data_bytes > 64'
        stored = listed(recording, f"SELECT DISTINCT seq FROM map_writes WHERE {where}")
        assert {row[0] for row in wrote if row[2] == "stored through a mapping"} == set(stored)
        assert len(stored) >= 3
        beside, _ = touched(recording, last, 2, 600, 604)
        assert {row[1] for row in beside} == {"glBufferData"}
        copies = listed(recording, "SELECT seq FROM glCopyBufferSubData ORDER BY seq")
        wrote, _ = touched(recording, last, 5, 0, 4)
        assert [row[0] for row in wrote if row[2] == "copy"] == copies[::-1]
        _, read = touched(recording, copies[1] - 1, 4, 0, 1024)
        assert {row[0] for row in read if row[2:] == ("copy", 0, 1023, "yes")} & set(copies)
        assert touched(recording, copies[1] - 1, 4, 1020, 1024)[1]
        assert not [row for row in touched(recording, copies[1] - 1, 4, 1024, 1028)[1] if row[2] == "copy"]
        # How many bytes of a buffer glReadPixels fills is not in its arguments.
        wrote, _ = touched(recording, last, 3, 0, 4)
        reads = listed(recording, "SELECT seq FROM glReadPixels ORDER BY seq DESC")
        assert [row[0] for row in wrote if row[3:] == (None, None, "maybe")] == reads
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
        page.page.get_by_role("button", name="bytes", exact=True).click()
        page.page.wait_for_selector("#panel .hex")
        page.page.get_by_label("first byte of the range").fill("256")
        page.page.get_by_label("last byte of the range").fill("259")
        page.page.get_by_role("button", name="who wrote and reads them").click()
        page.wait("place.range === '256-259'")
        page.reads("Who wrote bytes 256 to 259")
        assert page.page.locator(".hex mark").count() == 4
        found = page.page.get_by_role("region", name="who wrote and reads the bytes")
        rows = found.locator("table").first.locator("tbody tr")
        assert rows.count() == 2
        assert rows.first.inner_text().split()[:3] == [str(writes[1]), "glNamedBufferSubData", "upload"]
        assert page.fits()
        # A selection of bytes chooses them: the second to the third of the first line.
        page.page.evaluate("""() => {
          const box = document.querySelector(".hex"), range = document.createRange();
          range.setStart(box, 3);
          range.setEnd(box, 7);
          getSelection().removeAllRanges();
          getSelection().addRange(range);
          box.dispatchEvent(new PointerEvent("pointerup", {bubbles: true}));
        }""")
        page.wait("place.range === '1-2'")
        page.page.evaluate("drawtap.store.set({ fields: 'at 0 every 256; float4 tint' })")
        page.page.locator("table.fields td.pick").nth(1).click()
        page.wait("place.range === '256-271'")
        page.reads("Who wrote bytes 256 to 271")
        rows.first.get_by_role("link").click()
        page.wait(f"place.call === {writes[1]}")
        assert page.fits()
    finally:
        running.close()
