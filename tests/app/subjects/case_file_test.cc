#include "app/subjects/case_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "app/subjects/attend.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

using io::SafetensorsType;

// A file in the making: tensors by name with their own bytes.
struct Draft {
  struct Tensor {
    SafetensorsType type;
    std::vector<int64_t> shape;
    std::vector<std::byte> bytes;
  };
  std::map<std::string, Tensor> tensors;
  Metadata metadata{{"operator", "softmax_paged_attention"}};

  template <typename T>
  void Set(const std::string& name, SafetensorsType type, std::vector<int64_t> shape,
           const std::vector<T>& values) {
    const auto* data = reinterpret_cast<const std::byte*>(values.data());
    tensors[name] = {type, std::move(shape), {data, data + values.size() * sizeof(T)}};
  }
  void Zeros(const std::string& name, SafetensorsType type, std::vector<int64_t> shape) {
    int64_t bytes = io::SizeOf(type);
    for (const int64_t n : shape) bytes *= n;
    tensors[name] = {type, std::move(shape), std::vector<std::byte>(bytes)};
  }

  std::filesystem::path Write() const {
    const std::filesystem::path path =
        std::filesystem::path(testing::TempDir()) /
        (std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "_case.safetensors");
    std::vector<io::SafetensorsTensor> list;
    for (const auto& [name, t] : tensors) list.push_back({name, t.type, t.shape, t.bytes});
    io::WriteSafetensors(path, list, metadata);
    return path;
  }
  CaseFile Read() const {
    const std::filesystem::path path = Write();
    CaseFile c = CaseFile::Open(path);
    std::filesystem::remove(path);
    return c;
  }
};

// Two sequences of 5 and 2 keys over pages of 4, 4 query heads on 2 kv heads, D 8, Dv 6.
Draft Good() {
  Draft d;
  std::vector<float> q(3 * 4 * 8);
  for (size_t i = 0; i < q.size(); ++i) q[i] = std::sin(static_cast<float>(i));
  std::vector<float> k(4 * 4 * 2 * 8);
  for (size_t i = 0; i < k.size(); ++i) k[i] = std::cos(static_cast<float>(3 * i));
  std::vector<float> v(4 * 4 * 2 * 6);
  for (size_t i = 0; i < v.size(); ++i) v[i] = std::sin(static_cast<float>(5 * i));
  d.Set("q", SafetensorsType::kF32, {3, 4, 8}, q);
  d.Set<int32_t>("q_indptr", SafetensorsType::kI32, {3}, {0, 2, 3});
  d.Set("k_cache", SafetensorsType::kF32, {4, 4, 2, 8}, k);
  d.Set("v_cache", SafetensorsType::kF32, {4, 4, 2, 6}, v);
  d.Set<int64_t>("kv_indptr", SafetensorsType::kI64, {3}, {0, 2, 3});
  d.Set<int32_t>("kv_indices", SafetensorsType::kI32, {3}, {3, 0, 2});
  d.Set<int32_t>("kv_last_page_len", SafetensorsType::kI32, {2}, {1, 2});
  return d;
}

struct Mistake {
  const char* field;
  std::function<void(Draft&)> make;
};

TEST(CaseFile, AGoodFileIsRead) {
  const CaseFile c = Good().Read();
  EXPECT_EQ(std::get<SoftmaxProblem>(c.problem()).batch.q_heads, 4);
  EXPECT_EQ(std::get<SoftmaxProblem>(c.problem()).call.kv.head_dim_v, 6);
  EXPECT_EQ(std::get<SoftmaxProblem>(c.problem()).call.q.shape[0], 3);
  EXPECT_FALSE(c.golden());
}

