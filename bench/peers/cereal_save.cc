// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A training whose state cereal writes to a file, which is renamed once it is complete:
// checkpoint_save.py calls these functions. save() and restore() return an error or null.
#include <cstddef>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <cereal/archives/binary.hpp>
#include <cereal/types/vector.hpp>
#include <cereal/version.hpp>

#include "../training_steps.h"

namespace {

std::vector<std::vector<float>> state;

std::string dotted(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

const char* error_of(const std::function<void()>& work) {
  static std::string text;
  try {
    work();
    return nullptr;
  } catch (const std::exception& error) {
    text = error.what();
    return text.c_str();
  }
}

}  // namespace

extern "C" {

const char* version() {
  static const std::string text =
      dotted(CEREAL_VERSION_MAJOR, CEREAL_VERSION_MINOR, CEREAL_VERSION_PATCH);
  return text.c_str();
}

void add(const float* values, size_t size) { state.emplace_back(values, values + size); }

void step() {
  for (std::vector<float>& values : state) step_over(values, values);
}

const char* save(const char* path) {
  return error_of([path] {
    const std::string temporary = std::string(path) + ".tmp";
    std::ofstream file;
    file.exceptions(std::ios::failbit | std::ios::badbit);
    file.open(temporary, std::ios::binary);
    cereal::BinaryOutputArchive{file}(state);
    file.close();
    std::filesystem::rename(temporary, path);
  });
}

const char* restore(const char* path) {
  return error_of([path] {
    std::ifstream file(path, std::ios::binary);
    cereal::BinaryInputArchive{file}(state);
  });
}

}  // extern "C"
