// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/cloud/internal/mirror.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "tests/support/memory_store.h"

namespace crochet::inline v0::cloud::internal {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

class BytesFile final : public ReadableFile {
 public:
  explicit BytesFile(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  void read_at(uint64_t offset, std::span<std::byte> destination) const override {
    std::memcpy(destination.data(), bytes_.data() + offset, destination.size());
  }

 private:
  const std::string bytes_;
};

std::vector<SourceFile> files_of(const std::string& checkpoint, const std::string& data) {
  return {{checkpoint + ".data-00000-of-00001", std::make_shared<BytesFile>(data)},
          {checkpoint + ".json", std::make_shared<BytesFile>("{}")},
          {checkpoint + ".index", std::make_shared<BytesFile>("index of " + checkpoint)}};
}

struct KilledError : std::exception {};

class MirrorTest : public testing::Test {
 protected:
  MirrorTest() { store_.set("other/object", "is not ours"); }

  void add(const std::string& checkpoint, const std::string& data = "data", double unix_time = 1,
           bool is_pinned = false) {
    Mirror here(store_, parse_s3_url("s3://bucket/run"), clock_);
    here.add(
        {.checkpoint = checkpoint, .unix_time = unix_time, .is_pinned = is_pinned, .files = {}},
        files_of(checkpoint, data), 1, {});
  }
  void tidy(int max_to_keep = 0) {
    Mirror(store_, parse_s3_url("s3://bucket/run"), clock_).tidy(max_to_keep, {});
  }
  std::vector<Mirror::Copy> list() {
    return Mirror(store_, parse_s3_url("s3://bucket/run"), clock_).list({});
  }
  std::vector<std::string> listed() {
    std::vector<std::string> names;
    for (const Mirror::Copy& copy : list()) names.push_back(copy.manifest->checkpoint);
    return names;
  }
  std::string content(const Mirror::Copy& copy, const std::string& name) {
    Mirror here(store_, parse_s3_url("s3://bucket/run"), clock_);
    for (const MirroredFile& file : copy.manifest->files) {
      if (file.name != name) continue;
      std::string bytes(file.size, '\0');
      here.read(copy, file, 0, std::as_writable_bytes(std::span(bytes)), {});
      return bytes;
    }
    throw NotFoundError(name);
  }
  // That every manifest names only what is there, with the right bytes.
  void expect_whole(const std::string& when) {
    for (const Mirror::Copy& copy : list())
      for (const MirroredFile& file : copy.manifest->files)
        EXPECT_NO_THROW(content(copy, file.name))
            << when << ": " << copy.upload << " " << file.name;
  }
  // Keys beneath "run/" that no complete copy needs.
  std::vector<std::string> orphans() {
    std::vector<std::string> found = store_.keys();
    for (const Mirror::Copy& copy : list())
      std::erase_if(found, [&](const std::string& key) {
        return key.starts_with("run/" + copy.upload + "/");
      });
    std::erase(found, "other/object");
    return found;
  }
  // Counts operations, and runs this before the one with this number, from 0 on.
  void before_operation(int number, std::function<void()> action) {
    store_.before = [number, count = 0, action = std::move(action)](auto&) mutable {
      if (count++ == number) action();
    };
  }

