"""Vulkan programs, recorded on lavapipe and asked."""

from __future__ import annotations

import bisect
import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from drawtap.capture.launch import RecordOptions
from drawtap.errors import UsageError
from shared import run_drawtap
from vulkan.conftest import DRIVERS, build, environment
from writer import Writer


def sql(trace: Path, query: str) -> list[dict[str, object]]:
    answer = run_drawtap("sql", trace, query, "--json")
    assert answer.returncode == 0, answer.stderr
    rows: list[dict[str, object]] = json.loads(answer.stdout)
    return rows


NAMES = "SELECT list(name ORDER BY seq) AS names FROM calls WHERE name NOT LIKE '%ProcAddr'"


def test_however_a_program_finds_its_functions(recorded: Path, linked: Path, opened: Path, tmp_path: Path) -> None:
    """Linked to the loader, or all looked up; two instances and devices. Programs do what they do without the tap."""
    plain = subprocess.run([linked], env=environment(), capture_output=True, text=True, check=True).stdout
    trace = tmp_path / "opened.dtap"
    command = [str(Path(sys.executable).with_name("drawtap")), "record", "-q", "-o", str(trace), "--", str(opened)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, plain), done.stderr
    assert sql(trace, NAMES) == sql(recorded, NAMES)
    [row] = sql(recorded, 'SELECT count(*) AS n, count(DISTINCT device) AS d FROM "vkGetDeviceQueue"')
    assert row == {"n": 8, "d": 2}
    [row] = sql(recorded, "SELECT sum(CASE WHEN result <> 'VK_SUCCESS' THEN 1 ELSE 0 END) AS bad FROM calls")
    assert row == {"bad": 0}


def test_a_driver_without_the_loader(recorded: Path, opened: Path, tmp_path: Path) -> None:
    """As ncnn does where the environment names a driver."""
    driver = json.loads(DRIVERS[0].read_text())["ICD"]["library_path"] if DRIVERS else ""
    given = {**environment(), "DRIVER": driver}
    plain = subprocess.run([opened], env=given, capture_output=True, text=True, check=True).stdout
    command = [
        str(Path(sys.executable).with_name("drawtap")),
        "record",
        "-q",
        "-o",
        tmp_path / "direct.dtap",
        "--",
        opened,
    ]
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, plain), done.stderr
    assert sql(tmp_path / "direct.dtap", NAMES) == sql(recorded, NAMES)


def test_structures_are_there_with_what_they_lead_to(recorded: Path) -> None:
    rows = sql(
        recorded,
        "SELECT pCreateInfo->>'$.pApplicationInfo.pApplicationName' AS name FROM \"vkCreateInstance\" ORDER BY 1",
    )
    assert [row["name"] for row in rows] == ["first", "second"]
    [row] = sql(
        recorded,
        "SELECT pCreateInfo->>'$.pQueueCreateInfos[0].pQueuePriorities[0]' AS priority, "
        "pCreateInfo->>'$.pNext[1].hostQueryReset' AS reset, pCreateInfo->>'$.pNext[0].sType' AS type "
        'FROM "vkCreateDevice" LIMIT 1',
    )
    assert row == {"priority": "0.5", "reset": "true", "type": "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2"}
    [row] = sql(
        recorded,
        "SELECT DISTINCT pCreateInfo->>'$.size' AS size, pCreateInfo->>'$.usage' AS usage FROM \"vkCreateBuffer\"",
    )
    assert row["size"] == "65536"
    assert "VK_BUFFER_USAGE_STORAGE_BUFFER_BIT" in str(row["usage"])
    [row] = sql(
        recorded, "SELECT DISTINCT pMemoryRequirements->>'$.size' AS size FROM \"vkGetBufferMemoryRequirements\""
    )
    assert row == {"size": "65536"}  # what the driver filled in


