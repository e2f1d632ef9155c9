#include "own_queries.h"

#include "draw_state.h"
#include "gl_enums.h"

namespace dt::play::metrics {

namespace {

// OpenGL ES 2 has queries as an extension.
template <class F> F function(const char* name, const char* extended) {
  return is_es() && version() < 30 ? gl::real<F>(extended) : gl::real<F>(name);
}
void begin(uint32_t target, uint32_t index, uint32_t name) {
  if (index)
    gl::real<void (*)(uint32_t, uint32_t, uint32_t)>("glBeginQueryIndexed")(target, index, name);
  else
    function<void (*)(uint32_t, uint32_t)>("glBeginQuery", "glBeginQueryEXT")(target, name);
}
void end(uint32_t target, uint32_t index) {
  if (index)
    gl::real<void (*)(uint32_t, uint32_t)>("glEndQueryIndexed")(target, index);
  else
    function<void (*)(uint32_t)>("glEndQuery", "glEndQueryEXT")(target);
}
uint64_t counted(uint32_t name) {
  const ResultsHere here;
  if (auto get64 = gl::real<void (*)(uint32_t, uint32_t, uint64_t*)>("glGetQueryObjectui64v");
      get64 && !is_es() && version() >= 33) {
    uint64_t value = 0;
    get64(name, GL_QUERY_RESULT, &value);
    return value;
  }
  uint32_t value = 0;
  function<void (*)(uint32_t, uint32_t, uint32_t*)>("glGetQueryObjectuiv", "glGetQueryObjectuivEXT")(
      name, GL_QUERY_RESULT, &value);
  return value;
}
bool tells_any(uint32_t target) {
  // Overflows of transform feedback too.
  return target == GL_ANY_SAMPLES_PASSED || target == GL_ANY_SAMPLES_PASSED_CONSERVATIVE ||
         target == GL_TRANSFORM_FEEDBACK_OVERFLOW || target == GL_TRANSFORM_FEEDBACK_STREAM_OVERFLOW;
}
bool is_occlusion(uint32_t target) {
  return target == GL_SAMPLES_PASSED || target == GL_ANY_SAMPLES_PASSED || target == GL_ANY_SAMPLES_PASSED_CONSERVATIVE;
}

}  // namespace

class OwnQueries::Part : public Piece {
 public:
  Part(OwnQueries& owner, uint32_t its_name, uint32_t its_target, Names names)
      : Piece(its_name, its_target), owner_(owner), names_(std::move(names)) {}
  ~Part() override { names_->push_back(name); }
  void settle() override {
    if (runs) owner_.split(*this);
  }

 private:
  OwnQueries& owner_;
  Names names_;
};

void OwnQueries::begun(uint32_t target, uint32_t index, uint32_t name) {
  if (!current_context() || !name) return;
  // It may have been refused, or be compiled into a display list.
  int current = 0;
  if (!index)
    if (auto get = function<void (*)(uint32_t, uint32_t, int*)>("glGetQueryiv", "glGetQueryivEXT"); get)
      if (get(target, GL_CURRENT_QUERY, &current); static_cast<uint32_t>(current) != name) return;
  Context& context = contexts_[current_context()];
  Own& own = context.all[name];
  if (!own.active) ++context.active;
  own = {target, index, name, {}, true, false};
}

void OwnQueries::ending(uint32_t target, uint32_t index) {
  auto it = contexts_.find(current_context());
  if (it == contexts_.end() || !it->second.active) return;
  for (auto& [name, own] : it->second.all) {
    if (!own.active || own.target != target || own.index != index) continue;
    if (runs_as(own) != target) {
      // The program's call is to find one of its own kind to end.
      end(runs_as(own), index);
      go_on(it->second, own, target);
    }
    if (!own.pieces.empty()) own.pieces.back()->runs = false;
    own.active = false;
    --it->second.active;
  }
}

bool OwnQueries::suspend(const std::function<bool(uint32_t)>& counts) {
  auto it = contexts_.find(current_context());
  if (it == contexts_.end() || !it->second.active) return false;
  bool any = false;
  for (auto& [name, own] : it->second.all) {
    if (!own.active || !counts(own.target)) continue;
    end(runs_as(own), own.index);
    if (!own.pieces.empty()) own.pieces.back()->runs = false;
    own.suspended = any = true;
    if (is_occlusion(own.target) && !is_es()) samples_ = make(it->second, GL_SAMPLES_PASSED);
  }
  return any;
}

void OwnQueries::resume() {
  auto it = contexts_.find(current_context());
  if (it == contexts_.end()) return;
  for (auto& [name, own] : it->second.all) {
    if (!own.suspended) continue;
    own.suspended = false;
    if (samples_ && is_occlusion(own.target)) {
      begin(GL_SAMPLES_PASSED, own.index, samples_->name);
      samples_->runs = true;
      own.pieces.push_back(std::move(samples_));
    } else {
      go_on(it->second, own, own.target);
    }
  }
  samples_ = nullptr;
}

void OwnQueries::go_on(Context& context, Own& own, uint32_t target) {
  if (!own.pieces.empty()) own.pieces.back()->runs = false;
  own.pieces.push_back(make(context, target));
  begin(target, own.index, own.pieces.back()->name);
  own.pieces.back()->runs = true;
}

std::shared_ptr<Piece> OwnQueries::make(Context& context, uint32_t target) {
  Names& free = context.free[target];
  if (!free) free = std::make_shared<std::vector<uint32_t>>();
  if (free->empty()) {
    free->resize(16);
    function<void (*)(int, uint32_t*)>("glGenQueries", "glGenQueriesEXT")(16, free->data());
  }
  const uint32_t name = free->back();
  free->pop_back();
  return std::make_shared<Part>(*this, name, target, free);
}

void OwnQueries::split(const Piece& piece) {
  auto it = contexts_.find(current_context());
  if (it == contexts_.end()) return;
  for (auto& [name, own] : it->second.all) {
    if (!own.active || own.suspended || own.pieces.empty() || own.pieces.back().get() != &piece) continue;
    end(piece.target, own.index);
    go_on(it->second, own, piece.target);
    return;
  }
}

bool OwnQueries::result(uint32_t name, uint64_t& value) {
  auto it = contexts_.find(current_context());
  if (it == contexts_.end()) return false;
  auto found = it->second.all.find(name);
  if (found == it->second.all.end() || found->second.active || found->second.pieces.empty()) return false;
  const Own& own = found->second;
  value = counted(name);
  for (auto& piece : own.pieces) value += counted(piece->name);
  if (tells_any(own.target)) value = value != 0;
  return true;
}

uint32_t OwnQueries::stand_in(uint32_t name) {
  uint64_t value = 0;
  if (!result(name, value) || !value || counted(name)) return name;
  for (auto& piece : contexts_[current_context()].all[name].pieces)
    if (counted(piece->name)) return piece->name;
  return name;
}

void OwnQueries::forget(const void* context) {
  auto it = contexts_.find(context);
  if (it == contexts_.end()) return;
  it->second.all.clear();
  const auto remove = function<void (*)(int, const uint32_t*)>("glDeleteQueries", "glDeleteQueriesEXT");
  for (auto& [target, names] : it->second.free)
    if (context == current_context() && context && remove) remove(static_cast<int>(names->size()), names->data());
  contexts_.erase(it);
}

}  // namespace dt::play::metrics
