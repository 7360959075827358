// Attention as a user of the library writes it: a cache, a block pool, a table, a plan, calls.
#include <gtest/gtest.h>
#include <pagoda/block_pool.h>
#include <pagoda/paged_kv.h>
#include <pagoda/softmax.h>
#include <pagoda/status.h>
#include <pagoda/thread_pool.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace {

using pagoda::DType;
using pagoda::TensorView;

constexpr int64_t kPages = 16;
constexpr int64_t kPageSize = 4;
constexpr int64_t kKvHeads = 2;
constexpr int64_t kQHeads = 6;
constexpr int64_t kDim = 8;

// Any fixed values between -1 and 1.
float Value(int64_t a, int64_t b, int64_t c) {
  return std::sin(static_cast<float>(13 * a + 7 * b + 3 * c + a * b % 5));
}

// A growing sequence: the model's view of it, token by token, and the pages that hold it.
struct Sequence {
  std::vector<int64_t> pages;
  int64_t tokens = 0;
  std::vector<int64_t> history;  // what each token was made from
};

class Model {
 public:
  Model() : memory_(2 * kPages * kPageSize * kKvHeads * kDim, NAN), pool_(kPages) {
    cache_ = pagoda::PagedKvView::Combined(
        TensorView::Dense(memory_.data(), DType::kF32, {kPages, 2, kPageSize, kKvHeads, kDim}),
        pagoda::KvLayout::kNHD);
  }

  // Puts token `id` behind the sequence.
  void Append(Sequence& s, int64_t id) {
    if (s.tokens % kPageSize == 0) s.pages.push_back(pool_.Allocate(1)[0]);
    const int64_t last = static_cast<int64_t>(s.pages.size()) - 1;
    pool_.MakeWritable(s.pages, last, cache_);
    std::vector<float> k(kKvHeads * kDim);
    std::vector<float> v(kKvHeads * kDim);
    for (int64_t i = 0; i < kKvHeads * kDim; ++i) {
      k[i] = Value(id, i, 1);
      v[i] = Value(id, i, 2);
    }
    const int64_t slot = s.pages[last] * kPageSize + s.tokens % kPageSize;
    pagoda::AppendKv(cache_, TensorView::Dense(k.data(), DType::kF32, {1, kKvHeads, kDim}),
                     TensorView::Dense(v.data(), DType::kF32, {1, kKvHeads, kDim}),
                     TensorView::Dense(const_cast<int64_t*>(&slot), DType::kI64, {1}));
    ++s.tokens;
    s.history.push_back(id);
  }

  Sequence Fork(const Sequence& s) { return {pool_.Fork(s.pages), s.tokens, s.history}; }
  void End(const Sequence& s) {
    for (const int64_t page : s.pages) pool_.Free(page);
  }

  struct Output {
    std::vector<float> out, lse;
  };

  // The last queries[b] tokens of each sequence ask.
  Output Attend(const pagoda::SoftmaxVariant& variant, const std::vector<const Sequence*>& batch,
                const std::vector<int64_t>& queries) {
    std::vector<int32_t> q_indptr = {0};
    std::vector<int32_t> indptr = {0};
    std::vector<int32_t> indices;
    std::vector<int32_t> last;
    std::vector<float> q;
    for (size_t b = 0; b < batch.size(); ++b) {
      const Sequence& s = *batch[b];
      indices.insert(indices.end(), s.pages.begin(), s.pages.end());
      indptr.push_back(static_cast<int32_t>(indices.size()));
      last.push_back(static_cast<int32_t>(s.tokens == 0 ? 0 : (s.tokens - 1) % kPageSize + 1));
      q_indptr.push_back(q_indptr.back() + static_cast<int32_t>(queries[b]));
      for (int64_t t = s.tokens - queries[b]; t < s.tokens; ++t) {
        for (int64_t i = 0; i < kQHeads * kDim; ++i) q.push_back(Value(s.history[t], i, 3));
      }
    }
    const auto i32 = [](std::vector<int32_t>& values) {
      return TensorView::Dense(values.data(), DType::kI32, {static_cast<int64_t>(values.size())});
    };
    pagoda::SoftmaxBatch shape;
    shape.q_heads = kQHeads;
    shape.q_indptr = i32(q_indptr);
    shape.kv = cache_;
    shape.table = pagoda::PageTable::Csr(i32(indptr), i32(indices), i32(last));

    pagoda::ThreadPool threads(2);
    const pagoda::SoftmaxPlan plan = pagoda::PlanSoftmax(variant, shape, threads.threads());
    // Rounded up: aligned_alloc wants a multiple of the alignment.
    const size_t bytes = (plan.workspace_bytes() + 63) / 64 * 64;
    const std::unique_ptr<void, decltype(&std::free)> workspace(std::aligned_alloc(64, bytes), &std::free);

    const int64_t rows = q_indptr.back();
    Output result = {std::vector<float>(rows * kQHeads * kDim), std::vector<float>(rows * kQHeads)};
    pagoda::SoftmaxCall call;
    call.q = TensorView::Dense(q.data(), DType::kF32, {rows, kQHeads, kDim});
    call.kv = cache_;
    call.out = TensorView::Dense(result.out.data(), DType::kF32, {rows, kQHeads, kDim});
    call.lse = TensorView::Dense(result.lse.data(), DType::kF32, {rows, kQHeads});
    pagoda::RunSoftmax(plan, call, {static_cast<std::byte*>(workspace.get()), bytes}, threads);
    return result;
  }

  int64_t free_pages() const { return pool_.free_pages(); }

 private:
  std::vector<float> memory_;
  pagoda::PagedKvView cache_;
  pagoda::BlockPool pool_;
};

