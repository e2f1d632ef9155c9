"""GLX 1.0 to 1.4 and its extensions. The registry says neither lengths nor groups: all of them stand here."""

from drawtap.spec.model import Array, AttributeList, Opaque, String, Struct
from drawtap.spec.overlay import Overlay, create, delete, run, set_
from drawtap.spec.registry import OVERLAYS

o = OVERLAYS.register("glx")(
    Overlay(
        "glx",
        xml="glx.xml",
        libraries=("libGL.so.1", "libGLX.so.0"),
        lookups=("glXGetProcAddress", "glXGetProcAddressARB"),
    )
)

# ---- enum groups --------------------------------------------------------------------------------------------

_BITS = """GLX_BUFFER_SIZE GLX_LEVEL GLX_DOUBLEBUFFER GLX_STEREO GLX_AUX_BUFFERS GLX_RED_SIZE GLX_GREEN_SIZE
    GLX_BLUE_SIZE GLX_ALPHA_SIZE GLX_DEPTH_SIZE GLX_STENCIL_SIZE GLX_ACCUM_*_SIZE GLX_SAMPLE_BUFFERS GLX_SAMPLES
    GLX_X_VISUAL_TYPE GLX_TRANSPARENT_TYPE GLX_TRANSPARENT_*_VALUE GLX_VISUAL_CAVEAT_EXT GLX_FLOAT_COMPONENTS_NV
    GLX_FRAMEBUFFER_SRGB_CAPABLE_ARB GLX_COLOR_SAMPLES_NV GLX_COVERAGE_SAMPLES_NV GLX_STEREO_TREE_EXT
    GLX_SWAP_METHOD_OML GLX_VISUAL_SELECT_GROUP_SGIX GLX_BLENDED_RGBA_SGIS GLX_MULTISAMPLE_SUB_RECT_*_SGIS"""
o.group("GLXVisualAttribute", f"GLX_USE_GL GLX_RGBA {_BITS}")
o.group(
    "GLXConfigAttribute",
    f"""{_BITS} GLX_CONFIG_CAVEAT GLX_VISUAL_ID GLX_SCREEN GLX_DRAWABLE_TYPE GLX_RENDER_TYPE GLX_X_RENDERABLE
    GLX_FBCONFIG_ID GLX_MAX_PBUFFER_* GLX_OPTIMAL_PBUFFER_*_SGIX GLX_BIND_TO_*_EXT GLX_Y_INVERTED_EXT
    GLX_DIGITAL_MEDIA_PBUFFER_SGIX""",
)
o.group(
    "GLXDrawableAttribute",
    """GLX_PRESERVED_CONTENTS GLX_LARGEST_PBUFFER GLX_WIDTH GLX_HEIGHT GLX_EVENT_MASK GLX_PBUFFER_HEIGHT
    GLX_PBUFFER_WIDTH GLX_FBCONFIG_ID GLX_TEXTURE_FORMAT_EXT GLX_TEXTURE_TARGET_EXT GLX_MIPMAP_TEXTURE_EXT
    GLX_SWAP_INTERVAL_EXT GLX_MAX_SWAP_INTERVAL_EXT GLX_LATE_SWAPS_TEAR_EXT GLX_BACK_BUFFER_AGE_EXT
    GLX_STEREO_TREE_EXT GLX_DIGITAL_MEDIA_PBUFFER_SGIX GLX_OPTIMAL_PBUFFER_*_SGIX""",
)
o.group(
    "GLXContextAttribute",
    """GLX_CONTEXT_MAJOR_VERSION_ARB GLX_CONTEXT_MINOR_VERSION_ARB GLX_CONTEXT_FLAGS_ARB GLX_CONTEXT_PROFILE_MASK_ARB
    GLX_CONTEXT_RESET_NOTIFICATION_STRATEGY_ARB GLX_CONTEXT_RELEASE_BEHAVIOR_ARB GLX_CONTEXT_OPENGL_NO_ERROR_ARB
    GLX_CONTEXT_PRIORITY_LEVEL_EXT GLX_CONTEXT_ALLOW_BUFFER_BYTE_ORDER_MISMATCH_ARB GLX_CONTEXT_MULTIGPU_ATTRIB_NV
    GLX_GENERATE_RESET_ON_VIDEO_MEMORY_PURGE_NV GLX_RENDER_TYPE GLX_FBCONFIG_ID GLX_SCREEN GLX_SHARE_CONTEXT_EXT
    GLX_VISUAL_ID_EXT""",
)
o.group("GLXRenderType", "GLX_RGBA_TYPE GLX_COLOR_INDEX_TYPE GLX_RGBA_FLOAT_TYPE_ARB GLX_RGBA_UNSIGNED_FLOAT_TYPE_EXT")
o.group("GLXTextureBuffer", "GLX_FRONT_*_EXT GLX_BACK_LEFT_EXT GLX_BACK_RIGHT_EXT GLX_AUX?_EXT")
o.group("GLXRendererAttribute", "GLX_RENDERER_*_MESA")
o.group("GLXGpuProperty", "GLX_GPU_*_AMD")
o.group("GLXVideoAttribute", "GLX_DEVICE_ID_NV GLX_UNIQUE_ID_NV GLX_NUM_VIDEO_*SLOTS_NV")
o.group("GLXVideoBuffer", "GLX_VIDEO_OUT_*_NV")
o.group("GLXStringName", "GLX_VENDOR_NAMES_EXT")

