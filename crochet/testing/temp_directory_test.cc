// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/temp_directory.h"

#include <stdlib.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"

namespace crochet {
namespace {

// Sets $TMPDIR during its lifetime.
class TemporaryTmpdir {
 public:
  explicit TemporaryTmpdir(const char* value) {
    if (const char* const old = ::getenv("TMPDIR")) old_ = old;
    ::setenv("TMPDIR", value, 1);
  }
  ~TemporaryTmpdir() { old_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", old_.c_str(), 1); }

 private:
  std::string old_;
};

TEST(TempDirectoryTest, IsEmptyAndUnique) {
  const TempDirectory first;
  const TempDirectory second;
  EXPECT_NE(first.path(), second.path());
  EXPECT_THAT(FileSystem::posix().list(first.path()), ::testing::IsEmpty());
}

TEST(TempDirectoryTest, IsRemovedWithItsContent) {
  FileSystem& files = FileSystem::posix();
  std::string path;
  {
    const TempDirectory directory;
    path = directory.path();
    files.create_directories(directory / "a/b");
    files.create(directory / "a/b/file");
    EXPECT_TRUE(files.exists(path + "/a/b/file"));
  }
  EXPECT_FALSE(files.exists(path));
}

TEST(TempDirectoryTest, IsCreatedInTmpdir) {
  const TempDirectory parent;
  const TemporaryTmpdir tmpdir(parent.path().c_str());
  const TempDirectory child;
  EXPECT_THAT(child.path(), ::testing::StartsWith(parent.path() + "/"));
}

TEST(TempDirectoryTest, ReportsWhyItCannotBeCreated) {
  const TemporaryTmpdir tmpdir("/no/such/place");
  EXPECT_THROW(TempDirectory(), NotFoundError);
}

}  // namespace
}  // namespace crochet
