// The effects of OpenVG commands on state and their needs, where it takes more than a line of the overlay
// (src/drawtap/spec/apis/vg.py).
#pragma once
#include "machine.h"

namespace dt::state::run {

void vg_create_names(Machine& m, Node* parent, unsigned collection, int64_t name);
void vg_delete_names(Machine& m, Node* parent, unsigned collection, int64_t name);

void vg_set_vector(Machine& m, int64_t type, int64_t count, Array values);
void vg_parameter(Machine& m, int64_t object, int64_t type, Num value);
void vg_parameters(Machine& m, int64_t object, int64_t type, int64_t count, Array values);
void vg_matrix(Machine& m, Array values, int64_t load);
void vg_scale_matrix(Machine& m, double x, double y, int64_t load);  // load: it becomes that matrix
void vg_translate(Machine& m, double x, double y);
void vg_shear(Machine& m, double x, double y);
void vg_rotate(Machine& m, double degrees);
void vg_set_paint(Machine& m, int64_t paint, int64_t modes);
void vg_set_color(Machine& m, int64_t paint, int64_t rgba);
void vg_paint_pattern(Machine& m, int64_t paint, int64_t image);

void vg_surface_made(Machine& m, Node* surface, int64_t image);  // eglCreatePbufferFromClientBuffer
void vg_surface_left(Machine& m, Node* surface);                 // it was destroyed, or is no longer drawn to
void vg_image_shared(Machine& m, Node* handle, uint64_t context, uint64_t name);  // eglCreateImage
void vg_image_target(Machine& m, int64_t name, int64_t handle);  // an image that is made of an EGLImage
void vg_exchange(Machine& m);
void vg_read_surface(Machine& m);

void vg_draw_unknown(Machine& m);
void vg_clear(Machine& m, int64_t x, int64_t y, int64_t width, int64_t height);
void vg_draw_path(Machine& m, int64_t path, int64_t modes);
void vg_draw_image(Machine& m, int64_t image);
void vg_draw_glyph(Machine& m, int64_t font, int64_t index, int64_t modes);
void vg_draw_glyphs(Machine& m, int64_t font, int64_t count, Array indices, Array x, Array y, int64_t modes);
// The pen goes on by what these glyphs say, and by as much more.
void vg_pen(Machine& m, int64_t font, const std::vector<uint64_t>& indices, const std::vector<double>& x,
            const std::vector<double>& y);
void vg_set_pixels(Machine& m, int64_t dx, int64_t dy, int64_t image, int64_t sx, int64_t sy, int64_t width,
                   int64_t height);
void vg_write_pixels(Machine& m, int64_t dx, int64_t dy, int64_t width, int64_t height);
void vg_copy_pixels(Machine& m, int64_t width, int64_t height);
void vg_read_pixels(Machine& m);

void vg_mask(Machine& m, int64_t mask, int64_t operation, int64_t x, int64_t y, int64_t width, int64_t height);
void vg_render_to_mask(Machine& m, int64_t path, int64_t modes, int64_t operation);
void vg_create_mask_layer(Machine& m, int64_t name, int64_t width, int64_t height);
void vg_fill_mask_layer(Machine& m, int64_t layer, int64_t x, int64_t y, int64_t width, int64_t height);
void vg_copy_mask(Machine& m, int64_t layer, int64_t dx, int64_t dy, int64_t sx, int64_t sy, int64_t width,
                  int64_t height);

void vg_create_path(Machine& m, int64_t name, int64_t format, int64_t datatype, double scale, double bias,
                    int64_t capabilities);
void vg_clear_path(Machine& m, int64_t path, int64_t capabilities);
void vg_remove_capabilities(Machine& m, int64_t path, int64_t capabilities);
void vg_append_data(Machine& m, int64_t path, int64_t count, Array segments, Array data);
void vg_modify_path(Machine& m, int64_t path, Array data);
void vg_append_paths(Machine& m, int64_t path, int64_t first, int64_t second, int64_t transforms);  // second: 0, none
// A shape with a fixed number of segments and coordinates, and horizontal and vertical lines, within a box.
void vg_append_shape(Machine& m, int64_t path, int64_t segments, int64_t coordinates, int64_t straight, double x,
                     double y, double width, double height);
void vg_append_line(Machine& m, int64_t path, double x0, double y0, double x1, double y1);
void vg_append_ellipse(Machine& m, int64_t path, double x, double y, double width, double height);
void vg_append_arc(Machine& m, int64_t path, double x, double y, double width, double height, double extent,
                   int64_t type);
void vg_append_polygon(Machine& m, int64_t path, Array points, int64_t count, int64_t closed);

void vg_create_image(Machine& m, int64_t name, int64_t format, int64_t width, int64_t height, int64_t quality);
void vg_child_image(Machine& m, int64_t name, int64_t parent, int64_t x, int64_t y, int64_t width, int64_t height);
void vg_upload(Machine& m, int64_t image, int64_t x, int64_t y, int64_t width, int64_t height, Array data);
void vg_clear_image(Machine& m, int64_t image, int64_t x, int64_t y, int64_t width, int64_t height);
void vg_copy_image(Machine& m, int64_t to, int64_t dx, int64_t dy, int64_t from, int64_t sx, int64_t sy, int64_t width,
                   int64_t height);
void vg_get_pixels(Machine& m, int64_t image, int64_t dx, int64_t dy, int64_t sx, int64_t sy, int64_t width,
                   int64_t height);
void vg_get_image(Machine& m, int64_t image);                        // hands its pixels out
void vg_filter(Machine& m, int64_t to, int64_t from, int64_t also);  // also: another image that it needs, 0: none
void vg_filter_paint(Machine& m, int64_t paint);

void vg_glyph(Machine& m, int64_t font, int64_t index, int64_t path, int64_t image, int64_t hinted, Array origin,
              Array escapement);
void vg_clear_glyph(Machine& m, int64_t font, int64_t index);

}  // namespace dt::state::run
