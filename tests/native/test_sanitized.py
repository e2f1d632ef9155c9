"""The cache of sanitized objects: nothing is compiled twice, and nothing stale is used."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import sanitized


def test_a_source_is_compiled_once_and_again_when_what_it_reads_changes(tmp_path: Path) -> None:
    log, tool = tmp_path / "log", tmp_path / "c++"
    tool.write_text(f'#!/bin/sh\ncase " $* " in *" -c "*) echo "$*" >>{log};; esac\nexec {sanitized.compiler()} "$@"\n')
    tool.chmod(0o755)
    source, header = tmp_path / "main.cc", tmp_path / "value.h"
    source.write_text('#include "value.h"\n#include "made.h"\nint main() { return VALUE + MADE; }\n')

    def answer(folder: str, value: int, made: int, *own: str) -> tuple[int, int]:
        room = tmp_path / folder
        room.mkdir(exist_ok=True)
        header.write_text(f"#define VALUE {value}\n")
        (room / "made.h").write_text(f"#define MADE {made}\n")  # as generated files: in the program's folder
        program = sanitized.build(
            room / "program", [source], own=own, includes=[room], with_=str(tool), cache=tmp_path / "cache"
        )
        code = subprocess.run([program], timeout=300, check=False).returncode
        return code, len(log.read_text().splitlines())

    assert answer("a", 1, 10) == (11, 1)
    assert answer("b", 1, 10) == (11, 1)
    assert answer("b", 2, 10) == (12, 2)
    assert answer("a", 2, 20) == (22, 3)
    assert answer("a", 2, 20, "-DOTHER") == (22, 4)


def test_sources_of_a_room_are_one_unit_where_names_of_their_own_can_be_told_apart(tmp_path: Path) -> None:
    log, tool = tmp_path / "log", tmp_path / "c++"
    tool.write_text(f'#!/bin/sh\ncase " $* " in *" -c "*) echo "$*" >>{log};; esac\nexec {sanitized.compiler()} "$@"\n')
    tool.chmod(0o755)

    def answer(**sources: str) -> tuple[int, int]:
        paths = [tmp_path / f"{name}.cc" for name in sources]
        for path, text in zip(paths, sources.values(), strict=True):
            path.write_text(text)
        log.write_text("")
        program = sanitized.build(tmp_path / "program", paths, with_=str(tool), cache=tmp_path / "cache")
        return subprocess.run([program], timeout=300, check=False).returncode, len(log.read_text().splitlines())

    main = "int a();\nint b();\nint main() { return a() + b(); }\n"
    one = "namespace {\nint helper() { return 1; }\n}  // namespace\nint a() { return helper(); }\n"
    assert answer(main=main, a=one, b="int b() { return 20; }\n") == (21, 1)
    other = one.replace("1;", "30;").replace("int a()", "int b()")
    assert answer(main=main, a=one, b=other) == (31, 1)
    # A header of one source may have the name that another has for itself.
    (tmp_path / "helper.h").write_text("#pragma once\ninline int helper() { return 50; }\n")
    assert answer(main=main, a=one, c='#include "helper.h"\nint b() { return helper(); }\n') == (51, 1)
    # A macro would rename the member too.
    member = "struct Other { int helper = 0; };\n" + other.replace(
        "return 30", "Other it; it.helper = 30; return it.helper"
    )
    assert answer(main=main, a=one, d=member) == (31, 2)
    # What nobody saw coming is compiled one by one, and said.
    hidden = "namespace { int helper() { return 40; } }\nint b() { return helper(); }\n"
    with pytest.warns(UserWarning, match="compiled one by one"):
        assert answer(main=main, a=one, b=hidden) == (41, 4)
