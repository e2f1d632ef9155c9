// A flight recorder: the last seconds (or bytes) of a process in memory, and the parts of everything before that still
// matter. The content stands in memory files that the starter of this process has as well, should it be killed.
//
// Chunks arrive as they would for a file. Chunks that leave the window go, many at a time, through the program
// drawtap-ring (native/extract/ring.cc). It puts them together with the *base*, a trace in memory, to a new base: all
// that living objects need at that point. The living objects and the window bound the memory; the program waits for
// none of it. The same program writes the files when something asks for one.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "../common/container.h"
#include "../common/signatures.h"
#include "../common/encoder.h"
#include "journal.h"
#include "status.h"

namespace dt {

struct RingSettings {
  uint64_t window_ns = 0, window_bytes = 0;  // one of them; both 0: no flight recorder
  uint64_t limit_bytes = 4ull << 30;         // of memory; beyond it calls are lost
  // that leave at once (or take_limit): below, starting a process costs more than they do
  uint64_t least_calls = 20000;
  uint64_t keep_limit = 500000;          // earlier calls, before pictures are taken to be painted over (ring.cc)
  uint64_t take_limit = 100000;          // earlier calls, before the program's pictures are read back; 0: never
  uint64_t before_ns = 0, after_ns = 0;  // of what is written; before 0: all of the window
  uint64_t frame_over_ns = 0, fps_below_milli = 0;
  uint32_t over_frames = 1, below_frames = 1;
  bool on_error = false, at_exit = false, at_crash = true;
  std::vector<std::string> marks;
  uint32_t most_saves = 10;                // that nobody asked for by hand
  uint64_t least_gap_ns = 10000000000ull;  // between them
  std::string frame_end = "auto";
  bool on() const { return window_ns || window_bytes; }
};

struct RingProcess {
  uint32_t pid = 0, clock = 0;
  uint64_t pool = 0;  // inode
  uint64_t start_clock = 0, start_ns = 0;
};

struct SaveWish {
  std::string reason, detail, output;    // output empty: a name is made up
  uint64_t before_ns = 0, after_ns = 0;  // 0: as the settings say
  bool by_hand = false;
};

// A picture of the program's that too many calls stand behind: the members of dt_target, in that order of use.
struct RingTarget {
  static constexpr size_t NUMBERS = 9;
  uint64_t numbers[NUMBERS] = {};  // kind, share group, name, target, level, width, height, depth, format
  uint32_t why = 0;                // of one that was refused: DT_REFUSED_*
};

struct RingTotals {
  uint64_t compactions = 0, walked = 0, kept = 0, exact = 0, saves = 0, failed = 0, held_bytes = 0, held_peak = 0,
           base_bytes = 0;
  uint64_t lost_calls = 0, frames = 0, worst_ns = 0, helper_ns = 0;
  uint64_t takes = 0, pictures = 0, picture_bytes = 0, refused = 0;  // of pictures that were read back
  bool assumed = false;
  std::string assumed_because = "[]";  // JSON
  std::string whole_because;           // why all earlier calls are kept; empty: they are not
  // The content, and its history.
  void put(JsonObject& to) const;
};

class Ring {
 public:
  // `recording`: the annotations that a file begins with; `remarks`: those that came later. `let_go`: content that is
  // not used any more may be sent again. `name`: a file for a save, given frame and reason.
  struct Owner {
    std::function<std::vector<std::string>()> annotations;
    std::function<std::string(const std::string& reason)> end_annotation;
    std::function<void()> let_go;
    std::function<std::string(uint64_t frame, const std::string& reason)> name;
    // Asks the program for pictures. False: the earlier pictures are not all there.
    std::function<bool(const std::vector<RingTarget>&)> ask;
    // The outcome of each (DT_TARGET_*, and DT_REFUSED_*); empty while some are outstanding, unless these are
    // `withdrawn`
    std::function<std::vector<uint32_t>(bool withdraw, uint64_t* bytes, std::vector<uint32_t>* why)> asked;
    std::function<uint64_t()> frames;  // that the program has shown by now, whether they have arrived here or not
  };
  Ring(const RingSettings& settings, const RingProcess& process, const SignatureSet& signatures, KnownBlobs& blobs,
       Status& status, Owner owner);
  ~Ring();

  // A part of a pool chunk, before it is encoded: something in it may ask for a save.
  void look(const TakenChunk& chunk);
  // In the order of turns. `signatures`: text that was not handed over before. False: no memory is left for it.
  bool add(const std::string& signatures, Encoded& out);
  // Returns a number to ask for later; 0: too many are waiting.
  uint64_t save(SaveWish wish);
  // Returns whether a file that nobody ordered by hand may be written now; if so, it counts.
  bool allow();
  // The outcome of a save: a JSON object with "done", and "file" or "error". Empty: not known (any more).
  std::string result(uint64_t number);
  // All that is held and not in the base, as a trace in a memory file. Returns what went wrong.
  std::string peek(int fd);
  // Nothing comes any more: writes the ordered files, and one more for `wish`, if given. Returns when all is done.
  void finish(const SaveWish* wish);
  RingTotals totals();

