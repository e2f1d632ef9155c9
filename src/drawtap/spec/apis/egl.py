"""EGL 1.0 to 1.5 and its extensions. The registry says neither lengths nor groups: all of them stand here."""

from __future__ import annotations

from drawtap.spec import expr
from drawtap.spec.model import Array, AttributeList, Opaque, String, Struct
from drawtap.spec.overlay import Overlay, create, delete, run, set_
from drawtap.spec.registry import OVERLAYS

o = OVERLAYS.register("egl")(Overlay("egl", xml="egl.xml", libraries=("libEGL.so.1",), lookups=("eglGetProcAddress",)))

# Implemented by native/mirror/sizes_egl.h.
expr.declare("egl_image_planes(display, image)", "planes of an image, at most 4")

# ---- enum groups --------------------------------------------------------------------------------------------

o.group(
    "EGLErrorCode",
    "EGL_SUCCESS EGL_NOT_INITIALIZED EGL_BAD_* EGL_CONTEXT_LOST",
)
o.group("EGLClientApi", "EGL_OPENGL_API EGL_OPENGL_ES_API EGL_OPENVG_API EGL_NONE")
o.group("EGLStringName", "EGL_VENDOR EGL_VERSION EGL_EXTENSIONS EGL_CLIENT_APIS")
o.group("EGLSurfaceKind", "EGL_DRAW EGL_READ")
o.group("EGLEngine", "EGL_CORE_NATIVE_ENGINE")
o.group("EGLTextureBuffer", "EGL_BACK_BUFFER EGL_FRONT_BUFFER_EXT")
o.group(
    "EGLConfigAttribute",
    """EGL_NONE EGL_BUFFER_SIZE EGL_ALPHA_SIZE EGL_BLUE_SIZE EGL_GREEN_SIZE EGL_RED_SIZE EGL_DEPTH_SIZE
    EGL_STENCIL_SIZE EGL_CONFIG_CAVEAT EGL_CONFIG_ID EGL_LEVEL EGL_MAX_PBUFFER_HEIGHT EGL_MAX_PBUFFER_PIXELS
    EGL_MAX_PBUFFER_WIDTH EGL_NATIVE_RENDERABLE EGL_NATIVE_VISUAL_ID EGL_NATIVE_VISUAL_TYPE EGL_SAMPLES
    EGL_SAMPLE_BUFFERS EGL_SURFACE_TYPE EGL_TRANSPARENT_TYPE EGL_TRANSPARENT_BLUE_VALUE EGL_TRANSPARENT_GREEN_VALUE
    EGL_TRANSPARENT_RED_VALUE EGL_BIND_TO_TEXTURE_RGB EGL_BIND_TO_TEXTURE_RGBA EGL_MIN_SWAP_INTERVAL
    EGL_MAX_SWAP_INTERVAL EGL_LUMINANCE_SIZE EGL_ALPHA_MASK_SIZE EGL_COLOR_BUFFER_TYPE EGL_RENDERABLE_TYPE
    EGL_MATCH_NATIVE_PIXMAP EGL_CONFORMANT EGL_MATCH_FORMAT_KHR EGL_Y_INVERTED_NOK EGL_COVERAGE_BUFFERS_NV
    EGL_COVERAGE_SAMPLES_NV EGL_DEPTH_ENCODING_NV EGL_RECORDABLE_ANDROID EGL_FRAMEBUFFER_TARGET_ANDROID
    EGL_COLOR_COMPONENT_TYPE_EXT EGL_YUV_ORDER_EXT EGL_YUV_CSC_STANDARD_EXT EGL_YUV_NUMBER_OF_PLANES_EXT
    EGL_YUV_SUBSAMPLE_EXT EGL_YUV_DEPTH_RANGE_EXT EGL_YUV_PLANE_BPP_EXT EGL_CONFIG_SELECT_GROUP_EXT
    EGL_COLOR_FORMAT_HI EGL_BIND_TO_TEXTURE_* EGL_CONFORMANT_KHR""",
)
o.group(
    "EGLSurfaceAttribute",
    """EGL_NONE EGL_HEIGHT EGL_WIDTH EGL_LARGEST_PBUFFER EGL_CONFIG_ID EGL_TEXTURE_FORMAT EGL_TEXTURE_TARGET
    EGL_MIPMAP_TEXTURE EGL_MIPMAP_LEVEL EGL_RENDER_BUFFER EGL_GL_COLORSPACE EGL_VG_COLORSPACE EGL_VG_ALPHA_FORMAT
    EGL_HORIZONTAL_RESOLUTION EGL_VERTICAL_RESOLUTION EGL_PIXEL_ASPECT_RATIO EGL_SWAP_BEHAVIOR
    EGL_MULTISAMPLE_RESOLVE EGL_BUFFER_AGE_KHR EGL_POST_SUB_BUFFER_SUPPORTED_NV EGL_COVERAGE_SAMPLE_RESOLVE_NV
    EGL_AUTO_STEREO_NV EGL_MULTIVIEW_VIEW_COUNT_EXT EGL_PRESENT_OPAQUE_EXT EGL_PROTECTED_CONTENT_EXT
    EGL_FRONT_BUFFER_AUTO_REFRESH_ANDROID EGL_TIMESTAMPS_ANDROID EGL_FIXED_SIZE_ANGLE EGL_BITMAP_*
    EGL_D3D_TEXTURE_2D_SHARE_HANDLE_ANGLE EGL_DISCARD_SAMPLES_ARM EGL_SURFACE_COMPRESSION_EXT
    EGL_SURFACE_COMPRESSION_PLANE?_EXT EGL_SMPTE2086_* EGL_METADATA_SCALING_EXT EGL_CTA861_3_*
    EGL_EXTERNAL_REF_ID_EXT EGL_TELEMETRY_HINT_ANDROID""",
)
o.group(
    "EGLContextAttribute",
    """EGL_NONE EGL_CONTEXT_CLIENT_VERSION EGL_CONTEXT_MAJOR_VERSION EGL_CONTEXT_MINOR_VERSION
    EGL_CONTEXT_CLIENT_TYPE EGL_CONTEXT_OPENGL_PROFILE_MASK EGL_CONTEXT_OPENGL_DEBUG
    EGL_CONTEXT_OPENGL_FORWARD_COMPATIBLE EGL_CONTEXT_OPENGL_ROBUST_ACCESS
    EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY EGL_CONTEXT_OPENGL_ROBUST_ACCESS_EXT
    EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY_EXT EGL_CONTEXT_FLAGS_KHR EGL_CONTEXT_OPENGL_NO_ERROR_KHR
    EGL_CONTEXT_RELEASE_BEHAVIOR_KHR EGL_CONTEXT_PRIORITY_LEVEL_IMG EGL_CONFIG_ID EGL_RENDER_BUFFER
    EGL_GENERATE_RESET_ON_VIDEO_MEMORY_PURGE_NV EGL_PROTECTED_CONTENT_EXT EGL_EXTERNAL_REF_ID_EXT
    EGL_TELEMETRY_HINT_ANDROID""",
)
o.group(
    "EGLImageAttribute",
    """EGL_NONE EGL_IMAGE_PRESERVED EGL_GL_TEXTURE_LEVEL EGL_GL_TEXTURE_ZOFFSET EGL_WIDTH EGL_HEIGHT
    EGL_LINUX_DRM_FOURCC_EXT EGL_DMA_BUF_PLANE* EGL_YUV_COLOR_SPACE_HINT_EXT EGL_SAMPLE_RANGE_HINT_EXT
    EGL_YUV_CHROMA_*_HINT_EXT EGL_DRM_BUFFER_FORMAT_MESA EGL_DRM_BUFFER_USE_MESA EGL_DRM_BUFFER_STRIDE_MESA
    EGL_WAYLAND_PLANE_WL EGL_GL_COLORSPACE EGL_PROTECTED_CONTENT_EXT EGL_IMPORT_SYNC_TYPE_EXT
    EGL_NATIVE_BUFFER_*_IMG EGL_NATIVE_BUFFER_USAGE_ANDROID EGL_RED_SIZE EGL_GREEN_SIZE EGL_BLUE_SIZE EGL_ALPHA_SIZE""",
)
o.group(
    "EGLImageTarget",
    """EGL_GL_TEXTURE_* EGL_GL_RENDERBUFFER EGL_NATIVE_PIXMAP_KHR EGL_VG_PARENT_IMAGE_KHR EGL_NATIVE_BUFFER_ANDROID
    EGL_LINUX_DMA_BUF_EXT EGL_WAYLAND_BUFFER_WL EGL_DRM_BUFFER_MESA EGL_NATIVE_BUFFER_TIZEN EGL_NATIVE_SURFACE_TIZEN
    EGL_NATIVE_BUFFER_QNX EGL_CLIENT_PIXMAP_POINTER_HI EGL_STREAM_CONSUMER_IMAGE_NV""",
)
o.group("EGLClientBufferType", "EGL_OPENVG_IMAGE EGL_D3D_TEXTURE_2D_SHARE_HANDLE_ANGLE")
o.group(
    "EGLPlatform",
    """EGL_PLATFORM_ANDROID_KHR EGL_PLATFORM_GBM_KHR EGL_PLATFORM_WAYLAND_KHR EGL_PLATFORM_X11_KHR
    EGL_PLATFORM_XCB_EXT EGL_PLATFORM_DEVICE_EXT EGL_PLATFORM_SURFACELESS_MESA EGL_PLATFORM_SCREEN_QNX""",
)
o.group(
    "EGLPlatformAttribute",
    """EGL_NONE EGL_PLATFORM_X11_SCREEN_KHR EGL_PLATFORM_XCB_SCREEN_EXT EGL_TRACK_REFERENCES_KHR EGL_DEVICE_EXT
    EGL_ALLOC_NEW_DISPLAY_EXT EGL_DRM_MASTER_FD_EXT""",
)
o.group("EGLDisplayAttribute", "EGL_TRACK_REFERENCES_KHR EGL_DEVICE_EXT EGL_MAX_STREAM_METADATA_*")
o.group(
    "EGLSyncType",
    """EGL_SYNC_FENCE EGL_SYNC_CL_EVENT EGL_SYNC_REUSABLE_KHR EGL_SYNC_NATIVE_FENCE_ANDROID EGL_SYNC_CUDA_EVENT_NV
    EGL_SYNC_NEW_FRAME_NV EGL_SYNC_CLIENT_EXT""",
)
o.group(
    "EGLSyncAttribute",
    """EGL_NONE EGL_SYNC_STATUS EGL_SYNC_TYPE EGL_SYNC_CONDITION EGL_CL_EVENT_HANDLE EGL_SYNC_STATUS_NV
    EGL_SYNC_TYPE_NV EGL_SYNC_CONDITION_NV EGL_SYNC_NATIVE_FENCE_FD_ANDROID EGL_CUDA_EVENT_HANDLE_NV""",
)
o.group(
    "EGLSyncCondition",
    """EGL_SYNC_PRIOR_COMMANDS_COMPLETE EGL_SYNC_CL_EVENT_COMPLETE EGL_SYNC_PRIOR_COMMANDS_COMPLETE_NV
    EGL_SYNC_NATIVE_FENCE_SIGNALED_ANDROID EGL_SYNC_CUDA_EVENT_COMPLETE_NV EGL_SYNC_CLIENT_SIGNAL_EXT
    EGL_SYNC_PRIOR_COMMANDS_IMPLICIT_EXTERNAL_ARM""",
)
o.group("EGLSyncStatus", "EGL_SIGNALED EGL_UNSIGNALED EGL_SIGNALED_NV EGL_UNSIGNALED_NV")
o.group(
    "EGLWaitResult",
    """EGL_CONDITION_SATISFIED EGL_TIMEOUT_EXPIRED EGL_FALSE EGL_CONDITION_SATISFIED_NV EGL_TIMEOUT_EXPIRED_NV
    EGL_ALREADY_SIGNALED_NV""",
)
o.group(
    "EGLStreamAttribute",
    """EGL_NONE EGL_CONSUMER_LATENCY_USEC_KHR EGL_PRODUCER_FRAME_KHR EGL_CONSUMER_FRAME_KHR EGL_STREAM_STATE_KHR
    EGL_STREAM_FIFO_LENGTH_KHR EGL_STREAM_TIME_* EGL_CONSUMER_ACQUIRE_TIMEOUT_USEC_KHR EGL_STREAM_CROSS_*
    EGL_STREAM_TYPE_NV EGL_STREAM_PROTOCOL_NV EGL_STREAM_ENDPOINT_NV EGL_SOCKET_HANDLE_NV EGL_SOCKET_TYPE_NV
    EGL_METADATA?_SIZE_NV EGL_METADATA?_TYPE_NV EGL_PRODUCER_METADATA_NV EGL_CONSUMER_METADATA_NV
    EGL_PENDING_METADATA_NV EGL_PENDING_FRAME_NV EGL_YUV_NUMBER_OF_PLANES_EXT EGL_YUV_PLANE?_TEXTURE_UNIT_NV
    EGL_COLOR_BUFFER_TYPE EGL_SUPPORT_RESET_NV EGL_SUPPORT_REUSE_NV EGL_STREAM_FIFO_SYNCHRONOUS_NV
    EGL_PRODUCER_MAX_FRAME_HINT_NV EGL_CONSUMER_MAX_FRAME_HINT_NV EGL_STREAM_FRAME_* EGL_*_AUTO_ORIENTATION_NV
    EGL_STREAM_DMA_* EGL_STREAM_CONSUMER_IMAGE_* EGL_WIDTH EGL_HEIGHT""",
)
o.group("EGLStreamEvent", "EGL_STREAM_IMAGE_ADD_NV EGL_STREAM_IMAGE_REMOVE_NV EGL_STREAM_IMAGE_AVAILABLE_NV")
o.group(
    "EGLDeviceAttribute",
    """EGL_CUDA_DEVICE_NV EGL_DRM_DEVICE_FILE_EXT EGL_DRM_RENDER_NODE_FILE_EXT EGL_OPENWF_DEVICE_ID_EXT
    EGL_D3D9_DEVICE_ANGLE EGL_D3D11_DEVICE_ANGLE EGL_DEVICE_UUID_EXT EGL_DRIVER_UUID_EXT EGL_DRIVER_NAME_EXT
    EGL_RENDERER_EXT EGL_VENDOR EGL_VERSION EGL_EXTENSIONS""",
)
o.group(
    "EGLOutputAttribute",
    """EGL_NONE EGL_SWAP_INTERVAL_EXT EGL_MIN_SWAP_INTERVAL EGL_MAX_SWAP_INTERVAL EGL_DRM_CRTC_EXT EGL_DRM_PLANE_EXT
    EGL_DRM_CONNECTOR_EXT EGL_OPENWF_DEVICE_EXT EGL_OPENWF_PIPELINE_ID_EXT EGL_OPENWF_PORT_ID_EXT EGL_EXTENSIONS""",
)
o.group("EGLDebugAttribute", "EGL_NONE EGL_DEBUG_MSG_* EGL_DEBUG_CALLBACK_KHR")
o.group("EGLObjectType", "EGL_OBJECT_*")
o.group(
    "EGLLockAttribute",
    "EGL_NONE EGL_MAP_PRESERVE_PIXELS_KHR EGL_LOCK_USAGE_HINT_KHR",
)
o.group(
    "EGLTimestamp",
    """EGL_REQUESTED_PRESENT_TIME_ANDROID EGL_RENDERING_COMPLETE_TIME_ANDROID EGL_COMPOSITION_LATCH_TIME_ANDROID
    EGL_FIRST_COMPOSITION_*_ANDROID EGL_LAST_COMPOSITION_START_TIME_ANDROID EGL_DISPLAY_PRESENT_TIME_ANDROID
    EGL_DEQUEUE_READY_TIME_ANDROID EGL_READS_DONE_TIME_ANDROID EGL_COMPOSITE_*_ANDROID""",
)
o.group("EGLWaylandBufferAttribute", "EGL_TEXTURE_FORMAT EGL_WIDTH EGL_HEIGHT EGL_WAYLAND_Y_INVERTED_WL")
o.group("EGLCompositorPolicy", "EGL_COMPOSITOR_*_FRAME_EXT")

