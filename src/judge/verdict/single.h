// One question of a run that asked several.
#pragma once

#include <string_view>

#include "judge/record/record.h"

namespace pagoda::judge {

struct SingleRun {
  Manifest manifest;
  Records records;
};

// The run as if it had timed nothing but the baseline, its null arm and `variant`, on this case alone: so its
// verdict isn't adjusted for the other questions. What other variants did wrong isn't in it.
SingleRun OnlyContrast(const Manifest& manifest, const Records& records, std::string_view case_name,
                       std::string_view variant);

}  // namespace pagoda::judge
