// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet convert: a checkpoint, written anew.
#include <memory>

#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/bundle_writer.h"
#include "tools/checkpoint_argument.h"
#include "tools/command.h"
#include "tools/found_checkpoint.h"
#include "tools/inspection.h"
#include "tools/name_filter.h"
#include "tools/renaming.h"
#include "tools/signal_guard.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kHelp = {
    .name = "convert",
    .description = "Write a checkpoint anew: in the other format, under other names, or some of it",
    .examples =
        "  crochet convert runs/digits digits.safetensors      # the newest\n"
        "  crochet convert digits.safetensors runs/new/model.ckpt-0\n"
        "  crochet convert --only 'model/*' --rename-prefix model/=net/ runs/a small/model\n"
        "  crochet convert --rename w=weights --rename-regex 's/_([0-9]+)$/\\/\\1/' a b",
};

struct Options {
  std::string source = {};
  std::string target = {};
  NameFilter filter = {};
  std::vector<std::string> renamings = {};
  std::vector<std::string> prefixes = {};
  std::vector<std::string> substitutions = {};
  bool force = false;
  bool dry_run = false;
};

Renaming renaming_of(const Options& options) {
  Renaming renaming;
  for (const std::string& text : options.renamings) renaming.whole.push_back(parse_renaming(text));
  for (const std::string& text : options.prefixes)
    renaming.prefixes.push_back(parse_renaming(text));
  for (const std::string& text : options.substitutions) renaming.substitutions.emplace_back(text);
  return renaming;
}

using Names = std::map<std::string, std::string>;

// Old names and new ones of what is to be written.
Names chosen_names(const CheckpointReader& reader, const Options& options) {
  std::vector<std::string> names;
  for (const auto& [name, info] : reader.tensors())
    if (options.filter.takes(name)) names.push_back(name);
  if (names.empty()) throw NotFoundError("{}: no such tensor in this checkpoint", reader.prefix());
  return renaming_of(options).apply(names);
}

// The target's prefix, from the path that was given.
std::string target_prefix(const Options& options) {
  constexpr std::string_view kIndex = ".index";
  std::string_view path = options.target;
  if (path.ends_with(kIndex)) path.remove_suffix(kIndex.size());
  if (path.empty() || path.ends_with('/'))
    throw InvalidArgumentError("{}: expected the name of a checkpoint", options.target);
  return std::string(path);
}

void check_target(FileSystem& files, const std::string& source, const std::string& target,
                  bool force) {
  if (target == source)
    throw InvalidArgumentError("{}: a checkpoint cannot be converted in its place", target);
  const std::string index = index_filename(target);
  if (!force && files.exists(index))
    throw AlreadyExistsError("{}: exists; --force replaces it", index);
}

// Step, time and metrics are those of the source; what else is in a sidecar is the copy's own.
void write_target_sidecar(const Context& context, const CheckpointSidecar& source,
                          const BundleWriter& writer) {
  CheckpointSidecar sidecar = source;
  sidecar.size_bytes = writer.total_bytes();
  sidecar.index_crc32c = writer.index_crc32c();
  sidecar.library_version.clear();
  sidecar.command_line.clear();
  write_sidecar(context.files(), writer.prefix(), std::move(sidecar));
}

uint64_t write_bundle(const Context& context, const CheckpointReader& reader, const Names& names,
                      const std::string& target) {
  const SignalGuard guard;  // A writer that goes removes what it has written.
  BundleWriter writer(context.files(), target);
  for (const auto& [old_name, new_name] : names) {
    throw_if_signalled("converting");
    writer.add(new_name, reader.read(old_name));
  }
  writer.write_and_sync();
  if (const auto sidecar = read_sidecar(context.files(), reader.prefix()))
    write_target_sidecar(context, *sidecar, writer);
  writer.publish();
  return writer.total_bytes();
}

void report(const Context& context, const std::string& source, const std::string& target,
            const Names& names, std::optional<uint64_t> size_bytes) {
  if (context.json()) {
    Json renamed = Json::array();
    for (const auto& [old_name, new_name] : names)
      renamed.push_back({{"from", json_text(old_name)}, {"to", json_text(new_name)}});
    context.print_json(Json{{"source", json_text(source)},
                            {"target", json_text(target)},
                            {"written", size_bytes.has_value()},
                            {"size_bytes", size_bytes ? Json(*size_bytes) : Json()},
                            {"tensors", std::move(renamed)}});
    return;
  }
  for (const auto& [old_name, new_name] : names)
    if (old_name != new_name)
      context.print(fmt::format("{} -> {}\n", printable(old_name), printable(new_name)));
  context.print(fmt::format("{}: {}, {}\n", printable(target), count_text(names.size(), "tensor"),
                            size_bytes ? size_text(*size_bytes) : "not written"));
}

int convert(const Context& context, const Options& options) {
  const CheckpointReader reader(checkpoint_argument(context.files(), options.source),
                                context.files());
  const std::string target = target_prefix(options);
  check_target(context.files(), reader.prefix(), target, options.force);
  const Names names = chosen_names(reader, options);
  std::optional<uint64_t> size_bytes;
  if (!options.dry_run) size_bytes = write_bundle(context, reader, names, target);
  report(context, reader.prefix(), target, names, size_bytes);
  return kSuccess;
}

void add_renaming_options(CLI::App& command, Options& options) {
  const auto add = [&command](const char* name, std::vector<std::string>& texts, const char* what,
                              const char* type) {
    command.add_option(name, texts, what)
        ->type_name(type)
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
  };
  add("--rename", options.renamings, "Rename a tensor; may be given again", "OLD=NEW");
  add("--rename-prefix", options.prefixes, "Rename all whose names begin so", "OLD=NEW");
  add("--rename-regex", options.substitutions, "Rename all others as sed -E does", "s/OLD/NEW/");
}

}  // namespace

void add_convert(CommandLine& line) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = add_command(
      line, kHelp, [options](const Context& context) { return convert(context, *options); });
  command.add_option("source", options->source, kCheckpointHelp)->type_name("PATH")->required();
  command.add_option("target", options->target, "The prefix of the new checkpoint")
      ->type_name("TARGET")
      ->required();
  add_filter_options(command, options->filter);
  add_renaming_options(command, *options);
  command.add_flag("--force,-f", options->force, "Replace a checkpoint that is there");
  command.add_flag("--dry-run,-n", options->dry_run,
                   "Say what would be written, and write nothing");
}

}  // namespace crochet::tool
