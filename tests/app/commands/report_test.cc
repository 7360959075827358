#include "app/commands/report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/commands/command.h"
#include "judge/record/jsonl.h"
#include "judge/report/sample_run.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ReportCommand : public testing::Test {
 protected:
  ReportCommand() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::path(testing::TempDir()) / (std::string("pagoda_report_") + test->name());
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  ~ReportCommand() override { std::filesystem::remove_all(root_); }

  // A directory as bench leaves it.
  std::filesystem::path SaveRun(const std::string& name) {
    judge::SampleRun run = judge::HandMadeRun();
    run.manifest.command_line += " --out " + name;  // so that no two are the same run
    const std::filesystem::path directory = root_ / name;
    std::filesystem::create_directories(directory);
    judge::WriteManifest(directory / "manifest.json", run.manifest);
    std::ofstream lines(directory / "records.jsonl");
    for (const judge::GateRecord& gate : run.records.gates) lines << judge::ToJsonLine(gate) << '\n';
    for (const judge::LaunchRecord& launch : run.records.launches) lines << judge::ToJsonLine(launch) << '\n';
    return directory;
  }

  // What the command prints.
  static std::string Run(const std::vector<std::string>& arguments) {
    CLI::App app("", "pagoda");
    CommandContext context;
    AddReport(app, context);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    reversed.push_back("report");
    testing::internal::CaptureStdout();
    try {
      app.parse(reversed);
    } catch (...) {
      testing::internal::GetCapturedStdout();
      throw;
    }
    EXPECT_EQ(context.exit_code, kDone);
    return testing::internal::GetCapturedStdout();
  }

  // The message of the Error that `arguments` give, which is one of bad input.
  static std::string Refusal(const std::vector<std::string>& arguments) {
    try {
      Run(arguments);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return error.what();
    }
    ADD_FAILURE() << "not refused";
    return "";
  }

  std::filesystem::path root_;
};

TEST_F(ReportCommand, PrintsEachFormat) {
  const std::string directory = SaveRun("one").string();
  EXPECT_THAT(Run({directory}), HasSubstr("Which one?  fast.\n"));
  EXPECT_THAT(Run({directory, "--format", "markdown"}),
              StartsWith("### sample-suite\n\n**fast vs slow: 3 WIN"));
  EXPECT_EQ(nlohmann::json::parse(Run({directory, "--format", "json"}))["verdict"], "WIN");
  EXPECT_EQ(Run({directory, "--json"}), Run({directory, "--format", "json"}));
}

TEST_F(ReportCommand, NamesTheRawData) {
  const std::string directory = SaveRun("one").string();
  EXPECT_THAT(Run({directory}), HasSubstr("Raw data: " + directory + "/records.jsonl\n"));
}

TEST_F(ReportCommand, ComparesSeveralRuns) {
  const std::string a = SaveRun("a").string(), b = SaveRun("b").string();
  EXPECT_THAT(Run({a, b}),
              testing::AllOf(StartsWith("  run"), HasSubstr(b + " (after) against " + a + " (before)\n")));
  EXPECT_THAT(Run({a, b, "--format", "markdown"}), StartsWith("| run | suite | verdict |"));
  const auto report = nlohmann::json::parse(Run({a, b, "--json"}));
  EXPECT_EQ(report["schema"], 1);
  EXPECT_EQ(report["runs"][1]["directory"], b);
  EXPECT_EQ(report["comparisons"][0]["changes"][0]["verdict"], "TIE");
}

TEST_F(ReportCommand, RefusesTheSameRunTwice) {
  const std::string a = SaveRun("a").string();
  EXPECT_THAT(Refusal({a, a}), HasSubstr("it is the same run"));
}

TEST_F(ReportCommand, RefusesADirectoryThatIsNotThere) {
  EXPECT_EQ(Refusal({(root_ / "none").string()}),
            (root_ / "none").string() + " is not a directory; `pagoda bench SUITE --out DIR` makes one");
}

