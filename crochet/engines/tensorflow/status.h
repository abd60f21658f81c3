// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

struct TSL_Status;  // What TF_Status is.

namespace crochet::tensorflow::internal {

// What a call of TensorFlow's reports.
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
  // Nothing if all went well. Throws: the error of TensorFlow's code, "<what>: <message>". Where
  // the message names the operation that failed, "<what>: operation "<name>": <message>".
  void check(std::string_view what) const;

 private:
  TSL_Status* status_;
};

// The first operation that a message names in TensorFlow's notation, {{node name}}; "" if none.
std::string_view failed_operation(std::string_view message);

}  // namespace crochet::tensorflow::internal
