"""Which calls of Vulkan did nothing: by the rules of the API, on small traces."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from drawtap.trace.trace import open_trace
from drawtap.trace.vulkan_waste import vulkan_waste
from shared import run_drawtap
from vulkan_scene import CB, DEVICE, POOL, QUEUE, SECONDARY, VulkanScene
from writer import Data

Scene = VulkanScene
GRAPHICS, COMPUTE = "VK_PIPELINE_BIND_POINT_GRAPHICS", "VK_PIPELINE_BIND_POINT_COMPUTE"
VERTEX, FRAGMENT = "VK_SHADER_STAGE_VERTEX_BIT", "VK_SHADER_STAGE_FRAGMENT_BIT"
FRONT, BACK, BOTH = "VK_STENCIL_FACE_FRONT_BIT", "VK_STENCIL_FACE_BACK_BIT", "VK_STENCIL_FACE_FRONT_AND_BACK"
FREE, FIXED, LIBRARY = 0x61, 0x62, 0x63  # pipelines: viewports and the like are dynamic, none is, parts say more
LAYOUT, OTHER, SETS = 0x70, 0x71, (0x80, 0x81)
MEMORY, BUFFER, SPARE = 0x90, 0x91, 0x92
SAME, UNREAD, UNSEEN, UNUSED = "same value", "unread state", "unseen draw", "unused object"
_STATES = ("VIEWPORT", "SCISSOR", "LINE_WIDTH", "STENCIL_REFERENCE", "DEPTH_TEST_ENABLE", "VIEWPORT_WITH_COUNT")


def started() -> Scene:
    s = Scene().vkCreateDevice(0x50, {}, pDevice=[DEVICE]).vkGetDeviceQueue(DEVICE, 0, 0, pQueue=[QUEUE])
    s.vkCreateSwapchainKHR(DEVICE, {"imageArrayLayers": 1}, pSwapchain=[0x900])
    dynamic = {"pDynamicStates": [f"VK_DYNAMIC_STATE_{name}" for name in _STATES]}
    library: dict[str, object] = {"pNext": [("VkPipelineLibraryCreateInfoKHR", {})], "pDynamicState": dynamic}
    infos = [{"pDynamicState": dynamic}, {}, library]
    s.vkCreateGraphicsPipelines(DEVICE, 0, pCreateInfos=infos, pPipelines=[FREE, FIXED, LIBRARY])
    s.vkCreateCommandPool(DEVICE, {}, pCommandPool=[POOL])
    return s.vkAllocateCommandBuffers(DEVICE, {"commandPool": POOL}, pCommandBuffers=[CB, SECONDARY])


def found(s: Scene, to: Path) -> list[tuple[str, str]]:
    """Return name and kind of the calls that did nothing, in order."""
    with open_trace(s.write(to / "t.dtap")) as trace:
        rows = trace.sql("SELECT c.name, r.kind FROM redundancy r JOIN calls c USING (seq) ORDER BY seq").fetchall()
    return [(str(name).removeprefix("vkCmd"), str(kind)) for name, kind in rows]


def commands(body: Callable[[Scene], object], to: Path) -> list[tuple[str, str]]:
    """Record and submit commands, and return those that did nothing. Nothing is shown: all work counts."""
    s = started().recorded(lambda s: body(s.vkCmdBindPipeline(CB, GRAPHICS, FREE)))
    return [(name, kind) for name, kind in found(s.submit(), to) if not name.startswith("vk")]


def draw(s: Scene) -> Scene:
    return s.vkCmdDraw(CB, 3, 1, 0, 0)


def viewport(s: Scene, width: int = 8, first: int = 0, count: int = 1) -> Scene:
    return s.vkCmdSetViewport(CB, first, pViewports=[{"width": width}] * count)


def bound(s: Scene, pipeline: int = FREE) -> Scene:
    return s.vkCmdBindPipeline(CB, GRAPHICS, pipeline)


def sets(s: Scene, *handles: int, first: int = 0, layout: int = LAYOUT) -> Scene:
    return s.vkCmdBindDescriptorSets(CB, GRAPHICS, layout, first, pDescriptorSets=list(handles))


def push(s: Scene, value: bytes, offset: int = 0, stages: str = VERTEX, layout: int = LAYOUT) -> Scene:
    return s.vkCmdPushConstants(CB, layout, stages, offset, len(value), pValues=value)


def vertices(s: Scene, *buffers: int, first: int = 0) -> Scene:
    return s.vkCmdBindVertexBuffers(CB, first, pBuffers=list(buffers), pOffsets=[0] * len(buffers))


def stencil(s: Scene, face: str, value: int) -> Scene:
    return s.vkCmdSetStencilReference(CB, face, value)


VIEWPORT = ("SetViewport", SAME)
REPEATS: dict[str, tuple[Callable[[Scene], object], list[tuple[str, str]]]] = {
    "the same viewport": (lambda s: draw(viewport(draw(viewport(s)))), [VIEWPORT]),
    "another viewport": (lambda s: draw(viewport(draw(viewport(s)), 9)), []),
    "another place": (lambda s: draw(viewport(viewport(s), first=1)), []),
    "one of two": (lambda s: draw(viewport(draw(viewport(s, count=2)), first=1)), []),
    "with a count": (
        lambda s: draw(viewport(draw(viewport(s)).vkCmdSetViewportWithCount(CB, pViewports=[{"width": 8}]))), [],
    ),
    "the same pipeline": (lambda s: draw(bound(draw(viewport(s)))), [("BindPipeline", SAME)]),
    "behind a pipeline that sets it": (lambda s: draw(viewport(bound(draw(bound(draw(viewport(s)), FIXED))))), []),
    "behind a pipeline of parts": (lambda s: draw(viewport(bound(draw(bound(draw(viewport(s)), LIBRARY))))), []),
    "a pipeline whose state was set": (lambda s: draw(bound(viewport(draw(bound(draw(s), FIXED))), FIXED)), []),
    "another point": (lambda s: draw(draw(s).vkCmdBindPipeline(CB, COMPUTE, FREE)), []),
    "the same sets": (
        lambda s: draw(sets(draw(sets(sets(s, SETS[0]), SETS[1], first=1)), SETS[0])), [("BindDescriptorSets", SAME)],
    ),
    "sets of another layout between": (
        lambda s: draw(sets(draw(sets(draw(sets(s, SETS[0])), SETS[1], first=1, layout=OTHER)), SETS[0])), [],
    ),
    "pushed descriptors between": (
        lambda s: draw(sets(draw(draw(sets(s, SETS[0])).vkCmdPushDescriptorSetKHR(CB, GRAPHICS, LAYOUT, 0)), SETS[0])),
        [],
    ),
    "the same constants": (lambda s: draw(push(draw(push(s, b"abcd")), b"abcd")), [("PushConstants", SAME)]),
    "constants over a part": (lambda s: draw(push(draw(push(push(s, b"abcdefgh"), b"abcd", 4)), b"abcdefgh")), []),
    "constants of another stage": (lambda s: draw(push(push(s, b"abcd"), b"abcd", stages=FRAGMENT)), []),
    "the same buffers": (
        lambda s: draw(vertices(draw(vertices(s, BUFFER, BUFFER)), BUFFER, BUFFER)), [("BindVertexBuffers", SAME)],
    ),
    "the same indices": (
        lambda s: draw(draw(s.vkCmdBindIndexBuffer(CB, BUFFER, 0, 0)).vkCmdBindIndexBuffer(CB, BUFFER, 0, 0)),
        [("BindIndexBuffer", SAME)],
    ),
    "another type of indices": (
        lambda s: draw(draw(s.vkCmdBindIndexBuffer(CB, BUFFER, 0, 0)).vkCmdBindIndexBuffer(CB, BUFFER, 0, 1)), [],
    ),
    "secondary commands between": (
        lambda s: draw(viewport(bound(draw(viewport(s)).vkCmdExecuteCommands(CB, pCommandBuffers=[SECONDARY])))), [],
    ),
    "faces": (
        lambda s: draw(stencil(stencil(stencil(s, FRONT, 1), BACK, 2), FRONT, 1)), [("SetStencilReference", SAME)],
    ),
    "a barrier": (
        lambda s: draw(viewport(draw(viewport(s)).vkCmdPipelineBarrier(CB, 1, 1, 0).vkCmdPipelineBarrier(CB, 1, 1, 0))),
        [VIEWPORT],
    ),
    "set twice before a draw": (lambda s: draw(viewport(viewport(s, 9))), [("SetViewport", UNREAD)]),
    "more of it before a draw": (lambda s: draw(viewport(viewport(s, 9), count=2)), [("SetViewport", UNREAD)]),
    "less of it before a draw": (lambda s: draw(viewport(viewport(s, 9, count=2))), []),
    "both faces before a draw": (
        lambda s: draw(stencil(stencil(s, BACK, 1), BOTH, 2)), [("SetStencilReference", UNREAD)],
    ),
    "two pipelines before a draw": (lambda s: draw(bound(bound(viewport(s), FIXED), LIBRARY)),
        [("BindPipeline", UNREAD), ("BindPipeline", UNREAD)]),
    "at the end": (lambda s: viewport(draw(s)), [("SetViewport", UNREAD)]),
    "a draw of nothing": (lambda s: draw(viewport(s).vkCmdDraw(CB, 3, 0, 0, 0)), [("Draw", UNSEEN)]),
    "groups of nothing": (lambda s: draw(s).vkCmdDispatch(CB, 4, 0, 1), [("Dispatch", UNSEEN)]),
    "counts in a buffer": (lambda s: s.vkCmdDrawIndirect(CB, BUFFER, 0, 1, 16), []),
}  # fmt: skip


@pytest.mark.parametrize("what", REPEATS)
def test_state_of_a_command_buffer(what: str, tmp_path: Path) -> None:
    body, expected = REPEATS[what]
    assert commands(body, tmp_path) == expected


def test_nothing_is_left_from_one_command_buffer_to_the_next(tmp_path: Path) -> None:
    s = started()
    for _ in range(2):
        s.recorded(lambda s: draw(viewport(bound(s)))).submit()
    assert dict(found(s, tmp_path)) == {"vkCreateSwapchainKHR": UNUSED}


def test_a_lost_content_is_no_value(tmp_path: Path) -> None:
    """Whether two contents that the recording lacks are the same, nobody knows."""
    lost = Data(b"\1" * 4000, kind=5)

    def body(s: Scene) -> None:
        for _ in range(2):
            draw(s.vkCmdPushConstants(CB, LAYOUT, VERTEX, 0, 4000, pValues=lost))

    assert commands(body, tmp_path) == []


# ---- objects and submissions -----------------------------------------------------------------------------------------

IMAGE, TARGET = 0xA0, 0xA1


def shown(s: Scene, image: int = TARGET) -> Scene:
    """Make an image of the swapchain."""
    return s.vkGetSwapchainImagesKHR(DEVICE, 0x900, pSwapchainImages=[image])


def buffer(s: Scene, handle: int, memory: int) -> Scene:
    s.vkCreateBuffer(DEVICE, {"size": 64}, pBuffer=[handle]).vkAllocateMemory(
        DEVICE, {"allocationSize": 64}, pMemory=[memory]
    )
    return s.vkBindBufferMemory(DEVICE, handle, memory, 0)


def copied(s: Scene, from_: int, to: int, into: int = CB) -> Scene:
    def body(s: Scene) -> None:
        whole = {"imageSubresource": {"layerCount": 1}, "imageExtent": {"width": 4, "height": 4, "depth": 1}}
        s.vkCmdCopyBufferToImage(into, from_, to, 1, pRegions=[whole])

    return s.recorded(body, into)


def test_objects_that_nothing_shown_needs(tmp_path: Path) -> None:
    """With what they are made of: their memory, names, bindings and ends. A question about a device stays."""
    s = buffer(buffer(shown(started()), BUFFER, MEMORY), SPARE, MEMORY + 0x10)
    s.vkGetBufferMemoryRequirements(DEVICE, SPARE, pMemoryRequirements={"size": 64})
    s.vkGetDeviceMemoryCommitment(DEVICE, MEMORY, pCommittedMemoryInBytes=[0])
    s.vkSetDebugUtilsObjectNameEXT(DEVICE, {"objectType": 9, "objectHandle": SPARE, "pObjectName": "spare"})
    s.vkCreateFence(DEVICE, {}, pFence=[0xB0])
    copied(s, BUFFER, TARGET).submit().present()
    s.vkDestroyBuffer(DEVICE, SPARE).vkDestroyBuffer(DEVICE, BUFFER).vkDestroyBuffer(DEVICE, 0)
    assert found(s, tmp_path) == [
        (name, UNUSED) for name in (
            "vkCreateGraphicsPipelines", "vkCreateBuffer", "vkAllocateMemory", "vkBindBufferMemory",
            "vkGetBufferMemoryRequirements", "vkSetDebugUtilsObjectNameEXT", "vkCreateFence", "vkDestroyBuffer",
        )
    ]  # fmt: skip


def test_work_whose_results_are_overwritten(tmp_path: Path) -> None:
    """A fill of all of a buffer that a second one overwrites; the waits for it go with it, the second one stays."""
    s = buffer(shown(started()), BUFFER, MEMORY).vkCreateFence(DEVICE, {}, pFence=[0xB0])
    for value in (1, 2):
        s.recorded(lambda s, value=value: s.vkCmdFillBuffer(CB, BUFFER, 0, 64, value)).submit(fence=0xB0)
        s.vkWaitForFences(DEVICE, pFences=[0xB0], waitAll=1, timeout=9).vkResetFences(DEVICE, pFences=[0xB0])
    copied(s, BUFFER, TARGET, SECONDARY).submit(SECONDARY).present()
    kinds = found(s, tmp_path)
    assert kinds == [
        ("vkCreateGraphicsPipelines", UNUSED), ("vkBeginCommandBuffer", UNSEEN), ("FillBuffer", UNSEEN),
        ("vkEndCommandBuffer", UNSEEN), ("vkQueueSubmit", UNSEEN), ("vkWaitForFences", UNSEEN),
    ]  # fmt: skip


@pytest.mark.parametrize("read", [False, True])
def test_what_the_program_reads_is_needed(read: bool, tmp_path: Path) -> None:
    s = shown(started()).vkCreateQueryPool(DEVICE, {"queryCount": 1}, pQueryPool=[0xC0])
    s.recorded(lambda s: s.vkCmdResetQueryPool(CB, 0xC0, 0, 1).vkCmdWriteTimestamp(CB, 1, 0xC0, 0)).submit()
    if read:
        s.vkGetQueryPoolResults(DEVICE, 0xC0, 0, 1, 8, pData=bytes(8), stride=8)
    s.recorded(draw, SECONDARY).submit(SECONDARY).present()
    assert ("vkCreateQueryPool" in dict(found(s, tmp_path))) is not read


def test_all_work_counts_where_nothing_is_shown(tmp_path: Path) -> None:
    s = buffer(started(), BUFFER, MEMORY)
    s.recorded(lambda s: s.vkCmdFillBuffer(CB, BUFFER, 0, 64, 1)).submit().vkQueueWaitIdle(QUEUE)
    assert dict(found(s, tmp_path)) == {"vkCreateGraphicsPipelines": UNUSED, "vkCreateSwapchainKHR": UNUSED}


def test_bytes_that_no_work_reads(tmp_path: Path) -> None:
    """Two stores to the same place before one submission: the first is overwritten. A memory without use has none."""
    s = buffer(buffer(shown(started()), BUFFER, MEMORY), SPARE, MEMORY + 0x10)
    for memory in (MEMORY, MEMORY + 0x10):
        s.vkMapMemory(DEVICE, memory, 0, 64, 0, ppData=[0x1000])
    s.stored(MEMORY, 0, b"old!").stored(MEMORY + 0x10, 0, b"none").stored(MEMORY, 0, b"new!")
    copied(s, BUFFER, TARGET).submit().present()
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        waste = vulkan_waste(trace)
        contents = [bytes(row["data_data"] or b"") for row in trace.sql("SELECT data_data FROM memory_writes").dicts()]
    assert [data for i, data in enumerate(contents) if waste.stored[0][0] >> i & 1] == [b"new!"]
    done = run_drawtap("simplify", tmp_path / "t.dtap", "-o", tmp_path / "lean.dtap", "--no-verify", "--json")
    assert done.returncode == 0, done.stderr
    with open_trace(tmp_path / "lean.dtap") as lean:
        assert [bytes(data) for (data,) in lean.sql("SELECT data_data FROM memory_writes").fetchall()] == [b"new!"]
        names = [name for (name,) in lean.sql("SELECT name FROM calls").fetchall()]
    assert names.count("vkMapMemory") == names.count("vkCreateBuffer") == 1
    assert json.loads(done.stdout)["removed"][UNUSED] > 0


def test_work_that_is_not_followed_leaves_repeated_commands(tmp_path: Path) -> None:
    s = shown(started()).vkQueueBindSparse(QUEUE, pBindInfo=[{}])
    s.recorded(lambda s: draw(viewport(draw(viewport(bound(s)))))).submit().present()
    assert found(s, tmp_path) == [VIEWPORT]
    done = run_drawtap("simplify", tmp_path / "t.dtap", "-o", tmp_path / "lean.dtap", "--no-verify")
    assert "vkQueueBindSparse is not followed yet" in done.stdout
