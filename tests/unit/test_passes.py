"""Revisions of contents, passes, and what one pass has from another, from recordings made call by call."""

from __future__ import annotations

from pathlib import Path

import pytest

from drawtap.trace.trace import Trace, open_trace
from state_traces import Recording, names
from writer import NULL, Data

PIXELS = Data(bytes(range(64)))
DRAWS = {"mode": "GL_TRIANGLES", "first": 0, "count": 3}
COLOR, DEPTH = 0x4000, 0x100


pytestmark = pytest.mark.usefixtures("computed_state_here")


class Program(Recording):
    """A recording in words of this test."""

    def texture(self, name: int, pixels: Data = NULL, form: str = "GL_RGBA") -> int:
        """Make a texture of 4 x 4; return the call that gives it storage."""
        self.gl("glGenTextures", n=1, textures=names(name))
        self.gl("glBindTexture", target="GL_TEXTURE_2D", texture=name)
        kind = {"target": "GL_TEXTURE_2D", "level": 0, "width": 4, "height": 4, "border": 0, "type": "GL_UNSIGNED_BYTE"}
        return self.gl("glTexImage2D", internalformat=form, format=form, pixels=pixels, **kind)

    def target(self, name: int, texture: int, attachment: str = "GL_COLOR_ATTACHMENT0") -> None:
        """Make a framebuffer of a texture; it stays bound."""
        self.gl("glGenFramebuffers", n=1, framebuffers=names(name))
        self.bind(name)
        self.attach(texture, attachment)

    def attach(self, texture: int, attachment: str = "GL_COLOR_ATTACHMENT0") -> None:
        self.gl(
            "glFramebufferTexture2D",
            target="GL_FRAMEBUFFER", attachment=attachment, textarget="GL_TEXTURE_2D", texture=texture, level=0,
        )  # fmt: skip

    def bind(self, framebuffer: int) -> None:
        self.gl("glBindFramebuffer", target="GL_FRAMEBUFFER", framebuffer=framebuffer)

    def read(self, texture: int) -> None:
        """Let draws sample a texture; 0 for none."""
        self.gl("glBindTexture", target="GL_TEXTURE_2D", texture=texture)
        self.gl("glEnable" if texture else "glDisable", cap="GL_TEXTURE_2D")

    def draw(self) -> int:
        return self.gl("glDrawArrays", **DRAWS)

    def clear(self, mask: int = COLOR) -> int:
        return self.gl("glClear", mask=mask)

    def show(self) -> int:
        self.thread.call("eglSwapBuffers", dpy=0x10, surface=0x2000, result=1, duration=5)
        self.calls += 1
        return self.calls - 1

    def opened(self, folder: Path) -> Trace:
        return open_trace(self.write(folder / "t.dtap"))


def passes(trace: Trace) -> list[tuple[object, ...]]:
    return trace.sql(
        "SELECT kind, framebuffer, first_seq, last_seq, draws, clears FROM passes ORDER BY pass_number"
    ).fetchall()


def links(trace: Trace, where: str = "class <> 'surface'") -> list[tuple[object, ...]]:
    query = f"SELECT from_pass, to_pass, kind, class, name, seq FROM pass_links WHERE {where} ORDER BY seq, to_pass"
    return trace.sql(query).fetchall()


def revisions(trace: Trace, kind: str, name: int) -> list[tuple[object, ...]]:
    of = f"FROM revisions WHERE class = '{kind}' AND name = {name} ORDER BY seq, path"
    return trace.sql(f"SELECT kind, seq, last_seq, calls, pass_number {of}").fetchall()


