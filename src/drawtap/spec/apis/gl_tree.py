"""The state of OpenGL and OpenGL ES: its classes, their variables and initial values.

Paths and values are those of docs/state-paths.md. Groups say what draws read: `raster` every draw, `pixel` transfers of
pixels, `fixed` draws without a program, `list` what is kept for display lists.
"""

from drawtap.spec.apis import gl_share_tree, vg_tree
from drawtap.spec.tree import Tree

TREE = t = Tree()

# ---- parts of a context ----------------------------------------------------------------------------------------

t.add(
    "light",
    """
    @fixed
    GL_AMBIENT c4 0 0 0 1
    GL_DIFFUSE c4 0 0 0 1
    GL_SPECULAR c4 0 0 0 1
    GL_POSITION f4 0 0 1 0
    GL_SPOT_DIRECTION f3 0 0 -1
    GL_SPOT_EXPONENT f 0
    GL_SPOT_CUTOFF f 180
    GL_CONSTANT_ATTENUATION f 1
    GL_LINEAR_ATTENUATION f 0
    GL_QUADRATIC_ATTENUATION f 0
    """,
)
t.add(
    "material",
    """
    @fixed
    GL_AMBIENT c4 0.2 0.2 0.2 1
    GL_DIFFUSE c4 0.8 0.8 0.8 1
    GL_SPECULAR c4 0 0 0 1
    GL_EMISSION c4 0 0 0 1
    GL_SHININESS f 0
    GL_COLOR_INDEXES f3 0 1 1
    """,
)
t.add("clip_plane", "@fixed\nequation d4 0")
t.add(
    "gen",
    """
    @fixed
    GL_TEXTURE_GEN_MODE e GL_EYE_LINEAR
    GL_OBJECT_PLANE d4 0
    GL_EYE_PLANE d4 0
    """,
)
t.add(
    "texture_unit",
    """
    @bindings
    GL_TEXTURE_BINDING_{1D,2D,3D,CUBE_MAP,1D_ARRAY,2D_ARRAY,CUBE_MAP_ARRAY,RECTANGLE,BUFFER} n
    GL_TEXTURE_BINDING_{2D_MULTISAMPLE,2D_MULTISAMPLE_ARRAY,EXTERNAL_OES} n
    GL_SAMPLER_BINDING n
    @fixed
    enabled.GL_TEXTURE_{1D,2D,3D,CUBE_MAP,RECTANGLE} b
    enabled.GL_TEXTURE_GEN_{S,T,R,Q} b
    enabled.GL_TEXTURE_EXTERNAL_OES b
    env.GL_TEXTURE_ENV_MODE e GL_MODULATE
    env.GL_TEXTURE_ENV_COLOR c4 0
    env.GL_COMBINE_{RGB,ALPHA} e GL_MODULATE
    env.GL_SRC0_RGB e GL_TEXTURE
    env.GL_SRC1_RGB e GL_PREVIOUS
    env.GL_SRC2_RGB e GL_CONSTANT
    env.GL_SRC0_ALPHA e GL_TEXTURE
    env.GL_SRC1_ALPHA e GL_PREVIOUS
    env.GL_SRC2_ALPHA e GL_CONSTANT
    env.GL_OPERAND{0,1}_RGB e GL_SRC_COLOR
    env.GL_OPERAND2_RGB e GL_SRC_ALPHA
    env.GL_OPERAND{0,1,2}_ALPHA e GL_SRC_ALPHA
    env.GL_{RGB,ALPHA}_SCALE f 1
    env.GL_TEXTURE_LOD_BIAS f 0
    env.GL_COORD_REPLACE b
    GL_CURRENT_TEXTURE_COORDS f4 0 0 0 1
    GL_TEXTURE_MATRIX f16 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1
    GL_TEXTURE_STACK_DEPTH i 1
    stack f16 0
    """,
    gen="gen{GL_S GL_T GL_R GL_Q}",
)
t.add(
    "image_unit",
    """
    GL_IMAGE_BINDING_NAME n
    GL_IMAGE_BINDING_LEVEL i
    GL_IMAGE_BINDING_LAYERED b
    GL_IMAGE_BINDING_LAYER i
    GL_IMAGE_BINDING_ACCESS e GL_READ_ONLY
    GL_IMAGE_BINDING_FORMAT e GL_R8
    """,
)
t.add("attribute", "GL_CURRENT_VERTEX_ATTRIB f4 0 0 0 1")
t.add(
    "evaluator",
    """
    order i2 1
    domain f4 0 1 0 1
    coefficients h
    """,
)
t.add("pixel_map", "size i 1\nvalues h")
# The imaging subset. Variables that glPushAttrib saves stand first.
t.add(
    "color_table",
    """
    GL_COLOR_TABLE_SCALE f4 1
    GL_COLOR_TABLE_BIAS f4 0
    GL_COLOR_TABLE_FORMAT e GL_RGBA
    GL_COLOR_TABLE_WIDTH i 0
    content h
    """,
)
t.add(
    "convolution",
    """
    GL_CONVOLUTION_BORDER_MODE e GL_REDUCE
    GL_CONVOLUTION_BORDER_COLOR f4 0
    GL_CONVOLUTION_FILTER_SCALE f4 1
    GL_CONVOLUTION_FILTER_BIAS f4 0
    GL_CONVOLUTION_FORMAT e GL_RGBA
    GL_CONVOLUTION_WIDTH i 0
    GL_CONVOLUTION_HEIGHT i 0
    content h
    """,
)
t.add("histogram", "GL_HISTOGRAM_WIDTH i 0\nGL_HISTOGRAM_FORMAT e GL_RGBA\nGL_HISTOGRAM_SINK b\ncounts h")
t.add("minmax", "GL_MINMAX_FORMAT e GL_RGBA\nGL_MINMAX_SINK b\nvalues h")
t.add("saved", "mask u\nvalues h")
t.add("arb_program_binding", "GL_PROGRAM_BINDING_NV n\nenv_parameters h")

