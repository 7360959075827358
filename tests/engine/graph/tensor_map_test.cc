#include "engine/graph/tensor_map.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/elements.h"

namespace pagoda::graph::testing {
namespace {

// An access of a random program.
struct Use {
  int buffer = 0;
  TensorView tensor;
  bool reads = false, writes = false;
};

struct Step {
  std::vector<Use> uses;
  bool oldest_retires = false;  // before this task is submitted
};
using Program = std::vector<Step>;

uintptr_t BaseOf(int buffer) { return static_cast<uintptr_t>(buffer + 1) << 20; }

Program ArbitraryProgram() {
  const std::vector<std::vector<int64_t>> arrays = {{6}, {4, 5}, {3, 4, 4}};
  Program program(*rc::gen::inRange<size_t>(1, 24));
  const bool transposed = *rc::gen::arbitrary<bool>();
  for (Step& step : program) {
    step.oldest_retires = *rc::gen::inRange(0, 3) == 0;
    step.uses.resize(*rc::gen::inRange<size_t>(0, 5));
    for (Use& use : step.uses) {
      use.buffer = *rc::gen::inRange(0, 3);
      use.tensor =
          ArbitrarySlice(BaseOf(use.buffer), DType::kF32, arrays[static_cast<size_t>(use.buffer)], false);
      if (transposed && *rc::gen::inRange(0, 6) == 0) use.tensor = Transposed(use.tensor);
      const int kind = *rc::gen::inRange(0, 3);
      use.reads = kind != 1;
      use.writes = kind != 0;
    }
  }
  return program;
}

std::string Describe(const Program& program) {
  std::string text;
  for (size_t i = 0; i < program.size(); ++i) {
    text += fmt::format("task {}{}\n", i, program[i].oldest_retires ? ", after the oldest retired" : "");
    for (const Use& use : program[i].uses) {
      text += fmt::format("  {}{} buffer {} +{}:", use.reads ? "r" : "", use.writes ? "w" : "", use.buffer,
                          (reinterpret_cast<uintptr_t>(use.tensor.data) - BaseOf(use.buffer)) / 4);
      for (int d = 0; d < use.tensor.rank; ++d)
        text += fmt::format(" {}x{}", use.tensor.shape[d], use.tensor.strides[d]);
      text += "\n";
    }
  }
  return text;
}

// Whether all steps of two parts of an array are the same: then they are boxes of one lattice.
bool SameSteps(const TensorView& a, const TensorView& b) {
  for (int d = 0; d < a.rank; ++d) {
    if (a.strides[d] != b.strides[d] && (a.shape[d] != 1 || b.shape[d] != 1)) return false;
  }
  return true;
}

enum class By : uint8_t { kElements, kWhatIsCompared };

// Whether two accesses touch: by their elements, or as far as that is compared, which of parts with other
// steps is their first and last bytes.
bool Touch(const Use& a, const Use& b, By by) {
  if (a.buffer != b.buffer) return false;
  const auto of_a = AddressesOf(a.tensor);
  const auto of_b = AddressesOf(b.tensor);
  if (of_a.empty() || of_b.empty()) return false;
  if (by == By::kElements || SameSteps(a.tensor, b.tensor)) return AnyCommon(of_a, of_b);
  return *of_a.begin() <= *of_b.rbegin() && *of_b.begin() <= *of_a.rbegin();
}

bool MustWait(const Step& earlier, const Step& later, By by) {
  for (const Use& a : earlier.uses) {
    for (const Use& b : later.uses) {
      if ((a.writes || b.writes) && Touch(a, b, by)) return true;
    }
  }
  return false;
}

using Edges = std::vector<std::set<size_t>>;  // of each task: those that it waits for

// With all that follows from them; tasks only wait for earlier ones.
Edges Closed(Edges edges) {
  for (std::set<size_t>& before : edges) {
    const std::set<size_t> direct = before;
    for (const size_t task : direct) before.insert(edges[task].begin(), edges[task].end());
  }
  return edges;
}

// Tasks below `retired[i]` have retired when task i is submitted.
std::vector<size_t> Retired(const Program& program) {
  std::vector<size_t> retired;
  size_t count = 0;
  for (size_t i = 0; i < program.size(); ++i) {
    if (program[i].oldest_retires && count < i) ++count;
    retired.push_back(count);
  }
  return retired;
}

Edges ByBruteForce(const Program& program, By by) {
  const std::vector<size_t> retired = Retired(program);
  Edges edges(program.size());
  for (size_t later = 0; later < program.size(); ++later) {
    for (size_t earlier = retired[later]; earlier < later; ++earlier) {
      if (MustWait(program[earlier], program[later], by)) edges[later].insert(earlier);
    }
  }
  return edges;
}

// The closure without what had retired: a task that retired can't be waited for, nor what it waited for.
Edges ClosedAmongLive(const Program& program, const Edges& edges) {
  Edges closed = Closed(edges);
  const std::vector<size_t> retired = Retired(program);
  for (size_t i = 0; i < closed.size(); ++i)
    std::erase_if(closed[i], [&](size_t task) { return task < retired[i]; });
  return closed;
}

bool Holds(const std::set<size_t>& all, const std::set<size_t>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

// Submits a program to a map.
struct Submitted {
  TensorMap map;
  std::vector<std::deque<TensorMap::Access>> accesses;  // of each task
  Edges edges;
  std::vector<std::pair<size_t, Hazard>> reasons;

  explicit Submitted(const Program& program) : accesses(program.size()), edges(program.size()) {
    const std::vector<size_t> retired = Retired(program);
    size_t gone = 0;
    for (size_t i = 0; i < program.size(); ++i) {
      for (; gone < retired[i]; ++gone) {
        for (TensorMap::Access& access : accesses[gone]) map.Remove(access);
      }
      for (const Use& use : program[i].uses) {
        TensorMap::Access& access = accesses[i].emplace_back();
        access.task = static_cast<int64_t>(i);
        access.base = Address(BaseOf(use.buffer));
        access.tensor = &use.tensor;
        access.reads = use.reads;
        access.writes = use.writes;
        map.Add(access, [&](const TensorMap::Access& earlier, Hazard hazard) {
          edges[i].insert(static_cast<size_t>(earlier.task));
          reasons.emplace_back(i, hazard);
        });
      }
    }
  }
};

// No wait too few by elements, and none too many by what is compared; the same where all steps are.
TEST(TensorMap, FindsWhatBruteForceFinds) {
  EXPECT_TRUE(rc::check([] {
    const Program program = ArbitraryProgram();
    const Submitted run(program);
    const Edges got = ClosedAmongLive(program, run.edges);
    const Edges least = ClosedAmongLive(program, ByBruteForce(program, By::kElements));
    const Edges most = ClosedAmongLive(program, ByBruteForce(program, By::kWhatIsCompared));
    for (size_t i = 0; i < program.size(); ++i) {
      if (!Holds(got[i], least[i]) || !Holds(most[i], got[i]))
        RC_FAIL(fmt::format("task {} waits for {}, must for {} and may for {}\n{}", i, fmt::join(got[i], " "),
                            fmt::join(least[i], " "), fmt::join(most[i], " "), Describe(program)));
    }
  }));
}

TEST(TensorMap, HoldsNothingOfTasksThatRetired) {
  EXPECT_TRUE(rc::check([] {
    const Program program = ArbitraryProgram();
    Submitted run(program);
    for (auto& of_task : run.accesses) {
      for (TensorMap::Access& access : of_task) run.map.Remove(access);
    }
    RC_ASSERT(run.map.accesses() == 0);
  }));
}

Program Pair(bool first_writes, bool second_reads, bool second_writes) {
  Program program(2);
  const TensorView tensor = TensorView::Dense(Address(BaseOf(0)), DType::kF32, {4});
  program[0].uses = {{.tensor = tensor, .reads = !first_writes, .writes = first_writes}};
  program[1].uses = {{.tensor = tensor, .reads = second_reads, .writes = second_writes}};
  return program;
}

TEST(TensorMap, SaysWhy) {
  const auto reasons = [](const Program& program) { return Submitted(program).reasons; };
  using Reasons = std::vector<std::pair<size_t, Hazard>>;
  EXPECT_EQ(reasons(Pair(true, true, false)), (Reasons{{1, Hazard::kReadAfterWrite}}));
  EXPECT_EQ(reasons(Pair(true, true, true)), (Reasons{{1, Hazard::kReadAfterWrite}}));
  EXPECT_EQ(reasons(Pair(true, false, true)), (Reasons{{1, Hazard::kWriteAfterWrite}}));
  EXPECT_EQ(reasons(Pair(false, false, true)), (Reasons{{1, Hazard::kWriteAfterRead}}));
  EXPECT_EQ(reasons(Pair(false, true, false)), Reasons{});
}

// A thousand writes of one tensor leave one access, and so do reads that a write covers.
TEST(TensorMap, DropsWhatALaterWriteCovers) {
  const TensorView tensor = TensorView::Dense(Address(BaseOf(0)), DType::kF32, {4});
  TensorMap map;
  std::deque<TensorMap::Access> accesses;
  for (int64_t task = 0; task < 1000; ++task) {
    TensorMap::Access& access = accesses.emplace_back();
    access.task = task;
    access.base = Address(BaseOf(0));
    access.tensor = &tensor;
    access.reads = task % 2 == 0;
    access.writes = task % 2 == 1;
    int64_t found = 0;
    map.Add(access, [&](const TensorMap::Access& earlier, Hazard) {
      EXPECT_GE(earlier.task, task - 2);  // the write before the read before
      ++found;
    });
    EXPECT_EQ(found, task == 0 ? 0 : task == 1 || task % 2 == 0 ? 1 : 2);
    EXPECT_LE(map.accesses(), 2);
  }
  EXPECT_EQ(map.buffers(), 1);
}

TEST(TensorMap, TellsManyBuffersApart) {
  TensorMap map;
  std::deque<TensorMap::Access> accesses;
  std::deque<TensorView> tensors;
  for (int round = 0; round < 2; ++round) {
    for (int buffer = 0; buffer < 1000; ++buffer) {
      TensorMap::Access& access = accesses.emplace_back();
      access.task = round * 1000 + buffer;
      access.base = Address(BaseOf(buffer));
      tensors.push_back(TensorView::Dense(Address(BaseOf(buffer)), DType::kF32, {4}));
      access.tensor = &tensors.back();
      access.writes = true;
      int64_t found = 0;
      map.Add(access, [&](const TensorMap::Access& earlier, Hazard) {
        EXPECT_EQ(earlier.task, buffer);
        ++found;
      });
      EXPECT_EQ(found, round);
    }
  }
  EXPECT_EQ(map.buffers(), 1000);
  EXPECT_EQ(map.accesses(), 1000);
}

}  // namespace
}  // namespace pagoda::graph::testing
