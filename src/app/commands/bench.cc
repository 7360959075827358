// `pagoda bench`: every variant proven right, then timed against the others, then a verdict.
#include "app/commands/bench.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "app/commands/command.h"
#include "app/commands/console.h"
#include "app/commands/explain.h"
#include "app/commands/launch.h"
#include "app/commands/measuring.h"
#include "app/commands/report.h"
#include "app/commands/suite_source.h"
#include "app/commands/usage.h"
#include "app/subjects/attention_subject.h"
#include "app/subjects/kernel_library.h"
#include "app/subjects/machine_store.h"
#include "app/subjects/outside.h"
#include "app/subjects/program.h"
#include "base/hash.h"
#include "base/shell_words.h"
#include "base/suggest.h"
#include "base/sys/machine_lock.h"
#include "base/sys/process.h"
#include "engine/simd/ceilings.h"
#include "engine/simd/isa.h"
#include "judge/bench/code_watch.h"
#include "judge/bench/environment.h"
#include "judge/bench/facts.h"
#include "judge/bench/predict.h"
#include "judge/bench/process_runner.h"
#include "judge/bench/session.h"
#include "judge/record/jsonl.h"
#include "judge/report/numbers.h"
#include "judge/report/text.h"
#include "judge/verdict/overall.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

using nlohmann::json;

struct BenchOptions {
  std::string suite, trace, budget, delta, lock = "wait";
  std::string baseline_lib;
  judge::Selection selection;
  std::vector<std::string> programs, fail_on;
  int launches = 0;
  uint64_t seed = 2026;
  bool dry_run = false, json = false;
  RunDirectory run;
  FitnessOptions fitness;
};

// What the run would cost on a nominal machine, cut to the budget as the run would be.
void PrintDryRun(const judge::RunSetup& setup, const BenchOptions& options, double delta, double budget_s) {
  const judge::NominalMachine nominal;
  const auto [costs, schedule] = judge::Predict(setup, options.launches, budget_s);
  json list = json::array();
  judge::Table table{
      {{"case"}, {"bytes", true}, {"memory", true}, {"MFLOP", true}, {"weight", true}, {"predicted", true}},
      {}};
  for (size_t i = 0; i < setup.cases.size(); ++i) {
    const judge::CaseSpec& spec = setup.cases[i];
    const judge::CaseFacts& facts = setup.facts[i];
    const double predicted_s = judge::LaunchSeconds(costs[i], schedule.protocol) * schedule.launches;
    list.push_back({{"case", spec.name},
                    {"bytes", facts.bytes},
                    {"memory_bytes", facts.memory_bytes},
                    {"flops", facts.flops},
                    {"weight", spec.weight},
                    {"predicted_s", predicted_s}});
    table.rows.push_back({{spec.name},
                          {judge::Bytes(facts.bytes)},
                          {judge::Bytes(facts.memory_bytes)},
                          {judge::Significant(facts.flops / 1e6)},
                          {judge::Significant(spec.weight)},
                          {judge::Elapsed(predicted_s)}});
  }
  if (options.json) {
    fmt::print("{}\n", json({{"schema", 1},
                             {"suite", setup.suite},
                             {"variants", setup.variants},
                             {"baseline", setup.baseline},
                             {"launches", schedule.launches},
                             {"delta", delta},
                             {"blocks", schedule.protocol.blocks},
                             {"budget_s", budget_s},
                             {"fits_budget", schedule.fits},
                             {"left_out", setup.left_out},
                             {"cases", list},
                             {"predicted_s", schedule.predicted_s}})
                           .dump(2));
    return;
  }
  fmt::print("{}", judge::PlainTable(table, "", UsesColour(stdout)));
  fmt::print(
      "{}, baseline {}; {} of each case; about {} for a machine of {:g} GB/s and {:g} GFLOP/s, "
      "without the gate\n",
      judge::Counted(std::ssize(setup.variants), "variant", "variants"), setup.baseline,
      judge::Counted(schedule.launches, "launch", "launches"), judge::Elapsed(schedule.predicted_s),
      nominal.gb_per_s, nominal.gflop_per_s);
  if (!schedule.note.empty()) {
    fmt::print("to fit the budget of {}: {}\n", judge::DurationText(budget_s), schedule.note);
  }
  for (const std::string& cut : setup.left_out) fmt::print("not run: {}\n", cut);
  for (const judge::Unsupported& u : setup.unsupported) {
    fmt::print("not run: {} {}: {}\n", u.case_name, u.variant, u.reason);
  }
}

