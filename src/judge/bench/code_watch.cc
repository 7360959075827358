#include "judge/bench/code_watch.h"

#include <string>

#include "judge/bench/facts.h"
#include "pagoda/status.h"

namespace pagoda::judge {

CodeWatch::CodeWatch(const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& path : files) {
    // Before the contents, so that a change while they are read shows later.
    identities_.push_back(sys::IdentityOf(path));
    files_.push_back({.path = path.string(), .hash = HashOfFile(path)});
  }
}

void CodeWatch::RequireUnchanged() {
  for (size_t i = 0; i < files_.size(); ++i) {
    const sys::FileIdentity now = sys::IdentityOf(files_[i].path);
    if (now == identities_[i]) continue;
    if (HashOfFile(files_[i].path) != files_[i].hash) {
      throw Error(ErrorCode::kInvalidArgument, files_[i].path,
                  "was replaced while the run measured it, and a run is of one build: put the old file back "
                  "to go on, or start a new run");
    }
    identities_[i] = now;
  }
}

ChildOutcome WatchedRunner::Run(std::string_view plan_json, double timeout_s) {
  ChildOutcome outcome = runner_.Run(plan_json, timeout_s);
  watch_.RequireUnchanged();
  return outcome;
}

}  // namespace pagoda::judge
