"""USDT probes at entry and exit of every call, and one a frame, for bpftrace, perf and bcc.

Provider drawtap: NAME_entry with the arguments, NAME_exit with the arguments and then the result, frame with the
frame's number and its length in ns. Floating-point values are passed as the bits of a float or a double in an integer,
since bpftrace reads no others. A probe that nobody listens to is one test of its semaphore; functions of more than
twelve arguments give their first twelve.

    bpftrace -p PID -e 'usdt:./libprobes.so:drawtap:glDrawArrays_entry { @[arg2] = count(); }'
"""

from drawtap.instrument import func

_MOST = 12  # arguments that consumers of the notes understand
_BYTES = {"i8": 4, "u8": 4, "i16": 4, "u16": 4, "i32": 4, "u32": 4, "f32": 4}

_HEADER = r"""
    #include "user/probe.h"
    DT_SEMAPHORE(frame)
    static inline uint32_t bits_of(float value) { uint32_t raw; memcpy(&raw, &value, 4); return raw; }
    static inline uint64_t bits_of(double value) { uint64_t raw; memcpy(&raw, &value, 8); return raw; }
"""


def _probe(name: str, values: list[tuple[str, str]]) -> str:
    """Return the statement of one probe; `values` are (C expression, scalar kind)."""
    notes, operands = [], []
    for index, (value, scalar) in enumerate(values[:_MOST]):
        size = _BYTES.get(scalar, 8)
        signed = "-" if scalar.startswith("i") else ""
        kind = {("-", 4): "int32_t", ("", 4): "uint32_t", ("-", 8): "int64_t"}.get((signed, size), "uint64_t")
        raw = f"bits_of({value})" if scalar.startswith("f") else f"({kind}){value}"
        notes.append(f"{signed}{size}@%[a{index}]")
        operands.append(f'[a{index}] "nor"({raw})')
    asm = f'__asm__ volatile(DT_PROBE_NOTE({name}, "{" ".join(notes)}") :: {", ".join(operands)});'
    return f"if (__builtin_expect(drawtap_{name}_semaphore, 0)) {asm}"


def _values(f: func.Func) -> list[tuple[str, str]]:
    return [
        (f"(uintptr_t){p.name}", "u64") if p.type.indirection or p.type.scalar == "ptr" else (p.name, p.type.scalar)
        for p in f.command.params
    ]


def _result(f: func.Func) -> list[tuple[str, str]]:
    returns = f.command.returns
    if not f.returns_value:
        return []
    pointer = returns.indirection or returns.scalar == "ptr"
    return [("(uintptr_t)_result", "u64") if pointer else ("_result", returns.scalar)]


probes = func.Hooks(
    header=_HEADER,
    hook_funcs=[
        lambda f: func.Hook(
            outside=f"DT_SEMAPHORE({f.name}_entry)\nDT_SEMAPHORE({f.name}_exit)",
            before_run=_probe(f"{f.name}_entry", _values(f)),
            after_run=_probe(f"{f.name}_exit", [*_values(f)[: _MOST - 1], *_result(f)]),
        ),
        lambda f: func.Hook(
            is_target=f.has("frame_end"),
            after_run="""
                static uint64_t before;
                if (__builtin_expect(drawtap_frame_semaphore, 0)) {
                  uint64_t now = drawtap::now_ns(), length = before ? now - before : 0;
                  before = now;
                  __asm__ volatile(DT_PROBE_NOTE(frame, "8@%[n] 8@%[ns]")
                                   :: [n] "nor"(drawtap::frame()), [ns] "nor"(length));
                }
            """,
        ),
    ],
)
