#include "app/subjects/kernel_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "app/subjects/machine_store.h"
#include "app/subjects/plugin.h"
#include "base/suggest.h"
#include "base/sys/process.h"
#include "base/sys/shared_library.h"
#include "engine/attention/softmax/variants.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

constexpr std::array<std::string_view, 3> kFileNames = {"libpagoda_kernels.so", "libpagoda_kernels_relink.so",
                                                        "libpagoda_kernels_relink2.so"};

std::vector<std::filesystem::path> FoldersToLookIn() {
  if (const char* folder = std::getenv("PAGODA_KERNELS"); folder != nullptr && *folder != '\0')
    return {folder};
  const std::filesystem::path program = std::filesystem::path(sys::OwnProgram()).parent_path();
  return {program, program.parent_path() / "lib"};
}

[[noreturn]] void RefuseName(std::string_view name, const std::vector<std::string>& known) {
  throw Error(
      ErrorCode::kInvalidArgument, "variant",
      fmt::format("\"{}\" does not exist{}; see `pagoda list variants`", name, DidYouMean(name, known)));
}

}  // namespace

bool Chooses(std::string_view variant) { return variant == kAuto.name || variant == kHstuAuto.name; }

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
  return LoadFile(path, path.string());
}

std::shared_ptr<Kernels> Kernels::LoadFile(const std::filesystem::path& path, const std::string& name) {
  const sys::SharedLibrary object(path, name);
  using PluginEntry = const pagoda_plugin_info* (*)();
  using KernelsEntry = const KernelLibrary* (*)();
  if (const auto plugin = reinterpret_cast<PluginEntry>(object.Find("pagoda_plugin"))) {
    return std::make_shared<Kernels>(AdaptPlugin(plugin(), name));
  }
  const auto entry = reinterpret_cast<KernelsEntry>(object.Find("pagoda_kernel_library"));
  if (entry == nullptr) {
    throw Error(
        ErrorCode::kInvalidArgument, name,
        "exports neither pagoda_plugin (see pagoda/plugin.h) nor pagoda_kernel_library: it is no plug-in and "
        "no build of Pagoda's kernels");
  }
  const KernelLibrary& library = *entry();
  if (library.abi != kKernelAbi || library.layout != kKernelLayout) {
    // Nothing is wrong with the file: no program can judge the two in pairs.
    throw Error(
        ErrorCode::kUnsupported, name,
        fmt::format("is a build whose interface (version {}, layout {:x}) differs from this program's ({}, "
                    "{:x}): one process can't hold both",
                    library.abi, library.layout, kKernelAbi, kKernelLayout));
  }
  return std::make_shared<Kernels>(library);
}

const SoftmaxVariant& Kernels::Variant(std::string_view name) const {
  return FindVariant(library_.softmax, name);
}

void Kernels::KnowMachine() {
  if (const std::optional<MachineModel> machine = StoredMachine()) library_.set_machine_model(*machine);
}

ThreadPool& Kernels::Pool(int threads) {
  std::unique_ptr<ThreadPool>& pool = pools_[threads];
  if (pool == nullptr) pool = library_.make_pool(threads);
  return *pool;
}

void Kernels::CheckName(std::string_view name) const {
  std::vector<std::string> names;
  for (const SoftmaxVariant* variant : library_.softmax) names.emplace_back(variant->name);
  for (const HstuVariant* variant : library_.hstu) names.emplace_back(variant->name);
  if (std::find(names.begin(), names.end(), name) == names.end()) RefuseName(name, names);
}

template <typename Variant>
const Variant& FindVariant(std::span<const Variant* const> variants, std::string_view name) {
  std::vector<std::string> names;
  for (const Variant* variant : variants) {
    if (variant->name == name) return *variant;
    names.emplace_back(variant->name);
  }
  RefuseName(name, names);
}

template const SoftmaxVariant& FindVariant(std::span<const SoftmaxVariant* const>, std::string_view);
template const HstuVariant& FindVariant(std::span<const HstuVariant* const>, std::string_view);

}  // namespace pagoda::app
