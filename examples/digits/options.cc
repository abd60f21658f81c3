// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <charconv>
#include <limits>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "digits_data.h"

namespace digits {
namespace {

constexpr int64_t kDefaultSaveSteps = 500;
constexpr uint64_t kMaxSteps = 1'000'000'000'000;

// CLI11's own ranges accept "nan", and its unsigned numbers accept "-1".
CLI::Validator positive_number(double max) {
  return {[max](const std::string& text) -> std::string {
            double number = 0;
            if (CLI::detail::lexical_cast(text, number) && number > 0 && number <= max) return {};
            return fmt::format("\"{}\" is not a number above 0 and at most {}", text, max);
          },
          ""};
}

CLI::Validator whole_number(uint64_t min, uint64_t max) {
  return {[min, max](const std::string& text) -> std::string {
            uint64_t number = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, number);
            if (error == std::errc() && stop == end && number >= min && number <= max) return {};
            return fmt::format("\"{}\" is not a whole number from {} to {}", text, min, max);
          },
          ""};
}

void add_options(CLI::App& app, Options& options) {
  app.get_formatter()->column_width(28);
  app.add_option("--steps", options.steps, "Stop at this step, counted over all runs")
      ->check(whole_number(1, kMaxSteps))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--dir", options.dir,
                 "Checkpoints and curves of the run; an existing one is resumed")
      ->type_name("DIR")
      ->capture_default_str();
  auto* const save_steps =
      app.add_option(
             "--save-steps", options.save_steps,
             fmt::format("Save every N steps; {} unless --save-secs is given", kDefaultSaveSteps))
          ->check(whole_number(1, kMaxSteps))
          ->type_name("N");
  app.add_option("--save-secs", options.save_secs, "Save every S seconds instead")
      ->check(positive_number(1e6))
      ->type_name("S")
      ->excludes(save_steps);
  app.add_option("--hidden", options.hidden, "Hidden units")
      ->check(whole_number(1, 16384))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--batch", options.batch, "Samples per step")
      ->check(whole_number(1, 65536))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--learning-rate", options.learning_rate, "Adam's step size")
      ->check(positive_number(1))
      ->type_name("X")
      ->default_str("0.003");
  app.add_option("--seed", options.seed, "For the initial weights and the order of the samples")
      ->check(whole_number(0, std::numeric_limits<uint64_t>::max()))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--data", options.data, "The images; by default those that come with this example")
      ->type_name("FILE");
}

}  // namespace

std::optional<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  CLI::App app("Learns to read hand-written digits; run it again to resume where it was.",
               "digits");
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{} (see digits --help)", error.what()));
  }
  if (!options.save_steps && !options.save_secs) options.save_steps = kDefaultSaveSteps;
  if (options.data.empty()) options.data = default_digits_file();
  return options;
}

}  // namespace digits
