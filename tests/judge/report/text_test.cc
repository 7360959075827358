#include "judge/report/text.h"

#include <gtest/gtest.h>

namespace pagoda::judge {
namespace {

TEST(Text, InkOnlyWithColour) {
  EXPECT_EQ(Inked("WIN", Ink::kGood, true), "\x1b[32mWIN\x1b[0m");
  EXPECT_EQ(Inked("WIN", Ink::kGood, false), "WIN");
  EXPECT_EQ(Inked("WIN", Ink::kPlain, true), "WIN");
}

TEST(Text, WidthCountsCharactersNotBytes) { EXPECT_EQ(DisplayWidth("12.3 µs · 1.07×"), 15u); }

TEST(Text, ControlCharactersNeverReachTheTerminal) {
  EXPECT_EQ(OneLine("a\x1b[31mb\nc\td\x7f"), "a [31mb c d ");
  EXPECT_EQ(OneLine("µ\xc2\x9b"
                    "31m"),
            "µ 31m");
  EXPECT_EQ(Wrapped("a\x1b[31mb", 80, "", ""), "a [31mb\n");
  const Table table = {.columns = {{"a"}, {"b"}}, .rows = {{{"x\x1b[1m"}, {"y"}}}};
  EXPECT_EQ(PlainTable(table, "", false), "a      b\nx [1m  y\n");
}

TEST(Text, WrapsAtTheWidth) {
  EXPECT_EQ(Wrapped("one two three", 9, "> ", "  "), "> one two\n  three\n");
  EXPECT_EQ(Wrapped("one two three", 8, "> ", "  "), "> one\n  two\n  three\n");
  EXPECT_EQ(Wrapped("  one   two ", 80, "", ""), "one two\n");
  EXPECT_EQ(Wrapped("1.07× [1.06, 1.08] overall", 14, "", ""), "1.07×\n[1.06, 1.08]\noverall\n");
  EXPECT_EQ(Wrapped("open [ a b", 6, "", ""), "open [\na b\n");
  EXPECT_EQ(Wrapped("unbreakable x", 4, "", ""), "unbreakable\nx\n");
}

Table Example() {
  return {.columns = {{"case", false}, {"time", true}, {"verdict", false}},
          .rows = {{{"a heading that is wide"}},
                   {{.text = "b1", .code = true}, {"12.3 µs"}, {"WIN", Ink::kGood}},
                   {{"b16"}, {""}, {"TIE"}},
                   {{"b2"}, {"1 µs"}}}};
}

TEST(PlainTable, AlignsAndLeavesNoTrailingSpaces) {
  EXPECT_EQ(PlainTable(Example(), "  ", false),
            "  case     time  verdict\n"
            "  a heading that is wide\n"
            "  b1    12.3 µs  WIN\n"
            "  b16            TIE\n"
            "  b2       1 µs\n");
}

TEST(PlainTable, ColourDoesNotShiftColumns) {
  Table table = {.columns = {{"v", false}, {"n", true}},
                 .rows = {{{"WIN", Ink::kGood}, {"1"}}, {{"TIE"}, {"2"}}}};
  EXPECT_EQ(PlainTable(table, "", true),
            "\x1b[2mv\x1b[0m    \x1b[2mn\x1b[0m\n"
            "\x1b[32mWIN\x1b[0m  1\n"
            "TIE  2\n");
}

TEST(MarkdownTable, PipesAndAlignment) {
  EXPECT_EQ(MarkdownTable(Example()),
            "| case | time | verdict |\n"
            "|---|---:|---|\n"
            "| **a heading that is wide** | | |\n"
            "| `b1` | 12.3 µs | WIN |\n"
            "| b16 | | TIE |\n"
            "| b2 | 1 µs | |\n");
}

TEST(Markdown, HostileTextStaysLiteral) {
  EXPECT_EQ(MarkdownLiteral("a|b_c\n <x>"), "a\\|b_c  \\<x\\>");
  EXPECT_EQ(MarkdownLiteral("_a_ **b** [c](d) [1, 2]"), "\\_a\\_ \\*\\*b\\*\\* [c\\](d) [1, 2]");
  EXPECT_EQ(HtmlText("<b> & x_y \"a\" 'b'\n"), "&lt;b&gt; &amp; x_y &quot;a&quot; &#39;b&#39; ");
  EXPECT_EQ(MarkdownCode("a|b"), "`a\\|b`");
  EXPECT_EQ(MarkdownCode("a`b"), "`` a`b ``");
}

}  // namespace
}  // namespace pagoda::judge
