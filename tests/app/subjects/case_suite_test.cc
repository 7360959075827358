#include "app/subjects/case_suite.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/subjects/case_facts.h"
#include "app/subjects/gate.h"
#include "app/subjects/softmax_inputs.h"
#include "base/io/safetensors.h"
#include "engine/attention/hstu/oracle.h"
#include "engine/attention/hstu/variant.h"
#include "engine/attention/variant.h"
#include "judge/bench/case_name.h"
#include "judge/bench/gate.h"
#include "judge/bench/launch_plan.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

CaseFile Open(const std::string& name) {
  return CaseFile::Open(std::string(PAGODA_TEST_CASES) + "/" + name + ".safetensors");
}

TEST(SuiteOf, IsTheShapeOfTheFilesProblem) {
  for (const char* name :
       {"dims_d1_f32", "format_hnd_combined_i64_f16", "format_padded_garbage_i64_f32",
        "mask_window_right0_noncausal", "mod_softcap_alibi_window", "page3_d80_bf16_h5_1",
        "pairs_11_f16_nhd_csr_mixed", "batch_empty_sequences_csr", "share_repeated_page"}) {
    SCOPED_TRACE(name);
    const CaseFile file = Open(name);
    const judge::Suite suite = SuiteOf(file, name);
    ASSERT_EQ(suite.cases.size(), 1u);
    const judge::CaseSpec& spec = suite.cases[0];
    EXPECT_EQ(judge::CaseName(spec), spec.name);

    const auto& problem = std::get<SoftmaxProblem>(file.problem());
    const NormalBatch want = Normalise(problem.batch);
    const ShapeOnly shape(spec);
    const NormalBatch got = Normalise(shape.batch);
    EXPECT_EQ(got.kv_len, want.kv_len);
    EXPECT_EQ(got.q_begin, want.q_begin);
    EXPECT_EQ(got.group, want.group);
    EXPECT_EQ(got.head_dim, want.head_dim);
    EXPECT_EQ(got.head_dim_v, want.head_dim_v);
    EXPECT_EQ(got.kv.page_size, want.kv.page_size);
    EXPECT_EQ(got.kv.dtype, want.kv.dtype);
    // Which of slot and head comes first in memory, where both can be told apart.
    if (want.kv.page_size > 1 && want.kv_heads > 1) {
      EXPECT_EQ(got.kv.k_slot_stride > got.kv.k_head_stride, want.kv.k_slot_stride > want.kv.k_head_stride);
    }
    EXPECT_EQ(got.causal, want.causal);
    EXPECT_EQ(got.window_left, want.window_left);
    EXPECT_EQ(got.window_right, want.window_right);
    EXPECT_EQ(got.softcap, want.softcap);
    EXPECT_EQ(shape.batch.table.is_csr(), problem.batch.table.is_csr());
    EXPECT_EQ(spec.alibi, !problem.call.alibi_slopes.empty());
    EXPECT_EQ(spec.sinks, !problem.call.sinks.empty());
  }
}

// The gate and the launches of a case file run in processes of their own, which get the case by its name.
TEST(SuiteOf, EveryCaseReachesAnotherProcess) {
  int reached = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PAGODA_TEST_CASES)) {
    if (entry.path().extension() != ".safetensors") continue;
    SCOPED_TRACE(entry.path());
    std::optional<judge::CaseSpec> spec;
    try {
      spec = SuiteOf(CaseFile::Open(entry.path()), entry.path()).cases.at(0);
    } catch (const Error&) {
      continue;  // no row
    }
    const judge::GatePlan plan{.run_id = "r", .spec = *spec, .runs = {{"gather", 1}}, .threads = 1};
    auto read = std::get<judge::GatePlan>(judge::ParseChildPlan(judge::ToJson(plan), "plan"));
    CompleteCase(read.spec);
    EXPECT_EQ(read.spec.contexts, spec->contexts);
    EXPECT_EQ(read.spec.queries, spec->queries);
    EXPECT_EQ(read.spec.name, spec->name);
    EXPECT_EQ(judge::ProblemOf(read.spec), judge::ProblemOf(*spec));
    EXPECT_EQ(judge::CaseName(read.spec), judge::CaseName(*spec));
    ++reached;
  }
  EXPECT_GT(reached, 14);
}

judge::CaseSpec SpecIn(const std::filesystem::path& path) {
  return SuiteOf(CaseFile::Open(path), path).cases.at(0);
}
judge::CaseSpec SpecOf(const std::string& name) {
  return SpecIn(std::filesystem::path(PAGODA_TEST_CASES) / (name + ".safetensors"));
}