TEST_F(ReportCommand, RefusesADirectoryOfSomethingElse) {
  EXPECT_THAT(Refusal({root_.string()}), HasSubstr("holds no manifest.json"));
  const std::filesystem::path directory = SaveRun("one");
  std::filesystem::remove(directory / "records.jsonl");
  EXPECT_THAT(Refusal({directory.string()}), HasSubstr("holds no records.jsonl"));
}

TEST_F(ReportCommand, RefusesARunWithoutRecords) {
  const std::filesystem::path directory = SaveRun("one");
  std::filesystem::resize_file(directory / "records.jsonl", 0);
  EXPECT_THAT(Refusal({directory.string()}),
              HasSubstr("records.jsonl holds no record yet; run the bench command"));
}

TEST_F(ReportCommand, NamesABrokenLine) {
  const std::filesystem::path directory = SaveRun("one");
  std::ifstream in(directory / "records.jsonl");
  std::stringstream text;
  text << in.rdbuf();
  std::ofstream(directory / "records.jsonl", std::ios::trunc) << "{}\n" << text.str();
  EXPECT_THAT(Refusal({directory.string()}), HasSubstr("records.jsonl:1"));
}

TEST_F(ReportCommand, NamesTheLineOfARecordThatStandsThereTwice) {
  const std::filesystem::path directory = SaveRun("one");
  std::ifstream in(directory / "records.jsonl");
  std::string first;
  std::getline(in, first);
  const auto lines = 1 + std::count(std::istreambuf_iterator<char>(in), {}, '\n');
  std::ofstream(directory / "records.jsonl", std::ios::app) << first << '\n';
  EXPECT_THAT(
      Refusal({directory.string()}),
      HasSubstr(fmt::format("records.jsonl:{} repeats {}/records.jsonl:1;", lines + 1, directory.string())));
}

TEST_F(ReportCommand, QuotesAPathThatATerminalWouldObey) {
  const std::string directory = SaveRun("a\nb").string();
  EXPECT_THAT(Run({directory}), HasSubstr("a\\nb/records.jsonl'\n"));
  EXPECT_THAT(Run({directory, "--format", "markdown"}), HasSubstr("a\\nb/records.jsonl'"));
}

TEST_F(ReportCommand, RefusesAnUnknownFormat) {
  const std::string directory = SaveRun("one").string();
  try {
    Run({directory, "--format", "xml"});
    ADD_FAILURE() << "not refused";
  } catch (const CLI::ParseError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("--format"), HasSubstr("xml"), HasSubstr("markdown")));
  }
}

TEST_F(ReportCommand, PrintsNothingWhenOneOfSeveralRunsIsBroken) {
  const std::string a = SaveRun("a").string();
  EXPECT_THAT(Refusal({a, (root_ / "none").string()}), HasSubstr("is not a directory"));
}

TEST_F(ReportCommand, WritesTheReportsThatItPrints) {
  const std::filesystem::path directory = SaveRun("one");
  EXPECT_EQ(
      WriteReports(LoadRun(directory)),
      (std::vector<std::string>{(directory / "report.md").string(), (directory / "report.json").string(),
                                (directory / "report.html").string()}));
  const auto contents = [&](const char* file) {
    std::ifstream in(directory / file);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  };
  EXPECT_EQ(contents("report.md"), Run({directory.string(), "--format", "markdown"}));
  EXPECT_EQ(contents("report.json"), Run({directory.string(), "--json"}));
  EXPECT_EQ(contents("report.html"), Run({directory.string(), "--format", "html"}));
}

TEST_F(ReportCommand, MakesNoPageOfSeveralRuns) {
  const std::string a = SaveRun("a").string(), b = SaveRun("b").string();
  EXPECT_THAT(Refusal({a, b, "--format", "html"}), HasSubstr("makes a page of one run"));
}

}  // namespace
}  // namespace pagoda::app
