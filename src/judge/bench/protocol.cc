#include "judge/bench/protocol.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"

namespace pagoda::judge {
namespace {

// Calls per epoch are never raised beyond this, so that an arm that reports no time can't hang the launch.
constexpr int64_t kMostCalls = int64_t{1} << 22;
// One step of the calibration multiplies by at most this: the first calls are slow, so they say too little.
constexpr int64_t kMostGrowth = 10;
// Headroom over epoch_ns, since half of the epochs are faster than their median.
constexpr double kHeadroom = 1.1;
constexpr size_t kWindow = 3;

// Both clocks must reach the epoch length, since both get a verdict; an arm without device time has one
// clock.
double Shorter(const EpochTime& t) { return t.device_ns > 0 ? std::min(t.host_ns, t.device_ns) : t.host_ns; }

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

template <typename Field>
double MedianOf(std::span<const EpochTime> epochs, Field field) {
  std::vector<double> values(epochs.size());
  std::transform(epochs.begin(), epochs.end(), values.begin(), field);
  return Median(std::move(values));
}

int64_t NextCalls(int64_t calls, double shortest_ns, double epoch_ns) {
  const double wanted = shortest_ns > 0
                            ? std::ceil(static_cast<double>(calls) * epoch_ns * kHeadroom / shortest_ns)
                            : static_cast<double>(kMostCalls);
  const int64_t most = std::min(kMostCalls, calls * kMostGrowth);
  return std::clamp(wanted < static_cast<double>(most) ? static_cast<int64_t>(wanted) : most, calls, most);
}

class Launch {
 public:
  Launch(std::span<const std::unique_ptr<Arm>> arms, const ProtocolOptions& options,
         const ProtocolHooks& hooks)
      : arms_(arms), options_(options), hooks_(hooks) {}

  LaunchMeasurement Run() {
    out_.arms.resize(arms_.size());
    const int64_t begin = hooks_.now_ns();
    Calibrate();
    WarmUp(begin);
    const int64_t warm = hooks_.now_ns();
    out_.warmup_ns = static_cast<double>(warm - begin);
    if (!options_.pilot) RunBlocks();
    const int64_t timed = hooks_.now_ns();
    out_.blocks_ns = static_cast<double>(timed - warm);
    for (size_t a = 0; a < arms_.size(); ++a) {
      Announce(a);
      out_.arms[a].check = arms_[a]->CheckTimedOutput();
    }
    out_.checks_ns = static_cast<double>(hooks_.now_ns() - timed);
    return std::move(out_);
  }

 private:
  void Announce(size_t arm) const {
    if (hooks_.about_to_run) hooks_.about_to_run(arm);
  }
  EpochTime RunEpoch(size_t arm) {
    Announce(arm);
    return arms_[arm]->Run(out_.calls);
  }

  void Calibrate() {
    for (out_.calls = 1;;) {
      double shortest = std::numeric_limits<double>::infinity();
      for (size_t a = 0; a < arms_.size(); ++a) shortest = std::min(shortest, Shorter(RunEpoch(a)));
      if (shortest >= options_.epoch_ns || out_.calls >= kMostCalls) return;
      out_.calls = std::max(NextCalls(out_.calls, shortest, options_.epoch_ns), out_.calls + 1);
    }
  }

  void WarmUp(int64_t begin) {
    std::vector<std::vector<EpochTime>> rounds(arms_.size());
    do {
      for (size_t a = 0; a < arms_.size(); ++a) rounds[a].push_back(RunEpoch(a));
      ++out_.warmup_rounds;
      out_.settled = std::all_of(rounds.begin(), rounds.end(), [&](const auto& r) { return Settled(r); });
    } while (TooFewWarmUps() || (!out_.settled && out_.warmup_rounds < options_.warmup_rounds &&
                                 static_cast<double>(hooks_.now_ns() - begin) < options_.warmup_ns));

    double shortest = std::numeric_limits<double>::infinity();
    for (size_t a = 0; a < arms_.size(); ++a) {
      const auto& all = rounds[a];
      const std::span<const EpochTime> last(all.end() - std::min<std::ptrdiff_t>(kWindow, std::ssize(all)),
                                            all.end());
      const double calls = static_cast<double>(out_.calls);
      out_.arms[a].warm = {MedianOf(last, [](const EpochTime& t) { return t.host_ns; }) / calls,
                           MedianOf(last, [](const EpochTime& t) { return t.device_ns; }) / calls};
      shortest = std::min(shortest, MedianOf(last, Shorter));
    }
    // Warm arms are faster than the ones that were calibrated.
    if (shortest < options_.epoch_ns) out_.calls = NextCalls(out_.calls, shortest, options_.epoch_ns);
  }

