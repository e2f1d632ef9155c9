"""What a command of Vulkan runs with: what its command buffer was given before."""

from __future__ import annotations

import contextlib
import json
import shutil
import struct
from pathlib import Path

import pytest

from drawtap.analysis import spirv
from drawtap.analysis.vulkan_held import buffer_uses
from drawtap.errors import UsageError
from drawtap.trace.trace import open_trace
from drawtap.trace.vulkan_draw import DrawState, drawn_at
from drawtap.web.recording import Recording
from shared import run_drawtap
from vulkan_scene import CB, DEVICE, SECONDARY, VulkanScene

PIPELINE, MODULE, LAYOUT, SET, TEMPLATE, VIEW, IMAGE, BUFFER = 0xA00, 0xA10, 0xA20, 0xA30, 0xA40, 0xA50, 0xA60, 0xA70
PASS, FRAME = 0xB00, 0xB10
GRAPHICS, COMPUTE = "VK_PIPELINE_BIND_POINT_GRAPHICS", "VK_PIPELINE_BIND_POINT_COMPUTE"
UNIFORM, SAMPLED = "VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER", "VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE"


def instruction(operation: int, *operands: int | str) -> list[int]:
    words: list[int] = []
    for one in operands:
        data = one.encode() + b"\0" if isinstance(one, str) else struct.pack("<I", one)
        words += struct.unpack(f"<{(len(data) + 3) // 4}I", data + bytes(-len(data) % 4))
    return [(len(words) + 1) << 16 | operation, *words]


#: A module whose main does nothing, with a name and a binding.
WORDS = [0x07230203, 0x00010300, 7, 20, 0]
for _part in (
    instruction(17, 1), instruction(14, 0, 1), instruction(15, 5, 4, "main", 9), instruction(5, 9, "light"),
    instruction(71, 9, 34, 2), instruction(71, 9, 33, 3), instruction(19, 2), instruction(33, 3, 2),
    instruction(54, 2, 4, 0, 3), instruction(248, 5), instruction(253), instruction(56),
):  # fmt: skip
    WORDS += _part
CODE = struct.pack(f"<{len(WORDS)}I", *WORDS)


def made() -> VulkanScene:
    s = VulkanScene().vkCreateShaderModule(DEVICE, {"codeSize": len(CODE), "pCode": CODE}, pShaderModule=[MODULE])
    stage = {"stage": "VK_SHADER_STAGE_COMPUTE_BIT", "module": MODULE, "pName": "main"}
    inputs = {
        "pVertexBindingDescriptions": [{"binding": 2, "stride": 20, "inputRate": 1}],
        "pVertexAttributeDescriptions": [{"location": 1, "binding": 2, "offset": 8, "format": 103}],
    }
    s.vkCreateGraphicsPipelines(
        DEVICE, 0, pCreateInfos=[{"pStages": [stage], "pVertexInputState": inputs, "layout": LAYOUT}],
        pPipelines=[PIPELINE],
    )  # fmt: skip
    s.vkCreateImage(DEVICE, {"extent": {"width": 4, "height": 2, "depth": 1}, "format": 37}, pImage=[IMAGE])
    s.vkCreateImageView(DEVICE, {"image": IMAGE, "format": 37}, pView=[VIEW])
    s.vkAllocateDescriptorSets(DEVICE, {"pSetLayouts": [1, 1]}, pDescriptorSets=[SET, SET + 1])
    return s


