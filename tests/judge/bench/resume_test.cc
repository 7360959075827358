#include "judge/bench/resume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pagoda::judge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Manifest Some() {
  Manifest m;
  m.suite = "smoke";
  const Definition problem = {{"contexts", "10-20"}, {"softcap", "0"}};
  m.cases = {{"one", 1, 0, 0, 0, "bf16", "cold", problem}, {"two", 1, 0, 0, 0, "bf16", "cold", problem}};
  m.variants = {"a", "b"};
  m.baseline = "a";
  m.seed = 1;
  m.settings = {{"epoch_ms", "2"}};
  m.code = {{"pagoda", "01"}, {"./mine.so", "02"}};
  m.environment.binary_hash = "abc";
  m.environment.cpu = "Example CPU";
  m.environment.kernel = "Linux 6.1";
  m.environment.isa = "avx2";
  return m;
}

TEST(ManifestDifferences, NoneBetweenTheSameRunAtAnotherTime) {
  Manifest later = Some();
  later.run_id = "other";
  later.time = "2030";
  later.command_line = "pagoda bench smoke --resume";
  later.ceilings.bandwidth.push_back({});
  later.not_measured = {"x"};
  EXPECT_THAT(ManifestDifferences(Some(), later), IsEmpty());
}

TEST(ManifestDifferences, EachIsNamedWithBothValues) {
  const auto one = [](auto change) {
    Manifest now = Some();
    change(now);
    const auto list = ManifestDifferences(Some(), now);
    return list.empty() ? std::string("none") : list.front();
  };
  EXPECT_EQ(one([](Manifest& m) { m.seed = 2; }), "seed was 1, now 2");
  EXPECT_EQ(one([](Manifest& m) { m.suite = "llm"; }), "suite was smoke, now llm");
  EXPECT_EQ(one([](Manifest& m) { m.baseline = "b"; }), "baseline was a, now b");
  EXPECT_EQ(one([](Manifest& m) { m.threads = 4; }), "threads was 1, now 4");
  EXPECT_EQ(one([](Manifest& m) { m.launches = 5; }), "launches was 12, now 5");
  EXPECT_THAT(one([](Manifest& m) { m.delta = 0.02; }), HasSubstr("delta"));
  EXPECT_THAT(one([](Manifest& m) { m.sweeps = {{"s*", "context", {{"one", 1}, {"two", 2}}}}; }),
              HasSubstr("sweeps was [], now [\"s*\"]"));
  EXPECT_THAT(one([](Manifest& m) { m.variants = {"b", "a"}; }), HasSubstr("variants"));
  EXPECT_THAT(one([](Manifest& m) { m.programs = {{"a", "python3 a.py", "torch 2"}}; }),
              HasSubstr("external programs was [], now [\"a=python3 a.py (torch 2)\"]"));
  EXPECT_EQ(one([](Manifest& m) { m.cases[1].name = "three"; }), "case was two, now three");
  EXPECT_EQ(one([](Manifest& m) { m.cases[1].weight = 2; }), "two: weight was 1, now 2");
  EXPECT_EQ(one([](Manifest& m) { m.cases[1].dtype = "f32"; }), "two: dtype was bf16, now f32");
  EXPECT_EQ(one([](Manifest& m) { m.cases[1].cache = "warm"; }), "two: cache was cold, now warm");
  EXPECT_EQ(one([](Manifest& m) { m.cases[1].problem["contexts"] = "20-10"; }),
            "two: contexts was 10-20, now 20-10");
  EXPECT_EQ(one([](Manifest& m) { m.settings["epoch_ms"] = "5"; }), "epoch_ms was 2, now 5");
  EXPECT_EQ(one([](Manifest& m) { m.code[1].hash = "03"; }), "./mine.so (hash) was 02, now 03");
  EXPECT_EQ(one([](Manifest& m) { m.code.pop_back(); }), "files of code was 2, now 1");
}

TEST(ManifestDifferences, LaunchesOfAnotherInstructionSetOrMachineAreNoPartOfTheRun) {
  Manifest now = Some();
  now.environment.isa = "scalar";
  EXPECT_THAT(ManifestDifferences(Some(), now), ElementsAre("instruction set was avx2, now scalar"));
  now = Some();
  now.environment.cpu = "Another CPU";
  now.environment.kernel = "Linux 6.6";
  EXPECT_THAT(ManifestDifferences(Some(), now),
              ElementsAre("CPU was Example CPU, now Another CPU", "kernel was Linux 6.1, now Linux 6.6"));
}

TEST(ManifestDifferences, OfManyCasesTheFirstThatDiffersTellsAll) {
  Manifest now = Some();
  for (ManifestCase& c : now.cases) c.problem = {{"contexts", "20-10"}, {"softcap", "30"}};
  EXPECT_THAT(ManifestDifferences(Some(), now),
              ElementsAre("one: contexts was 10-20, now 20-10", "one: softcap was 0, now 30"));
}

TEST(ManifestDifferences, WhatAnOlderManifestLacksIsNotKnown) {
  Manifest older = Some();
  for (ManifestCase& c : older.cases) c.problem.clear();
  older.settings.clear();
  older.code.clear();
  older.environment.isa = older.environment.cpu = older.environment.kernel = "";
  EXPECT_THAT(ManifestDifferences(older, Some()), IsEmpty());
  Manifest now = Some();
  now.environment.binary_hash = "def";
  now.cases[0].bytes = 9;
  EXPECT_THAT(ManifestDifferences(older, now),
              ElementsAre("one: bytes was 0, now 9", "program (hash) was abc, now def"));
}

TEST(ManifestDifferences, CaseListsOfOtherLengthsSayWhere) {
  Manifest now = Some();
  now.cases.pop_back();
  EXPECT_THAT(ManifestDifferences(Some(), now),
              ElementsAre("case list was 2 long, now 1 long", "case was two, now missing"));
  now.cases.clear();
  EXPECT_THAT(ManifestDifferences(now, Some()),
              ElementsAre("case list was 0 long, now 2 long", "case was missing, now one"));
}

}  // namespace
}  // namespace pagoda::judge
