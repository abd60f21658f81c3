// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Water in a basin, in memory that the program owns and sees as matrices: mdspan.
#include <utility>
#include <vector>

#ifdef CROCHET_HAS_MDSPAN
#include <mdspan/mdspan.hpp>
namespace md = Kokkos;
#else
#include "tests/types/mdspan_stand_in.h"
#endif

#include "crochet/mdspan.h"
#include "tests/types/programs/program.h"

constexpr int kSize = 30;

using Plane = md::mdspan<double, md::dextents<int, 2>, md::layout_right>;

double& at(const Plane& plane, int row, int column) {
  return plane.data_handle()[plane.mapping().stride(0) * row + plane.mapping().stride(1) * column];
}

int main(int, char** argv) {
  std::vector<double> heights(kSize * kSize, 1), speeds(kSize * kSize, 0);
  const Plane height(heights.data(), kSize, kSize);
  const Plane speed(speeds.data(), kSize, kSize);
  at(height, 4, 7) = 3;

  crochet::Loop loop(options_of(argv));
  loop.track("height", height);
  loop.track("speed", speed);
  const auto report = loop.run([&] {
    for (int row = 1; row < kSize - 1; ++row)
      for (int column = 1; column < kSize - 1; ++column)
        at(speed, row, column) += 0.1 * (at(height, row - 1, column) + at(height, row + 1, column) +
                                         at(height, row, column - 1) + at(height, row, column + 1) -
                                         4 * at(height, row, column));
    for (size_t i = 0; i < heights.size(); ++i) heights[i] += 0.1 * speeds[i];
  });

  Digest digest;
  digest.add(heights.data(), heights.size());
  digest.add(speeds.data(), speeds.size());
  digest.print();
  return report.exit_code();
}
