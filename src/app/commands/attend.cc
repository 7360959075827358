// `pagoda attend`: one problem from a case file.
#include "app/subjects/attend.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/commands/command.h"
#include "app/commands/console.h"
#include "app/commands/usage.h"
#include "base/sys/file.h"
#include "judge/report/numbers.h"
#include "judge/report/text.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

using nlohmann::json;

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> variants;
  std::string out;
  std::string make_golden;
  std::string out_dtype = "f32";
  bool check = false;
  bool time = false;
  bool json = false;
};

// What came of one file.
struct FileOutcome {
  std::string file;
  int exit_code = kDone;
  std::string error_field, error;  // when the file could not be used
  AttendResult result;
};

// Bad input hides nothing behind it, a wrong variant outweighs an unsupported case.
int Worse(int a, int b) {
  constexpr int kOrder[] = {kIoOrInternal, kBadInput, kGateFailed, kCannotRun};
  for (const int code : kOrder) {
    if (a == code || b == code) return code;
  }
  return kDone;
}

void WriteOutput(const std::string& path, CaseOperator op, const AttendResult& result) {
  if (result.output == nullptr) return;
  std::vector<io::SafetensorsTensor> tensors;
  const auto add = [&](const char* name, const TensorView& t) {
    if (t.empty()) return;
    tensors.push_back(
        {name,
         io::ToSafetensorsType(t.dtype),
         {t.shape.begin(), t.shape.begin() + t.rank},
         {static_cast<const std::byte*>(t.data), static_cast<size_t>(t.elements() * SizeOf(t.dtype))}});
  };
  add("o", result.output->out());
  add("lse", result.output->lse());
  io::WriteSafetensors(path, tensors,
                       {{"operator", std::string(NameOf(op))}, {"variant", result.written_by}});
}

void RunFile(const Options& options, const CommandContext& context, Kernels& kernels, FileOutcome& outcome) {
  const std::filesystem::path path = outcome.file;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw Error(ErrorCode::kInvalidArgument, "CASE", "does not exist; give the path of a safetensors file");
  }
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error(ErrorCode::kInvalidArgument, "CASE", "is a directory; give the path of a safetensors file");
  }
  for (const auto& [option, file] :
       {std::pair{"--out", &options.out}, {"--make-golden", &options.make_golden}}) {
    if (!file->empty() && std::filesystem::equivalent(path, *file, ignored)) {
      throw Error(ErrorCode::kInvalidArgument, option,
                  "is the CASE itself, which it would replace; give another file");
    }
    if (!file->empty()) const sys::OutputFile probe(*file);  // an unwritable one is said before the work
  }
  const CaseFile c = CaseFile::Open(path);
  if (!options.make_golden.empty()) {
    c.WriteWithGolden(options.make_golden, kernels.Pool(context.Threads()));
    if (!options.check && !options.time && options.out.empty()) return;
  }
  AttendOptions attend;
  attend.variants = options.variants;
  attend.check = options.check;
  attend.time = options.time;
  attend.out_dtype = options.out_dtype == "f32"   ? DType::kF32
                     : options.out_dtype == "f16" ? DType::kF16
                                                  : DType::kBF16;
  attend.threads = context.Threads();
  outcome.result = Attend(c, kernels, attend);
  if (!options.out.empty()) WriteOutput(options.out, c.op(), outcome.result);
  if (outcome.result.AnyFailed()) {
    outcome.exit_code = kGateFailed;
  } else if (!outcome.result.AnySupports()) {
    outcome.exit_code = kCannotRun;
  }
}

std::string Verdict(const AttendRow& row, bool checked) {
  if (row.why_not) return "not supported";
  if (!row.fault.empty()) return "WRONG";
  return checked ? "ok" : "done";
}

json RowJson(const AttendRow& row, bool checked) {
  json j = {{"variant", row.variant}, {"supported", !row.why_not}, {"verdict", Verdict(row, checked)}};
  if (row.why_not) j["reason"] = *row.why_not;
  if (!row.fault.empty()) j["fault"] = row.fault;
  if (row.comparison) {
    const double error = row.comparison->max_abs_error;
    j["max_abs_error"] = std::isfinite(error) ? json(error) : json(nullptr);
    j["compared"] = row.comparison->compared;
    j["outside"] = row.comparison->outside;
    j["worst"] = DescribeElement(*row.comparison);
  }
  if (row.host_us) j["host_us"] = *row.host_us;
  if (row.device_us) j["device_us"] = *row.device_us;
  return j;
}

void PrintJson(const std::vector<FileOutcome>& outcomes, const Options& options) {
  json files = json::array();
  for (const FileOutcome& o : outcomes) {
    json file = {{"file", o.file}, {"exit_code", o.exit_code}, {"variants", json::array()}};
    if (!o.error.empty()) file["error"] = {{"field", o.error_field}, {"message", o.error}};
    for (const AttendRow& row : o.result.rows) file["variants"].push_back(RowJson(row, options.check));
    files.push_back(std::move(file));
  }
  const json report = {{"schema", 1}, {"files", files}};
  fmt::print("{}\n", report.dump(2, ' ', false, json::error_handler_t::replace));
}

