// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What tests/lifetime/statics.cmake must find. It is never run.
#include <string>

const std::string& planted_static(const char* text) {
  static const std::string planted(text);
  return planted;
}

const std::string& planted_thread_local(const char* text) {
  thread_local const std::string planted(text);
  return planted;
}
