"""The tables of a recording. Those of single functions are not among them: the recording itself explains them."""

from __future__ import annotations

import typing
from typing import Annotated

from drawtap.tables import BLOB, BOOL, F32, F64, I32, I64, TEXT, TEXTS, U16, U32, U64, U64S, Declared, TypedDict

declared = Declared()


class _Recorded(TypedDict):
    """The columns that the records of the recorder begin with."""

    seq: Annotated[U64, "the call that it belongs to"]
    thread: Annotated[U16, "the thread, as in `threads`"]
    t: Annotated[I64 | None, "when it was recorded", "ns"]


@declared("calls", "calls")
class CallRow(TypedDict):
    """A call, with its arguments as JSON (`params`) and as text (`call`)."""

    seq: Annotated[U64, "number of the call, from 0, in the order of the recording"]
    frame: Annotated[U32, "the frame that it belongs to, from 0"]
    thread: Annotated[U16, "the thread, as in `threads`"]
    tid: Annotated[U32, "the kernel's id of the thread"]
    context: Annotated[U32, "the context that was current, as in `contexts`"]
    name: Annotated[TEXT, "the function"]
    t_start: Annotated[I64 | None, "when the call began", "ns"]
    duration: Annotated[I64 | None, "how long the driver took", "ns"]
    t_end: Annotated[I64 | None, "when the call ended", "ns"]
    category: Annotated[TEXT | None, "category of the function"]
    params: Annotated[TEXT | None, "the arguments as JSON"]
    result: Annotated[TEXT | None, "the return value"]
    api: Annotated[TEXT | None, "API of the function"]
    fn: Annotated[U16, "number of the function in the recording"]
    payload_bytes: Annotated[U64, "size of the content that was handed over", "bytes"]
    call: Annotated[TEXT | None, "the call as text"]
    origin: Annotated[U64 | None, "in an edited recording: the call of the original that it was"]


@declared("functions", "reader")
class FunctionRow(TypedDict):
    """A function that the trace explains: API, category, flags, number of calls, what provides it."""

    id: Annotated[U32, "number of the function in the recording"]
    api: Annotated[TEXT, "its API"]
    name: Annotated[TEXT, "its name"]
    category: Annotated[TEXT, "its category"]
    flags: Annotated[TEXT, "what the specification says of it: draw, upload, marker ..."]
    calls: Annotated[U64, "how often it was called"]
    provided_by: Annotated[TEXT, "the versions and extensions that have it"]


ParameterRow = typing.TypedDict(
    "ParameterRow",
    {
        "function": Annotated[TEXT, "name of the function"],
        "position": Annotated[U32, "place of the parameter, from 1; 0 for the result"],
        "name": Annotated[TEXT, "its name"],
        "type": Annotated[TEXT, "its type in C"],
        "kind": Annotated[TEXT, "how its value is stored"],
        "group": Annotated[TEXT | None, "its enum group; NULL where it has none"],
        "class": Annotated[TEXT | None, "the class of object that it names; NULL where it names none"],
        "element": Annotated[TEXT | None, "type of the elements of an array; NULL where it is none"],
        "direction": Annotated[TEXT | None, "of an array: in or out"],
    },
)
declared("params", "reader", "A parameter of a function: type, kind, enum group, direction.")(ParameterRow)


@declared("enums", "reader")
class EnumRow(TypedDict):
    """A member of an enum group."""

    group: Annotated[TEXT, "the group"]
    name: Annotated[TEXT, "the enumerant"]
    value: Annotated[I64, "its number"]
    bitmask: Annotated[BOOL, "whether members of the group are bits to combine"]


@declared("frames", "reader")
class FrameRow(TypedDict):
    """A frame: first and end call, times, draws, uploaded bytes, the call that ended it."""

    frame: Annotated[U32, "number of the frame, from 0"]
    first_seq: Annotated[U64, "its first call"]
    end_seq: Annotated[U64, "the call behind its last one"]
    calls: Annotated[U64, "number of its calls"]
    t_start: Annotated[I64 | None, "when its first call began", "ns"]
    t_end: Annotated[I64 | None, "when its last call ended", "ns"]
    duration: Annotated[I64 | None, "from `t_start` to `t_end`", "ns"]
    interval: Annotated[I64 | None, "from the end of the frame before to its own end", "ns"]
    draws: Annotated[
        U64,
        "number of its draws; those in a display list count where the list is made (in `draws` and `content`: where it "
        "is called)",
    ]
    upload_bytes: Annotated[U64, "content that its calls handed over", "bytes"]
    end_function: Annotated[TEXT | None, "the function that ended it"]


