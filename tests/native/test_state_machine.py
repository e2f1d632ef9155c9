"""The state machine by itself: what calls read and write, and hostile recordings under the sanitizers."""

from __future__ import annotations

import os
import random
import struct
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import sanitized
from drawtap.instrument import generate_state
from shared import once, steps
from state_traces import Hostile, Recording, names
from vulkan_scene import CB, DEVICE, POOL, QUEUE, SECONDARY, VulkanScene
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
        native / "core" / "vulkan_call.cc",
        native / "state" / "feed.cc",
        *sorted((native / "extract").glob("vulkan_*.cc")),
        ROOT / "tests/native/state_tool.cc",
    ]
    rooms = [generated, native / "state", native / "common", native / "third_party"]

    libraries = ("zstd", "pthread", "dl")
    return sanitized.build(folder / "state_tool", sources, libraries=libraries, includes=rooms)


def run(tool: Path, mode: str, *paths: Path) -> str:
    environment = os.environ | {"ASAN_OPTIONS": f"{sanitized.OPTIONS}:hard_rss_limit_mb=2048"}
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
    paths = [
        Hostile(seed, "gl" if seed % 6 else "vg").trace(tmp_path / f"{seed}.dtap", steps(1500, 4000)) for seed in seeds
    ]
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


MEMORY, BUFFER, IMAGE, VIEW, LAYOUT, SETS, SET, OTHER, PASS, FRAME, FENCE, TIMELINE = range(0x10, 0x1C)


def objects() -> VulkanScene:
    """Objects of Vulkan with what they need each other for."""
    s = VulkanScene()
    s.vkCreateDevice(1, {}, pDevice=[DEVICE]).vkGetDeviceQueue(DEVICE, 0, 0, [QUEUE])
    s.vkCreateCommandPool(DEVICE, {}, pCommandPool=[POOL])
    s.vkAllocateCommandBuffers(DEVICE, {"commandPool": POOL, "commandBufferCount": 2}, [CB, SECONDARY])
    s.vkAllocateMemory(DEVICE, {"allocationSize": 4096}, pMemory=[MEMORY]).vkMapMemory(DEVICE, MEMORY, 0, 4096)
    s.vkCreateBuffer(DEVICE, {"size": 256}, pBuffer=[BUFFER]).vkBindBufferMemory(DEVICE, BUFFER, MEMORY, 0)
    size = {"width": 4, "height": 4, "depth": 1}
    s.vkCreateImage(DEVICE, {"extent": size, "mipLevels": 1, "arrayLayers": 1, "tiling": 1}, pImage=[IMAGE])
    s.vkBindImageMemory2(DEVICE, pBindInfos=[{"image": IMAGE, "memory": MEMORY, "memoryOffset": 512}])
    s.vkCreateImageView(DEVICE, {"image": IMAGE, "subresourceRange": {"levelCount": 1, "layerCount": 1}}, pView=[VIEW])
    s.vkCreateDescriptorSetLayout(
        DEVICE, {"pBindings": [{"binding": 0, "descriptorType": 6, "descriptorCount": 2**31}]}, pSetLayout=[LAYOUT]
    )
    s.vkCreateDescriptorPool(DEVICE, {"maxSets": 2}, pDescriptorPool=[SETS])
    s.vkAllocateDescriptorSets(DEVICE, {"descriptorPool": SETS, "pSetLayouts": [LAYOUT, LAYOUT]}, [SET, OTHER])
    write = {"dstSet": SET, "descriptorType": 6, "pBufferInfo": [{"buffer": BUFFER, "range": 64}]}
    return s.vkUpdateDescriptorSets(DEVICE, pDescriptorWrites=[write])