// Causal attention of one token of a sequence from the formula, without a cache.
void ExpectAttention(const Sequence& s, int64_t token, const float* out, const float* lse) {
  for (int64_t head = 0; head < kQHeads; ++head) {
    const int64_t kv_head = head / (kQHeads / kKvHeads);
    std::vector<double> weights;
    double sum = 0;
    for (int64_t j = 0; j <= token; ++j) {
      double score = 0;
      for (int64_t d = 0; d < kDim; ++d) {
        score +=
            double{Value(s.history[token], head * kDim + d, 3)} * Value(s.history[j], kv_head * kDim + d, 1);
      }
      weights.push_back(std::exp(score / std::sqrt(double{kDim})));
      sum += weights.back();
    }
    EXPECT_NEAR(lse[head], std::log(sum), 1e-5) << "token " << token << " head " << head;
    for (int64_t d = 0; d < kDim; ++d) {
      double want = 0;
      for (int64_t j = 0; j <= token; ++j) {
        want += weights[j] / sum * Value(s.history[j], kv_head * kDim + d, 2);
      }
      EXPECT_NEAR(out[head * kDim + d], want, 1e-5) << "token " << token << " head " << head << " d " << d;
    }
  }
}

TEST(PublicSoftmax, PrefillForkAndDecode) {
  for (const pagoda::SoftmaxVariant* variant : pagoda::SoftmaxVariants()) {
    SCOPED_TRACE(NameOf(*variant));
    Model model;
    Sequence prompt;
    for (int64_t id = 1; id <= 10; ++id) model.Append(prompt, id);

    // Prefill: all ten tokens at once.
    const Model::Output prefill = model.Attend(*variant, {&prompt}, {10});
    for (int64_t t = 0; t < 10; ++t) {
      ExpectAttention(prompt, t, &prefill.out[t * kQHeads * kDim], &prefill.lse[t * kQHeads]);
    }

    // Two continuations share the prompt's pages; the shared, half-full last page is copied on write.
    Sequence fork = model.Fork(prompt);
    EXPECT_EQ(model.free_pages(), kPages - 3);
    model.Append(prompt, 100);
    EXPECT_EQ(model.free_pages(), kPages - 4);
    model.Append(fork, 200);
    model.Append(fork, 201);
    model.Append(fork, 202);

    // A mixed batch: decode, an empty sequence that nobody asks about, three tokens at once.
    const Sequence nothing;
    const Model::Output mixed = model.Attend(*variant, {&prompt, &nothing, &fork}, {1, 0, 3});
    ExpectAttention(prompt, 10, &mixed.out[0], &mixed.lse[0]);
    for (int64_t t = 0; t < 3; ++t) {
      ExpectAttention(fork, 10 + t, &mixed.out[(1 + t) * kQHeads * kDim], &mixed.lse[(1 + t) * kQHeads]);
    }

    model.End(prompt);
    model.End(fork);
    EXPECT_EQ(model.free_pages(), kPages);
  }
}

TEST(PublicSoftmax, PartialStatesOverDisjointPagesMergeToTheWhole) {
  const pagoda::SoftmaxVariant& variant = *pagoda::FindSoftmaxVariant("spmd_paged_attention_highperf");
  Model model;
  Sequence all;
  for (int64_t id = 1; id <= 20; ++id) model.Append(all, id);
  const Model::Output want = model.Attend(variant, {&all}, {1});
  // The same query over the first three and the last two pages.
  Sequence head = {{all.pages.begin(), all.pages.begin() + 3}, 12, {}};
  Sequence tail = {{all.pages.begin() + 3, all.pages.end()}, 8, {}};
  head.history.assign(12, all.history.back());
  tail.history.assign(8, all.history.back());
  Model::Output a = model.Attend(variant, {&head}, {1});
  const Model::Output b = model.Attend(variant, {&tail}, {1});
  pagoda::MergeSoftmaxStates(a.out, a.lse, b.out, b.lse, kDim);
  for (size_t i = 0; i < want.out.size(); ++i) EXPECT_NEAR(a.out[i], want.out[i], 1e-5);
  for (size_t i = 0; i < want.lse.size(); ++i) EXPECT_NEAR(a.lse[i], want.lse[i], 1e-5);
}

TEST(PublicSoftmax, VariantsAreFoundByName) {
  std::set<std::string> names;
  for (const pagoda::SoftmaxVariant* variant : pagoda::SoftmaxVariants()) {
    EXPECT_EQ(pagoda::FindSoftmaxVariant(NameOf(*variant)), variant);
    EXPECT_TRUE(names.insert(std::string(NameOf(*variant))).second);
  }
  EXPECT_EQ(names, (std::set<std::string>{"gather", "spmd_paged_attention", "spmd_paged_attention_highperf",
                                          "paged_attention_unroll", "paged_attention_unroll_4dims", "auto"}));
  EXPECT_EQ(pagoda::FindSoftmaxVariant("Gather"), nullptr);
  EXPECT_EQ(pagoda::FindSoftmaxVariant("gathe"), nullptr);
  EXPECT_EQ(pagoda::FindSoftmaxVariant(""), nullptr);
}

TEST(PublicSoftmax, AnErrorCarriesFieldAndCode) {
  Model model;
  Sequence s;
  model.Append(s, 1);
  s.pages[0] = kPages;
  try {
    model.Attend(*pagoda::FindSoftmaxVariant("gather"), {&s}, {1});
    FAIL() << "accepted";
  } catch (const pagoda::Error& e) {
    EXPECT_EQ(e.field(), "kv_indices[0]");
    EXPECT_EQ(std::string(e.what()), "kv_indices[0] = 16 is outside 0..15 (sequence 0)");
    EXPECT_EQ(e.code(), pagoda::ErrorCode::kInvalidArgument);
  }
}

}  // namespace
