#include "base/io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/io/mapped_file.h"
#include "base/io/temporary_folder.h"
#include "base/io/throws.h"

namespace pagoda::io {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The bytes of a file with this header and that many bytes of data 0, 1, 2, ...
std::string FileOf(std::string_view header, size_t data_bytes) {
  std::string file(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(file.data(), &length, 8);
  file += header;
  for (size_t i = 0; i < data_bytes; ++i) file.push_back(static_cast<char>(i));
  return file;
}

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string ErrorFor(std::string_view header, size_t data_bytes) {
  return ErrorOf([&] { SafetensorsFile::Parse(Bytes(FileOf(header, data_bytes)), "f"); });
}

TEST(Safetensors, ReadsTensorsInTheOrderOfTheirBytes) {
  const std::string bytes = FileOf(
      R"({"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
      R"("z":{"dtype":"I64","shape":[0,7],"data_offsets":[4,4]},"__metadata__":{"k":"v"}}   )",
      16);
  const SafetensorsFile file = SafetensorsFile::Parse(Bytes(bytes), "f");
  ASSERT_EQ(file.tensors().size(), 3U);
  EXPECT_EQ(file.tensors()[0].name, "a");
  EXPECT_EQ(file.tensors()[1].name, "z");
  EXPECT_EQ(file.tensors()[2].name, "b");
  const SafetensorsTensor& b = *file.Find("b");
  EXPECT_EQ(b.type, SafetensorsType::kBF16);
  EXPECT_THAT(b.shape, ElementsAre(2, 3));
  EXPECT_EQ(b.elements(), 6);
  EXPECT_EQ(b.bytes.size(), 12U);
  EXPECT_EQ(b.bytes[0], std::byte{4});
  EXPECT_EQ(file.Find("a")->elements(), 1);
  EXPECT_EQ(file.Find("none"), nullptr);
  EXPECT_EQ(file.metadata().at("k"), "v");
}

TEST(Safetensors, ReadsAFileWithoutTensors) {
  EXPECT_THAT(SafetensorsFile::Parse(Bytes(FileOf("{}", 0)), "f").tensors(), IsEmpty());
}

TEST(Safetensors, RefusesALyingHeaderLength) {
  EXPECT_THAT(ErrorOf([] { SafetensorsFile::Parse({}, "f"); }), HasSubstr("has 0 bytes, too few"));
  EXPECT_THAT(ErrorOf([] { SafetensorsFile::Parse(Bytes("1234567"), "f"); }), HasSubstr("has 7 bytes"));
  std::string file = FileOf("{}", 0);
  for (const uint64_t length : {uint64_t{3}, uint64_t{1} << 40, UINT64_MAX, UINT64_MAX - 7}) {
    std::memcpy(file.data(), &length, 8);
    EXPECT_THAT(ErrorOf([&] { SafetensorsFile::Parse(Bytes(file), "f"); }),
                AllOf(HasSubstr("a header of " + std::to_string(length)), HasSubstr("only 2 follow")));
  }
  EXPECT_THAT(ErrorFor("", 4), HasSubstr("no JSON object at byte 8"));
  EXPECT_THAT(ErrorFor("[]", 0), HasSubstr("no JSON object at byte 8"));
  EXPECT_THAT(ErrorFor(" {}", 0), HasSubstr("no JSON object at byte 8"));
}

TEST(Safetensors, RefusesBadJson) {
  EXPECT_THAT(ErrorFor("{\"a\":", 0), HasSubstr("f: header at byte 5"));
  EXPECT_THAT(ErrorFor(R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1),
              HasSubstr("more than 3 arrays and objects"));
  EXPECT_THAT(ErrorFor("{" + std::string(1'000'000, '['), 0), HasSubstr("f: header at byte"));
  const std::string one = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_THAT(ErrorFor("{" + one + "," + one + "}", 1), HasSubstr("\"a\" stands twice"));
}

struct BadTensor {
  const char* description;  // of tensor "q" in 8 bytes of data
  const char* field;
  const char* complaint;
};

class BadTensors : public testing::TestWithParam<BadTensor> {};
INSTANTIATE_TEST_SUITE_P(
    All, BadTensors,
    testing::Values(
        BadTensor{R"([])", "q", "is not an object"},
        BadTensor{R"({"shape":[2],"data_offsets":[0,8]})", "q.dtype", "is missing"},
        BadTensor{R"({"dtype":"F32","data_offsets":[0,8]})", "q.shape", "is missing"},
        BadTensor{R"({"dtype":"F32","shape":[2]})", "q.data_offsets", "is missing"},
        BadTensor{R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1})", "q.x", "no known field"},
        BadTensor{R"({"dtype":"F33","shape":[2],"data_offsets":[0,8]})", "q.dtype", "did you mean \"F32\""},
        BadTensor{R"({"dtype":7,"shape":[2],"data_offsets":[0,8]})", "q.dtype", "= 7 is not a string"},
        BadTensor{R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})", "q.shape", "is not an array"},
        BadTensor{R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", "q.shape[0]", "= -2 is negative"},
        BadTensor{R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})", "q.shape[0]", "not an integer"},
        BadTensor{R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]})", "q.shape[0]",
                  "not an integer of 64 bits"},
        BadTensor{R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]})", "q.shape",
                  "more than 2^63 bytes"},
        BadTensor{R"({"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,8]})", "q.shape",
                  "more than 2^63 bytes"},
        BadTensor{R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})", "q.data_offsets",
                  "spans 8 bytes, but F32 [3] takes 12"},
        BadTensor{R"({"dtype":"F32","shape":[0],"data_offsets":[0,8]})", "q.data_offsets",
                  "spans 8 bytes, but F32 [0] takes 0"},
        BadTensor{R"({"dtype":"F32","shape":[3],"data_offsets":[0,12]})", "q.data_offsets",
                  "= [0, 12] is outside 0..8"},
        BadTensor{R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})", "q.data_offsets",
                  "= [8, 0] is outside"},
        BadTensor{R"({"dtype":"F32","shape":[2],"data_offsets":[-8,0]})", "q.data_offsets", "is outside"},
        BadTensor{R"({"dtype":"F32","shape":[2],"data_offsets":[0]})", "q.data_offsets", "has 1 numbers"},
        BadTensor{R"({"dtype":"U8","shape":[4],"data_offsets":[4,8]})", "q.data_offsets",
                  "leaves a gap behind the header"}));

