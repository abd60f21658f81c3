// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Saving and restoring with the graph's own operations.
#include <algorithm>
#include <set>
#include <vector>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/internal/checkpoint_directory.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/saver/internal/external_bundle.h"
#include "crochet/checkpoint/saver/internal/publisher.h"
#include "crochet/checkpoint/saver/internal/restore_plan.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/io/file_system.h"
#include "crochet/session/internal/state_operations.h"

namespace crochet::inline v0 {
namespace {

using internal::ExternalBundle;

// With one of these errors the session is lost or closed: the loop must see it, not only the saver.
bool ends_session(const Error& error) {
  return error.code() == Code::kAborted || error.code() == Code::kUnavailable ||
         error.code() == Code::kCancelled;
}

constexpr size_t kNamesInMessages = 8;

std::string names_of(const std::vector<OtherState>& states) {
  std::vector<std::string> names;
  for (const OtherState& state : states) {
    if (names.size() == kNamesInMessages) {
      names.push_back(fmt::format("{} more", states.size() - kNamesInMessages));
      break;
    }
    names.push_back(fmt::format("\"{}\" ({})", state.name, state.kind));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> not_saved(const internal::StateOperations& operations,
                                   const Graph& graph) {
  std::vector<std::string> names;
  for (const Variable& variable : graph.variables())
    if (!operations.saves(variable.name())) names.push_back(variable.name());
  return names;
}

// The part of the graph that operations which save only some variables restore.
internal::VariableSelection selection_of(const internal::StateOperations& operations,
                                         const Graph& graph) {
  const std::vector<std::string> names = not_saved(operations, graph);
  if (names.empty()) return {};
  return {VariableList(),
          [left_out = std::set<std::string, std::less<>>(names.begin(), names.end())](
              std::string_view name) { return !left_out.contains(name); }};
}

// The state that a checkpoint written by the operations, or by crochet if they are null, would
// lack.
std::vector<OtherState> unsaved_state(const Graph& graph,
                                      const internal::StateOperations* operations) {
  std::vector<OtherState> unsaved = graph.other_state();
  if (operations == nullptr) return unsaved;
  std::erase_if(unsaved,
                [&](const OtherState& state) { return operations->saves_state(state.name); });
  for (const Variable& variable : graph.variables())
    if (!operations->saves_state(variable.name())) unsaved.push_back({variable.name(), "variable"});
  return unsaved;
}

// True if the operations save all of the graph, but crochet does not.
bool are_needed(const internal::StateOperations& operations, const Graph& graph) {
  try {
    return !graph.other_state().empty() && operations.knows_names() &&
           unsaved_state(graph, &operations).empty();
  } catch (const Error&) {
    return false;  // They cannot be used. A caller that requests them gets the reason.
  }
}

// True if they restore an iterator or a table, which they can only do once it is initialized.
bool restore_more_than_variables(const internal::StateOperations& operations, const Graph& graph) {
  return operations.knows_names() &&
         std::ranges::any_of(graph.other_state(), [&](const OtherState& state) {
           return operations.saves_state(state.name);
         });
}

std::shared_ptr<ExternalBundle> store_at(internal::StateOperations& operations, Session& session,
                                         FileSystem& files, const std::string& prefix) {
  std::shared_ptr<ExternalBundle> stored;
  try {
    stored = std::make_shared<ExternalBundle>(
        internal::CheckpointDirectory::to_save_in(files, directory_of(prefix)).shared_files(),
        prefix);
    operations.save(session, stored->prefix());
    stored->open();
  } catch (const Error& error) {
    if (ends_session(error)) throw;
    if (!stored) stored = std::make_shared<ExternalBundle>(nullptr, prefix);
    stored->fail(std::current_exception());
  }
  return stored;
}

bool are_unseen(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const internal::UnseenFilesError&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

void Saver::check_complete(const Session& session) const {
  check_complete(session.graph(), operations_for(session).get());
}

void Saver::check_complete(const Graph& graph, const internal::StateOperations* operations) const {
  if (options().var_list) return;
  std::vector<OtherState> unsaved = unsaved_state(graph, operations);
  if (options().filter)
    std::erase_if(unsaved, [&](const OtherState& state) { return !options().filter(state.name); });
  if (unsaved.empty()) return;
  const std::string names = names_of(unsaved);
  if (options().unsaved_state == UnsavedState::kWarn) {
    if (!unsaved_logged_.exchange(true))
      log_warning(fmt::format(
          "checkpoints lack state of the graph, and a resumed run begins without it: {}", names));
    return;
  }
  throw FailedPreconditionError(fmt::format(
      "a checkpoint would lack state of the graph: {}; {}, or allow a resumed run to begin without "
      "it (unsaved_state = UnsavedState::kWarn)",
      names,
      operations == nullptr
          ? "save with the graph's own operations if they include it (SaverOptions::writer = "
            "StateWriter::kGraph)"
          : "export the graph with a saver for all of its state"));
}

std::shared_ptr<internal::StateOperations> Saver::operations_for(
    const Session& session, std::optional<StateWriter> writer) const {
  if (!writer) writer = options().writer;
  if (writer == StateWriter::kCrochet) return nullptr;
  const auto attached = session.graph().attached<internal::StateOperations>();
  if (writer == StateWriter::kGraph) {
    if (attached.empty())
      throw FailedPreconditionError(
          "the graph has no operations that save and restore it, which the options require");
    return attached.back();
  }
  // Options that only crochet supports, and files that no operation can write to.
  const bool is_special = options().var_list || options().filter || options().files ||
                          options().format != CheckpointFormat::kTensorBundle ||
                          options().num_shards != 1;
  if (attached.empty() || is_special) return nullptr;
  const internal::StateOperations& operations = *attached.back();
  if (!operations.preferred_for(session) && !are_needed(operations, session.graph()))
    return nullptr;
  return attached.back();
}

void Saver::log_operations_once(const internal::StateOperations& operations,
                                const Session& session) const {
  if (operations_logged_.exchange(true)) return;
  log_info(fmt::format(
      "checkpoints are written by the graph's own operations{}",
      operations.preferred_for(session)
          ? ": in a cluster there is no moment between two steps of all workers, and each "
            "variable has the value from when it is read"
          : ""));
}

std::shared_ptr<ExternalBundle> Saver::store(internal::StateOperations& operations,
                                             Session& session, const std::string& prefix) const {
  log_operations_once(operations, session);
  auto stored = store_at(operations, session, files(), prefix);
  if (!stored->failed() || fallback_dir().empty() || are_unseen(stored->error())) return stored;
  const internal::Publisher& publisher = **publisher_;
  auto second = store_at(operations, session, files(),
                         publisher.fall_back(prefix, stored->error(), /*num_attempts=*/1));
  if (!second->failed()) return second;
  publisher.log_failed_fallback(prefix, second->error());
  return stored;
}

RestoreReport Saver::restore_by(internal::StateOperations& operations, Session& session,
                                const CheckpointReader& reader,
                                const std::function<void()>& initialize) const {
  log_operations_once(operations, session);
  const internal::VariableSelection selection = selection_of(operations, session.graph());
  // They may save more than variables, under unknown names.
  const internal::RestoreRules rules{.options = {.allow_surplus = true}};
  return internal::restore_state(session, reader, selection, rules, &operations,
                                 restore_more_than_variables(operations, session.graph())
                                     ? initialize
                                     : std::function<void()>());
}

}  // namespace crochet::inline v0