o.groups("eglGetError", returns="EGLErrorCode")
o.groups("eglBindAPI", api="EGLClientApi")
o.groups("eglQueryAPI", returns="EGLClientApi")
o.groups("eglQueryString", name="EGLStringName")
o.groups("eglGetCurrentSurface", readdraw="EGLSurfaceKind")
o.groups("eglWaitNative", engine="EGLEngine")
o.groups("eglBindTexImage eglReleaseTexImage", buffer="EGLTextureBuffer")
o.groups("eglGetConfigAttrib", attribute="EGLConfigAttribute")
o.groups("eglQuerySurface* eglSurfaceAttrib", attribute="EGLSurfaceAttribute")
o.groups("eglQueryContext", attribute="EGLContextAttribute")
o.groups("eglCreateImage eglCreateImageKHR", target="EGLImageTarget")
o.groups("eglCreatePbufferFromClientBuffer", buftype="EGLClientBufferType")
o.groups("eglGetPlatformDisplay*", platform="EGLPlatform")
o.groups("eglQueryDisplayAttribKHR", name="EGLDisplayAttribute")
o.groups("eglCreateSync* eglCreateStreamSyncNV", type="EGLSyncType")
o.groups("eglCreateFenceSyncNV", condition="EGLSyncCondition")
o.groups("eglGetSyncAttrib*", attribute="EGLSyncAttribute")
o.groups("eglSignalSync*", mode="EGLSyncStatus")
o.groups("eglClientWaitSync*", flags="EGLSyncFlagsKHR", returns="EGLWaitResult")
o.groups("eglQueryStream{,u64,Attrib,Time}KHR eglSetStreamAttribKHR eglStreamAttribKHR", attribute="EGLStreamAttribute")
o.groups("eglQueryStreamMetadataNV", name="EGLStreamAttribute")
o.groups("eglQueryDeviceAttribEXT", attribute="EGLDeviceAttribute")
o.groups("eglQueryDeviceStringEXT eglQueryDeviceBinaryEXT", name="EGLDeviceAttribute")
o.groups("egl*Output*AttribEXT", attribute="EGLOutputAttribute")
o.groups("eglQueryOutput*StringEXT", name="EGLOutputAttribute")
o.groups("eglQueryDebugKHR", attribute="EGLDebugAttribute")
o.groups("eglLabelObjectKHR", objectType="EGLObjectType", returns="EGLErrorCode")
o.groups("eglDebugMessageControlKHR", returns="EGLErrorCode")
o.groups("eglGetCompositorTimingSupportedANDROID", name="EGLTimestamp")
o.groups("eglGetFrameTimestampSupportedANDROID", timestamp="EGLTimestamp")
o.groups("eglQueryWaylandBufferWL", attribute="EGLWaylandBufferAttribute")
o.groups("eglCompositorSwapPolicyEXT", policy="EGLCompositorPolicy")

