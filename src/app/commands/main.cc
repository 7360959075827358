// The `pagoda` program: parses the command line, runs one command, turns errors into exit codes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/command.h"
#include "app/commands/console.h"
#include "app/commands/usage.h"
#include "base/io/json.h"
#include "base/io/shown.h"
#include "base/sys/process.h"
#include "engine/simd/isa.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

// In the order of --help.
void AddCommands(CLI::App& app, CommandContext& context) {
  AddMachine(app, context);
  AddList(app, context);
  AddAttend(app, context);
  AddExplain(app, context);
  AddGate(app, context);
  AddBench(app, context);
  AddReport(app, context);
  AddSelftest(app, context);
  AddCompletion(app, context);
  AddMan(app, context);
  AddLaunch(app, context);
}

// The exit code, once all that was printed has gone out: a full disk must not pass for success.
int AfterFlush(int code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  PrintError(fmt::format("standard output can't be written{}{}; what was printed is not complete",
                         errno != 0 ? ": " : "", errno != 0 ? std::strerror(errno) : ""));
  return code == kDone ? static_cast<int>(kIoOrInternal) : code;
}

int Main(int argc, const char* const* argv) {
  CommandContext context;
  context.argv.assign(argv, argv + argc);
  CLI::App app("Paged attention on CPUs: kernels, and a bench that decides between them.", "pagoda");
  app.set_version_flag("--version", "pagoda " PAGODA_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  pagoda list suites\n"
      "  pagoda attend case.safetensors --check\n"
      "`pagoda COMMAND --help` tells more. Exit codes: 0 done, 1 the asked-for condition failed, 2 bad usage "
      "or\n"
      "input, 3 a correctness gate failed, 4 inconclusive, 5 can't run here, 6 I/O or internal error, 130 "
      "interrupted.");
  // Records, reports and the plans of launches hold the command line, as JSON.
  std::vector<std::string> recorded = context.argv;
  if (const char* kernels = std::getenv("PAGODA_KERNELS")) recorded.emplace_back(kernels);
  for (const std::string& text : recorded) {
    if (io::IsUtf8(text)) continue;
    PrintError(fmt::format("{}: is not UTF-8, as all that Pagoda records is", io::Shown(text)));
    return kBadInput;
  }
  AddCommands(app, context);
  AddGlobalOptions(app, context);
  RefuseEmptyValues(app);
  // A wrong PAGODA_ISA or PAGODA_THREADS is bad input of any command, not a fault of a kernel or a file.
  app.parse_complete_callback([&context] {
    ActiveIsa();
    context.RequireFewThreads();
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help and --version
    return AfterFlush(app.exit(e));
  } catch (const CLI::ParseError& e) {
    PrintError(UsageError(app, e.what()));
    return kBadInput;
  } catch (const Error& e) {
    PrintError(e.what());
    return ExitCodeOf(e.code());
  } catch (const std::exception& e) {
    const bool printing = std::ferror(stdout) != 0;
    PrintError(
        fmt::format("{}: {}", printing ? "standard output can't be written" : "internal error", e.what()));
    return kIoOrInternal;
  }
  return AfterFlush(context.exit_code);
}

}  // namespace
}  // namespace pagoda::app

int main(int argc, char** argv) {
  pagoda::sys::ReserveStandardStreams();
  pagoda::sys::LetLargeWritesFail();
  return pagoda::app::Main(argc, argv);
}
