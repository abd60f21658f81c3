// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/restore_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::internal {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::vector<std::string> prefixes_in(FileSystem& files, const std::string& fallback_dir = "") {
  std::vector<std::string> prefixes;
  for (const RestoreCandidate& found : find_candidates(files, "d", fallback_dir, "a"))
    prefixes.push_back(found.prefix);
  return prefixes;
}

TEST(RestoreCandidatesTest, AreTheCheckpointsWithTheNameByStep) {
  MemoryFileSystem files;
  files.create_directories("d");
  for (const char* const name : {"a-9.index", "a-10.index", "ab-3.index", "a-x.index", "b.index"})
    files.create(std::string("d/") + name);
  EXPECT_THAT(prefixes_in(files), ElementsAre("d/a-9", "d/a-10"));
}

TEST(RestoreCandidatesTest, AreEmptyInAnEmptyDirectory) {
  MemoryFileSystem files;
  EXPECT_THAT(prefixes_in(files), IsEmpty());
  EXPECT_NO_THROW(check_holds_no_checkpoint(files, "d", "a"));
  files.create_directories("d");
  files.create("d/metrics.jsonl");
  EXPECT_THAT(prefixes_in(files), IsEmpty());
  EXPECT_NO_THROW(check_holds_no_checkpoint(files, "d", "a"));
}

TEST(RestoreCandidatesTest, AreAnErrorIfOnlyOtherNamesExist) {
  MemoryFileSystem files;
  files.create_directories("d");
  files.create("d/b-9.index");
  EXPECT_THAT(
      [&] { check_holds_no_checkpoint(files, "d", "a"); },
      ThrowsMessage<FailedPreconditionError>(AllOf(HasSubstr("b-9"), HasSubstr("a-<step>"))));
}

TEST(RestoreCandidatesTest, AreAnErrorIfTheStateNamesAMissingCheckpoint) {
  MemoryFileSystem files;
  files.create_directories("d");
  update_checkpoint_state(files, "d", "d/a-9");
  EXPECT_THAT([&] { check_holds_no_checkpoint(files, "d", "a"); },
              ThrowsMessage<DataLossError>(HasSubstr("d/checkpoint names the checkpoint d/a-9")));
}

TEST(RestoreCandidatesTest, PreferTheMainDirectoryToTheFallbackDirectory) {
  MemoryFileSystem files;
  files.create_directories("d");
  files.create_directories("e");
  for (const char* const name : {"d/a-9.index", "e/a-9.index", "e/a-10.index", "d/a-8.index"})
    files.create(name);
  EXPECT_THAT(prefixes_in(files, "e"), ElementsAre("d/a-8", "e/a-9", "d/a-9", "e/a-10"));
}

}  // namespace
}  // namespace crochet::internal