def lives() -> VulkanScene:
    """Frames with work, waits, and bytes that the program stores."""
    s = objects()
    attachment = {"loadOp": 1, "storeOp": 0, "finalLayout": 2}
    subpass = {"pColorAttachments": [{"attachment": 0, "layout": 2}]}
    s.vkCreateRenderPass(DEVICE, {"pAttachments": [attachment], "pSubpasses": [subpass]}, pRenderPass=[PASS])
    frame = {"renderPass": PASS, "pAttachments": [VIEW], "width": 4, "height": 4, "layers": 1}
    s.vkCreateFramebuffer(DEVICE, frame, pFramebuffer=[FRAME]).vkCreateFence(DEVICE, {}, pFence=[FENCE])
    kind = [("VkSemaphoreTypeCreateInfo", {"semaphoreType": 1})]
    s.vkCreateSemaphore(DEVICE, {"pNext": kind}, pSemaphore=[TIMELINE])
    s.recorded(lambda s: s.vkCmdFillBuffer(SECONDARY, BUFFER, 0, 256, 7), SECONDARY)
    for i in range(1, 4):
        s.stored(MEMORY, 16 * i, bytes(16)).vkBeginCommandBuffer(CB, {})
        s.vkCmdBeginRenderPass(CB, {"renderPass": PASS, "framebuffer": FRAME}, 0).vkCmdDraw(CB, 3, 1, 0, 0)
        s.vkCmdEndRenderPass(CB).vkCmdExecuteCommands(CB, 1, [SECONDARY]).vkEndCommandBuffer(CB)
        signals = [("VkTimelineSemaphoreSubmitInfo", {"pSignalSemaphoreValues": [i]})]
        s.vkQueueSubmit(
            QUEUE, pSubmits=[{"pCommandBuffers": [CB], "pSignalSemaphores": [TIMELINE], "pNext": signals}], fence=FENCE
        )
        s.vkWaitForFences(DEVICE, 1, [FENCE], 1, 0).vkResetFences(DEVICE, 1, [FENCE]).present()
    s.vkResetCommandPool(DEVICE, POOL, 0).vkDestroyBuffer(DEVICE, BUFFER).vkDestroyDescriptorPool(DEVICE, SETS)
    return s.vkUnmapMemory(DEVICE, MEMORY).vkDestroyDevice(DEVICE)


def lying(seed: int) -> VulkanScene:
    """The same with other handles, counts, and addresses: chains and trees that lead to themselves are among them."""
    chance, s = random.Random(seed), lives()
    wrong = (0, 1, 8, 16, 24, 40, 64, 0x18, 0xDEAD, 2**31, 2**32 - 1, 2**63, 2**64 - 1, *range(MEMORY, TIMELINE + 1))
    for at in chance.sample(range(len(s.steps)), 12):
        values = dict(s.steps[at].values)
        for name, value in values.items():
            if isinstance(value, int) and chance.random() < 0.3:
                values[name] = chance.choice(wrong) & 0x7FFFFFFF
            if isinstance(value, Data) and len(value.content) >= 8:
                content = bytearray(value.content)
                struct.pack_into("<Q", content, 8 * chance.randrange(len(content) // 8), chance.choice(wrong))
                values[name] = replace(value, content=bytes(content))
        s.steps[at].values = values
    return s


def test_recordings_of_vulkan_that_lie(tool: Path, tmp_path: Path) -> None:
    paths = [lives().write(tmp_path / "whole.dtap")]
    paths += [lying(seed).write(tmp_path / f"{seed}.dtap") for seed in range(60)]
    said = run(tool, "choose", *paths).splitlines()
    assert len(said) == len(paths)
    assert said[0].startswith("chosen ")
    assert said[0].endswith(" ")


def nested() -> VulkanScene:
    """Each command buffer executes the one before it twice."""
    s = objects()
    buffers = list(range(0x1000, 0x1030))
    s.vkAllocateCommandBuffers(DEVICE, {"commandPool": POOL, "commandBufferCount": len(buffers)}, buffers)
    s.recorded(lambda s: s.vkCmdFillBuffer(buffers[0], BUFFER, 0, 4, 7), buffers[0])
    for inside, buffer in pairwise(buffers):
        s.recorded(lambda s, a=inside, b=buffer: s.vkCmdExecuteCommands(b, 2, [a, a]), buffer)
    return s.submit(buffers[-1])


def copied() -> VulkanScene:
    """A set is copied to itself, from where nothing was written."""
    s = objects()
    copy = {"srcSet": SET, "srcArrayElement": 7, "dstSet": SET, "dstArrayElement": 9, "descriptorCount": 2}
    for _ in range(48):
        s.vkUpdateDescriptorSets(DEVICE, pDescriptorCopies=[copy])
    return s


def unknown() -> VulkanScene:
    """Writes of as many descriptors as can be, of which nothing is there."""
    s = objects()
    for i in range(48):
        writes = [
            {"dstSet": SET, "descriptorType": 6, "dstArrayElement": (8 * i + k) << 16, "descriptorCount": 2**32 - 1}
            for k in range(8)
        ]
        s.vkUpdateDescriptorSets(DEVICE, pDescriptorWrites=writes)
    return s


def reused() -> VulkanScene:
    """One handle is given to many objects that never end."""
    s = objects()
    for _ in range(400):
        s.vkCreateFence(DEVICE, {}, pFence=[FENCE]).vkResetFences(DEVICE, 1, [FENCE])
    return s


def test_little_of_vulkan_that_grows(tool: Path, tmp_path: Path) -> None:
    makers = (nested, copied, unknown, reused)
    said = run(tool, "choose", *(make().write(tmp_path / make.__name__) for make in makers)).splitlines()
    reasons = ["secondary command buffers do too much to be followed", "", "", "one handle stands for too many objects"]
    assert [line.split(" ", 2)[2] for line in said] == reasons
