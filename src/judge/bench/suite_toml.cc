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
#include "judge/bench/lengths.h"
#include "judge/bench/sweeps.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using io::TomlTable;

constexpr size_t kMostCases = 4096;
constexpr int64_t kMostSequences = 65536;
constexpr int64_t kMostRepeats = 100'000;  // of warm-up calls and of samples
constexpr std::array kFloatTypes = {DType::kBF16, DType::kF16, DType::kF32};

// A case while its keys are read: lengths are spread over the batch at the end.
struct Draft {
  CaseSpec spec;
  std::optional<int64_t> batch;  // else as many as there are lengths
  int64_t chunk = 0;             // query rows of one sequence among the others; 0: none
  std::string phase = "decode";  // as part of a name
};

// What [case.lengths] says.
struct DrawnLengths {
  std::string name;
  LengthQuantiles quantiles;
  uint64_t seed = 2026;
};

// The values of one key, of which a case takes one.
struct Axis {
  size_t size = 1;
  std::function<void(Draft&, size_t)> set;
};

// "q512" to 512; 0 for anything else.
int64_t ChunkOf(std::string_view text) {
  int64_t rows = 0;
  const char* const end = text.data() + text.size();
  if (text.size() < 2 || text[0] != 'q') return 0;
  const auto [stop, error] = std::from_chars(text.data() + 1, end, rows);
  return error == std::errc() && stop == end && rows > 0 ? rows : 0;
}

void SetPhase(Draft& draft, const TomlTable& table, const std::string& phase) {
  constexpr std::string_view kMixed = "decode+";
  const bool mixed = phase.starts_with(kMixed);
  const int64_t rows = ChunkOf(std::string_view(phase).substr(mixed ? kMixed.size() : 0));
  if (phase != "decode" && rows == 0) {
    throw table.Wrong("phase", fmt::format("= \"{}\" must be \"decode\", a number of query rows such as "
                                           "\"q512\", or \"decode+q512\" for both in one batch",
                                           phase));
  }
  draft.spec.queries = {mixed || rows == 0 ? 1 : rows};
  draft.chunk = mixed ? rows : 0;
  draft.phase = mixed ? fmt::format("decode-q{}", rows) : phase;
}

// Of suites, cases and distributions: they become parts of file names and command lines.
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

// What an error says behind its field.
std::string_view ComplaintOf(const Error& e) {
  return std::string_view(e.what()).substr(e.field().size() + 1);
}

// The last sequence that has keys enough for a chunk of so many rows; without one, the last.
size_t ChunkHolder(const std::vector<int64_t>& contexts, int64_t rows) {
  const auto found =
      std::find_if(contexts.rbegin(), contexts.rend(), [&](int64_t keys) { return keys >= rows; });
  return (found == contexts.rend() ? contexts.size() : contexts.rend() - found) - 1;
}

