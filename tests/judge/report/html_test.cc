#include "judge/report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <regex>
#include <set>

#include "judge/report/run_kinds.h"
#include "judge/report/sample_run.h"
#include "judge/report/text.h"

namespace pagoda::judge {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

const ReportPaths kPaths{.records = "runs/x/records.jsonl", .reports = {}};

std::string Html(const SampleRun& run) { return HtmlReport(run.AsReplay(), kPaths); }

struct Attribute {
  std::string element, name, value;
};

// Reads a page tag by tag, strictly: every element is closed in order, every attribute is quoted, no '<' or
// '"' stands where a tag can't be.
struct Page {
  std::vector<std::string> faults;
  std::vector<std::string> elements;  // in order of their start
  std::vector<Attribute> attributes;

  explicit Page(const std::string& html) {
    static const std::regex kTag(R"re(^<(/?)([a-zA-Z0-9]+)((?: [a-zA-Z0-9:-]+(?:="[^"<]*")?)*)\s*(/?)>)re");
    static const std::regex kAttribute(R"re( ([a-zA-Z0-9:-]+)(?:="([^"<]*)")?)re");
    static const std::set<std::string> kVoid = {"meta", "input", "br"};
    std::vector<std::string> open;
    const std::string doctype = "<!DOCTYPE html>\n";
    if (!html.starts_with(doctype)) faults.push_back("no doctype");
    for (size_t at = html.find('<', doctype.size()); at != std::string::npos; at = html.find('<', at)) {
      std::smatch tag;
      const std::string rest = html.substr(at, std::min<size_t>(html.find('>', at), html.size()) + 1 - at);
      if (!std::regex_search(rest, tag, kTag)) {
        faults.push_back("no tag: " + html.substr(at, 60));
        return;
      }
      at += static_cast<size_t>(tag.length());
      const std::string name = tag[2];
      if (tag[1].length() > 0) {
        if (open.empty() || open.back() != name) {
          faults.push_back("</" + name + "> closes " + (open.empty() ? "nothing" : open.back()));
          return;
        }
        open.pop_back();
        continue;
      }
      elements.push_back(name);
      const std::string list = tag[3];
      for (std::sregex_iterator i(list.begin(), list.end(), kAttribute), end; i != end; ++i) {
        attributes.push_back({name, (*i)[1], (*i)[2]});
      }
      if (kVoid.contains(name) || tag[4].length() > 0) continue;
      open.push_back(name);
      if (name == "script" || name == "style") at = html.find("</" + name, at);
    }
    for (const std::string& name : open) faults.push_back(name + " is never closed");
  }

  std::vector<std::string> Values(const std::set<std::string>& names) const {
    std::vector<std::string> values;
    for (const Attribute& a : attributes) {
      if (names.contains(a.name)) values.push_back(a.value);
    }
    return values;
  }
};

TEST(PageOfTheTest, NoticesWhatIsWrong) {
  const std::string top = "<!DOCTYPE html>\n";
  EXPECT_THAT(Page(top + "<p a=\"1\">x</p>").faults, IsEmpty());
  for (const char* wrong : {"<p>", "<p></b>", "</p>", "<p a=1></p>", "<p a=\"<\"></p>", "<p>1 < 2</p>"}) {
    EXPECT_THAT(Page(top + wrong).faults, Not(IsEmpty())) << wrong;
  }
}

class HtmlReports : public testing::TestWithParam<RunKind> {};

TEST_P(HtmlReports, AreWellFormed) {
  const Page page(Html(GetParam().make()));
  EXPECT_THAT(page.faults, IsEmpty());
  std::vector<std::string> ids = page.Values({"id"});
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end()) << "an id twice";
}

TEST_P(HtmlReports, ShowEveryCaseOfEveryVariantWithItsVerdict) {
  const SampleRun run = GetParam().make();
  const std::string html = Html(run);
  const std::string table = html.substr(html.find("<table id=\"cases\">"));
  for (const std::string& variant : run.manifest.variants) {
    const Contrast* contrast = FindContrast(run.verdict, variant);
    for (const std::string& name : kCases) {
      const CaseVerdict* verdict = contrast == nullptr ? nullptr : FindCase(*contrast, name);
      const std::string word(verdict == nullptr ? "baseline" : NameOf(verdict->device.verdict));
      EXPECT_THAT(table, HasSubstr("<tr data-verdict=\"" + word + "\"><th scope=\"row\"><code>" + name +
                                   "</code></th><td><b>" + LabelOf(run.manifest, variant) + "</b> <code>" +
                                   variant + "</code>"));
    }
  }
}

