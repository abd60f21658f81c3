// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A swarm that looks for a minimum: arrays of xtensor, of which a map gains some.
#include "crochet/xtensor.h"

#include <map>
#include <random>
#include <string>

#include <xtensor/xarray.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "tests/types/programs/program.h"

int main(int, char** argv) {
  xt::xtensor<double, 2> places({40, 3});
  xt::xtensor<double, 2> speeds = xt::zeros<double>({40, 3});
  std::map<std::string, xt::xarray<double>> best;
  std::mt19937 rng(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (double& place : places) place = 10 * uniform(rng);
  xt::xarray<double> target = xt::xarray<double>::from_shape({3});
  target.fill(0);
  int64_t round = 0;

  crochet::Loop loop(options_of(argv));
  loop.track("places", places);
  loop.track("speeds", speeds);
  loop.track("best", best);
  loop.track("rng", rng);
  loop.track("target", target);
  loop.track("round", round);
  const auto report = loop.run([&] {
    for (size_t i = 0; i < 40; ++i)
      for (size_t k = 0; k < 3; ++k)
        speeds(i, k) = 0.9 * speeds(i, k) + 0.1 * uniform(rng) * (target(k) - places(i, k));
    places += speeds;
    target = xt::mean(places, {0});
    if (++round % 100 == 0)
      best["after " + std::to_string(round)] = xt::view(places, round / 100 % 40);
  });

  Digest digest;
  digest.add(places.data(), places.size());
  for (const auto& [name, place] : best) {
    digest.add(name);
    digest.add(place.data(), place.size());
  }
  digest.print();
  return report.exit_code();
}
