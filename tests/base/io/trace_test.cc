#include "base/io/trace.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/io/mapped_file.h"
#include "base/io/temporary_folder.h"
#include "base/io/throws.h"

namespace pagoda::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

const std::string kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

std::string Refusal(const std::string& text) {
  return ErrorOf([&] { ParseTrace(text, "trace"); });
}

std::string WithRow(const std::string& row) { return kHeader + "t,1,1\n" + row + "\n"; }

TEST(CsvTrace, RequestsComeInTheirOrder) {
  const RequestTrace trace = ParseTrace(
      kHeader + "2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,1048576,1\n", "x");
  EXPECT_EQ(trace.source, "x");
  EXPECT_FALSE(trace.has_blocks);
  ASSERT_THAT(trace.requests, SizeIs(2));
  EXPECT_EQ(trace.requests[0].input_tokens, 374);
  EXPECT_EQ(trace.requests[0].output_tokens, 44);
  EXPECT_THAT(trace.requests[0].blocks, IsEmpty());
  EXPECT_EQ(trace.requests[1].input_tokens, 1048576);
}

TEST(CsvTrace, QuotesCarriageReturnsAndEmptyLastLinesAreFine) {
  const RequestTrace trace = ParseTrace(
      "\"TIMESTAMP\",ContextTokens,\"GeneratedTokens\"\r\n\"a,\"\"b\"\"\",\"12\",3\r\nt,4,\"5\"\r\n\r\n",
      "x");
  ASSERT_THAT(trace.requests, SizeIs(2));
  EXPECT_EQ(trace.requests[0].input_tokens, 12);
  EXPECT_EQ(trace.requests[1].output_tokens, 5);
  EXPECT_THAT(ParseTrace(kHeader + "t,4,5", "x").requests, SizeIs(1));
}

TEST(CsvTrace, ErrorsNameFileLineFieldAndWhatWouldBeRight) {
  EXPECT_EQ(Refusal(WithRow("t,-3,1")),
            "trace:3: ContextTokens = \"-3\" is not a whole number from 1 to 1048576");
  for (const char* wrong : {"", "0", "1048577", "99999999999999999999", "1.5", "+1", " 1", "1e3", "x"}) {
    EXPECT_EQ(
        Refusal(WithRow(fmt::format("t,1,{}", wrong))),
        fmt::format("trace:3: GeneratedTokens = \"{}\" is not a whole number from 1 to 1048576", wrong));
  }
  EXPECT_EQ(Refusal(WithRow("t,1")),
            "trace:3 has fewer fields than the 3 of TIMESTAMP,ContextTokens,GeneratedTokens");
  EXPECT_THAT(Refusal(WithRow("t,1,1,1")), StartsWith("trace:3 has more fields than the 3 of"));
  EXPECT_THAT(Refusal(kHeader + "\nt,1,1\n"), StartsWith("trace:2 has fewer fields"));
  for (const char* open : {"\"t,1,1", "\"t\"x,1,1", "t,\"1\"\",1"}) {
    EXPECT_EQ(Refusal(WithRow(open)), "trace:3 has a quoted field that doesn't end at a quote and a comma");
  }
  EXPECT_EQ(
      Refusal("t,1,1\n"),
      "trace:1 \"t,1,1\" is neither the header TIMESTAMP,ContextTokens,GeneratedTokens nor a JSON object");
  EXPECT_THAT(Refusal("TIMESTAMP,ContextTokens\n"), StartsWith("trace:1 \"TIMESTAMP,ContextTokens\" is"));
  EXPECT_THAT(Refusal("TIMESTAMP,ContextTokens,GeneratedTokens,x\n"), StartsWith("trace:1 "));
}

