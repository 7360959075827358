// `pagoda completion SHELL`: a completion script made from the commands and options that there are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "app/commands/command.h"
#include "app/commands/usage.h"
#include "app/subjects/attention_subject.h"
#include "judge/bench/suite.h"

namespace pagoda::app {
namespace {

// What may stand behind an option.
struct Values {
  std::string option;
  std::vector<std::string> words;
  bool list = false;   // comma-separated, of which the last item is completed
  bool files = false;  // those too
};

// A command with what may follow it.
struct Words {
  std::string command;  // "bench", "list cases"; empty: before any command
  std::vector<std::string> commands, options, arguments;
  std::vector<Values> values;
  bool takes_file = false;

  // What may stand where no option is meant.
  std::vector<std::string> Plain() const {
    std::vector<std::string> plain = commands;
    plain.insert(plain.end(), arguments.begin(), arguments.end());
    return plain;
  }
};

bool NamesVariants(const std::string& option) {
  return option == "--variants" || option == "--variant" || option == "--baseline";
}

// The words that the name of a value says may stand there: "wait|refuse"; of a list, "loss,inconclusive".
std::vector<std::string> Choices(const std::string& type) {
  const char separator = type.find('|') != type.npos ? '|' : ',';
  if (type.find(separator) == type.npos || type.ends_with("...")) return {};
  return CLI::detail::split(type, separator);
}

Values ValuesOf(const std::string& option, const std::string& type) {
  if (NamesVariants(option)) {
    return {.option = option,
            .words = AttentionSubject().Variants(),
            .list = option != "--baseline",
            .files = true};
  }
  const bool file = type == "FILE" || type == "DIR" || type == "OLD.so";
  return {.option = option, .words = Choices(type), .list = type.find(',') != type.npos, .files = file};
}

void Collect(const CLI::App& app, const std::string& name, std::vector<Words>& list) {
  Words words;
  words.command = name;
  for (const CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (option->get_positional()) {
      words.arguments = option->get_name() == "SUITE" ? judge::SuiteNames() : Choices(type);
      words.takes_file = Choices(type).empty();
    }
    for (const std::string& spelling : option->get_lnames()) {
      words.options.push_back("--" + spelling);
      if (option->get_items_expected_min() > 0) words.values.push_back(ValuesOf("--" + spelling, type));
    }
  }
  const std::vector<const CLI::App*> below = ShownCommands(app);
  for (const CLI::App* command : below) words.commands.push_back(command->get_name());
  list.push_back(words);
  for (const CLI::App* command : below) {
    Collect(*command, name.empty() ? command->get_name() : name + " " + command->get_name(), list);
  }
}

std::string Joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

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

// The cases of a shell's `case "$command:$before"` that set what may follow; `set` has the words for "{}".
std::string WordCases(const std::vector<Words>& list, fmt::format_string<const std::string&> set) {
  std::string text;
  for (const Words& words : list) {
    for (const Values& values : words.values) {
      const std::string names = Joined(values.words);
      text += fmt::format("    '{}:{}') {} list={} files={} ;;\n", words.command, values.option,
                          fmt::format(set, names), values.list ? "1" : "", values.files ? "1" : "");
    }
    std::vector<std::string> all = words.Plain();
    all.insert(all.end(), words.options.begin(), words.options.end());
    const std::string names = Joined(all);
    text += fmt::format("    '{}:'*) {} files={} ;;\n", words.command, fmt::format(set, names),
                        words.takes_file ? "1" : "");
  }
  return text;
}

std::string ForBash(const std::vector<Words>& list) {
  return "# bash completion of pagoda; put into ~/.bashrc: eval \"$(pagoda completion bash)\"\n"
         "_pagoda() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= word\n"
         "  local words= list= files= given=\n"
         "  if [[ $current == = ]]; then  # bash makes three words of --option=value\n"
         "    current=\n"
         "  elif [[ $before == = ]]; then\n"
         "    before=${COMP_WORDS[COMP_CWORD - 2]}\n"
         "  fi\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD - 1}\"; do\n"
         "    case \"$command $word\" in\n" +
         FollowingCases(list) +
         "    esac\n"
         "  done\n"
         "  case \"$command:$before\" in\n" +
         WordCases(list, "words='{}'") +
         "  esac\n"
         "  [[ $list ]] && given=${current%\"${current##*,}\"}\n"
         "  current=${current#\"$given\"}\n"
         "  mapfile -t COMPREPLY < <(compgen -P \"$given\" -W \"$words\" -- \"$current\"\n"
         "                           [[ $files ]] && compgen -P \"$given\" -f -- \"$current\")\n"
         "}\n"
         "complete -o filenames -F _pagoda pagoda\n";
}

// Works when it is evaluated and as a file `_pagoda` in fpath, which zsh runs on the first completion.
std::string ForZsh(const std::vector<Words>& list) {
  return "#compdef pagoda\n"
         "# zsh completion of pagoda; put into ~/.zshrc, after compinit: eval \"$(pagoda completion zsh)\"\n"
         "_pagoda() {\n"
         "  local command= word before=${words[CURRENT - 1]} list= files=\n"
         "  local -a names\n"
         "  if [[ $PREFIX == --*=* ]]; then\n"
         "    before=${PREFIX%%=*}\n"
         "    compset -P '*='\n"
         "  fi\n"
         "  for word in \"${(@)words[2,CURRENT - 1]}\"; do\n"
         "    case \"$command $word\" in\n" +
         FollowingCases(list) +
         "    esac\n"
         "  done\n"
         "  case \"$command:$before\" in\n" +
         WordCases(list, "names=({})") +
         "  esac\n"
         "  [[ -n $list ]] && compset -P '*,'\n"
         "  compadd -a names\n"
         "  [[ -n $files ]] && _files\n"
         "}\n"
         "if [[ ${funcstack[1]} == _pagoda ]]; then _pagoda; else compdef _pagoda pagoda; fi\n";
}

// When a command of fish is at the command of `words`, and no further.
std::string FishCondition(const Words& words) {
  if (words.command.empty()) return "__fish_use_subcommand";
  std::string when;
  for (const std::string& name : CLI::detail::split(words.command, ' ')) {
    when += fmt::format("{}__fish_seen_subcommand_from {}", when.empty() ? "" : "; and ", name);
  }
  if (words.commands.empty()) return when;
  return fmt::format("{}; and not __fish_seen_subcommand_from {}", when, Joined(words.commands));
}

std::string FishOption(const Words& words, const std::string& option) {
  const auto values = std::find_if(words.values.begin(), words.values.end(),
                                   [&](const Values& v) { return v.option == option; });
  if (values == words.values.end()) return "";
  const std::string names = Joined(values->words);
  return fmt::format(" -r {}{}", values->files ? "-F" : "-f",
                     names.empty()  ? ""
                     : values->list ? fmt::format(" -a '(__fish_append , {})'", names)
                                    : fmt::format(" -a '{}'", names));
}

std::string ForFish(const std::vector<Words>& list) {
  std::string text =
      "# fish completion of pagoda; pagoda completion fish > ~/.config/fish/completions/pagoda.fish\n";
  for (const Words& words : list) {
    const std::string when = FishCondition(words);
    for (const std::string& option : words.options) {
      text += fmt::format("complete -c pagoda -n '{}' -l {}{}\n", when, option.substr(2),
                          FishOption(words, option));
    }
    const std::vector<std::string> all = words.Plain();
    text += fmt::format("complete -c pagoda -n '{}' {}{}\n", when, words.takes_file ? "-F" : "-f",
                        all.empty() ? "" : fmt::format(" -a '{}'", Joined(all)));
  }
  return text;
}

}  // namespace

void AddCompletion(CLI::App& app, CommandContext& context) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand("completion", "A completion script for a shell");
  completion->add_option("SHELL", *shell, "The shell that is to complete commands")
      ->required()
      ->type_name("bash|zsh|fish")
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
