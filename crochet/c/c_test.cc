// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/c.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/temp_directory.h"
#include "crochet/version.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CTest : public testing::Test {
 protected:
  crochet_loop* new_loop(const char* last_step) {
    crochet_loop* loop = nullptr;
    EXPECT_EQ(crochet_loop_new(directory().c_str(), &loop), CROCHET_OK);
    const int64_t sizes[] = {2, 3};
    EXPECT_EQ(crochet_loop_track(loop, "field", field_.data(), CROCHET_FLOAT64, 2, sizes),
              CROCHET_OK);
    EXPECT_EQ(crochet_loop_track(loop, "count", &count_, CROCHET_INT64, 0, nullptr), CROCHET_OK);
    EXPECT_EQ(crochet_loop_add_hook(loop, "StopAtStepHook", last_step), CROCHET_OK);
    return loop;
  }
  int64_t run(const char* last_step) {
    crochet_loop* const loop = new_loop(last_step);
    int64_t first = -1, last = -1;
    int exit_code = -1;
    EXPECT_EQ(crochet_loop_start(loop, &first), CROCHET_OK) << crochet_last_error();
    while (crochet_loop_should_stop(loop) == 0) {
      ++count_;
      field_[5] += 0.5;
      EXPECT_EQ(crochet_loop_end_step(loop), CROCHET_OK) << crochet_last_error();
    }
    EXPECT_EQ(crochet_loop_finish(loop, &last, &exit_code), CROCHET_OK) << crochet_last_error();
    EXPECT_EQ(std::to_string(last), last_step);
    EXPECT_EQ(exit_code, 0);
    crochet_loop_free(loop);
    return first;
  }
  std::string directory() const { return folder_.path() + "/run"; }

  TempDirectory folder_;
  LogCapture log_;
  std::array<double, 6> field_ = {};
  int64_t count_ = 0;
};

TEST(CNumbersTest, AreThoseOfCpp) {
  const std::pair<int, DType> types[] = {
      {CROCHET_FLOAT32, DType::kFloat},         {CROCHET_FLOAT64, DType::kDouble},
      {CROCHET_INT32, DType::kInt32},           {CROCHET_UINT8, DType::kUint8},
      {CROCHET_INT16, DType::kInt16},           {CROCHET_INT8, DType::kInt8},
      {CROCHET_STRING, DType::kString},         {CROCHET_COMPLEX64, DType::kComplex64},
      {CROCHET_INT64, DType::kInt64},           {CROCHET_BOOL, DType::kBool},
      {CROCHET_BFLOAT16, DType::kBfloat16},     {CROCHET_UINT16, DType::kUint16},
      {CROCHET_COMPLEX128, DType::kComplex128}, {CROCHET_FLOAT16, DType::kHalf},
      {CROCHET_UINT32, DType::kUint32},         {CROCHET_UINT64, DType::kUint64}};
  for (const auto& [number, dtype] : types) EXPECT_EQ(number, static_cast<int>(dtype));
  const std::pair<int, Code> codes[] = {{CROCHET_CANCELLED, Code::kCancelled},
                                        {CROCHET_UNKNOWN, Code::kUnknown},
                                        {CROCHET_INVALID_ARGUMENT, Code::kInvalidArgument},
                                        {CROCHET_DEADLINE_EXCEEDED, Code::kDeadlineExceeded},
                                        {CROCHET_NOT_FOUND, Code::kNotFound},
                                        {CROCHET_ALREADY_EXISTS, Code::kAlreadyExists},
                                        {CROCHET_PERMISSION_DENIED, Code::kPermissionDenied},
                                        {CROCHET_RESOURCE_EXHAUSTED, Code::kResourceExhausted},
                                        {CROCHET_FAILED_PRECONDITION, Code::kFailedPrecondition},
                                        {CROCHET_ABORTED, Code::kAborted},
                                        {CROCHET_OUT_OF_RANGE, Code::kOutOfRange},
                                        {CROCHET_UNIMPLEMENTED, Code::kUnimplemented},
                                        {CROCHET_INTERNAL, Code::kInternal},
                                        {CROCHET_UNAVAILABLE, Code::kUnavailable},
                                        {CROCHET_DATA_LOSS, Code::kDataLoss}};
  for (const auto& [number, code] : codes) EXPECT_EQ(number, static_cast<int>(code));
}

