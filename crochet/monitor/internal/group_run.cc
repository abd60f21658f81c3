// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/monitor/internal/group_run.h"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/listed.h"
#include "crochet/base/log_lazily.h"
#include "crochet/base/pending_signal.h"
#include "crochet/group/message_bytes.h"

namespace crochet::inline v0::internal {
namespace {

constexpr int64_t kNoStep = -1;
// Instead of a step: a rank has something to report.
constexpr int64_t kReports = std::numeric_limits<int64_t>::max();
// What the chief's choice begins with.
constexpr char kChosen = 'c';
constexpr char kRecovers = 'r';

// FNV-1a, which is the same in every build.
int64_t hash_of(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char each : bytes) hash = (hash ^ static_cast<uint8_t>(each)) * 0x100000001b3;
  return static_cast<int64_t>(hash);
}

std::string encode(const std::vector<Fact>& facts) {
  MessageWriter writer;
  for (const auto& [what, value] : facts) writer.text(what).text(value);
  return writer.take();
}

std::map<std::string, std::string> decode_facts(std::string_view bytes) {
  MessageReader reader(bytes);
  std::map<std::string, std::string> facts;
  while (!reader.rest().empty()) {
    std::string what(reader.text());
    facts.emplace(std::move(what), reader.text());
  }
  return facts;
}

// "w is float32 [2,4], expected float32 [2,3]".
std::vector<std::string> differences(const std::map<std::string, std::string>& found,
                                     const std::map<std::string, std::string>& expected) {
  std::vector<std::string> texts;
  for (const auto& [what, value] : expected) {
    const auto own = found.find(what);
    if (own == found.end())
      texts.push_back(fmt::format("{} is missing, expected {}", what, value));
    else if (own->second != value)
      texts.push_back(fmt::format("{} is {}, expected {}", what, own->second, value));
  }
  for (const auto& [what, value] : found)
    if (!expected.contains(what))
      texts.push_back(fmt::format("{} is {}, expected none", what, value));
  return texts;
}

}  // namespace

// Where a rank is, and what it wants.
struct GroupRun::Report {
  Point point = Point::kStep;
  int64_t step = 0;
  // A stop, if `who` is not empty; for kRecovery and kEnd the reason alone.
  StopRequest proposal = {};
  int64_t last_step = kNoStep;
  SaveProposal save = {};

  std::string encode() const {
    return MessageWriter()
        .number(static_cast<int64_t>(point))
        .number(step)
        .text(proposal.who)
        .text(proposal.reason)
        .number(proposal.signal)
        .number(proposal.is_end ? 1 : 0)
        .number(last_step)
        .number(save.request ? 1 : 0)
        .text(save.request.value_or(""))
        .number(save.is_rejected ? 1 : 0)
        .take();
  }
  static Report decode(std::string_view bytes) {
    MessageReader reader(bytes);
    Report report;
    report.point = static_cast<Point>(reader.number());
    report.step = reader.number();
    report.proposal.who = reader.text();
    report.proposal.reason = reader.text();
    report.proposal.signal = static_cast<int>(reader.number());
    report.proposal.is_end = reader.number() != 0;
    report.last_step = reader.number();
    const bool has_request = reader.number() != 0;
    const std::string_view request = reader.text();
    if (has_request) report.save.request = request;
    report.save.is_rejected = reader.number() != 0;
    return report;
  }
};

GroupRun::GroupRun(std::shared_ptr<Group> group, int64_t agree_every_n_steps, double timeout_secs)
    : group_(std::move(group)),
      agree_every_n_steps_(agree_every_n_steps),
      timeout_secs_(timeout_secs) {}

void GroupRun::check_same(const std::vector<Fact>& facts) {
  const std::string own = encode(facts);
  const std::string hash = MessageWriter().number(hash_of(own)).take();
  const std::vector<std::string> hashes = group_->all_gather(hash, timeout_secs_);
  if (std::ranges::count(hashes, hash) == group_->size()) return;
  const std::vector<std::string> all = group_->all_gather(own, timeout_secs_);
  const auto expected = decode_facts(all.front());
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (const std::vector<std::string> found = differences(decode_facts(all[rank]), expected);
        !found.empty())
      throw InvalidArgumentError(fmt::format("rank {} of {} differs from rank 0: {}", rank,
                                             group_->size(), listed(found)));
}

