// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Output and exit codes of the commands that only read.
#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/directory/internal/fast_place.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"
#include "tests/support/raw_torch.h"
#include "tools/inspection.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr double kTime = 1700000000;

TensorMap small_model(float w) {
  return {{"b", Tensor::from<int32_t>({-1, 4})},
          {"tags", Tensor::from({"a\n", "b"})},
          {"w", Tensor::from<float>({w, 2, 3, 4}, {2, 2})}};
}

class CommandsTest : public testing::Test {
 protected:
  // A run with two checkpoints.
  CommandsTest() {
    for (const int64_t step : {20, 100})
      put_checkpoint(files_, fmt::format("run/model.ckpt-{}", step),
                     small_model(static_cast<float>(step)),
                     {.step = step,
                      .unix_time = kTime + static_cast<double>(step),
                      .metrics = {{"loss", 0.25}, {"odd", std::nan("")}}});
    update_checkpoint_state(files_, "run", "run/model.ckpt-100", {"run/model.ckpt-20"});
  }

  ToolRun run(const std::vector<std::string>& arguments) { return tool::run(files_, arguments); }
  void expect_trouble(const std::vector<std::string>& arguments, const std::string& message) {
    const ToolRun result = run(arguments);
    EXPECT_EQ(result.code, kTrouble) << message;
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, AllOf(StartsWith("crochet: "), HasSubstr(message)));
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  }

  MemoryFileSystem files_;
};

TEST_F(CommandsTest, ListShowsTheNewestLastAndMarksIt) {
  const ToolRun result = run({"list", "run"});
  EXPECT_EQ(result.code, kSuccess);
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out,
              testing::MatchesRegex("step  time +size  state  metrics +name\n"
                                    "  20  2023-11-14T22:13:40Z +[0-9]+  ok     loss=0.25,odd=nan  "
                                    "model.ckpt-20\n"
                                    " 100  2023-11-14T22:15:00Z +[0-9]+  ok     loss=0.25,odd=nan  "
                                    "model.ckpt-100 \\*\n"));
  const ToolRun reversed = run({"list", "--newest-first", "--verify", "run"});
  EXPECT_LT(reversed.out.find("ckpt-100 *"), reversed.out.find("ckpt-20"));
  EXPECT_THAT(reversed.out, HasSubstr("sound"));
}

TEST_F(CommandsTest, ListAsJson) {
  const Json json = run({"list", "--json", "run"}).json();
  EXPECT_EQ(json["directory"], "run");
  EXPECT_EQ(json["newest"], "run/model.ckpt-100");
  EXPECT_EQ(json["verified"], false);
  ASSERT_EQ(json["checkpoints"].size(), 2u);
  const Json& first = json["checkpoints"][0];
  EXPECT_EQ(first["prefix"], "run/model.ckpt-20");
  EXPECT_EQ(first["step"], 20);
  EXPECT_EQ(first["unix_time"], kTime + 20);
  EXPECT_EQ(first["newest"], false);
  EXPECT_EQ(first["problems"], Json::array());
  EXPECT_EQ(first["metrics"]["loss"], 0.25);
  EXPECT_EQ(first["metrics"]["odd"], "NaN");
  EXPECT_EQ(first["size_bytes"], files_.file_size("run/model.ckpt-20.index") +
                                     files_.file_size("run/model.ckpt-20.data-00000-of-00001"));
}

// On the machine that has it.
TEST_F(CommandsTest, ListNamesANewerOneInMemory) {
  files_.create_directories("fast");
  internal::claim_fast_place(files_, "run/model.ckpt", "fast");
  EXPECT_EQ(run({"list", "--json", "run"}).json()["in_memory"], Json());
  put_checkpoint(files_, "fast/model.ckpt-150", small_model(150), {.step = 150});
  EXPECT_THAT(
      run({"list", "run"}).out,
      HasSubstr("in memory: fast/model.ckpt-150, from which a run on this machine resumes\n"));
  EXPECT_EQ(run({"list", "--json", "run"}).json()["in_memory"], "fast/model.ckpt-150");
  files_.remove("fast/model.ckpt.life");
  EXPECT_THAT(run({"list", "run"}).out, Not(HasSubstr("in memory")));
  files_.create_directories("fast/model.ckpt.life");  // Cannot be read.
  EXPECT_EQ(run({"list", "run"}).code, kSuccess);
}

