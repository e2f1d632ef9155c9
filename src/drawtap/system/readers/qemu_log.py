"""QEMU's trace log: what a host's virtio-gpu device did for its guest."""

import re
from pathlib import Path

from drawtap.system.native import NativeTrace, Plan
from drawtap.system.reader import Clock, KernelTrace, reader

_LINE = re.compile(rb"^\d+@\d+\.\d+:[A-Za-z_]\w* ", re.MULTILINE)


def _is_log(path: Path, head: bytes) -> bool:
    return _LINE.match(head) is not None or _LINE.search(head) is not None


@reader("qemu-log", _is_log)
def open_log(path: Path) -> KernelTrace:
    """QEMU's log of trace events (`-trace 'virtio_gpu_*' -D FILE`, trace back-end `log`).

    Times are times of day, in microseconds. Names of fields are the words in front of the values.
    """
    clock = Clock("realtime", monotonic=False, epoch_offset_ns=0, note="CLOCK_REALTIME in microseconds")
    return KernelTrace(path, "qemu-log", NativeTrace("lines", Plan().number(1).text(bytes(path))), clock=clock)
