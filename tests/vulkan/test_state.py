"""The state of Vulkan at a call, of draws.c."""

from __future__ import annotations

from pathlib import Path

from drawtap.trace.trace import open_trace
from drawtap.trace.vulkan_state import vulkan_state


def seqs(trace: Path, name: str) -> list[int]:
    with open_trace(trace) as opened:
        return [row[0] for row in opened.sql(f"SELECT seq FROM calls WHERE name = '{name}' ORDER BY seq").fetchall()]


def test_objects_exist_from_their_creation_until_their_end(draws: Path) -> None:
    trace = draws / "pass.dtap"
    [made], [ended] = seqs(trace, "vkCreatePipelineLayout"), seqs(trace, "vkDestroyPipelineLayout")
    [bound, *_], [image, *_] = seqs(trace, "vkBindImageMemory"), seqs(trace, "vkCreateImage")
    with open_trace(trace) as opened:
        for call, there in ((made - 1, False), (made, True), (ended - 1, True), (ended, False)):
            assert bool(vulkan_state(opened, call, "VkPipelineLayout[")) is there
        before, after = (dict(vulkan_state(opened, call, "VkImage[")) for call in (image, bound))
    assert [value for path, value in before.items() if path.endswith("info.extent.width")] == [8]
    assert not [path for path in before if path.endswith("].memory")]
    assert [path for path in after if path.endswith("].memory")]


def test_command_buffers_are_what_was_last_done_to_them(draws: Path) -> None:
    trace = draws / "pass.dtap"
    begins, ends = seqs(trace, "vkBeginCommandBuffer"), seqs(trace, "vkEndCommandBuffer")
    submits = seqs(trace, "vkQueueSubmit")
    with open_trace(trace) as opened:

        def states(call: int) -> list[object]:
            return sorted(str(v) for p, v in vulkan_state(opened, call, "VkCommandBuffer[") if p.endswith("].state"))

        assert states(begins[0] - 1) == ["initial", "initial"]
        assert states(begins[0]) == ["initial", "recording"]
        assert states(ends[0]) == ["executable", "initial"]
        assert states(ends[1]) == ["executable", "executable"]
        held = dict(vulkan_state(opened, submits[1], "VkCommandBuffer["))
    assert sorted(v for p, v in held.items() if p.endswith("holds.vkCmdDraw")) == [2, 2]  # type: ignore[type-var]
    assert [v for p, v in held.items() if p.endswith("submitted_seq")] == [submits[1]]


def test_descriptor_sets_have_what_updates_gave(draws: Path) -> None:
    trace = draws / "dispatch.dtap"
    [update], [template] = seqs(trace, "vkUpdateDescriptorSets"), seqs(trace, "vkUpdateDescriptorSetWithTemplate")
    with open_trace(trace) as opened:
        assert not [p for p, _ in vulkan_state(opened, update - 1, "VkDescriptorSet[") if "content" in p]
        found = {p.partition("].")[2]: v for p, v in vulkan_state(opened, template, "VkDescriptorSet[")}
    assert found["content[0][0].type"] == "VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC"
    assert (found["content[0][0].range"], found["content[0][0].seq"]) == (32, update)
    assert (found["content[2][0].imageLayout"], found["content[2][0].seq"]) == ("VK_IMAGE_LAYOUT_GENERAL", template)
