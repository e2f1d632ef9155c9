"""What else reads recordings, on one of Vulkan: it knows structures, or says by name what does not exist yet."""

from __future__ import annotations

import contextlib
import json
import re
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from drawtap.commands.toolkit import find
from drawtap.errors import UnavailableError
from drawtap.trace.apis import WITHOUT_VULKAN, is_vulkan
from drawtap.trace.trace import Trace, open_trace
from drawtap.web.recording import Recording
from shared import run_drawtap
from vulkan_scene import CB, DEVICE, VulkanScene


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    s = VulkanScene().vkCreateImage(DEVICE, {"extent": {"width": 64}, "pQueueFamilyIndices": [3]}, pImage=[0x10])
    s.recorded(lambda s: s.vkCmdDraw(CB, 3, 1, 0, 0)).frames(4, lambda s, i: s.submit())
    return s.write(tmp_path_factory.mktemp("vulkan") / "t.dtap")


_ARGUMENTS = {
    "export: apitrace": ("-f", "apitrace", "-o", "x.trace"),
    "state: changes": ("2", "--changes"),
    "state: driver": ("2", "--from-driver"),
    "verify: state": ("--state",),
    "synthesize": ("-o", "folder"),
}


@pytest.mark.parametrize("work", list(WITHOUT_VULKAN))
def test_no_empty_success(work: str, recording: Path, tmp_path: Path) -> None:
    arguments = (tmp_path / word if word in ("folder", "x.trace") else word for word in _ARGUMENTS[work])
    done = run_drawtap(work.partition(":")[0], recording, *arguments)
    assert (done.returncode, done.stdout) == (3, "")
    assert f"{WITHOUT_VULKAN[work].refusal}\n" in done.stderr
    assert WITHOUT_VULKAN[work].hint in done.stderr
    assert not list(tmp_path.iterdir())


def test_what_never_exists_gets_its_reason(recording: Path, tmp_path: Path) -> None:
    done = run_drawtap("export", recording, "-f", "apitrace", "-o", tmp_path / "x.trace")
    assert "apitrace's format has no calls of Vulkan" in done.stderr
    assert "yet" not in done.stderr
    done = run_drawtap("state", recording, "2", "--on", "llvmpipe")
    assert "drivers of Vulkan answer no questions about state" in done.stderr
    assert "yet" not in done.stderr


def test_info_says_on_which_devices_the_program_drew(tmp_path: Path) -> None:
    version = 1 << 22 | 3 << 12 | 230
    s = VulkanScene()
    for device, name in ((0x40, b"Moon GPU"), (0x41, b"Sun GPU"), (0x42, b"Idle GPU")):
        s.vkGetPhysicalDeviceProperties(device, pProperties={"apiVersion": version, "deviceName": [*name]})
    s.vkGetPhysicalDeviceProperties(0x41, pProperties={"apiVersion": version, "deviceName": [*b"Sun GPU"]})
    for device in (0x41, 0x40, 0x43):
        s.vkCreateDevice(device, {}, pDevice=[DEVICE + device])
    said = run_drawtap("info", s.write(tmp_path / "t.dtap")).stdout
    assert re.search(r"device 1 +Sun GPU, Vulkan 1\.3\.230\n", said), said
    assert re.search(r"device 2 +Moon GPU, Vulkan 1\.3\.230\n", said), said
    assert re.search(r"device 3 +of Vulkan; the program did not ask for its name\n", said), said
    assert "Idle GPU" not in said


def test_a_redaction_names_texts_of_structures_and_of_shaders(tmp_path: Path) -> None:
    words = [3 << 16 | 5, 1, *struct.unpack("<1I", b"sky\0")]  # OpName
    module = {"codeSize": 32, "pCode": [0x07230203, 0x10000, 0, 9, 0, *words]}
    s = VulkanScene().vkCreateShaderModule(DEVICE, module, pShaderModule=[0x20])
    s.vkCreateInstance({"pApplicationInfo": {"pApplicationName": "castle"}}, pInstance=[0x30])
    s.write(tmp_path / "t.dtap")
    done = run_drawtap("redact", tmp_path / "t.dtap", "-o", tmp_path / "r.dtap", "--unproven", "--json")
    assert done.returncode == 0, done.stderr
    texts = json.loads(done.stdout)["texts"]
    assert texts["VkApplicationInfo.pApplicationName"] == ["castle"]
    assert texts["SPIR-V.OpName"] == ["sky"]
    assert not any("sType" in place for place in texts)


