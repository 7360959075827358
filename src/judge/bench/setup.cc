#include "judge/bench/setup.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "base/suggest.h"
#include "judge/bench/case_name.h"
#include "judge/bench/sweeps.h"
#include "judge/stats/power.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

[[noreturn]] void Refuse(std::string_view field, const std::string& complaint) {
  throw Error(ErrorCode::kInvalidArgument, field, complaint);
}

std::string Known(const std::vector<std::string>& names, std::string_view wrong) {
  return fmt::format("{}{}", fmt::join(names, ", "), DidYouMean(wrong, names));
}

bool Holds(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// The case in a cache state. A name by the grammar follows the state; another gets it as a suffix.
CaseSpec InState(const CaseSpec& spec, bool cold) {
  if (spec.cold == cold) return spec;
  CaseSpec changed = spec;
  changed.cold = cold;
  changed.name = spec.name == CaseName(spec) ? CaseName(changed) : spec.name + (cold ? "_cold" : "_warm");
  return changed;
}

std::vector<CaseSpec> CasesOf(const Suite& suite, const Selection& selection) {
  std::vector<CaseSpec> cases;
  std::set<std::string> names;
  for (const CaseSpec& spec : suite.cases) {
    std::vector<CaseSpec> states;
    if (selection.cold) states.push_back(InState(spec, true));
    if (selection.warm) states.push_back(InState(spec, false));
    if (states.empty()) states.push_back(spec);
    // A suite may hold both states itself.
    for (CaseSpec& state : states) {
      if (names.insert(state.name).second) cases.push_back(std::move(state));
    }
  }
  if (selection.only.empty()) return cases;
  const re2::RE2 pattern(selection.only, re2::RE2::Quiet);
  if (!pattern.ok()) {
    Refuse("--only",
           fmt::format("= \"{}\" is not a regular expression; put \\ before ( [ {{ * + ? to find them "
                       "as they are",
                       selection.only));
  }
  const size_t all = cases.size();
  std::erase_if(cases, [&](const CaseSpec& c) { return !re2::RE2::PartialMatch(c.name, pattern); });
  if (cases.empty()) {
    Refuse("--only",
           fmt::format("= \"{}\" finds none of the {} cases of {}; `pagoda list cases {}` shows them",
                       selection.only, all, suite.name, suite.name));
  }
  return cases;
}

// All that compute what the cases ask for.
std::vector<std::string> AllFor(const std::vector<CaseSpec>& cases, const Subject& subject) {
  std::vector<std::string> all;
  for (const CaseSpec& c : cases) {
    for (std::string& v : subject.VariantsOf(c.op)) {
      if (!Holds(all, v)) all.push_back(std::move(v));
    }
  }
  return all;
}

std::vector<std::string> NamedVariants(const Suite& suite, const Selection& selection,
                                       const std::vector<CaseSpec>& cases, const Subject& subject) {
  const std::vector<std::string> known = subject.Variants();
  const std::string field = selection.variants.empty() ? suite.variants_at : "--variants";
  std::vector<std::string> variants = selection.variants.empty() ? suite.variants : selection.variants;
  if (variants.empty() || variants == std::vector<std::string>{"all"}) return AllFor(cases, subject);
  std::set<std::string> seen;
  for (const std::string& v : variants) {
    if (!subject.Has(v)) Refuse(field, fmt::format("\"{}\" is none of {}", v, Known(known, v)));
    if (!seen.insert(v).second) Refuse(field, fmt::format("names \"{}\" twice", v));
  }
  return variants;
}

std::vector<std::string> VariantsOf(const Suite& suite, const Selection& selection,
                                    const std::vector<CaseSpec>& cases, const Subject& subject) {
  std::vector<std::string> variants = NamedVariants(suite, selection, cases, subject);
  std::copy_if(selection.added.begin(), selection.added.end(), std::back_inserter(variants),
               [&](const std::string& v) { return !Holds(variants, v); });
  return variants;
}

std::string BaselineOf(const Suite& suite, const Selection& selection,
                       const std::vector<std::string>& variants) {
  // The suite's baseline belongs to the suite's variants: with --variants the first one is it.
  const bool asked = !selection.baseline.empty();
  const std::string own = selection.variants.empty() ? suite.baseline : "";
  const std::string& wanted = asked ? selection.baseline : own;
  if (wanted.empty()) return variants.front();
  if (!Holds(variants, wanted)) {
    Refuse(asked ? "--baseline" : suite.baseline_at,
           fmt::format("= \"{}\" is none of the variants {}", wanted, Known(variants, wanted)));
  }
  return wanted;
}

}  // namespace

bool Subject::Has(std::string_view variant) const { return Holds(Variants(), variant); }

bool RunSetup::Supports(std::string_view case_name, std::string_view variant) const {
  return std::none_of(unsupported.begin(), unsupported.end(),
                      [&](const Unsupported& u) { return u.case_name == case_name && u.variant == variant; });
}

ProtocolOptions RunSetup::Protocol(int launches) const {
  ProtocolOptions protocol;
  if (epoch_ms > 0) protocol.epoch_ns = epoch_ms * 1e6;
  protocol.least_warmups = warmups;
  return WithSamples(protocol, samples, launches);
}

