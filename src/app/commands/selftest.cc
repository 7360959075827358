// `pagoda selftest`: the bench judged by what is known beforehand.
#include "app/subjects/selftest.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/command.h"
#include "app/commands/console.h"
#include "app/commands/launch.h"
#include "app/commands/measuring.h"
#include "app/commands/report.h"
#include "app/commands/selftest_report.h"
#include "app/commands/usage.h"
#include "app/subjects/kernel_library.h"
#include "app/subjects/planted_faults.h"
#include "base/sys/process.h"
#include "engine/simd/isa.h"
#include "judge/bench/case_name.h"
#include "judge/bench/code_watch.h"
#include "judge/bench/facts.h"
#include "judge/bench/process_runner.h"
#include "judge/bench/session.h"
#include "judge/record/jsonl.h"
#include "judge/stats/power.h"
#include "judge/verdict/single.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGateDirectory = "gate";

struct SelftestOptions {
  std::string variant = "spmd_paged_attention_highperf";
  // A call of some microseconds, so that slowdowns can be planted by whole calls; and one on cold caches.
  std::vector<std::string> cases = {"b1_h4_kv2_s64_bs16_hd64_bf16_decode_warm",
                                    "b1_h16_kv8_s1024_bs64_hd128_bf16_decode"};
  std::string lock = "wait", format = "terminal";
  int runs = 10, launches = judge::kDefaultLaunches;
  uint64_t seed = 2026;
  bool json = false;
  RunDirectory run;
  FitnessOptions fitness;
};

judge::Suite SuiteOf(const std::vector<std::string>& names) {
  judge::Suite suite;
  suite.name = "selftest";
  suite.about = "arms whose verdict is known beforehand";
  for (const std::string& name : names) suite.cases.push_back(judge::ParseCaseName(name));
  return suite;
}

class Selftest {
 public:
  Selftest(const SelftestOptions& options, const CommandContext& context)
      : options_(options),
        context_(context),
        subject_(std::string(FindVariant(SoftmaxVariants(), options.variant).name)),
        setup_(judge::MakeSetup(SuiteOf(options.cases), {}, subject_)),
        directory_(options.run.out.empty() ? fs::path("runs") / (judge::UtcTimeForFileName() + "-selftest")
                                           : fs::path(options.run.out)) {
    options.run.RequireGiven();
    result_.variant = options.variant;
    result_.launches = options.launches;
    result_.seed = options.seed;
    result_.threads = context.Threads();
    result_.records = directory_.string();
    for (const judge::CaseSpec& spec : setup_.cases) {
      for (const PlantedArm& arm : PlantedArms()) {
        if (setup_.Supports(spec.name, arm.name)) result_.rows.emplace_back(spec.name, arm);
      }
    }
  }

  int Run() {
    result_.environment = judge::ReadEnvironmentFacts(watch_.files());
    result_.environment.isa = NameOf(ActiveIsa());
    OpenDirectory();
    CatchStops();
    sys::MachineLock lock;
    if (!TakeLock(lock, "selftest", options_.lock) || !WaitForMachine()) return CodeOfNoRun();
    try {
      RunGates();
      for (int run = 0; run < options_.runs && !Stopped(); ++run) RunOnce(run);
    } catch (const Error& e) {
      if (e.code() == ErrorCode::kIo) SayHowToGoOn("stopped by an error");  // a full disk, say
      throw;
    }
    if (Stopped()) {
      SayHowToGoOn("interrupted");
      return kInterrupted;
    }
    progress_.reset();
    fmt::print("{}", options_.json || options_.format == "json"
                         ? SelftestJson(result_)
                         : SelftestText(result_, options_.format == "markdown", UsesColour(stdout)));
    return SelftestExitCode(result_);
  }

 private:
  judge::ProcessRunner Processes() const {
    return {SelftestLaunchCommand(options_.variant), directory_ / "launch.mark", Stopped};
  }

  // Says before any waiting what is wrong with the directory.
  void OpenDirectory() const {
    std::error_code error;
    const bool exists = fs::exists(directory_ / kGateDirectory, error);
    if (exists && !options_.run.resume) {
      throw Error(ErrorCode::kInvalidArgument, "--out",
                  fmt::format("= {} holds a self-test already: go on with it by --resume, or give another "
                              "directory",
                              directory_.string()));
    }
    if (!exists && options_.run.resume) {
      throw Error(
          ErrorCode::kInvalidArgument, "--resume",
          fmt::format("finds no self-test in {}; leave it away to start one there", directory_.string()));
    }
    fs::create_directories(directory_ / kGateDirectory, error);
    if (error) {
      throw Error(ErrorCode::kIo, "--out",
                  fmt::format("= {} can't be made: {}", directory_.string(), error.message()));
    }
  }