def instruction(operation: int, *words: int | bytes) -> bytes:
    """Return an instruction of SPIR-V; texts end with a zero and fill whole words."""
    parts = [w + bytes(4 - len(w) % 4) if isinstance(w, bytes) else struct.pack("<I", w) for w in words]
    body = b"".join(parts)
    return struct.pack("<I", (len(body) // 4 + 1) << 16 | operation) + body


def test_new_names_have_the_bytes_of_the_old_ones(tmp_path: Path) -> None:
    """Whatever the program called something is gone; what the API, the language and the pipeline need stays."""
    module = struct.pack("<5I", 0x07230203, 0x10000, 0, 90, 0) + b"".join((
        instruction(3, 2, 450, 1, b"// moonbase\nvoid moonShade() {}\n"),
        instruction(4, b"GL_GOOGLE_include_directive"),
        instruction(5, 1, b"moonColour"), instruction(5, 2, b"gl_Position"), instruction(6, 3, 0, b"moonColour"),
        instruction(7, 4, "/home/adä/moonbase.frag".encode()), instruction(5632, 1, 5635, b"MOONCOLOR"),
        instruction(15, 4, 5, b"moonShade", 1, 2), instruction(330, b"entry-point moonShade"), instruction(253),
    ))  # fmt: skip
    code = [*struct.unpack(f"<{len(module) // 4}I", module)]
    stage = {"stage": "VK_SHADER_STAGE_COMPUTE_BIT", "module": 0x20, "pName": "moonShade"}
    about = {"pApplicationName": "moonbase", "pEngineName": "moon"}
    label = {"objectType": "VK_OBJECT_TYPE_IMAGE", "objectHandle": 7, "pObjectName": "moonbase"}
    s = VulkanScene().vkCreateInstance(
        {"pApplicationInfo": about, "ppEnabledExtensionNames": ["VK_EXT_debug_utils"]}, pInstance=[0x30]
    )
    s.vkGetPhysicalDeviceProperties(0x40, pProperties={"vendorID": 7, "deviceName": [*b"Moon GPU"]})
    s.vkCreateShaderModule(DEVICE, {"codeSize": len(module), "pCode": code}, pShaderModule=[0x20])
    s.vkCreateComputePipelines(DEVICE, 0, pCreateInfos=[{"stage": stage}], pPipelines=[0x50])
    s.vkSetDebugUtilsObjectNameEXT(DEVICE, label).vkCmdBeginDebugUtilsLabelEXT(CB, {"pLabelName": "to the moon"})
    s.vkCmdBeginDebugUtilsLabelEXT(CB, {"pLabelName": "m"}).vkCmdEndDebugUtilsLabelEXT(CB)
    s.write(tmp_path / "t.dtap")
    (tmp_path / "words").write_text("moon\nadä\n")
    done = run_drawtap(
        "redact", tmp_path / "t.dtap", "-o", tmp_path / "r.dtap", "--level", "names", "--unproven", "--json",
        "--deny", tmp_path / "words",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    texts = json.loads(done.stdout)["texts"]
    assert texts["VkInstanceCreateInfo.ppEnabledExtensionNames"] == ["VK_EXT_debug_utils"]
    assert texts["VkApplicationInfo.pApplicationName"] == texts["VkDebugUtilsObjectNameInfoEXT.pObjectName"]
    assert texts["SPIR-V.OpEntryPoint"] == texts["VkPipelineShaderStageCreateInfo.pName"]
    assert "gl_Position" in texts["SPIR-V.OpName"]
    assert texts["SPIR-V.OpMemberName"][0] in texts["SPIR-V.OpName"]
    assert texts["SPIR-V.OpSource"] == ["           \n                   \n"]
    with open_trace(tmp_path / "t.dtap") as old, open_trace(tmp_path / "r.dtap") as new:
        sizes = "SELECT name, payload_bytes FROM calls ORDER BY seq"
        assert new.sql(sizes).fetchall() == old.sql(sizes).fetchall()
        [(words,)] = new.sql("SELECT pCode FROM VkShaderModuleCreateInfo").fetchall()
        assert [a >> 16 for a in words[5:7]] == [a >> 16 for a in code[5:7]]
        assert words[-1] == code[-1]
        assert new.sql("SELECT vendorID FROM VkPhysicalDeviceProperties").fetchall() == [(7,)]


def test_shaders_that_are_no_spirv_keep_their_names(tmp_path: Path) -> None:
    s = VulkanScene().vkCreateShaderModule(DEVICE, {"codeSize": 8, "pCode": [1, 2]}, pShaderModule=[0x20])
    s.write(tmp_path / "t.dtap")
    done = run_drawtap("redact", tmp_path / "t.dtap", "-o", tmp_path / "r.dtap", "--level", "names", "--unproven")
    assert done.returncode == 4, done.stderr
    assert "a shader is no SPIR-V" in done.stderr
    assert not (tmp_path / "r.dtap").exists()


def test_help_names_what_vulkan_lacks() -> None:
    refusing = next(work for work in WITHOUT_VULKAN if ":" not in work)
    help_, without = find(refusing), find("list")
    assert help_ is not None
    assert without is not None
    assert f"The verb refuses recordings of Vulkan: {WITHOUT_VULKAN[refusing].hint}." in help_.help
    assert "Vulkan" not in without.help


@pytest.mark.parametrize("form", ["text", "csv", "json", "parquet", "perfetto"])
def test_other_formats_have_the_calls(form: str, recording: Path, tmp_path: Path) -> None:
    done = run_drawtap("export", recording, "-f", form, "-o", tmp_path / f"x.{form}")
    assert done.returncode == 0, done.stderr
    assert b"vkCreateImage" in (tmp_path / f"x.{form}").read_bytes() or form == "parquet"


def test_arguments_in_python_are_structures(recording: Path) -> None:
    with open_trace(recording) as trace:
        info = trace.calls[0].args["pCreateInfo"]
        assert isinstance(info, dict)
        assert info["extent"] == {"width": 64, "height": 0, "depth": 0}
        assert info["sType"] == "VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO"
        submits = trace.calls[4].args["pSubmits"]
        assert isinstance(submits, list)
        assert submits[0]["pCommandBuffers"] == [CB]


def test_the_page_shows_structures(recording: Path) -> None:
    with contextlib.closing(Recording(recording)) as seen:
        arguments = seen.call(0)["args"]
        assert isinstance(arguments, list)
        [argument] = [a for a in arguments if a["name"] == "pCreateInfo"]
        assert '"width": 64' in argument["array"]
        with pytest.raises(UnavailableError, match="no such image to draw to"):
            seen.looks.whole_pass(2)
        assert seen.overview()["vulkan"] is True


@pytest.mark.parametrize(
    ("function", "flags", "expected"),
    [("eglInitialize", "", True), ("eglSwapBuffers", "frame_end,sync", False), ("glDrawArrays", "draw", False)],
)
def test_programs_that_only_look_at_opengl_draw_with_vulkan(function: str, flags: str, expected: bool) -> None:
    """As a toolkit does that prefers Vulkan; a function that is never called decides nothing."""
    rows = [
        {"api": "vk", "calls": 9, "flags": "draw"},
        {"api": "gl", "calls": 0, "flags": "draw"},
        {"api": "egl", "name": function, "calls": 1, "flags": flags},
    ]
    core = SimpleNamespace(table_rows=lambda _: rows)
    trace = SimpleNamespace(info={"apis": {"vk": 9, "egl": 1}}, core=core)
    assert is_vulkan(cast("Trace", trace)) is expected
