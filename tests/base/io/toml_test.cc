#include "base/io/toml.h"

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

constexpr std::string_view kSuite = R"(name = "smoke"
launches = 12
delta = 0.01
strict = false
contexts = [128, 512]
variants = ["a", "b"]
mixed = [1, "two"]
scales = [1, 0.5]
bad = nan

[gate]
seeds = 2026

[[case]]
dtype = "bf16"
[[case]]
  dtype = 7
)";

class Toml : public testing::Test {
 protected:
  const TomlTable root_ = TomlTable::Parse(kSuite, "s.toml");
};

TEST_F(Toml, GettersGiveTypedValues) {
  EXPECT_EQ(root_.String("name"), "smoke");
  EXPECT_EQ(root_.Int("launches"), 12);
  EXPECT_EQ(root_.Number("launches"), 12.0);
  EXPECT_EQ(root_.Number("delta"), 0.01);
  EXPECT_FALSE(root_.Bool("strict"));
  EXPECT_THAT(root_.Ints("contexts"), ElementsAre(128, 512));
  EXPECT_THAT(root_.Ints("launches"), ElementsAre(12));
  EXPECT_THAT(root_.Strings("variants"), ElementsAre("a", "b"));
  EXPECT_THAT(root_.Strings("name"), ElementsAre("smoke"));
  EXPECT_THAT(root_.Numbers("scales"), ElementsAre(1.0, 0.5));
  EXPECT_EQ(root_.Table("gate").Int("seeds"), 2026);
  ASSERT_EQ(root_.Tables("case").size(), 2U);
  EXPECT_EQ(root_.Tables("case")[0].String("dtype"), "bf16");
  EXPECT_THAT(root_.Keys(), ElementsAre("name", "launches", "delta", "strict", "contexts", "variants",
                                        "mixed", "scales", "bad", "gate", "case"));
}

TEST_F(Toml, FallbacksStandInForMissingKeysOnly) {
  EXPECT_EQ(root_.Int("none", 3), 3);
  EXPECT_EQ(root_.Int("launches", 3), 12);
  EXPECT_EQ(root_.Number("none", 0.5), 0.5);
  EXPECT_TRUE(root_.Bool("none", true));
  EXPECT_EQ(root_.String("none", "x"), "x");
  EXPECT_FALSE(root_.FindTable("none").has_value());
  EXPECT_TRUE(root_.FindTable("gate").has_value());
  EXPECT_THAT(root_.Tables("none"), IsEmpty());
  EXPECT_THROW(root_.Int("name", 3), Error);
}

TEST_F(Toml, ErrorsSayFileLineColumnAndKey) {
  EXPECT_EQ(ErrorOf([&] { root_.Int("name"); }), "s.toml:1:8: name = \"smoke\" is not an integer");
  EXPECT_EQ(ErrorOf([&] { root_.Int("delta"); }), "s.toml:3:9: delta = 0.01 is not an integer");
  EXPECT_EQ(ErrorOf([&] { root_.Tables("case")[1].String("dtype"); }),
            "s.toml:17:11: case[1].dtype = 7 is not a string");
  EXPECT_EQ(ErrorOf([&] { root_.Ints("mixed"); }), "s.toml:7:13: mixed[1] = \"two\" is not an integer");
  EXPECT_EQ(ErrorOf([&] { root_.Number("bad"); }), "s.toml:9:7: bad = nan is not a finite number");
  EXPECT_EQ(ErrorOf([&] { root_.Bool("launches"); }), "s.toml:2:12: launches = 12 is not true or false");
  EXPECT_EQ(ErrorOf([&] { root_.Table("gate").Int("seed"); }), "s.toml:11:1: gate.seed is missing");
  EXPECT_THAT(ErrorOf([&] { root_.Table("name"); }), HasSubstr("name = \"smoke\" is not a table"));
  EXPECT_THAT(ErrorOf([&] { root_.Tables("gate"); }), HasSubstr("gate = a table is not an array of tables"));
  EXPECT_THAT(ErrorOf([&] { root_.Tables("contexts"); }), HasSubstr("contexts[0] = 128 is not a table"));
  EXPECT_EQ(std::string(root_.Wrong("launches", "= 12 is odd").what()), "s.toml:2:12: launches = 12 is odd");
}

TEST_F(Toml, UnknownKeysGetASuggestion) {
  EXPECT_NO_THROW(root_.Table("gate").RefuseUnknownKeys({"seeds"}));
  EXPECT_EQ(ErrorOf([&] { root_.Table("gate").RefuseUnknownKeys({"seed", "other"}); }),
            "s.toml:12:9: gate.seeds is no known key; did you mean \"seed\"?");
}

TEST(TomlParse, SyntaxErrorsSayWhere) {
  EXPECT_THAT(ErrorOf([] { TomlTable::Parse("a = 1\nb = \n", "s.toml"); }), HasSubstr("s.toml:2:"));
  EXPECT_THAT(ErrorOf([] { TomlTable::Parse("a = 1\na = 2\n", "s.toml"); }), HasSubstr("s.toml:2:"));
  EXPECT_THAT(ErrorOf([] { TomlTable::Parse("a = \"\xff\"", "s.toml"); }), HasSubstr("s.toml:1:"));
  EXPECT_THAT(ErrorOf([] { TomlTable::Parse("a = " + std::string(100000, '['), "s.toml"); }),
              HasSubstr("s.toml:1:"));
}

TEST(TomlParse, ReadsAFileAndATableOutlivesItsRoot) {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.path() / "a.toml", "[t]\nx = 1\n");
  const TomlTable table = TomlTable::ParseFile(folder.path() / "a.toml").Table("t");
  EXPECT_EQ(table.Int("x"), 1);
  EXPECT_THAT(ErrorOf([&] { TomlTable::ParseFile(folder.path() / "none.toml"); }), HasSubstr("none.toml"));
}

}  // namespace
}  // namespace pagoda::io
