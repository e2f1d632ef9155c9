#include "source.h"

#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "snappy.h"
#ifdef DRAWTAP_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef DRAWTAP_HAVE_BROTLI
#include <brotli/decode.h>
#endif

namespace dt::peers {
namespace {

constexpr size_t PIECE_BYTES = 1 << 20;
constexpr uint64_t MOST_CHUNK_BYTES = 64u << 20;  // apitrace's have 1 MiB

struct Close {
  void operator()(FILE* file) const { fclose(file); }
};
using File = std::unique_ptr<FILE, Close>;

uint64_t place(const File& file) {
  const off_t at = ftello(file.get());
  return at < 0 ? 0 : static_cast<uint64_t>(at);
}

class SnappySource : public Source {
 public:
  explicit SnappySource(File file) : file_(std::move(file)) {}
  const char* container() const override { return "snappy"; }
  uint64_t position() const override { return place(file_); }
  bool next(std::string* piece) override {
    while (!done_) {
      const std::string where = " at byte " + std::to_string(ftello(file_.get()));
      uint8_t head[4];
      const size_t got = fread(head, 1, 4, file_.get());
      if (got < 4) {
        if (got) damage = "the file ends inside the length of a chunk" + where;
        done_ = true;
        return false;
      }
      const uint64_t bytes = head[0] | head[1] << 8 | head[2] << 16 | static_cast<uint64_t>(head[3]) << 24;
      if (!bytes) {  // where apitrace's own readers stop
        done_ = true;
        return false;
      }
      if (bytes > MOST_CHUNK_BYTES) {
        damage = "a chunk of " + std::to_string(bytes) + " bytes is too large to be true" + where;
        done_ = true;
        return false;
      }
      stored_.resize(bytes);
      const size_t there = fread(stored_.data(), 1, bytes, file_.get());
      stored_.resize(there);
      if (there < bytes) damage = "the file ends inside a chunk" + where;
      if (!snappy_uncompress(stored_, MOST_CHUNK_BYTES, piece) && damage.empty()) damage = "a chunk is damaged" + where;
      done_ = !damage.empty();
      if (!piece->empty()) return true;
    }
    return false;
  }

 private:
  File file_;
  std::string stored_;
  bool done_ = false;
};

// The common parts of the streaming decoders: input in pieces, output in pieces.
class StreamSource : public Source {
 public:
  explicit StreamSource(File file) : file_(std::move(file)), input_(1 << 16) {}
  uint64_t position() const override { return place(file_); }
  bool next(std::string* piece) override {
    if (done_) return false;
    piece->resize(PIECE_BYTES);
    size_t made = 0;
    while (made < PIECE_BYTES && !done_) {
      if (!left_ && !ended_) {
        at_ = input_.data();
        left_ = fread(input_.data(), 1, input_.size(), file_.get());
        ended_ = left_ == 0;
      }
      const size_t before = left_;
      const size_t n = decode(reinterpret_cast<uint8_t*>(piece->data()) + made, PIECE_BYTES - made);
      made += n;
      if (!n && ended_ && before == left_) {
        if (!done_ && damage.empty() && !finished_) damage = "the file ends early";
        done_ = true;
      }
    }
    piece->resize(made);
    return made > 0;
  }

 protected:
  // Decode from at_/left_ (moves them) into `to`; returns the bytes made. Sets done_, damage, finished_.
  virtual size_t decode(uint8_t* to, size_t room) = 0;
  void bad(const char* what) {
    damage = std::string("the compressed data are damaged: ") + what;
    done_ = true;
  }
  const uint8_t* at_ = nullptr;
  size_t left_ = 0;
  bool done_ = false;
  bool finished_ = false;  // a whole frame ended here: an end of the file is in order

 private:
  File file_;
  std::vector<uint8_t> input_;
  bool ended_ = false;
};

class ZstdSource : public StreamSource {
 public:
  explicit ZstdSource(File file) : StreamSource(std::move(file)), stream_(ZSTD_createDStream()) {
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, 27);
  }
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }
  const char* container() const override { return "zstd"; }