CAPABILITIES = """
    enabled.GL_ALPHA_TEST b
    enabled.GL_AUTO_NORMAL b
    enabled.GL_BLEND*16 b
    enabled.GL_CLIP_DISTANCE{0,1,2,3,4,5,6,7} b
    enabled.GL_COLOR_LOGIC_OP b
    enabled.GL_COLOR_MATERIAL b
    enabled.GL_COLOR_SUM b
    enabled.GL_COLOR_TABLE b
    enabled.GL_CONVOLUTION_{1D,2D} b
    enabled.GL_CULL_FACE b
    enabled.GL_DEBUG_OUTPUT b
    enabled.GL_DEBUG_OUTPUT_SYNCHRONOUS b
    enabled.GL_DEPTH_BOUNDS_TEST_EXT b
    enabled.GL_DEPTH_CLAMP b
    enabled.GL_DEPTH_TEST b
    enabled.GL_DITHER b 1
    enabled.GL_FOG b
    enabled.GL_FRAGMENT_PROGRAM_ARB b
    enabled.GL_FRAMEBUFFER_SRGB b
    enabled.GL_HISTOGRAM b
    enabled.GL_INDEX_LOGIC_OP b
    enabled.GL_LIGHT{0,1,2,3,4,5,6,7} b
    enabled.GL_LIGHTING b
    enabled.GL_LINE_SMOOTH b
    enabled.GL_LINE_STIPPLE b
    enabled.GL_MAP1_{COLOR_4,INDEX,NORMAL} b
    enabled.GL_MAP1_TEXTURE_COORD_{1,2,3,4} b
    enabled.GL_MAP1_VERTEX_{3,4} b
    enabled.GL_MAP2_{COLOR_4,INDEX,NORMAL} b
    enabled.GL_MAP2_TEXTURE_COORD_{1,2,3,4} b
    enabled.GL_MAP2_VERTEX_{3,4} b
    enabled.GL_MINMAX b
    enabled.GL_MULTISAMPLE b 1
    enabled.GL_NORMALIZE b
    enabled.GL_POINT_SMOOTH b
    enabled.GL_POINT_SPRITE b
    enabled.GL_POINT_SIZE_ARRAY_OES b
    enabled.GL_POLYGON_OFFSET_{FILL,LINE,POINT} b
    enabled.GL_POLYGON_SMOOTH b
    enabled.GL_POLYGON_STIPPLE b
    enabled.GL_PRIMITIVE_RESTART b
    enabled.GL_PRIMITIVE_RESTART_FIXED_INDEX b
    enabled.GL_PROGRAM_POINT_SIZE b
    enabled.GL_RASTERIZER_DISCARD b
    enabled.GL_RESCALE_NORMAL b
    enabled.GL_SAMPLE_ALPHA_TO_COVERAGE b
    enabled.GL_SAMPLE_ALPHA_TO_ONE b
    enabled.GL_SAMPLE_COVERAGE b
    enabled.GL_SAMPLE_MASK b
    enabled.GL_SAMPLE_SHADING b
    enabled.GL_SCISSOR_TEST*16 b
    enabled.GL_SEPARABLE_2D b
    enabled.GL_STENCIL_TEST b
    enabled.GL_STENCIL_TEST_TWO_SIDE_EXT b
    enabled.GL_TEXTURE_CUBE_MAP_SEAMLESS b
    enabled.GL_VERTEX_PROGRAM_ARB b
    enabled.GL_VERTEX_PROGRAM_TWO_SIDE b
    enabled.GL_BLEND_ADVANCED_COHERENT_KHR b 1
    enabled.GL_CONSERVATIVE_RASTERIZATION_NV b
    enabled.GL_PER_STAGE_CONSTANTS_NV b
    enabled.GL_TEXTURE_COLOR_TABLE_SGI b
    enabled.GL_POST_CONVOLUTION_COLOR_TABLE b
    enabled.GL_POST_COLOR_MATRIX_COLOR_TABLE b
"""