TEST(CaseFile, EveryMistakeIsNamed) {
  constexpr auto kF32 = SafetensorsType::kF32;
  constexpr auto kI32 = SafetensorsType::kI32;
  const Mistake mistakes[] = {
      {"q", [](Draft& d) { d.tensors.erase("q"); }},
      {"q", [](Draft& d) { d.Zeros("q", SafetensorsType::kF64, {3, 4, 8}); }},
      {"q.shape", [](Draft& d) { d.Zeros("q", kF32, {12, 8}); }},
      {"q.shape", [](Draft& d) { d.Zeros("q", kF32, {3, 3, 8}); }},
      {"q.shape", [](Draft& d) { d.Zeros("q", kF32, {3, 0, 8}); }},
      {"k_cache.shape", [](Draft& d) { d.Zeros("q", kF32, {3, 4, 16}); }},
      {"q_indptr", [](Draft& d) { d.tensors.erase("q_indptr"); }},
      {"q_indptr", [](Draft& d) { d.Zeros("q_indptr", SafetensorsType::kU32, {3}); }},
      {"q_indptr", [](Draft& d) { d.Zeros("q_indptr", kI32, {3, 1}); }},
      {"q_indptr", [](Draft& d) { d.Zeros("q_indptr", kI32, {0}); }},
      {"q_indptr[2]", [](Draft& d) { d.Set<int32_t>("q_indptr", kI32, {3}, {0, 2, 2}); }},
      {"q_indptr[2]", [](Draft& d) { d.Set<int32_t>("q_indptr", kI32, {3}, {0, 2, 4}); }},
      {"q_indptr[0]", [](Draft& d) { d.Set<int32_t>("q_indptr", kI32, {3}, {1, 2, 3}); }},
      {"q_indptr[2]", [](Draft& d) { d.Set<int32_t>("q_indptr", kI32, {3}, {0, 2, -1}); }},
      {"k_cache", [](Draft& d) { d.tensors.erase("k_cache"); }},
      {"v_cache", [](Draft& d) { d.tensors.erase("v_cache"); }},
      {"k_cache",
       [](Draft& d) {
         d.tensors.erase("k_cache");
         d.tensors.erase("v_cache");
       }},
      {"k_cache", [](Draft& d) { d.Zeros("k_cache", SafetensorsType::kBF16, {4, 4, 2, 8}); }},
      {"v_cache", [](Draft& d) { d.Zeros("v_cache", SafetensorsType::kF16, {4, 4, 2, 6}); }},
      {"v_cache", [](Draft& d) { d.Zeros("v_cache", kF32, {4, 4, 1, 6}); }},
      {"k_cache", [](Draft& d) { d.Zeros("k_cache", kF32, {4, 4, 16}); }},
      {"k_cache", [](Draft& d) { d.Zeros("k_cache", kF32, {4, 0, 2, 8}); }},
      {"k_cache", [](Draft& d) { d.Zeros("kv_cache", kF32, {4, 2, 4, 2, 8}); }},
      {"kv_cache",
       [](Draft& d) {
         d.tensors.erase("k_cache"), d.tensors.erase("v_cache");
         d.Zeros("kv_cache", kF32, {4, 3, 4, 2, 8});
       }},
      {"kv_indptr", [](Draft& d) { d.tensors.erase("kv_indptr"); }},
      {"kv_indices", [](Draft& d) { d.tensors.erase("kv_indices"); }},
      {"kv_last_page_len", [](Draft& d) { d.tensors.erase("kv_last_page_len"); }},
      {"kv_indptr",
       [](Draft& d) {
         d.tensors.erase("kv_indptr"), d.tensors.erase("kv_indices"), d.tensors.erase("kv_last_page_len");
       }},
      {"context_lens", [](Draft& d) { d.Zeros("context_lens", kI32, {2}); }},
      {"kv_indptr", [](Draft& d) { d.Zeros("kv_indptr", kI32, {4}); }},
      {"kv_indptr[2]", [](Draft& d) { d.Set<int32_t>("kv_indptr", kI32, {3}, {0, 2, 100}); }},
      {"kv_indptr[2]", [](Draft& d) { d.Set<int32_t>("kv_indptr", kI32, {3}, {0, 2, INT32_MIN}); }},
      {"kv_indices[1]", [](Draft& d) { d.Set<int32_t>("kv_indices", kI32, {3}, {3, 4, 2}); }},
      {"kv_indices[0]", [](Draft& d) { d.Set<int32_t>("kv_indices", kI32, {3}, {INT32_MAX, 0, 2}); }},
      {"kv_last_page_len[0]", [](Draft& d) { d.Set<int32_t>("kv_last_page_len", kI32, {2}, {5, 2}); }},
      {"kv_last_page_len", [](Draft& d) { d.Zeros("kv_last_page_len", kI32, {3}); }},
      {"alibi_slopes.shape", [](Draft& d) { d.Zeros("alibi_slopes", kF32, {2}); }},
      {"alibi_slopes", [](Draft& d) { d.Zeros("alibi_slopes", SafetensorsType::kF16, {4}); }},
      {"sinks.shape", [](Draft& d) { d.Zeros("sinks", kF32, {1, 4}); }},
      {"sinks.shape", [](Draft& d) { d.Zeros("sinks", kF32, {}); }},
      {"expected_lse", [](Draft& d) { d.Zeros("expected_lse", SafetensorsType::kI32, {3, 4}); }},
      {"expected_o", [](Draft& d) { d.Zeros("expected_lse", kF32, {3, 4}); }},
      {"expected_o.shape", [](Draft& d) { d.Zeros("expected_o", kF32, {3, 4, 8}); }},
      {"expected_o", [](Draft& d) { d.Zeros("expected_o", SafetensorsType::kBF16, {3, 4, 6}); }},
      {"atol", [](Draft& d) { d.Zeros("expected_o", kF32, {3, 4, 6}); }},
      {"num_targets", [](Draft& d) { d.Zeros("num_targets", kI32, {2}); }},
      {"weights", [](Draft& d) { d.Zeros("weights", kF32, {2}); }},
      {"windowleft", [](Draft& d) { d.metadata["windowleft"] = "3"; }},
      {"operator", [](Draft& d) { d.metadata.clear(); }},
  };
  for (const Mistake& mistake : mistakes) {
    Draft draft = Good();
    mistake.make(draft);
    try {
      draft.Read();
      ADD_FAILURE() << "passed: " << mistake.field;
    } catch (const Error& e) {
      EXPECT_EQ(e.field(), mistake.field) << e.what();
      EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
    }
  }
}

