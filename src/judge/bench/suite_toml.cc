#include "judge/bench/suite_toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/io/toml.h"
#include "base/suggest.h"
#include "judge/bench/budget.h"
#include "judge/bench/case_name.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using io::TomlTable;

constexpr size_t kMostCases = 4096;
constexpr int64_t kMostSequences = 65536;
constexpr std::array kFloatTypes = {DType::kBF16, DType::kF16, DType::kF32};

// A case while its keys are read: lengths are spread over the batch at the end.
struct Draft {
  CaseSpec spec;
  std::optional<int64_t> batch;  // else as many as there are lengths
};

// The values of one key, of which a case takes one.
struct Axis {
  size_t size = 1;
  std::function<void(Draft&, size_t)> set;
};

int64_t RowsOf(const TomlTable& table, std::string_view key, const std::string& phase) {
  if (phase == "decode") return 1;
  int64_t rows = 0;
  const char* const end = phase.data() + phase.size();
  if (phase.size() > 1 && phase[0] == 'q') {
    const auto [stop, error] = std::from_chars(phase.data() + 1, end, rows);
    if (error == std::errc() && stop == end && rows > 0) return rows;
  }
  throw table.Wrong(
      key, fmt::format("= \"{}\" must be \"decode\" or a number of query rows such as \"q512\"", phase));
}

std::pair<int64_t, int64_t> HeadsOf(const TomlTable& table, std::string_view key, const std::string& heads) {
  std::pair<int64_t, int64_t> pair;
  const char* const end = heads.data() + heads.size();
  const auto [slash, error] = std::from_chars(heads.data(), end, pair.first);
  if (error == std::errc() && slash != end && *slash == '/') {
    const auto [stop, second_error] = std::from_chars(slash + 1, end, pair.second);
    if (second_error == std::errc() && stop == end) return pair;
  }
  throw table.Wrong(key, fmt::format("= \"{}\" must be query heads / kv heads, such as \"16/8\"", heads));
}

