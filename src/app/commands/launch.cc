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

#include "app/commands/command.h"
#include "app/subjects/softmax.h"
#include "base/sys/clock.h"
#include "base/sys/environment.h"
#include "base/sys/process.h"
#include "judge/bench/child.h"
#include "judge/bench/environment.h"
#include "judge/bench/process_runner.h"

namespace pagoda::app {
namespace {

void Serve(const std::string& mark_path) {
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  const judge::ChildPlan plan = judge::ParseChildPlan(text, "plan");
  judge::MarkFile mark(mark_path);
  SoftmaxSubject subject;
  sys::EnvironmentMeter meter;
  judge::ServePlan(plan, {.subject = subject,
                          .now_ns = sys::NowNs,
                          .clock_resolution_ns = sys::MeasureClock().resolution_ns,
                          .sample_environment = [&] { return judge::SampleOf(meter.Read()); },
                          .write_line =
                              [](std::string_view line) {
                                fmt::print("{}\n", line);
                                std::fflush(stdout);
                              },
                          .mark = [&](std::string_view variant) { mark.Write(variant); }});
}

}  // namespace

std::vector<std::string> LaunchCommand() { return {sys::OwnProgram(), "launch", "--mark"}; }

void AddLaunch(CLI::App& app, CommandContext& context) {
  const auto mark = std::make_shared<std::string>();
  CLI::App* launch = app.add_subcommand("launch", "One launch of a bench in a fresh process");
  launch->group("");
  launch->add_option("--mark", *mark, "File that holds the name of the variant that runs")->required();
  launch->callback([mark, &context] {
    Serve(*mark);
    context.exit_code = kDone;
  });
}

}  // namespace pagoda::app