@declared("threads", "reader")
class ThreadRow(TypedDict):
    """A thread: process and kernel ids, name, number of calls."""

    thread: Annotated[U16, "number of the thread in the recording"]
    pid: Annotated[U32, "the kernel's id of the process"]
    tid: Annotated[U32, "the kernel's id of the thread"]
    name: Annotated[TEXT, "its name"]
    calls: Annotated[U64, "number of its calls"]
    chunks: Annotated[U64, "number of its chunks in the file"]
    t_first: Annotated[I64 | None, "when its first record was made", "ns"]
    t_last: Annotated[I64 | None, "when its last record was made", "ns"]


@declared("contexts", "reader")
class ContextRow(TypedDict):
    """A context: share group, API, native handle, first call."""

    context: Annotated[U32, "number of the context in the recording"]
    share_group: Annotated[U32 | None, "the group of contexts that it shares objects with"]
    api: Annotated[TEXT | None, "gl, gles or vg"]
    handle: Annotated[U64 | None, "the handle that the program has"]
    first_seq: Annotated[U64, "the first call in it"]
    first_thread: Annotated[U16, "the thread of that call"]
    made_current: Annotated[U32, "how often it was made current"]


@declared("blobs", "reader")
class BlobRow(TypedDict):
    """Content that stands in the file once, by hash."""

    hash: Annotated[TEXT, "hash of the content"]
    bytes: Annotated[U64, "size of the content", "bytes"]
    stored_bytes: Annotated[U64, "what it takes in the file", "bytes"]
    parts: Annotated[U32, "number of parts that it is stored in"]


@declared("markers", "reader")
class MarkerRow(TypedDict):
    """A debug group or label, with the calls it encloses."""

    seq: Annotated[U64, "the call that set or opened it"]
    end_seq: Annotated[U64, "the call behind the last one that it encloses"]
    kind: Annotated[TEXT, "group, label or insert"]
    text: Annotated[TEXT, "its text"]
    depth: Annotated[U32, "number of open groups around it"]
    thread: Annotated[U16, "the thread, as in `threads`"]
    function: Annotated[TEXT, "the function that was called"]


@declared("memory", "reader")
class MemoryRow(_Recorded):
    """Application memory that a call read (client arrays)."""

    address: Annotated[U64, "where it was in the program"]
    address_bytes: Annotated[U64 | None, "its size", "bytes"]
    address_blob: Annotated[TEXT | None, "hash of long content"]
    address_data: Annotated[BLOB | None, "the content"]


@declared("map_writes", "reader")
class MapWriteRow(_Recorded):
    """Bytes that the program stored in a mapped buffer."""

    offset: Annotated[U64, "where in the buffer", "bytes"]
    data_bytes: Annotated[U64 | None, "their number", "bytes"]
    data_blob: Annotated[TEXT | None, "hash of long content"]
    data_data: Annotated[BLOB | None, "the content"]
    target: Annotated[TEXT, "the target that the buffer was bound to"]
    buffer: Annotated[U64, "the buffer"]


@declared("objects", "reader", of="Vulkan", instead="resources")
class ObjectRow(TypedDict):
    """An object of Vulkan, one row a life: type, handle, parent, name, calls that made and ended it, create info."""

    type: Annotated[TEXT, "its type: VkImage ..."]
    handle: Annotated[U64, "the handle that the program has"]
    parent: Annotated[U64, "the object that it was made from: device, pool, swapchain; 0 for none"]
    name: Annotated[TEXT | None, "the last name that the program gave it (debug utils, debug marker)"]
    created_seq: Annotated[U64, "the call that made it, or gave it out first"]
    created_by: Annotated[TEXT, "the function of that call"]
    frame: Annotated[U64, "the frame of that call"]
    create_ns: Annotated[I64 | None, "how long that call took, for all that it made", "ns"]
    destroyed_seq: Annotated[U64 | None, "the call that ended it; NULL where none did"]
    destroyed_by: Annotated[TEXT | None, "the function of that call: its parent's, where it ended with that"]
    memory: Annotated[U64 | None, "of a buffer or image: the memory that it was bound to"]
    memory_offset: Annotated[U64 | None, "where in the memory", "bytes"]
    bytes: Annotated[U64 | None, "the memory that it requires, where the program asked", "bytes"]
    info: Annotated[TEXT | None, "its create info as JSON; `null` ends lists of more than 256 elements"]


@declared("structures", "reader", of="Vulkan")
class StructureRow(TypedDict):
    """A type of structure that the recording explains; a table of its name has the structures of calls."""

    name: Annotated[TEXT, "the type: also the name of the table"]
    stype: Annotated[TEXT | None, "its sType"]
    bytes: Annotated[U32, "its size", "bytes"]
    members: Annotated[U32, "number of its members"]


@declared("chains", "reader", of="Vulkan")
class ChainRow(TypedDict):
    """A structure in a pNext chain."""

    seq: Annotated[U64, "the call"]
    frame: Annotated[U64, "its frame"]
    function: Annotated[TEXT, "the function that was called"]
    path: Annotated[TEXT, "where it stands: the parameter, then members, as `pCreateInfo.pNext[0]`"]
    base: Annotated[TEXT, "type of the structure that has the chain"]
    position: Annotated[U32, "number in the chain, from 0"]
    type: Annotated[TEXT, "its type"]
    members: Annotated[TEXT, "its members as JSON; `null` ends lists of more than 256 elements"]


