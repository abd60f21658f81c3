// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet convert: copies a checkpoint to another format, other names, in part, or with additions.
#include <functional>
#include <map>
#include <memory>
#include <set>

#include <fmt/ranges.h>

#include "crochet/base/internal/command_line.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"
#include "crochet/checkpoint/directory/internal/found_checkpoint.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_writer.h"
#include "crochet/tensor/internal/fmt.h"
#include "tools/command.h"
#include "tools/fill.h"
#include "tools/inspection.h"
#include "tools/name_filter.h"
#include "tools/renaming.h"
#include "tools/signal_guard.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kConvertHelp = {
    .name = "convert",
    .description =
        "Copy a checkpoint: to the other format, under other names, in part, or with additions",
    .examples =
        "  crochet convert runs/digits digits.safetensors      # the newest\n"
        "  crochet convert digits.safetensors runs/new/model.ckpt-0\n"
        "  crochet convert --only 'model/*' --rename-prefix model/=net/ runs/a small/model\n"
        "  crochet convert --rename w=weights --rename-regex 's/_([0-9]+)$/\\/\\1/' a b",
};

struct ConvertOptions {
  std::string source = {};
  std::string target = {};
  std::string format = {};  // Empty: derived from the target's name.
  NameFilter filter = {};
  std::vector<std::string> renamings = {};
  std::vector<std::string> prefixes = {};
  std::vector<std::string> substitutions = {};
  std::vector<std::string> additions = {};
  std::vector<std::string> fills = {};
  bool force = false;
  bool dry_run = false;
};

Renaming renaming_of(const ConvertOptions& options) {
  Renaming renaming;
  for (const std::string& text : options.renamings) renaming.whole.push_back(parse_renaming(text));
  for (const std::string& text : options.prefixes)
    renaming.prefixes.push_back(parse_renaming(text));
  for (const std::string& text : options.substitutions) renaming.substitutions.emplace_back(text);
  return renaming;
}

// A tensor to write.
struct Entry {
  // As in the source; unset for one that is added.
  std::optional<std::string> old_name = {};
  Fill::Type type = {};
  // Why it is not as in the source: "", "added from runs/old/model.ckpt-7", "filled with 0".
  std::string change = {};
  std::function<Tensor()> read = {};
};

// By new name.
using Entries = std::map<std::string, Entry>;

// Opened ones must outlive the entries.
using Readers = std::vector<std::unique_ptr<const CheckpointReader>>;

Entry stored(const CheckpointReader& reader, const std::string& name, const TensorInfo& info) {
  return {.type = {info.dtype, info.shape}, .read = [&reader, name] { return reader.read(name); }};
}

// Nothing is left out of a copy unless the user says so.
void check_all_can_be_read(const CheckpointReader& reader, const NameFilter& filter) {
  constexpr size_t kMaxOptions = 20;
  UnreadableValues wanted = reader.unreadable();
  std::erase_if(wanted, [&](const auto& each) { return !filter.takes(each.first); });
  if (wanted.empty()) return;
  std::vector<std::string> options;
  for (const auto& [name, value] : wanted) options.push_back(ignore_option(name));
  throw_error(
      wanted.begin()->second.code,
      fmt::format("{}: cannot be copied whole: {}; to leave that out, {}", reader.prefix(),
                  fmt::join(unread_lines(wanted), "; "),
                  options.size() > kMaxOptions ? "select what to copy by --only or --ignore"
                                               : fmt::format("add {}", fmt::join(options, " "))));
}

Entries selected(const CheckpointReader& reader, const ConvertOptions& options) {
  std::vector<std::string> names;
  for (const auto& [name, info] : reader.tensors())
    if (options.filter.takes(name)) names.push_back(name);
  check_all_can_be_read(reader, options.filter);
  if (names.empty() && !reader.tensors().empty())
    throw NotFoundError(fmt::format("{}: no such tensor in this checkpoint", reader.prefix()));
  Entries entries;
  for (const auto& [old_name, new_name] : renaming_of(options).apply(names)) {
    Entry& entry = entries[new_name] = stored(reader, old_name, reader.tensors().at(old_name));
    entry.old_name = old_name;
  }
  return entries;
}

// Adds the selected tensors of another checkpoint that are still missing.
void add_missing(Entries& entries, const CheckpointReader& reader, const NameFilter& filter) {
  bool is_used = false;
  for (const auto& [name, info] : reader.tensors()) {
    if (!filter.takes(name) || entries.contains(name)) continue;
    Entry& entry = entries[name] = stored(reader, name, info);
    entry.change = "added from " + reader.prefix();
    is_used = true;
  }
  if (!is_used)
    throw NotFoundError(fmt::format("{}: has nothing that is missing", reader.prefix()));
}

