// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/ranks/internal/group_agreement.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/listed.h"
#include "crochet/base/internal/log_lazily.h"
#include "crochet/base/pending_signal.h"
#include "crochet/group/internal/message_bytes.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0::internal {
namespace {

constexpr int64_t kNoStep = -1;
// Instead of a step: a rank has something to report.
constexpr int64_t kReports = std::numeric_limits<int64_t>::max();
// What the chief's choice begins with.
constexpr char kChosen = 'c';
constexpr char kRecovers = 'r';

std::string encode(const Fingerprint& fingerprint) {
  MessageWriter writer;
  for (const auto& [what, value] : fingerprint) writer.text(what).text(value);
  return writer.take();
}

std::map<std::string, std::string> decoded_fingerprint(std::string_view bytes) {
  MessageReader reader(bytes);
  std::map<std::string, std::string> fingerprint;
  while (!reader.rest().empty()) {
    std::string what(reader.text());
    fingerprint.emplace(std::move(what), reader.text());
  }
  return fingerprint;
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
struct GroupAgreement::Report {
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

struct GroupAgreement::RankReport {
  int rank;
  Report report;
};

GroupAgreement::GroupAgreement(std::shared_ptr<Group> group, int64_t agree_every_n_steps,
                               double timeout_secs, std::shared_ptr<const RankLayout> layout)
    : RunAgreement(std::move(group)),
      group_(*RunAgreement::group()),
      agree_every_n_steps_(agree_every_n_steps),
      timeout_secs_(timeout_secs),
      layout_(std::move(layout)),
      saves_(*this, layout_) {}

GroupAgreement::~GroupAgreement() = default;

void GroupAgreement::check_same(const std::function<Fingerprint()>& fingerprint) {
  Fingerprint all = fingerprint();
  all.emplace_back("ranks.agree_every_n_steps", fmt::format("{}", agree_every_n_steps_));
  const std::string own = encode(all);
  const auto hash = static_cast<int64_t>(message_hash(own));
  if (group_.all_distinct(MessageWriter().number(hash).take(), timeout_secs_).size() == 1) return;
  const auto distinct = group_.all_distinct(own, timeout_secs_);
  const auto expected = decoded_fingerprint(distinct.front().bytes);
  for (const auto& [rank, bytes] : distinct)
    if (const std::vector<std::string> found = differences(decoded_fingerprint(bytes), expected);
        !found.empty())
      throw InvalidArgumentError(
          fmt::format("rank {} of {} differs from rank 0: {}", rank, group_.size(), listed(found)));
}

std::vector<std::string> GroupAgreement::gather(const std::string& own) {
  return group_.gather(own, timeout_secs_);
}

std::string GroupAgreement::share(const std::string& of_chief) {
  return group_.broadcast(of_chief, 0, timeout_secs_);
}

std::optional<std::string> GroupAgreement::first_of(const std::string& own) {
  for (const auto& [rank, text] : group_.all_distinct(own, timeout_secs_))
    if (!text.empty()) return fmt::format("rank {}: {}", rank, text);
  return std::nullopt;
}

std::string GroupAgreement::choose(const std::function<std::string()>& choose) {
  std::string message;
  std::exception_ptr error;
  if (group_.is_chief()) {
    try {
      message = kChosen + choose();
    } catch (...) {
      error = std::current_exception();
      if (!is_preemption(error)) throw;
      message = kRecovers + crochet::describe(error);
    }
  }
  message = group_.broadcast(message, 0, timeout_secs_);
  recovery_is_agreed_ = message.starts_with(kRecovers);
  is_agreed_ = true;
  if (error) std::rethrow_exception(error);
  if (recovery_is_agreed_)
    throw AbortedError(fmt::format("rank 0 recovers: {}", message.substr(1)));
  return message.substr(1);
}

std::string GroupAgreement::describe(const Report& report) {
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

std::vector<GroupAgreement::RankReport> GroupAgreement::meet(const Report& own) {
  // Others may be in after_step(), where each rank first sends one number.
  if (own.point != Point::kStep) group_.all_range(kReports, timeout_secs_);
  std::vector<RankReport> reports;
  for (const auto& [rank, bytes] : group_.all_distinct(own.encode(), timeout_secs_))
    reports.push_back({rank, Report::decode(bytes)});
  return reports;
}

void GroupAgreement::check_points(const std::vector<RankReport>& reports, const Report& own) {
  const auto is_recovery = [](const RankReport& each) {
    return each.report.point == Point::kRecovery;
  };
  const auto ends = [](const RankReport& each) { return each.report.point == Point::kEnd; };
  const auto recovering = std::ranges::find_if(reports, is_recovery);
  if (recovering != reports.end() && std::ranges::none_of(reports, ends)) {
    if (own.point == Point::kRecovery) return;
    recovery_is_agreed_ = true;
    throw AbortedError(fmt::format("rank {} of {} recovers: {}", recovering->rank, group_.size(),
                                   recovering->report.proposal.reason));
  }
  check_data(reports);
  const Report& first = reports.front().report;
  const auto is_at_another = [&](const RankReport& each) {
    return each.report.point != first.point || each.report.step != first.step;
  };
  const auto other = std::ranges::find_if(reports, is_at_another);
  if (other == reports.end()) return;
  throw FailedPreconditionError(fmt::format(
      "the ranks of the group are not at the same point: rank {} {}, rank 0 {}; no checkpoint is "
      "saved of this",
      other->rank, describe(other->report), describe(first)));
}

void GroupAgreement::check_data(const std::vector<RankReport>& reports) {
  const auto has_ended = [](const RankReport& each) {
    return each.report.point == Point::kEndOfData;
  };
  const auto first = std::ranges::find_if(reports, has_ended);
  if (first == reports.end()) return;
  const auto step = [](const RankReport& each) { return each.report.step; };
  const int64_t last = std::ranges::min(reports, {}, step).report.step;
  if (std::ranges::max(reports, {}, step).report.step == last &&
      std::ranges::all_of(reports, has_ended))
    return;
  ends_at_ = last;
  recovery_is_agreed_ = true;
  throw AbortedError(fmt::format(
      "the data of rank {} ended after step {}, and other ranks have continued: all go back to a "
      "checkpoint, to end together at step {}; without one, each rank needs data for the same "
      "number of steps",
      first->rank, first->report.step, last));
}

void GroupAgreement::agree_on(int64_t step, StopState& stop) {
  agreed_step_ = step;
  is_past_the_end_ = ends_at_ && step >= *ends_at_;
  if (is_past_the_end_) stop.decide({"the program", "the data of a rank ended"});
}

// That of the lowest rank; with the rank unless all have the same one.
std::optional<StopRequest> GroupAgreement::proposal_of(const std::vector<RankReport>& reports) {
  const auto wants = [](const RankReport& each) { return !each.report.proposal.who.empty(); };
  const auto first = std::ranges::find_if(reports, wants);
  if (first == reports.end()) return std::nullopt;
  StopRequest proposal = first->report.proposal;
  const auto is_same = [&](const RankReport& each) {
    return each.report.proposal.who == proposal.who &&
           each.report.proposal.reason == proposal.reason;
  };
  for (const RankReport& each : reports)
    proposal.signal = std::max(proposal.signal, each.report.proposal.signal);
  if (!std::ranges::all_of(reports, is_same))
    proposal.who = fmt::format("rank {}: {}", first->rank, proposal.who);
  return proposal;
}

void GroupAgreement::decide(const std::optional<StopRequest>& proposal, StopState& stop) {
  if (!proposal) return;
  if (proposal->signal != 0 && pending_signal() == 0) set_pending_signal(proposal->signal);
  stop.decide(*proposal);
}

void GroupAgreement::start(std::optional<int64_t> step, std::optional<int64_t> last_step,
                           const std::optional<StopRequest>& proposal, StopState& stop) {
  if (!step) throw FailedPreconditionError("a run in a group needs a graph that counts steps");
  if (proposal) stop.request_stop(*proposal);
  Report own = {.point = Point::kStart, .step = *step, .last_step = last_step.value_or(kNoStep)};
  if (stop.proposal()) own.proposal = *stop.proposal();
  const std::vector<RankReport> reports = meet(own);
  check_points(reports, own);
  last_step_.reset();
  for (const auto& [rank, report] : reports)
    if (report.last_step != kNoStep)
      last_step_ = std::min(report.last_step, last_step_.value_or(report.last_step));
  if (ends_at_) last_step_ = std::min(*ends_at_, last_step_.value_or(*ends_at_));
  agree_on(*step, stop);
  // A later session begins with the repetition of the run that failed.
  if (!std::exchange(has_started_, true)) decide(proposal_of(reports), stop);
}

bool GroupAgreement::is_agreement_due(int64_t step) const {
  return step / agree_every_n_steps_ != agreed_step_ / agree_every_n_steps_ ||
         (last_step_ && step >= *last_step_ && step != agreed_step_);
}

// Of the lowest rank that has one; with its number unless that is the chief.
SaveProposal GroupAgreement::save_of(const std::vector<RankReport>& reports) {
  SaveProposal save;
  for (const auto& [rank, report] : reports) {
    const SaveProposal& each = report.save;
    if (each.request && !save.request)
      save.request = rank == 0 ? *each.request : fmt::format("rank {}: {}", rank, *each.request);
    save.is_rejected = save.is_rejected || each.is_rejected;
  }
  return save;
}

void GroupAgreement::after_step(int64_t step, const std::optional<StopRequest>& proposal,
                                SaveProposal& save, StopState& stop) {
  if (!pending_save_) pending_save_ = std::move(save.request);
  save.request.reset();
  is_agreed_ = is_agreement_due(step);
  if (!is_agreed_) return;
  save.request = std::exchange(pending_save_, std::nullopt);
  // One number in most steps.
  const bool reports_any = proposal || save.request || save.is_rejected;
  const Group::Range steps = group_.all_range(reports_any ? kReports : step, timeout_secs_);
  if (steps.largest != kReports) {
    if (steps.smallest == steps.largest) return agree_on(step, stop);
    throw FailedPreconditionError(
        fmt::format("the ranks of the group are not at the same point: rank {} has completed step "
                    "{}, another one step {}; no checkpoint is saved of this",
                    group_.rank(), step, step == steps.smallest ? steps.largest : steps.smallest));
  }
  const Report own = {.step = step, .proposal = proposal.value_or(StopRequest()), .save = save};
  const std::vector<RankReport> reports = meet(own);
  check_points(reports, own);
  save = save_of(reports);
  decide(proposal_of(reports), stop);
  agree_on(step, stop);
}

bool GroupAgreement::begin_saves(bool saves) {
  const int64_t most = group_.all_range(saves ? 1 : 0, timeout_secs_).largest;
  if (most == kReports) {
    const Report own = {.step = agreed_step_};
    check_points(meet(own), own);
  }
  is_saving_ = saves;
  return most == 1;
}

void GroupAgreement::end_saves() {
  is_saving_ = false;
  group_.broadcast("", 0, timeout_secs_);
}

void GroupAgreement::recover(const std::exception_ptr& error) {
  if (is_saving_) end_saves();
  if (std::exchange(recovery_is_agreed_, false)) return;
  const Report own = {.point = Point::kRecovery, .proposal = {"", crochet::describe(error)}};
  check_points(meet(own), own);
}

void GroupAgreement::end_data(Session& session) {
  const Report own = {.point = Point::kEndOfData,
                      .step = read_global_step(session),
                      .proposal = {"", "", pending_signal()}};
  const std::vector<RankReport> reports = meet(own);
  check_points(reports, own);
  ending_signal_ = signal_of(reports);
  data_has_ended_ = true;
}

int GroupAgreement::signal_of(const std::vector<RankReport>& reports) {
  int signal = 0;
  for (const RankReport& each : reports) signal = std::max(signal, each.report.proposal.signal);
  if (signal != 0 && pending_signal() == 0) set_pending_signal(signal);
  return signal;
}

JointSave* GroupAgreement::joint_save() { return is_chief() && shares_state() ? &saves_ : nullptr; }

void GroupAgreement::meet_saves(Session& session, Saver& saver, int64_t step) {
  if (shares_state()) saves_.meet(session, saver, step);
}

void GroupAgreement::finish_saves() { saves_.finish(); }

void GroupAgreement::finish(const std::function<int64_t()>& step, StopState& stop) {
  const std::optional<StopRequest> reason =
      stop.stop_request() ? stop.stop_request() : stop.proposal();
  if (!data_has_ended_) {
    const Report own = {
        .point = Point::kEnd,
        .step = step(),
        .proposal = {"", reason ? reason->reason : "the program makes no further step",
                     pending_signal()}};
    const std::vector<RankReport> reports = meet(own);
    check_points(reports, own);
    ending_signal_ = signal_of(reports);
  }
  if (reason) stop.decide(*reason);
  is_agreed_ = true;
}

// A rank that does not answer may never write its part of a save; one that fails finishes it.
void GroupAgreement::fail(const std::exception_ptr& error) noexcept {
  constexpr std::array<Code, 2> kLost = {Code::kDeadlineExceeded, Code::kUnavailable};
  if (std::exchange(has_failed_, true)) return;
  try_or_log([] { return "leaving the group"; },
             [&] {
               if (group_.is_lost() && has_code(error, kLost)) lost_->store(true);
               group_.leave(crochet::describe(error));
             });
}

}  // namespace crochet::inline v0::internal
