"""Who keeps whom waiting: rules over recordings and over simulations whose culprit is known."""

import json

import pytest

from drawtap.system.rule import RULES


def found(drawtap, *arguments):
    result = drawtap("system", "diagnose", *arguments, "--json")
    assert result.code in (0, 1), result.err
    findings = json.loads(result.out)
    assert result.code == (1 if findings else 0)
    return {(f["rule"], f["culprit"], f["victim"]): f for f in findings}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    from drawtap.system import whatif

    folder = tmp_path_factory.mktemp("simulated")
    names = ("alone", "idle-neighbour", "hotspot")
    return {name: whatif.run(whatif.load_scenario(name), folder / name).folder for name in names}


def test_every_rule_says_why_and_what_to_do():
    for name, entry in RULES.items():
        assert entry.why, name
        assert entry.fix.endswith("."), name


def test_long_jobs_of_one_client(drawtap, drm_sched_trace):
    findings = found(drawtap, drm_sched_trace)
    one = findings["long-requests", "vgpu2-client (802)", "vgpu1-client (801)"]
    assert one["share"] == pytest.approx(0.76, abs=0.01)
    assert "39.7 ms" in one["what"]
    # The victim's own jobs are short, and cost the other nothing worth a word.
    assert not any(culprit.startswith("vgpu1") for _, culprit, _ in findings)


def test_machines_on_one_cpu(drawtap, kvm_traces):
    before, after = (found(drawtap, trace) for trace in kvm_traces)
    assert before["stolen-cpu", "VM-533", "VM-532"]["cost_ns"] == pytest.approx(1.52e9, abs=0.01e9)
    assert before["stolen-cpu", "VM-532", "VM-533"]["share"] > 0.3
    assert ("stolen-cpu", "VM-533", "VM-532") not in after


def test_a_lost_share_of_an_idle_neighbour(drawtap, simulated):
    assert found(drawtap, simulated["alone"]) == {}
    findings = found(drawtap, simulated["idle-neighbour"])
    assert list(findings) == [("exhausted-slice", "time slice of vGPU 1", "vGPU 1")]
    (one,) = findings.values()
    assert one["cost_ns"] == pytest.approx(48e9 - 27e9, rel=0.03)  # what the neighbour costs in all


def test_hotspot_is_named(drawtap, simulated):
    findings = found(drawtap, simulated["hotspot"], "--to", "24")
    assert findings["long-requests", "vGPU 2", "vGPU 1"]["share"] == pytest.approx(0.8, abs=0.02)
    assert findings["slice-debt", "vGPU 2", "vGPU 1"]["count"] > 15
    # When Hotspot is done, only the idle share is lost.
    late = found(drawtap, simulated["hotspot"], "--from", "30")
    assert {rule for rule, _, _ in late} == {"exhausted-slice"}


def test_text_for_people(drawtap, kvm_traces):
    result = drawtap("system", "diagnose", kvm_traces[0])
    assert result.code == 1
    assert "VM-533 costs VM-532 1.52 s" in result.out
    assert "drawtap system place" in result.out


def test_what_cannot_be_judged_is_not_called_good(drawtap, tmp_path):
    path = tmp_path / "trace.txt"
    events = (("1.000000", "init"), ("1.000009", "signaled"))
    lines = [f"  a-1  [000] ..... {t}: dma_fence_{e}: driver=x timeline=y context=1 seqno=1" for t, e in events]
    path.write_text("\n".join(["# tracer: nop", "#", *lines, ""]))
    result = drawtap("system", "diagnose", path)
    assert result.code == 0, result.err
    assert "cannot be judged" in result.out


def test_an_idle_engine_with_work(tmp_path):
    from drawtap.system.model import build
    from drawtap.system.rule import findings
    from kernel_events import MemoryTrace

    job = {"entity": 1, "fence": 16, "name": "gfx", "id": 1}
    rows = [
        (0, "drm_sched_job", 0, 5, "a", job),
        (90, "drm_run_job", 0, 6, "k", job),
        (100, "drm_sched_process_job", 0, 0, "irq", {"fence": 16}),
    ]
    (one,) = findings(build(MemoryTrace(rows)))
    assert (one.rule, one.victim, one.cost_ns, one.share) == ("idle-engine", "gpu/gfx", 90, 0.9)