@declared("submits", "reader", of="Vulkan")
class SubmitRow(TypedDict):
    """A batch that a queue of Vulkan was given: command buffers, semaphores, fence, what runs in it."""

    seq: Annotated[U64, "the call"]
    frame: Annotated[U64, "its frame"]
    thread: Annotated[U16, "the thread, as in `threads`"]
    function: Annotated[TEXT, "the function that was called"]
    queue: Annotated[U64, "the queue"]
    batch: Annotated[U32, "number of the batch in the call, from 0"]
    command_buffers: Annotated[U64S, "the command buffers, in order"]
    waits: Annotated[U64S, "semaphores that it waits for"]
    signals: Annotated[U64S, "semaphores that it signals"]
    fence: Annotated[U64, "the fence of the call; 0 for none"]
    commands: Annotated[U64, "commands that run, those of secondary command buffers included"]
    draws: Annotated[U64, "draws among them"]
    dispatches: Annotated[U64, "dispatches among them"]
    unrecorded: Annotated[U32, "command buffers whose commands are not in the recording"]
    failed: Annotated[BOOL, "whether the call failed: nothing of it runs"]
    t_start: Annotated[I64 | None, "when the call began", "ns"]
    duration: Annotated[I64 | None, "how long the call took", "ns"]


@declared("executed", "reader", of="Vulkan", instead="draws")
class ExecutedRow(TypedDict):
    """A command of Vulkan that ran, in the order of submission: again for every submit, secondary buffers unfolded."""

    number: Annotated[U64, "its place in the order of execution, from 0"]
    seq: Annotated[U64, "the call that recorded it"]
    submit_seq: Annotated[U64, "the call that submitted it"]
    batch: Annotated[U32, "the batch, as in `submits`"]
    frame: Annotated[U64, "the frame that it was submitted in"]
    queue: Annotated[U64, "the queue"]
    primary_buffer: Annotated[U64, "the command buffer that was submitted"]
    command_buffer: Annotated[U64, "the command buffer that holds it"]
    depth: Annotated[U32, "0 in a primary command buffer, 1 in a secondary one ..."]
    name: Annotated[TEXT, "the function"]
    kind: Annotated[TEXT, "draw, dispatch, clear, upload, marker or command"]
    pass_number: Annotated[U64 | None, "number of the render pass that it runs in, from 1; NULL outside"]
    pipeline: Annotated[U64 | None, "of a draw or dispatch: its pipeline, where the command buffer bound one"]
    vertices: Annotated[U64 | None, "of a draw: vertices, or indices; NULL where a buffer has the counts"]
    instances: Annotated[U64 | None, "of a draw: instances; NULL where a buffer has the counts"]
    groups: Annotated[U64 | None, "of a dispatch: workgroups; NULL where a buffer has the counts"]


@declared("allocations", "reader", of="Vulkan", instead="resources")
class AllocationRow(TypedDict):
    """Memory of a device that the program allocated with Vulkan: size, type, bindings, maps, stores."""

    memory: Annotated[U64, "the device memory"]
    name: Annotated[TEXT | None, "the last name that the program gave it"]
    device: Annotated[U64, "the device"]
    seq: Annotated[U64, "the call that allocated it"]
    frame: Annotated[U64, "the frame of that call"]
    freed_seq: Annotated[U64 | None, "the call that freed it; NULL where none did"]
    bytes: Annotated[U64, "its size", "bytes"]
    type_index: Annotated[U32, "number of its memory type"]
    heap: Annotated[U32 | None, "number of the heap, where the program asked for memory properties"]
    properties: Annotated[TEXT | None, "properties of the type, where the program asked for them"]
    dedicated: Annotated[BOOL, "whether it is for one buffer or image alone"]
    imported: Annotated[BOOL, "whether it was imported from outside"]
    resources: Annotated[U64, "buffers and images that were bound to it"]
    resource_bytes: Annotated[U64, "what these require, where the program asked", "bytes"]
    maps: Annotated[U64, "how often it was mapped"]
    written_bytes: Annotated[U64, "what the program stored in it through mappings", "bytes"]


