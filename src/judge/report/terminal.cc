#include "judge/report/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/listed.h"
#include "base/shell_words.h"
#include "judge/report/answer.h"
#include "judge/report/facts.h"
#include "judge/report/numbers.h"
#include "judge/report/sweeps.h"
#include "judge/report/tables.h"
#include "judge/report/text.h"
#include "judge/report/warnings.h"

namespace pagoda::judge {
namespace {

constexpr std::string_view kIndent = "  ";
constexpr std::string_view kQuestion = "Which one?  ";
constexpr int kMostLines = 3;     // of a sentence
constexpr size_t kMostNames = 4;  // of a list of cases
constexpr std::ptrdiff_t kLinesOfAScreen = 50;

// Keeps the first `most` lines. True if there were more; "…" then ends the last.
bool CutAfterLines(int most, std::string& lines) {
  size_t end = 0;
  for (int i = 0; i < most && end != std::string::npos; ++i) end = lines.find('\n', end == 0 ? 0 : end + 1);
  if (end == std::string::npos || end + 1 == lines.size()) return false;
  lines.replace(end, std::string::npos, " …\n");
  return true;
}

// One variant's troubles with one reason share an entry. A LOSS has no reason but its ratio.
bool SayTheSame(const Trouble& a, const Trouble& b) {
  if (a.verdict == Verdict::kLoss || a.case_name.empty() || b.case_name.empty()) return &a == &b;
  return a.verdict == b.verdict && a.variant == b.variant && a.reason == b.reason && a.next == b.next;
}

class Printer {
 public:
  Printer(const Replay& replay, const ReportPaths& paths, const TerminalOptions& options)
      : replay_(replay), paths_(paths), options_(options) {}

  std::string Print() {
    PrintHead();
    PrintAnswer();
    PrintSummary();
    PrintWarnings();
    PrintSweeps();
    PrintTroubles();
    PrintCases();
    PrintTail();
    return std::move(text_);
  }

 private:
  std::string In(std::string_view text, Ink ink) const { return Inked(text, ink, options_.colour); }

  void Line(std::string_view text) { text_ += Wrapped(text, options_.width, "", "    "); }

  void Item(std::string_view text) { text_ += Wrapped(text, options_.width, kIndent, "      "); }

  // `lead` and a sentence that hangs from it, in bold.
  void BoldAfter(std::string_view lead, std::string_view sentence) {
    const std::string hanging(lead.size(), ' ');
    std::string lines = Wrapped(Sentence(sentence), options_.width, hanging, hanging);
    lines.replace(0, lead.size(), lead);
    lines.pop_back();
    text_ += In(lines, Ink::kBold) + '\n';
  }

  void PrintHead() {
    Line(RunLine(replay_));
    const std::string machine = MachineLine(replay_);
    if (!machine.empty()) Line("Machine: " + machine);
    Line("Correct: " + Correctness(replay_));
    text_ += '\n';
  }

  void PrintAnswer() {
    const Answer answer = AnswerOf(replay_);
    const std::string hanging(kQuestion.size(), ' ');
    BoldAfter(kQuestion, answer.choice);
    bool cut = false;
    for (const std::string& sentence : answer.sentences) {
      std::string lines = Wrapped(sentence, options_.width, hanging, hanging);
      cut = CutAfterLines(kMostLines, lines) || cut;
      text_ += lines;
    }
    if (cut) text_ += hanging + "(shortened; --format markdown has it whole)\n";
    text_ += '\n';
  }

  void PrintSummary() {
    if (!replay_.run.contrasts.empty()) {
      text_ += PlainTable(SummaryTable(replay_), kIndent, options_.colour);
      Item(Legend(replay_));
    }
    Item(Resolution(replay_));
    for (const std::string& sentence : RegretSentences(replay_)) Item(sentence);
    const std::string medians = MediansAlone(replay_);
    if (!medians.empty()) Item("medians alone, " + medians);
    text_ += '\n';
  }

  void PrintWarnings() {
    const std::vector<WarningText> warnings = WarningsOf(replay_);
    for (const WarningText& warning : warnings) {
      std::string what = Wrapped(warning.what, options_.width, "    ", "    ");
      what.replace(kIndent.size(), 1, In("!", Ink::kDoubt));
      text_ += what;
      text_ += Wrapped("Next: " + warning.next, options_.width, "    ", "    ");
    }
    if (!warnings.empty()) text_ += '\n';
  }

