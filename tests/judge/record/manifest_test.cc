#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "judge/record/jsonl.h"
#include "judge/record/sample_records.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

template <typename Change>
std::string FieldOfError(Change change) {
  nlohmann::json json = nlohmann::json::parse(ToJson(SampleManifest()));
  change(json);
  try {
    ParseManifest(json.dump(), "manifest.json");
  } catch (const Error& error) {
    return error.field();
  }
  return "no error";
}

TEST(Manifest, ComesBackAsItWasWritten) {
  const auto path = std::filesystem::path(testing::TempDir()) / "pagoda_manifest_test.json";
  WriteManifest(path, SampleManifest());
  const Manifest got = ReadManifest(path);
  std::filesystem::remove(path);
  const Manifest want = SampleManifest();
  EXPECT_EQ(got.run_id, want.run_id);
  EXPECT_EQ(got.suite, want.suite);
  ASSERT_EQ(got.cases.size(), 2u);
  EXPECT_EQ(got.cases[0].weight, 2);
  EXPECT_EQ(got.cases[0].bytes, 1e9);
  EXPECT_EQ(got.cases[1].run_bytes, 256);
  EXPECT_EQ(got.cases[1].dtype, "f16");
  EXPECT_EQ(got.cases[1].cache, "warm");
  EXPECT_EQ(got.cases[1].problem, want.cases[1].problem);
  EXPECT_EQ(got.settings, want.settings);
  ASSERT_EQ(got.code.size(), 1u);
  EXPECT_EQ(got.code[0].path, "./mine.so");
  EXPECT_EQ(got.code[0].hash, "0123");
  EXPECT_EQ(got.environment.isa, "avx512");
  ASSERT_EQ(got.sweeps.size(), 1u);
  EXPECT_EQ(got.sweeps[0].name, "c*");
  EXPECT_EQ(got.sweeps[0].axis, "context");
  ASSERT_EQ(got.sweeps[0].points.size(), 2u);
  EXPECT_EQ(got.sweeps[0].points[1].case_name, "c1");
  EXPECT_EQ(got.sweeps[0].points[1].value, 128);
  EXPECT_EQ(got.variants, want.variants);
  EXPECT_EQ(got.baseline, want.baseline);
  ASSERT_EQ(got.programs.size(), 1u);
  EXPECT_EQ(got.programs[0].command, "python3 'a b.py'");
  EXPECT_EQ(got.launches, 16);
  EXPECT_EQ(got.delta, 0.02);
  EXPECT_EQ(got.seed, want.seed);
  EXPECT_EQ(got.environment.git_commit, "def");
  EXPECT_TRUE(got.environment.git_dirty);
  ASSERT_EQ(got.ceilings.bandwidth.size(), 2u);
  EXPECT_EQ(got.ceilings.bandwidth[0].gb_per_s, 11.5);
  ASSERT_EQ(got.ceilings.compute.size(), 1u);
  EXPECT_EQ(got.ceilings.compute[0].gflop_per_s, 101.5);
  ASSERT_EQ(got.unsupported.size(), 1u);
  EXPECT_EQ(got.unsupported[0].reason, "head_dim 100");
  EXPECT_EQ(got.not_measured, want.not_measured);
  EXPECT_EQ(ToJson(got), ToJson(want));
}

TEST(Manifest, WhatOlderOnesLackIsNotKnown) {
  nlohmann::json json = nlohmann::json::parse(ToJson(SampleManifest()));
  json.erase("settings");
  json.erase("code");
  json["environment"].erase("isa");
  for (nlohmann::json& c : json["cases"]) c.erase("problem");
  const Manifest older = ParseManifest(json.dump(), "manifest.json");
  EXPECT_TRUE(older.settings.empty());
  EXPECT_TRUE(older.code.empty());
  EXPECT_EQ(older.environment.isa, "");
  EXPECT_TRUE(older.cases[0].problem.empty());
}

TEST(Manifest, ThoseOfKeptResultsAreRead) {
  int read = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(PAGODA_TEST_DOCS "/results")) {
    if (entry.path().filename() != "manifest.json") continue;
    EXPECT_FALSE(ReadManifest(entry.path()).cases.empty());
    ++read;
  }
  EXPECT_GE(read, 8);
}