def test_a_shadow_map_is_a_pass_that_the_picture_reads(tmp_path: Path) -> None:
    r = Program()
    r.texture(1, form="GL_DEPTH_COMPONENT")
    r.target(1, 1, "GL_DEPTH_ATTACHMENT")
    r.gl("glEnable", cap="GL_DEPTH_TEST")
    frames = []
    for _ in range(2):
        r.bind(1)
        r.read(0)
        calls = [r.clear(DEPTH), r.draw(), r.draw()]
        r.bind(0)
        r.read(1)
        frames.append([*calls, r.clear(COLOR | DEPTH), r.draw(), r.draw(), r.draw(), r.show()])
    with r.opened(tmp_path) as trace:
        expected: list[tuple[object, ...]] = []
        for shadow, _, cast, clear, _, _, last, shown in frames:
            expected += [
                ("draw", 1, shadow, cast, 2, 1),
                ("draw", 0, clear, last, 3, 1),
                ("show", None, shown, shown, 0, 0),
            ]
        assert passes(trace) == expected
        by_frame = trace.sql("SELECT frame, list(pass_number) FROM passes GROUP BY frame ORDER BY frame").fetchall()
        assert by_frame == [(0, [0, 1, 2]), (1, [3, 4, 5])]
        # Every frame clears its map: none has it from the frame before.
        assert links(trace) == [(3 * f, 3 * f + 1, "read", "texture", 1, frames[f][4]) for f in (0, 1)]
        colour = "path LIKE '%color' AND kind = 'read'"
        assert [row[:3] for row in links(trace, colour)] == [(1, 2, "read"), (4, 5, "read")]
        made = [("clear", f[0], f[0], 1, 3 * i) for i, f in enumerate(frames)]
        drawn = [("draw", f[1], f[2], 2, 3 * i) for i, f in enumerate(frames)]
        assert revisions(trace, "texture", 1)[1:] == sorted(made + drawn, key=lambda row: row[1])


def test_other_attachments_of_one_framebuffer_are_another_pass(tmp_path: Path) -> None:
    r = Program()
    r.texture(1)
    r.texture(2)
    r.target(1, 1)
    one = r.draw()
    r.attach(1)
    same = r.draw()
    r.attach(2)
    r.read(1)
    other = r.draw()
    with r.opened(tmp_path) as trace:
        assert passes(trace) == [("draw", 1, one, same, 2, 0), ("draw", 1, other, other, 1, 0)]
        assert links(trace) == [(0, 1, "read", "texture", 1, other)]
        assert trace.sql("SELECT targets FROM passes ORDER BY 1").fetchall() == [
            (["shares[1].textures[1].levels[0]"],),
            (["shares[1].textures[2].levels[0]"],),
        ]


def test_who_draws_over_a_part_has_the_rest_from_before(tmp_path: Path) -> None:
    r = Program()
    r.texture(1)
    r.texture(2)
    r.target(2, 2)
    r.target(1, 1)
    first = r.draw()
    r.bind(2)
    between = r.draw()
    r.bind(1)
    again = r.draw()
    r.bind(2)
    whole = r.clear()
    with r.opened(tmp_path) as trace:
        assert [row[2] for row in passes(trace)] == [first, between, again, whole]
        assert links(trace, "kind = 'kept' AND class = 'texture'")[0] == (0, 2, "kept", "texture", 1, again)
        assert revisions(trace, "texture", 1)[1:] == [("draw", first, first, 1, 0), ("draw", again, again, 1, 2)]


def test_a_look_at_what_was_drawn_ends_a_revision(tmp_path: Path) -> None:
    r = Program()
    r.texture(1)
    r.target(1, 1)
    first, second = r.draw(), r.draw()
    box = {"x": 0, "y": 0, "width": 1, "height": 1, "format": "GL_RGBA", "type": "GL_UNSIGNED_BYTE"}
    look = r.gl("glReadPixels", pixels=Data(bytes(4)), **box)
    third = r.draw()
    with r.opened(tmp_path) as trace:
        assert revisions(trace, "texture", 1)[1:] == [("draw", first, second, 2, 0), ("draw", third, third, 1, 2)]
        assert [row[:4] for row in passes(trace)] == [
            ("draw", 1, first, second), ("readback", None, look, look), ("draw", 1, third, third)
        ]  # fmt: skip
        assert links(trace)[0] == (0, 1, "read", "texture", 1, look)


