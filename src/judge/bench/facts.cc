#include "judge/bench/facts.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

#include "base/hash.h"
#include "base/io/mapped_file.h"
#include "base/shell_words.h"
#include "base/sys/cpu.h"
#include "git_commit.h"

namespace pagoda::judge {
namespace {

constexpr double kMiB = 1024 * 1024;
constexpr double kGiB = 1024 * kMiB;

std::string CachesText(const sys::MachineInfo& machine) {
  std::string text;
  for (const sys::CacheInfo& cache : machine.caches) {
    if (cache.type == "Instruction") continue;
    if (!text.empty()) text += ", ";
    const double bytes = static_cast<double>(cache.bytes);
    text += fmt::format("L{} ", cache.level);
    text += bytes < kMiB ? fmt::format("{:g} KiB", bytes / 1024) : fmt::format("{:g} MiB", bytes / kMiB);
    if (cache.sharing_cpus > 1) text += fmt::format(" for {} CPUs", cache.sharing_cpus);
  }
  return text;
}

std::string CpuText(const sys::MachineInfo& machine) {
  std::string text = fmt::format("{}, {} CPUs", machine.cpu_model.empty() ? "unknown" : machine.cpu_model,
                                 machine.online_cpus);
  if (machine.threads_per_core > 1) text += fmt::format(", {} threads a core", machine.threads_per_core);
  if (!machine.governor.empty()) text += fmt::format(", governor {}", machine.governor);
  if (machine.virtual_machine) text += ", a virtual machine";
  return text;
}

std::string MemoryText(const sys::MachineInfo& machine) {
  std::string text = fmt::format("{:.3g} GiB", static_cast<double>(machine.memory_bytes) / kGiB);
  if (!machine.huge_pages.empty()) text += fmt::format(", transparent huge pages: {}", machine.huge_pages);
  return text;
}

std::string HashText(uint64_t hash) { return fmt::format("{:016x}", hash); }

std::tm UtcNow() { return fmt::gmtime(std::time(nullptr)); }

}  // namespace

EnvironmentFacts ReadEnvironmentFacts(const std::vector<CodeFile>& code) {
  const sys::MachineInfo machine = sys::ReadMachineInfo();
  EnvironmentFacts facts;
  facts.cpu = CpuText(machine);
  facts.cpu_flags = machine.cpu_flags;
  facts.caches = CachesText(machine);
  facts.memory = MemoryText(machine);
  facts.kernel = machine.kernel;
  facts.compiler = std::string(PAGODA_COMPILER);
  facts.build_flags = std::string(PAGODA_BUILD_FLAGS);
  uint64_t hash = kHashOfNothing;
  for (const CodeFile& file : code) hash = HashOf(file.hash, hash);
  facts.binary_hash = HashText(hash);
  facts.git_commit = std::string(kGitCommit);
  facts.git_dirty = kGitDirty;
  return facts;
}

std::string HashOfFile(const std::filesystem::path& file) {
  return HashText(HashOf(io::MappedFile(file).bytes()));
}

std::string UtcTime() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", UtcNow()); }
std::string UtcTimeForFileName() { return fmt::format("{:%Y-%m-%d-%H%M%S}", UtcNow()); }

std::string CommandLine(const std::vector<std::string>& argv) {
  std::vector<std::string> words(argv.size());
  std::transform(argv.begin(), argv.end(), words.begin(), QuotedWord);
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace pagoda::judge