# ---- attribute lists ----------------------------------------------------------------------------------------


# The names of values of attributes, where they are no numbers.
o.group("EGLSurfaceTypeMask", "EGL_DONT_CARE", bitmask=True)
o.group("EGLRenderableTypeMask", "EGL_DONT_CARE", bitmask=True)
o.group("EGLConfigCaveat", "EGL_DONT_CARE EGL_NONE EGL_SLOW_CONFIG EGL_NON_CONFORMANT_CONFIG")
o.group("EGLTransparentType", "EGL_DONT_CARE EGL_NONE EGL_TRANSPARENT_RGB")
o.group("EGLColorBufferType", "EGL_DONT_CARE EGL_RGB_BUFFER EGL_LUMINANCE_BUFFER EGL_YUV_BUFFER_EXT")
o.group("EGLColorComponentType", "EGL_DONT_CARE EGL_COLOR_COMPONENT_TYPE_*_EXT EGL_COLOR_COMPONENT_TYPE_*_ARM")
o.group("EGLMatchFormat", "EGL_DONT_CARE EGL_NONE EGL_FORMAT_RGB*_KHR")
o.group("EGLTextureFormat", "EGL_NO_TEXTURE EGL_TEXTURE_RGB EGL_TEXTURE_RGBA")
o.group("EGLTextureTarget", "EGL_NO_TEXTURE EGL_TEXTURE_2D")
o.group("EGLRenderBuffer", "EGL_BACK_BUFFER EGL_SINGLE_BUFFER EGL_TRIPLE_BUFFER_NV EGL_QUADRUPLE_BUFFER_NV")
o.group("EGLGLColorspace", "EGL_GL_COLORSPACE_*")
o.group("EGLVGColorspace", "EGL_VG_COLORSPACE_sRGB EGL_VG_COLORSPACE_LINEAR")
o.group("EGLVGAlphaFormat", "EGL_VG_ALPHA_FORMAT_NONPRE EGL_VG_ALPHA_FORMAT_PRE")
o.group("EGLSurfaceCompression", "EGL_SURFACE_COMPRESSION_FIXED_RATE_*")
o.group("EGLResetNotification", "EGL_NO_RESET_NOTIFICATION EGL_LOSE_CONTEXT_ON_RESET")
o.group("EGLReleaseBehavior", "EGL_CONTEXT_RELEASE_BEHAVIOR_NONE_KHR EGL_CONTEXT_RELEASE_BEHAVIOR_FLUSH_KHR")
o.group("EGLContextPriority", "EGL_CONTEXT_PRIORITY_*_IMG EGL_CONTEXT_PRIORITY_REALTIME_NV")
o.group("EGLYUVColorSpaceHint", "EGL_ITU_REC*")
o.group("EGLSampleRangeHint", "EGL_YUV_FULL_RANGE_EXT EGL_YUV_NARROW_RANGE_EXT")
o.group("EGLChromaSitingHint", "EGL_YUV_CHROMA_SITING_0_EXT EGL_YUV_CHROMA_SITING_0_5_EXT")
o.group("EGLDRMBufferFormat", "EGL_DRM_BUFFER_FORMAT_ARGB32_MESA")
_VALUES = {
    "EGL_SURFACE_TYPE": "EGLSurfaceTypeMask",
    "EGL_RENDERABLE_TYPE EGL_CONFORMANT": "EGLRenderableTypeMask",
    "EGL_CONFIG_CAVEAT": "EGLConfigCaveat",
    "EGL_TRANSPARENT_TYPE": "EGLTransparentType",
    "EGL_COLOR_BUFFER_TYPE": "EGLColorBufferType",
    "EGL_COLOR_COMPONENT_TYPE_EXT": "EGLColorComponentType",
    "EGL_MATCH_FORMAT_KHR": "EGLMatchFormat",
    "EGL_TEXTURE_FORMAT": "EGLTextureFormat",
    "EGL_TEXTURE_TARGET": "EGLTextureTarget",
    "EGL_RENDER_BUFFER": "EGLRenderBuffer",
    "EGL_GL_COLORSPACE": "EGLGLColorspace",
    "EGL_VG_COLORSPACE": "EGLVGColorspace",
    "EGL_VG_ALPHA_FORMAT": "EGLVGAlphaFormat",
    "EGL_SURFACE_COMPRESSION_EXT": "EGLSurfaceCompression",
    "EGL_CONTEXT_OPENGL_PROFILE_MASK": "EGLContextProfileMask",
    "EGL_CONTEXT_FLAGS_KHR": "EGLContextFlagMask",
    "EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY_EXT": (
        "EGLResetNotification"
    ),
    "EGL_CONTEXT_RELEASE_BEHAVIOR_KHR": "EGLReleaseBehavior",
    "EGL_CONTEXT_PRIORITY_LEVEL_IMG": "EGLContextPriority",
    "EGL_YUV_COLOR_SPACE_HINT_EXT": "EGLYUVColorSpaceHint",
    "EGL_SAMPLE_RANGE_HINT_EXT": "EGLSampleRangeHint",
    "EGL_YUV_CHROMA_HORIZONTAL_SITING_HINT_EXT EGL_YUV_CHROMA_VERTICAL_SITING_HINT_EXT": "EGLChromaSitingHint",
    "EGL_DRM_BUFFER_FORMAT_MESA": "EGLDRMBufferFormat",
    "EGL_DRM_BUFFER_USE_MESA": "EGLDRMBufferUseMESAMask",
    "EGL_NATIVE_BUFFER_USAGE_ANDROID": "EGLNativeBufferUsageFlags",
    "EGL_LOCK_USAGE_HINT_KHR": "EGLLockUsageHintKHRMask",
    """EGL_NATIVE_RENDERABLE EGL_BIND_TO_TEXTURE_RGB EGL_BIND_TO_TEXTURE_RGBA EGL_RECORDABLE_ANDROID
    EGL_FRAMEBUFFER_TARGET_ANDROID EGL_LARGEST_PBUFFER EGL_MIPMAP_TEXTURE EGL_FIXED_SIZE_ANGLE EGL_PRESENT_OPAQUE_EXT
    EGL_PROTECTED_CONTENT_EXT EGL_CONTEXT_OPENGL_DEBUG EGL_CONTEXT_OPENGL_FORWARD_COMPATIBLE
    EGL_CONTEXT_OPENGL_ROBUST_ACCESS EGL_CONTEXT_OPENGL_ROBUST_ACCESS_EXT EGL_CONTEXT_OPENGL_NO_ERROR_KHR
    EGL_IMAGE_PRESERVED EGL_MAP_PRESERVE_PIXELS_KHR EGL_TRACK_REFERENCES_KHR EGL_DEBUG_MSG_CRITICAL_KHR
    EGL_DEBUG_MSG_ERROR_KHR EGL_DEBUG_MSG_WARN_KHR EGL_DEBUG_MSG_INFO_KHR""": "Boolean",
}
_NAMED_VALUES = tuple((name, group) for names, group in _VALUES.items() for name in names.split())


