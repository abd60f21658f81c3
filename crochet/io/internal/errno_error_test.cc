// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/errno_error.h"

#include <errno.h>

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

using ::testing::ThrowsMessage;

TEST(ErrnoErrorTest, DistinguishesKindsOfErrors) {
  const std::vector<std::pair<int, Code>> kinds = {{ENOENT, Code::kNotFound},
                                                   {ENOTDIR, Code::kNotFound},
                                                   {EACCES, Code::kPermissionDenied},
                                                   {EPERM, Code::kPermissionDenied},
                                                   {EROFS, Code::kPermissionDenied},
                                                   {ENOSPC, Code::kResourceExhausted},
                                                   {EDQUOT, Code::kResourceExhausted},
                                                   {EMFILE, Code::kResourceExhausted},
                                                   {ENFILE, Code::kResourceExhausted},
                                                   {EFBIG, Code::kResourceExhausted},
                                                   {EEXIST, Code::kAlreadyExists},
                                                   {ENOTEMPTY, Code::kAlreadyExists},
                                                   {EIO, Code::kUnknown},
                                                   {EISDIR, Code::kUnknown}};
  for (const auto& [number, code] : kinds) EXPECT_EQ(code_of_errno(number), code) << number;
}

TEST(ErrnoErrorTest, NamesTheObjectAndTheOperation) {
  EXPECT_THAT([] { throw_errno(ENOSPC, "runs/x/checkpoint", "rename to runs/x/old"); },
              ThrowsMessage<ResourceExhaustedError>(
                  "runs/x/checkpoint: rename to runs/x/old failed: No space left on device "
                  "(ENOSPC)"));
}

TEST(ErrnoErrorTest, ShowsNumbersWithoutAName) {
  EXPECT_THAT([] { throw_errno(9999, "a", "open"); },
              ThrowsMessage<UnknownError>("a: open failed: error 9999"));
}

}  // namespace
}  // namespace crochet::internal
