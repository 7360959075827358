// Programs that are each wrong in one way are named for it, and cost the others nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/io/json.h"
#include "base/sys/process.h"
#include "judge/bench/case_name.h"
#include "judge/bench/launch_plan.h"
#include "judge/bench/process_runner.h"
#include "judge/record/jsonl.h"
#include "programs/programs.h"

namespace pagoda::app {
namespace {

using testing::HasSubstr;

const std::map<std::string, std::string> kFaults = {
    {"RefusesLater", "prepare: refused a case that it had taken before: only one thread"},
    {"Crashes", "run: was killed by signal 6"},
    {"Exits", "run: ended with exit code 3; its last words: out of memory"},
    {"Fails", "run: reported an error: no kernel for this CPU"},
    {"Garbage", "run at byte 1: parse error"},
    {"LongLine", "run: answered with a line of more than 65536 bytes"},
    {"NoTime", "run: ns = 0 is no time"},
    {"Exaggerates", "run: reported"},
    {"TakesForEver", "run: reported 1e+24 ms for calls that were answered after"},
    {"Talks", "wrote to standard output without being asked"},
    {"Stale", "other queries: stale: the output is still that of the call before"},
    {"Nothing", "call 1: o[0][0][0] was never written"},
    {"OffByAPage", "elements are outside the tolerance"},
    {"PastTheEnd", "out-of-bounds write at the output: byte 0 past the end"},
    {"Mutates", "an input was written to: K"},
    {"WrongLater", "call 10: 1 of 64 elements"},
    {"NaN", "= NaN, expected"},
    {"KeepsKeys", "elements are outside the tolerance"},
};

// Of HSTU: what only it has, and what is computed apart from softmax.
const std::map<std::string, std::string> kHstuFaults = {
    {"RefusesLater", "prepare: refused a case that it had taken before: only one thread"},
    {"Stale", "other queries: stale: the output is still that of the call before"},
    {"Nothing", "call 1: o[0][0][0] was never written"},
    {"OffByAPage", "elements are outside the tolerance"},
    {"PastTheEnd", "out-of-bounds write at the output: byte 0 past the end"},
    {"Mutates", "an input was written to: K"},
    {"MutatesTargetKeys", "an input was written to: target K"},
    {"MutatesTargetValues", "an input was written to: target V"},
    {"MutatesBias", "an input was written to: rab"},
    {"WrongLater", "call 10: 1 of "},
    {"NaN", "= NaN, expected"},
    {"KeepsKeys", "elements are outside the tolerance"},
    {"KeepsTargets", "elements are outside the tolerance"},
    {"ShiftsTargets", "elements are outside the tolerance"},
    {"IgnoresGroups", "elements are outside the tolerance"},
    {"IgnoresContextual", "elements are outside the tolerance"},
    {"IgnoresAttnLen", "elements are outside the tolerance"},
    {"IgnoresFullRows", "elements are outside the tolerance"},
    {"IgnoresBias", "elements are outside the tolerance"},
    {"IgnoresAlpha", "elements are outside the tolerance"},
};

std::vector<std::string> Gate(const std::string& suite, const char* variant,
                              const std::vector<std::string>& faults) {
  std::vector<std::string> argv = {PAGODA_TEST_PROGRAM, "gate", suite, "--json", "--variants", variant};
  for (const std::string& fault : faults) {
    argv.insert(argv.end(), {"--program", fault + "=" + BrokenProgram(fault)});
  }
  return argv;
}

// Each program with what the gate says of it, and the variant beside them right.
void ExpectNamed(const std::string& suite, const char* variant, size_t cases,
                 const std::map<std::string, std::string>& expected) {
  std::vector<std::string> names = {"Right"};
  for (const auto& [name, fault] : expected) names.push_back(name);
  const sys::ProcessResult r = sys::RunProcess({.argv = Gate(suite, variant, names), .timeout_s = 300});
  EXPECT_EQ(r.exit_code, 3) << r.err;
  const nlohmann::json report = io::ParseJson(r.out, "gate");
  EXPECT_EQ(report.at("total"), 3 * cases * (2 + expected.size()));
  std::map<std::string, std::string> faults;
  for (const nlohmann::json& run : report.at("runs")) {
    const std::string name = run.at("variant");
    if (run.at("passed")) continue;
    const std::string fault = run.at("fault");
    faults[name] += fault + "\n";
  }
  for (const auto& [name, fault] : expected) EXPECT_THAT(faults[name], HasSubstr(fault)) << name;
  for (const char* right : {variant, "Right"})
    EXPECT_EQ(faults.count(right), 0u) << right << ": " << faults[right];
}

TEST(BrokenPrograms, AreNamedByTheGateForWhatTheyAre) {
  ExpectNamed(WriteSmallSuite(testing::TempDir() + "programs.toml"), "gather", 1, kFaults);
}

TEST(BrokenPrograms, OfHstuAreNamedToo) {
  ExpectNamed(WriteSmallHstuSuite(testing::TempDir() + "hstu_programs.toml"), "hstu_fused", 2, kHstuFaults);
}

TEST(BrokenPrograms, ThatDontAnswerRightAreRefusedBeforeAnythingRuns) {
  for (const auto& [name, says] : std::map<std::string, std::string>{
           {"DiesBeforeHello", "hello: ended with exit code 1; its last words: no module named numpy"},
           {"SpeaksAnotherProtocol", "hello: hello.protocol = 2, and this program speaks 1"},
           {"ListsAnUnknownOp",
            "hello: hello.ops[0] = \"hstu\" is none of softmax_paged_attention, hstu_paged_attention"},
           {"ListsNoOp", "hello: hello.ops is empty"},
           {"DiesInPrepare", "prepare: ended with exit code 1; its last words: can't open the file"}}) {
    const std::string suite = WriteSmallSuite(testing::TempDir() + "refused_programs.toml");
    const sys::ProcessResult r = sys::RunProcess({.argv = Gate(suite, "gather", {name}), .timeout_s = 60});
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_THAT(r.err, HasSubstr(fmt::format("pagoda: error: --program {} {}", name, says)));
    EXPECT_EQ(r.out, "");
  }
}

TEST(BrokenPrograms, OneThatHangsIsKilledAndNamed) {
  judge::ProcessRunner runner({PAGODA_TEST_PROGRAM, "launch", "--program", "Right=" + BrokenProgram("Right"),
                               "--program", "Hangs=" + BrokenProgram("Hangs"), "--mark"},
                              testing::TempDir() + "hanging_program.mark", [] { return false; });
  const judge::GatePlan plan{.run_id = "r",
                             .spec = judge::ParseCaseName("b1_h2_kv1_s9_bs8_hd8_f32_decode"),
                             .runs = {{"Right", 2026}, {"Hangs", 2026}},
                             .threads = 2};
  const judge::ChildOutcome outcome = runner.Run(judge::ToJson(plan), 4);
  EXPECT_EQ(outcome.end, judge::ChildEnd::kTimedOut);
  EXPECT_EQ(outcome.mark, "Hangs");
  EXPECT_EQ(judge::ParseRecords(outcome.out, "gate").gates.size(), 1u) << "what was right is kept";
}

// A launch in which one arm goes wrong: it is the culprit, and the reason says why.
TEST(BrokenPrograms, AreTheCulpritsOfTheLaunchesThatTheyBreak) {
  for (const auto& [name, says] :
       std::map<std::string, std::string>{{"DiesInPrepare", "prepare: ended with exit code 1"},
                                          {"Crashes", "run: was killed by signal 6"},
                                          {"Boasts", "run: reported"},
                                          {"Exaggerates", "run: reported"},
                                          {"NeverRests", "run: still runs 250 ms after its answer"},
                                          {"PastTheEnd", "out-of-bounds write at the output"}}) {
    judge::ProcessRunner runner(
        {PAGODA_TEST_PROGRAM, "launch", "--program", "Right=" + BrokenProgram("Right"), "--program",
         name + "=" + BrokenProgram(name), "--mark"},
        testing::TempDir() + "broken_launch.mark", [] { return false; });
    judge::LaunchPlan plan{.run_id = "r",
                           .spec = judge::ParseCaseName("b1_h2_kv1_s9_bs8_hd8_f32_decode_warm"),
                           .seed = 7,
                           .threads = 2,
                           .arms = {{"Right", 0}, {name, 0}, {"Right", 1}},
                           .slot_order = {2, 0, 1},
                           .protocol = {}};
    plan.protocol.epoch_ns = 1e5;
    plan.protocol.blocks = plan.protocol.least_blocks = 2;
    const judge::ChildOutcome outcome = runner.Run(judge::ToJson(plan), 60);
    const auto launches = judge::ParseRecords(outcome.out, "launch").launches;
    ASSERT_EQ(launches.size(), 1u) << name << ": " << outcome.err;
    EXPECT_EQ(launches[0].culprit, name);
    EXPECT_THAT(launches[0].reason, HasSubstr(says));
  }
}

}  // namespace
}  // namespace pagoda::app
