"""Shrink every uncompressed 2D texture upload to a quarter of its size in each direction.

If the frame rate rises, the program is limited by texture memory. Kyostila's thesis (Figure 30) does it to a recording.
It shrinks only whole images from memory in 8-bit colour formats, and only while their texture has nothing but whole
images. Later partial uploads into a shrunk texture are left out.
"""

from drawtap.instrument import func

_HEADER = """
    #include <stdint.h>
    #include <string.h>
    #include <algorithm>
    #include <set>
    #include <vector>

    constexpr int FACTOR = 4;

    static int channels(GLenum format, GLenum type) {
      if (type != GL_UNSIGNED_BYTE) return 0;
      switch (format) {
        case GL_RGBA: case GL_BGRA_EXT: return 4;
        case GL_RGB: return 3;
        case GL_LUMINANCE_ALPHA: return 2;
        case GL_LUMINANCE: case GL_ALPHA: return 1;
        default: return 0;
      }
    }

    static int asked(GLenum what) {
      GLint value = 0;
      glGetIntegerv(what, &value);
      return value;
    }

    static std::set<int>& shrunk() { return drawtap::per_context<std::set<int>>(); }

    // Box-filter `pixels` into `small`; false: leave this upload alone.
    static bool shrink(const void* pixels, int width, int height, int count, std::vector<uint8_t>& small) {
      int alignment = asked(GL_UNPACK_ALIGNMENT);
      size_t row = ((size_t)width * count + alignment - 1) / alignment * alignment;
      int w = std::max(1, width / FACTOR), h = std::max(1, height / FACTOR);
      size_t small_row = ((size_t)w * count + alignment - 1) / alignment * alignment;
      small.assign(small_row * h, 0);
      for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
          for (int c = 0; c < count; c++) {
            int sum = 0, n = 0;
            for (int dy = 0; dy < FACTOR && y * FACTOR + dy < height; dy++)
              for (int dx = 0; dx < FACTOR && x * FACTOR + dx < width; dx++, n++)
                sum += ((const uint8_t*)pixels)[(y * FACTOR + dy) * row + (size_t)(x * FACTOR + dx) * count + c];
            small[y * small_row + (size_t)x * count + c] = (uint8_t)(sum / n);
          }
      return true;
    }
"""

shrinking = func.Hooks(
    header=_HEADER,
    hook_funcs=[
        lambda f: func.Hook(
            is_target=f.name == "glTexImage2D",
            before_run="""
                static thread_local std::vector<uint8_t> small;
                int count = channels(format, type);
                if (target == GL_TEXTURE_2D && border == 0 && count && width >= FACTOR && height >= FACTOR) {
                  if (!pixels) {
                    width /= FACTOR, height /= FACTOR;
                  } else if (shrink(pixels, width, height, count, small)) {
                    pixels = small.data();
                    width /= FACTOR, height /= FACTOR;
                    shrunk().insert(asked(GL_TEXTURE_BINDING_2D));
                  }
                }
            """,
        ),
        lambda f: func.Hook(
            is_target=f.name == "glTexSubImage2D",
            before_run="if (target == GL_TEXTURE_2D && shrunk().count(asked(GL_TEXTURE_BINDING_2D))) _skip = true;",
        ),
    ],
)
