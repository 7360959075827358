#include "app/subjects/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "app/subjects/fault.h"
#include "base/io/shown.h"
#include "base/shell_words.h"
#include "base/sys/clock.h"
#include "pagoda/hstu.h"
#include "pagoda/softmax.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

constexpr size_t kMostShown = 200;  // of a line that is no answer, and of last words

bool IsName(std::string_view name) {
  const auto fits = [](unsigned char c) { return c == '_' || (c < 0x80 && std::isalnum(c) != 0); };
  return !name.empty() && std::all_of(name.begin(), name.end(), fits);
}

[[noreturn]] void Refuse(std::string_view option, const std::string& complaint) {
  throw Error(ErrorCode::kInvalidArgument, fmt::format("--program {}", io::Shown(option)), complaint);
}

ProgramCommand ParseProgram(const std::string& option) {
  const size_t equals = option.find('=');
  if (equals == std::string::npos) Refuse(option, "has no =; give NAME=COMMAND");
  ProgramCommand command{option.substr(0, equals), option.substr(equals + 1), {}};
  if (!IsName(command.name)) Refuse(option, "has a name that isn't of letters, digits and _");
  if (FindSoftmaxVariant(command.name) != nullptr || FindHstuVariant(command.name) != nullptr)
    Refuse(option, "has the name of a built-in variant");
  command.argv = SplitWords(command.command, fmt::format("--program {}", command.name));
  if (command.argv.empty()) Refuse(option, "has no command");
  return command;
}

}  // namespace

std::vector<ProgramCommand> ParsePrograms(const std::vector<std::string>& options) {
  std::vector<ProgramCommand> programs;
  std::set<std::string> names;
  for (const std::string& option : options) {
    programs.push_back(ParseProgram(option));
    if (!names.insert(programs.back().name).second) Refuse(option, "has a name that another has too");
  }
  return programs;
}

template <typename Parse>
auto Program::Read(std::string_view step, const std::string& line, Parse parse) {
  try {
    return parse(line, step);
  } catch (const Error& e) {
    process_.Kill();
    throw Fault(fmt::format("{}; it answered {}", e.what(), io::Shown(line, kMostShown)));
  } catch (const Fault&) {
    process_.Kill();
    throw;
  }
}

Program::Program(const ProgramCommand& command, double answer_s)
    : answer_s_(answer_s), process_(command.argv) {
  const std::string line =
      Ask("hello", fmt::format(R"({{"hello":{{"protocol":{}}}}})", kProgramProtocol), answer_s_);
  hello_ = Read("hello", line, ParseHello);
}

std::string Program::Ask(std::string_view step, std::string_view message, double timeout_s) {
  sys::LineAnswer answer = process_.Ask(message, timeout_s);
  if (!answer.line) throw Fault(fmt::format("{}: {}", step, io::Shown(answer.why_not, kMostShown)));
  return *std::move(answer.line);
}

std::optional<std::string> Program::Prepare(const std::string& message) {
  if (message == prepared_) return std::nullopt;
  prepared_.clear();
  std::optional<std::string> why_not = Read("prepare", Ask("prepare", message, answer_s_), ParsePrepared);
  if (!why_not) prepared_ = message;
  return why_not;
}

void Program::RequireReady(const std::string& message) {
  if (const auto why_not = Prepare(message)) {
    throw Fault(fmt::format("prepare: refused a case that it had taken before: {}", *why_not));
  }
}

ProgramTime Program::Run(int64_t calls, size_t first_pool) {
  const std::string message = fmt::format(R"({{"run":{{"calls":{},"first_pool":{}}}}})", calls, first_pool);
  ProgramTime time;
  const int64_t begin = sys::NowNs();
  const std::string line = Ask("run", message, 0);
  time.wall_ns = static_cast<double>(sys::NowNs() - begin);
  time.reported_ns = Read("run", line, ParseRan);
  if (const auto wrong = WrongTime(time)) throw Fault(fmt::format("run: {}", *wrong));
  return time;
}

void Program::WaitUntilIdle() {
  constexpr std::chrono::milliseconds kLook(1);
  constexpr int kLooks = 250;
  constexpr int kIdleLooks = 2;  // one after the other: a thread may sleep for a moment between two tasks
  int idle = 0;
  for (int i = 0; i < kLooks && idle < kIdleLooks; ++i) {
    std::this_thread::sleep_for(kLook);
    idle = process_.AnyThreadRuns() ? 0 : idle + 1;
  }
  if (idle == kIdleLooks) return;
  throw Fault(fmt::format(
      "run: still runs {} ms after its answer, which would disturb the others; have its threads sleep "
      "when they wait (OMP_WAIT_POLICY=passive, KMP_BLOCKTIME=0)",
      kLooks * kLook.count()));
}

}  // namespace pagoda::app
