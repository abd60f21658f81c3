// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/group_contract.h"
#include "crochet/testing/store_ranks.h"

namespace crochet {
namespace {

class ContractSingle final : public GroupContractRanks {
 public:
  int size() const override { return 1; }
  void run(const std::function<void(Group&)>& body) override {
    SingleGroup group;
    body(group);
  }
  void meet() override {}
};

template <int kSize>
class ContractStore final : public GroupContractRanks {
 public:
  int size() const override { return kSize; }
  void run(const std::function<void(Group&)>& body) override {
    ranks_.run([&](const std::shared_ptr<Group>& group) { body(*group); });
  }
  void meet() override { ranks_.meet(); }

 private:
  StoreRanks ranks_{kSize};
};

using AllContractRanks =
    testing::Types<ContractSingle, ContractStore<1>, ContractStore<2>, ContractStore<4>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Core, GroupContract, AllContractRanks);

}  // namespace
}  // namespace crochet
