// The overlay's functions (`run`) and the references of its paths: the hand-written semantics of OpenGL.
#pragma once
#include <set>

#include "machine.h"
#include "gl_enums.h"

namespace dt::state::run {

// Returns whether the driver takes a value of a light.
inline bool light_value_ok(int64_t pname, double v) {
  switch (pname) {
    case GL_SPOT_EXPONENT: return v >= 0 && v <= 128;
    case GL_SPOT_CUTOFF: return (v >= 0 && v <= 90) || v == 180;
    case GL_CONSTANT_ATTENUATION:
    case GL_LINEAR_ATTENUATION:
    case GL_QUADRATIC_ATTENUATION: return v >= 0;  // attenuations
    default: return true;
  }
}
void set_name(Machine& m, Node* n, const std::string& name);
void init_texture(Machine& m, Node* t, uint32_t target);
Node* texture_of_unit(Machine& m, Node* unit, unsigned field, uint32_t target);

// gl_imaging.cc
void color_table(Machine& m, int64_t target, int64_t format, int64_t width, Array values);
void color_sub_table(Machine& m, int64_t target, int64_t start, int64_t count, Array values);
void copy_color_table(Machine& m, int64_t target, int64_t format, int64_t width);
void copy_color_sub_table(Machine& m, int64_t target);
void convolution_filter(Machine& m, int64_t target, int64_t format, int64_t width, int64_t height, Array values);
void separable_filter(Machine& m, int64_t target, int64_t format, int64_t width, int64_t height, Array row,
                      Array column);
void copy_convolution_filter(Machine& m, int64_t target, int64_t format, int64_t width, int64_t height);
void imaging_parameter(Machine& m, int64_t target, int64_t pname, Num value);
void imaging_parameter_v(Machine& m, int64_t target, int64_t pname, Array values);
void histogram(Machine& m, int64_t target, int64_t width, int64_t format, int64_t sink);
void minmax(Machine& m, int64_t target, int64_t format, int64_t sink);
void reset_counts(Machine& m, int64_t target);
void get_counts(Machine& m, int64_t target, int64_t reset);
void read_imaging(Machine& m);

// gl_fixed.cc
void load_identity(Machine& m);
void load_matrix(Machine& m, Array a, int64_t transpose);
void mult_matrix(Machine& m, Array a, int64_t transpose);
void rotate(Machine& m, Num angle, Num x_, Num y_, Num z_);
void translate(Machine& m, Num x, Num y, Num z);
void scale(Machine& m, Num x, Num y, Num z);
void frustum(Machine& m, Num l_, Num r_, Num b_, Num t_, Num n_, Num f_);
void ortho(Machine& m, Num l_, Num r_, Num b_, Num t_, Num n_, Num f_);
void push_matrix(Machine& m);
void pop_matrix(Machine& m);
void load_identity_of(Machine& m, int64_t mode);  // EXT_direct_state_access: of a mode instead of the current one
void load_matrix_of(Machine& m, int64_t mode, Array a, int64_t transpose);
void mult_matrix_of(Machine& m, int64_t mode, Array a, int64_t transpose);
void rotate_of(Machine& m, int64_t mode, Num angle, Num x, Num y, Num z);
void translate_of(Machine& m, int64_t mode, Num x, Num y, Num z);
void scale_of(Machine& m, int64_t mode, Num x, Num y, Num z);
void frustum_of(Machine& m, int64_t mode, Num l, Num r, Num b, Num t, Num n, Num f);
void ortho_of(Machine& m, int64_t mode, Num l, Num r, Num b, Num t, Num n, Num f);
void push_matrix_of(Machine& m, int64_t mode);
void pop_matrix_of(Machine& m, int64_t mode);
void light_v(Machine& m, int64_t light, int64_t pname, Array params);
void light(Machine& m, int64_t light, int64_t pname, Num param);
void color_changed(Machine& m);
void material(Machine& m, int64_t face, int64_t pname, Num param);
void material_v(Machine& m, int64_t face, int64_t pname, Array params);
void color_material(Machine& m, int64_t face, int64_t mode);
void clip_plane(Machine& m, int64_t plane, Array equation);
void alpha_ref(Machine& m, Num ref);
void tex_env(Machine& m, int64_t target, int64_t pname, Num param);
void tex_env_v(Machine& m, int64_t target, int64_t pname, Array params);
void tex_gen(Machine& m, int64_t coord, int64_t pname, Num param);
void tex_gen_v(Machine& m, int64_t coord, int64_t pname, Array params);
void color(Machine& m, Num r, Num g, Num b, Num a);
// n components of 10, 10, 10 and 2 bits; `what`: 0 color, 1 normal, 2 secondary color, 3 a vertex, 4 the attribute
// `which`, else the coordinates of the unit `which`.
void packed(Machine& m, int64_t what, int64_t which, int64_t type, int64_t normalized, int64_t n, int64_t value);
void packed_v(Machine& m, int64_t what, int64_t which, int64_t type, int64_t normalized, int64_t n, Array value);
void color_n(Machine& m, Num r, Num g, Num b, Num a, int64_t scale);
void color_v(Machine& m, Array v, int64_t scale);
void secondary_color_n(Machine& m, Num r, Num g, Num b, int64_t scale);
void secondary_color_v(Machine& m, Array v, int64_t scale);
void normal_n(Machine& m, Num x, Num y, Num z, int64_t scale);
void normal_v(Machine& m, Array v, int64_t scale);
void tex_coord(Machine& m, int64_t target, Num s, Num t, Num r, Num q);
void tex_coord_v(Machine& m, int64_t target, Array v);
void attribute(Machine& m, int64_t index, Num x, Num y, Num z, Num w);
void attribute_n(Machine& m, int64_t index, Num x, Num y, Num z, Num w, int64_t scale);
void attribute_v(Machine& m, int64_t index, Array v, int64_t scale);
void begin(Machine& m, int64_t mode);
void vertex(Machine& m);
void eval_vertex(Machine& m);
void array_element(Machine& m);
uint32_t arrays_on(Machine& m);  // arrays whose elements become current, one a bit
void forget_current(Machine& m, uint32_t arrays);
void end(Machine& m);
void rect(Machine& m);
void eval_mesh(Machine& m);
void raster_position(Machine& m, Num x, Num y, Num z, Num w);
void raster_position_v(Machine& m, Array v);
void window_position(Machine& m, Num x, Num y, Num z);
void window_position_v(Machine& m, Array v);
void map1(Machine& m, int64_t target, Num u1, Num u2, int64_t order, Array points);
void map2(Machine& m, int64_t target, Num u1, Num u2, int64_t uorder, Num v1, Num v2, int64_t vorder, Array points);
void pixel_map(Machine& m, int64_t map, int64_t size, Array values);
void polygon_stipple(Machine& m, Array mask);
void push_attrib(Machine& m, int64_t mask_);
void pop_attrib(Machine& m);
void push_client_attrib(Machine& m, int64_t mask_);
void pop_client_attrib(Machine& m);
void gen_lists(Machine& m, int64_t first, int64_t range);
void delete_lists(Machine& m, int64_t first, int64_t range);
void new_list(Machine& m, int64_t list, int64_t mode);
void listed(Machine& m);
void end_list(Machine& m);
void call_list(Machine& m, int64_t list);
void call_lists(Machine& m, int64_t n, int64_t type, Array lists);
void render_mode(Machine& m);
void names(Machine& m, int64_t change);
void pass_through(Machine&);

// gl_objects.cc
void init_vertex_array(Machine& m, Node* v);
void context_made(Machine& m, Context& c, const Node* creation);  // creation: nullptr where nothing is known
void context_current(Machine& m, Context& c);
Node* attrib_of(Machine& m, Node* v, int64_t index);
Node* unit(Machine& m);
Node* vao(Machine& m);
Node* bound_framebuffer(Machine& m, int64_t target);
Node* draw_framebuffer(Machine& m);
Node* used_program(Machine& m);
Node* bound_texture(Machine& m, int64_t target);
Node* bound_buffer(Machine& m, int64_t target);
Node* client_unit_array(Machine& m);
void create_names(Machine& m, Node* parent, unsigned collection, Array names);
void create_textures(Machine& m, int64_t target, Array names);
void delete_names(Machine& m, Node* parent, unsigned collection, Array names);
void delete_samplers(Machine& m, int64_t, Array names);
void object_label(Machine& m, int64_t identifier, int64_t name_, int64_t length, Array label);
void debug_group(Machine& m, int64_t change);
void attrib_enabled(Machine& m, int64_t index, int64_t on);
void named_attrib_enabled(Machine& m, int64_t array, int64_t index, int64_t on);
void enable(Machine& m, int64_t cap_, int64_t on);
void enable_indexed(Machine& m, int64_t cap, int64_t index, int64_t on);
void viewport(Machine& m, Num x, Num y, Num w, Num h);
void viewport_array(Machine& m, int64_t first, int64_t count, Array v);
void scissor_array(Machine& m, int64_t first, int64_t count, Array v);
void depth_range_array(Machine& m, int64_t first, int64_t count, Array v);
void depth_range(Machine& m, Num n, Num f);
void clear_depth(Machine& m, Num d);
void min_sample_shading(Machine& m, Num value);
void sample_coverage(Machine& m, Num v);
void line_width(Machine& m, Num w);
void point_size(Machine& m, Num s);
void polygon_mode(Machine& m, int64_t face, int64_t mode);
void clamp_color(Machine& m, int64_t target, int64_t clamp);
void pixel_store(Machine& m, int64_t pname, Num param);
void active_texture(Machine& m, int64_t texture);
void create_buffers(Machine& m, Array names);
void bind_buffer(Machine& m, int64_t target, int64_t buffer);
void bind_buffer_range(Machine& m, int64_t target, int64_t index, int64_t buffer, int64_t offset, int64_t size);
void bind_buffers_range(Machine& m, int64_t target, int64_t first, int64_t count, Array buffers);
void bind_buffers_ranges(Machine& m, int64_t target, int64_t first, int64_t count, Array buffers, Array offsets,
                         Array sizes);
void buffer_data(Machine& m, int64_t target, int64_t size, Array data, int64_t usage);
void named_buffer_data(Machine& m, int64_t buffer, int64_t size, Array data, int64_t usage);
void named_buffer_data_ext(Machine& m, int64_t buffer, int64_t size, Array data, int64_t usage);
void buffer_storage(Machine& m, int64_t target, int64_t size, Array data, int64_t flags);
void named_buffer_storage(Machine& m, int64_t buffer, int64_t size, Array data, int64_t flags);
void buffer_sub_data(Machine& m, int64_t target, int64_t offset, int64_t size, Array data);
void named_buffer_sub_data(Machine& m, int64_t buffer, int64_t offset, int64_t size, Array data);
void fill_buffer(Machine& m, Node* buffer, int64_t offset, int64_t size);  // with something that is not known here
void clear_buffer(Machine& m, int64_t target, int64_t offset, int64_t size);
void clear_named_buffer(Machine& m, int64_t buffer, int64_t offset, int64_t size);
void copy_buffer(Machine& m, int64_t read, int64_t write, int64_t from, int64_t to, int64_t size);
void copy_named_buffer(Machine& m, int64_t read, int64_t write, int64_t from, int64_t to, int64_t size);
void invalidate_buffer(Machine& m, int64_t buffer);
void map_buffer(Machine& m, int64_t target, int64_t access, int64_t pointer);
void map_named_buffer(Machine& m, int64_t buffer, int64_t access, int64_t pointer);
void map_buffer_range(Machine& m, int64_t target, int64_t offset, int64_t length, int64_t access, int64_t pointer);
void map_named_buffer_range(Machine& m, int64_t buffer, int64_t offset, int64_t length, int64_t access,
                            int64_t pointer);
void unmap_buffer(Machine& m, int64_t target);
void unmap_named_buffer(Machine& m, int64_t buffer);
void flush_buffer(Machine& m, int64_t target);
void flush_named_buffer(Machine& m, int64_t buffer);
void get_buffer_data(Machine& m, int64_t target);
void get_named_buffer_data(Machine& m, int64_t buffer);
void bind_vertex_array(Machine& m, int64_t array);
void follow_bindings(Machine& m, Node* v);
void attrib_pointer(Machine& m, int64_t index, int64_t size, int64_t type, int64_t normalized, int64_t integer,
                    int64_t stride, Array pointer);
void attrib_divisor(Machine& m, int64_t index, int64_t divisor);
void attrib_format(Machine& m, int64_t index, int64_t size, int64_t type, int64_t normalized, int64_t integer,
                   int64_t offset);
void named_attrib_format(Machine& m, int64_t array, int64_t index, int64_t size, int64_t type, int64_t normalized,
                         int64_t integer, int64_t offset);
void attrib_binding(Machine& m, int64_t index, int64_t to);
void named_attrib_binding(Machine& m, int64_t array, int64_t index, int64_t to);
void vertex_buffer(Machine& m, int64_t index, int64_t buffer, int64_t offset, int64_t stride);
void named_vertex_buffer(Machine& m, int64_t array, int64_t index, int64_t buffer, int64_t offset, int64_t stride);
void vertex_buffers(Machine& m, int64_t first, int64_t count, Array buffers, Array offsets, Array strides);
void named_vertex_buffers(Machine& m, int64_t array, int64_t first, int64_t count, Array buffers, Array offsets,
                          Array strides);
void binding_divisor(Machine& m, int64_t index, int64_t divisor);
void named_binding_divisor(Machine& m, int64_t array, int64_t index, int64_t divisor);
void client_array(Machine& m, int64_t array, int64_t size, int64_t type, int64_t stride, Array pointer);
void client_state(Machine& m, int64_t array, int64_t on);
void interleaved_arrays(Machine& m, int64_t format, int64_t stride, Array pointer);
void bind_texture(Machine& m, int64_t target, int64_t texture);
// what follows is about this texture, not the bound one
void texture_direct(Machine& m, int64_t texture, int64_t target);
void unit_direct(Machine& m, int64_t unit);  // ... about this unit, not the active one
void bind_texture_unit(Machine& m, int64_t index, int64_t texture);
void bind_textures(Machine& m, int64_t first, int64_t count, Array textures);
void tex_parameter(Machine& m, int64_t target, int64_t pname, Num param);
void tex_parameter_v(Machine& m, int64_t target, int64_t pname, Array params);
void texture_parameter(Machine& m, int64_t texture, int64_t pname, Num param);
void texture_parameter_v(Machine& m, int64_t texture, int64_t pname, Array params);
void sampler_parameter(Machine& m, int64_t sampler, int64_t pname, Num param);
void sampler_parameter_v(Machine& m, int64_t sampler, int64_t pname, Array params);
void read_unpack(Machine& m, const Array& pixels);
void tex_image(Machine& m, int64_t target, int64_t level, int64_t format, int64_t w, int64_t h, int64_t d,
               int64_t border, int64_t size, Array pixels);
void tex_sub_image(Machine& m, int64_t target, int64_t level, int64_t x, int64_t y, int64_t z, int64_t w, int64_t h,
                   int64_t d, Array pixels);
void texture_sub_image(Machine& m, int64_t texture, int64_t level, int64_t x, int64_t y, int64_t z, int64_t w,
                       int64_t h, int64_t d, Array pixels);
void copy_tex_image(Machine& m, int64_t target, int64_t level, int64_t format, int64_t w, int64_t h, int64_t border);
void copy_tex_sub_image(Machine& m, int64_t target, int64_t level, int64_t x, int64_t y, int64_t z, int64_t w,
                        int64_t h);
void copy_texture_sub_image(Machine& m, int64_t texture, int64_t level, int64_t x, int64_t y, int64_t z, int64_t w,
                            int64_t h);
void tex_storage(Machine& m, int64_t target, int64_t levels, int64_t format, int64_t w, int64_t h, int64_t d);
void texture_named(Machine& m, int64_t texture, int64_t target);
void texture_storage(Machine& m, int64_t texture, int64_t levels, int64_t format, int64_t w, int64_t h, int64_t d);
void tex_multisample(Machine& m, int64_t target, int64_t samples, int64_t format, int64_t w, int64_t h, int64_t d,
                     int64_t fixed, int64_t immutable);
void texture_multisample(Machine& m, int64_t texture, int64_t samples, int64_t format, int64_t w, int64_t h, int64_t d,
                         int64_t fixed);
void tex_buffer(Machine& m, int64_t target, int64_t format, int64_t buffer, int64_t offset, int64_t size);
void texture_buffer(Machine& m, int64_t texture, int64_t format, int64_t buffer, int64_t offset, int64_t size);
void texture_view(Machine& m, int64_t texture, int64_t target, int64_t original, int64_t format, int64_t minlevel,
                  int64_t levels, int64_t minlayer, int64_t layers);
void generate_mipmap(Machine& m, int64_t target);
void generate_texture_mipmap(Machine& m, int64_t texture);
void clear_tex_image(Machine& m, int64_t texture, int64_t level, int64_t whole);
void invalidate_tex_image(Machine& m, int64_t texture, int64_t level);
void copy_image(Machine& m, int64_t from, int64_t from_target, int64_t from_level, int64_t to, int64_t to_target,
                int64_t to_level, int64_t w, int64_t h, int64_t);
void prioritize_textures(Machine& m, int64_t n, Array textures, Array priorities);
void image_texture(Machine& m, int64_t target, int64_t image);
void image_made(Machine& m, Node* image, uint64_t context, uint32_t target, uint64_t of, int64_t level);  // EGL's
void image_renderbuffer(Machine& m, int64_t, int64_t image);
void bind_image_texture(Machine& m, int64_t index, int64_t texture, int64_t level, int64_t layered, int64_t layer,
                        int64_t access, int64_t format);
void bind_image_textures(Machine& m, int64_t first, int64_t count, Array textures);
void bind_sampler(Machine& m, int64_t index, int64_t sampler);
void bind_samplers(Machine& m, int64_t first, int64_t count, Array samplers);
void get_tex_image(Machine& m, int64_t target, int64_t level, Array);
void get_texture_image(Machine& m, int64_t texture, int64_t level, Array);
void bind_framebuffer(Machine& m, int64_t target, int64_t name);
void attach_texture(Machine& m, int64_t target, int64_t attachment, int64_t textarget, int64_t texture, int64_t level,
                    int64_t layer, int64_t layered);
void named_attach_texture(Machine& m, int64_t framebuffer, int64_t attachment, int64_t texture, int64_t level,
                          int64_t layer, int64_t layered);
void attach_renderbuffer(Machine& m, int64_t target, int64_t attachment, int64_t name);
void named_attach_renderbuffer(Machine& m, int64_t framebuffer, int64_t attachment, int64_t name);
void draw_buffer(Machine& m, int64_t buf);
void draw_buffers(Machine& m, int64_t n, Array bufs);
void read_buffer(Machine& m, int64_t src);
void named_draw_buffer(Machine& m, int64_t f, int64_t buf);
void named_draw_buffers(Machine& m, int64_t f, int64_t n, Array bufs);
void named_read_buffer(Machine& m, int64_t f, int64_t src);
void bind_renderbuffer(Machine& m, int64_t name);
void renderbuffer_storage(Machine& m, int64_t samples, int64_t format, int64_t w, int64_t h);
void named_renderbuffer_storage(Machine& m, int64_t name, int64_t samples, int64_t format, int64_t w, int64_t h);
void begin_query(Machine& m, int64_t target, int64_t index, int64_t id);
void end_query(Machine& m, int64_t target, int64_t);
void query_counter(Machine& m, int64_t id, int64_t target);
void get_query(Machine& m, int64_t id);
void begin_conditional(Machine& m, int64_t id, int64_t mode);
void end_conditional(Machine& m);
void bind_feedback(Machine& m, int64_t id);
void feedback(Machine& m, int64_t on, int64_t, int64_t mode);
void feedback_pause(Machine& m, int64_t on);
void fence(Machine& m, int64_t sync);
void delete_sync(Machine& m, int64_t sync);
void wait_sync(Machine& m, int64_t sync);

// gl_program.cc
const std::string* name_of(Machine& m, const Node& node);
void sampler_names(const std::string& source, std::set<std::string>& names);
void create_shader(Machine& m, int64_t type, int64_t name);
void delete_shader(Machine& m, int64_t name);
void shader_source(Machine& m, int64_t name, Array source);
void compile_shader(Machine& m, int64_t name);
void shader_binary(Machine& m, int64_t, Array shaders, Array binary);
void create_program(Machine& m, int64_t name);
void create_shader_program(Machine& m, int64_t, Array strings, int64_t name);
void delete_program(Machine& m, int64_t name);
void delete_object(Machine& m, int64_t name);
void attach_shader(Machine& m, int64_t program, int64_t shader);
void detach_shader(Machine& m, int64_t program, int64_t shader);
void bind_attrib_location(Machine& m, int64_t program);
void feedback_varyings(Machine& m, int64_t program);
void program_parameter(Machine& m, int64_t program, int64_t pname, int64_t value);
void link_program(Machine& m, int64_t program);
void program_binary(Machine& m, int64_t program, Array binary);
void use_program(Machine& m, int64_t program);
void get_program(Machine& m, int64_t program, int64_t pname, Array params);
void get_shader(Machine& m, int64_t shader, int64_t pname, Array params);
void get_object(Machine& m, int64_t object, int64_t pname, Array params);
void uniform_location(Machine& m, int64_t program, Array name, int64_t location);
void attrib_location(Machine& m, int64_t program, Array name, int64_t location);
void active_uniform(Machine& m, int64_t program, Array, Array, Array);
void uniform_block_index(Machine& m, int64_t program, Array name, int64_t index);
void resource_index(Machine& m, int64_t program, int64_t interface, Array name, int64_t index);
void resource_location(Machine& m, int64_t program, int64_t interface, Array name, int64_t location);
void uniform_block_binding(Machine& m, int64_t program, int64_t index, int64_t binding);
void storage_block_binding(Machine& m, int64_t program, int64_t index, int64_t binding);
void uniform(Machine& m, int64_t, int64_t location, int64_t n, Num a, Num b, Num c, Num d);
void uniform_v(Machine& m, int64_t, int64_t location, int64_t n, int64_t count, Array v);
void program_uniform(Machine& m, int64_t program, int64_t location, int64_t n, Num a, Num b, Num c, Num d);
void program_uniform_v(Machine& m, int64_t program, int64_t location, int64_t n, int64_t count, Array v);
void uniform_matrix(Machine& m, int64_t, int64_t location, int64_t columns, int64_t rows, int64_t count,
                    int64_t transpose, Array v);
void program_uniform_matrix(Machine& m, int64_t program, int64_t location, int64_t columns, int64_t rows, int64_t count,
                            int64_t transpose, Array v);
void bind_pipeline(Machine& m, int64_t name);
void use_program_stages(Machine& m, int64_t pipeline, int64_t stages, int64_t program);
void bind_arb_program(Machine& m, int64_t target, int64_t name);
void arb_program_string(Machine& m, int64_t target, Array text);
void arb_local(Machine& m, int64_t target);
void arb_environment(Machine& m, int64_t);

// gl_draw.cc
void read_current(Machine& m);
void read_pixel_transfer(Machine& m);
void read_vertex_arrays(Machine& m, bool indexed);
void read_vertex_arrays_if_drawn(Machine& m);
void read_raster(Machine& m, bool arrays);
void draw(Machine& m, int64_t mode, int64_t vertices, int64_t instances, int64_t indexed);
void multi_draw(Machine& m, int64_t mode, Array counts, int64_t n, int64_t indexed);
void draw_indirect(Machine& m, int64_t mode, int64_t indexed, Array indirect, int64_t draws);
void draw_feedback(Machine& m, int64_t mode, int64_t id);
void draw_unknown(Machine& m);
void draw_pixels(Machine& m, int64_t, int64_t, int64_t, Array pixels);
void draw_bitmap(Machine& m, int64_t w, int64_t h, Num xmove, Num ymove, Array bitmap);
void copy_pixels(Machine& m, int64_t, int64_t, int64_t type);
void draw_tex(Machine& m);
void dispatch(Machine& m, int64_t indirect);
void clear(Machine& m, int64_t mask);
void clear_buffer_v(Machine& m, int64_t buffer, int64_t index);
void clear_named_buffer_v(Machine& m, int64_t f, int64_t buffer, int64_t index);
void accum(Machine& m, int64_t op);
void read_pixels_of(Machine& m, int64_t format);
void read_pixels(Machine& m, int64_t w, int64_t h, int64_t format, int64_t type, Array);
void blit(Machine& m, int64_t, int64_t, int64_t, int64_t, int64_t mask);
void named_blit(Machine& m, int64_t from, int64_t to, int64_t mask);
void invalidate_framebuffer(Machine& m, int64_t target, int64_t n, Array attachments);
void invalidate_named_framebuffer(Machine& m, int64_t f, int64_t n, Array attachments);

}  // namespace dt::state::run