// Data that is too short, or an index of another save, is detected without reading the data.
TEST_F(CommandsTest, ListDetectsDamageVisibleFromOutside) {
  files_.truncate("run/model.ckpt-20.data-00000-of-00001", 10);
  const ToolRun result = run({"list", "run"});
  EXPECT_EQ(result.code, kNegative);
  EXPECT_THAT(result.out, HasSubstr("damaged"));
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("found 10 bytes, expected at least"), HasSubstr("from the sidecar")));
  files_.remove("run/model.ckpt-100.data-00000-of-00001");
  EXPECT_THAT(run({"list", "run"}).err, HasSubstr("there is no such file"));
}

TEST_F(CommandsTest, ListVerifyReadsAll) {
  damage(files_, "run/model.ckpt-20.data-00000-of-00001", 3);
  EXPECT_EQ(run({"list", "run"}).code, kSuccess);
  const ToolRun result = run({"list", "--verify", "run"});
  EXPECT_EQ(result.code, kNegative);
  EXPECT_THAT(result.err, HasSubstr("crc32c"));
}

TEST_F(CommandsTest, ACheckpointRemovedMeanwhileIsNotDamaged) {
  const internal::FoundCheckpoint found = internal::look_at_checkpoint(files_, "run/model.ckpt-20");
  EXPECT_FALSE(inspect(files_, found, Depth::kEverything).is_gone);
  files_.remove("run/model.ckpt-20.data-00000-of-00001");
  EXPECT_FALSE(inspect(files_, found, Depth::kEverything).is_sound());
  files_.remove("run/model.ckpt-20.index");
  const Inspection gone = inspect(files_, found, Depth::kEverything);
  EXPECT_TRUE(gone.is_gone);
  EXPECT_TRUE(gone.is_sound());
}

TEST_F(CommandsTest, ListWithoutCheckpointsIsNegative) {
  files_.create_directories("empty");
  put_file(files_, "empty/git.index", "not ours");
  const ToolRun result = run({"list", "empty"});
  EXPECT_EQ(result.code, kNegative);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_EQ(result.err, "crochet: empty: no checkpoint in this directory\n");
  EXPECT_EQ(run({"list", "--json", "empty"}).json()["checkpoints"], Json::array());
  expect_trouble({"list", "nowhere"}, "nowhere: no such directory");
  expect_trouble({"list", "empty/git.index"},
                 "empty/git.index: a file; a directory was expected. \"crochet show "
                 "empty/git.index\" lists the values of one checkpoint");
}

TEST_F(CommandsTest, ShowPrintsTypesShapesAndStatistics) {
  const ToolRun result = run({"show", "run/model.ckpt-20"});
  EXPECT_EQ(result.code, kSuccess);
  EXPECT_EQ(result.out,
            "type     shape  min  max  mean  name\n"
            "int32    [2]     -1    4   1.5  b\n"
            "string   [2]      -    -     -  tags\n"
            "float32  [2,2]    2   20  7.25  w\n");
}

TEST_F(CommandsTest, ShowAcceptsAnyPathOfACheckpoint) {
  const std::string expected = run({"show", "run/model.ckpt-100"}).out;
  for (const char* const path :
       {"run", "run/", "run/checkpoint", "run/model.ckpt-100.index",
        "run/model.ckpt-100.data-00000-of-00001", "run/model.ckpt-100.json"})
    EXPECT_EQ(run({"show", path}).out, expected) << path;
  EXPECT_NE(run({"show", "run/model.ckpt-20.index"}).out, expected);
}

