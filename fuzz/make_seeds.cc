// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes inputs that a fuzzer would not find, since they are long, deep and structured:
//
//   make_seeds <directory>      <directory>/<target>/<name> for each
//
// Each one, or one like it, once broke a parser.
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "crochet/checkpoint/bundle/internal/bundle_format.h"
#include "crochet/checkpoint/format/internal/slice_key.h"
#include "crochet/checkpoint/format/internal/stored_tensor.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_format.h"
#include "crochet/summary/internal/record_file.h"
#include "crochet/tensor/tensor_slice.h"
#include "tests/support/raw_bundle.h"
#include "tests/support/raw_torch.h"

using namespace crochet;
using namespace crochet::internal;

namespace {

constexpr size_t kDepth = 100'000;

std::string nested(const std::string& open, const std::string& close) {
  std::string text;
  for (size_t i = 0; i < kDepth; ++i) text += open;
  for (size_t i = 0; i < kDepth; ++i) text += close;
  return text;
}

std::string many(const std::string& item, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + item;
  return text;
}

std::map<std::string, std::string> sidecars() {
  return {{"nested-step", "{\"step\":" + nested("[", "]") + "}"},
          {"nested-unknown", "{\"x\":" + nested("{\"a\":", "}") + "}"},
          {"nested-metric", "{\"metrics\":{\"loss\":" + nested("[", "]") + "}}"},
          {"open-brackets", std::string(kDepth, '[')},
          {"brackets-in-strings", "{\"build\":\"" + std::string(kDepth, '[') + "\\\"[\"}"},
          {"long-argument", "{\"command_line\":[\"" + std::string(kDepth, 'x') + "\"]}"},
          {"many-arguments", "{\"command_line\":[" + many("\"a\"", 50'000) + "]}"},
          {"wrong-and-long", "{\"pinned\":\"" + std::string(kDepth, '\x1b') + "\"}"},
          {"year-9999", "{\"step\":1,\"retention_time\":253402300799}"}};
}

std::map<std::string, std::string> journals() {
  const std::string stamp = R"("step":5,"time":1.5,"steady":2})";
  const std::string line = R"({"event":"x","life":7,)" + stamp;
  return {{"many-lines", many(line + "\n", 2'000)},
          {"torn", line + "\n" + line.substr(0, 20)},
          {"zeros", line + "\n" + std::string(kDepth, '\0')},
          {"nested", R"({"event":)" + nested("[", "]") + R"(,"life":7,)" + stamp},
          {"long-line", R"({"event":")" + std::string(kDepth, 'x') + R"(","life":7,)" + stamp},
          {"last-life", R"({"event":"x","life":9007199254740992,)" + stamp},
          {"request", R"({"id":"1","verb":"limit","at_step":7,"when_saved":true})"},
          {"answer", R"({"id":"1","text":"yes"})"}};
}

std::map<std::string, std::string> states() {
  std::string paths;
  for (int i = 0; i < 5000; ++i)
    paths += "all_model_checkpoint_paths: \"m-" + std::to_string(i) + "\"\n";
  return {{"nested-messages", nested("a{", "}")},
          {"nested-lists", nested("a:[", "]")},
          {"open-messages", nested("a<", "")},
          {"many-paths", "model_checkpoint_path: \"m-1\"\n" + paths},
          {"names-with-escapes", "model_checkpoint_path: \"\\033[2J\\n\\x9b\"\n"}};
}

// The index of a tensor "t" in slices, stored one after another or all in the same bytes.
std::string sliced(const Shape& shape, const std::vector<TensorSlice>& slices, bool same_bytes) {
  std::map<std::string, std::string> table{{"", encode(BundleHeader{})}};
  StoredTensor whole{.dtype = DType::kUint8, .shape = shape, .slices = slices};
  table["t"] = encode(whole);
  int64_t offset = 0;
  for (const TensorSlice& slice : slices) {
    StoredTensor part{.dtype = DType::kUint8, .shape = shape_of(slice), .offset = offset};
    part.size = part.shape.num_elements();
    if (!same_bytes) offset += part.size;
    table[slice_key("t", slice)] = encode(part);
  }
  return encode_table(table);
}

std::map<std::string, std::string> indexes() {
  constexpr int64_t kCount = 20'000;
  std::vector<TensorSlice> rows, columns, few, across, overlapping;
  for (int64_t i = 0; i < kCount; ++i) {
    rows.push_back({{i, 1}});
    columns.push_back({{0, 2}, {i, 1}});
    overlapping.push_back({{0, 1}, {i, 2}});
  }
  for (int64_t i = 0; i < 64; ++i) few.push_back({{i, 1}, {0, 4}});
  across = {{{0, 1}, {0, 2}}, {{1, 2}, {0, 1}}, {{2, 1}, {1, kCount}}, {{0, 2}, {kCount, 1}}};
  for (int64_t i = 2; i < kCount; ++i) across.push_back({{0, 1}, {i, 1}});
  return {{"slices", sliced({kCount}, rows, false)},
          {"slices-of-columns", sliced({2, kCount}, columns, false)},
          {"slices-in-the-data", sliced({64, 4}, few, false)},
          {"slices-sharing-bytes", sliced({kCount}, rows, true)},
          {"slices-across-each-other", sliced({3, kCount + 1}, across, false)},
          {"slices-overlapping", sliced({1, kCount + 1}, overlapping, false)}};
}

std::string safetensors_of(const std::string& header) {
  std::string bytes(kSafetensorsLengthBytes, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i));
  return bytes + header;
}

std::map<std::string, std::string> safetensors() {
  std::string shared;
  for (int i = 0; i < 5000; ++i)
    shared += (i == 0 ? "{\"" : ",\"") + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  const std::string one = R"("dtype":"U8","shape":[],"data_offsets":[0,1])";
  return {
      {"null-metadata", safetensors_of("{\"__metadata__\":null,\"\":{" + one + "}}") + 'x'},
      {"other-fields", safetensors_of(" {\"a\":{\"x\":[{\"y\":1}]," + one + "}}") + 'x'},
      {"alias", safetensors_of("{\"__metadata__\":{\"b\":\"a\"},\"a\":{" + one + "}}") + 'x'},
      {"unknown-type",
       safetensors_of(R"({"a":{"dtype":"F7","shape":[8],"data_offsets":[0,1]}})") + 'x'},
      {"index", R"({"metadata":null,"more":[{"weight_map":{}}],"weight_map":{"a":"a","b":"b/c",)"
                R"("c":"gone","d":"../a","e":1,"f":"b/c"}})"},
      {"nested-tensor", safetensors_of("{\"a\":" + nested("[", "]") + "}")},
      {"nested-metadata", safetensors_of("{\"__metadata__\":" + nested("{\"a\":", "}") + "}")},
      {"many-empty", safetensors_of(shared + "}")}};
}

std::string pickle_of(const std::string& operations) { return "\x80\x02" + operations + "."; }

// Pickles: fuzz_torch makes archives of them.
std::map<std::string, std::string> torch_pickles() {
  // Lists with two references to the list before.
  std::string shared = "(]";
  for (int i = 0; i < 100; ++i) {
    const char memo = static_cast<char>(i);
    shared += std::string("q") + memo + "](h" + memo + "h" + memo + "e";
  }
  std::string keys = "}(";
  for (uint32_t i = 0; i < 5000; ++i) keys += pickled(std::to_string(i)) + pickled(i);
  const RawTorchTensor expanded{
      .storage = "DoubleStorage", .count = 8, .sizes = {1 << 20, 2, 1}, .strides = {0, 3, 7}};
  std::string lists = "](";
  for (int i = 0; i < 5000; ++i) lists += "](" + pickled("k") + "K\x01" + "e";
  const std::string object = "cm\nC\n)\x81";
  return {
      {"pairs", pickle_of("ccollections\nOrderedDict\n" + lists + "e\x85R")},
      {"object", pickle_of(object + "}" + pickled("a") + "K\x01sb")},
      {"slots", pickle_of(object + "N}" + pickled("a") + "K\x01s\x86" + "b")},
      {"module", pickle_of(object + "}(" + pickled("_parameters") + "}" + pickled("w") + "K\x01s" +
                           pickled("_buffers") + "}" + pickled("_modules") + "}ub")},
      {"defaultdict", pickle_of("cm\nd\n)R" + pickled("a") + "K\x01sK\x02" + "a")},
      {"protocol-4", std::string("\x80\x04\x95\x0c\0\0\0\0\0\0\0\x8c\1m\x94\x8c\1n\x93)R.", 23)},
      {"sets", pickle_of("](\x8f(K\x01\x90(K\x01\x91" + std::string("C\1xe"))},
      {"huge-integer", pickle_of(std::string("\x8b\x0c\0\0\0", 5) + std::string(12, '\x7f'))},
      {"keys", pickle_of("}(N\x88\x88K\x01K\x02K\x01\x86NC\1xNu")},
      {"nested-tuples", pickle_of("N" + std::string(kDepth, '\x85'))},
      {"open-marks", pickle_of(std::string(kDepth, '('))},
      {"list-in-itself", pickle_of(std::string("]q\0h\0a", 6))},
      {"shared-lists", pickle_of(shared + "t")},
      {"many-keys", pickle_of(keys + "u")},
      {"many-empty", pickle_of("](" + std::string(kDepth, ']') + "e")},
      {"expanded", pickle_of(expanded.pickled())},
      {"long-name", pickle_of("c" + std::string(kDepth, 'x') + "\n\n")}};
}

std::map<std::string, std::string> events() {
  std::string nested_message;  // Field 5, nested in itself.
  for (int i = 0; i < 1000; ++i) {
    std::string length;
    for (size_t left = nested_message.size(); true; left >>= 7) {
      length += static_cast<char>((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
      if (left <= 0x7f) break;
    }
    nested_message = '\x2a' + length + nested_message;
  }
  std::string record, long_record;
  internal::append_record(record, nested_message);
  internal::append_record(long_record, std::string(kDepth, '\0'));
  return {{"nested-summary", record}, {"zeros", long_record}};
}

void write(const std::filesystem::path& directory,
           const std::map<std::string, std::string>& inputs) {
  std::filesystem::create_directories(directory);
  for (const auto& [name, content] : inputs)
    put_file(FileSystem::posix(), directory / name, content);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_seeds DIRECTORY\n");
    return 2;
  }
  const std::filesystem::path directory = argv[1];
  write(directory / "sidecar", sidecars());
  write(directory / "journal", journals());
  write(directory / "state", states());
  write(directory / "index", indexes());
  write(directory / "safetensors", safetensors());
  write(directory / "torch", torch_pickles());
  write(directory / "events", events());
  return 0;
}
