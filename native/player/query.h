// The driver's words about its state, as paths and values (docs/state-paths.md).
#pragma once
#include <cstdint>
#include <cstdio>

namespace dt::play {

class Player;

enum Way : unsigned {
  ASK_GET,
  ASK_ENABLED,
  ASK_UNIT,
  ASK_UNIT_ENABLED,
  ASK_TEXTURE,
  ASK_LEVEL,
  ASK_SAMPLER,
  ASK_BUFFER,
  ASK_ATTRIBUTE,
  ASK_ATTACHMENT,
  ASK_RENDERBUFFER,
  ASK_PROGRAM,
  ASK_SHADER,
  ASK_BLOCK,
  ASK_PIPELINE,
  ASK_LIGHT,
  ASK_MATERIAL,
  ASK_ENV,
  ASK_GEN,
  ASK_COORDINATES,
  WAYS
};
enum Kind : uint8_t { K_INTEGER, K_FLOAT, K_BOOLEAN, K_ENUM, K_NAME, K_LONG, K_UNSIGNED };

struct EnumName {
  uint32_t value;
  const char* name;
};
struct EnumTable {
  const EnumName* names;  // ascending
  unsigned count;
};
struct Query {
  uint32_t pname;
  uint8_t kind, limit;  // limit: what the driver can do, no state
  uint8_t count;        // of values; 0: the size rules know
  int8_t table;         // enumerants: g_enum_tables; names: a class
  const char* name;
};
struct QueryList {
  const Query* queries;
  unsigned count;
};
struct IndexedQuery {
  uint32_t limit;   // what glGet says how many there are by
  uint32_t leader;  // where this one is 0 the rest of its kind is nothing
  Query query;
};
// The use that --verify makes of an answer.
struct Answer {
  uint32_t pname;
  int32_t what;  // a class: it is the name of an object; -1: it is not compared
};
extern const Answer g_answers[];  // ascending; others are compared
extern const unsigned g_answers_count;
extern const EnumTable g_enum_tables[];
extern const QueryList g_queries[];
extern const IndexedQuery g_indexed[], g_indexed_enabled[];
extern const int g_draw_buffers;  // the table of enumerants that glDrawBuffer takes
extern const unsigned g_indexed_count, g_indexed_enabled_count;

// Asks the driver for everything that it says about the current context; one line [seq, path, value as JSON text] each.
// `wanted` is the beginning of the paths that are wanted; "": all.
void query_state(Player& player, uint64_t seq, const char* wanted, FILE* to);

}  // namespace dt::play
