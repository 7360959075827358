#include "base/shell_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/sys/process.h"
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

TEST(QuotedWord, IsPlainWherePossible) {
  EXPECT_EQ(QuotedWord("runs/2026-03-01_a"), "runs/2026-03-01_a");
  EXPECT_EQ(QuotedWord("a b"), "'a b'");
  EXPECT_EQ(QuotedWord(""), "''");
  EXPECT_EQ(QuotedWord("it's"), "'it'\\''s'");
  EXPECT_EQ(QuotedWord("caf\u00e9"), "'caf\u00e9'");
}

TEST(QuotedWord, EscapesWhatATerminalObeysAndWhatEndsALine) {
  EXPECT_EQ(QuotedWord("a\nb\t'\\"), R"($'a\nb\t\'\\')");
  EXPECT_EQ(QuotedWord("\x1b[2J\x7f"), R"($'\033[2J\177')");
  EXPECT_EQ(QuotedWord("\xc2\x9b"
                       "1"),
            "$'\\302\x9b"
            "1'");
}

TEST(QuotedWord, IsReadBackByAShell) {
  if (!sys::RunProcess({.argv = {"bash", "-c", ""}, .timeout_s = 10}).ok()) GTEST_SKIP() << "no bash";
  for (const std::string word : {"a\nb", "\n", "tab\t'quote' \\ \x1b[1m \x7f", "\xc2\x9bx",
                                 "\x01"
                                 "1",
                                 "$HOME `x`"}) {
    const sys::ProcessResult r =
        sys::RunProcess({.argv = {"bash", "-c", "printf %s " + QuotedWord(word)}, .timeout_s = 10});
    EXPECT_EQ(r.out, word);
  }
}

// What QuotedWord writes as $'...' is for interactive shells.
TEST(SplitWords, TakesBackWhatCommandLineQuotes) {
  EXPECT_TRUE(rc::check([](const std::vector<std::string>& words) {
    std::vector<std::string> wanted;
    for (std::string word : words) {
      std::erase_if(word, [](unsigned char c) { return c < 0x20 || c == 0x7f || c == 0xc2; });
      wanted.push_back(std::move(word));
    }
    RC_ASSERT(SplitWords(judge::CommandLine(wanted), "x") == wanted);
  }));
}

}  // namespace
}  // namespace pagoda