DrawnLengths DrawnOf(const TomlTable& table) {
  table.RefuseUnknownKeys({"name", "quantiles", "tokens", "seed"});
  DrawnLengths drawn;
  drawn.name = table.String("name");
  RequireName(table, drawn.name);
  drawn.quantiles = {table.Numbers("quantiles"), table.Ints("tokens")};
  const int64_t seed = table.Int("seed", 2026);
  if (seed < 0) throw table.Wrong("seed", fmt::format("= {} is negative", seed));
  drawn.seed = static_cast<uint64_t>(seed);
  try {
    CheckQuantiles(drawn.quantiles);
  } catch (const Error& e) {
    throw table.Wrong(e.field(), ComplaintOf(e));
  }
  return drawn;
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

// The cases of a suite that one section made, and the axes that it says they sweep.
struct SweptSection {
  TomlTable table;
  std::vector<std::string> axes;
  size_t first = 0, end = 0;
};

// A section may share a sweep with others, so this waits for the whole suite.
void RequireSweeps(const Suite& suite, const TomlTable& root, const std::vector<SweptSection>& sections) {
  std::vector<Sweep> sweeps;
  try {
    sweeps = SweepsOf(suite.cases);
  } catch (const Error& e) {
    throw root.Wrong("case", fmt::format("makes a {} that {}", e.field(), ComplaintOf(e)));
  }
  for (const auto& [table, axes, first, end] : sections) {
    for (const std::string& axis : axes) {
      const bool swept = std::any_of(suite.cases.begin() + first, suite.cases.begin() + end,
                                     [&](const CaseSpec& c) { return IsSwept(c.name, axis, sweeps); });
      if (!swept) {
        throw table.Wrong(
            "sweep", fmt::format("over {} has one point only: give a list of at least two values", axis));
      }
    }
  }
}

// One [[case]] with the defaults behind it.
class CaseReader {
 public:
  CaseReader(const TomlTable& section, const std::optional<TomlTable>& defaults,
             const io::RequestTrace* trace)
      : section_(section), defaults_(defaults ? *defaults : section), trace_(trace) {}

  // Whether the section's lengths are drawn, or taken from the trace if there is one.
  bool draws() const { return drawn_.has_value(); }

  std::vector<CaseSpec> Read() {
    Choices(
        "op", {std::string(NameOf(CaseOp::kSoftmaxPaged)), std::string(NameOf(CaseOp::kHstuPaged))},
        [](CaseSpec& s, size_t choice) { s.op = choice == 0 ? CaseOp::kSoftmaxPaged : CaseOp::kHstuPaged; });
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
    for (const auto& [key, field] : {std::pair{"targets", &CaseSpec::targets},
                                     {"target_group", &CaseSpec::target_group},
                                     {"contextual", &CaseSpec::contextual},
                                     {"max_attn_len", &CaseSpec::max_attn_len},
                                     {"min_full_attn_seq_len", &CaseSpec::min_full_attn_seq_len}}) {
      Integers(key, [field = field](Draft& d, int64_t value) { d.spec.*field = value; });
    }
    Choices("cache", {"cold", "warm"}, [](CaseSpec& s, size_t choice) { s.cold = choice == 0; });
    ReadPlain();
    if (section_.Has("name")) ReadName();
    std::vector<CaseSpec> cases = Combine();
    if (const TomlTable* table = Holder("sweep")) ReadSweep(*table, cases);
    return cases;
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

  // The key of these that holds: a section's own stands before a default of another form, but two in one
  // table contradict. Empty when none is there.
  std::pair<const TomlTable*, std::string_view> OneOf(std::initializer_list<std::string_view> keys) const {
    for (const TomlTable* table : {&section_, &defaults_}) {
      std::string_view found;
      for (const std::string_view key : keys) {
        if (!table->Has(key)) continue;
        if (!found.empty()) throw table->Wrong(found, fmt::format("and {} exclude each other", key));
        found = key;
      }
      if (!found.empty()) return {table, found};
    }
    return {nullptr, ""};
  }

  void ReadQueries() {
    if (const auto [table, key] = OneOf({"queries", "phase"}); key == "queries") {
      queries_ = LengthsOf(*table, key);
      return;
    }
    Strings("phase", SetPhase);
  }

  void ReadContexts() {
    const auto [table, key] = OneOf({"contexts", "context", "lengths"});
    if (table == nullptr) throw section_.Wrong("context", "is missing");
    if (key == "lengths") {
      drawn_ = DrawnOf(table->Table("lengths"));
      if (!queries_.empty()) throw section_.Wrong("queries", "can't go with drawn lengths; phase can");
      return;
    }
    if (key == "contexts") {
      contexts_ = LengthsOf(*table, key);
      return;
    }
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
                                     {"sinks", &CaseSpec::sinks},
                                     {"rab", &CaseSpec::rab}}) {
      if (const TomlTable* table = Holder(key)) plain_.*field = table->Bool(key);
    }
    for (const auto& [key, field] :
         {std::pair{"atol", &CaseSpec::atol}, {"rtol", &CaseSpec::rtol}, {"weight", &CaseSpec::weight}}) {
      if (const TomlTable* table = Holder(key)) plain_.*field = table->Number(key);
    }
    if (const TomlTable* table = Holder("least_batch")) ReadLeastBatch(*table);
  }

  void ReadLeastBatch(const TomlTable& table) {
    plain_.least_batch = table.Int("least_batch");
    if (plain_.least_batch < 1) {
      throw table.Wrong("least_batch", fmt::format("= {} is not a number from 1 on", plain_.least_batch));
    }
    if (drawn_ || !contexts_.empty() || !queries_.empty()) {
      throw table.Wrong("least_batch", "needs sequences that are all alike: context and phase");
    }
  }

  void ReadName() {
    plain_.name = section_.String("name");
    RequireName(section_, plain_.name);
    if (drawn_) throw section_.Wrong("name", "can't go with drawn lengths, whose own name is part of it");
    if (combinations_ > 1)
      throw section_.Wrong("name", fmt::format("can't name all {} cases of a grid", combinations_));
  }

  void ReadSweep(const TomlTable& table, std::vector<CaseSpec>& cases) const {
    std::set<std::string> seen;
    for (const std::string& name : table.Strings("sweep")) {
      if (!seen.insert(name).second) throw table.Wrong("sweep", fmt::format("names \"{}\" twice", name));
      const std::vector<std::string> known = SweepAxisNames();
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        throw table.Wrong("sweep", fmt::format("= \"{}\" must be one of {}{}", name, fmt::join(known, ", "),
                                               DidYouMean(name, known)));
      }
      if (drawn_ || !contexts_.empty() || !queries_.empty()) {
        throw table.Wrong("sweep", "needs sequences that are all alike: context and phase");
      }
      if (plain_.least_batch > 0) {
        throw table.Wrong("sweep",
                          "and least_batch exclude each other: a case with its batch cut has left "
                          "its sweep");
      }
      try {
        MarkSwept(name, cases);
      } catch (const Error& e) {
        throw section_.Wrong(e.field(), ComplaintOf(e));
      }
    }
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
    if (drawn_) Draw(spec, batch);
    for (const auto& [key, lengths] : {std::pair{"contexts", &spec.contexts}, {"queries", &spec.queries}}) {
      if (lengths->size() == 1) lengths->assign(batch, lengths->front());
      if (static_cast<int64_t>(lengths->size()) != batch) {
        throw section_.Wrong(key, fmt::format("has {} lengths for a batch of {}", lengths->size(), batch));
      }
    }
    if (draft.chunk > 0) spec.queries[ChunkHolder(spec.contexts, draft.chunk)] = draft.chunk;
    // A drawn sequence that is shorter than the chunk is a whole prompt.
    for (int64_t b = 0; drawn_ && b < batch; ++b)
      spec.queries[b] = std::min(spec.queries[b], spec.contexts[b]);
    RequireLengths(spec);
    try {
      CheckCase(spec);
    } catch (const Error& e) {
      if (e.field() == "q_heads" || e.field() == "kv_heads") {
        throw section_.Wrong("heads", fmt::format("gives {}", e.what()));  // the key that holds both
      }
      throw section_.Wrong(e.field(), ComplaintOf(e));
    }
    if (spec.least_batch > batch || (spec.least_batch > 0 && draft.chunk > 0)) {
      throw section_.Wrong("least_batch", fmt::format("= {} must be at most the batch, {}, of sequences that "
                                                      "are all alike",
                                                      spec.least_batch, batch));
    }
    const std::string by_grammar = CaseName(spec);
    if (drawn_) {
      spec.name = CaseName(spec, trace_ == nullptr ? drawn_->name : TraceLabel(*trace_), draft.phase);
    } else if (spec.name.empty()) {
      spec.name = by_grammar;
    }
    if (spec.name != by_grammar && IsCaseName(spec.name)) {
      throw section_.Wrong(
          "name", fmt::format("= \"{}\" is the name of another case; this is {}", spec.name, by_grammar));
    }
    return std::move(spec);
  }

  // Empty sequences, and rows before the first key, are for case files: in a suite they are mistakes.
  void RequireLengths(const CaseSpec& spec) const {
    for (size_t b = 0; b < spec.contexts.size(); ++b) {
      const int64_t keys = spec.contexts[b], rows = spec.queries[b];
      if (keys < 1) throw section_.Wrong(fmt::format("context[{}]", b), fmt::format("= {} is below 1", keys));
      if (rows >= 1 && rows <= keys) continue;
      throw section_.Wrong(
          fmt::format("queries[{}]", b),
          fmt::format("= {} is outside 1..{}, the keys of that sequence (queries are its last rows)", rows,
                      keys));
    }
  }

  void Draw(CaseSpec& spec, int64_t batch) const {
    if (trace_ == nullptr) {
      spec.contexts = DrawLengths(drawn_->quantiles, batch, drawn_->seed);
    } else {
      TraceBatch taken = TakeBatch(*trace_, batch, drawn_->seed);
      spec.contexts = std::move(taken.contexts);
      spec.blocks = std::move(taken.blocks);
    }
  }

  const TomlTable& section_;
  const TomlTable& defaults_;
  const io::RequestTrace* trace_;
  CaseSpec plain_;
  std::vector<int64_t> queries_, contexts_;  // of a batch whose sequences differ
  std::optional<DrawnLengths> drawn_;
  std::vector<Axis> axes_;
  size_t combinations_ = 1;
};

