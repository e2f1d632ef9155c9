"""What panels do in a browser: questions, calls, images, textures; and wishes that other pages overtake."""

from __future__ import annotations

import json
import re
import struct
from collections import Counter
from pathlib import Path
from urllib.parse import quote, urlsplit

import numpy as np
import pytest

import drawtap
from drawtap.analysis.rule import RULES
from drawtap.web import filters
from drawtap.web.reference import pages
from shared import BROWSER
from vulkan_scene import CB, DEVICE, VulkanScene
from web.conftest import Server, headed

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


def test_questions_are_completed_drawn_and_stopped(opened, server, chain):
    with drawtap.open(chain) as trace:
        draws = len(trace.sql("SELECT seq FROM draws WHERE kind = 'draw'").fetchall())
        lengths = trace.sql("SELECT seq, duration FROM calls ORDER BY seq LIMIT 60").fetchall()
    page = opened("tab=sql")
    area = page.page.get_by_label("question in SQL")
    area.fill("FROM calls SELECT seq, dur")
    area.press("End")
    page.page.keyboard.type("a")
    page.page.get_by_role("listbox", name="completions").get_by_text("duration", exact=True).wait_for()
    page.press("Tab")
    assert area.input_value() == "FROM calls SELECT seq, duration"
    page.page.keyboard.type(" ORDER BY seq LIMIT 60")
    page.press("Control+Enter")
    page.reads("60 rows")
    shown = page.page.evaluate(
        "[...document.querySelectorAll('#panel .scroll tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.innerText))"
    )
    assert [[int(value) for value in row] for row in shown] == [list(row) for row in lengths]
    page.page.wait_for_selector("#panel .uplot canvas")  # two columns of numbers are a chart too
    area.fill("SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.range % 7 = b.range % 5")
    area.press("Control+Enter")
    page.reads("asking")
    page.page.get_by_role("button", name="stop", exact=True).click()
    page.until("[...document.querySelectorAll('#panel .bad')].some((e) => e.innerText === 'stopped')")
    area.fill("SELECT 6 * 7 AS answer")
    area.press("Control+Enter")
    page.until("[...document.querySelectorAll('#panel td')].some((cell) => cell.innerText === '42')")
    asked = page.page.locator("optgroup[label='asked in this tab'] option").all_inner_texts()
    assert asked[0] == "SELECT 6 * 7 AS answer"
    assert len(asked) == 3
    page.page.get_by_label("questions", exact=True).select_option(asked[0])
    assert area.input_value() == asked[0]
    # The filter as a question, and among the notes.
    page.press("Escape")
    page.page.evaluate("drawtap.store.set({ filter: 'is:draw' })")
    page.page.locator("#filter-save").click()
    page.until("document.getElementById('message').innerText.includes('chain.dtap.notes.json')")
    assert server.get("notes")["filters"] == ["is:draw"]
    page.page.locator("#filter-sql").click()
    page.reads(f"{draws} rows")
    chain.with_name("chain.dtap.notes.json").unlink()


def test_names_with_numbers_are_a_chart_of_bars(opened, chain):
    sql = "SELECT name, min(seq) AS first, count(*) AS calls FROM calls GROUP BY name ORDER BY calls DESC, name"
    with drawtap.open(chain) as trace:
        counts = [[name, str(calls)] for name, _, calls in trace.sql(sql).fetchall()][:20]
    page = opened(f"tab=sql&sql={quote(sql)}")
    page.reads("chart of calls")  # the column by which the answer is sorted
    cells = page.page.locator(".bars-of > .mono, .bars-of > .n").all_inner_texts()
    assert [cells[i : i + 2] for i in range(0, len(cells), 2)] == counts
    widths = page.page.evaluate("[...document.querySelectorAll('.bars-of .bar')].map((bar) => bar.offsetWidth)")
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 2 * widths[-1]


def test_a_panel_without_an_object_offers_all_of_them(opened, chain):
    with drawtap.open(chain) as trace:
        query = "SELECT count(*), any_value(name) FROM resources WHERE class IN ({})"
        [(textures, _)] = trace.sql(query.format("'texture', 'renderbuffer', 'vg_image'")).fetchall()
        [(buffers, name)] = trace.sql(query.format("'buffer'")).fetchall()
        last = len(trace.calls) - 1
    page = opened(f"call={last}&tab=texture")
    page.reads(f"{textures} rows")
    page.press("B")
    page.reads(f"{buffers} row")
    page.page.get_by_role("link", name=str(name), exact=True).first.click()
    page.wait(f"place.object.endsWith('/{name}')")
    page.reads("save raw")


