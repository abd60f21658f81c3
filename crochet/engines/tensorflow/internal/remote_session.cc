// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/remote_session.h"

#include <future>

#include <fmt/ranges.h>

#include "crochet/base/clock.h"
#include "crochet/base/error.h"
#include "crochet/base/internal/thread.h"
#include "crochet/base/log.h"
#include "crochet/engines/tensorflow/cluster_spec.h"
#include "crochet/engines/tensorflow/internal/absent_members.h"
#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/engines/tensorflow/internal/session_options.h"
#include "crochet/engines/tensorflow/internal/status.h"
#include "crochet/engines/tensorflow/server.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

constexpr std::string_view kScheme = "grpc://";

}  // namespace

RemoteTarget remote_target(const std::string& target, const SessionConfig& config) {
  if (!target.starts_with(kScheme))
    throw UnimplementedError(fmt::format(
        "session at \"{}\": expected \"\", this process, or \"grpc://<host>:<port>\"", target));
  if (port_of_address(target.substr(kScheme.size())) == 0)
    throw InvalidArgumentError(
        fmt::format("session at \"{}\": port 0 is not a valid port", target));
  RemoteTarget remote = {.target = target_by_network(target),
                         .config = config.serialized,
                         .limit = operation_timeout_of(config.serialized)};
  if (remote.limit.count() > 0) return remote;
  remote.limit = kDefaultOperationTimeout;
  remote.config = with_operation_timeout(remote.config, remote.limit);
  return remote;
}

void probe(const RemoteTarget& remote) {
  const SessionOptionsPtr options = session_options(remote.target, remote.config);
  const GraphPtr graph(TF_NewGraph());
  Status status;
  const TF_Operation* const nothing =
      TF_FinishOperation(TF_NewOperation(graph.get(), "NoOp", "crochet/probe"), status.get());
  TF_Session* const session = TF_NewSession(graph.get(), options.get(), status.get());
  status.check(fmt::format("session at {}", remote.target));
  TF_SessionRun(session, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0, &nothing, 1, nullptr,
                status.get());
  RemoteClosing(session, remote).finish();
  if (TF_GetCode(status.get()) == TF_DEADLINE_EXCEEDED)
    throw DeadlineExceededError(fmt::format(
        "session at {}: no answer within {} s; the server there, or a member of its cluster that "
        "the device filters include, is absent or hangs{}",
        remote.target, to_seconds(remote.limit), describe_absent(remote)));
  status.check(fmt::format("session at {}", remote.target));
}

std::string describe_absent(const RemoteTarget& remote) {
  const std::optional<Member> self = own_member_at(remote.target);
  if (!self) return "";
  const std::vector<std::string> absent = absent_members(self->cluster, remote.config);
  return absent.empty() ? "" : fmt::format("; absent: {}", fmt::join(absent, ", "));
}

struct RemoteClosing::State {
  std::promise<void> may_delete;
  std::promise<void> deleted;
};

RemoteClosing::RemoteClosing(TF_Session* session, const RemoteTarget& remote)
    : state_(std::make_shared<State>()), target_(remote.target), limit_(remote.limit) {
  crochet::internal::Thread("closing the session at " + target_, [session, state = state_] {
    Status status;
    // Errors are ignored: the session may never have been created there.
    TF_CloseSession(session, status.get());
    state->may_delete.get_future().wait();
    TF_DeleteSession(session, status.get());
    state->deleted.set_value();
  }).detach();
}

void RemoteClosing::finish() {
  state_->may_delete.set_value();
  // Closing has the limit, too: this is for members that exceed it.
  if (state_->deleted.get_future().wait_for(2 * limit_) != std::future_status::ready)
    log_warning(fmt::format("the session at {} could not be closed within {} s: it is abandoned",
                            target_, to_seconds(2 * limit_)));
}

}  // namespace crochet::inline v0::tensorflow::internal
