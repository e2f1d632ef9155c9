// The C ABI. Nothing throws out of here.
#include "state.h"

#include "../core/border.h"
#include "../common/json.h"
#include "index.h"

struct dt_state {
  std::shared_ptr<dt::state::Index> index;
};

namespace {

using dt::hand_out;
using dt::need;

thread_local std::string g_error;

template <class F> int guarded(F&& body) { return dt::at_border(g_error, body); }

}  // namespace

extern "C" {

const char* dt_state_last_error(void) { return g_error.c_str(); }

int dt_state_open(const char* path, const char* frame_end, const char* cache_folder, dt_state** out) {
  return guarded([&] {
    need(path && out, "path");
    *out = nullptr;
    *out = new dt_state{
        std::make_shared<dt::state::Index>(path, frame_end ? frame_end : "auto", cache_folder ? cache_folder : "")};
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
int dt_state_changes(dt_state* state, uint64_t first_seq, uint64_t end_seq, const char* path, const char** text,
                     uint64_t* length, void** owner) {
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
    dt::JsonWriter(out).values(state->index->problems);
    hand_out(std::move(out), text, length, owner);
  });
}
void dt_state_free(void* owner) { delete static_cast<dt::Bytes*>(owner); }

int dt_state_table(dt_state* state, const char* name, const char* path, uint64_t first_seq, uint64_t end_seq,
                   struct ArrowArrayStream* out) {
  return guarded([&] {
    need(state && name && out, "table name");
    dt::state::Index::stream(state->index, name, path ? path : "", first_seq, end_seq ? end_seq : UINT64_MAX, out);
  });
}

struct ArrowArrayStream* dt_state_new_stream(void) { return dt::new_stream(); }
void dt_state_free_stream(struct ArrowArrayStream* stream) { dt::free_stream(stream); }
void dt_state_release_capsule(void* capsule) { dt::release_capsule(capsule); }

}  // extern "C"
