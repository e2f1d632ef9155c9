"""The unit for systemd."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from drawtap.live.unit import unit


@pytest.mark.parametrize("system", [False, True])
def test_the_unit_is_one(tmp_path, system):
    text = unit(["--metrics", "127.0.0.1:9105", "--config", "/etc/a name%.toml"], system=system)
    assert "ExecStart=" in text and "'/etc/a name%%.toml'" in text
    assert ("User=root" in text) is system
    # What is observed with `observe = true`, and what people said outlives a restart.
    assert all((word in text) is system for word in ("CAP_BPF", "CAP_PERFMON", "RuntimeDirectoryPreserve=yes"))
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: only what the unit holds was checked")
    file = tmp_path / "drawtap.service"
    file.write_text(text)
    scope = "--system" if system else "--user"
    environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(
        ["systemd-analyze", scope, "verify", str(file)], capture_output=True, text=True, env=environment, check=False
    )
    assert str(file) not in done.stderr and "drawtap.service" not in done.stderr, done.stderr
