#include "app/subjects/case_suite.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <variant>

#include "app/subjects/softmax_inputs.h"
#include "engine/attention/variant.h"
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

    const NormalBatch want = Normalise(file.softmax().batch);
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
    EXPECT_EQ(shape.batch.table.is_csr(), file.softmax().batch.table.is_csr());
    EXPECT_EQ(spec.alibi, !file.softmax().call.alibi_slopes.empty());
    EXPECT_EQ(spec.sinks, !file.softmax().call.sinks.empty());
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
      spec = SuiteOf(CaseFile::Open(entry.path()), "x").cases.at(0);
    } catch (const Error&) {
      continue;  // HSTU, or no row
    }
    const judge::GatePlan plan{.run_id = "r", .spec = *spec, .runs = {{"gather", 1}}, .threads = 1};
    const auto read = std::get<judge::GatePlan>(judge::ParseChildPlan(judge::ToJson(plan), "plan"));
    EXPECT_EQ(read.spec.contexts, spec->contexts);
    EXPECT_EQ(read.spec.queries, spec->queries);
    EXPECT_EQ(judge::CaseName(read.spec), spec->name);
    ++reached;
  }
  EXPECT_GT(reached, 8);
}

TEST(SuiteOf, RefusesAProblemWithoutRows) {
  try {
    SuiteOf(Open("batch_of_none_no_pages"), "x");
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), "q_indptr");
  }
}

}  // namespace
}  // namespace pagoda::app