void PrintTable(const FileOutcome& outcome, const Options& options) {
  if (outcome.result.rows.empty()) return;
  const bool colour = UsesColour(stdout);
  judge::Table table{{{"variant"}, {""}}, {}};
  if (options.check) {
    table.columns.push_back({"largest error", true});
    table.columns.push_back({"where"});
  }
  if (options.time) {
    table.columns.push_back({"host", true});
    table.columns.push_back({"device", true});
  }
  for (const AttendRow& row : outcome.result.rows) {
    const judge::Ink ink = row.why_not         ? judge::Ink::kDoubt
                           : row.fault.empty() ? judge::Ink::kGood
                                               : judge::Ink::kBad;
    std::vector<judge::Cell> cells = {{row.variant}, {Verdict(row, options.check), ink}};
    if (options.check) {
      cells.push_back({row.comparison ? judge::Scientific(row.comparison->max_abs_error) : "-"});
      cells.push_back({row.comparison ? DescribeElement(*row.comparison) : "-"});
    }
    if (options.time) {
      cells.push_back({row.host_us ? judge::Micros(*row.host_us) : "-"});
      cells.push_back({row.device_us ? judge::Micros(*row.device_us) : "-"});
    }
    table.rows.push_back(std::move(cells));
  }
  fmt::print("{}\n{}", judge::OneLine(outcome.file), judge::PlainTable(table, "  ", colour));
  for (const AttendRow& row : outcome.result.rows) {
    if (row.why_not) fmt::print("  {}: {}\n", row.variant, judge::OneLine(*row.why_not));
    if (!row.fault.empty()) fmt::print("  {}: {}\n", row.variant, judge::OneLine(row.fault));
  }
}

int RunAttend(Options& options, const CommandContext& context) {
  if (options.files.size() > 1) {
    for (const auto& [name, value] :
         {std::pair{"--out", options.out}, std::pair{"--make-golden", options.make_golden}}) {
      if (value.empty()) continue;
      throw Error(ErrorCode::kInvalidArgument, name,
                  fmt::format("takes one CASE, but {} are given; run them one by one", options.files.size()));
    }
  }
  if (options.variants == std::vector<std::string>{"all"}) options.variants.clear();
  for (const std::string& name : options.variants) {
    if (std::count(options.variants.begin(), options.variants.end(), name) > 1) {
      throw Error(ErrorCode::kInvalidArgument, "--variant", fmt::format("names \"{}\" twice", name));
    }
  }
  Kernels kernels(*pagoda_kernel_library());
  for (const std::string& name : options.variants) kernels.CheckName(name);
  std::vector<FileOutcome> outcomes;
  int exit_code = kDone;
  for (const std::string& file : options.files) {
    FileOutcome& outcome = outcomes.emplace_back();
    outcome.file = file;
    try {
      RunFile(options, context, kernels, outcome);
    } catch (const Error& error) {
      outcome.exit_code = ExitCodeOf(error.code());
      outcome.error_field = error.field();
      outcome.error = error.what();
      // Errors of the reader name the file already.
      const bool named = outcome.error.find(file) != std::string::npos;
      PrintError(named ? outcome.error : fmt::format("{}: {}", file, outcome.error));
    }
    exit_code = Worse(exit_code, outcome.exit_code);
    if (!options.json) PrintTable(outcome, options);
    outcome.result.output.reset();  // the next file needs the memory
  }
  if (options.json) PrintJson(outcomes, options);
  return exit_code;
}

}  // namespace

void AddAttend(CLI::App& app, CommandContext& context) {
  const std::map<std::string, DType> dtypes = {
      {"f32", DType::kF32}, {"f16", DType::kF16}, {"bf16", DType::kBF16}};
  const auto options = std::make_shared<Options>();
  CLI::App* attend = app.add_subcommand("attend", "Run one attention problem from a case file");
  attend->add_option("CASE", options->files, "Safetensors files, one problem each")->required();
  AddListOption(*attend, "--variant", options->variants, "Variants, comma-separated (default: all)")
      ->type_name("NAME");
  attend->add_flag("--check", options->check, "Compare every element with the expectation in the file");
  attend->add_option("--out", options->out, "Write o and lse of the first variant that supports the case")
      ->type_name("FILE");
  attend->add_option("--out-dtype", options->out_dtype, "Of the output (default f32)")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}).description(""))
      ->type_name("f32|f16|bf16");
  attend->add_flag("--time", options->time, "Time warm calls: host (plan and run) and device");
  attend
      ->add_option("--make-golden", options->make_golden, "Write the case with what the fp64 oracle expects")
      ->type_name("FILE");
  attend->add_flag("--json", options->json, "One JSON object instead of tables");
  attend->footer(
      "Examples:\n"
      "  pagoda attend case.safetensors --check\n"
      "  pagoda attend case.safetensors --variant spmd_paged_attention_highperf --out result.safetensors\n"
      "Exit codes, the worst of several files: 0 all variants that support it pass, 2 a file is invalid, 3 "
      "a\n"
      "variant is wrong, 5 no variant supports it, 6 I/O or internal error.");
  attend->callback([options, &context] { context.exit_code = RunAttend(*options, context); });
}

}  // namespace pagoda::app
