"""The toy API of tests/toy: every kind of argument once, without any driver."""

from drawtap.spec import expr
from drawtap.spec.model import Array, AttributeList, Opaque, String, Strings, Struct
from drawtap.spec.overlay import Overlay, create, delete, set_
from drawtap.spec.registry import OVERLAYS

o = OVERLAYS.register("toy")(
    Overlay("toy", xml="toy.xml", libraries=("libtoy.so",), lookups=("toyGetProcAddress",), recorded=False)
)

# Implemented by native/mirror/sizes_toy.h.
expr.declare("toy_stride(handle)", "components of a point: asks toyGet(handle, TOY_STRIDE)")

o.data("toyGet", values=Array("capacity", out=True, actual="min(result, capacity)"))
o.data("toyPoints", points=Array("count * toy_stride(handle)"), weights=Array("count"))
o.data("toyLabels", labels=Strings("count", lengths="lengths"), lengths=Array("count"))
o.data("toyLabels", title=String(length="titleLength"))
o.data("toyNotify", user=Opaque("user data"))
o.data("toyDraw", rect=Struct(), attributes=AttributeList("TOY_NONE", valueless=("TOY_FILLED",), group="ToyAttribute"))

o.flags("frame_end", "toySwap")
o.flags("draw", "toyDraw")
o.flags("upload", "toyPoints")
o.flags("context", "toyOpen toyClose")
o.flags("callback", "toyNotify")
o.flags("error_query", "toyGetError")
o.flags("lookup", "toyGetProcAddress")

o.effects("toyOpen", create("display.context", "result"))
o.effects("toyClose", delete("display.context", "handle"))
o.effects("toySet", set_("context.value[name]", "value"))
o.effects("toyNotify", set_("context.notify", "function"), set_("context.notify_user", "user"))
