"""The page about a kernel trace of a million requests: making it, opening it, and frames while zooming in a browser."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import perf_counter

from bench.measure import BenchError
from bench.row import Goal, Row
from bench.setup import Setup
from drawtap.system.ctf_writer import write_ctf
from drawtap.system.simulator import US, Client, Scenario, Scheduler, Vgpu, simulate, thread_names

_FRAME_MS = 1000 / 60

# Zooms from all of it into a wait that is in the page singly, and back, in 240 frames as the browser gives them; then
# how long drawing alone takes. Times are those of the browser's clock.
_DRIVE = """
<script>
addEventListener("load", async () => {
  while (!window.systemReport) await new Promise(done => setTimeout(done, 5));
  const page = window.systemReport, ready = performance.now(), total = page.data.length, frames = [], draws = [];
  const [a, b] = page.data.detail[0] || [0, total], middle = (a + b) / 2;
  let last = await new Promise(requestAnimationFrame);
  for (let i = 0; i < 240; i++) {
    const depth = Math.sin(Math.PI * i / 239), span = total * Math.pow(Math.min(1, 2e7 / total), depth);
    page.look(middle - span / 2, middle + span / 2);
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - last); last = now;
    const begun = performance.now(); page.draw(); draws.push(performance.now() - begun);
  }
  await fetch("/done", { method: "POST", body: JSON.stringify({ ready, frames, draws, spans: page.spans }) });
});
</script>
"""


def rows(setup: Setup) -> Iterator[Row]:
    """Simulate, write the page, drive a browser over it; the last is left out where there is none."""
    requests = 50_000 if setup.quick else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace, page = folder / "ctf", folder / "page.html"
        write_ctf(trace, simulate(scenario := _scenario(requests)).events.columns(), threads=thread_names(scenario))
        what = f"page of {requests / 1e6:g} M requests"
        for how in ("write it", "write it again, tables kept"):
            seconds, cpu = _written(trace, page, folder / "cache")
            yield Row("page", f"{what}: {how}", "s", drawtap=seconds, note=f"{cpu:.1f} s of CPU")
        yield Row("page", f"{what}: size", "MB", drawtap=page.stat().st_size / 1e6)
        yield from _driven(page, what)


def _written(trace: Path, page: Path, cache: Path) -> tuple[float, float]:
    # Seconds, and seconds of CPU: other programs run too.
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run(
        [sys.executable, "-m", "drawtap", "system", "report", str(trace), "-o", str(page), "--force"],
        check=True, stdout=subprocess.DEVNULL, env=dict(os.environ, XDG_CACHE_HOME=str(cache)),
    )  # fmt: skip
    took, after = perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _scenario(requests: int) -> Scenario:
    # Three guests that keep the engine busy, with requests of different lengths.
    return Scenario(
        "page",
        "",
        (
            Vgpu("VM1", 8, (Client(600 * US, 100 * US, requests * 6 // 10, depth=4, jitter=0.3, name="gaussian"),)),
            Vgpu("VM2", 8, (Client(300 * US, 100 * US, requests * 3 // 10, depth=4, name="sort"),)),
            Vgpu("VM3", 8, (Client(900 * US, 200 * US, requests // 10, depth=2, name="hotspot"),)),
        ),
        Scheduler(work_conserving=True),
    )


def _driven(page: Path, what: str) -> Iterator[Row]:
    seen = drive(page)
    if seen is None:
        return
    frames, draws = sorted(seen["frames"]), sorted(seen["draws"])
    yield Row("page", f"{what}: open it", "s", drawtap=seen["ready"] / 1e3, note=f"{seen['spans']:,} single spans")
    yield Row(
        "page", f"{what}: draw it while zooming, median", "ms", drawtap=statistics.median(draws),
        goal=Goal(most=_FRAME_MS, unit="ms"), samples={"drawtap": draws},
    )  # fmt: skip
    yield Row("page", f"{what}: draw it while zooming, 95 %", "ms", drawtap=draws[int(len(draws) * 0.95)])
    yield Row("page", f"{what}: between frames, median", "ms", drawtap=statistics.median(frames))


def drive(page: Path, *, seconds: float = 120) -> dict[str, list[float]] | None:  # type: ignore[type-arg]
    """Zoom over a page in Chromium without a window and return its times; None where there is no Chromium."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        return None
    # The page's policy lets no script run but its own: this copy has none, for what drives it.
    plain = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8"))
    text = plain.replace("</body>", _DRIVE + "</body>").encode()
    answers: list[bytes] = []
    told = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/" else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            if self.path == "/":
                self.wfile.write(text)

        def do_POST(self) -> None:
            answers.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()
            told.set()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as profile:
        child = subprocess.Popen(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
             "--window-size=1500,1400", "--remote-debugging-port=0", f"http://127.0.0.1:{server.server_port}/"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        told.wait(seconds)
        os.killpg(child.pid, signal.SIGTERM)
        child.wait(20)
        server.shutdown()
    if not answers:
        raise BenchError(f"the page in {browser} said nothing within {seconds:.0f} s")
    return dict(json.loads(answers[0]))
