"""The questions of docs/howto/queries.md, each asked of a recording that has rows for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from drawtap.trace.trace import Trace, open_trace
from state_traces import Recording, names
from vulkan_scene import CB, DEVICE, VulkanScene
from writer import NULL, Data, blob, f32, strings, text

PAGE = Path(__file__).parents[2] / "docs/howto/queries.md"
TEXT, VULKAN = re.fullmatch(r"(.*)(^## Vulkan\n.*?)(?=^## ).*", PAGE.read_text(encoding="utf-8"), re.M | re.S).groups()
QUESTIONS, OF_VULKAN = (re.findall(r"^```sql\n(.*?)^```", part, re.M | re.S) for part in (TEXT, VULKAN))
ASKED = "SELECT r.program, c.name, count(*) FROM redundancy r JOIN calls c USING (seq) WHERE c.name LIKE 'glUniform%'"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    with open_trace(recording().write(tmp_path_factory.mktemp("queries") / "t.dtap")) as opened:
        yield opened


def recording() -> Recording:
    """Five frames with two programs, equal textures, an unused one, uniforms set again, empty draws, stalls, errors."""
    made = Recording()
    made.thread.tap("dtapNative", handle=1, kind=text("driver"), text=text("renderer=none;version=1"))
    gl = made.gl
    gl("glCreateShader", type="GL_VERTEX_SHADER", result=1)
    gl("glShaderSource", shader=1, count=1, string=strings("void main() {}"), length=NULL)
    gl("glCompileShader", shader=1)
    for program in (2, 3):
        gl("glCreateProgram", result=program)
        gl("glAttachShader", program=program, shader=1)
        gl("glLinkProgram", program=program)
        gl("glGetUniformLocation", program=program, name=text("tint"), result=0)
    gl("glGenTextures", n=3, textures=names(5, 6, 7))
    for texture in (5, 6, 7):
        gl("glBindTexture", target="GL_TEXTURE_2D", texture=texture)
        gl(
            "glTexImage2D", target="GL_TEXTURE_2D", level=0, internalformat=6408, width=8, height=8, border=0,
            format="GL_RGBA", type="GL_UNSIGNED_BYTE", pixels=blob(bytes(256)),
        )  # fmt: skip
    gl("glGenBuffers", n=1, buffers=names(4))
    gl("glBindBuffer", target="GL_ARRAY_BUFFER", buffer=4)
    for frame in range(5):
        gl("glBindTexture", target="GL_TEXTURE_2D", texture=5 + frame % 2)
        gl("glBufferData", target="GL_ARRAY_BUFFER", size=512, data=blob(b"vert" * 128), usage="GL_STATIC_DRAW")
        gl("glGetIntegerv", pname="GL_VIEWPORT", data=Data(bytes(16)))
        for program in (2, 3):
            gl("glUseProgram", program=program)
            for _ in range(program):
                gl("glUniform4fv", location=0, count=1, value=f32(1, 0, 0, 1))
            gl(
                "glDrawElements",
                mode="GL_TRIANGLES",
                count=3,
                type="GL_UNSIGNED_SHORT",
                indices=Data(kind=3, pointer=0),
            )
        gl("glDrawArrays", mode="GL_TRIANGLES", first=0, count=0)
        at = 1_000_000 + frame * 20_000_000
        made.thread.call("glFinish", start=at, duration=5_000_000)
        made.thread.call("glGetError", start=at + 6_000_000, duration=10, result=1280)
        made.thread.call("eglSwapBuffers", dpy=0x10, surface=0x20, start=at + 7_000_000, duration=9_000_000, result=1)
        made.calls += 3
    gl("glDeleteTextures", n=1, textures=names(7))
    return made


@pytest.mark.parametrize("question", QUESTIONS, ids=range(len(QUESTIONS)))
def test_a_question_has_an_answer(trace: Trace, question: str) -> None:
    assert trace.sql(question).fetchall(), question


@pytest.fixture(scope="module")
def vulkan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    """An image, memory, a pipeline, and a command buffer with a draw behind a barrier, in three frames."""
    everything = "VK_PIPELINE_STAGE_ALL_COMMANDS_BIT"
    s = VulkanScene().vkCreateImage(DEVICE, {"extent": {"width": 64}}, pImage=[0x10])
    s.vkAllocateMemory(DEVICE, {"allocationSize": 4096}, pMemory=[0x30])
    s.vkCreateGraphicsPipelines(DEVICE, 0, pCreateInfos=[{"layout": 1}], pPipelines=[0x71])
    s.recorded(lambda s: s.vkCmdPipelineBarrier(CB, everything, everything).vkCmdDraw(CB, 3, 1, 0, 0))
    path = s.frames(3, lambda s, i: s.submit()).write(tmp_path_factory.mktemp("queries") / "vulkan.dtap")
    with open_trace(path) as opened:
        yield opened


@pytest.mark.parametrize("question", OF_VULKAN, ids=range(len(OF_VULKAN)))
def test_a_question_about_vulkan_has_an_answer(vulkan: Trace, question: str) -> None:
    assert vulkan.sql(question).fetchall(), question


def test_uniforms_are_set_again_by_program(trace: Trace) -> None:
    # The first call of a program is the only one that sets something.
    assert sorted(trace.sql(f"{ASKED} GROUP BY ALL").fetchall()) == [(2, "glUniform4fv", 9), (3, "glUniform4fv", 14)]


def test_findings_are_those_of_the_checklist(trace: Trace) -> None:
    from drawtap.analysis.checklist import checklist

    told = {j.rule.id: (j.rule.severity, j.rows, j.calls, j.ns) for j in checklist(trace).findings}
    query = "SELECT rule, severity, count(*), sum(n), coalesce(sum(ns), 0) FROM findings GROUP BY ALL"
    assert {rule: tuple(map(_plain, rest)) for rule, *rest in trace.sql(query)} == told
    assert trace.sql("SELECT count(*) FROM findings WHERE frame IS NULL AND seq IS NOT NULL").fetchone() == (0,)
    [described] = [row for row in trace.sql("DESCRIBE findings") if row[0] == "ns"]
    assert described[1] == "BIGINT"


def _plain(value: object) -> object:
    return value if isinstance(value, str) else int(str(value))