void RefuseUnknownCaseKeys(const TomlTable& table) {
  table.RefuseUnknownKeys({"op",           "batch",
                           "phase",        "heads",
                           "context",      "head_dim",
                           "head_dim_v",   "page_size",
                           "dtype",        "layout",
                           "table",        "index",
                           "window_left",  "window_right",
                           "softcap",      "cache",
                           "contexts",     "queries",
                           "combined",     "causal",
                           "alibi",        "sinks",
                           "atol",         "rtol",
                           "weight",       "name",
                           "lengths",      "least_batch",
                           "sweep",        "targets",
                           "target_group", "contextual",
                           "max_attn_len", "min_full_attn_seq_len",
                           "rab"});
}

// How a suite is timed, as far as it says.
void ReadTiming(const TomlTable& root, Suite& suite) {
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
  for (const auto& [key, field] : {std::pair{"warmups", &Suite::warmups}, {"samples", &Suite::samples}}) {
    if (!root.Has(key)) continue;
    const int64_t count = root.Int(key);
    if (count < 1 || count > kMostRepeats) {
      throw root.Wrong(key, fmt::format("= {} is outside 1..{}", count, kMostRepeats));
    }
    suite.*field = static_cast<int>(count);
  }
}

Suite SuiteOf(const TomlTable& root, const io::RequestTrace* trace) {
  root.RefuseUnknownKeys({"name", "about", "variants", "baseline", "budget", "epoch_ms", "warmups", "samples",
                          "defaults", "case"});
  Suite suite;
  suite.name = root.String("name");
  RequireName(root, suite.name);
  suite.about = root.String("about", "");
  if (root.Has("variants")) {
    suite.variants = root.Strings("variants");
    suite.variants_at = root.Wrong("variants", "").field();
    if (suite.variants.empty()) throw root.Wrong("variants", "is empty; leave it away to run all of them");
  }
  std::set<std::string> seen;
  for (const std::string& variant : suite.variants) {
    if (variant.empty()) throw root.Wrong("variants", "holds an empty name");
    if (!seen.insert(variant).second)
      throw root.Wrong("variants", fmt::format("holds \"{}\" twice", variant));
  }
  suite.baseline = root.String("baseline", "");
  suite.baseline_at = root.Wrong("baseline", "").field();
  if (root.Has("baseline") && suite.baseline.empty()) {
    throw root.Wrong("baseline", "is empty; leave it away to take the first variant");
  }
  if (root.Has("baseline") && !suite.variants.empty() && !seen.contains(suite.baseline)) {
    throw root.Wrong("baseline", fmt::format("= \"{}\" is none of the variants{}", suite.baseline,
                                             DidYouMean(suite.baseline, suite.variants)));
  }
  ReadTiming(root, suite);
  const std::optional<TomlTable> defaults = root.FindTable("defaults");
  if (defaults) {
    RefuseUnknownCaseKeys(*defaults);
    if (defaults->Has("name")) throw defaults->Wrong("name", "can't be a default, since names differ");
  }
  std::set<std::string> names;
  bool traced = false;
  std::vector<SweptSection> swept;
  for (const TomlTable& section : root.Tables("case")) {
    RefuseUnknownCaseKeys(section);
    CaseReader reader(section, defaults, trace);
    const size_t first = suite.cases.size();
    for (CaseSpec& spec : reader.Read()) {
      const bool from_trace = trace != nullptr && reader.draws();
      traced = traced || from_trace;
      if (!names.insert(spec.name).second) {
        if (from_trace) continue;  // was apart by its distribution alone
        throw section.Wrong("name",
                            fmt::format("= {} is there already; give each case once, and each value of "
                                        "a list",
                                        spec.name));
      }
      suite.cases.push_back(std::move(spec));
      if (suite.cases.size() > kMostCases)
        throw root.Wrong("case", fmt::format("makes more than {} cases", kMostCases));
    }
    if (section.Has("sweep")) swept.push_back({section, section.Strings("sweep"), first, suite.cases.size()});
  }
  if (suite.cases.empty()) throw root.Wrong("case", "is missing: a suite has at least one [[case]]");
  RequireSweeps(suite, root, swept);
  if (trace != nullptr) {
    if (!traced) {
      throw Error(ErrorCode::kInvalidArgument, "--trace",
                  fmt::format("= {} is of no use to {}: none of its cases has drawn lengths, as those of the "
                              "suite serving have",
                              trace->source, suite.name));
    }
    suite.about += fmt::format("{}lengths taken from {}", suite.about.empty() ? "" : "; ", trace->source);
  }
  return suite;
}

}  // namespace

Suite ParseSuite(std::string_view text, std::string_view file, const io::RequestTrace* trace) {
  return SuiteOf(TomlTable::Parse(text, file), trace);
}
Suite ReadSuiteFile(const std::filesystem::path& path, const io::RequestTrace* trace) {
  return SuiteOf(TomlTable::ParseFile(path), trace);
}

}  // namespace pagoda::judge
