// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A simulation by several processes, without MPI's own headers: each has some cells of a row, and a
// generator. It resumes with the cells of the checkpoint, however many processes there are.
//
//   mpirun -n 3 with_mpi DIRECTORY STEPS
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <crochet/crochet.h>
#include <crochet/mpi/join.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::shared_ptr<crochet::Group> group = crochet::mpi::join(argc, argv);
  constexpr int kCells = 10;
  const int begin = kCells * group->rank() / group->size();
  const int end = kCells * (group->rank() + 1) / group->size();
  std::vector<double> cells(static_cast<size_t>(end - begin));
  std::mt19937 generator(static_cast<unsigned>(group->rank()));

  const int64_t last_step = std::atoll(argv[2]);
  crochet::Loop loop({.checkpoint = {.dir = argv[1], .every_steps = 2},
                      .ranks = {.group = group},
                      .hooks = {crochet::StopAtStepHook({.last_step = last_step})}});
  loop.track("cells", crochet::sharded(cells, {.full_shape = {kCells}, .offset = {begin}}));
  loop.track("generator", crochet::per_rank(generator, crochet::Regroup::kFresh));
  loop.run([&](const crochet::Step& step) {
    for (int cell = begin; cell < end; ++cell)
      cells[static_cast<size_t>(cell - begin)] += cell * step.number();
    generator.discard(1);
  });

  for (int cell = begin; cell < end; ++cell) {
    const double expected = cell * last_step * (last_step + 1) / 2.0;
    if (cells[static_cast<size_t>(cell - begin)] == expected) continue;
    std::fprintf(stderr, "rank %d: cell %d is %g, expected %g\n", group->rank(), cell,
                 cells[static_cast<size_t>(cell - begin)], expected);
    return 1;
  }
  return 0;
}
