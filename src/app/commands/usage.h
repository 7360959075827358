// What every command line has in common: global options, and errors that say what was meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/commands/command.h"
#include "pagoda/status.h"

namespace CLI {
class Option;
}

namespace pagoda::app {

// -q, -v and --threads, on the program and on each of its commands, so that they may stand anywhere.
void AddGlobalOptions(CLI::App& app, CommandContext& context);

// --program NAME=COMMAND, any number of times.
void AddProgramOption(CLI::App& command, std::vector<std::string>& programs);

// A comma-separated list, which may be given again. What follows the value is another argument, and no item
// may be empty.
CLI::Option* AddListOption(CLI::App& command, const std::string& name, std::vector<std::string>& list,
                           const std::string& help);

// Of all options and arguments: an empty value is a variable of a script that isn't set, and isn't taken for
// an option that isn't given.
void RefuseEmptyValues(CLI::App& app);

// The subcommands that help and completion show.
std::vector<const CLI::App*> ShownCommands(const CLI::App& app);

// The sentence for a command line that CLI11 refused with `complaint`: unknown commands and options get
// "did you mean", everything gets the --help to look at.
std::string UsageError(const CLI::App& app, std::string_view complaint);

// The exit code that an error of the library stands for.
int ExitCodeOf(ErrorCode code);

}  // namespace pagoda::app
