#include "own_queries.h"

#include "draw_state.h"
#include "gl_enums.h"

namespace dt::play::metrics {

namespace {

// OpenGL ES 2 has queries as an extension.
template <class F> const F& of_context(const F& function, const F& extended) {
  return is_es() && version() < 30 ? extended : function;
}
void begin(uint32_t target, uint32_t index, uint32_t name) {
  if (index)
    driver::glBeginQueryIndexed(target, index, name);
  else
    of_context(driver::glBeginQuery, driver::glBeginQueryEXT)(target, name);
}
void end(uint32_t target, uint32_t index) {
  if (index)
    driver::glEndQueryIndexed(target, index);
  else
    of_context(driver::glEndQuery, driver::glEndQueryEXT)(target);
}
uint64_t counted(uint32_t name) {
  const ResultsHere here;
  if (driver::glGetQueryObjectui64v && !is_es() && version() >= 33) {
    uint64_t value = 0;
    driver::glGetQueryObjectui64v(name, GL_QUERY_RESULT, &value);
    return value;
  }
  uint32_t value = 0;
  of_context(driver::glGetQueryObjectuiv, driver::glGetQueryObjectuivEXT)(name, GL_QUERY_RESULT, &value);
  return value;
}
bool tells_any(uint32_t target) {
  // Overflows of transform feedback too.
  return target == GL_ANY_SAMPLES_PASSED || target == GL_ANY_SAMPLES_PASSED_CONSERVATIVE ||
         target == GL_TRANSFORM_FEEDBACK_OVERFLOW || target == GL_TRANSFORM_FEEDBACK_STREAM_OVERFLOW;
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
    if (auto get = of_context(driver::glGetQueryiv, driver::glGetQueryivEXT); get)
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
    of_context(driver::glGenQueries, driver::glGenQueriesEXT)(16, free->data());
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
  auto query = it->second.all.find(name);
  if (query == it->second.all.end() || query->second.active || query->second.pieces.empty()) return false;
  const Own& own = query->second;
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
  const auto remove = of_context(driver::glDeleteQueries, driver::glDeleteQueriesEXT);
  for (auto& [target, names] : it->second.free)
    if (context == current_context() && context && remove) remove(static_cast<int>(names->size()), names->data());
  contexts_.erase(it);
}

}  // namespace dt::play::metrics
