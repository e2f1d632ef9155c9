"""Pixels and the server: parked players that look find the same as a player of every call."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

import drawtap
from drawtap.analysis.held import HeldContent, Part
from drawtap.errors import UnavailableError, UsageError
from drawtap.metrics import profile
from drawtap.output.ktx import ktx
from drawtap.replay.compare import decode_attachment
from drawtap.replay.look import pixel_history
from drawtap.replay.pool import Pool
from drawtap.replay.warm import Warm
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
        assert drawtap("image", changed, str(head["calls"]), "-o", raw, "--force").code == 0
        row = head["width"] * 4
        lowest_first = b"".join(data[at : at + row] for at in range(len(data) - row, -1, -row))
        assert lowest_first == raw.read_bytes()
        saved = server.ask("/api/0/whatif", method="POST", body=text)
        (tmp_path / "saved.dtap").write_bytes(saved.body)
        again = tmp_path / "again.rgba"
        assert drawtap("image", tmp_path / "saved.dtap", str(head["calls"]), "-o", again, "--force").code == 0
        assert again.read_bytes() == raw.read_bytes()
    for text in ("fly 3", "drop 999999999", "set 3", f"set {last} nothing = 3"):
        answer = server.ask(f"/api/0/whatif/{last}", method="POST", body=text)
        assert (answer.status in (400, 422), bool(answer.json["error"])) == (True, True), (text, answer.body)


def test_what_if_limits_draws_to_a_pixel_and_nothing_after_them(recordings, tmp_path):
    recording = Recording(recordings / "fbo_chain.dtap")
    try:
        trace, made = recording.trace, recording.whatif
        draws = trace.sql("SELECT seq FROM draws WHERE kind = 'draw' AND frame = 3 ORDER BY seq").fetchall()
        first, last = draws[0][0], draws[-1][0]

        def differing(a, b):
            return sum(a[i : i + 4] != b[i : i + 4] for i in range(0, len(a), 4))

        whole, none, one = (_taken(made.picture(last, text))[1] for text in ("", f"drop {last}", f"pixel {last}"))
        assert differing(whole, none) > 1
        assert differing(one, none) <= 1
        assert one != whole
        target = tmp_path / "limited.dtap"
        target.write_bytes(made.file(f"pixel {first}:{last + 1}"))
        with drawtap.open(target) as limited:
            boxes = limited.sql("SELECT seq, x, y, width, height FROM glScissor ORDER BY seq").fetchall()
            assert (
                len(boxes)
                == 2 * len(draws) + trace.sql("SELECT count(*) FROM calls WHERE name = 'glScissor'").fetchall()[0][0]
            )
            end, was = len(limited.calls) - 1, len(trace.calls) - 1
            for path in ("contexts[*].GL_SCISSOR_BOX", "contexts[*].enabled.GL_SCISSOR_TEST"):
                assert limited.state_index.at(end, path) == trace.state_index.at(was, path)
            new = limited.sql(
                "SELECT seq, scissor_test FROM draws WHERE kind = 'draw' AND frame = 3 ORDER BY seq"
            ).fetchall()
            assert [on for _, on in new] == [True] * len(draws)
            assert _taken(made.picture(last, f"pixel {first}:{last + 1}"))[0]["calls"] == new[-1][0]
        for text in ("pixel 0", f"drop {first}:{last}", f"pixel {first} red = 1"):
            with pytest.raises(UsageError):
                made.picture(last, text)
    finally:
        recording.close()


def test_times_of_what_if_take_turns_and_are_compared_in_pairs(recordings, monkeypatch):
    recording = Recording(recordings / "fbo_chain.dtap")
    played = []

    def readings(trace, plan, wanted, *, environment):
        (metric,) = plan.passes[0].metrics
        assert (metric.id, wanted.isolate, list(wanted.frames)) == ("cpu:time/process", True, [2])
        changed = trace.path != recording.path
        played.append(changed)
        # Each round is slower than the one before, as on a busy machine; the change saves a fifth.
        value = (1e6 if len(played) <= 2 else 1000.0 + len(played) // 3) * (0.8 if changed else 1.0)
        return [profile.Reading("frame", 2, 0, metric.id, value)], "llvmpipe (LLVM)"

    monkeypatch.setattr(profile, "readings", readings)
    try:
        (seq,) = recording.trace.sql("SELECT max(seq) FROM draws WHERE kind = 'draw' AND frame = 2").fetchone()
        found, all_found = {"done": 0}, []
        for _ in range(4):
            found = recording.whatif.times(seq, f"drop {seq}", found["done"])
            all_found.append(found)
        assert [one["rounds"] for one in all_found] == [0, 1, 2, 3]
        assert [one["ratio"] is None for one in all_found] == [True, True, False, False]
        assert played == [False, True, True, False, False, True, True, False]
        assert found["ratio"]["least"] < 0.8 < found["ratio"]["most"] < 0.81
        assert found["before"]["value"] == pytest.approx(1002, abs=1)  # without the first round
        assert found["before"]["least"] < found["before"]["value"] < found["before"]["most"]
        assert (found["software"], found["frame"]) == (True, 2)
        assert recording.whatif.times(seq, f"drop {seq}", 0)["done"] == 1
        assert recording.whatif.times(seq, f"drop {seq - 1}", 1)["done"] == 1  # of other changes
        monkeypatch.setattr(profile, "readings", lambda *_, **__: ([], "llvmpipe"))
        with pytest.raises(UnavailableError, match="no time of frame 2"):
            recording.whatif.times(seq, f"drop {seq}", 0)
    finally:
        recording.close()


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


_BYTES = (np.arange(192) * 3).astype("u1")
_HALVES = (0x3800 + 16 * np.arange(32)).astype("<u2")


def _block(texel, channels=4):
    """Return the texels of a block by column and row: what `texel(x, y)` says."""
    return np.array([[texel(x, y) for x in range(4)] for y in range(4)], float).reshape(1, 4, 4, channels)


# Blocks of tests/gl/programs/formats.c, as the specifications of the formats decode them.
_RED, _BLUE = (255, 0, 0), (0, 0, 255)
_FOUR = (_RED, _BLUE, (170, 0, 85), (85, 0, 170))  # the ends, two thirds, one third
_THREE = ((*_BLUE, 255), (*_RED, 255), (127.5, 0, 127.5, 255), (0, 0, 0, 0))  # the ends, the middle, nothing
_EIGHTHS = [255, 0, *(255 * (7 - i) / 7 for i in range(1, 7))]
_FIFTHS = [0, 255, *(255 * i / 5 for i in range(1, 5)), 0, 255]
_EAC = (-3, -6, -9, -15, 2, 5, 8, 14)  # the first table
_WEIGHTS = (0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64)


def _etc(x, y):
    """An individual block: the left half lies 2 above one colour, the right half 47 above the other."""
    base, step = ((255, 0, 136), 2) if x < 2 else ((0, 255, 68), 47)
    step = {2: 8, 47: 183}[step] if y == 0 and x in (0, 2) else step
    return tuple(min(value + step, 255) for value in base)


def _punched(x, y):
    if (x, y) == (0, 0):
        return 0, 0, 0, 0
    return (149, 83, 255, 255) if (x, y) == (0, 1) else (132, 66, 255, 255)


def _bptc(x, y):
    weight = _WEIGHTS[4 * y + x]
    return tuple(
        (a * (64 - weight) + b * weight + 32) >> 6 for a, b in zip((255, 1, 129, 255), (0, 254, 0, 254), strict=True)
    )


def _bptc_float(x, y):
    def wide(value):
        return 0 if value == 0 else 0xFFFF if value == 1023 else ((value << 16) + 0x8000) >> 10

    weight = _WEIGHTS[4 * y + x]
    ends = zip((0, 512, 1023), (1023, 512, 0), strict=True)
    words = [(((wide(a) * (64 - weight) + wide(b) * weight + 32) >> 6) * 31) >> 6 for a, b in ends]
    return tuple(np.array(words, "<u2").view("<f2").astype(float))


def _r11(x, y):
    value = 8 * 128 + 4 + 8 * _EAC[(4 * x + y) % 8]
    return 65535 * value / 2047


_ASTC = (65535, 0x8080, 0, 0x4040)
_SAMPLES = np.array([[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255], [255, 255, 255, 255]])
_MANY = np.repeat(_SAMPLES, 8, axis=0).reshape(4, 2, 4, 4)
_HERE, _DRIVER = "read back, decoded by drawtap", "read back, decoded by the driver"
# By name of the texture: its format, how shaders get it, the values as they are kept, how far apart they may be, and
# who decoded them.
_TEXELS = {
    1: ("GL_RGBA8", "bgr1", _BYTES[:32].reshape(1, 2, 4, 4)),
    2: ("GL_RGBA8", "rgba", _BYTES[:80].reshape(5, 2, 2, 4)),
    3: ("GL_RGBA16F", "rgba", _HALVES.view("<f2").reshape(1, 2, 4, 4)),
    4: ("GL_RG8I", "rgba", _BYTES[:16].view("i1").reshape(1, 2, 4, 2)),
    5: ("GL_R16UI", "rgba", _HALVES[:8].reshape(1, 2, 4, 1)),
    6: ("GL_RGB10_A2", "rgba", np.array([[i, 500 + i, 1000 + i, i % 4] for i in range(8)]).reshape(1, 2, 4, 4)),
    7: ("GL_DEPTH_COMPONENT32F", "ddd1", (np.arange(8) / 8).reshape(1, 2, 4, 1)),
    8: ("GL_COMPRESSED_RED_RGTC1", "rgba", _block(lambda x, y: (_EIGHTHS[(4 * y + x) % 8], 0, 0, 255)), 1, _HERE),
    9: ("GL_RGBA8", "rgba", _BYTES[:80].reshape(5, 2, 2, 4)),
    10: ("GL_RGBA8", "rgba", np.tile([255, 0, 51, 255], 8).reshape(1, 2, 4, 4)),
    11: ("GL_COMPRESSED_RGBA_S3TC_DXT1", "rgba", _block(lambda x, y: (*_FOUR[x], 255)), 1, _HERE),
    12: ("GL_COMPRESSED_RGBA_S3TC_DXT1", "rgba", _block(lambda x, y: _THREE[x]), 1, _HERE),
    13: ("GL_COMPRESSED_RGBA_S3TC_DXT3", "rgba", _block(lambda x, y: (*_FOUR[x], 85 * x)), 1, _HERE),
    14: ("GL_COMPRESSED_RGBA_S3TC_DXT5", "rgba", _block(lambda x, y: (*_FOUR[x], _EIGHTHS[(4 * y + x) % 8])), 1, _HERE),
    15: ("GL_COMPRESSED_RG_RGTC2", "rgba",
         _block(lambda x, y: (_EIGHTHS[(4 * y + x) % 8], _FIFTHS[(4 * y + x) % 8], 0, 255)), 1, _HERE),
    16: ("GL_COMPRESSED_RGB8_ETC2", "rgba", _block(lambda x, y: (*_etc(x, y), 255)), 0, _HERE),
    17: ("GL_COMPRESSED_RGBA8_ETC2_EAC", "rgba",
         _block(lambda x, y: (*_etc(x, y), 128 + _EAC[(4 * x + y) % 8])), 0, _HERE),
    18: ("GL_COMPRESSED_RGB8_PUNCHTHROUGH_ALPHA1_ETC2", "rgba", _block(_punched), 0, _DRIVER),
    19: ("GL_COMPRESSED_R11_EAC", "rgba", _block(_r11, 1), 32, _DRIVER),
    20: ("GL_COMPRESSED_RGBA_BPTC_UNORM", "rgba", _block(_bptc), 0, _DRIVER),
    21: ("GL_COMPRESSED_RGB_BPTC_UNSIGNED_FLOAT", "rgba", _block(_bptc_float, 3), 0, _DRIVER),
    22: ("GL_COMPRESSED_RGBA_ASTC_4x4", "rgba", _block(lambda x, y: _ASTC), 0, _DRIVER),
    23: ("GL_RGBA8", "rgba", np.full((1, 2, 4, 4), [127.5, 127.5, 127.5, 255]), 1),
    24: ("GL_RGBA8", "rgba", _BYTES.reshape(12, 2, 2, 4)),
    25: ("GL_DEPTH24_STENCIL8", "ddd1", np.array([[0x10203 * i, 7 * i] for i in range(8)]).reshape(1, 2, 4, 2)),
    26: ("GL_DEPTH_COMPONENT32F", "000d", (np.arange(8) / 8).reshape(1, 2, 4, 1)),
}  # fmt: skip
_TEXELS_ES = {
    1: ("GL_COMPRESSED_RGBA_ASTC_4x4", "bgba", _block(lambda x, y: _ASTC), 0, _DRIVER),
    2: ("GL_COMPRESSED_RGBA_BPTC_UNORM", "bgba", _block(_bptc), 0, _DRIVER),
    3: ("GL_COMPRESSED_R11_EAC", "bgba", _block(_r11, 1), 32, _DRIVER),
    4: ("GL_RGBA8", "rgba", np.full((1, 2, 4, 4), [127.5, 127.5, 127.5, 255]), 1),
}


@pytest.fixture(scope="module")
def formats(recordings):
    """Return the recordings of textures, opened, with the call after which all are there."""
    found = {}
    for name in ("formats", "formats_es"):
        recording = Recording(recordings / f"{name}.dtap")
        asked = "SELECT max(seq) FROM calls WHERE name IN ('glClear', 'glDrawArrays')"
        found[name] = recording, recording.trace.sql(asked).fetchone()[0]
    yield found
    for recording, _ in found.values():
        recording.close()


@pytest.mark.parametrize(
    ("program", "name"), [*(("formats", name) for name in _TEXELS), *(("formats_es", name) for name in _TEXELS_ES)]
)
def test_texels_of_every_kind_of_format_are_exact(formats, program, name):
    recording, end = formats[program]
    head, data = _taken(recording.texture(end, "texture", 1, name))
    form, swizzle, texels, *rest = (_TEXELS if program == "formats" else _TEXELS_ES)[name]
    near, source = rest[0] if rest else 0, rest[1] if len(rest) > 1 else "read back"
    parts = [(part, _pixels(part, data)) for part in head["parts"]]
    (part, found), *samples = parts
    kept = head["format"].removesuffix("_EXT").removesuffix("_ANGLE").removesuffix("_KHR")
    assert (kept, head["swizzle"], part["source"]) == (form, swizzle, source)
    assert found.shape == texels.shape
    assert np.abs(found.astype(float) - texels).max() <= near, found
    assert [part["suffix"] for part, _ in samples] == (["samples"] if part["lost"] else [])
    if name == (23 if program == "formats" else 4):
        assert np.array_equal(samples[0][1], _MANY)


def _pixels(part, data):
    assert not part["why"], part
    return np.frombuffer(data, part["type"], int(np.prod(part["shape"])), part["at"]).reshape(part["shape"])
