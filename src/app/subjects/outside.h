// Variants from libraries that are no part of this program: "./mine.so", "./mine.so:name".
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/subjects/kernel_library.h"
#include "judge/bench/subject.h"

namespace pagoda::app {

struct OutsideVariant {
  std::filesystem::path library;
  std::string name;  // empty: the only one that the library has
};

// What --variants means by a name with a slash or ".so"; nothing for the name of a built-in variant. Throws
// Error(id) when there is a colon and no name after it.
std::optional<OutsideVariant> ParseOutside(std::string_view id);

// The same variant in another library: "old.so" and "fast" give "./old.so:fast", "old.so" and "./new.so:fast"
// too.
std::string InLibrary(const std::filesystem::path& library, std::string_view id);

// The second link of a library for the null arm: libpagoda_kernels_relink.so beside a libpagoda_kernels.so,
// else a copy of the file, which lies elsewhere in memory but has the same code at the same offsets.
struct SecondLink {
  std::filesystem::path path;
  bool copied = false;
};
SecondLink SecondLinkOf(const std::filesystem::path& library);

// Loads a link of it into this process. Throws Error (the path as its field).
std::shared_ptr<Kernels> LoadOutside(const std::filesystem::path& library, int link);

// The variant among those of one operator that the library has; throws Error(id) when there is none of that
// name, or several and no name is given.
template <typename Variant>
const Variant& FindOutside(std::span<const Variant* const> variants, const OutsideVariant& outside,
                           std::string_view id);

struct OutsideAnswer {
  std::optional<std::string> why_not;  // nothing: it computes the case
  bool hung = false;
};

// Asks a process of its own (`command`: this program, hidden command) whether the variant is there and
// computes the case. A library may crash or hang as soon as it is loaded: it then counts as one that computes
// the case, and the gate, which runs it, names what it does. Throws Error when it is not there or no such
// library; of the code kUnsupported when it is a build of another interface.
OutsideAnswer AskOutside(const std::vector<std::string>& command, const judge::CaseSpec& spec,
                         std::string_view id, double timeout_s = 30);

// The other side of it: what that process writes to standard output. `ask` gives the reason why not, and what
// it throws as an Error is thrown by AskOutside.
std::string AnswerOutside(const std::function<std::optional<std::string>()>& ask);

}  // namespace pagoda::app
