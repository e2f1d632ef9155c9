"""Make the pictures of the tutorial and of some how-tos from real output: make pictures.

It records glmark2 as the tutorial does, with Xvfb, glmark2-es2 and Chromium. Terminals become SVG, pages PNG.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

import drawtap

IMAGES = Path(__file__).parent / "images"
RECORD = "xvfb-run -a {} record -o mark.dtap -- glmark2-es2 -s 320x240 -b build:nframes=300 -b texture:nframes=300"
DESKTOP = "xvfb-run -a {} record -o desktop.dtap -- glmark2-es2 -s 320x240 -b desktop:nframes=60"
DRAWTAP = f"{sys.executable} -m drawtap"
DRAW = "SELECT max(seq) FROM draws WHERE kind = 'draw' AND frame = 20"
COLUMNS = 100
MOST_WAITS = 600  # of 100 ms, for the timeline after an act
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def main() -> int:
    """Write all pictures; return 3 where a program that they need is missing."""
    browser = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    missing = [name for name in ("xvfb-run", "glmark2-es2") if shutil.which(name) is None]
    if browser is None or missing:
        print(f"not installed: {', '.join([*missing, *([] if browser else ['chromium'])])}", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        _run(RECORD.format(DRAWTAP))
        terminal("frames", "frames mark.dtap --slowest 3")
        terminal("checklist", "checklist mark.dtap --rule redundant-calls --rule shader-compiles")
        terminal("prompt", "shell mark.dtap", typed=(
            "frames --slowest 2",
            "SELECT name, count(*) AS calls FROM calls WHERE frame = 300 GROUP BY name ORDER BY calls DESC LIMIT 4",
            "list '#10' --name 'glDraw*'",
        ))  # fmt: skip
        viewed(browser, "timeline", "mark.dtap", "time=open&tab=time", (
            "drawtap.goFrame(100)",
            "(() => { const { graph, listing } = drawtap.timeline, { start } = drawtap.recording.frames;"
            " graph.look(start[99] - listing.zero, start[102] - listing.zero); })()",
            "drawtap.draw(1)",
        ))  # fmt: skip
        _run(f"{DRAWTAP} report mark.dtap -o report.html")
        page(browser, "tutorial", "report.html", (1240, 1100))
        _run(f"{DRAWTAP} compare mark.dtap --on llvmpipe --on softpipe --frames 10:13 -o compare.html", codes=(1,))
        page(browser, "compare", "compare.html", (1240, 900))
        seq = re.findall(r"\d+", _run(f'{DRAWTAP} sql mark.dtap "{DRAW}" --json'))[-1]
        place = f"call={seq}&tab=picture&over=culled,boxes&px=170,120"
        history = (".legend[data-ready=yes]", "#history tbody tr")
        viewed(browser, "pixel", "mark.dtap", place, shown_first=history, seconds=4, height=1120)
        _run(DESKTOP.format(DRAWTAP))
        seq = re.findall(r"\d+", _run(f'{DRAWTAP} sql desktop.dtap "{DRAW}" --json'))[-1]
        viewed(browser, "passes", "desktop.dtap", f"tab=passes&call={seq}", shown_first=(".flow .pass",), seconds=4)
        picture = ("canvas[role=img][tabindex]",)
        viewed(browser, "view", "desktop.dtap", f"tab=picture&call={seq}", shown_first=picture, seconds=4)
        draw = _changed(Path("mark.dtap"), Path("after.dtap"))
        place = f"with=1&tab=picture&side=difference&call={draw}"
        shown = ("canvas[aria-label^=difference]", ".thumbs canvas:nth-of-type(12)")
        viewed(browser, "pair", "mark.dtap after.dtap", place, shown_first=shown)
        corpus(browser)
        running(browser)
        _run(f"{DRAWTAP} overdraw mark.dtap --frames 10:11 -o overdraw")
        shutil.copy(min(Path("overdraw").glob("*.png")), IMAGES / "overdraw.png")
    return 0


def _changed(recording: Path, target: Path) -> int:
    """Write a recording whose draws in one frame leave out vertices, with a call more; return the last of the draws."""
    with drawtap.open(recording) as trace:
        frame = trace.frames[20]
        calls = [trace.calls[seq] for seq in range(frame.first_seq, frame.end_seq)]
        counts = {call.seq: call.args["count"] for call in calls if call.name == "glDrawArrays"}
    with drawtap.edit(recording) as changed:
        for seq, count in counts.items():
            changed.set(seq, count=int(count) // 3)
        changed.insert(min(counts) - 3, "glFinish")
        changed.save(target)
    return max(counts)


def _run(command: str, codes: tuple[int, ...] = (0,)) -> str:
    environment = os.environ | {"FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "LIBGL_ALWAYS_SOFTWARE": "1"}
    done = subprocess.run(["bash", "-c", command], check=False, env=environment, capture_output=True, text=True)
    if done.returncode not in codes:
        raise SystemExit(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def terminal(name: str, arguments: str, typed: tuple[str, ...] = ()) -> None:
    """Write images/NAME.svg: a command, what is typed at its prompt, and what they print."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text(f"$ drawtap {arguments}", style="bold"))
    if not typed:
        console.print(Text.from_ansi(_run(f"{DRAWTAP} {arguments}", codes=(0, 1))))
    for line in typed:
        Path("line.txt").write_text(line + "\n", encoding="utf-8")
        console.print(Text(f"t0> {line}", style="bold"))
        console.print(Text.from_ansi(_run(f"{DRAWTAP} {arguments} --script line.txt")))
    svg = console.export_svg(title=f"drawtap {arguments.partition(' ')[0]}", theme=MONOKAI, unique_id=name)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # nothing is loaded from elsewhere
    (IMAGES / f"{name}.svg").write_text(svg.replace("Fira Code", "DejaVu Sans Mono"), encoding="utf-8")