def _attributes(group: str) -> AttributeList:
    return AttributeList("EGL_NONE", group=group, values=_NAMED_VALUES)


o.data("eglChooseConfig", attrib_list=_attributes("EGLConfigAttribute"))
o.data("eglCreate*Surface* eglCreatePbufferFromClientBuffer", attrib_list=_attributes("EGLSurfaceAttribute"))
o.data("eglQuerySupportedCompressionRatesEXT", attrib_list=_attributes("EGLSurfaceAttribute"))
o.data("eglCreateContext", attrib_list=_attributes("EGLContextAttribute"))
o.data(
    "eglCreateImage eglCreateImageKHR eglCreateDRMImageMESA eglCreateNativeClientBufferANDROID",
    attrib_list=_attributes("EGLImageAttribute"),
)
o.data("eglGetPlatformDisplay*", attrib_list=_attributes("EGLPlatformAttribute"))
o.data(
    "eglCreateSync* eglCreateFenceSyncNV eglCreateStreamSyncNV eglClientSignalSyncEXT eglUnsignalSyncEXT",
    attrib_list=_attributes("EGLSyncAttribute"),
)
o.data(
    "eglCreateStream{,Attrib}KHR eglStreamConsumer*Attrib* eglStreamImageConsumerConnectNV",
    attrib_list=_attributes("EGLStreamAttribute"),
)
o.data("eglGetOutput{Layers,Ports}EXT", attrib_list=_attributes("EGLOutputAttribute"))
o.data("eglDebugMessageControlKHR", attrib_list=_attributes("EGLDebugAttribute"))
o.data("eglLockSurfaceKHR", attrib_list=_attributes("EGLLockAttribute"))

