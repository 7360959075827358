// The examples, and what the program says about its options.
#include "app/subjects/program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "app/subjects/attention_subject.h"
#include "app/subjects/call_inputs.h"
#include "app/subjects/fault.h"
#include "app/subjects/operator.h"
#include "app/subjects/program_arm.h"
#include "app/subjects/program_message.h"
#include "base/io/json.h"
#include "base/sys/process.h"
#include "engine/attention/variant.h"
#include "judge/bench/case_name.h"
#include "judge/bench/facts.h"
#include "judge/bench/launch_plan.h"
#include "pagoda/status.h"
#include "programs/programs.h"

namespace pagoda::app {
namespace {

using testing::HasSubstr;

template <typename F>
std::string RefusalOf(F f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "no refusal";
}

TEST(ParsePrograms, SplitsNameAndWords) {
  const auto programs = ParsePrograms({"a_1=python3 'x y.py' --z=1", "b=./b"});
  ASSERT_EQ(programs.size(), 2u);
  EXPECT_EQ(programs[0].name, "a_1");
  EXPECT_EQ(programs[0].argv, (std::vector<std::string>{"python3", "x y.py", "--z=1"}));
  EXPECT_EQ(programs[0].AsOption(), "a_1=python3 'x y.py' --z=1");
  EXPECT_EQ(programs[1].command, "./b");
}

TEST(ParsePrograms, SaysWhatIsWrongWithAnOption) {
  const auto refusal = [](std::vector<std::string> options) {
    return RefusalOf([&] { ParsePrograms(options); });
  };
  EXPECT_THAT(refusal({"python3"}), HasSubstr("--program python3 has no =; give NAME=COMMAND"));
  EXPECT_THAT(refusal({"a b=x"}), HasSubstr("letters, digits and _"));
  EXPECT_THAT(refusal({"=x"}), HasSubstr("letters, digits and _"));
  EXPECT_THAT(refusal({"gather=x"}), HasSubstr("the name of a built-in variant"));
  EXPECT_THAT(refusal({"hstu_fused=x"}), HasSubstr("the name of a built-in variant"));
  EXPECT_THAT(refusal({"a= "}), HasSubstr("has no command"));
  EXPECT_THAT(refusal({"a='x"}), HasSubstr("--program a has a ' that is not closed"));
  EXPECT_THAT(refusal({"a=x", "a=y"}), HasSubstr("a name that another has too"));
}

TEST(ParseHello, ReadsWhatAProgramSaysOfItself) {
  const ProgramHello least = ParseHello(R"({"hello":{"protocol":1}})", "hello");
  EXPECT_EQ(least.about, "");
  EXPECT_EQ(least.promises, 0u);
  EXPECT_FALSE(least.lse);
  EXPECT_TRUE(least.Computes(judge::CaseOp::kSoftmaxPaged));
  EXPECT_FALSE(least.Computes(judge::CaseOp::kHstuPaged)) << "it may be older than the operator";
  const ProgramHello all = ParseHello(
      R"({"hello":{"protocol":1,"about":"a\nb","lse":true,"promises":["repeatable","thread_invariant","batch_invariant"]}})",
      "hello");
  EXPECT_EQ(all.about, "a?b");
  EXPECT_EQ(all.promises, uint32_t{kRepeatable | kThreadInvariant | kBatchInvariant});
  EXPECT_TRUE(all.lse);
  const ProgramHello hstu = ParseHello(R"({"hello":{"protocol":1,"ops":["hstu_paged_attention"]}})", "hello");
  EXPECT_EQ(hstu.ops, std::vector{judge::CaseOp::kHstuPaged});
}

TEST(ProgramAnswers, AreReadStrictly) {
  const auto hello = [](const char* line) { return RefusalOf([&] { ParseHello(line, "hello"); }); };
  EXPECT_THAT(hello(""), HasSubstr("hello at byte 0"));
  EXPECT_THAT(hello("[]"), HasSubstr("is not an object"));
  EXPECT_THAT(hello(R"({"ready":true})"), HasSubstr("hello: ready is no known field"));
  EXPECT_THAT(hello(R"({"hello":{}})"), HasSubstr("hello: hello.protocol is missing"));
  EXPECT_THAT(hello(R"({"hello":{"protocol":1,"promises":["fast"]}})"), HasSubstr("\"fast\" is none of"));
  EXPECT_THAT(hello(R"({"hello":{"protocol":1,"lse":1}})"), HasSubstr("is not true or false"));
  EXPECT_THAT(hello(R"({"hello":{"protocol":1,"ops":["hstu"]}})"), HasSubstr("\"hstu\" is none of softmax_"));
  EXPECT_THAT(hello(R"({"hello":{"protocol":1,"ops":[]}})"), HasSubstr("hello.ops is empty"));
  EXPECT_THAT(hello(R"({"hello":{"protocol":1,"ops":"hstu_paged_attention"}})"),
              HasSubstr("is not an array"));
  EXPECT_EQ(hello(R"({"error":"no\u001b[2J"})"), "hello: reported an error: no?[2J");
  const auto prepared = [](const char* line) { return RefusalOf([&] { ParsePrepared(line, "prepare"); }); };
  EXPECT_EQ(ParsePrepared(R"({"ready":true})", "prepare"), std::nullopt);
  EXPECT_EQ(ParsePrepared(R"({"unsupported":"f16"})", "prepare"), "f16");
  EXPECT_THAT(prepared(R"({"ready":false})"), HasSubstr("says nothing"));
  EXPECT_THAT(prepared(R"({"ready":true,"unsupported":"x"})"), HasSubstr("ready is no known field"));
  EXPECT_THAT(prepared("{}"), HasSubstr("ready is missing"));
  const auto ran = [](const char* line) { return RefusalOf([&] { ParseRan(line, "run"); }); };
  EXPECT_EQ(ParseRan(R"({"ns":12.5})", "run"), 12.5);
  for (const char* line : {R"({"ns":0})", R"({"ns":-1})"}) EXPECT_THAT(ran(line), HasSubstr("is no time"));
  EXPECT_THAT(ran(R"({"ns":"1"})"), HasSubstr("is not a number"));
  EXPECT_THAT(ran(R"({"ns":1e999})"), HasSubstr("number overflow"));
  EXPECT_THAT(ran(R"({"ns":[[[[[1]]]]]})"), HasSubstr("more than 4 arrays and objects"));
}

TEST(WrongTime, IsMoreThanPassedOrMostNotCounted) {
  constexpr double kMs = 1e6;
  EXPECT_EQ(WrongTime({.reported_ns = 2 * kMs, .wall_ns = 2.1 * kMs}), std::nullopt);
  EXPECT_EQ(WrongTime({.reported_ns = 2 * kMs, .wall_ns = 90 * kMs}), std::nullopt) << "others may have run";
  EXPECT_EQ(WrongTime({.reported_ns = 2 * kMs, .wall_ns = 150 * kMs}),
            "reported 2 ms for calls that were answered after 150 ms");
  EXPECT_THAT(WrongTime({.reported_ns = 2 * kMs, .wall_ns = 1.9 * kMs}).value_or(""),
              HasSubstr("reported 2 ms"));
}

TEST(WrongTimes, ForgiveABusyMachineButNotAProgramThatNeverCounts) {
  constexpr double kMs = 1e6;
  const ProgramTime right{.reported_ns = 2 * kMs, .wall_ns = 2.3 * kMs};
  const ProgramTime late{.reported_ns = 2 * kMs, .wall_ns = 8 * kMs};
  std::vector<ProgramTime> epochs(7, late);
  EXPECT_EQ(WrongTimes({}), std::nullopt);
  EXPECT_EQ(WrongTimes(epochs), std::nullopt) << "too few";
  epochs.resize(20, late);
  EXPECT_EQ(WrongTimes(epochs),
            "reported 2 ms for calls that were answered after 8 ms, and others even later");
  epochs[3] = epochs[10] = epochs[19] = right;
  EXPECT_EQ(WrongTimes(epochs), std::nullopt);
}

TEST(Program, ThatDoesNotAnswerIsGivenUp) {
  const auto begin = std::chrono::steady_clock::now();
  const ProgramCommand silent = ParsePrograms({"silent=sleep 1000"}).front();
  EXPECT_EQ(RefusalOf([&] { const Program program(silent, 0.2); }), "hello: did not answer within 0.2 s");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Program, ThatIsNotThereIsAnError) {
  const ProgramCommand nowhere = ParsePrograms({"x=/nowhere/x"}).front();
  EXPECT_THAT(RefusalOf([&] { const Program program(nowhere); }), HasSubstr("/nowhere/x can't be started"));
}

// Corners of the case grammar that the examples compute.
TEST(ExamplePrograms, PassTheGate) {
  AttentionSubject subject(
      ParsePrograms({"py=" + PythonExample(), std::string("cc=") + PAGODA_TEST_EXAMPLE}));
  for (const char* name : {"b2_h4_kv2_s30-7_bs16_hd8_f32_decode", "b2_h3_kv1_s20-1_bs7_hd5_f32_q9-1_dv4_hnd",
                           "b2_h2_kv2_s9-20_bs8_hd8_f32_q3-1_combined_padded"}) {
    for (const char* variant : {"py", "cc"}) {
      const judge::CaseSpec spec = judge::ParseCaseName(name);
      EXPECT_EQ(subject.WhyNot(spec, variant), std::nullopt);
      for (const uint64_t seed : {2026, 2029}) {
        const judge::GateResult result = subject.Gate(spec, variant, seed, 2);
        EXPECT_TRUE(result.passed) << name << " " << variant << ": " << result.fault;
        EXPECT_TRUE(result.bitwise_repeatable);
        EXPECT_EQ(result.variant, variant);
      }
    }
  }
}

TEST(ExamplePrograms, SayWhatTheyDontCompute) {
  const AttentionSubject subject(
      ParsePrograms({"py=" + PythonExample(), std::string("cc=") + PAGODA_TEST_EXAMPLE}));
  for (const char* name :
       {"b1_h2_kv1_s9_bs8_hd8_bf16_decode", "b1_h2_kv1_s9_bs8_hd8_f32_decode_alibi",
        "b1_h2_kv1_s9_bs8_hd8_f32_decode_sinks", "b1_h2_kv1_s9_bs8_hd8_f32_decode_cap20"}) {
    for (const char* variant : {"py", "cc"}) {
      EXPECT_EQ(subject.WhyNot(judge::ParseCaseName(name), variant),
                "only causal f32 without window, softcap, ALiBi and sinks");
    }
  }
}

TEST(ExamplePrograms, AreTimedOverAllPoolsAndAgainstAProcessOfTheSameCommand) {
  AttentionSubject subject(ParsePrograms({std::string("cc=") + PAGODA_TEST_EXAMPLE}));
  const judge::CaseSpec spec = judge::ParseCaseName("b2_h2_kv1_s33-4_bs8_hd8_f32_decode");
  std::vector<size_t> slots;
  const auto arms = subject.Prepare(spec, {.arms = {{"cc", 1}, {"cc", 0}},
                                           .seed = 3,
                                           .threads = 2,
                                           .cold = true,
                                           .about_to_prepare = [&](size_t slot) { slots.push_back(slot); }});
  EXPECT_THAT(slots, testing::ElementsAre(0, 1, 0, 1));
  for (const auto& arm : arms) {
    const judge::EpochTime time = arm->Run(5);
    EXPECT_GT(time.device_ns, 0);
    EXPECT_EQ(time.host_ns, time.device_ns);
    const judge::CheckResult check = arm->CheckTimedOutput();
    EXPECT_TRUE(check.passed) << check.fault;
  }
}

// The same of HSTU: every mask, layouts, targets and none.
TEST(ExamplePrograms, OfHstuPassTheGate) {
  AttentionSubject subject(ParsePrograms({"py=" + HstuExample()}));
  for (const char* name : {
           "hstu_b2_h4_kv2_s30-7_bs16_hd8_f32_decode",
           "hstu_b2_h2_kv1_s20-17_bs7_hd5_f32_q9_dv4_hnd_padded_i64_t4_g2_c10_rab",
           "hstu_b1_h2_kv2_s24_bs8_hd8_f32_q9_combined_t2_c3_al5_fa2",
           "hstu_b1_h2_kv1_s20_bs8_hd8_f32_q9_wl5_t3_c2",
           "hstu_b1_h2_kv2_s20_bs8_hd8_f32_q4_noncausal_wl6_wr2",
       }) {
    const judge::CaseSpec spec = judge::ParseCaseName(name);
    EXPECT_EQ(subject.WhyNot(spec, "py"), std::nullopt);
    for (const uint64_t seed : {2026, 2029}) {
      const judge::GateResult result = subject.Gate(spec, "py", seed, 2);
      EXPECT_TRUE(result.passed) << name << ": " << result.fault;
      EXPECT_TRUE(result.bitwise_repeatable);
    }
  }
  EXPECT_EQ(subject.WhyNot(judge::ParseCaseName("hstu_b1_h2_kv2_s9_bs8_hd8_f16_decode"), "py"), "only f32");
  const judge::CaseSpec softmax = judge::ParseCaseName("b1_h2_kv1_s9_bs8_hd8_f32_decode");
  EXPECT_TRUE(subject.Gate(softmax, "py", 2026, 2).passed) << "it computes both";
}

TEST(Program, IsAVariantOfEachOperatorUntilItIsAsked) {
  const AttentionSubject subject(ParsePrograms({"x=/nowhere/x"}));
  const auto count = [](const std::vector<std::string>& names) {
    return std::count(names.begin(), names.end(), "x");
  };
  EXPECT_EQ(count(subject.Variants()), 1);
  EXPECT_EQ(count(subject.VariantsOf(judge::CaseOp::kSoftmaxPaged)), 1);
  EXPECT_EQ(count(subject.VariantsOf(judge::CaseOp::kHstuPaged)), 1);
}

// What knows softmax alone would compute it, whatever it is asked for.
TEST(Program, ThatListsNoHstuIsNeverAskedForIt) {
  AttentionSubject subject(ParsePrograms({std::string("cc=") + PAGODA_TEST_EXAMPLE}));
  const judge::CaseSpec spec = judge::ParseCaseName("hstu_b1_h2_kv1_s9_bs8_hd8_f32_decode");
  EXPECT_EQ(subject.WhyNot(spec, "cc"), "op = hstu_paged_attention is not in the ops that its hello lists");
  EXPECT_THAT(RefusalOf([&] { subject.Gate(spec, "cc", 2026, 1); }), HasSubstr("\"cc\""));
}

TEST(ExamplePrograms, OfHstuAreTimedOverAllPools) {
  AttentionSubject subject(ParsePrograms({"py=" + HstuExample()}));
  const judge::CaseSpec spec = judge::ParseCaseName("hstu_b2_h2_kv1_s33-14_bs8_hd8_f32_q5_t3_rab");
  const auto arms =
      subject.Prepare(spec, {.arms = {{"py", 1}, {"py", 0}}, .seed = 3, .threads = 2, .cold = true});
  for (const auto& arm : arms) {
    EXPECT_GT(arm->Run(3).device_ns, 0);
    const judge::CheckResult check = arm->CheckTimedOutput();
    EXPECT_TRUE(check.passed) << check.fault;
  }
}

// The interpreter that PYTHON names, which may have PyTorch.
std::string TorchPython() {
  const char* const named = std::getenv("PYTHON");
  return named != nullptr ? named : PAGODA_TEST_PYTHON;
}

bool HasTorch(const std::string& python) {
  return sys::RunProcess({.argv = {python, "-c", "import torch"}, .timeout_s = 120}).ok();
}

// A program of compare/ under the name that compare/torch gives it.
std::string TorchProgram(const char* script, const std::string& mode) {
  return fmt::format(
      "torch_{}={}", mode,
      judge::CommandLine({TorchPython(), fmt::format(PAGODA_TEST_SOURCES "/compare/{}", script), mode}));
}

// The lengths differ, and some sequences share theirs.
TEST(TorchPrograms, PassTheGate) {
  if (!HasTorch(TorchPython())) GTEST_SKIP() << TorchPython() << " has no PyTorch";
  AttentionSubject subject(ParsePrograms(
      {TorchProgram("torch_attention.py", "gather"), TorchProgram("torch_attention.py", "packed")}));
  for (const char* variant : {"torch_gather", "torch_packed"}) {
    for (const char* name :
         {"b3_h4_kv2_s40-33-40_bs16_hd64_bf16_decode", "b3_h8_kv2_s40-33-40_bs16_hd64_f32_q7-1-7_hnd",
          "b2_h4_kv4_s40-17_bs7_hd64_f16_q40-9_combined", "b1_h4_kv1_s20_bs16_hd64_f32_q5_noncausal"}) {
      const judge::GateResult result = subject.Gate(judge::ParseCaseName(name), variant, 2029, 2);
      EXPECT_TRUE(result.passed) << name << " " << variant << ": " << result.fault;
    }
    EXPECT_EQ(subject.WhyNot(judge::ParseCaseName("b1_h4_kv1_s20_bs16_hd64_f32_decode_sinks"), variant),
              "sinks is not part of scaled_dot_product_attention");
  }
}

// Where the terms are few, scores that were rounded to 16 bits are too far off: there the f32 form alone.
TEST(TorchPrograms, OfHstuPassTheGate) {
  if (!HasTorch(TorchPython())) GTEST_SKIP() << TorchPython() << " has no PyTorch";
  AttentionSubject subject(
      ParsePrograms({TorchProgram("torch_hstu.py", "gather"), TorchProgram("torch_hstu.py", "gather_f32")}));
  const std::vector<std::string> both = {"torch_gather", "torch_gather_f32"};
  const std::vector<std::string> f32 = {"torch_gather_f32"};
  for (const auto& [name, variants] : std::vector<std::pair<const char*, std::vector<std::string>>>{
           {"hstu_b3_h4_kv2_s400-330-400_bs16_hd64_bf16_decode", both},
           {"hstu_b1_h4_kv1_s200_bs1_hd40_f32_q150_combined_t4_c60_al30_fa5", both},
           {"hstu_b2_h4_kv2_s90-61_bs16_hd64_f32_q30_dv48_hnd_padded_i64_wl20_t12_g3_c5_rab", both},
           {"hstu_b2_h2_kv2_s90-5_bs7_hd16_bf16_q5_t5", f32},
           {"hstu_b2_h4_kv2_s90-61_bs16_hd64_bf16_q30_dv48_t12_g3_c5_rab", f32},
           {"hstu_b1_h2_kv2_s300_bs32_hd80_f16_q70_noncausal_wl40_wr3", f32},
       }) {
    for (const std::string& variant : variants) {
      EXPECT_EQ(subject.WhyNot(judge::ParseCaseName(name), variant), std::nullopt);
      const judge::GateResult result = subject.Gate(judge::ParseCaseName(name), variant, 2029, 2);
      EXPECT_TRUE(result.passed) << name << " " << variant << ": " << result.fault;
    }
  }
}

// Its own tensors are for the variants that are built in; the others get the case's shape.
TEST(GateCommand, TakesACaseFileWithAnExpectation) {
  const sys::ProcessResult r = sys::RunProcess(
      {.argv = {PAGODA_TEST_PROGRAM, "gate", PAGODA_TEST_SOURCES "/tests/data/cases/dims_d1_f32.safetensors",
                "--variants", "gather", "--program", std::string("cc=") + PAGODA_TEST_EXAMPLE},
       .timeout_s = 120});
  EXPECT_EQ(r.exit_code, 0) << r.err;
}

// The message of a case without any data; its tensors are places that differ in their offsets.
template <typename Batch>
nlohmann::json MessageOf(const char* name) {
  const typename OperatorOf<Batch>::Shape shape(judge::ParseCaseName(name));
  const auto batch = Normalise(shape.batch);
  ProgramTensors tensors;
  const CallInputs inputs = InputsOfCall(batch, shape.call);
  for (size_t i = 0; i < kCallInputs; ++i) {
    if (!inputs[i].empty()) tensors.inputs[i].push_back({"in", static_cast<int64_t>(i)});
  }
  tensors.out = {"out", 100};
  return io::ParseJson(PrepareMessage(batch, shape.call, 2, tensors), "message").at("prepare");
}

// Every field is explained, those of a tensor too.
void ExpectDocumented(const nlohmann::json& message) {
  std::ifstream file(PAGODA_TEST_SOURCES "/docs/external-variants.md");
  const std::string docs(std::istreambuf_iterator<char>(file), {});
  for (const auto& [field, value] : message.items()) {
    EXPECT_THAT(docs, HasSubstr("`" + field + "`"));
    if (!value.is_object()) continue;
    for (const auto& [part, of] : value.items()) EXPECT_THAT(docs, HasSubstr("`" + part + "`"));
  }
}

TEST(PrepareMessage, OfSoftmaxSaysAllOfACase) {
  const nlohmann::json message = MessageOf<SoftmaxBatch>("b1_h2_kv1_s9_bs8_hd8_f32_decode");
  ExpectDocumented(message);
  EXPECT_EQ(message.at("op"), "softmax_paged_attention");
  EXPECT_EQ(message.at("kv_len"), nlohmann::json({9}));
  EXPECT_EQ(message.at("v").at("offsets"), nlohmann::json({2}));
  EXPECT_EQ(message.at("lse"), nullptr);
}

TEST(PrepareMessage, OfHstuSaysAllOfACase) {
  const nlohmann::json message =
      MessageOf<HstuBatch>("hstu_b2_h4_kv2_s20-17_bs8_hd4_bf16_q9_wl6_t4_g2_c3_rab");
  ExpectDocumented(message);
  EXPECT_EQ(message.at("op"), "hstu_paged_attention");
  EXPECT_EQ(message.at("mask"), "causal");
  EXPECT_EQ(message.at("alpha"), 0.5) << "1 / sqrt(head_dim)";
  EXPECT_EQ(message.at("silu_scale").get<float>(), 1.0F / 20) << "1 / the longest sequence";
  EXPECT_EQ(message.at("target_group"), 2);
  EXPECT_EQ(message.at("window_left"), 6);
  EXPECT_EQ(message.at("max_attn_len"), 0);
  EXPECT_EQ(message.at("min_full_attn_seq_len"), 0);
  EXPECT_EQ(message.at("kv_len"), nlohmann::json({20, 17}));
  EXPECT_EQ(message.at("history"), nlohmann::json({16, 13}));
  EXPECT_EQ(message.at("contextual"), nlohmann::json({3, 3}));
  EXPECT_EQ(message.at("page_begin"), nlohmann::json({0, 2, 4})) << "of the history alone";
  EXPECT_EQ(message.at("v").at("offsets"), nlohmann::json({2}));
  EXPECT_EQ(message.at("target_v"), nlohmann::json({{"path", "in"}, {"offset", 4}}));
  EXPECT_EQ(message.at("rab"), nlohmann::json({{"path", "in"},
                                               {"offset", 5},
                                               {"batch_stride", 0},
                                               {"head_stride", 0},
                                               {"row_stride", 20},
                                               {"key_stride", 1}}));

  const nlohmann::json least = MessageOf<HstuBatch>("hstu_b1_h4_kv2_s20_bs8_hd4_bf16_decode_noncausal_wr0");
  EXPECT_EQ(least.at("mask"), "none");
  EXPECT_EQ(least.at("window_right"), 0);
  for (const char* tensor : {"target_k", "target_v", "rab"}) EXPECT_EQ(least.at(tensor), nullptr) << tensor;
}

TEST(PrepareMessage, RefusesWhatItCantSay) {
  const HstuShape shape(judge::ParseCaseName("hstu_b1_h4_kv2_s20_bs8_hd4_bf16_decode"));
  const auto refusal = [&](auto change) {
    NormalHstuBatch batch = Normalise(shape.batch);
    change(batch);
    ProgramTensors tensors;
    for (const CallInput input : {kInputQ, kInputK, kInputV}) tensors.inputs[input].push_back({"in", 0});
    return RefusalOf([&] { PrepareMessage(batch, shape.call, 1, tensors); });
  };
  EXPECT_EQ(refusal([](NormalHstuBatch&) {}), "no refusal");
  for (const HstuMask mask : {HstuMask::kDense, HstuMask::kInterval}) {
    EXPECT_EQ(refusal([mask](NormalHstuBatch& batch) { batch.mask = mask; }),
              "mask of an external program must be causal or none");
  }
  EXPECT_EQ(refusal([](NormalHstuBatch& batch) { batch.paged = false; }),
            "table is missing: a program gets paged keys");
}

// No process of a program outlives the one that started it.
TEST(Program, DiesWithItsParent) {
  const std::string pid_file = testing::TempDir() + "program.pid";
  const std::string script = fmt::format("sh -c 'echo $$ > {}; exec sleep 1000'", pid_file);
  const sys::ProcessResult r =
      sys::RunProcess({.argv = {PAGODA_TEST_PROGRAM, "launch", "--program", "x=" + script, "--mark",
                                testing::TempDir() + "x.mark"},
                       .stdin_text = judge::ToJson(
                           judge::GatePlan{.run_id = "r",
                                           .spec = judge::ParseCaseName("b1_h2_kv1_s9_bs8_hd8_f32_decode"),
                                           .runs = {{"x", 1}},
                                           .threads = 1}),
                       .timeout_s = 2});
  EXPECT_TRUE(r.timed_out);
  int pid = 0;
  std::ifstream(pid_file) >> pid;
  ASSERT_GT(pid, 0);
  const auto gone = [pid] { return !std::ifstream(fmt::format("/proc/{}/stat", pid)).good(); };
  for (int i = 0; i < 500 && !gone(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(gone());
}

// Each variant on the cases of its operators; the others are listed with the reason.
TEST(GateCommand, TakesASuiteOfBothOperators) {
  const sys::ProcessResult r = sys::RunProcess(
      {.argv = {PAGODA_TEST_PROGRAM, "gate", WriteMixedSuite(testing::TempDir() + "mixed.toml"), "--json",
                "--variants", "gather,hstu_fused", "--program", "softmax=" + PythonExample(), "--program",
                "both=" + HstuExample()},
       .timeout_s = 120});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  const nlohmann::json report = io::ParseJson(r.out, "gate");
  EXPECT_EQ(report.at("passed"), 3 * 5);
  EXPECT_EQ(report.at("total"), 3 * 5);
  std::map<std::string, std::string> skipped;
  for (const nlohmann::json& s : report.at("skipped")) skipped[s.at("variant")] = s.at("reason");
  EXPECT_EQ(skipped, (std::map<std::string, std::string>{
                         {"gather", "op = hstu_paged_attention is not what it computes"},
                         {"hstu_fused", "op = softmax_paged_attention is not what it computes"},
                         {"softmax", "op = hstu_paged_attention is not in the ops that its hello lists"}}));
}

TEST(GateCommand, SaysWhatIsWrongWithAProgram) {
  const std::string suite = WriteSmallSuite(testing::TempDir() + "program_suite.toml");
  const auto gate = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {PAGODA_TEST_PROGRAM, "gate", suite, "--json"});
    return sys::RunProcess({.argv = more, .timeout_s = 120});
  };
  const sys::ProcessResult right = gate({"--variants", "py,gather", "--program", "py=" + PythonExample()});
  EXPECT_EQ(right.exit_code, 0) << right.err;
  const nlohmann::json report = io::ParseJson(right.out, "gate");
  EXPECT_EQ(report.at("passed"), 6);
  EXPECT_EQ(report.at("runs").at(0).at("variant"), "py") << "where --variants names it";
  for (const auto& [program, says] : std::vector<std::pair<std::string, std::string>>{
           {"x=/nowhere/x", "--program x /nowhere/x can't be started: No such file or directory"},
           {"x=sh -c 'read x; echo hi'", "--program x hello at byte 1: parse error"},
           {"x=true", "--program x hello: ended with exit code 0"},
           {"gather=true", "the name of a built-in variant"}}) {
    const sys::ProcessResult r = gate({"--variants", "gather", "--program", program});
    EXPECT_EQ(r.exit_code, 2) << program;
    EXPECT_THAT(r.err, HasSubstr(says));
    EXPECT_EQ(r.out, "");
  }
}

}  // namespace
}  // namespace pagoda::app
