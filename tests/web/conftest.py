"""What tests of the viewer need: recordings of small programs, and a server in a process of its own."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from shared import once

PROGRAMS = Path(__file__).parents[1] / "gl" / "programs"
TIMEOUT_S = 120


@dataclass(frozen=True)
class Answer:
    """What the server answered."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self):
        return json.loads(self.body)


class Server:
    """A running `drawtap view`."""

    def __init__(self, *arguments: str | Path) -> None:
        command = [sys.executable, "-m", "drawtap", "view", "--no-browser", *map(str, arguments)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        self.root, _, fragment = self.address.partition("#")
        self.token = fragment.removeprefix("token=").partition("&")[0]
        self.host = self.root.removeprefix("http://").rstrip("/")

    def ask(self, path: str, *, method: str = "GET", body: str | None = None, **headers: str) -> Answer:
        """Make a request with the token; `headers` with _ for - replace or add to what a browser sends."""
        connection = http.client.HTTPConnection(self.host, timeout=TIMEOUT_S)
        given = {"Authorization": f"Bearer {self.token}"} | {k.replace("_", "-"): v for k, v in headers.items()}
        connection.request(method, path, body=body, headers=given)
        answer = connection.getresponse()
        found = Answer(answer.status, answer.read(), {k.lower(): v for k, v in answer.getheaders()})
        connection.close()
        return found

    def get(self, path: str):
        """Return the JSON of a good answer."""
        answer = self.ask(f"/api/0/{path}")
        assert answer.status == 200, answer.body
        return answer.json

    def close(self) -> int:
        """End the server as Ctrl-C does; return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(2)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.wait(timeout=TIMEOUT_S)


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record programs with debug groups, several targets and every stage of the pipeline; return their folder."""
    if shutil.which("cc") is None or not Path("/usr/include/EGL/egl.h").exists():
        pytest.skip("a C compiler and the GL headers are needed")

    def fill(folder: Path) -> Path:
        environment = {**os.environ, "EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"}
        for name, libraries in (("debug_markers", "GLESv2"), ("fbo_chain", "GLESv2"), ("pipeline", "GL")):
            binary = folder / name
            build = ["cc", "-O1", "-o", str(binary), str(PROGRAMS / f"{name}.c"), "-lEGL", f"-l{libraries}", "-lm"]
            subprocess.run(build, check=True, capture_output=True, timeout=TIMEOUT_S)
            record = [sys.executable, "-m", "drawtap", "record", "-q", "-o", str(folder / f"{name}.dtap"), "--"]
            subprocess.run([*record, str(binary)], check=True, capture_output=True, env=environment, timeout=TIMEOUT_S)
        return folder

    return once(tmp_path_factory, "viewed", fill)


@pytest.fixture(scope="module")
def chain(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the recording of fbo_chain: what is noted while looking stands beside it."""
    return Path(shutil.copy(recordings / "fbo_chain.dtap", tmp_path_factory.mktemp("view") / "chain.dtap"))


@pytest.fixture(scope="module")
def server(chain: Path, recordings: Path) -> Iterator[Server]:
    """Serve fbo_chain as recording 0 and debug_markers as recording 1."""
    running = Server(chain, recordings / "debug_markers.dtap")
    yield running
    assert running.close() == 0