def test_pointers_that_do_not_count_are_not_followed(recorded: Path) -> None:
    """The program gives addresses that lead nowhere wherever Vulkan ignores them."""
    [row] = sql(
        recorded,
        "SELECT pDescriptorWrites->>'$[0].pBufferInfo[0].range' AS bytes, "
        "pDescriptorWrites->>'$[0].pImageInfo' AS images FROM \"vkUpdateDescriptorSets\" LIMIT 1",
    )
    assert row == {"bytes": "64", "images": None}
    rows = sql(
        recorded,
        "SELECT pBeginInfo->>'$.pInheritanceInfo' IS NOT NULL AS inherits FROM \"vkBeginCommandBuffer\" "
        "ORDER BY seq LIMIT 2",
    )
    assert rows == [{"inherits": True}, {"inherits": False}]
    text = run_drawtap("list", recorded, "--name", "vkCreateBuffer").stdout
    assert "pQueueFamilyIndices = /* not read */" in text
    [row] = sql(recorded, "SELECT count(*) AS n FROM problems WHERE kind LIKE '%tree%'")
    assert row["n"] == 0


def test_types_that_stood_in_no_chain_are_not_in_the_file(recorded: Path) -> None:
    """Some 300 types could extend a VkDeviceCreateInfo; readers need those that did."""
    groups = {str(row["group"]) for row in sql(recorded, 'SELECT DISTINCT "group" FROM enums')}
    assert "VkBufferUsageFlagBits" in groups
    assert "VkDeviceDiagnosticsConfigFlagBitsNV" not in groups


def test_an_update_with_a_template_has_what_the_template_reads(recorded: Path) -> None:
    [row] = sql(recorded, 'SELECT DISTINCT pData_bytes AS bytes FROM "vkUpdateDescriptorSetWithTemplate"')
    assert row == {"bytes": 24}  # of a structure of 4,120 bytes


def test_what_the_device_stores_is_not_the_programs(recorded: Path) -> None:
    """A driver on the processor writes into the mapped pages: a replay of that would show pictures without drawing."""
    written = sql(recorded, 'SELECT seq, memory, "offset" AS at, hex(data_data) AS data, data_bytes FROM memory_writes')
    changed = sql(recorded, "SELECT seq, memory, data_bytes FROM device_writes")
    # Both runs: 64 KiB of 0x11 before the first submit, 64 KiB twice of whatever lay there in fresh memory, four bytes
    # between the first wait and the second submit, and four in a buffer that no call writes to while the device works.
    little = sorted((row["at"], row["data"]) for row in written if row["data_bytes"] == 4)
    assert little == [(20, "05050505"), (20, "05050505"), (28, "07070707"), (28, "07070707")]
    assert len([row for row in written if row["data_bytes"] == 65536]) == 6
    assert len({row["memory"] for row in written}) == 6
    # The device fills both buffers, twice in each run.
    assert len({row["memory"] for row in changed}) == 4
    assert sum(int(str(row["data_bytes"])) for row in changed) >= 4 * 65536


def test_each_type_of_structure_is_a_table(recorded: Path) -> None:
    rows = sql(recorded, "SELECT call, path, size FROM VkBufferCreateInfo")
    assert rows == [{"call": "vkCreateBuffer", "path": "pCreateInfo", "size": 65536}] * 6
    rows = sql(recorded, "SELECT DISTINCT call, path, hostQueryReset AS reset FROM VkPhysicalDeviceVulkan12Features")
    assert rows == [{"call": "vkCreateDevice", "path": "pCreateInfo.pNext[1]", "reset": True}]
    rows = sql(recorded, "SELECT type FROM chains WHERE function = 'vkCreateDevice' AND position = 1")
    assert rows == [{"type": "VkPhysicalDeviceVulkan12Features"}] * 2


def test_what_reads_recordings_reads_these(recorded: Path) -> None:
    text = run_drawtap("list", recorded).stdout
    assert "flags = VK_COMMAND_BUFFER" not in text
    assert "VkPhysicalDeviceFeatures2{sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, features = {" in text
    assert "sType = VK_STRUCTURE_TYPE_SUBMIT_INFO" in text
    assert "vkQueueSubmit" in run_drawtap("histogram", recorded).stdout


def test_a_cut_of_a_recording_explains_its_structures(recorded: Path, tmp_path: Path) -> None:
    made = tmp_path / "cut.dtap"
    done = run_drawtap("edit", recorded, "--keep", "0:40", "-o", made)
    assert done.returncode == 0, done.stderr
    query = 'SELECT pCreateInfo FROM "vkCreateInstance"'
    assert sql(made, query) == sql(recorded, query)[: len(sql(made, query))] != []


