#include "judge/report/markdown.h"

#include <fmt/format.h>

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

class Printer {
 public:
  Printer(const Replay& replay, const ReportPaths& paths) : replay_(replay), paths_(paths) {}

  std::string Print() {
    PrintHead();
    PrintWarnings();
    PrintSweeps();
    PrintTroubles();
    PrintTables();
    PrintHow();
    PrintNotMeasured();
    return std::move(text_);
  }

 private:
  void Paragraph(std::string_view markdown) { text_.append(markdown).append("\n\n"); }

  void AddTable(const Table& table) { text_ += MarkdownTable(table) + '\n'; }

  void Item(std::string_view markdown) { text_.append("- ").append(markdown).append("\n"); }

  void Fold(std::string_view summary) { Paragraph(fmt::format("<details><summary>{}</summary>", summary)); }

  void Unfold() { Paragraph("</details>"); }

  void PrintHead() {
    Paragraph("### " + MarkdownLiteral(replay_.manifest.suite));
    Paragraph("**" + MarkdownLiteral(Headline(replay_)) + "**");
    const Answer answer = AnswerOf(replay_);
    std::string words = "**Which one?** " + MarkdownLiteral(Sentence(answer.choice));
    for (const std::string& sentence : answer.sentences) words += ' ' + MarkdownLiteral(sentence);
    Paragraph(words);
    Item("Run: " + MarkdownLiteral(RunLine(replay_)));
    Item("Correct: " + MarkdownLiteral(Correctness(replay_)));
    Item("Resolution: " + MarkdownLiteral(Resolution(replay_)));
    for (const std::string& sentence : RegretSentences(replay_)) Item(MarkdownLiteral(sentence));
    const std::string medians = MediansAlone(replay_);
    if (!medians.empty()) Item("Medians alone: " + MarkdownLiteral(medians));
    Item("Launches: " + MarkdownLiteral(LaunchLine(replay_)));
    text_ += '\n';
  }

  void PrintWarnings() {
    const std::vector<WarningText> warnings = WarningsOf(replay_);
    if (warnings.empty()) return;
    Paragraph("#### Warnings");
    for (const WarningText& warning : warnings) {
      Item(MarkdownLiteral(warning.what) + " *Next:* " + MarkdownLiteral(warning.next));
    }
    text_ += '\n';
  }

  void PrintSweeps() {
    if (replay_.run.sweeps.empty()) return;
    Paragraph("#### Crossovers");
    for (const SweepVerdict& sweep : replay_.run.sweeps) {
      if (IsSteady(sweep)) continue;
      Paragraph(fmt::format("**Over {}:** {}", MarkdownLiteral(sweep.axis), MarkdownCode(sweep.name)));
      const std::vector<std::string> sentences = SweepSentences(sweep);
      for (const std::string& sentence : sentences) Item(MarkdownLiteral(sentence));
      if (!sentences.empty()) text_ += '\n';
      AddTable(StandingsTable(replay_, sweep));
    }
    const std::string steady = SteadySentence(replay_, kAllNames);
    if (!steady.empty()) Paragraph(MarkdownLiteral(steady));
    Paragraph(MarkdownLiteral(fmt::format("({})", SweepLegend(replay_))));
    const Table all = CrossoverTable(replay_);
    if (all.rows.empty()) return;
    Fold(CrossoverCount(replay_));
    AddTable(all);
    Unfold();
  }

  void PrintTroubles() {
    const std::vector<Trouble> troubles = TroublesOf(replay_);
    if (troubles.empty()) return;
    Paragraph("#### Losses, inconclusive and invalid cases");
    Table table{.columns = {{"verdict"}, {"variant"}, {"against"}, {"case"}, {"speedup"}, {"why"}, {"next"}}};
    for (const Trouble& t : troubles) {
      table.rows.push_back(
          {{std::string(NameOf(t.verdict))},
           {.text = t.variant, .code = true},
           {.text = t.baseline, .code = true},
           {.text = t.case_name.empty() ? "overall" : t.case_name, .code = !t.case_name.empty()},
           {t.ratio},
           {t.not_beaten.empty() ? t.reason : "not beaten there: " + Listed(t.not_beaten)},
           {t.next}});
    }
    AddTable(table);
  }

  void PrintContrast(const Contrast& contrast) {
    Paragraph("Device time:");
    AddTable(ContrastTable(replay_, contrast));
    Paragraph("Host time (call to return):");
    AddTable(HostTable(replay_, contrast));
  }

  void PrintTables() {
    const RunVerdict& run = replay_.run;
    Paragraph("#### Times");
    if (run.contrasts.empty()) {
      AddTable(FiguresTable(replay_, run.baseline));
      return;
    }
    AddTable(SummaryTable(replay_));
    Paragraph(fmt::format("({}; intervals are at 95%)", Legend(replay_)));
    if (run.contrasts.size() == 1) {
      PrintContrast(run.contrasts.front());
      return;
    }
    AddTable(CompactCaseTable(replay_));
    for (const Contrast& contrast : run.contrasts) {
      Fold(fmt::format("{} {} against {} {}: {}", LabelOf(replay_.manifest, contrast.variant),
                       HtmlText(contrast.variant), LabelOf(replay_.manifest, contrast.baseline),
                       HtmlText(contrast.baseline), Tally(contrast.counts)));
      PrintContrast(contrast);
      Unfold();
    }
  }

  void PrintFacts(const std::vector<Fact>& facts) {
    for (const Fact& fact : facts) Item(fmt::format("{}: {}", fact.name, MarkdownLiteral(fact.value)));
    text_ += '\n';
  }

  void PrintHow() {
    Fold("Environment, command, protocol, raw data");
    Paragraph("**Environment**");
    PrintFacts(EnvironmentFactsOf(replay_));
    Paragraph("**Command**");
    Paragraph(MarkdownCode(replay_.manifest.command_line));
    Paragraph("**Protocol**");
    PrintFacts(ProtocolFactsOf(replay_));
    if (!paths_.records.empty()) {
      Paragraph("**Raw data**");
      Paragraph(MarkdownCode(QuotedWord(paths_.records)));
    }
    Unfold();
  }

  void PrintNotMeasured() {
    const std::vector<std::string> items = NotMeasured(replay_, kAllNames);
    if (items.empty()) return;
    Paragraph("#### Not measured");
    for (const std::string& item : items) Item(MarkdownLiteral(item));
  }

  const Replay& replay_;
  const ReportPaths& paths_;
  std::string text_;
};

}  // namespace

std::string MarkdownReport(const Replay& replay, const ReportPaths& paths) {
  return Printer(replay, paths).Print();
}

}  // namespace pagoda::judge
