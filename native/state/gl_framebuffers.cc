// Framebuffers, queries, transform feedback, synchronisation.
#include <algorithm>
#include <cmath>

#include "gl_objects.h"
#include "egl_enums.h"
#include "gl_enums.h"

namespace dt::state::run {

void bind_framebuffer(Machine& m, int64_t target, int64_t name) {
  Node* c = m.context();
  auto key = static_cast<uint64_t>(name);
  if (key && !m.find(c, c_context::framebuffers, key)) m.make(c, c_context::framebuffers, key);
  m.own_object(c_context::framebuffers, key);
  if (target != GL_READ_FRAMEBUFFER) m.set(c, f_context::GL_DRAW_FRAMEBUFFER_BINDING, Num(name));
  if (target != GL_DRAW_FRAMEBUFFER) m.set(c, f_context::GL_READ_FRAMEBUFFER_BINDING, Num(name));
}
namespace {
template <class Do> void each_attachment(Machine& m, Node* f, int64_t attachment, Do act) {
  if (!f || !f->key) return m.refuse();
  int64_t points[2] = {attachment, 0};
  if (attachment == GL_DEPTH_STENCIL_ATTACHMENT) points[0] = GL_DEPTH_ATTACHMENT, points[1] = GL_STENCIL_ATTACHMENT;
  for (int64_t point : points)
    if (point)
      if (Node* a = m.child(f, c_framebuffer::attachments, static_cast<uint64_t>(point))) act(a);
}
void attach(Machine& m, Node* a, int64_t type, int64_t name, int64_t level, int64_t face, int64_t layer,
            int64_t layered) {
  m.set(a, f_attachment::GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE, Num(name ? type : 0));
  m.set(a, f_attachment::GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME, Num(name));
  m.set(a, f_attachment::GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LEVEL, Num(name ? level : 0));
  m.set(a, f_attachment::GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_CUBE_MAP_FACE, Num(name ? face : 0));
  m.set(a, f_attachment::GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LAYER, Num(name ? layer : 0));
  m.set(a, f_attachment::GL_FRAMEBUFFER_ATTACHMENT_LAYERED, Num(name ? layered : 0));
}
}  // namespace
void attach_texture(Machine& m, Node* f, int64_t attachment, int64_t textarget, int64_t texture, int64_t level,
                    int64_t layer, int64_t layered) {
  Node* t = named_texture(m, texture);
  if (texture && !t) return m.refuse();
  if (t && textarget && !t->get(f_texture::target)) init_texture(m, t, static_cast<uint32_t>(base_target(textarget)));
  int64_t target = t ? t->get(f_texture::target) : 0;
  int64_t face =
      textarget >= GL_TEXTURE_CUBE_MAP_POSITIVE_X && textarget <= GL_TEXTURE_CUBE_MAP_NEGATIVE_Z ? textarget : 0;
  if (target == GL_TEXTURE_CUBE_MAP && !face && !layered)
    face = GL_TEXTURE_CUBE_MAP_POSITIVE_X + std::clamp<int64_t>(layer, 0, 5), layer = 0;
  bool can_layer = target == GL_TEXTURE_CUBE_MAP || target == GL_TEXTURE_3D || target == GL_TEXTURE_1D_ARRAY ||
                   target == GL_TEXTURE_2D_ARRAY || target == GL_TEXTURE_CUBE_MAP_ARRAY ||
                   target == GL_TEXTURE_2D_MULTISAMPLE_ARRAY;
  each_attachment(m, f, attachment,
                  [&](Node* a) { attach(m, a, GL_TEXTURE, texture, level, face, layer, layered && can_layer); });
}
void attach_renderbuffer(Machine& m, Node* f, int64_t attachment, int64_t name) {
  if (name && !m.object(c_share::renderbuffers, static_cast<uint64_t>(name))) return m.refuse();
  each_attachment(m, f, attachment, [&](Node* a) { attach(m, a, GL_RENDERBUFFER, name, 0, 0, 0, 0); });
}
void draw_buffers(Machine& m, Node* f, int64_t n, Array bufs) {
  uint64_t known = bufs.count();
  if (!f) return;
  for (unsigned i = 0; i < 8; ++i)
    m.set(f, f_framebuffer::GL_DRAW_BUFFER0 + i,
          Num(i < static_cast<uint64_t>(std::max<int64_t>(n, 0)) && i < known ? bufs.integer(i) : 0));
}
void draw_buffer(Machine& m, Node* f, int64_t buf) {
  if (!f) return;
  for (unsigned i = 0; i < 8; ++i) m.set(f, f_framebuffer::GL_DRAW_BUFFER0 + i, Num(i ? 0 : buf));
}
void read_buffer(Machine& m, Node* f, int64_t src) { m.set(f, f_framebuffer::GL_READ_BUFFER, Num(src)); }
void bind_renderbuffer(Machine& m, int64_t name) {
  if (name && !m.find(m.share(), c_share::renderbuffers, static_cast<uint64_t>(name)))
    init_renderbuffer(m, m.make(m.share(), c_share::renderbuffers, static_cast<uint64_t>(name)));
  m.object(c_share::renderbuffers, static_cast<uint64_t>(name));
  m.set(m.context(), f_context::GL_RENDERBUFFER_BINDING, Num(name));
}
void renderbuffer_storage(Machine& m, Node* r, int64_t samples, int64_t format, int64_t w, int64_t h) {
  if (!r || w < 0 || h < 0) return m.refuse();
  m.set(r, f_renderbuffer::GL_RENDERBUFFER_WIDTH, Num(w));
  m.set(r, f_renderbuffer::GL_RENDERBUFFER_HEIGHT, Num(h));
  m.set(r, f_renderbuffer::GL_RENDERBUFFER_INTERNAL_FORMAT, Num(format));
  m.set(r, f_renderbuffer::GL_RENDERBUFFER_SAMPLES, Num(samples));
  m.own_content(r, f_renderbuffer::content);
  m.set_content(r, f_renderbuffer::content, NONE, 0);
}

// ---- queries, transform feedback, synchronisation -----------------------------------------------

namespace {
int query_slot(int64_t target) {
  switch (target) {
    case GL_SAMPLES_PASSED: return 0;
    case GL_ANY_SAMPLES_PASSED: return 1;
    case GL_ANY_SAMPLES_PASSED_CONSERVATIVE: return 2;
    case GL_PRIMITIVES_GENERATED: return 3;
    case GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN: return 4;
    case GL_TIME_ELAPSED: return 5;
    default: return 6;
  }
}
}  // namespace
void begin_query(Machine& m, int64_t target, int64_t index, int64_t id) {
  Node* c = m.context();
  if (!id || index < 0) return m.refuse();
  auto name = static_cast<uint64_t>(id);
  Node* q = m.find(c, c_context::queries, name);
  if (!q) q = m.make(c, c_context::queries, name);
  m.read(q);
  m.set(q, f_query::target, Num(target));
  m.set(q, f_query::active, Num(1));
  m.set_content(q, f_query::result, NONE, 0);
  m.set(c, f_context::GL_CURRENT_QUERY_i, static_cast<unsigned>(query_slot(target)), {Num(id)});
}
void end_query(Machine& m, int64_t target, int64_t) {
  Node* c = m.context();
  auto slot = static_cast<unsigned>(query_slot(target));
  Node* q = m.own_object(c_context::queries, static_cast<uint64_t>(c->get(f_context::GL_CURRENT_QUERY_i, slot)));
  m.read(c, f_context::GL_CURRENT_QUERY_i, slot);
  if (!q) return m.refuse();
  m.set(q, f_query::active, Num(0));
  m.touch_content(q, f_query::result);
  m.set(c, f_context::GL_CURRENT_QUERY_i, slot, {Num(0)});
}
void query_counter(Machine& m, int64_t id, int64_t target) {
  Node* q = m.own_object(c_context::queries, static_cast<uint64_t>(id));
  if (!q) return m.refuse();
  m.set(q, f_query::target, Num(target));
  m.set_content(q, f_query::result, NONE, 0);
}
void get_query(Machine& m, int64_t id) {
  if (Node* q = m.own_object(c_context::queries, static_cast<uint64_t>(id))) m.read_all(q);
  if (Node* b = bound_buffer(m, GL_QUERY_BUFFER)) m.touch_content(b, f_buffer::content);
}
void begin_conditional(Machine& m, int64_t id, int64_t mode) {
  m.set(m.context(), f_context::conditional_query, Num(id));
  m.set(m.context(), f_context::conditional_mode, Num(mode));
}
void end_conditional(Machine& m) { m.set(m.context(), f_context::conditional_query, Num(0)); }
namespace {
Node* feedback_object(Machine& m) {
  m.read(m.context(), f_context::GL_TRANSFORM_FEEDBACK_BINDING);
  return m.own_object(c_context::transform_feedbacks,
                      static_cast<uint64_t>(m.context()->get(f_context::GL_TRANSFORM_FEEDBACK_BINDING)));
}
}  // namespace
void bind_feedback(Machine& m, int64_t id) {
  auto name = static_cast<uint64_t>(id);
  if (!m.find(m.context(), c_context::transform_feedbacks, name))
    m.make(m.context(), c_context::transform_feedbacks, name);
  m.own_object(c_context::transform_feedbacks, name);
  m.set(m.context(), f_context::GL_TRANSFORM_FEEDBACK_BINDING, Num(id));
}
void feedback(Machine& m, int64_t on, int64_t, int64_t mode) {
  Node* f = feedback_object(m);
  if (!f) return;
  m.set(f, f_transform_feedback::active, Num(on));
  m.set(f, f_transform_feedback::paused, Num(0));
  if (on) {
    m.set(f, f_transform_feedback::mode, Num(mode));
    m.set_content(f, f_transform_feedback::vertices, NONE, 0);
  }
}
void feedback_pause(Machine& m, int64_t on) { m.set(feedback_object(m), f_transform_feedback::paused, Num(on)); }
void fence(Machine& m, int64_t sync) {
  if (sync) m.make(m.share(), c_share::syncs, static_cast<uint64_t>(sync));
}
void delete_sync(Machine& m, int64_t sync) {
  if (Node* n = m.find(m.share(), c_share::syncs, static_cast<uint64_t>(sync))) m.remove(n);
}
void wait_sync(Machine& m, int64_t sync) {
  if (Node* n = m.find(m.share(), c_share::syncs, static_cast<uint64_t>(sync))) m.read_all(n);
}

}  // namespace dt::state::run