bool IsCaseName(std::string_view name) {
  try {
    ParseCaseName(name);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Of suites and cases: they become parts of file names and command lines.
void RequireName(const TomlTable& table, const std::string& name) {
  const auto legal = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '.' || c == '-';
  };
  constexpr size_t kLongest = 100;
  if (name.empty() || name.size() > kLongest || !std::all_of(name.begin(), name.end(), legal)) {
    throw table.Wrong("name", fmt::format("must be 1 to {} characters of A-Z a-z 0-9 _ . -", kLongest));
  }
}

// One [[case]] with the defaults behind it.
class CaseReader {
 public:
  CaseReader(const TomlTable& section, const std::optional<TomlTable>& defaults)
      : section_(section), defaults_(defaults ? *defaults : section) {}

  std::vector<CaseSpec> Read() {
    Strings("op", [](Draft& d, const TomlTable&, const std::string& op) { d.spec.op = op; });
    Integers("batch", [](Draft& d, int64_t batch) { d.batch = batch; });
    ReadQueries();
    Strings("heads", [](Draft& d, const TomlTable& table, const std::string& heads) {
      std::tie(d.spec.q_heads, d.spec.kv_heads) = HeadsOf(table, "heads", heads);
    });
    ReadContexts();
    Integers("head_dim", [](Draft& d, int64_t dim) { d.spec.head_dim = d.spec.head_dim_v = dim; });
    Integers("head_dim_v", [](Draft& d, int64_t dim) { d.spec.head_dim_v = dim; });
    Integers("page_size", [](Draft& d, int64_t size) { d.spec.page_size = size; });
    Choices("dtype", {"bf16", "f16", "f32"},
            [](CaseSpec& s, size_t choice) { s.dtype = kFloatTypes[choice]; });
    Choices("layout", {"NHD", "HND"}, [](CaseSpec& s, size_t choice) { s.hnd = choice == 1; });
    Choices("table", {"csr", "padded"}, [](CaseSpec& s, size_t choice) { s.padded = choice == 1; });
    Choices("index", {"i32", "i64"}, [](CaseSpec& s, size_t choice) { s.index64 = choice == 1; });
    Integers("window_left", [](Draft& d, int64_t keys) { d.spec.window_left = keys; });
    Integers("window_right", [](Draft& d, int64_t keys) { d.spec.window_right = keys; });
    ReadSoftcap();
    Choices("cache", {"cold", "warm"}, [](CaseSpec& s, size_t choice) { s.cold = choice == 0; });
    ReadPlain();
    if (section_.Has("name")) ReadName();
    return Combine();
  }

 private:
  // The table that holds the key: the section before the defaults.
  const TomlTable* Holder(std::string_view key) const {
    if (section_.Has(key)) return &section_;
    return defaults_.Has(key) ? &defaults_ : nullptr;
  }

  template <typename T>
  void AddAxis(const TomlTable& table, std::string_view key, std::vector<T> values,
               std::function<void(Draft&, const T&)> set) {
    if (values.empty()) throw table.Wrong(key, "is an empty list");
    combinations_ *= values.size();
    if (combinations_ > kMostCases)
      throw table.Wrong(key, fmt::format("makes more than {} cases", kMostCases));
    const size_t size = values.size();
    axes_.push_back({size, [values = std::move(values), set = std::move(set)](Draft& d, size_t i) {
                       set(d, values[i]);
                     }});
  }

  void Integers(std::string_view key, std::function<void(Draft&, const int64_t&)> set) {
    if (const TomlTable* table = Holder(key)) AddAxis<int64_t>(*table, key, table->Ints(key), std::move(set));
  }

  void Strings(std::string_view key, std::function<void(Draft&, const TomlTable&, const std::string&)> set) {
    const TomlTable* table = Holder(key);
    if (table == nullptr) return;
    AddAxis<std::string>(
        *table, key, table->Strings(key),
        [table, set = std::move(set)](Draft& d, const std::string& text) { set(d, *table, text); });
  }

  void Choices(const std::string& key, std::vector<std::string> choices, void (*set)(CaseSpec&, size_t)) {
    Strings(key, [key, choices = std::move(choices), set](Draft& d, const TomlTable& table,
                                                          const std::string& text) {
      const auto found = std::find(choices.begin(), choices.end(), text);
      if (found == choices.end()) {
        throw table.Wrong(key, fmt::format("= \"{}\" must be one of {}{}", text, fmt::join(choices, ", "),
                                           DidYouMean(text, choices)));
      }
      set(d.spec, static_cast<size_t>(found - choices.begin()));
    });
  }

  // A section's list of lengths stands before a default of the other form, but both in one table contradict.
  const TomlTable* ListHolder(std::string_view list, std::string_view single) const {
    for (const TomlTable* table : {&section_, &defaults_}) {
      if (table->Has(list) && table->Has(single))
        throw table->Wrong(list, fmt::format("and {} exclude each other", single));
      if (table->Has(list)) return table;
      if (table->Has(single)) return nullptr;
    }
    return nullptr;
  }

  void ReadQueries() {
    if (const TomlTable* table = ListHolder("queries", "phase")) {
      queries_ = LengthsOf(*table, "queries");
      return;
    }
    Strings("phase", [](Draft& d, const TomlTable& table, const std::string& phase) {
      d.spec.queries = {RowsOf(table, "phase", phase)};
    });
  }

  void ReadContexts() {
    if (const TomlTable* table = ListHolder("contexts", "context")) {
      contexts_ = LengthsOf(*table, "contexts");
      return;
    }
    if (Holder("context") == nullptr) throw section_.Wrong("context", "is missing");
    Integers("context", [](Draft& d, int64_t keys) { d.spec.contexts = {keys}; });
  }

  static std::vector<int64_t> LengthsOf(const TomlTable& table, std::string_view key) {
    std::vector<int64_t> lengths = table.Ints(key);
    if (lengths.empty()) throw table.Wrong(key, "is an empty list");
    return lengths;
  }

  void ReadSoftcap() {
    const TomlTable* table = Holder("softcap");
    if (table == nullptr) return;
    AddAxis<double>(*table, "softcap", table->Numbers("softcap"),
                    [](Draft& d, const double& softcap) { d.spec.softcap = softcap; });
  }

  // Keys that are the same for the whole section.
  void ReadPlain() {
    for (const auto& [key, field] : {std::pair{"combined", &CaseSpec::combined},
                                     {"causal", &CaseSpec::causal},
                                     {"alibi", &CaseSpec::alibi},
                                     {"sinks", &CaseSpec::sinks}}) {
      if (const TomlTable* table = Holder(key)) plain_.*field = table->Bool(key);
    }
    for (const auto& [key, field] :
         {std::pair{"atol", &CaseSpec::atol}, {"rtol", &CaseSpec::rtol}, {"weight", &CaseSpec::weight}}) {
      if (const TomlTable* table = Holder(key)) plain_.*field = table->Number(key);
    }
  }

  void ReadName() {
    plain_.name = section_.String("name");
    RequireName(section_, plain_.name);
    if (combinations_ > 1)
      throw section_.Wrong("name", fmt::format("can't name all {} cases of a grid", combinations_));
  }

  std::vector<CaseSpec> Combine() const {
    if (Holder("heads") == nullptr) throw section_.Wrong("heads", "is missing");
    std::vector<CaseSpec> cases;
    for (size_t cell = 0; cell < combinations_; ++cell) {
      Draft draft;
      draft.spec = plain_;
      draft.spec.queries = queries_.empty() ? std::vector<int64_t>{1} : queries_;
      draft.spec.contexts = contexts_;
      size_t stride = combinations_;
      for (const Axis& axis : axes_) {
        stride /= axis.size;
        axis.set(draft, cell / stride % axis.size);
      }
      cases.push_back(Finish(std::move(draft)));
    }
    return cases;
  }

  CaseSpec Finish(Draft draft) const {
    CaseSpec& spec = draft.spec;
    const auto longest = static_cast<int64_t>(std::max(spec.contexts.size(), spec.queries.size()));
    const int64_t batch = draft.batch.value_or(longest);
    if (batch < 1 || batch > kMostSequences) {
      throw section_.Wrong("batch", fmt::format("= {} is outside 1..{}", batch, kMostSequences));
    }
    for (const auto& [key, lengths] : {std::pair{"contexts", &spec.contexts}, {"queries", &spec.queries}}) {
      if (lengths->size() == 1) lengths->assign(batch, lengths->front());
      if (static_cast<int64_t>(lengths->size()) != batch) {
        throw section_.Wrong(key, fmt::format("has {} lengths for a batch of {}", lengths->size(), batch));
      }
    }
    try {
      CheckCase(spec);
    } catch (const Error& e) {
      if (e.field() == "q_heads" || e.field() == "kv_heads") {
        throw section_.Wrong("heads", fmt::format("gives {}", e.what()));  // the key that holds both
      }
      throw section_.Wrong(e.field(), std::string_view(e.what()).substr(e.field().size() + 1));
    }
    if (spec.name.empty()) {
      spec.name = CaseName(spec);
    } else if (spec.name != CaseName(spec) && IsCaseName(spec.name)) {
      throw section_.Wrong(
          "name", fmt::format("= \"{}\" is the name of another case; this is {}", spec.name, CaseName(spec)));
    }
    return std::move(spec);
  }

  const TomlTable& section_;
  const TomlTable& defaults_;
  CaseSpec plain_;
  std::vector<int64_t> queries_, contexts_;  // of a batch whose sequences differ
  std::vector<Axis> axes_;
  size_t combinations_ = 1;
};

void RefuseUnknownCaseKeys(const TomlTable& table) {
  table.RefuseUnknownKeys({"op",          "batch",        "phase",   "heads",  "context",  "head_dim",
                           "head_dim_v",  "page_size",    "dtype",   "layout", "table",    "index",
                           "window_left", "window_right", "softcap", "cache",  "contexts", "queries",
                           "combined",    "causal",       "alibi",   "sinks",  "atol",     "rtol",
                           "weight",      "name"});
}

Suite SuiteOf(const TomlTable& root) {
  root.RefuseUnknownKeys({"name", "about", "variants", "baseline", "budget", "epoch_ms", "defaults", "case"});
  Suite suite;
  suite.name = root.String("name");
  RequireName(root, suite.name);
  suite.about = root.String("about", "");
  if (root.Has("variants")) {
    suite.variants = root.Strings("variants");
    if (suite.variants.empty()) throw root.Wrong("variants", "is empty; leave it away to run all of them");
  }
  std::set<std::string> seen;
  for (const std::string& variant : suite.variants) {
    if (variant.empty()) throw root.Wrong("variants", "holds an empty name");
    if (!seen.insert(variant).second)
      throw root.Wrong("variants", fmt::format("holds \"{}\" twice", variant));
  }
  suite.baseline = root.String("baseline", "");
  if (root.Has("baseline") && !suite.variants.empty() && !seen.contains(suite.baseline)) {
    throw root.Wrong("baseline", fmt::format("= \"{}\" is none of the variants{}", suite.baseline,
                                             DidYouMean(suite.baseline, suite.variants)));
  }
  if (root.Has("budget")) {
    const std::string text = root.String("budget");
    const std::optional<double> budget = DurationOf(text);
    if (!budget) {
      throw root.Wrong(
          "budget",
          fmt::format("= \"{}\" is not a duration; write it as \"90s\", \"5m\" or \"1h30m\"", text));
    }
    suite.budget_s = *budget;
  }
  if (root.Has("epoch_ms")) {
    suite.epoch_ms = root.Number("epoch_ms");
    if (!(suite.epoch_ms >= 0.1 && suite.epoch_ms <= 1000)) {
      throw root.Wrong("epoch_ms", fmt::format("= {:g} is outside 0.1..1000 milliseconds", suite.epoch_ms));
    }
  }
  const std::optional<TomlTable> defaults = root.FindTable("defaults");
  if (defaults) {
    RefuseUnknownCaseKeys(*defaults);
    if (defaults->Has("name")) throw defaults->Wrong("name", "can't be a default, since names differ");
  }
  std::set<std::string> names;
  for (const TomlTable& section : root.Tables("case")) {
    RefuseUnknownCaseKeys(section);
    for (CaseSpec& spec : CaseReader(section, defaults).Read()) {
      if (!names.insert(spec.name).second)
        throw section.Wrong("name", fmt::format("= {} is there already", spec.name));
      suite.cases.push_back(std::move(spec));
      if (suite.cases.size() > kMostCases)
        throw root.Wrong("case", fmt::format("makes more than {} cases", kMostCases));
    }
  }
  if (suite.cases.empty()) throw root.Wrong("case", "is missing: a suite has at least one [[case]]");
  return suite;
}

}  // namespace

Suite ParseSuite(std::string_view text, std::string_view file) {
  return SuiteOf(TomlTable::Parse(text, file));
}
Suite ReadSuiteFile(const std::filesystem::path& path) { return SuiteOf(TomlTable::ParseFile(path)); }

}  // namespace pagoda::judge