  void PrintSweeps() {
    const RunVerdict& run = replay_.run;
    if (run.sweeps.empty()) return;
    for (const SweepVerdict& sweep : run.sweeps) {
      if (IsSteady(sweep)) continue;
      text_ += In(OneLine(fmt::format("Over {}: {}", sweep.axis, sweep.name)), Ink::kBold) + '\n';
      for (const std::string& sentence : SweepSentences(sweep)) Item(sentence);
      text_ += PlainTable(StandingsTable(replay_, sweep), kIndent, options_.colour) + '\n';
    }
    const std::string steady = SteadySentence(replay_, kMostNames);
    if (!steady.empty()) Item(steady);
    if (!CrossoverTable(replay_).rows.empty()) {
      Item(fmt::format("{}: --format markdown lists them.", CrossoverCount(replay_)));
    }
    Item(SweepLegend(replay_));
    text_ += '\n';
  }

  // `where`: the cases of all troubles that say the same; the table of cases has their ratios.
  void PrintTrouble(const Trouble& trouble, const std::vector<std::string>& where) {
    const Manifest& manifest = replay_.manifest;
    std::string who =
        fmt::format("{} vs {} {}", LabelOf(manifest, trouble.variant), LabelOf(manifest, trouble.baseline),
                    trouble.case_name.empty() ? "overall" : "on " + ListedUpTo(kMostNames, where));
    if (!trouble.ratio.empty() && where.size() == 1) who += ": " + trouble.ratio;
    std::vector<std::string> not_beaten;
    not_beaten.reserve(trouble.not_beaten.size());
    for (const std::string& variant : trouble.not_beaten) not_beaten.push_back(LabelOf(manifest, variant));
    if (!not_beaten.empty()) who += ", not beaten: " + Listed(not_beaten);
    const std::string mark = fmt::format("{:<8}", MarkOf(trouble.verdict));
    const std::string rest(kIndent.size() + mark.size(), ' ');
    std::string lines = Wrapped(who, options_.width, rest, rest);
    lines.replace(kIndent.size(), mark.size(), In(mark, InkOf(trouble.verdict)));
    text_ += lines;
    if (!trouble.reason.empty()) {
      lines = Wrapped("Why: " + Sentence(trouble.reason), options_.width, rest, rest);
      CutAfterLines(kMostLines, lines);
      text_ += lines;
    }
    if (!trouble.next.empty())
      text_ += Wrapped("Next: " + Sentence(trouble.next), options_.width, rest, rest);
  }

  void PrintTroubles() {
    const std::vector<Trouble> troubles = TroublesOf(replay_);
    if (troubles.empty()) return;
    std::map<Verdict, size_t> printed, left_out;
    std::vector<bool> done(troubles.size());
    for (size_t i = 0; i < troubles.size(); ++i) {
      if (done[i]) continue;
      std::vector<std::string> where;
      for (size_t k = i; k < troubles.size(); ++k) {
        if (!SayTheSame(troubles[i], troubles[k])) continue;
        done[k] = true;
        where.push_back(troubles[k].case_name);
      }
      if (printed[troubles[i].verdict]++ < options_.most_troubles) {
        PrintTrouble(troubles[i], where);
      } else {
        left_out[troubles[i].verdict] += where.size();
      }
    }
    for (const auto& [verdict, count] : left_out) {
      Item(fmt::format("… and {} more {}; --format markdown lists all", count, NameOf(verdict)));
    }
    text_ += '\n';
  }

  void PrintCases() {
    const RunVerdict& run = replay_.run;
    if (run.contrasts.empty()) {
      text_ += PlainTable(FiguresTable(replay_, run.baseline), kIndent, options_.colour);
    } else if (options_.full) {
      text_ += PlainTable(FullCaseTable(replay_), kIndent, options_.colour);
    } else {
      text_ += PlainTable(CompactCaseTable(replay_), kIndent, options_.colour);
    }
    text_ += '\n';
  }

  void PrintTail() {
    Line("Launches: " + LaunchLine(replay_) + ".");
    std::string left_out;
    for (const std::string& item : NotMeasured(replay_, kMostNames))
      left_out += (left_out.empty() ? "" : "; ") + item;
    if (!left_out.empty()) Line("Not measured: " + Sentence(left_out));
    if (!paths_.records.empty()) text_ += "Raw data: " + QuotedWord(paths_.records) + '\n';
    std::vector<std::string> reports = paths_.reports;
    for (std::string& path : reports) path = QuotedWord(path);
    if (!reports.empty()) text_ += "Reports: " + Listed(reports) + '\n';
    text_ += "Again: " + OneLine(replay_.manifest.command_line) + '\n';
    // On a usual terminal the top of a longer report has scrolled away.
    if (std::count(text_.begin(), text_.end(), '\n') < kLinesOfAScreen) return;
    text_ += '\n';
    BoldAfter("Answer: ", Brief(replay_));
  }

  const Replay& replay_;
  const ReportPaths& paths_;
  const TerminalOptions& options_;
  std::string text_;
};

}  // namespace

std::string TerminalReport(const Replay& replay, const ReportPaths& paths, const TerminalOptions& options) {
  return Printer(replay, paths, options).Print();
}

}  // namespace pagoda::judge