def test_an_answer_from_a_table_of_the_other_side_says_so(recorded: Path, tmp_path: Path) -> None:
    def note(path: Path, table: str) -> str:
        return run_drawtap("sql", path, f"SELECT count(*) AS n FROM {table}").stdout.partition("0\n")[2].strip()

    assert note(recorded, "revisions") == (
        "revisions has rows for OpenGL and OpenVG alone; for calls of Vulkan see executed and memory_writes"
    )
    opengl = Writer()
    opengl.thread(context=1).call("glEnable", cap=1)
    assert note(opengl.write(tmp_path / "gl.dtap"), "executed") == (
        "executed has rows for Vulkan alone; for calls of OpenGL see draws"
    )
    assert note(tmp_path / "gl.dtap", "memory_writes") == (
        "memory_writes has rows for Vulkan alone; for calls of OpenGL see map_writes"
    )
    assert note(tmp_path / "gl.dtap", "shaders") == "shaders has rows for Vulkan alone"
    assert note(recorded, "markers") == ""


def test_no_vulkan_where_it_is_not_wanted(linked: Path, tmp_path: Path) -> None:
    done = run_drawtap("record", "--api", "gl", "-o", tmp_path / "x.dtap", "--", linked, environment=environment())
    assert done.returncode == 0
    assert not (tmp_path / "x.dtap").exists() or sql(tmp_path / "x.dtap", "SELECT * FROM calls") == []
    assert "loaded Vulkan but called nothing in it" in done.stderr or "--api gl" in done.stderr
    with pytest.raises(UsageError, match="a layer sees Vulkan alone"):
        RecordOptions(api="gl", layer=True).options()


def test_a_program_that_drops_what_is_preloaded_is_recorded_by_a_layer(
    linked: Path, recorded: Path, tmp_path: Path
) -> None:
    """The program is itself with the layer, two instances and devices, and nothing is asked twice of the driver."""
    plain = subprocess.run([linked], env=environment(), capture_output=True, text=True, check=True).stdout
    trace = tmp_path / "layer.dtap"
    program = ["env", "-u", "LD_PRELOAD", linked]
    command = [Path(sys.executable).with_name("drawtap"), "record", "--layer", "-q", "-o", trace, "--", *program]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, plain), done.stderr
    [row] = sql(recorded, NAMES)
    [layer] = sql(trace, NAMES)
    # The loader asks the driver for itself while it makes instances and devices.
    asked = ("vkEnumerate", "vkGetPhysicalDevice")
    both = [[n for n in names["names"] if not n.startswith(asked)] for names in (row, layer)]  # type: ignore[attr-defined]
    assert both[0] == both[1]
    for function in ("vkCreateInstance", "vkCreateDevice"):  # without what the loader puts into their chains
        query = f'SELECT pCreateInfo FROM "{function}" ORDER BY seq'
        assert sql(trace, query) == sql(recorded, query)
    [bad] = sql(trace, "SELECT count(*) AS n FROM problems")
    assert bad["n"] == 0, sql(trace, "SELECT * FROM problems")


def test_a_layer_records_vulkan_alone(linked: Path, tmp_path: Path) -> None:
    done = run_drawtap("record", "--layer", "--api", "gl", "-o", tmp_path / "x.dtap", "--", linked)
    assert done.returncode == 2
    assert "a layer sees Vulkan alone" in done.stderr


def test_zink_is_the_program_where_vulkan_alone_is_recorded(tmp_path: Path) -> None:
    """The driver of a GL program draws with Vulkan: recorded are the program's GL, or that Vulkan, never both."""
    program = [sys_python(), "-c", GL_PROGRAM]
    zink = {**environment(), "EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1", "GALLIUM_DRIVER": "zink"}
    asked = subprocess.run(program, env=zink, capture_output=True, text=True, check=False)
    if "zink" not in asked.stdout:
        pytest.skip(f"zink does not run here: {asked.stdout}{asked.stderr[-200:]}")
    found = {}
    for api in ("all", "vk"):
        trace = tmp_path / f"{api}.dtap"
        done = run_drawtap("record", "-q", "--api", api, "-o", trace, "--", *program, environment=zink)
        assert done.returncode == 0, done.stderr
        found[api] = {str(row["api"]) for row in sql(trace, "SELECT DISTINCT api FROM calls")}
    assert found["all"] == {"gl", "egl"}
    assert found["vk"] == {"vk"}


