// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/outputs/internal/output_writer.h"

#include <errno.h>
#include <zlib.h>

#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::inline v0::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class OutputWriterTest : public testing::Test {
 protected:
  OutputFileOptions options(OutputMismatch mismatch = OutputMismatch::kRefuse) {
    return {.mismatch = mismatch, .files = &files_};
  }
  static void append(OutputWriter& writer, std::string_view text) {
    writer.append(std::as_bytes(std::span(text)));
  }
  static void begin(OutputWriter& writer, bool is_own = false) {
    writer.check(is_own);
    writer.start();
  }
  static void step(OutputWriter& writer, std::string_view text) {
    writer.begin_step();
    append(writer, text);
    writer.end_step();
  }
  // Writes a file as a run does, and returns where it stood after the first text.
  OutputPosition write(std::string_view text, std::string_view later = "",
                       OutputFileOptions options = {}) {
    options.files = &files_;
    OutputWriter writer("d/rows.csv", options);
    begin(writer);
    step(writer, text);
    writer.flush();
    const OutputPosition position = writer.position();
    step(writer, later);
    writer.flush();
    return position;
  }
  std::string content(const std::string& path = "d/rows.csv") { return read_file(files_, path); }
  void put(const std::string& path, std::string_view text) {
    files_.create_directories(directory_of(path));
    files_.create(path)->append(text);
  }

  MemoryFileSystem files_;
};

TEST_F(OutputWriterTest, WritesNothingBeforeTheRunBegins) {
  OutputWriter writer("d/rows.csv", options());
  append(writer, "step,loss\n");
  writer.flush();
  EXPECT_FALSE(files_.exists("d"));
  begin(writer);
  step(writer, "1,0.5\n");
  writer.flush();
  EXPECT_EQ(content(), "step,loss\n1,0.5\n");
}

TEST_F(OutputWriterTest, IsCutBackToItsPosition) {
  const OutputPosition position = write("one\n", "two\n");
  EXPECT_EQ(content(), "one\ntwo\n");
  OutputWriter writer("d/rows.csv", options());
  append(writer, "a header\n");
  writer.restore(position);
  writer.check(false);
  EXPECT_EQ(content(), "one\ntwo\n");
  writer.start();
  EXPECT_EQ(content(), "one\n");
  step(writer, "2\n");
  writer.flush();
  EXPECT_EQ(content(), "one\n2\n");
  EXPECT_EQ(writer.position().files[0].num_bytes, 6u);
}

TEST_F(OutputWriterTest, KeepsWhatItCutsOff) {
  const OutputPosition position = write("one\n", "two\n");
  for (const char* const kept : {"d/rows.csv.cut-1", "d/rows.csv.cut-2"}) {
    OutputFileOptions keeping = options();
    keeping.keep_cut = true;
    OutputWriter writer("d/rows.csv", keeping);
    writer.restore(position);
    begin(writer);
    EXPECT_EQ(content(kept), "two\n");
    step(writer, "two\n");
    writer.flush();
  }
}

