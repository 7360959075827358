#include "judge/bench/launch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/io/json.h"
#include "judge/bench/case_name.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using io::JsonField;
using Json = nlohmann::json;

int SmallInt(const JsonField& field, int least) {
  const int64_t value = field.Int();
  if (value < least || value > std::numeric_limits<int>::max()) {
    throw field.Wrong(fmt::format("= {} is outside {}..{}", value, least, std::numeric_limits<int>::max()));
  }
  return static_cast<int>(value);
}

template <typename T, typename Get>
std::vector<T> List(const JsonField& field, Get get) {
  std::vector<T> list;
  for (const JsonField& element : field.Elements()) list.push_back(get(element));
  return list;
}

Json CaseToJson(const CaseSpec& spec) {
  Json json = {{"name", spec.name}, {"weight", spec.weight}, {"atol", spec.atol}, {"rtol", spec.rtol}};
  if (spec.file) {
    json["file"] = {{"path", spec.file->path}, {"hash", spec.file->hash}};
    json["cold"] = spec.cold;
  } else {
    json["shape"] = CaseName(spec);
    json["blocks"] = spec.blocks;
  }
  return json;
}

void ReadRest(const JsonField& in, CaseSpec& spec) {
  spec.name = in.At("name").String();
  spec.weight = in.At("weight").Number();
  spec.atol = in.At("atol").Number();
  spec.rtol = in.At("rtol").Number();
}

CaseSpec CaseFromJson(const JsonField& in) {
  if (const auto file = in.Find("file")) {
    in.RefuseUnknownKeys({"name", "weight", "atol", "rtol", "file", "cold"});
    file->RefuseUnknownKeys({"path", "hash"});
    CaseSpec spec;
    spec.file = {file->At("path").String(), file->At("hash").String()};
    spec.cold = in.At("cold").Bool();
    ReadRest(in, spec);
    return spec;
  }
  in.RefuseUnknownKeys({"name", "shape", "weight", "atol", "rtol", "blocks"});
  CaseSpec spec = ParseCaseName(in.At("shape").String());
  ReadRest(in, spec);
  spec.blocks = List<std::vector<int64_t>>(in.At("blocks"), [](const JsonField& ids) {
    return List<int64_t>(ids, [](const JsonField& id) { return id.Int(); });
  });
  CheckCase(spec);
  return spec;
}

Json ProtocolToJson(const ProtocolOptions& o) {
  return {{"seed", o.seed},
          {"epoch_ns", o.epoch_ns},
          {"slow_call_ns", o.slow_call_ns},
          {"blocks", o.blocks},
          {"least_blocks", o.least_blocks},
          {"slow_blocks", o.slow_blocks},
          {"least_slow_blocks", o.least_slow_blocks},
          {"cap_ns", o.cap_ns},
          {"warmup_rounds", o.warmup_rounds},
          {"warmup_ns", o.warmup_ns},
          {"settled_change", o.settled_change},
          {"least_warmups", o.least_warmups},
          {"pilot", o.pilot}};
}

ProtocolOptions ProtocolFromJson(const JsonField& in) {
  in.RefuseUnknownKeys({"seed", "epoch_ns", "slow_call_ns", "blocks", "least_blocks", "slow_blocks",
                        "least_slow_blocks", "cap_ns", "warmup_rounds", "warmup_ns", "settled_change",
                        "least_warmups", "pilot"});
  ProtocolOptions o;
  o.seed = in.At("seed").Unsigned();
  o.epoch_ns = in.At("epoch_ns").Number();
  o.slow_call_ns = in.At("slow_call_ns").Number();
  o.blocks = SmallInt(in.At("blocks"), 1);
  o.least_blocks = SmallInt(in.At("least_blocks"), 1);
  o.slow_blocks = SmallInt(in.At("slow_blocks"), 1);
  o.least_slow_blocks = SmallInt(in.At("least_slow_blocks"), 1);
  o.cap_ns = in.At("cap_ns").Number();
  o.warmup_rounds = SmallInt(in.At("warmup_rounds"), 1);
  o.warmup_ns = in.At("warmup_ns").Number();
  o.settled_change = in.At("settled_change").Number();
  o.least_warmups = SmallInt(in.At("least_warmups"), 0);
  o.pilot = in.At("pilot").Bool();
  return o;
}