GL_PROGRAM = """
import ctypes
egl = ctypes.CDLL("libEGL.so.1")
gl = ctypes.CDLL("libGLESv2.so.2")
egl.eglGetDisplay.restype = egl.eglCreateContext.restype = egl.eglCreatePbufferSurface.restype = ctypes.c_void_p
d = ctypes.c_void_p(egl.eglGetDisplay(None))
assert egl.eglInitialize(d, None, None)
egl.eglBindAPI(0x30A0)
c, n = ctypes.c_void_p(), ctypes.c_int()
egl.eglChooseConfig(d, (ctypes.c_int * 5)(0x3033, 1, 0x3040, 4, 0x3038), ctypes.byref(c), 1, ctypes.byref(n))
s = ctypes.c_void_p(egl.eglCreatePbufferSurface(d, c, (ctypes.c_int * 5)(0x3057, 16, 0x3056, 16, 0x3038)))
x = ctypes.c_void_p(egl.eglCreateContext(d, c, None, (ctypes.c_int * 3)(0x3098, 2, 0x3038)))
assert egl.eglMakeCurrent(d, s, s, x)
gl.glGetString.restype = ctypes.c_char_p
print(gl.glGetString(0x1F01).decode())
gl.glClear(0x4000)
gl.glFinish()
"""


def sys_python() -> str:
    """Return the interpreter itself: a virtual environment's is a link that some tools do not follow."""
    return os.path.realpath("/proc/self/exe")


