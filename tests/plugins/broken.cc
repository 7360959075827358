// A plug-in of variants that are each wrong in one way, around the example's right one.
#define pagoda_plugin PlainPlugin
#include "examples/plugin.cc"
#undef pagoda_plugin

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

namespace {

int64_t Elements(const pagoda_softmax_batch& batch) {
  return batch.total_q * batch.q_heads * batch.head_dim_v;
}
size_t ElementSize(pagoda_dtype dtype) { return dtype == PAGODA_F32 ? 4 : 2; }

// Answers with the output of the call before.
const char* RunStale(const void* plan, const pagoda_softmax_batch* batch, const pagoda_softmax_call* call) {
  static std::vector<unsigned char> last;
  Run(plan, batch, call);
  const size_t bytes = static_cast<size_t>(Elements(*batch)) * ElementSize(call->out_dtype);
  std::vector<unsigned char> now(bytes);
  std::memcpy(now.data(), call->out, bytes);
  if (last.size() == bytes) std::memcpy(call->out, last.data(), bytes);
  last = now;
  return nullptr;
}

const char* RunNothing(const void*, const pagoda_softmax_batch*, const pagoda_softmax_call*) {
  return nullptr;
}

// Every sequence of more than one page reads its second page in the place of its first.
const char* RunOffByAPage(const void* plan, const pagoda_softmax_batch* batch,
                          const pagoda_softmax_call* call) {
  std::vector<int64_t> pages(batch->page_ids, batch->page_ids + batch->page_begin[batch->batch]);
  for (int64_t b = 0; b < batch->batch; ++b) {
    const int64_t first = batch->page_begin[b];
    if (batch->page_begin[b + 1] - first > 1)
      pages[static_cast<size_t>(first)] = pages[static_cast<size_t>(first) + 1];
  }
  pagoda_softmax_batch wrong = *batch;
  wrong.page_ids = pages.data();
  return Run(plan, &wrong, call);
}

const char* RunPastTheEnd(const void* plan, const pagoda_softmax_batch* batch,
                          const pagoda_softmax_call* call) {
  Run(plan, batch, call);
  Store(call->out, call->out_dtype, Elements(*batch), 1.0F);
  return nullptr;
}

const char* RunMutating(const void* plan, const pagoda_softmax_batch* batch,
                        const pagoda_softmax_call* call) {
  Run(plan, batch, call);
  auto* q = static_cast<unsigned char*>(const_cast<void*>(call->q));
  q[0] = static_cast<unsigned char>(q[0] ^ 1U);
  return nullptr;
}

// What one call writes the next takes back.
const char* RunMutatingInTurns(const void* plan, const pagoda_softmax_batch* batch,
                               const pagoda_softmax_call* call) {
  auto* k = static_cast<unsigned char*>(const_cast<void*>(call->k));
  k[3] = static_cast<unsigned char>(k[3] ^ 1U);
  return Run(plan, batch, call);
}

// The same, from a call on that isn't the first.
const char* RunMutatingInTurnsLater(const void* plan, const pagoda_softmax_batch* batch,
                                    const pagoda_softmax_call* call) {
  static int calls = 0;
  return (++calls > 5 ? RunMutatingInTurns : Run)(plan, batch, call);
}

// Its own results are wrong by what it writes.
const char* RunMutatingAndWrong(const void* plan, const pagoda_softmax_batch* batch,
                                const pagoda_softmax_call* call) {
  auto* q = static_cast<unsigned char*>(const_cast<void*>(call->q));
  for (int i = 0; i < 64; ++i) q[i] = static_cast<unsigned char>(q[i] ^ 0x40U);
  return Run(plan, batch, call);
}

const char* RunMutatingLengths(const void* plan, const pagoda_softmax_batch* batch,
                               const pagoda_softmax_call* call) {
  Run(plan, batch, call);
  --const_cast<int64_t*>(batch->kv_len)[0];
  return nullptr;
}

const char* RunMutatingPages(const void* plan, const pagoda_softmax_batch* batch,
                             const pagoda_softmax_call* call) {
  Run(plan, batch, call);
  std::swap(const_cast<int64_t*>(batch->page_ids)[0], const_cast<int64_t*>(batch->page_ids)[1]);
  return nullptr;
}

const char* RunForEver(const void*, const pagoda_softmax_batch*, const pagoda_softmax_call*) {
  volatile bool go_on = true;
  while (go_on) {
  }
  return nullptr;
}

const char* RunCrashing(const void*, const pagoda_softmax_batch*, const pagoda_softmax_call*) {
  std::abort();  // a sanitizer would catch SIGSEGV itself
  return nullptr;
}

// Right ten times, then the first element is off.
const char* RunWrongLater(const void* plan, const pagoda_softmax_batch* batch,
                          const pagoda_softmax_call* call) {
  static int calls = 0;
  Run(plan, batch, call);
  if (++calls > 10 && Elements(*batch) > 0) Store(call->out, call->out_dtype, 0, 100.0F);
  return nullptr;
}

const char* RunNaN(const void* plan, const pagoda_softmax_batch* batch, const pagoda_softmax_call* call) {
  Run(plan, batch, call);
  if (Elements(*batch) > 0) Store(call->out, call->out_dtype, Elements(*batch) - 1, std::nanf(""));
  return nullptr;
}

const char* RunFailing(const void*, const pagoda_softmax_batch*, const pagoda_softmax_call*) {
  return "no more memory";
}

// Prints where the bench reads, and is right.
const char* RunTalking(const void* plan, const pagoda_softmax_batch* batch, const pagoda_softmax_call* call) {
  std::puts("{\"kind\":\"gate\"}");
  std::fflush(stdout);
  return Run(plan, batch, call);
}

const char* SupportsCrashing(const pagoda_softmax_batch*) {
  std::abort();  // a sanitizer would catch SIGSEGV itself
  return nullptr;
}

const char* SupportsEndingTheProcess(const pagoda_softmax_batch*) {
  std::_Exit(0);
  return nullptr;
}

const char* SupportsForEver(const pagoda_softmax_batch*) {
  RunForEver(nullptr, nullptr, nullptr);
  return nullptr;
}

const char* SupportsNothing(const pagoda_softmax_batch*) {
  static const std::string reason = "only on\nTuesdays\xff" + std::string(1000000, '!');
  return reason.c_str();
}

// Right in the gate, which asks for an LSE; the bench doesn't.
const char* RunEndingTheBench(const void* plan, const pagoda_softmax_batch* batch,
                              const pagoda_softmax_call* call) {
  if (call->lse == nullptr) std::_Exit(0);
  return Run(plan, batch, call);
}

const char* RunFailingAtLength(const void*, const pagoda_softmax_batch*, const pagoda_softmax_call*) {
  static const std::string message = "no more memory\n" + std::string(4000000, '!');
  return message.c_str();
}

const pagoda_softmax_variant kBroken[] = {
    {"stale", nullptr, 0, Supports, nullptr, RunStale, nullptr},
    {"nothing", nullptr, 0, Supports, nullptr, RunNothing, nullptr},
    {"off_by_a_page", nullptr, 0, Supports, nullptr, RunOffByAPage, nullptr},
    {"past_the_end", nullptr, 0, Supports, nullptr, RunPastTheEnd, nullptr},
    {"mutates", nullptr, 0, Supports, nullptr, RunMutating, nullptr},
    {"mutates_in_turns", nullptr, 0, Supports, nullptr, RunMutatingInTurns, nullptr},
    {"mutates_in_turns_later", nullptr, 0, Supports, nullptr, RunMutatingInTurnsLater, nullptr},
    {"mutates_and_is_wrong", nullptr, 0, Supports, nullptr, RunMutatingAndWrong, nullptr},
    {"mutates_lengths", nullptr, 0, Supports, nullptr, RunMutatingLengths, nullptr},
    {"mutates_pages", nullptr, 0, Supports, nullptr, RunMutatingPages, nullptr},
    {"hangs", nullptr, 0, Supports, nullptr, RunForEver, nullptr},
    {"crashes", nullptr, 0, Supports, nullptr, RunCrashing, nullptr},
    {"wrong_later", nullptr, 0, Supports, nullptr, RunWrongLater, nullptr},
    {"nan", nullptr, 0, Supports, nullptr, RunNaN, nullptr},
    {"fails", nullptr, 0, Supports, nullptr, RunFailing, nullptr},
    {"talks", nullptr, 0, Supports, nullptr, RunTalking, nullptr},
    {"fails_at_length", nullptr, 0, Supports, nullptr, RunFailingAtLength, nullptr},
    {"ends_the_bench", nullptr, 0, Supports, nullptr, RunEndingTheBench, nullptr},
    {"crashes_when_asked", nullptr, 0, SupportsCrashing, nullptr, Run, nullptr},
    {"ends_when_asked", nullptr, 0, SupportsEndingTheProcess, nullptr, Run, nullptr},
    {"hangs_when_asked", nullptr, 0, SupportsForEver, nullptr, Run, nullptr},
    {"supports_nothing", nullptr, 0, SupportsNothing, nullptr, Run, nullptr},
    {"right", nullptr, kVariants[0].promises, Supports, nullptr, Run, nullptr},
};
const pagoda_plugin_info kBrokenPlugin = {PAGODA_PLUGIN_ABI, std::size(kBroken), kBroken};

}  // namespace

extern "C" const pagoda_plugin_info* pagoda_plugin(void) { return &kBrokenPlugin; }