TEST_P(BadTensors, AreRefusedByField) {
  const std::string header = std::string(R"({"q":)") + GetParam().description + "}";
  const std::string bytes = FileOf(header, 8);
  try {
    SafetensorsFile::Parse(Bytes(bytes), "f");
    FAIL() << header;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(e.field(), std::string("f: ") + GetParam().field);
    EXPECT_THAT(e.what(), HasSubstr(GetParam().complaint));
  }
}

TEST(Safetensors, RefusesOverlapGapAndRest) {
  const auto two = [](const char* a, const char* b) {
    return std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + a +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
  };
  EXPECT_THAT(ErrorFor(two("[0,4]", "[3,7]"), 7),
              AllOf(HasSubstr("f: b.data_offsets"), HasSubstr("overlaps a"), HasSubstr("begin at 4")));
  EXPECT_THAT(ErrorFor(two("[0,4]", "[0,4]"), 4), HasSubstr("overlaps"));
  EXPECT_THAT(ErrorFor(two("[0,4]", "[5,9]"), 9),
              AllOf(HasSubstr("f: b.data_offsets"), HasSubstr("leaves a gap behind a")));
  EXPECT_THAT(ErrorFor(two("[0,4]", "[4,8]"), 11), HasSubstr("has 3 bytes behind b"));
  EXPECT_THAT(ErrorFor("{}", 1), HasSubstr("has 1 bytes behind the header"));
}

TEST(Safetensors, RefusesMetadataThatAreNotStrings) {
  EXPECT_THAT(ErrorFor(R"({"__metadata__":{"scale":1}})", 0),
              HasSubstr("f: __metadata__.scale = 1 is not a string"));
  EXPECT_THAT(ErrorFor(R"({"__metadata__":[]})", 0), HasSubstr("__metadata__ = an array is not an object"));
}

TEST(Safetensors, RefusesTooManyDimensions) {
  std::string shape = "1";
  for (int i = 0; i < 40; ++i) shape += ",1";
  EXPECT_THAT(ErrorFor(R"({"a":{"dtype":"U8","shape":[)" + shape + R"(],"data_offsets":[0,1]}})", 1),
              HasSubstr("a.shape has more than 32 dimensions"));
}