// --budget, else the suite's own, which gives way to --launches.
double BudgetOf(const BenchOptions& options, const judge::RunSetup& setup) {
  if (!options.budget.empty()) return judge::ParseDuration(options.budget, "--budget");
  return options.launches > 0 ? 0 : setup.budget_s;
}

// With --launches, since a budget that cuts these leaves no other trace of them.
std::string BudgetText(double budget_s, int launches) {
  if (budget_s <= 0) return "none";
  const std::string budget = judge::DurationText(budget_s);
  return launches > 0 ? fmt::format("{} with --launches {}", budget, launches) : budget;
}

// --delta, else what is known to be no difference: two builds of one source differ by where their code lies
// (docs/decisions/0009).
double DeltaOf(const BenchOptions& options) {
  if (!options.delta.empty()) return judge::ParseShare(options.delta, "--delta");
  return options.baseline_lib.empty() ? 0.01 : 0.02;
}

// With --baseline-lib the variant of the older library is the baseline of the one that --variants names.
judge::Selection SelectionOf(const BenchOptions& options) {
  judge::Selection selection = options.selection;
  if (options.baseline_lib.empty()) return selection;
  if (!selection.baseline.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "--baseline-lib",
                "already says what the baseline is; leave --baseline away");
  }
  if (selection.variants.size() != 1 || selection.variants.front() == "all") {
    throw Error(ErrorCode::kInvalidArgument, "--baseline-lib",
                "judges one variant of two builds: name it by --variants NAME");
  }
  selection.baseline = InLibrary(options.baseline_lib, selection.variants.front());
  if (selection.baseline == selection.variants.front()) {
    throw Error(ErrorCode::kInvalidArgument, "--baseline-lib",
                fmt::format("= {} is what --variants names; give another build of it", options.baseline_lib));
  }
  selection.variants.insert(selection.variants.begin(), selection.baseline);
  return selection;
}

class Bench {
 public:
  Bench(const BenchOptions& options, const CommandContext& context)
      : options_(options),
        context_(context),
        fail_on_(ParseFailOn(options.fail_on)),
        delta_(DeltaOf(options)),
        programs_(ParsePrograms(options.programs)),
        subject_(programs_, AskCommand()),
        source_(OpenSuite(options.suite, options.trace)),
        setup_(judge::MakeSetup(source_.suite, WithPrograms(SelectionOf(options), programs_), subject_)),
        budget_s_(BudgetOf(options, setup_)),
        rerun_wait_s_(options.fitness.WaitSeconds()) {
    options.run.RequireGiven();
    judge::CutBatches(setup_, subject_, options.launches, budget_s_);
  }

  int Run() {
    if (options_.dry_run) {
      PrintDryRun(setup_, options_, delta_, budget_s_);
      return kDone;
    }
    RequireRunnable(setup_);
    if (!OwnTensorsHold(source_, setup_.variants, context_.Threads())) return kGateFailed;
    if (!setup_.choosers.empty() && !UseMachineModel(false, context_.quiet, options_.lock))
      return CodeOfNoRun();
    judge::Manifest manifest = Define();
    subject_.StopPrograms();
    session_.directory = options_.run.out.empty() ? std::filesystem::path("runs") / manifest.run_id
                                                  : std::filesystem::path(options_.run.out);
    session_.launches = options_.launches;
    session_.budget_s = budget_s_;
    session_.protocol = setup_.Protocol(manifest.launches);
    session_.resume = options_.run.resume;
    RequireFitDirectory(manifest);
    for (const std::string& cut : setup_.left_out) Warn(cut);
    CatchStops();
    sys::MachineLock lock;
    if (!TakeLock(lock, "bench " + options_.suite, options_.lock) || !MeasureMachine(manifest))
      return CodeOfNoRun();
    judge::SessionResult result;
    try {
      result = Measure(std::move(manifest));
    } catch (const Error&) {  // a full disk, say
      SayHowToGoOn("stopped by an error");
      throw;
    }
    if (!result.interrupted) return Report(result);
    SayHowToGoOn("interrupted");
    return kInterrupted;
  }