# ---- arrays that are read -----------------------------------------------------------------------------------

o.data("eglSwapBuffersWithDamage* eglSetDamageRegionKHR", rects=Array("n_rects * 4"))
o.data("eglSwapBuffersRegion*NOK", rects=Array("numRects * 4"))
o.data("eglGetCompositorTimingANDROID", names=Array("numTimestamps", group="EGLTimestamp"))
o.data("eglGetFrameTimestampsANDROID", timestamps=Array("numTimestamps", group="EGLTimestamp"))
o.data("eglStreamImageConsumerConnectNV", modifiers=Array("num_modifiers"))
o.data("eglCompositorSetContextListEXT", external_ref_ids=Array("num_entries"))
o.data("eglCompositorSetWindowListEXT", external_win_ids=Array("num_entries"))
o.data("eglCompositorSetContextAttributesEXT", context_attributes=Array("num_entries", group="EGLenum"))
o.data("eglCompositorSetWindowAttributesEXT", window_attributes=Array("num_entries", group="EGLenum"))
o.data("eglSetStreamMetadataNV", data=Array("size"))
o.data("eglCreatePixmapSurfaceHI", pixmap=Struct())

# ---- arrays that are written: nothing is, where the call fails ----------------------------------------------


def _written(group: str | None = None) -> Array:
    return Array("1", out=True, actual="1 if result else 0", group=group)