TEST(Changes, AreOfWhatBothName) {
  const Definition before = {{"a", "1"}, {"b", "2"}, {"only before", "3"}};
  const Definition after = {{"a", "1"}, {"b", "4"}, {"only after", "5"}};
  const std::vector<DefinitionChange> changes = Changes(before, after);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].name, "b");
  EXPECT_EQ(changes[0].before, "2");
  EXPECT_EQ(changes[0].after, "4");
  EXPECT_TRUE(Changes({}, after).empty());
}

TEST(Manifest, OlderOnesHaveNoSweeps) {
  nlohmann::json json = nlohmann::json::parse(ToJson(SampleManifest()));
  json.erase("sweeps");
  EXPECT_TRUE(ParseManifest(json.dump(), "manifest.json").sweeps.empty());
}

TEST(Manifest, BrokenFieldsAreNamed) {
  using J = nlohmann::json;
  EXPECT_EQ(FieldOfError([](J&) {}), "no error");
  EXPECT_EQ(FieldOfError([](J& j) { j["later"] = 1; }), "no error");
  EXPECT_EQ(FieldOfError([](J& j) { j.erase("programs"); }), "no error") << "older ones have none";
  EXPECT_EQ(FieldOfError([](J& j) { j["programs"][0]["command"] = 1; }),
            "manifest.json: programs[0].command");
  EXPECT_EQ(FieldOfError([](J& j) { j["settings"]["epoch_ms"] = 2; }), "manifest.json: settings.epoch_ms");
  EXPECT_EQ(FieldOfError([](J& j) { j["cases"][0]["problem"] = 2; }), "manifest.json: cases[0].problem");
  EXPECT_EQ(FieldOfError([](J& j) { j["code"][0].erase("hash"); }), "manifest.json: code[0].hash");
  EXPECT_EQ(FieldOfError([](J& j) { j["schema"] = 2; }), "manifest.json: schema");
  EXPECT_EQ(FieldOfError([](J& j) { j["cases"][1].erase("dtype"); }), "manifest.json: cases[1].dtype");
  EXPECT_EQ(FieldOfError([](J& j) { j["cases"][1]["weight"] = -1; }), "manifest.json: cases[1].weight");
  EXPECT_EQ(FieldOfError([](J& j) { j["sweeps"][0]["points"][1]["value"] = 64; }),
            "manifest.json: sweeps[0].points[1].value");
  EXPECT_EQ(FieldOfError([](J& j) { j["sweeps"][0]["points"][0]["value"] = 0; }),
            "manifest.json: sweeps[0].points[0].value");
  EXPECT_EQ(FieldOfError([](J& j) { j["sweeps"][0]["points"].erase(1); }), "manifest.json: sweeps[0].points");
  EXPECT_EQ(FieldOfError([](J& j) { j["variants"][0] = 3; }), "manifest.json: variants[0]");
  EXPECT_EQ(FieldOfError([](J& j) { j["launches"] = 0; }), "manifest.json: launches");
  EXPECT_EQ(FieldOfError([](J& j) { j["environment"] = nullptr; }), "manifest.json: environment");
  EXPECT_EQ(FieldOfError([](J& j) { j["ceilings"]["compute"][0]["threads"] = 0; }),
            "manifest.json: ceilings.compute[0].threads");
  EXPECT_EQ(FieldOfError([](J& j) { j["unsupported"] = "none"; }), "manifest.json: unsupported");
}

TEST(Manifest, TextThatIsNoManifestIsAnError) {
  EXPECT_THROW(ParseManifest("", "manifest.json"), Error);
  EXPECT_THROW(ParseManifest("{}", "manifest.json"), Error);
  EXPECT_THROW(ParseManifest(ToJson(SampleManifest()).substr(0, 300), "manifest.json"), Error);
  EXPECT_THROW(ReadManifest("/nonexistent/manifest.json"), Error);
}

}  // namespace
}  // namespace pagoda::judge
