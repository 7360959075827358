// An external program for `pagoda bench`: causal softmax attention in f32 on one thread, as plain as it can
// be. Copy it, and put something fast in the place of Attend. docs/external-variants.md says what the fields
// mean.
//   g++ -std=c++20 -O3 -march=native examples/external.cc -o mine
//   pagoda gate smoke --program mine=./mine
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using nlohmann::json;
using Ints = std::vector<int64_t>;

// A file of shared memory, mapped whole.
std::shared_ptr<char> Map(const json& tensor) {
  const int fd = open(tensor["path"].get<std::string>().c_str(), O_RDWR | O_CLOEXEC);
  const auto size = static_cast<size_t>(lseek(fd, 0, SEEK_END));
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return {static_cast<char*>(memory), [size](char* p) { munmap(p, size); }};
}

struct Case {
  explicit Case(const json& prepare) : c(prepare) {}
  json c;
  std::shared_ptr<char> q = Map(c["q"]), k = Map(c["k"]), v = Map(c["v"]), out = Map(c["out"]);
  Ints q_begin = c["q_begin"], kv_len = c["kv_len"], page_begin = c["page_begin"], page_ids = c["page_ids"];
  int64_t heads = c["q_heads"], group = heads / c["kv_heads"].get<int64_t>(), page_size = c["page_size"];
  int64_t dim = c["head_dim"], dim_v = c["head_dim_v"];
};

// One row of one head, which sees the first `keys` keys of sequence b: a softmax with a running maximum.
void AttendRow(const Case& s, size_t pool, size_t b, int64_t keys, int64_t head, const float* q, float* out) {
  const auto row_of = [&](const json& t, const std::shared_ptr<char>& memory, int64_t j) {
    const int64_t page = s.page_ids[s.page_begin[b] + j / s.page_size];
    return reinterpret_cast<const float*>(memory.get() + t["offsets"][pool].get<int64_t>()) +
           page * t["page_stride"].get<int64_t>() + j % s.page_size * t["slot_stride"].get<int64_t>() +
           head / s.group * t["head_stride"].get<int64_t>();
  };
  float largest = -INFINITY, total = 0;
  std::fill_n(out, s.dim_v, 0.0F);
  for (int64_t j = 0; j < keys; ++j) {
    const float *const key = row_of(s.c["k"], s.k, j), *const value = row_of(s.c["v"], s.v, j);
    float score = 0;
    for (int64_t d = 0; d < s.dim; ++d) score += q[d] * key[d];
    score *= s.c["scale"].get<float>();
    const float shrink = score > largest ? std::exp(largest - score) : 1;
    largest = std::max(largest, score);
    const float weight = std::exp(score - largest);
    total = total * shrink + weight;
    for (int64_t d = 0; d < s.dim_v; ++d) out[d] = out[d] * shrink + weight * value[d];
  }
  for (int64_t d = 0; d < s.dim_v && total > 0; ++d) out[d] /= total;
}

void Attend(const Case& s, size_t pool) {
  const auto* const q = reinterpret_cast<const float*>(s.q.get() + s.c["q"]["offset"].get<int64_t>());
  auto* const out = reinterpret_cast<float*>(s.out.get() + s.c["out"]["offset"].get<int64_t>());
  for (size_t b = 0; b < s.kv_len.size(); ++b) {
    for (int64_t row = s.q_begin[b]; row < s.q_begin[b + 1]; ++row) {
      const int64_t keys = s.kv_len[b] - (s.q_begin[b + 1] - row) + 1;
      for (int64_t head = 0; head < s.heads; ++head) {
        const int64_t cell = row * s.heads + head;
        AttendRow(s, pool, b, keys, head, q + cell * s.dim, out + cell * s.dim_v);
      }
    }
  }
}

json Run(const Case& s, const json& request) {
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < request["calls"]; ++i) {
    Attend(s, (request["first_pool"].get<size_t>() + i) % s.c["k"]["offsets"].size());
  }
  return {{"ns", std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count()}};
}

bool Computes(const json& c) {
  return c["dtype"] == "f32" && c["causal"] == true && c["window_left"] == -1 && c["softcap"] == 0 &&
         c["alibi_slopes"].is_null() && c["sinks"].is_null();
}

}  // namespace

int main() {
  std::unique_ptr<Case> prepared;
  for (std::string line; std::getline(std::cin, line);) {
    const json message = json::parse(line);
    json answer = {{"unsupported", "only causal f32 without window, softcap, ALiBi and sinks"}};
    if (message.contains("hello")) {
      answer = {{"hello",
                 {{"protocol", 1}, {"about", "plain C++"}, {"promises", {"repeatable", "batch_invariant"}}}}};
    } else if (message.contains("run")) {
      answer = Run(*prepared, message["run"]);
    } else if (Computes(message["prepare"])) {
      prepared = std::make_unique<Case>(message["prepare"]);
      answer = {{"ready", true}};
    }
    std::cout << answer << std::endl;
  }
}