def _up_to(capacity: str, count: str, group: str | None = None) -> Array:
    return Array(capacity, out=True, actual=f"min({count}, {capacity}) if result else 0", group=group)


o.data("eglInitialize", major=_written(), minor=_written())
o.data("eglGetConfigs eglChooseConfig", configs=_up_to("config_size", "deref(num_config)"), num_config=_written())
o.data("eglGetConfigAttrib eglQueryContext eglQuerySurface eglQuerySurface64KHR", value=_written())
o.data("eglQuerySurfacePointerANGLE", value=Array("1", out=True, actual="1 if result else 0", element="ptr"))
o.data("eglGetSyncAttrib* eglQueryDisplayAttrib* eglQueryDeviceAttribEXT eglQueryDebugKHR", value=_written())
o.data("eglQueryOutput{Layer,Port}AttribEXT eglQueryWaylandBufferWL", value=_written())
o.data("eglQueryStream{,u64,Attrib,Time}KHR", value=_written())
o.data("eglQueryStreamMetadataNV", data=Array("size", out=True, actual="size if result else 0"))
o.data("eglQueryStreamConsumerEventNV", event=_written("EGLStreamEvent"), aux=_written())
o.data("eglStreamAcquireImageNV", pImage=_written())
o.data("eglGetMscRateANGLE", numerator=_written(), denominator=_written())
o.data("eglGetOutputLayersEXT", layers=_up_to("max_layers", "deref(num_layers)"), num_layers=_written())
o.data("eglGetOutputPortsEXT", ports=_up_to("max_ports", "deref(num_ports)"), num_ports=_written())
o.data("eglQueryDevicesEXT", devices=_up_to("max_devices", "deref(num_devices)"), num_devices=_written())
o.data("eglQueryDeviceBinaryEXT", value=_up_to("max_size", "deref(size)"), size=_written())
o.data("eglQueryDmaBufFormatsEXT", formats=_up_to("max_formats", "deref(num_formats)"), num_formats=_written())
o.data(
    "eglQueryDmaBufModifiersEXT",
    modifiers=_up_to("max_modifiers", "deref(num_modifiers)"),
    external_only=_up_to("max_modifiers", "deref(num_modifiers)"),
    num_modifiers=_written(),
)
o.data(
    "eglQuerySupportedCompressionRatesEXT",
    rates=_up_to("rate_size", "deref(num_rates)", "EGLenum"),
    num_rates=_written(),
)
o.data("eglQueryNativeDisplayNV", display_id=_written())
o.data("eglQueryNativePixmapNV", pixmap=_written())
o.data("eglQueryNativeWindowNV", window=_written())
o.data("eglExportDRMImageMESA", name=_written(), handle=_written(), stride=_written())
o.data("eglExportDMABUFImageQueryMESA", fourcc=_written(), num_planes=_written())
o.data("eglGetNextFrameIdANDROID", frameId=_written())
o.data("eglGet{CompositorTiming,FrameTimestamps}ANDROID", values=_up_to("numTimestamps", "numTimestamps"))

