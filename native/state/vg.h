// What OpenVG commands do to state that takes more than a line of the overlay (src/drawtap/spec/apis/openvg.py).
#pragma once
#include "machine.h"

namespace dt::state::run {

void vg_create_names(Machine& m, Node* parent, unsigned collection, int64_t name);
void vg_delete_names(Machine& m, Node* parent, unsigned collection, int64_t name);
void vg_set_vector(Machine& m, int64_t type, Array values);
void vg_parameter(Machine& m, int64_t object, int64_t type, Num value);
void vg_parameters(Machine& m, int64_t object, int64_t type, Array values);
void vg_matrix(Machine& m, Array values, int64_t load);
void vg_scale_matrix(Machine& m, double x, double y, int64_t load);  // load: it becomes that matrix
void vg_translate(Machine& m, double x, double y);
void vg_shear(Machine& m, double x, double y);
void vg_rotate(Machine& m, double degrees);
void vg_set_paint(Machine& m, int64_t paint, int64_t modes);
void vg_set_color(Machine& m, int64_t paint, int64_t rgba);
void vg_mask_changed(Machine& m);
void vg_create_path(Machine& m, int64_t name, int64_t format, int64_t datatype, double scale, double bias, int64_t capabilities);
void vg_path_changed(Machine& m, int64_t path);
void vg_remove_capabilities(Machine& m, int64_t path, int64_t capabilities);
void vg_create_image(Machine& m, int64_t name, int64_t format, int64_t width, int64_t height, int64_t quality);
void vg_child_image(Machine& m, int64_t name, int64_t parent, int64_t width, int64_t height);
void vg_upload(Machine& m, int64_t image, int64_t x, int64_t y, int64_t width, int64_t height, Array data);
void vg_image_changed(Machine& m, int64_t image);
void vg_glyph(Machine& m, int64_t font, int64_t index, int64_t path, int64_t image, int64_t hinted, Array origin, Array escapement);
void vg_clear_glyph(Machine& m, int64_t font, int64_t index);
void vg_create_mask_layer(Machine& m, int64_t name, int64_t width, int64_t height);
void vg_mask_layer_changed(Machine& m, int64_t layer);

}  // namespace dt::state::run