void fill(Entries& entries, const std::string& option) {
  const Fill fill = parse_fill(option);
  Entry& entry = entries[fill.name];
  if (fill.type) {
    entry.type = *fill.type;
  } else if (!entry.read) {
    throw NotFoundError(
        fmt::format("--fill {}: there is no tensor \"{}\": add its type and shape, as in "
                    "\"{}=float32[64,128]:{}\"",
                    option, fill.name, fill.name, fill.value));
  }
  entry.change = fmt::format("filled with {}", fill.value.empty() ? "0" : fill.value);
  entry.read = [type = entry.type, fill] { return filled(type, fill.value); };
  filled({entry.type.dtype, Shape{1}}, fill.value);  // Checks the value before writing begins.
}

// The tensors to write; `readers` keeps what they are read from.
Entries chosen_entries(const Context& context, const CheckpointReader& source,
                       const ConvertOptions& options, Readers& readers) {
  Entries entries = selected(source, options);
  for (const std::string& path : options.additions)
    add_missing(entries,
                *readers.emplace_back(std::make_unique<CheckpointReader>(
                    internal::chosen_checkpoint(context.files(), path), context.files())),
                options.filter);
  for (const std::string& each : options.fills) fill(entries, each);
  return entries;
}

// The checkpoint to write.
struct Target {
  std::string prefix;
  CheckpointFormat format;
};

// The path by which a user may name it.
std::string path_of(const Target& target) {
  return target.format == CheckpointFormat::kSafetensors
             ? internal::safetensors_filename(target.prefix)
             : target.prefix;
}

bool remove_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

Target target_of(const ConvertOptions& options) {
  std::string_view path = options.target;
  auto format = CheckpointFormat::kTensorBundle;
  if (remove_suffix(path, ".safetensors") || options.format == "safetensors")
    format = CheckpointFormat::kSafetensors;
  else
    remove_suffix(path, ".index");
  if (path.ends_with(".pt") || path.ends_with(".pth"))
    throw InvalidArgumentError(
        fmt::format("{}: files of torch can be read, not written: use a name .safetensors, which "
                    "Python reads",
                    options.target));
  if (path.empty() || path.ends_with('/'))
    throw InvalidArgumentError(
        fmt::format("{}: expected the name of a checkpoint", options.target));
  if (format == CheckpointFormat::kSafetensors && options.format == "bundle")
    throw InvalidArgumentError(
        fmt::format("{}: not a valid name for a tensor bundle", options.target));
  return {std::string(path), format};
}

void check_target(FileSystem& files, const CheckpointReader& source, const Target& target,
                  bool force) {
  const std::string own_file = internal::safetensors_filename(target.prefix);
  const bool same_prefix = source.prefix() == target.prefix || source.prefix() == own_file;
  if (same_prefix && source.format() == target.format)
    throw InvalidArgumentError(
        fmt::format("{}: a checkpoint cannot be converted in place", path_of(target)));
  // A file may be added next to a bundle; but a bundle next to a file would be read instead of it.
  if (same_prefix && target.format == CheckpointFormat::kTensorBundle)
    throw InvalidArgumentError(fmt::format(
        "{}: the source has this name, and readers prefer a tensor bundle", target.prefix));
  const auto there = same_prefix ? std::nullopt : internal::format_of(files, target.prefix);
  const std::string path =
      there ? internal::find_index(files, target.prefix).value_or(target.prefix) : own_file;
  if (!force && files.exists(path) && (there || target.format == CheckpointFormat::kSafetensors))
    throw AlreadyExistsError(fmt::format("{}: exists; --force replaces it", path));
}

// A writer to which all tensors have been added.
std::unique_ptr<CheckpointWriter> filled_writer(FileSystem& files, const CheckpointReader& source,
                                                const Entries& entries, const Target& target) {
  const auto read = [](const Entry& entry) {
    throw_if_signalled("converting");
    return entry.read();
  };
  if (target.format == CheckpointFormat::kTensorBundle) {
    auto writer = std::make_unique<internal::BundleWriter>(files, target.prefix);
    for (const auto& [name, entry] : entries) writer->add(name, read(entry));
    return writer;
  }
  auto writer = std::make_unique<internal::SafetensorsWriter>(
      files, target.prefix, internal::SafetensorsWriterOptions{.metadata = source.metadata()});
  // Reads each tensor twice, as the header holds its checksum, rather than keeping it in memory.
  for (const auto& each : entries)
    writer->add_later(each.first, [read, &entry = each.second] { return read(entry); });
  return writer;
}

