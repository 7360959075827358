#include "app/subjects/kernel_library.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "base/suggest.h"
#include "base/sys/process.h"
#include "base/sys/shared_library.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

constexpr int kAbi = 1;
constexpr std::array<std::string_view, 2> kFileNames = {"libpagoda_kernels.so",
                                                        "libpagoda_kernels_relink.so"};

std::vector<std::filesystem::path> FoldersToLookIn() {
  if (const char* folder = std::getenv("PAGODA_KERNELS"); folder != nullptr && *folder != '\0')
    return {folder};
  const std::filesystem::path program = std::filesystem::path(sys::OwnProgram()).parent_path();
  return {program, program.parent_path() / "lib"};
}

}  // namespace

std::filesystem::path KernelLibraryPath(int link) {
  const std::string_view name = kFileNames.at(static_cast<size_t>(link));
  std::string looked;
  for (const std::filesystem::path& folder : FoldersToLookIn()) {
    std::error_code error;
    if (std::filesystem::exists(folder / name, error)) return folder / name;
    looked += fmt::format("{}{}", looked.empty() ? "" : " and ", folder.string());
  }
  throw Error(ErrorCode::kIo, name,
              fmt::format("is not in {}; set PAGODA_KERNELS to the folder that holds it", looked));
}

std::shared_ptr<Kernels> Kernels::Load(int link) {
  const std::filesystem::path path = KernelLibraryPath(link);
  const sys::SharedLibrary object(path);
  using Entry = const KernelLibrary* (*)();
  const auto entry = reinterpret_cast<Entry>(object.Find("pagoda_kernel_library"));
  if (entry == nullptr) {
    throw Error(ErrorCode::kIo, path.string(),
                "has no pagoda_kernel_library; it is not a build of Pagoda's kernels");
  }
  const KernelLibrary& library = *entry();
  if (library.abi != kAbi) {
    throw Error(ErrorCode::kIo, path.string(),
                fmt::format("has interface {} where this program has {}; build both from one tree",
                            library.abi, kAbi));
  }
  return std::make_shared<Kernels>(library);
}

const SoftmaxVariant& Kernels::Variant(std::string_view name) const {
  return FindVariant(library_.softmax, name);
}

ThreadPool& Kernels::Pool(int threads) {
  std::unique_ptr<ThreadPool>& pool = pools_[threads];
  if (pool == nullptr) pool = library_.make_pool(threads);
  return *pool;
}

const SoftmaxVariant& FindVariant(std::span<const SoftmaxVariant* const> variants, std::string_view name) {
  std::vector<std::string> names;
  for (const SoftmaxVariant* variant : variants) {
    if (variant->name == name) return *variant;
    names.emplace_back(variant->name);
  }
  throw Error(
      ErrorCode::kInvalidArgument, "variant",
      fmt::format("\"{}\" does not exist{}; see `pagoda list variants`", name, DidYouMean(name, names)));
}

}  // namespace pagoda::app
