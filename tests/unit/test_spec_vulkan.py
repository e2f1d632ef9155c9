"""Vulkan's registry in the model: layouts as C has them, a rule for every pointer, conditions of the specification."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

import size_rules
from drawtap.errors import InputError, UsageError
from drawtap.spec import expr, report
from drawtap.spec.checks import expressions
from drawtap.spec.expr import SpecError
from drawtap.spec.model import Api, Array, Chain, Command, Each, Opaque, String, Strings, StructType, Tree
from drawtap.spec.overlay import Overlay
from drawtap.spec.registry import XML, load_api, read_registry
from drawtap.spec.structs import Only

HEADERS = Path("/usr/include/vulkan/vulkan_core.h")


@pytest.fixture(scope="module")
def vk() -> Api:
    return load_api("vk")


@pytest.fixture(scope="module")
def own_structs(vk: Api) -> dict[str, StructType]:
    return {name: struct for name, struct in vk.structs.items() if name == struct.name}


@pytest.mark.parametrize(
    ("version", "commands"), [("1.0", 137), ("1.1", 165), ("1.2", 178), ("1.3", 215), ("1.4", 234)]
)
def test_versions_have_the_commands_of_the_headers(vk: Api, version: str, commands: int) -> None:
    assert len(vk.command_set("vk", version)) == commands


def test_every_required_command_of_linux_is_there(vk: Api) -> None:
    """Counted again from the XML, by the platforms that are not Linux."""
    foreign = {
        "android", "win32", "vi", "ios", "macos", "metal", "fuchsia", "ggp", "sci", "screen", "ohos",
    }  # fmt: skip
    wanted: set[str] = set()
    root = ElementTree.parse(XML / "vk.xml").getroot()
    for element in (*root.findall("feature"), *root.findall("extensions/extension")):
        apis = (element.get("api") or element.get("supported") or "").split(",")
        if "vulkan" in apis and element.get("platform") not in foreign:
            for block in element.findall("require"):
                if block.get("api", "vulkan") == "vulkan":
                    wanted |= {c.get("name", "") for c in block.findall("command")}
    assert set(vk.commands) == wanted


def test_nothing_is_left_open(vk: Api, own_structs: dict[str, StructType]) -> None:
    assert not [c.name for c in vk.commands.values() if c.uncovered]
    assert not [s.name for s in own_structs.values() if s.uncovered]
    assert not [row for row in report.below_bar() if row.api == "vk"]
    rows = {row.label: row for row in report.coverage(["vk"])}
    assert rows["Vulkan structures"].commands == len(own_structs) > 1400
    for command in vk.commands.values():  # what a rule leads to has a layout
        for param in command.params:
            if isinstance(param.data, Tree):
                assert param.type.base in vk.structs, (command.name, param.name)


def test_every_command_that_binds_memory_is_followed(vk: Api, own_structs: dict[str, StructType]) -> None:
    """The tap looks for stores where something lies: it must see each command that puts something there."""
    elsewhere = {
        "VkDeviceMemoryOpaqueCaptureAddressInfo", "VkMappedMemoryRange", "VkMemoryGetFdInfoKHR",
        "VkMemoryGetRemoteAddressInfoNV", "VkMemoryMapInfo", "VkMemoryUnmapInfo",
        "VkTileMemoryBindInfoQCOM",  # which programs cannot map
    }  # fmt: skip
    handle = "VkDeviceMemory"
    binding = {name for name, struct in own_structs.items() if any(m.type.base == handle for m in struct.members)}
    binding -= elsewhere
    for _ in range(3):  # what leads to them
        binding |= {name for name, s in own_structs.items() if any(m.type.base in binding for m in s.members)}
    commands = {
        command.alias or command.name
        for command in vk.commands.values()
        if any(p.type.base in binding or (p.type.base == handle and "Bind" in command.name) for p in command.params)
    }
    code = (Path(__file__).parents[2] / "native/runtime/vulkan/memory.cc").read_text()
    assert len(commands) > 8
    assert commands <= set(re.findall(r"^void before_(vk\w+)\(", code, re.MULTILINE))


def test_pointers_without_a_condition_are_probed(own_structs: dict[str, StructType]) -> None:
    """What the registry marks as not always valid has a condition, is an address only, or is probed."""
    root = ElementTree.parse(XML / "vk.xml").getroot()
    marked = 0
    for element in root.findall("types/type"):
        struct = own_structs.get(element.get("name", ""))
        for each in element.findall("member") if struct else ():
            name = each.findtext("name") or ""
            text = "".join(each.itertext())
            if (
                each.get("noautovalidity") != "true"
                or "*" not in text
                or name == "pNext"
                or each.get("api") == "vulkansc"
            ):
                continue
            assert struct is not None
            member = struct.member(name)
            assert member.when is not None or isinstance(member.data, Opaque) or name in struct.probed, (
                struct.name,
                name,
            )
            marked += 1
    assert marked > 40


# ---- layouts ----------------------------------------------------------------------------------------------


def assertions(structs: dict[str, StructType]) -> list[str]:
    lines = []
    for name, struct in structs.items():
        lines.append(
            f'_Static_assert(sizeof({name}) == {struct.size} && _Alignof({name}) == {struct.align}, "{name}");'
        )
        lines += [
            f"_Static_assert(offsetof({name}, {m.name}) == {m.offset} && sizeof((({name} *)0)->{m.name}) == {m.size},"
            f' "{name}.{m.name}");'
            for m in struct.members
            if m.bits is None
        ]
    return lines


def test_layouts_are_the_compilers(vk: Api, own_structs: dict[str, StructType], tmp_path: Path) -> None:
    """Every offset and size, and where the bits of each bit-field stand."""
    lines = [vk.typedefs, "#include <stdio.h>", "#include <string.h>", *assertions(own_structs), "int main(void) {"]
    expected = []
    for name, struct in own_structs.items():
        for member in struct.members:
            if member.bits is not None:
                lines.append(
                    f"  {{ {name} s; memset(&s, 0, sizeof s); s.{member.name} = ~0u; unsigned char *b = (void *)&s;"
                    f" int first = -1, n = 0; for (int i = 0; i < (int)sizeof s * 8; i++) if (b[i / 8] >> i % 8 & 1)"
                    f" {{ if (first < 0) first = i; n++; }}"
                    f' printf("{name}.{member.name} %d %d\\n", first, n); }}'
                )
                expected.append(f"{name}.{member.name} {member.offset * 8 + member.bits[0]} {member.bits[1]}")
    lines += ["  return 0;", "}"]
    source, program = tmp_path / "layouts.c", tmp_path / "layouts"
    source.write_text("\n".join(lines))
    made = subprocess.run(["gcc", "-O0", "-w", "-o", program, source], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[:2000]
    answer = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split("\n")
    assert answer[:-1] == expected
    assert len(expected) > 100


@pytest.mark.skipif(not HEADERS.exists(), reason=f"{HEADERS} is not there (Debian package libvulkan-dev)")
def test_layouts_are_those_of_the_systems_headers(own_structs: dict[str, StructType], tmp_path: Path) -> None:
    """The headers come from a registry of another age: only structures with the same members are compared."""
    bodies = dict(re.findall(r"^typedef (?:struct|union) (\w+) \{\n(.*?)^\} \1;", HEADERS.read_text(), re.M | re.S))
    same = {}
    for name, body in bodies.items():
        names = re.findall(r"(\w+)(?:\[\w+\])*(?:\s*:\s*\d+)?;", body)
        if name in own_structs and names == [m.name for m in own_structs[name].members]:
            same[name] = own_structs[name]
    assert len(same) > 0.9 * len(bodies)
    source = tmp_path / "headers.c"
    source.write_text("\n".join(["#include <stddef.h>", "#include <vulkan/vulkan_core.h>", *assertions(same)]))
    made = subprocess.run(["gcc", "-fsyntax-only", source], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[:2000]


def test_chains(vk: Api, own_structs: dict[str, StructType]) -> None:
    """Structures that extend others say their type, begin with it, and can themselves be extended."""
    for struct in own_structs.values():
        if struct.extends:
            first, second = struct.members[:2]
            assert (first.name, second.name) == ("sType", "pNext"), struct.name
            assert isinstance(second.data, Chain)
            assert struct.stype in vk.enums
            assert all(base in vk.structs for base in struct.extends), struct.name
    numbers = [vk.enums[s.stype] for s in own_structs.values() if s.stype]
    assert len(numbers) == len(set(numbers))


def test_members_do_not_overlap(own_structs: dict[str, StructType]) -> None:
    for struct in own_structs.values():
        if struct.union:
            assert {m.offset for m in struct.members} == {0}
            continue
        bits = [
            (m.offset * 8 + (m.bits[0] if m.bits else 0), m.bits[1] if m.bits else m.size * 8) for m in struct.members
        ]
        for (first, width), (second, _) in pairwise(bits):
            assert first + width <= second, struct.name


# ---- rules ------------------------------------------------------------------------------------------------


def test_rules_of_every_kind(vk: Api) -> None:
    commands, structs = vk.commands, vk.structs
    assert commands["vkFreeCommandBuffers"].param("pCommandBuffers").data == Array("commandBufferCount")
    assert commands["vkAllocateDescriptorSets"].param("pDescriptorSets").data == Array(
        "pAllocateInfo.descriptorSetCount", out=True
    )
    assert commands["vkEnumeratePhysicalDevices"].param("pPhysicalDevices").data == Array(
        "deref(pPhysicalDeviceCount)", out=True, actual="deref(pPhysicalDeviceCount)"
    )
    assert commands["vkCmdSetBlendConstants"].param("blendConstants").data == Array("4")
    assert commands["vkCmdSetBlendConstants"].param("blendConstants").type.indirection == 1
    assert commands["vkGetDeviceProcAddr"].param("pName").data == String()
    assert isinstance(commands["vkCreateBuffer"].param("pAllocator").data, Opaque)
    assert commands["vkCreateBuffer"].param("pBuffer").object_class == "VkBuffer"
    assert structs["VkInstanceCreateInfo"].member("ppEnabledLayerNames").data == Strings("enabledLayerCount")
    assert structs["VkShaderModuleCreateInfo"].member("pCode").data == Array("codeSize // 4")
    assert structs["VkAccelerationStructureBuildGeometryInfoKHR"].member("ppGeometries").data == Each(
        "geometryCount", Tree("1")
    )
    assert commands["vkCmdDrawMultiEXT"].param("pVertexInfo").data == Tree("drawCount", stride="stride")
    # an alias takes over everything but its name
    khr, core = commands["vkCmdBeginRenderingKHR"], commands["vkCmdBeginRendering"]
    assert replace(khr, name=core.name, alias=None, provided_by=core.provided_by) == core
    assert structs["VkRenderingInfoKHR"] is structs["VkRenderingInfo"]


# "Valid Usage" of VkWriteDescriptorSet: which of the three arrays a type of descriptor has.
@pytest.mark.parametrize(
    ("kind", "array"),
    [
        ("SAMPLER", "pImageInfo"), ("COMBINED_IMAGE_SAMPLER", "pImageInfo"), ("SAMPLED_IMAGE", "pImageInfo"),
        ("STORAGE_IMAGE", "pImageInfo"), ("INPUT_ATTACHMENT", "pImageInfo"),
        ("UNIFORM_TEXEL_BUFFER", "pTexelBufferView"), ("STORAGE_TEXEL_BUFFER", "pTexelBufferView"),
        ("UNIFORM_BUFFER", "pBufferInfo"), ("STORAGE_BUFFER", "pBufferInfo"),
        ("UNIFORM_BUFFER_DYNAMIC", "pBufferInfo"), ("STORAGE_BUFFER_DYNAMIC", "pBufferInfo"),
        ("INLINE_UNIFORM_BLOCK", ""), ("ACCELERATION_STRUCTURE_KHR", ""), ("MUTABLE_EXT", ""),
    ],
)  # fmt: skip
def test_descriptor_writes(vk: Api, kind: str, array: str) -> None:
    struct = vk.structs["VkWriteDescriptorSet"]
    given = {"descriptorType": vk.enums[f"VK_DESCRIPTOR_TYPE_{kind}"]}
    for name in ("pImageInfo", "pBufferInfo", "pTexelBufferView"):
        when = struct.member(name).when
        assert when is not None
        assert bool(size_rules.evaluate(when, given, vk)) == (name == array), name


def test_queue_families_count_where_they_are_shared(vk: Api) -> None:
    for name, mode in (("VkBufferCreateInfo", "sharingMode"), ("VkSwapchainCreateInfoKHR", "imageSharingMode")):
        when = vk.structs[name].member("pQueueFamilyIndices").when
        assert when is not None
        for value, counts in (("EXCLUSIVE", 0), ("CONCURRENT", 1)):
            assert size_rules.evaluate(when, {mode: vk.enums[f"VK_SHARING_MODE_{value}"]}, vk) == counts


def test_flags(vk: Api) -> None:
    flagged = {
        flag: {c.name for c in vk.commands.values() if flag in c.flags} for flag in ("frame_end", "submits", "blocks")
    }
    assert flagged["frame_end"] == {"vkQueuePresentKHR"}
    assert {"vkQueueSubmit", "vkQueueSubmit2", "vkQueueSubmit2KHR", "vkQueueBindSparse"} == flagged["submits"]
    assert {"vkWaitForFences", "vkQueueWaitIdle", "vkDeviceWaitIdle", "vkAcquireNextImageKHR"} < flagged["blocks"]
    for command in vk.commands.values():
        if "records" in command.flags:
            assert command.params[0].type.base == "VkCommandBuffer"


def test_handles(vk: Api) -> None:
    dispatchable = {h.name for h in vk.handles.values() if h.dispatchable}
    assert dispatchable == {
        "VkInstance", "VkPhysicalDevice", "VkDevice", "VkQueue", "VkCommandBuffer", "VkExternalComputeQueueNV",
    }  # fmt: skip
    for handle in vk.handles.values():
        assert handle.parent is None or all(p in vk.handles for p in handle.parent.split(","))
        assert handle.object_type in vk.enums


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VK_STRUCTURE_TYPE_PRESENT_INFO_KHR", 1_000_001_001), ("VK_ERROR_OUT_OF_DATE_KHR", -1_000_001_004),
        ("VK_FORMAT_R8G8B8A8_UNORM", 37), ("VK_IMAGE_USAGE_SAMPLED_BIT", 4), ("VK_WHOLE_SIZE", 2**64 - 1),
        ("VK_REMAINING_MIP_LEVELS", 2**32 - 1), ("VK_QUEUE_FAMILY_EXTERNAL", 2**32 - 2),
        ("VK_ACCESS_2_SHADER_STORAGE_READ_BIT", 1 << 33), ("VK_FORMAT_G8B8G8R8_422_UNORM_KHR", 1_000_156_000),
    ],
)  # fmt: skip
def test_enumerants_have_the_values_of_the_headers(vk: Api, name: str, value: int) -> None:
    assert vk.enums[name] == value


# ---- what does not fit ------------------------------------------------------------------------------------


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (("VkBuferCreateInfo", {"size": Array("1")}), "unknown structure VkBuferCreateInfo"),
        (("VkBufferCreateInfo", {"pNothing": Array("1")}), "has a member pNothing"),
        (("VkShaderModuleCreateInfo", {"pCode": Array("codeLength")}), "names codeLength"),
        (("VkShaderModuleCreateInfo", {"pCode": Only("flags.bits")}), "has no member bits"),
        (("VkMemoryToImageCopy", {"pHostPointer": Array("outer.image")}), "leads here has a member image"),
    ],
)
def test_overlays_that_do_not_fit(statement: tuple[str, dict[str, Array]], words: str) -> None:
    overlay = Overlay("vk", xml="vk.xml")
    overlay.member(statement[0], **statement[1])
    with pytest.raises(SpecError, match=re.escape(words)):
        overlay.apply(read_registry(XML / "vk.xml", "vk"))


def test_a_registry_without_its_codecs(tmp_path: Path) -> None:
    (tmp_path / "vk.xml").write_bytes((XML / "vk.xml").read_bytes())
    with pytest.raises(InputError, match=r"video\.xml"):
        read_registry(tmp_path / "vk.xml", "vk")


def test_a_structure_in_words() -> None:
    text = report.describe("VkImageCreateInfo")
    assert "88 bytes, aligned to 8" in text
    assert re.search(r"28  extent +VkExtent3D", text)
    assert "where sharingMode == VK_SHARING_MODE_CONCURRENT" in text
    assert "taken by vkCreateImage" in text
    assert "where the memory can be read" in report.describe("VkPipelineViewportStateCreateInfo")
    with pytest.raises(UsageError) as error:
        report.describe("VkImageCreateInf")
    assert error.value.hint is not None
    assert "VkImageCreateInfo" in error.value.hint


def leading(vk: Api, name: str, member: str) -> Command | StructType:
    """The command or the structure that leads to a structure and has that parameter or member."""
    candidates: list[Command | StructType] = [
        *(c for c in vk.commands.values() if any(p.type.base == name for p in c.params)),
        *(s for s in vk.structs.values() if any(m.type.base == name for m in s.members)),
    ]
    for each in candidates:
        names = {m.name for m in each.members} if isinstance(each, StructType) else {p.name for p in each.params}
        if member in names:
            return each
    raise AssertionError(f"nothing with {member} leads to {name}")


def test_rules_of_structures_compile(vk: Api, own_structs: dict[str, StructType], tmp_path: Path) -> None:
    lines = ["#include <stdint.h>", expr.prototypes_to_cpp(), vk.typedefs, expr.tables_to_cpp(vk)]
    total = 0
    for name, struct in own_structs.items():
        for member in struct.members:
            texts = [*expressions(member.data), *([member.when] if member.when else [])]
            for text in texts:
                outer: Command | StructType = struct
                given = f"const {name} *self, [[maybe_unused]] int64_t index"
                for path in expr.paths(text):
                    if path[0] == "outer":
                        outer = leading(vk, name, path[1])
                        given += f", const {outer.name} *outer" if isinstance(outer, StructType) else "".join(
                            f", {p.type.spelling} {p.name}" for p in outer.params
                        )  # fmt: skip
                        break
                total += 1
                rule = expr.struct_to_cpp(text, struct, vk, outer)
                lines.append(f"int64_t rule{total}({given}) {{ return {rule}; }}")
    assert total > 450
    source = tmp_path / "rules.cc"
    source.write_text("\n".join(lines))
    made = subprocess.run(["g++", "-std=c++20", "-fsyntax-only", source], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[:3000]
