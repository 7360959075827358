#include "app/subjects/variant_info.h"

#include <fmt/format.h>

#include <utility>

#include "app/subjects/attention_subject.h"
#include "engine/attention/hstu/variant.h"
#include "engine/attention/variant.h"

namespace pagoda::app {
namespace {

judge::CaseSpec OrdinaryCase() {
  judge::CaseSpec spec;
  spec.contexts = {40, 17};
  spec.queries = {1, 1};
  spec.q_heads = 4;
  spec.kv_heads = 2;
  spec.head_dim = spec.head_dim_v = 64;
  return spec;
}

// Problems with one unusual property each.
std::vector<judge::CaseSpec> Probes() {
  std::vector<judge::CaseSpec> probes;
  const auto add = [&probes](auto change) {
    judge::CaseSpec spec = OrdinaryCase();
    change(spec);
    probes.push_back(std::move(spec));
  };
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) add([&](auto& s) { s.dtype = dtype; });
  for (const int64_t dim : {1, 40, 80, 128, 192, 256, 512, 576}) {
    add([&](auto& s) { s.head_dim = s.head_dim_v = dim; });
  }
  for (const int64_t page : {1, 3, 17, 128, 256}) add([&](auto& s) { s.page_size = page; });
  for (const int64_t group : {1, 3, 5, 7, 16}) add([&](auto& s) { s.q_heads = group * s.kv_heads; });
  add([](auto& s) { s.queries = {30, 1}; });
  add([](auto& s) { s.head_dim_v = 32; });
  add([](auto& s) { s.causal = false; });
  add([](auto& s) { s.window_left = 7; });
  add([](auto& s) {
    s.window_right = 3;
    s.causal = false;
  });
  add([](auto& s) { s.softcap = 30; });
  add([](auto& s) { s.alibi = true; });
  add([](auto& s) { s.sinks = true; });
  add([](auto& s) { s.hnd = true; });
  add([](auto& s) { s.combined = true; });
  add([](auto& s) { s.padded = true; });
  return probes;
}

template <typename Variant>
VariantInfo InfoOf(std::string_view op, const Variant& variant) {
  constexpr std::pair<Promise, const char*> kGuarantees[] = {
      {kRepeatable, "the same bits when repeated"},
      {kThreadInvariant, "the same bits with any number of threads"},
      {kBatchInvariant, "the same bits for a sequence in any batch"}};
  VariantInfo info{std::string(op), std::string(variant.name), std::string(variant.summary), {}, {}};
  for (const auto& [promise, words] : kGuarantees) {
    if ((variant.promises & promise) != 0) info.guarantees.emplace_back(words);
  }
  return info;
}

}  // namespace

std::vector<VariantInfo> DescribeVariants() {
  const std::vector<judge::CaseSpec> probes = Probes();
  std::vector<VariantInfo> infos;
  for (const SoftmaxVariant* variant : SoftmaxVariants()) {
    VariantInfo info = InfoOf(NameOf(judge::CaseOp::kSoftmaxPaged), *variant);
    for (const judge::CaseSpec& probe : probes) {
      if (auto why = WhyNot(probe, *variant)) info.limits.push_back(std::move(*why));
    }
    infos.push_back(std::move(info));
  }
  for (const HstuVariant* variant : HstuVariants()) {
    VariantInfo info = InfoOf(NameOf(judge::CaseOp::kHstuPaged), *variant);
    if (!variant->same_bits_as.empty())
      info.guarantees.push_back(fmt::format("the bits of {}", variant->same_bits_as));
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace pagoda::app
