"""Tables about Vulkan: what runs, in which order and how often; objects, memory, barriers, pipelines, shaders."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from drawtap.errors import QueryError
from drawtap.trace.trace import open_trace
from vulkan_scene import CB, DEVICE, POOL, QUEUE, SECONDARY, VulkanScene
from writer import Data

TABLES = ("objects", "submits", "executed", "allocations", "barriers", "pipelines", "shaders")
OTHER, THIRD = 0x410, 0x510
GRAPHICS, COMPUTE = "VK_PIPELINE_BIND_POINT_GRAPHICS", "VK_PIPELINE_BIND_POINT_COMPUTE"


def asked(scene: VulkanScene, folder: Path, query: str) -> list[tuple[object, ...]]:
    with open_trace(scene.write(folder / "t.dtap")) as trace:
        return [tuple(row) for row in trace.sql(query)]


def buffers(scene: VulkanScene) -> VulkanScene:
    scene.vkCreateCommandPool(DEVICE, {}, pCommandPool=[POOL])
    scene.vkAllocateCommandBuffers(DEVICE, {"commandPool": POOL, "commandBufferCount": 2}, pCommandBuffers=[CB, OTHER])
    return scene.vkAllocateCommandBuffers(
        DEVICE,
        {"commandPool": POOL, "commandBufferCount": 2, "level": "VK_COMMAND_BUFFER_LEVEL_SECONDARY"},
        pCommandBuffers=[SECONDARY, THIRD],
    )


def test_what_ran_is_what_was_submitted(tmp_path: Path) -> None:
    """By hand: a secondary buffer twice in a primary one, this one submitted twice, another with it the second time;
    then the secondary is recorded anew, which the third submit shows.
    """
    s = buffers(VulkanScene())
    s.recorded(lambda s: s.vkCmdDraw(SECONDARY, 3, 2, 0, 0), SECONDARY)
    s.recorded(lambda s: s.vkCmdFillBuffer(CB, 7, 0, 4, 0).vkCmdExecuteCommands(CB, 2, [SECONDARY, SECONDARY]))
    s.recorded(lambda s: s.vkCmdDispatch(OTHER, 2, 3, 4), OTHER)
    s.submit(CB).present()
    s.vkQueueSubmit(QUEUE, pSubmits=[{"pCommandBuffers": [OTHER]}, {"pCommandBuffers": [CB]}], fence=9).present()
    s.recorded(lambda s: s.vkCmdDrawIndexed(SECONDARY, 6, 1, 0, 0, 0), SECONDARY)
    s.recorded(lambda s: s.vkCmdExecuteCommands(CB, 1, [SECONDARY]))
    s.vkQueueSubmit2(QUEUE, pSubmits=[{"pCommandBufferInfos": [{"commandBuffer": CB}]}]).present()
    path = s.write(tmp_path / "t.dtap")
    with open_trace(path) as trace:
        ran = [
            tuple(r)
            for r in trace.sql("SELECT frame, batch, primary_buffer, command_buffer, depth, name FROM executed")
        ]
        whole = [
            (CB, CB, 0, "vkCmdFillBuffer"),
            (CB, CB, 0, "vkCmdExecuteCommands"),
            (CB, SECONDARY, 1, "vkCmdDraw"),
            (CB, SECONDARY, 1, "vkCmdDraw"),
        ]
        assert ran == [
            *((0, 0, *row) for row in whole),
            (1, 0, OTHER, OTHER, 0, "vkCmdDispatch"),
            *((1, 1, *row) for row in whole),
            (2, 0, CB, CB, 0, "vkCmdExecuteCommands"),
            (2, 0, CB, SECONDARY, 1, "vkCmdDrawIndexed"),
        ]
        numbers = "SELECT sum(vertices * instances), sum(groups), count(DISTINCT number) FROM executed"
        assert [tuple(r) for r in trace.sql(numbers)] == [(4 * 6 + 6, 24, 11)]
        assert [tuple(r) for r in trace.sql("SELECT frame, draws FROM frames")] == [(0, 2), (1, 2), (2, 1)]
        assert [tuple(r) for r in trace.sql("SELECT batch, commands, draws, dispatches, fence FROM submits")] == [
            (0, 4, 2, 0, 0),
            (0, 1, 0, 1, 9),
            (1, 4, 2, 0, 9),
            (0, 2, 1, 0, 0),
        ]
        # The same rows as JSON: lists in them, too.
        assert [row["command_buffers"] for row in trace.table("submits")] == [
            list(row[0]) for row in trace.sql("SELECT command_buffers FROM submits")
        ]


def test_what_was_reset_or_freed_does_not_run(tmp_path: Path) -> None:
    s = buffers(VulkanScene())
    for buffer in (CB, OTHER, SECONDARY):
        s.recorded(lambda s, b=buffer: s.vkCmdDraw(b, 3, 1, 0, 0), buffer)
    s.vkResetCommandBuffer(CB, 0).submit(CB)
    s.vkFreeCommandBuffers(DEVICE, POOL, pCommandBuffers=[OTHER]).submit(OTHER)
    s.vkResetCommandPool(DEVICE, POOL, 0).submit(SECONDARY)
    found = asked(s, tmp_path, "SELECT commands, unrecorded, (SELECT count(*) FROM executed) FROM submits")
    assert found == [(0, 1, 0)] * 3


def test_a_command_buffer_that_executes_itself_ends(tmp_path: Path) -> None:
    """No program may do that; a file may say so."""
    s = buffers(VulkanScene())
    s.vkBeginCommandBuffer(CB, {}).vkBeginCommandBuffer(OTHER, {})
    s.vkCmdExecuteCommands(CB, 1, [OTHER]).vkCmdExecuteCommands(OTHER, 2, [CB, OTHER]).submit(CB)
    [(count,)] = asked(s, tmp_path, "SELECT count(*) FROM executed")
    assert isinstance(count, int)
    assert 2 <= count <= 16


def test_passes_and_pipelines_of_draws(tmp_path: Path) -> None:
    s = buffers(VulkanScene())

    def body(s: VulkanScene) -> None:
        s.vkCmdBindPipeline(CB, GRAPHICS, 0x71).vkCmdBindPipeline(CB, COMPUTE, 0x72)
        s.vkCmdDispatch(CB, 1, 1, 1)
        s.vkCmdBeginRenderPass(CB, {"renderPass": 5}, 0).vkCmdDraw(CB, 3, 1, 0, 0).vkCmdEndRenderPass(CB)
        s.vkCmdBeginRendering(CB, {"layerCount": 1}).vkCmdDrawIndirect(CB, 8, 0, 1, 16).vkCmdEndRendering(CB)
        s.vkCmdDrawMultiEXT(CB, pVertexInfo=[{"vertexCount": 3}, {"vertexCount": 5}], instanceCount=1, stride=8)

    s.recorded(body).submit()
    query = "SELECT kind, pass_number, pipeline, vertices FROM executed WHERE kind <> 'command'"
    assert asked(s, tmp_path, query) == [
        ("dispatch", None, 0x72, None),
        ("draw", 1, 0x71, 3),
        ("draw", 2, 0x71, None),  # its counts lie in a buffer
        ("draw", None, 0x71, 8),
    ]


def test_lives_of_objects(tmp_path: Path) -> None:
    """Handles are used again; what a parent has ends with it; names are the last ones."""
    s = VulkanScene()
    s.vkCreateImage(DEVICE, {"extent": {"width": 64, "height": 32, "depth": 1}}, pImage=[0x10])
    s.vkSetDebugUtilsObjectNameEXT(
        DEVICE, {"objectType": "VK_OBJECT_TYPE_IMAGE", "objectHandle": 0x10, "pObjectName": "sky"}
    )
    s.vkDestroyImage(DEVICE, 0x10)
    s.vkCreateImage(DEVICE, {"extent": {"width": 8, "height": 8, "depth": 1}}, pImage=[0x10])
    s.vkCreateDescriptorPool(DEVICE, {"maxSets": 2}, pDescriptorPool=[0x20])
    s.vkAllocateDescriptorSets(DEVICE, {"descriptorPool": 0x20, "pSetLayouts": [1, 1]}, pDescriptorSets=[0x21, 0x22])
    s.vkGetDeviceQueue(DEVICE, 0, 0, pQueue=[QUEUE]).vkGetDeviceQueue(DEVICE, 0, 0, pQueue=[QUEUE])
    s.vkResetDescriptorPool(DEVICE, 0x20, 0)
    s.vkDestroyDevice(DEVICE)
    query = """
        SELECT type, handle, parent, name, created_seq, destroyed_seq, destroyed_by, info->>'$.extent.width'
        FROM objects
    """
    assert asked(s, tmp_path, query) == [
        ("VkImage", 0x10, DEVICE, "sky", 0, 2, "vkDestroyImage", "64"),
        ("VkImage", 0x10, DEVICE, None, 3, 9, "vkDestroyDevice", "8"),
        ("VkDescriptorPool", 0x20, DEVICE, None, 4, 9, "vkDestroyDevice", None),
        ("VkDescriptorSet", 0x21, 0x20, None, 5, 8, "vkResetDescriptorPool", None),
        ("VkDescriptorSet", 0x22, 0x20, None, 5, 8, "vkResetDescriptorPool", None),
        ("VkQueue", QUEUE, DEVICE, None, 6, 9, "vkDestroyDevice", None),
    ]


def test_memory_and_what_lies_in_it(tmp_path: Path) -> None:
    types = [
        {"propertyFlags": "VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT", "heapIndex": 1},
        {"propertyFlags": "VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT|VK_MEMORY_PROPERTY_HOST_COHERENT_BIT", "heapIndex": 0},
    ]
    s = VulkanScene()
    s.vkGetPhysicalDeviceMemoryProperties(1, {"memoryTypeCount": 2, "memoryTypes": types})
    s.vkAllocateMemory(DEVICE, {"allocationSize": 4096, "memoryTypeIndex": 1}, pMemory=[0x30])
    s.vkAllocateMemory(
        DEVICE,
        {"allocationSize": 512, "pNext": [("VkMemoryDedicatedAllocateInfo", {"image": 0x10})]},
        pMemory=[0x31],
    )
    s.vkCreateBuffer(DEVICE, {"size": 100}, pBuffer=[0x40]).vkCreateBuffer(DEVICE, {"size": 60}, pBuffer=[0x41])
    s.vkGetBufferMemoryRequirements(DEVICE, 0x40, {"size": 128, "alignment": 64})
    s.vkGetBufferMemoryRequirements2(DEVICE, {"buffer": 0x41}, {"memoryRequirements": {"size": 64}})
    s.vkBindBufferMemory(DEVICE, 0x40, 0x30, 256)
    s.vkBindBufferMemory2(DEVICE, pBindInfos=[{"buffer": 0x41, "memory": 0x30, "memoryOffset": 512}])
    s.vkMapMemory(DEVICE, 0x30, 0, 4096, 0).stored(0x30, 8, b"x" * 40).vkUnmapMemory(DEVICE, 0x30)
    s.vkFreeMemory(DEVICE, 0x30)
    s.vkAllocateMemory(DEVICE, {"allocationSize": 7, "memoryTypeIndex": 0}, pMemory=[0x30])
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        rows = trace.sql(
            "SELECT memory, bytes, heap, dedicated, resources, resource_bytes, maps, written_bytes, freed_seq, "
            "properties FROM allocations"
        )
        host = "VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT"
        local = "VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT"
        assert [tuple(r) for r in rows] == [
            (0x30, 4096, 0, False, 2, 192, 1, 40, 11, host),
            (0x31, 512, 1, True, 0, 0, 0, 0, None, local),
            (0x30, 7, 1, False, 0, 0, 0, 0, None, local),
        ]
        bound = trace.sql("SELECT handle, memory, memory_offset, bytes FROM objects WHERE memory IS NOT NULL")
        assert [tuple(r) for r in bound] == [(0x40, 0x30, 256, 128), (0x41, 0x30, 512, 64)]


def test_barriers_of_both_forms(tmp_path: Path) -> None:
    s = buffers(VulkanScene())
    image = {
        "srcAccessMask": "VK_ACCESS_TRANSFER_WRITE_BIT",
        "dstAccessMask": "VK_ACCESS_SHADER_READ_BIT",
        "oldLayout": "VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL",
        "newLayout": "VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL",
        "image": 0x10,
        "dstQueueFamilyIndex": 3,
    }
    newer = {"srcStageMask": "VK_PIPELINE_STAGE_2_COPY_BIT", "dstStageMask": "VK_PIPELINE_STAGE_2_HOST_BIT"}

    def body(s: VulkanScene) -> None:
        s.vkCmdPipelineBarrier(
            CB, "VK_PIPELINE_STAGE_TRANSFER_BIT", "VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT", pImageMemoryBarriers=[image]
        )
        s.vkCmdPipelineBarrier2(CB, {"pBufferMemoryBarriers": [newer | {"buffer": 7}], "pMemoryBarriers": [newer]})
        s.vkCmdPipelineBarrier(CB, "VK_PIPELINE_STAGE_TRANSFER_BIT", "VK_PIPELINE_STAGE_TRANSFER_BIT")

    s.recorded(body).submit().submit()
    query = """
        SELECT kind, object, src_stages, dst_stages, src_access, new_layout, dst_queue_family, executed
        FROM barriers ORDER BY seq, kind
    """
    copy, host = "VK_PIPELINE_STAGE_2_COPY_BIT", "VK_PIPELINE_STAGE_2_HOST_BIT"
    transfer, fragment = "VK_PIPELINE_STAGE_TRANSFER_BIT", "VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT"
    none = "VK_ACCESS_2_NONE"
    assert asked(s, tmp_path, query) == [
        ("image", 0x10, transfer, fragment, image["srcAccessMask"], image["newLayout"], 3, 2),
        ("buffer", 7, copy, host, none, None, 0, 2),
        ("memory", None, copy, host, none, None, None, 2),
        ("execution", None, transfer, transfer, None, None, None, 2),
    ]


def spirv(*instructions: tuple[int, ...]) -> bytes:
    """A module of these instructions: their words, with the operation first."""
    words = [0x07230203, 0x10000, 0, 10, 0]
    for operation, *operands in instructions:
        words += [(len(operands) + 1) << 16 | operation, *operands]
    return struct.pack(f"<{len(words)}I", *words)


MAIN = struct.unpack("<2I", b"main\0\0\0\0")


def test_pipelines_and_shaders(tmp_path: Path) -> None:
    code = spirv((15, 5, 1, *MAIN), (16, 1, 17, 8, 4, 2))  # OpEntryPoint GLCompute main, OpExecutionMode LocalSize
    s = buffers(VulkanScene())
    s.vkCreateShaderModule(DEVICE, {"codeSize": len(code), "pCode": code}, pShaderModule=[0x50], duration=5000)
    s.vkCreateShaderModule(DEVICE, {"codeSize": 4, "pCode": b"1234"}, pShaderModule=[0x51])
    stage = {"stage": "VK_SHADER_STAGE_COMPUTE_BIT", "module": 0x50, "pName": "main"}
    infos = [{"stage": stage, "layout": 0x61}, {"stage": stage, "layout": 0x62}]
    s.vkCreateComputePipelines(DEVICE, 0x60, pCreateInfos=infos, pPipelines=[0x71, 0x72], duration=9000)
    graphics = {
        "pStages": [{"stage": "VK_SHADER_STAGE_VERTEX_BIT", "module": 0x51, "pName": "main"}],
        "pInputAssemblyState": {"topology": "VK_PRIMITIVE_TOPOLOGY_LINE_LIST"},
        "pDynamicState": {"pDynamicStates": ["VK_DYNAMIC_STATE_VIEWPORT"]},
        "renderPass": 5,
    }
    s.vkCreateGraphicsPipelines(DEVICE, 0, pCreateInfos=[graphics], pPipelines=[0x73])
    s.recorded(lambda s: s.vkCmdBindPipeline(CB, COMPUTE, 0x72).vkCmdDispatch(CB, 1, 1, 1)).submit().submit()
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        rows = trace.sql(
            "SELECT pipeline, kind, duration, made_with, cache, layout, render_pass, stages, shaders, dynamic_states, "
            "topology, uses FROM pipelines"
        )
        compute = (["VK_SHADER_STAGE_COMPUTE_BIT"], [0x50], [])
        assert [tuple(r) for r in rows] == [
            (0x71, "compute", 9000, 2, 0x60, 0x61, 0, *compute, None, 0),
            (0x72, "compute", 9000, 2, 0x60, 0x62, 0, *compute, None, 2),
            (
                0x73, "graphics", 1000, 1, 0, 0, 5, ["VK_SHADER_STAGE_VERTEX_BIT"], [0x51],
                ["VK_DYNAMIC_STATE_VIEWPORT"], "VK_PRIMITIVE_TOPOLOGY_LINE_LIST", 0,
            ),
        ]  # fmt: skip
        shaders = trace.sql("SELECT shader, bytes, entry_points, workgroup, pipelines, duration, code FROM shaders")
        assert [tuple(r) for r in shaders] == [
            (0x50, len(code), ["compute main"], [8, 4, 2], 2, 5000, code),
            (0x51, 4, [], [], 1, 1000, b"1234"),
        ]


@pytest.mark.parametrize("table", TABLES)
def test_recordings_without_vulkan_have_empty_tables(table: str, tmp_path: Path) -> None:
    from scene import Scene

    with open_trace(Scene().glEnable("GL_BLEND").frame().write(tmp_path / "t.dtap")) as trace:
        assert list(trace.sql(f"SELECT * FROM {table}")) == []


def test_frames_count_what_ran_in_them(tmp_path: Path) -> None:
    """A command buffer recorded in the first frame runs in each: 36 vertices are 12 triangles, or 34 in a strip."""
    s = buffers(VulkanScene())
    topology = {"topology": "VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST"}
    dynamic = {"pDynamicStates": ["VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY"]}
    infos = [{"pInputAssemblyState": topology}, {"pInputAssemblyState": topology, "pDynamicState": dynamic}]
    s.vkCreateGraphicsPipelines(DEVICE, 0, pCreateInfos=infos, pPipelines=[0x71, 0x72])

    def body(s: VulkanScene) -> None:
        s.vkCmdBindPipeline(CB, GRAPHICS, 0x71).vkCmdDraw(CB, 36, 2, 0, 0)
        s.vkCmdBindPipeline(CB, GRAPHICS, 0x72).vkCmdSetPrimitiveTopology(CB, "VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP")
        s.vkCmdDraw(CB, 36, 1, 0, 0).vkCmdDrawIndirect(CB, 8, 0, 1, 16).vkCmdDispatch(CB, 1, 1, 1)

    s.recorded(body).frames(3, lambda s, i: s.stored(0x30, 0, b"x" * 10).submit())
    query = "SELECT draws, indirect_draws, dispatches, vertices, triangles, mapped_bytes, created_objects FROM content"
    assert asked(s, tmp_path, query) == [
        (3, 1, 1, 108, 58, 10, 7),
        (3, 1, 1, 108, 58, 10, 0),
        (3, 1, 1, 108, 58, 10, 0),
    ]


def test_contents_by_chance(tmp_path: Path) -> None:
    """Whatever structures hold, every table can be made."""
    chance = random.Random(21)

    def content() -> Data:
        words = [chance.choice([0, 1, 8, 16, 64, CB, 2**31, 2**64 - 1, chance.randrange(300)]) for _ in range(40)]
        return Data(struct.pack("<40Q", *words))

    s = buffers(VulkanScene()).vkBeginCommandBuffer(CB, {})
    for i in range(30):
        s.vkCreateImage(DEVICE, content(), pImage=[i]).vkAllocateMemory(DEVICE, content(), pMemory=[i])
        s.vkBindImageMemory2(DEVICE, 3, content()).vkSetDebugUtilsObjectNameEXT(DEVICE, content())
        s.vkCmdPipelineBarrier2(CB, content()).vkCmdExecuteCommands(CB, 9, content())
        s.vkCmdDrawMultiEXT(CB, 4, content(), 1, 0, 8).vkQueueSubmit(QUEUE, 3, content(), 0)
        s.vkCreateGraphicsPipelines(DEVICE, 0, 2, content(), pPipelines=[i, i + 1])
        s.vkCreateShaderModule(DEVICE, content(), pShaderModule=[i])
        s.vkGetPhysicalDeviceMemoryProperties(1, content()).present()
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        for table in (*TABLES, "frames", "content"):
            assert list(trace.sql(f"SELECT * FROM {table}")), table


def test_of_a_submit_that_failed_nothing_runs(tmp_path: Path) -> None:
    """The queue did not take it: what ran has the same numbers as in a replay, which leaves the call out."""
    s = buffers(VulkanScene())
    s.recorded(lambda s: s.vkCmdDraw(CB, 3, 1, 0, 0), CB)
    s.recorded(lambda s: s.vkCmdDispatch(OTHER, 1, 1, 1), OTHER)
    batch = {"pCommandBuffers": [CB]}
    s.vkQueueSubmit(QUEUE, pSubmits=[batch], fence=0, result="VK_ERROR_OUT_OF_DEVICE_MEMORY").submit(OTHER)
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        rows = trace.sql("SELECT failed, commands, draws, dispatches, unrecorded FROM submits")
        assert [tuple(row) for row in rows] == [(True, 0, 0, 0, 0), (False, 1, 0, 1, 0)]
        assert [tuple(r) for r in trace.sql("SELECT number, name FROM executed")] == [(0, "vkCmdDispatch")]
        assert [tuple(r) for r in trace.sql("SELECT sum(draws) FROM frames")] == [(0,)]


def test_commands_that_the_program_did_not_call_are_empty_tables(tmp_path: Path) -> None:
    s = buffers(VulkanScene()).recorded(lambda s: s.vkCmdDraw(CB, 3, 1, 0, 0), CB).submit(CB)
    with open_trace(s.write(tmp_path / "t.dtap")) as trace:
        assert list(trace.sql("SELECT groupCountX FROM vkCmdDispatch")) == []
        assert list(trace.sql('SELECT pCreateInfo FROM "vkCreateImage"')) == []
        assert len(list(trace.sql("SELECT * FROM vkCmdDraw"))) == 1
        with pytest.raises(QueryError) as error:
            trace.sql("SELECT * FROM vkCmdDispath")
        assert "vkCmdDispatch" in (error.value.hint or "")
