// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A market that is simulated: its state is standard containers and nested structs, which grow.
//
//   containers STEPS
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <crochet/crochet.h>

struct Customer {
  std::string name;
  std::optional<double> budget;
  std::vector<int> purchases;

  void track(crochet::Tracker& tracker) {
    tracker("name", name)("budget", budget)("purchases", purchases);
  }
};

struct Market {
  std::map<std::string, std::vector<double>> prices = {{"apples", {}}, {"pears", {}}};
  std::vector<Customer> customers;
  std::set<int64_t> holidays;
  std::deque<std::pair<int64_t, std::string>> news;

  void track(crochet::Tracker& tracker) {
    tracker("prices", prices)("customers", customers)("holidays", holidays)("news", news);
  }
};

int main(int, char** argv) {
  const int64_t last_step = std::atoll(argv[1]);
  Market market;
  std::mt19937_64 generator(7);

  crochet::Loop loop({.checkpoint = {.dir = "runs/market", .every_steps = 100},
                      .hooks = {crochet::StopAtStepHook({.last_step = last_step})}});
  loop.track("market", market);
  loop.track("generator", generator);
  const crochet::RunReport report = loop.run([&](crochet::Step& step) {
    const uint64_t number = generator() % 1000;
    for (auto& [product, prices] : market.prices) prices.push_back(static_cast<double>(number) / 7);
    if (number % 50 == 0) market.prices["product " + std::to_string(number)];
    if (number % 20 == 0)
      market.customers.push_back({"customer " + std::to_string(number), {}, {}});
    if (!market.customers.empty()) {
      Customer& customer = market.customers[number % market.customers.size()];
      customer.purchases.push_back(static_cast<int>(number));
      if (number % 3 == 0) customer.budget = customer.budget.value_or(0) + 0.1;
      if (number % 7 == 0) customer.budget.reset();
    }
    if (number % 10 == 0) market.holidays.insert(step.number());
    market.news.emplace_back(step.number(), "price " + std::to_string(number));
    if (market.news.size() > 5) market.news.pop_front();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // Stands for more work.
  });
  std::fprintf(stderr, "%s\n", to_string(report).c_str());

  for (const auto& [product, prices] : market.prices)
    std::printf("%s: %zu, %.17g\n", product.c_str(), prices.size(),
                prices.empty() ? 0 : prices.back());
  for (const Customer& customer : market.customers)
    std::printf("%s: %.17g, %zu\n", customer.name.c_str(), customer.budget.value_or(-1),
                customer.purchases.size());
  for (const int64_t day : market.holidays) std::printf("%ld ", static_cast<long>(day));
  for (const auto& [day, text] : market.news)
    std::printf("\n%ld %s", static_cast<long>(day), text.c_str());
  std::printf("\n%lu\n", static_cast<unsigned long>(generator()));
}
