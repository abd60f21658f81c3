// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/own_files.h"

#include <string>

#include <gtest/gtest.h>

namespace crochet {
namespace {

using internal::own_file;
using internal::OwnFile;

TEST(OwnFilesTest, AreRecognizedByName) {
  for (const char* const name :
       {"checkpoint", ".lock", ".sidecar_lock", "graph.pbtxt", "metrics.jsonl",
        "events.out.tfevents.1700000000.host", "model.ckpt.fallback", "model.ckpt.fallback-120"})
    EXPECT_EQ(own_file(name), OwnFile::kRecord) << name;
  for (const char* const name :
       {"model.ckpt-5.index", "model.ckpt-5.data-00000-of-00001", "model.ckpt-5.json",
        "model.ckpt-5.meta", "model.ckpt-5.safetensors", "model.ckpt-5.index.tempstate12"})
    EXPECT_EQ(own_file(name), OwnFile::kCheckpoint) << name;
  for (const char* const name : {"model.ckpt-5.index.damaged", "model.ckpt-5.json.abandoned-2",
                                 "model.ckpt-5.data-00000-of-00001.replaced"})
    EXPECT_EQ(own_file(name), OwnFile::kSetAside) << name;
  EXPECT_EQ(own_file("checkpoint.tmp" + std::string(32, 'a')), OwnFile::kTemporaryState);
}

TEST(OwnFilesTest, AreNotThoseOfAProgram) {
  for (const char* const name : {"results.csv", "checkpoint.txt", "lock", "fallback", ".fallback",
                                 "a.fallback-", "a.fallback-x", "a.fallback-1.txt", "model.damaged",
                                 "model.ckpt-5.index.damaged.txt", "events.log", ""})
    EXPECT_EQ(own_file(name), OwnFile::kNone) << name;
}

}  // namespace
}  // namespace crochet
