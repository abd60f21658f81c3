// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Values that did not change are not written again: checkpoints share the files that have them.
#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/checkpoint/saver/internal/stored_values.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/temp_directory.h"
#include "crochet/testing/watched_file_system.h"
#include "tests/support/checkpoint_contents.h"

namespace crochet {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;

constexpr int64_t kLarge = 32 << 10;  // Elements: 128 KiB.

Tensor large(float first) {
  std::vector<float> values(kLarge);
  std::iota(values.begin(), values.end(), first);
  return Tensor::from<float>(values);
}

class SharedValuesTest : public testing::Test {
 protected:
  SharedValuesTest() {
    for (const char* const name : {"a", "b", "c"}) variables_.emplace(name, add(name, large(1)));
    add("small", Tensor::from<float>({1, 2}));
    session_ = graph_.new_session("");
    files_.watch([this](const std::string& operation) { operations_.push_back(operation); });
  }

  Variable add(const std::string& name, const Tensor& value) {
    return graph_.variable(name, value);
  }
  SaverOptions options(SaverOptions more = {}) {
    more.files = &files_;
    return more;
  }
  void set(const std::string& name, const Tensor& value) {
    const Assignment assignment{.variable = variables_.at(name),
                                .shape = value.shape(),
                                .fill = [&](std::span<std::byte> memory) {
                                  std::ranges::copy(value.bytes(), memory.begin());
                                }};
    session_->assign({&assignment, 1});
  }
  void set_element(const std::string& name, size_t index, float value) {
    Tensor changed = snapshot_of(name);
    changed.mutable_flat<float>()[index] = value;
    set(name, changed);
  }
  // Memory that is new each time, as a copy of an array is.
  void touch(const std::string& name) { set(name, snapshot_of(name)); }
  void touch_all() {
    for (const auto& [name, variable] : variables_) touch(name);
  }
  Tensor snapshot_of(const std::string& name) {
    return session_->snapshot({&variables_.at(name), 1}).tensors().at(0).tensor;
  }

  // Saves, and checks that the checkpoint has every bit of the state.
  void save(Saver& saver, int64_t step) {
    operations_.clear();
    saver.save(*session_, "d/m", step);
    expect_whole(step);
  }
  void expect_whole(int64_t step) {
    const CheckpointReader reader(prefix(step), disk_);
    reader.verify();
    const TensorMap stored = read_all(reader);
    const Snapshot snapshot = session_->snapshot(graph_.variables());
    ASSERT_EQ(stored.size(), snapshot.tensors().size());
    for (const auto& [name, tensor] : snapshot.tensors())
      EXPECT_EQ(stored.at(name), tensor) << name;
  }
  static std::string prefix(int64_t step) { return "d/m-" + std::to_string(step); }
  // The number of bytes written to data files by the last save.
  uint64_t written() const {
    uint64_t sum = 0;
    for (const std::string& operation : operations_)
      if (operation.starts_with("append ") && operation.find(".data-") != std::string::npos)
        sum += std::stoull(operation.substr(operation.rfind(' ')));
    return sum;
  }
  int num_links() const {
    return static_cast<int>(std::ranges::count_if(
        operations_, [](const std::string& each) { return each.starts_with("link "); }));
  }
  static constexpr uint64_t bytes_of(int num_variables) {
    return static_cast<uint64_t>(num_variables) * kLarge * sizeof(float);
  }

