// Runs a fuzz target without libFuzzer: over its corpus, over every prefix of it, and over seeded mutations.
// More of them: PAGODA_FUZZ_ROUNDS=1000000 PAGODA_FUZZ_SEED=7 json_replay_test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/io/mapped_file.h"
#include "base/random.h"
#include "fuzz/fuzz_target.h"

namespace pagoda {
namespace {

std::vector<std::string> Corpus() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(PAGODA_CORPUS)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const auto& path : paths) inputs.push_back(io::ReadTextFile(path));
  return inputs;
}

uint64_t FromEnvironment(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

void RunTarget(const std::string& input) {
  // A copy of exactly this size: a read past its end is one past an allocation, which a sanitizer sees.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

void Mutate(std::string& input, const std::string& other, Random& random) {
  const size_t at = random.Below(input.size() + 1);
  const size_t length = random.Below(std::min<size_t>(input.size() - at, 16) + 1);
  switch (random.Below(8)) {
    case 0:
      if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << random.Below(8)));
      break;
    case 1:
      if (at < input.size()) input[at] = static_cast<char>(random.Bits());
      break;
    case 2:
      input.erase(at, length);
      break;
    case 3:
      input.insert(at, input.substr(at, length));
      break;
    case 4: {
      const size_t from = random.Below(other.size() + 1);
      input.replace(at, length, other.substr(from, random.Below(32)));
      break;
    }
    case 5: {
      static const std::vector<std::string> kHard = {"0",
                                                     "-1",
                                                     "9223372036854775807",
                                                     "18446744073709551616",
                                                     "1e308",
                                                     "1e999",
                                                     "null",
                                                     "true",
                                                     "{}",
                                                     "[]",
                                                     "[[",
                                                     "\"\"",
                                                     "\\u0000",
                                                     "\xff",
                                                     std::string(1, '\0'),
                                                     "nan",
                                                     "=",
                                                     "\n",
                                                     std::string(40, '[')};
      input.replace(at, length, kHard[random.Below(kHard.size())]);
      break;
    }
    case 6:
      input.resize(at);
      break;
    default:
      for (size_t i = at; i < std::min(at + 8, input.size()); ++i)
        input[i] = static_cast<char>(random.Bits());
  }
}

TEST(Replay, CorpusAndItsPrefixes) {
  const std::vector<std::string> corpus = Corpus();
  ASSERT_GE(corpus.size(), 5U) << PAGODA_CORPUS;
  for (const std::string& input : corpus) {
    for (size_t n = 0; n <= input.size(); ++n) RunTarget(input.substr(0, n));
  }
}

TEST(Replay, SeededMutations) {
  const std::vector<std::string> corpus = Corpus();
  const uint64_t seed = FromEnvironment("PAGODA_FUZZ_SEED", 2026);
  const uint64_t rounds = FromEnvironment("PAGODA_FUZZ_ROUNDS", 10000);
  RecordProperty("seed", std::to_string(seed));
  std::printf("PAGODA_FUZZ_SEED=%llu PAGODA_FUZZ_ROUNDS=%llu\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(rounds));
  const Random seeds(seed);
  for (uint64_t round = 0; round < rounds; ++round) {
    Random random = seeds.Fork(round);
    std::string input = corpus[random.Below(corpus.size())];
    const std::string& other = corpus[random.Below(corpus.size())];
    for (uint64_t i = 0; i <= random.Below(6); ++i) Mutate(input, other, random);
    RunTarget(input);
  }
}

}  // namespace
}  // namespace pagoda
