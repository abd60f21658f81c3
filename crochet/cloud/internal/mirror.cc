// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/cloud/internal/mirror.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <string_view>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/random.h"
#include "crochet/base/internal/thread.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/format/internal/file_names.h"

namespace crochet::inline v0::cloud::internal {
namespace {

using crochet::internal::Thread;

constexpr const char* kManifest = "manifest.json";
// A withdrawn upload is remembered for longer than one may take, so that a writer that was thought
// to be gone cannot end it afterwards.
constexpr double kMaxUploadSecs = 12 * 3600;
constexpr double kWithdrawnSecs = 24 * 3600;

std::string new_upload(double unix_time) {
  const double whole = std::floor(unix_time);
  return fmt::format(
      "{:%Y%m%dT%H%M%S}.{:03}Z-{:016x}", fmt::gmtime(static_cast<std::time_t>(whole)),
      static_cast<int>((unix_time - whole) * 1000), crochet::internal::random_number());
}

// True for what new_upload() makes.
bool is_upload(std::string_view name) {
  constexpr std::string_view kForm = "00000000T000000.000Z-xxxxxxxxxxxxxxxx";
  return std::ranges::equal(name, kForm, [](char c, char expected) {
    const bool is_digit = c >= '0' && c <= '9';
    if (expected == '0') return is_digit;
    if (expected == 'x') return is_digit || (c >= 'a' && c <= 'f');
    return c == expected;
  });
}

// One after another, on several threads, until one fails or `stop` is requested.
template <typename Do>
void for_each_in_parallel(size_t count, int num_threads, const Do& work) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr error;
  const auto body = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        next = count;
        const std::scoped_lock lock(mutex);
        if (!error) error = std::current_exception();
      }
    }
  };
  {
    std::vector<Thread> threads;
    const size_t num_others = std::min<size_t>(count, static_cast<size_t>(num_threads));
    for (size_t i = 1; i < num_others; ++i)
      threads.emplace_back("mirror part", body, Thread::Priority::kBackground);
    body();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace

Mirror::Mirror(ObjectStore& store, S3Place place, Clock& clock)
    : store_(store), place_(std::move(place)), clock_(clock) {}

std::string Mirror::key_of(const std::string& name) const {
  return place_.prefix.empty() ? name : place_.prefix + "/" + name;
}
std::string Mirror::manifest_key(const std::string& upload) const {
  return key_of(upload + "/" + kManifest);
}
std::string Mirror::part_name(const std::string& upload, const std::string& file, size_t part) {
  return fmt::format("{}/{}.{}", upload, file, part);
}
std::string Mirror::url_of(const std::string& checkpoint) const {
  return place_.url() + "/" + checkpoint;
}

Mirror::Uploads Mirror::find_uploads(const std::stop_token& stop) {
  const std::string root = key_of("");
  ObjectListing listing = store_.list(root, stop);
  Uploads found{.time = listing.time};
  for (StoredObject& object : listing.objects) {
    const std::string_view name = std::string_view(object.key).substr(root.size());
    const auto first = name.find('/');
    const auto second = first == name.npos ? name.npos : name.find('/', first + 1);
    if (second == name.npos || name.find('/', second + 1) != name.npos) continue;
    const std::string_view checkpoint = name.substr(0, first);
    if (!is_upload(name.substr(first + 1, second - first - 1)) ||
        !crochet::internal::step_of_prefix(checkpoint))
      continue;
    Upload& upload = found.by_name[std::string(name.substr(0, second))];
    upload.checkpoint = checkpoint;
    if (name.substr(second + 1) == kManifest)
      upload.manifest = std::move(object);
    else
      upload.parts.push_back(std::move(object.key));
  }
  return found;
}

std::shared_ptr<const MirrorManifest> Mirror::manifest_of(const std::string& upload,
                                                          const std::string& checkpoint,
                                                          const std::stop_token& stop) {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto known = manifests_.find(upload); known != manifests_.end()) return known->second;
  }
  std::shared_ptr<const MirrorManifest> manifest;
  const std::string name = fmt::format("{}/{}/{}", place_.url(), upload, kManifest);
  try {
    const std::string text = store_.get_text(manifest_key(upload), kMaxManifestBytes, stop);
    manifest = std::make_shared<MirrorManifest>(parse_manifest(text, checkpoint, name));
  } catch (const NotFoundError&) {
    return nullptr;
  } catch (const DataLossError& error) {
    log_warning(error.what());
  } catch (const UnimplementedError& error) {
    log_warning(error.what());
  } catch (const ResourceExhaustedError& error) {
    log_warning(error.what());
  }
  const std::scoped_lock lock(mutex_);
  return manifests_.emplace(upload, manifest).first->second;
}

std::vector<Mirror::Copy> Mirror::copies_among(const Uploads& uploads,
                                               const std::stop_token& stop) {
  std::map<std::string, Copy> newest;  // By checkpoint.
  for (const auto& [name, upload] : uploads.by_name) {
    if (!upload.manifest || upload.manifest->size == 0) continue;
    auto manifest = manifest_of(name, upload.checkpoint, stop);
    if (!manifest) continue;
    Copy& copy = newest[upload.checkpoint];
    if (!copy.manifest || copy.manifest->unix_time <= manifest->unix_time)
      copy = {.upload = name, .manifest = std::move(manifest)};
  }
  std::vector<Copy> copies;
  for (auto& [checkpoint, copy] : newest) copies.push_back(std::move(copy));
  std::ranges::stable_sort(copies, {}, [](const Copy& copy) { return copy.manifest->unix_time; });
  return copies;
}