TEST_F(CommandsTest, ReportsPathsThatAreNotCheckpoints) {
  expect_trouble({"show", "nowhere"}, "nowhere: no such checkpoint, file or directory");
  expect_trouble({"show", "run/model.ckpt"},
                 "no such checkpoint; found model.ckpt-20, model.ckpt-100");
  put_file(files_, "run/metrics.jsonl", "{}");
  expect_trouble({"show", "run/metrics.jsonl"}, "not a file of a checkpoint");
  put_file(files_, "run/model.ckpt-7.data-00000-of-00001", "left over");
  expect_trouble({"show", "run/model.ckpt-7.data-00000-of-00001"},
                 "there is no run/model.ckpt-7.index");
  files_.create_directories("empty");
  expect_trouble({"show", "empty"}, "no checkpoint in this directory");
  put_file(files_, "old", "TensorFlow's V1 format");
  expect_trouble({"show", "old"}, "old");
}

TEST_F(CommandsTest, TheNewestIsTheOneARunWouldRestore) {
  put_checkpoint(files_, "run/best-999", small_model(9));
  EXPECT_THAT(run({"list", "run"}).out, HasSubstr("model.ckpt-100 *"));
  // After a kill the state file may lag one save behind.
  put_checkpoint(files_, "run/model.ckpt-101", small_model(9));
  EXPECT_THAT(run({"list", "run"}).out, HasSubstr("model.ckpt-101 *"));
  files_.remove("run/checkpoint");
  EXPECT_THAT(run({"list", "run"}).out, Not(HasSubstr("*")));
  expect_trouble({"show", "run"}, "found several checkpoints, name one: best-999");
}

TEST_F(CommandsTest, ShowFiltersAndShowsValues) {
  EXPECT_EQ(
      run({"show", "--only", "[bt]*", "--ignore", "b", "--values", "1", "--no-stats", "run"}).out,
      "type    shape  name\n"
      "string  [2]    tags\n"
      "  \"a\\n\" ...\n");
  EXPECT_THAT(run({"show", "--values", "9", "--only", "w", "run"}).out,
              HasSubstr("\n  100 2 3 4\n"));
  const ToolRun none = run({"show", "--only", "x", "run"});
  EXPECT_EQ(none.code, kNegative);
  EXPECT_THAT(none.err, HasSubstr("no such tensor"));
}

TEST_F(CommandsTest, ShowAsJson) {
  const Json json = run({"show", "--json", "--values", "1", "run/model.ckpt-20"}).json();
  EXPECT_EQ(json["checkpoint"], "run/model.ckpt-20");
  ASSERT_EQ(json["tensors"].size(), 3u);
  EXPECT_EQ(json["tensors"][2],
            Json::parse(R"({"name": "w", "type": "float32", "shape": [2, 2], "num_slices": 0,
                            "min": 2.0, "max": 20.0, "mean": 7.25, "num_nan": 0, "num_infinite": 0,
                            "values": [20.0], "problem": null})"));
  EXPECT_EQ(json["tensors"][1]["values"], Json::array({"a\n"}));
  EXPECT_EQ(json["tensors"][1]["min"], nullptr);
}

TEST_F(CommandsTest, ShowContinuesAfterADamagedTensor) {
  damage(files_, "run/model.ckpt-20.data-00000-of-00001", 0);  // "b" comes first.
  const ToolRun result = run({"show", "run/model.ckpt-20"});
  EXPECT_EQ(result.code, kNegative);
  EXPECT_THAT(result.out, AllOf(HasSubstr("b (damaged)\n"), HasSubstr("7.25  w\n")));
  EXPECT_THAT(result.err, AllOf(HasSubstr("crc32c of \"b\""), Not(HasSubstr("\"w\""))));
  // Types and shapes need no data.
  EXPECT_EQ(run({"show", "--no-stats", "run/model.ckpt-20"}).code, kSuccess);
}

TEST_F(CommandsTest, ACheckpointWithoutTensorsIsValid) {
  put_checkpoint(files_, "run/x", {});
  put_checkpoint(files_, "run/y", {});
  for (const std::vector<std::string>& command : {std::vector<std::string>{"show", "run/x"},
                                                  {"verify", "run/x"},
                                                  {"diff", "run/x", "run/y"},
                                                  {"convert", "run/x", "run/z"}})
    EXPECT_EQ(run(command).code, kSuccess) << command.front();
}