o.groups("glXGetConfig glXGetFBConfigAttrib*", returns="GLXErrorCode")
o.groups("glXQueryContext glXQueryContextInfoEXT", returns="GLXErrorCode")
o.groups("glXGetConfig", attrib="GLXVisualAttribute")
o.groups("glXGetFBConfigAttrib*", attribute="GLXConfigAttribute")
o.groups("glXQueryDrawable glXQueryGLXPbufferSGIX", attribute="GLXDrawableAttribute")
o.groups("glXQueryContext glXQueryContextInfoEXT", attribute="GLXContextAttribute")
o.groups("glXCreateNewContext glXCreateContextWithConfigSGIX", render_type="GLXRenderType")
o.groups("glXGetClientString glXQueryServerString", name="GLXStringName")
o.groups("glXBindTexImageEXT glXReleaseTexImageEXT", buffer="GLXTextureBuffer")
o.groups("glXSelectEvent", event_mask="GLXEventMask")
o.groups("glXSelectEventSGIX", mask="GLXEventMask")
o.groups("glXQuery*Renderer{Integer,String}MESA", attribute="GLXRendererAttribute")
o.groups("glXGetGPUInfoAMD", property="GLXGpuProperty")
o.groups("glXQueryVideoCaptureDeviceNV", attribute="GLXVideoAttribute")
o.groups("glXBindVideoImageNV", iVideoBuffer="GLXVideoBuffer")
o.groups("glXSendPbufferToVideoNV", iBufferType="GLXVideoBuffer")
o.groups("glXChannelRectSyncSGIX", synctype="GLXSyncType")
o.groups("glXSet3DfxModeMESA", mode="GLXMesa3DFXMode")
o.groups("glX{,Query}HyperpipeAttribSGIX glXQueryHyperpipeBestAttribSGIX", attrib="GLXHyperpipeAttribSGIX")

# ---- what stands behind every command's pointers ------------------------------------------------------------

_VISUAL = Struct("64")  # XVisualInfo of LP64 systems; its declaration is Xlib's
o.data("glX*", dpy=Opaque("X display"), display=Opaque("X display"))
o.data("glXGetCurrentDisplay*", returns=Opaque("X display"))
o.data("glXGetConfig", visual=_VISUAL)
o.data("glXCreateGLXPixmap glXCreateGLXPixmapMESA", visual=_VISUAL)
o.data("glXCreateContext glXGetFBConfigFromVisualSGIX", vis=_VISUAL)
o.data("glXChooseVisual glXGetVisualFromFBConfig*", returns=Struct("64", out=True))

# ---- attribute lists: None ends them ------------------------------------------------------------------------

