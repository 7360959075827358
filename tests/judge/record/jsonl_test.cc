#include "judge/record/jsonl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "judge/record/sample_records.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class RecordFile : public testing::Test {
 protected:
  RecordFile() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ =
        std::filesystem::path(testing::TempDir()) / (std::string("pagoda_record_") + test->name() + ".jsonl");
    std::filesystem::remove(path_);
  }
  ~RecordFile() override { std::filesystem::remove(path_); }

  std::string Text() const {
    std::ostringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    return text.str();
  }
  void AppendText(std::string_view text) const {
    std::ofstream(path_, std::ios::binary | std::ios::app) << text;
  }

  std::filesystem::path path_;
};

std::string FieldOfError(const std::string& text) {
  try {
    ParseRecords(text, "records.jsonl");
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), StartsWith(error.field()));
    return error.field();
  }
  return "no error";
}

// The sample launch with one change, as the only line of a file.
template <typename Change>
std::string Changed(Change change) {
  nlohmann::json json = nlohmann::json::parse(ToJsonLine(SampleLaunch()));
  change(json);
  return json.dump() + "\n";
}

TEST_F(RecordFile, ComesBackAsItWasWritten) {
  {
    RecordWriter writer(path_);
    writer.Append(SampleGate());
    writer.Append(SampleLaunch());
  }
  RecordWriter(path_).Append(SampleGate());
  const Records records = ReadRecords(path_);
  ASSERT_EQ(records.launches.size(), 1u);
  ASSERT_EQ(records.gates.size(), 2u);
  EXPECT_EQ(records.torn_lines, 0);
  const LaunchRecord want = SampleLaunch();
  const LaunchRecord& got = records.launches[0];
  EXPECT_EQ(got.run_id, want.run_id);
  EXPECT_EQ(got.case_name, want.case_name);
  EXPECT_EQ(got.launch, want.launch);
  EXPECT_EQ(got.attempt, want.attempt);
  EXPECT_EQ(got.seed, want.seed);
  EXPECT_EQ(got.cache, want.cache);
  EXPECT_EQ(got.threads, want.threads);
  EXPECT_EQ(got.calls_per_epoch, want.calls_per_epoch);
  EXPECT_EQ(got.blocks, want.blocks);
  EXPECT_EQ(got.slot_order, want.slot_order);
  ASSERT_EQ(got.arms.size(), 2u);
  EXPECT_EQ(got.arms[0].device_ns, want.arms[0].device_ns);  // to the last bit
  EXPECT_EQ(got.arms[1].host_ns, want.arms[1].host_ns);
  EXPECT_EQ(got.arms[1].link, 1);
  ASSERT_EQ(got.checks.size(), 2u);
  EXPECT_TRUE(got.checks[0].passed);
  EXPECT_EQ(got.checks[1].fault, want.checks[1].fault);
  EXPECT_EQ(got.checks[1].max_abs_error, 0.5);
  EXPECT_EQ(got.status, LaunchStatus::kOk);
  EXPECT_EQ(got.culprit, want.culprit);
  EXPECT_EQ(got.clock_resolution_ns, want.clock_resolution_ns);
  EXPECT_EQ(got.before.involuntary_switches, 3);
  EXPECT_EQ(got.before.frequency_mhz, 2400);
  EXPECT_EQ(got.after.load, 0.5);
  EXPECT_EQ(got.after.throttle_events, 8);
  EXPECT_EQ(got.elapsed_s, 1.75);
  EXPECT_EQ(records.gates[0].fault, SampleGate().fault);
  EXPECT_EQ(records.gates[0].max_abs_error, 0.002);
  EXPECT_TRUE(records.gates[1].bitwise_repeatable);
  EXPECT_EQ(records.gates[1].same_bits_as, SampleGate().same_bits_as);
  // And the text itself comes back, so no field was forgotten in one direction alone.
  EXPECT_EQ(ToJsonLine(got), ToJsonLine(want));
}

TEST_F(RecordFile, LineTornByAKillIsIgnoredAndCounted) {
  RecordWriter(path_).Append(SampleGate());
  AppendText(ToJsonLine(SampleLaunch()).substr(0, 200));
  const Records records = ReadRecords(path_);
  EXPECT_EQ(records.gates.size(), 1u);
  EXPECT_TRUE(records.launches.empty());
  EXPECT_EQ(records.torn_lines, 1);
}

