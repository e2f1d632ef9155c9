"""The computed state of OpenVG and of the window systems, from recordings made call by call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drawtap.spec.registry import load_api
from drawtap.trace.moment import computed_state
from drawtap.trace.trace import Trace
from state_traces import OPENVG, Recording, enums, opened, value
from writer import Data, blob, f32, i32

pytestmark = pytest.mark.usefixtures("computed_state_here")


def vg_value(trace: Trace, seq: int, path: str) -> object:
    return value(trace, seq, f"vg_context.{path}")


def test_openvg_parameters_and_matrices(tmp_path: Path) -> None:
    vg = Recording(api=OPENVG)
    first = vg.gl("vgSeti", type="VG_BLEND_MODE", value=enums("vg")["VG_BLEND_MULTIPLY"])
    vg.gl("vgSetf", type="VG_STROKE_LINE_WIDTH", value=2.5)
    vg.gl("vgSetfv", type="VG_CLEAR_COLOR", count=4, values=f32(1, 0.5, 0, 1))
    vg.gl("vgSetiv", type="VG_SCISSOR_RECTS", count=8, values=i32(0, 0, 8, 8, 16, 16, 4, 4))
    vg.gl("vgSetfv", type="VG_STROKE_DASH_PATTERN", count=2, values=f32(3, 1.5))
    vg.gl("vgTranslate", tx=10.0, ty=20.0)
    vg.gl("vgScale", sx=2.0, sy=3.0)
    vg.gl("vgSeti", type="VG_MATRIX_MODE", value=enums("vg")["VG_MATRIX_IMAGE_USER_TO_SURFACE"])
    vg.gl("vgLoadMatrix", m=f32(1, 2, 3, 4, 5, 6, 7, 8, 9))
    wrong = vg.gl("vgSetf", type="VG_STROKE_LINE_WIDTH", value=9.0)
    vg.gl("vgGetError", result=enums("vg")["VG_ILLEGAL_ARGUMENT_ERROR"])
    with opened(vg, tmp_path) as trace:
        assert vg_value(trace, first - 1, "VG_BLEND_MODE") == "VG_BLEND_SRC_OVER"
        assert vg_value(trace, first, "VG_BLEND_MODE") == "VG_BLEND_MULTIPLY"
        assert vg_value(trace, wrong, "VG_STROKE_LINE_WIDTH") == 2.5
        assert vg_value(trace, wrong, "VG_CLEAR_COLOR") == [1, 0.5, 0, 1]
        assert vg_value(trace, wrong, "VG_SCISSOR_RECTS") == [0, 0, 8, 8, 16, 16, 4, 4]
        assert vg_value(trace, wrong, "VG_STROKE_DASH_PATTERN") == [3, 1.5]
        paths = vg_value(trace, wrong, "matrices.VG_MATRIX_PATH_USER_TO_SURFACE.values")
        assert paths == [2, 0, 0, 0, 3, 0, 10, 20, 1]
        images = vg_value(trace, wrong, "matrices.VG_MATRIX_IMAGE_USER_TO_SURFACE.values")
        assert images == [1, 2, 3, 4, 5, 6, 7, 8, 9]
        query = "SELECT begin_seq FROM state WHERE path = 'vg_contexts[1].VG_BLEND_MODE' ORDER BY 1"
        assert trace.sql(query).fetchall() == [(0,), (first,)]


def test_openvg_objects_live_and_are_resources(tmp_path: Path) -> None:
    vg = Recording(api=OPENVG)
    vg.gl(
        "vgCreatePath",
        pathFormat=0,
        datatype="VG_PATH_DATATYPE_S_16",
        scale=0.5,
        bias=1.0,
        capabilities=0xFFF,
        result=5,
    )
    made = vg.gl("vgCreatePaint", result=6)
    vg.gl("vgSetColor", paint=6, rgba=0xFF0000FF)
    vg.gl("vgSetParameteri", object=6, paramType="VG_PAINT_TYPE", value=enums("vg")["VG_PAINT_TYPE_LINEAR_GRADIENT"])
    vg.gl("vgSetParameterfv", object=6, paramType="VG_PAINT_LINEAR_GRADIENT", count=4, values=f32(0, 0, 8, 8))
    vg.gl("vgSetParameterfv", object=6, paramType="VG_PAINT_COLOR_RAMP_STOPS", count=5, values=f32(0, 1, 1, 1, 1))
    vg.gl("vgSetPaint", paint=6, paintModes=3)
    vg.gl("vgCreateImage", format="VG_sRGB_565", width=8, height=4, allowedQuality=1, result=7)
    pixels = bytes(range(64))
    vg.gl(
        "vgImageSubData",
        image=7,
        data=blob(pixels),
        dataStride=16,
        dataFormat="VG_sRGB_565",
        x=0,
        y=0,
        width=8,
        height=4,
    )
    vg.gl("vgCreateFont", glyphCapacityHint=4, result=8)
    vg.gl("vgSetGlyphToPath", font=8, glyphIndex=65, path=5, isHinted=1, glyphOrigin=f32(1, 2), escapement=f32(3, 4))
    vg.gl("vgCreateMaskLayer", width=16, height=8, result=9)
    last = vg.gl("vgRemovePathCapabilities", path=5, capabilities=0x00F)
    gone = vg.gl("vgDestroyPaint", paint=6)
    again = vg.gl("vgCreatePaint", result=6)
    with opened(vg, tmp_path) as trace:
        share = {
            path.removeprefix("vg_share."): json.loads(v) for path, v in computed_state(trace, last, "vg_share").items()
        }
        assert share["paths[5].VG_PATH_DATATYPE"] == "VG_PATH_DATATYPE_S_16"
        assert (share["paths[5].VG_PATH_SCALE"], share["paths[5].capabilities"]) == (0.5, 0xFF0)
        assert share["paints[6].VG_PAINT_COLOR"] == [1, 0, 0, 1]
        assert share["paints[6].VG_PAINT_TYPE"] == "VG_PAINT_TYPE_LINEAR_GRADIENT"
        assert share["paints[6].VG_PAINT_LINEAR_GRADIENT"] == [0, 0, 8, 8]
        assert share["paints[6].VG_PAINT_COLOR_RAMP_STOPS"] == [0, 1, 1, 1, 1]
        assert share["images[7].VG_IMAGE_FORMAT"] == "VG_sRGB_565"
        assert share["fonts[8].VG_FONT_NUM_GLYPHS"] == 1
        assert share["fonts[8].glyphs[65].escapement"] == [3, 4]
        assert share["mask_layers[9].width"] == 16
        assert vg_value(trace, last, "fill_paint") == vg_value(trace, last, "stroke_paint") == 6
        assert "vg_share.paints[6].VG_PAINT_TYPE" not in computed_state(trace, gone)
        assert value(trace, again, "vg_share.paints[6].VG_PAINT_TYPE") == "VG_PAINT_TYPE_COLOR"
        lives = trace.sql(
            "SELECT class, name, share_group, created_seq, deleted_seq, format, width, bytes, uploaded_bytes "
            "FROM resources WHERE class IN ('vg_paint', 'vg_image') ORDER BY created_seq"
        ).fetchall()
        assert lives[0] == ("vg_paint", 6, 1, made, gone, None, None, None, 0)
        assert lives[1][:3] + lives[1][5:] == ("vg_image", 7, 1, "VG_sRGB_565", 8, 64, 64)
        assert lives[2][3:5] == (again, None)


def test_egl_objects(tmp_path: Path) -> None:
    recording = Recording()
    to, known = recording.thread, dict(load_api("egl").enums)
    to.call("eglInitialize", dpy=0x10, major=i32(1), minor=i32(5), result=1)
    names = ["WIDTH", "HEIGHT", "TEXTURE_FORMAT", "TEXTURE_RGBA", "NONE"]
    width, height, texture_format, rgba, none = (known[f"EGL_{name}"] for name in names)
    attributes = i32(width, 64, height, 32, texture_format, rgba, none)
    to.call("eglCreatePbufferSurface", dpy=0x10, config=0x77, attrib_list=attributes, result=0x21)
    to.tap("dtapNative", handle=0x77, kind=Data(b"config"), text=Data(b"id=3;red=8;depth=24;samples=4"))
    wanted = i32(known["EGL_CONTEXT_MAJOR_VERSION"], 3, known["EGL_CONTEXT_OPENGL_DEBUG"], 1, known["EGL_NONE"])
    to.call("eglCreateContext", dpy=0x10, config=0x77, share_context=0x31, attrib_list=wanted, result=0x32)
    recording.calls += 3
    recording.current(2, 1)
    to.call("eglSurfaceAttrib", dpy=0x10, surface=0x21, attribute=known["EGL_SWAP_BEHAVIOR"],
            value=known["EGL_BUFFER_PRESERVED"], result=1)  # fmt: skip
    to.call("eglSwapInterval", dpy=0x10, interval=0, result=1)
    to.call("eglDestroySurface", dpy=0x10, surface=0x21, result=1)
    to.call("eglTerminate", dpy=0x10, result=1)
    recording.calls += 4
    seq = recording.calls - 1
    with opened(recording, tmp_path) as trace:

        def at(path: str, when: int = seq) -> object:
            found = dict(trace.state_index.at(when, path))
            return json.loads(found[path])

        assert (at("surfaces[0x21].kind"), at("surfaces[0x21].width"), at("surfaces[0x21].config")) == (
            "pbuffer",
            64,
            "0x77",
        )
        assert at("surfaces[0x21].EGL_TEXTURE_FORMAT") == "EGL_TEXTURE_RGBA"
        assert at("surfaces[0x21].EGL_SWAP_BEHAVIOR", seq - 4) == "EGL_BUFFER_DESTROYED"
        assert at("surfaces[0x21].EGL_SWAP_BEHAVIOR") == "EGL_BUFFER_PRESERVED"
        assert (at("surfaces[0x21].destroyed", seq - 2), at("surfaces[0x21].destroyed")) == (False, True)
        assert (at("surfaces[0x20].swap_interval", seq - 3), at("surfaces[0x20].swap_interval")) == (1, 0)
        assert [at(f"configs[0x77].{name}") for name in ("id", "red", "depth", "samples")] == [3, 8, 24, 4]
        made = "made_contexts[0x32]."
        assert [at(made + n) for n in ("number", "config", "shared_with", "made_by")] == [
            2,
            "0x77",
            "0x31",
            "eglCreateContext",
        ]
        assert at(made + "EGL_CONTEXT_MAJOR_VERSION") == 3
        assert at(made + "EGL_CONTEXT_OPENGL_DEBUG") is True
        assert (at("displays[0x10].initialized", seq - 1), at("displays[0x10].initialized")) == (True, False)
        assert (at("displays[0x10].major"), at("displays[0x10].minor")) == (1, 5)


def test_windows_that_no_call_made(tmp_path: Path) -> None:
    recording = Recording()
    recording.thread.tap("dtapNative", handle=0x500001, kind=Data(b"window"), text=Data(b"width=64;height=48"))
    seq = recording.gl("glEnable", cap="GL_DITHER")
    with opened(recording, tmp_path) as trace:
        kinds = dict(trace.state_index.at(seq, "surfaces[*].kind"))
        assert kinds == {"surfaces[0x20].kind": '""', "surfaces[0x500001].kind": '"window"'}


def test_attributes_of_the_other_window_system_are_left_out(tmp_path: Path) -> None:
    recording = Recording()
    recording.gl("glFlush")
    with opened(recording, tmp_path) as trace:
        paths = {str(path) for (path,) in trace.sql("SELECT path FROM state WHERE path LIKE 'surfaces%'").fetchall()}
    assert "surfaces[0x20].EGL_SWAP_BEHAVIOR" in paths
    assert not [path for path in paths if "GLX_" in path]
