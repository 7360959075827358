#include "base/sys/cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <charconv>
#include <sstream>
#include <string>
#include <string_view>

#include "base/sys/small_file.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace pagoda::sys {
namespace {

// The value of the first line "key : value", as /proc/cpuinfo and /proc/meminfo write them.
std::string ValueOf(std::string_view text, std::string_view key) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const size_t colon = line.find(':');
    if (colon != line.npos && line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1) == key) {
      const size_t begin = line.find_first_not_of(" \t", colon + 1);
      return begin == line.npos ? std::string() : std::string(line.substr(begin));
    }
    at = end + 1;
  }
  return {};
}

// "32K", "1024K", "16M" in bytes; 0 when it is none.
int64_t ParseCacheSize(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (unit == "K") return value << 10;
  if (unit == "M") return value << 20;
  return unit.empty() ? value : 0;
}

// How many CPUs a list like "0-3,8,10-11" names.
int CountCpuList(std::string_view list) {
  int count = 0;
  std::stringstream parts{std::string(list)};
  for (std::string part; std::getline(parts, part, ',');) {
    int first = 0, last = 0;
    const char* const end = part.data() + part.size();
    const auto parsed = std::from_chars(part.data(), end, first);
    if (parsed.ec != std::errc()) continue;
    last = first;
    if (parsed.ptr != end && *parsed.ptr == '-') std::from_chars(parsed.ptr + 1, end, last);
    count += std::max(0, last - first + 1);
  }
  return count;
}

std::vector<CacheInfo> ReadCaches(const std::filesystem::path& cpu0) {
  constexpr int kMostCaches = 16;
  std::vector<CacheInfo> caches;
  for (int i = 0; i < kMostCaches; ++i) {
    const std::filesystem::path index = cpu0 / "cache" / fmt::format("index{}", i);
    const auto level = ReadIntFile(index / "level");
    const auto size = ReadSmallFile(index / "size");
    if (!level || !size) continue;
    caches.push_back({static_cast<int>(*level), ReadSmallFile(index / "type").value_or(""),
                      ParseCacheSize(*size),
                      std::max(1, CountCpuList(ReadSmallFile(index / "shared_cpu_list").value_or("")))});
  }
  return caches;
}

std::string InterestingFlags(const std::string& all) {
  static constexpr std::array<std::string_view, 13> kPrefixes = {"sse4_2", "avx",   "fma",    "f16c", "amx",
                                                                 "vnni",   "asimd", "sve",    "bf16", "i8mm",
                                                                 "fphp",   "neon",  "dotprod"};
  std::stringstream words(all);
  std::string kept;
  for (std::string word; words >> word;) {
    const bool wanted = std::any_of(kPrefixes.begin(), kPrefixes.end(),
                                    [&](std::string_view prefix) { return word.starts_with(prefix); });
    if (wanted) kept += kept.empty() ? word : " " + word;
  }
  return kept;
}

// The word in brackets: "always [madvise] never".
std::string Chosen(const std::string& text) {
  const size_t open = text.find('['), close = text.find(']');
  return open == text.npos || close == text.npos || close < open ? std::string()
                                                                 : text.substr(open + 1, close - open - 1);
}

// A line of /proc/meminfo, in bytes; 0 where there is none.
int64_t MemoryLine(const std::filesystem::path& root, std::string_view name) {
  const std::string value = ValueOf(ReadSmallFile(root / "proc/meminfo").value_or(""), name);
  int64_t kilobytes = 0;
  std::from_chars(value.data(), value.data() + value.size(), kilobytes);
  return kilobytes * 1024;
}

int64_t ReadMemory(const std::filesystem::path& root) {
  const int64_t machine = MemoryLine(root, "MemTotal");
  const auto group = ReadIntFile(root / "sys/fs/cgroup/memory.max");  // "max": no limit
  return group && *group > 0 && *group < machine ? *group : machine;
}

#if defined(__x86_64__)
// The compilers' own test says nothing of tiles in all their versions.
bool HasTilesOfBf16() {
  constexpr unsigned kAmxBf16 = 1U << 22;
  constexpr unsigned kAmxTile = 1U << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kAmxBf16) != 0 && (d & kAmxTile) != 0;
}

bool MayUseTiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

}  // namespace

CpuFeatures DetectCpuFeatures() {
  CpuFeatures features;
#if defined(__x86_64__)
  __builtin_cpu_init();
  features.avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
                  __builtin_cpu_supports("f16c") != 0;
  features.avx512 = features.avx2 && __builtin_cpu_supports("avx512f") != 0 &&
                    __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512cd") != 0 &&
                    __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  features.avx512_bf16 = features.avx512 && __builtin_cpu_supports("avx512bf16") != 0;
  features.amx_bf16 = features.avx512_bf16 && HasTilesOfBf16() && MayUseTiles();
#elif defined(__aarch64__)
  features.neon = true;
#endif
  return features;
}

int64_t MachineInfo::LastLevelCacheBytes() const {
  const CacheInfo* last = nullptr;
  for (const CacheInfo& cache : caches) {
    if (cache.type != "Instruction" && (last == nullptr || cache.level > last->level)) last = &cache;
  }
  return last == nullptr ? 0 : last->bytes;
}

MachineInfo ReadMachineInfo(const std::filesystem::path& root) {
  const std::filesystem::path cpus = root / "sys/devices/system/cpu";
  const std::string cpuinfo = ReadSmallFile(root / "proc/cpuinfo").value_or("");
  const std::string x86_flags = ValueOf(cpuinfo, "flags");
  MachineInfo info;
  info.cpu_model = ValueOf(cpuinfo, "model name");
  info.cpu_flags = InterestingFlags(x86_flags.empty() ? ValueOf(cpuinfo, "Features") : x86_flags);
  info.caches = ReadCaches(cpus / "cpu0");
  info.online_cpus = CountCpuList(ReadSmallFile(cpus / "online").value_or(""));
  info.threads_per_core =
      CountCpuList(ReadSmallFile(cpus / "cpu0/topology/thread_siblings_list").value_or(""));
  info.memory_bytes = ReadMemory(root);
  const auto type = ReadSmallFile(root / "proc/sys/kernel/ostype");
  const auto release = ReadSmallFile(root / "proc/sys/kernel/osrelease");
  if (release) info.kernel = fmt::format("{} {}", type.value_or("Linux"), *release);
  info.governor = ReadSmallFile(cpus / "cpu0/cpufreq/scaling_governor").value_or("");
  info.huge_pages = Chosen(ReadSmallFile(root / "sys/kernel/mm/transparent_hugepage/enabled").value_or(""));
  info.virtual_machine = fmt::format(" {} ", x86_flags).find(" hypervisor ") != std::string::npos;
  return info;
}

int64_t AvailableMemory(const std::filesystem::path& root) {
  const int64_t machine = MemoryLine(root, "MemAvailable");
  const std::filesystem::path group = root / "sys/fs/cgroup";
  const auto limit = ReadIntFile(group / "memory.max");  // "max": no limit
  const auto used = ReadIntFile(group / "memory.current");
  if (!limit || !used) return machine;
  // Pages of files count as used, but make way.
  int64_t files = 0;
  std::istringstream lines(ReadSmallFile(group / "memory.stat").value_or(""));
  std::string name;
  for (int64_t bytes = 0; lines >> name >> bytes;) {
    if (name == "file") files = bytes;
  }
  return std::min(machine, std::max<int64_t>(1, *limit - *used + files));
}

}  // namespace pagoda::sys
