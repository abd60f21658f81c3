// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/inspection.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "crochet/base/internal/dynamic_type.h"
#include "crochet/base/internal/listed.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/bundle/internal/bundle_index.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/format/internal/open_files.h"
#include "crochet/tensor/tensor_slice.h"
#include "tools/text.h"
#include "tools/tool.h"

namespace crochet::tool {
namespace {

// Data files must be at least as long as the entries of the index require.
void check_data_files(FileSystem& files, const std::string& prefix,
                      std::vector<Problem>& problems) {
  const internal::BundleIndex index =
      internal::read_bundle_index(files, internal::index_filename(prefix));
  std::map<int, uint64_t> ends;
  for (const auto& [name, entry] : index.entries)
    if (entry.slices.empty()) {
      uint64_t& end = ends[entry.shard];
      end = std::max(end, static_cast<uint64_t>(entry.offset) + static_cast<uint64_t>(entry.size));
    }
  for (const auto& [shard, end] : ends) {
    const std::string path = internal::data_filename(prefix, shard, index.header.num_shards);
    const uint64_t size = files.exists(path) ? files.file_size(path) : 0;
    if (!files.exists(path))
      problems.push_back(
          {Verdict::kIncomplete, fmt::format("{}: there is no such file, {} needs it", path,
                                             internal::index_filename(prefix))});
    else if (size < end)
      problems.push_back({Verdict::kDamaged, fmt::format("{}: found {} bytes, expected at least {}",
                                                         path, size, end)});
  }
}

void check_sidecar(FileSystem& files, const internal::FoundCheckpoint& checkpoint,
                   std::vector<Problem>& problems) {
  if (!checkpoint.sidecar) return;
  const uint32_t expected = checkpoint.sidecar->index_crc32c;
  if (expected != 0) {
    const std::string path =
        internal::find_index(files, checkpoint.prefix).value_or(checkpoint.prefix);
    const uint32_t crc = internal::crc32c_of_index_file(files, path);
    if (crc != expected)
      problems.push_back(
          {Verdict::kDamaged,
           fmt::format("{}: found masked crc32c {:08x}, expected {:08x} from the sidecar", path,
                       crc, expected)});
  }
  // There may be more bytes: files of a replaced checkpoint of the same name. And fewer, if a file
  // is missing.
  const uint64_t size = checkpoint.sidecar->size_bytes;
  const bool is_complete =
      std::ranges::find(problems, Verdict::kIncomplete, &Problem::verdict) == problems.end();
  if (checkpoint.size_bytes < size && is_complete)
    problems.push_back(
        {Verdict::kDamaged, fmt::format("{}: found files of {} bytes, expected {} from the sidecar",
                                        checkpoint.prefix, checkpoint.size_bytes, size)});
}

// Reads part by part, so that the parts of a partitioned tensor are not in memory together.
void read_all_of(const CheckpointReader& reader, const std::string& name) {
  const std::vector<TensorSlice>& slices = reader.slices(name);
  if (slices.empty()) reader.read(name);
  for (const TensorSlice& slice : slices) reader.read_slice(name, slice);
}

// Adds the problem that an error is evidence of. Throws: the error, if it proves nothing.
void add_problem(const Error& error, std::vector<Problem>& problems) {
  const auto verdict = verdict_of(error);
  if (!verdict) throw_error(error.code(), error.what());
  // Many tensors may be in one missing file.
  if (std::ranges::find(problems, error.what(), &Problem::text) == problems.end())
    problems.push_back({*verdict, error.what()});
}

void list_damaged_tensors(const CheckpointReader& reader, std::vector<Problem>& problems) {
  for (const auto& [name, info] : reader.tensors()) {
    if (reader.unreadable().contains(name)) continue;
    try {
      read_all_of(reader, name);
    } catch (const Error& error) {
      add_problem(error, problems);
    }
  }
}

// The first pass, in little memory, finds sound checkpoints; a second one names all damage.
void check_tensors(const CheckpointReader& reader, std::vector<Problem>& problems) {
  try {
    reader.verify();
  } catch (const Error& error) {
    if (!verdict_of(error)) throw;
    list_damaged_tensors(reader, problems);
    // The damage is in bytes that belong to no tensor.
    if (problems.empty()) add_problem(error, problems);
  }
}

// Values that are not read because their bytes are missing or wrong are problems, others are not.
void check_unreadable(const CheckpointReader& reader, Inspection& found) {
  UnreadableValues unread;
  for (const auto& [name, value] : reader.unreadable()) {
    if (value.code == Code::kUnimplemented)
      unread.emplace(name, value);
    else
      found.problems.push_back(
          {value.code == Code::kNotFound ? Verdict::kIncomplete : Verdict::kDamaged,
           fmt::format("{}: \"{}\" {}", reader.prefix(), name, value.why)});
  }
  found.unread = unread_lines(unread);
}

// Smaller tensors are read as they are verified.
constexpr size_t kMinMappedBytes = size_t{1} << 20;

bool is_large(const CheckpointReader& reader, const std::string& name) {
  const auto found = reader.tensors().find(name);
  if (found == reader.tensors().end()) return false;
  const auto& [dtype, shape, num_slices] = found->second;
  return num_slices == 0 && element_size(dtype) > 0 &&
         static_cast<uint64_t>(shape.num_elements()) >= kMinMappedBytes / element_size(dtype);
}

// The elements are pages of the file, which the system loads and drops as needed.
Tensor verified_map(const CheckpointReader& reader, const std::string& name) {
  reader.verify(name);
  return reader.map(name);
}

}  // namespace

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kDamaged:
      return "damaged";
    case Verdict::kIncomplete:
      return "incomplete";
    case Verdict::kRefused:
      return "refused";
    case Verdict::kUnsupported:
      return "unsupported";
  }
  return "";
}

