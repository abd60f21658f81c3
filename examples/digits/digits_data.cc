// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "digits_data.h"

#include <errno.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "random.h"

namespace digits {
namespace {

constexpr int kMaxPixel = 16;
constexpr int kColumns = kPixels + 1;
constexpr uint64_t kSplitSeed = 2026;

using GzipFile = std::unique_ptr<gzFile_s, decltype(&gzclose_r)>;

GzipFile open_gzip(const std::string& path) {
  GzipFile file(gzopen(path.c_str(), "rb"), gzclose_r);
  if (file) return file;
  const int error = errno;
  if (error == ENOENT || error == ENOTDIR)
    throw crochet::NotFoundError(fmt::format("{}: {}", path, strerror(error)));
  if (error == EACCES || error == EPERM)
    throw crochet::PermissionDeniedError(fmt::format("{}: {}", path, strerror(error)));
  throw crochet::UnknownError(fmt::format("{}: {}", path, strerror(error)));
}

// zlib's message begins with the path. If the file ended too early, there is one
// after a read that returned nothing.
void throw_if_damaged(const GzipFile& file) {
  int code = Z_OK;
  const char* message = gzerror(file.get(), &code);
  if (code != Z_OK) throw crochet::DataLossError(message);
}

std::string read_gzip(const std::string& path) {
  const GzipFile file = open_gzip(path);
  std::string text;
  std::array<char, 65536> part;
  int length = 0;
  while ((length = gzread(file.get(), part.data(), part.size())) > 0)
    text.append(part.data(), static_cast<size_t>(length));
  throw_if_damaged(file);
  if (gzdirect(file.get()) != 0)
    throw crochet::DataLossError(fmt::format("{}: not a gzip file", path));
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t end; (end = text.find(separator)) != text.npos; text.remove_prefix(end + 1))
    parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

struct Place {
  const std::string& name;
  size_t line;
};

int parse_number(std::string_view text, const char* what, int max, const Place& place, int column) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end && number >= 0 && number <= max) return number;
  throw crochet::InvalidArgumentError(
      fmt::format("{}, line {}, column {}: {} \"{}\", expected a number from 0 to {}", place.name,
                  place.line, column, what, text, max));
}

void parse_line(std::string_view line, const Place& place, Eigen::Ref<Eigen::VectorXf> image,
                int& label) {
  const std::vector<std::string_view> numbers = split(line, ',');
  if (numbers.size() != kColumns)
    throw crochet::InvalidArgumentError(fmt::format("{}, line {}: {} numbers, expected {}",
                                                    place.name, place.line,
                                                    line.empty() ? 0 : numbers.size(), kColumns));
  for (int i = 0; i < kPixels; ++i)
    image[i] =
        static_cast<float>(parse_number(numbers[i], "pixel", kMaxPixel, place, i + 1)) / kMaxPixel;
  label = parse_number(numbers[kPixels], "class", kClasses - 1, place, kColumns);
}

Dataset select(const Dataset& all, std::span<const int32_t> samples) {
  const std::vector<int32_t> indices(samples.begin(), samples.end());
  return {.images = all.images(Eigen::all, indices), .labels = all.labels(indices)};
}

}  // namespace

Dataset parse_digits(std::string_view text, const std::string& name) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.empty()) throw crochet::InvalidArgumentError(fmt::format("{}: no samples", name));
  const std::vector<std::string_view> lines = split(text, '\n');
  Dataset all{.images = Eigen::MatrixXf(kPixels, lines.size()),
              .labels = Eigen::VectorXi(lines.size())};
  for (size_t i = 0; i < lines.size(); ++i)
    parse_line(lines[i], {name, i + 1}, all.images.col(i), all.labels[i]);
  return all;
}

Digits load_digits(const std::string& path) {
  const Dataset all = parse_digits(read_gzip(path), path);
  std::vector<int32_t> order(static_cast<size_t>(all.size()));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 generator(kSplitSeed);
  shuffle(order, generator);
  const std::span<const int32_t> samples(order);
  const size_t num_train = samples.size() * 4 / 5;
  return {.train = select(all, samples.first(num_train)),
          .test = select(all, samples.subspan(num_train))};
}

// The data is next to the installed program, or else next to the sources.
std::string default_digits_file() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  for (const char* const place : {"digits.csv.gz", "../digits/digits.csv.gz"}) {
    const auto installed = program.parent_path() / place;
    if (std::filesystem::exists(installed, error)) return installed.string();
  }
  return DIGITS_DATA;
}

}  // namespace digits
