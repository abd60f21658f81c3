// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Recursive least squares, as signal processing has it: matrices of Armadillo.
#include "crochet/armadillo.h"

#include <armadillo>
#include <cmath>

#include "tests/types/programs/program.h"

int main(int, char** argv) {
  arma::vec weights(12, arma::fill::zeros);
  arma::mat inverse(12, 12, arma::fill::eye);
  arma::rowvec recent(12, arma::fill::zeros);
  double time = 0;

  crochet::Loop loop(options_of(argv));
  loop.track("weights", weights);
  loop.track("inverse", inverse);
  loop.track("recent", recent);
  loop.track("time", time);
  const auto report = loop.run([&] {
    recent = arma::shift(recent, 1);
    recent(0) = std::sin(time) + 0.3 * std::cos(7 * time);
    const arma::vec gain =
        inverse * recent.t() / (1 + arma::as_scalar(recent * inverse * recent.t()));
    weights += gain * (std::sin(time + 0.1) - arma::as_scalar(recent * weights));
    inverse = (inverse - gain * recent * inverse) / 0.999;
    time += 0.01;
  });

  Digest digest;
  digest.add(weights.memptr(), weights.n_elem);
  digest.add(inverse.memptr(), inverse.n_elem);
  digest.print();
  return report.exit_code();
}