TEST_F(CTest, ALoopResumes) {
  EXPECT_EQ(run("10"), 0);
  EXPECT_EQ(count_, 10);
  field_ = {};
  count_ = 0;
  EXPECT_EQ(run("15"), 10);
  EXPECT_EQ(count_, 15);
  EXPECT_EQ(field_[5], 7.5);
}

TEST_F(CTest, ACheckpointIsRead) {
  run("10");
  crochet_checkpoint* checkpoint = nullptr;
  ASSERT_EQ(crochet_checkpoint_open(directory().c_str(), -1, &checkpoint), CROCHET_OK);
  EXPECT_THAT(crochet_checkpoint_prefix(checkpoint), HasSubstr("model.ckpt-10"));
  std::vector<std::string> names;
  for (size_t i = 0; i < crochet_checkpoint_num_values(checkpoint); ++i)
    names.emplace_back(crochet_checkpoint_name(checkpoint, i));
  EXPECT_THAT(names, ElementsAre("count", "field", "global_step"));
  EXPECT_EQ(crochet_checkpoint_name(checkpoint, 3), nullptr);
  int dtype = 0, rank = 0;
  int64_t sizes[CROCHET_MAX_RANK] = {};
  EXPECT_EQ(crochet_checkpoint_describe(checkpoint, "field", &dtype, &rank, sizes), CROCHET_OK);
  EXPECT_EQ(dtype, CROCHET_FLOAT64);
  EXPECT_EQ(rank, 2);
  EXPECT_EQ(sizes[0] * 10 + sizes[1], 23);
  std::array<double, 6> field = {};
  EXPECT_EQ(crochet_checkpoint_read(checkpoint, "field", field.data(), sizeof field), CROCHET_OK);
  EXPECT_EQ(field, field_);
  EXPECT_EQ(crochet_checkpoint_read(checkpoint, "field", field.data(), 8),
            CROCHET_INVALID_ARGUMENT);
  EXPECT_EQ(crochet_checkpoint_read(checkpoint, "fields", field.data(), 8), CROCHET_NOT_FOUND);
  EXPECT_THAT(crochet_last_error(), HasSubstr("fields"));
  EXPECT_EQ(crochet_checkpoint_verify(checkpoint), CROCHET_OK);
  crochet_checkpoint_close(checkpoint);
  checkpoint = nullptr;
  EXPECT_EQ(crochet_checkpoint_open(directory().c_str(), 7, &checkpoint), CROCHET_NOT_FOUND);
  EXPECT_EQ(checkpoint, nullptr);
}

TEST_F(CTest, TextsAreRead) {
  const std::string prefix = folder_.path() + "/texts";
  const auto writer =
      new_checkpoint_writer(CheckpointFormat::kTensorBundle, FileSystem::posix(), prefix);
  writer->add("names", Tensor::from({"a", std::string("b\0c", 3)}));
  writer->finish();
  crochet_checkpoint* checkpoint = nullptr;
  ASSERT_EQ(crochet_checkpoint_open(prefix.c_str(), -1, &checkpoint), CROCHET_OK);
  char text[8];
  size_t size = 0;
  EXPECT_EQ(crochet_checkpoint_read_text(checkpoint, "names", 1, text, sizeof text, &size),
            CROCHET_OK);
  EXPECT_EQ(std::string(text, size), std::string("b\0c", 3));
  EXPECT_EQ(text[3], 0);
  EXPECT_EQ(crochet_checkpoint_read_text(checkpoint, "names", 1, text, 3, &size),
            CROCHET_OUT_OF_RANGE);
  EXPECT_EQ(size, 3);
  EXPECT_EQ(crochet_checkpoint_read_text(checkpoint, "names", 0, nullptr, 0, &size),
            CROCHET_OUT_OF_RANGE);
  EXPECT_EQ(size, 1);
  for (int64_t index : {-1, 2})
    EXPECT_EQ(crochet_checkpoint_read_text(checkpoint, "names", index, text, sizeof text, &size),
              CROCHET_INVALID_ARGUMENT);
  crochet_checkpoint_close(checkpoint);
}