def test_a_finding_says_why_it_matters_and_what_to_do(opened, recordings):
    held = Server(recordings / "client_arrays_es2.dtap")
    page = opened("tab=findings", of=held)
    page.reads("client-arrays")
    rule = RULES.get("client-arrays")
    page.page.get_by_text(rule.title, exact=True).click()
    page.reads(rule.fix)
    assert held.get("rules")["client-arrays"]["why"] == rule.why
    held.close()


def test_display_lists_draw_where_they_are_called(opened, recordings):
    with drawtap.open(recordings / "ff_lists.dtap") as trace:
        draws = trace.sql(
            "SELECT seq, frame, name FROM draws JOIN calls USING (seq, frame) WHERE kind = 'draw' ORDER BY seq"
        ).fetchall()
    assert {name for _, _, name in draws} >= {"glCallList", "glCallLists"}
    held = Server(recordings / "ff_lists.dtap")
    for frame in {frame for _, frame, _ in draws}:
        outline = held.get(f"outline/{frame}")
        shown = [seq for seq, kind in zip(outline["seqs"], outline["kinds"], strict=True) if kind == "draw"]
        assert shown == [seq for seq, at, _ in draws if at == frame]
    listed = held.get("timeline")
    row = next(row for of in listed["groups"] for row in of["tracks"] if row["label"] == "draws")
    area = held.get(f"area?ids={row['id']}&t0=0&t1={listed['length']}")
    assert {(name, count) for _, _, name, count, *_ in area["rows"]} == set(Counter(n for *_, n in draws).items())
    page = opened(of=held)
    last = draws[-1][1]
    page.until(f"drawtap.recording.frames.draws[{last}] === {sum(frame == last for _, frame, _ in draws)}")
    for seq, _, _ in draws[:3]:
        page.press("d")
        page.wait(f"place.call === {seq}")
    page.press("2")
    page.wait("place.tab === 'state'")
    page.press("u")
    page.wait(f"place.tab === 'call' && place.call === {draws[2][0]}")
    page.press("U")
    page.wait("place.tab === 'state'")
    held.close()