RASTER = """
    GL_VIEWPORT*16 f4 0
    GL_DEPTH_RANGE*16 d2 0 1
    GL_SCISSOR_BOX*16 i4 0
    GL_COLOR_WRITEMASK*16 b4 1
    GL_DEPTH_WRITEMASK b 1
    GL_STENCIL_{,BACK_}WRITEMASK u 0xffffffff
    GL_INDEX_WRITEMASK u 0xffffffff
    GL_BLEND_COLOR f4 0
    GL_BLEND_SRC_RGB*16 e GL_ONE
    GL_BLEND_DST_RGB*16 e GL_ZERO
    GL_BLEND_SRC_ALPHA*16 e GL_ONE
    GL_BLEND_DST_ALPHA*16 e GL_ZERO
    GL_BLEND_EQUATION_{RGB,ALPHA}*16 e GL_FUNC_ADD
    GL_LOGIC_OP_MODE e GL_COPY
    GL_ALPHA_TEST_FUNC e GL_ALWAYS
    GL_ALPHA_TEST_REF f 0
    GL_DEPTH_FUNC e GL_LESS
    GL_DEPTH_BOUNDS_EXT f2 0 1
    GL_STENCIL_FUNC e GL_ALWAYS
    GL_STENCIL_REF i 0
    GL_STENCIL_VALUE_MASK u 0xffffffff
    GL_STENCIL_{FAIL,PASS_DEPTH_FAIL,PASS_DEPTH_PASS} e GL_KEEP
    GL_STENCIL_BACK_FUNC e GL_ALWAYS
    GL_STENCIL_BACK_REF i 0
    GL_STENCIL_BACK_VALUE_MASK u 0xffffffff
    GL_STENCIL_BACK_{FAIL,PASS_DEPTH_FAIL,PASS_DEPTH_PASS} e GL_KEEP
    GL_ACTIVE_STENCIL_FACE_EXT e GL_FRONT
    GL_CULL_FACE_MODE e GL_BACK
    GL_FRONT_FACE e GL_CCW
    GL_POLYGON_MODE e2 GL_FILL
    GL_POLYGON_OFFSET_{FACTOR,UNITS,CLAMP} f 0
    GL_LINE_WIDTH f 1
    GL_LINE_STIPPLE_PATTERN u 0xffff
    GL_LINE_STIPPLE_REPEAT i 1
    polygon_stipple h
    GL_POINT_SIZE f 1
    GL_POINT_SIZE_MIN f 0
    GL_POINT_SIZE_MAX f 1
    GL_POINT_FADE_THRESHOLD_SIZE f 1
    GL_POINT_SPRITE_COORD_ORIGIN e GL_UPPER_LEFT
    GL_POINT_DISTANCE_ATTENUATION f3 1 0 0
    GL_SAMPLE_COVERAGE_VALUE f 1
    GL_SAMPLE_COVERAGE_INVERT b
    GL_SAMPLE_MASK_VALUE*4 u 0xffffffff
    GL_MIN_SAMPLE_SHADING_VALUE f 0
    GL_PROVOKING_VERTEX e GL_LAST_VERTEX_CONVENTION
    GL_CLIP_ORIGIN e GL_LOWER_LEFT
    GL_CLIP_DEPTH_MODE e GL_NEGATIVE_ONE_TO_ONE
    GL_PATCH_VERTICES i 3
    GL_PATCH_DEFAULT_OUTER_LEVEL f4 1
    GL_PATCH_DEFAULT_INNER_LEVEL f2 1
    GL_PRIMITIVE_RESTART_INDEX u 0
    GL_PRIMITIVE_BOUNDING_BOX f8 -1 -1 -1 1 1 1 1 1
    GL_CLAMP_VERTEX_COLOR e GL_TRUE
    GL_CLAMP_FRAGMENT_COLOR e GL_FIXED_ONLY
    GL_{LINE_SMOOTH,POLYGON_SMOOTH,POINT_SMOOTH,FRAGMENT_SHADER_DERIVATIVE}_HINT e GL_DONT_CARE
    GL_SHADE_MODEL e GL_SMOOTH
    GL_RENDER_MODE e GL_RENDER
"""


