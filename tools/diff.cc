// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet diff: the differences between two checkpoints.
#include <set>

#include "crochet/checkpoint/directory/chosen_checkpoint.h"
#include "crochet/tensor/fmt.h"
#include "tools/command.h"
#include "tools/comparison.h"
#include "tools/inspection.h"
#include "tools/name_filter.h"
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

// The kinds of difference in the JSON output.
constexpr const char* kOnlyInA = "only_in_a";
constexpr const char* kOnlyInB = "only_in_b";
constexpr const char* kTypeOrShape = "type_or_shape";
constexpr const char* kValues = "values";

// One tensor that differs.
struct Finding {
  std::string kind = {};
  std::string name = {};
  TensorInfo a = {};
  TensorInfo b = {};
  Comparison values = {};
};

class Comparer {
 public:
  Comparer(const Context& context, const DiffOptions& options)
      : context_(context), options_(options), a_(open(options.a)), b_(open(options.b)) {}

  const CheckpointReader& a() const { return a_; }
  const CheckpointReader& b() const { return b_; }
  // True if some tensor could not be read and compared.
  bool had_trouble() const { return had_trouble_; }

  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const CheckpointReader* const reader : {&a_, &b_}) {
      for (const auto& [name, info] : reader->tensors())
        if (options_.filter.takes(name)) names.insert(name);
      for (const auto& [name, value] : reader->unreadable())
        if (options_.filter.takes(name)) names.insert(name);
    }
    return names;
  }

  std::optional<Finding> look_at(const std::string& name) {
    const auto in_a = a_.tensors().find(name), in_b = b_.tensors().find(name);
    if (!can_be_compared(name)) return std::nullopt;
    Finding finding;
    finding.name = name;
    finding.kind = in_b == b_.tensors().end()   ? kOnlyInA
                   : in_a == a_.tensors().end() ? kOnlyInB
                                                : kTypeOrShape;
    if (in_a != a_.tensors().end()) finding.a = in_a->second;
    if (in_b != b_.tensors().end()) finding.b = in_b->second;
    if (finding.kind != kTypeOrShape) return finding;
    if (finding.a.dtype != finding.b.dtype || finding.a.shape != finding.b.shape) return finding;
    const auto left = read(a_, name), right = read(b_, name);
    if (!left || !right) return std::nullopt;
    finding.kind = kValues;
    finding.values = compare(*left, *right, options_.tolerance);
    if (finding.values.num_different == 0) return std::nullopt;
    return finding;
  }

 private:
  CheckpointReader open(const std::string& path) const {
    return CheckpointReader(internal::chosen_checkpoint(context_.files(), path), context_.files());
  }
  // False, with a complaint, for a value that one of them has but cannot be read.
  bool can_be_compared(const std::string& name) {
    for (const CheckpointReader* const reader : {&a_, &b_})
      if (const auto found = reader->unreadable().find(name); found != reader->unreadable().end()) {
        had_trouble_ = true;
        context_.complain(fmt::format("{}: \"{}\" {}", reader->prefix(), name, found->second.why));
        return false;
      }
    return true;
  }
  std::optional<Tensor> read(const CheckpointReader& reader, const std::string& name) {
    ReadResult result = read_if_sound(reader, name);
    if (!result.tensor) {
      had_trouble_ = true;
      context_.complain(result.problem);
    }
    return std::move(result.tensor);
  }

  const Context& context_;  // Not owned; outlive this.
  const DiffOptions& options_;
  const CheckpointReader a_;
  const CheckpointReader b_;
  bool had_trouble_ = false;
};

std::string info_text(const TensorInfo& info) {
  return fmt::format("{} {}", info.dtype, info.shape);
}

std::string values_text(const Finding& finding) {
  const Comparison& values = finding.values;
  std::string text =
      fmt::format("{} of {} elements differ", values.num_different, finding.a.shape.num_elements());
  if (finding.a.dtype != DType::kString)
    text += fmt::format(", by at most {:.6g} (relative {:.6g})", values.max_absolute,
                        values.max_relative);
  return text + fmt::format(", first at {}: {} and {}",
                            position_text(values.first, finding.a.shape),
                            exact_text(values.first_a), exact_text(values.first_b));
}

std::string as_text(const Finding& finding) {
  const std::string name = printable(finding.name);
  if (finding.kind == kOnlyInA) return fmt::format("< {}: {}\n", name, info_text(finding.a));
  if (finding.kind == kOnlyInB) return fmt::format("> {}: {}\n", name, info_text(finding.b));
  if (finding.kind == kTypeOrShape)
    return fmt::format("! {}: {} and {}\n", name, info_text(finding.a), info_text(finding.b));
  return fmt::format("! {}: {}\n", name, values_text(finding));
}

Json as_json(const Finding& finding) {
  const auto info = [](const TensorInfo& of) -> Json {
    if (of.dtype == DType::kInvalid) return nullptr;
    return {{"type", dtype_name(of.dtype)}, {"shape", of.shape.dimensions()}};
  };
  Json json = {{"name", json_text(finding.name)},
               {"kind", finding.kind},
               {"a", info(finding.a)},
               {"b", info(finding.b)}};
  if (finding.kind != kValues) return json;
  const Comparison& values = finding.values;
  json["num_different"] = values.num_different;
  if (finding.a.dtype != DType::kString) {
    json["max_absolute"] = to_json(values.max_absolute);
    json["max_relative"] = to_json(values.max_relative);
  }
  json["first"] = {
      {"element", values.first}, {"a", to_json(values.first_a)}, {"b", to_json(values.first_b)}};
  return json;
}

int diff(const Context& context, const DiffOptions& options) {
  Comparer comparer(context, options);
  const std::set<std::string> names = comparer.names();
  if (names.empty() && !(options.filter.only.empty() && options.filter.ignore.empty()))
    throw NotFoundError(fmt::format("{}: no such tensor in this checkpoint nor in {}",
                                    comparer.a().prefix(), comparer.b().prefix()));
  uint64_t num_different = 0;
  Json differences = Json::array();
  for (const std::string& name : names) {
    const auto finding = comparer.look_at(name);
    if (!finding) continue;
    ++num_different;
    if (context.json())
      differences.push_back(as_json(*finding));
    else if (!options.quiet)
      context.print(as_text(*finding));
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