std::string GroupRun::choose(const std::function<std::string()>& choose) {
  std::string message;
  std::exception_ptr error;
  if (group_->is_chief()) {
    try {
      message = kChosen + choose();
    } catch (...) {
      error = std::current_exception();
      if (!is_preemption(error)) throw;
      message = kRecovers + crochet::describe(error);
    }
  }
  message = group_->broadcast(message, 0, timeout_secs_);
  recovery_is_agreed_ = message.starts_with(kRecovers);
  if (error) std::rethrow_exception(error);
  if (recovery_is_agreed_)
    throw AbortedError(fmt::format("rank 0 recovers: {}", message.substr(1)));
  return message.substr(1);
}

std::string GroupRun::describe(const Report& report) {
  switch (report.point) {
    case Point::kStart:
      return fmt::format("starts at step {}", report.step);
    case Point::kStep:
      return fmt::format("has completed step {}", report.step);
    case Point::kRecovery:
      return fmt::format("recovers ({})", report.proposal.reason);
    case Point::kEndOfData:
      return fmt::format("has no more data after step {}", report.step);
    case Point::kEnd:
      return fmt::format("ends at step {} ({})", report.step, report.proposal.reason);
  }
  return "is at an unknown point";
}

std::vector<GroupRun::Report> GroupRun::meet(const Report& own) {
  // Others may be in after_step(), where each rank first sends one number.
  if (own.point != Point::kStep) group_->all_max(kReports, timeout_secs_);
  std::vector<Report> reports;
  for (const std::string& each : group_->all_gather(own.encode(), timeout_secs_))
    reports.push_back(Report::decode(each));
  return reports;
}

void GroupRun::check_points(const std::vector<Report>& reports, const Report& own) {
  const auto is_recovery = [](const Report& each) { return each.point == Point::kRecovery; };
  const auto ends = [](const Report& each) { return each.point == Point::kEnd; };
  const auto recovering = std::ranges::find_if(reports, is_recovery);
  if (recovering != reports.end() && std::ranges::none_of(reports, ends)) {
    if (own.point == Point::kRecovery) return;
    recovery_is_agreed_ = true;
    throw AbortedError(fmt::format("rank {} of {} recovers: {}", recovering - reports.begin(),
                                   reports.size(), recovering->proposal.reason));
  }
  check_data(reports);
  const auto is_elsewhere = [&](const Report& each) {
    return each.point != reports.front().point || each.step != reports.front().step;
  };
  const auto other = std::ranges::find_if(reports, is_elsewhere);
  if (other == reports.end()) return;
  throw FailedPreconditionError(fmt::format(
      "the ranks of the group are not at the same point: rank {} {}, rank 0 {}; no checkpoint is "
      "saved of this",
      other - reports.begin(), describe(*other), describe(reports.front())));
}

void GroupRun::check_data(const std::vector<Report>& reports) {
  const auto has_ended = [](const Report& each) { return each.point == Point::kEndOfData; };
  const auto first = std::ranges::find_if(reports, has_ended);
  if (first == reports.end()) return;
  const int64_t last = std::ranges::min(reports, {}, &Report::step).step;
  if (std::ranges::max(reports, {}, &Report::step).step == last &&
      std::ranges::all_of(reports, has_ended))
    return;
  ends_at_ = last;
  recovery_is_agreed_ = true;
  throw AbortedError(fmt::format(
      "the data of rank {} ended after step {}, and other ranks have continued: all go back to a "
      "checkpoint, to end together at step {}; without one, each rank needs data for the same "
      "number of steps",
      first - reports.begin(), first->step, last));
}

void GroupRun::decide_end_of_data(StopState& stop) const {
  if (is_past_the_end()) stop.decide({"the program", "the data of a rank ended"});
}

// That of the lowest rank; with the rank unless all have the same one.
std::optional<StopRequest> GroupRun::proposal_of(const std::vector<Report>& reports) {
  const auto wants = [](const Report& each) { return !each.proposal.who.empty(); };
  const auto first = std::ranges::find_if(reports, wants);
  if (first == reports.end()) return std::nullopt;
  StopRequest proposal = first->proposal;
  const auto is_same = [&](const Report& each) {
    return each.proposal.who == proposal.who && each.proposal.reason == proposal.reason;
  };
  for (const Report& each : reports)
    proposal.signal = std::max(proposal.signal, each.proposal.signal);
  if (!std::ranges::all_of(reports, is_same))
    proposal.who = fmt::format("rank {}: {}", first - reports.begin(), first->proposal.who);
  return proposal;
}

void GroupRun::decide(const std::optional<StopRequest>& proposal, StopState& stop) {
  if (!proposal) return;
  if (proposal->signal != 0 && pending_signal() == 0) set_pending_signal(proposal->signal);
  stop.decide(*proposal);
}

