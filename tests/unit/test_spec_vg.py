"""The OpenVG registry and overlay: counts, lengths, pixel sizes, and the size functions in C++."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import sanitized
import size_rules
from drawtap.spec.model import Array, String
from drawtap.spec.registry import load_api

API = load_api("vg")
MIRROR = Path(__file__).parents[2] / "native" / "mirror"


def test_counts() -> None:
    assert len(API.commands) == 106
    assert len(API.command_set("vg", "1.0")) == 75
    assert len(API.command_set("vg", "1.1")) == 87
    assert len(API.command_set("vgu", "1.1")) == 9
    assert sum(len(names) for f in API.extensions for names in f.commands.values()) == 10
    assert [c.name for c in API.commands.values() if c.uncovered] == []


def test_what_version_1_1_added() -> None:
    new = API.command_set("vg", "1.1").keys() - API.command_set("vg", "1.0").keys()
    assert new == {
        "vgRenderToMask", "vgCreateMaskLayer", "vgDestroyMaskLayer", "vgFillMaskLayer", "vgCopyMask", "vgCreateFont",
        "vgDestroyFont", "vgSetGlyphToPath", "vgSetGlyphToImage", "vgClearGlyph", "vgDrawGlyph", "vgDrawGlyphs",
    }  # fmt: skip


def test_return_types_are_clean() -> None:
    assert API.commands["vgGetError"].returns.base == "VGErrorCode"
    assert API.commands["vgGetError"].returns_group == "VGErrorCode"
    assert API.commands["vguLine"].returns.base == "VGUErrorCode"
    assert API.commands["vgParametricFilterKHR"].returns.base == "void"
    assert API.commands["vgGetString"].returns.spelling == "const VGubyte *"
    assert API.commands["vgGetString"].returns_data == String()


def test_enumerants_have_their_values_and_groups() -> None:
    assert API.enums["VG_PATH_DATATYPE"] == 0x1601
    assert API.enums["VG_lABGR_8888_PRE"] == 0xC9
    assert API.enums["VG_BLEND_XOR_KHR"] == 0x2026
    assert not [name for name in API.enums if "FORCE_SIZE" in name]
    assert API.groups["VGPathCapabilities"].bitmask
    assert API.groups["VGBlendMode"].values["VG_BLEND_XOR_KHR"] == 0x2026
    objects = API.groups["VGObjectParamType"].values
    assert {"VG_PATH_FORMAT", "VG_PAINT_TYPE", "VG_IMAGE_WIDTH", "VG_FONT_NUM_GLYPHS"} <= objects.keys()
    assert API.commands["vgDrawPath"].param("paintModes").group == "VGPaintMode"


@pytest.mark.parametrize(
    ("command", "param", "count", "out"),
    [
        ("vgSetfv", "values", "count", False),
        ("vgGetParameteriv", "values", "count", True),
        ("vgLoadMatrix", "m", "9", False),
        ("vgGetMatrix", "m", "9", True),
        ("vgColorMatrix", "matrix", "20", False),
        ("vgPointAlongPath", "tangentY", "1", True),
        ("vgPathBounds", "minX", "1", True),
        ("vgDrawGlyphs", "adjustments_x", "glyphCount", False),
        ("vgSetGlyphToPath", "glyphOrigin", "2", False),
        ("vgLookup", "alphaLUT", "256", False),
        ("vgLookupSingle", "lookupTable", "256", False),
        ("vgConvolve", "kernel", "kernelWidth * kernelHeight", False),
        ("vgSeparableConvolve", "kernelY", "kernelHeight", False),
        ("vguPolygon", "points", "count * 2", False),
        ("vguComputeWarpQuadToQuad", "matrix", "9", True),
    ],
)
def test_lengths(command: str, param: str, count: str, *, out: bool) -> None:
    data = API.commands[command].param(param).data
    assert isinstance(data, Array)
    assert (data.count, data.out) == (count, out)


def test_path_commands_are_named() -> None:
    data = API.commands["vgAppendPathData"].param("pathSegments").data
    assert data == Array("numSegments", group="VGPathCommand")
    assert API.groups["VGPathCommand"].values["VG_CUBIC_TO_REL"] == 13


def _image_bytes(image_format: str, width: int, height: int, stride: int) -> int:
    data = API.commands["vgImageSubData"].param("data").data
    assert isinstance(data, Array)
    values = {"dataFormat": API.enums[image_format], "width": width, "height": height, "dataStride": stride}
    return size_rules.evaluate(data.count, values, API)


@pytest.mark.parametrize(
    ("image_format", "width", "height", "stride", "size"),
    [
        ("VG_sRGBA_8888", 4, 3, 16, 48),
        ("VG_sRGBA_8888", 4, 3, 100, 216),  # the last row is not padded
        ("VG_lXBGR_8888", 1, 1, 0, 4),
        ("VG_sRGB_565", 5, 2, 12, 22),
        ("VG_sARGB_1555", 5, 1, 12, 10),
        ("VG_A_8", 7, 2, 7, 14),
        ("VG_A_4", 3, 1, 2, 2),
        ("VG_BW_1", 9, 2, 4, 6),
        ("VG_sRGBA_8888", 4, 3, -100, 216),  # rows that run backwards are as many bytes
        ("VG_sRGBA_8888", 0, 3, 16, 0),
        ("VG_sRGBA_8888", 4, -1, 16, 0),
    ],
)
def test_image_sizes(image_format: str, width: int, height: int, stride: int, size: int) -> None:
    assert _image_bytes(image_format, width, height, stride) == size


def test_every_image_format_has_a_size() -> None:
    sizes = {name: _image_bytes(name, 8, 1, 0) for name in API.groups["VGImageFormat"].values}
    assert set(sizes.values()) == {1, 4, 8, 16, 32}
    assert all((size == 32) == ("8888" in name) for name, size in sizes.items())


@pytest.mark.parametrize(
    ("flag", "command"),
    [("draw", "vgDrawPath"), ("clear", "vgClear"), ("readback", "vgReadPixels"), ("upload", "vgImageSubData"),
     ("finish", "vgFinish"), ("flush", "vgFlush"), ("error_query", "vgGetError")],
)  # fmt: skip
def test_flags(flag: str, command: str) -> None:
    assert flag in API.commands[command].flags


_DRIVER = r"""
#include <stdio.h>
#include <vector>
#include "sizes_vg.h"
// A driver with one path of 16-bit coordinates that keeps counts only, and a resolver that knows one name.
static int g_segments, g_coordinates, g_datatype = 1;
static int32_t get_parameter(uint32_t, int32_t name) {
  return name == 0x1601 ? g_datatype : name == 0x1604 ? g_segments : name == 0x1605 ? g_coordinates : -1;
}
namespace dt {
thread_local Thread tls;
void* g_real[1][VARIANTS] = {{(void*)get_parameter}};
namespace driver {
const Function<int32_t(uint32_t, int32_t)> vgGetParameteri{0};
void* find(unsigned) { return nullptr; }
void is_missing(unsigned) {}
}
static int g_notes;
void emit_note(Thread*, const char*, const char*) { ++g_notes; }
}
using namespace dt::size;
static void append(std::vector<uint8_t> commands) {
  long size = vg_path_data_size(7, (long)commands.size(), (long)commands.data());
  printf("%ld ", size);
  g_segments += (int)commands.size();
  g_coordinates += (int)size / 2;
}
int main() {
  append({2, 4, 7, 9, 0});                 // move, line, hline, vline, close: 6
  append({10, 12, 14, 16, 18, 22, 26, 28});  // 4 6 2 4 5 5 5 8 = 39
  printf("%ld ", vg_path_data_size(7, 1, (long)(const uint8_t*)"\x40"));  // no such command
  printf("%ld %ld ", vg_path_data_size(7, 0, 0), vg_path_data_size(7, 3, 0));
  static short data[100];
  auto part = [](int start, int count) { return vg_path_part_size(7, start, count, (long)data); };
  printf("| %ld %ld %ld ", part(0, 13), part(1, 2), part(5, 3));
  printf("%ld %ld %d ", part(12, 2), part(-1, 2), dt::g_notes);
  g_segments += 2, g_coordinates += 4;  // something else appended
  printf("| %ld %ld ", part(1, 2), part(0, 15));
  printf("%d ", dt::g_notes);
  g_segments = g_coordinates = 0;       // cleared: known again
  g_datatype = 3;
  std::vector<uint8_t> lines(5000, 4);
  printf("| %ld ", vg_path_data_size(7, 5000, (long)lines.data()));
  g_segments = 5000, g_coordinates = 10000;
  printf("%ld %d\n", part(4000, 3), dt::g_notes);
}
"""


def test_path_sizes_in_cpp(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler on this machine")
    source, program = tmp_path / "vg.cc", tmp_path / "vg"
    source.write_text(_DRIVER)
    command = ["g++", "-std=c++20", "-Wall", "-fsanitize=address,undefined", "-I", MIRROR]
    command += ["-I", sanitized.enum_headers(), "-o", program, source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    run = subprocess.run([program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split("|") == [
        "12 78 0 0 0 ",  # bytes that appends read
        " 90 6 24 0 0 0 ",  # the whole path, parts, out of range: no note
        " 32 98 1 ",  # not known any more: as much as it may be, and said once
        " 40000 24 1\n",
    ]


@pytest.mark.parametrize(("stride", "before"), [(-16, 32), (16, 0), (-100, 200)])
def test_rows_in_front_of_the_pointer(stride: int, before: int) -> None:
    data = API.commands["vgReadPixels"].param("data").data
    assert isinstance(data, Array)
    assert data.before is not None
    values = {"dataFormat": API.enums["VG_sRGBA_8888"], "width": 4, "height": 3, "dataStride": stride}
    assert size_rules.evaluate(data.before, values, API) == before