TEST(JsonTrace, BlocksComeWithTheRequests) {
  const RequestTrace trace =
      ParseTrace(R"({"timestamp": 0, "input_length": 513, "output_length": 5, "hash_ids": [0, 14], "x": {}})"
                 "\n"
                 R"({"input_length":512,"output_length":1,"hash_ids":[9223372036854775807]})"
                 "\r\n\n",
                 "x");
  EXPECT_TRUE(trace.has_blocks);
  ASSERT_THAT(trace.requests, SizeIs(2));
  EXPECT_EQ(trace.requests[0].input_tokens, 513);
  EXPECT_EQ(trace.requests[0].output_tokens, 5);
  EXPECT_THAT(trace.requests[0].blocks, ElementsAre(0, 14));
  EXPECT_THAT(trace.requests[1].blocks, ElementsAre(INT64_MAX));
}

TEST(JsonTrace, ErrorsNameFileLineFieldAndWhatWouldBeRight) {
  const auto line = [](const std::string& input, const std::string& output, const std::string& ids) {
    return fmt::format(
        "{{\"input_length\":1,\"output_length\":1,\"hash_ids\":[1]}}\n"
        "{{\"input_length\":{},\"output_length\":{},\"hash_ids\":{}}}\n",
        input, output, ids);
  };
  for (const char* wrong : {"0", "-3", "1048577", "1.0", "null", "\"7\"", "true"}) {
    EXPECT_EQ(Refusal(line(wrong, "1", "[1]")),
              fmt::format("trace:2: input_length = {} is not a whole number from 1 to 1048576", wrong));
  }
  EXPECT_EQ(Refusal(line("18446744073709551615", "1", "[1]")),
            "trace:2: input_length = 18446744073709551615 is not an integer of 64 bits");
  EXPECT_THAT(Refusal(line("1", "[2]", "[1]")), StartsWith("trace:2: output_length = array is not"));
  EXPECT_EQ(Refusal(line("1025", "1", "[1, 2]")),
            "trace:2: hash_ids has 2 ids, but 1025 tokens are 3 blocks of 512");
  EXPECT_THAT(Refusal(line("1", "1", "3")), StartsWith("trace:2: hash_ids = 3 is not an array"));
  EXPECT_THAT(Refusal(line("1", "1", "[0.5]")), StartsWith("trace:2: hash_ids[0] = 0.5 is not an integer"));
  EXPECT_EQ(Refusal("{}"), "trace:1: input_length is missing");
  EXPECT_THAT(Refusal("{\n"), StartsWith("trace:1 at byte 1: "));
  EXPECT_THAT(Refusal(line("1", "1", "[1]") + "7\n"), StartsWith("trace:3"));
}

TEST(Trace, HoldsARequestAndWithinBounds) {
  EXPECT_EQ(Refusal(""), "trace holds no request");
  EXPECT_EQ(Refusal("\n\n"), "trace holds no request");
  EXPECT_EQ(Refusal(kHeader), "trace holds no request");
  EXPECT_EQ(Refusal(WithRow(std::string(70000, 'x') + ",1,1")), "trace:3 is longer than 65536 bytes");
  std::string many = kHeader;
  for (int i = 0; i < 1'000'000; ++i) many += ",1,1\n";
  EXPECT_THAT(ParseTrace(many, "x").requests, SizeIs(1'000'000));
  EXPECT_THAT(Refusal(many + ",1,1\n"), StartsWith("trace:1000002 is one of more than 1000000 requests"));
  EXPECT_THAT(Refusal(std::string((256 << 20) + 1, 'x')), HasSubstr("more than 268435456"));
}

TEST(Trace, ReadsAFile) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.csv";
  WriteFileAtomically(path, kHeader + "t,2,3\n");
  EXPECT_EQ(ReadTrace(path).requests[0].input_tokens, 2);
  EXPECT_EQ(ReadTrace(path).source, path.string());
  EXPECT_THAT(ErrorOf([&] { ReadTrace(folder.path() / "none.csv"); }), HasSubstr("none.csv"));
}

}  // namespace
}  // namespace pagoda::io
