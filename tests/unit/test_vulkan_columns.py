"""Structures of Vulkan as nested columns, held against the values that a program handed over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drawtap.trace.trace import open_trace
from shared import run_drawtap
from vulkan_scene import CB, DEVICE, QUEUE, VulkanScene

IMAGE = {
    "imageType": "VK_IMAGE_TYPE_2D",
    "extent": {"width": 640, "height": 480, "depth": 1},
    "mipLevels": 3,
    "usage": "VK_IMAGE_USAGE_SAMPLED_BIT|VK_IMAGE_USAGE_STORAGE_BIT",
    "sharingMode": "VK_SHARING_MODE_CONCURRENT",
    "pQueueFamilyIndices": [4, 5],
    "pNext": [("VkImageFormatListCreateInfo", {"pViewFormats": ["VK_FORMAT_R8_UNORM"]})],
}


def program() -> VulkanScene:
    """Calls with every kind of member."""
    s = VulkanScene()
    s.vkCreateInstance(
        {"pApplicationInfo": {"pApplicationName": "täst"}, "ppEnabledExtensionNames": ["VK_KHR_surface", "VK_x"]}
    )
    s.vkCreateImage(DEVICE, IMAGE, pImage=[0x10])
    s.vkCreateImage(DEVICE, {"extent": {"width": 8, "height": 8, "depth": 1}}, pImage=[0x11])
    stages = [{"stage": "VK_SHADER_STAGE_VERTEX_BIT", "module": 0x51, "pName": "main"}, {"module": 0x52}]
    raster = {"lineWidth": 1.5, "depthClampEnable": 1, "cullMode": "VK_CULL_MODE_BACK_BIT"}
    s.vkCreateGraphicsPipelines(
        DEVICE, 0, pCreateInfos=[{"pStages": stages, "pRasterizationState": raster}, {}], pPipelines=[1, 2]
    )
    clear = [{"color": {"float32": [0.25, 0.5, 0.75, 1]}}, {"depthStencil": {"depth": 0.5, "stencil": 7}}]
    s.vkCmdBeginRenderPass(CB, {"renderPass": 5, "pClearValues": clear}, 0)
    build = [{"geometry": {"triangles": {"maxVertex": 99}}, "geometryType": "VK_GEOMETRY_TYPE_TRIANGLES_KHR"}]
    s.vkGetAccelerationStructureBuildSizesKHR(DEVICE, 0, {"pGeometries": build}, None, None)
    return s.submit(0x41, 0x42).vkQueueSubmit(QUEUE, 0, None, 0)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return program().write(tmp_path_factory.mktemp("columns") / "t.dtap")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ('SELECT pCreateInfo.extent.width, pCreateInfo.mipLevels FROM "vkCreateImage"', [(640, 3), (8, 0)]),
        ('SELECT i.pCreateInfo.extent.height FROM "vkCreateImage" i WHERE i.pCreateInfo.extent.width > 8', [(480,)]),
        (
            'SELECT pCreateInfo.sType, pCreateInfo.imageType, pCreateInfo.usage FROM "vkCreateImage" LIMIT 1',
            [
                (
                    "VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO",
                    "VK_IMAGE_TYPE_2D",
                    "VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT",
                )
            ],
        ),
        ('SELECT pCreateInfo.pQueueFamilyIndices FROM "vkCreateImage"', [([4, 5],), (None,)]),
        (
            "SELECT pCreateInfo.pNext[0].pViewFormats->>'$[0]', pCreateInfo.pNext->>'$[0].sType' "
            'FROM "vkCreateImage"',
            [("VK_FORMAT_R8_UNORM", "VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO"), (None, None)],
        ),
        (
            "SELECT pCreateInfo.pApplicationInfo.pApplicationName, pCreateInfo.ppEnabledExtensionNames "
            'FROM "vkCreateInstance"',
            [("täst", ["VK_KHR_surface", "VK_x"])],
        ),
        (
            "SELECT len(pCreateInfos), pCreateInfos[1].pStages[1].pName, pCreateInfos[1].pStages[2].module, "
            'pCreateInfos[2].pStages FROM "vkCreateGraphicsPipelines"',
            [(2, "main", 0x52, None)],
        ),
        (
            "SELECT r.lineWidth, r.depthClampEnable, r.cullMode FROM "
            '(SELECT pCreateInfos[1].pRasterizationState AS r FROM "vkCreateGraphicsPipelines")',
            [(1.5, True, "VK_CULL_MODE_BACK_BIT")],
        ),
        (
            "SELECT c[1].color.float32, c[2].depthStencil.stencil FROM "
            '(SELECT pRenderPassBegin.pClearValues AS c FROM "vkCmdBeginRenderPass")',
            [([0.25, 0.5, 0.75, 1.0], 7)],
        ),
        (  # a union with a selector: the other members are not there
            "SELECT g.triangles.maxVertex, g.aabbs FROM (SELECT pBuildInfo.pGeometries[1].geometry AS g "
            'FROM "vkGetAccelerationStructureBuildSizesKHR")',
            [(99, None)],
        ),
        ('SELECT pSubmits[1].pCommandBuffers FROM "vkQueueSubmit"', [([0x41, 0x42],), (None,)]),
        ("SELECT pCreateInfo->>'$.extent.width' FROM \"vkCreateImage\"", [("640",), ("8",)]),  # as JSON too
        (  # without knowing what a structure has
            'SELECT s.commandBufferCount FROM (SELECT unnest(pSubmits) AS s FROM "vkQueueSubmit")',
            [(2,)],
        ),
    ],
)
def test_members_are_asked_by_name(question: str, answer: list[tuple[object, ...]], recording: Path) -> None:
    with open_trace(recording) as trace:
        assert [tuple(row) for row in trace.sql(question)] == answer


def test_a_structure_without_its_member_is_an_error_that_names_others(recording: Path) -> None:
    done = run_drawtap("sql", recording, 'SELECT pCreateInfo.extend FROM "vkCreateImage"')
    assert done.returncode == 2
    assert "extent" in done.stderr


def test_what_hands_rows_on_keeps_structures(recording: Path, tmp_path: Path) -> None:
    """JSON has them as objects; Parquet keeps their types."""
    query = 'SELECT pCreateInfo FROM "vkCreateImage" LIMIT 1'
    [row] = json.loads(run_drawtap("sql", recording, query, "--json").stdout)
    assert row["pCreateInfo"]["extent"] == {"width": 640, "height": 480, "depth": 1}
    made = tmp_path / "images.parquet"
    assert run_drawtap("sql", recording, f"COPY (SELECT * FROM \"vkCreateImage\") TO '{made}'").returncode == 0
    import duckdb

    assert duckdb.execute(f"SELECT pCreateInfo.extent.width FROM '{made}'").fetchall() == [(640,), (8,)]
