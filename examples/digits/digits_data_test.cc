// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "digits_data.h"

#include <zlib.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"
#include "crochet/testing/temp_directory.h"
#include "valid_text.h"

namespace digits {
namespace {

using crochet::DataLossError;
using crochet::FileSystem;
using crochet::InvalidArgumentError;
using crochet::NotFoundError;
using crochet::TempDirectory;
using testing::StartsWith;
using testing::ThrowsMessage;

// The valid text with one line replaced.
std::string text_with_line(int line, const std::string& content) {
  std::istringstream lines(valid_text(12));
  std::string text;
  std::string current;
  for (int i = 1; std::getline(lines, current); ++i) text += (i == line ? content : current) + "\n";
  return text;
}

// A line with one number replaced; columns count from 1.
std::string line_with_column(int column, const std::string& content) {
  std::string line;
  for (int i = 1; i <= kPixels + 1; ++i)
    line += (i == column ? content : "1") + (i <= kPixels ? "," : "");
  return line;
}

void write(const std::string& path, std::string_view bytes) {
  const auto file = FileSystem::posix().create(path);
  file->append(bytes);
  file->close();
}

void write_gzip(const std::string& path, const std::string& text) {
  const gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
}

TEST(DigitsDataTest, ReadsThePixelsAndClassesOfTheRealFile) {
  const Digits digits = load_digits(DIGITS_DATA);
  EXPECT_EQ(digits.train.size() + digits.test.size(), 1797);
  EXPECT_EQ(digits.train.size(), 1437);
  for (const Dataset& part : {digits.train, digits.test}) {
    EXPECT_EQ(part.images.rows(), kPixels);
    EXPECT_EQ(part.images.cols(), part.size());
    EXPECT_EQ(part.images.minCoeff(), 0);
    EXPECT_EQ(part.images.maxCoeff(), 1);
    EXPECT_EQ(part.labels.minCoeff(), 0);
    EXPECT_EQ(part.labels.maxCoeff(), 9);
  }
}

// The held-out samples must stay held out, with every compiler and library.
TEST(DigitsDataTest, HoldsOutTheSameSamplesEverywhere) {
  const Digits digits = load_digits(DIGITS_DATA);
  std::vector<int> first(digits.test.labels.data(), digits.test.labels.data() + 12);
  EXPECT_THAT(first, testing::ElementsAre(2, 4, 3, 4, 5, 1, 6, 7, 0, 8, 9, 9));
  EXPECT_EQ(digits.test.labels.sum(), 1528);
}

TEST(DigitsDataTest, ScalesPixelsAndKeepsTheOrder) {
  const Dataset data = parse_digits(valid_text(3), "x");
  ASSERT_EQ(data.size(), 3);
  EXPECT_EQ(data.images(0, 0), 0);
  EXPECT_EQ(data.images(16, 0), 1);
  EXPECT_EQ(data.images(0, 2), 2.0f / 16);
  EXPECT_EQ(data.labels[2], 2);
}

TEST(DigitsDataTest, NeedsNoNewlineAtTheEnd) {
  std::string text = valid_text(3);
  text.pop_back();
  EXPECT_EQ(parse_digits(text, "x").size(), 3);
}

TEST(DigitsDataTest, NamesTheLineAndColumnOfAnError) {
  const auto expect_error = [](int line, const std::string& content, const std::string& message) {
    EXPECT_THAT([&] { parse_digits(text_with_line(line, content), "digits.csv.gz"); },
                ThrowsMessage<InvalidArgumentError>(message));
  };
  expect_error(12, line_with_column(65, "1").substr(2),
               "digits.csv.gz, line 12: 64 numbers, expected 65");
  expect_error(1, line_with_column(65, "1,1"), "digits.csv.gz, line 1: 66 numbers, expected 65");
  expect_error(3, "", "digits.csv.gz, line 3: 0 numbers, expected 65");
  expect_error(7, line_with_column(64, "17"),
               "digits.csv.gz, line 7, column 64: pixel \"17\", expected a number from 0 to 16");
  expect_error(7, line_with_column(65, "10"),
               "digits.csv.gz, line 7, column 65: class \"10\", expected a number from 0 to 9");
  for (const std::string text : {"", "x", "-1", "1.5", " 1", "1 ", "99999999999", "0x1"})
    expect_error(
        2, line_with_column(5, text),
        "digits.csv.gz, line 2, column 5: pixel \"" + text + "\", expected a number from 0 to 16");
}

TEST(DigitsDataTest, NamesTheFileThatCannotBeRead) {
  const TempDirectory directory;
  const std::string path = directory / "missing.csv.gz";
  EXPECT_THAT([&] { load_digits(path); },
              ThrowsMessage<NotFoundError>(path + ": No such file or directory"));
  EXPECT_THAT([&] { load_digits(directory.path()); },
              ThrowsMessage<crochet::Error>(StartsWith(directory.path())));
}

TEST(DigitsDataTest, RejectsAFileThatIsNotCompressedOrEmpty) {
  const TempDirectory directory;
  const std::string path = directory / "digits.csv.gz";
  write(path, valid_text(3));
  EXPECT_THAT([&] { load_digits(path); }, ThrowsMessage<DataLossError>(path + ": not a gzip file"));
  write(path, "");
  EXPECT_THAT([&] { load_digits(path); }, ThrowsMessage<DataLossError>(path + ": not a gzip file"));
  write_gzip(path, "");
  EXPECT_THAT([&] { load_digits(path); },
              ThrowsMessage<InvalidArgumentError>(path + ": no samples"));
}

TEST(DigitsDataTest, DetectsEveryCut) {
  const TempDirectory directory;
  const std::string path = directory / "digits.csv.gz";
  write_gzip(path, valid_text(10));
  const std::string whole = crochet::read_file(FileSystem::posix(), path);
  for (size_t length = 0; length < whole.size(); ++length) {
    write(path, std::string_view(whole).substr(0, length));
    EXPECT_THAT([&] { load_digits(path); }, ThrowsMessage<DataLossError>(StartsWith(path)))
        << "cut to " << length;
  }
}

// Some bytes of the header, such as the time stamp, have no effect.
TEST(DigitsDataTest, NeverReadsOtherDataAfterAFlippedByte) {
  const TempDirectory directory;
  const std::string path = directory / "digits.csv.gz";
  write_gzip(path, valid_text(10));
  const std::string whole = crochet::read_file(FileSystem::posix(), path);
  const Digits expected = load_digits(path);
  int noticed = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(~bytes[i]);
    write(path, bytes);
    try {
      const Digits found = load_digits(path);
      EXPECT_EQ(found.train.images, expected.train.images) << "byte " << i;
      EXPECT_EQ(found.test.labels, expected.test.labels) << "byte " << i;
    } catch (const DataLossError&) {
      ++noticed;
    }
  }
  EXPECT_GE(noticed, static_cast<int>(whole.size()) - 6);
}

}  // namespace
}  // namespace digits