def _store(way: str) -> str:
    """Return the variables of glPixelStore for one way of pixels."""
    return f"""\
    GL_{way}_{{SWAP_BYTES,LSB_FIRST}} b
    GL_{way}_{{ROW_LENGTH,IMAGE_HEIGHT,SKIP_ROWS,SKIP_PIXELS,SKIP_IMAGES}} i 0
    GL_{way}_ALIGNMENT i 4
    GL_{way}_COMPRESSED_BLOCK_{{WIDTH,HEIGHT,DEPTH,SIZE}} i 0
"""


t.add(
    "context",
    f"""
    GL_ACTIVE_TEXTURE e GL_TEXTURE0
    GL_CLIENT_ACTIVE_TEXTURE e GL_TEXTURE0
    GL_MATRIX_MODE e GL_MODELVIEW
    GL_DEBUG_GROUP_STACK_DEPTH i 1
    GL_LIST_INDEX n
    GL_LIST_MODE e GL_NONE
    GL_LIST_BASE u 0
    GL_ATTRIB_STACK_DEPTH i 0
    GL_CLIENT_ATTRIB_STACK_DEPTH i 0
    attrib_stack h
    client_attrib_stack h
    in_begin b
    vertices h                  # of the primitive between glBegin and glEnd
    GL_GENERATE_MIPMAP_HINT e GL_DONT_CARE
    GL_TEXTURE_COMPRESSION_HINT e GL_DONT_CARE
    GL_FEEDBACK_BUFFER_SIZE i 0
    GL_FEEDBACK_BUFFER_TYPE e GL_2D
    GL_SELECTION_BUFFER_SIZE i 0
    GL_NAME_STACK_DEPTH i 0
    names h
    GL_CURRENT_QUERY[]*8 n      # by kind, see query_slot
    conditional_query n
    conditional_mode e GL_NONE
    condition b
    debug_callback p
    @bindings
    GL_{{ARRAY,COPY_READ,COPY_WRITE,PIXEL_PACK,PIXEL_UNPACK,TRANSFORM_FEEDBACK,UNIFORM,TEXTURE}}_BUFFER_BINDING n
    GL_{{DRAW_INDIRECT,DISPATCH_INDIRECT,ATOMIC_COUNTER,SHADER_STORAGE,QUERY}}_BUFFER_BINDING n
    GL_PARAMETER_BUFFER_BINDING_ARB n
    GL_{{VERTEX_ARRAY,RENDERBUFFER,TRANSFORM_FEEDBACK,DRAW_FRAMEBUFFER,READ_FRAMEBUFFER}}_BINDING n
    GL_CURRENT_PROGRAM n
    GL_PROGRAM_PIPELINE_BINDING n
    GL_{{VERTEX,FRAGMENT}}_PROGRAM_BINDING_NV n
    arb_environment h
    @indexed
    GL_UNIFORM_BUFFER_BINDING[]*96 n
    GL_UNIFORM_BUFFER_{{START,SIZE}}[]*96 i 0
    GL_SHADER_STORAGE_BUFFER_BINDING[]*96 n
    GL_SHADER_STORAGE_BUFFER_{{START,SIZE}}[]*96 i 0
    GL_ATOMIC_COUNTER_BUFFER_BINDING[]*16 n
    GL_ATOMIC_COUNTER_BUFFER_{{START,SIZE}}[]*16 i 0
    @raster
{CAPABILITIES}{RASTER}
    @clear
    GL_COLOR_CLEAR_VALUE f4 0
    GL_DEPTH_CLEAR_VALUE d 1
    GL_STENCIL_CLEAR_VALUE i 0
    GL_INDEX_CLEAR_VALUE f 0
    GL_ACCUM_CLEAR_VALUE f4 0
    @unpack
{_store("UNPACK")}    @pack
{_store("PACK")}    GL_PACK_INVERT_MESA b
    @pixel
    GL_MAP_COLOR b
    GL_MAP_STENCIL b
    GL_INDEX_SHIFT i 0
    GL_INDEX_OFFSET i 0
    GL_{{RED,GREEN,BLUE,ALPHA,DEPTH}}_SCALE f 1
    GL_{{RED,GREEN,BLUE,ALPHA,DEPTH}}_BIAS f 0
    GL_POST_CONVOLUTION_{{RED,GREEN,BLUE,ALPHA}}_SCALE f 1
    GL_POST_CONVOLUTION_{{RED,GREEN,BLUE,ALPHA}}_BIAS f 0
    GL_POST_COLOR_MATRIX_{{RED,GREEN,BLUE,ALPHA}}_SCALE f 1
    GL_POST_COLOR_MATRIX_{{RED,GREEN,BLUE,ALPHA}}_BIAS f 0
    GL_ZOOM_{{X,Y}} f 1
    GL_CLAMP_READ_COLOR e GL_FIXED_ONLY
    @current
    GL_CURRENT_COLOR f4 1
    GL_CURRENT_SECONDARY_COLOR f4 0 0 0 1
    GL_CURRENT_INDEX f 1
    GL_CURRENT_NORMAL f3 0 0 1
    GL_CURRENT_FOG_COORD f 0
    GL_EDGE_FLAG b 1
    @raster_position
    GL_CURRENT_RASTER_POSITION f4 0 0 0 1
    GL_CURRENT_RASTER_POSITION_VALID b 1
    raster_position h           # everything that glRasterPos sets
    @fixed
    GL_MODELVIEW_MATRIX f16 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1
    GL_MODELVIEW_STACK_DEPTH i 1
    GL_PROJECTION_MATRIX f16 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1
    GL_PROJECTION_STACK_DEPTH i 1
    GL_COLOR_MATRIX f16 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1
    GL_COLOR_MATRIX_STACK_DEPTH i 1
    GL_LIGHT_MODEL_AMBIENT c4 0.2 0.2 0.2 1
    GL_LIGHT_MODEL_LOCAL_VIEWER b
    GL_LIGHT_MODEL_TWO_SIDE b
    GL_LIGHT_MODEL_COLOR_CONTROL e GL_SINGLE_COLOR
    GL_COLOR_MATERIAL_FACE e GL_FRONT_AND_BACK
    GL_COLOR_MATERIAL_PARAMETER e GL_AMBIENT_AND_DIFFUSE
    GL_FOG_MODE e GL_EXP
    GL_FOG_DENSITY f 1
    GL_FOG_START f 0
    GL_FOG_END f 1
    GL_FOG_INDEX f 0
    GL_FOG_COLOR c4 0
    GL_FOG_COORD_SRC e GL_FRAGMENT_DEPTH
    GL_FOG_DISTANCE_MODE_NV e GL_EYE_PLANE_ABSOLUTE_NV
    GL_PERSPECTIVE_CORRECTION_HINT e GL_DONT_CARE
    GL_FOG_HINT e GL_DONT_CARE
    @grid
    GL_MAP1_GRID_DOMAIN f2 0 1
    GL_MAP1_GRID_SEGMENTS i 1
    GL_MAP2_GRID_DOMAIN f4 0 1 0 1
    GL_MAP2_GRID_SEGMENTS i2 1
    @
    """,
    texture_units="texture_unit[8]",
    image_units="image_unit[]",
    lights="light[8]",
    materials="material{GL_FRONT GL_BACK}",
    clip_planes="clip_plane[8]",
    attributes="attribute[16]",
    matrices="matrix[]",
    maps="evaluator[]",
    pixel_maps=(
        "pixel_map{GL_PIXEL_MAP_I_TO_I GL_PIXEL_MAP_S_TO_S GL_PIXEL_MAP_I_TO_R GL_PIXEL_MAP_I_TO_G "
        "GL_PIXEL_MAP_I_TO_B GL_PIXEL_MAP_I_TO_A GL_PIXEL_MAP_R_TO_R GL_PIXEL_MAP_G_TO_G GL_PIXEL_MAP_B_TO_B "
        "GL_PIXEL_MAP_A_TO_A}"
    ),
    color_tables=(
        "color_table{GL_COLOR_TABLE GL_POST_CONVOLUTION_COLOR_TABLE GL_POST_COLOR_MATRIX_COLOR_TABLE "
        "GL_TEXTURE_COLOR_TABLE_SGI}"
    ),
    convolutions="convolution{GL_CONVOLUTION_1D GL_CONVOLUTION_2D GL_SEPARABLE_2D}",
    histograms="histogram{GL_HISTOGRAM}",
    minmaxes="minmax{GL_MINMAX}",
    vertex_arrays="vertex_array()",
    framebuffers="framebuffer()",
    queries="query()",
    transform_feedbacks="transform_feedback()",
    pipelines="pipeline()",
    saved="saved[]",
)
t.add("matrix", "value f16 0")  # below the top of a stack