std::optional<Verdict> verdict_of(const Error& error) {
  if (internal::dynamic_as<const internal::MissingFileError>(&error) != nullptr)
    return Verdict::kIncomplete;
  switch (error.code()) {
    case Code::kDataLoss:
      return Verdict::kDamaged;
    case Code::kNotFound:
      return Verdict::kIncomplete;
    case Code::kPermissionDenied:
    case Code::kFailedPrecondition:
      return Verdict::kRefused;
    case Code::kUnimplemented:
    case Code::kInvalidArgument:  // Of a version of the format.
      return Verdict::kUnsupported;
    default:
      return std::nullopt;
  }
}

bool is_bad(Verdict verdict) {
  return verdict == Verdict::kDamaged || verdict == Verdict::kIncomplete;
}

Verdict Inspection::verdict() const {
  const auto bad =
      std::ranges::find_if(problems, [](const Problem& each) { return is_bad(each.verdict); });
  return bad == problems.end() ? problems.front().verdict : bad->verdict;
}

int exit_code(int before, const Inspection& inspection) {
  if (inspection.is_sound() || before == kNegative) return before;
  return is_bad(inspection.verdict()) ? kNegative : kTrouble;
}

Json problems_json(const Inspection& inspection) {
  Json problems = Json::array();
  for (const Problem& each : inspection.problems)
    problems.push_back({{"verdict", verdict_name(each.verdict)}, {"text", json_text(each.text)}});
  return problems;
}

Json json_lines(const std::vector<std::string>& lines) {
  Json json = Json::array();
  for (const std::string& line : lines) json.push_back(json_text(line));
  return json;
}

std::vector<std::string> unread_lines(const UnreadableValues& values) {
  std::map<std::string, std::vector<std::string>> names;
  for (const auto& [name, value] : values)
    names[value.why].push_back(fmt::format("\"{}\"", printable(name)));
  std::vector<std::string> lines;
  for (const auto& [why, each] : names)
    lines.push_back(fmt::format("{} {}", internal::listed(each), why));
  return lines;
}

Inspection inspect(FileSystem& files, const internal::FoundCheckpoint& checkpoint, Depth depth) {
  Inspection found;
  try {
    if (checkpoint.format == CheckpointFormat::kTensorBundle)
      check_data_files(files, checkpoint.prefix, found.problems);
    check_sidecar(files, checkpoint, found.problems);
    const CheckpointReader reader(checkpoint.prefix, files);
    found.has_checksums = reader.has_checksums();
    check_unreadable(reader, found);
    if (depth == Depth::kEverything) check_tensors(reader, found.problems);
  } catch (const Error& error) {
    add_problem(error, found.problems);
  }
  // Indexes are removed first: while there is one, a missing file is a problem.
  found.is_gone = !found.problems.empty() && !internal::format_of(files, checkpoint.prefix);
  if (found.is_gone) found.problems.clear();
  return found;
}

ReadResult read_if_sound(const CheckpointReader& reader, const std::string& name) {
  try {
    return {.tensor = is_large(reader, name) ? verified_map(reader, name) : reader.read(name)};
  } catch (const Error& error) {
    const auto verdict = verdict_of(error);
    if (!verdict || *verdict == Verdict::kRefused) throw;
    return {.problem = error.what(), .is_damaged = is_bad(*verdict)};
  }
}

}  // namespace crochet::tool
