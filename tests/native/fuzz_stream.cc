// The recorder's end of streams and the control socket against peers that say anything: fuzz_stream SEED ROUNDS.
// Built with sanitizers by test_fuzz_stream.py. Ends with "ok" where every round ended as it must.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "../../native/common/stream.h"
#include "../../native/drain/control.h"
#include "../../native/drain/proof.h"
#include "../../native/drain/stream.h"

using dt::ByteSink;

namespace {

std::mt19937 g_random;
uint32_t pick(uint32_t n) { return g_random() % n; }

[[noreturn]] void wrong(const char* what) {
  fprintf(stderr, "fuzz_stream: %s\n", what);
  abort();
}
#define MUST(condition) \
  if (!(condition)) wrong(#condition)

std::string noise(size_t bytes, std::mt19937& random) {
  std::string s(bytes, '\0');
  for (char& c : s) c = static_cast<char>(random() % (random() % 3 ? 256 : 8));
  return s;
}

void put(int fd, const std::string& bytes) {
  [[maybe_unused]] ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

template <typename T> std::string raw(const T& value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

// A receiver that reads when it likes and answers what it likes.
void hostile_receiver(int fd, uint32_t seed, bool honest) {
  std::mt19937 random(seed);
  uint64_t got = 0;
  std::string in;
  for (int step = 0; step < 400; step++) {
    pollfd p = {fd, POLLIN, 0};
    poll(&p, 1, 5);
    char bytes[65536];
    if (honest || random() % 4) {
      const ssize_t n = recv(fd, bytes, honest ? sizeof bytes : 1 + random() % sizeof bytes, MSG_DONTWAIT);
      if (n == 0) break;
      if (n > 0) in.append(bytes, static_cast<size_t>(n));
    }
    bool ended = false;
    while (in.size() >= 8) {
      dt_stream_message m;
      memcpy(&m, in.data(), 8);
      MUST(m.bytes <= DT_STREAM_LONGEST_MESSAGE);
      if (in.size() - 8 < m.bytes) break;
      if (m.type == DT_STREAM_DATA) got += m.bytes;
      ended |= m.type == DT_STREAM_END;
      in.erase(0, 8 + size_t{m.bytes});
    }
    if (honest) {
      put(fd, raw(dt_stream_message{DT_STREAM_TAKEN, {}, 8}) + raw(got));
      if (ended) break;
      continue;
    }
    switch (random() % 12) {
      case 0: put(fd, noise(random() % 200, random)); break;
      case 1:
        put(fd, raw(dt_stream_message{static_cast<uint8_t>(random()), {}, static_cast<uint32_t>(random() % 32)}));
        break;
      case 2: put(fd, raw(dt_stream_message{DT_STREAM_TAKEN, {}, 8}) + raw(uint64_t{got + random() % 3 - 1})); break;
      case 3: put(fd, raw(dt_stream_message{DT_STREAM_ERROR, {}, 5}) + "enough"); break;
      case 4: put(fd, raw(dt_stream_message{DT_STREAM_TAKEN, {}, 0xffffffff})); break;
      case 5:
        if (random() % 8 == 0) step = 400;
        break;
      default: put(fd, raw(dt_stream_message{DT_STREAM_TAKEN, {}, 8}) + raw(got));
    }
  }
  close(fd);
}

void stream_round(bool honest) {
  int pair[2];
  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  std::thread peer(hostile_receiver, pair[1], g_random(), honest);
  dt::StreamSettings settings;
  settings.stall = honest ? 20 : 0.1;
  settings.window = 1 + pick(100000);
  uint64_t written = 0, failed_at = 0;
  std::string error;
  {
    dt::StreamSink sink(pair[0], settings, "{}", [] { return std::string("{\"calls\": 1}"); });
    const unsigned writes = 1 + pick(40);
    for (unsigned i = 0; i < writes; i++) {
      const std::string bytes = noise(1 + pick(i % 7 ? 3000 : 300000), g_random);
      written += bytes.size();
      error = sink.write({bytes.data(), bytes.size()});
      if (!error.empty()) {
        failed_at = written;
        // And never again.
        MUST(!sink.write({bytes.data(), bytes.size()}).empty());
        written += bytes.size();
        break;
      }
    }
    if (error.empty() && pick(8)) {
      error = sink.finish();
      if (error.empty()) MUST(sink.taken() == written);
    }
    if (honest && failed_at) wrong(error.c_str());
    MUST(sink.taken() <= written);
    uint64_t kept = 0;
    for (const auto& bytes : sink.untaken()) kept += bytes.size();
    MUST(kept <= written && written - kept <= sink.taken());  // nothing is forgotten that was not taken
  }
  peer.join();
}

int connected(const std::string& path, int type) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  memcpy(name.sun_path, path.c_str(), path.size() + 1);
  const int fd = socket(AF_UNIX, type, 0);
  if (connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) wrong("cannot connect");
  return fd;
}

std::string hello(uint16_t version, uint8_t role, const std::string& nonce, const std::string& options) {
  dt_stream_hello h{};
  memcpy(h.magic, DT_STREAM_MAGIC, 8);
  h.version = version;
  h.role = role;
  h.nonce_bytes = static_cast<uint32_t>(nonce.size());
  h.options_bytes = static_cast<uint32_t>(options.size());
  return raw(h) + nonce + options;
}

// What a recorder that listens says to a hello: its code, and the text of it.
dt_stream_answer heard(int fd, std::string* text) {
  dt_stream_answer answer{};
  if (recv(fd, &answer, sizeof answer, MSG_WAITALL) != sizeof answer) return {};
  MUST(answer.text_bytes <= DT_STREAM_LONGEST_TEXT);
  text->assign(answer.text_bytes, '\0');
  MUST(!answer.text_bytes || recv(fd, text->data(), text->size(), MSG_WAITALL) == static_cast<ssize_t>(text->size()));
  return answer;
}

// Somebody who was asked for a proof and has none, or shows that of another word, of other nonces, or half of it.
void pretend(int fd, const std::string& nonce) {
  std::string own;
  if (heard(fd, &own).code != DT_STREAM_CHALLENGE) return;
  std::string shown = dt::hmac_sha256(pick(2) ? "wrong" : "", DT_STREAM_MAGIC " connects" + nonce + own);
  if (pick(3) == 0) shown = dt::hmac_sha256("right", DT_STREAM_MAGIC " connects" + own + nonce);
  if (pick(3) == 0) shown = own;
  if (pick(4) == 0) shown.resize(pick(dt::PROOF_BYTES));
  put(fd, shown);
  if (shown.size() < dt::PROOF_BYTES) return;
  MUST(heard(fd, &own).code == DT_STREAM_TOKEN_REFUSED);
}

void listening_rounds(const std::string& folder, unsigned rounds) {
  dt::StreamSettings settings;
  settings.to = "unix:" + folder + "/serve";
  settings.serve = true;
  settings.token = "right";
  dt::Receivers receivers(settings);
  dt::Refusal refusal;
  const std::string error = receivers.start([](const std::string&) {}, &refusal);
  if (!error.empty()) wrong(error.c_str());
  for (unsigned i = 0; i < rounds; i++) {
    const int fd = connected(folder + "/serve", SOCK_STREAM);
    const std::string nonce = pick(2) ? noise(dt::PROOF_BYTES, g_random) : noise(pick(100), g_random);
    if (pick(3) == 0) {
      put(fd, hello(DT_STREAM_VERSION, DT_STREAM_RECEIVER, nonce, "{}"));
      pretend(fd, nonce);
      close(fd);
      continue;
    }
    std::string bytes =
        hello(static_cast<uint16_t>(pick(4)), static_cast<uint8_t>(pick(3)), nonce, noise(pick(100), g_random));
    if (pick(2)) bytes[pick(static_cast<uint32_t>(bytes.size()))] ^= static_cast<char>(1 << pick(8));
    if (pick(3) == 0) bytes.resize(pick(static_cast<uint32_t>(bytes.size())));
    if (pick(5) == 0) bytes = noise(pick(5000), g_random);
    put(fd, bytes);
    close(fd);
  }
  // None of these was let in; one that knows the word is.
  const int good = connected(folder + "/serve", SOCK_STREAM);
  const std::string mine = noise(dt::PROOF_BYTES, g_random);
  std::string text;
  put(good, hello(DT_STREAM_VERSION, DT_STREAM_RECEIVER, mine, "{}"));
  MUST(heard(good, &text).code == DT_STREAM_CHALLENGE && text.size() == dt::PROOF_BYTES);
  const std::string nonces = mine + text;
  put(good, dt::hmac_sha256("right", DT_STREAM_MAGIC " connects" + nonces));
  MUST(heard(good, &text).code == DT_STREAM_OK);
  MUST(text.substr(0, dt::PROOF_BYTES) == dt::hmac_sha256("right", DT_STREAM_MAGIC " accepts" + nonces));
  std::string why;
  const int taken = receivers.take(&why);
  if (taken < 0) wrong(why.c_str());
  put(taken, "x");
  char next = 0;
  MUST(recv(good, &next, 1, MSG_WAITALL) == 1 && next == 'x');
  close(taken);
  close(good);
}

void connecting_rounds(const std::string& folder, unsigned rounds) {
  const std::string path = folder + "/answer";
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  memcpy(name.sun_path, path.c_str(), path.size() + 1);
  MUST(bind(listener, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0 && listen(listener, 4) == 0);
  for (unsigned i = 0; i < rounds; i++) {
    dt_stream_answer answer{};
    memcpy(answer.magic, DT_STREAM_MAGIC, 8);
    answer.version = DT_STREAM_VERSION;
    answer.code = i ? static_cast<uint16_t>(1 + pick(6)) : 0;
    std::string text = noise(pick(300), g_random);
    answer.text_bytes = static_cast<uint32_t>(text.size());
    std::string bytes = raw(answer) + text;
    if (i && pick(2)) bytes = noise(pick(400), g_random);
    if (i && pick(3) == 0) bytes.resize(pick(static_cast<uint32_t>(bytes.size() + 1)));
    std::thread server([&] {
      const int fd = accept(listener, nullptr, nullptr);
      char in[256];
      [[maybe_unused]] ssize_t n = recv(fd, in, sizeof in, 0);
      put(fd, bytes);
      close(fd);
    });
    dt::StreamSettings settings;
    settings.to = "unix:" + path;
    if (i % 2) settings.token = "right";
    dt::Receivers receivers(settings);
    dt::Refusal refusal;
    const std::string error = receivers.start([](const std::string&) {}, &refusal);
    server.join();
    MUST(error.empty() == (i == 0));
  }
  close(listener);
}

void control_rounds(const std::string& folder, unsigned rounds) {
  dt::Control control;
  MUST(control.listen_at(folder + "/control").empty());
  unsigned asked = 0;
  auto turn = [&] {
    std::vector<pollfd> fds;
    control.add_to(&fds);
    poll(fds.data(), fds.size(), 10);
    control.serve(fds, 0, [&](uint64_t client, const std::vector<std::string>& words) {
      asked++;
      MUST(!words.empty());
      control.answer(client, "{\"ok\": true}");
    });
  };
  std::set<int> clients;
  for (unsigned i = 0; i < rounds; i++) {
    if (clients.size() < 60 && pick(3)) clients.insert(connected(folder + "/control", SOCK_SEQPACKET));
    for (int fd : clients)
      if (pick(4) == 0) put(fd, noise(pick(pick(50) ? 300 : 100000), g_random));
    if (!clients.empty() && pick(3) == 0) {
      close(*clients.begin());
      clients.erase(clients.begin());
    }
    turn();
  }
  const int good = connected(folder + "/control", SOCK_SEQPACKET);
  put(good, "status");
  char in[256];
  ssize_t n = -1;
  for (int i = 0; i < 200 && n < 0; i++) {
    turn();
    n = recv(good, in, sizeof in, MSG_DONTWAIT);
  }
  MUST(n == 12 && asked);
  for (int fd : clients) close(fd);
  close(good);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  g_random.seed(static_cast<uint32_t>(atoi(argv[1])));
  const unsigned rounds = static_cast<unsigned>(atoi(argv[2]));
  for (unsigned i = 0; i < rounds; i++) stream_round(i % 4 == 0);
  listening_rounds(argv[3], rounds * 2);
  connecting_rounds(argv[3], rounds);
  control_rounds(argv[3], rounds * 4);
  puts("ok");
  return 0;
}
