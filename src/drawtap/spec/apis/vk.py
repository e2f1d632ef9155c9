"""Vulkan: what vk.xml leaves open.

Most rules come from the registry (`spec.vulkan`). By hand: pointers without a length, pointers that count only under a
condition, and flags of commands. The conditions come from the valid-usage statements in the Vulkan specification.
Some pointers that the registry marks as not always valid have no condition here: they are probed before they are read.
Nearly all of them depend on which states of a pipeline are dynamic.
"""

from drawtap.spec import expr
from drawtap.spec.model import Array, Each, Opaque, TemplateData, Tree
from drawtap.spec.overlay import Overlay
from drawtap.spec.registry import OVERLAYS
from drawtap.spec.structs import Only

o = OVERLAYS.register("vk")(
    Overlay(
        "vk",
        xml="vk.xml",
        libraries=("libvulkan.so.1",),
        lookups=("vkGetInstanceProcAddr", "vkGetDeviceProcAddr"),
        recorded=False,
    )
)

expr.declare("capture_bytes(type)", "bytes of the capture and replay data of an object of that type")
expr.declare("host_copy_bytes(image, row, height, width, rows, depth)", "bytes of a host copy to or from an image")
expr.declare("is_secondary(commandBuffer)", "1 for a secondary command buffer")
expr.declare("instrumentation_bytes(instrumentation)", "bytes of one block of shader instrumentation values")
expr.declare("tensor_bytes(chain)", "bytes of the tensor that a chain describes")

# ---- addresses that are not looked behind ------------------------------------------------------------------

o.data("vk*", pAllocator=Opaque("the program's allocator"))
o.data("vkCmdSetCheckpointNV", pCheckpointMarker=Opaque("a marker of the program"))
o.data("vkGetMemoryHostPointerPropertiesEXT", pHostPointer=Opaque("memory of the program, to be imported"))
o.data("vkGetLatencyTimingsLegacyNV", pTimings=Opaque("a structure that the registry does not describe"))
o.member(
    "VkAllocationCallbacks VkDebugReportCallbackCreateInfoEXT VkDebugUtilsMessengerCreateInfoEXT "
    "VkInitializePerformanceApiInfoINTEL VkDeviceDeviceMemoryReportCreateInfoEXT",
    pUserData=Opaque("user data of a callback"),
)
o.member("VkCheckpointDataNV VkCheckpointData2NV", pCheckpointMarker=Opaque("a marker of the program"))
o.member(
    "VkDeviceOrHostAddressKHR VkDeviceOrHostAddressConstKHR VkDeviceOrHostAddressConstAMDX",
    hostAddress=Opaque("an address of the device or of the program: the command says which"),
)
o.member("VkImportMemoryHostPointerInfoEXT", pHostPointer=Opaque("memory of the program, imported"))
o.member("VkMemoryMapPlacedInfoEXT", pPlacedAddress=Opaque("the address where the mapping shall be"))
o.member(
    "VkQueryLowLatencySupportNV",
    pQueriedLowLatencyData=Opaque("a structure that the registry does not describe"),
)

# ---- lengths that the registry does not give ---------------------------------------------------------------

o.data("vkMapMemory vkMapMemory2", ppData=Array("1", out=True))
o.data("vkGetDescriptorSetHostMappingVALVE", ppData=Array("1", out=True))
o.data(
    "vkUpdateDescriptorSetWithTemplate vkCmdPushDescriptorSetWithTemplate",
    pData=TemplateData("descriptorUpdateTemplate"),
)
o.member("VkPushDescriptorSetWithTemplateInfo", pData=TemplateData("descriptorUpdateTemplate"))
o.data(
    "vkCmdBuildAccelerationStructuresKHR vkBuildAccelerationStructuresKHR",
    ppBuildRangeInfos=Each("infoCount", Tree("pInfos[index].geometryCount")),
)
o.data(
    "vkCmdBuildAccelerationStructuresIndirectKHR",
    ppMaxPrimitiveCounts=Each("infoCount", Array("pInfos[index].geometryCount")),
)
for _command, _type in (
    ("vkGetBufferOpaqueCaptureDescriptorDataEXT", "BUFFER"),
    ("vkGetImageOpaqueCaptureDescriptorDataEXT", "IMAGE"),
    ("vkGetImageViewOpaqueCaptureDescriptorDataEXT", "IMAGE_VIEW"),
    ("vkGetSamplerOpaqueCaptureDescriptorDataEXT", "SAMPLER"),
    ("vkGetAccelerationStructureOpaqueCaptureDescriptorDataEXT", "ACCELERATION_STRUCTURE_KHR"),
    ("vkGetTensorOpaqueCaptureDescriptorDataARM", "TENSOR_ARM"),
    ("vkGetTensorViewOpaqueCaptureDescriptorDataARM", "TENSOR_VIEW_ARM"),
):
    o.data(_command, pData=Array(f"capture_bytes(VK_OBJECT_TYPE_{_type})", out=True))
