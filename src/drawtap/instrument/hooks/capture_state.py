"""The GL state that capture needs: contexts, bindings, client arrays, maps.

The functions are hand-written C++ (HEADERS in native/mirror, namespace dt::hook): `before_NAME` and `after_NAME`.
A command without functions of its own uses the functions of its alias.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from drawtap.instrument.hook import Function, Hook, Hooks
from drawtap.spec.model import Array

HEADERS = ("gl_state.h", "front_buffer.h")
_DECLARATION = re.compile(r"^\s*(?:[\w:*]+\s+)+?(before|after)_(\w+)\s*\(([^)]*)\)", re.MULTILINE)
_HOOKS = re.compile(r"^namespace hook \{$(.*?)^\}  // namespace hook$", re.MULTILINE | re.DOTALL)
_FUNCTION = re.compile(r"^void (\w+)\(([^)]*)\) \{", re.MULTILINE)
_GPU_READS = ("gpu_reads", "draw", "dispatch", "flush", "finish", "sync", "frame_end", "readback")


@cache
def _declared(folder: str) -> dict[tuple[str, str], str]:
    """Hooks that the headers declare: (when, command) -> parameter text."""
    paths = [path for name in HEADERS if (path := Path(folder) / name).exists()]
    text = re.sub(r"//[^\n]*", "", "\n".join(path.read_text() for path in paths))
    return {(m[1], m[2]): " ".join(m[3].split()) for m in _DECLARATION.finditer(text)}


def hooks(folder: Path) -> Hooks:
    """Return the hook set that the header in `folder` declares."""
    declared = _declared(str(folder))

    def state(function: Function) -> Hook:
        before = own = _call(declared, "before", function)
        if function.has(*_GPU_READS) and function.api.name in ("gl", "egl", "glx"):
            before = "if (DT_UNLIKELY(dt::hook::g_maps_alive)) dt::hook::before_gpu_reads(_t);\n" + before
        if function.has("frame_end", "finish") and function.api.name in ("gl", "egl", "glx"):
            # The size of what is shown is looked at first: the image has it. The image belongs to the call that
            # shows it, so what the tap has to tell comes before.
            rest = before.removesuffix(own)
            hashes = "if (DT_UNLIKELY(dt::hook::g_hash_frames)) dt::hook::before_frame_end(_t);"
            take = f"dt::hook::take_targets(_t, {'true' if function.api.name == 'egl' else 'false'});"
            targets = f"if (DT_UNLIKELY(dt::hook::targets_are_wanted())) {take}"
            before = f"{own}\n{targets}\n{hashes}\n{rest}".lstrip()
        if not declared:
            before = ""
        after = _call(declared, "after", function)
        return Hook(is_target=bool(before or after), before_run=before, after_run=after)

    headers = (*HEADERS, "frame_image.h", "targets.h")
    header = "\n".join(f'#include "{name}"' for name in headers) if declared else ""
    return Hooks(name="state", header=header, hook_funcs=(state,))


@cache
def vulkan_functions(folder: Path) -> tuple[tuple[str, str], ...]:
    """Return what wrappers of Vulkan call, the functions of the namespace dt::hook in `folder`: (name, parameters)."""
    parts = (part for path in sorted(folder.glob("*.cc")) for part in _HOOKS.findall(path.read_text()))
    return tuple((m[1], " ".join(m[2].split())) for part in parts for m in _FUNCTION.finditer(part))


def vulkan_hooks(folder: Path) -> Hooks:
    """Return the hook set of the functions in `folder`: `before_NAME` and `after_NAME` are called around a command.

    `unrecorded_NAME` is called after a command whether it is recorded or not: objects may be older than the recording.
    """
    pairs = ((name.partition("_"), parameters) for name, parameters in vulkan_functions(folder))
    declared = {(when, command): parameters for (when, _, command), parameters in pairs}

    def facts(function: Function) -> Hook:
        before, after, always = (_call(declared, when, function) for when in ("before", "after", "unrecorded"))
        writes = _WRITES.get(function.command.alias or function.name)
        named = [*_named_buffers(function), *([f"dt::hook::{writes};"] if writes else [])]
        before, after = "\n".join((*named, before)).strip(), after or always
        return Hook(is_target=bool(before or after), before_run=before, after_run=after)

    return Hooks(name="vulkan", hook_funcs=(facts,))


# The targets of the device's writes by call, as targets_vk.cc takes them.
_WRITES = {
    "vkCmdCopyBuffer": "target(dstBuffer)",
    "vkCmdCopyBuffer2": "target(pCopyBufferInfo->dstBuffer)",
    "vkCmdCopyImageToBuffer": "target(dstBuffer)",
    "vkCmdCopyImageToBuffer2": "target(pCopyImageToBufferInfo->dstBuffer)",
    "vkCmdUpdateBuffer": "target(dstBuffer)",
    "vkCmdFillBuffer": "target(dstBuffer)",
    "vkCmdCopyQueryPoolResults": "target(dstBuffer)",
    "vkCmdWriteBufferMarkerAMD": "target(dstBuffer)",
    "vkCmdWriteBufferMarker2AMD": "target(dstBuffer)",
    "vkCmdBindTransformFeedbackBuffersEXT": "target(pBuffers, bindingCount)",
    "vkCmdBeginTransformFeedbackEXT": "target(pCounterBuffers, counterBufferCount)",
    "vkCmdEndTransformFeedbackEXT": "target(pCounterBuffers, counterBufferCount)",
    "vkCreateBufferView": "target(pCreateInfo->buffer)",
    "vkCreateAccelerationStructureKHR": "target(pCreateInfo->buffer)",
    "vkGetBufferDeviceAddress": "target(pInfo->buffer)",
    "vkUpdateDescriptorSets": "target(pDescriptorWrites, descriptorWriteCount)",
    "vkCmdPushDescriptorSet": "target(pDescriptorWrites, descriptorWriteCount)",
    "vkCmdPushDescriptorSet2": "target(pPushDescriptorSetInfo->pDescriptorWrites, "
    "pPushDescriptorSetInfo->descriptorWriteCount)",
    "vkUpdateDescriptorSetWithTemplate": "target(descriptorUpdateTemplate, pData)",
    "vkCmdPushDescriptorSetWithTemplate": "pushed(commandBuffer, descriptorUpdateTemplate, pData)",
    "vkCmdPushDescriptorSetWithTemplate2": "pushed(commandBuffer, "
    "pPushDescriptorSetWithTemplateInfo->descriptorUpdateTemplate, pPushDescriptorSetWithTemplateInfo->pData)",
}


# Whose buffer is not read because of the call.
_NO_READERS = ("vkGetBufferMemoryRequirements", "vkBindBufferMemory", "vkDestroyBuffer")


def _named_buffers(function: Function) -> list[str]:
    """Return code that tells which buffers the parameters name; structures tell for themselves (tree.cc)."""
    lines = []
    for param in function.command.params:
        if param.type.base != "VkBuffer" or function.name in _NO_READERS:
            continue
        if not param.type.indirection:
            lines.append(f"dt::reach::are_named(&{param.name}, 1);")
        elif param.type.const:
            assert isinstance(param.data, Array)
            lines.append(f"dt::reach::are_named({param.name}, {param.data.count});")
    return lines


def _call(declared: Mapping[tuple[str, str], str], when: str, function: Function) -> str:
    names = [function.name]
    if function.command.alias:
        names.append(function.command.alias)
    for name in names:
        if (when, name) in declared:
            arguments = ["_t", *(p.name for p in function.command.params)]
            wanted = declared[when, name].count(",") + 1
            if when != "before" and function.returns_value and wanted == len(arguments) + 1:
                arguments.append("_result")
            return f"dt::hook::{when}_{name}({', '.join(arguments)});"
    return ""
