// TOML files written by people: typed getters whose errors say file, line, column and key.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/status.h"

namespace pagoda::io {

// A table of a parsed file. Cheap to copy; keeps the whole file alive. Every getter throws Error
// (kInvalidArgument) whose field reads "suite.toml:12:5: case[2].dtype".
class TomlTable {
 public:
  // Error names the place of a syntax error, or is kIo when the file can't be read.
  static TomlTable ParseFile(const std::filesystem::path& path);
  static TomlTable Parse(std::string_view text, std::string_view source);

  bool Has(std::string_view key) const;
  std::vector<std::string> Keys() const;  // in the order of the file

  // Required keys.
  int64_t Int(std::string_view key) const;
  double Number(std::string_view key) const;  // an integer will do; finite
  bool Bool(std::string_view key) const;
  std::string String(std::string_view key) const;
  std::vector<int64_t> Ints(std::string_view key) const;  // an array, or one integer alone
  std::vector<double> Numbers(std::string_view key) const;
  std::vector<std::string> Strings(std::string_view key) const;  // an array, or one string alone
  TomlTable Table(std::string_view key) const;

  // Optional keys.
  std::optional<TomlTable> FindTable(std::string_view key) const;
  std::vector<TomlTable> Tables(std::string_view key) const;  // an array of tables; empty when there is none
  int64_t Int(std::string_view key, int64_t fallback) const;
  double Number(std::string_view key, double fallback) const;
  bool Bool(std::string_view key, bool fallback) const;
  std::string String(std::string_view key, std::string_view fallback) const;

  // Throws for the first key, in the order of the file, that is none of these, with "did you mean".
  void RefuseUnknownKeys(std::initializer_list<std::string_view> known) const;
  // An error about a key that is there (or about the table, when it isn't), for checks of the caller's own.
  Error Wrong(std::string_view key, std::string_view complaint) const;

 private:
  struct Document;
  struct Access;
  TomlTable(std::shared_ptr<const Document> document, const void* table, std::string path);

  std::shared_ptr<const Document> document_;
  const void* table_;  // toml::table of the document
  std::string path_;   // "case[2]"; empty for the root
};

}  // namespace pagoda::io