TEST_F(RecordFile, WriterGoesOnAfterATornLine) {
  RecordWriter(path_).Append(SampleGate());
  AppendText(R"({"kind":"gate","sche)");
  RecordWriter(path_).Append(SampleLaunch());
  const Records records = ReadRecords(path_);
  EXPECT_EQ(records.gates.size(), 1u);
  EXPECT_EQ(records.launches.size(), 1u);
  EXPECT_EQ(records.torn_lines, 0);
}

TEST_F(RecordFile, FileOfNothingButATornLineStartsAnew) {
  AppendText("{\"kind\"");
  RecordWriter(path_).Append(SampleGate());
  EXPECT_EQ(ReadRecords(path_).gates.size(), 1u);
}

TEST_F(RecordFile, FullDiskLosesNothingThatWasWritten) {
  RecordWriter writer(path_);
  writer.Append(SampleGate());
  const std::string before = Text();
  // A file size limit in the middle of the next line: the write stops there as it does on a full disk.
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit small = limit;
  small.rlim_cur = before.size() + 100;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string field = "no error";
  try {
    writer.Append(SampleLaunch());
  } catch (const Error& error) {
    field = error.field();
    EXPECT_EQ(error.code(), ErrorCode::kIo);
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(field, path_.string());
  EXPECT_EQ(Text(), before);
  writer.Append(SampleLaunch());  // once there is room again, the same writer goes on
  EXPECT_EQ(ReadRecords(path_).launches.size(), 1u);
}

TEST_F(RecordFile, WriterRefusesWhatTheReaderWouldRefuse) {
  RecordWriter writer(path_);
  LaunchRecord record = SampleLaunch();
  record.arms[0].device_ns[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(writer.Append(record), Error);
  record = SampleLaunch();
  record.arms[1].host_ns.pop_back();
  EXPECT_THROW(writer.Append(record), Error);
  EXPECT_EQ(Text(), "");
}

TEST_F(RecordFile, PathThatCannotBeOpenedIsAnError) {
  EXPECT_THROW(RecordWriter(path_ / "under" / "a_file"), Error);
  EXPECT_THROW(ReadRecords(path_), Error);
}

TEST(ParseRecords, OfNothingIsNothing) {
  const Records records = ParseRecords("", "records.jsonl");
  EXPECT_TRUE(records.launches.empty());
  EXPECT_EQ(records.torn_lines, 0);
}

TEST(ParseRecords, EachKnowsItsLine) {
  const Records records =
      ParseRecords(ToJsonLine(SampleGate()) + "\n" + ToJsonLine(SampleLaunch()) + "\n", "run/records.jsonl");
  EXPECT_EQ(records.gates[0].place, "run/records.jsonl:1");
  EXPECT_EQ(records.launches[0].place, "run/records.jsonl:2");
}

TEST(ParseRecords, ErrorThatIsNotANumberIsInfinite) {
  GateRecord gate = SampleGate();
  gate.max_abs_error = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isinf(ParseRecords(ToJsonLine(gate) + "\n", "x").gates[0].max_abs_error));
}

TEST(ParseRecords, BytesThatAreNotTextAreReplaced) {
  GateRecord gate = SampleGate();
  gate.fault = "bad \xff byte";
  EXPECT_THAT(ParseRecords(ToJsonLine(gate) + "\n", "x").gates[0].fault, EndsWith(" byte"));
}

TEST(ParseRecords, LaunchesThatFailedMayBePartial) {
  const Records records = ParseRecords(Changed([](nlohmann::json& j) {
                                         j["status"] = "hung";
                                         j["arms"][0]["device_ns"] = {1.0};
                                         j["arms"][0]["host_ns"] = nlohmann::json::array();
                                         j["calls_per_epoch"] = 0;
                                       }),
                                       "x");
  EXPECT_EQ(records.launches[0].status, LaunchStatus::kHung);
}

TEST(ParseRecords, KeysOfALaterWriterArePassedOver) {
  EXPECT_EQ(FieldOfError(Changed([](nlohmann::json& j) { j["later"] = 1; })), "no error");
}

TEST(ParseRecords, BrokenLineNamesLineAndField) {
  const std::string good = ToJsonLine(SampleGate()) + "\n";
  const auto field = [&](auto change) { return FieldOfError(good + Changed(change) + good); };
  using J = nlohmann::json;
  EXPECT_EQ(field([](J&) {}), "no error");
  EXPECT_EQ(field([](J& j) { j.erase("seed"); }), "records.jsonl:2: seed");
  EXPECT_EQ(field([](J& j) { j["seed"] = -1; }), "records.jsonl:2: seed");
  EXPECT_EQ(field([](J& j) { j["schema"] = 2; }), "records.jsonl:2: schema");
  EXPECT_EQ(field([](J& j) { j["schema"] = 0; }), "records.jsonl:2: schema");
  EXPECT_EQ(field([](J& j) { j["kind"] = "lunch"; }), "records.jsonl:2: kind");
  EXPECT_EQ(field([](J& j) { j["launch"] = -1; }), "records.jsonl:2: launch");
  EXPECT_EQ(field([](J& j) { j["launch"] = 1e10; }), "records.jsonl:2: launch");
  EXPECT_EQ(field([](J& j) { j["launch"] = 5000000000; }), "records.jsonl:2: launch");
  EXPECT_EQ(field([](J& j) { j["status"] = "fine"; }), "records.jsonl:2: status");
  EXPECT_EQ(field([](J& j) { j["cache"] = "tepid"; }), "records.jsonl:2: cache");
  EXPECT_EQ(field([](J& j) { j["threads"] = 0; }), "records.jsonl:2: threads");
  EXPECT_EQ(field([](J& j) { j["blocks"] = 0; }), "records.jsonl:2: blocks");
  EXPECT_EQ(field([](J& j) { j["blocks"] = 2000000000; }), "records.jsonl:2: arms[0].device_ns");
  EXPECT_EQ(field([](J& j) { j["calls_per_epoch"] = 0; }), "records.jsonl:2: calls_per_epoch");
  EXPECT_EQ(field([](J& j) { j["arms"] = J::array(), j["slot_order"] = J::array(); }),
            "records.jsonl:2: arms");
  EXPECT_EQ(field([](J& j) { j["arms"][0]["link"] = 2; }), "records.jsonl:2: arms[0].link");
  EXPECT_EQ(field([](J& j) { j["arms"][1]["device_ns"][1] = 0; }), "records.jsonl:2: arms[1].device_ns[1]");
  EXPECT_EQ(field([](J& j) { j["arms"][1]["device_ns"][1] = "1"; }), "records.jsonl:2: arms[1].device_ns[1]");
  EXPECT_EQ(field([](J& j) { j["arms"][1]["device_ns"][1] = nullptr; }),
            "records.jsonl:2: arms[1].device_ns[1]");
  EXPECT_EQ(field([](J& j) { j["arms"][1]["host_ns"].push_back(1.0); }), "records.jsonl:2: arms[1].host_ns");
  EXPECT_EQ(field([](J& j) { j["slot_order"].erase(1); }), "records.jsonl:2: slot_order");
  EXPECT_EQ(field([](J& j) { j["checks"].erase(1); }), "records.jsonl:2: checks");
  EXPECT_EQ(field([](J& j) { j["after"]["involuntary_switches"] = -1; }),
            "records.jsonl:2: after.involuntary_switches");
  EXPECT_EQ(field([](J& j) { j["after"]["throttle_events"] = -2; }),
            "records.jsonl:2: after.throttle_events");
  EXPECT_EQ(field([](J& j) { j["slot_order"][0] = 0; }), "records.jsonl:2: slot_order[1]");
  EXPECT_EQ(field([](J& j) { j["slot_order"][0] = 2; }), "records.jsonl:2: slot_order[0]");
  EXPECT_EQ(field([](J& j) { j["checks"][0]["max_abs_error"] = -1; }),
            "records.jsonl:2: checks[0].max_abs_error");
  EXPECT_EQ(field([](J& j) { j["before"]["steal"] = -0.1; }), "records.jsonl:2: before.steal");
  EXPECT_EQ(field([](J& j) { j["after"] = 3; }), "records.jsonl:2: after");
}

TEST(ParseRecords, BrokenTextInTheMiddleIsAnErrorOfItsLine) {
  const std::string good = ToJsonLine(SampleGate()) + "\n";
  EXPECT_THAT(FieldOfError(good + "{\"kind\": \"ga\n" + good), StartsWith("records.jsonl:2"));
  EXPECT_THAT(FieldOfError(good + good + "\n" + good), StartsWith("records.jsonl:3"));
  EXPECT_THAT(FieldOfError("[1]\n"), StartsWith("records.jsonl:1"));
  EXPECT_THAT(FieldOfError(std::string(100000, '[') + "\n"), StartsWith("records.jsonl:1"));
  EXPECT_THAT(FieldOfError(std::string("\0\0\n", 3)), StartsWith("records.jsonl:1"));
}

TEST(ParseRecords, NewerSchemaSaysWhatToDo) {
  try {
    ParseRecords(Changed([](nlohmann::json& j) { j["schema"] = 2; }), "records.jsonl");
    FAIL() << "a newer schema was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("newer"));
  }
}

}  // namespace
}  // namespace pagoda::judge