 private:
  void ask(const std::string& reason, const std::string& detail);
  void judge(double ns);
  using Hash = KnownBlobs::Hash;
  struct Held {
    uint64_t at = 0;  // in the journal
    size_t payload_bytes = 0;
    uint32_t meta_bytes = 0;
    uint64_t memory() const { return payload_bytes + contents.size() * sizeof(Hash) + sizeof *this; }
    dt_calls_meta meta{};
    std::vector<Hash> contents;
    uint64_t last_ns = 0, bytes = 0;  // with the content that came with it
  };
  struct Part {
    dt_blob_entry entry;
    uint64_t at;  // in the journal, of what is stored
  };
  struct Pending {
    SaveWish wish;
    uint64_t at_ns = 0, due_ns = 0, frame = 0, number = 0;
    uint64_t frames_shown = 0;
  };
  void keep();  // the thread
  bool is_due(const Pending& pending, uint64_t now) const;
  bool leaving(uint64_t now, uint64_t* cut_ns, size_t* chunks);
  void compact(uint64_t cut_ns, size_t chunks);
  void write(const Pending& pending);
  // The first chunks and what they refer to, or all that is known (`moving`: the journal's successor).
  std::string build(Journal& to, size_t chunks, bool moving = false);
  // Dropped content leaves the memory too.
  void renew_journal();
  // Gives whoever started this process what another would need to write what is held.
  void show();
  // The answer of drawtap-ring: a line of JSON, with the text that its JSON refers to.
  struct HelperAnswer {
    std::string text;
    Json json;
    uint64_t count(const char* name) const { return json[name].number(); }
  };
  std::string helper(const char* verb, const std::string& job, const std::vector<int>& files, HelperAnswer* answer);
  void put_job(JsonWriter<std::string>& job, uint64_t cut_ns) const;
  void drop_contents();
  bool lose(uint64_t calls, const std::string& why);
  uint64_t ns_of(const dt_calls_meta& meta, uint64_t ticks) const;
  uint64_t frame_ns(const TakenChunk& chunk, uint64_t ticks) const;
  uint64_t held_bytes() const;
  uint64_t cut_by_size(uint64_t end_ns) const;
  void look_at_pictures(uint64_t now);
  uint64_t spare_last_frame(uint64_t cut) const;

  const RingSettings settings_;
  const RingProcess process_;
  KnownBlobs& blobs_;
  Status& status_;
  const Owner owner_;

  std::mutex lock_;
  std::condition_variable changed_;
  Journal journal_;
  bool shown_ = false;  // to whoever started this process
  std::deque<Held> held_;
  std::unordered_map<Hash, std::vector<Part>, KnownBlobs::HashOf> contents_;
  uint64_t chunk_bytes_ = 0, content_bytes_ = 0;
  std::string signatures_;
  std::string frame_ends_;  // names of the functions that were seen to show frames, with commas
  std::deque<Pending> pending_;
  uint64_t last_number_ = 0, last_auto_ns_ = 0;
  uint32_t auto_saves_ = 0;
  std::map<uint64_t, std::string> results_;
  bool finishing_ = false;
  uint64_t last_frames_ns_[2] = {0, 0};  // when the last two frames ended, the older one first
  RingTotals totals_;
  bool is_loss_reported_ = false;

  // For the thread alone.
  int base_ = -1, frames_ = -1;
  uint64_t base_calls_ = 0, calls_past_ = 0, frames_past_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> consumed_;
  uint64_t next_try_ns_ = 0, least_calls_ = 0, cut_past_ns_ = 0, looked_ns_ = 0;
  std::vector<RingTarget> asked_, refused_;   // pictures: asked for now; those that cannot be had
  uint64_t asked_frames_ = 0, taken_ns_ = 0;  // frames shown at the order for pictures; when the last of them was there

  // For looking: one at a time.
  enum : uint8_t { FRAME_END = 1, ASKS_ERROR = 2, MARK = 4 };
  std::mutex look_lock_;
  std::vector<uint8_t> interest_;
  std::vector<uint16_t> error_slot_;  // byte offset of the answer in the record
  std::vector<std::string> names_;
  uint64_t frames_seen_ = 0, last_frame_ticks_ = 0;
  uint32_t over_ = 0, below_ = 0;
  double ticks_per_ns_ = 1;

  std::thread thread_;
};

// Takes "10s", "500ms", "2min", "500M", "1G" apart. False: it is neither a time nor a size.
bool parse_window(const std::string& text, uint64_t* ns, uint64_t* bytes);

}  // namespace dt