TEST_F(CTest, StepsRequestAStopAndASave) {
  crochet_loop* const loop = new_loop("100");
  double loss = 0.25;
  EXPECT_EQ(crochet_loop_scalar(loop, "loss", &loss), CROCHET_OK);
  EXPECT_EQ(crochet_loop_set(loop, "checkpoint.saver.max_to_keep", "9"), CROCHET_OK);
  EXPECT_EQ(crochet_loop_start(loop, nullptr), CROCHET_OK);
  int64_t step = 0;
  while (crochet_loop_should_stop(loop) == 0) {
    ++step;
    if (step == 2) crochet_loop_request_save(loop, "to look at it");
    if (step == 4) crochet_loop_request_stop(loop, "enough");
    EXPECT_EQ(crochet_loop_end_step(loop), CROCHET_OK);
  }
  int64_t last = 0;
  EXPECT_EQ(crochet_loop_finish(loop, &last, nullptr), CROCHET_OK);
  EXPECT_EQ(last, 4);
  crochet_loop_free(loop);
  crochet_checkpoint* checkpoint = nullptr;
  EXPECT_EQ(crochet_checkpoint_open(directory().c_str(), 2, &checkpoint), CROCHET_OK);
  crochet_checkpoint_close(checkpoint);
  struct Seen {
    std::vector<std::string> events;
  } seen;
  const auto each = [](void* context, int64_t, int64_t, double, const char* event) {
    static_cast<Seen*>(context)->events.emplace_back(event);
    return static_cast<Seen*>(context)->events.size() == 2 ? 1 : 0;
  };
  EXPECT_EQ(crochet_journal_read(directory().c_str(), each, &seen), CROCHET_OK);
  EXPECT_EQ(seen.events.size(), 2);
  EXPECT_EQ(seen.events[0], "start");
  EXPECT_EQ(crochet_journal_read("nowhere", each, &seen), CROCHET_NOT_FOUND);
}

TEST_F(CTest, AnArrayMayMoveBetweenTwoSteps) {
  std::vector<double> other(6, 0);
  crochet_loop* const loop = new_loop("4");
  const int64_t sizes[] = {2, 3};
  EXPECT_EQ(crochet_loop_start(loop, nullptr), CROCHET_OK);
  crochet_loop_end_step(loop);
  other[0] = 7;
  EXPECT_EQ(crochet_loop_track(loop, "field", other.data(), CROCHET_FLOAT64, 2, sizes), CROCHET_OK);
  const int64_t others[] = {3, 2};
  EXPECT_EQ(crochet_loop_track(loop, "field", other.data(), CROCHET_FLOAT64, 2, others),
            CROCHET_INVALID_ARGUMENT);
  EXPECT_EQ(crochet_loop_track(loop, "late", other.data(), CROCHET_FLOAT64, 2, sizes),
            CROCHET_FAILED_PRECONDITION);
  while (crochet_loop_should_stop(loop) == 0) crochet_loop_end_step(loop);
  EXPECT_EQ(crochet_loop_finish(loop, nullptr, nullptr), CROCHET_OK);
  crochet_loop_free(loop);
  EXPECT_EQ(run("4"), 4);
  EXPECT_EQ(field_[0], 7);
}

