// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crochet::inline v0::internal {

// What a rank says of itself when it joins a group, and rank 0 when it answers.
struct Membership {
  std::string job = {};
  // Of one start of rank 0, where its address was passed on: the address may have become that of
  // another machine or program. Otherwise empty.
  std::string nonce = {};
  int64_t generation = 0;
  int rank = 0;
  int size = 1;
  std::string process = {};  // own_process()

  // "rank 1 of 4 (pid 4242 on node7)"
  std::string who() const;
};

enum class Purpose : int64_t { kWatch, kMessages, kQuestion };

// The first message on each line.
struct Greeting {
  Membership member = {};
  Purpose purpose = Purpose::kQuestion;

  std::string encode() const;
  // Throws: UnavailableError, DataLossError.
  static Greeting parse(std::string_view message);
};

enum class Verdict : int64_t { kWelcome, kOtherJob, kOtherGeneration, kOtherSize, kTaken };

// What rank 0 replies.
struct Reply {
  Verdict verdict = Verdict::kWelcome;
  Membership chief = {};

  std::string encode() const;
  static Reply parse(std::string_view message);
};

// Whether the rank belongs to rank 0's group.
Verdict judge(const Membership& member, const Membership& chief);
// Throws the error for a rank that is not welcome at `address`.
[[noreturn]] void throw_refused(const Membership& own, const std::string& address,
                                const Reply& reply);

}  // namespace crochet::inline v0::internal