  bool WaitForMachine() {
    const auto fitness = FitMachine(options_.fitness, [this](const std::string& text) {
      if (!context_.quiet) PrintWarning(text);
    });
    if (fitness) limits_ = judge::LimitsOn(*fitness, {});
    return fitness.has_value();
  }

  // Every wrong variant, and the right one, on every small case that tells them apart.
  void RunGates() {
    std::vector<judge::GateCase> cases;
    for (const judge::CaseSpec& spec : PlantedFaultCases()) {
      judge::GateCase c{spec, {options_.variant}, judge::GateTimeout(subject_.Facts(spec))};
      for (std::string& wrong : WrongVariants()) {
        if (!subject_.WhyNot(spec, wrong)) c.variants.push_back(std::move(wrong));
      }
      cases.push_back(std::move(c));
    }
    const fs::path file = directory_ / kGateDirectory / judge::kRecordsFile;
    std::error_code ignored;
    const judge::Records earlier = fs::exists(file, ignored) ? judge::ReadRecords(file) : judge::Records();
    judge::RecordWriter writer(file);
    judge::ProcessRunner processes = Processes();
    judge::WatchedRunner runner(processes, watch_);
    progress_.emplace("gate", cases.size(), context_.quiet);
    std::string shown;
    judge::RunGate("selftest-gate", cases, context_.Threads(), earlier.gates,
                   {.runner = runner,
                    .append = [&](const judge::GateRecord& record) { writer.Append(record); },
                    .stop = Stopped,
                    .progress =
                        [&](int64_t, int64_t, std::string_view name) {
                          if (shown != name) progress_->Step(name);
                          shown = name;
                        }});
    progress_.reset();
    ScoreGates(cases, judge::ReadRecords(file).gates);
  }

  void ScoreGates(const std::vector<judge::GateCase>& cases, const std::vector<judge::GateRecord>& records) {
    for (const judge::GateCase& c : cases) {
      for (const std::string& variant : c.variants) {
        std::string fault;
        for (const judge::GateRecord& record : records) {
          const bool ours = record.case_name == c.spec.name && record.variant == variant;
          if (ours && !record.passed && fault.empty()) fault = record.fault;
        }
        const bool is_right = variant == options_.variant;
        const bool as_it_should = is_right == fault.empty();
        ++(is_right ? result_.gates.right : result_.gates.wrong);
        if (as_it_should) ++(is_right ? result_.gates.passed : result_.gates.caught);
        if (!as_it_should) {
          result_.gates.mistakes.push_back(
              fmt::format("{} {}: {}", c.spec.name, variant, is_right ? fault : "passed the gate"));
        }
      }
    }
  }

  // One run of the bench, as a user would start it, into a directory of its own.
  void RunOnce(int run) {
    judge::Manifest manifest = judge::ManifestOf(setup_);
    manifest.run_id = fmt::format("selftest-{:04}", run + 1);
    manifest.launches = options_.launches;
    manifest.delta = kSelftestDeltas.front();
    manifest.seed = options_.seed + static_cast<uint64_t>(run);
    manifest.threads = context_.Threads();
    manifest.time = judge::UtcTime();
    manifest.command_line = CommandLineHere(context_.argv);
    manifest.environment = result_.environment;
    manifest.code = watch_.files();
    judge::SessionOptions session;
    session.directory = directory_ / fmt::format("run-{:04}", run + 1);
    session.launches = manifest.launches;
    session.limits = limits_;
    std::error_code ignored;
    session.resume = options_.run.resume && fs::exists(session.directory / judge::kManifestFile, ignored);
    judge::ProcessRunner processes = Processes();
    judge::WatchedRunner runner(processes, watch_);
    const judge::SessionHooks hooks{
        .runner = runner,
        .stop = Stopped,
        .now_s = NowSeconds,
        .before_rerun = {},
        .progress = [&](std::string_view phase,
                        const judge::ExecutionProgress& p) { ShowProgress(run, phase, p); },
        .note = [](const std::string&) {}};
    if (judge::RunSession(setup_, manifest, session, hooks).interrupted) return;
    const SavedRun saved = LoadRun(session.directory);
    for (SelftestRow& row : result_.rows) AddTo(row, saved);
    ++result_.runs;
  }

