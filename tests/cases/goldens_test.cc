// Case files from outside through every variant, and through the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "app/subjects/attend.h"
#include "app/subjects/case_file.h"
#include "base/io/json.h"
#include "base/io/mapped_file.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

using std::filesystem::path;

std::vector<path> CaseFilesIn(const path& folder) {
  std::vector<path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

OracleResult OracleOf(const CaseFile& c) {
  return std::visit(
      [](const auto& problem) {
        using Batch = std::remove_cvref_t<decltype(problem.batch)>;
        return OperatorOf<Batch>::Oracle(problem.batch, problem.call, {}, nullptr);
      },
      c.problem());
}

void ExpectEveryVariantAgrees(const path& file) {
  const CaseFile c = CaseFile::Open(file);
  ASSERT_TRUE(c.golden());
  const OracleResult oracle = OracleOf(c);
  ASSERT_EQ(oracle.out.size(), c.golden()->want.out.size());
  for (size_t i = 0; i < oracle.out.size(); ++i) {
    const double want = c.golden()->want.out[i];
    // The expectation is stored in f32 at least.
    ASSERT_NEAR(oracle.out[i], want, 1e-6 + 1e-6 * std::abs(want)) << "oracle, element " << i;
  }
  for (const int threads : {1, 2}) {
    Kernels kernels(*pagoda_kernel_library());
    AttendOptions options;
    options.check = true;
    options.threads = threads;
    const AttendResult result = Attend(c, kernels, options);
    EXPECT_EQ(result.rows.size(),
              c.op() == CaseOperator::kSoftmaxPaged ? SoftmaxVariants().size() : HstuVariants().size());
    EXPECT_TRUE(result.AnySupports());
    for (const AttendRow& row : result.rows) {
      if (row.why_not) continue;
      EXPECT_EQ(row.fault, "") << row.variant << ", " << threads << " threads";
      ASSERT_TRUE(row.comparison);
      EXPECT_EQ(row.comparison->compared,
                static_cast<int64_t>(c.golden()->want.out.size() + c.golden()->want.lse.size()));
    }
  }
}

void ExpectRefused(const path& file, const std::vector<std::string>& names) {
  try {
    CaseFile::Open(file);
    ADD_FAILURE() << "was read";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument) << e.what();
    const std::string text = e.what();
    EXPECT_TRUE(std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return text.find(name) != std::string::npos;
    })) << text;
    EXPECT_TRUE(std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return e.field().find(name) != std::string::npos;
    })) << e.field();
  }
}

void RunValid(const path& folder) {
  const std::vector<path> files = CaseFilesIn(folder);
  ASSERT_FALSE(files.empty());
  for (const path& file : files) {
    SCOPED_TRACE(file.filename().string());
    ExpectEveryVariantAgrees(file);
  }
}

TEST(Goldens, EveryVariantAgreesWithThem) { RunValid(PAGODA_TEST_CASES); }

TEST(Goldens, InvalidFilesAreRefusedByName) {
  const std::map<std::string, std::vector<std::string>> files = {
      {"page_id_equals_P", {"kv_indices[1]"}},
      {"page_id_minus_one", {"block_table[0][2]"}},
      {"last_page_len_zero", {"kv_last_page_len[0]"}},
      {"block_table_too_short", {"context_lens[0]"}},
      {"dtype_mismatch", {"k_cache"}},
      {"heads_not_divisible", {"q.shape"}},
      {"scale_nan", {"scale"}},
      {"unknown_metadata", {"window_size"}},
      {"both_table_forms", {"block_table"}},
      {"missing_v_cache", {"v_cache"}},
  };
  EXPECT_EQ(CaseFilesIn(path(PAGODA_TEST_CASES) / "invalid").size(), files.size());
  for (const auto& [name, fields] : files) {
    SCOPED_TRACE(name);
    ExpectRefused(path(PAGODA_TEST_CASES) / "invalid" / (name + ".safetensors"), fields);
  }
}

TEST(Goldens, TheWholeFolderOfPagodaCases) {
  const char* folder = std::getenv("PAGODA_CASES");
  if (folder == nullptr || *folder == '\0') {
    GTEST_SKIP() << "set PAGODA_CASES to a folder of case files to run all of them";
  }
  RunValid(folder);
  const path invalid = path(folder) / "invalid";
  if (!std::filesystem::exists(invalid / "MANIFEST.json")) return;
  const std::string text = io::ReadTextFile(invalid / "MANIFEST.json");
  for (const auto& entry : io::ParseJson(text, "MANIFEST.json")) {
    const auto file = entry.at("file").get<std::string>();
    SCOPED_TRACE(file);
    ExpectRefused(invalid / file, entry.at("field").get<std::vector<std::string>>());
  }
}

}  // namespace
}  // namespace pagoda::app