std::vector<Mirror::Copy> Mirror::list(const std::stop_token& stop) {
  return copies_among(find_uploads(stop), stop);
}

void Mirror::read(const Copy& copy, const MirroredFile& file, uint64_t offset,
                  std::span<std::byte> into, const std::stop_token& stop) {
  while (!into.empty()) {
    const size_t part = offset / kPartBytes;
    const uint64_t begin = offset % kPartBytes;
    const auto bytes = into.first(std::min<uint64_t>(into.size(), kPartBytes - begin));
    store_.get(key_of(part_name(copy.upload, file.name, part)), begin, bytes, stop);
    into = into.subspan(bytes.size());
    offset += bytes.size();
  }
}

void Mirror::put_parts(const std::string& upload, MirrorManifest& manifest,
                       std::span<const SourceFile> files, int num_parallel,
                       const std::stop_token& stop) {
  struct Part {
    size_t file;
    size_t number;
  };
  std::vector<Part> parts;
  for (size_t i = 0; i < files.size(); ++i) {
    MirroredFile& file = manifest.files.emplace_back();
    file = {.name = files[i].name, .size = files[i].file->size()};
    file.crc32c.resize(file.num_parts());
    for (size_t number = 0; number < file.num_parts(); ++number) parts.push_back({i, number});
  }
  for_each_in_parallel(parts.size(), num_parallel, [&](size_t i) {
    const Part part = parts[i];
    MirroredFile& file = manifest.files[part.file];
    const ReadableFile& source = *files[part.file].file;
    const uint64_t begin = part.number * kPartBytes;
    const HttpBody body{.size = file.size_of_part(part.number),
                        .read = [&](uint64_t offset, std::span<std::byte> into) {
                          source.read_at(begin + offset, into);
                        }};
    file.crc32c[part.number] =
        store_.put(key_of(part_name(upload, file.name, part.number)), body, stop);
  });
}

void Mirror::put_manifest(const std::string& upload, const std::string& text,
                          const std::stop_token& stop) {
  try {
    store_.put_new(manifest_key(upload), text, stop);
  } catch (const AlreadyExistsError&) {
    // Perhaps by an attempt whose answer was lost.
    if (store_.get_text(manifest_key(upload), kMaxManifestBytes, stop) == text) return;
    throw AbortedError(fmt::format(
        "{}/{}: another run that copies its checkpoints to {} has removed this upload; each run "
        "needs a place of its own",
        place_.url(), upload, place_.url()));
  }
}

void Mirror::add(const MirrorManifest& described, std::span<const SourceFile> files,
                 int num_parallel, const std::stop_token& stop) {
  const Clock::TimePoint start = clock_.now();
  const double wall_start = clock_.wall_time();
  const std::string upload = described.checkpoint + "/" + new_upload(wall_start);
  MirrorManifest manifest = described;
  manifest.files.clear();
  put_parts(upload, manifest, files, num_parallel, stop);
  // The wall clock counts while the machine sleeps, too.
  const double secs = std::max(to_seconds(clock_.now() - start), clock_.wall_time() - wall_start);
  if (secs > kMaxUploadSecs)
    throw AbortedError(fmt::format("{}/{}: the upload took {:.0f} hours, expected at most 12",
                                   place_.url(), upload, secs / 3600));
  put_manifest(upload, to_text(manifest), stop);
}

void Mirror::remove_parts(const Upload& upload, const std::stop_token& stop) {
  for (const std::string& key : upload.parts) store_.remove(key, stop);
}

void Mirror::remove_unfinished(const std::string& name, const Upload& upload, double now,
                               const std::stop_token& stop) {
  if (!upload.manifest) {
    try {
      store_.put_new(manifest_key(name), "", stop);
    } catch (const AlreadyExistsError&) {
      return;  // It is finished after all, or another run removes it. The next time.
    }
    log_info(fmt::format("{}/{}: removes an upload that was interrupted", place_.url(), name));
  }
  remove_parts(upload, stop);
  if (upload.manifest && now - upload.manifest->time > kWithdrawnSecs)
    store_.remove(upload.manifest->key, stop);
}

std::vector<Mirror::Copy> Mirror::tidy(int max_to_keep, const std::stop_token& stop) {
  const Uploads uploads = find_uploads(stop);
  std::vector<Copy> copies = copies_among(uploads, stop);
  std::set<std::string> kept;
  int num_kept = 0;
  for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy)
    if (copy->manifest->is_pinned || max_to_keep <= 0 || num_kept++ < max_to_keep)
      kept.insert(copy->upload);
  for (const auto& [name, upload] : uploads.by_name) {
    if (!upload.manifest || upload.manifest->size == 0) {
      remove_unfinished(name, upload, uploads.time, stop);
      continue;
    }
    if (kept.contains(name) || !manifest_of(name, upload.checkpoint, stop)) continue;
    store_.remove(upload.manifest->key, stop);
    remove_parts(upload, stop);
  }
  std::erase_if(copies, [&](const Copy& copy) { return !kept.contains(copy.upload); });
  return copies;
}

}  // namespace crochet::inline v0::cloud::internal
