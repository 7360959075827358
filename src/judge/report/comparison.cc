#include "judge/report/comparison.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "judge/report/comparison_tables.h"
#include "judge/report/text.h"

namespace pagoda::judge {
namespace {

// Where the two formats differ.
class Page {
 public:
  Page(bool markdown, bool colour, size_t width) : markdown_(markdown), colour_(colour), width_(width) {}

  void Heading(const std::string& text) {
    if (markdown_) {
      text_ += "### " + MarkdownLiteral(text) + "\n\n";
    } else {
      text_ += Inked(OneLine(text), Ink::kBold, colour_) + "\n\n";
    }
  }
  void Part(const std::string& text) {
    text_ += markdown_ ? "#### " + MarkdownLiteral(text) + "\n\n" : Inked(text, Ink::kBold, colour_) + '\n';
  }
  void Add(const Table& table) {
    text_ += (markdown_ ? MarkdownTable(table) : PlainTable(table, "  ", colour_)) + (markdown_ ? "\n" : "");
  }
  void Item(const std::string& text) {
    text_ += markdown_ ? "- " + MarkdownLiteral(text) + '\n' : Wrapped(text, width_, "  ", "      ");
  }
  size_t most_items() const { return markdown_ ? std::numeric_limits<size_t>::max() : 8; }
  void Gap() {
    if (!text_.ends_with("\n\n")) text_ += '\n';
  }
  std::string Take() { return std::move(text_); }

 private:
  bool markdown_, colour_;
  size_t width_;
  std::string text_;
};

void AddItems(const std::vector<std::string>& items, Page& page) {
  for (const std::string& item : items) page.Item(item);
  if (!items.empty()) page.Gap();
}

void AddUndecided(std::vector<std::string> sentences, Page& page) {
  const size_t all = sentences.size();
  if (all > page.most_items()) {
    sentences.resize(page.most_items());
    sentences.push_back(
        fmt::format("… and {} more without a verdict; --format markdown lists all", all - page.most_items()));
  }
  AddItems(sentences, page);
}

void AddDiffering(const ComparedReplays& runs, Page& page) {
  page.Part("What differs besides the code of the variants");
  for (const DifferingFact& fact : DifferingFacts(runs.before.manifest, runs.after.manifest)) {
    page.Item(fmt::format("{}: {} → {}", fact.what, fact.before.empty() ? "not known" : fact.before,
                          fact.after.empty() ? "not known" : fact.after));
  }
  page.Gap();
}

void AddWinners(const ComparedReplays& runs, Page& page) {
  page.Part("Fastest variant");
  const Table table = WinnersTable(WinnersOf(runs));
  if (table.rows.empty()) {
    page.Item("the runs agree on every case");
  } else {
    page.Add(table);
  }
  page.Gap();
}

void AddComparison(const NamedReplay& before, const NamedReplay& after, const Comparison& comparison,
                   Page& page) {
  const ComparedReplays runs{before.replay, after.replay, comparison};
  page.Heading(fmt::format("{} (after) against {} (before)", after.name, before.name));
  AddItems(ChangeSentences(comparison), page);
  if (!comparison.changes.empty()) {
    page.Part("Speed-ups over " + comparison.baseline);
    page.Add(ChangeTable(comparison));
    page.Item(ChangeLegend(comparison));
    page.Gap();
    page.Add(ChangeCaseTable(comparison));
    page.Gap();
    AddUndecided(UndecidedSentences(comparison), page);
  }
  page.Part("Raw device times");
  page.Add(TimesTable(runs));
  page.Item(TimesLegend());
  page.Gap();
  AddWinners(runs, page);
  AddDiffering(runs, page);
  const std::vector<std::string> left_out = NotCompared(comparison);
  if (left_out.empty()) return;
  page.Part("Not compared");
  AddItems(left_out, page);
}

std::string Print(const ComparisonReport& report, Page page) {
  page.Add(RunsTable(report.runs));
  page.Gap();
  for (size_t i = 0; i < report.comparisons.size(); ++i) {
    AddComparison(report.runs.front(), report.runs[i + 1], report.comparisons[i], page);
  }
  return page.Take();
}

}  // namespace

std::string ComparisonTerminal(const ComparisonReport& report, bool colour, size_t width) {
  return Print(report, Page(false, colour, width));
}

std::string ComparisonMarkdown(const ComparisonReport& report) { return Print(report, Page(true, false, 0)); }

}  // namespace pagoda::judge
