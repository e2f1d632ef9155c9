"""Recordings of Vulkan without their texels, read-backs and names; nothing of these is left in the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from drawtap.corpus.vulkan_hiding import alpha_of
from drawtap.errors import DrawtapError
from drawtap.trace.edit import edit
from drawtap.trace.trace import Trace, open_trace
from shared import run_drawtap
from vulkan.conftest import Cube, Record, environment

SIZE, PIXEL = 64, 4  # of uploads.c
RUN = 4 * PIXEL  # so many bytes side by side are nobody's by chance


@pytest.fixture(scope="session")
def uploads(record: Record) -> Path:
    """A recording of uploads.c."""
    return record("uploads") / "uploads.dtap"


def stored(trace: Trace, table: str = "memory_writes") -> list[tuple[int, bytes]]:
    """Return the stored bytes of a recording, each with its offset, as they were stored."""
    rows = trace.sql(f'SELECT "offset", data_data, data_blob FROM {table}').fetchall()
    return [(at, bytes(trace.core.blob(blob)) if data is None else bytes(data)) for at, data, blob in rows]


def everything(trace: Trace) -> Iterator[bytes]:
    """Yield all bytes of a recording that are not compressed here: the file, its contents, what was stored."""
    yield trace.path.read_bytes()
    for row in trace.table("blobs"):
        yield bytes(trace.core.blob(str(row["hash"])))
    for table in ("memory_writes", "device_writes"):
        yield from (content for _, content in stored(trace, table))


def tiles(texels: bytes, width: int) -> np.ndarray:  # type: ignore[type-arg]
    """Return the texels of each 8 x 8 in an order that does not depend on their places."""
    rows = np.frombuffer(texels, "<u4").reshape(-1, 8, width // 8, 8)
    return np.sort(rows.transpose(0, 2, 1, 3).reshape(-1, 64) & 0x00FFFFFF, axis=1)


def redacted(trace: Path, made: Path, *words: str) -> dict[str, object]:
    done = run_drawtap("redact", trace, "-o", made, "--level", "content", "--json", *words, environment=environment())
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert isinstance(said, dict)
    return said


def test_texels_of_staging_buffers(uploads: Path, tmp_path: Path) -> None:
    """Colours change places in their 8 x 8, once; integers stay; a part that is stored again is mixed by itself."""
    made = tmp_path / "made.dtap"
    said = redacted(uploads, made, "--unproven")
    assert said["mixed"] == 3
    assert said["kept"] == {"VK_FORMAT_R8G8B8A8_UINT has no colours, or a single one": 1}
    with open_trace(uploads) as old, open_trace(made) as new:
        before, after = stored(old), stored(new)
        assert [(at, len(content)) for at, content in before] == [(at, len(content)) for at, content in after]
        _, whole, part, numbers, blocks = (content for _, content in before)
        _, mixed, again, same, turned = (content for _, content in after)
        for was, now in ((whole, mixed), (part, again)):
            assert (np.frombuffer(was, "u1")[3::4] == np.frombuffer(now, "u1")[3::4]).all()  # alpha
            assert (tiles(was, SIZE) == tiles(now, SIZE)).all()
            moved = np.frombuffer(was, "<u4") & 0xFFFFFF != np.frombuffer(now, "<u4") & 0xFFFFFF
            assert moved.mean() > 0.9
        assert numbers == same
        assert blocks != turned
        contents = list(everything(new))
        secrets = {part_[i : i + RUN] for part_ in (whole, part, blocks) for i in range(0, len(part_), RUN)}
        assert not [secret for secret in secrets if any(secret in content for content in contents)]
        assert not any(b"Harbour" in content for content in contents)
        assert any(secret in content for secret in secrets for content in everything(old))


def test_read_backs_are_blank(uploads: Path, tmp_path: Path) -> None:
    made = tmp_path / "made.dtap"
    redacted(uploads, made, "--unproven")
    with open_trace(uploads) as old, open_trace(made) as new:
        before, after = stored(old, "device_writes"), stored(new, "device_writes")
    assert [(at, len(content)) for at, content in before] == [(at, len(content)) for at, content in after]
    assert any(any(content) for _, content in before)
    assert not any(any(content) for _, content in after)


def test_a_cube_makes_the_same_work(cube: Cube, tmp_path: Path) -> None:
    """The texture of vkcube, in an image that it maps: primitives and fragments of all frames are equal."""
    made = tmp_path / "made.dtap"
    said = redacted(cube.trace, made)
    assert (said["frames"], said["mixed"], said["kept"]) == (60, 1, {})
    with open_trace(cube.trace) as old, open_trace(made) as new:
        [texture] = [content for _, content in stored(old) if len(content) == 256 * 256 * 4]
        [mixed] = [content for _, content in stored(new) if len(content) == len(texture)]
        assert (tiles(texture, 256) == tiles(mixed, 256)).all()
        lines = {texture[i : i + 1024] for i in range(0, len(texture), 1024)}
        told = [line for line in lines if len(set(np.frombuffer(line, "<u4"))) > 8]
        assert told
        contents = list(everything(new))
        assert not [line for line in told if any(line in content for content in contents)]


def test_stored_bytes_keep_their_number(uploads: Path, tmp_path: Path) -> None:
    for table, row, content, why in (
        ("memory_writes", 2, bytes(2047), "has 2048 bytes, not 2047"),
        ("memory_writes", 5, b"", "no row 5 of memory_writes: it has 5"),
        ("map_writes", 0, b"", "no table of stored bytes is called map_writes"),
    ):
        with edit(uploads) as editor:
            editor.store(table, row, content)
            with pytest.raises(DrawtapError, match=why):
                editor.save(tmp_path / "made.dtap")


@pytest.mark.parametrize(
    ("form", "block", "alpha"),
    [
        ("VK_FORMAT_R8G8B8A8_UNORM", 4, 0xFF000000),
        ("VK_FORMAT_B8G8R8A8_SRGB", 4, 0xFF000000),
        ("VK_FORMAT_A8B8G8R8_UNORM_PACK32", 4, 0xFF000000),
        ("VK_FORMAT_A2B10G10R10_UNORM_PACK32", 4, 0xC0000000),
        ("VK_FORMAT_R5G5B5A1_UNORM_PACK16", 2, 1),
        ("VK_FORMAT_A1R5G5B5_UNORM_PACK16", 2, 0x8000),
        ("VK_FORMAT_R4G4B4A4_UNORM_PACK16", 2, 0xF),
        ("VK_FORMAT_R5G6B5_UNORM_PACK16", 2, 0),
        ("VK_FORMAT_R16G16B16A16_SFLOAT", 8, 0xFFFF << 48),
        ("VK_FORMAT_R8_UNORM", 1, 0),
    ],
)
def test_bits_of_alpha(form: str, block: int, alpha: int) -> None:
    """As the specification lays formats out: packed ones from the highest bit, the others by bytes."""
    assert int.from_bytes(alpha_of(form, block).tobytes(), "little") == alpha
