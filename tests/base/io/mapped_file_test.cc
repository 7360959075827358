#include "base/io/mapped_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "base/io/temporary_folder.h"
#include "base/io/throws.h"
#include "pagoda/status.h"

namespace pagoda::io {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string Slurp(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

int64_t FilesIn(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

class Files : public testing::Test {
 protected:
  std::filesystem::path In(const std::string& name) const { return folder_.path() / name; }
  TemporaryFolder folder_;
};

TEST_F(Files, WhatIsWrittenIsRead) {
  const std::string text("one\0two\n", 8);
  WriteFileAtomically(In("a"), text);
  EXPECT_EQ(ReadTextFile(In("a")), text);
  EXPECT_EQ(MappedFile(In("a")).text(), text);
  EXPECT_EQ(FilesIn(folder_.path()), 1) << "the temporary file is gone";
}

TEST_F(Files, AnEmptyFileIsAnEmptyText) {
  WriteFileAtomically(In("a"), "");
  EXPECT_EQ(MappedFile(In("a")).bytes().size(), 0U);
  EXPECT_EQ(ReadTextFile(In("a")), "");
}

TEST_F(Files, AMovedMapStaysReadable) {
  WriteFileAtomically(In("a"), "text");
  MappedFile a(In("a"));
  const MappedFile b(std::move(a));
  EXPECT_EQ(b.text(), "text");
}

TEST_F(Files, MissingDirectoryAndPipeAreRefusedByName) {
  EXPECT_THAT(ErrorOf([&] { MappedFile file(In("none")); }),
              AllOf(HasSubstr(In("none").string()), HasSubstr("does not exist")));
  EXPECT_THAT(ErrorOf([&] { MappedFile file(folder_.path()); }), HasSubstr("is a directory"));
  ASSERT_EQ(mkfifo(In("pipe").c_str(), 0600), 0);
  EXPECT_THAT(ErrorOf([&] { MappedFile file(In("pipe")); }), HasSubstr("is not a regular file"));
  try {
    MappedFile file(In("none"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(e.field(), In("none").string());
  }
}

TEST_F(Files, ALongTextIsRefused) {
  WriteFileAtomically(In("a"), "12345");
  EXPECT_EQ(ReadTextFile(In("a"), 5), "12345");
  EXPECT_THAT(ErrorOf([&] { ReadTextFile(In("a"), 4); }), HasSubstr("has 5 bytes; at most 4"));
}

TEST_F(Files, ReplacingKeepsTheOldTextUntilCommit) {
  WriteFileAtomically(In("a"), "old");
  {
    sys::OutputFile file(In("a"));
    file.Write(std::as_bytes(std::span(std::string_view("new"))));
    EXPECT_EQ(Slurp(In("a")), "old");
  }
  EXPECT_EQ(Slurp(In("a")), "old") << "never committed";
  EXPECT_EQ(FilesIn(folder_.path()), 1);
  sys::OutputFile file(In("a"));
  file.Write(std::as_bytes(std::span(std::string_view("ne"))));
  file.Write(std::as_bytes(std::span(std::string_view("w"))));
  file.Commit();
  EXPECT_EQ(Slurp(In("a")), "new");
  EXPECT_EQ(FilesIn(folder_.path()), 1);
  EXPECT_THAT(ErrorOf([&] { file.Commit(); }), HasSubstr("committed twice"));
  EXPECT_THAT(ErrorOf([&] { file.Write({}); }), HasSubstr("after it was committed"));
}

TEST_F(Files, OutputHasTheUsualPermissionsNotPrivateOnes) {
  WriteFileAtomically(In("a"), "x");
  std::ofstream(In("b")) << "x";
  EXPECT_EQ(std::filesystem::status(In("a")).permissions(), std::filesystem::status(In("b")).permissions());
}

TEST_F(Files, ALinkIsFollowedNotReplaced) {
  WriteFileAtomically(In("real"), "old");
  std::filesystem::create_symlink(In("real"), In("link"));
  WriteFileAtomically(In("link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(In("link")));
  EXPECT_EQ(Slurp(In("real")), "new");
}

// A pipe stands for any device: a fault must not cost this machine its /dev/null.
void ExpectWrittenToNotReplaced(const std::filesystem::path& pipe) {
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  WriteFileAtomically(pipe, "text");
  char got[8] = {};
  EXPECT_EQ(read(reader, got, sizeof got), 4);
  close(reader);
  ASSERT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(Files, ADeviceIsWrittenToNotReplaced) { ExpectWrittenToNotReplaced(In("pipe")); }

TEST_F(Files, AFullDiskIsReported) {
  ASSERT_NO_FATAL_FAILURE(ExpectWrittenToNotReplaced(In("pipe")));
  // Every write to /dev/full fails with ENOSPC.
  EXPECT_THAT(ErrorOf([] { WriteFileAtomically("/dev/full", "text"); }),
              AllOf(HasSubstr("/dev/full"), HasSubstr("No space left"), HasSubstr("free some space")));
}

TEST_F(Files, AFolderThatIsNotThereIsReported) {
  EXPECT_THAT(ErrorOf([&] { WriteFileAtomically(In("no/such/file"), "x"); }), HasSubstr("No such file"));
  EXPECT_THAT(ErrorOf([&] { WriteFileAtomically(folder_.path(), "x"); }), HasSubstr("is a directory"));
}

TEST_F(Files, AppendsLines) {
  {
    sys::AppendFile file(In("log"));
    file.Append("one\n");
    file.Sync();
  }
  sys::AppendFile file(In("log"));
  file.Append("two\n");
  EXPECT_EQ(Slurp(In("log")), "one\ntwo\n");
  EXPECT_THAT(ErrorOf([] {
                sys::AppendFile full("/dev/full");
                full.Append("x");
              }),
              HasSubstr("No space left"));
  EXPECT_THAT(ErrorOf([&] { sys::AppendFile none(In("no/such")); }), HasSubstr("No such file"));
}

}  // namespace
}  // namespace pagoda::io
