// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A plate that is heated at its upper edge, computed by several processes of MPI.
//
//   mpirun -n 4 heat_mpi --dir runs/heat --steps 20000
//
// Each rank has some of the plate's rows. A checkpoint has all of them, so a job that has lost a
// process may continue with fewer: scripts/demo-heat kills a rank of four and continues with three,
// and the result is that of an undisturbed run, bit by bit.
#include <array>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <mpi.h>

#include "crochet/crochet.h"
#include "crochet/fmt.h"
#include "crochet/mpi/join.h"

namespace {

constexpr int64_t kRows = 240;
constexpr int kColumns = 256;
using Row = std::array<double, kColumns>;

// The rows of one rank, and the neighbours' rows next to them.
class Plate {
 public:
  explicit Plate(const crochet::Group& group)
      : first_row_(kRows * group.rank() / group.size()),
        rows_(static_cast<size_t>(kRows * (group.rank() + 1) / group.size() - first_row_)),
        next_(rows_.size()),
        rank_above_(group.rank() > 0 ? group.rank() - 1 : MPI_PROC_NULL),
        rank_below_(group.rank() + 1 < group.size() ? group.rank() + 1 : MPI_PROC_NULL) {
    if (rank_above_ == MPI_PROC_NULL) above_.fill(100);  // The heated edge.
  }

  void track(crochet::Tracker& tracker) {
    tracker("rows",
            crochet::sharded(rows_, {.full_shape = {kRows, kColumns}, .offset = {first_row_, 0}}));
  }

  // Computes the next temperatures from those of now, which stay as they are.
  void compute() {
    exchange(rows_.front(), rank_above_, below_, rank_below_);
    exchange(rows_.back(), rank_below_, above_, rank_above_);
    for (size_t i = 0; i < rows_.size(); ++i)
      relax(i == 0 ? above_ : rows_[i - 1], rows_[i], i + 1 == rows_.size() ? below_ : rows_[i + 1],
            next_[i]);
  }
  void update() { rows_.swap(next_); }

  double mean() const {
    double sum = 0;
    for (const Row& row : rows_)
      for (const double temperature : row) sum += temperature;
    double total = 0;
    MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return total / (kRows * kColumns);
  }

 private:
  static void exchange(const Row& sent, int to, Row& received, int from) {
    MPI_Sendrecv(sent.data(), kColumns, MPI_DOUBLE, to, 0, received.data(), kColumns, MPI_DOUBLE,
                 from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  // Heat flows between neighbours; none leaves at the sides.
  static void relax(const Row& above, const Row& row, const Row& below, Row& next) {
    constexpr double kFlow = 0.2;
    for (size_t j = 0; j < row.size(); ++j) {
      const double left = row[j == 0 ? j : j - 1];
      const double right = row[j + 1 == row.size() ? j : j + 1];
      next[j] = row[j] + kFlow * (above[j] + below[j] + left + right - 4 * row[j]);
    }
  }

  int64_t first_row_;
  std::vector<Row> rows_;
  std::vector<Row> next_;
  Row above_ = {};
  Row below_ = {};  // Stays cold at the lower edge.
  int rank_above_;
  int rank_below_;
};

struct Options {
  std::string dir = "runs/heat";
  int64_t steps = 20'000;
  int64_t save_every = 1'000;
};

crochet::RunReport run(const std::shared_ptr<crochet::Group>& group, const Options& options) {
  Plate plate(*group);
  crochet::Loop loop({.checkpoint = {.dir = options.dir, .every_steps = options.save_every},
                      .ranks = {.group = group, .agree_every_n_steps = 10},
                      .hooks = {crochet::StopAtStepHook({.last_step = options.steps}),
                                crochet::SignalHook({SIGINT, SIGTERM})}});
  loop.track("plate", plate);
  crochet::RunReport report = loop.run([&] { plate.compute(); }, [&] { plate.update(); });
  const double mean = plate.mean();  // Of all ranks.
  if (group->is_chief()) fmt::print("{}\nmean temperature: {:.6f}\n", report, mean);
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  const std::shared_ptr<crochet::Group> group = crochet::mpi::join(argc, argv);
  Options options;
  CLI::App app("Heat that flows through a plate");
  app.add_option("--dir", options.dir, "Directory of the checkpoints")->capture_default_str();
  app.add_option("--steps", options.steps, "Steps to compute")->capture_default_str();
  app.add_option("--save-every", options.save_every, "Steps between two checkpoints")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return run(group, options).exit_code();
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", group->rank(), error.what());
    group->leave(error.what());
    return 1;
  }
}
