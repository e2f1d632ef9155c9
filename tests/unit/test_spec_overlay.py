"""The overlay mechanism: patterns, inheritance, and errors that say what is wrong and what would be right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from drawtap.spec.expr import SpecError
from drawtap.spec.model import Api, Array, AttributeList, BufferOffset, Effect, Registry, String, Strings
from drawtap.spec.overlay import Overlay, create, delete, run, set_
from drawtap.spec.registry import read_registry
from drawtap.spec.tree import Tree

XML = """<?xml version="1.0"?>
<registry>
  <types>
    <type>typedef unsigned int <name>GLenum</name>;</type>
    <type>typedef int <name>GLsizei</name>;</type>
    <type>typedef unsigned int <name>GLuint</name>;</type>
    <type>typedef char <name>GLchar</name>;</type>
    <type>typedef float <name>GLfloat</name>;</type>
  </types>
  <enums namespace="GL">
    <enum value="0x100" name="GL_RED"/><enum value="0x101" name="GL_BLUE"/><enum value="0" name="GL_NONE"/>
    <enum value="0x101" name="GL_BLUE_EXT"/>
  </enums>
  <commands namespace="GL">
    <command><proto>void <name>glPaintfv</name></proto>
      <param><ptype>GLenum</ptype> <name>pname</name></param>
      <param len="COMPSIZE(pname)">const <ptype>GLfloat</ptype> *<name>params</name></param></command>
    <command><proto>void <name>glPaintiv</name></proto>
      <param><ptype>GLenum</ptype> <name>pname</name></param>
      <param>const <ptype>GLuint</ptype> *<name>params</name></param></command>
    <command><proto>void <name>glPaintfvEXT</name></proto>
      <param><ptype>GLenum</ptype> <name>what</name></param>
      <param>const <ptype>GLfloat</ptype> *<name>values</name></param>
      <alias name="glPaintfv"/></command>
    <command><proto>void <name>glGenThings</name></proto>
      <param><ptype>GLsizei</ptype> <name>n</name></param>
      <param len="n"><ptype>GLuint</ptype> *<name>things</name></param></command>
    <command><proto>void <name>glGenThingsARB</name></proto>
      <param><ptype>GLsizei</ptype> <name>count</name></param>
      <param><ptype>GLuint</ptype> *<name>names</name></param>
      <alias name="glGenThings"/></command>
    <command><proto>const <ptype>GLchar</ptype> *<name>glText</name></proto>
      <param><ptype>GLsizei</ptype> <name>count</name></param>
      <param len="count">const <ptype>GLchar</ptype> *const*<name>lines</name></param>
      <param len="count">const <ptype>GLsizei</ptype> *<name>length</name></param>
      <param len="1"><ptype>GLsizei</ptype> *<name>written</name></param>
      <param len="written"><ptype>GLuint</ptype> *<name>out</name></param>
      <param>const <ptype>GLchar</ptype> *<name>name</name></param></command>
  </commands>