TEST_F(CommandsTest, ShowCountsNonFiniteValues) {
  put_checkpoint(files_, "run/x", {{"w", Tensor::from<float>({NAN, 1, INFINITY, -INFINITY})}});
  EXPECT_THAT(run({"show", "run/x"}).out, HasSubstr(" 1    1     1  w (1 nan, 2 inf)\n"));
}

// An element type of torch that is not supported.
TEST_F(CommandsTest, AnUnsupportedTypeIsNotDamage) {
  const internal::RawTorchTensor tensor{
      .storage = "ComplexHalfStorage", .count = 1, .sizes = {1}, .strides = {1}};
  put_file(files_, "x.pt",
           internal::torch_archive("}" + internal::pickled("x") + tensor.pickled() + 's', {"abcd"})
               .bytes());
  const ToolRun shown = run({"show", "x.pt"});
  EXPECT_EQ(shown.code, kSuccess) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("x (cannot be read)\n"));
  EXPECT_EQ(run({"verify", "x.pt"}).code, kSuccess);
  EXPECT_EQ(run({"diff", "x.pt", "x.pt"}).code, kTrouble);
}

// One is a number of a byte, the other has two in a byte.
TEST_F(CommandsTest, SmallNumbersAreShownComparedAndCopied) {
  const std::string header = R"({"e":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]},)"
                             R"("f":{"dtype":"F4","shape":[2],"data_offsets":[2,3]}})";
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  put_file(files_, "x.safetensors", length + header + "\x38\xfe\x72");
  const ToolRun shown = run({"show", "--values", "2", "x.safetensors"});
  EXPECT_EQ(shown.code, kSuccess) << shown.err;
  EXPECT_EQ(shown.out,
            "type           shape   min  max    mean  name\n"
            "float8_e4m3fn  [2]    -448    1  -223.5  e\n"
            "  1 -448\n"
            "float4_e2m1fn  [2]       1    6     3.5  f\n"
            "  1 6\n");
  EXPECT_EQ(run({"convert", "x.safetensors", "y.safetensors"}).code, kSuccess);
  EXPECT_TRUE(read_file(files_, "y.safetensors").ends_with("\x38\xfe\x72"));
  EXPECT_EQ(run({"diff", "x.safetensors", "y.safetensors"}).code, kSuccess);
  EXPECT_EQ(run({"convert", "x.safetensors", "bundle"}).code, kSuccess);
  EXPECT_EQ(run({"diff", "x.safetensors", "bundle"}).code, kSuccess);
  put_file(files_, "z.safetensors", length + header + "\x39\xfe\x72");
  EXPECT_EQ(run({"diff", "x.safetensors", "z.safetensors"}).code, kNegative);
  EXPECT_EQ(run({"diff", "--rtol", "0.2", "x.safetensors", "z.safetensors"}).code, kSuccess);
}

TEST_F(CommandsTest, NamesAreEscaped) {
  put_checkpoint(files_, "run/x",
                 {{"a\x1b[31m\nb", Tensor::scalar<float>(1)}, {"\xff", Tensor::scalar<float>(1)}});
  const ToolRun result = run({"show", "run/x"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("a\\x1b[31m\\nb\n"), HasSubstr("\\xff\n")));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
  const Json json = run({"show", "--json", "run/x"}).json();
  EXPECT_EQ(json["tensors"][0]["name"], "a\x1b[31m\nb");
  EXPECT_EQ(json["tensors"][1]["name"], "\\xff");
  expect_trouble({"show", "no\x1bwhere\n"}, "no\\x1bwhere\\n");
}

