"""virtio_gpu in the guest: commands to the host's GPU."""

from drawtap.system.driver import Draft, driver

# enum virtio_gpu_ctrl_type, for kernels whose `name` is the address of the queue's name
_TYPES = {
    0x0100: "GET_DISPLAY_INFO",
    0x0101: "RESOURCE_CREATE_2D",
    0x0102: "RESOURCE_UNREF",
    0x0103: "SET_SCANOUT",
    0x0104: "RESOURCE_FLUSH",
    0x0105: "TRANSFER_TO_HOST_2D",
    0x0106: "RESOURCE_ATTACH_BACKING",
    0x0107: "RESOURCE_DETACH_BACKING",
    0x0108: "GET_CAPSET_INFO",
    0x0109: "GET_CAPSET",
    0x010A: "GET_EDID",
    0x010B: "RESOURCE_ASSIGN_UUID",
    0x010C: "RESOURCE_CREATE_BLOB",
    0x010D: "SET_SCANOUT_BLOB",
    0x0200: "CTX_CREATE",
    0x0201: "CTX_DESTROY",
    0x0202: "CTX_ATTACH_RESOURCE",
    0x0203: "CTX_DETACH_RESOURCE",
    0x0204: "RESOURCE_CREATE_3D",
    0x0205: "TRANSFER_TO_HOST_3D",
    0x0206: "TRANSFER_FROM_HOST_3D",
    0x0207: "SUBMIT_3D",
    0x0208: "RESOURCE_MAP_BLOB",
    0x0209: "RESOURCE_UNMAP_BLOB",
    0x0300: "UPDATE_CURSOR",
    0x0301: "MOVE_CURSOR",
}


@driver("virtio_gpu", order=30)
def virtio_gpu(draft: Draft) -> None:
    """Commands of a guest: virtio_gpu_cmd_queue (queued) and virtio_gpu_cmd_response (done).

    The engine is the virtqueue (control, cursor), the context the guest's. When the host worked on a command is not
    told. Since Linux 6.8 commands have a number (`seqno`) that joins the two; before, a fenced command is joined by its
    fence, and others in the order of their queue and type, as the host answers a queue in order.
    """
    if not draft.load(
        "virtio",
        ("virtio_gpu_cmd_queue", "virtio_gpu_cmd_response"),
        keys=("fence_id", "seqno"),
        ints=("dev=dev|vdev", "vq", "type", "flags", "ctx_id"),
        texts=("name",),
    ):
        return
    labels = " ".join(f"WHEN {number} THEN '{name}'" for number, name in _TYPES.items())
    numbered = draft.has_field("virtio_gpu_cmd_queue", "seqno")
    # Answers have the type of the answer, not of the command: only the queue, the context and the fence join.
    if numbered:
        keys = "dev::UBIGINT * 256 + vq AS k1, seqno AS k2, 0 AS k3"
    else:
        keys = (
            "dev::UBIGINT * 256 + vq AS k1, CASE WHEN (flags & 1) = 1 THEN fence_id ELSE "
            "row_number() OVER (PARTITION BY dev, vq, event, flags & 1, ctx_id ORDER BY t) END::UBIGINT AS k2, "
            "((flags & 1) * 4294967296 + coalesce(ctx_id, 0))::UBIGINT AS k3"
        )
    draft.steps(
        f"""
        SELECT {keys}, t, CASE event WHEN 'virtio_gpu_cmd_queue' THEN 'queued' ELSE 'done' END AS phase,
               'virtio' || dev AS device,
               CASE WHEN name SIMILAR TO '[a-z]+' THEN name ELSE CASE vq WHEN 0 THEN 'control' WHEN 1 THEN 'cursor'
                    ELSE 'vq' || vq END END AS engine,
               CASE WHEN event = 'virtio_gpu_cmd_queue' THEN ctx_id::UBIGINT END AS context,
               CASE WHEN (flags & 1) = 1 THEN fence_id END AS seqno,
               CASE WHEN event = 'virtio_gpu_cmd_queue' THEN CASE type {labels} ELSE 'type ' || type END END AS label,
               CASE WHEN event = 'virtio_gpu_cmd_queue' THEN tid END AS tid,
               CASE WHEN event = 'virtio_gpu_cmd_queue' THEN pid END AS pid,
               CASE WHEN event = 'virtio_gpu_cmd_queue' THEN comm END AS comm
        FROM ev_virtio
        """
    )
    draft.lacks("virtio_gpu", "a guest is not told when the host worked on a command: no execution, no utilisation")