TEST_P(HtmlReports, AskForNothingFromOutside) {
  const std::string html = Html(GetParam().make());
  EXPECT_THAT(html, Not(HasSubstr("http:")));
  EXPECT_THAT(html, Not(HasSubstr("https:")));
  EXPECT_THAT(html, Not(HasSubstr("url(")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
  const Page page(html);
  EXPECT_THAT(page.Values({"href"}), Each(MatchesRegex("#[a-zA-Z0-9-]+")));
  EXPECT_THAT(page.Values({"src", "action", "srcset"}), IsEmpty());
}

TEST_P(HtmlReports, HaveShapesForAllTheirMarks) {
  const Page page(Html(GetParam().make()));
  const std::vector<std::string> ids = page.Values({"id"});
  for (const std::string& href : page.Values({"href"})) {
    EXPECT_THAT(ids, testing::Contains(href.substr(1))) << "nothing is drawn";
  }
}

TEST_P(HtmlReports, DrawAtPlacesThatExist) {
  const Page page(Html(GetParam().make()));
  EXPECT_THAT(page.Values({"x", "y", "x1", "x2", "y1", "y2", "dx", "dy", "width", "height"}),
              Each(MatchesRegex("-?[0-9.]+(%|em)?")));
  EXPECT_THAT(page.Values({"data-sort"}), Each(MatchesRegex("-?[0-9.]+(e[+-][0-9]+)?")));
}

TEST_P(HtmlReports, HeadingsAreInOrderAndPicturesHaveTitles) {
  const Page page(Html(GetParam().make()));
  int level = 0;
  for (size_t i = 0; i < page.elements.size(); ++i) {
    const std::string& element = page.elements[i];
    if (element.size() != 2 || element[0] != 'h' || element[1] < '1' || element[1] > '6') continue;
    EXPECT_LE(element[1] - '0', level + 1) << i;
    level = element[1] - '0';
  }
  EXPECT_EQ(std::count(page.elements.begin(), page.elements.end(), "h1"), 1);
  const auto pictures = std::count_if(page.attributes.begin(), page.attributes.end(), [](const Attribute& a) {
    return a.element == "svg" && a.name == "role" && a.value == "img";
  });
  EXPECT_EQ(std::count(page.elements.begin(), page.elements.end(), "desc"), pictures);
}

TEST_P(HtmlReports, AreTheSameEveryTime) { EXPECT_EQ(Html(GetParam().make()), Html(GetParam().make())); }

INSTANTIATE_TEST_SUITE_P(Runs, HtmlReports, testing::ValuesIn(RunKinds()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(HtmlReport, SaysTheAnswerBeforeAnythingElse) {
  const std::string html = Html(ClearWin());
  EXPECT_THAT(html, HasSubstr("<h1>sample-suite</h1>\n<section class=\"answer\">\n<h2>Which one? "
                              "<strong>fast.</strong></h2>\n<p>fast is ahead of slow on 3 cases"));
  const std::array<const char*, 8> order = {"Which one?",           "<dt>Correct</dt>", "<h2>Speedup",
                                            "<table id=\"cases\">", "<h2>Roof",         "<h2>Host time again",
                                            "<h2>How it was ",      "<h2>Not measured"};
  for (size_t i = 1; i < order.size(); ++i) EXPECT_LT(html.find(order[i - 1]), html.find(order[i])) << i;
}

TEST(HtmlReport, FoldsHowItWasMeasured) {
  const std::string html = Html(HandMadeRun());
  const std::string details =
      html.substr(html.find("<details>"), html.find("</details>") - html.find("<details>"));
  for (const char* text :
       {"<dt>CPU</dt><dd>Example CPU</dd>", "<dt>instruction set</dt><dd>avx2</dd>", "<dt>launches</dt>",
        "<code>pagoda bench sample-suite --seed 2026</code>", "<code>runs/x/records.jsonl</code>"}) {
    EXPECT_THAT(details, HasSubstr(text));
  }
}

TEST(HtmlReport, SaysWarningsWithTheirNextStep) {
  EXPECT_THAT(
      Html(Interrupted()),
      HasSubstr("<li>29 of 36 planned launches have no record. <em>Next:</em> Run the command again"));
}

TEST(HtmlReport, HostileTextStaysText) {
  const std::string hostile = "<script>alert(1)</script>\" onload='x' &amp; ]]> --> </style>\n\x01";
  const std::string harmless =
      "&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&#39;x&#39; &amp;amp; ]]&gt; --&gt; &lt;/style&gt; "
      " ";
  SampleRun run = HandMadeRun();
  const auto rename = [&hostile](std::string& name) { name += hostile; };
  Manifest& m = run.manifest;
  for (std::string* text : {&m.suite, &m.baseline, &m.command_line, &m.time, &m.environment.cpu,
                            &m.environment.git_commit, &m.variants[0], &m.cases[0].name, &m.cases[0].dtype,
                            &m.cases[0].cache, &m.not_measured[0], &run.verdict.baseline}) {
    rename(*text);
  }
  m.environment.git_dirty = true;
  m.unsupported = {{hostile, hostile, hostile}};
  run.records.gates[0].passed = false;
  rename(run.records.gates[0].fault);
  for (Contrast& contrast : run.verdict.contrasts) {
    rename(contrast.baseline);
    rename(contrast.cases[0].case_name);
    rename(contrast.cases[2].device.why);
    rename(contrast.cases[2].device.next);
  }
  for (Figures& f : run.verdict.figures) {
    if (f.variant == "slow") rename(f.variant);
    if (f.case_name == "b1_s128_bf16_decode") rename(f.case_name);
  }
  rename(run.verdict.next);
  run.verdict.differences[0].case_name = hostile;
  rename(run.verdict.recommendation.sentences[0]);
  const Crossover crossover{
      .below = m.variants[0], .above = "fast", .at = {1.5, 1.2, 1.8}, .first = 1, .last = 2};
  run.verdict.sweeps = {{.name = hostile,
                         .axis = hostile,
                         .points = {{m.cases[0].name, 1, {m.variants[0]}}, {m.cases[1].name, 2, {"fast"}}},
                         .duels = {{.a = m.variants[0],
                                    .b = "fast",
                                    .course = Course::kCrosses,
                                    .ahead = {},
                                    .crossovers = {crossover}}}}};

  const std::string html = HtmlReport(run.AsReplay(), {.records = hostile, .reports = {}});
  EXPECT_THAT(html, HasSubstr("<h1>sample-suite" + harmless + "</h1>"));
  EXPECT_THAT(html, HasSubstr("<code>b1_s128_bf16_decode" + harmless + "</code>"));
  EXPECT_THAT(html, HasSubstr("<h3>Over " + harmless + ": <code>" + harmless + "</code></h3>"));
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(html, Not(HasSubstr("onload='")));
  const Page page(html);
  EXPECT_THAT(page.faults, IsEmpty());
  EXPECT_EQ(std::count(page.elements.begin(), page.elements.end(), "script"), 1);
  for (const Attribute& a : page.attributes) EXPECT_NE(a.name, "onload");
}

TEST(HtmlReport, LeavesTheRooflineOutWithoutCeilings) {
  SampleRun run = ClearWin();
  EXPECT_THAT(Html(run), HasSubstr("memory, runs of 4.00 KiB: 20.0 GB/s"));
  EXPECT_THAT(Html(run), HasSubstr("arithmetic, bf16: 100 GFLOP/s"));
  run.manifest.ceilings.bandwidth.clear();
  EXPECT_THAT(Html(run), HasSubstr("so there is no roofline."));
  run.manifest.ceilings.compute.clear();
  EXPECT_THAT(Html(run), HasSubstr("so there is no roofline."));
}

TEST(HostPlot, HasShortLabels) {
  EXPECT_THAT(Html(ClearWin()), HasSubstr("<p class=\"x-title\">device time, µs</p>"));
  SampleRun run = ClearWin();
  for (Figures& f : run.verdict.figures) f.device_us *= 1e4, f.host_us *= 1e4;
  EXPECT_THAT(Html(run), HasSubstr("<p class=\"x-title\">device time, ms</p>"));
}

TEST(ForestPlot, SaysThatNothingWasTimed) {
  EXPECT_THAT(Html(NothingTimed()), HasSubstr("<p>Nothing was timed, so there is no speedup to draw.</p>"));
  EXPECT_THAT(Html(OneVariant()), HasSubstr("<p>Only one variant was measured, so there is no speedup"));
}

// What is drawn of a variant on a case of HandMadeRun whose speedup is `ratio`.
std::string Drawn(const Estimate& ratio) {
  SampleRun run = HandMadeRun();
  run.verdict.contrasts[0].cases[0].device.speedup = ratio;
  const std::string html = Html(run);
  EXPECT_THAT(Page(html).faults, IsEmpty());
  const size_t from = html.find("<use href=\"#ground\"/>");
  return html.substr(from, html.find("</svg>", from) - from);
}

TEST(ForestPlot, MarksTheVerdictOnItsInterval) {
  EXPECT_THAT(Drawn({1.25, 1.23, 1.27}), HasSubstr("<g class=\"WIN\"><line x1="));
  EXPECT_THAT(Drawn({1.25, 1.23, 1.27}), HasSubstr("<use href=\"#m-WIN\""));
}

TEST(ForestPlot, DrawsNoIntervalWithoutBounds) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const Estimate& unbounded : {Estimate{1.25, 0, kInf}, Estimate{1.25, 0, 2}, Estimate{1.25, 1, kInf},
                                    Estimate{1.25, -kInf, kInf}}) {
    EXPECT_THAT(Drawn(unbounded), Not(HasSubstr("<line")));
    EXPECT_THAT(Drawn(unbounded), HasSubstr("<use href=\"#m-WIN\""));
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(Drawn({nan, nan, nan}), Not(HasSubstr("m-WIN")));
}

TEST(ForestPlot, AnIntervalThatLeavesThePictureHasAnArrow) {
  EXPECT_THAT(Drawn({1.25, 1.23, 1.27}), Not(HasSubstr("#m-more")));
  EXPECT_THAT(Drawn({1.25, 0.001, 900}), testing::AllOf(HasSubstr("#m-less"), HasSubstr("#m-more")));
}

TEST(ForestPlot, DrawsNothingOfAWrongResult) {
  const std::string html = Html(GateFailed());
  EXPECT_THAT(html, HasSubstr("<b class=\"INVALID\">INV</b> no speedup</span>"));
  EXPECT_THAT(html, Not(HasSubstr("<g class=\"INVALID\">")));
}

TEST(HtmlReport, TwoHundredCasesOfFiveVariantsFitTwoMegabytes) {
  std::vector<std::string> cases;
  for (int i = 0; i < 200; ++i) {
    cases.push_back("b16_h32_kv8_s" + std::to_string(4096 + i) + "_bs64_hd128_bf16_decode");
  }
  SampleRun run;
  run.manifest = SampleManifest(cases,
                                {"gather", "spmd_paged_attention", "spmd_paged_attention_highperf",
                                 "paged_attention_unroll", "paged_attention_unroll_4dims"},
                                2);
  run.records.gates = SampleGates(run.manifest);
  for (const std::string& name : cases) {
    for (int launch = 0; launch < 2; ++launch) {
      run.records.launches.push_back(SampleLaunch(run.manifest, name, launch,
                                                  {{"gather", 20},
                                                   {"spmd_paged_attention", 12},
                                                   {"spmd_paged_attention_highperf", 9},
                                                   {"paged_attention_unroll", 11},
                                                   {"paged_attention_unroll_4dims", 11}},
                                                  0.002));
    }
  }
  run.verdict = Judge(run.manifest, run.records);
  EXPECT_LT(Html(run).size(), 2'000'000u);
}

}  // namespace
}  // namespace pagoda::judge
