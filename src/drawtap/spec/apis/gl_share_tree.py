"""The state of OpenGL and OpenGL ES that contexts share: textures, buffers, programs and the like (see `gl_tree`)."""

from drawtap.spec.tree import Tree


def add_classes(t: Tree) -> None:
    """Add the classes of a share group to a tree."""
    _add_buffers(t)
    _add_textures(t)
    _add_programs(t)
    _add_group(t)


def _add_buffers(t: Tree) -> None:
    t.add(
        "buffer",
        """
        GL_BUFFER_SIZE i 0
        GL_BUFFER_USAGE e GL_STATIC_DRAW
        GL_BUFFER_IMMUTABLE_STORAGE b
        GL_BUFFER_STORAGE_FLAGS u 0
        GL_BUFFER_MAPPED b
        GL_BUFFER_ACCESS e GL_READ_WRITE
        GL_BUFFER_ACCESS_FLAGS u 0
        GL_BUFFER_MAP_OFFSET i 0
        GL_BUFFER_MAP_LENGTH i 0
        label s
        content h
        """,
    )


def _add_textures(t: Tree) -> None:
    sampling = """
        GL_TEXTURE_MIN_FILTER e GL_NEAREST_MIPMAP_LINEAR
        GL_TEXTURE_MAG_FILTER e GL_LINEAR
        GL_TEXTURE_WRAP_{S,T,R} e GL_REPEAT
        GL_TEXTURE_MIN_LOD f -1000
        GL_TEXTURE_MAX_LOD f 1000
        GL_TEXTURE_LOD_BIAS f 0
        GL_TEXTURE_COMPARE_MODE e GL_NONE
        GL_TEXTURE_COMPARE_FUNC e GL_LEQUAL
        GL_TEXTURE_MAX_ANISOTROPY f 1
        GL_TEXTURE_BORDER_COLOR f4 0
        GL_TEXTURE_SRGB_DECODE_EXT e GL_DECODE_EXT
        GL_TEXTURE_CUBE_MAP_SEAMLESS b
        GL_TEXTURE_REDUCTION_MODE_ARB e GL_WEIGHTED_AVERAGE_ARB
    """
    t.add("sampler", sampling + "\nlabel s")
    t.add(
        "texture",
        f"""
        target e GL_NONE
        {sampling}
        GL_TEXTURE_BASE_LEVEL i 0
        GL_TEXTURE_MAX_LEVEL i 1000
        GL_TEXTURE_SWIZZLE_R e GL_RED
        GL_TEXTURE_SWIZZLE_G e GL_GREEN
        GL_TEXTURE_SWIZZLE_B e GL_BLUE
        GL_TEXTURE_SWIZZLE_A e GL_ALPHA
        GL_DEPTH_STENCIL_TEXTURE_MODE e GL_DEPTH_COMPONENT
        GL_DEPTH_TEXTURE_MODE e GL_LUMINANCE
        GL_GENERATE_MIPMAP b
        GL_TEXTURE_PRIORITY f 1
        GL_TEXTURE_IMMUTABLE_FORMAT b
        GL_TEXTURE_IMMUTABLE_LEVELS i 0
        GL_TEXTURE_VIEW_{{MIN_LEVEL,NUM_LEVELS,MIN_LAYER,NUM_LAYERS}} i 0
        GL_TEXTURE_CROP_RECT_OES i4 0
        GL_IMAGE_FORMAT_COMPATIBILITY_TYPE e GL_IMAGE_FORMAT_COMPATIBILITY_BY_SIZE
        label s
        """,
        levels="level[]",
    )
    t.add(
        "level",
        """
        GL_TEXTURE_{WIDTH,HEIGHT,DEPTH} i 0
        GL_TEXTURE_INTERNAL_FORMAT e GL_NONE
        GL_TEXTURE_BORDER i 0
        GL_TEXTURE_SAMPLES i 0
        GL_TEXTURE_FIXED_SAMPLE_LOCATIONS b 1
        GL_TEXTURE_COMPRESSED_IMAGE_SIZE i 0
        GL_TEXTURE_BUFFER_DATA_STORE_BINDING n
        GL_TEXTURE_BUFFER_{OFFSET,SIZE} i 0
        content h
        """,
    )
    t.add(
        "renderbuffer",
        """
        GL_RENDERBUFFER_{WIDTH,HEIGHT} i 0
        GL_RENDERBUFFER_INTERNAL_FORMAT e GL_RGBA
        GL_RENDERBUFFER_SAMPLES i 0
        label s
        content h
        """,
    )


def _add_programs(t: Tree) -> None:
    t.add(
        "shader",
        """
        GL_SHADER_TYPE e GL_NONE
        GL_DELETE_STATUS b
        GL_COMPILE_STATUS b
        compiled h
        source h
        GL_SHADER_SOURCE_LENGTH i 0
        label s
        """,
    )
    t.add("uniform", "location i -1\nvalue f16 0\ncomponents i 0")
    t.add("uniform_block", "index i -1\nGL_UNIFORM_BLOCK_BINDING i 0")
    t.add("storage_block", "index i -1\nbinding i 0")
    t.add("attribute_location", "location i -1")
    t.add(
        "program",
        """
        GL_DELETE_STATUS b
        GL_LINK_STATUS b
        GL_PROGRAM_SEPARABLE b
        GL_PROGRAM_BINARY_RETRIEVABLE_HINT b
        shaders s
        attached h
        bound_attributes h
        varyings h
        linked h                    # what glLinkProgram made of all that
        label s
        """,
        uniforms="uniform[]",
        uniform_blocks="uniform_block[]",
        storage_blocks="storage_block[]",
        attributes="attribute_location[]",
    )


def _add_group(t: Tree) -> None:
    t.add("arb_program", "target e GL_NONE\nsource h\nlocals h")
    t.add("list", "calls i 0\ncontent h")
    t.add("sync", "condition e GL_SYNC_GPU_COMMANDS_COMPLETE\nsignalled h")
    t.add("memory", "content h")
    t.add(
        "share",
        "",
        buffers="buffer()",
        textures="texture()",
        default_textures=(
            "texture{GL_TEXTURE_1D GL_TEXTURE_2D GL_TEXTURE_3D GL_TEXTURE_CUBE_MAP GL_TEXTURE_1D_ARRAY "
            "GL_TEXTURE_2D_ARRAY GL_TEXTURE_CUBE_MAP_ARRAY GL_TEXTURE_RECTANGLE GL_TEXTURE_BUFFER "
            "GL_TEXTURE_2D_MULTISAMPLE GL_TEXTURE_2D_MULTISAMPLE_ARRAY GL_TEXTURE_EXTERNAL_OES}"
        ),
        samplers="sampler()",
        renderbuffers="renderbuffer()",
        shaders="shader()",
        programs="program()",
        arb_programs="arb_program()",
        lists="list()",
        syncs="sync()",
    )
