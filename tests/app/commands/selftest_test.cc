// `pagoda selftest` from outside, on a case and with launches that take seconds; its verdicts mean nothing
// then.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/sys/process.h"

namespace pagoda::app {
namespace {

class Selftest : public testing::Test {
 protected:
  sys::ProcessResult Run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(),
                     {PAGODA_TEST_PROGRAM, "selftest", "--cases", "b1_h4_kv2_s64_bs16_hd64_bf16_decode_warm",
                      "--launches", "1", "--wait", "0", "--json", "--out", directory_.string()});
    sys::ProcessSpec spec;
    spec.argv = std::move(arguments);
    spec.timeout_s = 280;
    return sys::RunProcess(spec);
  }
  void SetUp() override { std::filesystem::remove_all(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path directory_ = std::filesystem::path(testing::TempDir()) / "pagoda_selftest";
};

TEST_F(Selftest, CatchesWhatIsPlantedAndGoesOnFromWhereItWas) {
  const sys::ProcessResult one = Run({"--runs", "1"});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  const auto first = nlohmann::json::parse(one.out);
  EXPECT_EQ(first["arms"].size(), 7U);
  EXPECT_GT(first["gate"]["wrong"], 50);
  EXPECT_EQ(first["gate"]["wrong"], first["gate"]["caught"]);
  EXPECT_EQ(first["gate"]["right"], first["gate"]["passed"]);

  EXPECT_EQ(Run({"--runs", "1"}).exit_code, 2);  // holds a self-test already
  const auto record = directory_ / "run-0001" / "records.jsonl";
  const auto size = std::filesystem::file_size(record);
  const sys::ProcessResult two = Run({"--runs", "2", "--resume"});
  ASSERT_EQ(two.exit_code, 0) << two.err;
  EXPECT_EQ(std::filesystem::file_size(record), size);
  const auto second = nlohmann::json::parse(two.out);
  EXPECT_EQ(second["runs"], 2);
  EXPECT_EQ(second["gate"], first["gate"]);
}

}  // namespace
}  // namespace pagoda::app
