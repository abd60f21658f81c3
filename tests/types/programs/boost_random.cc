// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The mean of the last values of a random walk: a ring, a generator and a distribution of Boost.
#include <boost/circular_buffer.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>

#include "tests/types/programs/program.h"

int main(int, char** argv) {
  boost::circular_buffer<double> recent(50);
  boost::random::mt19937_64 rng(1);
  boost::random::normal_distribution<double> normal(0, 1);
  double place = 0, sum = 0;

  crochet::Loop loop(options_of(argv));
  loop.track("recent", recent);
  loop.track("rng", rng);
  loop.track("normal", normal);
  loop.track("place", place);
  loop.track("sum", sum);
  const auto report = loop.run([&] {
    place += normal(rng);
    recent.push_back(place);
    double mean = 0;
    for (const double each : recent) mean += each / static_cast<double>(recent.size());
    sum += mean;
  });

  Digest digest;
  for (const double each : recent) digest.add_value(each);
  digest.add_value(sum);
  digest.print();
  return report.exit_code();
}
