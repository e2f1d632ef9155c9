"""OpenGL programs on zink, recorded as the Vulkan programs that they are, and played."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from drawtap.errors import UnavailableError
from drawtap.parts import PLAYER_VULKAN, TAP_VULKAN, is_there
from drawtap.replay import engine
from gl.conftest import Bench
from shared import run_drawtap

# The least number of read-backs to compare. The last one stores bytes in the device's memory and reads none.
PROGRAMS = {"readback": 10, "es2_triangle": 8, "mapped_frames": 0}


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_the_program_read_back_is_drawn_again(program: str, programs: Bench, tmp_path: Path) -> None:
    if not is_there(TAP_VULKAN) or not is_there(PLAYER_VULKAN):
        pytest.skip("the tap or the player of Vulkan is not built (make build)")
    try:
        zink = dict(engine.environment_of("zink"))
    except UnavailableError as error:
        pytest.skip(str(error))
    trace = tmp_path / "zink.dtap"
    command = ["record", "-q", "--api", "vk", "-o", trace, "--", programs.programs / program]
    done = run_drawtap(*command, environment={**programs.environment(), **zink})
    assert done.returncode == 0, done.stderr
    vulkan = {name: value for name, value in zink.items() if name.startswith("VK_")}
    played = run_drawtap("replay", trace, "--verify", "--json", environment={**os.environ, **vulkan})
    found = json.loads(played.stdout)
    assert found["different"] == 0, found["findings"]
    assert found["compared"] >= PROGRAMS[program]
    assert found["skipped"] == 0
