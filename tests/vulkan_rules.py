"""Every rule about Vulkan has a trace that triggers it and one, as like it as can be, that does not."""

from __future__ import annotations

import struct
from collections.abc import Callable

from vulkan_scene import CB, DEVICE, POOL, QUEUE, SECONDARY, VulkanScene

Scene = VulkanScene
Make = Callable[[], VulkanScene]
CASES: dict[str, tuple[Make, Make]] = {}
FRAMES = 12
GRAPHICS = "VK_PIPELINE_BIND_POINT_GRAPHICS"
ALL = "VK_PIPELINE_STAGE_ALL_COMMANDS_BIT"
FRAGMENT, VERTEX = "VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT", "VK_PIPELINE_STAGE_VERTEX_SHADER_BIT"
OUTPUT = "VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT"
READ_ONLY = "VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL"
TARGET = "VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT"
ONCE = "VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT"


def case(rule: str, bad: Make, good: Make) -> None:
    CASES[rule] = (bad, good)


def draws(s: Scene, count: int = 4, vertices: int = 300) -> Scene:
    for _ in range(count):
        s.vkCmdDraw(CB, vertices, 1, 0, 0)
    return s


def frames(
    body: Callable[[Scene], object] = draws,
    *,
    each: Callable[[Scene, int], object] = lambda s, i: None,
    start: Callable[[Scene], object] = lambda s: None,
) -> Scene:
    """A program that records one command buffer and submits it in every frame, after `each`."""
    s = Scene()
    start(s)
    s.recorded(body)

    def frame(s: Scene, i: int) -> None:
        each(s, i)
        s.submit()

    return s.frames(FRAMES, frame)


def started(start: Callable[[Scene], object]) -> Scene:
    return frames(start=start)


def inside(s: Scene, body: Callable[[Scene], object]) -> Scene:
    s.vkCmdBeginRenderPass(CB, {"renderPass": 5}, 0)
    body(s)
    return s.vkCmdEndRenderPass(CB)


def submits(s: Scene, count: int) -> None:
    for _ in range(count):
        s.submit()


case(
    "vk-many-submits",
    lambda: frames(each=lambda s, i: submits(s, 12)),
    lambda: frames(each=lambda s, i: submits(s, 3)),
)
case(
    "vk-empty-submits",
    lambda: frames(each=lambda s, i: s.vkQueueSubmit(QUEUE, pSubmits=[{}])),
    lambda: frames(each=lambda s, i: s.vkQueueSubmit(QUEUE, pSubmits=[{}], fence=9)),
)


def small_buffers(s: Scene, count: int) -> None:
    for buffer in range(0x600, 0x600 + 8):
        s.recorded(lambda s, b=buffer: [s.vkCmdDraw(b, 300, 1, 0, 0) for _ in range(count)], buffer)


def six(s: Scene, i: int) -> Scene:
    return s.submit(*range(0x600, 0x606))


case(
    "vk-tiny-command-buffers",
    lambda: frames(start=lambda s: small_buffers(s, 2), each=six),
    lambda: frames(start=lambda s: small_buffers(s, 12), each=six),
)


def secondary(s: Scene, count: int) -> None:
    s.recorded(lambda s: [s.vkCmdDraw(SECONDARY, 300, 1, 0, 0) for _ in range(count)], SECONDARY)


def executes(s: Scene) -> Scene:
    return draws(s).vkCmdExecuteCommands(CB, 1, [SECONDARY])


case(
    "vk-tiny-secondaries",
    lambda: frames(executes, start=lambda s: secondary(s, 1)),
    lambda: frames(executes, start=lambda s: secondary(s, 20)),
)


def anew(s: Scene, *, run: bool = True, flags: object = 0) -> None:
    s.recorded(lambda s: s.vkCmdDraw(0x700, 300, 1, 0, 0), 0x700, flags=flags)
    if run:
        s.submit(0x700)