std::vector<GateCase> RunSetup::GateCases() const {
  std::vector<GateCase> list;
  for (size_t i = 0; i < cases.size(); ++i) {
    const CaseSpec& spec = cases[i];
    GateCase c{spec, {}, GateTimeout(facts[i])};
    std::copy_if(variants.begin(), variants.end(), std::back_inserter(c.variants),
                 [&](const std::string& v) { return Supports(spec.name, v); });
    if (!c.variants.empty()) list.push_back(std::move(c));
  }
  return list;
}

std::vector<CaseArms> RunSetup::TimedCases(const std::vector<GateRecord>& failures) const {
  std::vector<CaseArms> list;
  for (GateCase& c : GateCases()) {
    for (const GateRecord& failure : failures) {
      if (failure.case_name == c.spec.name) std::erase(c.variants, failure.variant);
    }
    if (!Holds(c.variants, baseline) || (c.variants.size() < 2 && variants.size() > 1)) continue;
    CaseArms timed{std::move(c.spec), {}, 0};
    for (std::string& v : c.variants) timed.arms.push_back({std::move(v), 0});
    timed.arms.push_back({baseline, 1});
    list.push_back(std::move(timed));
  }
  return list;
}

RunSetup MakeSetup(const Suite& suite, const Selection& selection, const Subject& subject) {
  RunSetup setup;
  setup.suite = suite.name;
  setup.about = suite.about;
  setup.budget_s = suite.budget_s;
  setup.epoch_ms = suite.epoch_ms;
  setup.warmups = suite.warmups;
  setup.samples = suite.samples;
  setup.cases = CasesOf(suite, selection);
  setup.variants = VariantsOf(suite, selection, setup.cases, subject);
  setup.baseline = BaselineOf(suite, selection, setup.variants);
  std::copy_if(setup.variants.begin(), setup.variants.end(), std::back_inserter(setup.choosers),
               [&](const std::string& v) { return subject.Chooses(v); });
  DescribeCases(setup, subject);
  return setup;
}

void DescribeCases(RunSetup& setup, const Subject& subject) {
  setup.facts.clear();
  setup.unsupported.clear();
  for (const CaseSpec& spec : setup.cases) {
    setup.facts.push_back(subject.Facts(spec));
    for (const std::string& v : setup.variants) {
      if (auto why = subject.WhyNot(spec, v)) setup.unsupported.push_back({spec.name, v, *why});
    }
  }
}

namespace {

double AlphaOf(const RunSetup& setup) {
  return AdjustedAlpha(static_cast<int>(setup.cases.size()), std::max(1, setup.Contrasts()));
}

}  // namespace

int FewestLaunches(const RunSetup& setup) { return LeastLaunches(AlphaOf(setup)); }

int LaunchesToRun(const RunSetup& setup, int asked) {
  return asked > 0 ? asked : PlannedLaunches(AlphaOf(setup));
}

Manifest ManifestOf(const RunSetup& setup) {
  Manifest manifest;
  manifest.suite = setup.suite;
  manifest.about = setup.about;
  for (size_t i = 0; i < setup.cases.size(); ++i) {
    const CaseSpec& spec = setup.cases[i];
    const CaseFacts& facts = setup.facts[i];
    manifest.cases.push_back({.name = spec.name,
                              .weight = spec.weight,
                              .bytes = facts.bytes,
                              .flops = facts.flops,
                              .run_bytes = facts.run_bytes,
                              .dtype = std::string(NameOf(spec.dtype)),
                              .cache = spec.cold ? "cold" : "warm",
                              .problem = ProblemOf(spec)});
  }
  manifest.sweeps = SweepsOf(setup.cases);
  manifest.variants = setup.variants;
  manifest.baseline = setup.baseline;
  manifest.choosers = setup.choosers;
  manifest.unsupported = setup.unsupported;
  const double epoch_ms = setup.epoch_ms > 0 ? setup.epoch_ms : ProtocolOptions().epoch_ns / 1e6;
  manifest.settings = {{"epoch_ms", fmt::format("{}", epoch_ms)},
                       {kWarmupsSetting, fmt::format("{}", setup.warmups)},
                       {kSamplesSetting, fmt::format("{}", setup.samples)}};
  return manifest;
}

std::vector<std::string> NotMeasured(const RunSetup& setup, int threads) {
  const auto any = [&](auto has) { return std::any_of(setup.cases.begin(), setup.cases.end(), has); };
  std::vector<std::string> list = {
      "other machines", threads == 1 ? "more than 1 thread" : fmt::format("other than {} threads", threads)};
  list.insert(list.end(), setup.left_out.begin(), setup.left_out.end());
  const auto single_row = [](int64_t rows) { return rows == 1; };
  if (!any([&](const CaseSpec& c) { return std::any_of(c.queries.begin(), c.queries.end(), single_row); })) {
    list.emplace_back("decode");
  }
  if (!any([&](const CaseSpec& c) { return !std::all_of(c.queries.begin(), c.queries.end(), single_row); })) {
    list.emplace_back("prefill");
  }
  if (!any([](const CaseSpec& c) { return c.cold; })) list.emplace_back("cold caches");
  if (!any([](const CaseSpec& c) { return !c.cold; })) list.emplace_back("warm caches");
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    if (!any([&](const CaseSpec& c) { return c.dtype == dtype; })) list.emplace_back(NameOf(dtype));
  }
  return list;
}

}  // namespace pagoda::judge