  bool TooFewWarmUps() const { return out_.warmup_rounds * out_.calls < options_.least_warmups; }

  bool Settled(std::span<const EpochTime> rounds) const {
    if (rounds.size() < 2 * kWindow) return false;
    const double last = MedianOf(rounds.last(kWindow), Shorter);
    const double before = MedianOf(rounds.last(2 * kWindow).first(kWindow), Shorter);
    return std::abs(last - before) <= options_.settled_change * before;
  }

  void RunBlocks() {
    std::vector<double> epoch_ns(arms_.size());
    for (size_t a = 0; a < arms_.size(); ++a) {
      epoch_ns[a] = out_.arms[a].warm.host_ns * static_cast<double>(out_.calls);
    }
    out_.blocks = ChooseBlocks(epoch_ns, out_.calls, options_);
    for (int block = 0; block < out_.blocks; ++block) {
      for (const size_t a : BlockOrder(arms_.size(), options_.seed, block)) {
        const EpochTime epoch = RunEpoch(a);
        const double calls = static_cast<double>(out_.calls);
        out_.arms[a].passes.push_back({epoch.host_ns / calls, epoch.device_ns / calls});
      }
    }
  }

  std::span<const std::unique_ptr<Arm>> arms_;
  const ProtocolOptions& options_;
  const ProtocolHooks& hooks_;
  LaunchMeasurement out_;
};

}  // namespace

ProtocolOptions WithSamples(const ProtocolOptions& options, int samples, int launches) {
  ProtocolOptions more = options;
  const int passes = 2 * std::max(launches, 1);  // of a block in every launch
  const int least = (samples + passes - 1) / passes;
  for (int* blocks : {&more.blocks, &more.least_blocks, &more.slow_blocks, &more.least_slow_blocks}) {
    *blocks = std::max(*blocks, least);
  }
  return more;
}

int ChooseBlocks(std::span<const double> epoch_ns, int64_t calls, const ProtocolOptions& options) {
  if (epoch_ns.empty()) return 0;
  const double slowest_call =
      *std::max_element(epoch_ns.begin(), epoch_ns.end()) / static_cast<double>(calls);
  const bool slow = slowest_call > options.slow_call_ns;
  const int wanted = slow ? options.slow_blocks : options.blocks;
  const int least = slow ? options.least_slow_blocks : options.least_blocks;
  if (options.cap_ns <= 0) return std::max(wanted, least);
  const double block_ns = 2 * std::accumulate(epoch_ns.begin(), epoch_ns.end(), 0.0);
  const double fitting = block_ns > 0 ? options.cap_ns / block_ns : wanted;
  return std::max(least, fitting < wanted ? static_cast<int>(fitting) : wanted);
}

std::vector<size_t> BlockOrder(size_t arms, uint64_t seed, int block) {
  std::vector<size_t> order(arms);
  std::iota(order.begin(), order.end(), size_t{0});
  Random(seed).Fork(static_cast<uint64_t>(block)).Shuffle(std::span(order));
  order.reserve(2 * arms);
  for (size_t i = arms; i-- > 0;) order.push_back(order[i]);
  return order;
}

LaunchMeasurement RunProtocol(std::span<const std::unique_ptr<Arm>> arms, const ProtocolOptions& options,
                              const ProtocolHooks& hooks) {
  return Launch(arms, options, hooks).Run();
}

}  // namespace pagoda::judge
