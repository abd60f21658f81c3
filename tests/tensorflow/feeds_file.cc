// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes the feeds of the first steps of examples/tensorflow, so that Python can use the same:
//
//   digits_feeds_file <steps> <file>
//
// For each step: the images, row-major float32, then the labels, int32.
#include <cstdlib>
#include <fstream>

#include "feeds.h"

using namespace digits;

namespace {

void write(std::ofstream& file, const crochet::Tensor& tensor) {
  file.write(reinterpret_cast<const char*>(tensor.bytes().data()),
             static_cast<std::streamsize>(tensor.num_bytes()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const Digits digits = load_digits(default_digits_file());
  std::ofstream file(argv[2], std::ios::binary);
  for (int64_t step = 0; step < std::atoll(argv[1]); ++step) {
    const Dataset batch = batch_of_step(digits.train, step);
    write(file, images_of(batch));
    write(file, labels_of(batch));
  }
  return file.flush() ? 0 : 1;
}