case(
    "vk-never-submitted",
    lambda: frames(each=lambda s, i: anew(s, run=False, flags=ONCE)),
    lambda: frames(each=lambda s, i: anew(s, flags=ONCE)),
)
case(
    "vk-one-time-missing",
    lambda: frames(each=lambda s, i: anew(s)),
    lambda: frames(each=lambda s, i: anew(s, flags=ONCE)),
)
case(
    "vk-simultaneous-use",
    lambda: frames(each=lambda s, i: anew(s, flags="VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT")),
    lambda: frames(each=lambda s, i: anew(s, flags=ONCE)),
)


def pool(flags: object) -> Make:
    return lambda: started(lambda s: s.vkCreateCommandPool(DEVICE, {"flags": flags}, pCommandPool=[POOL]))


case(
    "vk-resettable-pools",
    pool("VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT|VK_COMMAND_POOL_CREATE_TRANSIENT_BIT"),
    pool("VK_COMMAND_POOL_CREATE_TRANSIENT_BIT"),
)

# ---- memory


def memory(s: Scene, number: int = 0, size: int = 4096, *, dedicated: bool = False, used: bool = True) -> Scene:
    chain = [("VkMemoryDedicatedAllocateInfo", {"buffer": 7})] if dedicated else []
    s.vkAllocateMemory(DEVICE, {"allocationSize": size, "pNext": chain}, pMemory=[0x8000 + number], duration=9000)
    if used:
        s.vkCreateBuffer(DEVICE, {"size": size}, pBuffer=[0x9000 + number])
        s.vkBindBufferMemory(DEVICE, 0x9000 + number, 0x8000 + number, 0)
    return s


def blocks(count: int, size: int) -> Make:
    return lambda: started(lambda s: [memory(s, i, size) for i in range(count)])


case("vk-small-allocations", blocks(20, 4096), blocks(20, 1 << 20))
case(
    "vk-small-dedicated",
    lambda: started(lambda s: memory(s, dedicated=True)),
    lambda: started(lambda s: memory(s, size=1 << 20, dedicated=True)),
)
case(
    "vk-allocations-in-frames",
    lambda: frames(each=lambda s, i: memory(s, i)),
    lambda: started(lambda s: [memory(s, i) for i in range(FRAMES)]),
)


def mapped(s: Scene, i: int = 0) -> Scene:
    return s.vkMapMemory(DEVICE, 0x8000, 0, 4096, 0).vkUnmapMemory(DEVICE, 0x8000)


case(
    "vk-map-churn",
    lambda: frames(start=memory, each=mapped),
    lambda: frames(start=lambda s: mapped(memory(s))),
)
case(
    "vk-unused-memory",
    lambda: started(lambda s: memory(s, used=False)),
    lambda: started(lambda s: mapped(memory(s, used=False))),
)

# ---- images


def image(**info: object) -> Make:
    size = {"extent": {"width": 64, "height": 64, "depth": 1}, "samples": "VK_SAMPLE_COUNT_1_BIT"}
    return lambda: started(lambda s: s.vkCreateImage(DEVICE, size | {"usage": TARGET} | info, pImage=[0x10]))


LINEAR = "VK_IMAGE_TILING_LINEAR"
case("vk-linear-images", image(tiling=LINEAR), image(tiling=LINEAR, usage="VK_IMAGE_USAGE_TRANSFER_DST_BIT"))
case(
    "vk-concurrent-targets",
    image(sharingMode="VK_SHARING_MODE_CONCURRENT"),
    image(sharingMode="VK_SHARING_MODE_CONCURRENT", usage="VK_IMAGE_USAGE_SAMPLED_BIT"),
)
MUTABLE = "VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT"
FORMATS = [("VkImageFormatListCreateInfo", {"pViewFormats": ["VK_FORMAT_R8G8B8A8_SRGB"]})]
case("vk-mutable-targets", image(flags=MUTABLE), image(flags=MUTABLE, pNext=FORMATS))
case("vk-storage-targets", image(usage=f"{TARGET}|VK_IMAGE_USAGE_STORAGE_BIT"), image())
FOUR, EIGHT = "VK_SAMPLE_COUNT_4_BIT", "VK_SAMPLE_COUNT_8_BIT"
TRANSIENT = f"{TARGET}|VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT"
case("vk-multisampled-in-memory", image(samples=FOUR), image(samples=FOUR, usage=TRANSIENT))
case("vk-many-samples", image(samples=EIGHT), image(samples=FOUR))

