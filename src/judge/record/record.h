// What a run leaves behind, as plain data. Every table, verdict and picture is a function of these records.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pagoda::judge {

// Raised whenever a reader of the old version would misread the new one. A reader refuses a newer version.
inline constexpr int kRecordSchema = 1;
inline constexpr int kManifestSchema = 1;

// The times of one arm in one launch: nanoseconds of one call (epoch time / calls_per_epoch), two per block.
// Index 2b is the forward pass of block b, 2b + 1 its backward pass; both vectors have 2 * blocks values > 0.
struct ArmSamples {
  std::string variant;
  int link = 0;  // 0: the library; 1: the null arm, the baseline from the second link
  std::vector<double> device_ns;
  std::vector<double> host_ns;
};

// The check of the output that an arm's last timed call left.
struct ArmCheck {
  std::string variant;
  int link = 0;
  bool passed = false;
  double max_abs_error = 0;
  std::string fault;  // what is wrong and where; empty when passed
};

// The machine at one moment, or over the span that ends there.
struct EnvironmentSample {
  double load = 0;                   // 1-minute load average
  double steal = 0;                  // fraction of CPU time taken by the hypervisor, 0..1
  double other_busy = 0;             // CPUs kept busy by other processes, as a fraction of all CPUs, 0..1
  int64_t involuntary_switches = 0;  // of this process, since the sample before
  double frequency_mhz = 0;          // 0: not readable
  double temperature_c = 0;          // 0: not readable
  int64_t throttle_events = -1;      // -1: not readable
};

enum class LaunchStatus : uint8_t {
  kOk,
  kGateFailed,    // the check of a timed output failed
  kHung,          // killed by the watchdog
  kCrashed,       // died or broke the protocol
  kContaminated,  // an environment budget was breached: left out as a whole, re-run under the next attempt
};
// "ok", "gate_failed", "hung", "crashed", "contaminated": the spelling in JSON.
std::string_view NameOf(LaunchStatus status);

// One launch: one fresh process that timed all arms of one case.
struct LaunchRecord {
  int schema = kRecordSchema;
  std::string run_id;
  std::string case_name;
  int launch = 0;   // 0..launches-1 of the manifest
  int attempt = 0;  // 0, then 1, 2, … when an earlier attempt of the same launch was contaminated
  uint64_t seed = 0;
  std::string cache = "cold";  // "cold" or "warm"
  int threads = 1;
  int64_t calls_per_epoch = 0;  // shared by all arms
  int blocks = 0;
  std::vector<int> slot_order;   // slot_order[i] is the index in `arms` of the arm prepared in slot i
  std::vector<ArmSamples> arms;  // variants in the manifest's order, then the null arm; may be empty or
                                 // partial unless the status is kOk
  std::vector<ArmCheck> checks;  // one per arm that was checked, in the order of `arms`
  LaunchStatus status = LaunchStatus::kOk;
  std::string reason;   // why the status isn't kOk: one plain sentence with the value; empty for kOk
  std::string culprit;  // the variant that failed, hung or crashed; empty when that isn't known
  double clock_resolution_ns = 0;
  EnvironmentSample before;
  EnvironmentSample after;
  double elapsed_s = 0;  // of the whole launch, set-up and warm-up included
  std::string place;     // the line that it was read from, "records.jsonl:21"; empty: none
};

// One gate run: one variant, one case, one seed.
struct GateRecord {
  int schema = kRecordSchema;
  std::string run_id;
  std::string case_name;
  std::string variant;
  uint64_t seed = 0;
  bool passed = false;
  bool bitwise_repeatable = false;
  std::string same_bits_as;  // another variant whose very output it was found to give; empty: promises none
  double max_abs_error = 0;  // infinite where no output was left, or one without a largest error
  std::string fault;         // empty when passed
  std::string place;         // the line that it was read from, "records.jsonl:21"; empty: none
};

// The records of one run, in the order in which they were written.
struct Records {
  std::vector<LaunchRecord> launches;
  std::vector<GateRecord> gates;
  int torn_lines =
      0;  // 1 when the last line was cut short (a kill while it was written); it counts as not there
};