@declared("barriers", "reader", of="Vulkan", instead="pass_links")
class BarrierRow(TypedDict):
    """A barrier of Vulkan that was recorded: stages, accesses, layouts, how often it ran."""

    seq: Annotated[U64, "the call"]
    frame: Annotated[U64, "its frame"]
    function: Annotated[TEXT, "the function that was called"]
    command_buffer: Annotated[U64, "the command buffer that holds it"]
    kind: Annotated[TEXT, "memory, buffer, image; execution where the call has none of these"]
    index: Annotated[U32, "number within the call and kind, from 0"]
    object: Annotated[U64 | None, "the buffer or image"]
    src_stages: Annotated[TEXT, "the stages that it waits for"]
    dst_stages: Annotated[TEXT, "the stages that wait"]
    src_access: Annotated[TEXT | None, "the accesses that are made available"]
    dst_access: Annotated[TEXT | None, "the accesses that they are made visible to"]
    old_layout: Annotated[TEXT | None, "of an image: its layout before"]
    new_layout: Annotated[TEXT | None, "of an image: its layout behind"]
    src_queue_family: Annotated[U32 | None, "the queue family that gives it up"]
    dst_queue_family: Annotated[U32 | None, "the queue family that takes it over"]
    executed: Annotated[U64, "how often it ran"]


@declared("pipelines", "reader", of="Vulkan", instead="draws")
class PipelineRow(TypedDict):
    """A pipeline of Vulkan: stages, shaders, layout, cache, dynamic state, cost of its creation, draws that used it."""

    pipeline: Annotated[U64, "the pipeline"]
    name: Annotated[TEXT | None, "the last name that the program gave it"]
    kind: Annotated[TEXT, "graphics, compute, ray tracing or another"]
    seq: Annotated[U64, "the call that made it"]
    frame: Annotated[U64, "the frame of that call"]
    destroyed_seq: Annotated[U64 | None, "the call that ended it; NULL where none did"]
    duration: Annotated[I64 | None, "how long the call took, for all that it made", "ns"]
    made_with: Annotated[U64, "number of pipelines that the call made"]
    cache: Annotated[U64, "the pipeline cache; 0 for none"]
    layout: Annotated[U64, "the pipeline layout"]
    render_pass: Annotated[U64, "the render pass; 0 for none"]
    stages: Annotated[TEXTS, "its stages"]
    shaders: Annotated[U64S, "their shader modules"]
    dynamic_states: Annotated[TEXTS, "what commands set in place of the pipeline"]
    topology: Annotated[TEXT | None, "kind of primitives"]
    uses: Annotated[U64, "draws and dispatches that ran with it"]
    vertices: Annotated[U64, "vertices or indices of these draws, times instances"]
    info: Annotated[TEXT | None, "its create info as JSON; `null` ends lists of more than 256 elements"]


@declared("shaders", "reader", of="Vulkan")
class ShaderRow(TypedDict):
    """A shader module or shader object of Vulkan: code, entry points, workgroup, pipelines that were made of it."""

    shader: Annotated[U64, "the shader module or shader object"]
    name: Annotated[TEXT | None, "the last name that the program gave it"]
    seq: Annotated[U64, "the call that made it"]
    frame: Annotated[U64, "the frame of that call"]
    destroyed_seq: Annotated[U64 | None, "the call that ended it; NULL where none did"]
    duration: Annotated[I64 | None, "how long the call took", "ns"]
    bytes: Annotated[U64, "size of its code", "bytes"]
    hash: Annotated[TEXT | None, "hash of its code: equal code has one hash"]
    entry_points: Annotated[TEXTS, "stage and name of each entry point in the code"]
    workgroup: Annotated[U64S, "of a compute shader: invocations of a workgroup along x, y, z"]
    pipelines: Annotated[U64, "pipelines that were made of it"]
    code: Annotated[BLOB | None, "the code, as it was handed over: SPIR-V"]


class _Stored(_Recorded):
    memory: Annotated[U64, "the device memory"]
    offset: Annotated[U64, "where in it", "bytes"]
    data_bytes: Annotated[U64 | None, "their number", "bytes"]
    data_blob: Annotated[TEXT | None, "hash of long content"]
    data_data: Annotated[BLOB | None, "the content"]


@declared("memory_writes", "reader", of="Vulkan", instead="map_writes")
class MemoryWriteRow(_Stored):
    """Bytes that the program stored in mapped memory of Vulkan."""


@declared("device_writes", "reader", of="Vulkan")
class DeviceWriteRow(_Stored):
    """Bytes of mapped memory that changed while submitted work may have run: the device's stores, or the program's."""


@declared("natives", "reader")
class NativeRow(_Recorded):
    """Portable attributes of a display, config, surface, window, driver; hash of a `frame`; a read `front` buffer."""

    handle: Annotated[U64, "the handle that the program has"]
    kind: Annotated[TEXT, "what is described: display, config, surface ..."]
    text: Annotated[TEXT | None, "its attributes"]


@declared("notes", "reader")
class NoteRow(_Recorded):
    """A remark of the recorder."""

    code: Annotated[TEXT, "kind of the remark"]
    text: Annotated[TEXT | None, "the remark"]


@declared("libraries", "reader")
class LibraryRow(_Recorded):
    """A library in which functions were found."""

    path: Annotated[TEXT | None, "its file"]
    base: Annotated[U64, "address that it was loaded at"]


