// What a variant guarantees and what it can't do, in words.
#pragma once

#include <string>
#include <vector>

namespace pagoda::app {

struct VariantInfo {
  std::string op;  // operator
  std::string name;
  std::string summary;
  std::vector<std::string> guarantees;
  // Found by asking the variant about problems that have one unusual property each.
  std::vector<std::string> limits;
};

// In the order of SoftmaxVariants(), then of HstuVariants().
std::vector<VariantInfo> DescribeVariants();

}  // namespace pagoda::app
