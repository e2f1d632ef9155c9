"""Write the reference pages from what the code says: commands, tables, errors, formats, the specification.

`python docs/reference.py` writes docs/reference/*.md; `--check` changes nothing and fails where a page is stale.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from drawtap import command_line, errors
from drawtap.analysis.rule import CLASSES, HARDWARE, RULES
from drawtap.commands import COMMANDS, SECTIONS, Command
from drawtap.formats import FORMATS
from drawtap.live import config, policy, protocol
from drawtap.live.alarm import ACTIONS, ALARMS
from drawtap.live.policy import POLICIES, settings_of
from drawtap.live.signal import SOURCES
from drawtap.metrics.metric import BACKENDS, FOLDS, Capabilities
from drawtap.metrics.sets import BUILT_IN
from drawtap.spec import report
from drawtap.system import driver, model, timeline
from drawtap.system import rule as contention
from drawtap.system.exporter import EXPORTS
from drawtap.system.reader import READERS
from drawtap.system.recorder import RECORDERS
from drawtap.tables import Table, corpus, kernel, recording
from drawtap.trace.apis import WITHOUT_VULKAN

FOLDER = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/reference.py: change the code it reads, not this page. -->\n\n"


def pages() -> dict[str, str]:
    """Return the pages by file name."""
    return {
        "commands.md": NOTE + "".join(_commands()),
        "tables.md": NOTE + "".join(_tables()),
        "metrics.md": NOTE + "".join(_metrics()),
        "kernel-tables.md": NOTE + "".join(_kernel_tables()),
        "corpus-tables.md": NOTE + "".join(_corpus_tables()),
        "errors.md": NOTE + "".join(_errors()),
        "formats.md": NOTE + "".join(_formats()),
        "specification.md": NOTE + "".join(_specification()),
        "rules.md": NOTE + "".join(_rules()),
        "policies.md": NOTE + "".join(_policies()),
        "manager.md": NOTE + "".join(_manager()),
        "manager-protocol.schema.json": json.dumps(protocol.schema(), indent=2) + "\n",
    }


def _manager() -> Iterator[str]:
    yield "# The manager\n\nHow to use it: [](../howto/manage.md).\n\n## Configuration\n\n"
    yield "`drawtap/manager.toml` below `$XDG_CONFIG_HOME`. Policies (`[policy.NAME]`) and alarms (`[[alarm]]`) have\n"
    yield "settings of their own: [](../howto/policies.md).\n\n"
    for title, made, text in (
        ("[manager]", config.Settings, ""),
        ("[[program]]", config.Profile, "`class`, `target`, `floor` and `cap` are short for the longer names.\n\n"),
    ):
        about = inspect.cleandoc(made.__doc__ or "").partition("\n\n")[2]
        yield f"### {title}\n\n{about}\n\n{text}| setting | type | default |\n| --- | --- | --- |\n"
        for name, kind, default in settings_of(made):
            yield f"| `{name}` | {kind} | {_default(default)} |\n"
        yield "\n"
    yield f"## Protocol\n\n{inspect.cleandoc(protocol.__doc__ or '').partition(chr(10) * 2)[2]}\n\n"
    yield "Version " + f"{protocol.VERSION}; "
    yield "`drawtap manager --print-schema` prints the [schema](manager-protocol.schema.json).\n\n"
    yield "| op | fields | |\n| --- | --- | --- |\n"
    for op, (about, fields, required) in protocol.REQUESTS.items():
        names = ", ".join(f"`{f}`" if f in required else f"[`{f}`]" for f in fields)
        yield f"| `{op}` | {names} | {about} |\n"


def _default(value: object) -> str:
    return "" if value in (None, "", ()) else f"`{value}`"


def _policies() -> Iterator[str]:
    yield "# Policies, alarms, signals\n\nWhat the manager of running programs can be told, and how it is tried: see "
    yield "[how to](../howto/policies.md).\n\n"
    for title, registry in (("Policies", POLICIES), ("Alarms", ALARMS), ("Actions of alarms", ACTIONS)):
        yield f"## {title}\n\n"
        for name, made in registry.items():
            yield f"### {name}\n\n{policy.about(made)}\n\n"
            settings = policy.settings_of(made)
            if settings:
                yield "| setting | kind | default |\n|---|---|---|\n"
                for key, kind, default in settings:
                    shown = "must be given" if default is dataclasses.MISSING else f"`{default!r}`"
                    yield f"| `{key}` | {kind} | {shown} |\n"
                yield "\n"
    yield "## Signals\n\nEach is optional, and said to be absent where it is; "
    yield "`without` in `[manager]` switches one off.\n\n"
    for name, made in SOURCES.items():
        yield f"### {name}\n\n{inspect.cleandoc(made.__doc__ or '')}\n\n"


def _commands() -> Iterator[str]:
    yield "# Commands\n\n"
    yield "Every command that reads takes `--json`. Data goes to standard output, the rest to standard error.\n\n"
    yield "`NO_COLOR`, `FORCE_COLOR` and `TERM=dumb` are honoured; `DRAWTAP_DEBUG=1` shows tracebacks;\n"
    yield "`DRAWTAP_NATIVE` names a folder to take the native parts from.\n\n"
    yield "Verbs read recordings of every graphics API. For recordings of Vulkan this work is missing:\n\n"
    yield "| verb | missing for Vulkan | instead |\n|---|---|---|\n"
    for work, gap in WITHOUT_VULKAN.items():
        yield f"| `{work}` | {gap.wanted}{f' ({gap.never})' if gap.never else ''} | {gap.hint} |\n"
    yield "\n"
    for section, title in SECTIONS.items():
        yield f"## {title}\n\n"
        for name, command in COMMANDS.items():
            if command.section == section:
                yield f"### drawtap {name}\n\n```text\n{_help(command)}\n```\n\n"


def _help(command: Command) -> str:
    made = command_line.click_command(command)
    context = click.Context(made, info_name=f"drawtap {command.name}", terminal_width=100, max_content_width=100)
    context.help_option_names = ["-h", "--help"]
    lines = made.get_help(context).rstrip().splitlines()
    return "\n".join(line.rstrip() for line in lines)


def _tables() -> Iterator[str]:
    yield "# Tables\n\nWhat `drawtap sql` and `Trace.sql` can ask. Times are int64 nanoseconds of CLOCK_MONOTONIC.\n\n"
    yield 'Beside these, every function that the trace explains has a table of its own (`FROM "glDrawElements"`) with\n'
    yield "the columns seq, frame, thread, context, t_start, duration, one column a parameter, and result. For a\n"
    yield "parameter `p` that is an enumerant there is also `p_value`, the number; for an array `p_pointer`,\n"
    yield "`p_bytes`, `p_blob` (the hash of long content) and `p_data` (the content).\n\n"
    yield "`trace` has one row `event` a call: `SELECT event.name FROM trace WHERE event.duration > 10000`.\n\n"
    yield 'Each type of structure in `structures` is a table too (`FROM "VkImageCreateInfo"`): one row for each\n'
    yield "structure of this type, wherever it stands in arguments and chains. Its columns are seq, frame, call (the\n"
    yield "function), path (the parameter, then members: `pCreateInfo.pNext[0]`), and the members by the registry.\n\n"
    yield "| table | one row is |\n|---|---|\n"
    yield from (f"| `{table.name}` | {table.doc} |\n" for table in recording.declared.by_name.values())
    for table in recording.declared.by_name.values():
        yield f"\n## {table.name}\n\nOne row is {table.doc}.\n\n"
        yield from _columns(table)


def _columns(table: Table) -> Iterator[str]:
    yield "| column | type | unit | |\n|---|---|---|---|\n"
    yield from (f"| `{c.name}` | {c.type} | {c.unit} | {c.doc} |\n" for c in table.columns)


def _metrics() -> Iterator[str]:
    yield "# Metrics\n\nWhat `drawtap profile` can measure; `--list` shows which of them this machine has.\n"
    yield "A back-end that names its counters itself (amd, intel, drm, nvml) has ids of the driver's words.\n\n"
    for name, entry in BACKENDS.items():
        about = inspect.cleandoc(entry.about)
        yield f"## {name}\n\n{about}\n\n"
        known = [metric for metric in entry.metrics(Capabilities(reason="?")) if not metric.id.endswith("*")]
        if known:
            yield "| metric | unit | kind | |\n|---|---|---|---|\n"
            yield from (f"| `{m.id}` | {m.unit} | {m.kind} | {m.description} |\n" for m in known)
            yield "\n"
    yield "## Kinds\n\nRanges are cut where others begin; how the parts make up a whole follows from the kind: "
    yield ", ".join(f"{kind}: {fold}" for kind, fold in FOLDS.items()) + ".\n\n"
    yield "## The table `metrics`\n\n"
    yield from _columns(recording.declared.by_name["metrics"])
    yield "\n## Sets\n\n| set | metrics | per |\n|---|---|---|\n"
    yield from (f"| `{s.name}` | {', '.join(f'`{m}`' for m in s.metrics)} | {', '.join(s.per)} |\n" for s in BUILT_IN)


def _kernel_tables() -> Iterator[str]:
    yield "# Tables of kernel traces\n\n"
    yield f"{inspect.getdoc(model)}\n\n"
    for table in kernel.TABLES.values():
        yield f"## {table.name}\n\n{table.doc}\n\n"
        yield from _columns(table)
        yield "\n"
    yield "## What drivers make of their events\n\n"
    for name, entry in driver.DRIVERS.items():
        yield f"### {name}\n\n{inspect.cleandoc(entry.help)}\n\n"
    yield "## Rules of `drawtap system diagnose`\n\n"
    for name, entry in contention.RULES.items():
        yield f"### {name}\n\n**{entry.title}.** {entry.why}\n\n*{entry.fix}*\n\n"
    yield f"## Paths of `state`\n\n{inspect.getdoc(timeline)}\n"


def _corpus_tables() -> Iterator[str]:
    yield f"# Tables of a corpus\n\n{inspect.getdoc(corpus)} How to ask them: [](../howto/corpus.md).\n\n"
    for table in corpus.TABLES.values():
        yield f"## {table.name}\n\nOne row is {table.doc}.\n\n"
        yield from _columns(table)
        yield "\n"


def _errors() -> Iterator[str]:
    yield "# Errors and exit codes\n\n"
    yield "| exit code | class | when |\n|---|---|---|\n| 0 | | all is well |\n"
    classes = (
        errors.Findings,
        errors.UsageError,
        errors.QueryError,
        errors.UnavailableError,
        errors.InputError,
        errors.ChildError,
        errors.ExhaustedError,
    )
    for kind in classes:
        yield f"| {kind.exit_code} | `{kind.__name__}` | {(kind.__doc__ or '').partition(chr(10))[0]} |\n"
    yield "| 126, 127 | `ChildError` | `record`: the program cannot be run; there is no such program |\n"
    yield "| 130 | | interrupted by Ctrl-C |\n| 141 | | the reader of the output closed its end |\n"
    yield "| the program's | | `record` passes it on; 128 + n where signal n ended the program |\n\n"
    yield "Every class descends from `drawtap.DrawtapError`, which has `message`, `hint` and `exit_code`.\n"


def _formats() -> Iterator[str]:
    yield "# Formats\n\n## Calls, written by `drawtap export`\n\n"
    yield "| format | files end in | what it is |\n|---|---|---|\n"
    for name, entry in FORMATS.items():
        yield f"| `{name}` | `{entry.suffix}` | {entry.help} |\n"
    yield "\n## Kernel traces, read by `drawtap system`\n\n"
    for name, kind in READERS.items():
        yield f"### {name}\n\n{inspect.cleandoc(kind.help)}\n\n"
    yield "[Formats of kernel traces](../kernel-traces.md) has what they have in common.\n\n"
    yield "## Kernel timelines, written by `drawtap export`\n\n"
    for name, form in EXPORTS.items():
        suffix = f" (`{form.suffix}`)" if form.suffix else " (a folder)"
        yield f"### {name}{suffix}\n\n{inspect.cleandoc(form.help)}\n\n"
    yield "## Recorders of `drawtap system record`\n\n"
    for name, recorder in RECORDERS.items():
        yield f"### {name}\n\n{inspect.cleandoc(recorder.__doc__ or '')}\n\n"


def _specification() -> Iterator[str]:
    yield "# What is known of the APIs\n\n"
    yield "A command is complete when a rule says for every pointer how much it points to. Of the others the plain\n"
    yield "arguments are recorded. `drawtap spec report --all` lists every extension, `drawtap spec show NAME` one\n"
    yield "command or one structure.\n\n"
    yield "| API | commands | complete | pointers | with a rule |\n|---|---:|---:|---:|---:|\n"
    for row in report.coverage():
        yield f"| {row.label} | {row.commands} | {row.complete} | {row.pointers} | {row.known_pointers} |\n"


def _rules() -> Iterator[str]:
    yield "# Rules of the checklist\n\n"
    yield "What `drawtap checklist` looks for. `drawtap checklist --explain ID` prints a rule with its question.\n"
    yield "A rule of your own is one file (see `CONTRIBUTING.md`). Rules marked T are items of the checklist in\n"
    yield "Kyostila's thesis.\n\n"
    yield "| hardware | what it means |\n|---|---|\n"
    for name, meaning in HARDWARE.items():
        yield f"| {name} | {meaning} |\n"
    for concerns, title in CLASSES.items():
        yield f"\n## {title[0].upper()}{title[1:]}\n"
        for name, rule in RULES.items():
            if rule.concerns == concerns:
                yield f"\n### {name}\n\n**{rule.title}.** {' '.join(rule.why.split())}\n\n{rule.fix}\n\n"
                mark = f"; T: {rule.original}" if rule.original else ""
                needs = f"; needs {', '.join(rule.needs)}" if rule.needs else ""
                yield f"*{rule.severity}; {', '.join(rule.hardware)}{needs}{mark}*\n"


def main(arguments: list[str]) -> int:
    """Write the pages, or with --check compare them; return the exit code."""
    stale = []
    for name, text in pages().items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path)
            if "--check" not in arguments:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    if stale and "--check" in arguments:
        sys.stderr.write(f"stale: {', '.join(str(p) for p in stale)}; make docs writes them\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
