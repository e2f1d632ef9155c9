// An array of plain numbers that may become larger than half of memory. It grows by moving pages, never by copying, and
// its reserve costs nothing until it is used.
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace dt::extract {

template <class T> class Large {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Large() = default;
  ~Large() { clear(); }
  Large(const Large&) = delete;
  Large& operator=(const Large&) = delete;

  size_t size() const { return size_; }
  const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  void push_back(const T& value) {
    if (size_ == room_) grow(size_ + 1);
    data_[size_++] = value;
  }
  void append(const T* from, size_t n) {
    if (!n) return;
    if (n > room_ - size_) grow(size_ + n);
    memcpy(static_cast<void*>(data_ + size_), from, n * sizeof(T));
    size_ += n;
  }
  void resize(size_t n) {  // what is new is zeros: nothing is ever taken away again but all
    if (n > room_) grow(n);
    size_ = std::max(size_, n);
  }
  void clear() {
    if (data_) munmap(data_, room_ * sizeof(T));
    data_ = nullptr, size_ = room_ = 0;
  }

 private:
  void grow(size_t least) {
    size_t room = std::max<size_t>(std::max(least, room_ + room_ / 2), 4096);
    void* at = data_ ? mremap(data_, room_ * sizeof(T), room * sizeof(T), MREMAP_MAYMOVE)
                     : mmap(nullptr, room * sizeof(T), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(at), room_ = room;
  }
  T* data_ = nullptr;
  size_t size_ = 0, room_ = 0;
};

}  // namespace dt::extract
