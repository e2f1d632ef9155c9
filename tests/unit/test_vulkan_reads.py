"""Draws of Vulkan that read bytes of a buffer: bindings, strides and counts tell which, as the specification says."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from drawtap.analysis.vulkan_reads import MOST_DRAWS, reads
from drawtap.trace.trace import open_trace
from drawtap.web.recording import Recording
from vulkan_scene import CB, DEVICE, VulkanScene

BUFFER, OTHER, PIPELINE, SET, VIEW, MEMORY = 0x20, 0x21, 0x50, 0x60, 0x70, 0x80
POINT = "VK_PIPELINE_BIND_POINT_GRAPHICS"
ALL = range(1 << 20)
INPUT = {
    "pVertexBindingDescriptions": [
        {"binding": 0, "stride": 16, "inputRate": "VK_VERTEX_INPUT_RATE_VERTEX"},
        {"binding": 1, "stride": 4, "inputRate": "VK_VERTEX_INPUT_RATE_INSTANCE"},
    ],
    "pVertexAttributeDescriptions": [
        {"location": 0, "binding": 0, "format": "VK_FORMAT_R32G32B32_SFLOAT", "offset": 4},
        {"location": 1, "binding": 1, "format": "VK_FORMAT_A2B10G10R10_UNORM_PACK32", "offset": 0},
    ],
}


def _scene() -> VulkanScene:
    s = VulkanScene().vkCreateBuffer(DEVICE, {"size": 4096}, pBuffer=[BUFFER])
    s.vkCreateBufferView(DEVICE, {"buffer": BUFFER, "offset": 64, "range": 32}, pView=[VIEW])
    s.vkCreateGraphicsPipelines(DEVICE, 0, pCreateInfos=[{"pVertexInputState": INPUT}], pPipelines=[PIPELINE])
    block = {"buffer": BUFFER, "offset": 256, "range": 64}
    kinds = (
        ("VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC", {"pBufferInfo": [block]}),
        ("VK_DESCRIPTOR_TYPE_STORAGE_BUFFER", {"pBufferInfo": [{**block, "offset": 3072, "range": (1 << 64) - 1}]}),
        ("VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER", {"pTexelBufferView": [VIEW]}),
    )
    writes = [{"dstSet": SET, "dstBinding": i, "descriptorType": k, **what} for i, (k, what) in enumerate(kinds)]
    return s.vkUpdateDescriptorSets(DEVICE, pDescriptorWrites=writes, pDescriptorCopies=[])


def _bind(s: VulkanScene) -> VulkanScene:
    s.vkCmdBindPipeline(CB, POINT, PIPELINE)
    s.vkCmdBindVertexBuffers(CB, 0, pBuffers=[BUFFER, BUFFER], pOffsets=[128, 1024])
    s.vkCmdBindIndexBuffer(CB, BUFFER, 512, "VK_INDEX_TYPE_UINT16")
    return s.vkCmdBindDescriptorSets(CB, POINT, 1, 0, pDescriptorSets=[SET], pDynamicOffsets=[32])


DESCRIPTORS = [
    ("storage buffer, set 0, binding 1", 3072, None, False),
    ("uniform buffer dynamic, set 0, binding 0", 288, 352, False),
    ("uniform texel buffer, set 0, binding 2", 64, 96, False),
]


@pytest.mark.parametrize(
    ("draw", "arguments", "expected"),
    [
        (
            "vkCmdDraw",
            (3, 2, 10, 5),
            [
                ("attribute 0, vertices 10 to 12", 128 + 4 + 160, 128 + 4 + 12 * 16 + 12, True),
                ("attribute 1, instances 5 to 6", 1024 + 20, 1024 + 28, True),
            ],
        ),
        (
            "vkCmdDrawIndexed",
            (6, 1, 4, 0, 0),
            [
                ("attribute 1, instances 0", 1024, 1028, True),
                ("indices 4 to 9", 512 + 8, 512 + 20, True),
            ],
        ),
        ("vkCmdDrawIndirect", (BUFFER, 2048, 2, 32), [("numbers of the draw", 2048, 2048 + 32 + 16, True)]),
    ],
)
def test_a_draw_reads_what_its_numbers_say(
    draw: str, arguments: tuple[int, ...], expected: list[object], tmp_path: Path
) -> None:
    s = _scene().recorded(lambda s: getattr(_bind(s), draw)(CB, *arguments)).frames(1, lambda s, _: s.submit())
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        [(seq, submit)] = trace.sql("SELECT seq, submit_seq FROM executed WHERE kind = 'draw'").fetchall()
        touches, draws = reads(trace, BUFFER, ALL, within=range(len(trace.calls)))
        nothing, others = reads(trace, OTHER, ALL, within=range(len(trace.calls)))
        inside, _ = reads(trace, BUFFER, range(288, 289), within=range(len(trace.calls)))
    assert (draws, nothing, others) == (1, [], 0)
    assert {(one.seq, one.function) for one in touches} == {(submit, draw)}
    found = [(one.how.removesuffix(f", call {seq}"), one.first, one.end, one.sure) for one in touches]
    # Whose vertices a buffer or indices choose: all of them may be read.
    certain = sorted(one for one in found if not (one[0].startswith("attribute") and not one[3]))
    assert certain == sorted([*expected, *DESCRIPTORS], key=lambda one: one[0])  # type: ignore[index]
    assert [one.how for one in inside if one.how.startswith("uniform")] == [
        f"uniform buffer dynamic, set 0, binding 0, call {seq}"
    ]
    assert not [one for one in inside if one.how.startswith(("indices", "storage", "numbers"))]


def test_the_last_draws_are_looked_at(tmp_path: Path) -> None:
    s = _scene().recorded(lambda s: _bind(s).vkCmdDraw(CB, 3, 1, 0, 0))
    s.recorded(lambda s: s.vkCmdDraw(CB + 1, 3, 1, 0, 0), buffer=CB + 1)  # where nothing is bound
    s.frames(MOST_DRAWS + 4, lambda s, _: s.submit(CB, CB + 1))
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        submits = [int(n) for (n,) in trace.sql("SELECT seq FROM submits ORDER BY seq").fetchall()]
        touches, draws = reads(trace, BUFFER, range(288, 289), within=range(len(trace.calls)))
        _, before = reads(trace, BUFFER, range(288, 289), within=range(submits[3]))
    assert (draws, before) == (MOST_DRAWS + 4, 3)
    assert {one.seq for one in touches} == set(submits[-MOST_DRAWS:])


def test_a_store_ends_where_the_buffer_ends(tmp_path: Path) -> None:
    """Stores are recorded by pages: the rest of a page belongs to other objects in the same memory."""
    s = VulkanScene().vkCreateBuffer(DEVICE, {"size": 64}, pBuffer=[BUFFER])
    s.vkAllocateMemory(DEVICE, {"allocationSize": 4096}, pMemory=[MEMORY])
    s.vkBindBufferMemory(DEVICE, BUFFER, MEMORY, 128).stored(MEMORY, 0, bytes(4096)).stored(MEMORY, 144, bytes(8))
    s.frames(1, lambda s, _: s.submit())
    with contextlib.closing(Recording(s.write(tmp_path / "t.dtap"))) as seen:
        last = seen.trace.calls[-1].seq
        rows = seen.buffers.touched(last, 0, BUFFER, 0, 64)["writers"]["rows"]
    assert sorted(row[3:] for row in rows) == [[0, 63, "yes"], [16, 23, "yes"]]