  static void AddTo(SelftestRow& row, const SavedRun& saved) {
    judge::SingleRun single = judge::OnlyContrast(saved.manifest, saved.records, row.case_name, row.arm.name);
    for (size_t i = 0; i < kSelftestDeltas.size(); ++i) {
      single.manifest.delta = kSelftestDeltas[i];
      const judge::RunVerdict verdict = judge::Judge(single.manifest, single.records);
      const judge::CaseVerdict& outcome = verdict.contrasts.at(0).cases.at(0);
      row.device[i].Add(outcome.device);
      row.host[i].Add(outcome.host);
    }
  }

  void ShowProgress(int run, std::string_view phase, const judge::ExecutionProgress& p) {
    if (phase != "launches") return;
    if (!progress_) progress_.emplace("launches", (options_.runs - run) * p.total, context_.quiet);
    if (std::exchange(last_shown_, std::pair(run, p.done)) != std::pair(run, p.done)) {
      progress_->Step(fmt::format("run {} of {}", run + 1, options_.runs));
    }
  }

  void SayHowToGoOn(std::string_view what_happened) {
    progress_.reset();
    PrintWarning(fmt::format("{}; what was measured is kept. Go on with: {}", what_happened,
                             options_.run.CommandToGoOn(context_.argv, directory_)));
  }

  const SelftestOptions& options_;
  const CommandContext& context_;
  SelftestSubject subject_;
  judge::RunSetup setup_;
  fs::path directory_;
  judge::CodeWatch watch_{
      {sys::OwnProgram(), KernelLibraryPath(0), KernelLibraryPath(1), KernelLibraryPath(2)}};
  judge::EnvironmentLimits limits_;
  SelftestResult result_;
  std::optional<Progress> progress_;
  std::pair<int, int64_t> last_shown_ = {-1, -1};
};

}  // namespace

void AddSelftest(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<SelftestOptions>();
  CLI::App* command =
      app.add_subcommand("selftest", "Judge the bench itself by arms whose verdict is known beforehand");
  command->add_option("--runs", options->runs, "Runs of the bench; each takes some 40 s (default: 10)")
      ->type_name("N")
      ->check(CLI::Range(1, 9999));
  command->add_option("--launches", options->launches, "Fresh processes of each case in a run (default: 12)")
      ->type_name("J")
      ->check(CLI::Range(1, 1000));
  command
      ->add_option("--variant", options->variant,
                   "The variant that is planted (default: " + options->variant + ")")
      ->type_name("NAME");
  AddListOption(
      *command, "--cases", options->cases,
      "Cases by name, comma-separated (default: a short call on warm caches and a long one on cold ones)")
      ->type_name("A,B,...");
  AddSeedOption(*command, options->seed, "Of the first run; each next one adds 1 (default: 2026)");
  command->add_option("--out", options->run.out, "Directory for the records (default: runs/DATE-selftest)")
      ->type_name("DIR");
  command->add_flag("--resume", options->run.resume, "Go on with the interrupted self-test in --out DIR");
  AddFitnessOptions(*command, options->fitness);
  AddLockOption(*command, options->lock);
  auto* format = command->add_option("--format", options->format, "Of the report (default: terminal)")
                     ->check(CLI::IsMember({"terminal", "markdown", "json"}).description(""))
                     ->type_name("terminal|markdown|json");
  command->add_flag("--json", options->json, "The same as --format json")->excludes(format);
  command->footer(
      "Examples:\n"
      "  pagoda selftest\n"
      "  pagoda selftest --runs 60 --format markdown --out runs/selftest > table.md\n"
      "Arms: the same function again, the same code in a third link, and the same function slowed down by "
      "0.5, 1, 2, "
      "3 and\n"
      "5% by making some calls twice. Wrong variants, one for each planted fault, must fail the gate. An "
      "arm's "
      "verdict is\n"
      "that of a bench of two variants. Rates have 95% intervals (Clopper and Pearson).\n"
      "Exit codes: 0 done, 1 more than 2% of an arm's verdicts contradict the truth (the interval's lower "
      "end), 2 "
      "bad usage,\n"
      "3 the gate passed a wrong variant or failed a right one, 5 it can't run here, 6 I/O or internal "
      "error, 130 "
      "interrupted.");
  command->callback([options, &context] { context.exit_code = Selftest(*options, context).Run(); });
}

}  // namespace pagoda::app