TEST_F(CommandsTest, VerifyReportsAllDamage) {
  EXPECT_EQ(run({"verify", "run"}).out, "run/model.ckpt-20: sound\nrun/model.ckpt-100: sound\n");
  const std::string data = "run/model.ckpt-20.data-00000-of-00001";
  damage(files_, data, 0);
  damage(files_, data, files_.file_size(data) - 1);
  const ToolRun result = run({"verify", "run"});
  EXPECT_EQ(result.code, kNegative);
  EXPECT_THAT(result.out, AllOf(HasSubstr("model.ckpt-20: damaged: " + data + ": crc32c of \"b\""),
                                HasSubstr("crc32c of \"w\""), Not(HasSubstr("\"tags\"")),
                                HasSubstr("run/model.ckpt-100: sound\n")));
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_EQ(run({"verify", "run/model.ckpt-100.index"}).code, kSuccess);
  const ToolRun quiet = run({"verify", "-q", "run"});
  EXPECT_EQ(quiet.code, kNegative);
  EXPECT_THAT(quiet.out + quiet.err, IsEmpty());
  const Json json = run({"verify", "--json", "run"}).json();
  EXPECT_EQ(json["sound"], false);
  EXPECT_EQ(json["checkpoints"][0]["problems"].size(), 2u);
  EXPECT_EQ(json["checkpoints"][1]["sound"], true);
}

// An intact index of another save.
TEST_F(CommandsTest, VerifyComparesWithTheSidecar) {
  put_checkpoint(files_, "run/model.ckpt-20", small_model(1));
  const ToolRun result = run({"verify", "run/model.ckpt-20"});
  EXPECT_EQ(result.code, kNegative);
  EXPECT_THAT(result.out, HasSubstr("found masked crc32c"));
  files_.remove("run/model.ckpt-20.json");
  EXPECT_EQ(run({"verify", "run/model.ckpt-20"}).code, kSuccess);
  put_file(files_, "run/model.ckpt-20.json", "{");  // A checkpoint does not need its sidecar.
  const ToolRun without = run({"verify", "run/model.ckpt-20"});
  EXPECT_EQ(without.code, kSuccess);
  EXPECT_THAT(without.err, HasSubstr("model.ckpt-20.json: damaged"));
}

TEST_F(CommandsTest, DiffPrintsNothingForEqualCheckpoints) {
  put_checkpoint(files_, "copy/m-20", small_model(20));
  const ToolRun result = run({"diff", "run/model.ckpt-20", "copy"});
  EXPECT_EQ(result.code, kSuccess);
  EXPECT_THAT(result.out + result.err, IsEmpty());
}

TEST_F(CommandsTest, DiffReportsAllKindsOfDifference) {
  TensorMap other = small_model(20.5);
  other["b"] = Tensor::from<int64_t>({-1, 4});
  other.erase("tags");
  other["new"] = Tensor::scalar<float>(1);
  put_checkpoint(files_, "other/m-1", other);
  const ToolRun result = run({"diff", "run/model.ckpt-20", "other"});
  EXPECT_EQ(result.code, kNegative);
  EXPECT_EQ(result.out,
            "! b: int32 [2] and int64 [2]\n"
            "> new: float32 []\n"
            "< tags: string [2]\n"
            "! w: 1 of 4 elements differ, by at most 0.5 (relative 0.0243902), first at [0,0]: 20 "
            "and 20.5\n");
  const Json json = run({"diff", "--json", "run/model.ckpt-20", "other"}).json();
  EXPECT_EQ(json["equal"], false);
  EXPECT_EQ(json["num_compared"], 4);
  ASSERT_EQ(json["differences"].size(), 4u);
  EXPECT_EQ(json["differences"][0]["kind"], "type_or_shape");
  EXPECT_EQ(json["differences"][1]["kind"], "only_in_b");
  EXPECT_EQ(json["differences"][1]["a"], nullptr);
  EXPECT_EQ(json["differences"][2]["kind"], "only_in_a");
  EXPECT_EQ(json["differences"][3]["max_absolute"], 0.5);
  EXPECT_EQ(json["differences"][3]["first"]["b"], 20.5);
  EXPECT_THAT(run({"diff", "-q", "run", "other"}).out, IsEmpty());
}