# ---- passes


def render_pass(**attachment: object) -> Make:
    made = {"format": "VK_FORMAT_R8G8B8A8_UNORM", "samples": "VK_SAMPLE_COUNT_1_BIT"} | attachment
    return lambda: started(lambda s: s.vkCreateRenderPass(DEVICE, {"pAttachments": [made]}, pRenderPass=[5]))


LOAD, CLEAR = "VK_ATTACHMENT_LOAD_OP_LOAD", "VK_ATTACHMENT_LOAD_OP_CLEAR"
UNDEFINED = "VK_IMAGE_LAYOUT_UNDEFINED"
case(
    "vk-load-of-nothing",
    render_pass(loadOp=LOAD, initialLayout=UNDEFINED),
    render_pass(loadOp=LOAD, initialLayout="VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL"),
)
DEPTH = {
    "format": "VK_FORMAT_D32_SFLOAT",
    "loadOp": CLEAR,
    "finalLayout": "VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL",
}
case(
    "vk-stored-depth",
    render_pass(**DEPTH, storeOp="VK_ATTACHMENT_STORE_OP_STORE"),
    render_pass(**DEPTH, storeOp="VK_ATTACHMENT_STORE_OP_DONT_CARE"),
)


def cleared(s: Scene) -> Scene:
    return s.vkCmdClearAttachments(CB, pAttachments=[{"aspectMask": 1}], pRects=[{"layerCount": 1}])


case(
    "vk-clear-in-pass",
    lambda: frames(lambda s: inside(s, lambda s: draws(cleared(s)))),
    lambda: frames(lambda s: inside(s, lambda s: cleared(draws(s)))),
)
case(
    "vk-clear-of-images",
    lambda: frames(lambda s: draws(s.vkCmdClearColorImage(CB, 0x10, 1, {"float32": [0, 0, 0, 0]}, pRanges=[{}]))),
    lambda: frames(lambda s: inside(s, draws)),
)
case(
    "vk-empty-passes",
    lambda: frames(lambda s: inside(draws(s), lambda s: None)),
    lambda: frames(lambda s: inside(s, draws)),
)
case(
    "vk-resolve-by-transfer",
    lambda: frames(lambda s: draws(s).vkCmdResolveImage(CB, 1, 1, 2, 1, pRegions=[{}])),
    lambda: frames(lambda s: draws(s).vkCmdCopyImage(CB, 1, 1, 2, 1, pRegions=[{}])),
)

# ---- synchronisation


def barrier(before: str = FRAGMENT, behind: str = FRAGMENT, **image: object) -> Callable[[Scene], Scene]:
    given = {"pImageMemoryBarriers": [{"image": 0x10} | image]} if image else {}
    return lambda s: draws(draws(s).vkCmdPipelineBarrier(CB, before, behind, **given))


