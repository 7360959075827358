#include "app/commands/usage.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "base/suggest.h"
#include "base/sys/affinity.h"
#include "pagoda/thread_pool.h"

namespace pagoda::app {
namespace {

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : ShownCommands(app)) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// The command that the line got to before it went wrong.
const CLI::App& Deepest(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : Deepest(*parsed.back());
}

std::string FullName(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : FullName(*app.get_parent()) + " " + app.get_name();
}

}  // namespace

std::vector<const CLI::App*> ShownCommands(const CLI::App& app) {
  std::vector<const CLI::App*> commands = app.get_subcommands(std::function<bool(const CLI::App*)>());
  std::erase_if(commands, [](const CLI::App* command) { return command->get_group().empty(); });
  return commands;
}

int CommandContext::Threads() const { return threads > 0 ? threads : DefaultThreads(); }

void CommandContext::RequireFewThreads() const {
  constexpr int kMostPerCpu = 8;
  const int cpus = static_cast<int>(sys::AllowedCpus().size());
  if (Threads() <= kMostPerCpu * cpus) return;
  throw Error(ErrorCode::kInvalidArgument, threads > 0 ? "--threads" : "PAGODA_THREADS",
              fmt::format("= {} is more than {} for each CPU that the process may use, of which there {} {}",
                          Threads(), kMostPerCpu, cpus == 1 ? "is" : "are", cpus));
}

void AddGlobalOptions(CLI::App& app, CommandContext& context) {
  app.add_flag("-q,--quiet", context.quiet, "No progress, no warnings");
  app.add_flag("-v,--verbose", context.verbose, "More detail (gate: every row of a long table)");
  app.add_option("--threads", context.threads,
                 "Threads to compute with (default: PAGODA_THREADS, else all CPUs)")
      ->type_name("N")
      ->check(CLI::Range(1, ThreadPool::kMaxThreads));
  for (CLI::App* command : app.get_subcommands(std::function<bool(CLI::App*)>()))
    AddGlobalOptions(*command, context);
}

void AddProgramOption(CLI::App& command, std::vector<std::string>& programs) {
  command
      .add_option("--program", programs,
                  "An external program as a variant NAME (docs/external-variants.md); may be given again")
      ->type_name("NAME=COMMAND")
      ->allow_extra_args(false);
}

CLI::Option* AddListOption(CLI::App& command, const std::string& name, std::vector<std::string>& list,
                           const std::string& help) {
  const auto split = [&list, name](const std::vector<std::string>& texts) {
    list.clear();
    for (const std::string& text : texts) {
      for (std::string& item : CLI::detail::split(text, ',')) list.push_back(std::move(item));
      if (text.ends_with(',')) list.emplace_back();
    }
    if (std::find(list.begin(), list.end(), "") != list.end()) {
      throw CLI::ValidationError(name, "has an empty item between its commas");
    }
  };
  return command.add_option_function<std::vector<std::string>>(name, split, help)->allow_extra_args(false);
}

void RefuseEmptyValues(CLI::App& app) {
  for (CLI::Option* option :
       app.get_options([](const CLI::Option* o) { return o->get_items_expected_min() > 0; })) {
    option->check([](const std::string& value) { return value.empty() ? "must not be empty" : ""; });
  }
  for (CLI::App* command : app.get_subcommands(std::function<bool(CLI::App*)>())) RefuseEmptyValues(*command);
}

std::string UsageError(const CLI::App& app, std::string_view complaint) {
  const CLI::App& command = Deepest(app);
  const std::string help = fmt::format("; see `{} --help`", FullName(command));
  const std::vector<std::string> extras = app.remaining(true);
  if (extras.empty()) return fmt::format("{}{}", complaint, help);
  const std::string& first = extras.front();
  if (first.size() > 1 && first.front() == '-') {
    const std::string name = first.substr(0, first.find('='));
    return fmt::format("{} is not an option of `{}`{}{}", name, FullName(command),
                       DidYouMean(name, OptionNames(command)), help);
  }
  const std::vector<std::string> commands = CommandNames(command);
  if (commands.empty()) return fmt::format("`{}` takes no argument \"{}\"{}", FullName(command), first, help);
  return fmt::format("\"{}\" is not a command of `{}`{}{}", first, FullName(command),
                     DidYouMean(first, commands), help);
}

int ExitCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return kBadInput;
    case ErrorCode::kUnsupported:
      return kCannotRun;
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return kIoOrInternal;
  }
  return kIoOrInternal;
}

}  // namespace pagoda::app
