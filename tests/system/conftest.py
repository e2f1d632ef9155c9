"""The recordings of kernels in tests/data/kernel, unpacked once a session."""

from __future__ import annotations

import lzma
import tarfile
from pathlib import Path

import pytest

DATA = Path(__file__).parent.parent / "data" / "kernel"


@pytest.fixture(scope="session")
def drm_sched_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace.dat with two clients of the DRM scheduler."""
    return _unpack("drm-sched-6.1.dat", tmp_path_factory)


@pytest.fixture(scope="session")
def qemu_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log of QEMU's virtio_gpu events."""
    return _unpack("qemu-virtio-gpu-trace.log", tmp_path_factory)


@pytest.fixture(scope="session")
def kvm_traces(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return two folders of CTF: machines that share CPUs before and after one was moved."""
    folder = tmp_path_factory.mktemp("kvm")
    with tarfile.open(DATA / "kvm-preemption-lttng-ctf.tar.xz") as archive:
        # The filter came with 3.11.4; Debian 12 has an older one. The archive is our own.
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return folder / "lttng-kernel-kvm-before", folder / "lttng-kernel-kvm-after"


def _unpack(name: str, factory: pytest.TempPathFactory) -> Path:
    path = factory.mktemp("kernel") / name
    path.write_bytes(lzma.decompress((DATA / f"{name}.xz").read_bytes()))
    return path
