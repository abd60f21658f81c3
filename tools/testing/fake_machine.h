// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/run_end.h"

namespace crochet::tool {

class FakeMachine final : public Machine {
 public:
  std::string host() const override { return host_; }
  std::string boot() const override { return boot_; }
  std::string start_of_process(int64_t pid) const override {
    const auto found = processes_.find(pid);
    return found == processes_.end() ? "" : found->second;
  }
  std::optional<int64_t> oom_kills(const std::string&) const override { return oom_kills_; }
  std::vector<std::string> kernel_log() const override { return log_; }

  std::string host_ = "node7";
  std::string boot_ = "b1";
  std::map<int64_t, std::string> processes_;
  std::optional<int64_t> oom_kills_ = 3;
  std::vector<std::string> log_ = {"eth0: link up", "Killed process 47110 (other)"};
};

}  // namespace crochet::tool