case("vk-all-commands-barriers", lambda: frames(barrier(ALL, ALL)), lambda: frames(barrier(ALL, FRAGMENT)))
case(
    "vk-barriers-in-a-row",
    lambda: frames(
        lambda s: draws(s).vkCmdPipelineBarrier(CB, OUTPUT, FRAGMENT).vkCmdPipelineBarrier(CB, OUTPUT, FRAGMENT)
    ),
    lambda: frames(lambda s: barrier()(barrier()(s))),
)
SAME = {"oldLayout": READ_ONLY, "newLayout": READ_ONLY, "dstAccessMask": "VK_ACCESS_SHADER_READ_BIT"}
case(
    "vk-read-to-read",
    lambda: frames(barrier(**SAME, srcAccessMask="VK_ACCESS_SHADER_READ_BIT")),
    lambda: frames(barrier(**SAME, srcAccessMask="VK_ACCESS_SHADER_READ_BIT|VK_ACCESS_SHADER_WRITE_BIT")),
)
case(
    "vk-undefined-to-read",
    lambda: frames(barrier(oldLayout=UNDEFINED, newLayout=READ_ONLY)),
    lambda: frames(barrier(oldLayout="VK_IMAGE_LAYOUT_GENERAL", newLayout=READ_ONLY)),
)
case("vk-pipeline-bubbles", lambda: frames(barrier(OUTPUT, VERTEX)), lambda: frames(barrier(OUTPUT, FRAGMENT)))
case(
    "vk-idle-in-frames",
    lambda: frames(each=lambda s, i: s.vkQueueWaitIdle(QUEUE, duration=50_000)),
    lambda: started(lambda s: s.vkDeviceWaitIdle(DEVICE)),
)


def waits(s: Scene, i: int, wait: int) -> Scene:
    return s.submit(fence=0xA00 + i % 2).vkWaitForFences(DEVICE, pFences=[wait], waitAll=1, timeout=10**9)


case(
    "vk-wait-for-own-frame",
    lambda: frames(each=lambda s, i: waits(s, i, 0xA00 + i % 2)),
    lambda: frames(each=lambda s, i: waits(s, i, 0xA00 + (i + 1) % 2)),
)
case(
    "vk-sync-objects-in-frames",
    lambda: frames(each=lambda s, i: s.vkCreateFence(DEVICE, {}, pFence=[0xA00 + i])),
    lambda: started(lambda s: s.vkCreateFence(DEVICE, {}, pFence=[0xA00])),
)

# ---- pipelines and shaders


def pipeline(s: Scene, number: int = 0x71, cache: int = 6, **info: object) -> Scene:
    infos = [{"layout": 0x61, "pStages": [{"stage": "VK_SHADER_STAGE_VERTEX_BIT", "module": 0x51}]} | info]
    return s.vkCreateGraphicsPipelines(DEVICE, cache, pCreateInfos=infos, pPipelines=[number], duration=500_000)


def bound(s: Scene, number: int = 0x71) -> Scene:
    return s.vkCmdBindPipeline(CB, GRAPHICS, number)


case(
    "vk-no-pipeline-cache",
    lambda: started(lambda s: pipeline(s, cache=0)),
    lambda: started(pipeline),
)
case(
    "vk-pipelines-in-frames",
    lambda: frames(each=lambda s, i: pipeline(s, 0x80 + i, subpass=i)),
    lambda: started(lambda s: [pipeline(s, 0x80 + i, subpass=i) for i in range(FRAMES)]),
)
case(
    "vk-equal-pipelines",
    lambda: started(lambda s: pipeline(pipeline(s), 0x72)),
    lambda: started(lambda s: pipeline(pipeline(s), 0x72, subpass=1)),
)
case(
    "vk-unused-pipelines",
    lambda: frames(lambda s: draws(bound(s)), start=lambda s: pipeline(pipeline(s), 0x72, subpass=1)),
    lambda: frames(lambda s: draws(bound(s)), start=pipeline),
)


def module(s: Scene, number: int, code: bytes) -> Scene:
    return s.vkCreateShaderModule(DEVICE, {"codeSize": len(code), "pCode": code}, pShaderModule=[number])


case(
    "vk-equal-shaders",
    lambda: started(lambda s: module(module(s, 1, b"code"), 2, b"code")),
    lambda: started(lambda s: module(module(s, 1, b"code"), 2, b"edoc")),
)


def workgroup(x: int) -> bytes:
    """A module with OpEntryPoint GLCompute and OpExecutionMode LocalSize."""
    words = [0x07230203, 0x10000, 0, 10, 0, 4 << 16 | 15, 5, 1, 0, 6 << 16 | 16, 1, 17, x, 4, 1]
    return struct.pack(f"<{len(words)}I", *words)


