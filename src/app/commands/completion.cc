// `pagoda completion SHELL`: a completion script made from the commands and options that there are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "app/commands/command.h"
#include "app/commands/usage.h"
#include "app/subjects/softmax.h"
#include "judge/bench/suite.h"

namespace pagoda::app {
namespace {

// A command with what may follow it.
struct Words {
  std::string command;  // "bench", "list cases"; empty: before any command
  std::vector<std::string> commands, options;
  bool takes_suite = false;
};

void Collect(const CLI::App& app, const std::string& name, std::vector<Words>& list) {
  Words words{.command = name, .commands = {}, .options = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) words.takes_suite = words.takes_suite || option->get_name() == "SUITE";
    for (const std::string& spelling : option->get_lnames()) words.options.push_back("--" + spelling);
  }
  const std::vector<const CLI::App*> below = ShownCommands(app);
  for (const CLI::App* command : below) words.commands.push_back(command->get_name());
  list.push_back(words);
  for (const CLI::App* command : below) {
    Collect(*command, name.empty() ? command->get_name() : name + " " + command->get_name(), list);
  }
}

// What may stand where a word is begun, besides a file.
std::vector<std::string> All(const Words& words) {
  std::vector<std::string> all = words.commands;
  if (words.takes_suite) {
    for (const std::string& suite : judge::SuiteNames()) all.push_back(suite);
  }
  all.insert(all.end(), words.options.begin(), words.options.end());
  return all;
}

// The cases of a shell's `case "$command $word"` that follow a line from command to command.
std::string FollowingCases(const std::vector<Words>& list) {
  std::string text;
  for (const Words& words : list) {
    if (words.command.empty()) continue;
    const size_t last = words.command.rfind(' ');
    const std::string above = last == std::string::npos ? "" : words.command.substr(0, last);
    const std::string name = last == std::string::npos ? words.command : words.command.substr(last + 1);
    text += fmt::format("      '{} {}') command='{}' ;;\n", above, name, words.command);
  }
  return text;
}

// The cases of a shell's `case "$command"` that set what may follow each command, as `set` has it for "{}".
std::string WordCases(const std::vector<Words>& list, fmt::format_string<const std::string&> set) {
  std::string text;
  for (const Words& words : list) {
    const std::string names = fmt::format("{}", fmt::join(All(words), " "));
    text += fmt::format("    '{}') {} ;;\n", words.command, fmt::format(set, names));
  }
  return text;
}

std::string ForBash(const std::vector<Words>& list) {
  std::string text =
      "# bash completion of pagoda; put into ~/.bashrc: eval \"$(pagoda completion bash)\"\n"
      "_pagoda() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= word words\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD - 1}\"; do\n"
      "    case \"$command $word\" in\n" +
      FollowingCases(list) +
      "    esac\n"
      "  done\n"
      "  case \"$command\" in\n" +
      WordCases(list, "words='{}'") +
      "  esac\n"
      "  local given=\n"
      "  case \"$before\" in\n"
      "    --variants | --variant | --baseline)  # a list, of which the last name is completed\n";
  text += fmt::format("      words='{}' given=${{current%\"${{current##*,}}\"}} ;;\n",
                      fmt::join(SoftmaxSubject().Variants(), " "));
  text +=
      "  esac\n"
      "  COMPREPLY=($(compgen -P \"$given\" -W \"$words\" -- \"${current#\"$given\"}\") $(compgen -f -- "
      "\"$current\"))\n"
      "}\n"
      "complete -o filenames -F _pagoda pagoda\n";
  return text;
}

// Works when it is evaluated and as a file `_pagoda` in fpath, which zsh runs on the first completion.
std::string ForZsh(const std::vector<Words>& list) {
  std::string text =
      "#compdef pagoda\n"
      "# zsh completion of pagoda; put into ~/.zshrc, after compinit: eval \"$(pagoda completion zsh)\"\n"
      "_pagoda() {\n"
      "  local command= word\n"
      "  local -a names\n"
      "  for word in \"${(@)words[2,CURRENT - 1]}\"; do\n"
      "    case \"$command $word\" in\n" +
      FollowingCases(list) +
      "    esac\n"
      "  done\n"
      "  case \"$command\" in\n" +
      WordCases(list, "names=({})") +
      "  esac\n"
      "  case \"${words[CURRENT - 1]}\" in\n"
      "    --variants | --variant | --baseline)  # a list, of which the last name is completed\n"
      "      compset -P '*,'\n";
  text += fmt::format("      names=({}) ;;\n", fmt::join(SoftmaxSubject().Variants(), " "));
  text +=
      "  esac\n"
      "  compadd -a names\n"
      "  _files\n"
      "}\n"
      "if [[ ${funcstack[1]} == _pagoda ]]; then _pagoda; else compdef _pagoda pagoda; fi\n";
  return text;
}

std::string ForFish(const std::vector<Words>& list) {
  std::string text =
      "# fish completion of pagoda; pagoda completion fish > ~/.config/fish/completions/pagoda.fish\n";
  for (const Words& words : list) {
    const std::string when = words.command.empty()
                                 ? "__fish_use_subcommand"
                                 : fmt::format("__fish_seen_subcommand_from {}",
                                               words.command.substr(words.command.rfind(' ') + 1));
    for (const std::string& option : words.options) {
      text += fmt::format("complete -c pagoda -n '{}' -l {}", when, option.substr(2));
      if (option == "--variants" || option == "--variant" || option == "--baseline") {
        text += fmt::format(" -x -a '{}'", fmt::join(SoftmaxSubject().Variants(), " "));
      }
      text += '\n';
    }
    Words rest = words;
    rest.options.clear();
    const std::vector<std::string> all = All(rest);
    if (!all.empty()) text += fmt::format("complete -c pagoda -n '{}' -a '{}'\n", when, fmt::join(all, " "));
  }
  return text;
}

}  // namespace

void AddCompletion(CLI::App& app, CommandContext& context) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand("completion", "A completion script for a shell");
  completion->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  completion->footer(
      "Examples:\n"
      "  pagoda completion bash > /etc/bash_completion.d/pagoda\n"
      "  pagoda completion zsh > ~/.zfunc/_pagoda     (~/.zfunc in fpath)\n"
      "  pagoda completion fish > ~/.config/fish/completions/pagoda.fish\n"
      "`cmake --install` puts all three where the shells look.\n"
      "Exit codes: 0 done, 2 no such shell.");
  completion->callback([shell, &app, &context] {
    std::vector<Words> list;
    Collect(app, "", list);
    fmt::print("{}", *shell == "bash" ? ForBash(list) : *shell == "zsh" ? ForZsh(list) : ForFish(list));
    context.exit_code = kDone;
  });
}

}  // namespace pagoda::app
