"""Programs of others that use Vulkan, recorded and played: what they read back is computed again, byte for byte.

Those that are no package of a distribution are looked for where the environment says: $DRAWTAP_FOREIGN_PYTHON is an
interpreter that has ncnn, wgpu and datoviz, $DRAWTAP_FOREIGN_NODE a folder with node_modules/webgpu, which is Dawn.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from drawtap.errors import UnavailableError
from drawtap.replay import engine
from shared import run_drawtap, x_server
from vulkan.conftest import environment, swiftshader

# Twice what it is given, by a compute shader.
WGSL = (
    "@group(0) @binding(0) var<storage, read_write> d: array<u32>;"
    "@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) i: vec3u) { d[i.x] *= 2u; }"
)
WGPU = f"""
from wgpu.utils.compute import compute_with_buffers
found = compute_with_buffers({{0: bytes(range(16))}}, {{0: (4, "I")}}, '''{WGSL}''', n=1)[0]
assert bytes(found.cast("B")) == bytes(2 * b & 255 for b in range(16)), bytes(found.cast("B"))
"""
NCNN = """
import ncnn, numpy
net = ncnn.Net()
net.opt.use_vulkan_compute = True
assert net.load_param_mem("7767517\\n2 2\\nInput in 0 1 in 0=4 1=4 2=4\\nPooling p 1 1 in out 0=0 1=2 2=2\\n") == 0
net.load_model_mem(bytes(4))
given = numpy.arange(64, dtype=numpy.float32).reshape(4, 4, 4)
with net.create_extractor() as run:
    run.input("in", ncnn.Mat(given))
    code, found = run.extract("out")
wanted = given.reshape(4, 2, 2, 2, 2).max(axis=(2, 4))
assert code == 0 and numpy.abs(numpy.array(found) - wanted).max() < 0.1, numpy.array(found)
"""
DATOVIZ = """
import os, datoviz, numpy
app = datoviz.App(offscreen=True)
figure = app.figure(64, 64)
panel = figure.panel()
corners = numpy.array([[-0.5, -0.5, 0], [0.5, -0.5, 0], [0, 0.5, 0]], dtype=numpy.float32)
colors = numpy.array([[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255]], dtype=numpy.uint8)
panel.add(app.basic("triangle_list", position=corners, color=colors))
app.screenshot(figure, os.environ["XDG_RUNTIME_DIR"] + "/shot.png")
app.destroy()
"""
NO_DEVICE = 77
DAWN = f"""
const {{ create, globals }} = require("webgpu");
Object.assign(globalThis, globals);
(async () => {{
  const gpu = create(["backend=vulkan"]);
  const adapter = await gpu.requestAdapter();
  if (!adapter) process.exit({NO_DEVICE});
  const device = await adapter.requestDevice();
  const module = device.createShaderModule({{ code: `{WGSL}` }});
  const pipeline = device.createComputePipeline({{ layout: "auto", compute: {{ module, entryPoint: "main" }} }});
  const use = GPUBufferUsage;
  const data = device.createBuffer({{ size: 16, usage: use.STORAGE | use.COPY_SRC | use.COPY_DST }});
  const read = device.createBuffer({{ size: 16, usage: use.MAP_READ | use.COPY_DST }});
  device.queue.writeBuffer(data, 0, new Uint32Array([1, 2, 3, 4]));
  const resource = {{ buffer: data }}, layout = pipeline.getBindGroupLayout(0);
  const group = device.createBindGroup({{ layout, entries: [{{ binding: 0, resource }}] }});
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(1);
  pass.end();
  encoder.copyBufferToBuffer(data, 0, read, 0, 16);
  device.queue.submit([encoder.finish()]);
  await read.mapAsync(GPUMapMode.READ);
  const found = new Uint32Array(read.getMappedRange()).join();
  process.exit(found === "2,4,6,8" ? 0 : 3);
}})();
"""


def glmark2(name: str) -> Callable[[], list[str]]:
    def command() -> list[str]:
        if not shutil.which(name):
            pytest.skip(f"{name} is not installed")
        return [name, "--off-screen", "--validate", "-b", "texture", "-b", "build:use-vbo=false"]

    return command


def python(package: str, program: str) -> Callable[[], list[str]]:
    def command() -> list[str]:
        interpreter = os.environ.get("DRAWTAP_FOREIGN_PYTHON", "")
        has = [interpreter, "-c", f"import {package}"]
        if not interpreter or subprocess.run(has, capture_output=True, check=False).returncode:
            pytest.skip(f"$DRAWTAP_FOREIGN_PYTHON names no interpreter that has {package}")
        return [interpreter, "-c", program]

    return command


def dawn() -> list[str]:
    folder, node = os.environ.get("DRAWTAP_FOREIGN_NODE", ""), shutil.which("node")
    if not folder or not node or not (Path(folder) / "node_modules/webgpu").is_dir():
        pytest.skip("$DRAWTAP_FOREIGN_NODE names no folder with node_modules/webgpu, or there is no node")
    return [node, "-e", DAWN]


def zink() -> Mapping[str, str]:
    try:
        return engine.environment_of("zink")
    except UnavailableError as error:
        pytest.skip(str(error))


def modules() -> Mapping[str, str]:
    # Dawn takes no device of lavapipe before 23: it wants shaders that index arrays of uniforms by variables.
    node = os.environ.get("DRAWTAP_FOREIGN_NODE", "") + "/node_modules"
    return {"NODE_PATH": node, "VK_ICD_FILENAMES": swiftshader()["VK_ICD_FILENAMES"]}


# The command, and what it needs in its environment.
PROGRAMS: dict[str, tuple[Callable[[], list[str]], Callable[[], Mapping[str, str]]]] = {
    "glmark2": (glmark2("glmark2"), zink),
    "glmark2-es2": (glmark2("glmark2-es2"), zink),
    "ncnn": (python("ncnn", NCNN), dict),
    "wgpu-py": (python("wgpu.utils.compute", WGPU), dict),
    "datoviz": (python("datoviz", DATOVIZ), dict),
    "Dawn": (dawn, modules),
}


@pytest.mark.exhaustive  # programs of others, which start slowly
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_it_read_back_is_computed_again(name: str, tmp_path: Path) -> None:
    command, more = PROGRAMS[name]
    program = command()
    trace = tmp_path / "foreign.dtap"
    with x_server("-screen", "0", "640x480x24") as display:
        if display is None:
            pytest.skip("Xvfb is not installed")
        own = {**environment(), **more(), "DISPLAY": display, "XDG_RUNTIME_DIR": str(tmp_path)}
        done = run_drawtap("record", "-q", "--api", "vk", "-o", trace, "--", *program, environment=own)
        if done.returncode == NO_DEVICE:
            pytest.skip(f"{name} takes no device of this driver")
        assert done.returncode == 0, done.stdout[-500:] + done.stderr[-500:]
    for driver in {own["VK_ICD_FILENAMES"], environment()["VK_ICD_FILENAMES"]}:
        played = run_drawtap(
            "replay", trace, "--verify", "--json", environment={**environment(), "VK_ICD_FILENAMES": driver}
        )
        found = json.loads(played.stdout)
        assert (found["different"], found["skipped"]) == (0, 0), found["findings"]
        assert found["compared"] > 0
