// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/cloud/internal/checksums.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "crochet/base/error.h"
#include "crochet/io/internal/crc32c.h"

namespace crochet::inline v0::cloud::internal {
namespace {

constexpr size_t kDigestedBytes = 1 << 20;

void check(int result) {
  if (result != 1) throw ResourceExhaustedError("OpenSSL could not compute a checksum");
}

}  // namespace

BodyChecksums checksums_of(const HttpBody& body) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  check(EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr));
  std::vector<std::byte> chunk(std::min<uint64_t>(body.size, kDigestedBytes));
  uint32_t crc = 0;
  for (uint64_t offset = 0; offset < body.size; offset += chunk.size()) {
    const auto bytes = std::span(chunk).first(std::min<uint64_t>(body.size - offset, chunk.size()));
    body.read(offset, bytes);
    check(EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()));
    crc = crochet::internal::extend_crc32c(crc, bytes);
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  check(EVP_DigestFinal_ex(context.get(), digest.data(), &size));
  return {.sha256 = fmt::format("{:02x}", fmt::join(digest.begin(), digest.begin() + size, "")),
          .crc32c = crc};
}

std::string BodyChecksums::crc32c_text() const {
  const std::array<unsigned char, 4> bytes = {
      static_cast<unsigned char>(crc32c >> 24), static_cast<unsigned char>(crc32c >> 16),
      static_cast<unsigned char>(crc32c >> 8), static_cast<unsigned char>(crc32c)};
  std::array<unsigned char, 9> base64;  // With a zero.
  EVP_EncodeBlock(base64.data(), bytes.data(), static_cast<int>(bytes.size()));
  return reinterpret_cast<const char*>(base64.data());
}

}  // namespace crochet::inline v0::cloud::internal