void GroupRun::start(int64_t step, std::optional<int64_t> last_step, StopState& stop) {
  Report own = {.point = Point::kStart, .step = step, .last_step = last_step.value_or(kNoStep)};
  if (stop.proposal()) own.proposal = *stop.proposal();
  const std::vector<Report> reports = meet(own);
  check_points(reports, own);
  agreed_step_ = step;
  last_step_.reset();
  for (const Report& each : reports)
    if (each.last_step != kNoStep)
      last_step_ = std::min(each.last_step, last_step_.value_or(each.last_step));
  if (ends_at_) last_step_ = std::min(*ends_at_, last_step_.value_or(*ends_at_));
  decide_end_of_data(stop);
  // A later session begins with the repetition of the run that failed.
  if (!std::exchange(has_started_, true)) decide(proposal_of(reports), stop);
}

bool GroupRun::is_agreement_due(int64_t step) const {
  return step / agree_every_n_steps_ != agreed_step_ / agree_every_n_steps_ ||
         (last_step_ && step >= *last_step_ && step != agreed_step_);
}

// Of the lowest rank that has one; with its number unless that is the chief.
SaveProposal GroupRun::save_of(const std::vector<Report>& reports) {
  SaveProposal save;
  for (size_t rank = 0; rank < reports.size(); ++rank) {
    const SaveProposal& each = reports[rank].save;
    if (each.request && !save.request)
      save.request = rank == 0 ? *each.request : fmt::format("rank {}: {}", rank, *each.request);
    save.is_rejected = save.is_rejected || each.is_rejected;
  }
  return save;
}

bool GroupRun::after_step(int64_t step, const std::optional<StopRequest>& proposal,
                          SaveProposal& save, StopState& stop) {
  if (!pending_save_) pending_save_ = std::move(save.request);
  save.request.reset();
  if (!is_agreement_due(step)) return false;
  save.request = std::exchange(pending_save_, std::nullopt);
  // One number in most steps.
  const bool reports_any = proposal || save.request || save.is_rejected;
  const int64_t most = group_->all_max(reports_any ? kReports : step, timeout_secs_);
  if (most == step) {
    agreed_step_ = step;
    decide_end_of_data(stop);
    return true;
  }
  if (most != kReports)
    throw FailedPreconditionError(
        fmt::format("the ranks of the group are not at the same point: rank {} has completed step "
                    "{}, another one step {}",
                    group_->rank(), step, most));
  const Report own = {.step = step, .proposal = proposal.value_or(StopRequest()), .save = save};
  const std::vector<Report> reports = meet(own);
  check_points(reports, own);
  agreed_step_ = step;
  save = save_of(reports);
  decide(proposal_of(reports), stop);
  decide_end_of_data(stop);
  return true;
}

bool GroupRun::begin_saves(bool saves) {
  const int64_t most = group_->all_max(saves ? 1 : 0, timeout_secs_);
  if (most == kReports) {
    const Report own = {.step = agreed_step_};
    check_points(meet(own), own);
  }
  is_saving_ = saves;
  return most == 1;
}

void GroupRun::end_saves() {
  is_saving_ = false;
  group_->broadcast("", 0, timeout_secs_);
}

void GroupRun::recover(const std::exception_ptr& error) {
  if (is_saving_) end_saves();
  if (std::exchange(recovery_is_agreed_, false)) return;
  const Report own = {.point = Point::kRecovery, .proposal = {"", crochet::describe(error)}};
  check_points(meet(own), own);
}

void GroupRun::end_data(int64_t step) {
  const Report own = {
      .point = Point::kEndOfData, .step = step, .proposal = {"", "", pending_signal()}};
  const std::vector<Report> reports = meet(own);
  check_points(reports, own);
  ending_signal_ = signal_of(reports);
}

int GroupRun::signal_of(const std::vector<Report>& reports) {
  int signal = 0;
  for (const Report& each : reports) signal = std::max(signal, each.proposal.signal);
  if (signal != 0 && pending_signal() == 0) set_pending_signal(signal);
  return signal;
}

int GroupRun::finish(int64_t step, const std::string& reason) {
  if (ending_signal_) return *ending_signal_;
  const Report own = {
      .point = Point::kEnd, .step = step, .proposal = {"", reason, pending_signal()}};
  const std::vector<Report> reports = meet(own);
  check_points(reports, own);
  return signal_of(reports);
}

void GroupRun::finished() { group_->barrier(timeout_secs_); }

void GroupRun::fail(const std::exception_ptr& error) noexcept {
  try_or_log([] { return "leaving the group"; }, [&] { group_->leave(crochet::describe(error)); });
}

}  // namespace crochet::inline v0::internal
