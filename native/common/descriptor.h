// A message with a file descriptor beside it, over a local socket. No C++ library: the tap says hello with it too.
#pragma once
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace dt {

// Returns whether all of it was taken; `descriptor` below 0: none goes along.
inline bool send_with_descriptor(int socket, const void* data, size_t bytes, int descriptor, int flags) {
  iovec io = {const_cast<void*>(data), bytes};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(part), &descriptor, sizeof descriptor);
  }
  return sendmsg(socket, &message, flags | MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

}  // namespace dt
