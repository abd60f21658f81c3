// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet du: what the runs of a folder need of the disk.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/internal/own_files.h"
#include "crochet/io/internal/file_place.h"
#include "tools/command.h"
#include "tools/run_model.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kDuHelp = {
    .name = "du",
    .description =
        "Show what the runs below a directory need of the disk: checkpoints, files that were set\n"
        "aside, curves and journals, and what the programs write",
    .examples =
        "  crochet du runs\n"
        "  crochet du --json runs | jq '.runs | max_by(.bytes)'",
};

struct DuOptions {
  std::string directory = ".";
};

struct Usage {
  std::string directory;
  uint64_t checkpoints = 0;
  uint64_t set_aside = 0;
  uint64_t records = 0;  // Curves, journals, locks.
  uint64_t outputs = 0;  // All other files in the directory itself.

  uint64_t total() const { return checkpoints + set_aside + records + outputs; }
};

// A file that several checkpoints have, each under a name of its own, counts once: such names have
// the same size and time.
Usage usage_of(FileSystem& files, const std::string& directory) {
  Usage usage{.directory = directory};
  std::map<std::pair<uint64_t, double>, int> seen;
  for (const std::string& name : files.list(directory)) {
    const std::string path = join_path(directory, name);
    try {
      if (is_directory(files, path)) continue;
      const uint64_t size = files.file_size(path);
      switch (internal::own_file(name)) {
        case internal::OwnFile::kCheckpoint:
          if (name.find(".data-") != std::string::npos &&
              seen[{size, files.modified_time(path)}]++ > 0)
            break;
          usage.checkpoints += size;
          break;
        case internal::OwnFile::kSetAside:
          usage.set_aside += size;
          break;
        case internal::OwnFile::kNone:
          (name.starts_with("events.out.tfevents.") ? usage.records : usage.outputs) += size;
          break;
        default:
          usage.records += size;
      }
    } catch (const Error&) {  // Removed meanwhile, or not a plain file.
    }
  }
  return usage;
}

std::string as_text(const std::vector<Usage>& usages, const std::string& directory) {
  using enum Table::Align;
  Table table({{"RUN"},
               {"CHECKPOINTS", kRight},
               {"SET ASIDE", kRight},
               {"RECORDS", kRight},
               {"OTHER FILES", kRight},
               {"ALL", kRight}});
  Usage sum{.directory = "all"};
  const auto add = [&](const std::string& name, const Usage& usage) {
    table.add({name, size_text(usage.checkpoints), size_text(usage.set_aside),
               size_text(usage.records), size_text(usage.outputs), size_text(usage.total())});
  };
  for (const Usage& usage : usages) {
    const std::string name = internal::name_within(directory, usage.directory);
    add(name.empty() ? "." : printable(name), usage);
    sum.checkpoints += usage.checkpoints;
    sum.set_aside += usage.set_aside;
    sum.records += usage.records;
    sum.outputs += usage.outputs;
  }
  if (usages.size() > 1) add("(all)", sum);
  return table.text();
}

int du(const Context& context, const DuOptions& options) {
  std::vector<Usage> usages;
  for (const std::string& each : find_runs(context.files(), options.directory))
    usages.push_back(usage_of(context.files(), each));
  if (usages.empty()) {
    context.complain(options.directory + ": no run at or below this directory");
    return kNegative;
  }
  if (!context.json()) {
    context.print(as_text(usages, options.directory));
    return kSuccess;
  }
  Json list = Json::array();
  for (const Usage& usage : usages)
    list.push_back(Json{{"directory", json_text(usage.directory)},
                        {"checkpoints", usage.checkpoints},
                        {"set_aside", usage.set_aside},
                        {"records", usage.records},
                        {"other_files", usage.outputs},
                        {"bytes", usage.total()}});
  context.print_json(Json{{"runs", std::move(list)}});
  return kSuccess;
}

}  // namespace

void add_du(CommandLine& line) {
  const auto [command, options] = add_command(line, kDuHelp, du);
  command
      .add_option("directory", options.directory, "The folder of runs; by default the current one")
      ->type_name("DIR");
}

}  // namespace crochet::tool
