// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The sidecar of a checkpoint: `<prefix>.json`.
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "fuzz_target.h"

using namespace crochet;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  MemoryFileSystem files;
  put_file(files, internal::sidecar_filename("/fuzz"), as_text(data, size));
  return expect_typed_errors([&] {
    const auto sidecar = read_sidecar(files, "/fuzz");
    if (!sidecar) return;
    write_sidecar(files, "/again", *sidecar);
    require(read_sidecar(files, "/again").has_value());
  });
}