def values(trace: Path, function: str, nth: int = -1) -> dict[str, object]:
    with open_trace(trace) as opened:
        seq = opened.sql(f"SELECT seq FROM calls WHERE name = '{function}' ORDER BY seq").fetchall()[nth][0]
        place = drawn_at(opened, int(seq))
        assert place is not None
        return {path: value for path, value, _ in DrawState(opened, *place).values()}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    s = made()
    s.vkCreateRenderPass(
        DEVICE, {"pAttachments": [{"format": 37, "loadOp": 1}], "pSubpasses": [{}, {}]}, pRenderPass=[PASS]
    )
    s.vkCreateFramebuffer(DEVICE, {"renderPass": PASS, "pAttachments": [VIEW]}, pFramebuffer=[FRAME])
    write = {"dstSet": SET, "descriptorType": UNIFORM}
    s.vkUpdateDescriptorSets(
        DEVICE, pDescriptorWrites=[{**write, "dstBinding": 1, "pBufferInfo": [{"buffer": BUFFER, "range": 64}]}]
    )
    s.vkUpdateDescriptorSets(
        DEVICE,
        pDescriptorCopies=[{"srcSet": SET, "srcBinding": 1, "dstSet": SET + 1, "dstBinding": 5, "descriptorCount": 1}],
    )
    entry = {"dstBinding": 2, "descriptorCount": 2, "descriptorType": SAMPLED, "offset": 100, "stride": 200}
    s.vkCreateDescriptorUpdateTemplate(
        DEVICE, {"pDescriptorUpdateEntries": [entry]}, pDescriptorUpdateTemplate=[TEMPLATE]
    )
    s.vkUpdateDescriptorSetWithTemplate(DEVICE, SET, TEMPLATE, struct.pack("<QQi4xQQi4x", 0, VIEW, 5, 0, 0, 5))

    def inside(s: VulkanScene) -> None:
        s.vkCmdBindPipeline(SECONDARY, GRAPHICS, PIPELINE).vkCmdBindPipeline(SECONDARY, COMPUTE, 0xDEAD)
        s.vkCmdBindDescriptorSets(SECONDARY, GRAPHICS, LAYOUT, 1, pDescriptorSets=[SET, SET + 1])
        s.vkCmdBindVertexBuffers(SECONDARY, 2, pBuffers=[0x1, 0x2], pOffsets=[16, 32])
        s.vkCmdBindVertexBuffers(SECONDARY, 3, pBuffers=[BUFFER], pOffsets=[48])
        s.vkCmdBindIndexBuffer(SECONDARY, BUFFER, 4, 1)
        s.vkCmdPushConstants(SECONDARY, LAYOUT, 1, 0, 8, struct.pack("<ff", 1, 2))
        s.vkCmdPushConstants(SECONDARY, LAYOUT, 1, 4, 4, struct.pack("<f", 0.5))
        s.vkCmdSetCullMode(SECONDARY, 1).vkCmdSetCullMode(SECONDARY, 2)
        s.vkCmdSetScissor(SECONDARY, 1, pScissors=[{"extent": {"width": 9}}])
        s.vkCmdSetStencilReference(SECONDARY, "VK_STENCIL_FACE_BACK_BIT", 7)
        s.vkCmdDrawIndexed(SECONDARY, 3, 1, 0, 0, 0)
        s.vkCmdSetCullMode(SECONDARY, 3)

    s.recorded(inside, SECONDARY)

    def whole(s: VulkanScene) -> None:
        s.vkCmdBindPipeline(CB, GRAPHICS, PIPELINE)
        s.vkCmdBeginRenderPass(
            CB, {"renderPass": PASS, "framebuffer": FRAME, "pClearValues": [{"color": {"uint32": [9]}}]}, 1
        )
        s.vkCmdNextSubpass(CB, 1).vkCmdExecuteCommands(CB, pCommandBuffers=[SECONDARY])
        s.vkCmdDraw(CB, 3, 1, 0, 0).vkCmdEndRenderPass(CB).vkCmdDraw(CB, 6, 1, 0, 0)

    s.recorded(whole).submit()
    return s.write(tmp_path_factory.mktemp("vulkan") / "t.dtap")


def test_a_draw_has_what_its_buffer_was_given(drawn: Path) -> None:
    found = values(drawn, "vkCmdDrawIndexed")
    assert (found["pipeline.handle"], found["pipeline.info.pStages[0].module"]) == (hex(PIPELINE), hex(MODULE))
    buffers = [(found[f"vertex_buffers[{i}].buffer"], found[f"vertex_buffers[{i}].offset"]) for i in (2, 3)]
    assert buffers == [("0x1", 16), (hex(BUFFER), 48)]
    assert found["index_buffer.offset"] == 4
    assert [found[f"push_constants[{i}]"] for i in (0, 4)] == ["0x3f800000 (1)", "0x3f000000 (0.5)"]
    assert (found["dynamic.CullMode"], found["dynamic.Scissor[1].extent.width"]) == ("VK_CULL_MODE_BACK_BIT", 9)
    assert found["dynamic.StencilReference[VK_STENCIL_FACE_BACK_BIT]"] == 7


def test_descriptors_are_of_writes_templates_and_copies(drawn: Path) -> None:
    found = values(drawn, "vkCmdDrawIndexed")
    assert (found["sets[1].content[1][0].buffer"], found["sets[1].content[1][0].range"]) == (hex(BUFFER), 64)
    assert found["sets[1].content[2][0].imageView"] == hex(VIEW)
    assert found["sets[1].content[2][0].imageLayout"] == "VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL"
    assert (found["sets[1].content[2][0].image"], found["sets[1].content[2][0].extent"]) == (hex(IMAGE), [4, 2, 1])
    assert found["sets[1].content[2][1].imageView"] is None
    assert (found["sets[2].content[5][0].buffer"], found["sets[2].content[5][0].copied_from"]) == (
        hex(BUFFER),
        hex(SET),
    )


def test_attachments_are_those_of_the_pass_around(drawn: Path) -> None:
    """Of a secondary command buffer, where it ran; behind it the first one has nothing but its pass."""
    found = values(drawn, "vkCmdDrawIndexed")
    assert (found["pass.attachments[0].view"], found["pass.subpass"]) == (hex(VIEW), 1)
    assert found["pass.attachments[0].clear.color.uint32"] == [9, 0, 0, 0]
    inside, behind = (values(drawn, "vkCmdDraw", nth) for nth in (0, 1))
    assert inside["pass.render_pass"] == hex(PASS)
    assert "pipeline.handle" not in inside  # a secondary command buffer left nothing
    assert not [path for path in behind if path.startswith("pass")]


