// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/outputs/internal/output_encoder.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

constexpr int kGzip = 16;  // Added to the number of bits of the window: a header of gzip.

class GzipEncoder final : public OutputEncoder {
 public:
  GzipEncoder() {
    if (::deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip,
                       MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
      throw ResourceExhaustedError("zlib: no memory for a compressed output");
  }
  ~GzipEncoder() override { ::deflateEnd(&stream_); }
  GzipEncoder(const GzipEncoder&) = delete;
  GzipEncoder& operator=(const GzipEncoder&) = delete;

  void add(std::span<const std::byte> bytes, std::vector<std::byte>& out) override {
    while (!bytes.empty()) {
      const size_t size = std::min<size_t>(bytes.size(), std::numeric_limits<uInt>::max());
      // zlib does not change its input.
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
      stream_.avail_in = static_cast<uInt>(size);
      compress(Z_NO_FLUSH, out);
      bytes = bytes.subspan(size);
      is_empty_ = false;
    }
  }
  void end_member(std::vector<std::byte>& out) override {
    if (is_empty_) return;
    compress(Z_FINISH, out);
    ::deflateReset(&stream_);
    is_empty_ = true;
  }

 private:
  // Until there is room left for more.
  void compress(int flush, std::vector<std::byte>& out) {
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(packed_.data());
      stream_.avail_out = static_cast<uInt>(packed_.size());
      ::deflate(&stream_, flush);
      out.insert(out.end(), packed_.data(), packed_.data() + (packed_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

  z_stream stream_ = {};
  std::array<std::byte, size_t{64} << 10> packed_;
  bool is_empty_ = true;
};

}  // namespace

std::unique_ptr<OutputEncoder> make_encoder(OutputCompression compression) {
  if (compression == OutputCompression::kNone) return nullptr;
  return std::make_unique<GzipEncoder>();
}

}  // namespace crochet::inline v0::internal
