#include "judge/report/html.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "base/listed.h"
#include "base/shell_words.h"
#include "judge/report/answer.h"
#include "judge/report/facts.h"
#include "judge/report/html_cases.h"
#include "judge/report/html_forest.h"
#include "judge/report/html_parts.h"
#include "judge/report/html_scatter.h"
#include "judge/report/html_sweeps.h"
#include "judge/report/numbers.h"
#include "judge/report/page_files.h"
#include "judge/report/tables.h"
#include "judge/report/text.h"
#include "judge/report/warnings.h"

namespace pagoda::judge {
namespace {

class Printer {
 public:
  Printer(const Replay& replay, const ReportPaths& paths) : replay_(replay), paths_(paths) {}

  std::string Print() {
    PrintTop();
    PrintAnswer();
    PrintWarnings();
    text_ += SweepSection(replay_);
    PrintSpeedups();
    PrintTroubles();
    PrintCases();
    PrintPlots();
    PrintHow();
    PrintNotMeasured();
    text_ += fmt::format("</main>\n<script>\n{}</script>\n</body>\n</html>\n", kReportScript);
    return std::move(text_);
  }

 private:
  void Heading(std::string_view title) { text_ += fmt::format("<h2>{}</h2>\n", title); }

  void Paragraph(std::string_view text) { text_ += fmt::format("<p>{}</p>\n", HtmlText(text)); }

  // The policy holds the promise that the page asks for nothing, whatever it is made to contain.
  void PrintTop() {
    const std::string suite = HtmlText(replay_.manifest.suite);
    text_ += fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>{0}: {1}</title>\n<style>\n{2}</style>\n</head>\n<body>\n{3}<main>\n<h1>{0}</h1>\n",
        suite, NameOf(replay_.run.verdict), kReportStyle, SvgShapes());
  }

  void PrintAnswer() {
    const Answer answer = AnswerOf(replay_);
    text_ += fmt::format("<section class=\"answer\">\n<h2>Which one? <strong>{}</strong></h2>\n",
                         HtmlText(Sentence(answer.choice)));
    for (const std::string& sentence : answer.sentences) Paragraph(sentence);
    text_ += "</section>\n";
    Facts({{"In short", Headline(replay_)},
           {"Run", RunLine(replay_)},
           {"Machine", MachineLine(replay_)},
           {"Correct", Correctness(replay_)},
           {"Resolution", Resolution(replay_)},
           {"Medians alone", MediansAlone(replay_)},
           {"Launches", LaunchLine(replay_)}});
  }

  void PrintWarnings() {
    const std::vector<WarningText> warnings = WarningsOf(replay_);
    if (warnings.empty()) return;
    Heading("Warnings");
    text_ += "<ul class=\"warnings\">\n";
    for (const WarningText& warning : warnings) {
      text_ += fmt::format("<li>{} <em>Next:</em> {}</li>\n", HtmlText(warning.what), HtmlText(warning.next));
    }
    text_ += "</ul>\n";
  }

  void PrintSpeedups() {
    Heading("Speedup by device time");
    if (!replay_.run.contrasts.empty()) {
      text_ += HtmlTable(SummaryTable(replay_), "Summary");
      Paragraph("How to read it: " + Sentence(Legend(replay_) + "; intervals are at 95%"));
      for (const std::string& sentence : RegretSentences(replay_)) Paragraph(Sentence(sentence));
    }
    text_ += ForestPlot(replay_);
  }

  void PrintTrouble(const Trouble& t) {
    text_ += fmt::format("<li><b class=\"{0}\">{0}</b> {1} against {2} ", NameOf(t.verdict),
                         HtmlName(t.variant), HtmlName(t.baseline));
    text_ += t.case_name.empty() ? "overall" : "on " + HtmlName(t.case_name);
    if (!t.ratio.empty()) text_ += fmt::format(": <span class=\"figure\">{}</span>", t.ratio);
    if (!t.not_beaten.empty()) text_ += ", not beaten there: " + HtmlText(Listed(t.not_beaten));
    if (!t.reason.empty()) text_ += "<br>\nWhy: " + HtmlText(Sentence(t.reason));
    if (!t.next.empty()) text_ += " <em>Next:</em> " + HtmlText(Sentence(t.next));
    text_ += "</li>\n";
  }

  void PrintTroubles() {
    const std::vector<Trouble> troubles = TroublesOf(replay_);
    if (troubles.empty()) return;
    Heading("Losses, inconclusive and invalid cases");
    text_ += fmt::format("<details{}>\n<summary>{}</summary>\n<ul class=\"troubles\">\n",
                         troubles.size() > kManyRows ? "" : " open",
                         Counted(static_cast<int64_t>(troubles.size()), "entry", "entries"));
    for (const Trouble& trouble : troubles) PrintTrouble(trouble);
    text_ += "</ul>\n</details>\n";
  }

  void PrintCases() {
    Heading("Cases");
    text_ += CaseTable(replay_);
  }

  void PrintPlots() {
    Heading("Roofline");
    text_ += RooflinePlot(replay_);
    Heading("Host time against device time");
    for (const Difference& d : replay_.run.differences) {
      Paragraph(fmt::format("{} against {} {}: {} by device time, {} by host time.", d.variant, d.baseline,
                            d.case_name.empty() ? "overall" : "on " + d.case_name, NameOf(d.device),
                            NameOf(d.host)));
    }
    text_ += HostPlot(replay_);
  }

  void Facts(const std::vector<Fact>& facts) {
    text_ += "<dl>\n";
    for (const Fact& fact : facts) {
      if (fact.value.empty()) continue;
      text_ += fmt::format("<dt>{}</dt><dd>{}</dd>\n", HtmlText(fact.name), HtmlText(fact.value));
    }
    text_ += "</dl>\n";
  }

  void PrintHow() {
    Heading("How it was measured");
    text_ += "<details>\n<summary>Environment, command, protocol, raw data</summary>\n<h3>Environment</h3>\n";
    Facts(EnvironmentFactsOf(replay_));
    text_ += fmt::format("<h3>Command</h3>\n<p>{}</p>\n<h3>Protocol</h3>\n",
                         HtmlName(replay_.manifest.command_line));
    Facts(ProtocolFactsOf(replay_));
    if (!paths_.records.empty()) {
      text_ += fmt::format("<h3>Raw data</h3>\n<p>{}</p>\n", HtmlName(QuotedWord(paths_.records)));
    }
    text_ += "</details>\n";
  }

  void PrintNotMeasured() {
    const std::vector<std::string> items = NotMeasured(replay_, kAllNames);
    if (items.empty()) return;
    Heading("Not measured");
    text_ += "<ul>\n";
    for (const std::string& item : items) text_ += fmt::format("<li>{}</li>\n", HtmlText(item));
    text_ += "</ul>\n";
  }

  const Replay& replay_;
  const ReportPaths& paths_;
  std::string text_;
};

}  // namespace

std::string HtmlReport(const Replay& replay, const ReportPaths& paths) {
  return Printer(replay, paths).Print();
}

}  // namespace pagoda::judge