// What was asked for, by name and as text. Every writer of a version writes all names of a kind; older
// manifests have none, and what isn't there isn't known.
using Definition = std::map<std::string, std::string>;

// A name of both whose values differ.
struct DefinitionChange {
  std::string name, before, after;
};
std::vector<DefinitionChange> Changes(const Definition& before, const Definition& after);

struct ManifestCase {
  std::string name;
  double weight = 1;
  double bytes = 0;      // least bytes from memory for one call
  double flops = 0;      // floating-point operations of one call
  double run_bytes = 0;  // contiguous bytes per page run, which bounds the bandwidth
  std::string dtype;     // "f32", "f16", "bf16"
  std::string cache = "cold";
  Definition problem = {};  // everything else that makes it this problem
};

struct SweepPoint {
  std::string case_name;
  int64_t value = 1;  // on the axis
};

// Cases that differ in one number only.
struct Sweep {
  std::string name;  // a case's name with "*" for the number: "b1_h16_kv8_s*_bs64_hd128_bf16_decode"
  std::string axis;  // "context", "batch", "page_size", "ratio", "queries"
  std::vector<SweepPoint> points;  // at least two, of rising value
};

// Read bandwidth of the machine at one run length.
struct BandwidthCeiling {
  double run_bytes = 0;  // contiguous bytes per run; 0: streams
  int threads = 1;
  double gb_per_s = 0;  // 1e9 bytes a second
};

struct ComputeCeiling {
  std::string isa;    // "scalar", "avx2", "avx512", "avx512bf16", "amx"
  std::string dtype;  // of the inputs
  int threads = 1;
  double gflop_per_s = 0;
};

// What the machine did at its best just before the run.
struct Ceilings {
  std::vector<BandwidthCeiling> bandwidth;
  std::vector<ComputeCeiling> compute;
};

// A file whose code a run measures.
struct CodeFile {
  std::string path;
  std::string hash;  // of its contents
};

// What ran and on what. Strings are for people; empty: not known.
struct EnvironmentFacts {
  std::string cpu;
  std::string cpu_flags;
  std::string isa;  // of Pagoda's own kernels: "scalar", "avx2" …
  std::string caches;
  std::string memory;
  std::string kernel;
  std::string compiler;
  std::string build_flags;
  std::string binary_hash;
  std::string git_commit;
  bool git_dirty = false;
};

struct Unsupported {
  std::string case_name;
  std::string variant;
  std::string reason;
};

// A variant that ran as a program of its own.
struct ManifestProgram {
  std::string name;     // of the variant
  std::string command;  // as given
  std::string about;    // what it said of itself
};

// Names of settings that the report looks at: least calls of each variant before it is timed in a launch, and
// least times of each variant and case over all launches; "0": not asked for.
inline constexpr const char* kWarmupsSetting = "warmups";
inline constexpr const char* kSamplesSetting = "samples";

// Everything that defines a run. Written before the first launch and never changed.
struct Manifest {
  int schema = kManifestSchema;
  std::string run_id;
  std::string suite;
  std::string about;
  std::vector<ManifestCase> cases;
  std::vector<Sweep> sweeps;          // a case may be on several
  std::vector<std::string> variants;  // the baseline among them
  std::string baseline;
  std::vector<std::string> choosers;      // those of the variants that run one of the others
  std::vector<ManifestProgram> programs;  // those of the variants that are no libraries
  int launches = 12;                      // J, per case
  double delta = 0.01;                    // the smallest relative difference that matters
  uint64_t seed = 0;
  int threads = 1;
  Definition settings;         // of timing, beyond the fields above
  std::vector<CodeFile> code;  // older manifests have none
  std::string time;            // ISO 8601, UTC
  std::string command_line;
  EnvironmentFacts environment;
  Ceilings ceilings;
  std::vector<Unsupported> unsupported;
  std::vector<std::string> not_measured;  // what a reader might think was measured, but wasn't
};

}  // namespace pagoda::judge