// Step, time and metrics are copied from the source; the rest of the sidecar describes the copy.
void write_target_sidecar(FileSystem& files, const std::string& prefix,
                          const CheckpointSidecar& source, const CheckpointWriter& writer) {
  CheckpointSidecar sidecar = source;
  sidecar.pinned = sidecar.preserved = false;  // These apply to the source's directory.
  sidecar.size_bytes = writer.total_bytes();
  sidecar.index_crc32c = writer.index_crc32c();
  sidecar.library_version.clear();
  sidecar.command_line = internal::own_command_line();
  write_sidecar(files, prefix, std::move(sidecar));
}

// Returns the total size of all files in bytes.
uint64_t write(FileSystem& files, const CheckpointReader& reader, const Entries& entries,
               const Target& target) {
  const SignalGuard guard;  // The writer's destructor removes the unfinished files.
  const std::unique_ptr<CheckpointWriter> writer = filled_writer(files, reader, entries, target);
  writer->write_and_sync();
  // Next to the source, the sidecar remains the source's.
  const bool is_beside = reader.prefix() == target.prefix;
  const auto source = internal::look_at_checkpoint(files, reader.prefix());
  if (source.sidecar && !is_beside)
    write_target_sidecar(files, target.prefix, *source.sidecar, *writer);
  writer->publish();
  if (!is_beside) internal::remove_replaced(files, target.prefix, target.format, 1);
  return writer->total_bytes();
}

void report(const Context& context, const CheckpointReader& source, const Target& target,
            const Entries& entries, std::optional<uint64_t> size_bytes) {
  if (context.json()) {
    Json tensors = Json::array();
    for (const auto& [name, entry] : entries) {
      tensors.push_back({{"from", entry.old_name ? Json(json_text(*entry.old_name)) : Json()},
                         {"to", json_text(name)}});
      if (!entry.change.empty()) tensors.back()["change"] = json_text(entry.change);
    }
    context.print_json(Json{{"source", json_text(source.prefix())},
                            {"target", json_text(path_of(target))},
                            {"format", checkpoint_format_name(target.format)},
                            {"written", size_bytes.has_value()},
                            {"size_bytes", size_bytes ? Json(*size_bytes) : Json()},
                            {"tensors", std::move(tensors)}});
    return;
  }
  for (const auto& [name, entry] : entries) {
    if (entry.old_name && *entry.old_name != name)
      context.print(fmt::format("{} -> {}\n", printable(*entry.old_name), printable(name)));
    if (!entry.change.empty())
      context.print(fmt::format("{}: {} {}, {}\n", printable(name), entry.type.dtype,
                                entry.type.shape, printable(entry.change)));
  }
  context.print(fmt::format("{}: {}, {}\n", printable(path_of(target)),
                            count_text(entries.size(), "tensor"),
                            size_bytes ? size_text(*size_bytes) : "not written"));
}

int convert(const Context& context, const ConvertOptions& options) {
  const CheckpointReader reader(internal::chosen_checkpoint(context.files(), options.source),
                                context.files());
  const Target target = target_of(options);
  check_target(context.files(), reader, target, options.force);
  Readers readers;
  const Entries entries = chosen_entries(context, reader, options, readers);
  std::optional<uint64_t> size_bytes;
  if (!options.dry_run) size_bytes = write(context.files(), reader, entries, target);
  report(context, reader, target, entries, size_bytes);
  return kSuccess;
}

}  // namespace

void add_convert(CommandLine& line) {
  const auto [command, options] = add_command(line, kConvertHelp, convert);
  command.add_option("source", options.source, kCheckpointHelp)->type_name("PATH")->required();
  command
      .add_option("target", options.target,
                  "The prefix of a tensor bundle, or a file <name>.safetensors")
      ->type_name("TARGET")
      ->required();
  command.add_option("--to", options.format, "The format; by default the target's name decides")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"bundle", "safetensors"}));
  add_filter_options(command, options.filter);
  add_repeated_option(command, "--rename", options.renamings, "OLD=NEW",
                      "Rename a tensor; may be given again");
  add_repeated_option(command, "--rename-prefix", options.prefixes, "OLD=NEW",
                      "Rename tensors that begin with OLD");
  add_repeated_option(command, "--rename-regex", options.substitutions, "s/OLD/NEW/",
                      "Rename all others as sed -E does");
  add_repeated_option(command, "--add", options.additions, "PATH",
                      "Add what the source lacks and this checkpoint has; may be given again");
  add_repeated_option(command, "--fill", options.fills, "NAME=VALUE",
                      "Set all elements of a tensor; NAME=DTYPE[SIZES] or NAME=DTYPE[SIZES]:VALUE "
                      "adds a tensor");
  command.add_flag("--force,-f", options.force, "Replace an existing checkpoint");
  command.add_flag("--dry-run,-n", options.dry_run,
                   "Print what would be written, and write nothing");
}

}  // namespace crochet::tool
