// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

struct TSL_Status;  // TF_Status is an alias of it.

namespace crochet::inline v0::tensorflow::internal {

// The result of a call to TensorFlow.
//
//   Status status;
//   TF_SessionRun(..., status.get());
//   status.check("run of train");
class Status {
 public:
  Status();
  ~Status();
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;

  TSL_Status* get() { return status_; }
  bool ok() const;
  std::string_view message() const;
  // Returns if the call succeeded. Throws: the error for TensorFlow's code, "<what>: <message>". If
  // the message names the operation that failed, "<what>: operation "<name>": <message>". The code
  // of a call that was cancelled as a member of the cluster is lost is that member's: ABORTED or
  // UNAVAILABLE.
  void check(std::string_view what) const;

 private:
  TSL_Status* status_;
};

// The first operation in a message in TensorFlow's notation, {{node name}}; "" if there is none.
std::string_view failed_operation(std::string_view message);

}  // namespace crochet::inline v0::tensorflow::internal
