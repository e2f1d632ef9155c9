"""Ends of frames of Vulkan programs that never present, and groups of their debug labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from drawtap.trace.trace import open_trace
from vulkan_scene import CB, DEVICE, QUEUE, SECONDARY, VulkanScene


def boundary(scene: VulkanScene, number: int, *, ends: bool) -> VulkanScene:
    chain = [("VkFrameBoundaryEXT", {"flags": int(ends), "frameID": number})]
    return scene.vkQueueSubmit(QUEUE, pSubmits=[{"pCommandBuffers": [CB]}, {"pNext": chain}])


def boundaries(s: VulkanScene) -> None:
    for number in range(3):
        boundary(s, number, ends=False)
        boundary(s, number, ends=True)
        s.vkDeviceWaitIdle(DEVICE)


def queue_labels(s: VulkanScene) -> None:
    for number in range(3):
        s.vkQueueBeginDebugUtilsLabelEXT(QUEUE, {"pLabelName": f"Frame #{number}"})
        s.vkQueueBeginDebugUtilsLabelEXT(QUEUE, {"pLabelName": "framework"}).submit()
        s.vkQueueEndDebugUtilsLabelEXT(QUEUE).submit().vkQueueEndDebugUtilsLabelEXT(QUEUE)
    s.vkQueueBeginDebugUtilsLabelEXT(QUEUE, {"pLabelName": "frame 3"}).submit()  # the program ended inside


def command_labels(s: VulkanScene) -> None:
    for _ in range(3):
        name = {"pLabelName": "vr-marker,frame_end,type,application"}
        s.recorded(lambda s: s.vkCmdInsertDebugUtilsLabelEXT(CB, name))  # noqa: B023
        s.submit(SECONDARY).submit()


def fences(s: VulkanScene) -> None:
    for _ in range(3):
        s.submit().vkGetFenceStatus(DEVICE, 0x20, result="VK_NOT_READY").submit()
        for result in ("VK_TIMEOUT", "VK_SUCCESS"):
            s.vkWaitForFences(DEVICE, pFences=[0x20], waitAll=1, timeout=0, result=result)
    s.vkDeviceWaitIdle(DEVICE)


@pytest.mark.parametrize(
    ("scene", "rule", "by", "calls"),
    [
        (boundaries, "boundary", "vkQueueSubmit", [2, 3, 3]),
        (queue_labels, "label", "vkQueueEndDebugUtilsLabelEXT", [6, 6, 6]),
        (command_labels, "label", "vkQueueSubmit", [5, 5, 5]),
        (fences, "finish", "vkWaitForFences", [5, 5, 5]),
        (lambda s: s.submit().submit(), "none", None, [2]),
    ],
)
def test_what_ends_a_frame(
    scene: Callable[[VulkanScene], None], rule: str, by: str | None, calls: list[int], tmp_path: Path
) -> None:
    s = VulkanScene()
    scene(s)
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        assert trace.info["frame_end"]["rule"] == rule
        rows = trace.sql("SELECT calls, end_function FROM frames ORDER BY frame").fetchall()
        assert rows == [(n, by) for n in calls]


def test_a_program_that_presents_shows_frames_so(tmp_path: Path) -> None:
    s = VulkanScene().frames(2, lambda s, i: boundary(boundary(s, i, ends=True), i, ends=True))
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        assert (trace.info["frame_end"]["rule"], trace.info["frames"]) == ("frame_end", 2)


def test_labels_are_groups_of_their_queue_or_command_buffer(tmp_path: Path) -> None:
    s = VulkanScene()
    s.vkSetDebugUtilsObjectNameEXT(DEVICE, {"objectHandle": CB, "pObjectName": "shadows"})
    s.vkQueueBeginDebugUtilsLabelEXT(QUEUE, {"pLabelName": "upload"})
    s.vkBeginCommandBuffer(CB, {}).vkCmdBeginDebugUtilsLabelEXT(CB, {"pLabelName": "left open"})
    s.vkBeginCommandBuffer(SECONDARY, {}).vkCmdBeginDebugUtilsLabelEXT(SECONDARY, {"pLabelName": "other"})
    s.vkCmdDraw(CB, 3, 1, 0, 0).vkEndCommandBuffer(CB)
    s.vkCmdEndDebugUtilsLabelEXT(SECONDARY).vkCmdEndDebugUtilsLabelEXT(SECONDARY)  # one too many
    s.vkCmdDebugMarkerInsertEXT(SECONDARY, {"pMarkerName": "here"}).vkEndCommandBuffer(SECONDARY)
    s.submit().vkQueueEndDebugUtilsLabelEXT(QUEUE)
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        rows = trace.sql("SELECT kind, text, depth, seq, end_seq FROM markers ORDER BY seq").fetchall()
    assert rows == [
        ("label", "shadows", 0, 0, 1),
        ("group", "upload", 0, 1, 14),
        ("group", "left open", 1, 3, 7),
        ("group", "other", 2, 5, 9),
        ("insert", "here", 1, 10, 11),
    ]
