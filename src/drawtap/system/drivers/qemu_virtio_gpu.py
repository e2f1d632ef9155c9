"""virtio-gpu in the host: the trace events of QEMU."""

from drawtap.system.driver import Draft, driver

_COMMANDS = (
    "virtio_gpu_cmd_get_display_info",
    "virtio_gpu_cmd_get_edid",
    "virtio_gpu_cmd_set_scanout",
    "virtio_gpu_cmd_res_create_2d",
    "virtio_gpu_cmd_res_create_3d",
    "virtio_gpu_cmd_res_unref",
    "virtio_gpu_cmd_res_back_attach",
    "virtio_gpu_cmd_res_back_detach",
    "virtio_gpu_cmd_res_xfer_toh_2d",
    "virtio_gpu_cmd_res_xfer_toh_3d",
    "virtio_gpu_cmd_res_xfer_fromh_3d",
    "virtio_gpu_cmd_res_flush",
    "virtio_gpu_cmd_ctx_create",
    "virtio_gpu_cmd_ctx_destroy",
    "virtio_gpu_cmd_ctx_submit",
    "virtio_gpu_update_cursor",
)


@driver("qemu_virtio_gpu", order=30)
def qemu_virtio_gpu(draft: Draft) -> None:
    """QEMU's work for its guest's GPU: marks for commands, requests for fences.

    virtio_gpu_fence_ctrl (the command of a fence was taken: submitted) and virtio_gpu_fence_resp (done) make a request.
    Other commands are answered at once and are marks on `qemu/COMMAND`. Without virgl or Venus there are no fences.
    """
    if draft.load("qemu", _COMMANDS, ints=("res=res|resource_id", "ctx=ctx|ctx_id|context")):
        draft.spans(
            "SELECT 'qemu/' || regexp_replace(event, '^virtio_gpu_(cmd_)?', '') AS track, t AS begin_ns, t AS end_ns, "
            "coalesce('resource ' || res, 'context ' || ctx, '') AS name, 'mark' AS kind, tid, "
            "false AS is_open FROM ev_qemu"
        )
    if draft.load(
        "qfence", ("virtio_gpu_fence_ctrl", "virtio_gpu_fence_resp"), keys=("fence=fence|fence_id",), ints=("type",)
    ):
        draft.steps(
            "SELECT fence AS k1, t, CASE event WHEN 'virtio_gpu_fence_ctrl' THEN 'queued' ELSE 'done' END AS phase, "
            "'qemu' AS device, 'virtio-gpu' AS engine, fence AS seqno, fence AS guest_seqno, "
            "CASE WHEN event = 'virtio_gpu_fence_ctrl' THEN tid END AS tid FROM ev_qfence"
        )
    elif draft.count(*_COMMANDS):
        draft.lacks("virtio_gpu_fence_ctrl", "no fences: this guest only has commands that are answered at once")
