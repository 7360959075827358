#include "base/io/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/io/throws.h"

namespace pagoda::io {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string ParseError(std::string_view text, const JsonLimits& limits = {}) {
  return ErrorOf([&] { ParseJson(text, "x.json", limits); });
}

TEST(ParseJson, ReadsEveryKindOfValue) {
  const auto json = ParseJson(R"({"a": [1, -2, 3.5, true, null, "sé"], "b": {}})", "x");
  EXPECT_EQ(json.at("a").size(), 6U);
  EXPECT_EQ(json.at("a")[5].get<std::string>(), "s\xc3\xa9");
  EXPECT_EQ(ParseJson(" 7 ", "x").get<int>(), 7);
}

TEST(ParseJson, NamesSourceAndByteOfASyntaxError) {
  EXPECT_THAT(ParseError(R"({"a": 1,})"), AllOf(HasSubstr("x.json at byte 9"), HasSubstr("syntax error")));
  EXPECT_THAT(ParseError(R"({"a": 1,})"), Not(HasSubstr("line"))) << "its source may be a line itself";
  EXPECT_THAT(ParseError("{\n\"a\": 1,}"), HasSubstr("line 2"));
  EXPECT_THAT(ParseError(""), HasSubstr("at byte 0"));
  EXPECT_THAT(ParseError("{} {}"), HasSubstr("x.json at byte"));
  EXPECT_THAT(ParseError("[1e999]"), HasSubstr("x.json at byte"));
  EXPECT_THAT(ParseError("\"\xff\xfe\""), HasSubstr("x.json at byte"));
  EXPECT_THAT(ParseError("[NaN]"), HasSubstr("syntax error"));
}

TEST(ParseJson, RefusesAKeyTwiceInOneObjectOnly) {
  EXPECT_THAT(ParseError(R"({"a": 1, "b": 2, "a": 3})"), HasSubstr("\"a\" stands twice"));
  EXPECT_THAT(ParseError(R"([{"b": {"c": 1, "c": 1}}])"), HasSubstr("\"c\" stands twice"));
  // The same key spelled with an escape.
  EXPECT_THAT(ParseError(R"({"a": 1, "\u0061": 3})"), HasSubstr("\"a\" stands twice"));
  EXPECT_THAT(ParseError(R"({"a": 1, "b": {"c": 1}, "a": 2})"), HasSubstr("\"a\" stands twice"));
  EXPECT_NO_THROW(ParseJson(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]})", "x"));
  EXPECT_NO_THROW(ParseJson(R"({"b": {"a": 1}, "a": 2})", "x"));
}

TEST(ParseJson, BoundsTheDepth) {
  const JsonLimits two{.max_depth = 2};
  EXPECT_NO_THROW(ParseJson("[[1], {\"a\": 2}, [3]]", "x", two));
  EXPECT_THAT(ParseError("[[[1]]]", two), AllOf(HasSubstr("at byte 3"), HasSubstr("more than 2")));
  EXPECT_THAT(ParseError(std::string(10'000'000, '[')), HasSubstr("more than 64"));
}

TEST(ParseJson, MessagesAreShortAndFreeOfControlCharacters) {
  const std::string error = ParseError("{\"" + std::string(100000, 'k') + "\": 1, \"\x1b[31m");
  EXPECT_LT(error.size(), 1000U);
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
}

class Fields : public testing::Test {
 protected:
  const nlohmann::json json_ = ParseJson(R"({
    "run": {"name": "smoke", "launches": 12, "delta": 0.01, "strict": false, "none": null,
            "huge": 18446744073709551615, "negative": -5},
    "cases": [{"n": 1}, {"n": "two"}]})",
                                         "report.json");
  const JsonField root_{json_, "report.json"};
  const JsonField run_ = root_.At("run");
};

TEST_F(Fields, GettersGiveTypedValues) {
  EXPECT_EQ(run_.At("name").String(), "smoke");
  EXPECT_EQ(run_.At("launches").Int(), 12);
  EXPECT_EQ(run_.At("launches").Unsigned(), 12U);
  EXPECT_EQ(run_.At("launches").Number(), 12.0);
  EXPECT_EQ(run_.At("delta").Number(), 0.01);
  EXPECT_EQ(run_.At("negative").Int(), -5);
  EXPECT_EQ(run_.At("huge").Unsigned(), std::numeric_limits<uint64_t>::max());
  EXPECT_FALSE(run_.At("strict").Bool());
  EXPECT_TRUE(run_.At("none").IsNull());
  EXPECT_TRUE(run_.Has("name"));
  EXPECT_FALSE(run_.Has("nam"));
  EXPECT_EQ(run_.Find("nam"), std::nullopt);
  EXPECT_THAT(root_.Keys(), ElementsAre("cases", "run"));
  EXPECT_EQ(root_.At("cases").Elements()[0].At("n").Int(), 1);
}

TEST_F(Fields, ErrorsNameThePath) {
  EXPECT_EQ(ErrorOf([&] { root_.At("cases").Elements()[1].At("n").Int(); }),
            "report.json: cases[1].n = \"two\" is not an integer");
  EXPECT_EQ(ErrorOf([&] { run_.At("missing"); }), "report.json: run.missing is missing");
  EXPECT_EQ(ErrorOf([&] { root_.At("missing"); }), "report.json: missing is missing");
  EXPECT_EQ(ErrorOf([&] { run_.At("delta").Int(); }), "report.json: run.delta = 0.01 is not an integer");
  EXPECT_THAT(ErrorOf([&] { run_.At("huge").Int(); }), HasSubstr("is not an integer of 64 bits"));
  EXPECT_THAT(ErrorOf([&] { run_.At("negative").Unsigned(); }), HasSubstr("run.negative = -5 is not"));
  EXPECT_THAT(ErrorOf([&] { run_.At("name").Number(); }), HasSubstr("is not a number"));
  EXPECT_THAT(ErrorOf([&] { run_.At("none").Bool(); }), HasSubstr("= null is not true or false"));
  EXPECT_THAT(ErrorOf([&] { run_.String(); }), HasSubstr("run = an object is not a string"));
  EXPECT_THAT(ErrorOf([&] { run_.Elements(); }), HasSubstr("is not an array"));
  EXPECT_THAT(ErrorOf([&] { root_.At("cases").Keys(); }), HasSubstr("cases = an array is not an object"));
  EXPECT_THAT(ErrorOf([&] { root_.At("cases").At("n"); }), HasSubstr("is not an object"));
  EXPECT_EQ(std::string(run_.At("name").Wrong("is taken").what()), "report.json: run.name is taken");
}

TEST_F(Fields, UnknownKeysGetASuggestion) {
  EXPECT_NO_THROW(root_.RefuseUnknownKeys({"run", "cases", "more"}));
  EXPECT_EQ(ErrorOf([&] { root_.RefuseUnknownKeys({"run", "case"}); }),
            "report.json: cases is no known field; did you mean \"case\"?");
}

TEST(JsonField, AnArrayAtTheRootHasAPathToo) {
  const auto json = ParseJson("[[1], [true]]", "x");
  EXPECT_EQ(ErrorOf([&] { JsonField(json, "x").Elements()[1].Elements()[0].Int(); }),
            "x: [1][0] = true is not an integer");
}

}  // namespace
}  // namespace pagoda::io