o.data(
    "vkGetExternalComputeQueueDataNV",
    pData=Array("capture_bytes(VK_OBJECT_TYPE_EXTERNAL_COMPUTE_QUEUE_NV)", out=True),
)
o.data(
    "vkGetShaderInstrumentationValuesARM",
    pMetricValues=Array("deref(pMetricBlockCount) * instrumentation_bytes(instrumentation)", out=True),
)
o.member(
    "VkRayTracingShaderGroupCreateInfoKHR",
    pShaderGroupCaptureReplayHandle=Array("capture_bytes(VK_OBJECT_TYPE_PIPELINE)"),
)
# It extends seven kinds of create info; the largest size stands for all, and the memory is probed.
o.member(
    "VkOpaqueCaptureDescriptorDataCreateInfoEXT",
    opaqueCaptureDescriptorData=Only(None, Array("capture_bytes(VK_OBJECT_TYPE_UNKNOWN)")),
)
o.member("VkMemoryToImageCopy", pHostPointer=Array(
    "host_copy_bytes(outer.dstImage, memoryRowLength, memoryImageHeight, imageExtent.width, imageExtent.height, "
    "imageExtent.depth * imageSubresource.layerCount)"
))  # fmt: skip
o.member("VkImageToMemoryCopy", pHostPointer=Array(
    "host_copy_bytes(outer.srcImage, memoryRowLength, memoryImageHeight, imageExtent.width, imageExtent.height, "
    "imageExtent.depth * imageSubresource.layerCount)", out=True
))  # fmt: skip
o.member(
    "VkDeviceFaultInfoEXT",
    pAddressInfos=Tree("outer.pFaultCounts.addressInfoCount", out=True),
    pVendorInfos=Tree("outer.pFaultCounts.vendorInfoCount", out=True),
    pVendorBinaryData=Array("outer.pFaultCounts.vendorBinarySize", out=True),
)
o.member("VkCuLaunchInfoNVX VkCudaLaunchInfoNV", pParams=Array("paramCount"), pExtras=Array("extraCount"))
o.member("VkOpticalFlowSessionCreatePrivateDataInfoNV", pPrivateData=Array("size"))
o.member("VkDataGraphPipelineConstantARM", pConstantData=Array("tensor_bytes(pNext)"))
o.member("VkImageCompressionControlEXT", pFixedRateFlags=Only(
    "flags == VK_IMAGE_COMPRESSION_FIXED_RATE_EXPLICIT_EXT", Array("compressionControlPlaneCount")
))  # fmt: skip
o.member(
    "VkCommandBufferInheritanceViewportScissorInfoNV",
    pViewportDepths=Only("viewportScissor2D", Tree("viewportDepthCount")),
)
o.table("layer_setting_bytes", {
    "VK_LAYER_SETTING_TYPE_BOOL32_EXT VK_LAYER_SETTING_TYPE_INT32_EXT": 4,
    "VK_LAYER_SETTING_TYPE_UINT32_EXT VK_LAYER_SETTING_TYPE_FLOAT32_EXT": 4,
}, default=8)  # fmt: skip
# Settings that are strings keep the strings' addresses only.
o.member("VkLayerSettingEXT", pValues=Only("1", Array("valueCount * layer_setting_bytes(type)")))
# The count stands in the parameter set that leads here, under two names; the codec has 7 sub-layers at most.
o.member(
    "StdVideoH265HrdParameters",
    pSubLayerHrdParametersNal=Only(None, Tree("7")),
    pSubLayerHrdParametersVcl=Only(None, Tree("7")),
)

# ---- pointers that count under a condition -----------------------------------------------------------------

