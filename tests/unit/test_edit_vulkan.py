"""Which calls of Vulkan may go, and what then lacks something: by the valid usage of the specification."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from drawtap.trace.edit import Editor
from drawtap.trace.trace import open_trace
from vulkan_scene import CB, DEVICE, POOL, QUEUE, SECONDARY, VulkanScene

Scene = VulkanScene
GRAPHICS, COMPUTE = "VK_PIPELINE_BIND_POINT_GRAPHICS", "VK_PIPELINE_BIND_POINT_COMPUTE"
PIPELINE, LAYOUT, SET, VERTICES, QUERIES, MEMORY, FENCE, SEMAPHORE, EVENT, CHAIN = range(0x10, 0x1A)
ONCE = "VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT"


def buffers(s: Scene) -> Scene:
    s.vkCreateCommandPool(DEVICE, {}, pCommandPool=[POOL])
    return s.vkAllocateCommandBuffers(DEVICE, {"commandPool": POOL}, pCommandBuffers=[CB, SECONDARY])


def inside(s: Scene, body: Callable[[Scene], object]) -> Scene:
    s.vkCmdBeginRenderPass(CB, {"renderPass": 5}, 0)
    body(s)
    return s.vkCmdEndRenderPass(CB)


def drawn(s: Scene) -> Scene:
    """Make a draw that uses all that a pipeline can ask for, and run it."""
    s.vkCreatePipelineLayout(
        DEVICE, {"pSetLayouts": [9], "pPushConstantRanges": [{"size": 4}]}, pPipelineLayout=[LAYOUT]
    )
    state = {"pDynamicStates": ["VK_DYNAMIC_STATE_VIEWPORT", "VK_DYNAMIC_STATE_DEPTH_TEST_ENABLE"]}
    vertices = {"pVertexBindingDescriptions": [{"binding": 1, "stride": 4}]}
    info = {"layout": LAYOUT, "pDynamicState": state, "pVertexInputState": vertices}
    s.vkCreateGraphicsPipelines(DEVICE, 0, pCreateInfos=[info], pPipelines=[PIPELINE])
    s.vkCreateBuffer(DEVICE, {"size": 64}, pBuffer=[VERTICES]).vkBindBufferMemory(DEVICE, VERTICES, MEMORY, 0)
    s.vkAllocateDescriptorSets(DEVICE, {"pSetLayouts": [9]}, pDescriptorSets=[SET])
    s.vkUpdateDescriptorSets(DEVICE, pDescriptorWrites=[{"dstSet": SET, "dstBinding": 2}])
    buffers(s)

    def body(s: Scene) -> None:
        s.vkCmdBindPipeline(CB, GRAPHICS, PIPELINE).vkCmdSetViewport(CB, 0, pViewports=[{"width": 8}])
        s.vkCmdSetDepthTestEnableEXT(CB, 1).vkCmdSetLineWidth(CB, 1.0)
        s.vkCmdBindVertexBuffers(CB, 1, pBuffers=[VERTICES], pOffsets=[0]).vkCmdBindIndexBuffer(CB, VERTICES, 0, 0)
        s.vkCmdBindDescriptorSets(CB, GRAPHICS, LAYOUT, 0, pDescriptorSets=[SET])
        s.vkCmdPushConstants(CB, LAYOUT, 1, 0, 4).vkCmdDrawIndexed(CB, 3, 1, 0, 0, 0)

    return s.recorded(lambda s: inside(s, body)).submit()


def paired(s: Scene) -> Scene:
    """Begin and end all that a command buffer can have."""
    buffers(s)

    def body(s: Scene) -> None:
        s.vkCmdResetQueryPool(CB, QUERIES, 0, 2).vkCmdBeginDebugUtilsLabelEXT(CB, {"pLabelName": "a"})
        s.vkCmdBeginQuery(CB, QUERIES, 0, 0).vkCmdBeginConditionalRenderingEXT(CB, {"buffer": 3})
        inside(s, lambda s: s.vkCmdNextSubpass(CB, 0).vkCmdExecuteCommands(CB, pCommandBuffers=[SECONDARY]))
        s.vkCmdEndConditionalRenderingEXT(CB).vkCmdEndQuery(CB, QUERIES, 0).vkCmdEndDebugUtilsLabelEXT(CB)
        s.vkCmdWriteTimestamp(CB, 1, QUERIES, 1).vkCmdSetEvent(CB, EVENT, 1)
        s.vkCmdWaitEvents(CB, pEvents=[EVENT])

    s.recorded(lambda s: s.vkCmdSetLineWidth(SECONDARY, 1.0), SECONDARY).recorded(body).submit()
    return s.vkGetQueryPoolResults(DEVICE, QUERIES, 0, 2)


def presented(s: Scene) -> Scene:
    """Show two frames, as most programs do."""
    s.vkCreateFence(DEVICE, {"flags": "VK_FENCE_CREATE_SIGNALED_BIT"}, pFence=[FENCE])
    s.vkCreateSemaphore(DEVICE, {}, pSemaphore=[SEMAPHORE])
    buffers(s).recorded(lambda s: s.vkCmdSetLineWidth(CB, 1.0))
    for _ in range(2):
        s.vkWaitForFences(DEVICE, pFences=[FENCE], waitAll=1).vkResetFences(DEVICE, pFences=[FENCE])
        s.vkAcquireNextImageKHR(DEVICE, CHAIN, 0, SEMAPHORE, 0, pImageIndex=[0])
        batch = {"pCommandBuffers": [CB], "pWaitSemaphores": [SEMAPHORE], "pSignalSemaphores": [SEMAPHORE]}
        s.vkQueueSubmit(QUEUE, pSubmits=[batch], fence=FENCE)
        s.vkQueuePresentKHR(QUEUE, {"pWaitSemaphores": [SEMAPHORE], "pSwapchains": [CHAIN], "pImageIndices": [0]})
    return s


def counted(s: Scene) -> Scene:
    """Wait for a semaphore that counts, behind a command buffer that runs once; read what it wrote."""
    kind = [("VkSemaphoreTypeCreateInfo", {"semaphoreType": 1, "initialValue": 1})]
    s.vkCreateSemaphore(DEVICE, {"pNext": kind}, pSemaphore=[SEMAPHORE])
    buffers(s).recorded(lambda s: s.vkCmdDispatch(CB, 1, 1, 1), flags=ONCE)
    signal = {"pCommandBuffers": [CB], "pSignalSemaphores": [SEMAPHORE]}
    signal["pNext"] = [("VkTimelineSemaphoreSubmitInfo", {"pSignalSemaphoreValues": [2]})]  # type: ignore[assignment]
    s.vkQueueSubmit(QUEUE, pSubmits=[signal]).recorded(lambda s: s.vkCmdDispatch(CB, 2, 1, 1), flags=ONCE).submit()
    s.vkWaitSemaphores(DEVICE, {"pSemaphores": [SEMAPHORE], "pValues": [2]}, 0)
    return s.vkMapMemory(DEVICE, MEMORY, 0, 4, 0, ppData=[0x1000]).vkUnmapMemory(DEVICE, MEMORY)


def problems(scene: Scene, dropped: str, folder: Path) -> list[str]:
    """Leave out calls, `NAME` or `NAME:n` the n-th of a function; return what the others lack."""
    with open_trace(scene.write(folder / "t.dtap")) as trace:
        names = [str(name) for (name,) in trace.sql("SELECT name FROM calls ORDER BY seq").fetchall()]
        editor = Editor(trace)
        for word in dropped.split():
            name, _, number = word.partition(":")
            found = [seq for seq, other in enumerate(names) if other == name]
            assert found, name
            editor.drop(found[int(number)] if number else found)
        return [f"{b.function} <- {b.cause_function}: {b.text}" for b in editor.problems()]


@pytest.mark.parametrize(
    ("make", "dropped", "lacks"),
    [
        (drawn, "vkCreateBuffer", "vkBindBufferMemory <- vkCreateBuffer: VkBuffer 0x13 is not made"),
        (drawn, "vkBindBufferMemory", "vkCmdBindVertexBuffers <- vkBindBufferMemory: VkBuffer 0x13 has no memory"),
        (drawn, "vkCmdBindPipeline", "vkCmdDrawIndexed <- vkCmdBindPipeline: no pipeline is bound"),
        (drawn, "vkCmdSetViewport", "vkCmdDrawIndexed <- vkCmdSetViewport: a dynamic state of its pipeline is not set"),
        (
            drawn,
            "vkCmdSetDepthTestEnableEXT",
            "vkCmdDrawIndexed <- vkCmdSetDepthTestEnableEXT: a dynamic state of its pipeline is not set",
        ),
        (drawn, "vkCmdBindVertexBuffers", "vkCmdDrawIndexed <- vkCmdBindVertexBuffers: no vertex buffer is bound at 1"),
        (drawn, "vkCmdBindIndexBuffer", "vkCmdDrawIndexed <- vkCmdBindIndexBuffer: no index buffer is bound"),
        (drawn, "vkCmdBindDescriptorSets", "vkCmdDrawIndexed <- vkCmdBindDescriptorSets: no descriptor set 0 is bound"),
        (
            drawn,
            "vkUpdateDescriptorSets",
            "vkCmdBindDescriptorSets <- vkUpdateDescriptorSets: binding 2 of VkDescriptorSet 0x12 is not written",
        ),
        (drawn, "vkCmdPushConstants", "vkCmdDrawIndexed <- vkCmdPushConstants: no push constants are given"),
        (drawn, "vkCmdBeginRenderPass", "vkCmdDrawIndexed <- vkCmdBeginRenderPass: no render pass is begun"),
        (drawn, "vkCmdEndRenderPass", "vkEndCommandBuffer <- vkCmdEndRenderPass: a render pass is not ended"),
        (
            drawn,
            "vkBeginCommandBuffer",
            "vkCmdBeginRenderPass <- vkBeginCommandBuffer: VkCommandBuffer 0x400 is not begun",
        ),
        (drawn, "vkEndCommandBuffer", "vkQueueSubmit <- vkEndCommandBuffer: VkCommandBuffer 0x400 is not recorded"),
        (paired, "vkCmdBeginQuery", "vkCmdEndQuery <- vkCmdBeginQuery: the query that it ends is not begun"),
        (paired, "vkCmdEndQuery", "vkEndCommandBuffer <- vkCmdEndQuery: query 0 of VkQueryPool 0x14 is not ended"),
        (
            paired,
            "vkCmdResetQueryPool",
            "vkCmdBeginQuery <- vkCmdResetQueryPool: query 0 of VkQueryPool 0x14 is not reset",
        ),
        (
            paired,
            "vkCmdWriteTimestamp",
            "vkGetQueryPoolResults <- vkCmdWriteTimestamp: query 1 of VkQueryPool 0x14 has no result",
        ),
        (
            paired,
            "vkCmdBeginDebugUtilsLabelEXT",
            "vkCmdEndDebugUtilsLabelEXT <- vkCmdBeginDebugUtilsLabelEXT: the label that it ends is not begun",
        ),
        (
            paired,
            "vkCmdBeginConditionalRenderingEXT",
            "vkCmdEndConditionalRenderingEXT <- vkCmdBeginConditionalRenderingEXT: conditional rendering is not begun",
        ),
        (paired, "vkCmdNextSubpass", "vkCmdExecuteCommands <- vkCmdNextSubpass: subpass 1 is not begun"),
        (paired, "vkCmdSetEvent", "vkCmdWaitEvents <- vkCmdSetEvent: VkEvent 0x18 is not set"),
        (presented, "vkQueueSubmit:0", "vkWaitForFences <- vkQueueSubmit: VkFence 0x16 is not signalled"),
        (presented, "vkResetFences:0", "vkQueueSubmit <- vkResetFences: VkFence 0x16 is signalled already"),
        (
            presented,
            "vkAcquireNextImageKHR:0",
            "vkQueueSubmit <- vkAcquireNextImageKHR: VkSemaphore 0x17 is not signalled",
        ),
        (
            presented,
            "vkQueuePresentKHR:0",
            "vkAcquireNextImageKHR <- vkQueuePresentKHR: VkSemaphore 0x17 is signalled already",
        ),
        (counted, "vkQueueSubmit:0", "vkWaitSemaphores <- vkQueueSubmit: VkSemaphore 0x17 does not reach 2"),
        # The first recording ran already, and once is all that it may.
        (
            counted,
            "vkBeginCommandBuffer:1 vkCmdDispatch:1 vkEndCommandBuffer:1",
            "vkQueueSubmit <- vkEndCommandBuffer: VkCommandBuffer 0x400 is not recorded",
        ),
        (counted, "vkMapMemory", "vkUnmapMemory <- vkMapMemory: VkDeviceMemory 0x15 is not mapped"),
    ],
)  # fmt: skip
def test_what_lacks_something_is_named(
    make: Callable[[Scene], Scene], dropped: str, lacks: str, tmp_path: Path
) -> None:
    assert lacks in problems(make(Scene()), dropped, tmp_path)


@pytest.mark.parametrize(
    ("make", "dropped"),
    [
        (drawn, "vkCmdDrawIndexed"),
        (drawn, "vkCmdSetLineWidth"),  # no dynamic state of the pipeline
        (drawn, "vkCmdBeginRenderPass vkCmdEndRenderPass vkCmdDrawIndexed"),
        (drawn, "vkCmdBindIndexBuffer vkCmdBindVertexBuffers vkBindBufferMemory vkCreateBuffer vkCmdDrawIndexed"),
        (paired, "vkCmdBeginQuery vkCmdEndQuery vkGetQueryPoolResults"),
        (paired, "vkCmdBeginDebugUtilsLabelEXT vkCmdEndDebugUtilsLabelEXT"),
        (paired, "vkCmdEndDebugUtilsLabelEXT"),  # it may end in a later command buffer
        (paired, "vkCmdBeginConditionalRenderingEXT vkCmdEndConditionalRenderingEXT"),
        (paired, "vkCmdNextSubpass vkCmdExecuteCommands vkCmdBeginRenderPass vkCmdEndRenderPass"),
        (presented, "vkQueuePresentKHR:1"),
        (presented, "vkWaitForFences"),
        (counted, "vkCmdDispatch"),
        (counted, "vkQueueSubmit vkWaitSemaphores"),
        (counted, "vkMapMemory vkUnmapMemory"),
    ],
)
def test_what_nothing_needs_may_go(make: Callable[[Scene], Scene], dropped: str, tmp_path: Path) -> None:
    assert problems(make(Scene()), dropped, tmp_path) == []


def test_a_cause_is_said_once_and_only_what_was_right_before(tmp_path: Path) -> None:
    """Two draws without a pipeline have one cause; a draw that never had one is no matter of the edit."""
    s = buffers(Scene()).recorded(
        lambda s: inside(
            s,
            lambda s: s.vkCmdDraw(CB, 1, 1, 0, 0).vkCmdBindPipeline(CB, GRAPHICS, PIPELINE).vkCmdDraw(CB, 2, 1, 0, 0)
            .vkCmdDraw(CB, 3, 1, 0, 0),
        )
    )  # fmt: skip
    assert len(problems(s, "vkCmdBindPipeline", tmp_path)) == 1
    assert problems(s, "vkCmdDraw:1 vkCmdDraw:2 vkCmdBindPipeline", tmp_path) == []


def test_an_earlier_binding_is_enough(tmp_path: Path) -> None:
    s = buffers(Scene()).recorded(
        lambda s: inside(s, lambda s: s.vkCmdBindPipeline(CB, GRAPHICS, 1).vkCmdBindPipeline(CB, GRAPHICS, 2)
                         .vkCmdDraw(CB, 2, 1, 0, 0))
    )  # fmt: skip
    assert problems(s, "vkCmdBindPipeline:1", tmp_path) == []
    assert len(problems(s, "vkCmdBindPipeline", tmp_path)) == 1


def test_secondary_command_buffers_leave_no_state(tmp_path: Path) -> None:
    """Behind them a pipeline is bound anew; without that the binding before them does not help."""
    s = buffers(Scene()).recorded(
        lambda s: s.vkCmdBindPipeline(CB, COMPUTE, 1).vkCmdExecuteCommands(CB, pCommandBuffers=[7])
        .vkCmdBindPipeline(CB, COMPUTE, 2).vkCmdDispatch(CB, 1, 1, 1)
    )  # fmt: skip
    assert len(problems(s, "vkCmdBindPipeline:1", tmp_path)) == 1
    assert problems(s, "vkCmdBindPipeline:1 vkCmdExecuteCommands", tmp_path) == []