_NONE = "0"
# GLX 1.2, table 3.3: booleans that stand alone.
_ALONE = ("GLX_USE_GL", "GLX_RGBA", "GLX_DOUBLEBUFFER", "GLX_STEREO")
# The names of values of attributes, where they are no numbers.
o.group("GLXVisualType", "GLX_DONT_CARE GLX_NONE GLX_*_COLOR GLX_*_SCALE GLX_STATIC_GRAY")
o.group("GLXConfigCaveat", "GLX_DONT_CARE GLX_NONE GLX_SLOW_CONFIG GLX_NON_CONFORMANT_CONFIG")
o.group("GLXTransparentType", "GLX_DONT_CARE GLX_NONE GLX_TRANSPARENT_RGB GLX_TRANSPARENT_INDEX")
o.group("GLXSwapMethod", "GLX_DONT_CARE GLX_SWAP_*_OML")
o.group("GLXTextureFormat", "GLX_TEXTURE_FORMAT_*_EXT")
o.group("GLXTextureTarget", "GLX_TEXTURE_1D_EXT GLX_TEXTURE_2D_EXT GLX_TEXTURE_RECTANGLE_EXT")
o.group("GLXResetNotification", "GLX_NO_RESET_NOTIFICATION_ARB GLX_LOSE_CONTEXT_ON_RESET_ARB")
o.group("GLXReleaseBehavior", "GLX_CONTEXT_RELEASE_BEHAVIOR_NONE_ARB GLX_CONTEXT_RELEASE_BEHAVIOR_FLUSH_ARB")
o.group(
    "GLXContextPriority", "GLX_CONTEXT_PRIORITY_HIGH_EXT GLX_CONTEXT_PRIORITY_MEDIUM_EXT GLX_CONTEXT_PRIORITY_LOW_EXT"
)
_OF_CONFIGS = (
    ("GLX_X_VISUAL_TYPE", "GLXVisualType"),
    ("GLX_CONFIG_CAVEAT", "GLXConfigCaveat"),
    ("GLX_TRANSPARENT_TYPE", "GLXTransparentType"),
    ("GLX_DRAWABLE_TYPE", "GLXDrawableTypeMask"),
    ("GLX_RENDER_TYPE", "GLXRenderTypeMask"),
    ("GLX_SWAP_METHOD_OML", "GLXSwapMethod"),
)
_OF_DRAWABLES = (("GLX_TEXTURE_FORMAT_EXT", "GLXTextureFormat"), ("GLX_TEXTURE_TARGET_EXT", "GLXTextureTarget"))
_OF_CONTEXTS = (
    ("GLX_CONTEXT_PROFILE_MASK_ARB", "GLXContextProfileMask"),
    ("GLX_CONTEXT_FLAGS_ARB", "GLXContextFlags"),
    ("GLX_RENDER_TYPE", "GLXRenderType"),
    ("GLX_CONTEXT_RESET_NOTIFICATION_STRATEGY_ARB", "GLXResetNotification"),
    ("GLX_CONTEXT_RELEASE_BEHAVIOR_ARB", "GLXReleaseBehavior"),
    ("GLX_CONTEXT_PRIORITY_LEVEL_EXT", "GLXContextPriority"),
)
_CONTEXT = AttributeList(_NONE, group="GLXContextAttribute", values=_OF_CONTEXTS)

o.data(
    "glXChooseVisual",
    attribList=AttributeList(_NONE, valueless=_ALONE, group="GLXVisualAttribute", values=_OF_CONFIGS),
)
o.data("glXChooseFBConfig*", attrib_list=AttributeList(_NONE, group="GLXConfigAttribute", values=_OF_CONFIGS))
o.data(
    "glXCreateWindow glXCreatePixmap glXCreatePbuffer glXCreateGLXPbufferSGIX glXBindTexImageEXT",
    attrib_list=AttributeList(_NONE, group="GLXDrawableAttribute", values=_OF_DRAWABLES),
)
o.data("glXCreateContextAttribsARB", attrib_list=_CONTEXT)
o.data("glXCreateAssociatedContextAttribsAMD", attribList=_CONTEXT)
o.data("glXBindVideoDeviceNV", attrib_list=AttributeList(_NONE, group="GLXVideoAttribute"))

# ---- arrays -------------------------------------------------------------------------------------------------

_ONE = Array("1", out=True)
_IF_TRUE = Array("1", out=True, actual="1 if result else 0")
_IF_SUCCESS = Array("1", out=True, actual="1 if result == 0 else 0")

