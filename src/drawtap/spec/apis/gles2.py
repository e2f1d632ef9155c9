"""Features of OpenGL ES 2 and 3 alone: its versions need nothing beyond `gl`, its extensions do."""

from drawtap.spec.model import Array, AttributeList, Image, String
from drawtap.spec.overlay import Overlay

PART = o = Overlay("gl", xml="gl.xml")

one_out = Array("1", out=True)

_NAMED_ALIKE = """
    glGetQueryObjectuivEXT glGetQueryivEXT glGetProgramPipelineivEXT glGetFramebufferAttachmentParameterivOES
    glGetRenderbufferParameterivOES glTexImage3DOES glTexSubImage3DOES glCompressedTexImage3DOES
    glCompressedTexSubImage3DOES glGetIntegeri_vEXT
"""
for name in _NAMED_ALIKE.split():
    o.like(name, name[:-3])

o.data("glEGLImageTarget{Tex,Texture}StorageEXT glTexStorageAttribs{2,3}DEXT", attrib_list=AttributeList("GL_NONE"))
o.data("glGetDriverControlStringQCOM", length=one_out)
o.data("glGetDriverControlsQCOM", num=one_out)
o.data(
    "glExtGetTexturesQCOM",
    textures=Array("maxTextures", out=True, actual="deref(numTextures) if numTextures else maxTextures"),
    numTextures=one_out,
)
o.data("glExtGetTexLevelParameterivQCOM", params=one_out)
o.data("glExtGetTexSubImageQCOM", texels=Image("format", "type", "width", "height", "depth", dimensions=3, out=True))
o.data(
    "glGetFragmentShadingRatesEXT",
    shadingRates=Array("maxCount", out=True, actual="deref(count) if count else maxCount"),
)
o.data("glExtGetBuffersQCOM", buffers=Array("maxBuffers", out=True, actual="min(deref(numBuffers), maxBuffers)"))
o.data(
    "glExtGetProgramBinarySourceQCOM",
    length=one_out,
    source=String(out=True, capacity="deref(length)", actual="deref(length)"),
)
