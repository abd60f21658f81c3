// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/outputs/internal/outputs_hook.h"

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/json_text.h"
#include "crochet/base/internal/parse_json.h"
#include "crochet/io/internal/untrusted_file.h"
#include "crochet/outputs/internal/run_output.h"
#include "crochet/ranks/internal/run_agreement.h"
#include "crochet/session/internal/after_restore.h"
#include "crochet/session/internal/rank_layout.h"

namespace crochet::inline v0::internal {
namespace {

// Far more than a program can have of outputs.
constexpr uint64_t kMaxListBytes = uint64_t{16} << 20;

struct TrackedOutput {
  std::shared_ptr<RunOutput> output;
};

using OutputList = std::map<std::string, std::string>;  // Paths by name.

OutputList parse_list(std::string_view text, const std::string& path) {
  OutputList list;
  if (text.empty()) return list;
  JsonTree tree;
  parse_json(text, path, tree);
  if (!tree.root.is_object())
    throw DataLossError(fmt::format("{}: found no object, expected one of paths", path));
  for (const auto& [name, value] : tree.root.items()) {
    if (!value.is_string())
      throw DataLossError(fmt::format("{}: found no text for \"{}\", expected a path", path, name));
    list.emplace(name, value.get_ref<const std::string&>());
  }
  return list;
}

std::string text_of(const OutputList& list) {
  JsonText json;
  json.begin_object();
  for (const auto& [name, path] : list) json.member(name, path);
  json.end_object();
  return json.take() + "\n";
}

std::vector<std::shared_ptr<RunOutput>> outputs_of(const Graph& graph) {
  std::vector<std::shared_ptr<RunOutput>> outputs;
  for (const auto& tracked : graph.attached<TrackedOutput>()) outputs.push_back(tracked->output);
  return outputs;
}

class OutputsHook final : public SessionRunHook {
 public:
  OutputsHook(std::vector<std::shared_ptr<RunOutput>> outputs, OutputsHookOptions options,
              std::shared_ptr<const RankLayout> ranks)
      : outputs_(std::move(outputs)), options_(std::move(options)), ranks_(std::move(ranks)) {
    for (const auto& output : outputs_) {
      output->set_run_directory(options_.directory);
      if (!is_here(*output)) output->refuse(kNotTheChief);
    }
  }

  void after_create_session(Session&, Coordinator&) override {
    const OutputList known = known_outputs();
    // All are checked before one is changed, and known before one is made.
    for (const auto& output : outputs_)
      if (is_here(*output)) output->check(is_known(*output, known));
    record(known);
    for (const auto& output : outputs_)
      if (is_here(*output)) output->start();
  }
  std::optional<SessionRunArgs> before_run(SessionRunContext&) override {
    for (const auto& output : outputs_) output->begin_step();
    return {};
  }
  void after_run(SessionRunContext&, const SessionRunValues&) override {
    for (const auto& output : outputs_) output->end_step();
  }
  std::string name() const override { return "Outputs"; }

 private:
  static constexpr const char* kNotTheChief =
      "an output of a group is rank 0's: track it as per_rank(output) to give each rank its own";

  // False for one that another rank has.
  bool is_here(const RunOutput& output) const {
    return options_.agreement->is_chief() || (ranks_ && ranks_->rank_name(output.name()));
  }
  // Under this name, and at this path.
  static bool is_known(const RunOutput& output, const OutputList& known) {
    const auto found = known.find(output.name());
    return found != known.end() && found->second == output.stored_path();
  }
  std::string list_path() const { return join_path(options_.directory, kOutputsFile); }
  // Those that earlier lives of the run have begun.
  OutputList known_outputs() const {
    if (options_.directory.empty()) return {};
    const std::string path = list_path();
    if (!options_.agreement->is_chief()) return parse_list(options_.agreement->share(""), path);
    FileSystem& files = FileSystem::or_posix(options_.files);
    std::string text;
    if (files.exists(path)) text = read_untrusted_file(files, path, kMaxListBytes);
    return parse_list(options_.agreement->share(text), path);
  }
  // Returns once the list has those of this life, too.
  void record(const OutputList& known) const {
    if (options_.directory.empty()) return;
    OutputList added;
    for (const auto& output : outputs_)
      if (is_here(*output) && !is_known(*output, known))
        added[output->name()] = output->stored_path();
    OutputList all = known;
    for (const std::string& text : options_.agreement->gather(added.empty() ? "" : text_of(added)))
      for (const auto& [name, path] : parse_list(text, list_path())) all[name] = path;
    if (options_.agreement->is_chief() && all != known) {
      FileSystem& files = FileSystem::or_posix(options_.files);
      files.create_directories(options_.directory);
      replace_file(files, list_path(), text_of(all));
    }
    options_.agreement->share("");
  }

  std::vector<std::shared_ptr<RunOutput>> outputs_;
  const OutputsHookOptions options_;
  const std::shared_ptr<const RankLayout> ranks_;
};

}  // namespace

void add_output(Graph& graph, std::shared_ptr<RunOutput> output) {
  if (outputs_of(graph).empty())
    graph.attach(
        std::make_shared<AfterRestore>(AfterRestore{[&graph] { start_restored_outputs(graph); }}));
  graph.attach(std::make_shared<TrackedOutput>(TrackedOutput{std::move(output)}));
}

void start_restored_outputs(const Graph& graph) {
  std::vector<std::shared_ptr<RunOutput>> outputs = outputs_of(graph);
  std::erase_if(outputs, [](const auto& output) { return !output->is_to_start(); });
  for (const auto& output : outputs) output->check(/*is_own=*/true);
  for (const auto& output : outputs) output->start();
}

std::shared_ptr<SessionRunHook> make_outputs_hook(const Graph& graph, OutputsHookOptions options) {
  std::vector<std::shared_ptr<RunOutput>> outputs = outputs_of(graph);
  if (outputs.empty()) return nullptr;
  return std::make_shared<OutputsHook>(std::move(outputs), std::move(options),
                                       RankLayout::find(graph));
}

}  // namespace crochet::inline v0::internal
