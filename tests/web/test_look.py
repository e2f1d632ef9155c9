"""Pixels and the server: parked players that look find the same as a player of every call."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

import drawtap
from drawtap.analysis.held import HeldContent, Part
from drawtap.errors import UsageError
from drawtap.replay.compare import decode_attachment
from drawtap.replay.look import pixel_history
from drawtap.replay.pool import Pool
from drawtap.replay.warm import Warm
from drawtap.view.ktx import ktx
from drawtap.web.recording import Recording


def test_histories_by_parked_players_are_those_of_every_call(recordings, tmp_path):
    with drawtap.open(recordings / "fbo_chain.dtap") as trace:
        frame = trace.frames[len(trace.frames) - 2]
        found = trace.sql(
            f"SELECT seq FROM draws WHERE kind = 'draw' AND seq >= {frame.first_seq} ORDER BY seq LIMIT 4"
        )
        draws = [seq for (seq,) in found.fetchall()]
        pool = Pool(trace)
        try:
            pool.look(draws[0], draws[0], {"find": "history", "x": 1, "y": 1, "buffer": 0})
            assert pool._making is not None
            pool._making.join()
            cuts = []

            def ask(first, last, request):
                answer, served = pool.look(first, last, request)
                cuts.append(served.cut)
                return answer

            for seq in (*draws, draws[0]):  # forwards, and one step back
                by_cut = pixel_history(trace, seq, 5, 7, ask)
                with Warm(Path(trace.path), looks=True) as plain:
                    whole = pixel_history(trace, seq, 5, 7, plain.look)
                assert whole["events"]
                for event in (*by_cut["events"], *whole["events"]):
                    if event["kind"] == "clear":
                        del event["before"], event["changed"], event["reason"], event["outcome"]
                assert by_cut == whole
            assert all(cuts)
        finally:
            pool.close()


def test_the_history_of_no_pixel_is_an_error_with_a_reason(server, chain):
    with drawtap.open(chain) as trace:
        seq = trace.sql("SELECT max(seq) FROM draws WHERE kind = 'draw'").fetchall()[0][0]
    assert server.get(f"picture/{seq}/pixel?x=1&y=1")["events"]
    for query, status in (("x=1", 400), ("x=-1&y=2", 400), ("x=99999&y=0", 501)):
        answer = server.ask(f"/api/0/picture/{seq}/pixel?{query}")
        assert (answer.status, bool(answer.json["error"])) == (status, True), answer.body


def test_meshes_and_masks_come_with_their_sums(server, chain):
    with drawtap.open(chain) as trace:
        seq, clear = (
            trace.sql(f"SELECT max(seq) FROM draws WHERE kind = '{kind}'").fetchall()[0][0]
            for kind in ("draw", "clear")
        )
    for path in ("masks", "mesh", "overdraw"):
        body = server.ask(f"/api/0/{path}/{seq}").body
        length = struct.unpack("<I", body[:4])[0]
        head = json.loads(body[4 : 4 + length])
        data = body[4 + length :]
        if path == "masks":
            size = head["width"] * head["height"]
            for i, name in enumerate(head["names"]):
                assert sum(data[i * size : (i + 1) * size]) == head["sums"][name]
        elif path == "mesh":
            fates = head["arrays"]["fates"]
            found = data[fates["at"] : fates["at"] + fates["length"]]
            assert sorted(found) == sorted(i for i, count in enumerate(head["counts"].values()) for _ in range(count))
    for path in (f"masks/{clear}", f"mesh/{clear}", "masks/99999999"):
        answer = server.ask(f"/api/0/{path}")
        assert answer.status in (400, 501), answer.body
        assert answer.json["error"]
    assert server.ask(f"/api/0/mesh/{seq}/obj").body.startswith(b"# clip")
    assert server.ask(f"/api/0/mesh/{seq}/csv").body.startswith(b"place,vertex")


def test_what_if_is_what_edit_and_image_make(server, chain, drawtap, tmp_path):
    from drawtap import open as open_trace

    with open_trace(chain) as trace:
        draws = [s for (s,) in trace.sql("SELECT seq FROM draws WHERE kind = 'draw' ORDER BY seq").fetchall()]
        clear = trace.sql(f"SELECT max(seq) FROM calls WHERE name = 'glClearColor' AND seq < {draws[-1]}").fetchall()
    red, last = clear[0][0], draws[-1]
    for text, given in (
        (f"drop {draws[-2]}", ("--drop", str(draws[-2]))),
        (f"set {red} red = 1, green = 0.5\n", ("--set", f"{red} red = 1, green = 0.5")),
    ):
        answer = server.ask(f"/api/0/whatif/{last}", method="POST", body=text)
        assert answer.status == 200, answer.body
        length = struct.unpack("<I", answer.body[:4])[0]
        head, data = json.loads(answer.body[4 : 4 + length]), answer.body[4 + length :]
        changed, raw = tmp_path / "changed.dtap", tmp_path / "picture.rgba"
        assert drawtap("edit", chain, "-o", changed, "--force", *given).code in (0, 1)
        assert drawtap("image", changed, str(head["calls"]), "-o", raw).code == 0
        row = head["width"] * 4
        lowest_first = b"".join(data[at : at + row] for at in range(len(data) - row, -1, -row))
        assert lowest_first == raw.read_bytes()
        saved = server.ask("/api/0/whatif", method="POST", body=text)
        (tmp_path / "saved.dtap").write_bytes(saved.body)
        again = tmp_path / "again.rgba"
        assert drawtap("image", tmp_path / "saved.dtap", str(head["calls"]), "-o", again).code == 0
        assert again.read_bytes() == raw.read_bytes()
    for text in ("fly 3", "drop 999999999", "set 3", f"set {last} nothing = 3"):
        answer = server.ask(f"/api/0/whatif/{last}", method="POST", body=text)
        assert (answer.status in (400, 422), bool(answer.json["error"])) == (True, True), (text, answer.body)


def _edited(trace, text):
    """Return the what-if line that gives a fragment shader of the recording another source, and its call."""
    sources = trace.sql("SELECT seq FROM glShaderSource ORDER BY seq").fetchall()
    call = next(seq for (seq,) in sources if "gl_FragColor" in str(trace.calls[seq].args["string"]))
    return f"set {call} count = 1, string = {{{json.dumps(text)}}}, length = NULL", call


def test_an_edited_shader_is_compiled_and_drawn(recordings, tmp_path):
    recording = Recording(recordings / "fbo_chain.dtap")
    try:
        trace = recording.trace
        seq = trace.sql("SELECT max(seq) FROM draws WHERE kind = 'draw' AND frame = 3").fetchall()[0][0]
        blue = "precision mediump float; void main() { gl_FragColor = vec4(0, 0, 1, 1); }"
        line, call = _edited(trace, blue)
        head, data = _taken(recording.whatif.picture(seq, line))
        assert [(log["kind"], log["good"]) for log in head["logs"]] == [("shader", True), ("program", True)]
        target = tmp_path / "changed.dtap"
        target.write_bytes(recording.whatif.file(line))
        with drawtap.open(target) as changed:
            assert changed.calls[call].args["string"] == [blue]
        with Warm(target) as player:
            paths, _ = player.attachments(seq, tmp_path / "of")
            assert decode_attachment(paths[0].read_bytes(), "it").tobytes() == data
        line, _ = _edited(trace, "precision mediump float; void main() { gl_FragColor = nothing; }")
        head, again = _taken(recording.whatif.picture(seq, line))
        assert again != data
        assert [(log["kind"], log["good"]) for log in head["logs"]] == [("shader", False), ("program", False)]
        assert "nothing" in head["logs"][0]["text"]
        head, _ = _taken(recording.whatif.picture(seq, ""))
        assert head["logs"] == []
    finally:
        recording.close()


def _taken(answer):
    (length,) = struct.unpack_from("<I", answer)
    return json.loads(answer[4 : 4 + length]), answer[4 + length :]


def test_a_texture_as_ktx_has_every_level_as_it_is_kept(recordings):
    recording = Recording(recordings / "modern.dtap")
    try:
        trace = recording.trace
        at = trace.sql("SELECT max(seq) FROM draws").fetchall()[0][0]
        rows = trace.sql("SELECT name, target FROM resources WHERE class = 'texture' AND name > 0 ORDER BY name")
        found = 0
        for name, target in rows.fetchall():
            content = recording._held(at, "texture", 1, name)
            data = recording.ktx(at, "texture", 1, name)
            assert data[:12] == b"\xabKTX 11\xbb\r\n\x1a\n"
            fields = struct.unpack_from("<13I", data, 12)
            width, height, depth, elements, faces, levels, notes = fields[6:]
            first = content.parts[0]
            assert (width, height, depth, faces, levels) == (first.width, first.height, 0, 1, len(content.parts))
            assert elements == (first.depth if target == "GL_TEXTURE_2D_ARRAY" else 0)
            place = 64 + notes
            for part in content.parts:
                (size,) = struct.unpack_from("<I", data, place)
                rows_of = part.pixels.reshape(part.depth * part.height, -1).view("u1")
                kept = np.frombuffer(data, "u1", size, place + 4).reshape(part.depth * part.height, -1)
                assert np.array_equal(kept[:, : rows_of.shape[1]], rows_of)
                place += 4 + size
                found += 1
            assert place == len(data)
        assert found >= 2
    finally:
        recording.close()


def test_cubes_volumes_and_what_has_no_place_in_ktx():
    def part(suffix, shape, dtype="u1", channels=None):
        pixels = np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)
        return Part(suffix, shape[2], shape[1], shape[0], channels=channels or "rgba"[: shape[3]], pixels=pixels)

    def held(target, form, *parts):
        return HeldContent("texture", 1, 1, None, 0, None, target, form, 1, 1, 9, parts)

    def head(data):
        return struct.unpack_from("<13I", data, 12)

    names = [f"-{sign}_{axis}" for axis in "xyz" for sign in ("negative", "positive")]
    levels = [part(name, (1, 3, 3, 3)) for name in names] + [part(f"{n}-level1", (1, 1, 1, 3)) for n in names]
    cube = ktx(held("GL_TEXTURE_CUBE_MAP", "GL_RGB8", *levels[:]))
    assert head(cube)[1:12] == (0x1401, 1, 0x1907, 0x8051, 0x1907, 3, 3, 0, 0, 6, 2)
    place = 64 + head(cube)[12]
    assert struct.unpack_from("<I", cube, place) == (3 * 12,)  # a face, its rows of 9 bytes padded to 12
    assert len(cube) == place + 4 + 6 * 36 + 4 + 6 * 4
    volume = ktx(held("GL_TEXTURE_3D", "GL_R32UI", part("", (4, 2, 2, 1), "<u4", "r")))
    assert head(volume)[1:12] == (0x1405, 4, 0x8D94, 0x8236, 0x1903, 2, 2, 4, 0, 1, 1)
    for broken in (
        held("GL_TEXTURE_CUBE_MAP", "GL_RGB8", *levels[1:]),
        held("GL_TEXTURE_2D", "GL_RGBA8", part("", (1, 2, 2, 4)), part("-level2", (1, 1, 1, 4))),
        held("GL_TEXTURE_2D", "GL_DEPTH24_STENCIL8", part("", (1, 2, 2, 2), "<u4", "ds")),
        held("GL_TEXTURE_2D", "GL_RGBA8", Part("", 2, 2, 1, why="it is not read")),
    ):
        with pytest.raises(UsageError):
            ktx(broken)


_BYTES = np.arange(0, 240, 3, dtype="u1")
_HALVES = (0x3800 + 16 * np.arange(32)).astype("<u2")
_TEXELS = {  # by name of the texture: its format, how shaders get it, and the values as they are kept
    1: ("GL_RGBA8", "bgr1", _BYTES[:32].reshape(1, 2, 4, 4)),
    2: ("GL_RGBA8", "rgba", _BYTES.reshape(5, 2, 2, 4)),
    3: ("GL_RGBA16F", "rgba", _HALVES.view("<f2").reshape(1, 2, 4, 4)),
    4: ("GL_RG8I", "rgba", _BYTES[:16].view("i1").reshape(1, 2, 4, 2)),
    5: ("GL_R16UI", "rgba", _HALVES[:8].reshape(1, 2, 4, 1)),
    6: ("GL_RGB10_A2", "rgba", np.array([[i, 500 + i, 1000 + i, i % 4] for i in range(8)]).reshape(1, 2, 4, 4)),
    7: ("GL_DEPTH_COMPONENT32F", "rgba", (np.arange(8) / 8).reshape(1, 2, 4, 1)),
    9: ("GL_RGBA8", "rgba", _BYTES.reshape(5, 2, 2, 4)),
    10: ("GL_RGBA8", "rgba", np.tile([255, 0, 51, 255], 8).reshape(1, 2, 4, 4)),
}  # fmt: skip


@pytest.fixture(scope="module")
def formats(recordings):
    recording = Recording(recordings / "formats.dtap")
    yield recording
    recording.close()


@pytest.mark.parametrize("name", [*_TEXELS, 8])
def test_texels_of_every_kind_of_format_are_exact(formats, name):
    at = len(formats.trace.calls) - 1
    end = formats.trace.sql(f"SELECT max(seq) FROM calls WHERE seq < {at} AND name = 'glClear'").fetchone()[0]
    head, data = _taken(formats.texture(end, "texture", 1, name))
    (part,) = head["parts"]
    assert not part["why"], part
    found = np.frombuffer(data, part["type"], int(np.prod(part["shape"])), part["at"]).reshape(part["shape"])
    if name == 8:  # its red is what the format says: 255, 0 and six between them
        assert head["format"] == "GL_COMPRESSED_RED_RGTC1"
        ramp = [255, 0, *(round((255 * (7 - i)) / 7) for i in range(1, 7))]
        assert np.abs(found[0, :2, :, 0].reshape(8).astype(int) - [ramp[i] for i in range(8)]).max() <= 1
        return
    form, swizzle, texels = _TEXELS[name]
    assert (head["format"], head["swizzle"]) == (form, swizzle)
    assert np.array_equal(found, texels), found