# ---- objects of a context ----------------------------------------------------------------------------------------

t.add(
    "vertex_attribute",
    """
    GL_VERTEX_ATTRIB_ARRAY_ENABLED b
    GL_VERTEX_ATTRIB_ARRAY_SIZE i 4
    GL_VERTEX_ATTRIB_ARRAY_TYPE e GL_FLOAT
    GL_VERTEX_ATTRIB_ARRAY_NORMALIZED b
    GL_VERTEX_ATTRIB_ARRAY_INTEGER b
    GL_VERTEX_ATTRIB_ARRAY_LONG b
    GL_VERTEX_ATTRIB_ARRAY_STRIDE i 0
    GL_VERTEX_ATTRIB_ARRAY_POINTER p
    GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING n
    GL_VERTEX_ATTRIB_ARRAY_DIVISOR i 0
    GL_VERTEX_ATTRIB_RELATIVE_OFFSET i 0
    GL_VERTEX_ATTRIB_BINDING i 0
    """,
)
t.add(
    "vertex_binding",
    """
    GL_VERTEX_BINDING_BUFFER n
    GL_VERTEX_BINDING_OFFSET i 0
    GL_VERTEX_BINDING_STRIDE i 16
    GL_VERTEX_BINDING_DIVISOR i 0
    """,
)
t.add(
    "client_array",
    """
    enabled b
    size i 4
    type e GL_FLOAT
    stride i 0
    pointer p
    buffer n
    """,
)
t.add(
    "vertex_array",
    """
    GL_ELEMENT_ARRAY_BUFFER_BINDING n
    """,
    attributes="vertex_attribute[]",
    bindings="vertex_binding[]",
    arrays=(
        "client_array{GL_VERTEX_ARRAY GL_NORMAL_ARRAY GL_COLOR_ARRAY GL_INDEX_ARRAY GL_EDGE_FLAG_ARRAY "
        "GL_FOG_COORD_ARRAY GL_SECONDARY_COLOR_ARRAY GL_POINT_SIZE_ARRAY_OES GL_MATRIX_INDEX_ARRAY_OES "
        "GL_WEIGHT_ARRAY_OES}"
    ),
    texture_coord_arrays="client_array[8]",
)
t.add(
    "attachment",
    """
    GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE e GL_NONE
    GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME n
    GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LEVEL i 0
    GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_CUBE_MAP_FACE e 0
    GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LAYER i 0
    GL_FRAMEBUFFER_ATTACHMENT_LAYERED b
    """,
)
t.add(
    "framebuffer",
    """
    GL_DRAW_BUFFER0 e GL_COLOR_ATTACHMENT0
    GL_DRAW_BUFFER{1,2,3,4,5,6,7} e GL_NONE
    GL_READ_BUFFER e GL_COLOR_ATTACHMENT0
    GL_FRAMEBUFFER_DEFAULT_{WIDTH,HEIGHT,LAYERS,SAMPLES} i 0
    GL_FRAMEBUFFER_DEFAULT_FIXED_SAMPLE_LOCATIONS b
    label s
    """,
    attachments=(
        "attachment{GL_COLOR_ATTACHMENT0 GL_COLOR_ATTACHMENT1 GL_COLOR_ATTACHMENT2 GL_COLOR_ATTACHMENT3 "
        "GL_COLOR_ATTACHMENT4 GL_COLOR_ATTACHMENT5 GL_COLOR_ATTACHMENT6 GL_COLOR_ATTACHMENT7 GL_DEPTH_ATTACHMENT "
        "GL_STENCIL_ATTACHMENT}"
    ),
)
t.add("query", "target e GL_NONE\nactive b\nresult h")
t.add(
    "transform_feedback",
    """
    active b
    paused b
    mode e GL_NONE
    GL_TRANSFORM_FEEDBACK_BUFFER_BINDING[]*4 n
    GL_TRANSFORM_FEEDBACK_BUFFER_{START,SIZE}[]*4 i 0
    vertices h
    """,
)
t.add(
    "pipeline",
    """
    GL_ACTIVE_PROGRAM n
    GL_{VERTEX,TESS_CONTROL,TESS_EVALUATION,GEOMETRY,FRAGMENT,COMPUTE}_SHADER n
    label s
    """,
)

