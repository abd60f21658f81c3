// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/io/internal/file_descriptor.h"
#include "crochet/io/internal/file_place.h"

// The only code of the library that opens files of the operating system. A file that it opens
//
// - is a plain file: a pipe, a socket or a device never blocks a run, nor is it written to;
// - is not reached through a symbolic link, unless it is only read;
// - has one name if it is changed: otherwise, and if it belongs to another user who only lets it be
//   read, the name gets a copy first (own_copy.h), so that a run never changes other files by
//   accident;
// - has a descriptor of 3 or above that other programs do not inherit.
namespace crochet::inline v0::internal {

enum class OpenFor {
  kReading,
  kReplacing,  // Created if missing, otherwise truncated to 0 bytes.
  kAppending,  // Created if missing.
  kCutting,    // To be shortened.
  kLocking,    // Created if missing; may have several names. See posix_file_lock.cc.
};

// `flags` are added. Throws: the errors of FileSystem; FailedPreconditionError for a file that is
// not plain, for a symbolic link in place of a file to be changed, and for one that leads nowhere.
FileDescriptor open_file(const FilePlace& place, OpenFor purpose, int flags = 0);
// The same without exceptions: returns a descriptor, or a negated number of <errno.h>.
int try_open_file(const FilePlace& place, OpenFor purpose, int flags) noexcept;
// Asks the server of a network file system what a directory has now. Over NFS a machine remembers
// for up to a minute that a name is missing, and would not see what another machine puts there. A
// name of "" stands for the directory `at` itself.
void look_again(int at, const char* directory) noexcept;
// The same for the directory of a place.
void look_again(const FilePlace& place) noexcept;
// Opens an open file again, whatever its name leads to now.
FileDescriptor open_again(int descriptor, int flags);

// Opens a directory. A place without a directory may lead through links, which the caller chose.
// Throws: the errors of FileSystem.
FileDescriptor open_directory(const FilePlace& place);
// Opens a file of any kind, only to query its metadata. Throws: the errors of FileSystem.
FileDescriptor open_to_look(const FilePlace& place);

}  // namespace crochet::inline v0::internal
