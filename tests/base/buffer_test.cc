#include "base/buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "pagoda/status.h"

namespace pagoda {
namespace {

using testing::HasSubstr;

class BufferOfSize : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, BufferOfSize,
                         testing::Values(0, 1, 63, 64, 65, 4097, (2 << 20) - 1, 2 << 20, (2 << 20) + 1,
                                         (4 << 20) + 4095));

TEST_P(BufferOfSize, IsAlignedZeroedAndWritable) {
  for (const Guards guards : {Guards::kNone, Guards::kBoth}) {
    Buffer buffer(GetParam(), guards);
    EXPECT_EQ(buffer.size(), GetParam());
    ASSERT_NE(buffer.data(), nullptr);
    const auto address = reinterpret_cast<uintptr_t>(buffer.data());
    EXPECT_EQ(address % kBufferAlignment, 0U);
    const bool large = GetParam() >= (2 << 20);
    if (large) {
      EXPECT_EQ(address % (2 << 20), 0U);
    } else {
      EXPECT_FALSE(buffer.huge_pages_asked());
    }
    EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + buffer.size(),
                            [](std::byte b) { return b == std::byte{0}; }));
    if (GetParam() > 0) std::memset(buffer.data(), 0xff, buffer.size());
    EXPECT_FALSE(buffer.FindDamage().has_value());
  }
}

TEST_P(BufferOfSize, GuardsTellTheFirstDamagedByte) {
  Buffer buffer(GetParam(), Guards::kBoth);
  const auto size = static_cast<int64_t>(GetParam());
  const auto guard = static_cast<int64_t>(Buffer::kGuardBytes);
  for (const int64_t offset : {-guard, int64_t{-1}, size, size + 1, size + guard - 1}) {
    const std::byte was = buffer.data()[offset];
    buffer.data()[offset] = ~was;
    const auto damage = buffer.FindDamage();
    ASSERT_TRUE(damage.has_value()) << offset;
    EXPECT_EQ(damage->offset, offset);
    buffer.RestoreGuards();
    EXPECT_FALSE(buffer.FindDamage().has_value()) << offset;
  }
}

TEST(Buffer, GuardsSeeAFillWithAnyOneValue) {
  for (int value = 0; value < 256; ++value) {
    Buffer buffer(100, Guards::kBoth);
    std::memset(buffer.data(), value, 104);
    EXPECT_TRUE(buffer.FindDamage().has_value()) << value;
  }
}

TEST(Buffer, DescribesDamageInWords) {
  EXPECT_EQ(GuardDamage{105}.Describe(100), "byte 5 past the end of 100 was overwritten");
  EXPECT_EQ(GuardDamage{-3}.Describe(100), "byte 3 before the start of 100 was overwritten");
}

TEST(Buffer, WithoutGuardsNothingIsChecked) {
  const Buffer buffer(100);
  EXPECT_FALSE(buffer.FindDamage().has_value());
}

TEST(Buffer, MovesItsMemory) {
  for (const size_t size : {size_t{128}, size_t{3} << 20}) {
    Buffer a(size, Guards::kBoth);
    std::byte* const data = a.data();
    a.as<uint32_t>()[7] = 42;
    Buffer b(std::move(a));
    EXPECT_EQ(b.data(), data);
    EXPECT_EQ(b.span<uint32_t>()[7], 42U);
    Buffer c(64);
    c = std::move(b);
    EXPECT_EQ(c.data(), data);
    EXPECT_EQ(c.size(), size);
    EXPECT_FALSE(c.FindDamage().has_value());
  }
}

// What another process sees and does in the file behind a shared buffer.
TEST(SharedBuffer, IsOneMemoryForAllWhoOpenItsFile) {
  Buffer buffer(100, Guards::kBoth, Memory::kShared);
  buffer.as<char>()[7] = 'x';
  const FilePlace place = buffer.PlaceOf(buffer.data() + 7);
  std::fstream file(place.path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(place.offset);
  EXPECT_EQ(file.get(), 'x');
  file.seekp(place.offset + 1);
  file.put('y').flush();
  EXPECT_EQ(buffer.as<char>()[8], 'y');
  EXPECT_FALSE(buffer.FindDamage().has_value());
  file.seekp(place.offset - 7 + 100);
  file.put('z').flush();
  ASSERT_TRUE(buffer.FindDamage().has_value());
  EXPECT_EQ(buffer.FindDamage()->offset, 100);
}

TEST(SharedBuffer, IsAlignedZeroedAndMovable) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{5} << 20}) {
    Buffer first(size, Guards::kBoth, Memory::kShared);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first.data()) % kBufferAlignment, 0U);
    const auto bytes = first.span<char>();
    EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; }));
    const std::string path = first.PlaceOf(first.data()).path;
    Buffer second = std::move(first);
    EXPECT_EQ(second.PlaceOf(second.data()).path, path);
    EXPECT_FALSE(second.FindDamage().has_value());
  }
}

// Else whoever cuts it short would crash this process.
TEST(SharedBuffer, KeepsItsSizeWhateverOthersDo) {
  Buffer buffer(size_t{1} << 20, Guards::kNone, Memory::kShared);
  std::error_code error;
  std::filesystem::resize_file(buffer.PlaceOf(buffer.data()).path, 10, error);
  EXPECT_TRUE(error);
  buffer.as<char>()[(1 << 20) - 1] = 'x';
}

TEST(Buffer, SpansCountWholeElements) {
  Buffer buffer(15);
  EXPECT_EQ(buffer.span<float>().size(), 3U);
  EXPECT_EQ(std::as_const(buffer).span<double>().size(), 1U);
}

TEST(Buffer, RefusesWhatDoesNotFitTheAddressSpace) {
  for (const size_t size :
       {std::numeric_limits<size_t>::max(), std::numeric_limits<size_t>::max() / 2, size_t{1} << 55}) {
    try {
      const Buffer buffer(size, Guards::kBoth);
      FAIL() << size;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr("buffer of "));
    }
  }
}

}  // namespace
}  // namespace pagoda