 private:
  // All of the manifest that needs no measuring.
  judge::Manifest Define() {
    judge::Manifest manifest = judge::ManifestOf(setup_);
    manifest.run_id = fmt::format("{}-{}", judge::UtcTimeForFileName(), setup_.suite);
    manifest.launches = judge::LaunchesToRun(setup_, options_.launches);
    manifest.delta = delta_;
    manifest.seed = options_.seed;
    manifest.threads = context_.Threads();
    manifest.settings["budget"] = BudgetText(budget_s_, options_.launches);
    if (!manifest.choosers.empty()) {
      manifest.settings["machine_model"] =
          fmt::format("{:016x}", HashOf(EncodeMachine(CurrentMachineModel(), ThisMachine())));
    }
    manifest.time = judge::UtcTime();
    manifest.command_line = CommandLineHere(context_.argv);
    manifest.not_measured = judge::NotMeasured(setup_, manifest.threads);
    std::vector<std::filesystem::path> code = {sys::OwnProgram(), KernelLibraryPath(0), KernelLibraryPath(1)};
    for (const std::string& variant : setup_.variants) {
      const std::optional<OutsideVariant> outside = ParseOutside(variant);
      if (!outside) continue;
      AddFile(outside->library, code);
      if (variant != setup_.baseline) continue;
      const SecondLink null_arm = SecondLinkOf(outside->library);
      AddFile(null_arm.path, code);
      if (null_arm.copied) {
        manifest.not_measured.push_back(
            fmt::format("what a new build alone changes: the null arm of {} is a copy of its file, with the "
                        "same code at the same "
                        "offsets",
                        variant));
      }
    }
    for (const ProgramCommand& program : programs_) AddProgram(program, manifest, code);
    if (!programs_.empty()) {
      manifest.not_measured.emplace_back(
          "inputs in private memory with huge pages: all variants read them from shared memory, as programs "
          "must");
    }
    watch_.emplace(code);
    manifest.code = watch_->files();
    manifest.environment = judge::ReadEnvironmentFacts(manifest.code);
    manifest.environment.isa = NameOf(ActiveIsa());
    return manifest;
  }

  // Once, though several variants may come from it.
  static void AddFile(const std::filesystem::path& file, std::vector<std::filesystem::path>& code) {
    if (std::find(code.begin(), code.end(), file) == code.end()) code.push_back(file);
  }

  // The program, what its being one means for the results, and the files of its code: the one that is started
  // and, since that may be an interpreter, the first further word that is a file.
  void AddProgram(const ProgramCommand& program, judge::Manifest& manifest,
                  std::vector<std::filesystem::path>& code) const {
    manifest.programs.push_back({program.name, program.command, subject_.AboutProgram(program.name)});
    manifest.not_measured.push_back(fmt::format(
        "{} within the process of the others: it ran in one of its own ({}), paired with them in time, "
        "by its own clock, and its planning isn't timed",
        program.name, program.command));
    if (program.name == setup_.baseline) {
      manifest.not_measured.push_back(
          fmt::format("what a new build changes: the null arm of {} is a second process of the same command",
                      program.name));
    }
    AddFile(sys::FindProgram(program.argv.front()), code);
    std::error_code ignored;
    const auto script = std::find_if(program.argv.begin() + 1, program.argv.end(), [&](const auto& word) {
      return std::filesystem::is_regular_file(word, ignored);
    });
    if (script != program.argv.end()) AddFile(*script, code);
  }

  // What is wrong with the directory, or with the records of a run to resume, is said before the ceilings are
  // measured.
  void RequireFitDirectory(const judge::Manifest& manifest) const {
    const auto recorded = judge::OpenRunDirectory(session_, manifest);
    const std::filesystem::path records = session_.directory / judge::kRecordsFile;
    std::error_code ignored;
    if (recorded && std::filesystem::exists(records, ignored)) {
      judge::Judge(*recorded, judge::ReadRecords(records));
    }
  }

  // The machine's fitness and ceilings into the manifest. False: it is unfit and --strict, or a stop.
  bool MeasureMachine(judge::Manifest& manifest) {
    const std::optional<judge::Fitness> fitness =
        FitMachine(options_.fitness, [this](const std::string& text) { Warn(text); });
    if (!fitness) return false;
    session_.limits = judge::LimitsOn(*fitness, {});
    if (fitness->unfit) {
      manifest.not_measured.push_back(fmt::format("a quiet machine: at the start {}", *fitness->unfit));
    }
    // A resumed run keeps the ceilings that it began with.
    if (!options_.run.resume) manifest.ceilings = ToRecord(MeasureCeilings(QuickCeilings(manifest.threads)));
    return !Stopped();
  }

