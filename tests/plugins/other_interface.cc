// A build of Pagoda's kernels whose interface is of another version.
#include "engine/attention/kernel_library.h"

extern "C" const pagoda::KernelLibrary* pagoda_kernel_library() {
  static const pagoda::KernelLibrary library = {.abi = pagoda::kKernelAbi + 1, .softmax = {}};
  return &library;
}
