#include "judge/bench/code_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class CodeWatchTest : public testing::Test {
 protected:
  CodeWatchTest() {
    folder_ = fs::path(testing::TempDir()) /
              (std::string("code_watch_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    Write("mine.so", "one");
    Write("run.py", "two");
  }
  ~CodeWatchTest() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& contents) const {
    std::ofstream(folder_ / name, std::ios::binary | std::ios::trunc) << contents;
  }
  CodeWatch Watch() const { return CodeWatch({folder_ / "mine.so", folder_ / "run.py"}); }
  static std::string Refusal(CodeWatch& watch) {
    try {
      watch.RequireUnchanged();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(CodeWatchTest, NamesEachFileWithItsHash) {
  const CodeWatch watch = Watch();
  ASSERT_EQ(watch.files().size(), 2u);
  EXPECT_EQ(watch.files()[0].path, (folder_ / "mine.so").string());
  EXPECT_NE(watch.files()[0].hash, watch.files()[1].hash);
  EXPECT_THROW(CodeWatch({folder_ / "none.so"}), Error);
}

TEST_F(CodeWatchTest, AFileThatWasReplacedOrWrittenOverIsNamed) {
  CodeWatch watch = Watch();
  EXPECT_EQ(Refusal(watch), "");
  Write("new.so", "ten");  // of the same size
  fs::rename(folder_ / "new.so", folder_ / "mine.so");
  EXPECT_THAT(Refusal(watch), AllOf(StartsWith((folder_ / "mine.so").string()), HasSubstr("was replaced")));
  Write("mine.so", "one");
  EXPECT_EQ(Refusal(watch), "") << "put back";
  Write("run.py", "twp");
  EXPECT_THAT(Refusal(watch), StartsWith((folder_ / "run.py").string()));
}

TEST_F(CodeWatchTest, ATimeOfWritingThatWasSetBackHidesNothing) {
  CodeWatch watch = Watch();
  const auto time = fs::last_write_time(folder_ / "mine.so");
  Write("mine.so", "ten");
  fs::last_write_time(folder_ / "mine.so", time);
  EXPECT_THAT(Refusal(watch), HasSubstr("was replaced"));
}

TEST_F(CodeWatchTest, TheSameContentsAnewAreNoChange) {
  CodeWatch watch = Watch();
  fs::copy_file(folder_ / "mine.so", folder_ / "copy.so");
  fs::rename(folder_ / "copy.so", folder_ / "mine.so");
  EXPECT_EQ(Refusal(watch), "");
  EXPECT_EQ(Refusal(watch), "");
}

TEST_F(CodeWatchTest, AFileThatIsGoneIsNamed) {
  CodeWatch watch = Watch();
  fs::remove(folder_ / "run.py");
  EXPECT_THAT(Refusal(watch), StartsWith((folder_ / "run.py").string()));
}

class RunnerThat : public ChildRunner {
 public:
  explicit RunnerThat(std::function<void()> does) : does_(std::move(does)) {}
  ChildOutcome Run(std::string_view, double) override {
    does_();
    ChildOutcome outcome;
    outcome.out = "a record";
    return outcome;
  }

 private:
  std::function<void()> does_;
};

TEST_F(CodeWatchTest, NothingIsKeptOfALaunchWhoseCodeChangedMeanwhile) {
  CodeWatch watch = Watch();
  bool replace = false;
  RunnerThat inner([&] {
    if (replace) Write("mine.so", "ten");
  });
  WatchedRunner runner(inner, watch);
  EXPECT_EQ(runner.Run("{}", 1).out, "a record");
  replace = true;
  EXPECT_THROW(runner.Run("{}", 1), Error);
}

}  // namespace
}  // namespace pagoda::judge
