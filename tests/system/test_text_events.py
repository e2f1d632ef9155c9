# ruff: noqa: E501 - lines of the kernel
"""Events of GPU drivers as text, as the kernel prints them: the same lives as from their binary fields."""

import pytest

from drawtap.system import reader
from drawtap.system.model import build

# What the kernel's print formats of these events make.
I915 = """
       app-100   [000] ..... 10.000000: i915_request_queue: dev=0, engine=0:0, ctx=11, seqno=5, flags=0x0
       app-100   [000] ..... 10.000001: i915_request_add: dev=0, engine=0:0, ctx=11, seqno=5, tail=64
   kworker-7     [001] ..... 10.000004: i915_request_submit: dev=0, engine=0:0, ctx=11, seqno=5, tail=64
   kworker-7     [001] d.h1. 10.000006: i915_request_in: dev=0, engine=0:0, ctx=11, seqno=5, prio=-2, port=0
   kworker-7     [001] d.h1. 10.000010: i915_request_out: dev=0, engine=0:0, ctx=11, seqno=5, completed?=0
   kworker-7     [001] d.h1. 10.000020: i915_request_in: dev=0, engine=0:0, ctx=11, seqno=5, prio=-2, port=0
   kworker-7     [001] d.h1. 10.000026: i915_request_out: dev=0, engine=0:0, ctx=11, seqno=5, completed?=1
"""
I915_4_14 = """
       app-100   [000] ..... 10.000000: i915_gem_request_add: dev=0, ring=0, ctx=3, seqno=1, global=0
   kworker-7     [001] ..... 10.000006: i915_gem_request_in: dev=0, ring=0, ctx=3, seqno=1, global=70, port=0
   kworker-7     [001] ..... 10.000016: intel_engine_notify: dev=0, ring=0, seqno=70, waiters=1
   kworker-7     [001] ..... 10.000017: i915_gem_request_out: dev=0, ring=0, ctx=3, seqno=1, global=70
"""
_NEW = "ring=gfx_0.0.0, job count:0, hw job count:0, client_id:12"
DRM_SCHED_6_17 = f"""
       app-100   [000] ..... 10.000000: drm_sched_job_queue: dev=0000:03:00.0, fence=30:2, {_NEW}
       app-100   [000] ..... 10.000001: drm_sched_job_queue: dev=0000:03:00.0, fence=34:18446744073709551000, {_NEW}
       app-100   [000] ..... 10.000001: drm_sched_job_add_dep: fence=34:18446744073709551000 depends on fence=30:2
   kworker-7     [001] ..... 10.000002: drm_sched_job_run: dev=0000:03:00.0, fence=30:2, {_NEW}
   kworker-7     [001] ..... 10.000006: drm_sched_job_done: fence=30:2 signaled
   kworker-7     [001] ..... 10.000007: drm_sched_job_run: dev=0000:03:00.0, fence=34:18446744073709551000, {_NEW}
   kworker-7     [001] ..... 10.000017: drm_sched_job_done: fence=34:18446744073709551000 signaled
"""
MSM = """
       app-100   [000] ..... 10.000000: msm_gpu_submit: id=1 pid=44 ring=0 bos=1 cmds=1
       app-100   [000] ..... 10.000001: msm_gpu_submit_flush: id=1 pid=44 ring=0:9 ticks=1000000
   kworker-7     [001] ..... 10.002000: msm_gpu_submit_retired: id=1 pid=44 ring=0:9 elapsed=1000000 ns mhz=500 start=1000192 end=1019392
"""
VIRTIO = """
       app-100   [000] ..... 10.000000: virtio_gpu_cmd_queue: vdev=0 vq=0 name=control type=0x207 flags=0x1 fence_id=4 ctx_id=1 num_free=63 seqno=1
    <idle>-0     [001] ..... 10.000016: virtio_gpu_cmd_response: vdev=0 vq=0 name=control type=0x1100 flags=0x1 fence_id=4 ctx_id=1 num_free=63 seqno=1
"""
AMDGPU = """
       app-100   [000] ..... 10.000000: amdgpu_cs_ioctl: sched_job=12, timeline=gfx_0.0.0, context=234, seqno=2, ring_name=gfx_0.0.0, num_ibs=1
       gfx-7     [001] ..... 10.000006: amdgpu_sched_run_job: sched_job=12, timeline=gfx_0.0.0, context=234, seqno=2, ring_name=gfx_0.0.0, num_ibs=1
    <idle>-0     [001] ..... 10.000016: dma_fence_signaled: driver=drm_sched timeline=gfx_0.0.0 context=234 seqno=2
"""
XE = """
       app-100   [000] ..... 10.000000: xe_sched_job_exec: fence=00000000c0ffee00, seqno=1, lrc_seqno=1, guc_id=3, batch_addr=0x000000001000, guc_state=0x1, flags=0x1, error=0
   kworker-7     [001] ..... 10.000006: xe_sched_job_run: fence=00000000c0ffee00, seqno=1, lrc_seqno=1, guc_id=3, batch_addr=0x000000001000, guc_state=0x1, flags=0x1, error=0
    <idle>-0     [001] ..... 10.000016: xe_hw_fence_signal: ctx=0x0000000000000008, fence=00000000c0ffee00, seqno=1
"""


@pytest.mark.parametrize(
    ("text", "engine", "times"),
    [
        (I915, "rcs0", (6_000, 10_000, 26_000)),
        (I915_4_14, "rcs0", (6_000, 10_000, 16_000)),
        (DRM_SCHED_6_17, "gfx_0.0.0", (6_000, 10_000, 16_000)),
        (MSM, "ring0", (11_000, 1_000_000, 1_011_000)),
        (VIRTIO, "control", (None, None, 16_000)),
        (AMDGPU, "gfx_0.0.0", (6_000, 10_000, 16_000)),
        (XE, "queue 3", (6_000, 10_000, 16_000)),
    ],
    ids=["i915", "i915 4.14", "drm_sched 6.17", "msm", "virtio_gpu", "amdgpu", "xe"],
)
def test_lives_from_text(tmp_path, text, engine, times):
    path = tmp_path / "trace.txt"
    path.write_text(f"# tracer: nop\n#{text}")
    with reader.open(path) as trace, build(trace) as model:
        life = model.rows("SELECT * FROM requests ORDER BY id DESC")[0]
    assert life["engine"] == engine
    assert (life["wait_ns"], life["execution_ns"], life["latency_ns"]) == times
    assert life["tid"] == 100


def test_a_dependency_in_text(tmp_path):
    path = tmp_path / "trace.txt"
    path.write_text(f"# tracer: nop\n#{DRM_SCHED_6_17}")
    with reader.open(path) as trace, build(trace) as model:
        rows = model.query("SELECT context, seqno, ready_ns FROM requests ORDER BY id").fetchall()
    assert rows == [(30, 2, None), (34, 18446744073709551000, 10_000_006_000)]