_COUNTED = Array("deref(nelements)", out=True)
o.data("glXChooseFBConfig* glXGetFBConfigs", nelements=_ONE, returns=_COUNTED)
o.data("glXEnumerateVideo{Capture,}DevicesNV", nelements=_ONE, returns=_COUNTED)
o.data("glXQueryExtension", errorb=_IF_TRUE, event=_IF_TRUE)
o.data("glXQueryVersion", maj=_IF_TRUE, min=_IF_TRUE)
o.data("glXGetConfig glXGetFBConfigAttrib* glXQueryContext glXQueryContextInfoEXT", value=_IF_SUCCESS)
o.data("glXQueryDrawable glXQueryGLXPbufferSGIX", value=_ONE)
o.data("glXGetSelectedEvent", event_mask=Array("1", out=True, group="GLXEventMask"))
o.data("glXGetSelectedEventSGIX", mask=Array("1", out=True, group="GLXEventMask"))
o.data("glXQueryCurrentRendererIntegerMESA", value=Array("3", out=True, actual="renderer_values(attribute) * result"))
o.data("glXQueryRendererIntegerMESA", value=Array("3", out=True, actual="renderer_values(attribute) * result"))
o.table(
    "renderer_values",
    {
        "GLX_RENDERER_VERSION_MESA": 3,
        """GLX_RENDERER_OPENGL_CORE_PROFILE_VERSION_MESA GLX_RENDERER_OPENGL_COMPATIBILITY_PROFILE_VERSION_MESA
        GLX_RENDERER_OPENGL_ES_PROFILE_VERSION_MESA GLX_RENDERER_OPENGL_ES2_PROFILE_VERSION_MESA""": 2,
    },
    default=1,
)
o.data("glXGetMscRateOML", numerator=_IF_TRUE, denominator=_IF_TRUE)
o.data("glXGetSyncValuesOML glXWaitFor{Msc,Sbc}OML", ust=_IF_TRUE, msc=_IF_TRUE, sbc=_IF_TRUE)
o.data("glX{Get,Wait}VideoSyncSGI", count=_IF_SUCCESS)
o.data("glXQueryFrameCountNV", count=_IF_TRUE)
o.data("glXQueryMaxSwapGroupsNV", maxGroups=_IF_TRUE, maxBarriers=_IF_TRUE)
o.data("glXQuerySwapGroupNV", group=_IF_TRUE, barrier=_IF_TRUE)
o.data("glXQueryMaxSwapBarriersSGIX", max=_IF_TRUE)
o.data("glXQueryChannelDeltasSGIX", x=_ONE, y=_ONE, w=_ONE, h=_ONE)
o.data("glXQueryChannelRectSGIX", dx=_ONE, dy=_ONE, dw=_ONE, dh=_ONE)
o.data("glXGetTransparentIndexSUN", pTransparentIndex=_IF_TRUE)
_DEVICES = Array("numVideoDevices", out=True, actual="0 if result else numVideoDevices")
o.data("glXGetVideoDeviceNV", pVideoDevice=_DEVICES)
o.data("glXGetVideoInfoNV", pulCounterOutputPbuffer=_IF_SUCCESS, pulCounterOutputVideo=_IF_SUCCESS)
o.data("glXSendPbufferToVideoNV", pulCounterPbuffer=_IF_SUCCESS)
o.data("glXQueryVideoCaptureDeviceNV", value=_IF_SUCCESS)
o.data("glXGetGPUIDsAMD", ids=Array("maxCount", out=True, actual="min(result, maxCount)"))
# GL_UNSIGNED_BYTE: characters; the other types have four bytes.
_GPU = "(1 if dataType == 0x1401 else 4)"
o.data("glXGetGPUInfoAMD", data=Array(f"size * {_GPU}", out=True, actual=f"min(result, size) * {_GPU}"))
o.data("glXHyperpipeConfigSGIX", cfg=Array("npipes"), hpId=_IF_SUCCESS)
o.data("glXQueryHyperpipe{Config,Network}SGIX", npipes=_ONE, returns=Array("deref(npipes)", out=True))
o.data("glXHyperpipeAttribSGIX", attribList=Array("size"))
o.data("glXQueryHyperpipeAttribSGIX", returnAttribList=Array("size", out=True, actual="0 if result else size"))
o.data("glXQueryHyperpipeBestAttribSGIX", attribList=Array("size"))
o.data("glXQueryHyperpipeBestAttribSGIX", returnAttribList=Array("size", out=True, actual="0 if result else size"))

# ---- strings and addresses ----------------------------------------------------------------------------------

o.data("glXGetProcAddress glXGetProcAddressARB", procName=String())
o.data("glXQueryExtensionsString glXQueryServerString glXGetClientString", returns=String())
o.data("glXQuery*RendererStringMESA", returns=String())
o.data("glXGetAGPOffsetMESA", pointer=Opaque("address in AGP memory"))
o.data("glXAssociateDMPbufferSGIX", params=Opaque("DMparams of the digital media library"))

# ---- object classes -----------------------------------------------------------------------------------------

