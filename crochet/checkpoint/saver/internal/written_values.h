// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/internal/stored_values.h"
#include "crochet/checkpoint/saver/internal/variable_selection.h"
#include "crochet/session/session.h"

// Which values of a snapshot are written, into which data file, and under which keys: in the order
// of their names, in files of about the same size, without those that are unchanged.
namespace crochet::inline v0::internal {

// The approximate sizes of the data files that are written.
std::vector<uint64_t> bytes_of_shards(const Snapshot& snapshot, int num_shards,
                                      const UnchangedValues& unchanged);

// Of the data and the index.
uint64_t bytes_to_write(const Snapshot& snapshot, const UnchangedValues& unchanged);

// Where a value is stored: one that is listed with a slice there, or else as a part of the ranks.
VariableSelection::Place place_of(const std::string& name, const SaveSource& source,
                                  const VariableSelection& selection);

// Gives the writer all values, or the places of those that are unchanged.
void add_all(CheckpointWriter& writer, const SaveSource& source, const VariableSelection& selection,
             int num_shards, const UnchangedValues& unchanged);

}  // namespace crochet::inline v0::internal