MetricRow = typing.TypedDict(
    "MetricRow",
    {
        "seq": Annotated[U64 | None, "the call; of a frame or range its first one"],
        "thread": Annotated[U16 | None, "of a mark: the thread"],
        "t": Annotated[I64 | None, "of a mark: when", "ns"],
        "name": Annotated[TEXT | None, "id of the metric, or what the hook called it"],
        "value": Annotated[F64 | None, "the median over the repetitions; NULL where `note` says why"],
        "per": Annotated[TEXT | None, "call, draw, frame, pass (of Vulkan), range, or mark"],
        "number": Annotated[
            U64 | None, "of the frame or range; of Vulkan's draws and passes: `number` and `pass_number` of `executed`"
        ],
        "end_seq": Annotated[U64 | None, "the call behind the last one"],
        "frame": Annotated[U64 | None, "the frame that it began in; of Vulkan's draws and passes, the submit's"],
        "range": Annotated[TEXT | None, "name of the range"],
        "unit": Annotated[TEXT | None, "ns, bytes, count, percent or the driver's"],
        "spread": Annotated[F64 | None, "largest less smallest value of the repetitions"],
        "samples": Annotated[I32 | None, "repetitions with a value"],
        "note": Annotated[TEXT | None, "why there is no value, or what to know of it"],
        "draws": Annotated[I64 | None, "how many draws it is of"],
        "unknown_draws": Annotated[I64 | None, "of how many of them it is not known, where there is no value"],
        "at_least": Annotated[F64 | None, "the sum of what is known, where there is no value: a lower bound"],
        "pass": Annotated[I32 | None, "the pass that measured it"],
        "replay_start": Annotated[I64 | None, "when it began in the (first) replay", "ns"],
        "replay_ns": Annotated[I64 | None, "how long it took in the (first) replay, with what measuring cost", "ns"],
        "engine": Annotated[TEXT | None, "what played"],
        "run": Annotated[I32 | None, "number of the run of drawtap profile"],
    },
)
declared(
    "metrics",
    "reader",
    "Values that `drawtap profile` measured for a call, draw, frame or range; `per` = `mark`: a number that a hook of a"
    " user's module gave out.",
)(MetricRow)


@declared("marks", "reader")
class MarkRow(_Recorded):
    """A remark that a hook of a user's module gave out."""

    text: Annotated[TEXT | None, "the remark"]


@declared("problems", "reader")
class ProblemRow(TypedDict):
    """Something that is missing or damaged in this file."""

    kind: Annotated[TEXT, "kind of the problem"]
    offset: Annotated[U64, "where in the file", "bytes"]
    bytes: Annotated[U64, "how much of the file it concerns", "bytes"]
    text: Annotated[TEXT, "what is missing or damaged"]


@declared("annotations", "reader")
class AnnotationRow(TypedDict):
    """Remarks of the recorder on machine, program and end, as JSON."""

    offset: Annotated[U64, "where in the file", "bytes"]
    kind: Annotated[TEXT, "what it is about"]
    json: Annotated[TEXT, "the text, in JSON"]


@declared("chunks", "reader")
class ChunkRow(TypedDict):
    """A chunk of the file."""

    offset: Annotated[U64, "where in the file", "bytes"]
    type: Annotated[TEXT, "signatures, calls, blobs, annotation or footer; the rest is known of calls alone"]
    bytes: Annotated[U64, "its size with its header", "bytes"]
    thread: Annotated[U16 | None, "the thread, as in `threads`"]
    serial: Annotated[U64 | None, "number among the chunks of its thread"]
    first_call: Annotated[U64 | None, "number of its first call"]
    records: Annotated[U32 | None, "number of its records"]
    calls: Annotated[U32 | None, "number of records that are calls"]
    t_first: Annotated[I64 | None, "time of its first record", "ns"]
    t_last: Annotated[I64 | None, "time of its last record", "ns"]
    interleaves: Annotated[BOOL | None, "whether calls of other chunks lie between its own"]


@declared("histogram", "reader")
class HistogramRow(TypedDict):
    """A function that was called: number, times, bytes; from the index, without decoding calls."""

    name: Annotated[TEXT, "the function"]
    api: Annotated[TEXT, "its API"]
    category: Annotated[TEXT, "its category"]
    calls: Annotated[U64, "number of its calls"]
    share: Annotated[F64, "part of all calls, from 0 to 1"]
    total_ns: Annotated[I64 | None, "how long its calls took together", "ns"]
    mean_ns: Annotated[F64 | None, "how long one took on average", "ns"]
    max_ns: Annotated[I64 | None, "how long the longest one took", "ns"]
    payload_bytes: Annotated[U64, "content that its calls handed over", "bytes"]


