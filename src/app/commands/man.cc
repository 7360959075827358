// `pagoda man` (hidden): the manual page, made from the commands and options that there are, and from their
// --help. Installed by cmake --install.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/commands/command.h"
#include "app/commands/usage.h"

namespace pagoda::app {
namespace {

using Entry = std::pair<std::string_view, std::string_view>;

constexpr std::array<Entry, 5> kEnvironment = {{
    {"PAGODA_THREADS", "Threads to compute with where no --threads is given (default: all CPUs)."},
    {"PAGODA_ISA",
     "Instruction set of the kernels: scalar, avx2, avx512, avx512bf16 or amx (default: the fastest "
     "that the CPU has)."},
    {"PAGODA_KERNELS",
     "Folder of libpagoda_kernels.so and its other links (default: beside the program, then ../lib)."},
    {"PAGODA_LOCK",
     "File that keeps two benches on a machine apart (default: pagoda-machine.lock in the "
     "folder for temporary files)."},
    {"NO_COLOR", "Not empty: no colour, on a terminal either."},
}};

constexpr std::array<Entry, 3> kFiles = {{
    {"runs/DATE-SUITE/manifest.json", "Everything that defines a run."},
    {"runs/DATE-SUITE/records.jsonl",
     "One line for each launch and each run of the gate; all reports are made "
     "of them."},
    {"runs/DATE-SUITE/report.md, report.json, report.html", "The reports of a run."},
}};

// Text that roff shows as it is. Hyphens become minus signs, so that options can be copied.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '\\':
        escaped += "\\e";
        break;
      case '-':
        escaped += "\\-";
        break;
      case '\'':
        escaped += "\\(aq";
        break;
      case '`':
        escaped += "\\(ga";
        break;
      case '^':
        escaped += "\\(ha";
        break;
      case '~':
        escaped += "\\(ti";
        break;
      case '"':
        escaped += "\\(dq";
        break;
      default:
        escaped += c;
    }
  }
  // A line that begins with a dot would be a request.
  return escaped.starts_with('.') ? "\\&" + escaped : escaped;
}

std::string Line(std::string_view text) { return Escaped(text) + '\n'; }
std::string Section(std::string_view title) { return fmt::format(".SH {}\n", title); }
std::string Tagged(std::string_view tag, std::string_view text) {
  return fmt::format(".TP\n.B {}\n{}\n", Escaped(tag), Escaped(text));
}

// The footer of a --help, by its own conventions: lines that are indented are examples, "Exit codes" is last.
struct Footer {
  std::vector<std::string> examples;
  std::string text, exit_codes;
};

Footer FooterOf(const CLI::App& app) {
  Footer footer;
  std::string* paragraph = &footer.text;
  for (const std::string& line : CLI::detail::split(app.get_footer(), '\n')) {
    if (line == "Examples:") continue;
    if (line.starts_with("  ")) {
      footer.examples.push_back(line.substr(2));
      continue;
    }
    if (line.starts_with("Exit codes")) paragraph = &footer.exit_codes;
    *paragraph += (paragraph->empty() ? "" : "\n") + line;
  }
  return footer;
}

std::string Lines(std::string_view text) {
  std::string roff;
  for (const std::string& line : CLI::detail::split(std::string(text), '\n')) roff += Line(line);
  return roff;
}

std::string Examples(const std::vector<std::string>& examples) {
  std::string roff = ".nf\n";
  for (const std::string& example : examples) roff += Line(example);
  return roff + ".fi\n";
}

// "N" and "INT in [1 - 4096]" of "N:INT in [1 - 4096]"; CLI11 appends what it checks to the name of a value.
std::pair<std::string, std::string> ValueOf(const CLI::Option& option) {
  const std::string type = option.get_type_size() == 0 ? "" : option.get_type_name();
  const size_t colon = type.find(':');
  if (colon == std::string::npos) return {type, ""};
  return {type.substr(0, colon), type.substr(colon + 1)};
}

std::string OptionEntry(const CLI::Option& option) {
  const auto [value, range] = ValueOf(option);
  std::string names;
  if (option.get_positional()) {
    names = option.get_name();
  } else {
    for (const std::string& name : option.get_snames()) names += (names.empty() ? "-" : ", -") + name;
    for (const std::string& name : option.get_lnames()) names += (names.empty() ? "--" : ", --") + name;
    if (!value.empty()) names += ' ' + value;
  }
  return Tagged(names, range.empty() ? option.get_description()
                                     : fmt::format("{} ({})", option.get_description(), range));
}

// "[OPTIONS] SUITE", "[OPTIONS] DIR..."
std::string Arguments(const CLI::App& app) {
  std::string text = "[OPTIONS]";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_name() + (option->get_expected_max() > 1 ? "..." : "");
    text += option->get_required() ? " " + name : " [" + name + "]";
  }
  return text;
}

std::set<std::string> Names(const CLI::App& app) {
  std::set<std::string> names;
  for (const CLI::Option* option : app.get_options()) names.insert(option->get_name());
  return names;
}

// `global`: options that every command has and that stand in a section of their own.
void AddCommand(const CLI::App& app, const std::string& name, const std::set<std::string>& global,
                std::string& page) {
  const std::vector<const CLI::App*> below = ShownCommands(app);
  if (below.empty()) {
    page += fmt::format(".SS {} {}\n", Escaped(name), Escaped(Arguments(app)));
    page += Line(app.get_description() + ".");
    for (const bool positional : {true, false}) {
      for (const CLI::Option* option : app.get_options()) {
        const bool known = global.contains(option->get_name());
        if (option->get_positional() == positional && !known) page += OptionEntry(*option);
      }
    }
    const Footer footer = FooterOf(app);
    page += ".PP\nExamples:\n" + Examples(footer.examples);
    if (!footer.text.empty()) page += ".PP\n" + Lines(footer.text);
    if (!footer.exit_codes.empty()) page += ".PP\n" + Lines(footer.exit_codes);
  }
  for (const CLI::App* command : below) AddCommand(*command, name + ' ' + command->get_name(), global, page);
}

std::string ManualPage(const CLI::App& app) {
  const Footer footer = FooterOf(app);
  std::string page = fmt::format(".TH PAGODA 1 \"\" \"{}\" \"User Commands\"\n", app.version());
  std::string what = app.get_description();
  while (what.ends_with('.')) what.pop_back();
  page += Section("NAME") + "pagoda \\- " + Line(what);
  page += Section("SYNOPSIS") + ".B pagoda\n" + Line("[OPTIONS] COMMAND [ARGUMENT]...");
  page += Section("OPTIONS") + "Of the program and, but for the version, of each of its commands:\n";
  for (const CLI::Option* option : app.get_options()) page += OptionEntry(*option);
  page += Section("COMMANDS");
  AddCommand(app, "pagoda", Names(app), page);
  page += Section("EXIT STATUS") + Lines(footer.exit_codes);
  page += Section("ENVIRONMENT");
  for (const auto& [name, text] : kEnvironment) page += Tagged(name, text);
  page += Section("FILES");
  for (const auto& [name, text] : kFiles) page += Tagged(name, text);
  page += Section("EXAMPLES") + Examples(footer.examples);
  return page;
}

}  // namespace

void AddMan(CLI::App& app, CommandContext& context) {
  CLI::App* man = app.add_subcommand("man", "The manual page");
  man->group("");
  man->callback([&app, &context] {
    fmt::print("{}", ManualPage(app));
    context.exit_code = kDone;
  });
}

}  // namespace pagoda::app