TEST_F(OutputWriterTest, AStepThatFailsIsNotInThePosition) {
  OutputWriter writer("d/rows.csv", options());
  begin(writer);
  step(writer, "one\n");
  const OutputPosition before = writer.position();
  writer.begin_step();
  append(writer, std::string(100'000, 'x'));
  writer.flush();
  EXPECT_EQ(writer.position(), before);
  EXPECT_EQ(before.files[0].num_bytes, 4u);
}

TEST_F(OutputWriterTest, GoesBackWithinARun) {
  OutputWriter writer("d/rows.csv", options());
  append(writer, "header\n");
  begin(writer);
  step(writer, "one\n");
  const OutputPosition position = writer.position();
  step(writer, "two\n");
  writer.flush();
  step(writer, "three\n");
  writer.restore(position);
  EXPECT_EQ(writer.position(), position);
  step(writer, "2\n");
  writer.flush();
  EXPECT_EQ(content(), "header\none\n2\n");
}

TEST_F(OutputWriterTest, LongOutputIsTheSame) {
  std::string expected;
  OutputWriter writer("d/rows.csv", options());
  begin(writer);
  for (int i = 0; i < 3'000; ++i) {
    const std::string row(static_cast<size_t>(i % 200), static_cast<char>('a' + i % 26));
    step(writer, row);
    expected += row;
    if (i % 500 == 0) static_cast<void>(writer.position());
  }
  writer.flush();
  EXPECT_EQ(content(), expected);
  OutputWriter other("d/rows.csv", options());
  other.restore(writer.position());
  EXPECT_NO_THROW(other.check(false));
}

struct BadFile {
  const char* content;  // Null: none.
  const char* found;
};

class OutputMismatchTest : public OutputWriterTest, public testing::WithParamInterface<BadFile> {
 protected:
  // The position after "0123456789", and the file as it is instead.
  OutputPosition spoil() {
    OutputPosition position = write("0123456789");
    files_.remove("d/rows.csv");
    if (GetParam().content != nullptr) put("d/rows.csv", GetParam().content);
    return position;
  }
};

TEST_P(OutputMismatchTest, IsRefusedByNameAndNothingChanges) {
  const OutputPosition position = spoil();
  OutputWriter writer("d/rows.csv", options());
  writer.restore(position);
  EXPECT_THAT(
      [&] { writer.check(true); },
      ThrowsMessage<Error>(AllOf(HasSubstr("d/rows.csv: "), HasSubstr(GetParam().found),
                                 HasSubstr("10"), HasSubstr("OutputFileOptions::mismatch"))));
  EXPECT_EQ(files_.exists("d/rows.csv"), GetParam().content != nullptr);
  if (GetParam().content != nullptr) {
    EXPECT_EQ(content(), GetParam().content);
  }
}

// The advice is followed.
TEST_P(OutputMismatchTest, BeginsAgain) {
  const OutputPosition position = spoil();
  OutputWriter writer("d/rows.csv", options(OutputMismatch::kStartAnew));
  append(writer, "header\n");
  writer.restore(position);
  begin(writer);
  step(writer, "two\n");
  writer.flush();
  EXPECT_EQ(content(), "header\ntwo\n");
}

TEST_P(OutputMismatchTest, Adopts) {
  const OutputPosition position = spoil();
  OutputWriter writer("d/rows.csv", options(OutputMismatch::kAdopt));
  append(writer, "header\n");
  writer.restore(position);
  begin(writer);
  step(writer, "two\n");
  writer.flush();
  EXPECT_EQ(content(),
            std::string(GetParam().content != nullptr ? GetParam().content : "header\n") + "two\n");
  OutputWriter next("d/rows.csv", options());
  next.restore(writer.position());
  EXPECT_NO_THROW(next.check(false));
}

TEST_P(OutputMismatchTest, OnlyAMissingFileIsAcceptedAsMissing) {
  const OutputPosition position = spoil();
  OutputWriter writer("d/rows.csv", options(OutputMismatch::kMissingOk));
  append(writer, "header\n");
  writer.restore(position);
  if (GetParam().content != nullptr) {
    EXPECT_THROW(writer.check(true), DataLossError);
    return;
  }
  begin(writer);
  step(writer, "two\n");
  writer.flush();
  EXPECT_EQ(content(), "header\ntwo\n");
}

INSTANTIATE_TEST_SUITE_P(All, OutputMismatchTest,
                         testing::Values(BadFile{nullptr, "found no file"},
                                         BadFile{"012345678", "found 9 bytes"},
                                         BadFile{"01234x6789", "found other bytes"},
                                         BadFile{"x123456789 and more", "found other bytes"}));

TEST_F(OutputWriterTest, AFileOfSomebodyElseIsRefused) {
  put("d/rows.csv", "precious");
  OutputWriter writer("d/rows.csv", options());
  EXPECT_THAT([&] { writer.check(false); },
              ThrowsMessage<AlreadyExistsError>(AllOf(
                  HasSubstr("d/rows.csv: found a file of 8 bytes"), HasSubstr("kStartAnew"))));
  EXPECT_EQ(content(), "precious");
}

TEST_F(OutputWriterTest, AFileOfAnEarlierLifeBeginsAgain) {
  put("d/rows.csv", "header\n1,2\n");
  OutputWriter writer("d/rows.csv", options());
  append(writer, "header\n");
  begin(writer, /*is_own=*/true);
  step(writer, "1,2\n");
  writer.flush();
  EXPECT_EQ(content(), "header\n1,2\n");
}

TEST_F(OutputWriterTest, AFileOfSomebodyElseIsAdopted) {
  put("d/rows.csv", "precious\n");
  OutputWriter writer("d/rows.csv", options(OutputMismatch::kAdopt));
  append(writer, "header\n");
  begin(writer);
  step(writer, "one\n");
  writer.flush();
  EXPECT_EQ(content(), "precious\none\n");
}

class RotatedOutputTest : public OutputWriterTest {
 protected:
  OutputFileOptions rotated(OutputMismatch mismatch = OutputMismatch::kRefuse) {
    OutputFileOptions rotated = options(mismatch);
    rotated.rotate_bytes = 10;
    return rotated;
  }
  std::vector<std::string> names() { return files_.list("d"); }
};

TEST_F(RotatedOutputTest, AStepIsInOneFile) {
  OutputWriter writer("d/rows.csv", rotated());
  begin(writer);
  for (const char* const row : {"0123\n", "4567\n", "89ab\n", "cdef, and much more\n", "x\n"})
    step(writer, row);
  writer.flush();
  EXPECT_THAT(names(), ElementsAre("rows.000000.csv", "rows.000001.csv", "rows.000002.csv"));
  EXPECT_EQ(content("d/rows.000000.csv"), "0123\n4567\n");
  EXPECT_EQ(content("d/rows.000001.csv"), "89ab\ncdef, and much more\n");
  EXPECT_EQ(content("d/rows.000002.csv"), "x\n");
}

TEST_F(RotatedOutputTest, GoesBackToAnEarlierFile) {
  OutputPosition position;
  {
    OutputWriter writer("d/rows.csv", rotated());
    begin(writer);
    for (int i = 0; i < 20; ++i) {
      if (i == 5) position = writer.position();
      step(writer, "0123\n");
    }
    writer.flush();
  }
  EXPECT_EQ(names().size(), 10u);
  OutputWriter writer("d/rows.csv", rotated());
  writer.restore(position);
  begin(writer);
  EXPECT_THAT(names(), ElementsAre("rows.000000.csv", "rows.000001.csv", "rows.000002.csv"));
  EXPECT_EQ(content("d/rows.000002.csv"), "0123\n");
}

TEST_F(RotatedOutputTest, FilesMayBeMovedToAnArchive) {
  OutputWriter writer("d/rows.csv", rotated());
  begin(writer);
  for (int i = 0; i < 5; ++i) step(writer, "0123\n");
  files_.remove("d/rows.000000.csv");  // While the run continues.
  writer.flush();
  const OutputPosition position = writer.position();
  EXPECT_NO_THROW(writer.sync(position));
  OutputWriter refused("d/rows.csv", rotated());
  refused.restore(position);
  EXPECT_THROW(refused.check(false), NotFoundError);
  OutputWriter next("d/rows.csv", rotated(OutputMismatch::kMissingOk));
  next.restore(position);
  begin(next);
  step(next, "x\n");
  next.flush();
  EXPECT_THAT(names(), ElementsAre("rows.000001.csv", "rows.000002.csv"));
  EXPECT_EQ(content("d/rows.000002.csv"), "0123\nx\n");
  EXPECT_EQ(next.position().files.size(), 3u);
}

TEST_F(RotatedOutputTest, AnotherNumberOfFilesIsRefused) {
  OutputWriter writer("d/rows.csv", options());
  writer.restore({.files = {{1, 2}, {3, 4}}});
  EXPECT_THAT([&] { writer.check(false); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("rotate_bytes = 0")));
}

// What gunzip makes of a file: of all members, which must be whole.
std::string unzipped(const std::string& bytes) {
  z_stream stream = {};
  EXPECT_EQ(::inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
  std::string packed = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  while (stream.avail_in > 0) {
    char part[1000];
    stream.next_out = reinterpret_cast<Bytef*>(part);
    stream.avail_out = sizeof part;
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    EXPECT_TRUE(result == Z_OK || result == Z_STREAM_END) << result;
    if (result != Z_OK && result != Z_STREAM_END) break;
    text.append(part, sizeof part - stream.avail_out);
    if (result == Z_STREAM_END) ::inflateReset(&stream);
  }
  EXPECT_EQ(stream.total_in, 0u) << "the last member is not whole";
  ::inflateEnd(&stream);
  return text;
}

// Rows that are hard to compress, so that buffers are filled.
std::string random_row(int64_t step, size_t size) {
  std::mt19937 generator(static_cast<uint32_t>(step));
  std::string row(size, '\0');
  for (char& each : row) each = static_cast<char>(generator());
  return row;
}

TEST_F(OutputWriterTest, ACompressedOutputIsCutBetweenItsMembers) {
  OutputFileOptions packed = options();
  packed.compression = OutputCompression::kGzip;
  for (const size_t row_bytes : {size_t{10}, size_t{30'000}, size_t{200'000}}) {
    if (files_.exists("d/rows.gz")) files_.remove("d/rows.gz");
    const auto row = [&](int64_t step) { return random_row(step, row_bytes); };
    std::string expected = "header\n";
    std::vector<std::pair<OutputPosition, std::string>> saves;
    {
      OutputWriter writer("d/rows.gz", packed);
      append(writer, expected);
      begin(writer);
      for (int64_t step = 1; step <= 20; ++step) {
        writer.begin_step();
        append(writer, row(step));
        // A save after an error: what precedes the step.
        if (step % 4 == 3) saves.emplace_back(writer.position(), expected);
        writer.end_step();
        expected += row(step);
        if (step % 5 == 0) saves.emplace_back(writer.position(), expected);
      }
      append(writer, "the end");
      writer.finish();
    }
    EXPECT_EQ(unzipped(content("d/rows.gz")), expected + "the end");
    // From the last to the first, as each cuts the file.
    for (auto save = saves.rbegin(); save != saves.rend(); ++save) {
      OutputWriter writer("d/rows.gz", packed);
      append(writer, "header\n");
      writer.restore(save->first);
      begin(writer);
      EXPECT_EQ(unzipped(content("d/rows.gz")), save->second);
      step(writer, "more");
      writer.finish();
      EXPECT_EQ(unzipped(content("d/rows.gz")), save->second + "more");
    }
  }
}

TEST_F(OutputWriterTest, AFlushDoesNotEndAMember) {
  OutputFileOptions packed = options();
  packed.compression = OutputCompression::kGzip;
  OutputWriter writer("d/rows.gz", packed);
  begin(writer);
  for (int i = 0; i < 10'000; ++i) {
    step(writer, "the same row\n");
    writer.flush();
  }
  writer.finish();
  EXPECT_LT(files_.file_size("d/rows.gz"), 2'000u);
}

TEST_F(OutputWriterTest, NamesOfFiles) {
  EXPECT_EQ(output_path("d.e/rows", true, 7), "d.e/rows.000007");
  EXPECT_EQ(output_path("d/rows.csv", true, 1234567), "d/rows.1234567.csv");
  EXPECT_EQ(output_path("d/.rows", true, 0), "d/.rows.000000");
  EXPECT_EQ(output_path("rows.csv", false, 0), "rows.csv");
}

TEST_F(OutputWriterTest, SyncedBytesSurviveAPowerCut) {
  OutputWriter writer("d/rows.csv", options());
  begin(writer);
  step(writer, "one\n");
  writer.flush();
  const OutputPosition position = writer.position();
  step(writer, "two\n");
  writer.sync(position);
  writer.flush();
  files_.power_cut();
  OutputWriter next("d/rows.csv", options());
  next.restore(position);
  begin(next);
  EXPECT_EQ(content(), "one\n");
}

// Nobody knows what is on the disk: a second sync may succeed without it.
TEST_F(OutputWriterTest, ASyncThatFailedFailsUntilTheNextRun) {
  FailingFileSystem failing(files_);
  OutputFileOptions with_errors = options();
  with_errors.files = &failing;
  OutputWriter writer("d/rows.csv", with_errors);
  begin(writer);
  step(writer, "one\n");
  const OutputPosition position = writer.position();
  failing.fail_operation_with_errno(failing.num_operations(), EIO);
  EXPECT_THROW(writer.sync(position), UnknownError);
  EXPECT_EQ(failing.operations().back(), "sync_file d/rows.csv");
  EXPECT_THROW(writer.sync(position), UnknownError);
  EXPECT_EQ(failing.operations().back(), "sync_file d/rows.csv");
  EXPECT_EQ(failing.num_failures(), 1);
}

// Each operation of a run, and of the next one, fails once: the one after that writes the rest.
TEST_F(OutputWriterTest, EachOperationMayFail) {
  int64_t n = 0;
  for (bool has_failed = true; has_failed; ++n) {
    MemoryFileSystem disk;
    OutputPosition durable;
    const auto run = [&](FileSystem& files) {
      OutputWriter writer("d/rows.csv", {.keep_cut = true, .files = &files});
      append(writer, "header\n");
      if (!durable.files.empty()) writer.restore(durable);
      begin(writer, /*is_own=*/true);
      for (int i = durable.files.empty() ? 0 : 1; i < 3; ++i) {
        step(writer, "row\n");
        writer.flush();
        const OutputPosition position = writer.position();
        if (i > 0) continue;
        writer.sync(position);
        durable = position;
      }
    };
    has_failed = false;
    int64_t num_operations = 0;
    for (int attempt = 0; attempt < 3; ++attempt) {
      FailingFileSystem failing(disk);
      if (attempt < 2 && n >= num_operations)
        failing.fail_operation_with_errno(n - num_operations, EIO);
      try {
        run(failing);
      } catch (const Error&) {
      }
      has_failed = has_failed || failing.num_failures() > 0;
      num_operations += failing.num_operations();
      EXPECT_THAT(failing.violations(), ElementsAre()) << n;
    }
    EXPECT_EQ(read_file(disk, "d/rows.csv"), "header\nrow\nrow\nrow\n") << n;
  }
  EXPECT_GT(n, 15);
}

TEST_F(OutputWriterTest, AnErrorStays) {
  files_.create_directories("d");
  OutputWriter writer("d/rows.csv", options());
  begin(writer);
  files_.set_capacity(3);
  writer.begin_step();
  append(writer, "one\n");
  EXPECT_THROW(writer.flush(), ResourceExhaustedError);
  files_.set_capacity(std::nullopt);
  EXPECT_THROW(writer.end_step(), ResourceExhaustedError);
  EXPECT_THROW(writer.position(), ResourceExhaustedError);
}

TEST_F(OutputWriterTest, ARankWithoutItRefusesWrites) {
  OutputWriter writer("d/rows.csv", options());
  append(writer, "header\n");
  writer.refuse("it is rank 0's");
  writer.begin_step();
  EXPECT_NO_THROW(writer.end_step());
  EXPECT_THAT([&] { append(writer, "row\n"); },
              ThrowsMessage<FailedPreconditionError>("d/rows.csv: it is rank 0's"));
  EXPECT_THROW(writer.end_step(), FailedPreconditionError);
  EXPECT_FALSE(files_.exists("d"));
}

}  // namespace
}  // namespace crochet::inline v0::internal