# One entry a plane: at most 4.
o.data(
    "eglExportDMABUFImageQueryMESA",
    modifiers=Array("4", out=True, actual="min(deref(num_planes), 4) if result else 0"),
)
_PLANES = Array("4", out=True, actual="egl_image_planes(dpy, image) if result else 0")
o.data("eglExportDMABUFImageMESA", fds=_PLANES, strides=_PLANES, offsets=_PLANES)

# ---- strings and addresses ----------------------------------------------------------------------------------

o.data("eglQueryString eglQuery*StringEXT eglGetDisplayDriver{Config,Name}", returns=String())
o.data("eglGetPlatformDisplay*", native_display=Opaque("display of the platform"))
o.data("eglCreatePlatformWindowSurface*", native_window=Opaque("window of the platform"))
o.data("eglCreatePlatformPixmapSurface*", native_pixmap=Opaque("pixmap of the platform"))
o.data("eglGetNativeClientBufferANDROID", buffer=Opaque("AHardwareBuffer"))
o.data("egl{Bind,Unbind}WaylandDisplayWL", display=Opaque("wl_display"))
o.data("eglQueryWaylandBufferWL", buffer=Opaque("wl_resource"))
o.data("eglCreateWaylandBufferFromImageWL", returns=Opaque("wl_buffer"))

# ---- object classes -----------------------------------------------------------------------------------------

o.classes("egl*", dpy="display", config="config", ctx="context", share_context="context", surface="surface")
o.classes("egl*", surf="surface", sync="sync", image="image", stream="stream", device="device", layer="output layer")
o.classes("egl*OutputPort*", port="output port")
o.classes("eglMakeCurrent", draw="surface", read="surface")
o.classes("eglGetDisplay eglGetPlatformDisplay* eglGetCurrentDisplay", returns="display")
o.classes("eglCreateContext eglGetCurrentContext", returns="context")
o.classes("eglCreate*Surface* eglCreatePbufferFromClientBuffer eglGetCurrentSurface", returns="surface")
o.classes("eglCreateImage* eglCreateDRMImageMESA", returns="image")
o.classes("eglCreateSync* eglCreateFenceSyncNV eglCreateStreamSyncNV", returns="sync")
o.classes("eglCreateStream{,Attrib,FromFileDescriptor}KHR", returns="stream")

