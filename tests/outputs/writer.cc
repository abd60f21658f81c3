// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// writer <kind> <directory> <last step> [<fast directory>]: a program whose steps write rows that
// follow from each other; check_kills.py knows them. Saves every third step, with a fast directory
// there and every sixtieth in its own, and prints "from <step>" when it begins. The kinds:
//
//   csv      rows.csv, one of rotated files of 10 kB, and one that is compressed
//   sqlite   results.db, changed in place by SQLite
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <sqlite3.h>

#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/outputs/outputs.h"

namespace cr = crochet;

namespace {

// The state that the rows show.
uint64_t next(uint64_t x) { return x * 6364136223846793005U + 1442695040888963407U; }

struct Arguments {
  std::string directory;
  int64_t last_step;
  std::string fast_directory;
};

cr::LoopOptions options(const Arguments& arguments) {
  cr::CheckpointOptions checkpoint = {.dir = arguments.directory, .every_steps = 3};
  if (!arguments.fast_directory.empty()) {
    checkpoint.every_steps = 60;
    checkpoint.fast_dir = arguments.fast_directory;
    checkpoint.fast_every_steps = 3;
  }
  return {.checkpoint = std::move(checkpoint),
          .summaries = {.every_steps = 0, .count_every_steps = 0},
          .hooks = {cr::StopAtStepHook({.last_step = arguments.last_step})}};
}

template <typename Step>
void run(cr::Loop& loop, const Step& step) {
  std::printf("from %lld\n", static_cast<long long>(loop.start()));
  std::fflush(stdout);
  while (!loop.should_stop()) loop.step([&](cr::Step& now) { step(now.number()); });
  loop.finish();
}

void write_csv(const Arguments& arguments) {
  const std::string& directory = arguments.directory;
  cr::OutputFile rows(directory + "/rows.csv");
  cr::OutputFile rotated(directory + "/parts.csv", {.rotate_bytes = 10'000});
  cr::OutputFile packed(directory + "/rows.csv.gz", {.compression = cr::OutputCompression::kGzip});
  for (cr::OutputFile* const output : {&rows, &packed}) *output << "step,x\n";
  uint64_t x = 0;
  cr::Loop loop(options(arguments));
  loop.track("x", x);
  loop.track("rows", rows);
  loop.track("rotated", rotated);
  loop.track("packed", packed);
  run(loop, [&](int64_t step) {
    x = next(x);
    for (cr::OutputFile* const output : {&rows, &rotated, &packed})
      *output << step << ',' << x << '\n';
    if (step % 7 == 0) rows.flush();
  });
}

class Database {
 public:
  explicit Database(std::string path) : path_(std::move(path)) {}
  ~Database() { close(); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void open() {
    check(::sqlite3_open(path_.c_str(), &database_));
    execute("PRAGMA journal_mode = WAL");
    execute("CREATE TABLE IF NOT EXISTS rows (step INTEGER, x TEXT)");
  }
  void close() { ::sqlite3_close(std::exchange(database_, nullptr)); }
  void execute(const std::string& statement) {
    check(::sqlite3_exec(database_, statement.c_str(), nullptr, nullptr, nullptr));
  }

 private:
  void check(int result) {
    if (result != SQLITE_OK) throw std::runtime_error(::sqlite3_errmsg(database_));
  }

  const std::string path_;
  sqlite3* database_ = nullptr;
};

void write_sqlite(const Arguments& arguments) {
  const std::string path = arguments.directory + "/results.db";
  Database database(path);
  cr::TrackedFile results(path,
                          {.flush = [&] { database.execute("PRAGMA wal_checkpoint(TRUNCATE)"); },
                           .open = [&] { database.open(); },
                           .close = [&] { database.close(); }});
  uint64_t x = 0;
  cr::Loop loop(options(arguments));
  loop.track("x", x);
  loop.track("results", results);
  run(loop, [&](int64_t step) {
    x = next(x);
    database.execute("INSERT INTO rows VALUES (" + std::to_string(step) + ", '" +
                     std::to_string(x) + "')");
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: writer csv|sqlite DIRECTORY LAST_STEP [FAST_DIRECTORY]\n");
    return 2;
  }
  try {
    (std::string_view(argv[1]) == "csv" ? write_csv : write_sqlite)(
        {argv[2], std::atoll(argv[3]), argc == 5 ? argv[4] : ""});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
