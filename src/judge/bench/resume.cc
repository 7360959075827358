#include "judge/bench/resume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace pagoda::judge {
namespace {

class Differences {
 public:
  template <typename T>
  void Compare(std::string_view what, const T& recorded, const T& asked) {
    if (recorded != asked) list_.push_back(fmt::format("{} was {}, now {}", what, recorded, asked));
  }
  std::vector<std::string> Take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

std::vector<std::string> CasesOf(const Manifest& manifest) {
  std::vector<std::string> cases;
  cases.reserve(manifest.cases.size());
  for (const ManifestCase& c : manifest.cases)
    // The bytes, because drawn lengths aren't in the name.
    cases.push_back(fmt::format("{} (weight {}, {:.0f} bytes)", c.name, c.weight, c.bytes));
  return cases;
}

std::vector<std::string> SweepsOf(const Manifest& manifest) {
  std::vector<std::string> sweeps;
  sweeps.reserve(manifest.sweeps.size());
  for (const Sweep& sweep : manifest.sweeps) sweeps.push_back(sweep.name);
  return sweeps;
}

std::vector<std::string> ProgramsOf(const Manifest& manifest) {
  std::vector<std::string> programs;
  programs.reserve(manifest.programs.size());
  for (const ManifestProgram& p : manifest.programs) {
    programs.push_back(fmt::format("{}={} ({})", p.name, p.command, p.about));
  }
  return programs;
}

}  // namespace

std::vector<std::string> ManifestDifferences(const Manifest& recorded, const Manifest& asked) {
  Differences differences;
  differences.Compare("suite", recorded.suite, asked.suite);
  const auto before = CasesOf(recorded);
  const auto now = CasesOf(asked);
  if (before != now) {
    const auto [old_case, new_case] = std::mismatch(before.begin(), before.end(), now.begin(), now.end());
    differences.Compare("case list", fmt::format("{} long", before.size()),
                        fmt::format("{} long", now.size()));
    differences.Compare("case", old_case == before.end() ? "missing" : *old_case,
                        new_case == now.end() ? "missing" : *new_case);
  }
  differences.Compare("sweeps", SweepsOf(recorded), SweepsOf(asked));
  differences.Compare("variants", recorded.variants, asked.variants);
  differences.Compare("baseline", recorded.baseline, asked.baseline);
  differences.Compare("external programs", ProgramsOf(recorded), ProgramsOf(asked));
  differences.Compare("launches", recorded.launches, asked.launches);
  differences.Compare("delta", recorded.delta, asked.delta);
  differences.Compare("seed", recorded.seed, asked.seed);
  differences.Compare("threads", recorded.threads, asked.threads);
  differences.Compare("program (hash)", recorded.environment.binary_hash, asked.environment.binary_hash);
  return differences.Take();
}

}  // namespace pagoda::judge
