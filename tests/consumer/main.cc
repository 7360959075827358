#include <cstdio>

#include "pagoda/tensor.h"

int main() {
  const pagoda::DType dtype = pagoda::DType::kBF16;
  std::printf("%.*s takes %d bytes\n", static_cast<int>(pagoda::NameOf(dtype).size()),
              pagoda::NameOf(dtype).data(), static_cast<int>(pagoda::SizeOf(dtype)));
  return pagoda::NameOf(dtype) == "bf16" ? 0 : 1;
}