std::string RefusalOf(const std::filesystem::path& path) {
  try {
    SpecIn(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "taken";
}

// A copy of a file with zeros in one of its tensors.
std::filesystem::path WithZeros(const std::string& name, const std::string& tensor) {
  const auto file =
      io::SafetensorsFile::Open(std::filesystem::path(PAGODA_TEST_CASES) / (name + ".safetensors"));
  std::vector<io::SafetensorsTensor> tensors = file.tensors();
  std::vector<std::byte> zeros;
  for (io::SafetensorsTensor& t : tensors) {
    if (t.name != tensor) continue;
    zeros.resize(t.bytes.size());
    t.bytes = zeros;
  }
  EXPECT_FALSE(zeros.empty());
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / (name + " copy.safetensors");
  io::WriteSafetensors(path, tensors, file.metadata());
  return path;
}

TEST(SuiteOf, RefusesAProblemOfWhichThereIsNothingToTime) {
  const std::filesystem::path cases = PAGODA_TEST_CASES;
  EXPECT_EQ(RefusalOf(cases / "batch_of_none_no_pages.safetensors"),
            "q_indptr holds no query row, so there is nothing to time");
  EXPECT_EQ(RefusalOf(cases / "hstu_batch_of_none.safetensors"),
            "seq_offsets holds no query row, so there is nothing to time");
  EXPECT_EQ(RefusalOf(WithZeros("hstu_dense_weights", "mask")),
            "mask lets no row see a key, so there is nothing to time");
  EXPECT_EQ(RefusalOf(WithZeros("hstu_interval_paged", "interval_mask")),
            "interval_mask lets no row see a key, so there is nothing to time");
}

TEST(SuiteOf, OfHstuIsTheFilesProblemUnderItsName) {
  const judge::CaseSpec spec = SpecOf("hstu_contiguous_explicit_k_offsets");
  EXPECT_EQ(spec.name, "hstu_contiguous_explicit_k_offsets.safetensors");
  EXPECT_EQ(NameOf(spec.op), "hstu_attention");
  EXPECT_EQ(spec.contexts, (std::vector<int64_t>{7, 3}));
  EXPECT_EQ(spec.queries, (std::vector<int64_t>{7, 3}));
  EXPECT_EQ(spec.dtype, DType::kF32);
  ASSERT_TRUE(spec.file);
  EXPECT_EQ(judge::ProblemOf(spec).at("case file"), spec.file->hash);
  EXPECT_EQ(NameOf(SpecOf("hstu_interval_paged").op), "hstu_paged_attention");
  EXPECT_EQ(SpecOf("hstu_interval_paged").page_size, 16);
  // What can't be part of a file's name or of a command line is replaced.
  EXPECT_EQ(SpecIn(WithZeros("hstu_rab_BH", "rab")).name, "hstu_rab_BH_copy.safetensors");
}

TEST(CompleteCase, RefusesAFileThatChangedMeanwhile) {
  const std::filesystem::path path = WithZeros("hstu_rab_BH", "rab");
  judge::CaseSpec spec = SpecIn(path);
  CompleteCase(spec);
  spec.file->hash = SpecOf("hstu_rab_BH").file->hash;
  try {
    CompleteCase(spec);
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), spec.file->path);
  }
}

// What the oracle's own formula counts, by definition and not by ranges.
TEST(FactsOf, CountsWhatRowsOfAFileSee) {
  for (const char* name :
       {"hstu_contiguous_explicit_k_offsets", "hstu_interval_paged", "hstu_paged_no_history",
        "hstu_paged_page1", "hstu_paged_shared_pages", "hstu_rab_BH"}) {
    const CaseFile file = Open(name);
    EXPECT_EQ(FactsOf(SpecOf(name)).flops, HstuFlops(std::get<HstuProblem>(file.problem()).batch)) << name;
  }
  // Of 352 (row, head, key) triples the mask has 222 that aren't 0; 2 * (32 + 32) FLOPs each. All 29 keys are
  // seen.
  const judge::CaseFacts dense = FactsOf(SpecOf("hstu_dense_weights"));
  EXPECT_EQ(dense.flops, 222 * 128);
  EXPECT_EQ(dense.bytes, 29 * 2 * 64 * 4);
  EXPECT_EQ(dense.run_bytes, 8 * 2 * 32 * 4);
  // Two whole pages that both sequences have, 2 and 6 keys of their own, 3 targets.
  EXPECT_EQ(FactsOf(SpecOf("hstu_paged_shared_pages")).bytes, (32 + 2 + 6 + 3) * 2 * 64 * 4);
  const judge::CaseFacts contiguous = FactsOf(SpecOf("hstu_contiguous_explicit_k_offsets"));
  EXPECT_EQ(contiguous.bytes, 10 * 2 * 64 * 4);
  EXPECT_EQ(contiguous.run_bytes, 0);  // a stream
  EXPECT_GE(contiguous.memory_bytes, static_cast<double>(ColdBytes()));
}

// All files of HSTU, of the tests and, where PAGODA_CASES names one, of a folder of more.
TEST(SuiteOf, EveryHstuVariantPassesTheGateOnEveryFile) {
  std::vector<std::filesystem::path> files;
  const char* const more = std::getenv("PAGODA_CASES");
  for (const std::filesystem::path folder : {PAGODA_TEST_CASES, more == nullptr ? PAGODA_TEST_CASES : more}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().filename().string().starts_with("hstu_")) files.push_back(entry.path());
    }
  }
  Kernels kernels(*pagoda_kernel_library());
  int passed = 0;
  for (const std::filesystem::path& path : files) {
    if (RefusalOf(path).ends_with("nothing to time")) continue;
    for (const uint64_t seed : judge::kGateSeeds) {
      const GateCaseOf<HstuBatch> gate_case(SpecIn(path), seed, nullptr);
      for (const HstuVariant* variant : HstuVariants()) {
        const judge::GateResult result = RunGate(gate_case, kernels, *variant, 2);
        EXPECT_TRUE(result.passed) << path << " " << variant->name << " " << seed << ": " << result.fault;
        passed += result.passed ? 1 : 0;
      }
    }
  }
  EXPECT_GE(passed, 7 * 9);
}

}  // namespace
}  // namespace pagoda::app
