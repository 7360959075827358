// What to do about a run's verdict, in words.
#pragma once

#include <string>
#include <vector>

namespace pagoda::judge {

struct RunVerdict;

// A case where another variant than the default does better.
struct Preference {
  std::string case_name;
  std::vector<std::string> variants;  // that case's winners
  double speedup = 1;                 // of the first of them over the default
};

struct Recommendation {
  std::string keep;  // the variant to keep as default; empty when there is no evidence for one
  std::vector<Preference> prefer;
  std::vector<std::string> either;       // cases where the default ties with another variant
  std::vector<std::string> no_evidence;  // cases without a verdict between the default and its rivals
  std::vector<std::string> avoid;        // variants that gave a wrong result, hung or crashed
  // All of it as sentences, the answer first; paste-ready, plain text.
  std::vector<std::string> sentences;
};

Recommendation Recommend(const RunVerdict& run);

}  // namespace pagoda::judge
