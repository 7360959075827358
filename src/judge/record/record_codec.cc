#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "judge/record/codec.h"

namespace pagoda::judge {
namespace {

using nlohmann::json;

constexpr LaunchStatus kStatuses[] = {LaunchStatus::kOk, LaunchStatus::kGateFailed, LaunchStatus::kHung,
                                      LaunchStatus::kCrashed, LaunchStatus::kContaminated};

std::optional<LaunchStatus> StatusNamed(std::string_view name) {
  for (const LaunchStatus status : kStatuses) {
    if (NameOf(status) == name) return status;
  }
  return std::nullopt;
}

json Encode(const EnvironmentSample& sample) {
  return {{"load", sample.load},
          {"steal", sample.steal},
          {"other_busy", sample.other_busy},
          {"involuntary_switches", sample.involuntary_switches},
          {"frequency_mhz", sample.frequency_mhz},
          {"temperature_c", sample.temperature_c},
          {"throttle_events", sample.throttle_events}};
}

int64_t CountAtLeast(const io::JsonField& field, std::string_view key, int64_t least) {
  const int64_t count = field.At(key).Int();
  if (count < least) throw field.At(key).Wrong(fmt::format("must be a whole number from {} on", least));
  return count;
}

EnvironmentSample DecodeEnvironment(const io::JsonField& field) {
  EnvironmentSample sample;
  sample.load = NumberAtLeast(field, "load", 0);
  sample.steal = NumberAtLeast(field, "steal", 0);
  sample.other_busy = NumberAtLeast(field, "other_busy", 0);
  sample.involuntary_switches = CountAtLeast(field, "involuntary_switches", 0);
  sample.frequency_mhz = NumberAtLeast(field, "frequency_mhz", 0);
  sample.temperature_c = field.At("temperature_c").Number();
  sample.throttle_events = CountAtLeast(field, "throttle_events", -1);
  return sample;
}

// An output with a NaN in it has no largest error; JSON has no infinity, so null stands for it.
double ErrorIn(const io::JsonField& field) {
  return field.At("max_abs_error").IsNull() ? std::numeric_limits<double>::infinity()
                                            : NumberAtLeast(field, "max_abs_error", 0);
}

std::vector<double> TimesIn(const io::JsonField& field) {
  std::vector<double> times;
  for (const io::JsonField& element : field.Elements()) {
    times.push_back(element.Number());
    if (!(times.back() > 0)) throw element.Wrong("is not a time above 0");
  }
  return times;
}

int LinkIn(const io::JsonField& field) {
  const int link = IntAtLeast(field, "link", 0);
  if (link > 1) throw field.At("link").Wrong("must be 0 (the library) or 1 (the null arm)");
  return link;
}

ArmSamples DecodeArm(const io::JsonField& field) {
  return {.variant = field.At("variant").String(),
          .link = LinkIn(field),
          .device_ns = TimesIn(field.At("device_ns")),
          .host_ns = TimesIn(field.At("host_ns"))};
}

ArmCheck DecodeCheck(const io::JsonField& field) {
  return {.variant = field.At("variant").String(),
          .link = LinkIn(field),
          .passed = field.At("passed").Bool(),
          .max_abs_error = ErrorIn(field),
          .fault = field.At("fault").String()};
}

std::vector<int> SlotsIn(const io::JsonField& field, size_t arms) {
  std::vector<int> slots;
  std::vector<bool> taken(arms, false);
  for (const io::JsonField& element : field.Elements()) {
    const int64_t arm = element.Int();
    if (arm < 0 || arm >= static_cast<int64_t>(arms)) {
      throw element.Wrong(fmt::format("must be an index of `arms`, below {}", arms));
    }
    if (taken[static_cast<size_t>(arm)]) throw element.Wrong("puts an arm into two slots");
    taken[static_cast<size_t>(arm)] = true;
    slots.push_back(static_cast<int>(arm));
  }
  return slots;
}

// A launch that was timed whole has two passes of every block in every arm; of one that was cut short nothing
// is promised.
void RequireWhole(const io::JsonField& line, const LaunchRecord& record) {
  if (record.status != LaunchStatus::kOk) return;
  if (record.blocks < 1) throw line.At("blocks").Wrong("must be at least 1 where status is ok");
  if (record.calls_per_epoch < 1)
    throw line.At("calls_per_epoch").Wrong("must be at least 1 where status is ok");
  if (record.arms.empty()) throw line.At("arms").Wrong("is empty where status is ok");
  for (const auto& [key, size] :
       {std::pair("slot_order", record.slot_order.size()), std::pair("checks", record.checks.size())}) {
    if (size == record.arms.size()) continue;
    throw line.At(key).Wrong(
        fmt::format("has {} entries, but `arms` has {}; where status is ok there is one for each", size,
                    record.arms.size()));
  }
  const std::vector<io::JsonField> arms = line.At("arms").Elements();
  for (size_t i = 0; i < arms.size(); ++i) {
    const size_t passes = 2 * static_cast<size_t>(record.blocks);
    for (const auto& [key, times] :
         {std::pair("device_ns", &record.arms[i].device_ns), std::pair("host_ns", &record.arms[i].host_ns)}) {
      if (times->size() == passes) continue;
      throw arms[i].At(key).Wrong(
          fmt::format("has {} times: {} blocks need {}", times->size(), record.blocks, passes));
    }
  }
}

}  // namespace

std::string_view NameOf(LaunchStatus status) {
  switch (status) {
    case LaunchStatus::kOk:
      return "ok";
    case LaunchStatus::kGateFailed:
      return "gate_failed";
    case LaunchStatus::kHung:
      return "hung";
    case LaunchStatus::kCrashed:
      return "crashed";
    case LaunchStatus::kContaminated:
      return "contaminated";
  }
  return "";
}

json Encode(const LaunchRecord& record) {
  json arms = json::array();
  for (const ArmSamples& arm : record.arms) {
    arms.push_back({{"variant", arm.variant},
                    {"link", arm.link},
                    {"device_ns", arm.device_ns},
                    {"host_ns", arm.host_ns}});
  }
  json checks = json::array();
  for (const ArmCheck& check : record.checks) {
    checks.push_back({{"variant", check.variant},
                      {"link", check.link},
                      {"passed", check.passed},
                      {"max_abs_error", check.max_abs_error},
                      {"fault", check.fault}});
  }
  return {{"kind", "launch"},
          {"schema", record.schema},
          {"run_id", record.run_id},
          {"case", record.case_name},
          {"launch", record.launch},
          {"attempt", record.attempt},
          {"seed", record.seed},
          {"cache", record.cache},
          {"threads", record.threads},
          {"calls_per_epoch", record.calls_per_epoch},
          {"blocks", record.blocks},
          {"slot_order", record.slot_order},
          {"arms", std::move(arms)},
          {"checks", std::move(checks)},
          {"status", NameOf(record.status)},
          {"reason", record.reason},
          {"culprit", record.culprit},
          {"clock_resolution_ns", record.clock_resolution_ns},
          {"before", Encode(record.before)},
          {"after", Encode(record.after)},
          {"elapsed_s", record.elapsed_s}};
}

json Encode(const GateRecord& record) {
  return {{"kind", "gate"},
          {"schema", record.schema},
          {"run_id", record.run_id},
          {"case", record.case_name},
          {"variant", record.variant},
          {"seed", record.seed},
          {"passed", record.passed},
          {"bitwise_repeatable", record.bitwise_repeatable},
          {"same_bits_as", record.same_bits_as},
          {"max_abs_error", record.max_abs_error},
          {"fault", record.fault}};
}

LaunchRecord DecodeLaunch(const io::JsonField& line) {
  LaunchRecord record;
  record.schema = static_cast<int>(line.At("schema").Int());
  record.run_id = line.At("run_id").String();
  record.case_name = line.At("case").String();
  record.launch = IntAtLeast(line, "launch", 0);
  record.attempt = IntAtLeast(line, "attempt", 0);
  record.seed = line.At("seed").Unsigned();
  record.cache = CacheIn(line);
  record.threads = IntAtLeast(line, "threads", 1);
  record.calls_per_epoch = line.At("calls_per_epoch").Int();
  record.blocks = IntAtLeast(line, "blocks", 0);
  for (const io::JsonField& arm : line.At("arms").Elements()) record.arms.push_back(DecodeArm(arm));
  record.slot_order = SlotsIn(line.At("slot_order"), record.arms.size());
  for (const io::JsonField& check : line.At("checks").Elements()) record.checks.push_back(DecodeCheck(check));
  const auto status = StatusNamed(line.At("status").String());
  if (!status) throw line.At("status").Wrong("must be ok, gate_failed, hung, crashed or contaminated");
  record.status = *status;
  record.reason = line.At("reason").String();
  record.culprit = line.At("culprit").String();
  record.clock_resolution_ns = NumberAtLeast(line, "clock_resolution_ns", 0);
  record.before = DecodeEnvironment(line.At("before"));
  record.after = DecodeEnvironment(line.At("after"));
  record.elapsed_s = NumberAtLeast(line, "elapsed_s", 0);
  RequireWhole(line, record);
  return record;
}

GateRecord DecodeGate(const io::JsonField& line) {
  GateRecord record;
  record.schema = static_cast<int>(line.At("schema").Int());
  record.run_id = line.At("run_id").String();
  record.case_name = line.At("case").String();
  record.variant = line.At("variant").String();
  record.seed = line.At("seed").Unsigned();
  record.passed = line.At("passed").Bool();
  record.bitwise_repeatable = line.At("bitwise_repeatable").Bool();
  if (const auto other = line.Find("same_bits_as"))
    record.same_bits_as = other->String();  // older ones lack it
  record.max_abs_error = ErrorIn(line);
  record.fault = line.At("fault").String();
  return record;
}

}  // namespace pagoda::judge