def page(browser: str, name: str, html: str, size: tuple[int, int]) -> None:
    """Write images/NAME.png: the top of a page."""
    shot = IMAGES / f"{name}.png"
    options = f"--headless --no-sandbox --hide-scrollbars --window-size={size[0]},{size[1]} --virtual-time-budget=5000"
    _run(f"{browser} {options} --screenshot={shot} file://{Path(html).absolute()}")


def corpus(browser: str) -> None:
    """Write images/corpus.png: frames on two drivers, one of which rounds differently."""
    store = "--corpus nightly"
    _run(f"{DRAWTAP} corpus init nightly")
    for frame, scene in ((120, "cat"), (460, "wood")):
        _run(f"{DRAWTAP} extract mark.dtap --frames {frame} -o {scene}.dtap --on llvmpipe")
        _run(f"{DRAWTAP} corpus add {scene}.dtap --tag app=mark {store}")
    for new in ("llvmpipe", "softpipe --base llvmpipe"):
        _run(f"{DRAWTAP} corpus verdict --tag app=mark --new {new} --no-cut {store}", codes=(0, 1))
        if new == "llvmpipe":
            _run(f'{DRAWTAP} corpus approve --tag app=mark --on llvmpipe --why "compared with the design" {store}')
    where = json.loads(
        _run(f"{DRAWTAP} corpus sql \"SELECT trace, engine FROM verdicts WHERE label = 'differs'\" --json {store}")
    )
    place = "&".join(f"{word}={where[0][name]}" for word, name in (("trace", "trace"), ("build", "engine")))
    shown = ("figure:nth-of-type(3)[data-ready=yes]",)
    viewed(browser, "corpus", "nightly", place, shown_first=shown, verb="corpus serve --corpus")


def running(browser: str) -> None:
    """Write images/live.png: two programs under a manager of their own, one of them held."""
    runtime = Path("runtime").absolute()
    runtime.mkdir(mode=0o700)
    own = {"XDG_RUNTIME_DIR": str(runtime), "LIBGL_ALWAYS_SOFTWARE": "1"}
    with contextlib.ExitStack() as stack:
        for command in (
            f"{DRAWTAP} manager",
            f"sleep 3; exec xvfb-run -a {DRAWTAP} run glmark2-es2 -s 320x240 -b build:duration=90",
            f"sleep 3; exec xvfb-run -a {DRAWTAP} run --fps 20 glmark2-es2 -s 160x120 -b texture:duration=90",
        ):
            words = ["setsid", "bash", "-c", command]
            started = subprocess.Popen(
                words, env=os.environ | own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            stack.callback(started.wait)
            stack.callback(os.killpg, started.pid, 15)
        os.environ |= own
        viewed(browser, "live", "--live", "", shown_first=("tbody tr:nth-of-type(2)",), seconds=20)


def viewed(
    browser: str,
    name: str,
    trace: str,
    place: str,
    acts: tuple[str, ...] = (),
    *,
    shown_first: tuple[str, ...] = (),
    seconds: float = 1.5,
    height: int = 860,
    verb: str = "view",
) -> None:
    """Write images/NAME.png: the page that a verb serves at a place, when it shows some selectors.

    Or after acts in JavaScript, when the timeline has all it asks for.
    """
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "drawtap", *verb.split(), *trace.split(), "--no-browser"]
    environment = os.environ | {"LIBGL_ALWAYS_SOFTWARE": "1", "EGL_PLATFORM": "surfaceless"}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        with sync_playwright() as driver:
            chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
            shown = chromium.new_page(viewport={"width": 1300, "height": height})
            shown.goto(f"{address.partition('&')[0]}&{place}")
            shown.wait_for_selector("body[data-ready]")
            for selector in shown_first:
                shown.wait_for_selector(selector, timeout=60_000)
            for act in ("", *acts) if acts else ():
                shown.evaluate(act or "0")
                shown.wait_for_timeout(1500)
                for _ in range(MOST_WAITS):
                    if shown.evaluate("drawtap.timeline.graph.kept.size && !drawtap.timeline.graph.asked"):
                        break
                    shown.wait_for_timeout(100)
                else:
                    after = f"after {act}" if act else "when the page is there"
                    raise SystemExit(
                        f"{name}.png: {after}, the timeline has not all rows in {MOST_WAITS / 10:g} s: "
                        "is it open (time=open in the place)?"
                    )
            shown.wait_for_timeout(seconds * 1000)
            shown.screenshot(path=IMAGES / f"{name}.png")
            chromium.close()
    finally:
        server.send_signal(2)
        server.wait(timeout=60)


if __name__ == "__main__":
    sys.exit(main())