LaunchPlan LaunchFromJson(const JsonField& in) {
  in.RefuseUnknownKeys(
      {"run_id", "case", "launch", "attempt", "seed", "threads", "arms", "slot_order", "protocol"});
  LaunchPlan plan;
  plan.run_id = in.At("run_id").String();
  plan.spec = CaseFromJson(in.At("case"));
  plan.launch = SmallInt(in.At("launch"), 0);
  plan.attempt = SmallInt(in.At("attempt"), 0);
  plan.seed = in.At("seed").Unsigned();
  plan.threads = SmallInt(in.At("threads"), 1);
  plan.arms = List<ArmId>(in.At("arms"), [](const JsonField& arm) {
    arm.RefuseUnknownKeys({"variant", "link"});
    return ArmId{arm.At("variant").String(), SmallInt(arm.At("link"), 0)};
  });
  plan.slot_order = List<int>(in.At("slot_order"), [](const JsonField& slot) { return SmallInt(slot, 0); });
  std::vector<int> sorted = plan.slot_order;
  std::sort(sorted.begin(), sorted.end());
  bool permutation = sorted.size() == plan.arms.size();
  for (size_t i = 0; permutation && i < sorted.size(); ++i) permutation = sorted[i] == static_cast<int>(i);
  if (!permutation) throw in.At("slot_order").Wrong("is not a permutation of the arms");
  plan.protocol = ProtocolFromJson(in.At("protocol"));
  return plan;
}

GatePlan GateFromJson(const JsonField& in) {
  in.RefuseUnknownKeys({"run_id", "case", "runs", "threads"});
  GatePlan plan;
  plan.run_id = in.At("run_id").String();
  plan.spec = CaseFromJson(in.At("case"));
  plan.runs = List<GateRun>(in.At("runs"), [](const JsonField& run) {
    run.RefuseUnknownKeys({"variant", "seed"});
    return GateRun{run.At("variant").String(), run.At("seed").Unsigned()};
  });
  plan.threads = SmallInt(in.At("threads"), 1);
  return plan;
}

}  // namespace

std::string ToJson(const LaunchPlan& plan) {
  Json arms = Json::array();
  for (const ArmId& arm : plan.arms) arms.push_back({{"variant", arm.variant}, {"link", arm.link}});
  return Json{{"launch",
               {{"run_id", plan.run_id},
                {"case", CaseToJson(plan.spec)},
                {"launch", plan.launch},
                {"attempt", plan.attempt},
                {"seed", plan.seed},
                {"threads", plan.threads},
                {"arms", arms},
                {"slot_order", plan.slot_order},
                {"protocol", ProtocolToJson(plan.protocol)}}}}
      .dump();
}

std::string ToJson(const GatePlan& plan) {
  Json runs = Json::array();
  for (const GateRun& run : plan.runs) runs.push_back({{"variant", run.variant}, {"seed", run.seed}});
  return Json{
      {"gate",
       {{"run_id", plan.run_id}, {"case", CaseToJson(plan.spec)}, {"runs", runs}, {"threads", plan.threads}}}}
      .dump();
}

ChildPlan ParseChildPlan(std::string_view text, std::string_view where) {
  const Json json = io::ParseJson(text, where);
  const JsonField in(json, where);
  in.RefuseUnknownKeys({"launch", "gate"});
  if (const auto gate = in.Find("gate")) return GateFromJson(*gate);
  return LaunchFromJson(in.At("launch"));
}

std::string ToJson(const PilotResult& pilot) {
  return Json{{"pilot",
               {{"calls", pilot.calls},
                {"host_ns", pilot.host_ns},
                {"setup_s", pilot.setup_s},
                {"warmup_s", pilot.warmup_s},
                {"checks_s", pilot.checks_s}}}}
      .dump();
}

PilotResult ParsePilotResult(std::string_view text, std::string_view where) {
  const Json json = io::ParseJson(text, where);
  const JsonField in = JsonField(json, where).At("pilot");
  in.RefuseUnknownKeys({"calls", "host_ns", "setup_s", "warmup_s", "checks_s"});
  PilotResult pilot;
  pilot.calls = in.At("calls").Int();
  pilot.host_ns = List<double>(in.At("host_ns"), [](const JsonField& v) { return v.Number(); });
  pilot.setup_s = in.At("setup_s").Number();
  pilot.warmup_s = in.At("warmup_s").Number();
  pilot.checks_s = in.At("checks_s").Number();
  return pilot;
}

}  // namespace pagoda::judge
