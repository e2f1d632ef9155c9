#include "state.h"

#include <dlfcn.h>

#include <cstdlib>

#include "index.h"

struct dt_state {
  std::shared_ptr<dt::state::Index> index;
};

namespace {

thread_local std::string g_error;

template <class F>
int guarded(F act) {
  try {
    act();
    return DT_OK;
  } catch (const dt::Error& e) {
    g_error = e.what();
    return e.code;
  } catch (const std::bad_alloc&) {
    g_error = "out of memory";
    return DT_E_MEMORY;
  } catch (const std::exception& e) {
    g_error = e.what();
    return DT_E_FORMAT;
  }
}
void need(bool given, const char* what) {
  if (!given) throw dt::Error(DT_E_ARGUMENT, std::string(what) + " is missing");
}
void hand_out(dt::Bytes bytes, const char** text, uint64_t* length, void** owner) {
  auto* kept = new dt::Bytes(std::move(bytes));
  *text = kept->data();
  *length = kept->size();
  *owner = kept;
}

}  // namespace

extern "C" {

const char* dt_state_last_error(void) { return g_error.c_str(); }

int dt_state_open(const char* path, const char* frame_end, const char* cache_folder, dt_state** out) {
  return guarded([&] {
    need(path && out, "path");
    *out = nullptr;
    *out = new dt_state{std::make_shared<dt::state::Index>(path, frame_end ? frame_end : "auto", cache_folder ? cache_folder : "")};
  });
}
void dt_state_close(dt_state* state) { delete state; }
void dt_state_cancel(void) { ++dt::state::g_cancel; }

int dt_state_at(dt_state* state, uint64_t seq, const char* path, const char** text, uint64_t* length, void** owner) {
  return guarded([&] {
    need(state && text && length && owner, "state");
    dt::Bytes out;
    state->index->at(seq, path ? path : "", out);
    hand_out(std::move(out), text, length, owner);
  });
}
int dt_state_changes(dt_state* state, uint64_t first_seq, uint64_t end_seq, const char* path, const char** text, uint64_t* length, void** owner) {
  return guarded([&] {
    need(state && text && length && owner, "state");
    dt::Bytes out;
    state->index->changes(first_seq, end_seq, path ? path : "", out);
    hand_out(std::move(out), text, length, owner);
  });
}
int dt_state_problems(dt_state* state, const char** text, uint64_t* length, void** owner) {
  return guarded([&] {
    need(state && text && length && owner, "state");
    dt::Bytes out;
    for (auto& p : state->index->problems) out.put(p), out.put('\n');
    hand_out(std::move(out), text, length, owner);
  });
}
void dt_state_free(void* owner) { delete static_cast<dt::Bytes*>(owner); }

int dt_state_table(dt_state* state, const char* name, const char* path, uint64_t first_seq, uint64_t end_seq, struct ArrowArrayStream* out) {
  return guarded([&] {
    need(state && name && out, "table name");
    dt::state::Index::stream(state->index, name, path ? path : "", first_seq, end_seq ? end_seq : UINT64_MAX, out);
  });
}

struct ArrowArrayStream* dt_state_new_stream(void) { return static_cast<ArrowArrayStream*>(calloc(1, sizeof(ArrowArrayStream))); }
void dt_state_free_stream(struct ArrowArrayStream* stream) {
  if (!stream) return;
  if (stream->release) stream->release(stream);
  free(stream);
}
void dt_state_release_capsule(void* capsule) {
  // The interpreter's own function, wherever it lives: this library is not linked with it.
  static auto* const pointer_of = reinterpret_cast<void* (*)(void*, const char*)>(dlsym(RTLD_DEFAULT, "PyCapsule_GetPointer"));
  if (pointer_of) dt_state_free_stream(static_cast<ArrowArrayStream*>(pointer_of(capsule, "arrow_array_stream")));
}

}  // extern "C"
