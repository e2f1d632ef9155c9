"""Models of large traces are kept for the next question, and made anew where anything changed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import duckdb
import pytest

from drawtap.system import kept, model, reader
from drawtap.system.metrics import metrics
from drawtap.trace import memory
from shared import run_drawtap

_FEW_BYTES = 2_000_000  # in which no model of a trace fits


@pytest.fixture(autouse=True)
def _keep_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_LEAST_BYTES", 0)


def _asked(path: Path, folder: Path, *, keep: bool = True) -> tuple[object, int]:
    with reader.open(path) as trace, kept.model_of(trace, keep=keep, folder=folder) as model:
        return metrics(model), model.scalar("SELECT count(*) FROM state")  # type: ignore[return-value]


def _files(folder: Path) -> list[str]:
    return sorted(f.name for f in folder.iterdir()) if folder.is_dir() else []


def test_a_kept_model_says_what_the_new_one_said(
    kvm_traces: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _asked(kvm_traces[0], tmp_path / "c")
    (name,) = _files(tmp_path / "c")
    monkeypatch.setattr(kept, "assembled", None)  # whoever makes a model again fails
    assert _asked(kvm_traces[0], tmp_path / "c") == first
    assert _files(tmp_path / "c") == [name]


def test_a_large_trace_takes_the_memory_that_it_needs(
    kvm_traces: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _asked(kvm_traces[0], tmp_path / "c", keep=False)
    monkeypatch.setattr(model, "_LARGE_BYTES", 0)
    monkeypatch.setattr(model, "_MEMORY_BYTES", _FEW_BYTES)
    monkeypatch.setattr(model, "size", lambda _: 1)
    makers: list[bool] = []
    monkeypatch.setattr(kept, "build", lambda _: makers.append(True))
    assert _asked(kvm_traces[0], tmp_path / "c") == first
    assert not makers  # the model that is kept is the first one that was made


def test_a_machine_without_the_memory_for_a_trace_says_so(
    kvm_traces: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "_LARGE_BYTES", 0)
    monkeypatch.setattr(model, "_MEMORY_BYTES", _FEW_BYTES)
    monkeypatch.setattr(memory, "limit_of", lambda _: 2.0 * _FEW_BYTES)
    monkeypatch.setattr(memory, "_set", lambda c, _: c.execute(f"SET memory_limit = '{_FEW_BYTES} bytes'"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(model, "size", lambda _: 1)
    done = run_drawtap("report", kvm_traces[0], "-o", tmp_path / "page.html", "--force")
    assert done.returncode == 6
    assert "memory" in done.stderr
    assert "hint: " in done.stderr
    assert not (tmp_path / "page.html").exists()


def test_nothing_is_looked_for_or_kept_if_that_is_not_wanted(kvm_traces: tuple[Path, Path], tmp_path: Path) -> None:
    _asked(kvm_traces[0], tmp_path / "c", keep=False)
    assert _files(tmp_path / "c") == []


def test_a_trace_that_changed_is_read_again(kvm_traces: tuple[Path, Path], tmp_path: Path) -> None:
    here = tmp_path / "trace"
    shutil.copytree(kvm_traces[0], here)
    before = _asked(here, tmp_path / "c")
    shutil.rmtree(here)
    shutil.copytree(kvm_traces[1], here)
    after = _asked(here, tmp_path / "c")
    assert after != before
    assert len(_files(tmp_path / "c")) == 2


def test_same_size_and_same_time_do_not_hide_a_change(kvm_traces: tuple[Path, Path], tmp_path: Path) -> None:
    here = tmp_path / "trace"
    shutil.copytree(kvm_traces[0], here)
    _asked(here, tmp_path / "c")
    file = next(f for f in here.rglob("*") if f.is_file() and f.name != "metadata")
    about, data = file.stat(), file.read_bytes()
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    _asked(here, tmp_path / "c")
    assert len(_files(tmp_path / "c")) == 2


def test_another_version_makes_its_own(
    kvm_traces: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _asked(kvm_traces[0], tmp_path / "c")
    monkeypatch.setattr("drawtap.__version__", "99")
    _asked(kvm_traces[0], tmp_path / "c")
    assert len(_files(tmp_path / "c")) == 2


@pytest.mark.parametrize("content", [b"", b"no database", None])
def test_a_broken_file_is_made_anew(kvm_traces: tuple[Path, Path], tmp_path: Path, content: bytes | None) -> None:
    first = _asked(kvm_traces[0], tmp_path / "c")
    (name,) = _files(tmp_path / "c")
    file = tmp_path / "c" / name
    file.write_bytes(file.read_bytes()[:20_000] if content is None else content)
    assert _asked(kvm_traces[0], tmp_path / "c") == first
    assert _asked(kvm_traces[0], tmp_path / "c") == first


def test_where_nothing_can_be_written_nothing_is_kept(kvm_traces: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert _asked(kvm_traces[0], tmp_path / "file" / "c") == _asked(kvm_traces[0], tmp_path / "c")


@pytest.mark.parametrize("step", ["assembled", "_stored"])
def test_a_disk_that_is_full_while_it_is_made_keeps_nothing(
    kvm_traces: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise duckdb.IOException("No space left on device")

    first = _asked(kvm_traces[0], tmp_path / "c", keep=False)
    if step == "assembled":
        monkeypatch.setattr(kept, "assembled", full)
    else:
        monkeypatch.setattr(kept, "_stored", lambda model: False)
    assert _asked(kvm_traces[0], tmp_path / "c") == first
    assert _files(tmp_path / "c") == []


def test_what_was_not_asked_for_longest_goes_first(
    kvm_traces: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _asked(kvm_traces[0], tmp_path / "c")
    (old,) = _files(tmp_path / "c")
    os.utime(tmp_path / "c" / old, (1, 1))
    monkeypatch.setattr(kept, "_MOST_BYTES", 1)
    _asked(kvm_traces[1], tmp_path / "c")
    (new,) = _files(tmp_path / "c")
    assert new != old


def test_events_are_tables(kvm_traces: tuple[Path, Path], tmp_path: Path) -> None:
    with reader.open(kvm_traces[0]) as trace:
        counts = {name: about.count for name, about in trace.event_names().items()}
        for _ in range(2):
            with kept.model_of(trace, folder=tmp_path / "c") as model:
                assert model.scalar("SELECT count(*) FROM sched_switch") == counts["sched_switch"]
                joined = model.scalar(
                    "SELECT count(*) FROM sched_switch s JOIN threads t ON t.tid = s.next_tid WHERE t.is_vcpu"
                )
                assert isinstance(joined, int)
                assert joined > 0
                assert model.scalar(
                    'SELECT bool_and(t >= last) FROM (SELECT t, lag(t) OVER () AS last FROM "sched_switch")'
                )
