// The windows of a replay on an X server. libX11 is looked up at the first use: the player needs none otherwise.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace dt::play {

class X11 {
 public:
  // The server that $DISPLAY names; throws dt::Error (DT_E_ARGUMENT) with the reason where there is none.
  X11();
  ~X11();
  X11(const X11&) = delete;
  X11& operator=(const X11&) = delete;

  void* display() const;  // an XDisplay
  // A window on the screen with that visual (0: any); 0: it could not be made.
  unsigned long open(int width, int height, unsigned long visual, const std::string& title);
  void resize(unsigned long window, int width, int height);
  void close(unsigned long window);
  bool close_wanted();  // has somebody closed a window since the last question?

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace dt::play
