// How often something happens, with an interval. Clopper and Pearson, Biometrika 26 (1934).
#pragma once

#include "judge/stats/ranks.h"

namespace pagoda::judge {

// successes / trials with the interval that covers the true rate with probability `level` at least, whatever
// that rate is. Without a trial: NaN in [0, 1]. 0 <= successes <= trials, 0 < level < 1, else Error.
Estimate Rate(int successes, int trials, double level);

}  // namespace pagoda::judge
