#include "base/shell_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "judge/bench/facts.h"
#include "pagoda/status.h"

namespace pagoda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(SplitWords, SplitsAsAShellDoes) {
  EXPECT_THAT(SplitWords("", "x"), IsEmpty());
  EXPECT_THAT(SplitWords(" \t\n", "x"), IsEmpty());
  EXPECT_THAT(SplitWords("python3 -u  a.py", "x"), ElementsAre("python3", "-u", "a.py"));
  EXPECT_THAT(SplitWords("'a b'\"c d\"e ''", "x"), ElementsAre("a bc de", ""));
  EXPECT_THAT(SplitWords(R"(a\ b \"q\" \\)", "x"), ElementsAre("a b", "\"q\"", "\\"));
  EXPECT_THAT(SplitWords(R"("\$HOME \n \"" '\')", "x"), ElementsAre(R"($HOME \n ")", "\\"));
  EXPECT_THAT(SplitWords("$HOME *.py ~ `x`", "x"), ElementsAre("$HOME", "*.py", "~", "`x`"));
}

TEST(SplitWords, SaysWhatIsNotClosed) {
  const auto refusal = [](const char* text) -> std::string {
    try {
      SplitWords(text, "--program a");
    } catch (const Error& e) {
      return e.what();
    }
    return "no refusal";
  };
  EXPECT_THAT(refusal("a 'b"), HasSubstr("--program a has a ' that is not closed"));
  EXPECT_THAT(refusal("a \"b\\\""), HasSubstr("has a \" that is not closed"));
  EXPECT_THAT(refusal("a\\"), HasSubstr("ends with a backslash"));
}

TEST(SplitWords, TakesBackWhatCommandLineQuotes) {
  EXPECT_TRUE(rc::check([](const std::vector<std::string>& words) {
    std::vector<std::string> wanted;
    for (std::string word : words) {
      std::erase(word, '\0');
      wanted.push_back(std::move(word));
    }
    RC_ASSERT(SplitWords(judge::CommandLine(wanted), "x") == wanted);
  }));
}

}  // namespace
}  // namespace pagoda
