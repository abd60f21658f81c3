// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A training on a machine of a cloud, whose metadata server is not there; and a place in a store.
#include <cstdio>

#include <crochet/cloud/files.h>
#include <crochet/crochet.h>
#include <crochet/hooks/guards/cloud/cloud_preemption.h>
#include <crochet/hooks/guards/cloud/mirror_hook.h>

int main() {
  const crochet::cloud::MirrorHook mirror("s3://bucket/run");
  if (!crochet::cloud::files().exists("/")) return 1;
  crochet::Loop loop(
      {.hooks = {crochet::PreemptionHook(crochet::cloud::gce_preemption({.host = "127.0.0.1:1"})),
                 crochet::StopAtStepHook({.last_step = 10})}});
  const crochet::RunReport report = loop.run([] {});
  std::printf("step %lld\n", static_cast<long long>(report.last_step));
  return report.exit_code();
}