// One sequence of 2 rows, one of them a target, over 5 keys in pages of 4; 4 query heads on 2 kv heads, D 8,
// Dv 6.
Draft GoodHstu() {
  Draft d = Good();
  constexpr auto kF32 = SafetensorsType::kF32;
  d.metadata = {{"operator", "hstu_paged_attention"}, {"max_seq_len", "16"}};
  d.tensors.erase("q_indptr");
  d.Zeros("q", kF32, {2, 4, 8});
  d.Zeros("k", kF32, {2, 2, 8});
  d.Zeros("v", kF32, {2, 2, 6});
  d.Set<int32_t>("seq_offsets", SafetensorsType::kI32, {2}, {0, 2});
  d.Set<int32_t>("kv_indptr", SafetensorsType::kI32, {2}, {0, 2});
  d.Set<int32_t>("kv_indices", SafetensorsType::kI32, {2}, {3, 0});
  d.Set<int32_t>("kv_last_page_len", SafetensorsType::kI32, {1}, {1});
  d.Set<int32_t>("num_targets", SafetensorsType::kI32, {1}, {1});
  return d;
}

TEST(CaseFile, AGoodHstuFileIsRead) {
  const CaseFile c = GoodHstu().Read();
  EXPECT_EQ(c.op(), CaseOperator::kHstuPaged);
  const auto& problem = std::get<HstuProblem>(c.problem());
  EXPECT_EQ(problem.batch.q_heads, 4);
  EXPECT_EQ(problem.batch.kv_heads, 2);
  EXPECT_EQ(problem.batch.head_dim_v, 6);
}