</registry>
"""


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    path: Path = tmp_path_factory.mktemp("registry") / "small.xml"
    path.write_text(XML)
    return read_registry(path, "gl")


@pytest.fixture
def overlay() -> Overlay:
    return Overlay("gl", xml="small.xml")


def test_nothing_said_leaves_what_len_says(registry: Registry, overlay: Overlay) -> None:
    api = overlay.apply(registry)
    assert api.commands["glGenThings"].param("things").data == Array("n", out=True)
    assert api.commands["glPaintfv"].uncovered == ("params",)
    text = api.commands["glText"]
    assert text.param("lines").data == Strings("count", "length")
    assert text.param("length").data == Array("count")
    assert text.param("out").data == Array("deref(written)", out=True)
    assert text.param("name").data == String()
    assert text.uncovered == ("return",)


def test_aliases_take_rules_under_their_own_names(registry: Registry, overlay: Overlay) -> None:
    overlay.table("sizes", {"GL_RED GL_NONE": 3}, default=1)
    overlay.data("glPaintfv", params=Array("sizes(pname)"))
    api = overlay.apply(registry)
    assert api.commands["glPaintfvEXT"].param("values").data == Array("sizes(what)")
    # ... and what len says of the other one
    assert api.commands["glGenThingsARB"].param("names").data == Array("count", out=True)


def test_like_works_as_an_alias_without_being_one(registry: Registry, overlay: Overlay) -> None:
    overlay.data("glPaintfv", params=Array("2"))
    overlay.flags("draw", "glPaintfv")
    overlay.like("glPaintiv", "glPaintfv")
    command = overlay.apply(registry).commands["glPaintiv"]
    assert command.param("params").data == Array("2")
    assert command.flags == {"draw"}
    assert command.alias is None


def test_own_statements_win_over_inherited_ones_and_later_over_earlier(registry: Registry, overlay: Overlay) -> None:
    overlay.data("glPaint*", params=Array("1"))
    overlay.data("glPaintiv", params=Array("2"))
    overlay.data("glPaintfvEXT", values=Array("3"))
    api = overlay.apply(registry)
    assert api.commands["glPaintfv"].param("params").data == Array("1")
    assert api.commands["glPaintiv"].param("params").data == Array("2")
    assert api.commands["glPaintfvEXT"].param("values").data == Array("3")


def test_patterns(registry: Registry, overlay: Overlay) -> None:
    overlay.data("glPaint{f,i}v", params=Array("4"))
    overlay.flags("draw upload", "glPaint* glText")
    api = overlay.apply(registry)
    assert [n for n, c in api.commands.items() if c.flags] == ["glPaintfv", "glPaintiv", "glPaintfvEXT", "glText"]
    assert api.commands["glPaintiv"].param("params").data == Array("4")


def test_effects_are_inherited_and_renamed(registry: Registry, overlay: Overlay) -> None:
    overlay.effects("glGenThings", create("share.things", "things"))
    overlay.effects("glPaintfv", set_("context.paint[pname]", "params", when="pname != GL_RED"))
    overlay.effects("glPaintiv", set_("context.table[context.pname][pname].pname", "pname"), delete("share.pname"))
    api = overlay.apply(registry)
    assert api.commands["glGenThingsARB"].effects == (Effect("create", "share.things", "names"),)
    assert api.commands["glPaintfvEXT"].effects == (Effect("set", "context.paint[what]", "values", "what != GL_RED"),)
    assert api.commands["glPaintiv"].effects[0].path == "context.table[context.pname][pname].pname"


def test_functions_take_objects_by_path_beside_expressions(registry: Registry, overlay: Overlay) -> None:
    overlay.effects("glPaintfv", run("paint", "context.paints[pname], pname + 1, params"))
    api = overlay.apply(registry)
    assert api.commands["glPaintfvEXT"].effects[0].value == "context.paints[what], what + 1, values"
    overlay.effects("glPaintfv", run("paint", "pname, context.paints[other]"))
    with pytest.raises(SpecError, match="names other, which is no parameter"):
        overlay.apply(registry)


def test_shapes_leave_out_what_a_pattern_says(registry: Registry, overlay: Overlay) -> None:
    part = Overlay("gl", xml="small.xml")
    part.shapes("listed rect", "glPaint*", without="*iv *EXT")
    part.shapes("rect", "glText")
    overlay.include(part)
    commands = overlay.apply(registry).commands
    shaped = {name: command.shapes for name, command in commands.items() if command.shapes}
    assert shaped == {"glPaintfv": {"listed", "rect"}, "glText": {"rect"}}


def test_parts_are_included(registry: Registry, overlay: Overlay) -> None:
    part = Overlay("gl", xml="small.xml")
    part.table("other", {"GL_RED": 2})
    part.data("glPaintfv", params=Array("other(pname)"))
    part.group("Colour", "GL_RED GL_BLUE*")
    part.groups("glPaintfv", pname="Colour")
    part.classes("glGenThings", things="thing")
    overlay.include(part)
    api = overlay.apply(registry)
    command = api.commands["glPaintfv"]
    assert command.param("params").data == Array("other(pname)")
    assert command.param("pname").group == "Colour"
    assert list(api.groups["Colour"].values) == ["GL_RED", "GL_BLUE", "GL_BLUE_EXT"]
    assert api.commands["glGenThingsARB"].params[1].object_class == "thing"
    with pytest.raises(SpecError, match="table other of gl is defined twice"):
        overlay.include(part)


def test_fallback_group_has_one_name_a_value(registry: Registry, overlay: Overlay) -> None:
    api: Api = overlay.apply(registry)
    assert api.groups["GLenum"].values == {"GL_RED": 0x100, "GL_BLUE": 0x101}
    assert api.commands["glPaintfv"].param("pname").group == "GLenum"


ERRORS: list[tuple[str, Callable[[Overlay], None]]] = [
    ("unknown command glPaintfx .did you mean glPaintfv", lambda o: o.data("glPaintfx", params=Array("1"))),
    ("unknown command glPaintdv", lambda o: o.data("glPaint{f,d}v", params=Array("1"))),
    ("no command matches glDraw", lambda o: o.flags("draw", "glDraw*")),
    ("glPaintfv has no parameter param .parameters: pname, params", lambda o: o.data("glPaintfv", param=Array("1"))),
    ("has no parameter things", lambda o: o.data("glPaint*", things=Array("1"))),
    ("has no parameter returns", lambda o: o.data("glPaintfv", returns=String())),
    ("no flag is called drow", lambda o: o.flags("drow", "glPaintfv")),
    ("no shape is called arays", lambda o: o.shapes("arays", "glPaintfv")),
    ("names pnane", lambda o: o.data("glPaintfv", params=Array("4 if pnane == GL_RED else 1"))),
    ("GL_GREEN", lambda o: o.data("glPaintfv", params=Array("4 if pname == GL_GREEN else 1"))),
    ("neither a function nor a table", lambda o: o.data("glPaintfv", params=Array("sizes(pname)"))),
    ("names result", lambda o: o.data("glPaintfv", params=Array("result"))),
    ("unknown enumerant GL_GREEN", lambda o: o.table("t", {"GL_GREEN": 1})),
    ("has GL_RED twice", lambda o: o.table("t", {"GL_RED": 1, "GL_NONE GL_RED": 2})),
    ("names missing", lambda o: o.table("t", {"GL_RED": "missing"})),
    ("GL_FRAME_BUFFER is no enumerant", lambda o: o.data("glPaintfv", params=BufferOffset("GL_FRAME_BUFFER"))),
    ("GL_LONE is no enumerant", lambda o: o.data("glPaintiv", params=AttributeList("GL_NONE", ("GL_LONE",)))),
    ("no parameter: sizes", lambda o: o.data("glText", lines=Strings("count", "sizes"))),
    ("no enum group is called Coluor", lambda o: o.groups("glPaintfv", pname="Coluor")),
    ("unknown enumerant GL_GREEN", lambda o: o.group("Colour", "GL_RED GL_GREEN")),
    ("nothing matches GL_GREEN", lambda o: o.group("Colour", "GL_GREEN*")),
    ("unknown command glPaint", lambda o: o.like("glPaintiv", "glPaint")),
    ("no effect is called put", lambda o: o.effects("glPaintfv", Effect("put", "context.x", "pname"))),
    ("is no state path", lambda o: o.effects("glPaintfv", set_("colour[pname]", "params"))),
    ("is no state path", lambda o: o.effects("glPaintfv", set_("context.colour[pname", "params"))),
    ("names target, which is no parameter", lambda o: o.effects("glPaintfv", set_("context.c[target]", "params"))),
    ("names value", lambda o: o.effects("glPaintfv", set_("context.c[pname]", "value"))),
]


@pytest.mark.parametrize(("says", "state"), ERRORS)
def test_errors(registry: Registry, overlay: Overlay, says: str, state: Callable[[Overlay], None]) -> None:
    def stated() -> Api:
        state(overlay)
        return overlay.apply(registry)

    with pytest.raises(SpecError, match=says):
        stated()


def test_a_family_in_a_state_tree_is_a_variable_for_each_name() -> None:
    tree = Tree()
    tree.add("pixels", "GL_{RED,ALPHA}_{SCALE,BIAS}*2 f2 1\nGL_ZOOM_X f 1")
    names = ["GL_RED_SCALE", "GL_RED_BIAS", "GL_ALPHA_SCALE", "GL_ALPHA_BIAS", "GL_ZOOM_X"]
    variables = tree.classes["pixels"].variables
    assert [v.name for v in variables] == names
    assert [(v.components, v.elements, v.initial) for v in variables[:4]] == [(2, 2, ("1",))] * 4
