#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "judge/record/codec.h"

namespace pagoda::judge {
namespace {

using nlohmann::json;

std::vector<std::string> StringsIn(const io::JsonField& field) {
  std::vector<std::string> strings;
  for (const io::JsonField& element : field.Elements()) strings.push_back(element.String());
  return strings;
}

// Older manifests have none.
Definition DefinitionIn(const io::JsonField& field, std::string_view key) {
  Definition definition;
  const auto object = field.Find(key);
  if (!object) return definition;
  for (const std::string& name : object->Keys()) definition.emplace(name, object->At(name).String());
  return definition;
}

json Encode(const EnvironmentFacts& facts) {
  return {{"cpu", facts.cpu},
          {"cpu_flags", facts.cpu_flags},
          {"isa", facts.isa},
          {"caches", facts.caches},
          {"memory", facts.memory},
          {"kernel", facts.kernel},
          {"compiler", facts.compiler},
          {"build_flags", facts.build_flags},
          {"binary_hash", facts.binary_hash},
          {"git_commit", facts.git_commit},
          {"git_dirty", facts.git_dirty}};
}

EnvironmentFacts DecodeFacts(const io::JsonField& field) {
  EnvironmentFacts facts;
  facts.cpu = field.At("cpu").String();
  facts.cpu_flags = field.At("cpu_flags").String();
  if (const auto isa = field.Find("isa")) facts.isa = isa->String();  // older manifests have none
  facts.caches = field.At("caches").String();
  facts.memory = field.At("memory").String();
  facts.kernel = field.At("kernel").String();
  facts.compiler = field.At("compiler").String();
  facts.build_flags = field.At("build_flags").String();
  facts.binary_hash = field.At("binary_hash").String();
  facts.git_commit = field.At("git_commit").String();
  facts.git_dirty = field.At("git_dirty").Bool();
  return facts;
}

json Encode(const Ceilings& ceilings) {
  json bandwidth = json::array();
  for (const BandwidthCeiling& x : ceilings.bandwidth) {
    bandwidth.push_back({{"run_bytes", x.run_bytes}, {"threads", x.threads}, {"gb_per_s", x.gb_per_s}});
  }
  json compute = json::array();
  for (const ComputeCeiling& x : ceilings.compute) {
    compute.push_back(
        {{"isa", x.isa}, {"dtype", x.dtype}, {"threads", x.threads}, {"gflop_per_s", x.gflop_per_s}});
  }
  return {{"bandwidth", std::move(bandwidth)}, {"compute", std::move(compute)}};
}

Ceilings DecodeCeilings(const io::JsonField& field) {
  Ceilings ceilings;
  for (const io::JsonField& x : field.At("bandwidth").Elements()) {
    ceilings.bandwidth.push_back({.run_bytes = NumberAtLeast(x, "run_bytes", 0),
                                  .threads = IntAtLeast(x, "threads", 1),
                                  .gb_per_s = NumberAtLeast(x, "gb_per_s", 0)});
  }
  for (const io::JsonField& x : field.At("compute").Elements()) {
    ceilings.compute.push_back({.isa = x.At("isa").String(),
                                .dtype = x.At("dtype").String(),
                                .threads = IntAtLeast(x, "threads", 1),
                                .gflop_per_s = NumberAtLeast(x, "gflop_per_s", 0)});
  }
  return ceilings;
}

ManifestCase DecodeCase(const io::JsonField& field) {
  return {.name = field.At("name").String(),
          .weight = NumberAtLeast(field, "weight", 0),
          .bytes = NumberAtLeast(field, "bytes", 0),
          .flops = NumberAtLeast(field, "flops", 0),
          .run_bytes = NumberAtLeast(field, "run_bytes", 0),
          .dtype = field.At("dtype").String(),
          .cache = CacheIn(field),
          .problem = DefinitionIn(field, "problem")};
}

Sweep DecodeSweep(const io::JsonField& field) {
  Sweep sweep{.name = field.At("name").String(), .axis = field.At("axis").String(), .points = {}};
  for (const io::JsonField& x : field.At("points").Elements()) {
    sweep.points.push_back({.case_name = x.At("case").String(), .value = IntAtLeast(x, "value", 1)});
    const size_t n = sweep.points.size();
    if (n > 1 && sweep.points[n - 1].value <= sweep.points[n - 2].value) {
      throw x.At("value").Wrong("must be above the value of the point before");
    }
  }
  if (sweep.points.size() < 2) throw field.At("points").Wrong("must have at least two points");
  return sweep;
}

json Encode(const std::vector<Sweep>& sweeps) {
  json list = json::array();
  for (const Sweep& sweep : sweeps) {
    json points = json::array();
    for (const SweepPoint& x : sweep.points) points.push_back({{"case", x.case_name}, {"value", x.value}});
    list.push_back({{"name", sweep.name}, {"axis", sweep.axis}, {"points", std::move(points)}});
  }
  return list;
}

}  // namespace

std::vector<DefinitionChange> Changes(const Definition& before, const Definition& after) {
  std::vector<DefinitionChange> changes;
  for (const auto& [name, value] : before) {
    const auto now = after.find(name);
    if (now != after.end() && now->second != value) changes.push_back({name, value, now->second});
  }
  return changes;
}

int IntAtLeast(const io::JsonField& field, std::string_view key, int least) {
  const io::JsonField value = field.At(key);
  const int64_t number = value.Int();
  if (number < least || number > std::numeric_limits<int>::max()) {
    throw value.Wrong(fmt::format("must be a whole number from {} on", least));
  }
  return static_cast<int>(number);
}

double NumberAtLeast(const io::JsonField& field, std::string_view key, double least) {
  const io::JsonField value = field.At(key);
  const double number = value.Number();
  if (!(number >= least)) throw value.Wrong(fmt::format("must be a number from {} on", least));
  return number;
}

std::string CacheIn(const io::JsonField& field) {
  std::string cache = field.At("cache").String();
  if (cache != "cold" && cache != "warm") throw field.At("cache").Wrong("must be \"cold\" or \"warm\"");
  return cache;
}

void RequireSchema(const io::JsonField& field, int newest) {
  const io::JsonField schema = field.At("schema");
  const int64_t version = schema.Int();
  if (version > newest) {
    throw schema.Wrong(
        fmt::format("is newer than {}, the newest that this build reads: use a newer pagoda", newest));
  }
  if (version < 1) throw schema.Wrong("must be 1 or more");
}

json Encode(const Manifest& manifest) {
  json cases = json::array();
  for (const ManifestCase& x : manifest.cases) {
    cases.push_back({{"name", x.name},
                     {"weight", x.weight},
                     {"bytes", x.bytes},
                     {"flops", x.flops},
                     {"run_bytes", x.run_bytes},
                     {"dtype", x.dtype},
                     {"cache", x.cache},
                     {"problem", x.problem}});
  }
  json unsupported = json::array();
  for (const Unsupported& x : manifest.unsupported) {
    unsupported.push_back({{"case", x.case_name}, {"variant", x.variant}, {"reason", x.reason}});
  }
  json programs = json::array();
  for (const ManifestProgram& x : manifest.programs) {
    programs.push_back({{"name", x.name}, {"command", x.command}, {"about", x.about}});
  }
  json code = json::array();
  for (const CodeFile& x : manifest.code) code.push_back({{"path", x.path}, {"hash", x.hash}});
  return {{"schema", manifest.schema},
          {"run_id", manifest.run_id},
          {"suite", manifest.suite},
          {"about", manifest.about},
          {"cases", std::move(cases)},
          {"sweeps", Encode(manifest.sweeps)},
          {"variants", manifest.variants},
          {"baseline", manifest.baseline},
          {"choosers", manifest.choosers},
          {"programs", std::move(programs)},
          {"launches", manifest.launches},
          {"delta", manifest.delta},
          {"seed", manifest.seed},
          {"threads", manifest.threads},
          {"settings", manifest.settings},
          {"code", std::move(code)},
          {"time", manifest.time},
          {"command_line", manifest.command_line},
          {"environment", Encode(manifest.environment)},
          {"ceilings", Encode(manifest.ceilings)},
          {"unsupported", std::move(unsupported)},
          {"not_measured", manifest.not_measured}};
}

Manifest DecodeManifest(const io::JsonField& file) {
  RequireSchema(file, kManifestSchema);
  Manifest manifest;
  manifest.schema = static_cast<int>(file.At("schema").Int());
  manifest.run_id = file.At("run_id").String();
  manifest.suite = file.At("suite").String();
  manifest.about = file.At("about").String();
  for (const io::JsonField& x : file.At("cases").Elements()) manifest.cases.push_back(DecodeCase(x));
  if (const auto sweeps = file.Find("sweeps")) {  // older manifests have none
    for (const io::JsonField& x : sweeps->Elements()) manifest.sweeps.push_back(DecodeSweep(x));
  }
  manifest.variants = StringsIn(file.At("variants"));
  manifest.baseline = file.At("baseline").String();
  if (const auto choosers = file.Find("choosers")) manifest.choosers = StringsIn(*choosers);  // older: none
  if (const auto programs = file.Find("programs")) {  // older manifests have none
    for (const io::JsonField& x : programs->Elements()) {
      manifest.programs.push_back({.name = x.At("name").String(),
                                   .command = x.At("command").String(),
                                   .about = x.At("about").String()});
    }
  }
  manifest.launches = IntAtLeast(file, "launches", 1);
  manifest.delta = NumberAtLeast(file, "delta", 0);
  manifest.seed = file.At("seed").Unsigned();
  manifest.threads = IntAtLeast(file, "threads", 1);
  manifest.settings = DefinitionIn(file, "settings");
  if (const auto code = file.Find("code")) {  // older manifests have none
    for (const io::JsonField& x : code->Elements()) {
      manifest.code.push_back({.path = x.At("path").String(), .hash = x.At("hash").String()});
    }
  }
  manifest.time = file.At("time").String();
  manifest.command_line = file.At("command_line").String();
  manifest.environment = DecodeFacts(file.At("environment"));
  manifest.ceilings = DecodeCeilings(file.At("ceilings"));
  for (const io::JsonField& x : file.At("unsupported").Elements()) {
    manifest.unsupported.push_back({.case_name = x.At("case").String(),
                                    .variant = x.At("variant").String(),
                                    .reason = x.At("reason").String()});
  }
  manifest.not_measured = StringsIn(file.At("not_measured"));
  return manifest;
}

}  // namespace pagoda::judge