TEST_F(CTest, AFailedRunSaysSo) {
  crochet_loop* const loop = new_loop("10");
  double loss = 0;
  EXPECT_EQ(crochet_loop_scalar(loop, "loss", &loss), CROCHET_OK);
  EXPECT_EQ(crochet_loop_add_hook(loop, "NanTensorHook", "loss"), CROCHET_OK);
  EXPECT_EQ(crochet_loop_start(loop, nullptr), CROCHET_OK);
  EXPECT_EQ(crochet_loop_end_step(loop), CROCHET_OK);
  loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(crochet_loop_end_step(loop), CROCHET_OK);
  EXPECT_THAT(crochet_last_error(), HasSubstr("loss"));
  EXPECT_EQ(crochet_loop_should_stop(loop), 1);
  EXPECT_EQ(crochet_loop_finish(loop, nullptr, nullptr), CROCHET_FAILED_PRECONDITION);
  crochet_loop_free(loop);
}

TEST_F(CTest, WrongCallsAreErrors) {
  crochet_loop* loop = nullptr;
  EXPECT_EQ(crochet_loop_new(nullptr, &loop), CROCHET_INVALID_ARGUMENT);
  EXPECT_STREQ(crochet_last_error(), "directory is NULL");
  EXPECT_EQ(crochet_loop_new("x", nullptr), CROCHET_INVALID_ARGUMENT);
  ASSERT_EQ(crochet_loop_new(directory().c_str(), &loop), CROCHET_OK);
  const int64_t sizes[] = {2, -1};
  for (int dtype : {0, -1, int{CROCHET_STRING}, 20, 999})
    EXPECT_EQ(crochet_loop_track(loop, "x", field_.data(), dtype, 0, sizes),
              CROCHET_INVALID_ARGUMENT);
  EXPECT_EQ(crochet_loop_track(loop, "x", field_.data(), CROCHET_FLOAT64, 2, sizes),
            CROCHET_INVALID_ARGUMENT);
  EXPECT_EQ(crochet_loop_track(loop, "x", field_.data(), CROCHET_FLOAT64, 17, sizes),
            CROCHET_INVALID_ARGUMENT);
  EXPECT_EQ(crochet_loop_track(loop, "x", nullptr, CROCHET_FLOAT64, 0, nullptr),
            CROCHET_INVALID_ARGUMENT);
  EXPECT_EQ(crochet_loop_set(loop, "checkpoint.every", "1"), CROCHET_INVALID_ARGUMENT);
  EXPECT_EQ(crochet_loop_add_hook(loop, "Hook", nullptr), CROCHET_INVALID_ARGUMENT);
  EXPECT_EQ(crochet_loop_end_step(loop), CROCHET_FAILED_PRECONDITION);
  EXPECT_EQ(crochet_loop_finish(loop, nullptr, nullptr), CROCHET_FAILED_PRECONDITION);
  EXPECT_EQ(crochet_loop_should_stop(loop), 1);
  EXPECT_EQ(crochet_loop_set(loop, "checkpoint.every_steps", "-1"), CROCHET_OK);
  EXPECT_EQ(crochet_loop_start(loop, nullptr), CROCHET_INVALID_ARGUMENT);
  crochet_loop_free(loop);
  crochet_loop_free(nullptr);
  crochet_checkpoint_close(nullptr);
  EXPECT_EQ(crochet_loop_should_stop(nullptr), 1);
  EXPECT_EQ(crochet_loop_start(nullptr, nullptr), CROCHET_INVALID_ARGUMENT);
  EXPECT_EQ(crochet_checkpoint_num_values(nullptr), 0);
  EXPECT_EQ(crochet_checkpoint_verify(nullptr), CROCHET_INVALID_ARGUMENT);
  EXPECT_EQ(crochet_journal_read("x", nullptr, nullptr), CROCHET_INVALID_ARGUMENT);
  EXPECT_STREQ(crochet_version(), CROCHET_VERSION);
  EXPECT_EQ(crochet_dtype_size(CROCHET_COMPLEX128), 16);
  EXPECT_EQ(crochet_dtype_size(CROCHET_STRING), 0);
  EXPECT_EQ(crochet_dtype_size(-5), 0);
}

}  // namespace
}  // namespace crochet