@declared("content", "reader")
class ContentRow(TypedDict):
    """The draws, uploads and changes of a frame, counted from its calls (drawtap stats)."""

    frame: Annotated[U32, "number of the frame, from 0"]
    calls: Annotated[U64, "calls"]
    draws: Annotated[U64, "draws; those in display lists count where the list is called"]
    indirect_draws: Annotated[U64, "draws whose counts lie in a buffer"]
    vertices: Annotated[U64, "vertices that draws name"]
    primitives: Annotated[U64, "primitives that draws make of them"]
    triangles: Annotated[U64, "triangles among them"]
    dispatches: Annotated[U64, "compute dispatches"]
    clears: Annotated[U64, "clears"]
    state_calls: Annotated[U64, "calls that set state"]
    same_binds: Annotated[U64, "binds of what was bound"]
    binds: Annotated[U64, "binds"]
    uniforms: Annotated[U64, "calls that set uniforms"]
    matrix_operations: Annotated[U64, "matrix operations"]
    texture_uploads: Annotated[U64, "calls that upload texels"]
    texels: Annotated[U64, "texels that they upload"]
    texture_bytes: Annotated[U64, "texture data", "bytes"]
    buffer_uploads: Annotated[U64, "calls that upload to buffers"]
    buffer_bytes: Annotated[U64, "buffer data", "bytes"]
    client_bytes: Annotated[U64, "arrays in client memory", "bytes"]
    mapped_bytes: Annotated[U64, "stored in mapped buffers", "bytes"]
    path_segments: Annotated[U64, "segments of paths"]
    readbacks: Annotated[U64, "calls that read back"]
    readback_bytes: Annotated[U64, "what they read back", "bytes"]
    queries: Annotated[U64, "queries of state"]
    waits: Annotated[U64, "waits for the GPU"]
    flushes: Annotated[U64, "flushes"]
    compiles: Annotated[U64, "compiles of shaders"]
    links: Annotated[U64, "links of programs"]
    created_objects: Annotated[U64, "objects that were made"]
    deleted_objects: Annotated[U64, "objects that were deleted"]
    list_calls: Annotated[U64, "calls of display lists"]
    framebuffer_binds: Annotated[U64, "binds of framebuffers"]
    context_switches: Annotated[U64, "switches between contexts"]
    api_ns: Annotated[U64, "time inside the API", "ns"]


@declared("frame_prints", "reader")
class FramePrintRow(TypedDict):
    """A frame, and a number that two frames share when they make the same calls with the same content."""

    frame: Annotated[U32, "number of the frame, from 0"]
    calls: Annotated[U64, "number of its calls"]
    print: Annotated[U64, "the number that equal frames share"]


@declared("unreadable", "reader")
class UnreadableRow(TypedDict):
    """A call with an array that lay outside the program's memory: function and parameter."""

    seq: Annotated[U64, "the call"]
    function: Annotated[TEXT | None, "its function"]
    param: Annotated[TEXT | None, "the parameter that pointed there"]


@declared("state", "state")
class StateRow(TypedDict):
    """A value that a state variable had; paths are those of state-paths, with `contexts[1]` and `shares[1]`."""

    path: Annotated[TEXT, "the variable"]
    begin_seq: Annotated[U64, "the call that set it"]
    end_seq: Annotated[U64, "the call that ended it"]
    value: Annotated[TEXT, "the value as JSON"]


ResourceRow = typing.TypedDict(
    "ResourceRow",
    {
        "class": Annotated[TEXT, "buffer, texture, program ..."],
        "name": Annotated[U64, "the number that the program knows it by"],
        "context": Annotated[U32 | None, "the context that it belongs to, where it is not shared"],
        "share_group": Annotated[U32 | None, "the share group that it belongs to"],
        "created_seq": Annotated[U64, "the call that made it"],
        "deleted_seq": Annotated[U64 | None, "the call that ended it; NULL where none did"],
        "label": Annotated[TEXT | None, "the label that the program gave it"],
        "target": Annotated[TEXT | None, "its target"],
        "format": Annotated[TEXT | None, "its format"],
        "width": Annotated[U64 | None, "width", "pixels"],
        "height": Annotated[U64 | None, "height", "pixels"],
        "depth": Annotated[U64 | None, "depth, or number of layers", "pixels"],
        "levels": Annotated[U64 | None, "number of levels"],
        "bytes": Annotated[U64 | None, "its size; an estimate where the driver chooses", "bytes"],
        "uploads": Annotated[U64, "calls that uploaded to it"],
        "uploaded_bytes": Annotated[U64, "what they uploaded", "bytes"],
        "content_hash": Annotated[TEXT | None, "hash of its content, where that is known"],
        "uses": Annotated[U64, "draws that used it"],
        "first_use_seq": Annotated[U64 | None, "the first of them"],
        "last_use_seq": Annotated[U64 | None, "the last of them"],
        "writes": Annotated[U64, "draws and clears that wrote to it as a target"],
        "path": Annotated[TEXT, "its path in `state`"],
    },
)
declared(
    "resources",
    "state",
    "An object, one row a life: class, name, lifetime, target, format, size, uploads and their bytes, uses by draws,"
    " writes to it as a target.",
    of="OpenGL",
    instead="objects and allocations",
)(ResourceRow)


