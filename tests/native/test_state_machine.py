"""The state machine by itself: what calls read and write, and hostile recordings under the sanitizers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import sanitized
from drawtap.instrument import generate_state
from shared import once
from state_traces import Hostile, Recording, names
from writer import NULL, Data, blob, f32, strings, text

ROOT = Path(__file__).resolve().parents[2]
# The files of the machine: the room without what stands around it.
MACHINE = sorted({path.stem for path in (ROOT / "native" / "state").glob("*.cc")} - {"feed", "state"})


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "state_tool", _built)


def _built(folder: Path) -> Path:
    generated = folder / "machine"
    generate_state.main(["--output", str(generated)])
    native = ROOT / "native"
    sources = [
        *sorted(generated.glob("*.cc")),
        *(native / "state" / f"{name}.cc" for name in MACHINE),
        *sanitized.SHARED,
        native / "state" / "feed.cc",
        ROOT / "tests/native/state_tool.cc",
    ]
    rooms = [generated, native / "state", native / "common", native / "third_party"]

    libraries = ("zstd", "pthread", "dl")
    return sanitized.build(folder / "state_tool", sources, libraries=libraries, includes=rooms)


def run(tool: Path, mode: str, *paths: Path) -> str:
    environment = os.environ | {"ASAN_OPTIONS": "hard_rss_limit_mb=2048:allocator_may_return_null=1:detect_leaks=1"}
    done = subprocess.run(
        [str(tool), mode, *map(str, paths)], env=environment, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-500:]
    return done.stdout


def accesses(tool: Path, recording: Recording, path: Path) -> list[set[str]]:
    """What each call reads (r:), writes (w:) and changes in part (p:)."""
    lines = run(tool, "walk", recording.write(path)).splitlines()
    return [set(line.split()[2:]) for line in lines if not line.startswith("stored ")]


def test_setting_and_drawing(tool: Path, tmp_path: Path) -> None:
    r = Recording()
    depth = r.gl("glDepthFunc", func="GL_LEQUAL")
    r.gl("glEnable", cap="GL_DEPTH_TEST")
    clear = r.gl("glClear", mask=0x4100)
    r.gl("glEnable", cap="GL_SCISSOR_TEST")
    r.gl("glScissor", x=5, y=5, width=9, height=9)
    partly = r.gl("glClear", mask=0x4000)
    draw = r.gl("glDrawArrays", mode="GL_TRIANGLES", first=0, count=3)
    told = accesses(tool, r, tmp_path / "t.dtap")
    assert "w:contexts[1].GL_DEPTH_FUNC" in told[depth]
    assert "r:threads[0].context" in told[depth]
    assert {"w:surfaces[0x20].color", "w:surfaces[0x20].depth"} <= told[clear]
    # A clear of a part leaves the rest.
    assert "p:surfaces[0x20].color" in told[partly]
    assert "w:surfaces[0x20].color" not in told[partly]
    assert {"p:surfaces[0x20].color", "r:surfaces[0x20].depth", "p:surfaces[0x20].depth"} <= told[draw]


def test_render_to_texture(tool: Path, tmp_path: Path) -> None:
    r = Recording()
    r.gl("glBindTexture", target="GL_TEXTURE_2D", texture=1)
    image = r.gl(
        "glTexImage2D", target="GL_TEXTURE_2D", level=0, internalformat=0x8058, width=4, height=4, border=0,
        format="GL_RGBA", type="GL_UNSIGNED_BYTE", pixels=NULL,
    )  # fmt: skip
    sub = r.gl(
        "glTexSubImage2D", target="GL_TEXTURE_2D", level=0, xoffset=1, yoffset=0, width=1, height=4,
        format="GL_RGBA", type="GL_UNSIGNED_BYTE", pixels=blob(b"1" * 16),
    )  # fmt: skip
    r.gl("glBindFramebuffer", target="GL_FRAMEBUFFER", framebuffer=6)
    attach = r.gl(
        "glFramebufferTexture2D",
        target="GL_FRAMEBUFFER", attachment="GL_COLOR_ATTACHMENT0", textarget="GL_TEXTURE_2D", texture=1, level=0,
    )  # fmt: skip
    into = r.gl("glDrawArrays", mode="GL_TRIANGLES", first=0, count=3)
    copy = r.gl("glCopyTexImage2D", target="GL_TEXTURE_2D", level=1, internalformat=0x8058, x=0, y=0, width=2,
                height=2, border=0)  # fmt: skip
    r.gl("glBindFramebuffer", target="GL_FRAMEBUFFER", framebuffer=0)
    r.gl("glEnable", cap="GL_TEXTURE_2D")
    use = r.gl("glDrawArrays", mode="GL_TRIANGLES", first=0, count=3)
    told = accesses(tool, r, tmp_path / "t.dtap")
    content = "shares[1].textures[1].levels[0].content"
    assert f"w:{content}" in told[image]
    assert f"p:{content}" in told[sub]
    assert any(a.startswith("w:contexts[1].framebuffers[6].GL_COLOR_ATTACHMENT0") for a in told[attach])
    assert f"p:{content}" in told[into]
    assert {f"r:{content}", "w:shares[1].textures[1].levels[1].content"} <= told[copy]
    assert any(a.startswith("r:shares[1].textures[1].levels[0]+") for a in told[use])


def test_buffers_and_mapped_memory(tool: Path, tmp_path: Path) -> None:
    r = Recording()
    r.gl("glBindBuffer", target="GL_ARRAY_BUFFER", buffer=3)
    data = r.gl("glBufferData", target="GL_ARRAY_BUFFER", size=32, data=blob(b"x" * 32), usage="GL_STATIC_DRAW")
    part = r.gl("glBufferSubData", target="GL_ARRAY_BUFFER", offset=4, size=4, data=Data(b"1234"))
    whole = r.gl("glBufferSubData", target="GL_ARRAY_BUFFER", offset=0, size=32, data=blob(b"y" * 32))
    r.gl("glVertexAttribPointer", index=0, size=2, type="GL_FLOAT", normalized=0, stride=0, pointer=0)
    r.gl("glEnableVertexAttribArray", index=0)
    r.thread.tap("dtapMapWrite", offset=0, data=Data(b"12345678"), target=0x8892, buffer=3)
    draw = r.gl("glDrawArrays", mode="GL_TRIANGLES", first=0, count=3)
    told = accesses(tool, r, tmp_path / "t.dtap")
    content = "shares[1].buffers[3].content"
    assert f"w:{content}" in told[data] & told[whole]
    assert f"p:{content}" in told[part]
    # What the program stored before it is told by itself.
    assert f"p:{content}" not in told[draw]
    [line] = [line for line in run(tool, "walk", tmp_path / "t.dtap").splitlines() if line.startswith("stored ")]
    assert line.startswith(f"stored before {draw}, row 0 ")
    assert {f"p:{content}", "r:shares[1].buffers[3].GL_BUFFER_MAPPED"} <= set(line.split())
    assert any(a.startswith("r:shares[1].buffers[3]+") for a in told[draw])


def test_lists_depend_on_what_went_into_them(tool: Path, tmp_path: Path) -> None:
    r = Recording()
    new = r.gl("glNewList", list=3, mode="GL_COMPILE")
    inside = r.gl("glEnable", cap="GL_FOG")
    r.gl("glEndList")
    call = r.gl("glCallList", list=3)
    told = accesses(tool, r, tmp_path / "t.dtap")
    assert "w:shares[1].lists[3].content" in told[new]
    assert "p:shares[1].lists[3].content" in told[inside]
    assert not any("enabled" in a for a in told[inside])
    assert any(a.startswith("r:shares[1].lists[3]") for a in told[call])
    assert "w:contexts[1].enabled.GL_FOG" in told[call]


def test_uniforms_depend_on_link_and_location(tool: Path, tmp_path: Path) -> None:
    r = Recording()
    r.gl("glCreateShader", type="GL_VERTEX_SHADER", result=2)
    source = r.gl("glShaderSource", shader=2, count=1, string=strings("void main() {}"), length=NULL)
    compiled = r.gl("glCompileShader", shader=2)
    r.gl("glCreateProgram", result=1)
    r.gl("glAttachShader", program=1, shader=2)
    link = r.gl("glLinkProgram", program=1)
    r.gl("glUseProgram", program=1)
    where = r.gl("glGetUniformLocation", program=1, name=text("k"), result=5)
    uniform = r.gl("glUniform4fv", location=5, count=1, value=f32(1, 2, 3, 4))
    told = accesses(tool, r, tmp_path / "t.dtap")
    assert "w:shares[1].shaders[2].source" in told[source]
    assert "r:shares[1].shaders[2].source" in told[compiled]
    assert {"r:shares[1].shaders[2].compiled", "w:shares[1].programs[1].linked"} <= told[link]
    location = 'shares[1].programs[1].uniforms["k"].location'
    assert f"w:{location}" in told[where]
    assert {f"r:{location}", 'w:shares[1].programs[1].uniforms["k"]'} <= told[uniform]


def test_two_lives_of_a_name_share_no_location(tool: Path, tmp_path: Path) -> None:
    r = Recording()
    first = r.gl("glGenTextures", n=1, textures=names(1))
    r.gl("glDeleteTextures", n=1, textures=names(1))
    second = r.gl("glGenTextures", n=1, textures=names(1))
    told = accesses(tool, r, tmp_path / "t.dtap")
    assert any(a.startswith("w:shares[1].textures[1]+") for a in told[first])
    assert any(a.startswith("w:shares[1].textures[1]+") for a in told[second])


def test_refused_calls_touch_nothing(tool: Path, tmp_path: Path) -> None:
    r = Recording()
    r.gl("glBegin", mode="GL_POINTS")
    r.gl("glDepthFunc", func="GL_ALWAYS")  # not allowed here
    r.gl("glEnd")
    r.gl("glViewport", x=0, y=0, width=-1, height=1)
    lines = run(tool, "walk", r.write(tmp_path / "t.dtap")).splitlines()
    assert [line.split()[1:3] for line in (lines[2], lines[4])] == [
        ["glDepthFunc", "refused"],
        ["glViewport", "refused"],
    ]
    assert all(len(line.split()) == 3 for line in (lines[2], lines[4]))


@pytest.mark.sample(1)
@pytest.mark.parametrize("seeds", [range(6), range(6, 12)], ids=str)
def test_hostile_recordings(tool: Path, tmp_path: Path, seeds: range) -> None:
    paths = [Hostile(seed, "gl" if seed % 6 else "vg").trace(tmp_path / f"{seed}.dtap", 4000) for seed in seeds]
    said = run(tool, "fuzz", *paths).splitlines()
    assert len(said) == len(paths)
    assert not any(line.startswith("refused") for line in said)


def test_damaged_recordings(tool: Path, tmp_path: Path) -> None:
    whole = Hostile(99).trace(tmp_path / "whole.dtap", 600).read_bytes()
    paths = []
    for i in range(40):
        damaged = bytearray(whole[: len(whole) - (i % 4) * 1000])
        for at in range(i * 13 + 40, len(damaged), len(damaged) // 7):
            damaged[at] ^= 1 << (i % 8)
        paths.append(tmp_path / f"{i}.dtap")
        paths[-1].write_bytes(damaged)
    assert len(run(tool, "fuzz", *paths).splitlines()) == len(paths)
