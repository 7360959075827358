#include "app/commands/selftest_report.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/commands/command.h"
#include "judge/report/numbers.h"
#include "judge/report/text.h"
#include "judge/stats/rates.h"

namespace pagoda::app {
namespace {

using nlohmann::json;

constexpr double kMostWrong = 0.02;  // share of verdicts that may contradict the truth
constexpr double kLevel = 0.95;

std::string RateText(const judge::Estimate& rate) {
  return fmt::format("{:.1f}% [{:.1f}, {:.1f}]", 100 * rate.value, 100 * rate.low, 100 * rate.high);
}

constexpr std::array kClocks = {judge::Clock::kDevice, judge::Clock::kHost};

const std::vector<judge::Score>& ScoresOf(const SelftestRow& row, judge::Clock clock) {
  return clock == judge::Clock::kDevice ? row.device : row.host;
}

judge::Ink InkOfWrong(const judge::Estimate& rate) {
  return rate.low > kMostWrong ? judge::Ink::kBad : judge::Ink::kPlain;
}

std::vector<judge::Cell> CellsOf(const SelftestRow& row, judge::Clock clock) {
  const judge::Score& score = ScoresOf(row, clock).front();
  const int undecided = score.Count(judge::Verdict::kInconclusive) + score.Count(judge::Verdict::kInvalid);
  const judge::Estimate wrong = score.Wrong();
  return {{row.arm.name, judge::Ink::kPlain, true},
          {std::string(NameOf(clock))},
          {fmt::format("{}", score.Count(judge::Verdict::kWin))},
          {fmt::format("{}", score.Count(judge::Verdict::kLoss))},
          {fmt::format("{}", score.Count(judge::Verdict::kTie))},
          {fmt::format("{}", undecided)},
          {RateText(wrong), InkOfWrong(wrong)},
          {RateText(score.Found())},
          {judge::FineRatio(score.MedianSpeedup(), "×")},
          {RateText(score.Held())}};
}

json JsonOf(double value) { return std::isfinite(value) ? json(value) : json(); }

json JsonOf(const judge::Estimate& e) {
  return {{"value", JsonOf(e.value)}, {"low", e.low}, {"high", e.high}};
}

json JsonOf(const judge::Score& score) {
  json counts;
  for (const judge::Verdict v : {judge::Verdict::kWin, judge::Verdict::kLoss, judge::Verdict::kTie,
                                 judge::Verdict::kInconclusive, judge::Verdict::kInvalid}) {
    counts[std::string(NameOf(v))] = score.Count(v);
  }
  return {{"counts", counts},
          {"wrong", JsonOf(score.Wrong())},
          {"found", JsonOf(score.Found())},
          {"held", JsonOf(score.Held())},
          {"speedup", JsonOf(score.MedianSpeedup())}};
}

json JsonOf(const std::vector<judge::Score>& scores) {
  json by_delta = json::array();
  for (size_t i = 0; i < scores.size(); ++i) {
    by_delta.push_back(JsonOf(scores[i]));
    by_delta.back()["delta"] = kSelftestDeltas[i];
  }
  return by_delta;
}

// How often the same code gets a WIN or LOSS at each delta.
judge::Table DeltaTable(const std::vector<SelftestRow>& rows) {
  judge::Table table{{{"case"}, {"arm"}, {"clock"}}, {}};
  for (const double delta : kSelftestDeltas) {
    table.columns.push_back({fmt::format("wrong at delta {}", judge::SetPercent(delta)), true});
  }
  for (const SelftestRow& row : rows) {
    if (row.arm.slower > 0) continue;
    for (const judge::Clock clock : kClocks) {
      std::vector<judge::Cell> cells = {{row.case_name, judge::Ink::kPlain, true},
                                        {row.arm.name, judge::Ink::kPlain, true},
                                        {std::string(NameOf(clock))}};
      for (const judge::Score& score : ScoresOf(row, clock)) {
        cells.push_back({RateText(score.Wrong()), InkOfWrong(score.Wrong())});
      }
      table.rows.push_back(std::move(cells));
    }
  }
  return table;
}

}  // namespace

SelftestRow::SelftestRow(std::string name, const PlantedArm& planted)
    : case_name(std::move(name)),
      arm(planted),
      device(kSelftestDeltas.size(), judge::Score(std::log1p(planted.slower))),
      host(device) {}

std::string SelftestText(const SelftestResult& result, bool markdown, bool colour) {
  judge::Table table{{{"arm"},
                      {"clock"},
                      {"WIN", true},
                      {"LOSS", true},
                      {"TIE", true},
                      {"?", true},
                      {"wrong verdicts", true},
                      {"found", true},
                      {"speed-up", true},
                      {"interval holds the truth", true}},
                     {}};
  std::string case_name;
  for (const SelftestRow& row : result.rows) {
    if (std::exchange(case_name, row.case_name) != row.case_name) {
      table.rows.push_back({{row.case_name, judge::Ink::kBold}});
    }
    for (const judge::Clock clock : kClocks) table.rows.push_back(CellsOf(row, clock));
  }
  const auto print = [&](const judge::Table& t) {
    return (markdown ? judge::MarkdownTable(t) : judge::PlainTable(t, "", colour)) + '\n';
  };
  std::string text = print(table) + print(DeltaTable(result.rows));
  const GateScore& gates = result.gates;
  text += fmt::format(
      "{} of {} launches against {}. Each verdict is that of a bench of two variants; the null arm is "
      "another "
      "link.\n"
      "Found: LOSS where the arm is slower, TIE where it is the same. Rates have 95% intervals. The first "
      "table is at "
      "delta {}.\n"
      "Gate: {} of {} wrong variants caught ({}), {} of {} right ones passed.\n",
      judge::Counted(result.runs, "run", "runs"), result.launches, result.variant,
      judge::SetPercent(kSelftestDeltas.front()), gates.caught, gates.wrong,
      RateText(judge::Rate(gates.caught, gates.wrong, kLevel)), gates.passed, gates.right);
  for (const std::string& mistake : gates.mistakes) text += "  " + judge::OneLine(mistake) + '\n';
  const judge::EnvironmentFacts& facts = result.environment;
  text += fmt::format("Machine: {}, {} threads; {}; commit {}{}. Records: {}\n", facts.cpu, result.threads,
                      facts.compiler, facts.git_commit.substr(0, 12), facts.git_dirty ? " with changes" : "",
                      result.records);
  return text;
}

std::string SelftestJson(const SelftestResult& result) {
  json arms = json::array();
  for (const SelftestRow& row : result.rows) {
    arms.push_back({{"case", row.case_name},
                    {"arm", row.arm.name},
                    {"what", row.arm.what},
                    {"slower", row.arm.slower},
                    {"device", JsonOf(row.device)},
                    {"host", JsonOf(row.host)}});
  }
  return json({{"schema", 1},
               {"variant", result.variant},
               {"runs", result.runs},
               {"launches", result.launches},
               {"seed", result.seed},
               {"threads", result.threads},
               {"cpu", result.environment.cpu},
               {"git_commit", result.environment.git_commit},
               {"arms", arms},
               {"gate",
                {{"wrong", result.gates.wrong},
                 {"caught", result.gates.caught},
                 {"right", result.gates.right},
                 {"passed", result.gates.passed},
                 {"mistakes", result.gates.mistakes}}},
               {"records", result.records}})
             .dump(2) +
         '\n';
}

int SelftestExitCode(const SelftestResult& result) {
  if (!result.gates.mistakes.empty()) return kGateFailed;
  for (const SelftestRow& row : result.rows) {
    for (const judge::Clock clock : kClocks) {
      if (ScoresOf(row, clock).front().Wrong().low > kMostWrong) return kConditionFailed;
    }
  }
  return kDone;
}

}  // namespace pagoda::app