o.classes("glX*", ctx="context", share_list="context", shareList="context", share_context="context", config="config")
o.classes("glX*", context="context", drawable="drawable", draw="drawable", read="drawable", pbuf="drawable")
o.classes("glXCopyContext", src="context", dst="context")
o.classes("glXCreate*Context* glXGetCurrent*Context* glXImportContextEXT", returns="context")
o.classes("glXCreateWindow glXCreatePixmap glXCreatePbuffer glXCreateGLX{Pixmap*,PbufferSGIX}", returns="drawable")
o.classes("glXGetCurrent*Drawable*", returns="drawable")
o.classes("glXDestroyWindow", win="drawable")
o.classes("glXDestroyPixmap glXDestroyGLXPixmap", pixmap="drawable")

# ---- what commands are --------------------------------------------------------------------------------------

_MAKE_CURRENT = "glXMakeCurrent glXMakeContextCurrent glXMakeCurrentReadSGI glXMakeAssociatedContextCurrentAMD"
o.shapes("immediate", "glX*")
o.flags("frame_end gpu_reads", "glXSwapBuffers glXSwapBuffersMscOML glXCopySubBufferMESA")
o.flags("swap_interval", "glXSwapInterval{EXT,MESA,SGI}")
o.flags(
    "leaves_nothing",
    "glXGet* glXQuery* glXChoose* glXIsDirect glXSwapInterval* glXWait* glXSelectEvent* glXFree* glXCopyContext*",
)
o.flags("make_current", _MAKE_CURRENT)
o.flags("context", "glXCreate*Context* glXDestroyContext glXCopyContext glXImportContextEXT glXFreeContextEXT")
o.flags("context", "glXDeleteAssociatedContextAMD")
o.flags("finish gpu_reads", "glXWaitGL")
o.flags("sync", "glXWaitX glXWaitFor{Msc,Sbc}OML glXWaitVideoSyncSGI glXBindTexImageEXT glXReleaseTexImageEXT")
o.flags("sync", "glX{,Named}CopyBufferSubDataNV glXCopyImageSubDataNV glXBlitContextFramebufferAMD")
o.flags("create", "glXCreate*")
o.flags("delete", "glXDestroy* glXFreeContextEXT glXDeleteAssociatedContextAMD")
o.flags("lookup", "glXGetProcAddress glXGetProcAddressARB")

# ---- state --------------------------------------------------------------------------------------------------

o.effects("glXCreate*Context* glXImportContextEXT", create("display.context", "result"))
o.effects("glXDestroyContext glXDeleteAssociatedContextAMD", delete("display.context", "ctx"))
o.effects("glXFreeContextEXT", delete("display.context", "context"))
o.effects(
    "glXCreateWindow glXCreatePixmap glXCreatePbuffer glXCreateGLX{Pixmap*,PbufferSGIX}",
    create("display.drawable", "result"),
)
o.effects("glXDestroyWindow", delete("display.drawable", "win"))
o.effects("glXDestroyPixmap glXDestroyGLXPixmap", delete("display.drawable", "pixmap"))
o.effects("glXDestroyPbuffer glXDestroyGLXPbufferSGIX", delete("display.drawable", "pbuf"))
o.effects("glXMakeCurrent", set_("context.draw", "drawable"), set_("context.read", "drawable"))
o.effects("glXMakeContextCurrent glXMakeCurrentReadSGI", set_("context.draw", "draw"), set_("context.read", "read"))
o.effects("glXSwapIntervalEXT", set_("display.drawable[drawable].swap_interval", "interval"))
o.effects("glXSwapInterval{SGI,MESA}", set_("context.swap_interval", "interval"))

# The effects that `native/state/natives.cc` has.
o.effects("glXCreateWindow", run("window_surface"))
o.effects("glXCreatePixmap glXCreateGLXPixmap*", run("pixmap_surface"))
o.effects("glXCreatePbuffer glXCreateGLXPbufferSGIX", run("pbuffer_surface"))
o.effects("glXSelectEvent", run("events_selected"))
o.effects("glXBindTexImageEXT", run("texture_bound"))
o.effects("glXReleaseTexImageEXT", run("texture_released"))
o.effects("glXSwapIntervalEXT", run("drawable_interval"))
o.effects("glXChoose* glXGetFBConfigs* glXGetVisual*", run("handles_returned"))
o.effects("glXSelectEvent* glX{Bind,Release}TexImageEXT glXCopyContext", run("handle_changed"))
o.effects("glXCreate*ContextAttribs* glXHyperpipeAttribSGIX", run("handle_changed"))
