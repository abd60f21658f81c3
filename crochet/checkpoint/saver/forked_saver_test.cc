// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Processes that are forked while their saver is working.
#include <unistd.h>

#include <chrono>
#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/temp_directory.h"
#include "crochet/testing/watched_file_system.h"
#include "tests/support/forked_child.h"
#include "tests/support/sanitizers.h"

namespace crochet {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

// 0 if `call` throws the error that names this process and its parent.
int refused(const std::string& what, const std::function<void()>& call) {
  try {
    call();
  } catch (const FailedPreconditionError& error) {
    const std::string expected =
        fmt::format("{}: belongs to process {}, from which process {} was forked", what,
                    ::getppid(), ::getpid());
    if (error.what() == expected) return 0;
    fmt::print(stderr, "found {}, expected {}\n", error.what(), expected);
  }
  return 1;
}

class ForkedSaverTest : public testing::Test {
 protected:
  // A save that does not end until the gate is opened.
  SaveTicket save_behind_gate() {
    files_.on_create([this](const std::string& path) {
      if (path.find(".data-") != std::string::npos) gate_.pass();
    });
    session_->run(graph_.train());
    const SaveTicket ticket = background_->enqueue(saver_->snapshot(*session_), "d/model.ckpt", 1);
    gate_.wait_for_waiting();
    return ticket;
  }

  LogCapture log_;
  WatchedFileSystem files_;
  Gate gate_;
  ScriptedGraph graph_;
  std::unique_ptr<Session> session_ = graph_.new_session("");
  std::unique_ptr<Saver> saver_ = std::make_unique<Saver>(SaverOptions{.files = &files_});
  std::unique_ptr<internal::BackgroundSaver> background_ =
      std::make_unique<internal::BackgroundSaver>(*saver_);
};

TEST_F(ForkedSaverTest, AChildCannotUseItsParentsSaver) {
  EXPECT_EQ(run_in_child([&] {
              int sum = 0;
              const auto expect_refused = [&](const std::function<void()>& call) {
                sum += refused("a saver", call);
              };
              internal::SavePromise promise("d/model.ckpt-1", 1, Clock::real());
              expect_refused([&] { saver_->save(*session_, "d/model.ckpt", 1); });
              expect_refused([&] { saver_->save_async(*session_, "d/model.ckpt", 1); });
              expect_refused([&] { internal::SaverAccess::write(*saver_, {}, promise); });
              expect_refused([&] { saver_->snapshot(*session_); });
              expect_refused([&] { saver_->restore(*session_, "d/model.ckpt-1"); });
              expect_refused([&] { saver_->restore_newest(*session_, "d", "model.ckpt"); });
              expect_refused([&] { saver_->pin("d/model.ckpt-1"); });
              return sum;
            }),
            0);
  EXPECT_EQ(saver_->save(*session_, "d/model.ckpt", 1), "d/model.ckpt-1");
}

TEST_F(ForkedSaverTest, AChildDoesNotWaitForASaveOfItsParent) {
  const SaveTicket ticket = save_behind_gate();
  EXPECT_EQ(run_in_child([&] {
              int sum = 0;
              const auto expect_refused = [&](const std::function<void()>& call) {
                sum += refused("a background saver", call);
              };
              expect_refused([&] { background_->enqueue({}, "d/model.ckpt", 2); });
              expect_refused([&] { background_->wait_for_turn(); });
              expect_refused([&] { background_->busy(); });
              expect_refused([&] { background_->wait(); });
              expect_refused([&] { background_->close(Clock::real().now() + 1h); });
              sum += refused("a save ticket", [&] { ticket.wait(); });
              if (!background_->take_finished().empty() || ticket.step() != 1) return 100;
              background_.reset();
              saver_.reset();
              return sum;
            }),
            0);
  gate_.open();
  background_->wait();
  EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
  EXPECT_THAT(list_checkpoints(files_, "d", "model.ckpt"), ElementsAre("d/model.ckpt-1"));
}

TEST_F(ForkedSaverTest, AChildSavesWithItsOwnSaver) {
  if (kHasThreadSanitizer)
    GTEST_SKIP() << "ThreadSanitizer has no threads in the child of a process with threads";
  save_behind_gate();
  EXPECT_EQ(run_in_child([&] {
              MemoryFileSystem files;
              Saver saver({.files = &files});
              const SaveTicket ticket = saver.save_async(*session_, "own/model.ckpt", 2);
              saver.wait();
              return ticket.location() == "own/model.ckpt-2" ? 0 : 1;
            }),
            0);
  gate_.open();
}

class ForkedWriterTest : public testing::TestWithParam<CheckpointFormat> {};

INSTANTIATE_TEST_SUITE_P(Formats, ForkedWriterTest,
                         testing::Values(CheckpointFormat::kTensorBundle,
                                         CheckpointFormat::kSafetensors));

TEST_P(ForkedWriterTest, AChildNeitherWritesNorRemovesItsParentsFiles) {
  const TempDirectory directory;
  const std::string prefix = directory / "model.ckpt-1";
  const auto tensor = Tensor::from<float>({1, 2, 3});
  auto writer = new_checkpoint_writer(GetParam(), FileSystem::posix(), prefix);
  writer->add("a", tensor);
  const auto in_child = [&] {
    const int sum = refused(prefix, [&] { writer->add("b", tensor); }) +
                    refused(prefix, [&] { writer->write_and_sync(); });
    writer.reset();
    return sum;
  };
  EXPECT_EQ(run_in_child(in_child), 0);
  writer->write_and_sync();
  EXPECT_EQ(run_in_child([&] {
              const int sum = refused(prefix, [&] { writer->publish(); });
              writer.reset();
              return sum;
            }),
            0);
  writer->publish();
  const Tensor read = CheckpointReader(prefix).read("a");
  EXPECT_EQ(read.flat<float>()[2], 3);
}

}  // namespace
}  // namespace crochet
