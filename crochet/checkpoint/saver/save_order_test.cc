// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <regex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/step_state.h"

namespace crochet {
namespace {

using testing::Contains;
using testing::ElementsAreArray;
using testing::IsEmpty;

// "append d/m-2.index.tempstate123 45" as "append m-2.index.tempstate": without random numbers and
// sizes, and with large files created like others.
std::string simplified(const std::string& operation) {
  static const std::regex random("\\.(tempstate|tmp)[0-9a-f]+");
  static const std::regex size("^((append|create_large) [^ ]*) [0-9]+$");
  std::string text = std::regex_replace(operation, random, ".$1");
  text = std::regex_replace(text, size, "$1");
  text = std::regex_replace(text, std::regex("create_large"), "create");
  return std::regex_replace(text, std::regex("d/"), "");
}

// A session, and a saver whose file system records all operations.
struct ObservedSaver {
  explicit ObservedSaver(SaverOptions options) : saver(with_files(std::move(options))) {}

  SaverOptions with_files(SaverOptions options) {
    options.files = &files;
    return options;
  }

  MemoryFileSystem disk;
  FailingFileSystem files{disk};
  Saver saver;
  internal::StepState state;
  std::unique_ptr<Session> session = state.graph.new_session("");
};

// All operations of one save, in order; consecutive appends to a file count as one.
std::vector<std::string> operations_of_second_save(const SaverOptions& options) {
  ObservedSaver observed(options);
  observed.state.advance(*observed.session);
  observed.saver.save(*observed.session, "d/m", 1);
  const auto start = static_cast<size_t>(observed.files.num_operations());
  observed.state.advance(*observed.session);
  observed.saver.save(*observed.session, "d/m", 2);
  EXPECT_THAT(observed.files.violations(), IsEmpty());
  std::vector<std::string> simple;
  const std::vector<std::string> all = observed.files.operations();
  for (size_t i = start; i < all.size(); ++i) {
    std::string operation = simplified(all[i]);
    if (operation.starts_with("append ") && simple.back() == operation) continue;
    simple.push_back(std::move(operation));
  }
  return simple;
}

// A change of this list changes what a crash leaves on disk: docs/checkpoints.md and the tests
// of power cuts must be updated with it.
TEST(SaveOrderTest, OneSaveWritesSyncsAndRenamesInThisOrder) {
  const std::vector<std::string> expected = {
      "create m-2.data-00000-of-00002.tempstate",
      "append m-2.data-00000-of-00002.tempstate",
      "create m-2.data-00001-of-00002.tempstate",
      "append m-2.data-00001-of-00002.tempstate",
      "sync m-2.data-00000-of-00002.tempstate",
      "close m-2.data-00000-of-00002.tempstate",
      "sync m-2.data-00001-of-00002.tempstate",
      "close m-2.data-00001-of-00002.tempstate",
      "create m-2.index.tempstate",
      "append m-2.index.tempstate",
      "sync m-2.index.tempstate",
      "close m-2.index.tempstate",
      "create m-2.json.tmp",
      "append m-2.json.tmp",
      "sync m-2.json.tmp",
      "close m-2.json.tmp",
      "rename m-2.json.tmp -> m-2.json",
      "sync_directory d",
      "create m-2.meta.tmp",
      "append m-2.meta.tmp",
      "sync m-2.meta.tmp",
      "close m-2.meta.tmp",
      "rename m-2.meta.tmp -> m-2.meta",
      "sync_directory d",
      "rename m-2.data-00000-of-00002.tempstate -> m-2.data-00000-of-00002",
      "rename m-2.data-00001-of-00002.tempstate -> m-2.data-00001-of-00002",
      "sync_directory d",
      "rename m-2.index.tempstate -> m-2.index",
      "sync_directory d",  // Now it exists, and is durable.
      "create checkpoint.tmp",
      "append checkpoint.tmp",
      "sync checkpoint.tmp",
      "close checkpoint.tmp",
      "rename checkpoint.tmp -> checkpoint",
      "sync_directory d",
      "lock .lock",          // Only its holder removes checkpoints,
      "lock .sidecar_lock",  // and none that is being pinned.
      "remove m-1.meta",
      "remove m-1.index",
      "sync_directory d",  // The index is removed before its data.
      "remove m-1.data-00000-of-00002",
      "remove m-1.data-00001-of-00002",
      "remove m-1.json",
  };
  EXPECT_THAT(
      operations_of_second_save({.num_shards = 2, .share_unchanged = false, .max_to_keep = 1}),
      ElementsAreArray(expected));
}

// A file with values that did not change has its second name, still a temporary one, before
// anything is written; it gets its final name with the others.
TEST(SaveOrderTest, ASharedFileIsLinkedFirst) {
  const std::vector<std::string> expected = {
      "link m-1.data-00000-of-00001 -> m-2.data-00001-of-00002.tempstate",
      "create m-2.data-00000-of-00002.tempstate",
      "append m-2.data-00000-of-00002.tempstate",
      "sync m-2.data-00000-of-00002.tempstate",
      "close m-2.data-00000-of-00002.tempstate",
      "create m-2.index.tempstate",
      "append m-2.index.tempstate",
      "sync m-2.index.tempstate",
      "close m-2.index.tempstate",
      "rename m-2.data-00001-of-00002.tempstate -> m-2.data-00001-of-00002",
      "rename m-2.data-00000-of-00002.tempstate -> m-2.data-00000-of-00002",
      "sync_directory d",
      "rename m-2.index.tempstate -> m-2.index",
      "sync_directory d",  // Now it exists, and is durable.
      "remove m-1.index",
      "sync_directory d",
      "remove m-1.data-00000-of-00001",
  };
  std::vector<std::string> found = operations_of_second_save({.max_to_keep = 1});
  // Sidecar, graph and state file are written as without a shared file.
  std::vector<std::string> of_data;
  bool is_synced_for_data = false;
  for (const std::string& operation : found) {
    const bool is_data = operation.find(".data-") != std::string::npos ||
                         operation.find(".index") != std::string::npos;
    if (is_data || (operation == "sync_directory d" && is_synced_for_data))
      of_data.push_back(operation);
    is_synced_for_data = is_data;
  }
  EXPECT_THAT(of_data, ElementsAreArray(expected));
}

// The same with safetensors: the header, which is the index, and the data are in one file.
TEST(SaveOrderTest, ASafetensorsFileIsRenamedOnceItIsSynced) {
  const std::vector<std::string> expected = {
      "create m-2.safetensors.tempstate",
      "append m-2.safetensors.tempstate",
      "sync m-2.safetensors.tempstate",
      "close m-2.safetensors.tempstate",
      "create m-2.json.tmp",
      "append m-2.json.tmp",
      "sync m-2.json.tmp",
      "close m-2.json.tmp",
      "rename m-2.json.tmp -> m-2.json",
      "sync_directory d",
      "create m-2.meta.tmp",
      "append m-2.meta.tmp",
      "sync m-2.meta.tmp",
      "close m-2.meta.tmp",
      "rename m-2.meta.tmp -> m-2.meta",
      "sync_directory d",
      "rename m-2.safetensors.tempstate -> m-2.safetensors",
      "sync_directory d",  // Now it exists, and is durable.
      "create checkpoint.tmp",
      "append checkpoint.tmp",
      "sync checkpoint.tmp",
      "close checkpoint.tmp",
      "rename checkpoint.tmp -> checkpoint",
      "sync_directory d",
      "lock .lock",
      "lock .sidecar_lock",
      "remove m-1.meta",
      "remove m-1.safetensors",
      "sync_directory d",
      "remove m-1.json",
  };
  EXPECT_THAT(
      operations_of_second_save({.format = CheckpointFormat::kSafetensors, .max_to_keep = 1}),
      ElementsAreArray(expected));
}

// The operations of a save, each preceded by the stage that its ticket had reached.
std::vector<std::string> operations_with_stages(const SaverOptions& options) {
  ObservedSaver observed(options);
  const Snapshot snapshot = observed.saver.snapshot(*observed.session);
  FakeClock clock;
  internal::SavePromise promise("d/m-1", 1, clock);
  std::vector<std::string> operations;
  observed.files.watch([&](const std::string& operation) {
    operations.push_back(
        fmt::format("{}: {}", save_stage_name(promise.ticket().stage()), simplified(operation)));
  });
  internal::SaverAccess::write(observed.saver, snapshot, promise);
  return operations;
}

// A reported stage is true at once, even if the power is cut right after it.
TEST(SaveOrderTest, NoStageIsReportedBeforeItIsReached) {
  for (const auto format : {CheckpointFormat::kTensorBundle, CheckpointFormat::kSafetensors}) {
    const std::string index =
        format == CheckpointFormat::kTensorBundle ? "m-1.index" : "m-1.safetensors";
    const auto operations = operations_with_stages({.format = format});
    EXPECT_THAT(operations, Contains("written: rename " + index + ".tempstate -> " + index));
    const auto durable = std::ranges::find_if(
        operations, [](const std::string& text) { return text.starts_with("durable"); });
    ASSERT_NE(durable, operations.end());
    EXPECT_EQ(*durable, "durable: create checkpoint.tmp");
    EXPECT_EQ(*(durable - 1), "written: sync_directory d");
    EXPECT_EQ(operations.back(), "durable: sync_directory d");  // The state file's.
  }
}

// The changes of names when a checkpoint is saved again under the same step.
std::vector<std::string> renewal(const SaverOptions& options) {
  ObservedSaver observed(options);
  observed.saver.save(*observed.session, "d/m", 1);
  const auto start = static_cast<ptrdiff_t>(observed.files.num_operations());
  observed.saver.save(*observed.session, "d/m", 1);
  const std::vector<std::string> all = observed.files.operations();
  std::vector<std::string> changes;
  for (auto operation = all.begin() + start; operation != all.end(); ++operation) {
    const std::string text = simplified(*operation);
    if (text.starts_with("create checkpoint")) break;
    if (text.starts_with("remove") || text.starts_with("sync_dir") ||
        (text.starts_with("rename m-1") && text.find(".tempstate") != std::string::npos))
      changes.push_back(text);
  }
  return changes;
}

// The old checkpoint of the step is removed first, beginning with its index: at no time is there an
// index without its data.
TEST(SaveOrderTest, AnIndexOfTheSameStepIsRemovedBeforeItsDataIsReplaced) {
  const std::vector<std::string> expected = {
      "sync_directory d",  // The sidecar's.
      "sync_directory d",  // The meta graph's.
      "remove m-1.index",
      "sync_directory d",
      "rename m-1.data-00000-of-00001.tempstate -> m-1.data-00000-of-00001",
      "sync_directory d",
      "rename m-1.index.tempstate -> m-1.index",
      "sync_directory d"};
  EXPECT_THAT(renewal({.share_unchanged = false}), ElementsAreArray(expected));
}

TEST(SaveOrderTest, ASafetensorsIndexOfTheSameStepIsRemovedFirstToo) {
  const std::vector<std::string> expected = {
      "sync_directory d",  // The sidecar's.
      "sync_directory d",  // The meta graph's.
      "remove m-1.safetensors.index.json",
      "sync_directory d",
      "rename m-1-00001-of-00002.safetensors.tempstate -> m-1-00001-of-00002.safetensors",
      "rename m-1-00002-of-00002.safetensors.tempstate -> m-1-00002-of-00002.safetensors",
      "sync_directory d",
      "rename m-1.safetensors.index.json.tempstate -> m-1.safetensors.index.json",
      "sync_directory d"};
  EXPECT_THAT(renewal({.format = CheckpointFormat::kSafetensors, .num_shards = 2}),
              ElementsAreArray(expected));
}

}  // namespace
}  // namespace crochet
