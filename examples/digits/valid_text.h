// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "digits_data.h"

namespace digits {

// `samples` lines; the pixels and the class depend on the line.
inline std::string valid_text(int samples) {
  std::string text;
  for (int sample = 0; sample < samples; ++sample) {
    for (int pixel = 0; pixel < kPixels; ++pixel)
      text += std::to_string((sample + pixel) % 17) + ",";
    text += std::to_string(sample % kClasses) + "\n";
  }
  return text;
}

}  // namespace digits
