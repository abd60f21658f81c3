// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A training on a machine of a cloud, whose metadata server is not there.
#include <cstdio>

#include <crochet/crochet.h>
#include <crochet/hooks/guards/cloud/cloud_preemption.h>

int main() {
  crochet::Loop loop(
      {.hooks = {crochet::PreemptionHook(crochet::cloud::gce_preemption({.host = "127.0.0.1:1"})),
                 crochet::StopAtStepHook({.last_step = 10})}});
  const crochet::RunReport report = loop.run([] {});
  std::printf("step %lld\n", static_cast<long long>(report.last_step));
  return report.exit_code();
}
