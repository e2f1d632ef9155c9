"""Facts about the machine and the versions that a result belongs to."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from bench.setup import ROOT


def facts() -> dict[str, object]:
    """Return processor, kernel, versions, revision and load, as they are now."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "system": _system(),
        "python": platform.python_version(),
        "duckdb": _distribution("duckdb"),
        "mesa": _package("libgl1-mesa-dri"),
        "apitrace": _package("apitrace"),
        "glmark2": _package("glmark2-es2-x11") or _package("glmark2-es2"),
        "revision": _output("git", "-C", str(ROOT), "describe", "--always", "--dirty"),
        "load": os.getloadavg()[0],
    }


def _processor() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()


def _system() -> str:
    release = Path("/etc/os-release")
    found = re.search(r'^PRETTY_NAME="?([^"\n]+)', release.read_text(), re.MULTILINE) if release.exists() else None
    return found[1] if found else platform.system()


def _distribution(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _package(name: str) -> str | None:
    if not shutil.which("dpkg-query"):
        return None
    return _output("dpkg-query", "--showformat", "${Version}", "--show", name) or None


def _output(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
