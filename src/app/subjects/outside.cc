#include "app/subjects/outside.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/io/json.h"
#include "base/io/shown.h"
#include "base/listed.h"
#include "base/suggest.h"
#include "base/sys/process.h"
#include "judge/bench/launch_plan.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".so";
constexpr const char* kKernels = "libpagoda_kernels.so";
constexpr const char* kRelinkedKernels = "libpagoda_kernels_relink.so";
// Of an answer.
constexpr const char* kWhyNot = "why_not";
constexpr const char* kRefusal = "refusal";
constexpr const char* kUnsupported = "unsupported";
constexpr size_t kMostReason = 200;  // of what a plug-in says

// Removed again once the loader has it open.
class TemporaryCopy {
 public:
  explicit TemporaryCopy(const fs::path& of)
      : path_(fs::temp_directory_path() /
              fmt::format("pagoda-{}-{}", sys::OwnPid(), of.filename().string())) {
    std::error_code error;
    fs::copy_file(of, path_, fs::copy_options::overwrite_existing, error);
    if (error) {
      throw Error(ErrorCode::kIo, path_.string(),
                  fmt::format("can't be made as a copy of {}: {}", of.string(), error.message()));
    }
  }
  TemporaryCopy(const TemporaryCopy&) = delete;
  TemporaryCopy& operator=(const TemporaryCopy&) = delete;
  ~TemporaryCopy() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Nothing when that isn't an answer of AnswerOutside: the library ended the process before.
std::optional<OutsideAnswer> ParseAnswer(std::string_view text) {
  nlohmann::json json;
  try {
    json = io::ParseJson(text, "");
  } catch (const Error&) {
    return std::nullopt;
  }
  const io::JsonField answer(json, "");
  if (const auto refusal = answer.Find(kRefusal)) {
    throw Error(answer.At(kUnsupported).Bool() ? ErrorCode::kUnsupported : ErrorCode::kInvalidArgument, "",
                refusal->String());
  }
  const io::JsonField why_not = answer.At(kWhyNot);
  return OutsideAnswer{.why_not = why_not.IsNull() ? std::nullopt : std::optional(why_not.String())};
}

}  // namespace

std::optional<OutsideVariant> ParseOutside(std::string_view id) {
  const size_t suffix = id.rfind(".so:");
  const std::string_view library =
      suffix == std::string_view::npos ? id : id.substr(0, suffix + kSuffix.size());
  if (!library.ends_with(kSuffix) && library.find('/') == std::string_view::npos) return std::nullopt;
  const std::string_view name = library.size() < id.size() ? id.substr(library.size() + 1) : "";
  if (name.empty() && library.size() < id.size()) {
    throw Error(ErrorCode::kInvalidArgument, id,
                "names no variant after the colon; leave it away where the library has only one");
  }
  return OutsideVariant{library, std::string(name)};
}

std::string InLibrary(const fs::path& library, std::string_view id) {
  const std::optional<OutsideVariant> outside = ParseOutside(id);
  const std::string name = outside ? outside->name : std::string(id);
  const fs::path path = library.has_parent_path() ? library : fs::path(".") / library;
  return name.empty() ? path.string() : fmt::format("{}:{}", path.string(), name);
}

SecondLink SecondLinkOf(const fs::path& library) {
  const fs::path relinked = library.parent_path() / kRelinkedKernels;
  std::error_code ignored;
  if (library.filename() == kKernels && fs::exists(relinked, ignored)) return {relinked, false};
  return {library, true};
}

std::shared_ptr<Kernels> LoadOutside(const fs::path& library, int link) {
  const std::string name = library.string();
  // The loader looks for a name without a slash in the system's folders.
  const fs::path path = fs::absolute(library);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw Error(ErrorCode::kInvalidArgument, name, "does not exist; check the path");
  }
  if (link == 0) return Kernels::LoadFile(path, name);
  const SecondLink second = SecondLinkOf(path);
  if (!second.copied) return Kernels::LoadFile(second.path, second.path.string());
  const TemporaryCopy copy(path);  // the loader gives the same file only once
  return Kernels::LoadFile(copy.path(), name);
}

template <typename Variant>
const Variant& FindOutside(std::span<const Variant* const> variants, const OutsideVariant& outside,
                           std::string_view id) {
  std::vector<std::string> names;
  for (const Variant* variant : variants) {
    if (variant->name == outside.name) return *variant;
    names.emplace_back(variant->name);
  }
  if (!outside.name.empty() || names.empty()) {
    throw Error(
        ErrorCode::kInvalidArgument, id,
        fmt::format("does not exist: the library has {}{}", Listed(names), DidYouMean(outside.name, names)));
  }
  if (names.size() == 1) return *variants.front();
  throw Error(ErrorCode::kInvalidArgument, id,
              fmt::format("has {}; name one: {}:{}", Listed(names), id, names.front()));
}

template const SoftmaxVariant& FindOutside(std::span<const SoftmaxVariant* const>, const OutsideVariant&,
                                           std::string_view);
template const HstuVariant& FindOutside(std::span<const HstuVariant* const>, const OutsideVariant&,
                                        std::string_view);

OutsideAnswer AskOutside(const std::vector<std::string>& command, const judge::CaseSpec& spec,
                         std::string_view id, double timeout_s) {
  const judge::GatePlan question{.run_id = "", .spec = spec, .runs = {{std::string(id), 0}}, .threads = 1};
  const sys::ProcessResult result =
      sys::RunProcess({.argv = command, .stdin_text = judge::ToJson(question), .timeout_s = timeout_s});
  return ParseAnswer(result.out).value_or(OutsideAnswer{.why_not = std::nullopt, .hung = result.timed_out});
}

std::string AnswerOutside(const std::function<std::optional<std::string>()>& ask) {
  nlohmann::json answer;
  try {
    const std::optional<std::string> why_not = ask();
    answer[kWhyNot] = why_not ? nlohmann::json(io::Shown(*why_not, kMostReason)) : nlohmann::json();
  } catch (const Error& e) {
    answer = {{kRefusal, e.what()}, {kUnsupported, e.code() == ErrorCode::kUnsupported}};
  }
  return answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace pagoda::app
