// Texture reads of a draw: it is performed once more with a copy of its program that counts them. And what counting
// with shaders takes, of whatever they count.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "driver.h"
#include "programs.h"

namespace dt::play::metrics {

// The number of textures that fixed function reads for each fragment: units with a target that is on.
uint32_t textured_units();

// A new object, bound. Its name is one that no program chooses, where a program may choose names itself.
using MakeNames = driver::Function<void(int32_t, uint32_t*)>;
uint32_t bind_new(uint32_t target, void (*bind)(uint32_t, uint32_t), const MakeNames& generate);

// A buffer of 32-bit integers that shaders count in. Another kind of buffer serves to make it and to read it: llvmpipe
// ends its pending work whenever a program binds a storage buffer with state that it tracks.
class CountBuffer {
 public:
  uint32_t name() const { return name_; }
  void make(size_t bytes);  // of zeros; an error of the driver is left to be taken
  // Waits for all that was counted, or that is done; nullptr: the driver does not give it back. To read and to write,
  // until unmap().
  void* map(size_t bytes, bool wait = true) const;
  void unmap() const;
  void drop();

 private:
  uint32_t name_ = 0;
};

// The binding of storage blocks that shaders of ours count in, fetch_binding(), taken from the program for a while.
class StorageBinding {
 public:
  void take();
  void give_back() const;

 private:
  int bound_ = 0, indexed_ = 0;
  int64_t start_ = 0, size_ = 0;
};

// llvmpipe forgets draws to a tile that is covered whole afterwards, also their writes to memory, unless a query of
// samples runs meanwhile. This class runs one, where none of the program's serves as well. Drivers have one at a time.
// When a query begins that ran before, llvmpipe draws all the work that it was given since, so each has a name of its
// own until drawn().
class KeptDraws {
 public:
  void begin();
  void end();
  void drawn() { used_ = 0; }
  void forget(bool current);

 private:
  std::vector<uint32_t> names_;
  size_t used_ = 0;
  bool runs_ = false;
};

// For a context: a buffer with a place for each draw. They are read all at once, when there is no more place or
// somebody waits.
class FetchCounter {
 public:
  // Why texture reads cannot be counted in the current context, "": they can.
  static std::string missing();
  struct Count {
    uint64_t ticket = 0;  // 0: there is nothing to wait for
    const char* lost = nullptr;
    uint64_t fragment = 0, earlier = 0;  // by fragment shaders, by the stages before
  };
  // Makes the copy current, with a place to count in; `program` 0: fixed function. False: what `to` says is all (no
  // texture is read, or why it is not known). end() gives back what was changed but for the program.
  bool begin(uint32_t program, Count& to);
  void end();
  // Takes the results of a draw: draws come in order. False: they are not there yet.
  bool take(Count& to, bool wait);
  void forget(bool current);

 private:
  void read();
  struct Values {
    uint64_t fragment = 0, earlier = 0;
  };
  CountBuffer buffer_;
  uint64_t stride_ = 0, used_ = 0;
  uint64_t next_ = 1, first_ = 1;  // tickets: of the next draw, of results_.front()
  std::deque<Values> results_;     // of draws that were read
  StorageBinding binding_;
  KeptDraws kept_;
  bool broken_ = false;
};

}  // namespace dt::play::metrics