TEST(CaseFile, EveryMistakeOfHstuIsNamed) {
  constexpr auto kF32 = SafetensorsType::kF32;
  constexpr auto kI32 = SafetensorsType::kI32;
  const Mistake mistakes[] = {
      {"k", [](Draft& d) { d.tensors.erase("k"); }},
      {"v", [](Draft& d) { d.Zeros("v", SafetensorsType::kF16, {2, 2, 6}); }},
      {"k.shape", [](Draft& d) { d.Zeros("k", kF32, {2, 2, 7}); }},
      {"k.shape", [](Draft& d) { d.Zeros("k", kF32, {2, 16}); }},
      {"v.shape", [](Draft& d) { d.Zeros("v", kF32, {3, 2, 6}); }},
      {"k_cache.shape",
       [](Draft& d) {
         d.Zeros("k", kF32, {2, 1, 8});
         d.Zeros("v", kF32, {2, 1, 6});
       }},
      {"v_cache.shape", [](Draft& d) { d.Zeros("v", kF32, {2, 2, 5}); }},
      {"seq_offsets", [](Draft& d) { d.tensors.erase("seq_offsets"); }},
      {"seq_offsets[1]", [](Draft& d) { d.Set<int32_t>("seq_offsets", kI32, {2}, {0, 1}); }},
      {"seq_offsets_k", [](Draft& d) { d.Set<int32_t>("seq_offsets_k", kI32, {2}, {0, 2}); }},
      {"kv_indptr", [](Draft& d) { d.tensors.erase("kv_indptr"); }},
      {"kv_indices[1]", [](Draft& d) { d.Set<int32_t>("kv_indices", kI32, {2}, {3, 4}); }},
      {"num_targets[0]", [](Draft& d) { d.Set<int32_t>("num_targets", kI32, {1}, {3}); }},
      {"num_contextuals[0]", [](Draft& d) { d.Set<int32_t>("num_contextuals", kI32, {1}, {6}); }},
      {"rab", [](Draft& d) { d.Zeros("rab", kF32, {1, 1, 2, 5}); }},
      {"rab", [](Draft& d) { d.Zeros("rab", kF32, {1, 3, 2, 6}); }},
      {"mask", [](Draft& d) { d.Zeros("mask", kF32, {1, 1, 2, 6}); }},
      {"mask", [](Draft& d) { d.metadata["mask"] = "dense"; }},
      {"interval_mask", [](Draft& d) { d.Set<int32_t>("interval_mask", kI32, {2, 1}, {6, 6}); }},
      {"interval_mask", [](Draft& d) { d.metadata["mask"] = "interval"; }},
      {"q_indptr", [](Draft& d) { d.Set<int32_t>("q_indptr", kI32, {2}, {0, 2}); }},
      {"block_table", [](Draft& d) { d.Set<int32_t>("block_table", kI32, {1, 1}, {0}); }},
      {"expected_lse", [](Draft& d) { d.Zeros("expected_lse", kF32, {2, 4}); }},
      {"target_group_size",
       [](Draft& d) {
         d.metadata["mask"] = "none";
         d.metadata["target_group_size"] = "2";
       }},
      {"window_left",
       [](Draft& d) {
         d.metadata["window_left"] = "2";
         d.metadata["max_attn_len"] = "3";
       }},
  };
  for (const Mistake& mistake : mistakes) {
    Draft draft = GoodHstu();
    mistake.make(draft);
    try {
      draft.Read();
      ADD_FAILURE() << mistake.field << " was accepted";
    } catch (const Error& e) {
      EXPECT_EQ(e.field(), mistake.field) << e.what();
      EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
    }
  }
}

