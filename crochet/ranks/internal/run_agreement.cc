// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/ranks/internal/run_agreement.h"

#include "crochet/base/error.h"
#include "crochet/ranks/internal/group_agreement.h"
#include "crochet/session/internal/rank_layout.h"

namespace crochet::inline v0::internal {
namespace {

// Of a program that runs alone.
class Alone final : public RunAgreement {
 public:
  explicit Alone(std::shared_ptr<Group> group = nullptr) : RunAgreement(std::move(group)) {}

  void check_same(const std::function<Fingerprint()>&) override {}
  std::vector<std::string> gather(const std::string& own) override { return {own}; }
  std::string share(const std::string& of_chief) override { return of_chief; }
  std::optional<std::string> first_of(const std::string& own) override {
    return own.empty() ? std::nullopt : std::optional(own);
  }
  std::string choose(const std::function<std::string()>& choose) override { return choose(); }
  void hold(StopState&) override {}
  void start(std::optional<int64_t>, std::optional<int64_t>, const std::optional<StopRequest>&,
             StopState&) override {}
  void after_step(int64_t, const std::optional<StopRequest>&, SaveProposal&, StopState&) override {}
  void end_data(Session&) override {}
  bool can_recover() const override { return true; }
  void recover(const std::exception_ptr&) override {}
  bool shares_state() const override { return false; }
  JointSave* joint_save() override { return nullptr; }
  void meet_saves(Session&, Saver&, int64_t) override {}
  void finish_saves() override {}
  void finish(const std::function<int64_t()>&, StopState&) override {}
  void finished() override {}
  void fail(const std::exception_ptr&) noexcept override {}
};

}  // namespace

std::shared_ptr<RunAgreement> agreement_alone() { return std::make_shared<Alone>(); }

std::shared_ptr<RunAgreement> make_agreement(std::shared_ptr<Group> group,
                                             int64_t agree_every_n_steps, double timeout_secs,
                                             Graph& graph) {
  if (!group) return agreement_alone();
  const std::shared_ptr<RankLayout> layout = RankLayout::of(graph);
  try {
    layout->set_rank(group->rank(), group->size());
  } catch (const Error& error) {
    group->leave(error.what());
    throw;
  }
  if (group->size() == 1) return std::make_shared<Alone>(std::move(group));
  return std::make_shared<GroupAgreement>(std::move(group), agree_every_n_steps, timeout_secs,
                                          layout);
}

struct AttachedAgreement::Place {
  std::shared_ptr<RunAgreement> agreement;
};

AttachedAgreement::AttachedAgreement(Graph& graph, std::shared_ptr<RunAgreement> agreement) {
  const auto existing = graph.attached<Place>();  // Of an earlier run.
  place_ = existing.empty() ? std::make_shared<Place>() : existing.back();
  place_->agreement = std::move(agreement);
  if (existing.empty()) graph.attach(place_);
}

AttachedAgreement::~AttachedAgreement() { place_->agreement.reset(); }

std::shared_ptr<RunAgreement> agreement_of(const Graph& graph) {
  const auto attached = graph.attached<AttachedAgreement::Place>();
  return attached.empty() || !attached.back()->agreement ? agreement_alone()
                                                         : attached.back()->agreement;
}

}  // namespace crochet::inline v0::internal
