// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What fraction of the disk's rate does a durable checkpoint reach?
//
//   direct_file --directory /disk/to/measure
//
// Each round writes new files with the same number of bytes, one after another, so that all
// use the same disk under the same load:
//
//   fio    its rate: 1 MiB blocks, depth 16, io_uring, O_DIRECT, reserved space, end_fsync
//   file   create_large, one append_with_crc32c per 16 MiB, sync, close
//   save   Saver::write of 64 float variables: data, index, sidecar, state file, all synced
//   small  the same bytes in many variables of 10 KiB
//   plain  as `file`, through the page cache
//
// Prints the MiB/s of each, and its ratio to fio's of the same round; at the end, the
// medians over the rounds. The data is random.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdio.h>

#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/checkpoint/saver/save_ticket.h"
#include "crochet/crochet.h"
#include "crochet/io/internal/posix_file_system.h"

using namespace crochet;

namespace {

constexpr double kMebibyte = 1 << 20;

struct Options {
  std::string directory = "/tmp";
  int rounds = 10;
  size_t mib = 1024;
  int num_shards = 1;
  size_t num_small = 0;  // 0: as many of 10 KiB as fit into the bytes.
  bool without_fio = false;
  std::vector<std::string> cases = {"file", "save", "small", "plain"};
  internal::DirectWriterOptions writer;
};

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Bytes that no disk and no peer can compress.
Tensor random_tensor(size_t num_floats) {
  static std::mt19937_64 generator(7);
  Tensor tensor(DType::kFloat, {static_cast<int64_t>(num_floats)});
  auto bytes = tensor.mutable_bytes();
  for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    const uint64_t number = generator();
    std::memcpy(bytes.data() + i, &number, 8);
  }
  return tensor;
}

Snapshot random_snapshot(size_t num_bytes, size_t num_tensors) {
  Snapshot snapshot;
  const size_t num_floats = num_bytes / num_tensors / sizeof(float);
  for (size_t i = 0; i < num_tensors; ++i)
    snapshot.add({fmt::format("layer_{:06}/kernel", i), random_tensor(num_floats)});
  return snapshot;
}

double fio_rate(const Options& options) {
  const std::string file = options.directory + "/direct_file.fio";
  const std::string command = fmt::format(
      "fio --name=t --filename={} --rw=write --bs=1M --iodepth=16 --ioengine=io_uring --direct=1 "
      "--size={}M --fallocate=posix --end_fsync=1 --output-format=json",
      file, options.mib);
  FILE* const output = ::popen(command.c_str(), "r");
  std::string text;
  for (int c = ::fgetc(output); c != EOF; c = ::fgetc(output)) text += static_cast<char>(c);
  ::pclose(output);
  ::unlink(file.c_str());
  const auto report = nlohmann::json::parse(text.substr(text.find('{')));
  return report["jobs"][0]["write"]["bw_bytes"].get<double>() / kMebibyte;
}

void write_file(FileSystem& files, const std::string& path, const Snapshot& snapshot) {
  const auto file = files.create_large(path, snapshot.num_bytes());
  for (const NamedTensor& entry : snapshot.tensors())
    file->append_with_crc32c(0, entry.tensor.bytes());
  file->sync();
  file->close();
}

void write_checkpoint(FileSystem& files, const std::string& prefix, const Snapshot& snapshot,
                      int num_shards) {
  Saver saver(
      {.num_shards = num_shards, .share_unchanged = false, .max_to_keep = 1, .files = &files});
  internal::SavePromise promise(prefix, -1, Clock::real());
  internal::SaverAccess::write(saver, snapshot, promise);
}

class Rounds {
 public:
  explicit Rounds(const Options& options)
      : options_(options),
        files_(internal::make_posix_file_system(options.writer)),
        plain_files_(internal::make_posix_file_system({.use_direct = false})),
        num_bytes_(options.mib << 20) {
    large_ = random_snapshot(num_bytes_, std::min<size_t>(64, options.mib));
    if (wants("small"))
      small_ = random_snapshot(num_bytes_,
                               options.num_small > 0 ? options.num_small : num_bytes_ / 10240);
  }

  void make() {
    for (int round = 0; round < options_.rounds; ++round) {
      double fio = 0;
      if (!options_.without_fio) {
        fio = fio_rate(options_);
        rates_["fio"].push_back(fio);
      }
      fmt::print("{:2}  fio {:5.0f}", round, fio);
      const std::string path = options_.directory + "/direct_file.data";
      measure("file", fio, large_, [&] { write_file(*files_, path, large_); });
      measure("save", fio, large_,
              [&] { write_checkpoint(*files_, path, large_, options_.num_shards); });
      measure("small", fio, small_,
              [&] { write_checkpoint(*files_, path, small_, options_.num_shards); });
      measure("plain", fio, large_, [&] { write_file(*plain_files_, path, large_); });
      fmt::print("\n");
      fflush(stdout);
    }
    fmt::print("median MiB/s, and of fio's\n");
    for (const auto& [name, rates] : rates_)
      fmt::print("  {:5}  {:5.0f}  {:.2f}\n", name, median(rates), median(ratios_[name]));
  }

 private:
  bool wants(const std::string& name) const {
    return std::ranges::find(options_.cases, name) != options_.cases.end();
  }

  // Requires: nobody else uses the directory.
  void remove_files() {
    for (const std::string& file : FileSystem::posix().list(options_.directory))
      FileSystem::posix().remove(options_.directory + "/" + file);
  }

  void measure(const std::string& name, double fio, const Snapshot& snapshot,
               const std::function<void()>& work) {
    if (!wants(name)) return;
    const double rate = static_cast<double>(snapshot.num_bytes()) / seconds_of(work) / kMebibyte;
    remove_files();
    rates_[name].push_back(rate);
    if (fio > 0) ratios_[name].push_back(rate / fio);
    fmt::print("  {} {:5.0f} {:.2f}", name, rate, fio > 0 ? rate / fio : 0);
  }

  const Options options_;
  const std::unique_ptr<FileSystem> files_;
  const std::unique_ptr<FileSystem> plain_files_;
  const size_t num_bytes_;
  Snapshot large_;
  Snapshot small_;
  std::map<std::string, std::vector<double>> rates_;
  std::map<std::string, std::vector<double>> ratios_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  size_t buffer_kib = options.writer.buffer_bytes >> 10;
  CLI::App app("The rate of durable files and checkpoints compared with fio's");
  app.add_option("--directory", options.directory, "where the files are written");
  app.add_option("--rounds", options.rounds, "interleaved rounds");
  app.add_option("--mib", options.mib, "the size of each file");
  app.add_option("--small", options.num_small, "the number of small variables");
  app.add_option("--shards", options.num_shards, "data files of a checkpoint");
  app.add_option("--cases", options.cases, "some of file, save, small and plain")->delimiter(',');
  app.add_option("--buffers", options.writer.num_buffers, "buffers of the writer");
  app.add_option("--buffer-kib", buffer_kib, "the size of each");
  app.add_flag("--no-fio", options.without_fio, "skip fio");
  CLI11_PARSE(app, argc, argv);
  options.writer.buffer_bytes = buffer_kib << 10;
  options.directory += fmt::format("/direct_file-{}", ::getpid());
  FileSystem::posix().create_directories(options.directory);
  Rounds(options).make();
  FileSystem::posix().remove(options.directory);
}
