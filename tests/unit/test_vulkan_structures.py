"""A table for each type of structure, and the chains of all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drawtap.errors import QueryError
from drawtap.trace.trace import Trace, open_trace
from unit.test_vulkan_columns import program
from vulkan_scene import DEVICE, VulkanScene


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return open_trace(program().write(tmp_path_factory.mktemp("structures") / "t.dtap"))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "SELECT seq, frame, call, path, mipLevels, extent.width FROM VkImageCreateInfo",
            [(1, 0, "vkCreateImage", "pCreateInfo", 3, 640), (2, 0, "vkCreateImage", "pCreateInfo", 0, 8)],
        ),
        (
            'SELECT path, module, pName FROM "VkPipelineShaderStageCreateInfo" WHERE module > 81',
            [("pCreateInfos[0].pStages[1]", 0x52, None)],
        ),
        ("SELECT path, width FROM vkextent3d WHERE seq = 1", [("pCreateInfo.extent", 640)]),
        (
            "SELECT path, pViewFormats FROM VkImageFormatListCreateInfo",
            [("pCreateInfo.pNext[0]", ["VK_FORMAT_R8_UNORM"])],
        ),
        (
            "SELECT path, triangles.maxVertex, aabbs FROM VkAccelerationStructureGeometryDataKHR",
            [("pBuildInfo.pGeometries[0].geometry", 99, None)],
        ),
        ("SELECT path FROM VkMemoryAllocateInfo", []),
        (
            "SELECT count(*) FROM VkImageCreateInfo i JOIN VkExtent3D e USING (seq) WHERE e.height = i.extent.height",
            [(2,)],
        ),
    ],
)
def test_structures_are_rows(question: str, answer: list[tuple[object, ...]], trace: Trace, tmp_path: Path) -> None:
    if "VkMemoryAllocateInfo" in question:  # explained, and never given
        s = VulkanScene().vkAllocateMemory(DEVICE, None, pMemory=[1])
        trace = open_trace(s.write(tmp_path / "t.dtap"))
    assert trace.sql(question).fetchall() == answer


def test_chains_are_rows(trace: Trace) -> None:
    [row] = trace.sql("SELECT seq, function, path, base, position, type, members FROM chains").fetchall()
    assert row[:-1] == (
        *(1, "vkCreateImage", "pCreateInfo.pNext[0]", "VkImageCreateInfo", 0),
        "VkImageFormatListCreateInfo",
    )
    members = json.loads(str(row[-1]))
    assert members["pViewFormats"] == ["VK_FORMAT_R8_UNORM"]
    assert "pNext" not in members  # the rest of a chain is rows of its own
    names = {row["name"]: row["stype"] for row in trace.table("structures")}
    assert names["VkImageCreateInfo"] == "VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO"
    assert names["VkExtent3D"] is None


def test_near_misses(trace: Trace) -> None:
    with pytest.raises(QueryError) as raised:
        trace.sql("SELECT * FROM VkImageCreateInfos")
    assert "VkImageCreateInfo" in str(raised.value.hint)


def test_types_are_read_for_their_names_alone(tmp_path: Path) -> None:
    trace = open_trace(program().write(tmp_path / "t.dtap"))
    assert trace.sql('SELECT count(*) FROM "vkCreateImage" JOIN calls USING (seq)').fetchall() == [(2,)]
    assert "structures" not in vars(trace.database)
    trace.sql("SELECT count(*) FROM VkExtent3D")
    assert vars(trace.database)["structures"]
