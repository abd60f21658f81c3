// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet diff: the differences between two checkpoints.
#include <set>

#include "tools/command.h"
#include "tools/name_filter.h"
#include "tools/tensor_difference.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kDiffHelp = {
    .name = "diff",
    .description =
        "Compare two checkpoints, tensor by tensor; prints nothing if they are equal.\n"
        "Exit codes as for diff: 0 equal, 1 different, 2 trouble",
    .examples =
        "  crochet diff runs/a runs/b                   # the newest of each\n"
        "  crochet diff runs/a/model.ckpt-10 runs/a/model.ckpt-20 --only 'model/*'\n"
        "  crochet diff --rtol 1e-5 --ignore global_step runs/a runs/b",
};

struct DiffOptions {
  std::string a = {};
  std::string b = {};
  NameFilter filter = {};
  Tolerance tolerance = {};
  bool quiet = false;
};

int diff(const Context& context, const DiffOptions& options) {
  Comparer comparer(context, options.a, options.b, options.filter, options.tolerance);
  const std::set<std::string> names = comparer.names();
  if (names.empty() && !(options.filter.only.empty() && options.filter.ignore.empty()))
    throw NotFoundError(fmt::format("{}: no such tensor in this checkpoint nor in {}",
                                    comparer.a().prefix(), comparer.b().prefix()));
  uint64_t num_different = 0;
  Json differences = Json::array();
  for (const std::string& name : names) {
    const auto difference = comparer.compare_tensor(name);
    if (!difference) continue;
    ++num_different;
    if (context.json())
      differences.push_back(json_of(*difference));
    else if (!options.quiet)
      context.print(text_of(*difference));
  }
  if (context.json())
    context.print_json(Json{{"a", json_text(comparer.a().prefix())},
                            {"b", json_text(comparer.b().prefix())},
                            {"equal", num_different == 0 && !comparer.had_trouble()},
                            {"num_compared", names.size()},
                            {"differences", std::move(differences)}});
  return comparer.had_trouble() ? kTrouble : num_different > 0 ? kNegative : kSuccess;
}

// CLI11's own checks accept "nan" as a non-negative number.
std::string check_tolerance(const std::string& text) {
  double number = 0;
  if (CLI::detail::lexical_cast(text, number) && number >= 0) return {};
  return fmt::format("\"{}\" is not a number of at least 0", text);
}

}  // namespace

void add_diff(CommandLine& line) {
  const auto [command, options] = add_command(line, kDiffHelp, diff);
  command.add_option("a", options.a, kCheckpointHelp)->type_name("PATH")->required();
  command.add_option("b", options.b, "The other one")->type_name("PATH")->required();
  const CLI::Validator tolerance(check_tolerance, "");
  command.add_option("--atol", options.tolerance.absolute, "Allow numbers to differ by this much")
      ->type_name("X")
      ->check(tolerance);
  command
      .add_option("--rtol", options.tolerance.relative,
                  "and by this part of the larger one; without both, bits must be equal")
      ->type_name("X")
      ->check(tolerance);
  add_filter_options(command, options.filter);
  command.add_flag("--quiet,-q", options.quiet, "Print nothing, only set the exit code");
}

}  // namespace crochet::tool
