// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Static objects that tests/lifetime/statics.cmake must find. Never run.
#include <string>

const std::string& planted_static(const char* text) {
  static const std::string planted(text);
  return planted;
}

const std::string& planted_thread_local(const char* text) {
  thread_local const std::string planted(text);
  return planted;
}