# ---- what commands are --------------------------------------------------------------------------------------

_SWAPS = "eglSwapBuffers eglSwapBuffersWithDamage* eglSwapBuffersRegion*NOK eglPostSubBufferNV"
_SYNCS = """eglCreateSync* eglDestroySync* eglClientWaitSync* eglWaitSync* eglSignalSync* eglCreateFenceSyncNV
    eglFenceNV eglGetSyncAttrib* eglClientSignalSyncEXT eglUnsignalSyncEXT eglDupNativeFenceFDANDROID"""
o.flags("frame_end gpu_reads", _SWAPS)
o.flags("frame_end gpu_reads", "eglCopyBuffers")
o.flags("swap_interval", "eglSwapInterval")
o.shapes("immediate", "egl*")
o.flags("exchange", "eglBindAPI eglMakeCurrent eglReleaseThread eglSwapBuffers eglSwapBuffersWithDamage{KHR,EXT}")
o.flags("exchange", "eglWaitClient eglWaitGL")
o.flags(
    "leaves_nothing",
    "eglGet* eglQuery* eglChoose* eglInitialize eglTerminate eglSwapInterval* eglWaitNative eglSurfaceAttrib "
    "eglSetDamage* eglDebugMessage* eglLabel* eglBindAPI eglUnlock* eglPresentationTime* eglWaitClient* eglWaitGL",
)
o.flags("make_current", "eglMakeCurrent eglReleaseThread")
o.flags("context", "eglCreateContext eglDestroyContext")
o.flags("finish gpu_reads", "eglWaitGL eglWaitClient")
o.flags("sync", f"eglWaitNative {_SYNCS}")
o.flags("create", "eglCreate*")
o.flags("delete", "eglDestroy*")
o.flags("lookup", "eglGetProcAddress")
o.flags("error_query", "eglGetError")
o.flags("callback", "eglSetBlobCacheFuncsANDROID eglDebugMessageControlKHR")
o.flags("marker label", "eglLabelObjectKHR")
o.flags("keeps_depth", "eglGet* eglQuery*")

# ---- state --------------------------------------------------------------------------------------------------

o.effects("eglCreateContext", create("display.context", "result"))
o.effects("eglDestroyContext", delete("display.context", "ctx"))
o.effects("eglCreate*Surface* eglCreatePbufferFromClientBuffer", create("display.surface", "result"))
o.effects("eglDestroySurface", delete("display.surface", "surface"))
o.effects("eglCreateImage eglCreateImageKHR eglCreateDRMImageMESA", create("display.image", "result"))
o.effects("eglDestroyImage eglDestroyImageKHR", delete("display.image", "image"))
o.effects("eglCreateSync* eglCreateFenceSyncNV eglCreateStreamSyncNV", create("display.sync", "result"))
o.effects("eglDestroySync*", delete("display.sync", "sync"))
o.effects("eglCreateStream{,Attrib,FromFileDescriptor}KHR", create("display.stream", "result"))
o.effects("eglDestroyStreamKHR", delete("display.stream", "stream"))
o.effects("eglMakeCurrent", set_("context.draw", "draw"), set_("context.read", "read"))
o.effects("eglSurfaceAttrib", set_("display.surface[surface].attribute[attribute]", "value"))
o.effects("eglSwapInterval", set_("context.swap_interval", "interval"))

# The effects that `native/state/natives.cc` has.
o.effects("eglCreateWindowSurface eglCreatePlatformWindowSurface*", run("window_surface"))
o.effects("eglCreatePixmapSurface* eglCreatePlatformPixmapSurface*", run("pixmap_surface"))
o.effects("eglCreatePbufferSurface eglCreatePbufferFromClientBuffer", run("pbuffer_surface"))
o.effects("eglCreatePbufferFromClientBuffer", run("client_buffer"))
o.effects("eglSurfaceAttrib", run("surface_attribute"))
o.effects("eglBindTexImage", run("texture_bound"))
o.effects("eglReleaseTexImage", run("texture_released"))
o.effects("eglInitialize", run("display_initialized"))
o.effects("eglTerminate", run("display_terminated"))
o.effects("eglCreateImage eglCreateImageKHR", run("image_created"))
o.effects("eglBindAPI", run("api_bound"))
o.effects("eglChoose* eglGetConfigs eglGet{,Platform}Display*", run("handles_returned"))
o.effects("eglInitialize eglTerminate eglBindTexImage eglReleaseTexImage", run("handle_changed"))
o.effects(
    "eglSurfaceAttrib eglOutput*Attrib* eglSetStreamAttrib* egl{,Create}StreamAttrib* eglStreamConsumer*Attrib* "
    "eglCompositorSet*Attrib*",
    run("handle_changed"),
)