def test_pages_that_are_written_often_are_not_protected_each_time(header: Path, tmp_path: Path) -> None:
    """Nothing stored is lost, nothing of an image is taken for the program's, and the program has few faults.

    What is stored where nothing lies is recorded before the first submit that can read it.
    """
    program = build(header, Path(__file__).with_name("mapped.c"), tmp_path / "mapped", "-l:libvulkan.so.1")
    trace = tmp_path / "mapped.dtap"
    command = [Path(sys.executable).with_name("drawtap"), "record", "-q", "-o", trace, "--", program]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    faults, pages, ring_faults, ring_pages = map(int, done.stdout.split())
    assert faults < 50, f"{faults} faults in 150 submits that change one page and an image of {pages} pages"
    assert ring_faults < 1.5 * ring_pages, f"{ring_faults} faults in a round of {ring_pages} pages"
    everything = sql(
        trace,
        'SELECT memory, seq, "offset" AS at, data_bytes AS bytes, hex(data_data) AS data FROM memory_writes'
        " ORDER BY seq",
    )
    written = [row for row in everything if row["memory"] == everything[0]["memory"]]
    changes = [row["data"] for row in written if row["at"] == 16]
    assert changes == [f"{i:02X}" * 4 for i in range(2, 201)]  # the first is in the whole page
    late, filled = 3 << 19, 1 << 18
    assert [(row["at"], row["bytes"]) for row in written if row["at"] != 16] == [
        (0, 4096), ((1 << 20) + 8192 + 64, 4), (late, 4096),
        (filled, 16 * 4096), (filled + 32, 4),
    ]  # fmt: skip
    bound = sql(trace, f'SELECT seq FROM "vkBindBufferMemory" WHERE "memoryOffset" = {late}')
    assert next(row["seq"] for row in written if row["at"] == late) > bound[0]["seq"]
    ring = [row for row in everything if row["memory"] != everything[0]["memory"]]
    assert [(row["at"], row["data"]) for row in ring if row["bytes"] == 4] == [
        (i // 2 % 40 * 4096 + 32, f"{(i + 1) % 256:02X}" * 4) for i in range(160) if i >= 80 or i % 2
    ]  # the first of each page is in the whole page
    assert [row["at"] for row in ring if row["bytes"] != 4] == [4096 * page for page in range(40)]
    by_device = sql(trace, 'SELECT "offset" AS at, data_bytes AS bytes FROM device_writes ORDER BY seq')
    assert [(row["at"], row["bytes"]) for row in by_device] == [(filled, 16), (filled, 16)]


def test_of_a_large_buffer_the_uniforms_that_are_pushed_are_looked_at(header: Path, tmp_path: Path) -> None:
    """What a submit can read is recorded before it, however the buffer is named; the rest when a call names all."""
    program = build(header, Path(__file__).with_name("pushed.c"), tmp_path / "pushed", "-l:libvulkan.so.1")
    trace = tmp_path / "pushed.dtap"
    done = run_drawtap("record", "-q", "-o", trace, "--", program, environment=environment())
    assert done.returncode == 0, done.stderr
    submits = [int(str(row["seq"])) for row in sql(trace, 'SELECT seq FROM "vkQueueSubmit" ORDER BY seq')]
    everything = sql(
        trace,
        "SELECT dense_rank() OVER (ORDER BY first) AS part, seq, start // 4096 AS page, bytes, value FROM (SELECT "
        'seq, "offset" AS start, data_bytes AS bytes, min(seq) OVER (PARTITION BY memory) AS first, '
        "hex(data_data)[:2] AS value FROM memory_writes) ORDER BY seq, page",
    )
    # as (number of the submit in front of which it stands, page, value; of a page that is recorded first, all of it)
    parts: dict[object, list[tuple[int, object, int]]] = {}
    for row in everything:
        assert row["bytes"] in (4, 4096)
        value = int(str(row["value"]), 16) if row["bytes"] == 4 else 0
        before = bisect.bisect_left(submits, int(str(row["seq"])))
        parts.setdefault(row["part"], []).append((before, row["page"], value))
    pages, place = 20, 200
    a, b, c, d, e = (parts[number] for number in range(1, 6))
    assert a == [(i, i % pages, i + 1 if i >= pages else 0) for i in range(2 * pages)] + [(2 * pages, place, 0)]
    first = 2 * pages + 1
    assert b == [(first + i, 0, i and i + 1) for i in range(4)]
    assert c == [(first + 4, 1, 0), (first + 4, 3, 0), (first + 5, 1, 3)]
    assert d == [(first + 6, 0, 0), (first + 7, place, 0)]
    assert e == [(first + 8, 0, 0), (first + 9, place, 0)]


@pytest.mark.parametrize(("threads", "calls"), [(1, 1), (1, 5000), (2, 20_011), (3, 7919)])
def test_a_killed_program_loses_no_call(threads: int, calls: int, header: Path, tmp_path: Path) -> None:
    """Each call that returned is there, with the structure that it was given."""
    options = ("-l:libvulkan.so.1", "-lpthread")
    program = build(header, Path(__file__).with_name("killed.c"), tmp_path / "killed", *options)
    trace, progress = tmp_path / "killed.dtap", tmp_path / "progress"
    words = [trace, "--", program, progress, threads, calls]
    done = run_drawtap("record", "-q", "-o", *map(str, words), environment=environment())
    assert done.returncode == 128 + signal.SIGKILL, done.stderr
    returned = struct.unpack_from(f"<{threads}Q", progress.read_bytes())
    member = "(pBufferMemoryBarriers->>'$[0].{}')::BIGINT AS {}"
    inner = (
        f"SELECT seq, {member.format('srcQueueFamilyIndex', 'caller')}, {member.format('offset', 'number')} "
        'FROM "vkCmdPipelineBarrier"'
    )
    ordered = f"SELECT caller, number, row_number() OVER (PARTITION BY caller ORDER BY seq) - 1 AS due FROM ({inner})"
    query = (
        f"SELECT caller, count(*) AS calls, count(*) FILTER (number <> due) AS wrong FROM ({ordered}) GROUP BY caller"
    )
    found = {row["caller"]: (int(str(row["calls"])), row["wrong"]) for row in sql(trace, query)}
    assert found[0] == (calls, 0)
    for thread in range(threads):
        recorded, wrong = found.get(thread, (0, 0))
        assert wrong == 0
        assert returned[thread] <= recorded <= returned[thread] + 1