TEST(CaseFile, ManyMistakesAtOnceStillEndInAnError) {
  Draft draft = Good();
  draft.Set<int64_t>("kv_indptr", SafetensorsType::kI64, {3}, {0, INT64_MAX, INT64_MIN});
  draft.Set<int64_t>("kv_indices", SafetensorsType::kI64, {3}, {INT64_MIN, -1, INT64_MAX});
  EXPECT_THROW(draft.Read(), Error);
}

TEST(CaseFile, AFileWithoutSequencesAndPagesIsLegal) {
  Draft d = Good();
  d.Zeros("q", SafetensorsType::kF32, {0, 4, 8});
  d.Zeros("q_indptr", SafetensorsType::kI32, {1});
  d.Zeros("k_cache", SafetensorsType::kF32, {0, 4, 2, 8});
  d.Zeros("v_cache", SafetensorsType::kF32, {0, 4, 2, 6});
  d.Zeros("kv_indptr", SafetensorsType::kI32, {1});
  d.Zeros("kv_indices", SafetensorsType::kI32, {0});
  d.Zeros("kv_last_page_len", SafetensorsType::kI32, {0});
  EXPECT_EQ(std::get<SoftmaxProblem>(d.Read().problem()).call.q.shape[0], 0);
}

TEST(CaseFile, CheckingWithoutAnExpectationIsAnError) {
  const CaseFile c = Good().Read();
  Kernels kernels(*pagoda_kernel_library());
  AttendOptions options;
  options.check = true;
  try {
    Attend(c, kernels, options);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.field(), "expected_o");
  }
}

TEST(CaseFile, AGoldenFileIsMadeReadAndHoldsTheVariantsToIt) {
  ThreadPool pool(1, false);
  Draft draft = Good();
  draft.metadata["note"] = "kept";
  draft.metadata["rtol"] = "2e-5";
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "golden.safetensors";
  draft.Read().WriteWithGolden(path, pool);
  const CaseFile c = CaseFile::Open(path);
  ASSERT_TRUE(c.golden());
  EXPECT_EQ(c.golden()->want.out.size(), 3 * 4 * 6);
  EXPECT_EQ(c.golden()->want.lse.size(), 3 * 4);
  EXPECT_EQ(c.golden()->tolerance.atol, 1e-5);
  EXPECT_EQ(c.golden()->tolerance.rtol, 2e-5);
  const auto file = io::SafetensorsFile::Open(path);
  EXPECT_EQ(file.metadata().at("note"), "kept");
  EXPECT_EQ(file.metadata().at("source"), "fp64 oracle of pagoda");
  Kernels kernels(*pagoda_kernel_library());
  AttendOptions options;
  options.check = true;
  const AttendResult result = Attend(c, kernels, options);
  EXPECT_FALSE(result.AnyFailed());
  EXPECT_EQ(result.written_by, SoftmaxVariants().front()->name);
  // Made again from what was made: the same file.
  const std::filesystem::path again = std::filesystem::path(testing::TempDir()) / "golden_again.safetensors";
  c.WriteWithGolden(again, pool);
  EXPECT_EQ(CaseFile::Open(again).golden()->want.out, c.golden()->want.out);
  std::filesystem::remove(path);
  std::filesystem::remove(again);
}

TEST(CaseFile, AWrongExpectationFailsEveryVariant) {
  Draft draft = Good();
  draft.Zeros("expected_o", SafetensorsType::kF32, {3, 4, 6});
  draft.metadata["atol"] = draft.metadata["rtol"] = "1e-5";
  const CaseFile c = draft.Read();
  Kernels kernels(*pagoda_kernel_library());
  AttendOptions options;
  options.check = true;
  const AttendResult result = Attend(c, kernels, options);
  EXPECT_TRUE(result.AnyFailed());
  for (const AttendRow& row : result.rows)
    EXPECT_NE(row.fault.find("outside the tolerance"), std::string::npos);
}

}  // namespace
}  // namespace pagoda::app
