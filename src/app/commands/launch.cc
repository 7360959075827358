// `pagoda launch`: a plan of the bench on standard input, records on standard output. Hidden: only `pagoda
// bench` calls it, so that every launch is a fresh process.
#include "app/commands/launch.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "app/commands/command.h"
#include "app/commands/usage.h"
#include "app/subjects/attention_subject.h"
#include "app/subjects/case_suite.h"
#include "app/subjects/outside.h"
#include "app/subjects/selftest.h"
#include "base/sys/clock.h"
#include "base/sys/environment.h"
#include "base/sys/process.h"
#include "judge/bench/child.h"
#include "judge/bench/environment.h"
#include "judge/bench/process_runner.h"

namespace pagoda::app {
namespace {

judge::ChildPlan ReadPlan() {
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  judge::ChildPlan plan = judge::ParseChildPlan(text, "plan");
  std::visit([](auto& p) { CompleteCase(p.spec); }, plan);
  return plan;
}

// Libraries of others may print; what they say must not get between the lines that the bench reads.
void Answer() {
  std::FILE* const out = sys::TakeStandardOutput();
  const auto plan = std::get<judge::GatePlan>(ReadPlan());
  fmt::print(out, "{}\n",
             AnswerOutside([&] { return AttentionSubject().WhyNot(plan.spec, plan.runs.at(0).variant); }));
  std::fflush(out);
}

void Serve(judge::Subject& subject, const std::string& mark_path) {
  std::FILE* const out = sys::TakeStandardOutput();
  const judge::ChildPlan plan = ReadPlan();
  judge::MarkFile mark(mark_path);
  sys::EnvironmentMeter meter;
  judge::ServePlan(plan, {.subject = subject,
                          .now_ns = sys::NowNs,
                          .clock_resolution_ns = sys::MeasureClock().resolution_ns,
                          .sample_environment = [&] { return judge::SampleOf(meter.Read()); },
                          .write_line =
                              [out](std::string_view line) {
                                fmt::print(out, "{}\n", line);
                                std::fflush(out);
                              },
                          .mark = [&](std::string_view variant) { mark.Write(variant); }});
}

}  // namespace

std::vector<std::string> AskCommand() { return {sys::OwnProgram(), "launch", "--ask"}; }

std::vector<std::string> LaunchCommand(const std::vector<ProgramCommand>& programs) {
  std::vector<std::string> command = {sys::OwnProgram(), "launch"};
  for (const ProgramCommand& program : programs) {
    command.insert(command.end(), {"--program", program.AsOption()});
  }
  command.emplace_back("--mark");
  return command;
}

std::vector<std::string> SelftestLaunchCommand(const std::string& variant) {
  return {sys::OwnProgram(), "launch", "--selftest", variant, "--mark"};
}

void AddLaunch(CLI::App& app, CommandContext& context) {
  struct Options {
    std::string mark, selftest;
    std::vector<std::string> programs;
    bool ask = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* launch = app.add_subcommand("launch", "One launch of a bench in a fresh process");
  launch->group("");
  CLI::Option* mark =
      launch->add_option("--mark", options->mark, "File that holds the name of the variant that runs");
  CLI::Option* selftest =
      launch->add_option("--selftest", options->selftest, "Time the self-test's arms beside this variant");
  CLI::Option* ask = launch->add_flag("--ask", options->ask, "Only say whether a variant computes a case");
  selftest->needs(mark);
  ask->excludes(mark);
  AddProgramOption(*launch, options->programs);
  launch->callback([options, mark, &context] {
    if (mark->empty() && !options->ask) throw CLI::RequiredError("--mark or --ask");
    if (options->ask) {
      Answer();
    } else if (!options->selftest.empty()) {
      SelftestSubject subject(options->selftest);
      Serve(subject, options->mark);
    } else {
      AttentionSubject subject(ParsePrograms(options->programs));
      Serve(subject, options->mark);
    }
    context.exit_code = kDone;
  });
}

}  // namespace pagoda::app