TEST_F(CommandsTest, DiffAppliesToleranceAndFilters) {
  EXPECT_EQ(run({"diff", "run/model.ckpt-20", "run"}).code, kNegative);
  EXPECT_EQ(run({"diff", "--atol", "80", "run/model.ckpt-20", "run"}).code, kSuccess);
  EXPECT_EQ(run({"diff", "--rtol", "0.8", "run/model.ckpt-20", "run"}).code, kSuccess);
  EXPECT_EQ(run({"diff", "--rtol", "0.79", "run/model.ckpt-20", "run"}).code, kNegative);
  EXPECT_EQ(run({"diff", "--ignore", "w", "run/model.ckpt-20", "run"}).code, kSuccess);
  EXPECT_EQ(run({"diff", "--only", "b", "--only", "tags", "run/model.ckpt-20", "run"}).code,
            kSuccess);
  expect_trouble({"diff", "--only", "x", "run", "run"}, "no such tensor");
  expect_trouble({"diff", "--atol", "nan", "run", "run"}, "not a number of at least 0");
  expect_trouble({"diff", "--atol", "-1", "run", "run"}, "not a number of at least 0");
}

TEST_F(CommandsTest, DiffOfADamagedCheckpointIsTrouble) {
  damage(files_, "run/model.ckpt-20.data-00000-of-00001", 0);
  const ToolRun result = run({"diff", "run/model.ckpt-20", "run"});
  EXPECT_EQ(result.code, kTrouble);
  EXPECT_THAT(result.err, HasSubstr("crc32c of \"b\""));
  EXPECT_THAT(result.out, HasSubstr("! w: "));
}

TEST_F(CommandsTest, WrongCommandLinesAreTrouble) {
  expect_trouble({}, "subcommand is required");
  expect_trouble({"frobnicate"}, "crochet --help");
  expect_trouble({"show"}, "crochet show --help");
  expect_trouble({"show", "run", "--frob"}, "--frob");
  expect_trouble({"show", "run", "--values", "many"}, "many");
  expect_trouble({"show", "run", "--values", "-1"}, "-1");
  expect_trouble({"verify"}, "required");
  expect_trouble({"diff", "run"}, "required");
  expect_trouble({"list", "run", "--json=maybe"}, "");
}

TEST_F(CommandsTest, NamesTheCommandOrOptionThatWasMeant) {
  expect_trouble({"shwo", "run"}, "\"shwo\" is not a command; did you mean \"show\"?");
  expect_trouble({"vrfy"}, "\"vrfy\" is not a command; did you mean \"verify\"?");
  expect_trouble({"list", "run", "--verfy"},
                 "\"--verfy\" is not an option; did you mean \"--verify\"?");
  expect_trouble({"repair", "run", "--basenam=m"},
                 "\"--basenam\" is not an option; did you mean \"--basename\"?");
  EXPECT_EQ(run({"frobnicate"}).err,
            "crochet: \"frobnicate\" is not a command (see crochet --help)\n");
  expect_trouble({"show", "run", "--frob"}, "\"--frob\" is not an option (see");
  EXPECT_EQ(run({"show", "run", "--values", "x"}).err,
            "crochet: --values: \"x\" is not a whole number of at least 0 (see crochet show "
            "--help)\n");
}

