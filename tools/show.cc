// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet show: the tensors of a checkpoint.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "tools/command.h"
#include "tools/inspection.h"
#include "tools/name_filter.h"
#include "tools/outputs.h"
#include "tools/statistics.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kShowHelp = {
    .name = "show",
    .description = "Show the tensors of a checkpoint: type, shape, smallest, largest and mean",
    .examples =
        "  crochet show runs/digits                     # the newest\n"
        "  crochet show runs/digits/model.ckpt-2000.index --only 'adam/*'\n"
        "  crochet show --no-stats --json runs/digits | jq -r '.tensors[].name'\n"
        "  crochet show --values 3 runs/digits",
};

struct ShowOptions {
  std::string path = {};
  NameFilter filter = {};
  bool no_stats = false;
  uint64_t num_values = 0;
};

struct Row {
  std::string name;
  // Unset for a value that is not a tensor.
  std::optional<TensorInfo> info = {};
  // The next fields need the elements, and are empty if those are not requested, or damaged.
  std::optional<Statistics> statistics = {};
  std::vector<Number> values = {};
  std::string problem = {};
  bool is_damaged = false;
  bool is_missing = false;
};

// A value that cannot be read, whatever is wanted of it.
Row look_at(const CheckpointReader& reader, const std::string& name, const UnreadableValue& value) {
  Row row{.name = name, .problem = value.why, .is_damaged = value.code == Code::kDataLoss};
  row.is_missing = value.code == Code::kNotFound;
  if (const auto tensor = reader.tensors().find(name); tensor != reader.tensors().end())
    row.info = tensor->second;
  return row;
}

Row look_at(const CheckpointReader& reader, const std::string& name, const TensorInfo& info,
            const ShowOptions& options) {
  Row row{.name = name, .info = info};
  if (options.no_stats && options.num_values == 0) return row;
  const ReadResult result = read_if_sound(reader, name);
  row.problem = result.problem;
  row.is_damaged = result.is_damaged;
  if (!result.tensor) return row;
  if (!options.no_stats) row.statistics = statistics_of(*result.tensor);
  row.values = first_values(*result.tensor, options.num_values);
  return row;
}

std::string values_text(const Row& row) {
  std::string text;
  for (const Number& value : row.values) text += (text.empty() ? "" : " ") + exact_text(value);
  const auto num_values = static_cast<int64_t>(row.values.size());
  return num_values < row.info->shape.num_elements() ? text + " ..." : text;
}

// The number of elements that are not finite: "2 nan", "1 nan, 3 inf".
std::string not_finite_text(const Statistics& statistics) {
  std::string text;
  if (statistics.num_nan > 0) text += fmt::format("{} nan", statistics.num_nan);
  if (statistics.num_infinite > 0)
    text += fmt::format("{}{} inf", text.empty() ? "" : ", ", statistics.num_infinite);
  return text;
}

std::vector<std::string> cells(const Row& row, const ShowOptions& options) {
  std::vector<std::string> cells = {"-", "-"};
  if (row.info) cells = {dtype_name(row.info->dtype), to_string(row.info->shape)};
  const Statistics statistics = row.statistics.value_or(Statistics());
  if (!options.no_stats)
    for (const Number& number : {statistics.min, statistics.max, statistics.mean})
      cells.push_back(short_text(number));
  const std::string remark = row.is_damaged         ? "damaged"
                             : row.is_missing       ? "missing"
                             : !row.problem.empty() ? "cannot be read"
                                                    : not_finite_text(statistics);
  cells.push_back(printable(row.name) + (remark.empty() ? "" : " (" + remark + ")"));
  return cells;
}

std::string as_text(const std::vector<Row>& rows, const ShowOptions& options) {
  using enum Table::Align;
  std::vector<Table::Column> columns = {{"type"}, {"shape"}};
  if (!options.no_stats)
    columns.insert(columns.end(), {{"min", kRight}, {"max", kRight}, {"mean", kRight}});
  columns.push_back({"name"});
  Table table(columns);
  for (const Row& row : rows) {
    table.add(cells(row, options));
    if (!row.values.empty()) table.add_note(values_text(row));
    if (!row.problem.empty() && !row.is_damaged && !row.is_missing)
      table.add_note(printable_text(row.problem));
  }
  return table.text();
}

