// The effects of OpenVG commands on state and their needs, where it takes more than a line of the overlay
// (src/drawtap/spec/apis/vg.py). The generated effects.h declares those that the overlay names.
#pragma once
#include "effects.h"
#include "machine.h"

namespace dt::state::run {

void vg_create_names(Machine& m, Node* parent, unsigned collection, int64_t name);
void vg_delete_names(Machine& m, Node* parent, unsigned collection, int64_t name);

void vg_surface_made(Machine& m, Node* surface, int64_t image);  // eglCreatePbufferFromClientBuffer
void vg_surface_left(Machine& m, Node* surface);                 // it was destroyed, or is no longer drawn to
void vg_image_shared(Machine& m, Node* handle, uint64_t context, uint64_t name);  // eglCreateImage
void vg_read_surface(Machine& m);
void vg_draw_unknown(Machine& m);
// The pen goes on by what these glyphs say, and by as much more.
void vg_pen(Machine& m, int64_t font, const std::vector<uint64_t>& indices, const std::vector<double>& x,
            const std::vector<double>& y);

}  // namespace dt::state::run
