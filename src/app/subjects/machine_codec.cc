#include "app/subjects/machine_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/io/json.h"
#include "pagoda/status.h"
#include "pagoda/thread_pool.h"

namespace pagoda::app {
namespace {

using nlohmann::json;

constexpr int kSchema = 1;

// A rate: more than 0 and finite.
double Rate(const io::JsonField& field) {
  const double value = field.Number();
  if (!(value > 0) || !std::isfinite(value)) throw field.Wrong("must be a finite number above 0");
  return value;
}

double Nanoseconds(const io::JsonField& field) {
  const double value = field.Number();
  if (!(value >= 0) || !std::isfinite(value)) throw field.Wrong("must be a finite number, at least 0");
  return value;
}

int64_t Positive(const io::JsonField& field) {
  const int64_t value = field.Int();
  if (value < 1) throw field.Wrong("must be at least 1");
  return value;
}

DType FloatType(const io::JsonField& field) {
  const std::string name = field.String();
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    if (NameOf(dtype) == name) return dtype;
  }
  throw field.Wrong("must be \"f32\", \"f16\" or \"bf16\"");
}

void ReadRates(const io::JsonField& root, MachineModel& model) {
  for (const io::JsonField& entry : root.At("read").Elements()) {
    const int64_t run = Positive(entry.At("run_bytes"));
    if (!model.read.empty() && run <= model.read.back().run_bytes)
      throw entry.At("run_bytes").Wrong("must rise from entry to entry");
    model.read.push_back({run, Rate(entry.At("one")), Rate(entry.At("all"))});
  }
  if (model.read.empty()) throw root.At("read").Wrong("must not be empty");
}

void ReadArithmetic(const io::JsonField& root, MachineModel& model) {
  for (const io::JsonField& entry : root.At("arithmetic").Elements()) {
    const DType dtype = FloatType(entry.At("dtype"));
    const int64_t rows = Positive(entry.At("rows"));
    for (const MachineModel::Arithmetic& before : model.arithmetic) {
      if (before.dtype == dtype && before.rows >= rows)
        throw entry.At("rows").Wrong("must rise from entry to entry of a dtype");
    }
    model.arithmetic.push_back({dtype, rows, Rate(entry.At("gflop_per_s"))});
  }
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const auto of = [dtype](const auto& entry) { return entry.dtype == dtype; };
    if (std::none_of(model.arithmetic.begin(), model.arithmetic.end(), of))
      throw root.At("arithmetic").Wrong(fmt::format("has no entry of {}", NameOf(dtype)));
  }
}

}  // namespace

std::string EncodeMachine(const MachineModel& model, const MachineIdentity& identity) {
  json read = json::array(), arithmetic = json::array();
  for (const MachineModel::Read& entry : model.read)
    read.push_back({{"run_bytes", entry.run_bytes}, {"one", entry.one}, {"all", entry.all}});
  for (const MachineModel::Arithmetic& entry : model.arithmetic) {
    arithmetic.push_back(
        {{"dtype", NameOf(entry.dtype)}, {"rows", entry.rows}, {"gflop_per_s", entry.gflop_per_s}});
  }
  return json({{"schema", kSchema},
               {"cpu", identity.cpu},
               {"isa", identity.isa},
               {"cpus", identity.cpus},
               {"threads", model.threads},
               {"read", read},
               {"near_copy", model.near_copy},
               {"far_copy", model.far_copy},
               {"memory_copy", model.memory_copy},
               {"near_bytes", model.near_bytes},
               {"far_bytes", model.far_bytes},
               {"arithmetic", arithmetic},
               {"launch_ns", model.launch_ns},
               {"task_ns", model.task_ns},
               {"piece_ns", model.piece_ns}})
             .dump(1) +
         "\n";
}

std::optional<MachineModel> DecodeMachine(std::string_view text, std::string_view source,
                                          const MachineIdentity& identity) {
  const json document = io::ParseJson(text, source);
  const io::JsonField root(document, source);
  if (root.At("schema").Int() != kSchema) return std::nullopt;
  if (MachineIdentity{root.At("cpu").String(), root.At("isa").String(), root.At("cpus").Int()} != identity)
    return std::nullopt;
  MachineModel model;
  const int64_t threads = Positive(root.At("threads"));
  if (threads > ThreadPool::kMaxThreads) throw root.At("threads").Wrong("is more than any pool has");
  model.threads = static_cast<int>(threads);
  ReadRates(root, model);
  ReadArithmetic(root, model);
  model.near_copy = Rate(root.At("near_copy"));
  model.far_copy = Rate(root.At("far_copy"));
  model.memory_copy = Rate(root.At("memory_copy"));
  model.near_bytes = Positive(root.At("near_bytes"));
  model.far_bytes = Positive(root.At("far_bytes"));
  model.launch_ns = Nanoseconds(root.At("launch_ns"));
  model.task_ns = Nanoseconds(root.At("task_ns"));
  model.piece_ns = Nanoseconds(root.At("piece_ns"));
  return model;
}

}  // namespace pagoda::app
