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
  m.cases = {{"one", 1, 0, 0, 0, "bf16", "cold"}, {"two", 1, 0, 0, 0, "bf16", "cold"}};
  m.variants = {"a", "b"};
  m.baseline = "a";
  m.seed = 1;
  m.environment.binary_hash = "abc";
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
  EXPECT_THAT(one([](Manifest& m) { m.environment.binary_hash = "def"; }), HasSubstr("program"));
  EXPECT_THAT(one([](Manifest& m) { m.cases[1].name = "three"; }),
              HasSubstr("two (weight 1, 0 bytes), now three"));
  EXPECT_THAT(one([](Manifest& m) { m.cases[1].weight = 2; }), HasSubstr("weight 2"));
  EXPECT_THAT(one([](Manifest& m) { m.cases[1].bytes = 9; }), HasSubstr("now two (weight 1, 9 bytes)"));
}

TEST(ManifestDifferences, CaseListsOfOtherLengthsSayWhere) {
  Manifest now = Some();
  now.cases.pop_back();
  EXPECT_THAT(ManifestDifferences(Some(), now), ElementsAre("case list was 2 long, now 1 long",
                                                            "case was two (weight 1, 0 bytes), now missing"));
  now.cases.clear();
  EXPECT_THAT(ManifestDifferences(now, Some()), ElementsAre("case list was 0 long, now 2 long",
                                                            "case was missing, now one (weight 1, 0 bytes)"));
}

}  // namespace
}  // namespace pagoda::judge