case(
    "vk-workgroup-size",
    lambda: started(lambda s: module(s, 1, workgroup(7))),
    lambda: started(lambda s: module(s, 1, workgroup(16))),
)


def assembled(topology: str) -> Make:
    state = {"topology": f"VK_PRIMITIVE_TOPOLOGY_{topology}", "primitiveRestartEnable": 1}
    return lambda: started(lambda s: pipeline(s, pInputAssemblyState=state))


case("vk-primitive-restart", assembled("TRIANGLE_LIST"), assembled("TRIANGLE_STRIP"))


def biased(slope: float) -> Make:
    state = {"depthBiasEnable": 1, "depthBiasSlopeFactor": slope}
    return lambda: started(lambda s: pipeline(s, pRasterizationState=state))


case("vk-depth-bias-of-zero", biased(0.0), biased(1.5))

# ---- draws and descriptors

case("vk-small-draws", lambda: frames(lambda s: draws(s, 120, 6)), lambda: frames(lambda s: draws(s, 120, 600)))
case(
    "vk-empty-draws",
    lambda: frames(lambda s: draws(s).vkCmdDrawIndexed(CB, 36, 0, 0, 0, 0)),
    lambda: frames(lambda s: draws(s).vkCmdDrawIndexed(CB, 36, 1, 0, 0, 0)),
)
case(
    "vk-same-pipeline-again",
    lambda: frames(lambda s: draws(bound(draws(bound(s))))),
    lambda: frames(lambda s: draws(bound(draws(bound(s)), 0x72))),
)


def sets(s: Scene, count: int) -> Scene:
    info = {"descriptorPool": 0x20, "pSetLayouts": [1] * count}
    return s.vkAllocateDescriptorSets(DEVICE, info, pDescriptorSets=list(range(0x1000, 0x1000 + count)))


case(
    "vk-sets-in-frames",
    lambda: frames(each=lambda s, i: sets(s, 120)),
    lambda: frames(each=lambda s, i: sets(s, 2)),
)


def descriptor_pool(s: Scene) -> Scene:
    return s.vkCreateDescriptorPool(DEVICE, {"maxSets": 200}, pDescriptorPool=[0x20])


case("vk-unused-pools", lambda: started(descriptor_pool), lambda: started(lambda s: sets(descriptor_pool(s), 2)))

# ---- device, window system, errors


def device(**features: object) -> Make:
    chain = [("VkPhysicalDeviceFeatures2", {"features": features})]
    return lambda: started(lambda s: s.vkCreateDevice(1, {"pNext": chain}, pDevice=[DEVICE]))


case("vk-robust-access", device(robustBufferAccess=1), device(independentBlend=1))


def instance(layer: str) -> Make:
    return lambda: started(lambda s: s.vkCreateInstance({"ppEnabledLayerNames": [layer]}, pInstance=[1]))


case("vk-validation-left-in", instance("VK_LAYER_KHRONOS_validation"), instance("VK_LAYER_MESA_overlay"))


def swapchain(images: int, mode: str) -> Make:
    info = {"minImageCount": images, "presentMode": f"VK_PRESENT_MODE_{mode}_KHR"}
    return lambda: started(lambda s: s.vkCreateSwapchainKHR(DEVICE, info, pSwapchain=[0x900]))


case("vk-two-swapchain-images", swapchain(2, "FIFO"), swapchain(3, "FIFO"))
case("vk-immediate-present", swapchain(3, "IMMEDIATE"), swapchain(3, "FIFO"))
case(
    "vk-suboptimal-ignored",
    lambda: frames(each=lambda s, i: s.present(result="VK_SUBOPTIMAL_KHR")),
    lambda: frames(each=lambda s, i: s.present(result="VK_SUBOPTIMAL_KHR") if i == 5 else None),
)
case(
    "vk-failed-calls",
    lambda: started(lambda s: s.vkCreateFence(DEVICE, {}, result="VK_ERROR_OUT_OF_HOST_MEMORY")),
    lambda: started(lambda s: s.vkGetFenceStatus(DEVICE, 1, result="VK_NOT_READY")),
)
