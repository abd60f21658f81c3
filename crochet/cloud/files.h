// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The component `cloud`: checkpoints in object stores.
#pragma once

#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::cloud {

// The operating system's files, and beside them those of the checkpoints that MirrorHook has copied
// to a store, to read:
//
//   CheckpointReader reader("s3://bucket/runs/digits/model.ckpt-2000", cloud::files());
//
// A directory "s3://<bucket>/<prefix>" has the files of all copies that are complete, and a state
// file, `checkpoint`, that names them. Parts of files are read when they are needed.
//
// The store and the credentials are those of AWS's environment variables and files: see
// docs/hooks/mirror_hook.md. Throws, beside what FileSystem throws: UnavailableError if the store
// cannot be reached; PermissionDeniedError and UnauthenticatedError for credentials;
// UnimplementedError if something is to be changed in a store.
//
// Thread-safe; lives as long as the process.
CROCHET_EXPORT FileSystem& files();

}  // namespace crochet::inline v0::cloud