RevisionRow = typing.TypedDict(
    "RevisionRow",
    {
        "class": Annotated[TEXT, "buffer, texture, renderbuffer, vg_image, or surface"],
        "name": Annotated[U64, "the number that the program knows it by; of a surface its handle"],
        "context": Annotated[U32 | None, "the context that it belongs to, where it is not shared"],
        "share_group": Annotated[U32 | None, "the share group that it belongs to"],
        "created_seq": Annotated[U64, "the call that made the object, as in `resources`"],
        "path": Annotated[TEXT, "the image or buffer, its path in `state`"],
        "kind": Annotated[TEXT, "draw, clear, dispatch, copy, readback, upload, store (through a mapping), other"],
        "seq": Annotated[U64, "the call that changed it; of a store the call behind it"],
        "last_seq": Annotated[U64, "of draws and dispatches: the last call of this revision"],
        "frame": Annotated[U64, "the frame of `seq`"],
        "calls": Annotated[U32, "number of calls that wrote this revision"],
        "pass_number": Annotated[U64 | None, "the pass, as in `passes`; NULL outside of passes"],
        "bytes": Annotated[U64 | None, "what was uploaded", "bytes"],
        "content_hash": Annotated[TEXT | None, "hash of what one call uploaded, where it was recorded"],
    },
)
declared(
    "revisions",
    "state",
    "A change of the content of an image or buffer. Neighbouring draws of a pass are one, unless a call between them"
    " read the content. `other` is new storage without content, or an unknown change.",
    of="OpenGL",
    instead="executed and memory_writes",
)(RevisionRow)


@declared("passes", "state", of="OpenGL", instead="executed")
class PassRow(TypedDict):
    """A pass of OpenGL or OpenVG: neighbouring calls of a context that draw to the same attachments, copy, or read."""

    pass_number: Annotated[U64, "its number, from 0, in the order of first calls"]
    frame: Annotated[U64, "its frame"]
    context: Annotated[U32, "its context"]
    kind: Annotated[TEXT, "draw, dispatch, copy, readback, show (a swap of buffers)"]
    framebuffer: Annotated[U64 | None, "of draws: the framebuffer, 0 for the window's"]
    first_seq: Annotated[U64, "its first call"]
    last_seq: Annotated[U64, "its last call"]
    calls: Annotated[U32, "draws, clears, dispatches, copies ... in it"]
    draws: Annotated[U32, "draws among them"]
    clears: Annotated[U32, "clears among them"]
    dispatches: Annotated[U32, "dispatches among them"]
    width: Annotated[U32 | None, "of draws: width of the targets", "pixels"]
    height: Annotated[U32 | None, "of draws: height of the targets", "pixels"]
    targets: Annotated[TEXTS, "paths in `state` of the images and buffers that it writes"]


PassLinkRow = typing.TypedDict(
    "PassLinkRow",
    {
        "from_pass": Annotated[U64, "the pass that wrote the content last"],
        "to_pass": Annotated[U64, "the pass that uses it"],
        "frame": Annotated[U64, "the frame of the pass that uses it"],
        "kind": Annotated[TEXT, "read, or kept: it draws over a part of it"],
        "class": Annotated[TEXT, "class of the object, as in `revisions`"],
        "name": Annotated[U64, "its name"],
        "path": Annotated[TEXT, "the image or buffer, its path in `state`"],
        "seq": Annotated[U64, "the first call that uses it so"],
    },
)
declared(
    "pass_links",
    "state",
    "A pass that uses what an earlier pass wrote: texture, attachment or buffer.",
    of="OpenGL",
    instead="barriers",
)(PassLinkRow)


