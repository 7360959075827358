// `pagoda explain`: the terms of the cost model and what `auto` takes.
#include "app/commands/explain.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "app/commands/command.h"
#include "app/commands/console.h"
#include "app/commands/measuring.h"
#include "app/commands/suite_source.h"
#include "app/subjects/case_file.h"
#include "app/subjects/hstu_inputs.h"
#include "app/subjects/machine_store.h"
#include "app/subjects/softmax_inputs.h"
#include "base/sys/machine_lock.h"
#include "engine/attention/choice.h"
#include "judge/bench/case_name.h"
#include "judge/report/numbers.h"
#include "judge/report/text.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

using nlohmann::json;

// One variant of one case.
struct Weighed {
  std::string variant;
  Work work;
  Traffic traffic;
  Cost cost;
};

struct Explained {
  std::string name;
  std::string by;                 // "auto" or "hstu_auto"
  std::vector<Weighed> variants;  // the cheapest first
};

template <typename PlanImpl>
Explained Describe(std::string name, std::string by, const std::vector<Candidate<PlanImpl>>& candidates) {
  Explained explained{std::move(name), std::move(by), {}};
  for (const Candidate<PlanImpl>& c : candidates) {
    explained.variants.push_back({std::string(c.plan->variant->name), c.plan->work, c.plan->traffic, c.cost});
  }
  return explained;
}

Explained Explain(std::string name, const SoftmaxBatch& batch, int threads) {
  return Describe(std::move(name), "auto", SoftmaxCandidates(Normalise(batch), threads));
}

Explained Explain(std::string name, const HstuBatch& batch, int threads) {
  return Describe(std::move(name), "hstu_auto", HstuCandidates(Normalise(batch), threads, {}));
}

Explained Explain(const judge::CaseSpec& spec, int threads) {
  if (judge::IsHstu(spec.op)) return Explain(spec.name, HstuShape(spec).batch, threads);
  return Explain(spec.name, ShapeOnly(spec).batch, threads);
}

// "b1_..." or "hstu_b1_...", and no path: a suite may begin with a b too.
bool LooksLikeACaseName(std::string_view what) {
  if (what.find_first_of("./") != std::string_view::npos) return false;
  if (what.starts_with("hstu_")) what.remove_prefix(5);
  return what.size() > 1 && what[0] == 'b' && std::isdigit(static_cast<unsigned char>(what[1])) != 0;
}

// What is to be explained: a case file, or cases, one by its name or all of a suite.
using Subject = std::variant<CaseFile, std::vector<judge::CaseSpec>>;

Subject OpenSubject(const std::string& what) {
  if (what.ends_with(".safetensors")) return CaseFile::Open(what);
  if (!LooksLikeACaseName(what)) return OpenSuite(what, "").suite.cases;
  judge::CaseSpec spec = judge::ParseCaseName(what);
  judge::CheckCase(spec);
  return std::vector{std::move(spec)};
}

std::vector<Explained> ExplainAll(const Subject& subject, const std::string& name, int threads) {
  if (const auto* file = std::get_if<CaseFile>(&subject)) {
    return {std::visit([&](const auto& problem) { return Explain(name, problem.batch, threads); },
                       file->problem())};
  }
  std::vector<Explained> all;
  for (const judge::CaseSpec& spec : std::get<std::vector<judge::CaseSpec>>(subject))
    all.push_back(Explain(spec, threads));
  return all;
}

std::string Time(double ns) { return judge::Significant(ns / 1e3) + " µs"; }

// How far the first is ahead of the second, in words; empty without a second.
std::string Lead(const Explained& e) {
  if (e.variants.size() < 2) return "";
  return fmt::format("{:.2f}x ahead of {}", e.variants[1].cost.total_ns / e.variants[0].cost.total_ns,
                     e.variants[1].variant);
}

void PrintOne(const Explained& e, const MachineModel& machine, int threads) {
  const bool colour = UsesColour(stdout);
  const Weighed& first = e.variants.front();
  fmt::print("{}\n", judge::OneLine(e.name));
  fmt::print("{} takes {}: {} by the model on {}, {}\n\n", e.by,
             judge::Inked(first.variant, judge::Ink::kBold, colour), Time(first.cost.total_ns),
             judge::Counted(threads, "thread", "threads"), Lead(e));
  judge::Table times{{{"variant"},
                      {"memory", true},
                      {"arithmetic", true},
                      {"moves", true},
                      {"overhead", true},
                      {"total", true},
                      {""}},
                     {}};
  judge::Table counts{{{"variant"},
                       {"from memory", true},
                       {"in runs of", true},
                       {"moved", true},
                       {"within", true},
                       {"MFLOP", true},
                       {"rows", true},
                       {"tasks", true},
                       {"pieces", true},
                       {"busiest thread", true}},
                      {}};
  for (const Weighed& w : e.variants) {
    times.rows.push_back({{w.variant},
                          {Time(w.cost.memory_ns)},
                          {Time(w.cost.arithmetic_ns)},
                          {Time(w.cost.moves_ns)},
                          {Time(w.cost.overhead_ns)},
                          {Time(w.cost.total_ns)},
                          {w.work.overlaps ? "memory beside the rest" : "one by one"}});
    const auto bytes = [](int64_t n) { return judge::Bytes(static_cast<double>(n)); };
    counts.rows.push_back({{w.variant},
                           {bytes(w.work.memory_bytes)},
                           {bytes(w.work.run_bytes)},
                           {bytes(w.work.moved_bytes)},
                           {bytes(w.work.moved_within)},
                           {judge::Significant(w.work.flops / 1e6)},
                           {judge::Count(w.work.rows)},
                           {judge::Count(w.traffic.tasks)},
                           {judge::Count(w.work.pieces)},
                           {fmt::format("{:.0f}%", 100 * w.work.busiest_share)}});
  }
  fmt::print("{}\n{}\n", judge::PlainTable(times, "", colour), judge::PlainTable(counts, "", colour));
  fmt::print(
      "{}",
      judge::Wrapped(
          fmt::format(
              "Rates of this machine: memory {} to {} GB/s on {}, copies {} GB/s within {} and "
              "{} within {}, a launch {} ns, a task {} ns, a piece {} ns.",
              judge::Significant(machine.read.front().all), judge::Significant(machine.read.back().all),
              judge::Counted(machine.threads, "thread", "threads"), judge::Significant(machine.near_copy),
              judge::Bytes(static_cast<double>(machine.near_bytes)), judge::Significant(machine.far_copy),
              judge::Bytes(static_cast<double>(machine.far_bytes)), judge::Significant(machine.launch_ns),
              judge::Significant(machine.task_ns), judge::Significant(machine.piece_ns)),
          100, "", ""));
}