 protected:
  // The table of a seekable file stands in a skippable frame, which the decoder skips by itself.
  size_t decode(uint8_t* to, size_t room) override {
    ZSTD_inBuffer in{at_, left_, 0};
    ZSTD_outBuffer out{to, room, 0};
    const size_t result = ZSTD_decompressStream(stream_, &out, &in);
    at_ += in.pos;
    left_ -= in.pos;
    if (ZSTD_isError(result))
      bad(ZSTD_getErrorName(result));
    else if (in.pos || out.pos)
      finished_ = result == 0;
    return out.pos;
  }

 private:
  ZSTD_DStream* stream_;
};

#ifdef DRAWTAP_HAVE_ZLIB
class GzipSource : public StreamSource {
 public:
  explicit GzipSource(File file) : StreamSource(std::move(file)) { inflateInit2(&stream_, 15 + 32); }
  ~GzipSource() override { inflateEnd(&stream_); }
  const char* container() const override { return "zlib"; }

 protected:
  size_t decode(uint8_t* to, size_t room) override {
    stream_.next_in = const_cast<uint8_t*>(at_);
    stream_.avail_in = static_cast<uInt>(left_);
    stream_.next_out = to;
    stream_.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    at_ += left_ - stream_.avail_in;
    left_ = stream_.avail_in;
    if (result == Z_STREAM_END) {
      finished_ = true;
      done_ = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      bad(stream_.msg ? stream_.msg : "no gzip stream");
    }
    return room - stream_.avail_out;
  }

 private:
  z_stream stream_{};
};
#endif

#ifdef DRAWTAP_HAVE_BROTLI
class BrotliSource : public StreamSource {
 public:
  explicit BrotliSource(File file)
      : StreamSource(std::move(file)), state_(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr)) {}
  ~BrotliSource() override { BrotliDecoderDestroyInstance(state_); }
  const char* container() const override { return "brotli"; }

 protected:
  size_t decode(uint8_t* to, size_t room) override {
    size_t available = room;
    const BrotliDecoderResult result = BrotliDecoderDecompressStream(state_, &left_, &at_, &available, &to, nullptr);
    if (result == BROTLI_DECODER_RESULT_ERROR) bad(BrotliDecoderErrorString(BrotliDecoderGetErrorCode(state_)));
    if (result == BROTLI_DECODER_RESULT_SUCCESS) finished_ = done_ = true;
    return room - available;
  }

 private:
  BrotliDecoderState* state_;
};
#endif

}  // namespace

std::unique_ptr<Source> open_source(const std::string& path, std::string* error) {
  File file(fopen(path.c_str(), "rb"));
  if (!file) {
    *error = strerror(errno);
    return nullptr;
  }
  uint8_t magic[4] = {};
  errno = 0;
  const size_t got = fread(magic, 1, 4, file.get());
  if (got < 2) {
    *error = errno ? strerror(errno) : "the file is empty";
    return nullptr;
  }
  if (magic[0] == 'a' && magic[1] == 't') {
    fseeko(file.get(), 2, SEEK_SET);
    return std::make_unique<SnappySource>(std::move(file));
  }
  rewind(file.get());
  if (got == 4 && magic[0] == 0x28 && magic[1] == 0xb5 && magic[2] == 0x2f && magic[3] == 0xfd)
    return std::make_unique<ZstdSource>(std::move(file));
  if (magic[0] == 0x1f && magic[1] == 0x8b) {
#ifdef DRAWTAP_HAVE_ZLIB
    return std::make_unique<GzipSource>(std::move(file));
#else
    *error = "it is compressed with zlib, and this drawtap was built without it";
    return nullptr;
#endif
  }
  // Brotli has no mark of its own.
#ifdef DRAWTAP_HAVE_BROTLI
  return std::make_unique<BrotliSource>(std::move(file));
#else
  *error = "it is neither snappy, zlib nor zstd; brotli is not built into this drawtap";
  return nullptr;
#endif
}

}  // namespace dt::peers