gl_share_tree.add_classes(t)

# ---- around the API -------------------------------------------------------------------------------------------------

t.add(
    "surface",
    """
    width i 0
    height i 0
    color h
    front h
    depth h
    stencil h
    accum h
    mask h                      # OpenVG's
    client_buffer n             # the image of OpenVG that it draws to
    parameters h
    kind s                      # window, pixmap, pbuffer
    config p
    EGL_RENDER_BUFFER e EGL_BACK_BUFFER
    EGL_GL_COLORSPACE e EGL_GL_COLORSPACE_LINEAR
    EGL_VG_COLORSPACE e EGL_VG_COLORSPACE_sRGB
    EGL_VG_ALPHA_FORMAT e EGL_VG_ALPHA_FORMAT_NONPRE
    EGL_TEXTURE_FORMAT e EGL_NO_TEXTURE
    EGL_TEXTURE_TARGET e EGL_NO_TEXTURE
    EGL_MIPMAP_TEXTURE b
    EGL_LARGEST_PBUFFER b
    EGL_MIPMAP_LEVEL i 0
    EGL_SWAP_BEHAVIOR e EGL_BUFFER_DESTROYED
    EGL_MULTISAMPLE_RESOLVE e EGL_MULTISAMPLE_RESOLVE_DEFAULT
    GLX_EVENT_MASK u 0
    GLX_PRESERVED_CONTENTS b
    GLX_TEXTURE_FORMAT_EXT i 0
    GLX_TEXTURE_TARGET_EXT i 0
    GLX_MIPMAP_TEXTURE_EXT b
    swap_interval i 1
    bound_to_texture b
    destroyed b
    """,
)
t.add(
    "thread",
    "context i 0\ndraw u 0\nread u 0\napi u 0\nbound_api u 0x30A0\nswap_interval i 1\nvg_context i 0\nvg_draw u 0",
)
# As drivers tell them, whatever the window system calls them.
t.add(
    "config",
    """
    id i 0
    red i 0
    green i 0
    blue i 0
    alpha i 0
    depth i 0
    stencil i 0
    buffer i 0
    samples i 0
    sample_buffers i 0
    level i 0
    double b
    stereo b
    surface_type u 0
    renderable_type u 0
    conformant u 0
    render_type u 0
    caveat u 0
    visual u 0
    native_visual u 0
    color_buffer_type u 0
    """,
)
# The parameters that contexts were made with: `handle` is the window system's, as surfaces and configs bear its
# handles.
t.add(
    "creation",
    """
    number i 0                  # among contexts, 0: it was never current
    config p
    shared_with p
    made_by s
    EGL_CONTEXT_MAJOR_VERSION i 1
    EGL_CONTEXT_MINOR_VERSION i 0
    EGL_CONTEXT_OPENGL_PROFILE_MASK u 1
    EGL_CONTEXT_OPENGL_DEBUG b
    EGL_CONTEXT_OPENGL_FORWARD_COMPATIBLE b
    EGL_CONTEXT_OPENGL_ROBUST_ACCESS b
    EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY e EGL_NO_RESET_NOTIFICATION
    EGL_CONTEXT_FLAGS_KHR u 0
    EGL_CONTEXT_PRIORITY_LEVEL_IMG e EGL_CONTEXT_PRIORITY_MEDIUM_IMG
    EGL_CONTEXT_OPENGL_NO_ERROR_KHR b
    GLX_CONTEXT_MAJOR_VERSION_ARB i 1
    GLX_CONTEXT_MINOR_VERSION_ARB i 0
    GLX_CONTEXT_PROFILE_MASK_ARB u 1
    GLX_CONTEXT_FLAGS_ARB u 0
    GLX_RENDER_TYPE u 0x8014
    destroyed b
    """,
)
t.add("display", "initialized b\nmajor i 0\nminor i 0")
vg_tree.add_classes(t)
t.add("handle", "kind s\nparameters h")
t.add(
    "root",
    "display_settings h",
    contexts="context()",
    shares="share()",
    surfaces="surface()",
    threads="thread()",
    handles="handle()",
    configs="config()",
    made_contexts="creation()",
    displays="display()",
    vg_contexts="vg_context()",
    vg_shares="vg_share()",
)
