// The file that keeps a machine's rates.
#include "app/subjects/machine_codec.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "pagoda/status.h"

namespace pagoda::app {
namespace {

using nlohmann::json;

const MachineIdentity kHere{"Some CPU", "avx2", 4};

// The error is about this field, and says so.
void ExpectRefused(const std::string& text, const std::string& field, const std::string& why) {
  try {
    DecodeMachine(text, "machine.json", kHere);
  } catch (const Error& e) {
    EXPECT_EQ(e.field(), "machine.json: " + field);
    EXPECT_NE(std::string_view(e.what()).find(why), std::string_view::npos) << e.what();
    return;
  }
  ADD_FAILURE() << "nothing was thrown for " << field;
}

std::string Text() { return EncodeMachine(TypicalMachine(4), kHere); }

TEST(MachineCodec, GivesBackWhatWasStored) {
  const MachineModel model = TypicalMachine(4);
  const std::optional<MachineModel> read = DecodeMachine(Text(), "machine.json", kHere);
  ASSERT_TRUE(read);
  EXPECT_EQ(EncodeMachine(*read, kHere), Text());
  EXPECT_EQ(read->threads, 4);
  EXPECT_EQ(read->read.size(), model.read.size());
  EXPECT_EQ(read->arithmetic.size(), model.arithmetic.size());
}

TEST(MachineCodec, AnotherMachinesRatesAreNobodys) {
  EXPECT_FALSE(DecodeMachine(Text(), "machine.json", {"Other CPU", "avx2", 4}));
  EXPECT_FALSE(DecodeMachine(Text(), "machine.json", {"Some CPU", "avx512", 4}));
  EXPECT_FALSE(DecodeMachine(Text(), "machine.json", {"Some CPU", "avx2", 8}));
  json later = json::parse(Text());
  later["schema"] = 2;
  EXPECT_FALSE(DecodeMachine(later.dump(), "machine.json", kHere));
}

TEST(MachineCodec, EveryFieldIsNeededAndBroken) {
  const json whole = json::parse(Text());
  for (const auto& [key, value] : whole.items()) {
    json without = whole;
    without.erase(key);
    EXPECT_THROW(DecodeMachine(without.dump(), "machine.json", kHere), Error) << key;
    json wrong = whole;
    wrong[key] = json::object();
    EXPECT_THROW(DecodeMachine(wrong.dump(), "machine.json", kHere), Error) << key;
    if (!value.is_number() || key == "schema" || key == "cpus") continue;
    json negative = whole;
    negative[key] = -1;
    ExpectRefused(negative.dump(), key, "must be");
  }
}

TEST(MachineCodec, NamesTheEntryThatIsWrong) {
  const auto refuse = [](const char* pointer, const json& value, const std::string& field,
                         const std::string& why) {
    json file = json::parse(Text());
    file[json::json_pointer(pointer)] = value;
    ExpectRefused(file.dump(), field, why);
  };
  refuse("/read/1/run_bytes", 256, "read[1].run_bytes", "must rise");
  refuse("/read/0/one", 0, "read[0].one", "above 0");
  refuse("/read", json::array(), "read", "must not be empty");
  refuse("/arithmetic/0/dtype", "f64", "arithmetic[0].dtype", "must be");
  refuse("/arithmetic/1/rows", 1, "arithmetic[1].rows", "must rise");
  refuse("/arithmetic", json::array(), "arithmetic", "has no entry of f32");
  refuse("/threads", 1 << 20, "threads", "more than any pool");
}

TEST(MachineCodec, TornAndForeignTextIsRefused) {
  for (const size_t length : {size_t{0}, size_t{1}, Text().size() / 2}) {
    EXPECT_THROW(DecodeMachine(Text().substr(0, length), "machine.json", kHere), Error);
  }
  EXPECT_THROW(DecodeMachine("[]", "machine.json", kHere), Error);
  EXPECT_THROW(DecodeMachine("\xff\xfe", "machine.json", kHere), Error);
}

}  // namespace
}  // namespace pagoda::app
