// The kernel library, loaded from one of its links.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "engine/attention/kernel_library.h"

namespace pagoda::app {

// A library of variants and pools of its own workers. Once loaded, a library stays until the process ends:
// its threads and plans may outlive any owner.
class Kernels {
 public:
  // libpagoda_kernels.so (link 0), libpagoda_kernels_relink.so (link 1) or libpagoda_kernels_relink2.so
  // (link 2), in PAGODA_KERNELS (a folder) if set, else beside the program and in ../lib from there. Throws
  // Error naming what was looked for and where.
  static std::shared_ptr<Kernels> Load(int link);
  // Any build of Pagoda's kernels, or a plug-in (pagoda/plugin.h). Throws Error with `name`, what the caller
  // calls the file, as its field.
  static std::shared_ptr<Kernels> LoadFile(const std::filesystem::path& path, const std::string& name);
  // A library that is linked into the caller.
  explicit Kernels(const KernelLibrary& library) : library_(library) {}

  const KernelLibrary& library() const { return library_; }
  // Throws Error(variant) with "did you mean".
  const SoftmaxVariant& Variant(std::string_view name) const;
  // Throws the same unless a variant of some operator has that name.
  void CheckName(std::string_view name) const;
  // Gives the library the stored rates of this machine, if there are any. Throws as StoredMachine.
  void KnowMachine();
  // The pool with so many threads, made when first asked for.
  ThreadPool& Pool(int threads);

 private:
  const KernelLibrary& library_;
  std::map<int, std::unique_ptr<ThreadPool>> pools_;
};

// Whether the variant of that name runs one of the others, by the machine's rates.
bool Chooses(std::string_view variant);

// Where Load finds a link.
std::filesystem::path KernelLibraryPath(int link);

// The variant of that name; throws Error(variant) with "did you mean".
template <typename Variant>
const Variant& FindVariant(std::span<const Variant* const> variants, std::string_view name);

}  // namespace pagoda::app
