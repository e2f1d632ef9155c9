#include "fetches.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "draw_state.h"
#include "shader_text.h"
#include "gl_enums.h"

namespace dt::play::metrics {
namespace {

constexpr uint64_t PLACES = 512;

bool samples_are_queried() {
  for (uint32_t target : {GL_ANY_SAMPLES_PASSED, GL_ANY_SAMPLES_PASSED_CONSERVATIVE, GL_SAMPLES_PASSED}) {
    if (target == GL_SAMPLES_PASSED && is_es()) continue;
    int current = 0;
    driver::glGetQueryiv(target, GL_CURRENT_QUERY, &current);
    if (current) return true;
  }
  return false;
}

void bind_buffer(uint32_t target, uint32_t name) { driver::glBindBuffer(target, name); }

}  // namespace

uint32_t bind_new(uint32_t target, void (*bind)(uint32_t, uint32_t), const MakeNames& generate) {
  static uint32_t next = 0x6C000000;  // downwards
  if (!tls.context->core) {
    const uint32_t name = next--;
    bind(target, name);
    if (!take_error()) return name;
  }
  uint32_t name = 0;
  generate(1, &name);
  bind(target, name);
  return name;
}

void CountBuffer::make(size_t bytes) {
  const auto was = static_cast<uint32_t>(integer(GL_COPY_READ_BUFFER_BINDING));
  name_ = bind_new(GL_COPY_READ_BUFFER, bind_buffer, driver::glGenBuffers);
  const std::vector<uint8_t> zeros(bytes);
  driver::glBufferData(GL_COPY_READ_BUFFER, static_cast<intptr_t>(bytes), zeros.data(), GL_DYNAMIC_READ);
  bind_buffer(GL_COPY_READ_BUFFER, was);
}
void* CountBuffer::map(size_t bytes, bool wait) const {
  const auto was = static_cast<uint32_t>(integer(GL_COPY_READ_BUFFER_BINDING));
  if (wait) {  // llvmpipe waits for a barrier too, and needs none
    driver::glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
    driver::glFinish();  // nobody keeps track of who writes to it, also not in a framebuffer that was left
  }
  bind_buffer(GL_COPY_READ_BUFFER, name_);
  void* at = driver::glMapBufferRange(GL_COPY_READ_BUFFER, 0, static_cast<intptr_t>(bytes), 3);
  bind_buffer(GL_COPY_READ_BUFFER, was);
  return at;
}
void CountBuffer::unmap() const {
  const auto was = static_cast<uint32_t>(integer(GL_COPY_READ_BUFFER_BINDING));
  bind_buffer(GL_COPY_READ_BUFFER, name_);
  driver::glUnmapBuffer(GL_COPY_READ_BUFFER);
  bind_buffer(GL_COPY_READ_BUFFER, was);
}
void CountBuffer::drop() {
  if (name_) driver::glDeleteBuffers(1, &name_);
  name_ = 0;
}

uint32_t textured_units() {
  bool es = is_es();
  // GL_MAX_TEXTURE_UNITS
  int units = driver::glActiveTexture ? std::clamp(integer(GL_MAX_TEXTURE_UNITS), 1, 32) : 1,
      active = driver::glActiveTexture ? integer(GL_ACTIVE_TEXTURE) : 0;
  uint32_t textures = 0;
  for (int i = 0; i < units; ++i) {
    if (driver::glActiveTexture) driver::glActiveTexture(GL_TEXTURE0 + static_cast<uint32_t>(i));
    bool on = false;
    for (uint32_t target : {GL_TEXTURE_2D, GL_TEXTURE_1D, GL_TEXTURE_3D, GL_TEXTURE_CUBE_MAP,
                            GL_TEXTURE_RECTANGLE})  // 2D, 1D, 3D, cube, rectangle
      on = on || ((!es || target == GL_TEXTURE_2D ||
                   (target == GL_TEXTURE_CUBE_MAP && has_extension("GL_OES_texture_cube_map"))) &&
                  driver::glIsEnabled(target));
    textures += on;
  }
  if (driver::glActiveTexture) driver::glActiveTexture(static_cast<uint32_t>(active));
  drain_errors();
  return textures;
}

void StorageBinding::take() {
  bound_ = integer(GL_SHADER_STORAGE_BUFFER_BINDING);
  driver::glGetIntegeri_v(GL_SHADER_STORAGE_BUFFER_BINDING, fetch_binding(), &indexed_);
  start_ = size_ = 0;
  if (indexed_)
    driver::glGetInteger64i_v(GL_SHADER_STORAGE_BUFFER_START, fetch_binding(), &start_),
        driver::glGetInteger64i_v(GL_SHADER_STORAGE_BUFFER_SIZE, fetch_binding(), &size_);
}
void StorageBinding::give_back() const {
  const auto name = static_cast<uint32_t>(indexed_);
  if (size_ > 0)
    driver::glBindBufferRange(GL_SHADER_STORAGE_BUFFER, fetch_binding(), name, start_, size_);
  else
    driver::glBindBufferBase(GL_SHADER_STORAGE_BUFFER, fetch_binding(), name);
  driver::glBindBuffer(GL_SHADER_STORAGE_BUFFER, static_cast<uint32_t>(bound_));
}

void KeptDraws::begin() {
  if (runs_ || samples_are_queried()) return;
  if (used_ == names_.size()) {
    const size_t more = names_.empty() ? 1 : names_.size();
    names_.resize(used_ + more);
    driver::glGenQueries(static_cast<int>(more), names_.data() + used_);
  }
  driver::glBeginQuery(GL_ANY_SAMPLES_PASSED, names_[used_++]);
  runs_ = true;
}
void KeptDraws::end() {
  if (runs_) driver::glEndQuery(GL_ANY_SAMPLES_PASSED);
  runs_ = false;
}
void KeptDraws::forget(bool current) {
  if (current) end();
  if (current && !names_.empty()) driver::glDeleteQueries(static_cast<int>(names_.size()), names_.data());
  *this = {};
}

std::string FetchCounter::missing() {
  const GlContext* c = tls.context;
  if (!c || !c->version) return "there is no context";
  if (c->api == 2 ? c->version < 31 : c->version < 43 && !has_extension("GL_ARB_shader_storage_buffer_object"))
    return c->api == 2 ? "OpenGL ES 3.1 has the storage blocks that it takes"
                       : "OpenGL 4.3 or GL_ARB_shader_storage_buffer_object has what it takes";
  // GL_MAX_FRAGMENT_SHADER_STORAGE_BLOCKS
  if (integer(GL_MAX_FRAGMENT_SHADER_STORAGE_BLOCKS) < 1) return "the driver has no storage blocks in fragment shaders";
  return "";
}

bool FetchCounter::begin(uint32_t program, Count& to) {
  if (broken_) return to.lost = "the driver does not give back the counts", false;
  std::string why;
  Reading reads;
  const ProgramSource* source = program ? program_source(program) : nullptr;
  bool fixed = !program;
  if (source)
    fixed = std::none_of(source->stages.begin(), source->stages.end(),
                         [](auto& stage) { return stage.first == GL_FRAGMENT_SHADER; });
  uint32_t units = fixed && !is_es() && !tls.context->core ? textured_units() : 0;
  if (!program && !units) return false;
  if (!(program ? use_fetching_copy(program, units, reads, why) : use_fixed_fetching(units, why))) {
    use_program(program);
    return to.lost = lasting(why), false;
  }
  if (program && !reads.fragment && !reads.earlier) return false;
  binding_.take();
  if (!buffer_.name()) {
    stride_ = static_cast<uint64_t>(std::max(integer(GL_SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT), 64));
    buffer_.make(PLACES * stride_);
  }
  if (used_ == PLACES) read();
  driver::glBindBufferRange(GL_SHADER_STORAGE_BUFFER, fetch_binding(), buffer_.name(),
                            static_cast<intptr_t>(used_++ * stride_), FETCH_COUNTS * 4);
  kept_.begin();
  to.ticket = next_++;
  return true;
}

void FetchCounter::end() {
  kept_.end();
  binding_.give_back();
}

// All places that are in use; they are free again.
void FetchCounter::read() {
  if (!used_) return;
  const size_t bytes = used_ * stride_;
  auto* at = static_cast<uint8_t*>(buffer_.map(bytes));
  broken_ = broken_ || !at;
  for (uint64_t i = 0; i < used_; ++i) {
    uint32_t counts[FETCH_COUNTS] = {};
    if (at) memcpy(counts, at + i * stride_, sizeof counts);
    results_.push_back({counts[FRAGMENT_FETCH_COUNT] + (static_cast<uint64_t>(counts[FRAGMENT_FETCH_CARRY]) << 32),
                        counts[VERTEX_FETCH_COUNT] + (static_cast<uint64_t>(counts[VERTEX_FETCH_CARRY]) << 32)});
  }
  if (at) memset(at, 0, bytes), buffer_.unmap();
  used_ = 0;
  kept_.drawn();
}

bool FetchCounter::take(Count& to, bool wait) {
  if (!to.ticket) return true;
  bool there = to.ticket < first_ + results_.size();
  if (!there && !wait) return false;
  if (!there) read();
  for (; first_ < to.ticket && !results_.empty(); ++first_) results_.pop_front();
  if (broken_ || results_.empty() || first_ != to.ticket) {
    to.lost = "the driver does not give back the counts";
  } else {
    to.fragment = results_.front().fragment, to.earlier = results_.front().earlier;
  }
  to.ticket = 0;
  return true;
}

void FetchCounter::forget(bool current) {
  if (current) buffer_.drop();
  buffer_ = {};
  kept_.forget(current);
}

}  // namespace dt::play::metrics
