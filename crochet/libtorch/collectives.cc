// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/collectives.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <deque>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/version.h>

#include "crochet/group/message_bytes.h"
#include "crochet/libtorch/c10d_store.h"
#include "crochet/libtorch/error_message.h"

namespace crochet::inline v0::libtorch {
namespace {

using internal::MessageReader;
using internal::MessageWriter;
using std::chrono::milliseconds;

// How long a rank that has lost the others waits for their reports. All notice it within 0.1 s.
constexpr milliseconds kReportLimit(1000);

milliseconds limit_of(double secs) {
  return std::max(std::chrono::duration_cast<milliseconds>(from_seconds(secs)), milliseconds(1));
}

std::string default_host() {
  if (const char* const host = std::getenv("MASTER_ADDR"); host != nullptr && *host != '\0')
    return host;
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// As torch.distributed chooses it, but for groups on one machine, whose name may mean no interface.
std::shared_ptr<gloo::transport::Device> make_device(const std::string& host) {
  const char* const interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr && *interface != '\0')
    return c10d::ProcessGroupGloo::createDeviceForInterface(interface);
  if (is_loopback(host)) return c10d::ProcessGroupGloo::createDeviceForHostname(host);
  return c10d::ProcessGroupGloo::createDefaultDevice();
}

}  // namespace

struct Collectives::Connection {
  // The last members are destroyed first.
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
  c10::DeviceType device = c10::DeviceType::CPU;  // That of the backend.
  c10::intrusive_ptr<C10dBackend> backend;        // Null without one.
  std::deque<c10::intrusive_ptr<c10d::Work>> works;
};

Collectives::Collectives(Group& group, const std::string& host, double timeout_secs,
                         const TensorBackend& backend)
    : rank_(group.rank()),
      size_(group.size()),
      timeout_secs_(timeout_secs),
      connection_(std::make_unique<Connection>()) {
  connect(group, host, backend);
}

Collectives::~Collectives() = default;

// The group may be of any kind, so rank 0 serves a store of its own. As it is new, it has no
// addresses of processes that are gone.
void Collectives::connect(Group& group, const std::string& host, const TensorBackend& backend) {
  TcpStoreOptions options{
      .host = host.empty() ? default_host() : host,
      .is_server = true,
      .timeout_secs = timeout_secs_,
      .who = fmt::format("libtorch::DataParallel: rank {} of {}", rank_, size_)};
  if (rank_ == 0) {
    try {
      connection_->store = open_tcp_store(options);
      options.port = port_of(*connection_->store);
    } catch (const std::exception& error) {
      group.leave(error.what());
      throw;
    }
  }
  const std::string address = group.broadcast(
      rank_ == 0 ? MessageWriter().number(options.port).text(options.host).take() : "");
  if (rank_ != 0) {
    MessageReader reader(address);
    options.port = static_cast<uint16_t>(reader.number());
    options.host = reader.text();
    options.is_server = false;
    connection_->store = open_tcp_store(options);
  }
  guarded("cannot connect to the other ranks", [&] {
    auto gloo = c10d::ProcessGroupGloo::Options::create(limit_of(timeout_secs_));
    gloo->devices.push_back(make_device(options.host));
    connection_->gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>("gloo", connection_->store), rank_, size_, gloo);
  });
  if (!backend.make) return;
  guarded("cannot make the backend of the program", [&] {
    connection_->device = backend.device;
    connection_->backend =
        backend.make(c10::make_intrusive<c10d::PrefixStore>("backend", connection_->store), rank_,
                     size_, limit_of(timeout_secs_));
    if (!connection_->backend) throw InvalidArgumentError("TensorBackend::make returned none");
  });
}

C10dBackend& Collectives::backend_of(const at::Tensor& tensor) const {
  if (connection_->backend && tensor.device().type() == connection_->device)
    return *connection_->backend;
  return *connection_->gloo;
}

void Collectives::start_sum(const at::Tensor& values) {
  guarded("a sum", [&] {
    std::vector<at::Tensor> tensors = {values};
    connection_->works.push_back(backend_of(values).allreduce(tensors));
  });
}

void Collectives::start_broadcast(const at::Tensor& values) {
  guarded("a broadcast", [&] {
    std::vector<at::Tensor> tensors = {values};
    connection_->works.push_back(backend_of(values).broadcast(tensors));
  });
}

void Collectives::finish() {
  guarded("an exchange with the other ranks failed", [&] {
    for (; !connection_->works.empty(); connection_->works.pop_front())
      connection_->works.front()->wait();
  });
}

template <typename Operation>
void Collectives::guarded(const char* action, const Operation& operation) {
  if (error_) std::rethrow_exception(error_);
  try {
    operation();
  } catch (const std::exception& error) {
    fail(action, error);
  }
}

void Collectives::fail(const std::string& action, const std::exception& error) {
  const std::string reason = first_line(error);
  // The other ranks notice the end of these connections, and fail at once.
  connection_->works.clear();
  connection_->backend.reset();
  connection_->gloo.reset();
  const std::string message = fmt::format("libtorch::DataParallel: rank {} of {}: {}: {}{}", rank_,
                                          size_, action, reason, silent_ranks());
  const bool is_timeout =
      reason.find("imed out") != std::string::npos || reason.find("imeout") != std::string::npos;
  error_ = is_timeout ? std::make_exception_ptr(DeadlineExceededError(message))
                      : std::make_exception_ptr(UnavailableError(message));
  std::rethrow_exception(error_);
}

// Each rank that fails says so in the store: ranks that do not are gone, or hang.
std::string Collectives::silent_ranks() noexcept {
  std::vector<int> silent;
  const auto key = [](int rank) { return fmt::format("failed/{}", rank); };
  try {
    Clock& clock = Clock::real();
    const Clock::TimePoint deadline = clock.now() + kReportLimit;
    C10dStore store(connection_->store, "reports");
    for (int rank = 0; rank < size_; ++rank)
      if (rank != rank_) silent.push_back(rank);
    store.set(key(rank_), "");
    while (!silent.empty() && clock.now() < deadline) {
      std::erase_if(silent,
                    [&](int rank) { return store.get(key(rank), Clock::Duration::zero()); });
      clock.sleep_for(milliseconds(10));
    }
    // Rank 0 serves the store: others still ask.
    if (rank_ == 0) clock.sleep_for(std::max(deadline - clock.now(), Clock::Duration::zero()));
  } catch (const std::exception&) {
    // The store is gone with rank 0.
    if (std::find(silent.begin(), silent.end(), 0) != silent.end()) silent = {0};
  }
  if (silent.empty()) return "";
  return fmt::format("; no response from rank{} {}", silent.size() > 1 ? "s" : "",
                     fmt::join(silent, ", "));
}

}  // namespace crochet::inline v0::libtorch
