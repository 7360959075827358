#include "judge/bench/resume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/io/shown.h"

namespace pagoda::judge {
namespace {

class Differences {
 public:
  template <typename T>
  void Compare(std::string_view what, const T& recorded, const T& asked) {
    if (recorded != asked) list_.push_back(fmt::format("{} was {}, now {}", what, recorded, asked));
  }
  // Of a text that older manifests lack.
  void CompareKnown(std::string_view what, const std::string& recorded, const std::string& asked) {
    if (!recorded.empty()) Compare(what, recorded, asked);
  }
  void Compare(std::string_view whose, const Definition& recorded, const Definition& asked) {
    for (const auto& [name, before, now] : Changes(recorded, asked)) {
      Compare(fmt::format("{}{}", whose, name), io::Shown(before), io::Shown(now));
    }
  }
  void Compare(const ManifestCase& recorded, const ManifestCase& asked) {
    const std::string whose = recorded.name + ": ";
    Compare(whose, recorded.problem, asked.problem);
    Compare(whose + "dtype", recorded.dtype, asked.dtype);
    Compare(whose + "cache", recorded.cache, asked.cache);
    Compare(whose + "weight", recorded.weight, asked.weight);
    // Of older manifests the only trace of lengths that were drawn.
    if (recorded.problem.empty()) Compare(whose + "bytes", recorded.bytes, asked.bytes);
  }
  size_t size() const { return list_.size(); }
  std::vector<std::string> Take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

std::vector<std::string> CasesOf(const Manifest& manifest) {
  std::vector<std::string> cases;
  cases.reserve(manifest.cases.size());
  for (const ManifestCase& c : manifest.cases) cases.push_back(c.name);
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

void CompareCases(const Manifest& recorded, const Manifest& asked, Differences& differences) {
  const auto before = CasesOf(recorded);
  const auto now = CasesOf(asked);
  if (before != now) {
    const auto [old_case, new_case] = std::mismatch(before.begin(), before.end(), now.begin(), now.end());
    differences.Compare("case list", fmt::format("{} long", before.size()),
                        fmt::format("{} long", now.size()));
    differences.Compare("case", old_case == before.end() ? "missing" : *old_case,
                        new_case == now.end() ? "missing" : *new_case);
    return;
  }
  // What one case tells needn't be said of hundreds.
  const size_t others = differences.size();
  for (size_t i = 0; i < recorded.cases.size() && differences.size() == others; ++i) {
    differences.Compare(recorded.cases[i], asked.cases[i]);
  }
}

void CompareMachines(const EnvironmentFacts& recorded, const EnvironmentFacts& asked,
                     Differences& differences) {
  differences.CompareKnown("instruction set", recorded.isa, asked.isa);
  differences.CompareKnown("CPU", recorded.cpu, asked.cpu);
  differences.CompareKnown("CPU flags", recorded.cpu_flags, asked.cpu_flags);
  differences.CompareKnown("caches", recorded.caches, asked.caches);
  differences.CompareKnown("memory", recorded.memory, asked.memory);
  differences.CompareKnown("kernel", recorded.kernel, asked.kernel);
}

// The file that changed; of older manifests only a hash of all files is known.
void CompareCode(const Manifest& recorded, const Manifest& asked, Differences& differences) {
  if (recorded.code.empty()) {
    differences.Compare("program (hash)", recorded.environment.binary_hash, asked.environment.binary_hash);
    return;
  }
  differences.Compare("files of code", recorded.code.size(), asked.code.size());
  for (size_t i = 0; i < std::min(recorded.code.size(), asked.code.size()); ++i) {
    differences.Compare(asked.code[i].path + " (hash)", recorded.code[i].hash, asked.code[i].hash);
  }
}

}  // namespace

std::vector<std::string> ManifestDifferences(const Manifest& recorded, const Manifest& asked) {
  Differences differences;
  differences.Compare("suite", recorded.suite, asked.suite);
  CompareCases(recorded, asked, differences);
  differences.Compare("sweeps", SweepsOf(recorded), SweepsOf(asked));
  differences.Compare("variants", recorded.variants, asked.variants);
  differences.Compare("baseline", recorded.baseline, asked.baseline);
  differences.Compare("external programs", ProgramsOf(recorded), ProgramsOf(asked));
  differences.Compare("launches", recorded.launches, asked.launches);
  differences.Compare("delta", recorded.delta, asked.delta);
  differences.Compare("seed", recorded.seed, asked.seed);
  differences.Compare("threads", recorded.threads, asked.threads);
  differences.Compare("", recorded.settings, asked.settings);
  CompareMachines(recorded.environment, asked.environment, differences);
  CompareCode(recorded, asked, differences);
  return differences.Take();
}

}  // namespace pagoda::judge
