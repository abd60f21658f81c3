// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Heat on a plate, in two views of Kokkos that take turns.
#include "crochet/kokkos.h"

#include <utility>

#include <Kokkos_Core.hpp>

#include "tests/types/programs/program.h"

using Plate = Kokkos::View<double**, Kokkos::LayoutLeft>;

void step(const Plate& now, const Plate& next) {
  const auto rows = static_cast<int>(now.extent(0)), columns = static_cast<int>(now.extent(1));
  Kokkos::parallel_for(
      columns, KOKKOS_LAMBDA(const int column) {
        for (int row = 0; row < rows; ++row) {
          const bool is_edge = row == 0 || column == 0 || row == rows - 1 || column == columns - 1;
          next(row, column) = now(row, column);
          if (!is_edge)
            next(row, column) +=
                0.2 * (now(row - 1, column) + now(row + 1, column) + now(row, column - 1) +
                       now(row, column + 1) - 4 * now(row, column));
        }
      });
}

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  Plate now("now", 40, 30), next("next", 40, 30);
  now(3, 0) = now(20, 15) = 100;

  crochet::Loop loop(options_of(argv));
  loop.track("plate", now);
  const auto report = loop.run([&] {
    step(now, next);
    std::swap(now, next);
  });

  Digest digest;
  digest.add(now.data(), now.span());
  digest.print();
  return report.exit_code();
}
