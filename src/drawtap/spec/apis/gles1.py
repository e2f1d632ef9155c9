"""Features of OpenGL ES 1 alone: fixed-point forms, and its own arrays."""

from drawtap.spec.model import Array, ClientArray
from drawtap.spec.overlay import Overlay

PART = o = Overlay("gl", xml="gl.xml")

o.data("glLightxv{,OES}", params=Array("light_values(pname)"))
o.data("glGetLightxv{,OES} glGetLightxOES", params=Array("light_values(pname)", out=True))
o.data("glMaterialxv{,OES}", param=Array("material_values(pname)"))
o.data("glGetMaterialxv{,OES}", params=Array("material_values(pname)", out=True))
o.data("glLightModelxv{,OES}", param=Array("light_model_values(pname)"))
o.data("glFogxv{,OES}", param=Array("fog_values(pname)"))
o.data("glTexEnvxv{,OES}", params=Array("tex_env_values(pname)"))
o.data("glGetTexEnvxv{,OES}", params=Array("tex_env_values(pname)", out=True))
o.data("glTexParameterxv{,OES}", params=Array("tex_parameter_values(pname)"))
o.data("glGetTexParameterxv{,OES}", params=Array("tex_parameter_values(pname)", out=True))
o.data("glPointParameterxv{,OES}", params=Array("point_parameter_values(pname)"))
o.data("glGetFixedv{,OES}", params=Array("get_count(pname)", out=True))

# OES_fixed_point has the forms of desktop OpenGL, too
o.data("glTexGenxvOES", params=Array("tex_gen_values(pname)"))
o.data("glGetTexGenxvOES", params=Array("tex_gen_values(pname)", out=True))
o.data("glTexGen{f,i}vOES", params=Array("tex_gen_values(pname)"))
o.data("glGetTexGen{f,i}vOES", params=Array("tex_gen_values(pname)", out=True))
o.data("glGetTexLevelParameterxvOES", params=Array("1", out=True))
o.data("glGet{Convolution,Histogram}ParameterxvOES", params=Array("imaging_values(pname)", out=True))
o.data("glGetMapxvOES", v=Array("map_get_count(target, query)", out=True))

o.data("gl{PointSize,MatrixIndex,Weight}PointerOES", pointer=ClientArray())
# Mantissas and exponents of the sixteen elements; the result is a bit field of those that are valid.
