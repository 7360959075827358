#include "judge/bench/suite.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/suggest.h"
#include "judge/bench/builtin_suites.h"
#include "judge/bench/suite_toml.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

bool IsPath(std::string_view text) { return text.find('/') != text.npos || text.ends_with(".toml"); }

}  // namespace

Suite LoadSuite(std::string_view name_or_path, const io::RequestTrace* trace) {
  const auto builtin = BuiltinSuites();
  const auto found =
      std::find_if(builtin.begin(), builtin.end(), [&](const auto& s) { return s.name == name_or_path; });
  if (found != builtin.end()) return ParseSuite(found->toml, fmt::format("{}.toml", found->name), trace);
  if (IsPath(name_or_path)) return ReadSuiteFile(std::filesystem::path(name_or_path), trace);
  const std::vector<std::string> names = SuiteNames();
  throw Error(ErrorCode::kInvalidArgument, "suite",
              fmt::format("\"{}\" is neither built in ({}) nor a path to a .toml file{}", name_or_path,
                          fmt::join(names, ", "), DidYouMean(name_or_path, names)));
}

std::vector<std::string> SuiteNames() {
  std::vector<std::string> names;
  for (const BuiltinSuite& suite : BuiltinSuites()) names.emplace_back(suite.name);
  return names;
}

}  // namespace pagoda::judge