void PrintSeveral(const std::vector<Explained>& all) {
  judge::Table table{{{"case"}, {"taken"}, {"total", true}, {"by the model"}}, {}};
  for (const Explained& e : all)
    table.rows.push_back(
        {{e.name}, {e.variants.front().variant}, {Time(e.variants.front().cost.total_ns)}, {Lead(e)}});
  fmt::print("{}", judge::PlainTable(table, "", UsesColour(stdout)));
}

void PrintJson(const std::vector<Explained>& all, int threads) {
  json cases = json::array();
  for (const Explained& e : all) {
    json variants = json::array();
    for (const Weighed& w : e.variants) {
      variants.push_back({{"variant", w.variant},
                          {"memory_ns", w.cost.memory_ns},
                          {"arithmetic_ns", w.cost.arithmetic_ns},
                          {"moves_ns", w.cost.moves_ns},
                          {"overhead_ns", w.cost.overhead_ns},
                          {"total_ns", w.cost.total_ns},
                          {"overlaps", w.work.overlaps},
                          {"memory_bytes", w.work.memory_bytes},
                          {"run_bytes", w.work.run_bytes},
                          {"moved_bytes", w.work.moved_bytes},
                          {"moved_within", w.work.moved_within},
                          {"flops", w.work.flops},
                          {"rows", w.work.rows},
                          {"tasks", w.traffic.tasks},
                          {"launches", w.traffic.launches},
                          {"pieces", w.work.pieces},
                          {"busiest_share", w.work.busiest_share}});
    }
    cases.push_back(
        {{"case", e.name}, {"by", e.by}, {"taken", e.variants.front().variant}, {"variants", variants}});
  }
  const json machine = json::parse(EncodeMachine(CurrentMachineModel(), ThisMachine()));
  fmt::print("{}\n",
             json({{"schema", 1}, {"threads", threads}, {"machine", machine}, {"cases", cases}}).dump(2));
}

}  // namespace

bool UseMachineModel(bool measure, bool quiet, const std::string& lock_how) {
  std::optional<MachineModel> model = measure ? std::nullopt : StoredMachine();
  if (!model) {
    sys::MachineLock lock;
    if (!TakeLock(lock, "rates for auto", lock_how)) return false;
    if (!measure) model = StoredMachine();  // whoever was waited for may have measured them
    if (!model) {
      if (!quiet) PrintNotice("measuring this machine's rates once, in some seconds");
      model = MeasureMachine(static_cast<int>(ThisMachine().cpus));
      StoreMachine(*model);
      if (!quiet) PrintNotice(fmt::format("kept in {}", MachineFile()->string()));
    }
  }
  SetMachineModel(*model);
  return true;
}

void AddExplain(CLI::App& app, CommandContext& context) {
  struct Options {
    std::string what, lock = "wait";
    bool measure = false, json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* explain = app.add_subcommand(
      "explain", "What `auto` takes for a case, and the terms of the cost model behind it");
  explain
      ->add_option("CASE", options->what,
                   "A case name, a case file, or a suite, for a line on each of its cases")
      ->required();
  explain->add_flag("--measure", options->measure,
                    "Measure the machine's rates again, which are kept otherwise");
  explain->add_flag("--json", options->json, "One JSON object instead of tables");
  AddLockOption(*explain, options->lock);
  explain->footer(
      "Examples:\n"
      "  pagoda explain b1_h16_kv8_s4096_bs64_hd128_bf16_decode\n"
      "  pagoda explain hstu-paged\n"
      "The rates are measured once and kept in pagoda/machine.json in the user's cache folder, or in the "
      "file\n"
      "that PAGODA_MACHINE names.");
  explain->callback([options, &context] {
    const Subject subject = OpenSubject(options->what);  // what is wrong with it is said before any waiting
    if (!UseMachineModel(options->measure, context.quiet, options->lock)) {
      context.exit_code = CodeOfNoRun();
      return;
    }
    const int threads = context.Threads();
    const std::vector<Explained> all = ExplainAll(subject, options->what, threads);
    if (options->json) {
      PrintJson(all, threads);
    } else if (all.size() == 1) {
      PrintOne(all.front(), CurrentMachineModel(), threads);
    } else {
      PrintSeveral(all);
    }
  });
}

}  // namespace pagoda::app