  judge::SessionResult Measure(judge::Manifest manifest) {
    judge::ProcessRunner processes(LaunchCommand(programs_), session_.directory / "launch.mark", Stopped);
    judge::WatchedRunner runner(processes, *watch_);
    const judge::SessionHooks hooks{
        .runner = runner,
        .stop = Stopped,
        .now_s = NowSeconds,
        .before_rerun = [this] { WaitForQuiet(); },
        .progress = [this](std::string_view phase,
                           const judge::ExecutionProgress& p) { ShowProgress(phase, p); },
        .note = [this](const std::string& note) { Warn(note); }};
    judge::SessionResult result = judge::RunSession(setup_, std::move(manifest), session_, hooks);
    progress_.reset();
    return result;
  }

  // The launches of a run wait no longer together than its start may.
  void WaitForQuiet() {
    if (rerun_wait_s_ <= 0) return;
    const judge::Fitness fitness = WaitForFitness(rerun_wait_s_, session_.limits, {});
    rerun_wait_s_ -= fitness.waited_s + kFitSpan;
  }

  void ShowProgress(std::string_view phase, const judge::ExecutionProgress& p) {
    if (phase != phase_) {
      progress_.emplace(phase, p.total - p.done, context_.quiet);
      phase_ = phase;
      shown_ = p.done - 1;
    }
    // A launch that is run again is no step of its own.
    for (; shown_ < p.done; ++shown_) progress_->Step(p.case_name);
  }

  void Warn(const std::string& text) {
    progress_.reset();
    phase_.clear();
    if (!context_.quiet) PrintWarning(text);
  }

  void SayHowToGoOn(std::string_view what_happened) {
    progress_.reset();
    PrintWarning(fmt::format("{}; what was measured is kept. Go on with: {}", what_happened,
                             options_.run.CommandToGoOn(context_.argv, session_.directory)));
  }

  int Report(const judge::SessionResult& result) const {
    const SavedRun run = LoadRun(session_.directory);
    std::vector<std::string> written = WriteReports(run);
    std::transform(written.begin(), written.end(), written.begin(), QuotedWord);
    fmt::print("{}", ReportText({run}, options_.json ? ReportFormat::kJson : ReportFormat::kTerminal,
                                UsesColour(stdout)));
    if (!options_.json) fmt::print("Reports: {}\n", fmt::join(written, " · "));
    const int code = BenchExitCode(run.verdict, fail_on_);
    return code == kDone && result.nothing_to_time ? kCannotRun : code;
  }

  const BenchOptions& options_;
  const CommandContext& context_;
  FailOn fail_on_;
  double delta_;
  std::vector<ProgramCommand> programs_;
  AttentionSubject subject_;
  SuiteSource source_;
  judge::RunSetup setup_;
  double budget_s_;
  double rerun_wait_s_;
  judge::SessionOptions session_;
  std::optional<judge::CodeWatch> watch_;
  std::optional<Progress> progress_;
  std::string phase_;
  int64_t shown_ = 0;
};

}  // namespace

FailOn ParseFailOn(const std::vector<std::string>& conditions) {
  static const std::vector<std::string> known = {"loss", "inconclusive"};
  FailOn fail_on;
  for (const std::string& condition : conditions) {
    if (condition == known[0]) {
      fail_on.loss = true;
    } else if (condition == known[1]) {
      fail_on.inconclusive = true;
    } else {
      throw Error(ErrorCode::kInvalidArgument, "--fail-on",
                  fmt::format("\"{}\" is none of {}{}", condition, fmt::join(known, ", "),
                              DidYouMean(condition, known)));
    }
  }
  return fail_on;
}

int BenchExitCode(const judge::RunVerdict& run, const FailOn& fail_on) {
  bool invalid = run.gates_passed + run.gates_missing < run.gates_total, loss = false;
  bool inconclusive = run.verdict == judge::Verdict::kInconclusive;
  const auto look = [&](const judge::Outcome& outcome) {
    invalid = invalid || outcome.verdict == judge::Verdict::kInvalid;
    loss = loss || outcome.verdict == judge::Verdict::kLoss;
    inconclusive = inconclusive || outcome.verdict == judge::Verdict::kInconclusive;
  };
  for (const judge::Contrast& contrast : run.contrasts) {
    look(contrast.overall);
    for (const judge::CaseVerdict& c : contrast.cases) look(c.device);
  }
  invalid = invalid || run.verdict == judge::Verdict::kInvalid;
  if (invalid) return kGateFailed;
  if (fail_on.loss && loss) return kConditionFailed;
  if (fail_on.inconclusive && inconclusive) return kInconclusive;
  return kDone;
}

