// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/collectives.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/version.h>

#include "crochet/group/internal/limited_call.h"
#include "crochet/group/internal/message_bytes.h"
#include "crochet/libtorch/internal/c10d_store.h"
#include "crochet/libtorch/internal/error_message.h"

namespace crochet::inline v0::libtorch::internal {
namespace {

using crochet::internal::MessageReader;
using crochet::internal::MessageWriter;
using std::chrono::milliseconds;

// How long a rank that has lost the others waits for their reports. All notice it within 0.1 s.
constexpr milliseconds kReportLimit(1000);

// wait_for() has the limit.
constexpr std::chrono::hours kGlooLimit(24 * 365);

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

// Gloo writes to sockets whose other end may be gone: by default, the signal would then end this
// rank without a message. Python ignores it, so that PyTorch never meets it. What the program has
// set for the signal stays.
void ignore_broken_pipes() {
  struct sigaction now = {};
  if (::sigaction(SIGPIPE, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
      now.sa_handler == SIG_DFL)
    std::signal(SIGPIPE, SIG_IGN);
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

struct Collectives::Started {
  c10::intrusive_ptr<c10d::Work> work;
  bool is_backends = false;  // Its wait() may return before it is done.
};

struct Collectives::Connection {
  // The last members are destroyed first.
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
  c10::DeviceType device = c10::DeviceType::CPU;  // That of the backend.
  c10::intrusive_ptr<C10dBackend> backend;        // Null without one.
  std::deque<Started> works;

  bool is_backends(const at::Tensor& tensor) const {
    return backend && tensor.device().type() == device;
  }
};

Collectives::Collectives(Group& group, const std::string& host, double timeout_secs,
                         const TensorBackend& backend)
    : group_(group),
      rank_(group.rank()),
      size_(group.size()),
      timeout_secs_(timeout_secs),
      connection_(std::make_unique<Connection>()) {
  connect(group, host, backend);
}

Collectives::~Collectives() { disconnect(); }

// The group may be of any kind, so rank 0 serves a store of its own. As it is new, it has no
// addresses of processes that are gone.
void Collectives::connect(Group& group, const std::string& host, const TensorBackend& backend) {
  ignore_broken_pipes();
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
    auto gloo = c10d::ProcessGroupGloo::Options::create(kGlooLimit);
    gloo->devices.push_back(make_device(options.host));
    // The ranks find each other in the store.
    WaitLimit limit(Clock::real(), timeout_secs_);
    connection_->gloo = crochet::internal::call_within(
        limit, "connecting", [gloo, store = connection_->store, rank = rank_, size = size_] {
          return c10::make_intrusive<c10d::ProcessGroupGloo>(
              c10::make_intrusive<c10d::PrefixStore>("gloo", store), rank, size, gloo);
        });
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
  if (connection_->is_backends(tensor)) return *connection_->backend;
  return *connection_->gloo;
}

void Collectives::start_sum(const at::Tensor& values) {
  guarded("a sum", [&] {
    std::vector<at::Tensor> tensors = {values};
    connection_->works.push_back({.work = backend_of(values).allreduce(tensors),
                                  .is_backends = connection_->is_backends(values)});
  });
}

void Collectives::start_broadcast(const at::Tensor& values) {
  guarded("a broadcast", [&] {
    std::vector<at::Tensor> tensors = {values};
    connection_->works.push_back({.work = backend_of(values).broadcast(tensors),
                                  .is_backends = connection_->is_backends(values)});
  });
}

void Collectives::finish() {
  guarded("an exchange with the other ranks failed", [&] {
    for (; !connection_->works.empty(); connection_->works.pop_front()) {
      const Started& started = connection_->works.front();
      if (started.is_backends)
        started.work->wait();
      else
        wait_for(*started.work);
    }
  });
}

// Gloo would count the time in which the process was suspended, and not know who is lost.
void Collectives::wait_for(c10d::Work& work) {
  WaitLimit limit(Clock::real(), timeout_secs_);
  while (true) {
    try {
      work.wait(limit_of(to_seconds(limit.pause())));
      return;
    } catch (const std::exception&) {
      if (work.isCompleted()) return static_cast<void>(work.wait());
    }
    group_.throw_if_lost();
    if (limit.is_over())
      throw DeadlineExceededError(fmt::format("timed out after {:g} s", timeout_secs_));
  }
}

void Collectives::disconnect() noexcept {
  connection_->works.clear();
  connection_->backend.reset();
  if (!connection_->gloo) return;
  try {
    // Its destructor waits for what has been started, which may never end.
    WaitLimit limit(Clock::real(), to_seconds(kReportLimit));
    crochet::internal::run_within(
        limit, "disconnecting", [gloo = std::move(connection_->gloo)]() mutable { gloo.reset(); });
  } catch (const std::exception&) {
    // It is left to itself.
  }
}

template <typename Operation>
void Collectives::guarded(const char* action, const Operation& operation) {
  if (error_) std::rethrow_exception(error_);
  try {
    operation();
  } catch (const DeadlineExceededError& error) {
    fail(action, error, /*is_timeout=*/true);
  } catch (const std::exception& error) {
    const std::string reason = first_line(error);
    fail(
        action, error,
        reason.find("imed out") != std::string::npos || reason.find("imeout") != std::string::npos);
  }
}

void Collectives::fail(const std::string& action, const std::exception& error, bool is_timeout) {
  const std::string reason = first_line(error);
  // The other ranks notice the end of these connections, and fail at once.
  disconnect();
  const std::string message = fmt::format("libtorch::DataParallel: rank {} of {}: {}: {}{}", rank_,
                                          size_, action, reason, silent_ranks());
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
    C10dStore store(connection_->store, "reports", to_seconds(kReportLimit));
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

}  // namespace crochet::inline v0::libtorch::internal
