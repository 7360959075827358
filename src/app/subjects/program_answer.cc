#include "app/subjects/program_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/subjects/fault.h"
#include "base/io/json.h"
#include "base/io/shown.h"
#include "engine/attention/variant.h"

namespace pagoda::app {
namespace {

using io::JsonField;

constexpr size_t kMostText = 200;  // of what it says for people
constexpr std::pair<std::string_view, Promise> kPromises[] = {{"repeatable", kRepeatable},
                                                              {"thread_invariant", kThreadInvariant},
                                                              {"batch_invariant", kBatchInvariant}};
constexpr judge::CaseOp kOps[] = {judge::CaseOp::kSoftmaxPaged, judge::CaseOp::kHstuPaged};

std::string TextIn(const JsonField& field) { return io::Shown(field.String(), kMostText); }

// The object that the line is, unless it reports an error.
template <typename Read>
auto ReadAnswer(std::string_view line, std::string_view step, Read read) {
  const nlohmann::json json = io::ParseJson(line, step, {.max_depth = 4});
  const JsonField answer(json, step);
  if (const auto error = answer.Find("error")) {
    answer.RefuseUnknownKeys({"error"});
    throw Fault(fmt::format("{}: reported an error: {}", step, TextIn(*error)));
  }
  return read(answer);
}

uint32_t PromiseIn(const JsonField& field) {
  const std::string name = field.String();
  for (const auto& [known, promise] : kPromises) {
    if (name == known) return promise;
  }
  throw field.Wrong(
      fmt::format("= \"{}\" is none of repeatable, thread_invariant, batch_invariant", io::Shown(name)));
}

judge::CaseOp OpIn(const JsonField& field) {
  const std::string name = field.String();
  for (const judge::CaseOp op : kOps) {
    if (name == NameOf(op)) return op;
  }
  throw field.Wrong(
      fmt::format("= \"{}\" is none of {}, {}", io::Shown(name), NameOf(kOps[0]), NameOf(kOps[1])));
}

std::vector<judge::CaseOp> OpsIn(const JsonField& field) {
  std::vector<judge::CaseOp> ops;
  for (const JsonField& op : field.Elements()) ops.push_back(OpIn(op));
  if (ops.empty()) throw field.Wrong("is empty; name what it computes, or leave it out for softmax");
  return ops;
}

}  // namespace

bool ProgramHello::Computes(judge::CaseOp op) const {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

ProgramHello ParseHello(std::string_view line, std::string_view step) {
  return ReadAnswer(line, step, [](const JsonField& answer) {
    answer.RefuseUnknownKeys({"hello"});
    const JsonField in = answer.At("hello");
    in.RefuseUnknownKeys({"protocol", "about", "promises", "lse", "ops"});
    if (const JsonField protocol = in.At("protocol"); protocol.Int() != kProgramProtocol) {
      throw protocol.Wrong(fmt::format("= {}, and this program speaks {}", protocol.Int(), kProgramProtocol));
    }
    ProgramHello hello;
    if (const auto about = in.Find("about")) hello.about = TextIn(*about);
    if (const auto lse = in.Find("lse")) hello.lse = lse->Bool();
    if (const auto promises = in.Find("promises")) {
      for (const JsonField& promise : promises->Elements()) hello.promises |= PromiseIn(promise);
    }
    if (const auto ops = in.Find("ops")) hello.ops = OpsIn(*ops);
    return hello;
  });
}

std::optional<std::string> ParsePrepared(std::string_view line, std::string_view step) {
  return ReadAnswer(line, step, [](const JsonField& answer) -> std::optional<std::string> {
    if (const auto reason = answer.Find("unsupported")) {
      answer.RefuseUnknownKeys({"unsupported"});
      return TextIn(*reason);
    }
    answer.RefuseUnknownKeys({"ready"});
    if (const JsonField ready = answer.At("ready"); !ready.Bool()) {
      throw ready.Wrong("= false says nothing; give \"unsupported\" with the reason");
    }
    return std::nullopt;
  });
}

double ParseRan(std::string_view line, std::string_view step) {
  return ReadAnswer(line, step, [](const JsonField& answer) {
    answer.RefuseUnknownKeys({"ns"});
    const JsonField ns = answer.At("ns");
    const double value = ns.Number();
    if (!std::isfinite(value) || value <= 0) {
      throw ns.Wrong(fmt::format("= {} is no time; give the nanoseconds that the calls took", value));
    }
    return value;
  });
}

}  // namespace pagoda::app
