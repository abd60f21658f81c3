// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/copies/borrowed_array.h"
#include "crochet/session/parted_saveable.h"
#include "crochet/session/saveable.h"
#include "crochet/tracking/internal/columns.h"

namespace crochet::inline v0 {
class EpochOrder;
}  // namespace crochet::inline v0

namespace crochet::inline v0::internal {

// Receives the parts of a value whose structure may change, each time that it is saved or restored.
class CROCHET_EXPORT PartVisitor {
 public:
  // What the visit is for. A plan lists the parts that the value would have once it is restored,
  // and changes nothing: what would be made is made aside, and destroyed.
  enum class Purpose { kSave, kPlan, kRestore };

  virtual ~PartVisitor() = default;

  virtual Purpose purpose() const = 0;
  // The name of a part with that of the value that is visited: "layers/0/weights".
  virtual std::string full_name(const std::string& name) const = 0;
  // What the checkpoint has, by name; empty in a save.
  virtual const StoredParts& stored() const = 0;
  // The same, also where the parts are listed as they are now, but with the names that they have in
  // the checkpoint.
  virtual const StoredParts& layout() const { return stored(); }

  // `is_fixed`: it belongs to a container whose structure a restore must not change.
  virtual void array(const std::string& name, BorrowedArray array, bool is_fixed) = 0;
  virtual void object(const std::string& name, std::shared_ptr<Saveable> object, bool is_fixed) = 0;
  // The elements of a sequence, in place of parts one by one: as many arrays as each has members.
  virtual void columns(const std::string& name, Columns columns, bool is_fixed) = 0;
  // Epochs, which are among the objects as well.
  virtual void epochs(const EpochOrder&) {}
  // Everything that is stored at and beneath `name`, for a provider that makes it; in a plan.
  virtual void all_stored(const std::string& name, bool is_fixed) = 0;
  // The parts of a provider that plans them one by one, by their names beneath `name`; in a plan.
  virtual void planned(const std::string&, std::vector<StatePart>, bool /*is_fixed*/) {}
  // Of what is stored, the parts whose values are about to be read; in a restore.
  virtual const StoredParts& read() const { return stored(); }
  // Begins and ends the parts of a provider that must have just what is stored.
  virtual void begin_provider() {}
  virtual void end_provider() {}
  // Begins and ends parts on whose values the parts after them depend: a restore reads them at
  // once, but all others when the structure is complete.
  virtual void begin_keys() {}
  virtual void end_keys() {}
  // Begins and ends the parts of the value `name`, which options keep as a whole.
  virtual void begin_whole(const std::string& /*name*/, WholeValue::Kind) {}
  virtual void end_whole() {}
  // Receives what a restore does to the entries of the container `name`.
  virtual void record_entries(const std::string& /*name*/, const EntryChanges&) {}
  // Keeps an object that parts refer to until the visit ends.
  virtual void keep(std::shared_ptr<const void> object) = 0;
};

}  // namespace crochet::inline v0::internal