  LogCapture log_;
  ScriptedGraph graph_;
  std::map<std::string, Variable> variables_;
  std::unique_ptr<Session> session_;
  MemoryFileSystem disk_;
  FailingFileSystem files_{disk_};
  std::vector<std::string> operations_;
};

TEST_F(SharedValuesTest, WritesOnlyWhatChanged) {
  Saver saver(options());
  save(saver, 1);
  EXPECT_GE(written(), bytes_of(3));
  set_element("b", 7, -1);
  save(saver, 2);
  EXPECT_EQ(num_links(), 1);
  EXPECT_GE(written(), bytes_of(1));
  EXPECT_LT(written(), bytes_of(1) + 100);
  save(saver, 3);
  EXPECT_EQ(num_links(), 2);
  EXPECT_LT(written(), 100);
  EXPECT_THAT(files_.violations(), IsEmpty());
}

TEST_F(SharedValuesTest, EachCheckpointIsCompleteWithoutTheOthers) {
  Saver saver(options());
  for (const int64_t removed : {1, 2, 3}) {
    for (int64_t step = 1; step <= 3; ++step) {
      set_element("c", 0, static_cast<float>(step));
      save(saver, step);
    }
    const TensorMap last = read_all(CheckpointReader(prefix(3), disk_));
    for (int64_t step = 1; step <= 3; ++step)
      if (step != removed) remove_checkpoint(disk_, prefix(step));
    const CheckpointReader left(prefix(removed), disk_);
    EXPECT_NO_THROW(left.verify()) << removed;
    EXPECT_EQ(read_all(left).at("a"), last.at("a"));
    remove_checkpoint(disk_, prefix(removed));
    EXPECT_THAT(disk_.list("d"), Not(Contains(HasSubstr(".data-"))));
  }
}

TEST_F(SharedValuesTest, LinksNothingIfEverythingChanges) {
  Saver saver(options());
  for (int64_t step = 1; step <= 4; ++step) {
    for (const auto& [name, variable] : variables_) set(name, large(static_cast<float>(step)));
    save(saver, step);
    EXPECT_EQ(num_links(), 0);
    EXPECT_GE(written(), bytes_of(3));
    EXPECT_TRUE(disk_.exists(internal::data_filename(prefix(step), 0, 1)));
  }
}

// Copies have no version that says whether they changed: their checksums do.
TEST_F(SharedValuesTest, FindsEqualCopies) {
  Saver saver(options());
  save(saver, 1);
  touch_all();
  save(saver, 2);
  EXPECT_EQ(num_links(), 0);  // The checksums are known from now on.
  touch_all();
  save(saver, 3);
  EXPECT_EQ(num_links(), 1);
  EXPECT_LT(written(), 100);
}

// Borrowed memory has no version at all.
TEST_F(SharedValuesTest, FindsWhatChangedInBorrowedMemory) {
  class Borrowing final : public Saveable {
   public:
    TensorMap save() const override {
      const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
      return {{"", Tensor::from_buffer(DType::kFloat, {kLarge},
                                       Buffer::borrow(
                                           bytes, [](void*) noexcept {}, nullptr))}};
    }
    void restore(const TensorMap&) override {}
    std::vector<float> values = std::vector<float>(kLarge, 1.0F);
  };
  const auto object = std::make_shared<Borrowing>();
  graph_.add_saveable({"object", object});
  Saver saver(options());
  for (int64_t step = 1; step <= 4; ++step) {
    // Once as a whole, and once between the samples.
    if (step == 2) object->values.assign(kLarge, 2);
    if (step == 4) object->values[100] = 3;
    saver.save(*session_, "d/m", step);
    EXPECT_EQ(CheckpointReader(prefix(step), disk_).read("object"), object->save().at("")) << step;
  }
}

// An engine can tell by other means which memory is the same: then it is not read.
class EngineVersionTest : public SharedValuesTest {
 protected:
  class Versions final : public PendingCopies {
   public:
    explicit Versions(uint64_t version) : version_(version) {}
    void wait() override {}
    bool is_pending(const Tensor&) const override { return true; }
    void read(const Tensor& tensor, size_t begin, std::span<std::byte> into) override {
      num_bytes += into.size();
      std::ranges::copy(tensor.bytes().subspan(begin, into.size()), into.begin());
    }
    uint64_t version_of(const Tensor&) const override { return version_; }
    void record_unannounced_write(const Tensor&) noexcept override { is_broken = true; }

    bool is_broken = false;
    size_t num_bytes = 0;  // That were read.

   private:
    const uint64_t version_;
  };