def test_uploads_are_revisions_with_size_and_hash(tmp_path: Path) -> None:
    r = Program()
    r.gl("glGenBuffers", n=1, buffers=names(1))
    r.gl("glBindBuffer", target="GL_ARRAY_BUFFER", buffer=1)
    whole = r.gl("glBufferData", target="GL_ARRAY_BUFFER", size=64, data=PIXELS, usage="GL_STATIC_DRAW")
    part = r.gl("glBufferSubData", target="GL_ARRAY_BUFFER", offset=8, size=4, data=Data(b"abcd"))
    empty = r.gl("glBufferData", target="GL_ARRAY_BUFFER", size=64, data=NULL, usage="GL_STATIC_DRAW")
    pixels = r.texture(1, PIXELS)
    with r.opened(tmp_path) as trace:
        query = "SELECT kind, seq, bytes, content_hash FROM revisions WHERE class = 'buffer' ORDER BY seq"
        found = trace.sql(query).fetchall()
        assert [row[:3] for row in found] == [("upload", whole, 64), ("upload", part, 4), ("other", empty, None)]
        assert found[0][3] is not None
        assert found[1][3] not in (None, found[0][3])
        assert found[2][3] is None
        assert revisions(trace, "texture", 1) == [("upload", pixels, pixels, 1, None)]
        # The last upload of an object is what `resources` has of it.
        hashes = trace.sql("SELECT content_hash FROM resources WHERE class = 'buffer'").fetchall()
        assert hashes == [(found[1][3],)]


def test_copies_are_passes_and_lead_on(tmp_path: Path) -> None:
    r = Program()
    r.texture(1)
    r.texture(2)
    r.target(1, 1)
    drawn = r.draw()
    r.gl("glBindTexture", target="GL_TEXTURE_2D", texture=2)
    area = {"target": "GL_TEXTURE_2D", "level": 0, "xoffset": 0, "yoffset": 0, "x": 0, "y": 0, "width": 4, "height": 4}
    copied = r.gl("glCopyTexSubImage2D", **area)
    r.bind(0)
    r.read(2)
    used = r.draw()
    with r.opened(tmp_path) as trace:
        assert [row[:3] for row in passes(trace)] == [("draw", 1, drawn), ("copy", None, copied), ("draw", 0, used)]
        assert links(trace) == [(0, 1, "read", "texture", 1, copied), (1, 2, "read", "texture", 2, used)]
        assert revisions(trace, "texture", 2)[-1] == ("copy", copied, copied, 1, 1)


def test_an_upload_from_a_buffer_that_a_pass_wrote_is_a_copy(tmp_path: Path) -> None:
    r = Program()
    r.texture(1)
    r.texture(2)
    r.target(1, 1)
    r.gl("glGenBuffers", n=1, buffers=names(5))
    r.gl("glBindBuffer", target="GL_PIXEL_PACK_BUFFER", buffer=5)
    r.gl("glBufferData", target="GL_PIXEL_PACK_BUFFER", size=64, data=NULL, usage="GL_STREAM_COPY")
    r.draw()
    box = {"x": 0, "y": 0, "width": 4, "height": 4, "format": "GL_RGBA", "type": "GL_UNSIGNED_BYTE"}
    packed = r.gl("glReadPixels", pixels=NULL, **box)
    r.gl("glBindBuffer", target="GL_PIXEL_UNPACK_BUFFER", buffer=5)
    place = {"target": "GL_TEXTURE_2D", "level": 0, "xoffset": 0, "yoffset": 0, "width": 4, "height": 4}
    r.gl("glBindTexture", target="GL_TEXTURE_2D", texture=2)
    unpacked = r.gl("glTexSubImage2D", format="GL_RGBA", type="GL_UNSIGNED_BYTE", pixels=NULL, **place)
    with r.opened(tmp_path) as trace:
        assert [row[0] for row in passes(trace)] == ["draw", "readback", "copy"]
        assert links(trace) == [(0, 1, "read", "texture", 1, packed), (1, 2, "read", "buffer", 5, unpacked)]
        assert revisions(trace, "buffer", 5)[-1] == ("readback", packed, packed, 1, 1)
        assert revisions(trace, "texture", 2)[-1] == ("copy", unpacked, unpacked, 1, 2)


def test_two_lives_of_a_name_are_two_objects(tmp_path: Path) -> None:
    r = Program()
    first = r.texture(1, PIXELS)
    r.gl("glDeleteTextures", n=1, textures=names(1))
    second = r.texture(1, PIXELS)
    with r.opened(tmp_path) as trace:
        query = """SELECT v.seq, r.created_seq FROM revisions v JOIN resources r
            ON r.class = v.class AND r.name = v.name AND r.created_seq = v.created_seq ORDER BY v.seq"""
        assert trace.sql(query).fetchall() == [(first, first - 2), (second, second - 2)]