def test_how_a_draw_reads_its_buffers(drawn: Path, tmp_path: Path) -> None:
    with open_trace(drawn) as opened:
        [(draw,)] = opened.sql("SELECT seq FROM executed WHERE name = 'vkCmdDrawIndexed'").fetchall()
        assert buffer_uses(opened, draw, BUFFER) == [{"use": "index"}]  # binding 3 has no attribute
        [use] = buffer_uses(opened, draw, 0x1)
        assert (use["name"], use["size"], use["type"], use["offset"]) == ("location1", 2, 0x1406, 16 + 8)
        assert (use["stride"], use["divisor"], use["normalized"]) == (20, 1, False)
        assert buffer_uses(opened, 0, BUFFER) == ()


def test_pushed_descriptors(tmp_path: Path) -> None:
    def inside(s: VulkanScene) -> None:
        s.vkCmdBindPipeline(CB, COMPUTE, PIPELINE)
        write = {"descriptorType": UNIFORM, "dstBinding": 3, "pBufferInfo": [{"buffer": BUFFER, "range": 16}]}
        s.vkCmdPushDescriptorSet(CB, COMPUTE, LAYOUT, 0, pDescriptorWrites=[write]).vkCmdDispatch(CB, 1, 1, 1)

    trace = made().recorded(inside).submit().write(tmp_path / "t.dtap")
    found = values(trace, "vkQueueSubmit")
    assert (found["command"], found["pipeline.handle"]) == ("vkCmdDispatch", hex(PIPELINE))
    assert found["sets[0].content[3][0].range"] == 16


def test_the_shell_has_it(drawn: Path) -> None:
    with open_trace(drawn) as opened:
        [(draw, submit)] = opened.sql("SELECT seq, submit_seq FROM executed WHERE name = 'vkCmdDrawIndexed'").fetchall()
    for call in (draw, f"{draw}@{submit}"):
        done = run_drawtap("state", drawn, call, "draw.index_buffer", "--json")
        assert json.loads(done.stdout)[0] == {"path": "draw.index_buffer.buffer", "value": hex(BUFFER)}
    done = run_drawtap("state", drawn, f"{draw}@{draw}")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"call {draw} does not submit call {draw}" in done.stderr


def test_the_page_has_it(drawn: Path) -> None:
    with contextlib.closing(Recording(drawn)) as seen:
        [(draw,)] = seen.trace.sql("SELECT seq FROM executed WHERE name = 'vkCmdDrawIndexed'").fetchall()
        state = seen.state(draw, False)
        # The page reads the same members as of OpenGL.
        assert {*state} == {"seq", "rows", "variables", "stages", "always", "incomplete"}
        rows = {row[0]: row for row in state["rows"]}  # type: ignore[attr-defined]
        assert rows["draw.dynamic.CullMode"][1:4:2] == ['"VK_CULL_MODE_BACK_BIT"', "raster"]
        assert not [path for path in rows if path.startswith("VkImage[")]
        whole = seen.state(draw, True)["rows"]
        assert [*rows.values()] == [row for row in whole if row[4]]  # type: ignore[attr-defined]
        assert [row for row in whole if row[0].startswith("VkImage[")]  # type: ignore[attr-defined]
        found = seen.program(draw)
        assert (found["name"], found["attributes"]) == (hex(PIPELINE), [["location 1", found["attributes"][0][1], 1]])  # type: ignore[index]
        assert "OpEntryPoint" in found["shaders"][0]["source"] or "entry point" in found["shaders"][0]["source"]  # type: ignore[index]
        assert next(name for name, *_ in found["uniforms"]) == "sets[1][1][0]"  # type: ignore[union-attr, attr-defined]
        changed = {row[0] for row in seen.difference(draw - 1, draw)["rows"]}  # type: ignore[attr-defined]
        assert "draw.command" in changed
        with pytest.raises(UsageError, match="no pipeline is bound"):
            seen.program(0)


def test_modules_are_listed_with_who_uses_them(drawn: Path) -> None:
    done = run_drawtap("shaders", drawn, "--json")
    [row] = json.loads(done.stdout)
    assert (row["shader"], row["entry_points"], row["instructions"]) == (hex(MODULE), "compute main", 1)
    assert (row["pipelines"], row["draws"]) == (1, 1)  # that behind the secondary buffer has no pipeline
    done = run_drawtap("shaders", drawn, "--code", hex(MODULE))
    assert "main" in done.stdout
    for word, told in (("0x1", "there is no shader module 0x1"), ("x", "'x' is no shader module")):
        done = run_drawtap("shaders", drawn, "--code", word)
        assert (done.returncode, told in done.stderr) == (2, True)


def test_a_module_says_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    told = spirv.text(CODE)
    assert 'entry point %4 compute "main" light' in told
    assert "%9 light DescriptorSet 2 Binding 3" in told
    assert "SPIR-V 1.3" in told
    assert "1 instructions" in told
    assert "this is no SPIR-V: 3 bytes" in spirv.text(b"abc")
    for end in range(20, len(CODE), 4):
        spirv.text(CODE[:end])  # what is cut off ends it