def test_a_few_texels_are_enlarged(opened, recordings):
    with drawtap.open(recordings / "formats.dtap") as trace:
        query = (
            "SELECT name, share_group, width FROM resources WHERE class = 'texture' AND height <= width AND width <= 48"
        )
        name, group, width = trace.sql(f"{query} ORDER BY name LIMIT 1").fetchone()
        last = len(trace.calls) - 1
    held = Server(recordings / "formats.dtap")
    page = opened(f"call={last}&tab=texture&object=texture/{group}/{name}", of=held)
    page.until("document.querySelector('#panel canvas[tabindex]')?.clientWidth")
    shown = page.page.evaluate("document.querySelector('#panel canvas[tabindex]').clientWidth")
    assert shown == width * (96 // width)
    held.close()


def test_kinds_of_a_function_lead_to_its_calls(opened, chain):
    with drawtap.open(chain) as trace:
        seq = next(call.seq for call in trace.calls if call.name == "glClear")
    page = opened(f"call={seq}")
    page.reads("clears a framebuffer")
    page.page.get_by_role("link", name="is:clear", exact=True).click()
    page.wait("place.filter === 'is:clear' && place.mode === 'dim'")


def test_words_of_the_filter_stand_in_a_table(opened):
    page = opened()
    page.page.locator("#filter-help").click()
    page.page.locator("dialog th").first.wait_for()
    words = page.page.locator("dialog th").all_inner_texts()
    documented = re.findall(r"^ {4}(\S.*?) {2,}\S", filters.__doc__, re.M)
    assert words == documented
    assert len(words) > 10


def test_every_panel_of_vulkan_has_words(opened, tmp_path):
    """Without a driver of Vulkan pictures have a reason instead; all else comes from the recording alone."""
    scene = VulkanScene().vkCreateImage(DEVICE, {"extent": {"width": 64}}, pImage=[0x10])
    scene.recorded(lambda s: s.vkCmdDraw(CB, 3, 1, 0, 0)).frames(2, lambda s, i: s.submit())
    running = Server(scene.write(tmp_path / "vulkan.dtap"))
    draw = next(call.seq for call in drawtap.open(tmp_path / "vulkan.dtap").calls if call.name == "vkCmdDraw")
    page = opened(f"call={draw}", of=running)
    page.until("/^no pictures: ./.test(document.querySelector('.thumbs').innerText)")
    for tab in page.page.evaluate("[...document.querySelectorAll('#tabs [role=tab]')].map((tab) => tab.id)"):
        page.page.locator(f"#{tab}").click()
        page.until(f"document.getElementById('{tab}').ariaSelected === 'true'")
        page.until("document.getElementById('panel').innerText.trim() !== ''")
        assert "undefined" not in page.text("#panel"), tab
    page.press("2")
    page.reads("vkCmdDraw")
    page.press("5")
    page.reads("0x10")  # an image by its handle, as the calls have it
    running.close()


def test_a_call_is_copied_and_its_arrays_have_forms(opened, server, chain):
    with drawtap.open(chain) as trace:
        upload = next(call for call in trace.calls if call.name == "glBufferData" and call.args["data"] is not None)
    told = server.get(f"call/{upload.seq}")
    content = server.ask(f"/api/0/content/{upload.seq}/data").body
    page = opened(f"call={upload.seq}&tab=call")
    page.reads("Arguments")
    page.page.evaluate("navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }")
    for name, text in (
        ("text", told["text"]),
        ("C", f"{told['c']};"),
        ("SQL", told["sql"]),
        ("Python", told["python"]),
    ):
        page.page.get_by_role("button", name=name, exact=True).click()
        page.until(f"document.getElementById('message').innerText === 'copied as {name}'")
        assert page.page.evaluate("copied") == text
    page.page.get_by_role("button", name="JSON", exact=True).click()
    page.until("document.getElementById('message').innerText === 'copied as JSON'")
    assert json.loads(page.page.evaluate("copied")) == told
    page.reads("GL_ES_VERSION_2_0")
    page.reads("https://registry.khronos.org/OpenGL-Refpages/es3/")
    assert next(one["group"] for one in told["args"] if one["name"] == "usage") == "BufferUsageARB"
    page.reads("BufferUsageARB")
    page.reads("00000000  " + content[:16].hex(" "))
    values = np.frombuffer(content, "<f4").tolist()
    page.page.get_by_role("button", name="floats", exact=True).click()
    page.reads(f"     0  {', '.join(f'{value:g}' for value in values)}")
    page.page.get_by_role("button", name="struct", exact=True).click()
    form = page.page.get_by_label("format of the fields")
    form.fill("flot2 at")
    form.press("Enter")
    page.reads("there is no type 'flot2'")
    form.fill("every 8; float2 at")
    form.press("Enter")
    page.reads("4 rows")
    cells = page.page.locator("#panel .scroll tbody td").all_inner_texts()
    assert [json.loads(cell) for cell in cells] == [values[i : i + 2] for i in range(0, 8, 2)]


@pytest.mark.parametrize(
    ("name", "api", "provided_by", "ends"),
    [
        ("vkCmdDraw", "vk", "VK_VERSION_1_0", ["vulkan/specs/latest/man/html/vkCmdDraw.html"]),
        ("eglSwapBuffers", "egl", "EGL_VERSION_1_0", ["EGL/sdk/docs/man/html/eglSwapBuffers.xhtml"]),
        ("glDrawArrays", "gl", "GL_VERSION_1_1, GL_ES_VERSION_2_0", ["OpenGL-Refpages/gl4/", "OpenGL-Refpages/es3/"]),
        ("glTexStorage2DEXT", "gl", "GL_EXT_texture_storage", ["OpenGL/extensions/EXT/EXT_texture_storage.txt"]),
        ("eglCreateImageKHR", "egl", "EGL_KHR_image", ["EGL/extensions/KHR/EGL_KHR_image.txt"]),
        ("glXSwapIntervalEXT", "glx", "GLX_EXT_swap_control", ["OpenGL/extensions/EXT/GLX_EXT_swap_control.txt"]),
        ("toyDraw", "toy", "-", []),
    ],
)
def test_functions_have_pages(name, api, provided_by, ends):
    assert pages(name, api, provided_by) == [f"https://registry.khronos.org/{end}" for end in ends]


def test_images_have_channels_a_range_a_histogram_and_marks_for_what_is_no_number(opened):
    page = opened("tab=notes")
    page.reads("Bookmarks")
    page.page.evaluate(
        """async () => {
          const { imageView } = await import("/app/image.js");
          const data = new Float32Array(4000 * 2 * 4).fill(0.5);
          data.set([NaN, 0, 0, 1, 2, -2, 1, 1, 0.25, 0.5, 0.75, 0]);
          document.getElementById("panel").replaceChildren(
            imageView({ width: 4000, height: 2, channels: "rgba", data }, { name: "made" }));
        }"""
    )
    pixels = """(() => { const c = document.querySelector("#panel .stack canvas").getContext("2d");
                return [0, 1, 2].map((x) => [...c.getImageData(x, 0, 1, 1).data].slice(0, 3)); })()"""
    first = [[255, 0, 255], [255, 0, 191], [143, 159, 175]]  # from -2 to 2, and magenta
    assert page.page.evaluate(pixels) == first
    assert "values from -2 to 2; 1 are no numbers, shown magenta" in page.text("#panel")
    wide = "document.querySelector('#panel .stack canvas').offsetWidth"
    assert page.page.evaluate(f"{wide} <= document.getElementById('panel').clientWidth")  # all of it is in view
    page.page.get_by_role("button", name="2×").click()
    assert page.page.evaluate(wide) == 8000
    page.page.get_by_role("button", name="whole").click()
    page.page.get_by_label("value shown darkest").fill("0")
    page.page.get_by_label("value shown brightest").fill("1")
    assert page.page.evaluate(pixels) == [[255, 0, 255], [255, 0, 255], [64, 128, 191]]
    page.page.get_by_role("button", name="B", exact=True).click()
    assert page.page.evaluate(pixels) == [[0, 0, 0], [255, 255, 255], [191, 191, 191]]
    page.page.get_by_role("button", name="B", exact=True).click()
    page.page.get_by_role("button", name="fit").click()
    assert page.page.evaluate(pixels) == first
    histogram = page.page.get_by_role("img", name="histogram from -2 to 2")
    assert histogram.evaluate("(c) => c.getContext('2d').getImageData(0, 0, 256, 60).data.some((v) => v > 0)")


def test_a_wish_that_another_page_overtook_is_asked_again(opened, chain):
    with drawtap.open(chain) as trace:
        seq = trace.sql("SELECT max(seq) FROM draws WHERE kind = 'draw'").fetchall()[0][0]
    page = opened("tab=notes")
    overtaken = set()

    def first_time(route):
        path = urlsplit(route.request.url).path
        if path in overtaken:
            return route.continue_()
        overtaken.add(path)
        return route.fulfill(status=409, body='{"error": "a newer question came"}', content_type="application/json")

    paths = [f"/api/0/{path}" for path in (f"picture/{seq}", f"masks/{seq}", f"picture/{seq}/pixel", f"whatif/{seq}")]
    page.page.route(lambda url: urlsplit(url).path in paths, first_time)
    page.page.evaluate(f"drawtap.store.set({{ call: {seq}, tab: 'picture', over: 'drawn', px: '3,5' }})")
    page.reads("fragments pass all tests")
    page.until("document.querySelectorAll('#history tbody tr').length > 0")
    page.page.evaluate(f"drawtap.store.set({{ tab: 'whatif', what: 'drop {seq}' }})")
    page.reads("pixels differ")
    assert overtaken == set(paths)


def test_every_slice_is_shown_and_a_texture_as_shaders_get_it(opened, recordings):
    path = recordings / "formats.dtap"
    with drawtap.open(path) as trace:
        (at,) = trace.sql("SELECT max(seq) FROM calls WHERE name = 'glClear'").fetchone()
    server = Server(path)
    first = """(() => { const c = document.querySelector("#panel .stack canvas");
                return [...c.getContext("2d").getImageData(1, 1, 1, 1).data]; })()"""
    try:
        page = opened(f"call={at}&tab=texture&object=texture/1/1", server)
        page.page.wait_for_selector(".stack canvas")
        assert page.page.evaluate(first) == [12, 15, 18, 255]
        page.page.get_by_role("button", name="as sampled: BGR1").click()
        page.wait("place.sampled === 'yes'")
        page.until(f"{first}.join() === '18,15,12,255'")
        for name, count in ((2, 5), (9, 5)):
            page = opened(f"call={at}&tab=texture&object=texture/1/{name}", server)
            page.page.wait_for_selector(".parts canvas")
            assert page.page.locator(".parts figure").count() == count
        page = opened(f"call={at}&tab=texture&sampled=yes&object=texture/1/7", server)  # GL_LUMINANCE
        page.page.wait_for_selector(".stack canvas")
        canvas = page.page.locator(".stack canvas").first
        texel = canvas.evaluate("(one) => one.clientWidth / one.width")  # pixels of the page
        canvas.hover(position={"x": 1.5 * texel, "y": 1.5 * texel})
        page.reads(": 0.125 0.125 0.125 1")
        page = opened(f"call={at}&tab=texture&object=texture/1/23", server)  # four samples, and what they are together
        page.page.wait_for_selector(".parts canvas")
        assert page.page.locator(".parts figure").count() == 5
        page.page.locator(".parts figure", has_text="sample 2").click()
        page.until(f"{first}.join() === '0,0,255,255'")
    finally:
        assert server.close() == 0


def test_textures_show_every_level_and_exact_values(opened, server, chain):
    page = opened("tab=objects")
    page.reads("Objects of the run")
    page.page.locator("tr", has_text="texture").first.get_by_role("link").first.click()
    page.wait("place.tab === 'texture'")
    page.reads("values from")
    with drawtap.open(chain) as trace:
        _, group, name = page.place()["object"].split("/")
        asked = f"SELECT format, width, height FROM resources WHERE class = 'texture' AND name = {name}"
        form, width, height = trace.sql(f"{asked} AND share_group = {group}").fetchone()
    assert form in page.text("#panel h2")
    size = page.page.evaluate(
        "(() => { const c = document.querySelector('#panel .picture canvas'); return [c.width, c.height]; })()"
    )
    assert size == [width, height]
    at = page.place()["call"]
    head, data = headed(server.ask(f"/api/0/texture/{at}/texture/{group}/{name}").body)
    part = head["parts"][0]
    saved = {form: _downloaded(page, f"save {form}") for form in ("numbers", "PNG", "KTX")}
    assert saved["numbers"] == data[part["at"] : part["at"] + len(saved["numbers"])]
    assert len(saved["numbers"]) == width * height * part["shape"][3]
    assert (saved["PNG"][:4], struct.unpack(">II", saved["PNG"][16:24])) == (b"\x89PNG", (width, height))
    assert saved["KTX"] == server.ask(f"/api/0/texture/{at}/texture/{group}/{name}/ktx").body


def _downloaded(page, button: str) -> bytes:
    with page.page.expect_download() as waiting:
        page.page.get_by_role("button", name=button, exact=True).click()
    return Path(waiting.value.path()).read_bytes()


def test_faces_of_a_cube_stand_as_a_cross(opened, recordings):
    path = recordings / "held.dtap"
    with drawtap.open(path) as trace:
        (gone,) = trace.sql("SELECT min(seq) FROM glDeleteTextures").fetchone()
        faces = [trace.calls[n].args for (n,) in trace.sql("SELECT seq FROM glTexImage2D WHERE target LIKE '%CUBE%'")]
    server = Server(path)
    try:
        page = opened(f"call={gone - 1}&tab=texture&object=texture/1/5", server)
        page.page.wait_for_selector(".cross canvas")
        shown = page.page.evaluate(
            """[...document.querySelectorAll(".cross figure")].map((figure) => {
                const { left, top } = figure.getBoundingClientRect(), canvas = figure.querySelector("canvas");
                return [figure.title, left, top, [...canvas.getContext("2d").getImageData(0, 0, 1, 1).data]];
            })"""
        )
    finally:
        server.close()
    at = {name: (left, top) for name, left, top, _ in shown}
    assert len(at) == 6
    assert at["positive_y"][0] == at["negative_y"][0] == at["positive_z"][0]
    assert at["positive_y"][1] < at["positive_z"][1] < at["negative_y"][1]
    row = ["negative_x", "positive_z", "positive_x", "negative_z"]
    assert [at[name][1] for name in row] == [at["positive_z"][1]] * 4
    assert [at[name][0] for name in row] == sorted({at[name][0] for name in row})
    uploaded = {str(a["target"]).removeprefix("GL_TEXTURE_CUBE_MAP_").lower(): [*a["pixels"][:3]] for a in faces}
    assert {name: pixel[:3] for name, _, _, pixel in shown} == uploaded