Json as_json(const Row& row, const ShowOptions& options) {
  Json json = {{"name", json_text(row.name)},
               {"type", row.info ? Json(dtype_name(row.info->dtype)) : Json()},
               {"shape", row.info ? Json(row.info->shape.dimensions()) : Json()},
               {"num_slices", row.info ? row.info->num_slices : 0}};
  if (row.statistics) {
    json["min"] = to_json(row.statistics->min);
    json["max"] = to_json(row.statistics->max);
    json["mean"] = to_json(row.statistics->mean);
    json["num_nan"] = row.statistics->num_nan;
    json["num_infinite"] = row.statistics->num_infinite;
  }
  if (options.num_values > 0) {
    json["values"] = Json::array();
    for (const Number& value : row.values) json["values"].push_back(to_json(value));
  }
  json["problem"] = row.problem.empty() ? Json() : Json(json_text(row.problem));
  return json;
}

// The metadata of a safetensors file.
Json metadata_json(const CheckpointReader& reader) {
  Json metadata = Json::object();
  for (const auto& [key, value] : reader.metadata()) metadata[json_text(key)] = json_text(value);
  return metadata;
}

// By name: tensors, and other values, which cannot be read.
std::vector<Row> rows_of(const CheckpointReader& reader, const ShowOptions& options) {
  std::vector<Row> rows;
  const UnreadableValues& unreadable = reader.unreadable();
  for (const auto& [name, info] : reader.tensors())
    if (options.filter.takes(name) && !unreadable.contains(name))
      rows.push_back(look_at(reader, name, info, options));
  for (const auto& [name, value] : unreadable)
    if (options.filter.takes(name)) rows.push_back(look_at(reader, name, value));
  std::ranges::sort(rows, {}, &Row::name);
  return rows;
}

std::string complaint(const CheckpointReader& reader, const Row& row) {
  if (!reader.unreadable().contains(row.name)) return row.problem;
  return fmt::format("{}: \"{}\" {}", reader.prefix(), row.name, row.problem);
}

int show(const Context& context, const ShowOptions& options) {
  const CheckpointReader reader(internal::chosen_checkpoint(context.files(), options.path),
                                context.files());
  const std::vector<Row> rows = rows_of(reader, options);
  bool any_damaged = false;
  for (const Row& row : rows) {
    if (!row.is_damaged && !row.is_missing) continue;
    context.complain(complaint(reader, row));
    any_damaged = true;
  }
  if (context.json()) {
    Json tensors = Json::array();
    for (const Row& row : rows) tensors.push_back(as_json(row, options));
    context.print_json(Json{{"checkpoint", json_text(reader.prefix())},
                            {"format", checkpoint_format_name(reader.format())},
                            {"metadata", metadata_json(reader)},
                            {"outputs", outputs_json(recorded_outputs(reader))},
                            {"tensors", std::move(tensors)}});
  } else if (!rows.empty()) {
    context.print(as_text(rows, options));
    for (const std::string& line : output_lines(recorded_outputs(reader)))
      context.print(fmt::format("output {}\n", line));
  }
  const bool found_none =
      rows.empty() && !(reader.tensors().empty() && reader.unreadable().empty());
  if (found_none) context.complain(reader.prefix() + ": no such tensor in this checkpoint");
  return found_none || any_damaged ? kNegative : kSuccess;
}

// CLI11's own check prints its range with 300 digits.
std::string check_count(const std::string& text) {
  uint64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc() && stop == end) return {};
  return fmt::format("\"{}\" is not a whole number of at least 0", text);
}

}  // namespace

void add_show(CommandLine& line) {
  const auto [command, options] = add_command(line, kShowHelp, show);
  command.add_option("checkpoint", options.path, kCheckpointHelp)->type_name("PATH")->required();
  add_filter_options(command, options.filter);
  command.add_flag("--no-stats", options.no_stats, "Types and shapes only; reads no data");
  command.add_option("--values", options.num_values, "Show the first N elements of each, too")
      ->type_name("N")
      ->check(CLI::Validator(check_count, ""));
}

}  // namespace crochet::tool