@declared("draws", "state", of="OpenGL", instead="executed")
class DrawRow(TypedDict):
    """A draw, clear or dispatch: primitives, program, textures, buffers, targets, the state that decides cost."""

    seq: Annotated[U64, "the call"]
    frame: Annotated[U64, "its frame"]
    context: Annotated[U32, "its context"]
    function: Annotated[TEXT | None, "its function"]
    kind: Annotated[TEXT, "draw, clear or dispatch"]
    mode: Annotated[TEXT | None, "kind of primitives; of OpenVG: what is painted"]
    indexed: Annotated[BOOL, "whether indices choose the vertices"]
    indirect: Annotated[BOOL, "whether the counts lie in a buffer"]
    vertices: Annotated[U64, "number of vertices; of OpenVG: segments of paths"]
    instances: Annotated[U64, "number of instances"]
    primitives: Annotated[U64, "number of primitives; of OpenVG: paths and images"]
    client_bytes: Annotated[U64, "what was read from arrays in client memory", "bytes"]
    program: Annotated[U64, "the program in use"]
    vertex_array: Annotated[U64, "the vertex array object"]
    index_buffer: Annotated[U64, "the buffer of indices"]
    buffers: Annotated[U64S, "buffers that it used; of OpenVG: paths"]
    textures: Annotated[U64S, "textures that it used; of OpenVG: images"]
    framebuffer: Annotated[U64, "the framebuffer drawn to; 0 for the window's"]
    targets: Annotated[TEXTS, "paths in `state` of the images drawn to"]
    width: Annotated[U32, "width of the targets", "pixels"]
    height: Annotated[U32, "height of the targets", "pixels"]
    viewport_x: Annotated[I32 | None, "left edge of the viewport", "pixels"]
    viewport_y: Annotated[I32 | None, "lower edge of the viewport", "pixels"]
    viewport_width: Annotated[I32 | None, "width of the viewport", "pixels"]
    viewport_height: Annotated[I32 | None, "height of the viewport", "pixels"]
    blend: Annotated[BOOL, "whether blending is on"]
    blend_src: Annotated[TEXT, "factor of the source; of OpenVG: the blend mode"]
    blend_dst: Annotated[TEXT | None, "factor of the destination"]
    depth_test: Annotated[BOOL, "whether the depth test is on"]
    depth_write: Annotated[BOOL, "whether depth is written"]
    depth_func: Annotated[TEXT | None, "comparison of the depth test"]
    stencil_test: Annotated[BOOL, "whether the stencil test is on"]
    cull_face: Annotated[BOOL, "whether faces are culled"]
    cull_mode: Annotated[TEXT | None, "which faces"]
    scissor_test: Annotated[BOOL, "whether the scissor test is on"]
    alpha_test: Annotated[BOOL, "whether the alpha test is on"]
    lighting: Annotated[BOOL, "whether fixed-function lighting is on"]
    polygon_mode: Annotated[TEXT | None, "how polygons are drawn"]
    color_mask: Annotated[TEXT, "the colours that are written: letters of `rgba`"]
    discard: Annotated[BOOL, "whether primitives are discarded before rasterization"]
    drawn_width: Annotated[F32 | None, "of OpenVG: width on the surface; NULL where it is not known", "pixels"]
    drawn_height: Annotated[F32 | None, "of OpenVG: height on the surface; NULL where it is not known", "pixels"]


@declared("redundancy", "graph")
class RedundancyRow(TypedDict):
    """A call that did nothing: of which kind, and about which program (see [how to](../howto/extract.md))."""

    seq: Annotated[U64, "the call"]
    kind: Annotated[TEXT, "in which way it did nothing"]
    program: Annotated[U64 | None, "the program that it is about"]


@declared("executed_metrics", "computed")
class ExecutedMetricRow(TypedDict):
    """A draw, dispatch or clear that Vulkan ran (`executed`), with one measured value (`metrics`)."""

    number: Annotated[U64, "its place in the order of execution, as in `executed`"]
    seq: Annotated[U64, "the call that recorded it"]
    submit_seq: Annotated[U64, "the call that submitted it"]
    frame: Annotated[U64, "the frame that it was submitted in"]
    function: Annotated[TEXT, "the function"]
    kind: Annotated[TEXT, "draw, dispatch, clear ..."]
    pass_number: Annotated[U64 | None, "number of the render pass that it runs in; NULL outside"]
    pipeline: Annotated[U64 | None, "its pipeline, where the command buffer bound one"]
    vertices: Annotated[U64 | None, "of a draw: vertices, or indices; NULL where a buffer has the counts"]
    instances: Annotated[U64 | None, "of a draw: instances; NULL where a buffer has the counts"]
    per: Annotated[TEXT, "draw: the value is its own; call: of the call that recorded it"]
    metric: Annotated[TEXT, "id of the metric"]
    value: Annotated[F64 | None, "the median over the repetitions; NULL where `note` says why"]
    unit: Annotated[TEXT | None, "ns, bytes, count, percent or the driver's"]
    note: Annotated[TEXT | None, "why there is no value"]
    run: Annotated[I32 | None, "number of the run of drawtap profile"]


@declared("findings", "computed")
class FindingRow(TypedDict):
    """Evidence of a rule of the checklist; `drawtap checklist` names rules that were not checked."""

    rule: Annotated[TEXT, "the rule"]
    severity: Annotated[TEXT, "how much it matters"]
    seq: Annotated[U64 | None, "the call"]
    frame: Annotated[U64 | None, "the frame"]
    what: Annotated[TEXT | None, "what was found"]
    n: Annotated[U64 | None, "how many calls it stands for"]
    ns: Annotated[I64 | None, "how long they took", "ns"]
    bytes: Annotated[U64 | None, "the bytes that they are about", "bytes"]