o.table("descriptor_content", {
    "VK_DESCRIPTOR_TYPE_SAMPLER VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE": 1,
    "VK_DESCRIPTOR_TYPE_STORAGE_IMAGE VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT": 1,
    "VK_DESCRIPTOR_TYPE_SAMPLE_WEIGHT_IMAGE_QCOM VK_DESCRIPTOR_TYPE_BLOCK_MATCH_IMAGE_QCOM": 1,
    "VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER VK_DESCRIPTOR_TYPE_STORAGE_BUFFER": 2,
    "VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC": 2,
    "VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER": 3,
})  # fmt: skip
o.member(
    "VkWriteDescriptorSet",
    pImageInfo=Only("descriptor_content(descriptorType) == 1"),
    pBufferInfo=Only("descriptor_content(descriptorType) == 2"),
    pTexelBufferView=Only("descriptor_content(descriptorType) == 3"),
)
o.member(
    "VkDescriptorSetLayoutBinding",
    pImmutableSamplers=Only(
        "descriptorType == VK_DESCRIPTOR_TYPE_SAMPLER or descriptorType == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER"
    ),
)
o.member(
    "VkBufferCreateInfo VkImageCreateInfo VkPhysicalDeviceImageDrmFormatModifierInfoEXT VkTensorCreateInfoARM",
    pQueueFamilyIndices=Only("sharingMode == VK_SHARING_MODE_CONCURRENT"),
)
o.member(
    "VkSwapchainCreateInfoKHR",
    pQueueFamilyIndices=Only("imageSharingMode == VK_SHARING_MODE_CONCURRENT"),
)
o.member("VkCommandBufferBeginInfo", pInheritanceInfo=Only("is_secondary(outer.commandBuffer)"))
o.member("VkFramebufferCreateInfo", pAttachments=Only("not flags & VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT"))
# Valid, or NULL, or of the length 0: the registry only leaves the statement to the prose.
o.member("VkRenderPassBeginInfo", pClearValues=Only("1"))
o.member("VkDeviceCreateInfo", ppEnabledLayerNames=Only("1"))
o.member("VkPipelineMultisampleStateCreateInfo", pSampleMask=Only("1"))
o.member("VkRenderingAreaInfo", pColorAttachmentFormats=Only("1"))
o.member("VkRenderingAttachmentLocationInfo", pColorAttachmentLocations=Only("1"))
o.member("VkCudaLaunchInfoNV", pParams=Only("1", Array("paramCount")), pExtras=Only("1", Array("extraCount")))

# ---- what a command is -------------------------------------------------------------------------------------

o.flags("records", "vkCmd*")
o.flags("frame_end", "vkQueuePresentKHR")
o.flags("submits gpu_reads", "vkQueueSubmit* vkQueueBindSparse")
o.flags("blocks", "vkWaitForFences vkWaitSemaphores* vkQueueWaitIdle vkDeviceWaitIdle vkAcquireNextImage*KHR")
o.flags("blocks", "vkWaitForPresent*KHR")
o.flags("finish", "vkQueueWaitIdle vkDeviceWaitIdle vkWaitForFences vkWaitSemaphores*")
o.flags("sync", "vkCreate* vkDestroy* vkAllocate* vkFree* vkQueueSubmit* vkSignalSemaphore* vkResetFences vkSetEvent")
o.flags("draw", "vkCmdDraw*")
o.flags("dispatch", "vkCmdDispatch* vkCmdTraceRays*")
o.flags("clear", "vkCmdClear*")
o.flags("upload", "vkCmdUpdateBuffer vkCopyMemoryToImage*")
o.flags("map", "vkMapMemory vkMapMemory2")
o.flags("unmap", "vkUnmapMemory vkUnmapMemory2 vkFlushMappedMemoryRanges")
o.flags("marker", "vkCmd*DebugUtilsLabelEXT vkQueue*DebugUtilsLabelEXT vkSetDebugUtilsObject*EXT")
o.flags("marker", "vkCmdDebugMarker*EXT vkDebugMarkerSetObject*EXT")
o.flags("callback", "vkCreateDebugUtilsMessengerEXT vkCreateDebugReportCallbackEXT")
o.flags("group_begin", "vkCmdBeginDebugUtilsLabelEXT vkQueueBeginDebugUtilsLabelEXT vkCmdDebugMarkerBeginEXT")
o.flags("group_end", "vkCmdEndDebugUtilsLabelEXT vkQueueEndDebugUtilsLabelEXT vkCmdDebugMarkerEndEXT")
o.flags("label", "vkSetDebugUtilsObject*EXT vkDebugMarkerSetObject*EXT")
o.flags("pass_begin", "vkCmdBeginRender*")
o.flags("pass_end", "vkCmdEndRender*")
o.flags("commands_begin", "vkBeginCommandBuffer")
o.flags("commands_end", "vkEndCommandBuffer")
o.flags("commands_call", "vkCmdExecuteCommands")
o.flags("reset", "vkResetCommandBuffer vkResetCommandPool vkResetDescriptorPool")
o.flags("barrier", "vkCmdPipelineBarrier* vkCmdWaitEvents*")
o.flags("bind", "vkCmdBind*")
o.flags("delete", "vkDestroy* vkFree*")
o.flags("memory_bind", "vkBindBufferMemory* vkBindImageMemory*")
o.flags("memory_query", "vkGet{Buffer,Image}MemoryRequirements* vkGetPhysicalDeviceMemoryProperties*")
o.flags("lookup", "vkGetInstanceProcAddr vkGetDeviceProcAddr")
