// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/session/session.h"

namespace crochet::inline v0 {

Snapshot::Snapshot(std::vector<NamedTensor> tensors, std::shared_ptr<PendingCopies> copies)
    : tensors_(std::move(tensors)) {
  add(std::move(copies));
  versions_.reserve(tensors_.size());
  for (const NamedTensor& entry : tensors_) versions_.push_back(entry.tensor.version());
}

void Snapshot::add(NamedTensor tensor) {
  versions_.push_back(tensor.tensor.version());
  tensors_.push_back(std::move(tensor));
}

void Snapshot::add(std::shared_ptr<PendingCopies> copies) {
  if (copies) copies_.push_back(std::move(copies));
}

std::vector<std::shared_ptr<PendingCopies>> Snapshot::take_copies() {
  return std::exchange(copies_, {});
}

void Snapshot::wait() const {
  for (const std::shared_ptr<PendingCopies>& copies : copies_) copies->wait();
}

const std::vector<NamedTensor>& Snapshot::readable() const& {
  for (const std::shared_ptr<PendingCopies>& copies : copies_) copies->wait_until_readable();
  return tensors_;
}

ReadBytes Snapshot::pending(const Tensor& tensor) const {
  for (const std::shared_ptr<PendingCopies>& copies : copies_)
    if (copies->is_pending(tensor))
      return [&copies = *copies, &tensor](size_t begin, std::span<std::byte> into) {
        copies.read(tensor, begin, into);
      };
  return {};
}

uint64_t Snapshot::version_of(const Tensor& tensor) const {
  for (const std::shared_ptr<PendingCopies>& copies : copies_)
    if (const uint64_t version = copies->version_of(tensor); version != 0) return version;
  return tensor.version();
}

void Snapshot::record_unannounced_write(const Tensor& tensor) const noexcept {
  for (const std::shared_ptr<PendingCopies>& copies : copies_)
    copies->record_unannounced_write(tensor);
}

void Snapshot::verify() const {
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].tensor.version() != versions_[i])
      throw FailedPreconditionError(fmt::format(
          "\"{}\" was opened for writing while a snapshot held it: the snapshot may mix several "
          "steps",
          tensors_[i].name));
  static_cast<void>(readable());
  for (const std::shared_ptr<PendingCopies>& copies : copies_) copies->verify();
}

void Snapshot::make_durable(const std::string& checkpoint) const {
  for (const std::shared_ptr<PendingCopies>& copies : copies_) copies->make_durable(checkpoint);
}

}  // namespace crochet::inline v0
