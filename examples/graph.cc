// A task graph: the dot product of two arrays, part by part. Nobody says who waits for whom: the products of
// a part are read by the task that adds them, and all of these write the one sum.
#include "pagoda/graph.h"

#include <cstdint>
#include <cstdio>
#include <vector>

#include "pagoda/thread_pool.h"

namespace pg = pagoda::graph;
using pagoda::DType;
using pagoda::TensorView;

namespace {

float* Floats(const TensorView& tensor) { return static_cast<float*>(tensor.data); }

void Multiply(const pg::Context& task) {
  const float* a = Floats(task.tensors[0]);
  const float* b = Floats(task.tensors[1]);
  for (int64_t i = 0; i < task.tensors[2].shape[0]; ++i) Floats(task.tensors[2])[i] = a[i] * b[i];
}

void Add(const pg::Context& task) {
  for (int64_t i = 0; i < task.tensors[0].shape[0]; ++i)
    *Floats(task.tensors[1]) += Floats(task.tensors[0])[i];
}

}  // namespace

int main() {
  constexpr int64_t kElements = 1'000'000, kPart = 10'000;
  std::vector<float> a(kElements, 0.5F), b(kElements, 2.0F);
  float sum = 0;
  const pg::Tensor all_a(TensorView::Dense(a.data(), DType::kF32, {kElements}));
  const pg::Tensor all_b(TensorView::Dense(b.data(), DType::kF32, {kElements}));
  const pg::Tensor total(TensorView::Dense(&sum, DType::kF32, {1}));

  pagoda::ThreadPool pool(pagoda::DefaultThreads());
  pg::Graph graph(pool);
  graph.Run([&] {
    for (int64_t at = 0; at < kElements; at += kPart) {
      const pg::Graph::Scope scope(graph);  // behind it the products' memory is free for the next part
      pg::Tensor products;
      graph.Submit("multiply", Multiply,
                   {pg::In(all_a.Slice(0, at, at + kPart)), pg::In(all_b.Slice(0, at, at + kPart)),
                    pg::Out(products, DType::kF32, {kPart})});
      graph.Submit("add", Add, {pg::In(products), pg::InOut(total)});
    }
  });
  std::printf("%lld products, sum = %.0f\n", static_cast<long long>(kElements), sum);
  return sum == kElements ? 0 : 1;
}
