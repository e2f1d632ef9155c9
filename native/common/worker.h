// A thread that does jobs one after the other, in the order in which they came.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace dt {

// A job returns an empty string or what went wrong. After that the other jobs are dropped.
template <class Job> class Worker {
 public:
  explicit Worker(size_t most_waiting) : most_waiting_(most_waiting) {}
  // Jobs that wait are dropped.
  ~Worker() {
    if (!thread_.joinable()) return;
    {
      std::lock_guard guard(lock_);
      stop_ = true;
      waiting_.clear();
    }
    filled_.notify_all();
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void start(std::function<std::string(Job&)> run) {
    run_ = std::move(run);
    thread_ = std::thread([this] { work(); });
  }
  // Waits until fewer jobs wait. Returns what went wrong so far.
  std::string give(Job job) {
    std::unique_lock guard(lock_);
    emptied_.wait(guard, [&] { return waiting_.size() < most_waiting_; });
    waiting_.push_back(std::move(job));
    filled_.notify_one();
    return error_;
  }
  // Waits until there is nothing to do. Returns what went wrong so far.
  std::string settle() {
    std::unique_lock guard(lock_);
    if (thread_.joinable()) emptied_.wait(guard, [&] { return waiting_.empty() && !busy_; });
    return error_;
  }
  bool failed() const { return failed_; }

 private:
  void work() {
    std::unique_lock guard(lock_);
    for (;;) {
      filled_.wait(guard, [&] { return stop_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      {
        Job job = std::move(waiting_.front());
        waiting_.pop_front();
        busy_ = true;
        guard.unlock();
        std::string error = failed_ ? "" : run_(job);
        guard.lock();
        if (error_.empty()) error_ = std::move(error);
      }
      failed_ = !error_.empty();
      busy_ = false;
      emptied_.notify_all();
    }
  }

  const size_t most_waiting_;
  std::function<std::string(Job&)> run_;
  std::mutex lock_;
  std::condition_variable filled_, emptied_;
  std::deque<Job> waiting_;
  std::string error_;
  bool busy_ = false, stop_ = false;
  std::atomic<bool> failed_{false};
  std::thread thread_;
};

}  // namespace dt
