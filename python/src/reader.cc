// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/vfs.h>

#include <cmath>
#include <map>
#include <optional>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"
#include "crochet/checkpoint/directory/internal/found_checkpoint.h"
#include "crochet/summary/internal/metric_lines.h"
#include "python/src/bindings.h"

namespace crochet::python {
namespace {

FileSystem& files() { return FileSystem::posix(); }

CheckpointChoice choice(std::optional<int64_t> step, const std::optional<std::string>& best,
                        std::optional<bool> lower_is_better) {
  if (step && best) throw InvalidArgumentError("step and best are both given: name one checkpoint");
  if (step) return CheckpointChoice::at_step(*step);
  if (!best) return CheckpointChoice::newest();
  std::optional<Better> better;
  if (lower_is_better) better = *lower_is_better ? Better::kLower : Better::kHigher;
  return CheckpointChoice::best(*best, better);
}

// The prefixes of a directory's run, the newest first; of anything else, the one.
std::vector<std::string> newest_first(const std::string& path) {
  const auto directory = internal::directory_of_checkpoints(files(), path);
  if (!directory) return {internal::chosen_checkpoint(files(), path)};
  std::vector<std::string> prefixes;
  for (const internal::FoundCheckpoint& found :
       internal::of_one_run(files(), *directory, internal::find_checkpoints(files(), *directory)))
    prefixes.insert(prefixes.begin(), found.prefix);
  // Which says what is wrong.
  if (prefixes.empty()) prefixes.push_back(internal::chosen_checkpoint(files(), path));
  return prefixes;
}

// True unless another machine could truncate the file, which would end a process that has it
// mapped. The numbers are those of statfs(2).
bool may_map(const std::string& path) {
  struct statfs found;
  const std::string directory = path.substr(0, path.find_last_of('/') + 1);
  if (::statfs(directory.empty() ? "." : directory.c_str(), &found) != 0) return false;
  constexpr int64_t kLocal[] = {0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x794C7630, 0x2FC12FC1};
  return std::find(std::begin(kLocal), std::end(kLocal), static_cast<int64_t>(found.f_type)) !=
         std::end(kLocal);
}

nb::dict as_dict(const internal::FoundCheckpoint& found) {
  nb::dict entry;
  entry["prefix"] = found.prefix;
  entry["step"] = found.step;
  entry["time"] = found.unix_time;
  entry["bytes"] = found.size_bytes;
  entry["metrics"] = found.sidecar ? found.sidecar->metrics : std::map<std::string, double>();
  entry["pinned"] = found.sidecar && found.sidecar->pinned;
  entry["format"] = checkpoint_format_name(found.format);
  return entry;
}

nb::list checkpoints(const std::string& directory) {
  const auto found = unlocked([&] { return internal::find_checkpoints(files(), directory); });
  nb::list entries;
  for (const internal::FoundCheckpoint& one : found) entries.append(as_dict(one));
  return entries;
}

// Columns of the same length, with NaN where a step has no value.
std::pair<std::vector<int64_t>, std::map<std::string, std::vector<double>>> metrics(
    const std::string& directory) {
  const auto lines = internal::read_metric_lines(files(), directory);
  std::vector<int64_t> steps;
  std::map<std::string, std::vector<double>> columns;
  for (const auto& [step, values] : lines) {
    for (const auto& [name, value] : values) {
      columns[name].resize(steps.size(), std::nan(""));
      columns[name].push_back(value);
    }
    steps.push_back(step);
  }
  for (auto& [name, column] : columns) column.resize(steps.size(), std::nan(""));
  return {steps, columns};
}

std::map<std::string, Described> tensors(const CheckpointReader& reader) {
  std::map<std::string, Described> result;
  for (const auto& [name, info] : reader.tensors())
    result.emplace(name, described(info.dtype, info.shape));
  return result;
}

std::map<std::string, std::string> unreadable(const CheckpointReader& reader) {
  std::map<std::string, std::string> result;
  for (const auto& [name, value] : reader.unreadable()) result.emplace(name, value.why);
  return result;
}

// Verified in any case.
nb::object map_verified(const CheckpointReader& reader, const std::string& name) {
  return elements_of(unlocked([&] {
    Tensor tensor = reader.map(name);
    if (tensor.buffer() && !tensor.buffer().is_unique()) reader.verify(name);
    return tensor;
  }));
}

}  // namespace

void bind_reader(nb::module_& module) {
  module.def(
      "chosen",
      [](const std::string& path, std::optional<int64_t> step,
         const std::optional<std::string>& best, std::optional<bool> lower_is_better) {
        return unlocked([&] {
          return internal::chosen_checkpoint(files(), path, choice(step, best, lower_is_better));
        });
      },
      nb::arg("path"), nb::arg("step").none(), nb::arg("best").none(),
      nb::arg("lower_is_better").none());
  module.def("newest_first",
             [](const std::string& path) { return unlocked([&] { return newest_first(path); }); });
  module.def("checkpoints", checkpoints);
  module.def("look_at", [](const std::string& prefix) {
    return as_dict(internal::look_at_checkpoint(files(), prefix));
  });
  module.def("may_map", may_map);
  module.def("exists",
             [](const std::string& prefix) { return checkpoint_exists(files(), prefix); });
  module.def("metrics", [](const std::string& directory) {
    return unlocked([&] { return metrics(directory); });
  });

  nb::class_<CheckpointReader>(module, "Reader")
      .def("__init__",
           [](CheckpointReader* self, const std::string& prefix) {
             unlocked([&] { new (self) CheckpointReader(prefix); });
           })
      .def_prop_ro("prefix", [](const CheckpointReader& self) { return self.prefix(); })
      .def_prop_ro(
          "format",
          [](const CheckpointReader& self) { return checkpoint_format_name(self.format()); })
      .def_prop_ro("has_checksums", &CheckpointReader::has_checksums)
      .def_prop_ro("metadata",
                   [](const CheckpointReader& self) {
                     const auto& metadata = self.metadata();
                     return std::map<std::string, std::string>(metadata.begin(), metadata.end());
                   })
      .def("tensors", tensors)
      .def("unreadable", unreadable)
      .def("read",
           [](const CheckpointReader& self, const std::string& name) {
             return elements_of(unlocked([&] { return self.read(name); }));
           })
      .def("map",
           [](const CheckpointReader& self, const std::string& name) {
             return elements_of(unlocked([&] { return self.map(name); }));
           })
      .def("map_verified", map_verified)
      .def("verify", [](const CheckpointReader& self) { unlocked([&] { self.verify(); }); });
}

}  // namespace crochet::python
