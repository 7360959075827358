#include "judge/bench/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

std::filesystem::path FileWith(const std::string& name, const std::string& content) {
  const auto path = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

TEST(HashOfFile, IsFnv1a) {
  // Published test values of the 64-bit FNV-1a.
  EXPECT_EQ(HashOfFile(FileWith("facts_test_a", "a")), "af63dc4c8601ec8c");
  EXPECT_EQ(HashOfFile(FileWith("facts_test_foobar", "foobar")), "85944171f73967e8");
  EXPECT_THROW(HashOfFile("/nonexistent/file"), Error);
}

TEST(EnvironmentFacts, SayWhatIsKnown) {
  const EnvironmentFacts facts = ReadEnvironmentFacts({{.path = "mine.so", .hash = "foobar"}});
  EXPECT_THAT(facts.cpu, HasSubstr("CPUs"));
  EXPECT_THAT(facts.memory, HasSubstr("GiB"));
  EXPECT_THAT(facts.kernel, HasSubstr("Linux"));
  EXPECT_THAT(facts.compiler, testing::AnyOf(HasSubstr("GNU "), HasSubstr("Clang ")));
  EXPECT_FALSE(facts.build_flags.empty());
  EXPECT_EQ(facts.binary_hash, "85944171f73967e8");
  EXPECT_THAT(facts.git_commit, testing::AnyOf("", MatchesRegex("[0-9a-f]{40}")));
}

TEST(CommandLine, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(CommandLine({"pagoda", "bench", "llm", "--only", "s4096.*decode", "--out", "a b", ""}),
            "pagoda bench llm --only 's4096.*decode' --out 'a b' ''");
  EXPECT_EQ(CommandLine({"it's"}), "'it'\\''s'");
}

TEST(UtcTime, IsIso8601) {
  EXPECT_THAT(UtcTime(), MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"));
  EXPECT_THAT(UtcTimeForFileName(), MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{6}"));
}

}  // namespace
}  // namespace pagoda::judge
