"""Shrink every texture of a recording to an eighth of its width and height.

    drawtap edit game.dtap -o small.dtap --script examples/shrink_textures.py

Does texture traffic matter for this program? Play both recordings and compare: drawtap replay --benchmark. The script is that
of Kyostila's thesis (Graphics Quality Analysis Toolkit, Figure 30), with the `resample` that is not printed there.
"""

import numpy as np

# Components of the formats that this script can average; textures of other types are left as they are.
COMPONENTS = {
    "GL_RGBA": 4,
    "GL_BGRA": 4,
    "GL_RGB": 3,
    "GL_LUMINANCE_ALPHA": 2,
    "GL_LUMINANCE": 1,
    "GL_ALPHA": 1,
    "GL_RED": 1,
}


def resample(pixels, size, new_size, format, alignment):  # noqa: A002
    """Return the means of blocks, rows padded as glPixelStorei asks for."""
    channels = COMPONENTS[format]
    (width, height), (new_width, new_height) = size, new_size
    stride = -(-width * channels // alignment) * alignment
    rows = np.frombuffer(pixels.ljust(stride * height, b"\0"), np.uint8)[: stride * height].reshape(height, stride)
    image = rows[:, : width * channels].reshape(height, width, channels).astype(float)
    ys = np.arange(new_height + 1) * height // new_height
    xs = np.arange(new_width + 1) * width // new_width
    small = np.zeros((new_height, -(-new_width * channels // alignment) * alignment), np.uint8)
    for y in range(new_height):
        for x in range(new_width):
            block = image[ys[y] : ys[y + 1], xs[x] : xs[x + 1]]
            small[y, x * channels : (x + 1) * channels] = block.mean((0, 1)).round()
    return small.tobytes()


# Choose a reduction factor of 1/8ths
factor = 8
alignment = 4
# Iterate over the calls that matter here; `trace.events` are all of them
for event in trace.find("name LIKE '%Image2D' OR name = 'glPixelStorei'"):  # noqa: F821 - drawtap edit defines it
    if event.name == "glPixelStorei":
        if event.values["pname"] == "GL_UNPACK_ALIGNMENT":
            alignment = event.values["param"]
    elif event.name.endswith("Image2D") and not event.name.startswith("glCompressed"):
        pixels, width, height = event.values["pixels"], event.values["width"], event.values["height"]
        known = event.values["type"] == "GL_UNSIGNED_BYTE" and event.values["format"] in COMPONENTS
        new_size = (max(1, width // factor), max(1, height // factor))
        if isinstance(pixels, bytes) and not known:
            continue
        # Replace the texture data with a scaled version
        if isinstance(pixels, bytes):
            format = event.values["format"]  # noqa: A001
            event.values["pixels"] = resample(pixels, (width, height), new_size, format, alignment)
        event.values["width"], event.values["height"] = new_size
        if "Sub" in event.name:
            event.values["xoffset"] = event.values["xoffset"] // factor
            event.values["yoffset"] = event.values["yoffset"] // factor
