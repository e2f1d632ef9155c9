"""Batch systems and Kubernetes start workers as the pages say: jobs of a stand-in for SLURM, and a sound manifest."""

from __future__ import annotations

import importlib.util
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from drawtap.corpus import search
from drawtap.corpus.store import Store
from gl.test_corpus_replay import fakes, store, triangle  # noqa: F401 - fixtures
from shared import run_drawtap

pytestmark = [pytest.mark.gl, pytest.mark.slow]

yaml = pytest.importorskip("yaml", reason="PyYAML comes with dask: pip install 'drawtap[farm]'")

ROOT = Path(__file__).parents[2]
MANIFEST = ROOT / "examples" / "dask_cluster.yaml"
_SCHEMA = "operator/deployment/helm/dask-kubernetes-operator/crds/daskcluster.yaml"
#: A job is a process group; its number is the job's.
_SBATCH = """#!/bin/bash
job=$(mktemp -p "$JOBS") && cp "${@: -1}" "$job"
setsid bash "$job" >"$job.log" 2>&1 &
echo "Submitted batch job $!"
"""
_SCANCEL = """#!/bin/bash
for job in "$@"; do kill -- "-$job"; done
"""


def _needed(name: str) -> None:
    """Skip where a package is not installed, unless a job of continuous integration must not."""
    if importlib.util.find_spec(name) is None:
        assert os.environ.get("BATCH") != "needed", f"{name} is not installed"
        pytest.skip(f"pip install {name.replace('_', '-')}")


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put commands of SLURM onto PATH that run jobs here."""
    _needed("dask_jobqueue")
    import dask

    for name, text in (("sbatch", _SBATCH), ("scancel", _SCANCEL)):
        (tmp_path / "bin").mkdir(exist_ok=True)
        file = tmp_path / "bin" / name
        file.write_text(text)
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("JOBS", str(tmp_path))
    here = {"host": "127.0.0.1", "dashboard_address": ":0"}
    with dask.config.set({"jobqueue.slurm.scheduler-options": here}):
        yield


def test_jobs_of_a_batch_system_play(slurm: None, store: Store, fakes: Path, tmp_path: Path) -> None:  # noqa: F811
    page = (ROOT / "docs/howto/corpus.md").read_text()
    found = re.search(r"```python\n(from dask_jobqueue.*?)```", page, re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {}
    exec(found[1].replace("mesa-26.1", "sound").replace("jobs=8", "jobs=1"), names)
    cluster = names["cluster"]
    try:
        words = ("--corpus", store.where, "--engines", fakes, "--scheduler", cluster.scheduler_address, "--json")
        answer = run_drawtap("corpus", "replay", "--tag", "app=triangle", "--on", "sound", *words)
        log = "".join(file.read_text() for file in tmp_path.glob("tmp.*.log"))
        assert answer.returncode == 0, answer.stderr + log
    finally:
        cluster.close()
    assert "engine:sound" in "".join(file.read_text() for file in tmp_path.glob("tmp.*[!g]"))
    with search.Corpus(store) as tables:
        assert tables.query("SELECT name, outcome FROM runs").fetchall() == [("sound", "ok")]


def _strict(schema: Any) -> Any:
    """Return a schema that refuses what it does not name, as kubectl does."""
    if isinstance(schema, list):
        return [_strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _strict(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


def test_the_manifest_is_one_of_the_operator() -> None:
    _needed("dask_kubernetes")
    jsonschema = pytest.importorskip("jsonschema", reason="pip install jsonschema")

    spec = importlib.util.find_spec("dask_kubernetes")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    definition = yaml.safe_load((Path(spec.submodule_search_locations[0]) / _SCHEMA).read_text())["spec"]
    body = yaml.safe_load(MANIFEST.read_text())
    (version,) = (one for one in definition["versions"] if f"{definition['group']}/{one['name']}" == body["apiVersion"])
    assert body["kind"] == definition["names"]["kind"]
    schema = _strict(version["schema"]["openAPIV3Schema"])
    schema["properties"] |= {"apiVersion": {}, "kind": {}, "metadata": {}}
    jsonschema.validate(body, schema)
    body["spec"]["worker"]["spec"]["containers"][0]["argz"] = []
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, schema)


def test_the_commands_of_the_manifest_are_dasks() -> None:
    pytest.importorskip("distributed", reason="dask.distributed is an extra: pip install 'drawtap[farm]'")
    from distributed.cli import dask_scheduler, dask_worker

    spec = yaml.safe_load(MANIFEST.read_text())["spec"]
    for name, command in (("worker", dask_worker), ("scheduler", dask_scheduler)):
        (container,) = spec[name]["spec"]["containers"]
        program, *words = container["args"]
        assert program == f"dask-{name}"
        context = command.main.make_context(program, words)  # raises for an option that dask has not
        if name == "worker":
            assert context.params["resources"] == "engine:mesa-26.1=1"