judge::Ceilings ToRecord(const MachineCeilings& measured) {
  judge::Ceilings ceilings;
  for (const ReadCeiling& r : measured.read) {
    ceilings.bandwidth.push_back({static_cast<double>(r.run_bytes), r.threads, r.gb_per_s.median});
  }
  for (const FlopCeiling& f : measured.flops) {
    ceilings.compute.push_back({f.isa, f.dtype, f.threads, f.gflop_per_s.median});
  }
  return ceilings;
}

void AddBench(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App* bench =
      app.add_subcommand("bench", "Prove variants right, time them against each other, and decide");
  bench->add_option("SUITE", options->suite, "Name of a built-in suite, a TOML file, or a case file")
      ->required();
  AddListOption(
      *bench, "--variants", options->selection.variants,
      "Variants, comma-separated; the first is the baseline unless --baseline (default: the suite's)")
      ->type_name("A,B,...");
  bench
      ->add_option("--baseline", options->selection.baseline, "The variant that the others are compared with")
      ->type_name("NAME");
  bench
      ->add_option("--baseline-lib", options->baseline_lib,
                   "Another build of libpagoda_kernels.so, or a plug-in: its variant is the baseline of the "
                   "same one here")
      ->type_name("OLD.so");
  AddProgramOption(*bench, options->programs);
  bench->add_option("--only", options->selection.only, "Cases whose name this regular expression (RE2) finds")
      ->type_name("REGEX");
  bench->add_option("--trace", options->trace, kTraceHelp)->type_name("FILE");
  bench->add_flag("--cold", options->selection.cold, "Every case with cold caches, whatever the suite says");
  bench->add_flag("--warm", options->selection.warm, "Every case with warm caches; with --cold: both");
  bench
      ->add_option("--launches", options->launches,
                   "Fresh processes for each case (default: 12, or what many cases need to be decided)")
      ->type_name("J")
      ->check(CLI::Range(1, 1000));
  bench
      ->add_option(
          "--budget", options->budget,
          "Shorten the run to about this time: 300, 90s, 5m, 1h30m (default: the suite's, else none)")
      ->type_name("TIME");
  bench
      ->add_option("--delta", options->delta,
                   "Smallest difference that matters (default: 1%, with --baseline-lib 2%)")
      ->type_name("SHARE");
  AddSeedOption(*bench, options->seed, "Of inputs and of every random order (default: 2026)");
  bench->add_option("--out", options->run.out, "Directory for records and reports (default: runs/DATE-SUITE)")
      ->type_name("DIR");
  bench->add_flag("--resume", options->run.resume, "Go on with the interrupted run in --out DIR");
  bench->add_flag("--dry-run", options->dry_run, "Only show cases, bytes, FLOPs and a predicted time");
  AddListOption(*bench, "--fail-on", options->fail_on,
                "Fail on loss (exit code 1) or inconclusive (exit code 4)")
      ->type_name("loss,inconclusive");
  AddFitnessOptions(*bench, options->fitness);
  AddLockOption(*bench, options->lock);
  bench->add_flag("--json", options->json, "The report as one JSON object");
  bench->footer(
      "Examples:\n"
      "  pagoda bench seed-paged-attention --budget 5m\n"
      "  pagoda bench llm --variants gather,spmd_paged_attention_highperf --only 's4096.*decode' --fail-on "
      "loss\n"
      "  pagoda bench serving --trace azure.csv --budget 10m\n"
      "  pagoda bench smoke --variants spmd_paged_attention_highperf --baseline-lib "
      "../old/libpagoda_kernels.so\n"
      "  pagoda bench smoke --variants gather --program mine='python3 examples/external.py'\n"
      "A variant is a name of `pagoda list variants`, a shared library, ./mine.so or ./mine.so:name "
      "(docs/plugins.md),\nor the name of a --program (docs/external-variants.md).\n"
      "A budget is met by fewer blocks first, then by fewer launches, neither below what a verdict needs, "
      "then "
      "by\n"
      "smaller batches where the suite allows that (least_batch).\n"
      "Exit codes: 0 done, 1 --fail-on loss, 2 bad usage or input, 3 a wrong result, a crash or a hang, 4 "
      "--fail-on\n"
      "inconclusive, 5 it can't run here, 6 I/O or internal error, 130 interrupted.");
  bench->callback([options, &context] { context.exit_code = Bench(*options, context).Run(); });
}

}  // namespace pagoda::app
