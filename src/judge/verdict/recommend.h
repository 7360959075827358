// What to do about a run's verdict, in words.
#pragma once

#include <string>
#include <vector>

namespace pagoda::judge {

class Duels;
struct RunVerdict;

// A case where another variant than the default does better.
struct Preference {
  std::string case_name;
  std::vector<std::string> variants;  // those that beat the default there, fastest first
  double speedup = 1;                 // of the first of them over the default
};

struct Recommendation {
  // The variant to keep as default: the leader where it beats the runner-up, else the baseline where nothing
  // beats it, else the leader. Empty when no variant was both right and measured.
  std::string keep;
  std::vector<Preference> prefer;
  std::vector<std::string> either;       // cases where the default ties with its best rival
  std::vector<std::string> no_evidence;  // cases without a verdict between the default and its best rival
  std::vector<std::string> avoid;        // variants that gave a wrong result, hung or crashed
  // All of it as sentences, the answer first; plain text.
  std::vector<std::string> sentences;
};

// Of a run whose other fields are filled in.
Recommendation Recommend(const RunVerdict& run, const Duels& duels);

}  // namespace pagoda::judge