TEST(Safetensors, EveryPrefixOfAFileIsRefused) {
  const std::string whole = FileOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  EXPECT_NO_THROW(SafetensorsFile::Parse(Bytes(whole), "f"));
  for (size_t n = 0; n < whole.size(); ++n) {
    // A copy of exactly n bytes, so that a read past them is one past an allocation.
    const std::vector<char> prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_THROW(SafetensorsFile::Parse(std::as_bytes(std::span(prefix)), "f"), Error) << n;
  }
}

TEST(Safetensors, TypesMapBothWays) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32, DType::kI64}) {
    const SafetensorsType type = ToSafetensorsType(dtype);
    EXPECT_EQ(ToDType(type), dtype);
    EXPECT_EQ(SizeOf(type), SizeOf(dtype));
  }
  EXPECT_EQ(ToDType(SafetensorsType::kU8), std::nullopt);
  EXPECT_EQ(NameOf(SafetensorsType::kF8E4M3), "F8_E4M3");
}

class SafetensorsWriter : public testing::Test {
 protected:
  SafetensorsTensor Make(std::string name, SafetensorsType type, std::vector<int64_t> shape) {
    SafetensorsTensor t{std::move(name), type, std::move(shape), {}};
    const auto size = static_cast<size_t>(t.elements() * SizeOf(type));
    auto& data = data_.emplace_back(size);
    for (size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>(i * 7 + data_.size());
    t.bytes = data;
    return t;
  }
  TemporaryFolder folder_;
  std::vector<std::vector<std::byte>> data_;
};

TEST_F(SafetensorsWriter, WhatIsWrittenIsReadAligned) {
  data_.reserve(8);
  const std::vector<SafetensorsTensor> tensors = {
      Make("bytes \"quoted\"", SafetensorsType::kU8, {3}), Make("q", SafetensorsType::kBF16, {2, 3, 5}),
      Make("empty", SafetensorsType::kF32, {0, 4}), Make("indptr", SafetensorsType::kI64, {4}),
      Make("scalar", SafetensorsType::kF32, {})};
  const std::map<std::string, std::string> metadata = {{"operator", "softmax"}, {"note", "line\nbreak é"}};
  const auto path = folder_.path() / "a.safetensors";
  WriteSafetensors(path, tensors, metadata);
  const SafetensorsFile file = SafetensorsFile::Open(path);
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.tensors().size(), tensors.size());
  for (const SafetensorsTensor& want : tensors) {
    const SafetensorsTensor* got = file.Find(want.name);
    ASSERT_NE(got, nullptr) << want.name;
    EXPECT_EQ(got->type, want.type);
    EXPECT_EQ(got->shape, want.shape);
    EXPECT_TRUE(std::equal(got->bytes.begin(), got->bytes.end(), want.bytes.begin(), want.bytes.end()));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(got->bytes.data()) % static_cast<uintptr_t>(SizeOf(want.type)), 0U)
        << want.name;
  }
}

TEST_F(SafetensorsWriter, RefusesWhatItCouldNotReadBack) {
  data_.reserve(8);
  const auto path = folder_.path() / "a.safetensors";
  const SafetensorsTensor good = Make("q", SafetensorsType::kF32, {2});
  EXPECT_THAT(ErrorOf([&] { WriteSafetensors(path, std::vector{good, good}, {}); }),
              HasSubstr("tensor \"q\" is there twice"));
  SafetensorsTensor reserved = good;
  reserved.name = "__metadata__";
  EXPECT_THAT(ErrorOf([&] { WriteSafetensors(path, std::vector{reserved}, {}); }), HasSubstr("is reserved"));
  SafetensorsTensor wrong = good;
  wrong.shape = {3};
  EXPECT_THAT(ErrorOf([&] { WriteSafetensors(path, std::vector{wrong}, {}); }),
              HasSubstr("has 8 bytes, which is not what F32 [3] takes"));
  wrong.shape = {-1, -2};
  EXPECT_THROW(WriteSafetensors(path, std::vector{wrong}, {}), Error);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace pagoda::io