TEST_F(CommandsTest, HelpAndVersionGoToStandardOutput) {
  const ToolRun help = run({"--help"});
  EXPECT_EQ(help.code, kSuccess);
  EXPECT_THAT(help.err, IsEmpty());
  for (const char* const command :
       {"list", "show", "verify", "diff", "convert", "repair", "pin", "unpin"}) {
    EXPECT_THAT(help.out, HasSubstr(std::string("\n  ") + command));
    const ToolRun own = run({command, "--help"});
    EXPECT_EQ(own.code, kSuccess);
    EXPECT_THAT(own.out, AllOf(HasSubstr("--json"), HasSubstr("Examples:\n  crochet "),
                               HasSubstr(std::string("crochet ") + command)));
  }
  EXPECT_THAT(run({"--version"}).out, testing::MatchesRegex("crochet [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_F(CommandsTest, AFailedOutputIsTrouble) {
  std::ostringstream out, err;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(run_tool({"list", "run"}, {.out = out, .err = err}, files_), kTrouble);
  EXPECT_EQ(err.str(), "crochet: standard output: cannot be written\n");
}

std::string golden(const std::string& name) {
  return fmt::format("{}/tests/golden/bundle/{}", CROCHET_SOURCE_DIR, name);
}

// Two states of two tensors of 8 MiB, in real files.
class LargeTensorsTest : public testing::Test {
 protected:
  LargeTensorsTest() {
    const Tensor v(DType::kFloat, {1 << 21});
    Tensor w(DType::kFloat, {1 << 21});
    float next = 0;
    for (float& value : w.mutable_flat<float>()) value = next++;
    put_checkpoint(files_, a_, {{"v", v}, {"w", w}});
    w.mutable_flat<float>()[7] = -1;
    put_checkpoint(files_, b_, {{"v", v}, {"w", w}});
  }
  void SetUp() override { reset_peak_buffer_usage(); }
  // The peak memory of the commands' tensors.
  size_t peak_bytes() { return buffer_usage().peak_num_bytes; }

  static constexpr size_t kTensorBytes = size_t{8} << 20;
  const TempDirectory directory_;
  FileSystem& files_ = FileSystem::posix();
  const std::string a_ = directory_ / "a", b_ = directory_ / "b";
};

TEST_F(LargeTensorsTest, AreMappedRatherThanRead) {
  const Json shown = run(files_, {"show", "--json", a_}).json();
  EXPECT_EQ(shown["tensors"][1]["max"], (1 << 21) - 1);
  const ToolRun difference = run(files_, {"diff", a_, b_});
  EXPECT_EQ(difference.code, kNegative);
  EXPECT_THAT(difference.out, HasSubstr("1 of 2097152 elements differ"));
  EXPECT_LT(peak_bytes(), kTensorBytes / 4);
}

TEST_F(LargeTensorsTest, AreReadIfMappingIsRefused) {
  MemoryFileSystem files;
  put_checkpoint(files, "a", {{"w", CheckpointReader(a_).read("w")}});
  const Json shown = run(files, {"show", "--json", "a"}).json();
  EXPECT_EQ(shown["tensors"][0]["max"], (1 << 21) - 1);
}

TEST_F(LargeTensorsTest, AreVerifiedToo) {
  damage(files_, b_ + ".data-00000-of-00001", 2 * kTensorBytes - 1);
  const ToolRun shown = run(files_, {"show", b_});
  EXPECT_EQ(shown.code, kNegative);
  EXPECT_THAT(shown.err, HasSubstr("crc32c of \"w\""));
  EXPECT_EQ(run(files_, {"diff", a_, b_}).code, kTrouble);
}

TEST_F(LargeTensorsTest, AreCopiedOneAtATime) {
  EXPECT_EQ(run(files_, {"convert", a_, directory_ / "a.safetensors"}).code, kSuccess);
  EXPECT_LT(peak_bytes(), kTensorBytes * 5 / 4);
  EXPECT_EQ(run(files_, {"diff", a_, directory_ / "a.safetensors"}).code, kSuccess);
}

TEST(GoldenCommandsTest, TensorFlowsBundlesAreShownAndSound) {
  FileSystem& files = FileSystem::posix();
  EXPECT_EQ(run(files, {"verify", golden("")}).code, kSuccess);
  const ToolRun types = run(files, {"show", golden("types")});
  EXPECT_EQ(types.code, kSuccess);
  for (const char* const line :
       {"float16     [2,3]             -2     3       0.5  types/float16\n",
        "bool        [2,3]          false  true       0.5  types/bool\n",
        "complex64   [2,3]              -     -  2.5+3.5i  types/complex64\n",
        "qint32      [2,3]             -2     3       0.5  types/qint32\n",
        "float32     [0,5]              -     -         -  empty\n",
        "string      [3]                -     -         -  tags\n"})
    EXPECT_THAT(types.out, HasSubstr(line));
  const Json slices = run(files, {"show", "--json", golden("slices")}).json();
  EXPECT_EQ(slices["tensors"][1]["name"], "grid");
  EXPECT_EQ(slices["tensors"][1]["num_slices"], 4);
  EXPECT_EQ(slices["tensors"][1]["mean"], 5.5);
  EXPECT_EQ(run(files, {"diff", golden("sharded"), golden("sharded")}).code, kSuccess);
}

}  // namespace
}  // namespace crochet::tool
