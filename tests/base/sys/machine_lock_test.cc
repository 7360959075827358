#include "base/sys/machine_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "base/io/temporary_folder.h"
#include "base/sys/process.h"
#include "pagoda/status.h"

namespace pagoda::sys {
namespace {

using testing::HasSubstr;

class MachineLockTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "lock";
};

TEST_F(MachineLockTest, OneHolderAtATimeWhoIsNamed) {
  std::optional<MachineLock> first(path_);
  MachineLock second(path_);
  EXPECT_TRUE(first->TryLock("bench smoke"));
  EXPECT_FALSE(second.TryLock("bench other"));
  EXPECT_EQ(second.Holder(), "pid " + std::to_string(getpid()) + " (bench smoke)");
  first.reset();
  EXPECT_TRUE(second.TryLock("bench other"));
  EXPECT_THAT(second.Holder(), HasSubstr("(bench other)"));
}

TEST_F(MachineLockTest, WaitsUntilTheHolderHasGone) {
  std::optional<MachineLock> first(path_);
  ASSERT_TRUE(first->TryLock("a"));
  MachineLock second(path_);
  EXPECT_FALSE(second.LockWithin(0.01, "b"));
  int asked = 0;
  EXPECT_FALSE(second.LockWithin(600, "b", [&] { return ++asked == 2; }));
  EXPECT_EQ(asked, 2);
  const bool got = second.LockWithin(600, "b", [&] {
    first.reset();
    return false;
  });
  EXPECT_TRUE(got);
}

TEST_F(MachineLockTest, AChildProgramDoesNotInheritIt) {
  std::optional<MachineLock> lock(path_);
  ASSERT_TRUE(lock->TryLock("a"));
  const ProcessResult r =
      RunProcess({.argv = {"sh", "-c", "flock -n \"$0\" true || exit 9", path_.string()}});
  EXPECT_EQ(r.exit_code, 9) << "another program sees the lock";
  const ProcessResult fds = RunProcess({.argv = {"sh", "-c", "ls -l /proc/self/fd"}});
  EXPECT_EQ(fds.out.find("lock"), std::string::npos) << fds.out;
}

TEST_F(MachineLockTest, AnUntoldHolderIsStillAHolder) {
  {
    std::ofstream(path_) << "\x1b[31mnonsense\n";
  }
  EXPECT_EQ(MachineLock(path_).Holder(), "another process");
}

TEST_F(MachineLockTest, RefusesALinkAndAMissingFolder) {
  std::filesystem::create_symlink(folder_.path() / "elsewhere", path_);
  EXPECT_THROW(MachineLock lock(path_), Error);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "elsewhere"));
  try {
    MachineLock lock(folder_.path() / "no" / "such");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kIo);
    EXPECT_THAT(e.what(), HasSubstr("PAGODA_LOCK"));
  }
}

TEST_F(MachineLockTest, TheEnvironmentNamesTheFile) {
  unsetenv("PAGODA_LOCK");
  EXPECT_EQ(MachineLock::DefaultPath().filename(), "pagoda-machine.lock");
  setenv("PAGODA_LOCK", "/elsewhere/x", 1);
  EXPECT_EQ(MachineLock::DefaultPath(), "/elsewhere/x");
  unsetenv("PAGODA_LOCK");
}

}  // namespace
}  // namespace pagoda::sys