  // Returns the number of bytes that were read.
  size_t save(Saver& saver, int64_t step, const Tensor& value, uint64_t version) {
    const auto versions = std::make_shared<Versions>(version);
    internal::SavePromise promise(saver.prefix_of("d/m", step), step, saver.clock());
    internal::SaverAccess::write(saver, Snapshot({{"value", value}}, versions), promise);
    EXPECT_EQ(CheckpointReader(prefix(step), disk_).read("value"), value);
    return versions->num_bytes;
  }
};

TEST_F(EngineVersionTest, SparesReadingTheValue) {
  Saver saver(options());
  EXPECT_GE(save(saver, 1, large(1), 7), bytes_of(1));
  EXPECT_LE(save(saver, 2, large(1), 7), 1024);
  EXPECT_GE(save(saver, 3, large(2), 8), bytes_of(1));
}

// The snapshot may mix several steps: it is not published, and its source hears of that.
TEST_F(EngineVersionTest, EndsTheSaveIfASampleDiffers) {
  Saver saver(options());
  save(saver, 1, large(1), 7);
  const auto versions = std::make_shared<Versions>(7);
  internal::BackgroundSaver background(saver);
  const SaveTicket ticket = background.enqueue(Snapshot({{"value", large(2)}}, versions), "d/m", 2);
  EXPECT_THAT([&] { ticket.wait(); },
              ThrowsMessage<UnannouncedWriteError>(
                  HasSubstr("\"value\" was written to, but the write was not announced")));
  EXPECT_TRUE(versions->is_broken);
  EXPECT_EQ(ticket.num_attempts(), 1);
  EXPECT_EQ(ticket.fault(), SaveFault::kThisSave);
  EXPECT_THAT(list_checkpoints(disk_, "d", "m"), ElementsAre("d/m-1"));
  save(saver, 3, large(3), 8);
}

// For a program that is checked: the elements decide, and a broken promise ends the save.
TEST_F(EngineVersionTest, IsNotBelievedInASnapshotThatIsNotTrusted) {
  const auto save_checked = [&](Saver& saver, int64_t step, const Tensor& value, uint64_t version) {
    Snapshot snapshot({{"value", value}}, std::make_shared<Versions>(version));
    snapshot.distrust();
    internal::SavePromise promise(saver.prefix_of("d/m", step), step, saver.clock());
    operations_.clear();
    internal::SaverAccess::write(saver, snapshot, promise);
    EXPECT_EQ(CheckpointReader(prefix(step), disk_).read("value"), value);
  };
  Saver saver(options());
  save_checked(saver, 1, large(1), 7);
  save_checked(saver, 2, large(1), 7);
  EXPECT_EQ(num_links(), 1);
  Tensor changed = large(1);
  changed.mutable_flat<float>()[100] = -1;  // Between the samples.
  Snapshot snapshot({{"value", changed}}, std::make_shared<Versions>(7));
  snapshot.distrust();
  internal::BackgroundSaver background(saver);
  const SaveTicket ticket = background.enqueue(snapshot, "d/m", 3);
  EXPECT_THAT([&] { ticket.wait(); },
              ThrowsMessage<UnannouncedWriteError>(
                  HasSubstr("\"value\" was written to, but the write was not announced")));
  EXPECT_EQ(ticket.fault(), SaveFault::kState);
  save_checked(saver, 4, changed, 8);
  EXPECT_EQ(num_links(), 0);
}

// Then no other value is believed either: who breaks one promise may break others.
TEST_F(EngineVersionTest, IsNeverBelievedAgainOnceItWasWrong) {
  Saver saver(options());
  save(saver, 1, large(1), 7);
  EXPECT_THROW(save(saver, 2, large(2), 7), UnannouncedWriteError);
  Tensor changed = large(2);
  for (int64_t step = 3; step <= 8; ++step) {
    save(saver, step, changed, 7);  // Expects the value that was passed.
    changed.mutable_flat<float>()[100] = -static_cast<float>(step);
  }
}

// A value that was wrongly taken as unchanged, or a damaged sector, reaches no more checkpoints.
TEST_F(EngineVersionTest, ReachesNoMoreCheckpointsThanMayShareAFile) {
  Saver saver(options());
  save(saver, 1, large(1), 7);
  Tensor changed = large(1);
  changed.mutable_flat<float>()[100] = -1;  // Between the samples, and announced by nobody.
  int num_wrong = 0;
  for (int64_t step = 2; step <= 12; ++step) {
    internal::SavePromise promise(saver.prefix_of("d/m", step), step, saver.clock());
    internal::SaverAccess::write(
        saver, Snapshot({{"value", changed}}, std::make_shared<Versions>(7)), promise);
    if (CheckpointReader(prefix(step), disk_).read("value") != changed) ++num_wrong;
  }
  EXPECT_EQ(num_wrong, internal::kMaxSharing - 1);
}

TEST_F(SharedValuesTest, IsWholeAfterAFewCheckpoints) {
  Saver saver(options({.max_to_keep = 0}));
  for (int64_t step = 1; step <= 13; ++step) {
    touch("a");
    save(saver, step);
    const bool is_whole = (step - 1) % internal::kMaxSharing == 0;
    EXPECT_EQ(written() >= bytes_of(3), is_whole) << step;
    EXPECT_EQ(num_links() == 0, is_whole) << step;
  }
}

TEST_F(SharedValuesTest, IsWholeAfterARestore) {
  Saver saver(options());
  save(saver, 1);
  save(saver, 2);
  EXPECT_EQ(num_links(), 1);
  saver.restore(*session_, prefix(2));
  save(saver, 3);
  EXPECT_EQ(num_links(), 0);
  EXPECT_GE(written(), bytes_of(3));
  save(saver, 4);
  EXPECT_EQ(num_links(), 1);
}

// The memory of an object's tensor, to which a span may write at any time, is not shared with a
// snapshot, nor does its version count.
TEST_F(SharedValuesTest, CopiesAndComparesWhatASpanMayWrite) {
  class Holder final : public Saveable {
   public:
    TensorMap save() const override { return {{"", value}}; }
    void restore(const TensorMap&) override {}
    Tensor value = large(1);
  };
  const auto object = std::make_shared<Holder>();
  graph_.add_saveable({"object", object});
  Saver saver(options());
  const auto is_shared_by_a_snapshot = [&] {
    const Snapshot snapshot = saver.snapshot(*session_);
    return object->value.is_shared();
  };
  EXPECT_TRUE(is_shared_by_a_snapshot());
  const std::span<float> values = object->value.mutable_flat<float>();
  EXPECT_FALSE(is_shared_by_a_snapshot());
  for (int64_t step = 1; step <= 9; ++step) {
    values[100] = static_cast<float>(-step);
    const SaveTicket ticket = saver.save_async(*session_, "d/m", step);
    values[200] = static_cast<float>(step);
    ticket.wait();
    const Tensor stored = CheckpointReader(prefix(step), disk_).read("object");
    EXPECT_EQ(stored.flat<float>()[100], static_cast<float>(-step));
    EXPECT_EQ(stored.flat<float>()[200], step == 1 ? 201 : static_cast<float>(step - 1));
  }
}

TEST_F(SharedValuesTest, SharesInTheFallbackDirectory) {
  WatchedFileSystem files;
  files.on_create([](const std::string& path) {
    if (path.starts_with("d/")) throw UnknownError(path + ": broken");
  });
  Saver saver({.fallback_dir = "e", .files = &files});
  for (int64_t step = 1; step <= 2; ++step) saver.save(*session_, "d/m", step);
  EXPECT_TRUE(files.exists(internal::data_filename("e/m-2", 1, 2)));
  // Nothing of it is in the own directory.
  files.on_create({});
  saver.save(*session_, "d/m", 3);
  EXPECT_TRUE(files.exists(internal::data_filename("d/m-3", 0, 1)));
  EXPECT_NO_THROW(CheckpointReader("d/m-3", files).verify());
}

// A sample of the elements is the same, but the checksum is not.
TEST_F(SharedValuesTest, FindsASingleChangedElement) {
  Saver saver(options());
  for (int64_t step = 1; step <= 3; ++step) {
    touch_all();
    save(saver, step);
  }
  for (size_t element = 0; element < kLarge; element += 1117) {
    touch_all();
    set_element("a", element, -2);
    save(saver, static_cast<int64_t>(4 + element));
    EXPECT_GE(written(), bytes_of(1)) << element;
  }
}

TEST_F(SharedValuesTest, RewritesWhatIsLeftOfAFileThatIsMostlyUnused) {
  Saver saver(options());
  save(saver, 1);
  set("a", large(2));
  save(saver, 2);
  EXPECT_EQ(num_links(), 1);
  set("b", large(3));
  save(saver, 3);
  // A third of the first file is needed; of the second one, all.
  EXPECT_EQ(num_links(), 1);
  EXPECT_GE(written(), bytes_of(2));
}

TEST_F(SharedValuesTest, KeepsNoMoreThanTwiceTheValues) {
  Saver saver(options({.max_to_keep = 1}));
  for (int64_t step = 1; step <= 30; ++step) {
    const std::string changed(1, "abc"[step % 3]);
    set(changed, large(static_cast<float>(step)));
    save(saver, step);
    uint64_t stored = 0;
    for (const std::string& name : disk_.list("d")) stored += disk_.file_size("d/" + name);
    EXPECT_LE(stored, 2 * bytes_of(3) + 10'000) << step;
    EXPECT_EQ(list_checkpoints(disk_, "d", "m").size(), 1);
  }
  EXPECT_THAT(files_.violations(), IsEmpty());
}

TEST_F(SharedValuesTest, SavesTheSameStepTwice) {
  Saver saver(options());
  save(saver, 1);
  save(saver, 2);
  for (int again = 0; again < 3; ++again) {
    set_element("c", 0, static_cast<float>(again));
    save(saver, 2);
    EXPECT_THAT(disk_.list("d"), Each(Not(HasSubstr("tempstate"))));
  }
  remove_checkpoint(disk_, prefix(1));
  expect_whole(2);
  EXPECT_THAT(files_.violations(), IsEmpty());
}

TEST_F(SharedValuesTest, WritesEverythingIfTheLastCheckpointIsGone) {
  Saver saver(options());
  save(saver, 1);
  remove_checkpoint(disk_, prefix(1));
  save(saver, 2);
  EXPECT_EQ(num_links(), 0);
  // Something else has its name.
  const std::string data = internal::data_filename(prefix(2), 0, 1);
  disk_.remove(data);
  disk_.create(data)->append("another file");
  save(saver, 3);
  EXPECT_EQ(num_links(), 0);
  save(saver, 4);
  EXPECT_EQ(num_links(), 1);
}

TEST_F(SharedValuesTest, WritesEverythingIntoAnotherDirectory) {
  Saver saver(options());
  save(saver, 1);
  operations_.clear();
  saver.save(*session_, "e/m", 2);
  EXPECT_EQ(num_links(), 0);
  EXPECT_NO_THROW(CheckpointReader("e/m-2", disk_).verify());
}

TEST_F(SharedValuesTest, WritesEverythingWhereFilesHaveOneName) {
  class PlainFiles final : public MemoryFileSystem {
   public:
    void link(const std::string& from, const std::string& to) override {
      ++num_links;
      // That of a file system without links. NOLINTNEXTLINE(bugprone-parent-virtual-call)
      FileSystem::link(from, to);
    }
    int num_links = 0;
  };
  PlainFiles files;
  Saver saver({.files = &files});
  for (int64_t step = 1; step <= 4; ++step) {
    saver.save(*session_, "d/m", step);
    EXPECT_NO_THROW(CheckpointReader(prefix(step), files).verify());
    EXPECT_GE(files.file_size(internal::data_filename(prefix(step), 0, 1)), bytes_of(3));
  }
  EXPECT_TRUE(log_.contains("d/m-2 shares no bytes with the checkpoint before it: "));
  EXPECT_EQ(files.num_links, 1);  // It does not try again.
  EXPECT_THAT(files.list("d"), Each(Not(HasSubstr("tempstate"))));
}

TEST_F(SharedValuesTest, SharesNothingOnRequest) {
  Saver saver(options({.share_unchanged = false}));
  for (int64_t step = 1; step <= 3; ++step) {
    save(saver, step);
    EXPECT_GE(written(), bytes_of(3));
  }
}

TEST_F(SharedValuesTest, SafetensorsAreWholeFiles) {
  Saver saver(options({.format = CheckpointFormat::kSafetensors}));
  for (int64_t step = 1; step <= 2; ++step) {
    save(saver, step);
    EXPECT_EQ(num_links(), 0);
  }
}

TEST_F(SharedValuesTest, SharesSeveralFiles) {
  Saver saver(options({.num_shards = 3}));
  save(saver, 1);
  save(saver, 2);
  EXPECT_EQ(num_links(), 3);
  set("b", large(5));
  save(saver, 3);
  EXPECT_EQ(num_links(), 2);
  EXPECT_EQ(CheckpointReader(prefix(3), disk_).read("b"), large(5));
}

TEST_F(SharedValuesTest, SharesSlices) {
  const auto half = [](const char* slice) {
    return SaveSliceInfo{{2 * kLarge}, parse_slice(slice)};
  };
  Saver saver(
      options({.var_list = VariableList{SavedVariable("a").as("whole", half("0,32768")),
                                        SavedVariable("b").as("whole", half("32768,32768"))}}));
  set("b", large(9));
  for (int64_t step = 1; step <= 2; ++step) {
    operations_.clear();
    saver.save(*session_, "d/m", step);
    EXPECT_EQ(num_links(), step - 1);
    const CheckpointReader reader(prefix(step), disk_);
    reader.verify();
    const Tensor whole = reader.read("whole");
    EXPECT_EQ(whole.flat<float>()[kLarge - 1], kLarge);
    EXPECT_EQ(whole.flat<float>()[kLarge], 9);
  }
}

TEST_F(SharedValuesTest, ReportsTheBytesThatAreShared) {
  Saver saver(options());
  save(saver, 1);
  SaveTicket ticket = saver.save_async(*session_, "d/m", 2);
  ticket.wait();
  EXPECT_GE(ticket.shared_bytes(), bytes_of(3));
  EXPECT_GT(ticket.num_bytes(), ticket.shared_bytes());
  EXPECT_EQ(read_sidecar(disk_, prefix(2))->size_bytes, ticket.num_bytes());
  EXPECT_EQ(read_sidecar(disk_, prefix(2))->shared_bytes, ticket.shared_bytes());
}

// It needs room for what it writes.
TEST_F(SharedValuesTest, FitsOntoADiskThatIsAlmostFull) {
  Saver saver(options());
  save(saver, 1);
  disk_.set_capacity(2 * bytes_of(3));
  set("b", large(2));
  EXPECT_NO_THROW(save(saver, 2));
  set("a", large(2));
  set("c", large(2));
  EXPECT_THROW(saver.save(*session_, "d/m", 3), ResourceExhaustedError);
}

// On a real disk the bytes are there once.
TEST_F(SharedValuesTest, TakesTheRoomOnce) {
  const TempDirectory directory;
  Saver saver;
  const std::string path = directory.path() + "/m";
  saver.save(*session_, path, 1);
  saver.save(*session_, path, 2);
  FileSystem& files = FileSystem::posix();
  const std::string linked = internal::data_filename(path + "-2", 1, 2);
  EXPECT_GE(files.file_size(linked), bytes_of(3));
  EXPECT_LT(files.file_size(internal::data_filename(path + "-2", 0, 2)), 100);
  remove_checkpoint(files, path + "-1");
  EXPECT_NO_THROW(CheckpointReader(path + "-2", files).verify());
  // A write to one name of a file leaves the others.
  saver.save(*session_, path, 3);
  files.append_to(linked)->append("x");
  EXPECT_NO_THROW(CheckpointReader(path + "-3", files).verify());
}

}  // namespace
}  // namespace crochet