  FakeClock clock_;
  MemoryStore store_;
};

TEST_F(MirrorTest, CopiesACheckpoint) {
  add("model.ckpt-100", "the data", 7);
  ASSERT_THAT(listed(), ElementsAre("model.ckpt-100"));
  const Mirror::Copy copy = list()[0];
  EXPECT_EQ(copy.manifest->unix_time, 7);
  EXPECT_EQ(content(copy, "model.ckpt-100.data-00000-of-00001"), "the data");
  EXPECT_EQ(content(copy, "model.ckpt-100.index"), "index of model.ckpt-100");
  EXPECT_THAT(orphans(), IsEmpty());
  EXPECT_THAT(store_.keys(), SizeIs(5));
}

TEST_F(MirrorTest, PutsPartsOf64MiB) {
  std::string data(kPartBytes + 1000, '\0');
  std::iota(data.begin(), data.end(), '\0');
  add("m-1", data);
  const Mirror::Copy copy = list()[0];
  EXPECT_THAT(copy.manifest->files[0].crc32c, SizeIs(2));
  EXPECT_TRUE(content(copy, "m-1.data-00000-of-00001") == data);
  Mirror here(store_, parse_s3_url("s3://bucket/run"), clock_);
  std::string middle(2000, '\0');
  here.read(copy, copy.manifest->files[0], kPartBytes - 1000,
            std::as_writable_bytes(std::span(middle)), {});
  EXPECT_TRUE(middle == data.substr(kPartBytes - 1000));
}

TEST_F(MirrorTest, EmptyFilesHaveNoParts) {
  add("m-1", "");
  EXPECT_EQ(content(list()[0], "m-1.data-00000-of-00001"), "");
}

TEST_F(MirrorTest, ALaterSaveOfAStepSupersedesTheFirst) {
  add("m-5", "first", 1);
  add("m-5", "second", 2);
  ASSERT_THAT(listed(), ElementsAre("m-5"));
  EXPECT_EQ(content(list()[0], "m-5.data-00000-of-00001"), "second");
  tidy();
  EXPECT_THAT(store_.keys(), SizeIs(5));
  EXPECT_EQ(content(list()[0], "m-5.data-00000-of-00001"), "second");
}

TEST_F(MirrorTest, KeepsTheNewestAndPinnedOnes) {
  add("m-1", "data", 1, /*is_pinned=*/true);
  for (int step = 2; step <= 5; ++step) add(fmt::format("m-{}", step), "data", step);
  add("m-3", "data", 9);  // After the run went back.
  tidy(2);
  EXPECT_THAT(listed(), ElementsAre("m-1", "m-5", "m-3"));
  EXPECT_THAT(orphans(), IsEmpty());
}

TEST_F(MirrorTest, LeavesForeignObjects) {
  const std::vector<std::string> foreign = {
      "run/notes.txt", "run/m-1/readme", "run/m-1/20261130/x",
      "run/model/20261130T152623.123Z-0123456789abcdef/x.0",  // No step.
      "run/m-1/20261130T152623.123Z-0123456789abcdef/a/b"};
  for (const std::string& key : foreign) store_.set(key, "x");
  add("m-1");
  tidy(1);
  for (const std::string& key : foreign) EXPECT_EQ(store_.text_of(key), "x") << key;
}

TEST_F(MirrorTest, AKillAtAnyPointLeavesNothingTornAndNothingOver) {
  for (const bool is_done : {false, true}) {
    int number = 0;
    for (bool was_killed = true; was_killed; ++number) {
      MemoryStore& store = store_;
      add("m-1", "old", 1);
      add("m-2", "old", 2);
      was_killed = false;
      auto& when = is_done ? store.after : store.before;
      when = [&, count = 0](auto&) mutable {
        if (count++ < number) return;
        was_killed = true;
        throw KilledError();
      };
      try {
        add("m-2", "new", 3);
        add("m-3", "new", 4);
        tidy(1);
      } catch (const KilledError&) {
      }
      store.before = store.after = nullptr;
      const std::string name =
          fmt::format("operation {} {}", number, is_done ? "done" : "not done");
      expect_whole(name);
      EXPECT_FALSE(listed().empty()) << name;
      tidy();  // The next run.
      expect_whole(name);
      for (const std::string& key : orphans())
        EXPECT_EQ(store.text_of(key), "") << name << ": " << key;
      store.now += 25 * 3600;
      tidy();
      EXPECT_THAT(orphans(), IsEmpty()) << name;
      for (const std::string& key : store.keys())
        if (key != "other/object") store.remove(key, {});
    }
    EXPECT_GT(number, 20);
  }
}

TEST_F(MirrorTest, TwoWritersNeverLeaveAManifestOfWhatIsNotThere) {
  // Another run does all its work between two operations of the first.
  const std::vector<std::function<void()>> others = {
      [this] { tidy(); }, [this] { tidy(1); }, [this] { tidy(), add("m-2", "theirs", 9), tidy(1); },
      [this] {
        for (int day = 0; day < 3; ++day) {
          store_.now += 25 * 3600;
          clock_.advance(std::chrono::hours(25));
          tidy(1);
        }
        // Stores refuse what was signed so long ago.
        throw PermissionDeniedError("RequestTimeTooSkewed");
      }};
  int num_aborted = 0;
  for (size_t other = 0; other < others.size(); ++other) {
    bool has_run = true;
    for (int number = 0; has_run; ++number) {
      const std::string name = fmt::format("other {} before operation {}", other, number);
      add("m-1", "old", 1);
      has_run = false;
      before_operation(number, [&] {
        has_run = true;
        const auto kept = std::exchange(store_.before, nullptr);
        others[other]();
        expect_whole(name);
        store_.before = nullptr;
      });
      try {
        tidy(3);
        add("m-2", "ours", 5);
        tidy(3);
      } catch (const AbortedError& error) {
        ++num_aborted;
        EXPECT_THAT(error.what(),
                    AnyOf(HasSubstr("each run needs a place of its own"), HasSubstr("at most 12")));
      } catch (const PermissionDeniedError&) {
      } catch (const NotFoundError&) {  // A part or a manifest has just gone.
        ++num_aborted;
      }
      store_.before = nullptr;
      expect_whole(name);
      for (const std::string& key : store_.keys())
        if (key != "other/object") store_.remove(key, {});
    }
  }
  EXPECT_GT(num_aborted, 5);
}

TEST_F(MirrorTest, TheEndOfAnUploadWhileItIsRemoved) {
  // This run finishes an upload between two operations of another one, which removes what is left.
  bool has_run = true;
  for (int number = 0; has_run; ++number) {
    has_run = false;
    // All parts of an upload are there.
    store_.before = [](const std::string& operation) {
      if (operation.starts_with("put_new")) throw KilledError();
    };
    EXPECT_THROW(add("m-2", "ours", 5), KilledError);
    store_.before = nullptr;
    const std::string part = store_.keys().back();
    const std::string upload = part.substr(0, part.rfind('/'));
    const MirrorManifest manifest{.checkpoint = "m-2", .unix_time = 5, .files = [&] {
                                    std::vector<MirroredFile> files;
                                    for (const SourceFile& file : files_of("m-2", "ours"))
                                      files.push_back({file.name, file.file->size(), {0}});
                                    return files;
                                  }()};
    before_operation(number, [&] {
      has_run = true;
      const auto kept = std::exchange(store_.before, nullptr);
      try {
        store_.put_new(upload + "/manifest.json", to_text(manifest), {});
      } catch (const AlreadyExistsError&) {
      }
    });
    tidy(1);
    expect_whole(fmt::format("before operation {}", number));
    for (const std::string& key : store_.keys())
      if (key != "other/object") store_.remove(key, {});
  }
}

TEST_F(MirrorTest, ALostAnswerIsNotTakenForAnotherWriter) {
  // The first attempt has put it; the second one finds it.
  store_.after = [&](const std::string& operation) {
    if (operation.starts_with("put_new")) throw AlreadyExistsError(operation);
  };
  EXPECT_NO_THROW(add("m-1"));
  EXPECT_THAT(listed(), ElementsAre("m-1"));
}

TEST_F(MirrorTest, AnUploadThatTakesTooLongDoesNotEnd) {
  store_.before = [this](const std::string& operation) {
    if (operation.starts_with("put ")) clock_.advance(std::chrono::hours(5));
  };
  EXPECT_THAT([&] { add("m-1"); }, ThrowsMessage<AbortedError>(HasSubstr("at most 12")));
  EXPECT_THAT(listed(), IsEmpty());
}

TEST_F(MirrorTest, ADamagedManifestIsLeftOutAndLeftAlone) {
  add("m-1");
  const std::string good = store_.keys()[1];
  ASSERT_THAT(good, HasSubstr("m-1/"));
  const std::string key = good.substr(0, good.rfind('/')) + "/manifest.json";
  const std::string text = store_.text_of(key);
  store_.set(key, text.substr(0, text.size() / 2));
  const LogCapture log;
  EXPECT_THAT(listed(), IsEmpty());
  tidy(1);
  EXPECT_THAT(store_.keys(), SizeIs(5));
  EXPECT_TRUE(log.contains("s3://bucket/run/m-1/"));
}

TEST(MirrorManifestTest, IsReadAsItWasWritten) {
  const MirrorManifest manifest{
      .checkpoint = "model.ckpt-7",
      .unix_time = 1.5,
      .is_pinned = true,
      .files = {{"model.ckpt-7.data-00000-of-00002", kPartBytes + 1, {4294967295, 2}},
                {"model.ckpt-7.file-a%2F\"b\"", 0, {}},
                {"model.ckpt-7.index", 1, {3}}}};
  EXPECT_EQ(parse_manifest(to_text(manifest), "model.ckpt-7", "it"), manifest);
}

TEST(MirrorManifestTest, RefusesWhatLeadsElsewhere) {
  const MirrorManifest good{.checkpoint = "m-7", .unix_time = 1, .files = {{"m-7.index", 1, {3}}}};
  const auto expect_refused = [&](const MirrorManifest& bad, const char* found) {
    EXPECT_THAT([&] { parse_manifest(to_text(bad), "m-7", "it"); },
                ThrowsMessage<DataLossError>(HasSubstr(found)));
  };
  for (const char* const name :
       {"../m-7.index", "m-8.index", "m-7.index.tempstate1", "checkpoint", ".lock", "m-7.file-a/b",
        "m-7.index.tempstate12_temp", "", "/etc/passwd"}) {
    MirrorManifest bad = good;
    bad.files[0].name = name;
    expect_refused(bad, "a file \"");
  }
  MirrorManifest bad = good;
  bad.checkpoint = "m-8";
  expect_refused(bad, "that of its key");
  bad = good;
  bad.files[0].size = kPartBytes + 1;
  expect_refused(bad, "1 checksums");
  bad.files[0].size = uint64_t{1} << 60;
  expect_refused(bad, "at most 2^50");
  bad = good;
  bad.files.push_back(bad.files[0]);
  expect_refused(bad, "twice");
  for (const char* const text :
       {"", "[]", "null", "{", R"({"crochet_mirror":1})", R"({"crochet_mirror":-1})",
        R"({"crochet_mirror":1e99})", R"({"crochet_mirror":"1"})"})
    EXPECT_THROW(parse_manifest(text, "m-7", "it"), DataLossError) << text;
  EXPECT_THROW(parse_manifest(R"({"crochet_mirror":2})", "m-7", "it"), UnimplementedError);
}

TEST(MirrorManifestTest, NoDamageLeadsElsewhere) {
  const MirrorManifest good{
      .checkpoint = "m-7",
      .unix_time = 1,
      .files = {{"m-7.data-00000-of-00001", kPartBytes + 1, {1, 2}}, {"m-7.index", 1, {3}}}};
  const std::string text = to_text(good);
  const auto check = [](const std::string& damaged) {
    try {
      const MirrorManifest read = parse_manifest(damaged, "m-7", "it");
      EXPECT_EQ(read.checkpoint, "m-7");
      for (const MirroredFile& file : read.files) {
        EXPECT_TRUE(file.name.starts_with("m-7"));
        EXPECT_EQ(file.name.find('/'), file.name.npos);
        EXPECT_EQ(file.crc32c.size(), file.num_parts());
      }
    } catch (const Error&) {
    }
  };
  for (size_t i = 0; i < text.size(); ++i) {
    check(text.substr(0, i));
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      check(damaged);
    }
  }
}

}  // namespace
}  // namespace crochet::inline v0::cloud::internal
