// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/io/file_descriptor.h"
#include "crochet/io/file_place.h"

// The only code of the library that opens files of the operating system. What it opens
//
// - is a plain file: a pipe, a socket or a device never blocks a run, nor is it written to;
// - is not reached through a symbolic link, but for a path that is only read; and a file that is
//   changed where it stands has one name: what a run writes changes no other file;
// - has a descriptor of 3 or above that other programs do not inherit.
namespace crochet {

enum class OpenFor {
  kReading,
  kReplacing,  // Made if missing, else emptied.
  kAppending,  // Made if missing.
  kCutting,
  kLocking,  // Made if missing; nobody but its owner may open it.
};

// `flags` are added. Throws: the errors of FileSystem; of what is not a plain file, or not to be
// changed, DataLossError when reading and FailedPreconditionError else.
FileDescriptor open_file(const FilePlace& place, OpenFor purpose, int flags = 0);
// Without throwing: a descriptor, or a negated number of <errno.h>.
int try_open_file(const FilePlace& place, OpenFor purpose, int flags) noexcept;
// A file that is open already, once more, whatever its name stands for by now.
FileDescriptor open_again(int descriptor, int flags);

// The directory. A place without a directory may lead through links: whoever names a path knows
// them. Throws: the errors of FileSystem.
FileDescriptor open_directory(const FilePlace& place);
// Anything at all, only to be asked what it is and where. Throws: the errors of FileSystem.
FileDescriptor open_to_look(const FilePlace& place);

}  // namespace crochet
